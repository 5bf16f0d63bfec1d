use super::*;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

fn pem() -> (String, Vec<u8>) {
    let random = SystemRandom::new();
    let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
    let body = STANDARD.encode(der.as_ref());
    let key =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, der.as_ref(), &random).unwrap();
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
    (pem, key.public_key().as_ref().to_vec())
}

#[test]
fn keys_sign() {
    let (pem, public) = pem();
    let signer = Signer::from_pem(&pem).unwrap();
    let signature = signer.sign(b"a chart").unwrap();
    let verifier = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &public);
    assert!(verifier.verify(b"a chart", &signature).is_ok());
    assert!(verifier.verify(b"another", &signature).is_err());
    // The digest of the key as `openssl ec -pubout -outform DER` writes it (RFC 5480).
    let head = "3059301306072a8648ce3d020106082a8648ce3d030107034200";
    let digit = |at: usize| u8::from_str_radix(&head[at..at + 2], 16).unwrap();
    let der: Vec<u8> = (0..head.len()).step_by(2).map(digit).chain(public).collect();
    assert_eq!(signer.hint(), STANDARD.encode(Sha256::digest(der)));
    assert_eq!(Signer::Command("true".to_owned()).hint(), "");
}

#[test]
fn other_keys_are_refused_without_a_part_of_them() {
    let (pem, _) = pem();
    let body = pem.lines().nth(1).unwrap().to_owned();
    let create = "create one with `openssl genpkey -algorithm EC -pkeyopt \
        ec_paramgen_curve:P-256`, or sign with `--sign-command`";
    let convert = "convert it with `openssl pkcs8 -topk8 -nocrypt`";
    let decrypt = "decrypt it with `openssl pkcs8`, or sign with `--sign-command`";
    let sec1 = pem.replace("PRIVATE", "EC PRIVATE");
    for (text, why, hint) in [
        (String::new(), "not PEM", create),
        (body.clone(), "not PEM", create),
        (sec1.clone(), "not PKCS#8", convert),
        (
            format!("-----BEGIN EC PARAMETERS-----\nBggq\n-----END EC PARAMETERS-----\n{sec1}"),
            "not PKCS#8",
            convert,
        ),
        (pem.replace("PRIVATE", "ENCRYPTED SIGSTORE PRIVATE"), "encrypted", decrypt),
        (pem.replace("PRIVATE KEY", "CERTIFICATE"), "not a private key", create),
        (pem.replace(&body, "!"), "not base64", create),
        (pem.replace(&body, &body[..40]), "not an ECDSA P-256 key", create),
    ] {
        let error = Signer::from_pem(&text).err().unwrap_or_else(|| panic!("{why}"));
        let message = format!("cannot use the key in BUNDLE2CHART_SIGNING_KEY: it is {why}");
        assert_eq!((error.message.as_str(), error.hint.as_deref()), (message.as_str(), Some(hint)));
        let shown = format!("{error:?}");
        assert!(!shown.contains(&body[..20]), "{shown}");
    }
}

/// Text may come before a key and after it (RFC 7468, 2).
#[test]
fn keys_may_have_text_around_them() {
    let (pem, _) = pem();
    let parameters = "-----BEGIN EC PARAMETERS-----\nBggq\n-----END EC PARAMETERS-----\n";
    for text in [
        format!("Subject: lamps\n{pem}"),
        format!("{parameters}{pem}"),
        format!("{pem}Issued: today\n"),
        pem.replace('\n', "\r\n"),
        pem.replace("-----BEGIN", "  -----BEGIN"),
    ] {
        assert!(Signer::from_pem(&text).is_ok(), "{text}");
    }
}

#[test]
fn commands_print_signatures_in_der_or_base64() {
    let sign = |command: &str| Signer::Command(command.to_owned()).sign(b"a chart");
    assert_eq!(sign("printf '0\\001x'").unwrap(), b"0\x01x");
    // A KMS prints base64, perhaps in lines.
    assert_eq!(sign("printf '0\\001x' | base64").unwrap(), b"0\x01x");
    assert_eq!(sign("printf 0; cat").unwrap(), b"0a chart");
    for command in ["true", "echo no", "exit 3", "no-such-command-4711"] {
        assert!(sign(command).is_err(), "{command}");
    }
    let found = sign("echo no").unwrap_err();
    assert_eq!(found.message, "the command of `--sign-command` printed no ECDSA signature");
    assert_eq!(found.hint.as_deref(), Some("print the signature of stdin, in DER or base64"));
}

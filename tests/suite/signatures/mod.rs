//! Signatures: what `[[verify]]` requires is there and valid, or nothing of an image is used.
//!
//! fixtures/signatures was signed with the libraries of cosign, by tests/sigstore_signer:
//! `UPDATE=1 cargo test --test suite -- --ignored signatures::images_signed_now` signs again.

mod images;
mod keyless;
mod real_cosign;

use crate::registry::distribution::Distribution;
use crate::registry::project::{PASSWORD, Project};
use crate::registry::server::{Answer, Server};
use crate::support::command::{Case, Seen};
use crate::support::go::program;
use images::{Images, REPOSITORY, SIGNATURE, Signer};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LAYOUT: &str = "oci-layout:images";
const VENDOR: &str = "[[verify]]\nprefix = \"registry.example.com\"\nkey = [\"vendor.pem\"]\n";

/// A project with the bundle from a mirror, and these `[[verify]]` tables.
fn project(to: &str, verify: &str) -> Project {
    let case = Case::new();
    case.write(
        "bundles.toml",
        format!(
            "[network]\nretries = 0\n\n[[mirror]]\nfrom = \"registry.example.com\"\nto = \"{to}\"\n\n\
             {verify}\n[[bundle]]\nname = \"lamp-operator\"\nimage = \"{REPOSITORY}:1.0.0\"\n"
        ),
    );
    Project { case }
}

/// A project with the images in a layout and the key in vendor.pem.
fn from_layout(images: &Images, key: &str) -> Project {
    let project = project(LAYOUT, VENDOR);
    images.write(&project.case, "images");
    project.case.write("vendor.pem", key);
    project
}

#[track_caller]
fn built(project: &Project, arguments: &[&str]) -> Seen {
    let seen = project.run(arguments);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    seen
}

/// Nothing was written, and the error has this code and these words.
#[track_caller]
fn refused(project: &Project, arguments: &[&str], code: &str, words: &[&str]) {
    let seen = project.run(arguments);
    assert_eq!(seen.code, Some(2), "{}\n{}", seen.stdout, seen.stderr);
    let text = seen.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("error[{code}]")), "{}", seen.stderr);
    for word in words {
        assert!(text.contains(word), "{word:?} is not in\n{}", seen.stderr);
    }
    assert!(!project.case.path("out").exists());
}

/// A signature that cosign's libraries made.
struct Fixture {
    key: String,
    payload: Vec<u8>,
    signature: String,
    bundle: Vec<u8>,
}

impl Fixture {
    fn parse(text: &[u8]) -> Self {
        use base64::Engine as _;
        let json: Value = serde_json::from_slice(text).expect("JSON");
        let text = |key: &str| json[key].as_str().expect("a string").to_owned();
        let payload = base64::engine::general_purpose::STANDARD.decode(text("payload"));
        Fixture {
            key: text("publicKey"),
            payload: payload.expect("base64"),
            signature: text("signature"),
            bundle: json["bundle"].to_string().into_bytes(),
        }
    }

    fn read(kind: &str) -> Self {
        Fixture::parse(&fs::read(fixture(kind)).expect("a fixture"))
    }

    /// The bundle image with the signature by tag, and with the bundle as a referrer.
    fn attached(&self) -> [Images; 2] {
        let digest = Images::new().digest();
        [
            Images::new().tag(&digest, &self.payload, &self.signature),
            Images::new().referrer(&digest, &self.bundle),
        ]
    }
}

fn fixture(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/signatures/{kind}.json"))
}

const KINDS: [&str; 3] = ["ecdsa", "rsa", "ed25519"];

#[test]
#[ignore = "needs Go"]
fn images_signed_now_with_the_libraries_of_cosign() {
    for kind in KINDS {
        let digest = Images::new().digest();
        let arguments = [kind, REPOSITORY, &digest];
        let output = Command::new(program("sigstore_signer")).args(arguments).output();
        let output = output.expect("sigstore_signer runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let signed = Fixture::parse(&output.stdout);
        for images in signed.attached() {
            built(&from_layout(&images, &signed.key), &["build"]);
        }
        update(kind, &output.stdout);
    }
    let digest = Images::new().digest();
    let arguments = ["keyless", REPOSITORY, &digest, keyless::OTHER];
    let output = Command::new(program("sigstore_signer")).args(arguments).output();
    let output = output.expect("sigstore_signer runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    update("keyless", &output.stdout);
}

/// Writes a fixture, if that is asked for.
fn update(kind: &str, json: &[u8]) {
    if std::env::var_os("UPDATE").is_some() {
        let json: Value = serde_json::from_slice(json).expect("JSON");
        let text = serde_json::to_string_pretty(&json).expect("JSON");
        fs::create_dir_all(fixture(kind).parent().expect("a folder")).expect("a folder");
        fs::write(fixture(kind), text + "\n").expect("a file");
    }
}

#[test]
fn images_signed_with_the_libraries_of_cosign() {
    for kind in KINDS {
        let signed = Fixture::read(kind);
        for images in signed.attached() {
            let project = from_layout(&images, &signed.key);
            built(&project, &["build"]);
            let lock = project.case.read("bundles.lock");
            let signed = format!(", signed = \"{}\", key = \"sha256:", Images::new().digest());
            assert!(lock.contains("\nsignature = { manifest = \"sha256:"), "{lock}");
            assert!(lock.contains(&signed), "{lock}");
            // The lock is complete, and its signature is verified again.
            built(&project, &["build", "--locked", "--offline", "--check"]);
        }
    }
}

#[test]
fn a_signature_by_another_key() {
    let (signed, other) = (Fixture::read("ecdsa"), Fixture::read("rsa"));
    let [by_tag, by_referrer] = signed.attached();
    for images in [&by_tag, &by_referrer] {
        let project = from_layout(images, &other.key);
        refused(&project, &["build"], "signature-invalid", &["signed by another key, or changed"]);
    }
    let project = from_layout(&by_tag, &other.key);
    insta::assert_snapshot!(project.run(&["build"]).text());
}

#[test]
fn no_signature() {
    let project = from_layout(&Images::new(), &Fixture::read("ecdsa").key);
    insta::assert_snapshot!(project.run(&["build"]).text());
}

#[test]
fn no_table_for_a_required_signature() {
    let project = from_layout(&Images::new(), &Fixture::read("ecdsa").key);
    project.case.replace("bundles.toml", VENDOR, "[[verify]]\nrequire = true\n");
    insta::assert_snapshot!(project.run(&["build"]).text());
}

#[test]
fn what_a_signature_must_say() {
    let signer = Signer::new();
    let (digest, other) = (Images::new().digest(), Images::other().digest());
    let tagged = |repository: &str, of: &str| {
        let (payload, signature) = signer.simple(repository, of);
        Images::new().tag(&digest, &payload, &signature)
    };
    let refused = |images: &Images, code: &str, words: &[&str]| {
        refused(&from_layout(images, &signer.pem()), &["build"], code, words);
    };

    let moved = format!("signed another digest, {other}");
    refused(&tagged(REPOSITORY, &other), "signature-invalid", &[&moved]);
    let bundle = signer.bundle(&other, SIGNATURE);
    refused(&Images::new().referrer(&digest, &bundle), "signature-invalid", &[&moved]);
    let elsewhere = tagged("registry.example.com/lamps/other", &digest);
    let words = ["signed it as `registry.example.com/lamps/other`", &format!("`{REPOSITORY}`")];
    refused(&elsewhere, "signature-invalid", &words);

    // Changed after it was signed.
    let (payload, signature) = signer.simple(REPOSITORY, &other);
    let payload = String::from_utf8(payload).expect("text").replace(&other, &digest);
    let images = Images::new().tag(&digest, payload.as_bytes(), &signature);
    refused(&images, "signature-invalid", &["signed by another key, or changed"]);
    let bundle = String::from_utf8(signer.bundle(&digest, SIGNATURE)).expect("text");
    let changed = bundle.replacen("\"sig\":\"", "\"sig\":\"AAAA", 1);
    assert_ne!(changed, bundle);
    let images = Images::new().referrer(&digest, changed.as_bytes());
    refused(&images, "signature-invalid", &["signed by another key, or changed"]);

    // An attestation, for instance an SBOM, is no signature of the image.
    let sbom = signer.bundle(&digest, "https://spdx.dev/Document");
    refused(&Images::new().referrer(&digest, &sbom), "signature-missing", &["no referrer"]);
    let broken = Images::new().tag(&digest, b"{}", "no base64!");
    refused(&broken, "signature-invalid", &["malformed (it is not base64)"]);
    let broken = Images::new().referrer(&digest, b"{\"mediaType\": 1");
    refused(&broken, "signature-invalid", &["malformed ("]);

    // Of several signatures one is enough.
    let (payload, signature) = signer.simple(&format!("{REPOSITORY}:1.0.0"), &digest);
    let images = elsewhere.tag(&digest, &payload, &signature).referrer(&digest, &sbom);
    built(&from_layout(&images, &signer.pem()), &["build"]);
}

/// Other spellings of a registry are under the same policy, and a prefix that no image has is an
/// error: nothing would be verified.
#[test]
fn spellings_of_a_host_do_not_evade_a_policy() {
    let signer = Signer::new();
    for prefix in ["REGISTRY.example.com", "registry.example.com:443", "Registry.Example.com/lamps"]
    {
        let project = from_layout(&Images::new(), &signer.pem());
        let table = VENDOR.replace("registry.example.com", prefix);
        project.case.replace("bundles.toml", VENDOR, &table);
        refused(&project, &["build"], "signature-missing", &[]);
    }
    for prefix in ["*.example.com", "registry.example.com/lamps/bundle:1.0", "lamps"] {
        let project = from_layout(&Images::new(), &signer.pem());
        let table = VENDOR.replace("registry.example.com", prefix);
        project.case.replace("bundles.toml", VENDOR, &table);
        refused(&project, &["build"], "invalid-value", &["no image begins with the prefix"]);
    }
    let project = from_layout(&Images::new(), &signer.pem());
    let twice =
        format!("{VENDOR}{}", VENDOR.replace("registry.example.com", "registry.example.com:443"));
    project.case.replace("bundles.toml", VENDOR, &twice);
    refused(&project, &["build"], "invalid-value", &["duplicate `[[verify]]` table"]);
}

#[test]
fn the_longest_prefix_applies() {
    let (vendor, own) = (Signer::new(), Signer::new());
    let digest = Images::new().digest();
    let (payload, signature) = own.simple(REPOSITORY, &digest);
    let images = Images::new().tag(&digest, &payload, &signature);
    let project = from_layout(&images, &vendor.pem());
    project.case.write("own.pem", own.pem());
    refused(&project, &["build"], "signature-invalid", &["vendor.pem"]);

    for table in [
        "prefix = \"registry.example.com/lamps\"\nkey = [\"own.pem\"]\n",
        "prefix = \"registry.example.com/lamps/bundle\"\ninsecure = true\n",
    ] {
        let text = project.case.read("bundles.toml");
        let tables = format!("{VENDOR}\n[[verify]]\n{table}\n[[verify]]\nrequire = true\n");
        project.case.replace("bundles.toml", VENDOR, &tables);
        built(&project, &["images"]);
        project.case.write("bundles.toml", text);
    }
    // A rotation: either key will do.
    project.case.replace("bundles.toml", "[\"vendor.pem\"]", "[\"vendor.pem\", \"own.pem\"]");
    built(&project, &["build"]);
    // The old key is removed, so that the locked signature is valid no more.
    project.case.replace("bundles.toml", "[\"vendor.pem\", \"own.pem\"]", "[\"vendor.pem\"]");
    fs::remove_dir_all(project.case.path("out")).expect("removed");
    refused(&project, &["build", "--locked"], "signature-invalid", &["vendor.pem"]);
}

#[test]
fn what_is_wrong_with_the_keys() {
    let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    // A key of X25519, which signs nothing.
    let unsupported = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VuAyEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\
        -----END PUBLIC KEY-----\n";
    for (content, why) in [
        (None, "No such file"),
        (Some(""), "it has no PUBLIC KEY block"),
        (Some(certificate), "it has no PUBLIC KEY block"),
        (Some("-----BEGIN PUBLIC KEY-----\n?\n-----END PUBLIC KEY-----\n"), "not valid PEM"),
        (Some(unsupported), "its type of key is not supported"),
    ] {
        let project = from_layout(&Images::new(), content.unwrap_or_default());
        if content.is_none() {
            project.case.remove("vendor.pem");
        }
        refused(&project, &["build"], "invalid-value", &["`vendor.pem` as `key`", why]);
    }
    let project = from_layout(&Images::new(), "");
    insta::assert_snapshot!(project.run(&["build"]).text());
}

#[test]
fn signatures_of_an_index_and_of_a_platform_in_it() {
    let signer = Signer::new();
    let index = Images::index();
    let (payload, signature) = signer.simple(REPOSITORY, &index.digest());
    let by_index = index.clone().tag(&index.digest(), &payload, &signature);
    let project = from_layout(&by_index, &signer.pem());
    built(&project, &["build"]);
    let lock = project.case.read("bundles.lock");
    assert!(lock.contains(&format!("signed = \"{}\"", index.digest())), "{lock}");
    // The lock has the manifest, and the index must have that.
    built(&project, &["build", "--locked", "--offline", "--check"]);
    built(&project, &["vendor", "vendored"]);
    project.case.replace("bundles.toml", LAYOUT, "oci-layout:vendored");
    built(&project, &["build", "--locked", "--offline", "--check"]);

    // The platform's manifest, which is the first image of a layout for itself.
    let manifest = Images::new().digest();
    let (payload, signature) = signer.simple(REPOSITORY, &manifest);
    let by_platform = index.tag(&manifest, &payload, &signature);
    built(&from_layout(&by_platform, &signer.pem()), &["build"]);
}

/// Returns the number of requests that were more than a look for the registry.
fn manifests_and_blobs(server: &Server) -> usize {
    server.asked().iter().filter(|asked| asked.target != "/v2/").count()
}

#[test]
fn registries_have_signatures_as_tags_and_referrers() {
    let signer = Signer::new();
    let digest = Images::new().digest();
    let (payload, signature) = signer.simple(REPOSITORY, &digest);
    let by_tag = Images::new().tag(&digest, &payload, &signature);
    let by_referrer = Images::new().referrer(&digest, &signer.bundle(&digest, SIGNATURE));
    for (images, referrers) in [(&by_tag, true), (&by_referrer, true), (&by_referrer, false)] {
        let server = images.clone().serve(referrers);
        let project = project(&server.host(), VENDOR);
        project.case.write("vendor.pem", signer.pem());
        built(&project, &["build"]);
        project.assert_cache_is_sound();
        // From the cache, by the lock.
        built(&project, &["build", "--locked", "--offline", "--check"]);
        // Copies have the signature.
        built(&project, &["vendor", "vendored"]);
        let asked = manifests_and_blobs(&server);
        let text = project.case.read("bundles.toml");
        project.case.write("bundles.toml", text.replace(&server.host(), "oci-layout:vendored"));
        fs::remove_dir_all(project.case.path("cache")).expect("no cache");
        built(&project, &["build", "--locked", "--offline", "--check"]);
        // Without a lock too: the layout says where signatures are.
        project.case.remove("bundles.lock");
        built(&project, &["build", "--out", "again"]);
        assert_eq!(manifests_and_blobs(&server), asked);
    }
}

#[test]
fn attacks_on_the_way() {
    let signer = Signer::new();
    let digest = Images::new().digest();
    let (payload, signature) = signer.simple(REPOSITORY, &digest);
    let signed = Images::new().tag(&digest, &payload, &signature);
    let project_at = |server: &Server| {
        let project = project(&server.host(), VENDOR);
        project.case.write("vendor.pem", signer.pem());
        project
    };

    // The tag moves to another image, with the old signature next to it.
    let moved = Images::other().tag(&Images::other().digest(), &payload, &signature).serve(true);
    let words = [format!("signed another digest, {digest}")];
    refused(&project_at(&moved), &["build"], "signature-invalid", &[&words[0]]);

    // The lock is edited to another image, which is not signed.
    let both = signed.clone();
    let other = Images::other();
    let server = Server::start(move |asked| match other.answer(asked, true) {
        Answer { status: 404, .. } => both.answer(asked, true),
        answer => match asked.target.ends_with("/manifests/1.0.0") {
            true => both.answer(asked, true),
            false => answer,
        },
    });
    let project = project_at(&server);
    built(&project, &["build"]);
    let lock = project.case.read("bundles.lock");
    let edited = lock.replace(
        &format!("manifest = {{ digest = \"{digest}\""),
        &format!("manifest = {{ digest = \"{}\"", Images::other().digest()),
    );
    assert_ne!(edited, lock);
    project.case.write("bundles.lock", edited);
    fs::remove_dir_all(project.case.path("out")).expect("removed");
    refused(&project, &["build", "--locked"], "signature-missing", &[&Images::other().digest()]);
    // A lock that claims a signature of the image names one of another image.
    let claimed = project.case.read("bundles.lock").replace(
        &format!("signed = \"{digest}\""),
        &format!("signed = \"{}\"", Images::other().digest()),
    );
    project.case.write("bundles.lock", claimed);
    let words = [format!("signed another digest, {digest}")];
    refused(&project, &["build", "--locked"], "signature-invalid", &[&words[0]]);

    // A registry that fails is no registry without signatures.
    for (status, code) in [(503, "registry-failed"), (403, "registry-denied")] {
        let images = signed.clone();
        let server = Server::start(move |asked| match asked.target.ends_with(".sig") {
            true => Answer::new(status, ""),
            false => images.answer(asked, true),
        });
        refused(&project_at(&server), &["build"], code, &[".sig"]);
    }

    // Without the network and without a recorded signature, nothing can be said.
    let server = signed.serve(true);
    let project = project_at(&server);
    project.case.replace("bundles.toml", VENDOR, "");
    built(&project, &["build"]);
    fs::remove_dir_all(project.case.path("out")).expect("removed");
    let text = project.case.read("bundles.toml");
    project.case.write("bundles.toml", format!("{VENDOR}\n{text}"));
    let words = ["cannot look for signatures", "bundles.lock records none"];
    refused(&project, &["build", "--locked", "--offline"], "offline", &words);
    // The next build records it.
    let seen = built(&project, &["build"]);
    assert!(seen.text().contains("bundles.lock: 1 changed"), "{}", seen.text());
    built(&project, &["build", "--locked", "--offline", "--check"]);
}

#[test]
fn a_mirror_without_signatures_is_not_enough() {
    let signer = Signer::new();
    let digest = Images::new().digest();
    let (payload, signature) = signer.simple(REPOSITORY, &digest);
    let project = from_layout(&Images::new().tag(&digest, &payload, &signature), &signer.pem());
    built(&project, &["build"]);
    fs::remove_dir_all(project.case.path("out")).expect("removed");
    Images::new().write(&project.case, "copied");
    project.case.replace("bundles.toml", LAYOUT, "oci-layout:copied");
    let words = ["has no signature", "copy it again with its signatures"];
    refused(&project, &["build", "--locked"], "signature-missing", &words);
}

#[test]
fn images_that_a_cluster_pulls() {
    let signer = Signer::new();
    let digest = Images::new().digest();
    let (payload, signature) = signer.simple(REPOSITORY, &digest);
    let images = Images::new().tag(&digest, &payload, &signature);
    let project = from_layout(&images, &signer.pem());
    // The bundle's own image is signed; that of its container is not in the mirror.
    refused(&project, &["images", "--verify"], "image-not-found", &["lamps/lamp:1.0.0"]);
    let table = "[[verify]]\nprefix = \"registry.example.com/lamps/lamp\"\ninsecure = true\n";
    project.case.replace("bundles.toml", VENDOR, &format!("{VENDOR}\n{table}"));
    let seen = built(&project, &["images", "--verify"]);
    let words = "signatures: 1 valid, 1 not required";
    assert!(seen.stderr.contains(words), "{}", seen.stderr);
    assert!(!project.case.path("out").exists());
}

#[test]
fn a_real_registry_with_copied_signatures() {
    let registry = Distribution::start_plain();
    let signer = Signer::new();
    let digest = Images::new().digest();
    let (payload, signature) = signer.simple(REPOSITORY, &digest);
    let by_tag = Images::new().tag(&digest, &payload, &signature);
    let by_referrer = Images::new().referrer(&digest, &signer.bundle(&digest, SIGNATURE));
    // The registry wants all manifests of an index.
    let index = Images::index();
    let (payload, signature) = signer.simple(REPOSITORY, &index.digest());
    let by_index = index.clone().tag(&index.digest(), &payload, &signature);
    for (name, images) in [("tags", by_tag), ("referrers", by_referrer), ("index", by_index)] {
        let project = from_layout(&images, &signer.pem());
        project.log_in(&registry.host, PASSWORD);
        built(&project, &["build"]);
        let target = format!("{}/{name}", registry.host);
        built(&project, &["vendor", "--to", &target]);
        let again = built(&project, &["vendor", "--to", &target]);
        assert!(again.stderr.contains(" 0 blobs copied"), "{}", again.stderr);
        project.case.replace("bundles.toml", LAYOUT, &target);
        built(&project, &["build", "--locked", "--check"]);
        // The signature is found without the lock, too. A signed index has no tag in the copy.
        if name != "index" {
            std::fs::remove_file(project.case.path("bundles.lock")).expect("removed");
            built(&project, &["lock"]);
            built(&project, &["build", "--locked", "--check"]);
        }
    }
    registry.stop();
}

//! The text of `bundles.lock`.

use super::{Decisions, Lock, Locked, LockedImage};
use crate::config::Watch;
use crate::ir::UpgradeEdges;
use crate::source::{ImageIdentity, Signature, Signer};
use serde::Deserialize;
use std::fmt::Write as _;
use std::ops::Range;

/// Version of the format; files of another one are not read.
pub(super) const VERSION: u32 = 1;

const HEAD: &str =
    "# Digests of the locked bundles. Written by bundle2chart; commit it, do not edit it.\n";

/// The reason why a text is not a valid lock file, and the place.
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) range: Range<usize>,
}

#[derive(Deserialize)]
struct Head {
    version: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    // `version` is a key here, too, but `Head` has read it: so unknown keys are allowed.
    #[serde(default, rename = "bundle")]
    bundles: Vec<BundleEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct BundleEntry {
    name: toml::Spanned<String>,
    config_hash: String,
    embedded: Option<Digest>,
    image: Option<String>,
    index: Option<String>,
    platform: Option<String>,
    manifest: Option<Blob>,
    config: Option<Blob>,
    layers: Option<Vec<Blob>>,
    signature: Option<LockedSignature>,
    csv: String,
    csv_version: String,
    replaces: Option<String>,
    skips: Option<Vec<String>>,
    skip_range: Option<String>,
    package: String,
    watch: Option<Watch>,
}

/// The signature that was verified.
#[derive(Deserialize)]
struct LockedSignature {
    manifest: toml::Spanned<Digest>,
    signed: Digest,
    key: Option<String>,
    identity: Option<String>,
    issuer: Option<String>,
}

#[derive(Deserialize)]
struct Blob {
    digest: Digest,
    size: u64,
}

/// The text of a digest; the parser adds the place to the error that it is none.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Digest(String);

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match oci_spec::image::Digest::try_from(text.as_str()) {
            Ok(_) => Ok(Digest(text)),
            Err(error) => Err(format!("invalid digest `{}`: {error}", text.escape_debug())),
        }
    }
}

/// Reads the text of a lock file.
pub(super) fn parse(text: &str) -> Result<Lock, Fault> {
    let fault = |error: toml::de::Error| Fault {
        message: error.message().to_owned(),
        range: error.span().unwrap_or(0..0),
    };

    // The version alone first: a later format may not parse as this one.
    let head: Head = toml::from_str(text).map_err(fault)?;
    if head.version != VERSION {
        let message = format!(
            "it has version {}, but this bundle2chart supports version {VERSION}",
            head.version
        );
        return Err(Fault { message, range: 0..0 });
    }

    let file: File = toml::from_str(text).map_err(fault)?;
    let mut bundles: Vec<Locked> = Vec::new();
    for entry in file.bundles {
        let range = entry.name.span();
        if bundles.iter().any(|other| other.name == *entry.name.get_ref()) {
            let message = format!("duplicate entry for `{}`", entry.name.get_ref());
            return Err(Fault { message, range });
        }
        bundles.push(entry.locked()?);
    }
    Ok(Lock { bundles })
}

impl BundleEntry {
    fn locked(self) -> Result<Locked, Fault> {
        let range = self.name.span();
        let missing = |key: &str| Fault {
            message: format!("the entry for `{}` has no `{key}`", self.name.get_ref()),
            range: range.clone(),
        };
        let blob = |blob: Blob| (blob.digest.0, blob.size);
        // Files in a catalog at a path have no image.
        let image = if self.embedded.is_some() && self.image.is_none() {
            None
        } else {
            let (digest, size) = blob(self.manifest.ok_or_else(|| missing("manifest"))?);
            let layers = self.layers.ok_or_else(|| missing("layers"))?;
            Some(LockedImage {
                reference: self.image.ok_or_else(|| missing("image"))?,
                identity: ImageIdentity {
                    digest,
                    size,
                    index: self.index,
                    platform: self.platform,
                    config: blob(self.config.ok_or_else(|| missing("config"))?),
                    layers: layers.into_iter().map(blob).collect(),
                    signature: self.signature.map(LockedSignature::checked).transpose()?,
                },
            })
        };
        // All keys are written together.
        let edges = self.skips.map(|skips| UpgradeEdges {
            replaces: self.replaces.unwrap_or_default(),
            skips,
            skip_range: self.skip_range.unwrap_or_default(),
        });
        Ok(Locked {
            name: self.name.into_inner(),
            config_hash: self.config_hash,
            image,
            embedded: self.embedded.map(|digest| digest.0),
            edges,
            csv: self.csv,
            csv_version: self.csv_version,
            decisions: Decisions { package: self.package, watch: self.watch },
        })
    }
}

impl LockedSignature {
    fn checked(self) -> Result<Signature, Fault> {
        let range = self.manifest.span();
        let signer = match (self.key, self.identity, self.issuer) {
            // Both would leave open which one was verified.
            (Some(key), None, None) => Signer::Key(key),
            (None, Some(identity), Some(issuer)) => Signer::Identity { identity, issuer },
            _ => {
                let message = "a signature needs either `key`, or `identity` and `issuer`";
                return Err(Fault { message: message.to_owned(), range });
            }
        };
        Ok(Signature { manifest: self.manifest.into_inner().0, signed: self.signed.0, signer })
    }
}

/// Returns the text of a lock file: the same for the same lock.
pub(super) fn text(lock: &Lock) -> String {
    let mut text = format!("{HEAD}version = {VERSION}\n");
    for entry in &lock.bundles {
        text.push_str("\n[[bundle]]\n");
        for (key, value) in entry.keys() {
            // Writing to a String cannot fail.
            let _ = value.map(|value| writeln!(text, "{key} = {value}"));
        }
    }
    text
}

impl Locked {
    /// Returns the keys and values of the table.
    fn keys(&self) -> [(&'static str, Option<String>); 17] {
        // By hand, not by serde: keys have this order, blobs are inline tables, and each layer has
        // its own line in a diff of Git.
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let blob =
            |digest: &str, size: u64| format!("{{ digest = {}, size = {size} }}", quoted(digest));
        let image = self.image.as_ref();
        let identity = image.map(|image| &image.identity);
        let layers = identity.map(|identity| {
            let layers = identity.layers.iter();
            let lines = layers.map(|(digest, size)| format!("    {},\n", blob(digest, *size)));
            format!("[\n{}]", lines.collect::<String>())
        });
        let signature = identity.and_then(|identity| identity.signature.as_ref());
        let signature = signature.map(|Signature { manifest, signed, signer }| {
            let [manifest, signed] = [manifest, signed].map(|digest| quoted(digest));
            let signer = match signer {
                Signer::Key(key) => format!("key = {}", quoted(key)),
                Signer::Identity { identity, issuer } => {
                    format!("identity = {}, issuer = {}", quoted(identity), quoted(issuer))
                }
            };
            format!("{{ manifest = {manifest}, signed = {signed}, {signer} }}")
        });
        let skips = |edges: &UpgradeEdges| {
            let skips: Vec<String> = edges.skips.iter().map(|csv| quoted(csv)).collect();
            format!("[{}]", skips.join(", "))
        };

        let edges = self.edges.as_ref();
        [
            ("name", Some(quoted(&self.name))),
            ("config-hash", Some(quoted(&self.config_hash))),
            ("embedded", self.embedded.as_deref().map(quoted)),
            ("image", image.map(|image| quoted(&image.reference))),
            ("index", identity.and_then(|it| it.index.as_deref()).map(quoted)),
            ("platform", identity.and_then(|it| it.platform.as_deref()).map(quoted)),
            ("manifest", identity.map(|it| blob(&it.digest, it.size))),
            ("config", identity.map(|it| blob(&it.config.0, it.config.1))),
            ("layers", layers),
            ("signature", signature),
            ("csv", Some(quoted(&self.csv))),
            ("csv-version", Some(quoted(&self.csv_version))),
            ("replaces", edges.map(|edges| quoted(&edges.replaces))),
            ("skips", edges.map(skips)),
            ("skip-range", edges.map(|edges| quoted(&edges.skip_range))),
            ("package", Some(quoted(&self.decisions.package))),
            ("watch", self.decisions.watch.as_ref().map(Watch::to_toml)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{digest, lock};
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let read = parse(&text(&lock())).unwrap_or_else(|fault| panic!("{}", fault.message));
        assert_eq!(read, lock());
        assert_eq!(text(&read), text(&lock()));
        assert!(parse(&text(&Lock::default())).is_ok_and(|read| read == Lock::default()));
    }

    #[test]
    fn edges_of_a_catalog_are_read_back() {
        let mut lock = lock();
        lock.bundles[0].edges = Some(UpgradeEdges {
            replaces: "a.v0".to_owned(),
            skips: vec!["a.v0.1".to_owned(), "a.v0.2".to_owned()],
            skip_range: ">=0.3.0 <1.0.0".to_owned(),
        });
        // The first version of a channel has none, which is another fact than none recorded.
        lock.bundles[1].edges = Some(UpgradeEdges::default());
        let text = text(&lock);
        let lines = "replaces = \"a.v0\"\nskips = [\"a.v0.1\", \"a.v0.2\"]\n\
                     skip-range = \">=0.3.0 <1.0.0\"\n";
        assert!(text.contains(lines), "{text}");
        let read = parse(&text).unwrap_or_else(|fault| panic!("{}", fault.message));
        assert_eq!(read, lock);
    }

    #[test]
    fn signatures_are_read_back() {
        let mut lock = lock();
        let (manifest, signed, key) = (digest("7"), digest("1"), digest("8"));
        let line = format!(
            "\nsignature = {{ manifest = \"{manifest}\", signed = \"{signed}\", key = \"{key}\" }}\n"
        );
        let signature = Signature { manifest: manifest.clone(), signed, signer: Signer::Key(key) };
        if let Some(image) = &mut lock.bundles[0].image {
            image.identity.signature = Some(signature);
        }
        let text = text(&lock);
        assert!(text.contains(&line), "{text}");
        let read = parse(&text).unwrap_or_else(|fault| panic!("{}", fault.message));
        assert_eq!(read, lock);
        assert!(parse(&text.replace(&manifest, "sha256:7")).is_err());
    }

    #[test]
    fn keyless_signatures_are_read_back() {
        let mut lock = lock();
        let signer = Signer::Identity {
            identity: "release@example.com".to_owned(),
            issuer: "https://token.example.com".to_owned(),
        };
        let signature = Signature { manifest: digest("7"), signed: digest("1"), signer };
        if let Some(image) = &mut lock.bundles[0].image {
            image.identity.signature = Some(signature);
        }
        let text = text(&lock);
        let signer =
            ", identity = \"release@example.com\", issuer = \"https://token.example.com\" }\n";
        assert!(text.contains(signer), "{text}");
        let read = parse(&text).unwrap_or_else(|fault| panic!("{}", fault.message));
        assert_eq!(read, lock);
        // Either a key or an identity with its issuer.
        for text in [
            text.replace("issuer = ", "other = "),
            text.replace("identity = \"", "key = \"sha256:1\", identity = \""),
        ] {
            let fault = parse(&text).expect_err("a fault");
            assert!(fault.message.contains("either `key`, or `identity`"), "{}", fault.message);
        }
    }

    #[test]
    fn the_text() {
        insta::assert_snapshot!(text(&lock()), @r#"
        # Digests of the locked bundles. Written by bundle2chart; commit it, do not edit it.
        version = 1

        [[bundle]]
        name = "a"
        config-hash = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
        image = 'registry.example.com/a:"1"'
        manifest = { digest = "sha256:1111111111111111111111111111111111111111111111111111111111111111", size = 1 }
        config = { digest = "sha256:3333333333333333333333333333333333333333333333333333333333333333", size = 3 }
        layers = [
            { digest = "sha256:4444444444444444444444444444444444444444444444444444444444444444", size = 4 },
            { digest = "sha256:5555555555555555555555555555555555555555555555555555555555555555", size = 5 },
        ]
        csv = "a.v1"
        csv-version = "1.0.0"
        package = "a"
        watch = "all"

        [[bundle]]
        name = "b"
        config-hash = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
        image = 'registry.example.com/b:"1"'
        index = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
        platform = "linux/amd64"
        manifest = { digest = "sha256:1111111111111111111111111111111111111111111111111111111111111111", size = 1 }
        config = { digest = "sha256:3333333333333333333333333333333333333333333333333333333333333333", size = 3 }
        layers = [
            { digest = "sha256:4444444444444444444444444444444444444444444444444444444444444444", size = 4 },
            { digest = "sha256:5555555555555555555555555555555555555555555555555555555555555555", size = 5 },
        ]
        csv = "b.v1"
        csv-version = "1.0.0"
        package = "b"
        watch = "own"

        [[bundle]]
        name = "c"
        config-hash = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
        embedded = "sha256:6666666666666666666666666666666666666666666666666666666666666666"
        csv = "c.v1"
        csv-version = "1.0.0"
        package = "c"
        watch = ["one", "two"]

        [[bundle]]
        name = "d"
        config-hash = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
        embedded = "sha256:6666666666666666666666666666666666666666666666666666666666666666"
        image = 'registry.example.com/catalog:"1"'
        manifest = { digest = "sha256:1111111111111111111111111111111111111111111111111111111111111111", size = 1 }
        config = { digest = "sha256:3333333333333333333333333333333333333333333333333333333333333333", size = 3 }
        layers = [
            { digest = "sha256:4444444444444444444444444444444444444444444444444444444444444444", size = 4 },
            { digest = "sha256:5555555555555555555555555555555555555555555555555555555555555555", size = 5 },
        ]
        csv = "d.v1"
        csv-version = "1.0.0"
        package = "d"
        watch = ["one", "two"]
        "#);
    }

    #[test]
    fn another_version_is_not_read() {
        let other = text(&lock()).replace("version = 1\n", "version = 2\n");
        assert!(parse(&other).is_err_and(|fault| fault.message.contains("version 2")));
    }

    #[test]
    fn what_is_no_lock_is_explained_with_its_place() {
        let good = text(&lock());
        let line = |key: &str| {
            let mut lines = good.split_inclusive('\n');
            lines.find(|line| line.starts_with(key)).expect(key)
        };
        let start = good.find("layers = [").expect("layers");
        let layers = &good[start..start + good[start..].find("\n]\n").expect("an end") + 3];
        for (from, to, why) in [
            ("sha256:1", "sha256:x", "invalid digest"),
            ("name = \"b\"", "name = \"a\"", "duplicate entry"),
            ("csv = \"a.v1\"\n", "", "csv"),
            ("csv = \"a.v1\"\n", "csv = \"a.v1\"\nnew = true\n", "unknown field"),
            (
                "platform = \"linux/amd64\"\nmanifest",
                "platform = \"linux/amd64\"\nno",
                "`manifest`",
            ),
            ("image = 'registry.example.com/a:\"1\"'\n", "", "the entry for `a` has no `image`"),
            (line("manifest"), "", "the entry for `a` has no `manifest`"),
            (line("config ="), "", "the entry for `a` has no `config`"),
            (layers, "", "the entry for `a` has no `layers`"),
            ("layers = [", "<<<<<<< ours\nlayers = [", "key"),
            ("size = 1 ", "size = -1 ", "-1"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good);
            let fault = parse(&bad).err().unwrap_or_else(|| panic!("{why}"));
            assert!(fault.message.contains(why), "{}", fault.message);
            assert!(fault.range.start > 0, "{why}");
        }
    }
}

//! The differences between two lock files, as text.

use super::{Lock, Locked};
use crate::config::Watch;
use crate::escape::Lines;
use std::collections::BTreeSet;

/// A difference between two locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<'l> {
    /// A bundle is locked for the first time.
    Added(&'l Locked),
    /// A bundle is not locked any more.
    Removed(&'l Locked),
    /// A bundle has other bytes.
    Moved(&'l Locked, &'l Locked),
}

/// Returns the differences, by name.
pub fn changes<'l>(old: &'l Lock, new: &'l Lock) -> Vec<Change<'l>> {
    let find = |lock: &'l Lock, name: &str| lock.bundles.iter().find(|entry| entry.name == name);
    let names: BTreeSet<&str> =
        old.bundles.iter().chain(&new.bundles).map(|entry| entry.name.as_str()).collect();
    names
        .into_iter()
        .filter_map(|name| match (find(old, name), find(new, name)) {
            (None, Some(new)) => Some(Change::Added(new)),
            (Some(old), None) => Some(Change::Removed(old)),
            (Some(old), Some(new)) if old != new => Some(Change::Moved(old, new)),
            _ => None,
        })
        .collect()
}

impl Change<'_> {
    /// Describes the difference in two or three lines: old and new content, and its meaning.
    pub fn describe(&self) -> Lines {
        let lines = match self {
            Change::Added(new) => vec![
                format!("{}: added", new.name),
                format!("  {}", new.origin()),
                format!("  {}  {} {}", short(new.digest()), new.csv, new.csv_version),
            ],
            Change::Removed(old) => {
                vec![format!("{}: removed", old.name), format!("  {}", old.origin())]
            }
            Change::Moved(old, new) => {
                // Values that stay the same are printed once.
                let line = |before: &str, after: &str| {
                    if before == after { after.to_owned() } else { format!("{before} → {after}") }
                };
                let digests = line(&short(old.digest()), &short(new.digest()));
                let mut lines = vec![
                    format!("{}: {}", new.name, meaning(old, new)),
                    format!("  {}", line(old.origin(), new.origin())),
                    format!("  {digests}"),
                ];
                lines.extend(decisions(old, new));
                lines
            }
        };
        lines.into_iter().collect()
    }
}

/// Returns a line for each decision that was recorded and is another one now.
fn decisions(old: &Locked, new: &Locked) -> Vec<String> {
    let watch = |entry: &Locked| entry.decisions.watch.as_ref().map(Watch::to_toml);
    let key = |entry: &Locked| {
        let signature = entry.image.as_ref()?.identity.signature.as_ref()?;
        Some(signature.signer.short().to_owned())
    };
    let keys = [
        ("signed by", key(old), key(new)),
        ("package", Some(old.decisions.package.clone()), Some(new.decisions.package.clone())),
        ("watch", watch(old), watch(new)),
    ];
    let line = |(key, old, new): (&str, Option<String>, Option<String>)| {
        let (old, new) = old.zip(new)?;
        (old != new).then(|| format!("  {key}: {old} → {new}"))
    };
    keys.into_iter().filter_map(line).collect()
}

/// Describes a changed entry.
fn meaning(old: &Locked, new: &Locked) -> String {
    if old.csv_version != new.csv_version {
        return format!("{} → {}", old.csv_version, new.csv_version);
    }

    let same_origin = old.origin() == new.origin();
    // By whole entries with one field replaced, so that a field that is added later is not
    // forgotten.
    let only_decided = Locked { decisions: old.decisions.clone(), ..new.clone() } == *old;
    let only_edges = Locked { edges: old.edges.clone(), ..new.clone() } == *old;
    let only_signed = without_signature(new) == without_signature(old);
    let what = match (old.digest() == new.digest(), new.embedded.is_some()) {
        _ if only_decided => "package and install mode recorded",
        _ if only_edges => "upgrade path of the catalog recorded",
        _ if only_signed => "verified signature recorded",
        (true, _) if !same_origin => "same content from another source",
        (true, _) if old.config_hash != new.config_hash => "same content, different configuration",
        (true, _) => "same content, different index",
        (false, true) if same_origin => {
            "digest changed: the catalog has different content for the same CSV version"
        }
        (false, _) if same_origin => "digest changed for the same tag and CSV version",
        (false, _) => "different image for the same CSV version",
    };
    format!("{} unchanged: {what}", new.csv_version)
}

/// Returns the entry without the signature of its image.
fn without_signature(entry: &Locked) -> Locked {
    let mut entry = entry.clone();
    if let Some(image) = &mut entry.image {
        image.identity.signature = None;
    }
    entry
}

/// Returns the first digits of a digest, which are enough to tell it from others.
fn short(digest: &str) -> String {
    let (algorithm, hex) = digest.split_once(':').unwrap_or(("", digest));
    format!("{algorithm}:{}", hex.get(..12).unwrap_or(hex))
}

#[cfg(test)]
mod tests {
    use super::super::{Decisions, LockedImage};
    use super::*;
    use crate::source::ImageIdentity;

    fn image(tag: &str, digest: &str, index: &str) -> Option<LockedImage> {
        Some(LockedImage {
            reference: format!("quay.io/a/b:{tag}"),
            identity: ImageIdentity {
                digest: digest.to_owned(),
                size: 1,
                index: Some(index.to_owned()),
                platform: None,
                config: ("c".to_owned(), 1),
                layers: Vec::new(),
                signature: None,
            },
        })
    }

    fn locked(version: &str, hash: &str, image: Option<LockedImage>) -> Locked {
        Locked {
            name: "a".to_owned(),
            config_hash: hash.to_owned(),
            image,
            embedded: None,
            csv: "a.v1".to_owned(),
            csv_version: version.to_owned(),
            edges: None,
            decisions: Decisions { package: "a".to_owned(), watch: None },
        }
    }

    #[test]
    fn what_moved_is_said() {
        let old = locked("1.0.0", "h", image("1", "x", "i"));
        for (new, expected) in [
            (
                locked("1.1.0", "h", image("1", "y", "j")),
                "a: 1.0.0 → 1.1.0\n  quay.io/a/b:1\n  :x → :y\n",
            ),
            (
                locked("1.0.0", "h", image("1", "y", "j")),
                "a: 1.0.0 unchanged: digest changed for the same tag and CSV version\n  \
                 quay.io/a/b:1\n  :x → :y\n",
            ),
            (
                locked("1.0.0", "g", image("2", "y", "j")),
                "a: 1.0.0 unchanged: different image for the same CSV version\n  quay.io/a/b:1 → \
                 quay.io/a/b:2\n  :x → :y\n",
            ),
            (
                locked("1.0.0", "g", image("2", "x", "i")),
                "a: 1.0.0 unchanged: same content from another source\n  quay.io/a/b:1 → \
                 quay.io/a/b:2\n  :x\n",
            ),
            (
                locked("1.0.0", "h", image("1", "x", "j")),
                "a: 1.0.0 unchanged: same content, different index\n  \
                 quay.io/a/b:1\n  :x\n",
            ),
            (
                locked("1.0.0", "g", image("1", "x", "i")),
                "a: 1.0.0 unchanged: same content, different configuration\n  quay.io/a/b:1\n  :x\n",
            ),
        ] {
            assert_eq!(Change::Moved(&old, &new).describe().as_str(), expected);
        }
        let decided = |watch: Watch| Locked {
            decisions: Decisions { package: "a".to_owned(), watch: Some(watch) },
            ..old.clone()
        };
        assert_eq!(
            Change::Moved(&decided(Watch::Own), &decided(Watch::All)).describe().as_str(),
            "a: 1.0.0 unchanged: package and install mode recorded\n  quay.io/a/b:1\n  :x\n  watch: \
             \"own\" → \"all\"\n"
        );
        let [old, new] = ["x", "y"].map(|digest| Locked {
            embedded: Some(digest.to_owned()),
            ..locked("1.0.0", "h", None)
        });
        let text = Change::Moved(&old, &new).describe();
        assert!(text.as_str().contains("the catalog has different content"), "{text}");
    }
}

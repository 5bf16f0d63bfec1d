//! The differences between two lock files, as text.

use super::{Lock, Locked};
use crate::config::Watch;
use crate::escape::Lines;
use std::collections::BTreeSet;

/// Describes the differences, by name, each in two or three lines: old and new content, and its
/// meaning.
pub fn changes(old: &Lock, new: &Lock) -> Vec<Lines> {
    let names: BTreeSet<&str> =
        old.bundles.iter().chain(&new.bundles).map(|entry| entry.name.as_str()).collect();
    let describe = |name: &str| {
        let [old, new] = [old, new].map(|lock| lock.bundles.iter().find(|it| it.name == name));
        Some(match (old, new) {
            (None, None) => return None,
            (Some(old), Some(new)) if old == new => return None,
            (Some(old), Some(new)) => moved(old, new),
            (None, Some(new)) => Lines::from_iter([
                format!("{name}: added"),
                format!("  {}", new.origin()),
                format!("  {}  {} {}", short(new.digest()), new.csv, new.csv_version),
            ]),
            (Some(old), None) => {
                Lines::from_iter([format!("{name}: removed"), format!("  {}", old.origin())])
            }
        })
    };
    names.into_iter().filter_map(describe).collect()
}

/// Describes an entry that changed, with a line for each decision that was recorded and is another one
/// now.
fn moved(old: &Locked, new: &Locked) -> Lines {
    // Values that stay the same are printed once.
    let line = |before: &str, after: &str| {
        if before == after { after.to_owned() } else { format!("{before} → {after}") }
    };
    let lines = [
        format!("{}: {}", new.name, meaning(old, new)),
        format!("  {}", line(old.origin(), new.origin())),
        format!("  {}", line(&short(old.digest()), &short(new.digest()))),
    ];

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
    let decided = keys.into_iter().filter_map(|(key, old, new)| {
        let (old, new) = old.zip(new)?;
        (old != new).then(|| format!("  {key}: {old} → {new}"))
    });
    lines.into_iter().chain(decided).collect()
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

//! What differs between two locks, for people.

use super::{Lock, Locked};
use std::fmt::Write as _;

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

/// The differences, by name.
pub fn changes<'l>(old: &'l Lock, new: &'l Lock) -> Vec<Change<'l>> {
    let find = |lock: &'l Lock, name: &str| lock.bundles.iter().find(|entry| entry.name == name);
    let mut names: Vec<&str> =
        old.bundles.iter().chain(&new.bundles).map(|entry| entry.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
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
    /// Two or three lines: what moved, from where to where, and what that means.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        let _ = match self {
            Change::Added(new) => writeln!(
                text,
                "{}: added\n  {}\n  {}  {} {}",
                new.name,
                new.bytes.origin(),
                short(new.bytes.digest()),
                new.csv,
                new.csv_version
            ),
            Change::Removed(old) => {
                writeln!(text, "{}: removed\n  {}", old.name, old.bytes.origin())
            }
            Change::Moved(old, new) => {
                let (before, after) = (old.bytes.origin(), new.bytes.origin());
                let image = if before == after {
                    after.to_owned()
                } else {
                    format!("{before} → {after}")
                };
                writeln!(
                    text,
                    "{}: {}\n  {image}\n  {} → {}",
                    new.name,
                    meaning(old, new),
                    short(old.bytes.digest()),
                    short(new.bytes.digest())
                )
            }
        };
        text
    }
}

/// What a move means to those who install the chart.
fn meaning(old: &Locked, new: &Locked) -> String {
    if old.csv_version != new.csv_version {
        return format!("{} → {}", old.csv_version, new.csv_version);
    }
    if old.bytes.digest() == new.bytes.digest() {
        return format!("{}, the same bytes from another place", new.csv_version);
    }
    let version = &new.csv_version;
    if old.bytes.origin() == new.bytes.origin() {
        format!("{version} as before: only the digest moved, under the same tag and CSV version")
    } else {
        format!("{version} as before: another image of the same CSV version")
    }
}

/// Enough of a digest to tell it from others.
fn short(digest: &str) -> String {
    let (algorithm, hex) = digest.split_once(':').unwrap_or(("", digest));
    format!("{algorithm}:{}", hex.get(..12).unwrap_or(hex))
}

//! Keys of values for things with names: the same ones for every version of an operator.

use std::collections::BTreeMap;

/// Prefixes of the pre-release of a version at the end of a name; any other word after a version
/// belongs to the name.
const PRE_RELEASES: [&str; 6] = ["alpha", "beta", "rc", "pre", "dev", "snapshot"];

/// Returns a key for each of these names, no two the same.
///
/// A key is the name without the version of the operator, or any other version at its end, and with
/// dashes in place of dots, so that values files outlive releases and `--set` needs no escapes.
/// Names that would share a key keep their versions; keys that would still collide keep their dots.
pub fn value_keys<'n>(
    names: impl IntoIterator<Item = &'n str>,
    version: &str,
) -> BTreeMap<&'n str, String> {
    let mut names: Vec<&str> = names.into_iter().collect();
    // Sorted, so that keys do not depend on the order of objects in the bundle.
    names.sort_unstable();
    names.dedup();
    let stable = |name: &&str| stable_key(name, version);
    let dashed = |name: &&str| with_dashes(name);
    let whole = |name: &&str| (*name).to_owned();
    let keys = distinct(&names, &[&stable, &dashed, &whole]);
    names.into_iter().zip(keys).collect()
}

/// Returns a name without its version and dots; other names do not affect it.
pub fn stable_key(name: &str, version: &str) -> String {
    let name = without_version_of_operator(name, version);
    with_dashes(without_version(&name))
}

/// Returns a text for each item: that of the first candidate that no other item shares.
pub fn distinct<T>(items: &[T], candidates: &[&dyn Fn(&T) -> String]) -> Vec<String> {
    let mut found: Vec<Option<String>> = vec![None; items.len()];
    for candidate in candidates {
        let open: Vec<Option<String>> = items
            .iter()
            .zip(&found)
            .map(|(item, found)| found.is_none().then(|| candidate(item)))
            .collect();
        let mut claims: BTreeMap<String, usize> = BTreeMap::new();
        // Keys of earlier candidates count as well: no later one may take them.
        for text in found.iter().chain(&open).flatten() {
            *claims.entry(text.clone()).or_default() += 1;
        }
        for (found, open) in found.iter_mut().zip(open) {
            let alone = |text: &String| !text.is_empty() && claims.get(text) == Some(&1);
            *found = found.take().or(open.filter(alone));
        }
    }

    // Only those with the same candidates as another item have none; no name ends in a dash.
    let numbered = found.into_iter().zip(1..);
    numbered.map(|(text, number)| text.unwrap_or_else(|| format!("{number}-"))).collect()
}

fn with_dashes(name: &str) -> String {
    name.replace('.', "-")
}

/// Leaves out `-VERSION` and `-vVERSION` at the end or before a dash, with dots or dashes in it.
fn without_version_of_operator(name: &str, version: &str) -> String {
    if version.is_empty() {
        return name.to_owned();
    }
    let version = version.to_lowercase();
    // Names of objects cannot have a `+`, and names of Services and containers no dots.
    for version in [version.clone(), version.replace(['.', '+'], "-")] {
        for written in [format!("-v{version}"), format!("-{version}")] {
            // A name that is only a version keeps it: a key cannot be empty.
            let Some(start) = name.find(&written).filter(|start| *start > 0) else { continue };
            let (head, tail) = name.split_at(start);
            let tail = tail.get(written.len()..).unwrap_or_default();
            if tail.is_empty() || tail.starts_with('-') {
                return format!("{head}{tail}");
            }
        }
    }
    name.to_owned()
}

/// Leaves out a version at the end of a name, behind a dash.
fn without_version(name: &str) -> &str {
    let dashes = name.match_indices('-').map(|(at, _)| at).filter(|at| *at > 0);
    let is_start = |at: &usize| name.get(at + 1..).is_some_and(is_version);
    let at = dashes.into_iter().find(is_start);
    at.and_then(|at| name.get(..at)).unwrap_or(name)
}

/// Returns true if the text is a version of at least two numbers.
fn is_version(text: &str) -> bool {
    let text = text.strip_prefix('v').unwrap_or(text);
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (numbers, rest) = text.split_at(end);
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_release = numbers.contains('.') && numbers.split('.').all(is_number);
    let is_pre_release =
        |part: &str| is_number(part) || PRE_RELEASES.iter().any(|word| part.starts_with(word));
    is_release && rest.split(['-', '+', '.']).skip(1).all(is_pre_release)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(names: &[&str], version: &str) -> Vec<String> {
        let keys = value_keys(names.iter().copied(), version);
        names.iter().map(|name| keys[name].clone()).collect()
    }

    #[test]
    fn keys_hold_neither_versions_nor_dots() {
        for (name, version, expected) in [
            ("strimzi-cluster-operator-v0.43.0", "0.43.0", "strimzi-cluster-operator"),
            ("widget-operator-1.2.3-rc.1", "1.2.3-rc.1", "widget-operator"),
            ("widget-operator-1.2.3-rc.1", "", "widget-operator"),
            ("widget-operator-v1-2-3", "1.2.3", "widget-operator"),
            ("widget-v1.2.3-webhook", "1.2.3", "widget-webhook"),
            ("widget-4.18", "1.0.0", "widget"),
            ("widgets.example.com", "1.0.0", "widgets-example-com"),
            // No versions.
            ("webhook-v2", "1.0.0", "webhook-v2"),
            ("widget-1.2.3-webhook", "2.0.0", "widget-1-2-3-webhook"),
            ("widget-11.2.3", "1.2.3", "widget"),
            ("manager", "1.0.0", "manager"),
            ("v1.0.0", "1.0.0", "v1-0-0"),
        ] {
            assert_eq!(keys(&[name], version), [expected], "{name}");
        }
    }

    #[test]
    fn names_that_would_share_a_key_keep_what_tells_them_apart() {
        assert_eq!(keys(&["a-v1.0.0", "a"], "1.0.0"), ["a-v1-0-0", "a"]);
        assert_eq!(keys(&["a-1.0", "a-2.0", "b-1.0"], ""), ["a-1-0", "a-2-0", "b"]);
        assert_eq!(keys(&["a.b", "a-b", "a.c"], ""), ["a.b", "a-b", "a-c"]);
        assert_eq!(keys(&["a", "a"], ""), ["a", "a"]);
        let same = distinct(&["x", "x"], &[&|name: &&str| (*name).to_owned()]);
        assert_eq!(same, ["1-", "2-"]);
    }
}

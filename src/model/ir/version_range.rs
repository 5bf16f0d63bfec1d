//! Ranges of versions as OLM writes them.

use semver::Version;
use std::cmp::Ordering::{self, Equal, Greater, Less};

/// A range such as `>=1.0.0 <2.0.0 || 3.x`: comparisons joined by spaces must all hold, groups
/// joined by `||` are alternatives. Pre-releases are versions like any other, and build metadata
/// does not matter.
///
/// Source of the rules: blang/semver's ranges, which OLM reads `skipRange` and the ranges of
/// dependencies with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRange {
    alternatives: Vec<Vec<Comparison>>,
}

/// The orders that a version may have to another one.
type Comparison = (&'static [Ordering], Version);

/// Comparisons that a range may have.
const MOST_COMPARISONS: usize = 100;

impl VersionRange {
    /// Parses a range; the error is a message for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut alternatives = Vec::new();
        let mut count = 0;
        for group in text.split("||") {
            let mut comparisons = Vec::new();
            let mut rest = group.trim();
            if rest.is_empty() {
                return Err("a comparison is missing".to_owned());
            }
            while !rest.is_empty() {
                let end = rest
                    .find(|c: char| !matches!(c, '<' | '>' | '=' | '!'))
                    .ok_or("a version is missing")?;
                let (operator, after) = rest.split_at(end);
                let after = after.trim_start();
                let end = after
                    .find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '=' | '!'))
                    .unwrap_or(after.len());
                let (version, after) = after.split_at(end);
                compare(operator, version, &mut comparisons)?;
                rest = after.trim_start();
                count += 1;
                if count > MOST_COMPARISONS {
                    return Err(format!("it has more than {MOST_COMPARISONS} comparisons"));
                }
            }
            alternatives.push(comparisons);
        }

        Ok(VersionRange { alternatives })
    }

    /// Returns true if `version` is in the range.
    pub fn contains(&self, version: &Version) -> bool {
        // `Ord` of the crate compares build metadata as well, which have no order (semver.org, 10).
        let holds = |(orders, bound): &Comparison| orders.contains(&version.cmp_precedence(bound));
        self.alternatives.iter().any(|comparisons| comparisons.iter().all(holds))
    }
}

/// Adds the comparison with a version, or with all versions matched by `1.x` or `1.2.x`.
fn compare(operator: &str, version: &str, into: &mut Vec<Comparison>) -> Result<(), String> {
    // blang/semver takes any `x` for a wildcard, also that of `1.0.0-next`; here it must be a whole
    // part.
    let (first, next) = match version.split('.').any(|part| part == "x") {
        true => wildcard(version)
            .map(|(first, next)| (first, Some(next)))
            .ok_or_else(|| format!("`{}` is not a version", version.escape_debug()))?,
        false => match Version::parse(version) {
            Ok(version) => (version, None),
            Err(error) => return Err(format!("`{}`: {error}", version.escape_debug())),
        },
    };

    let comparison: Comparison = match (operator, next) {
        ("" | "=" | "==", None) => (&[Equal], first),
        ("" | "=" | "==", Some(next)) => {
            into.push((&[Greater, Equal], first));
            (&[Less], next)
        }
        ("!" | "!=", None) => (&[Less, Greater], first),
        // blang/semver makes `<1.2.0 >=1.3.0` of `!=1.2.x`, which no version fulfills.
        ("!" | "!=", Some(_)) => return Err("`!=` cannot be used with `x`".to_owned()),
        ("<", _) => (&[Less], first),
        ("<=", None) => (&[Less, Equal], first),
        ("<=", Some(next)) => (&[Less], next),
        (">", None) => (&[Greater], first),
        (">", Some(next)) => (&[Greater, Equal], next),
        (">=", _) => (&[Greater, Equal], first),
        (other, _) => return Err(format!("`{other}` is not a comparison")),
    };
    into.push(comparison);
    Ok(())
}

/// Returns the first version of `1.x` or `1.2.x`, and the first one after it.
fn wildcard(version: &str) -> Option<(Version, Version)> {
    let number = |text: &str| text.parse::<u64>().ok();
    let parts: Vec<&str> = version.split('.').collect();
    let (first, next) = match parts.as_slice() {
        [major, "x"] | [major, "x", "x"] => {
            let major = number(major)?;
            ((major, 0), (major.checked_add(1)?, 0))
        }
        [major, minor, "x"] => {
            let (major, minor) = (number(major)?, number(minor)?);
            ((major, minor), (major, minor.checked_add(1)?))
        }
        _ => return None,
    };
    let version = |(major, minor)| Version::new(major, minor, 0);
    Some((version(first), version(next)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_in_and_out_of_ranges() {
        for (range, inside, outside) in [
            (">=1.0.0 <2.0.0", &["1.0.0", "1.9.9", "2.0.0-rc.1"][..], &["0.9.0", "2.0.0"][..]),
            (">1.0.0 <2.0.0 || 3.x", &["1.0.1", "3.0.0", "3.9.1"], &["1.0.0", "2.0.0", "4.0.0"]),
            ("1.2.3", &["1.2.3", "1.2.3+5"], &["1.2.4", "1.2.3-a"]),
            (">= 1.2.0", &["1.2.0", "9.0.0"], &["1.1.9"]),
            (">=1.2.0<1.3.0", &["1.2.5"], &["1.3.0"]),
            ("1.2.x", &["1.2.0", "1.2.9"], &["1.3.0", "1.1.0"]),
            (">1.x", &["2.0.0"], &["1.9.0"]),
            ("<=1.x", &["1.9.0", "0.1.0"], &["2.0.0"]),
            ("<1.2.x", &["1.1.9"], &["1.2.0"]),
            ("!=1.0.0 >=1.0.0", &["1.0.1"], &["1.0.0"]),
            ("!1.0.0", &["1.0.1"], &["1.0.0"]),
        ] {
            let parsed = VersionRange::parse(range).unwrap();
            for version in inside {
                assert!(parsed.contains(&Version::parse(version).unwrap()), "{version} in {range}");
            }
            for version in outside {
                assert!(!parsed.contains(&Version::parse(version).unwrap()), "{version} {range}");
            }
        }
    }

    #[test]
    fn what_is_no_range_is_explained() {
        for bad in ["", "||", ">=1.0.0 ||", "1.0", ">", "=>1.0.0", "a", "x", "1.y.0", ">=1.0.0, <2"]
        {
            assert!(VersionRange::parse(bad).is_err(), "{bad:?}");
        }
    }
}

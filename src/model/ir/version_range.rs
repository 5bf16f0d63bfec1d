//! Ranges of versions as OLM writes them.

use semver::Version;
use std::cmp::Ordering;

/// A range such as `>=1.0.0 <2.0.0 || 3.x`: comparisons joined by spaces must all hold, groups
/// joined by `||` are alternatives. Pre-releases are versions like any other, and build metadata
/// does not matter.
///
/// Source of the rules: blang/semver's ranges, which OLM reads `skipRange` and the ranges of
/// dependencies with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRange {
    alternatives: Vec<Vec<(Operator, Version)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    GreaterOrEqual,
    Greater,
}

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
        let holds = |(operator, bound): &(Operator, Version)| {
            // `Ord` of the crate compares build metadata as well, which have no order (semver.org,
            // 10).
            let order = version.cmp_precedence(bound);
            match operator {
                Operator::Less => order == Ordering::Less,
                Operator::LessOrEqual => order != Ordering::Greater,
                Operator::Equal => order == Ordering::Equal,
                Operator::NotEqual => order != Ordering::Equal,
                Operator::GreaterOrEqual => order != Ordering::Less,
                Operator::Greater => order == Ordering::Greater,
            }
        };
        self.alternatives.iter().any(|comparisons| comparisons.iter().all(holds))
    }
}

/// Adds the comparison with a version, or with all versions matched by `1.x` or `1.2.x`.
fn compare(
    operator: &str,
    version: &str,
    into: &mut Vec<(Operator, Version)>,
) -> Result<(), String> {
    let plain = match operator {
        "" | "=" | "==" => Operator::Equal,
        "!" | "!=" => Operator::NotEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        other => return Err(format!("`{other}` is not a comparison")),
    };

    // blang/semver takes any `x` for a wildcard, also that of `1.0.0-next`; here it must be a whole
    // part.
    if !version.split('.').any(|part| part == "x") {
        let version = Version::parse(version)
            .map_err(|error| format!("`{}`: {error}", version.escape_debug()))?;
        into.push((plain, version));
        return Ok(());
    }

    let (first, next) = wildcard(version)
        .ok_or_else(|| format!("`{}` is not a version", version.escape_debug()))?;
    match plain {
        Operator::Less => into.push((Operator::Less, first)),
        Operator::LessOrEqual => into.push((Operator::Less, next)),
        Operator::Greater => into.push((Operator::GreaterOrEqual, next)),
        Operator::GreaterOrEqual => into.push((Operator::GreaterOrEqual, first)),
        Operator::Equal => {
            into.push((Operator::GreaterOrEqual, first));
            into.push((Operator::Less, next));
        }
        Operator::NotEqual => {
            // blang/semver makes `<1.2.0 >=1.3.0` of `!=1.2.x`, which no version fulfills.
            return Err("`!=` cannot be used with `x`".to_owned());
        }
    }

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

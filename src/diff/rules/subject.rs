//! Rules on the two sides as a whole: different packages, downgrades, skipped versions.

use super::{display_value, found, rules};
use crate::ir::{UpgradeEdges, VersionRange};
use crate::{Finding, Side, values};
use serde_json::json;

rules! {
    /// Different packages compared.
    ///
    /// The report describes no upgrade: installed over the old chart, the new chart deletes the old
    /// operator and leaves its custom resources without a controller.
    PACKAGE "package-changed" Breaking(DataLost Fix)
        "Compare two versions of the same package.";
    /// Downgrade: the new version is earlier than the old one.
    ///
    /// Operators migrate their stored objects, and few can read objects of a later version. In the
    /// report, added means removed by the later version.
    DOWNGRADE "downgrade" Risky(DataLost)
        "Swap the two sides, unless you want a downgrade.";
    /// Helm rejects your values.
    ///
    /// Helm checks values against values.schema.json of the new chart before it renders anything,
    /// so the upgrade with these values fails.
    REFUSED "given-value-refused" Breaking(UpgradeFails Values)
        "Fix the values.";
    /// The vendor's upgrade path has a version in between.
    ///
    /// OLM would install the versions in between first (`replaces`, `skips` and `olm.skipRange` of
    /// the new version do not include the old one). They may migrate objects, which the new version
    /// then does not.
    SKIPPED "upgrade-path-skipped" Risky(Unavailable)
        "Upgrade one version after the other, or ask the vendor whether versions may be skipped.";
}

/// Returns the findings about the sides as a whole, which reports show first.
pub(crate) fn findings(old: &Side, new: &Side) -> Vec<Finding> {
    let refused = values::refused(new).into_iter().map(|why| found(&REFUSED, why));
    path(old, new).into_iter().chain(refused).collect()
}

/// Returns the finding if the two sides are no step of the vendor's upgrade path.
fn path(old: &Side, new: &Side) -> Option<Finding> {
    let (before, after) = (name(old, new), name(new, old));
    if let (Some(before), Some(after)) = (before, after)
        && before != after
    {
        let reason =
            format!("{} and {}", display_value(&json!(before)), display_value(&json!(after)));
        return Some(found(&PACKAGE, reason));
    }

    let is_earlier = |(old, new): &(&str, &str)| {
        let versions = semver::Version::parse(old).ok().zip(semver::Version::parse(new).ok());
        versions.is_some_and(|(old, new)| new.cmp_precedence(&old).is_lt())
    };
    let charts = old.chart.as_ref().zip(new.chart.as_ref());
    let of_charts = charts.map(|(old, new)| (old.version.as_str(), new.version.as_str()));
    let of_operators = (old.operator_version.as_str(), new.operator_version.as_str());
    // The vendor's edges decide: `1.0.1-1` replaces `1.0.1` in catalogs, and is an earlier version.
    let earlier = if names(new, old) {
        None
    } else if names(old, new) {
        Some(of_operators)
    } else {
        of_charts.into_iter().chain([of_operators]).find(is_earlier)
    };
    if let Some((old, new)) = earlier {
        return Some(found(&DOWNGRADE, format!("`{old}` → `{new}`")));
    }
    skipped(old, new).map(|reason| found(&SKIPPED, reason))
}

/// Returns true if the upgrade edges of a side name the ClusterServiceVersion of the other.
fn names(side: &Side, other: &Side) -> bool {
    let UpgradeEdges { replaces, skips, .. } = &side.bundle.edges;
    let csv = &other.bundle.csv;
    !csv.is_empty() && [replaces].into_iter().chain(skips).any(|named| named == csv)
}

/// Returns the reason if the new version's upgrade edges do not include the old version. Without
/// edges, the vendor does not say how to upgrade.
fn skipped(old: &Side, new: &Side) -> Option<String> {
    let (before, after) = (&old.bundle, &new.bundle);
    if before.csv.is_empty() || before.csv == after.csv {
        return None;
    }
    let UpgradeEdges { replaces, skips, skip_range } = &after.edges;
    if names(new, old) || in_range(skip_range, &old.operator_version) {
        return None;
    }
    let path = match (replaces.as_str(), skip_range.as_str()) {
        ("", "") if skips.is_empty() => return None,
        ("", "") => format!("skips {}", skips.join(", ")),
        ("", range) => format!("upgrades only from {range}"),
        (replaces, "") => format!("replaces {replaces}"),
        (replaces, range) => format!("replaces {replaces}, or upgrades from {range}"),
    };
    Some(format!("{} {path}, not {}", after.csv, before.csv))
}

/// Returns true if a range of versions, as OLM writes it, includes a version.
fn in_range(range: &str, version: &str) -> bool {
    // OLM's parser (blang/semver) refuses a `v` before a version, but what the vendor means is clear.
    let mut range = format!(" {range}");
    for operator in ["<", ">", "=", " "] {
        range = range.replace(&format!("{operator}v"), operator);
    }
    let version = semver::Version::parse(version.trim_start_matches('v'));
    VersionRange::parse(&range)
        .ok()
        .zip(version.ok())
        .is_some_and(|(range, version)| range.contains(&version))
}

/// Returns the package of a side, or its chart name if a package is unknown.
fn name<'s>(side: &'s Side, other: &Side) -> Option<&'s str> {
    let known = |text: &'s str| Some(text).filter(|text| !text.is_empty());
    if side.package.is_empty() || other.package.is_empty() {
        return known(&side.chart.as_ref()?.name);
    }
    known(&side.package)
}

//! Rules on the two sides as a whole: different packages and downgrades.

use super::{display_value, found, rules};
use crate::diff::{Finding, Side};
use serde_json::json;

rules! {
    PACKAGE "package-changed" Breaking
        "Different packages compared."
        "The report describes no upgrade: installed over the old chart, the new chart deletes the old operator and leaves its custom resources without a controller."
        "Compare two versions of the same package.";
    DOWNGRADE "downgrade" Risky
        "Downgrade: the new version is earlier than the old one."
        "Operators migrate their stored objects, and few can read objects of a later version. In the report, added means removed by the later version."
        "Swap the two sides, unless you want a downgrade.";
}

/// Returns the findings about the sides as a whole, which reports show first.
pub(in crate::diff) fn judge(old: &Side, new: &Side) -> Vec<Finding> {
    let (before, after) = (name(old, new), name(new, old));
    if let (Some(before), Some(after)) = (before, after)
        && before != after
    {
        let reason =
            format!("{} and {}", display_value(&json!(before)), display_value(&json!(after)));
        return vec![found(&PACKAGE, reason)];
    }

    let is_earlier = |(old, new): &(&str, &str)| {
        let versions = semver::Version::parse(old).ok().zip(semver::Version::parse(new).ok());
        versions.is_some_and(|(old, new)| new.cmp_precedence(&old).is_lt())
    };
    let charts = old.chart.as_ref().zip(new.chart.as_ref());
    let of_charts = charts.map(|(old, new)| (old.version.as_str(), new.version.as_str()));
    let of_operators = (old.operator_version.as_str(), new.operator_version.as_str());
    let earlier = of_charts.into_iter().chain([of_operators]).find(is_earlier);
    let finding = |(old, new): (&str, &str)| found(&DOWNGRADE, format!("`{old}` → `{new}`"));
    earlier.map(finding).into_iter().collect()
}

/// Returns the package of a side, or its chart name if a package is unknown.
fn name<'s>(side: &'s Side, other: &Side) -> Option<&'s str> {
    let known = |text: &'s str| Some(text).filter(|text| !text.is_empty());
    if side.package.is_empty() || other.package.is_empty() {
        other.chart.as_ref()?;
        return known(&side.chart.as_ref()?.name);
    }
    known(&side.package)
}

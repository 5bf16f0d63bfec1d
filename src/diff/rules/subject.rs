//! What the two sides are: whether one is an upgrade of the other at all.

use super::{found, rules, spoken};
use crate::diff::{Finding, Side};
use serde_json::json;

rules! {
    PACKAGE "package-changed" Breaking
        "The two sides are different operators."
        "Nothing that the report says about one of them helps with an upgrade of the other: installed over it, the new chart deletes the old operator and leaves its custom resources without one."
        "Compare two versions of one package.";
    DOWNGRADE "downgrade" Risky
        "The new side is an earlier version than the old one."
        "Operators migrate what they store, and few can read what a later version wrote. What is reported as added came with the later version under its old name, or was removed in it."
        "Swap the two sides, unless a downgrade is meant.";
}

/// Returns what is to be said of the sides before any of their objects.
pub(in crate::diff) fn judge(old: &Side, new: &Side) -> Vec<Finding> {
    let (before, after) = (name(old, new), name(new, old));
    if let (Some(before), Some(after)) = (before, after)
        && before != after
    {
        let reason = format!("{} and {}", spoken(&json!(before)), spoken(&json!(after)));
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
    let finding = |(old, new): (&str, &str)| found(&DOWNGRADE, format!("`{old}` became `{new}`"));
    earlier.map(finding).into_iter().collect()
}

/// Returns the package of a side, or the name of its chart when only that can be compared.
fn name<'s>(side: &'s Side, other: &Side) -> Option<&'s str> {
    let known = |text: &'s str| Some(text).filter(|text| !text.is_empty());
    if side.package.is_empty() || other.package.is_empty() {
        other.chart.as_ref()?;
        return known(&side.chart.as_ref()?.name);
    }
    known(&side.package)
}

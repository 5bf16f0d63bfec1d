//! Reports charts whose release does not fit into the Secret where Helm keeps it, with remedies.

use crate::chart::{self, Chart};
use crate::config::{BundleConfig, CrdPlacement};
use crate::diag::{Code, Diagnostic, Diagnostics};

/// Settings that reduce the release size, least disruptive for existing releases first: the placement
/// of CRDs, and the removal of descriptions.
const REMEDIES: [(Option<CrdPlacement>, Option<bool>); 5] = [
    (None, Some(true)),
    (Some(CrdPlacement::Separate), None),
    (Some(CrdPlacement::Subchart), None),
    (Some(CrdPlacement::Crds), None),
    (Some(CrdPlacement::Separate), Some(true)),
];

/// Reports each chart whose release takes most of its Secret or does not fit, and what was left out of
/// Chart.yaml to reduce it. `compile` compiles the bundle with other settings; it is called only if
/// there is a chart that takes most of its Secret.
pub(super) fn check(
    charts: &[Chart],
    config: &BundleConfig,
    compile: impl Fn(&BundleConfig) -> Vec<Chart>,
    diagnostics: &mut Diagnostics,
) {
    let small = charts.iter().filter(|chart| chart.release_bytes < chart::RELEASE_WARN);
    for chart in small.filter(|chart| chart.is_without_examples) {
        let message = format!(
            "Chart.yaml of `{}` is without `{}`, because the release Secret would take {} % or more \
                of the {} bytes that Kubernetes allows",
            chart.name,
            chart::CRDS_EXAMPLES,
            chart::release_percent(chart::RELEASE_WARN),
            chart::RELEASE_LIMIT
        );
        let note = Diagnostic::note(Code::ReleaseSize, message);
        diagnostics.push(note.at(&config.span));
    }

    let large: Vec<&Chart> =
        charts.iter().filter(|chart| chart.release_bytes >= chart::RELEASE_WARN).collect();
    let Some(largest) = large.iter().map(|chart| chart.release_bytes).max() else { return };

    let hint = hint(largest, config, compile);
    for chart in large {
        let (name, bytes, limit) = (&chart.name, chart.release_bytes, chart::RELEASE_LIMIT);
        let share = chart::release_percent(bytes);
        let without = match chart.is_without_examples {
            true => format!(", without `{}` in Chart.yaml", chart::CRDS_EXAMPLES),
            false => String::new(),
        };
        let takes = format!(
            "release Secret of `{name}` takes up to {bytes} bytes ({share} %) of the {limit} that \
                Kubernetes allows{without}"
        );
        let found = match bytes > limit {
            true => Diagnostic::error(Code::ReleaseSize, takes + ": Helm cannot install it"),
            false => Diagnostic::warning(Code::ReleaseSize, takes),
        };
        diagnostics.push(found.at(&config.span).hint(&hint));
    }
}

/// Returns a hint with the settings with which the release fits, else with those that reduce its size, and
/// the resulting percentages.
fn hint(
    largest: usize,
    config: &BundleConfig,
    compile: impl Fn(&BundleConfig) -> Vec<Chart>,
) -> String {
    let mut fitting = Vec::new();
    let mut smaller = Vec::new();
    for (crds, strip) in REMEDIES {
        let mut changed = config.clone();
        let settings = &mut changed.settings;
        settings.crds = crds.or(settings.crds);
        settings.strip_descriptions = strip.or(settings.strip_descriptions);
        let is_set = settings.crds == config.settings.crds
            && settings.strip_descriptions == config.settings.strip_descriptions;
        // A combination is worth its cost only where one setting is not enough.
        let combines = crds.is_some() && strip.is_some();
        if is_set || combines && !fitting.is_empty() {
            continue;
        }
        let crds = crds.map(|crds| format!("crds = \"{}\"", crds.as_str()));
        let strip = strip.map(|strip| format!("strip-descriptions = {strip}"));
        let written = [crds, strip].into_iter().flatten().collect::<Vec<_>>().join(" and ");

        // Compiled, not estimated: the size is after compression.
        let charts = compile(&changed);
        let Some(most) = charts.iter().map(|chart| chart.release_bytes).max() else { continue };
        let shares: Vec<String> = charts
            .iter()
            // The settings change CRDs only, which charts of operands do not have.
            .filter(|chart| !chart.name.ends_with(crate::config::OPERANDS_SUFFIX))
            .map(|chart| format!("{} {}", chart.name, chart::release_share(chart.release_bytes)))
            .collect();
        let shares = shares.join(", ");
        // A setting that only just fits would be too large with the next version.
        if most < chart::RELEASE_WARN {
            fitting.push(written);
        } else if chart::release_percent(most) < chart::release_percent(largest) {
            smaller.push(format!("{written} ({shares})"));
        }
    }

    let filters = "exclude objects with filters, or move overlays into separate charts";
    match (fitting.as_slice(), smaller.as_slice()) {
        ([], []) => filters.to_owned(),
        ([], smaller) => format!("{filters}; these reduce the size: {}", smaller.join(" or ")),
        (fitting, _) => format!("write {}", fitting.join(" or ")),
    }
}

#[cfg(test)]
mod tests;

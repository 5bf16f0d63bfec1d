//! Charts whose release does not fit into the Secret where Helm keeps it, and what would help.

use crate::chart::{self, Chart};
use crate::config::{BundleConfig, CrdPlacement};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};

/// Keys of bundles.toml that make a release smaller.
struct Remedy {
    /// The setting, as written in bundles.toml.
    written: &'static str,
    apply: fn(&mut BundleConfig),
}

/// Settings that reduce the release size, least disruptive for existing releases first.
const REMEDIES: [Remedy; 4] = [
    Remedy {
        written: "strip-descriptions = true",
        apply: |config| config.strip_descriptions = true,
    },
    Remedy {
        written: "crds = \"separate\"",
        apply: |config| config.crds = Some(CrdPlacement::Separate),
    },
    Remedy {
        written: "crds = \"subchart\"",
        apply: |config| config.crds = Some(CrdPlacement::Subchart),
    },
    Remedy {
        written: "crds = \"separate\" and strip-descriptions = true",
        apply: |config| {
            config.crds = Some(CrdPlacement::Separate);
            config.strip_descriptions = true;
        },
    },
];

/// Reports each chart whose release takes most of its Secret, or does not fit. `compile` compiles the bundle with other settings; it is called only if there is such a chart.
pub(super) fn check(
    charts: &[Chart],
    config: &BundleConfig,
    compile: impl Fn(&BundleConfig) -> Vec<Chart>,
    diagnostics: &mut Diagnostics,
) {
    let large: Vec<&Chart> =
        charts.iter().filter(|chart| chart.release_bytes >= chart::RELEASE_WARN).collect();
    let Some(largest) = large.iter().map(|chart| chart.release_bytes).max() else { return };

    let hint = hint(largest, config, compile);
    for chart in large {
        diagnostics.push(finding(chart).at(Place::span(config.span.clone())).hint(&hint));
    }
}

fn finding(chart: &Chart) -> Diagnostic {
    let (name, bytes, limit) = (&chart.name, chart.release_bytes, chart::RELEASE_LIMIT);
    let share = chart::release_percent(bytes);
    let takes = format!(
        "release Secret of `{name}` takes up to {bytes} bytes ({share} %) of the {limit} that \
            Kubernetes allows"
    );
    if bytes > limit {
        Diagnostic::error(Code::ReleaseSize, format!("{takes}: Helm cannot install it"))
    } else {
        Diagnostic::warning(Code::ReleaseSize, takes)
    }
}

/// Returns a hint with the settings that reduce the size, and the resulting percentages.
fn hint(
    largest: usize,
    config: &BundleConfig,
    compile: impl Fn(&BundleConfig) -> Vec<Chart>,
) -> String {
    let mut fitting = Vec::new();
    let mut smaller = Vec::new();
    for Remedy { written, apply } in REMEDIES {
        let mut changed = config.clone();
        apply(&mut changed);
        let settings = |config: &BundleConfig| (config.crds, config.strip_descriptions);
        // A combination is worth its cost only where one setting is not enough.
        let combines = written.contains(" and ");
        if settings(&changed) == settings(config) || combines && !fitting.is_empty() {
            continue;
        }
        // Compiled, not estimated: the size is after compression.
        let charts = compile(&changed);
        let Some(most) = charts.iter().map(|chart| chart.release_bytes).max() else { continue };
        let shares: Vec<String> = charts
            .iter()
            .filter(|chart| !chart.name.ends_with(crate::config::OPERANDS_SUFFIX))
            .map(|chart| {
                format!("{} {} %", chart.name, chart::release_percent(chart.release_bytes))
            })
            .collect();
        let choice = format!("{written} ({})", shares.join(", "));
        // A setting that only just fits would be too large with the next version.
        if most < chart::RELEASE_WARN {
            fitting.push(choice);
        } else if chart::release_percent(most) < chart::release_percent(largest) {
            smaller.push(choice);
        }
    }

    let filters = "exclude objects with filters, or move overlays into separate charts";
    match (fitting.as_slice(), smaller.as_slice()) {
        ([], []) => filters.to_owned(),
        ([], smaller) => format!("{filters}; these reduce the size: {}", smaller.join(" or ")),
        (fitting, _) => format!("write {}", fitting.join(" or ")),
    }
}

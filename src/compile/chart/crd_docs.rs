//! CRDs in README.md.

use super::{DocumentedChart, Part};
use crate::kubectl::adopt_crds;

/// The arguments of `helm template` for the CRDs of the subchart.
const SUBCHART: &str = "crds charts/crds";
/// CRDs in the chart's own `templates/`.
const OWN_TEMPLATES: &str = "templates/customresourcedefinition-*.yaml";

/// Returns which CRDs of the bundle are templates of the chart; `None` if none are.
pub(super) fn templates(chart: &DocumentedChart<'_>) -> Option<&'static str> {
    let others = chart.companions.crds || chart.crds.folder().is_some();
    let which = if others { "those in `templates/`" } else { "them" };
    (chart.crds.are_templates() || has_own_templates(chart)).then_some(which)
}

fn has_own_templates(chart: &DocumentedChart<'_>) -> bool {
    let mut crds = chart.unit.of_kind("CustomResourceDefinition");
    crds.any(|crd| !chart.crds.holds(crd))
}

/// Returns the commands that make a release adopt existing CRDs.
pub(super) fn adopting(chart: &DocumentedChart<'_>) -> Vec<String> {
    let mut commands = Vec::new();
    if chart.crds.are_templates() {
        commands.extend(adopt_crds(SUBCHART));
    }
    // Those of NAME-crds are stubs, which its hook creates.
    if has_own_templates(chart) && chart.part == Part::Operator {
        // They need the namespace, values and certificates of the chart.
        let (release, namespace) = (chart.name(chart.part), chart.namespace());
        commands.extend(adopt_crds(&format!(
            "{release} . --namespace {namespace} --show-only '{OWN_TEMPLATES}'"
        )));
    }
    commands
}

//! Steps after the installation in README.md and NOTES.txt: what is changed, by whom, and the commands
//! to do it by hand.

use super::DocumentedChart;
use crate::kubectl::Namespaces;
use crate::overlay;

/// Returns the name of the Job that carries the steps out.
pub(super) fn job(chart: &DocumentedChart<'_>) -> String {
    overlay::job_name(chart.description.config, chart.part.phase().unwrap_or_default())
}

/// Returns the commands that carry the steps out by hand.
pub(super) fn commands(chart: &DocumentedChart<'_>, namespace: &str) -> Vec<String> {
    let namespaces = Namespaces::Named(namespace);
    chart.steps.iter().flat_map(|step| step.commands(namespaces)).collect()
}

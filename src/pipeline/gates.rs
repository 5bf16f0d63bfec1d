//! Gates against the objects of their chart: a gate on an object that is not there never opens.

use crate::config::BundleConfig;
use crate::diag::{Code, Diagnostics, listed};
use crate::ir::{LASTING_WORKLOADS, Object, Unit, may_be_built_in_group};

/// Reports gates on objects that the chart should contain, but does not.
///
/// Operators create objects of any kind, so an object is only missing if the chart has others of its
/// kind that are the user's to create: custom resources, or anything in a chart without workloads.
pub(super) fn check(config: &BundleConfig, unit: &Unit, diagnostics: &mut Diagnostics) {
    let has_workloads =
        unit.objects.iter().any(|object| LASTING_WORKLOADS.contains(&object.kind()));
    for gate in &config.gates {
        // An object that the operator creates is not in the chart; one with a wrong name is near
        // others of its kind.
        let same_kind: Vec<&Object> =
            unit.objects.iter().filter(|object| gate.target.is_kind_of(object)).collect();
        let is_there = same_kind.iter().any(|object| object.name() == gate.target.name);
        let is_custom = !may_be_built_in_group(&gate.target.group);
        if !is_there && !same_kind.is_empty() && (is_custom || !has_workloads) {
            let (kind, name) = (&gate.target.kind, &gate.target.name);
            let message = format!("the chart has no {kind}/{name}, so this gate never opens");
            let names = same_kind.iter().map(|object| format!("`{}`", object.name()));
            let mut names: Vec<String> = names.collect();
            names.sort_unstable();
            let hint = format!("use one that it has: {}", listed(&names, 5));
            diagnostics.error(Code::GateObject, &gate.span, message, hint);
        }
    }
}

#[cfg(test)]
mod tests;

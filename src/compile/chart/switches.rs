//! Switches in README.md and NOTES.txt of the chart NAME-operands: the gates that the chart waits for,
//! and the value to set.

use crate::config::Switch;
use crate::kubectl::{Gate, Namespaces};
use crate::overlay;

/// Returns the value that turns a switch on.
pub(super) fn value(switch: &Switch) -> String {
    format!("switches.{}: true", switch.name.text)
}

/// Returns the most seconds that the Jobs of switches wait for their gates.
pub(super) fn seconds(switches: &[Switch]) -> u64 {
    // Helm runs hooks one after the other, so their times add up.
    switches.iter().map(overlay::switch_job_seconds).sum()
}

/// Returns the commands that wait for the gates of a switch.
pub(super) fn commands(switch: &Switch, namespace: &str) -> Vec<String> {
    let namespaces = Namespaces::Named(namespace);
    let gates = switch.gates.iter().map(|gate| Gate::new(gate, false));
    gates.flat_map(|gate| gate.commands(namespaces)).collect()
}

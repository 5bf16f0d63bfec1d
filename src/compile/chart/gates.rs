//! Gates, steps after the installation and switches in README.md and NOTES.txt: the commands that wait
//! for them or carry them out by hand, and those that show why gates are closed.

use crate::config::{BundleConfig, Switch};
use crate::ir::{Phase, Unit, Value};
use crate::kubectl::{Gate, Namespaces, Step};

/// Returns the gates that are awaited after the chart of a phase, whose objects are `unit`. An object
/// of the chart is awaited in its own namespace.
pub(super) fn of_phase(config: &BundleConfig, phase: Phase, unit: &Unit) -> Vec<Gate> {
    let gates = config.gates.iter().filter(|gate| gate.phase == phase);
    let gates = gates.map(|gate| {
        let target = &gate.target;
        let found = unit.objects.iter().find(|object| {
            let namespace = object.metadata("namespace").and_then(Value::as_str);
            target.is_kind_of(object)
                && object.name() == target.name
                // Namespaces that values set are not known here.
                && (namespace.is_none()
                    || target.namespace.is_none()
                    || target.namespace.as_deref() == namespace)
        });
        let mut gate = Gate::new(gate, found.is_some());
        // The chart knows better than the default, which is the release namespace.
        let namespace = found.and_then(|object| object.metadata("namespace")?.as_str());
        gate.target.namespace = gate.target.namespace.or(namespace.map(str::to_owned));
        gate
    });
    gates.collect()
}

/// Returns the commands that wait for gates.
pub(super) fn waits(gates: &[Gate], namespace: &str) -> Vec<String> {
    gates.iter().flat_map(|gate| gate.commands(Namespaces::Named(namespace))).collect()
}

/// Returns the commands that show why gates are closed, each once.
pub(super) fn shows(gates: &[Gate], namespace: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    for command in gates.iter().flat_map(|gate| gate.shows(Namespaces::Named(namespace))) {
        // Several gates may be on one object.
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    commands
}

/// Returns the commands that carry steps out by hand.
pub(super) fn by_hand(steps: &[Step], namespace: &str) -> Vec<String> {
    steps.iter().flat_map(|step| step.commands(Namespaces::Named(namespace))).collect()
}

/// Returns the commands that wait for the gates of a switch.
pub(super) fn of_switch(switch: &Switch, namespace: &str) -> Vec<String> {
    let gates: Vec<Gate> = switch.gates.iter().map(|gate| Gate::new(gate, false)).collect();
    waits(&gates, namespace)
}

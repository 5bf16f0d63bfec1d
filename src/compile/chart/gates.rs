//! Gates in README.md and NOTES.txt: the commands that wait for them, and those that show why they
//! are closed.

use super::Part;
use crate::config::BundleConfig;
use crate::ir::{Phase, Unit, Value};
use crate::kubectl::{Gate, Namespaces};
use crate::yaml::escape;
use std::fmt::Write as _;

/// Returns the gates that are awaited after a part of a bundle, whose objects are `unit`. An object of
/// the chart is awaited in its own namespace.
pub(super) fn of_part(config: &BundleConfig, part: Part, unit: &Unit) -> Vec<Gate> {
    let phase = match part {
        Part::Crds => return Vec::new(),
        Part::Operator => Phase::With,
        Part::Operands => Phase::Operand,
    };
    let gates = config.gates.iter().filter(|gate| gate.phase == phase);
    gates
        .map(|gate| {
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
        })
        .collect()
}

/// Appends the README section.
pub(super) fn section(text: &mut String, gates: &[Gate], namespace: &str) {
    if gates.is_empty() {
        return;
    }
    text.push_str(
        "\n## Ready\n\nThe charts that depend on this one need more than its installation. It is ready when these \
         commands succeed (kubectl 1.31 or later):\n\n```sh\n",
    );
    for gate in gates {
        for command in gate.commands(Namespaces::Named(namespace)) {
            let _ = writeln!(text, "{command}");
        }
    }
    text.push_str("```\n\nIf one of them times out, these show why, as do the logs of the operator:\n\n```sh\n");
    for show in shows(gates, namespace) {
        let _ = writeln!(text, "{show}");
    }
    text.push_str("```\n");
}

/// Appends the paragraph of NOTES.txt.
pub(super) fn notes(text: &mut String, gates: &[Gate]) {
    if gates.is_empty() {
        return;
    }
    text.push_str("\nIt is ready when these commands succeed (kubectl 1.31 or later):\n");
    for gate in gates {
        for command in gate.commands(Namespaces::Named(RELEASE)) {
            let _ = writeln!(text, "  {}", in_notes(&command));
        }
    }
    text.push_str("If one of them times out, these show why, as do the logs of the operator:\n");
    for show in shows(gates, RELEASE) {
        let _ = writeln!(text, "  {}", in_notes(&show));
    }
}

/// A namespace that no namespace is called, in place of the release namespace.
pub(super) const RELEASE: &str = "=release-namespace=";

/// Returns a command as text of a template, in which only the namespace is an action.
pub(super) fn in_notes(command: &str) -> String {
    escape(command).replace(RELEASE, "{{ .Release.Namespace }}")
}

/// Returns the commands that show why gates are closed, each once.
fn shows(gates: &[Gate], namespace: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    for gate in gates {
        for show in gate.shows() {
            let command = gate.command(&show, Namespaces::Named(namespace));
            // Several gates may be on one object.
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
    }
    commands
}

//! Switches in README.md and NOTES.txt of the chart NAME-operands: what to wait for, and the value to
//! set.

use super::gates::{RELEASE, in_notes};
use crate::config::Switch;
use crate::escape::markdown::code;
use crate::kubectl::{Gate, Namespaces};
use std::fmt::Write as _;

/// Appends the README section.
pub(super) fn section(text: &mut String, switches: &[Switch], namespace: &str) {
    if switches.is_empty() {
        return;
    }
    text.push_str(
        "\n## Switches\n\nThese values change the custom resources later. Turn them on one after the other, in the values \
         of the release: with Argo CD and Flux by a commit.\n",
    );
    for (number, switch) in (1..).zip(switches) {
        let _ = write!(text, "\n{number}. {}", code(&format!("switches.{}: true", switch.name)));
        let commands = commands(switch, namespace);
        if commands.is_empty() {
            text.push('\n');
            continue;
        }
        text.push_str(", when these commands succeed (kubectl 1.31 or later):\n\n   ```sh\n");
        for command in commands {
            let _ = writeln!(text, "   {command}");
        }
        text.push_str("   ```\n");
    }
}

/// Appends the paragraph of NOTES.txt: the next switch to turn on.
pub(super) fn notes(text: &mut String, switches: &[Switch]) {
    for (index, switch) in switches.iter().enumerate() {
        let word = if index == 0 { "if" } else { "else if" };
        let _ = write!(
            text,
            "{{{{- {word} not (index .Values.switches \"{0}\") }}}}\n\nThe switch {0} is off. Turn it on with the value \
             switches.{0}=true",
            switch.name
        );
        let commands = commands(switch, RELEASE);
        text.push_str(if commands.is_empty() { ".\n" } else { " when these commands succeed:\n" });
        for command in commands {
            let _ = writeln!(text, "  {}", in_notes(&command));
        }
    }
    if !switches.is_empty() {
        text.push_str("{{- end }}\n");
    }
}

fn commands(switch: &Switch, namespace: &str) -> Vec<String> {
    let namespaces = Namespaces::Named(namespace);
    let gates = switch.gates.iter().map(|gate| Gate::new(gate, false));
    gates.flat_map(|gate| gate.commands(namespaces)).collect()
}

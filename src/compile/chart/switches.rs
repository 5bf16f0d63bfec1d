//! Switches in README.md and NOTES.txt of the chart NAME-operands: the gates that the chart waits for,
//! and the value to set.

use super::DocumentedChart;
use super::commands::{RELEASE, in_notes, in_readme};
use crate::config::Switch;
use crate::escape::markdown::code;
use crate::kubectl::{Gate, Namespaces};
use crate::overlay;

/// Appends the README section.
pub(super) fn section(text: &mut String, chart: &DocumentedChart<'_>) {
    let config = chart.description.config;
    let switches = &config.switches;
    if switches.is_empty() {
        return;
    }
    text.push_str(
        "\n## Switches\n\nThese values change the custom resources later. Turn them on one after the other, in the values \
         of the release: with Argo CD and Flux by a commit.\n",
    );
    for (number, switch) in (1..).zip(switches) {
        *text += &format!("\n{number}. {}", code(&format!("switches.{}: true", switch.name.text)));
        let commands = commands(switch, chart.description.namespace);
        if commands.is_empty() {
            text.push('\n');
            continue;
        }
        *text += &format!(
            ", whose Job {} first waits for these gates (kubectl 1.31 or later):\n\n",
            code(&overlay::switch_job_name(config, switch))
        );
        in_readme(text, "   ", &commands);
    }

    let seconds: u64 = switches.iter().map(overlay::switch_job_seconds).sum();
    if seconds > 0 {
        *text += &format!(
            "\nThe Jobs are hooks of Helm, Argo CD and Flux before the installation and each upgrade, with permissions \
             to read these objects only; `helm` needs `--timeout {seconds}s` for them. If a gate stays closed, the custom \
             resources are not changed, and the log of the Job names the gate. With `--set gates.hook=false` there are \
             no Jobs.\n"
        );
    }
}

/// Appends the paragraph of NOTES.txt: the next switch to turn on.
pub(super) fn notes(text: &mut String, chart: &DocumentedChart<'_>) {
    let switches = &chart.description.config.switches;
    for (index, switch) in switches.iter().enumerate() {
        // Switches are turned on in their order, so only the first one that is off is named.
        let word = if index == 0 { "if" } else { "else if" };
        *text += &format!(
            "{{{{- {word} not (index .Values.switches \"{0}\") }}}}\n\nThe switch {0} is off. Turn it on with the value \
             switches.{0}=true",
            switch.name.text
        );
        let commands = commands(switch, RELEASE);
        if commands.is_empty() {
            text.push_str(".\n");
            continue;
        }
        text.push_str(". Its Job waits for these gates:\n");
        in_notes(text, &commands);
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

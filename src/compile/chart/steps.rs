//! Steps after the installation in README.md and NOTES.txt: what is changed, by whom, and the commands
//! to do it by hand.

use super::gates::{RELEASE, in_notes};
use super::{Description, Part};
use crate::escape::markdown::code;
use crate::ir::{Phase, Scopes};
use crate::kubectl::{Namespaces, Step};
use crate::overlay;
use std::fmt::Write as _;

/// The steps after a chart.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    pub(super) list: Vec<Step>,
    /// Name of the Job that carries them out.
    job: String,
}

/// Returns the steps after a part of a bundle; `scopes` has the scopes of kinds of all its parts.
pub(super) fn of_part(description: &Description<'_>, part: Part, scopes: &Scopes) -> Steps {
    let config = description.config;
    let (list, phase) = match part {
        Part::Crds => (Vec::new(), Phase::With),
        Part::Operator => (overlay::steps(config, Phase::With, scopes), Phase::With),
        Part::Operands => (overlay::steps(config, Phase::Operand, scopes), Phase::Operand),
    };
    Steps { list, job: overlay::job_name(config, phase) }
}

/// Appends the README section.
pub(super) fn section(text: &mut String, steps: &Steps, namespace: &str) {
    if steps.list.is_empty() {
        return;
    }

    let _ = write!(
        text,
        "\n## Steps after the installation\n\n\
         These objects are created by an operator, and changed after each installation and upgrade:\n\n\
         | Object | Merge patch |\n|---|---|\n"
    );
    for step in &steps.list {
        let patches: Vec<String> = step.patches().iter().map(|patch| code(patch)).collect();
        let once = if step.is_done_once() { ", once for each object" } else { "" };
        let _ =
            writeln!(text, "| {} | {}{once} |", code(&step.describe()), patches.join(", then "));
    }

    let _ = write!(
        text,
        "\nThe Job {} does it, a hook of Helm, Argo CD and Flux, with permissions for these objects only; `helm` needs \
         `--timeout {}s` for it. A change that an object has already is not made again. `helm uninstall` does not undo \
         it. With `--set after.hook=false` there is no Job. By hand (kubectl 1.31 or later):\n\n```sh\n",
        code(&steps.job),
        overlay::job_seconds(&steps.list)
    );

    for command in commands(steps, namespace) {
        let _ = writeln!(text, "{command}");
    }
    text.push_str("```\n");
}

/// Appends the paragraph of NOTES.txt.
pub(super) fn notes(text: &mut String, steps: &Steps) {
    if steps.list.is_empty() {
        return;
    }
    let _ = write!(
        text,
        "{{{{- if .Values.after.hook }}}}\n\nThe Job {} has changed objects that the operator creates. If it fails:\n  \
         kubectl --namespace {{{{ .Release.Namespace }}}} logs job/{} --all-containers\n\
         {{{{- else }}}}\n\nChange these objects when they exist (kubectl 1.31 or later):\n",
        steps.job, steps.job
    );
    for command in commands(steps, RELEASE) {
        let _ = writeln!(text, "  {}", in_notes(&command));
    }
    text.push_str("{{- end }}\n");
}

fn commands(steps: &Steps, namespace: &str) -> Vec<String> {
    let namespaces = Namespaces::Named(namespace);
    steps.list.iter().flat_map(|step| step.commands(namespaces)).collect()
}

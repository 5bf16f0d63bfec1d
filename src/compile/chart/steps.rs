//! Steps after the installation in README.md and NOTES.txt: what is changed, by whom, and the commands
//! to do it by hand.

use super::DocumentedChart;
use super::commands::{RELEASE, in_notes, in_readme};
use crate::diag::join;
use crate::escape::markdown::code;
use crate::kubectl::Namespaces;
use crate::overlay;

/// Appends the README section.
pub(super) fn section(text: &mut String, chart: &DocumentedChart<'_>) {
    if chart.steps.is_empty() {
        return;
    }

    text.push_str(
        "\n## Steps after the installation\n\n\
         These objects are created by an operator, and changed after each installation and upgrade:\n\n\
         | Object | Merge patch |\n|---|---|\n",
    );
    for step in &chart.steps {
        let patches = join(step.patches().iter().map(|patch| code(patch)), ", then ");
        let once = if step.is_done_once() { ", once for each object" } else { "" };
        *text += &format!("| {} | {patches}{once} |\n", code(&step.describe()));
    }

    *text += &format!(
        "\nThe Job {} does it, a hook of Helm, Argo CD and Flux, with permissions for these objects only; `helm` needs \
         `--timeout {}s` for it. A change that an object has already is not made again. `helm uninstall` does not undo \
         it. With `--set after.hook=false` there is no Job. By hand (kubectl 1.31 or later):\n\n",
        code(&job(chart)),
        overlay::job_seconds(&chart.steps)
    );
    in_readme(text, "", &commands(chart, chart.description.namespace));
}

/// Appends the paragraph of NOTES.txt.
pub(super) fn notes(text: &mut String, chart: &DocumentedChart<'_>) {
    if chart.steps.is_empty() {
        return;
    }
    let job = job(chart);
    *text += &format!(
        "{{{{- if .Values.after.hook }}}}\n\nThe Job {job} has changed objects that the operator creates. If it fails:\n  \
         kubectl --namespace {{{{ .Release.Namespace }}}} logs job/{job} --all-containers\n\
         {{{{- else }}}}\n\nChange these objects when they exist (kubectl 1.31 or later):\n"
    );
    in_notes(text, &commands(chart, RELEASE));
    text.push_str("{{- end }}\n");
}

/// Returns the name of the Job that carries the steps out.
fn job(chart: &DocumentedChart<'_>) -> String {
    overlay::job_name(chart.description.config, chart.part.phase().unwrap_or_default())
}

fn commands(chart: &DocumentedChart<'_>, namespace: &str) -> Vec<String> {
    let namespaces = Namespaces::Named(namespace);
    chart.steps.iter().flat_map(|step| step.commands(namespaces)).collect()
}

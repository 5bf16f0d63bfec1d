//! `bundle2chart explain CODE`

use super::Exit;
use super::output::Output;
use crate::diag::{Explanation, suggest};
use crate::diff::rules;

/// Explain a diagnostic code or a code of a diff finding.
#[derive(Debug, clap::Args)]
pub(super) struct Explain {
    /// Code, as in `error[unknown-key]` [default: list all codes].
    code: Option<String>,
}

impl Explain {
    pub(super) fn run(&self, output: &mut Output) -> Exit {
        let explanations: Vec<Explanation> = rules::explanations().collect();
        let Some(name) = &self.code else {
            let line = |e: &Explanation| format!("{:<28} {}: {}", e.code, e.level, e.title);
            output.lines(&explanations.iter().map(line).collect());
            return Exit::Clean;
        };

        if let Some(found) = explanations.iter().find(|explanation| explanation.code == name) {
            let head = format!("{} ({}, {})", found.code, found.level, found.area);
            let mut lines = vec![head.as_str(), "", found.title, "", found.explanation];
            let todo = found.todo.map(|todo| format!("What to do: {todo}"));
            lines.extend(todo.iter().flat_map(|todo| ["", todo.as_str()]));
            output.lines(&lines.into_iter().collect());
            return Exit::Clean;
        }

        let names: Vec<&str> = explanations.iter().map(|explanation| explanation.code).collect();
        let near = suggest::nearest_of(name, &names, 3);
        let hint = match near.as_slice() {
            [] => "run `bundle2chart explain` to list all codes".to_owned(),
            near => format!("did you mean {}?", near.join(" or ")),
        };
        output.error([format!("error: unknown code `{name}`"), format!("hint: {hint}")])
    }
}

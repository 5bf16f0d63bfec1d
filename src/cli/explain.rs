//! `bundle2chart explain CODE`

use super::Exit;
use super::output::Output;
use crate::diag::Code;
use crate::diff::rules;

/// Explain a diagnostic code or a code of a diff finding.
#[derive(Debug, clap::Args)]
pub(super) struct Explain {
    /// Code, as in `error[unknown-key]` [default: list all codes].
    code: Option<String>,
}

impl Explain {
    pub(super) fn run(&self, output: &mut Output) -> Exit {
        let Some(name) = &self.code else {
            let codes = Code::ALL
                .iter()
                .map(|code| format!("{:<28} {}", code.as_str(), code.description()));
            let changes = rules::all()
                .map(|rule| format!("{:<28} {}: {}", rule.code, rule.class.as_str(), rule.title));
            output.lines(&codes.chain(changes).collect());
            return Exit::Clean;
        };

        if let Some(rule) = rules::all().find(|rule| rule.code == name) {
            let head = format!("{} ({})", rule.code, rule.class.as_str());
            let mut lines = vec![head.as_str(), "", rule.title, "", rule.explanation];
            let todo = rule.todo.map(|todo| format!("What to do: {todo}"));
            lines.extend(todo.iter().flat_map(|todo| ["", todo.as_str()]));
            output.lines(&lines.into_iter().collect());
            return Exit::Clean;
        }

        match Code::ALL.iter().find(|code| code.as_str() == name) {
            Some(code) => {
                let lines = [code.as_str(), "", code.description(), "", code.explanation()];
                output.lines(&lines.into_iter().collect());
                Exit::Clean
            }
            None => {
                let names: Vec<&str> = (Code::ALL.iter().map(|code| code.as_str()))
                    .chain(rules::all().map(|rule| rule.code))
                    .collect();
                let near = similar::get_close_matches(name.as_str(), &names, 3, 0.6);
                let hint = match near.as_slice() {
                    [] => "run `bundle2chart explain` to list all codes".to_owned(),
                    near => format!("did you mean {}?", near.join(" or ")),
                };
                let lines = [format!("error: unknown code `{name}`"), format!("hint: {hint}")];
                output.error(&lines.into_iter().collect());
                Exit::Error
            }
        }
    }
}

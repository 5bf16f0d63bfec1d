//! `bundle2chart explain CODE`

use super::Exit;
use super::output::Output;
use crate::diag::Code;
use crate::diff::rules;

/// Explain the code of a diagnostic, or of a change that `diff` found.
#[derive(Debug, clap::Args)]
pub(super) struct Explain {
    /// The code, as in `error[unknown-key]`; without one, all are listed.
    code: Option<String>,
}

impl Explain {
    pub(super) fn run(&self, output: &mut Output) -> Exit {
        let Some(name) = &self.code else {
            for code in Code::ALL {
                output.data(&format!("{:<28} {}\n", code.as_str(), code.description()));
            }
            for rule in rules::all() {
                output.data(&format!(
                    "{:<28} {}: {}\n",
                    rule.code,
                    rule.class.as_str(),
                    rule.title
                ));
            }
            return Exit::Clean;
        };
        if let Some(rule) = rules::all().find(|rule| rule.code == name) {
            output.data(&format!(
                "{} ({})\n\n{}\n\n{}\n\nWhat to do: {}\n",
                rule.code,
                rule.class.as_str(),
                rule.title,
                rule.explanation,
                rule.todo
            ));
            return Exit::Clean;
        }
        match Code::ALL.iter().find(|code| code.as_str() == name) {
            Some(code) => {
                output.data(&format!(
                    "{}\n\n{}\n\n{}\n",
                    code.as_str(),
                    code.description(),
                    code.explanation()
                ));
                Exit::Clean
            }
            None => {
                let names: Vec<&str> = (Code::ALL.iter().map(|code| code.as_str()))
                    .chain(rules::all().map(|rule| rule.code))
                    .collect();
                let near = similar::get_close_matches(name.as_str(), &names, 3, 0.6);
                let hint = match near.as_slice() {
                    [] => "`bundle2chart explain` lists all codes".to_owned(),
                    near => format!("did you mean {}?", near.join(" or ")),
                };
                output.error(&format!("error: there is no code `{name}`\nhint: {hint}\n"));
                Exit::Error
            }
        }
    }
}

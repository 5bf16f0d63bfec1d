//! `bundle2chart check-serving PATH`

use super::Exit;
use super::output::Output;
use crate::config::serving::profile::NAMES;
use crate::diag::{Diagnostics, counted};
use crate::escape::Lines;
use crate::serving::{self, Checked};
use clap::builder::PossibleValuesParser;

/// Check manifests of model servers, whether generated or written by hand.
#[derive(Debug, clap::Args)]
pub(super) struct CheckServing {
    /// Files and directories with all manifests of a model: pods, InferencePool and endpoint picker.
    /// Use `-` for stdin, for example from `helm template` or `kustomize build`.
    #[arg(value_name = "PATH", required_unless_present = "list")]
    paths: Vec<String>,
    /// API profile of the cluster.
    #[arg(long, value_name = "PROFILE", default_value = NAMES[0], value_parser = PossibleValuesParser::new(NAMES))]
    api: String,
    /// List the checks.
    #[arg(long, conflicts_with = "paths")]
    list: bool,
}

impl CheckServing {
    pub(super) fn run(&self, output: &mut Output) -> Exit {
        if self.list {
            output.lines(&list());
            return Exit::Clean;
        }

        // Not those of an invocation: there is no bundles.toml, and findings are the result.
        let mut diagnostics = Diagnostics::new();
        let checked = serving::check_files(&self.paths, &self.api, &mut diagnostics);
        output.diagnostics(&diagnostics);
        let Some(Checked { objects, errors, warnings }) = checked else { return Exit::Error };

        output.note_line(format!(
            "{}: {}, {}",
            counted(objects, "object"),
            counted(errors, "error"),
            counted(warnings, "warning")
        ));

        if errors + warnings > 0 { Exit::Findings } else { Exit::Clean }
    }
}

/// Returns the list of checks, one per line.
fn list() -> Lines {
    let line = |invariant: &serving::invariants::Invariant| {
        format!(
            "{:<26} {:<8} {:<24} {} ({})",
            invariant.code.as_str(),
            invariant.severity.as_str(),
            invariant.field,
            invariant.reason,
            invariant.source
        )
    };
    serving::invariants::INVARIANTS.iter().map(line).collect()
}

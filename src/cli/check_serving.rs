//! `bundle2chart check-serving PATH`

use super::Exit;
use super::output::Output;
use crate::bundle;
use crate::config::serving::profile::{self, NAMES};
use crate::diag::{Code, Diagnostic, Diagnostics, Severity};
use crate::escape::Lines;
use crate::ir::Release;
use crate::serving::{self, Manifest};
use crate::source::{self, Limits};
use clap::builder::PossibleValuesParser;

/// Check manifests for serving models that anyone wrote.
#[derive(Debug, clap::Args)]
pub(super) struct CheckServing {
    /// Files and folders of manifests that belong together: of a model's pods, its pool and its
    /// picker. `-` is standard input, for `helm template` and `kustomize build`.
    #[arg(value_name = "PATH", required_unless_present = "list")]
    paths: Vec<String>,
    /// The releases that the cluster has.
    #[arg(long, value_name = "PROFILE", default_value = NAMES[0], value_parser = PossibleValuesParser::new(NAMES))]
    api: String,
    /// List the invariants instead.
    #[arg(long, conflicts_with = "paths")]
    list: bool,
}

impl CheckServing {
    pub(super) fn run(&self, output: &mut Output) -> Exit {
        if self.list {
            output.lines(&list());
            return Exit::Clean;
        }
        let mut diagnostics = Diagnostics::new();
        let mut manifests = Vec::new();
        for path in &self.paths {
            let (files, found) = source::manifests(path, &Limits::default());
            diagnostics.append(found);
            for (name, bytes) in files {
                let (objects, found) = bundle::manifests(&name, &bytes);
                diagnostics.extend(found.into_iter().map(with_template_hint));
                let values = serde_json::Value::Null;
                let release = Release { namespace: "", values: &values };
                manifests.extend(objects.iter().filter_map(|object| {
                    let place = crate::diag::Place { object: None, ..object.place() };
                    Some(Manifest { json: release.object(object)?, place })
                }));
            }
        }
        if diagnostics.has_errors() {
            output.diagnostics(&diagnostics);
            return Exit::Error;
        }
        if !serving::is_about_serving(&manifests) {
            diagnostics.push(
                Diagnostic::error(Code::ServingNothing, "there is nothing here that serves a model")
                    .hint("name manifests of engines, InferencePools or endpoint pickers; charts are rendered first"),
            );
            output.diagnostics(&diagnostics);
            return Exit::Error;
        }
        let profile = profile::named(&self.api).unwrap_or(profile::newest());
        let found = serving::check_manifests(&manifests, profile);
        let counts = [Severity::Error, Severity::Warning].map(|severity| found.count(severity));
        diagnostics.append(found);
        output.diagnostics(&diagnostics);
        let [errors, warnings] = counts;
        let counted = |count: usize, what: &str| {
            format!("{count} {what}{}", if count == 1 { "" } else { "s" })
        };
        output.note(&Lines::from_iter([format!(
            "{}: {}, {}",
            counted(manifests.len(), "object"),
            counted(errors, "error"),
            counted(warnings, "warning")
        )]));
        if errors + warnings > 0 { Exit::Findings } else { Exit::Clean }
    }
}

/// What cannot be read and looks like a template is one.
fn with_template_hint(mut diagnostic: Diagnostic) -> Diagnostic {
    let in_templates =
        diagnostic.place.file.as_deref().is_some_and(|file| file.contains("templates"));
    if diagnostic.severity == Severity::Error && in_templates {
        diagnostic.hint = Some(
            "render charts first: `helm template NAME CHART | bundle2chart check-serving -`"
                .to_owned(),
        );
    }
    diagnostic
}

/// The invariants, one a line.
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

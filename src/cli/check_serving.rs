//! `bundle2chart check-serving PATH`

use super::Exit;
use super::output::Output;
use crate::bundle;
use crate::config::serving::profile::{self, NAMES};
use crate::diag::{Code, Diagnostic, Diagnostics, Severity};
use crate::escape::Lines;
use crate::ir::{Object, Release};
use crate::serving::{self, Manifest, placeholders};
use crate::source::{self, Limits};
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

        let mut diagnostics = Diagnostics::new();
        let mut manifests = Vec::new();
        for path in &self.paths {
            for (name, bytes) in source::manifests(path, &Limits::default(), &mut diagnostics) {
                let start = diagnostics.mark();
                let objects = parse(&name, &bytes, &mut diagnostics);
                diagnostics.since(start).iter_mut().for_each(add_template_hint);
                let values = serde_json::Value::Null;
                let release = Release { namespace: "", values: &values };
                manifests.extend(objects.iter().filter_map(|object| {
                    let place = crate::diag::Place { object: None, ..object.place() };
                    let json = placeholders::restore(release.object(object)?);
                    Some(Manifest { json, place })
                }));
            }
        }

        if diagnostics.has_errors() {
            output.diagnostics(&diagnostics);
            return Exit::Error;
        }

        if !serving::is_about_serving(&manifests) {
            diagnostics.push(
                Diagnostic::error(Code::ServingNothing, "no manifest for serving a model").hint(
                    "add manifests of model servers, InferencePools or endpoint pickers; \
                        render charts first",
                ),
            );
            output.diagnostics(&diagnostics);
            return Exit::Error;
        }

        let profile = profile::named(&self.api).unwrap_or(profile::newest());
        let mut found = Diagnostics::new();
        serving::check_manifests(&manifests, profile, &mut found);
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

/// Parses a file. If it is not YAML because of placeholders that another tool was to replace, they are
/// read as words.
fn parse(name: &str, bytes: &[u8], diagnostics: &mut Diagnostics) -> Vec<Object> {
    let mut found = Diagnostics::new();
    let objects = bundle::manifests(name, bytes, &mut found);
    if let Some(protected) = placeholders::protect(bytes).filter(|_| found.has_errors()) {
        let mut again = Diagnostics::new();
        let objects = bundle::manifests(name, &protected, &mut again);
        // Of two errors the first one has the better place and text.
        if !again.has_errors() {
            diagnostics.append(again);
            return objects;
        }
    }
    diagnostics.append(found);
    objects
}

/// Adds a hint to errors in files that look like Helm templates.
fn add_template_hint(diagnostic: &mut Diagnostic) {
    let in_templates =
        diagnostic.place.file.as_deref().is_some_and(|file| file.contains("templates"));
    if diagnostic.severity == Severity::Error && in_templates {
        diagnostic.hint = Some(
            "render charts first: `helm template NAME CHART | bundle2chart check-serving -`"
                .to_owned(),
        );
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

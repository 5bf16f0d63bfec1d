//! Manifests of third parties: files and directories come in, findings go out.

use super::*;
use crate::diag::suggest::list;
use source::Limits;
use std::collections::BTreeSet;

/// Numbers for the summary of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Number of objects.
    pub objects: usize,
    /// Number of errors.
    pub errors: usize,
    /// Number of warnings.
    pub warnings: usize,
}

/// Checks the invariants of the manifests in these files and directories (`-` for stdin), for the API
/// profile `profile`; the newest if there is none of this name. Returns `None` if a file cannot be read
/// or no manifest is about serving a model.
pub fn check_files(
    paths: &[String],
    profile: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Checked> {
    let start = diagnostics.mark();
    let manifests = read(paths, diagnostics);
    diagnostics.no_errors_since(start)?;
    if !is_about_serving(&manifests) {
        let kinds: BTreeSet<&str> = manifests.iter().map(Manifest::kind).collect();
        let kinds = list(&kinds.into_iter().collect::<Vec<&str>>());
        let among = if kinds.is_empty() { kinds } else { format!(" among {kinds}") };
        let message = format!("no model server, InferencePool or endpoint picker{among}");
        let mut diagnostic = Diagnostic::error(Code::ServingNothing, message).hint(
            "checked are vLLM, SGLang, KServe's server and its services; render charts first",
        );
        // Their pods may be in other files, with which they are checked.
        let is_part = manifests.iter().any(|one| NAMES.serving_parts.contains(&one.kind()));
        if is_part {
            diagnostic.severity = Severity::Note;
        }
        diagnostics.push(diagnostic);
        return is_part.then_some(Checked { objects: 0, errors: 0, warnings: 0 });
    }

    // Notes on what was not read do not count.
    let profile: &Profile = profile::named(profile).unwrap_or(profile::newest());
    let mut found = Diagnostics::new();
    let objects = manifests.len();
    check_manifests(manifests, profile, &mut found);
    let [errors, warnings] = [Severity::Error, Severity::Warning].map(|one| found.count(one));
    diagnostics.append(found);
    Some(Checked { objects, errors, warnings })
}

fn read(paths: &[String], diagnostics: &mut Diagnostics) -> Vec<Manifest> {
    let mut manifests = Vec::new();
    for path in paths {
        let files = source::manifests(path, &Limits::default(), diagnostics);
        let charts = charts(&files);
        for chart in &charts {
            let message = format!("`{chart}` is a chart: its templates are no manifests");
            let hint =
                format!("render it: `helm template NAME {chart} | bundle2chart check-serving -`");
            diagnostics.error(Code::ManifestSyntax, Place::file(chart.clone()), message, hint);
        }

        let is_in_chart =
            |name: &str| charts.iter().any(|chart| name.starts_with(&format!("{chart}/")));
        for (name, bytes) in files.into_iter().filter(|(name, _)| !is_in_chart(name)) {
            let start = diagnostics.mark();
            manifests.extend(manifests_of(&name, &bytes, diagnostics));
            if name.contains("templates") || String::from_utf8_lossy(&bytes).contains("{{") {
                let found = diagnostics.since(start).iter_mut();
                for error in found.filter(|one| one.severity == Severity::Error) {
                    error.hint = Some(RENDER_FIRST.to_owned());
                }
            }
        }
    }
    manifests
}

/// Returns the manifests in a file of this name.
pub fn manifests_of(name: &str, bytes: &[u8], diagnostics: &mut Diagnostics) -> Vec<Manifest> {
    let manifest = |object: &Object| {
        let place = Place { object: None, ..object.place() };
        let json = placeholders::restore(Release::LITERAL.object(object)?);
        Some(Manifest { json, place })
    };
    parse(name, bytes, diagnostics).iter().filter_map(manifest).collect()
}

/// Returns the directories with a Chart.yaml, without those in other charts.
fn charts(files: &[(String, Vec<u8>)]) -> Vec<String> {
    let folders = files.iter().filter_map(|(name, _)| name.strip_suffix("/Chart.yaml"));
    let mut charts: Vec<String> = Vec::new();
    // Sorted, a chart comes before its subcharts.
    for folder in folders.collect::<BTreeSet<_>>() {
        if !charts.iter().any(|chart| folder.starts_with(&format!("{chart}/"))) {
            charts.push(folder.to_owned());
        }
    }
    charts
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

/// The hint of errors in a file that looks like a Helm template.
const RENDER_FIRST: &str =
    "render charts first: `helm template NAME CHART | bundle2chart check-serving -`";

//! Objects of a `[[chart]]`: the user's own manifests, as overlays are.

use super::load::read_manifests;
use crate::diag::{Code, Diagnostic, Diagnostics, Place, listed};
use crate::ir::Object;
use crate::source::BundleFiles;

/// Names of files that kustomize reads, and that are no objects.
const KUSTOMIZATIONS: [&str; 2] = ["kustomization.yaml", "kustomization.yml"];

/// Returns the objects of all manifests, in the order of the files; `None` after errors, also if
/// there are no objects.
pub fn own_manifests(files: &BundleFiles, diagnostics: &mut Diagnostics) -> Option<Vec<Object>> {
    let start = diagnostics.mark();
    // Before they are parsed: a kustomization without apiVersion would be reported as no object.
    diagnostics.extend(files.manifests.keys().filter_map(|name| kustomization(name)));
    let mut objects = Vec::new();
    if !diagnostics.has_errors_since(start) {
        objects = read_manifests(files, true, diagnostics);
    }
    if objects.is_empty() && !diagnostics.has_errors_since(start) {
        let names: Vec<String> = files.manifests.keys().map(|name| format!("`{name}`")).collect();
        let message = format!("no objects in {}", listed(&names, 3));
        let first = files.manifests.keys().next().cloned().unwrap_or_default();
        let hint = "check that these are the right files";
        diagnostics.error(Code::ManifestsUnreadable, Place::file(first), message, hint);
    }

    (!diagnostics.has_errors_since(start)).then_some(objects)
}

fn kustomization(file: &str) -> Option<Diagnostic> {
    let (folder, name) = file.rsplit_once('/').unwrap_or((".", file));
    if !KUSTOMIZATIONS.contains(&name) {
        return None;
    }
    let message = format!("`{file}` is an input of kustomize, not an object");
    let hint = format!(
        "render it to a file outside of this directory, and use that instead: \
         kubectl kustomize {folder} > FILE"
    );
    Some(Diagnostic::error(Code::KustomizationFile, message).at(Place::file(file)).hint(hint))
}

#[cfg(test)]
mod tests;

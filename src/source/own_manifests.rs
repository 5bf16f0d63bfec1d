//! Files of a `[[chart]]`: the user's own manifests, and vendored ones that are verified by digest.

use super::limits::Limits;
use super::yaml_files::{self, Input};
use super::{BundleFiles, digest_of};
use crate::config::{Manifests, Text, VendoredFile};
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use std::collections::BTreeMap;
use std::path::Path;

/// The noun for the manifests in errors.
const MANIFESTS: Input = Input { code: Code::ManifestsUnreadable, noun: "path" };

/// Returns the files of a chart; `None` if one of them cannot be read, or a vendored file has
/// another digest than the configuration says. Paths are relative to `base`.
pub(super) fn read(
    manifests: &Manifests,
    base: &Path,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> Option<BundleFiles> {
    let start = diagnostics.mark();
    let mut files = Files::new();
    for path in &manifests.paths {
        match yaml_files::read(&path.text, base, limits.kept_file_bytes, MANIFESTS) {
            Ok(read) => {
                for (name, content) in read {
                    add(&mut files, name, content, &path.span, diagnostics);
                }
            }
            Err(problem) => diagnostics.push(problem.at(&path.span)),
        }
    }
    for vendored in &manifests.vendored {
        if let Some(content) = verified(vendored, base, limits, diagnostics) {
            let Text { text, span } = &vendored.path;
            add(&mut files, text.clone(), content, span, diagnostics);
        }
    }

    let read = files.into_iter().map(|(name, (content, _))| (name, content)).collect();
    let files = BundleFiles { manifests: read, ..BundleFiles::default() };
    (!diagnostics.has_errors_since(start)).then_some(files)
}

/// The files that were read, each with its place in the configuration.
type Files<'c> = BTreeMap<String, (Vec<u8>, &'c Span)>;

fn add<'c>(
    files: &mut Files<'c>,
    name: String,
    content: Vec<u8>,
    span: &'c Span,
    diagnostics: &mut Diagnostics,
) {
    let Some((_, first)) = files.get(&name) else {
        files.insert(name, (content, span));
        return;
    };
    let message = format!("`{name}` is in the chart twice");
    let hint = "keep vendored files in a directory of their own, outside of those in `manifests`, or \
        list only one of the two paths";
    diagnostics.push(
        Diagnostic::error(Code::ManifestsUnreadable, message)
            .at(span)
            .related(*first, "the first time")
            .hint(hint),
    );
}

/// Returns the content of a vendored file, if it has the digest that the configuration says.
fn verified(
    vendored: &VendoredFile,
    base: &Path,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<u8>> {
    let Text { text: path, span } = &vendored.path;
    let download = vendored.url.as_ref().map(|url| {
        // In single quotes, which addresses do not contain.
        format!("curl --fail --location --create-dirs --output '{path}' '{url}'")
    });
    let unreadable = |message: String| {
        let hint = match &download {
            Some(command) => format!("download and commit it: {command}"),
            None => "check the path, which is relative to bundles.toml".to_owned(),
        };
        Diagnostic::error(Code::ManifestsUnreadable, message).at(span).hint(hint)
    };
    let target = base.join(path);
    if !target.is_file() {
        let fault = if target.exists() { "is not a file" } else { "does not exist" };
        diagnostics.push(unreadable(format!("the vendored file `{path}` {fault}")));
        return None;
    }
    let content = match yaml_files::read(path, base, limits.kept_file_bytes, MANIFESTS) {
        Ok(files) => files.into_iter().next().map(|(_, content)| content)?,
        Err(problem) => {
            diagnostics.push(unreadable(problem.message));
            return None;
        }
    };

    let digest = digest_of(&content);
    if digest == vendored.digest.text {
        return Some(content);
    }
    let message = format!(
        "the vendored file `{path}` has digest {digest}, but bundles.toml expects {}",
        vendored.digest.text
    );
    let restore = match &download {
        Some(command) => format!("download it again ({command}), or"),
        None => "restore the file, or".to_owned(),
    };
    let hint = format!("{restore} after a review of the change write digest = \"{digest}\"");
    diagnostics.error(Code::VendoredDigest, &vendored.digest.span, message, hint);
    None
}

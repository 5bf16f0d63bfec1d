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
    let limit = limits.kept_file_bytes;
    let mut reader = Reader { base, limit, files: BTreeMap::new(), diagnostics };
    for path in &manifests.paths {
        match yaml_files::read(&path.text, base, limit, MANIFESTS) {
            Ok(read) => {
                for (name, content) in read {
                    reader.add(name, content, &path.span);
                }
            }
            Err(problem) => reader.diagnostics.push(problem.at(&path.span)),
        }
    }
    for vendored in &manifests.vendored {
        if let Some(content) = reader.verified(vendored) {
            reader.add(vendored.path.text.clone(), content, &vendored.path.span);
        }
    }

    let read = reader.files.into_iter().map(|(name, (content, _))| (name, content)).collect();
    let files = BundleFiles { manifests: read, ..BundleFiles::default() };
    (!diagnostics.has_errors_since(start)).then_some(files)
}

/// A reader of the files of a chart.
struct Reader<'c> {
    base: &'c Path,
    /// Bytes of a file.
    limit: u64,
    /// The files that were read, each with its place in the configuration.
    files: BTreeMap<String, (Vec<u8>, &'c Span)>,
    diagnostics: &'c mut Diagnostics,
}

impl<'c> Reader<'c> {
    fn add(&mut self, name: String, content: Vec<u8>, span: &'c Span) {
        let Some((_, first)) = self.files.get(&name) else {
            self.files.insert(name, (content, span));
            return;
        };
        let message = format!("`{name}` is in the chart twice");
        let hint = "keep vendored files in a directory of their own, outside of those in `manifests`, or \
        list only one of the two paths";
        let twice = Diagnostic::error(Code::ManifestsUnreadable, message).at(span).hint(hint);
        self.diagnostics.push(twice.related(*first, "the first time"));
    }

    /// Returns the content of a vendored file, if it has the digest that the configuration says.
    fn verified(&mut self, vendored: &VendoredFile) -> Option<Vec<u8>> {
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
        let target = self.base.join(path);
        if !target.is_file() {
            let fault = if target.exists() { "is not a file" } else { "does not exist" };
            return self
                .diagnostics
                .fail(unreadable(format!("the vendored file `{path}` {fault}")));
        }
        let content = match yaml_files::read(path, self.base, self.limit, MANIFESTS) {
            Ok(files) => files.into_iter().next().map(|(_, content)| content)?,
            Err(problem) => return self.diagnostics.fail(unreadable(problem.message)),
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
        self.diagnostics.error(Code::VendoredDigest, &vendored.digest.span, message, hint);
        None
    }
}

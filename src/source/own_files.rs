//! Files of the user: those of overlays, and those of a `[[chart]]`, which are own manifests and vendored
//! ones that are verified by digest.

use super::SourceResolver;
use super::limits::Limits;
use super::yaml_files::{self, Input};
use super::{BundleFiles, digest_of, failure};
use crate::config::{Manifests, Overlay, OverlaySource, Text, VendoredFile};
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, Span};
use crate::ir::Phase;
use std::collections::BTreeMap;
use std::path::Path;

/// The noun for an overlay in errors.
const OVERLAY: Input = Input { code: Code::OverlayUnreadable, noun: "overlay" };
/// The noun for the manifests in errors.
const MANIFESTS: Input = Input { code: Code::ManifestsUnreadable, noun: "path" };

/// A file of an overlay, in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverlayFile {
    /// The path in places, unique in a bundle.
    pub name: String,
    /// The content of the file.
    pub content: Vec<u8>,
    /// The installation phase of its objects.
    pub phase: Phase,
    /// The name of their switch, if they have one.
    pub switch: Option<String>,
    /// The place in the configuration, for inline overlays.
    pub inline: Option<Span>,
    /// The bundle's table that declares it.
    pub span: Span,
}

impl SourceResolver {
    /// Returns the files of these overlays, in their order; all that cannot be read is reported.
    pub fn overlays(
        &self,
        overlays: &[Overlay],
        diagnostics: &mut Diagnostics,
    ) -> Vec<OverlayFile> {
        let limit = self.limits.kept_file_bytes;
        let mut files: Vec<OverlayFile> = Vec::new();
        for (index, overlay) in overlays.iter().enumerate() {
            let Overlay { span, phase, .. } = overlay;
            let file = |name, content, inline| OverlayFile {
                name,
                content,
                phase: *phase,
                switch: overlay.switch.as_ref().map(|name| name.text.clone()),
                inline,
                span: span.clone(),
            };
            let text = match &overlay.source {
                OverlaySource::Path(path) => {
                    let read = yaml_files::read(path, &self.base, limit, OVERLAY)
                        .map_err(|problem| Box::new(problem.at(span)));
                    for (name, content) in diagnostics.report(read).unwrap_or_default() {
                        match files.iter().find(|file| file.name == name) {
                            Some(first) => diagnostics.push(twice(&name, span, &first.span)),
                            None => files.push(file(name, content, None)),
                        }
                    }
                    continue;
                }
                OverlaySource::Text(text) => text.clone(),
                // JSON is YAML.
                OverlaySource::Object(object) => format!("{object:#}\n"),
            };
            let name = format!("[[bundle.overlay]] {}", index + 1);
            files.push(file(name, text.into_bytes(), Some(span.clone())));
        }
        files
    }
}

fn twice(name: &str, span: &Span, first: &Span) -> Diagnostic {
    Diagnostic::error(Code::OverlayUnreadable, format!("`{name}` is in two overlays"))
        .at(span)
        .related(first, "the other overlay")
        .hint("remove one of the overlays: an object can be in the chart only once")
}

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
    let own = manifests.paths.iter().map(|path| {
        let read = yaml_files::read(&path.text, base, limit, MANIFESTS);
        (read.map_err(|problem| Fatal::from(problem.at(&path.span))), &path.span)
    });
    let vendored = manifests.vendored.iter().map(|file| {
        let name = file.path.text.clone();
        (verified(file, base, limit).map(|content| vec![(name, content)]), &file.path.span)
    });

    // Each with its place in the configuration.
    let mut files: BTreeMap<String, (Vec<u8>, &Span)> = BTreeMap::new();
    for (read, span) in own.chain(vendored) {
        for (name, content) in diagnostics.report(read).unwrap_or_default() {
            match files.get(&name) {
                Some((_, first)) => diagnostics.push(twice_in_chart(&name, span, first)),
                None => drop(files.insert(name, (content, span))),
            }
        }
    }
    let read = files.into_iter().map(|(name, (content, _))| (name, content)).collect();
    let files = BundleFiles { manifests: read, ..BundleFiles::default() };
    (!diagnostics.has_errors_since(start)).then_some(files)
}

fn twice_in_chart(name: &str, span: &Span, first: &Span) -> Diagnostic {
    let message = format!("`{name}` is in the chart twice");
    let hint = "keep vendored files in a directory of their own, outside of those in `manifests`, or \
        list only one of the two paths";
    let twice = Diagnostic::error(Code::ManifestsUnreadable, message).at(span).hint(hint);
    twice.related(first, "the first time")
}

/// Returns the content of a vendored file of at most `limit` bytes, if it has the digest that the
/// configuration says.
fn verified(vendored: &VendoredFile, base: &Path, limit: u64) -> Result<Vec<u8>, Fatal> {
    let Text { text: path, span } = &vendored.path;
    let download = vendored.url.as_ref().map(|url| {
        // In single quotes, which addresses do not contain.
        format!("curl --fail --location --create-dirs --output '{path}' '{url}'")
    });
    let unreadable = |message: String| -> Fatal {
        let hint = match &download {
            Some(command) => format!("download and commit it: {command}"),
            None => "check the path, which is relative to bundles.toml".to_owned(),
        };
        failure(Code::ManifestsUnreadable, message, hint).at(span).into()
    };
    let target = base.join(path);
    if !target.is_file() {
        let fault = if target.exists() { "is not a file" } else { "does not exist" };
        return Err(unreadable(format!("the vendored file `{path}` {fault}")));
    }
    let files = yaml_files::read(path, base, limit, MANIFESTS);
    let files = files.map_err(|problem| unreadable(problem.message))?;
    let content = files.into_iter().map(|(_, content)| content).next().unwrap_or_default();

    let digest = digest_of(&content);
    if digest == vendored.digest.text {
        return Ok(content);
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
    Err(failure(Code::VendoredDigest, message, hint).at(&vendored.digest.span).into())
}

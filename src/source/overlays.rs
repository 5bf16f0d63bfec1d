//! Files of overlays.

use super::SourceResolver;
use super::yaml_files::{self, Input};
use crate::config::{Overlay, OverlaySource};
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::Phase;

/// The noun for an overlay in errors.
const OVERLAY: Input = Input { code: Code::OverlayUnreadable, noun: "overlay" };

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

//! Reads `[[bundle.overlay]]`, `[[bundle.patch]]`, and the jq programs of filters and patches.

use super::reader::{Fields, Located, Reader};
use super::values;
use crate::diag::{Code, Span};
use crate::ir::Phase;
use crate::jq::{self, Purpose};
use crate::{Filter, Overlay, OverlaySource, PatchConfig, Text, text};

/// Returns the overlays of a bundle, in the order of the file.
pub(super) fn overlays(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<Overlay> {
    let mut overlays = Vec::new();
    for fields in reader.inner_tables(fields, "overlay") {
        let phase = match fields.text("phase") {
            Some(("before", _)) => Phase::Before,
            Some(("operand", _)) => Phase::Operand,
            _ => Phase::With,
        };
        let switch = fields
            .text("switch")
            .map(|(name, range)| Text { text: name.to_owned(), span: reader.span(range) });
        if let Some((source, span)) = overlay_source(reader, &fields) {
            overlays.push(Overlay { source, phase, switch, span });
        }
    }
    overlays
}

fn overlay_source(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<(OverlaySource, Span)> {
    if let Some(at) = fields.text("path") {
        let span = reader.span(at.1.clone());
        return values::path(reader, "path", at).map(|path| (OverlaySource::Path(path), span));
    }
    if let Some(at) = fields.text("inline") {
        let span = reader.span(at.1.clone());
        return values::path(reader, "inline", at).map(|text| (OverlaySource::Text(text), span));
    }
    let (object, range) = fields.json("inline")?;
    Some((OverlaySource::Object(object), reader.span(range)))
}

/// Returns the patches of a bundle, in the order of the file.
pub(crate) fn patches(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<PatchConfig> {
    let mut patches = Vec::new();
    for fields in reader.inner_tables(fields, "patch") {
        let matches = fields.text("match").map(|at| program(reader, at, Purpose::Filter));
        let patch = fields.text("patch").map(|at| program(reader, at, Purpose::Patch));
        if let (Some(matches), Some(patch)) = (matches, patch) {
            patches.push(PatchConfig { matches, patch });
        }
    }
    patches
}

/// Returns a jq program, reported when it cannot be used.
pub(super) fn program(
    reader: &mut Reader<'_>,
    (program, range): Located<&str>,
    purpose: Purpose,
) -> Filter {
    if let Err(error) = jq::check(program, purpose) {
        let part = text::locate(&reader.source.text, range.clone(), error.range);
        reader.error(Code::InvalidFilter, &part, error.message, error.hint);
    }
    Filter { text: program.to_owned(), span: reader.span(range) }
}

//! `[[bundle.overlay]]` and `[[bundle.patch]]`: the user's own manifests, and changes to the
//! bundle's objects.

use super::keys::{OVERLAY, PATCH};
use super::tree::{Fields, Located, Reader};
use super::{Filter, text};
use crate::diag::{Code, Span};
use crate::ir::Phase;
use crate::jq::{self, Purpose};
use serde_json::Value as Json;

/// `[[bundle.overlay]]`
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    /// The source of the objects.
    pub source: OverlaySource,
    /// The installation phase.
    pub phase: Phase,
    /// The value in the file.
    pub span: Span,
}

/// The source of an overlay's objects.
#[derive(Clone, Debug, PartialEq)]
pub enum OverlaySource {
    /// A file or directory, relative to the configuration.
    Path(String),
    /// YAML in the configuration.
    Text(String),
    /// An object in the configuration.
    Object(Json),
}

/// `[[bundle.patch]]`
#[derive(Clone, Debug)]
pub struct PatchConfig {
    /// The objects that are changed.
    pub matches: Filter,
    /// The jq program that changes a matched object.
    pub patch: Filter,
}

/// Values of `phase`, the default first.
pub(super) const PHASES: &[&str] = &["with", "before", "operand"];

impl Reader<'_> {
    /// Returns the overlays of a bundle, in the order of the file.
    pub(super) fn overlays(&mut self, fields: &Fields<'_>) -> Vec<Overlay> {
        let mut overlays = Vec::new();
        for (table, header) in fields.tables("overlay") {
            let fields = self.fields(&OVERLAY, header, table);
            let phase = match fields.text("phase") {
                Some(("before", _)) => Phase::Before,
                Some(("operand", _)) => Phase::Operand,
                _ => Phase::With,
            };
            if let Some((source, span)) = self.overlay_source(&fields) {
                overlays.push(Overlay { source, phase, span });
            }
        }
        overlays
    }

    fn overlay_source(&mut self, fields: &Fields<'_>) -> Option<(OverlaySource, Span)> {
        if let Some(at) = fields.text("path") {
            let span = self.span(at.1.clone());
            return self.path("path", at).map(|path| (OverlaySource::Path(path), span));
        }
        if let Some(at) = fields.text("inline") {
            let span = self.span(at.1.clone());
            return self.path("inline", at).map(|text| (OverlaySource::Text(text), span));
        }
        let (object, range) = fields.json("inline")?;
        Some((OverlaySource::Object(object), self.span(range)))
    }

    /// Returns the patches of a bundle, in the order of the file.
    pub(super) fn patches(&mut self, fields: &Fields<'_>) -> Vec<PatchConfig> {
        let mut patches = Vec::new();
        for (table, header) in fields.tables("patch") {
            let fields = self.fields(&PATCH, header, table);
            let matches = fields.text("match").map(|at| self.program(at, Purpose::Filter));
            let patch = fields.text("patch").map(|at| self.program(at, Purpose::Patch));
            if let (Some(matches), Some(patch)) = (matches, patch) {
                patches.push(PatchConfig { matches, patch });
            }
        }
        patches
    }

    /// Returns a jq program, reported when it cannot be used.
    pub(super) fn program(&mut self, (program, range): Located<&str>, purpose: Purpose) -> Filter {
        if let Err(error) = jq::check(program, purpose) {
            let part = text::locate(&self.source.text, range.clone(), error.range);
            self.error(Code::InvalidFilter, &part, error.message, error.hint);
        }
        Filter { text: program.to_owned(), span: self.span(range) }
    }
}

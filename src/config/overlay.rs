//! `[[bundle.overlay]]` and `[[bundle.patch]]`, and those of `[[chart]]`: the user's own manifests,
//! and changes to the objects of a bundle or chart.

use super::{Filter, Text};
use crate::diag::Span;
use crate::ir::Phase;
use serde_json::Value as Json;

/// `[[bundle.overlay]]`
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    /// The source of the objects.
    pub source: OverlaySource,
    /// The installation phase.
    pub phase: Phase,
    /// The name of the switch that adds its objects, or replaces others by them.
    pub switch: Option<Text>,
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

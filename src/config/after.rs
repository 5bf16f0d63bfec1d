//! `[[bundle.after]]` and `[[chart.after]]`: changes to objects that others create, after the
//! installation.

use super::{Gate, Target};
use crate::diag::Span;
use crate::ir::Phase;
use serde_json::Value as Json;

/// The default image of the Job that carries steps out: kubectl and a shell.
pub const KUBECTL_IMAGE: &str = "docker.io/alpine/kubectl:1.35.1";

/// Values of `reset`.
pub(super) const RESETS: &[&str] = &["once", "always"];

/// `[[bundle.after]]`
#[derive(Clone, Debug, PartialEq)]
pub struct StepAfter {
    /// The object that is changed.
    pub target: Target,
    /// Plural of its kind, if it is not derived from the kind.
    pub resource: Option<String>,
    /// The change as a JSON merge patch (RFC 7386): `patch`, with the annotations and labels.
    pub patch: Json,
    /// Annotations and labels that are removed before they are set again.
    pub reset: Option<Reset>,
    /// The gates to wait for before the change.
    pub gates: Vec<Gate>,
    /// Time limit in seconds for the creation of the object.
    pub timeout: u32,
    /// Image of the Job.
    pub image: Option<String>,
    /// The chart after which it is carried out: `Operand` for NAME-operands, else `With`.
    pub phase: Phase,
    /// The object in the file.
    pub span: Span,
}

/// Annotations and labels that are removed and set again.
#[derive(Clone, Debug, PartialEq)]
pub struct Reset {
    /// The merge patch that removes them.
    pub removal: Json,
    /// True after each installation and upgrade; false once for each object.
    pub always: bool,
}

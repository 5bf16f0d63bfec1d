//! `[[bundle.switch]]` and `[[chart.switch]]`: custom resources that change later.

use super::Gate;
use crate::diag::Span;
use crate::ir::ValuesPath;

/// `[[bundle.switch]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The name, which overlays and the value have.
    pub name: String,
    /// The gates that are open before it is turned on.
    pub gates: Vec<Gate>,
    /// The name in the file.
    pub span: Span,
}

impl Switch {
    /// Returns the value that turns the switch of this name on.
    pub fn value(name: &str) -> ValuesPath {
        ValuesPath::new(["switches", name])
    }
}

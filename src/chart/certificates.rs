//! Certificates that Helm generates.

use crate::ir::{Expr, Unit};

/// The file with the template that they come from.
pub(super) const PATH: &str = "templates/_certificate.tpl";

/// Whether an object of the unit holds one.
pub(super) fn are_generated(unit: &Unit) -> bool {
    let mut expressions = unit.objects.iter().flat_map(|object| object.expressions());
    expressions.any(|expr| matches!(expr, Expr::Certificate(_)))
}

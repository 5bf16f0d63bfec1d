//! Certificates that Helm generates.

use crate::ir::{Expr, Unit};

/// Path of the template that generates certificates.
pub(super) const PATH: &str = "templates/_certificate.tpl";

/// Returns true if an object of the unit uses a generated certificate.
pub(super) fn are_generated(unit: &Unit) -> bool {
    let mut expressions = unit.objects.iter().flat_map(|object| object.expressions());
    expressions.any(|expr| matches!(expr, Expr::Certificate(_)))
}

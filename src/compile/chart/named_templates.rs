//! Files with the named templates that the objects of a chart include.

use crate::ir::{Expr, Unit};
use crate::yaml::{CERTIFICATE_TEMPLATE, IMAGE_TEMPLATE};

/// The path and text of a file, and the expressions that need it.
type NamedTemplates = (&'static str, &'static str, fn(&Expr) -> bool);

/// All such files.
pub(super) const TEXTS: [NamedTemplates; 2] = [
    ("templates/_certificate.tpl", CERTIFICATE_TEMPLATE, |expr| {
        matches!(expr, Expr::Certificate(_))
    }),
    ("templates/_image.tpl", IMAGE_TEMPLATE, |expr| {
        // Of the parts of texts, only images read values.
        matches!(expr, Expr::Concat(_) | Expr::Truncated(..)) && expr.reads_values()
    }),
];

/// Returns the path and text of each file that an object of the unit needs.
pub(super) fn files(unit: &Unit) -> Vec<(String, String)> {
    let expressions: Vec<&Expr> =
        unit.objects.iter().flat_map(|object| object.expressions()).collect();
    let needed = TEXTS.iter().filter(|(.., needs)| expressions.iter().any(|expr| needs(expr)));
    needed.map(|(path, text, _)| ((*path).to_owned(), (*text).to_owned())).collect()
}

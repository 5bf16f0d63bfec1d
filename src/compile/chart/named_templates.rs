//! Files with the named templates that the objects of a chart include.

use crate::ir::{Expr, Part, Unit};
use crate::yaml::{CERTIFICATE_TEMPLATE, IMAGE_TEMPLATE};

/// The path and text of each file.
pub(super) const TEXTS: [(&str, &str); 2] = [CERTIFICATES, IMAGES];

const CERTIFICATES: (&str, &str) = ("templates/_certificate.tpl", CERTIFICATE_TEMPLATE);
const IMAGES: (&str, &str) = ("templates/_image.tpl", IMAGE_TEMPLATE);

/// Returns the path and text of each file that an object of the unit needs.
pub(super) fn files(unit: &Unit) -> Vec<(String, String)> {
    let mut certificates = false;
    let mut images = false;
    for expr in unit.objects.iter().flat_map(|object| object.expressions()) {
        match expr {
            Expr::Certificate(_) => certificates = true,
            Expr::Concat(parts) | Expr::Truncated(parts, _) => {
                images |= parts.iter().any(|part| matches!(part, Part::Image(_)));
            }
            _ => {}
        }
    }

    let needed = [(certificates, CERTIFICATES), (images, IMAGES)];
    let needed = needed.into_iter().filter(|(is_needed, _)| *is_needed);
    needed.map(|(_, (path, text))| (path.to_owned(), text.to_owned())).collect()
}

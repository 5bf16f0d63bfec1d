//! The template of certificates that Helm generates.

use super::expression::quoted;
use crate::ir::CertificatePiece;

/// Name of the named template.
pub(super) const NAME: &str = "bundle2chart.certificate";

/// The template file that defines the template of [`crate::ir::Expr::Certificate`]. Its argument is
/// a list: the root context, the Service, the Secret, and the key.
///
/// The Secret of an earlier installation is kept, so that an upgrade changes nothing; Helm can look
/// it up only with cluster access. The generated certificate is stored in the root context, which
/// all templates of a chart share during one render, so that it is the same everywhere.
pub const CERTIFICATE_TEMPLATE: &str = include_str!("templates/certificate.tpl");

/// The same template with the placeholders of [`crate::ir::certificate_placeholder`], to compare charts
/// that Helm renders.
pub const CERTIFICATE_PLACEHOLDER_TEMPLATE: &str =
    include_str!("templates/certificate_placeholder.tpl");

/// Returns a call of the template.
pub(super) fn include(piece: &CertificatePiece) -> String {
    let CertificatePiece { service, secret, field } = piece;
    let [name, service, secret, field] = [NAME, service, secret, field.as_str()].map(quoted);
    format!("include {name} (list $ {service} {secret} {field})")
}

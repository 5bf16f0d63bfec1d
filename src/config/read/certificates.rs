//! Reads `certificates` and `issuer`.

use super::reader::{Fields, Reader};
use super::values;
use crate::diag::Code;
use crate::keys::ISSUER;
use crate::{CertificateProvider, Issuer};

/// Returns the provider that a table names.
pub(super) fn provider(fields: &Fields<'_>) -> Option<CertificateProvider> {
    fields.text("certificates").and_then(|(name, _)| CertificateProvider::named(name))
}

/// Returns the issuer that a table names.
pub(super) fn issuer(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Issuer> {
    let (table, header) = fields.table("issuer")?;
    let fields = reader.fields(&ISSUER, header, table);
    let name = fields.text("name").and_then(|at| values::object_name(reader, "name", at));
    let kind = fields.text("kind").map_or(Some("Issuer".to_owned()), |at| values::kind(reader, at));
    let group = match fields.text("group") {
        Some(at) => Some(values::object_name(reader, "group", at)?),
        None => None,
    };
    Some(Issuer { name: name?, kind: kind?, group })
}

/// Reports an issuer that is not used.
pub(super) fn issuer_is_used(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    provider: CertificateProvider,
) {
    let Some((_, range)) = fields.table("issuer") else { return };
    if provider != CertificateProvider::CertManager {
        reader.error(
            Code::InvalidValue,
            &range,
            "`issuer` is for cert-manager, but this bundle does not use cert-manager",
            "remove it, or set `certificates = \"cert-manager\"`",
        );
    }
}

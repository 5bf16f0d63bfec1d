//! The named templates of charts, and their calls.

use super::expression::{Scope, quoted};
use super::write;
use crate::ir::{
    CRD_REPLACES, CRD_VERSION, CertificatePiece, ImageReference, Object, Value, ValuesPath,
};

/// Name of the template of image references.
pub(super) const IMAGE: &str = "bundle2chart.image";

/// A file of a chart that defines the template of [`crate::ir::Part::Image`]. Its argument is a
/// list: the root context, the key in the value `images`, and the default reference.
///
/// [`ImageReference::split`] has the rule for references without a registry.
pub const IMAGE_TEMPLATE: &str = include_str!("templates/image.tpl");

/// Returns a call of the template.
pub(super) fn image(image: &ImageReference) -> String {
    let [name, key, reference] = [IMAGE, image.key(), &image.reference].map(quoted);
    format!("include {name} (list $ {key} {reference})")
}

/// Name of the template of certificates that Helm generates.
pub(super) const CERTIFICATE: &str = "bundle2chart.certificate";

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
pub(super) fn certificate(piece: &CertificatePiece) -> String {
    let CertificatePiece { service, secret, field } = piece;
    let [name, service, secret, field] = [CERTIFICATE, service, secret, field.as_str()].map(quoted);
    format!("include {name} (list $ {service} {secret} {field})")
}

/// Name of the template that checks that no chart replaces CRDs of a newer version.
pub(super) const CRD_CHECK: &str = "bundle2chart.crd-version";

/// A file of a chart that defines the template by which CRDs are checked. Its argument is a list:
/// the CRD, its version in the chart, and true if it may replace a newer one.
///
/// Helm can look up the CRD only when it talks to a cluster, and does not render for a rollback.
pub const CRD_VERSION_TEMPLATE: &str = include_str!("templates/crd_version.tpl");

/// Returns the template file of a CRD, with a version check if it has the annotation. `allowed` is
/// the value that permits a downgrade.
pub fn crd_template(crd: &Object, allowed: &ValuesPath) -> String {
    let template = |first_line| write::template_after(first_line, &crd.root, crd.when.as_ref());
    let annotations = crd.metadata("annotations");
    let text = |key| annotations.and_then(|map| map.get(key)).and_then(Value::as_str);
    let Some(version) = text(CRD_VERSION) else { return template(String::new()) };
    let version = text(CRD_REPLACES).unwrap_or(version);

    let scope = Scope::default();
    let [name, version] = [crd.name(), version].map(quoted);
    // One that is not rendered replaces nothing.
    let allowed = match &crd.when {
        Some(when) => format!("(or {} (not ({})))", scope.values(allowed), scope.condition(when)),
        None => scope.values(allowed),
    };
    let arguments = format!("{name} {version} {allowed}");
    template(format!("{{{{- include {} (list {arguments}) -}}}}\n", quoted(CRD_CHECK)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Condition, Map, Origin};

    fn crd() -> Object {
        let mut crd = Object::new(Map::new(), Origin::Added("a test"));
        crd.metadata_mut().insert("name".to_owned(), "widgets.example.com".into());
        crd
    }

    #[test]
    fn a_crd_with_a_version_is_checked() {
        let allowed = ValuesPath::new(["crds", "allowDowngrade"]);
        let mut crd = crd();
        assert!(!crd_template(&crd, &allowed).contains("include"));

        crd.annotate(CRD_VERSION, "1.2.0");
        let first = |crd: &Object| {
            crd_template(crd, &allowed).lines().next().map(str::to_owned).unwrap_or_default()
        };
        assert_eq!(
            first(&crd),
            "{{- include \"bundle2chart.crd-version\" (list \"widgets.example.com\" \"1.2.0\" \
             .Values.crds.allowDowngrade) -}}"
        );
        crd.annotate(CRD_REPLACES, "1.2.1");
        assert!(first(&crd).contains("\"1.2.1\""));
        crd.annotate(CRD_REPLACES, "1.2.0");
        crd.when = Some(Condition::Set(ValuesPath::new(["crds", "enabled"])));
        assert_eq!(
            first(&crd),
            "{{- include \"bundle2chart.crd-version\" (list \"widgets.example.com\" \"1.2.0\" \
             (or .Values.crds.allowDowngrade (not (.Values.crds.enabled)))) -}}"
        );
    }
}

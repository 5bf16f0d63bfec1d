//! The check that no chart replaces CRDs of a newer version.

use super::expression::{Scope, quoted};
use super::write;
use crate::ir::{CRD_REPLACES, CRD_VERSION, Object, Value, ValuesPath};

/// Name of the named template.
pub(super) const NAME: &str = "bundle2chart.crd-version";

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
    template(format!("{{{{- include {} (list {arguments}) -}}}}\n", quoted(NAME)))
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

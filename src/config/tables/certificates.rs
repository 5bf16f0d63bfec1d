//! `certificates` and `issuer`: the source of certificates for webhooks and APIServices.

use super::*;

choices! {
    /// The source of certificates for operators with webhooks or APIServices.
    pub enum CertificateProvider {
        /// cert-manager, by objects of its kinds.
        CertManager = "cert-manager",
        /// OpenShift's service CA, by annotations.
        ServiceCa = "service-ca",
        /// Helm, when it installs the chart.
        Helm = "helm",
        /// A Secret that values name.
        ExistingSecret = "existing-secret",
        /// No certificates are created.
        None = "none",
    }
}

table! {
    /// The cert-manager issuer for certificates, instead of a self-signed issuer in the release. It
    /// must write its CA to the Secret.
    #[derive(PartialEq, Eq)]
    pub struct Issuer at "issuer" {
        /// Name of the issuer, which must exist before the chart is installed.
        name: ObjectName;
        /// Kind of the issuer: `Issuer` (default, in the release namespace), `ClusterIssuer`, or the
        /// kind of an external issuer.
        kind: ApiKind = "Issuer".to_owned();
        /// API group of the issuer. Default: cert-manager's.
        group: Option<ObjectName>;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::read;

    #[test]
    fn a_bundle_has_what_it_says_or_the_defaults() {
        let (config, _) = read(
            r#"
            [defaults]
            issuer = { name = "ca", kind = "ClusterIssuer" }
            aggregate-roles = true
            [[bundle]]
            name = "a"
            path = "a"
            [[bundle]]
            name = "b"
            path = "b"
            certificates = "helm"
            aggregate-roles = false
            [[bundle]]
            name = "c"
            path = "c"
            [bundle.issuer]
            name = "other"
            group = "issuers.example.com"
            "#,
        );
        let bundles = config.unwrap().bundles;
        let [a, b, c] = bundles.as_slice() else { panic!("three bundles") };
        let kind = "ClusterIssuer".to_owned();
        assert_eq!(a.operator.issuer, Some(Issuer { name: "ca".to_owned(), kind, group: None }));
        assert_eq!(a.certificates(), CertificateProvider::CertManager);
        assert_eq!(b.certificates(), CertificateProvider::Helm);
        assert_eq!(
            (a.operator.aggregate_roles, b.operator.aggregate_roles),
            (Some(true), Some(false))
        );
        let (kind, group) = ("Issuer".to_owned(), Some("issuers.example.com".to_owned()));
        assert_eq!(c.operator.issuer, Some(Issuer { name: "other".to_owned(), kind, group }));
    }

    #[test]
    fn what_is_wrong_with_them() {
        let (_, shown) = read(
            r#"[defaults]
certificates = "cert-manger"
[[bundle]]
name = "a"
path = "a"
certificates = "helm"
issuer = { name = "ca" }
[[bundle]]
name = "b"
path = "b"
[bundle.issuer]
name = "A B"
kind = "cluster-issuer"
gruop = "x"
[[bundle]]
name = "c"
path = "c"
issuer = "ca"
[[bundle]]
name = "d"
path = "d"
issuer = {}
"#,
        );
        insta::assert_snapshot!(shown);
    }
}

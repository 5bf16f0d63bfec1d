//! `certificates` and `issuer`: the source of certificates for webhooks and APIServices.

/// The source of certificates for operators with webhooks or APIServices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CertificateProvider {
    /// cert-manager, by objects of its kinds.
    #[default]
    CertManager,
    /// OpenShift's service CA, by annotations.
    ServiceCa,
    /// Helm, when it installs the chart.
    Helm,
    /// A Secret that values name.
    ExistingSecret,
    /// No certificates are created.
    None,
}

impl CertificateProvider {
    /// Returns the provider of this name in bundles.toml.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "cert-manager" => Some(CertificateProvider::CertManager),
            "service-ca" => Some(CertificateProvider::ServiceCa),
            "helm" => Some(CertificateProvider::Helm),
            "existing-secret" => Some(CertificateProvider::ExistingSecret),
            "none" => Some(CertificateProvider::None),
            _ => None,
        }
    }
}

/// `issuer`: an issuer of cert-manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    /// Name of the issuer.
    pub name: String,
    /// The kind of the issuer; `Issuer` by default.
    pub kind: String,
    /// API group of the issuer, if it is not cert-manager's.
    pub group: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::CERTIFICATES;
    use crate::tests::read;

    #[test]
    fn every_name_is_a_provider_and_the_first_is_the_default() {
        let providers: Vec<_> =
            CERTIFICATES.iter().map(|name| CertificateProvider::named(name).unwrap()).collect();
        assert_eq!(providers[0], CertificateProvider::default());
        assert_eq!(providers.len(), 5);
        assert_eq!(CertificateProvider::named("secret"), None);
    }

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
        assert_eq!(a.issuer, Some(Issuer { name: "ca".to_owned(), kind, group: None }));
        assert_eq!(a.certificates, CertificateProvider::CertManager);
        assert_eq!(b.certificates, CertificateProvider::Helm);
        assert_eq!((a.toggles.aggregate_roles, b.toggles.aggregate_roles), (true, false));
        let (kind, group) = ("Issuer".to_owned(), Some("issuers.example.com".to_owned()));
        assert_eq!(c.issuer, Some(Issuer { name: "other".to_owned(), kind, group }));
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

//! Certificates for webhook and API servers: their source, their mounts in pods, and the CA bundles
//! for the API server.
//!
//! OLM: operator-controller, certificate providers and deployment generator (operators expect its
//! paths and volume names).

use super::webhook_server::{Server, name_with_suffix};
use crate::config::CertificateProvider;
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::fields::{list, maps_mut, text};
use crate::ir::{
    CertificateField, CertificatePiece, Condition, Expr, Map, Object, Part, Value, ValueSpec,
    ValuesPath, map, value,
};
use serde_json::json;

/// The annotation for CA injection by cert-manager: `NAMESPACE/CERTIFICATE`.
const INJECT_CA_FROM: &str = "cert-manager.io/inject-ca-from";
/// Longest common name (RFC 5280, appendix A.1, `ub-common-name`).
const LONGEST_COMMON_NAME: usize = 64;

/// A volume that operators find their certificate in: its name, its path, and the names of the
/// files there of `tls.crt` and `tls.key`.
const VOLUMES: [(&str, &str, [&str; 2]); 2] = [
    ("webhook-cert", "/tmp/k8s-webhook-server/serving-certs", ["tls.crt", "tls.key"]),
    ("apiservice-cert", "/apiserver.local.config/certificates", ["apiserver.crt", "apiserver.key"]),
];

impl Server<'_> {
    /// Returns its Certificate and Issuer, or its Secret; annotations go on the objects that trust it.
    pub(super) fn certificate_objects(&self) -> Vec<Object> {
        match self.provider {
            CertificateProvider::CertManager => self.cert_manager(),
            CertificateProvider::Helm => vec![secret(self)],
            _ => Vec::new(),
        }
    }

    fn cert_manager(&self) -> Vec<Object> {
        let object = |kind: &str, name: &str, spec: Value| {
            let root = map! {
                "apiVersion": "cert-manager.io/v1",
                "kind": kind,
                "metadata": self.metadata(name),
                "spec": spec,
            };
            Object::new(root, self.origin.clone())
        };

        let mut objects = Vec::new();
        let issuer = match self.issuer {
            Some(issuer) => {
                value!({"name": &issuer.name, "kind": &issuer.kind, "group": ?&issuer.group})
            }
            None => {
                // As OLM's generator, which creates a self-signed issuer for each certificate.
                let name = name_with_suffix(&self.secret, "selfsigned-issuer");
                objects.push(object("Issuer", &name, value!({"selfSigned": {}})));
                value!({"name": name})
            }
        };

        let service = format!("{}.", self.service);
        let host = |end| Part::around_namespace([service.as_str(), end]);
        let names = ["", ".svc", ".svc.cluster.local"];
        let names = names.map(|end| Value::Expr(Expr::Concat(host(end)))).to_vec();
        let spec = value!({
            "secretName": &self.secret,
            // Clients read the DNS names, which are complete.
            "commonName": Expr::Truncated(host(""), LONGEST_COMMON_NAME),
            "dnsNames": names,
            "usages": ["server auth"],
            // As OLM's generator for cert-manager: 2 years, renewed a day before the end.
            "duration": "17520h0m0s",
            "renewBefore": "24h0m0s",
            "issuerRef": issuer,
        });

        objects.push(object("Certificate", &self.secret, spec));
        objects
    }

    /// Annotates an object with a CA bundle for the Service, so that the provider injects its CA.
    /// Existing injection annotations are removed, because they refer to another Certificate.
    pub(super) fn annotate_client(&self, object: &mut Object) {
        let shipped = object.metadata_mut().get_mut("annotations").and_then(Value::as_map_mut);
        if let Some(annotations) = shipped {
            // The shipped one names a Certificate of the vendor's kustomization, which the chart
            // does not have; cert-manager would wait for it.
            annotations.shift_remove(INJECT_CA_FROM);
        }
        match self.provider {
            CertificateProvider::CertManager => {
                let certificate = Part::around_namespace(["", &format!("/{}", self.secret)]);
                object.annotate(INJECT_CA_FROM, Expr::Concat(certificate));
            }
            CertificateProvider::ServiceCa => {
                object.annotate("service.beta.openshift.io/inject-cabundle", "true");
            }
            _ => {}
        }
    }

    /// Returns the CA bundle for clients, if the chart knows it.
    pub(super) fn ca_bundle(&self) -> Option<Value> {
        match self.provider {
            CertificateProvider::Helm => Some(generated(self, CertificateField::Authority)),
            CertificateProvider::ExistingSecret => {
                let path = values_path(self, "caBundle");
                Some(Value::when(Condition::Set(path.clone()), Expr::Base64(path).into()))
            }
            _ => None,
        }
    }

    /// Returns the name of the Secret with the certificate, if there is one.
    pub(super) fn secret_name(&self) -> Option<Value> {
        match self.provider {
            CertificateProvider::None => None,
            CertificateProvider::ExistingSecret => {
                Some(Expr::Text(values_path(self, "secretName")).into())
            }
            _ => Some(Value::text(&self.secret)),
        }
    }

    /// Returns the values that its objects read.
    pub(super) fn certificate_values(&self) -> Vec<ValueSpec> {
        if self.provider != CertificateProvider::ExistingSecret {
            return Vec::new();
        }

        vec![
            ValueSpec::new(
                values_path(self, "secretName"),
                json!(self.secret),
                json!({
                    "type": "string",
                    // Names of Secrets are DNS subdomains.
                    "maxLength": 253,
                    "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
                }),
                format!(
                    "Name of a Secret in the release namespace with `tls.crt` and `tls.key`: the \
                certificate of Service/{}, for the DNS name SERVICE.NAMESPACE.svc.",
                    self.service
                ),
            ),
            ValueSpec::text(
                values_path(self, "caBundle"),
                "",
                "PEM of the CA that signed this certificate, injected as CA bundle for the API \
                server; pass it with `--set-file`. Without it, inject the CA bundle by other \
                means.",
            ),
        ]
    }

    /// Reports a server without a certificate.
    pub(super) fn report_certificate(&self, diagnostics: &mut Diagnostics) {
        if self.provider == CertificateProvider::None {
            let message = format!(
                "Service/{} has no certificate, and no CA bundle for the API server",
                self.service
            );
            let hint = "set `certificates`, unless the operator creates its own certificate and \
                    injects the CA bundle";
            let place = Place::default().object(format!("Service/{}", self.service));
            let found = Diagnostic::warning(Code::NoCertificate, message);
            diagnostics.push(found.at(place).hint(hint));
        }
    }

    /// Mounts the certificate into every container of a pod template, at the paths where operators
    /// expect it. Replaces volumes with the same names or mounted at the same paths, with all their
    /// mounts; init containers get the new volumes only if they mounted the old ones.
    ///
    /// OLM ignores init containers, and leaves them with mounts of removed volumes.
    pub(super) fn mount_certificate(&self, template: &mut Map) {
        let Some(secret) = self.secret_name() else { return };
        let Some(pod) = template.get_mut("spec").and_then(Value::as_map_mut) else { return };
        // Before the mounts are removed, because they say which volumes are at our paths.
        let replaced = replaced_volumes(pod);
        for kind in ["containers", "initContainers"] {
            for container in maps_mut(pod, kind) {
                mount_into(container, &replaced, kind == "containers");
            }
        }

        let volumes = pod.list_at("volumes");
        volumes.retain(|volume| {
            !replaced.iter().any(|name| Some(name.as_str()) == text(volume, "name"))
        });
        for (name, _, files) in VOLUMES {
            // Servers generated by apiserver-builder look for apiserver.crt, those of controller-
            // runtime for tls.crt: the keys of the Secret are mapped to both.
            let [certificate, key] = files;
            volumes.push(value!({
                "name": name,
                "secret": {
                    "secretName": secret.clone(),
                    "items": [
                        {"key": "tls.crt", "path": certificate},
                        {"key": "tls.key", "path": key},
                    ],
                },
            }));
        }
    }
}

fn values_path(server: &Server<'_>, key: &str) -> ValuesPath {
    ValuesPath::new(["certificates", server.value_key.as_str(), key])
}

fn generated(server: &Server<'_>, field: CertificateField) -> Value {
    let (service, secret) = (server.service.clone(), server.secret.clone());
    Expr::Certificate(Box::new(CertificatePiece { service, secret, field })).into()
}

/// Returns the Secret that Helm fills.
fn secret(server: &Server<'_>) -> Object {
    let fields = CertificateField::ALL.map(|field| (field.as_str(), generated(server, field)));
    let root = map! {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": server.metadata(&server.secret),
        "type": "kubernetes.io/tls",
        "data": Value::map(fields),
    };
    Object::new(root, server.origin.clone())
}

/// Names of the volumes that make way: those with our names, and those that a container mounts at
/// our paths.
fn replaced_volumes(pod: &Map) -> Vec<String> {
    let mut names: Vec<String> = VOLUMES.iter().map(|(name, ..)| (*name).to_owned()).collect();
    for kind in ["containers", "initContainers"] {
        let containers = list(pod.get(kind)).iter();
        for mount in containers.flat_map(|container| list(container.get("volumeMounts"))) {
            if VOLUMES.iter().any(|(_, own, _)| *own == path(mount)) {
                names.extend(text(mount, "name").map(str::to_owned));
            }
        }
    }
    names
}

/// Returns the path of a mount without a trailing slash, with which it is the same.
fn path(mount: &Value) -> &str {
    text(mount, "mountPath").unwrap_or_default().trim_end_matches('/')
}

/// Replaces the mounts of a container; init containers only get the volumes that they already
/// mount.
fn mount_into(container: &mut Map, replaced: &[String], always: bool) {
    let mounts = list(container.get("volumeMounts")).iter();
    let had: Vec<String> = mounts.map(|mount| path(mount).to_owned()).collect();
    // `list_at` would add an empty list, which is a difference to the bundle.
    if !always && !container.contains_key("volumeMounts") {
        return;
    }
    // All mounts of a replaced volume go, also at other paths: the pod has no such volume now.
    let mounts = container.list_at("volumeMounts");
    mounts.retain(|mount| !replaced.iter().any(|name| Some(name.as_str()) == text(mount, "name")));
    for (name, path, _) in VOLUMES {
        if always || had.iter().any(|had| had == path) {
            mounts.push(value!({"name": name, "mountPath": path}));
        }
    }
}

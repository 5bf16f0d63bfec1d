//! Deployments that answer the API server: their Services, and what their certificates are called.
//!
//! OLM: operator-controller, generators for Services and certificates.

use crate::bundle::{Bundle, ClusterServiceVersion, Endpoint, StrategyDeployment};
use crate::config::{BundleConfig, CertificateProvider, Issuer};
use crate::diag::{Code, Diagnostics};
use crate::fields::{integer, list};
use crate::ir::{Expr, Map, Object, Origin, Value, account, map, value, value_keys};

/// Longest name of a Service and of a label's value (RFC 1035, section 2.3.1).
const LONGEST_NAME: usize = 63;

/// A Deployment that serves webhooks or APIServices.
pub(super) struct Server<'a> {
    /// The strategy deployment.
    pub(super) deployment: &'a StrategyDeployment,
    /// The key in the values.
    pub(super) value_key: String,
    /// Name of its Service.
    pub(super) service: String,
    /// Name of the Secret with its certificate, and of the Certificate that fills it.
    pub(super) secret: String,
    /// Ports of the Service with their targets, in order.
    ports: Vec<(i64, Value)>,
    /// The first definition that uses the server.
    pub(super) origin: &'a Origin,
    /// The source of its certificate.
    pub(super) provider: CertificateProvider,
    /// The issuer of cert-manager to use instead of one of the release's own.
    pub(super) issuer: Option<&'a Issuer>,
}

/// A port that something is served on, and its target.
type Target<'a> = (&'a Endpoint, Value);

/// Returns every Deployment that serves anything, in the order of the CSV. A port with two targets
/// is reported: a Service cannot have both.
pub(super) fn servers<'a>(
    bundle: &'a Bundle,
    config: &'a BundleConfig,
    diagnostics: &mut Diagnostics,
) -> Vec<Server<'a>> {
    let csv = &bundle.csv;
    let webhooks = csv.webhooks.iter();
    let webhooks = webhooks.map(|webhook| (&webhook.endpoint, webhook.target_port.clone()));
    // One endpoint per APIService: a CSV lists one entry for each kind of a version.
    let services = csv.served_versions().into_iter().map(|service| &service.endpoint);
    let services = services.map(|endpoint| (endpoint, endpoint.port.into()));
    let endpoints: Vec<Target<'_>> = webhooks.chain(services).collect();
    let names = csv.deployments.iter().map(|deployment| deployment.name.as_str());
    let keys = value_keys(names, &csv.version);
    let mut servers = Vec::new();

    for deployment in &csv.deployments {
        let is_own = |(endpoint, _): &&Target<'_>| endpoint.deployment == deployment.name;
        let own: Vec<&Target<'_>> = endpoints.iter().filter(is_own).collect();
        let Some((first, _)) = own.first() else { continue };
        // Names of Services are DNS labels, those of Deployments may have dots.
        let service = service_name(&deployment.name.replace('.', "-"));
        // Labels of RFC 1035, which Services require, start with a letter; those of Deployments
        // need not.
        if service.starts_with(|c: char| c.is_ascii_digit()) {
            let message = format!(
                "the Service of `{}` would be named `{service}`, which starts with a digit",
                deployment.name
            );
            let hint = "rename the Deployment: the API server would reject the Service";
            diagnostics.push(csv.error(Code::InvalidName, &first.place, message).hint(hint));
        }
        servers.push(Server {
            deployment,
            value_key: keys.get(deployment.name.as_str()).cloned().unwrap_or_default(),
            secret: name_with_suffix(&service, "cert"),
            service,
            ports: ports(csv, &own, diagnostics),
            origin: &first.origin,
            provider: config.certificates(),
            issuer: config.operator.issuer.as_ref(),
        });
    }

    servers
}

/// Returns the server of a Deployment.
pub(super) fn of_deployment<'s, 'a>(
    servers: &'s [Server<'a>],
    deployment: &str,
) -> Option<&'s Server<'a>> {
    servers.iter().find(|server| server.deployment.name == deployment)
}

fn ports(
    csv: &ClusterServiceVersion,
    endpoints: &[&Target<'_>],
    diagnostics: &mut Diagnostics,
) -> Vec<(i64, Value)> {
    let mut ports: Vec<&Target<'_>> = Vec::new();
    for own in endpoints {
        let (endpoint, target) = own;
        match ports.iter().find(|(other, _)| other.port == endpoint.port) {
            None => ports.push(own),
            Some((_, other)) if other == target => {}
            Some((first, other)) => {
                let message = format!(
                    "port {} of the Service of `{}` has two target ports, {} and {}",
                    endpoint.port,
                    endpoint.deployment,
                    spell(other),
                    spell(target)
                );
                let hint = "change the containerPort, which is the Service port, of one of them";
                let found = csv.error(Code::PortConflict, &endpoint.place, message).hint(hint);
                diagnostics.push(found.related(csv.place(&first.place), "the other target port"));
            }
        }
    }

    // By number, so that the order of webhooks in the CSV changes nothing in the cluster.
    ports.sort_by_key(|(endpoint, _)| endpoint.port);
    ports.into_iter().map(|(endpoint, target)| (endpoint.port, target.clone())).collect()
}

fn spell(target: &Value) -> String {
    let name = || format!("`{}`", target.as_str().unwrap_or_default());
    integer(Some(target)).map_or_else(name, |port| port.to_string())
}

/// Returns the name of a Service, `BASE-service`, the base cut so that the whole has at most 63
/// bytes. OLM cuts a byte too late, and its Service of 64 is refused.
fn service_name(base: &str) -> String {
    const SUFFIX: &str = "service";
    let room = LONGEST_NAME - SUFFIX.len() - 1;
    // Names of Deployments are ASCII, which is checked.
    let base = base.get(..room).unwrap_or(base);
    format!("{base}-{SUFFIX}")
}

/// Returns `BASE-SUFFIX`, the base cut as OLM cuts it: more than 64 bytes become 63. Secrets,
/// Issuers and Certificates may have names of 64.
///
/// OLM: operator-controller, `ObjectNameForBaseAndSuffix`.
pub(super) fn name_with_suffix(base: &str, suffix: &str) -> String {
    let fits = base.len() + suffix.len() <= LONGEST_NAME;
    let end = if fits { base.len() } else { LONGEST_NAME - suffix.len() - 1 };
    format!("{}-{suffix}", base.get(..end).unwrap_or(base))
}

impl Server<'_> {
    /// Returns the Service. It selects the pods by the Deployment's own selector.
    pub(super) fn service(&self) -> Object {
        let spec = &self.deployment.spec;
        let selector = spec
            .at(&["selector", "matchLabels"])
            .or_else(|| spec.at(&["template", "metadata", "labels"]))
            .cloned()
            .unwrap_or_else(|| Value::from(Map::new()));
        let ports = self.ports.iter().map(|(port, target)| {
            // A Service with several ports must name them.
            value!({"name": port.to_string(), "port": *port, "targetPort": target.clone()})
        });
        let root = map! {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": self.metadata(&self.service),
            "spec": {"ports": ports.collect::<Vec<_>>(), "selector": selector},
        };
        let mut service = Object::new(root, self.origin.clone());
        if self.provider == CertificateProvider::ServiceCa {
            service.annotate("service.beta.openshift.io/serving-cert-secret-name", &self.secret);
        }
        service
    }

    /// Returns the `metadata` of an object with this name in the release namespace.
    pub(super) fn metadata(&self, name: &str) -> Value {
        value!({"name": name, "namespace": Expr::ReleaseNamespace})
    }

    /// Returns the `service` of a client's configuration; `port` is from 1 to 65535.
    pub(super) fn reference(&self, path: Option<&str>, port: i64) -> Value {
        value!({
            "name": &self.service,
            "namespace": Expr::ReleaseNamespace,
            "path": ?path,
            "port": port,
        })
    }

    /// Returns the ports of another Service that this one does not have: number, and name if any.
    fn ports_without(&self, other: &Object) -> Vec<String> {
        let ports = list(other.at(&["spec", "ports"]));
        let shown = |port: &Value| {
            let number = integer(port.get("port"))?;
            if self.ports.iter().any(|(own, _)| *own == number) {
                return None;
            }
            let name = port.get("name").and_then(Value::as_str);
            Some(name.map_or(number.to_string(), |name| format!("{number} ({name})")))
        };
        ports.iter().filter_map(shown).collect()
    }

    /// Returns the ServiceAccount of its pods.
    pub(super) fn account(&self) -> &str {
        let pod = self.deployment.spec.at(&["template", "spec"]).and_then(Value::as_map);
        pod.map_or("default", account)
    }
}

/// Drops shipped Services that have the name of one that is made here, as OLM v0 replaces them.
/// Names the ports that the cluster then lacks.
pub(super) fn replace_shipped(
    servers: &[Server<'_>],
    objects: &mut Vec<Object>,
    diagnostics: &mut Diagnostics,
) {
    objects.retain(|object| {
        let server = servers.iter().find(|server| server.service == object.name());
        let Some(server) = server.filter(|_| object.kind() == "Service") else { return true };
        let message = format!("{object} gives way to the webhook Service of Deployment `{}`, which has the same name", server.deployment.name);

        let lost = server.ports_without(object);
        let found = if lost.is_empty() {
            object.note(Code::ShippedService, message)
        } else {
            let message = format!("{message} and lacks its ports: {}", lost.join(", "));
            let hint = "add the ports to the Service with a `[[bundle.patch]]`, or ship the Service \
                under another name";
            object.warning(Code::ShippedService, message).hint(hint)
        };
        diagnostics.push(found);
        false
    });
}

#[cfg(test)]
mod tests {
    use super::{name_with_suffix, service_name};

    #[test]
    fn names_are_cut_where_olm_cuts_them() {
        // operator-controller, ObjectNameForBaseAndSuffix: 63 bytes and a dash are not too long.
        for (base, cut) in [(58, 58), (59, 59), (60, 58)] {
            let name = name_with_suffix(&"b".repeat(base), "cert");
            assert_eq!(name, format!("{}-cert", "b".repeat(cut)), "{base}");
        }
        for (base, cut) in [(55, 55), (56, 55), (60, 55)] {
            let name = service_name(&"b".repeat(base));
            assert_eq!(name, format!("{}-service", "b".repeat(cut)), "{base}");
        }
    }
}

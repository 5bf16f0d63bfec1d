//! Invariants of NetworkPolicies: the connections between Gateways, pickers and engines.

use super::selector::{Known, is_for_pods, requirements};
use super::*;
use std::net::Ipv4Addr;

/// Label of the pods of a Gateway with its name (Gateway API, GEP-1762).
const GATEWAY: &str = "gateway.networking.k8s.io/gateway-name";

/// Pods at one end of a connection.
pub(super) struct End<'v> {
    /// The object with the pods.
    name: String,
    /// Its namespace; empty if unknown.
    namespace: &'v str,
    /// The labels of the pods.
    labels: Known<'v>,
    /// `spec` of the pods; `None` for a Gateway, whose pods have more labels than the known ones.
    spec: Option<&'v Json>,
}

impl<'v> End<'v> {
    /// Returns the pods of a template.
    pub(super) fn of_pods(template: &'v Template<'_>) -> Self {
        let Template { manifest, labels, spec, .. } = template;
        let (name, namespace) = (manifest.to_string(), manifest.namespace());
        End { name, namespace, labels: labels.clone(), spec: Some(spec) }
    }

    /// Returns the pods of a Gateway; any without a name.
    fn of_gateway((name, namespace): (&'v str, &'v str)) -> Self {
        let labels = Some((GATEWAY, name)).filter(|_| !name.is_empty());
        let name = if name.is_empty() { "Gateways".to_owned() } else { format!("Gateway/{name}") };
        End { name, namespace, labels: labels.into_iter().collect(), spec: None }
    }

    /// Returns true if a peer of a policy may be these pods.
    fn is_peer(&self, view: &View<'_>, policy: &Manifest, peer: &Json) -> bool {
        if let Some(block) = peer.get("ipBlock") {
            return may_have_pods(text(block, "cidr"));
        }
        let namespaces = peer.get("namespaceSelector");
        let is_near = match namespaces {
            None => policy.may_be_in(self.namespace),
            Some(_) => may_select(view, namespaces, self.namespace),
        };
        let wanted = requirements(peer.get("podSelector"));
        is_near
            && match self.spec {
                Some(_) => wanted.iter().all(|one| one.fits(&self.labels)),
                None => {
                    wanted.iter().all(|one| one.may_fit(&self.labels))
                        && !(namespaces.is_none() && is_for_pods(view, &wanted, policy))
                }
            }
    }
}

/// Reports that a NetworkPolicy does not allow connections to one of these ports; `what` names them, with
/// `PORT` for the port.
pub(super) fn report<'f>(
    view: &View<'_>,
    (client, server): (&End<'_>, &End<'_>),
    ports: &[u32],
    what: &str,
    found: &'f mut Found,
) -> Option<&'f mut Finding> {
    let ends = [("ingress", "from", server, client), ("egress", "to", client, server)];
    let mut connections = ports.iter().flat_map(|port| ends.map(|end| (*port, end)));
    let blocked = connections.find_map(|(port, (rules, peers, own, other))| {
        // Not all labels of a Gateway's pods are known, so no policy is known to select them.
        own.spec?;
        let mut blocking = None;

        // Policies add up: one that allows the connection is enough.
        for (owner, policy, all) in selecting(view, own, rules) {
            let has_port = |rule: &&Json| {
                let ports = list(rule, "ports");
                ports.is_empty() || ports.iter().any(|one| is_port(server, one, port))
            };
            let of_port = || all.iter().filter(has_port).map(|rule| list(rule, peers));
            let is_peer = |one: &Json| other.is_peer(view, policy, one);
            if of_port().any(|peers| peers.is_empty() || peers.iter().any(is_peer)) {
                return None;
            }
            let has_blocks = of_port().flatten().any(|one| one.get("ipBlock").is_some());
            blocking = Some((port, owner, policy, rules, has_blocks));
        }
        blocking
    });

    let (port, owner, policy, rules, has_blocks) = blocked?;
    let message = format!("{policy} does not allow {}", what.replace("PORT", &port.to_string()));
    let hint = format!("add a rule to `{rules}`");
    let finding = found.push(owner, format!(".spec.{rules}"), message, hint);
    // Clusters may have addresses that are others' on the Internet (GKE docs, privately used public IPs).
    finding.severity = has_blocks.then_some(Severity::Warning);
    Some(finding.field("network-policy"))
}

/// A policy with its index and its rules for a direction.
type Policy<'v> = (usize, &'v Manifest, &'v [Json]);

/// Returns the policies for a direction that select pods.
fn selecting<'a>(view: &View<'a>, pods: &End<'_>, key: &str) -> Vec<Policy<'a>> {
    let all = view.selecting("NetworkPolicy", &pods.labels, pods.namespace, Some(("", "")));
    let policies = all.into_iter().filter(|(_, policy)| {
        let types = list(policy.spec(), "policyTypes");
        // Without types, policies are of ingress, and with rules of egress also of that.
        let is_usual = key == "ingress" || policy.spec().get(key).is_some();
        let wanted = requirements(policy.spec().get("podSelector"));
        let has_type = |one: &Json| one.as_str().is_some_and(|one| one.eq_ignore_ascii_case(key));
        (types.iter().any(has_type) || types.is_empty() && is_usual)
            && wanted.iter().all(|one| one.fits(&pods.labels))
    });
    policies.map(|(owner, policy)| (owner, policy, list(policy.spec(), key))).collect()
}

/// Addresses that pods may have: those that are not of the Internet (Google Cloud docs, VPC, valid IPv4
/// ranges), and those of Google's proxies, which are Gateways without pods (GKE docs, firewall rules).
const INNER: &str = "10.0.0.0/8 100.64.0.0/10 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 \
                     192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 \
                     35.191.0.0/16 130.211.0.0/22";

/// Returns false if no pod of a cluster has an address in a block: it is a public one.
fn may_have_pods(cidr: &str) -> bool {
    let parts = |cidr: &str| {
        let (address, bits) = cidr.split_once('/')?;
        Some((address.parse::<Ipv4Addr>().ok()?.to_bits(), bits.parse::<u32>().ok()?))
    };
    let Some((address, bits)) = parts(cidr) else { return true };
    // Blocks overlap if they agree on the bits of the shorter prefix.
    INNER.split(' ').filter_map(parts).any(|(other, length)| {
        let rest = 32u32.saturating_sub(bits.min(length));
        (address ^ other).checked_shr(rest).unwrap_or_default() == 0
    })
}

/// Returns true if a port of a rule is that of the server.
fn is_port(server: &End<'_>, rule: &Json, wanted: u32) -> bool {
    // Gateways, pickers and engines speak HTTP and gRPC, which are over TCP.
    if text_or(rule, "protocol", "TCP") != "TCP" {
        return false;
    }
    let Some(port) = rule.get("port").filter(|port| !port.is_null()) else { return true };
    let last = number(rule, "endPort");
    let containers = server.spec.map(|spec| all_containers(spec, "")).unwrap_or_default();
    let mut first = containers.iter().filter_map(|(one, _)| port_number(one, port));
    first.any(|first| (first..=last.unwrap_or(first)).contains(&wanted))
}

/// Checks that NetworkPolicies allow the connections from Gateways to pickers and engines, from pickers to
/// the metrics of engines, and to the addresses that pods and pickers name.
pub(crate) fn connections(view: &View<'_>, found: &mut Found) {
    if view.of_kind("NetworkPolicy").next().is_none() {
        return;
    }
    service_ports(view, found);
    names(view, found);
    let mut check = |client: &End<'_>, server: &End<'_>, ports: &[u32]| {
        let what = format!("connections from {} to port PORT of {}", client.name, server.name);
        report(view, (client, server), ports, &what, found);
    };
    // By the names of pools.
    let routes = grouped(view.of_kind("HTTPRoute").flat_map(|(_, route)| {
        pool_backends(route).map(move |(backend, _)| (text(backend, "name"), route))
    }));
    // By the pools that they name, for those whose Service is in other manifests.
    let by_pool = grouped(view.pickers.iter().map(|one| (one.flags.text("pool-name"), one)));

    let mut served: BTreeSet<usize> = BTreeSet::new();
    for (_, pool) in view.pools() {
        let routes = routes.get(pool.name()).into_iter().flatten();
        let mut gateways: Vec<End<'_>> = routes
            .filter(|route| route.may_share_namespace(pool))
            .flat_map(|route| parents(route).map(|(_, at)| End::of_gateway(at)))
            .collect();
        if gateways.is_empty() {
            gateways.push(End::of_gateway(("", "")));
        }
        let behind = pickers_of(view, pool);
        let named = by_pool.get(&Some(pool.name())).into_iter().flatten().copied();
        let named = named.filter(|picker| picker.manifest.may_share_namespace(pool));
        let pickers: BTreeMap<usize, &Picker<'_>> =
            behind.into_iter().chain(named).map(|picker| (picker.owner, picker)).collect();
        served.extend(pickers.keys());
        let pickers: Vec<(End<'_>, Vec<u32>)> = pickers.into_values().map(of_picker).collect();

        for (picker, ports) in &pickers {
            gateways.iter().for_each(|gateway| check(gateway, picker, ports));
        }
        let ports = super::pool::ports(pool);
        let selected = view.selected(pool);
        for engine in selected.iter().filter(|one| !one.is_headless()).map(|one| End::of_pods(one))
        {
            let clients = gateways.iter().chain(pickers.iter().map(|(picker, _)| picker));
            clients.for_each(|client| check(client, &engine, &ports));
        }
    }
    for (client, server, port) in super::addresses::called(view) {
        check(&End::of_pods(client), &End::of_pods(server), &[port]);
    }
    for (router, pods) in super::transfer::routed(view) {
        check(
            &End::of_pods(router),
            &End::of_pods(pods),
            &pods.request_ports().unwrap_or_default(),
        );
    }
    // The pool of these is in other manifests, but a Gateway still has to reach them.
    for picker in view.pickers.iter().filter(|picker| !served.contains(&picker.owner)) {
        let (picker, ports) = of_picker(picker);
        check(&End::of_gateway(("", "")), &picker, &ports);
    }
}

/// Kinds of policies that rules do not read.
const OTHER_POLICIES: [&str; 3] =
    ["AdminNetworkPolicy", "CiliumClusterwideNetworkPolicy", "CiliumNetworkPolicy"];

/// Variables with which a download needs no names of the cluster's DNS.
const PROXIES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "HF_ENDPOINT"];

/// Checks that pods can look up names, engines those of the hub from which they download their model. Ports
/// of DNS differ: only policies of nothing but HTTP are known not to have them.
fn names(view: &View<'_>, found: &mut Found) {
    let own = ["hostNetwork", "hostAliases", "dnsPolicy", "dnsConfig"];
    // Policies of other kinds add up with these.
    let has_others = view.manifests.iter().any(|one| OTHER_POLICIES.contains(&one.kind()));
    let pickers = view.pickers.iter().map(|picker| &picker.pods);
    let pods = view.templates.iter().chain(pickers);
    for template in pods.filter(|pods| own.iter().all(|key| pods.spec.get(key).is_none())) {
        let policies = selecting(view, &End::of_pods(template), "egress");
        let Some((owner, policy, _)) = policies.first() else { continue };
        let rules = policies.iter().flat_map(|(.., rules)| *rules);
        let rules: Vec<&[Json]> = rules.map(|rule| list(rule, "ports")).collect();
        let allows = |is_meant: fn(&Json) -> bool| {
            rules.iter().any(|ports| ports.is_empty() || ports.iter().any(is_meant))
        };
        let is_other = |port: &Json| {
            !matches!(number(port, "port"), Some(80 | 443)) || port.get("endPort").is_some()
        };
        let is_direct =
            |one: &&Engine<'_>| PROXIES.iter().all(|name| variable(one.container, name).is_none());
        let engine = template.engine.as_ref().filter(|one| downloads(template, one));
        let mut found = found.at(*owner, ".spec.egress");
        if let Some(engine) = engine.filter(is_direct).filter(|_| !allows(is_other)) {
            let model = engine.model.as_deref().unwrap_or_default();
            let message = format!(
                "{policy} does not allow {template}, which downloads `{model}`, to look up names"
            );
            found.push(message, "allow port 53 over UDP and TCP");
        }
        let mut ports = rules.iter().copied().flatten();
        if !has_others
            && !allows(|port| text(port, "protocol") == "UDP")
            && ports.any(|port| number(port, "port") == Some(53))
        {
            let message = format!("{policy} allows {template} port 53 over TCP only");
            let finding = found.push(message, "add it with `protocol: UDP`");
            finding.why("names are looked up over UDP first", "Kubernetes API, NetworkPolicyPort");
        }
    }
}

/// Checks that policies have the ports of pods, and not those of the Services in front of them.
fn service_ports(view: &View<'_>, found: &mut Found) {
    for template in &view.templates {
        let server = End::of_pods(template);
        let policies = selecting(view, &server, "ingress");
        let rules = policies.iter().flat_map(|(owner, policy, rules)| {
            rules.iter().map(move |rule| (*owner, policy, list(rule, "ports")))
        });
        let Some(mut open) = template.ports() else { continue };
        let services = view.services_selecting(template);
        let ports = services.iter().flat_map(|(_, service)| {
            let ports = list(service.spec(), "ports").iter().filter(|port| is_moved(port));
            ports.filter_map(move |port| Some((service, port, port.get("port")?)))
        });
        // What a Service targets is open, declared or not.
        open.extend(ports.clone().filter_map(|(_, port, _)| {
            template.containers().find_map(|(container, _)| target_port(container, port))
        }));

        let allows = |rule: &[Json]| {
            let is_open = |port: &u32| rule.iter().any(|one| is_port(&server, one, *port));
            rule.is_empty() || open.iter().any(is_open)
        };
        let moved =
            rules.clone().filter(|(.., rule)| !allows(rule)).find_map(|(at, policy, rule)| {
                let is_named = |port: &Json| rule.iter().any(|one| one.get("port") == Some(port));
                let (service, _, port) = ports.clone().find(|(.., port)| is_named(port))?;
                Some((at, policy, service, port))
            });
        let Some((owner, policy, service, port)) = moved else { continue };
        let shown = ranges(&open);
        let message =
            format!("{policy} allows port {port} of {service}, but the pods listen on {shown}");
        let finding = found.push(owner, ".spec.ingress", message, "write the port of the pods");
        // Policies add up: another rule may allow the port, but this one has no effect.
        let is_reached = rules.map(|(.., rule)| rule).any(allows);
        finding.severity = is_reached.then_some(Severity::Warning);
    }
}

/// Returns the pods of a picker, and the port for Gateways; none if a proxy in its own pod calls it.
fn of_picker<'v>(picker: &'v Picker<'_>) -> (End<'v>, Vec<u32>) {
    // llm-d-router, standalone mode: without a pool, Envoy runs in the pod and connects over loopback.
    let mut others = texts(picker.pods.spec, "containers", "image");
    let has_proxy = others.any(|image| ["envoy", "proxy"].iter().any(|one| image.contains(one)));
    let is_called = picker.flags.has("pool-name") && !has_proxy;
    let port = picker.flags.number("grpc-port", PICKER_PORT.into());
    (End::of_pods(&picker.pods), port.filter(|_| is_called).into_iter().collect())
}

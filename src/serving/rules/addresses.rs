//! Invariants of addresses in commands and variables: names that resolve, ports that Services have, and
//! variables that Kubernetes expands.

use super::references::is_cut;
use super::*;

/// An address in a word of a container or in the value of a variable: a host and a port.
type Address = (String, Option<u32>);

/// Returns the addresses in a text: hosts of URLs, and names of the cluster with a port.
fn addresses(text: &str) -> Vec<Address> {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':');
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let mut found = Vec::new();
    for line in lines {
        // What is before the `@` of a URL may be a secret.
        let urls = line.split("://").skip(1).map(|rest| {
            let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | ',');
            let address = rest.split(ends).next().and_then(|host| host.rsplit('@').next());
            (address.unwrap_or_default(), true)
        });
        let words = line.split(|c: char| !is_inside(c) && c != '@' && c != '/');
        let words = words.filter(|word| !word.contains(['@', '/'])).map(|word| (word, false));
        for (text, is_url) in urls.chain(words) {
            let text = text.split(|c| !is_inside(c)).next().unwrap_or_default();
            let (host, port) = text.split_once(':').unwrap_or((text, ""));
            if is_url || host.contains('.') || port.len() > 2 {
                found.push((host.to_owned(), port.parse().ok()));
            }
        }
    }
    found
}

/// Returns the addresses in a container, also those in files that its variables name, and hosts alone.
fn addresses_of(view: &View<'_>, pods: &Template<'_>, container: &Json) -> BTreeSet<Address> {
    let is_proxy = |variable: &&Json| !text(variable, "name").eq_ignore_ascii_case("no_proxy");
    let variables = || list(container, "env").iter().filter(is_proxy);
    let values = variables().map(|one| text(one, "value"));
    let files = values.clone().filter_map(|path| match view.file(pods, container, path) {
        File::Text(_, _, content) => Some(content),
        _ => None,
    });
    let hosts = variables().filter(|one| text(one, "name").ends_with("_HOST"));
    let hosts = hosts.map(|one| (text(one, "value").to_owned(), None));
    let words = words(container);
    let all = words.iter().map(String::as_str).chain(values).chain(files);
    all.flat_map(addresses).chain(hosts).collect()
}

/// Returns the pods and the ports to which the addresses of containers and of pickers lead, with those that
/// connect to them.
pub(super) fn called<'v, 'a>(view: &'v View<'a>) -> Vec<(&'v Template<'a>, &'v Template<'a>, u32)> {
    let of_containers = view.containers().flat_map(|(pods, container, _)| {
        addresses_of(view, pods, container).into_iter().map(move |address| (pods, address))
    });
    let of_pickers = in_configs(view).into_iter();
    let of_pickers = of_pickers.map(|(picker, _, address)| (&picker.pods, address));
    let all = of_containers.chain(of_pickers).filter_map(|(client, (host, port))| {
        let service = service_at(view, &host, client.manifest.namespace())?;
        Some((client, service, service_port(service, port?)?))
    });
    let all = all.flat_map(|(client, service, port)| {
        let servers = view.behind(service);
        servers.filter_map(move |server| {
            let mut ports = server.containers().filter_map(|(one, _)| target_port(one, port));
            Some((client, server, ports.next()?))
        })
    });
    all.collect()
}

/// Returns the name and the namespace of a Service in a host, for pods of a namespace: `name`,
/// `name.namespace`, `name.namespace.svc…`.
pub(super) fn names_in<'h>(host: &'h str, namespace: &'h str) -> Option<(&'h str, &'h str)> {
    let labels: Vec<&str> = host.split('.').collect();
    match labels[..] {
        [name] => Some((name, namespace)),
        [name, namespace] | [name, namespace, "svc", ..] => Some((name, namespace)),
        _ => None,
    }
}

/// Returns the Service of a host, for pods of a namespace.
fn service_at<'a>(view: &View<'a>, host: &str, namespace: &str) -> Option<&'a Manifest> {
    let (name, namespace) = names_in(host, namespace)?;
    let mut services = view.all_named("Service", name, namespace).map(|(_, service)| service);
    services.find(|service| service.namespace() == namespace)
}

/// Returns the StatefulSet of a pod in a host, and the Service in it, if the pods have names of another one.
fn pod_of_other<'a, 'h>(
    view: &View<'a>,
    host: &'h str,
    namespace: &'h str,
) -> Option<(&'a Manifest, &'h str)> {
    let (pod, rest) = host.split_once('.')?;
    let (name, number) = pod.rsplit_once('-')?;
    let (service, namespace) = names_in(rest, namespace)?;
    let mut sets = view.all_named("StatefulSet", name, namespace).map(|(_, set)| set);
    let set = sets.find(|set| set.namespace() == namespace)?;
    let is_pod = number.parse::<u32>().is_ok() && service_at(view, host, namespace).is_none();
    (is_pod && text(set.spec(), "serviceName") != service).then_some((set, service))
}

/// Returns true for a Service with a cluster IP.
pub(super) fn has_address(service: &Manifest) -> bool {
    let spec = service.spec();
    text(spec, "clusterIP") != "None" && text(spec, "type") != "ExternalName"
}

/// Returns true if clients of a Service cannot connect to this port of it. Without an address, they
/// connect to the pods.
pub(super) fn is_closed(service: &Manifest, port: u32) -> bool {
    let ports = list(service.spec(), "ports");
    has_address(service)
        && !ports.is_empty()
        && ports.iter().all(|one| one.get("port").is_some_and(Json::is_u64))
        && service_port(service, port).is_none()
}

/// Checks that Services in the manifests have the ports of the addresses that containers name.
pub(crate) fn ports((view, template, container): ContainerContext<'_>, found: &mut Reporter<'_>) {
    let manifest = template.manifest;
    let aliases = || list(template.spec, "hostAliases").iter();
    for (host, port) in addresses_of(view, template, container) {
        if let Some((pods, service)) = pod_of_other(view, &host, manifest.namespace()) {
            let own = text(pods.spec(), "serviceName");
            let hint = format!("write `serviceName: {service}`, or another name in the address");
            found.push(format!("`{host}` has no address: {pods} has `serviceName: {own}`"), hint);
        }
        let is_own = host == manifest.name() && manifest.kind() == "Pod"
            || aliases().any(|alias| strings(alias, "hostnames").any(|alias| alias == host));
        if !is_own {
            closed(view, (host, port), manifest, found);
        }
    }
}

/// Reports an address of a Service in the manifests that does not have its port, or of none, if one in another
/// namespace or of another release has the name.
fn closed(view: &View<'_>, (host, port): Address, manifest: &Manifest, found: &mut Reporter<'_>) {
    let named = names_in(&host, manifest.namespace());
    let all = || view.of_kind("Service").map(|(_, one)| one);
    let is_other = |one: &&Manifest, (name, near): (&str, &str)| {
        // Names of Helm's objects begin with their release.
        let [own, other] = [name, one.name()].map(|name| Some(name.split_once('-')?.1));
        let is_of_release = own == other && own.is_some_and(|rest| rest.contains('-'));
        host.contains(".svc") && one.name() == name && !one.may_be_in(near)
            || one.namespace() == near && (is_of_release || is_cut(name, one.name()))
    };

    let service = service_at(view, &host, manifest.namespace());
    let other = named.filter(|_| service.is_none());
    let other = other.and_then(|named| all().find(|one| is_other(one, named)));
    if let Some(other) = other.filter(|other| !is_placeholder(other.name())) {
        let message = format!("`{host}` is no Service of the manifests, but {other} is");
        let place = match other.namespace() {
            "" => format!("write `{}`", other.name()),
            namespace => format!("write `{}.{namespace}.svc`", other.name()),
        };
        found.push(message, place).warning();
    }
    if let Some((service, port)) =
        service.zip(port).filter(|(service, port)| is_closed(service, *port))
    {
        let ports = list(service.spec(), "ports").iter().filter_map(|one| one.get("port"));
        let ports = ports.map(Json::to_string).collect::<Vec<String>>().join(", ");
        let message = format!("`{host}:{port}` is {service}, whose ports are {ports}");
        found.push(message, "add the port to the Service, or write one that it has");
    }
}

/// Returns the addresses in the configurations of pickers, with their objects and JSON paths.
fn in_configs<'v, 'a>(view: &'v View<'a>) -> Vec<(&'v Picker<'a>, (usize, &'v str), Address)> {
    let mut all = Vec::new();
    for picker in view.all_pickers() {
        let Some((owner, path, config)) = picker.known_config() else { continue };
        let named: BTreeSet<Address> = addresses(&config.to_string()).into_iter().collect();
        all.extend(named.into_iter().map(|address| (picker, (owner, path), address)));
    }
    all
}

/// Checks that Services in the manifests have the ports of the addresses that configurations of pickers name.
pub(crate) fn of_pickers(view: &View<'_>, found: &mut Found) {
    for (picker, (owner, path), address) in in_configs(view) {
        closed(view, address, picker.manifest, &mut found.at(owner, path));
    }
}

/// Checks that pods in the network of their node resolve names of the cluster.
pub(crate) fn names((view, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let spec = template.spec;
    let resolves = matches!(text(spec, "dnsPolicy"), "ClusterFirstWithHostNet" | "None")
        || spec.pointer("/dnsConfig/nameservers").is_some();

    let is_of_cluster = |host: &String| host.split('.').nth(2) == Some("svc");
    let hosts = addresses_of(view, template, engine.container);
    let mut hosts = hosts.into_iter().map(|(host, _)| host);
    let leader = "LWS_LEADER_ADDRESS";
    let joins = template.size > 1 && words(engine.container).iter().any(|w| w.contains(leader));
    let name = hosts.find(is_of_cluster).or_else(|| joins.then(|| format!("${leader}")));
    let Some(name) = name.filter(|_| template.is_on_host() && !resolves) else { return };
    let message = format!("in the network of its node, the pod does not resolve `{name}`");
    found.push(message, "write `dnsPolicy: ClusterFirstWithHostNet`");
}

/// Checks that variables are above those that use them.
pub(crate) fn order(view: &View<'_>, found: &mut Found) {
    // Variables of Secrets come before all others.
    let is_plain = |container: &Json| list(container, "envFrom").is_empty();
    for (pods, container, path) in containers(pods(view)).filter(|(_, one, _)| is_plain(one)) {
        let names: Vec<&str> = texts(container, "env", "name").collect();
        for (index, (variable, path)) in items(container, "env", &path).enumerate() {
            let (before, after) = (&names[..index], &names[index + 1..]);
            let is_late =
                |name: &String| after.contains(&name.as_str()) && !before.contains(&name.as_str());
            let mut used = expanded_names(text(variable, "value")).into_iter();
            let Some(late) = used.find(is_late) else { continue };
            let name = text(variable, "name");
            let message = format!("`{name}` uses `$({late})`, which is defined after it");
            found.push(pods.owner, path, message, format!("move `{late}` above `{name}`"));
        }
    }
}

//! Invariants of HTTPRoutes and their Gateways.

use super::probe::{answers, known};
use super::*;
use crate::releases::go_flags::nanoseconds;

/// Checks that routes reference Gateways, listeners and Services that exist in the manifests, and rules of
/// the CRDs that their schemas do not have: the CEL expressions in Gateway API, apis/v1.
pub(crate) fn routes(view: &View<'_>, found: &mut Found) {
    for (owner, gateway) in view.of_kind("Gateway") {
        listeners(owner, gateway, found);
    }
    let grants = grouped(view.of_kind("ReferenceGrant").map(|(_, one)| (one.namespace(), one)));
    let kinds = ["HTTPRoute", "GRPCRoute", "AIGatewayRoute"].into_iter();
    for (owner, route) in kinds.flat_map(|kind| view.of_kind(kind)) {
        let mut strangers = Vec::new();
        for (index, parent) in parents(route).enumerate() {
            let found = found.at(owner, format!(".spec.parentRefs[{index}]"));
            if matches!(text(parent.0, "kind"), "" | "Gateway") {
                strangers.extend(parent_of(view, route, parent, found));
            }
        }
        // Its backends are of other kinds.
        if route.kind() == "AIGatewayRoute" {
            continue;
        }
        // A route with several parents has an effect with one that matches.
        let parents = parents(route).count();
        if let Some(gateway) = strangers.first().filter(|_| strangers.len() == parents) {
            let message = format!("no listener of {gateway} matches the hostnames of {route}");
            found.push(owner, ".spec.hostnames", message, "use a host of the listener");
        }
        if parents == 0 && !list(route.spec(), "rules").is_empty() {
            let message = format!("{route} has no `parentRefs`");
            let finding = found.push(owner, ".spec", message, "name its Gateway").warning();
            finding.why("no Gateway serves it", "Gateway API, ParentReference");
        }
        for (rule, path) in items(route.spec(), "rules", ".spec") {
            self::rule(route, rule, found.at(owner, path.as_str()));
            rewritten(view, route, rule, found.at(owner, format!("{path}.filters")));
            for (backend, path) in items(rule, "backendRefs", &path) {
                backend_of(view, &grants, (route, backend), found.at(owner, path));
            }
        }
    }
}

/// A reference of a route to a parent, with its name and its namespace.
type Parent<'v> = (&'v Json, (&'v str, &'v str));

/// Returns the references of a route to its parents.
pub(super) fn parents(route: &Manifest) -> impl Iterator<Item = Parent<'_>> {
    list(route.spec(), "parentRefs").iter().map(|parent| {
        (parent, (text(parent, "name"), text_or(parent, "namespace", route.namespace())))
    })
}

/// Returns the InferencePools that a route has as backends, with their JSON paths.
pub(super) fn pool_backends(route: &Manifest) -> impl Iterator<Item = Located<'_>> {
    let rules = items(route.spec(), "rules", ".spec");
    let backends = rules.flat_map(|(rule, path)| items(rule, "backendRefs", &path));
    backends.filter(|(backend, _)| text(backend, "kind") == "InferencePool")
}

/// GatewayClasses without InferencePools as backends: the classic load balancers of GKE.
const WITHOUT_POOLS: [&str; 2] = ["gke-l7-gxlb", "gke-l7-gxlb-mc"];

/// Checks that pods of the targets of GKE's policies answer their health checks.
pub(crate) fn policies(view: &View<'_>, found: &mut Found) {
    let kinds = ["HealthCheckPolicy", "GCPBackendPolicy"].into_iter();
    for (owner, policy) in kinds.flat_map(|kind| view.of_kind(kind)) {
        let Some(target) = policy.spec().get("targetRef") else { continue };
        // Imports of other clusters have the names of what they import.
        let is_here = ["InferencePool", "Service"].contains(&text(target, "kind"));
        let config = policy.spec().pointer("/default/config").unwrap_or(&Json::Null);
        let Some(check) = config.get("httpHealthCheck") else { continue };
        let mut found = found.at(owner, ".spec.default.config.httpHealthCheck");
        let get = json!({"path": check.get("requestPath"), "port": check.get("port")});
        for pods in behind(view, policy, target).into_iter().filter(|_| is_here) {
            let open = pods.ports().unwrap_or_default();
            let port = number(check, "port").filter(|port| !open.contains(port));
            if let Some(port) = port.filter(|_| !open.is_empty()) {
                let open = ranges(&open);
                let message = format!("{policy} uses port {port}, but {pods} listens on {open}");
                found.push(message, "use a port of the pods");
            } else if let Some(engine) = pods.engine.as_ref().filter(|one| known(one).is_some()) {
                answers((view, pods, engine), (&policy.to_string(), &get), found.inside(""));
            }
        }
    }
}

/// First segments of paths that some engines serve besides those of the model servers.
const MORE_PATHS: [&str; 3] = ["embeddings", "healthz", "models"];

/// Returns the pods in the manifests that a backend of a route leads to.
fn behind<'v, 'a>(view: &'v View<'a>, route: &Manifest, backend: &Json) -> Vec<&'v Template<'a>> {
    let name = text(backend, "name");
    let pods = match text(backend, "kind") {
        "InferencePool" => view.named("InferencePool", name, route).map(|one| view.selected(one.1)),
        _ => view.named("Service", name, route).map(|one| view.behind(one.1).collect()),
    };
    pods.unwrap_or_default()
}

/// Checks that a rule leaves the `/v1` of requests to engines, below which they serve the API of OpenAI.
fn rewritten(view: &View<'_>, route: &Manifest, rule: &Json, mut found: Reporter<'_>) {
    let backends = list(rule, "backendRefs");
    let to_engine = backends.iter().any(|backend| {
        text(backend, "kind") == "InferencePool"
            || behind(view, route, backend).iter().any(|pods| pods.engine.is_some())
    });
    if !to_engine {
        return;
    }
    // A pattern may match any paths.
    let is_pattern = |one: &&Json| text_at(one, "/path/type") == Some("RegularExpression");
    let matches = list(rule, "matches").iter().filter(|one| !is_pattern(one));
    let mut paths = matches.filter_map(|one| text_at(one, "/path/value"));
    // Filters of the implementation may rewrite, too.
    let is_foreign = |path: &&str| {
        let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        let is_own = MORE_PATHS.contains(&first) || engines().iter().any(|one| one.serves(first));
        !is_own && !is_placeholder(path) && list(rule, "filters").is_empty()
    };
    // Engines of the manifests that serve the usual paths.
    let is_usual = |pods: &&Template<'_>| {
        let engine = pods.engine.as_ref().filter(|engine| engine.program.table().is_some());
        engine.and_then(Engine::known_flags).is_some_and(|flags| !flags.has("root-path"))
    };
    let is_served = |one: &Json| behind(view, route, one).iter().any(is_usual);
    if let Some(path) = paths.clone().find(is_foreign).filter(|_| backends.iter().all(is_served)) {
        let message = format!("{route} leaves `{path}` in the path, which engines do not serve");
        let hint = "add a filter `URLRewrite` with `replacePrefixMatch: /`";
        found.push(message, hint).why("requests get 404", "Gateway API, HTTPURLRewriteFilter");
    }
    let Some(from) = paths.find(|path| path.trim_end_matches('/').ends_with("/v1")) else { return };
    for filter in list(rule, "filters") {
        let path = text_at(filter, "/urlRewrite/path/replacePrefixMatch");
        if path.is_some_and(|to| to.trim_matches('/').is_empty()) {
            let message =
                format!("{route} rewrites `{from}` to `/`, without the `/v1` that engines serve");
            let finding = found.push(message, "write `replacePrefixMatch: /v1`");
            finding.why("requests get 404", "vLLM docs, OpenAI-compatible server");
        }
    }
}

/// Checks the backends, filters, timeouts and paths of a rule against each other.
fn rule(route: &Manifest, rule: &Json, mut found: Reporter<'_>) {
    let backends = list(rule, "backendRefs");
    // Filters of implementations may answer.
    if backends.is_empty() && list(rule, "filters").is_empty() {
        let message = format!("a rule of {route} has no backend");
        let finding = found.push(message, "add an InferencePool or a Service to `backendRefs`");
        finding.why("requests get 500", "Gateway API, HTTPRouteRule");
    }
    if !backends.is_empty() && backends.iter().all(|one| number(one, "weight") == Some(0)) {
        let message = format!("all backends of a rule of {route} have weight 0");
        found.below(".backendRefs", message, "give a backend a weight of 1 or more");
    }
    // CEL: "RequestRedirect filter must not be used together with backendRefs".
    let is_redirect = |one: &Json| text(one, "type") == "RequestRedirect";
    if !backends.is_empty() && list(rule, "filters").iter().any(is_redirect) {
        let message = format!("a rule of {route} redirects requests, but has backends");
        found.below(".backendRefs", message, "remove the backends, or the filter").rejected();
    }

    // CEL: "backendRequest timeout cannot be longer than request timeout"; 0 is no timeout.
    let timeout = |key: &str| nanoseconds(rule.pointer(&format!("/timeouts/{key}"))?.as_str()?);
    let timeouts = timeout("request").zip(timeout("backendRequest"));
    if timeouts.is_some_and(|(all, each)| all > 0 && each > all) {
        let message = format!("timeout `backendRequest` of {route} exceeds `request`");
        found.below(".timeouts", message, "lower it, or raise `request`").rejected();
    }
    // CEL: "when using … path.replacePrefixMatch, exactly one PathPrefix match must be specified"; a rule
    // without matches gets one.
    let replaces = |one: &Json| {
        let kinds = ["/urlRewrite/path/type", "/requestRedirect/path/type"];
        kinds.iter().any(|kind| one.pointer(kind).is_some_and(|kind| kind == "ReplacePrefixMatch"))
    };
    let of_backends = backends.iter().flat_map(|one| list(one, "filters"));
    let is_prefix = |one: &Json| one.pointer("/path/type").is_none_or(|kind| kind == "PathPrefix");
    let matches = list(rule, "matches");
    if list(rule, "filters").iter().chain(of_backends).any(replaces)
        && (matches.len() > 1 || !matches.iter().all(is_prefix))
    {
        let message = format!(
            "a rule of {route} uses ReplacePrefixMatch without exactly one PathPrefix match"
        );
        found.push(message, "match by one path of type PathPrefix").rejected();
    }
    for (one, path) in items(rule, "matches", "") {
        let asked = one.get("path").unwrap_or(&Json::Null);
        let value = text_or(asked, "value", "/");
        let is_pattern = text(asked, "type") == "RegularExpression";
        // Engines have `/v1/models`, `/v1/completions` and others.
        let is_folder = text(asked, "type") == "Exact" && value.trim_end_matches('/') == "/v1";
        if is_folder && list(rule, "filters").is_empty() {
            let message =
                format!("a match of {route} is the path `{value}` alone, which no engine has");
            found.below(&format!("{path}.path.type"), message, "write `type: PathPrefix`");
        }
        if !value.starts_with('/') && !is_pattern && !is_placeholder(value) {
            let message = format!("path `{value}` of {route} does not begin with `/`");
            let path = format!("{path}.path.value");
            found.below(&path, message, format!("write `/{value}`")).rejected();
        }
    }
}

/// Checks that listeners differ in what they accept, and that those with TLS have a certificate.
fn listeners(owner: usize, gateway: &Manifest, found: &mut Found) {
    let mut seen = BTreeSet::new();
    let certificates = "/metadata/annotations/networking.gke.io~1certmap";
    let is_elsewhere = gateway.text(certificates).is_some()
        || gateway.text("/spec/infrastructure/parametersRef/kind")
            == Some("LoadBalancerConfiguration");
    for (listener, path) in items(gateway.spec(), "listeners", ".spec") {
        let mut found = found.at(owner, path);
        let (name, protocol) = (text(listener, "name"), text(listener, "protocol"));
        // CEL: "Combination of port, protocol and hostname must be unique for each listener".
        let key = (number(listener, "port"), protocol, text(listener, "hostname"));
        let is_known = key.0.is_some() && ![key.1, key.2].into_iter().any(is_placeholder);
        if is_known && !seen.insert(key) {
            let message = format!(
                "listener `{name}` of {gateway} has port, protocol and hostname of another one"
            );
            found.push(message, "use another hostname or port, or one listener").rejected();
        }

        let tls = listener.get("tls").unwrap_or(&Json::Null);
        let ends = text_or(tls, "mode", "Terminate") == "Terminate";
        let has_none = list(tls, "certificateRefs").is_empty() && tls.get("options").is_none();
        // CEL: "certificateRefs or options must be specified when mode is Terminate", and "tls mode must be
        // set for protocol TLS". HTTPS may lack `tls`: GKE and AWS have certificates elsewhere.
        let is_free = protocol == "HTTPS" && tls.is_null();
        let (what, hint) = match protocol {
            "HTTPS" | "TLS" if ends && has_none && !(is_free && is_elsewhere) => {
                ("no certificate for", "add `tls: {certificateRefs: [{name: SECRET}]}`")
            }
            "HTTP" | "TCP" | "UDP" if !tls.is_null() => {
                ("`tls`, but protocol", "write `protocol: HTTPS`, or remove `tls`")
            }
            _ => continue,
        };
        let message = format!("listener `{name}` of {gateway} has {what} {protocol}");
        let finding = found.push(message, hint);
        match is_free {
            true => finding.warning(),
            false => finding.rejected(),
        };
    }
}

/// Checks a reference to a Gateway, and returns the Gateway if no listener matches the route's hostnames.
fn parent_of<'a>(
    view: &View<'a>,
    route: &Manifest,
    (parent, (name, namespace)): Parent<'_>,
    mut found: Reporter<'_>,
) -> Option<&'a Manifest> {
    let names: Vec<&str> = view.of_kind("Gateway").map(|(_, gateway)| gateway.name()).collect();
    if names.is_empty() || is_placeholder(name) || is_placeholder(text(parent, "namespace")) {
        return None;
    }
    let Some((_, gateway)) = view.all_named("Gateway", name, namespace).next() else {
        if names.iter().any(|name| is_placeholder(name)) {
            return None;
        }
        let message = format!("{route} references Gateway/{name}, which is not in the manifests");
        let finding = found.push(message, suggest::hint(name, &names, "Gateways"));
        // The Gateway may be in the cluster, unless the name is nearly that of another one.
        let is_near = names.iter().any(|other| *other == name || is_typo(name, other));
        finding.severity = (!is_near).then_some(Severity::Warning);
        return None;
    };

    let listeners = list(gateway.spec(), "listeners");
    let section = text(parent, "sectionName");
    let named: Vec<&Json> = listeners
        .iter()
        .filter(|listener| section.is_empty() || text(listener, "name") == section)
        .collect();
    if named.is_empty() && !listeners.is_empty() && !is_placeholder(section) {
        let names: Vec<&str> = texts(gateway.spec(), "listeners", "name").collect();
        let message =
            format!("{route} references listener `{section}`, which {gateway} does not have");
        found.below(".sectionName", message, suggest::hint(section, &names, "listeners"));
        return None;
    }
    let has_port = |port: u32| named.iter().any(|one| number(one, "port") == Some(port));
    let port = number(parent, "port").filter(|port| !named.is_empty() && !has_port(*port));
    if let Some(port) = port {
        let message = format!("{route} references port {port}, which {gateway} does not have");
        found.below(".port", message, "use the port of a listener");
        return None;
    }

    accepted(view, route, (gateway, &named), &mut found);

    // Gateway API, Hostname: `*.a` is for all names below a.
    let is_below =
        |one: &str, other: &str| one.strip_prefix('*').is_some_and(|end| other.ends_with(end));
    let hosts: Vec<&str> = strings(route.spec(), "hostnames").collect();
    let is_met = |listener: &&Json| {
        let own = text(listener, "hostname");
        let meets = |host: &&str| *host == own || is_below(host, own) || is_below(own, host);
        own.is_empty() || is_placeholder(own) || hosts.iter().any(meets)
    };
    let is_open =
        hosts.is_empty() || named.is_empty() || hosts.iter().any(|one| is_placeholder(one));
    (!is_open && !named.iter().any(is_met)).then_some(gateway)
}

/// Checks that a Gateway with these listeners accepts the namespace of a route, and has its backends.
fn accepted(
    view: &View<'_>,
    route: &Manifest,
    (gateway, named): (&Manifest, &[&Json]),
    found: &mut Reporter<'_>,
) {
    // By default a listener accepts routes of its own namespace only.
    let from = "/allowedRoutes/namespaces/from";
    let allows = |listener: &&Json| match text_at(listener, from) {
        None | Some("" | "Same") => route.may_share_namespace(gateway),
        Some("Selector") => {
            let selector = listener.pointer("/allowedRoutes/namespaces/selector");
            may_select(view, selector, route.namespace())
        }
        Some(_) => true,
    };
    if !named.is_empty() && !named.iter().any(allows) {
        let own = route.namespace();
        let (what, hint) = match named.iter().any(|one| text_at(one, from) == Some("Selector")) {
            true => (
                format!("whose namespace `{own}` does not have the labels of its selector"),
                format!("add the labels to Namespace/{own}, or change the selector"),
            ),
            false => (
                "which is in another namespace".to_owned(),
                "set `allowedRoutes: {namespaces: {from: All}}` in the listener".to_owned(),
            ),
        };
        found.push(format!("{gateway} does not accept {route}, {what}"), hint);
    }

    let has_kind = |listener: &&Json| {
        let kinds = list(listener.get("allowedRoutes").unwrap_or(&Json::Null), "kinds");
        kinds.is_empty() || kinds.iter().any(|one| text(one, "kind") == route.kind())
    };
    if !named.is_empty() && !named.iter().any(has_kind) {
        let kind = route.kind();
        let message = format!("{gateway} does not accept {route}: its listener has other kinds");
        found.push(message, format!("add `{{kind: {kind}}}` to `allowedRoutes.kinds`"));
    }

    let class = text(gateway.spec(), "gatewayClassName");
    if WITHOUT_POOLS.contains(&class) && pool_backends(route).next().is_some() {
        let message = format!("{route} has InferencePools, but {gateway} is of class `{class}`");
        let hint = "use `gke-l7-regional-external-managed` or `gke-l7-rilb`";
        let finding = found.push(message, hint);
        finding.why("the Gateway does not have the route", "GKE docs, Inference Gateway");
    }
}

fn backend_of(
    view: &View<'_>,
    grants: &Grants<'_>,
    (route, backend): (&Manifest, &Json),
    mut found: Reporter<'_>,
) {
    let (group, kind) = (text(backend, "group"), text_or(backend, "kind", "Service"));
    // A backend of an unknown kind only shows in the status of the route (ResolvedRefs).
    let is_pool = matches!(kind, "InferencePool" | "InferencePoolImport");
    if group == "inference.networking.k8s.io" && !is_pool {
        let message =
            format!("{route} references kind `{kind}` of `{group}`, which has no such kind");
        found.below(".kind", message, "write `kind: InferencePool`");
    }
    let (name, own) = (text(backend, "name"), route.namespace());
    let namespace = text_or(backend, "namespace", own);
    // Gateway API, ReferenceGrant: without one, the route gets RefNotPermitted and answers 500. A backend
    // that is not here comes with its grants.
    let here = view.all_named(kind, name, namespace).next();
    let is_apart = namespace != own && !own.is_empty() && here.is_some();
    if is_apart && !is_granted(grants, route, backend) {
        let message =
            format!("no ReferenceGrant lets {route} use {kind}/{name} of namespace `{namespace}`");
        let hint = "add a ReferenceGrant in that namespace, or move the route there";
        // It may be in other manifests.
        found.push(message, hint).warning();
    }
    let service = here.filter(|_| kind == "Service" && group.is_empty());
    let Some((_, service)) = service else { return };
    let is_empty = list(service.spec(), "ports").is_empty();
    match number(backend, "port") {
        None if backend.get("port").is_none() => {
            let message = format!("backend Service/{name} of {route} has no port");
            found.push(message, "add `port`, which Services require").rejected();
        }
        Some(port) if !is_empty && service_port(service, port).is_none() => {
            let message =
                format!("{route} references port {port} of Service/{name}, which it does not have");
            found.below(".port", message, "use a port of the Service");
        }
        _ => {}
    }
}

/// ReferenceGrants by their namespaces.
type Grants<'v> = BTreeMap<&'v str, Vec<&'v Manifest>>;

/// Returns true if a ReferenceGrant in the namespace of a backend is for it and the route.
fn is_granted(grants: &Grants<'_>, route: &Manifest, backend: &Json) -> bool {
    let (kind, name) = (text_or(backend, "kind", "Service"), text(backend, "name"));
    let from = [("group", route.group()), ("kind", route.kind()), ("namespace", route.namespace())];
    let to = [("group", text(backend, "group")), ("kind", kind)];
    let has = |one: &Json, wanted: &[(&str, &str)]| {
        wanted.iter().all(|(key, value)| text(one, key) == *value)
    };
    // Without a name a grant is for all backends of a kind; a namespace may be set when it is applied.
    let own = ["", text(backend, "namespace")];
    own.iter().filter_map(|own| grants.get(own)).flatten().any(|grant| {
        let mut all = list(grant.spec(), "to").iter().filter(|one| has(one, &to));
        list(grant.spec(), "from").iter().any(|one| has(one, &from))
            && all.any(|one| ["", name].contains(&text(one, "name")))
    })
}

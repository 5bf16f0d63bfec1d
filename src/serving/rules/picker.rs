//! Invariants of endpoint pickers and their Services.

use super::probe::PROBES;
use super::transfer::routers;
use super::*;
use crate::ir::DEFAULT_ACCOUNT;
use crate::picker::HEALTH_PORT;
use crate::view::can_be_several;

/// Returns the Service that a pool references, with its manifest index.
pub(super) fn service_of<'a>(view: &View<'a>, pool: &Manifest) -> Option<(usize, &'a Manifest)> {
    let name = pool.json.pointer("/spec/endpointPickerRef/name")?.as_str()?;
    view.named("Service", name, pool)
}

/// Returns the pickers behind the Service that a pool references.
pub(super) fn pickers_of<'v, 'a>(view: &'v View<'a>, pool: &Manifest) -> Vec<&'v Picker<'a>> {
    service_of(view, pool).map(|(_, service)| behind(view, service)).unwrap_or_default()
}

/// Returns the port of a Service with this number.
pub(super) fn service_port(service: &Manifest, wanted: u32) -> Option<&Json> {
    list(service.spec(), "ports").iter().find(|port| number(port, "port") == Some(wanted))
}

/// Returns the port number of the pool's `endpointPickerRef`.
fn asked(pool: &Manifest) -> Option<u32> {
    number(pool.json.pointer("/spec/endpointPickerRef/port")?, "number")
}

/// Returns the pickers that a Service selects.
fn behind<'v, 'a>(view: &'v View<'a>, service: &Manifest) -> Vec<&'v Picker<'a>> {
    let selector = service.map("/spec/selector").filter(|selector| !selector.is_empty());
    let numbers = selector.map(|all| view.index.pickers.find(pairs(all), service.namespace()));
    numbers.into_iter().flatten().map(|number| &view.pickers[number]).collect()
}

/// Checks that the Service of a pool exists, has the port, and selects a picker.
pub(crate) fn missing(view: &View<'_>, pool: &Manifest, found: &mut Reporter<'_>) {
    let reference = pool.json.pointer("/spec/endpointPickerRef");
    let is_service = |one: &&Json| matches!(text(one, "kind"), "" | "Service");
    let Some(reference) = reference.filter(is_service) else { return };
    let mut found = found.inside(".spec.endpointPickerRef");
    let name = text(reference, "name");
    // Without a picker, it is in other manifests.
    let is_elsewhere = |has_picker: bool| !has_picker && !view.is_generated;
    let Some((_, service)) = service_of(view, pool) else {
        let message = format!("{pool} references Service/{name}, which does not exist");
        let finding = found.push(message, "add the picker with its Service, or fix the name");
        // One in another namespace may be meant.
        finding.lower_if(is_elsewhere(!view.pickers.is_empty()), Severity::Note);
        return;
    };
    let Some(port) = asked(pool) else {
        let message = format!("endpointPickerRef of {pool} has no port for Service/{name}");
        found.push(message, format!("add `port: {{number: {PICKER_PORT}}}`"));
        return;
    };

    // Unknown pods may be a third-party picker.
    let selects = || {
        !behind(view, service).is_empty()
            || view.behind(service).any(|template| template.engine.is_none())
    };
    if service_port(service, port).is_none() {
        let message = format!("Service/{name} has no port {port}, which {pool} references");
        found.push(message, "use the same port in both");
    } else if !selects() {
        let message = format!("Service/{name} does not select a picker");
        let mut pickers = view.pickers.iter();
        let has_picker = pickers.any(|picker| picker.manifest.may_share_namespace(pool));
        let finding = found.push(message, "select labels of the picker's pods");
        finding.lower_if(is_elsewhere(has_picker), Severity::Note);
    }
}

/// Checks that the Service targets the port that the picker listens on.
pub(crate) fn port(view: &View<'_>, found: &mut Found) {
    for (pool, (number, service), picker) in pool_pickers(view) {
        let Some(port) = asked(pool).and_then(|port| service_port(service, port)) else { continue };
        let Some(listens) = picker.flags.number("grpc-port", PICKER_PORT.into()) else { continue };
        let target = target_port(picker.container, port);
        if target != Some(listens) {
            let target = target.map_or("?".to_owned(), |target| target.to_string());
            let message =
                format!("{service} targets port {target} of {picker}, which listens on {listens}");
            let hint = "set `targetPort` of the Service, or the picker's `--grpc-port`";
            found.push(number, ".spec.ports", message, hint);
        }
    }
}

/// Checks that the flags of a picker match the pool that references it.
pub(crate) fn pool(view: &View<'_>, found: &mut Found) {
    for (pool, _, picker) in pool_pickers(view) {
        let mut found = found.at(picker.owner, ".spec.template.spec.containers");
        for (flag, right) in [
            ("pool-name", pool.name()),
            ("pool-namespace", pool.namespace()),
            ("pool-group", pool.group()),
        ] {
            // Without a namespace, manifests are for that of the release or of kubectl's context.
            let is_open = flag == "pool-namespace" && right.is_empty() || is_placeholder(right);
            let usual = match (flag, variable(picker.container, "NAMESPACE")) {
                // GAIE, resolvePoolNamespace; other images may have the variable.
                ("pool-namespace", None) if is_closed(picker) => Some("default"),
                _ => None,
            };
            let said = picker.flags.text(flag).or(usual);
            let said = said.filter(|said| *said != right && !is_open && !is_placeholder(said));
            let Some(said) = said else { continue };
            let by = if picker.flags.has(flag) { "" } else { " by default" };
            let message =
                format!("{picker} is the picker of {pool}, but has `--{flag}={said}`{by}");
            found.push(message, format!("write `--{flag}={right}`"));
        }
    }
}

/// Returns true if all flags and variables of a picker of upstream are known.
fn is_closed(picker: &Picker<'_>) -> bool {
    // The first releases wrote flags in another way.
    let is_told = ["pool-namespace", "poolNamespace"].iter().any(|flag| picker.flags.has(flag));
    let words = words(picker.container);
    let is_plain = !is_shell(&words) && !words.iter().any(|word| word.contains('$'));
    let is_whole = is_plain && list(picker.container, "envFrom").is_empty();
    picker.is_of_upstream() && is_whole && !is_told && !picker.manifest.namespace().is_empty()
}

/// Returns the ServiceAccount of pods.
fn account_of<'v>(pods: &Template<'v>) -> &'v str {
    text_or(pods.spec, "serviceAccountName", DEFAULT_ACCOUNT)
}

/// Returns the RBAC rules of a ServiceAccount.
fn rules_of<'a>(view: &View<'a>, account: &str, user: &Manifest) -> Vec<&'a Json> {
    let is_account = |subject: &Json| {
        text(subject, "kind") == "ServiceAccount" && text(subject, "name") == account
    };
    view.bindings_of(account, user)
        .filter(|binding| list(&binding.json, "subjects").iter().any(is_account))
        .filter_map(|binding| {
            let reference = binding.json.get("roleRef")?;
            view.named(text(reference, "kind"), text(reference, "name"), binding)
        })
        .flat_map(|(_, role)| list(&role.json, "rules"))
        .collect()
}

/// Checks the RBAC of pickers and sidecars.
pub(crate) fn rights(view: &View<'_>, found: &mut Found) {
    let scraped = scraped(view);
    // Most accounts are not bound, and are not to be looked at again for each picker.
    let is_bound = |one: &&Manifest| view.bindings_of(one.name(), one).next().is_some();
    let accounts = view.of_kind("ServiceAccount").map(|(_, account)| account);
    let bound: Vec<&Manifest> = accounts.filter(is_bound).collect();
    for picker in &view.pickers {
        let account = account_of(&picker.pods);
        let mut found = found.at(picker.owner, ".spec.template.spec.serviceAccountName");
        let monitors = scraped.get(&picker.owner);
        let is_scraped = monitors.is_some();
        let mut monitors = monitors.into_iter().flatten();
        if picker.flags.is_on_or(METRICS_AUTH, true)
            && let Some((monitor, _)) = monitors.find(|one| has_no_token(picker, one))
        {
            let message = format!("{monitor} has no token for the metrics of {picker}");
            let hint = format!("add `authorization` to its endpoint, or `--{METRICS_AUTH}=false`");
            let finding = found.push(message, hint);
            finding.why("requests for metrics get 401", "GAIE, options");
            finding.path = format!("{}.args", picker.path);
        }
        // A ServiceAccount outside of the manifests has its RBAC there, too.
        if view.named("ServiceAccount", account, picker.manifest).is_none() {
            if let Some(meant) = idle_account(view, picker, &bound) {
                let message = format!(
                    "{picker} runs as ServiceAccount `{account}`, but `{meant}` has the permissions \
                     of a picker"
                );
                found.push(message, format!("write `serviceAccountName: {meant}`"));
            }
            continue;
        }
        token(view, (&picker.pods, &picker.to_string()), &mut found);
        let rules = rules_of(view, account, picker.manifest);
        let mut needed = needed(view, picker, &rules);
        if is_scraped && picker.flags.is_on_or(METRICS_AUTH, true) {
            // The metrics endpoint asks the API server who scrapes it, and whether it may.
            needed.push(("authentication.k8s.io", "tokenreviews", &["create"]));
            needed.push(("authorization.k8s.io", "subjectaccessreviews", &["create"]));
        }
        for what in lacking(&rules, &needed) {
            let hint = format!("add the rule to a Role of ServiceAccount/{account}");
            found.push(format!("ServiceAccount of {picker} cannot {what}"), hint);
        }
    }

    // With SSRF protection, sidecars watch the pods of the pool.
    let sidecars = view.sidecars().filter(|(_, one)| one.flags.is_on("enable-ssrf-protection"));
    let sidecars = sidecars.map(|(pods, one)| (pods, "sidecar", watching(&one.flags).to_vec()));
    let discovers = |flags: &Flags| {
        flags.is_on("service-discovery") && flags.text("service-discovery") != Some("static")
    };
    let routers = routers(view).filter(|(.., flags)| discovers(flags));
    let routers = routers.map(|(pods, ..)| (pods, "router", vec![("", "pods", &READ[1..])]));
    for (template, who, needed) in sidecars.chain(routers) {
        let account = account_of(template);
        if view.named("ServiceAccount", account, template.manifest).is_none() {
            continue;
        }
        let rules = rules_of(view, account, template.manifest);
        let path = format!("{}.serviceAccountName", template.spec_path);
        let mut found = found.at(template.owner, path).field("prefill");
        token(view, (template, &format!("{who} of {template}")), &mut found);
        for what in lacking(&rules, &needed) {
            let hint = format!("add the rule to a Role of ServiceAccount/{account}");
            let finding = found.push(format!("{who} of {template} cannot {what}"), hint);
            finding.why("requests are not forwarded", "llm-d-router and SGLang, discovery of pods");
        }
    }
}

/// Checks that rules of RBAC have the names of resources, not those of kinds.
pub(crate) fn resources(view: &View<'_>, found: &mut Found) {
    for (owner, role) in ["Role", "ClusterRole"].iter().flat_map(|kind| view.of_kind(kind)) {
        let is_known = |rule| strings(rule, "apiGroups").all(|group| NAMES.groups.contains(&group));
        for (rule, path) in items(&role.json, "rules", "").filter(|(rule, _)| is_known(rule)) {
            for written in strings(rule, "resources") {
                let name = format!("{}s", written.to_lowercase().trim_end_matches('s'));
                if name != written && NAMES.resources.contains(&name.as_str()) {
                    let message = format!("{role} grants `{written}`, which is no resource");
                    let path = format!("{path}.resources");
                    found.push(owner, path, message, format!("write `{name}`"));
                }
            }
        }
    }
}

/// Checks that pods get the token of their ServiceAccount: those of the account decide if they do not.
fn token(view: &View<'_>, (pods, who): (&Template<'_>, &str), found: &mut Reporter<'_>) {
    let account = view.named("ServiceAccount", account_of(pods), pods.manifest);
    let key = "automountServiceAccountToken";
    let said = pods.spec.get(key).or_else(|| account?.1.json.get(key));
    let has_other = pods.all_containers().into_iter().any(|(container, _)| {
        mount_of(container, "/var/run/secrets/kubernetes.io/serviceaccount").is_some()
            || variable(container, "KUBECONFIG").is_some()
            || words(container).iter().any(|word| word.contains("kubeconfig"))
    });
    let is_projected = list(pods.spec, "volumes").iter().any(|v| v.get("projected").is_some());
    if said == Some(&Json::Bool(false)) && !is_projected && !has_other {
        let message = format!("{who} gets no token: `{key}` is false");
        let finding = found.push(message, "remove it from the pod and its ServiceAccount");
        finding.why("it cannot read pods", "Kubernetes API, ServiceAccounts");
    }
}

/// Returns the one of these ServiceAccounts that can read pods and pools, if no picker runs as it and that
/// of this picker is bound to nothing.
fn idle_account<'a>(view: &View<'_>, picker: &Picker<'_>, all: &[&'a Manifest]) -> Option<&'a str> {
    let (owner, account) = (picker.manifest, account_of(&picker.pods));
    if is_placeholder(account) || !rules_of(view, account, owner).is_empty() {
        return None;
    }
    let needed = watching(&picker.flags);
    let is_used = |name: &str| view.pickers.iter().any(|one| account_of(&one.pods) == name);
    let near = all.iter().filter(|account| account.may_share_namespace(owner));
    near.map(|account| account.name())
        .find(|name| lacking(&rules_of(view, name, owner), &needed).is_empty() && !is_used(name))
}

/// A monitor and a Service that it selects.
type Monitored<'v> = (&'v Manifest, &'v Manifest);

/// Returns the manifests of the pickers whose Services monitors select, with these.
fn scraped<'v>(view: &'v View<'_>) -> BTreeMap<usize, Vec<Monitored<'v>>> {
    let monitors = monitored(view).filter(|(_, one)| one.owner.kind() == "Service");
    grouped(monitors.flat_map(|(monitor, one)| {
        let pickers = behind(view, one.owner).into_iter();
        pickers.map(move |picker| (picker.owner, (monitor, one.owner)))
    }))
}

/// Returns true if a monitor reads the metrics of a picker and names nothing that it authenticates with.
fn has_no_token(picker: &Picker<'_>, (monitor, service): &Monitored<'_>) -> bool {
    let has_key = |of: &Json| NAMES.credentials.iter().any(|key| of.get(key).is_some());
    let metrics = picker.flags.number("metrics-port", METRICS_PORT.into());
    let reads = |endpoint: &&Json| {
        let target = read_port(Some(service), endpoint, picker.container);
        target.is_some() && target == metrics
    };
    let mut endpoints = list(monitor.spec(), "endpoints").iter().filter(reads);
    !has_key(monitor.spec()) && endpoints.any(|endpoint| !has_key(endpoint))
}

/// Returns the permissions that the rules do not grant, as text: `get, list pods`.
fn lacking(rules: &[&Json], needed: &[Permission<'_>]) -> Vec<String> {
    let has = |rule: &Json, key: &str, wanted: &str| {
        list(rule, key).iter().any(|item| item == wanted || item == "*")
    };
    let lacks = |(group, resource, verbs): &Permission<'_>| {
        let allowed = |verb: &str| {
            let wanted = [("apiGroups", *group), ("resources", *resource), ("verbs", verb)];
            rules.iter().any(|rule| wanted.iter().all(|(key, wanted)| has(rule, key, wanted)))
        };
        let verbs: Vec<&str> = verbs.iter().copied().filter(|verb| !allowed(verb)).collect();
        let group = if group.is_empty() { String::new() } else { format!(".{group}") };
        (!verbs.is_empty()).then(|| format!("{} {resource}{group}", verbs.join(", ")))
    };
    needed.iter().filter_map(lacks).collect()
}

/// Checks required flags of pickers, and ports of their probes.
pub(crate) fn flags(view: &View<'_>, found: &mut Found) {
    // A controller may add the arguments.
    let is_told = |one: &&Picker<'_>| one.path.is_empty() || !one.flags.raw.is_empty();
    for picker in view.all_pickers().filter(is_told) {
        let mut found = found.at(picker.owner, format!("{}.args", picker.path));
        let flags = &picker.flags;
        if !flags.has("pool-name") && !flags.has("endpoint-selector") && !picker.discovers() {
            let message = format!("{picker} has neither `--pool-name` nor `--endpoint-selector`");
            found.push(message, "add `--pool-name`, or `--endpoint-selector` without a pool");
        }

        let of_grpc = [("grpc-port", PICKER_PORT), ("grpc-health-port", HEALTH_PORT)];
        let of_grpc = of_grpc.map(|(flag, usual)| flags.number(flag, usual.into()));
        let metrics = flags.number("metrics-port", METRICS_PORT.into());
        if let Some(metrics) = metrics.filter(|_| of_grpc.contains(&metrics)) {
            let message = format!("`--metrics-port` of {picker} is {metrics}, a port of gRPC");
            found.push(message, "set `--metrics-port` to another port");
        }
        // A number that only the running pod knows leaves nothing to compare.
        let [_, Some(health)] = of_grpc else { continue };
        for probe in PROBES {
            let at = |field: &str| picker.container.pointer(&format!("/{probe}/{field}"));
            let port = at("grpc").and_then(|grpc| number(grpc, "port"));
            if let Some(port) = port.filter(|port| *port != health) {
                let message = format!(
                    "{probe} of {picker} uses port {port}, but the picker serves health checks on {health}"
                );
                found.push(message, "set `--grpc-health-port` to the port of the probes");
            }

            let port = at("httpGet/port").and_then(|port| port_number(picker.container, port));
            let Some(port) = port.filter(|port| of_grpc.contains(&Some(*port))) else { continue };
            let message = format!("{probe} of {picker} sends HTTP to port {port}, which is gRPC");
            found.push(message, format!("write `grpc: {{port: {health}}}` instead of `httpGet`"));
        }
    }
}

/// Services of health checks that probes of a picker with leader election may name. Source: health.go of
/// llm-d-router: all except for `liveness` fail on pickers that wait, and on a draining one.
const HEALTH_SERVICES: [(&str, &[&str]); 3] = [
    ("startupProbe", &["liveness"]),
    ("livenessProbe", &["liveness"]),
    ("readinessProbe", &["readiness", "", "envoy.service.ext_proc.v3.ExternalProcessor"]),
];

/// Checks the settings of pickers with several replicas.
pub(crate) fn replicas(view: &View<'_>, found: &mut Found) {
    for picker in &view.pickers {
        let mut found = found.at(picker.owner, "");
        let elects = picker.flags.is_on("ha-enable-leader-election");
        let count = picker.manifest.spec().get("replicas").and_then(Json::as_u64).unwrap_or(1);
        if elects && picker.manifest.kind() == "Deployment" {
            if picker.manifest.text("/spec/strategy/type") != Some("Recreate") {
                let message = format!("{picker} uses leader election with a rolling update");
                found.below(".spec.strategy", message, "write `strategy: {type: Recreate}`");
            }
            for (probe, accepted) in HEALTH_SERVICES {
                let grpc = picker.container.pointer(&format!("/{probe}/grpc"));
                let service = grpc.map(|grpc| text(grpc, "service"));
                if let Some(service) = service.filter(|service| !accepted.contains(service)) {
                    let message = format!(
                        "{picker} uses leader election, but its {probe} checks service `{service}`"
                    );
                    let path = format!("{}.{probe}", picker.path);
                    found.below(&path, message, format!("check service `{}`", accepted[0]));
                }
            }
        } else if count > 1 && !picker.known_config().is_some_and(|one| can_be_several(one.2)) {
            let message = format!("{picker} has {count} replicas without leader election");
            let hint = "add `--ha-enable-leader-election`, or use one replica";
            let reason = "each replica schedules without the state of the others";
            let finding = found.below(".spec.replicas", message, hint).warning();
            finding.why(reason, "llm-d-router chart, replicas");
        }
    }
}

/// Returns each pool with its Service, the index of that, and a picker behind it.
fn pool_pickers<'v, 'a>(
    view: &'v View<'a>,
) -> impl Iterator<Item = (&'a Manifest, (usize, &'a Manifest), &'v Picker<'a>)> {
    view.pools().filter_map(|(_, pool)| Some((pool, service_of(view, pool)?))).flat_map(
        |(pool, service)| {
            behind(view, service.1).into_iter().map(move |picker| (pool, service, picker))
        },
    )
}

/// A permission: group, resource and verbs.
type Permission<'p> = (&'p str, &'p str, &'static [&'static str]);

/// The flag with which a picker asks the API server who reads its metrics.
const METRICS_AUTH: &str = "metrics-endpoint-auth";

const READ: &[&str] = &["get", "list", "watch"];

/// Returns the permissions that pickers and sidecars with these flags need to watch a pool and its pods.
fn watching(flags: &Flags) -> [Permission<'_>; 2] {
    let group = flags.text("pool-group").unwrap_or("inference.networking.k8s.io");
    [("", "pods", READ), (group, "inferencepools", READ)]
}

/// Returns the permissions that a picker needs.
fn needed<'p>(view: &View<'_>, picker: &'p Picker<'_>, rules: &[&Json]) -> Vec<Permission<'p>> {
    let [pods, pools] = watching(&picker.flags);
    let mut needed = vec![pods];
    if picker.flags.has("pool-name") {
        // Pickers under other names watch the group in which these kinds were before.
        let image = text(picker.container, "image");
        let may_be_older = !image.contains("llm-d-router-endpoint-picker");
        let is_older = |kind| {
            let before = [("inference.networking.x-k8s.io", kind, READ)];
            may_be_older && lacking(rules, &before).is_empty()
        };
        let is_told = picker.flags.has("pool-group")
            || view.pool_of(picker).is_some_and(|(_, pool)| pool.group() == pools.0);
        if is_told || !is_older("inferencepools") {
            needed.push(pools);
        }
        if !is_older("inferenceobjectives") {
            needed.push((group_of(view.profile.objective), "inferenceobjectives", READ));
        }
        // The oldest do not watch these.
        if !may_be_older {
            needed.push((group_of(view.profile.objective), "inferencemodelrewrites", READ));
        }
    }
    if picker.flags.is_on("ha-enable-leader-election") {
        // What client-go's LeaseLock calls.
        needed.push(("coordination.k8s.io", "leases", &["get", "create", "update"]));
    }
    needed
}

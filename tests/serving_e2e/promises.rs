//! Promises of charts about running releases, as one table.

use crate::objects::{containers, is_ready, is_selected, items, name};
use crate::release::{NAMESPACE, Release, State};
use crate::requests::{ask, get, recorded};
use base64::Engine as _;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Requests through the picker of each check.
const REQUESTS: usize = 12;

/// A promise that is not kept.
#[derive(Debug)]
pub(crate) struct Broken {
    /// Name of the promise.
    pub(crate) promise: &'static str,
    pub(crate) detail: String,
}

/// Checks a promise; returns what is wrong.
type Check = fn(&State) -> Vec<String>;

/// The promises about releases whose pods are ready, in the order of their checks.
const PROMISES: &[(&str, Check)] = &[
    ("the pool selects the pods that serve", pool),
    ("each port of the pool is served", ports),
    ("the picker is ready", picker),
    ("requests are answered", requests),
    ("prompts are processed by prefill pods", prefill),
    ("metrics are readable", metrics),
    ("disruption budgets allow a disruption", disruption),
    ("routes lead to the pool", routes),
    ("policies allow requests", policies),
    ("no request of an account is denied", rights),
];

/// The promise that all others depend on.
pub(crate) const PODS: &str = "pods are ready";

/// Returns the names of all promises.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    [PODS].into_iter().chain(PROMISES.iter().map(|(name, _)| *name))
}

/// Checks all promises; without ready pods, only that and the rights.
pub(crate) fn check(release: &Release) -> Vec<Broken> {
    let state = match release.settled() {
        Ok(state) => state,
        Err(detail) => return vec![Broken { promise: PODS, detail }],
    };
    let mut broken = Vec::new();
    for detail in restarts(&state).into_iter().chain(groups(&state)) {
        broken.push(Broken { promise: PODS, detail });
    }
    for (promise, check) in PROMISES {
        broken.extend(check(&state).into_iter().map(|detail| Broken { promise, detail }));
    }
    broken
}

/// Containers that ended.
fn restarts(state: &State) -> Vec<String> {
    let mut wrong = Vec::new();
    for pod in state.engines() {
        for list in ["initContainerStatuses", "containerStatuses"] {
            for status in items(pod, &format!("/status/{list}")) {
                if status["restartCount"] != 0 {
                    wrong.push(format!("{}: {} restarted", name(pod), status["name"]));
                }
            }
        }
    }
    wrong
}

/// The controller of LeaderWorkerSets agrees that groups are complete.
fn groups(state: &State) -> Vec<String> {
    let path = "apis/leaderworkerset.x-k8s.io/v1";
    eventually(|| {
        let mut wrong = Vec::new();
        for set in state.release.cluster.list(path, NAMESPACE, "leaderworkersets") {
            let (wanted, status) = (&set["spec"]["replicas"], &set["status"]);
            if status["readyReplicas"] != *wanted || status["updatedReplicas"] != *wanted {
                wrong.push(format!("{}: {wanted} groups wanted, {status}", name(&set)));
            }
        }
        wrong
    })
}

/// Pods that answer requests are in the pool, and only those.
fn pool(state: &State) -> Vec<String> {
    let ports = state.pool_ports();
    if ports.is_empty() {
        return vec![format!("no ports in {}", state.pool)];
    }
    let members: BTreeSet<&str> = state.pool_members().into_iter().map(name).collect();
    let mut wrong = Vec::new();
    for pod in &state.pods {
        let serves = is_ready(pod) && ports.iter().all(|port| serves_models(pod, *port));
        match (serves, members.contains(name(pod))) {
            (true, false) => wrong.push(format!("{} serves and is not selected", name(pod))),
            (false, true) => wrong.push(format!("{} is selected and does not serve", name(pod))),
            _ => {}
        }
    }
    if members.is_empty() {
        wrong.push("the selector matches no pod".to_owned());
    }
    wrong
}

/// Ports of the pool are declared by a container of each member, and listen.
fn ports(state: &State) -> Vec<String> {
    let mut wrong = Vec::new();
    for pod in state.pool_members() {
        let declared: BTreeSet<u64> = containers(pod)
            .flat_map(|container| items(container, "/ports"))
            .filter_map(|port| port["containerPort"].as_u64())
            .collect();
        for port in state.pool_ports() {
            if !serves_models(pod, port) {
                wrong.push(format!("{}: nothing serves on port {port}", name(pod)));
            }
            if !declared.contains(&u64::from(port)) {
                wrong.push(format!("{}: no container declares port {port}", name(pod)));
            }
        }
    }
    wrong
}

fn serves_models(pod: &Json, port: u16) -> bool {
    let address = pod["status"]["podIP"].as_str().unwrap_or_default();
    let (status, body) = get(address, port, "/v1/models", None);
    status == 200 && body.contains("\"data\"")
}

/// The pool's reference leads to a Service with a Ready pod that listens; with several pickers one leads.
fn picker(state: &State) -> Vec<String> {
    let Some(service) = &state.picker_service else {
        return vec![format!("no Service {}", state.pool["spec"]["endpointPickerRef"])];
    };
    let port = &state.pool["spec"]["endpointPickerRef"]["port"]["number"];
    if !items(service, "/spec/ports").any(|of_service| of_service["port"] == *port) {
        return vec![format!("the Service {} has no port {port}", name(service))];
    }
    ready_picker(state).err().into_iter().collect()
}

/// Returns the address of a picker that is Ready and listens, for which the first call waits.
fn ready_picker(state: &State) -> Result<SocketAddr, String> {
    state.picker.get_or_init(|| wait_for_picker(state)).clone()
}

fn wait_for_picker(state: &State) -> Result<SocketAddr, String> {
    let port = state.pool["spec"]["endpointPickerRef"]["port"]["number"].as_u64();
    let port = port.and_then(|port| u16::try_from(port).ok()).unwrap_or_default();
    let begun = Instant::now();
    loop {
        let now = state.release.state();
        let pickers = now.pickers();
        let ready = pickers.iter().filter(|pod| is_ready(pod));
        let addresses = ready.filter_map(|pod| pod["status"]["podIP"].as_str()?.parse().ok());
        // Health checks of pickers succeed before their port is open: on a busy machine by seconds.
        let listens = |address: &SocketAddr| {
            TcpStream::connect_timeout(address, Duration::from_secs(1)).is_ok()
        };
        if let Some(address) = addresses.map(|ip| SocketAddr::new(ip, port)).find(listens) {
            return Ok(address);
        }
        if begun.elapsed() > state.release.patience {
            let names: Vec<&str> = pickers.into_iter().map(name).collect();
            return Err(format!("none of the pickers {names:?} is ready\n{}", now.logs()));
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Requests go to ports of the pool, and are answered by its pods.
fn requests(state: &State) -> Vec<String> {
    let Ok(picker) = ready_picker(state) else { return Vec::new() };
    // A picker is ready before it has read the metrics of all pods.
    std::thread::sleep(Duration::from_secs(1));
    let answers = ask(state, &picker.to_string(), REQUESTS);

    // An autoscaler may have added pods meanwhile.
    let after = state.release.state();
    let mut members = state.pool_members();
    members.extend(after.pool_members());
    let endpoints: BTreeSet<String> = members
        .iter()
        .flat_map(|pod| {
            let address = pod["status"]["podIP"].as_str().unwrap_or_default();
            state.pool_ports().into_iter().map(move |port| format!("{address}:{port}"))
        })
        .collect();
    let mut wrong = Vec::new();
    if answers.len() != REQUESTS {
        wrong.push(format!("{} of {REQUESTS} requests were sent", answers.len()));
    }
    for answer in &answers {
        let is_member = members.iter().any(|pod| name(pod) == answer.served_by);
        if answer.status != 200 || !endpoints.contains(&answer.destination) || !is_member {
            wrong.push(format!("{answer:?}, endpoints {endpoints:?}"));
        }
    }
    wrong.dedup();
    wrong
}

/// With a prefill workload, each request has a prefiller, which computes the KV cache of the prompt;
/// the routing proxy passes its place to the engine of a decode pod.
fn prefill(state: &State) -> Vec<String> {
    if !state.workloads.iter().any(|workload| workload.is_prefill) {
        return Vec::new();
    }
    let Ok(picker) = ready_picker(state) else { return Vec::new() };
    let before = transfers(state);
    let answers = ask(state, &picker.to_string(), REQUESTS);
    let after = transfers(state);

    let mut wrong = Vec::new();
    for answer in &answers {
        let is_prefill = |endpoint: &str| {
            let address = endpoint.split(':').next().unwrap_or_default();
            state.workload_at(address).map(|workload| workload.is_prefill)
        };
        if is_prefill(&answer.prefiller) != Some(true)
            || is_prefill(&answer.destination) != Some(false)
        {
            wrong.push(format!("not from a prefill to a decode pod: {answer:?}"));
        }
    }
    let (prompts, caches) = (after.0 - before.0, after.1 - before.1);
    if (prompts, caches) != (REQUESTS, REQUESTS) {
        wrong.push(format!(
            "of {REQUESTS} prompts {prompts} were processed by prefill pods, and {caches} of their \
             KV caches were passed to decode pods"
        ));
    }
    wrong
}

/// Prompts that engines of prefill pods processed for other pods, and answers that engines of decode
/// pods began with the KV cache of another pod.
fn transfers(state: &State) -> (usize, usize) {
    let (mut prompts, mut caches) = (0, 0);
    for workload in &state.workloads {
        for pod in state.pods_of(workload) {
            for request in recorded(state, pod) {
                let transfer = &request["kv_transfer_params"];
                // SGLang's server answers when it has the KV cache of the prefill server's prompt.
                let by_sglang = request["bootstrap"].is_string();
                let for_another = by_sglang || transfer["do_remote_decode"] == true;
                let from_another = by_sglang
                    || transfer["do_remote_prefill"] == true && transfer["remote_host"].is_string();
                prompts += usize::from(workload.is_prefill && for_another);
                caches += usize::from(!workload.is_prefill && from_another);
            }
        }
    }
    (prompts, caches)
}

/// PodMonitors and ServiceMonitors select pods, and what they name answers with metrics.
fn metrics(state: &State) -> Vec<String> {
    let api = "apis/monitoring.coreos.com/v1";
    let cluster = state.release.cluster;
    let mut wrong = Vec::new();
    for monitor in cluster.list(api, NAMESPACE, "podmonitors") {
        let labels = &monitor["spec"]["selector"]["matchLabels"];
        let pods: Vec<&Json> = state.pods.iter().filter(|pod| is_selected(pod, labels)).collect();
        if pods.is_empty() {
            wrong.push(format!("PodMonitor {} selects no pod", name(&monitor)));
        }
        for pod in pods {
            for endpoint in items(&monitor, "/spec/podMetricsEndpoints") {
                wrong.extend(pod_metrics(pod, endpoint));
            }
        }
    }
    for monitor in cluster.list(api, NAMESPACE, "servicemonitors") {
        wrong.extend(picker_metrics(state, &monitor));
    }
    wrong
}

fn pod_metrics(pod: &Json, endpoint: &Json) -> Option<String> {
    let mut ports = containers(pod).flat_map(|container| items(container, "/ports"));
    let Some(port) = ports.find(|port| port["name"] == endpoint["port"]) else {
        return Some(format!("{} has no port {}", name(pod), endpoint["port"]));
    };
    let port = u16::try_from(port["containerPort"].as_u64()?).ok()?;
    let path = endpoint["path"].as_str().unwrap_or("/metrics");
    let (status, body) = get(pod["status"]["podIP"].as_str()?, port, path, None);
    let queue = ["vllm:num_requests_waiting", "sglang:num_queue_reqs"];
    let found = status == 200 && queue.iter().any(|metric| body.contains(metric));
    (!found).then(|| format!("{}: no metrics on port {port}: {status}", name(pod)))
}

/// Metrics of the picker need the token that the ServiceMonitor names.
fn picker_metrics(state: &State, monitor: &Json) -> Vec<String> {
    let Ok(picker) = ready_picker(state) else { return Vec::new() };
    let Some(service) = &state.picker_service else { return Vec::new() };
    if !is_selected(service, &monitor["spec"]["selector"]["matchLabels"]) {
        return vec![format!("ServiceMonitor {} does not select the picker", name(monitor))];
    }
    let endpoint = &monitor["spec"]["endpoints"][0];
    let port = items(service, "/spec/ports").find(|port| port["name"] == endpoint["port"]);
    let Some(port) = port.and_then(|port| u16::try_from(port["port"].as_u64()?).ok()) else {
        return vec![format!("the Service has no port {}", endpoint["port"])];
    };

    let credentials = &endpoint["authorization"]["credentials"];
    let secret = credentials["name"].as_str().unwrap_or_default();
    let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets/{secret}");
    let key = credentials["key"].as_str().unwrap_or_default();
    let data = &state.release.cluster.client.get(&path).body["data"][key];
    let token = base64::engine::general_purpose::STANDARD.decode(data.as_str().unwrap_or_default());
    let token = String::from_utf8(token.unwrap_or_default()).unwrap_or_default();
    let (with, _) = get(&picker.ip().to_string(), port, "/metrics", Some(&token));
    let (without, _) = get(&picker.ip().to_string(), port, "/metrics", None);
    if (with, matches!(without, 401 | 403)) == (200, true) {
        return Vec::new();
    }
    vec![format!("metrics of the picker: {with} with the token of {secret}, {without} without")]
}

/// The controller of budgets finds the pods, and one may be evicted.
fn disruption(state: &State) -> Vec<String> {
    eventually(|| {
        let mut wrong = Vec::new();
        for budget in
            state.release.cluster.list("apis/policy/v1", NAMESPACE, "poddisruptionbudgets")
        {
            let allowed = budget["status"]["disruptionsAllowed"].as_u64().unwrap_or(0);
            if allowed == 0 {
                wrong.push(format!("{}: {}", name(&budget), budget["status"]));
            }
        }
        wrong
    })
}

/// Backends of HTTPRoutes are the pool.
fn routes(state: &State) -> Vec<String> {
    let api = "apis/gateway.networking.k8s.io/v1";
    let mut wrong = Vec::new();
    for route in state.release.cluster.list(api, NAMESPACE, "httproutes") {
        for rule in items(&route, "/spec/rules") {
            if items(rule, "/backendRefs").all(|backend| backend["weight"] == 0) {
                wrong.push(format!("{}: a rule sends requests to no backend", name(&route)));
            }
            for backend in items(rule, "/backendRefs") {
                let (kind, pool) = (&backend["kind"], &state.pool["metadata"]["name"]);
                if *kind == json!("InferencePool") && backend["name"] != *pool {
                    wrong.push(format!("{}: no InferencePool {}", name(&route), backend["name"]));
                }
            }
        }
    }
    wrong
}

/// NetworkPolicies, which nothing here enforces, allow connections from Gateways to engines and pickers.
fn policies(state: &State) -> Vec<String> {
    let cluster = state.release.cluster;
    let routes = cluster.list("apis/gateway.networking.k8s.io/v1", NAMESPACE, "httproutes");
    let parents = routes.iter().flat_map(|route| items(route, "/spec/parentRefs"));
    let gateways: BTreeSet<&str> =
        parents.map(|parent| parent["namespace"].as_str().unwrap_or(NAMESPACE)).collect();
    let policies = cluster.list("apis/networking.k8s.io/v1", NAMESPACE, "networkpolicies");
    let port = &state.pool["spec"]["endpointPickerRef"]["port"]["number"];
    let of_engines: Vec<Json> =
        items(&state.pool, "/spec/targetPorts").map(|port| port["number"].clone()).collect();

    let mut wrong = Vec::new();
    for (pods, ports) in
        [(state.pool_members(), &of_engines[..]), (state.pickers(), std::slice::from_ref(port))]
    {
        for (pod, port, gateway) in pods.iter().flat_map(|pod| {
            let places = ports.iter().flat_map(|port| gateways.iter().map(move |one| (port, one)));
            places.map(move |(port, gateway)| (pod, port, gateway))
        }) {
            let selects = |policy: &&Json| {
                is_selected(pod, &policy["spec"]["podSelector"]["matchLabels"])
                    && items(policy, "/spec/policyTypes").any(|kind| kind == "Ingress")
            };
            let allows = |rule: &Json| {
                let is_port = |one: &Json| one["port"] == *port;
                let is_gateway = |peer: &Json| {
                    let label = &peer["namespaceSelector"]["matchLabels"];
                    label["kubernetes.io/metadata.name"] == **gateway
                };
                (rule["ports"].is_null() || items(rule, "/ports").any(is_port))
                    && (rule["from"].is_null() || items(rule, "/from").any(is_gateway))
            };
            let selecting: Vec<&Json> = policies.iter().filter(selects).collect();
            let mut rules = selecting.iter().flat_map(|policy| items(policy, "/spec/ingress"));
            if !selecting.is_empty() && !rules.any(allows) {
                wrong.push(format!("{}: no Gateway in {gateway} reaches port {port}", name(pod)));
            }
        }
    }
    wrong
}

/// The audit log has no denied request of an account since the installation. While a release is
/// uninstalled, pickers that still run lose their permissions, and requests are denied.
fn rights(state: &State) -> Vec<String> {
    let release = state.release;
    let requests = release.cluster.control_plane.requests_since(release.mark);
    let denied = requests.iter().filter(|request| {
        request.user.starts_with("system:serviceaccount:")
            && (request.forbidden || request.code == 403)
    });
    let denied: BTreeSet<String> = denied
        .map(|request| format!("{}: {} {}", request.user, request.verb, request.uri))
        .collect();
    denied.into_iter().collect()
}

/// Repeats a check of what controllers report late; the last result.
fn eventually(check: impl Fn() -> Vec<String>) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let wrong = check();
        if wrong.is_empty() || begun.elapsed() > Duration::from_secs(20) {
            return wrong;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

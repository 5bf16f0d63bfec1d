//! Faults of pods: they are not created, do not start, or do not work.

use super::{
    Fault, KEY, LEASE, MISSING, NO_REQUEST, OWN_API, PORT, PULL_SECRET, ROOT, TOKEN, UNDECLARED,
};
use crate::identity::Pair;
use crate::ir::{PodReference, group_of, pod_references};
use crate::read::{
    account, at, containers, entries, is_custom_kind, items, keys, letters, pod_keys, pod_spec,
    pod_template, text,
};
use crate::rules::rbac::{EffectivePermissions, SOME};
use crate::rules::settings::{Arguments, Setting, of_line};
use crate::rules::{account_subject, is_hook};
use crate::{Identity, Rule, Side};
use serde_json::Value as Json;
use std::collections::{BTreeMap, HashSet};

/// The pods of a workload.
pub(super) struct Pod<'a> {
    pub(super) id: &'a Identity,
    pub(super) labels: Option<&'a Json>,
    /// Path of the `spec` of the pods.
    path: &'static [&'static str],
    spec: &'a Json,
    /// Numbers in ports, arguments and environment variables.
    numbers: HashSet<String>,
}

impl<'a> Pod<'a> {
    /// Returns the pods of all workloads of a side.
    pub(super) fn all(side: &'a Side) -> Vec<Self> {
        let pod = |(id, object): (&'a Identity, &'a Json)| {
            let path = pod_keys(&id.kind)?;
            let pod = at(object, pod_template(&id.kind)?)?;
            let spec = pod.get("spec")?;
            let mut numbers = HashSet::new();
            for container in containers(spec) {
                collect_numbers(container, &mut numbers);
            }
            Some(Pod { id, labels: at(pod, &["metadata", "labels"]), path, spec, numbers })
        };
        side.objects.iter().filter_map(pod).collect()
    }

    /// Returns true if a container has a port with this name.
    pub(super) fn has_port(&self, name: &str) -> bool {
        containers(self.spec).any(|container| has_port(container, name))
    }

    /// Returns true if a port, an argument or an environment variable has this number.
    pub(super) fn mentions(&self, port: i64) -> bool {
        self.numbers.contains(&port.to_string())
    }

    /// Creates a fault of the pods at a field of their spec.
    fn fault(&self, rule: &'static Rule, reason: impl Into<String>, field: &str) -> Fault {
        Fault::new(self.id, rule, reason.into(), keys(&[self.path, &[field]].concat()))
    }
}

fn has_port(container: &Json, name: &str) -> bool {
    let mut ports = items(container, &["ports"]).iter();
    ports.any(|port| port.get("name").and_then(Json::as_str) == Some(name))
}

/// Collects the numbers in the ports, arguments and environment of a container.
fn collect_numbers(container: &Json, numbers: &mut HashSet<String>) {
    let list = |key: &str| items(container, &[key]).iter();
    for port in list("ports") {
        numbers.extend(port.get("containerPort").map(Json::to_string));
    }
    let words = list("args").chain(list("command"));
    let values = list("env").filter_map(|variable| variable.get("value"));
    for text in words.chain(values).filter_map(Json::as_str) {
        let words = text.split(|c: char| !c.is_ascii_digit());
        numbers.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
    }
}

/// Returns the faults of all pods of a side.
pub(super) fn faults(
    side: &Side,
    pods: &[Pod<'_>],
    permissions: &EffectivePermissions<'_>,
) -> Vec<Fault> {
    let mentioned = Mentioned::of(side, pods);
    let mut faults = Vec::new();
    for pod in pods {
        references(side, pod, &mentioned, &mut faults);
        faults.extend(token(side, pod, permissions));
        faults.extend(leases(side, pod, permissions));
        for container in containers(pod.spec) {
            probes(pod, container, &mut faults);
            faults.extend(user(pod, container));
        }
    }
    for (id, scaler) in side.objects.iter().filter(|(id, _)| id.kind == "HorizontalPodAutoscaler") {
        utilization(id, scaler, pods, &mut faults);
    }
    faults
}

/// Adds the faults of containers without the request that an autoscaler compares their usage with.
fn utilization(id: &Identity, scaler: &Json, pods: &[Pod<'_>], faults: &mut Vec<Fault>) {
    let target = |field: &str| text(scaler, &["spec", "scaleTargetRef", field]);
    let group = group_of(target("apiVersion"));
    let target = Identity::new(target("kind"), group, &id.namespace, target("name"));
    let Some(pod) = pods.iter().find(|pod| *pod.id == target) else { return };

    let metrics = items(scaler, &["spec", "metrics"]).iter();
    for metric in metrics.filter_map(|m| m.get("resource").or_else(|| m.get("containerResource"))) {
        let [resource, only] = ["name", "container"].map(|field| text(metric, &[field]));
        let is_utilization = text(metric, &["target", "type"]) == "Utilization";
        for container in items(pod.spec, &["containers"]).iter().filter(|_| is_utilization) {
            let name = text(container, &["name"]);
            // The request is that of the limit, if only that is set.
            let has = |list| at(container, &["resources", list, resource]).is_some();
            if (only.is_empty() || only == name) && !has("requests") && !has("limits") {
                let text = format!("container {name}: no {resource} request, which {id} needs");
                faults.push(pod.fault(&NO_REQUEST, text, "containers"));
            }
        }
    }
}

/// Words in custom resources, in arguments and in environment variables. A Secret or ConfigMap whose
/// name is among them may be created by a controller or a job.
struct Mentioned<'a>(HashSet<&'a str>);

impl<'a> Mentioned<'a> {
    fn of(side: &'a Side, pods: &[Pod<'a>]) -> Self {
        let mut words = Mentioned(HashSet::new());
        for (id, object) in &side.objects {
            if is_custom_kind(id) {
                words.add(object);
            } else if id.kind == "Service" {
                at(object, &["metadata", "annotations"]).into_iter().for_each(|map| words.add(map));
            }
        }
        for container in pods.iter().flat_map(|pod| containers(pod.spec)) {
            for key in ["args", "command"] {
                container.get(key).into_iter().for_each(|list| words.add(list));
            }
            let env = items(container, &["env"]).iter();
            env.filter_map(|variable| variable.get("value")).for_each(|value| words.add(value));
        }
        words
    }

    fn add(&mut self, value: &'a Json) {
        match value {
            Json::String(text) => {
                let inside = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
                self.0.extend(text.split(|c: char| !inside(c)));
            }
            Json::Array(items) => items.iter().for_each(|item| self.add(item)),
            Json::Object(map) => map.values().for_each(|value| self.add(value)),
            _ => {}
        }
    }
}

/// ConfigMaps that Kubernetes or OpenShift creates in every namespace.
const IN_EVERY_NAMESPACE: [&str; 2] = ["kube-root-ca.crt", "openshift-service-ca.crt"];

/// Adds the faults about objects and keys that pods need and nothing creates.
fn references(side: &Side, pod: &Pod<'_>, mentioned: &Mentioned<'_>, faults: &mut Vec<Fault>) {
    // Hooks run before or after the objects that they need are created.
    let hook = side.objects.get(pod.id).is_some_and(is_hook);
    let object = |group: &str, kind: &str, namespaced: bool, name: &str| {
        let namespace = if namespaced { pod.id.namespace.as_str() } else { "" };
        side.objects.get(&Identity::new(kind, group, namespace, name))
    };
    let mut add = |rule, text: String, field: &str| faults.push(pod.fault(rule, text, field));

    let account = account(pod.spec);
    // Kubernetes creates the ServiceAccount `default` in every namespace.
    if account != "default" && object("", "ServiceAccount", true, account).is_none() && !hook {
        add(&MISSING, format!("ServiceAccount {account} does not exist"), "serviceAccountName");
    }
    let class = text(pod.spec, &["priorityClassName"]);
    if !class.is_empty()
        // The prefix is reserved for the classes of Kubernetes itself.
        && !class.starts_with("system-")
        && object("scheduling.k8s.io", "PriorityClass", false, class).is_none()
    {
        let text = format!("PriorityClass {class} is not part of the chart");
        add(&MISSING, text, "priorityClassName");
    }
    let secrets = items(pod.spec, &["imagePullSecrets"]).iter();
    for name in secrets.filter_map(|secret| secret.get("name")?.as_str()) {
        if object("", "Secret", true, name).is_none() {
            let text = format!("Secret {name} is not part of the chart");
            add(&PULL_SECRET, text, "imagePullSecrets");
        }
    }

    for PodReference { kind, name, keys, field, optional, .. } in pod_references(pod.spec) {
        if optional {
            continue;
        }
        match object("", kind, true, name) {
            None => {
                let made = mentioned.0.contains(name)
                    || (kind == "ConfigMap" && IN_EVERY_NAMESPACE.contains(&name));
                if !hook && !made {
                    add(&MISSING, format!("{kind} {name} is not part of the chart"), field);
                }
            }
            Some(object) => {
                // Variables cannot be binary.
                let last = if field == "volumes" { "binaryData" } else { "data" };
                let content = ["data", last].into_iter();
                let content = content.flat_map(|map| entries(object, &[map]));
                let content: HashSet<&str> = content.map(|(key, _)| key.as_str()).collect();
                // Something else may fill an object without content.
                let is_filled = ["data", "binaryData"]
                    .iter()
                    .any(|map| entries(object, &[map]).next().is_some());
                for key in keys.iter().filter(|key| is_filled && !content.contains(**key)) {
                    add(&KEY, format!("{kind} {name} has no key {key}"), field);
                }
            }
        }
    }
}

/// Returns the fault of pods that need the API and have no token.
fn token(side: &Side, pod: &Pod<'_>, permissions: &EffectivePermissions<'_>) -> Option<Fault> {
    // The setting of the pod wins over that of its ServiceAccount.
    let mounts = |object: &Json| object.get("automountServiceAccountToken").and_then(Json::as_bool);
    let account = Identity::new("ServiceAccount", "", &pod.id.namespace, account(pod.spec));
    let of_account = || side.objects.get(&account).and_then(mounts);
    if mounts(pod.spec).or_else(of_account) != Some(false) {
        return None;
    }

    // A projected volume is another way to get a token.
    let volumes = items(pod.spec, &["volumes"]).iter();
    let mut sources = volumes.flat_map(|volume| items(volume, &["projected", "sources"]));
    let projected = sources.any(|source| source.get("serviceAccountToken").is_some());

    // A ServiceAccount without permissions is no sign that the pod calls the API.
    let is_granted = permissions.names(&account_subject(pod.id, pod.spec));
    let text = "automountServiceAccountToken: false, but the ServiceAccount has permissions";
    (!projected && is_granted).then(|| pod.fault(&TOKEN, text, "automountServiceAccountToken"))
}

/// Returns the fault of leader election without permission for Leases.
fn leases(side: &Side, pod: &Pod<'_>, permissions: &EffectivePermissions<'_>) -> Option<Fault> {
    if !elects_leader(side, &pod.id.namespace, pod.spec) {
        return None;
    }
    let holder = permissions.holder(&account_subject(pod.id, pod.spec));
    // Older programs use ConfigMaps as locks.
    let allowed = [("coordination.k8s.io", "leases"), ("", "configmaps"), ("", "endpoints")]
        .iter()
        .any(|(group, resource)| {
            let may = |verb: &&str| permissions.may(holder, group, resource, SOME, verb);
            ["update", "patch"].iter().any(may)
        });
    let text = "leader election is on, but the ServiceAccount may not update Leases";
    let is_fault = !allowed && !permissions.is_unknown(holder);
    is_fault.then(|| pod.fault(&LEASE, text, "serviceAccountName"))
}

/// Returns true if an argument, an environment variable or a mounted ConfigMap of a pod turns leader
/// election on.
pub(in crate::rules) fn elects_leader(side: &Side, namespace: &str, spec: &Json) -> bool {
    let of_container = |container: &Json| {
        let arguments = [items(container, &["args"]), items(container, &["command"])].concat();
        let flags = Arguments::of(&arguments).flags;
        let variables = items(container, &["env"])
            .iter()
            .map(|variable| Setting::new(text(variable, &["name"]), text(variable, &["value"])));
        flags.into_iter().chain(variables).any(|setting| turns_election_on(&setting))
    };
    let volumes = items(spec, &["volumes"]).iter();
    let mut maps = volumes.filter_map(|volume| at(volume, &["configMap", "name"])?.as_str());
    let of_map = |name: &str| {
        let map = side.objects.get(&Identity::new("ConfigMap", "", namespace, name));
        let mut texts =
            entries(map, &["data"]).filter_map(|(key, text)| Some((key, text.as_str()?)));
        texts.any(|(key, text)| {
            let lines = text.lines().map(of_line).chain([Setting::new(key, text)]);
            lines.into_iter().any(|setting| turns_election_on(&setting))
        })
    };
    containers(spec).any(of_container) || maps.any(of_map)
}

/// Returns true if a setting turns leader election on.
fn turns_election_on(setting: &Setting) -> bool {
    // Operators have `--leader-elect`, `--enable-leader-election` and variables such as
    // LEADER_ELECTION_ENABLED, with prefixes of their own.
    let name = letters(&setting.name);
    let is_name = ["leaderelect", "leaderelection", "leaderelectionenabled"]
        .iter()
        .any(|end| name.ends_with(end));
    is_name && setting.value.eq_ignore_ascii_case("true")
}

/// Adds the faults of probes without a port to connect to.
fn probes(pod: &Pod<'_>, container: &Json, faults: &mut Vec<Fault>) {
    let name = text(container, &["name"]);
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(settings) = container.get(probe) else { continue };
        let handlers = ["httpGet", "tcpSocket", "grpc"].into_iter();
        let handler = handlers.filter_map(|handler| settings.get(handler));
        // A probe of another host has nothing to do with the pod.
        for handler in handler.filter(|handler| handler.get("host").is_none()) {
            let place = format!("container {name}: {probe}");
            match handler.get("port") {
                Some(Json::String(port)) if !has_port(container, port) => {
                    let text = format!("{place}: the container has no port {port}");
                    faults.push(pod.fault(&PORT, text, "containers"));
                }
                Some(Json::Number(port))
                    if port.as_i64().is_some_and(|port| !pod.mentions(port)) =>
                {
                    let text = format!("{place}: no container declares port {port}");
                    faults.push(pod.fault(&UNDECLARED, text, "containers"));
                }
                _ => {}
            }
        }
    }
}

/// Returns the fault of a container that runs as root and must not.
fn user(pod: &Pod<'_>, container: &Json) -> Option<Fault> {
    let of = |field: &str| {
        let own = at(container, &["securityContext", field]);
        own.or_else(|| at(pod.spec, &["securityContext", field]))
    };
    let is_root = of("runAsUser").and_then(Json::as_i64) == Some(0);
    let must_not = of("runAsNonRoot") == Some(&Json::Bool(true));
    let name = text(container, &["name"]);
    let text = format!("container {name}: runAsUser 0 with runAsNonRoot");
    (is_root && must_not).then(|| pod.fault(&ROOT, text, "containers"))
}

/// Returns the faults of workloads that could list custom resources of the chart and no longer can.
pub(super) fn lost_apis(
    new: &Side,
    pairs: &[Pair<'_>],
    [before, after]: [&EffectivePermissions<'_>; 2],
    accounts: &HashSet<String>,
) -> Vec<Fault> {
    let resource =
        |(_, crd)| (text(crd, &["spec", "group"]), text(crd, &["spec", "names", "plural"]));
    let is_named = |(_, plural): &(&str, &str)| !plural.is_empty();
    let resources: Vec<(&str, &str)> = new.crds().map(resource).filter(is_named).collect();
    // Workloads with the same ServiceAccounts have the same faults.
    let mut known: BTreeMap<(String, String), Vec<&(&str, &str)>> = BTreeMap::new();
    let mut faults = Vec::new();
    for pair in pairs {
        let account =
            |id: &Identity, object| Some(account_subject(id, pod_spec(&id.kind, object)?));
        let old = pair.old_id.as_ref().and_then(|id| account(id, pair.old));
        let (Some(old), Some(now)) = (old, account(&pair.id, pair.new)) else { continue };
        let lost = known.entry((old.clone(), now.clone())).or_insert_with(|| {
            // Renamed ServiceAccounts have their new name in the old permissions.
            let bound = [&old, &now].into_iter().find(|account| before.names(account));
            let had = before.holder(bound.unwrap_or(&old));
            let has = after.holder(&now);
            let lists =
                |side: &EffectivePermissions<'_>, holder, (group, plural): &(&str, &str)| {
                    // A cache lists the objects once, and then watches them.
                    ["list", "watch"].iter().all(|verb| side.may(holder, group, plural, "", verb))
                };
            // An operator that could read anything need not read what another one of the chart reads.
            let is_of_another = |api: &(&str, &str)| {
                lists(before, had, &(api.0, SOME))
                    && accounts.iter().any(|account| lists(after, after.holder(account), api))
            };
            let lost = |api: &&(&str, &str)| {
                lists(before, had, api) && !lists(after, has, api) && !is_of_another(api)
            };
            resources.iter().filter(|api| !after.is_unknown(has) && lost(api)).collect()
        });
        let template = pod_template(&pair.id.kind).unwrap_or_default();
        for (group, plural) in lost.iter() {
            let text = format!("{now} may no longer list and watch {plural}.{group}");
            faults.push(Fault::new(&pair.id, &OWN_API, text, keys(template)));
        }
    }
    faults
}

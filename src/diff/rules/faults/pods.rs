//! Faults of pods: what keeps them from being created, from starting, and from working.

use super::{
    ABOVE_LIMIT, Fault, KEY, LABELS, LEASE, MISSING, OWN_API, PORT, PULL_SECRET, ROOT, TOKEN,
    UNDECLARED, keys,
};
use crate::identity::Pairs;
use crate::ir::{PodReference, pod_references, quantity};
use crate::path::Step;
use crate::rules::rbac::EffectivePermissions;
use crate::rules::settings::{Arguments, Setting, of_line};
use crate::rules::{at, is_hook, pod_template};
use crate::{Identity, Side};
use serde_json::Value as Json;
use std::collections::{BTreeMap, HashSet};

/// The pods of a workload.
pub(super) struct Pod<'a> {
    pub(super) id: &'a Identity,
    pub(super) labels: Option<&'a Json>,
    /// Path of the `spec` of the pods.
    path: Vec<&'static str>,
    spec: &'a Json,
    /// Numbers in ports, arguments and environment variables.
    numbers: HashSet<String>,
}

impl<'a> Pod<'a> {
    /// Returns the pods of all workloads of a side.
    pub(super) fn all(side: &'a Side) -> Vec<Self> {
        let pod = |(id, object): (&'a Identity, &'a Json)| {
            let template = pod_template(&id.kind)?;
            let pod = at(object, template)?;
            let spec = pod.get("spec")?;
            let path = template.iter().copied().chain(["spec"]).collect();
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

    fn account(&self) -> &'a str {
        let name = self.spec.get("serviceAccountName").and_then(Json::as_str);
        name.filter(|name| !name.is_empty()).unwrap_or("default")
    }

    fn path(&self, rest: &[&str]) -> Vec<Step> {
        keys(&self.path).into_iter().chain(keys(rest)).collect()
    }
}

fn containers(spec: &Json) -> impl Iterator<Item = &Json> {
    let lists = ["containers", "initContainers"].into_iter();
    lists.filter_map(|list| spec.get(list)?.as_array()).flatten()
}

fn has_port(container: &Json, name: &str) -> bool {
    let ports = container.get("ports").and_then(Json::as_array).into_iter().flatten();
    ports.into_iter().any(|port| port.get("name").and_then(Json::as_str) == Some(name))
}

/// Collects the numbers in the ports, arguments and environment of a container.
fn collect_numbers(container: &Json, numbers: &mut HashSet<String>) {
    let list = |key: &str| container.get(key).and_then(Json::as_array).into_iter().flatten();
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

/// Adds the faults of all pods of a side.
pub(super) fn add_faults(
    side: &Side,
    pods: &[Pod<'_>],
    permissions: &EffectivePermissions<'_>,
    faults: &mut Vec<Fault>,
) {
    let mentioned = Mentioned::of(side, pods);
    for pod in pods {
        references(side, pod, &mentioned, faults);
        labels(side, pod, faults);
        token(side, pod, permissions, faults);
        leases(side, pod, permissions, faults);
        for container in containers(pod.spec) {
            probes(pod, container, faults);
            user(pod, container, faults);
            resources(pod, container, faults);
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
            let custom = id.group.contains('.') && !id.group.ends_with(".k8s.io");
            if custom {
                words.add(object);
            } else if id.kind == "Service" {
                at(object, &["metadata", "annotations"]).into_iter().for_each(|map| words.add(map));
            }
        }
        for container in pods.iter().flat_map(|pod| containers(pod.spec)) {
            for key in ["args", "command"] {
                container.get(key).into_iter().for_each(|list| words.add(list));
            }
            let env = container.get("env").and_then(Json::as_array).into_iter().flatten();
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
        let namespace = if namespaced { pod.id.namespace.clone() } else { String::new() };
        side.objects.get(&Identity {
            kind: kind.to_owned(),
            group: group.to_owned(),
            namespace,
            name: name.to_owned(),
        })
    };
    let mut add = |rule, text: String, path: &[&str]| {
        faults.push(Fault::new(pod.id, rule, text, pod.path(path)));
    };

    let account = pod.account();
    if account != "default" && object("", "ServiceAccount", true, account).is_none() && !hook {
        add(&MISSING, format!("ServiceAccount {account} does not exist"), &["serviceAccountName"]);
    }
    let class = pod.spec.get("priorityClassName").and_then(Json::as_str).unwrap_or_default();
    if !class.is_empty()
        && !class.starts_with("system-")
        && object("scheduling.k8s.io", "PriorityClass", false, class).is_none()
    {
        let text = format!("PriorityClass {class} is not part of the chart");
        add(&MISSING, text, &["priorityClassName"]);
    }
    let secrets = pod.spec.get("imagePullSecrets").and_then(Json::as_array).into_iter().flatten();
    for name in secrets.filter_map(|secret| secret.get("name")?.as_str()) {
        if object("", "Secret", true, name).is_none() {
            add(
                &PULL_SECRET,
                format!("Secret {name} is not part of the chart"),
                &["imagePullSecrets"],
            );
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
                    add(&MISSING, format!("{kind} {name} is not part of the chart"), &[field]);
                }
            }
            Some(object) => {
                let has = |key: &&&str| {
                    ["data", "binaryData", "stringData"]
                        .iter()
                        .any(|map| at(object, &[map, key]).is_some())
                };
                // Something else may fill an object without content.
                let filled = ["data", "binaryData", "stringData"].iter().any(|map| {
                    object.get(*map).and_then(Json::as_object).is_some_and(|map| !map.is_empty())
                });
                for key in keys.iter().filter(|key| filled && !has(key)) {
                    add(&KEY, format!("{kind} {name} has no key {key}"), &[field]);
                }
            }
        }
    }
}

/// Adds the fault of a selector that does not match the labels of its pods.
fn labels(side: &Side, pod: &Pod<'_>, faults: &mut Vec<Fault>) {
    if !["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"].contains(&pod.id.kind.as_str()) {
        return;
    }
    let object = side.objects.get(pod.id);
    let selector = object.and_then(|object| at(object, &["spec", "selector", "matchLabels"]));
    let missing = selector.and_then(Json::as_object).into_iter().flatten();
    let missing =
        missing.filter(|(key, value)| pod.labels.and_then(|l| l.get(key.as_str())) != Some(value));
    for (key, value) in missing {
        let value = value.as_str().unwrap_or_default();
        let text = format!("spec.selector: pods have no label {key}={value}");
        faults.push(Fault::new(pod.id, &LABELS, text, keys(&["spec"])));
    }
}

/// Adds the fault of pods that need the API and have no token.
fn token(
    side: &Side,
    pod: &Pod<'_>,
    permissions: &EffectivePermissions<'_>,
    faults: &mut Vec<Fault>,
) {
    // The setting of the pod wins over that of its ServiceAccount.
    let mounts = |object: &Json| object.get("automountServiceAccountToken").and_then(Json::as_bool);
    let account = Identity {
        kind: "ServiceAccount".to_owned(),
        group: String::new(),
        namespace: pod.id.namespace.clone(),
        name: pod.account().to_owned(),
    };
    let of_account = || side.objects.get(&account).and_then(mounts);
    if mounts(pod.spec).or_else(of_account) != Some(false) {
        return;
    }

    // A projected volume is another way to get a token.
    let volumes = pod.spec.get("volumes").and_then(Json::as_array).into_iter().flatten();
    let sources = volumes.filter_map(|volume| at(volume, &["projected", "sources"])?.as_array());
    let projected = sources.flatten().any(|source| source.get("serviceAccountToken").is_some());

    // A ServiceAccount without permissions is no sign that the pod calls the API.
    if !projected && permissions.holder(&subject(pod)).is_some() {
        let text = "automountServiceAccountToken: false, but the ServiceAccount has permissions";
        let path = pod.path(&["automountServiceAccountToken"]);
        faults.push(Fault::new(pod.id, &TOKEN, text.to_owned(), path));
    }
}

/// Returns the pod's ServiceAccount as a subject of bindings.
fn subject(pod: &Pod<'_>) -> String {
    subject_of(&pod.id.namespace, pod.account())
}

fn subject_of(namespace: &str, account: &str) -> String {
    match namespace {
        "" => format!("ServiceAccount/{account}"),
        namespace => format!("ServiceAccount/{namespace}/{account}"),
    }
}

/// Adds the fault of leader election without permission for Leases.
fn leases(
    side: &Side,
    pod: &Pod<'_>,
    permissions: &EffectivePermissions<'_>,
    faults: &mut Vec<Fault>,
) {
    if !elects_leader(side, &pod.id.namespace, pod.spec) {
        return;
    }
    let holder = permissions.holder(&subject(pod));
    // Older programs use ConfigMaps as locks.
    let allowed = [("coordination.k8s.io", "leases"), ("", "configmaps"), ("", "endpoints")]
        .iter()
        .any(|(group, resource)| {
            ["update", "patch"].iter().any(|verb| permissions.may(holder, group, resource, verb))
        });
    if !allowed {
        let text = "leader election is on, but the ServiceAccount may not update Leases";
        let path = pod.path(&["serviceAccountName"]);
        faults.push(Fault::new(pod.id, &LEASE, text.to_owned(), path));
    }
}

/// Returns true if an argument, an environment variable or a mounted ConfigMap of a pod turns leader
/// election on.
pub(in crate::rules) fn elects_leader(side: &Side, namespace: &str, spec: &Json) -> bool {
    let items = |from: &'_ Json, key: &str| -> Vec<Json> {
        from.get(key).and_then(Json::as_array).cloned().unwrap_or_default()
    };
    let of_container = |container: &Json| {
        let arguments = [items(container, "args"), items(container, "command")].concat();
        let flags = Arguments::of(&arguments).flags;
        let variables = items(container, "env");
        let variables = variables.iter().map(|variable| {
            let text = |key: &str| variable.get(key).and_then(Json::as_str).unwrap_or_default();
            Setting::new(text("name"), text("value"))
        });
        flags.into_iter().chain(variables).any(|setting| turns_election_on(&setting))
    };
    let maps = items(spec, "volumes")
        .into_iter()
        .filter_map(|volume| Some(at(&volume, &["configMap", "name"])?.as_str()?.to_owned()));
    let of_map = |name: String| {
        let id = Identity {
            kind: "ConfigMap".to_owned(),
            group: String::new(),
            namespace: namespace.to_owned(),
            name,
        };
        let data = side.objects.get(&id).and_then(|map| map.get("data")?.as_object());
        let texts =
            data.into_iter().flatten().filter_map(|(key, text)| Some((key, text.as_str()?)));
        texts.into_iter().any(|(key, text)| {
            let lines = text.lines().map(of_line).chain([Setting::new(key, text)]);
            lines.into_iter().any(|setting| turns_election_on(&setting))
        })
    };
    containers(spec).any(of_container) || maps.into_iter().any(of_map)
}

/// Returns true if a setting turns leader election on.
fn turns_election_on(setting: &Setting) -> bool {
    // Operators have `--leader-elect`, `--enable-leader-election` and variables such as
    // LEADER_ELECTION_ENABLED, with prefixes of their own.
    let letters = setting.name.chars().filter(char::is_ascii_alphanumeric);
    let name = letters.collect::<String>().to_lowercase();
    let is_name =
        ["leaderelect", "leaderelection", "enableleaderelection", "leaderelectionenabled"]
            .iter()
            .any(|end| name.ends_with(end));
    is_name && setting.value.eq_ignore_ascii_case("true")
}

/// Adds the faults of probes without a port to connect to.
fn probes(pod: &Pod<'_>, container: &Json, faults: &mut Vec<Fault>) {
    let name = container.get("name").and_then(Json::as_str).unwrap_or_default();
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(settings) = container.get(probe) else { continue };
        let handlers = ["httpGet", "tcpSocket", "grpc"].into_iter();
        let handler = handlers.filter_map(|handler| settings.get(handler));
        // A probe of another host has nothing to do with the pod.
        for handler in handler.filter(|handler| handler.get("host").is_none()) {
            let path = pod.path(&["containers"]);
            match handler.get("port") {
                Some(Json::String(port)) if !has_port(container, port) => {
                    let text =
                        format!("container {name}: {probe}: the container has no port {port}");
                    faults.push(Fault::new(pod.id, &PORT, text, path));
                }
                Some(Json::Number(port))
                    if port.as_i64().is_some_and(|port| !pod.mentions(port)) =>
                {
                    let text =
                        format!("container {name}: {probe}: no container declares port {port}");
                    faults.push(Fault::new(pod.id, &UNDECLARED, text, path));
                }
                _ => {}
            }
        }
    }
}

/// Adds the fault of a container that runs as root and must not.
fn user(pod: &Pod<'_>, container: &Json, faults: &mut Vec<Fault>) {
    let of = |field: &str| {
        let own = at(container, &["securityContext", field]);
        own.or_else(|| at(pod.spec, &["securityContext", field]))
    };
    if of("runAsNonRoot") == Some(&Json::Bool(true))
        && of("runAsUser").and_then(Json::as_i64) == Some(0)
    {
        let name = container.get("name").and_then(Json::as_str).unwrap_or_default();
        let text = format!("container {name}: runAsUser 0 with runAsNonRoot");
        faults.push(Fault::new(pod.id, &ROOT, text, pod.path(&["containers"])));
    }
}

/// Adds the faults of requests above their limits.
fn resources(pod: &Pod<'_>, container: &Json, faults: &mut Vec<Fault>) {
    let limits = at(container, &["resources", "limits"]).and_then(Json::as_object);
    for (resource, limit) in limits.into_iter().flatten() {
        let request = at(container, &["resources", "requests", resource]);
        let Some((request, limit)) = request.zip(Some(limit)) else { continue };
        if quantity(request).zip(quantity(limit)).is_some_and(|(request, limit)| request > limit) {
            let name = container.get("name").and_then(Json::as_str).unwrap_or_default();
            let text =
                format!("container {name}: {resource}: request {request} above limit {limit}");
            faults.push(Fault::new(pod.id, &ABOVE_LIMIT, text, pod.path(&["containers"])));
        }
    }
}

/// Returns the faults of workloads that could list custom resources of the chart and no longer can.
pub(super) fn lost_apis(
    new: &Side,
    pairs: &Pairs<'_>,
    before: &EffectivePermissions<'_>,
    after: &EffectivePermissions<'_>,
) -> Vec<Fault> {
    let resources: Vec<(&str, &str)> = new
        .objects
        .iter()
        .filter(|(id, _)| id.kind == "CustomResourceDefinition")
        .filter_map(|(_, crd)| {
            let text = |keys: &[&str]| at(crd, keys).and_then(Json::as_str);
            Some((text(&["spec", "group"])?, text(&["spec", "names", "plural"])?))
        })
        .collect();
    // Workloads with the same ServiceAccounts have the same faults.
    let mut known: BTreeMap<(String, String), Vec<&(&str, &str)>> = BTreeMap::new();
    let mut faults = Vec::new();
    for pair in &pairs.list {
        let account = |id: &Identity, object: &Json| {
            let template = pod_template(&id.kind)?;
            let spec = at(object, template)?.get("spec")?;
            let name = spec.get("serviceAccountName").and_then(Json::as_str).unwrap_or("default");
            Some(subject_of(&id.namespace, name))
        };
        let (Some(old_id), Some(old), Some(now)) = (&pair.old_id, pair.old, pair.new) else {
            continue;
        };
        let (Some(old), Some(now)) = (account(old_id, old), account(&pair.id, now)) else {
            continue;
        };
        let lost = known.entry((old.clone(), now.clone())).or_insert_with(|| {
            // Renamed ServiceAccounts have their new name in the old permissions.
            let had = before.holder(&old).or_else(|| before.holder(&now));
            let has = after.holder(&now);
            let lists =
                |side: &EffectivePermissions<'_>, holder, (group, plural): &(&str, &str)| {
                    // A cache lists the objects once, and then watches them.
                    ["list", "watch"].iter().all(|verb| side.may(holder, group, plural, verb))
                };
            let lost = |api: &&(&str, &str)| lists(before, had, api) && !lists(after, has, api);
            resources.iter().filter(lost).collect()
        });
        let template = pod_template(&pair.id.kind).unwrap_or_default();
        for (group, plural) in lost.iter() {
            let text = format!("{now} may no longer list and watch {plural}.{group}");
            faults.push(Fault::new(&pair.id, &OWN_API, text, keys(template)));
        }
    }
    faults
}

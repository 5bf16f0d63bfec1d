//! API server validation of pods and their containers, in workloads of every kind.
//!
//! Kubernetes: `pkg/apis/core/validation`.

use super::{Faults, items, metadata};
use crate::diag::suggest;
use crate::fields::{integer, is_true, list, text, texts_of};
use crate::ir::{Release, Value, pod_spec_keys, quantity};
use std::collections::{BTreeMap, BTreeSet};

/// Checks the pods of a workload.
///
/// Server: `spec.template.spec.volumes[1].name: Duplicate value: "v"`,
/// `spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"`.
pub(super) fn pods(faults: &mut Faults<'_>) {
    let object = faults.object;
    let keys = pod_spec_keys(object.kind());
    let Some(pod) = object.at(keys) else { return };
    let base = format!(".{}", keys.join("."));
    // The object itself is the template of a Pod.
    let above = &keys[..keys.len() - 1];
    if let Some(template) = object.at(above).and_then(Value::as_map) {
        metadata(faults, base.trim_end_matches(".spec"), template);
    }

    let policies: &[&str] = match object.kind() {
        "Pod" => &["Always", "OnFailure", "Never"],
        "CronJob" | "Job" => &["OnFailure", "Never"],
        _ => &["Always"],
    };
    pod_fields(faults, &base, pod, policies);
    let mut volumes: Vec<&str> = texts_of(pod.get("volumes"), "name").collect();
    faults.twice(&format!("{base}.volumes"), "volume", volumes.iter().copied());
    let claims = list(object.at(&["spec", "volumeClaimTemplates"])).iter();
    volumes.extend(claims.filter_map(|claim| claim.at(&["metadata", "name"])?.as_str()));
    // The default is `Always`.
    if !policies.contains(&"Always") && text(pod, "restartPolicy").is_none_or(str::is_empty) {
        let known = policies.join("` or `");
        faults.add(&*base, format!("has no restartPolicy, which must be `{known}`"));
    }
    let policy = text(pod, "restartPolicy").filter(|policy| !policy.is_empty());
    if let Some(policy) = policy.filter(|policy| !policies.contains(policy)) {
        let known = policies.join("`, `");
        let what = format!("has restartPolicy `{policy}`, not `{known}`");
        faults.add(format!("{base}.restartPolicy"), what);
    }
    node_affinity(faults, &base, pod);
    // Containers of both lists must have different names.
    let mut names = Vec::new();
    for kind in ["initContainers", "containers"] {
        for (path, container) in items(&base, pod, kind) {
            names.extend(text(container, "name"));
            self::container(faults, &path, container, &volumes);
            let is_sidecar = text(container, "restartPolicy") == Some("Always");
            let probes = if kind == "initContainers" && !is_sidecar { &PROBES[..] } else { &[] };
            for probe in probes.iter().filter(|probe| container.get(probe).is_some()) {
                let what = format!("has an init container with {probe}, which is no sidecar");
                faults.add(format!("{path}.{probe}"), what);
            }
            let ports = items(&path, container, "ports").filter(|_| is_true(pod, "hostNetwork"));
            for (path, port) in ports {
                let [host, own] = ["hostPort", "containerPort"].map(|key| integer(port.get(key)));
                if host.is_some_and(|host| host != 0) && host != own {
                    faults.add(path, "has another hostPort than containerPort with hostNetwork");
                }
            }
        }
    }

    faults.twice(&format!("{base}.containers"), "container name", names);
}

/// Containers that end before others start are not probed.
const PROBES: [&str; 4] = ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle"];

/// Checks fields of a pod that depend on each other. `policies` are the restart policies of its kind.
///
/// Server: `spec.template.spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is
/// None`, `….shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be
/// enabled`, `….activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported`,
/// `….ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template`,
/// `….volumes[0].secret: Forbidden: may not specify more than 1 volume type`, `….effect: Invalid value:
/// "NoSchedule": effect must be 'NoExecute' when `tolerationSeconds` is set`.
fn pod_fields(faults: &mut Faults<'_>, base: &str, pod: &Value, policies: &[&str]) {
    let mut check = |key: &str, is_refused: bool, what: &str| {
        if is_refused {
            faults.add(format!("{base}.{key}"), what);
        }
    };
    let has_servers = !list(pod.at(&["dnsConfig", "nameservers"])).is_empty();
    let is_bare = text(pod, "dnsPolicy") == Some("None") && !has_servers;
    check("dnsPolicy", is_bare, "has dnsPolicy `None` without nameservers in dnsConfig");
    let shares = is_true(pod, "shareProcessNamespace") && is_true(pod, "hostPID");
    check("shareProcessNamespace", shares, "has both shareProcessNamespace and hostPID");
    let ends = pod.get("activeDeadlineSeconds").is_some() && policies == ["Always"];
    let what = "has activeDeadlineSeconds, which only Pods and Jobs have";
    check("activeDeadlineSeconds", ends, what);
    let debugs = !list(pod.get("ephemeralContainers")).is_empty();
    let what = "has ephemeralContainers, which are added to running pods only";
    check("ephemeralContainers", debugs, what);

    for (path, volume) in items(base, pod, "volumes") {
        let name = text(volume, "name").unwrap_or_default();
        let sources = volume.as_map().into_iter().flatten();
        let mut sources = sources.filter(|(key, source)| *key != "name" && !source.is_null());
        if let (Some((one, _)), Some((other, _))) = (sources.next(), sources.next()) {
            faults.add(path, format!("has volume `{name}` with both {one} and {other}"));
        }
    }
    for (path, toleration) in items(base, pod, "tolerations") {
        let is_exists = text(toleration, "operator") == Some("Exists");
        if is_exists && text(toleration, "value").is_some_and(|value| !value.is_empty()) {
            faults.add(&*path, "has a toleration with operator `Exists` and a value");
        }
        let lasts = toleration.get("tolerationSeconds").is_some();
        if lasts && text(toleration, "effect") != Some("NoExecute") {
            let what =
                "has a toleration with `tolerationSeconds` and another effect than `NoExecute`";
            faults.add(path, what);
        }
    }
}

/// Checks the resources of a container.
///
/// Server: `resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`,
/// `resources.limits: Required value: Limit must be set for non overcommitable resources`,
/// `resources.limits[example.com/gpu]: Invalid value: "500m": must be an integer`.
fn resources(faults: &mut Faults<'_>, path: &str, container: &Value) {
    let amounts = |group: &str| -> BTreeMap<&str, f64> {
        let amounts = container.at(&["resources", group]).and_then(Value::as_map);
        let amount = |amount| quantity(&Release::LITERAL.value(amount));
        let amounts = amounts.into_iter().flatten();
        amounts.filter_map(|(name, own)| Some((&**name, amount(own)?))).collect()
    };
    let [requests, limits] = ["requests", "limits"].map(amounts);
    let names: BTreeSet<&str> = requests.keys().chain(limits.keys()).copied().collect();
    for name in names {
        // Kubernetes: IsOvercommitAllowed. Containers have no resources of `kubernetes.io/`.
        let is_device = name.contains('/');
        let is_exact = is_device || name.starts_with("hugepages-");
        let is_part = |amount: Option<&f64>| amount.is_some_and(|amount| amount.fract() > 0.0);
        let (request, limit) = (requests.get(name), limits.get(name));
        let what = match (request, limit) {
            _ if is_device && (is_part(request) || is_part(limit)) => {
                format!("has `{name}` that is no whole number")
            }
            (Some(_), None) if is_exact => format!("has a request of `{name}` without a limit"),
            (Some(request), Some(limit)) if is_exact && request != limit => {
                format!("has a request of `{name}` that differs from its limit")
            }
            (Some(request), Some(limit)) if request > limit => {
                format!("has a request of `{name}` above its limit")
            }
            _ => continue,
        };
        faults.add(format!("{path}.resources"), what);
    }
}

/// Checks the expressions of required and preferred node affinity.
///
/// Server: `….matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or
/// 'NotIn'`, `….values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'`.
fn node_affinity(faults: &mut Faults<'_>, base: &str, pod: &Value) {
    let (required, preferred) = (
        "requiredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
    );
    let none = Value::Null;
    let affinity = pod.at(&["affinity", "nodeAffinity"]).unwrap_or(&none);
    let base = format!("{base}.affinity.nodeAffinity");
    let terms = affinity.get(required).unwrap_or(&none);
    let terms = items(&format!("{base}.{required}"), terms, "nodeSelectorTerms");
    let preferences = items(&base, affinity, preferred).map(|(path, preferred)| {
        (format!("{path}.preference"), preferred.get("preference").unwrap_or(&none))
    });

    for (path, term) in terms.chain(preferences) {
        for (path, expression) in items(&path, term, "matchExpressions") {
            let has_values = !list(expression.get("values")).is_empty();
            let what = match text(expression, "operator").unwrap_or_default() {
                operator @ ("In" | "NotIn") if !has_values => format!("{operator}` without values"),
                operator @ ("Exists" | "DoesNotExist") if has_values => {
                    format!("{operator}` and values")
                }
                _ => continue,
            };
            faults.add(path, format!("has node affinity with operator `{what}"));
        }
    }
}

/// Fields of pods that environment variables may have, and maps of which they may have a value.
const FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    // Of old clients: the server converts it to `spec.nodeName`.
    "spec.host",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Resources whose amounts a variable can have.
const RESOURCES: &[&str] = &["cpu", "memory", "ephemeral-storage"];
const MAPS: &[&str] = &["metadata.labels[", "metadata.annotations["];

/// Checks a container of a pod.
///
/// Server: `env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty`,
/// `env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.nam": error converting fieldPath`,
/// `env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.example.com/gpu": supported
/// values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", …`,
/// `livenessProbe.successThreshold: Invalid value: 2: must be 1`,
/// `securityContext: Invalid value: …: cannot set `allowPrivilegeEscalation` to false and `privileged` to
/// true`,
/// `readinessProbe.terminationGracePeriodSeconds: Invalid value: 60: must not be set for
/// readinessProbes`,
/// `volumeMounts[0].name: Not found: "gone"`,
/// `volumeMounts[1].mountPath: Invalid value: "/a": must be unique`.
fn container(faults: &mut Faults<'_>, path: &str, container: &Value, volumes: &[&str]) {
    let name = text(container, "name").unwrap_or_default();
    if container.get("image").is_none_or(|image| image.as_str().is_some_and(str::is_empty)) {
        faults.add(path, format!("has container `{name}` without an image"));
    }

    resources(faults, path, container);
    let security = container.get("securityContext").unwrap_or(&Value::Null);
    let no_gain = security.get("allowPrivilegeEscalation") == Some(&Value::Bool(false));
    if is_true(security, "privileged") && no_gain {
        let path = format!("{path}.securityContext.allowPrivilegeEscalation");
        faults.add(path, "has a privileged container with allowPrivilegeEscalation false");
    }

    for (path, variable) in items(path, container, "env") {
        let name = text(variable, "name");
        let value = text(variable, "value").filter(|value| !value.is_empty());
        let from = variable.get("valueFrom").filter(|from| !from.is_null());
        if let (Some(_), Some(_), Some(name)) = (value, from, name) {
            faults.add(&*path, format!("has env var {name} with both value and valueFrom"));
        }
        let field = variable.at(&["valueFrom", "fieldRef", "fieldPath"]).and_then(Value::as_str);
        let is_known =
            |field: &&str| FIELDS.contains(field) || MAPS.iter().any(|map| field.starts_with(map));
        if let Some(field) = field.filter(|field| !is_known(field)) {
            let near = suggest::nearest(field, FIELDS);
            let near = near.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default();
            let name = name.unwrap_or_default();
            let what = format!("has env var {name} with unsupported fieldPath `{field}`{near}");
            faults.add(format!("{path}.valueFrom.fieldRef.fieldPath"), what);
        }
        let resource = variable.at(&["valueFrom", "resourceFieldRef", "resource"]);
        let is_known = |resource: &&str| {
            let (group, name) = resource.split_once('.').unwrap_or_default();
            matches!(group, "limits" | "requests")
                && (RESOURCES.contains(&name) || name.starts_with("hugepages-"))
        };
        if let Some(resource) = resource.and_then(Value::as_str).filter(|one| !is_known(one)) {
            let name = name.unwrap_or_default();
            let what = format!("has env var {name} with unsupported resource `{resource}`");
            faults.add(format!("{path}.valueFrom.resourceFieldRef.resource"), what);
        }
    }

    for (probe, key, known, rule) in [
        // The server sets 0 to 1 before it validates.
        ("livenessProbe", "successThreshold", &[0, 1][..], "must be 1"),
        ("startupProbe", "successThreshold", &[0, 1], "must be 1"),
        ("readinessProbe", "terminationGracePeriodSeconds", &[], "may not be set"),
    ] {
        let value = integer(container.at(&[probe, key]));
        if let Some(value) = value.filter(|value| !known.contains(value)) {
            let what = format!("has {key} {value} of {probe}, which {rule}");
            faults.add(format!("{path}.{probe}.{key}"), what);
        }
    }

    for (key, what, field) in
        [("ports", "port name", "name"), ("volumeMounts", "mount path", "mountPath")]
    {
        let texts = texts_of(container.get(key), field).filter(|text| !text.is_empty());
        faults.twice(&format!("{path}.{key}"), what, texts);
    }

    for (path, mount) in items(path, container, "volumeMounts") {
        if let Some(volume) = text(mount, "name").filter(|name| !volumes.contains(name)) {
            faults.add(path, format!("mounts undefined volume `{volume}`"));
        }
    }
}

//! Defaults of the Kubernetes API: a default that one side writes out and the other leaves out is
//! no difference.
//!
//! Sources: `pkg/apis/*/*/defaults.go` of kubernetes/kubernetes, and
//! `staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/defaults.go`. Where the API
//! server stores nothing, the default is what the field's documentation says about an unset field.

use super::path::Step;
use super::rules::pod_template;
use super::tree::{Edit, is_item};
use crate::ir::{Identity, quantity};
use serde_json::{Value as Json, json};

/// Part of the API that a row of [`DEFAULTS`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// The `spec` of pods, in every kind that has pods.
    Pod,
    /// A container or init container.
    Container,
    /// A probe of a container.
    Probe,
    /// A volume of a pod.
    Volume,
    /// Objects of a kind, from their root.
    Kind(&'static str),
    /// A keyword of a CRD's schema, at any depth.
    Schema,
}

use Scope::{Container, Kind, Pod, Probe, Schema, Volume};

/// Fields and their defaults, as JSON. `[]` is an item of a list. `{}` means that a map whose
/// entries are all defaults, or that is empty, is the same as no map.
const DEFAULTS: &[(Scope, &str, &str)] = &[
    // core/v1: SetDefaults_PodSpec, SetDefaults_Pod.
    (Pod, "restartPolicy", r#""Always""#),
    (Pod, "dnsPolicy", r#""ClusterFirst""#),
    (Pod, "schedulerName", r#""default-scheduler""#),
    (Pod, "terminationGracePeriodSeconds", "30"),
    (Pod, "serviceAccountName", r#""default""#),
    (Pod, "enableServiceLinks", "true"),
    (Pod, "hostNetwork", "false"),
    (Pod, "hostPID", "false"),
    (Pod, "hostIPC", "false"),
    (Pod, "hostUsers", "true"),
    (Pod, "shareProcessNamespace", "false"),
    (Pod, "setHostnameAsFQDN", "false"),
    (Pod, "automountServiceAccountToken", "true"),
    (Pod, "preemptionPolicy", r#""PreemptLowerPriority""#),
    (Pod, "priorityClassName", r#""""#),
    (Pod, "securityContext", "{}"),
    (Pod, "securityContext.runAsNonRoot", "false"),
    (Pod, "securityContext.fsGroupChangePolicy", r#""Always""#),
    (Pod, "nodeSelector", "{}"),
    (Pod, "affinity", "{}"),
    (Pod, "affinity.nodeAffinity", "{}"),
    (Pod, "affinity.podAffinity", "{}"),
    (Pod, "affinity.podAntiAffinity", "{}"),
    (Pod, "dnsConfig", "{}"),
    (Pod, "tolerations[].operator", r#""Equal""#),
    (Pod, "topologySpreadConstraints[].nodeAffinityPolicy", r#""Honor""#),
    (Pod, "topologySpreadConstraints[].nodeTaintsPolicy", r#""Ignore""#),
    // core/v1: SetDefaults_Container.
    (Container, "terminationMessagePath", r#""/dev/termination-log""#),
    (Container, "terminationMessagePolicy", r#""File""#),
    (Container, "resources", "{}"),
    (Container, "resources.limits", "{}"),
    (Container, "resources.requests", "{}"),
    (Container, "securityContext", "{}"),
    (Container, "securityContext.privileged", "false"),
    (Container, "securityContext.allowPrivilegeEscalation", "true"),
    (Container, "securityContext.readOnlyRootFilesystem", "false"),
    (Container, "securityContext.runAsNonRoot", "false"),
    (Container, "securityContext.procMount", r#""Default""#),
    (Container, "securityContext.capabilities", "{}"),
    (Container, "stdin", "false"),
    (Container, "stdinOnce", "false"),
    (Container, "tty", "false"),
    (Container, "lifecycle", "{}"),
    (Container, "workingDir", r#""""#),
    (Container, "ports[].protocol", r#""TCP""#),
    (Container, "ports[].hostPort", "0"),
    (Container, "env[].value", r#""""#),
    (Container, "env[].valueFrom.fieldRef.apiVersion", r#""v1""#),
    (Container, "env[].valueFrom.resourceFieldRef.divisor", r#""0""#),
    (Container, "env[].valueFrom.configMapKeyRef.optional", "false"),
    (Container, "env[].valueFrom.secretKeyRef.optional", "false"),
    (Container, "envFrom[].configMapRef.optional", "false"),
    (Container, "envFrom[].secretRef.optional", "false"),
    (Container, "envFrom[].prefix", r#""""#),
    (Container, "volumeMounts[].readOnly", "false"),
    (Container, "volumeMounts[].subPath", r#""""#),
    (Container, "volumeMounts[].mountPropagation", r#""None""#),
    (Container, "volumeMounts[].recursiveReadOnly", r#""Disabled""#),
    // core/v1: SetDefaults_Probe, SetDefaults_HTTPGetAction.
    (Probe, "initialDelaySeconds", "0"),
    (Probe, "timeoutSeconds", "1"),
    (Probe, "periodSeconds", "10"),
    (Probe, "successThreshold", "1"),
    (Probe, "failureThreshold", "3"),
    (Probe, "httpGet.path", r#""/""#),
    (Probe, "httpGet.scheme", r#""HTTP""#),
    (Probe, "grpc.service", r#""""#),
    // core/v1: SetDefaults_SecretVolumeSource and its siblings.
    (Volume, "secret.defaultMode", "420"),
    (Volume, "secret.optional", "false"),
    (Volume, "configMap.defaultMode", "420"),
    (Volume, "configMap.optional", "false"),
    (Volume, "downwardAPI.defaultMode", "420"),
    (Volume, "projected.defaultMode", "420"),
    (Volume, "projected.sources[].serviceAccountToken.expirationSeconds", "3600"),
    (Volume, "emptyDir.medium", r#""""#),
    (Volume, "hostPath.type", r#""""#),
    (Volume, "persistentVolumeClaim.readOnly", "false"),
    // apps/v1.
    (Kind("Deployment"), "spec.replicas", "1"),
    (Kind("Deployment"), "spec.paused", "false"),
    (Kind("Deployment"), "spec.minReadySeconds", "0"),
    (Kind("Deployment"), "spec.revisionHistoryLimit", "10"),
    (Kind("Deployment"), "spec.progressDeadlineSeconds", "600"),
    (Kind("Deployment"), "spec.strategy", "{}"),
    (Kind("Deployment"), "spec.strategy.type", r#""RollingUpdate""#),
    (Kind("Deployment"), "spec.strategy.rollingUpdate", "{}"),
    (Kind("Deployment"), "spec.strategy.rollingUpdate.maxSurge", r#""25%""#),
    (Kind("Deployment"), "spec.strategy.rollingUpdate.maxUnavailable", r#""25%""#),
    (Kind("ReplicaSet"), "spec.replicas", "1"),
    (Kind("ReplicaSet"), "spec.minReadySeconds", "0"),
    (Kind("StatefulSet"), "spec.replicas", "1"),
    (Kind("StatefulSet"), "spec.minReadySeconds", "0"),
    (Kind("StatefulSet"), "spec.revisionHistoryLimit", "10"),
    (Kind("StatefulSet"), "spec.podManagementPolicy", r#""OrderedReady""#),
    (Kind("StatefulSet"), "spec.updateStrategy", "{}"),
    (Kind("StatefulSet"), "spec.updateStrategy.type", r#""RollingUpdate""#),
    (Kind("StatefulSet"), "spec.updateStrategy.rollingUpdate", "{}"),
    (Kind("StatefulSet"), "spec.updateStrategy.rollingUpdate.partition", "0"),
    (Kind("StatefulSet"), "spec.persistentVolumeClaimRetentionPolicy", "{}"),
    (Kind("StatefulSet"), "spec.persistentVolumeClaimRetentionPolicy.whenDeleted", r#""Retain""#),
    (Kind("StatefulSet"), "spec.persistentVolumeClaimRetentionPolicy.whenScaled", r#""Retain""#),
    (Kind("StatefulSet"), "spec.volumeClaimTemplates[].spec.volumeMode", r#""Filesystem""#),
    (Kind("DaemonSet"), "spec.minReadySeconds", "0"),
    (Kind("DaemonSet"), "spec.revisionHistoryLimit", "10"),
    (Kind("DaemonSet"), "spec.updateStrategy", "{}"),
    (Kind("DaemonSet"), "spec.updateStrategy.type", r#""RollingUpdate""#),
    (Kind("DaemonSet"), "spec.updateStrategy.rollingUpdate", "{}"),
    (Kind("DaemonSet"), "spec.updateStrategy.rollingUpdate.maxUnavailable", "1"),
    (Kind("DaemonSet"), "spec.updateStrategy.rollingUpdate.maxSurge", "0"),
    // batch/v1.
    (Kind("Job"), "spec.completions", "1"),
    (Kind("Job"), "spec.parallelism", "1"),
    (Kind("Job"), "spec.backoffLimit", "6"),
    (Kind("Job"), "spec.completionMode", r#""NonIndexed""#),
    (Kind("Job"), "spec.suspend", "false"),
    (Kind("Job"), "spec.podReplacementPolicy", r#""TerminatingOrFailed""#),
    (Kind("CronJob"), "spec.concurrencyPolicy", r#""Allow""#),
    (Kind("CronJob"), "spec.suspend", "false"),
    (Kind("CronJob"), "spec.successfulJobsHistoryLimit", "3"),
    (Kind("CronJob"), "spec.failedJobsHistoryLimit", "1"),
    // core/v1: SetDefaults_Service and others.
    (Kind("Service"), "spec.type", r#""ClusterIP""#),
    (Kind("Service"), "spec.sessionAffinity", r#""None""#),
    (Kind("Service"), "spec.internalTrafficPolicy", r#""Cluster""#),
    (Kind("Service"), "spec.externalTrafficPolicy", r#""Cluster""#),
    (Kind("Service"), "spec.publishNotReadyAddresses", "false"),
    (Kind("Service"), "spec.allocateLoadBalancerNodePorts", "true"),
    (Kind("Service"), "spec.ipFamilyPolicy", r#""SingleStack""#),
    (Kind("Service"), "spec.clusterIP", r#""""#),
    (Kind("Service"), "spec.ports[].protocol", r#""TCP""#),
    (Kind("Secret"), "type", r#""Opaque""#),
    (Kind("Secret"), "immutable", "false"),
    (Kind("Secret"), "data", "{}"),
    (Kind("ConfigMap"), "immutable", "false"),
    (Kind("ConfigMap"), "data", "{}"),
    (Kind("ConfigMap"), "binaryData", "{}"),
    (Kind("ServiceAccount"), "automountServiceAccountToken", "true"),
    (Kind("PersistentVolumeClaim"), "spec.volumeMode", r#""Filesystem""#),
    (Kind("PersistentVolume"), "spec.volumeMode", r#""Filesystem""#),
    (Kind("PersistentVolume"), "spec.persistentVolumeReclaimPolicy", r#""Retain""#),
    // storage/v1, scheduling/v1, autoscaling/v2, policy/v1, networking/v1.
    (Kind("StorageClass"), "reclaimPolicy", r#""Delete""#),
    (Kind("StorageClass"), "volumeBindingMode", r#""Immediate""#),
    (Kind("StorageClass"), "allowVolumeExpansion", "false"),
    (Kind("CSIDriver"), "spec.volumeLifecycleModes", r#"["Persistent"]"#),
    (Kind("PriorityClass"), "preemptionPolicy", r#""PreemptLowerPriority""#),
    (Kind("PriorityClass"), "globalDefault", "false"),
    (Kind("HorizontalPodAutoscaler"), "spec.minReplicas", "1"),
    (Kind("PodDisruptionBudget"), "spec.unhealthyPodEvictionPolicy", r#""IfHealthyBudget""#),
    (Kind("NetworkPolicy"), "spec.ingress[].ports[].protocol", r#""TCP""#),
    (Kind("NetworkPolicy"), "spec.egress[].ports[].protocol", r#""TCP""#),
    // rbac/v1: SetDefaults_RoleBinding, SetDefaults_Subject.
    (Kind("RoleBinding"), "roleRef.apiGroup", r#""rbac.authorization.k8s.io""#),
    (Kind("ClusterRoleBinding"), "roleRef.apiGroup", r#""rbac.authorization.k8s.io""#),
    (Kind("RoleBinding"), "subjects[].apiGroup", r#""""#),
    (Kind("ClusterRoleBinding"), "subjects[].apiGroup", r#""""#),
    // admissionregistration/v1.
    (Kind("ValidatingWebhookConfiguration"), "webhooks[].failurePolicy", r#""Fail""#),
    (Kind("ValidatingWebhookConfiguration"), "webhooks[].matchPolicy", r#""Equivalent""#),
    (Kind("ValidatingWebhookConfiguration"), "webhooks[].timeoutSeconds", "10"),
    (Kind("ValidatingWebhookConfiguration"), "webhooks[].namespaceSelector", "{}"),
    (Kind("ValidatingWebhookConfiguration"), "webhooks[].objectSelector", "{}"),
    (Kind("ValidatingWebhookConfiguration"), "webhooks[].rules[].scope", r#""*""#),
    (Kind("ValidatingWebhookConfiguration"), "webhooks[].clientConfig.service.port", "443"),
    (Kind("MutatingWebhookConfiguration"), "webhooks[].failurePolicy", r#""Fail""#),
    (Kind("MutatingWebhookConfiguration"), "webhooks[].matchPolicy", r#""Equivalent""#),
    (Kind("MutatingWebhookConfiguration"), "webhooks[].timeoutSeconds", "10"),
    (Kind("MutatingWebhookConfiguration"), "webhooks[].namespaceSelector", "{}"),
    (Kind("MutatingWebhookConfiguration"), "webhooks[].objectSelector", "{}"),
    (Kind("MutatingWebhookConfiguration"), "webhooks[].rules[].scope", r#""*""#),
    (Kind("MutatingWebhookConfiguration"), "webhooks[].reinvocationPolicy", r#""Never""#),
    (Kind("MutatingWebhookConfiguration"), "webhooks[].clientConfig.service.port", "443"),
    // apiregistration/v1.
    (Kind("APIService"), "spec.insecureSkipTLSVerify", "false"),
    (Kind("APIService"), "spec.service.port", "443"),
    // apiextensions/v1: SetDefaults_CustomResourceDefinition.
    (Kind("CustomResourceDefinition"), "spec.conversion", "{}"),
    (Kind("CustomResourceDefinition"), "spec.conversion.strategy", r#""None""#),
    (Kind("CustomResourceDefinition"), "spec.conversion.webhook.clientConfig.service.port", "443"),
    (Kind("CustomResourceDefinition"), "spec.preserveUnknownFields", "false"),
    (Kind("CustomResourceDefinition"), "spec.versions[].deprecated", "false"),
    (Kind("CustomResourceDefinition"), "spec.versions[].subresources", "{}"),
    (Kind("CustomResourceDefinition"), "spec.versions[].additionalPrinterColumns[].priority", "0"),
    // Structural schemas: unset keywords.
    (Schema, "x-kubernetes-list-type", r#""atomic""#),
    (Schema, "x-kubernetes-map-type", r#""granular""#),
    (Schema, "x-kubernetes-preserve-unknown-fields", "false"),
    (Schema, "x-kubernetes-int-or-string", "false"),
    (Schema, "x-kubernetes-embedded-resource", "false"),
    (Schema, "nullable", "false"),
    (Schema, "uniqueItems", "false"),
    (Schema, "exclusiveMinimum", "false"),
    (Schema, "exclusiveMaximum", "false"),
    (Schema, "minLength", "0"),
    (Schema, "minItems", "0"),
    (Schema, "minProperties", "0"),
    (Schema, "properties", "{}"),
];

/// Returns true for a field that only the API server writes: it ignores what a manifest has there, such
/// as one that was made of what `kubectl get` printed.
pub(super) fn is_of_the_server(id: &Identity, edit: &Edit) -> bool {
    match edit.path.steps() {
        [Step::Key(metadata), Step::Key(key)] => {
            metadata == "metadata" && key == "creationTimestamp"
        }
        [Step::Key(status), ..] => status == "status" && id.kind == "CustomResourceDefinition",
        _ => false,
    }
}

/// Returns true if an edit only writes out a default of the Kubernetes API, or leaves it out, or
/// writes an equal quantity in another way.
///
/// `old` and `new` are the objects of the edit.
pub(super) fn is_default(id: &Identity, old: &Json, new: &Json, edit: &Edit) -> bool {
    let steps = edit.path.steps();
    let without = match (&edit.old, &edit.new) {
        (None, Some(_)) => old,
        (Some(_), None) => new,
        (Some(old), Some(new)) => return is_quantity(steps) && is_same_quantity(old, new),
        (None, None) => return false,
    };
    let Some(value) = edit.old.as_ref().or(edit.new.as_ref()) else { return false };
    let place = Place::of(id, steps);
    place.is_some_and(|place| place.is_unset(value))
        || computed(id, steps, without).is_some_and(|default| default == *value)
}

/// A field, by scope and by path in this scope.
struct Place {
    scope: Scope,
    path: String,
}

impl Place {
    /// Returns the place of a path; `None` for kinds whose defaults are unknown.
    fn of(id: &Identity, steps: &[Step]) -> Option<Self> {
        if is_custom(id) {
            return None;
        }
        if id.kind == "CustomResourceDefinition" && is_key(steps.get(3), "schema") {
            let keyword = steps.last().filter(|_| steps.len() > 5)?;
            let Step::Key(keyword) = keyword else { return None };
            // A property may have the name of a keyword.
            let named = is_key(steps.get(steps.len() - 2), "properties");
            return (!named).then(|| Place { scope: Schema, path: keyword.clone() });
        }

        let shape = shape(steps);
        if let Some(template) = pod_template(&id.kind) {
            let below = shape.strip_prefix(template).and_then(|rest| match rest {
                ["spec", rest @ ..] if !rest.is_empty() => Some(rest),
                _ => None,
            });
            if let Some(rest) = below {
                return Some(Self::in_pod(rest));
            }
        }
        let kind = DEFAULTS.iter().find_map(|(scope, ..)| match scope {
            Kind(kind) if *kind == id.kind => Some(*scope),
            _ => None,
        });
        Some(Place { scope: kind.unwrap_or(Kind("")), path: join(&shape) })
    }

    fn in_pod(rest: &[&str]) -> Self {
        match rest {
            ["containers" | "initContainers", "[]", probe, rest @ ..]
                if probe.ends_with("Probe") && !rest.is_empty() =>
            {
                Place { scope: Probe, path: join(rest) }
            }
            ["containers" | "initContainers", "[]", rest @ ..] if !rest.is_empty() => {
                Place { scope: Container, path: join(rest) }
            }
            ["volumes", "[]", rest @ ..] if !rest.is_empty() => {
                Place { scope: Volume, path: join(rest) }
            }
            rest => Place { scope: Pod, path: join(rest) },
        }
    }

    /// Returns true if the value means the same as no value.
    fn is_unset(&self, value: &Json) -> bool {
        let known = DEFAULTS
            .iter()
            .find(|(scope, path, _)| *scope == self.scope && *path == self.path)
            .map(|(.., default)| *default);
        match (value, known) {
            (Json::Null, _) => !(self.scope == Schema && self.path == "default"),
            // The API's Go types do not distinguish empty lists from missing ones.
            (Json::Array(items), _) if items.is_empty() => {
                !(self.scope == Schema && ["default", "enum"].contains(&self.path.as_str()))
            }
            (Json::Object(map), Some("{}")) => map.iter().all(|(key, value)| {
                let path = format!("{}.{key}", self.path);
                Place { scope: self.scope, path }.is_unset(value)
            }),
            (Json::Object(map), None) if self.is_in_every_object() => {
                map.iter().all(|(key, value)| {
                    let path = format!("{}.{key}", self.path);
                    Place { scope: self.scope, path }.is_unset(value)
                })
            }
            (value, Some(default)) => {
                serde_json::from_str::<Json>(default).ok().as_ref() == Some(value)
            }
            _ => false,
        }
    }
}

impl Place {
    /// Returns true for the maps of every object that may be left out.
    fn is_in_every_object(&self) -> bool {
        ["metadata.labels", "metadata.annotations", "metadata"]
            .iter()
            .any(|field| self.path == *field || self.path.ends_with(&format!(".{field}")))
            || self.path == "status"
    }
}

/// Returns true for kinds outside of Kubernetes' own API groups.
fn is_custom(id: &Identity) -> bool {
    super::is_description(id) || id.group.contains('.') && !id.group.ends_with(".k8s.io")
}

/// Returns the default of a field that depends on its siblings, in the object without the field.
fn computed(id: &Identity, steps: &[Step], object: &Json) -> Option<Json> {
    let (Step::Key(field), parents) = steps.split_last()? else { return None };
    let parent = || parents.iter().try_fold(object, step);
    let text = |key: &str| parent()?.get(key)?.as_str();
    match (id.kind.as_str(), field.as_str()) {
        ("Service", "targetPort") => parent()?.get("port").cloned(),
        ("CustomResourceDefinition", "singular") => Some(json!(text("kind")?.to_lowercase())),
        ("CustomResourceDefinition", "listKind") => Some(json!(format!("{}List", text("kind")?))),
        // Ingress rules always apply; egress rules only if there are any.
        ("NetworkPolicy", "policyTypes") => Some(match parent()?.get("egress") {
            Some(_) => json!(["Ingress", "Egress"]),
            None => json!(["Ingress"]),
        }),
        ("RoleBinding" | "ClusterRoleBinding", "apiGroup") => match text("kind")? {
            "User" | "Group" => Some(json!("rbac.authorization.k8s.io")),
            _ => None,
        },
        (kind, "serviceAccount") => {
            pod_template(kind)?;
            parent()?.get("serviceAccountName").cloned()
        }
        (kind, "imagePullPolicy") => {
            pod_template(kind)?;
            Some(json!(pull_policy(text("image")?)))
        }
        _ => None,
    }
}

/// Returns the default `imagePullPolicy` of an image.
fn pull_policy(image: &str) -> &'static str {
    let name = image.rsplit('/').next().unwrap_or(image);
    let latest = name.ends_with(":latest") || !name.contains(':');
    if latest && !image.contains('@') { "Always" } else { "IfNotPresent" }
}

/// Returns the value one step below a value.
fn step<'j>(value: &'j Json, step: &Step) -> Option<&'j Json> {
    match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
        Step::Item(name) => value.as_array()?.iter().find(|item| is_item(item, name)),
        Step::Order(_) => None,
    }
}

fn shape(steps: &[Step]) -> Vec<&str> {
    let shape = steps.iter().map(|step| match step {
        Step::Key(key) => key.as_str(),
        Step::Order(_) => "[order]",
        _ => "[]",
    });
    shape.collect()
}

/// Joins keys as the rows of [`DEFAULTS`] write them: `env[].value`.
fn join(shape: &[&str]) -> String {
    shape.join(".").replace(".[]", "[]")
}

fn is_key(step: Option<&Step>, name: &str) -> bool {
    matches!(step, Some(Step::Key(key)) if key == name)
}

/// Maps whose values are quantities, and fields with one.
const QUANTITIES: [&str; 5] = ["limits", "requests", "capacity", "hard", "overhead"];

fn is_quantity(steps: &[Step]) -> bool {
    let key = |step: Option<&Step>| match step {
        Some(Step::Key(key)) => Some(key.clone()),
        _ => None,
    };
    let parent = steps.len().checked_sub(2).and_then(|at| key(steps.get(at)));
    parent.is_some_and(|parent| QUANTITIES.contains(&parent.as_str()))
        || ["sizeLimit", "divisor"].iter().any(|name| is_key(steps.last(), name))
}

fn is_same_quantity(old: &Json, new: &Json) -> bool {
    quantity(old).zip(quantity(new)).is_some_and(|(old, new)| old == new)
}

#[cfg(test)]
mod tests {
    use super::{DEFAULTS, pull_policy};
    use crate::tree::edits;
    use crate::{Options, Side, compare};
    use serde_json::{Value as Json, json};

    #[test]
    fn rows_are_unique_and_json() {
        for (index, (scope, path, default)) in DEFAULTS.iter().enumerate() {
            assert!(serde_json::from_str::<Json>(default).is_ok(), "{path}: {default}");
            let again = |(other, name, _): &&(_, _, _)| other == scope && name == path;
            assert_eq!(DEFAULTS.iter().position(|row| again(&row)), Some(index), "{path} twice");
        }
    }

    #[test]
    fn pull_policies() {
        for (image, policy) in [
            ("r.io/a:1", "IfNotPresent"),
            ("r.io/a", "Always"),
            ("r.io:5000/a", "Always"),
            ("r.io/a:latest", "Always"),
            ("r.io/a@sha256:0", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }

    /// An object, a field of it with its default, and a value that is not the default.
    type Row = (Json, &'static str, Json, Json);

    fn rows() -> Vec<Row> {
        let object = |api: &str, kind: &str, rest: Json| {
            let mut object = json!({"apiVersion": api, "kind": kind, "metadata": {"name": "x"}});
            object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            object
        };
        let pod = json!({"containers": [{"name": "c", "image": "r.io/a:1",
            "ports": [{"containerPort": 80}], "livenessProbe": {"httpGet": {"port": 80}},
            "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}],
            "serviceAccountName": "sa", "volumes": [{"name": "v", "secret": {"secretName": "s"}}]});
        let deployment =
            || object("apps/v1", "Deployment", json!({"spec": {"template": {"spec": pod}}}));
        let service =
            || object("v1", "Service", json!({"spec": {"ports": [{"name": "a", "port": 80}]}}));
        let webhook = || {
            object(
                "admissionregistration.k8s.io/v1",
                "ValidatingWebhookConfiguration",
                json!({"webhooks": [{"name": "w", "rules": [{"operations": ["*"]}]}]}),
            )
        };
        let crd = || {
            object(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                json!({"spec": {"group": "g", "names": {"kind": "Widget"}, "versions": [{"name": "v1",
                    "schema": {"openAPIV3Schema": {"properties": {"a": {"type": "array"}}}}}]}}),
            )
        };
        let binding = || {
            object(
                "rbac.authorization.k8s.io/v1",
                "RoleBinding",
                json!({"roleRef": {"kind": "Role", "name": "r"},
                    "subjects": [{"kind": "User", "name": "u"}]}),
            )
        };
        let pods = "/spec/template/spec";
        let of_pod =
            |field: &'static str, default: Json, other: Json| (deployment(), field, default, other);
        assert_eq!(pods, "/spec/template/spec");
        vec![
            of_pod("/spec/template/spec/dnsPolicy", json!("ClusterFirst"), json!("Default")),
            of_pod("/spec/template/spec/restartPolicy", json!("Always"), json!("Never")),
            of_pod("/spec/template/spec/terminationGracePeriodSeconds", json!(30), json!(10)),
            of_pod("/spec/template/spec/serviceAccount", json!("sa"), json!("other")),
            of_pod("/spec/template/spec/securityContext", json!({}), json!({"fsGroup": 1})),
            of_pod("/spec/template/spec/tolerations", json!([]), json!([{"operator": "Exists"}])),
            of_pod("/spec/template/spec/hostNetwork", json!(false), json!(true)),
            of_pod(
                "/spec/template/spec/containers/0/imagePullPolicy",
                json!("IfNotPresent"),
                json!("Always"),
            ),
            of_pod("/spec/template/spec/containers/0/ports/0/protocol", json!("TCP"), json!("UDP")),
            of_pod(
                "/spec/template/spec/containers/0/livenessProbe/timeoutSeconds",
                json!(1),
                json!(2),
            ),
            of_pod(
                "/spec/template/spec/containers/0/livenessProbe/httpGet/scheme",
                json!("HTTP"),
                json!("HTTPS"),
            ),
            of_pod(
                "/spec/template/spec/containers/0/env/0/valueFrom/fieldRef/apiVersion",
                json!("v1"),
                json!("v2"),
            ),
            of_pod(
                "/spec/template/spec/containers/0/resources",
                json!({}),
                json!({"limits": {"cpu": 1}}),
            ),
            of_pod("/spec/template/spec/volumes/0/secret/defaultMode", json!(420), json!(256)),
            of_pod("/spec/replicas", json!(1), json!(2)),
            of_pod(
                "/spec/strategy",
                json!({"type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "25%"}}),
                json!({"type": "Recreate"}),
            ),
            of_pod("/spec/template/metadata", json!({"labels": {}}), json!({"labels": {"a": "b"}})),
            (service(), "/spec/type", json!("ClusterIP"), json!("NodePort")),
            (service(), "/spec/sessionAffinity", json!("None"), json!("ClientIP")),
            (service(), "/spec/ports/0/protocol", json!("TCP"), json!("UDP")),
            (service(), "/spec/ports/0/targetPort", json!(80), json!(8080)),
            (webhook(), "/webhooks/0/failurePolicy", json!("Fail"), json!("Ignore")),
            (webhook(), "/webhooks/0/timeoutSeconds", json!(10), json!(5)),
            (webhook(), "/webhooks/0/matchPolicy", json!("Equivalent"), json!("Exact")),
            (
                webhook(),
                "/webhooks/0/namespaceSelector",
                json!({}),
                json!({"matchLabels": {"a": "b"}}),
            ),
            (webhook(), "/webhooks/0/rules/0/scope", json!("*"), json!("Cluster")),
            (
                crd(),
                "/spec/conversion",
                json!({"strategy": "None"}),
                json!({"strategy": "Webhook"}),
            ),
            (crd(), "/spec/names/listKind", json!("WidgetList"), json!("Widgets")),
            (crd(), "/spec/names/singular", json!("widget"), json!("w")),
            (
                crd(),
                "/spec/versions/0/schema/openAPIV3Schema/properties/a/x-kubernetes-list-type",
                json!("atomic"),
                json!("set"),
            ),
            (
                crd(),
                "/spec/versions/0/schema/openAPIV3Schema/properties/a/nullable",
                json!(false),
                json!(true),
            ),
            (binding(), "/roleRef/apiGroup", json!("rbac.authorization.k8s.io"), json!("g")),
            (binding(), "/subjects/0/apiGroup", json!("rbac.authorization.k8s.io"), json!("g")),
        ]
    }

    fn is_empty(old: &Json, new: &Json) -> bool {
        let side = |object: &Json| Side::new("x", [object.clone()], "ns", None);
        compare(side(old), side(new), &Options::default()).is_empty()
    }

    /// The object with a value at a pointer.
    fn with(object: &Json, pointer: &str, value: &Json) -> Json {
        let mut object = object.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[key] = value.clone();
        object
    }

    #[test]
    fn a_default_written_out_is_no_difference_and_another_value_is() {
        for (object, pointer, default, other) in rows() {
            let written = with(&object, pointer, &default);
            assert!(!edits(&object, &written).is_empty(), "{pointer}");
            assert!(is_empty(&object, &written), "{pointer} added");
            assert!(is_empty(&written, &object), "{pointer} removed");
            let other = with(&object, pointer, &other);
            assert!(!is_empty(&object, &other), "{pointer} changed");
            assert!(!is_empty(&written, &other), "{pointer} from the default");
        }
    }

    #[test]
    fn defaults_of_merge_keys_do_not_split_items() {
        let ports = |port: Json| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"},
                "spec": {"containers": [{"name": "c", "image": "a", "ports": [port]}]}})
        };
        let bare = ports(json!({"containerPort": 80}));
        assert!(is_empty(&bare, &ports(json!({"containerPort": 80, "protocol": "TCP"}))));
        assert!(!is_empty(&bare, &ports(json!({"containerPort": 80, "protocol": "UDP"}))));
    }

    #[test]
    fn equal_quantities_are_no_difference() {
        let limit = |cpu: Json| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {
                "containers": [{"name": "c", "resources": {"limits": {"cpu": cpu}}}]}})
        };
        assert!(is_empty(&limit(json!("100m")), &limit(json!("0.1"))));
        assert!(is_empty(&limit(json!("1")), &limit(json!(1))));
        assert!(!is_empty(&limit(json!("100m")), &limit(json!("0.2"))));
    }

    #[test]
    fn custom_resources_have_no_defaults() {
        let custom = |spec: Json| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}, "spec": spec});
        assert!(!is_empty(&custom(json!({})), &custom(json!({"items": []}))));
    }
}

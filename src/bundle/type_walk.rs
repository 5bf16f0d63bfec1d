//! Walks a value of a Kubernetes API type next to the JSON that it was read from.
//!
//! Reading alone does not check two facts that the types of k8s-openapi know: they write a required
//! field also if JSON lacks it, with the zero value of its type, and a quantity, which is any text to
//! them, as a type of its own. So both are checked for all fields of all kinds, without a list. What they
//! do not know is in tables, by the names of types.

use super::typed::TypeMismatch;
use crate::diag::suggest;
use crate::ir::{push_key, quantity};
use serde::Serialize;
use serde::de::value::Error;
use serde::ser::{self, Impossible, Serializer};
use serde_json::Value as Json;

/// Required fields whose zero value the API server accepts, with their type.
const ZERO_IS_VALID: [(&str, &str); 9] = [
    ("CustomResourceDefinitionVersion", "served"),
    ("CustomResourceDefinitionVersion", "storage"),
    ("HTTPHeader", "value"),
    // Of ServiceAccounts and pods: nothing is pulled with it.
    ("LocalObjectReference", "name"),
    // A namespace without limits.
    ("LimitRangeSpec", "limits"),
    // The first logical unit.
    ("ISCSIVolumeSource", "lun"),
    ("SleepAction", "seconds"),
    // Of a claim template, which needs neither.
    ("PersistentVolumeClaim", "apiVersion"),
    ("PersistentVolumeClaim", "kind"),
];

/// Fields that a type does not require, but the API server: at least one of them. The types, and so the
/// fields, are those of k8s-openapi; `validation.go` of each group has the rules.
const REQUIRED_BY_SERVER: [(&str, &[&str]); 25] = [
    ("AggregationRule", &["clusterRoleSelectors"]),
    ("DownwardAPIVolumeFile", &["fieldRef", "resourceFieldRef"]),
    ("EnvFromSource", &["configMapRef", "secretRef"]),
    (
        "EnvVarSource",
        &["configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"],
    ),
    ("Ingress", &["spec"]),
    ("IngressBackend", &["resource", "service"]),
    ("IngressClass", &["spec"]),
    ("IngressClassSpec", &["controller"]),
    ("IngressServiceBackend", &["port"]),
    ("IngressSpec", &["defaultBackend", "rules"]),
    ("Job", &["spec"]),
    ("JobTemplateSpec", &["spec"]),
    ("NetworkPolicyPeer", &["ipBlock", "namespaceSelector", "podSelector"]),
    ("PersistentVolumeClaim", &["spec"]),
    ("Pod", &["spec"]),
    ("PodTemplateSpec", &["spec"]),
    ("Probe", &["exec", "grpc", "httpGet", "tcpSocket"]),
    ("RuleWithOperations", &["apiGroups"]),
    ("RuleWithOperations", &["apiVersions"]),
    ("RuleWithOperations", &["operations"]),
    ("RuleWithOperations", &["resources"]),
    ("SecretVolumeSource", &["secretName"]),
    ("Service", &["spec"]),
    ("ServiceBackendPort", &["name", "number"]),
    ("WebhookClientConfig", &["service", "url"]),
];

/// Values of fields that are one of a few, or a list of such, sorted by type. Kubernetes: the enums of
/// its OpenAPI document; of autoscalers, CRDs and RBAC `validation.go`, because that has none for them.
/// `restartPolicy` depends on the kind (`passes/lint/refusals`).
const VALUES: [(&str, &str, &[&str]); 67] = [
    ("AppArmorProfile", "type", &["Localhost", "RuntimeDefault", "Unconfined"]),
    ("Container", "imagePullPolicy", PULL_POLICIES),
    ("Container", "terminationMessagePolicy", &["File", "FallbackToLogsOnError"]),
    ("ContainerPort", "protocol", PROTOCOLS),
    ("CronJobSpec", "concurrencyPolicy", &["Allow", "Forbid", "Replace"]),
    ("CustomResourceColumnDefinition", "type", &["boolean", "date", "integer", "number", "string"]),
    ("CustomResourceConversion", "strategy", &["None", "Webhook"]),
    ("CustomResourceDefinitionSpec", "scope", &["Cluster", "Namespaced"]),
    ("DaemonSetUpdateStrategy", "type", UPDATES),
    ("DeploymentStrategy", "type", &["Recreate", "RollingUpdate"]),
    ("HPAScalingPolicy", "type", &["Percent", "Pods"]),
    ("HPAScalingRules", "selectPolicy", &["Disabled", "Max", "Min"]),
    ("HTTPGetAction", "scheme", &["HTTP", "HTTPS"]),
    ("HTTPIngressPath", "pathType", &["Exact", "ImplementationSpecific", "Prefix"]),
    (
        "HostPathVolumeSource",
        "type",
        &[
            "BlockDevice",
            "CharDevice",
            "Directory",
            "DirectoryOrCreate",
            "File",
            "FileOrCreate",
            "Socket",
        ],
    ),
    ("ImageVolumeSource", "pullPolicy", PULL_POLICIES),
    ("IngressClassParametersReference", "scope", &["Cluster", "Namespace"]),
    ("JobSpec", "completionMode", &["Indexed", "NonIndexed"]),
    ("JobSpec", "podReplacementPolicy", &["Failed", "TerminatingOrFailed"]),
    ("LabelSelectorRequirement", "operator", &["DoesNotExist", "Exists", "In", "NotIn"]),
    ("MetricSpec", "type", &["ContainerResource", "External", "Object", "Pods", "Resource"]),
    ("MetricTarget", "type", &["AverageValue", "Utilization", "Value"]),
    ("MutatingWebhook", "failurePolicy", FAILURES),
    ("MutatingWebhook", "matchPolicy", MATCHES),
    ("MutatingWebhook", "reinvocationPolicy", &["IfNeeded", "Never"]),
    ("MutatingWebhook", "sideEffects", SIDE_EFFECTS),
    ("NetworkPolicyPort", "protocol", PROTOCOLS),
    ("NetworkPolicySpec", "policyTypes", &["Egress", "Ingress"]),
    ("NodeSelectorRequirement", "operator", &["DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"]),
    (
        "PersistentVolumeClaimSpec",
        "accessModes",
        &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"],
    ),
    ("PersistentVolumeClaimSpec", "volumeMode", &["Block", "Filesystem"]),
    ("PodDisruptionBudgetSpec", "unhealthyPodEvictionPolicy", &["AlwaysAllow", "IfHealthyBudget"]),
    ("PodFailurePolicyOnExitCodesRequirement", "operator", &["In", "NotIn"]),
    ("PodFailurePolicyRule", "action", &["Count", "FailIndex", "FailJob", "Ignore"]),
    ("PodSecurityContext", "fsGroupChangePolicy", &["Always", "OnRootMismatch"]),
    ("PodSecurityContext", "supplementalGroupsPolicy", &["Merge", "Strict"]),
    ("PodSpec", "dnsPolicy", &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"]),
    ("PodSpec", "preemptionPolicy", &["Never", "PreemptLowerPriority"]),
    ("PriorityClass", "preemptionPolicy", &["Never", "PreemptLowerPriority"]),
    ("RoleRef", "apiGroup", RBAC),
    ("RoleRef", "kind", &["ClusterRole", "Role"]),
    ("RuleWithOperations", "operations", &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]),
    ("RuleWithOperations", "scope", &["*", "Cluster", "Namespaced"]),
    ("SeccompProfile", "type", &["Localhost", "RuntimeDefault", "Unconfined"]),
    ("SecurityContext", "procMount", &["Default", "Unmasked"]),
    ("ServicePort", "protocol", PROTOCOLS),
    ("ServiceSpec", "externalTrafficPolicy", &["Cluster", "Local"]),
    ("ServiceSpec", "internalTrafficPolicy", &["Cluster", "Local"]),
    ("ServiceSpec", "ipFamilies", &["IPv4", "IPv6"]),
    ("ServiceSpec", "ipFamilyPolicy", &["PreferDualStack", "RequireDualStack", "SingleStack"]),
    ("ServiceSpec", "sessionAffinity", &["ClientIP", "None"]),
    ("ServiceSpec", "type", &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]),
    ("StatefulSetSpec", "podManagementPolicy", &["OrderedReady", "Parallel"]),
    ("StatefulSetUpdateStrategy", "type", UPDATES),
    ("StorageClass", "reclaimPolicy", &["Delete", "Recycle", "Retain"]),
    ("StorageClass", "volumeBindingMode", &["Immediate", "WaitForFirstConsumer"]),
    ("Subject", "apiGroup", RBAC),
    ("Subject", "kind", &["Group", "ServiceAccount", "User"]),
    ("Toleration", "effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"]),
    ("Toleration", "operator", &["Equal", "Exists"]),
    ("TopologySpreadConstraint", "nodeAffinityPolicy", &["Honor", "Ignore"]),
    ("TopologySpreadConstraint", "nodeTaintsPolicy", &["Honor", "Ignore"]),
    ("TopologySpreadConstraint", "whenUnsatisfiable", &["DoNotSchedule", "ScheduleAnyway"]),
    ("ValidatingWebhook", "failurePolicy", FAILURES),
    ("ValidatingWebhook", "matchPolicy", MATCHES),
    ("ValidatingWebhook", "sideEffects", SIDE_EFFECTS),
    ("VolumeMount", "mountPropagation", &["Bidirectional", "HostToContainer", "None"]),
];

const FAILURES: &[&str] = &["Fail", "Ignore"];
const MATCHES: &[&str] = &["Equivalent", "Exact"];
const PROTOCOLS: &[&str] = &["TCP", "UDP", "SCTP"];
const PULL_POLICIES: &[&str] = &["Always", "IfNotPresent", "Never"];
const RBAC: &[&str] = &["rbac.authorization.k8s.io"];
const SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun"];
const UPDATES: &[&str] = &["OnDelete", "RollingUpdate"];

/// Returns the rows of a table that are about a type.
fn rows_of<'t, R>(table: &'t [R], name: &str, name_of: impl Fn(&R) -> &str) -> &'t [R] {
    let start = table.partition_point(|row| name_of(row) < name);
    let rows = &table[start..];
    &rows[..rows.partition_point(|row| name_of(row) == name)]
}

/// Required fields that a map lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingField {
    /// JSON path of the map; empty for the object itself.
    pub path: String,
    /// The fields, of which one is enough.
    pub fields: Vec<&'static str>,
}

impl MissingField {
    /// Describes what an object lacks: "has no value …".
    pub fn describe(&self) -> String {
        let Self { path, fields } = self;
        match fields.as_slice() {
            [field] => format!("has no value for required field `{path}.{field}`"),
            fields => format!("has none of {} at `{path}`", suggest::list(fields)),
        }
    }
}

/// The findings about a value.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Required fields that JSON lacks.
    pub(super) missing: Vec<MissingField>,
    /// Values that their type does not allow.
    pub(super) mismatches: Vec<TypeMismatch>,
    /// Paths of values that their field does not allow, and what the object has there.
    pub(super) unsupported: Vec<(String, String)>,
}

/// Compares `typed` with `json`, which it was read from.
pub(super) fn walk(typed: &impl Serialize, json: &Json) -> Findings {
    let mut found = Findings::default();
    // Nothing below returns an error.
    let _ = typed.serialize(Place { json, path: String::new(), found: &mut found });
    found
}

/// A place in the JSON, as the serializer of the value that was read from there.
struct Place<'a> {
    json: &'a Json,
    path: String,
    found: &'a mut Findings,
}

impl Place<'_> {
    fn expect(&mut self, fits: bool, expected: &str) -> Result<(), Error> {
        if !fits {
            let path = self.path.clone();
            let why = format!("it must be {expected}");
            self.found.mismatches.push(TypeMismatch { path, why });
        }
        Ok(())
    }
}

/// The entries of a map or struct, or the items of a list.
struct Parts<'a> {
    place: Place<'a>,
    /// Name of the struct; empty for others.
    name: &'static str,
    /// Key of the next entry of a map.
    key: String,
    /// Number of the next item of a list.
    index: usize,
}

impl<'a> Parts<'a> {
    fn of(place: Place<'a>, name: &'static str) -> Result<Self, Error> {
        Ok(Parts { place, name, key: String::new(), index: 0 })
    }

    /// Compares an entry that JSON has.
    fn entry<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), Error> {
        let Place { json, path, found } = &mut self.place;
        let Some(json) = json.get(key) else { return Ok(()) };
        let mut path = path.clone();
        push_key(&mut path, key);
        value.serialize(Place { json, path, found })
    }
}

impl ser::SerializeSeq for Parts<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let Place { json, path, found } = &mut self.place;
        let index = self.index;
        self.index += 1;
        // Both lists have the same length, because one was read from the other.
        let Some(json) = json.get(index) else { return Ok(()) };
        value.serialize(Place { json, path: format!("{path}[{index}]"), found })
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

impl ser::SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        // Keys of maps are strings in the API, but types of their own to serde.
        let key = serde_json::to_value(key).map_err(ser::Error::custom)?;
        self.key = key.as_str().unwrap_or_default().to_owned();
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let key = std::mem::take(&mut self.key);
        self.entry(&key, value)
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

impl ser::SerializeStruct for Parts<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let Place { json, path, found } = &mut self.place;
        if json.get(key).is_none() && !ZERO_IS_VALID.contains(&(self.name, key)) {
            found.missing.push(MissingField { path: path.clone(), fields: vec![key] });
        }
        self.entry(key, value)
    }

    fn end(self) -> Result<(), Error> {
        let Place { json, path, found } = self.place;
        for (_, fields) in rows_of(&REQUIRED_BY_SERVER, self.name, |row| row.0) {
            if fields.iter().all(|field| json.get(field).is_none()) {
                found.missing.push(MissingField { path: path.clone(), fields: fields.to_vec() });
            }
        }

        for (_, field, known) in rows_of(&VALUES, self.name, |row| row.0) {
            let mut path = path.clone();
            push_key(&mut path, field);
            let values: Vec<(String, &Json)> = match json.get(field) {
                Some(Json::Array(items)) => {
                    let items = items.iter().enumerate();
                    items.map(|(index, item)| (format!("{path}[{index}]"), item)).collect()
                }
                value => value.map(|value| (path, value)).into_iter().collect(),
            };
            for (path, value) in values {
                if let Some(value) = value.as_str().filter(|value| !known.contains(value)) {
                    let known = known.join("`, `");
                    let what = format!("has {field} `{value}`, not `{known}`");
                    found.unsupported.push((path, what));
                }
            }
        }
        Ok(())
    }
}

/// Serializers of leaves, whose types reading has checked.
macro_rules! leaves {
    ($($method:ident($type:ty))*) => {
        $(fn $method(self, _: $type) -> Result<(), Error> {
            Ok(())
        })*
    };
}

impl<'a> Serializer for Place<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Parts<'a>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    // Types of the Kubernetes API have none of these.
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    leaves! {
        serialize_bool(bool)
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64)
        serialize_f32(f32) serialize_f64(f64)
        serialize_char(char) serialize_str(&str) serialize_bytes(&[u8]) serialize_unit_struct(&'static str)
    }

    fn serialize_none(self) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        mut self,
        name: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        let json = self.json;
        match name {
            "Quantity" => {
                self.expect(quantity(json).is_some(), "a quantity such as `500m` or `1Gi`")
            }
            // A struct without fields, which k8s-openapi reads as any value.
            "CustomResourceSubresourceStatus" => self.expect(json.is_object(), "a map"),
            // Times, which reading has checked, and free-form values.
            _ => Ok(()),
        }
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'a>, Error> {
        Parts::of(self, "")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'a>, Error> {
        Parts::of(self, "")
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Parts<'a>, Error> {
        Parts::of(self, name)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Error> {
        Err(unexpected())
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Error> {
        Err(unexpected())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        Err(unexpected())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        Err(unexpected())
    }
}

fn unexpected() -> Error {
    ser::Error::custom("not a type of the Kubernetes API")
}

#[cfg(test)]
mod tests;

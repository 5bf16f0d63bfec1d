//! Checks a tree against the types and fields of a Kubernetes API type.

use super::type_walk::{Findings, MissingField, walk};
use crate::ir::{ReadError, Step, group_of, path_of, read_as, truth};
use k8s_openapi::Resource;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::autoscaling::{v1, v2};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{
    ConfigMap, LimitRange, Namespace, PersistentVolumeClaim, Pod, ResourceQuota, Secret, Service,
    ServiceAccount,
};
use k8s_openapi::api::networking::v1::{Ingress, IngressClass, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::api::resource::v1::{ResourceClaim, ResourceClaimTemplate};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// A value that does not match its type.
#[derive(Debug, PartialEq, Eq)]
pub struct TypeMismatch {
    /// JSON path in the tree; empty for the tree itself.
    pub path: String,
    /// The reason, without the value, which may be a secret.
    pub why: String,
}

impl TypeMismatch {
    /// Returns a hint if only the spelling of the value is wrong.
    pub fn spelling(&self) -> Option<&'static str> {
        if self.why == "it must be base64" {
            return Some("encode the value with `base64`, or move it to `stringData`");
        }
        let (expected, found) = self.why.strip_prefix("it must be ")?.split_once(", but it is ")?;
        match (expected, found) {
            ("a string", "a boolean" | "an integer" | "a number with a fraction") => {
                Some("put the value in quotes")
            }
            ("a boolean", "a string") => Some("write true or false without quotes"),
            _ => None,
        }
    }
}

impl From<ReadError> for TypeMismatch {
    fn from(ReadError { path, why }: ReadError) -> Self {
        TypeMismatch { path: path_of(&path), why }
    }
}

/// The differences between a tree and a type.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TypeCheck {
    /// The values that do not match.
    pub mismatches: Vec<TypeMismatch>,
    /// Entries of maps that the type has no field for; those of a tree that fits.
    pub unknown_fields: Vec<Vec<Step>>,
    /// Required fields that are missing or have the zero value of their type, which is the same to the
    /// API server; those of a tree that fits.
    pub missing: Vec<MissingField>,
    /// JSON paths of values that the API server does not allow there, and what the object has at them;
    /// those of a tree that fits.
    pub unsupported: Vec<(String, String)>,
}

impl TypeCheck {
    /// Returns JSON paths of what the API server refuses of a tree that fits, and what the object has there.
    pub fn refusals(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let missing = self.missing.iter().map(|one| (one.path.clone(), one.describe()));
        missing.chain(self.unsupported.iter().cloned())
    }
}

/// A type of the Kubernetes API.
pub(super) trait ApiType: DeserializeOwned + Serialize {}

impl<T: DeserializeOwned + Serialize> ApiType for T {}

/// Group, `apiVersion` and `kind` of a type, and the check against it.
type Row = (&'static str, &'static str, &'static str, fn(Json) -> TypeCheck);

/// Built-in kinds that a bundle contains, that OLM creates from its CSV or that overlays add, in all
/// versions that Kubernetes serves; of one kind the current version first.
const TYPES: [Row; 31] = [
    row::<MutatingWebhookConfiguration>(),
    row::<ValidatingWebhookConfiguration>(),
    row::<CustomResourceDefinition>(),
    row::<Deployment>(),
    row::<NetworkPolicy>(),
    row::<PodDisruptionBudget>(),
    row::<ClusterRole>(),
    row::<ClusterRoleBinding>(),
    row::<Role>(),
    row::<RoleBinding>(),
    row::<PriorityClass>(),
    row::<ConfigMap>(),
    row::<Secret>(),
    row::<Service>(),
    row::<ServiceAccount>(),
    row::<DaemonSet>(),
    row::<StatefulSet>(),
    row::<v2::HorizontalPodAutoscaler>(),
    row::<v1::HorizontalPodAutoscaler>(),
    row::<CronJob>(),
    row::<Job>(),
    row::<LimitRange>(),
    row::<Namespace>(),
    row::<PersistentVolumeClaim>(),
    row::<Pod>(),
    row::<ResourceQuota>(),
    row::<Ingress>(),
    row::<IngressClass>(),
    row::<StorageClass>(),
    row::<ResourceClaim>(),
    row::<ResourceClaimTemplate>(),
];

const fn row<T: ApiType + Resource>() -> Row {
    (T::GROUP, T::API_VERSION, T::KIND, check::<T>)
}

/// Returns `apiVersion` and `kind` of all kinds that [`check_object`] knows.
pub fn checked_kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    TYPES.iter().map(|(_, version, kind, _)| (*version, *kind))
}

/// Returns the `apiVersion` of a built-in kind: this one if Kubernetes serves it, else the current one
/// of its group; `None` for other kinds.
pub fn served_version(api_version: &str, kind: &str) -> Option<&'static str> {
    let group = group_of(api_version);
    let of_kind = || TYPES.iter().filter(|row| (row.0, row.2) == (group, kind));
    let row = of_kind().find(|row| row.1 == api_version).or_else(|| of_kind().next());
    row.map(|(_, version, ..)| *version)
}

/// Compares an object with the type of its `apiVersion` and `kind`. Kinds that are not Kubernetes'
/// own, or that bundles do not ship, have no type and differ in nothing.
pub fn check_object(object: Json) -> TypeCheck {
    let is = |key: &str, text: &str| object[key].as_str() == Some(text);
    let row =
        TYPES.iter().find(|(_, version, kind, _)| is("apiVersion", version) && is("kind", kind));
    row.map(|(.., check)| check(object)).unwrap_or_default()
}

/// Compares `json` with `T`. Free-form parts of `T`, such as the default of a schema, allow any
/// field.
fn check<T: ApiType>(mut json: Json) -> TypeCheck {
    // The API server accepts null for missing values everywhere, `T` only for its own fields.
    let read = read_as::<T>(&json).or_else(|_| {
        drop_nulls(&mut json);
        read_as::<T>(&json)
    });
    let Ok(read) = read else {
        return TypeCheck { mismatches: mismatches::<T>(json), ..TypeCheck::default() };
    };
    let mut mismatches: Vec<_> = read.mismatches.into_iter().map(TypeMismatch::from).collect();
    mismatches.truncate(MOST);
    // Read again: a required field with a zero value is like a missing one to the API server, whose types
    // have no other zero value. Items of lists and empty maps stay.
    keep_entries(&mut json, |value| value.is_object() || truth(value));
    let found = read_as::<T>(&json).map(|read| walk(&read, &json)).unwrap_or_default();
    let Findings { mut missing, mut unsupported } = found;
    // Controllers write it, and the API server ignores that of an applied object.
    missing.retain(|found| !found.path.starts_with(".status"));
    unsupported.retain(|(path, _)| !path.starts_with(".status"));
    TypeCheck { mismatches, unknown_fields: read.unknown, missing, unsupported }
}

/// Maximum number of reported values per tree.
const MOST: usize = 20;

/// Finds the values in `json` that do not match `T`.
///
/// The API server accepts null for missing values everywhere, but `T` does not. serde stops at the
/// first value that does not fit, so it is replaced to find the next one.
pub(super) fn mismatches<T: ApiType>(mut json: Json) -> Vec<TypeMismatch> {
    let mut found: Vec<TypeMismatch> = Vec::new();
    while found.len() < MOST {
        drop_nulls(&mut json);
        let wrong = match read_as::<T>(&json) {
            Ok(read) => {
                found.extend(read.mismatches.into_iter().map(TypeMismatch::from));
                break;
            }
            Err(wrong) => wrong,
        };
        let steps = wrong.path.clone();
        let wrong = TypeMismatch::from(wrong);
        // The replacement did not fit either, so the next attempt would find it again.
        let again = found.iter().any(|mismatch| mismatch.path == wrong.path);
        let value = steps.iter().try_fold(&mut json, |value, step| match step {
            Step::Key(key) => value.get_mut(key),
            Step::Index(index) => value.get_mut(index),
            Step::Item(_) | Step::Order(_) => None,
        });
        match value {
            Some(value) if !again => *value = zero(&wrong.why),
            _ => break,
        }
        found.push(wrong);
    }
    found.truncate(MOST);
    found
}

/// Returns a value of the type that a mismatch names.
fn zero(why: &str) -> Json {
    match why.strip_prefix("it must be ").and_then(|why| why.split(',').next()) {
        Some("a map") => Json::Object(serde_json::Map::new()),
        Some("a list") => Json::Array(Vec::new()),
        Some("a string") => "".into(),
        Some("an integer" | "an integer or a string") => 0.into(),
        Some("a boolean") => false.into(),
        _ => Json::Null,
    }
}

fn drop_nulls(json: &mut Json) {
    keep_entries(json, |value| !value.is_null());
}

fn keep_entries(json: &mut Json, keep: fn(&Json) -> bool) {
    match json {
        Json::Array(items) => items.iter_mut().for_each(|item| keep_entries(item, keep)),
        Json::Object(map) => {
            map.retain(|_, value| keep(value));
            map.values_mut().for_each(|value| keep_entries(value, keep));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::apps::v1::DeploymentSpec;
    use serde_json::json;

    #[test]
    fn the_place_of_a_misfit() {
        let fits = json!({
            "selector": {}, "template": {"spec": {"containers": [{"name": "a", "args": []}]}}
        });
        assert_eq!(mismatches::<DeploymentSpec>(fits.clone()), []);
        for (change, value, path) in [
            (
                "/template/spec/containers",
                json!([{"name": "a"}, {"name": 5}]),
                ".template.spec.containers[1].name",
            ),
            (
                "/template/spec/containers",
                json!([{"name": "a", "ports": [{"containerPort": "x"}]}]),
                ".template.spec.containers[0].ports[0].containerPort",
            ),
            (
                "/template/spec",
                json!({"containers": [], "nodeSelector": {"a/b": true}}),
                ".template.spec.nodeSelector[\"a/b\"]",
            ),
            ("/template", json!("text"), ".template"),
            ("/selector", json!([]), ".selector"),
        ] {
            let mut spec = fits.clone();
            *spec.pointer_mut(change).expect("a place") = value;
            assert_eq!(mismatches::<DeploymentSpec>(spec)[0].path, path);
        }
    }

    #[test]
    fn every_misfit_is_found() {
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"labels": {"a/b": 1, "c": true}},
            "rules": [{"verbs": "get"}, 5, {"verbs": [1]}],
        });
        let found: Vec<_> =
            check_object(role).mismatches.into_iter().map(|m| (m.path, m.why)).collect();
        insta::assert_debug_snapshot!(found);
    }

    fn paths(missing: &MissingField) -> String {
        format!("{}.{}", missing.path, missing.fields.join("|"))
    }

    #[test]
    fn required_fields_have_another_value_than_zero() {
        let deployment = |container: Json| {
            check_object(json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
                "spec": {"selector": {}, "template": {"spec": {"containers": [container]}}},
            }))
        };
        let below = ".spec.template.spec.containers[0]";
        for (container, missing) in [
            (json!({"name": "a", "env": [{"name": "A", "value": ""}]}), ""),
            (json!({"env": [{"name": "A"}]}), ".name"),
            (json!({"name": ""}), ".name"),
            (json!({"name": null}), ".name"),
            (json!({"name": "a", "env": [{"name": "A"}, {"value": "a"}]}), ".env[1].name"),
            (json!({"name": "a", "ports": [{"name": "a"}]}), ".ports[0].containerPort"),
            (json!({"name": "a", "ports": [{"containerPort": 0}]}), ".ports[0].containerPort"),
            (
                json!({"name": "a", "envFrom": [{"prefix": "A"}]}),
                ".envFrom[0].configMapRef|secretRef",
            ),
            (
                json!({"name": "a", "livenessProbe": {"periodSeconds": 5}}),
                ".livenessProbe.exec|grpc|httpGet|tcpSocket",
            ),
            (
                json!({"name": "a", "env": [{"name": "A", "valueFrom": {"fieldRef": {}}}]}),
                ".env[0].valueFrom.fieldRef.fieldPath",
            ),
        ] {
            let expected: Vec<String> = Some(missing)
                .filter(|m| !m.is_empty())
                .map(|m| format!("{below}{m}"))
                .into_iter()
                .collect();
            let check = deployment(container.clone());
            let missing: Vec<String> = check.missing.iter().map(paths).collect();
            assert_eq!((missing, check.mismatches), (expected, Vec::new()), "{container}");
        }
        let none = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {}});
        let missing: Vec<String> = check_object(none).missing.iter().map(paths).collect();
        assert_eq!(missing, [".spec.selector", ".spec.template"]);
    }

    #[test]
    fn zero_is_a_value_of_few_required_fields() {
        for object in [
            json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "a"}}),
            json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": "a"},
                "spec": {
                    "group": "example.com", "names": {"kind": "A", "plural": "as"},
                    "scope": "Namespaced", "versions": [{"name": "v1", "served": false}],
                },
            }),
        ] {
            assert_eq!(check_object(object.clone()), TypeCheck::default(), "{object}");
        }
    }

    #[test]
    fn values_are_quantities_by_their_type() {
        let pod = |spec: Json| {
            check_object(json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
                "spec": {"selector": {}, "template": {"spec": spec}},
            }))
        };
        for (value, valid) in
            [(json!("64Mi"), true), (json!(1), true), (json!("x"), false), (json!(""), false)]
        {
            for (spec, path) in [
                (
                    json!({"containers": [{"name": "a", "resources": {"limits": {"memory": value}}}]}),
                    ".containers[0].resources.limits.memory",
                ),
                (
                    json!({"containers": [{"name": "a"}], "overhead": {"cpu": value}}),
                    ".overhead.cpu",
                ),
                (
                    json!({
                        "containers": [{"name": "a"}],
                        "volumes": [{"name": "a", "emptyDir": {"sizeLimit": value}}],
                    }),
                    ".volumes[0].emptyDir.sizeLimit",
                ),
            ] {
                let expected = (!valid).then(|| TypeMismatch {
                    path: format!(".spec.template.spec{path}"),
                    why: "it must be a quantity such as `500m` or `1Gi`".to_owned(),
                });
                assert_eq!(pod(spec).mismatches, Vec::from_iter(expected), "{path}: {value}");
            }
        }
    }

    #[test]
    fn quantities_are_checked_beside_other_mismatches() {
        let spec = json!({
            "selector": {}, "replicas": "many",
            "template": {"spec": {"containers": [
                {"name": "a", "resources": {"limits": {"memory": "x", "cpu": true}}},
            ]}},
        });
        let found = mismatches::<DeploymentSpec>(spec);
        let limits = ".template.spec.containers[0].resources.limits";
        let paths: Vec<&str> = found.iter().map(|found| found.path.as_str()).collect();
        assert_eq!(paths, [".replicas", &format!("{limits}.cpu"), &format!("{limits}.memory")]);
    }

    fn unknown(object: Json) -> Vec<String> {
        let check = check_object(object);
        assert_eq!(check.mismatches, []);
        check.unknown_fields.iter().map(|steps| path_of(steps)).collect()
    }

    #[test]
    fn fields_that_a_type_does_not_have() {
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "labels": {"any": "b"}, "owner": "me"},
            "spec": {
                "selector": {},
                "template": {
                    "containers": [],
                    "spec": {
                        "containers": [{"name": "a", "Image": "b", "resources": {"limits": {"any": 1}}}],
                        "volumes": [{"name": "c", "emptyDir": {}}, {"name": "d", "secretName": null}],
                    },
                },
            },
        });
        assert_eq!(
            unknown(deployment),
            [
                ".metadata.owner",
                ".spec.template.containers",
                ".spec.template.spec.containers[0].Image",
                ".spec.template.spec.volumes[1].secretName",
            ]
        );
    }

    #[test]
    fn unknown_fields_beside_a_null_that_a_type_does_not_take() {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": {"a": null}}, "dat": {},
        });
        assert_eq!(unknown(map), [".dat"]);
    }

    #[test]
    fn what_a_schema_says_of_any_value_is_no_field() {
        let schema = json!({
            "type": "object",
            "x-vendor": 1,
            "default": {"any": {"a": 1}},
            "example": {"any": 1},
            "properties": {"any": {"type": "array", "items": {"const": 1}}},
            "additionalProperties": {"x-other": {}},
        });
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "lamps.example.com"},
            "spec": {
                "group": "example.com", "names": {"kind": "Lamp", "plural": "lamps"},
                "scope": "Namespaced", "version": "v1",
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
            },
        });
        let below = ".spec.versions[0].schema.openAPIV3Schema";
        assert_eq!(
            unknown(crd),
            [
                ".spec.version".to_owned(),
                format!("{below}.x-vendor"),
                format!("{below}.properties.any.items.const"),
                format!("{below}.additionalProperties.x-other"),
            ]
        );
    }

    #[test]
    fn a_mismatch_names_the_type_that_is_written() {
        for (arg, found) in [
            (json!(7), "an integer"),
            (json!(1.5), "a number with a fraction"),
            (json!(true), "a boolean"),
            (json!({}), "a map"),
            (json!([]), "a list"),
            // Unlike in a map, a null in a list is a value.
            (json!(null), "null"),
        ] {
            let spec = json!({
                "selector": {}, "template": {"spec": {"containers": [{"name": "a", "args": [arg]}]}}
            });
            let why = format!("it must be a string, but it is {found}");
            let path = ".template.spec.containers[0].args[0]".to_owned();
            assert_eq!(mismatches::<DeploymentSpec>(spec), [TypeMismatch { path, why }]);
        }
    }

    #[test]
    fn at_most_20_mismatches_are_reported() {
        let labels: serde_json::Map<String, Json> =
            (0..25).map(|number| (format!("l{number}"), json!(number))).collect();
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": labels}});
        assert_eq!(check_object(map).mismatches.len(), 20);
        // Quantities are texts, which are checked last.
        for replicas in [json!(1), json!("1")] {
            let mut limits = labels.clone();
            limits.values_mut().for_each(|value| *value = json!("x"));
            let deployment = json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "spec": {"replicas": replicas, "selector": {}, "template": {"spec": {
                    "containers": [{"name": "a", "resources": {"limits": limits}}],
                }}},
            });
            assert_eq!(check_object(deployment).mismatches.len(), 20, "{replicas}");
        }
    }

    #[test]
    fn null_is_nothing() {
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {}, "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"spec": {"containers": [{"name": "a"}]}},
        }, "status": {"updatedReplicas": 0}});
        assert_eq!(check_object(set), TypeCheck::default());
        let range = json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {}, "spec": {"limits": []}});
        assert_eq!(check_object(range), TypeCheck::default());
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": {"a": null}}, "data": null});
        assert_eq!(check_object(map), TypeCheck::default());
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {},
            "spec": {"selector": {}, "template": {"spec": {
                "containers": [{"name": "a", "resources": {"limits": {"cpu": null}}}],
            }}},
        });
        assert_eq!(check_object(deployment), TypeCheck::default());
    }

    #[test]
    fn kinds_by_their_version() {
        assert_eq!(served_version("policy/v1beta1", "PodDisruptionBudget"), Some("policy/v1"));
        let scaler = |version| served_version(version, "HorizontalPodAutoscaler");
        assert_eq!(scaler("autoscaling/v1"), Some("autoscaling/v1"));
        assert_eq!(scaler("autoscaling/v2beta2"), Some("autoscaling/v2"));
        assert_eq!(served_version("v1", "Service"), Some("v1"));
        assert_eq!(served_version("serving.knative.dev/v1", "Service"), None);
        // Only the version that k8s-openapi has is checked.
        let other = json!({"apiVersion": "policy/v2", "kind": "PodDisruptionBudget", "spec": 5});
        assert_eq!(check_object(other), TypeCheck::default());
    }
}

//! Fields of built-in kinds that the manifest does not decide alone: immutable fields, defaults that
//! the API server stores, and fields that controllers set. `build` and `diff` use the same tables, and
//! the API server judges them in tests/api_server/field_ownership.rs.

use crate::embedded;
use crate::ir::Step;
use crate::ir::json::{at, text};
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// The tables of field_ownership.json.
#[derive(Default, Deserialize)]
#[serde(bound = "'de: 'static")]
struct Ownership {
    /// Immutable fields by kind, of a PersistentVolume also the volume itself. Source: the validation of
    /// each kind in kubernetes/pkg/apis.
    immutable: BTreeMap<&'static str, Vec<&'static str>>,
    /// Sources: pkg/controller of Kubernetes, cmd/cainjector of cert-manager, and OpenShift's service CA
    /// and network operators.
    controllers: Vec<Controller>,
}

static OWNERSHIP: LazyLock<Ownership> =
    LazyLock::new(|| embedded::json(include_str!("field_ownership.json")));

/// Returns the reason if the API server rejects an update of an object that changes a field at these
/// keys, with `[]` for items of lists.
pub fn immutable(kind: &str, old: &Json, new: &Json, shape: &[&str]) -> Option<String> {
    // The edit is in the field, or of a map around it.
    let is_changed = |field: &&&str| {
        let field: Vec<&str> = field.split('.').collect();
        shape.starts_with(&field) || field.starts_with(shape) && at(old, &field) != at(new, &field)
    };
    let mut fields = OWNERSHIP.immutable.get(kind).into_iter().flatten();
    if let Some(field) = fields.find(is_changed) {
        return Some(format!("{field}: immutable in a {kind}"));
    }

    let is = |object: &Json, keys: &[&str], value: Json| at(object, keys) == Some(&value);
    match kind {
        // The flag of the old object counts: the new one is what the API server rejects.
        "ConfigMap" | "Secret" => {
            let parts = ["data", "binaryData", "stringData", "immutable"];
            let frozen = is(old, &["immutable"], true.into()) && parts.contains(shape.first()?);
            frozen.then(|| format!("{}: the {kind} is immutable", shape.join(".")))
        }
        // The server keeps an address that the new manifest does not have, also that of a headless
        // Service, which cannot have ports of nodes.
        "Service" if shape == ["spec", "clusterIP"] => {
            let unset = at(new, shape).is_none_or(Json::is_null);
            let of_nodes = ["NodePort", "LoadBalancer"].contains(&text(new, &["spec", "type"]));
            let fixed = !unset || text(old, shape) == "None" && of_nodes;
            fixed.then(|| "spec.clusterIP: immutable in a Service".to_owned())
        }
        "Service" => {
            let balanced = |service| is(service, &["spec", "type"], "LoadBalancer".into());
            let fixed = shape == ["spec", "loadBalancerClass"] && balanced(old) && balanced(new);
            fixed.then(|| format!("{}: immutable in a load balancer", shape.join(".")))
        }
        "Pod" if shape.first() == Some(&"spec") && !is_mutable_in_pods(old, new, shape) => {
            Some(format!("{}: immutable in a Pod", shape.join(".")))
        }
        _ => None,
    }
}

/// Returns true for the changes of a running pod's `spec` that the API server accepts: other images,
/// added tolerations, and a deadline that is added or is earlier.
fn is_mutable_in_pods(old: &Json, new: &Json, shape: &[&str]) -> bool {
    let value = |object| at(object, shape).and_then(Json::as_i64);
    match shape {
        ["spec", "containers" | "initContainers", "[]", "image"] => true,
        ["spec", "tolerations", ..] => {
            let list = |object| at(object, &shape[..2]).and_then(Json::as_array);
            let (old, new) = (list(old).into_iter().flatten(), list(new));
            let mut old = old.map(|kept| new.is_some_and(|new| new.contains(kept)));
            old.all(|is_kept| is_kept)
        }
        ["spec", "activeDeadlineSeconds"] => {
            value(old).is_none_or(|old| value(new).is_some_and(|new| new <= old))
        }
        _ => false,
    }
}

/// Fields of a kind that may hold a default which another value of `type` forbids.
///
/// Server-side apply removes a field with all defaults below it if the old manifest has it, even
/// empty; so only a field that the server added as a whole is left. Of all unions of built-in kinds
/// (strategies, probes, hooks of containers, volumes, variables, Services, webhooks, conversions),
/// these are the ones that the server fills.
///
/// The rows are maps with a `type`, whose default is `RollingUpdate`, and with `rollingUpdate`, which the
/// server fills for that type and rejects for others.
const STORED_DEFAULTS: [(&str, [&str; 2]); 2] =
    [("Deployment", ["spec", "strategy"]), ("StatefulSet", ["spec", "updateStrategy"])];

/// Returns the field that the API server adds to `old` as a whole, and which it rejects next to what
/// `new` changes at these keys. Server-side apply (Helm 4) keeps it.
pub fn stored_default(kind: &str, old: &Json, new: &Json, shape: &[&str]) -> Option<String> {
    let (_, parent) = STORED_DEFAULTS.iter().find(|(of, _)| *of == kind)?;
    let rolling = |object: &Json| {
        let strategy = at(object, parent).and_then(|map| map.get("type"));
        strategy.and_then(Json::as_str).is_none_or(|kind| kind == "RollingUpdate")
    };
    let field = at(old, parent).and_then(|map| map.get("rollingUpdate"));
    let is_refused = rolling(old) && !rolling(new) && field.is_none_or(Json::is_null);
    let is_changed = [&parent[..], &["type"]].concat().starts_with(shape);
    (is_refused && is_changed).then(|| format!("{}.rollingUpdate", parent.join(".")))
}

/// A controller and fields that it sets. Server-side apply (Helm 4) of another value conflicts with it in
/// every upgrade after the controller has run.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Controller {
    /// The controller and when it sets the fields.
    #[serde(rename = "controller")]
    pub what: &'static str,
    /// True if no value of a manifest is ever in effect, so that charts leave the fields out.
    pub is_without_effect: bool,
    sets: Sets,
    fields: Vec<ControllerField>,
}

/// A field that a controller sets.
#[derive(Deserialize)]
#[serde(bound = "'de: 'static")]
struct ControllerField {
    kinds: Vec<&'static str>,
    /// The keys, with `[]` for items of lists.
    keys: Vec<&'static str>,
}

/// The objects for which a controller sets its fields.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sets {
    Always,
    /// The field at these keys is set.
    With(Vec<&'static str>),
    /// The field with this key has this value.
    Value(&'static str, &'static str),
    /// One of these annotations or labels is set, by which cert-manager's cainjector, or OpenShift's
    /// operators for its service CA and its proxy, inject a CA bundle.
    Marked(Vec<&'static str>),
    /// A HorizontalPodAutoscaler or ScaledObject scales the object, or a Service of the name of
    /// Endpoints selects pods.
    Targeted,
}

/// Returns the fields of a kind that controllers may set, as keys.
fn fields_of(kind: &str) -> impl Iterator<Item = (&'static Controller, &'static [&'static str])> {
    let rows = OWNERSHIP.controllers.iter();
    let rows = rows.flat_map(|row| row.fields.iter().map(move |field| (row, field)));
    let rows = rows.filter(move |(_, field)| field.kinds.contains(&kind));
    rows.map(|(row, field)| (row, field.keys.as_slice()))
}

/// Returns the kinds with a CA bundle that is injected, and the keys of the bundle.
pub(crate) fn ca_bundles() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let fields = OWNERSHIP.controllers.iter().flat_map(|row| &row.fields);
    let fields = fields.filter(|field| field.keys.last() == Some(&"caBundle"));
    fields.flat_map(|field| field.kinds.iter().map(|kind| (*kind, field.keys.as_slice())))
}

/// Kinds, namespaces and names of a set of objects that others of the set scale, or as Endpoints fill.
#[derive(Default)]
pub struct Targets(BTreeSet<[String; 3]>);

impl Targets {
    /// Returns the targets of these objects.
    pub fn of<'o>(objects: impl IntoIterator<Item = &'o Json>) -> Self {
        let mut targets = Targets::default();
        for object in objects {
            match text(object, &["kind"]) {
                // KEDA creates a HorizontalPodAutoscaler, by default for a Deployment.
                "HorizontalPodAutoscaler" | "ScaledObject" => {
                    let target = |key| text(object, &["spec", "scaleTargetRef", key]);
                    let kind = Some(target("kind")).filter(|kind| !kind.is_empty());
                    let kind = kind.unwrap_or("Deployment");
                    targets.0.insert(identity(object, kind, target("name")));
                }
                "Service" if at(object, &["spec", "selector"]).is_some() => {
                    let name = text(object, &["metadata", "name"]);
                    targets.0.insert(identity(object, "Endpoints", name));
                }
                _ => {}
            }
        }
        targets
    }

    /// Returns true if an autoscaler scales the object, or a Service fills it.
    pub fn contains(&self, object: &Json) -> bool {
        let (kind, name) = (text(object, &["kind"]), text(object, &["metadata", "name"]));
        self.0.contains(&identity(object, kind, name))
    }

    /// Returns the fields of an object that have a value and that a controller sets, each with its keys
    /// and its place.
    pub fn controlled(
        &self,
        object: &Json,
    ) -> Vec<(&'static Controller, &'static [&'static str], Vec<Step>)> {
        let rows = fields_of(text(object, &["kind"])).filter(|(row, _)| match &row.sets {
            Sets::Always => true,
            Sets::With(keys) => at(object, keys).is_some_and(|value| !value.is_null()),
            Sets::Value(key, value) => text(object, &[key]) == *value,
            Sets::Marked(names) => ["annotations", "labels"].iter().any(|list| {
                names
                    .iter()
                    .any(|name| !["", "false"].contains(&text(object, &["metadata", list, name])))
            }),
            Sets::Targeted => self.contains(object),
        });
        let places =
            |(row, keys)| places(object, keys).into_iter().map(move |place| (row, keys, place));
        rows.flat_map(places).collect()
    }
}

/// Returns the keys of the fields of a kind that a controller may set, up to the first list.
pub fn keys_of(kind: &str) -> impl Iterator<Item = &'static [&'static str]> {
    fields_of(kind).filter_map(|(_, keys)| keys.split(|key| *key == "[]").next())
}

/// Returns the places of keys, also with null, which server-side apply sends like any value.
fn places(value: &Json, keys: &[&str]) -> Vec<Vec<Step>> {
    let Some((key, rest)) = keys.split_first() else { return vec![Vec::new()] };
    let below: Vec<(Step, &Json)> = match (*key, value) {
        ("[]", Json::Array(items)) => {
            items.iter().enumerate().map(|(index, item)| (Step::Index(index), item)).collect()
        }
        (key, value) => {
            let value = value.get(key).map(|value| (Step::Key(key.to_owned()), value));
            value.into_iter().collect()
        }
    };
    let below = below.into_iter().flat_map(|(step, value)| {
        places(value, rest).into_iter().map(move |place| [vec![step.clone()], place].concat())
    });
    below.collect()
}

fn identity(object: &Json, kind: &str, name: &str) -> [String; 3] {
    [kind, text(object, &["metadata", "namespace"]), name].map(str::to_owned)
}

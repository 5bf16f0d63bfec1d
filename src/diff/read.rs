//! Reads fields of objects. A field of another type than expected is read as a missing one: the API
//! server rejects it.

use super::Identity;
use super::path::Step;
use super::tree::is_item;
use crate::ir;
use serde_json::{Map, Value as Json};

/// Returns the value at a path of map keys.
pub(super) fn at<'j>(value: impl Into<Option<&'j Json>>, keys: &[&str]) -> Option<&'j Json> {
    keys.iter().try_fold(value.into()?, |value, key| value.get(key))
}

/// Returns the text at a path of map keys; empty without one.
pub(super) fn text<'j>(value: impl Into<Option<&'j Json>>, keys: &[&str]) -> &'j str {
    at(value, keys).and_then(Json::as_str).unwrap_or_default()
}

/// Returns the items of the list at a path of map keys; none without one.
pub(super) fn items<'j>(value: impl Into<Option<&'j Json>>, keys: &[&str]) -> &'j [Json] {
    at(value, keys).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the strings of the list at a path of map keys.
pub(super) fn texts<'j>(value: impl Into<Option<&'j Json>>, keys: &[&str]) -> Vec<&'j str> {
    items(value, keys).iter().filter_map(Json::as_str).collect()
}

/// Returns the entries of the map at a path of map keys; none without one.
pub(super) fn entries<'j, V: Into<Option<&'j Json>>>(
    value: V,
    keys: &[&str],
) -> impl Iterator<Item = (&'j String, &'j Json)> + use<'j, V> {
    at(value, keys).and_then(Json::as_object).into_iter().flat_map(Map::iter)
}

/// Returns true if the field at a path of map keys is true.
pub(super) fn is_true<'j>(value: impl Into<Option<&'j Json>>, keys: &[&str]) -> bool {
    at(value, keys) == Some(&Json::Bool(true))
}

/// Returns the value one step below a value.
pub(super) fn child<'j>(value: &'j Json, step: &Step) -> Option<&'j Json> {
    match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
        Step::Item(name) => value.as_array()?.iter().find(|item| is_item(item, name)),
        Step::Order(_) => None,
    }
}

/// Returns a path of map keys as steps.
pub(super) fn keys(path: &[&str]) -> Vec<Step> {
    path.iter().map(|key| Step::Key((*key).to_owned())).collect()
}

/// Returns the keys of a path, with `[]` for list items.
pub(super) fn shape(steps: &[Step]) -> Vec<&str> {
    let shape = steps.iter().map(|step| match step {
        Step::Key(key) => key.as_str(),
        Step::Order(_) => "[order]",
        _ => "[]",
    });
    shape.collect()
}

/// Returns the path of the spec of the pods of a kind; `None` for kinds without pods.
pub(super) fn pod_keys(kind: &str) -> Option<&'static [&'static str]> {
    ir::WORKLOADS.contains(&kind).then(|| ir::pod_spec_keys(kind))
}

/// Returns the path of the pod template for a kind; `None` for kinds without pods.
pub(super) fn pod_template(kind: &str) -> Option<&'static [&'static str]> {
    pod_keys(kind)?.split_last().map(|(_, template)| template)
}

/// Returns the spec of the pods of an object of this kind.
pub(super) fn pod_spec<'j>(kind: &str, object: impl Into<Option<&'j Json>>) -> Option<&'j Json> {
    at(object, pod_keys(kind)?)
}

/// Lists of containers in the spec of a pod.
pub(super) const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// Returns the containers of the spec of a pod, and its init containers.
pub(super) fn containers<'j>(spec: impl Into<Option<&'j Json>>) -> impl Iterator<Item = &'j Json> {
    let spec = spec.into();
    CONTAINERS.into_iter().flat_map(move |list| items(spec, &[list]))
}

/// Returns the ServiceAccount of the spec of a pod.
pub(super) fn account(spec: &Json) -> &str {
    let mut names = ir::ACCOUNT_KEYS.into_iter().map(|key| text(spec, &[key]));
    names.find(|name| !name.is_empty()).unwrap_or(ir::DEFAULT_ACCOUNT)
}

/// Returns true for kinds of custom resources.
pub(super) fn is_custom_kind(id: &Identity) -> bool {
    !ir::may_be_built_in_group(&id.group)
}

/// Returns a name without punctuation and in lower case, which is the same for `--log-level`,
/// `LOG_LEVEL` and `logLevel`.
pub(super) fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
}

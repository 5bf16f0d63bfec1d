//! Reads fields of objects.

use super::Identity;
use super::path::Step;
use super::tree::is_item;
use crate::ir;
pub(super) use crate::ir::json::{at, entries, is_true, items, text, texts};
use serde_json::Value as Json;

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

/// Returns the step to the list item with a name.
pub(super) fn named(name: &str) -> Step {
    Step::Item(vec![("name".to_owned(), name.to_owned())])
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

/// Returns a value as text, strings without quotes.
pub(super) fn plain_text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a name without punctuation and in lower case, which is the same for `--log-level`,
/// `LOG_LEVEL` and `logLevel`.
pub(super) fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
}

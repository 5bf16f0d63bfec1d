//! Discovery documents of an API server that a test plays, for the objects that it is asked about.

use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

fn text<'a>(object: &'a Json, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

/// The API groups of these objects.
pub(crate) fn groups(objects: &[Json]) -> Json {
    let versions: BTreeSet<&str> =
        objects.iter().map(|o| text(o, "/apiVersion")).filter(|v| v.contains('/')).collect();
    let groups = versions.into_iter().map(|group_version| {
        let (group, version) = group_version.split_once('/').expect("a group");
        let version = json!({"groupVersion": group_version, "version": version});
        json!({"name": group, "versions": [version], "preferredVersion": version})
    });
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups.collect::<Vec<_>>()})
}

/// The kinds of these objects in an API version, and Secrets, where Helm keeps releases.
pub(crate) fn resources(objects: &[Json], version: &str) -> Json {
    let mut kinds: BTreeSet<(&str, bool)> = objects
        .iter()
        .filter(|object| text(object, "/apiVersion") == version)
        .map(|object| (text(object, "/kind"), !text(object, "/metadata/namespace").is_empty()))
        .collect();
    if version == "v1" {
        kinds.insert(("Secret", true));
    }
    let resources = kinds.into_iter().map(|(kind, namespaced)| {
        let name = format!("{}s", kind.to_lowercase());
        json!({"name": name, "namespaced": namespaced, "kind": kind, "verbs": ["get", "create", "patch"]})
    });
    json!({"kind": "APIResourceList", "groupVersion": version, "resources": resources.collect::<Vec<_>>()})
}

/// A kubeconfig with which Helm talks to such a server.
pub(crate) fn kubeconfig(server: &str) -> String {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
        "current-context": "c",
    });
    config.to_string()
}

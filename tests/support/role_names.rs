//! Names of roles that depend on nothing but their content, for comparing OLM's with ours.

use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Gives the roles that come from the install strategy names that depend on nothing but their
/// content, on both sides.
pub(crate) fn rename_roles(objects: &mut [Json], used: &mut BTreeSet<&'static str>) {
    let generated = |name: &str| {
        let last = name.rsplit('-').next().unwrap_or_default();
        let hashed =
            last.len() > 38 && last.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let suffixes = ["-role", "-clusterrole", "-rolebinding", "-clusterrolebinding"];
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
        hashed
            || (name.starts_with("operator") && suffixes.iter().any(|s| stem.ends_with(s)))
            || suffixes.iter().any(|s| stem.ends_with(s)) && name.contains("operator")
    };
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    // The subject tells roles of equal rules apart.
    let subjects: BTreeMap<String, String> = objects
        .iter()
        .filter(|o| o["kind"].as_str().is_some_and(|k| k.ends_with("RoleBinding")))
        .map(|o| {
            (
                role_key(&o["roleRef"]["kind"], o, &o["roleRef"]["name"]),
                o["subjects"][0]["name"].to_string(),
            )
        })
        .collect();
    for object in objects.iter_mut() {
        let kind = object["kind"].clone();
        if kind != "Role" && kind != "ClusterRole" {
            continue;
        }
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if !generated(&name) {
            continue;
        }
        let key = role_key(&kind, object, &object["metadata"]["name"]);
        let Some(subject) = subjects.get(&key) else { continue };
        used.insert("stable-rbac-names");
        let content = format!("{}{}", subject, sorted(&object["rules"]));
        let scope = format!("{kind}{}{content}", object["metadata"]["namespace"]);
        let number = count.entry(scope).or_default();
        *number += 1;
        let canonical = format!("generated-{content}-{number}");
        names.insert(key, canonical.clone());
        object["metadata"]["name"] = json!(canonical);
    }
    for object in objects.iter_mut() {
        if object["kind"].as_str().is_some_and(|k| k.ends_with("RoleBinding")) {
            let key = role_key(&object["roleRef"]["kind"], object, &object["roleRef"]["name"]);
            if let Some(name) = names.get(&key) {
                object["roleRef"]["name"] = json!(name);
                object["metadata"]["name"] = json!(name);
            }
        }
    }
}

/// With the keys of every map in one order.
fn sorted(value: &Json) -> Json {
    match value {
        Json::Array(items) => items.iter().map(sorted).collect(),
        Json::Object(map) => map
            .iter()
            .map(|(k, v)| (k.clone(), sorted(v)))
            .collect::<BTreeMap<_, _>>()
            .into_iter()
            .collect(),
        other => other.clone(),
    }
}

fn role_key(kind: &Json, object: &Json, name: &Json) -> String {
    let namespace =
        if kind == "ClusterRole" { &Json::Null } else { &object["metadata"]["namespace"] };
    format!("{kind} {namespace} {name}")
}

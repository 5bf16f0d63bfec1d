//! User overrides for an operator's pods.
//!
//! OLM: Subscription `spec.config`, in operator-controller the generator's deployment options. Init
//! containers are not changed, as in OLM.

use crate::config::PodConfig;
use crate::fields::{map_mut, maps_mut};
use crate::ir::{Map, Object, Value};
use serde_json::Value as Json;

/// Applies the configuration to a Deployment.
pub(super) fn apply(config: &PodConfig, deployment: &mut Object) {
    if *config == PodConfig::default() {
        return;
    }
    annotate(deployment.metadata_mut(), config);

    let Some(template) = map_mut(&mut deployment.root, &["spec", "template"]) else { return };
    if let Some(metadata) = template.get_mut("metadata").and_then(Value::as_map_mut) {
        annotate(metadata, config);
    }

    let Some(pod) = template.get_mut("spec").and_then(Value::as_map_mut) else { return };
    replace_named(pod, "volumes", &config.volumes);
    add_new(pod, "tolerations", &config.tolerations);
    if let Some(selector) = &config.node_selector {
        pod.insert("nodeSelector".to_owned(), Value::from(selector));
    }
    if let Some(affinity) = &config.affinity {
        affine(pod, affinity);
    }
    for container in maps_mut(pod, "containers") {
        replace_named(container, "env", &config.env);
        add_new(container, "envFrom", &config.env_from);
        replace_named(container, "volumeMounts", &config.volume_mounts);
        if let Some(resources) = &config.resources {
            // As OLM: as a whole, without merging.
            container.insert("resources".to_owned(), Value::from(resources));
        }
    }
}

fn annotate(metadata: &mut Map, config: &PodConfig) {
    if config.annotations.is_empty() {
        return;
    }
    let annotations = metadata.map_at("annotations");
    for (key, value) in &config.annotations {
        // As OLM: only where the bundle has none of this name.
        annotations.get_or_insert_with(key, || Value::text(value));
    }
}

/// Returns the list at `key` for items to add, if there are any. Values of other types are errors before.
fn list<'a>(map: &'a mut Map, key: &str, items: &[Json]) -> Option<&'a mut Vec<Value>> {
    (!items.is_empty()).then(|| map.list_at(key))
}

/// Replaces the last item with the same name, or appends the item. Items of `items` with the same
/// name do not replace each other, because a volume can be mounted several times.
fn replace_named(map: &mut Map, key: &str, items: &[Json]) {
    let Some(list) = list(map, key, items) else { return };
    let own = list.len();
    let mut replaced: Vec<usize> = Vec::new();
    for item in items {
        let name = item["name"].as_str();
        let named = |index: &usize| list[*index].get("name").and_then(Value::as_str) == name;
        // Of equal names the last one counts, so that is the one to replace.
        match (0..own).rev().find(named).filter(|index| !replaced.contains(index)) {
            Some(index) => {
                list[index] = Value::from(item);
                replaced.push(index);
            }
            None => list.push(Value::from(item)),
        }
    }
}

/// Adds the items that the list does not have.
fn add_new(map: &mut Map, key: &str, items: &[Json]) {
    let Some(list) = list(map, key, items) else { return };
    for item in items.iter().map(Value::from) {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

/// Sets the affinity of the configuration; empty parts remove those of the pods.
fn affine(pod: &mut Map, affinity: &Json) {
    if affinity.as_object().is_some_and(serde_json::Map::is_empty) {
        pod.shift_remove("affinity");
        return;
    }
    let own = pod.map_at("affinity");
    let parts = affinity.as_object().into_iter().flatten().filter(|(_, part)| !part.is_null());
    for (part, value) in parts {
        let value = Value::from(value);
        if selects_nothing(&value) {
            own.shift_remove(part);
        } else {
            own.insert(part.clone(), value);
        }
    }
    if own.values().all(selects_nothing) {
        pod.shift_remove("affinity");
    }
}

/// Returns true if a part of an affinity has neither required nor preferred terms.
fn selects_nothing(part: &Value) -> bool {
    match part {
        Value::Null => true,
        Value::Seq(items) => items.is_empty(),
        Value::Map(map) => map.values().all(selects_nothing),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Origin, Release};
    use serde_json::json;

    /// Returns the affinity of a pod after a configured one was applied to its own.
    fn affinity(configured: &Json) -> Json {
        let own = json!({"affinity": {
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]},
        }});
        let Value::Map(mut pod) = Value::from(&own) else { unreachable!("a map") };
        affine(&mut pod, configured);
        Release { namespace: "", values: &Json::Null }.value(&Value::Map(pod))["affinity"].clone()
    }

    /// operator-controller, `applyAffinityConfig`: a part without terms is empty, however it is
    /// written.
    #[test]
    fn an_empty_affinity_erases() {
        let terms =
            json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}});
        for empty in [json!({}), json!({"nodeAffinity": {}}), json!({"nodeAffinity": terms})] {
            assert_eq!(affinity(&empty), Json::Null, "{empty}");
        }
        let other = json!({"podAffinity": terms, "nodeAffinity": null});
        let kept = json!({"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]});
        assert_eq!(affinity(&other), json!({"nodeAffinity": kept}));
    }

    #[test]
    fn an_affinity_of_null_has_no_terms() {
        let own = json!({"affinity": {"podAffinity": null, "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": null,
        }}});
        let Value::Map(mut pod) = Value::from(&own) else { unreachable!("a map") };
        affine(&mut pod, &json!({"podAntiAffinity": {}}));
        assert_eq!(Release::LITERAL.value(&Value::Map(pod)), json!({}));

        // A field that is not known may select something.
        let unknown = json!({"affinity": {"podAffinity": {"unknown": 1}}});
        let Value::Map(mut pod) = Value::from(&unknown) else { unreachable!("a map") };
        affine(&mut pod, &json!({"podAntiAffinity": {}}));
        assert_eq!(Release::LITERAL.value(&Value::Map(pod)), unknown);
    }

    /// Returns a Deployment with this metadata and pod, and the configuration applied.
    fn applied(config: &PodConfig, metadata: &Json, pod: &Json) -> Json {
        let template = json!({"metadata": metadata, "spec": pod});
        let deployment = json!({"metadata": metadata, "spec": {"template": template}});
        let Value::Map(root) = Value::from(&deployment) else { unreachable!("a map") };
        let mut deployment = Object::new(*root, Origin::Stub);
        apply(config, &mut deployment);
        Release::LITERAL.object(&deployment).expect("an object")
    }

    #[test]
    fn annotations_are_added_and_existing_ones_kept() {
        let annotations = [("owner", "platform"), ("team", "widgets")];
        let annotations = annotations.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let config = PodConfig { annotations: annotations.into(), ..PodConfig::default() };
        let deployment = applied(&config, &json!({"annotations": {"owner": "vendor"}}), &json!({}));
        let expected = json!({"annotations": {"owner": "vendor", "team": "widgets"}});
        assert_eq!(deployment["metadata"], expected);
        assert_eq!(deployment["spec"]["template"]["metadata"], expected);

        let config = PodConfig { node_selector: Some(json!({})), ..PodConfig::default() };
        assert_eq!(applied(&config, &json!({}), &json!({}))["metadata"], json!({}));
    }

    /// Tests every setting of a subscription: fields of pods and containers are replaced by name,
    /// added to, or replaced as a whole.
    #[test]
    fn settings_reach_the_pods_and_all_their_containers() {
        let [old, new] = ["old", "new"].map(|key| json!({"key": key, "operator": "Exists"}));
        let [own, added] = ["own", "added"].map(|name| json!({"configMapRef": {"name": name}}));
        let named = |name: &str, value: &str| json!({"name": name, "value": value});
        let volume = |name: &str, source: &str| json!({"name": name, source: {}});
        let mount = |path: &str| json!({"name": "data", "mountPath": path});
        let resources = json!({"limits": {"memory": "1Gi"}});
        let affinity = json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone"}]}});
        let config = PodConfig {
            env: vec![named("LEVEL", "debug"), named("NEW", "1")],
            env_from: vec![own.clone(), added.clone()],
            volumes: vec![volume("data", "hostPath"), volume("more", "emptyDir")],
            volume_mounts: vec![mount("/new"), mount("/again")],
            tolerations: vec![old.clone(), new.clone()],
            resources: Some(resources.clone()),
            node_selector: Some(json!({"disk": "ssd"})),
            affinity: Some(affinity.clone()),
            ..PodConfig::default()
        };
        let pod = json!({
            "volumes": [volume("data", "emptyDir"), volume("kept", "emptyDir")],
            "tolerations": [old],
            "nodeSelector": {"disk": "any", "arch": "any"},
            "initContainers": [{"name": "first"}],
            "containers": [
                {
                    "name": "manager",
                    "env": [named("LEVEL", "info"), named("KEPT", "1")],
                    "envFrom": [own],
                    "volumeMounts": [mount("/first"), mount("/old")],
                    "resources": {"limits": {"cpu": "1"}},
                },
                {"name": "proxy"},
            ],
        });
        assert_eq!(
            applied(&config, &json!({}), &pod)["spec"]["template"]["spec"],
            json!({
                "volumes": [
                    volume("data", "hostPath"), volume("kept", "emptyDir"), volume("more", "emptyDir"),
                ],
                "tolerations": [old, new],
                "nodeSelector": {"disk": "ssd"},
                "initContainers": [{"name": "first"}],
                "containers": [
                    {
                        "name": "manager",
                        "env": [named("LEVEL", "debug"), named("KEPT", "1"), named("NEW", "1")],
                        "envFrom": [own, added],
                        "volumeMounts": [mount("/first"), mount("/new"), mount("/again")],
                        "resources": resources,
                    },
                    {
                        "name": "proxy",
                        "env": [named("LEVEL", "debug"), named("NEW", "1")],
                        "envFrom": [own, added],
                        "volumeMounts": [mount("/new"), mount("/again")],
                        "resources": resources,
                    },
                ],
                "affinity": affinity,
            })
        );
    }
}

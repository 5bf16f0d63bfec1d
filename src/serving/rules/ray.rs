//! Invariants of Ray clusters, and of the models that Ray Serve starts in them.

use super::*;
use crate::releases::spans::Release;
use crate::releases::verdict::Kind;
use crate::releases::{argparse, relations};
use crate::view::config_map::parse;

/// Kinds with a cluster, and its JSON pointer.
const CLUSTERS: [(&str, &str); 3] = [
    ("RayCluster", "/spec"),
    ("RayJob", "/spec/rayClusterSpec"),
    ("RayService", "/spec/rayClusterConfig"),
];

/// Checks the groups of Ray clusters, and the models of RayServices.
pub(crate) fn clusters(view: &View<'_>, found: &mut Found) {
    let all = CLUSTERS.iter().flat_map(|(kind, at)| view.of_kind(kind).map(move |one| (one, *at)));
    for ((owner, object), pointer) in all {
        let Some(cluster) = object.json.pointer(pointer) else { continue };
        let workers = || list(cluster, "workerGroupSpecs").iter();
        for (group, path) in items(cluster, "workerGroupSpecs", &pointer.replace('/', ".")) {
            let mut found = found.at(owner, path);
            bounds(group, ["minReplicas", "maxReplicas"], &mut found);
            let said = text_at(group, "/rayStartParams/num-gpus").and_then(|n| n.parse().ok());
            let said = said.filter(|said: &u32| (1..*said).contains(&devices(group)));
            if let (Some(said), has) = (said, devices(group)) {
                let message = format!("Ray starts ranks on {said} devices, but the pod has {has}");
                found.push(message, "remove `num-gpus`: KubeRay sets it from the limits");
            }
        }

        let grows = is_true(cluster, "/enableInTreeAutoscaling");
        let of_group = |group: &Json| {
            let most = number(group, "maxReplicas").filter(|_| grows);
            let pods = most.or(number(group, "replicas")).unwrap_or(1);
            let hosts = number(group, "numOfHosts").unwrap_or(1);
            devices(group).saturating_mul(pods).saturating_mul(hosts)
        };
        let all = workers().chain(cluster.get("headGroupSpec")).map(of_group);
        let has = all.fold(0, u32::saturating_add);
        let mut found = found.at(owner, ".spec.serveConfigV2");
        match object.spec().get("serveConfigV2") {
            Some(Json::String(text)) if !is_placeholder(text) => match parse(text) {
                Ok(config) => applications(&config, has, &mut found),
                Err(why) => {
                    let message = format!("cannot read the applications of {object}: {why}");
                    found.push(message, "fix the YAML");
                }
            },
            Some(Json::Object(_)) => {
                let message = format!("`serveConfigV2` of {object} is no text");
                let finding = found.push(message, "write `serveConfigV2: |` before it");
                finding.why("the API server rejects the object", "KubeRay API, RayService");
            }
            _ => {}
        }
    }
}

/// Reports a minimum above the maximum, of which 0 is none.
pub(super) fn bounds(json: &Json, keys: [&str; 2], found: &mut Reporter<'_>) {
    let [least, most] = keys.map(|key| number(json, key));
    if let Some((least, most)) = least.zip(most).filter(|(least, most)| least > most && *most > 0) {
        let message = format!("`{}` {least} is above `{}` {most}", keys[0], keys[1]);
        found.push(message, "raise the maximum, or lower the minimum");
    }
}

/// Returns the devices of a pod of a group.
fn devices(group: &Json) -> u32 {
    let spec = group.pointer("/template/spec").unwrap_or(&Json::Null);
    list(spec, "containers").iter().filter_map(accelerators).map(|(_, units)| units).sum()
}

/// Checks the applications of a cluster with this number of devices.
fn applications(config: &Json, devices: u32, found: &mut Reporter<'_>) {
    let mut prefixes = BTreeSet::new();
    for application in list(config, "applications") {
        let prefix = application.get("route_prefix").map_or(Some("/"), Json::as_str);
        if let Some(prefix) = prefix.filter(|prefix| !prefixes.insert(*prefix)) {
            let message = format!("two applications have the `route_prefix` {prefix}");
            found.push(message, "give each application its own");
        }
        let builder = "ray.serve.llm:build_openai_app";
        let path = text(application, "import_path");
        if path != builder && is_typo(path, builder) {
            let message = format!("there is no application `{path}`");
            found.push(message, format!("write `import_path: {builder}`"));
        }
        let arguments = application.get("args").unwrap_or(&Json::Null);
        for model in list(arguments, "llm_configs") {
            self::model(model, devices, found);
        }
    }
}

/// Checks the fields, the scaling, the arguments and the devices of a model.
fn model(model: &Json, devices: u32, found: &mut Reporter<'_>) {
    let known = &NAMES.ray_models;
    for key in model.as_object().into_iter().flat_map(serde_json::Map::keys) {
        let near = suggest::nearest(key, known).filter(|_| !known.contains(&key.as_str()));
        if let Some(near) = near {
            let message = format!("models of Ray Serve have no field `{key}`");
            found.push(message, format!("did you mean `{near}`?"));
        }
    }
    let deployment = model.get("deployment_config").unwrap_or(&Json::Null);
    let scaling = deployment.get("autoscaling_config");
    let count = number(deployment, "num_replicas");
    if scaling.is_some() && count.is_some() {
        let message = "`num_replicas` and `autoscaling_config` are both set";
        found.push(message, "remove one of them");
    }
    let scaling = scaling.unwrap_or(&Json::Null);
    let [target, most] =
        [(scaling, "target_ongoing_requests"), (deployment, "max_ongoing_requests")]
            .map(|(json, key)| number(json, key));
    if let Some((target, most)) = target.zip(most).filter(|(target, most)| target > most) {
        let message = format!(
            "`max_ongoing_requests` {most} is less than `target_ongoing_requests` {target}"
        );
        let finding = found.push(message, "raise it above the target");
        finding.why("the model is never scaled up", "Ray docs, Serve autoscaling");
    }
    bounds(scaling, ["min_replicas", "max_replicas"], found);

    let mut flags = Flags::default();
    if let Some(arguments) = model.get("engine_kwargs").and_then(Json::as_object) {
        flags.insert_file(arguments);
    }
    let mut verdicts = argparse::judge(&VLLM, Release::Unknown, &flags.raw, false);
    verdicts.extend(relations::judge(&VLLM, Release::Unknown, &flags, &Json::Null));
    // Images of Ray name no release of vLLM, and not all arguments are flags.
    verdicts.retain(|one| one.kind == Kind::Refused && one.hint != "remove it");
    for verdict in verdicts {
        found.push(verdict.message, verdict.hint);
    }

    let ranks = ["tensor-parallel-size", "pipeline-parallel-size"];
    let ranks = ranks.iter().filter_map(|flag| flags.number(flag, 1));
    let needs = ranks.chain(count.or(number(scaling, "min_replicas")));
    let needs = needs.fold(1, u32::saturating_mul);
    let is_placed = ["placement_group_config", "resources_per_bundle"];
    let is_placed = is_placed.iter().any(|key| model.get(key).is_some());
    if !is_placed && (1..needs).contains(&devices) {
        let message = format!("a model needs {needs} devices, but the cluster has {devices}");
        let finding = found.push(message, "raise `replicas` of the worker group");
        finding.why("replicas wait for missing devices", "Ray docs, placement groups");
    }
}

//! Invariants of a set of manifests as a whole.

use super::by_release::other_releases;
use super::*;
use crate::view::pods::script;
use crate::view::shell::{Budget, CONTAINER_LIMIT};

/// Checks for duplicate objects.
pub(crate) fn twice(view: &View<'_>, found: &mut Found) {
    let mut seen: BTreeMap<(&str, &str, &str, &str), usize> = BTreeMap::new();
    let named = view.manifests.iter().enumerate().filter(|(_, one)| !one.name().is_empty());
    for (owner, manifest) in named {
        // Without the version: one object can be read and written in each of them.
        let key = (manifest.group(), manifest.kind(), manifest.namespace(), manifest.name());
        if seen.insert(key, owner).is_some() {
            let hint = "check variants separately, each with its router";
            found.push(owner, "", format!("duplicate {manifest}"), hint);
        }
    }
}

/// Returns a route match in normalized form.
fn condition(json: &Json) -> String {
    let path = json.get("path").unwrap_or(&Json::Null);
    let (kind, value) = (text_or(path, "type", "PathPrefix"), text_or(path, "value", "/"));
    let mut words = vec![format!("{kind} {value}")];
    for key in ["headers", "queryParams"] {
        let pair = |pair: &Json| match (key, text(pair, "name"), text(pair, "value")) {
            // Names of headers have no case (RFC 9110, 5.1), unlike those of query parameters.
            ("headers", name, value) => format!("{}={value}", name.to_lowercase()),
            (_, name, value) => format!("{name}={value}"),
        };
        let mut pairs: Vec<String> = list(json, key).iter().map(pair).collect();
        pairs.sort_unstable();
        words.extend(pairs);
    }
    words.push(text(json, "method").to_owned());
    words.join(" ").trim_end().to_owned()
}

/// Checks that no two routes match the same requests.
pub(crate) fn routes(view: &View<'_>, found: &mut Found) {
    // Without matches a rule is for the prefix `/`, without host names for all (Gateway API).
    let (anything, any_host) = ([Json::Null], [Json::from("*")]);
    let mut seen: BTreeMap<[String; 4], usize> = BTreeMap::new();
    for (owner, route) in view.of_kind("HTTPRoute") {
        let hosts = list_or(route.spec(), "hostnames", &any_host);
        let to_pool =
            |rule: &&Json| texts(rule, "backendRefs", "kind").any(|kind| kind == "InferencePool");
        let rules = list(route.spec(), "rules").iter().filter(to_pool);
        let matches = rules.flat_map(|rule| list_or(rule, "matches", &anything));
        let all = matches
            .map(condition)
            .flat_map(|asked| parents(route).map(move |parent| (asked.clone(), parent)));
        for (asked, (parent, (name, namespace))) in all {
            let gateway = format!("{name} {}", text(parent, "sectionName"));
            for host in hosts.iter().filter_map(Json::as_str) {
                let key = [namespace, &gateway, host, &asked].map(str::to_owned);
                let first = *seen.entry(key).or_insert(owner);
                if first != owner {
                    let first = &view.manifests[first];
                    let message =
                        format!("{first} and {route} both match `{asked}` on Gateway/{name}");
                    let hint = "give each model its own path, host or header";
                    found.push(owner, ".spec.rules", message, hint);
                }
            }
        }
    }
}

/// API groups of other projects whose kinds are checked, or have nothing to check.
const KNOWN_GROUPS: [&str; 4] =
    ["keda.sh", "monitoring.coreos.com", "orchestration.aibrix.ai", "ray.io"];

/// Reports what no rule reads: kinds of other projects, engines outside of pod specs, files and
/// presets that are not in the manifests, and containers whose scripts exceed the budget.
pub(crate) fn unread(view: &View<'_>, found: &mut Found) {
    found.all.extend(view.unread.iter().cloned());
    for template in &view.templates {
        for (name, path) in &template.unread {
            let message = format!(
                "command of container `{name}` of {template} is not checked: its variables expand \
                 to more than {CONTAINER_LIMIT} bytes, or those of all containers to too much"
            );
            let hint = "write the flags as container arguments without variables";
            found.push(template.owner, path.as_str(), message, hint);
        }
    }
    other_releases(view, found);
    for (template, engine) in view.engines().filter(|_| !view.is_generated) {
        unjudged(template, engine, found);
    }

    let unread = view.unread.iter().map(|part| part.owner);
    let read: BTreeSet<usize> = view.all_pickers().map(|one| one.owner).chain(unread).collect();
    for (owner, manifest) in view.manifests.iter().enumerate() {
        let is_read = view.templates_of(owner).next().is_some() || read.contains(&owner);
        // Presets are checked in the services that use them.
        let is_preset = manifest.kind() == "LLMInferenceServiceConfig"
            && view.of_kind("LLMInferenceService").next().is_some();
        if is_read || is_preset || manifest.kind() == "CustomResourceDefinition" {
            continue;
        }
        // Pods that no template was found for: a gap in the view is reported, not passed over.
        if has_engine(&manifest.json, &view.budget) {
            let hint = "pass the objects that use it, or a kind with a pod template";
            found.push(owner, "", format!("pods of {manifest} are not checked"), hint);
        } else if is_of_unknown_kind(manifest) {
            let hint = "pass the objects that its controller creates";
            found.push(owner, "", format!("{manifest} is not checked: unknown kind"), hint);
        }
    }
}

/// Reports what is not known of an engine: its program or its flags.
fn unjudged(template: &Template<'_>, engine: &Engine<'_>, found: &mut Found) {
    let command = list(engine.container, "command").first().and_then(Json::as_str);
    let is_followed = engine.flags.are_read() || template.completed || !template.unread.is_empty();
    let (reason, hint) = match (&engine.unjudged, command.filter(|_| !is_followed)) {
        (Some(reason), _) => {
            (reason.clone(), "compare its flags and ports with the documentation of the image")
        }
        (None, Some(command)) => (
            format!("its command `{command}` is not followed"),
            "write the command of the server into the manifest",
        ),
        (None, None) => return,
    };
    let message = format!("the engine of {template} is not checked, because {reason}");
    found.push(template.owner, &engine.path, message, hint);
}

/// Returns true if an object of another project may create pods.
pub(super) fn is_of_unknown_kind(manifest: &Manifest) -> bool {
    let group = manifest.group();
    // Its first groups, such as `apps`, have no domain.
    let is_of_kubernetes =
        !group.contains('.') || group.ends_with(".k8s.io") && !group.ends_with(".x-k8s.io");
    let is_known = is_of_kubernetes || KNOWN_GROUPS.contains(&group) || kinds::has_group(group);
    let names = |key: &&str| maps(&manifest.json).iter().any(|map| map.contains_key(*key));
    !is_known && OF_PODS.iter().any(names)
}

/// Fields for images, models and commands, one of which an object has that pods come from.
const OF_PODS: [&str; 8] =
    ["image", "model", "modelId", "modelName", "args", "command", "engine", "engineConfig"];

fn has_engine(json: &Json, budget: &Budget) -> bool {
    let runs = |container: &Json| {
        let commands = || Some(script(container, Part::Single, 1, budget)?.commands);
        accelerators(container).is_some() || Engine::of(container, commands().as_deref()).is_some()
    };
    let lists = maps(json).into_iter().filter_map(|map| map.get("containers")?.as_array());
    lists.flatten().any(runs)
}

/// Returns the items at a key; `usual` if there are none.
fn list_or<'j>(json: &'j Json, key: &str, usual: &'j [Json]) -> &'j [Json] {
    Some(list(json, key)).filter(|list| !list.is_empty()).unwrap_or(usual)
}

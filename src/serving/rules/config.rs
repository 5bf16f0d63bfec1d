//! Invariants of picker configurations, by themselves and with the pods of the pool.

use super::*;
use crate::plugins;

/// Returns plugin types by plugin name.
fn types(config: &Json) -> BTreeMap<&str, &str> {
    list(config, "plugins").iter().map(|plugin| (name_of(plugin), text(plugin, "type"))).collect()
}

/// Checks what the picker validates at startup.
pub(crate) fn valid(view: &View<'_>, found: &mut Found) {
    for picker in view.all_pickers() {
        let Some((owner, path, config)) = &picker.config else { continue };
        let mut found = found.at(*owner, path);
        if let Err(why) = config {
            let message = format!("cannot read the configuration of the picker: {why}");
            found.push(message, "fix the file");
        }
        let Ok(config) = config else { continue };
        if text(config, "kind") != "EndpointPickerConfig" {
            let hint = "write `kind: EndpointPickerConfig`";
            found.below(".kind", "not an EndpointPickerConfig", hint);
        }
        unique_names(config, &mut found);
        references(config, &mut found);
    }
}

/// Checks that plugins have types and unique names, and profiles unique names.
fn unique_names(config: &Json, found: &mut Reporter<'_>) {
    let lists = [("plugins", "plugin", "type"), ("schedulingProfiles", "profile", "name")];
    for (list_key, what, required) in lists {
        let mut names = BTreeSet::new();
        for (item, place) in items(config, list_key, "") {
            let usual = text(item, required);
            let name = text_at(item, "/name").unwrap_or(usual);
            if usual.is_empty() {
                let hint = format!("set `{required}`");
                found.below(&place, format!("{what} has no `{required}`"), hint);
            } else if !names.insert(name) {
                let hint = format!("give each {what} a unique `name`");
                found.below(&place, format!("duplicate {what} name `{name}`"), hint);
            }
        }
    }
}

/// Checks references to plugins, and that a plugin selects one of several profiles.
fn references(config: &Json, found: &mut Reporter<'_>) {
    let types = types(config);
    let names: Vec<&str> = types.keys().copied().collect();
    check_references(config, &names, found);
    for (profile, place) in items(config, "schedulingProfiles", "") {
        // llm-d-router, SchedulerProfile.AddPlugins.
        let is_picker = |name: &&str| types.get(name).is_some_and(|kind| kind.ends_with("-picker"));
        let pickers: Vec<&str> = texts(profile, "plugins", "pluginRef").filter(is_picker).collect();
        let [one, other, ..] = pickers[..] else { continue };
        let name = text(profile, "name");
        let message = format!("profile `{name}` has pickers `{one}` and `{other}`");
        found.below(&place, message, "keep one of them");
    }

    let handlers = types.iter().filter(|(_, kind)| plugins::is_profile_handler(kind));
    let handlers: Vec<&str> = handlers.map(|(name, _)| *name).collect();
    if let [one, other, ..] = handlers[..] {
        let message = format!("plugins `{one}` and `{other}` both handle the profiles");
        found.below(".plugins", message, "keep one of them");
    }

    // The loader adds this handler where there is one profile; it refuses several.
    let handles = |kind: &&str| *kind != "single-profile-handler" && may_handle(kind);
    let profiles = list(config, "schedulingProfiles").len();
    if profiles > 1 && !types.values().any(handles) {
        let message = format!("no plugin selects one of the {profiles} profiles");
        let hint = "add a plugin such as `disagg-profile-handler`";
        found.below(".schedulingProfiles", message, hint);
    }
    unused_profiles(config, &types, found);
    let mut deciders_used = BTreeSet::new();
    for plugin in list(config, "plugins") {
        let name = name_of(plugin);
        let values = |pointer: &str| plugin.pointer(pointer).and_then(Json::as_object);
        let deciders = values("/parameters/deciders").into_iter().flatten();
        // The form of releases before 0.10, which later ones accept.
        let by_name = values("/parameters").into_iter().flatten();
        let by_name = by_name.filter(|(key, _)| key.to_lowercase().ends_with("deciderpluginname"));
        for decider in deciders.chain(by_name).filter_map(|(_, decider)| decider.as_str()) {
            deciders_used.insert(decider);
            let what = match types.get(decider) {
                None => "which does not exist",
                Some(kind) if plugins::is_known(kind) && !kind.ends_with("decider") => {
                    "which is not a decider"
                }
                Some(_) => continue,
            };
            let message = format!("`{name}` references decider `{decider}`, {what}");
            let deciders = types.iter().filter(|(_, kind)| kind.ends_with("decider"));
            let deciders: Vec<&str> = deciders.map(|(name, _)| *name).collect();
            found.below(".plugins", message, suggest::hint(decider, &deciders, "deciders"));
        }
    }
    // llm-d-router, disagg-profile-handler: without a decider, prefill is off.
    let is_idle = |(name, kind): &(&&str, &&str)| {
        kind.ends_with("-decider") && !deciders_used.contains(**name)
    };
    if handlers == ["disagg-profile-handler"]
        && let Some((name, _)) = types.iter().find(is_idle)
    {
        let message = format!("`disagg-profile-handler` does not use decider `{name}`");
        let role = plugins::decides(types.get(name).unwrap_or(&"")).unwrap_or("prefill");
        let hint = format!("write `parameters: {{deciders: {{{role}: {name}}}}}`");
        let finding = found.below(".plugins", message, hint).warning();
        finding.why("pods of the role get no requests", "llm-d-router, disagg-profile-handler");
    }
}

/// The roles of pods that disaggregation has profiles for.
const ROLES: [&str; 3] = ["encode", "prefill", "decode"];

/// Reports profiles that the only handler of profiles, that of disaggregation, does not run, or runs for
/// another role than that of their filter.
fn unused_profiles(config: &Json, types: &BTreeMap<&str, &str>, found: &mut Reporter<'_>) {
    let is_handler = |plugin: &&Json| may_handle(text(plugin, "type"));
    let handlers: Vec<&Json> = list(config, "plugins").iter().filter(is_handler).collect();
    // With a second handler, maybe a custom one, any profile may be run.
    let [handler] = handlers[..] else { return };
    let kind @ ("disagg-profile-handler" | "pd-profile-handler") = text(handler, "type") else {
        return;
    };
    let used = ROLES.map(|role| {
        let said = |pointer: &str| handler.pointer(&format!("/parameters/{pointer}"))?.as_str();
        said(&format!("{role}Profile")).or(said(&format!("profiles/{role}"))).unwrap_or(role)
    });

    let profiles: Vec<&str> = texts(config, "schedulingProfiles", "name").collect();
    let decides = |role: &str| text_at(handler, &format!("/parameters/deciders/{role}"));
    for (role, profile) in ROLES.iter().zip(&used) {
        let Some(decider) = decides(role) else { continue };
        let kind = types.get(decider).and_then(|kind| plugins::decides(kind));
        if !profiles.is_empty() && !profiles.contains(profile) {
            let message = format!("there is no profile `{profile}` for decider `{decider}`");
            let hint = format!("add the profile, or remove `{role}` from `deciders`");
            let finding = found.below(".schedulingProfiles", message, hint).warning();
            finding.why("pods of the role get no requests", "llm-d-router, disagg-profile-handler");
        }
        if let Some(kind) = kind.filter(|kind| kind != role) {
            let message = format!("decider `{decider}` of {role} is one for {kind}");
            let finding = found.below(".plugins", message, format!("write it as `{kind}`"));
            finding.warning().why("it decides on other requests", "llm-d-router, deciders");
        }
    }
    for (profile, place) in items(config, "schedulingProfiles", "") {
        let (name, place) = (text(profile, "name"), format!("{place}.name"));
        let uses = ROLES.iter().zip(&used).filter(|(_, used)| **used == name);
        let own: Vec<&str> = uses.map(|(role, _)| *role).collect();
        let Some(role) = own.first() else {
            if !name.is_empty() {
                let message = format!("profile `{name}` is not one that `{kind}` runs");
                found.below(&place, message, suggest::hint(name, &used, "profiles"));
            }
            continue;
        };

        // Pods of another role would get the requests of this one.
        let used = texts(profile, "plugins", "pluginRef");
        let roles = used.filter_map(|one| types.get(one)?.strip_suffix("-filter"));
        for other in roles.filter(|other| !own.contains(other) && ROLES.contains(other)) {
            let message = format!("profile `{name}` is for {role}, but has `{other}-filter`");
            found.below(&place, message, format!("use `{role}-filter`"));
        }
    }
}

/// The role that a pool selects, if it selects one.
const ROLE_SELECTED: &str = "/spec/selector/matchLabels/llm-d.ai~1role";

/// Checks that role filters match pods, and that pods of a role get only its requests.
pub(crate) fn roles(view: &View<'_>, found: &mut Found) {
    // Only pods of LeaderWorkerSets have this label, so it excludes all others.
    let index = "leaderworkerset.sigs.k8s.io/worker-index";
    for (owner, pool) in view.pools() {
        let mut others = pool.map("/spec/selector/matchLabels").cloned().unwrap_or_default();
        if others.remove(index).is_none() || others.is_empty() {
            continue;
        }
        let is_server = |one: &&Template<'_>| one.part == Part::Single && one.engine.is_some();
        let others = view.labelled(pairs(&others), pool.namespace()).into_iter();
        for template in others.filter(is_server) {
            let message =
                format!("{pool} selects by label `{index}`, which pods of {template} do not have");
            let hint = "add a label to all pods with a server, and select by it";
            found.push(owner, ".spec.selector", message, hint).field("topology");
        }
    }

    for picker in view.all_pickers() {
        let Some((owner, path, config)) = picker.known_config() else { continue };
        let Some((pool, mut pods)) = view.pods_of(picker) else { continue };
        pods.retain(|template| !template.is_headless());
        let types = types(config);
        let selected = view.pool_of(picker).and_then(|(_, pool)| pool.text(ROLE_SELECTED));
        let selected = selected.filter(|role| !is_placeholder(role));
        for (profile, path) in items(config, "schedulingProfiles", path) {
            filters(profile, &types, (&pool, selected), &pods, found.at(owner, path));
        }
    }
}

/// Checks that pods of a pool serve one model, and that plugins use its tokenizer.
pub(crate) fn model(view: &View<'_>, found: &mut Found) {
    for (owner, pool) in view.pools() {
        let engines = view.selected(pool).into_iter().filter_map(|one| one.engine.as_ref());
        // LoRA adapters are additional models.
        let engines = engines.filter(|one| !one.flags.has("lora-modules"));
        let served: BTreeSet<&str> = engines.filter_map(first_name).collect();
        let Some((one, other)) = differing(served.first(), served.last()) else { continue };
        let message = format!("pods of {pool} serve `{one}` and `{other}`");
        found.push(owner, ".spec.selector", message, "give each model its own pool");
    }

    for picker in view.all_pickers() {
        let Some((owner, path, config)) = picker.known_config() else { continue };
        let Some((_, pods)) = view.pods_of(picker) else { continue };
        for (plugin, path) in items(config, "plugins", path) {
            let Some(name) = text_at(plugin, "/parameters/modelName") else { continue };
            let kind = text(plugin, "type");
            let mut found = found.at(owner, format!("{path}.parameters.modelName"));
            for engine in pods.iter().filter_map(|template| template.engine.as_ref()) {
                let known: Vec<&str> =
                    engine.names().into_iter().chain(engine.model.as_deref()).collect();
                let is_known = |served: &&&str| !known.contains(&name) && !is_placeholder(served);
                let Some(served) = known.first().filter(is_known) else { continue };
                let message = format!(
                    "plugin `{kind}` has modelName `{name}`, but the pods serve `{served}`"
                );
                found.push(message, format!("write `modelName: {served}`")).field("epp.config");
            }
        }
    }
}

/// Returns the name of a plugin, which is its type by default.
fn name_of(plugin: &Json) -> &str {
    text_or(plugin, "name", text(plugin, "type"))
}

/// Returns true for handlers of profiles; a custom plugin may be one.
fn may_handle(kind: &str) -> bool {
    !plugins::is_known(kind) || plugins::is_profile_handler(kind)
}

/// Checks the filters of a scheduling profile for the pods of a pool, all of which have the role that it
/// selects.
fn filters(
    profile: &Json,
    types: &BTreeMap<&str, &str>,
    (pool, selected): (&str, Option<&str>),
    pods: &[&Template<'_>],
    mut found: Reporter<'_>,
) {
    let name = text(profile, "name");
    let used = texts(profile, "plugins", "pluginRef");
    let kinds: Vec<&str> = used.filter_map(|used| types.get(used).copied()).collect();
    let roles: Vec<Option<&str>> = match selected {
        Some(_) => vec![selected],
        None => pods.iter().map(|pods| pods.role()).collect(),
    };
    let is_idle = |kind: &&&str| {
        let accepts = |role: &Option<&str>| plugins::accepts(kind, *role);
        accepts(&None).is_some() && !roles.iter().any(|role| accepts(role) == Some(true))
    };
    for kind in kinds.iter().filter(|kind| !roles.is_empty() && is_idle(kind)) {
        let wanted = kind.trim_end_matches("-filter");
        let (what, hint) = match selected {
            Some(role) => (
                format!("{pool} selects only pods of role `{role}`"),
                "remove `llm-d.ai/role` from the selector of the pool".to_owned(),
            ),
            None => (
                format!("no pod of {pool} has a role for {wanted}"),
                format!("label the pods `llm-d.ai/role: {wanted}`, or remove the profile"),
            ),
        };
        found.push(format!("profile `{name}` uses `{kind}`, but {what}"), hint);
    }

    if kinds.iter().any(|kind| !plugins::is_known(kind) || plugins::is_filter(kind)) {
        return;
    }
    for template in pods.iter().filter(|template| template.engine.is_some()) {
        let Some(role @ ("prefill" | "encode")) = template.role() else { continue };
        let message = format!(
            "profile `{name}` has no filter, so pods of {template} get complete requests, but \
             their role is `{role}`"
        );
        found.push(message, "add `decode-filter`, or remove these pods from the pool");
    }
}

/// Reports references to missing plugins. `own` are the plugin names in the configuration.
fn check_references(config: &Json, own: &[&str], found: &mut Reporter<'_>) {
    for (path, key, is_required) in plugins::REFERENCES.iter() {
        for (map, place) in at(config, path).iter().filter(|(value, _)| value.is_object()) {
            let name = text(map, key);
            // Policies and detectors can be referenced by type, without a plugin entry.
            let by_type = !is_required && (name.is_empty() || plugins::is_known(name));
            if own.contains(&name) || by_type {
                continue;
            }
            if name.is_empty() {
                found.below(place, format!("missing `{key}`"), "set the name of a plugin");
            } else {
                let message = format!("plugin `{name}` does not exist");
                // Policies are known without being declared.
                let usual = LLM_D.plugins.names(None);
                let near = suggest::nearest(name, &usual).filter(|_| !is_required);
                let hint = near.map(|near| format!("did you mean `{near}`?"));
                let hint = hint.unwrap_or_else(|| suggest::hint(name, own, "plugins"));
                found.below(&format!("{place}.{key}"), message, hint);
            }
        }
    }
}

/// Returns the values at a path, in which `[]` stands for each item of a list, with their JSON paths.
pub(super) fn at<'j>(json: &'j Json, path: &str) -> Vec<Located<'j>> {
    path.split_terminator('.').fold(vec![(json, String::new())], |all, step| {
        let below = |(json, place): Located<'j>| -> Vec<Located<'j>> {
            let items = json.as_array().into_iter().flatten().enumerate();
            match step {
                "[]" => items.map(|(index, item)| (item, format!("{place}[{index}]"))).collect(),
                key => {
                    json.get(key).map(|one| (one, format!("{place}.{key}"))).into_iter().collect()
                }
            }
        };
        all.into_iter().flat_map(below).collect()
    })
}

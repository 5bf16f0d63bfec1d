//! Invariants of picker configurations, by themselves and with the pods of the pool.

use super::super::invariants::Found;
use super::super::plugins;
use super::super::view::pods::{Part, list, text};
use super::super::view::{Picker, View};
use super::keys::{self, Report};
use crate::diag::suggest;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the parsed configuration of a picker: manifest, path and content.
fn readable<'p>(picker: &'p Picker<'_>) -> Option<(usize, &'p str, &'p Json)> {
    let (owner, path, config) = picker.config.as_ref()?;
    Some((*owner, path, config.as_ref().ok()?))
}

/// Returns plugin types by plugin name.
fn types(config: &Json) -> BTreeMap<&str, &str> {
    list(config, "plugins")
        .iter()
        .map(|plugin| {
            let kind = text(plugin, "type");
            let name = text(plugin, "name");
            (if name.is_empty() { kind } else { name }, kind)
        })
        .collect()
}

/// Checks what the picker validates at startup.
pub(crate) fn valid(view: &View<'_>, found: &mut Found) {
    for picker in view.all_pickers() {
        let Some((owner, path, config)) = &picker.config else { continue };
        let owner = *owner;
        let config = match config {
            Ok(config) => config,
            Err(why) => {
                let message = format!("cannot read the configuration of the picker: {why}");
                found.push(owner, path, message, "fix the file");
                continue;
            }
        };
        let mut report = |inner: &str, message: String, hint: String| {
            found.push(owner, format!("{path}{inner}"), message, hint);
        };
        if text(config, "kind") != "EndpointPickerConfig" {
            let hint = "write `kind: EndpointPickerConfig`".to_owned();
            report(".kind", "not an EndpointPickerConfig".to_owned(), hint);
        }
        plugin_names(config, &mut report);
        references(config, &mut report);
    }
}

/// Checks that plugins have types and unique names.
fn plugin_names(config: &Json, report: &mut Report<'_>) {
    let mut names = BTreeSet::new();
    for (index, plugin) in list(config, "plugins").iter().enumerate() {
        let place = format!(".plugins[{index}]");
        let kind = text(plugin, "type");
        if kind.is_empty() {
            report(&place, "plugin has no `type`".to_owned(), "set `type`".to_owned());
            continue;
        }

        let name = plugin.get("name").and_then(Json::as_str).unwrap_or(kind);
        if !names.insert(name) {
            let hint = "give each plugin a unique `name`".to_owned();
            report(&place, format!("duplicate plugin name `{name}`"), hint);
        }
    }
}

/// Checks references to plugins, and that a plugin selects one of several profiles.
fn references(config: &Json, report: &mut Report<'_>) {
    let types = types(config);
    let names: Vec<&str> = types.keys().copied().collect();
    keys::check(config, &names, report);
    let profiles = list(config, "schedulingProfiles");
    let mut seen = BTreeSet::new();
    for (index, profile) in profiles.iter().enumerate() {
        let name = text(profile, "name");
        let place = format!(".schedulingProfiles[{index}]");
        if name.is_empty() {
            report(&place, "profile has no `name`".to_owned(), "set `name`".to_owned());
        } else if !seen.insert(name) {
            let hint = "give each profile a unique name".to_owned();
            report(&place, format!("duplicate profile name `{name}`"), hint);
        }
    }
    // A custom plugin may be a profile handler.
    let handles = |kind: &&str| {
        *kind != "single-profile-handler"
            && (!plugins::is_known(kind) || plugins::is_profile_handler(kind))
    };
    if profiles.len() > 1 && !types.values().any(handles) {
        let message = format!("no plugin selects one of the {} profiles", profiles.len());
        let hint = "add a plugin such as `disagg-profile-handler`".to_owned();
        report(".schedulingProfiles", message, hint);
    }
    unused_profiles(config, report);
    for plugin in list(config, "plugins") {
        let name = Some(text(plugin, "name")).filter(|name| !name.is_empty());
        let name = name.unwrap_or(text(plugin, "type"));
        let parameters = plugin.get("parameters").unwrap_or(&Json::Null);
        let of = |json: &'_ Json| json.as_object().cloned().unwrap_or_default().into_iter();
        let deciders = of(parameters.get("deciders").unwrap_or(&Json::Null));
        // The form of releases before 0.10, which later ones accept.
        let by_name =
            of(parameters).filter(|(key, _)| key.to_lowercase().ends_with("deciderpluginname"));
        for (_, decider) in deciders.chain(by_name) {
            let Some(decider) = decider.as_str() else { continue };
            if !types.contains_key(decider) {
                let message =
                    format!("`{name}` references decider `{decider}`, which does not exist");
                report(".plugins", message, suggest::hint(decider, &names, "plugins"));
            }
        }
    }
}

/// Reports profiles that the only handler of profiles, that of disaggregation, does not run.
fn unused_profiles(config: &Json, report: &mut Report<'_>) {
    let plugins = list(config, "plugins");
    let is_handler = |plugin: &&Json| {
        let kind = text(plugin, "type");
        !plugins::is_known(kind) || plugins::is_profile_handler(kind)
    };
    let handlers: Vec<&Json> = plugins.iter().filter(is_handler).collect();
    let [handler] = handlers[..] else { return };
    if !matches!(text(handler, "type"), "disagg-profile-handler" | "pd-profile-handler") {
        return;
    }
    let used = ["encode", "prefill", "decode"].map(|role| {
        let said = |pointer: &str| handler.pointer(&format!("/parameters/{pointer}"))?.as_str();
        said(&format!("{role}Profile")).or(said(&format!("profiles/{role}"))).unwrap_or(role)
    });
    for (index, profile) in list(config, "schedulingProfiles").iter().enumerate() {
        let name = text(profile, "name");
        if !name.is_empty() && !used.contains(&name) {
            let message =
                format!("profile `{name}` is not one that `{}` runs", text(handler, "type"));
            let place = format!(".schedulingProfiles[{index}].name");
            report(&place, message, suggest::hint(name, &used, "profiles"));
        }
    }
}

/// Checks that role filters match pods, and that pods of a role get only its requests.
pub(crate) fn roles(view: &View<'_>, found: &mut Found) {
    // Only pods of LeaderWorkerSets have this label, so it excludes all others.
    let index = "leaderworkerset.sigs.k8s.io/worker-index";
    for (owner, pool) in view.pools() {
        let wanted = pool.json.pointer("/spec/selector/matchLabels").and_then(Json::as_object);
        let Some(wanted) = wanted.filter(|wanted| wanted.contains_key(index)) else { continue };
        let mut others = wanted.clone();
        others.remove(index);
        for template in view.templates.iter().filter(|template| template.part == Part::Single) {
            let whose = &view.manifests[template.owner];
            let meant = template.engine.is_some() && template.has_labels(&others);
            if meant && !others.is_empty() && whose.may_share_namespace(pool) {
                let message = format!(
                    "{} selects by label `{index}`, which pods of {} do not have",
                    pool.label(),
                    whose.label()
                );
                let hint = "add a label to all pods with a server, and select by it";
                found.push(owner, ".spec.selector", message, hint).field = Some("topology");
            }
        }
    }
    for picker in view.all_pickers() {
        let Some((owner, path, config)) = readable(picker) else { continue };
        let Some((pool, pods)) = view.pods_of(picker) else { continue };
        let selected: Vec<_> = pods
            .into_iter()
            .filter(|template| !template.engine.as_ref().is_some_and(|e| e.is_headless()))
            .collect();
        if selected.is_empty() {
            continue;
        }
        let types = types(config);
        for (index, profile) in list(config, "schedulingProfiles").iter().enumerate() {
            let kinds: Vec<&str> = list(profile, "plugins")
                .iter()
                .filter_map(|reference| types.get(text(reference, "pluginRef")).copied())
                .collect();
            let place = format!("{path}.schedulingProfiles[{index}]");
            for kind in &kinds {
                let Some(accepted) = plugins::roles(kind) else { continue };
                if !selected.iter().any(|template| accepted.contains(&template.role())) {
                    let role = kind.trim_end_matches("-filter");
                    let message = format!(
                        "profile `{}` uses `{kind}`, but no pod of {pool} has a role for {role}",
                        text(profile, "name")
                    );
                    let hint =
                        format!("label the pods `llm-d.ai/role: {role}`, or remove the profile");
                    found.push(owner, &place, message, hint);
                }
            }
            let filters =
                kinds.iter().any(|kind| !plugins::is_known(kind) || plugins::is_filter(kind));
            let only = selected
                .iter()
                .filter(|template| matches!(template.role(), Some("prefill" | "encode")))
                .filter(|template| template.engine.is_some());
            for template in only.filter(|_| !filters) {
                let message = format!(
                    "profile `{}` has no filter, so pods of {} get complete requests, but their \
                     role is `{}`",
                    text(profile, "name"),
                    view.manifests[template.owner].label(),
                    template.role().unwrap_or_default()
                );
                let hint = "add `decode-filter`, or remove these pods from the pool";
                found.push(owner, &place, message, hint);
            }
        }
    }
}

/// Checks that pods of a pool serve one model, and that plugins use its tokenizer.
pub(crate) fn model(view: &View<'_>, found: &mut Found) {
    for (owner, pool) in view.pools() {
        let mut served: Vec<(&str, &str)> = Vec::new();
        for template in view.selected(pool) {
            let Some(engine) = &template.engine else { continue };
            // LoRA adapters are additional models.
            if engine.flags.as_ref().is_some_and(|flags| flags.has("lora-modules")) {
                continue;
            }
            let role = template.role().unwrap_or_default();
            served.extend(engine.names().first().map(|name| (*name, role)));
        }
        served.sort_unstable();
        served.dedup_by_key(|(name, _)| *name);
        if let [(one, _), .., (other, _)] = served.as_slice() {
            let message = format!("pods of {} serve `{one}` and `{other}`", pool.label());
            let hint = "give each model its own pool";
            found.push(owner, ".spec.selector", message, hint);
        }
    }
    for picker in view.all_pickers() {
        let Some((owner, path, config)) = readable(picker) else { continue };
        let Some((_, pods)) = view.pods_of(picker) else { continue };
        let engines: Vec<_> =
            pods.into_iter().filter_map(|template| template.engine.as_ref()).collect();
        for (index, plugin) in list(config, "plugins").iter().enumerate() {
            let Some(name) = plugin.pointer("/parameters/modelName").and_then(Json::as_str) else {
                continue;
            };
            for engine in &engines {
                let known: Vec<&str> =
                    engine.names().into_iter().chain(engine.model.as_deref()).collect();
                if !known.is_empty() && !known.contains(&name) {
                    let message = format!(
                        "plugin `{}` has modelName `{name}`, but the pods serve `{}`",
                        text(plugin, "type"),
                        known[0]
                    );
                    let hint = format!("write `modelName: {}`", known[0]);
                    let place = format!("{path}.plugins[{index}].parameters.modelName");
                    found.push(owner, place, message, hint).field = Some("epp.config");
                }
            }
        }
    }
}

//! Invariants about the configuration of pickers, for themselves and against the pods.

use super::super::invariants::Found;
use super::super::plugins::{self, Sort};
use super::super::view::pods::{Part, list, text};
use super::super::view::{Picker, View};
use super::keys::{self, Report};
use crate::diag::Severity;
use crate::diag::suggest;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// A configuration that can be read: its manifest, path and content.
fn readable<'p>(picker: &'p Picker<'_>) -> Option<(usize, &'p str, &'p Json)> {
    let (owner, path, config) = picker.config.as_ref()?;
    Some((*owner, path, config.as_ref().ok()?))
}

/// Types of plugins by the names that profiles know them by.
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

/// What the picker itself checks when it starts.
pub(crate) fn valid(view: &View<'_>, found: &mut Found) {
    for picker in &view.pickers {
        let Some((owner, path, config)) = &picker.config else { continue };
        let owner = *owner;
        let config = match config {
            Ok(config) => config,
            Err(why) => {
                let message = format!("the configuration of the picker cannot be read: {why}");
                found.push(owner, path, message, "correct the file");
                continue;
            }
        };
        let mut report = |inner: &str, message: String, hint: String| {
            found.push(owner, format!("{path}{inner}"), message, hint);
        };
        let api_version = text(config, "apiVersion");
        let deprecated = "inference.networking.x-k8s.io/v1alpha1";
        if text(config, "kind") != "EndpointPickerConfig" {
            let hint = "write `kind: EndpointPickerConfig`".to_owned();
            report(".kind", "this is not an EndpointPickerConfig".to_owned(), hint);
        }
        if api_version != view.profile.picker_config && api_version != deprecated {
            let hint = format!("write `apiVersion: {}`", view.profile.picker_config);
            report(".apiVersion", format!("the picker does not know `{api_version}`"), hint);
        }
        let gates = plugins::gates(view.profile);
        for gate in list(config, "featureGates") {
            let name = gate.as_str().unwrap_or_default();
            let name = name.split_once('=').map_or(name, |(name, _)| name);
            if !gates.contains(&name) {
                let hint = suggest::hint(name, gates, "gates");
                report(".featureGates", format!("`{name}` is not a feature gate"), hint);
            }
        }
        plugins_of(view, picker, config, &mut report);
        references(view, config, &mut report);
    }
    unknown_types(view, found);
}

/// Plugins have types and names of their own, and experimental ones are allowed.
fn plugins_of(view: &View<'_>, picker: &Picker<'_>, config: &Json, report: &mut Report<'_>) {
    let mut names = BTreeSet::new();
    let experimental = picker.flags.is_on("allow-experimental-plugins");
    for (index, plugin) in list(config, "plugins").iter().enumerate() {
        let place = format!(".plugins[{index}]");
        let kind = text(plugin, "type");
        if kind.is_empty() {
            report(&place, "a plugin has no `type`".to_owned(), "name one".to_owned());
            continue;
        }
        let name = plugin.get("name").and_then(Json::as_str).unwrap_or(kind);
        if !names.insert(name) {
            let hint = "give each a `name` of its own".to_owned();
            report(&place, format!("two plugins have the name `{name}`"), hint);
        }
        let Some(known) = plugins::find(kind, view.profile) else { continue };
        if known.alpha && view.profile.release >= (0, 10) && !experimental {
            let hint = "add the flag `--allow-experimental-plugins`, or take another".to_owned();
            report(&place, format!("the plugin `{kind}` is experimental"), hint);
        }
        if let Some((removed, instead)) = known.removed.filter(|(r, _)| *r <= view.profile.release)
        {
            let message = format!("the plugin `{kind}` went in {}.{}", removed.0, removed.1);
            report(&place, message, format!("take {instead}"));
        }
    }
}

/// Types that no release is known to have: an error when a known one is near, which is a typing
/// error; else only a warning, because pickers can be built with plugins of one's own.
fn unknown_types(view: &View<'_>, found: &mut Found) {
    let known = plugins::names(view.profile);
    for picker in &view.pickers {
        let Some((owner, path, config)) = readable(picker) else { continue };
        for (index, plugin) in list(config, "plugins").iter().enumerate() {
            let kind = text(plugin, "type");
            if kind.is_empty() || plugins::find(kind, view.profile).is_some() {
                continue;
            }
            let near = suggest::nearest(kind, &known);
            let message = format!("the picker of {} has no plugin `{kind}`", view.profile.name);
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "plugins of one's own need an image of one's own".to_owned(),
            };
            let finding = found.push(owner, format!("{path}.plugins[{index}]"), message, hint);
            if near.is_none() {
                finding.severity = Some(Severity::Warning);
            }
        }
    }
}

/// Keys are known, everything that names a plugin names one that is there, and something says which
/// profile runs.
fn references(view: &View<'_>, config: &Json, report: &mut Report<'_>) {
    let types = types(config);
    let names: Vec<&str> = types.keys().copied().collect();
    keys::check(config, &names, &plugins::names(view.profile), report);
    let profiles = list(config, "schedulingProfiles");
    let mut seen = BTreeSet::new();
    for (index, profile) in profiles.iter().enumerate() {
        let name = text(profile, "name");
        let place = format!(".schedulingProfiles[{index}]");
        if name.is_empty() {
            report(&place, "a profile has no `name`".to_owned(), "name it".to_owned());
        } else if !seen.insert(name) {
            let hint = "give each a name of its own".to_owned();
            report(&place, format!("two profiles have the name `{name}`"), hint);
        }
    }
    // One of one's own may be a handler.
    let handles = |kind: &&str| {
        *kind != "single-profile-handler"
            && plugins::find(kind, view.profile).is_none_or(|plugin| plugin.sort == Sort::Handler)
    };
    if profiles.len() > 1 && !types.values().any(handles) {
        let message = format!("nothing says which of the {} profiles runs", profiles.len());
        let hint = "add a plugin such as `disagg-profile-handler`".to_owned();
        report(".schedulingProfiles", message, hint);
    }
    for plugin in list(config, "plugins") {
        let name = Some(text(plugin, "name")).filter(|name| !name.is_empty());
        let name = name.unwrap_or(text(plugin, "type"));
        let deciders = plugin.pointer("/parameters/deciders").and_then(Json::as_object);
        for decider in deciders.into_iter().flatten().filter_map(|(_, value)| value.as_str()) {
            if !types.contains_key(decider) {
                let message = format!("`{name}` asks the decider `{decider}`, which is not there");
                report(".plugins", message, suggest::hint(decider, &names, "plugins"));
            }
        }
    }
}

/// What the next release no longer has.
pub(crate) fn deprecated(view: &View<'_>, found: &mut Found) {
    for picker in &view.pickers {
        let Some((owner, path, config)) = readable(picker) else { continue };
        if view.profile.llm_d && text(config, "apiVersion") != view.profile.picker_config {
            let message = format!("`{}` is an old name", text(config, "apiVersion"));
            let hint = format!("write `{}`", view.profile.picker_config);
            found.push(owner, format!("{path}.apiVersion"), message, hint);
        }
        for (index, plugin) in list(config, "plugins").iter().enumerate() {
            let kind = text(plugin, "type");
            let known = plugins::find(kind, view.profile);
            let removed = known.and_then(|known| known.removed);
            if let Some((release, instead)) = removed.filter(|(r, _)| *r > view.profile.release) {
                let message = format!(
                    "the plugin `{kind}` is gone in llm-d-router {}.{}",
                    release.0, release.1
                );
                let hint = format!("take {instead}");
                found.push(owner, format!("{path}.plugins[{index}]"), message, hint);
            }
        }
    }
    for template in &view.templates {
        let Some(sidecar) = &template.sidecar else { continue };
        if sidecar.flags.has("vllm-port") && view.profile.release >= (0, 10) {
            let message = "the sidecar's flag `--vllm-port` is an old name";
            let path = template.path_of(sidecar.container);
            let finding = found.push(template.owner, path, message, "write `--model-server-port`");
            finding.field = Some("prefill");
            finding.why = Some(("a later sidecar stops when it starts", "llm-d-router#761"));
        }
    }
}

/// Filters by role find pods, and pods of one role are not taken for others.
pub(crate) fn roles(view: &View<'_>, found: &mut Found) {
    // The label that only pods of LeaderWorkerSets have keeps all others out.
    let index = "leaderworkerset.sigs.k8s.io/worker-index";
    for (owner, pool) in view.pools() {
        let wanted = pool.json.pointer("/spec/selector/matchLabels").and_then(Json::as_object);
        let Some(wanted) = wanted.filter(|wanted| wanted.contains_key(index)) else { continue };
        let mut others = wanted.clone();
        others.remove(index);
        for template in view.templates.iter().filter(|template| template.part == Part::Single) {
            let whose = &view.manifests[template.owner];
            let meant = template.engine.is_some() && template.has_labels(&others);
            if meant && !others.is_empty() && whose.is_beside(pool) {
                let message = format!(
                    "{} selects by `{index}`, which the pods of {} have not",
                    pool.label(),
                    whose.label()
                );
                let hint = "give a label of its own to all pods with a server, and select by that";
                found.push(owner, ".spec.selector", message, hint).field = Some("topology");
            }
        }
    }
    for picker in &view.pickers {
        let Some((owner, path, config)) = readable(picker) else { continue };
        let Some((_, pool)) = view.pool_of(picker) else { continue };
        let selected: Vec<_> = view
            .selected(pool)
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
                        "the profile `{}` has `{kind}`, and no pod of {} has a role for {role}",
                        text(profile, "name"),
                        pool.label()
                    );
                    let hint =
                        format!("label the pods `llm-d.ai/role: {role}`, or drop the profile");
                    found.push(owner, &place, message, hint);
                }
            }
            let filters = kinds.iter().any(|kind| {
                let sort = plugins::find(kind, view.profile).map(|plugin| plugin.sort);
                sort.is_none_or(|sort| sort == Sort::Filter)
            });
            let only = selected
                .iter()
                .filter(|template| matches!(template.role(), Some("prefill" | "encode")))
                .filter(|template| template.engine.is_some());
            for template in only.filter(|_| !filters) {
                let message = format!(
                    "the profile `{}` has no filter, so pods of {} get whole requests, and their \
                     role is `{}`",
                    text(profile, "name"),
                    view.manifests[template.owner].label(),
                    template.role().unwrap_or_default()
                );
                let hint = "add `decode-filter`, or take these pods out of the pool";
                found.push(owner, &place, message, hint);
            }
        }
    }
}

/// The picker's tokens are those of the model that its pods serve, and pods of a pool serve one.
pub(crate) fn model(view: &View<'_>, found: &mut Found) {
    for (owner, pool) in view.pools() {
        let mut served: Vec<(&str, &str)> = Vec::new();
        for template in view.selected(pool) {
            let Some(engine) = &template.engine else { continue };
            // Adapters are models of their own.
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
            let hint = "give each model a pool of its own";
            found.push(owner, ".spec.selector", message, hint);
        }
    }
    for picker in &view.pickers {
        let Some((owner, path, config)) = readable(picker) else { continue };
        let Some((_, pool)) = view.pool_of(picker) else { continue };
        let engines: Vec<_> = view
            .selected(pool)
            .into_iter()
            .filter_map(|template| template.engine.as_ref())
            .collect();
        for (index, plugin) in list(config, "plugins").iter().enumerate() {
            let Some(name) = plugin.pointer("/parameters/modelName").and_then(Json::as_str) else {
                continue;
            };
            for engine in &engines {
                let known: Vec<&str> =
                    engine.names().into_iter().chain(engine.model.as_deref()).collect();
                if !known.is_empty() && !known.contains(&name) {
                    let message = format!(
                        "the plugin `{}` is about `{name}`, and the pods serve `{}`",
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

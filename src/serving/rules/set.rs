//! What a set of manifests is as a whole.

use super::super::invariants::Found;
use super::super::view::View;
use super::super::view::pods::{Engine, Part, accelerators};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// No object is there twice.
pub(crate) fn twice(view: &View<'_>, found: &mut Found) {
    let mut seen: BTreeMap<(&str, &str, &str, &str), usize> = BTreeMap::new();
    for (owner, manifest) in view.manifests.iter().enumerate() {
        if manifest.name().is_empty() {
            continue;
        }
        let key = (manifest.group(), manifest.kind(), manifest.namespace(), manifest.name());
        if seen.insert(key, owner).is_some() {
            let message = format!("{} is there twice", manifest.label());
            let hint = "check the variants of a deployment one by one, each with its router";
            found.push(owner, "", message, hint);
        }
    }
}

/// Kinds whose pods are looked at without a template, or that hold schemas.
const KNOWN: [&str; 3] =
    ["LLMInferenceService", "LLMInferenceServiceConfig", "CustomResourceDefinition"];

/// Engines in kinds that no rule knows are said to be there.
pub(crate) fn unread(view: &View<'_>, found: &mut Found) {
    for (owner, manifest) in view.manifests.iter().enumerate() {
        let is_read = view.templates.iter().any(|template| template.owner == owner)
            || view.pickers.iter().any(|picker| picker.owner == owner)
            || KNOWN.contains(&manifest.kind());
        if !is_read && has_engine(&manifest.json) {
            let message = format!("the pods of {} are not looked at", manifest.label());
            let hint =
                "rules know Deployments, LeaderWorkerSets, and what has a template like them";
            found.push(owner, "", message, hint);
        }
    }
}

fn has_engine(json: &Json) -> bool {
    match json {
        Json::Object(map) => map.iter().any(|(key, value)| {
            let containers = value.as_array().filter(|_| key == "containers");
            containers.into_iter().flatten().any(|container| {
                accelerators(container).is_some()
                    || Engine::of(container, Part::Single, 1).is_some()
            }) || has_engine(value)
        }),
        Json::Array(list) => list.iter().any(has_engine),
        _ => false,
    }
}

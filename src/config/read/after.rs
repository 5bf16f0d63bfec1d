//! Reads `[[bundle.after]]` and `[[chart.after]]`: steps after the installation.

use super::reader::{Fields, Located, Reader};
use super::{ready, values};
use crate::after::{Reset, StepAfter};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::{Release, dns_subdomain, is_label_value};
use crate::yaml;
use crate::{Overlay, Target};
use serde_json::{Value as Json, json};
use std::ops::Range;

/// Fields that a step cannot change: the identity of the object, and what its controller reports.
const FIXED: [&[&str]; 6] = [
    &["apiVersion"],
    &["kind"],
    &["status"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "uid"],
];

/// Returns the steps of a bundle or chart with these overlays, in the order of the file.
pub(super) fn steps(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    overlays: &[Overlay],
) -> Vec<StepAfter> {
    let tables = reader.inner_tables(fields, "after");
    let steps: Vec<StepAfter> =
        tables.iter().filter_map(|fields| step(reader, fields, overlays)).collect();
    for (index, step) in steps.iter().enumerate() {
        let earlier = steps.iter().take(index).filter(|other| other.target == step.target);
        let shared = earlier.filter_map(|other| Some((other, shared_field(other, step)?)));
        if let Some((other, field)) = shared.into_iter().next() {
            let message =
                format!("two steps change `{field}` of {}/{}", step.target.kind, step.target.name);
            let diagnostic = Diagnostic::error(Code::InvalidValue, message)
                .at(Place::span(step.span.clone()))
                .related(Place::span(other.span.clone()), "the other step")
                .hint("remove the field from one of them");
            reader.found.push(diagnostic);
        }
    }
    steps
}

fn step(reader: &mut Reader<'_>, fields: &Fields<'_>, overlays: &[Overlay]) -> Option<StepAfter> {
    let at = fields.text("object")?;
    let range = at.1.clone();
    let target = ready::object(reader, at);
    let namespace = match fields.text("namespace") {
        Some(at) => values::namespace(reader, at).map(Some),
        None => Some(None),
    };
    let (annotations, labels) =
        (pairs(reader, fields, "annotations"), pairs(reader, fields, "labels"));
    let patch = patch(reader, fields);
    let gates = ready::gates(reader, fields, &[]);
    let timeout = ready::seconds(reader, fields);
    let resource = resource(reader, fields);
    let image = match fields.text("image") {
        Some(at) => values::reference(reader, "image", at).map(Some),
        None => Some(None),
    };
    let phase = ready::phase(reader, fields, overlays, "a step");

    let (annotations, labels, mut patch) = (annotations?, labels?, patch?);
    let reset = reset(reader, fields, &annotations, &labels);
    for (key, pairs, range) in [
        ("annotations", annotations, fields.place("annotations")),
        ("labels", labels, fields.place("labels")),
    ] {
        add(reader, &mut patch, key, pairs, range)?;
    }
    if patch.as_object().is_some_and(serde_json::Map::is_empty) {
        let hint = "add `annotations`, `labels` or `patch`";
        reader.error(Code::MissingKey, &fields.header, "the step changes nothing", hint);
        return None;
    }

    let target = Target { namespace: namespace?, ..target? };
    Some(StepAfter {
        target,
        resource: resource?,
        patch,
        reset: reset?,
        gates,
        timeout: timeout?,
        image: image?,
        phase: phase?,
        span: reader.span(range),
    })
}

/// Returns annotations or labels with valid keys and values.
fn pairs(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    name: &str,
) -> Option<serde_json::Map<String, Json>> {
    let mut pairs = serde_json::Map::new();
    let mut valid = true;

    for ((key, key_range), (value, range)) in fields.entries(name) {
        let (prefix, last) = key.rsplit_once('/').map_or((None, key), |(p, last)| (Some(p), last));
        let is_key = !last.is_empty()
            && is_label_value(last)
            && prefix.is_none_or(|prefix| dns_subdomain(prefix).is_ok());
        if !is_key {
            let message = format!("invalid key {key:?} in `{name}`");
            let hint = "write it as `NAME` or `DOMAIN/NAME`, with letters, digits, dashes, dots \
                and underscores";
            reader.error(Code::InvalidValue, &key_range, message, hint);
            valid = false;
        } else if name == "labels" && !is_label_value(value) {
            let message = format!("invalid value {value:?} of the label `{key}`");
            let hint = "use at most 63 letters, digits, dashes, dots and underscores";
            reader.error(Code::InvalidValue, &range, message, hint);
            valid = false;
        }

        pairs.insert(key.to_owned(), json!(value));
    }
    valid.then_some(pairs)
}

/// Returns the merge patch; an empty one if there is none.
fn patch(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Json> {
    let Some((value, range)) = fields.json("patch") else { return Some(json!({})) };
    let patch = match &value {
        Json::String(text) => parsed(reader, (text, range.clone()))?,
        _ => value,
    };
    let fault = if !patch.is_object() {
        Some("`patch` of a step is not an object".to_owned())
    } else if patch.as_object().is_some_and(serde_json::Map::is_empty) {
        Some("`patch` of a step is empty".to_owned())
    } else {
        FIXED.into_iter().find_map(|path| {
            let pointer = format!("/{}", path.join("/"));
            let found = patch.pointer(&pointer).is_some();
            found.then(|| format!("`patch` of a step cannot change `{}`", path.join(".")))
        })
    };
    if let Some(message) = fault {
        let hint = "write the fields to change, as in `patch = { spec = { replicas = 2 } }`";
        reader.error(Code::InvalidValue, &range, message, hint);
        return None;
    }
    Some(patch)
}

fn parsed(reader: &mut Reader<'_>, (text, range): Located<&str>) -> Option<Json> {
    let (message, hint) = match yaml::parse(text).as_deref() {
        Ok([value]) => return Some(Release::LITERAL.value(value)),
        Ok(documents) => (
            format!("`patch` of a step has {} YAML documents", documents.len()),
            "write one object".to_owned(),
        ),
        Err(error) => (
            format!("`patch` of a step is not valid YAML: {error}"),
            "write one object, in YAML or JSON".to_owned(),
        ),
    };
    reader.error(Code::InvalidValue, &range, message, hint);
    None
}

/// Adds annotations or labels to the patch; reports those that the patch has, too.
fn add(
    reader: &mut Reader<'_>,
    patch: &mut Json,
    key: &str,
    pairs: serde_json::Map<String, Json>,
    range: Range<usize>,
) -> Option<()> {
    if pairs.is_empty() {
        return Some(());
    }

    if patch.get("metadata").is_some_and(|metadata| !metadata.is_object())
        || patch.pointer(&format!("/metadata/{key}")).is_some_and(|value| !value.is_object())
    {
        let message = format!("`patch` of a step has a `metadata.{key}` that is no object");
        reader.error(Code::InvalidValue, &range, message, "remove it from `patch`");
        return None;
    }

    for (name, value) in pairs {
        let known = patch.pointer(&format!("/metadata/{key}")).and_then(|map| map.get(&name));
        if known.is_some() {
            let message = format!("`{name}` is in `{key}` and in `patch`");
            reader.error(Code::InvalidValue, &range, message, "remove one of them");
            return None;
        }
        patch["metadata"][key][&name] = value;
    }
    Some(())
}

/// Returns what is removed before annotations and labels are set.
fn reset(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    annotations: &serde_json::Map<String, Json>,
    labels: &serde_json::Map<String, Json>,
) -> Option<Option<Reset>> {
    let Some((text, range)) = fields.text("reset") else { return Some(None) };
    if annotations.is_empty() && labels.is_empty() {
        let message = "`reset` requires `annotations` or `labels`, which it removes first";
        reader.error(Code::MissingKey, &range, message, "add them, or remove `reset`");
        return None;
    }
    let mut removal = json!({});
    for (key, pairs) in [("annotations", annotations), ("labels", labels)] {
        for name in pairs.keys() {
            removal["metadata"][key][name] = Json::Null;
        }
    }
    Some(Some(Reset { removal, always: text == "always" }))
}

/// Returns the plural of the kind.
fn resource(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Option<String>> {
    let Some((text, range)) = fields.text("resource") else { return Some(None) };
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if text.is_empty() || !text.chars().all(plain) {
        let message = format!("`resource` is not the plural of a kind: {text:?}");
        let hint = "write it as `kubectl api-resources` prints it, without the group";
        reader.error(Code::InvalidValue, &range, message, hint);
        return None;
    }
    Some(Some(text.to_owned()))
}

/// Returns a field that two steps change.
fn shared_field(one: &StepAfter, other: &StepAfter) -> Option<String> {
    let (mut of_one, mut of_other) = (Vec::new(), Vec::new());
    leaves(&one.patch, &mut Vec::new(), &mut of_one);
    leaves(&other.patch, &mut Vec::new(), &mut of_other);
    let shared = of_one.iter().find(|path| {
        of_other.iter().any(|other| path.starts_with(other) || other.starts_with(path))
    });
    shared.map(|path| path.join("."))
}

/// Collects the paths of the fields that a merge patch sets or removes.
fn leaves(patch: &Json, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match patch.as_object().filter(|entries| !entries.is_empty()) {
        None => found.push(path.clone()),
        Some(entries) => {
            for (key, value) in entries {
                path.push(key.clone());
                leaves(value, path, found);
                path.pop();
            }
        }
    }
}

//! Switches: overlays that replace objects of the chart NAME-operands, or add some, when a value is
//! set.

use crate::config::Switch;
use crate::ir::{Condition, Identity, Object, ValueSpec};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Adds conditions to the objects of overlays with a switch, and to those that they replace, so
/// that one of them is rendered at a time. Returns the values of the switches.
///
/// A later switch is on only if the earlier ones are, which the schema of the values ensures.
pub fn switches(switches: &[Switch], objects: &mut [Object]) -> Vec<ValueSpec> {
    if switches.is_empty() {
        return Vec::new();
    }
    let number = |object: &Object| {
        let Some(Condition::Set(path)) = &object.when else { return None };
        switches.iter().position(|switch| Switch::value(&switch.name.text) == *path)
    };
    let mut variants: BTreeMap<Identity, BTreeSet<usize>> = BTreeMap::new();
    for object in objects.iter() {
        if let Some(number) = number(object) {
            variants.entry(object.id()).or_default().insert(number);
        }
    }
    for object in objects.iter_mut() {
        let own = number(object);
        let Some(others) = variants.get(&object.id()) else { continue };
        // Of several switches that are on, the last one counts.
        let later = others.iter().filter(|other| own.is_none_or(|own| **other > own));
        let off = later.map(|number| Condition::Unset(Switch::value(&switches[*number].name.text)));
        object.when = Condition::all(object.when.take().into_iter().chain(off));
    }

    let before = std::iter::once(None).chain(switches.iter().map(Some));
    let value = |(switch, before): (&Switch, Option<&Switch>)| {
        let order = before.map(|before| format!("; `{}` must be on", before.name.text));
        let order = order.unwrap_or_default();
        let words =
            format!("Turn on the switch `{}`{order}. README.md has the gates.", switch.name.text);
        ValueSpec::switch(Switch::value(&switch.name.text), false, words)
    };
    switches.iter().zip(before).map(value).collect()
}

/// Returns the constraints on values that keep switches in order, as JSON schemas.
pub fn switch_order(switches: &[Switch]) -> Vec<Json> {
    let on = |switch: &Switch| {
        let name = &switch.name.text;
        let switches = json!({"properties": {name: {"const": true}}, "required": [name]});
        json!({"properties": {"switches": switches}, "required": ["switches"]})
    };
    let pairs = switches.windows(2).filter_map(|pair| match pair {
        [before, switch] => Some(json!({"if": on(switch), "then": on(before)})),
        _ => None,
    });
    pairs.collect()
}

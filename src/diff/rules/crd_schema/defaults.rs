//! Defaults that their own schema refuses: the API server refuses the CRD.

use super::DEFAULT_REFUSED;
use super::location::{START, SchemaLocation, SchemaPart, locate};
use crate::Finding;
use crate::overlay;
use crate::read::at;
use crate::rules::{RuleContext, display_value, found};
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::HashSet;

/// The schemas of the new side whose defaults are judged, by their address, which is stable while the
/// side is borrowed: thousands of edits may be below one default.
#[derive(Default)]
pub(in crate::rules) struct JudgedDefaults(RefCell<HashSet<*const Json>>);

/// Returns the findings on defaults that an edit made wrong: of the schemas that contain it, which it
/// may have narrowed, and of those in it.
pub(super) fn refused(context: &RuleContext<'_, '_>, location: &SchemaLocation) -> Vec<Finding> {
    let steps = context.steps();
    let mut findings = Vec::new();
    for end in START..=location.schema {
        let Some(path) = steps.get(..end) else { break };
        let Some(after) = context.new.at(path) else { break };
        let is_new = || context.judged_defaults.0.borrow_mut().insert(std::ptr::from_ref(after));
        if after.get("default").is_some()
            && let Some(field) = schema_at(path)
            && is_new()
            && let Some(why) = fault(after)
            && context.old.at(path).and_then(fault).as_ref() != Some(&why)
        {
            findings.push(finding(&field, after, &why));
        }
    }

    let Some(new) = &context.edit.new else { return findings };
    match &location.part {
        SchemaPart::Property | SchemaPart::Schema => within(&location.field, new, &mut findings),
        SchemaPart::Keyword(at) if at + 1 == steps.len() => {
            below(&location.field, &steps[*at].label(), new, &mut findings);
        }
        SchemaPart::Keyword(_) => {}
    }
    findings
}

/// Returns the field of a path that ends at a schema that may have a default.
fn schema_at(path: &[crate::path::Step]) -> Option<String> {
    let location = locate(path);
    match location.part {
        _ if location.combination.is_some() => None,
        SchemaPart::Property | SchemaPart::Schema => Some(location.field),
        SchemaPart::Keyword(at) => Some(location.field + mark(&path.get(at)?.label())?),
    }
}

/// Returns the end of the name of a field below a keyword that has one schema.
fn mark(keyword: &str) -> Option<&'static str> {
    match keyword {
        "items" => Some("[]"),
        "additionalProperties" => Some(".*"),
        _ => None,
    }
}

/// Returns the findings on all defaults of a version of a CRD.
pub(in crate::rules) fn refused_in_version(version: &Json) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(schema) = at(version, &["schema", "openAPIV3Schema"]) {
        within("", schema, &mut findings);
    }
    findings
}

/// Adds the findings on a schema and those in it.
fn within(field: &str, schema: &Json, findings: &mut Vec<Finding>) {
    findings.extend(fault(schema).map(|why| finding(field, schema, &why)));
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        below(field, keyword, value, findings);
    }
}

/// Adds the findings on the schemas of a keyword.
fn below(field: &str, keyword: &str, value: &Json, findings: &mut Vec<Finding>) {
    if let Some(mark) = mark(keyword) {
        within(&format!("{field}{mark}"), value, findings);
    } else if keyword == "properties" {
        let dot = if field.is_empty() { "" } else { "." };
        for (name, property) in value.as_object().into_iter().flatten() {
            within(&format!("{field}{dot}{name}"), property, findings);
        }
    }
}

/// Returns why a schema refuses its own default.
fn fault(schema: &Json) -> Option<String> {
    let default = schema.get("default")?;
    overlay::refused(&schema.into(), &default.into()).into_iter().next()
}

fn finding(field: &str, schema: &Json, why: &str) -> Finding {
    let default = display_value(schema.get("default").unwrap_or(&Json::Null));
    found(&DEFAULT_REFUSED, format!("{field}: default {default}: {why}"))
}

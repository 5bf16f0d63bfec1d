//! Rules on schemas of CustomResourceDefinitions: removed, tightened and loosened fields.

use super::{RuleContext, crd_reference, display_value, found, listed, not_in, rules};
use crate::diff::path::{Path, Step};
use crate::diff::tree::Edit;
use crate::diff::{Finding, Rule};
use serde_json::Value as Json;
use std::collections::HashMap;

rules! {
    PROPERTY_REMOVED "crd-property-removed" Breaking
        "Field removed from an API."
        "The API server removes the field from an object on its next write, and rejects it with strict field validation."
        "Look for objects and manifests that use the field, and for its replacement.";
    TYPE "crd-type-changed" Breaking
        "Type of a field changed."
        "Objects with the old type are rejected on their next write, until the field is changed."
        "Change the field in all objects and manifests.";
    ENUM "crd-enum-narrowed" Breaking
        "Values of a field no longer allowed."
        "Objects with such a value are rejected when the field is next written."
        "Look for objects and manifests that use the values.";
    RANGE "crd-range-narrowed" Breaking
        "Range of a field narrowed."
        "Objects outside of the range are rejected when the field is next written."
        "Look for objects and manifests outside of the range.";
    REQUIRED "crd-required-added" Breaking
        "Field became required."
        "Objects and manifests without the field are rejected."
        "Add the field to all objects and manifests before the upgrade.";
    PATTERN "crd-pattern-added" Breaking
        "Pattern added to a field."
        "Objects that do not match the pattern are rejected when the field is next written."
        "Check the field in all objects and manifests.";
    PATTERN_CHANGED "crd-pattern-changed" Risky
        "Pattern of a field changed."
        "The new pattern may reject values that the old one allowed; bundle2chart does not compare patterns."
        "Check the field in all objects and manifests against the new pattern.";
    FORMAT "crd-format-changed" Risky
        "Format of a field changed."
        "The API server validates known formats, so it may reject existing values."
        "Check the field in all objects and manifests.";
    DEFAULT "crd-default-changed" Risky
        "Default of a field changed."
        "Objects without the field get the new value, including existing ones, because the API server applies defaults when it reads an object."
        "Set the field explicitly where you need the old default.";
    DEFAULT_ADDED "crd-default-added" Info
        "Default added to a field."
        "Objects without the field, including existing ones, get this value. It usually is the operator's previous behavior."
        "Check that the default fits your objects.";
    VALIDATION "crd-validation-added" Breaking
        "Validation rule added to an API."
        "Objects that violate the rule are rejected on their next write, as with a new pattern; since Kubernetes 1.30 only if the part with the rule changes (CRDValidationRatcheting)."
        "Check existing objects and manifests against the rule.";
    TRANSITION "crd-transition-rule-added" Risky
        "Validation rule on changes of a field added."
        "A rule with `oldSelf` is checked only when an object changes, so existing objects stay valid; updates of the field may be rejected."
        "Check whether you change the field of existing objects.";
    NEW_FIELDS "crd-validation-of-new-fields" Info
        "Validation rule of new fields added."
        "The rule is only about fields that the old version did not have, so existing objects do not violate it."
        "Nothing.";
    NULLABLE "crd-null-refused" Breaking
        "Null no longer allowed for a field."
        "Manifests that set the field to null are rejected, or the null is removed."
        "Remove the field where it is null.";
    PRUNED "crd-free-fields-pruned" Breaking
        "Unknown fields below a field are pruned."
        "The API server removes unknown fields of an object on its next write."
        "Look for fields below this one that the schema does not have.";
    LIST_KEYS "crd-list-keys-changed" Breaking
        "Merge keys of a list changed."
        "Lists with duplicates in the new keys are rejected, and server-side apply merges items differently."
        "Check the list in all objects.";
    UNIQUE "crd-list-unique" Breaking
        "Items of a list must be unique."
        "Lists of type set reject duplicate items, and lists of type map reject items with the same keys: objects with duplicates are rejected on their next write."
        "Look for duplicates in the list in all objects and manifests.";
    LIST_TYPE "crd-list-type-changed" Risky
        "List type or map type of a field changed."
        "Server-side apply merges or replaces the field differently; which objects are valid stays the same."
        "Check which other field managers write to this field.";
    CHANGED "crd-schema-changed" Risky
        "Schema changed in a way that no rule classifies."
        "Combined schemas (allOf, anyOf, oneOf, not) and rare keywords may tighten or loosen validation."
        "Compare the two schemas.";
    STATUS "crd-status-field-changed" Risky
        "Status field removed, or its type changed."
        "The new operator writes the status, so it is consistent. Dashboards, scripts and other operators that read it may fail."
        "Check which clients read the field.";
    STATUS_CHECKED "crd-status-checked" Info
        "Validation of a status field changed."
        "The new operator writes the status, so it is consistent."
        "Nothing.";
    PROPERTY_ADDED "crd-property-added" Info
        "Field added to an API."
        "The field is optional; existing objects stay valid."
        "Nothing.";
    LOOSENED "crd-loosened" Info
        "Validation of an API loosened."
        "Valid objects stay valid. After a rollback, the old version may reject objects that the new one allowed."
        "Nothing.";
    UNSERVED "crd-unserved-version-changed" Info
        "Schema of an unserved version changed."
        "No client can use the version."
        "Nothing.";
}

/// Maximum number of edits of an object for which renamed properties are detected.
const MOST_EDITS: usize = 2_000;

/// Location of an edit in a schema.
struct SchemaLocation {
    /// The field, as in a manifest: `spec.items[].name`.
    field: String,
    /// Length of the path of the schema that the keyword or property belongs to.
    schema: usize,
    /// True inside allOf, anyOf, oneOf or not, where a removal can tighten validation.
    combined: bool,
    /// The edited part of the schema.
    part: SchemaPart,
}

/// The edited part of a schema.
enum SchemaPart {
    /// A whole property.
    Property,
    /// A keyword, and the index of its path step.
    Keyword(String, usize),
    /// A whole schema.
    Schema,
}

/// Returns the location of a path in a schema. `start` is the step after `openAPIV3Schema`.
fn locate(steps: &[Step], start: usize) -> SchemaLocation {
    let mut location = SchemaLocation {
        field: String::new(),
        schema: start,
        combined: false,
        part: SchemaPart::Schema,
    };

    let mut at = start;
    while let Some(Step::Key(keyword)) = steps.get(at) {
        location.schema = at;
        match keyword.as_str() {
            "properties" | "patternProperties" => match steps.get(at + 1) {
                Some(Step::Key(name)) => {
                    if !location.field.is_empty() {
                        location.field.push('.');
                    }
                    location.field.push_str(name);
                    if steps.len() == at + 2 {
                        location.part = SchemaPart::Property;
                        return location;
                    }
                    at += 2;
                }
                _ => {
                    location.part = SchemaPart::Keyword(keyword.clone(), at);
                    return location;
                }
            },
            "items" | "additionalProperties" if steps.len() > at + 1 => {
                location.field.push_str(if keyword == "items" { "[]" } else { ".*" });
                at += 1;
            }
            // `not` has a schema, the others have a list of schemas, so they take an index, too.
            "allOf" | "anyOf" | "oneOf" | "not" if steps.len() > at + 1 => {
                location.combined = true;
                at += if keyword == "not" { 1 } else { 2 };
            }
            _ => {
                location.part = SchemaPart::Keyword(keyword.clone(), at);
                return location;
            }
        }
    }

    location.schema = at;
    location
}

/// Returns the version and the field of a path in the schema of a CRD, `None` for other paths.
pub(in crate::diff) fn schema_field(path: &Path) -> Option<(String, String)> {
    let steps = path.steps();
    let is_key =
        |at: usize, name: &str| matches!(steps.get(at), Some(Step::Key(key)) if key == name);
    if !(is_key(1, "versions") && is_key(3, "schema")) || steps.len() < START {
        return None;
    }
    Some((steps.get(2)?.label(), locate(steps, START).field))
}

/// Number of steps of `.spec.versions[v].schema.openAPIV3Schema`.
const START: usize = 5;

pub(super) fn judge(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    let steps = context.steps();
    let start = START;
    if steps.len() < start {
        findings.push(found(&CHANGED, "schema of the version added or removed"));
        return;
    }

    let location = locate(steps, start);
    let mut own = Vec::new();
    match &location.part {
        // No effect on validation, pruning or defaults.
        SchemaPart::Keyword(keyword, _)
            if ["description", "title", "example", "externalDocs"].contains(&keyword.as_str()) =>
        {
            return;
        }
        // A change in one branch can be a restriction or a relaxation of the whole.
        _ if location.combined => {
            own.push(found(
                &CHANGED,
                format!("{}: allOf, anyOf, oneOf or not changed", location.field),
            ));
        }
        SchemaPart::Property => own.extend(property(context, &location)),
        SchemaPart::Keyword(keyword, at) => {
            own.extend(keyword_finding(context, &location, keyword, *at))
        }
        SchemaPart::Schema => {
            own.push(found(&CHANGED, format!("{}: schema changed", location.field)));
        }
    }

    // No client can use an unserved version, and `status` is written by the new operator itself.
    let unserved = lookup_version(context)
        .is_some_and(|version| version.get("served").and_then(Json::as_bool) == Some(false));
    for finding in own {
        findings.push(if unserved {
            found(&UNSERVED, finding.reason)
        } else if in_status(&location.field) && finding.rule.class != crate::diff::Class::Info {
            let seen = [&PROPERTY_REMOVED, &TYPE].contains(&finding.rule);
            found(if seen { &STATUS } else { &STATUS_CHECKED }, finding.reason)
        } else {
            finding
        });
    }
}

fn in_status(field: &str) -> bool {
    field == "status" || field.starts_with("status.") || field.starts_with("status[")
}

/// Returns the old version that contains the edit.
fn lookup_version<'a>(context: &'a RuleContext<'_, '_>) -> Option<&'a Json> {
    context.old.at(context.steps().get(..3)?)
}

fn property(context: &RuleContext<'_, '_>, location: &SchemaLocation) -> Option<Finding> {
    let steps = context.steps();
    let field = &location.field;
    if context.edit.new.is_some() {
        return Some(found(&PROPERTY_ADDED, format!("{field}: field added")));
    }
    let schema = context.new.at(steps.get(..location.schema)?)?;
    if flag(Some(schema), "x-kubernetes-preserve-unknown-fields") {
        return Some(found(
            &LOOSENED,
            format!("{field}: schema removed, still preserved as an unknown field"),
        ));
    }
    let twin = context.new_properties.twin(context.edit);
    let mut reason = format!("{field}: field removed");
    if let Some(twin) = twin {
        reason.push_str(&format!(", maybe renamed to `{twin}`"));
    }
    Some(found(&PROPERTY_REMOVED, reason))
}

/// Added parts of a CRD by the path of their parent and their schema without descriptions, for
/// finding renamed properties.
#[derive(Default)]
pub(super) struct NewProperties<'e>(HashMap<(&'e [Step], Json), &'e Edit>);

impl<'e> NewProperties<'e> {
    /// Collects the additions among the edits of a CRD; the first of equal ones wins.
    ///
    /// With more than [`MOST_EDITS`] edits, nothing is treated as renamed.
    pub(super) fn of(edits: &'e [Edit]) -> Self {
        let mut properties = NewProperties::default();
        if edits.len() > MOST_EDITS {
            return properties;
        }
        for edit in edits {
            if let (None, Some(new), Some((_, parents))) =
                (&edit.old, &edit.new, edit.path.steps().split_last())
            {
                properties.0.entry((parents, without_description(new))).or_insert(edit);
            }
        }
        properties
    }

    /// Returns the added sibling of a removed property with the same schema.
    fn twin(&self, edit: &'e Edit) -> Option<&'e str> {
        let (_, parents) = edit.path.steps().split_last()?;
        let key = (parents, without_description(edit.old.as_ref()?));
        self.0.get(&key)?.path.last_key()
    }
}

fn without_description(schema: &Json) -> Json {
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        map.shift_remove("description");
    }
    schema
}

fn flag(schema: Option<&Json>, key: &str) -> bool {
    schema.and_then(|schema| schema.get(key)).and_then(Json::as_bool).unwrap_or_default()
}

/// Formats that the API server validates; it ignores all others. Source: kube-openapi's
/// pkg/validation/strfmt, and apiextensions-apiserver's `supportedFormats`.
const VALIDATED_FORMATS: [&str; 24] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "date",
    "duration",
    "date-time",
    "datetime",
];

/// Returns the finding for an edit of a schema keyword.
fn keyword_finding(
    context: &RuleContext<'_, '_>,
    location: &SchemaLocation,
    keyword: &str,
    at: usize,
) -> Option<Finding> {
    let (old, new) = (context.edit.old.as_ref(), context.edit.new.as_ref());
    let parent = context.steps().get(..at)?;
    let before = context.old.at(parent);
    let after = context.new.at(parent);
    let field = if location.field.is_empty() { "the object" } else { &location.field };
    let int_or_string = |schema| flag(schema, "x-kubernetes-int-or-string");
    let free = |schema| flag(schema, "x-kubernetes-preserve-unknown-fields");
    let tells = |rule: &'static Rule, reason: String| Some(found(rule, reason));

    // A constraint that Kubernetes has anyway rejects only values that never worked.
    if ["pattern", "minLength", "maxLength"].contains(&keyword) && new.is_some() {
        let reference =
            crd_reference::judge(context.old, context.new, parent, &location.field, keyword);
        if reference.is_some() {
            return reference;
        }
    }

    match (keyword, old, new) {
        ("type", Some(old), Some(new)) => {
            let rule = if old == "integer" && new == "number" { &LOOSENED } else { &TYPE };
            tells(rule, format!("{field}: type {} → {}", display_value(old), display_value(new)))
        }
        ("type", Some(old), None) if int_or_string(after) || free(after) => {
            tells(&LOOSENED, format!("{field}: type {} no longer required", display_value(old)))
        }
        ("type", None, Some(_)) if int_or_string(before) || free(before) => {
            tells(&TYPE, format!("{field}: type restricted to {}", display_value(new?)))
        }
        ("type", ..) => tells(&TYPE, format!("{field}: type added or removed")),
        ("x-kubernetes-int-or-string", Some(_), _) => {
            tells(&TYPE, format!("{field}: no longer an integer or a string"))
        }
        ("anyOf", None, Some(_)) if int_or_string(after) => {
            tells(&LOOSENED, format!("{field}: integers and strings allowed"))
        }
        ("anyOf", Some(_), None) if int_or_string(before) => {
            tells(&TYPE, format!("{field}: no longer an integer or a string"))
        }
        ("x-kubernetes-int-or-string", ..) => {
            tells(&LOOSENED, format!("{field}: integers and strings allowed"))
        }

        ("enum", None, Some(new)) => {
            tells(&ENUM, format!("{field}: only {} allowed now", values(&all(new))))
        }
        ("enum", Some(_), None) => tells(&LOOSENED, format!("{field}: enum removed")),
        ("enum", Some(old), Some(new)) => {
            let gone = not_in(old, new);
            if gone.is_empty() {
                let added = counted("value", &not_in(new, old));
                return tells(&LOOSENED, format!("{field}: new {added}"));
            }
            tells(&ENUM, format!("{field}: {} no longer allowed", counted("value", &gone)))
        }
        ("required", ..) => {
            let empty = Json::Array(Vec::new());
            let came = not_in(new.unwrap_or(&empty), old.unwrap_or(&empty));
            let has_default = |name: &&Json| {
                let property = name.as_str().and_then(|n| after?.get("properties")?.get(n));
                property.is_some_and(|property| property.get("default").is_some())
            };
            let (filled, bare): (Vec<&Json>, Vec<&Json>) = came.into_iter().partition(has_default);
            if !bare.is_empty() {
                let reason = format!("{field}: {} now required", counted("field", &bare));
                return tells(&REQUIRED, reason);
            }
            if !filled.is_empty() {
                let fields = counted("field", &filled);
                let reason = format!("{field}: {fields} now required, with a default");
                return tells(&DEFAULT_ADDED, reason);
            }
            tells(&LOOSENED, format!("{field}: fewer required fields"))
        }
        ("minimum" | "minLength" | "minItems" | "minProperties", ..) => {
            Some(bound(field, keyword, old, new, true))
        }
        ("maximum" | "maxLength" | "maxItems" | "maxProperties", ..) => {
            Some(bound(field, keyword, old, new, false))
        }
        ("exclusiveMinimum" | "exclusiveMaximum", ..) => {
            if new.and_then(Json::as_bool) == Some(true) {
                return tells(&RANGE, format!("{field}: new {keyword}, the bound is not allowed"));
            }
            tells(&LOOSENED, format!("{field}: {keyword} removed, the bound is allowed"))
        }

        ("pattern", None, Some(new)) => {
            tells(&PATTERN, format!("{field}: new pattern {}", display_value(new)))
        }
        ("pattern", Some(_), Some(new)) => {
            tells(&PATTERN_CHANGED, format!("{field}: pattern changed to {}", display_value(new)))
        }
        ("pattern", ..) => tells(&LOOSENED, format!("{field}: pattern removed")),
        ("format", _, Some(new)) => {
            if VALIDATED_FORMATS.contains(&new.as_str()?) {
                return tells(&FORMAT, format!("{field}: format {}", display_value(new)));
            }
            let reason = format!("{field}: format {}, which is not validated", display_value(new));
            tells(&LOOSENED, reason)
        }
        ("format", ..) => tells(&LOOSENED, format!("{field}: format removed")),

        ("default", None, Some(new)) => {
            tells(&DEFAULT_ADDED, format!("{field}: new default {}", display_value(new)))
        }
        ("default", Some(old), Some(new)) => tells(
            &DEFAULT,
            format!("{field}: default {} → {}", display_value(old), display_value(new)),
        ),
        ("default", ..) => {
            tells(&DEFAULT, format!("{field}: default {} removed", display_value(old?)))
        }
        ("nullable", Some(Json::Bool(true)), _) => {
            tells(&NULLABLE, format!("{field}: null no longer allowed"))
        }
        ("nullable", ..) => tells(&LOOSENED, format!("{field}: null allowed")),

        ("x-kubernetes-preserve-unknown-fields", Some(Json::Bool(true)), _) => {
            tells(&PRUNED, format!("{field}: unknown fields are pruned"))
        }
        ("x-kubernetes-preserve-unknown-fields", ..) => {
            tells(&LOOSENED, format!("{field}: unknown fields are preserved"))
        }
        ("additionalProperties" | "properties" | "items", Some(_), None) => {
            if free(after) {
                let reason = format!("{field}: {keyword} removed, unknown fields are preserved");
                return tells(&LOOSENED, reason);
            }
            tells(&PROPERTY_REMOVED, format!("{field}: {keyword} removed, fields are pruned"))
        }
        ("additionalProperties", Some(_), Some(Json::Bool(false))) => {
            tells(&PROPERTY_REMOVED, format!("{field}: additional properties no longer allowed"))
        }
        // Unknown fields are kept on both sides, but the new properties are validated.
        ("properties", None, Some(_)) if free(before) && free(after) => {
            tells(&CHANGED, format!("{field}: new properties, which are validated"))
        }
        ("additionalProperties" | "properties" | "items", None, Some(_)) => {
            tells(&PROPERTY_ADDED, format!("{field}: new {keyword}"))
        }
        ("x-kubernetes-validations", ..) => validation(context, field, at),
        ("x-kubernetes-list-map-keys", ..) => {
            let keys =
                |value: Option<&Json>| value.map_or("none".to_owned(), |value| values(&all(value)));
            tells(&LIST_KEYS, format!("{field}: list map keys {} → {}", keys(old), keys(new)))
        }
        ("x-kubernetes-list-type" | "x-kubernetes-map-type", ..) => {
            let word =
                |value: Option<&Json>| value.and_then(Json::as_str).unwrap_or("default").to_owned();
            let unique = |value: Option<&Json>| {
                value.and_then(Json::as_str).is_some_and(|kind| ["set", "map"].contains(&kind))
            };
            let narrower = keyword == "x-kubernetes-list-type" && unique(new) && !unique(old);
            let rule = if narrower { &UNIQUE } else { &LIST_TYPE };
            tells(rule, format!("{field}: {keyword} {} → {}", word(old), word(new)))
        }
        _ => tells(&CHANGED, format!("{field}: `{keyword}` changed")),
    }
}

/// Returns the finding for an edit of `x-kubernetes-validations`.
fn validation(context: &RuleContext<'_, '_>, field: &str, at: usize) -> Option<Finding> {
    let rest = context.steps().get(at + 1..)?;
    let rules = |list: &Json| -> Vec<String> {
        let list = list.as_array().into_iter().flatten();
        list.filter_map(|rule| rule.get("rule")?.as_str().map(str::to_owned)).collect()
    };
    let came: Vec<String> = match (rest, &context.edit.old, &context.edit.new) {
        ([], old, Some(new)) => {
            let old = old.as_ref().map(rules).unwrap_or_default();
            rules(new).into_iter().filter(|rule| !old.contains(rule)).collect()
        }
        ([Step::Item(_) | Step::Index(_)], None, Some(new)) => {
            new.get("rule").and_then(Json::as_str).map(str::to_owned).into_iter().collect()
        }
        ([Step::Index(_), Step::Key(key)], _, Some(new)) if key == "rule" => {
            new.as_str().map(str::to_owned).into_iter().collect()
        }
        ([] | [Step::Item(_)], Some(_), None) => Vec::new(),
        // Messages and reasons of rules do not affect validation.
        _ => return None,
    };
    if came.is_empty() {
        return Some(found(&LOOSENED, format!("{field}: validation removed")));
    }

    let schema = context.steps().get(..at)?;
    let properties = |side: &super::lookup::Lookup<'_>| {
        side.at(schema).and_then(|s| s.get("properties").cloned())
    };
    let (before, after) = (properties(context.old), properties(context.new));
    let is_new = |name: &str| {
        let has = |side: &Option<Json>| side.as_ref().is_some_and(|map| map.get(name).is_some());
        has(&after) && !has(&before)
    };
    let rule = if came.iter().all(|rule| is_about(rule, is_new)) {
        &NEW_FIELDS
    } else if came.iter().all(|rule| rule.contains("oldSelf") || is_about(rule, is_new)) {
        &TRANSITION
    } else {
        &VALIDATION
    };
    let shown: Vec<String> =
        came.into_iter().map(|rule| display_value(&Json::String(rule))).collect();
    Some(found(rule, format!("{field}: new validation {}", listed(&shown, 3))))
}

/// Returns true if a CEL rule uses `self` only for fields for which `wanted` is true.
fn is_about(rule: &str, wanted: impl Fn(&str) -> bool) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut uses = rule
        .match_indices("self")
        .filter(|(at, _)| !rule[..*at].ends_with(word) && !rule[at + 4..].starts_with(word));
    let mut any = false;
    let all = uses.all(|(at, _)| {
        any = true;
        let Some(rest) = rule[at + 4..].strip_prefix('.') else { return false };
        let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
        wanted(&rest[..end])
    });
    any && all
}

/// Returns the finding for a changed bound; with `lower`, larger bounds are narrower.
fn bound(
    field: &str,
    keyword: &str,
    old: Option<&Json>,
    new: Option<&Json>,
    lower: bool,
) -> Finding {
    let number = |value: Option<&Json>| value.and_then(Json::as_f64);
    let reason = match (old, new) {
        (None, Some(new)) => format!("{field}: new {keyword} {}", display_value(new)),
        (Some(old), Some(new)) => {
            format!("{field}: {keyword} {} → {}", display_value(old), display_value(new))
        }
        (Some(old), None) => format!("{field}: {keyword} {} removed", display_value(old)),
        (None, None) => format!("{field}: {keyword} changed"),
    };
    let narrower = match (number(old), number(new)) {
        (_, None) => false,
        // A minimum length of 0 restricts nothing.
        (None, Some(new)) => !(lower && keyword != "minimum" && new <= 0.0),
        (Some(old), Some(new)) => (new > old) == lower,
    };
    found(if narrower { &RANGE } else { &LOOSENED }, reason)
}

fn all(list: &Json) -> Vec<&Json> {
    list.as_array().into_iter().flatten().collect()
}

/// Returns the values with a noun in the right number: `value X`, `values X and Y`.
fn counted(noun: &str, list: &[&Json]) -> String {
    let plural = if list.len() == 1 { "" } else { "s" };
    format!("{noun}{plural} {}", values(list))
}

fn values(values: &[&Json]) -> String {
    let display_value: Vec<String> = values.iter().map(|value| display_value(value)).collect();
    listed(&display_value, 6)
}

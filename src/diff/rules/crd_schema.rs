//! What schemas of CustomResourceDefinitions take away, tighten or loosen.

use super::{Scene, found, listed, not_in, rules, spoken};
use crate::diff::path::Step;
use crate::diff::tree::Edit;
use crate::diff::{Finding, Rule};
use serde_json::Value as Json;
use std::collections::HashMap;

rules! {
    PROPERTY_REMOVED "crd-property-removed" Breaking
        "A field of an API is gone."
        "The API server drops the field from every object that has it when the object is next written, and strict clients are refused."
        "Look for objects and manifests that use the field, and find out what replaces it.";
    TYPE "crd-type-changed" Breaking
        "A field of an API has another type."
        "Objects with the old type are refused when they are next written, and cannot be changed until they are right."
        "Change the field in all objects and manifests.";
    ENUM "crd-enum-narrowed" Breaking
        "A field of an API takes fewer values."
        "Objects with a value that is no longer allowed are refused when the field is next written."
        "Look for objects and manifests that use the values.";
    RANGE "crd-range-narrowed" Breaking
        "A field of an API has a narrower range."
        "Objects outside of the range are refused when the field is next written."
        "Look for objects and manifests outside of the range.";
    REQUIRED "crd-required-added" Breaking
        "A field of an API became required."
        "Objects and manifests without the field are refused."
        "Add the field to all objects and manifests before the upgrade.";
    PATTERN "crd-pattern-added" Breaking
        "Text in a field of an API must match a pattern."
        "Objects whose text does not match are refused when the field is next written."
        "Check the field in all objects and manifests.";
    PATTERN_CHANGED "crd-pattern-changed" Risky
        "Text in a field of an API must match another pattern."
        "Whether the new pattern takes all that the old one took cannot be told."
        "Check the field in all objects and manifests against the new pattern.";
    FORMAT "crd-format-changed" Risky
        "A field of an API has another format."
        "Known formats are checked, so objects with other text may be refused."
        "Check the field in all objects and manifests.";
    DEFAULT "crd-default-changed" Risky
        "A field of an API has another default."
        "Objects that leave the field out get another value, also those that exist, because defaults are filled in when an object is read."
        "Set the field where the old default is wanted.";
    DEFAULT_ADDED "crd-default-added" Info
        "A field of an API has a default."
        "Objects that leave the field out, existing ones too, now have this value. It usually is what the program did anyway."
        "Check that it is what you want.";
    VALIDATION "crd-validation-added" Risky
        "An API has one more validation rule."
        "Objects that break the rule are refused when they are next written; since Kubernetes 1.30 only where the part with the rule changes."
        "Check existing objects against the rule.";
    NULLABLE "crd-null-refused" Breaking
        "A field of an API may no longer be null."
        "Manifests that set the field to null are refused, or the null is dropped."
        "Remove the field where it is null.";
    PRUNED "crd-free-fields-pruned" Breaking
        "A part of an API no longer keeps fields that the schema does not have."
        "The API server drops such fields when an object is next written."
        "Look for fields below this one that the schema does not have.";
    LIST_KEYS "crd-list-keys-changed" Breaking
        "Items of a list are told apart by other fields."
        "Lists with two items that are equal in the new keys are refused, and server-side apply merges items in another way."
        "Check the list in all objects.";
    LIST_TYPE "crd-list-type-changed" Risky
        "A list or map is merged in another way."
        "Server-side apply merges or replaces it otherwise than before, and sets and maps refuse equal items."
        "Check who else writes to this field.";
    CHANGED "crd-schema-changed" Risky
        "A schema changed in a way that cannot be judged."
        "Combined schemas (allOf, anyOf, oneOf, not) and rare keywords may tighten or loosen what is allowed."
        "Compare the two schemas.";
    STATUS "crd-status-field-changed" Risky
        "The status of an API lost a field, or a field of it has another type."
        "The operator writes the status, and the new operator fits. Dashboards, scripts and other operators that read it may not."
        "Check what reads the field.";
    STATUS_CHECKED "crd-status-checked" Info
        "The status of an API is checked in another way."
        "The operator writes the status, and the new operator fits."
        "Nothing.";
    PROPERTY_ADDED "crd-property-added" Info
        "A field of an API is new."
        "Objects may use it; existing ones need not."
        "Nothing.";
    LOOSENED "crd-loosened" Info
        "An API takes more than before."
        "What was valid stays valid. What is written now may be refused by the old version, should you go back."
        "Nothing.";
    UNSERVED "crd-unserved-version-changed" Info
        "The schema of a version that is not served changed."
        "Nobody can ask for the version."
        "Nothing.";
}

/// Edits of an object among which a new name is looked for.
const MOST_EDITS: usize = 2_000;

/// What an edit inside of a schema is about.
struct Spot {
    /// The field, as in a manifest: `spec.items[].name`.
    field: String,
    /// The path of the schema that the keyword or property belongs to.
    schema: usize,
    /// Whether it is in a combined schema, where less can mean more.
    combined: bool,
    /// The keyword and what is below it, as path steps from here.
    what: What,
}

enum What {
    /// A whole property.
    Property,
    /// A keyword, and where its steps begin.
    Keyword(String, usize),
    /// A whole schema.
    Schema,
}

/// Follows a path through a schema. `start` is the step after `openAPIV3Schema`.
fn spot(steps: &[Step], start: usize) -> Spot {
    let mut spot =
        Spot { field: String::new(), schema: start, combined: false, what: What::Schema };
    let mut at = start;
    while let Some(Step::Key(keyword)) = steps.get(at) {
        spot.schema = at;
        match keyword.as_str() {
            "properties" | "patternProperties" => match steps.get(at + 1) {
                Some(Step::Key(name)) => {
                    if !spot.field.is_empty() {
                        spot.field.push('.');
                    }
                    spot.field.push_str(name);
                    if steps.len() == at + 2 {
                        spot.what = What::Property;
                        return spot;
                    }
                    at += 2;
                }
                _ => {
                    spot.what = What::Keyword(keyword.clone(), at);
                    return spot;
                }
            },
            "items" | "additionalProperties" if steps.len() > at + 1 => {
                spot.field.push_str(if keyword == "items" { "[]" } else { ".*" });
                at += 1;
            }
            "allOf" | "anyOf" | "oneOf" | "not" if steps.len() > at + 1 => {
                spot.combined = true;
                at += if keyword == "not" { 1 } else { 2 };
            }
            _ => {
                spot.what = What::Keyword(keyword.clone(), at);
                return spot;
            }
        }
    }
    spot.schema = at;
    spot
}

pub(super) fn judge(scene: &Scene<'_, '_>, findings: &mut Vec<Finding>) {
    let steps = scene.steps();
    // .spec.versions[v].schema.openAPIV3Schema
    let start = 5;
    if steps.len() < start {
        findings.push(found(&CHANGED, "the version's schema as a whole came or went"));
        return;
    }
    let spot = spot(steps, start);
    let mut own = Vec::new();
    match &spot.what {
        What::Keyword(keyword, _)
            if ["description", "title", "example", "externalDocs"].contains(&keyword.as_str()) =>
        {
            return;
        }
        _ if spot.combined => {
            own.push(found(&CHANGED, format!("a combined schema of `{}` changed", spot.field)));
        }
        What::Property => own.extend(property(scene, &spot)),
        What::Keyword(keyword, at) => own.extend(keyword_finding(scene, &spot, keyword, *at)),
        What::Schema => {
            own.push(found(&CHANGED, format!("the schema of `{}` changed", spot.field)));
        }
    }
    let unserved = lookup_version(scene)
        .is_some_and(|version| version.get("served").and_then(Json::as_bool) == Some(false));
    for finding in own {
        findings.push(if unserved {
            found(&UNSERVED, finding.reason)
        } else if in_status(&spot.field) && finding.rule.class != crate::diff::Class::Info {
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

/// The old version that the edit is in.
fn lookup_version<'a>(scene: &'a Scene<'_, '_>) -> Option<&'a Json> {
    scene.old.at(scene.steps().get(..3)?)
}

fn property(scene: &Scene<'_, '_>, spot: &Spot) -> Option<Finding> {
    let steps = scene.steps();
    let field = &spot.field;
    if scene.edit.new.is_some() {
        return Some(found(&PROPERTY_ADDED, format!("`{field}` is new")));
    }
    let schema = scene.new.at(steps.get(..spot.schema)?)?;
    if flag(Some(schema), "x-kubernetes-preserve-unknown-fields") {
        return Some(found(
            &LOOSENED,
            format!("`{field}` is no longer described, and still kept as an unknown field"),
        ));
    }
    let twin = scene.new_properties.twin(scene.edit);
    let mut reason = format!("`{field}` is gone");
    if let Some(twin) = twin {
        reason.push_str(&format!("; perhaps it is `{twin}` now"));
    }
    Some(found(&PROPERTY_REMOVED, reason))
}

/// What a CRD got, by the steps to what it is in and by its schema without the description: a
/// property that went may be there under another name.
#[derive(Default)]
pub(super) struct NewProperties<'e>(HashMap<(&'e [Step], Json), &'e Edit>);

impl<'e> NewProperties<'e> {
    /// Collects what the edits of a CRD add, of equal ones the first.
    ///
    /// Where nearly everything differs, nothing has a new name.
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

    /// Returns the new sibling of a property that went, when both have the same schema.
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

fn keyword_finding(
    scene: &Scene<'_, '_>,
    spot: &Spot,
    keyword: &str,
    at: usize,
) -> Option<Finding> {
    let (old, new) = (scene.edit.old.as_ref(), scene.edit.new.as_ref());
    let parent = scene.steps().get(..at)?;
    let before = scene.old.at(parent);
    let after = scene.new.at(parent);
    let field =
        if spot.field.is_empty() { "the object".to_owned() } else { format!("`{}`", spot.field) };
    let int_or_string = |schema| flag(schema, "x-kubernetes-int-or-string");
    let free = |schema| flag(schema, "x-kubernetes-preserve-unknown-fields");
    let tells = |rule: &'static Rule, reason: String| Some(found(rule, reason));
    match (keyword, old, new) {
        ("type", Some(old), Some(new)) => {
            if old == "integer" && new == "number" {
                return tells(&LOOSENED, format!("{field} may now have a fraction"));
            }
            tells(&TYPE, format!("{field} was {} and is {}", spoken(old), spoken(new)))
        }
        ("type", Some(old), None) if int_or_string(after) || free(after) => {
            tells(&LOOSENED, format!("{field} was {} and may now be more", spoken(old)))
        }
        ("type", None, Some(_)) if int_or_string(before) || free(before) => {
            tells(&TYPE, format!("{field} may only be {} now", spoken(new?)))
        }
        ("type", ..) => tells(&TYPE, format!("the type of {field} came or went")),
        ("x-kubernetes-int-or-string", Some(_), _) => {
            tells(&TYPE, format!("{field} was an integer or a string"))
        }
        ("anyOf", None, Some(_)) if int_or_string(after) => {
            tells(&LOOSENED, format!("{field} may be an integer or a string"))
        }
        ("anyOf", Some(_), None) if int_or_string(before) => {
            tells(&TYPE, format!("{field} was an integer or a string"))
        }
        ("x-kubernetes-int-or-string", ..) => {
            tells(&LOOSENED, format!("{field} may be an integer or a string"))
        }
        ("enum", None, Some(new)) => {
            tells(&ENUM, format!("{field} may only be {}", values(&all(new))))
        }
        ("enum", Some(_), None) => tells(&LOOSENED, format!("{field} takes any value")),
        ("enum", Some(old), Some(new)) => {
            let gone = not_in(old, new);
            if gone.is_empty() {
                return tells(
                    &LOOSENED,
                    format!("{field} may also be {}", values(&not_in(new, old))),
                );
            }
            tells(&ENUM, format!("{field} may no longer be {}", values(&gone)))
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
                return tells(&REQUIRED, format!("{field} must have {}", values(&bare)));
            }
            if !filled.is_empty() {
                let reason = format!("{field} must have {}, which has a default", values(&filled));
                return tells(&DEFAULT_ADDED, reason);
            }
            tells(&LOOSENED, format!("{field} need not have all that it had to have"))
        }
        ("minimum" | "minLength" | "minItems" | "minProperties", ..) => {
            Some(bound(&field, keyword, old, new, true))
        }
        ("maximum" | "maxLength" | "maxItems" | "maxProperties", ..) => {
            Some(bound(&field, keyword, old, new, false))
        }
        ("exclusiveMinimum" | "exclusiveMaximum", ..) => {
            if new.and_then(Json::as_bool) == Some(true) {
                return tells(&RANGE, format!("the bound itself is no longer allowed for {field}"));
            }
            tells(&LOOSENED, format!("the bound itself is now allowed for {field}"))
        }
        ("pattern", None, Some(new)) => {
            tells(&PATTERN, format!("{field} must match {}", spoken(new)))
        }
        ("pattern", Some(_), Some(new)) => {
            tells(&PATTERN_CHANGED, format!("{field} must match {}", spoken(new)))
        }
        ("pattern", ..) => tells(&LOOSENED, format!("{field} need not match a pattern")),
        ("format", _, Some(new)) => {
            // Kubernetes does not check these.
            let unchecked = ["int32", "int64", "double", "float"].contains(&new.as_str()?);
            let rule = if unchecked { &LOOSENED } else { &FORMAT };
            tells(rule, format!("{field} has format {}", spoken(new)))
        }
        ("format", ..) => tells(&LOOSENED, format!("{field} has no format any more")),
        ("default", None, Some(new)) => {
            tells(&DEFAULT_ADDED, format!("{field} is {} when it is left out", spoken(new)))
        }
        ("default", Some(old), Some(new)) => tells(
            &DEFAULT,
            format!("{field} was {} when left out, and is {}", spoken(old), spoken(new)),
        ),
        ("default", ..) => tells(
            &DEFAULT,
            format!("{field} was {} when left out, and now has no default", spoken(old?)),
        ),
        ("nullable", Some(Json::Bool(true)), _) => {
            tells(&NULLABLE, format!("{field} may not be null"))
        }
        ("nullable", ..) => tells(&LOOSENED, format!("{field} may be null")),
        ("x-kubernetes-preserve-unknown-fields", Some(Json::Bool(true)), _) => tells(
            &PRUNED,
            format!("fields below {field} that the schema does not have are dropped"),
        ),
        ("x-kubernetes-preserve-unknown-fields", ..) => {
            tells(&LOOSENED, format!("fields below {field} that the schema does not have are kept"))
        }
        ("additionalProperties" | "properties" | "items", Some(_), None) => {
            if free(after) {
                return tells(&LOOSENED, format!("what is below {field} is no longer described"));
            }
            tells(
                &PROPERTY_REMOVED,
                format!("what is below {field} is no longer described, and dropped"),
            )
        }
        ("additionalProperties", Some(_), Some(Json::Bool(false))) => {
            tells(&PROPERTY_REMOVED, format!("{field} takes no other keys"))
        }
        ("properties", None, Some(_)) if free(before) && free(after) => {
            tells(&CHANGED, format!("fields below {field} are now described, and checked"))
        }
        ("additionalProperties" | "properties" | "items", None, Some(_)) => {
            tells(&PROPERTY_ADDED, format!("fields below {field} are new"))
        }
        ("x-kubernetes-validations", ..) => validation(scene, &field, at),
        ("x-kubernetes-list-map-keys", ..) => {
            let keys = |value: Option<&Json>| {
                value.map_or("nothing".to_owned(), |value| values(&all(value)))
            };
            tells(
                &LIST_KEYS,
                format!(
                    "items of {field} were told apart by {}, and are by {}",
                    keys(old),
                    keys(new)
                ),
            )
        }
        ("x-kubernetes-list-type" | "x-kubernetes-map-type", ..) => {
            let word = |value: Option<&Json>| {
                value.and_then(Json::as_str).unwrap_or("the default").to_owned()
            };
            tells(
                &LIST_TYPE,
                format!("{field} was merged as {}, and is as {}", word(old), word(new)),
            )
        }
        _ => tells(&CHANGED, format!("`{keyword}` of {field} changed")),
    }
}

fn validation(scene: &Scene<'_, '_>, field: &str, at: usize) -> Option<Finding> {
    let rest = scene.steps().get(at + 1..)?;
    let rule_of = |rule: &Json| rule.get("rule").map(spoken).unwrap_or_default();
    match (rest, &scene.edit.old, &scene.edit.new) {
        ([], None, Some(new)) => {
            let rules: Vec<String> = new.as_array().into_iter().flatten().map(rule_of).collect();
            Some(found(&VALIDATION, format!("{field} must satisfy {}", listed(&rules, 3))))
        }
        ([Step::Item(_) | Step::Index(_)], None, Some(new)) => {
            Some(found(&VALIDATION, format!("{field} must satisfy {}", rule_of(new))))
        }
        ([Step::Index(_), Step::Key(key)], _, Some(new)) if key == "rule" => {
            Some(found(&VALIDATION, format!("{field} must satisfy {}", spoken(new))))
        }
        ([], Some(old), Some(new)) => {
            let came: Vec<String> = not_in(new, old).into_iter().map(rule_of).collect();
            if came.is_empty() {
                return Some(found(&LOOSENED, format!("{field} has fewer validation rules")));
            }
            Some(found(&VALIDATION, format!("{field} must satisfy {}", listed(&came, 3))))
        }
        ([] | [Step::Item(_)], Some(_), None) => {
            Some(found(&LOOSENED, format!("{field} has fewer validation rules")))
        }
        // Its message and the like.
        _ => None,
    }
}

/// A bound that moved; `lower` when larger is narrower.
fn bound(
    field: &str,
    keyword: &str,
    old: Option<&Json>,
    new: Option<&Json>,
    lower: bool,
) -> Finding {
    let number = |value: Option<&Json>| value.and_then(Json::as_f64);
    let spoken = |value: Option<&Json>| value.map_or("none".to_owned(), spoken);
    let reason = format!("{keyword} of {field} was {}, and is {}", spoken(old), spoken(new));
    let narrower = match (number(old), number(new)) {
        (_, None) => false,
        // Nothing is shorter than nothing.
        (None, Some(new)) => !(lower && keyword != "minimum" && new <= 0.0),
        (Some(old), Some(new)) => (new > old) == lower,
    };
    found(if narrower { &RANGE } else { &LOOSENED }, reason)
}

fn all(list: &Json) -> Vec<&Json> {
    list.as_array().into_iter().flatten().collect()
}

fn values(values: &[&Json]) -> String {
    let spoken: Vec<String> = values.iter().map(|value| spoken(value)).collect();
    listed(&spoken, 6)
}

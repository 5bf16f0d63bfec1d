//! Rules on keywords of a schema: the old and the new value of one come in, a finding goes out.

use super::combination::parts;
use super::location::SchemaLocation;
use super::texts::{Texts, compare};
use super::{
    CHANGED, DEFAULT, DEFAULT_ADDED, ENUM, FORMAT, LIST_KEYS, LIST_TYPE, LOOSENED, NULLABLE,
    PATTERN, PATTERN_CHANGED, PROPERTY_ADDED, PROPERTY_REMOVED, PRUNED, RANGE, REQUIRED, TYPE,
    UNIQUE, VALIDATION, validation,
};
use crate::names::NAMES;
use crate::overlay;
use crate::path::Step;
use crate::read::{at, entries, is_true, items, texts};
use crate::rules::{RuleContext, display_value, found, listed, not_in};
use crate::{Class, Finding, Rule};
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// An edit of a keyword.
pub(super) struct KeywordChange<'a> {
    pub(super) keyword: &'a str,
    /// The edited value. It is a part of the keyword's value if the edit is below the keyword.
    pub(super) old: Option<&'a Json>,
    pub(super) new: Option<&'a Json>,
    /// The schemas that have the keyword.
    pub(super) before: &'a Json,
    pub(super) after: &'a Json,
    /// True in a part of a combination, which prunes nothing: a field without a schema is free there.
    is_part: bool,
}

/// The rule for an edit, and the change without the field that has it.
pub(super) type Verdict = (&'static Rule, String);

/// Keywords that combine schemas.
const COMBINATIONS: [&str; 4] = ["allOf", "anyOf", "oneOf", "not"];

const LIST_KIND: &str = "x-kubernetes-list-type";

/// Returns the finding for an edit of a schema keyword, which is step `at` of the edit's path.
pub(super) fn finding(
    context: &RuleContext<'_, '_>,
    location: &SchemaLocation,
    at: usize,
) -> Option<Finding> {
    let (parent, keyword) = (context.steps().get(..at)?, context.steps().get(at)?.label());
    let keyword = keyword.as_str();
    let (before, after) = (context.old.at(parent)?, context.new.at(parent)?);
    let is_part = location.combination.is_some();
    let (rule, change) = match keyword {
        "x-kubernetes-validations" => validation::verdict(context, at)?,
        _ if COMBINATIONS.contains(&keyword) => verdict(keyword, before, after, is_part)
            .unwrap_or_else(|| (&LOOSENED, format!("`{keyword}` spelled differently"))),
        _ => {
            let (old, new) = (context.edit.old.as_ref(), context.edit.new.as_ref());
            KeywordChange { keyword, old, new, before, after, is_part }.verdict()?
        }
    };
    let (rule, change) = match rule == &DEFAULT_ADDED && is_combined(context, parent) {
        true => (&DEFAULT, change + ", which a combination around it may refuse"),
        false => (rule, change),
    };
    let field = if location.field.is_empty() { "the object" } else { &location.field };
    Some(found(rule, format!("{field}: {change}")))
}

/// Returns the verdict on a keyword of two schemas; `None` if it means the same in both.
fn verdict(keyword: &str, before: &Json, after: &Json, is_part: bool) -> Option<Verdict> {
    let [old, new] = [before, after].map(|schema| value(keyword, schema));
    let (old, new) = (old.as_deref(), new.as_deref());
    if old == new {
        return None;
    }
    KeywordChange { keyword, old, new, before, after, is_part }.verdict()
}

/// Returns the value of a keyword, without the types that `x-kubernetes-int-or-string` implies: the API
/// server adds them where they are missing (`Structural.Unfold`).
fn value<'a>(keyword: &str, schema: &'a Json) -> Option<Cow<'a, Json>> {
    let value = schema.get(keyword)?;
    if !is_true(schema, &["x-kubernetes-int-or-string"]) {
        return Some(Cow::Borrowed(value));
    }
    let types = json!([{"type": "integer"}, {"type": "string"}]);
    match keyword {
        "anyOf" if *value == types => None,
        "allOf" if value[0] == json!({ "anyOf": types }) => {
            let rest = items(value, &[]).get(1..).filter(|rest| !rest.is_empty());
            rest.map(|rest| Cow::Owned(rest.into()))
        }
        _ => Some(Cow::Borrowed(value)),
    }
}

/// Returns the verdicts on all keywords of two schemas.
pub(super) fn verdicts<'j>(
    old: &'j Json,
    new: &'j Json,
    is_part: bool,
) -> impl Iterator<Item = Verdict> + 'j {
    let maps = [old, new].into_iter().filter_map(Json::as_object);
    let keywords: BTreeSet<&String> = maps.flat_map(|map| map.keys()).collect();
    keywords.into_iter().filter_map(move |keyword| verdict(keyword, old, new, is_part))
}

/// Returns true if a schema allows all values of an old one, and prunes none of their fields.
pub(super) fn stays_valid(old: &Json, new: &Json, is_part: bool) -> bool {
    verdicts(old, new, is_part).all(|(rule, _)| rule.class == Class::Info)
}

impl KeywordChange<'_> {
    /// Returns the verdict; `None` if the change has no effect.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let keyword = self.keyword;
        if self.keeps_all_values() {
            return Some((&LOOSENED, format!("`{keyword}` changed, all values stay valid")));
        }

        // A keyword that is false has no effect. In OpenAPI 3.0 also exclusive bounds are Booleans next
        // to the bound.
        let is_on = |side: Option<&Json>| side == Some(&Json::Bool(true));
        Some(match keyword {
            // No effect on validation, pruning or defaults.
            "description" | "title" | "example" | "externalDocs" => return None,
            "type" | "x-kubernetes-int-or-string" => self.of_type(),
            "allOf" | "anyOf" | "oneOf" | "not" => self.of_combination(),
            "enum" => self.of_enum(),
            "required" => self.of_required(),
            "minimum" | "minLength" | "minItems" | "minProperties" | "maximum" | "maxLength"
            | "maxItems" | "maxProperties" => self.of_bound(),
            "multipleOf" => self.of_factor(),
            "pattern" => self.of_pattern(),
            "format" => return self.of_format(),
            "default" => self.of_default(),
            "exclusiveMinimum" | "exclusiveMaximum" if !is_on(self.new) => {
                (&LOOSENED, format!("{keyword} removed, the bound is allowed"))
            }
            "exclusiveMinimum" | "exclusiveMaximum" => {
                let bound = if keyword == "exclusiveMinimum" { "minimum" } else { "maximum" };
                match self.is_narrower(bound) {
                    true => (&RANGE, format!("new {keyword}, the bound is not allowed")),
                    false => (&LOOSENED, format!("new {keyword}, all values stay valid")),
                }
            }
            "nullable" if is_on(self.old) => (&NULLABLE, "null no longer allowed".to_owned()),
            "nullable" => (&LOOSENED, "null allowed".to_owned()),
            "x-kubernetes-preserve-unknown-fields" if is_on(self.old) => {
                (&PRUNED, "unknown fields are pruned".to_owned())
            }
            "x-kubernetes-preserve-unknown-fields" => {
                (&LOOSENED, "unknown fields are preserved".to_owned())
            }
            "additionalProperties" | "properties" | "items" => self.of_fields(),
            "x-kubernetes-validations" if self.new.is_none() => (&LOOSENED, self.change()),
            "x-kubernetes-validations" => (&VALIDATION, self.change()),
            // A new type comes with its keys.
            "x-kubernetes-list-map-keys" => {
                let [old, new] = [self.old, self.new].map(list_keys);
                let of_type = verdict(LIST_KIND, self.before, self.after, self.is_part);
                of_type.unwrap_or((&LIST_KEYS, format!("list map keys {old} → {new}")))
            }
            LIST_KIND | "x-kubernetes-map-type" => self.of_list_type(),
            _ => self.unclassified(),
        })
    }

    /// Returns true if the old schema lists its values, and the new one allows each of them. CEL rules
    /// and formats are not evaluated.
    fn keeps_all_values(&self) -> bool {
        const EVALUATED: [&str; 8] = [
            "pattern",
            "minLength",
            "maxLength",
            "minimum",
            "maximum",
            "multipleOf",
            "exclusiveMinimum",
            "exclusiveMaximum",
        ];
        let values = items(self.before, &["enum"]);
        (COMBINATIONS.contains(&self.keyword) || EVALUATED.contains(&self.keyword))
            && !values.is_empty()
            && values
                .iter()
                .all(|value| overlay::refused(&self.after.into(), &value.into()).is_empty())
    }

    /// Returns the change of the value as text.
    fn change(&self) -> String {
        let keyword = self.keyword;
        match (self.old.map(display_value), self.new.map(display_value)) {
            (None, new) => format!("new {keyword} {}", new.unwrap_or_default()),
            (Some(old), Some(new)) => format!("{keyword} {old} → {new}"),
            (Some(old), None) => format!("{keyword} {old} removed"),
        }
    }

    fn unclassified(&self) -> Verdict {
        (&CHANGED, format!("`{}` changed", self.keyword))
    }

    /// A field that is an integer or a string has no type, but `x-kubernetes-int-or-string`.
    fn of_type(&self) -> Verdict {
        let int_or_string = |schema| is_true(schema, &["x-kubernetes-int-or-string"]);
        let untyped = |schema| int_or_string(schema) || is_free(schema);
        // An integer or a string is not any other type.
        let is_wider =
            |old: &Json| !int_or_string(self.after) || old == "integer" || old == "string";
        match (self.keyword, self.old, self.new) {
            ("type", Some(old), Some(new)) => {
                let rule = match (old.as_str(), new.as_str()) {
                    // CEL has no operators between the two types.
                    (Some("integer"), Some("number")) if has_rules(self.after) => &CHANGED,
                    (Some("integer"), Some("number")) => &LOOSENED,
                    _ => &TYPE,
                };
                (rule, self.change())
            }
            ("type", Some(old), None) if untyped(self.after) && is_wider(old) => {
                (&LOOSENED, format!("type {} no longer required", display_value(old)))
            }
            ("type", None, Some(new)) if untyped(self.before) => {
                (&TYPE, format!("type restricted to {}", display_value(new)))
            }
            ("type", ..) => (&TYPE, "type added or removed".to_owned()),
            (_, Some(_), _) => (&TYPE, "no longer an integer or a string".to_owned()),
            _ => (&LOOSENED, "integers and strings allowed".to_owned()),
        }
    }

    fn of_enum(&self) -> Verdict {
        match (self.old, self.new) {
            (None, Some(new)) => (&ENUM, format!("only {} allowed now", values(items(new, &[])))),
            (Some(_), None) => (&LOOSENED, "enum removed".to_owned()),
            (Some(old), Some(new)) => {
                let gone = not_in(old, new);
                if gone.is_empty() {
                    return (&LOOSENED, format!("new {}", counted("value", not_in(new, old))));
                }
                (&ENUM, format!("{} no longer allowed", counted("value", gone)))
            }
            (None, None) => self.unclassified(),
        }
    }

    fn of_required(&self) -> Verdict {
        let came = not_in(self.new, self.old);

        // The API server applies defaults before it validates, so an object without the field is
        // accepted.
        let has_default = |name: &&Json| {
            let property = name.as_str().and_then(|n| self.after.get("properties")?.get(n));
            property.and_then(|p| p.get("default")).is_some_and(|default| !default.is_null())
        };
        let (filled, bare): (Vec<&Json>, Vec<&Json>) = came.into_iter().partition(has_default);
        if !bare.is_empty() {
            return (&REQUIRED, format!("{} now required", counted("field", bare)));
        }
        if !filled.is_empty() {
            let fields = counted("field", filled);
            return (&DEFAULT_ADDED, format!("{fields} now required, with a default"));
        }
        (&LOOSENED, "fewer required fields".to_owned())
    }

    fn of_bound(&self) -> Verdict {
        // A pattern may say the same.
        let is_implied = || {
            self.keyword.ends_with("Length")
                && compare(self.before, self.after) == Texts::StayAllowed
        };
        let is_narrower = self.is_narrower(self.keyword) && !is_implied();
        (if is_narrower { &RANGE } else { &LOOSENED }, self.change())
    }

    /// Returns true if a bound, with its exclusion, allows less than before.
    fn is_narrower(&self, keyword: &str) -> bool {
        match [self.before, self.after].map(|schema| strictness(schema, keyword)) {
            [_, None] => false,
            // A minimum length of 0 restricts nothing.
            [None, Some((new, _))] => {
                keyword.ends_with("imum") || keyword.starts_with("max") || new > 0.0
            }
            [Some(old), Some(new)] => new > old,
        }
    }

    /// A multiple of the new factor is one of the old factor only if the old one divides the new one.
    fn of_factor(&self) -> Verdict {
        let number = |value: Option<&Json>| value.and_then(Json::as_f64);
        let looser = match (number(self.old), number(self.new)) {
            (_, None) => true,
            (None, Some(_)) => false,
            // The old multiples are multiples of the new factor.
            // Fractions such as 0.1 leave a remainder by rounding, and are then reported as
            // narrower.
            (Some(old), Some(new)) => old % new == 0.0,
        };
        (if looser { &LOOSENED } else { &RANGE }, self.change())
    }

    fn of_pattern(&self) -> Verdict {
        let Some(new) = self.new.map(display_value) else {
            return (&LOOSENED, "pattern removed".to_owned());
        };
        let is_new = self.old.is_none();
        let change = if is_new { "new pattern" } else { "pattern changed to" };
        let change = format!("{change} {new}");
        match compare(self.before, self.after) {
            Texts::StayAllowed => {
                (&LOOSENED, format!("{change}, which allows all that was allowed"))
            }
            Texts::Refused(text) => {
                let shown = match text.as_str() {
                    "" => "the empty text".to_owned(),
                    // A line break is no blank.
                    _ => display_value(&Json::String(text.replace('\n', "\\n"))),
                };
                (&PATTERN, format!("{change}, which refuses {shown}"))
            }
            Texts::Unknown => (if is_new { &PATTERN } else { &PATTERN_CHANGED }, change),
        }
    }

    fn of_format(&self) -> Option<Verdict> {
        let Some(new) = self.new else { return Some((&LOOSENED, "format removed".to_owned())) };
        let shown = display_value(new);
        Some(if is_validated(new.as_str()?) {
            (&FORMAT, format!("format {shown}"))
        } else {
            (&LOOSENED, format!("format {shown}, which is not validated"))
        })
    }

    fn of_default(&self) -> Verdict {
        if self.old.is_some() {
            return (&DEFAULT, self.change());
        }
        // A missing Boolean is false to the program, so this turns something on.
        let is_on = self.new == Some(&Json::Bool(true));
        let is_unchecked = is_partly_checked(self.after);
        let rule = if is_on || is_unchecked { &DEFAULT } else { &DEFAULT_ADDED };
        let doubt =
            if is_unchecked { ", which a format or validation rule may refuse" } else { "" };
        (rule, self.change() + doubt)
    }

    fn of_fields(&self) -> Verdict {
        let keyword = self.keyword;
        // The two exclude each other in a structural schema.
        let others = self.after.get("additionalProperties").filter(|others| others.is_object());
        if let (Some(old), None, Some(others)) = (self.old, self.new, others) {
            let replaced = "properties replaced by additionalProperties";
            let fits = |(_, schema): (_, &Json)| stays_valid(schema, others, self.is_part);
            return match entries(old, &[]).all(fits) {
                true => (&LOOSENED, format!("{replaced}, all values stay valid")),
                false => (&PROPERTY_REMOVED, format!("{replaced}, which may refuse or prune them")),
            };
        }

        match (self.old, self.new) {
            (Some(old), Some(new)) if self.fields_stay_valid(old, new) => {
                (&LOOSENED, self.change())
            }
            (Some(_), None) if self.is_free(self.after) => {
                (&LOOSENED, format!("{keyword} removed, unknown fields are preserved"))
            }
            (Some(_), None) => (&PROPERTY_REMOVED, format!("{keyword} removed, fields are pruned")),
            // Only `additionalProperties` can be false.
            (Some(_), Some(Json::Bool(false))) => {
                (&PROPERTY_REMOVED, "additional properties no longer allowed".to_owned())
            }
            // The old version kept such fields as unknown ones, whatever their values.
            (None, Some(new)) if new.is_object() && self.is_free(self.before) => {
                (&CHANGED, format!("new {keyword}, which are validated"))
            }
            (None, Some(_)) => (&PROPERTY_ADDED, format!("new {keyword}")),
            _ => self.unclassified(),
        }
    }

    fn is_free(&self, schema: &Json) -> bool {
        self.is_part || is_free(schema)
    }

    /// Returns true if the schemas of all fields allow the values of the old ones.
    fn fields_stay_valid(&self, old: &Json, new: &Json) -> bool {
        if self.keyword != "properties" {
            return old.is_object() && stays_valid(old, new, self.is_part);
        }
        let is_kept = |(name, schema): (&String, &Json)| {
            new.get(name)
                .map_or(self.is_free(self.after), |new| stays_valid(schema, new, self.is_part))
        };
        // Unknown fields that were preserved are validated where the schema gets them.
        let came = entries(new, &[]).any(|(name, _)| old.get(name).is_none());
        entries(old, &[]).all(is_kept) && !(came && self.is_free(self.before))
    }

    fn of_list_type(&self) -> Verdict {
        let kind =
            |value: Option<&'_ Json>| value.and_then(Json::as_str).unwrap_or("default").to_owned();
        let (old, new) = (kind(self.old), kind(self.new));

        // Only these types of lists are validated, and items with the same keys may differ in a set;
        // types of maps are for server-side apply.
        let strictness = |kind: &str| ["set", "map"].iter().position(|unique| *unique == kind);
        let rule = if strictness(&new) > strictness(&old) { &UNIQUE } else { &LIST_TYPE };
        let keys = self.after.get("x-kubernetes-list-map-keys").filter(|_| new == "map");
        let keys = keys.map(|keys| format!(" with keys {}", list_keys(Some(keys))));
        (rule, format!("{} {old} → {new}{}", self.keyword, keys.unwrap_or_default()))
    }
}

/// Returns the keys of a list of type map.
fn list_keys(keys: Option<&Json>) -> String {
    keys.map_or("none".to_owned(), |keys| values(items(keys, &[])))
}

/// Returns a bound so that one that allows less is larger: the number, negative for a maximum, and true
/// if it is excluded. Of integers, the last one that is allowed.
fn strictness(schema: &Json, keyword: &str) -> Option<(f64, bool)> {
    let bound = schema.get(keyword)?.as_f64()?;
    let bound = if keyword.starts_with("max") { -bound } else { bound };
    let is_excluded = is_true(schema, &[&format!("exclusiveM{}", &keyword[1..])]);
    Some(match (schema.get("type") == Some(&json!("integer")), is_excluded) {
        (true, true) => (bound.floor() + 1.0, false),
        (true, false) => (bound.ceil(), false),
        (false, _) => (bound, is_excluded),
    })
}

/// Returns true if a schema has CEL rules, which are not evaluated.
fn has_rules(schema: &Json) -> bool {
    !items(schema, &["x-kubernetes-validations"]).is_empty()
}

fn is_validated(format: &str) -> bool {
    NAMES.kubernetes.validated_formats.contains(&format.replace('-', "").as_str())
}

/// Returns true if a combination of the schema around a field requires it in one part: the API server
/// applies the default before it validates.
fn is_combined(context: &RuleContext<'_, '_>, field: &[Step]) -> bool {
    let [around @ .., Step::Key(_), Step::Key(name)] = field else { return false };
    let around = context.new.at(around);
    let parts = COMBINATIONS.iter().filter_map(|keyword| at(around, &[keyword])).flat_map(parts);
    parts.flat_map(|part| texts(part, &["required"])).any(|required| required == name)
}

/// Returns true if a value of a schema is checked by CEL rules or formats, which are not evaluated.
fn is_partly_checked(schema: &Json) -> bool {
    let format = schema.get("format").and_then(Json::as_str);
    let below = ["items", "additionalProperties"].into_iter().filter_map(|key| schema.get(key));
    let properties = entries(schema, &["properties"]).map(|(_, property)| property);
    has_rules(schema)
        || format.is_some_and(is_validated)
        || below.chain(properties).any(is_partly_checked)
}

/// Returns true if a schema preserves unknown fields.
fn is_free(schema: &Json) -> bool {
    is_true(schema, &["x-kubernetes-preserve-unknown-fields"])
}

/// Returns the values with a noun in the right number: `value X`, `values X and Y`.
fn counted(noun: &str, list: Vec<&Json>) -> String {
    let plural = if list.len() == 1 { "" } else { "s" };
    format!("{noun}{plural} {}", values(list))
}

fn values<'j>(values: impl IntoIterator<Item = &'j Json>) -> String {
    listed(values.into_iter().map(display_value), 6)
}

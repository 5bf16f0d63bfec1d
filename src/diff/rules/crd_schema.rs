//! Rules on schemas of CustomResourceDefinitions: removed, tightened and loosened fields.

mod combination;
mod keyword;
mod location;
mod renamed_properties;
mod texts;
mod validation;

pub(crate) use location::schema_field;
pub(super) use renamed_properties::NewProperties;
pub(super) use validation::OldRules;

use super::{RuleContext, display_value, found, rules};
use crate::Finding;
use crate::path::Step;
use crate::read::{at, is_true};
use location::{START, SchemaLocation, SchemaPart, locate};
use serde_json::{Value as Json, json};

rules! {
    /// Field removed from an API.
    ///
    /// The API server removes the field from an object on its next write, and rejects it with
    /// strict field validation.
    PROPERTY_REMOVED "crd-property-removed" Breaking(DataLost BackUp)
        "Look for objects and manifests that use the field, and for its replacement.";
    /// Type of a field changed.
    ///
    /// Objects with the old type are rejected on their next write, until the field is changed.
    TYPE "crd-type-changed" Breaking(Rejected Fix)
        "Change the field in all objects and manifests.";
    /// Values of a field no longer allowed.
    ///
    /// Objects with such a value are rejected when the field is next written.
    ENUM "crd-enum-narrowed" Breaking(Rejected Fix)
        "Look for objects and manifests that use the values.";
    /// Range of a field narrowed.
    ///
    /// Objects outside of the range are rejected when the field is next written.
    RANGE "crd-range-narrowed" Breaking(Rejected Fix)
        "Look for objects and manifests outside of the range.";
    /// Field became required.
    ///
    /// Objects and manifests without the field are rejected.
    REQUIRED "crd-required-added" Breaking(Rejected Fix)
        "Add the field to all objects and manifests before the upgrade.";
    /// Pattern of a field refuses values that were allowed.
    ///
    /// The finding names one of them. Objects that do not match the pattern are rejected when the
    /// field is next written.
    PATTERN "crd-pattern-added" Breaking(Rejected Fix)
        "Check the field in all objects and manifests.";
    /// Pattern of a field changed.
    ///
    /// The new pattern may reject values that the old one allowed; these two are too large to be
    /// compared.
    PATTERN_CHANGED "crd-pattern-changed" Risky(Rejected)
        "Check the field in all objects and manifests against the new pattern.";
    /// Format of a field changed.
    ///
    /// The API server validates the format: values without it are rejected, as with a new pattern.
    FORMAT "crd-format-changed" Breaking(Rejected Fix)
        "Check the field in all objects and manifests.";
    /// Default of a field changed.
    ///
    /// Objects without the field get the new value, including existing ones, because the API server
    /// applies defaults when it reads an object.
    DEFAULT "crd-default-changed" Risky(Behaviour)
        "Set the field explicitly where you need the old default.";
    /// Default added to a field.
    ///
    /// Objects without the field, including existing ones, get this value. It usually is the
    /// operator's previous behavior.
    DEFAULT_ADDED "crd-default-added" Info
        "Check that the default fits your objects.";
    /// Default of a field violates its own schema.
    ///
    /// The API server rejects the CRD, and with it the upgrade.
    DEFAULT_REFUSED "crd-default-refused" Breaking(UpgradeFails Fix)
        "Report it to the vendor; correct the default in a patch of the CRD.";
    /// Validation rule added to an API.
    ///
    /// Objects that violate the rule are rejected on their next write, as with a new pattern; since
    /// Kubernetes 1.30 only if the part with the rule changes (CRDValidationRatcheting).
    VALIDATION "crd-validation-added" Breaking(Rejected Fix)
        "Check existing objects and manifests against the rule.";
    /// Validation rule on changes of a field added.
    ///
    /// A rule with `oldSelf` is checked only when an object changes, so existing objects stay
    /// valid; updates of the field may be rejected.
    TRANSITION "crd-transition-rule-added" Risky(Rejected)
        "Check whether you change the field of existing objects.";
    /// Validation rule of new fields added.
    ///
    /// The rule is only about fields that the old version did not have, so existing objects do not
    /// violate it.
    NEW_FIELDS "crd-validation-of-new-fields" Info;
    /// Null no longer allowed for a field.
    ///
    /// Manifests that set the field to null are rejected, or the null is removed.
    NULLABLE "crd-null-refused" Breaking(Rejected Fix)
        "Remove the field where it is null.";
    /// Unknown fields below a field are pruned.
    ///
    /// The API server removes unknown fields of an object on its next write.
    PRUNED "crd-free-fields-pruned" Breaking(DataLost BackUp)
        "Look for fields below this one that the schema does not have.";
    /// Merge keys of a list changed.
    ///
    /// Lists with duplicates in the new keys are rejected, and server-side apply merges items
    /// differently.
    LIST_KEYS "crd-list-keys-changed" Breaking(Rejected Fix)
        "Check the list in all objects.";
    /// Items of a list must be unique.
    ///
    /// Lists of type set reject duplicate items, and lists of type map reject items with the same
    /// keys: objects with duplicates are rejected on their next write.
    UNIQUE "crd-list-unique" Breaking(Rejected Fix)
        "Look for duplicates in the list in all objects and manifests.";
    /// List type or map type of a field changed.
    ///
    /// Server-side apply merges or replaces the field differently; which objects are valid stays
    /// the same.
    LIST_TYPE "crd-list-type-changed" Risky(Rejected)
        "Check which other field managers write to this field.";
    /// Combination of schemas (allOf, anyOf, oneOf, not) refuses more.
    ///
    /// Objects that do not fit the combination are rejected on their next write. A change of
    /// `oneOf` or `not` counts as one that refuses more, unless it is removed.
    COMBINATION "crd-combination-narrowed" Breaking(Rejected Fix)
        "Check existing objects and manifests against the schemas.";
    /// Schema changed in a way that no rule classifies.
    ///
    /// Rare keywords may tighten or loosen validation, and CEL rules may not compile with another
    /// type.
    CHANGED "crd-schema-changed" Risky(Rejected)
        "Compare the two schemas.";
    /// Status field removed, or its type changed.
    ///
    /// The new operator writes the status, so it is consistent. Dashboards, scripts and other
    /// operators that read it may fail.
    STATUS "crd-status-field-changed" Risky(ClientsAffected)
        "Check which clients read the field.";
    /// Validation of a status field changed.
    ///
    /// The new operator writes the status, so it is consistent.
    STATUS_CHECKED "crd-status-checked" Info;
    /// Field added to an API.
    ///
    /// The field is optional; existing objects stay valid.
    PROPERTY_ADDED "crd-property-added" Info;
    /// Validation of an API loosened.
    ///
    /// Valid objects stay valid. After a rollback, the old version may reject objects that the new
    /// one allowed.
    LOOSENED "crd-loosened" Info;
    /// Schema of an unserved version changed.
    ///
    /// No client can use the version.
    UNSERVED "crd-unserved-version-changed" Info;
}

pub(super) fn add_findings(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    let steps = context.steps();
    if steps.len() <= START {
        findings.push(found(&CHANGED, "schema of the version added or removed"));
        return;
    }

    let location = locate(steps);
    let own = of_every_object(context, &location).or_else(|| {
        match (location.combination, location.part) {
            // A change in one branch can be a restriction or a relaxation of the whole.
            (Some(at), _) | (None, SchemaPart::Keyword(at)) => {
                keyword::finding(context, &location, at)
            }
            (None, SchemaPart::Property) => property(context, &location),
            (None, SchemaPart::Schema) => {
                Some(found(&CHANGED, format!("{}: schema changed", location.field)))
            }
        }
    });
    let Some(finding) = own else { return };

    // No client can use an unserved version, and `status` is written by the new operator itself.
    let version = steps.get(..3).and_then(|path| context.old.at(path));
    let unserved = at(version, &["served"]) == Some(&Json::Bool(false));
    let is_in_status = location.field.split(['.', '[']).next() == Some("status");
    findings.push(if unserved {
        found(&UNSERVED, finding.reason)
    } else if is_in_status && finding.rule.class != crate::Class::Info {
        // These two are visible to clients that read the status; tightened validation is not.
        let seen = [&PROPERTY_REMOVED, &TYPE].contains(&finding.rule);
        found(if seen { &STATUS } else { &STATUS_CHECKED }, finding.reason)
    } else {
        finding
    });
}

/// Fields that every object has, also without a schema of them; the names are strings.
const OF_EVERY_OBJECT: [&str; 5] =
    ["apiVersion", "kind", "metadata", "metadata.name", "metadata.generateName"];

/// Returns the finding if the whole schema of such a field comes or goes: a new one restricts the names
/// that objects have.
fn of_every_object(context: &RuleContext<'_, '_>, location: &SchemaLocation) -> Option<Finding> {
    let field = location.field.as_str();
    let is_property = matches!(location.part, SchemaPart::Property);
    let is_whole = match context.steps().last()? {
        Step::Key(keyword) if keyword == "properties" => field == "metadata",
        _ => is_property && OF_EVERY_OBJECT.contains(&field),
    };
    let is_part = location.combination.is_some();
    if !is_whole || is_part {
        return None;
    }
    let Some(new) = &context.edit.new else {
        return Some(found(&LOOSENED, format!("{field}: schema removed, the field stays")));
    };

    let properties = if is_property { new.get("properties") } else { Some(new) };
    let string = json!({"type": "string"});
    let findings = ["name", "generateName"].into_iter().flat_map(|name| {
        let own = format!("metadata.{name}");
        let schema =
            if field == own { Some(new) } else { properties.and_then(|map| map.get(name)) };
        let verdicts =
            schema.into_iter().flat_map(|schema| keyword::verdicts(&string, schema, is_part));
        verdicts
            .map(move |(rule, change)| found(rule, format!("{own}: {change}")))
            .collect::<Vec<_>>()
    });
    let worst = findings.min_by_key(|finding| finding.rule.class);
    worst.or_else(|| Some(found(&PROPERTY_ADDED, format!("{field}: schema added"))))
}

fn property(context: &RuleContext<'_, '_>, location: &SchemaLocation) -> Option<Finding> {
    let steps = context.steps();
    let field = &location.field;
    if let Some(schema) = &context.edit.new {
        let default =
            schema.get("default").map(|value| format!(", default {}", display_value(value)));
        let added = format!("{field}: field added{}", default.unwrap_or_default());
        return Some(found(&PROPERTY_ADDED, added));
    }
    let schema = context.new.at(steps.get(..location.schema)?)?;
    // The schema above the field decides what happens to unknown fields.
    if is_true(schema, &["x-kubernetes-preserve-unknown-fields"]) {
        return Some(found(
            &LOOSENED,
            format!("{field}: schema removed, still preserved as an unknown field"),
        ));
    }
    // A hint for people only: values are not moved, so the field is removed all the same.
    let twin = context.new_properties.twin(context.edit);
    let renamed = twin.map(|twin| format!(", maybe renamed to `{twin}`")).unwrap_or_default();
    Some(found(&PROPERTY_REMOVED, format!("{field}: field removed{renamed}")))
}

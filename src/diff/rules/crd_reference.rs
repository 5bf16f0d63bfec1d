//! Constraints in schemas that Kubernetes has anyway: the syntax of references to objects, and of
//! quantities.
//!
//! A field that holds the name or namespace of a Kubernetes object, or a key of a Secret or
//! ConfigMap, never held other values to any effect: the API server rejects such objects. A new
//! constraint that is exactly this syntax can only reject an empty value.

use super::lookup::Lookup;
use super::{found, rules};
use crate::diff::Finding;
use crate::diff::path::Step;
use serde_json::Value as Json;

rules! {
    CHECKED "crd-reference-checked" Risky
        "Syntax of references to objects validated."
        "The constraint is what Kubernetes requires of names, namespaces and keys anyway, so no reference to an existing object is affected. Risky, because an empty reference, such as `namespace: \"\"`, was accepted before."
        "Look for empty names, namespaces and keys in your manifests, and remove them.";
    IMPLIED "crd-reference-limited" Info
        "Constraint that Kubernetes has anyway."
        "Names, namespaces and keys of objects, and quantities, never had other values: Kubernetes rejects them."
        "Nothing.";
}

/// Syntax of references. Source: apimachinery/pkg/util/validation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Syntax {
    /// A DNS label, such as a namespace.
    Label,
    /// A DNS subdomain, such as the name of a Secret.
    Subdomain,
    /// A key of a ConfigMap or Secret.
    Key,
}

/// Patterns of DNS labels, without `^`, `$` and `?:`.
const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";

/// Patterns of DNS subdomains.
const SUBDOMAINS: [&str; 2] = [
    "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
    "[a-z0-9]([-.a-z0-9]*[a-z0-9])?",
];

/// Patterns of keys of ConfigMaps and Secrets.
const KEYS: [&str; 3] = ["[-._a-zA-Z0-9]+", "[-._A-Za-z0-9]+", "[a-zA-Z0-9._-]+"];

/// The pattern that controller-gen writes for `resource.Quantity`.
const QUANTITY: &str = "(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?";

/// Returns the finding if a new constraint of a field is one that Kubernetes has anyway. `schema` is
/// the path of the field's schema, `field` its name as in a manifest.
pub(super) fn judge(
    old: &Lookup<'_>,
    new: &Lookup<'_>,
    schema: &[Step],
    field: &str,
    keyword: &str,
) -> Option<Finding> {
    let (before, after) = (old.at(schema), new.at(schema)?);
    let constraint = after.get(keyword)?;
    if keyword == "pattern" && bare(constraint.as_str()?) == QUANTITY {
        return Some(found(&IMPLIED, "quantities: the syntax is validated"));
    }

    let syntax = syntax(new, schema, field)?;
    let fits = match keyword {
        "pattern" => syntax.has_pattern(&bare(constraint.as_str()?)),
        // A smaller limit would reject names that Kubernetes allows.
        "maxLength" => constraint.as_u64()? >= syntax.length(),
        "minLength" => constraint.as_u64()? <= 1,
        _ => false,
    };
    if !fits {
        return None;
    }
    // One text for all fields, so that reports group them.
    let validated = "references to objects: the syntax of names, namespaces and keys is validated";
    Some(if rejects_empty(after) && !before.is_some_and(rejects_empty) {
        found(&CHECKED, format!("{validated}, and empty ones are rejected"))
    } else {
        found(&IMPLIED, validated)
    })
}

impl Syntax {
    /// Returns true if a pattern accepts every value of the syntax.
    fn has_pattern(self, pattern: &str) -> bool {
        let subdomain = || SUBDOMAINS.contains(&pattern);
        match self {
            Syntax::Label => pattern == LABEL || subdomain(),
            Syntax::Subdomain => subdomain(),
            Syntax::Key => KEYS.contains(&pattern),
        }
    }

    /// Returns the maximum length.
    fn length(self) -> u64 {
        if self == Syntax::Label { 63 } else { 253 }
    }
}

/// Returns a pattern without its anchors and without `?:`.
fn bare(pattern: &str) -> String {
    let pattern = pattern.strip_prefix('^').unwrap_or(pattern);
    pattern.strip_suffix('$').unwrap_or(pattern).replace("(?:", "(")
}

fn rejects_empty(schema: &Json) -> bool {
    let length = schema.get("minLength").and_then(Json::as_u64).unwrap_or_default();
    length > 0 || schema.get("pattern").is_some()
}

/// Ends of field names that hold the name of an object, in lower case.
const NAMES: [&str; 10] = [
    "secretname",
    "configmapname",
    "serviceaccountname",
    "servicename",
    "claimname",
    "classname",
    "podname",
    "nodename",
    "deploymentname",
    "issuername",
];

/// Properties of objects that are a reference.
const REFERENCE: [&str; 14] = [
    "name",
    "namespace",
    "key",
    "kind",
    "apiVersion",
    "apiGroup",
    "group",
    "version",
    "type",
    "optional",
    "uid",
    "resourceVersion",
    "fieldPath",
    "audiences",
];

/// Ends of names of fields that hold a reference.
const HOLDERS: [&str; 8] =
    ["Ref", "Refs", "Reference", "Selector", "Secret", "ConfigMap", "ServiceAccount", "Target"];

/// Returns the syntax of a field that is part of a reference.
fn syntax(new: &Lookup<'_>, schema: &[Step], field: &str) -> Option<Syntax> {
    let mut segments = field.rsplit('.').map(|segment| segment.trim_end_matches("[]"));
    let last = segments.next()?;
    let lower = last.to_lowercase();
    if lower.ends_with("namespace") || lower.ends_with("namespaces") {
        return Some(Syntax::Label);
    }
    if NAMES.iter().any(|end| lower.ends_with(end)) {
        return Some(Syntax::Subdomain);
    }
    if lower.ends_with("secretkey") || lower.ends_with("configmapkey") {
        return Some(Syntax::Key);
    }

    let syntax = match last {
        "name" => Syntax::Subdomain,
        "key" => Syntax::Key,
        _ => return None,
    };
    // `configMap.items[].key` names a key of `configMap`, as in volumes.
    let mut holder = segments.next();
    if last == "key" && holder == Some("items") {
        holder = segments.next();
    }
    let held = holder.is_some_and(|holder| {
        let upper =
            holder.get(..1).map(|first| first.to_uppercase() + holder.get(1..).unwrap_or_default());
        upper.is_some_and(|holder| HOLDERS.iter().any(|end| holder.ends_with(end)))
    });
    // .properties.name
    let siblings = schema.len().checked_sub(1).and_then(|end| new.at(schema.get(..end)?));
    let names: Vec<&String> =
        siblings.and_then(Json::as_object).into_iter().flat_map(|map| map.keys()).collect();
    // `name` alone may be the name of anything.
    let reference = names.len() > 1
        && names.iter().any(|name| *name == "name")
        && names.iter().all(|name| REFERENCE.contains(&name.as_str()));
    (held || reference).then_some(syntax)
}

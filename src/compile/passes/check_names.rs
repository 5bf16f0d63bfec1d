//! Checks that objects are unique and names are valid.

use super::Context;
use super::check_types::rejected;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{
    Condition, Identity, Object, Origin, Release, Unit, Value, dns_subdomain, label_fault,
};
use indexmap::IndexMap;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Rejects two objects with one identity, of which Helm would create the first and fail at the second,
/// and names that the API server does not take. Drops a bundle's copy of an equal object, as in OLM.
pub(super) fn check_names(unit: &mut Unit, _: &Context, diagnostics: &mut Diagnostics) {
    let mut seen: IndexMap<Identity, Vec<&Object>> = IndexMap::new();
    let mut copies = Vec::new();
    let values = unit.default_values();
    let release = Release { namespace: "", values: &values };
    for (index, object) in unit.objects.iter().enumerate() {
        // With the paths of the values in its names, and with their defaults.
        let mut first = None;
        for id in BTreeSet::from([object.id(), by_default(object, &release)]) {
            let same = seen.entry(id).or_default();
            let other = || same.iter().copied().find(|first| !are_alternatives(first, object));
            first = first.or_else(other);
            same.push(object);
        }
        if let Some(first) = first {
            let is_shipped = |object: &Object| matches!(object.origin, Origin::File { .. });
            let is_copy = is_shipped(first) && is_shipped(object) && first.root == object.root;
            let message = format!("duplicate {object} in the chart");
            let found = if is_copy {
                copies.push(index);
                let message = format!("{message}: the two are equal, and one of them is kept");
                Diagnostic::note(Code::DuplicateObject, message)
            } else {
                Diagnostic::error(Code::DuplicateObject, message)
                    .hint("exclude one of them with a filter")
            };
            let found = found.at(object.place());
            diagnostics.push(found.related(first.place(), "first defined here"));
        }

        let namespace = object.metadata("namespace").and_then(Value::as_str);
        if let Some((namespace, fault)) = namespace.and_then(|n| Some((n, label_fault(n, 63)?))) {
            let message = format!("{object} has invalid namespace `{namespace}`: the name {fault}");
            let error = Diagnostic::error(Code::InvalidName, message);
            diagnostics.push(rejected(error, object, ".metadata.namespace"));
        }

        // Names with expressions are known only when Helm renders them.
        let Some(Value::Text(name)) = object.metadata("name") else { continue };
        if let Some(why) = refused(object, name) {
            let message = format!("invalid {} name `{name}`: {why}", object.kind());
            let error = Diagnostic::error(Code::InvalidName, message);
            diagnostics.push(rejected(error, object, ".metadata.name"));
        }
    }

    // From the end, so that the indices of the others stay right.
    for copy in copies.into_iter().rev() {
        unit.objects.remove(copy);
    }
}

/// Returns the identity of an object with the default values; its own one where they leave it out.
fn by_default(object: &Object, release: &Release<'_>) -> Identity {
    let mut id = object.id();
    if object.when.as_ref().is_none_or(|condition| release.holds(condition)) {
        for (key, part) in [("namespace", &mut id.namespace), ("name", &mut id.name)] {
            let value = object.metadata(key).filter(|value| matches!(value, Value::Expr(_)));
            let text = value.map(|value| release.value(value));
            if let Some(text) = text.as_ref().and_then(Json::as_str).filter(|text| !text.is_empty())
            {
                text.clone_into(part);
            }
        }
    }
    id
}

/// Returns true if at most one of the objects is present, whatever the values are.
fn are_alternatives(one: &Object, other: &Object) -> bool {
    let excludes = |one: &Object, other: &Object| {
        let (one, other) = (all_of(one), all_of(other));
        one.iter().any(|condition| match condition {
            Condition::Set(path) => other.contains(&&Condition::Unset(path.clone())),
            _ => false,
        })
    };
    excludes(one, other) || excludes(other, one)
}

/// Returns the conditions that must all be true for an object.
fn all_of(object: &Object) -> Vec<&Condition> {
    match &object.when {
        Some(Condition::All(conditions)) => conditions.iter().collect(),
        when => when.iter().collect(),
    }
}

/// Returns the reason why the name is invalid, if it is.
///
/// Kubernetes: names of RBAC objects are path segments, those of Services DNS labels that start
/// with a letter, all others DNS subdomains. The name of a Job is a label of its pods, that of a CronJob
/// gets 11 characters more in its Jobs.
fn refused(object: &Object, name: &str) -> Option<String> {
    let is_service = object.kind() == "Service" && object.group().is_empty();
    let limit = match (object.group(), object.kind()) {
        ("", "Service") | ("batch", "Job") => 63,
        ("batch", "CronJob") => 52,
        _ => 253,
    };
    if name.len() > limit {
        return Some(format!("it has {} characters; the limit is {limit}", name.len()));
    }
    if object.group() == "rbac.authorization.k8s.io" {
        let bad = matches!(name, "." | "..") || name.contains(['/', '%']);
        return bad.then(|| "it is not a valid path segment".to_owned());
    }
    if is_service && (name.contains('.') || name.starts_with(|c: char| c.is_ascii_digit())) {
        let why = "Service names must not have dots and must start with a letter";
        return Some(why.to_owned());
    }
    dns_subdomain(name).err().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::map_mut;
    use crate::ir::{Expr, ValueSpec, ValuesPath};
    use crate::passes::sample;
    use serde_json::json;

    #[test]
    fn limits_of_names() {
        for (api_version, kind, limit) in [
            ("v1", "ConfigMap", 253),
            ("rbac.authorization.k8s.io/v1", "ClusterRole", 253),
            ("v1", "Service", 63),
            ("batch/v1", "Job", 63),
            ("batch/v1", "CronJob", 52),
            ("serving.knative.dev/v1", "Service", 253),
        ] {
            let found = |length: usize| {
                let name = "a".repeat(length);
                let mut unit = sample::bundle(&format!(
                    "{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: {name}}}}}"
                ));
                let mut diagnostics = Diagnostics::new();
                check_names(&mut unit, &Context::default(), &mut diagnostics);
                sample::messages(&diagnostics)
            };
            assert!(found(limit).is_empty(), "{api_version} {kind}");
            let name = "a".repeat(limit + 1);
            assert_eq!(
                found(limit + 1),
                [format!(
                    "error: invalid {kind} name `{name}`: it has {} characters; the limit is {limit}",
                    limit + 1
                )]
            );
        }
    }

    /// Equal objects of a bundle are one object, as in OLM; different ones are an error.
    #[test]
    fn copies_of_a_bundle_are_dropped() {
        let object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}";
        let other = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {}}";
        for (one, two, is_copy) in [
            (sample::bundle(object), sample::bundle(object), true),
            (sample::bundle(object), sample::bundle(other), false),
            (sample::bundle(object), sample::overlay(object), false),
            (sample::overlay(object), sample::bundle(object), false),
            (sample::generated(object), sample::bundle(object), false),
        ] {
            let mut unit = one;
            unit.objects.extend(two.objects);
            let mut diagnostics = Diagnostics::new();
            check_names(&mut unit, &Context::default(), &mut diagnostics);
            let duplicate = "duplicate ConfigMap/a in the chart";
            let (message, left) = if is_copy {
                (format!("note: {duplicate}: the two are equal, and one of them is kept"), 1)
            } else {
                (format!("error: {duplicate}"), 2)
            };
            assert_eq!(sample::messages(&diagnostics), [message]);
            assert_eq!(unit.objects.len(), left);
        }
    }

    /// A shipped object, and one whose name is a value with the same text.
    #[test]
    fn names_of_values_are_those_of_other_objects_by_default() {
        let path = |key: &str| ValuesPath::new([key]);
        let when = |key: &str| Some(Condition::Set(path(key)));
        for (default, when, is_duplicate) in [
            ("a", None, true),
            ("a", when("on"), true),
            ("a", when("off"), false),
            ("b", None, false),
            ("", None, false),
        ] {
            for part in ["name", "namespace"] {
                let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: a}}";
                let mut unit = sample::overlay(&format!("{map}\n---\n{map}"));
                unit.objects[1].when = when.clone();
                let metadata = map_mut(&mut unit.objects[1].root, &["metadata"]).unwrap();
                metadata.insert(part.to_owned(), Expr::Values(path("given")).into());
                let values =
                    [("given", json!(default)), ("on", json!(true)), ("off", json!(false))];
                for (key, value) in values {
                    unit.values.push(ValueSpec::new(path(key), value, json!({}), String::new()));
                }
                let mut diagnostics = Diagnostics::new();
                check_names(&mut unit, &Context::default(), &mut diagnostics);
                let found = sample::messages(&diagnostics).len();
                assert_eq!(found, usize::from(is_duplicate), "{part} {default}");
            }
        }
    }

    #[test]
    fn namespaces_have_at_most_63_characters() {
        for (length, is_valid) in [(63, true), (64, false)] {
            let mut unit = sample::bundle(&format!(
                "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: {}}}}}",
                "n".repeat(length)
            ));
            let mut diagnostics = Diagnostics::new();
            check_names(&mut unit, &Context::default(), &mut diagnostics);
            assert_eq!(sample::messages(&diagnostics).is_empty(), is_valid, "{length}");
        }
    }

    /// Objects with conditions of which at most one is true are no duplicates.
    #[test]
    fn alternatives_are_no_duplicates() {
        let path = |key: &str| crate::ir::ValuesPath::new([key]);
        let (set, unset) = (Condition::Set(path("a")), Condition::Unset(path("a")));
        let all = |one: &Condition| Condition::All(vec![Condition::Set(path("b")), one.clone()]);
        for (one, other, are_alternatives) in [
            (None, None, false),
            (Some(set.clone()), None, false),
            (Some(set.clone()), Some(set.clone()), false),
            (Some(set.clone()), Some(Condition::Unset(path("b"))), false),
            (Some(set.clone()), Some(unset.clone()), true),
            (Some(unset.clone()), Some(set.clone()), true),
            (Some(unset.clone()), Some(unset.clone()), false),
            (Some(all(&set)), Some(all(&unset)), true),
            (Some(all(&set)), Some(all(&set)), false),
        ] {
            let object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}";
            let mut unit = sample::bundle(&format!("{object}\n---\n{object}"));
            let what = format!("{one:?} {other:?}");
            (unit.objects[0].when, unit.objects[1].when) = (one, other);
            let mut diagnostics = Diagnostics::new();
            check_names(&mut unit, &Context::default(), &mut diagnostics);
            assert_eq!(sample::messages(&diagnostics).is_empty(), are_alternatives, "{what}");
            assert_eq!(unit.objects.len() == 2, are_alternatives, "{what}");
        }
    }

    #[test]
    fn names_of_each_kind() {
        let rbac = "rbac.authorization.k8s.io/v1";
        let path = "it is not a valid path segment";
        let service = "Service names must not have dots and must start with a letter";
        let subdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
            characters, '-' or '.', and must start and end with an alphanumeric character";
        for (api_version, kind, name, why) in [
            (rbac, "Role", "system:A b", ""),
            (rbac, "Role", ".", path),
            (rbac, "Role", "..", path),
            (rbac, "Role", "...", ""),
            (rbac, "Role", "a/b", path),
            (rbac, "Role", "a%b", path),
            ("v1", "Service", "a-1", ""),
            ("v1", "Service", "a.b", service),
            ("v1", "Service", "1a", service),
            ("v1", "Service", "A", subdomain),
            ("v1", "ConfigMap", "1.a", ""),
            ("v1", "ConfigMap", "a_b", subdomain),
        ] {
            let manifest = format!(
                "{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: '{name}'}}}}"
            );
            let mut diagnostics = Diagnostics::new();
            check_names(&mut sample::bundle(&manifest), &Context::default(), &mut diagnostics);
            let message = format!("error: invalid {kind} name `{name}`: {why}");
            let expected = if why.is_empty() { Vec::new() } else { vec![message] };
            assert_eq!(sample::messages(&diagnostics), expected, "{name}");
        }
    }
}

//! Groups the findings of a change set: one group for the same change of a field, over all objects,
//! versions and parents of the field.

use super::{
    Change, ChangeSet, Class, Finding, Identity, ObjectChange, Rule, is_description, rules, side,
    summary,
};
use indexmap::{IndexMap, IndexSet};
use std::cmp::Reverse;

/// A field of a CRD's schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaField {
    /// The version of the API.
    pub version: String,
    /// The field, as in a manifest: `spec.items[].name`; empty for the whole object.
    pub field: String,
}

/// One place of a [`Group`].
#[derive(Clone, Debug)]
pub struct Place<'s> {
    /// The object.
    pub object: &'s ObjectChange,
    /// The change of the object.
    pub change: &'s Change,
    /// The finding.
    pub finding: &'s Finding,
    /// The field, if the change is in the schema of a CRD.
    pub schema: Option<SchemaField>,
}

/// Equal findings, for example a new pattern for all fields `name`.
#[derive(Clone, Debug)]
pub struct Group<'s> {
    /// The rule.
    pub rule: &'static Rule,
    /// The reason at the place that is named first: the one with the shortest field.
    pub reason: &'s str,
    /// All places, in the order of the change set; never empty.
    pub places: Vec<Place<'s>>,
    /// The number in reports: the groups that matter most come first, then the others in their order.
    pub number: usize,
    /// True if the group is one of those that matter most, which the first screen shows.
    pub is_important: bool,
}

impl<'s> Group<'s> {
    /// Returns the class of the rule.
    pub fn class(&self) -> Class {
        self.rule.class
    }

    /// Returns true for findings about the two sides as a whole.
    pub fn is_of_upgrade(&self) -> bool {
        self.places.iter().all(|place| side::is_upgrade(&place.object.id))
    }

    /// Returns true if the changes are in schemas of CRDs.
    pub fn is_schema(&self) -> bool {
        self.places.iter().all(|place| place.schema.is_some())
    }

    /// Returns the places by object, in their order.
    pub fn by_object(&self) -> Vec<(&'s ObjectChange, Vec<&Place<'s>>)> {
        let mut objects: IndexMap<&Identity, (&ObjectChange, Vec<&Place<'_>>)> = IndexMap::new();
        for place in &self.places {
            let (_, places) =
                objects.entry(&place.object.id).or_insert_with(|| (place.object, Vec::new()));
            places.push(place);
        }
        objects.into_values().collect()
    }

    /// Returns the extent as the end of a sentence: `in Deployment/manager`, `8 fields in 3 CRDs`.
    pub fn extent(&self) -> String {
        let objects: IndexSet<&Identity> =
            self.places.iter().map(|place| &place.object.id).collect();
        let is_crd = |id: &&Identity| id.kind == "CustomResourceDefinition";
        let noun = if objects.iter().all(is_crd) { "CRDs" } else { "objects" };
        let within = match objects.first() {
            Some(id) if objects.len() == 1 => format!("in {}", label(id)),
            _ => format!("in {} {noun}", objects.len()),
        };

        if !self.is_schema() {
            let places = self.places.len();
            return match places > objects.len() {
                true => format!("{places} changes {within}"),
                false => within,
            };
        }
        let fields = self.places.iter().filter_map(|place| {
            let schema = place.schema.as_ref()?;
            Some((&place.object.id, schema.field.as_str()))
        });
        let fields: IndexSet<(&Identity, &str)> = fields.collect();
        let distinct: IndexSet<&str> = fields.iter().map(|(_, field)| *field).collect();
        if distinct.len() > 1 { format!("{} fields {within}", fields.len()) } else { within }
    }

    /// Returns the number of distinct fields, or of places outside of schemas.
    fn size(&self) -> usize {
        // A field that changes in three versions of a CRD is one field to a reader.
        let without_version = |Place { object, change, schema, .. }: &'_ Place<'s>| {
            let field = schema.as_ref().map(|schema| schema.field.clone());
            (&object.id, field, schema.is_none().then_some(&change.path))
        };
        self.places.iter().map(without_version).collect::<IndexSet<_>>().len()
    }
}

/// Returns the name of an object in reports: CRDs by their name, other objects with their kind.
pub fn label(id: &Identity) -> String {
    match id.kind.as_str() {
        "CustomResourceDefinition" => id.name.clone(),
        kind if is_description(id) => format!("the {}", kind.to_lowercase()),
        _ => id.to_string(),
    }
}

/// Returns the last segment of a field, with the one before it for entries of maps.
fn leaf(field: &str) -> &str {
    let last = field.rfind('.').map_or(0, |dot| dot + 1);
    let is_entry = field.get(last..).is_some_and(|leaf| leaf.starts_with('*'));
    // `*` alone, any key of a map, says nothing without its parent.
    let start = match field.get(..last.saturating_sub(1)) {
        Some(before) if is_entry => before.rfind('.').map_or(0, |dot| dot + 1),
        _ => last,
    };
    field.get(start..).unwrap_or(field)
}

/// Returns a reason without the parents of the field that it begins with: rules write the same reason
/// for the same change, apart from them.
fn without_parents(reason: &str, field: &str) -> String {
    let rest = reason.strip_prefix(field).filter(|rest| rest.starts_with([':', ' ']));
    match rest {
        Some(rest) if !field.is_empty() => format!("….{}{rest}", leaf(field)),
        _ => reason.to_owned(),
    }
}

/// Returns all findings in groups: the worst class first, then by the harm of the rule, then the
/// ones with most places.
pub fn groups(set: &ChangeSet) -> Vec<Group<'_>> {
    let mut groups: IndexMap<(&'static str, String), Group<'_>> = IndexMap::new();
    for (object, change) in set.changes() {
        let is_crd = object.id.kind == "CustomResourceDefinition";
        let schema = rules::schema_field(&change.path).filter(|_| is_crd);
        for finding in &change.findings {
            let field = schema.as_ref().map_or("", |schema| schema.field.as_str());
            // The same type is embedded in many places of a CRD (pod templates), and changes in all
            // of them.
            let reason = without_parents(&finding.reason, field);
            let group = groups.entry((finding.rule.code, reason)).or_insert_with(|| Group {
                rule: finding.rule,
                reason: &finding.reason,
                places: Vec::new(),
                number: 0,
                is_important: false,
            });
            group.places.push(Place { object, change, finding, schema: schema.clone() });
        }
    }

    let mut groups: Vec<Group<'_>> = groups.into_values().collect();
    for group in &mut groups {
        let depth = |place: &&Place<'_>| {
            let field = place.schema.as_ref().map_or("", |schema| schema.field.as_str());
            (field.matches('.').count(), field.to_owned())
        };
        // The shortest path is the most likely to be known.
        if let Some(first) = group.places.iter().min_by_key(depth) {
            group.reason = &first.finding.reason;
        }
    }
    groups.sort_by_cached_key(|group| {
        let size = Reverse(group.size());
        (group.class(), group.rule.rank(), size, group.reason)
    });
    number(&mut groups);
    groups
}

/// Numbers groups: first the most important ones, then the others.
fn number(groups: &mut [Group<'_>]) {
    let first = summary::most_important(groups);
    for (number, index) in (1..).zip(&first) {
        groups[*index].number = number;
        groups[*index].is_important = true;
    }
    let rest = groups.iter_mut().filter(|group| !group.is_important);
    rest.zip(first.len() + 1..).for_each(|(group, number)| group.number = number);
}

#[cfg(test)]
mod tests {
    use super::{groups, leaf};
    use crate::{Options, Side, compare};
    use serde_json::{Value as Json, json};

    fn crd(name: &str, versions: &[&str], spec: &Json) -> Json {
        let versions: Vec<Json> = versions
            .iter()
            .map(|version| {
                json!({"name": version, "served": true, "storage": version == &"v1", "schema":
                    {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}})
            })
            .collect();
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": name}, "spec": {"versions": versions}})
    }

    fn lines(old: Vec<Json>, new: Vec<Json>) -> Vec<String> {
        let set = compare(
            Side::new("a", old, "ns", None),
            Side::new("b", new, "ns", None),
            &Options::default(),
        );
        let line = |group: &super::Group<'_>| {
            format!("{} {} ({})", group.rule.code, group.reason, group.extent())
        };
        groups(&set).iter().map(line).collect()
    }

    #[test]
    fn one_line_for_a_change_over_crds_versions_and_parents() {
        let side = |kind: &str| {
            let reference =
                json!({"type": "object", "properties": {"size": {"type": kind}, "b": {}}});
            let spec = json!({"type": "object", "properties":
                {"one": reference, "list": {"type": "array", "items": reference}}});
            vec![crd("as.g", &["v1", "v2"], &spec), crd("bs.g", &["v1"], &spec)]
        };
        assert_eq!(
            lines(side("string"), side("integer")),
            ["crd-type-changed spec.list[].size: type `string` → `integer` (4 fields in 2 CRDs)"]
        );
    }

    #[test]
    fn children_of_a_removed_field_are_not_repeated() {
        let old = json!({"type": "object", "required": ["gone"], "properties": {"gone":
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"},
                "b": {"type": "object", "properties": {"c": {"type": "string"}}}}}}});
        let new = json!({"type": "object", "properties": {}});
        let side = |spec: &Json| vec![crd("as.g", &["v1", "v2"], spec)];
        let removed: Vec<String> = lines(side(&old), side(&new))
            .into_iter()
            .filter(|line| line.starts_with("crd-property-removed"))
            .collect();
        assert_eq!(removed, ["crd-property-removed spec.gone: field removed (in as.g)"]);
        // Another type is another change.
        let typed = |kind: &str, other: &str| {
            let property = |kind: &str| json!({"type": kind});
            side(&json!({"type": "object", "properties":
                {"x": {"type": "object", "properties": {"size": property(kind)}},
                    "y": {"type": "object", "properties": {"size": property(other)}}}}))
        };
        assert_eq!(lines(typed("string", "string"), typed("integer", "boolean")).len(), 2);
    }

    #[test]
    fn leaves_of_fields() {
        for (field, expected) in [
            ("spec.a.b", "b"),
            ("spec", "spec"),
            ("spec.a[].names[]", "names[]"),
            ("spec.labels.*", "labels.*"),
            ("spec.*.*.x", "x"),
            ("", ""),
        ] {
            assert_eq!(leaf(field), expected);
        }
    }
}

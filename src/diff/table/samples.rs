//! Pairs whose findings are only shown, in a snapshot: variants of what the cases are about, and changes
//! that must stay apart from them.

mod access;
mod crds;
mod facts;
mod objects;
mod workloads;

use super::*;
use crate::BundleFacts;

/// A title, and both sides.
pub(super) type Sample = (&'static str, [Side; 2]);

fn objects(title: &'static str, old: Vec<Json>, new: Vec<Json>) -> Sample {
    (title, [side(Of::Objects(old)), side(Of::Objects(new))])
}

fn pair(title: &'static str, [old, new]: [Of; 2]) -> Sample {
    (title, [side(old), side(new)])
}

fn facts(title: &'static str, old: BundleFacts, new: BundleFacts) -> Sample {
    let side = |bundle: BundleFacts| Side {
        bundle,
        operator_version: "1.0.0".to_owned(),
        ..Side::new("x", [config_map("m", json!({}))], "ns", None)
    };
    (title, [side(old), side(new)])
}

fn chart(title: &'static str, old: Json, new: Json) -> Sample {
    pair(title, [values(old), values(new)])
}

/// A chart whose values have this schema, for which the user gave values.
fn with_schema(schema: Json, given: Json) -> Of {
    Of::Chart(ChartFacts { values: json!({"a": {}}), schema, given, ..ChartFacts::default() })
}

fn schemas(title: &'static str, old: Json, new: Json, given: Json) -> Sample {
    let root = |a: Json| json!({"type": "object", "properties": {"a": a}});
    let [old, new] = [root(old), root(new)];
    pair(title, [with_schema(old, json!({})), with_schema(new, given)])
}

/// The samples by subject.
fn subjects() -> [(&'static str, Vec<Sample>); 13] {
    [
        ("added_objects", objects::added_objects()),
        ("removed_objects", objects::removed_objects()),
        ("pods", workloads::pods()),
        ("permissions", access::permissions()),
        ("crd_fields", crds::crd_fields()),
        ("schema_keywords", crds::schema_keywords()),
        ("admission", access::admission()),
        ("containers", workloads::containers()),
        ("objects_created_elsewhere", objects::created_elsewhere()),
        ("renamed_accounts", objects::renamed_accounts()),
        ("packages", facts::packages()),
        ("chart_values", facts::chart_values()),
        ("bundles", facts::bundles()),
    ]
}

/// Returns all samples.
pub(super) fn all() -> Vec<Sample> {
    subjects().into_iter().flat_map(|(_, samples)| samples).collect()
}

#[test]
fn findings_of_samples() {
    assert_findings("samples", subjects(), |(title, sides)| both_directions(title, sides));
}

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

/// Returns all samples.
pub(super) fn all() -> Vec<Sample> {
    let all = [
        objects::added_objects(),
        objects::removed_objects(),
        workloads::pods(),
        access::permissions(),
        crds::crd_fields(),
        crds::schema_keywords(),
        access::admission(),
        workloads::containers(),
        objects::created_elsewhere(),
        objects::renamed_accounts(),
        facts::packages(),
        facts::chart_values(),
        facts::bundles(),
    ];
    all.into_iter().flatten().collect()
}

#[test]
fn findings_of_samples() {
    let mut shown = String::new();
    for (title, [old, new]) in all() {
        let set = compare(old.clone(), new.clone(), &Options::default());
        shown += &findings(&format!("{title}:"), &set);
        shown += &findings("  reversed:", &compare(new, old, &Options::default()));
    }
    insta::assert_snapshot!(shown);
}

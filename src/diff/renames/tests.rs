use super::{Content, MOST_CANDIDATES, candidates, pairs};
use crate::{Identity, Side};
use proptest::prelude::{any, prop, prop_assert_eq, proptest};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

fn role(name: &str, verbs: &[&str], resource: &str) -> Json {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": name, "labels": {"app": name}},
        "rules": [{"apiGroups": [""], "resources": [resource], "verbs": verbs}]})
}

fn side(objects: impl IntoIterator<Item = Json>) -> Side {
    Side::new("side", objects, "ns", None)
}

fn names(old: &Side, new: &Side) -> BTreeSet<(String, String)> {
    let (gone, came): (Vec<_>, Vec<_>) =
        (old.objects.keys().collect(), new.objects.keys().collect());
    let name = |(from, to): (&Identity, &Identity)| (from.name.clone(), to.name.clone());
    pairs(old, new, &gone, &came).into_iter().map(name).collect()
}

/// Number of comparisons that `count` objects take, each of which has a new name and new content.
fn comparisons(count: usize, old: impl Fn(usize) -> Json, new: impl Fn(usize) -> Json) -> usize {
    let (old, new) = (side((0..count).map(old)), side((0..count).map(new)));
    let contents = |side: &'static Side| -> Vec<Content<'static>> {
        side.objects.iter().map(|(id, object)| Content::of(id, Some(object))).collect()
    };
    let [old, new] = [old, new].map(|side| contents(Box::leak(Box::new(side))));
    candidates(&old, &new).len()
}

#[test]
fn comparisons_grow_with_objects_and_not_with_their_square() {
    let same_rules = |name: String, verbs: &[&str]| role(&name, verbs, "pods");
    for count in [500, 1_000, 2_000] {
        let old = |index| same_rules(format!("role-{index}-v1"), &["get"]);
        let new = |index| same_rules(format!("role-{index}-v2"), &["get", "list"]);
        let made = comparisons(count, old, new);
        assert!(made <= count * MOST_CANDIDATES, "{count} objects: {made} comparisons");
        assert!(made >= count, "{count} objects: {made} comparisons");
    }
}

#[test]
fn many_renamed_objects_find_each_other() {
    let expected: BTreeSet<_> =
        (0..2_000).map(|index| (format!("role-{index}-v1"), format!("role-{index}-v2"))).collect();
    let old = side((0..2_000).map(|i| role(&format!("role-{i}-v1"), &["get"], "pods")));

    // By their names, since the content of all is the same: unchanged, and changed in the same way.
    let new = side((0..2_000).map(|i| role(&format!("role-{i}-v2"), &["get"], "pods")));
    assert_eq!(names(&old, &new), expected);
    let new = side((0..2_000).map(|i| role(&format!("role-{i}-v2"), &["get", "list"], "pods")));
    assert_eq!(names(&old, &new), expected);

    // By what only one of them has, under names that say nothing.
    let verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
    let old = (0..2_000).map(|i| role(&format!("old-{i}"), &verbs[..6], &format!("kind-{i}")));
    let new = (0..2_000)
        .map(|i| role(&format!("new-{}", (i * 7 + 13) % 2_000), &verbs, &format!("kind-{i}")));
    let found = names(&side(old), &side(new));
    let expected: BTreeSet<_> = (0..2_000)
        .map(|index| (format!("old-{index}"), format!("new-{}", (index * 7 + 13) % 2_000)))
        .collect();
    assert_eq!(found, expected);
}

/// The rule without a bound: all pairs are scored, and the most alike come first.
fn exhaustive(old: &Side, new: &Side) -> BTreeSet<(String, String)> {
    let contents = |side: &'_ Side| -> Vec<(String, (String, Vec<u64>))> {
        let content = |(id, object): (&Identity, &Json)| {
            let content = Content::of(id, Some(object));
            (id.name.clone(), (content.stem.1, content.leaves))
        };
        side.objects.iter().map(content).collect()
    };
    let (gone, came) = (contents(old), contents(new));
    let only = gone.len() == 1 && came.len() == 1;
    let mut scored = Vec::new();
    for (from, (stem, leaves)) in &gone {
        for (to, (other_stem, others)) in &came {
            let mut rest = others.clone();
            let shared = leaves.iter().filter(|leaf| {
                let at = rest.iter().position(|other| other == *leaf);
                at.map(|at| rest.swap_remove(at)).is_some()
            });
            let shared = shared.count();
            let likeness = shared as f64 / (leaves.len() + others.len() - shared) as f64;
            let enough = if stem == other_stem { super::ALIKE_BY_NAME } else { super::ALIKE };
            if (only || leaves.len() >= super::MIN_LEAVES) && likeness >= enough {
                scored.push((likeness, from, to));
            }
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let mut found: Vec<(&String, &String)> = Vec::new();
    for (_, from, to) in scored {
        if !found.iter().any(|(f, t)| *f == from || *t == to) {
            found.push((from, to));
        }
    }
    found.into_iter().map(|(from, to)| (from.clone(), to.clone())).collect()
}

proptest! {
    #[test]
    fn few_objects_are_paired_as_if_each_was_compared_with_each(
        old in prop::collection::btree_map("[ab][12]", any::<[bool; 8]>(), 0..12),
        new in prop::collection::btree_map("[cd][12]", any::<[bool; 8]>(), 0..12),
    ) {
        let all = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let object = |(name, has): (&String, &[bool; 8])| {
            let verbs = all.iter().zip(has).filter(|(_, has)| **has).map(|(verb, _)| *verb);
            role(name, &verbs.collect::<Vec<_>>(), "pods")
        };
        let (old, new) = (side(old.iter().map(object)), side(new.iter().map(object)));
        prop_assert_eq!(names(&old, &new), exhaustive(&old, &new));
    }
}

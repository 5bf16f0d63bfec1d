#![allow(clippy::expect_used, reason = "a test")]

mod applied;

use super::{Edit, edits, is_item, key_of};
use crate::path::Step;
use applied::apply;
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

fn round(old: &Json, new: &Json) -> Vec<String> {
    let found = edits(old, new);
    assert_eq!(apply(old, &found, new).as_ref(), Some(new), "{found:#?}");
    found.iter().map(|edit| edit.path.to_string()).collect()
}

#[test]
fn items_are_told_apart_by_their_merge_keys() {
    for (old, new, expected) in [
        (
            json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}),
            json!({"containers": [{"name": "b", "image": "2"}, {"name": "a", "image": "1"}]}),
            vec![".containers[b].image", ".containers[order]"],
        ),
        (
            json!({"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]}),
            json!({"ports": [{"containerPort": 80, "x": 1}]}),
            vec![".ports[containerPort=80].x", ".ports[containerPort=80 protocol=UDP]"],
        ),
        (
            json!({"rules": [{"apiGroups": [""], "resources": ["b", "a"], "verbs": ["get"]}]}),
            json!({"rules": [{"apiGroups": [""], "resources": ["a", "b"], "verbs": ["list"]}]}),
            vec![
                ".rules[apiGroups=core resources=a,b].resources",
                ".rules[apiGroups=core resources=a,b].verbs",
            ],
        ),
        (
            json!({"versions": [{"name": "v1"}]}),
            json!({"versions": [{"name": "v2"}, {"name": "v1"}]}),
            vec![".versions[v2]"],
        ),
        (json!({"a": [{"x": 1}, {"x": 2}]}), json!({"a": [{"x": 1}, {"x": 3}]}), vec![".a[1].x"]),
        (json!({"a": [{"x": 1}, {"x": 2}]}), json!({"a": [{"x": 1}]}), vec![".a"]),
        (json!({"args": ["--a", "--b"]}), json!({"args": ["--b"]}), vec![".args"]),
        (json!({"a.b/c": {"0": 1}}), json!({"a.b/c": {"0": 2}}), vec!["[\"a.b/c\"].0"]),
        (
            json!({"env": [{"name": "A"}, {"name": "A"}]}),
            json!({"env": [{"name": "A"}]}),
            vec![".env"],
        ),
        (json!({"a": null}), json!({}), vec![".a"]),
        (json!(1), json!(2), vec![""]),
    ] {
        assert_eq!(round(&old, &new), expected);
    }
}

fn leaf() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (0..4_i64).prop_map(Json::from),
        "[a-c]{0,2}".prop_map(Json::from),
    ]
}

/// Trees like those of objects: lists under names that have merge keys, and others.
fn tree() -> impl Strategy<Value = Json> {
    let key = prop_oneof![
        Just("name"),
        Just("env"),
        Just("ports"),
        Just("rules"),
        Just("verbs"),
        Just("port"),
        Just("containerPort"),
        Just("apiGroups"),
        Just("list"),
        Just("a.b/c"),
        Just("key"),
    ];
    leaf().prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            prop::collection::vec((key.clone(), inner), 0..5).prop_map(|entries| {
                let entries = entries.into_iter().map(|(key, value)| (key.to_owned(), value));
                Json::Object(entries.collect::<Map<_, _>>())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn edits_of_the_old_tree_make_the_new_one(old in tree(), new in tree()) {
        let found = edits(&old, &new);
        let made = apply(&old, &found, &new);
        prop_assert_eq!(made.as_ref(), Some(&new), "{:#?}", found);
    }

    #[test]
    fn equal_trees_have_no_edits(tree in tree()) {
        prop_assert!(edits(&tree, &tree.clone()).is_empty());
    }

    #[test]
    fn swapped_trees_have_the_edits_swapped(old in tree(), new in tree()) {
        let sides = |found: Vec<super::Edit>, swap: bool| {
            let mut sides: Vec<String> = found
                .into_iter()
                .map(|edit| {
                    let (old, new) = if swap { (edit.new, edit.old) } else { (edit.old, edit.new) };
                    format!("{} {old:?} {new:?}", edit.path)
                })
                .collect();
            sides.sort();
            sides
        };
        prop_assert_eq!(sides(edits(&old, &new), false), sides(edits(&new, &old), true));
    }
}

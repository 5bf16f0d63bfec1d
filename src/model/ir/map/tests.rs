use super::Map;
use crate::ir::{Expr, Object, Origin, Value};
use indexmap::IndexMap;
use proptest::prelude::*;

/// A change of a map.
#[derive(Clone, Debug)]
enum Change {
    Insert(String, i64),
    InsertAt(usize, String, i64),
    Remove(String),
    Keep(i64),
    OrInsert(String, i64),
}

fn any_change() -> impl Strategy<Value = Change> {
    // More keys than a map without an index has, and few enough to meet again.
    let key = || (0..Map::LINEAR * 2).prop_map(|number| format!("key-{number}"));
    prop_oneof![
        8 => (key(), any::<i64>()).prop_map(|(key, value)| Change::Insert(key, value)),
        2 => (key(), any::<i64>()).prop_map(|(key, value)| Change::OrInsert(key, value)),
        2 => (any::<usize>(), key(), any::<i64>())
            .prop_map(|(place, key, value)| Change::InsertAt(place, key, value)),
        3 => key().prop_map(Change::Remove),
        1 => (2..9_i64).prop_map(Change::Keep),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn agrees_with_indexmap(
        changes in prop::collection::vec(any_change(), 0..Map::LINEAR * 6)
    ) {
        let (mut map, mut model) = (Map::new(), IndexMap::new());
        for change in changes {
            match change {
                Change::Insert(key, value) => {
                    let before = model.insert_full(key.clone(), Value::from(value));
                    prop_assert_eq!(map.insert_full(key, value.into()), before);
                }
                Change::OrInsert(key, value) => {
                    let expected = model.entry(key.clone()).or_insert(Value::from(value)).clone();
                    prop_assert_eq!(map.get_or_insert_with(&key, || value.into()), &expected);
                }
                Change::InsertAt(place, key, value) => {
                    let place = place % (model.len() - usize::from(model.contains_key(&key)) + 1);
                    let before = model.shift_insert(place, key.clone(), Value::from(value));
                    prop_assert_eq!(map.shift_insert(place, key, value.into()), before);
                }
                Change::Remove(key) => {
                    prop_assert_eq!(map.shift_remove(&key), model.shift_remove(&key));
                }
                Change::Keep(divisor) => {
                    let keep = |value: &Value| !matches!(value, Value::Number(crate::ir::Number::Int(number)) if number % divisor == 0);
                    map.retain(|_, value| keep(value));
                    model.retain(|_, value| keep(value));
                }
            }
            prop_assert!(map.iter().eq(model.iter()));
            for number in 0..Map::LINEAR * 2 {
                let key = format!("key-{number}");
                prop_assert_eq!(map.get_index_of(&key), model.get_index_of(&key));
                prop_assert_eq!(map.get(&key), model.get(&key));
            }
        }
    }
}

#[test]
fn order_does_not_matter_to_equality() {
    let map = |numbers: &mut dyn Iterator<Item = i64>| -> Map {
        numbers.map(|number| (number.to_string(), Value::from(number))).collect()
    };
    for size in [3, 40] {
        assert_eq!(map(&mut (0..size)), map(&mut (0..size).rev()));
        assert_ne!(map(&mut (0..size)), map(&mut (0..=size)));
    }
}

/// A tree as the reader makes it: marked from the inside out.
fn literal_tree() -> Map {
    let mut inner = Map::of_distinct(vec![("a".to_owned(), Value::text("b"))]);
    inner.mark_literal();
    let list = Value::Seq(vec![Value::from(inner.clone())]);
    let mut root =
        Map::of_distinct(vec![("map".to_owned(), Value::from(inner)), ("list".to_owned(), list)]);
    root.mark_literal();
    root
}

#[test]
fn a_change_takes_the_literal_mark_away() {
    let expression = || Value::Expr(Expr::ReleaseNamespace);
    let changes: [&dyn Fn(&mut Map); 9] = [
        &|root| drop(root.insert("new".to_owned(), expression())),
        &|root| drop(root.shift_insert(0, "new".to_owned(), expression())),
        &|root| *root.get_or_insert_with("new", || Value::Null) = expression(),
        &|root| *root.get_or_insert_with("map", || Value::Null) = expression(),
        &|root| root.values_mut().for_each(|value| *value = expression()),
        &|root| root.iter_mut().for_each(|(_, value)| *value = expression()),
        &|root| root.retain(|_, value| std::mem::replace(value, expression()) != Value::Null),
        &|root| {
            let inner = root.get_mut("map").and_then(Value::as_map_mut).unwrap();
            inner.insert("a".to_owned(), expression());
        },
        &|root| {
            let items = root.get_mut("list").and_then(Value::as_seq_mut).unwrap();
            items[0].as_map_mut().unwrap().extend([("a".to_owned(), expression())]);
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut root = literal_tree();
        assert!(root.is_literal());
        change(&mut root);
        let object = Object::new(root, Origin::Stub);
        assert!(object.has_expression(), "change {number}");
        assert!(!object.expressions().is_empty(), "change {number}");
    }
}

/// Trees have a hundred thousand values, and reading them takes as long as filling their memory.
#[test]
fn values_are_small() {
    assert!(size_of::<Value>() <= 32);
}

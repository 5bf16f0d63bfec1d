//! Fields of objects and schemas. A field of another type counts as missing: other passes report it.

use crate::ir::{Map, Number, Value, push_key};

/// Returns the items of a list.
pub fn list(field: Option<&Value>) -> &[Value] {
    field.and_then(Value::as_seq).unwrap_or_default()
}

/// Returns the texts in a list.
pub fn texts(field: Option<&Value>) -> impl Iterator<Item = &str> {
    list(field).iter().filter_map(Value::as_str)
}

/// Returns the text at a key of a map.
pub fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// Returns the texts at a key of the items of a list.
pub fn texts_of<'v>(field: Option<&'v Value>, key: &str) -> impl Iterator<Item = &'v str> {
    list(field).iter().filter_map(move |item| text(item, key))
}

/// Returns true if the field at a key is true.
pub fn is_true(value: &Value, key: &str) -> bool {
    value.get(key) == Some(&Value::Bool(true))
}

/// Returns an integer.
pub fn integer(field: Option<&Value>) -> Option<i64> {
    match field {
        Some(Value::Number(Number::Int(number))) => Some(*number),
        _ => None,
    }
}

/// Returns the map at the end of these keys.
pub fn map_mut<'m>(map: &'m mut Map, keys: &[&str]) -> Option<&'m mut Map> {
    keys.iter().try_fold(map, |map, key| map.get_mut(key)?.as_map_mut())
}

/// Returns the maps in the list at a key.
pub fn maps_mut<'m>(map: &'m mut Map, key: &str) -> impl Iterator<Item = &'m mut Map> + use<'m> {
    let list = map.get_mut(key).and_then(Value::as_seq_mut);
    list.into_iter().flatten().filter_map(Value::as_map_mut)
}

/// Returns the path of a field of the map at `path`.
pub fn below(path: &str, key: &str) -> String {
    let mut path = path.to_owned();
    push_key(&mut path, key);
    path
}

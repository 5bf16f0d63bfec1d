//! Reads fields of JSON. A field of another type than expected is read as a missing one: the API server
//! rejects it.

use serde_json::{Map, Value as Json};

/// Returns the value at a path of map keys.
pub fn at<'j>(value: impl Into<Option<&'j Json>>, keys: &[&str]) -> Option<&'j Json> {
    keys.iter().try_fold(value.into()?, |value, key| value.get(key))
}

/// Returns the text at a path of map keys; empty without one.
pub fn text<'j>(value: impl Into<Option<&'j Json>>, keys: &[&str]) -> &'j str {
    at(value, keys).and_then(Json::as_str).unwrap_or_default()
}

/// Returns the items of the list at a path of map keys; none without one.
pub fn items<'j>(value: impl Into<Option<&'j Json>>, keys: &[&str]) -> &'j [Json] {
    at(value, keys).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the strings of the list at a path of map keys.
pub fn texts<'j>(value: impl Into<Option<&'j Json>>, keys: &[&str]) -> Vec<&'j str> {
    items(value, keys).iter().filter_map(Json::as_str).collect()
}

/// Returns the entries of the map at a path of map keys; none without one.
pub fn entries<'j, V: Into<Option<&'j Json>>>(
    value: V,
    keys: &[&str],
) -> impl Iterator<Item = (&'j String, &'j Json)> + use<'j, V> {
    at(value, keys).and_then(Json::as_object).into_iter().flat_map(Map::iter)
}

/// Returns true if the field at a path of map keys is true.
pub fn is_true<'j>(value: impl Into<Option<&'j Json>>, keys: &[&str]) -> bool {
    at(value, keys) == Some(&Json::Bool(true))
}

//! Fields of objects and schemas. A field of another type counts as missing: other passes report it.

use crate::ir::{Value, push_key};

/// Returns the items of a list.
pub(crate) fn list(field: Option<&Value>) -> &[Value] {
    field.and_then(Value::as_seq).unwrap_or_default()
}

/// Returns the texts in a list.
pub(crate) fn texts(field: Option<&Value>) -> impl Iterator<Item = &str> {
    list(field).iter().filter_map(Value::as_str)
}

/// Returns the path of a field of the map at `path`.
pub(crate) fn below(path: &str, key: &str) -> String {
    let mut path = path.to_owned();
    push_key(&mut path, key);
    path
}

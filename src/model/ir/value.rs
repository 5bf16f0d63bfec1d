//! The value tree.

use super::{Condition, Expr, Map, Part};
use serde::Serialize;
use serde_json::Value as Json;
use std::borrow::Cow;

/// A number as Kubernetes' reader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Number {
    /// Fits a signed 64-bit integer.
    Int(i64),
    /// Does not fit a signed, but an unsigned 64-bit integer.
    Uint(u64),
    /// Anything else; always finite.
    Float(f64),
}

/// A JSON tree whose leaves may also be Helm expressions, which no format of serde can have.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// Literal text, which the emitter escapes.
    Text(String),
    /// Known only when Helm renders the chart.
    #[serde(skip)]
    Expr(Expr),
    /// A list.
    Seq(Vec<Value>),
    /// A map.
    Map(Box<Map>),
    /// A map entry or list item that is present only if the condition is true.
    #[serde(skip)]
    When(Box<(Condition, Value)>),
}

impl Value {
    /// Returns literal text.
    pub fn text(text: impl Into<String>) -> Self {
        Value::Text(text.into())
    }

    /// Returns a map of these entries.
    pub fn map<K: Into<String>>(entries: impl IntoIterator<Item = (K, Value)>) -> Self {
        Value::Map(Box::new(entries.into_iter().map(|(k, v)| (k.into(), v)).collect()))
    }

    /// Returns a list of literal texts.
    pub fn texts<S: Into<String>>(items: impl IntoIterator<Item = S>) -> Self {
        Value::Seq(items.into_iter().map(Value::text).collect())
    }

    /// Wraps `value` in `condition`.
    pub fn when(condition: Condition, value: Value) -> Self {
        Value::When(Box::new((condition, value)))
    }

    /// Returns the text, if this is literal text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the text with default values, if it does not depend on the release.
    pub fn text_by_default(&self) -> Option<Cow<'_, str>> {
        match self {
            Value::Text(text) => Some(Cow::Borrowed(text)),
            Value::Expr(Expr::Concat(parts)) => {
                let parts = parts.iter().map(|part| match part {
                    Part::Text(text) => Some(text.as_str()),
                    Part::Image(image) => Some(image.reference.as_str()),
                    // The namespace of a release has no default.
                    Part::ReleaseNamespace => None,
                });
                parts.collect::<Option<String>>().map(Cow::Owned)
            }
            _ => None,
        }
    }

    /// Returns the map, if this is one.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Returns the map, if this is one.
    pub fn as_map_mut(&mut self) -> Option<&mut Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Returns the items, if this is a list.
    pub fn as_seq(&self) -> Option<&[Value]> {
        match self {
            Value::Seq(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the items, if this is a list.
    pub fn as_seq_mut(&mut self) -> Option<&mut Vec<Value>> {
        match self {
            Value::Seq(items) => Some(items),
            _ => None,
        }
    }

    /// Returns true if the value is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Returns the entry `key`, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.get(key)
    }

    /// Returns the value at the end of these map keys.
    pub fn at(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().try_fold(self, |value, key| value.get(key))
    }

    /// Returns the condition under which an entry or item with this value is present; `None` if it
    /// always is. A list or map whose children are all absent is absent too, because a key without
    /// content would be null.
    pub fn presence(&self) -> Option<Condition> {
        match self {
            Value::When(when) => Some(both(&when.0, when.1.presence())),
            // `toYaml` of an empty map is `{}`, which would be a line between the other entries.
            Value::Expr(Expr::Entries(path)) => Some(Condition::Set(path.clone())),
            Value::Seq(items) => any(items.iter().map(Value::item_presence)),
            // CRDs are literal, and walking their schemas was most of the time of writing a chart.
            Value::Map(map) if map.is_literal() => None,
            Value::Map(map) => any(map.values().map(Value::presence)),
            _ => None,
        }
    }

    /// [`Value::presence`] of a list's item: an item that joins the values' items is present while
    /// there are any.
    pub fn item_presence(&self) -> Option<Condition> {
        match self {
            Value::Expr(Expr::Values(path)) => Some(Condition::Set(path.clone())),
            Value::When(when) => Some(both(&when.0, when.1.item_presence())),
            _ => self.presence(),
        }
    }

    /// Returns true if the value contains an expression or condition.
    pub fn has_expression(&self) -> bool {
        self.has(|_| true)
    }

    /// Returns true if the value contains a condition, or such an expression.
    pub fn has(&self, wanted: fn(&Expr) -> bool) -> bool {
        match self {
            Value::Expr(expr) => wanted(expr),
            Value::When(_) => true,
            Value::Seq(items) => items.iter().any(|item| item.has(wanted)),
            Value::Map(map) => map.has(wanted),
            _ => false,
        }
    }

    /// Adds every expression in this to `found`, in order.
    pub fn expressions<'a>(&'a self, found: &mut Vec<&'a Expr>) {
        match self {
            Value::Expr(expr) => found.push(expr),
            Value::When(when) => when.1.expressions(found),
            Value::Seq(items) => items.iter().for_each(|item| item.expressions(found)),
            Value::Map(map) if map.is_literal() => {}
            Value::Map(map) => map.values().for_each(|value| value.expressions(found)),
            _ => {}
        }
    }

    /// Returns the name of the type, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::Expr(_) => "an expression",
            Value::Seq(_) => "a list",
            Value::Map(_) => "a map",
            Value::When(_) => "a conditional value",
        }
    }
}

/// Returns the condition under which any of the children is present; the first that always is
/// decides.
fn any(children: impl Iterator<Item = Option<Condition>>) -> Option<Condition> {
    let mut conditions = children.collect::<Option<Vec<Condition>>>()?;
    // Neighbors only: parts of one feature stand together, and a longer condition is right, too.
    conditions.dedup();
    match conditions.len() {
        0 | 1 => conditions.pop(),
        _ => Some(Condition::Any(conditions)),
    }
}

fn both(outer: &Condition, inner: Option<Condition>) -> Condition {
    match inner {
        Some(inner) => Condition::All(vec![outer.clone(), inner]),
        None => outer.clone(),
    }
}

impl From<&Json> for Value {
    fn from(json: &Json) -> Self {
        match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => Value::Number(number.into()),
            Json::String(text) => Value::text(text),
            Json::Array(items) => Value::Seq(items.iter().map(Value::from).collect()),
            Json::Object(entries) => {
                Value::map(entries.iter().map(|(key, value)| (key, Value::from(value))))
            }
        }
    }
}

impl From<&serde_json::Number> for Number {
    fn from(number: &serde_json::Number) -> Self {
        match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Number::Int(value),
            (None, Some(value)) => Number::Uint(value),
            // Without the feature `arbitrary_precision`, every number of serde_json is a float,
            // too.
            (None, None) => Number::Float(number.as_f64().unwrap_or_default()),
        }
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Value::Map(Box::new(map))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::text(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Value::Seq(items)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

macro_rules! from_integers {
    ($($integer:ty)*) => {
        $(impl From<$integer> for Value {
            fn from(value: $integer) -> Self {
                Value::Number(Number::Int(value.into()))
            }
        })*
    };
}

from_integers!(i32 i64 u16 u32);

impl From<Expr> for Value {
    fn from(expr: Expr) -> Self {
        Value::Expr(expr)
    }
}

impl From<Json> for Value {
    fn from(json: Json) -> Self {
        Value::from(&json)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Value::Number(i64::try_from(value).map_or(Number::Uint(value), Number::Int))
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Value::text(text)
    }
}

/// Builds a [`Value`](crate::ir::Value) as `json!` builds JSON. Leaves are all that converts to a
/// value, such as an expression. An entry with a `?` before its value is left out if that is `None`.
#[macro_export]
macro_rules! value {
    (@map $map:ident) => {};
    (@map $map:ident $key:tt: {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $map.insert(String::from($key), $crate::value!({$($inner)*}));
        $crate::value!(@map $map $($($rest)*)?);
    };
    (@map $map:ident $key:tt: [$($inner:tt)*] $(, $($rest:tt)*)?) => {
        $map.insert(String::from($key), $crate::value!([$($inner)*]));
        $crate::value!(@map $map $($($rest)*)?);
    };
    (@map $map:ident $key:tt: ?$value:expr $(, $($rest:tt)*)?) => {
        if let Some(value) = $value {
            $map.insert(String::from($key), $crate::ir::Value::from(value));
        }
        $crate::value!(@map $map $($($rest)*)?);
    };
    (@map $map:ident $key:tt: $value:expr $(, $($rest:tt)*)?) => {
        $map.insert(String::from($key), $crate::ir::Value::from($value));
        $crate::value!(@map $map $($($rest)*)?);
    };
    (@seq $items:ident) => {};
    (@seq $items:ident {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $items.push($crate::value!({$($inner)*}));
        $crate::value!(@seq $items $($($rest)*)?);
    };
    (@seq $items:ident $value:expr $(, $($rest:tt)*)?) => {
        $items.push($crate::ir::Value::from($value));
        $crate::value!(@seq $items $($($rest)*)?);
    };
    ({$($entries:tt)*}) => { $crate::ir::Value::from($crate::map!($($entries)*)) };
    ([$($items:tt)*]) => {{
        #[allow(unused_mut, clippy::vec_init_then_push, reason = "items may have conditions")]
        let mut items: Vec<$crate::ir::Value> = Vec::new();
        $crate::value!(@seq items $($items)*);
        $crate::ir::Value::from(items)
    }};
}

/// Builds a [`Map`](crate::ir::Map) of the entries, as [`value!`](crate::value) does.
#[macro_export]
macro_rules! map {
    ($($entries:tt)*) => {{
        #[allow(unused_mut, reason = "without entries")]
        let mut map = $crate::ir::Map::new();
        $crate::value!(@map map $($entries)*);
        map
    }};
}

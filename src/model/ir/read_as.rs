//! Reads JSON as a type; an error has the place and the reason.
//!
//! rustc compiles the code that reads a type, and all types in it, once for each deserializer. The
//! types of the Kubernetes API are hundreds, so all callers share this one.

use super::path::Step;
use super::quantity::quantity;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Value as Json};
use std::collections::HashMap;

/// A value that was read.
#[derive(Debug)]
pub struct ReadValue<T> {
    /// The value.
    pub value: T,
    /// Entries of maps that the type has no field for.
    pub unknown: Vec<Vec<Step>>,
    /// Values that their type reads, but does not allow.
    pub mismatches: Vec<ReadError>,
    /// The names of the types of structs in it, by the address of their JSON, until that is changed.
    pub types: HashMap<*const Json, &'static str>,
}

/// A value that its type does not allow.
#[derive(Debug)]
pub struct ReadError {
    /// The place of the value.
    pub path: Vec<Step>,
    /// The reason, without the value, which may be a secret.
    pub why: String,
}

/// Reads `json` as `T`.
///
/// # Errors
/// The first value that does not fit.
pub fn read_as<T: DeserializeOwned>(json: &Json) -> Result<ReadValue<T>, ReadError> {
    let mut trace = Trace::default();
    match T::deserialize(Tree { json, trace: &mut trace }) {
        Ok(value) => {
            let Trace { unknown, mismatches, types, .. } = trace;
            Ok(ReadValue { value, unknown, mismatches, types })
        }
        Err(why) => Err(ReadError { path: trace.path, why: in_words(&why.to_string()) }),
    }
}

#[derive(Default)]
struct Trace {
    /// The place of the value that is read.
    path: Vec<Step>,
    unknown: Vec<Vec<Step>>,
    mismatches: Vec<ReadError>,
    types: HashMap<*const Json, &'static str>,
}

struct Tree<'de, 'a> {
    json: &'de Json,
    trace: &'a mut Trace,
}

impl<'de> Deserializer<'de> for Tree<'de, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let trace = self.trace;
        match self.json {
            Json::Null => visitor.visit_unit(),
            Json::Bool(value) => visitor.visit_bool(*value),
            Json::Number(number) => number.deserialize_any(visitor),
            Json::String(text) => visitor.visit_borrowed_str(text),
            Json::Array(list) => visitor.visit_seq(Items { items: list.iter().enumerate(), trace }),
            Json::Object(map) => {
                visitor.visit_map(Entries { entries: map.iter(), value: &Json::Null, trace })
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.json {
            Json::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        // k8s-openapi reads any text as the first, and any value as the second.
        let expected = match name {
            "Quantity" if quantity(self.json).is_none() => "a quantity such as `500m` or `1Gi`",
            "CustomResourceSubresourceStatus" if !self.json.is_object() => "a map",
            _ => return visitor.visit_newtype_struct(self),
        };
        let (path, why) = (self.trace.path.clone(), format!("it must be {expected}"));
        self.trace.mismatches.push(ReadError { path, why });
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.trace.types.insert(self.json, name);
        match self.json {
            // Types that are derived take a list with an item for each field.
            Json::Array(_) => Err(Error::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        // Types read the fields that they do not have as serde's `IgnoredAny`.
        self.trace.unknown.push(self.trace.path.clone());
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map enum identifier
    }
}

struct Items<'de, 'a> {
    items: std::iter::Enumerate<std::slice::Iter<'de, Json>>,
    trace: &'a mut Trace,
}

impl<'de> SeqAccess<'de> for Items<'de, '_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some((index, json)) = self.items.next() else { return Ok(None) };
        // After an error it is not popped: then the path is the place of the value that did not
        // fit.
        self.trace.path.push(Step::Index(index));
        let value = seed.deserialize(Tree { json, trace: self.trace })?;
        self.trace.path.pop();
        Ok(Some(value))
    }
}

struct Entries<'de, 'a> {
    entries: serde_json::map::Iter<'de>,
    /// The value of the key that was read last.
    value: &'de Json,
    trace: &'a mut Trace,
}

impl<'de> MapAccess<'de> for Entries<'de, '_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        self.value = value;
        // The path has the key before its value is read, so that an unknown field is noted with it.
        self.trace.path.push(Step::Key(key.clone()));
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let value = seed.deserialize(Tree { json: self.value, trace: self.trace })?;
        self.trace.path.pop();
        Ok(value)
    }
}

/// Rewrites serde's error message without the value, which may be a secret.
fn in_words(error: &str) -> String {
    // The value may contain the same words.
    let Some((found, expected)) = error.rsplit_once(", expected ") else {
        // The decoder of base64 names the character, which is one of the value.
        let is_encoding = error.starts_with("Invalid ");
        return if is_encoding { "it must be base64".to_owned() } else { error.to_owned() };
    };
    let expected = match expected {
        "i32" | "i64" => "an integer",
        "a sequence" => "a list",
        "IntOrString" => "an integer or a string",
        "Quantity" => "a quantity",
        // The name of a type.
        expected if expected.starts_with(|c: char| c.is_ascii_uppercase()) => "a map",
        expected if expected.starts_with("struct ") => "a map",
        expected => expected,
    };
    let found = found.strip_prefix("invalid type: ").unwrap_or_default();
    let found = match found.split(' ').next().unwrap_or_default() {
        "string" => "a string",
        "integer" => "an integer",
        "floating" => "a number with a fraction",
        "boolean" => "a boolean",
        "map" => "a map",
        "sequence" => "a list",
        "null" => "null",
        _ => "something else",
    };
    format!("it must be {expected}, but it is {found}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::path_of;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Lamp {
        name: String,
        #[serde(default)]
        parts: Vec<Lamp>,
        free: Option<Json>,
        watts: Option<u8>,
    }

    #[test]
    fn places_of_errors_and_of_unknown_fields() {
        for (json, error) in [
            (json!({"name": "a", "free": {"a": [1]}, "watts": null}), None),
            (json!({"name": 5}), Some((".name", "it must be a string, but it is an integer"))),
            (
                json!({"name": "a", "parts": [{"name": "b"}, {"name": "c", "parts": {}}]}),
                Some((".parts[1].parts", "it must be a list, but it is a map")),
            ),
            (
                json!({"name": "a", "parts": [["b", [], null, null]]}),
                Some((".parts[0]", "it must be a map, but it is a list")),
            ),
            (json!({"name": "a", "parts": [{}]}), Some((".parts[0]", "missing field `name`"))),
            (
                json!({"name": "a", "watts": 256}),
                Some((".watts", "it must be u8, but it is something else")),
            ),
        ] {
            let read = read_as::<Lamp>(&json).err();
            let read = read.map(|error| (path_of(&error.path), error.why));
            assert_eq!(read, error.map(|(path, why)| (path.to_owned(), why.to_owned())), "{json}");
        }

        let json = json!({
            "x": 1,
            "name": "a",
            "free": {"y": 1},
            "parts": [{"name": "b"}, {"name": "c", "z": {"name": 1}}],
        });
        let unknown = read_as::<Lamp>(&json).expect("a lamp").unknown;
        let unknown: Vec<String> = unknown.iter().map(|path| path_of(path)).collect();
        assert_eq!(unknown, [".x", ".parts[1].z"]);
    }

    #[test]
    fn what_does_not_fit_is_said_without_the_value() {
        assert_eq!(
            in_words("invalid type: string \"s3cret\", expected i32"),
            "it must be an integer, but it is a string"
        );
        assert_eq!(
            in_words("invalid type: integer `1234`, expected a string"),
            "it must be a string, but it is an integer"
        );
        assert_eq!(
            in_words("invalid value: integer `99999999999`, expected i32"),
            "it must be an integer, but it is something else"
        );
        assert_eq!(
            in_words("invalid type: string \"a, expected s3cret\", expected i32"),
            "it must be an integer, but it is a string"
        );
        assert_eq!(in_words("missing field `template`"), "missing field `template`");
    }
}

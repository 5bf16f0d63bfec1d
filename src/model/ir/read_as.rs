//! Reads JSON as a type, and says what does not fit and where.
//!
//! A type of the Kubernetes API has hundreds of others in it. The compiler makes the functions that
//! read them again for each deserializer, so the program has one for all.

use super::path::Step;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Value as Json};

/// A value that was read.
#[derive(Debug)]
pub struct Typed<T> {
    /// The value.
    pub value: T,
    /// Entries of maps that the type has no field for.
    pub unknown: Vec<Vec<Step>>,
}

/// The first value that its type does not allow.
#[derive(Debug)]
pub struct Misfit {
    /// The place of the value.
    pub path: Vec<Step>,
    /// The reason in serde's words, with the value, which may be a secret.
    pub why: String,
}

/// Reads `json` as `T`.
///
/// # Errors
/// The first value that does not fit.
pub fn read_as<T: DeserializeOwned>(json: &Json) -> Result<Typed<T>, Misfit> {
    let mut trace = Trace::default();
    match T::deserialize(Tree { json, trace: &mut trace }) {
        Ok(value) => Ok(Typed { value, unknown: trace.unknown }),
        Err(why) => Err(Misfit { path: trace.path, why: why.to_string() }),
    }
}

#[derive(Default)]
struct Trace {
    /// The place of the value that is read.
    path: Vec<Step>,
    unknown: Vec<Vec<Step>>,
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
            Json::Array(list) => {
                let mut items = Items { items: list.iter().enumerate(), trace };
                let value = visitor.visit_seq(&mut items)?;
                match items.items.next() {
                    None => Ok(value),
                    Some(_) => Err(Error::invalid_length(list.len(), &"fewer items")),
                }
            }
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
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.trace.unknown.push(self.trace.path.clone());
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier
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
        self.trace.path.push(Step::Key(key.clone()));
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let value = seed.deserialize(Tree { json: self.value, trace: self.trace })?;
        self.trace.path.pop();
        Ok(value)
    }
}

//! Walks a value of a Kubernetes API type next to the JSON that it was read from.
//!
//! Reading alone does not check two facts that the types of k8s-openapi know: they write a required
//! field also if JSON lacks it, with the zero value of its type, and a quantity, which is any text to
//! them, as a type of its own. So both are checked for all fields of all kinds, without a list. What they
//! do not know is in tables, by the names of types.

mod server_rules;

use super::fields::below;
use super::typed::TypeMismatch;
use crate::diag::suggest;
use crate::ir::quantity;
use serde::Serialize;
use serde::de::value::Error;
use serde::ser::{self, Impossible, Serializer};
use serde_json::Value as Json;
use server_rules::{FORMS, NOT_EXCLUSIVE, RANGES, REQUIRED_BY_SERVER, VALUES, ZERO_IS_VALID};

/// Returns the rows of a table that are about a type.
fn rows_of<'t, R>(table: &'t [R], name: &str, name_of: impl Fn(&R) -> &str) -> &'t [R] {
    let start = table.partition_point(|row| name_of(row) < name);
    let rows = &table[start..];
    &rows[..rows.partition_point(|row| name_of(row) == name)]
}

/// Required fields that a map lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingField {
    /// JSON path of the map; empty for the object itself.
    pub path: String,
    /// The fields, of which one is enough.
    pub fields: Vec<&'static str>,
}

impl MissingField {
    /// Describes what an object lacks: "has no value …".
    pub fn describe(&self) -> String {
        let Self { path, fields } = self;
        match fields.as_slice() {
            [field] => format!("has no value for required field `{path}.{field}`"),
            fields => format!("has none of {} at `{path}`", suggest::list(fields)),
        }
    }
}

/// The findings about a value.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Required fields that JSON lacks.
    pub(super) missing: Vec<MissingField>,
    /// Values that their type does not allow.
    pub(super) mismatches: Vec<TypeMismatch>,
    /// Paths of values that their field does not allow, and what the object has there.
    pub(super) unsupported: Vec<(String, String)>,
}

/// Compares `typed` with `json`, which it was read from.
pub(super) fn walk(typed: &impl Serialize, json: &Json) -> Findings {
    let mut found = Findings::default();
    // Nothing below returns an error.
    let _ = typed.serialize(Place { json, path: String::new(), found: &mut found });
    found
}

/// A place in the JSON, as the serializer of the value that was read from there.
struct Place<'a> {
    json: &'a Json,
    path: String,
    found: &'a mut Findings,
}

impl Place<'_> {
    fn expect(&mut self, fits: bool, expected: &str) -> Result<(), Error> {
        if !fits {
            let path = self.path.clone();
            let why = format!("it must be {expected}");
            self.found.mismatches.push(TypeMismatch { path, why });
        }
        Ok(())
    }
}

/// The entries of a map or struct, or the items of a list.
struct Parts<'a> {
    place: Place<'a>,
    /// Name of the struct; empty for others.
    name: &'static str,
    /// Key of the next entry of a map.
    key: String,
    /// Number of the next item of a list.
    index: usize,
}

impl<'a> Parts<'a> {
    fn of(place: Place<'a>, name: &'static str) -> Result<Self, Error> {
        Ok(Parts { place, name, key: String::new(), index: 0 })
    }

    /// Compares an entry that JSON has.
    fn entry<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), Error> {
        let Place { json, path, found } = &mut self.place;
        let Some(json) = json.get(key) else { return Ok(()) };
        value.serialize(Place { json, path: below(path, key), found })
    }
}

impl ser::SerializeSeq for Parts<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let Place { json, path, found } = &mut self.place;
        let index = self.index;
        self.index += 1;
        // Both lists have the same length, because one was read from the other.
        let Some(json) = json.get(index) else { return Ok(()) };
        value.serialize(Place { json, path: format!("{path}[{index}]"), found })
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

impl ser::SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        // Keys of maps are strings in the API, but types of their own to serde.
        let key = serde_json::to_value(key).map_err(ser::Error::custom)?;
        self.key = key.as_str().unwrap_or_default().to_owned();
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let key = std::mem::take(&mut self.key);
        self.entry(&key, value)
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

impl ser::SerializeStruct for Parts<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let Place { json, path, found } = &mut self.place;
        if json.get(key).is_none() && !ZERO_IS_VALID.contains(&(self.name, key)) {
            found.missing.push(MissingField { path: path.clone(), fields: vec![key] });
        }
        self.entry(key, value)
    }

    fn end(self) -> Result<(), Error> {
        let Place { json, path, found } = self.place;
        for (name, fields) in rows_of(&REQUIRED_BY_SERVER, self.name, |row| row.0) {
            let given: Vec<_> = fields.iter().filter(|field| json.get(field).is_some()).collect();
            match given.as_slice() {
                [] => {
                    let fields = fields.to_vec();
                    found.missing.push(MissingField { path: path.clone(), fields });
                }
                [one, other, ..] if !NOT_EXCLUSIVE.contains(name) => {
                    found.unsupported.push((path.clone(), format!("has both {one} and {other}")));
                }
                _ => {}
            }
        }

        for (_, field, known) in rows_of(&VALUES, self.name, |row| row.0) {
            let path = below(&path, field);
            let values: Vec<(String, &Json)> = match json.get(field) {
                Some(Json::Array(items)) => {
                    let items = items.iter().enumerate();
                    items.map(|(index, item)| (format!("{path}[{index}]"), item)).collect()
                }
                value => value.map(|value| (path, value)).into_iter().collect(),
            };
            for (path, value) in values {
                if let Some(value) = value.as_str().filter(|value| !known.contains(value)) {
                    let known = known.join("`, `");
                    let what = format!("has {field} `{value}`, not `{known}`");
                    found.unsupported.push((path, what));
                }
            }
        }

        for (_, field, noun, clause, fits) in rows_of(&FORMS, self.name, |row| row.0) {
            let path = below(&path, field);
            let text = json.get(field).and_then(Json::as_str).filter(|text| !text.is_empty());
            // The first row of a field that does not fit is enough.
            let is_known = found.unsupported.last().is_some_and(|(last, _)| *last == path);
            if let Some(text) = text.filter(|text| !is_known && !fits(text)) {
                found.unsupported.push((path, format!("has {noun} \"{text}\", {clause}")));
            }
        }

        for (_, field, least, most) in rows_of(&RANGES, self.name, |row| row.0) {
            let number = json.get(field).and_then(Json::as_i64);
            if let Some(number) = number.filter(|number| !(least..=most).contains(&number)) {
                let known = if *most == i64::MAX {
                    format!("less than {least}")
                } else {
                    format!("not {least} to {most}")
                };
                let what = format!("has {field} {number}, {known}");
                found.unsupported.push((below(&path, field), what));
            }
        }
        Ok(())
    }
}

/// Serializers of leaves, whose types reading has checked.
macro_rules! leaves {
    ($($method:ident($type:ty))*) => {
        $(fn $method(self, _: $type) -> Result<(), Error> {
            Ok(())
        })*
    };
}

impl<'a> Serializer for Place<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Parts<'a>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    // Types of the Kubernetes API have none of these.
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    leaves! {
        serialize_bool(bool)
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64)
        serialize_f32(f32) serialize_f64(f64)
        serialize_char(char) serialize_str(&str) serialize_bytes(&[u8]) serialize_unit_struct(&'static str)
    }

    fn serialize_none(self) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        mut self,
        name: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        let json = self.json;
        match name {
            "Quantity" => {
                self.expect(quantity(json).is_some(), "a quantity such as `500m` or `1Gi`")
            }
            // A struct without fields, which k8s-openapi reads as any value.
            "CustomResourceSubresourceStatus" => self.expect(json.is_object(), "a map"),
            // Times, which reading has checked, and free-form values.
            _ => Ok(()),
        }
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'a>, Error> {
        Parts::of(self, "")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'a>, Error> {
        Parts::of(self, "")
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Parts<'a>, Error> {
        Parts::of(self, name)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Error> {
        Err(unexpected())
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Error> {
        Err(unexpected())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        Err(unexpected())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        Err(unexpected())
    }
}

fn unexpected() -> Error {
    ser::Error::custom("not a type of the Kubernetes API")
}

#[cfg(test)]
mod tests;

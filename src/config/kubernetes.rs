//! Values with the types of the Kubernetes API.

use super::*;
use crate::ir::{path_of, quantity, read_as};
use k8s_openapi::api::core::v1::ResourceRequirements;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// A table with the fields of `T`, a type of the Kubernetes API.
pub struct Api<T>(PhantomData<T>);

impl<T: DeserializeOwned> Form for Api<T> {
    type Value = Json;
    const KIND: Kind = Kind::Object;

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Json> {
        typed::<T>(reader, key, value)
    }
}

/// Resource requests and limits of containers.
pub struct Resources;

impl Form for Resources {
    type Value = Json;
    const KIND: Kind = Kind::Object;

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Json> {
        let json = typed::<ResourceRequirements>(reader, key, value)?;
        // A quantity is any text for its type, and the API server reads numbers in it.
        for ((list, quantities), _) in entries(value) {
            for ((name, found), _) in entries(quantities) {
                if quantity(&as_json(found.get_ref())).is_none() {
                    let message = format!("`{}.{list}.{name}` is not a quantity", key.name);
                    let hint = "write a quantity such as `500m` or `1Gi`";
                    reader.error(Code::InvalidValue, &found.span(), message, hint);
                }
            }
        }
        Some(json)
    }
}

/// A list of such tables.
pub struct ApiList<T>(PhantomData<T>);

impl<T: DeserializeOwned> Form for ApiList<T> {
    type Value = Vec<Json>;
    const KIND: Kind = Kind::List(&Kind::Object);

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Vec<Json>> {
        match typed::<Vec<T>>(reader, key, value)? {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }

    fn missing() -> Option<Vec<Json>> {
        Some(Vec::new())
    }
}

/// A table of strings with user-defined keys: annotations, or a node selector.
pub type Strings = Api<BTreeMap<String, String>>;

/// Such a table, in the order of its keys; empty without one.
pub struct TextMap;

impl Form for TextMap {
    type Value = BTreeMap<String, String>;
    const KIND: Kind = Strings::KIND;

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Self::Value> {
        serde_json::from_value(Strings::read(reader, key, value)?).ok()
    }
}

/// Returns the value if it has the type of the Kubernetes API and no unknown fields; reports
/// other values.
fn typed<T: DeserializeOwned>(
    reader: &mut Reader<'_>,
    key: &Key,
    value: &Node<'_>,
) -> Option<Json> {
    let hint = "see the Kubernetes API reference of pods and containers for the fields";
    let (name, range, json) = (&key.name, value.span(), as_json(value.get_ref()));
    let fault = match read_as::<T>(&json) {
        Err(wrong) => {
            let (place, why) = (path_of(&wrong.path), wrong.why);
            let message = format!("`{name}{place}` does not match the Kubernetes API: {why}");
            Some((Code::WrongType, message))
        }
        // One is enough: all of them would be reported at the same place.
        Ok(read) => read
            .unknown
            .first()
            .map(|path| (Code::UnknownKey, format!("unknown field `{name}{}`", path_of(path)))),
    };
    if let Some((code, message)) = fault {
        reader.error(code, &range, message, hint);
        return None;
    }
    // As written: serializing `T` would add the required fields that are missing, with zero values.
    Some(json)
}

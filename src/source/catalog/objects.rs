//! The objects of a catalog, read from the JSON text of one at a time.

use crate::limits::{Limits, in_bytes};
use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The identifying fields of an object. Other fields are not parsed, so that invalid objects of
/// other packages do not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// `None` when there is none.
    pub(super) schema: Option<String>,
    pub(super) package: String,
    pub(super) name: String,
}

impl Head {
    /// Returns the head of a package.
    pub(super) fn package(name: String) -> Self {
        Head { schema: Some("olm.package".to_owned()), name, package: String::new() }
    }

    /// Returns true if this is the bundle with this name.
    pub(super) fn is_bundle(&self, package: &str, name: &str) -> bool {
        self.schema.as_deref() == Some("olm.bundle") && self.package == package && self.name == name
    }
}

impl<'de> Deserialize<'de> for Head {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Head;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of a catalog")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Head, A::Error> {
                let mut head = Head::default();
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    let place = match key.as_ref() {
                        "schema" => head.schema.get_or_insert_default(),
                        "package" => &mut head.package,
                        "name" => &mut head.name,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    let value: &RawValue = map.next_value()?;
                    *place = serde_json::from_str(value.get()).unwrap_or_default();
                }
                head.schema = head.schema.filter(|schema| !schema.is_empty());
                Ok(head)
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// `olm.package`
#[derive(Debug, Deserialize)]
pub(super) struct Package {
    #[serde(rename = "defaultChannel")]
    pub(super) default_channel: Option<String>,
}

/// `olm.channel`
#[derive(Debug, Deserialize)]
pub(super) struct Channel {
    pub(super) name: String,
    pub(super) entries: Option<Vec<ChannelEntry>>,
}

/// A bundle in a channel.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub(super) struct ChannelEntry {
    pub(super) name: String,
    pub(super) replaces: Option<String>,
    pub(super) skips: Option<Vec<String>>,
    #[serde(rename = "skipRange")]
    pub(super) skip_range: Option<String>,
}

impl ChannelEntry {
    /// Returns the names of the bundles that it replaces or skips.
    pub(super) fn replaced(&self) -> impl Iterator<Item = &str> {
        self.replaces.iter().chain(self.skips.iter().flatten()).map(String::as_str)
    }
}

/// `olm.deprecations`
#[derive(Debug, Deserialize)]
pub(super) struct Deprecations {
    pub(super) entries: Option<Vec<Deprecation>>,
}

/// A deprecation and its reason.
#[derive(Debug, Deserialize)]
pub(super) struct Deprecation {
    pub(super) reference: DeprecationReference,
    pub(super) message: Option<String>,
}

/// The deprecated package, channel or bundle.
#[derive(Debug, Deserialize)]
pub(super) struct DeprecationReference {
    pub(super) schema: String,
    pub(super) name: Option<String>,
}

/// The small fields of an `olm.bundle`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bundle {
    pub(super) name: String,
    pub(super) image: Option<String>,
    /// The version as written, if any.
    pub(super) version: Option<String>,
    /// Number of embedded manifests.
    pub(super) objects: usize,
    /// The catalog's file that it is in.
    pub(super) file: String,
}

#[derive(Deserialize)]
struct RawBundle<'a> {
    name: String,
    image: Option<String>,
    #[serde(borrow)]
    properties: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Property<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

/// Calls `visit` with type and value of each property of a bundle.
fn properties(
    bundle: &RawBundle<'_>,
    visit: &mut dyn FnMut(&str, &str) -> Result<(), String>,
) -> Result<(), String> {
    struct List<'f>(&'f mut dyn FnMut(&str, &str) -> Result<(), String>);
    impl<'de> Visitor<'de> for List<'_> {
        type Value = ();

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a list of properties")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
            while let Some(property) = list.next_element::<Property<'de>>()? {
                let value = property.value.map_or("null", RawValue::get);
                self.0(&property.kind, value).map_err(A::Error::custom)?;
            }
            Ok(())
        }

        // To Go, null is an empty list.
        fn visit_unit<E>(self) -> Result<(), E> {
            Ok(())
        }
    }
    let text = bundle.properties.map_or("null", RawValue::get);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.deserialize_any(List(visit)).map_err(|error| in_words(&error))
}

/// Reads a bundle; its large properties are only stepped over.
pub(super) fn bundle(text: &[u8], file: &str) -> Result<Bundle, String> {
    #[derive(Deserialize)]
    struct Version {
        version: Option<String>,
    }
    let raw: RawBundle<'_> = read(text)?;
    let mut version = None;
    let mut objects = 0;
    properties(&raw, &mut |kind, value| {
        match kind {
            "olm.package" => version = read::<Version>(value.as_bytes())?.version,
            "olm.bundle.object" => objects += 1,
            _ => {}
        }
        Ok(())
    })?;
    Ok(Bundle { name: raw.name, image: raw.image, version, objects, file: file.to_owned() })
}

/// The properties of one bundle, those with manifests included.
#[derive(Debug, Default)]
pub(super) struct Properties {
    /// The manifests, JSON in base64.
    pub(super) manifests: Vec<String>,
    /// Small properties, by type.
    pub(super) others: Vec<(String, Json)>,
}

/// A property that is no manifest; real ones have some hundred bytes.
const LARGEST_PROPERTY: usize = 256 << 10;

/// Reads the manifests of a bundle.
pub(super) fn embedded(text: &[u8], limits: &Limits) -> Result<Properties, String> {
    #[derive(Deserialize)]
    struct Manifest {
        data: Option<String>,
    }
    let raw: RawBundle<'_> = read(text)?;
    let mut found = Properties::default();
    let mut size = 0;
    properties(&raw, &mut |kind, value| {
        match kind {
            "olm.bundle.object" => {
                let manifest: Manifest = read(value.as_bytes())?;
                found.manifests.push(manifest.data.unwrap_or_default());
            }
            // A part of the ClusterServiceVersion, for those who do not have the whole.
            "olm.csv.metadata" => {}
            _ => {
                size += value.len();
                if size > LARGEST_PROPERTY {
                    let limit = in_bytes(LARGEST_PROPERTY as u64);
                    return Err(format!("its properties have more than {limit}"));
                }
                found.others.push((kind.to_owned(), read(value.as_bytes())?));
            }
        }
        if found.manifests.len() as u64 > limits.kept_files {
            return Err(format!("it has more than {} manifests", limits.kept_files));
        }
        Ok(())
    })?;
    Ok(found)
}

/// Reads JSON as `T`; the error does not say where, because the text is a part of a file.
pub(super) fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| in_words(&error))
}

/// Returns an error without its place in the text.
pub(super) fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(why, _)| why).to_owned()
}

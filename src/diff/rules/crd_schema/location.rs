//! Locations in the schema of a CRD: a path of an edit comes in, a field and a keyword go out.

use crate::group::SchemaField;
use crate::path::{Path, Step};

/// Number of steps of `.spec.versions[v].schema.openAPIV3Schema`.
pub(super) const START: usize = 5;

/// Location of an edit in a schema.
pub(super) struct SchemaLocation {
    /// The field, as in a manifest: `spec.items[].name`.
    pub(super) field: String,
    /// Length of the path of the schema that the keyword or property belongs to.
    pub(super) schema: usize,
    /// The step of the outermost allOf, anyOf, oneOf or not that the edit is inside of, where a removal
    /// can tighten validation.
    pub(super) combination: Option<usize>,
    /// The edited part of the schema.
    pub(super) part: SchemaPart,
}

/// The edited part of a schema.
#[derive(Clone, Copy)]
pub(super) enum SchemaPart {
    /// A whole property.
    Property,
    /// The keyword at this step of the path.
    Keyword(usize),
    /// A whole schema.
    Schema,
}

/// Returns the location of a path in a schema.
pub(super) fn locate(steps: &[Step]) -> SchemaLocation {
    let mut location = SchemaLocation {
        field: String::new(),
        schema: START,
        combination: None,
        part: SchemaPart::Schema,
    };

    let mut at = START;
    while let Some(Step::Key(keyword)) = steps.get(at) {
        location.schema = at;
        match (keyword.as_str(), steps.get(at + 1)) {
            // Read from the start, because a property may have the name of a keyword.
            ("properties" | "patternProperties", Some(Step::Key(name))) => {
                if !location.field.is_empty() {
                    location.field.push('.');
                }
                location.field.push_str(name);
                if steps.len() == at + 2 {
                    location.part = SchemaPart::Property;
                    return location;
                }
                at += 2;
            }
            ("items" | "additionalProperties", Some(_)) => {
                location.field.push_str(if keyword == "items" { "[]" } else { ".*" });
                at += 1;
            }
            // `not` has a schema, the others have a list of schemas, so they take an index, too.
            ("allOf" | "anyOf" | "oneOf" | "not", Some(_)) => {
                location.combination.get_or_insert(at);
                at += if keyword == "not" { 1 } else { 2 };
            }
            _ => {
                location.part = SchemaPart::Keyword(at);
                return location;
            }
        }
    }

    location.schema = at;
    location
}

/// Returns the field of a path in the schema of a CRD, `None` for other paths.
pub(crate) fn schema_field(path: &Path) -> Option<SchemaField> {
    let steps = path.steps();
    let is_key =
        |at: usize, name: &str| matches!(steps.get(at), Some(Step::Key(key)) if key == name);
    if !(is_key(1, "versions") && is_key(3, "schema")) || steps.len() < START {
        return None;
    }
    Some(SchemaField { version: steps.get(2)?.label(), field: locate(steps).field })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_in_the_schema_of_a_version() {
        let field = |keys: &[&str]| {
            let step = |(at, key): (usize, &&str)| match at {
                2 => Step::Item(vec![("name".to_owned(), (*key).to_owned())]),
                _ => Step::Key((*key).to_owned()),
            };
            schema_field(&Path(keys.iter().enumerate().map(step).collect()))
        };
        let root = ["spec", "versions", "v1", "schema", "openAPIV3Schema"];
        let found =
            |field: &str| Some(SchemaField { version: "v1".to_owned(), field: field.to_owned() });
        assert_eq!(field(&root), found(""));
        assert_eq!(field(&[&root[..], &["properties", "a", "type"]].concat()), found("a"));
        assert_eq!(field(&[&root[..], &["properties", "a"]].concat()), found("a"));

        // The schema that a part belongs to, by the length of its path.
        for (keys, schema) in [
            ("", 5),
            ("type", 5),
            ("items", 5),
            ("items type", 6),
            ("properties a", 5),
            ("properties a type", 7),
            ("allOf 0", 7),
            ("allOf 0 type", 7),
            ("not type", 6),
        ] {
            let steps = root.into_iter().chain(keys.split_whitespace());
            let steps: Vec<Step> = steps.map(|key| Step::Key(key.to_owned())).collect();
            assert_eq!(locate(&steps).schema, schema, "{keys}");
        }

        assert_eq!(field(&root[..4]), None);
        let column = ["spec", "versions", "v1", "additionalPrinterColumns", "properties", "a"];
        assert_eq!(field(&column), None);
        assert_eq!(field(&["spec", "other", "v1", "schema", "properties", "a"]), None);
    }
}

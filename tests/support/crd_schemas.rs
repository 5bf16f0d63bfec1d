//! The schemas of real CRDs, which refuse unknown fields as an API server with strict validation.

use super::json_schema::JsonSchema;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;

/// Schemas by `apiVersion` and kind.
pub(crate) struct CrdSchemas(BTreeMap<(String, String), (Json, JsonSchema)>);

impl CrdSchemas {
    /// The CRDs in a folder, among other objects.
    pub(crate) fn read(folder: &Path) -> CrdSchemas {
        let mut schemas = BTreeMap::new();
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let text = std::fs::read_to_string(&path).expect("a CRD");
            let parsed = bundle2chart::yaml::parse(&text).expect("YAML");
            for crd in parsed {
                let nothing = Json::Null;
                let release = bundle2chart::ir::Release { namespace: "", values: &nothing };
                let crd = release.value(&crd);
                if crd["kind"] != "CustomResourceDefinition" {
                    continue;
                }
                let spec = &crd["spec"];
                for version in spec["versions"].as_array().expect("versions") {
                    let group = spec["group"].as_str().expect("a group");
                    let name = version["name"].as_str().expect("a name");
                    let kind = spec["names"]["kind"].as_str().expect("a kind");
                    let schema = version["schema"]["openAPIV3Schema"].clone();
                    let validator = JsonSchema::new(&schema);
                    let key = (format!("{group}/{name}"), kind.to_owned());
                    schemas.insert(key, (schema, validator));
                }
            }
        }
        assert!(!schemas.is_empty(), "no CRDs in {}", folder.display());
        CrdSchemas(schemas)
    }

    /// Returns the faults of an object; none if its kind has no schema here.
    pub(crate) fn problems(&self, object: &Json) -> Option<Vec<String>> {
        let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
        let (schema, validator) = self.0.get(&(text("apiVersion"), text("kind")))?;
        let mut problems = validator.problems(object);
        unknown(schema, object, "", &mut problems);
        Some(problems)
    }
}

/// Fields that the schema does not have.
fn unknown(schema: &Json, value: &Json, path: &str, problems: &mut Vec<String>) {
    if schema["x-kubernetes-preserve-unknown-fields"] == true || path == ".metadata" {
        return;
    }
    match value {
        Json::Object(entries) => {
            for (key, value) in entries {
                let path = format!("{path}.{key}");
                let property = schema["properties"].get(key);
                let inner = property.or_else(|| Some(&schema["additionalProperties"]));
                match inner {
                    Some(inner) if inner.is_object() => unknown(inner, value, &path, problems),
                    Some(Json::Bool(true)) => {}
                    _ => problems.push(format!("{path}: there is no such field")),
                }
            }
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                unknown(&schema["items"], item, &format!("{path}[{index}]"), problems);
            }
        }
        _ => {}
    }
}

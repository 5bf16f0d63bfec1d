//! Values against JSON schemas, by a crate that follows the specification.

use boon::{Compiler, Draft, SchemaIndex, Schemas};
use serde_json::Value as Json;

/// A schema. Without `$schema` it is of draft 7, as those of Helm and CRDs.
pub(crate) struct JsonSchema {
    schemas: Schemas,
    root: SchemaIndex,
}

impl JsonSchema {
    /// # Panics
    /// If `schema` is not a schema.
    pub(crate) fn new(schema: &Json) -> JsonSchema {
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.set_default_draft(Draft::V7);
        compiler.add_resource("schema.json", schema.clone()).expect("a name");
        let root = compiler.compile("schema.json", &mut schemas);
        let root = root.unwrap_or_else(|error| panic!("not a schema: {error:#}"));
        JsonSchema { schemas, root }
    }

    /// Returns what the schema does not allow in `value`, each with its place.
    pub(crate) fn problems(&self, value: &Json) -> Vec<String> {
        let Err(error) = self.schemas.validate(value, self.root) else { return Vec::new() };
        // The error itself says only that there are causes.
        assert!(!error.causes.is_empty(), "{error}");
        let causes = error.causes.iter();
        causes.map(|cause| format!("{}: {cause}", cause.instance_location)).collect()
    }
}

//! CRDs without the texts in their schemas, where those would not fit into a release.

use super::Context;
use super::check_types::schemas;
use crate::diag::Diagnostics;
use crate::ir::{Map, Unit, Value};

/// Removes `description` from every schema of every CRD, when the configuration wants that. A
/// property that is called `description` stays.
pub(super) fn strip_descriptions(unit: &mut Unit, context: &Context, _: &mut Diagnostics) {
    if context.settings.strip_descriptions != Some(true) {
        return;
    }
    unit.objects.iter_mut().flat_map(schemas).for_each(strip);
}

/// Removes the descriptions of a schema and its subschemas (fields of JSONSchemaProps, Kubernetes
/// API, apiextensions.k8s.io/v1).
fn strip(schema: &mut Value) {
    let Some(schema) = schema.as_map_mut() else { return };
    // Inside of `properties` the key is a field of the API, and its value a schema.
    if schema.get("description").is_some_and(|text| text.as_str().is_some()) {
        schema.shift_remove("description");
    }
    for (key, value) in schema.iter_mut() {
        match key.as_str() {
            "items"
            | "additionalItems"
            | "additionalProperties"
            | "not"
            | "allOf"
            | "anyOf"
            | "oneOf" => strip_some(value),
            "properties" | "patternProperties" | "definitions" | "dependencies" => {
                let schemas = value.as_map_mut().into_iter().flat_map(Map::values_mut);
                schemas.for_each(strip);
            }
            _ => {}
        }
    }
}

/// Strips a schema, a list of schemas, or a boolean in place of one.
fn strip_some(value: &mut Value) {
    match value {
        Value::Seq(schemas) => schemas.iter_mut().for_each(strip),
        schema => strip(schema),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Release;
    use crate::passes::sample;
    use crate::yaml;
    use serde_json::json;

    #[test]
    fn only_texts_about_schemas_go() {
        let text = "\
description: a text
type: object
properties:
  description:
    description: another text
    type: string
    default: description
  list:
    type: array
    items:
      description: an item
      enum: [description]
    anyOf:
    - description: one
      required: [description]
  open:
    additionalProperties: {description: value, type: string}
    default: {description: stays}
";
        let mut schema = crate::yaml::parse(text).unwrap().remove(0);
        strip(&mut schema);
        insta::assert_snapshot!(yaml::plain_value(&schema).unwrap(), @r"
        type: object
        properties:
          description:
            type: string
            default: description
          list:
            type: array
            items:
              enum:
              - description
            anyOf:
            - required:
              - description
          open:
            additionalProperties:
              type: string
            default:
              description: stays
        ");
    }

    #[test]
    fn descriptions_are_removed_from_crds_on_request() {
        let schema = |kind: &str, strip_descriptions: bool| {
            let mut unit = sample::bundle(&format!(
                "
apiVersion: apiextensions.k8s.io/v1
kind: {kind}
metadata: {{name: widgets.example.com}}
spec:
  versions:
  - schema: {{openAPIV3Schema: {{description: A widget., type: object}}}}
"
            ));
            let mut context = Context::default();
            context.settings.strip_descriptions = Some(strip_descriptions);
            super::strip_descriptions(&mut unit, &context, &mut Diagnostics::new());
            let object = Release::LITERAL.object(&unit.objects[0]).unwrap();
            object["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
        };
        let complete = json!({"description": "A widget.", "type": "object"});
        assert_eq!(schema("CustomResourceDefinition", true), json!({"type": "object"}));
        assert_eq!(schema("CustomResourceDefinition", false), complete);
        assert_eq!(schema("Widget", true), complete);
    }
}

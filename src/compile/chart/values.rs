//! values.yaml with helm-docs comments, and values.schema.json.

use crate::documents::plain;
use crate::escape;
use crate::ir::{Map, Unit, Value, ValueSpec};
use crate::layout::wrap;
use crate::yaml;
use indexmap::IndexMap;
use serde_json::{Value as Json, json};

/// Width of comment lines.
const COMMENT_WIDTH: usize = 96;

/// The values below a key, in declaration order.
type Tree<'a> = IndexMap<&'a str, Node<'a>>;

/// A value, or a map of values.
#[derive(Default)]
struct Node<'a> {
    spec: Option<&'a ValueSpec>,
    children: Tree<'a>,
}

fn tree(specs: &[ValueSpec]) -> Tree<'_> {
    let mut root = Node::default();
    for spec in specs {
        let mut node = &mut root;
        for segment in spec.path.segments() {
            node = node.children.entry(segment).or_default();
        }
        node.spec = Some(spec);
    }
    root.children
}

/// Returns values.yaml.
pub fn yaml(specs: &[ValueSpec]) -> String {
    if specs.is_empty() {
        return "# This chart has no values.\n{}\n".to_owned();
    }
    let mut out = String::new();
    write_yaml(&tree(specs), 0, &mut out);
    out
}

fn write_yaml(nodes: &Tree<'_>, indent: usize, out: &mut String) {
    let margin = " ".repeat(indent);
    let width = COMMENT_WIDTH - indent;
    for (index, (name, node)) in nodes.iter().enumerate() {
        if indent == 0 && index > 0 {
            out.push('\n');
        }

        match node.spec {
            Some(spec) => {
                for (index, line) in
                    // Descriptions have names of the bundle in them: a line break there would end
                    // the comment.
                    wrap(&escape::line(&spec.description), width, width).iter().enumerate()
                {
                    let mark = if index == 0 { "# -- " } else { "# " };
                    out.push_str(&format!("{margin}{mark}{line}\n"));
                }

                if let Some(default) = &spec.documented_default {
                    out.push_str(&format!("{margin}# @default -- {}\n", escape::line(default)));
                }

                let entry =
                    Map::from_iter([((*name).to_owned(), Value::from(spec.default.clone()))]);
                for line in plain(&entry).lines() {
                    out.push_str(&format!("{margin}{line}\n"));
                }
            }
            None => {
                out.push_str(&format!("{margin}{}:\n", yaml::spell(name)));
                write_yaml(&node.children, indent + 2, out);
            }
        }
    }
}

/// Returns values.schema.json (draft-07, which Helm's validator supports). It rejects unknown keys, so
/// that typos are errors.
pub fn schema(unit: &Unit, with_crds_subchart: bool) -> String {
    let mut root = schema_of(&tree(&unit.values));
    if let Some(map) = root.as_object_mut() {
        map.shift_insert(0, "$schema".to_owned(), "http://json-schema.org/draft-07/schema#".into());
    }
    // Helm adds these itself: global values, and the values of a subchart under its name.
    root["properties"]["global"] = json!({"type": "object"});
    if with_crds_subchart {
        match root.pointer_mut("/properties/crds/properties") {
            Some(values) => values["global"] = json!({"type": "object"}),
            None => root["properties"]["crds"] = json!({"type": "object"}),
        }
    }
    if !unit.constraints.is_empty() {
        root["allOf"] = json!(unit.constraints);
    }
    let mut text = format!("{root:#}");
    text.push('\n');
    text
}

fn schema_of(nodes: &Tree<'_>) -> Json {
    let mut properties = serde_json::Map::new();
    for (name, node) in nodes {
        let schema = match node.spec {
            Some(spec) => {
                let mut schema = spec.schema.clone();
                schema["description"] = json!(spec.description);
                schema["default"] = spec.default.clone();
                schema
            }
            None => schema_of(&node.children),
        };
        properties.insert((*name).to_owned(), schema);
    }
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

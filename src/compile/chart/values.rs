//! values.yaml with helm-docs comments, and values.schema.json.

use crate::escape;
use crate::ir::{Map, Unit, Value, ValueSpec};
use crate::layout::wrap;
use crate::yaml;
use indexmap::IndexMap;
use serde_json::{Value as Json, json};

/// Width of comment lines.
const COMMENT_WIDTH: usize = 96;

/// A node of the tree of values, in declaration order.
enum Node<'a> {
    Leaf(&'a ValueSpec),
    Tree(IndexMap<&'a str, Node<'a>>),
}

fn tree(specs: &[ValueSpec]) -> IndexMap<&str, Node<'_>> {
    let mut root = IndexMap::new();
    for spec in specs {
        let Some((last, parents)) = spec.path.segments().split_last() else { continue };
        let mut place = &mut root;
        for parent in parents {
            let node = place.entry(parent.as_str()).or_insert_with(|| Node::Tree(IndexMap::new()));
            if let Node::Leaf(_) = node {
                *node = Node::Tree(IndexMap::new());
            }
            match node {
                Node::Tree(children) => place = children,
                Node::Leaf(_) => unreachable!("made a tree above"),
            }
        }
        place.insert(last, Node::Leaf(spec));
    }
    root
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

fn write_yaml(nodes: &IndexMap<&str, Node<'_>>, indent: usize, out: &mut String) {
    let margin = " ".repeat(indent);
    let width = COMMENT_WIDTH - indent;
    for (index, (name, node)) in nodes.iter().enumerate() {
        if indent == 0 && index > 0 {
            out.push('\n');
        }

        match node {
            Node::Leaf(spec) => {
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
                for line in yaml::plain(&entry).unwrap_or_default().lines() {
                    out.push_str(&format!("{margin}{line}\n"));
                }
            }
            Node::Tree(children) => {
                out.push_str(&format!("{margin}{}:\n", yaml::spell(name)));
                write_yaml(children, indent + 2, out);
            }
        }
    }
}

/// Returns values.schema.json (draft-07, which Helm's validator supports). It rejects unknown keys, so
/// that typos are errors.
pub fn schema(unit: &Unit, with_crds_subchart: bool) -> String {
    let mut root = json!({"$schema": "http://json-schema.org/draft-07/schema#"});
    merge(&mut root, schema_of(&tree(&unit.values)));
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

fn schema_of(nodes: &IndexMap<&str, Node<'_>>) -> Json {
    let mut properties = serde_json::Map::new();
    for (name, node) in nodes {
        let schema = match node {
            Node::Leaf(spec) => {
                let mut schema = spec.schema.clone();
                schema["description"] = json!(spec.description);
                schema["default"] = spec.default.clone();
                schema
            }
            Node::Tree(children) => schema_of(children),
        };
        properties.insert((*name).to_owned(), schema);
    }
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn merge(into: &mut Json, from: Json) {
    if let (Json::Object(into), Json::Object(from)) = (into, from) {
        into.extend(from);
    }
}

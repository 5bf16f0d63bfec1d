//! Builds objects from YAML with holes, with expressions for values that Helm fills in.

use super::*;
use crate::ir::{Condition, Expr, Number, Origin, Part, ValueSpec, ValuesPath, group_of};

/// Origin of serving objects.
const ORIGIN: Origin = Origin::Added("serving");

/// Returns the objects of a file in objects/, with these values in place of its holes.
///
/// A hole is `$NAME` in a text or a key. A text that is nothing else becomes the value, and an item of a list
/// that is one the items of a list. An object or an item with a hole without a value is left out, of `$?NAME`
/// only the entry. `$namespace` is the namespace of the release.
pub(super) fn objects(text: &'static str, holes: &Map) -> Vec<Object> {
    let filled = documents(text, holes).into_iter();
    let maps = filled.filter_map(|value| match value {
        Value::Map(root) => Some(Object::new(*root, ORIGIN)),
        _ => None,
    });
    maps.collect()
}

/// Returns the objects of a file as [`objects`] does, with holes for what most objects of a model name.
pub(super) fn of_model(text: &'static str, config: &ServingConfig, mut holes: Map) -> Vec<Object> {
    holes.extend(map! {
        "model": &config.name,
        "served_name": &config.served_name,
        "picker": picker::name(config),
        "picker_port": picker::PICKER_PORT,
        "metrics_port": picker::METRICS_PORT,
        "selector": picker::SELECTOR,
        "secret": format!("{}-metrics-reader", picker::name(config)),
        "pool_group": group_of(config.profile.pool),
    });
    objects(text, &holes)
}

/// Returns the value of a file in objects/ with a part of an object, as [`objects`] does.
pub(super) fn part(text: &'static str, holes: &Map) -> Value {
    documents(text, holes).pop().unwrap_or(Value::Null)
}

fn documents(text: &'static str, holes: &Map) -> Vec<Value> {
    // Without an error: the tests build every object.
    let documents = yaml::parse(text).unwrap_or_default();
    documents.iter().filter_map(|document| filled(document, holes)).collect()
}

/// Returns a value of a document with its holes filled; `None` if one has no value.
fn filled(value: &Value, holes: &Map) -> Option<Value> {
    Some(match value {
        Value::Text(text) => in_text(text, holes)?,
        Value::Seq(items) => {
            let filled = items.iter().filter_map(|item| Some((item, filled(item, holes)?)));
            let items = filled.flat_map(|(item, filled)| match filled {
                Value::Seq(items) if item.as_str().is_some() => items,
                other => vec![other],
            });
            Value::Seq(items.collect())
        }
        Value::Map(map) => {
            let mut entries = Map::new();
            for (key, value) in map.iter() {
                // Without a value only this entry is left out.
                let name = value.as_str().and_then(|text| text.strip_prefix("$?"));
                let value = match name {
                    Some(name) => holes.get(name).cloned(),
                    None => Some(filled(value, holes)?),
                };
                let key = in_text(key, holes)?.as_str()?.to_owned();
                value.and_then(|value| entries.insert(key, value));
            }
            entries.into()
        }
        other => other.clone(),
    })
}

/// Returns a text with its holes filled: the value of its only hole, or text around the namespace.
fn in_text(text: &str, holes: &Map) -> Option<Value> {
    let mut pieces = text.split('$');
    let mut literal = pieces.next().unwrap_or_default().to_owned();
    let mut parts = Vec::new();
    for piece in pieces {
        let end = piece.find(|c: char| !c.is_ascii_alphabetic() && c != '_');
        let (name, after) = piece.split_at(end.unwrap_or(piece.len()));
        let value = match name {
            "namespace" => Expr::ReleaseNamespace.into(),
            name => holes.get(name)?.clone(),
        };
        match value {
            value if text.len() == 1 + name.len() => return Some(value),
            Value::Text(text) => literal.push_str(&text),
            Value::Number(Number::Int(number)) => literal.push_str(&number.to_string()),
            _ => parts.extend([Part::Text(std::mem::take(&mut literal)), Part::ReleaseNamespace]),
        }
        literal.push_str(after);
    }

    if parts.is_empty() {
        return Some(Value::Text(literal));
    }
    parts.push(Part::Text(literal));
    parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
    Some(Expr::Concat(parts).into())
}

/// Reports what was not reported at its place before.
pub(super) fn push_new(new: Diagnostic, diagnostics: &mut Diagnostics) {
    if !diagnostics.iter().any(|known| known.message == new.message && known.place == new.place) {
        diagnostics.push(new);
    }
}

/// Returns an environment variable.
pub(super) fn variable(name: &str, value: &str) -> Json {
    json!({"name": name, "value": value})
}

/// Returns the environment variable with the IP address of the pod.
pub(super) fn pod_ip_variable(name: &str) -> Json {
    json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
}

/// Returns the labels of engine pods and their workloads.
pub(super) fn engine_labels(config: &ServingConfig, name: &str) -> Json {
    json!({
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/part-of": config.name,
        "app.kubernetes.io/component": "engine",
    })
}

/// Collects the values of a chart, and the errors in keys that contradict it.
pub(super) struct Values<'d> {
    /// The declared values.
    pub(super) all: Vec<ValueSpec>,
    /// Receives the errors.
    pub(super) found: &'d mut Diagnostics,
}

/// First path segments in the order of values.yaml.
const ORDER: [&str; 8] =
    ["image", "pullSecrets", "serviceAccount", "cache", "decode", "prefill", "sidecar", "epp"];

impl Values<'_> {
    /// Returns all values in the order of values.yaml.
    pub(super) fn sorted(mut self) -> Vec<ValueSpec> {
        // The sort is stable and `None` comes first: other paths keep the order of their
        // declaration.
        self.all.sort_by_key(|spec| {
            let first = spec.path.segments().first();
            ORDER.iter().position(|name| first.is_some_and(|first| first == name))
        });
        self.all
    }

    /// Declares a value unless it is known, and returns its path.
    fn declare(
        &mut self,
        path: &[&str],
        default: Json,
        schema: Json,
        description: &str,
    ) -> ValuesPath {
        let path = ValuesPath::new(path.iter().copied());
        // Decode and prefill declare the values that they share, such as `image`: the first one
        // counts.
        if !self.all.iter().any(|spec| spec.path == path) {
            self.all.push(ValueSpec::new(path.clone(), default, schema, description.to_owned()));
        }
        path
    }

    /// Declares a number of replicas.
    pub(super) fn count(&mut self, path: &[&str], default: u32, description: &str) -> Value {
        let schema = json!({"type": "integer", "minimum": 0});
        Expr::Integer(self.declare(path, json!(default), schema, description)).into()
    }

    /// Declares a non-empty string.
    pub(super) fn text(&mut self, path: &[&str], default: &str, description: &str) -> Value {
        let schema = json!({"type": "string", "minLength": 1});
        Expr::Text(self.declare(path, json!(default), schema, description)).into()
    }

    /// Declares a string, or a map or list of items of this schema, which is omitted while it is empty.
    pub(super) fn whole(
        &mut self,
        path: &[&str],
        default: Json,
        item: Json,
        description: &str,
    ) -> Value {
        let (schema, value): (Json, fn(ValuesPath) -> Expr) = match default {
            Json::String(_) => (json!({"type": "string"}), Expr::Text),
            Json::Array(_) => (json!({"type": "array", "items": item}), Expr::Values),
            _ => (json!({"type": "object", "additionalProperties": item}), Expr::Values),
        };
        let path = self.declare(path, default, schema, description);
        Value::when(Condition::Set(path.clone()), value(path).into())
    }

    /// Declares node selector, tolerations and affinity with these defaults, as far as there are any.
    pub(super) fn scheduling(&mut self, role: &str, whose: &str, defaults: Vec<Json>) -> Map {
        let keys = [
            ("nodeSelector", "string", "Node selector"),
            ("tolerations", "object", "Tolerations"),
            ("affinity", "object", "Affinity"),
        ];
        let values = keys.into_iter().zip(defaults).map(|((key, kind, what), default)| {
            let description = format!("{what} of the {whose}.");
            let value = self.whole(&[role, key], default, json!({"type": kind}), &description);
            (key.to_owned(), value)
        });
        values.collect()
    }

    /// Declares requests and limits. `fixed` (the accelerators) are always part of them.
    pub(super) fn resources(&mut self, of: &str, default: &Json, fixed: &[(&str, u32)]) -> Value {
        let names: Vec<&str> = fixed.iter().map(|(name, _)| *name).collect();
        let mut resources = Map::new();
        for group in ["requests", "limits"] {
            let mut schema = json!({
                "type": "object",
                // A quantity may be a number, such as `cpu: 2` (resource.Quantity, UnmarshalJSON).
                "additionalProperties": {"type": ["string", "number"]},
            });
            if !names.is_empty() {
                // The template has these keys already, and a key twice in one map is no valid YAML.
                schema["propertyNames"] = json!({"not": {"enum": names}});
            }
            let entries = default.get(group).cloned().unwrap_or(json!({}));
            let without = match names.is_empty() {
                true => "",
                false => ", without accelerators, which follow from the topology",
            };
            let description = format!("Resource {group} of {of}{without}.");
            let path = self.declare(&[of, "resources", group], entries, schema, &description);
            let fixed = fixed.iter();
            let mut map: Map =
                fixed.map(|(name, units)| ((*name).to_owned(), i64::from(*units).into())).collect();
            // The writer puts the entries of the value in the place of this key, whose text only is
            // unique.
            map.insert(path.to_string(), Expr::Entries(path).into());
            resources.insert(group.to_owned(), map.into());
        }

        resources.into()
    }

    /// Declares annotations with these defaults, for the user to add others.
    pub(super) fn annotations(&mut self, of: &str, default: Json, description: &str) -> Value {
        let schema = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let path = self.declare(&[of, "annotations"], default, schema, description);
        value!({(path.to_string()): Expr::Entries(path)})
    }

    /// Declares the image pull secrets.
    pub(super) fn pull_secrets(&mut self, secret: Option<&str>) -> Value {
        let names: Vec<Json> = secret.iter().map(|name| json!({"name": name})).collect();
        let item = json!({
            "type": "object",
            "properties": {"name": {"type": "string", "minLength": 1}},
            "required": ["name"],
            "additionalProperties": false,
        });
        let description = "Existing image pull secrets.";
        self.whole(&["pullSecrets"], Json::Array(names), item, description)
    }
}

#[cfg(test)]
mod tests;

//! Evaluates values for a release: the reference semantics of the emitted templates.

use super::{
    CertificateField, Condition, Expr, ImageReference, Map, Number, Object, Part, Value, ValuesPath,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use std::borrow::Cow;

/// The name of every release that is rendered without Helm: that of `helm template` without a name.
pub const RELEASE_NAME: &str = "release-name";

/// The inputs of rendering: the release namespace and the values.
#[derive(Clone, Debug)]
pub struct Release<'a> {
    /// `.Release.Namespace`
    pub namespace: &'a str,
    /// `.Values`
    pub values: &'a Json,
}

impl Release<'_> {
    /// For values without expressions, such as those that were read from a file.
    pub const LITERAL: Release<'static> = Release { namespace: "", values: &Json::Null };

    /// Returns `object` as the API server would receive it, or `None` if its condition is false.
    pub fn object(&self, object: &Object) -> Option<Json> {
        if object.when.as_ref().is_some_and(|condition| !self.holds(condition)) {
            return None;
        }
        Some(self.map(&object.root))
    }

    /// Returns `value` with all expressions evaluated. A false condition at the root gives `null`.
    pub fn value(&self, value: &Value) -> Json {
        match value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(number) => (*number).into(),
            Value::Text(text) => Json::String(text.clone()),
            Value::Expr(expr) => self.expr(expr),
            Value::Seq(items) => {
                // An item may be missing, or stand for the items of a value.
                let mut resolved = Vec::with_capacity(items.len());
                for item in items {
                    self.item(item, &mut resolved);
                }
                Json::Array(resolved)
            }
            Value::Map(map) => self.map(map),
            Value::When(when) if self.holds(&when.0) => self.value(&when.1),
            Value::When(_) => Json::Null,
        }
    }

    fn map(&self, map: &Map) -> Json {
        let mut resolved = serde_json::Map::with_capacity(map.len());
        for (key, value) in map {
            if !value.presence().is_none_or(|condition| self.holds(&condition)) {
                continue;
            }
            if let Value::Expr(Expr::Entries(path)) = value {
                let entries = self.lookup(path).as_object().into_iter().flatten();
                resolved.extend(entries.map(|(key, value)| (key.clone(), value.clone())));
            } else {
                resolved.insert(key.clone(), self.value(value));
            }
        }
        Json::Object(resolved)
    }

    fn item(&self, item: &Value, into: &mut Vec<Json>) {
        if item.item_presence().is_some_and(|condition| !self.holds(&condition)) {
            return;
        }
        match item {
            // Its condition is a part of `item_presence`, which held.
            Value::When(when) => self.item(&when.1, into),
            Value::Expr(Expr::Values(path)) => {
                into.extend(self.lookup(path).as_array().into_iter().flatten().cloned());
            }
            _ => into.push(self.value(item)),
        }
    }

    fn expr(&self, expr: &Expr) -> Json {
        match expr {
            Expr::ReleaseNamespace => Json::String(self.namespace.to_owned()),
            Expr::ReleaseName => Json::String(RELEASE_NAME.to_owned()),
            Expr::Concat(parts) => Json::String(self.joined(parts)),
            Expr::Truncated(parts, bytes) => {
                let text = self.joined(parts);
                // Helm's `trunc` counts bytes; names are ASCII, so that no character is cut.
                let end = (0..=*bytes).rev().find(|end| text.is_char_boundary(*end));
                Json::String(end.and_then(|end| text.get(..end)).unwrap_or(&text).to_owned())
            }
            Expr::Values(path) | Expr::Entries(path) | Expr::Integer(path) => {
                self.lookup(path).clone()
            }
            Expr::Text(path) => {
                // values.schema.json refuses other types before Helm renders.
                Json::String(self.lookup(path).as_str().unwrap_or_default().to_owned())
            }
            Expr::Base64(path) => {
                Json::String(STANDARD.encode(self.lookup(path).as_str().unwrap_or_default()))
            }
            Expr::Certificate(piece) => {
                Json::String(certificate_placeholder(&piece.secret, piece.field))
            }
        }
    }

    fn joined(&self, parts: &[Part]) -> String {
        parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => Cow::Borrowed(text.as_str()),
                Part::ReleaseNamespace => Cow::Borrowed(self.namespace),
                Part::Image(image) => self.image(image),
            })
            .collect()
    }

    /// Returns the reference that an image has with these values.
    pub fn image<'a>(&'a self, image: &'a ImageReference) -> Cow<'a, str> {
        let set = |path| self.lookup(path).as_str().filter(|text| !text.is_empty());
        match (set(&image.own), set(&image.registry)) {
            // The override of one image is more specific than the rewrite of its registry.
            (Some(own), _) => Cow::Borrowed(own),
            (None, Some(registry)) => Cow::Owned(format!("{registry}/{}", image.path)),
            (None, None) => Cow::Borrowed(&image.reference),
        }
    }

    fn lookup(&self, path: &ValuesPath) -> &Json {
        path.segments()
            .iter()
            .try_fold(self.values, |value, segment| value.get(segment))
            .unwrap_or(&Json::Null)
    }

    /// Returns true if a condition is true.
    pub fn holds(&self, condition: &Condition) -> bool {
        match condition {
            Condition::Set(path) => truth(self.lookup(path)),
            Condition::Unset(path) => !truth(self.lookup(path)),
            Condition::Differ(strings) => {
                let [one, other] = strings.each_ref().map(|string| self.expr(string));
                one != other
            }
            // Rendered without a cluster, as `helm template` does.
            Condition::Missing(_) => true,
            Condition::Any(conditions) => conditions.iter().any(|c| self.holds(c)),
            Condition::All(conditions) => conditions.iter().all(|c| self.holds(c)),
        }
    }
}

/// Returns a placeholder for a certificate part that only Helm can generate: base64 of a text that
/// says so.
pub fn certificate_placeholder(secret: &str, field: CertificateField) -> String {
    STANDARD.encode(format!("{} of Secret {secret}, generated by Helm", field.as_str()))
}

/// Returns the truth of a value in text/template.
pub fn truth(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(value) => *value,
        // The truth of Go templates: zero, empty and null are false.
        Json::Number(number) => number.as_f64() != Some(0.0),
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(map) => !map.is_empty(),
    }
}

impl From<Number> for Json {
    fn from(number: Number) -> Self {
        match number {
            Number::Int(value) => value.into(),
            Number::Uint(value) => value.into(),
            Number::Float(value) => value.into(),
        }
    }
}

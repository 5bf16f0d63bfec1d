//! `metadata/properties.yaml`: what a bundle says about itself to resolvers, and to its pods
//! through an annotation.

use super::load::documents;
use crate::diag::Diagnostics;
use crate::fields::list;
use crate::ir::{Object, Release, Value};
use crate::source::BundleFiles;
use serde_json::{Value as Json, json};

const FILE: &str = "properties.yaml";
const ANNOTATION: &str = "olm.properties";

/// Adds the properties of the file to the annotation `olm.properties` of the CSV, a JSON list of
/// `{type, value}` in Go's format, after those of the annotation. Changes nothing if there are no
/// properties. Invalid properties are reported when they are read as requirements.
///
/// OLM: operator-controller, bundle source.
pub(super) fn annotate(csv: &mut Object, files: &BundleFiles) {
    let Some(bytes) = files.metadata.get(FILE) else { return };
    let documents = documents(FILE, bytes, files, &mut Diagnostics::new());
    let Some(file) = documents.and_then(|read| read.documents.into_iter().next()) else { return };
    let added = list(file.value.get("properties")).iter().filter_map(|item| {
        let kind = item.get("type")?.as_str()?;
        let mut value = item.get("value").map_or(Json::Null, |value| Release::LITERAL.value(value));
        // As Kubernetes' reader has them.
        value.sort_all_objects();
        Some(json!({"type": kind, "value": value}))
    });

    let own = csv.at(&["metadata", "annotations", ANNOTATION]).and_then(Value::as_str);
    let mut properties = match own.map(serde_json::from_str::<Json>) {
        None | Some(Ok(Json::Null)) => Vec::new(),
        Some(Ok(Json::Array(items))) => items.iter().map(property).collect(),
        // `requirements` reports an annotation that is no list.
        Some(_) => return,
    };
    properties.extend(added);
    if properties.is_empty() {
        return;
    }
    csv.annotate(ANNOTATION, spelled_by_go(properties));
}

/// Keeps the fields of an item that OLM knows.
fn property(item: &Json) -> Json {
    json!({"type": item["type"], "value": item["value"]})
}

/// Formats JSON like Go, which escapes HTML characters; these only occur in strings.
fn spelled_by_go(properties: Vec<Json>) -> String {
    let mut text = Json::from(properties).to_string();
    for (character, escape) in [
        ('<', "\\u003c"),
        ('>', "\\u003e"),
        ('&', "\\u0026"),
        ('\u{2028}', "\\u2028"),
        ('\u{2029}', "\\u2029"),
    ] {
        text = text.replace(character, escape);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Origin;
    use crate::sample;

    /// Returns the annotation of a CSV with this one and a file with these properties.
    fn annotation(own: Json, file: &str) -> Json {
        let csv = Value::from(&json!({"metadata": {"annotations": {ANNOTATION: own}}}));
        let Value::Map(root) = csv else { panic!("a map") };
        let mut csv = Object::new(*root, Origin::Stub);
        annotate(&mut csv, &sample::files(&[], &[(FILE, file)]));
        Release::LITERAL.object(&csv).expect("an object")["metadata"]["annotations"][ANNOTATION]
            .clone()
    }

    #[test]
    fn properties_are_spelled_as_go_does() {
        let one = |value: &str| format!("properties: [{{type: t, value: {value}}}]");
        for (value, spelled) in [
            ("'a<b>&c'", r#""a\u003cb\u003e\u0026c""#),
            (r#""\u2028\u2029""#, r#""\u2028\u2029""#),
            ("'\"é\\'", r#""\"é\\""#),
            ("{b: [{d: 1, c: null}], a: 1.5}", r#"{"a":1.5,"b":[{"c":null,"d":1}]}"#),
            ("null", "null"),
        ] {
            let expected = format!(r#"[{{"type":"t","value":{spelled}}}]"#);
            assert_eq!(annotation(json!(null), &one(value)), json!(expected), "{value}");
        }
    }

    #[test]
    fn properties_of_the_file_come_after_those_of_the_annotation() {
        let own = r#"[{"type":"o","value":1,"more":2}]"#;
        let file = "properties: [{type: t}, {value: 2}]";
        let (kept, added) = (r#"{"type":"o","value":1}"#, r#"{"type":"t","value":null}"#);
        for (own, file, expected) in [
            (json!(own), file, json!(format!("[{kept},{added}]"))),
            (json!(own), "properties: []", json!(format!("[{kept}]"))),
            (json!("null"), file, json!(format!("[{added}]"))),
            (json!("[]"), "properties: null", json!("[]")),
            (json!("{}"), file, json!("{}")),
            (json!("no JSON"), file, json!("no JSON")),
            (json!(own), "", json!(own)),
        ] {
            assert_eq!(annotation(own.clone(), file), expected, "{own} {file}");
        }
    }
}

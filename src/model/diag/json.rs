//! Diagnostics as JSON lines, for programs.
//!
//! Each line is an object with the fields `severity` (`error`, `warning`, `note`), `code`,
//! `message`, and where known `hint`, `place` and `related`. A place has any of `bundle`, `file`,
//! `document`, `line`, `column`, `end_line`, `end_column`, `object` and `path`; numbers are
//! 1-based, columns count characters, and an end is after the last character. `related` is a list
//! of objects with a `message` and, where known, a `place`.

use super::location::Location;
use super::{Diagnostics, Place};
use crate::escape;
use serde_json::{Value as Json, json};

/// Returns one line for each of `diagnostics`, in order.
pub fn render(diagnostics: &Diagnostics) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics.iter() {
        let related = diagnostic.related.iter();
        let related = related.map(|(at, why)| known(json!({ "message": why, "place": place(at) })));
        let line = known(json!({
            "severity": diagnostic.severity.as_str(),
            "code": diagnostic.code.as_str(),
            "message": diagnostic.message,
            "hint": diagnostic.hint,
            "place": place(&diagnostic.place),
            "related": related.collect::<Vec<Json>>(),
        }));
        // JSON allows hidden characters in strings; a terminal or log would act on them.
        text.push_str(&escape::json(&line.to_string()));
        text.push('\n');
    }
    text
}

fn place(place: &Place) -> Json {
    let Location { file, line, column, end_line, end_column, .. } = Location::from(place);
    known(json!({
        "bundle": place.bundle,
        "file": file,
        "document": place.document,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        "object": place.object,
        "path": place.path,
    }))
}

/// Returns an object without the entries of which nothing is known.
pub(super) fn known(mut object: Json) -> Json {
    let is_known = |value: &Json| match value {
        Json::Null => false,
        Json::Array(items) => !items.is_empty(),
        Json::Object(entries) => !entries.is_empty(),
        _ => true,
    };
    if let Json::Object(entries) = &mut object {
        entries.retain(|_, value| is_known(value));
    }
    object
}

#[cfg(test)]
mod tests {
    use super::super::sample;

    #[test]
    fn every_line_is_an_object() {
        let text = super::render(&sample::diagnostics());
        for line in text.lines() {
            assert!(serde_json::from_str::<serde_json::Value>(line).unwrap().is_object());
        }
        insta::assert_snapshot!(text, @r#"
        {"severity":"error","code":"duplicate-name","message":"two bundles have the name `über`","hint":"give each its own","place":{"file":"bundles.toml","line":5,"column":8,"end_line":5,"end_column":14},"related":[{"message":"the first one","place":{"file":"bundles.toml","line":2,"column":8,"end_line":2,"end_column":14}}]}
        {"severity":"error","code":"wrong-type","message":"this range has several lines","place":{"file":"bundles.toml","line":6,"column":11,"end_line":8,"end_column":2}}
        {"severity":"warning","code":"filter-failed","message":"100% of it fails,\nin two lines","place":{"bundle":"lws","file":"manifests/role: a.yaml","document":2,"line":14,"column":3,"object":"Role/a","path":".rules[0].verbs"},"related":[{"message":"here \u001b[31mtoo","place":{"file":"manifests/b.yaml","object":"Role/b"}},{"message":"and an unknown place"}]}
        {"severity":"note","code":"unused-setting","message":"the place is unknown"}
        {"severity":"note","code":"config-unreadable","message":"only the file is known","hint":"look into it\nwith two lines","place":{"file":"bundles.toml"}}
        "#);
    }
}

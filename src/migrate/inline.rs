//! Values of bundles.toml in their short forms.

use crate::add::quoted;
use crate::escape;
use serde_json::Value as Json;

/// Returns a JSON value as a TOML value on one line. TOML has no null, so null entries are left out.
pub(super) fn value(json: &Json) -> String {
    match json {
        Json::Null => "\"\"".to_owned(),
        Json::Bool(_) | Json::Number(_) => json.to_string(),
        Json::String(text) => quoted(text),
        Json::Array(items) => {
            let items = items.iter().filter(|item| !item.is_null()).map(value);
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        Json::Object(map) => {
            let filled = map.iter().filter(|(_, value)| !value.is_null());
            let entries = filled.map(|(key, json)| format!("{} = {}", self::key(key), value(json)));
            let entries: Vec<String> = entries.collect();
            if entries.is_empty() {
                "{}".to_owned()
            } else {
                format!("{{ {} }}", entries.join(", "))
            }
        }
    }
}

fn key(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let bare = !key.is_empty() && key.chars().all(is_bare);
    if bare { key.to_owned() } else { quoted(key) }
}

/// Returns a text, such as a jq program, as a literal string if that keeps it.
pub(super) fn literal(text: &str) -> String {
    let fits = !text.contains('\'') && !text.contains(escape::is_hidden);
    if fits { format!("'{text}'") } else { quoted(text) }
}

/// Returns a text with several lines, such as a manifest.
pub(super) fn lines(text: &str) -> String {
    let is_hidden = |c: char| c != '\n' && escape::is_hidden(c);
    let fits = !text.contains("'''") && !text.ends_with('\'') && !text.contains(is_hidden);
    // TOML drops the line break after the quotes.
    if fits { format!("'''\n{text}'''") } else { quoted(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_read_back() {
        let json = json!({
            "env": [{"name": "LEVEL", "value": "a\"b"}, {"name": "B", "valueFrom": {"x.y/z": 1}}],
            "on": true, "empty": {}, "none": [],
        });
        let table: toml::Table = format!("a = {}", value(&json)).parse().unwrap();
        assert_eq!(serde_json::to_value(&table["a"]).unwrap(), json);
        for text in ["a: 1\nb: \"it's\"\n", "a: '''\n", "a: \u{202e}\n", "a\n\n  b\n"] {
            for spelled in [literal(text), lines(text)] {
                let table: toml::Table = format!("a = {spelled}").parse().unwrap();
                assert_eq!(table["a"].as_str(), Some(text), "{spelled}");
            }
        }
    }
}

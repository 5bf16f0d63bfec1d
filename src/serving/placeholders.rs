//! Placeholders such as `${NAME}` that another tool (envsubst, Flux) replaces before manifests are
//! applied. In YAML `{` begins a map, so that manifests with placeholders are often no YAML.

use serde_json::Value as Json;

/// Characters that stand for `${` and `}` while a file is parsed. Both are for private use, and plain
/// characters in YAML.
const OPEN: char = '\u{e000}';
const CLOSE: char = '\u{e001}';

/// Returns a file in which every `${NAME}` is a plain word; `None` if it has none.
pub(crate) fn protect(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    if text.contains([OPEN, CLOSE]) {
        return None;
    }

    // The marks are of a private use area; a file that has them already could not be restored.
    let mut protected = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inner)) = rest.split_once("${") {
        let found = inner.split_once('}').filter(|(inner, _)| is_placeholder(inner));
        let open = if found.is_some() { OPEN.to_string() } else { "${".to_owned() };
        protected.extend([before, &open]);
        if let Some((inner, _)) = found {
            protected.push_str(inner);
            protected.push(CLOSE);
        }
        rest = found.map_or(inner, |(_, rest)| rest);
    }

    protected.push_str(rest);
    protected.contains(OPEN).then(|| protected.into_bytes())
}

/// Returns true for `NAME`, `NAME:-default` and the like on one line.
fn is_placeholder(inner: &str) -> bool {
    let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
    let is_name = end > 0 && !inner.starts_with(|c: char| c.is_ascii_digit());
    let rest = &inner[end..];
    let is_default = rest.starts_with([':', '-', '=', '?', '+']);
    is_name
        && (rest.is_empty() || is_default)
        && !inner.contains(['\n', '#', '"', '\''])
        && !rest.contains(": ")
}

/// Returns an object with its placeholders as they were written.
pub(crate) fn restore(json: Json) -> Json {
    map_texts(json, &|text| text.replace(OPEN, "${").replace(CLOSE, "}"))
}

/// Changes the texts in a JSON tree, keys too.
pub(crate) fn map_texts(json: Json, change: &dyn Fn(&str) -> String) -> Json {
    let inner = |json| map_texts(json, change);
    match json {
        Json::String(text) => Json::String(change(&text)),
        Json::Array(items) => items.into_iter().map(inner).collect(),
        Json::Object(map) => {
            map.into_iter().map(|(key, value)| (change(&key), inner(value))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{protect, restore};
    use serde_json::json;

    #[test]
    fn placeholders_are_words_while_a_file_is_parsed() {
        let text = "a: {b: ${X}, c: ${Y:-1}}\nd: \"${Z}\"\ne: ${A B}\nf: ${}\n";
        let protected =
            String::from_utf8(protect(text.as_bytes()).expect("placeholders")).expect("UTF-8");
        assert_eq!(
            protected,
            "a: {b: \u{e000}X\u{e001}, c: \u{e000}Y:-1\u{e001}}\nd: \"\u{e000}Z\u{e001}\"\ne: ${A B}\nf: ${}\n"
        );
        let parsed =
            json!({"b": "\u{e000}X\u{e001}", "\u{e000}K\u{e001}": ["\u{e000}Y:-1\u{e001}", 1]});
        assert_eq!(restore(parsed), json!({"b": "${X}", "${K}": ["${Y:-1}", 1]}));
        assert_eq!(protect(b"a: b"), None);
        assert_eq!(protect("a: \u{e000} ${X}".as_bytes()), None);
    }
}

//! Characters that do not survive server-side apply, by which Helm 4 installs.

use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::fields::below;
use crate::ir::{Expr, Map, Origin, Part, Unit, Value};

/// Reports the first such character of every object.
pub(super) fn characters(unit: &Unit, diagnostics: &mut Diagnostics) {
    for object in &unit.objects {
        let Some((path, character)) = in_map(&object.root) else { continue };
        let code_point = u32::from(character);
        // YAML folds this line break to a space in quoted strings.
        let fate = if character == '\u{85}' {
            "server-side apply turns into a space"
        } else {
            "server-side apply rejects (\"control characters are not allowed\")"
        };
        let message = format!("{object} has U+{code_point:04X} at {path}, which {fate}");
        let remove = match object.origin {
            Origin::Overlay { .. } => "remove it",
            _ => "remove it with a `[[bundle.patch]]`",
        };
        let place = object.place_at(&path);
        let hint = format!("{remove}, or install with `helm install --server-side=false`");
        diagnostics.push(Diagnostic::warning(Code::ControlCharacter, message).at(place).hint(hint));
    }
}

/// Returns true for characters that are unescaped in JSON but invalid or changed in YAML: with
/// server-side apply, clients send JSON and the API server parses YAML.
fn is_lost(character: char) -> bool {
    matches!(character, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
}

/// Returns the first such character below a map, and its path.
fn in_map(map: &Map) -> Option<(String, char)> {
    map.iter().find_map(|(key, value)| {
        let in_key = in_text(key).map(|character| (String::new(), character));
        let (path, character) = in_key.or_else(|| in_value(value))?;
        Some((below("", key) + &path, character))
    })
}

fn in_value(value: &Value) -> Option<(String, char)> {
    let text = |text: &str| Some((String::new(), in_text(text)?));
    match value {
        Value::Text(value) => text(value),
        Value::Expr(Expr::Concat(parts)) => parts.iter().find_map(|part| match part {
            Part::Text(value) => text(value),
            _ => None,
        }),
        Value::When(when) => in_value(&when.1),
        Value::Map(map) => in_map(map),
        Value::Seq(items) => items.iter().enumerate().find_map(|(index, item)| {
            let (path, character) = in_value(item)?;
            Some((format!("[{index}]{path}"), character))
        }),
        _ => None,
    }
}

fn in_text(text: &str) -> Option<char> {
    // Nearly all text is ASCII, and has none.
    if text.is_ascii() && !text.as_bytes().contains(&0x7f) {
        return None;
    }
    text.chars().find(|character| is_lost(*character))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Condition, ValuesPath};
    use crate::passes::sample;

    const MAP: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}";

    #[test]
    fn characters_are_found_in_values_of_every_kind() {
        let delete = || Value::text("a\u{7f}");
        let template = Part::Text("\u{7f}".to_owned());
        let condition = Condition::Set(ValuesPath::new(["enabled"]));
        for (value, path) in [
            (delete(), ".data"),
            (Expr::Concat(vec![Part::ReleaseNamespace, template]).into(), ".data"),
            (Value::when(condition, delete()), ".data"),
            (Value::map([("key", delete())]), ".data.key"),
            (Value::map([("\u{7f}", Value::text("a"))]), r#".data["\u{7f}"]"#),
            (Value::Seq(vec![Value::text("a"), delete()]), ".data[1]"),
        ] {
            let mut unit = sample::bundle(MAP);
            unit.objects[0].root.insert("data".to_owned(), value);
            assert_eq!(
                sample::reported(characters, &unit),
                [format!(
                    "warning: ConfigMap/settings has U+007F at {path}, which server-side apply \
                     rejects (\"control characters are not allowed\")"
                )]
            );
        }
    }

    #[test]
    fn hints_say_where_a_character_is_removed() {
        for (mut unit, remove) in [
            (sample::overlay(MAP), "remove it"),
            (sample::bundle(MAP), "remove it with a `[[bundle.patch]]`"),
        ] {
            unit.objects[0].root.insert("data".to_owned(), Value::text("\u{85}"));
            let mut diagnostics = Diagnostics::new();
            characters(&unit, &mut diagnostics);
            let hints: Vec<_> = diagnostics.iter().filter_map(|found| found.hint.clone()).collect();
            assert_eq!(
                hints,
                [format!("{remove}, or install with `helm install --server-side=false`")]
            );
        }
    }
}

//! JSON paths, as people read them.

use serde_json::Value as Json;

/// Appends `.key` to a JSON path, or `["key"]` if the key has other characters.
pub fn push_key(path: &mut String, key: &str) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !key.is_empty() && key.bytes().all(plain) {
        path.push('.');
        path.push_str(key);
    } else {
        path.push_str(&format!("[{key:?}]"));
    }
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// A map entry.
    Key(String),
    /// A list item with these merge key values.
    Item(Vec<(String, String)>),
    /// An item of a list without a merge key, by 0-based index.
    Index(usize),
    /// The order of the items of a list with this merge key.
    Order(&'static [&'static str]),
}

/// Spells steps as a JSON path, with the items of lists by their merge keys: `.a["b/c"][0][manager]`.
pub fn path_of(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Key(key) => push_key(&mut path, key),
            Step::Index(index) => path.push_str(&format!("[{index}]")),
            Step::Order(_) => path.push_str("[order]"),
            Step::Item(_) => {
                // Labels that look like an index or `order` are quoted, so that a path has one
                // meaning.
                let label = step.label();
                let plain = |c: char| c.is_alphanumeric() || "-_./:*@,= ".contains(c);
                let number = label.bytes().all(|b| b.is_ascii_digit());
                path.push_str(&match label.chars().all(plain) && !number && label != "order" {
                    true => format!("[{label}]"),
                    false => format!("[{label:?}]"),
                });
            }
        }
    }
    path
}

/// Returns the value that steps lead to.
pub fn value_at<'j>(object: &'j Json, steps: &[Step]) -> Option<&'j Json> {
    steps.iter().try_fold(object, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
        Step::Item(_) | Step::Order(_) => None,
    })
}

/// Takes a JSON path apart as far as it can be read: `.a["b/c"][0]`.
pub fn steps(path: &str) -> Vec<Step> {
    let mut rest = path;
    let next = || {
        let (step, after) = first_step(path, rest).ok()?;
        rest = after;
        Some(step)
    };
    std::iter::from_fn(next).collect()
}

/// Splits the rest of a path after its first step: `.key`, `[0]`, `["any text"]` or `[any text]`.
///
/// # Errors
/// A message about the path.
pub(super) fn first_step<'p>(path: &str, rest: &'p str) -> Result<(Step, &'p str), String> {
    if let Some(quoted) = rest.strip_prefix('[').filter(|inside| inside.starts_with('"')) {
        // `push_key` writes Rust's escapes, of which JSON has not all.
        let mut texts = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
        let text = texts.next().and_then(Result::ok);
        let after = quoted.get(texts.byte_offset()..).and_then(|rest| rest.strip_prefix(']'));
        // What is no JSON is taken as it is written.
        let raw = || quoted[1..].split_once("\"]").map(|(text, after)| (text.to_owned(), after));
        let found = text.zip(after).or_else(raw).map(|(text, after)| (Step::Key(text), after));
        return found.ok_or_else(|| format!("`{rest}` has no `\"]`"));
    }
    if let Some(inside) = rest.strip_prefix('[') {
        let (text, after) = inside.split_once(']').ok_or_else(|| format!("`{rest}` has no `]`"))?;
        let index = text.parse().ok().filter(|index: &usize| index.to_string() == text);
        return Ok((index.map_or_else(|| Step::Key(text.to_owned()), Step::Index), after));
    }
    let key =
        rest.strip_prefix('.').ok_or_else(|| format!("expected `.` or `[` before `{rest}`"))?;
    let (key, after) = key.split_at(key.find(['.', '[']).unwrap_or(key.len()));
    match key {
        // `.[item]` is the same as `[item]`.
        "" if after.starts_with('[') => first_step(path, after),
        "" => Err(format!("`{path}` has an empty segment")),
        key => Ok((Step::Key(key.to_owned()), after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_they_are_written() {
        let mut path = String::new();
        for key in ["spec", "a/b", "say \"x\"", "\"]", "c"] {
            push_key(&mut path, key);
        }
        let keys = ["spec", "a/b", "say \"x\"", "\"]", "c"].map(|key| Step::Key(key.to_owned()));
        assert_eq!(steps(&path), keys);
        assert_eq!(path_of(&steps(".a[3][\"b/c\"]")), ".a[3][\"b/c\"]");
        // No JSON, but clear.
        assert_eq!(steps("[\"a\\.b\"]"), [Step::Key("a\\.b".to_owned())]);
        assert_eq!(steps("nonsense"), []);
        assert_eq!(steps(".a[1"), [Step::Key("a".to_owned())]);
    }
}

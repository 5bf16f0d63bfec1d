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

/// One step of a JSON path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A map key.
    Key(String),
    /// A list index.
    Index(usize),
}

/// Spells steps as a JSON path: `.a["b/c"][0]`.
pub fn path_of(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Key(key) => push_key(&mut path, key),
            Step::Index(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

/// Returns the value that steps lead to.
pub fn value_at<'j>(object: &'j Json, steps: &[Step]) -> Option<&'j Json> {
    steps.iter().try_fold(object, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    })
}

/// Takes a JSON path apart as far as it can be read: `.a["b/c"][0]`.
pub fn steps(path: &str) -> Vec<Step> {
    let mut rest = path;
    let next = || {
        let (step, after) = first_step(rest).ok()?;
        rest = after;
        Some(step)
    };
    std::iter::from_fn(next).collect()
}

/// Splits a path after its first step: `.key`, `[0]`, `["any text"]` or `[any text]`.
///
/// # Errors
/// A message about the path.
pub(super) fn first_step(path: &str) -> Result<(Step, &str), String> {
    if let Some(quoted) = path.strip_prefix('[').filter(|rest| rest.starts_with('"')) {
        // `push_key` writes Rust's escapes, of which JSON has not all.
        let mut texts = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
        let text = texts.next().and_then(Result::ok);
        let after = quoted.get(texts.byte_offset()..).and_then(|rest| rest.strip_prefix(']'));
        return text.map(Step::Key).zip(after).ok_or_else(|| format!("`{path}` has no `\"]`"));
    }
    if let Some(inside) = path.strip_prefix('[') {
        let (text, after) = inside.split_once(']').ok_or_else(|| format!("`{path}` has no `]`"))?;
        return Ok((text.parse().map_or_else(|_| Step::Key(text.to_owned()), Step::Index), after));
    }
    let key =
        path.strip_prefix('.').ok_or_else(|| format!("expected `.` or `[` before `{path}`"))?;
    let (key, after) = key.split_at(key.find(['.', '[']).unwrap_or(key.len()));
    match key {
        // `.[item]` is the same as `[item]`.
        "" if after.starts_with('[') => first_step(after),
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
        assert_eq!(steps("nonsense"), []);
        assert_eq!(steps(".a[1"), [Step::Key("a".to_owned())]);
    }
}

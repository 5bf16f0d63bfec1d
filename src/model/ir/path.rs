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
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let (step, after) = if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            (Some(Step::Key(after[..end].to_owned())), &after[end..])
        } else if let Some(quoted) = rest.strip_prefix('[').filter(|r| r.starts_with('"')) {
            // `push_key` writes Rust's escapes, of which JSON has not all: the path ends at such a
            // key.
            let mut texts = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
            let key = texts.next().and_then(Result::ok);
            (key.map(Step::Key), quoted.get(texts.byte_offset() + 1..).unwrap_or_default())
        } else if let Some((index, after)) =
            rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        {
            (index.parse().ok().map(Step::Index), after)
        } else {
            (None, "")
        };
        let Some(step) = step else { break };
        steps.push(step);
        rest = after;
    }
    steps
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

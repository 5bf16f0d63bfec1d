//! Rules of single values: names, references, paths, versions.

use super::reader::{Located, Reader};
use crate::Text;
use crate::diag::Code;
use crate::ir::label_fault;
use crate::keys::{NAME_LIMIT, NAMESPACE_LIMIT, SECRET_LIMIT};
use std::path::{Component, Path, PathBuf};

/// Returns the value, or reports an empty one.
pub(super) fn filled<'t>(
    reader: &mut Reader<'_>,
    key: &str,
    (text, range): Located<&'t str>,
) -> Option<&'t str> {
    if text.trim().is_empty() {
        reader.error(
            Code::InvalidValue,
            &range,
            format!("`{key}` is empty"),
            "set a value, or remove the key",
        );
        return None;
    }
    Some(text)
}

/// The name of a bundle.
pub(crate) fn name(reader: &mut Reader<'_>, (text, range): &Located<&str>) {
    if let Some(fault) = label_fault(text, NAME_LIMIT) {
        let message = format!("the name of a bundle or chart {fault}");
        let lower = text.to_lowercase().replace(['_', '.', ' '], "-");
        let hint = match label_fault(&lower, NAME_LIMIT) {
            None => format!("write `name = \"{lower}\"`: releases are named after it"),
            Some(_) => format!("{}; releases are named after it", label_rule(NAME_LIMIT)),
        };
        reader.error(Code::InvalidValue, range, message, hint);
    }
}

/// Returns the name of a namespace.
pub(crate) fn namespace(reader: &mut Reader<'_>, (text, range): Located<&str>) -> Option<String> {
    if let Some(fault) = label_fault(text, NAMESPACE_LIMIT) {
        let message = format!("the namespace name {fault}");
        reader.error(Code::InvalidValue, &range, message, label_rule(NAMESPACE_LIMIT));
        return None;
    }
    Some(text.to_owned())
}

/// Returns a name that is a DNS label.
pub(super) fn label(
    reader: &mut Reader<'_>,
    key: &str,
    (text, range): Located<&str>,
) -> Option<String> {
    if let Some(fault) = label_fault(text, NAME_LIMIT) {
        let message = format!("`{key}` {fault}");
        reader.error(Code::InvalidValue, &range, message, label_rule(NAME_LIMIT));
        return None;
    }
    Some(text.to_owned())
}

/// Returns the name of a pull secret.
pub(crate) fn secret(reader: &mut Reader<'_>, (text, range): Located<&str>) -> Option<String> {
    let fault = if text.len() > SECRET_LIMIT {
        Some(format!("has {} characters", text.len()))
    } else {
        text.split('.').find_map(|label| label_fault(label, SECRET_LIMIT))
    };
    if let Some(fault) = fault {
        let message = format!("the pull secret name {fault}");
        let hint = if text.is_empty() {
            "write `pull-secret = false` to use no pull secret".to_owned()
        } else {
            format!("use at most {SECRET_LIMIT} lower-case letters, digits, dashes and dots")
        };
        reader.error(Code::InvalidValue, &range, message, hint);
        return None;
    }
    Some(text.to_owned())
}

/// Returns the name of an object, or an API group: a DNS-1123 subdomain.
pub(super) fn object_name(
    reader: &mut Reader<'_>,
    key: &str,
    (text, range): Located<&str>,
) -> Option<String> {
    let fault = if text.len() > SECRET_LIMIT {
        Some(format!("has {} characters", text.len()))
    } else {
        text.split('.').find_map(|label| label_fault(label, SECRET_LIMIT))
    };
    if let Some(fault) = fault {
        let message = format!("`{key}` {fault}");
        let hint =
            format!("use at most {SECRET_LIMIT} lower-case letters, digits, dashes and dots");
        reader.error(Code::InvalidValue, &range, message, hint);
        return None;
    }
    Some(text.to_owned())
}

/// Returns a kind of objects.
pub(super) fn kind(reader: &mut Reader<'_>, (text, range): Located<&str>) -> Option<String> {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric());
    if plain && text.starts_with(|c: char| c.is_ascii_uppercase()) {
        return Some(text.to_owned());
    }
    reader.error(
        Code::InvalidValue,
        &range,
        format!("invalid kind {text:?}"),
        "use letters and digits, starting with an upper-case letter, as in `ClusterIssuer`",
    );
    None
}

/// Returns an image reference, or the start of one; only what no reference can be is refused
/// here.
pub(crate) fn reference(reader: &mut Reader<'_>, key: &str, at: Located<&str>) -> Option<String> {
    let range = at.1.clone();
    let text = filled(reader, key, at)?;
    let (fault, hint) = if let Some((scheme, rest)) = text.split_once("://") {
        (
            format!("`{key}` starts with `{scheme}://`, which image references do not have"),
            format!("write `{rest}`"),
        )
    } else if text.contains(char::is_whitespace) {
        (format!("`{key}` contains whitespace"), "remove it".to_owned())
    } else if text.starts_with(['/', '.']) {
        (
            format!("`{key}` is a path, not an image reference"),
            format!("for local files, write `path = \"{text}\"`"),
        )
    } else {
        return Some(text.to_owned());
    };
    reader.error(Code::InvalidValue, &range, fault, hint);
    None
}

/// Returns a prefix of image references.
pub(super) fn reference_prefix(
    reader: &mut Reader<'_>,
    key: &str,
    at: Located<&str>,
) -> Option<String> {
    let range = at.1.clone();
    let text = reference(reader, key, at)?;
    if let Some(character) = text.chars().next_back().filter(|c| "/:@".contains(*c)) {
        reader.error(
            Code::InvalidValue,
            &range,
            format!("`{key}` ends with `{character}`"),
            format!(
                "write `{}`: prefixes match up to a `/`, `:` or `@` or the end of a reference",
                text.trim_end_matches(['/', ':', '@'])
            ),
        );
        return None;
    }
    Some(text)
}

/// Returns a name, reference or path without whitespace.
pub(super) fn word(reader: &mut Reader<'_>, key: &str, at: Located<&str>) -> Option<Text> {
    let range = at.1.clone();
    let text = filled(reader, key, at)?;
    if text.contains(char::is_whitespace) {
        let message = format!("`{key}` contains whitespace");
        reader.error(Code::InvalidValue, &range, message, "remove it");
        return None;
    }
    Some(Text { text: text.to_owned(), span: reader.span(range) })
}

/// Reads a non-empty path.
pub(super) fn path(reader: &mut Reader<'_>, key: &str, at: Located<&str>) -> Option<String> {
    filled(reader, key, at).map(str::to_owned)
}

/// Returns the version of a chart.
pub(crate) fn version(
    reader: &mut Reader<'_>,
    (text, range): Located<&str>,
) -> Option<semver::Version> {
    match semver::Version::parse(text) {
        Ok(version) => Some(version),
        Err(error) => {
            let message = format!("`chart-version` is not a semantic version: {error}");
            let hint = match text.strip_prefix('v').map(semver::Version::parse) {
                Some(Ok(version)) => format!("write `chart-version = \"{version}\"`"),
                _ => "write three numbers, for example `1.2.3` or `1.2.3-rc.1`".to_owned(),
            };
            reader.error(Code::InvalidValue, &range, message, hint);
            None
        }
    }
}

fn label_rule(limit: usize) -> String {
    format!(
        "use at most {limit} lower-case letters, digits and dashes; start and end with a letter or \
            digit"
    )
}

/// Returns `path` without `.`, and without `..` if the parent is known; does not access the disk.
pub(super) fn plain(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(result.components().next_back(), Some(Component::Normal(_))) =>
            {
                result.pop();
            }
            component => result.push(component),
        }
    }
    result
}

//! Patterns for objects and paths, for `--only`, `--ignore` and `[[ignore]]`.

use super::field_path::Path;
use super::path::first_step;
use super::{Identity, Step};
use crate::file_pattern::{fits_stars, fitting};
use std::fmt;

/// A pattern `KIND[/[NAMESPACE/]NAME][:PATH]` or `PATH`, where a path begins with a dot. `*` matches any
/// characters of one segment, `**` any segments. A path also matches everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    /// Kind, namespace, name; empty ones match all.
    object: [String; 3],
    path: Vec<String>,
}

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// A message for the user if the pattern is invalid.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("pattern is empty".to_owned());
        }

        // Names may contain `:` (ClusterRoles do), so only `:.` and `:[` begin a path.
        let (object, path) = if text.starts_with(['.', '[']) {
            ("", text)
        } else {
            match text.find(":.").or_else(|| text.find(":[")) {
                Some(at) => (&text[..at], &text[at + 1..]),
                None => (text, ""),
            }
        };

        let mut parts: Vec<&str> = object.split('/').collect();
        let object = match (parts.len(), parts.pop()) {
            (1, Some(kind)) => [kind, "", ""],
            (2, Some(name)) => [parts[0], "", name],
            (3, Some(name)) => [parts[0], parts[1], name],
            _ => return Err(format!("`{object}` has more parts than KIND/NAMESPACE/NAME")),
        };

        let (mut segments, mut rest) = (Vec::new(), path);
        while !rest.is_empty() {
            let (step, after) = first_step(path, rest)?;
            segments.push(step.label());
            rest = after;
        }
        let (text, object) = (text.to_owned(), object.map(str::to_owned));
        Ok(Pattern { text, object, path: segments })
    }

    /// Returns true if the pattern matches a path of an object.
    pub fn matches(&self, id: &Identity, path: &Path) -> bool {
        let labels: Vec<String> = path.steps().iter().map(Step::label).collect();
        // A path also matches everything below it.
        self.matches_object(id) && fitting(&self.path, &labels, fits_stars).contains(&true)
    }

    /// Returns true if the pattern matches an object, or paths of it.
    pub fn matches_object(&self, id: &Identity) -> bool {
        let parts = [&id.kind, &id.namespace, &id.name];
        self.object.iter().zip(parts).all(|(p, text)| p.is_empty() || fits_stars(p, text))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A pattern for changes to ignore.
#[derive(Clone, Debug)]
pub struct Ignore {
    /// Pattern of ignored changes.
    pub pattern: Pattern,
    /// Reason from the configuration.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::{Pattern, fits_stars};
    use crate::ir::Identity;
    use crate::ir::field_path::{Path, Step};

    fn id() -> Identity {
        let text = str::to_owned;
        Identity { kind: text("Role"), group: text("g"), namespace: text("ns"), name: text("a-b") }
    }

    #[test]
    fn patterns_match_objects_and_places() {
        let path = Path(vec![
            Step::Key("spec".to_owned()),
            Step::Item(vec![("name".to_owned(), "v1".to_owned())]),
            Step::Key("a.b/c".to_owned()),
        ]);
        for (pattern, expected) in [
            ("Role", true),
            ("Role/a-b", true),
            ("Role/a-*", true),
            ("Role/ns/a-b", true),
            ("Role/other/a-b", false),
            ("RoleBinding", false),
            ("*", true),
            (".spec", true),
            (".spec[v1]", true),
            (".spec[v2]", false),
            (".spec.*[\"a.b/c\"]", true),
            (".**[\"a.b/c\"]", true),
            (".**.other", false),
            ("Role/a-b:.spec", true),
            ("Role/a-b:.status", false),
            ("Role:.spec[v1][\"a.b/c\"].more", false),
        ] {
            let found = Pattern::parse(pattern).expect(pattern).matches(&id(), &path);
            assert_eq!(found, expected, "{pattern}");
        }
        for wrong in ["", " ", "a/b/c/d", ".a..b", ".a[b", ".a[\"b]", ".a]b"] {
            assert!(Pattern::parse(wrong).is_err() || wrong == ".a]b", "{wrong}");
        }
    }

    #[test]
    fn globs() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("a*c", "abc", true),
            ("a*b*c", "axbxc", true),
            ("a*b*c", "ac", false),
            ("*a", "aba", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(fits_stars(pattern, text), expected, "{pattern} {text}");
        }
    }
}

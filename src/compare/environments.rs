//! The files of values, by environment.

use crate::diag::Fatal;
use crate::pipeline::operand;
use indexmap::IndexSet;
use serde_json::Value as Json;

/// The values of an environment.
#[derive(Clone, Debug)]
pub(super) struct Environment {
    /// The name; empty if no file names an environment.
    pub(super) name: String,
    /// The files as written on the command line, in the order in which Helm layers them.
    pub(super) files: Vec<String>,
    /// The layered values.
    pub(super) values: Json,
}

/// Reads the files of `--values`: `FILE` is for all environments, `ENVIRONMENT=FILE` for one. Later
/// files override earlier ones, as with `helm upgrade --values`.
///
/// # Errors
/// Fails if a file cannot be read or is no mapping.
pub(super) fn read(arguments: &[String]) -> Result<Vec<Environment>, Fatal> {
    let parsed: Vec<(Option<&str>, &str)> = arguments.iter().map(|text| parse(text)).collect();
    // In the order of the command line, which is that of the reports.
    let mut names: IndexSet<&str> = parsed.iter().filter_map(|(name, _)| *name).collect();
    if names.is_empty() {
        names.insert("");
    }

    let environment = |name: &str| {
        let mine = parsed.iter().filter(|(of, _)| of.is_none_or(|of| of == name));
        let files: Vec<String> = mine.map(|(_, file)| (*file).to_owned()).collect();
        let values = operand::read_values(&files)?;
        Ok(Environment { name: name.to_owned(), files, values })
    };
    names.into_iter().map(environment).collect()
}

/// Splits `ENVIRONMENT=FILE`. Paths such as `./a=b.yaml` have no environment.
fn parse(text: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    match text.split_once('=') {
        Some((name, file)) if is_name(name) && !file.is_empty() => (Some(name), file),
        _ => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn environments_are_names_before_an_equals_sign() {
        for (text, expected) in [
            ("prod=values/prod.yaml", (Some("prod"), "values/prod.yaml")),
            ("eu-1.prod=a=b.yaml", (Some("eu-1.prod"), "a=b.yaml")),
            ("prod.yaml", (None, "prod.yaml")),
            ("./a=b.yaml", (None, "./a=b.yaml")),
            ("prod=", (None, "prod=")),
            ("=prod.yaml", (None, "=prod.yaml")),
        ] {
            assert_eq!(parse(text), expected);
        }
    }
}

//! `include`: finds and reads the files that it names.

#![expect(clippy::disallowed_methods, reason = "lists the directories of `include`")]

use super::file::content;
use super::*;
use crate::diag::Fatal;
use bundle2chart_model::file_pattern;
use std::fs;
use std::io;

/// Maximum number of included files.
const FILE_LIMIT: usize = 1_000;

/// Returns the texts of the files that `include` of the file at `path` names, sorted by path, each
/// once. `include` of a wrong type is left to the reader of the configuration.
pub(super) fn read(
    source: &Arc<SourceText>,
    path: &Path,
    base: &Path,
    diagnostics: &mut Diagnostics,
) -> Vec<Arc<SourceText>> {
    // `Config::parse_with` parses the text again, and reports its syntax errors.
    let (tree, _) = DeTable::parse_recoverable(&source.text);
    let items = tree.get_ref().get("include").and_then(|value| value.get_ref().as_array());
    let mut files: Vec<(PathBuf, Span)> = Vec::new();
    for item in items.into_iter().flatten() {
        let Some(pattern) = item.get_ref().as_str() else { continue };
        let span = Span::new(source, item.span());
        match matches(base, pattern) {
            Ok(found) => {
                if found.is_empty() {
                    let message = format!("`{pattern}` in `include` matches no file");
                    let hint = "fix the pattern, which is relative to the directory of this file, \
                        or remove it";
                    let warning = Diagnostic::warning(Code::IncludeUnmatched, message);
                    diagnostics.push(warning.at(&span).hint(hint));
                }
                files.extend(found.into_iter().map(|file| (file, span.clone())));
            }
            Err(fault) => diagnostics.push(fault.at(Place::span(span))),
        }
    }
    // Directories are listed in any order, and patterns may match a file twice: neither may change
    // the order of findings or charts.
    files.sort_by(|(a, _), (b, _)| a.cmp(b));
    files.dedup_by(|(a, _), (b, _)| a == b);
    if let Some((_, span)) = files.get(FILE_LIMIT) {
        let message = format!("`include` matches {} files; the limit is {FILE_LIMIT}", files.len());
        let hint = "check that these are the right directories";
        diagnostics.error(Code::ConfigUnreadable, span, message, hint);
        return Vec::new();
    }

    let mut texts = Vec::new();
    for (file, span) in files {
        // In messages as a person would type it: `models/a.toml` instead of `./models/a.toml`.
        let joined = base.join(&file);
        let shown = joined.strip_prefix(".").unwrap_or(&joined).display().to_string();
        // By canonical paths: `*.toml` finds `bundles.toml` as `./bundles.toml`, or through a link.
        if is_same(&joined, path) {
            let message = format!("`include` matches `{shown}`, which is this file");
            let hint = "move the included files to a directory, and write `DIRECTORY/*.toml`";
            diagnostics.error(Code::ConfigUnreadable, &span, message, hint);
            continue;
        }
        match content(&joined) {
            Ok(text) => texts.push(Arc::new(SourceText { name: shown, text })),
            Err((why, _)) => {
                let message = format!("cannot read the included file `{shown}`: {why}");
                let hint = "check the path, which is relative to the directory of this file, and \
                    the file: it must be UTF-8 text of at most 1 MiB";
                diagnostics.error(Code::ConfigUnreadable, &span, message, hint);
            }
        }
    }
    texts
}

fn is_same(one: &Path, other: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok();
    canonical(one).is_some_and(|one| canonical(other) == Some(one))
}

/// Returns the paths below `base` that a pattern matches: a path without wildcards whether it
/// exists or not, and regular files for one with wildcards.
///
/// # Errors
/// When the pattern is not valid, or a directory cannot be listed.
fn matches(base: &Path, pattern: &str) -> Result<Vec<PathBuf>, Fatal> {
    let invalid = |message: &str, hint: &str| {
        Err(Fatal::from(Diagnostic::error(Code::InvalidValue, message).hint(hint)))
    };
    if pattern.starts_with(['/', '~']) || pattern.trim().is_empty() {
        let message = "an entry of `include` is not a relative path";
        return invalid(message, "write a path relative to this file, such as `models/*.toml`");
    }
    if pattern.contains("**") {
        let message = "`**` is not supported in `include`";
        return invalid(message, "write one pattern for each level, such as `models/*/*.toml`");
    }

    // Level by level, so that only directories that the pattern names are listed.
    let mut found = vec![PathBuf::new()];
    for part in pattern.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if !is_wildcard(part) {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let mut next = Vec::new();
        for folder in found {
            let listed = names(&base.join(&folder)).map_err(|error| {
                let shown = folder.display();
                let message = format!("cannot list `{shown}` for `include`: {error}");
                let hint = "check its permissions";
                Fatal::from(Diagnostic::error(Code::ConfigUnreadable, message).hint(hint))
            })?;
            let listed = listed.into_iter().filter(|name| fits(part, name));
            next.extend(listed.map(|name| folder.join(name)));
        }
        found = next;
    }
    // A path without wildcards stays, also if there is no such file: reading it reports why.
    if is_wildcard(pattern) {
        found.retain(|path| base.join(path).is_file());
    }
    Ok(found)
}

fn is_wildcard(part: &str) -> bool {
    part.contains(['*', '?'])
}

/// Returns the names in a directory, none if there is no such directory.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error)
            // In `a/*/*.toml`, the first `*` also matches files of `a`, which have no names in
            // them.
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        // A name that is not UTF-8 cannot match a pattern that is.
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

/// Returns true if a name fits a pattern with `*` and `?`, which do not match a leading dot.
fn fits(pattern: &str, name: &str) -> bool {
    // As in shells: lock and swap files of editors begin with a dot.
    let is_hidden = name.starts_with('.') && !pattern.starts_with('.');
    !is_hidden && file_pattern::fits(pattern, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_parts_of_names() {
        for (pattern, name) in [
            ("*.toml", "a.toml"),
            ("*", "a"),
            ("a*b*c", "axxbyybzc"),
            ("model-?.toml", "model-1.toml"),
            ("a*", "a"),
            (".*", ".hidden"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("*.toml", "a.toml~"),
            ("*.toml", ".a.toml"),
            ("a*b*c", "axxbyybz"),
            ("model-?.toml", "model-10.toml"),
            ("?", ""),
            ("a", "ab"),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }
}

//! Reading `bundles.toml` from disk.

use super::include;
use super::*;
use crate::regular_file;
use std::io::ErrorKind;

/// Largest configuration, in bytes; one of a thousand bundles has about 200 KiB.
const SIZE_LIMIT: u64 = 1 << 20;

/// Name of the text that findings about arguments point into.
pub const COMMAND_LINE: &str = "command line";

impl Config {
    /// Reads the file at `path` as [`Config::read_any`] does, and reports an error if it has nothing
    /// to build.
    pub fn read(path: &Path, diagnostics: &mut Diagnostics) -> Option<Config> {
        let config = Config::read_any(path, diagnostics)?;
        if config.tables().next().is_none() {
            let hint = "add a bundle with `bundle2chart add REFERENCE`, or by hand:\n[[bundle]]\nname = \
                \"my-operator\"\nimage = \"registry.example.com/team/my-operator-bundle:1.0\"";
            let place = Place::file(path.display().to_string());
            diagnostics.error(Code::MissingKey, place, "the configuration has no bundle", hint);
            return None;
        }
        Some(config)
    }

    /// Reads and checks the file at `path`, as [`Config::parse`] does.
    ///
    /// Reports an error if the file cannot be read, is not UTF-8, or is larger than 1 MiB.
    pub fn read_any(path: &Path, diagnostics: &mut Diagnostics) -> Option<Config> {
        let text = Config::read_text(path, diagnostics)?;
        Config::read_draft(path, text, "", diagnostics)
    }

    /// Returns the text of the file at `path`, for its edits; an error if there is none.
    pub fn read_text(path: &Path, diagnostics: &mut Diagnostics) -> Option<String> {
        let text = content(path).map_err(|(why, hint)| {
            let message = format!("cannot read the configuration: {why}");
            let place = Place::file(path.display().to_string());
            diagnostics.error(Code::ConfigUnreadable, place, message, hint);
        });
        text.ok()
    }

    /// Checks `text` as the file at `path`, with the files that it includes, and with more `tables`,
    /// which come from the command line.
    pub fn read_draft(
        path: &Path,
        text: String,
        tables: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<Config> {
        // Errors of included files count, too: without one of them, charts would be missing.
        let start = diagnostics.mark();
        let base = match path.parent() {
            // The parent of a bare file name is the empty path, which cannot be listed.
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let source = Arc::new(SourceText { name: path.display().to_string(), text });
        let mut included = include::read(&source, path, base, diagnostics);
        if !tables.is_empty() {
            let name = COMMAND_LINE.to_owned();
            included.push(Arc::new(SourceText { name, text: tables.to_owned() }));
        }
        let config = Config::parse_with(&source, &included, base, diagnostics);
        config.filter(|_| !diagnostics.has_errors_since(start))
    }
}

/// Returns the text of the file, or the reason why there is none and a hint.
pub(super) fn content(path: &Path) -> Result<String, (String, &'static str)> {
    let bytes = regular_file::read(path, SIZE_LIMIT).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::FileTooLarge => {
                let why = format!("it is larger than {} MiB", SIZE_LIMIT >> 20);
                return (why, "is this the right file?");
            }
            ErrorKind::NotFound => {
                "run in the directory of bundles.toml, set the file with `-c FILE`, or create one \
                    with `bundle2chart init`"
            }
            ErrorKind::IsADirectory => "pass the file in it: `-c FOLDER/bundles.toml`",
            _ => "check the file permissions",
        };
        (error.to_string(), hint)
    })?;

    String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = valid.iter().filter(|&&byte| byte == b'\n').count() + 1;
        (format!("line {line} is not UTF-8 text"), "save the file as UTF-8")
    })
}

#[cfg(test)]
mod tests;

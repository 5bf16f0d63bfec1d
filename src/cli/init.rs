//! `bundle2chart init`

use super::Exit;
use super::output::Output;
use std::io::Write as _;
use std::path::Path;

const TEMPLATE: &str = include_str!("init.toml");

/// Writes a configuration template; never overwrites an existing file.
pub(super) fn run(config: &Path, output: &mut Output) -> Exit {
    let created =
        // In one step, so that a file that appears in between is not overwritten.
        std::fs::File::create_new(config).and_then(|mut file| file.write_all(TEMPLATE.as_bytes()));
    match created {
        Ok(()) => {
            let text = "created: add a bundle with `bundle2chart add REFERENCE`";
            output.note_line(format!("{} {text}", config.display()));
            Exit::Clean
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => output.error([
            &*format!("error: {} exists and was not changed", config.display()),
            "hint: edit it, or use another file with `-c FILE`",
        ]),
        Err(error) => {
            let text = format!("error: cannot create {}: {error}", config.display());
            let is_missing = error.kind() == std::io::ErrorKind::NotFound;
            let hint = config
                .parent()
                .filter(|_| is_missing)
                .map(|folder| format!("hint: create the directory `{}`", folder.display()));
            output.error([Some(text), hint].into_iter().flatten())
        }
    }
}

//! `bundle2chart schema`, `completions` and `man`: output generated from the program itself.

use super::output::Output;
use super::{Cli, Exit};
use clap::CommandFactory as _;
use std::path::Path;

pub(super) fn schema(output: &mut Output) -> Exit {
    output.document(&format!("{:#}\n", crate::config::schema::json_schema()));
    Exit::Clean
}

pub(super) fn completions(shell: clap_complete::Shell, output: &mut Output) -> Exit {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bundle2chart", &mut text);
    output.document(&String::from_utf8_lossy(&text));
    Exit::Clean
}

/// Prints the man page, or writes one for each command to the directory `out`.
#[expect(clippy::disallowed_methods, reason = "creates the directory of the man pages")]
pub(super) fn man(out: Option<&Path>, output: &mut Output) -> Exit {
    if let Some(out) = out {
        let written = std::fs::create_dir_all(out)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), out));
        return match written {
            Ok(()) => Exit::Clean,
            Err(error) => {
                let text = format!("error: cannot write man pages to {}: {error}", out.display());
                output.error([text])
            }
        };
    }

    let mut text = Vec::new();
    if clap_mangen::Man::new(Cli::command()).render(&mut text).is_err() {
        return Exit::Error;
    }
    output.document(&String::from_utf8_lossy(&text));
    Exit::Clean
}

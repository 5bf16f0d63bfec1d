//! `bundle2chart schema`, `completions` and `man`: output generated from the program itself.

use super::output::Output;
use super::{Cli, Exit};
use clap::CommandFactory as _;

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

pub(super) fn man(output: &mut Output) -> Exit {
    let mut text = Vec::new();
    if clap_mangen::Man::new(Cli::command()).render(&mut text).is_err() {
        return Exit::Error;
    }
    output.document(&String::from_utf8_lossy(&text));
    Exit::Clean
}

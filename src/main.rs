//! The command line: parse, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    bundle2chart::cli::main()
}

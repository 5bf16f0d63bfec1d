//! The command line: parse, run, exit code.

use std::process::ExitCode;

/// Trees of small maps and texts are most of what a build allocates (ARCHITECTURE.md, Decisions).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    bundle2chart::cli::main()
}

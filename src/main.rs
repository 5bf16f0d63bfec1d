//! The command line: parse, run, exit code.

use std::process::ExitCode;

/// Trees of manifests are many small allocations; see "Decisions" in ARCHITECTURE.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    bundle2chart::cli::main()
}

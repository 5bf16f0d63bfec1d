//! The command line: parse, run, exit code.

use std::process::ExitCode;

/// The system's allocator takes a third of the time of a build, most of it to grow and shrink the
/// heaps of threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    bundle2chart::cli::main()
}

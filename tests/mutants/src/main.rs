//! Mutation testing of the core, with all mutants in one program.
//!
//! cargo-mutants lists the mutants. It would compile the program once for each of them, which takes
//! days; here each mutant is a branch that an environment variable selects at run time, so that the
//! program is compiled once, and each mutant runs only the tests that reach it.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "reads and writes files of the checkout")]

mod build;
mod instrument;
mod list;
mod report;
mod tests;
mod tree;
mod unviable;

use std::path::{Path, PathBuf};
use std::time::Duration;

const USAGE: &str = "usage: bundle2chart-mutants [--seconds N] [--jobs N] [--work FOLDER] [NAME...]

Tests the mutants that cargo-mutants lists for the files in .cargo/mutants.toml, or those whose name
contains a NAME, and prints those that no test catches.

  --seconds N    stop after N seconds of tests for a mutant (60)
  --jobs N       tests at a time (number of processors)
  --work FOLDER  folder of the changed sources and their build (target/mutants)";

/// Arguments of the program.
struct Arguments {
    budget: Duration,
    jobs: usize,
    work: PathBuf,
    names: Vec<String>,
}

/// The checkout that this program is in.
fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap_or(root)
}

fn arguments() -> Option<Arguments> {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut arguments = Arguments {
        budget: Duration::from_secs(60),
        jobs,
        work: root().join("target/mutants"),
        names: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => arguments.budget = Duration::from_secs(words.next()?.parse().ok()?),
            "--jobs" => arguments.jobs = words.next()?.parse().ok()?,
            "--work" => arguments.work = words.next()?.into(),
            _ if word.starts_with('-') => return None,
            _ => arguments.names.push(word),
        }
    }
    Some(arguments)
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let root = root();
    let mutants = list::mutants(&root)?;
    let tree = arguments.work.join("tree");
    tree::copy(&root, &tree)?;

    // Files are instrumented with all mutants, also with unselected ones, so that another selection
    // does not compile them again.
    let mut unviable = unviable::read(&arguments.work, &root, &mutants);
    let programs = loop {
        let sites = tree::instrument(&root, &tree, &mutants, &mut unviable)?;
        match build::check(&tree, &arguments.work, &sites)? {
            found if found.is_empty() => break build::programs(&tree, &arguments.work)?,
            found => unviable.extend(found),
        }
    };
    unviable::write(&arguments.work, &root, &mutants, &unviable)?;

    let selected: Vec<usize> = (0..mutants.len())
        .filter(|id| !unviable.contains_key(id))
        .filter(|id| {
            let name = &mutants[*id].name;
            arguments.names.is_empty() || arguments.names.iter().any(|part| name.contains(part))
        })
        .collect();
    if selected.is_empty() {
        return Err("no mutant has such a name: `cargo mutants --list` prints them".to_owned());
    }
    let reached = tests::reached(&programs, &arguments.work, arguments.jobs)?;
    let outcomes = tests::outcomes(&mutants, &selected, &reached, arguments.budget, arguments.jobs);
    report::print(&mutants, &outcomes, &unviable, &arguments.names);
    Ok(outcomes.values().all(|outcome| outcome.is_caught()))
}

fn main() -> std::process::ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!("{USAGE}");
        return std::process::ExitCode::from(2);
    };
    match run(&arguments) {
        Ok(true) => std::process::ExitCode::SUCCESS,
        Ok(false) => std::process::ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            std::process::ExitCode::from(2)
        }
    }
}

//! Mutation testing of the core, with all mutants in one program.
//!
//! cargo-mutants lists the mutants. It would compile the program once for each of them, which takes
//! days; here each mutant is a branch that an environment variable selects at run time, so that the
//! program is compiled once, and each mutant runs only the tests that reach it.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "reads and writes files of the checkout")]

mod accepted;
mod build;
mod instrument;
mod kinds;
mod list;
mod report;
mod since;
mod tests;
mod tree;
mod unviable;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const USAGE: &str = "usage: bundle2chart-mutants [OPTION...] [NAME...]

Tests the mutants of the core, or those whose name contains a NAME, and prints those that no test
catches. Fails if there is one that is not in tests/mutants/accepted.txt, or if one there is gone or
caught.

  --folder FOLDER   sources to change, such as src/yaml (the core); can be repeated
  --kind KIND       such as Method, Arm or Literal (all kinds); can be repeated
  --since REVISION  only lines that changed since REVISION
  --lib             only the unit tests of the crates of these sources, in a few minutes
  --list            only print the mutants
  --seconds N       stop after N seconds of tests for a mutant (60)
  --jobs N          tests at a time (number of processors)
  --work FOLDER     folder of the changed sources and their build (target/mutants)";

const CORE: [&str; 4] = ["src/bundle", "src/compile/olm", "src/compile/passes", "src/diff/rules"];

/// Arguments of the program.
struct Arguments {
    folders: Vec<String>,
    kinds: Vec<String>,
    since: Option<String>,
    only_unit_tests: bool,
    list: bool,
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
    let mut work = None;
    let mut arguments = Arguments {
        folders: Vec::new(),
        kinds: Vec::new(),
        since: None,
        only_unit_tests: false,
        list: false,
        budget: Duration::from_secs(60),
        jobs,
        work: PathBuf::new(),
        names: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => arguments.budget = Duration::from_secs(words.next()?.parse().ok()?),
            "--jobs" => arguments.jobs = words.next()?.parse().ok()?,
            // Tests run in folders of their own.
            "--work" => work = Some(std::path::absolute(words.next()?).ok()?),
            "--folder" => arguments.folders.push(words.next()?),
            "--kind" => arguments.kinds.push(words.next()?),
            "--since" => arguments.since = Some(words.next()?),
            "--lib" => arguments.only_unit_tests = true,
            "--list" => arguments.list = true,
            _ if word.starts_with('-') => return None,
            _ => arguments.names.push(word),
        }
    }
    if arguments.folders.is_empty() {
        arguments.folders = CORE.map(str::to_owned).to_vec();
    }
    // Other files are instrumented, and the build with all mutants is kept.
    let default = if arguments.since.is_some() { "target/mutants-since" } else { "target/mutants" };
    arguments.work = work.unwrap_or_else(|| root().join(default));
    Some(arguments)
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let root = root();
    let accepted = fs::read_to_string(root.join("tests/mutants/accepted.txt"))
        .map_err(|error| format!("tests/mutants/accepted.txt: {error}"))?;
    let accepted = accepted::parse(&accepted)?;
    let since = arguments.since.as_ref().map(|revision| since::lines(&root, revision));
    let since = since.transpose()?;
    let mut files = tree::sources(&root, &arguments.folders)?;
    files.retain(|file| since.as_ref().is_none_or(|lines| lines.has_file(file)));
    if files.is_empty() {
        println!("no source changed");
        return Ok(true);
    }
    let mutants = list::mutants(&root, &files)?;
    let is_selected = |mutant: &list::Mutant| {
        let Arguments { kinds, names, .. } = arguments;
        (kinds.is_empty() || kinds.contains(&mutant.genre))
            && (names.is_empty() || names.iter().any(|part| mutant.name.contains(part)))
            && since.as_ref().is_none_or(|lines| lines.touch(mutant))
    };
    if arguments.list {
        for mutant in mutants.iter().filter(|mutant| is_selected(mutant)) {
            println!("{}", mutant.name);
        }
        return Ok(true);
    }
    let tree = arguments.work.join("tree");
    tree::copy(&root, &tree)?;

    let crates = if arguments.only_unit_tests {
        build::crates_of(&root, &files)?
    } else {
        vec![build::WORKSPACE.to_owned()]
    };

    // Files are instrumented with all mutants, also with unselected ones, so that another selection
    // does not compile them again.
    let mut unviable = unviable::read(&arguments.work, &root, &mutants);
    let programs = loop {
        let sites = tree::instrument(&root, &tree, &mutants, &mut unviable)?;
        match build::check(&tree, &arguments.work, &sites, &crates)? {
            found if found.is_empty() => {
                break build::programs(&tree, &arguments.work, &crates)?;
            }
            found => unviable.extend(found),
        }
        unviable::write(&arguments.work, &root, &mutants, &unviable)?;
    };

    let selected: Vec<usize> = (0..mutants.len())
        .filter(|id| !unviable.contains_key(id) && is_selected(&mutants[*id]))
        .collect();
    if selected.is_empty() {
        println!("no mutant is selected");
        return Ok(arguments.names.is_empty());
    }
    let reached = tests::reached(&programs, &arguments.work, arguments.jobs)?;
    let outcomes = tests::outcomes(&mutants, &selected, &reached, arguments.budget, arguments.jobs);
    let listed = accepted::of(&accepted, &mutants);
    let is_whole = arguments.names.is_empty() && arguments.kinds.is_empty() && since.is_none();
    report::print(&mutants, &outcomes, &unviable, &listed, is_whole);
    let are_all_kinds = mutants.iter().any(|mutant| !mutant.is_own);
    let errors = accepted::errors(&accepted, &mutants, &files, are_all_kinds, &outcomes);
    for error in &errors {
        println!("{error}");
    }
    let is_fine =
        |(id, outcome): (&usize, &tests::Outcome)| outcome.is_caught() || listed.contains_key(id);
    Ok(errors.is_empty() && outcomes.iter().all(is_fine))
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

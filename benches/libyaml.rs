//! Processor time of a fresh build of the 3.1 MB mesh bundle of fixtures/, as a multiple of the time
//! that C libyaml takes for the events of the same YAML.
//!
//! `cargo bench --bench libyaml`, or with a number of rounds, `cargo bench --bench libyaml -- 100`.
//! Needs a C compiler and libyaml (Debian: gcc and libyaml-dev).
//!
//! Both are whole processes: their time is that of user and system, from start to exit, as the
//! system counts it. The two take turns, because another program on the machine slows down both;
//! the best round of each is the one that was disturbed least.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark"
)]

use bundle2chart::diag::Diagnostics;
use bundle2chart::source::{self, Limits};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Runs of each program, where the command line does not say it.
const ROUNDS: usize = 40;

const MESH: &str = "mesh/mesh-operator-bundle:2.3.1";

/// Time and memory of a process.
#[derive(Clone, Copy)]
struct Usage {
    /// Processor time, in milliseconds.
    time: f64,
    /// Peak of its memory, in MB.
    memory: f64,
}

fn main() -> ExitCode {
    let rounds = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let folder = tempfile::tempdir().expect("a temporary folder");
    match measure(folder.path(), rounds.unwrap_or(ROUNDS).max(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn measure(folder: &Path, rounds: usize) -> Result<(), String> {
    let events = compile(folder)?;
    let manifests = write_manifests(folder);
    let bytes: u64 =
        manifests.iter().map(|path| fs::metadata(path).map_or(0, |found| found.len())).sum();
    configure(folder);

    let mut parse = Command::new(&events);
    parse.arg("time").arg(&events).arg("parse").args(&manifests);
    let mut build = Command::new(&events);
    build.arg("time").arg(env!("CARGO_BIN_EXE_bundle2chart")).current_dir(folder);
    build.args(["build", "--offline", "--quiet", "--out", "out"]);

    let (mut parsed, mut built) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        parsed.push(run(&mut parse)?);
        built.push(run(&mut build)?);
        for made in ["out", "bundles.lock"] {
            let path = folder.join(made);
            let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }

    println!("{rounds} rounds, {:.1} MB of YAML", bytes as f64 / 1e6);
    println!("                           best ms  median ms  peak MB");
    print("libyaml, events only", &parsed);
    print("bundle2chart, fresh build", &built);
    let ratio = |of: fn(&[Usage]) -> f64| of(&built) / of(&parsed);
    println!("ratio                    {:>9.2} {:>10.2}", ratio(best), ratio(median));
    Ok(())
}

/// Compiles the reference.
fn compile(folder: &Path) -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/libyaml/events.c");
    let program = folder.join("events");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-o"]).args([&program, &source]).arg("-lyaml");
    let needed = "this benchmark needs a C compiler and libyaml (Debian: gcc and libyaml-dev)";
    let done = compiler.output().map_err(|error| format!("cannot run `cc`: {error}; {needed}"))?;
    if !done.status.success() {
        let output = String::from_utf8_lossy(&done.stderr);
        return Err(format!("`cc` failed; {needed}\n{output}"));
    }
    Ok(program)
}

/// Writes the manifests that a build reads to files.
fn write_manifests(folder: &Path) -> Vec<PathBuf> {
    let registry = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/registry");
    let image = format!("{}:registry.example.com/{MESH}", registry.display());
    let (source, limits) = (source::from_argument(&image), Limits::default());
    let files = source::fetch(&source, Path::new(""), &[], &limits, &mut Diagnostics::new());
    let files = files.expect("the mesh bundle");
    let write = |(name, content): (&String, &Vec<u8>)| {
        let path = folder.join(name);
        fs::write(&path, content).expect("a writable folder");
        path
    };
    files.manifests.iter().chain(&files.metadata).map(write).collect()
}

fn configure(folder: &Path) {
    let registry = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/registry");
    let text = format!(
        "[[mirror]]\nfrom = \"registry.example.com\"\nto = \"oci-layout:{}\"\n\
         [[bundle]]\nname = \"mesh-operator\"\nimage = \"registry.example.com/{MESH}\"\n",
        registry.display()
    );
    fs::write(folder.join("bundles.toml"), text).expect("a writable folder");
}

fn run(command: &mut Command) -> Result<Usage, String> {
    let done = command.output().map_err(|error| format!("cannot run `events`: {error}"))?;
    let output = String::from_utf8_lossy(&done.stdout);
    let numbers: Vec<f64> = output.split_whitespace().flat_map(str::parse).collect();
    match numbers.as_slice() {
        [user, system, memory] if done.status.success() => {
            Ok(Usage { time: (user + system) / 1e3, memory: memory / 1e3 })
        }
        _ => Err(format!("a run failed: {}", String::from_utf8_lossy(&done.stderr))),
    }
}

fn print(name: &str, runs: &[Usage]) {
    let memory = runs.iter().map(|run| run.memory).fold(0.0, f64::max);
    println!("{name:<25}{:>9.1} {:>10.1} {memory:>8.0}", best(runs), median(runs));
}

fn best(runs: &[Usage]) -> f64 {
    runs.iter().map(|run| run.time).fold(f64::INFINITY, f64::min)
}

fn median(runs: &[Usage]) -> f64 {
    let mut times: Vec<f64> = runs.iter().map(|run| run.time).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

//! Programs in Go that results are compared with, built from their sources in this repository.

#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::print_stderr, reason = "says what was not checked")]
#![expect(clippy::disallowed_methods, reason = "tests build and run Go programs")]

use super::helm::tools_dir;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the program whose sources are in `tests/NAME`; builds it unless that was done before.
/// Without Go there is none: in CI (`CI=true`) that is a failure, elsewhere it is printed.
///
/// # Panics
/// When it cannot be built.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    program_with(name, &[])
}

/// Returns that program, built with these values of variables: `PACKAGE.VARIABLE=VALUE`.
///
/// # Panics
/// When it cannot be built.
pub(crate) fn program_with(name: &str, variables: &[String]) -> Option<PathBuf> {
    let sources = sources(name);
    if let Err(error) = Command::new("go").arg("version").output() {
        assert!(std::env::var_os("CI").is_none(), "this test needs go on PATH: {error}");
        eprintln!("not checked: {name} needs go on PATH");
        return None;
    }
    let path = tools_dir().join(name).join(checksum(&sources)).join(name);
    if !path.is_file()
        && let Err(reason) = build(&sources, variables, &path)
    {
        panic!(
            "cannot build {name}: {reason}\n\
             hint: it takes Go 1.26 and a proxy for Go modules; GOPROXY names another proxy"
        );
    }
    Some(path)
}

/// Returns the version of a module that the `go.mod` of the program `name` requires.
///
/// # Panics
/// When it requires none.
pub(crate) fn required_version(name: &str, module: &str) -> String {
    let file = fs::read_to_string(sources(name).join("go.mod")).expect("go.mod");
    let mut versions = file.lines().filter_map(|line| {
        let mut words = line.trim_start_matches("require").split_whitespace();
        (words.next() == Some(module)).then(|| words.next()).flatten()
    });
    versions.next().unwrap_or_else(|| panic!("{name} does not require {module}")).to_owned()
}

/// Returns the folder of a module that the program `name` is built with.
///
/// # Panics
/// When Go does not know the module.
pub(crate) fn module_folder(name: &str, module: &str) -> PathBuf {
    let folder = go(&sources(name), &["list", "-m", "-f", "{{.Dir}}", module]);
    PathBuf::from(folder.unwrap_or_else(|reason| panic!("{module}: {reason}")).trim())
}

fn sources(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// The sources' checksum, so that a change of them is built.
fn checksum(sources: &Path) -> String {
    let mut hash = Sha256::new();
    for file in ["go.mod", "go.sum", "main.go"] {
        hash.update(fs::read(sources.join(file)).unwrap_or_else(|e| panic!("{file}: {e}")));
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn build(sources: &Path, variables: &[String], path: &Path) -> Result<(), String> {
    let variables = variables.iter().map(|variable| format!(" -X {variable}"));
    let linker = format!("-ldflags=-s -w{}", variables.collect::<String>());
    build_once(path, |staged| {
        let target = staged.to_str().ok_or("a path in other than UTF-8")?;
        let arguments = ["build", "-trimpath", "-buildvcs=false", &linker, "-o", target, "."];
        go(sources, &arguments).map(drop)
    })
}

/// Builds a program at `path`, unless another process did so before. `write` writes it to the path
/// that it is given; the program is renamed from there, so that nobody starts half of it.
///
/// # Errors
/// The error of `write`, or of a folder that cannot be written.
pub(crate) fn build_once(
    path: &Path,
    write: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let folder = path.parent().ok_or("no folder")?;
    fs::create_dir_all(folder).map_err(text)?;
    let lock = File::create(folder.join("lock")).map_err(text)?;
    lock.lock().map_err(text)?;
    if path.is_file() {
        return Ok(()); // another test binary was faster
    }

    let staged = path.with_extension("new");
    write(&staged)?;
    fs::rename(&staged, path).map_err(text)
}

/// Runs `go ARGUMENTS` in a folder and returns its output.
///
/// # Errors
/// What it printed to stderr when it failed.
pub(crate) fn go(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("go")
        .args(arguments)
        .current_dir(folder)
        // No C compiler is needed, and none makes a difference.
        .env("CGO_ENABLED", "0")
        .output()
        .map_err(|error| format!("go does not start: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

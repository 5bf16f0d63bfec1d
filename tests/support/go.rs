//! Programs in Go that results are compared with, built from their sources in this repository.

#![allow(dead_code, reason = "each test program uses a part")]
#![expect(clippy::disallowed_methods, reason = "tests build and run Go programs")]

use super::once::{create_once, tools_dir};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the program whose sources are in `tests/NAME`; builds it where that was not done yet.
///
/// # Panics
/// When Go is missing, or the program cannot be built.
pub(crate) fn program(name: &str) -> PathBuf {
    program_with(name, &[])
}

/// Returns that program, built with these values of variables: `PACKAGE.VARIABLE=VALUE`.
///
/// # Panics
/// When Go is missing, or the program cannot be built.
pub(crate) fn program_with(name: &str, variables: &[String]) -> PathBuf {
    let sources = sources(name);
    let path = tools_dir().join(name).join(checksum(&sources)).join(name);
    if let Err(reason) = build(&sources, variables, &path) {
        panic!(
            "this test needs tests/{name} and could not build it: {reason}\n\
             hint: install Go 1.26; GOPROXY sets the proxy for Go modules"
        );
    }
    path
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
    create_once(path, |staged| {
        let target = staged.to_str().ok_or("a path in other than UTF-8")?;
        let arguments = ["build", "-trimpath", "-buildvcs=false", &linker, "-o", target, "."];
        go(sources, &arguments).map(drop)
    })
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
        .map_err(|error| format!("cannot run `go`: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

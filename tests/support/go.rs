//! Programs in Go that results are compared with, built from their sources in this repository.

#![allow(dead_code, reason = "each test program uses a part")]
#![expect(clippy::disallowed_methods, reason = "tests build and run Go programs")]

use super::once::{create_once, tools_dir};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use walkdir::WalkDir;

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

/// Returns the program `name` of a module; builds it where that was not done yet.
///
/// # Panics
/// When Go is missing, or the program cannot be built.
pub(crate) fn module_program(name: &str, module: &Module) -> PathBuf {
    let path = tools_dir().join(format!("{name}-{}", module.version)).join(name);
    let built = create_once(&path, |staged| module.build(&tools_dir(), staged));
    built.unwrap_or_else(|reason| panic!("cannot build {name}: {reason}"));
    path
}

fn sources(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// The sources' checksum, so that a change of them is built.
fn checksum(sources: &Path) -> String {
    let entries = fs::read_dir(sources).unwrap_or_else(|e| panic!("{}: {e}", sources.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        hash.update(fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display())));
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

/// A program of a module that others publish.
pub(crate) struct Module {
    /// Path of the module.
    pub(crate) path: &'static str,
    /// Version, with `v`.
    pub(crate) version: &'static str,
    /// The sum of its files, as in go.sum; without it, Go asks the checksum database.
    pub(crate) sum: Option<&'static str>,
    /// The package of the program in the module: `.` or `./NAME`.
    pub(crate) package: &'static str,
    /// Modules that its go.mod replaces by folders, which the proxy does not serve with it: the version
    /// that go.mod requires is used.
    pub(crate) not_replaced: &'static [&'static str],
}

impl Module {
    /// Returns the folder of the module's files, which are downloaded if they are not there.
    /// `BUNDLE2CHART_MODULES` names folders of modules that the proxy does not serve:
    /// `MODULE@VERSION=FOLDER`, separated by commas.
    ///
    /// # Errors
    /// When Go cannot download it, or its sum is another one.
    pub(crate) fn download(&self, tools: &Path) -> Result<PathBuf, String> {
        let module = format!("{}@{}", self.path, self.version);
        let folders = std::env::var("BUNDLE2CHART_MODULES").unwrap_or_default();
        let mut folders = folders.split(',').filter_map(|entry| entry.split_once('='));
        if let Some((_, folder)) = folders.find(|(name, _)| *name == module) {
            return Ok(folder.into());
        }

        let downloaded = go(tools, &["mod", "download", "-json", &module]).map_err(|reason| {
            format!(
                "{reason}\nhint: if your proxy does not serve the module, set \
                 BUNDLE2CHART_MODULES={module}=FOLDER with its sources"
            )
        })?;
        let downloaded: Json = serde_json::from_str(&downloaded).map_err(|e| e.to_string())?;
        if let Some(sum) = self.sum
            && downloaded["Sum"] != sum
        {
            let found = &downloaded["Sum"];
            return Err(format!("{module} has the sum {found}, expected {sum}"));
        }
        Ok(PathBuf::from(downloaded["Dir"].as_str().ok_or("no folder of the module")?))
    }

    /// Builds the program at `target`.
    ///
    /// # Errors
    /// Those of [`Module::download`] and of the compiler.
    pub(crate) fn build(&self, tools: &Path, target: &Path) -> Result<(), String> {
        let text = |error: std::io::Error| error.to_string();
        let source = self.download(tools)?;
        // `go install` refuses modules that replace others, and asks the proxy for newer versions, so
        // the program is built in a copy, as a main module.
        let staging = TempDir::new_in(tools).map_err(text)?;
        let copy = staging.path().join("module");
        for entry in WalkDir::new(&source) {
            let entry = entry.map_err(|error| error.to_string())?;
            let to = copy.join(entry.path().strip_prefix(&source).map_err(|e| e.to_string())?);
            if entry.file_type().is_dir() {
                fs::create_dir_all(&to).map_err(text)?;
            } else {
                fs::copy(entry.path(), &to).map_err(text)?;
                fs::set_permissions(&to, Permissions::from_mode(0o644)).map_err(text)?;
            }
        }

        let target = target.to_str().ok_or("a path in other than UTF-8")?;
        let mut options =
            vec!["build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", target];
        for module in self.not_replaced {
            go(&copy, &["mod", "edit", &format!("-dropreplace={module}")])?;
            // Their sums are not in its go.sum.
            options.push("-mod=mod");
        }
        options.push(self.package);
        go(&copy, &options).map(drop)
    }
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

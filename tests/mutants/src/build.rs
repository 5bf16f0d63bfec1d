//! Compiles the instrumented sources, and finds the mutants that do not compile.

use crate::instrument::Site;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The argument of cargo for all crates.
pub const WORKSPACE: &str = "--workspace";

/// Returns the arguments of cargo for the crates that have these files.
///
/// # Errors
/// A file is in no crate.
pub fn crates_of(root: &Path, files: &[String]) -> Result<Vec<String>, String> {
    let mut names = BTreeSet::new();
    for file in files {
        let manifests =
            Path::new(file).ancestors().map(|folder| root.join(folder).join("Cargo.toml"));
        let text = manifests.filter_map(|path| std::fs::read_to_string(path).ok()).next();
        let text = text.unwrap_or_default();
        let name = text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        names.insert(name.ok_or_else(|| format!("{file} is in no crate"))?.to_owned());
    }
    Ok(names.into_iter().map(|name| format!("--package={name}")).collect())
}

fn cargo(
    tree: &Path,
    work: &Path,
    arguments: &[&str],
    crates: &[String],
) -> Result<Vec<Json>, String> {
    // Tests of the suite, of `diff` and of `check-serving` run thousands of times, and the program is
    // compiled once. Other unit tests are short.
    let slow = [WORKSPACE, "--package=bundle2chart-diff", "--package=bundle2chart-serving"];
    let is_slow = crates.iter().any(|of| slow.contains(&of.as_str()));
    let output = Command::new("cargo")
        .args(arguments)
        .args(crates)
        // Tests of signatures are those of the feature `registry`.
        .args(["--all-features", "--locked", "--message-format=json"])
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", work.join("build"))
        .env("RUSTFLAGS", "--cap-lints=allow")
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", if is_slow { "1" } else { "0" })
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// Compiles the libraries, and returns the mutants with errors and their first error: all of those
/// that wrote the place of the error, or else the innermost mutant around it.
///
/// # Errors
/// An error is at no mutant.
pub fn check(
    tree: &Path,
    work: &Path,
    sites: &BTreeMap<PathBuf, Vec<Site>>,
    crates: &[String],
) -> Result<BTreeMap<usize, String>, String> {
    let mut unviable = BTreeMap::new();
    for message in cargo(tree, work, &["check", "--lib"], crates)? {
        let message = &message["message"];
        if message["level"] != "error" {
            continue;
        }
        let text = message["message"].as_str().unwrap_or_default();
        let spans = message["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
        if spans.is_empty() {
            continue; // the number of errors
        }
        let at = |is_primary: bool| -> Vec<usize> {
            let spans = spans.iter().filter(|span| (span["is_primary"] == true) == is_primary);
            spans.flat_map(|span| mutants_at(tree, sites, span)).collect()
        };
        // A value that was moved is used elsewhere: the mutant is at a note.
        let found = Some(at(true)).filter(|found| !found.is_empty()).unwrap_or_else(|| at(false));
        if found.is_empty() {
            let rendered = message["rendered"].as_str().unwrap_or(text);
            return Err(format!("the instrumented sources do not compile: {rendered}"));
        }
        for id in found {
            unviable.entry(id).or_insert_with(|| text.to_owned());
        }
    }
    Ok(unviable)
}

fn mutants_at(tree: &Path, sites: &BTreeMap<PathBuf, Vec<Site>>, span: &Json) -> Vec<usize> {
    let path = tree.join(span["file_name"].as_str().unwrap_or_default());
    let sites = sites.get(&path).map(Vec::as_slice).unwrap_or_default();
    let byte = |key: &str| span[key].as_u64().map_or(0, |byte| byte as usize);
    let (start, end) = (byte("byte_start"), byte("byte_end"));
    let inside = sites.iter().filter(|s| s.added.start < end && start < s.added.end);
    let written: Vec<usize> = inside.map(|site| site.id).collect();
    if !written.is_empty() {
        return written;
    }
    let around = sites.iter().filter(|site| site.all.start <= start && end <= site.all.end);
    around.min_by_key(|site| site.all.len()).map(|site| site.id).into_iter().collect()
}

/// A test program.
pub struct Program {
    pub path: PathBuf,
    /// Folder that its tests run in.
    pub folder: PathBuf,
}

/// Compiles the tests: unit tests of some crates, or of all with `--workspace` and then tests/suite,
/// whose tests take longer.
///
/// # Errors
/// Nothing was compiled.
pub fn programs(tree: &Path, work: &Path, crates: &[String]) -> Result<Vec<Program>, String> {
    let arguments = ["test", "--no-run", "--lib", "--test=suite", "--test=source"];
    let is_whole = crates == [WORKSPACE];
    let arguments = if is_whole { &arguments } else { &arguments[..3] };
    let mut programs = Vec::new();
    for message in cargo(tree, work, arguments, crates)? {
        let Some(path) = message["executable"].as_str() else { continue };
        let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
        if message["profile"]["test"] == true {
            let folder = manifest.parent().unwrap_or(tree).to_owned();
            let is_slow = message["target"]["kind"][0] == "test";
            programs.push((is_slow, Program { path: path.into(), folder }));
        }
    }
    if programs.is_empty() {
        return Err("the tests do not compile".to_owned());
    }
    programs.sort_by_key(|(is_slow, program)| (*is_slow, program.path.clone()));
    Ok(programs.into_iter().map(|(_, program)| program).collect())
}

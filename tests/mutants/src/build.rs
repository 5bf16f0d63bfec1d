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
    // Tests of the suite run thousands of times, and the program is compiled once. Unit tests are short.
    let is_slow = crates == [WORKSPACE];
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
/// No error is at a mutant.
pub fn check(
    tree: &Path,
    work: &Path,
    sites: &BTreeMap<PathBuf, Vec<Site>>,
    crates: &[String],
) -> Result<BTreeMap<usize, String>, String> {
    let (mut unviable, mut elsewhere) = (BTreeMap::new(), None);
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
        let mut found =
            Some(at(true)).filter(|found| !found.is_empty()).unwrap_or_else(|| at(false));
        if found.is_empty() {
            found = spans.iter().flat_map(|span| mutants_near(tree, sites, span, spans)).collect();
        }
        if found.is_empty() {
            let rendered = message["rendered"].as_str().unwrap_or(text).to_owned();
            elsewhere.get_or_insert(rendered);
        }
        for id in found {
            unviable.entry(id).or_insert_with(|| text.to_owned());
        }
    }
    // An error elsewhere can be the consequence of one that is at a mutant.
    match elsewhere.filter(|_| unviable.is_empty()) {
        Some(error) => Err(format!("the instrumented sources do not compile: {error}")),
        None => Ok(unviable),
    }
}

/// Returns the mutants of the line of an error, from which the type of a variable is inferred; or else
/// the statements between its places that a mutant leaves out, such as a `return` after a move; or else
/// all of the next lines.
fn mutants_near(
    tree: &Path,
    all: &BTreeMap<PathBuf, Vec<Site>>,
    span: &Json,
    spans: &[Json],
) -> Vec<usize> {
    let path = tree.join(span["file_name"].as_str().unwrap_or_default());
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let sites = all.get(&path).map(Vec::as_slice).unwrap_or_default();
    let byte = |span: &Json| span["byte_start"].as_u64().map_or(0, |byte| byte as usize);
    let offset = byte(span).min(text.len());
    let start = text[..offset].rfind('\n').unwrap_or_default();
    let end = text[offset..].find('\n').map_or(text.len(), |length| offset + length);
    let within = |start: usize, end: usize| {
        sites.iter().filter(move |site| start <= site.added.start && site.added.end <= end)
    };
    let in_line: Vec<usize> = within(start, end).map(|site| site.id).collect();
    if !in_line.is_empty() {
        return in_line;
    }
    let same = spans.iter().filter(|other| other["file_name"] == span["file_name"]).map(byte);
    let (first, last) = (same.clone().min().unwrap_or_default(), same.max().unwrap_or_default());
    let is_statement = |site: &&Site| text[site.added.clone()].starts_with("if !");
    let between: Vec<usize> =
        within(first, last).filter(is_statement).map(|site| site.id).collect();
    if !between.is_empty() {
        return between;
    }
    // A closure that a mutant further down calls.
    let end = text[offset..].match_indices('\n').nth(40).map_or(text.len(), |(at, _)| offset + at);
    within(start, end).map(|site| site.id).collect()
}

fn mutants_at(tree: &Path, all: &BTreeMap<PathBuf, Vec<Site>>, span: &Json) -> Vec<usize> {
    let path = tree.join(span["file_name"].as_str().unwrap_or_default());
    let Some(sites) = all.get(&path) else {
        // In the macro of a library: where it is called.
        let call = &span["expansion"]["span"];
        return if call.is_object() { mutants_at(tree, all, call) } else { Vec::new() };
    };
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

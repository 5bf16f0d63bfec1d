//! The copy of the checkout whose sources have the mutants.

use crate::instrument::{self, Site};
use crate::list::Mutant;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The switch between mutants: a module of the crate that all others use.
const SWITCH: &str = include_str!("switch.rs");
/// The root of that crate.
const MODEL: &str = "src/model/lib.rs";

/// Writes a file if its content changed, so that cargo compiles only what did.
fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    let folder = path.parent().ok_or("no folder")?;
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, content))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Returns the sources in `folders` that are no tests.
///
/// # Errors
/// Git fails, or a folder has none.
pub fn sources(root: &Path, folders: &[String]) -> Result<Vec<String>, String> {
    let mut sources = git_files(root)?;
    sources.retain(|path| is_instrumented(path) && root.join(path).exists());
    let mut tests = Vec::new();
    for path in &sources {
        let text = fs::read_to_string(root.join(path)).map_err(|e| format!("{path}: {e}"))?;
        tests.extend(test_modules(path, &text));
    }
    let is_test = |path: &String| {
        tests.iter().any(|module| Path::new(path.trim_end_matches(".rs")).starts_with(module))
    };
    sources.retain(|path| !is_test(path));
    let is_in = |path: &str, folder: &str| Path::new(path).starts_with(folder);
    if let Some(folder) = folders.iter().find(|f| !sources.iter().any(|path| is_in(path, f))) {
        return Err(format!("{folder} has no sources"));
    }
    sources.retain(|path| folders.iter().any(|folder| is_in(path, folder)));
    Ok(sources)
}

/// Returns the modules in other files that a source declares for tests only, as paths without `.rs`.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let stem = path.trim_end_matches(".rs");
    let is_root = ["mod", "lib", "main"].iter().any(|name| stem.ends_with(&format!("/{name}")));
    let folder =
        if is_root { stem.rsplit_once('/').map_or("", |(folder, _)| folder) } else { stem };
    let declarations = text.split("#[cfg(test)]\n").skip(1);
    let name = |rest: &str| {
        let line = rest.lines().next()?.strip_suffix(';')?;
        Some(format!("{folder}/{}", line.rsplit_once("mod ")?.1))
    };
    declarations.filter_map(name).collect()
}

/// Returns true for files that `instrument` writes.
fn is_instrumented(path: &str) -> bool {
    path.starts_with("src/") && path.ends_with(".rs")
}

/// Copies the files that Git knows, except sources, to `tree`. Files that Git no longer knows stay.
///
/// # Errors
/// Git fails, or a file cannot be copied.
pub fn copy(root: &Path, tree: &Path) -> Result<(), String> {
    for path in git_files(root)? {
        let from = root.join(&path);
        let to = tree.join(&path);
        if is_instrumented(&path) || !from.exists() {
            continue;
        }
        if let Ok(target) = fs::read_link(&from) {
            let folder = to.parent().ok_or("no folder")?;
            let _ = fs::create_dir_all(folder);
            let _ = fs::remove_file(&to);
            std::os::unix::fs::symlink(target, &to).map_err(|error| error.to_string())?;
            continue;
        }
        let content = fs::read(&from).map_err(|error| format!("{path}: {error}"))?;
        write(&to, &content)?;
        let permissions = fs::metadata(&from).map_err(|error| error.to_string())?.permissions();
        fs::set_permissions(&to, permissions).map_err(|error| error.to_string())?;
    }
    // Tests run Git in the checkout.
    if !tree.join(".git").exists() {
        let run = |arguments: &[&str]| {
            let status = Command::new("git").args(arguments).current_dir(tree).status();
            status.is_ok_and(|status| status.success())
        };
        if !run(&["init", "--quiet"]) || !run(&["add", "--all"]) {
            return Err(format!("cannot create a repository in {}", tree.display()));
        }
    }
    Ok(())
}

fn git_files(root: &Path) -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run git: {error}"))?;
    let text = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
    Ok(text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

/// Writes all sources to `tree`, with the mutants that are not in `unviable`, and returns where each
/// mutant is. Mutants that cannot be written as a branch are added to `unviable`.
///
/// # Errors
/// A file cannot be read, parsed or written.
pub fn instrument(
    root: &Path,
    tree: &Path,
    mutants: &[Mutant],
    unviable: &mut BTreeMap<usize, String>,
) -> Result<BTreeMap<PathBuf, Vec<Site>>, String> {
    let mut by_file: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (id, mutant) in mutants.iter().enumerate() {
        if !unviable.contains_key(&id) {
            by_file.entry(&mutant.file).or_default().push(id);
        }
    }

    let mut sites = BTreeMap::new();
    for path in git_files(root)?.into_iter().filter(|path| is_instrumented(path)) {
        let Ok(mut text) = fs::read_to_string(root.join(&path)) else { continue };
        if let Some(ids) = by_file.get(path.as_str()) {
            let done = instrument::file(&text, ids, mutants).map_err(|e| format!("{path}: {e}"))?;
            text = done.text;
            unviable.extend(done.unviable);
            sites.insert(tree.join(&path), done.sites);
        }
        if path == MODEL {
            // Rounded, because all crates are compiled again if this one changes.
            let number = mutants.len().next_multiple_of(10_000).to_string();
            text += &SWITCH.replace("NUMBER_OF_MUTANTS", &number);
        }
        write(&tree.join(&path), text.as_bytes())?;
    }
    Ok(sites)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_for_tests_are_no_sources() {
        let text = "#[cfg(test)]\nmod tests;\nmod a;\n#[cfg(test)]\npub(crate) mod sample;\n\
                    #[cfg(test)]\nmod inner {\n}\n";
        assert_eq!(test_modules("src/x/y.rs", text), ["src/x/y/tests", "src/x/y/sample"]);
        assert_eq!(test_modules("src/x/mod.rs", text), ["src/x/tests", "src/x/sample"]);
    }
}

//! Files in a Git revision.

use super::collector::Collector;
use super::{CHART_BYTES, ChartTree, PROGRAM_TIME};
use crate::diag::{Code, Fatal};
use crate::failure;
use crate::process::Program;
use std::path::Path;

/// Returns the paths of all files below the directory `folder` at the Git revision `revision`,
/// relative to `folder`; none if the directory did not exist then.
///
/// # Errors
/// If `git` is missing, the repository or the revision does not exist, or a name is not UTF-8.
pub fn list_revision(folder: &Path, revision: &str) -> Result<Vec<String>, Fatal> {
    let failed = |why: &str| {
        let action = format!("list files at Git revision `{revision}`");
        failed(&action, why, "use a revision from `git log`")
    };
    let list = list_tree(folder, revision, "--name-only", ".").map_err(|why| failed(&why))?;
    let paths = list.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    let text = |path: &[u8]| String::from_utf8(path.to_vec());
    let named = |_| failed("a file has a name that is not UTF-8");
    paths.map(|path| text(path).map_err(named)).collect()
}

/// A file at Git's HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// Not in a Git work tree, ignored by Git, or Git cannot be used.
    Unknown,
    /// HEAD does not have the file, or there is no commit yet.
    Absent,
    /// The content.
    File(Vec<u8>),
}

/// Returns the file `path`, relative to the directory `folder`, at Git's HEAD.
pub fn committed(folder: &Path, path: &str) -> Committed {
    let run = |arguments: &[&'static str], operands: &[&str]| {
        let program = git(folder).ok()?.arguments(arguments);
        let program = if operands.is_empty() { program } else { program.operands(operands) };
        output_of(program).ok()
    };
    let ignored = ["ls-files", "--others", "--ignored", "--exclude-standard"];
    // Empty unless the file is ignored; it fails outside of a work tree.
    if run(&ignored, &[path]).is_none_or(|ignored| !ignored.is_empty()) {
        return Committed::Unknown;
    }
    // Without a commit `ls-tree` would fail as it does for a broken repository.
    if run(&["rev-parse", "--verify", "--quiet", "HEAD"], &[]).is_none() {
        return Committed::Absent;
    }
    match run(&["ls-tree"], &["HEAD", path]) {
        None => Committed::Unknown,
        Some(list) if list.is_empty() => Committed::Absent,
        Some(_) => match read_revision(folder, "HEAD", path).map(|mut tree| tree.remove(path)) {
            Ok(Some(content)) => Committed::File(content),
            _ => Committed::Unknown,
        },
    }
}

/// Reads everything below `path` in the directory `folder` at the Git revision `revision`, by path
/// relative to `folder`.
///
/// Only uses `git ls-tree` and `git cat-file`: `git archive` would run filters from the
/// repository's configuration and attributes, and may change line endings.
///
/// # Errors
/// If `git` is missing, the repository, the revision or the path does not exist, or there is a link,
/// a submodule, or a file whose name programs read differently.
pub fn read_revision(folder: &Path, revision: &str, path: &str) -> Result<ChartTree, Fatal> {
    let failed = |why: &str| {
        let hint = "use a revision from `git log` in which the output directory or `bundles.lock` \
            was committed";
        failed(&format!("read `{path}` at Git revision `{revision}`"), why, hint)
    };
    // A partial clone lists files whose content it does not have, without their size.
    let lost = |file: &[u8]| {
        let file = String::from_utf8_lossy(file);
        failed(&format!("the content of `{file}` is not in the repository"))
    };
    let list = list_tree(folder, revision, "-l", path).map_err(|why| failed(&why))?;

    let mut collector = Collector::new(path);
    let mut files = Vec::new();
    let mut bytes = 0;
    for entry in list.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let unexpected = || failed("unexpected output of `git ls-tree`");
        let tab = entry.iter().position(|byte| *byte == b'\t').ok_or_else(unexpected)?;
        let (facts, name) = (&entry[..tab], &entry[tab + 1..]);
        let facts = str::from_utf8(facts).map_err(|_| unexpected())?;
        let [mode, _, object, size] = facts.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(unexpected());
        };
        if !mode.starts_with("100") {
            return Err(collector.refused(name, "is a symbolic link or a submodule"));
        }
        let size: u64 = size.parse().map_err(|_| lost(name))?;
        bytes += size;
        collector.limit(bytes)?;
        files.push((name, object.to_owned(), size));
    }
    if files.is_empty() {
        return Err(failed("no files in this revision"));
    }

    let objects: String = files.iter().map(|(_, object, _)| format!("{object}\n")).collect();
    let read = git(folder).map(|git| git.arguments(&["cat-file", "--batch"]).input(objects));
    let content = read.and_then(output_of).map_err(|why| failed(&why))?;
    let mut rest = content.as_slice();
    for (file, object, size) in files {
        // `OBJECT blob SIZE`, a line break, the content, a line break.
        let start = format!("{object} blob {size}\n");
        let content = rest.strip_prefix(start.as_bytes()).and_then(|rest| {
            let (content, rest) = rest.split_at_checked(usize::try_from(size).ok()?)?;
            Some((content.to_vec(), rest.strip_prefix(b"\n")?))
        });
        let (content, after) = content.ok_or_else(|| lost(file))?;
        rest = after;
        collector.add(file, content)?;
    }
    Ok(collector.finish())
}

/// Lists all files at a path of a revision, as `git ls-tree` prints them.
///
/// # Errors
/// If Git fails, with its text.
fn list_tree(
    folder: &Path,
    revision: &str,
    format: &'static str,
    path: &str,
) -> Result<Vec<u8>, String> {
    if revision.starts_with('-') || revision.is_empty() {
        return Err("invalid revision".to_owned());
    }
    let git = git(folder)?;
    // With `-z` Git does not quote unusual names.
    output_of(git.arguments(&["ls-tree", "-r", format, "-z"]).operands(&[revision, path]))
}

/// Returns the error of an action; `hint` says how to choose another revision.
pub(super) fn failed(action: &str, why: &str, hint: &str) -> Fatal {
    // Git tells its cause in one line, with warnings before and advice after it.
    let line = |start: &str| why.trim().lines().rfind(|line| line.starts_with(start));
    let why = line("fatal: ").or(line("")).unwrap_or_default();
    // The revision may not be what is wrong.
    let hint = if why.contains("not a git repository") {
        "run it in a Git repository that has the charts, or name two charts: `bundle2chart diff OLD NEW`"
    } else if why.starts_with("no directory") {
        "run `bundle2chart build` first, and commit the output directory"
    } else if why.starts_with("git: ") {
        "install git"
    } else {
        hint
    };
    failure(Code::GitFailed, format!("cannot {action}: {why}"), hint)
}

/// Prepares `git` so that the configuration of an untrusted repository starts no programs: no
/// hooks, no file system monitor, no transports, no embedded bare repositories.
pub(super) fn git(folder: &Path) -> Result<Program, String> {
    // Keep the user's global settings, for example `safe.directory`.
    let own = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "XDG_CONFIG_HOME"];
    if !folder.is_dir() {
        return Err(format!("no directory `{}`", folder.display()));
    }
    let program = Program::find("git", None).map_err(|error| format!("git: {error}"))?;
    Ok(program
        .folder(folder)
        .limits(PROGRAM_TIME, CHART_BYTES * 2)
        .variables(&own)
        .variable("GIT_ALLOW_PROTOCOL", "none")
        .variable("GIT_NO_LAZY_FETCH", "1")
        .variable("GIT_OPTIONAL_LOCKS", "0")
        .variable("GIT_TERMINAL_PROMPT", "0")
        .arguments(&["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        // A path that begins with `:` would be a pattern of Git's.
        .arguments(&["-c", "safe.bareRepository=explicit", "--literal-pathspecs", "--no-pager"]))
}

/// Returns the stdout of a successful program, else its error output.
fn output_of(program: Program) -> Result<Vec<u8>, String> {
    let done = program.run().map_err(|error| error.to_string())?;
    if done.status.success() {
        return Ok(done.output);
    }
    Err(String::from_utf8_lossy(&done.errors).into_owned())
}

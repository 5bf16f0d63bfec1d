#![expect(clippy::disallowed_methods, reason = "reads charts")]
//! Charts as files: directories, packages, and directories in a Git revision.

use super::compression::Decoder;
use super::limits::Limits;
use super::process::{Program, ProgramError};
use super::{failure, unreadable};
use crate::diag::{Code, Fatal};
use crate::regular_file;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;
use walkdir::WalkDir;

/// Files of a chart by `/`-separated path.
pub type ChartTree = BTreeMap<String, Vec<u8>>;

/// Size limit for all files of a chart, in bytes; far above what a release can store.
pub const CHART_BYTES: u64 = 256 << 20;
/// Files of a chart.
const CHART_FILES: usize = 20_000;

/// Size limit for a values file, in bytes; a release, which includes the values, stores at most 1
/// MiB.
const VALUES_BYTES: u64 = 16 << 20;

/// Release name for rendering charts: the default of `helm template`.
const RELEASE: &str = "release-name";
/// Paths of the chart and its values in Helm's working directory.
const CHART_FOLDER: &str = "./chart";
const VALUES_FILE: &str = "./values.yaml";

/// Time that `helm` and `git` may take; the largest charts that are published take seconds.
const PROGRAM_TIME: Duration = Duration::from_secs(120);

/// Returns true if the directory is a chart.
pub fn is_chart(folder: &Path) -> bool {
    folder.join("Chart.yaml").is_file()
}

/// Reads the files of a chart directory. Symbolic links are not followed.
///
/// # Errors
/// If the directory cannot be read, or is far larger than a chart.
pub fn read_folder(folder: &Path) -> Result<ChartTree, Fatal> {
    let shown = folder.display().to_string();
    let mut tree = ChartTree::new();
    let mut bytes = 0;
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.map_err(|error| {
            let error = error.into_io_error().unwrap_or_else(|| io::Error::other("a loop"));
            unreadable(&shown, &error)
        })?;
        if !entry.file_type().is_file() {
            continue;
        }
        let Some(path) = entry.path().strip_prefix(folder).ok().and_then(Path::to_str) else {
            continue;
        };
        let shown = entry.path().display().to_string();
        let mut content = Vec::new();
        regular_file::open(entry.path())
            .and_then(|file| file.take(CHART_BYTES + 1).read_to_end(&mut content))
            .map_err(|error| unreadable(&shown, &error))?;
        bytes += content.len() as u64;
        limit(&shown, bytes, tree.len())?;
        tree.insert(path.replace('\\', "/"), content);
    }

    Ok(tree)
}

/// Rejects a chart directory with symbolic links. Helm follows them, so reading the chart without
/// them would compare a different chart.
///
/// # Errors
/// If there is a symbolic link, which the message names.
pub fn refuse_links(folder: &Path) -> Result<(), Fatal> {
    let mut entries = WalkDir::new(folder).min_depth(1).sort_by_file_name().into_iter().flatten();
    let Some(link) = entries.find(|entry| entry.path_is_symlink()) else { return Ok(()) };
    let message = format!("`{}` is a symbolic link, which is not followed", link.path().display());
    let hint = "package the chart with `helm package`, and pass the package";
    Err(failure(Code::ChartUnreadable, message, hint))
}

/// Adds the chart's `path`, as the user wrote it, to the place of an error in the chart: before the
/// file if there is one, else the error is about the whole chart.
pub fn located(path: &str, mut error: Fatal) -> Fatal {
    let place = &mut error.place;
    if place.span.is_none() {
        let inside = place.file.as_ref().map(|file| format!("{path}/{file}"));
        place.file = Some(inside.unwrap_or_else(|| path.to_owned()));
    }
    error
}

/// Returns the files below a directory of a tree, by their paths in it.
pub fn below(tree: ChartTree, folder: &str) -> ChartTree {
    let start = format!("{folder}/");
    let path = |path: String| path.strip_prefix(&start).map(str::to_owned);
    tree.into_iter().filter_map(|(key, content)| Some((path(key)?, content))).collect()
}

/// Reads the files of a packaged chart, without their common top directory; `None` if the file is
/// not a chart.
///
/// # Errors
/// If the file cannot be read, or is far larger than a chart.
pub fn read_package(file: &Path) -> Result<Option<ChartTree>, Fatal> {
    let shown = file.display().to_string();
    let stored = regular_file::open(file).map_err(|error| unreadable(&shown, &error))?;
    read_archive(stored, &shown)
}

/// Reads the archive of a packaged chart as [`read_package`]; `shown` is for messages.
///
/// # Errors
/// If the archive is damaged, or far larger than a chart.
pub fn read_archive(stored: impl Read, shown: &str) -> Result<Option<ChartTree>, Fatal> {
    let Ok(stream) = Decoder::new(stored, Limits::default().zstd_window_bytes) else {
        return Ok(None);
    };
    let tree = read_tar(stream, shown)?;
    let mut chart = ChartTree::new();
    for (path, content) in tree {
        let Some((_, inside)) = path.split_once('/') else { return Ok(None) };
        chart.insert(inside.to_owned(), content);
    }
    Ok(Some(chart).filter(|chart| chart.contains_key("Chart.yaml")))
}

fn read_tar(stream: impl Read, shown: &str) -> Result<ChartTree, Fatal> {
    let broken = |error: io::Error| {
        let message = format!("cannot read archive `{shown}`: {error}");
        failure(Code::ChartUnreadable, message, "package the chart again, or pass its directory")
    };
    let mut archive = tar::Archive::new(stream.take(CHART_BYTES * 2));
    let mut tree = ChartTree::new();
    let mut bytes = 0;

    for entry in archive.entries().map_err(broken)? {
        let entry = entry.map_err(broken)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path().map_err(broken)?.to_string_lossy().into_owned();
        let path = path.trim_start_matches("./").to_owned();
        let climbs = path.split('/').any(|part| part == ".." || part.is_empty());
        if climbs {
            continue;
        }
        let mut content = Vec::new();
        entry.take(CHART_BYTES + 1).read_to_end(&mut content).map_err(broken)?;
        bytes += content.len() as u64;
        limit(shown, bytes, tree.len())?;
        tree.insert(path, content);
    }

    Ok(tree)
}

fn limit(shown: &str, bytes: u64, files: usize) -> Result<(), Fatal> {
    if bytes <= CHART_BYTES && files < CHART_FILES {
        return Ok(());
    }
    let message = format!("`{shown}` is too large for a chart");
    Err(failure(Code::ChartUnreadable, message, "pass the directory of one chart"))
}

/// Returns the paths of all files below the directory `folder` at the Git revision `revision`,
/// relative to `folder`; none if the directory did not exist then.
///
/// # Errors
/// If `git` is missing, or the repository or the revision does not exist.
pub fn list_revision(folder: &Path, revision: &str) -> Result<Vec<String>, Fatal> {
    let failed = |why: &str| {
        let why = why.trim().lines().last().unwrap_or_default().to_owned();
        let message = format!("cannot list files at Git revision `{revision}`: {why}");
        failure(Code::GitFailed, message, "use a revision from `git log`")
    };
    if revision.starts_with('-') || revision.is_empty() {
        return Err(failed("invalid revision"));
    }
    let list = git(folder).map_err(|error| failed(&error))?;
    let list = list.arguments(&["ls-tree", "-r", "--name-only", "-z"]).operands(&[revision, "."]);
    let list = output_of(list).map_err(|error| failed(&error))?;
    let paths = list.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
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
    let ignored = ["ls-files", "--others", "--ignored", "--exclude-standard", "-z"];
    // Empty unless the file is ignored; it fails outside of a work tree.
    if run(&ignored, &[path]).is_none_or(|ignored| !ignored.is_empty()) {
        return Committed::Unknown;
    }
    if run(&["rev-parse", "--verify", "--quiet", "HEAD"], &[]).is_none() {
        return Committed::Absent;
    }
    match run(&["ls-tree", "--name-only", "-z"], &["HEAD", path]) {
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
/// If `git` is missing, or the repository, the revision or the path does not exist.
pub fn read_revision(folder: &Path, revision: &str, path: &str) -> Result<ChartTree, Fatal> {
    let failed = |why: &str| {
        let why = why.trim().lines().last().unwrap_or_default().to_owned();
        let message = format!("cannot read `{path}` at Git revision `{revision}`: {why}");
        let hint = "use a revision from `git log` in which the output directory or `bundles.lock` \
            was committed";
        failure(Code::GitFailed, message, hint)
    };
    if revision.starts_with('-') || revision.is_empty() {
        return Err(failed("invalid revision"));
    }
    let list = git(folder).map_err(|error| failed(&error))?;
    let list = list.arguments(&["ls-tree", "-r", "-l", "-z"]).operands(&[revision, path]);
    let list = output_of(list).map_err(|error| failed(&error))?;

    let mut files = Vec::new();
    let mut bytes = 0;
    for entry in list.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let entry = String::from_utf8_lossy(entry).into_owned();
        let Some((facts, file)) = entry.split_once('\t') else {
            return Err(failed("unexpected output of `git ls-tree`"));
        };
        let [mode, _, object, size] = facts.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(failed("unexpected output of `git ls-tree`"));
        };
        // Links and submodules are no files.
        if !mode.starts_with("100") {
            continue;
        }
        let size: u64 = size.parse().map_err(|_| failed("`git ls-tree` printed no size"))?;
        bytes += size;
        limit(path, bytes, files.len())?;
        files.push((file.to_owned(), object.to_owned(), size));
    }
    if files.is_empty() {
        return Err(failed("no files in this revision"));
    }

    let objects: String = files.iter().map(|(_, object, _)| format!("{object}\n")).collect();
    let read = git(folder).map_err(|error| failed(&error))?;
    let read = read.arguments(&["cat-file", "--batch"]).input(objects);
    let content = output_of(read).map_err(|error| failed(&error))?;
    let mut rest = content.as_slice();
    let mut tree = ChartTree::new();
    for (file, object, size) in files {
        // `OBJECT blob SIZE`, a line break, the content, a line break.
        let start = format!("{object} blob {size}\n");
        let content = rest.strip_prefix(start.as_bytes()).and_then(|rest| {
            let (content, rest) = rest.split_at_checked(usize::try_from(size).ok()?)?;
            Some((content.to_vec(), rest.strip_prefix(b"\n")?))
        });
        let Some((content, after)) = content else {
            return Err(failed(&format!("the content of `{file}` is not in the repository")));
        };
        rest = after;
        tree.insert(file, content);
    }
    Ok(tree)
}

/// Prepares `git` so that the configuration of an untrusted repository starts no programs: no
/// hooks, no file system monitor, no transports, no embedded bare repositories.
fn git(folder: &Path) -> Result<Program, String> {
    // Keep the user's global settings, for example `safe.directory`.
    let own = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "XDG_CONFIG_HOME"];
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

/// Returns true for chart names that Helm allows (as in `helm create`), and that no program can
/// mistake for an option or a path.
fn is_chart_name(name: &str) -> bool {
    (1..=250).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Returns true if the name is a valid namespace: an RFC 1123 label.
fn is_namespace(name: &str) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(|byte| *byte != b'-');
    let bytes = name.as_bytes();
    bytes.len() <= 63
        && is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
}

/// Renders a chart with `helm template`: one text, with a `# Source:` line for each document.
///
/// The chart is untrusted, so nothing of it is on the command line. The release name is fixed, so
/// that names derived from it are the same on both sides of a comparison. Helm has no access to the
/// user's configuration, plugins, cluster or proxy, and skips `values.schema.json`, whose `$ref`
/// can point to any URL or file.
///
/// # Errors
/// If `helm` is missing or fails (the message has its output), or if the chart or the namespace has
/// an invalid name.
pub fn helm_template(
    name: &str,
    tree: &ChartTree,
    namespace: &str,
    values: &str,
) -> Result<String, Fatal> {
    if !is_chart_name(name) {
        let message = format!("invalid chart name `{}`", name.escape_debug());
        let hint = "set `name` in Chart.yaml to letters, digits, `-`, `_` and `.`, starting with a \
            letter or digit";
        return Err(failure(Code::ChartUnreadable, message, hint));
    }
    if !is_namespace(namespace) {
        let message = format!("invalid namespace `{}`", namespace.escape_debug());
        let hint = "use lower-case letters, digits and `-` in `--namespace`";
        return Err(failure(Code::InvalidValue, message, hint));
    }
    let own = |error: io::Error| {
        failure(
            Code::HelmFailed,
            format!("cannot create a temporary directory for helm: {error}"),
            "Free space.",
        )
    };
    let folder = tempfile::tempdir().map_err(own)?;
    let chart = folder.path().join(CHART_FOLDER);
    for (path, content) in tree {
        let file = chart.join(path);
        file.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(own)?;
        std::fs::write(file, content).map_err(own)?;
    }
    std::fs::write(folder.path().join(VALUES_FILE), values).map_err(own)?;

    let failed = |why: &str, hint: &str| {
        let message = format!("helm cannot render the chart `{name}`: {why}");
        failure(Code::HelmFailed, message, hint)
    };
    let helm = match Program::find("helm", None) {
        Ok(helm) => helm,
        Err(ProgramError::Missing) => {
            let message =
                format!("the chart `{name}` requires the `helm` program, which is not in PATH");
            let hint = "install Helm: only charts generated by bundle2chart can be compared \
                without it";
            return Err(failure(Code::HelmFailed, message, hint));
        }
        Err(error) => {
            return Err(failed(&error.to_string(), "run `helm version` to find the cause"));
        }
    };
    let mut helm = helm
        .folder(folder.path())
        .limits(PROGRAM_TIME, CHART_BYTES)
        .variables(&[])
        .arguments(&["template", "--include-crds", "--skip-schema-validation"])
        .option("--namespace", namespace)
        .option("--values", VALUES_FILE)
        .operands(&[RELEASE, CHART_FOLDER]);
    for variable in ["HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "KUBECONFIG"]
    {
        helm = helm.variable(variable, folder.path().join("none"));
    }
    let done = match helm.run() {
        Ok(done) => done,
        Err(error @ (ProgramError::TimedOut(_) | ProgramError::TooMuch(_))) => {
            let hint = "check its templates for infinite loops, or run `helm template`";
            return Err(failed(&error.to_string(), hint));
        }
        Err(error) => {
            return Err(failed(&error.to_string(), "run `helm version` to find the cause"));
        }
    };
    if !done.status.success() {
        let errors = String::from_utf8_lossy(&done.errors);
        let errors = errors.trim().replace(&folder.path().display().to_string(), "");
        let hint = if errors.contains("unknown flag") {
            "install Helm 3.16 or later"
        } else {
            "pass the values that it requires with `--values FILE`"
        };
        return Err(failed(&errors, hint));
    }
    String::from_utf8(done.output).map_err(|_| {
        let message = format!("the rendered chart `{name}` is not UTF-8");
        failure(Code::HelmFailed, message, "check its templates for binary files")
    })
}

/// Returns the names of the subdirectories, sorted; none if the directory does not exist.
pub fn folders(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// Returns a file of values.
///
/// # Errors
/// If it cannot be read.
pub fn read_values(file: &Path) -> Result<String, Fatal> {
    let shown = file.display();
    let text = regular_file::read(file, VALUES_BYTES).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))
    });
    text.map_err(|error| {
        let message = format!("cannot read values `{shown}`: {error}");
        failure(Code::SourceUnreadable, message, "pass a readable YAML file")
    })
}

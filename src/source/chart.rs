#![expect(clippy::disallowed_methods, reason = "reads charts")]
//! Charts as they are: folders, packages, and folders in a Git revision.

use super::compression::Decoder;
use super::limits::Limits;
use super::{failure, unreadable};
use crate::diag::{Code, Diagnostics};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use walkdir::WalkDir;

/// Files of a chart by `/`-separated path.
pub type ChartTree = BTreeMap<String, Vec<u8>>;

/// Bytes of all files of a chart; far above what a release can hold.
const CHART_BYTES: u64 = 256 << 20;
/// Files of a chart.
const CHART_FILES: usize = 20_000;

/// Whether a folder is that of a chart.
pub fn is_chart(folder: &Path) -> bool {
    folder.join("Chart.yaml").is_file()
}

/// The files of a chart folder. Links are not followed.
///
/// # Errors
/// When the folder cannot be read, or is far larger than a chart.
pub fn read_folder(folder: &Path) -> Result<ChartTree, Diagnostics> {
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
        File::open(entry.path())
            .and_then(|file| file.take(CHART_BYTES + 1).read_to_end(&mut content))
            .map_err(|error| unreadable(&shown, &error))?;
        bytes += content.len() as u64;
        limit(&shown, bytes, tree.len())?;
        tree.insert(path.replace('\\', "/"), content);
    }
    Ok(tree)
}

/// The files of a packaged chart, without the folder that all of them are in; nothing when the file
/// is no chart.
///
/// # Errors
/// When the file cannot be read, or is far larger than a chart.
pub fn read_package(file: &Path) -> Result<Option<ChartTree>, Diagnostics> {
    let shown = file.display().to_string();
    let stored = File::open(file).map_err(|error| unreadable(&shown, &error))?;
    let Ok(stream) = Decoder::new(stored, Limits::default().zstd_window_bytes) else {
        return Ok(None);
    };
    let tree = read_tar(stream, &shown)?;
    let mut chart = ChartTree::new();
    for (path, content) in tree {
        let Some((_, inside)) = path.split_once('/') else { return Ok(None) };
        chart.insert(inside.to_owned(), content);
    }
    Ok(Some(chart).filter(|chart| chart.contains_key("Chart.yaml")))
}

fn read_tar(stream: impl Read, shown: &str) -> Result<ChartTree, Diagnostics> {
    let broken = |error: io::Error| {
        let message = format!("`{shown}` is no readable archive: {error}");
        failure(Code::ChartUnreadable, message, "Package the chart again, or name its folder.")
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

fn limit(shown: &str, bytes: u64, files: usize) -> Result<(), Diagnostics> {
    if bytes <= CHART_BYTES && files < CHART_FILES {
        return Ok(());
    }
    let message = format!("`{shown}` is far larger than a chart can be");
    Err(failure(Code::ChartUnreadable, message, "Name the folder of one chart."))
}

/// Everything below `path` in the folder `folder` as it was in the Git revision `revision`, by path
/// relative to `folder`.
///
/// # Errors
/// When there is no `git`, no repository, no such revision, or nothing at the path in it.
pub fn read_revision(folder: &Path, revision: &str, path: &str) -> Result<ChartTree, Diagnostics> {
    let failed = |why: &str| {
        let why = why.trim().lines().last().unwrap_or_default().to_owned();
        let message = format!("`{path}` cannot be read in the Git revision `{revision}`: {why}");
        let hint = "Name a revision in which the output folder or `bundles.lock` was committed, as `git log` has it.";
        failure(Code::GitFailed, message, hint)
    };
    if revision.starts_with('-') || revision.is_empty() {
        return Err(failed("this is no revision"));
    }
    let result = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["archive", "--format=tar", revision, "--", path])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(&format!("git does not start: {error}")))?;
    if !result.status.success() {
        return Err(failed(&String::from_utf8_lossy(&result.stderr)));
    }
    read_tar(result.stdout.as_slice(), path)
}

/// What `helm template` makes of a chart: one text, with a `# Source:` line for each document.
///
/// # Errors
/// When there is no `helm`, or it fails; the message has what it said.
pub fn helm_template(
    name: &str,
    tree: &ChartTree,
    namespace: &str,
    values: &str,
) -> Result<String, Diagnostics> {
    let own = |error: io::Error| {
        failure(
            Code::HelmFailed,
            format!("a folder for helm cannot be made: {error}"),
            "Free space.",
        )
    };
    let folder = tempfile::tempdir().map_err(own)?;
    let chart = folder.path().join("chart");
    for (path, content) in tree {
        let file = chart.join(path);
        file.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(own)?;
        std::fs::write(file, content).map_err(own)?;
    }
    let file = folder.path().join("values.yaml");
    std::fs::write(&file, values).map_err(own)?;
    let result = Command::new("helm")
        .args(["template", name])
        .arg(&chart)
        .args(["--namespace", namespace, "--include-crds", "--values"])
        .arg(&file)
        .stdin(Stdio::null())
        .output();
    let result = match result {
        Ok(result) => result,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let message =
                format!("the chart `{name}` needs the `helm` program, which is not on PATH");
            let hint = "Install Helm; only charts that bundle2chart wrote can be compared without.";
            return Err(failure(Code::HelmMissing, message, hint));
        }
        Err(error) => {
            let message = format!("helm does not start: {error}");
            return Err(failure(Code::HelmFailed, message, "Run `helm version` by hand."));
        }
    };
    if !result.status.success() {
        let said = String::from_utf8_lossy(&result.stderr);
        let said = said.trim().replace(&folder.path().display().to_string(), "");
        let message = format!("helm cannot render the chart `{name}`: {said}");
        let hint = "Give the values that it needs with `--values FILE`.";
        return Err(failure(Code::HelmFailed, message, hint));
    }
    String::from_utf8(result.stdout).map_err(|_| {
        let message = format!("what helm makes of the chart `{name}` is not UTF-8");
        failure(Code::HelmFailed, message, "Look for binary files in its templates.")
    })
}

/// Names of the folders in a folder, sorted; none when it does not exist.
pub fn folders(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// A file of values.
///
/// # Errors
/// When it cannot be read.
pub fn read_values(file: &Path) -> Result<String, Diagnostics> {
    let shown = file.display();
    std::fs::read_to_string(file).map_err(|error| {
        let message = format!("the values `{shown}` cannot be read: {error}");
        failure(Code::ValuesUnreadable, message, "Name a YAML file that you may read.")
    })
}

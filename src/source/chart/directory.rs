//! Charts in directories.

use super::collector::Collector;
use super::{CHART_BYTES, ChartTree, Identity};
use crate::diag::{Code, Fatal};
use crate::regular_file;
use crate::{failure, unreadable};
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Returns true if the directory is a chart.
pub fn is_chart(folder: &Path) -> bool {
    folder.join("Chart.yaml").is_file()
}

/// Lists everything below `folder` except directories, by relative path. Links are not followed.
///
/// # Errors
/// The path that cannot be read, and why.
pub fn files_below(folder: &Path) -> Result<BTreeMap<PathBuf, Metadata>, (PathBuf, io::Error)> {
    let failed = |error: walkdir::Error| {
        let path = error.path().unwrap_or(folder).to_owned();
        (path, error.into_io_error().unwrap_or_else(|| io::Error::other("a symbolic link loop")))
    };
    let mut files = BTreeMap::new();
    for entry in WalkDir::new(folder) {
        let entry = entry.map_err(failed)?;
        if !entry.file_type().is_dir()
            && let Ok(path) = entry.path().strip_prefix(folder)
        {
            files.insert(path.to_owned(), entry.metadata().map_err(failed)?);
        }
    }
    Ok(files)
}

/// Reads the files of a chart directory.
///
/// # Errors
/// If it cannot be read, is far larger than a chart, or has a file that is no regular file (Helm
/// follows links) or whose name programs read differently.
pub fn read_folder(folder: &Path) -> Result<ChartTree, Fatal> {
    let shown = folder.display().to_string();
    let fail =
        |(path, error): (PathBuf, io::Error)| unreadable(&path.display().to_string(), &error);
    let mut collector = Collector::new(&shown);
    for (path, metadata) in files_below(folder).map_err(fail)? {
        let name = path.as_os_str().as_encoded_bytes();
        if metadata.is_symlink() {
            return Err(collector.refused(name, "is a symbolic link, which is not followed"));
        }
        if !metadata.is_file() {
            return Err(collector.refused(name, "is not a regular file"));
        }
        collector.limit(metadata.len())?;

        let file = folder.join(&path);
        let content =
            regular_file::read(&file, CHART_BYTES).map_err(|error| fail((file, error)))?;
        collector.add(name, content)?;
    }

    Ok(collector.finish())
}

/// Reads the chart in the directory `dir` of the output directory `out`: `NAME/VERSION` or, in the
/// flat layout, `NAME`.
///
/// # Errors
/// As [`read_folder`], and if Chart.yaml is that of another chart or version.
pub fn read_built(out: &Path, dir: &str) -> Result<ChartTree, Fatal> {
    let folder = out.join(dir);
    let shown = folder.display();
    let files = read_folder(&folder)?;
    let identity = Identity::of(&files).map_err(|why| {
        let message = format!("cannot use Chart.yaml of `{shown}`: {why}");
        failure(Code::ChartUnreadable, message, "restore it with `bundle2chart build --replace`")
    })?;

    let mut parts = dir.split('/');
    let is_other = |part: Option<&str>, own: &str| part.is_some_and(|part| part != own);
    if is_other(parts.next(), &identity.name) || is_other(parts.next(), &identity.version) {
        let Identity { name, version } = identity;
        let message = format!("`{shown}` has the chart `{name}` {version}");
        let hint = "restore the directory with `bundle2chart build --replace`, or from Git";
        return Err(failure(Code::ChartEdited, message, hint));
    }
    Ok(files)
}

/// Returns the names of the subdirectories, sorted; none if the directory does not exist.
///
/// # Errors
/// If a name is not UTF-8.
pub fn folders(folder: &Path) -> Result<Vec<String>, Fatal> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names = Vec::new();
    for entry in entries.filter(|entry| entry.path().is_dir()) {
        names.push(entry.file_name().into_string().map_err(|name| {
            let name = name.as_encoded_bytes().escape_ascii();
            let message = format!(
                "the directory `{name}` in `{}` has a name that is not UTF-8",
                folder.display()
            );
            failure(Code::ChartUnreadable, message, "remove or rename it")
        })?);
    }
    names.sort();
    Ok(names)
}

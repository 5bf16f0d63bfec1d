//! Charts in directories, and packaged charts.

use super::collector::Collector;
use super::{CHART_BYTES, ChartTree, Identity};
use crate::compression::{Compression, Decoder};
use crate::diag::{Code, Fatal};
use crate::limits::Limits;
use crate::regular_file;
use crate::{failure, unreadable, walk_error};
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tar::{Entry, EntryType};
use walkdir::WalkDir;

/// The bits of a mode that are the type of a file, and those of a regular file.
const TYPE_BITS: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;

/// Returns true if the directory is a chart.
pub fn is_chart(folder: &Path) -> bool {
    folder.join("Chart.yaml").is_file()
}

/// Lists everything below `folder` except directories, by relative path. Links are not followed.
///
/// # Errors
/// The path that cannot be read, and why.
pub fn files_below(folder: &Path) -> Result<BTreeMap<PathBuf, Metadata>, (PathBuf, io::Error)> {
    let failed = |error| walk_error(folder, error);
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

/// Reads the files of a packaged chart, without their common top directory; `None` if the file is
/// not a chart.
///
/// # Errors
/// If the file cannot be read, is far larger than a chart, or has an entry that programs read
/// differently.
pub fn read_package(file: &Path) -> Result<Option<ChartTree>, Fatal> {
    let shown = file.display().to_string();
    let stored = regular_file::open(file).map_err(|error| unreadable(&shown, &error))?;
    read_archive(stored, &shown)
}

/// Reads the archive of a packaged chart as [`read_package`]; `shown` is for messages.
///
/// # Errors
/// As [`read_package`].
pub fn read_archive(stored: impl Read, shown: &str) -> Result<Option<ChartTree>, Fatal> {
    let decoder = Decoder::new(stored, Limits::default().zstd_window_bytes);
    // Helm reads nothing else.
    let Some(stream) = decoder.ok().filter(|stream| stream.compression == Compression::Gzip) else {
        return Ok(None);
    };
    let broken = |error: io::Error| {
        let message = format!("cannot read archive `{shown}`: {error}");
        failure(Code::ChartUnreadable, message, "package the chart again, or pass its directory")
    };
    // Headers and padding come on top of the files.
    let mut archive = tar::Archive::new(stream.take(CHART_BYTES * 2));
    let mut collector = Collector::new(shown);
    let mut is_chart = false;
    // Archives of bundles have other entries, so that a fault counts in a chart only.
    let mut fault = None;

    for entry in archive.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        if matches!(entry.header().entry_type(), EntryType::Directory | EntryType::XGlobalHeader) {
            continue;
        }
        let name = entry.path_bytes().into_owned();
        let inside = name.iter().position(|byte| *byte == b'/').map(|end| &name[end + 1..]);
        is_chart |= inside == Some(b"Chart.yaml");
        if fault.is_none() {
            fault = add(&mut entry, &name, inside, &mut collector, broken).err();
        }
        if let Some(fault) = fault.take_if(|_| is_chart) {
            return Err(fault);
        }
    }

    Ok(is_chart.then(|| collector.finish()))
}

/// Adds an entry; `inside` is its name in the chart's directory.
fn add(
    entry: &mut Entry<'_, impl Read>,
    name: &[u8],
    inside: Option<&[u8]>,
    collector: &mut Collector<'_>,
    broken: impl Fn(io::Error) -> Fatal,
) -> Result<(), Fatal> {
    if let Some(why) = ambiguity(entry).map_err(&broken)? {
        return Err(collector.refused(name, why));
    }
    let Some(inside) = inside else {
        return Err(collector.refused(name, "is not in the chart's directory"));
    };
    collector.limit(entry.size())?;
    let mut content = Vec::new();
    entry.read_to_end(&mut content).map_err(broken)?;
    collector.add(inside, content)
}

/// Returns why Go's archive/tar, and so Helm, may read an entry as another file, if it may.
fn ambiguity(entry: &mut Entry<'_, impl Read>) -> io::Result<Option<&'static str>> {
    let header = entry.header();
    let kind = header.mode()? & TYPE_BITS;
    if !header.entry_type().is_file() || !matches!(kind, 0 | REGULAR) {
        return Ok(Some("is not a regular file"));
    }
    // Star's form of the header has a shorter prefix of the name.
    if header.as_bytes().ends_with(b"tar\0") {
        return Ok(Some("has a header of star's form"));
    }
    for record in entry.pax_extensions()?.into_iter().flatten() {
        let key = record?.key_bytes().to_owned();
        if key == b"size" || key.starts_with(b"GNU.sparse") {
            return Ok(Some("has a header that changes its size or name"));
        }
    }
    Ok(None)
}

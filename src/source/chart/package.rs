//! Packaged charts.

use super::collector::Collector;
use super::{CHART_BYTES, ChartTree};
use crate::compression::{Compression, Decoder};
use crate::diag::{Code, Fatal};
use crate::limits::Limits;
use crate::regular_file;
use crate::{failure, unreadable};
use std::io::{self, Read};
use std::path::Path;
use tar::{Entry, EntryType};

/// The bits of a mode that are the type of a file, and those of a regular file.
const TYPE_BITS: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;

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

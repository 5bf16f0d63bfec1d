//! The ownership file: lists the files of a directory that bundle2chart wrote, with their hashes.
//!
//! Only this file marks a directory as a chart written by bundle2chart; the one in the output
//! directory lists the deployment files. Its lines have the format of `sha256sum`, so that users
//! can verify a chart: `cd CHART && sha256sum -c .bundle2chart`.

use super::failure::{failed, metadata_of};
use crate::diag::Fatal;
use crate::regular_file;
use crate::source::chart::is_portable_path;
use crate::source::sha256;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Name of the ownership file in every chart directory.
pub const FILE_NAME: &str = ".bundle2chart";

/// Name of the upgrade report in a chart directory. It depends on the other versions in the output
/// directory and on the bundle2chart version, so it is not part of the immutable content of a chart
/// version.
pub const UPGRADE_REPORT: &str = "UPGRADE.md";

/// Name of the build report in the output directory.
pub const BUILD_REPORT: &str = "REPORT.md";

/// Prefix of the comment line with the chart's version. GNU `sha256sum` and Perl's `shasum`
/// silently skip comment lines, also with `--strict`.
const VERSION: &str = "# chart version: ";

/// Maximum size of an ownership file in bytes; a longer one is damaged.
pub(super) const SIZE_LIMIT: u64 = 8 << 20;

/// The content of an ownership file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ownership {
    /// Version of the chart; the file of the deployment files has none.
    pub(crate) version: Option<String>,
    /// SHA-256 in lower-case hexadecimal by path relative to the directory, `/`-separated. The
    /// ownership file itself is not in it.
    pub(crate) sums: BTreeMap<String, String>,
}

/// The ownership file of a directory as it was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// There is none.
    Missing,
    /// This 1-based line is invalid.
    Damaged(usize),
    /// It lists these files.
    Files(Ownership),
}

impl Ownership {
    /// Creates the ownership file of these files, with the chart's version.
    pub(super) fn of(version: Option<&str>, files: &BTreeMap<String, Vec<u8>>) -> Self {
        let sums = files.iter().map(|(path, content)| (path.clone(), sha256(content))).collect();
        Ownership { version: version.map(str::to_owned), sums }
    }

    /// Returns true if both are the same chart, ignoring the upgrade reports.
    pub(crate) fn is_same_chart(&self, other: &Ownership) -> bool {
        let sums = |ownership: &Ownership| {
            let mut sums = ownership.sums.clone();
            sums.remove(UPGRADE_REPORT);
            sums
        };
        self.version == other.version && sums(self) == sums(other)
    }

    /// Spells the file.
    pub(super) fn to_text(&self) -> String {
        let (files, version) = match &self.version {
            Some(version) => ("Files", format!("{VERSION}{version}\n")),
            None => ("Deployment files", String::new()),
        };
        let mut text = format!(
            "# {files} written and owned by bundle2chart. Verify: sha256sum -c {FILE_NAME}\n{version}"
        );
        for (path, sum) in &self.sums {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{sum}  {path}");
        }
        text
    }

    /// Parses the file.
    ///
    /// # Errors
    /// The 1-based number of the first line that is not in the format of [`Ownership::to_text`].
    pub(crate) fn parse(text: &str) -> Result<Self, usize> {
        let mut ownership = Ownership { version: None, sums: BTreeMap::new() };
        for (line, number) in text.lines().zip(1..) {
            if let Some(version) = line.strip_prefix(VERSION) {
                ownership.version = Some(version.to_owned());
            } else if !line.starts_with('#') {
                // Two spaces: the text mode of sha256sum, which is the same as its binary mode
                // outside of Windows.
                let (sum, path) = line.split_once("  ").ok_or(number)?;
                let is_sum = sum.len() == 64
                    && sum.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
                if !is_sum || !is_chart_path(path) {
                    return Err(number);
                }
                ownership.sums.insert(path.to_owned(), sum.to_owned());
            }
        }
        Ok(ownership)
    }

    /// Reads the ownership file of a chart. One without a version is damaged: only the file of the
    /// deployment files has none, and the chart could be replaced by any other.
    ///
    /// # Errors
    /// As [`Ownership::read`].
    pub(crate) fn of_chart(folder: &Path) -> Result<Recorded, Fatal> {
        Ok(match Self::read(folder)? {
            Recorded::Files(Ownership { version: None, .. }) => Recorded::Damaged(1),
            recorded => recorded,
        })
    }

    /// Reads the ownership file of a directory.
    ///
    /// # Errors
    /// If it cannot be read. A link, a directory or a text in another format is damage, not an
    /// error.
    pub(crate) fn read(folder: &Path) -> Result<Recorded, Fatal> {
        let file = folder.join(FILE_NAME);
        let Some(metadata) = metadata_of(&file)? else { return Ok(Recorded::Missing) };
        // A link could lead to the list of another chart.
        if !metadata.is_file() || metadata.len() > SIZE_LIMIT {
            return Ok(Recorded::Damaged(1));
        }
        let content =
            regular_file::read(&file, SIZE_LIMIT).map_err(|e| failed("read", &file, &e))?;
        let parsed = String::from_utf8(content).map_err(|_| 1).and_then(|text| Self::parse(&text));
        Ok(parsed.map_or_else(Recorded::Damaged, Recorded::Files))
    }
}

/// Returns true if a directory has an ownership file, damaged or not.
pub(super) fn is_marked(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(FILE_NAME)).is_ok()
}

/// Returns true if `path` is valid for a file in a chart. The ownership file is none.
pub(super) fn is_chart_path(path: &str) -> bool {
    is_portable_path(path) && path.split('/').all(|segment| segment != FILE_NAME)
}

#[cfg(test)]
mod tests;

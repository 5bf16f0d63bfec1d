//! The ownership file: lists the files of a chart directory that bundle2chart wrote, with their
//! hashes.
//!
//! Only this file marks a directory as written by bundle2chart. Its lines have the format of
//! `sha256sum`, so that users can verify a chart: `cd CHART && sha256sum -c .bundle2chart`.

use crate::source::sha256;
use std::collections::BTreeMap;
use std::fmt::Write as _;

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

/// The content of an ownership file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ownership {
    /// Version of the chart.
    pub version: String,
    /// SHA-256 in lower-case hexadecimal by path relative to the chart, `/`-separated. The
    /// ownership file itself is not in it.
    pub sums: BTreeMap<String, String>,
}

impl Ownership {
    /// Creates the ownership file of a chart with these files.
    pub fn of(version: &str, files: &BTreeMap<String, Vec<u8>>) -> Self {
        let sums = files.iter().map(|(path, content)| (path.clone(), sha256(content))).collect();
        Ownership { version: version.to_owned(), sums }
    }

    /// Returns true if both are the same chart, ignoring the upgrade reports.
    pub(super) fn is_same_chart(&self, other: &Ownership) -> bool {
        let sums = |ownership: &Ownership| {
            let mut sums = ownership.sums.clone();
            sums.remove(UPGRADE_REPORT);
            sums
        };
        self.version == other.version && sums(self) == sums(other)
    }

    /// Spells the file.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "# Files written and owned by bundle2chart. Verify: sha256sum -c {FILE_NAME}\n{VERSION}{}\n",
            self.version
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
    /// The 1-based number of the first line that is not in the format of [`Ownership::to_text`], or
    /// the number of lines plus one if the chart's version is missing.
    pub fn parse(text: &str) -> Result<Self, usize> {
        let mut version = None;
        let mut sums = BTreeMap::new();
        let mut lines = 0;
        for (index, line) in text.lines().enumerate() {
            lines = index + 1;
            if let Some(found) = line.strip_prefix(VERSION) {
                version = Some(found.to_owned());
            } else if !line.starts_with('#') {
                let (sum, path) = line.split_once("  ").ok_or(lines)?;
                let is_sum = sum.len() == 64
                    && sum.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
                if !is_sum || !is_chart_path(path) {
                    return Err(lines);
                }
                sums.insert(path.to_owned(), sum.to_owned());
            }
        }
        Ok(Ownership { version: version.ok_or(lines + 1)?, sums })
    }
}

/// Returns the ownership file of the output directory, for the deployment files.
pub(super) fn beside_text(files: &BTreeMap<String, Vec<u8>>) -> String {
    let mut text = format!(
        "# Deployment files written and owned by bundle2chart. Verify: sha256sum -c {FILE_NAME}\n"
    );
    for (path, content) in files {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}  {path}", sha256(content));
    }
    text
}

/// Parses the ownership file of the output directory: SHA-256 by path.
///
/// # Errors
/// The 1-based number of the first line that is not in the format of [`beside_text`].
pub(super) fn parse_beside(text: &str) -> Result<BTreeMap<String, String>, usize> {
    // It is that of a chart without the version.
    let of_chart = format!("{text}{VERSION}\n");
    Ownership::parse(&of_chart).map(|ownership| ownership.sums)
}

/// Returns true if `path` is valid for a file in a chart: relative, `/`-separated, without empty,
/// `.` and `..` segments, and without characters that need quoting in the ownership file.
pub fn is_chart_path(path: &str) -> bool {
    path.split('/').all(|segment| {
        !matches!(segment, "" | "." | "..")
            && segment != FILE_NAME
            && !segment.chars().any(|c| c.is_control() || c == '\\')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Ownership {
        let files = BTreeMap::from([
            ("templates/a b.yaml".to_owned(), b"x\n".to_vec()),
            ("Chart.yaml".to_owned(), Vec::new()),
        ]);
        Ownership::of("1.0.0+build.1", &files)
    }

    #[test]
    fn is_spelt_sorted_and_read_back() {
        let text = sample().to_text();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1], "# chart version: 1.0.0+build.1");
        assert_eq!(
            lines[2],
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  Chart.yaml"
        );
        assert!(lines[3].ends_with("  templates/a b.yaml"));
        assert_eq!(Ownership::parse(&text), Ok(sample()));
    }

    #[test]
    fn is_read_with_the_line_ends_of_a_windows_checkout() {
        let text = sample().to_text().replace('\n', "\r\n");
        assert_eq!(Ownership::parse(&text), Ok(sample()));
    }

    #[test]
    fn refuses_what_it_would_not_write() {
        let sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        for bad in [
            "<<<<<<< ours\n".to_owned(),
            format!("{sum} one-space\n"),
            format!("{}  short\n", &sum[1..]),
            format!("{}  upper\n", sum.to_uppercase()),
            format!("{sum}  ../../etc/passwd\n"),
            format!("{sum}  /etc/passwd\n"),
            format!("{sum}  a//b\n"),
            format!("{sum}  {FILE_NAME}\n"),
        ] {
            assert_eq!(Ownership::parse(&format!("{VERSION}1.0.0\n{bad}")), Err(2), "{bad}");
        }
        assert_eq!(Ownership::parse(&format!("{sum}  a\n")), Err(2), "no version");
        assert_eq!(Ownership::parse(""), Err(1), "empty");
    }
}

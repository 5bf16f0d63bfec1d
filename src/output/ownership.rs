//! The ownership file: which files of a chart folder bundle2chart wrote, and what it put in them.
//!
//! It is the only thing that says that a folder is ours. Its lines are those of `sha256sum`, so
//! that anybody can check a chart by hand: `cd CHART && sha256sum -c .bundle2chart`.

use crate::source::sha256;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Name of the ownership file in every chart folder.
pub const FILE_NAME: &str = ".bundle2chart";

/// Name of the report in a chart folder that says what an upgrade to the chart does. It depends on
/// the versions beside it, and on the rules of the bundle2chart that wrote it, so it is not part of
/// what a chart version may never change.
pub const UPGRADE_REPORT: &str = "UPGRADE.md";

/// Name of the report on a whole build, in the output folder.
pub const BUILD_REPORT: &str = "REPORT.md";

/// What the comment line that carries the chart's version starts with. GNU `sha256sum` and Perl's
/// `shasum` skip comment lines without a word, also with `--strict`.
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
    /// What the ownership file of a chart with these files says.
    pub fn of(version: &str, files: &BTreeMap<String, Vec<u8>>) -> Self {
        let sums = files.iter().map(|(path, content)| (path.clone(), sha256(content))).collect();
        Ownership { version: version.to_owned(), sums }
    }

    /// Whether both are the same chart, whatever their upgrade reports say.
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
            "# Files that bundle2chart wrote and owns. Check them: sha256sum -c {FILE_NAME}\n\
             {VERSION}{}\n",
            self.version
        );
        for (path, sum) in &self.sums {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{sum}  {path}");
        }
        text
    }

    /// Reads the file.
    ///
    /// # Errors
    /// The 1-based number of the first line that is not as [`Ownership::to_text`] writes it, or
    /// the number of lines plus one where the chart's version is missing.
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

/// The text of the ownership file in the output folder, for the files beside the charts.
pub(super) fn beside_text(files: &BTreeMap<String, Vec<u8>>) -> String {
    let mut text = format!(
        "# Files beside the charts that bundle2chart wrote and owns. Check them: \
         sha256sum -c {FILE_NAME}\n"
    );
    for (path, content) in files {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}  {path}", sha256(content));
    }
    text
}

/// Reads the ownership file in the output folder: SHA-256 by path.
///
/// # Errors
/// The 1-based number of the first line that is not as [`beside_text`] writes it.
pub(super) fn parse_beside(text: &str) -> Result<BTreeMap<String, String>, usize> {
    // It is that of a chart without the version.
    let of_chart = format!("{text}{VERSION}\n");
    Ownership::parse(&of_chart).map(|ownership| ownership.sums)
}

/// Whether `path` may be the path of a file in a chart: relative, `/`-separated, without empty,
/// `.` and `..` segments, and without characters that would need quoting in the ownership file.
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

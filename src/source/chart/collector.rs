//! Collects the files of a chart, and refuses names that programs read differently.

use super::{CHART_BYTES, CHART_FILES, ChartTree};
use crate::diag::{Code, Fatal};
use crate::failure;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Returns true if `path` is the same file for every program: relative, `/`-separated, without
/// empty, `.` and `..` segments, backslashes and control characters.
pub fn is_portable_path(path: &str) -> bool {
    path.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
        && !path.chars().any(|c| c.is_control() || c == '\\')
}

/// The files of a chart so far.
pub(super) struct Collector<'a> {
    /// The chart, for messages.
    shown: &'a str,
    files: ChartTree,
    bytes: u64,
    /// Paths of files and of their directories by lower-case path; true for those of files.
    paths: BTreeMap<String, (String, bool)>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(shown: &'a str) -> Self {
        Collector { shown, files: ChartTree::new(), bytes: 0, paths: BTreeMap::new() }
    }

    /// Adds a file.
    ///
    /// # Errors
    /// If its name has another meaning for other programs or systems, and above the limits of a
    /// chart.
    pub(super) fn add(&mut self, name: &[u8], content: Vec<u8>) -> Result<(), Fatal> {
        let path = self.admit(name)?;
        self.bytes += content.len() as u64;
        self.limit(self.bytes)?;
        self.files.insert(path, content);
        Ok(())
    }

    /// Returns the path of a file that may be added under this name.
    pub(super) fn admit(&mut self, name: &[u8]) -> Result<String, Fatal> {
        let path = str::from_utf8(name)
            .map_err(|_| self.refused(name, "has a name that is not UTF-8"))?
            .to_owned();
        if path.contains('\\') {
            return Err(self.refused(name, "has a backslash in its name"));
        }
        if !is_portable_path(&path) {
            return Err(self.refused(name, "has a name that is not a plain relative path"));
        }

        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        for part in ends.filter_map(|end| path.get(..end)) {
            let is_file = part.len() == path.len();
            // By default, file systems of macOS and Windows ignore case.
            match self.paths.entry(part.to_lowercase()) {
                Entry::Vacant(free) => {
                    free.insert((part.to_owned(), is_file));
                }
                Entry::Occupied(taken) => {
                    let (other, was_file) = taken.get();
                    let why = if other != part {
                        format!("has a name that differs from `{other}` only in case")
                    } else if is_file && *was_file {
                        "is there twice".to_owned()
                    } else if is_file || *was_file {
                        "is both a file and a directory".to_owned()
                    } else {
                        continue;
                    };
                    return Err(self.refused(part.as_bytes(), &why));
                }
            }
        }
        Ok(path)
    }

    /// Returns the error about a file that is not read.
    pub(super) fn refused(&self, name: &[u8], why: &str) -> Fatal {
        let name = match str::from_utf8(name) {
            Ok(name) => name.escape_debug().to_string(),
            Err(_) => name.escape_ascii().to_string(),
        };
        let message = format!("`{name}` in chart `{}` {why}", self.shown);
        let hint = "remove or rename it: Helm, or another system, would read another chart";
        failure(Code::ChartUnreadable, message, hint)
    }

    /// Checks the limits of a chart with this many bytes.
    pub(super) fn limit(&self, bytes: u64) -> Result<(), Fatal> {
        if bytes <= CHART_BYTES && self.files.len() < CHART_FILES {
            return Ok(());
        }
        let message = format!("`{}` is too large for a chart", self.shown);
        Err(failure(Code::ChartUnreadable, message, "pass the directory of one chart"))
    }

    pub(super) fn finish(self) -> ChartTree {
        self.files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds empty files; the last one decides.
    fn added(names: &[&[u8]]) -> Result<(), String> {
        let mut collector = Collector::new("c");
        let mut last = Ok(());
        for name in names {
            assert_eq!(last, Ok(()), "only the last name is refused");
            last = collector.add(name, Vec::new()).map_err(|found| found.message);
        }
        last
    }

    #[test]
    fn portable_paths() {
        for path in ["a", "a/b.yaml", "..b/c..", "é"] {
            assert!(is_portable_path(path), "{path}");
        }
        for path in ["", "/a", "a/", "a//b", ".", "a/./b", "..", "a/..", "a\\b", "a\nb", "a\u{7f}"]
        {
            assert!(!is_portable_path(path), "{path}");
        }
    }

    #[test]
    fn names_with_one_meaning_are_read() {
        let names: &[&[u8]] =
            &[b"Chart.yaml", b"templates/a.yaml", b"templates/..b", "crds/\u{e9}.yaml".as_bytes()];
        assert_eq!(added(names), Ok(()));
    }

    #[test]
    fn names_with_several_meanings_are_refused() {
        for (names, message) in [
            (
                &[b"templates/z\xff".as_slice()] as &[&[u8]],
                r"`templates/z\xff` in chart `c` has a name that is not UTF-8",
            ),
            (
                &[br"templates\a.yaml"],
                r"`templates\\a.yaml` in chart `c` has a backslash in its name",
            ),
            (&[b"a//b"], "`a//b` in chart `c` has a name that is not a plain relative path"),
            (&[b"/a"], "`/a` in chart `c` has a name that is not a plain relative path"),
            (&[b"a/./b"], "`a/./b` in chart `c` has a name that is not a plain relative path"),
            (&[b"a/../b"], "`a/../b` in chart `c` has a name that is not a plain relative path"),
            (&[b"a\nb"], r"`a\nb` in chart `c` has a name that is not a plain relative path"),
            (&[b"a", b"a"], "`a` in chart `c` is there twice"),
            (&[b"a/b", b"a"], "`a` in chart `c` is both a file and a directory"),
            (&[b"a", b"a/b"], "`a` in chart `c` is both a file and a directory"),
            (&[b"a/b", b"A/c"], "`A` in chart `c` has a name that differs from `a` only in case"),
            (
                &[b"x/a", b"x/A"],
                "`x/A` in chart `c` has a name that differs from `x/a` only in case",
            ),
        ] {
            assert_eq!(added(names), Err(message.to_owned()), "{names:?}");
        }
    }
}

//! `charts.lock`: the digests of the charts in the output directory.
//!
//! It is computed from the charts alone, so it is the same before and after a push, and can be
//! committed and reviewed with them. The digest of the manifest is what Helm, Flux and Argo CD
//! install from, and what a signature is for.

use crate::diag::Diagnostics;
use crate::regular_file;
use crate::replace_file::write_changed;
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Version of the format.
const VERSION: u32 = 1;

const HEAD: &str = "# Digests of the charts as packages and as OCI artifacts. Written by bundle2chart; \
                    commit it, do not edit it.\n";

/// Bytes of a record that are read; one of a thousand charts has about 300 KiB.
const SIZE_LIMIT: u64 = 16 << 20;

/// The digests of all charts, sorted by name and version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// The charts.
    pub charts: Vec<Recorded>,
}

/// The digests of a chart.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Recorded {
    /// Name of the chart.
    pub name: String,
    /// Version of the chart.
    pub version: String,
    /// The `.tgz`.
    pub package: Blob,
    /// Digest of the OCI manifest.
    pub manifest: String,
}

/// Digest and size in bytes of a blob.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Blob {
    /// The digest.
    pub digest: String,
    /// The size.
    pub size: u64,
}

#[derive(Deserialize)]
struct File {
    version: u32,
    #[serde(default, rename = "chart")]
    charts: Vec<Recorded>,
}

/// Returns the path of the record: `charts.lock` in the output directory.
pub(crate) fn path_of(out: &Path) -> PathBuf {
    out.join("charts.lock")
}

impl Record {
    /// Returns the text of the file: the same for the same charts.
    pub(crate) fn to_text(&self) -> String {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let mut text = format!("{HEAD}version = {VERSION}\n");
        for Recorded { name, version, package: Blob { digest, size }, manifest } in &self.charts {
            // Writing to a String cannot fail.
            let _ = write!(
                text,
                "\n[[chart]]\nname = {}\nversion = {}\npackage = {{ digest = {}, size = {size} }}\n\
                 manifest = {}\n",
                quoted(name),
                quoted(version),
                quoted(digest),
                quoted(manifest)
            );
        }
        text
    }

    /// Parses the text of a record; `None` if it is not one of this version.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let file: File = toml::from_str(text).ok()?;
        (file.version == VERSION).then_some(Record { charts: file.charts })
    }

    /// Returns a line for each difference between this record and the file at `path`: `missing`,
    /// `stale` or `extra`, with the name and version of the chart. A file that is no record is
    /// `stale` as a whole.
    pub(crate) fn differences(&self, path: &Path) -> Vec<String> {
        let text = regular_file::read(path, SIZE_LIMIT).ok();
        let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let old = match text.as_deref().map(Record::parse) {
            None => Record::default(),
            Some(None) => return vec![format!("stale {}", path.display())],
            Some(Some(old)) => old,
        };
        let line =
            |word: &str, chart: &Recorded| format!("{word} {} {}", chart.name, chart.version);
        let is_same = |a: &Recorded, b: &Recorded| a.name == b.name && a.version == b.version;
        let mut lines = Vec::new();

        for chart in &self.charts {
            match old.charts.iter().find(|other| is_same(chart, other)) {
                None => lines.push(line("missing", chart)),
                Some(other) if other != chart => lines.push(line("stale", chart)),
                Some(_) => {}
            }
        }
        let is_gone = |other: &&Recorded| !self.charts.iter().any(|chart| is_same(chart, other));
        lines.extend(old.charts.iter().filter(is_gone).map(|chart| line("extra", chart)));
        // Comments and order are part of the file as well.
        if lines.is_empty() && text.is_some_and(|text| text != self.to_text()) {
            lines.push(format!("stale {}", path.display()));
        }
        lines
    }

    /// Writes the record; returns false if it is unchanged, `None` if it cannot be written.
    pub(crate) fn write(&self, path: &Path, diagnostics: &mut Diagnostics) -> Option<bool> {
        let hint = "make the output directory writable";
        diagnostics.report(write_changed(path, self.to_text().as_bytes(), hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(name: &str, manifest: &str) -> Recorded {
        Recorded {
            name: name.to_owned(),
            version: "1.0.0+2".to_owned(),
            package: Blob { digest: "sha256:1".to_owned(), size: 7 },
            manifest: manifest.to_owned(),
        }
    }

    #[test]
    fn records_are_compared_with_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_of(folder.path());
        assert_eq!(path, folder.path().join("charts.lock"));
        let old = Record { charts: vec![recorded("a", "x"), recorded("b", "x")] };
        assert_eq!(Record::parse(&old.to_text()), Some(old.clone()));
        assert_eq!(old.differences(&path), ["missing a 1.0.0+2", "missing b 1.0.0+2"]);

        let mut diagnostics = Diagnostics::new();
        assert_eq!(old.write(&path, &mut diagnostics), Some(true));
        assert_eq!(old.write(&path, &mut diagnostics), Some(false));
        assert!(old.differences(&path).is_empty() && diagnostics.is_empty());

        let new = Record { charts: vec![recorded("b", "y"), recorded("c", "x")] };
        let expected = ["stale b 1.0.0+2", "missing c 1.0.0+2", "extra a 1.0.0+2"];
        assert_eq!(new.differences(&path), expected);
        let raised = |chart: &Recorded| Recorded { version: "2.0.0".to_owned(), ..chart.clone() };
        let raised = Record { charts: vec![old.charts[0].clone(), raised(&old.charts[1])] };
        assert_eq!(raised.differences(&path), ["missing b 2.0.0", "extra b 1.0.0+2"]);
        let write = |text: &str| write_changed(&path, text.as_bytes(), "").unwrap();
        write(&format!("{}# edited\n", old.to_text()));
        assert_eq!(old.differences(&path), [format!("stale {}", path.display())]);
        write("<<<<<<< ours\n");
        assert_eq!(old.differences(&path), [format!("stale {}", path.display())]);
    }
}

//! Size of the release Secret of a chart.
//!
//! Helm stores every revision of a release in a Secret, whose data the API server limits to 1 MiB
//! (`MaxSecretSize` of the API). The data is a JSON document, compressed with gzip and encoded in
//! base64: the chart (metadata, default values and schema, templates and all other files, each in
//! base64 once more), the user's values, and the rendered manifest with the notes (helm.sh/helm,
//! pkg/release and pkg/storage/driver). It has no files of subcharts, only their rendered templates:
//! this is why CRDs are templates of a subchart, and why those in a subchart's crds/ folder do not
//! count.
//!
//! This module builds that document for the default values as Helm 4 writes it, which also stores
//! the modification time of each file. Helm uses Go's gzip ([`GZIP_OF_GO`]) and writes Chart.yaml as
//! fields; the user's values and the final notes are unknown here. `tests/suite/release_size.rs`
//! compares with the requests of Helm 3.17, 3.19 and 4.3 to an API server: the result is never below
//! them, and near the limit at most 4 % above.

use super::chart_lock::CHART_LOCK;
use super::crds::TEMPLATES as CRDS_TEMPLATES;
use crate::ir::{Release, Unit};
use crate::yaml::render;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufWriter, Write};

/// Maximum size of a Secret's data in bytes.
pub const LIMIT: usize = 1 << 20;
/// Size from which the build warns: the next version of an operator, or user values, may exceed the
/// limit.
pub const WARN: usize = LIMIT / 5 * 4;

/// Difference in base64 bytes between Go's gzip and ours for small documents. For large documents
/// ours is longer.
const GZIP_OF_GO: usize = 250;

/// Returns `bytes` in percent of [`LIMIT`], rounded up.
pub fn percent(bytes: usize) -> usize {
    (bytes * 100).div_ceil(LIMIT)
}

/// Returns the share of the release Secret that `bytes` take, as text. Below [`WARN`] it is only a bound,
/// because [`release_bytes`] does not compress what certainly fits.
pub fn share(bytes: usize) -> String {
    if bytes < WARN {
        format!("< {} %", percent(WARN))
    } else {
        format!("≤ {} %", percent(bytes))
    }
}

/// Returns an upper bound of the size of the release Secret in bytes.
///
/// From [`WARN`] on it is at most 4 % above the size that Helm writes. Below, it only shows that the
/// release fits: most do so without compression, nearly all others by a sample of their templates that is
/// compressed quickly. Helm's compression level would take half of the time of a build.
pub fn release_bytes(
    chart: &str,
    files: &BTreeMap<String, String>,
    unit: &Unit,
    namespace: &str,
) -> usize {
    let values = unit.default_values();
    let text = |path: &str| files.get(path);
    let files_of = |belongs: fn(&str) -> bool| -> Vec<Json> {
        let files = files.iter().filter(|(path, _)| belongs(path));
        let file = |(path, text): (&String, &String)| json!({"name": path, "modtime": time(path), "data": STANDARD.encode(text)});
        files.map(file).collect()
    };
    let document = json!({
        "name": chart,
        "info": {
            "first_deployed": time(""),
            "last_deployed": time(""),
            "deleted": "",
            "description": "Install complete",
            "status": "deployed",
            "notes": text("templates/NOTES.txt"),
        },
        "chart": {
            "metadata": text("Chart.yaml"),
            "lock": text(CHART_LOCK),
            "templates": files_of(|path| path.starts_with("templates/")),
            "values": values,
            "schema": STANDARD.encode(text("values.schema.json").map_or("", String::as_str)),
            "schemamodtime": time("values.schema.json"),
            "files": files_of(is_other),
            "modtime": time("Chart.yaml"),
        },
        "version": 1,
        "namespace": namespace,
        // Helm 4 stores the method, which is server-side apply for new installations.
        "apply_method": "ssa",
        "manifest": "",
    });
    let manifest = Manifest { chart, files, release: &Release { namespace, values: &values } };
    // The manifest is behind the document, where it compresses alike.
    let release = (&document, &manifest);

    let length: usize = manifest.templates().map(|(_, text)| text.len()).sum();
    let may_fit = length <= Count::LIMIT;
    let plain = may_fit.then(|| Count::of(|count| write(&release, count))).flatten();
    // Deflate stores what it cannot compress.
    let stored = plain.map(|bytes| bytes + bytes.div_ceil(DEFLATE_BLOCK) * DEFLATE_BLOCK_HEADER);
    let stored = stored.filter(|bytes| *bytes <= Count::LIMIT);
    let sampled = || {
        let bytes: usize = manifest.sample().map(str::len).sum();
        let sample = Count::of(|count| {
            let encoder = DeflateEncoder::new(count, SAMPLED);
            let mut to = BufWriter::with_capacity(1 << 16, encoder);
            manifest.sample().try_for_each(|part| serde_json::to_writer(&mut to, part))?;
            to.flush()
        });
        let of_sample = sample? * length / bytes.max(1);
        let estimate = deflated(&document, SAMPLED)? + of_sample;
        // Near the limit a sample proves nothing.
        (estimate <= Count::LIMIT / 5 * 4).then_some(estimate)
    };
    let best = || {
        let mut plain = Vec::new();
        // Writing to memory cannot fail.
        let _ = write(&release, &mut plain);
        miniz_oxide::deflate::compress_to_vec(&plain, BEST).len()
    };
    let size = stored.or_else(sampled).or_else(|| deflated(&release, Compression::fast()));
    in_secret(size.unwrap_or_else(best))
}

/// Writes a value as JSON.
fn write(value: &impl Serialize, to: impl Write) -> io::Result<()> {
    // serde_json writes a few bytes at a time.
    let mut to = BufWriter::with_capacity(1 << 16, to);
    serde_json::to_writer(&mut to, value)?;
    to.flush()
}

/// Returns the size of a value's JSON that is compressed, unless it is too large.
fn deflated(value: &impl Serialize, level: Compression) -> Option<usize> {
    Count::of(|count| write(value, DeflateEncoder::new(count, level)))
}

/// The rendered manifest: all templates as Helm concatenates them. It is nearly all of the document, and
/// is never in memory as a whole unless it is compressed as well as possible.
struct Manifest<'a> {
    chart: &'a str,
    files: &'a BTreeMap<String, String>,
    release: &'a Release<'a>,
}

impl Manifest<'_> {
    /// Returns the templates by path.
    fn templates(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_template = |path: &str| {
            let is_inside = path.starts_with("templates/") || path.starts_with(CRDS_TEMPLATES);
            is_inside && path.ends_with(".yaml")
        };
        let all = self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        all.filter(move |(path, _)| is_template(path))
    }

    /// Returns the start of each piece of all templates.
    fn sample(&self) -> impl Iterator<Item = &str> {
        // The position in the text of all templates.
        let mut position = 0_usize;
        self.templates().flat_map(move |(_, text)| {
            let first = position.next_multiple_of(PIECE) - position;
            position += text.len();
            let boundary = |at: usize| (at..text.len()).find(|at| text.is_char_boundary(*at));
            let starts = (first..text.len()).step_by(PIECE).filter_map(boundary);
            starts.map(move |start| &text[start..boundary(start + SAMPLE).unwrap_or(text.len())])
        })
    }
}

/// Size of the pieces of which a sample has the start, in bytes: even if the rest of one piece could not be
/// compressed at all, what a sample shows to fit would.
const PIECE: usize = 1 << 18;
/// Size of each start. Deflate looks back 32 KiB, to that of the piece before.
const SAMPLE: usize = 1 << 14;
/// Compression level of samples, which are few bytes.
const SAMPLED: Compression = Compression::new(3);

impl Serialize for Manifest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Manifest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (path, text) in self.templates() {
            write!(f, "---\n# Source: {}/{path}\n", self.chart)?;
            let mut written = Ok(());
            let write = |part: &str| written = written.and_then(|()| f.write_str(part));
            // A template that cannot be rendered here is counted as it is.
            if render::render(text, self.release, write).is_err() {
                f.write_str(text)?;
            }
            written?;
        }
        Ok(())
    }
}

/// Counts the bytes of deflate data, up to those that certainly fit.
struct Count(usize);

impl Count {
    /// The most bytes that are below [`WARN`] in the Secret.
    const LIMIT: usize = (WARN - GZIP_OF_GO - 1) / 4 * 3 - GZIP_FRAME;

    /// Returns the number of bytes that `write` writes; `None` beyond the limit, where it stops.
    fn of(write: impl FnOnce(&mut Count) -> io::Result<()>) -> Option<usize> {
        let mut count = Count(0);
        // The only error is that of the limit, and an encoder writes the last bytes when it is
        // dropped, which cannot return one.
        let _ = write(&mut count);
        (count.0 <= Count::LIMIT).then_some(count.0)
    }
}

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        if self.0 > Count::LIMIT {
            Err(io::ErrorKind::FileTooLarge.into())
        } else {
            Ok(bytes.len())
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns true for files that Helm stores as `files`: not in a subchart, not a template, and not
/// parsed into another field.
fn is_other(path: &str) -> bool {
    !matches!(path, "Chart.yaml" | "values.yaml" | "values.schema.json" | CHART_LOCK)
        && !path.starts_with("charts/")
        && !path.starts_with("templates/")
}

/// Compression level of Helm.
const BEST: u8 = 9;
/// Gzip's header, the last block and the trailer, in bytes.
const GZIP_FRAME: usize = 10 + 5 + 8;
/// Size of the blocks in which deflate stores incompressible data (RFC 1951); smaller ones than the
/// largest, because compressors also end blocks earlier.
const DEFLATE_BLOCK: usize = 1 << 14;
const DEFLATE_BLOCK_HEADER: usize = 5;

/// Returns the size of deflate data in the Secret: as gzip data in base64.
fn in_secret(deflated: usize) -> usize {
    (deflated + GZIP_FRAME).div_ceil(3) * 4 + GZIP_OF_GO
}

/// Returns a timestamp derived from the path: deterministic, and as incompressible as a real one.
fn time(path: &str) -> String {
    let digits = path.bytes().fold(5_381_u64, |hash, byte| hash.wrapping_mul(33) ^ u64::from(byte));
    format!("2006-01-02T15:04:05.{:09}Z", digits % 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns text of so many letters that are drawn from the first `letters`.
    fn text(letters: u32, length: usize) -> String {
        let mut state = 1_u32;
        let mut letter = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from_u32(u32::from(b' ') + (state >> 16) % letters).unwrap_or(' ')
        };
        (0..length).map(|_| letter()).collect()
    }

    fn with(path: &str, text: String) -> usize {
        let files = BTreeMap::from([(path.to_owned(), text)]);
        release_bytes("lamps", &files, &Unit::default(), "lamps")
    }

    #[test]
    fn what_fits_is_a_bound_and_what_may_not_fit_is_measured() {
        // Fits without compression, and with a fast one.
        for (letters, length) in [(64, 100_000), (2, 600_000)] {
            let bytes = with("README.md", text(letters, length));
            assert!((1..WARN).contains(&bytes), "{bytes}");
            assert_eq!(share(bytes), "< 80 %");
        }

        // 64 letters have 6 bits, as those of base64; without compression it were 1.6 MB.
        let bytes = with("README.md", text(64, 900_000));
        assert!((900_000..1_200_000).contains(&bytes), "{bytes}");
        assert_eq!(share(bytes), format!("≤ {} %", percent(bytes)));
    }

    #[test]
    fn samples_of_templates_prove_that_they_fit() {
        // Those of a subchart are in the manifest only.
        let path = &format!("{CRDS_TEMPLATES}crd.yaml");
        // What no sample is of cannot be compressed, and fits as well.
        let lines = format!("{}\n", text(8, 80)).repeat(25_000);
        let hidden = text(64, PIECE - SAMPLE);
        let uneven = format!("{}{hidden}{}", &lines[..3 * PIECE + SAMPLE], &lines[4 * PIECE..]);
        let most = miniz_oxide::deflate::compress_to_vec(uneven.as_bytes(), BEST).len();
        assert!(in_secret(most) < LIMIT, "{most}");
        let even = with(path, lines);
        assert!((1..WARN).contains(&even), "{even}");
        assert_eq!(with(path, uneven), even);

        // Near the limit the whole is compressed.
        for (letters, length) in [(4, 2_200_000), (64, 900_000)] {
            let bytes = with(path, text(letters, length));
            assert!((WARN..2 * LIMIT).contains(&bytes), "{bytes}");
        }
    }

    /// Bounds without compression: each byte of the files and of what Helm adds.
    #[test]
    fn bounds_are_exact() {
        let mut seen = String::new();
        let mut add = |path: &str, text: String| seen += &format!("{path}: {}\n", with(path, text));
        // In a release, but for files of subcharts and for those that are parsed.
        for path in [
            "other.txt",
            "templates/a.yaml",
            "templates/a.txt",
            "templates/_a.tpl",
            "charts/crds/templates/a.yaml",
            "charts/crds/templates/_a.tpl",
            "charts/crds/crds/a.yaml",
            "charts/crds/Chart.yaml",
            "crds/a.yaml",
            "Chart.yaml",
            "Chart.lock",
            "values.yaml",
            "values.schema.json",
            "templates/NOTES.txt",
        ] {
            add(path, "a: b\n".to_owned());
        }
        // A template that cannot be rendered, and several blocks.
        add("templates/a.yaml", "a: {{ unknown }}\n".to_owned());
        add("README.md", text(64, 100_000));
        // Of several templates, the starts of pieces of all of them together.
        let template = |number: usize| {
            let text = format!("{}\n", text(8, 60 + number)).repeat(2_000);
            (format!("{CRDS_TEMPLATES}{number}.yaml"), text)
        };
        let files = (0..8).map(template).collect();
        let bytes = release_bytes("lamps", &files, &Unit::default(), "lamps");
        seen += &format!("several templates: {bytes}\n");
        insta::assert_snapshot!(seen);
    }
}

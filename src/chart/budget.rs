//! How much of a release's Secret a chart takes.
//!
//! Helm keeps every revision of a release in a Secret, whose data the API server limits to 1 MiB
//! (`MaxSecretSize` of the API). What it keeps there is a JSON document, compressed with gzip and
//! spelt in base64: the chart (its metadata, default values and schema, its templates and all its
//! other files, each in base64 once more), the values of the person, and the rendered manifest with
//! the notes (helm.sh/helm, pkg/release and pkg/storage/driver). A subchart's files are not in it,
//! only what its templates render to: that is why CRDs are templates of a subchart, and why those in
//! a subchart's crds/ folder cost nothing.
//!
//! What is put together here is that document for the default values, as Helm 4 writes it, which
//! also keeps the time of each file. Helm's gzip is Go's ([`GZIP_OF_GO`]), and it writes Chart.yaml as
//! fields; a person's values and the notes are not known here in their final form.
//! `tests/suite/release_size.rs` compares with what Helm 3.17, 3.19 and 4.3 send to an API server:
//! charts of 15 kB to 1 MB are not below, and at most 4 % above.

use super::chart_lock::CHART_LOCK;
use super::crds::TEMPLATES as CRDS_TEMPLATES;
use crate::ir::{Release, Unit};
use crate::yaml::render;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufWriter, Write as _};

/// The most bytes that the data of a Secret may have.
pub const LIMIT: usize = 1 << 20;
/// From here on a warning: the next version of an operator, or the values of a person, may go
/// beyond the limit.
pub const WARN: usize = LIMIT / 5 * 4;

/// Bytes, in base64, by which Go's gzip makes a small document longer than ours does. Of large ones
/// ours is the longer one.
const GZIP_OF_GO: usize = 250;

/// Bytes of the limit in per cent, rounded up.
pub fn percent(bytes: usize) -> usize {
    (bytes * 100).div_ceil(LIMIT)
}

/// Bytes that the release takes of its Secret at most.
///
/// It is at most 4 % more than what Helm writes, but for large releases that are far from [`WARN`]:
/// the compression that Helm uses takes half of the time of a build, and a faster one is enough to
/// know that. It gives up to 80 % more.
pub(super) fn release_bytes(
    chart: &str,
    files: &BTreeMap<String, String>,
    unit: &Unit,
    namespace: &str,
) -> usize {
    let values = unit.default_values();
    let manifest = Manifest { chart, files, release: &Release { namespace, values: &values } };
    let large = manifest.templates().map(|(_, text)| text.len()).sum::<usize>() >= LARGE;
    let text = |path: &str| files.get(path).map(String::as_str);
    let schema = text("values.schema.json").unwrap_or_default();
    let templates = |path: &&String| path.starts_with("templates/");
    let document = Document {
        name: chart,
        info: Info {
            first_deployed: time(""),
            last_deployed: time(""),
            deleted: "",
            description: "Install complete",
            status: "deployed",
            notes: text("templates/NOTES.txt"),
        },
        chart: StoredChart {
            metadata: text("Chart.yaml"),
            lock: text(CHART_LOCK),
            templates: files.iter().filter(|(path, _)| templates(path)).map(File::of).collect(),
            values: &values,
            schema: STANDARD.encode(schema),
            schemamodtime: time("values.schema.json"),
            files: files.iter().filter(|(path, _)| is_other(path)).map(File::of).collect(),
            modtime: time("Chart.yaml"),
        },
        manifest,
        version: 1,
        namespace,
        apply_method: "ssa",
    };
    if large {
        let most = document.size(FAST);
        if most < WARN {
            return most;
        }
    }
    document.size(Compression::best())
}

/// Bytes of templates from which on it is worth compressing them fast first.
const LARGE: usize = 1 << 19;
const FAST: Compression = Compression::new(1);

/// The templates as Helm renders them, one after the other.
struct Manifest<'a> {
    chart: &'a str,
    files: &'a BTreeMap<String, String>,
    release: &'a Release<'a>,
}

impl<'a> Manifest<'a> {
    fn templates(&self) -> impl Iterator<Item = (&'a String, &'a String)> + use<'a> {
        self.files.iter().filter(|(path, _)| {
            let is_template = path.starts_with("templates/") || path.starts_with(CRDS_TEMPLATES);
            is_template && path.ends_with(".yaml")
        })
    }
}

impl fmt::Display for Manifest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (path, text) in self.templates() {
            let rendered = render::render(text, self.release);
            writeln!(f, "---\n# Source: {}/{path}", self.chart)?;
            f.write_str(rendered.as_deref().unwrap_or(text))?;
        }
        Ok(())
    }
}

impl Serialize for Manifest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Whether Helm keeps the file as it is: what is not of a subchart, no template and not read into a
/// field of its own.
fn is_other(path: &str) -> bool {
    !matches!(path, "Chart.yaml" | "values.yaml" | "values.schema.json" | CHART_LOCK)
        && !path.starts_with("charts/")
        && !path.starts_with("templates/")
}

/// What Helm keeps.
#[derive(Serialize)]
struct Document<'a> {
    name: &'a str,
    info: Info<'a>,
    chart: StoredChart<'a>,
    manifest: Manifest<'a>,
    version: u32,
    namespace: &'a str,
    apply_method: &'a str,
}

#[derive(Serialize)]
struct Info<'a> {
    first_deployed: String,
    last_deployed: String,
    deleted: &'a str,
    description: &'a str,
    status: &'a str,
    notes: Option<&'a str>,
}

#[derive(Serialize)]
struct StoredChart<'a> {
    metadata: Option<&'a str>,
    lock: Option<&'a str>,
    templates: Vec<File<'a>>,
    values: &'a serde_json::Value,
    schema: String,
    schemamodtime: String,
    files: Vec<File<'a>>,
    modtime: String,
}

#[derive(Serialize)]
struct File<'a> {
    name: &'a str,
    modtime: String,
    data: String,
}

impl<'a> File<'a> {
    fn of((path, text): (&'a String, &'a String)) -> File<'a> {
        File { name: path, modtime: time(path), data: STANDARD.encode(text) }
    }
}

impl Document<'_> {
    /// Bytes in the Secret, where gzip compresses at this level.
    fn size(&self, level: Compression) -> usize {
        let counter = GzEncoder::new(Counter(0), level);
        // JSON comes in pieces of a few bytes.
        let mut counter = BufWriter::with_capacity(1 << 16, counter);
        // Writing to a counter cannot fail.
        let _ = serde_json::to_writer(&mut counter, self);
        let _ = counter.flush();
        let compressed = counter.into_inner().ok().and_then(|counter| counter.finish().ok());
        compressed.map_or(0, |counter| counter.0).div_ceil(3) * 4 + GZIP_OF_GO
    }
}

/// A time in nanoseconds, which compresses as badly as that of a file, and is always the same.
fn time(path: &str) -> String {
    let digits = path.bytes().fold(5_381_u64, |hash, byte| hash.wrapping_mul(33) ^ u64::from(byte));
    format!("2006-01-02T15:04:05.{:09}Z", digits % 1_000_000_000)
}

/// Counts what is written to it.
struct Counter(usize);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

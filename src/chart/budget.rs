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

use super::crds::TEMPLATES as CRDS_TEMPLATES;
use crate::emit::{CHART_LOCK, render};
use crate::ir::{Release, Unit};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::io::Write as _;

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

/// Bytes of the release in its Secret.
pub(super) fn release_bytes(
    chart: &str,
    files: &BTreeMap<String, String>,
    unit: &Unit,
    namespace: &str,
) -> usize {
    let values = unit.default_values();
    let release = Release { namespace, values: &values };
    let mut manifest = String::new();
    let mut templates = Vec::new();
    let mut others = Vec::new();
    let mut schema = "";
    let mut rendered = |path: &str, text: &str| {
        if path.ends_with(".yaml") {
            let rendered = render::render(text, &release);
            manifest.push_str("---\n# Source: ");
            manifest.push_str(&format!("{chart}/{path}\n"));
            manifest.push_str(rendered.as_deref().unwrap_or(text));
        }
    };
    for (path, text) in files {
        let file = || json!({"name": path, "modtime": time(path), "data": STANDARD.encode(text)});
        match path.as_str() {
            "Chart.yaml" | "values.yaml" | CHART_LOCK => {}
            "values.schema.json" => schema = text,
            _ if path.starts_with("charts/") => {
                if path.starts_with(CRDS_TEMPLATES) {
                    rendered(path, text);
                }
            }
            _ if path.starts_with("templates/") => {
                templates.push(file());
                rendered(path, text);
            }
            _ => others.push(file()),
        }
    }
    let when = time("");
    let text = |path: &str| files.get(path).map_or(Json::Null, |text| json!(text));
    let document = json!({
        "name": chart,
        "info": {
            "first_deployed": when,
            "last_deployed": when,
            "deleted": "",
            "description": "Install complete",
            "status": "deployed",
            "notes": text("templates/NOTES.txt"),
        },
        "chart": {
            "metadata": text("Chart.yaml"),
            "lock": text(CHART_LOCK),
            "templates": templates,
            "values": values,
            "schema": STANDARD.encode(schema),
            "schemamodtime": time("values.schema.json"),
            "files": others,
            "modtime": time("Chart.yaml"),
        },
        "manifest": manifest,
        "version": 1,
        "namespace": namespace,
        "apply_method": "ssa",
    });
    let mut counter = GzEncoder::new(Counter(0), Compression::best());
    // Writing to a counter cannot fail.
    let _ = counter.write_all(document.to_string().as_bytes());
    let compressed = counter.finish().map_or(0, |counter| counter.0);
    compressed.div_ceil(3) * 4 + GZIP_OF_GO
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

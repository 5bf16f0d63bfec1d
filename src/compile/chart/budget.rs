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
use flate2::write::GzEncoder;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::io::Write as _;

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
/// release fits: most do so without compression, and nearly all others with a fast one. Helm's
/// compression level would take half of the time of a build.
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
        "manifest": manifest(chart, files, &Release { namespace, values: &values }),
        "version": 1,
        "namespace": namespace,
        // Helm 4 stores the method, which is server-side apply for new installations.
        "apply_method": "ssa",
    });

    let plain = serde_json::to_vec(&document).unwrap_or_default();
    let bounds: [fn(&[u8]) -> usize; 2] = [stored, compressed_fast];
    let mut bounds = bounds.into_iter().map(|bound| in_secret(bound(&plain)));
    bounds.find(|bytes| *bytes < WARN).unwrap_or_else(|| {
        let best = miniz_oxide::deflate::compress_to_vec(&plain, BEST);
        in_secret(best.len() + GZIP_FRAME)
    })
}

/// Returns the rendered manifest: all templates as Helm concatenates them.
fn manifest(chart: &str, files: &BTreeMap<String, String>, release: &Release<'_>) -> String {
    let mut manifest = String::new();
    for (path, text) in files {
        let is_template = path.starts_with("templates/") || path.starts_with(CRDS_TEMPLATES);
        if is_template && path.ends_with(".yaml") {
            let rendered = render::render(text, release);
            // A template that cannot be rendered here is counted as it is.
            let rendered = rendered.as_deref().unwrap_or(text);
            manifest += &format!("---\n# Source: {chart}/{path}\n{rendered}");
        }
    }
    manifest
}

/// Returns true for files that Helm stores as `files`: not in a subchart, not a template, and not
/// parsed into another field.
fn is_other(path: &str) -> bool {
    !matches!(path, "Chart.yaml" | "values.yaml" | "values.schema.json" | CHART_LOCK)
        && !path.starts_with("charts/")
        && !path.starts_with("templates/")
}

/// Returns an upper bound of the size of gzip data, which stores what it cannot compress.
fn stored(plain: &[u8]) -> usize {
    plain.len() + plain.len().div_ceil(DEFLATE_BLOCK) * DEFLATE_BLOCK_HEADER + GZIP_FRAME
}

/// Returns the size of quickly compressed gzip data.
fn compressed_fast(plain: &[u8]) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(plain);
    encoder.finish().map_or(0, |compressed| compressed.len())
}

/// Compression level of Helm.
const BEST: u8 = 9;
/// Gzip's header, the last block and the trailer, in bytes.
const GZIP_FRAME: usize = 10 + 5 + 8;
/// Size of the blocks in which deflate stores incompressible data (RFC 1951); smaller ones than the
/// largest, because compressors also end blocks earlier.
const DEFLATE_BLOCK: usize = 1 << 14;
const DEFLATE_BLOCK_HEADER: usize = 5;

/// Returns the size of gzip data in the Secret, in base64.
fn in_secret(compressed: usize) -> usize {
    compressed.div_ceil(3) * 4 + GZIP_OF_GO
}

/// Returns a timestamp derived from the path: deterministic, and as incompressible as a real one.
fn time(path: &str) -> String {
    let digits = path.bytes().fold(5_381_u64, |hash, byte| hash.wrapping_mul(33) ^ u64::from(byte));
    format!("2006-01-02T15:04:05.{:09}Z", digits % 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the computed size of a release whose README has `length` letters of `letters`.
    fn with_readme(letters: u32, length: usize) -> usize {
        let mut state = 1_u32;
        let mut letter = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from_u32(u32::from(b' ') + (state >> 16) % letters).unwrap_or(' ')
        };
        let readme = (0..length).map(|_| letter()).collect();
        let files = BTreeMap::from([("README.md".to_owned(), readme)]);
        release_bytes("lamps", &files, &Unit::default(), "lamps")
    }

    #[test]
    fn what_fits_is_a_bound_and_what_may_not_fit_is_measured() {
        // Fits without compression, and with a fast one.
        for (letters, length) in [(64, 100_000), (2, 600_000)] {
            let bytes = with_readme(letters, length);
            assert!((1..WARN).contains(&bytes), "{bytes}");
            assert_eq!(share(bytes), "< 80 %");
        }

        // 64 letters have 6 bits, as those of base64; without compression it were 1.6 MB.
        let bytes = with_readme(64, 900_000);
        assert!((900_000..1_200_000).contains(&bytes), "{bytes}");
        assert_eq!(share(bytes), format!("≤ {} %", percent(bytes)));
    }
}

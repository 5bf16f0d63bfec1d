//! Chart.lock, Helm's lock file for the dependencies of a chart.
//!
//! `helm dependency build`, which `ct lint` runs, writes one with a timestamp into a chart with
//! dependencies and no lock. Charts contain a lock, so that Helm does not write one.

use crate::source::sha256;
use semver::Version;

/// Name of the file in a chart directory.
pub const CHART_LOCK: &str = "Chart.lock";

/// Name of the CRD subchart, the only dependency of charts.
pub const CRDS_SUBCHART: &str = "crds";

/// Prefix of the line with the timestamp.
const GENERATED: &str = "generated:";

/// The value that enables the CRD subchart, if it contains templates.
pub(super) const CRDS_CONDITION: &str = "crds.enabled";

/// Returns the Chart.lock of a chart whose only dependency is the subchart [`CRDS_SUBCHART`] of
/// this version in its own `charts/` directory, with [`CRDS_CONDITION`] if it is `conditional`.
///
/// Helm: `internal/resolver` hashes the dependencies of Chart.yaml and the locked ones as JSON, and
/// `pkg/downloader` writes the file only if the hash differs. Helm ignores the time; a constant
/// keeps charts reproducible.
pub fn chart_lock(version: &Version, conditional: bool) -> String {
    // Fields in the order of Helm's type `Dependency`; neither text needs escapes.
    let entry = format!(r#""name":"{CRDS_SUBCHART}","version":"{version}","repository":"""#);
    let condition = match conditional {
        true => format!(r#","condition":"{CRDS_CONDITION}""#),
        false => String::new(),
    };
    let lists = format!("[[{{{entry}{condition}}}],[{{{entry}}}]]");
    let digest = sha256(lists.as_bytes());

    format!(
        "dependencies:\n\
         - name: {CRDS_SUBCHART}\n  \
           repository: \"\"\n  \
           version: {version}\n\
         digest: sha256:{digest}\n\
         {GENERATED} \"1970-01-01T00:00:00Z\"\n"
    )
}

/// Returns true if `text` is a Chart.lock that Helm wrote for such a chart, of any version and at
/// any time. It contains no manual edits, so a build may replace or remove it.
pub fn is_written_by_helm(text: &str) -> bool {
    let version = text.lines().find_map(|line| line.strip_prefix("  version: "));
    let Some(version) = version.and_then(|version| Version::parse(version).ok()) else {
        return false;
    };

    let without_time = |line: &&str| !line.starts_with(GENERATED);
    [true, false].into_iter().any(|conditional| {
        let ours = chart_lock(&version, conditional);
        text.lines().filter(without_time).eq(ours.lines().filter(without_time))
    })
}

//! Chart.lock, the lock file that Helm keeps for the dependencies of a chart.
//!
//! `helm dependency build`, and `ct lint` through it, write one into a chart that has dependencies
//! and no lock, with the time in it. Charts bring theirs, so that Helm finds nothing to write.

use crate::source::sha256;
use semver::Version;

/// Name of the file in a chart folder.
pub const CHART_LOCK: &str = "Chart.lock";

/// Name of the subchart that CRDs are in, the only dependency that charts have.
pub const CRDS_SUBCHART: &str = "crds";

/// Start of the line that says when Helm wrote the file.
const GENERATED: &str = "generated:";

/// The value that switches the subchart on, where it holds templates.
pub(super) const CRDS_CONDITION: &str = "crds.enabled";

/// Returns the Chart.lock of a chart whose only dependency is the subchart [`CRDS_SUBCHART`] of
/// this version in its own `charts/` folder, with [`CRDS_CONDITION`] if it is `conditional`.
///
/// Helm: `internal/resolver` hashes the dependencies as JSON, those of Chart.yaml and those that
/// are locked, and `pkg/downloader` writes the file only when the hash differs. The time does not
/// matter to it; a constant one keeps charts reproducible.
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

/// Whether Helm wrote `text` for such a chart, of any version and at any time. Nobody's work is in
/// it, so a build may replace or remove it.
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

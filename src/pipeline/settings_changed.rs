//! Finds changes since the previous version of a chart: the placement of its CRDs, and the watched
//! namespaces. Only reads.

use crate::config::{BundleConfig, CrdPlacement, Watch};
use crate::diag::{Code, Diagnostic, Place};
use crate::output::{ChartFiles, chart_versions, ownership};
use crate::regular_file;
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of a Chart.yaml that are looked at.
const LONGEST: u64 = 1 << 20;
/// The annotation of a chart with the placement of its bundle's CRDs.
const CRDS: &str = "bundle2chart/crds: ";
/// The annotation of a chart with the namespaces that its operator watches.
const WATCH: &str = "bundle2chart/watch: ";

/// Returns a warning if the CRDs of a chart move: compares with the previous version in the output
/// directory, or with the version that is replaced. Charts that cannot be read are ignored.
pub fn crds_moved(out: &Path, chart: &ChartFiles) -> Option<Diagnostic> {
    let now = CrdPlacement::named(&annotation(chart.files.get("Chart.yaml")?, CRDS)?)?;
    let (dir, before) = previous(out, chart, CRDS)?;
    let before = CrdPlacement::named(&before)?;
    if before == now {
        return None;
    }

    let (from, to) = (before.as_str(), now.as_str());
    let hint = match (templates(before), templates(now)) {
        (false, true) => format!(
            "adopt the CRDs with the commands of the chart's README, because Helm does not adopt \
                CRDs that no release owns; or keep crds = \"{from}\""
        ),
        (true, false) => format!(
            "from now on, replace the CRDs with kubectl before each upgrade: the upgrade keeps \
                them in the cluster (`helm.sh/resource-policy: keep`), but Helm no longer \
                upgrades them; or keep crds = \"{from}\""
        ),
        (true, true) => "install or upgrade the release that has the CRDs now with \
            `--take-ownership`: the other release leaves them in the cluster, and Helm does not \
            adopt them without it"
            .to_owned(),
        (false, false) => {
            "if you replace the CRDs with kubectl, use the new path; nothing changes \
            in a cluster, because Helm installs both the same way"
                .to_owned()
        }
    };

    let effect = match templates(before) || templates(now) {
        true => ": a breaking change for existing releases",
        false => "",
    };
    let (name, dir) = (chart.name(), dir.display());
    let message = format!("the CRDs of `{name}` move from `{from}` ({dir}) to `{to}`{effect}");
    let place = out.join(&chart.dir).join("Chart.yaml").display().to_string();
    Some(Diagnostic::warning(Code::CrdsMoved, message).at(Place::file(place)).hint(hint))
}

/// Returns an error if the operator of a chart would watch other namespaces than in the previous
/// version in the output directory, and its bundle in `bundles` has no `watch` in bundles.toml. For
/// bundles that are not in the lock file, such as those of a path.
pub fn watch_changed(
    out: &Path,
    chart: &ChartFiles,
    bundles: &[BundleConfig],
) -> Option<Diagnostic> {
    let is_of = |bundle: &&BundleConfig| bundle.name == chart.name() && bundle.watch().is_none();
    let bundle = bundles.iter().find(is_of)?;
    let now = annotation(chart.files.get("Chart.yaml")?, WATCH)?;
    // A chart of the same version has the user's decision already.
    let own = recorded(&out.join(&chart.dir), WATCH).map(|before| (chart.dir.clone(), before));
    let (dir, before) = own.or_else(|| previous(out, chart, WATCH))?;
    if before == now {
        return None;
    }

    let toml = |text: &str| Watch::of_annotation(text).to_toml();
    let (effect, keep) = match now.as_str() {
        "all" => (
            "its Roles become ClusterRoles for all namespaces",
            format!("watch = {} to keep it, or ", toml(&before)),
        ),
        _ => ("custom resources in other namespaces are no longer reconciled", String::new()),
    };
    let message = format!(
        "`{}` would watch {now} instead of {before} as in chart `{}`, because the bundle's install \
            modes changed: {effect}",
        bundle.name,
        out.join(dir).display(),
    );

    let hint = format!("write {keep}watch = {} to accept", toml(&now));
    Some(Diagnostic::error(Code::WatchChanged, message).at(&bundle.span).hint(hint))
}

/// Returns true if the CRDs are objects of a release.
fn templates(placement: CrdPlacement) -> bool {
    matches!(placement, CrdPlacement::Templates | CrdPlacement::Separate)
}

/// Returns the directory of the newest version of the chart that is older than this one, else of the
/// replaced chart, and its annotation.
fn previous(root: &Path, chart: &ChartFiles, key: &str) -> Option<(PathBuf, String)> {
    // The newest of the older ones is what is installed, most likely.
    let older = chart_versions::older(root, &chart.dir, &chart.version).ok()?.into_iter();
    let mut dirs = older.map(|(dir, _)| PathBuf::from(dir)).chain([chart.dir.clone()]);
    dirs.find_map(|dir| Some((dir.clone(), recorded(&root.join(dir), key)?)))
}

/// Returns an annotation of a generated chart.
fn recorded(folder: &Path, key: &str) -> Option<String> {
    // Charts of others have no such annotations, or mean something else.
    fs::symlink_metadata(folder.join(ownership::FILE_NAME)).ok()?;
    let file = folder.join("Chart.yaml");
    let is_file = fs::symlink_metadata(&file).is_ok_and(|metadata| metadata.is_file());
    annotation(&regular_file::read(&file, LONGEST).ok().filter(|_| is_file)?, key)
}

/// Returns an annotation of our own Chart.yaml: one line, as this crate writes it.
fn annotation(chart: &[u8], key: &str) -> Option<String> {
    let text = std::str::from_utf8(chart).ok()?;
    let value = text.lines().find_map(|line| line.trim_start().strip_prefix(key))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

#[cfg(test)]
mod tests;

//! Finds changes since the previous version of a chart: the placement of its CRDs, and the watched
//! namespaces. Only reads.

#![expect(clippy::disallowed_methods, reason = "reads the output directory")]

use crate::config::{BundleConfig, CrdPlacement, Watch};
use crate::diag::{Code, Diagnostic, Place};
use crate::output::{ChartFiles, ownership};
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
    let now = chart.files.get("Chart.yaml").and_then(|text| placement(text))?;
    let (dir, before) = previous(out, chart, placement_in)?;
    (before != now).then(|| warning(out, chart, &dir, before, now))
}

/// Returns an error if the operator of a chart would watch other namespaces than in the previous
/// version in the output directory, and its bundle in `bundles` has no `watch` in bundles.toml. For
/// bundles that are not in the lock file, such as those of a path.
pub fn watch_changed(
    out: &Path,
    chart: &ChartFiles,
    bundles: &[BundleConfig],
) -> Option<Diagnostic> {
    let name = chart.dir.iter().next()?.to_str()?;
    let bundle = bundles.iter().find(|bundle| bundle.name == name && bundle.watch().is_none())?;
    let now = annotation(chart.files.get("Chart.yaml")?, WATCH)?;
    let read = |folder: &Path| annotation(&chart_yaml(folder)?, WATCH);

    // A chart of the same version has the user's decision already.
    let own = read(&out.join(&chart.dir)).map(|before| (chart.dir.clone(), before));
    let (dir, before) = own.or_else(|| previous(out, chart, read))?;
    (before != now).then(|| watch_error(bundle, &out.join(dir), &before, &now))
}

fn watch_error(bundle: &BundleConfig, chart: &Path, before: &str, now: &str) -> Diagnostic {
    let toml = |text: &str| Watch::of_annotation(text).to_toml();
    let message = format!(
        "`{}` would watch {now} instead of {before} as in chart `{}`, because the bundle's install \
            modes changed: {}",
        bundle.name,
        chart.display(),
        match now {
            "all" => "its Roles become ClusterRoles for all namespaces",
            _ => "custom resources in other namespaces are no longer reconciled",
        }
    );

    let keep = match now {
        "all" => format!("watch = {} to keep it, or ", toml(before)),
        _ => String::new(),
    };

    Diagnostic::error(Code::WatchChanged, message)
        .at(&bundle.span)
        .hint(format!("write {keep}watch = {} to accept", toml(now)))
}

fn warning(
    out: &Path,
    chart: &ChartFiles,
    dir: &Path,
    before: CrdPlacement,
    now: CrdPlacement,
) -> Diagnostic {
    let name = chart.dir.iter().next().map(Path::new).unwrap_or(Path::new("")).display();
    let hint = match (templates(before), templates(now)) {
        (false, true) => format!(
            "adopt the CRDs with the commands of the chart's README, because Helm does not adopt \
                CRDs that no release owns; or keep crds = \"{}\"",
            before.as_str()
        ),
        (true, false) => format!(
            "from now on, replace the CRDs with kubectl before each upgrade: the upgrade keeps \
                them in the cluster (`helm.sh/resource-policy: keep`), but Helm no longer \
                upgrades them; or keep crds = \"{}\"",
            before.as_str()
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

    Diagnostic::warning(
        Code::CrdsMoved,
        format!(
            "the CRDs of `{name}` move from `{}` ({}) to `{}`{}",
            before.as_str(),
            dir.display(),
            now.as_str(),
            if templates(before) || templates(now) {
                ": a breaking change for existing releases"
            } else {
                ""
            }
        ),
    )
    .at(Place::file(out.join(&chart.dir).join("Chart.yaml").display().to_string()))
    .hint(hint)
}

/// Returns true if the CRDs are objects of a release.
fn templates(placement: CrdPlacement) -> bool {
    matches!(placement, CrdPlacement::Templates | CrdPlacement::Separate)
}

/// Reads the newest version of the chart that is older than this one, else the replaced chart.
fn previous<T>(
    root: &Path,
    chart: &ChartFiles,
    read: impl Fn(&Path) -> Option<T>,
) -> Option<(PathBuf, T)> {
    let name = chart.dir.iter().next()?;
    let mut dirs = vec![chart.dir.clone()];
    if chart.dir.components().count() > 1 {
        // The versioned layout, NAME/VERSION; in the flat one, the replaced chart is the only
        // candidate.
        let own = semver::Version::parse(&chart.version).ok()?;
        let entries = fs::read_dir(root.join(name)).ok()?;
        let mut older: Vec<(semver::Version, PathBuf)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?.file_name();
                let version = semver::Version::parse(entry.to_str()?).ok()?;
                (version < own).then(|| (version, Path::new(name).join(entry)))
            })
            .collect();
        // By version; the newest of the older ones is what is installed, most likely.
        older.sort();
        dirs.extend(older.into_iter().map(|(_, dir)| dir));
        // The newest first, and this one last.
        dirs.reverse();
    }
    dirs.into_iter().find_map(|dir| Some((dir.clone(), read(&root.join(dir))?)))
}

/// Returns the placement of the CRDs in a generated chart.
fn placement_in(folder: &Path) -> Option<CrdPlacement> {
    placement(&chart_yaml(folder)?).or_else(|| placement_of_old(folder))
}

/// Returns Chart.yaml of a generated chart.
fn chart_yaml(folder: &Path) -> Option<Vec<u8>> {
    // Charts of others have no such annotations, or mean something else.
    fs::symlink_metadata(folder.join(ownership::FILE_NAME)).ok()?;
    let file = folder.join("Chart.yaml");
    let metadata = fs::symlink_metadata(&file).ok()?;
    if !metadata.is_file() || metadata.len() > LONGEST {
        return None;
    }
    regular_file::read(&file, LONGEST).ok()
}

/// Returns the placement of the CRDs in a chart that was generated before charts recorded it.
fn placement_of_old(folder: &Path) -> Option<CrdPlacement> {
    let is_folder = |path: &str| folder.join(path).is_dir();
    // Charts of releases before the annotation.
    if is_folder("charts/crds/crds") {
        return Some(CrdPlacement::Subchart);
    }
    if is_folder("crds") {
        return Some(CrdPlacement::Crds);
    }
    let templates = fs::read_dir(folder.join("templates")).ok()?;
    let mut names = templates.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let crds = names.any(|name| name.starts_with("customresourcedefinition-"));
    crds.then_some(CrdPlacement::Templates)
}

/// Returns the placement of the CRDs that a generated Chart.yaml records.
fn placement(chart: &[u8]) -> Option<CrdPlacement> {
    CrdPlacement::named(&annotation(chart, CRDS)?)
}

/// Returns an annotation of our own Chart.yaml: one line, as this crate writes it.
fn annotation(chart: &[u8], key: &str) -> Option<String> {
    let text = std::str::from_utf8(chart).ok()?;
    let value = text.lines().find_map(|line| line.trim_start().strip_prefix(key))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

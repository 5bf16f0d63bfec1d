//! The charts that are installed: those of out/ in the order of its helmfile, charts of bundles, and
//! small ones made here.

use crate::offline;
use bundle2chart::config::Config;
use bundle2chart::diag::Diagnostics;
use bundle2chart::output::{self, Mode};
use serde_json::Value as Json;
use std::fs;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// A release of a helmfile.
pub(crate) struct Release {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) chart: PathBuf,
    /// The folder of the bundle that the chart was compiled from; charts of CRDs and operands have
    /// none of their own.
    pub(crate) bundle: Option<PathBuf>,
}

/// The folder of the project.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The releases of the committed helmfile, in its order: CRDs come with or before their operators,
/// and operands after them.
pub(crate) fn fixtures() -> Vec<Release> {
    releases(&root().join("out"))
}

/// The releases of the helmfile in an output folder.
pub(crate) fn releases(out: &Path) -> Vec<Release> {
    let text = fs::read_to_string(out.join("helmfile.yaml")).expect("a helmfile");
    let helmfile: Json = serde_yaml::from_str(&text).expect("YAML");
    let release = |release: &Json| {
        let text = |key: &str| release[key].as_str().expect("a string").to_owned();
        let chart = out.join(text("chart").trim_start_matches("./"));
        let bundle = bundle(&text("name"), &chart);
        Release { name: text("name"), namespace: text("namespace"), chart, bundle }
    };
    helmfile["releases"].as_array().expect("releases").iter().map(release).collect()
}

fn bundle(name: &str, chart: &Path) -> Option<PathBuf> {
    let version = label(chart);
    let version = version.split_once("-fixture").map_or(&*version, |(version, _)| version);
    let folder = root().join("fixtures/bundles").join(name).join(version);
    folder.is_dir().then_some(folder)
}

/// Copies a chart to the folder `to`, with each of these texts replaced by another.
pub(crate) fn copy(chart: &Path, to: &Path, replacements: &[(&str, &str)]) -> PathBuf {
    for entry in WalkDir::new(chart) {
        let entry = entry.expect("an entry");
        let target = to.join(entry.path().strip_prefix(chart).expect("below"));
        if entry.file_type().is_dir() {
            fs::create_dir_all(target).expect("a folder");
        } else {
            let text = fs::read_to_string(entry.path()).expect("a text");
            let replaced =
                replacements.iter().fold(text, |text, (from, to)| text.replace(from, to));
            fs::write(target, replaced).expect("a file");
        }
    }
    to.to_owned()
}

/// Compiles the bundle in a folder, with `settings` in its table of bundles.toml, to the operator's
/// chart below `folder`; nothing for a bundle that is refused.
pub(crate) fn compiled(bundle: &Path, settings: &str, folder: &Path) -> Option<PathBuf> {
    fs::create_dir_all(folder).expect("a folder");
    let file = folder.join("bundles.toml");
    let path = serde_json::to_string(bundle).expect("UTF-8"); // spelled alike in TOML
    let text = format!("[[bundle]]\nname = \"operator\"\npath = {path}\n{settings}\n");
    fs::write(&file, text).expect("bundles.toml");
    let config = Config::read(&file, &mut Diagnostics::new()).expect("a configuration");
    let (charts, diagnostics) = offline::build(&config, &["operator"]);
    if diagnostics.has_errors() {
        return None;
    }
    let out = folder.join("out");
    output::write(&out, &charts, None, Mode::Write { replace: false }, &mut Diagnostics::new())
        .expect("an empty folder takes every chart");
    let own = charts.iter().find(|chart| chart.dir.starts_with("operator"))?;
    Some(out.join(&own.dir))
}

/// The chart of CRDs that was compiled with an operator's, where there is one.
pub(crate) fn crds_of(operator: &Path) -> Option<PathBuf> {
    let out = operator.ancestors().nth(2).expect("the folder of all charts");
    let folder = out.join("operator-crds").join(label(operator));
    folder.is_dir().then_some(folder)
}

/// The ClusterServiceVersion of a bundle.
pub(crate) fn csv(bundle: &Path) -> Json {
    fs::read_dir(bundle.join("manifests"))
        .expect("manifests")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.to_string_lossy().contains("clusterserviceversion"))
        .map(|path| serde_yaml::from_str(&fs::read_to_string(path).expect("a text")).expect("YAML"))
        .expect("a CSV")
}

/// Examples of the operator's own resources: `alm-examples` of its bundle.
pub(crate) fn examples(bundle: &Path) -> Vec<Json> {
    let csv = csv(bundle);
    let examples = csv["metadata"]["annotations"]["alm-examples"].as_str().unwrap_or("[]");
    serde_json::from_str(examples).expect("JSON")
}

/// The folders in a folder, sorted.
pub(crate) fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).expect("a readable folder");
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.expect("an entry").path()).filter(|p| p.is_dir()).collect();
    folders.sort();
    folders
}

/// The version of a chart, which is not part of its path in every layout.
pub(crate) fn version(chart: &Path) -> String {
    let text = fs::read_to_string(chart.join("Chart.yaml")).expect("a chart");
    let chart: Json = serde_yaml::from_str(&text).expect("YAML");
    chart["version"].as_str().expect("a version").to_owned()
}

/// The last part of a path.
pub(crate) fn label(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

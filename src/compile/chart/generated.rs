//! Renders charts that this version of bundle2chart wrote, without Helm.
//!
//! A chart is rendered here only if every file that Helm would read has a path and a form that the
//! writer gives it. Annotations and the ownership file prove nothing, because anybody can write them.

use super::chart_lock::{CHART_LOCK, CRDS_CONDITION, CRDS_SUBCHART};
use super::required_apis::{self, REQUIRED_APIS};
use super::{HELMIGNORE, crds, named_templates};
use crate::ir::Release;
use crate::source::chart::{ChartTree, Identity};
use crate::yaml::render::{self, RENDERED_BYTES};
use crate::yaml::{self, CRD_VERSION_TEMPLATE};
use serde_json::Value as Json;

/// Files of a chart that Helm does not render, in its directory.
const NOT_RENDERED: [&str; 5] =
    ["README.md", "UPGRADE.md", ".bundle2chart", "values.schema.json", CHART_LOCK];

/// Keys of Chart.yaml, in the order in which they are written. Helm would also read them with other
/// upper and lower case.
const CHART_KEYS: [&str; 15] = [
    "apiVersion",
    "name",
    "version",
    "appVersion",
    "description",
    "type",
    "kubeVersion",
    "home",
    "keywords",
    "sources",
    "icon",
    "deprecated",
    "maintainers",
    "dependencies",
    "annotations",
];

/// Directories with one manifest in each file.
const MANIFESTS: [&str; 4] = ["templates", crds::TEMPLATES, crds::SUBCHART, crds::OWN];

/// A file of a generated chart with an object, rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Path of the file in the chart.
    pub path: String,
    /// True for a file in `crds/`, whose CRDs Helm does not upgrade.
    pub is_in_crds_folder: bool,
    /// The object as YAML.
    pub text: String,
}

/// Renders a chart with these values in this namespace; `None` if a file is not as this version writes
/// it.
pub fn render_generated(
    files: &ChartTree,
    namespace: &str,
    values: &Json,
) -> Option<Vec<Manifest>> {
    let identity = Identity::of(files).ok()?;
    let subchart = subchart(files, &identity)?;
    let nothing = Json::Null;
    let values_of_subchart = values.get(CRDS_SUBCHART).unwrap_or(&nothing);
    // Helm passes them to subcharts.
    if values.get("global").is_some() || values_of_subchart.get("global").is_some() {
        return None;
    }
    let without_subchart = subchart == Subchart::Conditional
        && values_of_subchart.get("enabled") == Some(&Json::Bool(false));

    let release = Release { namespace, values };
    let release_of_subchart = Release { namespace, values: values_of_subchart };
    let mut manifests = Vec::new();
    let mut bytes = 0;
    for (path, content) in files {
        let text = str::from_utf8(content).ok()?;
        let Some(folder) = manifest_folder(path) else {
            if !is_written(path, text, &release, &identity) {
                return None;
            }
            continue;
        };

        let in_subchart = folder.starts_with("charts/");
        if in_subchart && subchart == Subchart::None {
            return None;
        }
        let is_in_crds_folder = folder == crds::OWN || folder == crds::SUBCHART;
        let (release, name) = match in_subchart {
            true => (&release_of_subchart, CRDS_SUBCHART),
            false => (&release, identity.name.as_str()),
        };
        let chart = [name, identity.version.as_str()];
        let text = match is_in_crds_folder {
            true => text.to_owned(),
            false => render::render_strictly(text, release, chart).ok()?,
        };
        bytes += text.len();
        if bytes > RENDERED_BYTES {
            return None;
        }
        if !(in_subchart && without_subchart) {
            manifests.push(Manifest { path: path.clone(), is_in_crds_folder, text });
        }
    }
    Some(manifests)
}

/// Returns the directory of a file with a manifest.
fn manifest_folder(path: &str) -> Option<&'static str> {
    let (folder, name) = path.rsplit_once('/')?;
    // Helm renders files with a leading `_`, but adds nothing of them to the release.
    let is_manifest = name.ends_with(".yaml") && !name.starts_with(['_', '.']);
    MANIFESTS.into_iter().find(|known| is_manifest && known.trim_end_matches('/') == folder)
}

/// Returns true if a file without a manifest is as the writer makes it.
fn is_written(path: &str, text: &str, release: &Release<'_>, identity: &Identity) -> bool {
    let Identity { name, version } = identity;
    if NOT_RENDERED.contains(&path) {
        return true;
    }
    match path {
        // Checked with the chart.
        "Chart.yaml" | SUBCHART_METADATA => true,
        "values.yaml" => single_map(text).is_some() || text.trim().is_empty(),
        ".helmignore" => text == HELMIGNORE,
        "templates/NOTES.txt" => render::render_strictly(text, release, [name, version]).is_ok(),
        REQUIRED_APIS => required_apis::is_written(text),
        _ => {
            let mut named = named_templates::TEXTS.iter();
            named.any(|row| (row.0, row.1) == (path, text)) || is_crd_check(path, text)
        }
    }
}

/// Returns true for the template with the version check of CRDs.
fn is_crd_check(path: &str, text: &str) -> bool {
    let folder = path.strip_suffix(crds::CHECK);
    folder.is_some_and(|folder| folder == "templates/" || folder == crds::TEMPLATES)
        && text == CRD_VERSION_TEMPLATE
}

/// Chart.yaml of the subchart.
const SUBCHART_METADATA: &str = "charts/crds/Chart.yaml";

/// The subchart with CRDs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subchart {
    None,
    Always,
    /// Values can disable it.
    Conditional,
}

/// Returns the subchart that Chart.yaml declares; `None` if it or the subchart's is not as the writer
/// makes it.
fn subchart(files: &ChartTree, identity: &Identity) -> Option<Subchart> {
    let read = |path: &str| single_map(str::from_utf8(files.get(path)?).ok()?);
    let metadata = read("Chart.yaml")?;
    let is_chart = |metadata: &Json| {
        let keys = metadata.as_object().into_iter().flat_map(|map| map.keys());
        keys.into_iter().all(|key| CHART_KEYS.contains(&key.as_str()))
            && metadata["apiVersion"] == "v2"
            && metadata["type"] == "application"
    };
    if !is_chart(&metadata) || semver::Version::parse(&identity.version).is_err() {
        return None;
    }

    let Some(dependencies) = metadata.get("dependencies") else {
        return (!files.contains_key(SUBCHART_METADATA)).then_some(Subchart::None);
    };
    let own = read(SUBCHART_METADATA)?;
    let is_own = is_chart(&own)
        && own["name"] == CRDS_SUBCHART
        && own["version"] == identity.version.as_str()
        && own.get("dependencies").is_none();
    let [dependency] = dependencies.as_array()?.as_slice() else { return None };
    let mut dependency = dependency.as_object()?.clone();
    let condition = dependency.shift_remove("condition");
    let is_declared = dependency.len() == 2
        && dependency.get("name") == own.get("name")
        && dependency.get("version") == own.get("version");
    let subchart = match condition {
        None => Subchart::Always,
        Some(condition) if condition == CRDS_CONDITION => Subchart::Conditional,
        Some(_) => return None,
    };
    (is_own && is_declared).then_some(subchart)
}

/// Parses a text with one map, such as a file of values.
pub fn single_map(text: &str) -> Option<Json> {
    let documents = yaml::parse(text).ok()?;
    let [document] = documents.as_slice() else { return None };
    Some(Release::LITERAL.value(document)).filter(Json::is_object)
}

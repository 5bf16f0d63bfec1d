//! A unit laid out as the files of a Helm chart, in memory.

mod certificates;
mod crds;
mod manifest;
mod metadata;
mod notes;
mod readme;
mod serving;
mod values;

pub use serving::serving_chart;

use crate::bundle::Bundle;
use crate::config::{BundleConfig, CrdPlacement};
use crate::emit::CERTIFICATE_TEMPLATE;
use crate::ir::Unit;
use std::collections::BTreeMap;

/// A chart: its files by `/`-separated path.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Name of the chart.
    pub name: String,
    /// Version of the chart.
    pub version: semver::Version,
    /// Content by path.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// What a chart says about itself besides its objects.
#[derive(Clone, Copy, Debug)]
pub struct Description<'a> {
    /// The bundle that it came from.
    pub bundle: &'a Bundle,
    /// How it is configured.
    pub config: &'a BundleConfig,
    /// Version of the chart.
    pub version: &'a semver::Version,
    /// Namespace that the README installs it into.
    pub namespace: &'a str,
    /// Bytes-independent name of where the bundle came from, as configured.
    pub origin: &'a str,
    /// Images that the chart refers to.
    pub images: &'a [String],
}

/// Lays the unit out.
pub fn chart(unit: &Unit, description: &Description<'_>) -> Chart {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let crds = crds::place(&unit.objects, description.config.crds);
    for (path, text) in manifest::templates(unit.objects.iter().filter(|o| !crds.holds(o))) {
        files.insert(path, text);
    }
    if certificates::are_generated(unit) {
        files.insert(certificates::PATH.to_owned(), CERTIFICATE_TEMPLATE.to_owned());
    }
    let subchart = !crds.files.is_empty() && description.config.crds == CrdPlacement::Subchart;
    if subchart {
        files.insert("charts/crds/Chart.yaml".to_owned(), metadata::crds_chart(description));
    }
    files.insert("Chart.yaml".to_owned(), metadata::chart(description, subchart));
    files.insert("values.yaml".to_owned(), values::yaml(&unit.values));
    files.insert("values.schema.json".to_owned(), values::schema(unit, subchart));
    files.insert("README.md".to_owned(), readme::readme(unit, description, &crds));
    files.insert("templates/NOTES.txt".to_owned(), notes::notes(unit, &crds));
    files.insert(".helmignore".to_owned(), HELMIGNORE.to_owned());
    files.extend(crds.files);
    Chart {
        name: description.config.name.clone(),
        version: description.version.clone(),
        files: files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect(),
    }
}

/// Everything that Helm does not ignore is stored in the release Secret.
const HELMIGNORE: &str = "\
# Files that are for Git and for people, not for the release.
.bundle2chart
.git/
.gitignore
*.swp
*.tgz
.DS_Store
";

//! One side of a comparison: what a chart or a bundle would put into a cluster.

use super::Identity;
use crate::ir::CRD_VERSION;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// Kind of the pseudo-object that stands for the chart itself.
pub const CHART_KIND: &str = "Chart";

/// Where a chart has a CRD, which decides what Helm does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placement {
    /// `crds/` of the chart or of a subchart: not touched by upgrades and uninstalls.
    Crds,
    /// `templates/`: part of the release.
    Templates,
}

impl Placement {
    /// The word in a report.
    pub fn as_str(self) -> &'static str {
        match self {
            Placement::Crds => "crds",
            Placement::Templates => "templates",
        }
    }
}

/// What is known of a chart besides its objects.
#[derive(Clone, Debug, Default)]
pub struct ChartFacts {
    /// Name of the chart.
    pub name: String,
    /// Its `version`.
    pub version: String,
    /// Its `appVersion`.
    pub app_version: String,
    /// Its `kubeVersion`, a constraint.
    pub kube_version: String,
    /// Default values.
    pub values: Json,
    /// Its `values.schema.json`; null without one.
    pub schema: Json,
    /// What the user gave over the default values.
    pub given: Json,
    /// Where each CRD is, by name.
    pub crds: BTreeMap<String, Placement>,
    /// Folder with its CRDs outside of templates, as a person would name it for `kubectl`.
    pub crds_folder: String,
    /// Files of the CRDs outside of templates, by the name of the CRD.
    pub crd_files: BTreeMap<String, String>,
}

/// One side of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// What a person calls it.
    pub label: String,
    /// The objects, by identity. The chart itself is one of them where there is one.
    pub objects: BTreeMap<Identity, Json>,
    /// The chart, where it is one.
    pub chart: Option<ChartFacts>,
    /// The package of its operator; empty when it is not known.
    pub package: String,
    /// Version of its operator; empty when it is not known.
    pub operator_version: String,
    /// The release namespace that it was rendered for.
    pub namespace: String,
    /// Objects that were there twice; the last one counts.
    pub duplicates: Vec<Identity>,
    /// Versions that CRDs are from, by name. The annotation with it changes with each version of a
    /// chart, so it is no part of the objects.
    pub crd_versions: BTreeMap<String, String>,
}

impl Side {
    /// A side with these objects, rendered for the release namespace `namespace`, which their
    /// identities leave out.
    pub fn new(
        label: impl Into<String>,
        objects: impl IntoIterator<Item = Json>,
        namespace: &str,
        chart: Option<ChartFacts>,
    ) -> Self {
        let mut side =
            Side { label: label.into(), chart, namespace: namespace.to_owned(), ..Side::default() };
        for mut object in objects {
            release_namespace(&mut object, namespace);
            let version = take_crd_version(&mut object);
            let id = Identity::of(&object);
            side.crd_versions.extend(version.map(|version| (id.name.clone(), version)));
            if side.objects.insert(id.clone(), object).is_some() {
                side.duplicates.push(id);
            }
        }
        side
    }

    /// Adds the chart as an object, so that it is compared as one. Only where both sides are
    /// charts: what is known of one side alone is no difference.
    pub fn add_chart(&mut self) {
        let Some(chart) = &self.chart else { return };
        let object = chart.object();
        self.objects.insert(Identity::of(&object), object);
    }
}

impl ChartFacts {
    fn object(&self) -> Json {
        let crds: Map<String, Json> =
            self.crds.iter().map(|(name, at)| (name.clone(), json!(at.as_str()))).collect();
        let mut object = json!({
            "apiVersion": "bundle2chart/chart",
            "kind": CHART_KIND,
            "metadata": {"name": "chart"},
            "version": self.version,
            "crds": crds,
            "values": self.values,
        });
        for (key, text) in [("appVersion", &self.app_version), ("kubeVersion", &self.kube_version)]
        {
            if !text.is_empty() {
                object[key] = json!(text);
            }
        }
        object
    }
}

/// Removes the annotation of a CRD with the version that it is from.
fn take_crd_version(object: &mut Json) -> Option<String> {
    if object.get("kind").and_then(Json::as_str) != Some("CustomResourceDefinition") {
        return None;
    }
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    let annotations = metadata.get_mut("annotations")?.as_object_mut()?;
    let version = annotations.shift_remove(CRD_VERSION)?;
    if annotations.is_empty() {
        metadata.shift_remove("annotations");
    }
    version.as_str().map(str::to_owned)
}

/// Objects in the release namespace are the same whether they say so or not.
fn release_namespace(object: &mut Json, namespace: &str) {
    let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) else { return };
    if metadata.get("namespace").and_then(Json::as_str) == Some(namespace) {
        metadata.shift_remove("namespace");
    }
}

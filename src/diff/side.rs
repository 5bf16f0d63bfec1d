//! One side of a comparison: the objects of a chart or a bundle.

use super::Identity;
use crate::ir::CRD_VERSION;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// Kind of the pseudo-object that represents the chart itself.
pub const CHART_KIND: &str = "Chart";

/// Placement of a CRD in a chart, which decides how Helm handles it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placement {
    /// In `crds/` of the chart or of a subchart: ignored by upgrades and uninstalls.
    Crds,
    /// In `templates/`: part of the release.
    Templates,
}

impl Placement {
    /// Returns the name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Placement::Crds => "crds",
            Placement::Templates => "templates",
        }
    }
}

/// Metadata of a chart.
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
    /// Values given by the user.
    pub given: Json,
    /// Placement of CRDs, by name.
    pub crds: BTreeMap<String, Placement>,
    /// Folder of CRDs outside of templates, relative to the chart.
    pub crds_folder: String,
    /// Files of the CRDs outside of templates, by the name of the CRD.
    pub crd_files: BTreeMap<String, String>,
}

/// One side of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Label in reports.
    pub label: String,
    /// Objects by identity, including the chart itself after [`Side::add_chart`].
    pub objects: BTreeMap<Identity, Json>,
    /// Metadata, if the side is a chart.
    pub chart: Option<ChartFacts>,
    /// Package of the operator; empty if unknown.
    pub package: String,
    /// Version of the operator; empty if unknown.
    pub operator_version: String,
    /// Release namespace that the chart was rendered for.
    pub namespace: String,
    /// Duplicate objects; the last one wins.
    pub duplicates: Vec<Identity>,
    /// Operator versions of CRDs by name, from an annotation. It changes with each chart version, so
    /// it is removed from the objects.
    pub crd_versions: BTreeMap<String, String>,
}

impl Side {
    /// Creates a side from objects that were rendered for the release namespace `namespace`, which is
    /// removed from their identities.
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

    /// Adds the chart as a pseudo-object, so that its metadata is compared. Call it only if both sides
    /// are charts: otherwise all metadata would be a difference.
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

/// Removes and returns the annotation of a CRD with the operator version.
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

/// Removes `metadata.namespace` if it is the release namespace, so that objects with and without it
/// have the same identity.
fn release_namespace(object: &mut Json, namespace: &str) {
    let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) else { return };
    if metadata.get("namespace").and_then(Json::as_str) == Some(namespace) {
        metadata.shift_remove("namespace");
    }
}

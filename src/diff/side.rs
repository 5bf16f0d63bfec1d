//! One side of a comparison: the objects of a chart or a bundle.

use super::{Identity, values_schema};
use crate::ir::UpgradeEdges;
use crate::read::{at, entries, items, text};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Kind of the pseudo-object that represents the chart itself.
pub const CHART_KIND: &str = "Chart";

/// Kind of the pseudo-object that represents facts of the bundle.
const BUNDLE_KIND: &str = "Bundle";

/// Kind of the pseudo-object with the findings about the two sides as a whole.
const UPGRADE_KIND: &str = "Upgrade";

/// API group of the pseudo-objects.
const DESCRIPTION_GROUP: &str = "bundle2chart";

/// Returns true for the pseudo-objects that describe a side, which are not objects of the cluster.
pub fn is_description(id: &Identity) -> bool {
    id.group == DESCRIPTION_GROUP
        && [CHART_KIND, BUNDLE_KIND, UPGRADE_KIND].contains(&id.kind.as_str())
}

/// Returns the identity of the pseudo-object with the findings about the two sides as a whole.
pub(super) fn upgrade() -> Identity {
    Identity::new(UPGRADE_KIND, DESCRIPTION_GROUP, "", "upgrade")
}

/// Returns true for the pseudo-object with the findings about the two sides as a whole.
pub(super) fn is_upgrade(id: &Identity) -> bool {
    is_description(id) && id.kind == UPGRADE_KIND
}

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
    /// Names of the CRDs that are in the chart NAME-crds, another release.
    pub separate_crds: BTreeSet<String>,
}

/// Facts of a bundle outside of its objects. A fact that one side does not know is not compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleFacts {
    /// Name of the ClusterServiceVersion; empty if unknown.
    pub csv: String,
    /// The edges that lead to it in the vendor's upgrade graph.
    pub edges: UpgradeEdges,
    /// Supported install modes.
    pub install_modes: Option<Vec<String>>,
    /// Namespaces that the operator was compiled to watch: `all`, `own`, or names.
    pub watch: Option<String>,
    /// Packages and APIs that the bundle needs.
    pub requires: Option<Vec<String>>,
    /// `spec.minKubeVersion`; charts have it as `kubeVersion`.
    pub min_kube_version: Option<String>,
    /// `spec.relatedImages`, as a list of names and images.
    pub related_images: Option<Json>,
}

/// Maximum number of rules that are filled in: each role may aggregate all others.
const MOST_RULES: usize = 100_000;

/// Maximum number of ClusterRoles that aggregate one another in a row.
const MOST_LEVELS: usize = 5;

/// One side of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Label in reports.
    pub label: String,
    /// Objects by identity; the comparison adds the chart itself.
    pub objects: BTreeMap<Identity, Json>,
    /// Metadata, if the side is a chart.
    pub chart: Option<ChartFacts>,
    /// Facts of its bundle.
    pub bundle: BundleFacts,
    /// Package of the operator; empty if unknown.
    pub package: String,
    /// Version of the operator; empty if unknown.
    pub operator_version: String,
    /// Release namespace that the chart was rendered for.
    pub namespace: String,
    /// True if no object names a namespace that should be the release namespace, as in the charts of
    /// bundle2chart.
    pub follows_namespace: bool,
    /// Objects that are there more than once, and true if with other content: then the first one is
    /// compared.
    pub duplicates: Vec<(Identity, bool)>,
    /// ClusterRoles with the rules that a controller fills in, and none in the chart.
    pub filled: BTreeSet<Identity>,
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
            let id = Identity::of(&object);
            match side.objects.entry(id) {
                Entry::Vacant(free) => {
                    free.insert(object);
                }
                Entry::Occupied(first) => {
                    side.duplicates.push((first.key().clone(), *first.get() != object));
                }
            }
        }
        side
    }

    /// Makes the objects those that the API server stores and its controllers complete.
    pub(super) fn complete(&mut self) {
        self.objects.values_mut().for_each(encode_string_data);
        self.aggregate_roles();
    }

    /// Fills in the rules of ClusterRoles that aggregate others of the side, as their controller does.
    fn aggregate_roles(&mut self) {
        let roles = self.objects.iter_mut().filter(|(id, _)| id.kind == "ClusterRole");
        let mut aggregated: Vec<(Identity, Json)> = Vec::new();
        for (id, role) in roles {
            let Some(rule) = role.get("aggregationRule").cloned() else { continue };
            if role.get("rules").is_none() {
                self.filled.insert(id.clone());
            }
            role["rules"] = json!([]);
            aggregated.push((id.clone(), rule));
        }

        // Each round passes rules on by one level at least.
        for _ in 0..MOST_LEVELS {
            let (mut left, mut is_same) = (MOST_RULES, true);
            for (id, rule) in &aggregated {
                let rules: Vec<Json> = self.rules_of_parts(id, rule).take(left).cloned().collect();
                left -= rules.len();
                let Some(role) = self.objects.get_mut(id) else { continue };
                is_same &= items(&*role, &["rules"]).len() == rules.len();
                role["rules"] = rules.into();
            }
            if is_same {
                break;
            }
        }
    }

    /// Returns the rules of the other ClusterRoles that an `aggregationRule` selects.
    fn rules_of_parts(&self, id: &Identity, aggregation: &Json) -> impl Iterator<Item = &Json> {
        let selectors = items(aggregation, &["clusterRoleSelectors"]).iter();
        let selectors = selectors.filter(|selector| selector.get("matchExpressions").is_none());
        let is_part = move |(other, part): &(&Identity, &Json)| {
            let labels = at(*part, &["metadata", "labels"]);
            let has = |(key, value): (&String, &Json)| at(labels, &[key]) == Some(value);
            other.kind == "ClusterRole"
                && *other != id
                && selectors.clone().any(|selector| entries(selector, &["matchLabels"]).all(has))
        };
        self.objects.iter().filter(is_part).flat_map(|(_, part)| items(part, &["rules"]))
    }

    /// Returns the CRDs.
    pub(super) fn crds(&self) -> impl Iterator<Item = (&Identity, &Json)> {
        self.objects.iter().filter(|(id, _)| id.kind == "CustomResourceDefinition")
    }
}

/// Adds the charts as pseudo-objects, so that their metadata is compared; not if only one side is a
/// chart, because then all metadata would be a difference.
pub(super) fn add_charts(old: &mut Side, new: &mut Side) {
    let (Some(before), Some(after)) = (&old.chart, &new.chart) else { return };
    let mut objects = [before.object(), after.object()];
    let schemas = values_schema::tightened(before, after);
    for (object, schema) in objects.iter_mut().zip(schemas.into_iter().flatten()) {
        object[values_schema::KEY] = schema;
    }
    for (side, object) in [old, new].into_iter().zip(objects) {
        side.objects.insert(Identity::of(&object), object);
    }
}

/// Adds the facts of the bundles that both sides know as a pseudo-object, so that they are compared.
pub(super) fn add_bundles(old: &mut Side, new: &mut Side) {
    let (before, after) = (old.bundle.facts(), new.bundle.facts());
    // A fact that only one side has is unknown on the other, and no change.
    let known = |key: &String| before.contains_key(key) && after.contains_key(key);
    if !before.keys().any(known) {
        return;
    }
    for (side, facts) in [(old, &before), (new, &after)] {
        let mut object = json!({
            "apiVersion": format!("{DESCRIPTION_GROUP}/bundle"),
            "kind": BUNDLE_KIND,
            "metadata": {"name": "bundle"},
        });
        for (key, value) in facts.iter().filter(|(key, _)| known(key)) {
            object[key] = value.clone();
        }
        side.objects.insert(Identity::of(&object), object);
    }
}

impl BundleFacts {
    /// Returns the known facts that are compared.
    fn facts(&self) -> Map<String, Json> {
        let facts = [
            ("installModes", self.install_modes.as_ref().map(|modes| json!(modes))),
            ("watch", self.watch.as_ref().map(|watch| json!(watch))),
            ("requires", self.requires.as_ref().map(|requires| json!(requires))),
            ("minKubeVersion", self.min_kube_version.as_ref().map(|version| json!(version))),
            ("relatedImages", self.related_images.clone()),
        ];
        let known = facts.into_iter().filter_map(|(key, fact)| Some((key.to_owned(), fact?)));
        known.collect()
    }
}

impl ChartFacts {
    fn object(&self) -> Json {
        let crds: Map<String, Json> =
            self.crds.iter().map(|(name, at)| (name.clone(), json!(at.as_str()))).collect();
        let mut object = json!({
            "apiVersion": format!("{DESCRIPTION_GROUP}/chart"),
            "kind": CHART_KIND,
            // Not the name of the chart: a renamed one would be an object removed and another
            // added.
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

/// Removes `metadata.namespace` if it is the release namespace, so that objects with and without it
/// have the same identity.
fn release_namespace(object: &mut Json, namespace: &str) {
    let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) else { return };
    if metadata.get("namespace").and_then(Json::as_str) == Some(namespace) {
        // `remove` would put the last key into its place, and edits are in the order of the object.
        metadata.shift_remove("namespace");
    }
}

/// Moves the `stringData` of a Secret to its `data`, as the API server does.
fn encode_string_data(object: &mut Json) {
    if text(&*object, &["kind"]) != "Secret" || text(&*object, &["apiVersion"]) != "v1" {
        return;
    }
    let Some(secret) = object.as_object_mut() else { return };
    let Some(Json::Object(texts)) = secret.shift_remove("stringData") else { return };
    let encoded = |(key, value): (String, Json)| match value {
        Json::String(text) => (key, STANDARD.encode(text).into()),
        other => (key, other),
    };
    let mut data = match secret.shift_remove("data") {
        Some(Json::Object(data)) => data,
        _ => Map::new(),
    };
    data.extend(texts.into_iter().map(encoded));
    secret.insert("data".to_owned(), data.into());
}

//! Charts as operands: the objects that Helm would create from a chart's files.
//!
//! Charts that are proved to be as this version writes them are rendered here, all others by Helm.

use super::{Operands, merge};
use crate::chart::{Manifest, render_generated};
use crate::diag::{Code, Diagnostic, Fatal, Place};
use crate::diff::{BundleFacts, ChartFacts, Placement, Side};
use crate::ir::UpgradeEdges;
use crate::source::chart::{self as charts, ChartTree, Form, documents};
use serde_json::{Map, Value as Json};
use std::path::Path;

/// Most values in the objects of a chart, so that two charts fit into 1 GB. The largest that are
/// published have 300,000.
const MOST_VALUES: usize = 2_000_000;

impl Operands<'_> {
    /// Returns the objects of a chart as a side, whose label is the chart's name and version. `form` is the
    /// form in which Helm reads the files.
    ///
    /// # Errors
    /// When a file cannot be understood or rendered.
    pub fn chart(&self, tree: &ChartTree, form: Form) -> Result<Side, Fatal> {
        let file = |name: &str| -> Result<Json, Fatal> {
            let Some(content) = tree.get(name) else { return Ok(Json::Null) };
            Ok(documents(name, content)?.into_iter().next().unwrap_or(Json::Null))
        };
        let metadata = file("Chart.yaml")?;
        let text =
            |key: &str| metadata.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        let defaults = match file("values.yaml")? {
            Json::Null => Json::Object(Map::new()),
            values => values,
        };
        let mut values = defaults.clone();
        merge(&mut values, &self.values);
        let annotations = metadata.get("annotations").and_then(Json::as_object);
        let annotation = |key: &str| {
            let value = annotations.and_then(|map| map.get(&format!("bundle2chart/{key}")));
            value.and_then(Json::as_str).map(str::to_owned)
        };
        let package = annotation("package").unwrap_or_default();
        let bundle = bundle_facts(annotation);
        let name = text("name");
        let generated = render_generated(tree, self.namespace, &values);
        let generated = generated.and_then(|manifests| objects_of(manifests, MOST_VALUES).ok());
        let follows_namespace = generated.is_some();
        let rendered = match generated {
            Some(objects) => objects,
            None if !self.helm => {
                let message = format!("chart `{name}` is not as this version writes it");
                return Err(Diagnostic::error(Code::ChartUnreadable, message)
                    .hint("build it again: it was edited, or another version generated it")
                    .into());
            }
            None => self.with_helm(&name, tree, form)?,
        };

        let mut facts = ChartFacts {
            version: text("version"),
            app_version: text("appVersion"),
            kube_version: text("kubeVersion"),
            values: defaults,
            schema: file("values.schema.json")?,
            given: self.values.clone(),
            name,
            ..ChartFacts::default()
        };

        let mut objects = Vec::new();
        for (placement, file, object) in rendered {
            let kind = object.get("kind").and_then(Json::as_str);
            if kind == Some("CustomResourceDefinition")
                && let Some(name) = object.pointer("/metadata/name").and_then(Json::as_str)
            {
                facts.crds.insert(name.to_owned(), placement);
                if let (Placement::Crds, Some((folder, _))) = (placement, file.rsplit_once('/')) {
                    facts.crds_folder = format!("{folder}/");
                    facts.crd_files.insert(name.to_owned(), file.clone());
                }
            }
            objects.push(object);
        }

        let label = format!("{} {}", facts.name, facts.version);
        let operator_version = facts.app_version.clone();
        let side = Side::new(label, objects, self.namespace, Some(facts));

        Ok(Side { bundle, package, operator_version, follows_namespace, ..side })
    }

    fn with_helm(&self, name: &str, tree: &ChartTree, form: Form) -> Result<Vec<Rendered>, Fatal> {
        // JSON is YAML.
        let values = self.values.to_string();
        let text = charts::helm_template(name, tree, form, self.namespace, &values)?;
        // Helm begins each file so. At the end of another line the mark is a comment in an object.
        let text = format!("\n{text}");
        let manifests = text.split("\n---\n# Source: ").skip(1).map(|part| {
            let (path, content) = part.split_once('\n').unwrap_or((part, ""));
            let path = path.trim().split_once('/').map_or(path, |(_, inside)| inside);
            Manifest {
                is_in_crds_folder: is_crds(path.rsplit_once('/').map_or("", |(folder, _)| folder)),
                path: path.to_owned(),
                text: content.to_owned(),
            }
        });
        objects_of(manifests, MOST_VALUES)
    }
}

/// Returns the facts of a chart's bundle from the chart's annotations, which charts of earlier
/// versions of bundle2chart have in part.
fn bundle_facts(annotation: impl Fn(&str) -> Option<String>) -> BundleFacts {
    let text = |key: &str| annotation(key).unwrap_or_default();
    let list = |key: &str, separator: &str| -> Vec<String> {
        let text = text(key);
        let parts = text.split(separator).map(str::trim).filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    };
    let modes = annotation("install-modes").map(|_| list("install-modes", ","));
    BundleFacts {
        csv: text("csv"),
        edges: UpgradeEdges {
            replaces: text("replaces"),
            skips: list("skips", ","),
            skip_range: text("skip-range"),
        },
        watch: annotation("watch"),
        // Both annotations came with the same version, and dependencies are optional.
        requires: modes.as_ref().map(|_| list("requires", ";")),
        install_modes: modes,
        ..BundleFacts::default()
    }
}

/// Returns true for the `crds/` directory of a chart or of a subchart, which may itself be named
/// `crds`.
fn is_crds(folder: &str) -> bool {
    let mut parts = folder.split('/');
    loop {
        match (parts.next(), parts.clone().next()) {
            (Some("crds"), _) => return true,
            (Some("charts"), Some(_)) => parts.next(),
            _ => return false,
        };
    }
}

/// Reads a chart directory or package; `None` if the path is neither.
pub(super) fn chart_at(path: &Path) -> Result<Option<(ChartTree, Form)>, Fatal> {
    if charts::is_chart(path) {
        return charts::read_folder(path).map(|tree| Some((tree, Form::Directory)));
    }
    let tree = if path.is_file() { charts::read_package(path)? } else { None };
    Ok(tree.map(|tree| (tree, Form::Package)))
}

/// An object, its placement and its file in the chart.
type Rendered = (Placement, String, Json);

/// Returns the objects of manifests.
///
/// # Errors
/// When a manifest has something else, or they have more than `most_values` values.
fn objects_of(
    manifests: impl IntoIterator<Item = Manifest>,
    most_values: usize,
) -> Result<Vec<Rendered>, Fatal> {
    let (mut objects, mut values) = (Vec::new(), 0);
    for Manifest { is_in_crds_folder, path, text } in manifests {
        let placement = if is_in_crds_folder { Placement::Crds } else { Placement::Templates };
        let refused = |why: &str| -> Fatal {
            Diagnostic::error(Code::ChartUnreadable, format!("`{path}` {why}"))
                .at(Place::file(&path))
                .hint("check the rendered template: no cluster accepts it")
                .into()
        };

        for document in documents(&path, text.as_bytes())? {
            if !["apiVersion", "kind"].iter().all(|key| document[key].is_string()) {
                let why = "renders a document that is no object with `apiVersion` and `kind`";
                return Err(refused(why));
            }
            values += count(&document);
            if values > most_values {
                let why = format!("exceeds the limit of {most_values} values in a chart");
                return Err(refused(&why));
            }
            let found = flatten(document).into_iter();
            objects.extend(found.map(|object| (placement, path.clone(), object)));
        }
    }
    Ok(objects)
}

/// Returns the number of lists, maps and scalars in a value.
fn count(value: &Json) -> usize {
    let inside = match value {
        Json::Array(items) => items.iter().map(count).sum(),
        Json::Object(map) => map.values().map(count).sum(),
        _ => 0,
    };
    inside + 1
}

/// Returns the items of a List, or the object.
fn flatten(mut object: Json) -> Vec<Json> {
    let kind = object.get("kind").and_then(Json::as_str);
    let is_list = kind.is_some_and(|kind| kind.ends_with("List"));
    match object.get_mut("items") {
        Some(Json::Array(items)) if is_list => std::mem::take(items),
        _ => vec![object],
    }
}

#[cfg(test)]
mod tests;

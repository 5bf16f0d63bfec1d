//! Charts as operands: the objects that Helm would create from a chart's files.

use super::{Operands, merge};
use crate::chart::CRDS_SUBCHART;
use crate::diag::{Code, Diagnostic, Fatal, Place};
use crate::diff::{BundleFacts, ChartFacts, Placement, Side};
use crate::ir::{Release, UpgradeEdges};
use crate::source::chart::{self as charts, ChartTree};
use crate::yaml::render;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::path::Path;

/// Directory of a subchart's templates that bundle2chart writes.
const SUBCHART_TEMPLATES: &str = "charts/crds/templates";

impl Operands<'_> {
    /// Returns the side that a chart's files make; `label` is made of the chart when it is empty.
    ///
    /// # Errors
    /// When a file cannot be understood or rendered.
    pub fn chart(&self, label: &str, tree: &ChartTree) -> Result<Side, Fatal> {
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
        let annotated =
            annotations.is_some_and(|map| map.keys().any(|key| key.starts_with("bundle2chart/")));
        let annotation = |key: &str| {
            let value = annotations.and_then(|map| map.get(&format!("bundle2chart/{key}")));
            value.and_then(Json::as_str).map(str::to_owned)
        };
        let package = annotation("package").unwrap_or_default();
        let bundle = bundle_facts(annotation);
        let ours = annotated || tree.contains_key(crate::output::ownership::FILE_NAME);
        let name = text("name");
        let rendered = if ours { self.render(tree, &values)? } else { None };
        let rendered = match rendered {
            Some(rendered) => rendered,
            None if !self.helm => {
                let message = format!("unsupported template version of chart `{name}`");
                return Err(Diagnostic::error(Code::ChartUnreadable, message)
                    .hint(
                        "build it again with this version: another version of bundle2chart \
                        generated it",
                    )
                    .into());
            }
            None => self.with_helm(&name, tree)?,
        };

        let mut facts = ChartFacts {
            version: text("version"),
            app_version: text("appVersion"),
            kube_version: text("kubeVersion"),
            values: defaults,
            schema: file("values.schema.json")?,
            given: self.values.clone(),
            crds: BTreeMap::new(),
            crds_folder: String::new(),
            crd_files: BTreeMap::new(),
            name,
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

        let label = match label {
            "" => format!("{} {}", facts.name, facts.version),
            label => label.to_owned(),
        };
        let operator_version = facts.app_version.clone();
        let side = Side::new(label, objects, self.namespace, Some(facts));

        Ok(Side { bundle, package, operator_version, ..side })
    }

    /// Renders a generated chart; `None` if a template has an unsupported syntax.
    fn render(&self, tree: &ChartTree, values: &Json) -> Result<Option<Rendered>, Fatal> {
        let release = Release { namespace: self.namespace, values };
        let nothing = Json::Null;
        let of_subchart = values.get(CRDS_SUBCHART).unwrap_or(&nothing);
        let subchart = Release { namespace: self.namespace, values: of_subchart };
        let without_subchart = of_subchart.get("enabled") == Some(&Json::Bool(false));
        let mut rendered = Vec::new();

        for (path, content) in tree {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let yaml = [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end));
            let in_crds = is_crds(folder);
            let in_subchart = folder == SUBCHART_TEMPLATES;
            let template = folder == "templates" || folder.starts_with("templates/") || in_subchart;
            if folder.starts_with("charts/") && folder.contains("/templates") && !in_subchart {
                return Ok(None);
            }
            if !yaml || name.starts_with('_') || !(in_crds || template) {
                continue;
            }
            if in_subchart && without_subchart {
                continue;
            }
            let placement = if in_crds { Placement::Crds } else { Placement::Templates };
            let text;
            let content = if in_crds {
                content.as_slice()
            } else {
                let Ok(source) = std::str::from_utf8(content) else { return Err(not_utf8(path)) };
                match render::render(source, if in_subchart { &subchart } else { &release }) {
                    Ok(done) => text = done,
                    Err(_) => return Ok(None),
                }
                text.as_bytes()
            };
            let objects = documents(path, content)?;
            rendered.extend(
                objects
                    .into_iter()
                    .flat_map(flatten)
                    .map(|object| (placement, path.clone(), object)),
            );
        }

        Ok(Some(rendered))
    }

    fn with_helm(&self, name: &str, tree: &ChartTree) -> Result<Rendered, Fatal> {
        // JSON is YAML.
        let values = self.values.to_string();
        let text = charts::helm_template(name, tree, self.namespace, &values)?;
        let mut rendered = Vec::new();
        for part in text.split("---\n# Source: ").skip(1) {
            let (path, content) = part.split_once('\n').unwrap_or((part, ""));
            let path = path.trim().split_once('/').map_or(path, |(_, inside)| inside);
            let in_crds = is_crds(path.rsplit_once('/').map_or("", |(folder, _)| folder));
            let placement = if in_crds { Placement::Crds } else { Placement::Templates };
            for object in documents(path, content.as_bytes())? {
                rendered
                    .extend(flatten(object).into_iter().map(|o| (placement, path.to_owned(), o)));
            }
        }
        Ok(rendered)
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
        min_kube_version: None,
        related_images: None,
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
pub(super) fn chart_at(path: &Path) -> Result<Option<ChartTree>, Fatal> {
    if path.is_dir() && charts::is_chart(path) {
        let tree = charts::read_folder(path)?;
        if !tree.contains_key(crate::output::ownership::FILE_NAME) {
            charts::refuse_links(path)?;
        }
        return Ok(Some(tree));
    }
    if path.is_file() { charts::read_package(path) } else { Ok(None) }
}

/// Objects with their placement in the chart.
type Rendered = Vec<(Placement, String, Json)>;

/// Returns the documents of a file, as JSON.
pub(crate) fn documents(path: &str, content: &[u8]) -> Result<Vec<Json>, Fatal> {
    let text = std::str::from_utf8(content).map_err(|_| not_utf8(path))?;
    let documents = crate::yaml::parse(text).map_err(|why| {
        Diagnostic::error(Code::ChartUnreadable, format!("`{path}` is not valid YAML: {why}"))
            .at(Place::file(path))
            .hint("check the rendered template")
    })?;
    let release = Release::LITERAL;
    Ok(documents.iter().map(|document| release.value(document)).filter(|d| !d.is_null()).collect())
}

fn not_utf8(path: &str) -> Fatal {
    Diagnostic::error(Code::ChartUnreadable, format!("`{path}` is not UTF-8 text"))
        .at(Place::file(path))
        .hint("convert the file to UTF-8")
        .into()
}

/// Returns the items of a List, or the object.
fn flatten(object: Json) -> Vec<Json> {
    let list = object.get("kind").and_then(Json::as_str).is_some_and(|kind| kind.ends_with("List"));
    match object {
        Json::Object(mut map) if list => match map.shift_remove("items") {
            Some(Json::Array(items)) => items,
            _ => vec![Json::Object(map)],
        },
        other => vec![other],
    }
}

//! Loads the operands of `diff`: converts a chart or a bundle to its objects in the cluster.

use super::Compiled;
use super::chart_versions::{pick, versions_in, versions_on_disk};
use crate::bundle;
use crate::chart::CRDS_SUBCHART;
use crate::config::{BundleConfig, Config, Source};
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, Place, Severity};
use crate::diff::{BundleFacts, ChartFacts, Placement, Side};
use crate::ir::{Phase, Release};
use crate::lock::Locked;
use crate::source::chart::{self as charts, ChartTree};
use crate::source::{self, BundleFiles, Pin, SourceResolver};
use crate::yaml::render;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::path::Path;

/// Directory of a subchart's templates that bundle2chart writes.
const SUBCHART_TEMPLATES: &str = "charts/crds/templates";

/// Placeholder for the release namespace in reports; identities omit it.
pub const NAMESPACE: &str = "release-namespace";

/// Loads and renders operands.
pub struct Operands<'a> {
    /// Reads bundles.
    pub sources: &'a SourceResolver,
    /// The configuration, which defines how bundles are compiled, if any.
    pub config: Option<&'a Config>,
    /// The lock of the configuration, for what a bundle was in a Git revision.
    pub lock: Option<&'a Path>,
    /// The output directory, for `NAME@VERSION`.
    pub out: &'a Path,
    /// Name of the release namespace.
    pub namespace: &'a str,
    /// Values over the defaults of charts.
    pub values: Json,
    /// True if the `helm` program can be used to render charts that bundle2chart cannot.
    pub helm: bool,
}

impl Operands<'_> {
    /// Loads `text`: a chart directory or package, `NAME@VERSION` or `NAME` in the output
    /// directory, a bundle directory, layout, tar or image. With a Git revision: a chart in the
    /// output directory at this revision, or, if the output directory is not committed, the bundle
    /// locked at this revision, compiled with the current configuration.
    pub fn load(&self, text: &str, revision: Option<&str>) -> (Option<Side>, Diagnostics) {
        let mut diagnostics = Diagnostics::new();
        let side = self.side(text, revision, &mut diagnostics).unwrap_or_else(|problem| {
            diagnostics.push(*problem);
            None
        });
        (side.filter(|_| !diagnostics.has_errors()), diagnostics)
    }

    fn side(
        &self,
        text: &str,
        revision: Option<&str>,
        diagnostics: &mut Diagnostics,
    ) -> Result<Option<Side>, Fatal> {
        if let Some(revision) = revision {
            let (name, version) = self.name_of(text);
            let tree = match charts::read_revision(self.out, revision, &name) {
                Ok(tree) => tree,
                Err(problems) => match self.locked_at(&name, revision)? {
                    Some((known, entry)) => {
                        let (source, pin) = (&known.source, entry.pin());
                        let side = self.fetched(source, pin, Some(&known), diagnostics)?;
                        let label = |side: &Side| format!("{} at {revision}", side.label);
                        return Ok(side.map(|side| Side { label: label(&side), ..side }));
                    }
                    None => return Err(charts::located(&format!("{revision}:{name}"), problems)),
                },
            };
            let versions = versions_in(&tree, &name);
            let (path, version) = pick(&name, version.as_deref(), &versions)?;
            let start = format!("{path}/");
            let tree = tree
                .into_iter()
                .filter_map(|(path, content)| {
                    Some((path.strip_prefix(&start)?.to_owned(), content))
                })
                .collect();
            let side = self.chart(&format!("{name} {version} at {revision}"), &tree);
            let place = format!("{revision}:{path}");
            return side.map(Some).map_err(|found| charts::located(&place, found));
        }

        let path = Path::new(text);
        let located = |found| charts::located(text, found);
        if let Some(tree) = chart_at(path).map_err(located)? {
            return self.chart("", &tree).map(Some).map_err(located);
        }
        let (name, version) = self.name_of(text);
        if !path.exists() && is_name(&name) && self.out.join(&name).is_dir() {
            let versions = versions_on_disk(self.out, &name);
            let (folder, _) = pick(&name, version.as_deref(), &versions)?;
            let folder = self.out.join(folder);
            let side = charts::read_folder(&folder).and_then(|tree| self.chart("", &tree));
            let place = folder.display().to_string();
            return side.map(Some).map_err(|found| charts::located(&place, found));
        }

        self.bundle(text, diagnostics)
    }

    /// Parses `NAME@VERSION`, `NAME`, or the directory of a chart in the output directory.
    fn name_of(&self, text: &str) -> (String, Option<String>) {
        let inside = Path::new(text).strip_prefix(self.out).ok().and_then(Path::to_str);
        let text = inside.unwrap_or(text);
        match text.split_once(['@', '/']) {
            Some((name, version)) => {
                (name.to_owned(), Some(version.trim_end_matches('/').to_owned()))
            }
            None => (text.to_owned(), None),
        }
    }

    fn bundle(&self, text: &str, diagnostics: &mut Diagnostics) -> Result<Option<Side>, Fatal> {
        self.fetched(&source::from_argument(text), None, None, diagnostics)
    }

    /// Returns a bundle of the configuration as it was locked in a Git revision: how it is compiled
    /// now, and which image it was then. Nothing when the lock was not committed then, or does not
    /// have it.
    fn locked_at(
        &self,
        name: &str,
        revision: &str,
    ) -> Result<Option<(BundleConfig, Locked)>, Fatal> {
        let known = self.config.and_then(|config| config.bundles.iter().find(|b| b.name == name));
        let (Some(known), Some(lock)) = (known, self.lock) else { return Ok(None) };
        let Some(lock) = super::revision::lock_at(lock, revision)? else { return Ok(None) };
        let entry = lock.bundles.iter().find(|entry| entry.name == name);
        let Some((entry, pin)) = entry.and_then(|entry| Some((entry, entry.pin()?))) else {
            return Ok(None);
        };
        let source = match &known.source {
            // The catalog query must be the same as at the revision.
            source if pin.is_catalog && lock.entry(known) == Some(entry) => source.clone(),
            _ if pin.is_catalog => return Ok(None),
            source => {
                Source::Image { reference: pin.reference.to_owned(), span: source.span().clone() }
            }
        };
        Ok(Some((BundleConfig { source, ..known.clone() }, entry.clone())))
    }

    /// Compiles a bundle, with its configuration if it is configured.
    fn fetched(
        &self,
        source: &Source,
        pin: Option<Pin<'_>>,
        known: Option<&BundleConfig>,
        diagnostics: &mut Diagnostics,
    ) -> Result<Option<Side>, Fatal> {
        let text = source.text();
        let Some(mut files) = self.sources.fetch(source, pin, diagnostics) else {
            return Ok(None);
        };
        let start = diagnostics.mark();
        if matches!(source, Source::Manifests(_)) && known.is_none() {
            let side = self.manifests(&files, source, diagnostics);
            diagnostics.retain_since(start, |found| found.severity == Severity::Error);
            return Ok(side);
        }
        let Some(loaded) = bundle::load(&files, diagnostics) else { return Ok(None) };
        let repository = |text: &str| {
            let end = text.rfind('/').map_or(0, |slash| slash + 1);
            let tag = text[end..].find([':', '@']).map_or(text.len(), |at| end + at);
            text[..tag].to_owned()
        };
        let bundles = self.config.map(|config| config.bundles.as_slice()).unwrap_or_default();
        let known = known
            .or_else(|| bundles.iter().find(|b| repository(b.source.text()) == repository(text)))
            .or_else(|| bundles.iter().find(|bundle| bundle.name == loaded.package));
        let settings = match known {
            Some(known) => BundleConfig { source: source.clone(), ..known.clone() },
            None => BundleConfig::new(&loaded.package, source.clone()),
        };
        files.overlays = self.sources.overlays(&settings.overlays, diagnostics);
        let compiled = super::compile_loaded(loaded.clone(), &files, &settings, diagnostics);
        // Lints of either side are not what `diff` is asked for.
        diagnostics.retain_since(start, |found| found.severity == Severity::Error);
        let Some(compiled) = compiled else { return Ok(None) };
        let objects = self.objects(&compiled);
        let label = format!("{} {}", loaded.package, loaded.csv.version);
        let mut values = compiled.unit.default_values();
        merge(&mut values, &self.values);
        let release = Release { namespace: self.namespace, values: &values };
        let csv = &loaded.csv;
        let related = csv.object.at(&["spec", "relatedImages"]).map(|images| release.value(images));
        let bundle = BundleFacts {
            csv: csv.name().to_owned(),
            replaces: csv.spec_text("replaces").to_owned(),
            skips: csv.skips().into_iter().map(str::to_owned).collect(),
            skip_range: csv.annotation("olm.skipRange").unwrap_or_default().to_owned(),
            install_modes: Some(csv.install_modes.iter().map(|m| m.as_str().to_owned()).collect()),
            watch: None,
            requires: Some(loaded.requirements.texts()),
            min_kube_version: Some(match csv.spec_text("minKubeVersion") {
                "" => "any".to_owned(),
                version => version.to_owned(),
            }),
            related_images: Some(related.unwrap_or(Json::Array(Vec::new()))),
        };
        Ok(Some(Side {
            bundle,
            package: loaded.package,
            operator_version: loaded.csv.version,
            ..Side::new(label, objects, self.namespace, None)
        }))
    }

    /// Compiles manifests as they are, because only one of the two sides may be a `[[chart]]` of the
    /// configuration.
    fn manifests(
        &self,
        files: &BundleFiles,
        source: &Source,
        diagnostics: &mut Diagnostics,
    ) -> Option<Side> {
        let settings = BundleConfig::new("manifests", source.clone());
        let compiled = super::compile(files, &settings, diagnostics)?;
        let objects = self.objects(&compiled);
        Some(Side::new(source.text().to_owned(), objects, self.namespace, None))
    }

    /// Returns the objects of the operator's release.
    fn objects(&self, compiled: &Compiled) -> Vec<Json> {
        let mut values = compiled.unit.default_values();
        merge(&mut values, &self.values);
        let release = Release { namespace: self.namespace, values: &values };
        // Objects of later phases are in a separate chart.
        let objects = compiled.unit.objects.iter().filter(|object| object.phase != Phase::Operand);
        objects.filter_map(|object| release.object(object)).collect()
    }

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
        replaces: text("replaces"),
        skips: list("skips", ","),
        skip_range: text("skip-range"),
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
fn chart_at(path: &Path) -> Result<Option<ChartTree>, Fatal> {
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
pub(super) fn documents(path: &str, content: &[u8]) -> Result<Vec<Json>, Fatal> {
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

/// Values over values, as Helm joins them: maps key by key, null removes.
pub fn merge(under: &mut Json, over: &Json) {
    match (under, over) {
        (Json::Object(under), Json::Object(over)) => {
            for (key, value) in over {
                match (under.get_mut(key), value) {
                    (_, Json::Null) => {
                        under.shift_remove(key);
                    }
                    (Some(place), value) => merge(place, value),
                    (None, value) => {
                        under.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (_, Json::Null) => {}
        (under, over) => *under = over.clone(),
    }
}

/// Reads files of values, the later over the earlier.
///
/// # Errors
/// When a file cannot be read or is no map.
pub fn read_values(files: &[std::path::PathBuf]) -> Result<Json, Fatal> {
    let mut values = Json::Object(Map::new());
    for file in files {
        let shown = file.display().to_string();
        let text = charts::read_values(file)?;
        let wrong = |why: String| -> Fatal {
            Diagnostic::error(Code::SourceUnreadable, format!("`{shown}`: {why}"))
                .at(Place::file(&shown))
                .hint("write one YAML mapping, as for `helm install --values`")
                .into()
        };
        let mut documents = crate::yaml::parse(&text).map_err(wrong)?;
        let release = Release::LITERAL;
        match documents.pop().map(|document| release.value(&document)) {
            None => {}
            Some(over @ Json::Object(_)) if documents.is_empty() => merge(&mut values, &over),
            Some(_) => return Err(wrong("values must be one mapping".to_owned())),
        }
    }
    Ok(values)
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

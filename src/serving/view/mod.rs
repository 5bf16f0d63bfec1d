//! Typed view of manifests: pods with engines, pools, pickers.

pub(super) mod config_map;
pub(super) mod discovery;
pub(super) mod flags;
mod index;
pub(super) mod kserve;
mod merge;
pub(super) mod pods;
pub(super) mod shell;

// What the modules of the view speak of.
use super::invariants::Finding;
use super::*;
use crate::ir::group_of;
use config_map::{File, document};
use index::Index;
use pods::{Engine, Sidecar, Template, is_placeholder, items, list, text, text_at, texts, words};
use shell::Budget;
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// An object as an API server would receive it, with its location.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The object.
    pub json: Json,
    /// Its location.
    pub place: Place,
}

impl Manifest {
    pub(super) fn kind(&self) -> &str {
        text(&self.json, "kind")
    }

    pub(super) fn api_version(&self) -> &str {
        text(&self.json, "apiVersion")
    }

    pub(super) fn group(&self) -> &str {
        group_of(self.api_version())
    }

    pub(super) fn name(&self) -> &str {
        self.text("/metadata/name").unwrap_or_default()
    }

    /// Returns `spec`; null without one.
    pub(super) fn spec(&self) -> &Json {
        self.json.get("spec").unwrap_or(&Json::Null)
    }

    /// Returns the string at a JSON pointer.
    pub(super) fn text(&self, pointer: &str) -> Option<&str> {
        text_at(&self.json, pointer)
    }

    /// Returns the map at a JSON pointer.
    pub(super) fn map(&self, pointer: &str) -> Option<&serde_json::Map<String, Json>> {
        self.json.pointer(pointer)?.as_object()
    }

    /// Returns the namespace; empty if not set.
    pub(super) fn namespace(&self) -> &str {
        self.text("/metadata/namespace").unwrap_or_default()
    }

    /// Returns true if both may be in one namespace: an object without one matches any.
    pub(super) fn may_share_namespace(&self, other: &Manifest) -> bool {
        self.may_be_in(other.namespace())
    }

    /// Returns true if the object may be in a namespace (empty if unknown).
    pub(super) fn may_be_in(&self, namespace: &str) -> bool {
        let own = self.namespace();
        own.is_empty() || namespace.is_empty() || own == namespace
    }
}

/// A manifest with its index.
pub(super) type Indexed<'a> = (usize, &'a Manifest);

/// Its kind and name, as kubectl writes them.
impl std::fmt::Display for Manifest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.kind(), self.name())
    }
}

/// An endpoint picker.
#[derive(Debug)]
pub(super) struct Picker<'a> {
    /// Index of its manifest.
    pub(super) owner: usize,
    /// Its manifest.
    pub(super) manifest: &'a Manifest,
    /// Its pods; empty if a controller creates them.
    pub(super) pods: Template<'a>,
    /// Its container.
    pub(super) container: &'a Json,
    /// JSON path of the container in the manifest.
    pub(super) path: String,
    /// Its flags.
    pub(super) flags: Flags,
    /// Its configuration, if it is in the manifests.
    pub(super) config: Option<PickerFile>,
}

/// A configuration of a picker: manifest index, JSON path, and content or the reason why it cannot be
/// read.
pub(super) type PickerFile = (usize, String, Result<Json, String>);

/// Returns true if several pickers with this configuration have the same state: they discover each
/// other, or get cache events from the pods.
pub(super) fn can_be_several(config: &Json) -> bool {
    let layer = |key: &str| config.get("dataLayer").and_then(|layer| layer.get(key)).is_some();
    layer("peerDiscovery")
        || layer("crossReplicaSyncerPluginRef")
        || texts(config, "plugins", "type").any(|kind| kind == "precise-prefix-cache-producer")
}

/// Shows the object with its pods, as `Kind/name`.
impl std::fmt::Display for Picker<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.manifest.fmt(formatter)
    }
}

impl Picker<'_> {
    /// Returns true for an image of the projects that publish pickers: others may have other files
    /// and variables.
    pub(super) fn is_of_upstream(&self) -> bool {
        let image = text(self.container, "image");
        ["llm-d/", "gateway-api-inference-extension/"].iter().any(|part| image.contains(part))
    }

    /// Returns its configuration if it can be read: manifest index, JSON path and content.
    pub(super) fn known_config(&self) -> Option<(usize, &str, &Json)> {
        let (owner, path, config) = self.config.as_ref()?;
        Some((*owner, path, config.as_ref().ok()?))
    }

    /// Returns true if a custom plugin may discover its pods without Kubernetes; also for an unknown
    /// configuration.
    pub(super) fn discovers(&self) -> bool {
        let has = |config: &Json| config.pointer("/dataLayer/discovery").is_some();
        self.config.is_none() || self.known_config().is_some_and(|(_, _, config)| has(config))
    }
}

/// Returns the maps in a JSON tree, those around others first.
pub(super) fn maps(json: &Json) -> Vec<&serde_json::Map<String, Json>> {
    match json {
        Json::Object(map) => std::iter::once(map).chain(map.values().flat_map(maps)).collect(),
        Json::Array(items) => items.iter().flat_map(maps).collect(),
        _ => Vec::new(),
    }
}

/// Returns the labels of an object, or of other metadata.
pub(super) fn labels_at<'a>(
    json: &'a Json,
    pointer: &str,
) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
    json.pointer(pointer).and_then(Json::as_object).into_iter().flat_map(pairs)
}

/// Returns the labels of a selector or of an object.
pub(super) fn pairs(labels: &serde_json::Map<String, Json>) -> impl Iterator<Item = (&str, &str)> {
    labels.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

/// Input of the invariants.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) profile: &'static Profile,
    /// Devices per accelerator unit, if known.
    pub(super) devices_per_unit: Option<u32>,
    /// True for our own charts, whose profile tells the releases of picker and sidecar.
    pub(super) is_generated: bool,
    pub(super) manifests: &'a [Manifest],
    pub(super) templates: Vec<Template<'a>>,
    pub(super) pickers: Vec<Picker<'a>>,
    /// Pickers that a controller creates from the manifest of its service.
    pub(super) derived_pickers: Vec<Picker<'a>>,
    /// Parts of manifests that are not checked.
    pub(super) unread: Vec<Finding>,
    /// Remaining budget for expansions in scripts.
    pub(super) budget: Budget,
    /// Verdicts by the releases that images name, once a rule needs them.
    pub(super) judged: OnceCell<Vec<Finding>>,
    pub(super) index: Index<'a>,
}

impl<'a> View<'a> {
    /// Parses manifests, and the pods that controllers create from them.
    pub(super) fn new(
        manifests: &'a [Manifest],
        derived: &'a Derived,
        profile: &'static Profile,
    ) -> View<'a> {
        let mut view = View {
            profile,
            devices_per_unit: None,
            is_generated: false,
            manifests,
            templates: Vec::new(),
            pickers: Vec::new(),
            derived_pickers: Vec::new(),
            unread: derived.unread.clone(),
            budget: Budget::new(),
            judged: OnceCell::new(),
            index: Index::new(manifests),
        };

        let all = || manifests.iter().enumerate();
        let templates = all().flat_map(|(n, one)| discovery::templates(n, one, &view.budget));
        view.templates = templates.collect();
        view.templates.extend(derived.pods.iter().map(|pods| {
            Template {
                part: pods.part,
                size: pods.size,
                replicas: pods.replicas,
                completed: true,
                ..Template::of(
                    pods.owner,
                    &manifests[pods.owner],
                    &pods.spec_path,
                    &pods.template["spec"],
                    Some(&pods.template),
                )
            }
            .parse(&view.budget)
        }));
        view.pickers = all().filter_map(|(owner, manifest)| view.picker(owner, manifest)).collect();
        let derived_pickers = derived.pickers.iter().map(|picker| Picker {
            owner: picker.owner,
            manifest: &manifests[picker.owner],
            pods: Template::of(picker.owner, &manifests[picker.owner], "", &Json::Null, None),
            container: &picker.container,
            path: picker.path.clone(),
            flags: Flags::parse(&words(&picker.container)),
            config: picker.config.clone(),
        });
        view.derived_pickers = derived_pickers.collect();

        // Pods of pickers are checked as pickers only.
        let pickers: BTreeSet<usize> = view.pickers.iter().map(|picker| picker.owner).collect();
        view.templates.retain(|template| !pickers.contains(&template.owner));
        // After `retain`, which moves templates: the index has their positions.
        view.index.add_pods(&view.templates, &view.pickers);
        view.read_flag_files();
        view
    }

    /// Adds the flags that engines read from files in ConfigMaps (`vllm serve --config`).
    fn read_flag_files(&mut self) {
        // Out of the view, because `file` borrows it while their engines change.
        let mut templates = std::mem::take(&mut self.templates);
        for template in &mut templates {
            let Some(engine) = &template.engine else { continue };
            let Some(path) = engine.flags.text("config").map(str::to_owned) else { continue };

            let read = match self.file(template, engine.container, &path) {
                File::Text(_, _, content) => config_map::parse(content),
                _ => Err("it is not in the manifests".to_owned()),
            };
            let (why, hint) = match (read, &mut template.engine) {
                (Ok(Json::Object(keys)), Some(Engine { flags, model, .. })) => {
                    flags.insert_file(&keys);
                    *model = model.take().or_else(|| flags.text("model").map(str::to_owned));
                    continue;
                }
                (Ok(_), _) => {
                    ("it is not a map".to_owned(), "write one flag per line: `max-model-len: 4096`")
                }
                (Err(why), _) => (why, "pass the ConfigMap of the file as well"),
            };
            // A controller that completes the pods may mount the file.
            if !template.completed {
                let message = format!("flags of {template} in `{path}` are not checked: {why}");
                let (owner, path) = (template.owner, template.spec_path.clone());
                let hint = hint.to_owned();
                self.unread.push(Finding { owner, path, message, hint, ..Finding::default() });
            }
        }
        self.templates = templates;
    }

    /// Returns the long-running containers of all templates, with their JSON paths.
    pub(super) fn containers(&self) -> impl Iterator<Item = (&Template<'a>, &'a Json, String)> {
        self.templates
            .iter()
            .flat_map(|pods| pods.containers().map(move |(c, path)| (pods, c, path)))
    }

    /// Returns the templates with an engine.
    pub(super) fn engines(&self) -> impl Iterator<Item = (&Template<'a>, &Engine<'a>)> {
        self.templates.iter().filter_map(|template| Some((template, template.engine.as_ref()?)))
    }

    /// Returns the templates with a routing sidecar.
    pub(super) fn sidecars(&self) -> impl Iterator<Item = (&Template<'a>, &Sidecar<'a>)> {
        self.templates.iter().filter_map(|template| Some((template, template.sidecar.as_ref()?)))
    }

    /// Returns each pool with its index and a template that it selects.
    pub(super) fn pool_pods(&self) -> impl Iterator<Item = (usize, &'a Manifest, &Template<'a>)> {
        self.pools().flat_map(|(owner, pool)| {
            self.selected(pool).into_iter().map(move |template| (owner, pool, template))
        })
    }

    /// Returns all pickers, also those that a controller creates.
    pub(super) fn all_pickers(&self) -> impl Iterator<Item = &Picker<'a>> {
        self.pickers.iter().chain(&self.derived_pickers)
    }

    /// Returns the pool that a picker is for by its flags.
    pub(super) fn pool_of(&self, picker: &Picker<'_>) -> Option<Indexed<'a>> {
        self.named("InferencePool", picker.flags.text("pool-name")?, picker.manifest)
    }

    /// Returns the pods that a picker selects, and the label of their pool for messages.
    pub(super) fn pods_of(&self, picker: &Picker<'_>) -> Option<(String, Vec<&Template<'a>>)> {
        if picker.manifest.kind() == "LLMInferenceService" {
            let own = self.templates_of(picker.owner);
            // Workers of a group do not have the label: KServe's pool selects leaders only.
            let own = own.filter(|template| template.labels.contains_key("llm-d.ai/role"));
            return Some((picker.to_string(), own.collect()));
        }
        let (_, pool) = self.pool_of(picker)?;
        Some((pool.to_string(), self.selected(pool)))
    }

    /// Returns the prefill and decode pods that transfer KV caches to each other.
    pub(super) fn pairs<'v>(&'v self) -> Vec<(&'v Template<'a>, &'v Template<'a>)> {
        let mut groups: Vec<Vec<&Template<'a>>> =
            self.pools().map(|(_, pool)| self.selected(pool)).collect();
        let sets = ["LLMInferenceService", "StormService", "DisaggregatedSet"];
        let owners =
            (0..self.manifests.len()).filter(|n| sets.contains(&self.manifests[*n].kind()));
        groups.extend(owners.map(|owner| self.templates_of(owner).collect()));
        let has = |one: &Template<'a>, role| one.engine.is_some() && one.role() == Some(role);
        // Without pools, roles in one set of manifests belong together if they are unambiguous.
        let is_one = |role| self.templates.iter().filter(|one| has(one, role)).count() == 1;
        if self.pools().next().is_none() && is_one("prefill") && is_one("decode") {
            groups.push(self.templates.iter().collect());
        }

        let pair = |group: &Vec<&'v Template<'a>>| {
            let first = |role| group.iter().copied().find(|one| has(one, role));
            first("prefill").zip(first("decode"))
        };
        let mut pairs: Vec<(&Template<'a>, &Template<'a>)> =
            groups.iter().filter_map(pair).collect();
        // Several pools may select the same pods.
        let mut seen = BTreeSet::new();
        pairs.retain(|(one, other)| seen.insert([*one, *other].map(std::ptr::from_ref)));
        pairs
    }

    /// Returns the manifests of a kind with their indices.
    pub(super) fn of_kind(&self, kind: &str) -> impl Iterator<Item = Indexed<'a>> {
        let numbers = self.index.kinds.get(kind).into_iter().flatten();
        numbers.map(|number| (*number, &self.manifests[*number]))
    }

    /// Returns the manifests with this kind and name that may be in a namespace; in any without one.
    pub(super) fn all_named(
        &self,
        kind: &str,
        name: &str,
        namespace: &str,
    ) -> impl Iterator<Item = Indexed<'a>> + use<'_, 'a> {
        let named = self.index.names.get(&(kind, name)).map(|named| named.in_namespace(namespace));
        named.into_iter().flatten().map(|number| (number, &self.manifests[number]))
    }

    /// Returns the manifest with this kind and name in the namespace of `other`.
    pub(super) fn named(&self, kind: &str, name: &str, other: &Manifest) -> Option<Indexed<'a>> {
        self.all_named(kind, name, other.namespace()).next()
    }

    /// Returns the RoleBindings and ClusterRoleBindings with a subject of this name in the namespace of
    /// `other`.
    pub(super) fn bindings_of(
        &self,
        account: &str,
        other: &Manifest,
    ) -> impl Iterator<Item = &'a Manifest> {
        let bindings = self.index.bindings.get(account);
        let numbers = bindings.map(|bindings| bindings.in_namespace(other.namespace()));
        numbers.into_iter().flatten().map(|number| &self.manifests[number])
    }

    /// Returns the Services in the namespace of pods that select them.
    pub(super) fn services_selecting(&self, pods: &Template<'_>) -> Vec<Indexed<'a>> {
        let mut all = self.selecting("Service", &pods.labels, pods.manifest.namespace(), None);
        all.retain(|(_, service)| {
            service.map("/spec/selector").is_some_and(|wanted| pods.has_labels(pairs(wanted)))
        });
        all
    }

    /// Returns the objects of a kind that may select pods with these labels in a namespace, also those with
    /// an `open` selector.
    pub(super) fn selecting(
        &self,
        kind: &str,
        labels: &BTreeMap<&str, &str>,
        namespace: &str,
        open: Option<(&str, &str)>,
    ) -> Vec<Indexed<'a>> {
        let labels = labels.iter().map(|(key, value)| (*key, *value)).chain(open);
        let all = labels.filter_map(|label| self.index.selecting.get(&(kind, label)));
        // In the order of the manifests, so that the same object is reported every time.
        let numbers: BTreeSet<usize> = all.flat_map(|one| one.in_namespace(namespace)).collect();
        numbers.into_iter().map(|number| (number, &self.manifests[number])).collect()
    }

    /// Returns the pods that a Service selects.
    pub(super) fn behind(&self, service: &Manifest) -> impl Iterator<Item = &Template<'a>> {
        let wanted = service.map("/spec/selector").filter(|wanted| !wanted.is_empty());
        wanted.into_iter().flat_map(|wanted| self.labelled(pairs(wanted), service.namespace()))
    }

    /// Returns the templates of a manifest.
    pub(super) fn templates_of<'v>(
        &'v self,
        owner: usize,
    ) -> impl Iterator<Item = &'v Template<'a>> {
        let numbers = self.index.owned.get(&owner).into_iter().flatten();
        numbers.map(|number| &self.templates[*number])
    }

    /// Returns the picker in a manifest.
    pub(super) fn picker_of(&self, owner: usize) -> Option<&Picker<'a>> {
        self.index.picking.get(&owner).map(|number| &self.pickers[*number])
    }

    /// Returns the templates with these labels that may be in a namespace.
    pub(super) fn labelled<'w>(
        &self,
        wanted: impl IntoIterator<Item = (&'w str, &'w str)>,
        namespace: &str,
    ) -> Vec<&Template<'a>> {
        let numbers = self.index.templates.find(wanted, namespace).into_iter();
        numbers.map(|number| &self.templates[number]).collect()
    }

    /// Returns the pools with their indices.
    pub(super) fn pools(&self) -> impl Iterator<Item = Indexed<'a>> {
        self.of_kind("InferencePool")
    }

    /// Returns the templates that a pool selects.
    pub(super) fn selected(&self, pool: &Manifest) -> Vec<&Template<'a>> {
        let wanted = pool.map("/spec/selector/matchLabels");
        wanted.map(|wanted| self.labelled(pairs(wanted), pool.namespace())).unwrap_or_default()
    }

    fn picker(&self, owner: usize, manifest: &'a Manifest) -> Option<Picker<'a>> {
        if !matches!(manifest.kind(), "Deployment" | "StatefulSet") {
            return None;
        }
        let template = manifest.json.pointer("/spec/template")?;
        let spec = template.get("spec")?;
        let spec_path = ".spec.template.spec";
        items(spec, "containers", spec_path).find_map(|(container, path)| {
            let flags = Flags::parse(&words(container));
            let picks = ["pool-name", "endpoint-selector"].iter().any(|flag| flags.has(flag))
                || text(container, "image").contains("endpoint-picker");
            picks.then(|| {
                let pods = Template::of(owner, manifest, spec_path, spec, Some(template));
                let picker = Picker { owner, manifest, pods, container, path, flags, config: None };
                Picker { config: self.config_of(&picker), ..picker }
            })
        })
    }

    /// Returns the configuration that a picker reads from its arguments or a ConfigMap.
    fn config_of(&self, picker: &Picker<'_>) -> Option<PickerFile> {
        if let Some(text) = picker.flags.text("config-text") {
            return Some((picker.owner, format!("{}.args", picker.path), config_map::parse(text)));
        }

        let path = picker.flags.text("config-file")?;
        let name = path.rsplit('/').next().unwrap_or_default();
        match self.file(&picker.pods, picker.container, path) {
            File::Text(index, key, _) => Some(document(index, &self.manifests[index], &key)),
            File::Missing(index) => Some(document(index, &self.manifests[index], name)),
            File::NotMounted | File::Unknown => None,
        }
    }
}

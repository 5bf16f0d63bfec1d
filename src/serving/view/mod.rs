//! Typed view of manifests: pods with engines, pools, pickers.

pub(super) mod config_map;
mod discovery;
pub(super) mod flags;
pub(super) mod kserve;
mod merge;
pub(super) mod pods;
pub(super) mod shell;

use super::rules::by_release::Judged;
use crate::config::serving::profile::Profile;
use crate::diag::Place;
use config_map::File;
use flags::Flags;
use kserve::{Derived, DerivedPods, Unread};
use pods::{PodSource, Template, list, text};
use serde_json::Value as Json;
use shell::Budget;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

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
        self.api_version().split_once('/').map_or("", |(group, _)| group)
    }

    pub(super) fn name(&self) -> &str {
        self.json.pointer("/metadata/name").and_then(Json::as_str).unwrap_or_default()
    }

    /// Returns the namespace; empty if not set.
    pub(super) fn namespace(&self) -> &str {
        self.json.pointer("/metadata/namespace").and_then(Json::as_str).unwrap_or_default()
    }

    pub(super) fn label(&self) -> String {
        format!("{}/{}", self.kind(), self.name())
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

/// An endpoint picker.
#[derive(Debug)]
pub(super) struct Picker<'a> {
    /// Its manifest.
    pub(super) owner: usize,
    /// Its container.
    pub(super) container: &'a Json,
    /// Its flags.
    pub(super) flags: Flags,
    /// Its configuration, if it is in the manifests: manifest index, JSON path, and content or parse
    /// error.
    pub(super) config: Option<(usize, String, Result<Json, String>)>,
}

/// Returns true if several pickers with this configuration have the same state: they discover each
/// other, or get cache events from the pods.
pub(super) fn can_be_several(config: &Json) -> bool {
    let layer = |key: &str| config.get("dataLayer").and_then(|layer| layer.get(key)).is_some();
    let hears = |plugin: &Json| text(plugin, "type") == "precise-prefix-cache-producer";
    layer("peerDiscovery")
        || layer("crossReplicaSyncerPluginRef")
        || list(config, "plugins").iter().any(hears)
}

impl Picker<'_> {
    fn known_config(&self) -> Option<&Json> {
        self.config.as_ref().and_then(|(_, _, config)| config.as_ref().ok())
    }

    /// Returns true if a custom plugin may discover its pods without Kubernetes; also for an unknown
    /// configuration.
    pub(super) fn discovers(&self) -> bool {
        self.config.is_none()
            || self
                .known_config()
                .is_some_and(|config| config.pointer("/dataLayer/discovery").is_some())
    }

    /// Returns true if several replicas have the same state.
    pub(super) fn can_be_several(&self) -> bool {
        self.known_config().is_some_and(can_be_several)
    }
}

/// Positions of things by their namespace.
#[derive(Debug, Default)]
struct ByNamespace<'a> {
    all: Vec<usize>,
    of: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> ByNamespace<'a> {
    fn push(&mut self, namespace: &'a str, position: usize) {
        self.all.push(position);
        self.of.entry(namespace).or_default().push(position);
    }

    /// Returns the positions, ascending, of the things that may be in a namespace. Without a namespace
    /// (empty) these are all, as in [`Manifest::may_share_namespace`].
    fn in_namespace(&self, namespace: &str) -> Vec<usize> {
        if namespace.is_empty() {
            return self.all.clone();
        }
        let mut found: Vec<usize> =
            ["", namespace].iter().filter_map(|key| self.of.get(key)).flatten().copied().collect();
        found.sort_unstable();
        found
    }
}

/// Positions of things by namespace and label.
#[derive(Debug, Default)]
pub(super) struct ByLabel<'a> {
    labels: BTreeMap<&'a str, BTreeMap<&'a str, ByNamespace<'a>>>,
    all: ByNamespace<'a>,
}

impl<'a> ByLabel<'a> {
    fn push(&mut self, namespace: &'a str, labels: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let position = self.all.all.len();
        for (key, value) in labels {
            let with = self.labels.entry(key).or_default().entry(value).or_default();
            with.push(namespace, position);
        }
        self.all.push(namespace, position);
    }

    /// Returns the positions of the things in the namespace of `near`, or in all namespaces, that have
    /// the rarest of the labels `wanted`; without labels, of all things there.
    pub(super) fn candidates<'w>(
        &self,
        wanted: impl IntoIterator<Item = (&'w str, &'w str)>,
        near: Option<&Manifest>,
    ) -> Vec<usize> {
        let namespace = near.map_or("", Manifest::namespace);
        let positions =
            |(key, value)| Some(self.labels.get(key)?.get(value)?.in_namespace(namespace));
        let with = wanted.into_iter().map(|label| positions(label).unwrap_or_default());
        with.min_by_key(Vec::len).unwrap_or_else(|| self.all.in_namespace(namespace))
    }
}

/// Returns true if labels have all those of a selector.
pub(super) fn has_labels(labels: Option<&Json>, wanted: &serde_json::Map<String, Json>) -> bool {
    let has = |(key, value): (&String, &Json)| labels.and_then(|all| all.get(key)) == Some(value);
    wanted.iter().all(has)
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

/// Positions of manifests, templates and pickers in a [`View`], so that no rule searches all of them
/// for one.
#[derive(Debug, Default)]
pub(super) struct Index<'a> {
    manifests: &'a [Manifest],
    /// Manifests by kind.
    kinds: BTreeMap<&'a str, Vec<usize>>,
    /// Manifests by kind and name.
    names: BTreeMap<(&'a str, &'a str), ByNamespace<'a>>,
    /// RoleBindings and ClusterRoleBindings by the names and namespaces of their ServiceAccounts.
    bindings: BTreeMap<&'a str, ByNamespace<'a>>,
    /// Services by the label of their selectors that the fewest Services select by.
    selecting: BTreeMap<(&'a str, &'a str), ByNamespace<'a>>,
    /// Labels of Services, in the order of `kinds`.
    services: ByLabel<'a>,
    /// Templates by their manifest.
    owned: BTreeMap<usize, Vec<usize>>,
    pub(super) templates: ByLabel<'a>,
    /// Pickers by their manifest.
    picking: BTreeMap<usize, usize>,
    pub(super) pickers: ByLabel<'a>,
}

impl<'a> Index<'a> {
    fn new(manifests: &'a [Manifest]) -> Self {
        let mut index = Index { manifests, ..Index::default() };
        for (number, manifest) in manifests.iter().enumerate() {
            let (kind, name, namespace) = (manifest.kind(), manifest.name(), manifest.namespace());
            index.kinds.entry(kind).or_default().push(number);
            index.names.entry((kind, name)).or_default().push(namespace, number);
            if kind == "Service" {
                index.services.push(namespace, labels_at(&manifest.json, "/metadata/labels"));
            }
            if matches!(kind, "RoleBinding" | "ClusterRoleBinding") {
                let subjects = list(&manifest.json, "subjects").iter();
                let accounts: BTreeSet<(&str, &str)> = subjects
                    .map(|subject| (text(subject, "name"), text(subject, "namespace")))
                    .collect();
                for (account, namespace) in accounts {
                    index.bindings.entry(account).or_default().push(namespace, number);
                }
            }
        }

        let services = || index.kinds.get("Service").into_iter().flatten().copied();
        let selector = |number: usize| labels_at(&manifests[number].json, "/spec/selector");
        let mut uses: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        services().flat_map(selector).for_each(|label| *uses.entry(label).or_default() += 1);
        let rarest = |number| selector(number).min_by_key(|label| uses.get(label));
        for (label, number) in services().filter_map(|number| Some((rarest(number)?, number))) {
            let namespace = manifests[number].namespace();
            index.selecting.entry(label).or_default().push(namespace, number);
        }
        index
    }

    fn add_pods(&mut self, templates: &[Template<'a>], pickers: &[Picker<'a>]) {
        for (number, template) in templates.iter().enumerate() {
            self.owned.entry(template.owner).or_default().push(number);
            let namespace = self.manifests[template.owner].namespace();
            let labels = template.labels.iter().map(|(key, value)| (*key, *value));
            self.templates.push(namespace, labels);
        }
        for (number, picker) in pickers.iter().enumerate() {
            self.picking.insert(picker.owner, number);
            let owner = &self.manifests[picker.owner];
            let labels = labels_at(&owner.json, "/spec/template/metadata/labels");
            self.pickers.push(owner.namespace(), labels);
        }
    }

    /// Returns the manifests with this kind and name that may be in a namespace; in any without one.
    fn all_named(
        &self,
        kind: &str,
        name: &str,
        namespace: &str,
    ) -> impl Iterator<Item = (usize, &'a Manifest)> + use<'_, 'a> {
        let named = self.names.get(&(kind, name)).map(|named| named.in_namespace(namespace));
        named.into_iter().flatten().map(|number| (number, &self.manifests[number]))
    }

    /// Returns the manifest with this kind and name in the namespace of `other`.
    fn named(&self, kind: &str, name: &str, other: &Manifest) -> Option<(usize, &'a Manifest)> {
        self.all_named(kind, name, other.namespace()).next()
    }
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
    pub(super) unread: Vec<Unread>,
    /// Remaining budget for expansions in scripts.
    pub(super) budget: Budget,
    /// Verdicts by the releases that images name, once a rule needs them.
    pub(super) judged: OnceCell<Vec<Judged>>,
    pub(super) index: Index<'a>,
}

impl<'a> View<'a> {
    /// Parses manifests, and the pods that controllers create from them.
    pub(super) fn new(
        manifests: &'a [Manifest],
        derived: &'a Derived,
        profile: &'static Profile,
        devices_per_unit: Option<u32>,
    ) -> View<'a> {
        let mut view = View {
            profile,
            devices_per_unit,
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

        for (owner, manifest) in manifests.iter().enumerate() {
            let found = discovery::templates(owner, manifest, &view.budget);
            view.templates.extend(found);
        }
        let pods = derived.pods.iter().filter_map(of_controller);
        view.templates.extend(pods.map(|source| Template::new(source, &view.budget)));
        for (owner, manifest) in manifests.iter().enumerate() {
            view.pickers.extend(view.picker(owner, manifest));
        }

        view.derived_pickers = derived
            .pickers
            .iter()
            .map(|picker| Picker {
                owner: picker.owner,
                container: &picker.container,
                flags: Flags::parse(&literal_words(&picker.container)),
                config: picker.config.clone(),
            })
            .collect();

        // Pods of pickers are checked as pickers only.
        let pickers: BTreeSet<usize> = view.pickers.iter().map(|picker| picker.owner).collect();
        view.templates.retain(|template| !pickers.contains(&template.owner));
        view.index.add_pods(&view.templates, &view.pickers);
        view.read_flag_files();
        view
    }

    /// Adds the flags that engines read from files in ConfigMaps (`vllm serve --config`).
    fn read_flag_files(&mut self) {
        for template in &mut self.templates {
            let Some(engine) = &mut template.engine else { continue };
            let Some(flags) = &mut engine.flags else { continue };
            let Some(path) = flags.text("config").map(str::to_owned) else { continue };

            let owner = &self.manifests[template.owner];
            let file = config_map::file(&self.index, owner, template.spec, engine.container, &path);
            let read = match file {
                File::Text(_, _, content) => config_map::parse(content),
                _ => Err("it is not in the manifests".to_owned()),
            };
            match read {
                Ok(Json::Object(keys)) => flags.insert_file(&keys),
                Ok(_) | Err(_) if template.completed => {}
                Ok(_) => self.unread.push(Unread {
                    owner: template.owner,
                    path: template.spec_path.clone(),
                    message: format!(
                        "flags of {} in `{path}` are not checked: it is not a map",
                        owner.label()
                    ),
                    hint: "write one flag per line: `max-model-len: 4096`",
                }),
                Err(why) => self.unread.push(Unread {
                    owner: template.owner,
                    path: template.spec_path.clone(),
                    message: format!(
                        "flags of {} in `{path}` are not checked: {why}",
                        owner.label()
                    ),
                    hint: "pass the ConfigMap of the file as well",
                }),
            }
            if engine.model.is_none() {
                engine.model = flags.text("model").map(str::to_owned);
            }
        }
    }

    /// Returns all pickers, also those that a controller creates.
    pub(super) fn all_pickers(&self) -> impl Iterator<Item = &Picker<'a>> {
        self.pickers.iter().chain(&self.derived_pickers)
    }

    /// Returns the pods that a picker selects, and the label of their pool for messages.
    pub(super) fn pods_of(&self, picker: &Picker<'_>) -> Option<(String, Vec<&Template<'a>>)> {
        let owner = &self.manifests[picker.owner];
        if owner.kind() == "LLMInferenceService" {
            let own = self.templates_of(picker.owner);
            let own = own.filter(|template| template.labels.contains_key("llm-d.ai/role"));
            return Some((owner.label(), own.collect()));
        }
        let (_, pool) = self.pool_of(picker)?;
        Some((pool.label(), self.selected(pool)))
    }

    /// Returns the prefill and decode pods that transfer KV caches to each other.
    pub(super) fn pairs(&self) -> Vec<(&Template<'a>, &Template<'a>)> {
        let mut groups: Vec<Vec<&Template<'a>>> =
            self.pools().map(|(_, pool)| self.selected(pool)).collect();
        for (owner, manifest) in self.manifests.iter().enumerate() {
            if matches!(
                manifest.kind(),
                "LLMInferenceService" | "StormService" | "DisaggregatedSet"
            ) {
                groups.push(self.templates_of(owner).collect());
            }
        }
        // Without pools, roles in one set of manifests belong together if they are unambiguous.
        let no_pools = self.pools().next().is_none();
        let of_role = |role: &str| {
            self.templates.iter().filter(|t| t.engine.is_some() && t.role() == Some(role)).count()
        };
        if no_pools && of_role("prefill") == 1 && of_role("decode") == 1 {
            groups.push(self.templates.iter().collect());
        }

        let mut pairs: Vec<(&Template<'a>, &Template<'a>)> = Vec::new();
        for group in groups {
            let first = |role: &str| {
                let fits = |t: &&&Template<'a>| t.engine.is_some() && t.role() == Some(role);
                group.iter().find(fits).copied()
            };
            if let (Some(prefill), Some(decode)) = (first("prefill"), first("decode")) {
                let known = |(one, other): &(&Template<'a>, &Template<'a>)| {
                    std::ptr::eq(*one, prefill) && std::ptr::eq(*other, decode)
                };
                if !pairs.iter().any(known) {
                    pairs.push((prefill, decode));
                }
            }
        }
        pairs
    }

    /// Returns the manifests of a kind with their indices.
    pub(super) fn of_kind(&self, kind: &str) -> impl Iterator<Item = (usize, &'a Manifest)> {
        let numbers = self.index.kinds.get(kind).into_iter().flatten();
        numbers.map(|number| (*number, &self.manifests[*number]))
    }

    /// Returns the manifests with this kind and name that may be in a namespace; in any without one.
    pub(super) fn all_named(
        &self,
        kind: &str,
        name: &str,
        namespace: &str,
    ) -> impl Iterator<Item = (usize, &'a Manifest)> + use<'_, 'a> {
        self.index.all_named(kind, name, namespace)
    }

    /// Returns the manifest with this kind and name in the namespace of `other`.
    pub(super) fn named(
        &self,
        kind: &str,
        name: &str,
        other: &Manifest,
    ) -> Option<(usize, &'a Manifest)> {
        self.index.named(kind, name, other)
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

    /// Returns the Services in the namespace of `owner` that select pods with these labels.
    pub(super) fn services_selecting(
        &self,
        labels: Option<&Json>,
        owner: &Manifest,
    ) -> impl Iterator<Item = (usize, &'a Manifest)> + use<'_, 'a> {
        let selects = |number: &usize| {
            let selector = self.manifests[*number].json.pointer("/spec/selector");
            selector.and_then(Json::as_object).is_some_and(|wanted| has_labels(labels, wanted))
        };
        let pairs = labels.into_iter().flat_map(|labels| labels_at(labels, ""));
        let services: BTreeSet<usize> = pairs
            .filter_map(|label| self.index.selecting.get(&label))
            .flat_map(|services| services.in_namespace(owner.namespace()))
            .filter(selects)
            .collect();
        services.into_iter().map(|number| (number, &self.manifests[number]))
    }

    /// Returns the Services in the namespace of `near`, or in all namespaces, that may have these labels.
    pub(super) fn services_like<'w>(
        &self,
        wanted: impl IntoIterator<Item = (&'w str, &'w str)>,
        near: Option<&Manifest>,
    ) -> Vec<&'a Manifest> {
        let services = self.index.kinds.get("Service").map_or(&[][..], Vec::as_slice);
        let candidates = self.index.services.candidates(wanted, near).into_iter();
        candidates.map(|at| &self.manifests[services[at]]).collect()
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

    /// Returns the templates with these labels in the namespace of `near`.
    pub(super) fn with_labels<'v>(
        &'v self,
        wanted: &serde_json::Map<String, Json>,
        near: &Manifest,
    ) -> impl Iterator<Item = &'v Template<'a>> {
        let candidates = self.index.templates.candidates(pairs(wanted), Some(near)).into_iter();
        candidates
            .map(|number| &self.templates[number])
            .filter(|template| template.has_labels(wanted))
    }

    /// Returns the pools with their indices.
    pub(super) fn pools(&self) -> impl Iterator<Item = (usize, &'a Manifest)> {
        self.of_kind("InferencePool")
    }

    /// Returns the templates that a pool selects.
    pub(super) fn selected(&self, pool: &Manifest) -> Vec<&Template<'a>> {
        let Some(wanted) =
            pool.json.pointer("/spec/selector/matchLabels").and_then(Json::as_object)
        else {
            return Vec::new();
        };
        self.with_labels(wanted, pool).collect()
    }

    /// Returns the pool of a picker.
    pub(super) fn pool_of(&self, picker: &Picker<'_>) -> Option<(usize, &'a Manifest)> {
        let name = picker.flags.text("pool-name")?;
        let owner = &self.manifests[picker.owner];
        self.named("InferencePool", name, owner)
    }

    fn picker(&self, owner: usize, manifest: &'a Manifest) -> Option<Picker<'a>> {
        if !matches!(manifest.kind(), "Deployment" | "StatefulSet") {
            return None;
        }
        let spec = manifest.json.pointer("/spec/template/spec")?;
        for container in list(spec, "containers") {
            let flags = Flags::parse(&literal_words(container));
            let image = text(container, "image");
            let picks = flags.has("pool-name") || flags.has("endpoint-selector");
            if picks || image.contains("endpoint-picker") {
                let config = self.config_of(manifest, spec, container, &flags);
                return Some(Picker { owner, container, flags, config });
            }
        }
        None
    }

    /// Returns the configuration that a picker reads from a ConfigMap.
    fn config_of(
        &self,
        picker: &Manifest,
        spec: &Json,
        container: &Json,
        flags: &Flags,
    ) -> Option<(usize, String, Result<Json, String>)> {
        if let Some(text) = flags.text("config-text") {
            let index =
                self.manifests.iter().position(|manifest| std::ptr::eq(manifest, picker))?;
            let path = ".spec.template.spec.containers[0].args".to_owned();
            return Some((index, path, config_map::parse(text)));
        }

        let path = flags.text("config-file")?;
        match config_map::file(&self.index, picker, spec, container, path) {
            File::Text(index, key, _) => {
                Some(config_map::document(index, &self.manifests[index], &key))
            }
            File::Missing(index) => {
                let name = path.rsplit('/').next().unwrap_or_default();
                Some((index, ".data".to_owned(), Err(format!("there is no file {name}"))))
            }
            File::NotMounted | File::Unknown => None,
        }
    }
}

/// Returns the words of a container's command and arguments.
fn literal_words(container: &Json) -> Vec<String> {
    ["command", "args"]
        .iter()
        .flat_map(|key| list(container, key))
        .filter_map(|word| word.as_str().map(str::to_owned))
        .collect()
}

/// Returns pods of a controller for parsing.
fn of_controller(pods: &DerivedPods) -> Option<PodSource<'_>> {
    let source = PodSource::template(pods.owner, pods.spec_path.clone(), &pods.template)?;
    Some(PodSource {
        spec_path: pods.spec_path.clone(),
        part: pods.part,
        size: pods.size,
        replicas: pods.replicas,
        completed: true,
        ..source
    })
}

/// Returns a value without expressions as JSON.
pub(super) fn as_json(value: &crate::ir::Value) -> Json {
    crate::ir::Release { namespace: "", values: &Json::Null }.value(value)
}

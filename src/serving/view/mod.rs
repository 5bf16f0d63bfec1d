//! Typed view of manifests: pods with engines, pools, pickers.

pub(super) mod flags;
pub(super) mod pods;
pub(super) mod shell;

use super::rules::by_release::Judged;
use crate::config::serving::profile::Profile;
use crate::diag::Place;
use flags::Flags;
use pods::{Part, Template, list, text};
use serde_json::Value as Json;
use shell::Budget;
use std::cell::OnceCell;

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
    pub(super) fn is_beside(&self, other: &Manifest) -> bool {
        let (one, other) = (self.namespace(), other.namespace());
        one.is_empty() || other.is_empty() || one == other
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
    /// Remaining budget for expansions in scripts.
    pub(super) budget: Budget,
    /// Verdicts by the releases that images name, once a rule needs them.
    pub(super) judged: OnceCell<Vec<Judged>>,
}

impl<'a> View<'a> {
    pub(super) fn new(
        manifests: &'a [Manifest],
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
            budget: Budget::new(),
            judged: OnceCell::new(),
        };
        for (owner, manifest) in manifests.iter().enumerate() {
            let found = templates(owner, manifest, &view.budget);
            view.templates.extend(found);
        }
        for (owner, manifest) in manifests.iter().enumerate() {
            view.pickers.extend(view.picker(owner, manifest));
        }
        let pickers: Vec<usize> = view.pickers.iter().map(|picker| picker.owner).collect();
        view.templates.retain(|template| !pickers.contains(&template.owner));
        view
    }

    /// Returns the manifests of a kind with their indices.
    pub(super) fn of_kind(&self, kind: &str) -> impl Iterator<Item = (usize, &'a Manifest)> {
        let kind = kind.to_owned();
        self.manifests.iter().enumerate().filter(move |(_, manifest)| manifest.kind() == kind)
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
        self.templates
            .iter()
            .filter(|template| self.manifests[template.owner].is_beside(pool))
            .filter(|template| template.has_labels(wanted))
            .collect()
    }

    /// Returns the pool of a picker.
    pub(super) fn pool_of(&self, picker: &Picker<'_>) -> Option<(usize, &'a Manifest)> {
        let name = picker.flags.text("pool-name")?;
        let owner = &self.manifests[picker.owner];
        self.pools().find(|(_, pool)| pool.name() == name && pool.is_beside(owner))
    }

    fn picker(&self, owner: usize, manifest: &'a Manifest) -> Option<Picker<'a>> {
        if !matches!(manifest.kind(), "Deployment" | "StatefulSet") {
            return None;
        }
        let spec = manifest.json.pointer("/spec/template/spec")?;
        for container in list(spec, "containers") {
            let words: Vec<String> = ["command", "args"]
                .iter()
                .flat_map(|key| list(container, key))
                .filter_map(|word| word.as_str().map(str::to_owned))
                .collect();
            let flags = Flags::parse(&words);
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
        let file = flags.text("config-file")?;
        let (folder, name) = file.rsplit_once('/')?;
        let mount = list(container, "volumeMounts")
            .iter()
            .find(|mount| text(mount, "mountPath").trim_end_matches('/') == folder)?;
        let volume = list(spec, "volumes")
            .iter()
            .find(|volume| text(volume, "name") == text(mount, "name"))?;
        let map_name = volume.pointer("/configMap/name")?.as_str()?;
        let (number, map) = self
            .of_kind("ConfigMap")
            .find(|(_, map)| map.name() == map_name && map.is_beside(picker))?;
        let path = format!(".data[{name:?}]");
        let Some(content) = map.json.get("data").and_then(|data| data.get(name)) else {
            return Some((number, ".data".to_owned(), Err(format!("there is no file {name}"))));
        };

        let read = crate::yaml::parse(content.as_str().unwrap_or_default());
        let config = read.and_then(|mut documents| match documents.pop() {
            Some(document) if documents.is_empty() => Ok(as_json(&document)),
            _ => Err("it is not one YAML document".to_owned()),
        });

        Some((number, path, config))
    }
}

/// Returns a value without expressions as JSON.
pub(super) fn as_json(value: &crate::ir::Value) -> Json {
    crate::ir::Release { namespace: "", values: &Json::Null }.value(value)
}

/// Returns the pod templates of a manifest.
fn templates<'a>(owner: usize, manifest: &'a Manifest, budget: &Budget) -> Vec<Template<'a>> {
    let json = &manifest.json;
    match manifest.kind() {
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => {
            let replicas = json.pointer("/spec/replicas").and_then(Json::as_u64);
            let template = json.pointer("/spec/template");
            let path = ".spec.template".to_owned();
            template
                .and_then(|template| {
                    Template::new(owner, path, template, Part::Single, 1, replicas, budget)
                })
                .into_iter()
                .collect()
        }
        "LeaderWorkerSet" => group(owner, ".spec", json.get("spec").unwrap_or(&Json::Null), budget),
        "DisaggregatedSet" => json
            .pointer("/spec/roles")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .enumerate()
            .flat_map(|(index, role)| {
                let path = format!(".spec.roles[{index}].spec");
                group(owner, &path, role.get("spec").unwrap_or(&Json::Null), budget)
            })
            .collect(),
        "Pod" => Template::new(owner, String::new(), json, Part::Single, 1, Some(1), budget)
            .into_iter()
            .collect(),
        // Unknown kinds with a template like a Deployment's are treated like one.
        _ => json
            .pointer("/spec/template")
            .filter(|template| template.pointer("/spec/containers").is_some_and(Json::is_array))
            .and_then(|template| {
                let path = ".spec.template".to_owned();
                Template::new(owner, path, template, Part::Single, 1, None, budget)
            })
            .into_iter()
            .collect(),
    }
}

/// Returns the templates of a group; a leader without a template uses that of the workers.
fn group<'a>(owner: usize, path: &str, spec: &'a Json, budget: &Budget) -> Vec<Template<'a>> {
    let Some(parts) = spec.get("leaderWorkerTemplate") else { return Vec::new() };
    let size = parts.get("size").and_then(Json::as_u64).unwrap_or(1);
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    let replicas = spec.get("replicas").map_or(Some(1), Json::as_u64);
    let path_of = |key: &str| format!("{path}.leaderWorkerTemplate.{key}");
    let worker = parts.get("workerTemplate");
    let leader = parts
        .get("leaderTemplate")
        .map(|template| (template, "leaderTemplate"))
        .or(worker.map(|template| (template, "workerTemplate")));
    let mut templates = Vec::new();
    if let Some((template, key)) = leader {
        let part = Part::Leader;
        let path = path_of(key);
        templates.extend(Template::new(owner, path, template, part, size, replicas, budget));
    }
    if let Some(template) = worker.filter(|_| size > 1) {
        let path = path_of("workerTemplate");
        let part = Part::Worker;
        templates.extend(Template::new(owner, path, template, part, size, replicas, budget));
    }
    templates
}

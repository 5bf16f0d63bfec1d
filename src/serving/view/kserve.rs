//! The pods that KServe's controller creates for LLMInferenceServices and InferenceServices.
//!
//! Source: the presets and the merge of KServe 0.20 (LLMInferenceServiceConfig, ServingRuntime),
//! reduced to what the invariants look at: the engine's command, ports, probes and volumes.

use super::merge::merged;
use super::pods::{Part, is_true, text_or};
use super::*;
use crate::diag::suggest;
use crate::placeholders::map_texts;
use std::sync::LazyLock;

/// The beginning of the names of KServe's own presets.
pub(crate) const PRESETS: &str = "kserve-config-";

/// Pods that a controller creates from one or several objects.
#[derive(Debug)]
pub(crate) struct DerivedPods {
    /// Index of the manifest that findings point to.
    pub(crate) owner: usize,
    /// JSON path of the pod spec in it.
    pub(crate) spec_path: String,
    /// The pod template.
    pub(crate) template: Json,
    /// The pods of a group that it is for.
    pub(crate) part: Part,
    /// Number of pods per group.
    pub(crate) size: u32,
    /// `replicas`, if set.
    pub(crate) replicas: Option<u64>,
}

/// An endpoint picker that a controller creates.
#[derive(Debug)]
pub(crate) struct DerivedPicker {
    /// Index of the manifest that findings point to.
    pub(crate) owner: usize,
    /// Its container.
    pub(crate) container: Json,
    /// JSON path of the container.
    pub(crate) path: String,
    /// Its configuration.
    pub(crate) config: Option<PickerFile>,
}

/// Objects that KServe's controller creates.
#[derive(Debug, Default)]
pub(crate) struct Derived {
    pub(crate) pods: Vec<DerivedPods>,
    pub(crate) pickers: Vec<DerivedPicker>,
    /// Parts of manifests that are not checked.
    pub(crate) unread: Vec<Finding>,
}

impl Derived {
    /// Derives the pods of all services in these manifests.
    pub(crate) fn new(manifests: &[Manifest]) -> Self {
        let mut derived = Derived::default();
        let index = Index::new(manifests);
        for (owner, manifest) in manifests.iter().enumerate() {
            match manifest.kind() {
                "LLMInferenceService" => derived.llm_service(owner, &index),
                "InferenceService" => derived.inference_service(owner, &index),
                "RayService" => derived.ray_service(owner, manifest),
                _ => {}
            }
        }
        derived
    }

    /// Adds a part that is not checked.
    fn skip(&mut self, owner: usize, path: &str, message: String, hint: &str) {
        let (path, hint) = (path.to_owned(), hint.to_owned());
        self.unread.push(Finding { owner, path, message, hint, ..Finding::default() });
    }

    /// Adds the applications of a RayService: Python starts their engines.
    fn ray_service(&mut self, owner: usize, service: &Manifest) {
        let path = ".spec.serveConfigV2";
        let Some(content) = service.text("/spec/serveConfigV2") else { return };
        let Ok(config) = super::config_map::parse(content) else { return };
        // Those of models are checked.
        let others = list(&config, "applications").iter();
        let others = others.filter(|one| one.pointer("/args/llm_configs").is_none());
        let names: Vec<&str> = others.map(|one| text(one, "name")).collect();
        if names.is_empty() {
            return;
        }
        let names = suggest::list(&names);
        let message = format!(
            "engines of {service} are not checked: Ray Serve starts them in Python (applications: {names})"
        );
        self.skip(owner, path, message, "check the engine arguments of the applications by hand");
    }

    fn llm_service(&mut self, owner: usize, index: &Index<'_>) {
        let service = &index.manifests[owner];
        let Some(own) = service.json.get("spec") else { return };

        // Presets in order, then the service: the last one wins.
        let mut spec = json!({});
        for (reference, path) in items(own, "baseRefs", ".spec") {
            let name = text(reference, "name");
            let presets = index.named("LLMInferenceServiceConfig", name, "");
            match presets.first().and_then(|(_, preset)| preset.json.get("spec")) {
                Some(preset) => spec = merged(spec, preset),
                // KServe's own presets are in the namespace of its controller; `Preset` has what
                // they add.
                None if name.starts_with(PRESETS) => {}
                None => {
                    let message = format!(
                        "pods of {service} are not checked: LLMInferenceServiceConfig/{name} is not in \
                         the manifests"
                    );
                    self.skip(owner, &path, message, "pass the preset as well");
                    return;
                }
            }
        }
        spec = merged(spec, own);

        let prefill = spec.get("prefill").filter(|prefill| !prefill.is_null());
        let role = if prefill.is_some() { "decode" } else { "both" };
        self.workload(owner, service, &spec, (&spec, role));
        if let Some(prefill) = prefill {
            self.workload(owner, service, &spec, (prefill, "prefill"));
        }
        if let Some(scheduler) = spec.pointer("/router/scheduler").filter(|s| s.is_object()) {
            self.scheduler(owner, scheduler, index);
        }
    }

    /// Adds the pods of one role. `spec` is the whole service, `part` the role's fields.
    fn workload(
        &mut self,
        owner: usize,
        service: &Manifest,
        spec: &Json,
        (part, role): (&Json, &'static str),
    ) {
        let path = if role == "prefill" { ".spec.prefill" } else { ".spec" };
        let added = json!({
            "app.kubernetes.io/name": service.name(),
            "app.kubernetes.io/part-of": "llminferenceservice",
            "kserve.io/component": "workload",
            "llm-d.ai/role": role,
        });
        let labels = part.get("labels").filter(|labels| labels.is_object()).cloned();
        let labels = merged(labels.unwrap_or(json!({})), &added);

        let shape = part.get("parallelism").unwrap_or(&Json::Null);
        let number = |key: &str| shape.get(key).and_then(Json::as_u64).filter(|n| *n > 0);
        let size = match (number("data"), number("dataLocal"), number("pipeline")) {
            // As KServe's GetSize; `rules::kserve` reports a remainder.
            (Some(data), Some(local), _) => data / local,
            (_, _, Some(pipeline)) => pipeline,
            _ => 1,
        };
        let replicas = part.get("replicas").and_then(Json::as_u64);
        let worker = part.get("worker").filter(|worker| worker.is_object());
        let preset = Preset { service, spec, shape, role };
        let template = part.get("template").filter(|template| template.is_object());
        let leader = if worker.is_some() { Part::Leader } else { Part::Single };
        let uri = spec.pointer("/model/uri").and_then(Json::as_str).unwrap_or_default();
        let pod = |own: &Json, part: Part| with_claim(preset.pod(own, part), uri);
        let first = (format!("{path}.template"), pod(template.unwrap_or(&json!({})), leader));
        let worker = worker.map(|own| (format!("{path}.worker"), pod(own, Part::Worker)));
        self.add(owner, labels, (size, replicas), first, worker);
    }

    fn scheduler(&mut self, owner: usize, scheduler: &Json, index: &Index<'_>) {
        let service = &index.manifests[owner];
        let containers = scheduler.get("template").map_or(&[][..], |pod| list(pod, "containers"));
        let at = containers.iter().position(|container| text(container, "name") == "main");
        let path = ".spec.router.scheduler.config";
        let inline = scheduler.pointer("/config/inline").filter(|inline| inline.is_object());
        let reference = scheduler.pointer("/config/ref");

        let config = match (inline, reference) {
            (Some(inline), _) => Some((owner, format!("{path}.inline"), Ok(inline.clone()))),
            (None, Some(reference)) => {
                let (name, key) = (text(reference, "name"), text_or(reference, "key", "epp"));
                let maps = index.named("ConfigMap", name, service.namespace());
                if maps.is_empty() {
                    let message = format!(
                        "configuration of the picker of {service} is not checked: ConfigMap/{name} is not \
                         in the manifests"
                    );
                    self.skip(owner, &format!("{path}.ref"), message, "pass the ConfigMap as well");
                }
                maps.first().map(|(index, map)| super::config_map::document(*index, map, key))
            }
            (None, None) => None,
        };
        let container = at.map_or(json!({"name": "main"}), |at| containers[at].clone());
        let at = at.unwrap_or_default();
        let path = format!(".spec.router.scheduler.template.containers[{at}]");
        self.pickers.push(DerivedPicker { owner, container, path, config });
    }

    fn inference_service(&mut self, owner: usize, index: &Index<'_>) {
        let service = &index.manifests[owner];
        let Some(predictor) = service.json.pointer("/spec/predictor") else { return };
        let path = ".spec.predictor";
        let mut pod = predictor.clone();
        let mut spec_path = path.to_owned();
        if let Some(model) = predictor.get("model") {
            let name = text(model, "runtime");
            let format = text_at(model, "/modelFormat/name").unwrap_or_default().to_lowercase();
            let of_name = |kind: &&str| index.named(kind, name, service.namespace());
            let is_of_format = |runtime: &Manifest| {
                list(runtime.spec(), "supportedModelFormats").iter().any(|one| {
                    is_true(one, "/autoSelect") && text(one, "name").eq_ignore_ascii_case(&format)
                })
            };
            let of_format = |runtime: &&Manifest| {
                RUNTIME_KINDS.contains(&runtime.kind())
                    && runtime.may_share_namespace(service)
                    && !is_true(runtime.spec(), "/disabled")
                    && is_of_format(runtime)
            };
            let runtimes: Vec<&Manifest> = match name {
                "" => index.manifests.iter().filter(of_format).collect(),
                _ => RUNTIME_KINDS.iter().flat_map(of_name).map(|(_, runtime)| runtime).collect(),
            };
            // Which one of several that know the format KServe takes depends on their priorities.
            let runtime = runtimes.first().filter(|_| !name.is_empty() || runtimes.len() == 1);
            let runtime = runtime.and_then(|runtime| runtime.json.get("spec")).cloned();
            let Some(mut runtime) = runtime.or_else(|| default_runtime(name, &format)) else {
                let what =
                    if name.is_empty() { format!("of format `{format}`") } else { name.to_owned() };
                let message = format!(
                    "pods of {service} are not checked: its runtime {what} is not in the manifests"
                );
                let hint = "pass the ServingRuntime or ClusterServingRuntime as well";
                self.skip(owner, &format!("{path}.model"), message, hint);
                return;
            };

            // The runtime's container, then the fields of the model: KServe appends its arguments.
            let mut model = model.clone();
            if let Some(container) = runtime.pointer_mut("/containers/0") {
                let args: Vec<Json> = [list(container, "args"), list(&model, "args")].concat();
                // The other fields of `model` are those of a container.
                for key in ["modelFormat", "runtime", "storageUri", "storage", "protocolVersion"] {
                    model.as_object_mut().map(|model| model.remove(key));
                }
                model["name"] = container["name"].clone();
                let mut whole = merged(container.clone(), &model);
                whole["args"] = Json::Array(args);
                // The template variable of runtimes.
                let named = |text: &str| text.replace("{{.Name}}", service.name());
                *container = map_texts(whole, &named);
            }
            pod.as_object_mut().map(|pod| pod.remove("model"));
            let uri = text_at(predictor, "/model/storageUri").unwrap_or_default();
            pod = with_claim(merged(runtime, &pod), uri);
            spec_path = format!("{path}.model");
        }

        let name = service.name();
        let labels = json!({"serving.kserve.io/inferenceservice": name, "app": format!("isvc.{name}-predictor")});
        let worker = pod.as_object_mut().and_then(|pod| pod.remove("workerSpec"));
        let size = worker.as_ref().and_then(|worker| worker.get("pipelineParallelSize")?.as_u64());
        let replicas = predictor.get("minReplicas").and_then(Json::as_u64);
        if list(&pod, "containers").is_empty() {
            return;
        }

        let worker = worker.map(|pod| (format!("{path}.workerSpec"), pod));
        self.add(owner, labels, (size.unwrap_or(1), replicas), (spec_path, pod), worker);
    }

    /// Adds the pods of the first, or only, member of a group and of its workers: the JSON paths of their specs,
    /// and the specs.
    fn add(
        &mut self,
        owner: usize,
        labels: Json,
        (size, replicas): (u64, Option<u64>),
        first: (String, Json),
        worker: Option<(String, Json)>,
    ) {
        let size = u32::try_from(size.max(1)).unwrap_or(u32::MAX);
        let part = if worker.is_some() { Part::Leader } else { Part::Single };
        // Only the leader has the labels of the pool's selector.
        let worker = worker.filter(|(_, spec)| !list(spec, "containers").is_empty());
        let worker = worker.map(|pods| (pods, json!({}), Part::Worker));
        for ((spec_path, spec), labels, part) in [(first, labels, part)].into_iter().chain(worker) {
            let metadata = json!({"labels": labels, "annotations": spec.get("annotations")});
            let template = json!({"metadata": metadata, "spec": spec});
            self.pods.push(DerivedPods { owner, spec_path, template, part, size, replicas });
        }
    }
}

/// Adds the volume of a model in a claim to a pod (KServe, PvcSourceMountName).
fn with_claim(pod: Json, uri: &str) -> Json {
    let Some(path) = uri.strip_prefix("pvc://") else { return pod };
    let source = json!({"claimName": path.split('/').next()});
    let volume = json!({"name": "kserve-pvc-source", "persistentVolumeClaim": source});
    merged(pod, &json!({"volumes": [volume]}))
}

/// Kinds of runtimes: a service uses that of its namespace before that of the cluster (KServe,
/// pkg/utils/inferenceservice).
pub(crate) const RUNTIME_KINDS: [&str; 2] = ["ServingRuntime", "ClusterServingRuntime"];

/// KServe's own runtimes for models without a runtime in the manifests, by the format of models.
static RUNTIMES: LazyLock<Json> =
    LazyLock::new(|| embedded::json(include_str!("../releases/data/runtimes.json")));

/// Returns the spec of KServe's own runtime for a format; `None` for a runtime with another name.
fn default_runtime(name: &str, format: &str) -> Option<Json> {
    let runtime = RUNTIMES.get(format)?;
    (name.is_empty() || name == text(runtime, "name")).then(|| runtime["spec"].clone())
}

/// KServe's own preset for one role of a service.
struct Preset<'s> {
    service: &'s Manifest,
    spec: &'s Json,
    shape: &'s Json,
    role: &'static str,
}

impl Preset<'_> {
    /// Returns the pod spec with everything that the preset adds to it.
    fn pod(&self, own: &Json, part: Part) -> Json {
        let mut containers = list(own, "containers").iter();
        let main = containers.find(|one| text(one, "name") == "main").unwrap_or(&Json::Null);
        // Decode has the routing sidecar on 8000.
        let port = if self.role == "decode" { 8_001 } else { 8_000 };
        let starts = list(main, "command").is_empty();
        let command = || json!(["/bin/bash", "-c", self.script(main, part, port), "--"]);
        let is_probed = starts && part != Part::Worker;
        let probe = json!({"httpGet": {"path": "/health", "port": port}});
        let startup = merged(probe.clone(), &json!({"periodSeconds": 10, "failureThreshold": 60}));
        // The preset mounts shared memory, unless the service has a mount of its own there.
        let mut mounts = list(main, "volumeMounts").iter();
        let has_shared_memory = mounts.any(|mount| text(mount, "mountPath") == "/dev/shm");
        let has_sidecar = self.role == "decode" && part != Part::Worker;

        let preset = map! {
            "command": ?starts.then(command),
            "startup": ?is_probed.then_some(startup),
            "probe": ?is_probed.then_some(probe),
            "shared_memory": ?(!has_shared_memory).then_some("/dev/shm"),
            "sidecar": ?has_sidecar.then_some("llm-d-routing-sidecar"),
        };
        let preset = build::part(include_str!("../objects/kserve_preset.yaml"), &preset);
        merged(Release::LITERAL.value(&preset), own)
    }

    /// Returns the script of the preset's command.
    fn script(&self, main: &Json, part: Part, port: u32) -> String {
        let model = self.spec.get("model").unwrap_or(&Json::Null);
        let name = text_or(model, "name", self.service.name());
        let mut flags = vec![format!("--served-model-name '{name}' --port {port}")];
        let number = |key: &str| self.shape.get(key).and_then(Json::as_u64);
        flags.extend(number("tensor").map(|tensor| format!("--tensor-parallel-size {tensor}")));
        match number("data").zip(number("dataLocal")) {
            Some((data, local)) if part != Part::Single => flags.push(format!(
                "--data-parallel-size {data} --data-parallel-size-local {local} \
                 --data-parallel-address $LWS_LEADER_ADDRESS \
                 --data-parallel-start-rank $((LWS_WORKER_INDEX * {local}))"
            )),
            // The preset for pipelines comes from the service. Of `data` without `dataLocal`, which
            // `rules::kserve` reports, KServe makes nothing.
            _ if part != Part::Single => flags.push("--config /unknown".to_owned()),
            _ => {}
        }
        flags.extend((part == Part::Worker).then(|| "--headless".to_owned()));
        let lora = model.get("lora").unwrap_or(&Json::Null);
        let names = texts(lora, "adapters", "name");
        let names: Vec<String> = names.map(|name| format!("'{name}=/mnt/lora/{name}'")).collect();
        if !names.is_empty() {
            flags.push(format!("--enable-lora --lora-modules {}", names.join(" ")));
        }

        // The preset evaluates this variable, so quotes in it are the shell's.
        let env = list(main, "env");
        let more = env.iter().find(|variable| text(variable, "name") == "VLLM_ADDITIONAL_ARGS");
        flags.extend(more.map(|variable| text(variable, "value").to_owned()));
        format!("exec vllm serve /mnt/models {} \"$@\"", flags.join(" "))
    }
}

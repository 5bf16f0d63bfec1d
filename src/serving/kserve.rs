//! `form = "kserve"`: one LLMInferenceService, from which the KServe controller creates workloads,
//! picker, pool and route.

use super::build::{pod_ip_variable, variable};
use super::pod_fields::Pods;
use super::topology::SERVING_PORT;
use super::*;
use config::serving::{Adapter, EngineKind};

/// The end of the name of a pool that KServe creates, behind the service's (KServe, llmisvc).
pub(super) const POOL_SUFFIX: &str = "-inference-pool";

/// Returns the LLMInferenceService.
pub(super) fn objects(config: &ServingConfig, values: &mut Values<'_>) -> Vec<Object> {
    // The controller downloads or mounts the adapters.
    let adapter = |one: &Adapter| value!({"name": &one.name, "uri": uri(&one.source)});
    let adapters: Vec<Value> = config.adapters.iter().map(adapter).collect();
    let has_adapters = !adapters.is_empty();
    let lora = value!({"adapters": adapters, "maxRank": ?config.adapter_rank});
    let mut spec = map! {"model": {
        "uri": uri(&config.model),
        "name": &config.served_name,
        "lora": ?has_adapters.then_some(lora),
    }};
    for workload in Workload::all(config) {
        let shape = part(&workload, values);
        match workload.role {
            Role::Decode => spec.extend(shape),
            Role::Prefill => {
                spec.insert("prefill".to_owned(), shape.into());
            }
        }
    }

    let tracing = config.tracing.as_ref().map(|tracing| {
        json!({
            "exporterEndpoint": tracing.endpoint,
            "samplerArg": engine::trace_ratio(tracing),
        })
    });
    spec.extend(map! {"router": router(config, values), "tracing": ?tracing});
    // Without it KServe attaches a policy that admits everyone to the model's HTTPRoute.
    let authenticated = json!({"security.opendatahub.io/enable-auth": "true"});
    let annotations = config.maas.is_some().then_some(authenticated);
    let holes = map! {"annotations": ?annotations, "spec": spec};
    of_model(include_str!("objects/kserve.yaml"), config, holes)
}

/// Returns the URI from which KServe fetches a model.
fn uri(model: &Model) -> String {
    match model {
        Model::HuggingFace(repository) => format!("hf://{repository}"),
        Model::Image(image) => format!("oci://{image}"),
        Model::Claim(claim, folder) => format!("pvc://{claim}/{folder}"),
        Model::Bucket(uri) => uri.clone(),
    }
}

/// Returns gateway, route and picker.
fn router(config: &ServingConfig, values: &mut Values<'_>) -> Value {
    let (image, resources) = (config.epp.image.as_ref(), config.epp.resources.as_ref());
    let description = "Image of the endpoint picker.";
    let image = image.map(|image| values.text(&["epp", "image"], image, description));
    let resources = resources.map(|own| values.resources("epp", own, &[]));
    let template = (image.is_some() || resources.is_some()).then(|| {
        // The name by which the controller merges it into the container of its preset.
        value!({"containers": [{"image": ?image, "resources": ?resources, "name": "main"}]})
    });
    let has_config = config.epp.config.is_some() || config.epp.preset.is_some();
    let inline = has_config.then(|| json!({"inline": presets::config_of(config)}));
    // Without the key the number stays that of KServe's preset, not our default.
    let replicas = config.written("epp.replicas").map(|_| config.epp.replicas);

    let route = config.route.as_ref();
    let gateway = route.map(|route| {
        value!({"refs": [{"name": &route.gateway, "namespace": ?&route.gateway_namespace}]})
    });
    value!({
        "route": route.map_or(value!({}), |route| http_route(config, route)),
        "scheduler": {"replicas": ?replicas, "template": ?template, "config": ?inline},
        "gateway": ?gateway,
    })
}

/// Keys of `route` that replace the rules of KServe's route.
const RULES: &[&str] = &["route.paths", "route.model-header", "route.request-timeout"];

/// Returns the changes of KServe's route, which keeps its rules unless a key replaces them. The
/// controller sets the references to the Gateway.
fn http_route(config: &ServingConfig, route: &RouteConfig) -> Value {
    let backend = json!({
        "group": "inference.networking.k8s.io",
        "kind": "InferencePool",
        "name": format!("{}{POOL_SUFFIX}", config.name),
        "port": SERVING_PORT,
    });
    let has_rules = RULES.iter().any(|key| config.written(key).is_some());
    let spec = map! {
        "hostnames": ?(!route.hosts.is_empty()).then(|| Value::texts(&route.hosts)),
        "rules": ?has_rules.then(|| route::rules(config, route, &backend)),
    };
    if spec.is_empty() { value!({}) } else { value!({"http": {"spec": spec}}) }
}

/// Returns replicas, parallelism and pods of one role.
fn part(workload: &Workload<'_>, values: &mut Values<'_>) -> Map {
    let shape = workload.shape;
    let role = workload.role.as_str();
    let config = workload.config;
    // A CEL rule of the CRD excludes `replicas` together with `scaling`.
    let autoscaling = config.autoscaling.as_ref().filter(|_| workload.role == Role::Decode);
    // KServe's controller scales by its own metrics.
    let scaling = autoscaling.map(|own| {
        let actuator = if own.keda { "keda" } else { "hpa" };
        json!({"minReplicas": own.min, "maxReplicas": own.max, "wva": {actuator: {}}})
    });
    let replicas = autoscaling.is_none().then(|| {
        let description = format!("Number of {role} replicas.");
        values.count(&[role, "replicas"], shape.replicas, &description)
    });
    // With prefill the pods' connector combines both.
    let offloaded = config.engine.kv_offload.filter(|_| !workload.disaggregated);

    let has_data = shape.dp > 1;
    map! {
        "scaling": ?scaling,
        "replicas": ?replicas,
        "labels": ?config.pod.0.get("labels"),
        "kvCacheOffloading": ?offloaded.map(|size| json!({"cpu": format!("{size}Gi")})),
        "parallelism": {
            "tensor": shape.tp,
            "pipeline": ?(shape.pp > 1).then_some(shape.pp),
            // KServe's webhook demands both or none of `data` and `dataLocal`.
            "data": ?has_data.then_some(shape.dp),
            "dataLocal": ?has_data.then_some(workload.local_ranks),
            "expert": ?shape.expert_parallel.then_some(true),
        },
        "template": pod(workload, values),
        // With a worker KServe creates a LeaderWorkerSet instead of a Deployment.
        "worker": ?(shape.topology != Topology::Single).then(|| pod(workload, values)),
    }
}

fn pod(workload: &Workload<'_>, values: &mut Values<'_>) -> Value {
    let config = workload.config;
    let role = workload.role.as_str();
    let default = workload.shape.resources.clone().unwrap_or(json!({}));
    let devices = engine::devices(workload);
    let args = &workload.shape.args;
    let description = "Engine image of all pods.";
    let image = values.text(&["image"], &config.engine.image, description);

    let mut env = config.engine.env.clone();
    env.extend(config.engine.token_secret.as_deref().map(engine::token_variable));
    if workload.disaggregated {
        let is_new = |one: &Json| !env.iter().any(|known| known["name"] == one["name"]);
        let missing: Vec<Json> = transfer(workload).into_iter().filter(is_new).collect();
        env.extend(missing);
    }
    let container = value!({
        // The controller completes the container of this name only; another one would run next to
        // its own.
        "name": "main",
        "image": image,
        "args": ?(!args.is_empty()).then(|| Value::texts(args)),
        "env": ?(!env.is_empty()).then_some(Json::Array(env)),
        "resources": values.resources(role, &default, &devices),
    });
    let mut pod = map! {
        "imagePullSecrets": values.pull_secrets(config.pull_secret.as_deref()),
        // A Service named like a variable of the engine would set it (vllm#34199).
        "enableServiceLinks": false,
        "containers": [container],
    };
    pod.extend(engine::scheduling(workload, values));
    Pods { role, config, values }.complete_spec(&mut pod);
    pod.into()
}

/// Returns the variables with which pods of this role transfer KV caches. KServe's presets evaluate
/// VLLM_ADDITIONAL_ARGS as a shell does; in arguments the quotes of JSON would be lost.
fn transfer(workload: &Workload<'_>) -> [Json; 2] {
    let flag = format!("--kv-transfer-config '{}'", model_server::transfer_config(workload));
    [pod_ip_variable("VLLM_NIXL_SIDE_CHANNEL_HOST"), variable("VLLM_ADDITIONAL_ARGS", &flag)]
}

/// Reports an error for each key without effect.
pub(super) fn check(config: &ServingConfig, diagnostics: &mut Diagnostics) {
    let mut report = |key: &str, hint: &str| {
        let message = format!("`{key}` is not supported with `form = \"kserve\"`");
        diagnostics.error(Code::ServingProfile, config.place(key), message, hint);
    };
    for key in NAMES.kserve_decides.iter().filter(|key| config.written(key).is_some()) {
        let hint = if key.starts_with("autoscaling.") {
            "remove the key: KServe's controller has the metrics and the URL of Prometheus"
        } else {
            "remove the key, which KServe's presets decide, or `form`"
        };
        report(key, hint);
    }
    if config.engine.kind != EngineKind::Vllm {
        report("engine.kind", "remove the key, or `form`: KServe's presets start vLLM");
    }
    if presets::is_precise(config) {
        report("epp.preset", "write `config`, or remove `form`: KServe's picker has no tokenizer");
    }
}

//! Pods of other kinds, scripts, addresses, claims and policies of GKE, each with a valid counterpart.

use super::engines::{group, shared, vllm};
use super::pods::{Row, image, merge, object, pods, workload};
use serde_json::{Value as Json, json};

/// The pod of a Job or of Ray, with changes of its container and of the pod.
fn spec(container: &Json, pod: &Json) -> Json {
    let mut one = json!({"name": "own", "image": image("example.com/own:1")});
    merge(&mut one, container);
    let mut spec = json!({"restartPolicy": "Never", "containers": [one]});
    merge(&mut spec, pod);
    spec
}

fn job(container: &Json, pod: &Json) -> Vec<Json> {
    let spec = json!({"spec": {"template": {"spec": spec(container, pod)}}});
    vec![object("batch/v1", "Job", "download", &spec)]
}

fn ray(container: &Json) -> Vec<Json> {
    let groups = json!({"workerGroupSpecs": [{"template": {"spec": spec(container, &json!({}))}}]});
    vec![object("ray.io/v1", "RayService", "ray", &json!({"spec": {"rayClusterConfig": groups}}))]
}

/// A cluster of two pods with two devices each, and a model of Ray Serve with these fields.
fn served(fields: &Json) -> Vec<Json> {
    let mut model = json!({"model_loading_config": {"model_id": "chat"}});
    merge(&mut model, fields);
    let application = json!({"name": "chat", "args": {"llm_configs": [model]}});
    with_applications(&json!({"applications": [application]}).to_string().into())
}

fn with_applications(config: &Json) -> Vec<Json> {
    let mut all = ray(&json!({"resources": {"limits": {"nvidia.com/gpu": 2}}}));
    all[0]["spec"]["rayClusterConfig"]["workerGroupSpecs"][0]["replicas"] = json!(2);
    all[0]["spec"]["serveConfigV2"] = config.clone();
    all
}

/// The cluster with a change of its group.
fn grouped(change: &Json) -> Vec<Json> {
    let mut all = served(&json!({}));
    merge(&mut all[0]["spec"]["rayClusterConfig"]["workerGroupSpecs"][0], change);
    all
}

/// A variable with a key of a Secret.
fn token(key: &str) -> Json {
    json!({"env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "key", "key": key}}}]})
}

fn secret() -> Json {
    object("v1", "Secret", "key", &json!({"stringData": {"HF_TOKEN": "none"}}))
}

fn claim(name: &str, mode: &str) -> Json {
    let resources = json!({"requests": {"storage": "9Gi"}});
    let spec = json!({"accessModes": [mode], "resources": resources});
    object("v1", "PersistentVolumeClaim", name, &json!({"spec": spec}))
}

/// A service of KServe with a script, whose arguments others may add to, and a picker.
fn kserve(uri: &str, flags: &str, scheduler: &Json) -> Vec<Json> {
    let script = format!("vllm serve /mnt/models --port 8000 {flags} $VLLM_ADDITIONAL_ARGS");
    let container = json!({"name": "main", "image": image("vllm/vllm-openai:v0.33.0"), "command": ["sh", "-c", script],
        "resources": {"limits": {"nvidia.com/gpu": "1"}}});
    let spec = json!({"model": {"uri": uri, "name": "example/chat"}, "replicas": 2,
        "router": {"scheduler": scheduler}, "template": {"containers": [container]}});
    vec![object("serving.kserve.io/v1alpha2", "LLMInferenceService", "llm", &json!({"spec": spec}))]
}

/// A picker with these arguments.
fn scheduler(flag: &str) -> Json {
    let container = json!({"name": "main", "image": image("ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0"),
        "args": ["--pool-name=llm", flag], "readinessProbe": {"grpc": {"port": 9004}}});
    json!({"template": {"containers": [container]}})
}

/// An index of KV events, to which the engines connect.
fn index() -> Json {
    let parameters = json!({"tokenProcessorConfig": {"blockSize": 64},
        "kvEventsConfig": {"discoverPods": false, "zmqEndpoint": "tcp://*:5557"}});
    let plugins = json!([{"type": "precise-prefix-cache-producer", "parameters": parameters},
        {"type": "prefix-cache-scorer", "parameters": {"prefixMatchInfoProducerName": "precise-prefix-cache-producer"}},
        {"type": "single-profile-handler"}]);
    let config = json!({"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins": plugins,
        "schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "prefix-cache-scorer"}]}]});
    json!({"config": {"inline": config}})
}

/// Flags of an engine with KV events.
fn events(port: u32, topic: &str) -> String {
    let config = json!({"enable_kv_cache_events": true, "publisher": "zmq",
        "endpoint": format!("tcp://picker:{port}"), "topic": topic});
    format!("--kv-events-config '{config}'")
}

/// An engine whose launch script has these lines after the model.
fn script(lines: &str) -> Json {
    let script = format!("vllm serve \\\n  example/chat-8B \\\n  {lines}\n");
    json!({"command": ["bash", "-c", script]})
}

/// A policy of GKE for the Service of the engine.
fn policy(kind: &str, target: &Json, check: &Json) -> Vec<Json> {
    let config = json!({"type": "HTTP", "httpHealthCheck": check});
    let mut reference = json!({"kind": "Service", "name": "chat"});
    merge(&mut reference, target);
    let spec = json!({"targetRef": reference, "default": {"config": config}});
    let ports = json!({"selector": {"app": "chat"}, "ports": [{"port": 8000}]});
    vec![
        object("v1", "Service", "chat", &json!({"spec": ports})),
        object("networking.gke.io/v1", kind, "policy", &json!({"spec": spec})),
    ]
}

/// An autoscaler by a metric of an adapter.
fn scaler(source: &str, name: &str) -> Vec<Json> {
    let metric =
        json!({"metric": {"name": name}, "target": {"type": "AverageValue", "averageValue": "5"}});
    let kind = if source == "pods" { "Pods" } else { "External" };
    let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "chat"});
    let spec = json!({"scaleTargetRef": reference, "maxReplicas": 4, "metrics": [{"type": kind, source: metric}]});
    vec![object("autoscaling/v2", "HorizontalPodAutoscaler", "chat", &json!({"spec": spec}))]
}

/// A pod that must be near pods with this label.
fn near(key: &str, value: &str) -> Json {
    let term = json!({"topologyKey": "zone", "labelSelector": {"matchLabels": {key: value}}});
    let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
    pods(&json!({"affinity": {"podAffinity": required}}))
}

/// Annotations of the pods.
fn annotated(key: &str, value: &str) -> Json {
    json!({"spec": {"template": {"metadata": {"annotations": {key: value}}}}})
}

/// A router of vLLM's production stack.
fn router(flags: &[&str]) -> Vec<Json> {
    let container = json!({"image": image("lmcache/lmstack-router:1"), "args": flags});
    let labels = json!({"app": "router"});
    let template = json!({"metadata": {"labels": labels}, "spec": spec(&container, &json!({"restartPolicy": null}))});
    let whole = json!({"spec": {"selector": {"matchLabels": labels}, "template": template}});
    vec![object("apps/v1", "Deployment", "router", &whole)]
}

/// A group whose leader and workers have these values of a variable of vLLM.
fn backends(leader: &str, worker: &str) -> Vec<Json> {
    let flags = [
        "--data-parallel-size=2",
        "--data-parallel-size-local=1",
        "--data-parallel-address=$(LWS_LEADER_ADDRESS)",
    ];
    let rank = ["--data-parallel-start-rank=$(LWS_WORKER_INDEX)", "--headless"];
    let mut all = group(2, &flags, &[&flags[..], &rank[..]].concat());
    for (part, value) in [("leaderTemplate", leader), ("workerTemplate", worker)] {
        let template = &mut all[0]["spec"]["leaderWorkerTemplate"][part]["spec"];
        template["containers"][0]["env"] =
            json!([{"name": "VLLM_ALL2ALL_BACKEND", "value": value}]);
        template["containers"][0]["image"] = json!(image("vllm/vllm-openai:v0.14.0"));
    }
    all
}

/// Prefill and decode of SGLang with flags of prefill.
fn sglang(flag: &str) -> Vec<Json> {
    let one = |role: &str, flag: &str| {
        let mode = format!("--disaggregation-mode={role}");
        let command = [
            "python3",
            "-m",
            "sglang.launch_server",
            "--model-path=example/chat-8B",
            "--host=0.0.0.0",
            "--port=8000",
            &mode,
            flag,
        ];
        let labels = json!({"app": role, "llm-d.ai/role": role, "llm-d.ai/engine-type": "sglang"});
        let container = json!({"image": image("lmsysorg/sglang:v0.5.13"), "command": command});
        let mut whole = workload(&container, &json!({"metadata": {"name": role}}));
        whole["spec"]["selector"] = json!({"matchLabels": {"app": role}});
        whole["spec"]["template"]["metadata"]["labels"] = labels;
        whole
    };
    vec![one("prefill", flag), one("decode", "--page-size=64")]
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    let none = || json!({});
    let sound = ("", "");
    let variable = |name: &str, value: &str| json!({"env": [{"name": name, "value": value}]});
    let devices = |limit: &str, request: &str| json!({"resources": {"limits": {"nvidia.com/gpu": limit}, "requests": {"nvidia.com/gpu": request}}});
    let mounted = |name: &str| json!({"volumeMounts": [{"name": name, "mountPath": "/models"}]});
    let of_claim = |name: &str| json!({"volumes": [{"name": "models", "persistentVolumeClaim": {"claimName": name}}]});
    let mut rows: Vec<Row> = Vec::new();
    let mut row = |about, container: Json, whole: Json, others: Vec<Json>, (code, says)| rows.push((about, container, whole, others, code, says));

    // Pods of other kinds.
    let refused = |says| ("serving-pod", says);
    row("a key for a Job", none(), none(), [job(&token("HF_TOKEN"), &none()), vec![secret()]].concat(), sound);
    row("no key for a Job", none(), none(), [job(&token("token"), &none()), vec![secret()]].concat(), refused("has no key `token`"));
    row("a key for Ray", none(), none(), [ray(&token("HF_TOKEN")), vec![secret()]].concat(), sound);
    row("no key for Ray", none(), none(), [ray(&token("token")), vec![secret()]].concat(), refused("has no key `token`"));
    row("devices of Ray", none(), none(), ray(&devices("2", "2")), sound);
    row("other devices of Ray", none(), none(), ray(&devices("2", "1")), refused("has a request of `nvidia.com/gpu` that differs from its limit"));
    row("a mount of Ray", none(), none(), ray(&mounted("models")), refused("mounts volume `models`"));
    row("a mount of a Job", none(), none(), [job(&mounted("models"), &of_claim("chat-8b-models")), vec![claim("chat-8b-models", "ReadWriteOnce")]].concat(), sound);
    row("a claim with fewer words", none(), none(), [job(&mounted("models"), &of_claim("chat-models")), vec![claim("chat-8b-models", "ReadWriteOnce")]].concat(), refused("but PersistentVolumeClaim/chat-8b-models is"));
    row("a claim of KServe", none(), none(), [kserve("pvc://chat-models", "", &none()), vec![claim("chat-models", "ReadWriteMany")]].concat(), sound);
    row("a claim of KServe on one node", none(), none(), [kserve("pvc://chat-models/a", "", &none()), vec![claim("chat-models", "ReadWriteOnce")]].concat(), refused("is for pods of one node"));
    row("another claim of KServe", none(), none(), [kserve("pvc://chat", "", &none()), vec![claim("chats", "ReadWriteMany")]].concat(), refused("but PersistentVolumeClaim/chats is"));
    let values = json!({"containers": [{"name": "own", "image": {"tag": 1}, "resources": {"limits": {"nvidia.com/gpu": 1}, "requests": {"nvidia.com/gpu": 2}}}]});
    row("values of a chart", none(), none(), vec![object("helm.toolkit.fluxcd.io/v2", "HelmRelease", "own", &json!({"spec": {"values": values}}))], ("!", "HelmRelease/own"));
    row("a capability", json!({"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}}), none(), vec![], sound);
    row("a capability of Linux", json!({"securityContext": {"capabilities": {"add": ["CAP_IPC_LOCK"]}}}), none(), vec![], refused("there is no capability `CAP_IPC_LOCK`"));
    row("privileged", json!({"securityContext": {"privileged": true}}), none(), vec![], sound);
    row("without privileges", json!({"securityContext": {"privileged": true, "allowPrivilegeEscalation": false}}), none(), vec![], refused("has a privileged container"));
    row("a volume", none(), pods(&json!({"volumes": [{"name": "dev-shm", "emptyDir": {}}]})), vec![], sound);
    row("an invalid volume", none(), pods(&json!({"volumes": [{"name": "dev_shm", "emptyDir": {}}]})), vec![], refused("has volume name \"dev_shm\", which must"));
    row("near its own", none(), near("app", "chat"), vec![], sound);
    row("near others", none(), near("team", "chats"), vec![], sound);
    row("near none", none(), near("app", "chats"), vec![], ("serving-selector", "must be near pods of which there are none"));

    // Models of Ray Serve.
    let of_ray = |says| ("serving-ray", says);
    let scaled = |least: u32| json!({"deployment_config": {"autoscaling_config": {"min_replicas": least, "max_replicas": 4}}});
    for (about, fields, expected) in [
        ("a model", json!({"engine_kwargs": {"max_model_len": 4096, "gpu_memory_utilization": 0.9}}), sound),
        ("a share of memory", json!({"engine_kwargs": {"gpu_memory_utilization": 90}}), of_ray("`--gpu-memory-utilization`")),
        ("an argument of no flag", json!({"engine_kwargs": {"zzz": 1}}), sound),
        ("a misspelt argument", json!({"engine_kwargs": {"max_model_length": 4096}}), of_ray("`--max_model_length`")),
        ("a misspelt field", json!({"engine_kwarg": {}}), of_ray("no field `engine_kwarg`")),
        ("four devices", json!({"engine_kwargs": {"tensor_parallel_size": 2}, "deployment_config": {"num_replicas": 2}}), sound),
        ("eight devices", json!({"engine_kwargs": {"tensor_parallel_size": 8}}), of_ray("needs 8 devices, but the cluster has 4")),
        ("eight shares", json!({"engine_kwargs": {"tensor_parallel_size": 8}, "placement_group_config": {}}), sound),
        ("replicas", scaled(4), sound),
        ("too many replicas", scaled(5), of_ray("`min_replicas` 5 is above `max_replicas` 4")),
        ("scaled and counted", json!({"deployment_config": {"num_replicas": 2, "autoscaling_config": {}}}), of_ray("are both set")),
    ] {
        row(about, none(), none(), served(&fields), expected);
    }
    row("a map", none(), none(), with_applications(&json!({"applications": []})), of_ray("is no text"));
    row("no YAML", none(), none(), with_applications(&json!("applications:\n- a: 1\n b: 2\n")), of_ray("cannot read the applications"));
    row("two prefixes", none(), none(), with_applications(&json!("applications: [{args: {llm_configs: []}, route_prefix: /a}, {args: {llm_configs: []}}]")), sound);
    row("one prefix", none(), none(), with_applications(&json!("applications: [{route_prefix: /}, {name: a}]")), of_ray("have the `route_prefix` /"));
    row("the devices of Ray", none(), none(), grouped(&json!({"rayStartParams": {"num-gpus": "2"}})), sound);
    row("more devices of Ray", none(), none(), grouped(&json!({"rayStartParams": {"num-gpus": "4"}})), of_ray("on 4 devices, but the pod has 2"));
    row("bounds of Ray", none(), none(), grouped(&json!({"minReplicas": 1, "maxReplicas": 2})), sound);
    row("other bounds of Ray", none(), none(), grouped(&json!({"minReplicas": 2, "maxReplicas": 1})), of_ray("`minReplicas` 2 is above `maxReplicas` 1"));

    // Paths.
    let file = |path: &str| json!({"env": [{"name": "OWN_CONFIG", "value": path}], "volumeMounts": [{"name": "own", "mountPath": "/config"}]});
    let volume = || pods(&json!({"volumes": [{"name": "own", "configMap": {"name": "own"}}]}));
    let map = || vec![object("v1", "ConfigMap", "own", &json!({"data": {"own.yaml": "a: 1"}}))];
    row("a file", file("/config/own.yaml"), volume(), map(), sound);
    row("a folder", file("/config/other"), volume(), map(), sound);
    row("another file", file("/config/other.yaml"), volume(), map(), refused("does not have the file `/config/other.yaml` of `OWN_CONFIG`"));
    let writes = |path: &str| {
        let mut container = mounted("models");
        container["args"] = json!(["hf://example/chat", path]);
        [job(&container, &of_claim("chat-8b-models")), vec![claim("chat-8b-models", "ReadWriteOnce")]].concat()
    };
    row("a folder on a volume", none(), none(), writes("/models/chat"), sound);
    row("a folder elsewhere", none(), none(), writes("/tmp"), sound);
    row("a path of URLs", none(), none(), writes("--root-path=/model"), sound);
    row("a misspelt folder beside a path of URLs", none(), none(), writes("--root-path=/v2 /model"), refused("`/model` is on no volume, but `/models` is"));
    row("a misspelt folder", none(), none(), writes("/model"), refused("`/model` is on no volume, but `/models` is"));

    // Interfaces.
    let gke = |name: &str| annotated("networking.gke.io/interfaces", &format!("[{{\"interfaceName\": \"{name}\", \"network\": \"default\"}}]"));
    let missing = ("serving-join", "which no annotation adds to the pod");
    for (about, value, whole, expected) in [
        ("an interface", "eth0", none(), sound),
        ("a prefix", "eth", gke("eth0"), sound),
        ("others", "^lo", gke("eth0"), sound),
        ("another interface", "eth1", gke("eth0"), missing),
        ("one of Multus", "net1", annotated("k8s.v1.cni.cncf.io/networks", "rdma"), sound),
        ("one of a webhook", "net1", annotated("cni.spidernet.io/rdma-resource-inject", "rdma"), sound),
        ("none of Multus", "net1", none(), missing),
        ("one of the node", "net1", pods(&json!({"hostNetwork": true, "dnsPolicy": "ClusterFirstWithHostNet"})), sound),
    ] {
        row(about, variable("NCCL_SOCKET_IFNAME", value), whole, vec![], expected);
    }

    // Scripts.
    let stray = ("serving-engine-flags", "as a command: the one before it has ended");
    let empty = ("serving-engine-flags", "`$SEATS` is empty: nothing sets it");
    for (about, lines, expected) in [
        ("two lines", "--seed 1 \\\n  --max-num-seqs 8\n# --host a \\", sound),
        ("a missing backslash", "--seed 1\n  --max-num-seqs 8", stray),
        ("a blank", "--seed 1 \\ \n  --max-num-seqs 8", stray),
        ("a comment", "--seed 1 \\\n # fast\n  --max-num-seqs 8", stray),
        ("options of a case", "--seed 1\ncase $1 in\n --fast) X=1;;\nesac", sound),
        ("a list of arguments", "--seed 1\nX=(\n  --max-num-seqs 8\n)", sound),
        ("an unset variable", "--max-num-seqs $SEATS", empty),
        ("an unset variable in braces", "--max-num-seqs ${SEATS}", empty),
        ("a default", "--max-num-seqs ${SEATS:-8}", sound),
        ("one of another command", "--seed 1\necho $SEATS", sound),
        ("one that is read", "--max-num-seqs $SEATS\nread SEATS", sound),
        ("one of an image", "--max-num-seqs $CUDA_SEATS", sound),
    ] {
        row(about, script(lines), none(), vec![], expected);
    }
    let mut set = script("--max-num-seqs $SEATS");
    merge(&mut set, &variable("SEATS", "8"));
    row("a variable", set, none(), vec![], sound);

    // Addresses.
    let cache = || vec![object("v1", "Service", "cache", &json!({"spec": {"type": "ExternalName", "externalName": "example.com"}})), object("v1", "Service", "lookup", &json!({"spec": {"selector": {"app": "chat"}, "ports": [{"port": 9000, "targetPort": 8000}]}}))];
    row("a port", variable("LOOKUP", "lookup:9000"), none(), cache(), sound);
    row("a tag", variable("LOOKUP", "lookup:9"), none(), cache(), sound);
    row("no such port", variable("LOOKUP", "lookup:9100"), none(), cache(), ("serving-selector", "`lookup:9100` is Service/lookup, whose ports are 9000"));

    // Policies of GKE.
    let check = |path: &str, port: u32| json!({"requestPath": path, "port": port});
    let (health, backend) = ("HealthCheckPolicy", "GCPBackendPolicy");
    let of_gateway = |says| ("serving-gateway", says);
    row("a policy", none(), none(), policy(health, &none(), &check("/health", 8000)), sound);
    row("a policy without a port", none(), none(), policy(health, &none(), &json!({"requestPath": "/health"})), sound);
    row("a target elsewhere", none(), none(), policy(backend, &json!({"name": "others"}), &none()), sound);
    row("an import", none(), none(), policy(health, &json!({"kind": "ServiceImport"}), &none()), sound);
    row("a misspelt target", none(), none(), policy(backend, &json!({"name": "chatt"}), &none()), of_gateway("which is not in the manifests"));
    row("another kind of target", none(), none(), policy(health, &json!({"kind": "InferencePool"}), &none()), of_gateway("which is not in the manifests"));
    row("another port", none(), none(), policy(health, &none(), &check("/health", 9003)), of_gateway("uses port 9003, but Deployment/chat listens on 8000"));
    row("another path", none(), none(), policy(health, &none(), &check("/healthz", 8000)), of_gateway("uses path `/healthz`, which vLLM does not serve"));

    // Metrics of adapters.
    let unscaled = || json!({"spec": {"replicas": null}});
    let metric = |says| ("serving-autoscaler", says);
    for (about, source, name, expected) in [
        ("a metric", "pods", "prometheus.googleapis.com|vllm:num_requests_waiting|gauge", sound),
        ("a metric of an adapter", "pods", "vllm_num_requests_waiting", sound),
        ("a counter", "external", "vllm:prompt_tokens", sound),
        ("a misspelt metric", "pods", "vllm:num_request_waiting", metric("has no metric `vllm:num_request_waiting`")),
        ("a former metric", "external", "prometheus.googleapis.com|vllm:gpu_cache_usage_perc|gauge", metric("has no metric `vllm:gpu_cache_usage_perc`")),
        ("a metric of SGLang", "pods", "sglang:num_queue_reqs", metric("is a metric of another engine")),
    ] {
        row(about, none(), unscaled(), scaler(source, name), expected);
    }

    // Pickers of KServe.
    let flags = |says| ("serving-picker-flags", says);
    row("a picker", none(), none(), kserve("hf://example/chat", "", &scheduler("--grpc-health-port=9004")), sound);
    row("another port of health checks", none(), none(), kserve("hf://example/chat", "", &scheduler("--grpc-health-port=9003")), flags("serves health checks on 9003"));
    row("a flag of no release", none(), none(), kserve("hf://example/chat", "", &scheduler("--grpc-health-prt=9004")), flags("has no flag `--grpc-health-prt`"));
    let cached = |says| ("serving-prefix-cache", says);
    for (about, flags, expected) in [
        ("events", format!("--block-size 64 {}", events(5557, "kv@a:8000@/mnt/models")), sound),
        ("events that others may add", "--block-size 64".to_owned(), sound),
        ("another block size", format!("--block-size 16 {}", events(5557, "kv@a:8000@/mnt/models")), cached("caches blocks of 16")),
        ("another port of events", format!("--block-size 64 {}", events(5558, "kv@a:8000@/mnt/models")), cached("published on port 5558")),
        ("another topic", format!("--block-size 64 {}", events(5557, "kv:a:8000:/mnt/models")), cached("picker subscribes to `kv@`")),
        ("another port in the topic", format!("--block-size 64 {}", events(5557, "kv@a:8080@/mnt/models")), cached("KV events are of port 8080, requests of 8000")),
    ] {
        row(about, none(), none(), kserve("hf://example/chat", &flags, &index()), expected);
    }

    // Pods that belong together.
    row("one backend", none(), none(), backends("deepep_low_latency", "deepep_low_latency"), ("!", "leader of"));
    row("two backends", none(), none(), backends("deepep_low_latency", "deepep_high_throughput"), ("serving-join", "has all2all-backend `deepep_low_latency`"));
    row("one page size", none(), none(), sglang("--page-size=64"), ("!", "`--page-size`"));
    row("two page sizes", none(), none(), sglang("--page-size=32"), ("serving-pair", "`--page-size` is `32` for prefill"));
    row("its engine type", none(), json!({"spec": {"template": {"metadata": {"labels": {"llm-d.ai/engine-type": "vllm"}}}}}), vec![], sound);
    row("an engine type of others", none(), json!({"spec": {"template": {"metadata": {"labels": {"llm-d.ai/engine-type": "vllm-grpc"}}}}}), vec![], sound);
    row("another engine type", none(), json!({"spec": {"template": {"metadata": {"labels": {"llm-d.ai/engine-type": "sglang"}}}}}), vec![], ("serving-engine-flags", "runs vllm, but has the engine type `sglang`"));
    let discovers = |namespace: &'static str| router(&["--service-discovery=k8s", "--k8s-label-selector=app=chat", "--k8s-namespace", namespace]);
    row("a namespace", none(), none(), discovers("models"), sound);
    row("another namespace", none(), none(), discovers("default"), ("serving-transfer", "selects pods of namespace `default`, but they are in models"));
    let ai_route = |name: &str| {
        let backend = json!({"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": name});
        let spec = json!({"parentRefs": [{"name": "edge"}], "rules": [{"backendRefs": [backend]}]});
        let mut all = kserve("hf://example/chat", "", &none());
        all.push(object("aigateway.envoyproxy.io/v1beta1", "AIGatewayRoute", "chat", &json!({"spec": spec})));
        all
    };
    row("a pool of KServe", none(), none(), ai_route("llm-inference-pool"), sound);
    row("no pool of KServe", none(), none(), ai_route("llm-inferencepool"), ("serving-pool-missing", "which does not exist"));
    row("a routing logic", none(), none(), router(&["--routing-logic=kvaware"]), sound);
    row("a misspelt routing logic", none(), none(), router(&["--routing-logic=kv-aware"]), ("serving-transfer", "`--routing-logic` of Deployment/router is `kv-aware`"));

    // Models on volumes.
    let mut model = vllm(&json!(1), &[]);
    model["command"][2] = json!("/models/chat");
    model["volumeMounts"] = json!([{"name": "shm", "mountPath": "/models"}]);
    let mut lost = model.clone();
    lost["volumeMounts"][0]["mountPath"] = json!("/model");
    let second = || json!([{"name": "own", "image": image("example.com/own:1")}]);
    let both = |container: &Json| {
        let mut whole = workload(container, &shared());
        let containers = whole["spec"]["template"]["spec"]["containers"].as_array_mut().expect("a list");
        containers.extend(second().as_array().expect("a list").iter().cloned());
        pods(&whole["spec"]["template"]["spec"])
    };
    row("a mounted model", none(), both(&model), vec![], sound);
    row("a model on no volume", none(), both(&lost), vec![], refused("`/models/chat` is on no volume"));
    rows
}

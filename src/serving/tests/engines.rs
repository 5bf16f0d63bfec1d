//! Engines, their devices, groups and images, each with a valid counterpart.

use super::breaking::{WORKER, engine, flag};
use super::pods::{DIGEST, Row, image, merge, object, pods, workload};
use super::{WIDE, findings, objects};
use crate::diag::human;
use serde_json::{Value as Json, json};

/// The container of vLLM with flags, for a number of devices.
pub(super) fn vllm(devices: &Json, flags: &[&str]) -> Json {
    let command: Vec<&str> =
        ["vllm", "serve", "example/chat-8B"].iter().chain(flags).copied().collect();
    let mut container = started(devices, &command);
    container["image"] = json!(image("vllm/vllm-openai:v0.33.0"));
    container
}

/// A container with this command, for a number of devices.
fn started(devices: &Json, command: &[&str]) -> Json {
    json!({"command": command, "resources": {"limits": {"nvidia.com/gpu": devices}},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]})
}

/// A volume for shared memory.
pub(super) fn shared() -> Json {
    pods(&json!({"volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}]}))
}

/// The spec of pods with one container.
fn spec(container: &Json) -> Json {
    workload(container, &shared())["spec"]["template"]["spec"].clone()
}

/// A group whose leader and workers have these flags.
pub(super) fn group(size: u32, leader: &[&str], workers: &[&str]) -> Vec<Json> {
    let [leaders, mut others] = [leader, workers].map(|flags| spec(&vllm(&json!(1), flags)));
    // Workers have no server.
    merge(&mut others["containers"][0], &json!({"startupProbe": null, "readinessProbe": null}));
    let template = json!({"size": size, "leaderTemplate": {"spec": leaders},
        "workerTemplate": {"spec": others}});
    let whole =
        json!({"spec": {"startupPolicy": "LeaderCreated", "leaderWorkerTemplate": template}});
    vec![object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "group", &whole)]
}

/// A Ray cluster whose head has an engine.
fn ray_cluster(flags: &[&str]) -> Vec<Json> {
    let mut container = vllm(&json!(4), flags);
    container["image"] = json!(image("rayproject/ray-llm:2.46.0"));
    let groups = json!({"headGroupSpec": {"template": {"spec": spec(&container)}}});
    vec![object("ray.io/v1", "RayCluster", "ray", &json!({"spec": groups}))]
}

/// A kind of another project with its own pod template.
fn of_project(key: &str, flags: &[&str]) -> Vec<Json> {
    let role = json!({"name": "chat", key: {"spec": spec(&vllm(&json!(2), flags))}});
    vec![object(
        "workload.example.com/v1",
        "ModelServing",
        "set",
        &json!({"spec": {"roles": [role]}}),
    )]
}

/// A runtime of KServe, to which a service adds arguments.
fn runtime(kind: &str) -> Vec<Json> {
    let mut container = vllm(&json!(2), &[]);
    container["name"] = json!("kserve-container");
    let spec = json!({"containers": spec(&container)["containers"], "volumes": spec(&container)["volumes"],
        "supportedModelFormats": [{"name": "vllm"}]});
    vec![object("serving.kserve.io/v1alpha1", kind, "own", &json!({"spec": spec}))]
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    let none = || json!({});
    let sound = ("", "");
    let ranks = |message| ("serving-devices", message);
    let tpu = |shape: &str| {
        let labels = json!({"cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice", "cloud.google.com/gke-tpu-topology": shape});
        pods(&json!({"nodeSelector": labels}))
    };
    let chips = json!({"image": image("vllm/vllm-tpu:v0.15.0"), "command": ["vllm", "serve", "example/chat-8B", "--tensor-parallel-size=8"],
        "resources": {"limits": {"nvidia.com/gpu": null, "google.com/tpu": 8}}});
    let hugging_face = |flags: &[&str]| {
        let start = ["python3", "-m", "huggingfaceserver", "--model_id=example/chat-8B", "--http_port=8000"];
        let command: Vec<&str> = start.iter().chain(flags).copied().collect();
        let mut container = started(&json!(4), &command);
        container["image"] = json!(image("kserve/huggingfaceserver:v0.15.0-gpu"));
        container
    };
    let sglang = |devices: u32, flags: &[&str]| {
        let start = ["python3", "-m", "sglang.launch_server", "--host=0.0.0.0", "--port=8000", "--model-path=example/chat-8B"];
        let command: Vec<&str> = start.iter().chain(flags).copied().collect();
        let mut container = started(&json!(devices), &command);
        container["image"] = json!(image("lmsysorg/sglang:v0.5.13"));
        container
    };
    let probed = |port: &Json| json!({"readinessProbe": {"httpGet": {"port": port}}});
    let with_image = |image: &str| json!({"image": image});
    let pinned = |name: &str| format!("{name}@{DIGEST}");
    let proxied = |image: &str| {
        let proxy = json!({"name": "routing-proxy", "image": image, "restartPolicy": "Always",
            "args": ["--port=8080", "--secure-proxy=false"]});
        pods(&json!({"initContainers": [proxy]}))
    };

    let mut rows: Vec<Row> = Vec::new();
    let mut row = |about, container: Json, whole: Json, others, (code, says)| {
        rows.push((about, container, whole, others, code, says));
    };

    // Devices and ranks.
    row("as many devices as ranks", vllm(&json!(2), &["--tensor-parallel-size=2"]), shared(), vec![], sound);
    row("more devices than ranks", vllm(&json!(2), &[]), shared(), vec![], ranks("but their ranks use 1"));
    row("memory of the host", vllm(&json!(2), &["--tensor-parallel-size=2"]), pods(&json!({"hostIPC": true, "volumes": [{"name": "shm", "emptyDir": {}}]})), vec![], sound);
    row("no shared memory", vllm(&json!(2), &["--tensor-parallel-size=2"]), pods(&json!({"volumes": [{"name": "shm", "emptyDir": {}}]})), vec![], ("serving-shared-memory", "share only 64 MiB"));
    row("devices of another pod", vllm(&json!(0), &[]), shared(), vec![], sound);
    row("ranks that Ray places", vllm(&json!(1), &["--data-parallel-size=4", "--data-parallel-backend=ray"]), shared(), vec![], sound);
    row("ranks of one pod", vllm(&json!(1), &["--data-parallel-size=4"]), shared(), vec![], ranks("but their ranks use 4"));
    row("a server that spreads models", hugging_face(&[]), shared(), vec![], sound);
    row("a server with its number of ranks", hugging_face(&["--tensor-parallel-size=2"]), shared(), vec![], ranks("but their ranks use 2"));
    row("ranks of attention share devices", sglang(2, &["--tp-size=2", "--dp-size=2", "--enable-dp-attention"]), shared(), vec![], sound);
    let newest = json!({"image": image("lmsysorg/sglang:v0.5.22")});
    row("ranks of attention by their number", both(sglang(2, &["--tp-size=2", "--dp-size=2", "--enable-dp-attention", "--attn-dp-size=2"]), &newest), shared(), vec![], ranks("but their ranks use 4"));
    for key in ["entryTemplate", "workerTemplate"] {
        row(key, none(), none(), of_project(key, &["--tensor-parallel-size=4"]), sound);
    }
    row("template", none(), none(), of_project("template", &["--tensor-parallel-size=4"]), ranks("but their ranks use 4"));
    row("ranks on all pods of Ray", none(), none(), ray_cluster(&["--tensor-parallel-size=8", "--distributed-executor-backend=ray"]), sound);
    row("ranks on the head", none(), none(), ray_cluster(&["--tensor-parallel-size=8"]), ranks("but their ranks use 8"));
    for kind in ["ServingRuntime", "ClusterServingRuntime"] {
        row(kind, none(), none(), runtime(kind), sound);
    }
    row("the chips of a topology", chips.clone(), tpu("2x4"), vec![], sound);
    row("more chips than a topology", chips, tpu("2x2"), vec![], ranks("topology 2x2 has 4 chips, but 1 × 8"));

    // Groups.
    let first = ["--data-parallel-size-local=1", "--data-parallel-address=$(LWS_LEADER_ADDRESS)"];
    let all = ["--data-parallel-size=2", "--data-parallel-size-local=1", "--data-parallel-address=$(LWS_LEADER_ADDRESS)"];
    let [lonely, joined] = [&first[..], &all[..]].map(|flags| [flags, &["--headless", "--data-parallel-start-rank=$(LWS_WORKER_INDEX)"]].concat());
    row("ranks on all pods", none(), none(), group(2, &all, &joined), sound);
    row("ranks on one pod", none(), none(), group(2, &first, &lonely), ("serving-group-size", "do not match the 1 ranks"));

    // Probes.
    row("a port of a template", probed(&json!("${PORT}")), none(), vec![], sound);
    row("SGLang at another port", both(sglang(1, &[]), &probed(&json!(8080))), shared(), vec![], ("serving-probe", "uses port 8080"));

    // Images.
    for name in ["example.com/REPLACE:1", "example.com/chat:replace-with", "example.com/PLACEHOLDER:1", "example.com/CHANGEME:1", "example.com/CHANGE_ME:1", "YOUR_REGISTRY/chat:1", "<registry>/chat:1"] {
        row(name, with_image(name), none(), vec![], ("serving-image", "is a placeholder"));
    }
    for name in ["$IMAGE", "${IMAGE}", "{{ .Values.image }}"] {
        row(name, with_image(name), none(), vec![], sound);
    }
    for name in ["example.com/Chat", "example.com/chat :1"] {
        row(name, with_image(&pinned(name)), none(), vec![], ("serving-image", "is not a valid image reference"));
    }
    let other = json!({"command": ["serve-models"], "image": image("example.com/server:1"), "resources": null});
    row("a sidecar of another server", other.clone(), proxied(&image("ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0")), vec![], sound);
    row("a sidecar without a digest", other, proxied("ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0"), vec![], ("image-not-pinned", "is not pinned by digest"));
    rows
}

fn both(mut one: Json, other: &Json) -> Json {
    merge(&mut one, other);
    one
}

/// Sidecars accept what Gateways send: plain HTTP, or TLS by a policy for the pods.
#[test]
fn sidecars_with_tls() {
    let rule = |kind: &str, host: &str| {
        json!({"apiVersion": "networking.istio.io/v1", "kind": kind,
        "metadata": {"name": "tls", "namespace": "models"},
        "spec": {"host": host, "trafficPolicy": {"tls": {"mode": "SIMPLE"}}}})
    };
    for (more, is_found) in [
        (None, true),
        (Some(rule("DestinationRule", "chat-epp.models.svc.cluster.local")), true),
        (Some(rule("DestinationRule", "chat-decode.models.svc.cluster.local")), false),
        (Some(rule("BackendTLSPolicy", "")), false),
    ] {
        let mut all = objects(WIDE);
        let set = super::object(&mut all, "LeaderWorkerSet", "chat-decode");
        let sidecar = set.pointer_mut(&format!("{WORKER}/initContainers/0")).expect("a sidecar");
        flag(sidecar, "--secure-proxy=true");
        let about = format!("{more:?}");
        all.extend(more);
        let shown = human::render(&findings(all), false);
        assert_eq!(shown.contains("sidecar accepts TLS only"), is_found, "{about}\n{shown}");
    }
}

/// The supervisor of an engine with a port for each rank has a port, too.
#[test]
fn ports_of_supervisors() {
    for (port, is_found) in [(9256, true), (9257, false)] {
        let mut all = objects(WIDE);
        let set = super::object(&mut all, "LeaderWorkerSet", "chat-decode");
        let args = engine(set, WORKER)["args"].as_array_mut().expect("arguments");
        let says = |arg: &Json, part: &str| arg.as_str().is_some_and(|arg| arg.contains(part));
        args.retain(|arg| !says(arg, "supervisor-port"));
        assert!(args.iter().any(|arg| says(arg, "multi-port")));
        let containers = set.pointer_mut(&format!("{WORKER}/containers")).expect("containers");
        let other = json!({"name": "logs", "image": image("example.com/logs:1"),
            "ports": [{"containerPort": port}]});
        containers.as_array_mut().expect("a list").push(other);
        let shown = human::render(&findings(all), false);
        assert_eq!(shown.contains("both listen on port 9256"), is_found, "{shown}");
    }
}

/// Prefill and decode have the same KV caches.
#[test]
fn flags_of_pairs() {
    for one in ["--block-size=64", "--kv-cache-dtype=fp8", "--dtype=float16", "--quantization=fp8"]
    {
        for (sets, is_found) in
            [(&["chat-prefill"][..], true), (&["chat-prefill", "chat-decode"], false)]
        {
            let mut all = objects(WIDE);
            for set in sets {
                let set = super::object(&mut all, "LeaderWorkerSet", set);
                flag(engine(set, WORKER), one);
            }
            let shown = human::render(&findings(all), false);
            assert_eq!(shown.contains("for prefill, but"), is_found, "{one} {sets:?}\n{shown}");
        }
    }
}

//! Keys that add to the pods of a chart.

use super::{IMAGE, REQUESTS, check, compile, objects, read};
use crate::diag::{Diagnostics, human};
use serde_json::{Value as Json, json};

fn named<'o>(objects: &'o [Json], kind: &str, name: &str) -> &'o Json {
    let is_it = |object: &&Json| object["kind"] == kind && object["metadata"]["name"] == name;
    objects.iter().find(is_it).unwrap_or_else(|| panic!("no {kind}/{name}"))
}

/// Returns what a build reports about a table, by our invariants and all others.
fn shown(table: &str) -> String {
    let (config, shown) = read(table);
    let Some(config) = config else { return shown };
    let mut found = Diagnostics::new();
    if let Some(unit) = compile(&config, &mut found) {
        check(&unit, &config, &mut found);
    }
    human::render(&found, false)
}

/// Returns true if a list has an item with these fields.
fn has(list: &Json, fields: &Json) -> bool {
    let fits = |item: &Json| {
        fields.as_object().expect("fields").iter().all(|(key, value)| item[key] == *value)
    };
    list.as_array().is_some_and(|items| items.iter().any(fits))
}

const POD: &str = "\
epp = { image = \"PICKER\", pod = { priority-class = \"routing\" } }
[serving.pod]
labels = { zone = \"a\" }
volumes = [{ name = \"tmp\", emptyDir = {} }]
volume-mounts = [{ name = \"tmp\", mountPath = \"/tmp\" }]
init-containers = [{ name = \"prepare\", image = \"IMAGE\", command = [\"true\"] }]
sidecars = [{ name = \"logs\", image = \"example.com/logs@sha256:0000000000000000000000000000000000000000000000000000000000000000\" }]
priority-class = \"inference\"
scheduler = \"binpack\"
topology-spread = [{ maxSkew = 1, topologyKey = \"zone\", whenUnsatisfiable = \"DoNotSchedule\" }]
";

#[test]
fn keys_of_pod_are_fields_of_all_engine_pods() {
    let table = format!(
        "topology = \"lws-mp\"\nnodes = 2\ntp = 8\npp = 2\nqueue = \"gpu\"\nlabels = {{ team = \"search\" }}\n{POD}"
    );
    let all = objects(&table);
    let group = named(&all, "LeaderWorkerSet", "chat-decode");
    for template in ["leaderTemplate", "workerTemplate"] {
        let pod = &group["spec"]["leaderWorkerTemplate"][template];
        assert_eq!(pod["metadata"]["labels"]["zone"], "a");
        let spec = &pod["spec"];
        assert!(has(&spec["volumes"], &json!({"name": "tmp"})));
        assert!(has(&spec["volumes"], &json!({"name": "cache"})), "the chart's own are kept");
        let mounts = &spec["containers"][0]["volumeMounts"];
        assert!(has(mounts, &json!({"name": "tmp", "mountPath": "/tmp"})));
        assert!(has(&spec["initContainers"], &json!({"name": "prepare"})));
        assert!(has(&spec["containers"], &json!({"name": "logs"})));
        assert_eq!(spec["priorityClassName"], "inference");
        assert_eq!(spec["schedulerName"], "binpack");
        assert_eq!(spec["topologySpreadConstraints"][0]["maxSkew"], 1);
    }
    assert_eq!(group["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], "gpu");

    let picker = named(&all, "Deployment", "chat-epp");
    assert_eq!(picker["spec"]["template"]["spec"]["priorityClassName"], "routing");
    assert_eq!(picker["spec"]["template"]["spec"]["enableServiceLinks"], false);
    assert!(all.iter().all(|object| object["metadata"]["labels"]["team"] == "search"));
    assert_eq!(shown(&table), "");
}

#[test]
fn additions_are_held_against_the_invariants() {
    // A second sidecar on the engine's port, a mount without a volume, and a label of the pool.
    let port = "[serving.pod]\nvolume-mounts = [{ name = \"tmp\", mountPath = \"/tmp\" }]\n";
    assert!(shown(port).contains("serving-pod"), "{}", shown(port));
    let label = "[serving.pod]\nlabels = { app = \"other\" }\n";
    assert!(shown(label).contains("`pod.labels` sets label `app`"), "{}", shown(label));
    let volume = "[serving.pod]\nvolumes = [{ name = \"cache\", emptyDir = {} }]\n";
    assert!(shown(volume).contains("name `cache` of `volumes`"), "{}", shown(volume));
    let kind = "[serving.pod]\nvolumes = [{ name = \"a\", emptyDirs = {} }]\n";
    assert!(shown(kind).contains("volumes[0].emptyDirs"), "{}", shown(kind));
}

#[test]
fn engines_without_requests_are_a_note() {
    for (resources, says) in [
        ("", "the engine requests no cpu and no memory"),
        ("engine.resources.limits = { memory = \"96Gi\" }\n", "the engine requests no cpu\n"),
    ] {
        let table = format!("engine.image = \"IMAGE\"\n{resources}prefill = {{ }}\n");
        let config = super::read_without_engine(&table).0.expect("a model");
        let mut found = Diagnostics::new();
        let unit = compile(&config, &mut found).expect("a unit");
        check(&unit, &config, &mut found);
        let shown = human::render(&found, false);
        let notes = shown.matches(&format!("note[serving-requests]: {says}")).count();
        assert_eq!(notes, 1, "{shown}");
    }
}

#[test]
fn downloads_go_to_the_cache() {
    let all = objects("replicas = 2\ncache = { size = \"200Gi\", storage-class = \"shared\" }\n");
    let claim = named(&all, "PersistentVolumeClaim", "chat-cache");
    assert_eq!(
        claim["spec"],
        json!({
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "shared",
            "resources": {"requests": {"storage": "200Gi"}},
        })
    );
    let pod = &named(&all, "Deployment", "chat-decode")["spec"]["template"]["spec"];
    let volume = json!({"persistentVolumeClaim": {"claimName": "chat-cache"}});
    assert!(has(&pod["volumes"], &volume), "{pod:#}");
    let variable = json!({"name": "HF_HUB_CACHE", "value": "/var/cache/models"});
    assert!(has(&pod["containers"][0]["env"], &variable));

    let one = shown("replicas = 2\ncache = { size = \"9Gi\", access-mode = \"ReadWriteOnce\" }\n");
    assert!(one.contains("`ReadWriteOnce` is for one node"), "{one}");
    let both = shown("cache = { size = \"9Gi\", claim = \"a\" }\n");
    assert!(both.contains("claim") && both.contains("size"), "{both}");
}

#[test]
fn adapters_are_loaded_and_rewrites_of_others_are_found() {
    let table = "\
        adapters = [{ name = \"sql\", source = \"hf://example/sql\" }, \
        { name = \"law\", source = \"pvc://adapters/a/law\" }, \
        { name = \"tax\", source = \"pvc://adapters/tax\" }]\n\
        adapter-rank = 32\n\
        rewrites = [{ model = \"old\", targets = [{ model = \"TARGET\" }] }]\n\
        epp = { image = \"PICKER\" }\n";
    let right = table.replace("TARGET", "law");
    let all = objects(&right);
    let pod = &named(&all, "Deployment", "chat-decode")["spec"]["template"]["spec"];
    let args = pod["containers"][0]["args"].as_array().expect("args");
    let text = args.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(" ");
    assert!(
        text.contains(
            "--enable-lora --max-loras=3 --max-lora-rank=32 --lora-modules sql=example/sql \
             law=/mnt/adapters/adapters/a/law tax=/mnt/adapters/adapters/tax"
        ),
        "{text}"
    );
    let volumes = pod["volumes"].as_array().expect("volumes");
    assert_eq!(volumes.iter().filter(|volume| volume["name"] == "adapters-adapters").count(), 1);
    assert_eq!(shown(&right), "");

    let wrong = shown(&table.replace("TARGET", "laww"));
    assert!(wrong.contains("serving-adapters") && wrong.contains("laww"), "{wrong}");
    let twice = shown(&right.replace("\"sql\"", "\"example/model\""));
    assert!(twice.contains("used twice"), "{twice}");
    let source = shown(&right.replace("hf://example/sql", "hf://example"));
    assert!(source.contains("invalid adapter"), "{source}");
}

#[test]
fn parts_of_precise_prefix_routing_agree() {
    let table =
        "epp = { preset = \"precise-prefix\", image = \"PICKER\", tokenizer-image = \"IMAGE\" }\n";
    assert_eq!(shown(table), "");
    // What the engine is told, the picker is told, too.
    let other = format!(
        "{table}[serving.engine]\n{REQUESTS}image = \"{IMAGE}\"\nargs = [\"--block-size=128\"]\n\
         env = [{{ name = \"PYTHONHASHSEED\", value = \"7\" }}]\n"
    );
    let (config, text) = super::read_without_engine(&other);
    let config = config.unwrap_or_else(|| panic!("{text}"));
    let mut found = Diagnostics::new();
    let unit = compile(&config, &mut found).expect("a unit");
    check(&unit, &config, &mut found);
    assert!(found.is_empty(), "{}", human::render(&found, false));
    let all = super::rendered(&unit);
    let map = &named(&all, "ConfigMap", "chat-epp")["data"]["precise-prefix.yaml"];
    let text = map.as_str().expect("a configuration");
    assert!(text.contains("blockSize: 128") && text.contains("hashSeed: \"7\""), "{text}");

    let pod = &named(&all, "Deployment", "chat-epp")["spec"]["template"]["spec"];
    assert!(has(&pod["containers"], &json!({"name": "tokenizer", "image": IMAGE})));
    // With prefill both profiles score by the index.
    let both = format!("prefill = {{ sidecar-image = \"SIDECAR\" }}\n{table}");
    assert_eq!(shown(&both), "");
    let all = objects(&both);
    let map = &named(&all, "ConfigMap", "chat-epp")["data"]["precise-prefix.yaml"];
    let text = map.as_str().expect("a configuration");
    assert!(text.contains("disagg-profile-handler"), "{text}");
    assert_eq!(text.matches("pluginRef: prefix-cache-scorer").count(), 2, "{text}");
    let ranks = shown(&format!("dp = 2\n{table}"));
    assert!(ranks.contains("data parallelism"), "{ranks}");
}

#[test]
fn the_tokenizer_has_the_release_of_the_engine() {
    let newest = "0.33.0";
    for (tag, release) in [("v0.23.0", "0.23.0"), ("v0.17.1", newest), ("latest", newest)] {
        let table = format!(
            "epp.preset = \"precise-prefix\"\nengine = {{ image = \"vllm/vllm-openai:{tag}\" }}\n"
        );
        let config = super::read_without_engine(&table).0.expect("a model");
        let unit = compile(&config, &mut Diagnostics::new()).expect("a unit");
        let all = super::rendered(&unit);
        let pod = &named(&all, "Deployment", "chat-epp")["spec"]["template"]["spec"];
        let image = format!("vllm/vllm-openai-cpu:v{release}");
        assert!(has(&pod["containers"], &json!({"name": "tokenizer", "image": image})), "{pod:#}");
    }
}

#[test]
fn devices_by_network_generation_and_claim() {
    let all = objects("tp = 8\naccelerator = { rdma = \"efa\" }\n");
    let container =
        &named(&all, "Deployment", "chat-decode")["spec"]["template"]["spec"]["containers"][0];
    for group in ["requests", "limits"] {
        assert_eq!(container["resources"][group]["vpc.amazonaws.com/efa"], 8);
    }
    assert!(has(&container["env"], &json!({"name": "FI_PROVIDER", "value": "efa"})));
    assert_eq!(container["securityContext"]["capabilities"]["add"], json!(["IPC_LOCK"]));
    let all = objects("tp = 8\naccelerator = { rdma = \"ib\", rdma-devices = 1 }\n");
    let pod = &named(&all, "Deployment", "chat-decode")["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["resources"]["limits"]["rdma/ib"], 1);

    let all = objects("tp = 8\naccelerator = { vendor = \"tpu\", tpu = \"v7\" }\n");
    let pod = &named(&all, "Deployment", "chat-decode")["spec"]["template"]["spec"];
    assert_eq!(pod["nodeSelector"]["cloud.google.com/gke-tpu-topology"], "2x2x1");
    assert_eq!(pod["containers"][0]["resources"]["limits"]["google.com/tpu"], 4);
    let chips = shown("tp = 3\naccelerator = { vendor = \"tpu\", tpu = \"v6e\" }\n");
    assert!(chips.contains("nodes with TPU v6e have 1, 4, 8 chips"), "{chips}");
    let vendor = shown("accelerator = { tpu = \"v7\" }\n");
    assert!(vendor.contains("requires `vendor"), "{vendor}");

    let all = objects("tp = 8\naccelerator = { claim-template = \"gpus\" }\n");
    let pod = &named(&all, "Deployment", "chat-decode")["spec"]["template"]["spec"];
    assert_eq!(
        pod["resourceClaims"],
        json!([{"name": "accelerator", "resourceClaimTemplateName": "gpus"}])
    );
    let resources = &pod["containers"][0]["resources"];
    assert_eq!(resources["claims"], json!([{"name": "accelerator"}]));
    assert_eq!(resources["limits"].get("nvidia.com/gpu"), None);
}

#[test]
fn metrics_have_the_names_of_their_adapter() {
    let metric = |table: &str| {
        let all = objects(&format!("autoscaling = {{ max = 4, {table} }}\n"));
        let scaler = named(&all, "HorizontalPodAutoscaler", "chat-decode").clone();
        scaler["spec"]["metrics"][0]["pods"]["metric"]["name"].clone()
    };
    assert_eq!(metric("waiting = 5"), "vllm:num_requests_waiting");
    let gke = "prometheus.googleapis.com|vllm:num_requests_waiting|gauge";
    assert_eq!(metric("metrics = \"gke\""), gke);
    assert_eq!(metric("metric = \"vllm_queue\""), "vllm_queue");
    let all = objects("autoscaling = { max = 4, metrics = \"gke\" }\n");
    let collected = named(&all, "PodMonitoring", "chat-decode");
    assert_eq!(collected["apiVersion"], "monitoring.googleapis.com/v1");
    let endpoint = json!({"port": "engine", "path": "/metrics", "interval": "10s"});
    assert!(has(&collected["spec"]["endpoints"], &endpoint), "{collected:#}");
    let keda =
        "autoscaling = { kind = \"keda\", max = 4, prometheus = \"http://a:1\", metric = \"a\" }\n";
    assert!(shown(keda).contains("has no effect with `kind = \"keda\"`"), "{}", shown(keda));
}

#[test]
fn offloading_and_traces() {
    let table = "tracing = { endpoint = \"http://otel:4317\", percent = 5 }\n\
                 prefill = { sidecar-image = \"SIDECAR\" }\nepp = { image = \"PICKER\" }\n";
    let all = objects(table);
    let pod = &named(&all, "Deployment", "chat-decode")["spec"]["template"]["spec"];
    let ratio = json!({"name": "OTEL_TRACES_SAMPLER_ARG", "value": "0.05"});
    assert!(has(&pod["containers"][0]["env"], &ratio));
    assert!(has(&pod["initContainers"][0]["env"], &ratio));
    let proxy = &pod["initContainers"][0]["readinessProbe"]["httpGet"];
    assert_eq!(*proxy, json!({"path": "/v1/models", "port": "routing-0"}));
    let picker = &named(&all, "Deployment", "chat-epp")["spec"]["template"]["spec"];
    assert!(has(&picker["containers"][0]["env"], &ratio));
    let args = picker["containers"][0]["args"].as_array().expect("args");
    assert!(args.contains(&json!("--tracing=true")), "{args:?}");
    assert_eq!(shown(table), "");

    let offload = format!("[serving.engine]\n{REQUESTS}image = \"IMAGE\"\nkv-offload = \"64Gi\"\n");
    let (config, text) = super::read_without_engine(&offload);
    let unit = compile(&config.unwrap_or_else(|| panic!("{text}")), &mut Diagnostics::new());
    let all = super::rendered(&unit.expect("a unit"));
    let pod = &named(&all, "Deployment", "chat-decode")["spec"]["template"]["spec"];
    let args = pod["containers"][0]["args"].as_array().expect("args");
    assert!(args.contains(&json!("--kv-offloading-size=64")), "{args:?}");

    // With prefill one connector combines the transfer with the offloading.
    let both = format!(
        "tp = 2\ndp = 2\nepp.image = \"PICKER\"\nprefill = {{ sidecar-image = \"SIDECAR\" }}\n{offload}"
    );
    let (config, text) = super::read_without_engine(&both);
    let config = config.unwrap_or_else(|| panic!("{text}"));
    let mut found = Diagnostics::new();
    let unit = compile(&config, &mut found).expect("a unit");
    check(&unit, &config, &mut found);
    assert!(found.is_empty(), "{}", human::render(&found, false));
    let all = super::rendered(&unit);
    let pod = &named(&all, "Deployment", "chat-decode")["spec"]["template"]["spec"];
    let args = pod["containers"][0]["args"].as_array().expect("args");
    let transfer = args.iter().filter_map(Json::as_str).find(|arg| arg.contains("kv-transfer"));
    let transfer = transfer.expect("a connector");
    // 64 GiB of the pod are 32 GiB for each of its two ranks.
    for part in ["MultiConnector", "NixlConnector", "\"cpu_bytes_to_use\":34359738368"] {
        assert!(transfer.contains(part), "{part}: {transfer}");
    }
    assert!(!args.contains(&json!("--kv-offloading-backend=native")), "{args:?}");
}

#[test]
fn the_preset_of_expert_parallelism() {
    let table = r#"
topology = "lws-dp-external"
nodes = 2
dp = 16
expert-parallel = true
engine.preset = "wide-ep"
engine.args = ["--max-num-seqs=128"]
engine.env = [{ name = "NCCL_SOCKET_IFNAME", value = "bond0" }]
prefill = { nodes = 2, dp = 16, expert-parallel = true, sidecar-image = "SIDECAR", args = [] }
accelerator = { rdma = "roce" }
epp = { image = "PICKER" }
"#;
    let all = objects(table);
    let engine = |name: &str| {
        let group = named(&all, "LeaderWorkerSet", name);
        &group["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]
    };
    let (decode, prefill) = (engine("chat-decode"), engine("chat-prefill"));
    let args = |container: &Json| -> Vec<String> {
        serde_json::from_value(container["args"].clone()).expect("arguments")
    };
    let decodes = args(decode);
    for flag in ["--all2all-backend=deepep_low_latency", "--moe-backend=deep_gemm", "--enable-dbo"]
    {
        assert!(decodes.iter().any(|arg| arg == flag), "{decodes:?}");
    }
    let sequences = decodes.iter().filter(|arg| arg.starts_with("--max-num-seqs"));
    assert_eq!(sequences.collect::<Vec<_>>(), ["--max-num-seqs=128"], "the user's wins");
    assert!(args(prefill).contains(&"--all2all-backend=deepep_high_throughput".to_owned()));
    assert!(!args(prefill).contains(&"--enable-dbo".to_owned()));

    let size = json!({"name": "NVSHMEM_SYMMETRIC_SIZE"});
    assert!(has(&decode["env"], &size) && !has(&prefill["env"], &size));
    let network = json!({"name": "NVSHMEM_IB_ENABLE_IBGDA", "value": "true"});
    assert!(has(&prefill["env"], &network));
    assert!(has(&decode["env"], &json!({"name": "NCCL_SOCKET_IFNAME", "value": "bond0"})));
    let capabilities = &decode["securityContext"]["capabilities"]["add"];
    assert_eq!(*capabilities, json!(["IPC_LOCK", "SYS_RAWIO"]));
    assert_eq!(shown(table), "");
}

#[test]
fn shared_memory_by_the_number_of_devices() {
    for (table, size) in [("tp = 1\n", "2Gi"), ("tp = 4\n", "2Gi"), ("tp = 8\n", "3Gi")] {
        let all = objects(table);
        let pod = &named(&all, "Deployment", "chat-decode")["spec"]["template"]["spec"];
        let volume = json!({"emptyDir": {"medium": "Memory", "sizeLimit": size}});
        assert!(has(&pod["volumes"], &volume), "{table}");
    }
}

//! Charts of SGLang.

use super::{PICKER, REQUESTS, SIDECAR, check, compile, findings, read_without_engine, rendered};
use crate::diag::{Diagnostics, human};
use serde_json::{Value as Json, json};

const IMAGE: &str = "example.com/lmsysorg/sglang:v0.5.21@sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// Returns the objects of a chart, and what a build reports.
fn built(keys: &str, engine: &str) -> (Vec<Json>, String) {
    let table = format!(
        "epp.image = \"PICKER\"\n{keys}[serving.engine]\nkind = \"sglang\"\nimage = \"OWN\"\n{REQUESTS}{engine}"
    );
    let table = table.replace("OWN", IMAGE).replace("PICKER", PICKER).replace("SIDECAR", SIDECAR);
    let (config, shown) = read_without_engine(&table);
    let Some(config) = config else { return (Vec::new(), shown) };
    let mut found = Diagnostics::new();
    let Some(unit) = compile(&config, &mut found) else {
        return (Vec::new(), human::render(&found, false));
    };
    check(&unit, &config, &mut found);
    (rendered(&unit), human::render(&found, false))
}

/// Returns the objects of a chart without findings, neither by the build nor by `check-serving`.
fn sound(keys: &str, engine: &str) -> Vec<Json> {
    let (objects, shown) = built(keys, engine);
    assert_eq!(shown, "");
    let found = findings(objects.clone());
    assert!(found.is_empty(), "{keys}{engine}\n{}", human::render(&found, false));
    objects
}

fn named<'o>(objects: &'o [Json], kind: &str, name: &str) -> &'o Json {
    let is_it = |object: &&Json| object["kind"] == kind && object["metadata"]["name"] == name;
    objects.iter().find(is_it).unwrap_or_else(|| panic!("no {kind}/{name}"))
}

/// Returns the arguments of the engine in a pod template.
fn args(template: &Json) -> String {
    let args = template["spec"]["containers"][0]["args"].as_array().expect("args");
    args.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(" ")
}

#[test]
fn one_pod() {
    let keys = "tp = 2\nmonitoring = {}\nautoscaling = { max = 4 }\n";
    let all = sound(keys, "args = [\"--mem-fraction-static=0.8\"]\n");
    let template = &named(&all, "Deployment", "chat-decode")["spec"]["template"];
    assert_eq!(template["metadata"]["labels"]["llm-d.ai/engine-type"], "sglang");
    let container = &template["spec"]["containers"][0];
    assert_eq!(container["command"], json!(["python3", "-m", "sglang.launch_server"]));
    assert_eq!(
        args(template),
        "--model-path=example/model --served-model-name=example/model --host=0.0.0.0 --port=8000 \
         --enable-metrics --tensor-parallel-size=2 --mem-fraction-static=0.8"
    );
    assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/health");
    let scaler = named(&all, "HorizontalPodAutoscaler", "chat-decode");
    let metric = &scaler["spec"]["metrics"][0]["pods"]["metric"]["name"];
    assert_eq!(metric, "sglang:num_queue_reqs");
}

#[test]
fn ranks_share_devices_only_where_sglang_requires_it() {
    let of = |keys: &str, image: &str| {
        let all = built(keys, "").0;
        assert!(!all.is_empty());
        let old = sound(keys, "");
        let text = args(&named(&old, "Deployment", "chat-decode")["spec"]["template"]);
        let (new, shown) = {
            let engine = format!("kind = \"sglang\"\nimage = \"{image}\"\n");
            let table = format!("epp.image = \"{PICKER}\"\n{keys}[serving.engine]\n{engine}");
            let (config, shown) = read_without_engine(&table);
            let unit = compile(&config.expect("a configuration"), &mut Diagnostics::new());
            (rendered(&unit.expect("a unit")), shown)
        };
        assert_eq!(shown, "");
        (text, args(&named(&new, "Deployment", "chat-decode")["spec"]["template"]))
    };
    let newest = IMAGE.replace("0.5.21", "0.5.22");

    let (replicas, _) = of("dp = 4\ntp = 2\n", &newest);
    assert!(replicas.ends_with("--tensor-parallel-size=2 --data-parallel-size=4"), "{replicas}");
    let (old, new) = of("dp = 4\ntp = 2\nexpert-parallel = true\n", &newest);
    let shared = "--tensor-parallel-size=8";
    let experts = "--expert-parallel-size=8";
    assert!(
        old.ends_with(&format!("{shared} --data-parallel-size=4 --enable-dp-attention {experts}")),
        "{old}"
    );
    assert!(new.ends_with(&format!("{shared} --attn-dp-size=4 {experts}")), "{new}");
}

#[test]
fn groups_have_one_server() {
    for (keys, size) in [
        ("topology = \"lws-mp\"\nnodes = 2\ntp = 8\npp = 2\n", "--tensor-parallel-size=8"),
        ("topology = \"lws-dp-internal\"\nnodes = 2\ndp = 16\n", "--tensor-parallel-size=16"),
    ] {
        let all = sound(keys, "");
        let set = named(&all, "LeaderWorkerSet", "chat-decode");
        let group = &set["spec"]["leaderWorkerTemplate"];
        let (leader, worker) = (&group["leaderTemplate"], &group["workerTemplate"]);
        assert!(args(leader).contains(size) && args(worker).contains(size), "{}", args(leader));
        assert!(args(leader).contains("--nnodes=2") && args(leader).contains("--port=8000"));
        assert!(!args(worker).contains("--port"), "{}", args(worker));
        let script = leader["spec"]["containers"][0]["command"][2].as_str().expect("a script");
        assert!(script.contains("leader=$HOST_IP") && script.contains("$leader:5000"), "{script}");
        assert_eq!(worker["metadata"]["labels"].get("app"), None);
    }
}

#[test]
fn each_worker_has_its_own_rank() {
    let right = "--node-rank=\"$LWS_WORKER_INDEX\"";
    let template = "/spec/leaderWorkerTemplate/workerTemplate/spec/containers/0/command/2";
    for (rank, says) in [(right, ""), ("--node-rank=1", "`--node-rank` 1, expected 3")] {
        let mut all = sound("topology = \"lws-mp\"\nnodes = 4\ntp = 8\npp = 4\n", "");
        let set = all.iter_mut().find(|object| object["kind"] == "LeaderWorkerSet").expect("a set");
        let script = set.pointer_mut(template).expect("a script");
        let text = script.as_str().expect("a script");
        assert!(text.contains(right), "{text}");
        *script = json!(text.replace(right, rank));
        let shown = human::render(&findings(all), false);
        assert!(shown.is_empty() == says.is_empty() && shown.contains(says), "{shown}");
    }
}

#[test]
fn prefill_and_decode_transfer_caches() {
    let keys = "tp = 2\nprefill = { tp = 2, sidecar-image = \"SIDECAR\" }\n";
    let all = sound(keys, "kv-offload = \"64Gi\"\n");
    let decode = &named(&all, "Deployment", "chat-decode")["spec"]["template"];
    let prefill = &named(&all, "Deployment", "chat-prefill")["spec"]["template"];
    assert!(args(decode).ends_with("--disaggregation-mode=decode"), "{}", args(decode));
    // 64 GiB are 68.7 GB for two devices.
    assert!(
        args(prefill).ends_with(
            "--disaggregation-mode=prefill --disaggregation-bootstrap-port=8998 \
             --enable-hierarchical-cache --hicache-size=34"
        ),
        "{}",
        args(prefill)
    );
    let proxy = &decode["spec"]["initContainers"][0]["args"];
    assert!(proxy.as_array().expect("args").contains(&json!("--kv-connector=sglang")));
    let ports = &prefill["spec"]["containers"][0]["ports"];
    assert!(
        ports
            .as_array()
            .expect("ports")
            .contains(&json!({"name": "transfer", "containerPort": 8998}))
    );
}

#[test]
fn adapters_are_selected_with_the_model() {
    let keys = "adapters = [{ name = \"sql\", source = \"hf://example/sql\" }]\n\
        rewrites = [{ model = \"sql\", targets = [{ model = \"example/model:sql\" }] }]\n";
    let all = sound(keys, "");
    let text = args(&named(&all, "Deployment", "chat-decode")["spec"]["template"]);
    let own = "--enable-lora --max-loras-per-batch=1 --lora-paths sql=example/sql";
    assert!(text.ends_with(own), "{text}");
    let (_, shown) = built(&keys.replace("example/model:sql", "sql"), "");
    assert!(shown.contains("rewrites to `sql`, which pods"), "{shown}");
}

#[test]
fn events_and_traces() {
    let keys = "tracing = { endpoint = \"http://collector:4317\" }\n\
        epp.preset = \"precise-prefix\"\nepp.tokenizer-image = \"OWN\"\n";
    let all = sound(keys, "");
    let text = args(&named(&all, "Deployment", "chat-decode")["spec"]["template"]);
    assert!(text.contains("--page-size=64 --kv-events-config={\"publisher\":\"zmq\""), "{text}");
    assert!(text.ends_with("--enable-trace --otlp-traces-endpoint=collector:4317"), "{text}");
    let config = named(&all, "ConfigMap", "chat-epp")["data"]["precise-prefix.yaml"].to_string();
    assert!(config.contains("engineType: sglang"), "{config}");
}

#[test]
fn what_it_does_not_support_is_an_error_at_the_key() {
    for (keys, engine, says) in [
        ("topology = \"lws-ray\"\nnodes = 2\ntp = 16\n", "", "do not use Ray"),
        ("topology = \"lws-dp-hybrid\"\nnodes = 2\ndp = 16\n", "", "serves all ranks of a group"),
        ("topology = \"lws-dp-external\"\nnodes = 2\ndp = 16\n", "", "lws-dp-internal"),
        (
            "prefill.topology = \"lws-ray\"\nprefill.nodes = 2\nprefill.tp = 16\n",
            "",
            "do not use Ray",
        ),
        ("api = \"gie-1.4\"\n", "", "reads no metrics of SGLang"),
        ("tp = 8\n", "kv-offload = \"4Gi\"\n", "less than 1 GB per device"),
        ("form = \"kserve\"\n", "", "`engine.kind` is not supported"),
        ("", "args = [\"--max-model-len=4096\"]\n", "--max-model-len"),
    ] {
        let (_, shown) = built(keys, engine);
        assert!(shown.contains("error") && shown.contains(says), "{keys}{engine}\n{shown}");
        assert!(shown.contains("bundles.toml:"), "{shown}");
    }
    let table = format!("epp.image = \"{PICKER}\"\n[serving.engine]\nimage = \"{IMAGE}\"\n");
    let mut found = Diagnostics::new();
    let config = read_without_engine(&table).0.expect("a configuration");
    assert!(compile(&config, &mut found).is_none());
    let shown = human::render(&found, false);
    assert!(shown.contains("is one of SGLang, but the chart starts vLLM"), "{shown}");
}

//! Charts with `form = "kserve"`: the fields of LLMInferenceServices, by KServe 0.20.

use super::{PICKER, check, compile, objects, read};
use crate::diag::{Diagnostics, human};
use serde_json::{Value as Json, json};

/// Returns what a build reports about a table.
fn shown(table: &str) -> String {
    let (config, shown) = read(table);
    let Some(config) = config else { return shown };
    let mut found = Diagnostics::new();
    if let Some(unit) = compile(&config, &mut found) {
        check(&unit, &config, &mut found);
    }
    human::render(&found, false)
}

/// Returns the spec of a service without findings.
fn spec(table: &str) -> Json {
    let table = format!("form = \"kserve\"\n{table}");
    assert_eq!(shown(&table), "", "{table}");
    objects(&table).remove(0)["spec"].clone()
}

#[test]
fn pods_have_fields_and_labels() {
    let spec =
        spec("prefill = {}\n[serving.pod]\nscheduler = \"binpack\"\nlabels = { a = \"b\" }\n");
    for part in [&spec, &spec["prefill"]] {
        assert_eq!(part["template"]["schedulerName"], "binpack");
        assert_eq!(part["labels"], json!({"a": "b"}));
    }
}

#[test]
fn decode_pods_scale() {
    let spec_of = |kind: &str| {
        spec(&format!(
            "prefill = {{ replicas = 2 }}\nautoscaling = {{ {kind}, min = 2, max = 5 }}\n"
        ))
    };
    for kind in ["hpa", "keda"] {
        let spec = spec_of(&format!("kind = \"{kind}\""));
        let scaling = json!({"minReplicas": 2, "maxReplicas": 5, "wva": {kind: {}}});
        assert_eq!(spec["scaling"], scaling);
        // The API has one of both.
        assert_eq!(spec.get("replicas"), None);
        assert_eq!(spec["prefill"]["replicas"], 2);
    }
}

#[test]
fn routes_keep_the_rules_of_kserve_unless_a_key_replaces_them() {
    let of = |keys: &str| spec(&format!("route = {{ gateway = \"g\"{keys} }}\n"))["router"].clone();
    assert_eq!(of("")["route"], json!({}));
    assert_eq!(of("")["gateway"], json!({"refs": [{"name": "g"}]}));
    let hosts = of(", hosts = [\"a.example.com\"]");
    assert_eq!(hosts["route"], json!({"http": {"spec": {"hostnames": ["a.example.com"]}}}));

    let paths =
        of(", paths = [\"/team/chat\"], model-header = \"X-Model\", request-timeout = \"1h\"");
    let rule = &paths["route"]["http"]["spec"]["rules"][0];
    assert_eq!(rule["backendRefs"][0]["name"], "chat-inference-pool");
    assert_eq!(rule["matches"][0]["path"]["value"], "/team/chat");
    assert_eq!(rule["matches"][0]["headers"][0]["name"], "X-Model");
    assert_eq!(rule["timeouts"]["request"], "1h");
}

#[test]
fn the_scheduler_has_replicas_image_and_resources() {
    let table = format!(
        "epp = {{ replicas = 2, image = \"{PICKER}\", resources = {{ requests = {{ cpu = \"4\" }} }} }}\n"
    );
    let scheduler = spec(&table)["router"]["scheduler"].clone();
    assert_eq!(scheduler["replicas"], 2);
    let container = &scheduler["template"]["containers"][0];
    assert_eq!(container["name"], "main");
    assert_eq!(container["image"], PICKER);
    assert_eq!(container["resources"]["requests"]["cpu"], "4");
}

#[test]
fn adapters_offloading_and_traces() {
    let table = "adapters = [{ name = \"sql\", source = \"hf://example/sql\" }, \
        { name = \"law\", source = \"pvc://adapters/law\" }]\nadapter-rank = 32\n\
        engine.kv-offload = \"64Gi\"\n\
        tracing = { endpoint = \"http://collector:4317\", percent = 5 }\n";
    let one = spec(table);
    assert_eq!(
        one["model"]["lora"],
        json!({
            "adapters": [
                {"name": "sql", "uri": "hf://example/sql"},
                {"name": "law", "uri": "pvc://adapters/law"},
            ],
            "maxRank": 32,
        })
    );
    assert_eq!(one["kvCacheOffloading"], json!({"cpu": "64Gi"}));
    let tracing = json!({"exporterEndpoint": "http://collector:4317", "samplerArg": "0.05"});
    assert_eq!(one["tracing"], tracing);

    let two = spec("prefill = {}\nengine.kv-offload = \"64Gi\"\n");
    assert_eq!(two.get("kvCacheOffloading"), None);
    for part in [&two, &two["prefill"]] {
        let env = part["template"]["containers"][0]["env"].to_string();
        assert!(env.contains("MultiConnector") && env.contains("OffloadingConnector"), "{env}");
    }
}

#[test]
fn keys_without_effect_are_errors() {
    for (table, says) in [
        ("autoscaling = { max = 2, waiting = 9 }\n", "`autoscaling.waiting` is not supported"),
        ("autoscaling = { max = 2, metric = \"a\" }\n", "`autoscaling.metric` is not supported"),
        (
            "autoscaling = { kind = \"keda\", max = 2, prometheus = \"http://p\" }\n",
            "`autoscaling.prometheus` is not supported",
        ),
        ("epp = { preset = \"precise-prefix\" }\n", "`epp.preset` is not supported"),
        ("queue = \"a\"\n", "`queue` is not supported"),
        ("route = { gateway = \"g\", provider = \"gke\" }\n", "`route.provider` is not supported"),
    ] {
        let shown = shown(&format!("form = \"kserve\"\n{table}"));
        assert!(shown.contains(says), "{table}\n{shown}");
    }
}

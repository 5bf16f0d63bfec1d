//! Every invariant is held by our own charts, and broken by a change of one of them.

mod additions;
mod breaking;
mod conditions;
mod defects;
mod engines;
mod groups;
mod kserve;
mod objects;
mod pickers;
mod pods;
mod policies;
mod routes;
mod selectors;
mod sglang;

use super::invariants::INVARIANTS;
use super::{Manifest, check, check_placed, compile, profile};
use crate::config::Config;
use crate::config::serving::ServingConfig;
use crate::diag::{Code, Diagnostics, Place, Severity, SourceText, Span, human};
use crate::ir::{Release, Unit};
use breaking::{BREAKING, LEADER, POD, WORKER, engine, flag};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const IMAGE: &str = "example.com/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000";
const PICKER: &str = "example.com/llm-d-router-endpoint-picker:v0.10.0@sha256:0000000000000000000000000000000000000000000000000000000000000000";
const SIDECAR: &str = "example.com/llm-d-router-disagg-sidecar:v0.10.0@sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// Requests of `engine`, without which a note asks for them.
const REQUESTS: &str = "resources.requests = { cpu = \"8\", memory = \"96Gi\" }\n";

/// One pod a replica, and all that can be asked for.
const SINGLE: &str = r#"
topology = "single"
tp = 2
disruption-budget = 1
objectives = { premium = 100 }
rewrites = [{ model = "old", targets = [{ model = "example/model" }] }]
autoscaling = { max = 4 }
monitoring = {}
network-policy = { monitoring-namespaces = ["monitoring"] }
epp = { replicas = 3, image = "PICKER" }
route = { gateway = "gateway", provider = "istio" }
"#;

/// Groups of which the leader answers.
const MP: &str = r#"
topology = "lws-mp"
nodes = 2
tp = 8
pp = 2
epp = { image = "PICKER" }
"#;

/// The same with Ray.
const RAY: &str = r#"
topology = "lws-ray"
nodes = 2
tp = 8
pp = 2
epp = { image = "PICKER" }
"#;

/// Ranks behind the leader's port.
const INTERNAL: &str = r#"
topology = "lws-dp-internal"
nodes = 2
dp = 16
epp = { image = "PICKER" }
"#;

/// Ranks behind a port of each pod.
const HYBRID: &str = r#"
topology = "lws-dp-hybrid"
nodes = 2
dp = 16
epp = { image = "PICKER" }
"#;

/// Groups with a port a rank, and prefill apart.
const WIDE: &str = r#"
topology = "lws-dp-external"
nodes = 2
dp = 16
expert-parallel = true
prefill = { nodes = 2, dp = 16, sidecar-image = "SIDECAR" }
epp = { image = "PICKER" }
"#;

/// The same as one set.
const SET: &str = r#"
topology = "lws-dp-external"
nodes = 2
dp = 16
disaggregated-set = true
prefill = { nodes = 2, dp = 16, sidecar-image = "SIDECAR" }
epp = { image = "PICKER" }
"#;

/// An LLMInferenceService, for which KServe creates the pods and the picker.
const KSERVE: &str = r#"
form = "kserve"
topology = "lws-dp-internal"
nodes = 2
dp = 16
"#;

/// Chips with two devices.
const TPU: &str = r#"
tp = 8
accelerator = { vendor = "tpu", per-node = 4, devices-per-unit = 2 }
epp = { image = "PICKER" }
"#;

fn read(table: &str) -> (Option<ServingConfig>, String) {
    read_without_engine(&format!("engine.image = \"IMAGE\"\nengine.{REQUESTS}{table}"))
}

/// Reads a model from a table that has the engine, too.
fn read_without_engine(table: &str) -> (Option<ServingConfig>, String) {
    let text = format!("[[serving]]\nname = \"chat\"\nmodel = \"hf://example/model\"\n{table}");
    let text = text.replace("PICKER", PICKER).replace("SIDECAR", SIDECAR).replace("IMAGE", IMAGE);
    let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text });
    let mut found = Diagnostics::new();
    let config = Config::parse(&source, Path::new("."), &mut found);
    let serving = config.and_then(|mut config| config.servings.pop());
    (serving, human::render(&found, false))
}

fn config(table: &str) -> ServingConfig {
    let (config, shown) = read(table);
    config.unwrap_or_else(|| panic!("{shown}"))
}

/// The objects of a chart, as an API server would receive them.
fn objects(table: &str) -> Vec<Json> {
    let config = config(table);
    let mut found = Diagnostics::new();
    let unit = compile(&config, &mut found);
    rendered(&unit.unwrap_or_else(|| panic!("{}", human::render(&found, false))))
}

/// The objects of a chart, as an API server would receive them.
fn rendered(unit: &Unit) -> Vec<Json> {
    let values = unit.default_values();
    let release = Release { namespace: "models", values: &values };
    unit.objects.iter().filter_map(|object| release.object(object)).collect()
}

fn findings(objects: Vec<Json>) -> Diagnostics {
    let manifests: Vec<Manifest> = objects
        .into_iter()
        .map(|json| Manifest { json, place: Place::file("objects.yaml") })
        .collect();
    findings_of(manifests)
}

/// Returns the findings, each with a span that is named after its key of `[[serving]]`.
fn findings_of(manifests: Vec<Manifest>) -> Diagnostics {
    let placing = |_: usize, key: &'static str| {
        let source = SourceText { name: key.to_owned(), text: String::new() };
        Some(Span::new(&Arc::new(source), 0..0))
    };
    let mut found = Diagnostics::new();
    check_placed(manifests, profile::newest(), &placing, &mut found);
    found
}

/// The object of this kind and name.
fn object<'o>(objects: &'o mut [Json], kind: &str, name: &str) -> &'o mut Json {
    objects
        .iter_mut()
        .find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
        .unwrap_or_else(|| panic!("no {kind}/{name}"))
}

#[test]
fn our_own_charts_hold_every_invariant() {
    for table in [SINGLE, MP, RAY, INTERNAL, HYBRID, WIDE, SET, TPU, KSERVE] {
        let config = config(table);
        let mut found = Diagnostics::new();
        let unit = compile(&config, &mut found);
        check(&unit.unwrap(), &config, &mut found);
        assert!(found.is_empty(), "{table}\n{}", human::render(&found, false));
    }
    // What a TPU is, a manifest says by its node selector.
    for table in [SINGLE, MP, RAY, INTERNAL, HYBRID, WIDE, SET, KSERVE] {
        let found = findings(objects(table));
        assert!(found.is_empty(), "{table}\n{}", human::render(&found, false));
    }
}

#[test]
fn every_invariant_is_broken_by_a_change() {
    let mut listing = BTreeSet::new();
    for breaking in BREAKING {
        let mut objects = objects(breaking.base);
        (breaking.change)(&mut objects);
        let found = findings(objects);
        defects::list(&found, &mut listing);
        let shown = human::render(&found, false);
        let hit = found.iter().any(|d| {
            d.code == breaking.code
                && d.severity == breaking.severity
                && d.message.contains(breaking.says)
        });
        assert!(hit, "{}: {}\n{shown}", breaking.code.as_str(), breaking.says);
        let others: BTreeSet<&str> = found
            .iter()
            .filter(|d| d.code != breaking.code && d.severity == Severity::Error)
            .map(|d| d.code.as_str())
            .collect();
        // Some mistakes break more than one invariant, but none breaks many.
        assert!(others.len() < 3, "{}: {others:?}\n{shown}", breaking.says);
    }
    insta::assert_snapshot!(Vec::from_iter(listing).concat());
}

#[test]
fn every_invariant_has_a_change_that_breaks_it() {
    let broken: BTreeSet<Code> = BREAKING.iter().map(|breaking| breaking.code).collect();
    for invariant in INVARIANTS {
        assert!(broken.contains(&invariant.code), "nothing breaks {invariant:?}");
        assert!(!invariant.reason.is_empty() && !invariant.source.is_empty());
        // The field is a key of the table.
        let mut table = ServingConfig::table();
        for part in invariant.field.split('.') {
            let key = table.key(part).unwrap_or_else(|| panic!("no key {}", invariant.field));
            if let crate::config::declare::Kind::Table(inner) = key.kind {
                table = inner();
            }
        }
    }
}

/// Errors in bundles.toml are reported at the key.
#[test]
fn mistakes_in_the_configuration() {
    let mut shown = String::new();
    for table in [
        "tp = 4\naccelerator = { per-node = 2 }\nepp = { image = \"PICKER\" }\n",
        "topology = \"lws-dp-hybrid\"\nnodes = 2\ndp = 5\n",
        "nodes = 2\n",
        "topology = \"lws-mp\"\ntp = 8\n",
        "topology = \"lws-dp-external\"\nnodes = 2\ntp = 8\ndp = 2\n",
        "api = \"gie-1.4\"\nprefill = {}\n",
        "topology = \"lws-dp-external\"\nnodes = 2\ndp = 32\nepp = { image = \"PICKER\" }\n",
        "prefill = { topology = \"lws-dp-external\", nodes = 2, dp = 16, sidecar-image = \"SIDECAR\" }\nepp = { image = \"PICKER\" }\n",
        "epp = { image = \"PICKER\", config = { plugins = [{ type = \"queue-scorer\" }], schedulingProfiles = [{ name = \"default\", plugins = [{ pluginRef = \"queue\" }] }] } }\n",
        "epp = { image = \"PICKER\", flags = { grpc-port = 9010 } }\n",
        "epp = { image = \"PICKER\", replicas = 2, flags = { ha-enable-leader-election = false } }\n",
        "form = \"kserve\"\nmonitoring = {}\nroute = { gateway = \"g\", auth = \"kuadrant\" }\n",
        "replicas = 3\nautoscaling = { max = 4 }\n",
        "epp = { image = \"example.com/picker:1\" }\n",
        "engine.preset = \"wide-ep\"\nexpert-parallel = true\n",
        "topology = \"lws-dp-hybrid\"\nnodes = 2\ndp = 16\nexpert-parallel = true\nengine.preset = \"wide-ep\"\naccelerator = { rdma = \"efa\" }\n",
        "engine.kind = \"sglang\"\nengine.preset = \"wide-ep\"\n",
        "engine.args = [\"--max-modle-len=4096\"]\n",
        "engine.args = [\"--gpu-memory-utilization=90\", \"--tool-call-parser=hermess\"]\n",
        "engine.args = [\"--kv-transfer-config={kv_role: kv_both}\"]\n",
        "engine.args = [\"--port=9000\", \"--tensor-parallel-size=4\", \"--served-model-name=chat\"]\n",
        "engine.args = [\"--swap-space=4\"]\nprefill = { args = [\"--dtype=bf16\"], sidecar-image = \"SIDECAR\" }\n",
        "engine.env = [{ name = \"VLLM_ATTENTION_BACKEND\", value = \"FLASHMLA\" }]\ntp = 4\naccelerator = { per-node = 2 }\n",
        "epp = { image = \"PICKER\", flags = { enable-prof = false }, config = { featureGates = [\"dataLayer\"], plugins = [{ type = \"prefix-cache-scorer\", parameters = { blockSize = 64 } }] } }\n",
    ] {
        let config = config(table);
        let mut found = Diagnostics::new();
        if let Some(unit) = compile(&config, &mut found) {
            check(&unit, &config, &mut found);
        }
        assert!(found.has_errors(), "{table}");
        shown.push_str(&human::render(&found, false));
        shown.push('\n');
    }
    let shown = shown.replace(IMAGE, "IMAGE").replace(PICKER, "PICKER");
    insta::assert_snapshot!(shown.replace(SIDECAR, "SIDECAR"));
}

#[test]
fn tables_that_cannot_be_read() {
    let mut shown = String::new();
    for table in [
        "topology = \"lws\"\n",
        "epp = { failure-mode = \"FailClosed\" }\n",
        "route = { gateway = \"g\", request-timeout = \"5 minutes\", paths = [\"v1\"] }\n",
        "objectives = { premium = \"high\" }\nrewrites = [{ model = \"a\" }]\n",
        "epp = { preset = \"default\", config = {}, flags = { --tracing = true } }\n",
        "autoscaling = { kind = \"keda\", min = 5, max = 2 }\n",
        "autoscaling = { kind = \"keda\", min = 0, max = 2, prometheus = \"http://p\" }\n",
        "network-policy = {}\nroute = { gateway = \"g\", provider = \"gke\" }\n",
        "network-policy = {}\nmonitoring = {}\n",
        "route = { gateway = \"g\", gateway-class = \"c\", gateway-namespace = \"n\" }\n",
        "accelerator = { vendor = \"none\", per-node = 4 }\n",
        "objectives = { \"Premium!\" = 1 }\n",
        "served-name = 'a\"b'\n",
        "route = { gateway = \"g\", hosts = [\"https://a.example.com\"], model-header = \"X Model\" }\n",
        "monitoring = { labels = { \"a b\" = \"c\" } }\n",
        "monitoring = { labels = { \"/x\" = \"c\" } }\n",
        "disaggregated-set = true\n",
        "router = {}\n",
    ] {
        let (config, text) = read(table);
        assert!(config.is_none(), "{table}");
        shown.push_str(&text);
        shown.push('\n');
    }
    for (name, model) in [("7b", "hf://a/b"), ("chat", "hf://a"), ("chat", "pvc://c/../x")] {
        let text = format!(
            "[[serving]]\nname = \"{name}\"\nmodel = \"{model}\"\nengine = {{ image = \"a:1\" }}\n"
        );
        let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text });
        let mut found = Diagnostics::new();
        let config = Config::parse(&source, Path::new("."), &mut found);
        assert!(config.is_none(), "{name} {model}");
        shown.push_str(&human::render(&found, false));
        shown.push('\n');
    }
    insta::assert_snapshot!(shown);
}

/// A picker without TLS is connected to as it serves.
#[test]
fn pickers_without_tls() {
    for (mode, says) in [("DISABLE", ""), ("SIMPLE", "connects to it with TLS")] {
        let mut all = objects(SINGLE);
        object(&mut all, "DestinationRule", "chat-epp")["spec"]["trafficPolicy"]["tls"] =
            json!({"mode": mode, "insecureSkipVerify": true});
        flag(engine(object(&mut all, "Deployment", "chat-epp"), POD), "--secure-serving=false");
        let shown = human::render(&findings(all), false);
        assert!(shown.is_empty() == says.is_empty() && shown.contains(says), "{mode}: {shown}");
    }
}

/// Unexpected numbers and texts do not panic.
#[test]
fn hostile_values_do_no_harm() {
    fn pointers(json: &Json, pointer: &str, all: &mut Vec<String>) {
        all.push(pointer.to_owned());
        match json {
            Json::Object(map) => map.iter().for_each(|(key, value)| {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointers(value, &format!("{pointer}/{key}"), all);
            }),
            Json::Array(list) => list.iter().enumerate().for_each(|(index, value)| {
                pointers(value, &format!("{pointer}/{index}"), all);
            }),
            _ => {}
        }
    }
    let hostile =
        [json!(u64::MAX), json!(-1), json!(""), json!(null), json!([1]), json!({"a": []})];
    let budget = "disruption-budget = 1\nmonitoring = {}\nroute = { gateway = \"g\" }\n";
    let all = objects(&format!("{budget}{WIDE}"));
    let places: Vec<Vec<String>> = all
        .iter()
        .map(|object| {
            let mut places = Vec::new();
            pointers(object, "", &mut places);
            places
        })
        .collect();

    // A place of each object in each turn, because a check of all of them takes milliseconds. Each
    // object begins at another place, so that not all lose their kinds in the same turn.
    for turn in 0..places.iter().map(Vec::len).max().unwrap_or_default() {
        let mut changed = all.clone();
        for (index, (object, places)) in changed.iter_mut().zip(&places).enumerate() {
            let place = (turn + 7 * index) % places.len();
            *object.pointer_mut(&places[place]).expect("a place") =
                hostile[(turn + index) % hostile.len()].clone();
        }
        let _ = findings(changed);
    }

    let mut many = objects(&format!("{budget}{MP}"));
    let set = object(&mut many, "LeaderWorkerSet", "chat-decode");
    set["spec"]["replicas"] = json!(u64::MAX);
    set["spec"]["leaderWorkerTemplate"]["size"] = json!(u64::MAX);
    let container = engine(set, LEADER);
    flag(container, "--port=4294967295");
    container["readinessProbe"]["httpGet"]["port"] = json!(4_294_967_295u32);
    let budget = &mut object(&mut many, "PodDisruptionBudget", "chat-decode")["spec"];
    *budget = json!({"minAvailable": 1, "selector": budget["selector"]});
    let _ = findings(many);
}

/// Rules ignore unknown values.
#[test]
fn flags_in_a_file_are_not_known() {
    let mut all = objects(MP);
    for pod in [LEADER, WORKER] {
        let container = engine(object(&mut all, "LeaderWorkerSet", "chat-decode"), pod);
        container["command"] = json!(["vllm", "serve"]);
        container["args"] = json!(["--config=/etc/vllm.yaml"]);
    }
    let found = findings(all);
    assert!(!found.has_errors(), "{}", human::render(&found, false));
}

/// Budgets and autoscalers of other applications are not about models.
#[test]
fn budgets_of_others_are_left_alone() {
    let mut all = objects(SINGLE);
    let mut budget = object(&mut all, "PodDisruptionBudget", "chat-decode").clone();
    budget["metadata"]["name"] = json!("database");
    budget["spec"] = json!({"maxUnavailable": 0, "selector": {"matchLabels": {"app": "database"}}});
    all.push(budget);
    let found = findings(all);
    assert!(found.is_empty(), "{}", human::render(&found, false));
}

/// A prefix of one's own is taken off on the way, in a rule of its own.
#[test]
fn prefixes_are_taken_off() {
    let mut all =
        objects("route = { gateway = \"g\", paths = [\"/v1\", \"/team/chat\", \"/chat\"] }\n");
    let rules = object(&mut all, "HTTPRoute", "chat")["spec"]["rules"].clone();
    let seen: Vec<(Json, Json)> = rules
        .as_array()
        .expect("rules")
        .iter()
        .map(|rule| {
            let paths = rule["matches"].as_array().expect("matches").iter();
            let paths = paths.map(|path| path["path"]["value"].clone()).collect();
            (paths, rule["filters"][0]["urlRewrite"]["path"].clone())
        })
        .collect();
    let off = json!({"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"});
    assert_eq!(
        seen,
        [
            (json!(["/v1"]), Json::Null),
            (json!(["/team/chat"]), off.clone()),
            (json!(["/chat"]), off),
        ]
    );
}

/// Gateways in another namespace are let in without saying so twice.
#[test]
fn policies_let_the_routes_gateway_in() {
    let table =
        "route = { gateway = \"g\", gateway-namespace = \"gateways\" }\nnetwork-policy = {}\n";
    let mut all = objects(table);
    for name in ["chat", "chat-epp"] {
        let policy = object(&mut all, "NetworkPolicy", name).to_string();
        assert!(policy.contains("{\"kubernetes.io/metadata.name\":\"gateways\"}"), "{policy}");
    }
}

/// Models of one name in two namespaces are scaled apart.
#[test]
fn scaling_counts_the_namespace_only() {
    let table = "autoscaling = { kind = \"keda\", max = 2, prometheus = \"http://p\" }\n";
    let mut all = objects(table);
    let query = &object(&mut all, "ScaledObject", "chat-decode")["spec"]["triggers"][0]["metadata"]
        ["query"];
    assert_eq!(
        query,
        "sum(vllm:num_requests_waiting{namespace=\"models\",model_name=\"example/model\"})"
    );
}

/// Kinds with a template in the usual place, and pods, are looked at like Deployments.
#[test]
fn other_kinds_with_templates_are_looked_at() {
    let container = json!({"name": "vllm", "image": IMAGE, "command": ["vllm", "serve"], "args": ["a/b", "-tp", "8"], "resources": {"limits": {"nvidia.com/gpu": 4}}});
    let spec = json!({"containers": [container]});
    for (kind, spec) in [("Pod", spec.clone()), ("Rollout", json!({"template": {"spec": spec}}))] {
        let found = findings(vec![
            json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}),
        ]);
        assert!(found.iter().any(|d| d.code == Code::ServingDevices), "{kind}");
    }
}

/// Pickers that are not known by name are no mistake.
#[test]
fn pickers_of_others_are_left_alone() {
    let mut all = objects(SINGLE);
    all.retain(|object| object["kind"] != "PodDisruptionBudget");
    let picker = object(&mut all, "Deployment", "chat-epp");
    let container = engine(picker, POD);
    container["image"] = json!(IMAGE.replace("vllm-openai", "own-picker"));
    container["args"] = json!(["--poolName=chat"]);
    let found = findings(all);
    assert!(!found.has_errors(), "{}", human::render(&found, false));
}

/// Short names of flags are the long ones, and Ray's ranks are where Ray puts them.
#[test]
fn short_flags_and_other_backends() {
    let mut all = objects(HYBRID);
    let container = engine(object(&mut all, "LeaderWorkerSet", "chat-decode"), WORKER);
    let script = container["command"][2].as_str().expect("a script").to_owned();
    let script = script.replace("--data-parallel-address=", "-dpa ");
    container["command"][2] = json!(script.replace("--data-parallel-start-rank=", "-dpr "));
    let found = findings(all);
    assert!(found.is_empty(), "{}", human::render(&found, false));
    let mut all = objects(SINGLE);
    let container = engine(object(&mut all, "Deployment", "chat-decode"), POD);
    flag(container, "--tensor-parallel-size=1");
    flag(container, "--prefill-context-parallel-size=2");
    let found = findings(all);
    assert!(found.is_empty(), "{}", human::render(&found, false));
}

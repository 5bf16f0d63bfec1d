//! Our router objects against those that the upstream router chart renders for the same choice,
//! field by field. What differs is listed here, with the reason; nothing else may.

use crate::support::rendered::documents;
use crate::support::shared;
use bundle2chart::config::Config;
use bundle2chart::diag::{Diagnostics, SourceText, human};
use bundle2chart::ir::Release;
use bundle2chart::serving;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Objects of the upstream chart, and the table that asks us for the same.
const CASES: &[(&str, &str)] = &[
    ("basic", ""),
    ("ha", "epp = { replicas = 3 }\n"),
    ("httproute", "route = { gateway = \"inference-gateway\" }\n"),
    ("istio", "route = { gateway = \"inference-gateway\", provider = \"istio\" }\n"),
    ("prometheus", "monitoring = {}\n"),
    ("objectives", "objectives = { premium = 100 }\n"),
    ("multiport", "topology = \"lws-dp-external\"\ndp = 2\n"),
];

/// A difference that is meant.
struct Meant {
    /// Kinds that have it; all when it is empty.
    kind: &'static str,
    /// Start of the path.
    path: &'static str,
    why: &'static str,
}

#[rustfmt::skip]
const MEANT: &[Meant] = &[
    Meant { kind: "", path: ".metadata.labels", why: "the upstream chart labels some of its objects, with its own source version 0.0.0; ours all have the picker's version, and what they are part of" },
    Meant { kind: "DestinationRule", path: ".metadata.namespace", why: "upstream leaves it to Helm; `helm template | kubectl apply` would put it elsewhere" },
    Meant { kind: "RoleBinding", path: ".subjects[0].namespace", why: "a subject without a namespace is refused by the API server" },
    Meant { kind: "ConfigMap", path: ".data.payload-agnostic.yaml", why: "a preset that nothing reads" },
    Meant { kind: "ConfigMap", path: ".data.default-plugins.yaml.plugins[3].parameters.insecureSkipVerify", why: "means nothing over http, and upstream writes true whatever is asked for" },
    Meant { kind: "Deployment", path: ".spec.template.spec.containers[0].imagePullPolicy", why: "Always asks the registry on every start; images belong pinned by digest" },
    Meant { kind: "Deployment", path: ".spec.template.spec.containers[0].args", why: "`--grpc-port`, without which upstream's `extProcPort` makes a dead picker, and `--enable-pprof=false`" },
    Meant { kind: "Deployment", path: ".spec.template.spec.containers[0].securityContext", why: "upstream has none" },
    Meant { kind: "Deployment", path: ".spec.template.spec.enableServiceLinks", why: "no Service of the namespace sets variables of the picker" },
    Meant { kind: "Deployment", path: ".spec.template.metadata.labels", why: "network policies tell the pods of a model by what they are part of" },
    Meant { kind: "Secret", path: ".metadata.name", why: "upstream's fixed name collides with that of a second release in the namespace" },
    Meant { kind: "ServiceMonitor", path: ".spec.endpoints[0].authorization.credentials.name", why: "the name of that Secret" },
    Meant { kind: "ServiceMonitor", path: ".spec.jobLabel", why: "names a label of the Service; upstream gives the name of the job, and no label is called so" },
    Meant { kind: "ServiceMonitor", path: ".spec.selector.matchLabels.app.kubernetes.io/version", why: "an upgrade would lose the Service for a moment; the name is enough" },
];

/// Kinds that only we make for a case: upstream leaves the model server to people.
const OURS: &[(&str, &str)] = &[("istio", "HTTPRoute"), ("prometheus", "PodMonitor")];

fn ours(table: &str) -> Vec<Json> {
    let text = format!(
        "[[serving]]\nname = \"qwen3-8b\"\nmodel = \"hf://Qwen/Qwen3-8B\"\n\
         engine = {{ image = \"vllm/vllm-openai:v0.33.0\" }}\n{table}"
    );
    let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text });
    let mut found = Diagnostics::new();
    let config = Config::parse(&source, Path::new("."), &mut found);
    let config = config.unwrap_or_else(|| panic!("{}", human::render(&found, false)));
    let unit = serving::compile(&config.servings[0], &mut Diagnostics::new()).expect("a unit");
    let values = unit.default_values();
    let release = Release { namespace: "models", values: &values };
    unit.objects.iter().filter_map(|object| release.object(object)).collect()
}

/// Files of a ConfigMap that are YAML count as what they say.
fn read_data(object: &mut Json) {
    let Some(data) = object.get_mut("data").and_then(Json::as_object_mut) else { return };
    for (_, text) in data {
        let nothing = Json::Null;
        let release = Release { namespace: "", values: &nothing };
        let parsed = bundle2chart::yaml::parse(text.as_str().expect("a text")).expect("YAML");
        *text = release.value(parsed.first().expect("a document"));
    }
}

fn differences(one: &Json, other: &Json, path: &str, found: &mut Vec<(String, Json, Json)>) {
    match (one, other) {
        (Json::Object(a), Json::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let path = format!("{path}.{key}");
                let of =
                    |map: &serde_json::Map<String, Json>| map.get(key).cloned().unwrap_or_default();
                differences(&of(a), &of(b), &path, found);
            }
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differences(a, b, &format!("{path}[{index}]"), found);
            }
        }
        _ if one == other => {}
        _ => found.push((path.to_owned(), one.clone(), other.clone())),
    }
}

/// Flags in an order of their own, without those that only we have.
fn flags(object: &Json) -> BTreeSet<String> {
    let args = object.pointer("/spec/template/spec/containers/0/args");
    let mut flags = BTreeSet::new();
    let mut last = String::new();
    for arg in args.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str) {
        if arg.starts_with("--") {
            flags.extend(Some(std::mem::replace(&mut last, arg.to_owned())));
        } else {
            last = format!("{last}={arg}");
        }
    }
    flags.insert(last);
    for ours in ["--grpc-port=9002", "--enable-pprof=false", ""] {
        flags.remove(ours);
    }
    flags
}

#[test]
fn object_for_object() {
    let Some(folder) = shared::shared("serving/expected") else { return };
    let mut used: BTreeSet<usize> = BTreeSet::new();
    for (case, table) in CASES {
        let text = std::fs::read_to_string(folder.join(format!("{case}.yaml"))).expect("a case");
        let key = |object: &Json| {
            let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
            let kind = text(&object["kind"]);
            // The one object whose name differs.
            let name =
                if kind == "Secret" { String::new() } else { text(&object["metadata"]["name"]) };
            (kind, name)
        };
        let mut found: BTreeMap<_, _> =
            ours(table).into_iter().map(|object| (key(&object), object)).collect();
        for mut theirs in documents(&text) {
            let mut own = found
                .remove(&key(&theirs))
                .unwrap_or_else(|| panic!("{case}: we have no {:?}", key(&theirs)));
            assert_eq!(flags(&theirs), flags(&own), "{case}");
            read_data(&mut theirs);
            read_data(&mut own);
            let mut list = Vec::new();
            differences(&theirs, &own, "", &mut list);
            let kind = theirs["kind"].as_str().expect("a kind").to_owned();
            for (path, theirs, own) in list {
                let meant = MEANT.iter().position(|meant| {
                    (meant.kind.is_empty() || meant.kind == kind) && path.starts_with(meant.path)
                });
                match meant {
                    Some(index) => used.insert(index),
                    None => panic!("{case}: {kind}{path}: upstream {theirs}, ours {own}"),
                };
            }
        }
        for ((kind, name), object) in found {
            let engine =
                object["metadata"]["labels"]["app.kubernetes.io/component"] == json!("engine");
            let account = kind == "ServiceAccount" && name == "qwen3-8b";
            let meant = OURS.contains(&(*case, kind.as_str()));
            assert!(engine || account || meant, "{case}: upstream has no {kind}/{name}");
        }
    }
    for (index, meant) in MEANT.iter().enumerate() {
        assert!(used.contains(&index), "{} {} does not differ", meant.kind, meant.path);
        assert!(!meant.why.is_empty());
    }
}

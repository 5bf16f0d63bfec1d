//! Samples on either side of each condition of a rule: a defect with its message, and sound neighbours.

use super::defects::{all_found, list};
use super::pods::{DIGEST, object, workload};
use super::{compile, config};
use crate::diag::{Diagnostic, Diagnostics, Severity, human};
use crate::view::config_map;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// A change of the container of a workload and of the whole workload, and other objects: fields in YAML. `-` leaves
/// the workload out. The last text is a part of the message that must be found: none if nothing but notes may be
/// found, and `!TEXT` if no message may have it.
type Row = (&'static str, &'static str, &'static str, &'static [&'static str], &'static str);

/// Returns a value of YAML, with digests in images.
fn yaml(text: &str) -> Json {
    config_map::parse(&text.replace("DIGEST", DIGEST)).unwrap_or_else(|why| panic!("{text}: {why}"))
}

/// Returns an object of `VERSION KIND NAME FIELDS`, or the Deployment of a picker of `picker IMAGE ARGUMENTS`.
fn object_of(text: &str) -> Json {
    let [version, kind, rest] = text.splitn(3, ' ').collect::<Vec<_>>()[..] else {
        panic!("{text}")
    };
    if version == "picker" {
        let container = json!({"name": "epp", "image": yaml(kind), "args": yaml(rest)});
        let labels = json!({"app": "epp"});
        let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
        let spec = json!({"selector": {"matchLabels": labels}, "template": template});
        return object("apps/v1", "Deployment", "epp", &json!({"spec": spec}));
    }
    let (name, fields) = rest.split_once(' ').expect("fields");
    object(version, kind, name, &yaml(fields))
}

/// Returns the findings of each row as text, after checking that they are those that it names.
fn checked(rows: &[Row]) -> String {
    let (mut wrong, mut shown) = (String::new(), String::new());
    for (about, container, whole, others, says) in rows {
        let map = |text: &str| yaml(&format!("{{{text}}}"));
        let own = (*whole != "-").then(|| workload(&map(container), &map(whole)));
        let all = own.into_iter().chain(others.iter().map(|text| object_of(text)));
        let text = all.map(|object| object.to_string()).collect::<Vec<_>>().join("\n---\n");
        let found = all_found(about, &text);
        let says_it = |text: &str| found.iter().any(|one: &Diagnostic| one.message.contains(text));
        let is_right = match says.strip_prefix('!') {
            Some(text) => !says_it(text),
            None if says.is_empty() => found.iter().all(|one| one.severity == Severity::Note),
            None => says_it(says),
        };
        if !is_right {
            wrong.push_str(&format!("{about}: {says}\n{}\n", human::render(&found, false)));
        }
        shown.push_str(&shown_as(about, &found));
    }
    assert!(wrong.is_empty(), "{wrong}");
    shown
}

fn shown_as(about: &str, found: &Diagnostics) -> String {
    let mut listing = BTreeSet::new();
    list(found, &mut listing);
    format!("# {about}\n{}", Vec::from_iter(listing).concat())
}

const POOL: &str = "inference.networking.k8s.io/v1 InferencePool chat {spec: {selector: {matchLabels: {app: chat}}, targetPorts: [{number: 8000}], endpointPickerRef: {name: epp, port: {number: 9002}}}}";
const SERVICE: &str = "v1 Service epp {spec: {selector: {app: epp}, ports: [{port: 9002}]}}";
const PICKER: &str = "picker ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@DIGEST [--pool-name=chat, --pool-namespace=models]";
const UNSCALED: &str = "spec: {replicas: null}";
const ROLLOUT: &str = "apiVersion: argoproj.io/v1alpha1, kind: Rollout";

/// An InferenceModelRewrite to a model.
macro_rules! rewrite {
    ($target:literal) => {
        concat!("llm-d.ai/v1alpha2 InferenceModelRewrite old {spec: {poolRef: {name: chat}, rules: [{matches: [{model: {type: Exact, value: old}}], targets: [", $target, "]}]}}")
    };
}

/// The command of vLLM with more arguments.
macro_rules! vllm {
    ($more:literal) => {
        concat!("command: [vllm, serve, example/chat-8B", $more, "]")
    };
}

/// The container of SGLang with more arguments.
macro_rules! sglang {
    ($more:literal) => {
        concat!("image: lmsysorg/sglang:v0.5.13@DIGEST, command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --port=8000, --model-path=example/chat-8B", $more, "]")
    };
}

/// A runtime that KServe selects for the format vLLM, with the arguments of its container.
macro_rules! runtime {
    ($name:literal, $args:literal) => {
        concat!("serving.kserve.io/v1alpha1 ServingRuntime ", $name, " {spec: {supportedModelFormats: [{name: vLLM, autoSelect: true}], containers: [{name: kserve-container, image: 'vllm/vllm-openai:v0.33.0@DIGEST', command: [python, -m, vllm.entrypoints.openai.api_server], args: [", $args, "], resources: {limits: {nvidia.com/gpu: 1}}}]}}")
    };
}

#[rustfmt::skip]
const ADAPTERS: &[Row] = &[
    ("a target that is not served", "", "", &[POOL, rewrite!("{modelRewrite: new}")], "pods of InferencePool/chat do not serve"),
    ("adapters of plugins", "env: [{name: VLLM_PLUGINS, value: own}]", "", &[POOL, rewrite!("{modelRewrite: new}")], ""),
    ("adapters of a resolver", "env: [{name: VLLM_LORA_RESOLVER_CACHE_DIR, value: /adapters}]", "", &[POOL, rewrite!("{modelRewrite: new}")], "!rewrites to"),
    ("adapters of requests", concat!(vllm!(", --enable-lora"), ", env: [{name: VLLM_ALLOW_RUNTIME_LORA_UPDATING, value: 'True'}]"), "", &[POOL, rewrite!("{modelRewrite: new}")], ""),
    ("another server", "image: kserve/huggingfaceserver:v0.15.0-gpu@DIGEST, command: [python3, -m, huggingfaceserver, --model_id=example/chat-8B, --http_port=8000]", "", &[POOL, rewrite!("{modelRewrite: new}")], "!rewrites to"),
    ("no model", "command: [vllm, serve, --max-model-len=4096]", "", &[POOL, rewrite!("{modelRewrite: new}")], "!rewrites to"),
    ("a name that another tool fills in", vllm!(", '--served-model-name=${NAME}'"), "", &[POOL, rewrite!("{modelRewrite: new}")], "!rewrites to"),
    ("a target without a model", "", "", &[POOL, rewrite!("{weight: 1}")], "!rewrites to"),
    ("an adapter without a path", vllm!(", --enable-lora, --lora-modules, legal"), "", &[], "`legal` of `--lora-modules` has no path"),
    ("an adapter of a variable", "command: [sh, -c, 'exec vllm serve example/chat-8B --enable-lora --lora-modules $MODULES'], env: [{name: MODULES, valueFrom: {configMapKeyRef: {name: adapters, key: all}}}]", "", &[], "!has no path"),
    ("a syncer", vllm!(", --enable-lora"), "spec: {template: {spec: {initContainers: [{name: syncer, image: example.com/lora-syncer:1@DIGEST, restartPolicy: Always}]}}}", &[], "the sidecar cannot load adapters"),
    ("a syncer, and loading is off", concat!(vllm!(", --enable-lora"), ", env: [{name: VLLM_ALLOW_RUNTIME_LORA_UPDATING, value: '0'}]"), "spec: {template: {spec: {initContainers: [{name: syncer, image: example.com/lora-syncer:1@DIGEST, restartPolicy: Always}]}}}", &[], "the sidecar cannot load adapters"),
    ("a syncer, and loading is on", concat!(vllm!(", --enable-lora"), ", env: [{name: VLLM_ALLOW_RUNTIME_LORA_UPDATING, value: 'True'}]"), "spec: {template: {spec: {initContainers: [{name: syncer, image: example.com/lora-syncer:1@DIGEST, restartPolicy: Always}]}}}", &[], ""),
    ("a syncer of SGLang", sglang!(", --enable-lora"), "spec: {template: {spec: {initContainers: [{name: syncer, image: example.com/lora-syncer:1@DIGEST, restartPolicy: Always}]}}}", &[], "!sidecar"),
    ("another sidecar", vllm!(", --enable-lora"), "spec: {template: {spec: {initContainers: [{name: proxy, image: example.com/proxy:1@DIGEST, restartPolicy: Always}]}}}", &[], ""),
];

/// The variable of a container with an address.
macro_rules! url {
    ($value:literal) => {
        concat!("env: [{name: CACHE_URL, value: '", $value, "'}]")
    };
}

const CACHE: &str = "v1 Service cache {spec: {selector: {app: cache}, ports: [{name: http, port: 65432}, {name: grpc, port: 65433}]}}";
const CLOSED: &str = "is Service/cache, whose ports are 65432, 65433";
const ON_HOST: &str = "spec: {template: {spec: {hostNetwork: true}}}";

#[rustfmt::skip]
const ADDRESSES: &[Row] = &[
    ("a word after a URL", url!("http://cache:80 or a@b.c:99"), "", &[CACHE], CLOSED),
    ("a plain address", url!("--to=cache.models:80"), "", &[CACHE], CLOSED),
    ("a name without a dot", url!("--to=cache:80"), "", &[CACHE], "!whose ports"),
    ("a user", url!("root@cache.models:80"), "", &[CACHE], "!whose ports"),
    ("an image", url!("cache.models:80/proxy"), "", &[CACHE], "!whose ports"),
    ("no proxy", "env: [{name: no_proxy, value: 'cache.models:80'}]", "", &[CACHE], "!whose ports"),
    ("a pod", url!("http://chat-0.other:8000"), "kind: StatefulSet, spec: {serviceName: chat, podManagementPolicy: Parallel}", &[], "`chat-0.other` has no address: StatefulSet/chat has `serviceName: chat`"),
    ("no number of a pod", url!("http://chat-x.other:8000"), "kind: StatefulSet, spec: {serviceName: chat, podManagementPolicy: Parallel}", &[], "!has no address"),
    ("a Service with the name of a pod", url!("http://chat-0.other:8000"), "kind: StatefulSet, spec: {serviceName: chat, podManagementPolicy: Parallel}", &["v1 Service chat-0 {metadata: {namespace: other}, spec: {selector: {app: x}, ports: [{port: 8000}]}}"], "!has no address"),
    ("pods of a Deployment", url!("http://chat-0.other:8000"), "", &[], "!has no address"),
    ("an external Service", url!("http://cache:80"), "", &["v1 Service cache {spec: {type: ExternalName, externalName: a.example.com, ports: [{port: 65432}]}}"], "!whose ports"),
    ("no ports", url!("http://cache:80"), "", &["v1 Service cache {spec: {selector: {app: cache}, ports: []}}"], "!whose ports"),
    ("ports that another tool fills in", url!("http://cache:80"), "", &["v1 Service cache {spec: {selector: {app: cache}, ports: [{port: '${PORT}'}]}}"], "!whose ports"),
    ("an alias", url!("http://cache:80"), "spec: {template: {spec: {hostAliases: [{ip: 10.0.0.1, hostnames: [cache]}]}}}", &[CACHE], ""),
    ("another alias", url!("http://cache:80"), "spec: {template: {spec: {hostAliases: [{ip: 10.0.0.1, hostnames: [other]}]}}}", &[CACHE], CLOSED),
    ("the own name of a pod", "", "-", &["v1 Pod cache {spec: {containers: [{name: web, image: example.com/web:1@DIGEST, env: [{name: URL, value: 'http://cache:80'}]}]}}", CACHE], "!whose ports"),
    ("the name of another pod", "", "-", &["v1 Pod web {spec: {containers: [{name: web, image: example.com/web:1@DIGEST, env: [{name: URL, value: 'http://cache:80'}]}]}}", CACHE], CLOSED),
    ("the own name of a Deployment", url!("http://chat:80"), "", &["v1 Service chat {spec: {selector: {app: chat}, ports: [{port: 8000}]}}"], "is Service/chat, whose ports are 8000"),
    ("a name in the network of the node", url!("http://cache.models.svc:65432"), ON_HOST, &[CACHE], "in the network of its node, the pod does not resolve `cache.models.svc`"),
    ("name servers", url!("http://cache.models.svc:65432"), "spec: {template: {spec: {hostNetwork: true, dnsConfig: {nameservers: [10.0.0.10]}}}}", &[CACHE], "!does not resolve"),
    ("a leader in the network of the node", "", "-", &["leaderworkerset.x-k8s.io/v1 LeaderWorkerSet chat {spec: {leaderWorkerTemplate: {size: 2, workerTemplate: {spec: {hostNetwork: true, containers: [{name: vllm, image: vllm/vllm-openai:v0.33.0@DIGEST, command: [sh, -c, 'vllm serve example/chat-8B --nnodes 2 --node-rank $LWS_WORKER_INDEX --master-addr $LWS_LEADER_ADDRESS'], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}}"], "does not resolve `$LWS_LEADER_ADDRESS`"),
    ("a group of one", "", "-", &["leaderworkerset.x-k8s.io/v1 LeaderWorkerSet chat {spec: {leaderWorkerTemplate: {size: 1, workerTemplate: {spec: {hostNetwork: true, containers: [{name: vllm, image: vllm/vllm-openai:v0.33.0@DIGEST, command: [sh, -c, 'vllm serve example/chat-8B --master-addr $LWS_LEADER_ADDRESS'], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}}"], "!does not resolve"),
    ("a group without its leader", "", "-", &["leaderworkerset.x-k8s.io/v1 LeaderWorkerSet chat {spec: {leaderWorkerTemplate: {size: 2, workerTemplate: {spec: {hostNetwork: true, containers: [{name: vllm, image: vllm/vllm-openai:v0.33.0@DIGEST, command: [vllm, serve, example/chat-8B], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}}"], "!does not resolve"),
    ("a variable above another", "env: [{name: A, value: '$(B)'}, {name: B, value: b}]", "", &[], "`A` uses `$(B)`, which is defined after it"),
    ("a variable that is nowhere", "env: [{name: A, value: '$(B)'}, {name: C, value: c}]", "", &[], "!defined after"),
    ("a variable above and below", "env: [{name: B, value: b}, {name: A, value: '$(B)'}, {name: B, value: c}]", "", &[], "!defined after"),
    ("a variable of a Secret", "env: [{name: A, value: '$(B)'}, {name: B, value: b}], envFrom: [{secretRef: {name: key}}]", "", &["v1 Secret key {stringData: {B: b}}"], "!defined after"),
];

/// The CRD of pools with the release of its project.
macro_rules! crd {
    ($version:literal) => {
        concat!("apiextensions.k8s.io/v1 CustomResourceDefinition inferencepools.inference.networking.k8s.io {metadata: {namespace: null, annotations: {inference.networking.k8s.io/bundle-version: ", $version, "}}}")
    };
}

const MODEL: &str = "inference.networking.x-k8s.io/v1alpha2 InferenceModel chat {spec: {modelName: chat, criticality: Critical, poolRef: {name: chat}}}";

/// A picker with a plugin and its parameters, and more of the configuration.
macro_rules! configured {
    ($image:literal, $flags:literal, $plugin:literal, $more:literal) => {
        concat!("picker ", $image, "@DIGEST [--pool-name=chat, ", $flags, "'--config-text={apiVersion: inference.networking.x-k8s.io/v1alpha1, kind: EndpointPickerConfig, plugins: [", $plugin, ", {type: max-score-picker}], schedulingProfiles: [{name: default, plugins: [{pluginRef: max-score-picker}]}]", $more, "}']")
    };
}

/// The command of an image with more in its tag and an argument that no release has.
macro_rules! platform {
    ($tag:literal) => {
        concat!("image: vllm/vllm-openai:v0.33.0", $tag, "@DIGEST, ", vllm!(", --zzqx=1"))
    };
}

#[rustfmt::skip]
const BY_RELEASE: &[Row] = &[
    ("a kind without its CRD", "", "-", &[MODEL], "!InferenceModel`"),
    ("a kind of the release", "", "-", &[crd!("v0.5.1"), MODEL], "!InferenceModel`"),
    ("a kind of an older release", "", "-", &[crd!("v1.0.0"), MODEL], "InferenceModel`"),
    ("a kind of an older release than one to come", "", "-", &[crd!("v99.0.0"), MODEL], "InferenceModel`"),
    ("an experimental plugin", "", "", &[configured!("ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0", "", "{type: topology-affinity-scorer}", "")], "is experimental"),
    ("an experimental plugin that is allowed", "", "", &[configured!("ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0", "--allow-experimental-plugins, ", "{type: topology-affinity-scorer}", "")], "!is experimental"),
    ("a parameter of upstream's image", "", "", &[configured!("ghcr.io/llm-d/llm-d-router-endpoint-picker:main", "", "{type: random-picker, parameters: {maxNumOfEndpoint: 1}}", "")], "parameter `maxNumOfEndpoint`"),
    ("a parameter of another image", "", "", &[configured!("example.com/epp:main", "", "{type: random-picker, parameters: {maxNumOfEndpoint: 1}}", "")], "!maxNumOfEndpoint"),
    ("a key of another image", "", "", &[configured!("example.com/epp:main", "", "{type: random-picker, parameters: {maxNumOfEndpoint: 1}}", ", plugin: {}")], "`plugin`"),
    ("a parameter of a copy with its release", "", "", &[configured!("example.com/epp:picker-llm-d-0.10.0", "", "{type: random-picker, parameters: {maxNumOfEndpoint: 1}}", "")], "parameter `maxNumOfEndpoint`"),
    ("a flag of no picker", "", "", &["picker example.com/epp:main@DIGEST [--pool-name=chat, --zzqx=1]"], "--zzqx"),
    ("a flag of some releases", "", "", &["picker example.com/epp:main@DIGEST [--pool-name=chat, --drain-timeout=5s]"], ""),
    ("a flag of a scheduler", "", "", &["picker example.com/own-scheduler:main@DIGEST [--pool-name=chat, --zzqx=1]"], "--zzqx"),
    ("a flag of another program", "", "", &["picker example.com/own:main@DIGEST [--pool-name=chat, --zzqx=1]"], "!--zzqx"),
    ("a picker of no release", "", "", &["picker ghcr.io/llm-d/llm-d-router-endpoint-picker:main@DIGEST [--pool-name=chat]"], "names no release of"),
    ("an engine of no release", "image: 'vllm/vllm-openai:main@DIGEST'", "", &[], "names no release of"),
    ("a release that another tool fills in", "image: 'vllm/vllm-openai:${TAG}'", "", &[], "!names no release of"),
    ("several servers in one container", "command: [sh, -c, 'vllm serve example/a-8B --port 8000 & vllm serve example/b-8B --port 8001'], env: [{name: VLLM_LOGGING_LEVL, value: DEBUG}]", "", &[], "!VLLM_LOGGING_LEVL"),
    ("a variable", "env: [{name: VLLM_LOGGING_LEVL, value: DEBUG}]", "", &[], "VLLM_LOGGING_LEVL"),
    ("flags of vLLM-Omni", concat!("image: vllm-omni, ", vllm!(", --zzqx=1")), "", &[], "!--zzqx"),
    ("flags of vLLM-Omni by a switch", vllm!(", --omni, --zzqx=1"), "", &[], "!--zzqx"),
    ("a parser", vllm!(", --enable-auto-tool-choice, --tool-call-parser=own"), "", &[], "`own`"),
    ("a parser of a plugin", concat!(vllm!(", --enable-auto-tool-choice, --tool-call-parser=own"), ", env: [{name: VLLM_PLUGINS, value: own}]"), "", &[], ""),
    ("a flag of no release", platform!(""), "", &[], "--zzqx"),
    ("a flag on TPUs", platform!("-tpu"), "", &[], "--zzqx"),
    ("a flag on Ascend", platform!("-ascend"), "", &[], "--zzqx"),
    ("a flag on Gaudi", platform!("-gaudi"), "", &[], "--zzqx"),
    ("a flag on HPUs", platform!("-hpu"), "", &[], "--zzqx"),
    ("a flag on Neuron", platform!("-neuron"), "", &[], "--zzqx"),
    ("a typing error on Neuron", concat!("image: vllm/vllm-openai:v0.33.0-neuron@DIGEST, ", vllm!(", --max-modle-len=4096")), "", &[], "--max-modle-len"),
    ("a relation", vllm!(", --enable-auto-tool-choice"), "", &[], "requires `--tool-call-parser`"),
    ("a relation with gRPC", vllm!(", --grpc, --enable-auto-tool-choice"), "", &[], "!requires"),
];

/// A picker with plugins, and more of its configuration.
macro_rules! plugins {
    ($plugins:literal, $more:literal) => {
        concat!("picker ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@DIGEST [--pool-name=chat, '--config-text={apiVersion: llm-d.ai/v1alpha1, kind: EndpointPickerConfig, plugins: [", $plugins, ", {type: max-score-picker}], schedulingProfiles: [{name: decode, plugins: [{pluginRef: max-score-picker}]}]", $more, "}']")
    };
}

#[rustfmt::skip]
const CONFIGS: &[Row] = &[
    ("a decider", "", "", &[plugins!("{type: disagg-profile-handler, parameters: {deciders: {prefill: own}}}, {type: always-disagg-pd-decider, name: own}", "")], "!does not use decider"),
    ("a scorer as a decider", "", "", &[plugins!("{type: disagg-profile-handler, parameters: {deciders: {prefill: own}}}, {type: queue-scorer, name: own}", "")], "references decider `own`, which is not a decider"),
    ("a custom decider", "", "", &[plugins!("{type: disagg-profile-handler, parameters: {deciders: {prefill: own}}}, {type: example.com/own, name: own}", "")], "!not a decider"),
    ("a decider without its profile", "", "", &[plugins!("{type: disagg-profile-handler, parameters: {deciders: {prefill: own}}}, {type: always-disagg-pd-decider, name: own}", "")], "there is no profile `prefill` for decider `own`"),
    ("a decider of another role", "", "", &[plugins!("{type: disagg-profile-handler, parameters: {deciders: {encode: own}}}, {type: always-disagg-pd-decider, name: own}", "")], "decider `own` of encode is one for prefill"),
    ("a decider of images that nothing uses", "", "", &[plugins!("{type: disagg-profile-handler}, {type: always-disagg-multimodal-decider}", "")], "does not use decider `always-disagg-multimodal-decider`"),
    ("an unused decider", "", "", &[plugins!("{type: disagg-profile-handler}, {type: always-disagg-pd-decider}", "")], "`disagg-profile-handler` does not use decider `always-disagg-pd-decider`"),
    ("a decider that another handler may use", "", "", &[plugins!("{type: single-profile-handler}, {type: always-disagg-pd-decider}", "")], "!does not use decider"),
    ("a policy by its type", "", "", &[plugins!("{type: queue-scorer}", ", flowControl: {saturationDetector: {pluginRef: utilization-detector}}")], "!does not exist"),
    ("a policy of no type", "", "", &[plugins!("{type: queue-scorer}", ", flowControl: {saturationDetector: {pluginRef: utilization-detectr}}")], "plugin `utilization-detectr` does not exist"),
];

/// The command of vLLM with a published model.
macro_rules! qwen {
    ($more:literal) => {
        concat!("command: [vllm, serve, Qwen/Qwen2.5-7B-Instruct", $more, "]")
    };
}

#[rustfmt::skip]
const CHECKPOINT: &[Row] = &[
    ("no model", "command: [vllm, serve, --max-model-len=4096]", "", &[], "no model is given"),
    ("a model that a controller adds", "command: [vllm, serve, --max-model-len=4096]", ROLLOUT, &[], "!no model"),
    ("no arguments", "command: [vllm, serve]", "", &[], "!no model"),
    ("a value that may be the model", "command: [vllm, serve, --max-model-len, '4096', example/chat-8B]", "", &[], "!no model"),
    ("a script", "command: [sh, -c, 'exec vllm serve --max-model-len=4096']", "", &[], "!no model"),
    ("a long text", qwen!(", --max-model-len=32769"), "", &[], "`--max-model-len` 32769 is more than the 32768 positions"),
    ("the longest text", qwen!(", --max-model-len=32768"), "", &[], ""),
    ("rope scaling", concat!(qwen!(", --max-model-len=32769, '--rope-scaling={}'"), ", image: vllm/vllm-openai:v0.10.0@DIGEST"), "", &[], "!positions"),
    ("another configuration", qwen!(", --max-model-len=32769, --hf-config-path=example/chat-8B"), "", &[], "!positions"),
    ("another revision", qwen!(", --max-model-len=32769, --revision=long"), "", &[], "!positions"),
    ("another format", qwen!(", --max-model-len=32769, --config-format=hf"), "", &[], "!positions"),
    ("a part of the configuration", qwen!(", --max-model-len=32769, --hf-overrides.rope_theta=1000000"), "", &[], "!positions"),
    ("long texts are allowed", concat!(qwen!(", --max-model-len=32769"), ", env: [{name: VLLM_ALLOW_LONG_MAX_MODEL_LEN, value: '1'}]"), "", &[], "!positions"),
    ("ranks that divide the heads", concat!(qwen!(", --tensor-parallel-size=7"), ", resources: {limits: {nvidia.com/gpu: 7}}"), "", &[], "!does not divide"),
    ("ranks that do not divide the heads", concat!(qwen!(", --tensor-parallel-size=8"), ", resources: {limits: {nvidia.com/gpu: 8}}"), "", &[], "`--tensor-parallel-size` 8 does not divide the 28 attention heads"),
];

/// A ScaledObject of the Deployment with more fields and a query.
macro_rules! keda {
    ($spec:literal, $query:literal) => {
        concat!(
            "keda.sh/v1alpha1 ScaledObject chat {spec: {scaleTargetRef: {name: chat}, ",
            $spec,
            " triggers: [{type: prometheus, metadata: {query: '",
            $query,
            "', threshold: '5', serverAddress: 'http://prometheus'}}]}}"
        )
    };
}

/// A HorizontalPodAutoscaler of the Deployment with more fields.
macro_rules! hpa {
    ($spec:literal) => {
        concat!("autoscaling/v2 HorizontalPodAutoscaler chat {spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}, maxReplicas: 4, ", $spec, "}}")
    };
}

/// A ConfigMap with rules of a Prometheus Adapter.
macro_rules! adapter {
    ($rules:literal) => {
        concat!("v1 ConfigMap adapter {data: {config.yaml: \"", $rules, "\"}}")
    };
}

#[rustfmt::skip]
const AUTOSCALERS: &[Row] = &[
    ("bounds of prefill", "", "-", &["serving.kserve.io/v1alpha2 LLMInferenceService chat {spec: {model: {uri: 'hf://example/chat-8B'}, prefill: {scaling: {minReplicas: 4, maxReplicas: 2}}}}"], "`minReplicas` 4 is above `maxReplicas` 2"),
    ("bounds of a transformer", "", "-", &["serving.kserve.io/v1beta1 InferenceService chat {spec: {predictor: {minReplicas: 1, maxReplicas: 0}, transformer: {minReplicas: 4, maxReplicas: 2}}}"], "`minReplicas` 4 is above `maxReplicas` 2"),
    ("bounds of an explainer", "", "-", &["serving.kserve.io/v1beta1 InferenceService chat {spec: {predictor: {minReplicas: 1, maxReplicas: 0}, explainer: {minReplicas: 4, maxReplicas: 2}}}"], "`minReplicas` 4 is above `maxReplicas` 2"),
    ("bounds of KEDA", "", UNSCALED, &[keda!("minReplicaCount: 2, maxReplicaCount: 1,", "up")], "`minReplicaCount` 2 is above `maxReplicaCount` 1"),
    ("equal bounds", "", UNSCALED, &[keda!("minReplicaCount: 2, maxReplicaCount: 2,", "up")], ""),
    ("idle without a minimum", "", UNSCALED, &[keda!("idleReplicaCount: 0,", "up")], "has 0 replicas when idle, not less than its minimum"),
    ("idle below the minimum", "", UNSCALED, &[keda!("idleReplicaCount: 0, minReplicaCount: 1,", "up")], ""),
    ("long periods", "", UNSCALED, &[hpa!("behavior: {scaleUp: {policies: [{type: Pods, value: 1, periodSeconds: 1801}]}, scaleDown: {stabilizationWindowSeconds: 3601}}")], "has stabilizationWindowSeconds 3601, not 0 to 3600"),
    ("the longest periods", "", UNSCALED, &[hpa!("behavior: {scaleUp: {policies: [{type: Pods, value: 1, periodSeconds: 1800}]}, scaleDown: {stabilizationWindowSeconds: 3600}}")], ""),
    ("long periods of KEDA", "", UNSCALED, &[keda!("advanced: {horizontalPodAutoscalerConfig: {behavior: {scaleUp: {policies: [{type: Pods, value: 1, periodSeconds: 1801}]}}}},", "up")], "has periodSeconds 1801, more than 1800"),
    // Metrics.
    ("a resource without a name", "", UNSCALED, &[hpa!("metrics: [{type: Resource, resource: {name: '', target: {type: Utilization, averageUtilization: 60}}}]")], "required field `.spec.metrics[0].resource.name`"),
    ("a resource with an open name", "", UNSCALED, &[hpa!("metrics: [{type: Resource, resource: {name: null, target: {type: Utilization, averageUtilization: 60}}}]")], "required field `.spec.metrics[0].resource.name`"),
    ("a resource without a value", "", UNSCALED, &[hpa!("metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization}}}]")], "has no `averageUtilization` or `averageValue`"),
    ("a resource with two values", "", UNSCALED, &[hpa!("metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60, averageValue: '1'}}}]")], "has both `averageUtilization` and `averageValue`"),
    ("a resource of a container without a name", "", UNSCALED, &[hpa!("metrics: [{type: ContainerResource, containerResource: {container: vllm, target: {type: Utilization, averageUtilization: 60}}}]")], "required field `.spec.metrics[0].containerResource.name`"),
    ("a resource of no container", "", UNSCALED, &[hpa!("metrics: [{type: ContainerResource, containerResource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]")], "required field `.spec.metrics[0].containerResource.container`"),
    ("a resource of a container with two values", "", UNSCALED, &[hpa!("metrics: [{type: ContainerResource, containerResource: {name: cpu, container: vllm, target: {type: Utilization, averageUtilization: 60, averageValue: '1'}}}]")], "has both"),
    ("pods without a metric", "", UNSCALED, &[hpa!("metrics: [{type: Pods, pods: {metric: {}, target: {type: AverageValue, averageValue: '1'}}}]")], "required field `.spec.metrics[0].pods.metric.name`"),
    ("no object", "", UNSCALED, &[hpa!("metrics: [{type: Object, object: {metric: {name: queue}, target: {type: Value, value: '1'}}}]")], "required field `.spec.metrics[0].object.describedObject`"),
    ("an object with two values", "", UNSCALED, &[hpa!("metrics: [{type: Object, object: {metric: {name: queue}, describedObject: {apiVersion: v1, kind: Service, name: chat}, target: {type: Value, value: '1', averageValue: '1'}}}]")], ""),
    ("an external metric without a type of target", "", UNSCALED, &[hpa!("metrics: [{type: External, external: {metric: {name: queue}, target: {value: '1'}}}]")], "required field `.spec.metrics[0].external.target.type`"),
    ("an external metric with two values", "", UNSCALED, &[hpa!("metrics: [{type: External, external: {metric: {name: queue}, target: {type: Value, value: '1', averageValue: '1'}}}]")], "has both `value` and `averageValue`"),
    ("metrics of an older version", "", UNSCALED, &["autoscaling/v2beta2 HorizontalPodAutoscaler chat {spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}, maxReplicas: 4, metrics: [{type: Pods, pods: {metric: {}}}]}}"], "!metric `pods`"),
    ("metrics without a target", "", UNSCALED, &["autoscaling/v2 HorizontalPodAutoscaler chat {spec: {maxReplicas: 4, metrics: [{type: Pods, pods: {metric: {}}}]}}"], "!metric `pods`"),
    // Adapters.
    ("a series of the adapter", "", UNSCALED, &[adapter!("rules: [{seriesQuery: 'up{pod!=x}'}]"), hpa!("metrics: [{type: Pods, pods: {metric: {name: up}, target: {type: AverageValue, averageValue: '1'}}}]")], ""),
    ("another series", "", UNSCALED, &[adapter!("rules: [{seriesQuery: 'up{pod!=x}'}]"), hpa!("metrics: [{type: Pods, pods: {metric: {name: waiting}, target: {type: AverageValue, averageValue: '1'}}}]")], "uses metric `waiting`, which the adapter does not serve"),
    ("no series", "", UNSCALED, &[adapter!("rules: [{seriesQuery: ''}]"), hpa!("metrics: [{type: Pods, pods: {metric: {name: waiting}, target: {type: AverageValue, averageValue: '1'}}}]")], "!adapter"),
    ("another object", "", UNSCALED, &[adapter!("rules: [{seriesQuery: up}]"), hpa!("metrics: [{type: Object, object: {metric: {name: waiting}, describedObject: {apiVersion: v1, kind: Service, name: chat}, target: {type: Value, value: '1'}}}]")], "which the adapter does not serve"),
    ("another external metric", "", UNSCALED, &[adapter!("externalRules: [{seriesQuery: up}]"), hpa!("metrics: [{type: External, external: {metric: {name: waiting}, target: {type: Value, value: '1'}}}]")], "which the adapter does not serve"),
    // From 0 pods.
    ("from 0 by metrics of the pods", "", UNSCALED, &[keda!("minReplicaCount: 0,", "sum(vllm:num_requests_waiting)")], "scales up from 0 by metrics that only running pods have"),
    ("from 0 by metrics of SGLang", sglang!(""), UNSCALED, &[keda!("minReplicaCount: 0,", "sum(sglang:num_queue_reqs)")], "scales up from 0"),
    ("from 0 with a constant", "", UNSCALED, &[keda!("minReplicaCount: 0,", "sum(vllm:num_requests_waiting) + vector(1)")], "!scales up from 0"),
    ("from 0 with another metric", "", UNSCALED, &[keda!("minReplicaCount: 0,", "vllm:num_requests_waiting or up")], "!scales up from 0"),
    ("from 0 by what is absent", "", UNSCALED, &[keda!("minReplicaCount: 0,", "absent(vllm:num_requests_waiting)")], "!scales up from 0"),
    ("from 0 by nothing", "", UNSCALED, &["keda.sh/v1alpha1 ScaledObject chat {spec: {scaleTargetRef: {name: chat}, minReplicaCount: 0, triggers: []}}"], "!scales up from 0"),
    ("from 0 of another program", "", "-", &["apps/v1 Deployment chat {spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: example.com/web:1@DIGEST}]}}}}", keda!("minReplicaCount: 0,", "sum(vllm:num_requests_waiting)")], "!scales up from 0"),
    ("from 0 next to another engine", "", UNSCALED, &["apps/v1 Deployment more {spec: {selector: {matchLabels: {app: more}}, template: {metadata: {labels: {app: more}}, spec: {containers: [{name: vllm, image: vllm/vllm-openai:v0.33.0@DIGEST, command: [vllm, serve, example/chat-8B], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}", keda!("minReplicaCount: 0,", "sum(vllm:num_requests_waiting)")], "!scales up from 0"),
    ("from 0 with a number without metrics", "", UNSCALED, &[keda!("minReplicaCount: 0, fallback: {failureThreshold: 3, replicas: 1},", "sum(vllm:num_requests_waiting)")], "!scales up from 0"),
    // Targets.
    ("a target of another version", "", UNSCALED, &["autoscaling/v2 HorizontalPodAutoscaler chat {spec: {scaleTargetRef: {apiVersion: extensions/v1beta1, kind: Deployment, name: chat}, maxReplicas: 4}}"], "scales Deployment/chat of `extensions/v1beta1`, which does not exist"),
    ("a target of a variant of another version", "", UNSCALED, &["llmd.ai/v1alpha1 VariantAutoscaling chat {spec: {scaleTargetRef: {apiVersion: extensions/v1beta1, kind: Deployment, name: chat}}}"], "!which does not exist"),
    ("no target of a variant", "", UNSCALED, &["llmd.ai/v1alpha1 VariantAutoscaling chat {spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: other}}}"], "VariantAutoscaling/chat scales Deployment/other, which does not exist"),
    ("a target that another tool fills in", "", UNSCALED, &["autoscaling/v2 HorizontalPodAutoscaler chat {spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: '${NAME}'}, maxReplicas: 4}}"], "!which does not exist"),
    ("a variant and its autoscaler", "", UNSCALED, &["llmd.ai/v1alpha1 VariantAutoscaling chat {spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}}}", hpa!("minReplicas: 1")], "!both scale"),
    ("two autoscalers", "", UNSCALED, &[hpa!("minReplicas: 1"), keda!("minReplicaCount: 1,", "up")], "both scale Deployment/chat"),
    ("replicas of a variant", "", "", &["llmd.ai/v1alpha1 VariantAutoscaling chat {spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}}}"], "!sets replicas"),
    ("replicas", "", "", &[hpa!("minReplicas: 1")], "Deployment/chat sets replicas, but is scaled by HorizontalPodAutoscaler/chat"),
    ("a share of no request", "resources: {limits: {cpu: null}}", UNSCALED, &[hpa!("metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]")], "uses a share of cpu, which Deployment/chat does not request"),
    ("a share of a request of the pod", "resources: {limits: {cpu: null}}", "spec: {replicas: null, template: {spec: {resources: {limits: {cpu: '8'}}}}}", &[hpa!("metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]")], "!a share of"),
    ("a share of a request that a controller may add", "resources: {limits: {cpu: null}}", "apiVersion: argoproj.io/v1alpha1, kind: Rollout, spec: {replicas: null}", &["autoscaling/v2 HorizontalPodAutoscaler chat {spec: {scaleTargetRef: {apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: chat}, maxReplicas: 4, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]}}"], "!a share of"),
    ("a picker", "", "", &[PICKER, "autoscaling/v2 HorizontalPodAutoscaler epp {spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: epp}, maxReplicas: 4}}"], "scales the picker Deployment/epp"),
];

/// A disruption budget of the pods.
macro_rules! budget {
    ($name:literal, $spec:literal) => {
        concat!(
            "policy/v1 PodDisruptionBudget ",
            $name,
            " {spec: {selector: {matchLabels: {app: chat}}, ",
            $spec,
            "}}"
        )
    };
}

#[rustfmt::skip]
const BUDGETS: &[Row] = &[
    ("one may go", "", "", &[budget!("chat", "minAvailable: 1")], ""),
    ("all must stay", "", "", &[budget!("chat", "minAvailable: 2")], "allows no evictions"),
    ("the only one must stay", "", "spec: {replicas: 1}", &[budget!("chat", "minAvailable: 1")], "allows no evictions"),
    ("a part of all", "", "", &[budget!("chat", "minAvailable: 50%")], ""),
    ("a share of all must stay", "", "", &[budget!("chat", "minAvailable: 100%")], "allows no evictions"),
    ("no share may go", "", "", &[budget!("chat", "maxUnavailable: 0%")], "allows no evictions"),
    ("both bounds", "", "", &[budget!("chat", "minAvailable: 1, maxUnavailable: 1")], "has both `minAvailable` and `maxUnavailable`"),
    ("two budgets", "", "", &[budget!("chat", "maxUnavailable: 1"), budget!("more", "maxUnavailable: 1")], "both select pods of Deployment/chat"),
    ("a budget of some of the pods", "", "", &[budget!("chat", "maxUnavailable: 1"), "policy/v1 PodDisruptionBudget more {spec: {selector: {matchLabels: {app: chat}, matchExpressions: [{key: zone, operator: Exists}]}, maxUnavailable: 1}}"], "!both select"),
];

/// A DestinationRule with its host and TLS settings.
macro_rules! rule {
    ($name:literal, $host:literal, $tls:literal) => {
        concat!(
            "networking.istio.io/v1 DestinationRule ",
            $name,
            " {spec: {host: ",
            $host,
            $tls,
            "}}"
        )
    };
}

const STRAY: &str = ", which is no Service; the picker is epp";
const DISTRUST: &str = "does not trust the certificate of the picker";

#[rustfmt::skip]
const DESTINATIONS: &[Row] = &[
    ("a rule of the picker", "", "", &[POOL, SERVICE, PICKER, rule!("more", "epp.models.svc.cluster.local", ", trafficPolicy: {tls: {mode: SIMPLE, insecureSkipVerify: true}}")], "!DestinationRule"),
    ("a rule of the picker without TLS", "", "", &[POOL, SERVICE, PICKER, rule!("more", "epp.models.svc.cluster.local", "")], DISTRUST),
    ("mutual TLS", "", "", &[POOL, SERVICE, PICKER, rule!("more", "epp", ", trafficPolicy: {tls: {mode: MUTUAL, insecureSkipVerify: true}}")], DISTRUST),
    ("a CA", "", "", &[POOL, SERVICE, PICKER, rule!("more", "epp", ", trafficPolicy: {tls: {mode: SIMPLE, caCertificates: /etc/ca.pem}}")], "!DestinationRule"),
    ("a CA of a Secret", "", "", &[POOL, SERVICE, PICKER, rule!("more", "epp", ", trafficPolicy: {tls: {mode: SIMPLE, credentialName: ca}}")], "!DestinationRule"),
    ("no CA", "", "", &[POOL, SERVICE, PICKER, rule!("more", "epp", ", trafficPolicy: {tls: {mode: SIMPLE}}")], DISTRUST),
    ("a rule with the name of the picker", "", "", &[POOL, SERVICE, PICKER, CACHE, rule!("epp", "cache", ", trafficPolicy: {tls: {mode: SIMPLE, insecureSkipVerify: true}}")], "has host cache, but the picker is epp"),
    ("a rule in another namespace", "", "", &[POOL, SERVICE, PICKER, "networking.istio.io/v1 DestinationRule more {metadata: {namespace: edge}, spec: {host: epp.models.svc.cluster.local}}"], DISTRUST),
    ("a rule for another namespace", "", "", &[POOL, SERVICE, PICKER, "networking.istio.io/v1 DestinationRule more {metadata: {namespace: edge}, spec: {host: epp.edge.svc}}"], "!DestinationRule"),
    ("a stray rule", "", "", &[POOL, SERVICE, PICKER, rule!("more", "picker", ", trafficPolicy: {tls: {mode: SIMPLE, insecureSkipVerify: true}}")], STRAY),
    ("a stray rule without TLS", "", "", &[POOL, SERVICE, PICKER, rule!("more", "picker", "")], "!DestinationRule"),
    ("a stray rule of another namespace", "", "", &[POOL, SERVICE, PICKER, "networking.istio.io/v1 DestinationRule more {metadata: {namespace: edge}, spec: {host: picker, trafficPolicy: {tls: {mode: SIMPLE}}}}"], "!DestinationRule"),
    ("a rule for all", "", "", &[POOL, SERVICE, PICKER, rule!("more", "'*.models.svc'", ", trafficPolicy: {tls: {mode: SIMPLE}}")], "!DestinationRule"),
    ("a rule of another Service", "", "", &[POOL, SERVICE, PICKER, CACHE, rule!("more", "cache", ", trafficPolicy: {tls: {mode: SIMPLE}}")], "!DestinationRule"),
    ("a stray rule next to that of the picker", "", "", &[POOL, SERVICE, PICKER, rule!("more", "picker", ", trafficPolicy: {tls: {mode: SIMPLE}}"), rule!("epp", "epp", ", trafficPolicy: {tls: {mode: SIMPLE, insecureSkipVerify: true}}")], "!DestinationRule"),
    ("a stray rule without the picker", "", "", &[POOL, rule!("more", "picker", ", trafficPolicy: {tls: {mode: SIMPLE}}")], "!DestinationRule"),
];

/// A requirement of the pods' node.
macro_rules! node {
    ($label:literal) => {
        concat!("spec: {template: {spec: {nodeSelector: {", $label, "}}}}")
    };
}

/// The command of vLLM with a large model.
macro_rules! large {
    ($model:literal, $more:literal) => {
        concat!("command: [vllm, serve, example/chat-", $model, $more, "]")
    };
}

const H100: &str =
    "spec: {template: {spec: {nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100}}}}";
const NO_DEVICE: &str = "resources: {limits: {nvidia.com/gpu: null}}";

#[rustfmt::skip]
const HARDWARE: &[Row] = &[
    ("a node by its type", vllm!(", --dtype=bfloat16"), node!("node.kubernetes.io/instance-type: g4dn.xlarge"), &[], "`g4dn.xlarge` has no bfloat16"),
    ("a node by its GPU", vllm!(", --dtype=bfloat16"), node!("nvidia.com/gpu.product: Tesla-T4"), &[], "`tesla-t4` has no bfloat16"),
    ("a node by another label", vllm!(", --dtype=bfloat16"), node!("example.com/gpu: Tesla-T4"), &[], "!bfloat16"),
    ("a large device", large!("30B", ""), node!("cloud.google.com/gke-accelerator: nvidia-a100-80gb"), &[], "!weights"),
    ("a small device", large!("30B", ""), node!("cloud.google.com/gke-accelerator: nvidia-tesla-a100"), &[], "the weights of `example/chat-30B` are about 48 GB, but its devices have 40 GB"),
    ("a large model", large!("70B", ""), H100, &[], "are about 112 GB, but its devices have 80 GB"),
    ("a quantized model", large!("70B", ", --quantization=fp8"), H100, &[], "!the weights of"),
    ("a larger quantized model", large!("200B", ", --quantization=fp8"), H100, &[], "are about 160 GB, but its devices have 80 GB"),
    ("an unknown quantization", large!("70B", ", --quantization=own"), H100, &[], "!the weights of"),
    ("another format", large!("70B", ", --load-format=tensorizer"), H100, &[], "!the weights of"),
    ("another format of SGLang", "image: lmsysorg/sglang:v0.5.13@DIGEST, command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --port=8000, --model-path=example/chat-70B, --torchao-config=int4wo-128]", H100, &[], "!the weights of"),
    ("a model of SGLang", "image: lmsysorg/sglang:v0.5.13@DIGEST, command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --port=8000, --model-path=example/chat-70B]", H100, &[], "are about 112 GB"),
    ("adapters", large!("70B", ", --enable-lora, --lora-modules, a=/adapters/a"), H100, &[], "!the weights of"),
    ("memory of the node", large!("70B", ", --cpu-offload-gb=60"), H100, &[], "!the weights of"),
    ("a file of llama.cpp", large!("70B-GGUF", ""), H100, &[], "!the weights of"),
    ("another server", "image: kserve/huggingfaceserver:v0.15.0-gpu@DIGEST, command: [python3, -m, huggingfaceserver, --model_id=example/chat-70B, --http_port=8000]", H100, &[], "!the weights of"),
    ("replicas with parts of a model", concat!(large!("70B", ", --data-parallel-size=2"), ", resources: {limits: {nvidia.com/gpu: 2}}"), H100, &[], "!the weights of"),
    ("two devices", concat!(large!("70B", ", --tensor-parallel-size=2"), ", resources: {limits: {nvidia.com/gpu: 2}}"), H100, &[], "!the weights of"),
    ("two stages", concat!(large!("70B", ", --pipeline-parallel-size=2"), ", resources: {limits: {nvidia.com/gpu: 2}}"), H100, &[], "!the weights of"),
    // Devices of containers.
    ("no device", NO_DEVICE, "", &[], "requests no device"),
    ("devices of a claim", "resources: {limits: {nvidia.com/gpu: null}, claims: [{name: gpus}]}", "spec: {template: {spec: {resourceClaims: [{name: gpus, resourceClaimTemplateName: two}]}}}", &[], "!device"),
    ("devices of an annotation", NO_DEVICE, "spec: {template: {metadata: {annotations: {hami.io/gpu-scheduler-policy: binpack}}}}", &[], "!device"),
    ("another annotation", NO_DEVICE, "spec: {template: {metadata: {annotations: {example.com/team: chat}}}}", &[], "requests no device"),
    ("all devices of the node", concat!("resources: {limits: {nvidia.com/gpu: null}}, ", "securityContext: {privileged: true}"), "", &[], "!device"),
    ("devices of the runtime", concat!("resources: {limits: {nvidia.com/gpu: null}}, ", "env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]"), "", &[], "!requests no device"),
    ("a processor", concat!("image: vllm/vllm-openai:v0.9.0@DIGEST, resources: {limits: {nvidia.com/gpu: null}}, ", vllm!(", --device=cpu")), "", &[], "!requests no device"),
    ("a device", concat!("image: vllm/vllm-openai:v0.9.0@DIGEST, resources: {limits: {nvidia.com/gpu: null}}, ", vllm!(", --device=cuda")), "", &[], "requests no device"),
    ("no ranks", concat!("resources: {limits: {nvidia.com/gpu: null}}, ", vllm!(", --data-parallel-size=2, --data-parallel-size-local=0")), "", &[], "!requests no device"),
    ("no device of SGLang", concat!("resources: {limits: {nvidia.com/gpu: null}}, ", sglang!("")), "", &[], "!requests no device"),
    ("slices", concat!("resources: {limits: {nvidia.com/gpu: null, nvidia.com/mig-1g.10gb: 2}}, ", vllm!(", --tensor-parallel-size=2")), "", &[], "2 ranks need 2 devices, but a process sees one nvidia.com/mig-1g.10gb"),
    ("requests of slices", concat!("resources: {limits: {nvidia.com/gpu: null}, requests: {nvidia.com/mig-1g.10gb: 2}}, ", vllm!(", --tensor-parallel-size=2")), "", &[], "!ranks need"),
    ("an unused claim", NO_DEVICE, "spec: {template: {spec: {resourceClaims: [{name: gpus, resourceClaimTemplateName: two}]}}}", &[], "no container of the pod uses its resource claim `gpus`"),
    ("a claim that a controller may use", NO_DEVICE, "apiVersion: argoproj.io/v1alpha1, kind: Rollout, spec: {template: {spec: {resourceClaims: [{name: gpus, resourceClaimTemplateName: two}]}}}", &[], "!claim"),
    ("a claim of the network", "", "spec: {template: {spec: {resourceClaims: [{name: network, resourceClaimTemplateName: two}]}}}", &[], "!claim"),
    ("an embedder", "image: lmsysorg/sglang:v0.5.13@DIGEST, command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --port=8000, --model-path=Alibaba-NLP/gte-Qwen2-7B-instruct]", "", &[], "is served as a model that generates text"),
];

/// An LLMInferenceService with a model and more fields.
macro_rules! llm {
    ($spec:literal) => {
        concat!("serving.kserve.io/v1alpha2 LLMInferenceService chat {spec: {model: {uri: 'hf://example/chat-8B'}, ", $spec, "}}")
    };
}

/// An LLMInferenceService with these fields of its model.
macro_rules! model {
    ($model:literal, $spec:literal) => {
        concat!(
            "serving.kserve.io/v1alpha2 LLMInferenceService chat {spec: {model: {",
            $model,
            "}",
            $spec,
            "}}"
        )
    };
}

/// An InferenceService with a model and more fields of its predictor.
macro_rules! predictor {
    ($model:literal, $more:literal) => {
        concat!("serving.kserve.io/v1beta1 InferenceService chat {metadata: {annotations: {serving.kserve.io/deploymentMode: Serverless}}, spec: {predictor: {model: {modelFormat: {name: vllm}, runtime: own", $model, "}", $more, "}}}")
    };
}

/// A predictor whose engine loads a model, with more fields of the service.
macro_rules! fetched {
    ($model:literal) => {
        concat!("serving.kserve.io/v1beta1 InferenceService chat {spec: {predictor: {containers: [{name: kserve-container, image: vllm/vllm-openai:v0.33.0@DIGEST, command: [vllm, serve, ", $model, "], env: [{name: STORAGE_URI, value: 'pvc://models/chat'}], resources: {limits: {nvidia.com/gpu: 1}}}]}}}")
    };
}

const TWO_PORTS: &str = "have 2 ports";

#[rustfmt::skip]
const KSERVE: &[Row] = &[
    ("data of prefill alone", "", "-", &[llm!("prefill: {parallelism: {data: 4}}")], "only one of `data` and `dataLocal` is set"),
    ("a remainder", "", "-", &[llm!("parallelism: {data: 5, dataLocal: 2}")], "5 ranks are not divisible by 2 ranks per pod"),
    ("no ranks", "", "-", &[llm!("parallelism: {data: 4, dataLocal: 0}")], "!divisible"),
    ("workers without a shape", "", "-", &[llm!("parallelism: {tensor: 2}, worker: {containers: [{name: main}]}")], "`worker` is set, but neither"),
    ("workers of stages", "", "-", &[llm!("parallelism: {pipeline: 2}, worker: {containers: [{name: main}]}")], "!`worker` is set"),
    ("two shapes of prefill", "", "-", &[llm!("prefill: {parallelism: {pipeline: 2, data: 4, dataLocal: 2}}")], "`pipeline` and `data` are both set"),
    ("a runtime of the namespace before that of the cluster", "", "-", &["serving.kserve.io/v1alpha1 ClusterServingRuntime own {spec: {supportedModelFormats: [{name: vLLM}], containers: [{name: kserve-container, image: 'vllm/vllm-openai:v0.33.0@DIGEST', args: ['--model=/mnt/models', '--tensor-parallel-size=8'], resources: {limits: {nvidia.com/gpu: 1}}}]}}", "serving.kserve.io/v1alpha1 ServingRuntime own {spec: {supportedModelFormats: [{name: vLLM}], containers: [{name: kserve-container, image: 'vllm/vllm-openai:v0.33.0@DIGEST', args: ['--model=/mnt/models', '--tensor-parallel-size=1'], resources: {limits: {nvidia.com/gpu: 1}}}]}}", "serving.kserve.io/v1beta1 InferenceService chat {spec: {predictor: {model: {modelFormat: {name: vLLM}, runtime: own, storageUri: 'hf://example/chat-8B'}}}}"], "!InferenceService/chat"),
    ("a runtime", "", "-", &["serving.kserve.io/v1alpha1 ServingRuntime own {spec: {containers: [{name: server, image: example.com/server:1@DIGEST}]}}"], "has no container `kserve-container`"),
    ("a runtime of several models", "", "-", &["serving.kserve.io/v1alpha1 ServingRuntime own {spec: {multiModel: true, containers: [{name: server, image: example.com/server:1@DIGEST}]}}"], "!has no container"),
    ("a runtime without containers", "", "-", &["serving.kserve.io/v1alpha1 ServingRuntime own {spec: {containers: []}}"], "!has no container"),
    ("ports of a transformer", "", "-", &["serving.kserve.io/v1beta1 InferenceService chat {metadata: {annotations: {serving.kserve.io/deploymentMode: Serverless}}, spec: {transformer: {containers: [{name: web, image: example.com/web:1@DIGEST, ports: [{containerPort: 1}, {containerPort: 2}]}]}}}"], TWO_PORTS),
    ("ports of an explainer", "", "-", &["serving.kserve.io/v1beta1 InferenceService chat {metadata: {annotations: {serving.kserve.io/deploymentMode: Knative}}, spec: {explainer: {containers: [{name: web, image: example.com/web:1@DIGEST, ports: [{containerPort: 1}, {containerPort: 2}]}]}}}"], TWO_PORTS),
    ("ports of a model", "", "-", &[predictor!(", ports: [{containerPort: 1}, {containerPort: 2}]", "")], TWO_PORTS),
    ("a port of a model", "", "-", &[predictor!(", ports: [{containerPort: 1}]", "")], "!ports"),
    ("workers and a model of an image", "", "-", &[predictor!(", storageUri: 'oci://example.com/chat:1'", ", workerSpec: {pipelineParallelSize: 2}")], "!`workerSpec`"),
    ("workers and a model of a bucket", "", "-", &[predictor!(", storageUri: 's3://models/chat'", ", workerSpec: {pipelineParallelSize: 2}")], "`workerSpec` needs a model of `pvc://` or `oci://`, not `s3://models/chat`"),
    ("workers without a model", "", "-", &[predictor!("", ", workerSpec: {pipelineParallelSize: 2}")], "!`workerSpec`"),
    ("the place of models", "", "-", &[fetched!("/mnt/models")], "!fetches models to"),
    ("another place", "", "-", &[fetched!("/mnt/model")], "the engine loads `/mnt/model`, but KServe fetches models to /mnt/models"),
    ("a model of the hub", "", "-", &[fetched!("example/chat-8B")], "!fetches models to"),
    ("another place of a Deployment", "command: [vllm, serve, /mnt/model], env: [{name: STORAGE_URI, value: 'pvc://models/chat'}]", "", &[], "!fetches models to"),
    ("one slash", "", "-", &[predictor!(", storageUri: 'pvc:/models/chat'", "")], "KServe does not fetch `pvc:/models/chat`"),
    ("one slash that another tool fills in", "", "-", &[predictor!(", storageUri: '${SCHEME}:/models/chat'", "")], "!does not fetch"),
    ("no owner", "", "-", &[predictor!(", storageUri: 'hf://chat-8B'", "")], "KServe does not fetch `hf://chat-8B`"),
    ("a model of a template", "", "-", &[predictor!(", storageUri: 'hf://{{ .Values.model }}'", "")], "!does not fetch"),
    ("a model of a shell", "", "-", &[predictor!(", storageUri: 'hf://$MODEL'", "")], "!does not fetch"),
    ("a folder in a bucket", "", "-", &[predictor!(", storageUri: 's3://models/chat/1/weights'", "")], "!does not fetch"),
    ("an adapter in a bucket", "", "-", &[model!("uri: 'hf://example/chat-8B', lora: {adapters: [{name: a, uri: 's3://models/a'}]}", "")], "!does not fetch"),
    ("an adapter in an image", "", "-", &[model!("uri: 'hf://example/chat-8B', lora: {adapters: [{name: a, uri: 'oci://example.com/a:1'}]}", "")], "KServe does not fetch `oci://example.com/a:1`"),
    ("a model of no scheme", "", "-", &[model!("uri: example/chat-8B", "")], "KServe does not fetch `example/chat-8B`"),
    ("a model of no scheme that nothing fetches", "", "-", &[model!("uri: example/chat-8B", ", storageInitializer: {enabled: false}")], "!does not fetch"),
    ("a model of no scheme that KServe fetches", "", "-", &[model!("uri: example/chat-8B", ", storageInitializer: {enabled: true}")], "does not fetch"),
    ("a model without a URI", "", "-", &[model!("name: chat", "")], "!does not fetch"),
    ("few adapters in memory", "", "-", &[model!("uri: 'hf://example/chat-8B', lora: {maxCpuAdapters: 1, adapters: [{name: a, uri: 'hf://example/a'}, {name: b, uri: 'hf://example/b'}]}", "")], "`maxCpuAdapters` is 1, less than 2 adapters on devices"),
    ("enough adapters in memory", "", "-", &[model!("uri: 'hf://example/chat-8B', lora: {maxCpuAdapters: 2, adapters: [{name: a, uri: 'hf://example/a'}, {name: b, uri: 'hf://example/b'}]}", "")], "!maxCpuAdapters"),
    ("containers of other names", "", "-", &[llm!("parallelism: {data: 4, dataLocal: 2}, template: {containers: [{name: proxy}, {name: engine, image: vllm/vllm-openai:v0.33.0@DIGEST}]}, worker: {containers: [{name: worker, image: example.com/own:1@DIGEST, resources: {limits: {nvidia.com/gpu: 1}}}]}, prefill: {parallelism: {data: 4, dataLocal: 2}, template: {containers: [{name: prefill, image: vllm/vllm-openai:v0.33.0@DIGEST}]}, worker: {containers: [{name: more, image: vllm/vllm-openai:v0.33.0@DIGEST}]}}")], "container `engine` is not named `main`"),
    ("a container of a preset", "", "-", &["serving.kserve.io/v1alpha2 LLMInferenceServiceConfig own {spec: {template: {containers: [{name: engine}]}}}", llm!("baseRefs: [{name: own}], template: {containers: [{name: engine, image: vllm/vllm-openai:v0.33.0@DIGEST}]}")], "container `engine` is not named `main`"),
    ("a container of no preset", "", "-", &["serving.kserve.io/v1alpha2 LLMInferenceServiceConfig own {spec: {template: {containers: [{name: main}]}}}", llm!("baseRefs: [{name: own}], template: {containers: [{name: engine, image: vllm/vllm-openai:v0.33.0@DIGEST}]}")], "container `engine` is not named `main`"),
];

/// A PrometheusRule with an expression.
macro_rules! alert {
    ($query:literal) => {
        concat!("monitoring.coreos.com/v1 PrometheusRule chat {spec: {groups: [{name: chat, rules: [{alert: Slow, expr: \"", $query, "\"}]}]}}")
    };
}

#[rustfmt::skip]
const METRICS: &[Row] = &[
    ("rules of Google", "", "", &["monitoring.googleapis.com/v1 Rules chat {spec: {groups: [{name: chat, rules: [{alert: Slow, expr: 'vllm:num_requests_waitin'}]}]}}"], "no metric `vllm:num_requests_waitin`"),
    ("rules of Google for the cluster", "", "", &["monitoring.googleapis.com/v1 ClusterRules chat {metadata: {namespace: null}, spec: {groups: [{name: chat, rules: [{alert: Slow, expr: 'vllm:num_requests_waitin'}]}]}}"], "no metric `vllm:num_requests_waitin`"),
    ("a metric of later releases", "image: vllm/vllm-openai:v0.25.0@DIGEST", "", &[alert!("vllm:admission_rejections_total")], "vLLM 0.25.0 has no metric `vllm:admission_rejections_total`"),
    ("a wrong name after two texts", "", "", &[alert!("vllm:num_requests_running{a='b',c='d'} + vllm:num_requests_waitin")], "no metric `vllm:num_requests_waitin`"),
    ("a wrong name after a text", "", "", &[alert!("vllm:num_requests_running{a='b'} + vllm:num_requests_waitin")], "no metric `vllm:num_requests_waitin`"),
    ("a quantile of a sum", "", "", &[alert!("histogram_quantile(0.9, sum(rate(vllm:e2e_request_latency_seconds_bucket[5m])))")], "needs the label `le`"),
    ("a quantile of a summary", "", "", &[alert!("histogram_quantile(0.9, summary:latency_seconds_bucket)")], ""),
    ("a quantile of a native histogram", "", "", &[alert!("histogram_quantile(0.9, sum(rate(vllm:e2e_request_latency_seconds[5m])))")], ""),
    ("a quantile of a sum without the pod", "", "", &[alert!("histogram_quantile(0.9, sum without (pod) (rate(vllm:e2e_request_latency_seconds_bucket[5m])))")], ""),
    ("a histogram without its series", "", "", &[alert!("vllm:e2e_request_latency_seconds > 5 and on (le) up")], "`vllm:e2e_request_latency_seconds` is a histogram, which has no series of this name"),
    ("a recorded name", "", "", &["monitoring.coreos.com/v1 PrometheusRule chat {spec: {groups: [{name: chat, rules: [{record: 'vllm:num_requests_waitin', expr: 'sum(vllm:num_requests_waiting)'}, {alert: Slow, expr: 'vllm:num_requests_waitin > 5'}]}]}}"], ""),
    ("one of two names", "", "", &[alert!("vllm:num_requests_waitin or up")], ""),
    ("an absent name", "", "", &[alert!("absent(vllm:num_requests_waitin)")], ""),
    ("a name that was absent", "", "", &[alert!("absent_over_time(vllm:num_requests_waitin[5m])")], ""),
    ("a name of a recording rule", "", "", &[alert!("vllm:num_requests_waitin:sum")], ""),
    ("a name without an end", "", "", &[alert!("vllm:num_requests_waiting_$kind")], ""),
    ("no name", "", "", &[alert!("vllm:$name")], ""),
    ("a metric of a router", "", "", &[alert!("vllm:num_requests_swapped")], ""),
    ("a name of an adapter in a rule", "", "", &[alert!("vllm_num_requests_waiting")], ""),
    ("a name of an adapter in a query", "", UNSCALED, &[keda!("minReplicaCount: 1,", "vllm_num_requests_waiting")], "vLLM has no metric `vllm_num_requests_waiting`"),
    ("a name of another program in a query", "", UNSCALED, &[keda!("minReplicaCount: 1,", "vllm_team_quota")], ""),
    ("a metric of SGLang", "", UNSCALED, &[keda!("minReplicaCount: 1,", "sglang:num_queue_reqs")], "`sglang:num_queue_reqs` of ScaledObject/chat is a metric of another engine"),
    ("a metric of SGLang for SGLang", sglang!(""), UNSCALED, &[keda!("minReplicaCount: 1,", "sglang:num_queue_reqs")], ""),
    ("a metric of vLLM for SGLang", sglang!(""), UNSCALED, &[keda!("minReplicaCount: 1,", "vllm:num_requests_waiting")], "`vllm:num_requests_waiting` of ScaledObject/chat is a metric of another engine"),
    ("a metric of SGLang for no pods", "", "-", &[keda!("minReplicaCount: 1,", "sglang:num_queue_reqs")], "!another engine"),
];

#[rustfmt::skip]
const PICKER_SERVERS: &[Row] = &[
    ("files of metrics", "", "", &["picker ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@DIGEST [--pool-name=chat, --metrics-cert-dir=/certs, --metrics-client-ca-file=/ca.pem]"], "`--metrics-client-ca-file` of Deployment/epp is /ca.pem, where no volume is mounted"),
    ("a file that another tool fills in", "", "", &["picker ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@DIGEST [--pool-name=chat, '--cert-path=${CERTS}']"], "!no volume"),
    ("another pool", "", "", &["inference.networking.k8s.io/v1 InferencePool other {spec: {selector: {matchLabels: {app: chat}}, targetPorts: [{number: 8000}], endpointPickerRef: {name: elsewhere, port: {number: 9002}}}}", "picker ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@DIGEST [--pool-name=zzqx]"], "Deployment/epp has `--pool-name=zzqx`, which does not exist"),
    ("a pool that another tool names", "", "", &["inference.networking.k8s.io/v1 InferencePool ${POOL} {spec: {selector: {matchLabels: {app: chat}}, targetPorts: [{number: 8000}], endpointPickerRef: {name: elsewhere, port: {number: 9002}}}}", "picker ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@DIGEST [--pool-name=zzqx]"], "!--pool-name"),
    ("another namespace", "", "", &[POOL, "picker ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@DIGEST [--pool-name=chat, --pool-namespace=other]"], "has `--pool-namespace=other`, but is in models"),
    ("another namespace with a pool", "", "", &["inference.networking.k8s.io/v1 InferencePool chat {metadata: {namespace: other}, spec: {selector: {matchLabels: {app: chat}}, targetPorts: [{number: 8000}], endpointPickerRef: {name: elsewhere, port: {number: 9002}}}}", "picker ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@DIGEST [--pool-name=chat, --pool-namespace=other]"], "!--pool-namespace"),
    ("another namespace without pools", "", "", &["picker ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@DIGEST [--pool-name=chat, --pool-namespace=other]"], "!--pool-namespace"),
    ("no namespace", "", "-", &[POOL, "apps/v1 Deployment epp {metadata: {namespace: null}, spec: {selector: {matchLabels: {app: epp}}, template: {metadata: {labels: {app: epp}}, spec: {containers: [{name: epp, image: ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@DIGEST, args: [--pool-name=chat, --pool-namespace=other]}]}}}}"], "!but is in"),
];

/// A LeaderWorkerSet with more fields of its only container.
macro_rules! group {
    ($more:literal) => {
        concat!("leaderworkerset.x-k8s.io/v1 LeaderWorkerSet chat {spec: {leaderWorkerTemplate: {size: 1, workerTemplate: {spec: {containers: [{name: vllm, image: vllm/vllm-openai:v0.33.0@DIGEST, command: [vllm, serve, example/chat-8B], resources: {limits: {nvidia.com/gpu: 1}}", $more, "}]}}}}}")
    };
}

#[rustfmt::skip]
const PODS: &[Row] = &[
    ("a user of SGLang's image", sglang!(""), "spec: {template: {spec: {securityContext: {runAsNonRoot: true}}}}", &[], "runAsNonRoot is true, but"),
    ("a sidecar alone", "", "-", &["apps/v1 Deployment proxy {spec: {selector: {matchLabels: {app: proxy}}, template: {metadata: {labels: {app: proxy}}, spec: {containers: [{name: routing-proxy, image: ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0@DIGEST, volumeMounts: [{name: certs, mountPath: /certs}]}]}}}}"], "mounts volume `certs`, which the pod does not have"),
    ("another program alone", "", "-", &["apps/v1 Deployment proxy {spec: {selector: {matchLabels: {app: proxy}}, template: {metadata: {labels: {app: proxy}}, spec: {containers: [{name: proxy, image: example.com/proxy:1@DIGEST, volumeMounts: [{name: certs, mountPath: /certs}]}]}}}}"], "mounts volume `certs`"),
    ("a claim of a size", "volumeMounts: [{name: cache, mountPath: /cache}]", "kind: StatefulSet, spec: {serviceName: chat, volumeClaimTemplates: [{metadata: {name: cache}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 20Gi}}}}]}", &[], "!volume"),
    ("a claim of no size", "volumeMounts: [{name: cache, mountPath: /cache}]", "kind: StatefulSet, spec: {serviceName: chat, volumeClaimTemplates: [{metadata: {name: cache}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 20 GB}}}}]}", &[], "must be a quantity"),
    ("a size that another tool fills in", "", "-", &["v1 PersistentVolumeClaim cache {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: '${SIZE}'}}}}"], "!no quantity"),
    ("a service with a dot", "", "-", &["serving.kserve.io/v1beta1 InferenceService chat.v1 {spec: {predictor: {}}}"], "is not a valid name of InferenceService/chat.v1: it has a dot"),
    ("another kind with a dot", "", "-", &["v1 ConfigMap chat.v1 {data: {a: b}}"], ""),
    ("a dot that another tool may remove", "", "-", &["v1 Service chat.${NAME} {spec: {selector: {app: chat}, ports: [{port: 80}]}}"], "!it has a dot"),
    ("a kind with a typing error", "", "-", &["apps/v1 Deploymnt chat {spec: {}}"], "has no kind Deploymnt"),
    ("a version that another tool fills in", "", "-", &["serving.kserve.io/${VERSION} LLMInferenceService chat {spec: {model: {uri: 'hf://example/chat-8B'}}}"], "!has no kind"),
    ("a name of an object", "", "-", &["v1 ConfigMap Chat_1 {data: {a: b}}"], "`Chat_1` is not a valid name of an object"),
    ("a name of a role", "", "-", &["rbac.authorization.k8s.io/v1 ClusterRole system:models {metadata: {namespace: null}, rules: []}"], ""),
    ("a name of a transformer", "", "-", &["builtin PrefixTransformer My_Prefix {metadata: {namespace: null}}"], "!valid name"),
    ("a name that another tool fills in", "", "-", &["v1 ConfigMap chat-${NAME} {data: {a: b}}"], "!valid name"),
    ("a name to fill in", "", "-", &["v1 ConfigMap <name> {data: {a: b}}"], "!valid name"),
    ("a name to replace", "", "-", &["v1 ConfigMap CHAT {data: {a: b}}"], "!valid name"),
    ("a name of a CRD", "", "-", &["apiextensions.k8s.io/v1 CustomResourceDefinition Chat_1 {metadata: {namespace: null}, spec: {group: example.com, scope: Namespaced, names: {kind: Chat, plural: chats}, versions: []}}"], "!valid name"),
    ("a pod of a preset", "", "-", &["serving.kserve.io/v1alpha2 LLMInferenceServiceConfig own {spec: {template: {containers: [{name: main, immage: a}]}}}"], "has no field `.spec.template.containers[0].immage`"),
    ("pods of a Job", "", "-", &["batch/v1 Job chat {spec: {template: {metadata: {labels: {app: chat}}, spec: {restartPolicy: Never, containers: [{name: vllm, image: vllm/vllm-openai:v0.33.0@DIGEST, command: [vllm, serve, example/chat-8B], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}"], "!restartPolicy"),
    ("a port without a number", "", "-", &[group!(", ports: [{name: http}]")], "containerPort"),
    ("a field of no container", "", "-", &[group!(", immage: a")], "immage"),
    ("a field of no container of another controller", "immage: a", ROLLOUT, &[], "!immage"),
    ("a volume without a source", "", "spec: {template: {spec: {volumes: [{name: cache}]}}}", &[], "volume `cache` has no source"),
    ("a volume that a controller completes", "", "apiVersion: argoproj.io/v1alpha1, kind: Rollout, spec: {template: {spec: {volumes: [{name: cache}]}}}", &[], "!has no source"),
    ("a variable without a value", "env: [{name: A}]", "", &[], "variable `A` has no value"),
    ("a variable that a controller completes", "env: [{name: A}]", ROLLOUT, &[], "!has no value"),
    ("a variable without a name", "env: [{}]", "", &[], "!variable `"),
    ("two ports of one name", "ports: [{name: http, containerPort: 8000}, {name: http, containerPort: 8001}]", "", &[], "has duplicate port name"),
    ("two ports of one name of a Service", "", "", &["v1 Service chat {spec: {selector: {app: chat}, ports: [{name: http, port: 8000}, {name: http, port: 8001}]}}"], "has duplicate port name"),
    ("a claim that the pod does not have", "resources: {claims: [{name: gpus}]}", "", &[], "uses claim `gpus`, which the pod does not have"),
    ("a resource of no vendor", "resources: {limits: {nvidia.com/gpu: null, nvidia.co/gpu: 1}}", "", &[], "no node has the resource `nvidia.co/gpu`"),
    ("a resource of a plugin", "resources: {limits: {nvidia.com/gpu: null, nvidia.co/pgpu: 1}}", "", &[], "!no node has"),
];

/// Namespaces with a Pod Security Standard.
const RESTRICTED: &str = "v1 Namespace models {metadata: {namespace: null, labels: {pod-security.kubernetes.io/enforce: restricted}}}";
const BASELINE: &str = "v1 Namespace models {metadata: {namespace: null, labels: {pod-security.kubernetes.io/enforce: baseline}}}";
const PRIVILEGED: &str = "v1 Namespace models {metadata: {namespace: null, labels: {pod-security.kubernetes.io/enforce: privileged}}}";

/// Requirements of namespaces for pods: their Pod Security Standard, and their quotas.
#[rustfmt::skip]
const NAMESPACES: &[Row] = &[
    ("all that restricted requires", "securityContext: {runAsUser: 1000, allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}", "", &[RESTRICTED], "!is restricted"),
    ("pods of another level", "securityContext: {privileged: true}", "", &[PRIVILEGED], "!is privileged"),
    ("a namespace without a level", "securityContext: {privileged: true}", "", &["v1 Namespace models {metadata: {namespace: null}}"], "!it allows"),
    ("another namespace of this level", "", "", &["v1 Namespace other {metadata: {namespace: null, labels: {pod-security.kubernetes.io/enforce: restricted}}}"], "!is restricted"),
    ("escalation", "securityContext: {runAsUser: 1000, runAsNonRoot: true, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}", "", &[RESTRICTED], "it requires `allowPrivilegeEscalation: false`"),
    ("no dropped capabilities", "securityContext: {runAsUser: 1000, allowPrivilegeEscalation: false, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}", "", &[RESTRICTED], "it requires `capabilities: {drop: [ALL]}`"),
    ("some dropped capabilities", "securityContext: {runAsUser: 1000, allowPrivilegeEscalation: false, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}, capabilities: {drop: [NET_RAW]}}", "", &[RESTRICTED], "it requires `capabilities: {drop: [ALL]}`"),
    ("no profile", "securityContext: {runAsUser: 1000, allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: {drop: [ALL]}}", "", &[RESTRICTED], "it requires `seccompProfile"),
    ("an unconfined profile", "securityContext: {runAsUser: 1000, allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: {drop: [ALL]}, seccompProfile: {type: Unconfined}}", "", &[RESTRICTED], "it requires `seccompProfile"),
    ("a profile of the pod", "securityContext: {runAsUser: 1000, allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: {drop: [ALL]}}", "spec: {template: {spec: {securityContext: {seccompProfile: {type: RuntimeDefault}}}}}", &[RESTRICTED], "!is restricted"),
    ("root", "securityContext: {runAsUser: 1000, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}", "", &[RESTRICTED], "it requires `runAsNonRoot: true`"),
    ("a user of the pod", "securityContext: {runAsUser: 1000, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}", "spec: {template: {spec: {securityContext: {runAsNonRoot: true}}}}", &[RESTRICTED], "!is restricted"),
    ("the capability that restricted allows", "securityContext: {runAsUser: 1000, allowPrivilegeEscalation: false, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}, capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}}", "", &[RESTRICTED], "!is restricted"),
    ("a capability that baseline allows", "securityContext: {runAsUser: 1000, allowPrivilegeEscalation: false, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}, capabilities: {drop: [ALL], add: [CHOWN]}}", "", &[RESTRICTED], "it allows no capability CHOWN"),
    ("a capability of baseline", "securityContext: {capabilities: {add: [CHOWN]}}", "", &[BASELINE], "!is baseline"),
    ("a capability of none", "securityContext: {capabilities: {add: [CHOWN, SYS_ADMIN]}}", "", &[BASELINE], "it allows no capability SYS_ADMIN"),
    ("nothing that restricted requires", "", "", &[BASELINE], "!is baseline"),
    ("a privileged container", "securityContext: {privileged: true}", "", &[BASELINE], "it allows no privileged containers"),
    ("hostNetwork", "", "spec: {template: {spec: {hostNetwork: true}}}", &[BASELINE], "it allows no hostNetwork"),
    ("hostPID", "", "spec: {template: {spec: {hostPID: true}}}", &[BASELINE], "it allows no hostPID"),
    ("hostIPC", "", "spec: {template: {spec: {hostIPC: true}}}", &[BASELINE], "it allows no hostIPC"),
    ("a port of the host", "ports: [{containerPort: 8000, hostPort: 8000}]", "", &[BASELINE], "it allows no hostPort"),
    ("no port of the host", "ports: [{containerPort: 8000, hostPort: 0}]", "", &[BASELINE], "!is baseline"),
    ("no profile at all", "securityContext: {seccompProfile: {type: Unconfined}}", "", &[BASELINE], "it allows no unconfined seccompProfile"),
    ("a profile of its own", "securityContext: {seccompProfile: {type: RuntimeDefault}}", "", &[BASELINE], "!is baseline"),
    ("no host", "", "spec: {template: {spec: {hostNetwork: false}}}", &[BASELINE], "!is baseline"),
    ("a path of the host", "volumeMounts: [{name: cache, mountPath: /cache}]", "spec: {template: {spec: {volumes: [{name: cache, hostPath: {path: /cache}}]}}}", &[BASELINE], "it allows no hostPath"),
    ("a pod that a controller completes", "securityContext: {privileged: true}", "apiVersion: argoproj.io/v1alpha1, kind: Rollout", &[BASELINE], "!is baseline"),
    ("counted requests", "resources: {limits: {cpu: null}}", "", &["v1 ResourceQuota team {spec: {hard: {requests.cpu: 4}}}"], "counts requests.cpu, which `vllm` does not set"),
    ("counted by the name alone", "resources: {limits: {memory: null}}", "", &["v1 ResourceQuota team {spec: {hard: {memory: 4Gi}}}"], "counts requests.memory, which `vllm` does not set"),
    ("a limit is a request", "", "", &["v1 ResourceQuota team {spec: {hard: {requests.cpu: 4, requests.memory: 4Gi}}}"], "!counts"),
    ("a request is no limit", "resources: {limits: {cpu: null}, requests: {cpu: 1}}", "", &["v1 ResourceQuota team {spec: {hard: {limits.cpu: 4}}}"], "counts limits.cpu, which `vllm` does not set"),
    ("counted pods", "", "", &["v1 ResourceQuota team {spec: {hard: {pods: 4, count/secrets: 4, requests.storage: 1Ti}}}"], "!counts"),
    ("a quota of a scope", "resources: {limits: {cpu: null}}", "", &["v1 ResourceQuota team {spec: {scopes: [BestEffort], hard: {requests.cpu: 4}}}"], "!counts"),
    ("a quota of a class", "resources: {limits: {cpu: null}}", "", &["v1 ResourceQuota team {spec: {scopeSelector: {matchExpressions: []}, hard: {requests.cpu: 4}}}"], "!counts"),
    ("a quota of another namespace", "resources: {limits: {cpu: null}}", "", &["v1 ResourceQuota team {metadata: {namespace: other}, spec: {hard: {requests.cpu: 4}}}"], "!counts"),
    ("a range of another namespace", "resources: {limits: {cpu: null}}", "", &["v1 ResourceQuota team {spec: {hard: {requests.cpu: 4}}}", "v1 LimitRange team {metadata: {namespace: other}, spec: {limits: [{type: Container}]}}"], "counts requests.cpu"),
    ("a range of the namespace", "resources: {limits: {cpu: null}}", "", &["v1 ResourceQuota team {spec: {hard: {requests.cpu: 4}}}", "v1 LimitRange team {spec: {limits: [{type: Container}]}}"], "!counts"),
    ("resources of the pod", "resources: {limits: {cpu: null}}", "spec: {template: {spec: {resources: {limits: {cpu: 4}}}}}", &["v1 ResourceQuota team {spec: {hard: {requests.cpu: 4}}}"], "!counts"),
];

/// Tables of models, whose charts tell the releases of pickers.
const TABLES: [&str; 4] = [
    "epp = { image = \"example.com/own:v0.10.0@DIGEST\", flags = { enable-prof = false } }\n",
    "epp = { image = \"example.com/own:main@DIGEST\", flags = { drain-timeout = \"5s\" } }\n",
    "epp = { image = \"example.com/llm-d-router-endpoint-picker:v0.9.0@DIGEST\", flags = { drain-timeout = \"5s\" } }\n",
    "epp = { image = \"example.com/llm-d-router-endpoint-picker:v0.10.0@DIGEST\", flags = { drain-timeout = \"5s\" } }\n",
];

const TRIGGER: &str = "keda.sh/v1alpha1 ScaledObject chat {spec: {scaleTargetRef: {name: chat}, triggers: [{type: prometheus, authenticationRef: {name: prometheus}, metadata: {query: 'sum(vllm:num_requests_waiting)', threshold: '5'}}]}}";
const STORE: &str = "v1 ConfigMap store {data: {store.json: '{\"master\": \"cache.models:65432\", \"global_segment_size\": \"80GB\"}'}}";
const STORED: &str =
    "spec: {template: {spec: {volumes: [{name: store, configMap: {name: store}}]}}}";
const MOUNTED: &str = "volumeMounts: [{name: store, mountPath: /etc/store}], env: [{name: MOONCAKE_CONFIG_PATH, value: /etc/store/store.json}]";
const GPUS: &str = "resource.k8s.io/v1 ResourceClaimTemplate two {spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]}}}}";
const CLAIMING: &str =
    "spec: {template: {spec: {resourceClaims: [{name: gpus, resourceClaimTemplateName: two}]}}}";
const CLAIMED: &str = "resources: {limits: {nvidia.com/gpu: null}, claims: [{name: gpus}]}";
const FRONT: &str =
    "v1 Service front {spec: {selector: {app: chat}, ports: [{port: 80, targetPort: 8000}]}}";
const CLAIM: &str = "v1 PersistentVolumeClaim weights {spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 100Gi}}}}";
const ON_CLAIM: &str = "spec: {template: {spec: {volumes: [{name: weights, persistentVolumeClaim: {claimName: weights}}]}}}";

/// Mistakes of operators: references between objects, texts that other programs read, and settings of pairs.
#[rustfmt::skip]
const PLANTED: &[Row] = &[
    ("a priority that is near", "", "spec: {template: {spec: {priorityClassName: servin}}}", &["scheduling.k8s.io/v1 PriorityClass serving {value: 7}"], "but PriorityClass/serving is"),
    ("a priority, and another one that nothing uses", "", "spec: {template: {spec: {priorityClassName: high}}}", &["scheduling.k8s.io/v1 PriorityClass serving {value: 7}"], "nothing uses PriorityClass/serving"),
    ("a priority that exists", "", "spec: {template: {spec: {priorityClassName: serving}}}", &["scheduling.k8s.io/v1 PriorityClass serving {value: 7}"], ""),
    ("a claim template of a domain", "", "spec: {template: {spec: {resourceClaims: [{name: domain, resourceClaimTemplateName: channels}]}}}", &["resource.nvidia.com/v1beta1 ComputeDomain chat {spec: {channel: {resourceClaimTemplate: {name: channel}}}}"], "but ResourceClaimTemplate/channel is"),
    ("credentials of a trigger", "", UNSCALED, &[TRIGGER, "keda.sh/v1alpha1 TriggerAuthentication prom {spec: {}}"], "but TriggerAuthentication/prom is"),
    ("a key of credentials", "", "", &["keda.sh/v1alpha1 TriggerAuthentication prom {spec: {secretTargetRef: [{parameter: token, name: token, key: bearer}]}}", "v1 Secret token {stringData: {token: a}}"], "Secret/token has no key `bearer`"),
    ("a certificate of a listener", "", "", &["gateway.networking.k8s.io/v1 Gateway web {spec: {gatewayClassName: istio, listeners: [{name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: web}]}}]}}", "v1 Secret cert {type: kubernetes.io/tls, stringData: {tls.crt: a, tls.key: a}}"], "Secret/cert has its key `tls.crt`"),
    ("a certificate of cert-manager", "", "", &["gateway.networking.k8s.io/v1 Gateway web {spec: {gatewayClassName: istio, listeners: [{name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: web}]}}]}}", "v1 Secret cert {type: kubernetes.io/tls, stringData: {tls.crt: a, tls.key: a}}", "cert-manager.io/v1 Certificate web {spec: {secretName: web}}"], "!nothing uses"),
    ("an account of a token", "", "", &["v1 Secret token {type: kubernetes.io/service-account-token, metadata: {annotations: {kubernetes.io/service-account.name: chats}}}", "v1 ServiceAccount chat {}"], "but ServiceAccount/chat is"),
    ("a port of an Ingress", "", "", &[FRONT, "networking.k8s.io/v1 Ingress web {spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: front, port: {number: 8000}}}}]}}]}}"], "references port 8000 of Service/front"),
    ("a Service of an Ingress", "", "", &[FRONT, "networking.k8s.io/v1 Ingress web {spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: fronts, port: {number: 80}}}}]}}]}}"], "but Service/front is"),
    ("an Ingress", "", "", &[FRONT, "networking.k8s.io/v1 Ingress web {spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: front, port: {number: 80}}}}]}}]}}"], ""),
    ("a number with a unit", "env: [{name: LMCACHE_MAX_LOCAL_CPU_SIZE, value: 20GB}]", "", &[], "`LMCACHE_MAX_LOCAL_CPU_SIZE` is not a number"),
    ("Python for JSON", "env: [{name: LMCACHE_EXTRA_CONFIG, value: \"{'use_odirect': True}\"}]", "", &[], "`LMCACHE_EXTRA_CONFIG` is not JSON"),
    ("JSON with a template", "env: [{name: LMCACHE_EXTRA_CONFIG, value: '{\"a\": \"{{ name }}\"}'}]", "", &[], ""),
    ("a file of JSON", "", "", &["v1 ConfigMap store {data: {store.json: '{\"a\": 1,}'}}"], "`store.json` of ConfigMap/store is not JSON"),
    ("a file with an address", MOUNTED, STORED, &[STORE, "v1 Service cache {spec: {selector: {app: cache}, ports: [{port: 65433}]}}"], "whose ports are 65433"),
    ("a cache above the limit", MOUNTED, STORED, &[STORE], "80 GB of KV caches do not fit into the memory limit of 69 GB"),
    ("a cache of a connector", vllm!(", '--kv-transfer-config={\"kv_connector\":\"OffloadingConnector\",\"kv_role\":\"kv_both\",\"kv_connector_extra_config\":{\"cpu_bytes_to_use\":99000000000}}'"), "", &[], "99 GB of KV caches"),
    ("a cache of LMCache", "env: [{name: LMCACHE_MAX_LOCAL_CPU_SIZE, value: '20'}]", "", &[], ""),
    ("an address of another namespace", url!("http://cache.models.svc:80"), "", &["v1 Service cache {metadata: {namespace: caches}, spec: {selector: {app: cache}, ports: [{port: 80}]}}"], "is no Service of the manifests, but Service/cache is"),
    ("a host of another release", "env: [{name: CACHE_HOST, value: a-cache-server}]", "", &["v1 Service b-cache-server {spec: {selector: {app: cache}, ports: [{port: 80}]}}"], "but Service/b-cache-server is"),
    ("a policy between a pod and what it calls", url!("http://front:80"), "", &[FRONT, "networking.k8s.io/v1 NetworkPolicy chat {spec: {podSelector: {matchLabels: {app: chat}}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {app: web}}}], ports: [{port: 8000}]}]}}"], "does not allow connections from Deployment/chat to port 8000"),
    ("a cache beside the volume", "volumeMounts: [{name: weights, mountPath: /weights}], env: [{name: HF_HOME, value: /data}]", ON_CLAIM, &[CLAIM], "`HF_HOME` is `/data`, but the volume is at `/weights`"),
    ("a cache on the volume", "volumeMounts: [{name: weights, mountPath: /weights}], env: [{name: HF_HOME, value: /weights/hf}]", ON_CLAIM, &[CLAIM], ""),
    ("a cache beside a volume that has the model", "command: [vllm, serve, /weights/chat], volumeMounts: [{name: weights, mountPath: /weights}], env: [{name: HF_HOME, value: /data}]", ON_CLAIM, &[CLAIM], "!but the volume is at"),
    ("weights in the container", "resources: {limits: {ephemeral-storage: 10Gi}}", "", &[], "does not fit into its container"),
    ("devices of a claim", CLAIMED, CLAIMING, &[GPUS], "pods request 2 × GPUs of its claims, but their ranks use 1"),
    ("devices of a claim for all ranks", concat!("resources: {limits: {nvidia.com/gpu: null}, claims: [{name: gpus}]}, ", vllm!(", --tensor-parallel-size=2")), CLAIMING, &[GPUS], ""),
    ("ranks of a script that has other flags", "command: [bash, -c, 'vllm serve example/chat-8B --tensor-parallel-size 2 ${MORE}']", "", &[], "their ranks use 2"),
    ("a command in the place of a parameter", "command: [sh, -c, 'echo starts;', vllm serve example/chat-8B]", "", &[], "without the arguments behind it"),
    ("an end of options", "command: [bash, -c, --], args: [exec vllm serve example/chat-8B]", "", &[], ""),
    ("a named port of another container", "", "spec: {template: {spec: {initContainers: [{name: proxy, image: example.com/proxy:1@DIGEST, restartPolicy: Always, livenessProbe: {tcpSocket: {port: htpp}}, ports: [{name: http, containerPort: 80}]}]}}}", &[], "livenessProbe uses port `htpp`"),
    ("a socket of another port", "readinessProbe: {httpGet: null, tcpSocket: {port: 8080}}", "", &[], "readinessProbe uses port 8080"),
    ("a deadline before the probe", "", "spec: {progressDeadlineSeconds: 300}", &[], "a rollout fails after 300 s, but pods may start for 600 s"),
    ("a deadline behind the probe", "", "spec: {progressDeadlineSeconds: 900}", &[], ""),
    ("a token that nothing reads", "env: [{name: HUGGINGFACE_TOKEN, value: a}]", "", &[], "`HUGGINGFACE_TOKEN` is read by nothing"),
    ("a text that is too long for SGLang", "image: lmsysorg/sglang:v0.5.13@DIGEST, command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --port=8000, --model-path=Qwen/Qwen3-32B, --context-length=131072], resources: {limits: {nvidia.com/gpu: 1}}", "", &[], "`--context-length` 131072 is more than the 40960 positions"),
    ("a text that SGLang allows", "image: lmsysorg/sglang:v0.5.13@DIGEST, command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --port=8000, --model-path=Qwen/Qwen3-32B, --context-length=131072], env: [{name: SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN, value: '1'}]", "", &[], "!positions"),
    ("memory of GPUs that UCX does not move", concat!(vllm!(", '--kv-transfer-config={\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\"}'"), ", env: [{name: UCX_TLS, value: tcp}]"), "spec: {template: {metadata: {labels: {llm-d.ai/role: prefill}}}}", &["apps/v1 Deployment decode {spec: {selector: {matchLabels: {app: decode}}, template: {metadata: {labels: {app: decode, llm-d.ai/role: decode}}, spec: {containers: [{name: vllm, image: 'vllm/vllm-openai:v0.33.0@DIGEST', command: [vllm, serve, example/chat-8B, '--kv-transfer-config={\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\"}'], resources: {limits: {nvidia.com/gpu: 1, rdma/ib: 1}}}]}}}}"], "without memory of GPUs"),
    ("a network of one of a pair", "", "spec: {template: {metadata: {labels: {llm-d.ai/role: prefill}}}}", &["apps/v1 Deployment decode {spec: {selector: {matchLabels: {app: decode}}, template: {metadata: {labels: {app: decode, llm-d.ai/role: decode}}, spec: {containers: [{name: vllm, image: 'vllm/vllm-openai:v0.33.0@DIGEST', command: [vllm, serve, example/chat-8B], resources: {limits: {nvidia.com/gpu: 1, rdma/ib: 1}}}]}}}}"], "pods of decode request rdma/ib, but those of prefill do not"),
    ("embeddings of a consumer", vllm!(", '--ec-transfer-config={\"ec_connector\":\"ECCPUConnector\",\"ec_role\":\"ec_consumer\"}'"), "spec: {template: {metadata: {labels: {llm-d.ai/role: encode}}}}", &[], "encode pods have `ec_role` `ec_consumer`"),
    ("embeddings of a producer", vllm!(", '--ec-transfer-config={\"ec_connector\":\"ECCPUConnector\",\"ec_role\":\"ec_producer\"}'"), "spec: {template: {metadata: {labels: {llm-d.ai/role: encode}}}}", &[], "!ec_role"),
    ("a group that stays", "", "-", &["leaderworkerset.x-k8s.io/v1 LeaderWorkerSet chat {spec: {leaderWorkerTemplate: {size: 2, restartPolicy: None, workerTemplate: {spec: {containers: [{name: vllm, image: 'vllm/vllm-openai:v0.33.0@DIGEST', command: [vllm, serve, a/b]}]}}}}}"], "`restartPolicy` is None"),
    ("a launch script", "command: [bash, -c, 'bash examples/multi-node-serving.sh head --ray_cluster_size=1; vllm serve example/chat-8B']", "", &[], "`multi-node-serving.sh` has no command `head`"),
    ("a monitor of another namespace", "", "", &["monitoring.coreos.com/v1 PodMonitor chat {spec: {selector: {matchLabels: {app: chat}}, namespaceSelector: {matchNames: [default]}, podMetricsEndpoints: [{path: /metrics}]}}"], "PodMonitor/chat selects no pods"),
    ("a monitor of this namespace", "ports: [{name: http, containerPort: 8000}]", "", &["monitoring.coreos.com/v1 PodMonitor chat {spec: {selector: {matchLabels: {app: chat}}, namespaceSelector: {matchNames: [models]}, podMetricsEndpoints: [{port: http, path: /metrics}]}}"], ""),
    ("a number of a monitor", "", "", &["monitoring.coreos.com/v1 PodMonitor chat {spec: {selector: {matchLabels: {app: chat}}, podMetricsEndpoints: [{portNumber: 8300, path: /metrics}]}}"], "PodMonitor/chat targets port 8300, but the pods listen on 8000"),
    ("a listener of other routes", "", "", &["gateway.networking.k8s.io/v1 Gateway web {spec: {gatewayClassName: istio, listeners: [{name: a, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: GRPCRoute}]}}]}}", FRONT, "gateway.networking.k8s.io/v1 HTTPRoute web {spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: front, port: 80}]}]}}"], "its listener has other kinds"),
    ("a metric of another variant", "", UNSCALED, &["autoscaling/v2 HorizontalPodAutoscaler chat {spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}, metrics: [{type: External, external: {metric: {name: wva_desired_replicas, selector: {matchLabels: {variant_name: old}}}, target: {type: AverageValue, averageValue: '1'}}}]}}"], "scales chat by the metric of variant `old`"),
    ("a metric of the variant", "", UNSCALED, &["autoscaling/v2 HorizontalPodAutoscaler chat {spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}, metrics: [{type: External, external: {metric: {name: wva_desired_replicas, selector: {matchLabels: {variant_name: chat}}}, target: {type: AverageValue, averageValue: '1'}}}]}}"], ""),
    ("backends of a router", "", "", &["apps/v1 Deployment router {spec: {selector: {matchLabels: {app: router}}, template: {metadata: {labels: {app: router}}, spec: {containers: [{name: router, image: 'lmcache/lmstack-router:1@DIGEST', args: [--service-discovery, static]}]}}}}"], "needs `--static-backends`"),
    ("models of a router", "", "", &["apps/v1 Deployment router {spec: {selector: {matchLabels: {app: router}}, template: {metadata: {labels: {app: router}}, spec: {containers: [{name: router, image: 'lmcache/lmstack-router:1@DIGEST', args: [--service-discovery, k8s, --k8s-namespace, models, --prefill-model-labels, chat-prefill]}]}}}}"], "`--prefill-model-labels` of Deployment/router selects no pods"),
    ("a value of an annotation", "", "-", &["serving.kserve.io/v1beta1 InferenceService chat {metadata: {annotations: {serving.kserve.io/deploymentMode: Serverles}}, spec: {predictor: {containers: [{name: kserve-container, image: 'vllm/vllm-openai:v0.33.0@DIGEST', command: [vllm, serve, a/b]}]}}}"], "`serving.kserve.io/deploymentMode` is `Serverles`"),
    ("devices of an annotation", "", "-", &["serving.kserve.io/v1alpha2 LLMInferenceService chat {metadata: {annotations: {serving.kserve.io/exp-dra-device-count: two, serving.kserve.io/exp-dra-container-name: vllm}}, spec: {model: {uri: 'hf://a/b'}, template: {containers: [{name: main}]}}}"], "has no container `vllm` for its devices"),
    ("routes twice", "", "-", &["serving.kserve.io/v1alpha2 LLMInferenceService chat {spec: {model: {uri: 'hf://a/b'}, router: {route: {http: {refs: [{name: a}], spec: {hostnames: [a.example.com]}}}}, template: {containers: [{name: main}]}}}"], "`refs` and `spec` are both set"),
    ("pods for all ranks", "", "-", &["serving.kserve.io/v1alpha2 LLMInferenceService chat {spec: {model: {uri: 'hf://a/b'}, parallelism: {data: 16, dataLocal: 8}, template: {containers: [{name: main}]}}}"], "16 ranks with 8 in a pod need `worker`"),
    ("an instance of LMCache", "env: [{name: LMCACHE_LMCACHE_INSTANCE_ID, value: one}]", "", &[], "`LMCACHE_LMCACHE_INSTANCE_ID` is `one` in all replicas"),
    ("an instance of LMCache of one replica", "env: [{name: LMCACHE_LMCACHE_INSTANCE_ID, value: one}]", "spec: {replicas: 1}", &[], ""),
    ("a disabled runtime", "", "-", &["serving.kserve.io/v1alpha1 ServingRuntime own {spec: {disabled: true, supportedModelFormats: [{name: vLLM}], containers: [{name: kserve-container, image: 'vllm/vllm-openai:v0.33.0@DIGEST', args: [--model=/mnt/models, --port=8080], ports: [{containerPort: 8080}]}]}}", "serving.kserve.io/v1beta1 InferenceService chat {spec: {predictor: {model: {runtime: own, modelFormat: {name: vLLM}, storageUri: 'hf://a/b'}}}}"], "runtime `own` is disabled"),
    ("a port of a runtime", "", "-", &["serving.kserve.io/v1alpha1 ServingRuntime own {spec: {supportedModelFormats: [{name: vLLM}], containers: [{name: kserve-container, image: 'vllm/vllm-openai:v0.33.0@DIGEST', args: [--model=/mnt/models, --port=8000], ports: [{containerPort: 8080}]}]}}", "serving.kserve.io/v1beta1 InferenceService chat {spec: {predictor: {model: {runtime: own, modelFormat: {name: vLLM}, storageUri: 'hf://a/b'}}}}"], "KServe sends requests to port 8080, but the engine listens on 8000"),
    ("a metric of another class", "", "-", &["serving.kserve.io/v1beta1 InferenceService chat {metadata: {annotations: {serving.kserve.io/autoscalerClass: hpa}}, spec: {predictor: {scaleMetric: concurrency, model: {modelFormat: {name: vLLM}, args: [--tensor-parallel-size=1], storageUri: 'hf://a/b'}}}}"], "`scaleMetric` is `concurrency`, which is no metric of its autoscaler"),
    ("a key of a storage", "", "-", &["v1 Secret storage-config {stringData: {minio: '{}'}}", "serving.kserve.io/v1beta1 InferenceService chat {spec: {predictor: {model: {modelFormat: {name: vLLM}, args: [--tensor-parallel-size=1], storage: {key: mini, path: a}}}}}"], "Secret/storage-config has no key `mini`"),
    ("an encoder without a connector", "", "spec: {template: {metadata: {labels: {llm-d.ai/role: encode}}}}", &[POOL, SERVICE, PICKER, "apps/v1 Deployment decode {spec: {selector: {matchLabels: {app: chat}}, template: {metadata: {labels: {app: chat, llm-d.ai/role: decode}}, spec: {initContainers: [{name: routing-proxy, image: 'ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.9.0@DIGEST', restartPolicy: Always, args: [--port=8000, --vllm-port=8200, --secure-proxy=false]}], containers: [{name: vllm, image: 'vllm/vllm-openai:v0.33.0@DIGEST', command: [vllm, serve, example/chat-8B, --port=8200]}]}}}}"], "sidecar has no `--ec-connector`"),
    ("claims of devices of an old version", "", "", &["resource.k8s.io/v1 ResourceClaimTemplate own {spec: {spec: {devices: {requests: [{name: gpu, exactly: {count: 2}}]}}}}"], "required field `.spec.spec.devices.requests[0].exactly.deviceClassName`"),
    ("a field of a template", "", "-", &["serving.kserve.io/v1alpha2 LLMInferenceServiceConfig chat {spec: {template: {containers: [{name: main, image: 'vllm/vllm-openai:v0.33.0@DIGEST', args: ['--served-model-name={{ .Spec.Model.name }}']}]}}}", "serving.kserve.io/v1alpha2 LLMInferenceService chat {spec: {model: {uri: 'hf://a/b'}, baseRefs: [{name: chat}], template: {containers: [{name: main}]}}}"], "template `.Spec.Model.name` is no field of a service"),
    // Defects of published stacks.
    ("an account with a longer word", "", "spec: {template: {spec: {serviceAccountName: chat-serviceaccount}}}", &["v1 ServiceAccount chat-service {}"], "but ServiceAccount/chat-service is"),
    ("an account of a runtime without a command", "", "-", &["serving.kserve.io/v1alpha1 ServingRuntime own {spec: {supportedModelFormats: [{name: huggingface, autoSelect: true}], containers: [{name: kserve-container, image: 'kserve/huggingfaceserver:v0.15.0-gpu@DIGEST', args: ['--model_name={{.Name}}']}]}}", "v1 ServiceAccount chat-service {}", "serving.kserve.io/v1beta1 InferenceService chat {spec: {predictor: {serviceAccountName: chat-serviceaccount, model: {modelFormat: {name: huggingface}, storageUri: 'hf://a/b'}}}}"], "but ServiceAccount/chat-service is"),
    ("an account of another number", "", "spec: {template: {spec: {serviceAccountName: chat-llama31}}}", &["v1 ServiceAccount chat-llama3 {}", "v1 ServiceAccount other {}"], "!but ServiceAccount"),
    ("a Service with a longer word", url!("http://cache-renderer:8000"), "", &["v1 Service cache-render {spec: {selector: {app: chat}, ports: [{port: 8000}]}}"], "but Service/cache-render is"),
    ("a Gateway of Envoy's routes", "", "", &["gateway.networking.k8s.io/v1 Gateway web {spec: {gatewayClassName: envoy, listeners: [{name: a, port: 80, protocol: HTTP}]}}", "aigateway.envoyproxy.io/v1beta1 AIGatewayRoute web {spec: {parentRefs: [{name: wev, kind: Gateway}], rules: [{backendRefs: [{name: other}]}]}}"], "references Gateway/wev"),
    ("a listener without a certificate, of Istio", "", "", &["gateway.networking.k8s.io/v1 Gateway web {spec: {gatewayClassName: istio, infrastructure: {parametersRef: {group: '', kind: ConfigMap, name: web}}, listeners: [{name: a, port: 443, protocol: HTTPS}]}}"], "no certificate for HTTPS"),
    ("a listener of a load balancer with its own certificate", "", "", &["gateway.networking.k8s.io/v1 Gateway web {spec: {gatewayClassName: alb, infrastructure: {parametersRef: {group: 'gateway.k8s.aws', kind: LoadBalancerConfiguration, name: web}}, listeners: [{name: a, port: 443, protocol: HTTPS}]}}"], ""),
    ("a URI without a colon", "", "-", &["serving.kserve.io/v1beta1 InferenceService chat {spec: {predictor: {model: {modelFormat: {name: vLLM}, args: [--tensor-parallel-size=1], storageUri: 'hf//a/b'}}}}"], "KServe does not fetch `hf//a/b`"),
    ("a metric that no autoscaler has", "", "-", &["serving.kserve.io/v1beta1 InferenceService chat {spec: {predictor: {scaleMetric: gpu, model: {modelFormat: {name: vLLM}, args: [--tensor-parallel-size=1], storageUri: 'hf://a/b'}}}}"], "`scaleMetric` is `gpu`"),
    ("a format that is near", "", "-", &[runtime!("own", "--model=/mnt/models, --port=8080"), "serving.kserve.io/v1beta1 InferenceService chat {spec: {predictor: {model: {modelFormat: {name: vLLMs}, storageUri: 'hf://a/b'}}}}"], "does not support the model format `vLLMs`"),
    ("a runtime that is near", "", "-", &[runtime!("own", "--model=/mnt/models, --port=8080"), "serving.kserve.io/v1beta1 InferenceService chat {spec: {predictor: {model: {modelFormat: {name: vLLM}, runtime: owm, storageUri: 'hf://a/b'}}}}"], "but the manifests have `own`"),
    ("a folder of a runtime by its format", "", "-", &[runtime!("own", "--model=/mnt/model, --port=8080"), "serving.kserve.io/v1beta1 InferenceService chat {spec: {predictor: {model: {modelFormat: {name: vLLM}, storageUri: 'hf://a/b'}}}}"], "KServe mounts models at /mnt/models"),
    ("metrics of a runtime", "", "-", &["serving.kserve.io/v1alpha1 ServingRuntime own {spec: {supportedModelFormats: [{name: vLLM, autoSelect: true}], annotations: {prometheus.kserve.io/port: '8000'}, containers: [{name: kserve-container, image: 'vllm/vllm-openai:v0.33.0@DIGEST', command: [python, -m, vllm.entrypoints.openai.api_server], args: [--model=/mnt/models, --port=8080], resources: {limits: {nvidia.com/gpu: 1}}}]}}", "serving.kserve.io/v1beta1 InferenceService chat {spec: {predictor: {model: {modelFormat: {name: vLLM}, storageUri: 'hf://a/b'}}}}"], "is 8000, but the pods listen on 8080"),
    ("metrics of the engine", "", "spec: {template: {metadata: {annotations: {prometheus.io/port: '8000'}}}}", &[], ""),
    ("metrics of Istio", "", "spec: {template: {metadata: {annotations: {prometheus.io/port: '15020'}}}}", &[], ""),
    ("metrics of no port", "", "spec: {template: {metadata: {annotations: {prometheus.io/port: '8080'}}}}", &[], "`prometheus.io/port` of Deployment/chat is 8080, but the pods listen on 8000"),
    ("a folder of one of several runtimes", "", "-", &[runtime!("own", "--model=/mnt/model, --port=8080"), runtime!("other", "--model=/mnt/models, --port=8080"), "serving.kserve.io/v1beta1 InferenceService chat {spec: {predictor: {model: {modelFormat: {name: vLLM}, storageUri: 'hf://a/b'}}}}"], "!KServe mounts"),
    ("a backend of Envoy's routes", "", "", &["gateway.networking.k8s.io/v1 Gateway web {spec: {gatewayClassName: envoy, listeners: [{name: a, port: 80, protocol: HTTP}]}}", "v1 Service other {spec: {selector: {app: chat}, ports: [{port: 8000}]}}", "aigateway.envoyproxy.io/v1beta1 AIGatewayRoute web {spec: {parentRefs: [{name: web, kind: Gateway}], rules: [{backendRefs: [{name: other}]}]}}"], ""),
    ("a template that does not end", "", "-", &[runtime!("own", "--model=/mnt/models, --port=8080, '--served-model-name={{.Name}'")], "does not end"),
    ("models of a group", "", "-", &["leaderworkerset.x-k8s.io/v1 LeaderWorkerSet chat {spec: {leaderWorkerTemplate: {size: 2, leaderTemplate: {spec: {containers: [{name: sglang, image: 'lmsysorg/sglang:v0.5.13@DIGEST', command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --model-path=example/chat-8B, --tp=2, --nnodes=2, --node-rank=$(LWS_WORKER_INDEX), '--dist-init-addr=$(LWS_LEADER_ADDRESS):5000'], resources: {limits: {nvidia.com/gpu: 1}}}]}}, workerTemplate: {spec: {containers: [{name: sglang, image: 'lmsysorg/sglang:v0.5.13@DIGEST', command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --model-path=example/chat-70B, --tp=2, --nnodes=2, --node-rank=$(LWS_WORKER_INDEX), '--dist-init-addr=$(LWS_LEADER_ADDRESS):5000'], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}}"], "leader of LeaderWorkerSet/chat has model"),
    ("images of a group", "", "-", &["leaderworkerset.x-k8s.io/v1 LeaderWorkerSet chat {spec: {leaderWorkerTemplate: {size: 2, leaderTemplate: {spec: {containers: [{name: sglang, image: 'lmsysorg/sglang:v0.5.13@DIGEST', command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --model-path=example/chat-8B, --tp=2, --nnodes=2, --node-rank=$(LWS_WORKER_INDEX), '--dist-init-addr=$(LWS_LEADER_ADDRESS):5000'], resources: {limits: {nvidia.com/gpu: 1}}}]}}, workerTemplate: {spec: {containers: [{name: sglang, image: 'lmsysorg/sglang:v0.5.12@DIGEST', command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --model-path=example/chat-8B, --tp=2, --nnodes=2, --node-rank=$(LWS_WORKER_INDEX), '--dist-init-addr=$(LWS_LEADER_ADDRESS):5000'], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}}"], "has image `lmsysorg/sglang:v0.5.13"),
    ("an address without a port", "", "-", &["leaderworkerset.x-k8s.io/v1 LeaderWorkerSet chat {spec: {leaderWorkerTemplate: {size: 2, leaderTemplate: {spec: {containers: [{name: sglang, image: 'lmsysorg/sglang:v0.5.13@DIGEST', command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --model-path=example/chat-8B, --tp=2, --nnodes=2, --node-rank=$(LWS_WORKER_INDEX), '--dist-init-addr=$(LWS_LEADER_ADDRESS)'], resources: {limits: {nvidia.com/gpu: 1}}}]}}, workerTemplate: {spec: {containers: [{name: sglang, image: 'lmsysorg/sglang:v0.5.13@DIGEST', command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --model-path=example/chat-8B, --tp=2, --nnodes=2, --node-rank=$(LWS_WORKER_INDEX), '--dist-init-addr=$(LWS_LEADER_ADDRESS)'], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}}"], "of LeaderWorkerSet/chat has no port"),
    ("a group of SGLang", "", "-", &["leaderworkerset.x-k8s.io/v1 LeaderWorkerSet chat {spec: {leaderWorkerTemplate: {size: 2, leaderTemplate: {spec: {containers: [{name: sglang, image: 'lmsysorg/sglang:v0.5.13@DIGEST', command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --model-path=example/chat-8B, --tp=2, --nnodes=2, --node-rank=$(LWS_WORKER_INDEX), '--dist-init-addr=$(LWS_LEADER_ADDRESS):5000'], resources: {limits: {nvidia.com/gpu: 1}}}]}}, workerTemplate: {spec: {containers: [{name: sglang, image: 'lmsysorg/sglang:v0.5.13@DIGEST', command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --model-path=example/chat-8B, --tp=2, --nnodes=2, --node-rank=$(LWS_WORKER_INDEX), '--dist-init-addr=$(LWS_LEADER_ADDRESS):5000'], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}}"], "!leader of"),
    ("a worker of Ray without shared memory", "", "-", &["leaderworkerset.x-k8s.io/v1 LeaderWorkerSet chat {spec: {leaderWorkerTemplate: {size: 2, leaderTemplate: {spec: {containers: [{name: vllm, image: 'vllm/vllm-openai:v0.18.0@DIGEST', command: [bash, -c, 'bash /vllm-workspace/examples/online_serving/multi-node-serving.sh leader --ray_cluster_size=2; vllm serve example/chat-8B --tensor-parallel-size 8 --pipeline-parallel-size 2'], resources: {limits: {nvidia.com/gpu: 8}}, volumeMounts: [{name: shm, mountPath: /dev/shm}]}], volumes: [{name: shm, emptyDir: {medium: Memory}}]}}, workerTemplate: {spec: {containers: [{name: vllm, image: 'vllm/vllm-openai:v0.18.0@DIGEST', command: [bash, -c, 'bash /vllm-workspace/examples/online_serving/multi-node-serving.sh worker --ray_address=$(LWS_LEADER_ADDRESS)'], resources: {limits: {nvidia.com/gpu: 8}}}]}}}}}"], "8 × nvidia.com/gpu share only 64 MiB"),
    ("a server behind the launch script", "", "-", &["leaderworkerset.x-k8s.io/v1 LeaderWorkerSet chat {spec: {leaderWorkerTemplate: {size: 2, leaderTemplate: {spec: {containers: [{name: vllm, image: 'vllm/vllm-openai:v0.18.0@DIGEST', command: [bash, -c, 'bash /vllm-workspace/examples/online_serving/multi-node-serving.sh leader --ray_cluster_size=2 python3 -m vllm.entrypoints.openai.api_server --model example/chat-8B --tensor-parallel-size 8 --pipeline-parallel-size 2'], resources: {limits: {nvidia.com/gpu: 8}}, volumeMounts: [{name: shm, mountPath: /dev/shm}]}], volumes: [{name: shm, emptyDir: {medium: Memory}}]}}, workerTemplate: {spec: {containers: [{name: vllm, image: 'vllm/vllm-openai:v0.18.0@DIGEST', command: [bash, -c, 'bash /vllm-workspace/examples/online_serving/multi-node-serving.sh worker --ray_address=$(LWS_LEADER_ADDRESS)'], resources: {limits: {nvidia.com/gpu: 8}}, volumeMounts: [{name: shm, mountPath: /dev/shm}]}], volumes: [{name: shm, emptyDir: {medium: Memory}}]}}}}}"], "is an argument of `multi-node-serving.sh`"),
    ("megabytes of shared memory", "resources: {limits: {nvidia.com/gpu: 2}}, command: [vllm, serve, example/chat-8B, --tensor-parallel-size=2], volumeMounts: [{name: shm, mountPath: /dev/shm}]", "spec: {template: {spec: {volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 15Mi}}]}}}", &[], "share only 15 MiB"),
    ("a disk of pods that scale", "volumeMounts: [{name: weights, mountPath: /weights}], env: [{name: HF_HOME, value: /weights}]", "spec: {replicas: null, template: {spec: {volumes: [{name: weights, persistentVolumeClaim: {claimName: weights}}]}}}", &["v1 PersistentVolumeClaim weights {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 100Gi}}}}", "keda.sh/v1alpha1 ScaledObject chat {spec: {maxReplicaCount: 4, scaleTargetRef: {name: chat}, triggers: [{type: cpu, metricType: Utilization, metadata: {value: '50'}}]}}"], "is for pods of one node"),
    ("a claim that is too small", "volumeMounts: [{name: weights, mountPath: /weights}], env: [{name: HF_HOME, value: /weights}]", "spec: {replicas: 1, template: {spec: {volumes: [{name: weights, persistentVolumeClaim: {claimName: weights}}]}}}", &["v1 PersistentVolumeClaim weights {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}}"], "does not fit into the claim"),
    ("a claim that is large enough", "volumeMounts: [{name: weights, mountPath: /weights}], env: [{name: HF_HOME, value: /weights}]", "spec: {replicas: 1, template: {spec: {volumes: [{name: weights, persistentVolumeClaim: {claimName: weights}}]}}}", &["v1 PersistentVolumeClaim weights {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 50Gi}}}}"], "!fit"),
    ("an accelerator of GKE that is near", "", "spec: {template: {spec: {nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80g}}}}", &[], "GKE has no accelerator `nvidia-h100-80g`"),
    ("a plural of a resource", "resources: {limits: {nvidia.com/gpu: null, nvidia.com/gpus: 1}}", "", &[], "no node has the resource `nvidia.com/gpus`"),
    ("a part of a launch", "command: [vllm, launch, rendering, example/chat-8B]", "", &[], "`vllm launch rendering` does not exist"),
    ("a part of a launch that exists", "command: [vllm, launch, render, example/chat-8B]", "", &[], "!does not exist"),
    ("SGLang without a label, and a picker of v0.10.0", "image: lmsysorg/sglang:v0.5.13@DIGEST, command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --port=8000, --enable-metrics, --model-path=example/chat-8B]", "", &[POOL, SERVICE, "picker ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@DIGEST [--pool-name=chat, '--config-text={apiVersion: llm-d.ai/v1alpha1, kind: EndpointPickerConfig, plugins: [{type: queue-scorer}], schedulingProfiles: [{name: default, plugins: [{pluginRef: queue-scorer}]}]}']"], "reads metrics of vLLM from Deployment/chat"),
    ("SGLang without a label, and a picker of v0.7.1", "image: lmsysorg/sglang:v0.5.13@DIGEST, command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --port=8000, --enable-metrics, --model-path=example/chat-8B]", "", &[POOL, SERVICE, "picker ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.7.1@DIGEST [--pool-name=chat, '--config-text={apiVersion: llm-d.ai/v1alpha1, kind: EndpointPickerConfig, plugins: [{type: queue-scorer}], schedulingProfiles: [{name: default, plugins: [{pluginRef: queue-scorer}]}]}']"], "!reads metrics"),
    ("SGLang without a label, and an extractor", "image: lmsysorg/sglang:v0.5.13@DIGEST, command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --port=8000, --enable-metrics, --model-path=example/chat-8B]", "", &[POOL, SERVICE, "picker ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@DIGEST [--pool-name=chat, '--config-text={apiVersion: llm-d.ai/v1alpha1, kind: EndpointPickerConfig, plugins: [{type: core-metrics-extractor, parameters: {defaultEngine: sglang}}, {type: queue-scorer}], schedulingProfiles: [{name: default, plugins: [{pluginRef: queue-scorer}]}]}']"], "!reads metrics"),
    ("SGLang with a label", "image: lmsysorg/sglang:v0.5.13@DIGEST, command: [python3, -m, sglang.launch_server, --host=0.0.0.0, --port=8000, --enable-metrics, --model-path=example/chat-8B]", "spec: {template: {metadata: {labels: {llm-d.ai/engine-type: sglang}}}}", &[POOL, SERVICE, "picker ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@DIGEST [--pool-name=chat, '--config-text={apiVersion: llm-d.ai/v1alpha1, kind: EndpointPickerConfig, plugins: [{type: queue-scorer}], schedulingProfiles: [{name: default, plugins: [{pluginRef: queue-scorer}]}]}']"], "!reads metrics"),
    ("a producer that is not there", "", "", &[POOL, SERVICE, "picker ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@DIGEST [--pool-name=chat, '--config-text={apiVersion: llm-d.ai/v1alpha1, kind: EndpointPickerConfig, plugins: [{type: prefix-cache-scorer, parameters: {prefixMatchInfoProducerName: own}}, {type: queue-scorer}], schedulingProfiles: [{name: default, plugins: [{pluginRef: queue-scorer}]}]}']"], "plugin `own` does not exist"),
    ("a folder of a tier beside the volume", concat!(vllm!(", '--kv-transfer-config={\"kv_connector\":\"OffloadingConnector\",\"kv_role\":\"kv_both\",\"kv_connector_extra_config\":{\"cpu_bytes_to_use\":1000,\"secondary_tiers\":[{\"type\":\"fs\",\"root_dir\":\"/mnt/file\"}]}}'"), ", volumeMounts: [{name: weights, mountPath: /mnt/files}]"), "spec: {replicas: 1, template: {spec: {volumes: [{name: weights, persistentVolumeClaim: {claimName: weights}}]}}}", &["v1 PersistentVolumeClaim weights {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 50Gi}}}}"], "`/mnt/file` is on no volume, but `/mnt/files` is"),
    ("a folder of a tier that is read-only", concat!(vllm!(", '--kv-transfer-config={\"kv_connector\":\"OffloadingConnector\",\"kv_role\":\"kv_both\",\"kv_connector_extra_config\":{\"cpu_bytes_to_use\":1000,\"secondary_tiers\":[{\"type\":\"fs\",\"root_dir\":\"/mnt/files/a\"}]}}'"), ", volumeMounts: [{name: weights, mountPath: /mnt/files, readOnly: true}]"), "spec: {replicas: 1, template: {spec: {volumes: [{name: weights, persistentVolumeClaim: {claimName: weights}}]}}}", &["v1 PersistentVolumeClaim weights {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 50Gi}}}}"], "where the engine stores KV caches, is read-only"),
    ("a volume at another path", "volumeMounts: [{name: adapters, mountPath: /adapters}]", "spec: {template: {spec: {initContainers: [{name: pull, image: 'example.com/pull:1@DIGEST', command: [sh, -c, 'pull example/a /adapters/a'], volumeMounts: [{name: adapters, mountPath: /lora}]}], volumes: [{name: adapters, emptyDir: {}}]}}}", &[], "init container `pull` uses `/adapters`, but has its volume at `/lora`"),
    ("a path of a folder", "volumeMounts: [{name: adapters, mountPath: /adapters}]", "spec: {template: {spec: {initContainers: [{name: pull, image: 'example.com/pull:1@DIGEST', workingDir: /lora, command: [sh, -c, 'pull example/a /adapters/a'], volumeMounts: [{name: adapters, mountPath: /lora}]}], volumes: [{name: adapters, emptyDir: {}}]}}}", &[], "!init container"),
    ("a path of a variable", "volumeMounts: [{name: adapters, mountPath: /adapters}]", "spec: {template: {spec: {initContainers: [{name: pull, image: 'example.com/pull:1@DIGEST', command: [sh, -c, 'pull /adapters/a $TO'], env: [{name: TO, valueFrom: {configMapKeyRef: {name: to, key: to}}}], volumeMounts: [{name: adapters, mountPath: /lora}]}], volumes: [{name: adapters, emptyDir: {}}]}}}", &[], "!init container"),
    ("a volume at its path", "volumeMounts: [{name: adapters, mountPath: /adapters}]", "spec: {template: {spec: {initContainers: [{name: pull, image: 'example.com/pull:1@DIGEST', command: [sh, -c, 'pull example/a /adapters/a'], volumeMounts: [{name: adapters, mountPath: /adapters}]}], volumes: [{name: adapters, emptyDir: {}}]}}}", &[], "!init container"),
    ("a token with a typing error", "env: [{name: HF_TOEKN, value: a}]", "", &[], "`HF_TOEKN` is read by nothing"),
    ("a tag without its letter", "image: 'vllm/vllm-openai:0.33.0'", "", &[], "`vllm/vllm-openai` has no tag `0.33.0`"),
    ("a tag of a mirror", "image: 'registry.example.com/vllm/vllm-openai:0.33.0'", "", &[], "!has no tag"),
    ("bytes with a unit", vllm!(", '--kv-transfer-config={\"kv_connector\":\"OffloadingConnector\",\"kv_role\":\"kv_both\",\"kv_connector_extra_config\":{\"cpu_bytes_to_use\":\"100Gi\"}}'"), "", &[], "`cpu_bytes_to_use` is `100Gi`"),
    ("no inner connectors", vllm!(", '--kv-transfer-config={\"kv_connector\":\"MultiConnector\",\"kv_role\":\"kv_both\",\"kv_connector_extra_config\":{\"connector\":[]}}'"), "spec: {template: {metadata: {labels: {llm-d.ai/role: prefill}}}}", &["apps/v1 Deployment decode {spec: {selector: {matchLabels: {app: decode}}, template: {metadata: {labels: {app: decode, llm-d.ai/role: decode}}, spec: {containers: [{name: vllm, image: 'vllm/vllm-openai:v0.33.0@DIGEST', command: [vllm, serve, example/chat-8B, '--kv-transfer-config={\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\"}'], env: [{name: VLLM_NIXL_SIDE_CHANNEL_HOST, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]}]}}}}"], "a MultiConnector without `connectors`"),
    ("a key of another loader", vllm!(", '--model-loader-extra-config={\"concurrency\":16}'"), "", &[], "the loader has no `concurrency`"),
    ("a key of a loader by the quantization", vllm!(", --quantization=bitsandbytes, '--model-loader-extra-config={\"concurrency\":16}'"), "", &[], "!the loader"),
    ("a key of its loader", vllm!(", --load-format=runai_streamer, '--model-loader-extra-config={\"concurrency\":16}'"), "", &[], "!the loader"),
    ("a key for a model of a store", "command: [vllm, serve, 's3://models/chat', '--model-loader-extra-config={\"concurrency\":16}']", "", &[], "!the loader"),
    ("a plugin that is near", "env: [{name: VLLM_PLUGINS, value: lora_filesystem_resolvers}]", "", &[], "vLLM has no plugin `lora_filesystem_resolvers`"),
    ("a policy without the router", "", "", &["apps/v1 Deployment router {spec: {selector: {matchLabels: {app: router}}, template: {metadata: {labels: {app: router}}, spec: {containers: [{name: router, image: 'lmcache/lmstack-router:1@DIGEST', args: [--service-discovery, k8s, --k8s-namespace, models, --k8s-label-selector, app=chat]}]}}}}", "networking.k8s.io/v1 NetworkPolicy chat {spec: {podSelector: {matchLabels: {app: chat}}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {app: gateway}}}]}]}}"], "does not allow connections from Deployment/router"),
    ("a policy with the router", "", "", &["apps/v1 Deployment router {spec: {selector: {matchLabels: {app: router}}, template: {metadata: {labels: {app: router}}, spec: {containers: [{name: router, image: 'lmcache/lmstack-router:1@DIGEST', args: [--service-discovery, k8s, --k8s-namespace, models, --k8s-label-selector, app=chat]}]}}}}", "networking.k8s.io/v1 NetworkPolicy chat {spec: {podSelector: {matchLabels: {app: chat}}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {app: router}}}]}]}}"], "!does not allow"),
    ("events to a picker that reads pods", vllm!(", --block-size=64, '--kv-events-config={\"enable_kv_cache_events\":true,\"publisher\":\"zmq\",\"endpoint\":\"tcp://epp:5557\",\"topic\":\"kv@a:8000@example/chat-8B\"}'"), "", &[POOL, SERVICE, "picker ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@DIGEST [--pool-name=chat, '--config-text={apiVersion: llm-d.ai/v1alpha1, kind: EndpointPickerConfig, plugins: [{type: precise-prefix-cache-producer, parameters: {tokenProcessorConfig: {blockSize: 64}, kvEventsConfig: {topicFilter: kv@, discoverPods: true, podDiscoveryConfig: {socketPort: 5557}}}}, {type: prefix-cache-scorer, parameters: {prefixMatchInfoProducerName: precise-prefix-cache-producer}}, {type: queue-scorer}], schedulingProfiles: [{name: default, plugins: [{pluginRef: queue-scorer}]}]}']"], "connects to the picker with its KV events"),
    ("events for a picker that reads pods", vllm!(", --block-size=64, '--kv-events-config={\"enable_kv_cache_events\":true,\"publisher\":\"zmq\",\"endpoint\":\"tcp://*:5557\",\"topic\":\"kv@a:8000@example/chat-8B\"}'"), "", &[POOL, SERVICE, "picker ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@DIGEST [--pool-name=chat, '--config-text={apiVersion: llm-d.ai/v1alpha1, kind: EndpointPickerConfig, plugins: [{type: precise-prefix-cache-producer, parameters: {tokenProcessorConfig: {blockSize: 64}, kvEventsConfig: {topicFilter: kv@, discoverPods: true, podDiscoveryConfig: {socketPort: 5557}}}}, {type: prefix-cache-scorer, parameters: {prefixMatchInfoProducerName: precise-prefix-cache-producer}}, {type: queue-scorer}], schedulingProfiles: [{name: default, plugins: [{pluginRef: queue-scorer}]}]}']"], "!connects to"),
];

#[test]
fn planted() {
    insta::assert_snapshot!(checked(PLANTED));
}

#[test]
fn adapters() {
    insta::assert_snapshot!(checked(ADAPTERS));
}

#[test]
fn addresses() {
    insta::assert_snapshot!(checked(ADDRESSES));
}

#[test]
fn by_release() {
    insta::assert_snapshot!(checked(BY_RELEASE));
}

#[test]
fn by_the_release_of_a_chart() {
    let shown = TABLES.iter().map(|table| {
        let config = config(&table.replace("DIGEST", DIGEST));
        let mut found = Diagnostics::new();
        if let Some(unit) = compile(&config, &mut found) {
            super::check(&unit, &config, &mut found);
        }
        shown_as(table.trim(), &found)
    });
    insta::assert_snapshot!(shown.collect::<String>());
}

#[test]
fn checkpoints() {
    insta::assert_snapshot!(checked(CHECKPOINT));
}

#[test]
fn autoscalers() {
    insta::assert_snapshot!(checked(AUTOSCALERS));
}

#[test]
fn budgets() {
    insta::assert_snapshot!(checked(BUDGETS));
}

#[test]
fn configurations() {
    insta::assert_snapshot!(checked(CONFIGS));
}

#[test]
fn destinations() {
    insta::assert_snapshot!(checked(DESTINATIONS));
}

#[test]
fn hardware() {
    insta::assert_snapshot!(checked(HARDWARE));
}

#[test]
fn kserve() {
    insta::assert_snapshot!(checked(KSERVE));
}

#[test]
fn metrics() {
    insta::assert_snapshot!(checked(METRICS));
}

#[test]
fn picker_servers() {
    insta::assert_snapshot!(checked(PICKER_SERVERS));
}

#[test]
fn pods() {
    insta::assert_snapshot!(checked(PODS));
}

#[test]
fn namespaces() {
    insta::assert_snapshot!(checked(NAMESPACES));
}

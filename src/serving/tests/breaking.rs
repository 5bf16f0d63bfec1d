//! For each invariant changes of our own charts that break it.

use super::*;

/// The engine's container of a template at this JSON pointer.
pub(super) const POD: &str = "/spec/template/spec";
pub(super) const LEADER: &str = "/spec/leaderWorkerTemplate/leaderTemplate/spec";
pub(super) const WORKER: &str = "/spec/leaderWorkerTemplate/workerTemplate/spec";

pub(super) fn engine<'o>(object: &'o mut Json, pod: &str) -> &'o mut Json {
    object.pointer_mut(&format!("{pod}/containers/0")).expect("a container")
}

/// Puts another flag in place of that of the same name, in the container's arguments.
pub(super) fn flag(container: &mut Json, flag: &str) {
    let name = flag.split('=').next().unwrap_or(flag).to_owned();
    let args = container["args"].as_array_mut().expect("arguments");
    args.retain(|arg| {
        let arg = arg.as_str().unwrap_or_default();
        arg != name && !arg.starts_with(&format!("{name}="))
    });
    args.push(json!(flag));
}

/// Takes a flag out of the container's arguments.
fn unflag(container: &mut Json, flag: &str) {
    let args = container["args"].as_array_mut().expect("arguments");
    let before = args.len();
    args.retain(|arg| arg != flag);
    assert_ne!(args.len(), before, "there is no {flag}");
}

/// Changes the script of a container of a group.
fn script(object: &mut Json, pod: &str, from: &str, to: &str) {
    let script = &mut engine(object, pod)["command"][2];
    let changed = script.as_str().expect("a script").replace(from, to);
    assert_ne!(script.as_str(), Some(changed.as_str()), "the change does nothing");
    *script = json!(changed);
}

/// Rewrites the picker's configuration.
fn configure(objects: &mut [Json], change: impl Fn(&str) -> String) {
    let map = object(objects, "ConfigMap", "chat-epp");
    for (_, text) in map["data"].as_object_mut().expect("data") {
        let changed = change(text.as_str().expect("a text"));
        assert_ne!(text.as_str(), Some(changed.as_str()), "the change does nothing");
        *text = json!(changed);
    }
}

pub(super) struct Breaking {
    pub(super) code: Code,
    pub(super) severity: Severity,
    /// A part of the message.
    pub(super) says: &'static str,
    pub(super) base: &'static str,
    pub(super) change: fn(&mut Vec<Json>),
}

const fn breaks(
    code: Code,
    says: &'static str,
    base: &'static str,
    change: fn(&mut Vec<Json>),
) -> Breaking {
    Breaking { code, severity: Severity::Error, says, base, change }
}

const fn warns(
    code: Code,
    says: &'static str,
    base: &'static str,
    change: fn(&mut Vec<Json>),
) -> Breaking {
    Breaking { code, severity: Severity::Warning, says, base, change }
}

#[rustfmt::skip]
pub(super) const BREAKING: &[Breaking] = &[
    breaks(Code::ServingApi, "failureMode` is \"FailClosed\", which is not in the CRD's enum", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["endpointPickerRef"]["failureMode"] = json!("FailClosed");
    }),
    breaks(Code::ServingApi, "`.spec.targetPorts` has too many items: 9", TPU, |all| {
        let ports = (8000..8009).map(|port| json!({"number": port})).collect();
        object(all, "InferencePool", "chat")["spec"]["targetPorts"] = ports;
    }),
    breaks(Code::ServingApi, "has no kind `inference.networking.x-k8s.io/v1alpha2 InferencePool`: 1.4.0 was the last", SINGLE, |all| {
        object(all, "InferencePool", "chat")["apiVersion"] = json!("inference.networking.x-k8s.io/v1alpha2");
    }),
    warns(Code::ServingApi, "`.spec.selector.matchExpressions` is not in the CRD", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["selector"]["matchExpressions"] = json!([]);
    }),
    breaks(Code::ServingApi, "`.spec.appProtocol` is \"grpc\", which is not", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["appProtocol"] = json!("grpc");
    }),
    breaks(Code::ServingApi, "`.spec.selector.matchLabels.app` is \"two words\", which does not match", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["selector"]["matchLabels"]["app"] = json!("two words");
    }),
    breaks(Code::ServingPoolShape, "InferencePool/chat has a port twice", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["targetPorts"] = json!([{"number": 8000}, {"number": 8000}]);
    }),
    warns(Code::ServingPoolShape, "endpointPickerRef of InferencePool/chat has kind Deployment", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["endpointPickerRef"]["kind"] = json!("Deployment");
    }),
    warns(Code::ServingPoolShape, "managed by a controller", SINGLE, |all| {
        all.push(json!({"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "InferencePoolImport", "metadata": {"name": "chat", "namespace": "models"}}));
    }),
    breaks(Code::ServingApi, "`.spec.priority` is 3000000000, larger", SINGLE, |all| {
        object(all, "InferenceObjective", "premium")["spec"]["priority"] = json!(3_000_000_000u32);
    }),
    breaks(Code::ServingApi, "`.spec.rules[0].targets[0].weight` is 0, smaller", SINGLE, |all| {
        object(all, "InferenceModelRewrite", "chat")["spec"]["rules"][0]["targets"][0]["weight"] = json!(0);
    }),
    breaks(Code::ServingPoolEmpty, "InferencePool/chat selects no pods", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["selector"]["matchLabels"]["app"] = json!("chats");
    }),
    breaks(Code::ServingPoolPorts, "port 8001–8007", WIDE, |all| {
        for name in ["chat-decode", "chat-prefill"] {
            let container = engine(object(all, "LeaderWorkerSet", name), WORKER);
            flag(container, "--data-parallel-hybrid-lb");
            container["args"].as_array_mut().expect("arguments").retain(|arg| arg != "--data-parallel-multi-port-external-lb");
            for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
                container[probe]["httpGet"]["port"] = json!("engine");
            }
        }
        let init = object(all, "LeaderWorkerSet", "chat-decode").pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0");
        flag(init.expect("a sidecar"), "--data-parallel-size=1");
    }),
    breaks(Code::ServingPoolPorts, "so its ranks are idle", WIDE, |all| {
        object(all, "InferencePool", "chat")["spec"]["targetPorts"] = json!([{"number": 8000}]);
    }),
    breaks(Code::ServingHeadlessSelected, "the workers of LeaderWorkerSet/chat-decode", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["labels"]["app"] = json!("chat");
    }),
    breaks(Code::ServingPoolMissing, "InferencePool/chats, which does not exist", SINGLE, |all| {
        object(all, "HTTPRoute", "chat")["spec"]["rules"][0]["backendRefs"][0]["name"] = json!("chats");
    }),
    breaks(Code::ServingPoolMissing, "in group `inference.networking.x-k8s.io`", SINGLE, |all| {
        object(all, "InferenceObjective", "premium")["spec"]["poolRef"]["group"] = json!("inference.networking.x-k8s.io");
    }),
    breaks(Code::ServingPickerMissing, "references Service/picker, which does not exist", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["endpointPickerRef"]["name"] = json!("picker");
        all.retain(|object| object["kind"] != "DestinationRule");
    }),
    breaks(Code::ServingPickerMissing, "has no port 9010", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["endpointPickerRef"]["port"]["number"] = json!(9010);
    }),
    breaks(Code::ServingPickerMissing, "does not select a picker", SINGLE, |all| {
        object(all, "Service", "chat-epp")["spec"]["selector"] = json!({"app": "another"});
    }),
    breaks(Code::ServingPickerPort, "targets port 9010 of Deployment/chat-epp, which listens on 9002", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["endpointPickerRef"]["port"]["number"] = json!(9010);
        object(all, "Service", "chat-epp")["spec"]["ports"][0]["port"] = json!(9010);
    }),
    breaks(Code::ServingPickerPort, "targets port ? of Deployment/chat-epp, which listens on 9002", SINGLE, |all| {
        object(all, "Service", "chat-epp")["spec"]["ports"][0]["targetPort"] = json!("proxy");
    }),
    breaks(Code::ServingPickerPool, "but has `--pool-name=other`", MP, |all| {
        let container = engine(object(all, "Deployment", "chat-epp"), POD);
        let args = container["args"].as_array_mut().expect("arguments");
        args[1] = json!("other");
    }),
    breaks(Code::ServingPickerRights, "cannot watch pods", SINGLE, |all| {
        object(all, "Role", "chat-epp-sa")["rules"][0]["verbs"] = json!(["get", "list"]);
    }),
    breaks(Code::ServingPickerRights, "cannot get, create, update leases", SINGLE, |all| {
        all.retain(|object| object["metadata"]["name"] != "chat-epp-leader-election-binding");
    }),
    breaks(Code::ServingPickerReplicas, "leader election with a rolling update", SINGLE, |all| {
        object(all, "Deployment", "chat-epp")["spec"]["strategy"] = json!({"type": "RollingUpdate"});
    }),
    breaks(Code::ServingPickerReplicas, "readinessProbe checks service `inference-extension`", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-epp"), POD)["readinessProbe"]["grpc"]["service"] = json!("inference-extension");
    }),
    breaks(Code::ServingPickerConfig, "no plugin `queue-scorerr`", MP, |all| {
        configure(all, |text| text.replace("type: queue-scorer", "type: queue-scorerr").replace("pluginRef: queue-scorer", "pluginRef: queue-scorerr"));
    }),
    warns(Code::ServingPickerConfig, "no plugin `our-own`", MP, |all| {
        configure(all, |text| text.replace("queue-scorer", "our-own"));
    }),
    breaks(Code::ServingPickerConfig, "plugin `queue` does not exist", MP, |all| {
        configure(all, |text| text.replace("pluginRef: queue-scorer", "pluginRef: queue"));
    }),
    breaks(Code::ServingPickerConfig, "duplicate plugin name", MP, |all| {
        configure(all, |text| text.replace("- type: queue-scorer", "- type: queue-scorer\n- type: queue-scorer"));
    }),
    breaks(Code::ServingPickerConfig, "has no feature gate `flowcontrol`", MP, |all| {
        configure(all, |text| text.replace("plugins:\n- type", "featureGates: [flowcontrol]\nplugins:\n- type"));
    }),
    breaks(Code::ServingPickerConfig, "has no key `pluginz`", MP, |all| {
        configure(all, |text| format!("{text}pluginz: []\n"));
    }),
    breaks(Code::ServingPickerConfig, "is experimental", MP, |all| {
        configure(all, |text| text.replace("queue-scorer", "session-affinity-scorer"));
    }),
    breaks(Code::ServingPickerConfig, "selects one of the 2 profiles", WIDE, |all| {
        configure(all, |text| text.replace("type: disagg-profile-handler", "type: random-picker"));
    }),
    breaks(Code::ServingPickerConfig, "references decider `sometimes`", WIDE, |all| {
        configure(all, |text| text.replace("prefill: always-disagg-pd-decider", "prefill: sometimes"));
    }),
    breaks(Code::ServingPickerConfig, "cannot read the configuration of the picker: there is no file plugins.yaml", MP, |all| {
        let container = engine(object(all, "Deployment", "chat-epp"), POD);
        for arg in container["args"].as_array_mut().expect("arguments") {
            if arg == "/config/default-plugins.yaml" {
                *arg = json!("/config/plugins.yaml");
            }
        }
    }),
    breaks(Code::ServingPickerConfig, "cannot read the configuration of the picker: line 1", MP, |all| {
        configure(all, |_| "plugins: [".to_owned());
    }),
    warns(Code::ServingPickerReplicas, "2 replicas without leader election", MP, |all| {
        object(all, "Deployment", "chat-epp")["spec"]["replicas"] = json!(2);
    }),
    warns(Code::ServingPickerReplicas, "3 replicas without leader election", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-epp"), POD)["args"].as_array_mut().expect("arguments").push(json!("--ha-enable-leader-election=false"));
    }),
    breaks(Code::ServingPickerFlags, "`--pool-name` and `--endpoint-selector` are mutually exclusive", MP, |all| {
        engine(object(all, "Deployment", "chat-epp"), POD)["args"].as_array_mut().expect("arguments").push(json!("--endpoint-selector=app=chat"));
    }),
    breaks(Code::ServingPickerFlags, "`--config-file` and `--config-text` are mutually exclusive", MP, |all| {
        engine(object(all, "Deployment", "chat-epp"), POD)["args"].as_array_mut().expect("arguments").push(json!("--config-text=x"));
    }),
    breaks(Code::ServingPickerFlags, "readinessProbe of Deployment/chat-epp uses port 9004, but the picker serves health checks on 9003", MP, |all| {
        engine(object(all, "Deployment", "chat-epp"), POD)["readinessProbe"]["grpc"]["port"] = json!(9004);
    }),
    breaks(Code::ServingPickerRights, "cannot create tokenreviews.authentication.k8s.io", SINGLE, |all| {
        all.retain(|object| object["kind"] != "ClusterRole");
    }),
    breaks(Code::ServingPickerRights, "sidecar of LeaderWorkerSet/chat-decode cannot get, list, watch inferencepools.inference.networking.k8s.io", WIDE, |all| {
        let sidecar = object(all, "LeaderWorkerSet", "chat-decode").pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0");
        flag(sidecar.expect("a sidecar"), "--enable-ssrf-protection");
    }),
    breaks(Code::ServingPickerConfig, "has no `plugins` key `wieght`", MP, |all| {
        configure(all, |text| text.replacen("weight: 2", "wieght: 2", 1));
    }),
    breaks(Code::ServingPickerConfig, "has no `flowControl` key `maxRequest`", MP, |all| {
        configure(all, |text| format!("{text}flowControl: {{maxRequest: 5}}\n"));
    }),
    breaks(Code::ServingPickerConfig, "plugin `limits` does not exist", MP, |all| {
        configure(all, |text| format!("{text}flowControl: {{usageLimitPolicyPluginRef: limits}}\n"));
    }),
    breaks(Code::ServingPickerConfig, "no plugin selects one of the 2 profiles", MP, |all| {
        configure(all, |text| format!("{}- name: other\n", text.replacen("plugins:", "plugins:\n- type: single-profile-handler", 1)));
    }),
    breaks(Code::ServingPickerConfig, "`second` references decider `nobody`", WIDE, |all| {
        configure(all, |text| text.replacen("plugins:", "plugins:\n- name: second\n  type: disagg-profile-handler\n  parameters: {deciders: {prefill: nobody}}", 1));
    }),
    breaks(Code::ServingPickerConfig, "duplicate profile name `prefill`", WIDE, |all| {
        configure(all, |text| text.replace("- name: decode", "- name: prefill"));
    }),
    warns(Code::ServingDeprecated, "`disagg-headers-handler` is deprecated in llm-d's endpoint picker 0.10.0, and removed in 0.11.0", WIDE, |all| {
        configure(all, |text| text.replace("plugins:\n- type: always", "plugins:\n- type: disagg-headers-handler\n- type: always"));
    }),
    warns(Code::ServingDeprecated, "`--vllm-port` is deprecated", WIDE, |all| {
        let sidecar = object(all, "LeaderWorkerSet", "chat-decode").pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0").expect("a sidecar");
        flag(sidecar, "--model-server-port=8200");
        let args = sidecar["args"].as_array_mut().expect("arguments");
        args.retain(|arg| arg != "--model-server-port=8200");
        args.push(json!("--vllm-port=8200"));
    }),
    breaks(Code::ServingRoles, "no pod of InferencePool/chat has a role for prefill", WIDE, |all| {
        all.retain(|object| object["metadata"]["name"] != "chat-prefill");
    }),
    breaks(Code::ServingRoles, "but their role is `prefill`", WIDE, |all| {
        configure(all, |text| text.replace("pluginRef: prefill-filter", "pluginRef: queue-scorer").replace("pluginRef: decode-filter", "pluginRef: queue-scorer"));
    }),
    breaks(Code::ServingRoles, "which pods of Deployment/extra do not have", MP, |all| {
        let index = "leaderworkerset.sigs.k8s.io/worker-index";
        object(all, "InferencePool", "chat")["spec"]["selector"]["matchLabels"][index] = json!("0");
        let mut template = object(all, "LeaderWorkerSet", "chat-decode")["spec"]["leaderWorkerTemplate"]["leaderTemplate"].clone();
        template["spec"]["containers"][0]["command"] = json!(["vllm", "serve"]);
        template["spec"]["containers"][0]["args"] = json!(["example/model", "--tensor-parallel-size=8", "--port=8000"]);
        all.push(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "extra", "namespace": "models"}, "spec": {"template": template}}));
    }),
    breaks(Code::ServingModel, "`token-producer` has modelName `other/model`", MP, |all| {
        configure(all, |text| text.replace("- type: queue-scorer", "- type: token-producer\n  parameters: {modelName: other/model}\n- type: queue-scorer"));
    }),
    breaks(Code::ServingModel, "serve `example/model` and `other`", WIDE, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-prefill"), WORKER), "--served-model-name=other");
    }),
    breaks(Code::ServingDevices, "request 2 × nvidia.com/gpu, but their ranks use 4", SINGLE, |all| {
        flag(engine(object(all, "Deployment", "chat-decode"), POD), "--tensor-parallel-size=4");
    }),
    breaks(Code::ServingDevices, "request 4 × nvidia.com/gpu, but their ranks use 8", MP, |all| {
        engine(object(all, "LeaderWorkerSet", "chat-decode"), LEADER)["resources"]["limits"]["nvidia.com/gpu"] = json!("4");
    }),
    breaks(Code::ServingDevices, "(8 devices), but their ranks use 16", TPU, |all| {
        let set = object(all, "Deployment", "chat-decode");
        set["spec"]["template"]["spec"]["nodeSelector"] = json!({"cloud.google.com/gke-tpu-accelerator": "tpu7x"});
        flag(engine(set, POD), "--tensor-parallel-size=16");
    }),
    breaks(Code::ServingGroupSize, "waits for 3 pods, but groups have 2", MP, |all| {
        for pod in [LEADER, WORKER] {
            let container = engine(object(all, "LeaderWorkerSet", "chat-decode"), pod);
            flag(container, "--nnodes=3");
            flag(container, "--pipeline-parallel-size=3");
        }
    }),
    breaks(Code::ServingGroupSize, "2 pods with 8 ranks each do not match the 9 ranks", WIDE, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER), "--data-parallel-size=9");
    }),
    breaks(Code::ServingJoin, "have no leader address", MP, |all| {
        script(object(all, "LeaderWorkerSet", "chat-decode"), WORKER, " --master-addr=\"$leader\"", "");
    }),
    breaks(Code::ServingJoin, "look for the leader at 127.0.0.1", MP, |all| {
        script(object(all, "LeaderWorkerSet", "chat-decode"), WORKER, "--master-addr=\"$leader\"", "--master-addr=127.0.0.1");
    }),
    breaks(Code::ServingJoin, "has `--node-rank` 0, expected 1", MP, |all| {
        script(object(all, "LeaderWorkerSet", "chat-decode"), WORKER, " --node-rank=\"$LWS_WORKER_INDEX\"", "");
    }),
    breaks(Code::ServingJoin, "workers of LeaderWorkerSet/chat-decode start their own servers", MP, |all| {
        unflag(engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER), "--headless");
    }),
    breaks(Code::ServingJoin, "workers of LeaderWorkerSet/chat-decode start their own servers", INTERNAL, |all| {
        unflag(engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER), "--headless");
    }),
    breaks(Code::ServingJoin, "have no leader address", HYBRID, |all| {
        script(object(all, "LeaderWorkerSet", "chat-decode"), WORKER, " --data-parallel-address=\"$leader\"", "");
    }),
    breaks(Code::ServingJoin, "last worker of LeaderWorkerSet/chat-decode has `--data-parallel-start-rank` 0, expected 8", WIDE, |all| {
        script(object(all, "LeaderWorkerSet", "chat-decode"), WORKER, "LWS_WORKER_INDEX * 8", "0");
    }),
    breaks(Code::ServingJoin, "has `--data-parallel-start-rank` 0, expected 8", INTERNAL, |all| {
        script(object(all, "LeaderWorkerSet", "chat-decode"), WORKER, " --data-parallel-start-rank=\"$((LWS_WORKER_INDEX * 8))\"", "");
    }),
    warns(Code::ServingJoin, "each of the 2 pods of LeaderWorkerSet/chat-decode runs a separate engine", MP, |all| {
        for pod in [LEADER, WORKER] {
            let container = engine(object(all, "LeaderWorkerSet", "chat-decode"), pod);
            container["command"] = json!(["vllm", "serve"]);
            container["args"] = json!(["example/model", "--tensor-parallel-size=8"]);
        }
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["labels"]["app"] = json!("chat");
    }),
    breaks(Code::ServingEngineFlags, "is 1, less than 2 (with `--data-parallel-multi-port-external-lb`)", HYBRID, |all| {
        let set = object(all, "LeaderWorkerSet", "chat-decode");
        script(set, WORKER, "LWS_WORKER_INDEX * 8", "LWS_WORKER_INDEX");
        let container = engine(set, WORKER);
        unflag(container, "--data-parallel-hybrid-lb");
        for text in ["--tensor-parallel-size=8", "--data-parallel-size=2", "--data-parallel-size-local=1", "--data-parallel-multi-port-external-lb"] {
            flag(container, text);
        }
    }),
    breaks(Code::ServingEngineFlags, "and `--api-server-count` are mutually exclusive", WIDE, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-prefill"), WORKER), "--api-server-count=8");
    }),
    breaks(Code::ServingEngineFlags, "`--data-parallel-multi-port-external-lb` and `--data-parallel-hybrid-lb` are mutually exclusive", WIDE, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-prefill"), WORKER), "--data-parallel-hybrid-lb");
    }),
    breaks(Code::ServingEngineFlags, "`--data-parallel-supervisor-port` is also the port of a server", WIDE, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER), "--data-parallel-supervisor-port=8203");
    }),
    breaks(Code::ServingEngineFlags, "`--headless` and `--api-server-count` are mutually exclusive", INTERNAL, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER), "--api-server-count=8");
    }),
    breaks(Code::ServingEngineFlags, "`--headless` and `--data-parallel-hybrid-lb` are mutually exclusive", HYBRID, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER), "--headless");
    }),
    breaks(Code::ServingRay, "which is not in image `vllm/vllm-openai:v0.33.0@sha256", RAY, |all| {
        for pod in [LEADER, WORKER] {
            let container = engine(object(all, "LeaderWorkerSet", "chat-decode"), pod);
            container["image"] = json!(IMAGE.replace("example.com/", "vllm/"));
        }
    }),
    breaks(Code::ServingStartup, "startupPolicy LeaderReady deadlocks", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["startupPolicy"] = json!("LeaderReady");
    }),
    breaks(Code::ServingGroup, "is not a valid name", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["metadata"]["name"] = json!("7-chats");
    }),
    breaks(Code::ServingGroup, "`maxUnavailable` and `maxSurge` are both 0", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]["maxUnavailable"] = json!(0);
    }),
    breaks(Code::ServingGroup, "groups of 0 times", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["leaderWorkerTemplate"]["size"] = json!(0);
    }),
    breaks(Code::ServingApi, "restartPolicy` is \"Never\", which is not in the CRD's enum", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["leaderWorkerTemplate"]["restartPolicy"] = json!("Never");
    }),
    breaks(Code::ServingApi, "`.spec.networkConfig.subdomainPolicy` is required", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["networkConfig"] = json!({});
    }),
    breaks(Code::ServingApi, "`.spec.roles` has too few items: 1", SET, |all| {
        object(all, "DisaggregatedSet", "chat")["spec"]["roles"].as_array_mut().expect("roles").truncate(1);
    }),
    breaks(Code::ServingApi, "`.spec.slices` is 0, smaller", SET, |all| {
        object(all, "DisaggregatedSet", "chat")["spec"]["slices"] = json!(0);
    }),
    breaks(Code::ServingKserve, "9 ranks are not divisible by 8 ranks per pod", KSERVE, |all| {
        object(all, "LLMInferenceService", "chat")["spec"]["parallelism"]["data"] = json!(9);
    }),
    breaks(Code::ServingKserve, "`pipeline` and `data` are both set", KSERVE, |all| {
        object(all, "LLMInferenceService", "chat")["spec"]["parallelism"]["pipeline"] = json!(2);
    }),
    breaks(Code::ServingKserve, "only one of `data` and `dataLocal`", KSERVE, |all| {
        object(all, "LLMInferenceService", "chat")["spec"]["parallelism"]["dataLocal"] = json!(null);
    }),
    breaks(Code::ServingApi, "`.spec.parallelism.tensor` is 0, smaller", KSERVE, |all| {
        object(all, "LLMInferenceService", "chat")["spec"]["parallelism"]["tensor"] = json!(0);
    }),
    breaks(Code::ServingDevices, "request 8 × nvidia.com/gpu, but their ranks use 16", KSERVE, |all| {
        object(all, "LLMInferenceService", "chat")["spec"]["parallelism"]["tensor"] = json!(2);
    }),
    warns(Code::ServingRoute, "HTTPRoute/chat and HTTPRoute/other both match `PathPrefix /` on Gateway/gateway", SINGLE, |all| {
        let mut second = object(all, "HTTPRoute", "chat").clone();
        second["metadata"]["name"] = json!("other");
        all.push(second);
    }),
    warns(Code::ServingTwice, "duplicate Deployment/chat-epp", MP, |all| {
        let second = object(all, "Deployment", "chat-epp").clone();
        all.push(second);
    }),
    Breaking { severity: Severity::Note, ..breaks(Code::ServingUnread, "its runtime chat-runtime is not in the manifests", MP, |all| {
        all.push(json!({"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "chat", "namespace": "models"}, "spec": {"predictor": {"model": {"runtime": "chat-runtime", "modelFormat": {"name": "vLLM"}}}}}));
    }) },
    breaks(Code::ServingGroup, "is not divisible by subgroup size 3", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["leaderWorkerTemplate"]["subGroupPolicy"] = json!({"subGroupSize": 3});
    }),
    breaks(Code::ServingGroup, "some roles have 0 replicas", SET, |all| {
        object(all, "DisaggregatedSet", "chat")["spec"]["roles"][1]["spec"]["replicas"] = json!(0);
    }),
    Breaking { severity: Severity::Note, ..breaks(Code::ServingLeaderAddress, "do not wait until", MP, |all| {
        let container = engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER);
        container["command"][2] = json!("exec vllm serve \"$@\" --master-addr=$LWS_LEADER_ADDRESS");
    }) },
    breaks(Code::ServingSidecar, "connects to the engine on port 8300", WIDE, |all| {
        let sidecar = object(all, "LeaderWorkerSet", "chat-decode").pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0");
        flag(sidecar.expect("a sidecar"), "--model-server-port=8300");
    }),
    breaks(Code::ServingSidecar, "sidecar has 4 ports, but the engine has 8", WIDE, |all| {
        let sidecar = object(all, "LeaderWorkerSet", "chat-decode").pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0");
        flag(sidecar.expect("a sidecar"), "--data-parallel-size=4");
    }),
    breaks(Code::ServingSidecar, "prefill pods get no requests", WIDE, |all| {
        let set = object(all, "LeaderWorkerSet", "chat-decode");
        set["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["initContainers"] = json!([]);
        flag(engine(set, WORKER), "--port=8000");
    }),
    breaks(Code::ServingSidecar, "accepts TLS only", WIDE, |all| {
        let sidecar = object(all, "LeaderWorkerSet", "chat-decode").pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0");
        unflag(sidecar.expect("a sidecar"), "--secure-proxy=false");
    }),
    breaks(Code::ServingSidecar, "without restartPolicy Always", WIDE, |all| {
        let set = object(all, "LeaderWorkerSet", "chat-decode");
        let sidecar = set.pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0").expect("a sidecar");
        sidecar["restartPolicy"] = json!(null);
        flag(engine(set, WORKER), "--port=8000");
    }),
    breaks(Code::ServingSidecarFlag, "has no flag `--connector`: 0.9.0 was the last release with it", WIDE, |all| {
        let sidecar = object(all, "LeaderWorkerSet", "chat-decode").pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0");
        flag(sidecar.expect("a sidecar"), "--connector=nixlv2");
    }),
    breaks(Code::ServingSidecarFlag, "has no `--kv-connector` value `nixl`", WIDE, |all| {
        let sidecar = object(all, "LeaderWorkerSet", "chat-decode").pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0");
        flag(sidecar.expect("a sidecar"), "--kv-connector=nixl");
    }),
    breaks(Code::ServingEngineFlags, "vLLM 0.21.0 has no flag `--data-parallel-multi-port-external-lb`: it was added in 0.22.0", WIDE, |all| {
        for set in ["chat-decode", "chat-prefill"] {
            engine(object(all, "LeaderWorkerSet", set), WORKER)["image"] = json!(IMAGE.replace("0.33.0", "0.21.0"));
        }
    }),
    breaks(Code::ServingEngineFlags, "no release of vLLM up to 0.33.0 has the flag `--max-modle-len`", SINGLE, |all| {
        let container = engine(object(all, "Deployment", "chat-decode"), POD);
        container["image"] = json!("vllm/vllm-openai@sha256:0000000000000000000000000000000000000000000000000000000000000000");
        flag(container, "--max-modle-len=4096");
    }),
    warns(Code::ServingEngineFlags, "has no environment variable `VLLM_ATTENTION_BACKEND`: 0.14.1 was the last", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-decode"), POD)["env"].as_array_mut().expect("variables").push(json!({"name": "VLLM_ATTENTION_BACKEND", "value": "FLASHMLA"}));
    }),
    Breaking { severity: Severity::Note, ..breaks(Code::ServingRelease, "only 0.22.0 and later have `--data-parallel-supervisor-port`, `--data-parallel-multi-port-external-lb`", WIDE, |all| {
        for set in ["chat-decode", "chat-prefill"] {
            engine(object(all, "LeaderWorkerSet", set), WORKER)["image"] = json!(IMAGE.replace(":v0.33.0", ""));
        }
    }) },
    Breaking { severity: Severity::Note, ..breaks(Code::ServingRelease, "`--gpu-mem` is an abbreviation of `--gpu-memory-utilization`", SINGLE, |all| {
        flag(engine(object(all, "Deployment", "chat-decode"), POD), "--gpu-mem=0.9");
    }) },
    breaks(Code::ServingPickerFlags, "has no flag `--grpc-prot`", MP, |all| {
        engine(object(all, "Deployment", "chat-epp"), POD)["args"].as_array_mut().expect("arguments").push(json!("--grpc-prot=9002"));
    }),
    breaks(Code::ServingPickerConfig, "has no `prefix-cache-scorer` parameter `blockSize`", MP, |all| {
        configure(all, |text| text.replacen("- type: prefix-cache-scorer", "- type: prefix-cache-scorer\n  parameters: {blockSize: 64}", 1));
    }),
    warns(Code::ServingApi, "`.spec.maxSurge` is not in the CRD", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["maxSurge"] = json!(1);
    }),
    breaks(Code::ServingPortClash, "both listen on port 8000–8007", WIDE, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER), "--port=8000");
    }),
    breaks(Code::ServingProbe, "uses port 8080, but the engine listens on 8000", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-decode"), POD)["livenessProbe"]["httpGet"]["port"] = json!(8080);
    }),
    breaks(Code::ServingProbe, "uses port `http`", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-decode"), POD)["livenessProbe"]["httpGet"]["port"] = json!("http");
    }),
    breaks(Code::ServingProbe, "headless workers have a readinessProbe", MP, |all| {
        engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER)["readinessProbe"] = json!({"httpGet": {"path": "/health", "port": 8000}});
    }),
    breaks(Code::ServingImage, "`REPLACE_IMAGE` is a placeholder", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-decode"), POD)["image"] = json!("REPLACE_IMAGE");
    }),
    warns(Code::ServingImage, "`epp` has no image", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-epp"), POD)["image"] = json!("");
    }),
    warns(Code::ImageNotPinned, "is not pinned by digest", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-decode"), POD)["image"] = json!("vllm/vllm-openai:v1");
    }),
    warns(Code::ImageNotPinned, "image `example.com/model:1` is not pinned by digest", SINGLE, |all| {
        object(all, "Deployment", "chat-decode")["spec"]["template"]["spec"]["volumes"] = json!([
            {"name": "model", "image": {"reference": "example.com/model:1"}},
            {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
        ]);
    }),
    warns(Code::ServingSharedMemory, "only 64 MiB of shared memory", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-decode"), POD)["volumeMounts"] = json!([]);
    }),
    breaks(Code::ServingPair, "`--block-size` is `64` for prefill, but the default for decode", WIDE, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-prefill"), WORKER), "--block-size=64");
    }),
    warns(Code::ServingPair, "prefill has image", WIDE, |all| {
        let image = IMAGE.replace("v0.33.0", "v0.24.0");
        engine(object(all, "LeaderWorkerSet", "chat-prefill"), WORKER)["image"] = json!(image);
    }),
    breaks(Code::ServingAutoscaler, "scales Deployment/chat, which does not exist", SINGLE, |all| {
        object(all, "HorizontalPodAutoscaler", "chat-decode")["spec"]["scaleTargetRef"]["name"] = json!("chat");
    }),
    breaks(Code::ServingAutoscaler, "both scale Deployment/chat-decode", SINGLE, |all| {
        let mut second = object(all, "HorizontalPodAutoscaler", "chat-decode").clone();
        second["metadata"]["name"] = json!("second");
        all.push(second);
    }),
    warns(Code::ServingAutoscaler, "sets replicas, but is scaled by", SINGLE, |all| {
        object(all, "Deployment", "chat-decode")["spec"]["replicas"] = json!(2);
    }),
    warns(Code::ServingDisruption, "allows no evictions", SINGLE, |all| {
        object(all, "PodDisruptionBudget", "chat-decode")["spec"]["maxUnavailable"] = json!(0);
    }),
    breaks(Code::ServingDestination, "has host chat-epp.other.svc", SINGLE, |all| {
        object(all, "DestinationRule", "chat-epp")["spec"]["host"] = json!("chat-epp.other.svc.cluster.local");
    }),
    breaks(Code::ServingDestination, "does not trust the certificate", SINGLE, |all| {
        object(all, "DestinationRule", "chat-epp")["spec"]["trafficPolicy"]["tls"] = json!({"mode": "SIMPLE"});
    }),
    breaks(Code::ServingTransfer, "prefill transfers KV caches with MooncakeConnector, but decode with NixlConnector", WIDE, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-prefill"), WORKER), "--kv-transfer-config={\"kv_connector\":\"MooncakeConnector\",\"kv_role\":\"kv_producer\"}");
    }),
    breaks(Code::ServingTransfer, "sidecar has `--kv-connector=offloading`", WIDE, |all| {
        let sidecar = object(all, "LeaderWorkerSet", "chat-decode").pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0");
        flag(sidecar.expect("a sidecar"), "--kv-connector=offloading");
    }),
    breaks(Code::ServingTransfer, "`VLLM_NIXL_SIDE_CHANNEL_HOST` is not set", WIDE, |all| {
        let container = engine(object(all, "LeaderWorkerSet", "chat-prefill"), WORKER);
        container["env"].as_array_mut().expect("variables").retain(|variable| variable["name"] != "VLLM_NIXL_SIDE_CHANNEL_HOST");
    }),
    breaks(Code::ServingEngineFlags, "`--lora-modules` requires `--enable-lora`", SINGLE, |all| {
        flag(engine(object(all, "Deployment", "chat-decode"), POD), "--lora-modules=a=/b");
    }),
    breaks(Code::ServingAdapters, "rewrites to `other/model`, which pods of InferencePool/chat do not serve", SINGLE, |all| {
        object(all, "InferenceModelRewrite", "chat")["spec"]["rules"][0]["targets"][0]["modelRewrite"] = json!("other/model");
    }),
    breaks(Code::ServingPrefixCache, "the engine has no `--kv-events-config`", MP, |all| {
        configure(all, |text| text.replace("- type: queue-scorer", "- type: precise-prefix-cache-producer\n- type: queue-scorer"));
    }),
    breaks(Code::ServingProbe, "uses path `/ready`, which vLLM does not serve", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-decode"), POD)["readinessProbe"]["httpGet"]["path"] = json!("/ready");
    }),
    warns(Code::ServingProbe, "startupProbe restarts the engine after 20 s", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-decode"), POD)["startupProbe"]["failureThreshold"] = json!(2);
    }),
    breaks(Code::ServingAddress, "the engine listens on 127.0.0.1", SINGLE, |all| {
        flag(engine(object(all, "Deployment", "chat-decode"), POD), "--host=127.0.0.1");
    }),
    breaks(Code::ServingServiceLinks, "Service/vllm sets `VLLM_PORT`", SINGLE, |all| {
        object(all, "Deployment", "chat-decode")["spec"]["template"]["spec"]["enableServiceLinks"] = json!(true);
        all.push(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "vllm", "namespace": "models"}, "spec": {"selector": {"app": "chat"}, "ports": [{"port": 8000}]}}));
    }),
    breaks(Code::ServingPod, "mounts volume `cache`, which the pod does not have", SINGLE, |all| {
        object(all, "Deployment", "chat-decode")["spec"]["template"]["spec"]["volumes"] = json!([{"name": "shared-memory", "emptyDir": {"medium": "Memory"}}]);
    }),
    breaks(Code::ServingPod, "has a request of `nvidia.com/gpu` that differs from its limit", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-decode"), POD)["resources"]["requests"] = json!({"nvidia.com/gpu": 1});
    }),
    breaks(Code::ServingPod, "has a selector that does not match its pod template", SINGLE, |all| {
        object(all, "Deployment", "chat-decode")["spec"]["selector"]["matchLabels"] = json!({"app": "chats"});
    }),
    breaks(Code::ServingSelector, "PodMonitor/chat-decode selects no pods", SINGLE, |all| {
        object(all, "PodMonitor", "chat-decode")["spec"]["selector"]["matchLabels"] = json!({"app": "chatt"});
    }),
    breaks(Code::ServingGateway, "Gateway/gatway, which is not in the manifests", SINGLE, |all| {
        all.push(json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "gateway", "namespace": "models"}, "spec": {"gatewayClassName": "istio", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]}}));
        object(all, "HTTPRoute", "chat")["spec"]["parentRefs"][0]["name"] = json!("gatway");
    }),
    breaks(Code::ServingAutoscaler, "scales LeaderWorkerSet/chat-decode of `apps/v1`, which does not exist", MP, |all| {
        all.push(json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "chat", "namespace": "models"}, "spec": {"scaleTargetRef": {"kind": "LeaderWorkerSet", "name": "chat-decode"}, "triggers": [{"type": "cron", "metadata": {}}]}}));
    }),
    breaks(Code::ServingGateway, "NetworkPolicy/only-health does not allow connections from Gateways to port 9002 of Deployment/chat-epp", SINGLE, |all| {
        all.retain(|object| object["kind"] != "InferencePool" && object["kind"] != "NetworkPolicy");
        let pods = object(all, "Deployment", "chat-epp")["spec"]["selector"].clone();
        all.push(json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "only-health", "namespace": "models"}, "spec": {"podSelector": pods, "ingress": [{"ports": [{"port": 9003}]}]}}));
    }),
    breaks(Code::ServingGateway, "NetworkPolicy/of-role does not allow connections", SET, |all| {
        all.push(json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "of-role", "namespace": "models"}, "spec": {"podSelector": {"matchLabels": {"disaggregatedset.x-k8s.io/name": "chat", "disaggregatedset.x-k8s.io/role": "decode"}}, "ingress": [{"ports": [{"port": 9}]}]}}));
    }),
    breaks(Code::ServingGateway, "references kind `Service` of `inference.networking.k8s.io`", SINGLE, |all| {
        object(all, "HTTPRoute", "chat")["spec"]["rules"][0]["backendRefs"][0].as_object_mut().expect("a map").remove("kind");
    }),
    breaks(Code::ServingPickerReplicas, "its livenessProbe checks service ``", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-epp"), POD)["livenessProbe"]["grpc"] = json!({"port": 9003});
    }),
    breaks(Code::ServingPickerReplicas, "its startupProbe checks service `readiness`", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-epp"), POD)["startupProbe"] = json!({"grpc": {"port": 9003, "service": "readiness"}});
    }),
    breaks(Code::ServingPickerConfig, "has pickers `max-score-picker` and `random-picker`", MP, |all| {
        configure(all, |text| text.replacen("plugins:\n", "plugins:\n- type: max-score-picker\n- type: random-picker\n", 1).replacen("  plugins:\n", "  plugins:\n  - pluginRef: max-score-picker\n  - pluginRef: random-picker\n", 1));
    }),
    breaks(Code::ServingEngineFlags, "`--enable-eplb` requires `--enable-expert-parallel`", SINGLE, |all| {
        flag(engine(object(all, "Deployment", "chat-decode"), POD), "--enable-eplb");
    }),
    breaks(Code::ServingEngineFlags, "`--enable-dbo` requires an all-to-all backend of DeepEP", SINGLE, |all| {
        let container = engine(object(all, "Deployment", "chat-decode"), POD);
        flag(container, "--enable-dbo");
        flag(container, "--all2all-backend=allgather_reducescatter");
    }),
    breaks(Code::ServingEngineFlags, "`--enable-dbo` requires an all-to-all backend of DeepEP", SINGLE, |all| {
        let container = engine(object(all, "Deployment", "chat-decode"), POD);
        container["image"] = json!(IMAGE.replace("v0.33.0", "v0.23.0"));
        flag(container, "--enable-dbo");
        flag(container, "--all2all-backend=nixl_ep");
    }),
    breaks(Code::ServingPoolShape, "InferencePool/chat has no endpointPickerRef", SINGLE, |all| {
        let pool = &mut object(all, "InferencePool", "chat")["spec"];
        pool["extensionRef"] = pool["endpointPickerRef"].take();
        pool.as_object_mut().expect("a map").remove("endpointPickerRef");
    }),
    warns(Code::ServingApi, "`.spec.targetPortNumber` is not in the CRD", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["targetPortNumber"] = json!(8000);
    }),
    warns(Code::ServingGateway, "NetworkPolicy/of-internet does not allow connections", SINGLE, |all| {
        let pods = object(all, "Deployment", "chat-epp")["spec"]["selector"].clone();
        all.retain(|object| object["kind"] != "NetworkPolicy");
        all.push(json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "of-internet", "namespace": "models"}, "spec": {"podSelector": pods, "ingress": [{"from": [{"ipBlock": {"cidr": "8.8.8.0/24"}}]}]}}));
    }),
    warns(Code::ServingGateway, "listener `https` of Gateway/more has no certificate for HTTPS", SINGLE, |all| {
        all.push(json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "more", "namespace": "models"}, "spec": {"gatewayClassName": "istio", "listeners": [{"name": "https", "port": 443, "protocol": "HTTPS"}]}}));
        object(all, "HTTPRoute", "chat")["spec"]["parentRefs"][0]["name"] = json!("more");
    }),
    breaks(Code::ServingEngineFlags, "less than `--max-num-seqs` 256", SINGLE, |all| {
        let container = engine(object(all, "Deployment", "chat-decode"), POD);
        flag(container, "--max-num-batched-tokens=128");
        flag(container, "--max-num-seqs=256");
    }),
    breaks(Code::ServingPod, "no node has the resource `nvdia.com/gpu`", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-decode"), POD)["resources"] = json!({"limits": {"nvdia.com/gpu": 2}});
    }),
    breaks(Code::ServingPod, "runAsNonRoot is true, but runAsUser is 0", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-decode"), POD)["securityContext"] = json!({"runAsNonRoot": true, "runAsUser": 0});
    }),
    Breaking { severity: Severity::Note, ..breaks(Code::ServingPod, "ServiceAccount/engine, which is not in the manifests, and nothing uses ServiceAccount/chat", SINGLE, |all| {
        object(all, "Deployment", "chat-decode")["spec"]["template"]["spec"]["serviceAccountName"] = json!("engine");
    }) },
    breaks(Code::ServingPickerFlags, "`--cert-path` of Deployment/chat-epp is /certs, where no volume is mounted", MP, |all| {
        let container = engine(object(all, "Deployment", "chat-epp"), POD);
        container["image"] = json!(IMAGE.replace("example.com/vllm", "ghcr.io/llm-d/llm-d-router-endpoint-picker"));
        container["args"].as_array_mut().expect("arguments").push(json!("--cert-path=/certs"));
    }),
];

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
    /// What is in the message.
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
    breaks(Code::ServingPoolShape, "`FailClosed` is not", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["endpointPickerRef"]["failureMode"] = json!("FailClosed");
    }),
    breaks(Code::ServingPoolShape, "9 ports: 8000–8008", TPU, |all| {
        let ports = (8000..8009).map(|port| json!({"number": port})).collect();
        object(all, "InferencePool", "chat")["spec"]["targetPorts"] = ports;
    }),
    breaks(Code::ServingPoolShape, "has apiVersion inference.networking.x-k8s.io/v1alpha2", SINGLE, |all| {
        object(all, "InferencePool", "chat")["apiVersion"] = json!("inference.networking.x-k8s.io/v1alpha2");
    }),
    breaks(Code::ServingPoolShape, "`matchLabels`", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["selector"]["matchExpressions"] = json!([]);
    }),
    breaks(Code::ServingPoolShape, "`grpc` is not a protocol", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["appProtocol"] = json!("grpc");
    }),
    breaks(Code::ServingPoolShape, "selects by `app`, which is no label", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["selector"]["matchLabels"]["app"] = json!("two words");
    }),
    warns(Code::ServingPoolShape, "asks a Deployment for its picker", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["endpointPickerRef"]["kind"] = json!("Deployment");
    }),
    warns(Code::ServingPoolShape, "written by a controller", SINGLE, |all| {
        all.push(json!({"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "InferencePoolImport", "metadata": {"name": "chat", "namespace": "models"}}));
    }),
    breaks(Code::ServingPoolShape, "the priority of InferenceObjective/premium", SINGLE, |all| {
        object(all, "InferenceObjective", "premium")["spec"]["priority"] = json!(3_000_000_000u32);
    }),
    breaks(Code::ServingPoolShape, "has a rule without fitting targets", SINGLE, |all| {
        object(all, "InferenceModelRewrite", "chat")["spec"]["rules"][0]["targets"][0]["weight"] = json!(0);
    }),
    breaks(Code::ServingPoolEmpty, "no pods have the labels", SINGLE, |all| {
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
    breaks(Code::ServingPoolPorts, "so its ranks stay idle", WIDE, |all| {
        object(all, "InferencePool", "chat")["spec"]["targetPorts"] = json!([{"number": 8000}]);
    }),
    breaks(Code::ServingHeadlessSelected, "the workers of LeaderWorkerSet/chat-decode", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["labels"]["app"] = json!("chat");
    }),
    breaks(Code::ServingPoolMissing, "InferencePool/chats, which is not there", SINGLE, |all| {
        object(all, "HTTPRoute", "chat")["spec"]["rules"][0]["backendRefs"][0]["name"] = json!("chats");
    }),
    breaks(Code::ServingPoolMissing, "in the group `inference.networking.x-k8s.io`", SINGLE, |all| {
        object(all, "InferenceObjective", "premium")["spec"]["poolRef"]["group"] = json!("inference.networking.x-k8s.io");
    }),
    breaks(Code::ServingPickerMissing, "asks Service/picker, which is not there", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["endpointPickerRef"]["name"] = json!("picker");
        all.retain(|object| object["kind"] != "DestinationRule");
    }),
    breaks(Code::ServingPickerMissing, "has no port 9010", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["endpointPickerRef"]["port"]["number"] = json!(9010);
    }),
    breaks(Code::ServingPickerMissing, "selects no picker", SINGLE, |all| {
        object(all, "Service", "chat-epp")["spec"]["selector"] = json!({"app": "another"});
    }),
    breaks(Code::ServingPickerPort, "leads to port 9010 of Deployment/chat-epp, which listens on 9002", SINGLE, |all| {
        object(all, "InferencePool", "chat")["spec"]["endpointPickerRef"]["port"]["number"] = json!(9010);
        object(all, "Service", "chat-epp")["spec"]["ports"][0]["port"] = json!(9010);
    }),
    breaks(Code::ServingPickerPool, "`--pool-name` is `other`", MP, |all| {
        let container = engine(object(all, "Deployment", "chat-epp"), POD);
        let args = container["args"].as_array_mut().expect("arguments");
        args[1] = json!("other");
    }),
    breaks(Code::ServingPickerRights, "may not watch pods", SINGLE, |all| {
        object(all, "Role", "chat-epp-sa")["rules"][0]["verbs"] = json!(["get", "list"]);
    }),
    breaks(Code::ServingPickerRights, "may not get, create, update leases", SINGLE, |all| {
        all.retain(|object| object["metadata"]["name"] != "chat-epp-leader-election-binding");
    }),
    breaks(Code::ServingPickerReplicas, "updated pod by pod", SINGLE, |all| {
        object(all, "Deployment", "chat-epp")["spec"]["strategy"] = json!({"type": "RollingUpdate"});
    }),
    breaks(Code::ServingPickerReplicas, "readinessProbe asks for `inference-extension`", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-epp"), POD)["readinessProbe"]["grpc"]["service"] = json!("inference-extension");
    }),
    breaks(Code::ServingPickerConfig, "no plugin `queue-scorerr`", MP, |all| {
        configure(all, |text| text.replace("type: queue-scorer", "type: queue-scorerr").replace("pluginRef: queue-scorer", "pluginRef: queue-scorerr"));
    }),
    warns(Code::ServingPickerConfig, "no plugin `our-own`", MP, |all| {
        configure(all, |text| text.replace("queue-scorer", "our-own"));
    }),
    breaks(Code::ServingPickerConfig, "no plugin named `queue`", MP, |all| {
        configure(all, |text| text.replace("pluginRef: queue-scorer", "pluginRef: queue"));
    }),
    breaks(Code::ServingPickerConfig, "two plugins have the name", MP, |all| {
        configure(all, |text| text.replace("- type: queue-scorer", "- type: queue-scorer\n- type: queue-scorer"));
    }),
    breaks(Code::ServingPickerConfig, "`flowcontrol` is not a feature gate", MP, |all| {
        configure(all, |text| text.replace("plugins:\n- type", "featureGates: [flowcontrol]\nplugins:\n- type"));
    }),
    breaks(Code::ServingPickerConfig, "has no `pluginz`", MP, |all| {
        configure(all, |text| format!("{text}pluginz: []\n"));
    }),
    breaks(Code::ServingPickerConfig, "is experimental", MP, |all| {
        configure(all, |text| text.replace("queue-scorer", "session-affinity-scorer"));
    }),
    breaks(Code::ServingPickerConfig, "which of the 2 profiles runs", WIDE, |all| {
        configure(all, |text| text.replace("type: disagg-profile-handler", "type: random-picker"));
    }),
    breaks(Code::ServingPickerConfig, "asks the decider `sometimes`", WIDE, |all| {
        configure(all, |text| text.replace("prefill: always-disagg-pd-decider", "prefill: sometimes"));
    }),
    breaks(Code::ServingPickerConfig, "cannot be read: there is no file plugins.yaml", MP, |all| {
        let container = engine(object(all, "Deployment", "chat-epp"), POD);
        for arg in container["args"].as_array_mut().expect("arguments") {
            if arg == "/config/default-plugins.yaml" {
                *arg = json!("/config/plugins.yaml");
            }
        }
    }),
    breaks(Code::ServingPickerConfig, "cannot be read: line 1", MP, |all| {
        configure(all, |_| "plugins: [".to_owned());
    }),
    breaks(Code::ServingPickerReplicas, "2 pods that know nothing of each other", MP, |all| {
        object(all, "Deployment", "chat-epp")["spec"]["replicas"] = json!(2);
    }),
    warns(Code::ServingPickerReplicas, "3 pods that know nothing of each other", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-epp"), POD)["args"].as_array_mut().expect("arguments").push(json!("--ha-enable-leader-election=false"));
    }),
    breaks(Code::ServingPickerFlags, "has `--pool-name` and `--endpoint-selector`", MP, |all| {
        engine(object(all, "Deployment", "chat-epp"), POD)["args"].as_array_mut().expect("arguments").push(json!("--endpoint-selector=app=chat"));
    }),
    breaks(Code::ServingPickerFlags, "has `--config-file` and `--config-text`", MP, |all| {
        engine(object(all, "Deployment", "chat-epp"), POD)["args"].as_array_mut().expect("arguments").push(json!("--config-text=x"));
    }),
    breaks(Code::ServingPickerFlags, "the readinessProbe of Deployment/chat-epp asks port 9004, and it answers on 9003", MP, |all| {
        engine(object(all, "Deployment", "chat-epp"), POD)["readinessProbe"]["grpc"]["port"] = json!(9004);
    }),
    breaks(Code::ServingPickerRights, "may not create tokenreviews.authentication.k8s.io", SINGLE, |all| {
        all.retain(|object| object["kind"] != "ClusterRole");
    }),
    breaks(Code::ServingPickerRights, "the sidecar of LeaderWorkerSet/chat-decode may not get, list, watch inferencepools.inference.networking.k8s.io", WIDE, |all| {
        let sidecar = object(all, "LeaderWorkerSet", "chat-decode").pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0");
        flag(sidecar.expect("a sidecar"), "--enable-ssrf-protection");
    }),
    breaks(Code::ServingPickerConfig, "a reference has no `wieght`", MP, |all| {
        configure(all, |text| text.replacen("weight: 2", "wieght: 2", 1));
    }),
    breaks(Code::ServingPickerConfig, "a flow control has no `maxRequest`", MP, |all| {
        configure(all, |text| format!("{text}flowControl: {{maxRequest: 5}}\n"));
    }),
    breaks(Code::ServingPickerConfig, "there is no plugin named `limits`", MP, |all| {
        configure(all, |text| format!("{text}flowControl: {{usageLimitPolicyPluginRef: limits}}\n"));
    }),
    breaks(Code::ServingPickerConfig, "nothing says which of the 2 profiles runs", MP, |all| {
        configure(all, |text| format!("{}- name: other\n", text.replacen("plugins:", "plugins:\n- type: single-profile-handler", 1)));
    }),
    breaks(Code::ServingPickerConfig, "`second` asks the decider `nobody`", WIDE, |all| {
        configure(all, |text| text.replacen("plugins:", "plugins:\n- name: second\n  type: disagg-profile-handler\n  parameters: {deciders: {prefill: nobody}}", 1));
    }),
    breaks(Code::ServingPickerConfig, "two profiles have the name `prefill`", WIDE, |all| {
        configure(all, |text| text.replace("- name: decode", "- name: prefill"));
    }),
    warns(Code::ServingDeprecated, "`disagg-headers-handler` is gone in llm-d-router 0.11", WIDE, |all| {
        configure(all, |text| text.replace("plugins:\n- type: always", "plugins:\n- type: disagg-headers-handler\n- type: always"));
    }),
    warns(Code::ServingDeprecated, "`--vllm-port` is an old name", WIDE, |all| {
        let sidecar = object(all, "LeaderWorkerSet", "chat-decode").pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0").expect("a sidecar");
        flag(sidecar, "--model-server-port=8200");
        let args = sidecar["args"].as_array_mut().expect("arguments");
        args.retain(|arg| arg != "--model-server-port=8200");
        args.push(json!("--vllm-port=8200"));
    }),
    breaks(Code::ServingRoles, "no pod of InferencePool/chat has a role for prefill", WIDE, |all| {
        all.retain(|object| object["metadata"]["name"] != "chat-prefill");
    }),
    breaks(Code::ServingRoles, "their role is `prefill`", WIDE, |all| {
        configure(all, |text| text.replace("pluginRef: prefill-filter", "pluginRef: queue-scorer").replace("pluginRef: decode-filter", "pluginRef: queue-scorer"));
    }),
    breaks(Code::ServingRoles, "which the pods of Deployment/extra have not", MP, |all| {
        let index = "leaderworkerset.sigs.k8s.io/worker-index";
        object(all, "InferencePool", "chat")["spec"]["selector"]["matchLabels"][index] = json!("0");
        let mut template = object(all, "LeaderWorkerSet", "chat-decode")["spec"]["leaderWorkerTemplate"]["leaderTemplate"].clone();
        template["spec"]["containers"][0]["command"] = json!(["vllm", "serve"]);
        template["spec"]["containers"][0]["args"] = json!(["example/model", "--tensor-parallel-size=8", "--port=8000"]);
        all.push(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "extra", "namespace": "models"}, "spec": {"template": template}}));
    }),
    breaks(Code::ServingModel, "`token-producer` is about `other/model`", MP, |all| {
        configure(all, |text| text.replace("- type: queue-scorer", "- type: token-producer\n  parameters: {modelName: other/model}\n- type: queue-scorer"));
    }),
    breaks(Code::ServingModel, "serve `example/model` and `other`", WIDE, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-prefill"), WORKER), "--served-model-name=other");
    }),
    breaks(Code::ServingDevices, "asks for 2 × nvidia.com/gpu, and its ranks use 4", SINGLE, |all| {
        flag(engine(object(all, "Deployment", "chat-decode"), POD), "--tensor-parallel-size=4");
    }),
    breaks(Code::ServingDevices, "asks for 4 × nvidia.com/gpu, and its ranks use 8", MP, |all| {
        engine(object(all, "LeaderWorkerSet", "chat-decode"), LEADER)["resources"]["limits"]["nvidia.com/gpu"] = json!("4");
    }),
    breaks(Code::ServingDevices, "which are 8 devices, and its ranks use 16", TPU, |all| {
        let set = object(all, "Deployment", "chat-decode");
        set["spec"]["template"]["spec"]["nodeSelector"] = json!({"cloud.google.com/gke-tpu-accelerator": "tpu7x"});
        flag(engine(set, POD), "--tensor-parallel-size=16");
    }),
    breaks(Code::ServingGroupSize, "waits for 3 pods, and a group has 2", MP, |all| {
        for pod in [LEADER, WORKER] {
            let container = engine(object(all, "LeaderWorkerSet", "chat-decode"), pod);
            flag(container, "--nnodes=3");
            flag(container, "--pipeline-parallel-size=3");
        }
    }),
    breaks(Code::ServingGroupSize, "2 pods with 8 ranks each are not the 9 ranks", WIDE, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER), "--data-parallel-size=9");
    }),
    breaks(Code::ServingJoin, "are not told where their leader is", MP, |all| {
        script(object(all, "LeaderWorkerSet", "chat-decode"), WORKER, " --master-addr=\"$leader\"", "");
    }),
    breaks(Code::ServingJoin, "has `--node-rank` 0, and its place is 1", MP, |all| {
        script(object(all, "LeaderWorkerSet", "chat-decode"), WORKER, " --node-rank=\"$LWS_WORKER_INDEX\"", "");
    }),
    breaks(Code::ServingJoin, "workers of LeaderWorkerSet/chat-decode start servers of their own", MP, |all| {
        unflag(engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER), "--headless");
    }),
    breaks(Code::ServingJoin, "workers of LeaderWorkerSet/chat-decode start servers of their own", INTERNAL, |all| {
        unflag(engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER), "--headless");
    }),
    breaks(Code::ServingJoin, "are not told where their leader is", HYBRID, |all| {
        script(object(all, "LeaderWorkerSet", "chat-decode"), WORKER, " --data-parallel-address=\"$leader\"", "");
    }),
    breaks(Code::ServingJoin, "the first worker of LeaderWorkerSet/chat-decode has `--data-parallel-start-rank` 0, and its place is 8", WIDE, |all| {
        script(object(all, "LeaderWorkerSet", "chat-decode"), WORKER, "LWS_WORKER_INDEX * 8", "0");
    }),
    breaks(Code::ServingJoin, "has `--data-parallel-start-rank` 0, and its place is 8", INTERNAL, |all| {
        script(object(all, "LeaderWorkerSet", "chat-decode"), WORKER, " --data-parallel-start-rank=\"$((LWS_WORKER_INDEX * 8))\"", "");
    }),
    warns(Code::ServingJoin, "each of the 2 pods of LeaderWorkerSet/chat-decode runs an engine of its own", MP, |all| {
        for pod in [LEADER, WORKER] {
            let container = engine(object(all, "LeaderWorkerSet", "chat-decode"), pod);
            container["command"] = json!(["vllm", "serve"]);
            container["args"] = json!(["example/model", "--tensor-parallel-size=8"]);
        }
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["labels"]["app"] = json!("chat");
    }),
    breaks(Code::ServingEngineFlags, "only one rank in a pod", HYBRID, |all| {
        let set = object(all, "LeaderWorkerSet", "chat-decode");
        script(set, WORKER, "LWS_WORKER_INDEX * 8", "LWS_WORKER_INDEX");
        let container = engine(set, WORKER);
        unflag(container, "--data-parallel-hybrid-lb");
        for text in ["--tensor-parallel-size=8", "--data-parallel-size=2", "--data-parallel-size-local=1", "--data-parallel-multi-port-external-lb"] {
            flag(container, text);
        }
    }),
    breaks(Code::ServingEngineFlags, "`--api-server-count` servers at each", WIDE, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-prefill"), WORKER), "--api-server-count=8");
    }),
    breaks(Code::ServingEngineFlags, "several ways to share requests", WIDE, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-prefill"), WORKER), "--data-parallel-hybrid-lb");
    }),
    breaks(Code::ServingEngineFlags, "the supervisor's port is that of a rank", WIDE, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER), "--data-parallel-supervisor-port=8203");
    }),
    breaks(Code::ServingEngineFlags, "is headless, and has `--api-server-count` servers", INTERNAL, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER), "--api-server-count=8");
    }),
    breaks(Code::ServingEngineFlags, "is headless, and its ranks have servers", HYBRID, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER), "--headless");
    }),
    breaks(Code::ServingRay, "which the image `vllm/vllm-openai:v0.23.0@sha256", RAY, |all| {
        for pod in [LEADER, WORKER] {
            let container = engine(object(all, "LeaderWorkerSet", "chat-decode"), pod);
            container["image"] = json!(IMAGE.replace("example.com/vllm:v1", "vllm/vllm-openai:v0.23.0"));
        }
    }),
    breaks(Code::ServingStartup, "workers are made when the leader is ready", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["startupPolicy"] = json!("LeaderReady");
    }),
    breaks(Code::ServingGroup, "cannot be the name", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["metadata"]["name"] = json!("7-chats");
    }),
    breaks(Code::ServingGroup, "neither take a group away", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]["maxUnavailable"] = json!(0);
    }),
    breaks(Code::ServingGroup, "groups of 0 pods", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["leaderWorkerTemplate"]["size"] = json!(0);
    }),
    breaks(Code::ServingGroup, "`Never` is not a `restartPolicy`", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["leaderWorkerTemplate"]["restartPolicy"] = json!("Never");
    }),
    breaks(Code::ServingGroup, "`networkConfig` has no", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["networkConfig"] = json!({});
    }),
    breaks(Code::ServingGroup, "the set has 1 roles", SET, |all| {
        object(all, "DisaggregatedSet", "chat")["spec"]["roles"].as_array_mut().expect("roles").truncate(1);
    }),
    breaks(Code::ServingGroup, "number of slices", SET, |all| {
        object(all, "DisaggregatedSet", "chat")["spec"]["slices"] = json!(0);
    }),
    breaks(Code::ServingKserve, "9 ranks cannot be shared evenly by pods of 8", KSERVE, |all| {
        object(all, "LLMInferenceService", "chat")["spec"]["parallelism"]["data"] = json!(9);
    }),
    breaks(Code::ServingKserve, "stages of a pipeline and ranks", KSERVE, |all| {
        object(all, "LLMInferenceService", "chat")["spec"]["parallelism"]["pipeline"] = json!(2);
    }),
    breaks(Code::ServingKserve, "only one of `data` and `dataLocal`", KSERVE, |all| {
        object(all, "LLMInferenceService", "chat")["spec"]["parallelism"]["dataLocal"] = json!(null);
    }),
    breaks(Code::ServingKserve, "`tensor` is not a positive", KSERVE, |all| {
        object(all, "LLMInferenceService", "chat")["spec"]["parallelism"]["tensor"] = json!(0);
    }),
    breaks(Code::ServingKserve, "asks for 8 × nvidia.com/gpu, and its ranks use 16", KSERVE, |all| {
        object(all, "LLMInferenceService", "chat")["spec"]["parallelism"]["tensor"] = json!(2);
    }),
    warns(Code::ServingRoute, "HTTPRoute/chat and HTTPRoute/other both take `PathPrefix /` of Gateway/gateway", SINGLE, |all| {
        let mut second = object(all, "HTTPRoute", "chat").clone();
        second["metadata"]["name"] = json!("other");
        all.push(second);
    }),
    warns(Code::ServingTwice, "Deployment/chat-epp is there twice", MP, |all| {
        let second = object(all, "Deployment", "chat-epp").clone();
        all.push(second);
    }),
    Breaking { severity: Severity::Note, ..breaks(Code::ServingUnread, "the pods of RayCluster/chat are not looked at", MP, |all| {
        let template = object(all, "LeaderWorkerSet", "chat-decode")["spec"]["leaderWorkerTemplate"]["leaderTemplate"].clone();
        all.push(json!({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "chat", "namespace": "models"}, "spec": {"headGroupSpec": {"template": template}}}));
    }) },
    breaks(Code::ServingGroup, "do not divide into subgroups of 3", MP, |all| {
        object(all, "LeaderWorkerSet", "chat-decode")["spec"]["leaderWorkerTemplate"]["subGroupPolicy"] = json!({"subGroupSize": 3});
    }),
    breaks(Code::ServingGroup, "some roles of the set have no replicas", SET, |all| {
        object(all, "DisaggregatedSet", "chat")["spec"]["roles"][1]["spec"]["replicas"] = json!(0);
    }),
    Breaking { severity: Severity::Note, ..breaks(Code::ServingLeaderAddress, "without waiting", MP, |all| {
        let container = engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER);
        container["command"][2] = json!("exec vllm serve \"$@\" --master-addr=$LWS_LEADER_ADDRESS");
    }) },
    breaks(Code::ServingSidecar, "looks for the engine on port 8300", WIDE, |all| {
        let sidecar = object(all, "LeaderWorkerSet", "chat-decode").pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0");
        flag(sidecar.expect("a sidecar"), "--model-server-port=8300");
    }),
    breaks(Code::ServingSidecar, "the sidecar has 4 ports, and the engine behind it 8", WIDE, |all| {
        let sidecar = object(all, "LeaderWorkerSet", "chat-decode").pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0");
        flag(sidecar.expect("a sidecar"), "--data-parallel-size=4");
    }),
    breaks(Code::ServingSidecar, "prefill is never asked", WIDE, |all| {
        let set = object(all, "LeaderWorkerSet", "chat-decode");
        set["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["initContainers"] = json!([]);
        flag(engine(set, WORKER), "--port=8000");
    }),
    breaks(Code::ServingSidecar, "over TLS only", WIDE, |all| {
        let sidecar = object(all, "LeaderWorkerSet", "chat-decode").pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0");
        unflag(sidecar.expect("a sidecar"), "--secure-proxy=false");
    }),
    breaks(Code::ServingSidecar, "waits for its sidecar to end", WIDE, |all| {
        let set = object(all, "LeaderWorkerSet", "chat-decode");
        let sidecar = set.pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0").expect("a sidecar");
        sidecar["restartPolicy"] = json!(null);
        flag(engine(set, WORKER), "--port=8000");
    }),
    breaks(Code::ServingSidecarFlag, "no flag `--connector` any more", WIDE, |all| {
        let sidecar = object(all, "LeaderWorkerSet", "chat-decode").pointer_mut("/spec/leaderWorkerTemplate/workerTemplate/spec/initContainers/0");
        flag(sidecar.expect("a sidecar"), "--connector=nixlv2");
    }),
    breaks(Code::ServingPortClash, "both listen on port 8000–8007", WIDE, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER), "--port=8000");
    }),
    breaks(Code::ServingProbe, "asks port 8080, and the engine listens on 8000", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-decode"), POD)["livenessProbe"]["httpGet"]["port"] = json!(8080);
    }),
    breaks(Code::ServingProbe, "asks port `http`", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-decode"), POD)["livenessProbe"]["httpGet"]["port"] = json!("http");
    }),
    breaks(Code::ServingProbe, "workers without a server have a readinessProbe", MP, |all| {
        engine(object(all, "LeaderWorkerSet", "chat-decode"), WORKER)["readinessProbe"] = json!({"httpGet": {"path": "/health", "port": 8000}});
    }),
    breaks(Code::ServingImage, "`REPLACE_IMAGE` stands for another", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-decode"), POD)["image"] = json!("REPLACE_IMAGE");
    }),
    warns(Code::ServingImage, "`epp` has no image", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-epp"), POD)["image"] = json!("");
    }),
    warns(Code::ImageNotPinned, "named by a tag only", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-decode"), POD)["image"] = json!("vllm/vllm-openai:v1");
    }),
    warns(Code::ImageNotPinned, "the image `example.com/model:1` is named by a tag only", SINGLE, |all| {
        object(all, "Deployment", "chat-decode")["spec"]["template"]["spec"]["volumes"] = json!([
            {"name": "model", "image": {"reference": "example.com/model:1"}},
            {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
        ]);
    }),
    warns(Code::ServingSharedMemory, "64 MiB of shared memory", SINGLE, |all| {
        engine(object(all, "Deployment", "chat-decode"), POD)["volumeMounts"] = json!([]);
    }),
    breaks(Code::ServingPair, "`--block-size` of prefill is `64`, and of decode the default", WIDE, |all| {
        flag(engine(object(all, "LeaderWorkerSet", "chat-prefill"), WORKER), "--block-size=64");
    }),
    warns(Code::ServingPair, "prefill has the image", WIDE, |all| {
        let image = IMAGE.replace("v1", "v2");
        engine(object(all, "LeaderWorkerSet", "chat-prefill"), WORKER)["image"] = json!(image);
    }),
    breaks(Code::ServingAutoscaler, "scales Deployment/chat, which is not there", SINGLE, |all| {
        object(all, "HorizontalPodAutoscaler", "chat-decode")["spec"]["scaleTargetRef"]["name"] = json!("chat");
    }),
    breaks(Code::ServingAutoscaler, "both scale Deployment/chat-decode", SINGLE, |all| {
        let mut second = object(all, "HorizontalPodAutoscaler", "chat-decode").clone();
        second["metadata"]["name"] = json!("second");
        all.push(second);
    }),
    warns(Code::ServingAutoscaler, "says how many replicas", SINGLE, |all| {
        object(all, "Deployment", "chat-decode")["spec"]["replicas"] = json!(2);
    }),
    warns(Code::ServingDisruption, "never lets a pod be evicted", SINGLE, |all| {
        object(all, "PodDisruptionBudget", "chat-decode")["spec"]["maxUnavailable"] = json!(0);
    }),
    breaks(Code::ServingDestination, "is about chat-epp.other.svc", SINGLE, |all| {
        object(all, "DestinationRule", "chat-epp")["spec"]["host"] = json!("chat-epp.other.svc.cluster.local");
    }),
    breaks(Code::ServingDestination, "how to trust the picker", SINGLE, |all| {
        object(all, "DestinationRule", "chat-epp")["spec"]["trafficPolicy"]["tls"] = json!({"mode": "SIMPLE"});
    }),
];

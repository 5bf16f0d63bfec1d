//! Pods of engines that do not start or are not reached, each with a valid counterpart.

use super::defects::{all_found, check, list};
use super::{engines, groups, objects, policies, routes, selectors};
use crate::diag::{Diagnostic, Severity, human};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// A change of the pods, with the code and a part of the message that must report it; no code if nothing
/// but notes may, and `!` if no finding may have this message.
pub(super) type Row = (&'static str, Json, Json, Vec<Json>, &'static str, &'static str);

pub(super) const DIGEST: &str =
    "sha256:0000000000000000000000000000000000000000000000000000000000000000";

pub(super) fn image(name: &str) -> String {
    format!("{name}@{DIGEST}")
}

/// Merges a patch into a value; null removes (RFC 7386).
pub(super) fn merge(value: &mut Json, patch: &Json) {
    let Some(patch) = patch.as_object() else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    for (key, inner) in patch {
        match inner {
            Json::Null => drop(value.as_object_mut().expect("a map").remove(key)),
            _ => merge(&mut value[key], inner),
        }
    }
}

/// Returns a workload of one engine with changes of its container and of the whole object.
pub(super) fn workload(container: &Json, whole: &Json) -> Json {
    let probe = json!({"httpGet": {"path": "/health", "port": 8000}});
    let mut engine = json!({
        "name": "vllm",
        "image": image("vllm/vllm-openai:v0.33.0"),
        "command": ["vllm", "serve", "example/chat-8B"],
        "resources": {"limits": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": 1}},
        "startupProbe": {"httpGet": probe["httpGet"], "failureThreshold": 60},
        "readinessProbe": probe,
    });
    merge(&mut engine, container);
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "chat", "namespace": "models"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "chat"}},
            "template": {"metadata": {"labels": {"app": "chat"}}, "spec": {"containers": [engine]}},
        },
    });
    merge(&mut object, whole);
    object
}

/// Returns a patch of the pods of a workload.
pub(super) fn pods(spec: &Json) -> Json {
    json!({"spec": {"template": {"spec": spec}}})
}

pub(super) fn object(version: &str, kind: &str, name: &str, more: &Json) -> Json {
    let mut object = json!({"apiVersion": version, "kind": kind});
    object["metadata"] = json!({"name": name, "namespace": "models"});
    merge(&mut object, more);
    object
}

fn script(text: &str) -> Vec<Json> {
    vec![object("v1", "ConfigMap", "scripts", &json!({"data": {"run.sh": text}}))]
}

fn scaler(least: u32, query: &str) -> Vec<Json> {
    let metadata = json!({"query": query, "threshold": "5", "serverAddress": "http://prometheus"});
    let spec = json!({"scaleTargetRef": {"name": "chat"}, "minReplicaCount": least,
        "triggers": [{"type": "prometheus", "metadata": metadata}]});
    vec![object("keda.sh/v1alpha1", "ScaledObject", "chat", &json!({"spec": spec}))]
}

/// An autoscaler of Kubernetes with a metric of each pod.
fn counted(target: &Json) -> Vec<Json> {
    let pods = json!({"metric": {"name": "waiting"}, "target": target});
    let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "chat"});
    let spec = json!({"scaleTargetRef": reference, "maxReplicas": 4,
        "metrics": [{"type": "Pods", "pods": pods}]});
    vec![object("autoscaling/v2", "HorizontalPodAutoscaler", "chat", &json!({"spec": spec}))]
}

fn alerts(rules: &[Json]) -> Vec<Json> {
    let spec = json!({"groups": [{"name": "chat", "rules": rules}]});
    vec![object("monitoring.coreos.com/v1", "PrometheusRule", "chat", &json!({"spec": spec}))]
}

fn predictor(mode: &str) -> Vec<Json> {
    let ports = json!([{"containerPort": 8080}, {"containerPort": 9090}]);
    let container =
        json!({"name": "kserve-container", "image": image("example.com/server:1"), "ports": ports});
    let metadata = json!({"annotations": {"serving.kserve.io/deploymentMode": mode}});
    let spec = json!({"predictor": {"containers": [container]}});
    let whole = json!({"metadata": metadata, "spec": spec});
    vec![object("serving.kserve.io/v1beta1", "InferenceService", "own", &whole)]
}

fn monitor(port: u32) -> Vec<Json> {
    let spec = json!({"selector": {"matchLabels": {"app": "chat"}},
        "podMetricsEndpoints": [{"portNumber": port}]});
    vec![object("monitoring.coreos.com/v1", "PodMonitor", "chat", &json!({"spec": spec}))]
}

/// A pod of another program, behind a Service, with a policy for one of their ports.
fn isolated(port: &Json) -> Vec<Json> {
    let container = json!({"name": "cache", "image": image("example.com/cache:1"),
        "ports": [{"name": "http", "containerPort": 8080}]});
    let labels = json!({"app": "cache"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
    let deployment = json!({"spec": {"selector": {"matchLabels": labels}, "template": template}});
    let peers = json!([{"podSelector": {"matchLabels": labels}}]);
    let rule = json!({"ports": [{"port": port}], "from": peers});
    let spec = json!({"podSelector": {"matchLabels": labels}, "ingress": [rule]});
    let policy = object("networking.k8s.io/v1", "NetworkPolicy", "cache", &json!({"spec": spec}));
    let mut all = service(&json!({"ports": [{"port": 80, "targetPort": "http"}]}));
    all.extend([object("apps/v1", "Deployment", "cache", &deployment), policy]);
    all
}

/// A route to the pods in their namespace, with a Gateway of another one.
pub(super) fn routed(labels: &Json, class: &str, backend: &str) -> Vec<Json> {
    let selector = json!({"matchLabels": {"access": "models"}});
    let allowed = json!({"namespaces": {"from": "Selector", "selector": selector}});
    let listener =
        json!({"name": "http", "protocol": "HTTP", "port": 80, "allowedRoutes": allowed});
    let gateway = json!({"metadata": {"namespace": "edge"},
        "spec": {"gatewayClassName": class, "listeners": [listener]}});
    let group = if backend == "Service" { "" } else { "inference.networking.k8s.io" };
    let backend = json!({"group": group, "kind": backend, "name": "chat", "port": 8000});
    let spec = json!({"parentRefs": [{"name": "edge", "namespace": "edge"}],
        "rules": [{"backendRefs": [backend]}]});
    let mut all = service(&json!({"selector": {"app": "chat"}, "ports": [{"port": 8000}]}));
    all[0]["metadata"]["name"] = json!("chat");
    // Its picker is in other manifests.
    all.extend(service(&json!({"selector": {"app": "elsewhere"}, "ports": [{"port": 9002}]})));
    all[1]["metadata"]["name"] = json!("elsewhere");
    let pool = json!({"selector": {"matchLabels": {"app": "chat"}},
        "targetPorts": [{"number": 8000}],
        "endpointPickerRef": {"name": "elsewhere", "port": {"number": 9002}}});
    let route = |kind, name, more: &Json| object("gateway.networking.k8s.io/v1", kind, name, more);
    let metadata = json!({"namespace": null, "labels": labels});
    all.extend([
        object("v1", "Namespace", "models", &json!({"metadata": metadata})),
        route("Gateway", "edge", &gateway),
        route("HTTPRoute", "chat", &json!({"spec": spec})),
        object("inference.networking.k8s.io/v1", "InferencePool", "chat", &json!({"spec": pool})),
    ]);
    all
}

/// A router of SGLang that discovers prefill pods, and its rights.
fn router(prefill: &str, resource: &str) -> Vec<Json> {
    let module = ["python3", "-m", "sglang_router.launch_router", "--service-discovery"];
    let selector = format!("app={prefill}");
    let command: Vec<&str> = module
        .iter()
        .copied()
        .chain(["--pd-disaggregation", "--prefill-selector", &selector])
        .collect();
    let container =
        json!({"name": "router", "image": image("example.com/sglang:1"), "command": command});
    let labels = json!({"app": "router"});
    let pod = json!({"serviceAccountName": "router", "containers": [container]});
    let template = json!({"metadata": {"labels": labels}, "spec": pod});
    let deployment = json!({"spec": {"selector": {"matchLabels": labels}, "template": template}});
    let rule = json!({"apiGroups": [""], "resources": [resource], "verbs": ["list", "watch"]});
    let group = "rbac.authorization.k8s.io";
    let of_role = json!({"apiGroup": group, "kind": "Role", "name": "router"});
    let subject = json!({"kind": "ServiceAccount", "name": "router", "namespace": "models"});
    let version = format!("{group}/v1");
    let binding = json!({"roleRef": of_role, "subjects": [subject]});
    vec![
        object("v1", "ServiceAccount", "router", &json!({})),
        object(&version, "Role", "router", &json!({"rules": [rule]})),
        object(&version, "RoleBinding", "router", &binding),
        object("apps/v1", "Deployment", "router", &deployment),
    ]
}

/// A router of vLLM's production stack, with the account of a binding.
fn stack_router(selector: &str, account: &str) -> Vec<Json> {
    let mut all = router("", "pods");
    let words = ["--service-discovery=k8s", "--k8s-namespace=models", "--k8s-label-selector"];
    let container = &mut all[3]["spec"]["template"]["spec"]["containers"][0];
    container["image"] = json!(image("lmcache/lmstack-router:1"));
    container["command"] = json!(null);
    container["args"] = words.into_iter().chain([selector]).collect();
    all[2]["subjects"][0]["name"] = json!(account);
    all
}

/// A HorizontalPodAutoscaler by a metric, and the adapter that serves one.
fn adapted(name: &str, rule: &str) -> Vec<Json> {
    let config =
        format!("rules:\n- seriesQuery: 'vllm:num_requests_waiting{{pod!=\"\"}}'\n  {rule}\n");
    let metric =
        json!({"metric": {"name": name}, "target": {"type": "AverageValue", "averageValue": "5"}});
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "chat"});
    let spec = json!({"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 4,
        "metrics": [{"type": "Pods", "pods": metric}]});
    vec![
        object("v1", "ConfigMap", "adapter", &json!({"data": {"config.yaml": config}})),
        object("autoscaling/v2", "HorizontalPodAutoscaler", "chat", &json!({"spec": spec})),
    ]
}

/// A Service of the engine with a monitor that selects it by a label.
fn watched(key: &str) -> Vec<Json> {
    let ports = json!([{"name": "http", "port": 8000}]);
    let labels = json!({"labels": {"example.com/team": "chat"}});
    let service =
        json!({"metadata": labels, "spec": {"selector": {"app": "chat"}, "ports": ports}});
    let spec = json!({"selector": {"matchLabels": {key: "chat"}}, "endpoints": [{"port": "http"}]});
    vec![
        object("v1", "Service", "chat", &service),
        object("monitoring.coreos.com/v1", "ServiceMonitor", "other", &json!({"spec": spec})),
    ]
}

/// The Service of a StatefulSet, which publishes names of pods that are not ready, or does not.
fn governing(publishes: bool) -> Vec<Json> {
    let spec = json!({"clusterIP": "None", "publishNotReadyAddresses": publishes,
        "selector": {"app": "chat"}, "ports": [{"port": 8000}]});
    vec![object("v1", "Service", "chat", &json!({"spec": spec}))]
}

/// A Secret that a controller makes of another store.
fn external(more: &Json) -> Vec<Json> {
    let mut spec = json!({"target": {"name": "key"}, "data": [{"secretKey": "HF_TOKEN"}]});
    merge(&mut spec, more);
    vec![object("external-secrets.io/v1", "ExternalSecret", "store", &json!({"spec": spec}))]
}

/// A predictor whose engine loads a model that KServe fetches.
fn fetched(model: &str) -> Vec<Json> {
    let mut one = workload(
        &json!({"name": "kserve-container", "command": ["vllm", "serve", model]}),
        &json!({}),
    );
    let container = &mut one["spec"]["template"]["spec"]["containers"][0];
    container["env"] = json!([{"name": "STORAGE_URI", "value": "pvc://models/chat"}]);
    let spec = json!({"predictor": {"containers": [container]}});
    vec![object("serving.kserve.io/v1beta1", "InferenceService", "own", &json!({"spec": spec}))]
}

fn quota(hard: &Json, limits: bool) -> Vec<Json> {
    let quota = object("v1", "ResourceQuota", "team", &json!({"spec": {"hard": hard}}));
    let range = object("v1", "LimitRange", "team", &json!({"spec": {"limits": []}}));
    [quota].into_iter().chain(limits.then_some(range)).collect()
}

fn namespace(level: &str) -> Vec<Json> {
    let labels = json!({"pod-security.kubernetes.io/enforce": level});
    let metadata = json!({"name": "models", "namespace": null, "labels": labels});
    vec![object("v1", "Namespace", "models", &json!({"metadata": metadata}))]
}

fn service(more: &Json) -> Vec<Json> {
    let mut spec = json!({"selector": {"app": "cache"}, "ports": [{"port": 65432}]});
    merge(&mut spec, more);
    vec![object("v1", "Service", "cache", &json!({"spec": spec}))]
}

/// A pod that the level `restricted` allows.
fn restricted() -> Json {
    json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": true, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}})
}

fn rows() -> Vec<Row> {
    let none = || json!({});
    let env = |first: Json, second: Json| json!({"env": [first, second]});
    let ip = || json!({"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}});
    let host = || json!({"name": "VLLM_HOST_IP", "value": "$(POD_IP)"});
    let limits = |name: &str, count: u32| json!({"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": null, name: count});
    let resources = |name: &str, count| json!({"resources": {"limits": limits(name, count)}});
    let of = |name: &str, resource: &str| json!({"image": image(name), "resources": {"limits": limits(resource, 1)}});
    let serve = |words: &[&str]| {
        let all = ["vllm", "serve", "example/chat-8B"].iter().chain(words);
        json!({"command": all.collect::<Vec<_>>()})
    };
    let node =
        |label: &str| pods(&json!({"nodeSelector": {"cloud.google.com/gke-accelerator": label}}));
    let as_user = |user: &Json| pods(&json!({"securityContext": user}));
    let claims =
        || pods(&json!({"resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "two"}]}));
    let run = |command: &[&str]| json!({"command": command, "volumeMounts": [{"name": "scripts", "mountPath": "/scripts"}]});
    let scripts =
        || pods(&json!({"volumes": [{"name": "scripts", "configMap": {"name": "scripts"}}]}));
    let started = || {
        let map = json!({"name": "scripts", "defaultMode": 0o755});
        pods(&json!({"volumes": [{"name": "scripts", "configMap": map}]}))
    };
    let cache = |size: &str| {
        let volume = json!({"name": "cache", "emptyDir": {"sizeLimit": size}});
        pods(&json!({"volumes": [volume]}))
    };
    let cached = || {
        let mount = json!({"name": "cache", "mountPath": "/root/.cache"});
        json!({"command": ["vllm", "serve", "example/chat-8B"], "volumeMounts": [mount]})
    };
    let read_only = |path: &str| {
        json!({"securityContext": {"readOnlyRootFilesystem": true},
            "volumeMounts": [{"name": "cache", "mountPath": path}]})
    };
    let models = |path: &str| {
        json!({"readinessProbe": {"httpGet": {"path": path}},
        "envFrom": [{"secretRef": {"name": "key"}}]})
    };
    let key = || vec![object("v1", "Secret", "key", &json!({"stringData": {"VLLM_API_KEY": "x"}}))];
    let sglang = |words: &[&str]| {
        let start = [
            "python3",
            "-m",
            "sglang.launch_server",
            "--host=0.0.0.0",
            "--port=8000",
            "--model-path=example/chat-8B",
        ];
        let command: Vec<&str> = start.iter().chain(words).copied().collect();
        json!({"image": image("lmsysorg/sglang:v0.5.13"), "command": command})
    };
    let nixl = |tensor: u32, role: &str| {
        let config = format!(
            "--kv-transfer-config={{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"{role}\"}}"
        );
        let tensor_flag = format!("--tensor-parallel-size={tensor}");
        let mut one = serve(&[&config, &tensor_flag]);
        one["image"] = json!(image("vllm/vllm-openai:v0.11.0"));
        one["env"] = json!([{"name": "VLLM_NIXL_SIDE_CHANNEL_HOST",
            "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]);
        one["resources"] = json!({"limits": limits("nvidia.com/gpu", tensor)});
        one["volumeMounts"] = json!([{"name": "shm", "mountPath": "/dev/shm"}]);
        one
    };
    let local = |port: u32| {
        let mut one = serve(&["--host=127.0.0.1"]);
        one["startupProbe"] = json!({"httpGet": null, "exec": {"command": ["curl", "-f", "http://127.0.0.1:8000/health"]}});
        one["readinessProbe"] = json!({"httpGet": {"scheme": "HTTPS", "port": port}});
        one
    };
    let adapters = |words: &str| serve(&["--enable-lora", "--lora-modules", words]);
    let ranked = || {
        let command = "exec vllm serve example/chat-8B --nnodes 2 --node-rank ${HOSTNAME##*-} \
            --master-addr chat-0.chat --tensor-parallel-size 2";
        let mut one = json!({"command": ["sh", "-c", command]});
        one["volumeMounts"] = json!([{"name": "shm", "mountPath": "/dev/shm"}]);
        one
    };
    let several = || {
        let volume = json!({"name": "shm", "emptyDir": {"medium": "Memory"}});
        let mut whole = pods(&json!({"volumes": [volume]}));
        merge(
            &mut whole,
            &json!({"kind": "StatefulSet",
            "spec": {"serviceName": "chat", "podManagementPolicy": "Parallel"}}),
        );
        whole
    };
    let token = |key: &str| {
        let source = json!({"secretKeyRef": {"name": "key", "key": key}});
        json!({"env": [{"name": "HF_TOKEN", "valueFrom": source}]})
    };
    let behind = |port: u32| {
        let proxy = json!({"name": "proxy", "image": image("example.com/proxy:1"),
            "restartPolicy": "Always", "ports": [{"containerPort": port}]});
        pods(&json!({"initContainers": [proxy]}))
    };
    let role = |name: &str| {
        let labels = json!({"app": name, "llm-d.ai/role": name});
        let mut whole =
            pods(&json!({"volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}]}));
        merge(
            &mut whole,
            &json!({"metadata": {"name": name}, "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": labels}}}}),
        );
        whole
    };
    let group = |probe: Json| {
        let engine = workload(&serve(&["--nnodes=2", "--node-rank=0", "--master-addr=x"]), &none());
        let mut container = engine["spec"]["template"]["spec"]["containers"][0].clone();
        merge(&mut container, &json!({"startupProbe": null, "readinessProbe": null}));
        container["readinessProbe"] = probe;
        let template = json!({"leaderTemplate": {"spec": {"containers": [container]}}, "size": 2,
            "workerTemplate": {"spec": {"containers": [{"name": "w", "image": image("example.com/w:1")}]}}});
        let spec = json!({"startupPolicy": "LeaderReady", "leaderWorkerTemplate": template});
        vec![object(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            "set",
            &json!({"spec": spec}),
        )]
    };
    let accounts = || {
        let other = json!({"metadata": {"name": "other"}, "spec": {"template": {"spec": {"serviceAccountName": "chat"}}}});
        vec![object("v1", "ServiceAccount", "chat", &none()), workload(&none(), &other)]
    };
    let url = |url: &str| json!({"env": [{"name": "LMCACHE_REMOTE_URL", "value": url}]});
    let set = |policy: &str| json!({"kind": "StatefulSet", "spec": {"serviceName": "chat", "podManagementPolicy": policy}});
    let nodes = || {
        let mut nodes = serve(&["--nnodes=2", "--node-rank=$(RANK)", "--master-addr=chat-0.chat"]);
        nodes["env"] = json!([{"name": "RANK", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['apps.kubernetes.io/pod-index']"}}}]);
        nodes
    };
    let unscaled = || json!({"spec": {"replicas": null}});
    let pods_annotated =
        |all: &Json| json!({"spec": {"template": {"metadata": {"annotations": all}}}});
    let proxied = |name: &str| {
        pods(&json!({"initContainers": [{"name": "routing-proxy", "image": image(name),
            "restartPolicy": "Always", "args": ["--port=8080", "--secure-proxy=false"]}]}))
    };
    let secure = |drop: &str| {
        let mut context = restricted();
        context.as_object_mut().expect("a map").remove(drop);
        json!({"securityContext": context})
    };
    let bash = |text: &str| json!({"command": ["bash", "-c", text]});
    let variable = |name: &str, value: &str| json!({"env": [{"name": name, "value": value}]});
    let both = |mut one: Json, other: &Json| {
        merge(&mut one, other);
        one
    };
    let worker = |text: &str| {
        let container =
            json!({"name": "w", "image": image("example.com/w:1"), "command": ["sh", "-c", text]});
        let template = json!({"size": 2, "workerTemplate": {"spec": {"containers": [container]}}});
        let spec = json!({"spec": {"leaderWorkerTemplate": template}});
        vec![object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "set", &spec)]
    };
    let filled = |home: &str| {
        let mount = json!([{"name": "cache", "mountPath": "/models"}]);
        let init = json!({"name": "fetch", "image": image("vllm/vllm-openai:v0.33.0"), "volumeMounts": mount,
            "command": ["hf", "download", "example/chat-8B"], "env": [{"name": "HF_HOME", "value": home}]});
        pods(&json!({"initContainers": [init], "volumes": [{"name": "cache", "emptyDir": {}}]}))
    };
    let offline = || {
        json!({"volumeMounts": [{"name": "cache", "mountPath": "/cache", "subPath": "hf"}],
            "env": [{"name": "HF_HOME", "value": "/cache"}, {"name": "HF_HUB_OFFLINE", "value": "true"}]})
    };
    let runtime = |path: &str, uri: Option<&str>| {
        let container = json!({"name": "kserve-container", "image": image("vllm/vllm-openai:v0.33.0"),
            "command": ["vllm", "serve", path, "--port=8080"]});
        let formats = json!([{"name": "vllm"}]);
        let runtime =
            json!({"spec": {"containers": [container], "supportedModelFormats": formats}});
        let model = json!({"modelFormat": {"name": "vllm"}, "runtime": "vllm", "storageUri": uri});
        let service = json!({"spec": {"predictor": {"model": model}}});
        vec![
            object("serving.kserve.io/v1alpha1", "ServingRuntime", "vllm", &runtime),
            object("serving.kserve.io/v1beta1", "InferenceService", "chat", &service),
        ]
    };
    let ray = |worker: &str| {
        let pods = |tag: &str| {
            let image = image(&format!("rayproject/ray-llm:{tag}"));
            json!({"template": {"spec": {"containers": [{"name": "ray", "image": image}]}}})
        };
        let spec = json!({"spec": {"headGroupSpec": pods("2.46.0-py311-cu124"), "workerGroupSpecs": [pods(worker)]}});
        vec![object("ray.io/v1", "RayCluster", "ray", &spec)]
    };
    let on_host = |policy: &str| pods(&json!({"hostNetwork": true, "dnsPolicy": policy}));
    vec![
        ("nothing", none(), none(), vec![], "", ""),
        // Users.
        (
            "root",
            none(),
            as_user(&json!({"runAsNonRoot": true})),
            vec![],
            "serving-pod",
            "runs as root",
        ),
        (
            "a user",
            none(),
            as_user(&json!({"runAsNonRoot": true, "runAsUser": 1000})),
            vec![],
            "",
            "",
        ),
        // Images and devices.
        (
            "AMD",
            of("vllm/vllm-openai:v0.33.0", "amd.com/gpu"),
            none(),
            vec![],
            "serving-devices",
            "but the container has amd.com/gpu",
        ),
        ("ROCm", of("vllm/vllm-openai-rocm:v0.33.0", "amd.com/gpu"), none(), vec![], "", ""),
        (
            "ROCm on NVIDIA",
            of("vllm/vllm-openai-rocm:v0.33.0", "nvidia.com/gpu"),
            none(),
            vec![],
            "serving-devices",
            "is built for amd.com/gpu",
        ),
        (
            "no device",
            json!({"resources": {"limits": {"nvidia.com/gpu": null}}}),
            none(),
            vec![],
            "serving-devices",
            "requests no device",
        ),
        (
            "a runtime class",
            json!({"resources": {"limits": {"nvidia.com/gpu": null}}}),
            pods(&json!({"runtimeClassName": "nvidia"})),
            vec![],
            "",
            "",
        ),
        (
            "bfloat16",
            serve(&["--dtype=bfloat16"]),
            node("nvidia-tesla-t4"),
            vec![],
            "serving-devices",
            "has no bfloat16",
        ),
        ("half", serve(&["--dtype=half"]), node("nvidia-tesla-t4"), vec![], "", ""),
        ("a newer device", serve(&["--dtype=bfloat16"]), node("nvidia-l4"), vec![], "", ""),
        (
            "large weights",
            json!({"command": ["vllm", "serve", "example/chat-70B"]}),
            node("nvidia-l4"),
            vec![],
            "serving-devices",
            "but its devices have 24 GB",
        ),
        (
            "weights of 4 bits",
            json!({"command": ["vllm", "serve", "example/chat-70B-AWQ"]}),
            node("nvidia-l40s"),
            vec![],
            "",
            "",
        ),
        (
            "a large device",
            json!({"command": ["vllm", "serve", "example/chat-70B"]}),
            node("nvidia-h200-141gb"),
            vec![],
            "",
            "",
        ),
        (
            "a flag that is gone",
            {
                let mut gone = serve(&["--disable-log-requests"]);
                gone["image"] = json!(image("vllm/vllm-openai:latest"));
                gone
            },
            none(),
            vec![],
            "serving-engine-flags",
            "was the last release with it",
        ),
        (
            "slices",
            {
                let mut slices = resources("nvidia.com/mig-3g.40gb", 2);
                merge(&mut slices, &serve(&["--tensor-parallel-size=2"]));
                slices
            },
            none(),
            vec![],
            "serving-devices",
            "a process sees one",
        ),
        ("a slice", resources("nvidia.com/mig-3g.40gb", 1), none(), vec![], "", ""),
        (
            "an unused claim",
            json!({"resources": {"limits": {"nvidia.com/gpu": null}}}),
            claims(),
            vec![],
            "serving-devices",
            "resource claim `gpus`",
        ),
        ("a claim", json!({"resources": {"claims": [{"name": "gpus"}]}}), claims(), vec![], "", ""),
        // Variables.
        ("below", env(host(), ip()), none(), vec![], "serving-pod", "which is defined after it"),
        (
            "from a ConfigMap",
            json!({"envFrom": [{"configMapRef": {"name": "scripts"}}], "env": [{"name": "MODE", "value": "$(run.sh)"}], "command": ["vllm", "serve", "example/chat-8B", "--quantization=$(MODE)"]}),
            none(),
            script("nonsense"),
            "serving-engine-flags",
            "nonsense",
        ),
        ("above", env(ip(), host()), none(), vec![], "", ""),
        (
            "no shell",
            json!({"command": ["vllm", "serve", "$MODEL"], "env": [{"name": "MODEL", "value": "example/chat-8B"}]}),
            none(),
            vec![],
            "serving-engine-flags",
            "`$MODEL` stays",
        ),
        (
            "offline in a mirror",
            json!({"image": image("example.com/mirror/vllm/vllm-openai:v0.33.0"), "env": [{"name": "HF_HUB_OFFLINE", "value": "1"}]}),
            none(),
            vec![],
            "serving-pod",
            "`HF_HUB_OFFLINE`",
        ),
        // Scripts in ConfigMaps.
        (
            "a script",
            run(&["/bin/bash", "/scripts/run.sh"]),
            scripts(),
            script("exec vllm serve example/chat-8B --port 8001\n"),
            "serving-probe",
            "listens on 8001",
        ),
        (
            "a script that is run",
            run(&["/scripts/run.sh"]),
            started(),
            script("#!/bin/bash\nexec vllm serve example/chat-8B --port $1\n"),
            "",
            "",
        ),
        (
            "a right script",
            run(&["bash", "-e", "/scripts/run.sh", "8000"]),
            scripts(),
            script("exec vllm serve example/chat-8B --port $1\n"),
            "",
            "",
        ),
        (
            "Python",
            run(&["/scripts/run.sh"]),
            started(),
            script("#!/usr/bin/env python3\nvllm serve example/chat-8B --port 8001\n"),
            "",
            "",
        ),
        (
            "two servers",
            json!({"command": ["bash", "-c", "vllm serve a/b --port 8001 & vllm serve c/d"]}),
            none(),
            vec![],
            "",
            "",
        ),
        (
            "a script without the right",
            run(&["/scripts/run.sh"]),
            scripts(),
            script("exec vllm serve example/chat-8B\n"),
            "serving-pod",
            "cannot be started: its mode is 644",
        ),
        // What scripts, variables and paths need.
        (
            "an array",
            bash(
                "set -eu\nARGS=(--port 8000)\nif x; then ARGS+=(--api-key x); fi\nexec vllm serve example/chat-8B \"${ARGS[@]}\"",
            ),
            none(),
            vec![],
            "",
            "",
        ),
        (
            "an array with another port",
            bash(
                "ARGS=(\n  --port 8001 # of the proxy\n)\nexec vllm serve example/chat-8B \"${ARGS[@]}\"",
            ),
            none(),
            vec![],
            "serving-probe",
            "listens on 8001",
        ),
        (
            "branches",
            bash(
                "if x; then vllm serve example/chat-8B -tp 8; else vllm serve example/chat-8B -tp 1; fi",
            ),
            none(),
            vec![],
            "",
            "",
        ),
        (
            "the same in all branches",
            bash(
                "if x; then vllm serve a/b --port 8001; else vllm serve a/b --port 8001 -tp 1; fi",
            ),
            none(),
            vec![],
            "serving-probe",
            "listens on 8001",
        ),
        (
            "a heredoc",
            bash("cat <<EOF >/tmp/file\ndon't\nEOF\nvllm serve example/chat-8B --port 8001"),
            none(),
            vec![],
            "serving-probe",
            "listens on 8001",
        ),
        (
            "an unset variable",
            bash(
                "set -euo pipefail\nexec vllm serve example/chat-8B --served-model-name $SERVED_NAME",
            ),
            none(),
            vec![],
            "serving-engine-flags",
            "the script ends at `$SERVED_NAME`",
        ),
        (
            "a variable with a default",
            bash(
                "set -u\nexec vllm serve example/chat-8B --seed ${SEED:-0} --served-model-name $HOSTNAME",
            ),
            none(),
            vec![],
            "",
            "",
        ),
        (
            "a variable of a script",
            bash(
                "set -u\nread NAME < /etc/hostname\nexec vllm serve example/chat-8B --served-model-name $NAME",
            ),
            none(),
            vec![],
            "",
            "",
        ),
        (
            "a reference of Kubernetes",
            bash("vllm serve example/chat-8B --served-model-name $(NAME)"),
            none(),
            vec![],
            "serving-engine-flags",
            "so that the shell runs a command for `$(NAME)`",
        ),
        (
            "a reference to a variable",
            both(
                bash("vllm serve example/chat-8B --served-model-name $(NAME)"),
                &variable("NAME", "chat"),
            ),
            none(),
            vec![],
            "",
            "",
        ),
        (
            "a reference in a comment",
            bash("# not $(NAME)\nvllm serve example/chat-8B --served-model-name $(hostname)"),
            none(),
            vec![],
            "",
            "",
        ),
        (
            "no variable of a group",
            none(),
            none(),
            worker("exec run --rank ${LWS_GROUP_INDEX:-0}"),
            "serving-group",
            "sets no variable `LWS_GROUP_INDEX`",
        ),
        (
            "an option of a script",
            none(),
            none(),
            worker("exec run --port ${LWS_MASTER_PORT:-5000}"),
            "",
            "",
        ),
        (
            "a variable of a group",
            none(),
            none(),
            worker("exec run --rank ${LWS_WORKER_INDEX:-0}"),
            "",
            "",
        ),
        (
            "a size of the cache",
            variable("VLLM_CPU_KVCACHE_SPACE", "8Gi"),
            none(),
            vec![],
            "serving-engine-flags",
            "does not accept `8Gi`",
        ),
        ("a number", variable("VLLM_CPU_KVCACHE_SPACE", "8"), none(), vec![], "", ""),
        (
            "a switch",
            variable("VLLM_ALLREDUCE_USE_SYMM_MEM", "true"),
            none(),
            vec![],
            "serving-engine-flags",
            "does not accept `true`",
        ),
        (
            "a value of no release",
            both(
                of("llm-d/llm-d-cuda:v0.3.0", "nvidia.com/gpu"),
                &variable("VLLM_ALL2ALL_BACKEND", "deepep_lowlatency"),
            ),
            none(),
            vec![],
            "serving-engine-flags",
            "`VLLM_ALL2ALL_BACKEND` value `deepep_lowlatency`",
        ),
        (
            "a level that Python does not have",
            both(serve(&[]), &variable("VLLM_LOGGING_LEVEL", "VERBOSE")),
            none(),
            vec![],
            "serving-engine-flags",
            "`VLLM_LOGGING_LEVEL` value `VERBOSE`",
        ),
        (
            "a level in lower case",
            both(serve(&[]), &variable("VLLM_LOGGING_LEVEL", "debug")),
            none(),
            vec![],
            "",
            "",
        ),
        (
            "a file that its ConfigMap does not have",
            run(&["vllm", "serve", "example/chat-8B", "--chat-template=/scripts/other.jinja"]),
            scripts(),
            vec![object("v1", "ConfigMap", "scripts", &json!({"data": {"chat.jinja": "x"}}))],
            "serving-pod",
            "does not have the file `/scripts/other.jinja`",
        ),
        (
            "a file of a ConfigMap",
            run(&["vllm", "serve", "example/chat-8B", "--chat-template=/scripts/chat.jinja"]),
            scripts(),
            vec![object("v1", "ConfigMap", "scripts", &json!({"data": {"chat.jinja": "x"}}))],
            "",
            "",
        ),
        (
            "a rank of adapters",
            both(
                serve(&["--enable-lora", "--max-lora-rank=48"]),
                &json!({"image": image("vllm/vllm-openai:v0.11.0")}),
            ),
            none(),
            vec![],
            "serving-engine-flags",
            "does not accept `48`",
        ),
        (
            "an image of AMD",
            of("rocm/vllm:rocm6.4.1_vllm_0.10.1_20250909", "nvidia.com/gpu"),
            none(),
            vec![],
            "serving-devices",
            "is built for amd.com/gpu",
        ),
        (
            "an image with ROCm in its tag",
            of("lmsysorg/sglang:v0.5.13-rocm700-mi30x", "nvidia.com/gpu"),
            none(),
            vec![],
            "serving-devices",
            "is built for amd.com/gpu",
        ),
        (
            "a download to another folder",
            offline(),
            filled("/models"),
            vec![],
            "serving-pod",
            "downloads `example/chat-8B` to /models/hub",
        ),
        ("a download", offline(), filled("/models/hf"), vec![], "", ""),
        (
            "a path without a volume",
            json!({"command": ["vllm", "serve", "/models/chat"]}),
            none(),
            vec![],
            "serving-pod",
            "is on no volume, and the image has no models",
        ),
        (
            "a path near that of KServe",
            none(),
            none(),
            runtime("/mnt/model", Some("s3://models/chat")),
            "serving-pod",
            "KServe mounts models at /mnt/models",
        ),
        (
            "the path of KServe",
            none(),
            none(),
            runtime("/mnt/models", Some("s3://models/chat")),
            "",
            "",
        ),
        ("a path of the service", none(), none(), runtime("/mnt/model", None), "", ""),
        (
            "releases of Ray",
            none(),
            none(),
            ray("2.44.1-py311-cu124"),
            "serving-ray",
            "have Ray 2.44.1, but the head has 2.46.0",
        ),
        ("a release of Ray", none(), none(), ray("2.46.0-py312-cu128"), "", ""),
        // Arguments.
        (
            "a model that is a name",
            json!({"command": ["vllm", "serve", "--served-model-name", "chat", "example/chat-8B"]}),
            none(),
            vec![],
            "serving-engine-flags",
            "so that no model is given",
        ),
        (
            "names behind the model",
            serve(&["--served-model-name", "chat", "example/chat-8B"]),
            none(),
            vec![],
            "",
            "",
        ),
        (
            "no model",
            json!({"command": ["vllm", "serve", "--max-model-len=8192"]}),
            none(),
            vec![],
            "serving-engine-flags",
            "no model is given",
        ),
        (
            "a model in a variable",
            json!({"command": null, "env": [{"name": "MODEL_NAME", "value": "example/chat-8B"}]}),
            none(),
            vec![],
            "serving-engine-flags",
            "vLLM does not read `MODEL_NAME`",
        ),
        (
            "a model by a flag",
            json!({"command": ["vllm", "serve", "--model=example/chat-8B"]}),
            none(),
            vec![],
            "",
            "",
        ),
        (
            "a model in a file of flags",
            json!({"command": ["vllm", "serve", "--config=/etc/vllm.yaml"]}),
            none(),
            vec![],
            "",
            "",
        ),
        (
            "a model that only the cluster knows",
            json!({"command": ["vllm", "serve", "$(MODEL)"], "env": [{"name": "MODEL", "valueFrom": {"configMapKeyRef": {"name": "other", "key": "model"}}}]}),
            none(),
            vec![],
            "",
            "",
        ),
        (
            "the port of the server for NIXL",
            json!({"command": ["vllm", "serve", "example/chat-8B", "--kv-transfer-config={\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\"}"], "env": [{"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": "8000"}]}),
            none(),
            vec![],
            "serving-transfer",
            "both listen on port 8000",
        ),
        (
            "an empty cache that nothing can fill",
            json!({"command": ["vllm", "serve", "example/chat-8B"], "volumeMounts": [{"name": "cache", "mountPath": "/root/.cache/huggingface", "readOnly": true}]}),
            pods(&json!({"volumes": [{"name": "cache", "emptyDir": {}}]})),
            vec![],
            "serving-pod",
            "is empty and read-only",
        ),
        (
            "an empty cache that another container fills",
            json!({"command": ["vllm", "serve", "example/chat-8B"], "volumeMounts": [{"name": "cache", "mountPath": "/root/.cache/huggingface", "readOnly": true}]}),
            pods(
                &json!({"initContainers": [{"name": "fill", "image": image("example.com/fill:v1"), "volumeMounts": [{"name": "cache", "mountPath": "/cache"}]}], "volumes": [{"name": "cache", "emptyDir": {}}]}),
            ),
            vec![],
            "",
            "",
        ),
        (
            "a name with an underscore",
            none(),
            none(),
            vec![object("v1", "ServiceAccount", "chat_server", &none())],
            "serving-pod",
            "`chat_server` is not a valid name of an object",
        ),
        (
            "a kind of another group",
            none(),
            none(),
            vec![object("llm-d.ai/v1alpha1", "LLMInferenceService", "more", &none())],
            "serving-pod",
            "apiVersion `llm-d.ai/v1alpha1` has no kind LLMInferenceService",
        ),
        (
            "a model without its owner",
            none(),
            none(),
            vec![object(
                "serving.kserve.io/v1beta1",
                "InferenceService",
                "more",
                &json!({"spec": {"predictor": {"model": {"modelFormat": {"name": "huggingface"}, "storageUri": "hf://chat-8B"}}}}),
            )],
            "serving-kserve",
            "KServe does not fetch `hf://chat-8B`",
        ),
        (
            "a model with its owner",
            none(),
            none(),
            vec![object(
                "serving.kserve.io/v1beta1",
                "InferenceService",
                "more",
                &json!({"spec": {"predictor": {"model": {"modelFormat": {"name": "huggingface"}, "storageUri": "hf://example/chat-8B"}}}}),
            )],
            "",
            "",
        ),
        (
            "a parser alone",
            serve(&["--tool-call-parser=hermes"]),
            none(),
            vec![],
            "serving-engine-flags",
            "has no effect without",
        ),
        (
            "a parser",
            serve(&["--tool-call-parser=hermes", "--enable-auto-tool-choice"]),
            none(),
            vec![],
            "",
            "",
        ),
        (
            "a large model",
            json!({"command": ["vllm", "serve", "deepseek-ai/DeepSeek-R1"], "startupProbe": {"failureThreshold": 18}}),
            none(),
            vec![],
            "serving-probe",
            "is loaded",
        ),
        ("a key of a Secret", models("/v1/models"), none(), key(), "serving-probe", "gets 401"),
        ("no key for health", models("/health"), none(), key(), "", ""),
        // File systems.
        (
            "read-only",
            read_only("/root/.cache"),
            cache("200Gi"),
            vec![],
            "serving-pod",
            "is read-only",
        ),
        ("a temporary folder", read_only("/tmp"), cache("200Gi"), vec![], "", ""),
        (
            "a small cache",
            cached(),
            cache("10Gi"),
            vec![],
            "serving-pod",
            "does not fit into the volume",
        ),
        ("a cache", cached(), cache("30Gi"), vec![], "", ""),
        // Roles.
        (
            "backends",
            sglang(&["--disaggregation-mode=prefill", "--disaggregation-transfer-backend=nixl"]),
            none(),
            vec![workload(&sglang(&["--disaggregation-mode=decode"]), &{
                let mut other = role("other");
                merge(
                    &mut other,
                    &json!({"spec": {"template": {"metadata": {"labels": {"llm-d.ai/role": null}}}}}),
                );
                other
            })],
            "serving-transfer",
            "`nixl` for prefill",
        ),
        (
            "more ranks in prefill",
            nixl(4, "kv_producer"),
            role("prefill"),
            vec![workload(&nixl(2, "kv_consumer"), &role("decode"))],
            "serving-transfer",
            "NIXL cannot transfer to",
        ),
        (
            "more ranks in decode",
            nixl(2, "kv_producer"),
            role("prefill"),
            vec![workload(&nixl(4, "kv_consumer"), &{
                let mut decode = role("decode");
                decode["spec"]["template"]["spec"]["initContainers"] = json!([{"name": "routing-proxy",
                    "image": image("ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0"), "restartPolicy": "Always",
                    "args": ["--port=8080", "--model-server-port=8000", "--kv-connector=nixlv2", "--secure-proxy=false"]}]);
                decode
            })],
            "",
            "",
        ),
        (
            "decode without a sidecar",
            nixl(2, "kv_producer"),
            role("prefill"),
            vec![workload(&nixl(4, "kv_consumer"), &role("decode"))],
            "serving-sidecar",
            "decode pods have no routing sidecar",
        ),
        (
            "roles of two models",
            nixl(2, "kv_producer"),
            role("prefill"),
            vec![workload(
                &{
                    let mut other = nixl(2, "kv_consumer");
                    other["command"][2] = json!("example/chat-9B");
                    other
                },
                &role("decode"),
            )],
            "serving-pair",
            "prefill serves `example/chat-8B`, but decode `example/chat-9B`",
        ),
        (
            "a role without a connector",
            serve(&[]),
            role("prefill"),
            vec![workload(&nixl(2, "kv_consumer"), &role("decode"))],
            "serving-pair",
            "only one of prefill and decode has a `--kv-transfer-config`",
        ),
        (
            "a word after a flag with a value",
            serve(&["--port=8000", "chat"]),
            none(),
            vec![],
            "serving-engine-flags",
            "`chat` is the value of no flag",
        ),
        (
            "a word after a switch",
            serve(&["--enable-prefix-caching", "chat"]),
            none(),
            vec![],
            "serving-engine-flags",
            "`chat` is the value of no flag",
        ),
        (
            "words of one flag",
            serve(&["--served-model-name", "chat", "other", "--port=8000"]),
            none(),
            vec![],
            "",
            "",
        ),
        // Misspelt names.
        (
            "a kind",
            none(),
            none(),
            vec![object("v1", "ConfigMapp", "chat", &none())],
            "serving-pod",
            "apiVersion `v1` has no kind ConfigMapp",
        ),
        (
            "a version",
            none(),
            none(),
            vec![object("v1x", "ConfigMap", "chat", &none())],
            "serving-pod",
            "apiVersion `v1x` has no kind ConfigMap",
        ),
        (
            "a kind of a CRD",
            none(),
            none(),
            vec![object("monitoring.coreos.com/v1", "PodMonitorr", "chat", &none())],
            "serving-pod",
            "has no kind PodMonitorr",
        ),
        (
            "a digest",
            json!({"image": format!("{}0", image("vllm/vllm-openai:v0.33.0"))}),
            none(),
            vec![],
            "serving-image",
            "is not a valid image reference",
        ),
        (
            "a variable without a value",
            json!({"env": [{"name": "HF_TOKEN", "valueFrom": null}]}),
            none(),
            vec![],
            "serving-pod",
            "variable `HF_TOKEN` has no value",
        ),
        (
            "a volume without a source",
            none(),
            pods(&json!({"volumes": [{"name": "models"}]})),
            vec![],
            "serving-pod",
            "volume `models` has no source",
        ),
        (
            "a Service without a selector",
            none(),
            none(),
            vec![object("v1", "Service", "chat", &json!({"spec": {"ports": [{"port": 80}]}}))],
            "serving-selector",
            "Service/chat has no selector",
        ),
        (
            "a Service with its own endpoints",
            none(),
            none(),
            vec![
                object("v1", "Service", "chat", &json!({"spec": {"ports": [{"port": 80}]}})),
                object("v1", "Endpoints", "chat", &json!({"subsets": []})),
            ],
            "",
            "",
        ),
        (
            "a version of a CRD",
            none(),
            none(),
            vec![object("monitoring.coreos.com/v1x", "PodMonitor", "chat", &none())],
            "serving-pod",
            "apiVersion `monitoring.coreos.com/v1x` has no kind PodMonitor",
        ),
        (
            "an empty variable",
            json!({"env": [{"name": "HF_TOKEN", "value": ""}]}),
            none(),
            vec![],
            "",
            "",
        ),
        (
            "a port of the sidecar",
            none(),
            pods(&json!({"initContainers": [{"name": "routing-proxy", "restartPolicy": "Always",
                "image": image("ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0"),
                "args": ["--port=8080x", "--model-server-port=8000", "--secure-proxy=false"]}]})),
            vec![],
            "serving-sidecar",
            "`--port` of the sidecar is `8080x`",
        ),
        ("another kind", none(), none(), vec![object("v1", "Binding", "chat", &none())], "", ""),
        (
            "an account of other pods",
            none(),
            pods(&json!({"serviceAccountName": "chatt"})),
            accounts(),
            "serving-pod",
            "ServiceAccount/chatt, which is not in the manifests, but ServiceAccount/chat is",
        ),
        (
            "an account with another name",
            none(),
            pods(&json!({"serviceAccountName": "models"})),
            accounts(),
            "",
            "",
        ),
        (
            "a deadlock",
            none(),
            none(),
            group(json!({"httpGet": {"path": "/health", "port": 8000}})),
            "serving-startup",
            "deadlocks",
        ),
        // Ray.
        (
            "Ray in the background",
            json!({"image": image("example.com/ray:1"), "command": ["bash", "-c", "ray start --address=head:6379"]}),
            none(),
            vec![],
            "serving-ray",
            "ends after `ray start`",
        ),
        (
            "Ray",
            json!({"image": image("example.com/ray:1"), "command": ["bash", "-c", "ray start --address=head:6379 --block"]}),
            none(),
            vec![],
            "",
            "",
        ),
        (
            "ranks of a Ray cluster",
            json!({"image": image("vllm/vllm-openai:v0.11.0"), "command": ["bash", "-c", "ray start --address=head:6379; vllm serve example/chat-8B -tp 8"]}),
            none(),
            vec![],
            "",
            "",
        ),
        // Autoscaling from zero.
        (
            "own metrics",
            none(),
            json!({"spec": {"replicas": null}}),
            scaler(0, "sum(vllm:num_requests_waiting)"),
            "serving-autoscaler",
            "only running pods have",
        ),
        (
            "one pod stays",
            none(),
            json!({"spec": {"replicas": null}}),
            scaler(1, "sum(vllm:num_requests_waiting)"),
            "",
            "",
        ),
        (
            "metrics of a gateway",
            none(),
            json!({"spec": {"replicas": null}}),
            scaler(0, "sum(rate(nginx_requests[1m]))"),
            "",
            "",
        ),
        // Pods that wait for each other.
        ("in order", nodes(), set("OrderedReady"), vec![], "serving-join", "starts pods in order"),
        ("at once", nodes(), set("Parallel"), vec![], "", ""),
        (
            "names on the host",
            url("lm://cache.models.svc:65432"),
            on_host("ClusterFirst"),
            vec![],
            "serving-address",
            "does not resolve",
        ),
        (
            "names by the cluster",
            url("lm://cache.models.svc:65432"),
            on_host("ClusterFirstWithHostNet"),
            vec![],
            "",
            "",
        ),
        // Ports of Services.
        (
            "a port that is closed",
            url("lm://cache.models.svc:6379"),
            none(),
            service(&none()),
            "serving-selector",
            "whose ports are 65432",
        ),
        ("a port", url("lm://cache:65432"), none(), service(&none()), "", ""),
        (
            "no address",
            url("lm://cache:6379"),
            none(),
            service(&json!({"clusterIP": "None"})),
            "",
            "",
        ),
        ("another namespace", url("lm://cache.others:6379"), none(), service(&none()), "", ""),
        // Admission.
        (
            "a quota",
            none(),
            none(),
            quota(&json!({"requests.cpu": "64", "limits.ephemeral-storage": "1Ti"}), false),
            "",
            "",
        ),
        (
            "a quota of memory",
            json!({"resources": {"limits": {"memory": null}}}),
            none(),
            quota(&json!({"limits.memory": "1Ti"}), false),
            "serving-pod",
            "counts limits.memory",
        ),
        (
            "a quota with defaults",
            json!({"resources": {"limits": {"memory": null}}}),
            none(),
            quota(&json!({"limits.memory": "1Ti"}), true),
            "",
            "",
        ),
        (
            "restricted",
            json!({"securityContext": restricted()}),
            none(),
            namespace("restricted"),
            "",
            "",
        ),
        (
            "escalation",
            secure("allowPrivilegeEscalation"),
            none(),
            namespace("restricted"),
            "serving-pod",
            "allowPrivilegeEscalation",
        ),
        (
            "capabilities",
            secure("capabilities"),
            none(),
            namespace("restricted"),
            "serving-pod",
            "drop: [ALL]",
        ),
        (
            "profile",
            secure("seccompProfile"),
            none(),
            namespace("restricted"),
            "serving-pod",
            "RuntimeDefault",
        ),
        (
            "non-root",
            secure("runAsNonRoot"),
            none(),
            namespace("restricted"),
            "serving-pod",
            "runAsNonRoot",
        ),
        (
            "of the pod",
            secure("runAsNonRoot"),
            as_user(&json!({"runAsNonRoot": true})),
            namespace("restricted"),
            "",
            "",
        ),
        (
            "host paths",
            none(),
            pods(&json!({"volumes": [{"name": "models", "hostPath": {"path": "/models"}}]})),
            namespace("baseline"),
            "serving-pod",
            "allows no hostPath",
        ),
        (
            "privileged",
            json!({"securityContext": {"privileged": true}}),
            none(),
            namespace("baseline"),
            "serving-pod",
            "no privileged containers",
        ),
        // Metrics of autoscalers, and their names.
        (
            "a value of each pod",
            none(),
            unscaled(),
            counted(&json!({"type": "AverageValue", "value": "5"})),
            "serving-pod",
            "has no `averageValue`",
        ),
        (
            "an average value",
            none(),
            unscaled(),
            counted(&json!({"type": "AverageValue", "averageValue": "5"})),
            "",
            "",
        ),
        (
            "a metric of no release",
            none(),
            unscaled(),
            scaler(1, "sum(vllm:num_waiting_requests)"),
            "serving-autoscaler",
            "has no metric `vllm:num_waiting_requests`",
        ),
        (
            "a histogram as a whole",
            none(),
            none(),
            alerts(&[
                json!({"alert": "slow", "expr": "histogram_quantile(0.9, sum by (le) (rate(vllm:time_to_first_token_seconds[5m])))"}),
            ]),
            "serving-selector",
            "is a histogram",
        ),
        (
            "buckets without their bounds",
            none(),
            none(),
            alerts(&[
                json!({"alert": "slow", "expr": "histogram_quantile(0.9, sum(rate(vllm:time_to_first_token_seconds_bucket[5m])))"}),
            ]),
            "serving-selector",
            "needs the label `le`",
        ),
        (
            "buckets with their bounds",
            none(),
            none(),
            alerts(&[
                json!({"alert": "slow", "expr": "histogram_quantile(0.9, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[5m])))"}),
            ]),
            "",
            "",
        ),
        (
            "a Service with the name of a variable of SGLang",
            both(sglang(&[]), &json!({"image": image("lmsysorg/sglang:v0.5.15")})),
            none(),
            vec![object(
                "v1",
                "Service",
                "sglang",
                &json!({"spec": {"selector": {"app": "chat"}, "ports": [{"port": 8000}]}}),
            )],
            "serving-service-links",
            "sets `SGLANG_PORT`",
        ),
        (
            "a Service with that name before the release that reads it",
            sglang(&[]),
            none(),
            vec![object(
                "v1",
                "Service",
                "sglang",
                &json!({"spec": {"selector": {"app": "chat"}, "ports": [{"port": 8000}]}}),
            )],
            "",
            "",
        ),
        (
            "a counter without its ending",
            none(),
            none(),
            alerts(&[json!({"alert": "idle", "expr": "rate(vllm:prompt_tokens[5m]) == 0"})]),
            "serving-selector",
            "is a counter",
        ),
        (
            "names of series",
            none(),
            none(),
            alerts(&[
                json!({"record": "vllm:waiting", "expr": "sum(vllm:num_requests_waiting)"}),
                json!({"record": "models:vllm:slow", "expr": "vllm:waiting + models:vllm:slow"}),
                json!({"alert": "slow", "expr": "rate(vllm:iteration_tokens_total_bucket{a=\"vllm:x\"}[5m]) # vllm:y"}),
                json!({"alert": "busy", "expr": "{__name__=~'vllm:num.*'} > vllm:current_qps"}),
            ]),
            "",
            "",
        ),
        ("no metrics", sglang(&[]), none(), monitor(8000), "serving-engine-flags", "reads them"),
        (
            "annotated",
            sglang(&[]),
            pods_annotated(&json!({"prometheus.io/scrape": "true", "prometheus.io/port": "8000"})),
            vec![],
            "serving-engine-flags",
            "asks for them",
        ),
        ("metrics", sglang(&["--enable-metrics"]), none(), monitor(8000), "", ""),
        (
            "metrics of another port",
            sglang(&[]),
            none(),
            monitor(9000),
            "serving-selector",
            "targets port 9000",
        ),
        // KServe on Knative.
        ("two ports", none(), none(), predictor("Serverless"), "serving-kserve", "have 2 ports"),
        ("two ports of a Deployment", none(), none(), predictor("Standard"), "", ""),
        // Sidecars.
        (
            "no port of the engine",
            none(),
            proxied("ghcr.io/llm-d/llm-d-routing-sidecar:v0.4.0-rc.1"),
            vec![],
            "serving-sidecar",
            "on port 8001",
        ),
        ("another sidecar", none(), proxied("example.com/llm-d/sidecar:1"), vec![], "", ""),
        // KV events.
        (
            "no KV events",
            serve(&["--kv-events-config={\"publisher\":\"zmq\",\"endpoint\":\"tcp://*:5557\"}"]),
            none(),
            vec![],
            "serving-prefix-cache",
            "is not true",
        ),
        (
            "KV events that are off",
            serve(&["--kv-events-config={\"enable_kv_cache_events\":false}"]),
            none(),
            vec![],
            "",
            "",
        ),
        // Policies.
        (
            "the port of a Service",
            none(),
            none(),
            isolated(&json!(80)),
            "serving-gateway",
            "but the pods listen on 8080",
        ),
        ("the port of pods", none(), none(), isolated(&json!("http")), "", ""),
        // Gateways.
        (
            "another label of the namespace",
            none(),
            none(),
            routed(&json!({"access": "all"}), "istio", "Service"),
            "serving-gateway",
            "the labels of its selector",
        ),
        (
            "the label of the namespace",
            none(),
            none(),
            routed(&json!({"access": "models"}), "gke-l7-gxlb", "Service"),
            "",
            "",
        ),
        (
            "a Gateway without pools",
            none(),
            none(),
            routed(&json!({"access": "models"}), "gke-l7-gxlb", "InferencePool"),
            "serving-gateway",
            "is of class `gke-l7-gxlb`",
        ),
        (
            "a Gateway with pools",
            none(),
            none(),
            routed(&json!({"access": "models"}), "gke-l7-rilb", "InferencePool"),
            "",
            "",
        ),
        // SGLang's router.
        (
            "decode pods for prefill",
            sglang(&["--disaggregation-mode=decode"]),
            none(),
            router("chat", "pods"),
            "serving-transfer",
            "`--disaggregation-mode` is `decode`",
        ),
        (
            "endpoints in place of pods",
            sglang(&["--disaggregation-mode=prefill"]),
            none(),
            router("chat", "endpoints"),
            "serving-picker-rights",
            "cannot list, watch pods",
        ),
        (
            "prefill pods",
            sglang(&["--disaggregation-mode=prefill"]),
            pods_annotated(&json!({"sglang.ai/bootstrap-port": "8998"})),
            router("chat", "pods"),
            "",
            "",
        ),
        (
            "another bootstrap port",
            sglang(&["--disaggregation-mode=prefill"]),
            pods_annotated(&json!({"sglang.ai/bootstrap-port": "8988"})),
            vec![],
            "serving-transfer",
            "but its port is 8998",
        ),
        ("without rights", none(), none(), namespace("baseline"), "", ""),
        ("audited", none(), pods(&json!({"hostIPC": true})), namespace("privileged"), "", ""),
        (
            "a volume of no quantity",
            none(),
            none(),
            vec![object(
                "v1",
                "PersistentVolumeClaim",
                "cache",
                &json!({"spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "200GB"}}}}),
            )],
            "serving-pod",
            "must be a quantity",
        ),
        (
            "a volume",
            none(),
            none(),
            vec![object(
                "v1",
                "PersistentVolumeClaim",
                "cache",
                &json!({"spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "200Gi"}}}}),
            )],
            "",
            "",
        ),
        (
            "ranks in order",
            serve(&[
                "--data-parallel-size=2",
                "--data-parallel-size-local=1",
                "--data-parallel-address=chat-0.chat",
            ]),
            set("OrderedReady"),
            vec![],
            "serving-join",
            "starts pods in order",
        ),
        (
            "another quantization",
            json!({"command": ["vllm", "serve", "example/chat-8B-AWQ", "--quantization=fp8"]}),
            none(),
            vec![],
            "serving-engine-flags",
            "is not for the awq weights",
        ),
        (
            "a URL in JSON",
            serve(&[
                "--kv-events-config={\"enable_kv_cache_events\":true,\"endpoint\":\"tcp://cache:5557\",\"topic\":\"kv@x@example/chat-8B\"}",
            ]),
            none(),
            service(&none()),
            "serving-selector",
            "whose ports are 65432",
        ),
        ("a password", url("lm://user:5557@cache:65432"), none(), service(&none()), "", ""),
        // Objects.
        (
            "a kind of another group",
            none(),
            none(),
            vec![object("v1", "ServiceMonitor", "chat", &none())],
            "serving-pod",
            "no kind ServiceMonitor",
        ),
        (
            "no selector",
            none(),
            json!({"spec": {"selector": null}}),
            vec![],
            "serving-pod",
            "has no selector",
        ),
        (
            "not base64",
            none(),
            none(),
            vec![object("v1", "Secret", "key", &json!({"data": {"key": "hf_abc"}}))],
            "serving-pod",
            "it must be base64",
        ),
        // JSON with blanks is one word.
        (
            "an adapter",
            adapters("{\"name\": \"chat\", \"path\": \"/chat\"}"),
            none(),
            vec![],
            "",
            "",
        ),
        (
            "no path",
            adapters("chat other"),
            none(),
            vec![],
            "serving-engine-flags",
            "of `--lora-modules` has no path",
        ),
        // Claims, and names in DNS.
        ("a claim", json!({"resources": {"claims": [{"name": "gpus"}]}}), claims(), vec![], "", ""),
        (
            "no claim",
            json!({"resources": {"claims": [{"name": "gpu"}]}}),
            claims(),
            vec![],
            "serving-pod",
            "uses claim `gpu`, which the pod does not have",
        ),
        (
            "a dot",
            none(),
            none(),
            vec![object("v1", "Service", "chat.v1", &json!({"spec": {"ports": [{"port": 80}]}}))],
            "serving-pod",
            "it has a dot",
        ),
        (
            "a dash",
            none(),
            none(),
            vec![object("v1", "Service", "chat-v1", &json!({"spec": {"ports": [{"port": 80}]}}))],
            "",
            "",
        ),
        (
            "a kind of another project",
            none(),
            none(),
            vec![object("inference.example.com/v1", "InferenceService", "chat.v1", &none())],
            "",
            "",
        ),
        // Names of pods of a StatefulSet before they are ready.
        ("published", ranked(), several(), governing(true), "", ""),
        ("hidden", ranked(), several(), governing(false), "serving-join", "before all are ready"),
        // What routers and monitors select, and adapters and stores serve.
        ("a router", none(), none(), stack_router("app=chat", "router"), "", ""),
        (
            "a router of nothing",
            none(),
            none(),
            stack_router("app=chat,release=other", "router"),
            "serving-transfer",
            "selects no pods",
        ),
        (
            "the account of no router",
            none(),
            none(),
            stack_router("app=chat", "other"),
            "serving-picker-rights",
            "cannot list, watch pods",
        ),
        (
            "a metric",
            none(),
            unscaled(),
            adapted("vllm_waiting", "name: {as: vllm_waiting}"),
            "",
            "",
        ),
        (
            "a series",
            none(),
            unscaled(),
            adapted("vllm:num_requests_waiting", "metricsQuery: x"),
            "",
            "",
        ),
        (
            "any",
            none(),
            unscaled(),
            adapted("vllm_waiting", "name: {matches: a, as: \"${1}\"}"),
            "",
            "",
        ),
        (
            "no metric",
            none(),
            unscaled(),
            adapted("vllm:num_requests_waiting", "name: {as: vllm_waiting}"),
            "serving-autoscaler",
            "which the adapter does not serve",
        ),
        ("a Service", none(), none(), watched("example.com/team"), "", ""),
        ("its pods", none(), none(), watched("app"), "serving-selector", "selects no Services"),
        ("a key", token("HF_TOKEN"), none(), external(&none()), "", ""),
        (
            "all keys",
            token("token"),
            none(),
            external(&json!({"dataFrom": [{"extract": {}}]})),
            "",
            "",
        ),
        ("no key", token("token"), none(), external(&none()), "serving-pod", "has no key `token`"),
        ("a place", none(), none(), fetched("/mnt/models"), "", ""),
        (
            "another place",
            none(),
            none(),
            fetched("/mnt/model"),
            "serving-kserve",
            "fetches models to",
        ),
        // A proxy beside the engine has its own port and TLS.
        ("a local engine", local(8443), behind(8443), vec![], "", ""),
        ("another port", local(8443), behind(8444), vec![], "serving-probe", "uses port 8443"),
        // SGLang.
        (
            "embeddings",
            json!({"image": image("lmsysorg/sglang:v0.5.13"), "command": ["python3", "-m", "sglang.launch_server", "--host=0.0.0.0", "--port=8000", "--model-path=Qwen/Qwen3-Embedding-8B"]}),
            none(),
            vec![],
            "serving-devices",
            "generates text",
        ),
        (
            "embeddings by the flag",
            json!({"image": image("lmsysorg/sglang:v0.5.13"), "command": ["python3", "-m", "sglang.launch_server", "--host=0.0.0.0", "--port=8000", "--is-embedding", "--model-path=Qwen/Qwen3-Embedding-8B"]}),
            none(),
            vec![],
            "",
            "",
        ),
    ]
}

#[test]
fn defects_of_pods_are_found_and_their_sound_neighbours_are_not_reported() {
    let (mut wrong, mut listing) = (String::new(), BTreeSet::new());
    for (about, container, whole, others, code, says) in [
        rows(),
        selectors::rows(),
        engines::rows(),
        groups::rows(),
        objects::rows(),
        policies::rows(),
        routes::rows(),
    ]
    .into_iter()
    .flatten()
    {
        let all = [workload(&container, &whole)].into_iter().chain(others);
        let text = all.map(|object| object.to_string()).collect::<Vec<_>>().join("\n---\n");
        let all = all_found(about, &text);
        list(&all, &mut listing);
        let says_it = |one: &&Diagnostic| one.message.contains(says);
        let is_right = match code {
            "" => all.iter().all(|one| one.severity == Severity::Note),
            "!" => !all.iter().any(|one| says_it(&one)),
            _ => all.iter().filter(says_it).any(|one| one.code.as_str() == code),
        };
        if !is_right {
            let found = human::render(&all, false);
            wrong.push_str(&format!("{about}: expected `{code}` {says}\n{found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    insta::assert_snapshot!(Vec::from_iter(listing).concat());
}

/// Leaves to the object that kustomize merges a patch with what the patch does not have.
#[test]
fn patches_are_not_judged_as_whole_objects() {
    let sidecar = json!({"name": "proxy", "image": image("ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0"), "args": ["--port=8000"]});
    let container = json!({
        "readinessProbe": {"httpGet": null, "periodSeconds": 9},
        "volumeMounts": [{"name": "models", "mountPath": "/models"}],
    });
    let mut patch = workload(&container, &pods(&json!({"initContainers": [sidecar]})));
    let whole = check("a whole object", &patch.to_string());
    assert_eq!(whole.iter().count(), 3, "{}", human::render(&whole, false));
    merge(&mut patch, &json!({"spec": {"selector": null}}));
    let found = check("a patch", &patch.to_string());
    let messages: Vec<&str> = found.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(messages, ["Deployment/chat has no selector"]);
}

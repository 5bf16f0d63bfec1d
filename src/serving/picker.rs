//! Endpoint picker: Deployment, Service, configuration and RBAC.

use super::build::{
    Values, cluster_object, field_variable, http_probe, object, with, with_namespace, with_spec,
};
use super::releases::VLLM;
use super::view::{group_of, pods::as_text};
use super::{engine, model_server, presets};
use crate::config::serving::ServingConfig;
use crate::ir::{Expr, Object, Value, map, value};
use crate::yaml;
use serde_json::{Value as Json, json};

/// Port for gateways (ext-proc). This and the next two are the defaults of pickers.
pub(super) const PICKER_PORT: u16 = 9002;
/// Port for health checks.
pub(super) const HEALTH_PORT: u16 = 9003;
/// Port for metrics.
pub(super) const METRICS_PORT: u16 = 9090;
/// Label that selects the picker's pods.
pub(super) const SELECTOR: &str = "llm-d-router-gateway";

/// Returns the name of the picker's objects.
pub(super) fn name(config: &ServingConfig) -> String {
    format!("{}-epp", config.name)
}

/// Returns the labels of the picker's objects.
pub(super) fn labels(config: &ServingConfig) -> Json {
    json!({
        "app.kubernetes.io/name": name(config),
        "app.kubernetes.io/version": config.profile.version,
        "app.kubernetes.io/part-of": config.name,
        "app.kubernetes.io/component": "endpoint-picker",
    })
}

/// Returns all objects of the picker.
pub(super) fn objects(config: &ServingConfig, values: &mut Values) -> Vec<Object> {
    let name = name(config);
    let labels = labels(config);
    let mut objects = vec![
        object("v1", "ServiceAccount", &name, &labels),
        config_map(config, &name, &labels),
        service(&name, &labels),
        deployment(config, &name, &labels, values),
    ];
    objects.extend(rights(config, &name, &labels));
    objects
}

/// Returns the name of the configuration file.
fn file_name(config: &ServingConfig) -> String {
    match (&config.epp.config, presets::name_of(config)) {
        (None, "payload-agnostic") => "payload-agnostic.yaml".to_owned(),
        (None, "default" | "aggregated") => "default-plugins.yaml".to_owned(),
        (None, preset) => format!("{preset}.yaml"),
        (Some(_), _) => "plugins.yaml".to_owned(),
    }
}

fn config_map(config: &ServingConfig, name: &str, labels: &Json) -> Object {
    let text = yaml::plain_value(&Value::from(&presets::config_of(config))).unwrap_or_default();
    with(object("v1", "ConfigMap", name, labels), "data", map! {(file_name(config)): text})
}

fn service(name: &str, labels: &Json) -> Object {
    let spec = json!({
        "selector": {SELECTOR: name},
        "ports": [
            {
                "name": "grpc-ext-proc", "protocol": "TCP", "port": PICKER_PORT,
                "appProtocol": "kubernetes.io/h2c",
            },
            {"name": "http-metrics", "protocol": "TCP", "port": METRICS_PORT},
        ],
        "type": "ClusterIP",
    });
    with_spec(("v1", "Service"), name, labels, &spec)
}

fn args(config: &ServingConfig) -> Value {
    let pairs: [(&str, Value); 7] = [
        ("pool-name", Value::text(&config.name)),
        ("pool-namespace", Expr::ReleaseNamespace.into()),
        ("pool-group", group_of(config.profile.pool).into()),
        ("zap-encoder", "json".into()),
        ("config-file", Value::text(format!("/config/{}", file_name(config)))),
        // Upstream's chart leaves the port out, so that its `extProcPort` changes Service and pool
        // only.
        ("grpc-port", Value::text(PICKER_PORT.to_string())),
        ("grpc-health-port", Value::text(HEALTH_PORT.to_string())),
    ];
    let pairs = pairs.into_iter();
    let mut args: Vec<Value> =
        pairs.flat_map(|(flag, value)| [Value::text(format!("--{flag}")), value]).collect();
    if config.epp.replicas > 1 {
        args.push("--ha-enable-leader-election".into());
    }
    let mut flags = config.epp.flags.clone();
    if config.profile.tracing_flag {
        // The picker's default is true, also without a collector.
        flags.entry("tracing").or_insert(json!(config.tracing.is_some()));
    }
    // The profiler is enabled by default and only needed for debugging.
    flags.entry("enable-pprof").or_insert(json!(false));
    for (flag, value) in flags {
        args.push(Value::text(format!("--{flag}={}", as_text(&value))));
    }
    Value::Seq(args)
}

fn deployment(config: &ServingConfig, name: &str, labels: &Json, values: &mut Values) -> Object {
    let several = config.epp.replicas > 1;
    let image = config.epp.image.as_deref().unwrap_or(config.profile.picker_image);
    // Those of llm-d-router's chart.
    let default = config.epp.resources.clone().unwrap_or_else(
        || json!({"requests": {"cpu": "8", "memory": "8Gi"}, "limits": {"memory": "16Gi"}}),
    );
    // With leader election a standby is alive, but not ready, so there are two gRPC health
    // services.
    let (alive, ready) = if several {
        ("liveness", "readiness")
    } else {
        ("inference-extension", "inference-extension")
    };
    let mut env = vec![
        field_variable("NAMESPACE", "metadata.namespace"),
        field_variable("POD_NAME", "metadata.name"),
    ];
    if let Some(tracing) = &config.tracing {
        env.extend(engine::trace_variables(tracing, name));
    }
    let mut containers = vec![value!({
        "name": "epp",
        "image": values.text(&["epp", "image"], image, "Image of the endpoint picker."),
        "args": args(config),
        "resources": values.resources(&["epp", "resources"], &default, &[]),
        "ports": [
            {"name": "grpc", "containerPort": PICKER_PORT},
            {"name": "grpc-health", "containerPort": HEALTH_PORT},
            {"name": "metrics", "containerPort": METRICS_PORT},
        ],
        "livenessProbe": {
            "grpc": {"port": HEALTH_PORT, "service": alive},
            "initialDelaySeconds": 5,
            "periodSeconds": 10,
        },
        "readinessProbe": {"grpc": {"port": HEALTH_PORT, "service": ready}, "periodSeconds": 2},
        "env": Json::Array(env),
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": true,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [{"name": "plugins-config-volume", "mountPath": "/config"}],
    })];
    let pull_secrets = values.pull_secrets(config.pull_secret.as_deref());
    let mut volumes = vec![json!({"name": "plugins-config-volume", "configMap": {"name": name}})];
    if presets::is_precise(config) {
        containers.push(tokenizer(config, values));
        volumes.push(json!({"name": "tokenizer-cache", "emptyDir": {}}));
    }
    let mut labels = labels.clone();
    labels["llm-d.ai/igw-mode"] = json!(SELECTOR);
    let mut whole = |key: &str, default: Json, kind: &str, description: &str| {
        values.whole(&["epp", key], default, json!({"type": kind}), description)
    };
    let pod = value!({
        "serviceAccountName": name,
        "enableServiceLinks": false,
        "imagePullSecrets": pull_secrets,
        // The same as for the engine pods that finish its requests.
        "terminationGracePeriodSeconds": 130,
        "containers": containers,
        "nodeSelector":
            whole("nodeSelector", json!({}), "string", "Node selector of the endpoint picker."),
        "tolerations":
            whole("tolerations", json!([]), "object", "Tolerations of the endpoint picker."),
        "volumes": Json::Array(volumes),
    });
    let description = "Additional annotations for the endpoint picker pods.";
    let spec = value!({
        "replicas": config.epp.replicas,
        // With leader election a rolling update waits for a pod that never becomes ready (GAIE#1619).
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": {SELECTOR: name}},
        "template": {
            "metadata": {
                "labels": {
                    SELECTOR: name,
                    "llm-d.ai/igw-mode": SELECTOR,
                    "app.kubernetes.io/part-of": &config.name,
                },
                "annotations": values.annotations(&["epp", "annotations"], json!({}), description),
            },
            "spec": pod,
        },
    });
    with_spec(("apps/v1", "Deployment"), name, &labels, spec)
}

/// Returns the release of vLLM that tokenizes prompts for an engine: its own, because others may make other
/// tokens of a prompt, or the newest if it is unknown or has no `vllm launch render` (vllm#36166).
fn tokenizer_release(image: &str) -> &'static str {
    let own = VLLM.index(image).filter(|_| VLLM.is_since(image, "0.18.0") == Some(true));
    own.map_or(VLLM.releases.newest(), |own| VLLM.releases.name(own))
}

/// Returns the container that renders prompts to tokens as the engine does.
fn tokenizer(config: &ServingConfig, values: &mut Values) -> Value {
    let usual = || format!("vllm/vllm-openai-cpu:v{}", tokenizer_release(&config.engine.image));
    let image = config.epp.tokenizer_image.clone().unwrap_or_else(usual);
    let description = "Image of the tokenizer in the endpoint picker pods.";
    let image = values.text(&["epp", "tokenizerImage"], &image, description);
    let mut env = vec![
        json!({"name": "HOME", "value": "/var/cache/tokenizer"}),
        json!({"name": "HF_HUB_CACHE", "value": "/var/cache/tokenizer/huggingface"}),
    ];
    env.extend(config.engine.token_secret.as_deref().map(engine::token_variable));

    let probe = |timing| http_probe(("/health", "tokenizer"), timing, 5);
    let args = [
        model_server::model_argument(&config.model),
        format!("--served-model-name={}", config.served_name),
        format!("--port={}", presets::TOKENIZER_PORT),
    ];
    value!({
        "name": "tokenizer",
        "image": image,
        "command": ["vllm", "launch", "render"],
        "args": Value::texts(args),
        "env": Json::Array(env),
        "ports": [{"name": "tokenizer", "containerPort": presets::TOKENIZER_PORT}],
        "resources": {
            "requests": {"cpu": "4", "memory": "8Gi"},
            "limits": {"memory": "8Gi"},
        },
        "startupProbe": probe((10, 60)),
        "readinessProbe": probe((5, 3)),
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [{"name": "tokenizer-cache", "mountPath": "/var/cache/tokenizer"}],
    })
}

/// Returns a Role and its RoleBinding to the picker's ServiceAccount.
fn granted(name: &str, binding: &str, account: &str, labels: &Json, rules: &Json) -> [Object; 2] {
    let api = "rbac.authorization.k8s.io/v1";
    let reference = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name});
    let bound = with(object(api, "RoleBinding", binding, labels), "subjects", subjects(account));
    [with(object(api, "Role", name, labels), "rules", rules), with(bound, "roleRef", &reference)]
}

/// Returns a rule of RBAC.
fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Json {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

/// Returns the subjects of a binding to a ServiceAccount of the release.
fn subjects(account: &str) -> Value {
    value!([{"kind": "ServiceAccount", "name": account, "namespace": Expr::ReleaseNamespace}])
}

fn rights(config: &ServingConfig, name: &str, labels: &Json) -> Vec<Object> {
    let read = ["get", "watch", "list"];
    let kinds = ["inferenceobjectives", "inferencemodelrewrites"];
    let mut rules = vec![rule("inference.networking.x-k8s.io", &kinds, &read)];

    if config.profile.llm_d {
        rules.push(rule("llm-d.ai", &kinds, &read));
    }
    rules.push(rule(group_of(config.profile.pool), &["inferencepools"], &read));

    let pools = format!("{name}-non-sa");
    let pods = format!("{name}-sa");
    let mut objects = Vec::new();
    objects.extend(granted(&pools, &pools, name, labels, &Json::Array(rules)));
    let rules = json!([rule("", &["pods"], &read)]);
    objects.extend(granted(&pods, &pods, name, labels, &rules));
    if config.epp.replicas > 1 {
        let all = ["get", "list", "watch", "create", "update", "patch", "delete"];
        let leases = rule("coordination.k8s.io", &["leases"], &all);
        let rules = json!([leases, rule("", &["events"], &["create", "patch"])]);
        let role = format!("{name}-leader-election");
        objects.extend(granted(&role, &format!("{role}-binding"), name, labels, &rules));
    }

    if config.monitoring.is_some() {
        objects.extend(metrics_rights(config, name, labels));
    }
    objects
}

/// Returns the RBAC objects for authenticated metrics, and a token Secret for Prometheus.
fn metrics_rights(config: &ServingConfig, name: &str, labels: &Json) -> Vec<Object> {
    // Models of one name in two namespaces would otherwise share a ClusterRole.
    let cluster_name = || with_namespace(&format!("{}-", config.name), "-epp");
    let rules = json!([
        rule("authentication.k8s.io", &["tokenreviews"], &["create"]),
        rule("authorization.k8s.io", &["subjectaccessreviews"], &["create"]),
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]);

    let reference = value!({
        "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": cluster_name(),
    });
    let binding = cluster_object("ClusterRoleBinding", cluster_name(), labels);
    let mut secret = object("v1", "Secret", &metrics_secret(config), labels);
    // Since Kubernetes 1.24 a ServiceAccount has no token Secret, unless one asks for it by this.
    secret.annotate("kubernetes.io/service-account.name", name);
    vec![
        with(cluster_object("ClusterRole", cluster_name(), labels), "rules", &rules),
        with(with(binding, "subjects", subjects(name)), "roleRef", reference),
        with(secret, "type", "kubernetes.io/service-account-token"),
    ]
}

/// Returns the name of the Secret with the metrics token for Prometheus.
pub(super) fn metrics_secret(config: &ServingConfig) -> String {
    format!("{}-metrics-reader", name(config))
}

//! Defects injected into sound manifests (fixtures/serving), each with the code that must report it,
//! and changes that are no defect.

use super::findings_of;
use crate::diag::{Diagnostics, Severity, human};
use crate::manifests_of;
use std::collections::{BTreeMap, BTreeSet};

/// A change of a stack.
struct Change {
    /// Kind of defect, for the table of recall.
    kind: &'static str,
    stack: &'static str,
    from: &'static str,
    to: &'static str,
    /// Code that reports it; empty for a change that is no defect.
    code: &'static str,
}

const fn defect(
    kind: &'static str,
    stack: &'static str,
    from: &'static str,
    to: &'static str,
    code: &'static str,
) -> Change {
    Change { kind, stack, from, to, code }
}

const fn sound(stack: &'static str, from: &'static str, to: &'static str) -> Change {
    Change { kind: "no defect", stack, from, to, code: "" }
}

const ONE: &str = "single";
const PD: &str = "prefill-decode";
const KSERVE: &str = "kserve";
const OTHERS: &str = "controllers";

/// An object before [`ANOTHER`].
macro_rules! and_another {
    ($object:literal) => {
        concat!($object, "apiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\n")
    };
}

/// The place for one more object.
const ANOTHER: &str = and_another!("");

#[rustfmt::skip]
const DEFECTS: &[Change] = &[
    // Connectors of prefill and decode.
    defect("connector", PD, r#"{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}"#, r#"{"kv_connector":"P2pNcclConnector","kv_role":"kv_consumer"}"#, "serving-transfer"),
    defect("connector", PD, r#""kv_role":"kv_producer""#, r#""kv_role":"kv_consumer""#, "serving-transfer"),
    defect("connector", PD, r#""kv_role":"kv_consumer""#, r#""kv_role":"kv_producer""#, "serving-transfer"),
    defect("connector", PD, "--kv-connector=nixlv2", "--kv-connector=shared-storage", "serving-transfer"),
    defect("connector", PD, "--kv-connector=nixlv2", "--kv-connector=sglang", "serving-transfer"),
    defect("connector", PD, "        - '--kv-transfer-config={\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_producer\"}'\n", "", "serving-pair"),
    defect("connector", KSERVE, r#"          value: --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}'"#, r#"          value: --kv-transfer-config '{"kv_connector":"MooncakeConnector","kv_role":"kv_producer"}'"#, "serving-transfer"),
    defect("connector", OTHERS, "--disaggregation-mode decode", "--disaggregation-mode prefill", "serving-transfer"),
    defect("connector", OTHERS, "--disaggregation-mode prefill", "", "serving-transfer"),
    defect("connector", OTHERS, "--disaggregation-transfer-backend mooncake", "--disaggregation-transfer-backend nixl", "serving-transfer"),
    defect("connector", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - '--kv-transfer-config={\"kv_connector\":\"OffloadingConnector\"}'\n", "serving-engine-flags"),
    // Checks of vLLM when it starts.
    defect("engine start", PD, "command: [vllm, serve]\n        args:\n", "args:\n        - vllm\n        - serve\n", "serving-engine-flags"),
    defect("engine start", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - --enable-auto-tool-choice\n", "serving-engine-flags"),
    defect("engine start", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - --no-enable-chunked-prefill\n        - --max-num-batched-tokens=2048\n        - --max-model-len=8192\n", "serving-engine-flags"),
    defect("engine start", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - --quantization=int4-awq\n", "serving-engine-flags"),
    defect("engine start", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - --quantization=modelopt_mixed_fp8\n", "serving-engine-flags"),
    // Relations between flags, and between fields of JSON values.
    defect("relation", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - --decode-context-parallel-size=4\n", "serving-engine-flags"),
    defect("relation", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - --data-parallel-size=4\n        - --data-parallel-rank=4\n", "serving-engine-flags"),
    defect("relation", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - --speculative-config={\"method\":\"eagle3\",\"num_speculative_tokens\":3}\n", "serving-engine-flags"),
    defect("relation", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - '--speculative-config={\"method\":\"mtp\"}'\n", "serving-engine-flags"),
    defect("relation", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - '--speculative-config={\"method\":\"eagle\",\"model\":\"a/b\"}'\n", "serving-engine-flags"),
    defect("relation", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - '--speculative-config={\"num_speculative_tokens\":3}'\n", "serving-engine-flags"),
    defect("relation", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - '--speculative-config={\"method\":\"ngram\",\"num_speculative_tokens\":3,\"prompt_lookup_min\":5,\"prompt_lookup_max\":3}'\n", "serving-engine-flags"),
    defect("relation", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - '--kv-transfer-config={\"kv_connector\":\"MultiConnector\",\"kv_role\":\"kv_both\"}'\n", "serving-engine-flags"),
    defect("relation", OTHERS, "--tp-size 2", "--tp-size 2 --dp-size 3 --enable-dp-attention", "serving-engine-flags"),
    defect("relation", OTHERS, "--tp-size 2", "--tp-size 2 --nnodes 2", "serving-engine-flags"),
    defect("relation", OTHERS, "--tp-size 2", "--tp-size 2 --dp-size 2 --nnodes 2 --dist-init-addr sgl:5000", "serving-engine-flags"),
    defect("relation", OTHERS, "--tp-size 2", "--tp-size 3 --nnodes 2 --dist-init-addr sgl:5000", "serving-engine-flags"),
    defect("relation", PD, "--secure-proxy=false", "--secure-proxy=false, --enable-ssrf-protection", "serving-sidecar-flag"),
    defect("relation", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - --cpu-offload-gb=-4\n", "serving-engine-flags"),
    defect("relation", ONE, "    max-model-len: 8192\n", "    max-model-len: 8192\n    enable-chunked-prefill: false\n    max-num-batched-tokens: 2048\n", "serving-engine-flags"),
    defect("relation", ONE, "--metrics-port=9090", "--metrics-port=9003", "serving-picker-flags"),
    defect("address", ONE, "--host=0.0.0.0", "--uds=/tmp/vllm.sock", "serving-address"),
    defect("pod", ONE, "--config=/etc/vllm/vllm.yaml", "--config=/etc/vllm/flags.yaml", "serving-pod"),
    defect("picker", KSERVE, "deciders: {prefill: always-disagg-pd-decider}", "deciders: {prefill: queue-scorer}", "serving-picker-config"),
    defect("pod", ONE, "limits: {cpu: \"8\", memory: 64Gi, nvidia.com/gpu: \"2\"}", "limits: {cpu: \"8\", memory: 64Gi, nvidia.com/gpu: \"0.5\"}", "serving-pod"),
    defect("pod", ONE, "livenessProbe: {httpGet: {path: /health, port: http}}", "livenessProbe: {httpGet: {path: /health, port: http}, successThreshold: 3}", "serving-pod"),
    defect("pod", ONE, "- {name: HF_TOKEN, valueFrom", "- {name: ZONE, valueFrom: {fieldRef: {fieldPath: metadata.nam}}}\n        - {name: HF_TOKEN, valueFrom", "serving-pod"),
    // NIXL side channel.
    defect("side channel", PD, "        - {name: VLLM_NIXL_SIDE_CHANNEL_HOST, valueFrom: {fieldRef: {fieldPath: status.podIP}}} # prefill\n", "", "serving-transfer"),
    defect("side channel", PD, "{name: VLLM_NIXL_SIDE_CHANNEL_HOST, valueFrom: {fieldRef: {fieldPath: status.podIP}}} # prefill", "{name: VLLM_NIXL_SIDE_CHANNEL_HOST, value: localhost}", "serving-transfer"),
    defect("side channel", PD, "{name: VLLM_NIXL_SIDE_CHANNEL_HOST, valueFrom: {fieldRef: {fieldPath: status.podIP}}} # decode", "{name: VLLM_NIXL_SIDE_CHANNEL_HOST, value: 0.0.0.0}", "serving-transfer"),
    defect("side channel", PD, "{name: VLLM_NIXL_SIDE_CHANNEL_HOST, valueFrom: {fieldRef: {fieldPath: status.podIP}}} # prefill", "{name: VLLM_NIXL_SIDE_CHANNEL_HOST, valueFrom: {fieldRef: {fieldPath: metadata.name}}}", "serving-transfer"),
    defect("side channel", PD, r#"{name: VLLM_NIXL_SIDE_CHANNEL_PORT, value: "5600"} # prefill"#, r#"{name: VLLM_NIXL_SIDE_CHANNEL_PORT, value: "8000"}"#, "serving-transfer"),
    defect("side channel", PD, r#"{name: VLLM_NIXL_SIDE_CHANNEL_PORT, value: "5600"} # prefill"#, r#"{name: VLLM_NIXL_SIDE_CHANNEL_PORT, value: "560000"}"#, "serving-engine-flags"),
    defect("side channel", PD, r#"{name: VLLM_NIXL_SIDE_CHANNEL_PORT, value: "5600"} # prefill"#, r#"{name: VLLM_NIXL_SIDE_CHANNEL_PORT, value: "5556"}"#, "serving-transfer"),
    defect("side channel", PD, r#"{name: VLLM_NIXL_SIDE_CHANNEL_PORT, value: "5600"} # prefill"#, r#"{name: VLLM_PORT, value: "tcp://10.0.0.1:8000"}"#, "serving-engine-flags"),
    defect("side channel", PD, ", {port: 5600}]", "]", "serving-transfer"),
    defect("side channel", KSERVE, "        - {name: VLLM_NIXL_SIDE_CHANNEL_HOST, valueFrom: {fieldRef: {fieldPath: status.podIP}}} # prefill\n", "", "serving-transfer"),
    // LoRA adapters and rewrites.
    defect("adapters", ONE, "        - --enable-lora\n", "", "serving-engine-flags"),
    defect("adapters", ONE, "--max-cpu-loras=4", "--max-cpu-loras=1", "serving-engine-flags"),
    defect("adapters", ONE, "modelRewrite: legal", "modelRewrite: leagl", "serving-adapters"),
    defect("adapters", ONE, "legal=/adapters/legal", "law=/adapters/legal", "serving-adapters"),
    // Precise prefix cache routing.
    defect("prefix cache", PD, "--block-size 64", "--block-size 128", "serving-prefix-cache"),
    defect("prefix cache", PD, "blockSize: 64", "blockSize: 16", "serving-prefix-cache"),
    defect("prefix cache", PD, r#"'{"enable_kv_cache_events":true,"#, r#"'{"enable_kv_cache_events":false,"#, "serving-prefix-cache"),
    defect("prefix cache", PD, "tcp://*:5556\",\"topic\":\"kv@$(POD_IP)", "tcp://*:5557\",\"topic\":\"kv@$(POD_IP)", "serving-prefix-cache"),
    defect("prefix cache", PD, "socketPort: 5556", "socketPort: 5557", "serving-prefix-cache"),
    defect("prefix cache", PD, "kv@$(POD_IP)@example/chat-8B", "kv@$(POD_IP)@example/chat-7B", "serving-prefix-cache"),
    defect("prefix cache", PD, "topicFilter: \"kv@\"", "topicFilter: \"cache@\"", "serving-prefix-cache"),
    defect("prefix cache", PD, r#"{name: PYTHONHASHSEED, value: "7"} # decode"#, r#"{name: PYTHONHASHSEED, value: "8"}"#, "serving-prefix-cache"),
    defect("prefix cache", PD, r#"hashSeed: "7""#, r#"hashSeed: "42""#, "serving-prefix-cache"),
    defect("prefix cache", PD, "            --block-size 64 \\\n", "            --block-size 64 --no-enable-prefix-caching \\\n", "serving-prefix-cache"),
    defect("prefix cache", PD, "{prefixMatchInfoProducerName: precise-prefix-cache-producer}", "{}", "serving-prefix-cache"),
    defect("prefix cache", PD, "modelName: example/chat-8B", "modelName: example/chat-70B", "serving-model"),
    defect("adapters", ONE, ANOTHER, and_another!("apiVersion: inference.networking.x-k8s.io/v1alpha2\nkind: InferenceObjective\nmetadata: {name: more, namespace: models}\nspec: {poolRef: {name: chat}}\n---\n"), "serving-pool-missing"),
    // Configurations of pickers.
    defect("picker", ONE, "    - type: lora-affinity-scorer\n", "    - name: lora-affinity-scorer\n", "serving-picker-config"),
    defect("picker", ONE, "    - name: default\n      plugins:\n", "    - plugins:\n", "serving-picker-config"),
    defect("picker", PD, "[{pluginRef: prefill-filter}", "[{weight: 1}", "serving-picker-config"),
    defect("picker", PD, "plugins: [{pluginRef: decode-filter}", "plugins: [{pluginRef: prefill-filter}", "serving-picker-config"),
    defect("picker", PD, "parameters: {deciders: {prefill: always-disagg-pd-decider}}", "parameters: {deciders: {prefill: always-disagg-pd-decider}, profiles: {prefill: first}}", "serving-picker-config"),
    defect("picker", PD, "parameters: {deciders: {prefill: always-disagg-pd-decider}}", "parameters: {}", "serving-picker-config"),
    // Probes.
    defect("probe", ONE, "{path: /v1/models, port: http}", "{path: /ready, port: http}", "serving-probe"),
    defect("probe", ONE, "startupProbe: {httpGet: {path: /health,", "startupProbe: {httpGet: {path: /healthz,", "serving-probe"),
    defect("probe", ONE, "        - --host=0.0.0.0\n", "        - --host=0.0.0.0\n        - --api-key=$(HF_TOKEN)\n", "serving-probe"),
    defect("probe", ONE, "        - --host=0.0.0.0\n", "        - --host=0.0.0.0\n        - --ssl-certfile=/adapters/tls.crt\n        - --ssl-keyfile=/adapters/tls.key\n", "serving-probe"),
    defect("probe", ONE, "livenessProbe: {httpGet: {path: /health, port: http}}", "livenessProbe: {httpGet: {path: /health, port: http, scheme: HTTPS}}", "serving-probe"),
    defect("probe", ONE, "livenessProbe: {httpGet: {path: /health, port: http}}", "livenessProbe: {httpGet: {path: /health, port: 8080}}", "serving-probe"),
    defect("probe", ONE, "livenessProbe: {httpGet: {path: /health, port: http}}", "livenessProbe: {httpGet: {path: /health, port: htpp}}", "serving-probe"),
    defect("probe", ONE, "failureThreshold: 60", "failureThreshold: 3", "serving-probe"),
    defect("probe", PD, "        startupProbe: {httpGet: {path: /health, port: 8000}, periodSeconds: 10, failureThreshold: 60}\n", "", "serving-probe"),
    defect("probe", ONE, "    port: 8000\n", "    port: 8080\n", "serving-probe"),
    defect("probe", KSERVE, "readinessProbe: {httpGet: {path: /health, port: 8080}}", "readinessProbe: {httpGet: {path: /v2/health/ready, port: 8080}}", "serving-probe"),
    defect("probe", OTHERS, "readinessProbe: {httpGet: {path: /health, port: 8091}}", "readinessProbe: {httpGet: {path: /health, port: 8000}}", "serving-probe"),
    // An 8B model is downloaded by every pod, which takes 8 s.
    defect("probe", PD, "startupProbe: {httpGet: {path: /health, port: 8000}, periodSeconds: 10, failureThreshold: 60}", "startupProbe: {httpGet: {path: /health, port: 8000}, initialDelaySeconds: 5, failureThreshold: 6}", "serving-probe"),
    // Addresses.
    defect("address", ONE, "--host=0.0.0.0", "--host=127.0.0.1", "serving-address"),
    defect("address", PD, "--port 8200", "--port 8200 --host localhost", "serving-address"),
    defect("address", OTHERS, "--host 0.0.0.0", "", "serving-address"),
    defect("address", PD, "--secure-proxy=false", "--secure-proxy=false, --enable-tls=decoder", "serving-address"),
    // Service links.
    defect("service links", PD, "metadata: {name: chat-epp, namespace: models}\nspec:\n  selector: {app: chat-epp}\n  ports:", "metadata: {name: chat-epp, namespace: models}\nspec:\n  selector: {app: chat-epp}\n  ports: [{name: grpc-ext-proc, port: 9002}]\n---\napiVersion: v1\nkind: Service\nmetadata: {name: vllm, namespace: models}\nspec:\n  selector: {app: chat}\n  ports: [{port: 8000}]\n---\napiVersion: v1\nkind: Service\nmetadata: {name: another, namespace: models}\nspec:\n  selector: {app: chat-epp}\n  ports:", "serving-service-links"),
    // Programs and their metrics.
    defect("program", ONE, "[vllm, serve, example/chat-14B]", "[vllm, serv, example/chat-14B]", "serving-engine-flags"),
    defect("program", OTHERS, "sglang.launch_server", "sglang.lanch_server", "serving-engine-flags"),
    defect("program", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - --disable-log-stats\n", "serving-engine-flags"),
    // Pods: mounts, keys, resources.
    defect("pod", ONE, "{name: adapters, mountPath: /adapters}", "{name: adapters, mountPath: /dev/shm}", "serving-pod"),
    defect("pod", ONE, "memory: 32Gi", "memory: 32G1", "serving-pod"),
    defect("pod", ONE, "memory: 64Gi", "memory: 64 Gi", "serving-pod"),
    defect("pod", ONE, "emptyDir: {medium: Memory}", "emptyDir: {medium: Memory, sizeLimit: 10 GB}", "serving-pod"),
    defect("pod", ONE, "emptyDir: {medium: Memory}", "emptyDir: {medium: Memory, sizelimit: 10Gi}", "serving-pod"),
    defect("pod", ONE, "{path: /health, port: http}}", "{path: /health, port: http}, successThreshold: 2}", "serving-pod"),
    defect("pod", ONE, "      - name: vllm\n", "      - name: \"\"\n", "serving-pod"),
    defect("pod", ONE, "{name: http, containerPort: 8000}", "{name: http, containerPort: \"8000\"}", "serving-pod"),
    defect("pod", ONE, "    port: 8000\n", "    port: 8000\n  mode: 7\n", "serving-pod"),
    defect("pod", ONE, "{name: shm, mountPath: /dev/shm}", "{name: sham, mountPath: /dev/shm}", "serving-pod"),
    defect("pod", ONE, "      - {name: adapters, persistentVolumeClaim: {claimName: adapters}}\n", "", "serving-pod"),
    defect("pod", ONE, "{name: hf-token, key: HF_TOKEN}", "{name: hf-token, key: token}", "serving-pod"),
    defect("pod", ONE, "secretKeyRef: {name: hf-token,", "secretKeyRef: {name: hf-tokn,", "serving-pod"),
    defect("pod", ONE, "configMap: {name: chat-flags}", "configMap: {name: chat-flag}", "serving-pod"),
    defect("pod", PD, "key: HF_TOKEN}}} # decode", "key: token}}} # decode", "serving-pod"),
    defect("pod", ONE, "requests: {cpu: \"4\", memory: 32Gi, nvidia.com/gpu: \"2\"}", "requests: {cpu: \"4\", memory: 32Gi, nvidia.com/gpu: \"1\"}", "serving-pod"),
    defect("pod", ONE, "limits: {cpu: \"8\", memory: 64Gi, nvidia.com/gpu: \"2\"}", "limits: {cpu: \"8\", memory: 64Gi}", "serving-pod"),
    defect("pod", ONE, "memory: 64Gi", "memory: 16Gi", "serving-pod"),
    defect("pod", KSERVE, "requests: {nvidia.com/gpu: \"1\"}} # prefill", "requests: {nvidia.com/gpu: \"2\"}} # prefill", "serving-pod"),
    defect("pod", OTHERS, "          command: [vllm, serve, example/ray-8B, --port=8000, --tensor-parallel-size=4]\n", "          command: [vllm, serve, example/ray-8B, --port=8000, --tensor-parallel-size=4]\n          volumeMounts: [{name: cache, mountPath: /cache}]\n", "serving-pod"),
    defect("pod", KSERVE, "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: embed, namespace: models}\nspec:\n  predictor:\n", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: models, namespace: models}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 9Gi}}}\n---\napiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: embed, namespace: models}\nspec:\n  predictor:\n    minReplicas: 2\n", "serving-pod"),
    defect("preset", KSERVE, "baseRefs: [{name: two-gpus}]", "baseRefs: [{name: two-large-gpus}]", "serving-kserve"),
    defect("address", PD, "parameters: {modelName: example/chat-8B}", "parameters: {modelName: example/chat-8B, vllm: {url: \"http://chat-epp:9009\"}}", "serving-selector"),
    defect("transfer", PD, "\"kv_role\":\"kv_producer\"}", "\"kv_role\":\"kv_producer\",\"kv_connector_extra_config\":{\"backends\":[\"LIBFABRIC\"]}}", "serving-transfer"),
    defect("pod", OTHERS, "requests: {nvidia.com/gpu: 4}", "requests: {nvidia.com/gpu: 8}", "serving-pod"),
    defect("pod", PD, "volumeMounts: [{name: config, mountPath: /config}]", "volumeMounts: [{name: configs, mountPath: /config}]", "serving-pod"),
    defect("pod", ONE, "{name: config, configMap: {name: chat-epp}}", "{name: config, configMap: {name: router}}", "serving-pod"),
    // Devices and parallelism, in the pods of controllers.
    defect("devices", ONE, "--tensor-parallel-size=2", "--tensor-parallel-size=4", "serving-devices"),
    defect("devices", KSERVE, "parallelism: {tensor: 2}", "parallelism: {tensor: 4}", "serving-devices"),
    defect("devices", KSERVE, "parallelism: {tensor: 1}", "parallelism: {tensor: 2}", "serving-devices"),
    defect("devices", KSERVE, "args: [--tensor-parallel-size=2,", "args: [--tensor-parallel-size=4,", "serving-devices"),
    defect("devices", OTHERS, "--tp-size 2", "--tp-size 4", "serving-devices"),
    defect("devices", OTHERS, "--tensor-parallel-size=4", "--tensor-parallel-size=8", "serving-devices"),
    // Abbreviated flags, which argparse accepts.
    defect("abbreviation", ONE, "--tensor-parallel-size=2", "--tensor-parallel-si=4", "serving-devices"),
    defect("abbreviation", PD, "--port 8200", "--port 8200 --hos=localhost", "serving-address"),
    defect("abbreviation", OTHERS, "--disaggregation-mode decode", "--disaggregation-mod prefill", "serving-transfer"),
    // Selectors and named ports.
    defect("selector", ONE, "selector: {matchLabels: {app: chat}}\n  template:", "selector: {matchLabels: {app: chats}}\n  template:", "serving-pod"),
    defect("selector", ONE, "  selector: {app: chat}\n", "  selector: {app: chatt}\n", "serving-selector"),
    defect("selector", ONE, "targetPort: http}", "targetPort: htpp}", "serving-selector"),
    defect("selector", ONE, "targetPort: http}", "targetPort: 8080}", "serving-selector"),
    defect("selector", ONE, "  selector: {matchLabels: {app: chat}}\n  targetPorts", "  selector: {matchLabels: {app: chats}}\n  targetPorts", "serving-pool-empty"),
    defect("selector", ONE, "podMetricsEndpoints: [{port: http,", "podMetricsEndpoints: [{port: metrics,", "serving-selector"),
    defect("selector", ONE, "  selector: {matchLabels: {app: chat}}\n  podMetricsEndpoints", "  selector: {matchLabels: {app: chta}}\n  podMetricsEndpoints", "serving-selector"),
    defect("selector", ONE, "  - port: http-metrics\n", "  - port: metrics\n", "serving-selector"),
    defect("selector", ONE, "  selector: {matchLabels: {app: chat-epp}}\n  endpoints", "  selector: {matchLabels: {app: chat-ep}}\n  endpoints", "serving-selector"),
    defect("selector", PD, "podMetricsEndpoints: [{port: http}]", "podMetricsEndpoints: [{port: web}]", "serving-selector"),
    // Objects that select nothing of pods that they are meant for.
    defect("nothing", ONE, "  selector: {app: chat}\n", "  selector: {app.kubernetes.io/name: chat}\n", "serving-selector"),
    defect("nothing", ONE, "  selector: {app: chat}\n", "  selector: {app: chat, tier: model}\n", "serving-selector"),
    defect("nothing", ONE, "  selector: {matchLabels: {app: chat}}\n  podMetricsEndpoints", "  selector: {matchLabels: {model: large}}\n  podMetricsEndpoints", "serving-selector"),
    defect("nothing", ONE, "  selector: {matchLabels: {app: chat}}\n  podMetricsEndpoints", "  selector: {matchExpressions: [{key: app, operator: In, values: [model]}]}\n  podMetricsEndpoints", "serving-selector"),
    defect("nothing", ONE, "  selector: {matchLabels: {app: chat-epp}}\n  endpoints", "  selector: {matchLabels: {component: picker}}\n  endpoints", "serving-selector"),
    defect("nothing", ONE, "  selector: {matchLabels: {app: chat}}\n  targetPorts", "  selector: {matchLabels: {model: large}}\n  targetPorts", "serving-pool-empty"),
    defect("nothing", ONE, ANOTHER, and_another!("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: chat-pdb, namespace: models}\nspec: {maxUnavailable: 1, selector: {matchLabels: {model: large}}}\n---\n"), "serving-selector"),
    defect("nothing", ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: chat, namespace: models}\nspec: {podSelector: {matchLabels: {model: large}}}\n---\n"), "serving-selector"),
    defect("nothing", ONE, ANOTHER, and_another!("apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: chat, namespace: models}\nspec: {scaleTargetRef: {name: model}}\n---\n"), "serving-autoscaler"),
    defect("nothing", ONE, ANOTHER, and_another!("apiVersion: v1\nkind: Service\nmetadata: {name: front, namespace: models, labels: {app: front}}\nspec: {selector: {app: frontend}, ports: [{port: 80, targetPort: 9000}]}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: models}\nspec: {selector: {matchLabels: {app: front}}, template: {metadata: {labels: {app: front}}, spec: {containers: [{name: web, image: \"example.com/web@sha256:0000000000000000000000000000000000000000000000000000000000000000\", ports: [{containerPort: 9000}]}]}}}\n---\n"), "serving-selector"),
    // The picker.
    defect("picker", ONE, "--pool-name=chat,", "--pool-name=chats,", "serving-picker-pool"),
    defect("picker", ONE, "--pool-namespace=models", "--pool-namespace=default", "serving-picker-pool"),
    defect("policy", ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: names, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat-epp}}, policyTypes: [Egress], egress: [{ports: [{port: 53}]}, {ports: [{port: 443, protocol: TCP}, {port: 8000}, {port: 6443}]}]}\n---\n"), "serving-gateway"),
    defect("autoscaler", ONE, ANOTHER, and_another!("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: slow, namespace: models}\nspec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}, minReplicas: 1, maxReplicas: 2, metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 4}}}], behavior: {scaleDown: {policies: [{type: Pods, value: 1, periodSeconds: 3600}]}}}\n---\n"), "serving-autoscaler"),
    defect("picker", ONE, "--pool-namespace=models, ", "", "serving-picker-pool"),
    defect("picker", ONE, "    authorization: {credentials: {name: chat-epp-metrics, key: token}}\n", "", "serving-picker-rights"),
    defect("picker", ONE, "--grpc-port=9002", "--grpc-port=9010", "serving-picker-port"),
    defect("picker", ONE, "--metrics-port=9090", "--metrics-port=9091", "serving-picker-flags"),
    defect("picker", ONE, "--metrics-port=9090", "--metrics-port=9002", "serving-picker-flags"),
    defect("picker", ONE, "--grpc-health-port=9003", "--grpc-health-port=9004", "serving-picker-flags"),
    defect("picker", ONE, "--cert-path=/certs", "--secure-serving=false", "serving-destination"),
    defect("picker", ONE, "--cert-path=/certs", "--cert-path=/etc/certs", "serving-picker-flags"),
    defect("picker", ONE, "--config-file=/config/plugins.yaml", "--config-file=/etc/plugins.yaml", "serving-picker-flags"),
    defect("picker", ONE, "--config-file=/config/plugins.yaml", "--config-file=/config/plugin.yaml", "serving-picker-config"),
    defect("picker", ONE, "readinessProbe: {grpc: {port: 9003, service: inference-extension}}", "readinessProbe: {httpGet: {port: 9003, path: /healthz}}", "serving-picker-flags"),
    defect("picker", ONE, "readinessProbe: {grpc: {port: 9003, service: inference-extension}}", "livenessProbe: {httpGet: {port: grpc, path: /healthz}}", "serving-picker-flags"),
    defect("picker", ONE, "--cert-path=/certs", "--cert-path=/certs, --ha-enable-leader-election", "serving-picker-replicas"),
    defect("picker", ONE, "pluginRef: queue-scorer", "pluginRef: queue-scorr", "serving-picker-config"),
    defect("picker", ONE, "endpointPickerRef: {name", "extensionRef: {name", "serving-api"),
    defect("picker", ONE, "failureMode: FailOpen}\n", "failureMode: FailOpen}\n  targetPortNumber: 8000\n", "serving-api"),
    defect("picker", KSERVE, "plugins: [{pluginRef: decode-filter}, {pluginRef: queue-scorer}]", "plugins: [{pluginRef: decode-filter}, {pluginRef: queue}]", "serving-picker-config"),
    defect("picker", KSERVE, "  prefill:\n    replicas: 2", "  prefil:\n    replicas: 2", "serving-api"),
    defect("picker", KSERVE, "parameters: {deciders: {prefill: always-disagg-pd-decider}}", "parameters: {deciderPluginName: never}", "serving-picker-config"),
    defect("picker", KSERVE, "          - name: prefill\n", "          - name: prefil\n", "serving-picker-config"),
    defect("picker", KSERVE, "parameters: {deciders: {prefill: always-disagg-pd-decider}}", "parameters: {deciders: {prefill: always-disagg-pd-decider}, prefillProfile: first}", "serving-picker-config"),
    defect("picker", PD, "  selector: {matchLabels: {app: chat}}\n  targetPorts", "  selector: {matchLabels: {app: chat, llm-d.ai/role: decode}}\n  targetPorts", "serving-roles"),
    defect("picker", PD, "--pool-namespace, models, ", "--pool-namespace, ", "serving-picker-flags"),
    defect("length", PD, "--max-model-len=8192", "--max-model-len=4096", "serving-pair"),
    // KServe.
    defect("kserve", KSERVE, "uri: hf://", "uri: huggingface://", "serving-kserve"),
    defect("kserve", KSERVE, "uri: hf://example", "uri: example", "serving-kserve"),
    defect("kserve", KSERVE, "scheduler:", "schedular:", "serving-api"),
    defect("kserve", KSERVE, "- name: main\n        image: ", "- name: server\n        image: ", "serving-kserve"),
    defect("kserve", KSERVE, "parallelism: {tensor: 2}", "parallelism: {tensor: 2, tensorParallel: 2}", "serving-api"),
    // Routes and Gateways.
    defect("route", ONE, "parentRefs: [{name: inference,", "parentRefs: [{name: inferance,", "serving-gateway"),
    defect("route", ONE, "sectionName: web", "sectionName: https", "serving-gateway"),
    defect("route", ONE, "metadata: {name: inference, namespace: models}", "metadata: {name: inference, namespace: gateways}", "serving-gateway"),
    defect("route", ONE, "parentRefs: [{name: inference,", "parentRefs: [{name: public, namespace: gateways,", "serving-gateway"),
    defect("route", ONE, "backendRefs: [{name: chat, port: 80}]", "backendRefs: [{name: chat, port: 8000}]", "serving-gateway"),
    defect("route", ONE, "backendRefs: [{name: chat, port: 80}]", "backendRefs: [{name: chat}]", "serving-gateway"),
    defect("route", ONE, "backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: chat}]", "backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: chats}]", "serving-pool-missing"),
    defect("route", ONE, "backendRefs: [{name: chat, port: 80}]", "backendRefs: [{name: chat, port: 80, weight: 0}]", "serving-gateway"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat-epp}}, ingress: [{from: [{ipBlock: {cidr: 8.8.8.0/24}}]}]}\n---\n"), "serving-gateway"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat-epp}}, ingress: [{ports: [{port: 9002, protocol: UDP}]}]}\n---\n"), "serving-gateway"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: more, namespace: models}\nspec: {gatewayClassName: istio, listeners: [{name: https, port: 443, protocol: HTTPS}]}\n---\n"), "serving-gateway"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: more, namespace: models}\nspec: {gatewayClassName: istio, listeners: [{name: tls, port: 443, protocol: TLS, tls: {mode: Terminate}}]}\n---\n"), "serving-gateway"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: more, namespace: models}\nspec: {gatewayClassName: istio, listeners: [{name: http, port: 80, protocol: HTTP, tls: {certificateRefs: [{name: a}]}}]}\n---\n"), "serving-gateway"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: more, namespace: models}\nspec: {gatewayClassName: istio, listeners: [{name: a, port: 80, protocol: HTTP}, {name: b, port: 80, protocol: HTTP}]}\n---\n"), "serving-gateway"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: more, namespace: models}\nspec: {parentRefs: [{kind: Service, name: chat}], hostnames: [more.example.com], rules: [{timeouts: {request: 10s, backendRequest: 1m}, backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: chat}]}]}\n---\n"), "serving-gateway"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: more, namespace: models}\nspec: {parentRefs: [{kind: Service, name: chat}], hostnames: [more.example.com], rules: [{filters: [{type: RequestRedirect, requestRedirect: {scheme: https}}], backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: chat}]}]}\n---\n"), "serving-gateway"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: more, namespace: routes}\nspec: {parentRefs: [{kind: Service, name: chat}], hostnames: [more.example.com], rules: [{backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: chat, namespace: models}]}]}\n---\n"), "serving-gateway"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat}}, ingress: [{ports: [{port: 9000}]}]}\n---\n"), "serving-gateway"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat-epp}}, ingress: [{ports: [{port: 9003}, {port: metrics}]}]}\n---\n"), "serving-gateway"),
    defect("route", ONE, "  - {name: web, port: 80, protocol: HTTP}\n---", "  - {name: web, port: 80, protocol: HTTP, hostname: '*.example.com'}\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: more, namespace: models}\nspec: {hostnames: [chat.example.org], parentRefs: [{name: inference}], rules: [{backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: chat}]}]}\n---", "serving-gateway"),
    defect("route", ONE, "value: /tokenize}}", "value: /direct}}", "serving-gateway"),
    defect("route", ONE, "metadata: {name: chat-epp, namespace: models}\nspec:\n  host: chat-epp.models", "metadata: {name: picker, namespace: models}\nspec:\n  host: picker.models", "serving-destination"),
    defect("route", ONE, "  - matches: [{path: {type: PathPrefix, value: /v1}}]\n", "  - matches: [{path: {type: Exact, value: /v1}}]\n    filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}]\n", "serving-gateway"),
    // Peers of NetworkPolicies: the picker, the Gateway, and egress of the picker.
    defect("route", ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat}}, ingress: [{from: [{podSelector: {matchLabels: {app: gateway}}}]}]}\n---\n"), "serving-gateway"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat}}, ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: gateways}}}]}]}\n---\n"), "serving-gateway"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat-epp}}, ingress: [{from: [{podSelector: {matchLabels: {app: chat}}}]}]}\n---\n"), "serving-gateway"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat-epp}}, policyTypes: [Egress], egress: [{ports: [{port: 443}]}]}\n---\n"), "serving-gateway"),
    defect("route", ONE, "kind: InferencePool, name: chat}]", "kind: InferencePools, name: chat}]", "serving-gateway"),
    // Values that the schemas of CRDs and the Kubernetes API refuse.
    defect("schema", ONE, "path: {type: PathPrefix, value: /v1}", "path: {type: Prefix, value: /v1}", "serving-api"),
    defect("schema", ONE, "  - matches: [{path: {type: PathPrefix, value: /v1}}]\n", "  - matches: [{path: {type: PathPrefix, value: /v1}}]\n    timeouts: {request: \"300\"}\n", "serving-api"),
    defect("schema", ONE, "podMetricsEndpoints: [{port: http, path: /metrics}]", "podMetricsEndpoints: [{port: http, path: /metrics, interval: 15}]", "serving-api"),
    defect("schema", KSERVE, "  replicas: 1\n", "  replicas: one\n", "serving-api"),
    defect("schema", KSERVE, "      env:\n      - name: VLLM_ADDITIONAL_ARGS # decode", "      volumeMount: []\n      env:\n      - name: VLLM_ADDITIONAL_ARGS # decode", "serving-pod"),
    defect("schema", KSERVE, "        livenessProbe: {initialDelaySeconds: 120, periodSeconds: 30}", "        livenessProbe: {initialDelaySeconds: 120, period: 30}", "serving-pod"),
    defect("schema", ONE, "- {name: HF_TOKEN, valueFrom", "- {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIp}}}\n        - {name: HF_TOKEN, valueFrom", "serving-pod"),
    defect("schema", ONE, ANOTHER, and_another!("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: chat, namespace: models}\nspec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}, minReplicas: 4, maxReplicas: 2}\n---\n"), "serving-autoscaler"),
    defect("schema", ONE, ANOTHER, and_another!("apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: chat, namespace: models}\nspec: {scaleTargetRef: {name: chat}, idleReplicaCount: 1, minReplicaCount: 1, triggers: []}\n---\n"), "serving-autoscaler"),
    defect("schema", KSERVE, "  replicas: 1\n", "  replicas: 1\n  scaling: {minReplicas: 1, maxReplicas: 2}\n", "serving-kserve"),
    defect("schema", KSERVE, "    replicas: 2\n", "    replicas: 2\n    scaling: {minReplicas: 1, maxReplicas: 2}\n", "serving-kserve"),
    defect("schema", KSERVE, "  parallelism: {tensor: 2}\n", "  parallelism: {tensor: 2, pipeline: 2, data: 2, dataLocal: 2}\n", "serving-kserve"),
    defect("schema", KSERVE, "      config:\n        inline:\n", "      config:\n        ref: {name: epp, key: config.yaml}\n        inline:\n", "serving-kserve"),
    defect("schema", ONE, "[{name: chat, port: 80}]", "[{name: chat, port: 80}]\n  - matches: [{path: {value: v2}}]\n    backendRefs: [{name: chat, port: 80}]", "serving-gateway"),
    defect("schema", ONE, ANOTHER, and_another!("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: chat, namespace: models}\nspec: {maxUnavailable: 1, minAvailable: 1, selector: {matchLabels: {app: chat}}}\n---\n"), "serving-pod"),
    defect("schema", ONE, "      enableServiceLinks: false\n", "      enableServiceLinks: false\n      tolerations: [{key: gpu, operator: Exist}]\n", "serving-pod"),
    defect("schema", ONE, "      enableServiceLinks: false\n", "      enableServiceLinks: false\n      restartPolicy: OnFailure\n", "serving-pod"),
    defect("schema", ONE, "        command: [vllm, serve, example/chat-14B]\n", "        command: [vllm, serve, example/chat-14B]\n        imagePullPolicy: IfNotPresnt\n", "serving-pod"),
    defect("schema", ONE, "kind: HTTPRoute\nmetadata: {name: chat,", "kind: HTTPRoute\nmetadata: {name: Chat_Route,", "serving-pod"),
    defect("schema", KSERVE, "  replicas: 1\n", "  scaling: {minReplicas: 4, maxReplicas: 2}\n", "serving-autoscaler"),
    defect("program", ONE, "vllm/vllm-openai:v0.33.0@", "lmsysorg/sglang:v0.5.23@", "serving-engine-flags"),
    defect("program", ONE, "        args:\n        - --config=/etc/vllm/vllm.yaml\n", "        args:\n        - --config=$(HF_TOKENS)\n", "serving-engine-flags"),
    defect("program", ONE, "image: vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000", "image: \"vllm/vllm-openai: v0.33.0\"", "serving-image"),
    defect("engine start", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - --max-model-len=0\n", "serving-engine-flags"),
    defect("picker", KSERVE, "plugins: [{pluginRef: decode-filter}, {pluginRef: queue-scorer}]", "plugins: [{pluginRef: prefill-filter}, {pluginRef: queue-scorer}]", "serving-picker-config"),
    defect("nothing", ONE, "kind: InferencePool\nmetadata: {name: chat, namespace: models}", "kind: InferencePool\nmetadata: {name: chat, namespace: gateways}", "serving-pool-empty"),
    // Another container on the port of the engine.
    defect("ports", ONE, "      volumes:\n      - {name: shm, emptyDir", "      - {name: proxy, image: \"example.com/proxy@sha256:0000000000000000000000000000000000000000000000000000000000000000\", ports: [{containerPort: 8000}]}\n      volumes:\n      - {name: shm, emptyDir", "serving-port-clash"),
    defect("prefix cache", PD, "\"publisher\":\"zmq\"", "\"publisher\":\"zqm\"", "serving-prefix-cache"),
    // Claims.
    defect("claim", ONE, ANOTHER, and_another!("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: adapters, namespace: models}\nspec: {storageClassName: standard-rwo, accessModes: [ReadWriteMany], resources: {requests: {storage: 9Gi}}}\n---\n"), "serving-pod"),
    defect("claim", ONE, ANOTHER, and_another!("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: ebs.csi.aws.com\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: adapters, namespace: models}\nspec: {storageClassName: fast, accessModes: [ReadWriteMany], resources: {requests: {storage: 9Gi}}}\n---\n"), "serving-pod"),
    defect("claim", ONE, ANOTHER, and_another!("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: adapters, namespace: models}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 9Gi}}}\n---\n"), "serving-pod"),
    defect("claim", ONE, ANOTHER, and_another!("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: weights, namespace: models}\nspec: {accessModes: [ReadOnlyMany], resources: {requests: {storage: 9Gi}}}\n---\n"), "serving-pod"),
    defect("kserve", ONE, ANOTHER, and_another!("apiVersion: serving.kserve.io/v1alpha1\nkind: ServingRuntime\nmetadata: {name: own, namespace: models}\nspec: {supportedModelFormats: [{name: vLLM}], containers: [{name: kserve-container, image: \"example.com/server@sha256:0000000000000000000000000000000000000000000000000000000000000000\"}]}\n---\napiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: own, namespace: models}\nspec: {predictor: {model: {runtime: own, modelFormat: {name: VLLM}, storageUri: hf://example/chat}}}\n---\n"), "serving-kserve"),
    defect("autoscaler", ONE, ANOTHER, and_another!("apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: own, namespace: models}\nspec: {predictor: {minReplicas: 4, maxReplicas: 2, model: {modelFormat: {name: vLLM}, storageUri: hf://example/chat}}}\n---\n"), "serving-autoscaler"),
    defect("engine start", ONE, "    max-model-len: 8192\n", "    max-model-len: 8192\n    kv-cache-dtype: fp8_e4m3fn\n", "serving-engine-flags"),
    defect("kserve", KSERVE, "baseRefs: [{name: two-gpus}]", "baseRefs: [{name: two-gpu}]", "serving-kserve"),
    // What the sidecar and the pool connect to.
    defect("ports", PD, "--model-server-port=8200", "--model-server-port=8201", "serving-sidecar"),
    defect("ports", PD, "targetPorts: [{number: 8000}]", "targetPorts: [{number: 8001}]", "serving-pool-ports"),
    defect("ports", PD, "args: [--port=8000, --model", "args: [--port=8200, --model", "serving-port-clash"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: more, namespace: models}\nspec: {gatewayClassName: more, listeners: [{name: tls, port: 443, protocol: TLS}]}\n---\n"), "serving-gateway"),
    defect("resources", ONE, "          limits: {cpu: \"8\", memory: 64Gi, nvidia.com/gpu: \"2\"}\n          requests: {cpu: \"4\", memory: 32Gi, nvidia.com/gpu: \"2\"}\n", "          limits: {nvdia.com/gpu: 2}\n", "serving-pod"),
    defect("probe", ONE, "        env:\n", "        env:\n        - {name: VLLM_API_KEY, value: secret}\n", "serving-probe"),
    // Pods that start and stop.
    defect("pod", ONE, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: chat, namespace: models}\nspec:\n  replicas: 3\n  selector: {matchLabels: {app: chat}}\n  template:\n    metadata: {labels: {app: chat, team: search}}\n    spec:\n      enableServiceLinks: false\n      serviceAccountName: chat\n      containers:\n      - name: vllm\n        image: vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\n        command: [vllm, serve, example/chat-14B]\n        args:\n        - --config=/etc/vllm/vllm.yaml\n        - --host=0.0.0.0\n        - --tensor-parallel-size=2\n        - --enable-lora\n        - --max-loras=2\n        - --max-cpu-loras=4\n        - --lora-modules\n        - legal=/adapters/legal\n        - sql=/adapters/sql\n        env:\n", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: sizes, namespace: models}\ndata: {SEQS: '0'}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: chat, namespace: models}\nspec:\n  replicas: 3\n  selector: {matchLabels: {app: chat}}\n  template:\n    metadata: {labels: {app: chat, team: search}}\n    spec:\n      enableServiceLinks: false\n      serviceAccountName: chat\n      containers:\n      - name: vllm\n        image: vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\n        command: [vllm, serve, example/chat-14B]\n        args:\n        - --config=/etc/vllm/vllm.yaml\n        - --host=0.0.0.0\n        - --tensor-parallel-size=2\n        - --enable-lora\n        - --max-num-seqs=$(SEQS)\n        - --max-loras=2\n        - --max-cpu-loras=4\n        - --lora-modules\n        - legal=/adapters/legal\n        - sql=/adapters/sql\n        env:\n        - {name: SEQS, valueFrom: {configMapKeyRef: {name: sizes, key: SEQS}}}\n", "serving-engine-flags"),
    defect("pod", ONE, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: chat, namespace: models}\nspec:\n  replicas: 3\n  selector: {matchLabels: {app: chat}}\n  template:\n    metadata: {labels: {app: chat, team: search}}\n    spec:\n      enableServiceLinks: false\n      serviceAccountName: chat\n      containers:\n      - name: vllm\n        image: vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\n        command: [vllm, serve, example/chat-14B]\n        args:\n        - --config=/etc/vllm/vllm.yaml\n        - --host=0.0.0.0\n        - --tensor-parallel-size=2\n        - --enable-lora\n        - --max-loras=2\n        - --max-cpu-loras=4\n        - --lora-modules\n        - legal=/adapters/legal\n        - sql=/adapters/sql\n        env:\n", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: sizes, namespace: models}\ndata: {SEQS: '0'}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: chat, namespace: models}\nspec:\n  replicas: 3\n  selector: {matchLabels: {app: chat}}\n  template:\n    metadata: {labels: {app: chat, team: search}}\n    spec:\n      enableServiceLinks: false\n      serviceAccountName: chat\n      containers:\n      - name: vllm\n        image: vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\n        command: [vllm, serve, example/chat-14B]\n        args:\n        - --config=/etc/vllm/vllm.yaml\n        - --host=0.0.0.0\n        - --tensor-parallel-size=2\n        - --enable-lora\n        - --max-num-seqs=$(MY_SEQS)\n        - --max-loras=2\n        - --max-cpu-loras=4\n        - --lora-modules\n        - legal=/adapters/legal\n        - sql=/adapters/sql\n        envFrom:\n        - {prefix: MY_, configMapRef: {name: sizes}}\n        env:\n", "serving-engine-flags"),
    defect("relation", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - '--speculative-config={\"method\":\"eagle3\",\"model\":\"a/b\",\"num_speculative_tokens\":3,\"draft_tensor_parallel_size\":4}'\n", "serving-engine-flags"),
    defect("pod", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - --gpu-memory-utilization=$(SHARE)\n", "serving-engine-flags"),
    defect("pod", ONE, "        - --enable-lora\n", "        - --enable-lora\n        - --hf-token=$$$(SHARE)\n", "serving-engine-flags"),
    defect("adapters", ONE, "sql=/adapters/sql", "sql:/adapters/sql", "serving-engine-flags"),
    defect("pod", ONE, "readinessProbe: {httpGet: {path: /v1/models, port: http}}\n", "readinessProbe: {httpGet: {path: /v1/models, port: http}}\n        lifecycle: {preStop: {sleep: {seconds: 30}}}\n", "serving-pod"),
    defect("pod", ONE, "readinessProbe: {httpGet: {path: /v1/models, port: http}}\n", "readinessProbe: {httpGet: {path: /v1/models, port: http}}\n        lifecycle: {preStop: {exec: {command: [sh, -c, 'echo bye; sleep 45']}}}\n", "serving-pod"),
    defect("pod", ONE, "      containers:\n      - name: vllm\n        image: vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\n        command: [vllm, serve, example/chat-14B]\n        args:\n        - --config=/etc/vllm/vllm.yaml\n        - --host=0.0.0.0\n        - --tensor-parallel-size=2\n        - --enable-lora\n        - --max-loras=2\n        - --max-cpu-loras=4\n        - --lora-modules\n        - legal=/adapters/legal\n        - sql=/adapters/sql\n        env:\n        - {name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hf-token, key: HF_TOKEN}}}\n        ports:\n        - {name: http, containerPort: 8000}\n        resources:\n          limits: {cpu: \"8\", memory: 64Gi, nvidia.com/gpu: \"2\"}\n          requests: {cpu: \"4\", memory: 32Gi, nvidia.com/gpu: \"2\"}\n        startupProbe: {httpGet: {path: /health, port: http}, periodSeconds: 10, failureThreshold: 60}\n        livenessProbe: {httpGet: {path: /health, port: http}}\n        readinessProbe: {httpGet: {path: /v1/models, port: http}}\n        volumeMounts:\n        - {name: shm, mountPath: /dev/shm}\n        - {name: flags, mountPath: /etc/vllm}\n        - {name: adapters, mountPath: /adapters}\n", "      initContainers:\n      - {name: fetch, image: 'example.com/fetch:1@sha256:0000000000000000000000000000000000000000000000000000000000000000', volumeMounts: [{name: adapters, mountPath: /adapters}]}\n      containers:\n      - name: vllm\n        image: vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\n        command: [vllm, serve, example/chat-14B]\n        args:\n        - --config=/etc/vllm/vllm.yaml\n        - --host=0.0.0.0\n        - --tensor-parallel-size=2\n        - --enable-lora\n        - --max-loras=2\n        - --max-cpu-loras=4\n        - --lora-modules\n        - legal=/adapters/legal\n        - sql=/adapters/sql\n        env:\n        - {name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hf-token, key: HF_TOKEN}}}\n        ports:\n        - {name: http, containerPort: 8000}\n        resources:\n          limits: {cpu: \"8\", memory: 64Gi, nvidia.com/gpu: \"2\"}\n          requests: {cpu: \"4\", memory: 32Gi, nvidia.com/gpu: \"2\"}\n        startupProbe: {httpGet: {path: /health, port: http}, periodSeconds: 10, failureThreshold: 60}\n        livenessProbe: {httpGet: {path: /health, port: http}}\n        readinessProbe: {httpGet: {path: /v1/models, port: http}}\n        volumeMounts:\n        - {name: shm, mountPath: /dev/shm}\n        - {name: flags, mountPath: /etc/vllm}\n        - {name: adapters, mountPath: /lora}\n", "serving-pod"),
    defect("devices", ONE, "        env:\n        - {name: HF_TOKEN", "        env:\n        - {name: CUDA_VISIBLE_DEVICES, value: '1,2'}\n        - {name: HF_TOKEN", "serving-devices"),
    defect("pod", ONE, "persistentVolumeClaim: {claimName: adapters}", "csi: {driver: gcsfuse.csi.storage.gke.io, volumeAttributes: {bucketName: adapters}}", "serving-pod"),
    defect("autoscaler", ONE, ANOTHER, and_another!("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: more, namespace: elsewhere}\nspec: {minReplicas: 0, maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: other}, metrics: [{type: Pods}]}\n---\n"), "serving-pod"),
    defect("kserve", KSERVE, "  model: {uri: hf://example/chat-8B, ", "  model: {lora: {maxAdapters: 2, maxCpuAdapters: 1}, uri: hf://example/chat-8B, ", "serving-kserve"),
    // Found by people who had not seen the rules.
    defect("picker", PD, "    - type: disagg-profile-handler\n      parameters: {deciders: {prefill: always-disagg-pd-decider}}\n", "    - type: disagg-profile-handler\n      parameters: {deciders: {prefill: always-disagg-pd-decider}}\n    - type: single-profile-handler\n", "serving-picker-config"),
    defect("picker", PD, "    - type: disagg-profile-handler\n      parameters: {deciders: {prefill: always-disagg-pd-decider}}\n", "    - type: disagg-profile-handler\n", "serving-picker-config"),
    defect("pod", ONE, ANOTHER, and_another!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: more, namespace: models}\nspec: {selector: {matchLabels: {app: more}}, template: {metadata: {labels: {app: more}}, spec: {containers: [{name: vllm, image: \"vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\", command: [vllm, serve, example/more-1B], env: [{name: HF_HUB_OFFLINE, value: '1'}], resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n---\n"), "serving-pod"),
    defect("pod", ONE, ANOTHER, and_another!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: more, namespace: models}\nspec: {selector: {matchLabels: {app: more}}, template: {metadata: {labels: {app: more}}, spec: {containers: [{name: vllm, image: \"vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\", command: [vllm, serve, '${MODEL}'], env: [{name: MODEL, value: example/more-1B}], resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n---\n"), "serving-engine-flags"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: more, namespace: models}\nspec: {selector: {matchLabels: {app: more}}, template: {metadata: {labels: {app: more}}, spec: {containers: [{name: vllm, image: \"vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\", command: [vllm, serve, example/more-1B], resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: more, namespace: models}\nspec: {podSelector: {matchLabels: {app: more}}, policyTypes: [Egress], egress: [{ports: [{port: 443}]}]}\n---\n"), "serving-gateway"),
    defect("route", ONE, ANOTHER, and_another!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: more, namespace: models}\nspec: {selector: {matchLabels: {app: more}}, template: {metadata: {labels: {app: more}}, spec: {containers: [{name: vllm, image: \"vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\", command: [vllm, serve, example/more-1B], resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: more, namespace: models}\nspec: {podSelector: {matchLabels: {app: more}}, policyTypes: [Egress]}\n---\n"), "serving-gateway"),
    defect("route", ONE, "  - matches: [{path: {type: PathPrefix, value: /v1}}]\n", "  - matches: [{path: {type: PathPrefix, value: /v1}}]\n    filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}]\n", "serving-gateway"),
    defect("disruption", ONE, ANOTHER, and_another!("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: one, namespace: models}\nspec: {maxUnavailable: 1, selector: {matchLabels: {app: chat}}}\n---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: other, namespace: models}\nspec: {maxUnavailable: 1, selector: {matchLabels: {app: chat}}}\n---\n"), "serving-disruption"),
    defect("kserve", ONE, ANOTHER, and_another!("apiVersion: serving.kserve.io/v1alpha2\nkind: LLMInferenceService\nmetadata: {name: more, namespace: elsewhere}\nspec: {model: {uri: hf://example/more-8B, name: example/more-8B}, parallelism: {tensor: 8}, worker: {containers: [{name: main}]}}\n---\n"), "serving-kserve"),
    defect("kserve", ONE, ANOTHER, and_another!("apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: own, namespace: models}\nspec: {predictor: {model: {modelFormat: {name: vLLM}, storageUri: \"hf://example/chat\"}, workerSpec: {pipelineParallelSize: 2}}}\n---\n"), "serving-kserve"),
    defect("bootstrap port", OTHERS, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: images, namespace: models}", "apiVersion: v1\nkind: Service\nmetadata: {name: prefill, namespace: models}\nspec: {selector: {app: prefill}, ports: [{port: 30000}]}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: prefill, namespace: models}\nspec: {selector: {matchLabels: {app: prefill}}, template: {metadata: {labels: {app: prefill}}, spec: {containers: [{name: sglang, image: \"lmsysorg/sglang:v0.5.13@sha256:0000000000000000000000000000000000000000000000000000000000000000\", command: [python3, -m, sglang.launch_server, --model-path, example/chat-8B, --host, 0.0.0.0, --disaggregation-mode, prefill, --disaggregation-bootstrap-port, '8999'], resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: router, namespace: models}\nspec: {selector: {matchLabels: {app: router}}, template: {metadata: {labels: {app: router}}, spec: {containers: [{name: router, image: \"example.com/router:1@sha256:0000000000000000000000000000000000000000000000000000000000000000\", command: [sh, -c, 'python3 -m sglang_router.launch_router --pd-disaggregation --prefill http://prefill.models:30000 8998']}]}}}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: images, namespace: models}", "serving-transfer"),
    defect("autoscaler", ONE, ANOTHER, and_another!("apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: more, namespace: elsewhere}\nspec: {scaleTargetRef: {name: other}, triggers: [{type: prometheus, metadata: {query: 'sum(vllm_num_requests_waiting{})', threshold: '5'}}]}\n---\n"), "serving-autoscaler"),
    defect("engine start", ONE, "        command: [vllm, serve, example/chat-14B]\n        args:\n", "        command: [vllm, serve, Qwen/Qwen2.5-14B-Instruct]\n        args:\n        - --max-model-len=65536\n", "serving-engine-flags"),
    defect("engine start", ONE, "        command: [vllm, serve, example/chat-14B]\n        args:\n        - --config=/etc/vllm/vllm.yaml\n        - --host=0.0.0.0\n        - --tensor-parallel-size=2\n", "        command: [vllm, serve, Qwen/Qwen2.5-7B-Instruct-AWQ]\n        args:\n        - --config=/etc/vllm/vllm.yaml\n        - --host=0.0.0.0\n        - --tensor-parallel-size=8\n", "serving-engine-flags"),
    defect("engine start", ONE, "        command: [vllm, serve, example/chat-14B]\n        args:\n", "        command: [vllm, serve, example/chat-14B-AWQ]\n        args:\n        - --quantization=gptq_marlin\n", "serving-engine-flags"),
    defect("engine start", ONE, "        command: [vllm, serve, example/chat-14B]\n        args:\n", "        args:\n        - serve\n        - example/chat-14B\n", "serving-engine-flags"),
    defect("route", OTHERS, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: images, namespace: models}", "apiVersion: v1\nkind: Service\nmetadata: {name: images, namespace: models}\nspec: {selector: {app: images}, ports: [{port: 80, targetPort: 8091}]}\n---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: images, namespace: models}\nspec: {podSelector: {matchLabels: {app: images}}, ingress: [{ports: [{port: 80}]}]}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: images, namespace: models}", "serving-gateway"),
    defect("autoscaler", OTHERS, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: images, namespace: models}", "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: images, namespace: models}\nspec: {minReplicas: 1, maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: images}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: images, namespace: models}", "serving-autoscaler"),
    defect("kserve", ONE, ANOTHER, and_another!("apiVersion: serving.kserve.io/v1alpha1\nkind: ServingRuntime\nmetadata: {name: own, namespace: models}\nspec: {supportedModelFormats: [{name: vLLM}], containers: [{name: server, image: \"example.com/server@sha256:0000000000000000000000000000000000000000000000000000000000000000\"}]}\n---\n"), "serving-kserve"),
    defect("kserve", ONE, ANOTHER, and_another!("apiVersion: serving.kserve.io/v1alpha1\nkind: ServingRuntime\nmetadata: {name: own, namespace: models}\nspec: {supportedModelFormats: [{name: vLLM}], containers: [{name: kserve-container, image: \"example.com/server@sha256:0000000000000000000000000000000000000000000000000000000000000000\"}]}\n---\napiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: own, namespace: models}\nspec: {predictor: {model: {runtime: own, modelFormat: {name: huggingface}, storageUri: hf://example/chat}}}\n---\n"), "serving-kserve"),
    defect("kserve", ONE, ANOTHER, and_another!("apiVersion: serving.kserve.io/v1alpha1\nkind: ClusterServingRuntime\nmetadata: {name: own}\nspec: {supportedModelFormats: [{name: vLLM}], containers: [{name: kserve-container, image: \"example.com/server@sha256:0000000000000000000000000000000000000000000000000000000000000000\"}]}\n---\napiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: own, namespace: models}\nspec: {predictor: {model: {runtime: own, modelFormat: {name: huggingface}, storageUri: hf://example/chat}}}\n---\n"), "serving-kserve"),
    defect("kserve", ONE, ANOTHER, and_another!("apiVersion: serving.kserve.io/v1alpha1\nkind: ServingRuntime\nmetadata: {name: own, namespace: models}\nspec: {supportedModelFormats: [{name: vLLM}], containers: [{name: kserve-container, image: \"example.com/server@sha256:0000000000000000000000000000000000000000000000000000000000000000\"}]}\n---\napiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: own, namespace: models}\nspec: {predictor: {model: {runtime: own, modelFormat: {name: vLLM}, storageUri: hf://example/chat}, containers: [{name: kserve-container}]}}\n---\n"), "serving-kserve"),
    defect("picker", ONE, "endpoint-picker:v0.10.0@sha256:0000000000000000000000000000000000000000000000000000000000000000", "endpoint-picker:v0.10.0@sha256:replace-with-digest", "serving-image"),
    defect("picker", ONE, "name: chat-epp, namespace: models}\nspec:\n  replicas: 1\n", "name: chat-epp, namespace: models}\nspec:\n  replicas: 2\n", "serving-picker-replicas"),
];

#[rustfmt::skip]
const SOUND: &[Change] = &[
    sound(KSERVE, "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: embed, namespace: models}\nspec:\n  predictor:\n", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: models, namespace: models}\nspec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 9Gi}}}\n---\napiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: embed, namespace: models}\nspec:\n  predictor:\n    minReplicas: 2\n"),
    sound(PD, "parameters: {modelName: example/chat-8B}", "parameters: {modelName: example/chat-8B, vllm: {url: \"http://chat-epp:9002\"}}"),
    sound(PD, "\"kv_role\":\"kv_producer\"}", "\"kv_role\":\"kv_producer\",\"kv_connector_extra_config\":{\"backends\":[\"LIBFABRIC\", \"UCX\"]}}"),
    // Presets of one's own may set the parallelism, and runtimes of others have other containers.
    sound(ONE, ANOTHER, and_another!("apiVersion: serving.kserve.io/v1alpha2\nkind: LLMInferenceService\nmetadata: {name: more, namespace: elsewhere}\nspec: {baseRefs: [{name: own}], model: {uri: hf://example/more-8B, name: example/more-8B}, parallelism: {tensor: 8}, worker: {containers: [{name: main}]}}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: names, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat-epp}}, policyTypes: [Egress], egress: [{ports: [{port: 53}, {port: 53, protocol: UDP}]}, {ports: [{port: 443, protocol: TCP}, {port: 8000}, {port: 6443}]}]}\n---\n")),
    sound(ONE, "        args: [--pool-name=chat, --pool-namespace=models,", "        env: [{name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}]\n        args: [--pool-name=chat,"),
    sound(ONE, "    authorization: {credentials: {name: chat-epp-metrics, key: token}}\n", "    bearerTokenSecret: {name: chat-epp-metrics, key: token}\n"),
    sound(ONE, ANOTHER, and_another!("apiVersion: ome.io/v1beta1\nkind: ServingRuntime\nmetadata: {name: own, namespace: models}\nspec: {containers: [{name: ome-container, image: \"example.com/server@sha256:0000000000000000000000000000000000000000000000000000000000000000\"}]}\n---\n")),
    // Paths that hold `v1` as a part, and Services of something else.
    sound(ONE, "  - matches: [{path: {type: PathPrefix, value: /v1}}]\n", "  - matches: [{path: {type: PathPrefix, value: /v1/chat}}]\n    filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}]\n"),
    // Flags below a condition of a script, which are not known.
    sound(OTHERS, "python3 -m sglang.launch_server --model-path /models/chat-8B --host 0.0.0.0 --port 30000 --tp-size 1\n", "if [ \"$HOSTNAME\" = chat-0 ]; then MORE=\"--host 0.0.0.0\"; fi;\n                python3 -m sglang.launch_server --model-path /models/chat-8B --port 30000 --tp-size 1 --trust-remote-code $MORE\n"),
    // What is like the defects that people who had not seen the rules made.
    sound(ONE, ANOTHER, and_another!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: more, namespace: models}\nspec: {selector: {matchLabels: {app: more}}, template: {metadata: {labels: {app: more}}, spec: {containers: [{name: vllm, image: \"vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\", command: [vllm, serve, example/more-1B], env: [{name: HF_HUB_OFFLINE, value: '0'}], resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: more, namespace: models}\nspec: {selector: {matchLabels: {app: more}}, template: {metadata: {labels: {app: more}}, spec: {containers: [{name: vllm, image: \"vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\", command: [vllm, serve, $(MODEL)], env: [{name: MODEL, value: example/more-1B}], resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: more, namespace: models}\nspec: {selector: {matchLabels: {app: more}}, template: {metadata: {labels: {app: more}}, spec: {containers: [{name: vllm, image: \"vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\", command: [vllm, serve, example/more-1B], resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: more, namespace: models}\nspec: {podSelector: {matchLabels: {app: more}}, policyTypes: [Egress], egress: [{ports: [{port: 443}, {port: 53, protocol: UDP}]}]}\n---\n")),
    sound(ONE, "  - matches: [{path: {type: PathPrefix, value: /v1}}]\n", "  - matches: [{path: {type: PathPrefix, value: /chat/v1}}]\n    filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /v1}}}]\n"),
    sound(ONE, ANOTHER, and_another!("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: one, namespace: models}\nspec: {maxUnavailable: 1, selector: {matchLabels: {app: chat}}}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: own, namespace: models}\nspec: {predictor: {model: {modelFormat: {name: vLLM}, storageUri: \"pvc://example/chat\"}, workerSpec: {pipelineParallelSize: 2}}}\n---\n")),
    sound(OTHERS, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: images, namespace: models}", "apiVersion: v1\nkind: Service\nmetadata: {name: prefill, namespace: models}\nspec: {selector: {app: prefill}, ports: [{name: http, port: 30000}, {name: bootstrap, port: 8999}]}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: prefill, namespace: models}\nspec: {selector: {matchLabels: {app: prefill}}, template: {metadata: {labels: {app: prefill}}, spec: {containers: [{name: sglang, image: \"lmsysorg/sglang:v0.5.13@sha256:0000000000000000000000000000000000000000000000000000000000000000\", command: [python3, -m, sglang.launch_server, --model-path, example/chat-8B, --host, 0.0.0.0, --disaggregation-mode, prefill, --disaggregation-bootstrap-port, '8999'], resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: router, namespace: models}\nspec: {selector: {matchLabels: {app: router}}, template: {metadata: {labels: {app: router}}, spec: {containers: [{name: router, image: \"example.com/router:1@sha256:0000000000000000000000000000000000000000000000000000000000000000\", command: [sh, -c, 'python3 -m sglang_router.launch_router --pd-disaggregation --prefill http://prefill.models:30000 8999']}]}}}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: images, namespace: models}"),
    sound(ONE, ANOTHER, and_another!("apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: more, namespace: elsewhere}\nspec: {scaleTargetRef: {name: other}, triggers: [{type: prometheus, metadata: {query: 'sum(vllm:num_requests_waiting)', threshold: '5'}}]}\n---\n")),
    sound(ONE, "        command: [vllm, serve, example/chat-14B]\n        args:\n", "        command: [vllm, serve, Qwen/Qwen2.5-14B-Instruct-AWQ]\n        args:\n        - --max-model-len=32768\n"),
    sound(ONE, "        command: [vllm, serve, example/chat-14B]\n        args:\n", "        command: [vllm, serve, Qwen/Qwen2.5-14B-Instruct]\n        args:\n        - --max-model-len=65536\n        - '--hf-overrides={\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":2.0}}'\n"),
    sound(ONE, "        command: [vllm, serve, example/chat-14B]\n        args:\n", "        command: [vllm, serve, example/chat-14B-AWQ]\n        args:\n        - --quantization=awq_marlin\n"),
    sound(OTHERS, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: images, namespace: models}", "apiVersion: v1\nkind: Service\nmetadata: {name: images, namespace: models}\nspec: {selector: {app: images}, ports: [{port: 80, targetPort: 8091}]}\n---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: images, namespace: models}\nspec: {podSelector: {matchLabels: {app: images}}, ingress: [{ports: [{port: 8091}]}]}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: images, namespace: models}"),
    sound(OTHERS, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: images, namespace: models}", "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: images, namespace: models}\nspec: {minReplicas: 1, maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: images}, metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 500m}}}]}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: images, namespace: models}"),
    sound(ONE, ANOTHER, and_another!("apiVersion: serving.kserve.io/v1alpha1\nkind: ServingRuntime\nmetadata: {name: own, namespace: models}\nspec: {supportedModelFormats: [{name: vLLM}], containers: [{name: kserve-container, image: \"example.com/server@sha256:0000000000000000000000000000000000000000000000000000000000000000\"}]}\n---\napiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: own, namespace: models}\nspec: {predictor: {model: {runtime: own, modelFormat: {name: vLLM}, storageUri: hf://example/chat}}}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: serving.kserve.io/v1alpha1\nkind: ServingRuntime\nmetadata: {name: own, namespace: other}\nspec: {supportedModelFormats: [{name: onnx}], containers: [{name: kserve-container, image: \"vllm/vllm-openai:v0.11.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\", args: [--model=/mnt/other]}]}\n---\napiVersion: serving.kserve.io/v1alpha1\nkind: ServingRuntime\nmetadata: {name: own, namespace: models}\nspec: {supportedModelFormats: [{name: vLLM}], containers: [{name: kserve-container, image: \"example.com/server@sha256:0000000000000000000000000000000000000000000000000000000000000000\"}]}\n---\napiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: own, namespace: models}\nspec: {predictor: {model: {runtime: own, modelFormat: {name: vLLM}, storageUri: hf://example/chat}}}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: gp3}\nprovisioner: efs.csi.aws.com\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: adapters, namespace: models}\nspec: {storageClassName: gp3, accessModes: [ReadWriteMany], resources: {requests: {storage: 9Gi}}}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: adapters, namespace: models}\nspec: {storageClassName: gp3, volumeMode: Block, accessModes: [ReadWriteMany], resources: {requests: {storage: 9Gi}}}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: own, namespace: models}\nspec: {predictor: {minReplicas: 4, maxReplicas: 0, model: {modelFormat: {name: vLLM}, storageUri: hf://example/chat}}}\n---\n")),
    sound(ONE, "    max-model-len: 8192\n", "    max-model-len: 8192\n    kv-cache-dtype: fp8_e4m3\n    enable-prefix-caching: true\n    async-scheduling: false\n"),
    sound(OTHERS, "command: [vllm, serve, example/images-7B, --omni, --port=8091]\n        resources: {limits: {nvidia.com/gpu: 1}}", "command: [vllm, serve, example/images-7B, --omni, --port=8091]\n        resources: {limits: {nvidia.com/gpu: 0}}"),
    // Variables that plugins and SGLang read, and those that a script asks for.
    sound(ONE, "        env:\n", "        env:\n        - {name: VLLM_MOE_CHUNK_SIZE, value: \"256\"}\n"),
    sound(OTHERS, "              ports: [{name: http, containerPort: 30000}]\n              resources: {limits: {nvidia.com/gpu: 1}}\n", "              ports: [{name: http, containerPort: 30000}]\n              env: [{name: SGLANG_PORT, value: \"30000\"}, {name: SGLANG_HOST_IP, value: 10.0.0.1}]\n              resources: {limits: {nvidia.com/gpu: 1}}\n"),
    sound(PD, "          exec vllm serve example/chat-8B \\\n            --port 8200", "          if [ -n \"$POD_IPS\" ]; then echo \"$POD_IPS\"; fi\n          exec vllm serve example/chat-8B \\\n            --port 8200"),
    // Values that another tool puts in, and devices that are left when CUDA hides others.
    sound(ONE, "--metrics-port=9090", "--metrics-port=9090, \"--ha-enable-leader-election=${ENABLE_LEADER_ELECTION}\""),
    sound(ONE, "        env:\n        - {name: HF_TOKEN", "        env:\n        - {name: CUDA_VISIBLE_DEVICES, value: '0,1,2,3'}\n        - {name: HF_TOKEN"),
    sound(PD, r#""kv_role":"kv_producer""#, r#""kv_role":"kv_both""#),
    sound(PD, "--max-model-len=8192", "--max-model-len=16384"),
    sound(PD, r#"{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}"#, r#"{"kv_connector":"MultiConnector","kv_role":"kv_both","kv_connector_extra_config":{"connectors":[{"kv_connector":"NixlConnector","kv_role":"kv_both"},{"kv_connector":"OffloadingConnector","kv_role":"kv_both"}]}}"#),
    // A connector of one's own, and one that a sidecar of one's own knows.
    sound(PD, r#"{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}"#, r#"{"kv_connector":"OwnConnector","kv_role":"kv_consumer","kv_connector_module_path":"own"}"#),
    // Only prefill needs the address, and a script may set it.
    sound(PD, "        - {name: VLLM_NIXL_SIDE_CHANNEL_HOST, valueFrom: {fieldRef: {fieldPath: status.podIP}}} # decode\n", ""),
    sound(PD, "{name: VLLM_NIXL_SIDE_CHANNEL_HOST, valueFrom: {fieldRef: {fieldPath: status.podIP}}} # prefill", "{name: VLLM_NIXL_SIDE_CHANNEL_HOST, value: $(POD_IP)}"),
    sound(PD, r#"{name: VLLM_NIXL_SIDE_CHANNEL_PORT, value: "5600"} # prefill"#, r#"{name: OTHER, value: "5600"}"#),
    sound(PD, "  - ports: [{port: 8000}, {port: 5556}, {port: 5600}]", "  - ports: [{port: 5000, endPort: 9000}]"),
    sound(ONE, "modelRewrite: legal", "modelRewrite: chat"),
    sound(ONE, "modelRewrite: legal", "modelRewrite: ${ADAPTER}"),
    sound(PD, r#"            --block-size 64 \"#, r#"            --block-size=64 --enable-prefix-caching \"#),
    sound(ONE, "{path: /v1/models, port: http}", "{path: /health, port: 8000}"),
    sound(ONE, "{path: /v1/models, port: http}}\n", "{path: /v1/models, port: http, httpHeaders: [{name: Authorization, value: Bearer x}]}}\n        lifecycle: {preStop: {sleep: {seconds: 5}}}\n"),
    sound(ONE, "livenessProbe: {httpGet: {path: /health, port: http}}", "livenessProbe: {tcpSocket: {port: http}}"),
    sound(ONE, "failureThreshold: 60", "failureThreshold: 12"),
    sound(PD, "startupProbe: {httpGet: {path: /health, port: 8000}, periodSeconds: 10, failureThreshold: 60}", "startupProbe: {httpGet: {path: /health, port: 8000}, failureThreshold: 7}"),
    // Weights on a volume are read faster, and quantized ones are smaller.
    sound(ONE, "periodSeconds: 10, failureThreshold: 60", "initialDelaySeconds: 6, failureThreshold: 6"),
    sound(PD, "        - example/chat-8B\n        - --port=8000", "        - example/chat-8B-AWQ\n        - --served-model-name=example/chat-8B\n        - --port=8000"),
    sound(ONE, "--tensor-parallel-size=2", "--tensor-parallel-si=2"),
    // A ConfigMap that is optional, or that another tool makes.
    sound(ONE, "{name: config, configMap: {name: chat-epp}}", "{name: config, configMap: {name: router, optional: true}}"),
    sound(ONE, "metadata: {name: chat-epp, namespace: models}\ndata:\n  plugins.yaml: |", "metadata: {name: dashboards, namespace: models}\ndata:\n  latency.json: |"),
    // A sidecar may be the only one to connect, and other Services have no variable of the engine.
    sound(ONE, "kind: PodMonitor\n", "kind: PodMonitor\nmetadata: {name: other, namespace: models}\nspec: {selector: {matchLabels: {app: other}}}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: vllm, namespace: models}\nspec: {selector: {app: chat}, ports: [{port: 8000}]}\n---\napiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\n"),
    sound(ONE, "key: HF_TOKEN}}}", "key: TOKEN, optional: true}}}"),
    sound(ONE, "{name: hf-token, key: HF_TOKEN}", "{name: another-secret, key: token}"),
    sound(ONE, "memory: 64Gi", "memory: 68719476736"),
    sound(ONE, "requests: {cpu: \"4\", memory: 32Gi, nvidia.com/gpu: \"2\"}", "requests: {cpu: 4000m, memory: 32Gi}"),
    sound(ONE, "        - --enable-lora\n", "        - --enable-lora\n        - --quantization=fp8\n"),
    sound(ONE, "        - --enable-lora\n", "        - --enable-lora\n        - --quantization=modelopt_mixed\n"),
    sound(ONE, "memory: 64Gi", "memory: ${MEMORY}"),
    sound(ONE, "replicas: 3", "replicas: ${REPLICAS}"),
    sound(ONE, "      serviceAccountName: chat\n", "      serviceAccountName: chat\n      terminationGracePeriodSeconds: ${SECONDS}\n"),
    sound(ONE, "emptyDir: {medium: Memory}", "emptyDir: {medium: Memory, sizeLimit: 10Gi}"),
    sound(ONE, "{path: /v1/models, port: http}}\n", "{path: /v1/models, port: http}, successThreshold: 2}\n"),
    sound(ONE, "[vllm, serve, example/chat-14B]", "[/usr/bin/vllm, serve, example/chat-14B]"),
    sound(ONE, "readinessProbe: {grpc: {port: 9003, service: inference-extension}}", "readinessProbe: {httpGet: {port: metrics, path: /healthz}}"),
    sound(ONE, "targetPort: http}", "targetPort: 8000}"),
    // Services and monitors of other applications.
    sound(ONE, "  selector: {app: chat}\n  ports:\n  - {name: http, port: 80, targetPort: http}", "  selector: {app: redis}\n  ports:\n  - {name: http, port: 80, targetPort: 6379}"),
    sound(ONE, "podMetricsEndpoints: [{port: http,", "podMetricsEndpoints: [{portNumber: 8000,"),
    // Objects for pods that are not in the manifests, or that a controller labels; and all pods.
    sound(ONE, ANOTHER, and_another!("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: chat-redis, namespace: models}\nspec: {maxUnavailable: 1, selector: {matchLabels: {app: redis}}}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat-epp}}, ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0}}]}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat-epp}}, ingress: [{from: [{ipBlock: {cidr: 10.8.0.0/14}}]}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat-epp}}, ingress: [{from: [{ipBlock: {cidr: 35.191.0.0/16}}]}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat-epp}}, ingress: [{from: [{ipBlock: {cidr: \"fd00::/8\"}}]}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: more, namespace: models}\nspec: {gatewayClassName: istio, listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: a}]}}, {name: tls, port: 8443, protocol: TLS, tls: {mode: Passthrough}}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: more, namespace: models}\nspec: {gatewayClassName: istio, listeners: [{name: a, port: 80, protocol: HTTP, hostname: a.example.com}, {name: b, port: 80, protocol: HTTP, hostname: b.example.com}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: more, namespace: models}\nspec: {parentRefs: [{kind: Service, name: chat}], hostnames: [more.example.com], rules: [{timeouts: {request: 0s, backendRequest: 1m}, backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: chat}]}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\nmetadata: {name: more, namespace: models}\nspec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: routes}], to: [{group: inference.networking.k8s.io, kind: InferencePool}]}\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: more, namespace: routes}\nspec: {parentRefs: [{kind: Service, name: chat}], hostnames: [more.example.com], rules: [{backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: chat, namespace: models}]}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: chat, namespace: models}\nspec: {podSelector: {matchExpressions: [{key: app, operator: Exists}]}, ingress: [{}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: deny, namespace: models}\nspec: {podSelector: {}, policyTypes: [Ingress]}\n---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: '${APP}'}}, ingress: [{}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: chat, namespace: models}\nspec: {podSelector: {}, ingress: [{}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: v1\nkind: Service\nmetadata: {name: chat-router, namespace: models}\nspec: {selector: {app: chat, component: router}, ports: [{port: 80, targetPort: 9000}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: chat, namespace: gateways}\nspec: {scaleTargetRef: {name: gateway}, triggers: []}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: idle, namespace: gateways}\nspec: {scaleTargetRef: {name: gateway}, idleReplicaCount: 0, minReplicaCount: 1, triggers: []}\n---\n")),
    sound(ONE, "  selector: {matchLabels: {app: chat}}\n  podMetricsEndpoints", "  selector: {matchLabels: {ray.io/cluster: chat}}\n  podMetricsEndpoints"),
    // Controllers add labels to the pods of their kinds; and a kind that is not read may create the pods.
    sound(OTHERS, "apiVersion: ray.io/v1\n", "apiVersion: v1\nkind: Service\nmetadata: {name: chat, namespace: models}\nspec: {selector: {storm-service-name: chat}, ports: [{port: 8000}]}\n---\napiVersion: ray.io/v1\n"),
    sound(ONE, "kind: Service\nmetadata: {name: chat, namespace: models, labels: {app: chat}}\nspec:\n  selector: {app: chat}\n", "kind: Service\nmetadata: {name: chat, namespace: models}\nspec:\n  selector: {engine: chat}\n  ports: [{port: 80, targetPort: http}]\n---\napiVersion: serving.example.com/v1\nkind: Engine\nmetadata: {name: chat, namespace: models}\nspec:\n  image: example.com/engine:1\n"),
    sound(ONE, "--cert-path=/certs", "--tracing=false"),
    sound(ONE, "--metrics-port=9090, ", ""),
    sound(ONE, "sectionName: web", "port: 80"),
    sound(ONE, "backendRefs: [{name: chat, port: 80}]", "backendRefs: [{name: chat, port: 80, weight: 0}, {name: chat, port: 80, weight: 1}]"),
    sound(ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat}}, ingress: [{ports: [{port: http}]}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat-epp}}, ingress: [{ports: [{port: 9000, endPort: 9100}]}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: adapters, namespace: models}\nspec: {accessModes: [ReadWriteOnce, ReadOnlyMany], resources: {requests: {storage: 9Gi}}}\n---\n")),
    sound(ONE, "  - {name: web, port: 80, protocol: HTTP}", "  - {name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}"),
    sound(KSERVE, "livenessProbe: {initialDelaySeconds: 120, periodSeconds: 30}", "livenessProbe: {httpGet: {path: /health, port: 8000, scheme: HTTPS}}"),
    sound(KSERVE, "parameters: {deciders: {prefill: always-disagg-pd-decider}}", "parameters: {deciderPluginName: always-disagg-pd-decider}"),
    sound(KSERVE, "uri: hf://", "uri: oci://"),
    sound(KSERVE, "uri: hf://", "uri: ${SOURCE}"),
    sound(KSERVE, "    gateway: {}\n", "    gateway: {refs: [{name: \"${GATEWAY}\", namespace: gateways}]}\n"),
    // A named port whose number another tool fills in.
    sound(ONE, "{name: http, containerPort: 8000}", "{name: http, containerPort: \"${PORT}\"}"),
    sound(ONE, "        command: [vllm, serve, example/chat-14B]\n", "        command: [vllm, serve, example/chat-14B]\n        imagePullPolicy: Always\n"),
    // A variable of the image or of Kubernetes.
    sound(ONE, "- --host=0.0.0.0", "- --host=$(HF_TOKEN)"),
    // Peers that are, or may be, the picker and the Gateway.
    sound(ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat}}, ingress: [{from: [{podSelector: {matchLabels: {app: chat-epp}}}, {podSelector: {matchLabels: {gateway.networking.k8s.io/gateway-name: inference}}}]}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat-epp}}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: search}}}]}], egress: [{to: [{podSelector: {matchLabels: {team: search}}}]}, {to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}\n---\n")),
    sound(ONE, "- {name: HF_TOKEN, valueFrom", "- {name: ZONE, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['zone']\"}}}\n        - {name: HF_TOKEN, valueFrom"),
    sound(OTHERS, "--disaggregation-transfer-backend mooncake\n              ports", "\n              ports"),
    // GKE has certificates in an annotation, AWS in parameters, and other tools fill in ports.
    sound(ONE, ANOTHER, and_another!("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: more, namespace: models, annotations: {networking.gke.io/certmap: more}}\nspec: {gatewayClassName: more, listeners: [{name: https, port: 443, protocol: HTTPS}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: more, namespace: models}\nspec: {gatewayClassName: more, infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: more}}, listeners: [{name: https, port: 443, protocol: HTTPS}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: more, namespace: models}\nspec: {gatewayClassName: more, listeners: [{name: a, port: ${PORT_A}, protocol: HTTP}, {name: b, port: ${PORT_B}, protocol: HTTP}]}\n---\n")),
    // Kubernetes creates the account `default`, and Terraform others.
    sound(ONE, "serviceAccountName: chat\n", "serviceAccountName: default\n"),
    sound(ONE, "serviceAccountName: chat\n", "serviceAccountName: hf-reader\n"),
    // In standalone mode a proxy in the pod calls the picker.
    sound(ONE, ANOTHER, and_another!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: edge, namespace: models}\nspec:\n  selector: {matchLabels: {app: edge}}\n  template:\n    metadata: {labels: {app: edge}}\n    spec:\n      containers:\n      - name: epp\n        image: ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\n        args: [--endpoint-selector, app=chat, --endpoint-target-ports, \"8000\", --secure-serving=false]\n      - name: envoy\n        image: envoyproxy/envoy@sha256:0000000000000000000000000000000000000000000000000000000000000000\n        ports: [{containerPort: 8081}]\n---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: edge, namespace: models}\nspec: {podSelector: {matchLabels: {app: edge}}, ingress: [{ports: [{port: 8081}]}]}\n---\n")),
    // Addresses of clusters that are not of the Internet.
    sound(ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat-epp}}, ingress: [{from: [{ipBlock: {cidr: 198.18.0.0/15}}]}]}\n---\n")),
    sound(ONE, ANOTHER, and_another!("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: allow, namespace: models}\nspec: {podSelector: {matchLabels: {app: chat-epp}}, ingress: [{from: [{ipBlock: {cidr: 192.0.2.0/24}}]}]}\n---\n")),
    sound(ONE, "  - {name: web, port: 80, protocol: HTTP}\n---", "  - {name: web, port: 80, protocol: HTTP, hostname: '*.example.com'}\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: more, namespace: models}\nspec: {hostnames: [chat.models.example.com, chat.example.org], parentRefs: [{name: inference}], rules: [{backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: chat}]}]}\n---"),
    sound(ONE, "  - matches: [{path: {type: PathPrefix, value: /v1}}]\n", "  - matches: [{path: {type: PathPrefix, value: /v1}}]\n    filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /v1}}}]\n"),
    // One of the parents has a listener for the hostname.
    sound(ONE, "  - {name: web, port: 80, protocol: HTTP}\n---", "  - {name: web, port: 80, protocol: HTTP, hostname: '*.example.com'}\n  - {name: lab, port: 80, protocol: HTTP, hostname: '*.example.org'}\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: more, namespace: models}\nspec: {hostnames: [chat.models.example.com], parentRefs: [{name: inference, sectionName: web}, {name: inference, sectionName: lab}], rules: [{backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: chat}]}]}\n---"),
    // Arguments below the path of a volume are not always names of files that exist.
    sound(ONE, "        - --enable-lora\n", "        - --enable-lora\n        - --chat-template=/etc/vllm/*.jinja\n"),
    // The API server sets 0 to 1, and converts the old name of a field.
    sound(ONE, "livenessProbe: {httpGet: {path: /health, port: http}}", "livenessProbe: {httpGet: {path: /health, port: http}, successThreshold: 0}"),
    sound(ONE, "- {name: HF_TOKEN, valueFrom", "- {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.host}}}\n        - {name: HF_TOKEN, valueFrom"),
    // An empty value sets no flag, and unknown ones may have any value.
    sound(ONE, "--metrics-port=9090", "--endpoint-selector=, --metrics-port=9090"),
    sound(OTHERS, "--tp-size 2", "--tp-size 2 --nnodes $(NODES)"),
    // Methods that need no draft model, or get it by another flag, and values that are not known yet.
    sound(ONE, "        - --enable-lora\n", "        - --enable-lora\n        - '--speculative-config={\"method\":\"deepseek_mtp\",\"num_speculative_tokens\":1}'\n"),
    sound(ONE, "        - --enable-lora\n", "        - --enable-lora\n        - '--speculative-config={\"method\":\"suffix\"}'\n"),
    sound(ONE, "        - --enable-lora\n", "        - --enable-lora\n        - '--speculative-config={\"method\":\"mtp\",\"model\":\"a/b\"}'\n"),
    sound(ONE, "        - --enable-lora\n", "        - --enable-lora\n        - '--speculative-config={\"method\":\"eagle3\",\"num-speculative-tokens\":3}'\n        - --spec-model=a/b\n"),
    sound(ONE, "        - --enable-lora\n", "        - --enable-lora\n        - '--speculative-config={\"method\":\"$(HF_TOKEN)\",\"num_speculative_tokens\":3}'\n"),
    sound(ONE, "        env:\n", "        envFrom: [{configMapRef: {name: settings}}]\n        env:\n"),
    sound(PD, "--secure-proxy=false", "--secure-proxy=false, --configuration-file=/sidecar.yaml, --enable-ssrf-protection"),
    // Names of NVIDIA's device plugins, plugins of vLLM that a script installs, and keys that may be missing.
    sound(ONE, "          limits: {cpu: \"8\", memory: 64Gi, nvidia.com/gpu: \"2\"}\n          requests: {cpu: \"4\", memory: 32Gi, nvidia.com/gpu: \"2\"}\n", "          limits: {cpu: \"8\", memory: 64Gi, nvidia.com/pgpu: \"2\"}\n          requests: {cpu: \"4\", memory: 32Gi, nvidia.com/pgpu: \"2\"}\n"),
    sound(PD, "exec vllm serve example/chat-8B \\\n", "pip install own && vllm serve example/chat-8B --load-format own \\\n"),
    sound(ONE, "        env:\n", "        env:\n        - {name: VLLM_API_KEY, value: \"\"}\n"),
    sound(ONE, "        env:\n", "        env:\n        - {name: VLLM_API_KEY, valueFrom: {secretKeyRef: {name: key, key: key, optional: true}}}\n"),
    sound(ONE, "        - --enable-lora\n", "        - --enable-lora\n        - -cc.mode=3\n        - '--kernel-config={\"moe_backend\":\"FlashInfer-Cutlass\",\"ir_op_priority\":{\"rms_norm\":\"vllm_c,native\"}}'\n"),
    // Text for the engine, variables of Services, short hooks, mounted files, devices that there are.
    sound(ONE, "        - --enable-lora\n", "        - --enable-lora\n        - '--speculative-config={\"method\":\"eagle3\",\"model\":\"a/b\",\"num_speculative_tokens\":3,\"draft_tensor_parallel_size\":1}'\n"),
    sound(ONE, "        - --enable-lora\n", "        - --enable-lora\n        - '--speculative-config={\"method\":\"eagle3\",\"model\":\"a/b\",\"num_speculative_tokens\":3,\"draft_tensor_parallel_size\":2}'\n"),
    sound(ONE, "        - --enable-lora\n", "        - --enable-lora\n        - --hf-token=$$(SHARE)\n        - --otlp-traces-endpoint=$(TRACES_SERVICE_HOST):$(HF_TOKEN)\n"),
    sound(ONE, "readinessProbe: {httpGet: {path: /v1/models, port: http}}\n", "readinessProbe: {httpGet: {path: /v1/models, port: http}}\n        lifecycle: {preStop: {exec: {command: [sleep, '20']}}}\n"),
    sound(ONE, "      containers:\n      - name: vllm\n        image: vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\n        command: [vllm, serve, example/chat-14B]\n        args:\n        - --config=/etc/vllm/vllm.yaml\n        - --host=0.0.0.0\n        - --tensor-parallel-size=2\n        - --enable-lora\n        - --max-loras=2\n        - --max-cpu-loras=4\n        - --lora-modules\n        - legal=/adapters/legal\n        - sql=/adapters/sql\n        env:\n        - {name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hf-token, key: HF_TOKEN}}}\n        ports:\n        - {name: http, containerPort: 8000}\n        resources:\n          limits: {cpu: \"8\", memory: 64Gi, nvidia.com/gpu: \"2\"}\n          requests: {cpu: \"4\", memory: 32Gi, nvidia.com/gpu: \"2\"}\n        startupProbe: {httpGet: {path: /health, port: http}, periodSeconds: 10, failureThreshold: 60}\n        livenessProbe: {httpGet: {path: /health, port: http}}\n        readinessProbe: {httpGet: {path: /v1/models, port: http}}\n        volumeMounts:\n        - {name: shm, mountPath: /dev/shm}\n        - {name: flags, mountPath: /etc/vllm}\n        - {name: adapters, mountPath: /adapters}\n", "      initContainers:\n      - {name: fetch, image: 'example.com/fetch:1@sha256:0000000000000000000000000000000000000000000000000000000000000000', volumeMounts: [{name: adapters, mountPath: /adapters}]}\n      containers:\n      - name: vllm\n        image: vllm/vllm-openai:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000\n        command: [vllm, serve, example/chat-14B]\n        args:\n        - --config=/etc/vllm/vllm.yaml\n        - --host=0.0.0.0\n        - --tensor-parallel-size=2\n        - --enable-lora\n        - --max-loras=2\n        - --max-cpu-loras=4\n        - --lora-modules\n        - legal=/adapters/legal\n        - sql=/adapters/sql\n        env:\n        - {name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hf-token, key: HF_TOKEN}}}\n        ports:\n        - {name: http, containerPort: 8000}\n        resources:\n          limits: {cpu: \"8\", memory: 64Gi, nvidia.com/gpu: \"2\"}\n          requests: {cpu: \"4\", memory: 32Gi, nvidia.com/gpu: \"2\"}\n        startupProbe: {httpGet: {path: /health, port: http}, periodSeconds: 10, failureThreshold: 60}\n        livenessProbe: {httpGet: {path: /health, port: http}}\n        readinessProbe: {httpGet: {path: /v1/models, port: http}}\n        volumeMounts:\n        - {name: shm, mountPath: /dev/shm}\n        - {name: flags, mountPath: /etc/vllm}\n        - {name: adapters, mountPath: /adapters}\n"),
    sound(ONE, "        env:\n        - {name: HF_TOKEN", "        env:\n        - {name: CUDA_VISIBLE_DEVICES, value: '0,1'}\n        - {name: HF_TOKEN"),
    sound(ONE, ANOTHER, and_another!("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: more, namespace: elsewhere}\nspec: {minReplicas: 0, maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}, metrics: [{type: External, external: {metric: {name: queue}, target: {type: Value, value: \"5\"}}}]}\n---\n")),
    // A pool that KServe creates.
    sound(KSERVE, "apiVersion: serving.kserve.io/v1alpha2\nkind: LLMInferenceService\n", "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: more, namespace: models}\nspec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: chat-inference-pool}]}]}\n---\napiVersion: serving.kserve.io/v1alpha2\nkind: LLMInferenceService\n"),
    sound(KSERVE, "  model: {uri: hf://example/chat-8B, ", "  model: {lora: {maxAdapters: 2, maxCpuAdapters: 4}, uri: hf://example/chat-8B, "),
];

fn stack(name: &str) -> String {
    let text = match name {
        ONE => include_str!("../../../fixtures/serving/single.yaml"),
        PD => include_str!("../../../fixtures/serving/prefill-decode.yaml"),
        KSERVE => include_str!("../../../fixtures/serving/kserve.yaml"),
        _ => include_str!("../../../fixtures/serving/controllers.yaml"),
    };
    text.to_owned()
}

pub(super) fn check(name: &str, text: &str) -> Diagnostics {
    without_notes(all_found(name, text))
}

/// Leaves out notes, which say what is not known, such as the version of an image of a vendor.
fn without_notes(found: Diagnostics) -> Diagnostics {
    found.into_iter().filter(|found| found.severity != Severity::Note).collect()
}

/// Adds each finding as two lines: its key of `[[serving]]`, path and message, and its hint.
pub(super) fn list(found: &Diagnostics, listing: &mut BTreeSet<String>) {
    for finding in found.iter() {
        let severity = finding.severity.as_str();
        let path = finding.place.path.as_deref().unwrap_or("-");
        let hint = finding.hint.as_deref().unwrap_or("-");
        let (code, message) = (finding.code.as_str(), &finding.message);
        let key = finding.place.span.as_ref().map_or("-", |span| span.source.name.as_str());
        listing.insert(format!("{severity}[{code}] {key} {path}: {message}\n  {hint}\n"));
    }
}

pub(super) fn all_found(name: &str, text: &str) -> Diagnostics {
    let mut found = Diagnostics::new();
    let manifests = manifests_of(&format!("{name}.yaml"), text.as_bytes(), &mut found);
    assert!(!found.has_errors(), "{}\n{text}", human::render(&found, false));
    findings_of(manifests)
}

fn changed(change: &Change) -> String {
    let text = stack(change.stack);
    assert!(text.contains(change.from), "{} has no {:?}", change.stack, change.from);
    text.replacen(change.from, change.to, 1)
}

#[test]
fn sound_stacks_have_no_findings() {
    for name in [ONE, PD, KSERVE, OTHERS] {
        let found = check(name, &stack(name));
        assert!(found.is_empty(), "{name}\n{}", human::render(&found, false));
    }
}

#[test]
fn defects_are_found() {
    let mut recall: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let (mut missed, mut listing) = (String::new(), BTreeSet::new());
    for defect in DEFECTS {
        let found = all_found(defect.stack, &changed(defect));
        list(&found, &mut listing);
        let hit =
            found.iter().any(|d| d.code.as_str() == defect.code && d.severity != Severity::Note);
        let counts = recall.entry(defect.kind).or_default();
        counts.1 += 1;
        if hit {
            counts.0 += 1;
        } else {
            missed.push_str(&format!(
                "{} in {}: {:?} -> {:?}: no {}\n{}\n",
                defect.kind,
                defect.stack,
                defect.from,
                defect.to,
                defect.code,
                human::render(&found, false)
            ));
        }
    }
    assert!(DEFECTS.len() >= 60);
    assert!(missed.is_empty(), "{missed}{recall:#?}");
    insta::assert_snapshot!(Vec::from_iter(listing).concat());
}

/// Facts about the releases of vLLM and SGLang say nothing about forks and other programs under the same
/// command: they get a note in place of errors.
#[test]
fn engines_of_other_images_are_not_judged() {
    let image = "vllm/vllm-openai:v0.33.0@";
    let flag = "--host=0.0.0.0";
    let other = "--flag-of-the-fork";
    assert!(stack(ONE).contains(image) && stack(ONE).contains(flag));
    let of_upstream = stack(ONE).replace(flag, other);
    assert!(check(ONE, &of_upstream).has_errors());

    for fork in
        ["vllm-openai-fork:v0.23.0", "vllm-openai:v0.33.0-cu129-cache-v0.4.1", "vllm-openai:own"]
    {
        let fork = format!("registry.example.com/team/{fork}@");
        let found = all_found(ONE, &of_upstream.replace(image, &fork));
        assert!(!found.has_errors(), "{}", human::render(&found, false));
        let notes =
            found.iter().filter(|d| d.message.contains("is not checked, because its image"));
        assert_eq!(notes.count(), 1, "{}", human::render(&found, false));
    }
    for copy in
        ["mirror/vllm-openai:v0.33.0-cu129", "vllm/vllm-openai:own", "mirror/vllm-openai:latest"]
    {
        let copy = format!("registry.example.com/{copy}@");
        let found = all_found(ONE, &of_upstream.replace(image, &copy));
        assert!(found.has_errors(), "{copy}\n{}", human::render(&found, false));
    }

    let diffusion = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: painter}
spec:
  selector: {matchLabels: {app: painter}}
  template:
    metadata: {labels: {app: painter}}
    spec:
      containers:
      - name: server
        image: docker.io/lmsysorg/sglang:v0.5.13@sha256:0000000000000000000000000000000000000000000000000000000000000000
        command: [sglang, serve]
        args: [--model-path=/models, --num-gpus=2, --backend=sglang]
";
    let found = all_found("painter", diffusion);
    assert!(!found.has_errors(), "{}", human::render(&found, false));
    assert!(human::render(&found, false).contains("it is SGLang's diffusion server"));
}

/// Kinds of other projects distribute the ranks of an engine over pods, and pickers may be elsewhere.
#[test]
fn parts_of_other_projects_are_not_judged() {
    let group = "\
apiVersion: workload.example.com/v1
kind: ModelServing
metadata: {name: chat}
spec:
  roles:
  - name: chat
    entryTemplate:
      spec:
        containers:
        - name: engine
          image: vllm/vllm-openai:v0.33.0
          command: [vllm, serve, example/chat, --tensor-parallel-size=2, --pipeline-parallel-size=2]
          resources: {limits: {nvidia.com/gpu: 2}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
        volumes: [{name: shm, emptyDir: {medium: Memory}}]
";
    let pool = "\
---
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: chat}
spec:
  selector: {matchLabels: {app: chat}}
  targetPorts: [{number: 8000}]
  endpointPickerRef: {name: chat-epp, port: {number: 9002}}
---
apiVersion: inference.networking.x-k8s.io/v1alpha2
kind: InferenceObjective
metadata: {name: chat}
spec: {priority: 1, poolRef: {name: chat}}
";
    let found = all_found("group", &format!("{group}{pool}"));
    assert!(!found.has_errors(), "{}", human::render(&found, false));
    let found = all_found("pods", &group.replace("entryTemplate", "template"));
    assert!(found.has_errors(), "{}", human::render(&found, false));
    // Their controllers set variables, and merge templates.
    let merged = group
        .replace("example/chat, ", "example/chat, --master-addr=$(ENTRY_ADDRESS), ")
        .replace("          image: vllm/vllm-openai:v0.33.0\n", "");
    let shown = human::render(&all_found("merged", &merged), false);
    assert!(!shown.contains("ENTRY_ADDRESS") && !shown.contains("has no image"), "{shown}");
    // Workers of Dynamo have no server of their own.
    let engine =
        "[vllm, serve, example/chat, --tensor-parallel-size=2, --pipeline-parallel-size=2]";
    let worker = group.replace(engine, "[python3, -m, dynamo.sglang, --model-path, example/chat]");
    let shown = human::render(&all_found("worker", &worker), false);
    assert!(worker != group && !shown.contains("listens on"), "{shown}");
    // A rank with its own number is alone in its pod.
    let flags = "--tensor-parallel-size=2, --data-parallel-size=4, --data-parallel-rank=1";
    let ranks = group.replace("--tensor-parallel-size=2, --pipeline-parallel-size=2", flags);
    let found = all_found("ranks", &ranks.replace("entryTemplate", "template"));
    assert!(!found.has_errors(), "{}", human::render(&found, false));
}

/// A group whose pods form a Ray cluster with the launch script of vLLM's images.
const RAY: &str = "\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: chat}
spec:
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec:
        containers:
        - name: leader
          image: vllm/vllm-openai:v0.15.0@sha256:0000000000000000000000000000000000000000000000000000000000000000
          command: [sh, -c, \"bash multi-node-serving.sh leader --ray_cluster_size=$(LWS_GROUP_SIZE); vllm serve example/chat --tensor-parallel-size 4 --pipeline-parallel-size 2 --data-parallel-rpc-port 13345\"]
          resources: {limits: {nvidia.com/gpu: 4}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
        volumes: [{name: shm, emptyDir: {medium: Memory}}]
    workerTemplate:
      spec:
        containers:
        - name: worker
          image: vllm/vllm-openai:v0.15.0@sha256:0000000000000000000000000000000000000000000000000000000000000000
          command: [sh, -c, \"bash multi-node-serving.sh worker --ray_address=$(LWS_LEADER_ADDRESS)\"]
          resources: {limits: {nvidia.com/gpu: \"4\"}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
        volumes: [{name: shm, emptyDir: {medium: Memory}}]
";

/// The first line of [`RAY`].
const GROUP: &str = "apiVersion: leaderworkerset.x-k8s.io/v1\n";

/// A Service before [`GROUP`].
fn front(selector: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: chat}}\nspec: {{selector: {{{selector}}}, \
         ports: [{{port: 80, targetPort: 8000}}]}}\n---\n{GROUP}"
    )
}

#[test]
fn members_of_groups() {
    let mut listing = BTreeSet::new();
    let found = check("group", RAY);
    assert!(!found.has_errors(), "{}", human::render(&found, false));
    for (from, to, message) in [
        (
            "ray_address=$(LWS_LEADER_ADDRESS)",
            "ray_address=$(LWS_LEADER_ADRESS)",
            "sets no variable `LWS_LEADER_ADRESS`",
        ),
        (
            "ray_address=$(LWS_LEADER_ADDRESS)",
            "ray_address=$(LWS_LEADERADDRESS) LWS_LEADERADDRESS=x",
            "",
        ),
        ("(LWS_LEADER_ADDRESS)", "(LWS_LEADER_ADDR)", "sets no variable `LWS_LEADER_ADDR`"),
        ("=$(LWS_GROUP_SIZE)", "=4", "Ray waits for 4 pods, but groups have 2"),
        ("=$(LWS_GROUP_SIZE)", "=2", ""),
        ("gpu: \"4\"", "gpu: 2", "workers have 2 devices for 4 ranks"),
        ("gpu: \"4\"", "gpu: 8", ""),
        (
            "- name: worker\n",
            "- name: worker\n          env: [{name: NCCL_SOCKET_IFNAME, value: lo}]\n",
            "`NCCL_SOCKET_IFNAME` is `lo`",
        ),
        (
            "- name: worker\n",
            "- name: worker\n          env: [{name: NCCL_SOCKET_IFNAME, value: eth0}]\n",
            "",
        ),
        (GROUP, &front("leaderworkerset.sigs.k8s.io/name: chat"), "selects the workers of"),
        (
            GROUP,
            &front("leaderworkerset.x-k8s.io/name: chat"),
            "select by `leaderworkerset.sigs.k8s.io/name: chat`",
        ),
        (GROUP, &front("leaderworkerset.sigs.k8s.io/worker-index: '0'"), ""),
        (GROUP, &front("leaderworkerset.sigs.k8s.io/name: chat}, clusterIP: None, x: {"), ""),
        (
            "rpc-port 13345",
            "rpc-port 8000",
            "`--data-parallel-rpc-port` is also the port of a server",
        ),
    ] {
        assert!(RAY.contains(from), "{from}");
        let found = check("group", &RAY.replace(from, to));
        list(&found, &mut listing);
        let shown = human::render(&found, false);
        assert_eq!(found.has_errors(), !message.is_empty(), "{from} -> {to}\n{shown}");
        assert!(shown.contains(message), "{from} -> {to}\n{shown}");
    }

    // Shells set some variables themselves.
    for (script, is_found) in [("PIT=1; ls $PID", true), ("PID=1; ls $PWD", false)] {
        let changed =
            RAY.replace("=$(LWS_LEADER_ADDRESS)", &format!("=$(LWS_LEADER_ADDRESS); {script}"));
        let shown = human::render(&check("group", &changed), false);
        assert_eq!(shown.contains("nothing sets the variable"), is_found, "{shown}");
    }
    insta::assert_snapshot!(Vec::from_iter(listing).concat());
}

/// A group whose leader has no engine: the workers are the nodes.
const GATE: &str = "\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: chat}
spec:
  startupPolicy: LeaderReady
  leaderWorkerTemplate:
    size: 3
    leaderTemplate:
      spec:
        containers: [{name: gate, image: \"example.com/gate:1\"}]
    workerTemplate:
      spec:
        containers:
        - name: worker
          image: vllm/vllm-openai:v0.15.0@sha256:0000000000000000000000000000000000000000000000000000000000000000
          command: [vllm, serve, example/chat, --tensor-parallel-size=8, --nnodes=2, --node-rank=$(LWS_WORKER_INDEX), --master-addr=$(LWS_LEADER_ADDRESS)]
          resources: {limits: {nvidia.com/gpu: 4}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
        volumes: [{name: shm, emptyDir: {medium: Memory}}]
";

#[test]
fn leaders_without_an_engine() {
    for (from, to, message, is_found) in [
        ("", "", "engine waits for", false),
        ("", "", "LeaderReady deadlocks", false),
        ("size: 3", "size: 4", "engine waits for 2 pods, but groups have 3", true),
        ("", "", "stays as it is", false),
        (
            "$(LWS_WORKER_INDEX)",
            "${LWS_WORKER_INDEX}",
            "`${LWS_WORKER_INDEX}` stays as it is",
            true,
        ),
    ] {
        let shown = human::render(&check("gate", &GATE.replace(from, to)), false);
        assert_eq!(shown.contains(message), is_found, "{from} -> {to}\n{shown}");
    }
}

#[test]
fn chips_of_a_topology() {
    let pods = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      nodeSelector: {cloud.google.com/gke-tpu-accelerator: tpu-v6e-slice, cloud.google.com/gke-tpu-topology: 2x4}
      containers:
      - name: vllm
        image: vllm/vllm-tpu:v0.15.0
        command: [vllm, serve, example/chat, --tensor-parallel-size=8]
        resources: {limits: {google.com/tpu: 8}}
";
    for (topology, is_sound) in [("2x4", true), ("4x4", true), ("2x2", false), ("${SHAPE}", true)] {
        let found = human::render(&check("tpu", &pods.replace("2x4", topology)), false);
        assert_eq!(!found.contains("chips, but"), is_sound, "{topology}\n{found}");
    }
}

/// The sidecar tells both engines the bootstrap port of prefill.
#[test]
fn bootstrap_ports() {
    let pods = |role: &str, port: u32, args: &str, sidecar: &str| {
        format!(
            "\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {role}}}
spec:
  selector: {{matchLabels: {{app: {role}}}}}
  template:
    metadata: {{labels: {{app: {role}, llm-d.ai/role: {role}}}}}
    spec:
      initContainers: [{sidecar}]
      containers:
      - name: sglang
        image: lmsysorg/sglang:v0.5.13@sha256:0000000000000000000000000000000000000000000000000000000000000000
        command: [python3, -m, sglang.launch_server]
        args: [--model-path=example/chat, --host=0.0.0.0, --port={port}, --disaggregation-mode={role}{args}]
---
"
        )
    };
    let stack = |args: &str, env: &str| {
        let sidecar = format!(
            "{{name: routing-proxy, image: ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0, \
             restartPolicy: Always, args: [--port=8000, --model-server-port=8200, \
             --kv-connector=sglang, --secure-proxy=false], env: [{env}]}}"
        );
        let prefill = pods("prefill", 8000, args, "");
        format!("{prefill}{}", pods("decode", 8200, "", &sidecar))
    };
    let other = "{name: SGLANG_BOOTSTRAP_PORT, value: \"9001\"}";
    for (args, env, is_sound) in [
        ("", "", true),
        (", --disaggregation-bootstrap-port=9001", "", false),
        (", --disaggregation-bootstrap-port=9001", other, true),
        ("", other, false),
        ("", "{name: SGLANG_BOOTSTRAP_PORT, value: \"8000\"}", true),
    ] {
        let found = human::render(&check("sglang", &stack(args, env)), false);
        assert_eq!(
            !found.contains("sidecar uses bootstrap port"),
            is_sound,
            "{args} {env}\n{found}"
        );
    }
}

/// A base has references that only its overlays complete: kustomize generated a ConfigMap, and did not
/// write its name where the base has another.
#[test]
fn incomplete_kustomizations_get_a_note() {
    let base = |config_map: &str| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {config_map}}}
data: {{MODEL_ID: a/b}}
---
apiVersion: v1
kind: Service
metadata: {{name: vllm}}
spec: {{selector: {{app: vllm}}, ports: [{{port: 8000}}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: vllm}}
spec:
  selector: {{matchLabels: {{app: vllm}}}}
  template:
    metadata: {{labels: {{app: vllm}}}}
    spec:
      containers:
      - name: server
        image: vllm/vllm-openai:v0.33.0
        args: [--model=$(MODEL_ID)]
        env:
        - {{name: MODEL_ID, valueFrom: {{configMapKeyRef: {{name: runtime, key: MODEL_ID}}}}}}
"
        )
    };
    let found = all_found("base", &base("server-c7h2662dg4"));
    let shown = human::render(&found, false);
    assert!(!found.has_errors(), "{shown}");
    assert_eq!(shown.matches("incomplete: Deployment/vllm references").count(), 1, "{shown}");

    // Without a generated name it is a mistake, and so is the name of the Service.
    let found = check("whole", &base("server"));
    let codes: Vec<&str> = found.iter().map(|found| found.code.as_str()).collect();
    assert!(
        codes.contains(&"serving-pod") && codes.contains(&"serving-service-links"),
        "{codes:?}"
    );
}

#[test]
fn changes_that_are_no_defect_are_not_reported() {
    let mut wrong = String::new();
    for change in SOUND {
        let found = check(change.stack, &changed(change));
        if !found.is_empty() {
            wrong.push_str(&format!(
                "{}: {:?} -> {:?}\n{}\n",
                change.stack,
                change.from,
                change.to,
                human::render(&found, false)
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Flags of SGLang whose action takes no value (`DeprecatedAction`).
#[test]
fn deprecated_flags_without_a_value() {
    let text = stack(OTHERS)
        .replace("sglang:v0.5.13@", "sglang:v0.5.4@")
        .replace("--tp-size 1\n", "--tp-size 1 --enable-deepep-moe\n")
        .replace("--tp-size 2\n", "--tp-size 2 --enable-piecewise-cuda-graph\n");
    let shown = human::render(&all_found(OTHERS, &text), false);
    assert!(shown.contains("`--enable-deepep-moe` is deprecated"), "{shown}");
    assert!(!shown.contains("no value"), "{shown}");
}

/// The objects of a picker with its own ServiceAccount.
const ACCOUNT: &str = "\
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: chat-epp, namespace: models}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: chat-epp, namespace: models}
rules:
- {apiGroups: [\"\"], resources: [pods], verbs: [get, list, watch]}
- {apiGroups: [llm-d.ai], resources: [inferenceobjectives, inferencemodelrewrites], verbs: [get, list, watch]}
- {apiGroups: [inference.networking.k8s.io], resources: [inferencepools], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: chat-epp, namespace: models}
subjects: [{kind: ServiceAccount, name: chat-epp, namespace: models}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: chat-epp}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: chat-epp}
rules:
- {apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}
- {apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: chat-epp}
subjects: [{kind: ServiceAccount, name: chat-epp, namespace: models}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: chat-epp}
";

#[test]
fn the_configuration_of_a_complete_picker_is_missing() {
    let account = "containers:\n      - name: epp\n";
    let text =
        stack(ONE).replace(account, &format!("serviceAccountName: chat-epp\n      {account}"));
    let complete = format!("{text}{ACCOUNT}");
    let found = check(ONE, &complete);
    assert!(found.is_empty(), "{}", human::render(&found, false));

    // Names of resources are plural, and a token is needed to use the rights.
    let account = "kind: ServiceAccount\nmetadata: {name: chat-epp, namespace: models}\n";
    let pod = "serviceAccountName: chat-epp\n";
    let [off, on] = ["false", "true"].map(|on| format!("automountServiceAccountToken: {on}\n"));
    for (from, to, says) in [
        ("resources: [pods]", "resources: [pods, pod]".to_owned(), "grants `pod`"),
        (account, format!("{account}{off}"), "gets no token"),
        (pod, format!("{pod}      {off}"), "gets no token"),
        (pod, format!("{pod}      {on}"), ""),
    ] {
        assert!(complete.contains(from), "{from}");
        let found = check(ONE, &complete.replace(from, &to));
        let found = human::render(&found, false);
        assert_eq!(found.is_empty(), says.is_empty(), "{to}: {found}");
        assert!(found.contains(says), "{to}: {found}");
    }

    // Nothing in the manifests has the file.
    let config = "metadata: {name: chat-epp, namespace: models}\ndata:\n  plugins.yaml: |";
    assert!(complete.contains(config));
    let other = "metadata: {name: dashboards, namespace: models}\ndata:\n  latency.json: |";
    let found = human::render(&check(ONE, &complete.replace(config, other)), false);
    assert!(found.contains("reads `plugins.yaml` of ConfigMap/chat-epp"), "{found}");

    // Without its rights, other manifests may have both.
    let found = check(ONE, &text.replace(config, other));
    assert!(found.is_empty(), "{}", human::render(&found, false));
}

/// A picker that does not run as the ServiceAccount with its permissions.
#[test]
fn the_account_of_a_picker_is_unused() {
    let text = format!("{}{ACCOUNT}", stack(ONE));
    let found = human::render(&check(ONE, &text), false);
    let message = "runs as ServiceAccount `default`, but `chat-epp` has the permissions";
    assert!(found.contains(message), "{found}");

    // Its permissions may be elsewhere.
    let without = ACCOUNT.replace("resources: [inferencepools]", "resources: [others]");
    let found = check(ONE, &format!("{}{without}", stack(ONE)));
    assert!(found.is_empty(), "{}", human::render(&found, false));
}

/// Pickers of the Gateway API Inference Extension read objectives of its group.
#[test]
fn the_permissions_of_pickers_by_their_image() {
    let account = "containers:\n      - name: epp\n";
    let text =
        stack(ONE).replace(account, &format!("serviceAccountName: chat-epp\n      {account}"));
    let roles =
        ACCOUNT.replace("apiGroups: [llm-d.ai]", "apiGroups: [inference.networking.x-k8s.io]");
    let rights = "cannot get, list, watch inferenceobjectives.llm-d.ai";
    let found = human::render(&check(ONE, &format!("{text}{roles}")), false);
    assert!(found.contains(rights), "{found}");

    let image = "ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@";
    let other = text.replace(image, "registry.example.com/epp:v1.5.0@");
    // The oldest do not watch rewrites.
    let oldest =
        roles.replace("[inferenceobjectives, inferencemodelrewrites]", "[inferenceobjectives]");
    // Those before read pools of that group too, if no flag says another.
    let pools = oldest.replace("[inference.networking.k8s.io]", "[inference.networking.x-k8s.io]");
    let old_pool = other.replace(
        "inference.networking.k8s.io/v1\nkind: InferencePool",
        "inference.networking.x-k8s.io/v1alpha2\nkind: InferencePool",
    );
    let with_pool = human::render(&check(ONE, &format!("{other}{pools}")), false);
    assert!(with_pool.contains("inferencepools.inference.networking.k8s.io"), "{with_pool}");
    for (stack, roles) in [(&other, roles), (&other, oldest), (&old_pool, pools)] {
        let found = human::render(&check(ONE, &format!("{stack}{roles}")), false);
        assert!(!found.contains("cannot get, list, watch inference"), "{found}");
    }
}

/// Pickers of llm-d watch objectives of llm-d since they are part of its router.
#[test]
fn objectives_by_the_release_of_the_picker() {
    let image = "ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0@";
    for (other, is_watched) in
        [("ghcr.io/llm-d/llm-d-inference-scheduler:v0.5.1@", true), (image, false)]
    {
        let objective = "---\napiVersion: inference.networking.x-k8s.io/v1alpha2\nkind: \
            InferenceObjective\nmetadata: {name: more, namespace: models}\nspec: {poolRef: {name: chat}}\n";
        let text = stack(ONE).replace(image, other) + objective;
        let found = human::render(&check(ONE, &text), false);
        assert_eq!(!found.contains("which the picker does not watch"), is_watched, "{found}");
    }
}

/// A key that no release has, and a value that none accepts, are errors for any tag.
#[test]
fn configurations_of_pickers_of_unknown_releases() {
    let text = stack(ONE).replace("endpoint-picker:v0.10.0@", "endpoint-picker:main@");
    for (from, to, message) in [
        ("weight: 4", "wieght: 4", "`wieght`"),
        ("weight: 4", "weight: four", "`weight` is not of type number"),
    ] {
        let found = human::render(&check(ONE, &text.replace(from, to)), false);
        assert!(found.contains(message), "{found}");
    }
    // Only later releases accept fractions.
    let found = check(ONE, &text.replace("weight: 4", "weight: 0.5"));
    assert!(found.is_empty(), "{}", human::render(&found, false));
}

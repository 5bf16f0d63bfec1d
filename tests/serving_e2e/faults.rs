//! Charts with one fault each: the check of a promise that no fault breaks shows nothing.

use crate::cluster::Cluster;
use crate::examples::charts;
use crate::namespaces;
use crate::promises;
use crate::release::{Release, all_objects};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Limit for pods and pickers to be ready: some faults are found when it is over.
const PATIENCE: Duration = Duration::from_secs(60);

/// A change of a chart's file that breaks a promise.
struct Fault {
    name: &'static str,
    chart: &'static str,
    /// The file below templates/, the text in it that is replaced where it is first, and by what.
    file: &'static str,
    from: &'static str,
    to: &'static str,
    /// The promise that it breaks.
    breaks: &'static str,
}

const FAULTS: &[Fault] = &[
    Fault {
        name: "engine on another port than its probes",
        chart: "qwen3-8b",
        file: "deployment-qwen3-8b-decode.yaml",
        from: "--port=8000",
        to: "--port=8080",
        breaks: promises::PODS,
    },
    Fault {
        name: "engine on the loopback address",
        chart: "qwen3-8b",
        file: "deployment-qwen3-8b-decode.yaml",
        from: "- --port=8000",
        to: "- --port=8000\n        - --host=127.0.0.1",
        breaks: promises::PODS,
    },
    Fault {
        name: "pool with a port that nothing serves",
        chart: "qwen3-8b",
        file: "inferencepool-qwen3-8b.yaml",
        from: "number: 8000",
        to: "number: 8001",
        breaks: "each port of the pool is served",
    },
    Fault {
        name: "pool that selects no pod",
        chart: "qwen3-8b",
        file: "inferencepool-qwen3-8b.yaml",
        from: "      app: qwen3-8b",
        to: "      app: qwen3-80b",
        breaks: "the pool selects the pods that serve",
    },
    Fault {
        name: "pool with another picker",
        chart: "qwen3-8b",
        file: "inferencepool-qwen3-8b.yaml",
        from: "name: qwen3-8b-epp\n    port",
        to: "name: qwen3-80b-epp\n    port",
        breaks: "the picker is ready",
    },
    Fault {
        name: "Service that selects no picker",
        chart: "qwen3-8b",
        file: "service-qwen3-8b-epp.yaml",
        from: "llm-d-router-gateway: qwen3-8b-epp",
        to: "llm-d-router-gateway: qwen3-80b-epp",
        breaks: "the picker is ready",
    },
    Fault {
        name: "picker of another pool",
        chart: "qwen3-8b",
        file: "deployment-qwen3-8b-epp.yaml",
        from: "- --pool-name\n        - qwen3-8b",
        to: "- --pool-name\n        - qwen3-80b",
        breaks: "the picker is ready",
    },
    Fault {
        name: "picker with an unknown plugin",
        chart: "qwen3-8b",
        file: "configmap-qwen3-8b-epp.yaml",
        from: "queue-scorer",
        to: "queue-score",
        breaks: "the picker is ready",
    },
    Fault {
        name: "picker that may not watch pods",
        chart: "qwen3-8b",
        file: "role-qwen3-8b-epp-sa.yaml",
        from: "  - watch\n",
        to: "",
        breaks: "no request of an account is denied",
    },
    Fault {
        name: "picker that may not read objectives",
        chart: "qwen3-8b",
        file: "role-qwen3-8b-epp-non-sa.yaml",
        from: "- llm-d.ai",
        to: "- llm-d.io",
        breaks: "no request of an account is denied",
    },
    Fault {
        name: "picker that may not review tokens",
        chart: "qwen3-8b",
        file: "clusterrole-serving.yaml",
        from: "  - tokenreviews",
        to: "  - tokens",
        breaks: "metrics are readable",
    },
    Fault {
        name: "PodMonitor of a port that pods do not have",
        chart: "qwen3-8b",
        file: "podmonitor-qwen3-8b-decode.yaml",
        from: "port: engine",
        to: "port: metrics",
        breaks: "metrics are readable",
    },
    Fault {
        name: "disruption budget of other pods",
        chart: "qwen3-8b",
        file: "poddisruptionbudget-qwen3-8b-decode.yaml",
        from: "app.kubernetes.io/name: qwen3-8b-decode",
        to: "app.kubernetes.io/name: qwen3-80b-decode",
        breaks: "disruption budgets allow a disruption",
    },
    Fault {
        name: "route to another pool",
        chart: "qwen3-8b",
        file: "httproute-qwen3-8b.yaml",
        from: "kind: InferencePool\n      name: qwen3-8b",
        to: "kind: InferencePool\n      name: qwen3-80b",
        breaks: "routes lead to the pool",
    },
    Fault {
        name: "route that gives its pool no weight",
        chart: "qwen3-8b",
        file: "httproute-qwen3-8b.yaml",
        from: "kind: InferencePool\n      name: qwen3-8b",
        to: "kind: InferencePool\n      name: qwen3-8b\n      weight: 0",
        breaks: "routes lead to the pool",
    },
    Fault {
        name: "policy with another port of the picker",
        chart: "llama-405b",
        file: "networkpolicy-llama-405b-epp.yaml",
        from: "port: 9002",
        to: "port: 9003",
        breaks: "policies allow requests",
    },
    Fault {
        name: "policy of engines for another namespace of Gateways",
        chart: "llama-405b",
        file: "networkpolicy-llama-405b.yaml",
        from: "kubernetes.io/metadata.name: gateways",
        to: "kubernetes.io/metadata.name: gateway",
        breaks: "policies allow requests",
    },
    Fault {
        name: "workers in the pool",
        chart: "llama-405b",
        file: "leaderworkerset-llama-405b-decode.yaml",
        from: "          app.kubernetes.io/component: engine\n        {{",
        to: "          app.kubernetes.io/component: engine\n          app: llama-405b\n        {{",
        breaks: "the pool selects the pods that serve",
    },
    Fault {
        name: "group with a node too few",
        chart: "llama-405b",
        file: "leaderworkerset-llama-405b-decode.yaml",
        from: "--nnodes=2",
        to: "--nnodes=3",
        breaks: promises::PODS,
    },
    Fault {
        name: "more ranks than GPUs",
        chart: "llama-405b",
        file: "leaderworkerset-llama-405b-decode.yaml",
        from: "--tensor-parallel-size=8",
        to: "--tensor-parallel-size=16",
        breaks: promises::PODS,
    },
    Fault {
        name: "nodes of SGLang that look for the first one at another port",
        chart: "deepseek-v3-sglang",
        file: "leaderworkerset-deepseek-v3-sglang-decode.yaml",
        from: "$leader:5000",
        to: "$leader:5001",
        breaks: promises::PODS,
    },
    Fault {
        name: "prefill server with another bootstrap port",
        chart: "deepseek-v3-sglang",
        file: "leaderworkerset-deepseek-v3-sglang-prefill.yaml",
        from: "--disaggregation-bootstrap-port=8998",
        to: "--disaggregation-bootstrap-port=8999",
        breaks: "requests are answered",
    },
    Fault {
        name: "ranks that start at the same number",
        chart: "deepseek-v3-hybrid",
        file: "leaderworkerset-deepseek-v3-hybrid-decode.yaml",
        from: "$((LWS_WORKER_INDEX * 8))",
        to: "$((LWS_WORKER_INDEX * 4))",
        breaks: promises::PODS,
    },
    Fault {
        name: "wide expert parallelism with misspelt kernels",
        chart: "deepseek-v3-hybrid",
        file: "leaderworkerset-deepseek-v3-hybrid-decode.yaml",
        from: "--all2all-backend=deepep_high_throughput",
        to: "--all2all-backend=deepep_high_troughput",
        breaks: promises::PODS,
    },
    Fault {
        name: "wide expert parallelism in two batches without kernels for them",
        chart: "deepseek-v3-hybrid",
        file: "leaderworkerset-deepseek-v3-hybrid-decode.yaml",
        from: "--all2all-backend=deepep_high_throughput",
        to: "--all2all-backend=allgather_reducescatter\n          - --enable-dbo",
        breaks: promises::PODS,
    },
    Fault {
        name: "wide expert parallelism with a port of the pool for each rank",
        chart: "deepseek-v3-hybrid",
        file: "inferencepool-deepseek-v3-hybrid.yaml",
        from: "- number: 8000",
        to: "- number: 8000\n  - number: 8001",
        breaks: "each port of the pool is served",
    },
    Fault {
        name: "prefill pods with the role decode",
        chart: "deepseek-r1",
        file: "leaderworkerset-deepseek-r1-prefill.yaml",
        from: "llm-d.ai/role: prefill",
        to: "llm-d.ai/role: decode",
        breaks: "prompts are processed by prefill pods",
    },
    Fault {
        name: "decode pods with the role prefill",
        chart: "deepseek-r1",
        file: "leaderworkerset-deepseek-r1-decode.yaml",
        from: "llm-d.ai/role: decode",
        to: "llm-d.ai/role: prefill",
        breaks: "requests are answered",
    },
    Fault {
        name: "routing proxy with another port of the engine",
        chart: "deepseek-r1",
        file: "leaderworkerset-deepseek-r1-decode.yaml",
        from: "--model-server-port=8200",
        to: "--model-server-port=8300",
        breaks: promises::PODS,
    },
    Fault {
        name: "routing proxy with too few ports",
        chart: "deepseek-r1",
        file: "leaderworkerset-deepseek-r1-decode.yaml",
        from: "--data-parallel-size=8",
        to: "--data-parallel-size=4",
        breaks: "each port of the pool is served",
    },
];

#[test]
#[ignore = "needs Go 1.26: cargo test --test serving_e2e -- --ignored"]
fn planted_faults() {
    namespaces::run("faults::planted_faults", || {
        let cluster = Cluster::start();
        let mut failures = Vec::new();
        for fault in FAULTS {
            if !namespaces::is_wanted(fault.name) && !namespaces::is_wanted(fault.chart) {
                continue;
            }
            let found = broken_by(&cluster, fault);
            eprintln!("{}: {found:?}", fault.name);
            if !found.contains(fault.breaks) {
                failures.push(format!("{}: {:?} is not in {found:?}", fault.name, fault.breaks));
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    });
}

/// Each promise is broken by a fault.
#[test]
fn each_promise_can_be_broken() {
    let broken: BTreeSet<&str> = FAULTS.iter().map(|fault| fault.breaks).collect();
    let promises: BTreeSet<&str> = promises::names().collect();
    assert_eq!(broken, promises);
}

/// The texts that faults replace are in the examples.
#[test]
fn faults_are_planted() {
    for fault in FAULTS {
        let folder = tempfile::tempdir().expect("a folder");
        let planted = plant(fault, folder.path()).join("templates").join(fault.file);
        assert!(
            fs::read_to_string(planted).expect("the file").contains(fault.to),
            "{}",
            fault.name
        );
    }
}

/// Installs a chart with the fault; the promises that it breaks.
fn broken_by(cluster: &Cluster, fault: &Fault) -> BTreeSet<&'static str> {
    let folder = tempfile::tempdir().expect("a folder");
    let chart = plant(fault, folder.path());
    let before = all_objects(cluster);
    let release = Release::install(cluster, fault.chart, &chart, PATIENCE);
    let broken = promises::check(&release).into_iter().map(|broken| broken.promise).collect();
    release.uninstall(&before);
    broken
}

/// Writes a copy of the fault's chart with the fault to a folder, and returns its path.
fn plant(fault: &Fault, folder: &Path) -> PathBuf {
    let (_, chart) =
        charts().into_iter().find(|(name, _)| name == fault.chart).expect("an example");
    let copy = folder.join(fault.chart);
    copy_chart(&chart, &copy);
    let file = copy.join("templates").join(fault.file);
    let text = fs::read_to_string(&file).expect("the file");
    assert!(text.contains(fault.from), "{}: {:?} is not in {text}", fault.name, fault.from);
    fs::write(&file, text.replacen(fault.from, fault.to, 1)).expect("a file");
    copy
}

fn copy_chart(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.expect("an entry");
        let target = to.join(entry.path().strip_prefix(from).expect("a path"));
        if entry.file_type().is_dir() {
            fs::create_dir_all(&target).expect("a folder");
        } else {
            fs::copy(entry.path(), &target).expect("a file");
        }
    }
}

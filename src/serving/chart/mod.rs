//! Charts of `[[serving]]` tables: the layout of bundle charts, with their own README and NOTES.

mod maas;
mod request;

use super::model_server;
use super::monitoring_and_scaling::pod_metric;
use super::releases::image;
use super::topology::{Role, Workload};
use super::{images_of, picker};
use crate::config::serving::{Adapter, GatewayProvider, Model, ServingConfig, Topology};
use crate::images;
use crate::ir::{Unit, map};
use crate::yaml::{self, escape};
use bundle2chart_compile::chart::metadata::maintainers;
use bundle2chart_compile::chart::required_apis::{self, Providers, REQUIRED_APIS};
use bundle2chart_compile::chart::{
    Chart, HELMIGNORE, Install, artifact_hub, budget, created_namespaces, manifest, readme, values,
};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Returns the chart of a `[[serving]]` table.
pub(super) fn chart(unit: &Unit, config: &ServingConfig) -> Chart {
    let mut files = manifest::templates(unit.objects.iter());
    if let Some(template) = required_apis::template(unit, &config.name, &Providers::new()) {
        files.insert(REQUIRED_APIS.to_owned(), template);
    }

    let workloads = Workload::all(config);
    files.insert("Chart.yaml".to_owned(), metadata(unit, config));
    files.insert("values.yaml".to_owned(), values::yaml(&unit.values));
    files.insert("values.schema.json".to_owned(), values::schema(unit, false));
    files.insert("README.md".to_owned(), readme_of(unit, config, &workloads));
    files.insert("templates/NOTES.txt".to_owned(), notes(config, &workloads));
    files.insert(".helmignore".to_owned(), HELMIGNORE.to_owned());

    let release_bytes = budget::release_bytes(&config.name, &files, unit, &config.namespace);
    Chart {
        release_bytes,
        is_without_examples: false,
        install: Install {
            namespaces: created_namespaces(unit, &config.namespace),
            ..Install::default()
        },
        name: config.name.clone(),
        version: config.chart_version.clone(),
        files: files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect(),
    }
}

fn metadata(unit: &Unit, config: &ServingConfig) -> String {
    let (_, version) = image::parts(&config.engine.image);
    // 1.30 for native sidecars and `sleep` in preStop, 1.35 for image volumes.
    let minimum = if matches!(config.model, Model::Image(_)) { "1.35" } else { "1.30" };
    let mut annotations = map! {
        "bundle2chart/model": &config.served_name,
        "bundle2chart/api": config.profile.name,
    };
    // The license of the model's files is not known here.
    annotations.extend(artifact_hub::images_of(&images::pulled(&images_of(unit, config))));
    let maintainers = (!config.maintainers.is_empty()).then(|| maintainers(&config.maintainers));
    let root = map! {
        "apiVersion": "v2",
        "name": &config.name,
        "version": config.chart_version.to_string(),
        "appVersion": ?Some(version).filter(|version| !version.is_empty()),
        "description": format!("Serves the model {}", config.served_name),
        "type": "application",
        // `-0` admits versions of vendors, such as `v1.30.4-gke.100`, which are pre-releases in
        // SemVer.
        "kubeVersion": format!(">={minimum}.0-0"),
        "maintainers": ?maintainers,
        "annotations": annotations,
    };
    yaml::plain(&root).unwrap_or_default()
}

/// Returns the README description of a workload: accelerators, parallelism and replicas.
fn describe(workload: &Workload<'_>) -> String {
    let shape = workload.shape;
    let accelerator = &workload.config.accelerator;
    let devices = match (accelerator.resource, &accelerator.claim_template) {
        (Some(resource), _) => format!("{} × `{resource}`", workload.units()),
        (None, Some(template)) => format!("devices of the ResourceClaimTemplate `{template}`"),
        (None, None) => "CPUs only".to_owned(),
    };
    let mut parallel = vec![format!("tensor parallelism {}", shape.tp)];
    if shape.pp > 1 {
        parallel.push(format!("pipeline parallelism {}", shape.pp));
    }
    if shape.dp > 1 {
        parallel.push(format!("data parallelism {} ({} per pod)", shape.dp, workload.local_ranks));
    }
    if shape.expert_parallel {
        parallel.push("expert parallelism".to_owned());
    }

    let layout = match shape.topology {
        Topology::Single => "each replica is one pod".to_owned(),
        _ => format!(
            "each replica is a group of {} pods on {} nodes, and {}",
            shape.nodes,
            shape.nodes,
            match workload.workers_serve() {
                false => "only the leader serves requests",
                true if workload.port_count() > 1 => "each rank serves requests on its own port",
                true => "each pod serves requests",
            }
        ),
    };
    format!("{devices} per pod; {}; {layout}", parallel.join(", "))
}

/// Returns the topology as a Mermaid flowchart.
fn diagram(config: &ServingConfig, workloads: &[Workload<'_>]) -> String {
    let mut text = String::from("```mermaid\nflowchart LR\n  client([client])\n");
    let gateway = config.route.as_ref().map_or("a Gateway", |route| route.gateway.as_str());
    let _ = write!(
        text,
        "  client --> gateway[Gateway<br>{gateway}]\n  \
         gateway -->|\"which pod?\"| epp[endpoint picker<br>{}]\n  \
         gateway --> pool{{{{InferencePool<br>{}}}}}\n",
        picker::name(config),
        config.name
    );

    for workload in workloads {
        let role = workload.role.as_str();
        let ports = workload.ports();
        let ports = match ports.as_slice() {
            [first, .., last] => format!("ports {first}–{last}"),
            [port] => format!("port {port}"),
            [] => String::new(),
        };
        if !workload.is_group() {
            let _ = writeln!(
                text,
                "  {role}[\"{}<br>{} × one pod, {ports}\"]",
                workload.name(),
                workload.shape.replicas
            );
        } else {
            let _ = writeln!(
                text,
                "  subgraph {role}-group [\"{}: {} × a group of {} pods\"]",
                workload.name(),
                workload.shape.replicas,
                workload.shape.nodes
            );

            let leader = if workload.workers_serve() { "pod 0" } else { "leader" };
            let _ = writeln!(text, "    {role}[\"{leader}<br>{ports}\"]");
            // A few pods show how a group is connected; a box for each of many would be unreadable.
            for node in 1..workload.shape.nodes.min(4) {
                let what = if workload.workers_serve() {
                    format!("pod {node}<br>{ports}")
                } else {
                    format!("worker {node}<br>no server")
                };
                let _ = writeln!(text, "    {role}{node}[\"{what}\"]");
                let _ = writeln!(text, "    {role} --- {role}{node}");
            }
            text.push_str("  end\n");
        }

        text.push_str(match workload.role {
            Role::Decode => "  pool --> decode\n",
            Role::Prefill => {
                "  decode -->|\"1. prompt\"| prefill\n  prefill -.->|\"2. cache\"| decode\n"
            }
        });
    }
    text.push_str("  epp -.->|metrics| decode\n```\n");
    text
}

fn readme_of(unit: &Unit, config: &ServingConfig, workloads: &[Workload<'_>]) -> String {
    let (name, namespace) = (&config.name, &config.namespace);
    let mut text = format!(
        "# {name}\n\nServes the model `{}`, compiled from a `[[serving]]` table by bundle2chart. Do not edit: \
         change bundles.toml and build again.\n\n## Topology\n\n",
        config.served_name
    );
    if config.kserve {
        text.push_str("KServe creates all objects from one LLMInferenceService.\n\n");
    } else {
        text.push_str(&diagram(config, workloads));
    }

    text.push_str("\n| Pods | Description |\n|---|---|\n");
    for workload in workloads {
        let _ = writeln!(text, "| `{}` | {} |", workload.name(), describe(workload));
    }
    if !config.kserve {
        let several = match config.epp.replicas {
            1 => String::new(),
            pods => {
                format!("; {pods} pods with leader election, of which only the leader is ready")
            }
        };
        let _ = writeln!(
            text,
            "| `{}` | endpoint picker, which selects the pod for each request{several} |",
            picker::name(config)
        );
    }

    let _ = write!(
        text,
        "\n## Install\n\n```sh\nhelm install {name} . --namespace {namespace} --create-namespace\n```\n\n\
         Requirements: {}.\n",
        requirements(config, workloads)
    );
    if !config.depends_on.is_empty() {
        let _ = write!(text, "\nInstall first: {}.\n", config.depends_on.join(", "));
    }
    text.push_str("\nObjects have fixed names: install one release of this chart per namespace.\n");
    let _ = write!(
        text,
        "\n## Wait for the rollout\n\nLoading the model takes minutes; the startup probe fails after {} \
         minutes.\n\n```sh\n{}```\n\n## Send a request\n\n```sh\n{}```\n",
        config.engine.startup_minutes,
        watch(config, workloads, namespace),
        request::commands(config, namespace)
    );

    if let Some(governed) = &config.maas {
        maas::model_section(&mut text, config, governed);
    }
    if !config.kserve {
        text.push_str(&upgrade_and_uninstall(config, workloads));
    }
    readme::contents(&mut text, unit);
    readme::values(&mut text, unit);
    text.push_str(
        "\nSettings that follow from the parallelism (ports, labels, arguments, accelerators, group size) are not values: \
         change them in bundles.toml.\n",
    );
    let _ = write!(
        text,
        "\n## Provenance\n\n| | |\n|---|---|\n| model | `{}` |\n| engine | `{}` |\n| API profile | `{}` |\n",
        config.served_name, config.engine.image, config.profile.name
    );
    text
}

/// Returns what an upgrade interrupts, and what `helm uninstall` leaves.
fn upgrade_and_uninstall(config: &ServingConfig, workloads: &[Workload<'_>]) -> String {
    let mut text = String::new();
    let single = workloads
        .iter()
        .find(|workload| workload.role == Role::Prefill && workload.shape.replicas == 1);
    if let Some(prefill) = single {
        let what = if prefill.is_group() { "group" } else { "pod" };
        let _ = write!(
            text,
            "\n## Upgrade\n\nThere is one prefill {what}. A change of its pods replaces it, and until the new one has \
             loaded the model, decode pods process prompts themselves. To avoid this, install with \
             `--set prefill.replicas=2`.\n"
        );
    }
    if config.epp.replicas > 1 && config.profile.llm_d {
        let _ = write!(
            text,
            // The name is that of llm-d-router (controller_manager.go):
            // `epp-NAMESPACE-POOL.llm-d.ai`.
            "\n## Uninstall\n\nThe endpoint picker creates a Lease for leader election, which Helm does not \
             delete:\n\n```sh\nkubectl --namespace {0} delete lease epp-{0}-{1}.llm-d.ai\n```\n",
            config.namespace, config.name
        );
    }
    text
}

/// Returns the requirements on the cluster as a comma-separated list.
fn requirements(config: &ServingConfig, workloads: &[Workload<'_>]) -> String {
    if config.kserve {
        let governed = config.maas.is_some().then_some(", and MaaS' controller with its tenant");
        return format!("KServe with LLMInferenceService{}", governed.unwrap_or_default());
    }
    let mut needed =
        vec!["the InferencePool CRDs of the Gateway API Inference Extension".to_owned()];
    let mut need = |is_needed: bool, what: &str| {
        needed.extend(is_needed.then(|| what.to_owned()));
    };
    let has_own_kinds = !config.objectives.is_empty() || !config.rewrites.is_empty();
    need(config.profile.llm_d && has_own_kinds, "the CRDs of llm-d-router");
    let has_groups = workloads.iter().any(Workload::is_group);
    let newer = if config.disaggregated_set { " 0.9 or newer" } else { "" };
    need(has_groups, &format!("LeaderWorkerSet{newer}"));
    if let Some(route) = &config.route {
        let gateway = format!("the Gateway `{}`", route.gateway);
        let class = route.gateway_class.as_ref().map(|class| format!("the GatewayClass `{class}`"));
        need(true, &class.unwrap_or(gateway));
        let is_istio = route.provider == GatewayProvider::Istio;
        need(is_istio, "Istio with ENABLE_GATEWAY_API_INFERENCE_EXTENSION=true in istiod");
        let has_ranks = workloads.iter().any(|workload| workload.port_count() > 1);
        let several = "an Istio release that supports pools with several ports (istio#57638)";
        need(is_istio && has_ranks, several);
        need(route.auth, "Kuadrant");
    }

    need(config.monitoring.is_some(), "the Prometheus operator");
    if let Some(scaling) = &config.autoscaling {
        need(scaling.keda, "KEDA");
        let metric = pod_metric(config, scaling);
        need(!scaling.keda, &format!("an adapter that serves `{metric}` as a pod metric"));
        let waiting = model_server::of(config).waiting_metric;
        let scraped = format!("a Prometheus that scrapes `{waiting}` from the pods");
        need(scaling.keda && config.monitoring.is_none(), &scraped);
    }

    if let Some(queue) = &config.queue {
        need(true, &format!("Kueue with the LocalQueue `{queue}` in the namespace"));
    }
    // Objects in the namespace of the model, which no chart creates.
    let mut here = |kind: &str, name: &str, with: &str| {
        need(true, &format!("the {kind} `{name}`{with} in the namespace"));
    };
    if let Some(template) = &config.accelerator.claim_template {
        here("ResourceClaimTemplate", template, "");
    }
    for claim in config.adapters.iter().filter_map(Adapter::claim).collect::<BTreeSet<_>>() {
        here("PersistentVolumeClaim", claim, " with adapters");
    }
    if let Some(claim) = config.cache.as_ref().and_then(|cache| cache.claim.as_ref()) {
        here("PersistentVolumeClaim", claim, " for downloads");
    }
    if let Some(secret) = &config.engine.token_secret {
        here("Secret", secret, " with the key HF_TOKEN");
    }
    if let Model::Claim(claim, _) = &config.model {
        here("PersistentVolumeClaim", claim, " with the model");
    }
    needed.join(", ")
}

/// Returns the commands that show the rollout, one per line.
fn watch(config: &ServingConfig, workloads: &[Workload<'_>], namespace: &str) -> String {
    let kubectl = format!("kubectl --namespace {namespace}");
    if config.kserve {
        return match &config.maas {
            Some(governed) => {
                let name = &config.name;
                let wait = "wait --timeout=1h --for=condition=Ready";
                let service = format!("{kubectl} {wait} llminferenceservice/{name}\n");
                service + &maas::watch(config, governed, namespace)
            }
            None => format!("{kubectl} get llminferenceservice {} --watch\n", config.name),
        };
    }
    let mut text = String::new();
    for workload in workloads {
        let name = workload.name();
        let _ = if workload.is_group() {
            writeln!(text, "{kubectl} get pods --selector app.kubernetes.io/name={name} --watch")
        } else {
            writeln!(text, "{kubectl} rollout status deployment/{name}")
        };
    }

    let picker = picker::name(config);
    let _ = if config.epp.replicas > 1 {
        // Replicas without leadership are never ready, so `rollout status` would time out.
        writeln!(text, "{kubectl} get pods --selector {}={picker}", picker::SELECTOR)
    } else {
        writeln!(text, "{kubectl} rollout status deployment/{picker}")
    };
    let _ = writeln!(text, "{kubectl} get inferencepool {} --output yaml", config.name);
    text
}

fn notes(config: &ServingConfig, workloads: &[Workload<'_>]) -> String {
    // The commands are escaped as a whole, so that an expression can only be put in afterwards.
    let namespace = "NAMESPACE-OF-THE-RELEASE";
    let commands = |text: String| -> String {
        let lines: Vec<String> = text.lines().map(|line| format!("  {line}\n")).collect();
        escape(&lines.concat()).replace(namespace, "{{ .Release.Namespace }}")
    };
    format!(
        "{{{{ .Chart.Name }}}} {{{{ .Chart.Version }}}} serves {} in namespace {{{{ .Release.Namespace }}}}.\n\n\
         Wait for the rollout (loading the model takes minutes):\n{}\nSend a request:\n{}",
        escape(&config.served_name),
        commands(watch(config, workloads, namespace)),
        commands(request::commands(config, namespace))
    )
}

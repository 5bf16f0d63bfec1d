//! Flux: a HelmRelease for each chart, and the list of them. With gates, also a Kustomization for each
//! chart, which waits for them: a HelmRelease depends on other HelmReleases only.

use super::{Planned, Release, document, filled, join, value_files};
use crate::config::{Deploy, Flux};
use crate::diag;
use crate::ir::{Value, value};
use crate::kubectl::{Gate, Step};
use std::collections::BTreeMap;

/// Directory of the HelmReleases.
const RELEASES: &str = "releases";

/// Directory of the Kustomizations of single charts.
const STEPS: &str = "steps";

/// Interval after which a Kustomization with a closed gate is checked again.
const RETRY_INTERVAL: &str = "1m";

/// Number of retries of a failed release before Flux waits for the next interval.
const RETRIES: i64 = 5;

pub(super) fn files(
    plan: &[Planned<'_>],
    deploy: &Deploy,
    flux: &Flux,
) -> BTreeMap<String, String> {
    // In a directory of their own: a chart may have the name of the list.
    let has_gates = plan.iter().any(|planned| !planned.release.install.gates.is_empty());
    let end = if has_gates { "/helmrelease.yaml" } else { ".yaml" };
    let file = |planned: &Planned<'_>| {
        let path = format!("{}/{RELEASES}/{}{end}", flux.dir, planned.release.name);
        (path, helm_release(planned, deploy, flux))
    };
    let mut files: BTreeMap<String, String> = plan.iter().map(file).collect();
    if has_gates {
        files.extend(plan.iter().map(|planned| {
            let path = format!("{}/{STEPS}/{}.yaml", flux.dir, planned.release.name);
            (path, kustomization(planned, deploy, flux))
        }));
    }
    let listed = if has_gates { STEPS } else { RELEASES };
    let names = plan.iter().map(|planned| format!("{listed}/{}.yaml", planned.release.name));
    let list = value!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": Value::texts(names),
    });
    files.insert(format!("{}/kustomization.yaml", flux.dir), document("", &list));
    files
}

/// Returns the Kustomization of a chart: its HelmRelease, and health checks for it and its gates.
fn kustomization(planned: &Planned<'_>, deploy: &Deploy, flux: &Flux) -> String {
    let release = planned.release;
    let folder = format!("{}/{RELEASES}/{}", flux.dir, release.name);
    let mut checks = vec![value!({
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "name": &release.name,
        "namespace": &flux.namespace,
    })];
    for gate in &release.install.gates {
        let check = value!({
            "apiVersion": gate.target.api_version(),
            "kind": &gate.target.kind,
            "name": &gate.target.name,
            "namespace": ?gate.namespace(&release.namespace),
        });
        // Several gates may await the same object.
        if !checks.contains(&check) {
            checks.push(check);
        }
    }
    let expressions = expressions(&release.install.gates);
    // The release's own time, and then that of the longest gate: Flux checks all at the same time.
    let longest = release.install.gates.iter().map(|gate| gate.timeout).max();
    let more = longest.map(|seconds| format!("{seconds}s")).unwrap_or_default();
    let body = value!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": &release.name, "namespace": &flux.namespace},
        "spec": {
            "interval": &flux.interval,
            "retryInterval": RETRY_INTERVAL,
            "timeout": format!("{}{more}", release_timeout(release, flux)),
            "path": format!("./{}", join(&deploy.charts, &folder)),
            // The Kustomization that applies this one decides what is removed.
            "prune": true,
            "sourceRef": source(flux),
            "dependsOn": ?needs(planned),
            "healthChecks": checks,
            "healthCheckExprs": ?filled(expressions),
        },
    });
    let is_known = release.install.gates.iter().all(Gate::has_health_check);
    let head = if is_known { "" } else { "healthCheckExprs requires Flux 2.5 or later." };
    document(head, &body)
}

/// Returns the reference to the repository of the charts.
fn source(flux: &Flux) -> Value {
    value!({
        "kind": "GitRepository",
        "name": &flux.source_name,
        "namespace": &flux.source_namespace,
    })
}

/// Returns the releases that a release needs, for `dependsOn`.
fn needs(planned: &Planned<'_>) -> Option<Vec<Value>> {
    filled(planned.needs.iter().map(|need| value!({"name": &need.name})).collect())
}

/// Returns the health checks of kinds that Flux does not know: one for each kind, as its API has it.
fn expressions(gates: &[Gate]) -> Vec<Value> {
    let mut kinds: BTreeMap<(String, &str), Vec<&Gate>> = BTreeMap::new();
    for gate in gates.iter().filter(|gate| !gate.has_health_check()) {
        let kind = (gate.target.api_version(), gate.target.kind.as_str());
        kinds.entry(kind).or_default().push(gate);
    }
    let expressions = kinds.into_iter().map(|((api_version, kind), gates)| {
        let one =
            |gate: &&Gate| format!("(metadata.name != '{}' || ({}))", gate.target.name, gate.cel());
        // An expression is for all objects of its kind, so each gate is limited to its own object.
        let current = match gates.as_slice() {
            [gate] => gate.cel(),
            gates => diag::join(gates.iter().map(one), " && "),
        };
        value!({"apiVersion": api_version, "kind": kind, "current": current})
    });
    expressions.collect()
}

/// Returns the time limit of a release: with that of its steps and of gates of switches, which are
/// hooks of it.
fn release_timeout(release: &Release, flux: &Flux) -> String {
    let steps: u64 = release.install.steps.iter().map(Step::seconds).sum();
    let seconds = steps + release.install.gate_seconds;
    // Durations of Go may be written one after the other.
    let more = (seconds > 0).then(|| format!("{seconds}s"));
    format!("{}{}", flux.timeout, more.unwrap_or_default())
}

fn helm_release(planned: &Planned<'_>, deploy: &Deploy, flux: &Flux) -> String {
    let release = planned.release;
    let chart_path = join(&deploy.charts, &release.dir);
    let values = value_files(deploy, &release.name, |values| &values.in_repository);
    // The chart's own values come first, because Flux replaces the default with this list.
    let own = format!("{chart_path}/values.yaml");
    let values = values.map(|files| Value::texts(std::iter::once(own).chain(files)));
    let strategy = if values.is_some() { "Revision" } else { "ChartVersion" };
    // Without a word Flux would leave CRDs of crds/ directories at the version that was installed
    // first.
    let crds = release.install.crds_folder.map(|_| "CreateReplace");
    let body = value!({
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": &release.name, "namespace": &flux.namespace},
        "spec": {
            "interval": &flux.interval,
            "timeout": release_timeout(release, flux),
            // As `helm install` would name and keep it.
            "releaseName": &release.name,
            "targetNamespace": &release.namespace,
            "storageNamespace": &release.namespace,
            "dependsOn": ?needs(planned),
            "chart": {"spec": {
                "chart": format!("./{chart_path}"),
                "sourceRef": source(flux),
                "interval": &flux.interval,
                // A chart changes only with its version, but files of values change without it.
                "reconcileStrategy": strategy,
                "ignoreMissingValuesFiles": ?values.as_ref().map(|_| true),
                "valuesFiles": ?values,
            }},
            "install": {
                "createNamespace": planned.creates_namespace,
                "crds": ?crds,
                "remediation": {"retries": RETRIES},
            },
            "upgrade": {"crds": ?crds, "remediation": {"retries": RETRIES}},
        },
    });
    document("", &body)
}

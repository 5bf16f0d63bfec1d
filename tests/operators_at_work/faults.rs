//! Charts with one fault each: a check that no fault breaks shows nothing.

use crate::checks;
use crate::cluster::Cluster;
use crate::helm::Helm;
use crate::installation::{Chart, Installation, NAMESPACE, Watch};
use crate::operators::{self, Operator};
use crate::shared::shared;
use crate::{leftovers, lifecycle, namespaces};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// Limit for each check: some faults are found when it is over.
const PATIENCE: Duration = Duration::from_secs(40);

/// Limit for custom resources and pods of a broken operator to be gone, before they are removed by force.
const END: Duration = Duration::from_secs(5);

/// A change of a chart's file that breaks a check.
struct Fault {
    name: &'static str,
    watch: Watch,
    /// The file below templates/, the text in it that is replaced, and by what.
    file: &'static str,
    from: &'static str,
    to: &'static str,
    breaks: &'static str,
}

const OPERATOR: &Operator = &operators::RABBITMQ;

const DEPLOYMENT: &str = "deployment-rabbitmq-cluster-operator.yaml";
const ROLE: &str = "clusterrole-rabbitmq-cluster-operator-clusterrole.yaml";
const OWN_ROLE: &str = "clusterrole-rabbitmq-cluster-operator-role.yaml";
const SERVICE: &str = "service-rabbitmq-cluster-operator-service.yaml";
const WEBHOOK: &str = "mutatingwebhookconfiguration-mrabbitmqcluster-v1beta1.kb.io.yaml";

const FAULTS: &[Fault] = &[
    Fault {
        name: "program at another path",
        watch: Watch::All,
        file: DEPLOYMENT,
        from: "- /manager\n",
        to: "- /operator\n",
        breaks: checks::READY,
    },
    Fault {
        name: "probe of another port",
        watch: Watch::All,
        file: DEPLOYMENT,
        from: "path: /readyz\n            port: 8081",
        to: "path: /readyz\n            port: 8082",
        breaks: checks::READY,
    },
    Fault {
        name: "certificate at another path",
        watch: Watch::All,
        file: DEPLOYMENT,
        from: "mountPath: /tmp/k8s-webhook-server/serving-certs",
        to: "mountPath: /tmp/k8s-webhook-server/certs",
        breaks: checks::READY,
    },
    Fault {
        name: "Service with another port",
        watch: Watch::All,
        file: SERVICE,
        from: "targetPort: 9443",
        to: "targetPort: 9444",
        breaks: checks::WEBHOOKS,
    },
    Fault {
        name: "Service that selects no pod",
        watch: Watch::All,
        file: SERVICE,
        from: "app.kubernetes.io/name: rabbitmq-cluster-operator",
        to: "app.kubernetes.io/name: rabbitmq-operator",
        breaks: checks::WEBHOOKS,
    },
    Fault {
        name: "CA bundle of another certificate",
        watch: Watch::All,
        file: WEBHOOK,
        from: "\"rabbitmq-cluster-operator-service\" \"rabbitmq-cluster-operator-service-cert\" \"ca.crt\"",
        to: "\"rabbitmq-cluster-operator-service\" \"other-cert\" \"ca.crt\"",
        breaks: checks::WEBHOOKS,
    },
    Fault {
        name: "webhook at another path",
        watch: Watch::All,
        file: WEBHOOK,
        from: "path: /mutate-rabbitmq-com-v1beta1-rabbitmqcluster",
        to: "path: /mutate-v1beta1-rabbitmqcluster",
        breaks: checks::WEBHOOKS,
    },
    Fault {
        name: "no rule for leader election",
        watch: Watch::All,
        file: OWN_ROLE,
        from: "  - leases\n",
        to: "  - lease\n",
        breaks: checks::LEADER,
    },
    Fault {
        name: "no rule for StatefulSets",
        watch: Watch::All,
        file: ROLE,
        from: "  - statefulsets\n",
        to: "  - deployments\n",
        breaks: checks::WORK,
    },
    Fault {
        name: "no rule for the status",
        watch: Watch::All,
        file: ROLE,
        from: "  - rabbitmqclusters/status\n",
        to: "  - rabbitmqclusters/scale\n",
        breaks: checks::ALLOWED,
    },
    Fault {
        name: "no rule for events",
        watch: Watch::All,
        file: ROLE,
        from: "  - events\n",
        to: "  - event\n",
        breaks: checks::ALLOWED,
    },
    Fault {
        name: "another ServiceAccount",
        watch: Watch::All,
        file: DEPLOYMENT,
        from: "serviceAccountName: rabbitmq-cluster-operator",
        to: "serviceAccountName: default",
        breaks: checks::ALLOWED,
    },
    Fault {
        name: "other target namespaces",
        watch: Watch::All,
        file: DEPLOYMENT,
        from: "olm.targetNamespaces: \"\"",
        to: "olm.targetNamespaces: two",
        breaks: checks::WORK,
    },
    Fault {
        name: "a target namespace too many",
        watch: Watch::One,
        file: DEPLOYMENT,
        from: "olm.targetNamespaces: one",
        to: "olm.targetNamespaces: one,elsewhere",
        breaks: checks::WATCHED,
    },
    Fault {
        name: "no rule for updates of custom resources",
        watch: Watch::All,
        file: ROLE,
        from: "  - rabbitmqclusters\n  verbs:\n  - create\n  - get\n  - list\n  - update\n",
        to: "  - rabbitmqclusters\n  verbs:\n  - create\n  - get\n  - list\n",
        breaks: checks::ALLOWED,
    },
];

#[test]
#[ignore = "needs Go 1.26: cargo test --test operators_at_work -- --ignored"]
fn planted_faults() {
    let Some(corpus) = shared("corpus") else { return };
    OPERATOR.build_programs();
    namespaces::run("faults::planted_faults", || {
        let cluster = Cluster::start(OPERATOR, &corpus);
        let helm = Helm::newest();
        let mut failures = Vec::new();
        for fault in FAULTS {
            let folder = TempDir::new().expect("a folder");
            let chart = plant(fault, &corpus, folder.path());
            let found = broken_by(&cluster, &helm, fault, &chart);
            eprintln!("{}: {found:?}", fault.name);
            if !found.contains(fault.breaks) {
                failures.push(format!("{}: {:?} is not in {found:?}", fault.name, fault.breaks));
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    });
}

/// Installs a chart with the fault; the checks that it breaks.
fn broken_by(
    cluster: &Cluster,
    helm: &Helm,
    fault: &Fault,
    chart: &Chart,
) -> BTreeSet<&'static str> {
    let begun = cluster.control_plane.audit_mark();
    let mut installation = Installation::install(cluster, OPERATOR, helm, fault.watch, chart, &[]);
    let broken = checks::check(&mut installation, "first", PATIENCE);

    installation.delete_resources(END);
    lifecycle::uninstall(&installation.release, &chart.path);
    let (left, _) = lifecycle::effects(&cluster.control_plane.requests_since(begun), NAMESPACE);
    installation.remove_finalizers();
    let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    let ended = || cluster.list(&pods).is_empty().then_some(());
    assert!(cluster.within(Duration::from_secs(90), ended).is_some(), "pods are left");
    leftovers::delete_crds(&cluster.control_plane, &left);
    broken.into_iter().map(|broken| broken.check).collect()
}

/// Compiles the operator's chart with the fault.
fn plant(fault: &Fault, corpus: &Path, folder: &Path) -> Chart {
    let settings = format!("certificates = \"helm\"\n{}", fault.watch.setting());
    let chart = Chart::compile(corpus, OPERATOR, OPERATOR.newest(), &settings, folder);
    let file = chart.path.join("templates").join(fault.file);
    let text = fs::read_to_string(&file).expect("the file");
    assert!(text.contains(fault.from), "{}: {:?} is not in {text}", fault.name, fault.from);
    fs::write(&file, text.replacen(fault.from, fault.to, 1)).expect("a file");
    chart
}

/// Each check that an installation is held to is broken by a fault. Those of upgrades and values are
/// differences that are compared directly, and without its rule the status stops all other work.
#[test]
fn each_check_can_fail() {
    let broken: BTreeSet<&str> = FAULTS.iter().map(|fault| fault.breaks).collect();
    let compared = [checks::STATUS, checks::DELETED, checks::TAKEN_OVER, checks::VALUES];
    let checks: BTreeSet<&str> =
        checks::ALL.into_iter().filter(|check| !compared.contains(check)).collect();
    assert_eq!(broken, checks);
}

/// The texts that faults replace are in the chart.
#[test]
fn faults_are_planted() {
    let Some(corpus) = shared("corpus") else { return };
    for fault in FAULTS {
        let folder = TempDir::new().expect("a folder");
        plant(fault, &corpus, folder.path());
    }
}

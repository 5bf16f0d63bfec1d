//! A cluster that lacks an API of a chart is told so, with the remedy, before anything is created.

use crate::charts;
use crate::control_plane::ControlPlane;
use crate::helm::Helm;
use crate::lifecycle::Release;

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn an_install_without_cert_manager_stops_and_creates_nothing() {
    let cluster = ControlPlane::start();
    let fixture = charts::fixtures().into_iter().find(|r| r.name == "toll-bridge-operator");
    let charts::Release { name, namespace, chart, .. } = fixture.expect("it has certificates");
    let mark = cluster.audit_mark();

    for helm in Helm::all() {
        let release =
            Release { cluster: &cluster, helm: &helm, name: &name, namespace: &namespace };
        let run = release.run_once("install", &chart);
        assert!(!run.success, "Helm {} installed it", helm.version);
        assert!(
            run.stderr.contains(
                "toll-bridge-operator requires the API cert-manager.io/v1/Certificate, which this \
                 cluster does not have: install cert-manager first"
            ),
            "Helm {}: {}",
            helm.version,
            run.stderr
        );
    }

    // Not even the namespace was created.
    let touched = cluster
        .requests_since(mark)
        .into_iter()
        .find(|request| request.namespace == namespace || request.name == namespace);
    assert_eq!(touched, None);
}

//! Runs tests in separate namespaces: processes, mounts, and a network with the addresses of nodes and
//! pods, so that nothing of the machine is changed and nothing is left running.

use crate::cluster::Cluster;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Set inside of the namespaces.
const INSIDE: &str = "BUNDLE2CHART_IN_NAMESPACES";

/// The bridge of the pods with the addresses of the nodes and of the API server's Service, as
/// tests/serving_programs/kubelet.go has them. The API server advertises the address of the interface
/// with the default route.
const NETWORK: &str = "set -e
ip link set lo up
ip link add pods type bridge
ip addr add 10.77.0.1/16 dev pods
ip addr add 10.0.0.1/32 dev pods
ip link set pods up
ip route add default via 10.77.255.254 dev pods
exec \"$@\"";

/// A cluster needs most of a machine, so that tests run one after the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs the test `name` of this program in namespaces.
///
/// # Panics
/// When namespaces cannot be created, or the test fails.
pub(crate) fn run(name: &str, test: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return test();
    }
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    Cluster::build_programs();
    let program = std::env::current_exe().expect("the test program");
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "--net", "--pid", "--fork"])
        .args(["--mount-proc", "--kill-child", "sh", "-c", NETWORK, "sh"])
        .arg(program)
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env(INSIDE, "1")
        .status();
    let status = status.unwrap_or_else(|error| {
        panic!("cannot run unshare: {error}\nhint: install util-linux and iproute2")
    });
    assert!(
        status.success(),
        "{name} failed in namespaces, or they cannot be created; the test needs root or user namespaces"
    );
}

/// Returns true if `BUNDLE2CHART_SERVING` is not set, or a part of this name of a chart or fault.
pub(crate) fn is_wanted(name: &str) -> bool {
    !std::env::var("BUNDLE2CHART_SERVING").is_ok_and(|part| !name.contains(&part))
}

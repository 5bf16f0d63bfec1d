//! Operators at work: the programs of real bundles, built from their Go modules, run from the charts of
//! these bundles and do their job. The control plane is real; the kubelet of tests/serving_programs runs
//! the pods of the Deployments as processes.
//!
//! `operators` is the table of operators, `checks` has what is checked, and `faults` shows that each
//! check can fail.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod certificates;
mod checks;
mod cluster;
mod faults;
mod installation;
mod life;
mod operators;
mod table;
mod values;

#[path = "../api_server/charts.rs"]
#[allow(dead_code, reason = "for tests/api_server")]
mod charts;
#[path = "../support/control_plane/mod.rs"]
mod control_plane;
#[path = "../support/go.rs"]
mod go;
#[path = "../support/helm.rs"]
mod helm;
#[path = "../api_server/leftovers.rs"]
#[allow(dead_code, reason = "for tests/api_server")]
mod leftovers;
#[path = "../api_server/lifecycle.rs"]
#[allow(dead_code, reason = "for tests/api_server")]
mod lifecycle;
#[path = "../serving_e2e/namespaces.rs"]
#[allow(dead_code, reason = "for tests/serving_e2e")]
mod namespaces;
#[path = "../serving_e2e/objects.rs"]
#[allow(dead_code, reason = "for tests/serving_e2e")]
mod objects;
#[path = "../support/offline.rs"]
mod offline;
#[path = "../support/once.rs"]
mod once;
#[path = "../support/sections.rs"]
mod sections;
#[path = "../support/shared.rs"]
mod shared;
#[path = "../support/unchecked.rs"]
#[allow(dead_code, reason = "for tests/unchecked.rs")]
mod unchecked;

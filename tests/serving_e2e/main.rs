//! Charts of models, with the real parts of a serving cluster: the control plane, the LeaderWorkerSet
//! controller, the endpoint picker with the chart's own arguments and ServiceAccount, and the routing
//! proxy. Only the kubelet and vLLM are stand-ins (tests/serving_programs).
//!
//! `promises` has what is checked, `faults` shows that each check can fail.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod cluster;
mod examples;
mod faults;
mod namespaces;
mod objects;
mod promises;
mod release;
mod requests;
mod tables;

#[path = "../support/control_plane/mod.rs"]
mod control_plane;
#[path = "../support/go.rs"]
mod go;
#[path = "../support/helm.rs"]
mod helm;
#[path = "../support/once.rs"]
mod once;
#[path = "../support/serving_examples.rs"]
mod serving_examples;

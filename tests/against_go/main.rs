//! Comparisons with programs in Go, which are built from their modules: the YAML decoder of
//! Kubernetes, OLM's own renderer, and crdify.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and run programs"
)]

mod crd_changes;
mod kubernetes_yaml;
mod reference_renderer;

#[path = "../support/command.rs"]
mod command;
#[path = "../support/comparison.rs"]
mod comparison;
#[path = "../support/go.rs"]
mod go;
#[path = "../support/helm.rs"]
mod helm;
#[path = "../support/lamp.rs"]
mod lamp;
#[path = "../support/olm.rs"]
mod olm;
#[path = "../support/once.rs"]
mod once;
#[path = "../support/parallel.rs"]
mod parallel;
#[path = "../support/role_names.rs"]
mod role_names;
#[path = "../support/schema_pairs.rs"]
mod schema_pairs;
#[path = "../support/shared.rs"]
mod shared;
#[path = "../support/unchecked.rs"]
#[allow(dead_code, reason = "for tests/unchecked.rs")]
mod unchecked;

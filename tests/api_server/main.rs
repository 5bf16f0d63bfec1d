//! Charts on a real Kubernetes control plane: what it refuses, every cluster refuses.
//!
//! There are no nodes, so no operator runs: what it would serve does not answer, unless a test
//! answers in its place.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod certificates;
mod charts;
mod corpus;
mod crds;
mod custom_objects;
mod deployers;
mod examples;
mod field_ownership;
mod gates;
mod grants;
mod helmfile_sync;
mod install;
mod jobs;
mod leftovers;
mod lifecycle;
mod permissions;
mod refusals;
mod requests;
mod required_apis;
mod rollback;
mod schema_changes;
mod steps_after;
mod switches;
mod table;
mod tls_server;

#[path = "../support/command.rs"]
mod command;
#[path = "../support/control_plane/mod.rs"]
mod control_plane;
#[path = "../support/go.rs"]
mod go;
#[path = "../support/helm.rs"]
mod helm;
#[path = "../support/helmfile.rs"]
mod helmfile;
#[path = "../support/lamp.rs"]
mod lamp;
#[path = "../support/llm_platform.rs"]
mod llm_platform;
#[path = "../support/object_faults.rs"]
mod object_faults;
#[path = "../support/offline.rs"]
mod offline;
#[path = "../support/once.rs"]
mod once;
#[path = "../../src/compile/passes/lint/refused_samples.rs"]
mod refused_samples;
#[path = "../support/schema_pairs.rs"]
mod schema_pairs;
#[path = "../support/sections.rs"]
mod sections;
#[path = "../support/serving_examples.rs"]
mod serving_examples;
#[path = "../support/shared.rs"]
mod shared;
#[path = "../support/unchecked.rs"]
#[allow(dead_code, reason = "for tests/unchecked.rs")]
mod unchecked;

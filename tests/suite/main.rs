//! The tests that need Rust, python3 and a container registry: one module for each subject, in
//! one program, because linking dozens of programs takes longer than running them.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and read and write files"
)]

#[path = "../support/mod.rs"]
mod support;

mod add;
mod awkward_truths;
mod bad_input;
mod book;
mod catalog;
mod certificates;
mod chart_changes;
mod chart_testing;
mod charts;
mod check_serving;
mod cli;
mod committed_output;
mod corpus;
mod deny;
mod dependencies;
mod deploy;
mod diff;
mod documents;
mod example_platform;
mod first_build;
mod fixtures;
mod fuzz;
mod gates;
mod goldens;
mod helm;
mod hostile_strings;
mod images;
mod jq;
mod lints;
mod lossless;
mod maas;
mod memory;
mod migrate;
mod object_faults;
mod output_faults;
mod output_tree;
mod overlays;
mod own_charts;
mod packages;
mod printing;
mod recipes;
mod registry;
mod release;
mod release_size;
mod reproduce;
mod reviewers;
mod serving;
mod serving_published;
mod serving_tables;
mod serving_upstream;
mod signatures;
mod source_files;
mod steps_after;
mod style;
mod switches;
mod todays_charts;
mod values;
mod verify;

//! Shared parts of the test programs: programs to run, inputs to build and comparisons.

pub(crate) mod cargo_program;
pub(crate) mod command;
pub(crate) mod comparison;
pub(crate) mod control_plane;
pub(crate) mod crd_schemas;
pub(crate) mod deviations;
pub(crate) mod discovery;
pub(crate) mod go;
pub(crate) mod helm;
pub(crate) mod image;
pub(crate) mod json_schema;
pub(crate) mod lamp;
pub(crate) mod large_schemas;
pub(crate) mod llm_platform;
pub(crate) mod object_faults;
pub(crate) mod offline;
pub(crate) mod olm;
pub(crate) mod once;
pub(crate) mod operating_system;
pub(crate) mod parallel;
pub(crate) mod rendered;
pub(crate) mod role_names;
pub(crate) mod serving_examples;
pub(crate) mod shared;
pub(crate) mod unchecked;
pub(crate) mod values;

//! The fuzz targets, and a bound on memory for each call.

pub mod memory;
pub mod targets;

/// The folder of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

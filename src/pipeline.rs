//! The pipeline: the only module that knows every stage.
//!
//! A command starts from a configuration, a lock file and sources: [`build()`] compiles charts,
//! [`lock()`] resolves sources to lock entries, [`images()`] lists the images that a cluster pulls.
//! Each selects bundles and models by name, does its work for them on several threads, and returns
//! the results in the order of the configuration.

mod build;
mod compile;
mod fetch;
mod gates;
mod images;
mod layout;
mod models;
pub mod operand;
mod release_size;
pub mod revision;
#[cfg(test)]
mod samples;
mod selection;
mod settings_changed;
mod threads;
pub mod upgrade;
mod upgrade_step;

pub use build::{Build, build, build_with, rebuild};
pub use compile::{Compiled, Hits, compile, compile_loaded};
pub use fetch::lock;
pub use images::{VerifiedImages, images, verify_images};
pub use layout::BuiltFiles;
pub use selection::select_bundles;
#[cfg(feature = "cli")]
pub(crate) use selection::unknown_bundle;
pub use settings_changed::{crds_moved, watch_changed};
#[cfg(feature = "cli")]
pub(crate) use threads::{COMPILER_STACK, REGISTRY_JOBS, for_each};

use crate::config::Config;
use crate::lock::Lock;
use crate::source::SourceResolver;

/// The inputs of charts.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Reads bundles and overlays.
    pub sources: &'a SourceResolver,
    /// The digests by which images are read.
    pub lock: &'a Lock,
    /// The maximum number of threads that compile.
    pub jobs: usize,
}

//! Serialization and output: stable YAML, Helm escaping, and the output directory.
//!
//! [`tree`] writes charts so that readers see either the old chart or the new one; [`compare`]
//! compares the directory with a build, and [`ownership`] is the file that marks a chart directory
//! as written by bundle2chart.

mod beside;
mod certificate;
mod chart_lock;
mod compare;
mod crd_version;
mod failure;
mod moves;
pub mod ownership;
pub mod render;
mod required_apis;
mod stage;
mod template;
mod tree;
pub mod yaml;

pub use beside::BesideFiles;
pub use certificate::CERTIFICATE_TEMPLATE;
pub use chart_lock::{CHART_LOCK, CRDS_CONDITION, CRDS_SUBCHART, chart_lock};
pub use compare::{Comparison, compare, compare_chart, compare_rest};
pub use crd_version::{CRD_VERSION_TEMPLATE, crd_template};
pub use moves::{crds_moved, watch_changed};
pub use required_apis::{REQUIRED_APIS, required_apis};
pub use template::{escape, in_text};
pub use tree::{Change, ChartFiles, Staged, Writer, Written, write, write_with};

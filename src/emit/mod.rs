//! Spelling and writing: stable YAML, Helm escaping, and the output tree.
//!
//! [`tree`] writes charts so that a reader sees the old chart or the new one, never a mixture;
//! [`compare`] says how the folder differs from what would be written, and [`ownership`] is the
//! file by which a chart folder is known to be ours.

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

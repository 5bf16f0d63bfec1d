//! Serialization and output: stable YAML, Helm escaping, and the output directory.
//!
//! [`tree`] writes charts so that readers see either the old chart or the new one; [`compare`]
//! compares the directory with a build, and [`ownership`] is the file that marks a chart directory
//! as written by bundle2chart.

mod compare;
mod deployment_files;
mod failure;
pub mod ownership;
mod stage;
mod tree;

pub use compare::{Comparison, compare, compare_chart, compare_rest};
pub use deployment_files::DeploymentFiles;
pub use tree::{Change, ChartFiles, Staged, Writer, Written, write, write_with};

//! The output directory: charts in memory come in, and out/ holds them afterwards, or is unchanged.
//!
//! [`Writer`] stages each chart when it is compiled and moves all of them into place at the end;
//! [`compare()`] only says what a build would change. Both decide by the same inspection of the
//! directory, and by the ownership files, which list what bundle2chart wrote there.

mod chart_files;
mod compare;
mod failure;
mod inspection;
mod lock;
pub mod ownership;
mod paths;
mod refusals;
mod stage;
mod writer;

pub use chart_files::{ChartFiles, DeploymentFiles};
pub use compare::{Comparison, compare, compare_chart, compare_rest};
pub use writer::{Change, Staged, Writer, Written, write};

//! The output directory: charts in memory come in, and out/ holds them afterwards, or is unchanged.
//!
//! [`OutputDirectory`] stages each chart when it is compiled and moves all of them into place at the
//! end, or with [`Mode::Check`] only says what a build would change. Both decide by the same inspection
//! of the directory, and by the ownership files, which list what bundle2chart wrote there.

mod chart_files;
pub(crate) mod chart_versions;
mod directory;
mod failure;
mod inspection;
mod lock;
mod orphans;
pub mod ownership;
mod paths;
mod refusals;
mod retention;
mod stage;

pub use chart_files::{ChartFiles, DeploymentFiles};
pub use directory::{Change, Changes, Mode, OutputDirectory, Staged, write};
pub use inspection::Comparison;
pub use orphans::report_orphans;
pub use retention::outdated;

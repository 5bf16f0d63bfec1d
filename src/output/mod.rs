//! Spelling and writing: stable YAML, Helm escaping, and the output tree.
//!
//! [`tree`] writes charts so that a reader sees the old chart or the new one, never a mixture;
//! [`compare`] says how the folder differs from what would be written, and [`ownership`] is the
//! file by which a chart folder is known to be ours.

mod companions;
mod compare;
mod failure;
pub mod ownership;
mod stage;
mod tree;

pub use companions::CompanionFiles;
pub use compare::{Comparison, compare, compare_chart, compare_rest};
pub use tree::{Change, ChartFiles, Staged, Writer, Written, write, write_with};

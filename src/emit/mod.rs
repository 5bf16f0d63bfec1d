//! Spelling and writing: stable YAML, Helm escaping, and the output tree.

mod template;
pub mod yaml;

pub use template::escape;

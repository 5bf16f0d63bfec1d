//! Spelling and writing: stable YAML, Helm escaping, and the output tree.

pub mod render;
mod template;
pub mod yaml;

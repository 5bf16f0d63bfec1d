//! Spelling and writing: stable YAML, Helm escaping, and the output tree.

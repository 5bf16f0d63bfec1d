//! Bundles found in file-based catalogs, by the real program: folders, files and images, JSON and
//! YAML, good and bad; and how much memory a large catalog takes.

mod bad;
mod decisions;
pub(crate) mod fixture;
mod found;
mod locked;
#[cfg(target_os = "linux")]
mod memory;
pub(crate) mod outdated;

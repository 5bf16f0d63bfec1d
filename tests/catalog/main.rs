//! Bundles found in file-based catalogs, by the real program: folders, files and images, JSON and
//! YAML, good and bad; and how much memory a large catalog takes.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

#[path = "../support/command.rs"]
mod command;
#[path = "../support/image.rs"]
mod image;
#[path = "../support/lamp.rs"]
mod lamp;

mod bad;
mod decisions;
mod fixture;
mod found;
mod locked;
#[cfg(target_os = "linux")]
mod memory;

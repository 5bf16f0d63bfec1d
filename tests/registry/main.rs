//! Registries: the real one, and one that misbehaves in every way that we know.

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

mod credentials;
mod distribution;
mod end_to_end;
mod hostile;
mod project;
mod server;
mod vendor;

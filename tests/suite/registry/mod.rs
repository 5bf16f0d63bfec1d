//! Registries: the real one, and one that misbehaves in every way that we know.

mod attestations;
mod charts;
mod credentials;
pub(crate) mod distribution;
mod end_to_end;
mod hostile;
mod outdated;
pub(crate) mod project;
pub(crate) mod server;
mod tampering;
mod vendor;

//! Registries: the real one, and one that misbehaves in every way that we know.

mod charts;
mod credentials;
mod distribution;
mod end_to_end;
mod hostile;
mod outdated;
mod project;
mod server;
mod vendor;

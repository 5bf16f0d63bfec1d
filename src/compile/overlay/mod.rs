//! Additions of the configuration to a bundle: overlays, patches, operand namespaces and
//! ServiceAccounts, stub CRDs, switches, Jobs of steps after and of gates.
//!
//! The passes treat them like the bundle's objects; this module creates and checks them.

mod after;
mod check;
mod definitions;
mod hook_job;
mod operands;
mod patch;
mod pattern;
mod schema;
mod stubs;
mod switch_gates;
mod switches;

pub use after::{job_name, job_seconds, steps};
pub(crate) use check::refused_resource;
pub use check::{check, kept_apart};
pub(crate) use definitions::Definitions;
pub use hook_job::hook_jobs;
pub use operands::{namespace_value, operand_namespace, operands};
pub use patch::patch;
pub use pattern::pattern;
pub use schema::{faults, refused};
pub use stubs::readable_stubs;
pub use stubs::stubs;
pub use switch_gates::{switch_job_name, switch_seconds};
pub use switches::{switch_order, switches};

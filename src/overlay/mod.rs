//! Additions of the configuration to a bundle: overlays, patches, operand namespaces and
//! ServiceAccounts, stub CRDs, Jobs of steps after, switches.
//!
//! The passes treat them like the bundle's objects; this module creates and checks them.

mod after;
mod check;
mod definitions;
mod operands;
mod patch;
mod providers;
mod schema;
mod scope;
mod stubs;
mod switches;

pub(crate) use after::{after, job_name, job_seconds, steps};
pub(crate) use check::{check, kept_apart};
pub(crate) use definitions::Definitions;
pub(crate) use operands::{namespace_value, operands};
pub(crate) use patch::patch;
pub(crate) use providers::provider;
pub(crate) use scope::{is_built_in, scope, scope_of};
pub(crate) use stubs::readable_stubs;
pub(crate) use stubs::stubs;
pub(crate) use switches::{switch_order, switches};

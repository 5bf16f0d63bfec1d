//! What a configuration adds to a bundle: overlays, patches, what operands need, stub CRDs.
//!
//! They are objects like the bundle's own, and the passes treat them alike; here they are made and
//! checked.

mod check;
mod definitions;
mod operands;
mod patch;
mod providers;
mod schema;
mod scope;
mod stubs;

pub use check::{check, kept_apart};
pub(crate) use definitions::Definitions;
pub use operands::{create_namespaces, namespace_value, operands};
pub use patch::{Patched, patch, unused_patches};
pub(crate) use providers::provider;
pub(crate) use scope::{is_built_in, scope};
pub use stubs::stubs;

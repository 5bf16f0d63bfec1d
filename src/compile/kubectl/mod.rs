//! Commands of kubectl that wait for gates, carry out steps and prepare CRDs, for hooks, Jobs and
//! documents.

mod adopted_crds;
mod gate;
mod namespaces;
mod step;

pub use adopted_crds::{adopt_crds, make_helm_owner};
pub use gate::Gate;
pub use namespaces::Namespaces;
pub use step::Step;

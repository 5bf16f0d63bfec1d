//! Commands of kubectl that wait for gates and carry out steps, for hooks, Jobs and documents.

mod gate;
mod namespaces;
mod pod;
mod shell;
mod step;

pub use gate::Gate;
pub use namespaces::Namespaces;
pub use pod::{USER, container_security, pod_security};
pub use shell::shell;
pub use step::Step;

//! The intermediate representation: objects whose leaves are literals or Helm expressions.
//!
//! A [`Value`] from a bundle contains only literals; passes insert [`Expr`] leaves. Only
//! [`crate::yaml`] knows the template syntax of expressions.

mod expr;
pub mod field_path;
mod identity;
pub mod json;
mod map;
mod names;
mod object;
mod path;
mod pattern;
mod pod_references;
mod quantity;
mod read_as;
mod reads;
mod resolve;
mod scope;
mod unit;
mod upgrade_edges;
mod value;
mod value_keys;
mod version_range;

pub use crate::{map, value};
pub use expr::{
    CertificateField, CertificatePiece, ClusterObject, Condition, Expr, IMAGE_REGISTRIES, IMAGES,
    ImageParts, ImageReference, Part, ValuesPath,
};
pub use identity::{Identity, group_of, may_be_built_in_group};
pub use map::{Iter, Map};
pub use names::dns_subdomain;
pub use names::{is_label, is_label_key, is_label_value, label_fault};
pub use object::{
    ACCOUNT_KEYS, CRD_REPLACES, CRD_VERSION, DEFAULT_ACCOUNT, LASTING_WORKLOADS, OPERANDS, Object,
    Origin, PULL_SECRET, Phase, RELEASE_LABELS, VERSION_METADATA, WORKLOADS, account,
    pod_spec_keys,
};
pub use path::{Step, path_of, push_key, steps, value_at};
pub use pattern::{Ignore, Pattern};
pub use pod_references::{PodReference, pod_references};
pub use quantity::quantity;
pub use read_as::{ReadError, ReadValue, read_as};
pub use reads::ReadPaths;
pub use resolve::Release;
pub use resolve::{RELEASE_NAME, certificate_placeholder, truth};
pub use scope::{Scope, Scopes};
pub use unit::{Unit, ValueSpec};
pub use upgrade_edges::UpgradeEdges;
pub use value::{Number, Value};
pub use value_keys::value_keys;
pub use value_keys::{distinct, stable_key};
pub use version_range::VersionRange;

//! A registry+v1 bundle, read as OLM reads it: annotations, the CSV, CRDs and other objects, each
//! with its provenance.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod csv;
mod definitions;
pub mod fields;
mod load;
mod overlay;
mod own_manifests;
mod plain_schema;
mod position;
mod properties;
mod requirements;
#[doc(hidden)]
pub mod sample;
#[cfg(test)]
mod tests;
mod type_walk;
mod typed;

pub use csv::{ClusterServiceVersion, CrdReference, OLM_REFUSES, Permission, StrategyDeployment};
pub use definitions::{ApiServiceDescription, Endpoint, WebhookDescription, WebhookKind};
pub use load::{load, manifests};
pub use overlay::overlays;
pub use own_manifests::own_manifests;
pub use plain_schema::is_plain_schema;
pub use position::Positions;
pub use position::locate;
pub use requirements::{Api, Dependency, Requirement, Requirements, served_apis};
pub use type_walk::MissingField;
pub use typed::{TypeCheck, TypeMismatch, check_object, checked_kinds, served_version};

use crate::ir::{Object, UpgradeEdges};
use crate::source::ImageIdentity;
use bundle2chart_config as config;
use bundle2chart_model::{diag, ir};
use bundle2chart_source as source;
use bundle2chart_yaml as yaml;
use indexmap::IndexMap;

/// A bundle.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Name of the package, from the annotations.
    pub package: String,
    /// The entries of `annotations:` in metadata/annotations.yaml, plus the image's labels for
    /// missing keys.
    pub annotations: IndexMap<String, String>,
    /// The ClusterServiceVersion.
    pub csv: ClusterServiceVersion,
    /// The CustomResourceDefinitions, in file order.
    pub crds: Vec<Object>,
    /// The dependencies of the bundle, and the APIs and packages that it provides.
    pub requirements: Requirements,
    /// All other objects, in file order.
    pub objects: Vec<Object>,
    /// The image that it came in, when it came in one.
    pub image: Option<ImageIdentity>,
    /// The edges that lead to it in the vendor's upgrade graph: those of its catalog, which OLM uses,
    /// else those of the ClusterServiceVersion.
    pub edges: UpgradeEdges,
    /// Bytes of all manifests.
    pub manifest_bytes: usize,
}

impl Bundle {
    /// Returns the channels of the bundle.
    pub fn channels(&self) -> Vec<&str> {
        let list = self.annotations.get("operators.operatorframework.io.bundle.channels.v1");
        let channels = list.into_iter().flat_map(|list| list.split(',').map(str::trim));
        channels.filter(|channel| !channel.is_empty()).collect()
    }

    /// Returns the namespace that the operator is meant for: the CSV's suggestion.
    pub fn suggested_namespace(&self) -> Option<&str> {
        self.csv.annotation("operatorframework.io/suggested-namespace").filter(|ns| !ns.is_empty())
    }
}

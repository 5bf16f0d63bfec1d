//! `[deploy.flux]`: objects of Flux.

use super::deploy::{Duration, Subfolder};
use super::*;

table! {
    /// Generates a Flux HelmRelease for each chart, in the order of `depends-on`.
    #[derive(PartialEq, Eq)]
    pub struct Flux at "[deploy.flux]", checked by with_namespace {
        /// Name of the GitRepository with the charts, which must exist.
        source_name: ObjectName;
        /// Namespace of the GitRepository. Default: the namespace of the HelmReleases.
        source_namespace: Namespace = String::new();
        /// Namespace of the HelmReleases. Default: `flux-system`.
        namespace: Namespace = "flux-system".to_owned();
        /// Reconcile interval, for example `1h`. Default: `10m`.
        interval: Duration = "10m".to_owned();
        /// Timeout for a release to become ready. Default: `10m`.
        timeout: Duration = "10m".to_owned();
        /// Directory for the objects in the output directory. Default: `flux`.
        dir: Subfolder = "flux".to_owned();
    }
}

/// Sets the namespace of the GitRepository.
fn with_namespace(table: &mut Flux, _: &mut Reader<'_>, fields: &Fields<'_>) {
    // Flux looks for a source in the namespace of the object that refers to it.
    if !fields.has("source-namespace") {
        table.source_namespace = table.namespace.clone();
    }
}

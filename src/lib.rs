//! bundle2chart compiles OLM registry+v1 bundles into Helm charts.
//!
//! The modules are the stages of the pipeline, in order: [`config`] reads `bundles.toml`, [`source`]
//! fetches the bundles, [`bundle`] parses them as Kubernetes does, [`olm`] converts the
//! ClusterServiceVersion to objects as OLM does, [`passes`] adapt the objects, [`chart`] creates the
//! files of the chart, and [`output`] writes them. [`lock`] pins bundles to digests.
//! [`ir`] is the representation between the stages, and [`diag`] the diagnostics of all stages.
//! [`pipeline`] connects them.
//!
//! The library works without the command line. With `default-features = false`, it does not compile
//! clap, progress bars, TLS and model serving; the feature `registry` adds the registry client, `keyless`
//! signatures of identities, and `serving` the charts of models.
//!
//! ```
//! use bundle2chart::config::BundleConfig;
//! use bundle2chart::diag::Diagnostics;
//! use bundle2chart::pipeline;
//! use bundle2chart::source::{self, BundleFiles};
//!
//! let csv = "
//! apiVersion: operators.coreos.com/v1alpha1
//! kind: ClusterServiceVersion
//! metadata: {name: lamp.v1.0.0}
//! spec:
//!   version: 1.0.0
//!   installModes: [{type: OwnNamespace, supported: true}]
//!   install:
//!     strategy: deployment
//!     spec:
//!       permissions:
//!       - serviceAccountName: lamp
//!         rules: [{apiGroups: [''], resources: [configmaps], verbs: [get]}]
//!       deployments:
//!       - name: lamp
//!         spec:
//!           selector: {matchLabels: {app: lamp}}
//!           template:
//!             metadata: {labels: {app: lamp}}
//!             spec: {serviceAccountName: lamp, containers: [{name: lamp, image: lamp}]}
//! ";
//! let annotations = "annotations: {operators.operatorframework.io.bundle.package.v1: lamp}";
//! let files = BundleFiles {
//!     manifests: [("csv.yaml".to_owned(), csv.into())].into(),
//!     metadata: [("annotations.yaml".to_owned(), annotations.into())].into(),
//!     ..BundleFiles::default()
//! };
//! let config = BundleConfig::new("lamp", source::from_argument("lamp"));
//! let mut diagnostics = Diagnostics::new();
//! let compiled = pipeline::compile(&files, &config, &mut diagnostics);
//! assert!(!diagnostics.has_errors());
//! let mut kinds: Vec<String> =
//!     compiled.unwrap().unit.objects.iter().map(|object| object.kind().to_owned()).collect();
//! kinds.sort();
//! assert_eq!(kinds, ["Deployment", "Role", "RoleBinding", "Secret", "ServiceAccount"]);
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub use bundle2chart_bundle as bundle;
pub use bundle2chart_config as config;
pub use bundle2chart_diff as diff;
pub use bundle2chart_model::{diag, ir};
pub use bundle2chart_source as source;

pub mod lock;
pub mod output;
pub mod pipeline;
mod replace_file;

// Those that are public are so for the program and the tests, and change without notice.
#[doc(hidden)]
pub use bundle2chart_compile::{chart, deploy, kubectl, olm};
use bundle2chart_compile::{dependencies, images, kinds, overlay, passes};
#[doc(hidden)]
pub use bundle2chart_jq as jq;
#[doc(hidden)]
pub use bundle2chart_model::escape;
use bundle2chart_model::regular_file;
#[cfg(feature = "serving")]
#[doc(hidden)]
pub use bundle2chart_serving as serving;
#[doc(hidden)]
pub use bundle2chart_yaml as yaml;

#[cfg(feature = "cli")]
mod add;
#[cfg(feature = "cli")]
mod attest;
#[cfg(feature = "cli")]
mod build;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "cli")]
mod compare;
#[cfg(feature = "cli")]
mod inspect;
#[cfg(feature = "cli")]
mod migrate;
#[cfg(feature = "cli")]
mod outdated;
#[cfg(feature = "cli")]
mod package;
#[cfg(feature = "cli")]
mod verify;

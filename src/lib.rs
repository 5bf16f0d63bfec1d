//! bundle2chart compiles OLM registry+v1 bundles into Helm charts.
//!
//! The modules are the pipeline, in order: [`config`] reads `bundles.toml`, [`source`] brings the
//! bytes, [`bundle`] reads them as Kubernetes would, [`olm`] makes what OLM would make of the
//! ClusterServiceVersion, [`passes`] adapt the objects, [`chart`] lays them out as files and
//! [`output`] writes them. [`lock`] remembers which bytes they were. [`ir`] is what travels between the stages and [`diag`] how
//! every stage reports. [`pipeline`] is the only module that knows them all.
//!
//! The library works without the command line:
//!
//! ```
//! use bundle2chart::config::BundleConfig;
//! use bundle2chart::source::{self, BundleFiles};
//! use bundle2chart::pipeline;
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
//! let (compiled, diagnostics) = pipeline::compile(&files, &config);
//! assert!(!diagnostics.has_errors());
//! let mut kinds: Vec<String> =
//!     compiled.unwrap().unit.objects.iter().map(|object| object.kind().to_owned()).collect();
//! kinds.sort();
//! assert_eq!(kinds, ["Deployment", "Role", "RoleBinding", "Secret", "ServiceAccount"]);
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod bundle;
pub mod chart;
pub mod cli;
pub mod config;
pub mod dependencies;
pub mod deploy;
pub mod diag;
pub mod diff;

pub mod escape;
pub mod images;
pub mod inspect;
pub mod ir;
pub mod jq;
pub mod lock;
pub mod olm;
pub mod output;
pub mod overlay;
pub mod passes;
pub mod pipeline;
mod regular_file;
pub mod serving;
pub mod source;
pub mod yaml;

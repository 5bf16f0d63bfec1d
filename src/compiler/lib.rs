//! The compiler: `bundles.toml`, sources and bundles in, the files of Helm charts out.
//!
//! The modules are its stages, in order: [`config`] reads `bundles.toml`, [`source`] fetches the
//! bundles, [`bundle`] parses them as Kubernetes does, [`olm`] converts the ClusterServiceVersion to
//! objects as OLM does, [`passes`] adapt the objects, and [`chart`] creates the files of the chart.
//! The crate `bundle2chart` connects them, compares charts and writes them; its documentation says
//! which of these modules a library user may rely on.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod bundle;
pub mod chart;
pub mod config;
pub mod dependencies;
pub mod deploy;
pub mod diag;
pub mod escape;
pub mod field_ownership;
pub mod images;
pub mod ir;
pub mod jq;
pub mod kubectl;
pub mod lock;
pub mod olm;
pub mod overlay;
pub mod passes;
pub mod regular_file;
#[cfg(feature = "serving")]
pub mod serving;
#[cfg(not(feature = "serving"))]
#[path = "serving_disabled.rs"]
pub mod serving;
pub mod source;
pub mod yaml;

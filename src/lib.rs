//! bundle2chart compiles OLM registry+v1 bundles into Helm charts.
//!
//! The modules are the pipeline, in order: [`config`] reads `bundles.toml`, [`source`] brings the
//! bytes, [`bundle`] reads them as Kubernetes would, [`olm`] makes what OLM would make of the
//! ClusterServiceVersion, [`passes`] adapt the objects, [`chart`] lays them out as files and
//! [`emit`] spells and writes them. [`ir`] is what travels between the stages and [`diag`] how
//! every stage reports. [`pipeline`] is the only module that knows them all.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod config;
pub mod diag;
pub mod emit;
pub mod ir;
pub mod passes;
pub mod source;

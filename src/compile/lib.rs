//! Bundles to the files of Helm charts, without files, network or clock.
//!
//! The modules are the stages, in order: [`olm`] converts the ClusterServiceVersion to objects as OLM
//! does, [`overlay`] adds those of bundles.toml, [`passes`] adapt the objects, [`chart`] creates the
//! files of the chart, and [`deploy`] those of Argo CD, Flux and helmfile.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod chart;
pub mod dependencies;
pub mod deploy;
pub mod documents;
pub mod field_ownership;
pub mod images;
pub mod kinds;
pub mod kubectl;
pub mod layout;
pub mod models;
pub mod olm;
pub mod overlay;
pub mod passes;
pub mod permissions;

use bundle2chart_bundle as bundle;
use bundle2chart_bundle::fields;
use bundle2chart_config as config;
use bundle2chart_jq as jq;
use bundle2chart_model::{diag, embedded, escape, ir};
use bundle2chart_source as source;
use bundle2chart_yaml as yaml;

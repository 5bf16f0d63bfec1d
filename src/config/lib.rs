//! Reads `bundles.toml` with the place of every value, checks it as a whole and resolves defaults.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod declare;
mod file;
mod filter;
pub mod forms;
mod include;
pub mod kubernetes;
mod read;
pub mod reader;
pub mod schema;
pub mod serving;
pub mod tables;
pub mod text;

pub use file::COMMAND_LINE;
pub use serving::ServingConfig;
pub use tables::after::{KUBECTL_IMAGE, Reset, StepAfter};
pub use tables::argocd::{ArgoCd, ArgoStyle, Discovery, IgnoreDifference, OwnApplication};
pub use tables::bundle::{BundleConfig, CatalogSource, Source, VersionRequest, WantedVersion};
pub use tables::certificates::{CertificateProvider, Issuer};
pub use tables::chart::{Manifests, VendoredFile};
pub use tables::deploy::{Deploy, Values};
pub use tables::flux::Flux;
pub use tables::lints::Lints;
pub use tables::mirror::{Mirror, MirrorTarget};
pub use tables::operands::{Account, Adoption, Operands, STUBS};
pub use tables::output::{Layout, Output};
pub use tables::overlay::{Overlay, OverlaySource, PatchConfig};
pub use tables::pods::PodConfig;
pub use tables::ready::{Gate, GateTest, Target};
pub use tables::registry::{Network, Registry};
pub use tables::settings::{
    CrdPlacement, InstallMode, Maintainer, OperatorSettings, Settings, Watch,
};
pub use tables::switch::Switch;
pub use tables::verify::{CertificateIdentity, IdentityMatch, Verification, VerificationRule};

// What most of the modules speak of.
use crate::declare::{Form, Key, Kind, Table};
use crate::diag::{Code, Diagnostic, Diagnostics, Place, SourceText, Span, suggest};
use crate::ir::Ignore;
use crate::reader::{Fields, Node, Reader, as_json, entries, items};
use bundle2chart_jq as jq;
use bundle2chart_model::{diag, escape, ir, regular_file};
use bundle2chart_yaml as yaml;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// Name suffix of charts with CRDs.
pub const CRDS_SUFFIX: &str = "-crds";
/// Name suffix of charts with operands.
pub const OPERANDS_SUFFIX: &str = "-operands";

/// A checked configuration with all defaults resolved.
#[derive(Clone, Debug)]
pub struct Config {
    /// The base directory of relative paths in the file.
    pub base: PathBuf,
    /// Output settings.
    pub output: Output,
    /// Registry mirrors, in the order of the file; the longest matching prefix wins.
    pub mirrors: Vec<Mirror>,
    /// Connection settings of registries.
    pub registries: Vec<Registry>,
    /// Timeouts and retries of registries.
    pub network: Network,
    /// Signatures that images must have, in the order of the file; the longest matching prefix wins.
    pub verifications: Vec<Verification>,
    /// Levels of diagnostic codes.
    pub lints: Lints,
    /// Changes that `diff` and reports leave out, and why.
    pub ignore: Vec<Ignore>,
    /// Settings of the generated deployment files.
    pub deploy: Deploy,
    /// The bundles and charts, in the order of the file.
    pub bundles: Vec<BundleConfig>,
    /// The models to serve, in the order of the file.
    pub servings: Vec<ServingConfig>,
}

impl Config {
    /// Returns the output directory as users write it: `out` instead of `./out`.
    pub fn out(&self) -> PathBuf {
        let configured = self.base.join(&self.output.dir);
        let plain = configured.strip_prefix(".").ok().filter(|path| !path.as_os_str().is_empty());
        plain.unwrap_or(&configured).to_owned()
    }

    /// Returns the name of the bundle, chart or model that is compiled to the chart `name`, if any.
    pub fn table_of_chart(&self, name: &str) -> Option<&str> {
        let mut names = self.tables().map(|(own, _)| own);
        let own = names.clone().find(|own| *own == name);
        // Only then: a bundle may have a name with such a suffix itself.
        own.or_else(|| {
            let stems = [CRDS_SUFFIX, OPERANDS_SUFFIX].map(|suffix| name.strip_suffix(suffix));
            names.find(|own| stems.contains(&Some(*own)))
        })
    }

    /// Returns the names and headers of the tables that become charts: bundles and charts, then models.
    pub fn tables(&self) -> impl Iterator<Item = (&str, &Span)> + Clone {
        charts(&self.bundles, &self.servings)
    }
}

fn charts<'c>(
    bundles: &'c [BundleConfig],
    models: &'c [ServingConfig],
) -> impl Iterator<Item = (&'c str, &'c Span)> + Clone {
    let bundles = bundles.iter().map(|bundle| (bundle.name.as_str(), &bundle.span));
    bundles.chain(models.iter().map(|model| (model.name.as_str(), &model.span)))
}

/// A text of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The text as written.
    pub text: String,
    /// The value in the file.
    pub span: Span,
}

/// A jq filter over one object: true keeps (or drops) it.
pub type Filter = Text;

#[cfg(test)]
mod tests;

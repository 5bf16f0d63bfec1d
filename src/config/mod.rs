//! `bundles.toml`: what to build. Read with spans, checked as a whole, defaults resolved.

mod certificates;
mod check;
mod deploy;
mod file;
mod filter;
pub mod keys;
mod operands;
mod overlay;
mod pods;
mod read;
pub mod schema;
pub mod serving;
pub(crate) mod text;
mod tree;
mod values;

pub use certificates::{CertificateProvider, Issuer};
pub use deploy::{ArgoCd, ArgoStyle, Deploy, Flux, IgnoreDifference, Values};
#[cfg(test)]
pub(crate) use operands::STUBS;
pub use operands::{Account, Adoption, Operands};
pub use overlay::{Overlay, OverlaySource, PatchConfig};
pub use pods::PodConfig;
pub use serving::{
    Accelerator, Autoscaling, EngineConfig, Model, Monitoring, NetworkPolicy, PickerConfig,
    RouteConfig, ServingConfig, Shape, Topology,
};

use crate::diag::Span;
use crate::ir::Ignore;
use crate::ir::{Phase, Scopes};
use std::path::PathBuf;
use std::time::Duration;

/// What the name of a chart of CRDs ends in.
pub const CRDS_SUFFIX: &str = "-crds";
/// What the name of a chart of operands ends in.
pub const OPERANDS_SUFFIX: &str = "-operands";

/// A checked configuration with all defaults resolved.
#[derive(Clone, Debug)]
pub struct Config {
    /// The folder that relative paths in the file start from.
    pub base: PathBuf,
    /// Where charts go.
    pub output: Output,
    /// Where the bytes of references come from, in the order of the file; the longest matching
    /// prefix wins.
    pub mirrors: Vec<Mirror>,
    /// How to reach registries that need more than their name.
    pub registries: Vec<Registry>,
    /// How registries are waited for.
    pub network: Network,
    /// Changes that `diff` and reports leave out, and why.
    pub ignore: Vec<Ignore>,
    /// What is written to install the charts with.
    pub deploy: Deploy,
    /// The bundles, in the order of the file.
    pub bundles: Vec<BundleConfig>,
    /// The models to serve, in the order of the file.
    pub servings: Vec<ServingConfig>,
}

impl Config {
    /// The output folder as a person names it: `out`, and not `./out`.
    pub fn out(&self) -> PathBuf {
        let configured = self.base.join(&self.output.dir);
        let plain = configured.strip_prefix(".").ok().filter(|path| !path.as_os_str().is_empty());
        plain.unwrap_or(&configured).to_owned()
    }
}

/// `[output]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Folder that holds the charts (default `out`), relative to the configuration.
    pub dir: PathBuf,
    /// How charts are laid out in it.
    pub layout: Layout,
}

/// How charts are laid out in the output folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// `out/<chart>/<version>/`: versions live side by side.
    #[default]
    Versioned,
    /// `out/<chart>/`: one version at a time.
    Flat,
}

/// `[[mirror]]`: bytes of references that start with `from` come from `to`.
#[derive(Clone, Debug)]
pub struct Mirror {
    /// Prefix of a reference on a `/` boundary, for example `registry.redhat.io`.
    pub from: String,
    /// Where the bytes are.
    pub to: MirrorTarget,
    /// Whether what this mirror does not have is looked for elsewhere.
    pub fallback: bool,
    /// The table in the file.
    pub span: Span,
}

/// Where a mirror's bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MirrorTarget {
    /// `oci-layout:DIR`, an OCI image layout folder relative to the configuration.
    Layout(PathBuf),
    /// The start of names in another registry, for example `registry.example.com/mirror`.
    Registry(String),
}

/// `[[registry]]`
#[derive(Clone, Debug)]
pub struct Registry {
    /// Its host, with a port where references have one.
    pub host: String,
    /// PEM file of authorities, relative to the configuration.
    pub ca: Option<PathBuf>,
    /// Whether it is asked over plain HTTP.
    pub plain_http: bool,
    /// Other hosts that may see its credentials, in lower case.
    pub auth_hosts: Vec<String>,
    /// The table in the file.
    pub span: Span,
}

/// `[network]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Repetitions of a request that failed in a way that may pass.
    pub retries: u32,
    /// How long a registry may stay silent, or slow.
    pub timeout: Duration,
    /// Downloads at a time.
    pub downloads: usize,
}

impl Default for Network {
    fn default() -> Self {
        Network { retries: 4, timeout: Duration::from_secs(30), downloads: 4 }
    }
}

/// `[[bundle]]`
#[derive(Clone, Debug)]
pub struct BundleConfig {
    /// Name of the bundle here and of its chart.
    pub name: String,
    /// Where the bundle comes from.
    pub source: Source,
    /// The package that the bundle must be of. When missing: that of the lock file.
    pub package: Option<Text>,
    /// Default namespace, for texts; the chart uses the release namespace. When missing: what the
    /// CSV suggests, or the name.
    pub namespace: Option<String>,
    /// Which namespaces the operator watches. When missing: what the CSV's install modes allow.
    pub watch: Option<Watch>,
    /// When not empty, only objects that one of these matches are kept.
    pub include: Vec<Filter>,
    /// Objects that one of these matches are dropped; wins over `include`.
    pub exclude: Vec<Filter>,
    /// Name of the pull secret that ServiceAccounts refer to by default.
    pub pull_secret: Option<String>,
    /// Whether the operator may read the API server's authentication settings in kube-system.
    pub auth_reader: bool,
    /// Where CRDs go; nothing for the default, which depends on the objects of the bundle.
    pub crds: Option<CrdPlacement>,
    /// Whether the schemas of CRDs lose their descriptions.
    pub strip_descriptions: bool,
    /// Who makes the certificates of what the operator serves.
    pub certificates: CertificateProvider,
    /// The issuer of cert-manager, where it is not one of the release's own.
    pub issuer: Option<Issuer>,
    /// Whether the cluster's own roles get the operator's APIs.
    pub aggregate_roles: bool,
    /// What is changed in the operator's pods.
    pub pods: PodConfig,
    /// Objects that are kept beside the bundle.
    pub overlays: Vec<Overlay>,
    /// What is changed in the bundle's objects.
    pub patches: Vec<PatchConfig>,
    /// Scopes of kinds that neither Kubernetes nor a CRD of the bundle says.
    pub scopes: Scopes,
    /// What the operator's operands need.
    pub operands: Operands,
    /// Names of stub CRDs of other projects.
    pub stub_crds: Vec<Text>,
    /// Version of the chart, where it is not the CSV's.
    pub chart_version: Option<semver::Version>,
    /// Bundles to install before this one.
    pub depends_on: Vec<String>,
    /// Packages and APIs (`GROUP/VERSION/KIND`) that the cluster has by other means.
    pub provided: Vec<Text>,
    /// The `[[bundle]]` table's header in the file.
    pub span: Span,
}

impl BundleConfig {
    /// A bundle with every default, for compiling one that no configuration names.
    pub fn new(name: &str, source: Source) -> Self {
        let span = source.span().clone();
        BundleConfig {
            name: name.to_owned(),
            source,
            package: None,
            namespace: None,
            watch: None,
            include: Vec::new(),
            exclude: Vec::new(),
            pull_secret: None,
            auth_reader: false,
            crds: None,
            strip_descriptions: false,
            certificates: CertificateProvider::default(),
            issuer: None,
            aggregate_roles: false,
            pods: PodConfig::default(),
            overlays: Vec::new(),
            patches: Vec::new(),
            scopes: Scopes::new(),
            operands: Operands::default(),
            stub_crds: Vec::new(),
            chart_version: None,
            depends_on: Vec::new(),
            provided: Vec::new(),
            span,
        }
    }

    /// What the names of the charts beside the bundle's own end in, and what makes them, in words.
    fn companions(&self) -> Vec<(&'static str, &'static str)> {
        let mut companions = Vec::new();
        let phases = || self.overlays.iter().map(|overlay| overlay.phase);
        if self.crds == Some(CrdPlacement::Separate) {
            companions.push((CRDS_SUFFIX, "`crds = \"separate\"`"));
        } else if self.crds.is_none() && phases().any(|phase| phase != Phase::Operand) {
            companions
                .push((CRDS_SUFFIX, "custom resources of the bundle's own CRDs in an overlay"));
        } else if !self.stub_crds.is_empty() {
            companions.push((CRDS_SUFFIX, "`stub-crds`"));
        }
        if phases().any(|phase| phase == Phase::Operand) {
            companions.push((OPERANDS_SUFFIX, "an overlay with `phase = \"operand\"`"));
        }
        companions
    }
}

/// Where a bundle comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A registry reference, found through a mirror.
    Image {
        /// As written, for example `registry.redhat.io/a/b:1.0`.
        reference: String,
        /// The value in the file.
        span: Span,
    },
    /// A bundle folder, an OCI layout folder (with an optional `:TAG` or `@DIGEST`), or a tar of
    /// either, relative to the configuration.
    Path {
        /// As written.
        path: String,
        /// The value in the file.
        span: Span,
    },
    /// A package of a file-based catalog.
    Catalog(CatalogSource),
}

impl Source {
    /// The reference or path, as written.
    pub fn text(&self) -> &str {
        match self {
            Source::Image { reference, .. } => reference,
            Source::Path { path, .. } => path,
            Source::Catalog(source) => &source.catalog.text,
        }
    }

    /// Where the reference or path stands in the file.
    pub fn span(&self) -> &Span {
        match self {
            Source::Image { span, .. } | Source::Path { span, .. } => span,
            Source::Catalog(source) => &source.catalog.span,
        }
    }
}

/// Which bundle of which catalog.
#[derive(Clone, Debug)]
pub struct CatalogSource {
    /// The reference of a catalog image, or a path relative to the configuration.
    pub catalog: Text,
    /// The package.
    pub package: Text,
    /// The channel; when missing: the package's default channel.
    pub channel: Option<Text>,
    /// The version; when missing: that of the channel's head.
    pub version: Option<WantedVersion>,
}

/// A text of the file.
#[derive(Clone, Debug)]
pub struct Text {
    /// As written.
    pub text: String,
    /// The value in the file.
    pub span: Span,
}

/// The versions that a configuration asks for.
#[derive(Clone, Debug)]
pub struct WantedVersion {
    /// What fits.
    pub request: VersionRequest,
    /// The value in the file.
    pub span: Span,
}

/// One version or a range of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionRequest {
    /// This version.
    Exact(semver::Version),
    /// The highest that fits.
    Range(semver::VersionReq),
}

impl std::fmt::Display for VersionRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            VersionRequest::Exact(version) => version.fmt(formatter),
            VersionRequest::Range(range) => range.fmt(formatter),
        }
    }
}

/// Which namespaces an operator watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// All namespaces.
    All,
    /// The namespace that it runs in.
    Own,
    /// These namespaces; one or more, no two the same.
    Namespaces(Vec<String>),
}

impl Watch {
    /// Returns the value of the key `watch` that says it, as TOML.
    pub fn to_toml(&self) -> String {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        match self {
            Watch::All => quoted("all"),
            Watch::Own => quoted("own"),
            Watch::Namespaces(names) => {
                let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
                format!("[{}]", names.join(", "))
            }
        }
    }

    /// Returns it in a few words: `all namespaces`.
    pub fn describe(&self) -> String {
        match self {
            Watch::All => "all namespaces".to_owned(),
            Watch::Own => "its own namespace".to_owned(),
            Watch::Namespaces(names) => match names.as_slice() {
                [name] => format!("the namespace {name}"),
                names => format!("the namespaces {}", names.join(", ")),
            },
        }
    }

    /// Returns the text of an annotation of a chart: `all`, `own`, or names joined by commas.
    pub fn annotation(&self) -> String {
        match self {
            Watch::All => "all".to_owned(),
            Watch::Own => "own".to_owned(),
            Watch::Namespaces(names) => names.join(","),
        }
    }
}

/// Where CRDs go in the chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrdPlacement {
    /// `charts/crds/templates/`: upgraded with the release, kept when it is uninstalled.
    #[default]
    Templates,
    /// The templates of a chart NAME-crds, which is installed and upgraded first.
    Separate,
    /// `charts/crds/crds/`: not upgraded by Helm, not stored in the release Secret.
    Subchart,
    /// `crds/`: not upgraded by Helm, stored in the release Secret.
    Crds,
}

impl CrdPlacement {
    /// Its name in bundles.toml.
    pub fn as_str(self) -> &'static str {
        match self {
            CrdPlacement::Subchart => "subchart",
            CrdPlacement::Crds => "crds",
            CrdPlacement::Templates => "templates",
            CrdPlacement::Separate => "separate",
        }
    }

    /// The placement of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "subchart" => Some(CrdPlacement::Subchart),
            "crds" => Some(CrdPlacement::Crds),
            "templates" => Some(CrdPlacement::Templates),
            "separate" => Some(CrdPlacement::Separate),
            _ => None,
        }
    }
}

/// A jq filter over one object: true keeps (or drops) it.
#[derive(Clone, Debug)]
pub struct Filter {
    /// The program.
    pub text: String,
    /// The value in the file.
    pub span: Span,
}

#[cfg(test)]
mod tests;

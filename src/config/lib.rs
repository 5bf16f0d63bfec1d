//! `bundles.toml`: what to build. Read with spans, checked as a whole, defaults resolved.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod after;
mod certificates;
mod deploy;
mod file;
mod filter;
mod gate;
mod include;
pub mod keys;
mod lints;
mod operands;
mod overlay;
mod pods;
pub(crate) mod read;
pub mod schema;
pub mod serving;
mod switch;
pub mod text;
mod toggles;
mod verify;

pub use after::KUBECTL_IMAGE;
pub use after::{Reset, StepAfter};
pub use certificates::{CertificateProvider, Issuer};
pub use deploy::{
    ArgoCd, ArgoStyle, Deploy, Discovery, Flux, IgnoreDifference, OwnApplication, Values,
};
pub use gate::{Gate, GateTest, Target};
pub use lints::Lints;
pub use operands::STUBS;
pub use operands::{Account, Adoption, Operands};
pub use overlay::{Overlay, OverlaySource, PatchConfig};
pub use pods::PodConfig;
pub use switch::Switch;
pub use toggles::Toggles;
pub use verify::{CertificateIdentity, IdentityMatch, Verification, VerificationRule};

pub use crate::serving::ServingConfig;

use crate::diag::Span;
use crate::ir::Ignore;
use crate::ir::{Phase, Scopes};
use bundle2chart_jq as jq;
use bundle2chart_model::{diag, ir, regular_file};
use bundle2chart_yaml as yaml;
use std::path::PathBuf;
use std::time::Duration;

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
        own.or_else(|| {
            let stems = [CRDS_SUFFIX, OPERANDS_SUFFIX].map(|suffix| name.strip_suffix(suffix));
            names.find(|own| stems.contains(&Some(*own)))
        })
    }

    /// Returns the names and headers of the tables that become charts: bundles and charts, then models.
    pub fn tables(&self) -> impl Iterator<Item = (&str, &Span)> + Clone {
        let bundles = self.bundles.iter().map(|bundle| (bundle.name.as_str(), &bundle.span));
        bundles.chain(self.servings.iter().map(|model| (model.name.as_str(), &model.span)))
    }
}

/// `[output]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Output directory (default `out`), relative to the configuration.
    pub dir: PathBuf,
    /// Layout of the charts in it.
    pub layout: Layout,
    /// Number of versions of a chart that a build keeps, with the one it builds; all without.
    pub keep: Option<u32>,
}

/// The layout of charts in the output directory.
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
    /// The target.
    pub to: MirrorTarget,
    /// True if other mirrors or the registry are tried when this mirror does not have the image.
    pub fallback: bool,
    /// The table in the file.
    pub span: Span,
}

/// The target of a mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MirrorTarget {
    /// `oci-layout:DIR`, an OCI image layout directory relative to the configuration.
    Layout(PathBuf),
    /// The start of names in another registry, for example `registry.example.com/mirror`.
    Registry(String),
}

/// `[[registry]]`
#[derive(Clone, Debug)]
pub struct Registry {
    /// Host of the registry, with the port if references have one.
    pub host: String,
    /// PEM file of authorities, relative to the configuration.
    pub ca: Option<PathBuf>,
    /// True if the registry is contacted over plain HTTP; `None` if the file does not say.
    pub plain_http: Option<bool>,
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
    /// Timeout of a stalled or slow connection.
    pub timeout: Duration,
    /// Requests to a registry at a time.
    pub downloads: usize,
}

impl Default for Network {
    fn default() -> Self {
        Network { retries: 4, timeout: Duration::from_secs(30), downloads: 4 }
    }
}

/// A maintainer of charts, as in Chart.yaml.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maintainer {
    /// Name of the person or team; for chart-testing, the name of the GitHub account.
    pub name: String,
    /// Email address.
    pub email: Option<String>,
    /// Web page.
    pub url: Option<String>,
}

/// `[[bundle]]`, or `[[chart]]`: a bundle whose source is [`Source::Manifests`].
#[derive(Clone, Debug)]
pub struct BundleConfig {
    /// Name of the bundle here and of its chart.
    pub name: String,
    /// The source of the bundle.
    pub source: Source,
    /// The package that the bundle must be of. When missing: that of the lock file.
    pub package: Option<Text>,
    /// Suggested namespace; the chart uses the release namespace. Default: the CSV's suggestion, or
    /// the bundle name.
    pub namespace: Option<String>,
    /// Namespaces that the operator watches; if missing, the default of the CSV's install modes.
    pub watch: Option<Watch>,
    /// The key `watch` in the file, if it is set there.
    pub watch_span: Option<Span>,
    /// If not empty, only objects that match one of these are kept.
    pub include: Vec<Filter>,
    /// Objects that one of these matches are dropped; wins over `include`.
    pub exclude: Vec<Filter>,
    /// Name of the pull secret that ServiceAccounts refer to by default.
    pub pull_secret: Option<String>,
    /// Placement of CRDs; the default depends on the objects of the bundle.
    pub crds: Option<CrdPlacement>,
    /// Boolean settings.
    pub toggles: Toggles,
    /// Maintainers of the chart.
    pub maintainers: Vec<Maintainer>,
    /// Source of the certificates for webhooks and APIServices.
    pub certificates: CertificateProvider,
    /// The cert-manager issuer, if it is not one of the release.
    pub issuer: Option<Issuer>,
    /// Overrides for the operator's pods.
    pub pods: PodConfig,
    /// Overlays: the user's own objects.
    pub overlays: Vec<Overlay>,
    /// Switches: overlays that come later, in order.
    pub switches: Vec<Switch>,
    /// Patches of the bundle's objects.
    pub patches: Vec<PatchConfig>,
    /// Scopes of kinds that neither Kubernetes nor a CRD of the bundle says.
    pub scopes: Scopes,
    /// Namespaces and ServiceAccounts of the operator's operands.
    pub operands: Operands,
    /// Names of stub CRDs of other projects.
    pub stub_crds: Vec<Text>,
    /// Version of the chart, if it is not the CSV's.
    pub chart_version: Option<semver::Version>,
    /// Bundles to install before this one.
    pub depends_on: Vec<String>,
    /// Gates: conditions that hold back the charts that depend on this one.
    pub gates: Vec<Gate>,
    /// Steps after the installation: changes to objects that others create.
    pub after: Vec<StepAfter>,
    /// Packages and APIs (`GROUP/VERSION/KIND`) that the cluster has by other means.
    pub provided: Vec<Text>,
    /// Levels of diagnostic codes for findings about this bundle; those of the configuration apply to
    /// all other codes.
    pub lints: Lints,
    /// The header of the table in the file.
    pub span: Span,
}

impl BundleConfig {
    /// Returns a bundle with every default, for compiling one that no configuration names.
    pub fn new(name: &str, source: Source) -> Self {
        let span = source.span().clone();
        BundleConfig {
            name: name.to_owned(),
            source,
            package: None,
            namespace: None,
            watch: None,
            watch_span: None,
            include: Vec::new(),
            exclude: Vec::new(),
            pull_secret: None,
            crds: None,
            toggles: Toggles::default(),
            maintainers: Vec::new(),
            certificates: CertificateProvider::default(),
            issuer: None,
            pods: PodConfig::default(),
            overlays: Vec::new(),
            switches: Vec::new(),
            patches: Vec::new(),
            scopes: Scopes::new(),
            operands: Operands::default(),
            stub_crds: Vec::new(),
            chart_version: None,
            depends_on: Vec::new(),
            gates: Vec::new(),
            after: Vec::new(),
            provided: Vec::new(),
            lints: Lints::new(),
            span,
        }
    }

    /// Returns the name suffixes of the companion charts, each with a description of its cause.
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

/// The source of a bundle.
#[derive(Clone, Debug)]
pub enum Source {
    /// A registry reference, found through a mirror.
    Image {
        /// The reference as written, for example `registry.redhat.io/a/b:1.0`.
        reference: String,
        /// The value in the file.
        span: Span,
    },
    /// A bundle directory, an OCI layout directory (with an optional `:TAG` or `@DIGEST`), or a tar
    /// of either, relative to the configuration.
    Path {
        /// The path as written.
        path: String,
        /// The value in the file.
        span: Span,
    },
    /// A package of a file-based catalog.
    Catalog(CatalogSource),
    /// The user's own manifests, for a `[[chart]]`.
    Manifests(Box<Manifests>),
}

impl Source {
    /// Returns the reference or path, as written.
    pub fn text(&self) -> &str {
        match self {
            Source::Image { reference, .. } => reference,
            Source::Path { path, .. } => path,
            Source::Catalog(source) => &source.catalog.text,
            Source::Manifests(manifests) => &manifests.text,
        }
    }

    /// Returns the span of the reference or path in the file.
    pub fn span(&self) -> &Span {
        match self {
            Source::Image { span, .. } | Source::Path { span, .. } => span,
            Source::Catalog(source) => &source.catalog.span,
            Source::Manifests(manifests) => &manifests.span,
        }
    }
}

/// The files of a `[[chart]]`.
#[derive(Clone, Debug)]
pub struct Manifests {
    /// Files, and directories with .yaml, .yml and .json files, relative to the configuration.
    pub paths: Vec<Text>,
    /// Files of other projects, by digest.
    pub vendored: Vec<VendoredFile>,
    /// The platform of models as a service, if the chart has parts of it.
    pub maas: Option<crate::serving::maas::MaasPlatform>,
    /// All paths, separated by commas.
    pub text: String,
    /// The table's header in the file.
    pub span: Span,
}

/// `[[chart.vendored]]`
#[derive(Clone, Debug)]
pub struct VendoredFile {
    /// The file, relative to the configuration.
    pub path: String,
    /// The digest that it must have: `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// The address that it was downloaded from.
    pub url: Option<String>,
    /// The path in the configuration.
    pub span: Span,
    /// The digest in the configuration.
    pub digest_span: Span,
}

/// The bundle to select from a catalog.
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The text as written.
    pub text: String,
    /// The value in the file.
    pub span: Span,
}

/// The requested versions.
#[derive(Clone, Debug)]
pub struct WantedVersion {
    /// The parsed request.
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

/// The namespaces that an operator watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// All namespaces.
    All,
    /// The namespace that it runs in.
    Own,
    /// Exactly these namespaces: one or more, without duplicates.
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

/// The placement of CRDs in the chart.
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
    /// Returns the name in bundles.toml.
    pub fn as_str(self) -> &'static str {
        match self {
            CrdPlacement::Subchart => "subchart",
            CrdPlacement::Crds => "crds",
            CrdPlacement::Templates => "templates",
            CrdPlacement::Separate => "separate",
        }
    }

    /// Returns the placement of this name.
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

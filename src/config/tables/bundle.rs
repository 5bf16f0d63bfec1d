//! `[[bundle]]`: a bundle to compile into a chart.

use super::after::{self, StepTable};
use super::lints::Levels;
use super::operands::{OperandTable, ScopeMap, Stub, distinct_stubs};
use super::overlay::OverlayTable;
use super::ready::{ChartGate, has_phase};
use super::switch::{self};
use super::*;

table! {
    /// A bundle to compile into a chart.
    pub struct BundleConfig at "[[bundle]]",
        one of ["image", "path", "catalog"],
        checked by complete
    {
        /// Name of the chart: lower-case letters, digits and dashes, at most 53 characters.
        name: Name;
        /// The source of the bundle; of a `[[chart]]`, [`Source::Manifests`].
        source: Flat<SourceTable>;
        /// Name of the operator's package: the package to look up in `catalog`, or the expected
        /// package of `image` or `path`. Default for those: the package in bundles.lock.
        package: Option<Placed<Word>>;
        /// Suggested namespace in the chart's README and NOTES; the chart itself uses the release
        /// namespace. Default: the bundle's suggested namespace, else its name.
        namespace: Option<Namespace>;
        /// Settings of all charts, with those of `[defaults]`.
        settings: Flat<Settings>;
        /// Settings of operators, with those of `[defaults]`.
        operator: Flat<OperatorSettings>;
        /// Version of the chart (semantic versioning). Default: the version of the
        /// ClusterServiceVersion.
        chart_version: Option<ChartVersion>;
        /// Names of bundles and charts of this configuration that must be installed before this one.
        depends_on: Vec<Listed>;
        gates as "ready": Vec<ChartGate>;
        after: Vec<StepTable>;
        pods as "config": PodConfig = PodConfig::default();
        overlays as "overlay": Vec<OverlayTable>;
        switches as "switch": Vec<Switch>;
        patches as "patch": Vec<PatchConfig>;
        /// Scope of kinds, as `"GROUP/KIND" = "Namespaced"` or `"Cluster"`, for overlays with kinds
        /// that are neither built into Kubernetes nor defined by a CRD of the bundle.
        scopes: ScopeMap = Default::default();
        /// Namespaces and ServiceAccounts of the operator's operands.
        operands: Flat<OperandTable>;
        /// Stub CRDs of other projects that the operator expects, by name. The chart NAME-crds,
        /// which is installed first, creates those that are missing in the cluster:
        /// `infrastructures.config.openshift.io`, `servicemonitors.monitoring.coreos.com`.
        stub_crds: Vec<Placed<Stub>>;
        /// Levels of diagnostics about this chart by code, instead of those of `[lints]`: `allow` or
        /// `deny`.
        lints: Levels = Default::default();
        /// The header of the table in the file.
        span: Header;
    }
}

table! {
    /// The source of a bundle.
    pub struct SourceTable at "[[bundle]]", checked by source as Source {
        /// Reference of the bundle image, for example `registry.example.com/team/bundle:1.0`. A
        /// bundle has exactly one of `image`, `path` and `catalog`.
        image: Option<Placed<Reference>>;
        /// A bundle directory, an OCI image layout directory (with `:TAG` or `@DIGEST` if it
        /// contains several images), a tar of either, or a Docker archive, relative to this file.
        path: Option<Placed<Filled>>;
        /// A file-based catalog that contains the bundle: the reference of a catalog image, or a
        /// directory, a file or an OCI image layout directory relative to this file.
        catalog: Option<Placed<Word>>, needs ["package"];
        /// Channel of the package to follow. Default: the package's default channel.
        channel: Option<Placed<Word>>, needs ["catalog"];
        /// Version of the operator in the channel: one version, such as `"1.2.3"`, or a range, such
        /// as `">=1.2, <2"` or `"1.2"` for any 1.2, of which the highest is used. Default: the head
        /// of the channel.
        version: Option<WantedVersion>, needs ["catalog"];
    }
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
            settings: Settings::default(),
            operator: OperatorSettings::default(),
            chart_version: None,
            depends_on: Vec::new(),
            gates: Vec::new(),
            after: Vec::new(),
            pods: PodConfig::default(),
            overlays: Vec::new(),
            switches: Vec::new(),
            patches: Vec::new(),
            scopes: Scopes::new(),
            operands: Operands::default(),
            stub_crds: Vec::new(),
            lints: Lints::new(),
            span,
        }
    }

    /// Returns the namespaces that the operator watches, if they are set.
    pub fn watch(&self) -> Option<&Watch> {
        self.operator.watch.as_ref().map(|(watch, _)| watch)
    }

    /// Returns the place of `watch` in the file, if it is set there.
    pub fn watch_span(&self) -> Option<&Span> {
        self.operator.watch.as_ref()?.1.as_ref()
    }

    /// Returns the source of the certificates for webhooks and APIServices.
    pub fn certificates(&self) -> CertificateProvider {
        self.operator.certificates.unwrap_or_default()
    }

    /// Returns the maintainers of the chart.
    pub fn maintainers(&self) -> &[Maintainer] {
        self.settings.maintainers.as_deref().unwrap_or_default()
    }

    /// Returns the name suffixes of the companion charts, each with a description of its cause.
    pub(crate) fn companions(&self) -> Vec<(&'static str, &'static str)> {
        // Custom resources are found when the overlays are read; until then, any overlay may need
        // the chart, and its name is taken.
        let mut companions = Vec::new();
        let phases = || self.overlays.iter().map(|overlay| overlay.phase);
        if self.settings.crds == Some(CrdPlacement::Separate) {
            companions.push((CRDS_SUFFIX, "`crds = \"separate\"`"));
        } else if self.settings.crds.is_none() && phases().any(|phase| phase != Phase::Operand) {
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

/// Completes a bundle from `[defaults]`, and checks its keys together.
fn complete(bundle: &mut BundleConfig, reader: &mut Reader<'_>, fields: &Fields<'_>) {
    bundle.settings.complete(&reader.defaults.settings);
    bundle.operator.complete(&reader.defaults.operator);
    // Only in the bundle itself: one of `[defaults]` is for those that use cert-manager.
    if fields.has("issuer") && bundle.certificates() != CertificateProvider::CertManager {
        let message = "`issuer` is for cert-manager, but this bundle does not use cert-manager";
        let hint = "remove it, or set `certificates = \"cert-manager\"`";
        reader.error(Code::InvalidValue, &fields.place("issuer"), message, hint);
    }
    distinct_stubs(reader, &bundle.stub_crds);
    check_overlays(bundle, reader);
}

/// Checks what refers to the overlays of a bundle or chart.
pub(crate) fn check_overlays(bundle: &mut BundleConfig, reader: &mut Reader<'_>) {
    switch::check(reader, &mut bundle.switches, &bundle.overlays);
    for Gate { phase, span, .. } in &bundle.gates {
        has_phase(reader, (*phase, span), &bundle.overlays, "a gate");
    }
    after::check(reader, &bundle.after, &bundle.overlays);
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

fn source(table: SourceTable, reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Source> {
    // With several sources, which are reported, one is read, so that other errors are found, too.
    match (table.image, table.path, table.catalog) {
        (.., Some(catalog)) => {
            // `package` is a key of the bundle, which has it for the other sources, too; so it is
            // read here again.
            let package = Placed::<Any>::find(reader, fields, "package")?;
            let (channel, version) = (table.channel, table.version);
            Some(Source::Catalog(CatalogSource { catalog, package, channel, version }))
        }
        (Some(Text { text: reference, span }), ..) => Some(Source::Image { reference, span }),
        (None, Some(Text { text: path, span }), None) => Some(Source::Path { path, span }),
        (None, None, None) => None,
    }
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

impl Form for WantedVersion {
    type Value = WantedVersion;
    const KIND: Kind = Any::KIND;

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<Self> {
        let text = value.get_ref().as_str()?;
        // First: as a range, `1.2.3-rc.1` would match later versions as well.
        let exact = semver::Version::parse(text).map(VersionRequest::Exact);
        let request = exact.or_else(|_| version_range(text).map(VersionRequest::Range));
        let request = request.map_err(|error| {
            let message = format!("`version` is neither a version nor a version range: {error}");
            (message, version_hint(text))
        });
        Some(WantedVersion {
            request: reader.valid(value, request)?,
            span: reader.span(value.span()),
        })
    }
}

fn version_hint(text: &str) -> String {
    let bare = text.trim_start_matches('v');
    let with_commas = text.split_whitespace().collect::<Vec<_>>().join(", ");
    if version_range(bare).is_ok() {
        format!("write `version = \"{bare}\"`")
    } else if version_range(&with_commas).is_ok() {
        format!("write `version = \"{with_commas}\"`")
    } else {
        "write one version, such as `1.2.3`, or comparisons separated by commas, such as `>=1.2, <2`"
            .to_owned()
    }
}

/// Returns a range of versions. One of which the end is left out means all that begin so, as it
/// does to OLM: `1.2` is any 1.2, and not also 1.3 as it would be to Cargo, whose syntax this is
/// otherwise.
fn version_range(text: &str) -> Result<semver::VersionReq, semver::Error> {
    let exact = |part: &str| {
        let is_bare = part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if is_bare { format!("={part}") } else { part.to_owned() }
    };
    let parts: Vec<String> = text.split(',').map(|part| exact(part.trim())).collect();
    semver::VersionReq::parse(&parts.join(", "))
}

//! `[[chart]]`: a chart from the user's own manifests, as a bundle with another source.

use super::after::StepTable;
use super::bundle::check_overlays;
use super::lints::Levels;
use super::operands::{Namespaces, ScopeMap};
use super::overlay::OverlayTable;
use super::ready::ChartGate;
use super::*;
use crate::declare::InChart;
use crate::serving::maas::MaasPlatform;

table! {
    /// A chart from your own manifests: a directory, files, the output of `kubectl kustomize`, or
    /// vendored files. It is built like the chart of a bundle, and other tables can name it in
    /// `depends-on`.
    pub struct ChartTable at "[[chart]]", checked by chart as BundleConfig {
        /// Name of the chart: lower-case letters, digits and dashes, at most 53 characters.
        name: Name;
        /// Version of the chart (semantic versioning). Raise it with every change of the manifests.
        chart_version: ChartVersion;
        /// Its objects.
        source: Flat<Manifests>;
        /// Suggested namespace in the chart's README and NOTES; manifests without a namespace, or
        /// with this one, are installed in the release namespace. Default: the name of the chart.
        namespace: Option<Namespace>;
        /// Settings of all charts.
        settings: Flat<Settings>;
        /// Names of bundles and charts of this configuration that must be installed before this one.
        depends_on: Vec<Listed>;
        ready: Vec<InChart<ChartGate>>;
        after: Vec<InChart<StepTable>>;
        overlay: Vec<InChart<OverlayTable>>;
        switch: Vec<InChart<Switch>>;
        patch: Vec<InChart<PatchConfig>>;
        /// Scope of kinds, as `"GROUP/KIND" = "Namespaced"` or `"Cluster"`, for manifests with kinds
        /// that are neither built into Kubernetes nor defined by a CRD of the chart.
        scopes: ScopeMap = Default::default();
        /// Further namespaces of the manifests, by a key of your choice: each becomes a value
        /// `namespaces.KEY`, is created by the chart, and gets the pull secret if values create it.
        namespaces: Namespaces = Default::default();
        /// Levels of diagnostics about this chart by code, instead of those of `[lints]`: `allow` or
        /// `deny`.
        lints: Levels = Default::default();
    }
}

table! {
    /// The files of a `[[chart]]`.
    pub struct Manifests at "[[chart]]" {
        /// Files, and directories whose .yaml, .yml and .json files are read with those of all
        /// subdirectories, relative to bundles.toml. A chart has at least one of `manifests`,
        /// `[[chart.vendored]]` and `[chart.maas]`.
        paths as "manifests": Vec<Placed<Filled>>;
        vendored: Vec<VendoredFile>;
        /// The platform of models as a service (MaaS): Gateway, database and tenant, in one chart or
        /// in several. Models with `maas` are checked against it.
        maas: Option<MaasPlatform>;
        /// All paths, separated by commas.
        text: Derived<String>;
        /// The table's header in the file.
        span: Header;
    }
}

table! {
    /// A file of another project, such as a release manifest, that is committed unchanged and
    /// verified by its digest in every build.
    pub struct VendoredFile at "[[chart.vendored]]" {
        /// The file, relative to bundles.toml.
        path: Placed<Filled>;
        /// Expected digest of the file: `sha256:` and 64 hexadecimal digits.
        digest: Placed<Digest>;
        /// Address that the file was downloaded from, for the chart's README and for error messages.
        /// Builds never download it.
        url: Option<DownloadAddress>;
    }
}

/// Returns the chart of a table as a bundle, completed from `[defaults]`.
fn chart(
    mut table: ChartTable,
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
) -> Option<BundleConfig> {
    let source = &mut table.source;
    if !["manifests", "vendored", "maas"].iter().any(|key| fields.has(key))
        || fields.has("manifests") && source.paths.is_empty() && source.vendored.is_empty()
    {
        let message = "the chart has no manifests";
        let hint =
            "add `manifests = [\"DIRECTORY\"]`, or a `[[chart.vendored]]` file with its digest";
        reader.error(Code::MissingKey, &fields.header, message, hint);
        return None;
    }

    let suggested = table.namespace.as_ref().unwrap_or(&table.name);
    source.maas.iter_mut().for_each(|platform| platform.set_namespace(suggested));
    let shown = source.paths.iter().map(|path| path.text.as_str());
    let shown = shown.chain(source.vendored.iter().map(|file| file.path.text.as_str()));
    source.text = shown.chain(source.maas.as_ref().map(|_| "maas")).collect::<Vec<_>>().join(", ");
    table.settings.complete(&reader.defaults.settings);
    let mut chart = BundleConfig {
        namespace: table.namespace,
        settings: table.settings,
        chart_version: Some(table.chart_version),
        depends_on: table.depends_on,
        gates: table.ready,
        after: table.after,
        overlays: table.overlay,
        switches: table.switch,
        patches: table.patch,
        scopes: table.scopes,
        operands: Operands { namespaces: table.namespaces, accounts: Vec::new() },
        lints: table.lints,
        ..BundleConfig::new(&table.name, Source::Manifests(Box::new(table.source)))
    };
    check_overlays(&mut chart, reader);
    Some(chart)
}

patterns! {
    /// The digest of a file.
    Digest = "^sha256:[0-9a-f]{64}$",
        "`digest` is not `sha256:` and 64 lower-case hexadecimal digits",
        "run `sha256sum FILE`, and write `sha256:` in front of its first word";
    /// The address that a file was downloaded from: a part of a command that people paste into a shell.
    DownloadAddress = "^https://[-A-Za-z0-9._~:/?#\\[\\]@!*+,;=%&]+$",
        "`url` is not an HTTPS address",
        "write an address that begins with `https://`, without spaces and quotes";
}

//! `[[chart]]`: keys of charts from the user's own manifests.

use super::{
    BUNDLE_LINTS, CRDS, CRDS_DOC, DEPENDS_ON, EXCLUDE, INCLUDE, Key, Kind, LINT_LEVEL, MAINTAINER,
    NAME, NAMESPACE, OVERLAY_DOC, OVERLAY_KEYS, PATCH_DOC, PATCH_KEYS, PROVIDED, PROVIDED_ENTRY,
    PULL_SECRET, SECRET, SEMANTIC_VERSION, Table, after::CHART_AFTER, joined, optional,
    ready::CHART_READY, required, switch::CHART_SWITCH,
};
use crate::serving::maas::keys::PLATFORM;
use crate::toggles::OF_CHARTS;

/// Pattern of `digest`.
const DIGEST: &str = "^sha256:[0-9a-f]{64}$";

/// `[[chart.vendored]]`
pub static VENDORED: Table = Table {
    header: "[[chart.vendored]]",
    doc: "A file of another project, such as a release manifest, that is committed unchanged and \
        verified by its digest in every build.",
    exactly_one_of: &[],
    keys: &[
        required("path", Kind::String(None), "The file, relative to bundles.toml."),
        required(
            "digest",
            Kind::String(Some(DIGEST)),
            "Expected digest of the file: `sha256:` and 64 hexadecimal digits.",
        ),
        optional(
            "url",
            Kind::String(Some("^https://[^\\s]+$")),
            "Address that the file was downloaded from, for the chart's README and for error \
                messages. Builds never download it.",
        ),
    ],
};

/// `[[chart.overlay]]`
static OVERLAY: Table = Table {
    header: "[[chart.overlay]]",
    doc: OVERLAY_DOC,
    exactly_one_of: &["path", "inline"],
    keys: OVERLAY_KEYS,
};

/// `[[chart.patch]]`
static PATCH: Table =
    Table { header: "[[chart.patch]]", doc: PATCH_DOC, exactly_one_of: &[], keys: PATCH_KEYS };

/// `[[chart]]`
pub static CHART: Table = Table {
    header: "[[chart]]",
    doc: "A chart from your own manifests: a directory, files, the output of `kubectl kustomize`, \
        or vendored files. It is built like the chart of a bundle, and other tables can name it \
        in `depends-on`.",
    exactly_one_of: &[],
    keys: joined!(
        &[
            required(
                "name",
                Kind::String(Some(NAME)),
                "Name of the chart: lower-case letters, digits and dashes, at most 53 characters.",
            ),
            required(
                "chart-version",
                Kind::String(Some(SEMANTIC_VERSION)),
                "Version of the chart (semantic versioning). Raise it with every change of the \
                manifests.",
            ),
            optional(
                "manifests",
                Kind::Strings(None),
                "Files, and directories whose .yaml, .yml and .json files are read with those of all \
                subdirectories, relative to bundles.toml. A chart has at least one of `manifests`, \
                `[[chart.vendored]]` and `[chart.maas]`.",
            ),
            optional("vendored", Kind::Tables(&VENDORED), VENDORED.doc),
            optional("maas", Kind::Table(&PLATFORM), PLATFORM.doc),
            optional(
                "namespace",
                Kind::String(Some(NAMESPACE)),
                "Suggested namespace in the chart's README and NOTES; manifests without a namespace, \
                or with this one, are installed in the release namespace. Default: the name of \
                the chart.",
            ),
            optional("include", Kind::Filters, INCLUDE),
            optional("exclude", Kind::Filters, EXCLUDE),
            optional("pull-secret", Kind::StringOrFalse(SECRET), PULL_SECRET),
            optional("crds", Kind::OneOf(CRDS), CRDS_DOC),
        ],
        OF_CHARTS,
        &[
            optional("maintainers", Kind::Tables(&MAINTAINER), MAINTAINER.doc),
            optional("depends-on", Kind::Strings(Some(NAME)), DEPENDS_ON),
            optional("ready", Kind::Tables(&CHART_READY), CHART_READY.doc),
            optional("after", Kind::Tables(&CHART_AFTER), CHART_AFTER.doc),
            optional("provided", Kind::Strings(Some(PROVIDED_ENTRY)), PROVIDED),
            optional("overlay", Kind::Tables(&OVERLAY), OVERLAY_DOC),
            optional("switch", Kind::Tables(&CHART_SWITCH), CHART_SWITCH.doc),
            optional("patch", Kind::Tables(&PATCH), PATCH_DOC),
            optional(
                "scopes",
                Kind::StringMap("^(Cluster|Namespaced)$"),
                "Scope of kinds, as `\"GROUP/KIND\" = \"Namespaced\"` or `\"Cluster\"`, for manifests \
                with kinds that are neither built into Kubernetes nor defined by a CRD of the \
                chart.",
            ),
            optional(
                "namespaces",
                Kind::StringMap(NAMESPACE),
                "Further namespaces of the manifests, by a key of your choice: each becomes a value \
                `namespaces.KEY`, is created by the chart, and gets the pull secret if values \
                create it.",
            ),
            optional("lints", Kind::StringMap(LINT_LEVEL), BUNDLE_LINTS),
        ]
    ),
};

//! The keys of `[deploy]`.

use super::{Kind, NAMESPACE, SECRET, Table, optional, required};

/// Values of `style`, the default first.
pub(in crate::config) const STYLES: &[&str] = &["application-set", "app-of-apps"];

/// A folder inside of another one.
const FOLDER: &str = "^[^/\\\\\\s][^\\\\\\s]*$";

/// `[[deploy.argocd.ignore-differences]]`
pub static IGNORE_DIFFERENCES: Table = Table {
    header: "[[deploy.argocd.ignore-differences]]",
    doc: "Fields that something in the cluster writes and that are no difference to Git. Those \
        that cert-manager, service-ca and operators fill with an authority are always ignored.",
    exactly_one_of: &[],
    keys: &[
        optional("group", Kind::String(Some(SECRET)), "API group. Default: the core group."),
        required("kind", Kind::String(Some("^[A-Z][A-Za-z0-9]*$")), "Kind of the objects."),
        optional("name", Kind::String(Some(SECRET)), "Name of the object. Default: all."),
        optional("namespace", Kind::String(Some(NAMESPACE)), "Namespace. Default: all."),
        optional(
            "json-pointers",
            Kind::Strings(Some("^/")),
            "Fields as JSON pointers (RFC 6901), for example `/spec/replicas`.",
        ),
        optional(
            "jq-paths",
            Kind::Strings(None),
            "Fields as jq paths, for example `.webhooks[]?.failurePolicy`.",
        ),
    ],
};

/// `[deploy.argocd]`
pub static ARGOCD: Table = Table {
    header: "[deploy.argocd]",
    doc: "Writes objects of Argo CD that install the charts in the order of `depends-on`.",
    exactly_one_of: &[],
    keys: &[
        required(
            "repo",
            Kind::String(None),
            "URL of the Git repository with the charts, as Argo CD reads it.",
        ),
        optional("revision", Kind::String(None), "Branch, tag or commit. Default: `HEAD`."),
        optional(
            "style",
            Kind::OneOf(STYLES),
            "`application-set` (default): one ApplicationSet, whose steps need progressive syncs \
             switched on. `app-of-apps`: an Application of Applications with sync waves, which \
             need the health check of Applications.",
        ),
        optional(
            "name",
            Kind::String(Some(NAMESPACE)),
            "Name of the ApplicationSet, or of the Application of Applications. Default: \
             `platform`.",
        ),
        optional("project", Kind::String(Some(SECRET)), "Project in Argo CD. Default: `default`."),
        optional(
            "destination",
            Kind::String(None),
            "Cluster: its URL, or its name in Argo CD. Default: the cluster that Argo CD runs in.",
        ),
        optional(
            "namespace",
            Kind::String(Some(NAMESPACE)),
            "Namespace of Argo CD's own objects. Default: `argocd`.",
        ),
        optional(
            "prune",
            Kind::Boolean,
            "Whether objects that are no longer in a chart are deleted, CustomResourceDefinitions \
             and all that is of their kind among them. Default: false.",
        ),
        optional(
            "dir",
            Kind::String(Some(FOLDER)),
            "Folder of the objects in the output folder. Default: `argocd`.",
        ),
        optional("ignore-differences", Kind::Tables(&IGNORE_DIFFERENCES), IGNORE_DIFFERENCES.doc),
    ],
};

/// `[deploy.flux]`
pub static FLUX: Table = Table {
    header: "[deploy.flux]",
    doc: "Writes a HelmRelease of Flux for each chart, in the order of `depends-on`.",
    exactly_one_of: &[],
    keys: &[
        required(
            "source-name",
            Kind::String(Some(SECRET)),
            "Name of the GitRepository with the charts, which must exist.",
        ),
        optional(
            "source-namespace",
            Kind::String(Some(NAMESPACE)),
            "Its namespace. Default: that of the HelmReleases.",
        ),
        optional(
            "namespace",
            Kind::String(Some(NAMESPACE)),
            "Namespace of the HelmReleases. Default: `flux-system`.",
        ),
        optional(
            "interval",
            Kind::String(Some(super::super::deploy::DURATION)),
            "How often Flux looks for changes, for example `1h`. Default: `10m`.",
        ),
        optional(
            "timeout",
            Kind::String(Some(super::super::deploy::DURATION)),
            "How long a release may take to become ready. Default: `10m`.",
        ),
        optional(
            "dir",
            Kind::String(Some(FOLDER)),
            "Folder of the objects in the output folder. Default: `flux`.",
        ),
    ],
};

/// `[deploy]`
pub static DEPLOY: Table = Table {
    header: "[deploy]",
    doc: "What installs the charts, in the order of `depends-on`: files beside the charts.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "helmfile",
            Kind::Switch("^[^/\\\\\\s]+\\.yaml(\\.gotmpl)?$"),
            "Whether a file for helmfile is written: `true` for `helmfile.yaml`, or its name. \
             Default: false.",
        ),
        optional(
            "server-side",
            Kind::Boolean,
            "Whether helmfile has Helm apply on the server and win conflicts; needs Helm 4, and a \
             helmfile that knows `serverSide`. Default: what Helm does by itself.",
        )
        .with(&["helmfile"]),
        optional(
            "values",
            Kind::String(Some(FOLDER)),
            "Folder, relative to this file, of values for the charts: NAME.yaml is used where it \
             exists. Default: none.",
        ),
        optional(
            "repository-path",
            Kind::String(Some(FOLDER)),
            "Folder of this file in its Git repository, for Argo CD and Flux. Default: the \
             repository's own.",
        ),
        optional("argocd", Kind::Table(&ARGOCD), ARGOCD.doc),
        optional("flux", Kind::Table(&FLUX), FLUX.doc),
    ],
};

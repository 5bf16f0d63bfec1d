//! The keys of `[deploy]`.

use super::{Kind, NAME, NAMESPACE, SECRET, Table, optional, required};

/// Values of `style`, the default first.
pub(crate) const STYLES: &[&str] = &["application-set", "app-of-apps"];

/// A relative subdirectory.
const FOLDER: &str = "^[^/\\\\\\s][^\\\\\\s]*$";

/// `[[deploy.argocd.ignore-differences]]`
pub static IGNORE_DIFFERENCES: Table = Table {
    header: "[[deploy.argocd.ignore-differences]]",
    doc: "Fields that something in the cluster writes and that Argo CD ignores when comparing. CA \
        bundles injected by cert-manager, service-ca and operators are always ignored.",
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

/// `[[deploy.argocd.application]]`
pub static APPLICATION: Table = Table {
    header: "[[deploy.argocd.application]]",
    doc: "A chart with its own Application and settings: it is neither in the ApplicationSet nor \
        discovered.",
    exactly_one_of: &[],
    keys: &[
        required("chart", Kind::String(Some(NAME)), "Name of the chart."),
        optional(
            "prune",
            Kind::Boolean,
            "Prune objects that are no longer in the chart. Default: false.",
        ),
        optional(
            "ignore-differences",
            Kind::Tables(&IGNORE_DIFFERENCES),
            "Fields to ignore in this Application, besides those for all.",
        ),
    ],
};

/// `[deploy.argocd]`
pub static ARGOCD: Table = Table {
    header: "[deploy.argocd]",
    doc: "Generates Argo CD objects that install the charts in the order of `depends-on`.",
    exactly_one_of: &[],
    keys: &[
        required(
            "repo",
            Kind::String(None),
            "URL of the Git repository with the charts, as used by Argo CD.",
        ),
        optional("revision", Kind::String(None), "Branch, tag or commit. Default: `HEAD`."),
        optional(
            "style",
            Kind::OneOf(STYLES),
            "`application-set` (default): one ApplicationSet, whose steps require progressive \
                syncs to be enabled. `app-of-apps`: an Application of Applications with sync \
                waves, which require a health check for Applications.",
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
            "Prune objects that are no longer in a chart, including CustomResourceDefinitions with \
                all their custom resources. Default: false.",
        ),
        optional(
            "dir",
            Kind::String(Some(FOLDER)),
            "Directory for the objects in the output directory. Default: `argocd`.",
        ),
        optional("ignore-differences", Kind::Tables(&IGNORE_DIFFERENCES), IGNORE_DIFFERENCES.doc),
        optional(
            "discover",
            Kind::String(Some(NAMESPACE)),
            "Namespace of models that Argo CD discovers: an ApplicationSet finds their charts by a \
                Git directory generator, so that a new model changes no other file. All other \
                charts are listed. Requires `layout = \"flat\"`. Default: all charts are listed.",
        ),
        optional("application", Kind::Tables(&APPLICATION), APPLICATION.doc),
    ],
};

/// `[deploy.flux]`
pub static FLUX: Table = Table {
    header: "[deploy.flux]",
    doc: "Generates a Flux HelmRelease for each chart, in the order of `depends-on`.",
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
            "Namespace of the GitRepository. Default: the namespace of the HelmReleases.",
        ),
        optional(
            "namespace",
            Kind::String(Some(NAMESPACE)),
            "Namespace of the HelmReleases. Default: `flux-system`.",
        ),
        optional(
            "interval",
            Kind::String(Some(super::super::deploy::DURATION)),
            "Reconcile interval, for example `1h`. Default: `10m`.",
        ),
        optional(
            "timeout",
            Kind::String(Some(super::super::deploy::DURATION)),
            "Timeout for a release to become ready. Default: `10m`.",
        ),
        optional(
            "dir",
            Kind::String(Some(FOLDER)),
            "Directory for the objects in the output directory. Default: `flux`.",
        ),
    ],
};

/// `[deploy]`
pub static DEPLOY: Table = Table {
    header: "[deploy]",
    doc: "Deployment with helmfile, Argo CD or Flux: generates files next to the charts that \
        install them in the order of `depends-on`.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "helmfile",
            Kind::Switch("^[^/\\\\\\s]+\\.yaml(\\.gotmpl)?$"),
            "Generate a helmfile: `true` for `helmfile.yaml`, or a file name. Default: false.",
        ),
        optional(
            "server-side",
            Kind::Boolean,
            "Server-side apply with forced conflicts in the helmfile; requires Helm 4 and a \
                helmfile version that supports `serverSide`. Default: Helm's default.",
        )
        .with(&["helmfile"]),
        optional(
            "values",
            Kind::String(Some(FOLDER)),
            "Directory with values files for the charts, relative to this file: NAME.yaml is used \
                if it exists. Default: none.",
        ),
        optional(
            "profile",
            Kind::String(Some(NAME)),
            "Profile of the values, for example `tier1-minimal`: NAME.PROFILE.yaml in `values` is \
                used after NAME.yaml, if it exists. Default: none.",
        )
        .with(&["values"]),
        optional(
            "repository-path",
            Kind::String(Some(FOLDER)),
            "Directory of this file in its Git repository, for Argo CD and Flux. Default: the root \
                of the repository.",
        ),
        optional("argocd", Kind::Table(&ARGOCD), ARGOCD.doc),
        optional("flux", Kind::Table(&FLUX), FLUX.doc),
    ],
};

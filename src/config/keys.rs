//! Every key of `bundles.toml`, as data: the reader, the JSON schema and the reference read it.

mod after;
mod chart;
mod deploy;
mod ready;
mod switch;
mod verify;

pub use after::AFTER;
pub use chart::{CHART, VENDORED};
pub use deploy::{APPLICATION, ARGOCD, DEPLOY, FLUX, IGNORE_DIFFERENCES};
pub use ready::READY;
pub use switch::SWITCH;
pub use verify::VERIFY;

use super::toggles::{OF_CHARTS, OF_OPERATORS};
use crate::serving::keys::SERVING;

/// The type of a key's value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `true` or `false`.
    Boolean,
    /// A whole number between these two, both included.
    Integer(u32, u32),
    /// A string. If there is a pattern (a regular expression valid both in ECMA 262 and here), the
    /// value must match it. Editors use the pattern; the reader gives better messages.
    String(Option<&'static str>),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A list of strings, each with this pattern.
    Strings(Option<&'static str>),
    /// A list of jq filters.
    Filters,
    /// A string with this pattern, or `false`.
    StringOrFalse(&'static str),
    /// `true` or `false`, or a string with this pattern.
    Switch(&'static str),
    /// `"all"`, `"own"` or a list of namespaces.
    Watch,
    /// A table of whatever the Kubernetes API has there.
    Object,
    /// A string, or such a table.
    TextOrObject,
    /// A table with user-defined keys and string values, each with this pattern.
    StringMap(&'static str),
    /// A table of lists of strings, each with this pattern.
    StringsMap(&'static str),
    /// A list of such tables.
    Objects,
    /// A table.
    Table(&'static Table),
    /// A list of tables, written `[[name]]`.
    Tables(&'static Table),
}

impl Kind {
    /// Describes the expected value, for messages: "must be …".
    pub fn expected(self) -> &'static str {
        match self {
            Kind::Boolean => "a boolean",
            Kind::Integer(..) => "an integer",
            Kind::String(_) | Kind::OneOf(_) => "a string",
            Kind::Strings(_) => "a list of strings",
            Kind::Filters => "a list of jq filters, which are strings",
            Kind::StringOrFalse(_) => "a string or false",
            Kind::Switch(_) => "a boolean or a string",
            Kind::Watch => "\"all\", \"own\" or a list of namespaces",
            Kind::Object | Kind::Table(_) => "a table",
            Kind::TextOrObject => "a YAML string or a table",
            Kind::StringMap(_) => "a table of strings",
            Kind::StringsMap(_) => "a table of lists of strings",
            Kind::Objects | Kind::Tables(_) => "a list of tables",
        }
    }
}

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name.
    pub name: &'static str,
    /// The type of the value.
    pub kind: Kind,
    /// True if the table is invalid without the key.
    pub required: bool,
    /// The description: one or two sentences, and the default.
    pub doc: &'static str,
    /// Keys of the same table that must be there with it.
    pub needs: &'static [&'static str],
}

impl Key {
    pub(crate) const fn with(mut self, needs: &'static [&'static str]) -> Key {
        self.needs = needs;
        self
    }
}

/// A table of the file.
#[derive(Debug)]
pub struct Table {
    /// The header as written in the file, for example `[[bundle]]`; empty for the top level.
    pub header: &'static str,
    /// The description.
    pub doc: &'static str,
    /// The keys, in the order of the documentation.
    pub keys: &'static [Key],
    /// Keys of which there must be exactly one.
    pub exactly_one_of: &'static [&'static str],
}

impl Table {
    /// Returns the key of this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Returns this table and those below it that have a key of this name, which is no table itself.
    pub(super) fn with_key(&'static self, name: &str) -> Vec<&'static Table> {
        let is_table = |key: &Key| matches!(key.kind, Kind::Table(_) | Kind::Tables(_));
        let mut found: Vec<&Table> = Vec::new();
        for table in self.all() {
            let has_key = table.key(name).is_some_and(|key| !is_table(key));
            if has_key && !found.iter().any(|other| other.header == table.header) {
                found.push(table);
            }
        }
        found
    }

    /// Returns this table and those below it, as often as keys lead to them.
    pub(super) fn all(&'static self) -> Vec<&'static Table> {
        let inner = self.keys.iter().filter_map(|key| match key.kind {
            Kind::Table(inner) | Kind::Tables(inner) => Some(inner),
            _ => None,
        });
        std::iter::once(self).chain(inner.flat_map(Table::all)).collect()
    }

    /// Names the place of a key, for messages: "in `[[bundle]]`".
    pub(super) fn place(&self) -> String {
        match self.header {
            "" => "at the top of the file".to_owned(),
            header => format!("in `{header}`"),
        }
    }
}

pub(crate) const fn optional(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, required: false, doc, needs: &[] }
}

pub(crate) const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, required: true, doc, needs: &[] }
}

/// Joins lists of keys of a table.
pub(super) const fn join<const N: usize>(parts: &[&[Key]]) -> [Key; N] {
    let mut joined = [optional("", Kind::Boolean, ""); N];
    let (mut part, mut filled) = (0, 0);
    // Constant functions have no iterators.
    while part < parts.len() {
        let mut index = 0;
        while index < parts[part].len() {
            joined[filled] = parts[part][index];
            (filled, index) = (filled + 1, index + 1);
        }
        part += 1;
    }
    joined
}

/// Joins lists of keys of a table to one.
macro_rules! joined {
    ($($part:expr),+ $(,)?) => {{
        const PARTS: &[&[Key]] = &[$($part),+];
        const COUNT: usize = 0 $(+ { const PART: &[Key] = $part; PART.len() })+;
        const KEYS: [Key; COUNT] = $crate::keys::join(PARTS);
        &KEYS
    }};
}
use joined;

/// Values of `crds`, the default first.
pub(super) const CRDS: &[&str] = &["templates", "separate", "subchart", "crds"];
/// Values of `certificates`, the default first.
pub const CERTIFICATES: &[&str] =
    &["cert-manager", "service-ca", "helm", "existing-secret", "none"];
/// Values of `layout`, the default first.
pub(super) const LAYOUTS: &[&str] = &["versioned", "flat"];
/// The prefix of a mirror's `to` for image layouts.
pub(super) const OCI_LAYOUT: &str = "oci-layout:";

/// Longest name of a bundle: Helm's limit for the name of a release, which is often the chart's.
pub(super) const NAME_LIMIT: usize = 53;
/// Longest name of a namespace: that of a DNS-1123 label (RFC 1123, section 2.1).
pub(crate) const NAMESPACE_LIMIT: usize = 63;
/// Longest name of a Secret: that of a DNS-1123 subdomain.
pub(super) const SECRET_LIMIT: usize = 253;

pub(crate) const NAME: &str = "^[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?$";
pub(crate) const NAMESPACE: &str = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";
pub(crate) const SECRET: &str =
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// Pattern of the namespaces of `watch`.
pub(super) const WATCHED_NAMESPACE: &str = NAMESPACE;

const SEMANTIC_VERSION: &str =
    "^(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?(\\+[0-9A-Za-z.-]+)?$";

const INCLUDE: &str = "jq filters: if set, only objects that match one of them are kept. A filter \
    is a condition on one object, such as `.kind == \"Role\"`. A bundle's own filters are added \
    to those of `[defaults]`.";
const EXCLUDE: &str = "jq filters: objects that match one of them are removed, even if they match \
    `include`, for example `.kind == \"Route\"`. A bundle's own filters are added to those of \
    `[defaults]`.";
const CRDS_DOC: &str = "Placement of CRDs. `templates`: templates of a subchart, upgraded by `helm \
    upgrade` and kept by `helm uninstall`. `separate`: templates of a separate chart, NAME-crds, \
    to install and upgrade first. `subchart` (charts/crds/crds) and `crds`: Helm's crds/ \
    directories, to create and replace with kubectl. Default: `templates`, or `separate` if the \
    chart has custom resources of its own CRDs.";
const PULL_SECRET: &str = "Default name of the image pull secret for ServiceAccounts and pods; \
    `false` disables the one of `[defaults]`.";
const DEPENDS_ON: &str =
    "Names of bundles and charts of this configuration that must be installed before this one.";
/// `maintainers`
pub static MAINTAINER: Table = Table {
    header: "maintainers",
    doc: "Maintainers of the charts, as in Chart.yaml; a list of a bundle replaces that of \
        `[defaults]`. Default: none.",
    exactly_one_of: &[],
    keys: &[
        required(
            "name",
            Kind::String(Some(MAINTAINER_TEXT)),
            "Name of the person or team. chart-testing expects the name of a GitHub account.",
        ),
        optional("email", Kind::String(Some("^[^@\\s]+@[^@\\s]+$")), "Email address."),
        optional("url", Kind::String(Some("^https?://[^\\s]+$")), "Web page of the maintainer."),
    ],
};
/// Some text that is not only blanks.
const MAINTAINER_TEXT: &str = "[^\\s]";

const WATCH_DOC: &str = "Namespaces that the operator watches: `\"all\"`, `\"own\"`, or a list of \
    names. Default: from the bundle's install modes, all namespaces if supported.";

const PROVIDED: &str = "Dependencies that the cluster already provides: package names, and APIs as \
    `GROUP/VERSION/KIND`. A bundle's own entries are added to those of `[defaults]`.";
const PROVIDED_ENTRY: &str = "^[^/\\s]+$|^[^/\\s]*/[^/\\s]+/[^/\\s]+$";
const CERTIFICATES_DOC: &str = "Source of the certificates for webhooks and APIServices. \
    `cert-manager` (default): a Certificate with an Issuer in the release. `service-ca`: \
    OpenShift service-ca. `helm`: generated on install and kept on upgrade; not for `helm \
    template` or Argo CD, which would generate new ones each time. `existing-secret`: an existing \
    Secret set in values. `none`: managed by the operator itself.";
/// `issuer`
pub static ISSUER: Table = Table {
    header: "issuer",
    doc: "The cert-manager issuer for certificates, instead of a self-signed issuer in the \
        release. It must write its CA to the Secret.",
    exactly_one_of: &[],
    keys: &[
        required(
            "name",
            Kind::String(Some(SECRET)),
            "Name of the issuer, which must exist before the chart is installed.",
        ),
        optional(
            "kind",
            Kind::String(Some("^[A-Z][A-Za-z0-9]*$")),
            "Kind of the issuer: `Issuer` (default, in the release namespace), `ClusterIssuer`, or \
                the kind of an external issuer.",
        ),
        optional(
            "group",
            Kind::String(Some(SECRET)),
            "API group of the issuer. Default: cert-manager's.",
        ),
    ],
};

/// `proxy`
pub static PROXY: Table = Table {
    header: "proxy",
    doc: "Proxy settings for all containers, as environment variables; `env` takes precedence.",
    exactly_one_of: &[],
    keys: &[
        optional("http", Kind::String(None), "Value of HTTP_PROXY."),
        optional("https", Kind::String(None), "Value of HTTPS_PROXY."),
        optional("no-proxy", Kind::String(None), "Value of NO_PROXY."),
    ],
};

/// `[bundle.config]`
pub static PODS: Table = Table {
    header: "[bundle.config]",
    doc: "Overrides for the operator's Deployments, as `spec.config` of an OLM Subscription: the \
        keys are those of the Kubernetes API. Init containers are not changed.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "env",
            Kind::Objects,
            "Environment variables for all containers; replaces variables with the same name.",
        ),
        optional(
            "envFrom",
            Kind::Objects,
            "Sources of environment variables (envFrom), added to \
            all containers.",
        ),
        optional("volumes", Kind::Objects, "Volumes; replaces volumes with the same name."),
        optional(
            "volumeMounts",
            Kind::Objects,
            "Volume mounts for all containers; replaces mounts of the same volume.",
        ),
        optional("tolerations", Kind::Objects, "Tolerations, added to those of the pods."),
        optional(
            "resources",
            Kind::Object,
            "Resource requests and limits; replaces those of all \
            containers.",
        ),
        optional("nodeSelector", Kind::Object, "Node selector; replaces that of the pods."),
        optional(
            "affinity",
            Kind::Object,
            "Affinity: each of its three parts replaces the part of the pods, or removes it if \
                empty; an empty table removes the whole affinity.",
        ),
        optional(
            "annotations",
            Kind::Object,
            "Annotations for Deployments and pods; existing annotations are kept.",
        ),
        optional("proxy", Kind::Table(&PROXY), PROXY.doc),
    ],
};

/// `[[bundle.overlay]]`
pub static OVERLAY: Table = Table {
    header: "[[bundle.overlay]]",
    doc: OVERLAY_DOC,
    exactly_one_of: &["path", "inline"],
    keys: OVERLAY_KEYS,
};

const OVERLAY_DOC: &str = "Overlays: your own manifests. They are parsed like the bundle's \
    manifests and validated against its CRDs; filters do not apply to them.";
const OVERLAY_KEYS: &[Key] = &[
    optional(
        "path",
        Kind::String(None),
        "A file, or a directory whose .yaml, .yml and .json files are read in alphabetical \
                order, relative to this file.",
    ),
    optional(
        "inline",
        Kind::TextOrObject,
        "Inline objects: a string of YAML documents, or one object as a table.",
    ),
    optional(
        "phase",
        Kind::OneOf(super::overlay::PHASES),
        "Installation phase. `with` (default): with the operator. `before`: before the \
                operator; Jobs must complete. `operand`: after the operator is ready, as a \
                separate chart NAME-operands.",
    ),
    optional(
        "switch",
        Kind::String(Some(NAME)),
        "Name of a switch (`[[bundle.switch]]`), with `phase = \"operand\"`: objects of this \
                overlay are added when it is on, and replace those of the same name.",
    ),
];

/// `[[bundle.patch]]`
pub static PATCH: Table =
    Table { header: "[[bundle.patch]]", doc: PATCH_DOC, exactly_one_of: &[], keys: PATCH_KEYS };

const PATCH_DOC: &str =
    "A change to the bundle's objects. Patches are applied in order, after filters.";
pub(crate) const PATCH_KEYS: &[Key] = &[
    required("match", Kind::String(None), "A jq filter: objects that match it are patched."),
    required(
        "patch",
        Kind::String(None),
        "A jq program that returns the changed object, for example \
                `.spec.template.spec.priorityClassName = \"system-cluster-critical\"`.",
    ),
];

/// The key in `[bundle.service-accounts]` for the release namespace.
pub(super) const RELEASE: &str = "release";

/// `[[bundle.adopt]]`
pub static ADOPT: Table = Table {
    header: "[[bundle.adopt]]",
    doc: "A ServiceAccount of `[bundle.service-accounts]` that another Helm release adopts, for \
        example one that the operator installs itself.",
    exactly_one_of: &[],
    keys: &[
        required(
            "service-account",
            Kind::String(Some(SECRET)),
            "Name of the ServiceAccount, from the list `release`.",
        ),
        required("release", Kind::String(Some(SECRET)), "Name of the release that adopts it."),
        optional(
            "namespace",
            Kind::String(Some(NAMESPACE)),
            "Namespace of that release. Default: the namespace of this chart's release.",
        ),
    ],
};

const STUB_CRDS: &str = "Stub CRDs of other projects that the operator expects, by name. The chart \
    NAME-crds, which is installed first, creates those that are missing in the cluster: \
    `infrastructures.config.openshift.io`, `servicemonitors.monitoring.coreos.com`.";

const LINT_LEVEL: &str = "^(allow|deny)$";
const LINTS: &str = "Levels of diagnostics by code, for `build` and `lock`, for example \
    `run-as-user-missing = \"allow\"`. `allow`: do not report warnings and notes with this code. \
    `deny`: report them as errors, so that nothing is written. Errors stay errors.";
const BUNDLE_LINTS: &str = "Levels of diagnostics about this chart by code, instead of those of \
    `[lints]`: `allow` or `deny`.";

/// `[defaults]`
pub static DEFAULTS: Table = Table {
    header: "[defaults]",
    doc: "Defaults for all bundles and charts.",
    exactly_one_of: &[],
    keys: joined!(
        &[
            optional("include", Kind::Filters, INCLUDE),
            optional("exclude", Kind::Filters, EXCLUDE),
            optional(
                "pull-secret",
                Kind::StringOrFalse(SECRET),
                "Default name of the image pull secret for ServiceAccounts and pods. Without it, \
                charts use no pull secret unless set in values.",
            ),
            optional("crds", Kind::OneOf(CRDS), CRDS_DOC),
        ],
        OF_OPERATORS,
        OF_CHARTS,
        &[
            optional("maintainers", Kind::Tables(&MAINTAINER), MAINTAINER.doc),
            optional("watch", Kind::Watch, WATCH_DOC),
            optional("provided", Kind::Strings(Some(PROVIDED_ENTRY)), PROVIDED),
            optional("certificates", Kind::OneOf(CERTIFICATES), CERTIFICATES_DOC),
            optional("issuer", Kind::Table(&ISSUER), ISSUER.doc),
        ]
    ),
};

/// `[output]`
pub static OUTPUT: Table = Table {
    header: "[output]",
    doc: "Output directory settings.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "dir",
            Kind::String(None),
            "Directory for the charts, relative to this file; it must not contain this file. \
                Default: `out`.",
        ),
        optional(
            "layout",
            Kind::OneOf(LAYOUTS),
            "`versioned` (default): DIR/CHART/VERSION, keeps all versions. `flat`: DIR/CHART, one \
                version at a time.",
        ),
        optional(
            "keep",
            Kind::Integer(1, 1_000),
            "Number of versions of each chart, including the built one. A build removes earlier \
                versions above it, only directories that it wrote. Default: all versions are kept.",
        ),
    ],
};

/// `[[mirror]]`
pub static MIRROR: Table = Table {
    header: "[[mirror]]",
    doc: "A registry mirror. Image references in charts are not changed.",
    exactly_one_of: &[],
    keys: &[
        required(
            "from",
            Kind::String(Some("^[^/:@\\s][^@\\s]*[^/:@\\s]$")),
            "Prefix of the references that this mirror serves, up to a `/` or the end, for example \
                `registry.redhat.io`. The longest matching prefix is used first; of two equal \
                ones, the first in the file.",
        ),
        required(
            "to",
            Kind::String(Some("^[^\\s/].*$")),
            "Location of the mirror: `oci-layout:DIR`, an OCI image layout directory relative to \
                this file, or a prefix in another registry, for example \
                `registry.example.com/mirror`, to which the rest of the reference is appended.",
        ),
        optional(
            "fallback",
            Kind::Boolean,
            "Fall back to the next mirror with a matching `from`, and after the last one to the \
                registry itself, if this mirror does not have the image. Default: false.",
        ),
    ],
};

/// `[[registry]]`
pub static REGISTRY: Table = Table {
    header: "[[registry]]",
    doc: "Connection settings of a registry. Credentials are not configured here: they are read \
        from where `podman login` and `docker login` store them.",
    exactly_one_of: &[],
    keys: &[
        required(
            "host",
            Kind::String(Some("^[A-Za-z0-9.-]+(:[0-9]+)?$")),
            "Host of the registry, with the port if references have one.",
        ),
        optional(
            "ca",
            Kind::String(None),
            "PEM file, relative to this file, with CA certificates for the registry, in addition \
                to the system's.",
        ),
        optional(
            "plain-http",
            Kind::Boolean,
            "Connect over plain HTTP, which anyone on the network can read and change. Default: \
                false, except for registries on localhost.",
        ),
        optional(
            "auth-hosts",
            Kind::Strings(Some("^[A-Za-z0-9.-]+(:[0-9]+)?$")),
            "Other hosts that may receive the credentials of this registry, because its token \
                server is there. Default: none.",
        ),
    ],
};

/// `[network]`
pub static NETWORK: Table = Table {
    header: "[network]",
    doc: "Timeouts and retries for registries.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "retries",
            Kind::Integer(0, 20),
            "Number of retries after a temporary failure: a broken connection, or a response 429 \
                or 5xx. Default: 4.",
        ),
        optional(
            "timeout",
            Kind::Integer(1, 3600),
            "Timeout in seconds for a stalled or slow connection. Default: 30.",
        ),
        optional(
            "downloads",
            Kind::Integer(1, 64),
            "Maximum number of parallel downloads and other requests per registry. Default: 4.",
        ),
    ],
};

/// `[[ignore]]`
pub static IGNORE: Table = Table {
    header: "[[ignore]]",
    doc: "Changes that `diff`, and the reports written by `build`, ignore and count.",
    exactly_one_of: &[],
    keys: &[
        required(
            "path",
            Kind::String(None),
            "Object, field or both: `KIND/NAME`, `.spec.replicas`, \
                `Deployment/manager:.spec.replicas`. `*` matches any characters of a segment, \
                `**` any segments of a path.",
        ),
        required("reason", Kind::String(None), "Reason, shown in every report."),
    ],
};

/// `[[bundle]]`
pub static BUNDLE: Table = Table {
    header: "[[bundle]]",
    doc: "A bundle to compile into a chart.",
    exactly_one_of: &["image", "path", "catalog"],
    keys: joined!(
&[
        required(
            "name",
            Kind::String(Some(NAME)),
            "Name of the chart: lower-case letters, digits and dashes, at most 53 characters.",
        ),
        optional(
            "image",
            Kind::String(Some("^[^\\s:/][^\\s]*$")),
            "Reference of the bundle image, for example `registry.example.com/team/bundle:1.0`. A \
                bundle has exactly one of `image`, `path` and `catalog`.",
        ),
        optional(
            "path",
            Kind::String(None),
            "A bundle directory, an OCI image layout directory (with `:TAG` or `@DIGEST` if it \
                contains several images), a tar of either, or a Docker archive, relative to this \
                file.",
        ),
        optional(
            "catalog",
            Kind::String(Some("^[^\\s]+$")),
            "A file-based catalog that contains the bundle: the reference of a catalog image, or a \
                directory, a file or an OCI image layout directory relative to this file.",
        )
        .with(&["package"]),
        optional(
            "package",
            Kind::String(Some("^[^\\s]+$")),
            "Name of the operator's package: the package to look up in `catalog`, or the expected \
                package of `image` or `path`. Default for those: the package in bundles.lock.",
        ),
        optional(
            "channel",
            Kind::String(Some("^[^\\s]+$")),
            "Channel of the package to follow. Default: the package's default channel.",
        )
        .with(&["catalog"]),
        optional(
            "version",
            Kind::String(None),
            "Version of the operator in the channel: one version, such as `\"1.2.3\"`, or a range, \
                such as `\">=1.2, <2\"` or `\"1.2\"` for any 1.2, of which the highest is used. \
                Default: the head of the channel.",
        )
        .with(&["catalog"]),
        optional(
            "namespace",
            Kind::String(Some(NAMESPACE)),
            "Suggested namespace in the chart's README and NOTES; the chart itself uses the \
                release namespace. Default: the bundle's suggested namespace, else its name.",
        ),
        optional("watch", Kind::Watch, WATCH_DOC),
        optional("include", Kind::Filters, INCLUDE),
        optional("exclude", Kind::Filters, EXCLUDE),
        optional("pull-secret", Kind::StringOrFalse(SECRET), PULL_SECRET),
        optional("crds", Kind::OneOf(CRDS), CRDS_DOC),
],
OF_OPERATORS,
OF_CHARTS,
&[
        optional("maintainers", Kind::Tables(&MAINTAINER), MAINTAINER.doc),
        optional("certificates", Kind::OneOf(CERTIFICATES), CERTIFICATES_DOC),
        optional("issuer", Kind::Table(&ISSUER), ISSUER.doc),
        optional(
            "chart-version",
            Kind::String(Some(SEMANTIC_VERSION)),
            "Version of the chart (semantic versioning). Default: the version of the \
                ClusterServiceVersion.",
        ),
        optional("depends-on", Kind::Strings(Some(NAME)), DEPENDS_ON),
        optional("ready", Kind::Tables(&READY), READY.doc),
        optional("after", Kind::Tables(&AFTER), AFTER.doc),
        optional("provided", Kind::Strings(Some(PROVIDED_ENTRY)), PROVIDED),
        optional("config", Kind::Table(&PODS), PODS.doc),
        optional("overlay", Kind::Tables(&OVERLAY), OVERLAY.doc),
        optional("switch", Kind::Tables(&SWITCH), SWITCH.doc),
        optional("patch", Kind::Tables(&PATCH), PATCH.doc),
        optional(
            "scopes",
            Kind::StringMap("^(Cluster|Namespaced)$"),
            "Scope of kinds, as `\"GROUP/KIND\" = \"Namespaced\"` or `\"Cluster\"`, for overlays \
                with kinds that are neither built into Kubernetes nor defined by a CRD of the \
                bundle.",
        ),
        optional(
            "namespaces",
            Kind::StringMap(NAMESPACE),
            "Namespaces of the operator's operands, by a key of your choice: each becomes a value \
                `namespaces.KEY`, is created by the chart, and gets the pull secret if values \
                create it.",
        ),
        optional(
            "service-accounts",
            Kind::StringsMap(SECRET),
            "ServiceAccounts that are pre-created for the operator's operands, with the pull \
                secret: lists by key of `[bundle.namespaces]`, or `release` for the release \
                namespace.",
        ),
        optional("adopt", Kind::Tables(&ADOPT), ADOPT.doc),
        optional("stub-crds", Kind::Strings(Some(SECRET)), STUB_CRDS),
        optional("lints", Kind::StringMap(LINT_LEVEL), BUNDLE_LINTS),
]
),
};

const INCLUDE_FILES: &str = "Files with more `[[bundle]]`, `[[chart]]` and `[[serving]]` tables, \
    relative to this file: paths, in which `*` and `?` match parts of a name, such as \
    `\"models/*.toml\"`. They are read in alphabetical order. Paths in them are relative to \
    bundles.toml, too, and they cannot include others.";

/// An included file.
pub static INCLUDED: Table = Table {
    header: "",
    doc: "A file that `include` of bundles.toml names.",
    exactly_one_of: &[],
    keys: &[
        optional("bundle", Kind::Tables(&BUNDLE), BUNDLE.doc),
        optional("chart", Kind::Tables(&CHART), CHART.doc),
        optional("serving", Kind::Tables(&SERVING), SERVING.doc),
    ],
};

/// The file.
pub static ROOT: Table = Table {
    header: "",
    doc: "Configuration of bundle2chart.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "required-version",
            Kind::String(None),
            "Required version of bundle2chart, for example `\">=0.1, <0.3\"`.",
        ),
        optional("include", Kind::Strings(None), INCLUDE_FILES),
        optional("defaults", Kind::Table(&DEFAULTS), DEFAULTS.doc),
        optional("output", Kind::Table(&OUTPUT), OUTPUT.doc),
        optional("mirror", Kind::Tables(&MIRROR), MIRROR.doc),
        optional("registry", Kind::Tables(&REGISTRY), REGISTRY.doc),
        optional("network", Kind::Table(&NETWORK), NETWORK.doc),
        optional("verify", Kind::Tables(&VERIFY), VERIFY.doc),
        optional("lints", Kind::StringMap(LINT_LEVEL), LINTS),
        optional("ignore", Kind::Tables(&IGNORE), IGNORE.doc),
        optional("deploy", Kind::Table(&DEPLOY), DEPLOY.doc),
        optional("bundle", Kind::Tables(&BUNDLE), BUNDLE.doc),
        optional("chart", Kind::Tables(&CHART), CHART.doc),
        optional("serving", Kind::Tables(&SERVING), SERVING.doc),
    ],
};

//! Every key of `bundles.toml`, as data: the reader, the JSON schema and the reference read it.

mod deploy;
pub mod serving;

pub use deploy::{ARGOCD, DEPLOY, FLUX, IGNORE_DIFFERENCES};

/// What values a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `true` or `false`.
    Boolean,
    /// A whole number between these two, both included.
    Integer(u32, u32),
    /// A string; when there is a pattern (a regular expression both in ECMA 262 and here), it
    /// must match. The reader gives better messages than the pattern; editors use it.
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
    /// A table of strings of one's own names, each with this pattern.
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
    /// What a value must be, for messages: "must be …".
    pub fn expected(self) -> &'static str {
        match self {
            Kind::Boolean => "true or false",
            Kind::Integer(..) => "a whole number",
            Kind::String(_) | Kind::OneOf(_) => "a string",
            Kind::Strings(_) => "a list of strings",
            Kind::Filters => "a list of jq filters, which are strings",
            Kind::StringOrFalse(_) => "a string or false",
            Kind::Switch(_) => "true, false or a string",
            Kind::Watch => "\"all\", \"own\" or a list of namespaces",
            Kind::Object | Kind::Table(_) => "a table",
            Kind::TextOrObject => "a text of YAML or a table",
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
    /// What values it takes.
    pub kind: Kind,
    /// Whether the table is an error without it.
    pub required: bool,
    /// What it does, in a sentence or two, and what happens without it.
    pub doc: &'static str,
    /// Keys of the same table that must be there with it.
    pub needs: &'static [&'static str],
}

impl Key {
    const fn with(mut self, needs: &'static [&'static str]) -> Key {
        self.needs = needs;
        self
    }
}

/// A table of the file.
#[derive(Debug)]
pub struct Table {
    /// As written in the file, for example `[[bundle]]`; empty for the file itself.
    pub header: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// Its keys, in the order of the documentation.
    pub keys: &'static [Key],
    /// Keys of which there must be exactly one.
    pub exactly_one_of: &'static [&'static str],
}

impl Table {
    /// The key of this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Where a key is, for messages: "in `[[bundle]]`".
    pub(super) fn place(&self) -> String {
        match self.header {
            "" => "at the top of the file".to_owned(),
            header => format!("in `{header}`"),
        }
    }
}

const fn optional(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, required: false, doc, needs: &[] }
}

const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, required: true, doc, needs: &[] }
}

/// Values of `crds`, the default first.
pub(super) const CRDS: &[&str] = &["templates", "separate", "subchart", "crds"];
/// Values of `certificates`, the default first.
pub(crate) const CERTIFICATES: &[&str] =
    &["cert-manager", "service-ca", "helm", "existing-secret", "none"];
/// Values of `layout`, the default first.
pub(super) const LAYOUTS: &[&str] = &["versioned", "flat"];
/// What `to` of a mirror starts with.
pub(super) const OCI_LAYOUT: &str = "oci-layout:";

/// Longest name of a bundle: Helm's limit for the name of a release, which is often the chart's.
pub(super) const NAME_LIMIT: usize = 53;
/// Longest name of a namespace: that of a DNS-1123 label (RFC 1123, section 2.1).
pub(super) const NAMESPACE_LIMIT: usize = 63;
/// Longest name of a Secret: that of a DNS-1123 subdomain.
pub(super) const SECRET_LIMIT: usize = 253;

const NAME: &str = "^[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?$";
const NAMESPACE: &str = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";
const SECRET: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// Pattern of the namespaces of `watch`.
pub(super) const WATCHED_NAMESPACE: &str = NAMESPACE;

const INCLUDE: &str = "jq filters: when there are any, only objects for which one of them is \
    true are kept. A filter is a condition on one object, such as `.kind == \"Role\"`. A \
    bundle's own filters are added to those of `[defaults]`.";
const EXCLUDE: &str = "jq filters: objects for which one of them is true are dropped, also when \
    `include` keeps them, for example `.kind == \"Route\"`. A bundle's own filters are added to those of `[defaults]`.";
const AUTH_READER: &str = "Whether the operator may read the API server's authentication \
    settings: adds a RoleBinding in kube-system. Default: false.";
const CRDS_DOC: &str = "Where CRDs go. `templates`: templates of a subchart, updated by `helm upgrade` and kept \
    by `helm uninstall`. `separate`: the same in a chart of their own, NAME-crds, to install and upgrade first. \
    `subchart` (charts/crds/crds) and `crds`: Helm's folders of CRDs, to create and replace with kubectl. Default: \
    `templates`, or `separate` where the chart has custom resources of its own CRDs.";
const STRIP_DESCRIPTIONS: &str = "Whether descriptions are left out of the schemas of CRDs, which \
    makes them several times smaller; `kubectl explain` then knows types only. Default: false.";
const WATCH_DOC: &str = "Which namespaces the operator watches: `\"all\"`, `\"own\"`, or a list \
    of names. Default: what the bundle's install modes allow, all namespaces first.";

const PROVIDED: &str = "What bundles need and the cluster has already, or gets in another way: names \
    of packages, and APIs as `GROUP/VERSION/KIND`. A bundle's own entries are added to those of \
    `[defaults]`.";
const PROVIDED_ENTRY: &str = "^[^/\\s]+$|^[^/\\s]*/[^/\\s]+/[^/\\s]+$";
const CERTIFICATES_DOC: &str = "Who makes the certificates of operators that serve webhooks or \
    APIServices. `cert-manager` (default): its objects, with an issuer of the release's own. \
    `service-ca`: OpenShift. `helm`: generated when the chart is installed, and kept by upgrades; \
    not for `helm template` or Argo CD, which would make a new one each time. `existing-secret`: \
    values name a Secret. `none`: the operator does it itself.";
const AGGREGATE_ROLES: &str = "Whether everybody with the cluster's own roles admin, edit or view \
    may use the APIs of the operator accordingly: adds ClusterRoles that are aggregated to them. \
    Default: false.";

/// `issuer`
pub static ISSUER: Table = Table {
    header: "issuer",
    doc: "The issuer of cert-manager that signs certificates, instead of a self-signing one that \
        belongs to the release. It must put its CA into the Secret.",
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
            "Its kind: `Issuer` (default), in the release namespace, or `ClusterIssuer`, or that \
             of another issuer.",
        ),
        optional(
            "group",
            Kind::String(Some(SECRET)),
            "Its API group. Default: cert-manager's own.",
        ),
    ],
};

/// `proxy`
pub static PROXY: Table = Table {
    header: "proxy",
    doc: "Proxies for every container, as variables of its environment; those of `env` win.",
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
    doc: "What is changed in the Deployments of the operator, as `spec.config` of a Subscription \
        of OLM does: the keys are those of the Kubernetes API. Init containers stay as they are.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "env",
            Kind::Objects,
            "Variables of every container; one of the same name is replaced.",
        ),
        optional("envFrom", Kind::Objects, "Sources of variables, added to every container."),
        optional("volumes", Kind::Objects, "Volumes; one of the same name is replaced."),
        optional(
            "volumeMounts",
            Kind::Objects,
            "Mounts in every container; one of the same volume is replaced.",
        ),
        optional("tolerations", Kind::Objects, "Tolerations, added to those of the pods."),
        optional("resources", Kind::Object, "Resources, in place of those of every container."),
        optional("nodeSelector", Kind::Object, "Node selector, in place of that of the pods."),
        optional(
            "affinity",
            Kind::Object,
            "Affinity: each of its three parts is replaced where it is here, and taken away \
             where it is empty here; an empty table takes all away.",
        ),
        optional(
            "annotations",
            Kind::Object,
            "Annotations of Deployments and pods, where they have none of that key.",
        ),
        optional("proxy", Kind::Table(&PROXY), PROXY.doc),
    ],
};

/// `[[bundle.overlay]]`
pub static OVERLAY: Table = Table {
    header: "[[bundle.overlay]]",
    doc: "Objects that are kept by hand beside a bundle. They are read like the bundle's own, checked \
        against its CRDs, and no filter applies to them.",
    exactly_one_of: &["path", "inline"],
    keys: &[
        optional(
            "path",
            Kind::String(None),
            "A file, or a folder whose files that end in .yaml, .yml or .json are read in the order of \
             their names, relative to this file.",
        ),
        optional(
            "inline",
            Kind::TextOrObject,
            "The objects themselves: a text of YAML documents, or one object as a table.",
        ),
        optional(
            "phase",
            Kind::OneOf(super::overlay::PHASES),
            "When they are installed. `with` (default): with the operator. `before`: before it; a Job is \
             waited for. `operand`: when it is up, by a chart of their own, NAME-operands.",
        ),
    ],
};

/// `[[bundle.patch]]`
pub static PATCH: Table = Table {
    header: "[[bundle.patch]]",
    doc: "A change of the bundle's objects. Patches apply one after the other, after filters.",
    exactly_one_of: &[],
    keys: &[
        required(
            "match",
            Kind::String(None),
            "A jq filter: objects for which it is true are changed.",
        ),
        required(
            "patch",
            Kind::String(None),
            "A jq program that makes of an object the new one, for example \
             `.spec.template.spec.priorityClassName = \"system-cluster-critical\"`.",
        ),
    ],
};

/// In `[bundle.service-accounts]`, the namespace that the chart is installed into.
pub(super) const RELEASE: &str = "release";

/// `[[bundle.adopt]]`
pub static ADOPT: Table = Table {
    header: "[[bundle.adopt]]",
    doc: "A ServiceAccount of `[bundle.service-accounts]` that another Helm release takes over, such as one \
        that the operator itself installs.",
    exactly_one_of: &[],
    keys: &[
        required(
            "service-account",
            Kind::String(Some(SECRET)),
            "Its name, from the list of `release`.",
        ),
        required("release", Kind::String(Some(SECRET)), "Name of the release that takes it over."),
        optional(
            "namespace",
            Kind::String(Some(NAMESPACE)),
            "Namespace of that release. Default: that of this chart's release.",
        ),
    ],
};

const STUB_CRDS: &str = "Stub CRDs of other projects that the operator expects, by name. The chart NAME-crds, which is \
    installed first, creates those that the cluster does not have: `infrastructures.config.openshift.io`, \
    `servicemonitors.monitoring.coreos.com`.";

/// `[defaults]`
pub static DEFAULTS: Table = Table {
    header: "[defaults]",
    doc: "What every bundle has unless it says otherwise.",
    exactly_one_of: &[],
    keys: &[
        optional("include", Kind::Filters, INCLUDE),
        optional("exclude", Kind::Filters, EXCLUDE),
        optional(
            "pull-secret",
            Kind::StringOrFalse(SECRET),
            "Name of the pull secret that ServiceAccounts and pods refer to by default. Without \
             it, charts refer to none until a value says so.",
        ),
        optional("auth-reader", Kind::Boolean, AUTH_READER),
        optional("crds", Kind::OneOf(CRDS), CRDS_DOC),
        optional("strip-descriptions", Kind::Boolean, STRIP_DESCRIPTIONS),
        optional("watch", Kind::Watch, WATCH_DOC),
        optional("provided", Kind::Strings(Some(PROVIDED_ENTRY)), PROVIDED),
        optional("certificates", Kind::OneOf(CERTIFICATES), CERTIFICATES_DOC),
        optional("issuer", Kind::Table(&ISSUER), ISSUER.doc),
        optional("aggregate-roles", Kind::Boolean, AGGREGATE_ROLES),
    ],
};

/// `[output]`
pub static OUTPUT: Table = Table {
    header: "[output]",
    doc: "Where charts are written.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "dir",
            Kind::String(None),
            "Folder of the charts, relative to this file and not this file's own. Default: `out`.",
        ),
        optional(
            "layout",
            Kind::OneOf(LAYOUTS),
            "`versioned` (default): DIR/CHART/VERSION, so that versions live side by side. \
             `flat`: DIR/CHART, one version at a time.",
        ),
    ],
};

/// `[[mirror]]`
pub static MIRROR: Table = Table {
    header: "[[mirror]]",
    doc: "Where the bytes of image references come from. Names in charts stay as they are.",
    exactly_one_of: &[],
    keys: &[
        required(
            "from",
            Kind::String(Some("^[^/:@\\s][^@\\s]*[^/:@\\s]$")),
            "Start of the references that this mirror serves, up to a `/` or the end, for example \
             `registry.redhat.io`. The longest one that fits comes first; of two equal ones, the \
             first in the file.",
        ),
        required(
            "to",
            Kind::String(Some("^[^\\s/].*$")),
            "Where the bytes are: `oci-layout:DIR`, an OCI image layout folder relative to this \
             file, or the start of references in another registry, for example \
             `registry.example.com/mirror`, to which the rest of the name is added.",
        ),
        optional(
            "fallback",
            Kind::Boolean,
            "Whether an image that cannot be had from this mirror is looked for in the next mirror \
             whose `from` fits, and after the last one in the registry itself. Default: false.",
        ),
    ],
};

/// `[[registry]]`
pub static REGISTRY: Table = Table {
    header: "[[registry]]",
    doc: "How to reach a registry that needs more than its name. Credentials are not written here: \
          they are where `podman login` and `docker login` leave them.",
    exactly_one_of: &[],
    keys: &[
        required(
            "host",
            Kind::String(Some("^[A-Za-z0-9.-]+(:[0-9]+)?$")),
            "Host of the registry, with its port where references have one.",
        ),
        optional(
            "ca",
            Kind::String(None),
            "PEM file, relative to this file, with authorities that may sign the registry's \
             certificate, in addition to those of the system.",
        ),
        optional(
            "plain-http",
            Kind::Boolean,
            "Whether the registry is asked over plain HTTP, where anyone on the way can read and \
             change what is sent. Default: false, except for a registry on this machine.",
        ),
        optional(
            "auth-hosts",
            Kind::Strings(Some("^[A-Za-z0-9.-]+(:[0-9]+)?$")),
            "Other hosts that may see the credentials of this registry, because it sends clients \
             there for tokens. Default: none.",
        ),
    ],
};

/// `[network]`
pub static NETWORK: Table = Table {
    header: "[network]",
    doc: "How registries are waited for.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "retries",
            Kind::Integer(0, 20),
            "How often a request is repeated that failed in a way that may pass: a broken \
             connection, or an answer 429 or 5xx. Default: 4.",
        ),
        optional(
            "timeout",
            Kind::Integer(1, 3600),
            "Seconds that a registry may stay silent, or slow. Default: 30.",
        ),
        optional("downloads", Kind::Integer(1, 64), "Downloads at a time. Default: 4."),
    ],
};

/// `[[ignore]]`
pub static IGNORE: Table = Table {
    header: "[[ignore]]",
    doc: "Changes that `diff`, and the reports that `build` writes, leave out and count.",
    exactly_one_of: &[],
    keys: &[
        required(
            "path",
            Kind::String(None),
            "Object, place or both: `KIND/NAME`, `.spec.replicas`, `Deployment/manager:.spec.replicas`. \
             `*` stands for any characters of a segment, `**` for any segments of a path.",
        ),
        required("reason", Kind::String(None), "Why; every report says it."),
    ],
};

/// `[[bundle]]`
pub static BUNDLE: Table = Table {
    header: "[[bundle]]",
    doc: "A bundle to compile into a chart.",
    exactly_one_of: &["image", "path", "catalog"],
    keys: &[
        required(
            "name",
            Kind::String(Some(NAME)),
            "Name of the chart: lower-case letters, digits and dashes, at most 53 characters.",
        ),
        optional(
            "image",
            Kind::String(Some("^[^\\s:/][^\\s]*$")),
            "Reference of the bundle image, for example `registry.example.com/team/bundle:1.0`. A \
             bundle has either this, `path` or `catalog`.",
        ),
        optional(
            "path",
            Kind::String(None),
            "A bundle folder, an OCI image layout folder (with `:TAG` or `@DIGEST` where it holds \
             several images), a tar of either, or a Docker archive, relative to this file.",
        ),
        optional(
            "catalog",
            Kind::String(Some("^[^\\s]+$")),
            "A file-based catalog of operators to find the bundle in: the reference of a catalog \
             image, or a folder, a file or an OCI image layout folder relative to this file.",
        )
        .with(&["package"]),
        optional(
            "package",
            Kind::String(Some("^[^\\s]+$")),
            "Name of the operator's package: the one to look for in `catalog`, and the one that an \
             `image` or `path` must hold. Default for those: what bundles.lock records.",
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
             such as `\">=1.2, <2\"` or `\"1.2\"` for any 1.2, of which the highest is taken. Default: the \
             head of the channel.",
        )
        .with(&["catalog"]),
        optional(
            "namespace",
            Kind::String(Some(NAMESPACE)),
            "Namespace that the chart's texts suggest; the chart itself uses the release's. \
             Default: what the bundle suggests, else its name.",
        ),
        optional("watch", Kind::Watch, WATCH_DOC),
        optional("include", Kind::Filters, INCLUDE),
        optional("exclude", Kind::Filters, EXCLUDE),
        optional(
            "pull-secret",
            Kind::StringOrFalse(SECRET),
            "Name of the pull secret that ServiceAccounts and pods refer to by default; `false` \
             switches that of `[defaults]` off.",
        ),
        optional("auth-reader", Kind::Boolean, AUTH_READER),
        optional("crds", Kind::OneOf(CRDS), CRDS_DOC),
        optional("strip-descriptions", Kind::Boolean, STRIP_DESCRIPTIONS),
        optional("certificates", Kind::OneOf(CERTIFICATES), CERTIFICATES_DOC),
        optional("issuer", Kind::Table(&ISSUER), ISSUER.doc),
        optional("aggregate-roles", Kind::Boolean, AGGREGATE_ROLES),
        optional(
            "chart-version",
            Kind::String(Some(
                "^(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?(\\+[0-9A-Za-z.-]+)?$",
            )),
            "Version of the chart (semantic versioning). Default: the version of the bundle's \
             ClusterServiceVersion.",
        ),
        optional(
            "depends-on",
            Kind::Strings(Some(NAME)),
            "Names of bundles in this file that must be installed before this one.",
        ),
        optional("provided", Kind::Strings(Some(PROVIDED_ENTRY)), PROVIDED),
        optional("config", Kind::Table(&PODS), PODS.doc),
        optional("overlay", Kind::Tables(&OVERLAY), OVERLAY.doc),
        optional("patch", Kind::Tables(&PATCH), PATCH.doc),
        optional(
            "scopes",
            Kind::StringMap("^(Cluster|Namespaced)$"),
            "Whether objects of a kind live in a namespace, as `\"GROUP/KIND\" = \"Namespaced\"` or \
             `\"Cluster\"`, for overlays of kinds that neither Kubernetes nor a CRD of the bundle \
             says.",
        ),
        optional(
            "namespaces",
            Kind::StringMap(NAMESPACE),
            "Namespaces of the operator's operands, by a name of one's own: each becomes a value \
             `namespaces.NAME`, is made by the chart, and gets the pull secret when values create it.",
        ),
        optional(
            "service-accounts",
            Kind::StringsMap(SECRET),
            "ServiceAccounts that are made before the operator looks for them, so that they have the pull \
             secret: lists by the name of a namespace in `[bundle.namespaces]`, or `release` for the one that \
             the chart is installed into.",
        ),
        optional("adopt", Kind::Tables(&ADOPT), ADOPT.doc),
        optional("stub-crds", Kind::Strings(Some(SECRET)), STUB_CRDS),
    ],
};

/// The file.
pub static ROOT: Table = Table {
    header: "",
    doc: "What bundle2chart compiles, and how.",
    exactly_one_of: &[],
    keys: &[
        optional(
            "required-version",
            Kind::String(None),
            "Versions of bundle2chart that may build this file, for example `\">=0.1, <0.3\"`.",
        ),
        optional("defaults", Kind::Table(&DEFAULTS), DEFAULTS.doc),
        optional("output", Kind::Table(&OUTPUT), OUTPUT.doc),
        optional("mirror", Kind::Tables(&MIRROR), MIRROR.doc),
        optional("registry", Kind::Tables(&REGISTRY), REGISTRY.doc),
        optional("network", Kind::Table(&NETWORK), NETWORK.doc),
        optional("ignore", Kind::Tables(&IGNORE), IGNORE.doc),
        optional("deploy", Kind::Table(&DEPLOY), DEPLOY.doc),
        optional("bundle", Kind::Tables(&BUNDLE), BUNDLE.doc),
        optional("serving", Kind::Tables(&serving::SERVING), serving::SERVING.doc),
    ],
};

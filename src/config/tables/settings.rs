//! Settings of a bundle or chart that can also be in `[defaults]`.

use super::overlay::FilterProgram;
use super::*;
use crate::forms::PullSecret;
use std::str::FromStr;

/// Declares a part of a table whose missing keys are those of `[defaults]`.
macro_rules! settings {
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident {
            $($(#[doc = $doc:literal])* $field:ident: $form:ty;)*
        }
    ) => {
        table! {
            $(#[doc = $about])+
            #[derive(Default)]
            pub struct $name at "[defaults]" {
                $($(#[doc = $doc])* $field: $form;)*
            }
        }

        impl $name {
            /// Completes these settings from `[defaults]`.
            pub(crate) fn complete(&mut self, defaults: &Self) {
                $(Completed::complete(&mut self.$field, &defaults.$field);)*
            }
        }
    };
}

settings! {
    /// Settings of all charts.
    pub struct Settings {
        /// jq filters: if set, only objects that match one of them are kept. A filter is a condition
        /// on one object, such as `.kind == "Role"`. A bundle's own filters are added to those of
        /// `[defaults]`.
        include: Vec<FilterProgram>;
        /// jq filters: objects that match one of them are removed, even if they match `include`, for
        /// example `.kind == "Route"`. A bundle's own filters are added to those of `[defaults]`.
        exclude: Vec<FilterProgram>;
        /// Default name of the image pull secret for ServiceAccounts and pods; `false` disables the
        /// one of `[defaults]`. Default: none, unless set in values.
        pull_secret: Option<PullSecret>;
        /// Placement of CRDs. `templates`: templates of a subchart, upgraded by `helm upgrade` and
        /// kept by `helm uninstall`. `separate`: templates of a separate chart, NAME-crds, to
        /// install and upgrade first. `subchart` (charts/crds/crds) and `crds`: Helm's crds/
        /// directories, to create and replace with kubectl. Default: `templates`, or `separate` if
        /// the chart has custom resources of its own CRDs.
        crds: Option<CrdPlacement>;
        /// Remove descriptions from CRD schemas, which makes CRDs several times smaller; `kubectl
        /// explain` then shows types only. Default: false.
        strip_descriptions: Option<bool>;
        maintainers: Option<Vec<Maintainer>>;
        /// Dependencies that the cluster already provides: package names, and APIs as
        /// `GROUP/VERSION/KIND`. A bundle's own entries are added to those of `[defaults]`.
        provided: Vec<Placed<Provided>>;
    }
}

settings! {
    /// Settings of operators.
    pub struct OperatorSettings {
        /// Namespaces that the operator watches: `"all"`, `"own"`, or a list of names. Default: from
        /// the bundle's install modes, all namespaces if supported.
        watch: Option<Watch>;
        /// Source of the certificates for webhooks and APIServices. `cert-manager` (default): a
        /// Certificate with an Issuer in the release. `service-ca`: OpenShift service-ca. `helm`:
        /// generated on install and kept on upgrade; not for `helm template` or Argo CD, which would
        /// generate new ones each time. `existing-secret`: an existing Secret set in values. `none`:
        /// managed by the operator itself.
        certificates: Option<CertificateProvider>;
        issuer: Option<Issuer>;
        /// Allow the operator to read the API server's authentication configuration: adds a
        /// RoleBinding in kube-system. Default: false.
        auth_reader: Option<bool>;
        /// Aggregate the operator's APIs to the cluster roles admin, edit and view: adds
        /// ClusterRoles with the aggregation labels. Default: false.
        aggregate_roles: Option<bool>;
    }
}

impl Settings {
    /// Returns the default name of the pull secret; empty for none.
    pub fn pull_secret(&self) -> &str {
        self.pull_secret.as_ref().and_then(Option::as_deref).unwrap_or_default()
    }
}

table! {
    /// Defaults for all bundles and charts.
    #[derive(Default)]
    pub struct Defaults at "[defaults]" {
        /// Settings of all charts.
        settings: Flat<Settings>;
        /// Settings of operators.
        operator: Flat<OperatorSettings>;
    }
}

table! {
    /// Maintainers of the charts, as in Chart.yaml; a list of a bundle replaces that of
    /// `[defaults]`. Default: none.
    #[derive(PartialEq, Eq)]
    pub struct Maintainer at "maintainers" {
        /// Name of the person or team. chart-testing expects the name of a GitHub account.
        name: Filled;
        /// Email address.
        email: Option<Email>;
        /// Web page of the maintainer.
        url: Option<WebPage>;
    }
}

/// A setting that `[defaults]` completes.
trait Completed: Clone {
    fn complete(&mut self, default: &Self);
}

impl<T: Clone> Completed for Option<T> {
    fn complete(&mut self, default: &Self) {
        // `pull-secret = false` is `Some(None)`, so it wins over the name in `[defaults]`.
        *self = self.take().or_else(|| default.clone());
    }
}

/// The own items come after those of `[defaults]`.
impl<T: Clone> Completed for Vec<T> {
    fn complete(&mut self, default: &Self) {
        self.splice(..0, default.iter().cloned());
    }
}

choices! {
    /// The placement of CRDs in the chart.
    pub enum CrdPlacement {
        /// `charts/crds/templates/`: upgraded with the release, kept when it is uninstalled.
        Templates = "templates",
        /// The templates of a chart NAME-crds, which is installed and upgraded first.
        Separate = "separate",
        /// `charts/crds/crds/`: not upgraded by Helm, not stored in the release Secret.
        Subchart = "subchart",
        /// `crds/`: not upgraded by Helm, stored in the release Secret.
        Crds = "crds",
    }
}

patterns! {
    /// An email address.
    Email = "^[^@\\s]+@[^@\\s]+$",
        "`email` of a maintainer is not an address: \"{text}\"",
        "write an address such as `platform@example.com`";
    /// The address of a web page.
    WebPage = "^https?://[^\\s]+$",
        "`url` of a maintainer is not a web address: \"{text}\"",
        "write an address that begins with `https://`";
    /// A package, or an API as `GROUP/VERSION/KIND`.
    Provided = "^[^/\\s]+$|^[^/\\s]*/[^/\\s]+/[^/\\s]+$",
        "\"{text}\" is neither a package nor an API",
        "write a package name, or GROUP/VERSION/KIND, for example `cert-manager.io/v1/Certificate`";
}

choices! {
    /// The install modes of OLM: the number of namespaces that an operator can watch.
    pub enum InstallMode {
        /// All namespaces of the cluster.
        AllNamespaces = "AllNamespaces",
        /// Several named namespaces.
        MultiNamespace = "MultiNamespace",
        /// The namespace that it runs in.
        OwnNamespace = "OwnNamespace",
        /// One other namespace.
        SingleNamespace = "SingleNamespace",
    }
}

impl InstallMode {
    /// Returns a value of `watch` that needs it, as TOML.
    pub fn watch(self) -> &'static str {
        match self {
            InstallMode::AllNamespaces => "\"all\"",
            InstallMode::MultiNamespace => "[\"one\", \"two\"]",
            InstallMode::OwnNamespace => "\"own\"",
            InstallMode::SingleNamespace => "[\"one\"]",
        }
    }
}

/// The namespaces that an operator watches. bundles.lock has them as bundles.toml does.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Watch {
    /// All namespaces.
    All,
    /// The namespace that it runs in.
    Own,
    /// Exactly these namespaces: one or more, without duplicates.
    #[serde(untagged)]
    Namespaces(Vec<String>),
}

impl Watch {
    /// Returns the value of the key `watch`, as TOML.
    pub fn to_toml(&self) -> String {
        let value = match self {
            Watch::Namespaces(names) => toml::Value::from(names.clone()),
            word => toml::Value::from(word.annotation()),
        };
        value.to_string()
    }

    /// Returns the namespaces as the object of a sentence.
    pub fn describe(&self) -> String {
        match self {
            Watch::All => "all namespaces".to_owned(),
            Watch::Own => "the release namespace only".to_owned(),
            Watch::Namespaces(names) => {
                format!("these namespaces, which must exist: {}", names.join(", "))
            }
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

    /// Parses the text of [`Watch::annotation`].
    pub fn of_annotation(text: &str) -> Self {
        match text {
            "all" => Watch::All,
            "own" => Watch::Own,
            names => Watch::Namespaces(names.split(',').map(str::to_owned).collect()),
        }
    }
}

/// Parses an argument of the command line: the text of [`Watch::annotation`].
impl FromStr for Watch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut seen = BTreeSet::new();
        match text.split(',').find(|name| name.is_empty() || !seen.insert(*name)) {
            None => Ok(Watch::of_annotation(text)),
            Some("") => Err("use `all`, `own`, or a list of namespaces".to_owned()),
            Some(name) => Err(format!("duplicate namespace `{name}`")),
        }
    }
}

/// With its place in the file.
impl Form for Watch {
    type Value = (Watch, Option<Span>);
    const KIND: Kind = Kind::Watch;

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Self::Value> {
        let watch = match value.get_ref().as_str() {
            Some(word @ ("all" | "own")) => Watch::of_annotation(word),
            Some(text) => {
                unknown_word(reader, text, value);
                return None;
            }
            None => Watch::Namespaces(watched(reader, key, value)?),
        };
        Some((watch, Some(reader.span(value.span()))))
    }
}

/// Reports a word that is no value of `watch`.
fn unknown_word(reader: &mut Reader<'_>, text: &str, value: &Node<'_>) {
    let near = || suggest::nearest(text, &["all", "own"]).map(|word| format!("\"{word}\""));
    let mode = InstallMode::named(text).map(|mode| mode.watch().to_owned());
    let hint = match mode.or_else(near) {
        Some(value) => format!("did you mean `watch = {value}`?"),
        None => format!("for specific namespaces, write `watch = [\"{text}\"]`"),
    };
    let message = format!("`watch` must be \"all\", \"own\" or a list, not {text:?}");
    reader.error(Code::InvalidValue, &value.span(), message, hint);
}

/// Returns the namespaces to watch.
fn watched(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Vec<String>> {
    let mut seen: Vec<(&str, &Node<'_>)> = Vec::new();
    let mut names = Vec::new();
    for item in items(value) {
        let Some(text) = item.get_ref().as_str() else { continue };
        if let Some((_, first)) = seen.iter().find(|(earlier, _)| *earlier == text) {
            let message = format!("duplicate namespace `{text}` in `watch`");
            let spans = (&reader.span(item.span()), &reader.span(first.span()));
            let (related, hint) = ("first listed here", "remove one of them");
            reader.twice(Code::InvalidValue, spans, message, related, hint);
            continue;
        }
        seen.push((text, item));
        names.extend(Namespace::read(reader, key, item));
    }
    // An OperatorGroup without target namespaces means all, an empty list of names none: too far
    // apart to guess.
    let has_word = matches!(seen[..], [("all" | "own", _)]);
    if names.is_empty() || has_word {
        let message =
            format!("`watch` is {} list", if has_word { "a word in a" } else { "an empty" });
        let hint = "write `watch = \"all\"`, `watch = \"own\"`, or list the namespaces";
        reader.error(Code::InvalidValue, &value.span(), message, hint);
        return None;
    }
    Some(names)
}

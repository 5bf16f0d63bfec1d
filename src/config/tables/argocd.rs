//! `[deploy.argocd]`: objects of Argo CD.

use super::deploy::Subfolder;
use super::*;
use toml::Spanned;

table! {
    /// Generates Argo CD objects that install the charts in the order of `depends-on`.
    #[derive(PartialEq, Eq)]
    pub struct ArgoCd at "[deploy.argocd]", checked by distinct {
        /// URL of the Git repository with the charts, as used by Argo CD.
        repo: Word;
        /// Branch, tag or commit. Default: `HEAD`.
        revision: Word = "HEAD".to_owned();
        /// `application-set` (default): one ApplicationSet, whose steps require progressive syncs to
        /// be enabled. `app-of-apps`: an Application of Applications with sync waves, which require
        /// a health check for Applications.
        style: ArgoStyle;
        /// Name of the ApplicationSet, or of the Application of Applications. Default: `platform`.
        name: Namespace = "platform".to_owned();
        /// Project in Argo CD. Default: `default`.
        project: ObjectName = "default".to_owned();
        /// Cluster: its URL, or its name in Argo CD. Default: the cluster that Argo CD runs in.
        destination: Word = "https://kubernetes.default.svc".to_owned();
        /// Namespace of Argo CD's own objects. Default: `argocd`.
        namespace: Namespace = "argocd".to_owned();
        /// Prune objects that are no longer in a chart, including CustomResourceDefinitions with all
        /// their custom resources. Default: false.
        prune: bool;
        /// Directory for the objects in the output directory. Default: `argocd`.
        dir: Subfolder = "argocd".to_owned();
        ignore as "ignore-differences": Vec<IgnoreDifference>;
        /// Namespace of models that Argo CD discovers: an ApplicationSet finds their charts by a Git
        /// directory generator, so that a new model changes no other file. All other charts are
        /// listed. Requires `layout = "flat"`. Default: all charts are listed.
        discovery as "discover": Option<Discovery>;
        applications as "application": Vec<OwnApplication>;
    }
}

choices! {
    /// The objects that are generated for Argo CD.
    pub enum ArgoStyle {
        /// One ApplicationSet.
        ApplicationSet = "application-set",
        /// An Application of Applications.
        AppOfApps = "app-of-apps",
    }
}

table! {
    /// A chart with its own Application and settings: it is neither in the ApplicationSet nor
    /// discovered.
    #[derive(PartialEq, Eq)]
    pub struct OwnApplication at "[[deploy.argocd.application]]" {
        /// Name of the chart.
        chart: KnownChart;
        /// Prune objects that are no longer in the chart. Default: false.
        prune: bool;
        /// Fields to ignore in this Application, besides those for all.
        ignore as "ignore-differences": Vec<IgnoreDifference>;
    }
}

table! {
    /// Fields that something in the cluster writes and that Argo CD ignores when comparing. CA
    /// bundles injected by cert-manager, service-ca and operators are always ignored.
    #[derive(PartialEq, Eq)]
    pub struct IgnoreDifference at "[[deploy.argocd.ignore-differences]]", checked by some_fields {
        /// API group. Default: the core group.
        group: ObjectName = String::new();
        /// Kind of the objects.
        kind: ApiKind;
        /// Name of the object. Default: all.
        name: Option<ObjectName>;
        /// Namespace. Default: all.
        namespace: Option<Namespace>;
        /// Fields as JSON pointers (RFC 6901), for example `/spec/replicas`.
        json_pointers: Vec<JsonPointer>;
        /// Fields as jq paths, for example `.webhooks[]?.failurePolicy`.
        jq_paths: Vec<Any>;
    }
}

patterns! {
    /// A JSON pointer to a field.
    JsonPointer = "^/";
}

fn some_fields(table: &mut IgnoreDifference, reader: &mut Reader<'_>, fields: &Fields<'_>) {
    if table.json_pointers.is_empty() && table.jq_paths.is_empty() {
        let hint = "add `json-pointers` or `jq-paths`";
        reader.error(Code::MissingKey, &fields.header, "no fields to ignore", hint);
    }
}

/// Removes the charts with an Application of their own from those that are discovered, and reports
/// two Applications for a chart.
fn distinct(table: &mut ArgoCd, reader: &mut Reader<'_>, fields: &Fields<'_>) {
    for (index, application) in table.applications.iter().enumerate() {
        let mut earlier = table.applications.iter().take(index);
        if earlier.any(|other| other.chart == application.chart) {
            let message = format!("two Applications are for the chart `{}`", application.chart);
            let place = fields.items("application").nth(index).map(Spanned::span);
            let place = place.unwrap_or_else(|| fields.header.clone());
            reader.error(Code::DuplicateName, &place, message, "remove one of them");
        }
    }
    if let Some(discovery) = &mut table.discovery {
        // Two Applications would manage the same objects.
        let is_listed = |name: &String| table.applications.iter().any(|own| own.chart == *name);
        discovery.charts.retain(|name| !is_listed(name));
    }
}

/// `discover` of `[deploy.argocd]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// Namespace of the models.
    pub namespace: String,
    /// Names of the models' charts, sorted.
    pub charts: Vec<String>,
}

impl Form for Discovery {
    type Value = Discovery;
    const KIND: Kind = Namespace::KIND;

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Discovery> {
        let namespace = Namespace::read(reader, key, value)?;
        // Directories of versions side by side would each become an Application.
        if reader.known.output.layout != Layout::Flat {
            let message = "`discover` requires one directory per chart";
            let hint = "set `layout = \"flat\"` in `[output]`";
            reader.error(Code::InvalidValue, &value.span(), message, hint);
        }
        let models = reader.known.models.iter().filter(|(_, inside)| *inside == namespace);
        // Sorted, so that a table that moves changes no generated file.
        let mut charts: Vec<String> = models.map(|(name, _)| name.clone()).collect();
        charts.sort_unstable();
        Some(Discovery { namespace, charts })
    }
}

/// The name of a chart of the configuration.
pub struct KnownChart;

impl Form for KnownChart {
    type Value = String;
    const KIND: Kind = Label::KIND;

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<String> {
        let text = value.get_ref().as_str()?;
        let names: Vec<&str> = reader.known.charts.iter().map(String::as_str).collect();
        // Companion charts may follow from objects that are not known yet.
        let base = [CRDS_SUFFIX, OPERANDS_SUFFIX].iter().find_map(|end| text.strip_suffix(end));
        if !names.contains(&text) && base.is_none_or(|base| !names.contains(&base)) {
            let message = format!("the configuration has no chart `{text}`");
            let hint = suggest::hint(text, &names, "charts");
            reader.error(Code::InvalidValue, &value.span(), message, hint);
        }
        Some(text.to_owned())
    }
}

//! README.md of a chart.

use super::notes::{CLIENT_SIDE_LIMIT, pull_namespaces};
use super::{DocumentedChart, Part, crd_docs, gates, readme, uninstall};
use crate::config::{CertificateProvider, Source};
use crate::diag::join;
use crate::documents::filters;
use crate::escape::markdown::code;
use crate::ir::{Expr, Identity, Unit, Value, ValueSpec, ValuesPath};
use crate::{overlay, permissions};
use askama::Template;
use askama::filters::Safe;
use std::collections::{BTreeMap, BTreeSet};

/// README.md: install commands, values, CRDs, images and provenance.
#[derive(Template)]
#[template(path = "chart/documents/readme.md")]
pub(super) struct Readme<'a> {
    pub(super) chart: &'a DocumentedChart<'a>,
}

impl Readme<'_> {
    fn title(&self) -> &str {
        let description = self.chart.description;
        let title = description.bundle.map(|bundle| bundle.csv.spec_text("displayName"));
        title.filter(|title| !title.trim().is_empty()).unwrap_or(&description.config.name)
    }

    fn max_openshift(&self) -> Option<&str> {
        self.chart.description.bundle?.requirements.max_openshift.as_deref()
    }

    /// Returns the permissions of the operator, as `inspect` prints them.
    fn permissions(&self) -> Option<String> {
        let bundle = self.chart.description.bundle?;
        Some(permissions::of_csv(&bundle.csv).to_string())
    }

    fn has_registries(&self) -> bool {
        let mut values = self.chart.unit.values.iter();
        values.any(|value| value.path.segments() == ["imageRegistries"])
    }

    /// Returns the name of the pull secret, if it has one by default.
    fn pull_secret(&self) -> Option<&str> {
        let name = self.default_text(&ValuesPath::new(["pullSecret", "name"]))?;
        Some(name).filter(|name| !name.is_empty())
    }

    /// Returns the namespaces of the pull secret by default, if the chart can create one.
    fn pull_namespaces(&self) -> Option<Safe<String>> {
        let namespaces = pull_namespaces(self.chart.unit).into_iter();
        let namespaces = namespaces.filter_map(|namespace| match namespace {
            Value::Text(namespace) => Some(namespace.as_str()),
            Value::Expr(Expr::ReleaseNamespace) => Some(self.chart.description.namespace),
            Value::Expr(Expr::Text(path)) => self.default_text(path),
            _ => None,
        });
        let namespaces: Vec<String> = namespaces.map(code).collect();
        (!namespaces.is_empty()).then(|| Safe(namespaces.join(" and ")))
    }

    fn default_text(&self, path: &ValuesPath) -> Option<&str> {
        self.chart.unit.values.iter().find(|spec| spec.path == *path)?.default.as_str()
    }

    /// Returns the Deployments that need certificates of a server; `None` if the API server calls none.
    fn certified_deployments(&self) -> Option<Safe<String>> {
        let csv = &self.chart.description.bundle?.csv;
        if csv.webhooks.is_empty() && csv.api_services.is_empty() {
            return None;
        }
        let webhooks = csv.webhooks.iter().map(|webhook| webhook.endpoint.deployment.as_str());
        let services = csv.api_services.iter().map(|service| service.endpoint.deployment.as_str());
        // Filters may have excluded a Deployment of the CSV.
        let left = self.chart.unit.names("Deployment");
        let names = webhooks.chain(services).filter(|name| left.contains(*name));
        let names: BTreeSet<&str> = names.collect();
        Some(Safe(join(names.into_iter().map(code), ", ")))
    }
}

/// Returns the table of the objects in the chart.
pub fn contents(unit: &Unit) -> Safe<impl Template> {
    Safe(Contents { unit })
}

#[derive(Template)]
#[template(path = "chart/documents/contents.md")]
struct Contents<'a> {
    unit: &'a Unit,
}

impl Contents<'_> {
    /// Returns the number of objects of each kind.
    fn kinds(&self) -> BTreeMap<&str, usize> {
        // Switches have several objects of one name, of which one is rendered. Names of several parts
        // are not compared.
        let mut seen: BTreeSet<Identity> = BTreeSet::new();
        let mut is_new = |id: Identity| id.name.is_empty() || seen.insert(id);
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for object in self.unit.objects.iter().filter(|object| is_new(object.id())) {
            *kinds.entry(object.kind()).or_default() += 1;
        }
        kinds
    }
}

/// Returns the table of values.
pub fn values(unit: &Unit) -> Safe<impl Template> {
    Safe(Values { unit })
}

#[derive(Template)]
#[template(path = "chart/documents/values.md")]
struct Values<'a> {
    unit: &'a Unit,
}

impl Values<'_> {
    fn type_of<'v>(&self, value: &'v ValueSpec) -> &'v str {
        value.schema.get("type").and_then(|kind| kind.as_str()).unwrap_or("any")
    }

    fn default_of(&self, value: &ValueSpec) -> String {
        value.documented_default.clone().unwrap_or_else(|| value.default.to_string())
    }
}

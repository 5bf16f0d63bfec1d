//! NOTES.txt, which `helm install` prints.

use super::{DocumentedChart, Part, gates};
use crate::config::Layout;
use crate::documents::{RELEASE, filters};
use crate::ir::{Expr, LASTING_WORKLOADS, Origin, PULL_SECRET, Unit, Value};
use crate::yaml::in_text;
use askama::Template;

/// Maximum size of a CRD for client-side `kubectl apply`, which stores the whole object in an
/// annotation of at most 262,144 bytes.
pub(super) const CLIENT_SIDE_LIMIT: usize = 262_144;

/// NOTES.txt: commands to check the installation, the next steps, and upgrade instructions.
#[derive(Template)]
#[template(path = "chart/documents/notes.txt", syntax = "notes")]
pub(super) struct Notes<'a> {
    pub(super) chart: &'a DocumentedChart<'a>,
}

impl Notes<'_> {
    /// Returns the kind, name and namespace of each workload that stays, the namespace as Helm reads it.
    fn workloads(&self) -> Vec<(String, &str, String)> {
        let release_namespace = Value::Expr(Expr::ReleaseNamespace);
        let objects = self.chart.unit.objects.iter();
        let workloads = objects.filter(|object| LASTING_WORKLOADS.contains(&object.kind()));
        let workloads = workloads.filter_map(|object| {
            let namespace = object.metadata("namespace").unwrap_or(&release_namespace);
            Some((object.kind().to_lowercase(), object.name(), in_text(namespace)?))
        });
        let mut workloads: Vec<(String, &str, String)> = workloads.collect();
        // The order of a bundle's files must not show.
        workloads.sort_unstable();
        workloads
    }

    /// Returns the namespaces of the pull secret, as Helm reads them.
    fn pull_namespaces(&self) -> Vec<String> {
        pull_namespaces(self.chart.unit).into_iter().filter_map(in_text).collect()
    }

    /// Returns the names of the certificates of cert-manager.
    fn certificates(&self) -> Vec<&str> {
        let certificates = self.chart.unit.of_kind("Certificate");
        let certificates = certificates.filter(|object| object.group() == "cert-manager.io");
        let mut names: Vec<&str> = certificates.map(|object| object.name()).collect();
        names.sort_unstable();
        names
    }
}

/// Returns the namespaces of the pull secret, which are those in which the chart can create it.
pub(super) fn pull_namespaces(unit: &Unit) -> Vec<&Value> {
    let secrets = unit.objects.iter().filter(|o| o.origin == Origin::Added(PULL_SECRET));
    secrets.filter_map(|secret| secret.metadata("namespace")).collect()
}

//! README.md and NOTES.txt of the charts NAME-crds and NAME-operands.

use super::notes::CLIENT_SIDE_LIMIT;
use super::{DocumentedChart, Part, crd_docs, gates, readme, steps, switches, uninstall};
use crate::config::Source;
use crate::documents::{self, RELEASE, filters};
use crate::ir::Object;
use crate::overlay;
use crate::yaml::in_text;
use askama::Template;

/// Returns README.md and NOTES.txt of the chart NAME-crds.
pub(super) fn crds(chart: &DocumentedChart<'_>) -> (String, String) {
    (documents::file(CrdsReadme { chart }), documents::file(CrdsNotes { chart }))
}

#[derive(Template)]
#[template(path = "chart/documents/readme_crds.md")]
struct CrdsReadme<'a> {
    chart: &'a DocumentedChart<'a>,
}

#[derive(Template)]
#[template(path = "chart/documents/notes_crds.txt", syntax = "notes")]
struct CrdsNotes<'a> {
    chart: &'a DocumentedChart<'a>,
}

/// Returns README.md and NOTES.txt of the chart NAME-operands.
pub(super) fn operands(chart: &DocumentedChart<'_>) -> (String, String) {
    (documents::file(OperandsReadme { chart }), documents::file(OperandsNotes { chart }))
}

#[derive(Template)]
#[template(path = "chart/documents/readme_operands.md")]
struct OperandsReadme<'a> {
    chart: &'a DocumentedChart<'a>,
}

#[derive(Template)]
#[template(path = "chart/documents/notes_operands.txt", syntax = "notes")]
struct OperandsNotes<'a> {
    chart: &'a DocumentedChart<'a>,
}

impl OperandsNotes<'_> {
    /// Returns the namespace, resource and name of each custom resource, for `kubectl get`.
    fn resources(&self) -> Vec<(Option<String>, String, &str)> {
        let mut objects: Vec<&Object> = self.chart.unit.objects.iter().collect();
        objects.sort_by_key(|object| object.id());
        // Switches have several objects of one name, of which one is rendered.
        objects.dedup_by_key(|object| object.id());
        // Only custom resources have a status that the operator sets.
        let is_custom =
            |object: &&Object| object.group().contains('.') && !object.group().ends_with(".k8s.io");
        let named = objects.into_iter().filter(|object| !object.name().is_empty());
        let resources = named.filter(is_custom).filter_map(|object| {
            let namespace = match object.metadata("namespace") {
                Some(namespace) => Some(in_text(namespace)?),
                None => None,
            };
            let resource = format!("{}.{}", object.kind().to_lowercase(), object.group());
            Some((namespace, resource, object.name()))
        });
        resources.collect()
    }
}

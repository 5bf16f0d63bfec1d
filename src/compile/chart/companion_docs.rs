//! README.md and NOTES.txt of the charts NAME-crds and NAME-operands.

use super::notes::CLIENT_SIDE_LIMIT;
use super::{DocumentedChart, Part, crd_docs, gates, readme, uninstall};
use crate::config::Source;
use crate::documents::{RELEASE, filters};
use crate::ir::Object;
use crate::overlay;
use crate::yaml::in_text;
use askama::Template;

/// README.md of the chart NAME-crds.
#[derive(Template)]
#[template(path = "chart/documents/readme_crds.md")]
pub(super) struct CrdsReadme<'a> {
    pub(super) chart: &'a DocumentedChart<'a>,
}

/// NOTES.txt of the chart NAME-crds.
#[derive(Template)]
#[template(path = "chart/documents/notes_crds.txt", syntax = "notes")]
pub(super) struct CrdsNotes<'a> {
    pub(super) chart: &'a DocumentedChart<'a>,
}

/// README.md of the chart NAME-operands.
#[derive(Template)]
#[template(path = "chart/documents/readme_operands.md")]
pub(super) struct OperandsReadme<'a> {
    pub(super) chart: &'a DocumentedChart<'a>,
}

/// NOTES.txt of the chart NAME-operands.
#[derive(Template)]
#[template(path = "chart/documents/notes_operands.txt", syntax = "notes")]
pub(super) struct OperandsNotes<'a> {
    pub(super) chart: &'a DocumentedChart<'a>,
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

//! No two objects are the same one, and every name fits.

use super::Context;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Object, ObjectId, Unit};
use indexmap::IndexMap;

/// Refuses two objects with one identity, and names longer than the API server takes.
pub(super) fn names(unit: &mut Unit, _: &Context, diagnostics: &mut Diagnostics) {
    let mut seen: IndexMap<ObjectId, &Object> = IndexMap::new();
    for object in &unit.objects {
        if let Some(first) = seen.insert(object.id(), object) {
            diagnostics.push(
                Diagnostic::error(
                    Code::DuplicateObject,
                    format!("the chart would hold {} twice", object.label()),
                )
                .at(object.place())
                .related(first.place(), "the first one")
                .hint("exclude one of them with a filter"),
            );
        }
        let limit = if object.kind() == "Service" { 63 } else { 253 };
        if object.name().len() > limit {
            diagnostics.push(
                Diagnostic::error(
                    Code::InvalidName,
                    format!(
                        "the name of {} has {} characters; Kubernetes takes {limit}",
                        object.label(),
                        object.name().len()
                    ),
                )
                .at(object.place().path(".metadata.name"))
                .hint("the API server would refuse the object; exclude it with a filter, or give it a shorter name"),
            );
        }
    }
}

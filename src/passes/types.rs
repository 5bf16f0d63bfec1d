//! Objects have the types that the API server reads them with.

use super::Context;
use crate::bundle::{api_version, object_misfits};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Object, Origin, Release, Unit};

const QUOTES: &str = "put the value in quotes, where it stands or with a `[[bundle.patch]]`";

/// Refuses objects of Kubernetes' own kinds whose fields have types that it does not read, and
/// tells of versions that it has no longer.
pub(super) fn types(unit: &mut Unit, _: &Context, diagnostics: &mut Diagnostics) {
    let values = unit.default_values();
    let release = Release { namespace: "namespace", values: &values };
    for object in unit.objects.iter().filter(|object| is_given(object)) {
        let Some(version) = api_version(object.group(), object.kind()) else { continue };
        if version != object.api_version() {
            // Where CRDs are read, this is said of them.
            if object.kind() == "CustomResourceDefinition" {
                continue;
            }
            diagnostics.push(
                Diagnostic::warning(
                    Code::ApiRefuses,
                    format!(
                        "{} has the apiVersion {}, which Kubernetes removed; it has {version}",
                        object.label(),
                        object.api_version()
                    ),
                )
                .at(object.place_at(".apiVersion"))
                .hint(way_out(object)),
            );
            continue;
        }
        for misfit in release.object(object).map(object_misfits).unwrap_or_default() {
            diagnostics.push(
                Diagnostic::error(
                    Code::ObjectFieldType,
                    format!("`{}` of {} does not fit: {}", misfit.path, object.label(), misfit.why),
                )
                .at(object.place_at(&misfit.path))
                .hint(if misfit.lacks_quotes() { QUOTES } else { way_out(object) }),
            );
        }
    }
}

/// Whether somebody else wrote the object, or the CSV that it is made from.
pub(super) fn is_given(object: &Object) -> bool {
    !matches!(object.origin, Origin::Stub | Origin::Added(_))
}

/// What to do with an object that the API server refuses.
pub(super) fn way_out(object: &Object) -> &'static str {
    match object.origin {
        Origin::Overlay { .. } => "the API server would refuse it: correct the overlay",
        _ => {
            "the API server would refuse it: put it right with a `[[bundle.patch]]`, or leave it \
             out with `exclude`"
        }
    }
}

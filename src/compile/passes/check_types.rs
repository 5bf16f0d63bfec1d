//! Objects have the types and fields that the API server reads them with.

use super::Context;
use crate::bundle::{check_object, is_plain_schema, served_version};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::fields::{map_mut, maps_mut};
use crate::ir::{Map, Object, Origin, Release, Unit, Value, path_of};

/// Rejects built-in objects with fields of the wrong type, drops unknown fields, and reports missing
/// ones, and values that a field does not allow.
///
/// Runs first, when objects are still as written: the other passes see what the API server sees.
pub(super) fn check_types(unit: &mut Unit, _: &Context, diagnostics: &mut Diagnostics) {
    let values = unit.default_values();
    // Any name will do: only types are compared.
    let release = Release { namespace: "namespace", values: &values };
    for object in unit.objects.iter_mut().filter(|object| is_given(object)) {
        let Some(version) = served_version(object.api_version(), object.kind()) else { continue };
        if version != object.api_version() {
            continue;
        }
        let plain = take_plain_schemas(object);
        let found = release.object(object).map(check_object).unwrap_or_default();
        let places = schemas(object).zip(plain);
        places.for_each(|(place, plain)| plain.into_iter().for_each(|schema| *place = schema));
        // Removed here, so that strict clients (`kubectl --validate=strict`, server-side apply)
        // accept the object.
        for steps in &found.unknown_fields {
            diagnostics.push(unknown_field(object, &path_of(steps)));
            object.remove(steps);
        }
        for (path, what) in found.refusals() {
            let warning = Diagnostic::warning(Code::ApiRefuses, format!("{object} {what}"));
            diagnostics.push(rejected(warning, object, &path));
        }
        for mismatch in found.mismatches {
            let message =
                format!("`{}` of {object} has the wrong type: {}", mismatch.path, mismatch.why);
            let error = Diagnostic::error(Code::ObjectFieldType, message);
            let error = rejected(error, object, &mismatch.path);
            diagnostics.push(match mismatch.spelling() {
                Some(spelling) => {
                    error.hint(format!("{spelling}, in the source or with a `[[bundle.patch]]`"))
                }
                None => error,
            });
        }
    }
}

/// Replaces the schemas that need no check by empty ones, and returns them; `None` for others. They are
/// nearly all bytes of a bundle, and need no copy as JSON.
fn take_plain_schemas(object: &mut Object) -> Vec<Option<Value>> {
    let taken = schemas(object).map(|schema| {
        is_plain_schema(schema).then(|| std::mem::replace(schema, Map::new().into()))
    });
    taken.collect()
}

/// Returns the schemas of the versions of a CRD.
pub(super) fn schemas(object: &mut Object) -> impl Iterator<Item = &mut Value> {
    let is_crd = object.kind() == "CustomResourceDefinition";
    let spec = map_mut(&mut object.root, &["spec"]).filter(|_| is_crd);
    let versions = spec.into_iter().flat_map(|spec| maps_mut(spec, "versions"));
    versions.filter_map(|version| map_mut(version, &["schema"])?.get_mut("openAPIV3Schema"))
}

/// Reports an unknown field. OLM drops unknown fields of CSVs and CRDs, and the API server those of
/// any object, except with server-side apply (Helm 4), which rejects the object. In overlays it is
/// an error, because users can fix them.
fn unknown_field(object: &Object, path: &str) -> Diagnostic {
    let message = format!("{object} has unknown field `{path}`");
    let diagnostic = match object.origin {
        Origin::Overlay { .. } => Diagnostic::error(Code::OverlayInvalid, message)
            .hint("fix its name or place, or remove it: the API server would drop or reject it"),
        _ => Diagnostic::note(Code::IgnoredField, format!("{message}; it is dropped"))
            .hint("if it is only in the wrong place, move it with a `[[bundle.patch]]`"),
    };
    diagnostic.at(object.place_at(path))
}

/// Returns true if the object, or the CSV that it is generated from, is input.
pub(super) fn is_given(object: &Object) -> bool {
    !matches!(object.origin, Origin::Stub | Origin::Added(_))
}

/// Adds the path of an object that the API server rejects, and the remedy.
pub(super) fn rejected(found: Diagnostic, object: &Object, path: &str) -> Diagnostic {
    let remedy = match object.origin {
        Origin::Overlay { .. } => "fix the manifest",
        _ => "fix it with a `[[bundle.patch]]`, or remove it with `exclude`",
    };
    found.at(object.place_at(path)).hint(format!("{remedy}: the API server would reject it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::sample;

    const SERVICES: &str = "
apiVersion: v1
kind: Service
metadata: {name: widget}
spec: {ports: [{port: 80}], selector: {app: [widget]}}
---
apiVersion: v1
kind: Service
metadata: {name: metrics}
spec: {ports: [{port: 80, target: 8080}]}
";

    #[test]
    fn unknown_fields_are_removed() {
        let mut unit = sample::bundle(SERVICES);
        check_types(&mut unit, &Context::default(), &mut Diagnostics::new());
        let object = Release::LITERAL.object(&unit.objects[1]).unwrap();
        assert_eq!(object["spec"], serde_json::json!({"ports": [{"port": 80}]}));
    }

    #[test]
    fn hints_say_where_an_object_is_fixed() {
        let found = |mut unit: Unit| {
            let mut diagnostics = Diagnostics::new();
            check_types(&mut unit, &Context::default(), &mut diagnostics);
            let line = |found: &Diagnostic| {
                let hint = found.hint.clone().unwrap_or_default();
                format!("{}: {}\n  {hint}\n", found.severity.as_str(), found.message)
            };
            diagnostics.iter().map(line).collect::<String>()
        };
        insta::assert_snapshot!(found(sample::bundle(SERVICES)), @r"
        error: `.spec.selector.app` of Service/widget has the wrong type: it must be a string, but it is a list
          fix it with a `[[bundle.patch]]`, or remove it with `exclude`: the API server would reject it
        note: Service/metrics has unknown field `.spec.ports[0].target`; it is dropped
          if it is only in the wrong place, move it with a `[[bundle.patch]]`
        ");
        insta::assert_snapshot!(found(sample::overlay(SERVICES)), @r"
        error: `.spec.selector.app` of Service/widget has the wrong type: it must be a string, but it is a list
          fix the manifest: the API server would reject it
        error: Service/metrics has unknown field `.spec.ports[0].target`
          fix its name or place, or remove it: the API server would drop or reject it
        ");

        // Users cannot fix the objects that this program adds.
        for origin in [Origin::Added("auth-reader"), Origin::Stub] {
            let mut unit = sample::bundle(SERVICES);
            unit.objects.iter_mut().for_each(|object| object.origin = origin.clone());
            assert_eq!(found(unit), "");
        }
    }
}

//! Validates overlays, and custom resources of the bundle, against the CRDs of the same charts:
//! finds at build time what the API server would reject on installation.

use super::definitions::{Definition, Definitions};
use super::schema;
use crate::config::CrdPlacement;
use crate::diag::{Code, Diagnostic, Diagnostics, Severity, suggest};
use crate::fields::{is_true, list, text};
use crate::ir::{Object, Origin, Phase, Scope, Scopes, dns_subdomain};
use crate::kinds::{is_built_in, scope_of};

/// The API group of OLM.
const OLM: &str = "operators.coreos.com";
/// Findings about one object that are shown; more of them have one reason.
const MOST_FINDINGS: usize = 20;

/// Checks the overlays among `objects`, and the bundle's own custom resources, before they contain
/// expressions. `unknown_kinds` is the severity for objects of the operator's release whose kind no
/// CRD here defines.
pub fn check(
    objects: &[Object],
    placement: CrdPlacement,
    scopes: &Scopes,
    unknown_kinds: Severity,
    diagnostics: &mut Diagnostics,
) {
    let definitions = Definitions::of(objects.iter());
    let scopes = definitions.scopes(scopes);
    let overlays = objects.iter().filter(|o| matches!(o.origin, Origin::Overlay { .. }));
    for object in overlays {
        if object.group() == OLM {
            let message = format!("{object} is an OLM object, which charts do not use");
            diagnostics.push(invalid(object, "", message, "remove it".to_owned()));
        }
        if scope_of(object.group(), object.kind(), &scopes) == Some(Scope::Cluster) {
            no_namespace(object, diagnostics);
        }
        match definitions.of_object(object) {
            Some(definition) => {
                custom(object, definition, diagnostics);
                together(object, definition, placement, diagnostics);
            }
            None if is_built_in(object) || object.group() == OLM => {}
            None => unknown(object, &definitions, unknown_kinds, diagnostics),
        }
    }

    for object in objects.iter().filter(|object| is_shipped(object)) {
        if let Some(definition) = definitions.of_object(object) {
            custom(object, definition, diagnostics);
        }
    }
}

/// Returns why a custom resource for the chart of operands is refused: `objects` have its CRD.
pub(crate) fn refused_resource(resource: &Object, objects: &[Object]) -> Vec<String> {
    let definitions = Definitions::of(objects.iter());
    let mut found = Diagnostics::new();
    if let Some(definition) = definitions.of_object(resource) {
        if definition.scope == Scope::Cluster {
            no_namespace(resource, &mut found);
        }
        custom(resource, definition, &mut found);
    }

    let label = format!("{resource}: ");
    let messages = found.iter().map(|found| &found.message);
    let messages = messages.map(|message| message.strip_prefix(&label).unwrap_or(message));
    let mut faults: Vec<String> = messages.map(str::to_owned).collect();
    if let Err(fault) = dns_subdomain(resource.name()) {
        faults.insert(0, format!("invalid name `{}`: {fault}", resource.name()));
    }
    faults
}

/// Returns the custom resources that require the CRDs of their kinds in an earlier release, before
/// they contain expressions.
pub fn kept_apart(objects: &[Object]) -> impl Iterator<Item = &Object> {
    let definitions = Definitions::of(objects.iter());
    objects.iter().filter(move |object| {
        let Some(definition) = definitions.of_object(object) else { return false };
        let crd = definition.crd;
        // Stubs are in a separate chart already, and CRDs with expressions cannot be moved.
        let movable = crd.origin != Origin::Stub && !crd.has_expression();
        movable && object.phase != Phase::Operand && crd.phase != Phase::Operand
    })
}

fn is_shipped(object: &Object) -> bool {
    matches!(object.origin, Origin::File { .. })
}

/// Reports an invalid object: an error in overlays, a warning in shipped objects, which are not
/// changed.
fn invalid(object: &Object, path: &str, message: String, hint: String) -> Diagnostic {
    let diagnostic = if is_shipped(object) {
        Diagnostic::warning(Code::ApiRefuses, message)
    } else {
        Diagnostic::error(Code::OverlayInvalid, message)
    };
    diagnostic.at(object.place().path(path)).hint(hint)
}

fn no_namespace(object: &Object, diagnostics: &mut Diagnostics) {
    if object.metadata("namespace").is_some() {
        let message = format!("{object} has a namespace, but its kind is cluster-scoped");
        let hint = "remove `metadata.namespace`".to_owned();
        diagnostics.push(invalid(object, ".metadata.namespace", message, hint));
    }
}

/// Checks a custom resource against its CRD.
fn custom(object: &Object, definition: &Definition<'_>, diagnostics: &mut Diagnostics) {
    let versions = list(definition.crd.at(&["spec", "versions"])).iter();
    let served = versions.filter(|version| is_true(version, "served"));
    let wanted = object.api_version().rsplit('/').next().unwrap_or_default();
    let Some(version) = served.clone().find(|version| text(version, "name") == Some(wanted)) else {
        let served: Vec<&str> = served.filter_map(|version| text(version, "name")).collect();
        let message = format!("{} does not serve version `{wanted}`", definition.crd.label());
        let hint = suggest::hint(wanted, &served, "served versions");
        let diagnostic = invalid(object, ".apiVersion", message, hint);
        diagnostics.push(diagnostic.related(definition.crd.place(), "the definition"));
        return;
    };

    // An empty map turns the subresource on, null does not.
    let has_status = version.at(&["subresources", "status"]).is_some_and(|it| !it.is_null());
    if has_status && object.root.contains_key("status") && !is_shipped(object) {
        let message =
            format!("{object}: `status` is set by the operator and dropped by the API server");
        diagnostics.push(invalid(object, ".status", message, "remove `status`".to_owned()));
    }

    let Some(schema) = version.at(&["schema", "openAPIV3Schema"]) else { return };
    let mut faults = schema::validate(schema, &object.root);
    // A field that the API server drops has never had an effect for the vendor's users.
    faults.retain(|fault| !(fault.dropped && is_shipped(object)));
    // With the subresource the API server ignores the status of an object that is created.
    faults.retain(|fault| !(has_status && fault.path.starts_with(".status")));
    // A wrong kind or version makes nearly every field a fault.
    let more = faults.len().saturating_sub(MOST_FINDINGS);
    for fault in faults.into_iter().take(MOST_FINDINGS) {
        let message = format!("{object}: {fault}");
        diagnostics.push(invalid(object, &fault.path, message, fault.hint));
    }

    if more > 0 {
        let message = format!("{object}: {more} more errors");
        diagnostics.push(invalid(object, "", message, "check the kind of this object".to_owned()));
    }
}

/// Reports custom resources in the same release as their CRD: Helm looks up all kinds of a release
/// before it creates any object.
fn together(
    object: &Object,
    definition: &Definition<'_>,
    placement: CrdPlacement,
    diagnostics: &mut Diagnostics,
) {
    let crd = definition.crd;
    // Stubs have a chart of their own, which is installed before.
    let first =
        crd.origin == Origin::Stub || placement != CrdPlacement::Templates && !crd.has_expression();
    let late = match (object.phase, crd.phase) {
        (_, Phase::Operand) => true,
        (Phase::Operand, _) => false,
        _ => !first,
    };
    if late {
        let message = format!("{object} would be installed in the same release as its CRD");
        let remedy = if object.phase == Phase::Operand {
            "use an earlier phase for the CRD"
        } else {
            "set phase = \"operand\", or move the CRDs out of the templates with `crds`"
        };
        let why = "Helm looks up all kinds of a release before it creates any object";
        let found = object.error(Code::OverlayPhase, message).hint(format!("{remedy}: {why}"));
        let related = "the CRD, which is a template of the same chart or a later one";
        diagnostics.push(found.related(crd.place(), related));
    }
}

/// Reports a kind that no CRD of the chart defines.
fn unknown(
    object: &Object,
    definitions: &Definitions<'_>,
    severity: Severity,
    diagnostics: &mut Diagnostics,
) {
    let kinds = definitions.kinds().filter(|(group, _)| *group == object.group());
    let kinds: Vec<&str> = kinds.map(|(_, kind)| kind).collect();
    if let Some(kind) = suggest::nearest(object.kind(), &kinds) {
        let message = format!("no CRD here defines kind `{}` of {}", object.kind(), object.group());
        diagnostics.push(invalid(object, ".kind", message, format!("did you mean `{kind}`?")));
        return;
    }

    let message = format!("{object} is not validated: no CRD here defines its kind");
    let diagnostic = match (object.phase, severity) {
        (Phase::Operand, _) | (_, Severity::Note) => object.note(Code::OverlayUnchecked, message),
        (Phase::Before | Phase::With, _) => object.warning(Code::OverlayUnchecked, message).hint(
            "if the operator installs the CRD, set phase = \"operand\": Helm rejects a release \
                with an unknown kind",
        ),
    };

    diagnostics.push(diagnostic);
}

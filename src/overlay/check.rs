//! Overlays against the CRDs of the same charts: what the API server would say when they are
//! installed is said when they are built. So it is of custom resources that a bundle ships.

use super::definitions::{Definition, Definitions};
use super::scope::is_built_in;
use super::{schema, scope};
use crate::config::CrdPlacement;
use crate::diag::suggest;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Object, Origin, Phase, Scope, Scopes};

/// The API group of OLM.
const OLM: &str = "operators.coreos.com";
/// Findings about one object that are shown; more of them have one reason.
const MOST_FINDINGS: usize = 20;

/// Checks the overlays among `objects`, and the bundle's own custom resources. They hold no
/// expressions yet.
pub fn check(objects: &[Object], placement: CrdPlacement, scopes: &Scopes) -> Diagnostics {
    let definitions = Definitions::of(objects.iter());
    let mut found = Diagnostics::new();
    let overlays = objects.iter().filter(|o| matches!(o.origin, Origin::Overlay { .. }));
    for object in overlays {
        match (object.group(), object.kind()) {
            ("apiextensions.k8s.io", "CustomResourceDefinition") => crd(object, &mut found),
            (OLM, _) => found.push(
                Diagnostic::error(
                    Code::OverlayInvalid,
                    format!("{} is for OLM, which a chart does without", object.label()),
                )
                .at(object.place())
                .hint("remove it from the overlay"),
            ),
            _ => {}
        }
        if scope(object, &definitions, scopes) == Some(Scope::Cluster) {
            no_namespace(object, &mut found);
        }
        match definitions.of_object(object) {
            Some(definition) => {
                custom(object, definition, &mut found);
                together(object, definition, placement, &mut found);
            }
            None if is_built_in(object) || object.group() == OLM => {}
            None => unknown(object, &definitions, &mut found),
        }
    }
    for object in objects.iter().filter(|object| is_shipped(object)) {
        if let Some(definition) = definitions.of_object(object) {
            custom(object, definition, &mut found);
        }
    }
    found
}

/// Returns the custom resources that keep the CRDs of their kinds out of the templates of the same
/// release. They hold no expressions yet.
pub fn kept_apart(objects: &[Object]) -> impl Iterator<Item = &Object> {
    let definitions = Definitions::of(objects.iter());
    objects.iter().filter(move |object| {
        let Some(definition) = definitions.of_object(object) else { return false };
        let crd = definition.crd;
        // A stub is in a chart of its own anyway, and a CRD that Helm renders cannot be.
        let movable = crd.origin != Origin::Stub && !crd.has_expression();
        movable && object.phase != Phase::Operand && crd.phase != Phase::Operand
    })
}

fn is_shipped(object: &Object) -> bool {
    matches!(object.origin, Origin::File { .. })
}

/// What somebody else ships is carried through.
fn invalid(object: &Object, path: &str, message: String, hint: String) -> Diagnostic {
    let diagnostic = if is_shipped(object) {
        Diagnostic::warning(Code::ApiRefuses, message)
    } else {
        Diagnostic::error(Code::OverlayInvalid, message)
    };
    diagnostic.at(object.place().path(path)).hint(hint)
}

fn crd(object: &Object, found: &mut Diagnostics) {
    if object.api_version() != "apiextensions.k8s.io/v1" {
        let message = format!(
            "{} has the version `{}`, which Kubernetes no longer has",
            object.label(),
            object.api_version()
        );
        let hint = "write it for apiextensions.k8s.io/v1".to_owned();
        found.push(invalid(object, ".apiVersion", message, hint));
    }
}

fn no_namespace(object: &Object, found: &mut Diagnostics) {
    if object.metadata("namespace").is_some() {
        let message =
            format!("{} has a namespace, but its kind lives in the cluster", object.label());
        let hint = "remove `metadata.namespace`".to_owned();
        found.push(invalid(object, ".metadata.namespace", message, hint));
    }
}

/// A custom resource against its CRD.
fn custom(object: &Object, definition: &Definition<'_>, found: &mut Diagnostics) {
    let versions: Vec<_> = definition.versions().collect();
    let served: Vec<&str> = versions.iter().filter(|v| v.served).map(|v| v.name).collect();
    let wanted = object.api_version().rsplit('/').next().unwrap_or_default();
    let Some(version) = versions.iter().find(|version| version.name == wanted && version.served)
    else {
        let message = format!("{} has no version `{wanted}`", definition.crd.label());
        let hint = suggest::hint(wanted, &served, "versions that it serves");
        let diagnostic = invalid(object, ".apiVersion", message, hint);
        found.push(diagnostic.related(definition.crd.place(), "the definition"));
        return;
    };
    if version.status && object.root.contains_key("status") && !is_shipped(object) {
        let message = format!(
            "{}: `status` is for the operator; the API server drops it from what is installed",
            object.label()
        );
        found.push(invalid(object, ".status", message, "remove `status`".to_owned()));
    }
    let Some(schema) = version.schema else { return };
    let mut faults = schema::validate(schema, &object.root);
    faults.retain(|fault| !(fault.dropped && is_shipped(object)));
    faults.retain(|fault| !(version.status && fault.path.starts_with(".status")));
    let more = faults.len().saturating_sub(MOST_FINDINGS);
    for fault in faults.into_iter().take(MOST_FINDINGS) {
        let message = format!("{}: `{}` {}", object.label(), fault.shown_path(), fault.message);
        found.push(invalid(object, &fault.path, message, fault.hint));
    }
    if more > 0 {
        let message = format!("{}: {more} more faults are not shown", object.label());
        found.push(invalid(object, "", message, "is it of this kind at all?".to_owned()));
    }
}

/// Helm asks the cluster about all kinds of a release before it makes any object.
fn together(
    object: &Object,
    definition: &Definition<'_>,
    placement: CrdPlacement,
    found: &mut Diagnostics,
) {
    let crd = definition.crd;
    let first = match placement {
        // Stubs have a chart of their own, which is installed before.
        _ if crd.origin == Origin::Stub => true,
        CrdPlacement::Subchart | CrdPlacement::Crds | CrdPlacement::Separate => {
            !crd.has_expression()
        }
        CrdPlacement::Templates => false,
    };
    let late = match (object.phase, crd.phase) {
        (Phase::Operand, Phase::Operand) => true,
        (Phase::Operand, _) => false,
        (_, Phase::Operand) => true,
        _ => !first,
    };
    if late {
        found.push(
            Diagnostic::error(
                Code::OverlayPhase,
                format!("{} would be installed together with the CRD of its kind", object.label()),
            )
            .at(object.place())
            .related(crd.place(), "the CRD, which is a template of the same chart or a later one")
            .hint(if object.phase == Phase::Operand {
                "Helm asks the cluster for all kinds of a release before it makes any object: give the CRD an \
                 earlier phase"
            } else {
                "Helm asks the cluster for all kinds of a release before it makes any object: set \
                 phase = \"operand\", or move the CRDs out of the templates with `crds`"
            }),
        );
    }
}

/// A kind that nothing here defines.
fn unknown(object: &Object, definitions: &Definitions<'_>, found: &mut Diagnostics) {
    let near = suggest::nearest(object.kind(), &definitions.kinds_of(object.group()));
    if let Some(kind) = near {
        let message = format!(
            "no CRD of the bundle defines the kind `{}` of {}",
            object.kind(),
            object.group()
        );
        found.push(invalid(object, ".kind", message, format!("did you mean `{kind}`?")));
        return;
    }
    let message = format!("no CRD of the bundle defines {}, so it is not checked", object.label());
    let diagnostic = match object.phase {
        Phase::Operand => Diagnostic::note(Code::OverlayUnchecked, message),
        Phase::Before | Phase::With => Diagnostic::warning(Code::OverlayUnchecked, message).hint(
            "a cluster that does not know its kind refuses the whole release; if the operator brings the kind, set \
             phase = \"operand\"",
        ),
    };
    found.push(diagnostic.at(object.place()));
}

//! CRDs that belong to a release outlive it.

use super::Context;
use crate::config::CrdPlacement;
use crate::diag::Diagnostics;
use crate::ir::{CRD_REPLACES, CRD_VERSION, Condition, Origin, Phase, Unit, ValueSpec, ValuesPath};

/// Adds `helm.sh/resource-policy: keep` to every CRD that is a template (by configuration, or
/// because it contains an expression): deleting a CRD would delete all its custom resources. Adds
/// the version, so that a chart does not replace a newer CRD unintentionally.
///
/// CRDs that read values are templates of the chart itself, and are disabled together with the CRD
/// subchart.
pub(super) fn keep_crds(unit: &mut Unit, context: &Context, _: &mut Diagnostics) {
    let configured = matches!(context.crds, CrdPlacement::Templates | CrdPlacement::Separate);
    let enabled = crds_enabled();
    let mut switched = false;

    for object in &mut unit.objects {
        // Stub CRDs are in a chart of their own.
        if object.kind() != "CustomResourceDefinition" || object.origin == Origin::Stub {
            continue;
        }
        // Such a CRD is a template, also where the configuration sets another placement.
        let rendered = object.has_expression();
        // Helm never deletes or replaces the files of a `crds/` folder, so they need no annotation.
        if !(configured || rendered || object.phase == Phase::Operand) {
            continue;
        }
        object.annotate("helm.sh/resource-policy", "keep");
        // The version is the bundle's, and overlays change without it.
        if object.phase == Phase::Operand {
            continue;
        }
        object.annotate(CRD_VERSION, &context.crd_version);
        if let Some(later) = &context.replaces_later {
            object.annotate(CRD_REPLACES, later);
        }
        if configured && object.reads_values() {
            object.when = Some(Condition::Set(enabled.path.clone()));
            switched = true;
        }
    }

    if switched {
        unit.values.push(enabled);
    }
}

/// Returns the value that leaves out the CRDs.
pub(crate) fn crds_enabled() -> ValueSpec {
    ValueSpec::switch(
        ValuesPath::new(["crds", "enabled"]),
        true,
        "Install the CRDs with the release. Set to false if they are installed \
                separately: existing CRDs in the cluster are kept and no longer upgraded",
    )
}

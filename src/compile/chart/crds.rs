//! Placement of CRDs in charts.

use super::Part;
use crate::config::CrdPlacement;
use crate::ir::{Object, Origin, Unit, ValueSpec, ValuesPath};
use crate::passes::crds_enabled;
use crate::yaml::{self, CRD_VERSION_TEMPLATE, crd_template};
use std::collections::BTreeMap;

/// Template folder of the CRD subchart.
pub(super) const TEMPLATES: &str = "charts/crds/templates/";
/// CRD folder of the CRD subchart.
pub(super) const SUBCHART: &str = "charts/crds/crds/";
/// CRD folder of the chart itself.
pub(super) const OWN: &str = "crds/";
/// Name of the template file with the version check.
pub(super) const CHECK: &str = "_crds.tpl";

/// CRDs outside of the chart's own `templates/`.
#[derive(Default)]
pub struct Crds {
    /// File contents by path.
    pub(super) files: BTreeMap<String, String>,
    /// Folder of the files, with a trailing slash; empty when there are none.
    folder: &'static str,
    /// Sizes in bytes by CRD name.
    pub(super) sizes: BTreeMap<String, usize>,
}

impl Crds {
    /// Returns true if the object is one of these CRDs.
    pub(super) fn holds(&self, object: &Object) -> bool {
        object.kind() == "CustomResourceDefinition" && self.sizes.contains_key(object.name())
    }

    /// Returns true if the CRDs are in the subchart.
    pub(super) fn are_in_subchart(&self) -> bool {
        self.are_templates() || self.folder == SUBCHART
    }

    /// Returns true if the CRDs are templates of the subchart.
    pub(super) fn are_templates(&self) -> bool {
        self.folder == TEMPLATES
    }

    /// Returns the `crds/` folder, whose CRDs Helm does not upgrade.
    pub(super) fn folder(&self) -> Option<&'static str> {
        (!self.folder.is_empty() && !self.are_templates()).then_some(self.folder)
    }
}

/// Returns the folder for the CRDs of a chart; `None` if all of them are in its `templates/`.
fn folder(part: Part, placement: CrdPlacement) -> Option<&'static str> {
    match (part, placement) {
        (Part::Operands, _) => None,
        (Part::Crds, _) | (Part::Operator, CrdPlacement::Templates | CrdPlacement::Separate) => {
            Some(TEMPLATES)
        }
        (Part::Operator, CrdPlacement::Subchart) => Some(SUBCHART),
        (Part::Operator, CrdPlacement::Crds) => Some(OWN),
    }
}

/// Places the CRDs of a unit and adds the values that control them. CRDs that read values or a
/// certificate of the chart stay in its `templates/`, and so do all with expressions if the others
/// are in a `crds/` folder, which Helm does not render.
///
/// Templates of a subchart need less space in the release Secret: Helm stores only the rendered
/// manifests, not the files.
pub(super) fn place(unit: &mut Unit, part: Part, placement: CrdPlacement) -> Crds {
    let mut crds = Crds::default();
    let Some(folder) = folder(part, placement) else { return crds };

    for crd in unit.objects.iter().filter(|object| is_crd(object)) {
        let is_fixed = match folder {
            // A subchart sees its own values only, but the same release and its namespace.
            TEMPLATES => crd.reads_values(),
            _ => crd.has_expression(),
        };
        if is_fixed {
            continue;
        }
        let text = match folder {
            // In the subchart the path of a value is without the subchart's name.
            TEMPLATES => Ok(crd_template(crd, &ValuesPath::new(["allowDowngrade"]))),
            _ => yaml::plain(&crd.root),
        };
        if let Ok(text) = text {
            crds.folder = folder;
            crds.sizes.insert(crd.name().to_owned(), text.len());
            crds.files.insert(format!("{folder}{}.yaml", crd.name()), text);
        }
    }

    if crds.are_templates() {
        crds.files.insert(format!("{TEMPLATES}{CHECK}"), CRD_VERSION_TEMPLATE.to_owned());
    }
    let own = unit.objects.iter().any(|object| is_crd(object) && !crds.holds(object));
    if own {
        // The subchart's copy is gone when its condition disables it.
        crds.files.insert(format!("templates/{CHECK}"), CRD_VERSION_TEMPLATE.to_owned());
    }

    let enabled = crds_enabled();
    // `keep_crds` has declared it for CRDs that read values.
    if crds.are_templates() && unit.values.iter().all(|value| value.path != enabled.path) {
        unit.values.push(enabled);
    }
    if crds.are_templates() || own {
        unit.values.push(allow_downgrade());
    }
    crds
}

fn is_crd(object: &Object) -> bool {
    object.kind() == "CustomResourceDefinition" && object.origin != Origin::Stub
}

/// Returns the value that allows downgrades.
pub(super) fn allow_downgrade() -> ValueSpec {
    ValueSpec::switch(
        ValuesPath::new(["crds", "allowDowngrade"]),
        false,
        "Allow downgrades of CRDs that a newer version of the operator installed",
    )
}

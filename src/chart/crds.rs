//! Where CRDs go.

use super::Part;
use crate::config::CrdPlacement;
use crate::ir::{Object, Origin, Unit, ValueSpec, ValuesPath};
use crate::passes::crds_enabled;
use crate::yaml::{self, CRD_VERSION_TEMPLATE, crd_template};
use serde_json::json;
use std::collections::BTreeMap;

/// The subchart's templates.
pub(super) const TEMPLATES: &str = "charts/crds/templates/";
/// The subchart's folder of CRDs.
const SUBCHART: &str = "charts/crds/crds/";
/// The chart's own folder of CRDs.
const OWN: &str = "crds/";
/// The file with the check of versions, in a folder of templates.
const CHECK: &str = "_crds.tpl";

/// CRDs that are no templates of the chart itself.
pub(super) struct Crds {
    /// Content by path.
    pub files: BTreeMap<String, String>,
    /// Folder of the files, with a trailing slash; empty when there are none.
    folder: &'static str,
    /// Bytes of each, by its name.
    sizes: BTreeMap<String, usize>,
}

impl Crds {
    /// Whether this object is one of them.
    pub(super) fn holds(&self, object: &Object) -> bool {
        object.kind() == "CustomResourceDefinition" && self.sizes.contains_key(object.name())
    }

    /// The bytes of each, by its name.
    pub(super) fn sizes(&self) -> &BTreeMap<String, usize> {
        &self.sizes
    }

    /// Whether they are in a subchart.
    pub(super) fn are_in_subchart(&self) -> bool {
        self.are_templates() || self.folder == SUBCHART
    }

    /// Whether they are templates of the subchart.
    pub(super) fn are_templates(&self) -> bool {
        self.folder == TEMPLATES
    }

    /// The folder of CRDs that Helm does not upgrade.
    pub(super) fn folder(&self) -> Option<&'static str> {
        (!self.folder.is_empty() && !self.are_templates()).then_some(self.folder)
    }
}

/// Returns the folder of a part's CRDs; nothing when they are all templates of the chart itself.
fn folder(part: Part, placement: CrdPlacement) -> Option<&'static str> {
    match (part, placement) {
        (Part::Operands, _) => None,
        (Part::Crds, _) | (Part::Main, CrdPlacement::Templates | CrdPlacement::Separate) => {
            Some(TEMPLATES)
        }
        (Part::Main, CrdPlacement::Subchart) => Some(SUBCHART),
        (Part::Main, CrdPlacement::Crds) => Some(OWN),
    }
}

/// Splits off the CRDs that are no templates of the chart itself. Those with expressions are, since
/// they need its values and its certificates.
///
/// Templates of a subchart take less of the release Secret: Helm stores what they render to, and not
/// the files.
pub(super) fn place(unit: &mut Unit, part: Part, placement: CrdPlacement) -> Crds {
    let mut crds = Crds { files: BTreeMap::new(), folder: "", sizes: BTreeMap::new() };
    let Some(folder) = folder(part, placement) else { return crds };

    for crd in unit.objects.iter().filter(|object| is_crd(object)) {
        if crd.has_expression() {
            continue;
        }
        let text = match folder {
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
        crds.files.insert(format!("templates/{CHECK}"), CRD_VERSION_TEMPLATE.to_owned());
    }
    let enabled = crds_enabled();
    if crds.are_templates() && unit.values.iter().all(|value| value.path != enabled.path) {
        unit.values.push(enabled);
    }
    if crds.are_templates() || own {
        unit.values.push(allow_downgrade_value());
    }
    crds
}

fn is_crd(object: &Object) -> bool {
    object.kind() == "CustomResourceDefinition" && object.origin != Origin::Stub
}

/// The value that permits a downgrade.
pub(super) fn allow_downgrade() -> ValuesPath {
    ValuesPath::new(["crds", "allowDowngrade"])
}

fn allow_downgrade_value() -> ValueSpec {
    ValueSpec {
        path: allow_downgrade(),
        default: json!(false),
        schema: json!({"type": "boolean"}),
        description: "Replace CRDs of the cluster that are from a newer version of the operator"
            .to_owned(),
    }
}

//! Where CRDs go.

use crate::config::CrdPlacement;
use crate::emit::yaml;
use crate::ir::Object;
use std::collections::{BTreeMap, BTreeSet};

/// Folders of a chart whose CRDs Helm installs before everything else, and never upgrades.
pub const FOLDERS: [&str; 2] = ["charts/crds/crds/", "crds/"];

/// CRDs that are plain files of the chart, outside its templates.
pub(super) struct Crds {
    /// Content by path.
    pub files: BTreeMap<String, String>,
    /// Folder of the files, with a trailing slash; empty when there are none.
    pub folder: &'static str,
    names: BTreeSet<String>,
}

impl Crds {
    /// Whether this object is one of them.
    pub(super) fn holds(&self, object: &Object) -> bool {
        object.kind() == "CustomResourceDefinition" && self.names.contains(object.name())
    }
}

/// Splits off the CRDs that Helm shall install before everything else. CRDs with expressions stay
/// templates, since Helm does not render crds/ folders.
pub(super) fn place(objects: &[Object], placement: CrdPlacement) -> Crds {
    let [subchart, own] = FOLDERS;
    let folder = match placement {
        CrdPlacement::Subchart => subchart,
        CrdPlacement::Crds => own,
        CrdPlacement::Templates => "",
    };
    let mut crds = Crds { files: BTreeMap::new(), folder: "", names: BTreeSet::new() };
    if folder.is_empty() {
        return crds;
    }
    for object in objects.iter().filter(|object| object.kind() == "CustomResourceDefinition") {
        if let Ok(text) = yaml::plain(&object.root) {
            crds.folder = folder;
            crds.names.insert(object.name().to_owned());
            crds.files.insert(format!("{folder}{}.yaml", object.name()), text);
        }
    }
    crds
}

//! Where CRDs go.

use crate::config::CrdPlacement;
use crate::emit::yaml;
use crate::ir::{Object, Origin};
use std::collections::{BTreeMap, BTreeSet};

/// What a chart has in the folders whose CRDs Helm installs before everything else, and never
/// upgrades.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstalledFirst {
    /// The folder with CRDs to upgrade by other means, where there are any: the subchart's or the
    /// chart's own, with a slash at the end.
    pub folder: Option<&'static str>,
    /// Names of the stand-ins, which must not be applied over the real ones.
    pub stubs: Vec<String>,
}

impl InstalledFirst {
    /// Of a chart with files of these paths.
    pub fn of<'p>(paths: impl Iterator<Item = &'p str>) -> Self {
        let mut found = Self::default();
        for path in paths {
            for folder in [SUBCHART, OWN] {
                let Some(name) = path.strip_prefix(folder) else { continue };
                match name.strip_prefix(STUBS) {
                    Some(stub) => found.stubs.push(stub.trim_end_matches(".yaml").to_owned()),
                    None => found.folder = Some(folder),
                }
            }
        }
        found
    }
}

/// The folder of the subchart's CRDs.
pub(super) const SUBCHART: &str = "charts/crds/crds/";
/// The folder of the chart's own.
const OWN: &str = "crds/";

/// In one of these, the folder of stand-ins; Helm looks there too.
const STUBS: &str = "stubs/";

/// CRDs that are plain files of the chart, outside its templates.
pub(super) struct Crds {
    /// Content by path.
    pub files: BTreeMap<String, String>,
    /// Folder of the files, with a trailing slash; empty when there are none.
    pub folder: &'static str,
    /// Names of those that stand in for CRDs of other projects.
    pub stubs: BTreeSet<String>,
    names: BTreeSet<String>,
}

impl Crds {
    /// Whether this object is one of them.
    pub(super) fn holds(&self, object: &Object) -> bool {
        object.kind() == "CustomResourceDefinition" && self.names.contains(object.name())
    }
}

/// Splits off the CRDs that Helm shall install before everything else. CRDs with expressions stay
/// templates, since Helm does not render crds/ folders. Stand-ins are always there, because Helm
/// leaves a CRD of such a folder alone when the cluster has it already.
pub(super) fn place(objects: &[Object], placement: CrdPlacement) -> Crds {
    let (folder, all) = match placement {
        CrdPlacement::Subchart => (SUBCHART, true),
        CrdPlacement::Crds => (OWN, true),
        CrdPlacement::Templates | CrdPlacement::Separate => (OWN, false),
    };
    let mut crds =
        Crds { files: BTreeMap::new(), folder: "", stubs: BTreeSet::new(), names: BTreeSet::new() };
    for object in objects.iter().filter(|object| object.kind() == "CustomResourceDefinition") {
        let stub = object.origin == Origin::Stub;
        if !(all || stub) || object.when.is_some() {
            continue;
        }
        if let Ok(text) = yaml::plain(&object.root) {
            crds.folder = folder;
            crds.names.insert(object.name().to_owned());
            // `kubectl apply -f FOLDER` leaves folders in it alone, and so the real ones.
            let below = if stub { STUBS } else { "" };
            crds.files.insert(format!("{folder}{below}{}.yaml", object.name()), text);
            if stub {
                crds.stubs.insert(object.name().to_owned());
            }
        }
    }
    crds
}

//! Objects that several charts of a configuration have, such as CRDs of the ACK controllers.

use super::Member;
use crate::diag::{Code, Diagnostic, Diagnostics, join, listed};
use crate::ir::Identity;
use std::collections::BTreeMap;

/// Maximum number of objects that a hint has a filter for.
const FILTERED: usize = 4;

/// Reports a warning for each chart with objects that an earlier one also has: Helm refuses to install
/// an object that another release owns (Helm: `pkg/action`, `existingResourceConflict`).
pub(super) fn check(members: &[Member<'_>], diagnostics: &mut Diagnostics) {
    let mut owners: BTreeMap<&Identity, &Member<'_>> = BTreeMap::new();
    for member in members {
        let mut shared: BTreeMap<&str, Vec<&Identity>> = BTreeMap::new();
        for object in &member.objects {
            match owners.get(object) {
                Some(owner) => shared.entry(&owner.config.name).or_default().push(object),
                None => {
                    owners.insert(object, member);
                }
            }
        }
        let start = diagnostics.mark();
        diagnostics.extend(shared.iter().map(|(owner, objects)| warning(owner, objects)));
        diagnostics.name_bundle(start, &member.config.name);
    }
}

fn warning(owner: &str, objects: &[&Identity]) -> Diagnostic {
    let names = listed(objects.iter().map(|id| format!("{}/{}", id.kind, id.name)), FILTERED);
    let verb = if objects.len() == 1 { "is" } else { "are" };
    let message = format!(
        "{names} {verb} also in `{owner}`: Helm refuses to install objects that another release owns"
    );
    let hint = if objects.iter().all(|id| id.kind == "Namespace") {
        "write createNamespaces: false in the values of one of them, or exclude the Namespace"
            .to_owned()
    } else if objects.len() > FILTERED {
        "install the charts in different clusters, or exclude the objects in one of them".to_owned()
    } else {
        let filter = |id: &&Identity| {
            format!(".kind == \"{}\" and .metadata.name == \"{}\"", id.kind, id.name)
        };
        let filters = join(objects.iter().map(filter), " or ");
        format!("keep each object in one chart; in the others write exclude = ['{filters}']")
    };
    Diagnostic::warning(Code::SharedObject, message).hint(hint)
}

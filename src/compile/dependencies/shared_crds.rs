//! CRDs that several bundles of a configuration ship, as the ACK controllers do.

use super::Member;
use crate::diag::{Code, Diagnostic, Diagnostics, join, quoted};
use std::collections::BTreeMap;

/// Reports a warning for each bundle whose CRDs an earlier one also ships: Helm refuses to install
/// an object that another release owns (Helm: `pkg/action`, `existingResourceConflict`).
pub(super) fn check(members: &[Member<'_>], diagnostics: &mut Diagnostics) {
    let mut owners: BTreeMap<&str, &Member<'_>> = BTreeMap::new();
    for member in members {
        let mut shared: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for crd in &member.crds {
            match owners.get(crd.as_str()) {
                Some(owner) => shared.entry(&owner.config.name).or_default().push(crd),
                None => {
                    owners.insert(crd, member);
                }
            }
        }
        let start = diagnostics.mark();
        diagnostics.extend(shared.iter().map(|(owner, crds)| warning(owner, crds)));
        diagnostics.name_bundle(start, &member.config.name);
    }
}

fn warning(owner: &str, crds: &[&str]) -> Diagnostic {
    let names = quoted(crds).join(", ");
    let (these, verb) = if crds.len() == 1 { ("CRD", "is") } else { ("CRDs", "are") };
    let filter = join(crds.iter().map(|name| format!(".metadata.name == \"{name}\"")), " or ");
    let message = format!(
        "{these} {names} {verb} also in `{owner}`: Helm refuses to install objects that another release owns"
    );
    let hint = format!("ship each CRD in one bundle; in the others write exclude = ['{filter}']");
    Diagnostic::warning(Code::SharedCrd, message).hint(hint)
}

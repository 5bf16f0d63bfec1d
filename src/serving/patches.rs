//! `[[serving.patch]]`: changes the objects of a model by jq.

use super::*;
use jq::{Purpose, Session};

/// Applies the patches to the objects as they are with the default values. Reports patches that fail.
pub(super) fn apply(unit: &mut Unit, config: &ServingConfig, diagnostics: &mut Diagnostics) {
    let programs = config
        .patches
        .iter()
        .flat_map(|patch| [(Purpose::Filter, &patch.matches), (Purpose::Patch, &patch.patch)])
        .map(|(purpose, filter)| (purpose, filter.text.clone()))
        .collect();
    let mut session = match Session::start(programs) {
        Ok(session) => session,
        Err(error) => {
            let message = format!("cannot start a process for jq: {error}");
            diagnostics.push(Diagnostic::error(Code::FilterFailed, message));
            return;
        }
    };

    let values = unit.default_values();
    let release = Release { namespace: &config.namespace, values: &values };
    let objects = std::mem::take(&mut unit.objects);
    let patched = overlay::patch(objects, &config.patches, &release, &mut session, 0, diagnostics);
    unit.objects = patched.objects;
}

//! Compiles one `[[serving]]` table: its objects, changed by its patches, and checked.

use crate::config::ServingConfig;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Release, Unit};
use crate::jq::{Purpose, Session};
use crate::{overlay, serving};

/// Returns the objects and values of a model; `None` if its parallelism is invalid, or after errors of
/// patches. Patched objects are held against the same invariants as others.
pub(super) fn compile(config: &ServingConfig, diagnostics: &mut Diagnostics) -> Option<Unit> {
    let mut unit = serving::compile(config, diagnostics)?;
    if !config.patches.is_empty() {
        let start = diagnostics.mark();
        patch(&mut unit, config, diagnostics);
        if diagnostics.has_errors_since(start) {
            return None;
        }
    }
    Some(unit)
}

/// Applies the patches to the objects as they are with the default values.
fn patch(unit: &mut Unit, config: &ServingConfig, diagnostics: &mut Diagnostics) {
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

//! Writes `[[bundle]]` tables for operators that are installed today: by OLM ([`subscriptions`]), or
//! with a hand-made chart ([`hand_made`]). What cannot be carried over is reported by name.

mod changes;
mod hand_made;
mod inline;
mod operands;
mod subscriptions;

pub(crate) use hand_made::hand_made;
pub(crate) use subscriptions::{Installed, subscriptions};

use crate::diag::{Code, Diagnostic, Diagnostics, Place};

/// Reports something that bundles.toml does not have after the migration.
fn left_out(file: &str, object: &str, message: String, hint: &str, diagnostics: &mut Diagnostics) {
    let place = Place::file(file).object(object.to_owned());
    let message = format!("{object}: {message}");
    diagnostics.push(Diagnostic::warning(Code::NotMigrated, message).at(place).hint(hint));
}

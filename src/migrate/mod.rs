//! Writes `[[bundle]]` tables for operators that are installed today: by OLM ([`subscriptions`]), or
//! with a hand-made chart ([`hand_made`]). What cannot be carried over is reported by name.

mod changes;
mod hand_made;
mod inline;
mod operands;
mod subscriptions;

pub(crate) use hand_made::{HandMade, hand_made};
pub(crate) use subscriptions::{Installed, subscriptions};

use crate::add;
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use std::path::Path;

/// The result of a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Migrated {
    /// Names of the new bundles.
    pub names: Vec<String>,
    /// The new tables.
    pub tables: String,
    /// The whole new text of the configuration.
    pub text: String,
}

/// Returns the configuration at `path` with these tables; `None` if it is invalid.
fn appended(
    path: &Path,
    names: Vec<String>,
    tables: String,
    diagnostics: &mut Diagnostics,
) -> Option<Migrated> {
    let text = add::read(path, diagnostics)?;
    let text = add::with_tables(path, text, &tables, diagnostics)?;
    Some(Migrated { names, tables, text })
}

/// Reports something that bundles.toml does not have after the migration.
fn left_out(file: &str, object: &str, message: String, hint: &str, diagnostics: &mut Diagnostics) {
    let place = Place::file(file).object(object.to_owned());
    let message = format!("{object}: {message}");
    diagnostics.push(Diagnostic::warning(Code::NotMigrated, message).at(place).hint(hint));
}

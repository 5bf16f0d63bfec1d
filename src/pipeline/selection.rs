//! Selects the bundles and models that a command names.

use super::Inputs;
use super::threads::for_each;
use crate::config::{BundleConfig, Config, ServingConfig};
use crate::diag::{Code, Diagnostic, Diagnostics, Place, Span, suggest};

/// A table of the configuration that becomes charts.
pub(super) enum Selected<'c> {
    Bundle(&'c BundleConfig),
    Model(&'c ServingConfig),
}

impl<'c> Selected<'c> {
    /// Returns its name, which findings about it carry.
    pub(super) fn name(&self) -> &'c str {
        match self {
            Selected::Bundle(bundle) => &bundle.name,
            Selected::Model(model) => &model.name,
        }
    }
}

/// Applies `work` to the named bundles and models, in the order of the configuration and bundles first:
/// to all when nothing is named, and to none, with errors, when any name is unknown. Returns the results
/// in this order.
pub(super) fn for_each_selected<'c, R: Send>(
    inputs: &Inputs<'c>,
    names: &[String],
    diagnostics: &mut Diagnostics,
    work: impl Fn(&Selected<'c>, &mut Diagnostics) -> Option<R> + Sync,
) -> Vec<R> {
    let config = inputs.config;
    if !check(names, &config.tables().collect::<Vec<_>>(), diagnostics) {
        return Vec::new();
    }
    let bundles = config.bundles.iter().map(Selected::Bundle);
    let all = bundles.chain(config.servings.iter().map(Selected::Model));
    let is_named = |one: &Selected<'_>| names.iter().any(|name| name == one.name());
    let selected: Vec<_> = all.filter(|one| names.is_empty() || is_named(one)).collect();
    for_each(&selected, inputs.jobs, |one| one.name(), diagnostics, work)
}

/// Returns the named bundles in the order of the configuration, all when nothing is named, and
/// `None`, with errors, when no bundle has a name. Models have no lock entries.
pub fn select_bundles<'c>(
    config: &'c Config,
    names: &[String],
    diagnostics: &mut Diagnostics,
) -> Option<Vec<&'c BundleConfig>> {
    let bundles = config.bundles.iter().map(|bundle| (bundle.name.as_str(), &bundle.span));
    if !check(names, &bundles.collect::<Vec<_>>(), diagnostics) {
        return None;
    }
    let is_named = |bundle: &&BundleConfig| names.is_empty() || names.contains(&bundle.name);
    Some(config.bundles.iter().filter(is_named).collect())
}

/// Returns true if all names are known.
fn check(names: &[String], known: &[(&str, &Span)], diagnostics: &mut Diagnostics) -> bool {
    let place = known
        .first()
        // Arguments are not in the file, so an unknown name is reported for the whole file.
        .map_or_else(Place::default, |(_, span)| Place::file(span.source.name.clone()));
    let known: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let unknown: Vec<&String> =
        names.iter().filter(|name| !known.contains(&name.as_str())).collect();
    diagnostics.extend(unknown.iter().map(|name| unknown_bundle(name, &known, place.clone())));
    unknown.is_empty()
}

/// Returns the error about a name that is none of the known ones.
pub(crate) fn unknown_bundle(name: &str, known: &[&str], place: Place) -> Diagnostic {
    Diagnostic::error(Code::UnknownBundle, format!("unknown bundle `{}`", name.escape_debug()))
        .at(place)
        .hint(suggest::hint(name, known, "bundles"))
}

#[cfg(test)]
mod tests;

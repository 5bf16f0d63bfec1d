//! Selects the bundles and models that a command names.

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

/// Returns the named bundles and models, in the order of the configuration and bundles first. All
/// when nothing is named, and none, with errors, when any name is unknown.
pub(super) fn select<'c>(
    config: &'c Config,
    names: &[String],
    diagnostics: &mut Diagnostics,
) -> Vec<Selected<'c>> {
    if !check(names, &config.tables().collect::<Vec<_>>(), diagnostics) {
        return Vec::new();
    }
    let bundles = config.bundles.iter().map(Selected::Bundle);
    let all = bundles.chain(config.servings.iter().map(Selected::Model));
    let is_named = |one: &Selected<'_>| names.iter().any(|name| name == one.name());
    all.filter(|one| names.is_empty() || is_named(one)).collect()
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
    diagnostics.extend(unknown.iter().map(|name| {
        Diagnostic::error(Code::UnknownBundle, format!("unknown bundle `{name}`"))
            .at(place.clone())
            .hint(suggest::hint(name, &known, "bundles"))
    }));
    unknown.is_empty()
}

//! The next step of an upgrade path, for `lock --upgrade`.

use crate::config::{BundleConfig, CatalogSource, Source, VersionRequest};
use crate::diag::{Code, Diagnostic, Diagnostics, listed};
use crate::lock::Lock;
use crate::source::SourceResolver;
use crate::source::catalog::{self, Installed, Step, Upgrades};

/// Most versions that a note lists.
const MOST_VERSIONS: usize = 8;

/// Returns the source to lock a bundle to. For a bundle of a catalog that is locked already, this is
/// the next required step of the upgrade path to the bundle that bundles.toml selects: an operator
/// may migrate data in each of them. With `latest`, and when the source in bundles.toml was changed,
/// such as an exact `version` or `channel`, it is what bundles.toml says, and the required steps are
/// only reported.
///
/// `None` if the catalog cannot be read.
pub(super) fn source(
    config: &BundleConfig,
    old: &Lock,
    latest: bool,
    sources: &SourceResolver,
    diagnostics: &mut Diagnostics,
) -> Option<Source> {
    // Only catalogs have an upgrade graph.
    let Source::Catalog(wanted) = &config.source else { return Some(config.source.clone()) };
    let unchanged = old.entry(config);
    let Some(entry) = unchanged.or_else(|| old.of_package(&config.name, &wanted.package.text))
    else {
        return Some(config.source.clone());
    };
    let at_once = latest || unchanged.is_none();
    let installed = Installed::of(&entry.csv, &entry.csv_version);
    let start = diagnostics.mark();
    let upgrades = catalog::upgrades(wanted, sources, &installed, diagnostics)?;
    // The catalog's own findings are reported when the bundle is selected.
    diagnostics.retain_since(start, |_| false);
    let step = required_step(wanted, &upgrades, &entry.csv_version, at_once, diagnostics);
    let source = step.map(|step| catalog::select_step(wanted, &upgrades.channel, step));
    Some(source.map_or_else(|| config.source.clone(), Source::Catalog))
}

/// Returns the step to stop at, if it is not the selected bundle, and reports what is skipped.
fn required_step<'u>(
    wanted: &CatalogSource,
    upgrades: &'u Upgrades,
    from: &str,
    at_once: bool,
    diagnostics: &mut Diagnostics,
) -> Option<&'u Step> {
    let Upgrades { channel, selected, .. } = upgrades;
    let place = || catalog::place_of_version(wanted);
    let Some(path) = &upgrades.path else {
        let message =
            format!("no upgrade path from {from} to {selected} in the channel `{channel}`");
        let hint = "read the operator's release notes before you install it: OLM would not upgrade";
        let found = Diagnostic::warning(Code::UpgradePath, message);
        return diagnostics.fail(found.at(place()).hint(hint));
    };
    let (first, rest) = path.split_first()?;
    let fits = wanted.version.as_ref().is_none_or(|version| match &version.request {
        VersionRequest::Exact(_) => false,
        VersionRequest::Range(range) => range.matches(&first.version),
    });

    // The required version is outside of what the user allows.
    if !rest.is_empty() && (at_once || !fits) {
        let required = path.iter().take(path.len() - 1).map(|step| step.version.to_string());
        let required = listed(required.collect::<Vec<_>>(), MOST_VERSIONS);
        let message =
            format!("the upgrade from {from} to {selected} leaves out the required {required}");
        let hint = if at_once {
            "install the required versions first, or read the operator's release notes"
        } else {
            "widen `version` to a range with the required versions"
        };
        diagnostics.push(Diagnostic::warning(Code::UpgradePath, message).at(place()).hint(hint));
        return None;
    }
    if !first.skips.is_empty() {
        let skips: Vec<String> = first.skips.iter().map(ToString::to_string).collect();
        let skips = listed(&skips, MOST_VERSIONS);
        let message = format!("the upgrade from {from} to {} skips {skips}", first.version);
        diagnostics.push(Diagnostic::note(Code::UpgradePath, message).at(place()));
    }
    // One step leads to the selected bundle.
    if rest.is_empty() {
        return None;
    }

    let message =
        format!("{} is required between {from} and {selected}: locked to it", first.version);
    diagnostics.push(Diagnostic::note(Code::UpgradePath, message).at(place()).hint(
        "install it, then run `bundle2chart lock --upgrade` again; or use `lock --upgrade --latest`",
    ));
    Some(first)
}

#[cfg(test)]
mod tests;

//! File-based catalogs: from a package, a channel and a version to a bundle.
//!
//! A catalog is JSON and YAML files with objects of all operators of a registry, hundreds of
//! megabytes together. It is read as a stream, wherever it is, and only the objects of one package
//! are kept; what is large in them is read in a second pass, for one bundle.
//!
//! <https://olm.operatorframework.io/docs/reference/file-based-catalogs/>

mod contents;
mod embedded;
pub(super) mod fuzzing;
mod graph;
mod ignore;
mod layers;
mod objects;
mod place;
mod stream;
mod upgrades;

pub use graph::Step;
pub use upgrades::{Deprecated, Installed, Upgrades, place_of_version, select_step, upgrades};

use super::limits::Limits;
use super::resolver::{self, SourceResolver};
use super::{BundleFiles, ImageIdentity, Pin, failure};
use crate::config::CatalogSource;
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, Place};
use crate::ir::UpgradeEdges;
use contents::Contents;
use objects::Bundle;
use place::{Catalog, Item};
use std::io;

/// The bundle that a catalog has for a configuration.
pub(super) enum Selected {
    /// The reference of its image, and the edges that lead to it in the channel.
    Image(String, UpgradeEdges),
    /// The bundle itself, if it has no image and the catalog embeds all its manifests.
    Embedded(Box<BundleFiles>),
}

/// Selects the bundle that `source` requests. Reads only the catalog; with a pin, the catalog image
/// with its digest.
///
/// Findings have places in the configuration, or in a file of the catalog.
pub(super) fn select(
    source: &CatalogSource,
    sources: &SourceResolver,
    pin: Option<Pin<'_>>,
    diagnostics: &mut Diagnostics,
) -> Option<Selected> {
    let limits = &sources.limits;
    with_catalog(source, sources, pin, diagnostics, |catalog, diagnostics| {
        let (contents, identity) = read_package(catalog, source, limits, diagnostics)?;
        let choice = graph::choose(&contents, source)?;
        report_deprecations(&contents, source, &choice, diagnostics);
        let bundle = choice.bundle;
        if let Some(image) = bundle.image.clone().filter(|image| !image.is_empty()) {
            return Ok(Selected::Image(image, choice.edges));
        }
        if bundle.objects == 0 {
            let message = format!(
                "the bundle `{}` of the catalog has neither an image nor manifests",
                bundle.name
            );
            return Err(failure(Code::BundleIncomplete, message, OTHER_VERSION));
        }
        let files = read_embedded(catalog, &contents, &choice, limits)?;
        let edges = Some(choice.edges);
        Ok(Selected::Embedded(Box::new(BundleFiles { catalog: identity, edges, ..files })))
    })
}

/// Opens the catalog of `source` and reads something in it. Findings without a place in the
/// configuration get that of the catalog.
fn with_catalog<T>(
    source: &CatalogSource,
    sources: &SourceResolver,
    pin: Option<Pin<'_>>,
    diagnostics: &mut Diagnostics,
    read: impl FnOnce(&Catalog<'_>, &mut Diagnostics) -> Result<T, Fatal>,
) -> Option<T> {
    let start = diagnostics.mark();
    let outcome = place::open(&source.catalog.text, sources, pin, diagnostics)
        .and_then(|catalog| read(&catalog, diagnostics));

    // Reported here, so that the loop below gives it a place, too.
    let outcome = diagnostics.report(outcome);
    for found in diagnostics.since(start).iter_mut().filter(|found| found.place.span.is_none()) {
        resolver::place(found, &source.catalog.span);
    }
    outcome
}

/// Reads the objects of the package, and the catalog's image if it has one.
fn read_package(
    catalog: &Catalog<'_>,
    source: &CatalogSource,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> Result<(Contents, Option<ImageIdentity>), Fatal> {
    let mut reading = contents::Reading::new(&source.package.text, limits);
    let visit = &mut |path: &str, item: Item<'_>| reading.visit(path, item);
    let identity = catalog.walk(limits, visit, diagnostics)?;
    let contents = reading.finish(diagnostics).map_err(|mut fatal| {
        if fatal.code == Code::PackageNotFound {
            fatal.place = Place::span(source.package.span.clone());
        }
        fatal
    })?;
    Ok((contents, identity))
}

/// Reads the embedded manifests of the selected bundle.
fn read_embedded(
    catalog: &Catalog<'_>,
    contents: &Contents,
    choice: &graph::Choice<'_>,
    limits: &Limits,
) -> Result<BundleFiles, Fatal> {
    let bundle = choice.bundle;
    let mut found = None;
    let visit = &mut |path: &str, item: Item<'_>| {
        if let Item::File(content) = item
            && path == bundle.file
        {
            let visit = &mut |head: objects::Head, text: &[u8]| {
                if found.is_none() && head.is_bundle(&contents.package, &bundle.name) {
                    found = Some(objects::embedded(text, limits));
                }
            };
            // The first walk has reported what is wrong in the file.
            let _ = stream::objects(content, &contents.package, limits, visit)?;
        }
        io::Result::Ok(())
    };
    // The first walk has reported the warnings of the layers.
    catalog.walk(limits, visit, &mut Diagnostics::new())?;

    let invalid =
        |why: String| unusable(bundle, format!("cannot read the bundle `{}`: {why}", bundle.name));

    let gone = || Err("the file changed while it was read".to_owned());
    let properties = found.unwrap_or_else(gone).map_err(invalid)?;
    embedded::files(&properties, contents, &bundle.name, limits).map_err(invalid)
}

/// Reports deprecations of the selection, with the catalog's reasons.
fn report_deprecations(
    contents: &Contents,
    source: &CatalogSource,
    choice: &graph::Choice<'_>,
    diagnostics: &mut Diagnostics,
) {
    let bundles = [choice.bundle.name.as_str()];
    for found in upgrades::deprecations(contents, choice.channel, &bundles) {
        let Deprecated { kind, name, message } = found;
        let (span, hint) = match kind {
            "channel" => (source.channel.as_ref().map(|own| &own.span), "set another `channel`"),
            "bundle" => (source.version.as_ref().map(|own| &own.span), "set another `version`"),
            _ => (None, "use another operator"),
        };
        let why = if message.is_empty() { "no reason given" } else { &message };
        let message = format!("the {kind} `{name}` is deprecated by the catalog: {why}");
        let place = span.unwrap_or(&source.package.span);
        diagnostics.push(Diagnostic::warning(Code::Deprecated, message).at(place).hint(hint));
    }
}

/// The hint for a bundle that cannot be used.
const OTHER_VERSION: &str = "set another `version`, or report this to the owner of the catalog";

/// Returns the error for a bundle whose object is invalid.
fn unusable(bundle: &Bundle, message: String) -> Fatal {
    failure(Code::CatalogInvalid, message, OTHER_VERSION).at(Place::file(&bundle.file)).into()
}

/// Returns a file of a catalog that cannot be read.
fn invalid(path: &str, line: Option<usize>, message: &str) -> Diagnostic {
    // Parser errors quote the input, which must be escaped.
    let message: String = super::archive::show(message.as_bytes()).chars().take(300).collect();
    let mut place = Place::file(path);
    place.line = line;
    Diagnostic::error(Code::CatalogInvalid, format!("cannot read the catalog: {message}"))
        .at(place)
        .hint(
            "add the file to `.indexignore` if it is not part of the catalog; otherwise the \
                catalog is corrupt: copy it again",
        )
}

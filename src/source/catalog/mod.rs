//! File-based catalogs: from a package, a channel and a version to a bundle.
//!
//! A catalog is JSON and YAML files with objects of all operators of a registry, hundreds of
//! megabytes together. It is read as a stream, wherever it is, and only the objects of one package
//! are kept; what is large in them is read in a second pass, for one bundle.
//!
//! <https://olm.operatorframework.io/docs/reference/file-based-catalogs/>

mod contents;
mod embedded;
mod graph;
mod ignore;
mod layers;
mod objects;
mod place;
mod stream;

use super::limits::Limits;
use super::resolver::{self, SourceResolver};
use super::{BundleFiles, ImageIdentity, failure};
use crate::config::CatalogSource;
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use contents::Contents;
use place::{Catalog, Item};
use std::io;

/// The bundle that a catalog has for a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Name of the package.
    pub package: String,
    /// Name of the channel.
    pub channel: String,
    /// Name of the bundle, for example `lws-operator.v1.0.0`.
    pub bundle: String,
    /// Version of the bundle, as it states itself.
    pub version: String,
    /// Reference of the bundle's image, if it has one.
    pub image: Option<String>,
    /// The bundle itself, if it has no image and the catalog embeds all its manifests.
    pub objects: Option<BundleFiles>,
    /// The catalog's image, if a registry or a mirror has it.
    pub catalog: Option<ImageIdentity>,
}

/// Selects the bundle that `source` requests. Reads only the catalog; with a digest, the catalog
/// image of this digest.
///
/// Findings have places in the configuration, or in a file of the catalog.
pub fn select(
    source: &CatalogSource,
    sources: &SourceResolver,
    digest: Option<&str>,
) -> (Option<Selected>, Diagnostics) {
    let limits = &sources.limits;
    let opened = place::open(&source.catalog.text, sources, digest);
    let outcome = opened.and_then(|(catalog, mut found)| {
        let (selected, more) = select_in(&catalog, source, limits)?;
        found.append(more);
        Ok((selected, found))
    });
    placed(outcome, source)
}

fn placed(
    outcome: Result<(Selected, Diagnostics), Diagnostics>,
    source: &CatalogSource,
) -> (Option<Selected>, Diagnostics) {
    let (selected, found) = match outcome {
        Ok((selected, found)) => (Some(selected), found),
        Err(found) => (None, found),
    };
    let place = |found: Diagnostic| match found.place.span {
        Some(_) => found,
        None => resolver::place(found, &source.catalog.span),
    };
    (selected, found.into_iter().map(place).collect())
}

fn select_in(
    catalog: &Catalog<'_>,
    source: &CatalogSource,
    limits: &Limits,
) -> Result<(Selected, Diagnostics), Diagnostics> {
    let mut reading = contents::Reading::new(&source.package.text, limits);
    let (identity, mut found) =
        catalog.walk(limits, &mut |path, item| reading.visit(path, item))?;
    let at_package = |found: Diagnostic| match found.code {
        Code::PackageNotFound => found.at(Place::span(source.package.span.clone())),
        _ => found,
    };
    let contents = reading
        .finish()
        .map_err(|found| found.into_iter().map(at_package).collect::<Diagnostics>())?;
    let choice = graph::choose(&contents, source)?;
    found.append(deprecations(&contents, source, &choice));
    let bundle = choice.bundle;
    let image = bundle.image.clone().filter(|image| !image.is_empty());
    let objects = match &image {
        Some(_) => None,
        None if bundle.objects == 0 => {
            return Err(failure(
                Code::BundleIncomplete,
                format!(
                    "the bundle `{}` of the catalog has neither an image nor manifests",
                    bundle.name
                ),
                "set another `version`, or report this to the owner of the catalog",
            ));
        }
        None => {
            let files = read_embedded(catalog, &contents, &choice, limits)?;
            Some(BundleFiles { catalog: identity.clone(), ..files })
        }
    };

    let selected = Selected {
        package: source.package.text.clone(),
        channel: choice.channel.to_owned(),
        bundle: bundle.name.clone(),
        version: choice.version.to_string(),
        image,
        objects,
        catalog: identity,
    };

    Ok((selected, found))
}

/// Reads the embedded manifests of the selected bundle.
fn read_embedded(
    catalog: &Catalog<'_>,
    contents: &Contents,
    choice: &graph::Choice<'_>,
    limits: &Limits,
) -> Result<BundleFiles, Diagnostics> {
    let bundle = choice.bundle;
    let mut result = None;
    catalog.walk(limits, &mut |path, item| {
        if path != bundle.file || result.is_some() {
            return Ok(());
        }
        if let Item::File(content) = item {
            let mut properties = None;
            let outcome =
                stream::objects(content, &contents.package, limits, &mut |head, text| {
                    if properties.is_none() && head.is_bundle(&contents.package, &bundle.name) {
                        properties = Some(objects::embedded(text, limits));
                    }
                })?;
            result = Some(match (outcome, properties) {
                (_, Some(properties)) => properties,
                (Err(fault), None) => Err(fault.message),
                (Ok(()), None) => {
                    Err(format!("the file changed while it was read: `{}` is gone", bundle.name))
                }
            });
        }
        io::Result::Ok(())
    })?;

    let invalid = |why: String| {
        Diagnostics::from(
            Diagnostic::error(
                Code::CatalogInvalid,
                format!("cannot read the bundle `{}`: {why}", bundle.name),
            )
            .at(Place::file(bundle.file.clone()))
            .hint("set another `version`, or report this to the owner of the catalog"),
        )
    };

    let properties =
        result.unwrap_or_else(|| Err("the file is gone".to_owned())).map_err(invalid)?;
    embedded::files(&properties, contents, &bundle.name, limits).map_err(invalid)
}

/// Warnings about what is chosen, in the catalog's words.
fn deprecations(
    contents: &Contents,
    source: &CatalogSource,
    choice: &graph::Choice<'_>,
) -> Diagnostics {
    let spans =
        |key: Option<&crate::diag::Span>| Place::span(key.unwrap_or(&source.package.span).clone());
    let mut found = Diagnostics::new();
    for deprecation in &contents.deprecations {
        let (what, place, hint) = match deprecation.schema.as_str() {
            "olm.package" => {
                (format!("the package `{}`", contents.package), spans(None), "use another operator")
            }
            "olm.channel" if deprecation.name == choice.channel => (
                format!("the channel `{}`", choice.channel),
                spans(source.channel.as_ref().map(|channel| &channel.span)),
                "set another `channel`",
            ),
            "olm.bundle" if deprecation.name == choice.bundle.name => (
                format!("the bundle `{}`", choice.bundle.name),
                spans(source.version.as_ref().map(|version| &version.span)),
                "set another `version`",
            ),
            _ => continue,
        };
        let message: String = deprecation.message.split_whitespace().collect::<Vec<_>>().join(" ");
        let message: String = message.chars().filter(|c| !c.is_control()).take(500).collect();
        let why = if message.is_empty() { "no reason given".to_owned() } else { message };
        found.push(
            Diagnostic::warning(
                Code::Deprecated,
                format!(
                    "{what} is deprecated by the catalog: \
                {why}"
                ),
            )
            .at(place)
            .hint(hint),
        );
    }

    found
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

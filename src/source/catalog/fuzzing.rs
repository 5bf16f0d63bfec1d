//! Entry points of fuzz/ to the parser of catalogs and to the selection of a bundle.

use super::contents::Reading;
use super::place::Item;
use super::stream::Fault;
use super::{graph, stream};
use crate::config::CatalogSource;
use crate::diag::Diagnostics;
use crate::limits::Limits;

/// Returns the objects of a file, each with the number of its bytes, up to the first error.
pub fn catalog_objects(
    text: &[u8],
    package: &str,
    limits: &Limits,
) -> (Vec<String>, Option<Fault>) {
    let mut objects = Vec::new();
    let visit = &mut |head, text: &[u8]| objects.push(format!("{head:?}, {} bytes", text.len()));
    // Reading from memory cannot fail.
    let outcome = stream::objects(&mut &text[..], package, limits, visit).unwrap_or(Ok(()));
    (objects, outcome.err())
}

/// Selects the bundle that `source` requests from the files of a catalog, given by path.
///
/// # Errors
/// The messages of all errors.
pub fn select(
    files: &[(String, Vec<u8>)],
    source: &CatalogSource,
    limits: &Limits,
) -> Result<String, Vec<String>> {
    let mut diagnostics = Diagnostics::new();
    let mut reading = Reading::new(&source.package.text, limits);
    for (path, text) in files {
        reading.visit(path, Item::File(&mut &text[..])).map_err(|error| vec![error.to_string()])?;
    }
    let contents = reading.finish(&mut diagnostics);
    let contents = diagnostics.report(contents);
    let selected = contents.as_ref().and_then(|contents| {
        let choice = diagnostics.report(graph::choose(contents, source))?;
        Some(format!("{} {} {}", choice.channel, choice.bundle.name, choice.version))
    });
    selected.ok_or_else(|| diagnostics.iter().map(|found| found.message.clone()).collect())
}

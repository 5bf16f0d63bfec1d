//! `bundle2chart images`: the images that a cluster pulls for the charts.

use super::Inputs;
use super::fetch::{Fetched, fetch_and_compile};
use super::models;
use super::selection::{Selected, for_each_selected};
use crate::bundle::Positions;
use crate::config::{BundleConfig, Source};
use crate::diag::Diagnostics;
use crate::images::{self, BundleImages, Image};
use crate::source::{BundleFiles, Reference};

/// Returns the images of the named bundles and models (all when none is named), in the order of the
/// configuration; none after an error. Reports images that cannot be mirrored. Of compiling itself
/// only errors are reported.
pub fn images(
    inputs: &Inputs<'_>,
    names: &[String],
    diagnostics: &mut Diagnostics,
) -> Vec<BundleImages> {
    let before = diagnostics.mark();
    let all = for_each_selected(inputs, names, diagnostics, |selected, diagnostics| {
        let images = match selected {
            Selected::Bundle(bundle) => bundle_images(inputs, bundle, diagnostics)?,
            Selected::Model(config) => {
                let compiler = models::compiler("[[serving]]", &config.span, diagnostics)?;
                (compiler.images)(config, diagnostics)?
            }
        };
        Some(BundleImages { bundle: selected.name().to_owned(), images })
    });
    if diagnostics.has_errors_since(before) { Vec::new() } else { all }
}

fn bundle_images(
    inputs: &Inputs<'_>,
    bundle: &BundleConfig,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<Image>> {
    let before = diagnostics.mark();
    let compiled = fetch_and_compile(inputs, bundle, diagnostics);
    diagnostics.only_errors_since(before);
    let Fetched { files, compiled, .. } = compiled?;

    let own = own_image(&files, &bundle.source);
    let (objects, loaded) = (&compiled.unit.objects, compiled.bundle.as_ref());
    let mut images = images::collect(objects, loaded, own.as_deref());
    let uses = images.iter_mut().flat_map(|image| &mut image.uses);
    let mut positions = Positions::new(&files);
    uses.for_each(|used| positions.complete(&mut used.place));
    let start = diagnostics.mark();
    images::check(&images, loaded, diagnostics);
    positions.locate(diagnostics.since(start));
    Some(images)
}

/// Returns the reference of the bundle's image, by digest; `None` if it is not in a registry.
fn own_image(files: &BundleFiles, source: &Source) -> Option<String> {
    let reference = match (&files.reference, source) {
        (Some(reference), _) | (None, Source::Image { reference, .. }) => reference,
        _ => return None,
    };
    let name = Reference::parse(reference).ok()?.name;
    Some(format!("{name}@{}", files.image.as_ref()?.digest))
}

#[cfg(test)]
mod tests;

//! `bundle2chart images`: the images that a cluster pulls for the charts, and with `--verify` their
//! signatures.

use super::Inputs;
use super::fetch::{Fetched, fetch_and_compile};
use super::models;
use super::selection::{Selected, for_each_selected};
use super::threads::for_each;
use crate::bundle::Positions;
use crate::config::{BundleConfig, Source};
use crate::diag::{Diagnostics, Place};
use crate::images::{self, BundleImages, Image, UseKind};
use crate::source::{BundleFiles, Reference, SourceResolver, Verified};
use std::collections::BTreeSet;

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

/// Counts of images whose signatures were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifiedImages {
    /// Images with a valid signature.
    pub signed: usize,
    /// Images that no `[[verify]]` table requires a signature of.
    pub not_required: usize,
}

/// Verifies the signature of every image, each once, on up to `jobs` threads, as `[[verify]]` requires
/// it. Images that only annotations name are not pulled, and not verified. Reports an error, at a
/// place that uses the image, for each that is rejected or cannot be looked at.
pub fn verify_images(
    sources: &SourceResolver,
    bundles: &[BundleImages],
    jobs: usize,
    diagnostics: &mut Diagnostics,
) -> VerifiedImages {
    let is_pulled = |image: &Image| image.uses.iter().any(|it| it.kind != UseKind::Annotation);
    let mut known = BTreeSet::new();
    let images = bundles.iter().flat_map(|bundle| {
        let pulled = bundle.images.iter().filter(|image| is_pulled(image));
        pulled.map(|image| (bundle.bundle.as_str(), image))
    });
    let images: Vec<(&str, &Image)> =
        images.filter(|(_, image)| known.insert(&image.reference)).collect();

    let verified = for_each(
        &images,
        jobs,
        |(bundle, _)| bundle,
        diagnostics,
        |(_, image), diagnostics| {
            let start = diagnostics.mark();
            let verified = sources.verify_image(&image.reference, diagnostics);
            let place = image.uses.first().map(|used| used.place.clone()).unwrap_or_default();
            let found = diagnostics.since(start).iter_mut();
            found
                // A finding about a `[[verify]]` table has its place in bundles.toml, where it can
                // be mended.
                .filter(|found| found.place == Place::default())
                .for_each(|found| found.place = place.clone());
            verified
        },
    );
    let signed = verified.iter().filter(|one| **one == Verified::Signed).count();
    VerifiedImages { signed, not_required: verified.len() - signed }
}

#[cfg(test)]
mod tests;

//! `bundle2chart images --verify`: the signatures of the images that a cluster pulls.

use super::threads::for_each;
use crate::diag::{Diagnostics, Place};
use crate::images::{BundleImages, Image, UseKind};
use crate::source::{SourceResolver, Verified};
use std::collections::BTreeSet;

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

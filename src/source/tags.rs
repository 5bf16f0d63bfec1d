//! The tags of a repository, and the digest that a tag has now.

use super::ImageIdentity;
use super::image;
use super::layout::{self, Layout};
use super::mirror;
use super::reference::Reference;
use super::resolver::{Located, SourceResolver, is_absence};
use crate::config::MirrorTarget;
use crate::diag::{Diagnostics, Fatal};

impl SourceResolver {
    /// Returns the tags of the repository of `reference`, sorted: those of the first mirror that
    /// serves it, else of its registry.
    ///
    /// `None` if the registry does not list them.
    pub fn tags(&self, reference: &str, diagnostics: &mut Diagnostics) -> Option<Vec<String>> {
        let tags = Reference::parse(reference).and_then(|reference| self.tags_of(&reference));
        let mut tags = diagnostics.report(tags)?;
        tags.sort();
        // A layout has a tag once for each name and platform of an image.
        tags.dedup();
        Some(tags)
    }

    /// Returns the digest of the manifest that `reference` leads to now, through an index if there is
    /// one: the digest that bundles.lock has. The index of the `locked` image is not read again.
    ///
    /// `None` if it leads nowhere.
    pub fn current_digest(
        &self,
        reference: &str,
        locked: &ImageIdentity,
        diagnostics: &mut Diagnostics,
    ) -> Option<String> {
        // Only digests are read: the signature is verified when the image is locked.
        let located =
            Reference::parse(reference).and_then(|parsed| self.locate(&parsed, diagnostics));
        let Located { blobs, root, .. } = diagnostics.report(located)?;
        let digest = root.digest().to_string();
        if digest == locked.digest || locked.index.as_ref() == Some(&digest) {
            return Some(locked.digest.clone());
        }
        let (manifest, _) = diagnostics.report(image::resolve(blobs.as_ref(), &root))?;
        Some(manifest.digest().to_string())
    }

    fn tags_of(&self, reference: &Reference) -> Result<Vec<String>, Fatal> {
        for (mirror, rest) in mirror::find(&self.mirrors, reference) {
            let tags = match &mirror.to {
                MirrorTarget::Layout(folder) => {
                    let path = self.base.join(folder);
                    // An image that is read reports the missing layout.
                    if !path.join(layout::MARKER).is_file() {
                        continue;
                    }
                    let layout = Layout::folder(path, &folder.display().to_string(), &self.limits);
                    layout.tags(&[&reference.name, rest])
                }
                MirrorTarget::Registry(start) => self.tags_in(&mirror::name_below(start, rest)),
            };
            match tags {
                Err(found) if mirror.fallback && is_absence(&found) => {}
                other => return other,
            }
        }
        self.tags_in(&reference.name)
    }
}

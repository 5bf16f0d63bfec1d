//! The images that a chart needs: where each is used, and what is wrong with it for clusters that
//! get their images from a mirror.

mod formats;
mod places;

pub use formats::{image_set, json, list, mirror_set, skopeo};
pub(crate) use places::{Leaf, visit};

use crate::bundle::Bundle;
use crate::diag::{Code, Diagnostic, Diagnostics, Place, counted};
use crate::ir::{ImageParts, Map, Object, Value};
use crate::source::Reference;
use serde::Serialize;
use std::collections::BTreeMap;

/// The images of a bundle, sorted by reference.
#[derive(Clone, Debug)]
pub struct BundleImages {
    /// Name of the bundle in the configuration.
    pub bundle: String,
    /// Each image once.
    pub images: Vec<Image>,
}

/// An image.
#[derive(Clone, Debug)]
pub struct Image {
    /// The reference as written.
    pub reference: String,
    /// The uses; never empty.
    pub uses: Vec<Use>,
}

/// A use of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Use {
    /// The kind of use.
    pub kind: UseKind,
    /// The object that has it, as `Kind/name`; empty for the bundle itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// The container; empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub container: String,
    /// Name of the environment variable, annotation or related image; empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The place in the bundle.
    #[serde(skip)]
    pub place: Place,
}

/// The kind of an image's use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum UseKind {
    /// The bundle's own image: the chart was made of it, and does not need it.
    Bundle,
    /// A container of a workload.
    Container,
    /// An init container of a workload.
    InitContainer,
    /// A volume of a workload.
    Volume,
    /// An environment variable of a container, for pods that the operator creates.
    #[serde(rename = "env")]
    Environment,
    /// An argument of a container, for pods that the operator creates.
    Argument,
    /// The ClusterServiceVersion's list of images.
    RelatedImage,
    /// An annotation: informational, not pulled.
    Annotation,
    /// A container or volume of pods that serve a model, which no list declares.
    Model,
    /// A container of a workload of a `[[chart]]`, which no list declares.
    Manifest,
}

impl UseKind {
    /// Returns true if the use is in a pod.
    fn is_in_pod(self) -> bool {
        use UseKind::{Argument, Container, Environment, InitContainer, Volume};
        matches!(self, Container | InitContainer | Volume | Environment | Argument)
    }
}

impl Image {
    /// Returns true if the reference has a digest.
    pub fn is_pinned(&self) -> bool {
        is_by_digest(&self.reference)
    }

    /// Returns true if the cluster pulls the image for this chart.
    pub fn is_pulled(&self) -> bool {
        let others = [UseKind::RelatedImage, UseKind::Model, UseKind::Manifest];
        self.uses.iter().any(|used| used.kind.is_in_pod() || others.contains(&used.kind))
    }

    /// Returns true if pods use the image and the ClusterServiceVersion does not list it, so that
    /// mirroring tools skip it.
    pub fn is_undeclared(&self) -> bool {
        let uses = |fits: fn(UseKind) -> bool| self.uses.iter().any(|used| fits(used.kind));
        uses(UseKind::is_in_pod) && !uses(|kind| kind == UseKind::RelatedImage)
    }
}

/// Returns the images of the containers of all objects, what their environment, arguments and
/// annotations name by digest (`RELATED_IMAGE_` variables in any form), the CSV's relatedImages and
/// annotations, and the bundle's own image.
pub fn collect(objects: &[Object], bundle: Option<&Bundle>, own: Option<&str>) -> Vec<Image> {
    let mut found = ImageUses::default();
    let used = |kind, object: &str, name: &str, place| Use {
        kind,
        object: object.to_owned(),
        container: String::new(),
        name: name.to_owned(),
        place,
    };
    if let Some(own) = own {
        found.add(own, used(UseKind::Bundle, "", "", Place::default()));
    }
    let null = Map::new();
    let mut of_csv = &null;
    if let Some(csv) = bundle.map(|bundle| &bundle.csv) {
        let label = csv.object.label();
        for (index, (name, image)) in csv.related_images.iter().enumerate() {
            let place = csv.place(&format!(".spec.relatedImages[{index}].image"));
            found.add(image, used(UseKind::RelatedImage, &label, name, place));
        }
        // Pods copy annotations of the CSV, where they are counted once.
        of_csv = csv.object.metadata("annotations").and_then(Value::as_map).unwrap_or(&null);
        places::in_annotations(&csv.object, &mut |leaf| found.add(&leaf.reference, leaf.used));
    }
    for object in objects {
        found.object(object, of_csv);
    }
    found.declare();
    let mut images: Vec<Image> =
        found.images.into_iter().map(|(reference, uses)| Image { reference, uses }).collect();
    if bundle.is_none() {
        // Without a ClusterServiceVersion there is no list that they could be missing from.
        let uses = images.iter_mut().flat_map(|image| &mut image.uses);
        uses.filter(|used| used.kind.is_in_pod()).for_each(|used| used.kind = UseKind::Manifest);
    }
    images
}

/// References of what clusters pull for the chart.
pub fn pulled(images: &[Image]) -> Vec<String> {
    let pulled = images.iter().filter(|image| image.is_pulled());
    pulled.map(|image| image.reference.clone()).collect()
}

/// Returns the images of pods with their uses, sorted by reference.
pub(crate) fn of_pods(objects: &[Object]) -> BTreeMap<String, Vec<Use>> {
    let mut found = ImageUses::default();
    objects.iter().for_each(|object| found.object(object, &Map::new()));
    found.images
}

#[derive(Default)]
struct ImageUses {
    images: BTreeMap<String, Vec<Use>>,
}

impl ImageUses {
    fn add(&mut self, reference: &str, used: Use) {
        // Variables without a value are set by users.
        if !reference.is_empty() {
            self.images.entry(reference.to_owned()).or_default().push(used);
        }
    }

    /// Marks images that are listed by digest as listed when they have a tag and the same digest.
    fn declare(&mut self) {
        // `name:tag@digest` and `name@digest` are one image: the digest decides.
        let key = |text: &str| {
            let reference = Reference::parse(text).ok()?;
            Some((reference.name, reference.digest?.to_string()))
        };
        let mut listed: BTreeMap<_, Vec<Use>> = BTreeMap::new();
        for (text, uses) in &self.images {
            let of_list = uses.iter().filter(|used| used.kind == UseKind::RelatedImage);
            if let Some(key) = key(text) {
                listed.entry(key).or_default().extend(of_list.cloned());
            }
        }
        for (text, uses) in &mut self.images {
            let known = uses.iter().any(|used| used.kind == UseKind::RelatedImage);
            let same = key(text).filter(|_| !known).and_then(|key| listed.get(&key));
            uses.extend(same.into_iter().flatten().cloned());
        }
    }

    /// Collects the images of an object's pods, except those in annotations from the CSV.
    fn object(&mut self, object: &Object, of_csv: &Map) {
        if places::has_pods(object) {
            let add = &mut |leaf: Leaf<'_>| self.add(&leaf.reference, leaf.used);
            // `visit` also replaces references, so it wants an object that it may change.
            places::visit(&mut object.clone(), of_csv, add);
        }
    }
}

/// Returns the last part of the repository of an image.
pub(crate) fn base_name(reference: &str) -> &str {
    ImageParts::of(reference).repository.rsplit('/').next().unwrap_or(reference)
}

/// Returns true if the text is a reference with a digest, and nothing else.
fn is_by_digest(text: &str) -> bool {
    // Every argument, variable and annotation of a workload is tested, and few have an `@`.
    text.contains('@') && Reference::parse(text).is_ok_and(|reference| reference.digest.is_some())
}

/// Reports images that cannot be mirrored. Without a bundle there is no list that they could be
/// missing from.
pub fn check(images: &[Image], bundle: Option<&Bundle>, diagnostics: &mut Diagnostics) {
    let pulled = || images.iter().filter(|image| image.is_pulled());
    for image in pulled().filter(|image| !image.is_pinned()) {
        let message = format!("`{}` is not pinned by digest", image.reference);
        diagnostics.push(Diagnostic::warning(Code::ImageNotPinned, message).at(place(image)).hint(
            "use a bundle with digests: the tag can move, and mirrors by digest do not serve \
                it",
        ));
    }

    let Some(bundle) = bundle else { return };
    let undeclared: Vec<&Image> = pulled().filter(|image| image.is_undeclared()).collect();
    let hint = "mirror it with one of the formats of `bundle2chart images`: tools that copy \
        `relatedImages` skip it";
    match undeclared.first() {
        // One finding for a bundle without the list, else one for each image.
        Some(first) if bundle.csv.related_images.is_empty() => {
            let message = format!(
                "the ClusterServiceVersion has no `relatedImages`, but pods use {}",
                counted(undeclared.len(), "image")
            );
            let diagnostic = Diagnostic::warning(Code::ImageNotDeclared, message);
            diagnostics.push(diagnostic.at(place(first)).hint(hint));
        }
        _ => diagnostics.extend(undeclared.into_iter().map(|image| {
            let message = format!("`{}` is not in `relatedImages`", image.reference);
            Diagnostic::warning(Code::ImageNotDeclared, message).at(place(image)).hint(hint)
        })),
    }
}

/// Returns the place of the first use.
fn place(image: &Image) -> Place {
    let first = image.uses.iter().find(|used| used.kind.is_in_pod()).or(image.uses.first());
    first.map(|used| used.place.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests;

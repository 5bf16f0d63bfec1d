//! The images that a chart needs: where each is used, and what is wrong with it for clusters that
//! get their images from a mirror.

mod formats;

pub use formats::{image_set, json, list, mirror_set, skopeo};

use crate::bundle::Bundle;
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::ir::{Map, Object, Value, push_key};
use crate::source::Reference;
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
    /// As it is written where it is used.
    pub reference: String,
    /// Where it is used; never empty.
    pub uses: Vec<Use>,
}

/// Where an image is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// By what.
    pub kind: UseKind,
    /// The object that has it, as `Kind/name`; empty for the bundle itself.
    pub object: String,
    /// The container; empty where it is none.
    pub container: String,
    /// Name of the variable, annotation or related image; empty where it has none.
    pub name: String,
    /// Where it stands in the bundle.
    pub place: Place,
}

/// By what an image is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UseKind {
    /// The bundle's own image: the chart was made of it, and does not need it.
    Bundle,
    /// A container of a workload.
    Container,
    /// An init container of a workload.
    InitContainer,
    /// A variable of a container's environment, for what the operator starts.
    Environment,
    /// An argument of a container, for what the operator starts.
    Argument,
    /// The ClusterServiceVersion's list of images.
    RelatedImage,
    /// An annotation: said about the operator, and pulled by nothing.
    Annotation,
    /// A container or volume of pods that serve a model, which no list declares.
    Model,
}

impl UseKind {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            UseKind::Bundle => "bundle",
            UseKind::Container => "container",
            UseKind::InitContainer => "initContainer",
            UseKind::Environment => "env",
            UseKind::Argument => "argument",
            UseKind::RelatedImage => "relatedImage",
            UseKind::Annotation => "annotation",
            UseKind::Model => "model",
        }
    }

    /// Whether it is part of a pod.
    fn is_in_pod(self) -> bool {
        use UseKind::{Argument, Container, Environment, InitContainer};
        matches!(self, Container | InitContainer | Environment | Argument)
    }
}

impl Image {
    /// Whether the reference has a digest, so that it always means the same.
    pub fn is_pinned(&self) -> bool {
        is_by_digest(&self.reference)
    }

    /// Whether a cluster pulls it for the chart.
    pub fn is_pulled(&self) -> bool {
        let others = [UseKind::RelatedImage, UseKind::Model];
        self.uses.iter().any(|used| used.kind.is_in_pod() || others.contains(&used.kind))
    }

    /// Whether pods use it and the ClusterServiceVersion does not list it, so that tools that copy
    /// what is listed leave it behind.
    pub fn is_undeclared(&self) -> bool {
        let uses = |fits: fn(UseKind) -> bool| self.uses.iter().any(|used| fits(used.kind));
        uses(UseKind::is_in_pod) && !uses(|kind| kind == UseKind::RelatedImage)
    }
}

/// The images of the containers of all objects, what their environment, arguments and
/// annotations name by digest (`RELATED_IMAGE_` variables in any form), the CSV's relatedImages
/// and annotations, and the bundle's own image.
pub fn collect(objects: &[Object], bundle: &Bundle, own: Option<&str>) -> Vec<Image> {
    let mut found = Found::default();
    if let Some(own) = own {
        found.add(own, UseKind::Bundle, "", "", "", Place::default());
    }
    let csv = &bundle.csv;
    let label = csv.object.label();
    for (index, (name, image)) in csv.related_images.iter().enumerate() {
        let place = csv.place(&format!(".spec.relatedImages[{index}].image"));
        found.add(image, UseKind::RelatedImage, &label, "", name, place);
    }
    let null = Map::new();
    let of_csv = csv.object.metadata("annotations").and_then(Value::as_map).unwrap_or(&null);
    found.annotations(&csv.object, of_csv, ".metadata.annotations", &null);
    for object in objects {
        found.object(object, of_csv);
    }
    found.declare();
    let images = found.images.into_iter();
    images.map(|(reference, uses)| Image { reference, uses }).collect()
}

/// References of what clusters pull for the chart.
pub fn pulled(images: &[Image]) -> Vec<String> {
    let pulled = images.iter().filter(|image| image.is_pulled());
    pulled.map(|image| image.reference.clone()).collect()
}

/// Lists of containers in what describes pods.
const LISTS: [(&str, UseKind); 2] =
    [("initContainers", UseKind::InitContainer), ("containers", UseKind::Container)];

/// Whether there is a description of pods in a value, wherever that may be: in a Deployment, a
/// CronJob, a Pod, a custom resource with a template of pods.
fn has_pods(value: &Value) -> bool {
    let is_container = |item: &Value| item.get("image").is_some();
    match value {
        Value::Map(map) => map.iter().any(|(key, value)| {
            let is_list = LISTS.iter().any(|(list, _)| key == list);
            let mut items = value.as_seq().into_iter().flatten();
            (is_list && items.any(is_container)) || has_pods(value)
        }),
        Value::Seq(list) => list.iter().any(has_pods),
        _ => false,
    }
}

#[derive(Default)]
struct Found {
    images: BTreeMap<String, Vec<Use>>,
}

impl Found {
    fn add(
        &mut self,
        image: &str,
        kind: UseKind,
        object: &str,
        container: &str,
        name: &str,
        place: Place,
    ) {
        if image.is_empty() {
            return;
        }
        let own = |text: &str| text.to_owned();
        let used =
            Use { kind, object: own(object), container: own(container), name: own(name), place };
        self.images.entry(image.to_owned()).or_default().push(used);
    }

    /// What is listed by digest is listed with a tag beside the digest too.
    fn declare(&mut self) {
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

    fn object(&mut self, object: &Object, of_csv: &Map) {
        let is_definition = object.kind() == "CustomResourceDefinition";
        if !is_definition && object.root.values().any(has_pods) {
            self.search(object, &object.root, "", of_csv);
        }
    }

    /// Lists of containers, and the annotations of what has them.
    fn search(&mut self, object: &Object, map: &Map, path: &str, of_csv: &Map) {
        let below = |key: &str| {
            let mut path = path.to_owned();
            push_key(&mut path, key);
            path
        };
        for (key, kind) in LISTS {
            let list = map.get(key).and_then(Value::as_seq).unwrap_or_default();
            for (index, container) in list.iter().enumerate() {
                let path = format!("{}[{index}]", below(key));
                self.container(object, container, kind, &path);
            }
        }
        for (key, value) in map.iter().filter(|(key, _)| LISTS.iter().all(|(list, _)| key != list))
        {
            let path = below(key);
            if let Some(map) = value.as_map() {
                self.search(object, map, &path, of_csv);
            }
            for (index, item) in value.as_seq().unwrap_or_default().iter().enumerate() {
                if let Some(map) = item.as_map() {
                    self.search(object, map, &format!("{path}[{index}]"), of_csv);
                }
            }
            let annotations = value.get("annotations").filter(|_| key == "metadata");
            if let Some(annotations) = annotations.and_then(Value::as_map) {
                self.annotations(object, annotations, &format!("{path}.annotations"), of_csv);
            }
        }
    }

    fn container(&mut self, object: &Object, container: &Value, kind: UseKind, path: &str) {
        let label = object.label();
        let text = |value: &Value, key: &str| {
            value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let list = |key: &str| container.get(key).and_then(Value::as_seq).unwrap_or_default();
        let place = |rest: String| object.place().path(format!("{path}{rest}"));
        let name = text(container, "name");
        self.add(&text(container, "image"), kind, &label, &name, "", place(".image".to_owned()));
        for (index, variable) in list("env").iter().enumerate() {
            let (variable, value) = (text(variable, "name"), text(variable, "value"));
            if variable.starts_with("RELATED_IMAGE_") || is_by_digest(&value) {
                let place = place(format!(".env[{index}].value"));
                self.add(&value, UseKind::Environment, &label, &name, &variable, place);
            }
        }
        for key in ["command", "args"] {
            for (index, argument) in list(key).iter().enumerate() {
                let Some(argument) = argument.as_str() else { continue };
                let (option, value) = match argument.split_once('=') {
                    Some((option, value)) if option.starts_with('-') => (option, value),
                    _ => ("", argument),
                };
                if is_by_digest(value) {
                    let place = place(format!(".{key}[{index}]"));
                    self.add(value, UseKind::Argument, &label, &name, option, place);
                }
            }
        }
    }

    /// Annotations that name an image, but not those that pods have from the CSV.
    fn annotations(&mut self, object: &Object, annotations: &Map, path: &str, known: &Map) {
        for (key, value) in annotations {
            let Some(text) = value.as_str().filter(|_| known.get(key) != Some(value)) else {
                continue;
            };
            if key == "containerImage" || is_by_digest(text) {
                let mut path = path.to_owned();
                push_key(&mut path, key);
                let place = object.place().path(path);
                self.add(text, UseKind::Annotation, &object.label(), "", key, place);
            }
        }
    }
}

/// Whether a text is a reference with a digest, and nothing else.
fn is_by_digest(text: &str) -> bool {
    text.contains('@') && Reference::parse(text).is_ok_and(|reference| reference.digest.is_some())
}

/// What keeps images of a bundle from being copied to where they are needed.
pub fn check(images: &[Image], bundle: &Bundle) -> Diagnostics {
    let mut found = Diagnostics::new();
    let pulled = || images.iter().filter(|image| image.is_pulled());
    for image in pulled().filter(|image| !image.is_pinned()) {
        found.push(
            Diagnostic::warning(
                Code::ImageNotPinned,
                format!("`{}` is not pinned by a digest", image.reference),
            )
            .at(place(image))
            .hint("what the tag means can change, and mirrors by digest do not serve it"),
        );
    }
    let undeclared: Vec<&Image> = pulled().filter(|image| image.is_undeclared()).collect();
    let hint = "tools that copy what `relatedImages` lists leave it behind: copy it with one of \
                the formats of `bundle2chart images`";
    match undeclared.first() {
        Some(first) if bundle.csv.related_images.is_empty() => {
            let message = format!(
                "the ClusterServiceVersion lists no `relatedImages`, and pods use {} image{}",
                undeclared.len(),
                if undeclared.len() == 1 { "" } else { "s" }
            );
            let diagnostic = Diagnostic::warning(Code::ImageNotDeclared, message);
            found.push(diagnostic.at(place(first)).hint(hint));
        }
        _ => found.extend(undeclared.into_iter().map(|image| {
            let message = format!("`{}` is not in `relatedImages`", image.reference);
            Diagnostic::warning(Code::ImageNotDeclared, message).at(place(image)).hint(hint)
        })),
    }
    found
}

/// Where the image is first used.
fn place(image: &Image) -> Place {
    let first = image.uses.iter().find(|used| used.kind.is_in_pod()).or(image.uses.first());
    first.map(|used| used.place.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests;

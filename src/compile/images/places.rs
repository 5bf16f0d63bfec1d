//! Finds image references in workloads.

use super::{Use, UseKind, is_by_digest};
use crate::diag::Place;
use crate::fields::below;
use crate::ir::{Map, Object, Value};

/// A reference in a leaf.
pub(crate) struct Leaf<'a> {
    /// The leaf.
    pub value: &'a mut Value,
    /// The text before the reference, such as `--image=`.
    pub prefix: String,
    /// The default reference.
    pub reference: String,
    /// The user of the image.
    pub used: Use,
}

/// Lists in what describes pods whose items have images.
const LISTS: [(&str, UseKind); 3] = [
    ("initContainers", UseKind::InitContainer),
    ("containers", UseKind::Container),
    ("volumes", UseKind::Volume),
];

/// Returns true if an object contains a pod template anywhere: a Deployment, a CronJob, a Pod, or a
/// custom resource. Schemas are ignored.
pub(super) fn has_pods(object: &Object) -> bool {
    let is_definition = object.kind() == "CustomResourceDefinition";
    !is_definition && object.root.iter().any(|(key, value)| describes_pods(key, value))
}

fn describes_pods(key: &str, value: &Value) -> bool {
    let is_list = LISTS.iter().any(|(list, _)| key == *list);
    match value {
        Value::Map(map) => map.iter().any(|(key, value)| describes_pods(key, value)),
        Value::Seq(list) => list
            .iter()
            .any(|item| (is_list && item.get("image").is_some()) || describes_pods("", item)),
        _ => false,
    }
}

/// Calls `see` for every leaf of pod templates with a reference: the images of containers,
/// references by digest in environment, arguments and annotations, and `RELATED_IMAGE_` variables
/// in any form. Annotations that are also in `known` are skipped.
pub(crate) fn visit(object: &mut Object, known: &Map, see: &mut dyn FnMut(Leaf<'_>)) {
    if has_pods(object) {
        let (label, place) = (object.label(), object.place());
        Visit { label, place, see }.search(&mut object.root, "", known);
    }
}

/// Shows `see` the references in the annotations of an object that is no workload.
pub(super) fn in_annotations(object: &Object, see: &mut dyn FnMut(Leaf<'_>)) {
    let mut annotations = object.metadata("annotations").and_then(Value::as_map).cloned();
    let mut visit = Visit { label: object.label(), place: object.place(), see };
    visit.annotations(annotations.as_mut(), ".metadata.annotations", &Map::new());
}

/// One walk through an object.
struct Visit<'a> {
    label: String,
    place: Place,
    see: &'a mut dyn FnMut(Leaf<'_>),
}

impl Visit<'_> {
    /// Lists of containers, and the annotations of what has them.
    fn search(&mut self, map: &mut Map, path: &str, known: &Map) {
        for (key, value) in map.iter_mut() {
            let path = below(path, key);
            if key == "metadata" {
                let annotations = value.as_map_mut().and_then(|map| map.get_mut("annotations"));
                let annotations = annotations.and_then(Value::as_map_mut);
                self.annotations(annotations, &format!("{path}.annotations"), known);
            }

            // Lists are found by their key, at any depth: pod templates are also in custom resources.
            let list = LISTS.iter().find(|(list, _)| key == list);
            match value {
                Value::Map(map) => self.search(map, &path, known),
                Value::Seq(items) => {
                    let maps = items.iter_mut().map(Value::as_map_mut).enumerate();
                    for (index, item) in maps.filter_map(|(index, item)| Some((index, item?))) {
                        let path = format!("{path}[{index}]");
                        match list {
                            Some((_, UseKind::Volume)) => {
                                self.volume(item, &path);
                                self.search(item, &path, known);
                            }
                            Some((_, kind)) => self.container(item, *kind, &path),
                            None => self.search(item, &path, known),
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Annotations that name an image; those that tell the operator's own count in any form.
    fn annotations(&mut self, annotations: Option<&mut Map>, path: &str, known: &Map) {
        for (key, value) in annotations.into_iter().flat_map(Map::iter_mut) {
            let text = value.text_by_default().filter(|_| known.get(key) != Some(value));
            let names = |text: &str| key == "containerImage" || is_by_digest(text);
            if let Some(text) = text.filter(|text| names(text)).map(Into::into) {
                let path = below(path, key);
                self.leaf(value, ("", text), UseKind::Annotation, ("", key), &path);
            }
        }
    }

    /// The image of a volume (Kubernetes: `ImageVolumeSource`).
    fn volume(&mut self, volume: &mut Map, path: &str) {
        let name = text(volume, "name");
        let Some(image) = volume.get_mut("image").and_then(Value::as_map_mut) else { return };
        let reference = text(image, "reference");
        if let Some(value) = image.get_mut("reference") {
            let path = format!("{path}.image.reference");
            self.leaf(value, ("", reference), UseKind::Volume, ("", &name), &path);
        }
    }

    fn container(&mut self, container: &mut Map, kind: UseKind, path: &str) {
        let name = text(container, "name");
        let image = text(container, "image");
        if let Some(value) = container.get_mut("image") {
            self.leaf(value, ("", image), kind, (&name, ""), &format!("{path}.image"));
        }
        let variables = container.get_mut("env").and_then(Value::as_seq_mut);

        for (index, variable) in variables.into_iter().flatten().enumerate() {
            let Some(variable) = variable.as_map_mut() else { continue };
            let (key, reference) = (text(variable, "name"), text(variable, "value"));
            let Some(value) = variable.get_mut("value") else { continue };
            // By convention operators read images of operands from variables with this prefix.
            if key.starts_with("RELATED_IMAGE_") || is_by_digest(&reference) {
                let path = format!("{path}.env[{index}].value");
                self.leaf(value, ("", reference), UseKind::Environment, (&name, &key), &path);
            }
        }

        for key in ["command", "args"] {
            let arguments = container.get_mut(key).and_then(Value::as_seq_mut);
            for (index, argument) in arguments.into_iter().flatten().enumerate() {
                let Some(text) = argument.text_by_default() else { continue };
                let (option, reference) = match text.split_once('=') {
                    Some((option, value)) if option.starts_with('-') => (option, value),
                    _ => ("", text.as_ref()),
                };
                if is_by_digest(reference) {
                    let prefix = text.strip_suffix(reference).unwrap_or_default().to_owned();
                    let (option, reference) = (option.to_owned(), reference.to_owned());
                    let path = format!("{path}.{key}[{index}]");
                    let used = (name.as_str(), option.as_str());
                    self.leaf(argument, (&prefix, reference), UseKind::Argument, used, &path);
                }
            }
        }
    }

    fn leaf(
        &mut self,
        value: &mut Value,
        (prefix, reference): (&str, String),
        kind: UseKind,
        (container, name): (&str, &str),
        path: &str,
    ) {
        if reference.is_empty() {
            return;
        }
        let used = Use {
            kind,
            object: self.label.clone(),
            container: container.to_owned(),
            name: name.to_owned(),
            place: self.place.clone().path(path),
        };
        (self.see)(Leaf { value, prefix: prefix.to_owned(), reference, used });
    }
}

fn text(map: &Map, key: &str) -> String {
    map.get(key).and_then(Value::text_by_default).unwrap_or_default().into_owned()
}

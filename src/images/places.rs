//! Where references to images stand in a workload.

use super::{Use, UseKind, is_by_digest};
use crate::diag::Place;
use crate::ir::{Map, Object, Value, push_key};

/// A reference in a leaf.
pub(crate) struct Leaf<'a> {
    /// The leaf.
    pub value: &'a mut Value,
    /// What stands before the reference, such as `--image=`.
    pub prefix: String,
    /// The reference, as it is when values change nothing.
    pub reference: String,
    /// What uses it.
    pub used: Use,
}

/// The lists of containers in the specification of a pod.
const LISTS: [(&str, UseKind); 2] =
    [("initContainers", UseKind::InitContainer), ("containers", UseKind::Container)];

/// Shows every leaf of a workload that holds a reference: the images of its containers, what their
/// environment, arguments and annotations name by digest, and `RELATED_IMAGE_` variables in any
/// form. Annotations that are also in `known` are left out.
pub(crate) fn visit(object: &mut Object, known: &Map, see: &mut dyn FnMut(Leaf<'_>)) {
    if object.containers().next().is_none() {
        return;
    }
    let mut visit = Visit { label: object.label(), place: object.place(), see };
    for keys in [&["metadata"][..], &["spec", "template", "metadata"]] {
        let path = format!(".{}.annotations", keys.join("."));
        let annotations = inner(&mut object.root, keys)
            .and_then(|metadata| metadata.get_mut("annotations")?.as_map_mut());
        visit.annotations(annotations, &path, known);
    }
    let Some(pod) = inner(&mut object.root, &["spec", "template", "spec"]) else { return };
    for (key, kind) in LISTS {
        let containers = pod.get_mut(key).and_then(Value::as_seq_mut);
        for (index, container) in containers.into_iter().flatten().enumerate() {
            if let Some(container) = container.as_map_mut() {
                visit.container(container, kind, &format!(".spec.template.spec.{key}[{index}]"));
            }
        }
    }
}

/// Shows `see` the references in the annotations of an object that is no workload.
pub(super) fn in_annotations(object: &Object, see: &mut dyn FnMut(Leaf<'_>)) {
    let mut annotations = object.metadata("annotations").and_then(Value::as_map).cloned();
    let mut visit = Visit { label: object.label(), place: object.place(), see };
    visit.annotations(annotations.as_mut(), ".metadata.annotations", &Map::new());
}

/// The map at the end of these keys.
fn inner<'a>(root: &'a mut Map, keys: &[&str]) -> Option<&'a mut Map> {
    keys.iter().try_fold(root, |map, key| map.get_mut(*key)?.as_map_mut())
}

/// One walk through an object.
struct Visit<'a> {
    label: String,
    place: Place,
    see: &'a mut dyn FnMut(Leaf<'_>),
}

impl Visit<'_> {
    /// Annotations that name an image; those that tell the operator's own count in any form.
    fn annotations(&mut self, annotations: Option<&mut Map>, path: &str, known: &Map) {
        for (key, value) in annotations.into_iter().flatten() {
            let text = value.text_by_default().filter(|_| known.get(key) != Some(value));
            let names = |text: &str| key == "containerImage" || is_by_digest(text);
            if let Some(text) = text.filter(|text| names(text)).map(Into::into) {
                let mut path = path.to_owned();
                push_key(&mut path, key);
                self.leaf(value, ("", text), UseKind::Annotation, ("", key), &path);
            }
        }
    }

    fn container(&mut self, container: &mut Map, kind: UseKind, path: &str) {
        let text = |map: &Map, key: &str| -> String {
            map.get(key).and_then(Value::text_by_default).unwrap_or_default().into_owned()
        };
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

//! Files that containers read from ConfigMaps.

use super::pods::mount_of;
use super::*;

/// The source of a file in a container.
pub(crate) enum File<'a> {
    /// No volume is mounted at its path.
    NotMounted,
    /// The file is on a volume with other content, or its ConfigMap is not in the manifests.
    Unknown,
    /// The ConfigMap has no such key.
    Missing(usize),
    /// Index of the ConfigMap, key, and content.
    Text(usize, String, &'a str),
}

impl<'a> View<'a> {
    /// Returns the source of a file in a container of these pods.
    pub(crate) fn file(&self, pods: &Template<'_>, container: &Json, path: &str) -> File<'a> {
        let (name, key, _) = match key_of(list(pods.spec, "volumes"), container, path) {
            Ok(found) => found,
            Err(other) => return other,
        };
        let map = self.named("ConfigMap", name, pods.manifest);
        let Some((index, map)) = map else { return File::Unknown };
        match map.json.get("data").and_then(|data| data.get(&key)?.as_str()) {
            Some(content) => File::Text(index, key, content),
            None if map.json.pointer(&format!("/binaryData/{key}")).is_some() => File::Unknown,
            None => File::Missing(index),
        }
    }
}

/// Returns the volume that has a file or folder of a container, and the path in it.
pub(crate) fn place_of<'c>(container: &'c Json, path: &str) -> Option<(&'c str, String)> {
    let mount = mount_of(container, path)?;
    let inner = path.get(text(mount, "mountPath").trim_end_matches('/').len()..)?;
    let mut parts = vec![text(mount, "subPath").trim_matches('/'), inner.trim_matches('/')];
    parts.retain(|part| !part.is_empty());
    Some((text(mount, "name"), parts.join("/")))
}

/// Returns the name of the ConfigMap with a file in a container of a pod with these volumes, the key of
/// the file, and its mode.
pub(crate) fn key_of<'s, 'f>(
    volumes: &'s [Json],
    container: &Json,
    path: &str,
) -> Result<(&'s str, String, u64), File<'f>> {
    let Some((name, wanted)) = place_of(container, path) else { return Err(File::NotMounted) };
    let volume = volumes.iter().find(|volume| text(volume, "name") == name);
    let source = volume.and_then(|volume| volume.get("configMap"));
    let Some(source) = source else { return Err(File::Unknown) };
    let items = list(source, "items");
    let item = items.iter().find(|item| text(item, "path") == wanted);
    let mode = item.and_then(|item| item.get("mode")).or(source.get("defaultMode"));
    let mode = mode.and_then(Json::as_u64).unwrap_or(0o644);
    let key = match item {
        Some(item) => text(item, "key").to_owned(),
        // Without `items`, the keys are the names of the files.
        None if items.is_empty() => wanted,
        None => return Err(File::Unknown),
    };
    Ok((text(source, "name"), key, mode))
}

/// Returns the document at a key of a ConfigMap with its manifest index and JSON path.
pub(crate) fn document(index: usize, map: &Manifest, key: &str) -> PickerFile {
    let content = map.json.get("data").and_then(|data| data.get(key)?.as_str());
    match content {
        Some(content) => (index, format!(".data[{key:?}]"), parse(content)),
        None => (index, ".data".to_owned(), Err(format!("there is no file {key}"))),
    }
}

/// Parses text with one YAML document.
pub(crate) fn parse(text: &str) -> Result<Json, String> {
    let mut documents = crate::yaml::parse(text)?;
    match documents.pop() {
        Some(document) if documents.is_empty() => Ok(Release::LITERAL.value(&document)),
        _ => Err("it is not one YAML document".to_owned()),
    }
}

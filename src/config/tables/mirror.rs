//! `[[mirror]]`: registries and image layouts that have images of other registries.

use super::*;
use crate::ir::ImageReference;

/// The prefix of a mirror's `to` for image layouts.
const OCI_LAYOUT: &str = "oci-layout:";

table! {
    /// A registry mirror. Image references in charts are not changed.
    pub struct Mirror at "[[mirror]]" {
        /// Prefix of the references that this mirror serves, up to a `/` or the end, for example
        /// `registry.redhat.io`. The longest matching prefix is used first; of two equal ones, the
        /// first in the file.
        from: ReferencePrefix;
        /// Location of the mirror: `oci-layout:DIR`, an OCI image layout directory relative to this
        /// file, or a prefix in another registry, for example `registry.example.com/mirror`, to
        /// which the rest of the reference is appended.
        to: MirrorTarget;
        /// Fall back to the next mirror with a matching `from`, and after the last one to the
        /// registry itself, if this mirror does not have the image. Default: false.
        fallback: bool;
        /// The table in the file.
        span: Header;
    }
}

/// The target of a mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MirrorTarget {
    /// `oci-layout:DIR`, an OCI image layout directory relative to the configuration.
    Layout(PathBuf),
    /// The start of names in another registry, for example `registry.example.com/mirror`.
    Registry(String),
}

impl Form for MirrorTarget {
    type Value = MirrorTarget;
    const KIND: Kind = Kind::String(Some("^[^\\s/].*$"));

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Self> {
        let text = value.get_ref().as_str()?;
        reader.valid(value, target(key, text))
    }
}

/// Returns the target that a text names, or the message and hint about it.
fn target(key: &Key, text: &str) -> Result<MirrorTarget, (String, String)> {
    if let Some(folder) = text.strip_prefix(OCI_LAYOUT) {
        if !folder.trim().is_empty() {
            return Ok(MirrorTarget::Layout(PathBuf::from(folder)));
        }
        let hint = format!(
            "write `{OCI_LAYOUT}DIR`, where DIR is an OCI image layout directory (with a file \
                `oci-layout`), relative to this file"
        );
        return Err(("`to` has no directory".to_owned(), hint));
    }
    if let Some(fault) = Reference::fault(key, text) {
        return Err(fault);
    }

    let text = text.trim_end_matches('/');
    let (host, path) = text.split_at(text.find('/').unwrap_or(text.len()));
    // As in references to images: without a dot, a port or `localhost` there is no host.
    let names_host = ImageReference::is_registry(host);
    // skopeo and podman write `oci:DIR` for a layout.
    if !names_host || host.starts_with("oci:") || path.contains([':', '@']) {
        let message = "`to` is neither an image layout nor a registry prefix";
        let hint = format!(
            "write `{OCI_LAYOUT}DIR` for a directory, or HOST/PATH without a tag, for example \
                `registry.example.com/mirror`"
        );
        return Err((message.to_owned(), hint));
    }
    Ok(MirrorTarget::Registry(text.to_owned()))
}

/// Removes mirrors that are never used, because one with the same prefix comes first; reports them.
pub(crate) fn used(reader: &mut Reader<'_>, mirrors: Vec<Mirror>) -> Vec<Mirror> {
    let mut kept: Vec<Mirror> = Vec::new();
    for mirror in mirrors {
        match kept.iter().find(|first| first.from == mirror.from && !first.fallback) {
            None => kept.push(mirror),
            Some(first) => reader.twice(
                Code::InvalidValue,
                (&mirror.span, &first.span),
                format!("this mirror of `{}` is never used", mirror.from),
                "this mirror is always used first",
                "set `fallback = true` for the first one, remove one of them, or use a longer \
                    prefix in one of them",
            ),
        }
    }
    kept
}

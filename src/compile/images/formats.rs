//! Lists of images for people, for programs and for the tools that copy images.

use super::{BundleImages, Image, Use, UseKind};
use crate::diag::{Code, Diagnostic, Diagnostics, Place, join};
use crate::documents::plain;
use crate::escape::{self, Lines};
use crate::ir::{Value, map, value};
use crate::source::Reference;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Formats the images of each bundle as text, one per line, with their problems and uses.
pub fn list(bundles: &[BundleImages]) -> Lines {
    let mut lines = Lines::new();
    for (index, BundleImages { bundle, images }) in bundles.iter().enumerate() {
        if index > 0 {
            lines.push("");
        }
        lines.push(bundle);
        if images.is_empty() {
            lines.push("  none");
        }
        let references: Vec<_> =
            images.iter().map(|image| escape::visible(&image.reference)).collect();
        let width = references.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        let flags_width = images.iter().map(|image| flags(image).len()).max().unwrap_or(0);
        let flags_width = if flags_width > 0 { flags_width + 2 } else { 0 };
        for (image, reference) in images.iter().zip(references) {
            let (uses, flags) = (join(image.uses.iter().map(in_words), ", "), flags(image));
            let line = format!("  {reference:<width$}  {flags:<flags_width$}{uses}");
            lines.push(line.trim_end());
        }
    }
    lines
}

fn flags(image: &Image) -> String {
    let flags = [(!image.is_pinned(), "not pinned"), (image.is_undeclared(), "not declared")];
    join(flags.into_iter().filter_map(|(is_set, flag)| is_set.then_some(flag)), ", ")
}

fn in_words(used: &Use) -> String {
    let Use { kind, container, name, .. } = used;
    match kind {
        UseKind::Bundle => "bundle".to_owned(),
        UseKind::Container => format!("container {container}"),
        UseKind::InitContainer => format!("init container {container}"),
        UseKind::Volume => format!("volume {name}"),
        UseKind::Environment => format!("env {name}"),
        UseKind::Argument if name.is_empty() => format!("argument of {container}"),
        UseKind::Argument => format!("argument {name}"),
        UseKind::RelatedImage => format!("related image {name}"),
        UseKind::Annotation => format!("annotation {name}"),
        UseKind::Model if container.is_empty() => "volume".to_owned(),
        UseKind::Model | UseKind::Manifest => format!("container {container}"),
    }
}

/// Formats the images as JSON: an array with an object for each image of each bundle.
pub fn json(bundles: &[BundleImages]) -> String {
    let images = bundles.iter().flat_map(|BundleImages { bundle, images }| {
        images.iter().map(move |image| {
            json!({
                "bundle": bundle,
                "image": image.reference,
                "pinned": image.is_pinned(),
                "declared": !image.is_undeclared(),
                "pulled": image.is_pulled(),
                "uses": image.uses,
            })
        })
    });

    escape::json(&format!("{:#}\n", Json::Array(images.collect()))).into_owned()
}

/// Formats the images for `skopeo sync --src yaml --dest docker`. Without `--all`, skopeo copies
/// one platform of an index and fails if the digest is that of the index; without `--scoped`, it
/// only keeps the last segment of a repository's path, so that images of two operators may collide.
pub fn skopeo(bundles: &[BundleImages], diagnostics: &mut Diagnostics) -> String {
    let references = references(bundles, diagnostics);
    let mut hosts: BTreeMap<&str, BTreeMap<&str, BTreeSet<String>>> = BTreeMap::new();
    for (reference, _) in references.values() {
        // References without a registry were skipped.
        let (host, repository) = reference.name.split_once('/').unwrap_or_default();
        let digest = reference.digest.as_ref().map(ToString::to_string);
        let version = digest.or_else(|| reference.tag.clone()).unwrap_or_default();
        hosts.entry(host).or_default().entry(repository).or_default().insert(version);
    }
    let hosts = hosts.into_iter().map(|(host, repositories)| {
        let repositories = repositories.into_iter().map(|(name, list)| (name, Value::texts(list)));
        (host.to_owned(), Value::map([("images", Value::map(repositories))]))
    });
    let note = "# skopeo sync --all --preserve-digests --scoped --src yaml --dest docker FILE \
                HOST/PREFIX\n";
    format!("{note}{}", plain(&hosts.collect()))
}

/// Formats the images for `oc mirror --v2 --config`.
pub fn image_set(bundles: &[BundleImages], diagnostics: &mut Diagnostics) -> String {
    let references = references(bundles, diagnostics);
    let images: Vec<Value> = references.keys().map(|name| value!({"name": name})).collect();
    plain(&map! {
        "apiVersion": "mirror.openshift.io/v2alpha1",
        "kind": "ImageSetConfiguration",
        "mirror": {"additionalImages": images},
    })
}

/// Creates an ImageDigestMirrorSet that makes nodes pull from `mirror`, a host with an optional
/// prefix. Below it, repositories are either without their host, as `oc mirror` writes them, or
/// with it, as `skopeo sync --scoped` does; nodes try both. OpenShift mirrors references by digest
/// only; others are skipped with a warning.
pub fn mirror_set(bundles: &[BundleImages], mirror: &str, diagnostics: &mut Diagnostics) -> String {
    let references = references(bundles, diagnostics);
    let mirror = mirror.trim_end_matches('/');
    let mut repositories = BTreeSet::new();
    for (text, (reference, place)) in &references {
        if reference.digest.is_some() {
            repositories.insert(reference.name.as_str());
            continue;
        }
        let message = format!("`{text}` is skipped: an ImageDigestMirrorSet mirrors digests only");
        diagnostics.push(
            Diagnostic::warning(Code::ImageNotPinned, message)
                .at(place.clone())
                .hint("add an ImageTagMirrorSet for it, or use a bundle with digests"),
        );
    }
    let mirrors = repositories.into_iter().map(|name| {
        let (host, path) = name.split_once('/').unwrap_or(("", name));
        let mut mirrors = vec![format!("{mirror}/{path}")];
        // A port cannot be part of a path, and skopeo cannot copy such an image there.
        mirrors.extend((!host.contains(':')).then(|| format!("{mirror}/{name}")));
        value!({"mirrors": Value::texts(mirrors), "source": name})
    });
    plain(&map! {
        "apiVersion": "config.openshift.io/v1",
        "kind": "ImageDigestMirrorSet",
        "metadata": {"name": "bundle2chart"},
        "spec": {"imageDigestMirrors": mirrors.collect::<Vec<_>>()},
    })
}

/// Returns the images to copy, by reference, each with the place of its first use: all except those that
/// are only in annotations.
/// References without a registry are skipped with a warning.
fn references(
    bundles: &[BundleImages],
    diagnostics: &mut Diagnostics,
) -> BTreeMap<String, (Reference, Place)> {
    let mut references = BTreeMap::new();
    for BundleImages { bundle, images } in bundles {
        for image in images {
            let is_bundle = image.uses.iter().any(|used| used.kind == UseKind::Bundle);
            if !image.is_pulled() && !is_bundle {
                continue;
            }
            let mut place = super::place(image);
            place.bundle.get_or_insert_with(|| bundle.clone());
            match Reference::parse(&image.reference) {
                Ok(reference) => {
                    references.entry(image.reference.clone()).or_insert((reference, place));
                }
                Err(problem) => {
                    let message = format!("an image is skipped: {}", problem.message);
                    diagnostics.push(Diagnostic::warning(problem.code, message).at(place).hint(
                        "use a full reference: short names resolve differently on each node",
                    ));
                }
            }
        }
    }

    references
}

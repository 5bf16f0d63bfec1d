//! Rules on images: repository, tag and digest.

use super::{display_value, found, listed, rules};
use crate::ir::{ImageParts, ImageReference};
use crate::{Finding, Rule};
use serde_json::Value as Json;

rules! {
    /// Registry or repository of an image changed.
    ///
    /// Pull secrets, mirrors, allow lists and network rules may cover only the old repository.
    /// Risky, because pods do not start where the new one is out of reach.
    REGISTRY "image-registry-changed" Risky(Behaviour)
        "Before the upgrade, mirror the image and check that the pull secret has access.";
    /// Image of a container changed.
    ///
    /// Another tag or digest of the same repository, as in every upgrade: the pods restart with the
    /// new image.
    IMAGE "image-changed" Info
        "Mirror the image before the upgrade if clusters cannot reach its registry.";
    /// Older version of an image.
    ///
    /// The tag is an earlier version than before. Programs may not understand data that the later
    /// version has written.
    OLDER "image-older" Risky(Behaviour)
        "Check that the vendor intends the downgrade.";
    /// Image no longer pinned.
    ///
    /// A tag can move to another image without a change of the chart, and `latest` is meant to.
    UNPINNED "image-unpinned" Risky(Behaviour)
        "Pin the image with a value or a patch, or ask the vendor for a digest.";
    /// Registry or repository of an operand image changed.
    ///
    /// Pull secrets, mirrors and allow lists may cover only the old repository. Risky, because
    /// operands do not start where the new one is out of reach.
    OPERAND_REGISTRY "operand-registry-changed" Risky(Behaviour)
        "Mirror the image before the upgrade.";
    /// Operand image changed.
    ///
    /// Another tag or digest of the same repository: the operator restarts its operands with the
    /// new image after the upgrade.
    OPERAND_IMAGE "operand-image-changed" Info
        "Mirror the image before the upgrade if clusters cannot reach its registry.";
    /// Operand version removed.
    ///
    /// The operator has a list of images by version, and no longer has one for this version. Custom
    /// resources that request it cannot be reconciled.
    OPERAND_VERSION "operand-version-removed" Risky(Unavailable)
        "Check which version your custom resources request, and upgrade them first.";
}

/// The use of an image.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// A container runs it.
    Runs,
    /// An operator gets it from an environment variable, for its operands.
    Operand,
}

/// Returns the repository of a reference in its usual spelling.
pub(super) fn repository(text: &str) -> String {
    usual(ImageParts::of(text).repository)
}

/// Returns the usual spelling of a repository: with Docker Hub's name where none is given.
fn usual(repository: &str) -> String {
    let (host, path) = ImageReference::split(repository);
    // The former name of Docker Hub (`legacyDefaultDomain` in distribution/reference).
    match host.strip_prefix("index.").unwrap_or(host) {
        host @ "docker.io" if !path.contains('/') => format!("{host}/library/{path}"),
        host => format!("{host}/{path}"),
    }
}

/// Returns true if a text is an image reference with a registry host, a repository, and a tag or
/// digest.
pub(crate) fn is_image(text: &str) -> bool {
    let image = ImageParts::of(text);
    let host = image.repository.split('/').next().unwrap_or_default();
    !text.contains("://")
        // Lists of images have them, references do not.
        && !text.contains(|c: char| c.is_whitespace() || ['=', ',', ';'].contains(&c))
        && image.repository.contains('/')
        // Many texts have a slash and a colon; the host decides, as in Docker's references.
        && (host.contains('.') || host.contains(':') || host == "localhost")
        && (image.tag.is_some() || image.digest.is_some())
}

/// Returns the findings for a changed image. `place` begins the reasons: `container manager: image`.
pub(super) fn changed(place: &str, old: &str, new: &str, usage: Use) -> Vec<Finding> {
    let (before, after) = (ImageParts::of(old), ImageParts::of(new));
    let [moved, changed]: [&'static Rule; 2] = match usage {
        Use::Runs => [&REGISTRY, &IMAGE],
        Use::Operand => [&OPERAND_REGISTRY, &OPERAND_IMAGE],
    };
    let mut findings = if usual(before.repository) != usual(after.repository) {
        let reason = format!("{place}: {} → {}", before.repository, after.repository);
        vec![found(moved, reason)]
    } else {
        // Show the digests if only they differ.
        let same_tag = before.tag == after.tag;
        let part = |image: &ImageParts<'_>| {
            let digest = image.digest.filter(|_| same_tag);
            shortened(digest.or(image.tag).or(image.digest).unwrap_or("no tag"))
        };
        let reason = match part(&before) == part(&after) {
            true => format!("{place}: {old} → {new}, the same image"),
            false => format!("{place}: {} → {}", part(&before), part(&after)),
        };
        let older = is_older(before.tag, after.tag);
        vec![found(if older { &OLDER } else { changed }, reason)]
    };

    // Operands are started by the operator, which may add the digest itself.
    if usage == Use::Runs && before.digest.is_some() && after.digest.is_none() {
        findings.push(found(&UNPINNED, format!("{place}: pinned by tag instead of digest")));
    } else if usage == Use::Runs && after.is_moving() && !before.is_moving() {
        let tag = after.tag.unwrap_or("no tag");
        findings.push(found(&UNPINNED, format!("{place}: {tag} instead of a fixed tag")));
    }
    findings
}

/// Returns true if both tags are versions and the new one is earlier.
fn is_older(old: Option<&str>, new: Option<&str>) -> bool {
    let Some((old, new)) = old.zip(new) else { return false };
    let versions = version(old).zip(version(new));
    let is_earlier = || pre_release(old).zip(pre_release(new)).is_some_and(|(old, new)| new < old);
    versions.is_some_and(|(old, new)| new < old || new == old && is_earlier())
}

/// Returns the name and number of a pre-release, such as `1.0.0-rc.2`; of other suffixes, the order is
/// not known.
fn pre_release(tag: &str) -> Option<(&str, u64)> {
    let (_, suffix) = tag.split_once('-')?;
    let end = suffix.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(suffix.len());
    let (name, number) = suffix.split_at(end);
    let number = number.trim_start_matches(['.', '-']).parse().ok()?;
    ["", "alpha", "beta", "rc"].contains(&name).then_some((name, number))
}

/// Returns the numbers of a tag such as `v1.2.3` or `1.2.3-ubi9`. A date or build number alone is no
/// version.
fn version(tag: &str) -> Option<[u64; 3]> {
    let tag = tag.strip_prefix('v').unwrap_or(tag);
    // Tags have suffixes of many kinds (`-ubi9`, `-rc.1`); only what is before them is compared.
    let end = tag.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(tag.len());
    let parts: Vec<u64> =
        tag[..end].split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    match *parts.as_slice() {
        [major, minor] => Some([major, minor, 0]),
        [major, minor, patch, ..] => Some([major, minor, patch]),
        _ => None,
    }
}

/// Returns the findings for a changed image of operands, or list of images by version, such as
/// `4.1.0=quay.io/…` lines; `None` for other values.
pub(super) fn changed_operands(place: &str, old: &str, new: &str) -> Option<Vec<Finding>> {
    if is_image(old) && is_image(new) {
        return Some(changed(place, old, new, Use::Operand));
    }
    let (before, after) = (versions(old)?, versions(new)?);

    let mut findings = Vec::new();
    let is_gone = |key: &&str| !after.iter().any(|(new, _)| new == key);
    let gone: Vec<&str> = before.iter().map(|(key, _)| *key).filter(is_gone).collect();
    if !gone.is_empty() {
        let reason = format!("{place}: no image for {} any more", listed(&gone, 5));
        findings.push(found(&OPERAND_VERSION, reason));
    }

    for (key, image) in after {
        let known = before.iter().find(|(old, _)| *old == key).map(|(_, image)| *image);
        let place = format!("{place}[{key}]");
        match known {
            Some(old) if old != image => {
                findings.extend(changed(&place, old, image, Use::Operand));
            }
            None => findings.push(found(&OPERAND_IMAGE, format!("{place}: new image"))),
            _ => {}
        }
    }

    // The same images in another order or form.
    if findings.is_empty() {
        findings
            .push(found(&OPERAND_IMAGE, format!("{place}: {}", display_value(&Json::from(new)))));
    }
    Some(findings)
}

/// Returns the images by version, if a value is a list of them.
fn versions(value: &str) -> Option<Vec<(&str, &str)>> {
    let lines = value.split(['\n', ',', ';']).map(str::trim).filter(|line| !line.is_empty());
    let pairs = lines.map(|line| {
        let (key, image) = line.split_once('=')?;
        (image.contains('/') && image.contains([':', '@'])).then_some((key.trim(), image.trim()))
    });
    pairs.collect::<Option<Vec<_>>>().filter(|pairs| !pairs.is_empty())
}

/// Returns the finding for a new operand image.
pub(super) fn added(place: &str, image: &str) -> Finding {
    let shown = match ImageParts::of(image) {
        ImageParts { repository: "", .. } => String::new(),
        ImageParts { repository, digest: Some(digest), .. } => {
            format!(" {repository}@{}", shortened(digest))
        }
        ImageParts { repository, tag, .. } => format!(" {repository}:{}", tag.unwrap_or("latest")),
    };
    found(&OPERAND_IMAGE, format!("{place}: new image{shown}"))
}

/// Returns the start of a digest or tag, as container tools show it.
fn shortened(part: &str) -> String {
    part.chars().take(19).collect()
}

#[cfg(test)]
mod tests {
    use super::{ImageParts, is_image, is_older, repository};

    #[test]
    fn references_come_apart() {
        for (text, repository, tag, digest) in [
            ("a", "a", None, None),
            ("a:1", "a", Some("1"), None),
            ("r.io:5000/a", "r.io:5000/a", None, None),
            ("r.io:5000/a/b:1@sha256:0", "r.io:5000/a/b", Some("1"), Some("sha256:0")),
        ] {
            assert_eq!(ImageParts::of(text), ImageParts { repository, tag, digest });
        }
        for (text, usual) in [
            ("a:1", "docker.io/library/a"),
            ("index.docker.io/a", "docker.io/library/a"),
            ("b/a@sha256:0", "docker.io/b/a"),
            ("r.io/a:1", "r.io/a"),
        ] {
            assert_eq!(repository(text), usual);
        }
        for text in ["r.io/a:1", "r.io/a@sha256:0", "localhost/a:1", "mirror:5000/a:1"] {
            assert!(is_image(text), "{text}");
        }
        for text in [
            "a:1",
            "library/a:1",
            "r.io/a",
            "https://r.io/a:1",
            "r.io/a:1 b",
            "info",
            "0.0.0.0:8080",
        ] {
            assert!(!is_image(text), "{text}");
        }
    }

    #[test]
    fn tags_are_older_only_as_versions() {
        for (old, new, older) in [
            ("1.10.0", "1.9.0", true),
            ("v1.2.1", "v1.2.0-ubi9", true),
            ("1.9.1", "1.9", true),
            ("1.9.0", "1.9", false),
            ("1.9.0", "1.10.0", false),
            ("1.9.0", "1.9.0-rc1", false),
            ("1.9.0-rc.2", "v1.9.0-rc.1", true),
            ("1.9.0-rc10", "1.9.0-rc9", true),
            ("1.9.0-rc9", "1.9.0-rc10", false),
            ("1.9.0-rc2", "1.10.0-rc1", false),
            ("1.9.0-beta.1", "1.9.0-alpha.2", true),
            ("1.9.0-202402", "1.9.0-202401", true),
            ("1.9.0-ubi9", "1.9.0-ubi8", false),
            ("20240102", "20230101", false),
            ("stable", "1.0", false),
        ] {
            assert_eq!(is_older(Some(old), Some(new)), older, "{old} → {new}");
        }
    }
}

//! Compares locked bundles with what their sources have now: in, the configuration, the lock and the
//! sources; out, a [`Status`] per bundle, and [`text`] and [`json`] reports of them.

pub(crate) mod json;
pub(crate) mod text;

use crate::config::{BundleConfig, Source};
use crate::diag::Diagnostics;
use crate::lock::{Bytes, Lock, Locked};
use crate::pipeline::{REGISTRY_JOBS, for_each};
use crate::source::catalog::{self, Deprecated, Installed, Step};
use crate::source::{Reference, SourceResolver};
use semver::Version;

/// The state of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    /// Name in bundles.toml.
    pub name: String,
    /// The image reference, the path or the catalog, as written.
    pub source: String,
    /// `image`, `catalog`, `path` or `manifests`.
    pub kind: &'static str,
    /// The locked version, `None` if the bundle is not locked with this source.
    pub locked: Option<LockedVersion>,
    /// For a bundle of a catalog: its channel.
    pub channel: Option<Channel>,
    /// The newest version anywhere.
    pub newest: Option<Newest>,
    /// The locked tag, if the image's reference has one.
    pub tag: Option<Tag>,
    /// The required steps to the version that `lock --upgrade` leads to; `None` if the catalog has
    /// no upgrade path.
    pub path: Option<Vec<Step>>,
    /// The deprecations in the catalog.
    pub deprecations: Vec<Deprecated>,
}

/// The entry of a bundle in bundles.lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LockedVersion {
    /// Version of the ClusterServiceVersion.
    pub version: String,
    /// Name of the ClusterServiceVersion.
    pub csv: String,
    /// Digest of the image's manifest, or of the files.
    pub digest: String,
}

/// A channel of a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Channel {
    /// Name of the channel.
    pub name: String,
    /// Version of its head, if it has one head.
    pub newest: Option<Version>,
    /// The version that bundles.toml selects.
    pub selected: Version,
}

/// The newest version of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    /// The version.
    pub version: Version,
    /// The channel or the tag that has it.
    pub at: String,
}

/// The tag of a locked image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    /// The tag.
    pub name: String,
    /// The digest of the manifest that it leads to now.
    pub digest: String,
    /// True if it led to another one when the bundle was locked.
    pub moved: bool,
}

impl Status {
    /// Returns true if `lock --upgrade` would change the entry, or if the repository of an image has
    /// a newer version. Newer versions in other channels do not count: `channel` is a decision.
    pub(crate) fn is_outdated(&self) -> bool {
        let selected = self.channel.as_ref().is_some_and(|channel| {
            self.is_newer(&channel.selected)
                || channel.newest.as_ref().is_some_and(|newest| self.is_newer(newest))
        });
        let moved = self.locked.is_some() && self.tag.as_ref().is_some_and(|tag| tag.moved);
        selected || moved || self.has_newer_tag()
    }

    /// Returns true if the repository of the image has a tag with a newer version.
    fn has_newer_tag(&self) -> bool {
        self.kind == "image"
            && self.newest.as_ref().is_some_and(|newest| self.is_newer(&newest.version))
    }

    fn is_newer(&self, version: &Version) -> bool {
        // A version that is none cannot be compared, so nothing is newer.
        let locked = self.locked.as_ref().and_then(|it| Version::parse(&it.version).ok());
        locked.is_some_and(|locked| *version > locked)
    }
}

/// Returns the state of each of the bundles.
pub(crate) fn statuses(
    bundles: &[&BundleConfig],
    lock: &Lock,
    sources: &SourceResolver,
    diagnostics: &mut Diagnostics,
) -> Vec<Status> {
    let status_of = |bundle: &&BundleConfig, diagnostics: &mut Diagnostics| {
        Some(status(bundle, lock.entry(bundle), sources, diagnostics))
    };
    for_each(bundles, REGISTRY_JOBS, |bundle| bundle.name.as_str(), diagnostics, status_of)
}

/// Returns the state of a bundle with its locked `entry`. What cannot be looked up is reported, and
/// missing in the state.
fn status(
    bundle: &BundleConfig,
    entry: Option<&Locked>,
    sources: &SourceResolver,
    diagnostics: &mut Diagnostics,
) -> Status {
    let mut status = Status {
        name: bundle.name.clone(),
        source: bundle.source.text().to_owned(),
        kind: match bundle.source {
            Source::Image { .. } => "image",
            Source::Path { .. } => "path",
            Source::Catalog(_) => "catalog",
            Source::Manifests(_) => "manifests",
        },
        locked: entry.map(|entry| LockedVersion {
            version: entry.csv_version.clone(),
            csv: entry.csv.clone(),
            digest: entry.bytes.digest().to_owned(),
        }),
        channel: None,
        newest: None,
        tag: None,
        // `None` would say that a catalog has no way to the new version.
        path: Some(Vec::new()),
        deprecations: Vec::new(),
    };

    // Without an entry nothing is installed that an upgrade path could begin at.
    if let (Source::Catalog(wanted), Some(entry)) = (&bundle.source, entry) {
        let installed = Installed::of(&entry.csv, &entry.csv_version);
        if let Some(found) = catalog::upgrades(wanted, sources, &installed, diagnostics) {
            status.newest = found.newest.map(|(version, at)| Newest { version, at });
            status.channel =
                Some(Channel { name: found.channel, newest: found.head, selected: found.selected });
            status.path = found.path;
            status.deprecations = found.deprecations;
        }
    }
    if let Source::Image { reference, .. } = &bundle.source {
        let tags = sources.tags(reference, diagnostics).unwrap_or_default();
        let locked = entry.and_then(|entry| Version::parse(&entry.csv_version).ok());
        status.newest = newest_of(&tags, locked.as_ref());
        status.tag = entry.and_then(|entry| tag(reference, entry, sources, diagnostics));
    }

    status
}

/// Returns the locked tag; `None` for a reference with a digest, which never moves.
fn tag(
    reference: &str,
    entry: &Locked,
    sources: &SourceResolver,
    diagnostics: &mut Diagnostics,
) -> Option<Tag> {
    let Bytes::Image(image) = &entry.bytes else { return None };
    let parsed = Reference::parse(reference).ok().filter(|parsed| parsed.digest.is_none())?;
    let digest = sources.current_digest(reference, &image.identity, diagnostics)?;
    let moved = digest != image.identity.digest;
    Some(Tag { name: parsed.tag?, digest, moved })
}

/// Returns the tag with the highest version. Pre-releases, such as the tags of nightly builds, count
/// only if one is locked.
fn newest_of(tags: &[String], locked: Option<&Version>) -> Option<Newest> {
    let with_prereleases = locked.is_some_and(|locked| !locked.pre.is_empty());
    tags.iter()
        .filter_map(|tag| Some(Newest { version: version_of(tag)?, at: tag.clone() }))
        .filter(|newest| newest.version.pre.is_empty() || with_prereleases)
        // Of equal versions, such as `v1.2` and `1.2.0`, the first tag in the order of the text.
        .reduce(|best, next| if next.version > best.version { next } else { best })
}

/// Returns the version that a tag states: `1.2.3`, `v1.2.3` or `1.2`; tags have `_` for `+`.
fn version_of(tag: &str) -> Option<Version> {
    let text = tag.strip_prefix('v').unwrap_or(tag).replacen('_', "+", 1);
    // Tags often leave out the last number, which semantic versions require.
    Version::parse(&text).or_else(|_| Version::parse(&format!("{text}.0"))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_tag_is_a_version() {
        let newest = |tags: &[&str], locked: Option<&str>| {
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            let locked = locked.map(|version| Version::parse(version).unwrap());
            newest_of(&tags, locked.as_ref())
                .map(|newest| format!("{} {}", newest.version, newest.at))
        };
        assert_eq!(newest(&["latest", "stable", "sha256-0a.sig"], None), None);
        let tags = ["1.10", "1.9.3", "v1.10.1", "v1.11.0-rc.1", "1.10-1754320", "2024"];
        assert_eq!(newest(&tags, None).as_deref(), Some("1.10.1 v1.10.1"));
        assert_eq!(newest(&tags, Some("1.9.3")).as_deref(), Some("1.10.1 v1.10.1"));
        assert_eq!(newest(&tags, Some("1.11.0-rc.0")).as_deref(), Some("1.11.0-rc.1 v1.11.0-rc.1"));
        assert_eq!(newest(&["1.0.0_2"], None).as_deref(), Some("1.0.0+2 1.0.0_2"));
    }
}

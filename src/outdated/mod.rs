//! Compares locked bundles with what their sources have now: in, the configuration, the lock and the
//! sources; out, a [`Status`] per bundle, and [`text`] and [`json`] reports of them.

mod report;

pub(crate) use report::{json, text};

use crate::config::{BundleConfig, Source};
use crate::diag::Diagnostics;
use crate::lock::{Lock, Locked};
use crate::pipeline::{REGISTRY_JOBS, for_each};
use crate::source::catalog::{self, Installed, Upgrades};
use crate::source::{Reference, SourceResolver};
use semver::Version;

/// The state of a bundle.
#[derive(Clone, Debug)]
pub(crate) struct Status<'a> {
    /// The bundle in bundles.toml.
    pub bundle: &'a BundleConfig,
    /// Its entry in bundles.lock, `None` if the bundle is not locked with this source.
    pub locked: Option<&'a Locked>,
    /// For a locked bundle of a catalog: what the catalog offers.
    pub upgrades: Option<Upgrades>,
    /// For an image: the newest version that a tag of its repository states, and the tag.
    newest_tag: Option<(Version, String)>,
    /// The locked tag, if the image's reference has one.
    pub tag: Option<Tag>,
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

impl Status<'_> {
    /// Returns `image`, `catalog`, `path` or `manifests`.
    pub(crate) fn kind(&self) -> &'static str {
        match self.bundle.source {
            Source::Image { .. } => "image",
            Source::Path { .. } => "path",
            Source::Catalog(_) => "catalog",
            Source::Manifests(_) => "manifests",
        }
    }

    /// Returns the newest version anywhere, and the channel or the tag that has it.
    pub(crate) fn newest(&self) -> Option<&(Version, String)> {
        let of_catalog = self.upgrades.as_ref().and_then(|upgrades| upgrades.newest.as_ref());
        of_catalog.or(self.newest_tag.as_ref())
    }

    /// Returns true if `lock --upgrade` would change the entry, or if the repository of an image has
    /// a newer version. Newer versions in other channels do not count: `channel` is a decision.
    pub(crate) fn is_outdated(&self) -> bool {
        let selected = self.upgrades.as_ref().is_some_and(|upgrades| {
            self.is_newer(&upgrades.selected)
                || upgrades.head.as_ref().is_some_and(|head| self.is_newer(head))
        });
        let moved = self.locked.is_some() && self.tag.as_ref().is_some_and(|tag| tag.moved);
        selected || moved || self.newer_tag().is_some()
    }

    /// Returns the tag with a newer version in the repository of the image.
    fn newer_tag(&self) -> Option<&str> {
        let (version, tag) = self.newest_tag.as_ref()?;
        self.is_newer(version).then_some(tag)
    }

    fn is_newer(&self, version: &Version) -> bool {
        // A version that is none cannot be compared, so nothing is newer.
        let locked = self.locked.and_then(|it| Version::parse(&it.csv_version).ok());
        locked.is_some_and(|locked| *version > locked)
    }
}

/// Returns the state of each of the bundles. What cannot be looked up is reported, and missing in the
/// state.
pub(crate) fn statuses<'a>(
    bundles: &[&'a BundleConfig],
    lock: &'a Lock,
    sources: &SourceResolver,
    diagnostics: &mut Diagnostics,
) -> Vec<Status<'a>> {
    let status = |bundle: &&'a BundleConfig, diagnostics: &mut Diagnostics| {
        let locked = lock.entry(bundle);
        let mut status = Status { bundle, locked, upgrades: None, newest_tag: None, tag: None };
        // Without an entry nothing is installed that an upgrade path could begin at.
        if let (Source::Catalog(wanted), Some(entry)) = (&bundle.source, locked) {
            let installed = Installed::of(&entry.csv, &entry.csv_version);
            status.upgrades = catalog::upgrades(wanted, sources, &installed, diagnostics);
        }
        if let Source::Image { reference, .. } = &bundle.source {
            let tags = sources.tags(reference, diagnostics).unwrap_or_default();
            let version = locked.and_then(|entry| Version::parse(&entry.csv_version).ok());
            status.newest_tag = newest_of(&tags, version.as_ref());
            status.tag = locked.and_then(|entry| tag(reference, entry, sources, diagnostics));
        }
        Some(status)
    };
    for_each(bundles, REGISTRY_JOBS, |bundle| bundle.name.as_str(), diagnostics, status)
}

/// Returns the locked tag; `None` for a reference with a digest, which never moves.
fn tag(
    reference: &str,
    entry: &Locked,
    sources: &SourceResolver,
    diagnostics: &mut Diagnostics,
) -> Option<Tag> {
    let image = entry.image.as_ref()?;
    let parsed = Reference::parse(reference).ok().filter(|parsed| parsed.digest.is_none())?;
    let digest = sources.current_digest(reference, &image.identity, diagnostics)?;
    let moved = digest != image.identity.digest;
    Some(Tag { name: parsed.tag?, digest, moved })
}

/// Returns the tag with the highest version. Pre-releases, such as the tags of nightly builds, count
/// only if one is locked.
fn newest_of(tags: &[String], locked: Option<&Version>) -> Option<(Version, String)> {
    let with_prereleases = locked.is_some_and(|locked| !locked.pre.is_empty());
    tags.iter()
        .filter_map(|tag| Some((version_of(tag)?, tag.clone())))
        .filter(|(version, _)| version.pre.is_empty() || with_prereleases)
        // Of equal versions, such as `v1.2` and `1.2.0`, the first tag in the order of the text.
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
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
            newest_of(&tags, locked.as_ref()).map(|(version, tag)| format!("{version} {tag}"))
        };
        assert_eq!(newest(&["latest", "stable", "sha256-0a.sig"], None), None);
        let tags = ["1.10", "1.9.3", "v1.10.1", "v1.11.0-rc.1", "1.10-1754320", "2024"];
        assert_eq!(newest(&tags, None).as_deref(), Some("1.10.1 v1.10.1"));
        assert_eq!(newest(&tags, Some("1.9.3")).as_deref(), Some("1.10.1 v1.10.1"));
        assert_eq!(newest(&tags, Some("1.11.0-rc.0")).as_deref(), Some("1.11.0-rc.1 v1.11.0-rc.1"));
        assert_eq!(newest(&["1.0.0_2"], None).as_deref(), Some("1.0.0+2 1.0.0_2"));
    }
}

//! `bundles.lock`: pins each bundle of `bundles.toml` to a digest.
//!
//! A bundle is pinned to the digest of its image manifest, or of its files if they are embedded in
//! a catalog. `build` adds missing entries and never changes a digest; `lock --upgrade` does, and
//! [`change`] reports the differences.

pub mod change;
mod decision;
mod file;
mod format;
#[cfg(test)]
mod tests;

pub use file::{parse, path_of, read, write};

use crate::bundle::Bundle;
use crate::config::{BundleConfig, Config, Source, VersionRequest, Watch};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::ir::UpgradeEdges;
use crate::source::{BundleFiles, ImageIdentity, Pin, digest_of_parts};
use std::path::Path;

/// The lock file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// The locked bundles, by name.
    pub bundles: Vec<Locked>,
}

/// The locked state of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locked {
    /// Name in bundles.toml.
    pub name: String,
    /// Hash of the source in bundles.toml; if it differs, the entry is for another source.
    pub config_hash: String,
    /// The image; for embedded files the one of the catalog, unless the catalog is at a path.
    pub image: Option<LockedImage>,
    /// The digest of files that are embedded in a catalog, as [`BundleFiles::digest`] has it.
    pub embedded: Option<String>,
    /// Name of the ClusterServiceVersion.
    pub csv: String,
    /// Version of the ClusterServiceVersion.
    pub csv_version: String,
    /// The edges that lead to the bundle in its catalog, which is not read for a locked image.
    pub edges: Option<UpgradeEdges>,
    /// The recorded decisions.
    pub decisions: Decisions,
}

/// Decisions of a bundle that bundles.toml does not make. If a later version of the bundle decides
/// differently, the build stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decisions {
    /// The package.
    pub package: String,
    /// Namespaces that the operator watches: from bundles.toml, else the default install mode of
    /// the bundle.
    pub watch: Option<Watch>,
}

/// The locked state of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedImage {
    /// The reference of the image.
    pub reference: String,
    /// The image that the reference resolved to.
    pub identity: ImageIdentity,
}

impl Locked {
    /// Locks a bundle to the content that was read; `None` for bundles of a path.
    pub fn new(config: &BundleConfig, files: &BundleFiles, bundle: &Bundle) -> Option<Self> {
        let config_hash = config_hash(&config.source)?;
        let image = files.image.as_ref().or(files.catalog.as_ref()).map(|identity| {
            let reference = files.reference.as_deref().unwrap_or_else(|| config.source.text());
            LockedImage { reference: reference.to_owned(), identity: identity.clone() }
        });
        Some(Locked {
            name: config.name.clone(),
            config_hash,
            embedded: files.image.is_none().then(|| files.digest()),
            // Without an image, the catalog is a file that is read with every build.
            edges: files.edges.clone().filter(|_| image.is_some()),
            image,
            csv: bundle.csv.name().to_owned(),
            csv_version: bundle.csv.version.clone(),
            decisions: Decisions::of(config, bundle),
        })
    }

    /// Returns the digest of the image's manifest, or of the embedded files.
    pub fn digest(&self) -> &str {
        let manifest = self.image.as_ref().map(|image| image.identity.digest.as_str());
        self.embedded.as_deref().or(manifest).unwrap_or_default()
    }

    /// Returns the reference of the bundle's image; `embedded in the catalog` when there is none.
    pub fn origin(&self) -> &str {
        match (&self.image, &self.embedded) {
            (Some(image), None) => &image.reference,
            _ => "embedded in the catalog",
        }
    }

    /// Returns the entry with the decisions of the bundle that it is about, and with the signature that
    /// was verified, when it has others.
    pub fn with_decisions(
        &self,
        config: &BundleConfig,
        files: &BundleFiles,
        bundle: &Bundle,
    ) -> Option<Self> {
        let mut entry = Locked { decisions: Decisions::of(config, bundle), ..self.clone() };
        let verified = files.image.as_ref().or(files.catalog.as_ref());
        let verified = verified.and_then(|identity| identity.signature.clone());
        // Without a `[[verify]]` table that requires one, the recorded signature stays.
        if let (Some(image), Some(_)) = (&mut entry.image, &verified) {
            image.identity.signature = verified;
        }
        (entry != *self).then_some(entry)
    }

    /// Returns the pin for reading the image again: the bundle's image, or the catalog's if it
    /// embeds the bundle.
    pub fn pin(&self) -> Option<Pin<'_>> {
        let image = self.image.as_ref()?;
        Some(Pin {
            reference: &image.reference,
            digest: &image.identity.digest,
            index: image.identity.index.as_deref(),
            signature: image.identity.signature.as_ref(),
            is_catalog: self.embedded.is_some(),
            edges: self.edges.as_ref(),
        })
    }

    /// Reports an error if the content differs from the entry: files that are embedded in a local
    /// catalog may have changed, and an entry may have been edited. Images are read by the digest of
    /// their manifest, so all else that the entry records about them follows from it.
    pub fn check(
        &self,
        config: &BundleConfig,
        files: &BundleFiles,
        bundle: &Bundle,
        diagnostics: &mut Diagnostics,
    ) {
        let name = &self.name;
        let stale = |message: String, hint: String| {
            Diagnostic::error(Code::LockStale, message).at(config.source.span()).hint(hint)
        };
        // The catalog may also name an image now, where it embedded the files.
        if let Some(digest) = &self.embedded
            && (files.image.is_some() || files.digest() != *digest)
        {
            diagnostics.push(stale(
                format!("the locked content of `{}` is no longer in the catalog", self.csv),
                format!("run `bundle2chart lock --upgrade {name}` to use the current content"),
            ));
            return;
        }

        // Those of the image first, from which the rest follows.
        let image = self.image.as_ref().zip(files.image.as_ref());
        let differs = |different: fn(&ImageIdentity, &ImageIdentity) -> bool| {
            image.is_some_and(|(locked, found)| different(&locked.identity, found))
        };
        let properties = [
            (differs(|a, b| (&a.digest, a.size) != (&b.digest, b.size)), "manifest"),
            (differs(|a, b| a.config != b.config), "image configuration"),
            (differs(|a, b| a.layers != b.layers), "list of layers"),
            (self.csv != bundle.csv.name(), "name of the CSV"),
            (self.csv_version != bundle.csv.version, "version of the CSV"),
        ];
        if let Some((_, what)) = properties.into_iter().find(|(is_other, _)| *is_other) {
            diagnostics.push(stale(
                format!("the entry of `{name}` in bundles.lock records another {what}"),
                format!(
                    "restore bundles.lock from Git, or run `bundle2chart lock --upgrade {name}` to \
                     write the entry again"
                ),
            ));
        }
    }
}

impl Lock {
    /// Returns the entry of a bundle, when there is one and it is about the source that the bundle
    /// has now.
    pub fn entry(&self, config: &BundleConfig) -> Option<&Locked> {
        let hash = config_hash(&config.source)?;
        self.bundles.iter().find(|entry| entry.name == config.name && entry.config_hash == hash)
    }

    /// Returns the entry with this name if it is about this package, whatever its source.
    pub fn of_package(&self, name: &str, package: &str) -> Option<&Locked> {
        let entry = self.bundles.iter().find(|entry| entry.name == name)?;
        (entry.decisions.package == package).then_some(entry)
    }

    /// Reports an error for each decision of the bundle that bundles.toml leaves to it and that
    /// differs from the recorded one, whatever source the entry of this name is about.
    pub fn check_decisions(
        &self,
        config: &BundleConfig,
        bundle: &Bundle,
        diagnostics: &mut Diagnostics,
    ) {
        if let Some(recorded) = self.bundles.iter().find(|entry| entry.name == config.name) {
            decision::check(recorded, config, bundle, diagnostics);
        }
    }

    /// Returns the bundles, of those named (all when none is), that have no entry and need one.
    pub fn missing<'c>(&self, config: &'c Config, names: &[String]) -> Vec<&'c BundleConfig> {
        config
            .bundles
            .iter()
            .filter(|bundle| names.is_empty() || names.contains(&bundle.name))
            .filter(|bundle| config_hash(&bundle.source).is_some() && self.entry(bundle).is_none())
            .collect()
    }

    /// Reports each bundle, of those named (all when none is), that has no entry and needs one. If there
    /// is none, reports each entry of a bundle that the configuration no longer has, or has from another
    /// source. `None` if there are any. `path` is that of the lock file.
    pub fn check_complete(
        &self,
        config: &Config,
        names: &[String],
        path: &Path,
        diagnostics: &mut Diagnostics,
    ) -> Option<()> {
        let before = diagnostics.mark();
        let path = path.display();
        let stale = |message: String| {
            Diagnostic::error(Code::LockStale, message)
                .hint("run `bundle2chart lock` and commit the lock file")
        };

        let missing = self.missing(config, names);
        for bundle in &missing {
            let name = &bundle.name;
            let has_entry = self.bundles.iter().any(|entry| entry.name == *name);
            let message = if has_entry {
                format!("the entry for `{name}` in {path} is for another source")
            } else {
                format!("{path} has no entry for `{name}`")
            };
            diagnostics.push(stale(message).at(&bundle.span));
        }

        // A renamed bundle is missing and unused: one error is enough.
        if names.is_empty() && missing.is_empty() {
            let is_used = |entry: &&Locked| {
                config.bundles.iter().any(|bundle| self.entry(bundle) == Some(entry))
            };
            for entry in self.bundles.iter().filter(|entry| !is_used(entry)) {
                let message = format!(
                    "{path} has an entry for `{}`, which is not in the configuration",
                    entry.name
                );
                diagnostics.push(stale(message).at(Place::file(path.to_string())));
            }
        }
        diagnostics.no_errors_since(before)
    }

    /// Returns the lock with these entries and the decisions of bundles.toml, without entries of
    /// bundles that the configuration no longer has.
    #[must_use]
    pub fn updated(&self, config: &Config, entries: Vec<Locked>) -> Lock {
        let mut bundles: Vec<Locked> = config
            .bundles
            .iter()
            .filter_map(|bundle| {
                let new = entries.iter().find(|entry| entry.name == bundle.name);
                let mut entry = new.or_else(|| self.entry(bundle)).cloned()?;
                // When the key is removed later, the bundle's default is compared with the last
                // value of it.
                if entry.decisions.watch.is_some() && bundle.watch().is_some() {
                    entry.decisions.watch.clone_from(&bundle.watch().cloned());
                }
                Some(entry)
            })
            .collect();
        // By name, so that a table that moves in bundles.toml changes no line of the lock.
        bundles.sort_by(|a, b| a.name.cmp(&b.name));
        Lock { bundles }
    }
}

/// Returns a hash of the source; `None` for a path, because local files are versioned by Git.
fn config_hash(source: &Source) -> Option<String> {
    let parts: Vec<String> = match source {
        Source::Image { reference, .. } => vec!["image".to_owned(), reference.clone()],
        Source::Catalog(wanted) => {
            let channel = wanted.channel.as_ref().map(|channel| channel.text.clone());
            let version = wanted.version.as_ref().map(|version| match &version.request {
                VersionRequest::Exact(version) => format!("={version}"),
                VersionRequest::Range(range) => range.to_string(),
            });
            vec![
                "catalog".to_owned(),
                wanted.catalog.text.clone(),
                wanted.package.text.clone(),
                // Empty texts keep the places: a channel and a version must not hash alike.
                channel.unwrap_or_default(),
                version.unwrap_or_default(),
            ]
        }
        Source::Path { .. } | Source::Manifests(_) => return None,
    };
    Some(digest_of_parts(parts.iter().map(String::as_bytes)))
}

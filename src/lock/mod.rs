//! `bundles.lock`: which bytes each bundle of `bundles.toml` was, so that it stays them.
//!
//! A bundle is locked by the digest of its image's manifest, or of its files when a catalog holds
//! them. `build` adds what is missing and never
//! moves a digest; `lock --upgrade` does, and [`change`] says what that means.

pub mod change;
mod file;
mod format;

pub use file::{parse, path_of, read, write};

use crate::bundle::Bundle;
use crate::config::{BundleConfig, Config, Source, VersionRequest};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::source::{BundleFiles, ImageIdentity, Pin, digest_of_parts};

/// The lock file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// The locked bundles, by name.
    pub bundles: Vec<Locked>,
}

/// What a bundle was when it was locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locked {
    /// Name in bundles.toml.
    pub name: String,
    /// Hash of what bundles.toml says of where the bundle comes from; another one means that the
    /// entry is about something else.
    pub config_hash: String,
    /// Its bytes.
    pub bytes: Bytes,
    /// Name of the ClusterServiceVersion.
    pub csv: String,
    /// Version of the ClusterServiceVersion.
    pub csv_version: String,
}

/// What tells the bytes of a bundle from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// An image.
    Image {
        /// Its reference; for a bundle of a catalog, the one that the catalog named.
        reference: String,
        /// What the reference led to.
        identity: ImageIdentity,
    },
    /// Files that a catalog holds itself.
    Embedded {
        /// Their digest, as [`BundleFiles::digest`] has it.
        digest: String,
    },
}

impl Bytes {
    /// The digest of the image's manifest, or of the files.
    pub fn digest(&self) -> &str {
        match self {
            Bytes::Image { identity, .. } => &identity.digest,
            Bytes::Embedded { digest } => digest,
        }
    }

    /// The reference of the image; `embedded in the catalog` when there is none.
    pub fn origin(&self) -> &str {
        match self {
            Bytes::Image { reference, .. } => reference,
            Bytes::Embedded { .. } => "embedded in the catalog",
        }
    }
}

impl Locked {
    /// Locks a bundle to the bytes that it was read from; nothing when it came from a path.
    pub fn new(config: &BundleConfig, files: &BundleFiles, bundle: &Bundle) -> Option<Self> {
        let config_hash = config_hash(&config.source)?;
        let reference = files.reference.as_deref().unwrap_or_else(|| config.source.text());
        let bytes = match &files.image {
            Some(identity) => {
                Bytes::Image { reference: reference.to_owned(), identity: identity.clone() }
            }
            None => Bytes::Embedded { digest: files.digest() },
        };
        Some(Locked {
            name: config.name.clone(),
            config_hash,
            bytes,
            csv: bundle.csv.name().to_owned(),
            csv_version: bundle.csv.version.clone(),
        })
    }

    /// How to read the image again.
    pub fn pin(&self) -> Option<Pin<'_>> {
        match &self.bytes {
            Bytes::Image { reference, identity } => {
                Some(Pin { reference, digest: &identity.digest })
            }
            Bytes::Embedded { .. } => None,
        }
    }

    /// An error when the files are not those that were locked. Images are read by digest, so this
    /// is about files that a catalog holds.
    pub fn check(&self, config: &BundleConfig, files: &BundleFiles) -> Diagnostics {
        let Bytes::Embedded { digest } = &self.bytes else { return Diagnostics::new() };
        if files.image.is_none() && files.digest() == *digest {
            return Diagnostics::new();
        }
        Diagnostic::error(
            Code::LockStale,
            format!("the catalog does not have `{}` as it was locked any more", self.csv),
        )
        .at(Place::span(config.source.span().clone()))
        .hint(format!("to take what it has now: bundle2chart lock --upgrade {}", self.name))
        .into()
    }
}

impl Lock {
    /// The entry of a bundle, when there is one and it is about the source that the bundle has now.
    pub fn entry(&self, config: &BundleConfig) -> Option<&Locked> {
        let hash = config_hash(&config.source)?;
        self.bundles.iter().find(|entry| entry.name == config.name && entry.config_hash == hash)
    }

    /// The bundles, of those named (all when none is), that have no entry and need one.
    pub fn missing<'c>(&self, config: &'c Config, names: &[String]) -> Vec<&'c BundleConfig> {
        config
            .bundles
            .iter()
            .filter(|bundle| names.is_empty() || names.contains(&bundle.name))
            .filter(|bundle| config_hash(&bundle.source).is_some() && self.entry(bundle).is_none())
            .collect()
    }

    /// Entries of bundles that the configuration does not have any more, or has from elsewhere.
    pub fn unused(&self, config: &Config) -> Vec<&Locked> {
        let is_used =
            |entry: &&Locked| config.bundles.iter().any(|bundle| self.entry(bundle) == Some(entry));
        self.bundles.iter().filter(|entry| !is_used(entry)).collect()
    }

    /// The lock with these entries in it, and without those of bundles that are gone.
    #[must_use]
    pub fn updated(&self, config: &Config, entries: Vec<Locked>) -> Lock {
        let mut bundles: Vec<Locked> = config
            .bundles
            .iter()
            .filter_map(|bundle| {
                let new = entries.iter().find(|entry| entry.name == bundle.name);
                new.or_else(|| self.entry(bundle)).cloned()
            })
            .collect();
        bundles.sort_by(|a, b| a.name.cmp(&b.name));
        Lock { bundles }
    }
}

/// Hash of where a bundle comes from; nothing for a path, which Git has, not a registry.
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
                channel.unwrap_or_default(),
                version.unwrap_or_default(),
            ]
        }
        Source::Path { .. } => return None,
    };
    Some(digest_of_parts(parts.iter().map(String::as_bytes)))
}

//! `bundles.lock`: which bytes each bundle of `bundles.toml` was, so that it stays them.
//!
//! A bundle is locked by the digest of its image's manifest. `build` adds what is missing and never
//! moves a digest; `lock --upgrade` does, and [`change`] says what that means.

pub mod change;
mod file;
mod format;

pub use file::{path_of, read, write};

use crate::bundle::Bundle;
use crate::config::{BundleConfig, Config, Source};
use crate::source::ImageIdentity;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

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
    /// Reference of the image.
    pub image: String,
    /// What the reference led to.
    pub identity: ImageIdentity,
    /// Name of the ClusterServiceVersion.
    pub csv: String,
    /// Version of the ClusterServiceVersion.
    pub csv_version: String,
}

impl Locked {
    /// Locks a bundle to the image that it was read from; nothing when it came from none.
    pub fn new(config: &BundleConfig, bundle: &Bundle) -> Option<Self> {
        Some(Locked {
            name: config.name.clone(),
            config_hash: config_hash(&config.source)?,
            image: config.source.text().to_owned(),
            identity: bundle.image.clone()?,
            csv: bundle.csv.name().to_owned(),
            csv_version: bundle.csv.version.clone(),
        })
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
    let parts = match source {
        Source::Image { reference, .. } => ["image", reference],
        Source::Path { .. } => return None,
    };
    let mut hash = Sha256::new();
    for part in parts {
        // Lengths keep parts from running into each other.
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    let mut text = "sha256:".to_owned();
    for byte in hash.finalize() {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Some(text)
}

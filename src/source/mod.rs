//! Bytes: the only reads of bundles, from folders, OCI image layouts and tars.

use std::collections::BTreeMap;

/// The files of a bundle, in memory, and what is known of the image that they came in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleFiles {
    /// Regular files of the manifests folder by path relative to it.
    pub manifests: BTreeMap<String, Vec<u8>>,
    /// Regular files of the metadata folder by path relative to it.
    pub metadata: BTreeMap<String, Vec<u8>>,
    /// Name of the manifests folder as the bundle has it, for places; normally `manifests`.
    pub manifests_dir: String,
    /// Name of the metadata folder as the bundle has it, for places; normally `metadata`.
    pub metadata_dir: String,
    /// Labels of the image; empty for a folder.
    pub labels: BTreeMap<String, String>,
    /// The image, when the bundle came in one.
    pub image: Option<ImageIdentity>,
}

/// What identifies the image that a bundle came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageIdentity {
    /// Digest of the manifest, for example `sha256:…`.
    pub digest: String,
    /// Digest and size in bytes of each layer, in order.
    pub layers: Vec<(String, u64)>,
}

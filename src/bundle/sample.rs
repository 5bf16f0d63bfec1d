//! Small bundles for tests.

use crate::source::BundleFiles;

/// The annotations of a bundle of the package `widgets`.
pub const ANNOTATIONS: (&str, &str) = (
    "annotations.yaml",
    "annotations:\n  operators.operatorframework.io.bundle.package.v1: widgets\n",
);

/// Returns the files of a bundle with these manifests and metadata files.
pub fn files(manifests: &[(&str, &str)], metadata: &[(&str, &str)]) -> BundleFiles {
    let content = |files: &[(&str, &str)]| {
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).into())).collect()
    };
    BundleFiles {
        manifests: content(manifests),
        metadata: content(metadata),
        manifests_dir: "manifests".to_owned(),
        metadata_dir: "metadata".to_owned(),
        ..BundleFiles::default()
    }
}

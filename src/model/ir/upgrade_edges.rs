//! The vendor's upgrade graph, as far as it leads to one bundle.

/// The edges that lead to a bundle: the versions that can be upgraded to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpgradeEdges {
    /// The ClusterServiceVersion before it; empty without.
    pub replaces: String,
    /// ClusterServiceVersions that it skips.
    pub skips: Vec<String>,
    /// The range of versions that it skips; empty without.
    pub skip_range: String,
}

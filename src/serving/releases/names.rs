//! Names that rules know, of no release.

use crate::embedded;
use serde::Deserialize;
use std::sync::LazyLock;

/// The names of data/names.json.
#[derive(Default, Deserialize)]
#[serde(bound = "'de: 'static")]
pub(crate) struct Names {
    /// Variables that shells and the container runtime set.
    pub(crate) shells: Vec<&'static str>,
    /// Beginnings of names of variables that shells and images set.
    pub(crate) starts: Vec<&'static str>,
    /// Ends of names of variables that images, webhooks and device plugins set.
    pub(crate) ends: Vec<&'static str>,
    /// Resources that pickers, sidecars and routers read or write.
    pub(crate) resources: Vec<&'static str>,
    /// The groups of these resources. Those of other CRDs may have any resource.
    pub(crate) groups: Vec<&'static str>,
    /// Scorers that compare metrics of the engines.
    pub(crate) scorers: Vec<&'static str>,
    /// Capabilities that pods may add (Pod Security Standards, baseline); the first one also if they are
    /// restricted.
    pub(crate) capabilities: Vec<&'static str>,
}

pub(crate) static NAMES: LazyLock<Names> =
    LazyLock::new(|| embedded::json(include_str!("data/names.json")));

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_read() {
        assert!(!super::NAMES.shells.is_empty());
    }
}

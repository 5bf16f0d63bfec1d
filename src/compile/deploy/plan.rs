//! The installation order of releases.

use super::{Part, Release};
use std::collections::{BTreeMap, BTreeSet};

/// A release and its dependencies.
#[derive(Clone, Debug)]
pub struct Planned<'a> {
    /// The release.
    pub release: &'a Release,
    /// The releases that must be ready before it, each once, by name.
    pub needs: Vec<&'a Release>,
    /// True if Helm creates its namespace; false if the chart of a release before it does.
    ///
    /// With server-side apply, Helm 4 applies the namespace that it creates, with a label and nothing
    /// else, and so removes what a chart gave it, such as labels of Pod Security
    /// (helm 4.3, `action.Install`, `CreateNamespace`).
    pub creates_namespace: bool,
    /// 0 for releases that need nothing, else one more than the highest of those it needs.
    pub level: usize,
}

/// Returns the releases in an order in which each comes after all that it needs: by level, and by name
/// within a level, independent of the order of the configuration.
///
/// A bundle's own parts follow each other, and its operator comes after
/// the last part of each bundle that it depends on. CustomResourceDefinitions need nothing.
///
/// `depends-on` without an end, which the configuration does not let through, ends here at the
/// last level.
pub fn plan(releases: &[Release]) -> Vec<Planned<'_>> {
    let needs: Vec<BTreeSet<usize>> =
        releases.iter().map(|release| needs(releases, release)).collect();
    // Each round moves releases to the level after those that they need.
    let mut levels = vec![0; releases.len()];
    for _ in 0..releases.len() {
        for (index, needs) in needs.iter().enumerate() {
            let after = needs.iter().map(|need| levels[*need] + 1).max();
            levels[index] = after.unwrap_or_default().min(releases.len());
        }
    }

    // By name: the order of bundles.toml must not change the files.
    let mut order: Vec<usize> = (0..releases.len()).collect();
    order.sort_by_key(|index| (levels[*index], &releases[*index].name));
    // Each release comes after those that it needs, whose namespaces are known then.
    let mut created: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let planned = order.into_iter().map(|index| {
        let (release, level) = (&releases[index], levels[index]);
        let mut needs: Vec<&Release> = needs[index].iter().map(|need| &releases[*need]).collect();
        needs.sort_by_key(|need| &need.name);
        let before = needs.iter().filter_map(|need| created.get(need.name.as_str()));
        let mut there: BTreeSet<&str> = before.flatten().copied().collect();
        let creates_namespace = !there.contains(release.namespace.as_str());
        there.extend(release.install.namespaces.iter().map(String::as_str));
        created.insert(&release.name, there);
        Planned { release, needs, creates_namespace, level }
    });
    planned.collect()
}

/// Returns the indices of what `release` needs.
fn needs(releases: &[Release], release: &Release) -> BTreeSet<usize> {
    let last_part = |bundle: &String, below: Option<Part>| {
        let parts = (0..releases.len()).filter(|index| releases[*index].bundle == *bundle);
        let part = |index: &usize| releases[*index].install.part;
        parts.filter(|index| below.is_none_or(|below| part(index) < below)).max_by_key(part)
    };
    let mut needs: BTreeSet<usize> =
        last_part(&release.bundle, Some(release.install.part)).into_iter().collect();
    // Operands come after their operator, which has waited for the others already.
    let waits = match release.install.part {
        Part::Crds => false,
        Part::Operator => true,
        Part::Operands => needs.is_empty(),
    };
    if waits {
        needs.extend(release.depends_on.iter().filter_map(|bundle| last_part(bundle, None)));
    }
    needs
}

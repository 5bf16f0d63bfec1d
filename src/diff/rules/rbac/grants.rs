//! Permissions and their inclusion.

use crate::names::NAMES;
use crate::read::{items, texts};
use crate::rules::representatives::Representatives;
use crate::{Identity, Side};
use serde_json::Value as Json;
use std::collections::{BTreeSet, HashSet};

/// One permission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Grant<'a> {
    /// API group; empty for the core group and for URLs.
    pub(super) group: &'a str,
    /// Resource or URL.
    pub(super) resource: &'a str,
    /// Resource name; empty for all.
    pub(super) name: &'a str,
    pub(super) verb: &'a str,
    pub(super) url: bool,
}

impl Grant<'_> {
    pub(super) fn is_wild(&self) -> bool {
        self.verb == "*" || self.group == "*" || self.resource.contains('*')
    }

    /// Returns the permission without its verb, as `kubectl describe clusterrole` writes it:
    /// `deployments.apps/scale`.
    pub(super) fn target(&self) -> String {
        let mut target = match (self.url, self.group, self.resource.split_once('/')) {
            (true, ..) if self.resource == "*" => "non-resource URLs".to_owned(),
            (true, ..) | (_, "", _) => self.resource.to_owned(),
            (_, "*", _) if self.resource == "*" => "everything".to_owned(),
            (_, group, Some((resource, sub))) => format!("{resource}.{group}/{sub}"),
            (_, group, None) => format!("{}.{group}", self.resource),
        };
        if !self.name.is_empty() {
            target.push_str(&format!(" `{}`", self.name));
        }
        target
    }
}

/// Wildcards in a set of permissions, which decide the candidates that may include another one.
#[derive(Clone, Debug, Default)]
pub(super) struct Wildcards {
    /// True if there are any.
    any: bool,
    /// Lengths of URL prefixes before a final `*`.
    url_prefixes: BTreeSet<usize>,
}

impl Wildcards {
    pub(super) fn add(&mut self, grants: &[Grant<'_>]) {
        self.any |= grants.iter().any(Grant::is_wild);
        let urls = grants.iter().filter(|grant| grant.url);
        let prefixes = urls.filter_map(|grant| grant.resource.strip_suffix('*'));
        self.url_prefixes.extend(prefixes.map(str::len));
    }

    /// Returns true if `held` is true for a permission that equals or includes `grant`. Inclusion
    /// follows kubernetes/pkg/apis/rbac/v1/evaluation_helpers.go.
    ///
    /// Candidates are looked up, so the time does not depend on the number of permissions.
    pub(super) fn any_over(&self, grant: &Grant<'_>, held: impl Fn(&Grant<'_>) -> bool) -> bool {
        // A permission without resource names is for all of them.
        let names = if grant.name.is_empty() { &[""][..] } else { &["", grant.name] };
        let held = |wider: Grant<'_>| names.iter().any(|name| held(&Grant { name, ..wider }));
        if !self.any {
            return held(*grant);
        }

        let groups = if grant.url { &[grant.group][..] } else { &["*", grant.group] };
        self.resources_over(grant).iter().any(|resource| {
            groups.iter().any(|group| {
                ["*", grant.verb].iter().any(|verb| held(Grant { group, resource, verb, ..*grant }))
            })
        })
    }

    /// Returns the resources or URLs that may include those of `grant`.
    fn resources_over(&self, grant: &Grant<'_>) -> Vec<String> {
        let resource = grant.resource;
        let mut over = vec![resource.to_owned(), "*".to_owned()];
        if grant.url {
            let prefixes = self.url_prefixes.iter().filter_map(|end| resource.get(..*end));
            over.extend(prefixes.map(|prefix| format!("{prefix}*")));
        } else if let Some((_, sub)) = resource.split_once('/') {
            over.push(format!("*/{sub}"));
        }
        over
    }
}

/// A set of permissions.
#[derive(Clone, Debug, Default)]
pub(super) struct Grants<'a> {
    all: HashSet<Grant<'a>>,
    wildcards: Wildcards,
}

impl<'a> Grants<'a> {
    /// Returns the permissions of a role; empty without one.
    pub(super) fn of(role: Option<&'a Json>, entries: &Entries<'a>) -> Self {
        let all = role.map(|role| role_grants(role, entries)).unwrap_or_default();
        let mut wildcards = Wildcards::default();
        wildcards.add(&all);
        Grants { all: all.into_iter().collect(), wildcards }
    }

    /// Returns true if the set includes `grant`.
    pub(super) fn cover(&self, grant: &Grant<'_>) -> bool {
        self.wildcards.any_over(grant, |wider| self.all.contains(wider))
    }
}

/// The lists of a rule, in the order of [`Entries`].
const LISTS: [&str; 4] = ["apiGroups", "resources", "resourceNames", "verbs"];

/// The representatives of the entries of all rules: groups, resources, resource names, verbs.
pub(in crate::rules) type Entries<'a> = Representatives<'a, 4>;

/// Returns the representatives of the entries of the rules of both sides.
pub(in crate::rules) fn entries<'a>(sides: [&'a Side; 2]) -> Entries<'a> {
    let objects = sides.into_iter().flat_map(|side| &side.objects);
    let roles = objects.filter(|(id, _)| ["Role", "ClusterRole"].contains(&id.kind.as_str()));
    let rules = roles.flat_map(|(_, role)| items(role, &["rules"]));
    Representatives::of(LISTS, rules, |list, entry| match list {
        // Rules know these by name, and subresources are included by their own wildcard.
        0 if ["", "*", "rbac.authorization.k8s.io"].contains(&entry) => None,
        1 if entry.contains('*') || entry.ends_with("roles") => None,
        1 if ["secrets", "serviceaccounts/token"].contains(&entry) => None,
        1 => Some(entry.split_once('/').unwrap_or_default().1),
        3 if NAMES.kubernetes.verbs.contains(&entry) => None,
        // Any name serves: no rule tells the others of a list apart.
        _ => LISTS.get(list).copied(),
    })
}

/// Returns the permissions of a rule.
pub(super) fn grants_of<'a>(rule: &'a Json, entries: &Entries<'a>) -> Vec<Grant<'a>> {
    let mut grants = Vec::new();
    let [groups, resources, names, verbs] = entries.lists(rule);
    let names = if names.is_empty() { vec![""] } else { names };
    for verb in verbs {
        for group in &groups {
            for resource in &resources {
                // The API server does not know the name of an object that is created, nor those of a
                // collection.
                let is_nameless =
                    ["create", "deletecollection"].contains(&verb) && !resource.contains('/');
                let grant = |name| Grant { group, resource, name, verb, url: false };
                let names = names.iter().filter(|name| name.is_empty() || !is_nameless);
                grants.extend(names.copied().map(grant));
            }
        }
        for url in texts(rule, &["nonResourceURLs"]) {
            grants.push(Grant { resource: url, verb, url: true, ..Grant::default() });
        }
    }
    grants
}

/// Returns the permissions of a role.
pub(super) fn role_grants<'a>(role: &'a Json, entries: &Entries<'a>) -> Vec<Grant<'a>> {
    items(role, &["rules"]).iter().flat_map(|rule| grants_of(rule, entries)).collect()
}

/// All permissions.
pub(super) const EVERYTHING: [Grant<'_>; 2] = [
    Grant { group: "*", resource: "*", name: "", verb: "*", url: false },
    Grant { group: "", resource: "*", name: "", verb: "*", url: true },
];

/// Returns the permissions of a role of a side, or of a role that every cluster has; `None` if they are
/// not known.
pub(super) fn known_grants<'a>(
    side: &'a Side,
    role: &Identity,
    entries: &Entries<'a>,
) -> Option<Vec<Grant<'a>>> {
    let is_admin = role.kind == "ClusterRole" && role.name == "cluster-admin";
    let in_chart = side.objects.get(role).map(|role| role_grants(role, entries));
    in_chart.or_else(|| is_admin.then(|| EVERYTHING.to_vec()))
}

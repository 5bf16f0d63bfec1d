//! Positions of manifests, templates and pickers by kind, name, namespace and labels.

use super::*;

/// Positions of things by their namespace.
#[derive(Debug, Default)]
pub(crate) struct ByNamespace<'a> {
    all: Vec<usize>,
    of: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> ByNamespace<'a> {
    fn push(&mut self, namespace: &'a str, position: usize) {
        self.all.push(position);
        self.of.entry(namespace).or_default().push(position);
    }

    /// Returns the positions, ascending, of the things that may be in a namespace. Without a namespace
    /// (empty) these are all, as in [`Manifest::may_share_namespace`].
    pub(super) fn in_namespace(&self, namespace: &str) -> Vec<usize> {
        if namespace.is_empty() {
            return self.all.clone();
        }
        let mut found: Vec<usize> =
            ["", namespace].iter().filter_map(|key| self.of.get(key)).flatten().copied().collect();
        // Findings come in the order of the manifests, not of their namespaces.
        found.sort_unstable();
        found
    }
}

/// Positions of things by namespace and label.
#[derive(Debug, Default)]
pub(crate) struct ByLabel<'a> {
    labels: BTreeMap<(&'a str, &'a str), ByNamespace<'a>>,
    all: ByNamespace<'a>,
}

impl<'a> ByLabel<'a> {
    fn push(
        &mut self,
        position: usize,
        namespace: &'a str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) {
        for label in labels {
            self.labels.entry(label).or_default().push(namespace, position);
        }
        self.all.push(namespace, position);
    }

    /// Returns the positions of the things that may be in a namespace and have these labels.
    pub(crate) fn find<'w>(
        &self,
        wanted: impl IntoIterator<Item = (&'w str, &'w str)>,
        namespace: &str,
    ) -> Vec<usize> {
        let positions = |label| Some(self.labels.get(&label)?.in_namespace(namespace));
        let with = wanted.into_iter().map(|label| positions(label).unwrap_or_default());
        let mut with: Vec<Vec<usize>> = with.collect();
        // Most manifests share labels such as `part-of`, which would make a rule look at all pods.
        with.sort_by_key(Vec::len);
        let Some((rarest, others)) = with.split_first() else {
            return self.all.in_namespace(namespace);
        };
        let has = |position: &&usize| others.iter().all(|one| one.binary_search(position).is_ok());
        rarest.iter().filter(has).copied().collect()
    }
}

/// Kinds that select pods, and the JSON pointers of their labels.
const SELECTING: [(&str, &str); 2] =
    [("Service", "/spec/selector"), ("NetworkPolicy", "/spec/podSelector/matchLabels")];

/// Positions of manifests, templates and pickers in a [`super::View`], so that no rule searches all of them
/// for one.
#[derive(Debug, Default)]
pub(crate) struct Index<'a> {
    pub(crate) manifests: &'a [Manifest],
    /// Manifests by kind.
    pub(super) kinds: BTreeMap<&'a str, Vec<usize>>,
    /// Manifests by kind and name.
    names: BTreeMap<(&'a str, &'a str), ByNamespace<'a>>,
    /// RoleBindings and ClusterRoleBindings by the names and namespaces of their ServiceAccounts.
    pub(super) bindings: BTreeMap<&'a str, ByNamespace<'a>>,
    /// Services and NetworkPolicies by the label of their selectors that the fewest of their kind select by;
    /// by an empty one if they may select all pods.
    pub(super) selecting: BTreeMap<(&'a str, (&'a str, &'a str)), ByNamespace<'a>>,
    /// Services by their labels.
    pub(crate) services: ByLabel<'a>,
    /// Templates by their manifest.
    pub(super) owned: BTreeMap<usize, Vec<usize>>,
    pub(crate) templates: ByLabel<'a>,
    /// Pickers by their manifest.
    pub(super) picking: BTreeMap<usize, usize>,
    pub(crate) pickers: ByLabel<'a>,
}

impl<'a> Index<'a> {
    pub(crate) fn new(manifests: &'a [Manifest]) -> Self {
        let mut index = Index { manifests, ..Index::default() };
        for (number, manifest) in manifests.iter().enumerate() {
            let (kind, name, namespace) = (manifest.kind(), manifest.name(), manifest.namespace());
            index.kinds.entry(kind).or_default().push(number);
            index.names.entry((kind, name)).or_default().push(namespace, number);
            if kind == "Service" {
                let labels = labels_at(&manifest.json, "/metadata/labels");
                index.services.push(number, namespace, labels);
            }
            if matches!(kind, "RoleBinding" | "ClusterRoleBinding") {
                let subjects = list(&manifest.json, "subjects").iter();
                let accounts: BTreeSet<(&str, &str)> = subjects
                    .map(|subject| (text(subject, "name"), text(subject, "namespace")))
                    .collect();
                for (account, namespace) in accounts {
                    index.bindings.entry(account).or_default().push(namespace, number);
                }
            }
        }

        for (kind, pointer) in SELECTING {
            let numbers = || index.kinds.get(kind).into_iter().flatten().copied();
            let selector = |number: usize| labels_at(&manifests[number].json, pointer);
            let mut uses: BTreeMap<(&str, &str), usize> = BTreeMap::new();
            numbers().flat_map(selector).for_each(|label| *uses.entry(label).or_default() += 1);
            for number in numbers() {
                // What selects by more than labels, or by open ones, may select all pods.
                let spec = manifests[number].spec();
                let is_open = spec.pointer("/podSelector/matchExpressions").is_some()
                    || selector(number).any(|(_, value)| is_placeholder(value));
                // Pods need all labels of a selector, so one is enough, and the rarest leads to the fewest
                // others.
                let rarest = selector(number).min_by_key(|label| uses.get(label));
                let label = rarest.filter(|_| !is_open).unwrap_or_default();
                let namespace = manifests[number].namespace();
                index.selecting.entry((kind, label)).or_default().push(namespace, number);
            }
        }
        index
    }

    /// Returns the manifests with this kind and name that may be in a namespace; in any without one.
    pub(crate) fn named(&self, kind: &str, name: &str, namespace: &str) -> Vec<Indexed<'a>> {
        let named = self.names.get(&(kind, name)).map(|named| named.in_namespace(namespace));
        let numbers = named.into_iter().flatten();
        numbers.map(|number| (number, &self.manifests[number])).collect()
    }

    pub(super) fn add_pods(&mut self, templates: &[Template<'a>], pickers: &[Picker<'a>]) {
        for (number, template) in templates.iter().enumerate() {
            self.owned.entry(template.owner).or_default().push(number);
            self.templates.push(number, template.manifest.namespace(), template.labels.clone());
        }
        for (number, picker) in pickers.iter().enumerate() {
            self.picking.insert(picker.owner, number);
            self.pickers.push(number, picker.manifest.namespace(), picker.pods.labels.clone());
        }
    }
}

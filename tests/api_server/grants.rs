//! RBAC rules that a CSV and the roles in its bundle grant, by account; an independent implementation.

use crate::requests::{Place, Target};
use bundle2chart::ir;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A rule, and where it holds.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    /// Nothing for every namespace and the cluster itself.
    pub(crate) namespace: Option<String>,
    pub(crate) rule: Json,
}

/// Namespaces that an operator watches.
pub(crate) enum Watch {
    All,
    /// These, and its own.
    Namespaces(&'static [&'static str]),
}

impl Grant {
    /// Groups and resources of the rule.
    pub(crate) fn resources(&self) -> Vec<(String, String)> {
        let groups = texts(&self.rule, "apiGroups");
        let resources = texts(&self.rule, "resources");
        let pairs = groups.iter().flat_map(|group| {
            resources.iter().map(|resource| ((*group).to_owned(), (*resource).to_owned()))
        });
        pairs.collect()
    }

    fn allows(&self, target: &Target, place: &Place, verb: &str, name: &str) -> bool {
        let here = match (&self.namespace, place) {
            (None, _) => true,
            (Some(granted), Place::Namespace(asked)) => granted == asked,
            (Some(_), Place::Cluster) => false,
        };
        let has = |key: &str, wanted: &[&str]| {
            texts(&self.rule, key).iter().any(|found| wanted.contains(found))
        };
        let names = texts(&self.rule, "resourceNames");
        here && has("verbs", &["*", verb])
            && has("apiGroups", &["*", &target.group])
            && has("resources", &["*", &target.resource])
            && (names.is_empty() || names.contains(&name))
    }
}

/// Returns true if one of the grants allows this.
pub(crate) fn granted(
    grants: &[Grant],
    target: &Target,
    place: &Place,
    verb: &str,
    name: &str,
) -> bool {
    grants.iter().any(|grant| grant.allows(target, place, verb, name))
}

/// The grants of each ServiceAccount that the bundle's permissions name.
pub(crate) fn grants(
    bundle: &Path,
    namespace: &str,
    watch: &Watch,
) -> BTreeMap<String, Vec<Grant>> {
    let objects = objects(bundle);
    let csv = objects.iter().find(|object| object["kind"] == "ClusterServiceVersion");
    let strategy = &csv.expect("a CSV")["spec"]["install"]["spec"];
    let watched: Vec<Option<String>> = match watch {
        Watch::All => vec![None],
        Watch::Namespaces(more) => {
            [namespace].iter().chain(*more).map(|ns| Some((*ns).to_owned())).collect()
        }
    };

    let mut grants: BTreeMap<String, Vec<Grant>> = BTreeMap::new();
    for (key, namespaces) in [("permissions", watched), ("clusterPermissions", vec![None])] {
        for permission in items(&strategy[key]) {
            let account = permission["serviceAccountName"].as_str().expect("an account");
            let all = grants.entry(account.to_owned()).or_default();
            // OLM adds this where it makes permissions of a namespace hold in all of them.
            let listed = json!({
                "apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"],
            });
            let added = (key == "permissions" && namespaces == [None]).then_some(&listed);
            for rule in items(&permission["rules"]).iter().chain(added) {
                all.extend(
                    namespaces.iter().map(|namespace| Grant {
                        namespace: namespace.clone(),
                        rule: rule.clone(),
                    }),
                );
            }
        }
    }
    // Roles and bindings that the bundle has as manifests hold in the operator's namespace.
    for binding in objects.iter().filter(|object| object["kind"] == "RoleBinding") {
        let role = objects.iter().find(|object| {
            object["kind"] == binding["roleRef"]["kind"]
                && object["metadata"]["name"] == binding["roleRef"]["name"]
        });
        for subject in items(&binding["subjects"]) {
            let account = subject["name"].as_str().expect("a name");
            let Some(all) = grants.get_mut(account) else { continue };
            all.extend(
                items(&role.expect("a role")["rules"]).iter().map(|rule| Grant {
                    namespace: Some(namespace.to_owned()),
                    rule: rule.clone(),
                }),
            );
        }
    }
    grants
}

fn objects(bundle: &Path) -> Vec<Json> {
    let release = ir::Release { namespace: "", values: &Json::Null };
    let files = fs::read_dir(bundle.join("manifests")).expect("manifests");
    let mut objects = Vec::new();
    for file in files {
        let text = fs::read_to_string(file.expect("a file").path()).expect("a text");
        let documents = bundle2chart::yaml::parse(&text).expect("YAML");
        objects.extend(documents.iter().map(|document| release.value(document)));
    }
    objects
}

fn items(list: &Json) -> &[Json] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn texts<'a>(rule: &'a Json, key: &str) -> Vec<&'a str> {
    items(&rule[key]).iter().filter_map(Json::as_str).collect()
}

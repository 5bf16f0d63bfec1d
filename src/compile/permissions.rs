//! The permissions of an operator in few words, the dangerous ones first.

use crate::bundle::ClusterServiceVersion;
use crate::diag::{join, listed};
use crate::escape::Lines;
use crate::fields::texts;
use crate::ir::Value;
use crate::layout;
use indexmap::{IndexMap, IndexSet};

/// Formats the permissions that a ClusterServiceVersion asks for, by ServiceAccount.
pub fn of_csv(csv: &ClusterServiceVersion) -> Lines {
    let mut text = Lines::new();
    for (permissions, scope) in
        [(&csv.cluster_permissions, "cluster-wide"), (&csv.permissions, "in watched namespaces")]
    {
        // Operators of several programs often give all of them the same.
        let mut same: Vec<(Vec<&str>, &Value)> = Vec::new();
        for permission in permissions {
            match same.iter_mut().find(|(_, rules)| **rules == permission.rules) {
                Some((accounts, _)) => accounts.push(&permission.service_account),
                None => same.push((vec![permission.service_account.as_str()], &permission.rules)),
            }
        }
        for (accounts, rules) in same {
            text.push(format!("  {} {scope}", listed(&accounts, 3)));
            text.append(lines(rules.as_seq().unwrap_or_default(), 4));
        }
    }
    if text.is_empty() {
        text.push("  none: the CSV has no permissions");
    }
    text
}

/// Formats RBAC rules: one line for rules with the same verbs; sensitive ones come first, marked
/// with `!`.
fn lines(rules: &[Value], indent: usize) -> Lines {
    let mut lines: Vec<Line> = Vec::new();
    for rule in rules {
        let line = Line::of(rule);
        match lines.iter_mut().find(|l| l.verbs == line.verbs && l.dangers == line.dangers) {
            Some(same) => {
                for (group, resources) in line.what {
                    same.what.entry(group).or_default().extend(resources);
                }
            }
            None => lines.push(line),
        }
    }
    // The sort is stable: otherwise rules stay in the vendor's order.
    lines.sort_by_key(|line| line.dangers.is_empty());
    let space = " ".repeat(indent);
    let mut text = Lines::new();
    for line in lines {
        text.append(layout::paragraph(&space, indent + 4, &line.text()));
    }
    text
}

/// Verbs on resources, and why that is dangerous.
#[derive(Debug)]
struct Line {
    verbs: String,
    /// Resources by API group, both in the order of the rules.
    what: IndexMap<String, IndexSet<String>>,
    dangers: Vec<&'static str>,
}

impl Line {
    fn of(rule: &Value) -> Self {
        let texts = |key: &str| -> Vec<&str> { texts(rule.get(key)).collect() };
        let (groups, resources) = (texts("apiGroups"), texts("resources"));
        let named = match texts("resourceNames").as_slice() {
            [] => String::new(),
            names => format!(" named {}", listed(names, 3)),
        };
        let mut what: IndexMap<String, IndexSet<String>> = IndexMap::new();
        for group in &groups {
            let resources = resources.iter().map(|resource| match *resource {
                "*" => format!("all resources{named}"),
                resource => format!("{resource}{named}"),
            });
            what.entry((*group).to_owned()).or_default().extend(resources);
        }

        let paths = texts("nonResourceURLs");
        if !paths.is_empty() {
            let paths = paths.iter().map(|path| format!("the path {path}"));
            what.entry(String::new()).or_default().extend(paths);
        }

        let verbs = texts("verbs");
        let dangers = dangers(&verbs, &resources, &groups);
        Line { verbs: in_short(&verbs), what, dangers }
    }

    /// Formats the permissions as `VERBS: RESOURCES; RESOURCES (GROUP)`.
    fn text(&self) -> String {
        let of_group = |(group, resources): (&String, &IndexSet<String>)| {
            let list = join(resources, ", ");
            match group.as_str() {
                "" if resources.contains("all resources") => format!("{list} (core)"),
                "" => list,
                "*" => format!("{list} (every API group)"),
                group => format!("{list} ({group})"),
            }
        };
        let what = join(self.what.iter().map(of_group), "; ");
        if self.dangers.is_empty() {
            format!("{}: {what}", self.verbs)
        } else {
            format!("! {} ({}): {what}", self.dangers.join(", "), self.verbs)
        }
    }
}

/// Verbs that are `read` together, in their usual order.
pub const READ: [&str; 3] = ["get", "list", "watch"];
/// Verbs that are `write` together.
pub const WRITE: [&str; 4] = ["create", "update", "patch", "delete"];

/// Returns verbs with one word for those that are usual together, which comes first.
pub fn in_words<'v>(verbs: &[&'v str]) -> Vec<&'v str> {
    let mut words = Vec::new();
    let mut rest = verbs.to_vec();
    for (set, word) in [(&READ[..], "read"), (&WRITE[..], "write")] {
        if set.iter().all(|verb| verbs.contains(verb)) {
            words.push(word);
            rest.retain(|verb| !set.contains(verb));
        }
    }
    words.extend(rest);
    words
}

/// Joins verbs.
fn in_short(verbs: &[&str]) -> String {
    if verbs.contains(&"*") {
        return "all verbs".to_owned();
    }
    let mut verbs = verbs.to_vec();
    verbs.sort_unstable();
    verbs.dedup();
    let mut words = in_words(&verbs);
    if words.starts_with(&["read", "write"]) {
        words.splice(..2, ["manage"]);
    }
    words.join(", ")
}

/// API group, resources, verbs, and why it is sensitive to have one of the verbs on one of the resources.
const SENSITIVE: [(&str, &[&str], &[&str], &str); 5] = [
    ("", &["secrets"], &READ, "reads secrets"),
    (
        "rbac.authorization.k8s.io",
        &["roles", "clusterroles", "rolebindings", "clusterrolebindings"],
        CHANGE,
        "writes RBAC",
    ),
    (
        "admissionregistration.k8s.io",
        &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        CHANGE,
        "intercepts API requests",
    ),
    // WebSockets begin with a GET, for which the verb is `get`.
    ("", &["pods/exec", "pods/attach"], &["create", "get"], "can exec into pods"),
    ("", &["serviceaccounts/token"], &["create"], "can create ServiceAccount tokens"),
];

/// Verbs that change what an object allows.
const CHANGE: &[&str] = &["create", "update", "patch"];

/// Returns the reasons why a rule is sensitive.
fn dangers(verbs: &[&str], resources: &[&str], groups: &[&str]) -> Vec<&'static str> {
    let any = |list: &[&str], wanted: &[&str]| list.iter().any(|item| wanted.contains(item));
    let any_or_all = |list: &[&str], wanted: &[&str]| any(list, wanted) || list.contains(&"*");
    if [verbs, resources, groups].iter().all(|list| list.contains(&"*")) {
        // All other reasons follow from this one.
        return vec!["cluster admin"];
    }

    let escalates = any(verbs, &["escalate", "bind", "impersonate"]);
    let mut reasons = Vec::from_iter(escalates.then_some("can escalate its own permissions"));
    let sensitive = SENSITIVE.iter().filter(|(group, of, actions, _)| {
        any_or_all(groups, &[group]) && any_or_all(resources, of) && any_or_all(verbs, actions)
    });
    reasons.extend(sensitive.map(|(.., why)| *why));
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
        Value::map([
            ("apiGroups", Value::texts(groups.iter().copied())),
            ("resources", Value::texts(resources.iter().copied())),
            ("verbs", Value::texts(verbs.iter().copied())),
        ])
    }

    fn line(groups: &[&str], resources: &[&str], verbs: &[&str]) -> String {
        lines(&[rule(groups, resources, verbs)], 0).as_str().to_owned()
    }

    #[test]
    fn usual_verbs_have_a_word() {
        let all = ["get", "list", "watch", "create", "update", "patch", "delete"];
        assert_eq!(line(&[""], &["pods"], &all), "manage: pods\n");
        assert_eq!(
            line(&["apps"], &["deployments/scale"], &all[..3]),
            "read: deployments/scale (apps)\n"
        );
        assert_eq!(line(&[""], &["pods"], &all[3..]), "write: pods\n");
        assert_eq!(line(&[""], &["pods"], &["list", "get"]), "get, list: pods\n");
        assert_eq!(
            line(&[""], &["pods"], &["watch", "list", "get", "update"]),
            "read, update: pods\n"
        );
    }

    #[test]
    fn rules_with_the_same_verbs_are_one_line() {
        let rules = [
            rule(&[""], &["pods", "services"], &["get"]),
            rule(&["apps"], &["deployments"], &["delete"]),
            rule(&["apps", ""], &["pods"], &["get"]),
        ];
        assert_eq!(
            lines(&rules, 2).as_str(),
            "  get: pods, services; pods (apps)\n  delete: deployments (apps)\n"
        );
    }

    #[test]
    fn danger_comes_first() {
        let rules = [
            rule(&[""], &["pods"], &["get"]),
            rule(&[""], &["secrets"], &["get"]),
            rule(&["*"], &["*"], &["*"]),
        ];
        assert_eq!(
            lines(&rules, 0).as_str(),
            "! reads secrets (get): secrets\n\
             ! cluster admin (all verbs): all resources (every API group)\n\
             get: pods\n"
        );
        assert_eq!(
            line(&["rbac.authorization.k8s.io"], &["clusterroles"], &["bind", "create"]),
            "! can escalate its own permissions, writes RBAC (bind, create): clusterroles\n    \
             (rbac.authorization.k8s.io)\n"
        );
        assert_eq!(line(&["apps"], &["*"], &["*"]), "all verbs: all resources (apps)\n");
    }

    #[test]
    fn paths_and_names_are_said() {
        let paths = Value::map([
            ("nonResourceURLs", Value::texts(["/metrics"])),
            ("verbs", Value::texts(["get"])),
        ]);
        assert_eq!(lines(&[paths], 0).as_str(), "get: the path /metrics\n");
        let named = Value::map([
            ("apiGroups", Value::texts([""])),
            ("resources", Value::texts(["configmaps"])),
            ("resourceNames", Value::texts(["a", "b"])),
            ("verbs", Value::texts(["update"])),
        ]);
        assert_eq!(lines(&[named], 0).as_str(), "update: configmaps named a and b\n");
    }
}

//! RBAC rules in words.

use crate::ir::Value;

/// One rule as a sentence: who may do what with which resources, and what is dangerous about it.
pub(super) fn in_words(rule: &Value) -> String {
    let texts = |key: &str| -> Vec<&str> {
        let list = rule.get(key).and_then(Value::as_seq).unwrap_or_default();
        list.iter().filter_map(Value::as_str).collect()
    };
    let verbs = texts("verbs");
    let what = if verbs.contains(&"*") { "do everything with".to_owned() } else { list(&verbs) };
    let paths = texts("nonResourceURLs");
    if !paths.is_empty() {
        return format!("{what} the paths {}", list(&paths));
    }
    let resources = texts("resources");
    let groups = texts("apiGroups");
    let named = match texts("resourceNames") {
        names if names.is_empty() => String::new(),
        names => format!(" named {}", list(&names)),
    };
    let resource_words =
        if resources.contains(&"*") { "all resources".to_owned() } else { list(&resources) };
    let group_words = if groups.contains(&"*") {
        " of every API group".to_owned()
    } else {
        match groups.as_slice() {
            [] | [""] => String::new(),
            _ => {
                let names: Vec<&str> = groups
                    .iter()
                    .map(|group| if group.is_empty() { "core" } else { group })
                    .collect();
                format!(" ({})", list(&names))
            }
        }
    };
    format!("{what} {resource_words}{group_words}{named}{}", danger(&verbs, &resources, &groups))
}

/// Why a rule deserves a second look.
fn danger(verbs: &[&str], resources: &[&str], groups: &[&str]) -> String {
    let any = |list: &[&str], wanted: &[&str]| list.iter().any(|item| wanted.contains(item));
    let mut reasons = Vec::new();
    if any(groups, &["*"]) && any(resources, &["*"]) && any(verbs, &["*"]) {
        reasons.push("cluster admin");
    } else {
        if any(verbs, &["escalate", "bind", "impersonate"]) {
            reasons.push("can raise its own permissions");
        }
        if any(resources, &["secrets", "*"])
            && any(groups, &["", "*"])
            && any(verbs, &["get", "list", "watch", "*"])
        {
            reasons.push("reads secrets");
        }
        let rbac = ["roles", "clusterroles", "rolebindings", "clusterrolebindings", "*"];
        if any(groups, &["rbac.authorization.k8s.io"])
            && any(resources, &rbac)
            && any(verbs, &["create", "update", "patch", "*"])
        {
            reasons.push("writes RBAC");
        }
    }
    if reasons.is_empty() { String::new() } else { format!("  [{}]", reasons.join(", ")) }
}

fn list(items: &[&str]) -> String {
    match items {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> String {
        in_words(&Value::map([
            ("apiGroups", Value::texts(groups.iter().copied())),
            ("resources", Value::texts(resources.iter().copied())),
            ("verbs", Value::texts(verbs.iter().copied())),
        ]))
    }

    #[test]
    fn sentences() {
        assert_eq!(
            rule(&[""], &["pods", "services"], &["get", "list"]),
            "get and list pods and services"
        );
        assert_eq!(
            rule(&["apps"], &["deployments"], &["*"]),
            "do everything with deployments (apps)"
        );
        assert_eq!(
            rule(&["*"], &["*"], &["*"]),
            "do everything with all resources of every API group  [cluster admin]"
        );
        assert_eq!(rule(&[""], &["secrets"], &["get"]), "get secrets  [reads secrets]");
        assert_eq!(
            rule(&["rbac.authorization.k8s.io"], &["clusterroles"], &["bind", "create"]),
            "bind and create clusterroles (rbac.authorization.k8s.io)  [can raise its own permissions, writes RBAC]"
        );
        let paths = Value::map([
            ("nonResourceURLs", Value::texts(["/metrics"])),
            ("verbs", Value::texts(["get"])),
        ]);
        assert_eq!(in_words(&paths), "get the paths /metrics");
    }
}

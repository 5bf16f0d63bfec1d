//! Permissions and webhooks.

use super::*;

pub(super) fn permissions() -> Vec<Sample> {
    let view = rule(&["apps"], &["deployments"], &["get"]);
    let with = |subjects: Json| {
        let role_ref = json!({"apiGroup": RBAC_GROUP, "kind": "Role", "name": "r"});
        vec![
            role("Role", "r", &[view.clone(), rule(&["apps"], &["deployments/scale"], &["get"])]),
            object(RBAC, "RoleBinding", "b", json!({"subjects": subjects, "roleRef": role_ref})),
        ]
    };
    let account = |name: &str| json!({"kind": "ServiceAccount", "name": name, "namespace": "ns"});
    let group = json!({"kind": "Group", "name": "g"});
    let grants = |rules: &[Json]| {
        vec![role("ClusterRole", "r", rules), binding("ClusterRoleBinding", "b", "r", &["sa"])]
    };
    let all = |verbs: &[&str]| rule(&["*"], &["*"], verbs);
    let elsewhere = |subjects: Json| {
        let role_ref = json!({"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "r"});
        let metadata = json!({"name": "b", "namespace": "other"});
        let binding = json!({"metadata": metadata, "subjects": subjects, "roleRef": role_ref});
        vec![
            role("ClusterRole", "r", std::slice::from_ref(&view)),
            object(RBAC, "RoleBinding", "b", binding),
        ]
    };
    let urls = |urls: &[&str]| json!({"nonResourceURLs": urls, "verbs": ["get"]});
    vec![
        objects(
            "a second subject",
            with(json!([account("a")])),
            with(json!([account("a"), account("b")])),
        ),
        objects("a first subject", with(json!(null)), with(json!([account("a"), group]))),
        objects("no subjects any more", with(json!([account("a"), group])), with(json!(null))),
        objects("all subjects replaced", with(json!([account("a")])), with(json!([account("b")]))),
        objects("everything", grants(&[]), grants(&[all(&["*"])])),
        objects(
            "all verbs of all roles",
            grants(&[]),
            grants(&[rule(&[RBAC_GROUP], &["*"], &["*"])]),
        ),
        objects(
            "all verbs of one kind of roles",
            grants(&[]),
            grants(&[rule(&[RBAC_GROUP], &["clusterroles"], &["*"])]),
        ),
        objects("all verbs in a group", grants(&[]), grants(&[rule(&["apps"], &["*"], &["*"])])),
        objects("reads everything", grants(&[]), grants(&[all(&["get"])])),
        objects(
            "tokens of accounts",
            grants(&[]),
            grants(&[rule(&[""], &["serviceaccounts/token"], &["create"])]),
        ),
        objects(
            "a resource of all groups",
            grants(&[]),
            grants(&[rule(&["*"], &["pods"], &["get"])]),
        ),
        objects(
            "a resource that a wildcard had",
            grants(&[rule(&["*"], &["deployments"], &["get"])]),
            grants(&[
                rule(&["*"], &["deployments"], &["get"]),
                rule(&["apps"], &["deployments"], &["get"]),
            ]),
        ),
        objects(
            "a role in another namespace",
            elsewhere(json!([])),
            elsewhere(json!([account("a")])),
        ),
        objects("a URL", grants(&[urls(&["/a"])]), grants(&[urls(&["/a", "/b/c"])])),
    ]
}

pub(super) fn admission() -> Vec<Sample> {
    let rules = |group: &str, resources: Json| {
        let rule = json!({"apiGroups": [group], "apiVersions": ["v1"], "resources": resources,
            "operations": ["CREATE", "UPDATE"]});
        hook(json!({"rules": [rule]}))
    };
    let policy = |policy: Json| webhook(json!({"failurePolicy": policy}));
    let timeout = |seconds: Json| webhook(json!({"timeoutSeconds": seconds}));
    let service = |name: &str| json!({"clientConfig": {"service": {"name": name, "namespace": "ns", "path": "/x"}}});
    let change = |title, old: Json, new: Json| pair(title, [hooks(&[old]), hooks(&[new])]);
    vec![
        pair("a webhook for pods", [hooks(&[]), hooks(&[rules("", json!(["pods"]))])]),
        pair(
            "a webhook for Leases",
            [hooks(&[]), hooks(&[rules("coordination.k8s.io", json!(["leases"]))])],
        ),
        pair(
            "a webhook for Gateways",
            [hooks(&[]), hooks(&[rules("gateway.networking.k8s.io", json!(["gateways"]))])],
        ),
        change(
            "a webhook with another resource",
            rules("g", json!(["ks"])),
            rules("g", json!(["ks", "ls"])),
        ),
        change(
            "a webhook with a core resource",
            rules("g", json!(["ks"])),
            rules("apps", json!(["deployments"])),
        ),
        pair("a policy", [policy(json!("Ignore")), policy(json!("Fail"))]),
        pair("the default of a policy", [policy(json!(null)), policy(json!("Fail"))]),
        pair("an unset policy", [policy(json!("Ignore")), policy(json!(null))]),
        pair("a longer timeout", [timeout(json!(5)), timeout(json!(6))]),
        pair("the default of a timeout", [timeout(json!(null)), timeout(json!(10))]),
        pair("a webhook with another Service", [webhook(service("a")), webhook(service("b"))]),
    ]
}

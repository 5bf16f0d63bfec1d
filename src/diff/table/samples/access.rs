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
    let granted = |title, rule: Json| objects(title, grants(&[]), grants(&[rule]));
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
    let in_namespace = |namespace: &str| {
        let mut binding = binding("RoleBinding", "c", "r", &["a"]);
        binding["metadata"]["namespace"] = json!(namespace);
        binding["roleRef"]["kind"] = json!("ClusterRole");
        vec![binding]
    };
    let role_elsewhere = |rules: &[Json]| {
        let objects = [role("Role", "r", rules), binding("RoleBinding", "b", "r", &["sa"])];
        let elsewhere = objects.map(|mut object| {
            object["metadata"]["namespace"] = json!("other");
            object
        });
        elsewhere.to_vec()
    };
    let all_apps = |rules: &[Json]| {
        vec![
            role("ClusterRole", "r", rules),
            role("ClusterRole", "all", &[rule(&["apps"], &["*"], &["*"])]),
            binding("ClusterRoleBinding", "r", "r", &["sa"]),
            binding("ClusterRoleBinding", "all", "all", &["sa"]),
        ]
    };
    let urls = |urls: &[&str]| json!({"nonResourceURLs": urls, "verbs": ["get"]});
    let verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
    let secrets = rule(&[""], &["secrets"], &["get"]);
    let named = |names: &[&str]| {
        let mut rule = rule(&[""], &["secrets"], &["get"]);
        rule["resourceNames"] = json!(names);
        rule
    };
    let each_verb = verbs.map(|verb| rule(&["g"], &[&format!("{verb}s")], &[verb]));
    let three = |rules: &[Json]| {
        let accounts = ["a", "b", "c"];
        vec![role("ClusterRole", "r", rules), binding("ClusterRoleBinding", "b", "r", &accounts)]
    };
    // `a` is that of a Deployment, `b` of none.
    let in_use = |rules: &[Json]| {
        vec![
            role("ClusterRole", "r", rules),
            role("ClusterRole", "other", std::slice::from_ref(&view)),
            binding("ClusterRoleBinding", "r", "r", &["a", "b"]),
            binding("ClusterRoleBinding", "other", "other", &["a"]),
            pod(json!({}), json!({"serviceAccountName": "a"})),
        ]
    };
    let renamed = |name: &str, rules: &[Json]| {
        vec![role("ClusterRole", name, rules), binding("ClusterRoleBinding", "b", name, &["sa"])]
    };
    let labelled = |labels: &[&str]| {
        let label = |name: &&str| match *name {
            "a" | "b" => ((*name).to_owned(), json!("true")),
            to => (format!("{RBAC_GROUP}/aggregate-to-{to}"), json!("true")),
        };
        let labels: serde_json::Map<String, Json> = labels.iter().map(label).collect();
        let mut role = role("ClusterRole", "r", std::slice::from_ref(&view));
        role["metadata"]["labels"] = labels.into();
        vec![role]
    };
    let aggregating = |label: &str| {
        let rule = json!({"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]});
        vec![object(RBAC, "ClusterRole", "r", json!({"aggregationRule": rule}))]
    };
    let in_cluster = |name: &str| vec![binding("ClusterRoleBinding", "c", name, &["sa"])];
    let for_subject = |subject: Json| {
        let role_ref = json!({"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "r"});
        let rest = json!({"subjects": [subject], "roleRef": role_ref});
        vec![
            role("ClusterRole", "r", std::slice::from_ref(&view)),
            object(RBAC, "ClusterRoleBinding", "b", rest),
        ]
    };
    let of_subject = |kind: &str, name: &str| for_subject(json!({"kind": kind, "name": name}));
    let with_part = |label: &str, rule: &Json| {
        let mut part = role("ClusterRole", "part", std::slice::from_ref(rule));
        part["metadata"]["labels"] = json!({label: "true"});
        let binding = binding("ClusterRoleBinding", "b", "r", &["sa"]);
        [aggregating("in-r"), vec![part, binding]].concat()
    };
    // The role between `r` and the part.
    let above = || {
        let mut between = aggregating("in-part");
        between[0]["metadata"] = json!({"name": "between", "labels": {"in-r": "true"}});
        between
    };
    let names = |verbs: &[&str], names: Json| {
        let mut rule = rule(&[""], &["configmaps", "pods/exec"], verbs);
        rule["resourceNames"] = names;
        grants(&[rule])
    };
    vec![
        objects(
            "cluster-admin in place of a role",
            grants(&each_verb),
            in_cluster("cluster-admin"),
        ),
        objects(
            "cluster-admin in place of a URL",
            grants(&[urls(&["/a"])]),
            in_cluster("cluster-admin"),
        ),
        objects(
            "a Role that is called like a role of the cluster",
            Vec::new(),
            vec![binding("RoleBinding", "c", "cluster-admin", &["sa"])],
        ),
        objects(
            "a user with a namespace",
            for_subject(account("a")),
            for_subject(json!({"kind": "User", "name": "u", "namespace": "other"})),
        ),
        objects("a role of the cluster in place of one", grants(&each_verb), in_cluster("edit")),
        objects(
            "a role for delegation in place of one",
            grants(&each_verb),
            in_cluster("system:auth-delegator"),
        ),
        objects("a role of the cluster is no longer bound", in_cluster("edit"), Vec::new()),
        objects(
            "all accounts of a namespace",
            for_subject(account("a")),
            of_subject("Group", "system:serviceaccounts:ns"),
        ),
        objects(
            "all accounts of another namespace",
            for_subject(account("a")),
            of_subject("Group", "system:serviceaccounts:other"),
        ),
        objects(
            "all accounts for those of a namespace",
            of_subject("Group", "system:serviceaccounts:other"),
            of_subject("Group", "system:serviceaccounts"),
        ),
        objects(
            "all users for all accounts",
            of_subject("Group", "system:serviceaccounts"),
            of_subject("Group", "system:authenticated"),
        ),
        objects(
            "an account by its user name",
            for_subject(account("a")),
            of_subject("User", "system:serviceaccount:ns:a"),
        ),
        objects(
            "an account of another namespace by its user name",
            for_subject(account("a")),
            of_subject("User", "system:serviceaccount:other:a"),
        ),
        objects(
            "rules that moved to a role that is aggregated",
            grants(std::slice::from_ref(&view)),
            with_part("in-r", &view),
        ),
        objects(
            "other rules of a role that is aggregated",
            with_part("in-r", &view),
            with_part("in-r", &secrets),
        ),
        objects(
            "other rules of a role that is aggregated twice",
            [with_part("in-part", &view), above()].concat(),
            [with_part("in-part", &secrets), above()].concat(),
        ),
        objects(
            "the label of a role that is aggregated",
            with_part("in-r", &secrets),
            with_part("in-no-role", &secrets),
        ),
        objects(
            "verbs that have no names",
            names(&["get"], json!(["a"])),
            names(&["get", "create", "deletecollection", "list"], json!(["a"])),
        ),
        objects(
            "a wildcard for rules, and another rule",
            grants(&[view.clone(), secrets.clone()]),
            grants(&[all(&["get", "list"]), secrets.clone()]),
        ),
        objects(
            "a verb for a role without subjects",
            vec![role("Role", "r", &[rule(&["apps"], &["deployments"], &["get"])])],
            vec![role("Role", "r", &[rule(&["apps"], &["deployments"], &["get", "list"])])],
        ),
        objects(
            "a second subject",
            with(json!([account("a")])),
            with(json!([account("a"), account("b")])),
        ),
        objects("a first subject", with(json!(null)), with(json!([account("a"), group]))),
        objects("no subjects any more", with(json!([account("a"), group])), with(json!(null))),
        objects("all subjects replaced", with(json!([account("a")])), with(json!([account("b")]))),
        granted("everything", all(&["*"])),
        granted("everything with two verbs", all(&["create", "get"])),
        granted("all of a group", rule(&["g"], &["*"], &["*"])),
        granted("all of tokens", rule(&[""], &["serviceaccounts/token"], &["*"])),
        granted("read tokens", rule(&[""], &["serviceaccounts/token"], &["get"])),
        granted("bind roles", rule(&[RBAC_GROUP], &["roles"], &["bind"])),
        granted("escalate roles", rule(&[RBAC_GROUP], &["roles"], &["escalate"])),
        granted("impersonate", rule(&[""], &["users"], &["impersonate"])),
        granted("all verbs of bindings", rule(&[RBAC_GROUP], &["rolebindings"], &["*"])),
        granted("all verbs of roles of another group", rule(&["g"], &["roles"], &["*"])),
        granted("secrets", rule(&[""], &["secrets"], &["get"])),
        granted("secrets of another group", rule(&["g"], &["secrets"], &["get"])),
        granted(
            "read and write",
            rule(
                &["g"],
                &["ks"],
                &[
                    "get",
                    "list",
                    "watch",
                    "create",
                    "update",
                    "patch",
                    "delete",
                    "deletecollection",
                ],
            ),
        ),
        granted(
            "read and write a part",
            rule(&["g"], &["ks"], &["delete", "watch", "create", "get"]),
        ),
        granted("all verbs of all roles", rule(&[RBAC_GROUP], &["*"], &["*"])),
        granted("all verbs of one kind of roles", rule(&[RBAC_GROUP], &["clusterroles"], &["*"])),
        granted("all verbs in a group", rule(&["apps"], &["*"], &["*"])),
        granted("reads everything", all(&["get"])),
        granted("tokens of accounts", rule(&[""], &["serviceaccounts/token"], &["create"])),
        granted("a resource of all groups", rule(&["*"], &["pods"], &["get"])),
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
        granted("all verbs of a resource of all groups", rule(&["*"], &["pods"], &["*"])),
        granted(
            "two parts of a resource",
            rule(&["g"], &["ks", "ks/scale", "ks/status"], &["get"]),
        ),
        granted(
            "nine verbs",
            rule(&["g"], &["ks"], &["use", "approve", "sign", "bind", "a", "b", "c", "d", "e"]),
        ),
        granted("a verb that Kubernetes knows", rule(&["g"], &["ks"], &["use", "approve", "sign"])),
        granted("a named Secret", named(&["a", "b"])),
        objects(
            "a named Secret of all",
            grants(&[named(&["a"])]),
            grants(std::slice::from_ref(&secrets)),
        ),
        objects("all Secrets for one", grants(&[secrets]), grants(&[named(&["a"])])),
        objects(
            "URLs below another",
            grants(&[urls(&["/a/*"])]),
            grants(&[urls(&["/a/b", "/ab"])]),
        ),
        objects(
            "parts of all resources",
            grants(&[rule(&["g"], &["*/scale"], &["get"])]),
            grants(&[rule(&["g"], &["ks/scale", "ks/status"], &["get"])]),
        ),
        objects(
            "a binding in a namespace to what is bound in all",
            three(std::slice::from_ref(&view)),
            [three(std::slice::from_ref(&view)), elsewhere(json!([account("a")]))].concat(),
        ),
        objects(
            "three accounts of a role",
            vec![role("Role", "r", std::slice::from_ref(&view))],
            vec![
                role("Role", "r", std::slice::from_ref(&view)),
                binding("RoleBinding", "b", "r", &["a", "b", "c"]),
            ],
        ),
        objects(
            "three accounts of a role that is elsewhere",
            Vec::new(),
            vec![binding("ClusterRoleBinding", "b", "view", &["a", "b", "c"])],
        ),
        granted("seven resources", rule(&["g"], &["a", "b", "c", "d", "e", "f", "h"], &["get"])),
        objects("a role with seven verbs", Vec::new(), grants(&each_verb)),
        objects("rules of three accounts", three(&[]), three(std::slice::from_ref(&view))),
        objects(
            "a rule that an account in use has by another role",
            in_use(std::slice::from_ref(&view)),
            in_use(&[]),
        ),
        objects(
            "a renamed role that is not bound",
            vec![role("ClusterRole", "r-v1", std::slice::from_ref(&view))],
            vec![role("ClusterRole", "r-v2", std::slice::from_ref(&view))],
        ),
        objects(
            "a renamed role that is bound",
            renamed("r-v1", std::slice::from_ref(&view)),
            renamed("r-v2", std::slice::from_ref(&view)),
        ),
        objects(
            "a renamed role without rules",
            vec![role("ClusterRole", "r-v1", &[])],
            vec![role("ClusterRole", "r-v2", &[])],
        ),
        objects("a label of a role", labelled(&["a"]), labelled(&["a", "b"])),
        objects("an aggregated role", labelled(&["a"]), labelled(&["a", "view"])),
        objects(
            "a role that is aggregated five times",
            labelled(&["a"]),
            labelled(&["a", "admin", "edit", "view", "one", "two"]),
        ),
        objects("another aggregation", aggregating("one"), aggregating("two")),
        objects(
            "a second namespace",
            elsewhere(json!([account("a")])),
            [elsewhere(json!([account("a")])), in_namespace("third")].concat(),
        ),
        objects(
            "a rule that another role has by a wildcard",
            all_apps(&[]),
            all_apps(std::slice::from_ref(&view)),
        ),
        objects(
            "an account without a namespace",
            with(json!([])),
            with(json!([{"kind": "ServiceAccount", "name": "a"}])),
        ),
        objects(
            "a role and its binding in another namespace",
            role_elsewhere(&[]),
            role_elsewhere(std::slice::from_ref(&view)),
        ),
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
    let fields = |old: Json, new: Json| [webhook(old), webhook(new)];
    let rule = |fields: Json| {
        let mut rule = json!({"apiGroups": ["g"], "apiVersions": ["v1"], "resources": ["ks"],
            "operations": ["CREATE"]});
        join(&mut rule, fields);
        json!({"rules": [rule]})
    };
    let rule_fields = |old: Json, new: Json| fields(rule(old), rule(new));
    let resources = |old: &[&str], new: &[&str]| {
        rule_fields(json!({"resources": old}), json!({"resources": new}))
    };
    let selector = |old: Json, new: Json| {
        fields(json!({"objectSelector": old}), json!({"objectSelector": new}))
    };
    let expression = |key: &str| json!({"matchExpressions": [{"key": key, "operator": "Exists"}]});
    let not_in = |values: &[&str]| json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": values}]});
    let service = |name: &str| json!({"clientConfig": {"service": {"name": name, "namespace": "ns", "path": "/x"}}});
    let change = |title, old: Json, new: Json| pair(title, [hooks(&[old]), hooks(&[new])]);
    let groups =
        ["apps", "batch", "policy", "autoscaling", "a.k8s.io", "gateway.a.k8s.io", "example.com"];
    let four = json!({"a": "1", "b": "2", "c": "3", "d": "4"});
    let conditions = ["a", "b", "c", "d"].map(|name| json!({"name": name, "expression": name}));
    let configuration = |webhooks: Json| {
        let kind = "ValidatingWebhookConfiguration";
        object("admissionregistration.k8s.io/v1", kind, "w", json!({"webhooks": webhooks}))
    };
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
        pair(
            "a webhook at an address",
            fields(service("a"), json!({"clientConfig": {"url": "u"}})),
        ),
        pair(
            "a webhook with another CA",
            fields(
                json!({"clientConfig": {"url": "u", "caBundle": "YQ=="}}),
                json!({"clientConfig": {"url": "u", "caBundle": "Yg=="}}),
            ),
        ),
        pair(
            "a webhook with a CA",
            fields(json!({"clientConfig": null}), json!({"clientConfig": {"caBundle": "YQ=="}})),
        ),
        pair("a webhook in all scopes", rule_fields(json!({"scope": "Cluster"}), json!({}))),
        pair(
            "a webhook in another scope",
            rule_fields(json!({"scope": "Cluster"}), json!({"scope": "Namespaced"})),
        ),
        pair(
            "a webhook on other versions",
            rule_fields(json!({"apiVersions": ["*"]}), json!({"apiVersions": ["v1", "v2"]})),
        ),
        pair(
            "a webhook on all operations",
            rule_fields(
                json!({"operations": ["*"]}),
                json!({"operations": ["CONNECT", "CREATE", "DELETE", "UPDATE"]}),
            ),
        ),
        pair("subresources of a resource", resources(&["ks/*"], &["ks/exec", "ls/exec"])),
        pair("subresources of all resources", resources(&["*/*"], &["ks/exec", "ks"])),
        pair("all resources", resources(&["*"], &["ks", "ks/exec"])),
        pair(
            "a webhook on groups of Kubernetes",
            fields(
                rule(json!({"apiGroups": ["apps", "h"]})),
                rule(json!({"apiGroups": ["batch", "policy", "autoscaling", "*", "h.k8s.io"]})),
            ),
        ),
        pair("an exact match", fields(json!({}), json!({"matchPolicy": "Exact"}))),
        pair("the default match", fields(json!({}), json!({"matchPolicy": "Equivalent"}))),
        pair("an ignored failure", fields(json!({"failurePolicy": null}), json!({}))),
        pair(
            "another review version",
            fields(
                json!({"admissionReviewVersions": ["v1", "v1beta1"]}),
                json!({"admissionReviewVersions": ["v1"]}),
            ),
        ),
        pair("a timeout of more than the default", [timeout(json!(null)), timeout(json!(11))]),
        pair("one more namespace that is excluded", selector(not_in(&["a"]), not_in(&["a", "b"]))),
        pair("another selected label", selector(expression("a"), expression("b"))),
        pair(
            "webhooks for a resource of each group",
            [
                hooks(&[]),
                hooks(&groups.map(|group| {
                    let mut hook = rules(group, json!(["xs"]));
                    hook["name"] = json!(format!("{group}.example.com"));
                    hook["failurePolicy"] = json!(null);
                    hook
                })),
            ],
        ),
        pair("a list of webhooks", [one(configuration(json!(null))), hooks(&[hook(json!({}))])]),
        pair("a webhook without a name", [hooks(&[]), hooks(&[hook(json!({"name": null}))])]),
        pair(
            "a webhook next to one without a name",
            [
                hooks(&[hook(json!({})), hook(json!({"name": null}))]),
                hooks(&[
                    hook(json!({})),
                    hook(json!({"name": null})),
                    hook(json!({"name": "v.e.g"})),
                ]),
            ],
        ),
        pair("six resources", resources(&["ks"], &["ks", "a", "b", "c", "d", "e", "f"])),
        pair("four labels", selector(json!({"matchLabels": four}), json!({}))),
        pair("an expression", selector(expression("a"), json!({}))),
        pair(
            "four conditions",
            fields(json!({"matchConditions": conditions}), json!({"matchConditions": null})),
        ),
        pair(
            "four review versions",
            fields(
                json!({"admissionReviewVersions": ["v1", "a", "b", "c", "d"]}),
                json!({"admissionReviewVersions": ["v1"]}),
            ),
        ),
        pair(
            "another path",
            fields(service("a"), json!({"clientConfig": {"service": {"path": "/y"}}})),
        ),
        pair(
            "an added CA bundle",
            fields(service("a"), json!({"clientConfig": {"caBundle": "YQ=="}})),
        ),
        pair(
            "another expression of two",
            selector(
                json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a"}]}),
                json!({"matchLabels": {"a": "c"}, "matchExpressions": [{"key": "a"}]}),
            ),
        ),
    ]
}

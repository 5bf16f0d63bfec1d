//! ServiceAccounts and their RBAC.

use super::few;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::fields::{list, text, texts};
use crate::ir::{Expr, Object, Unit, Value};
use crate::olm::AUTH_READER;
use crate::overlay;
use std::collections::BTreeSet;

fn rules_of(role: &Object) -> impl Iterator<Item = &Value> {
    list(role.at(&["rules"])).iter()
}

fn roles(unit: &Unit) -> impl Iterator<Item = &Object> {
    unit.objects.iter().filter(|object| matches!(object.kind(), "Role" | "ClusterRole"))
}

/// Pods do not start without their account, and only `default` is there without being made.
pub(super) fn accounts(unit: &Unit, diagnostics: &mut Diagnostics) {
    let known = unit.names("ServiceAccount");
    for deployment in unit.of_kind("Deployment") {
        let name = deployment.account();
        if name != "default" && !known.contains(name) {
            let message =
                format!("{deployment} uses ServiceAccount/{name}, which is not in the chart");
            let hint = "create it before installing the chart: pods do not start without it";
            diagnostics.push(deployment.warning(Code::AccountMissing, message).hint(hint));
        }
    }
}

/// Reports bindings to accounts of the release namespace that are neither in the chart nor used by its
/// Deployments: the permissions have no effect until something creates the account.
pub(super) fn bound_accounts(unit: &Unit, diagnostics: &mut Diagnostics) {
    let known = unit.names("ServiceAccount");
    // `accounts` has reported those of Deployments.
    let used: BTreeSet<&str> = unit.of_kind("Deployment").map(Object::account).collect();
    let mut said = BTreeSet::new();
    for binding in &unit.objects {
        if !matches!(binding.kind(), "RoleBinding" | "ClusterRoleBinding") {
            continue;
        }
        for subject in list(binding.at(&["subjects"])) {
            let Some(name) = account_in(subject) else { continue };
            let here = subject.get("namespace") == Some(&Expr::ReleaseNamespace.into());
            if !here || name == "default" || known.contains(name) || used.contains(name) {
                continue;
            }

            // One account often has several bindings.
            if said.insert(name) {
                let message =
                    format!("{binding} binds ServiceAccount/{name}, which is not in the chart");
                let hint = "the permissions have no effect until something creates it; check its \
                    name, or add it with a manifest or an overlay";
                diagnostics.push(binding.note(Code::AccountMissing, message).hint(hint));
            }
        }
    }
}

/// Returns the name of the ServiceAccount that a subject is.
fn account_in(subject: &Value) -> Option<&str> {
    text(subject, "name").filter(|_| text(subject, "kind") == Some("ServiceAccount"))
}

/// Returns the bindings of a kind for an account.
fn bindings<'a>(
    unit: &'a Unit,
    kind: &'a str,
    account: &'a str,
) -> impl Iterator<Item = &'a Object> {
    unit.of_kind(kind).filter(move |binding| {
        list(binding.at(&["subjects"])).iter().any(|subject| account_in(subject) == Some(account))
    })
}

fn role_name(binding: &Object) -> &str {
    binding.at(&["roleRef", "name"]).and_then(Value::as_str).unwrap_or_default()
}

fn allows(rules: &[&Value], group: &str, resource: &str, verb: &str) -> bool {
    let has = |rule: &Value, key: &str, wanted: &str| {
        texts(rule.get(key)).any(|item| item == wanted || item == "*")
    };
    rules.iter().any(|rule| {
        has(rule, "apiGroups", group)
            && has(rule, "resources", resource)
            && has(rule, "verbs", verb)
    })
}

/// Reports operators that use TokenReviews and SubjectAccessReviews, but cannot read the ConfigMap
/// in kube-system that delegated authentication requires.
pub(super) fn auth_reader(unit: &Unit, diagnostics: &mut Diagnostics) {
    for deployment in unit.of_kind("Deployment") {
        let name = deployment.account();
        let bound: BTreeSet<&str> =
            bindings(unit, "ClusterRoleBinding", name).map(role_name).collect();
        let roles = unit.of_kind("ClusterRole").filter(|role| bound.contains(role.name()));
        let rules: Vec<&Value> = roles.flat_map(rules_of).collect();
        // Roles that every cluster has.
        let delegates = bound.contains("system:auth-delegator")
            || allows(&rules, "authentication.k8s.io", "tokenreviews", "create")
                && allows(&rules, "authorization.k8s.io", "subjectaccessreviews", "create");
        let reads = bound.contains("cluster-admin")
            || allows(&rules, "", "configmaps", "get")
            || bindings(unit, "RoleBinding", name).any(|binding| {
                let namespace = binding.metadata("namespace").and_then(Value::as_str);
                namespace == Some("kube-system") && role_name(binding) == AUTH_READER
            });
        if delegates && !reads {
            let message = format!(
                "ServiceAccount/{name} cannot read \
                            kube-system/extension-apiserver-authentication, which everyone can \
                            read on OpenShift"
            );
            let hint = "write `auth-reader = true` if the operator uses delegated authentication";
            diagnostics.push(deployment.note(Code::AuthReaderMissing, message).hint(hint));
        }
    }
}

/// Returns the first rule that the API server rejects, and why.
fn refused(role: &Object) -> Option<(usize, String)> {
    rules_of(role).enumerate().find_map(|(index, rule)| {
        // Kubernetes: ValidatePolicyRule of package pkg/apis/rbac/validation.
        let any = |key: &str| texts(rule.get(key)).next().is_some();
        let urls = any("nonResourceURLs");
        let of_resources = ["resources", "resourceNames", "apiGroups"].into_iter().find(|k| any(k));
        let why = if urls && role.kind() == "Role" {
            "has nonResourceURLs, which are not namespaced"
        } else if urls {
            let key = of_resources?;
            &format!("has both {key} and nonResourceURLs, which need separate rules")
        } else if !any("resources") {
            "has no resources"
        } else if !any("apiGroups") {
            "has no apiGroups"
        } else {
            return None;
        };
        Some((index, why.to_owned()))
    })
}

/// Roles with a rule that the API server rejects.
pub(super) fn rules(unit: &Unit, diagnostics: &mut Diagnostics) {
    for role in roles(unit) {
        if let Some((index, why)) = refused(role) {
            let message = format!("rule {} of {role} {why}", index + 1);
            let hint = "fix the rule with a `[[bundle.patch]]`, or exclude the role and its \
                    binding: the API server rejects the role";
            diagnostics.push(
                Diagnostic::warning(Code::ApiRefuses, message)
                    .at(role.place_at(&format!(".rules[{index}]")))
                    .hint(hint),
            );
        }
    }
}

/// Rules for APIs that only OpenShift has, and for its security context constraints.
pub(super) fn openshift<'a>(unit: &'a Unit, diagnostics: &mut Diagnostics) {
    let crds = unit.of_kind("CustomResourceDefinition");
    let own: Vec<&str> = crds.filter_map(|crd| crd.at(&["spec", "group"])?.as_str()).collect();
    let groups_of = |role: &'a Object| {
        let groups = rules_of(role).flat_map(|rule| texts(rule.get("apiGroups")));
        groups.filter(|group| group.ends_with(".openshift.io") && !own.contains(group))
    };
    let Some(first) = roles(unit).find(|role| groups_of(role).next().is_some()) else { return };
    let groups: BTreeSet<&str> = roles(unit).flat_map(groups_of).collect();
    let mut resources =
        roles(unit).flat_map(rules_of).flat_map(|rule| texts(rule.get("resources")));
    let constraints = resources.any(|name| name == "securitycontextconstraints");
    let also = if constraints {
        "; its pods or operands may depend on SecurityContextConstraints"
    } else {
        ""
    };

    let message = format!("the operator has RBAC for OpenShift-only APIs: {}{also}", few(groups));
    let mut found = first.note(Code::OpenshiftOnly, message);
    let stubs: Vec<String> =
        overlay::readable_stubs(unit).iter().map(|stub| format!("\"{stub}\"")).collect();
    if !stubs.is_empty() {
        found = found.hint(format!(
            "write `stub-crds = [{}]` if the operator reads this API when it starts",
            stubs.join(", ")
        ));
    }
    diagnostics.push(found);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::sample::{bundle, reported};

    /// Returns an operator with this ServiceAccount, and other objects.
    fn operator(account: &str, others: &str) -> Unit {
        bundle(&format!(
            "
apiVersion: apps/v1
kind: Deployment
metadata: {{name: widget-operator}}
spec: {{template: {{spec: {{serviceAccountName: {account}}}}}}}
---
{others}"
        ))
    }

    fn role(kind: &str, rules: &str) -> String {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\n\
             metadata: {{name: widget-role}}\nrules: {rules}\n---\n"
        )
    }

    fn binding(kind: &str, namespace: &str, role: &str, subject: &str) -> String {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\n\
             metadata: {{name: widget-binding, namespace: {namespace}}}\n\
             roleRef: {{name: '{role}'}}\nsubjects: [{subject}]\n---\n"
        )
    }

    #[test]
    fn deployments_need_an_account_of_the_chart_or_the_default_one() {
        let account = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: widget-operator}}";
        assert_eq!(
            reported(accounts, &operator("other", account)),
            ["warning: Deployment/widget-operator uses ServiceAccount/other, which is not in the \
              chart"]
        );
        for own in ["widget-operator", "default"] {
            assert!(reported(accounts, &operator(own, account)).is_empty(), "{own}");
        }
    }

    /// Bindings to accounts: of the chart, of the operator's pods, the default one, one that nothing
    /// creates, and one of another namespace.
    #[test]
    fn bindings_need_an_account_in_the_release_namespace() {
        let here = ["widget-operator", "pods", "default", "lost", "lost"];
        let subject = |name: &str| format!("{{kind: ServiceAccount, name: {name}}}");
        let others: String = here
            .iter()
            .map(|name| binding("RoleBinding", "''", "widget-role", &subject(name)))
            .chain(["{apiVersion: v1, kind: ServiceAccount, metadata: {name: widget-operator}}"
                .to_owned()])
            .collect();
        let mut unit = operator("pods", &others);
        for object in &mut unit.objects {
            let subjects = object.root.get_mut("subjects").and_then(Value::as_seq_mut);
            for subject in subjects.into_iter().flatten().filter_map(Value::as_map_mut) {
                subject.insert("namespace".to_owned(), Expr::ReleaseNamespace.into());
            }
        }
        let elsewhere = "{kind: ServiceAccount, name: other, namespace: elsewhere}";
        let elsewhere = binding("RoleBinding", "''", "widget-role", elsewhere);
        unit.objects.extend(bundle(&elsewhere).objects);
        assert_eq!(
            reported(bound_accounts, &unit),
            [
                "note: RoleBinding/widget-binding binds ServiceAccount/lost, which is not in the chart"
            ]
        );
    }

    #[test]
    fn delegated_authentication_needs_the_auth_reader() {
        let rule = |group: &str, resource: &str, verb: &str| {
            format!("{{apiGroups: ['{group}'], resources: ['{resource}'], verbs: ['{verb}']}}")
        };
        let own = "{kind: ServiceAccount, name: widget-operator}";
        let bound = |rules: &[String]| {
            role("ClusterRole", &format!("[{}]", rules.join(", ")))
                + &binding("ClusterRoleBinding", "''", "widget-role", own)
        };
        let cluster_role = |name: &str| binding("ClusterRoleBinding", "''", name, own);

        let tokens = rule("authentication.k8s.io", "tokenreviews", "create");
        let access = rule("authorization.k8s.io", "subjectaccessreviews", "create");
        let reviews = [tokens.clone(), access.clone()];
        let all = [rule("*", "tokenreviews", "*"), rule("*", "subjectaccessreviews", "*")];
        let delegator = cluster_role("system:auth-delegator");
        for objects in [bound(&reviews), bound(&all), delegator.clone()] {
            assert_eq!(
                reported(auth_reader, &operator("widget-operator", &objects)),
                ["note: ServiceAccount/widget-operator cannot read \
                  kube-system/extension-apiserver-authentication, which everyone can read on \
                  OpenShift"],
                "{objects}"
            );
        }

        // Without delegated authentication.
        let role = role("ClusterRole", &format!("[{}]", reviews.join(", ")));
        let to = |subject: &str| {
            role.clone() + &binding("ClusterRoleBinding", "''", "widget-role", subject)
        };
        for objects in [
            bound(&[tokens]),
            bound(&[access]),
            bound(&[
                rule("authentication.k8s.io", "tokenreviews", "list"),
                rule("authorization.k8s.io", "subjectaccessreviews", "list"),
            ]),
            role.clone(),
            role.clone() + &binding("RoleBinding", "widgets", "widget-role", own),
            to("{kind: ServiceAccount, name: other}"),
            to("{kind: User, name: widget-operator}"),
        ] {
            let found = reported(auth_reader, &operator("widget-operator", &objects));
            assert!(found.is_empty(), "{objects}");
        }

        // With it.
        let reader = "extension-apiserver-authentication-reader";
        let in_system = |role: &str| binding("RoleBinding", "kube-system", role, own);
        for (more, is_missing) in [
            (cluster_role("cluster-admin"), false),
            (bound(&[rule("", "configmaps", "get")]), false),
            (bound(&[rule("", "configmaps", "list")]), true),
            (bound(&[rule("", "secrets", "get")]), true),
            (in_system(reader), false),
            (in_system("other-reader"), true),
            (binding("RoleBinding", "widgets", reader, own), true),
        ] {
            let unit = operator("widget-operator", &(delegator.clone() + &more));
            assert_eq!(!reported(auth_reader, &unit).is_empty(), is_missing, "{more}");
        }
    }

    #[test]
    fn rules_are_about_urls_or_about_resources() {
        for (more, key) in [
            ("", None),
            (", resources: [pods], apiGroups: ['']", Some("resources")),
            (", apiGroups: ['']", Some("apiGroups")),
            (", resourceNames: [widget]", Some("resourceNames")),
        ] {
            let rule = format!("[{{nonResourceURLs: [/metrics], verbs: [get]{more}}}]");
            let warning = |key: &str| {
                format!(
                    "warning: rule 1 of ClusterRole/widget-role has both {key} and \
                     nonResourceURLs, which need separate rules"
                )
            };
            let expected: Vec<String> = key.map(warning).into_iter().collect();
            assert_eq!(reported(rules, &bundle(&role("ClusterRole", &rule))), expected, "{rule}");
        }
    }

    #[test]
    fn apis_that_only_openshift_has() {
        let note = "note: the operator has RBAC for OpenShift-only APIs: ";
        let constraints =
            "; its pods or operands may depend on SecurityContextConstraints".to_owned();
        let crd = |group: &str| {
            format!("{{kind: CustomResourceDefinition, spec: {{group: {group}}}}}\n---\n")
        };
        for (group, resource, others, expected) in [
            ("route.openshift.io", "routes", String::new(), vec!["route.openshift.io".to_owned()]),
            (
                "security.openshift.io",
                "securitycontextconstraints",
                String::new(),
                vec!["security.openshift.io".to_owned() + &constraints],
            ),
            // APIs of the bundle itself.
            ("widgets.openshift.io", "widgets", crd("widgets.openshift.io"), vec![]),
            (
                "widgets.openshift.io",
                "widgets",
                crd("other.openshift.io"),
                vec!["widgets.openshift.io".to_owned()],
            ),
        ] {
            let rules =
                format!("[{{apiGroups: [{group}], resources: [{resource}], verbs: [get]}}]");
            let unit = bundle(&(others + &role("Role", &rules)));
            let expected: Vec<String> =
                expected.iter().map(|text| format!("{note}{text}")).collect();
            assert_eq!(reported(openshift, &unit), expected, "{rules}");
        }
    }
}

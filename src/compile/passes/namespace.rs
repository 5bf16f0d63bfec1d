//! Rewrites mentions of the operator's namespace to the release namespace, by structure.

use super::Context;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::fields::{below, map_mut, maps_mut};
use crate::ir::{Expr, Object, Origin, Part, Unit, Value, WORKLOADS};
use std::collections::BTreeSet;

/// Rewrites the namespaces of binding subjects, of a Service of the chart behind a CRD's conversion
/// webhook, and of `SERVICE.NAMESPACE.svc` hosts in commands, arguments and environment. Every
/// other mention of a namespace that the bundle calls its own is reported, with its place.
pub(super) fn namespace(unit: &mut Unit, context: &Context, diagnostics: &mut Diagnostics) {
    // Accounts of the chart's pods are in the release namespace, even if the chart does not create
    // them.
    let mut accounts = unit.names("ServiceAccount");
    accounts.extend(unit.of_kind("Deployment").map(|object| object.account().to_owned()));
    let services = unit.names("Service");
    for object in &mut unit.objects {
        match object.kind() {
            "RoleBinding" | "ClusterRoleBinding" => subjects(object, &accounts, context),
            "CustomResourceDefinition" => conversion_service(object, &services, context),
            kind if WORKLOADS.contains(&kind) => hosts(object, context),
            _ => {}
        }
        // Descriptions in schemas mention namespaces as examples.
        if object.kind() != "CustomResourceDefinition" {
            report_mentions(object, context, diagnostics);
        }
    }
}

/// The name of the group of all ServiceAccounts of a namespace, and that of a ServiceAccount's user,
/// before the namespace (Kubernetes: apiserver/pkg/authentication/serviceaccount).
const ACCOUNT_NAMES: [(&str, &str); 2] =
    [("Group", "system:serviceaccounts:"), ("User", "system:serviceaccount:")];

/// Rewrites the namespace of subjects: ServiceAccounts of this chart, those in a namespace that the
/// bundle calls its own, their users, and the group of all ServiceAccounts of such a namespace.
fn subjects(object: &mut Object, accounts: &BTreeSet<String>, context: &Context) {
    let is_of_bundle = !matches!(object.origin, Origin::Overlay { .. });
    let meant = |namespace: &str, name: &str| {
        // In a bundle, an account of the chart under a foreign namespace is a leftover of the
        // vendor's kustomization.
        let is_leftover = is_of_bundle && accounts.contains(name);
        let own = is_leftover || namespace.is_empty();
        context.namespace(namespace).or(own.then_some(Expr::ReleaseNamespace))
    };
    for subject in maps_mut(&mut object.root, "subjects") {
        let text = |key: &str| subject.get(key).and_then(Value::as_str).unwrap_or_default();
        let (kind, name) = (text("kind"), text("name"));
        if kind == "ServiceAccount" {
            if let Some(namespace) = meant(text("namespace"), name) {
                subject.insert("namespace".to_owned(), Value::Expr(namespace));
            }
            continue;
        }
        // Other users and groups belong to no namespace.
        let start = ACCOUNT_NAMES.iter().find(|(of, start)| *of == kind && name.starts_with(start));
        let Some((_, start)) = start else { continue };
        let rest = &name[start.len()..];
        let end = rest.find(':').unwrap_or(rest.len());
        let (namespace, account) = rest.split_at(end);
        if meant(namespace, account.trim_start_matches(':')) == Some(Expr::ReleaseNamespace) {
            let parts = Part::around_namespace([*start, account]);
            subject.insert("name".to_owned(), Value::Expr(Expr::Concat(parts)));
        }
    }
}

/// Rewrites the Service of a conversion webhook, if it is in the chart. Other Services are not
/// changed, whatever their namespace, so that the CRD needs no template.
fn conversion_service(object: &mut Object, services: &BTreeSet<String>, context: &Context) {
    let keys = ["spec", "conversion", "webhook", "clientConfig", "service"];
    let Some(service) = map_mut(&mut object.root, &keys) else { return };
    let text = |key: &str| service.get(key).and_then(Value::as_str).unwrap_or_default();
    if services.contains(text("name")) {
        let meant = context.namespace(text("namespace"));
        let namespace = meant.unwrap_or(Expr::ReleaseNamespace);
        service.insert("namespace".to_owned(), Value::Expr(namespace));
    }
}

/// Rewrites `NAME.NAMESPACE.svc` in the commands, arguments and variables of containers.
fn hosts(object: &mut Object, context: &Context) {
    let Some(pod) = object.pod_spec_mut() else { return };
    for key in ["containers", "initContainers"] {
        for container in maps_mut(pod, key) {
            for key in ["command", "args"] {
                let texts = container.get_mut(key).and_then(Value::as_seq_mut);
                texts.into_iter().flatten().for_each(|text| rewrite_hosts(text, context));
            }
            for variable in maps_mut(container, "env") {
                if let Some(value) = variable.get_mut("value") {
                    rewrite_hosts(value, context);
                }
            }
        }
    }
}

fn rewrite_hosts(value: &mut Value, context: &Context) {
    let Some(text) = value.as_str() else { return };
    // A text may have hosts of several namespaces.
    let mut hosts = Vec::new();
    for name in &context.namespaces {
        let suffix = host_suffix(name);
        let places = text.match_indices(&suffix).map(|(dot, _)| dot + 1);
        hosts.extend(places.map(|start| (start, start + name.len())));
    }
    hosts.sort_unstable();

    if hosts.is_empty() {
        return;
    }
    let starts = std::iter::once(0).chain(hosts.iter().map(|(_, end)| *end));
    let ends = hosts.iter().map(|(start, _)| *start).chain([text.len()]);
    let others = starts.zip(ends).map(|(start, end)| &text[start..end]);
    *value = Value::Expr(Expr::Concat(Part::around_namespace(others)));
}

/// Returns the part of a Service's host name after the name of the Service.
fn host_suffix(namespace: &str) -> String {
    format!(".{namespace}.svc")
}

/// The label of every namespace with its name.
const NAMESPACE_LABEL: &str = "kubernetes.io/metadata.name";

/// Keys under which a text is a name, label, path or image and never a namespace, unless it is the
/// label of one; those of [`is_identifier`] are others.
const NAMES: [&str; 13] = [
    "name",
    "labels",
    "matchLabels",
    "selector",
    "annotations",
    "image",
    "roleRef",
    "resources",
    "resourceNames",
    "mountPath",
    "subPath",
    "path",
    "workingDir",
];

/// Reports hard-coded namespaces: a warning if the field is known to be a namespace, else a note,
/// because operators often have the same name as their namespace.
fn report_mentions(object: &Object, context: &Context, diagnostics: &mut Diagnostics) {
    let mut report = |path: &str, namespace: &str, certain: bool| {
        let message = format!(
            "hard-coded namespace in {object}: `{namespace}` at `{path}` is not \
            rewritten"
        );
        let diagnostic = if certain {
            Diagnostic::warning(Code::NamespaceLiteral, message).hint(format!(
                "install the chart into `{namespace}`, or check that the operator works in another \
                    namespace"
            ))
        } else {
            Diagnostic::note(Code::NamespaceLiteral, message)
        };
        diagnostics.push(diagnostic.at(object.place().path(path)));
    };
    for (key, value) in &object.root {
        find_mentions(key, value, &below("", key), context, &mut report);
    }
}

/// Reports the path of each mention, the namespace, and whether it is certain.
fn find_mentions(
    key: &str,
    value: &Value,
    path: &str,
    context: &Context,
    report: &mut dyn FnMut(&str, &str, bool),
) {
    if NAMES.contains(&key) || is_identifier(key) {
        let label = value.get(NAMESPACE_LABEL);
        if let Some(value) = label.filter(|_| matches!(key, "matchLabels" | "selector")) {
            let path = below(path, NAMESPACE_LABEL);
            find_mentions("namespace", value, &path, context, report);
        }
        return;
    }
    match value {
        Value::Text(text) => {
            let lines = || text.lines().filter(|line| !assigns_identifier(line));
            let has_host = |ns: &str| text.contains(&host_suffix(ns));
            let has_word = |ns: &str| lines().any(|line| mentions_word(line, ns));
            // A host is certain, so that it is not hidden by a word that may be the operator's name.
            let host = context.namespaces.iter().find(|ns| has_host(ns));
            let mentioned = || context.namespaces.iter().find(|ns| has_word(ns));
            if let Some(namespace) = host.or_else(mentioned) {
                let means = |text: &str| text.to_ascii_lowercase().contains("namespace");
                // An operator often has the name of its namespace, so only a host, or a key or flag
                // that says so, is certain.
                report(path, namespace, host.is_some() || means(key) || means(text));
            }
        }
        Value::Seq(items) => {
            let mut flag = None;
            for (index, item) in items.iter().enumerate() {
                // The value of a flag can be the next argument.
                let key = flag.unwrap_or(key);
                find_mentions(key, item, &format!("{path}[{index}]"), context, report);
                // With `=` the value is in the same argument.
                flag = item.as_str().filter(|text| !text.contains(['=', ' '])).and_then(flag_name);
            }
        }
        Value::Map(map) => {
            // The name of an environment variable indicates the meaning of its value.
            let variable = map.get("name").and_then(Value::as_str);
            for (key, value) in map.iter() {
                let path = below(path, key);
                let key = if key == "value" { variable.unwrap_or(key) } else { key };
                find_mentions(key, value, &path, context, report);
            }
        }
        _ => {}
    }
}

/// Returns true if the value of this key, variable or flag is the name or ID of something else than a
/// namespace: `OPERATOR_NAME`, `resourceName`, `leader-election-id`.
fn is_identifier(key: &str) -> bool {
    let ends = ["_NAME", "_name", "-name", "Name", "_id", "-id", "ID", "Id"];
    ends.into_iter().any(|end| key.ends_with(end))
        && !key.to_ascii_lowercase().contains("namespace")
}

/// Returns the name of a flag, such as `leader-election-id` of `--leader-election-id`.
fn flag_name(argument: &str) -> Option<&str> {
    let name = argument.strip_prefix('-')?;
    Some(name.strip_prefix('-').unwrap_or(name))
}

/// Returns true for `--leader-election-id=lamps`, and for such lines of an embedded configuration:
/// `resourceName: lamps`.
fn assigns_identifier(line: &str) -> bool {
    let line = line.trim();
    let line = flag_name(line).unwrap_or(line);
    let end = line.find(['=', ':']);
    let key = end.and_then(|end| line.get(..end)).unwrap_or_default();
    is_identifier(key.trim().trim_matches('"'))
}

/// Returns true if `text` contains `word` without an adjacent letter, digit, dash or dot, and not
/// as part of a path.
fn mentions_word(text: &str, word: &str) -> bool {
    let joins =
        |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || b"-._".contains(b));
    text.match_indices(word).any(|(start, _)| {
        let bytes = text.as_bytes();
        let before = start.checked_sub(1).and_then(|index| bytes.get(index));
        !joins(before) && before != Some(&b'/') && !joins(bytes.get(start + word.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Release;
    use crate::passes::sample;
    use serde_json::json;

    /// Returns the object in the namespace `widgets`, and what is reported about it.
    fn rewritten(unit: &mut Unit) -> (serde_json::Value, Vec<String>) {
        let namespaces = ["widget-lab", "widget-system"].map(str::to_owned).to_vec();
        let context = Context { namespaces, ..Context::default() };
        let mut diagnostics = Diagnostics::new();
        namespace(unit, &context, &mut diagnostics);
        let release = Release { namespace: "widgets", values: &json!({}) };
        (release.object(&unit.objects[0]).expect("an object"), sample::messages(&diagnostics))
    }

    /// Under these keys a text is the name of something else.
    #[test]
    fn names_are_no_namespaces() {
        let mentions = |key: &str| {
            let manifest = format!(
                "{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: a}}, spec: {{{key}: \
                 widget-system}}}}"
            );
            !rewritten(&mut sample::bundle(&manifest)).1.is_empty()
        };
        let fields = "name labels matchLabels selector annotations image serviceAccountName roleRef \
                      secretName resources resourceNames generateName mountPath subPath path workingDir";
        let ends = "LEADER_NAME leader_name leader-name leaderName LEADER_ID leader_id leader-id \
                    leaderID leaderId";
        for key in fields.split(' ').chain(ends.split(' ')) {
            assert!(!mentions(key), "{key}");
        }
        for key in ["zone", "paths", "nameOf", "namespaceName", "NAMESPACE_ID"] {
            assert!(mentions(key), "{key}");
        }
    }

    #[test]
    fn conversion_webhooks_of_the_chart_are_in_the_release_namespace() {
        for (service, expected) in [("webhook-service", "widgets"), ("other", "widget-system")] {
            let (crd, _) = rewritten(&mut sample::bundle(&format!(
                "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: widgets.example.com}}
spec:
  conversion:
    webhook:
      clientConfig: {{service: {{name: {service}, namespace: widget-system}}}}
---
apiVersion: v1
kind: Service
metadata: {{name: webhook-service}}
"
            )));
            let service = &crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"];
            assert_eq!(service["namespace"], expected);
        }
    }

    #[test]
    fn subjects_of_the_chart_are_in_the_release_namespace() {
        let account = |rest: &str| format!("{{kind: ServiceAccount{rest}}}");
        let group = |name: &str| format!("{{kind: Group, name: '{name}'}}");
        let user = |name: &str| format!("{{kind: User, name: 'system:serviceaccount:{name}'}}");
        for kind in ["RoleBinding", "ClusterRoleBinding"] {
            for (subject, key, expected) in [
                // Of a namespace that the bundle calls its own, of the chart, and of its pods.
                (account(", name: other, namespace: widget-system"), "namespace", "widgets"),
                (account(", name: shipped, namespace: elsewhere"), "namespace", "widgets"),
                (account(", name: pods, namespace: elsewhere"), "namespace", "widgets"),
                (account(", name: other, namespace: elsewhere"), "namespace", "elsewhere"),
                (account(", name: other, namespace: ''"), "namespace", "widgets"),
                (account(", name: other"), "namespace", "widgets"),
                (
                    group("system:serviceaccounts:widget-lab"),
                    "name",
                    "system:serviceaccounts:widgets",
                ),
                (group("system:serviceaccounts:other"), "name", "system:serviceaccounts:other"),
                (group("widget-system"), "name", "widget-system"),
                ("{kind: User, name: shipped}".to_owned(), "name", "shipped"),
                (
                    group("system:serviceaccount:widget-lab:a"),
                    "name",
                    "system:serviceaccount:widget-lab:a",
                ),
                (user("widget-system:other"), "name", "system:serviceaccount:widgets:other"),
                (user("elsewhere:pods"), "name", "system:serviceaccount:widgets:pods"),
                (user("elsewhere:other"), "name", "system:serviceaccount:elsewhere:other"),
            ] {
                let (binding, _) = rewritten(&mut sample::bundle(&format!(
                    "
apiVersion: rbac.authorization.k8s.io/v1
kind: {kind}
metadata: {{name: a}}
subjects: [{subject}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: shipped}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: a}}
spec: {{template: {{spec: {{serviceAccountName: pods}}}}}}
"
                )));
                assert_eq!(binding["subjects"][0][key], expected, "{kind} {subject}");
            }
        }
    }

    #[test]
    fn subjects_of_overlays_stay_in_other_namespaces() {
        for (namespace, expected) in [("elsewhere", "elsewhere"), ("widget-lab", "widgets")] {
            let mut unit = sample::bundle(&format!(
                "
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: a}}
subjects: [{{kind: ServiceAccount, name: shipped, namespace: {namespace}}}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: shipped}}
"
            ));
            unit.objects[0].origin = Origin::Overlay {
                file: "overlay.yaml".to_owned(),
                document: 1,
                line: 1,
                path: String::new(),
            };
            let (binding, _) = rewritten(&mut unit);
            assert_eq!(binding["subjects"][0]["namespace"], expected);
        }
    }

    #[test]
    fn hosts_are_rewritten_in_workloads_and_reported_elsewhere() {
        let host = "http://cache.widget-system.svc:8080";
        let with = |kind: &str, host: &str| {
            format!(
                "{{apiVersion: v1, kind: {kind}, metadata: {{name: a}}, spec: {{template: \
                 {{spec: {{containers: [{{name: a, args: ['--cache={host}']}}]}}}}}}}}"
            )
        };
        let template = |kind: &str| with(kind, host);
        let argument = |object: &serde_json::Value| {
            object["spec"]["template"]["spec"]["containers"][0]["args"][0].clone()
        };
        let warning = |object: &str, path: &str| {
            format!(
                "warning: hard-coded namespace in {object}: `widget-system` at `{path}` is not \
                 rewritten"
            )
        };

        let (job, found) = rewritten(&mut sample::bundle(&template("Job")));
        assert_eq!(argument(&job), "--cache=http://cache.widgets.svc:8080");
        assert!(found.is_empty(), "{found:?}");

        let several = with("Job", "a.widget-system.svc,b.widget-lab.svc,c.widget-system.svc");
        let (job, found) = rewritten(&mut sample::bundle(&several));
        assert_eq!(argument(&job), "--cache=a.widgets.svc,b.widgets.svc,c.widgets.svc");
        assert!(found.is_empty(), "{found:?}");

        let (widget, found) = rewritten(&mut sample::bundle(&template("Widget")));
        assert_eq!(argument(&widget), format!("--cache={host}"));
        let path = ".spec.template.spec.containers[0].args[0]";
        assert_eq!(found, [warning("Widget/a", path)]);

        let map = format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, data: {{url: '{host}'}}}}"
        );
        let (_, found) = rewritten(&mut sample::bundle(&map));
        assert_eq!(found, [warning("ConfigMap/a", ".data.url")]);
    }

    #[test]
    fn texts_that_mention_a_namespace() {
        let severity = |data: &str| {
            let manifest =
                format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, data: {data}}}");
            let (_, found) = rewritten(&mut sample::bundle(&manifest));
            let severities = found.iter().map(|found| found.split(':').next().unwrap_or_default());
            severities.collect::<Vec<_>>().join(" ")
        };
        for (data, expected) in [
            ("{a: widget-system}", "note"),
            ("{a: '--target=widget-system'}", "note"),
            ("{a: '(widget-system)'}", "note"),
            ("{watchNamespace: widget-system}", "warning"),
            ("{a: 'namespace: widget-system'}", "warning"),
            ("{a: [--namespace, widget-system]}", "warning"),
            ("{a: 'widget-lab at cache.widget-system.svc'}", "warning"),
            // Parts of other names and of paths.
            ("{a: widget-systems}", ""),
            ("{a: my-widget-system}", ""),
            ("{a: widget-system-config}", ""),
            ("{a: my_widget-system}", ""),
            ("{a: widget-system.example.com}", ""),
            ("{a: /etc/widget-system}", ""),
            // Names of other things.
            ("{leaseName: widget-system}", ""),
            ("{a: 'resourceName: widget-system'}", ""),
            ("{a: ['--leader-election-id=widget-system']}", ""),
            ("{a: [--leader-election-id, widget-system]}", ""),
            ("{a: [-lock-name, widget-system]}", ""),
            ("{a: ['--leader-elect=true --id', widget-system]}", "note"),
        ] {
            assert_eq!(severity(data), expected, "{data}");
        }
    }
}

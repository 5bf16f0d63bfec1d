//! What a bundle takes for granted is said, once, where it stands; and is not said when there is
//! nothing to say.

#![allow(clippy::expect_used, clippy::panic, reason = "a test says what it expects")]

mod support {
    pub(crate) mod command;
    pub(crate) mod lamp;
}

use support::command::Case;
use support::lamp::{CRD_FILE, CSV_FILE};

/// What `build` says besides the result.
fn said(case: &Case) -> String {
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let end = seen.stderr.find("lamp-operator/1.2.3").expect("the result");
    seen.stderr[..end].to_owned()
}

/// Puts lines into the pod's spec, in front of its containers.
fn with_pod(lines: &str) -> Case {
    let case = Case::with_lamps();
    case.replace(
        CSV_FILE,
        "              containers:\n",
        &format!("{lines}              containers:\n"),
    );
    case
}

#[test]
fn nothing_to_say() {
    assert_eq!(said(&Case::with_lamps()), "");
}

#[test]
fn account_missing() {
    let case = Case::with_lamps();
    case.replace(
        CSV_FILE,
        "              serviceAccountName: lamp-operator\n",
        "              serviceAccountName: lamplighter\n",
    );
    insta::assert_snapshot!(said(&case));
    // The one that every namespace has.
    let case = Case::with_lamps();
    case.replace(CSV_FILE, "              serviceAccountName: lamp-operator\n", "");
    assert_eq!(said(&case), "");
}

/// Rules in front of the only one.
fn with_rules(rules: &str) -> Case {
    let case = Case::with_lamps();
    let rule = "        - apiGroups: [light.example.com]\n";
    case.replace(CSV_FILE, rule, &format!("{rules}{rule}"));
    case
}

const REVIEWS: &str = "        - apiGroups: [authentication.k8s.io]
          resources: [tokenreviews]
          verbs: [create]
        - apiGroups: [authorization.k8s.io]
          resources: [subjectaccessreviews]
          verbs: [create]
";

#[test]
fn auth_reader_missing() {
    let case = with_rules(REVIEWS);
    insta::assert_snapshot!(said(&case));
    let text = case.read("bundles.toml");
    case.write("bundles.toml", format!("{text}auth-reader = true\n"));
    case.run(&["build", "--replace"]);
    assert_eq!(said(&case), "");
    let maps = "        - {apiGroups: [''], resources: [configmaps], verbs: [get]}\n";
    assert_eq!(said(&with_rules(&format!("{REVIEWS}{maps}"))), "");
}

#[test]
fn auth_reader_by_other_roles() {
    let binding = |kind: &str, namespace: &str, role: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}Binding\n\
             metadata: {{name: shipped{namespace}}}\n\
             roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {kind}, name: '{role}'}}\n\
             subjects:\n- {{kind: ServiceAccount, name: lamp-operator, namespace: system}}\n---\n"
        )
    };
    let delegator = binding("ClusterRole", "", "system:auth-delegator");
    let said_of = |more: &str| said(&with_manifest(&format!("{delegator}{more}")));
    assert!(said_of("").contains("note[auth-reader-missing]"));
    let role = "extension-apiserver-authentication-reader";
    assert_eq!(said_of(&binding("Role", ", namespace: kube-system", role)), "");
    assert!(said_of(&binding("Role", "", role)).contains("note[auth-reader-missing]"));
    let admin = binding("ClusterRole", "", "cluster-admin").replace("shipped", "admin");
    assert_eq!(said_of(&admin), "");
}

#[test]
fn operator_condition() {
    let rule = "        - {apiGroups: [operators.coreos.com], resources: [operatorconditions/status], verbs: [get]}\n";
    insta::assert_snapshot!(said(&with_rules(rule)));
}

#[test]
fn openshift_only() {
    let rules = "        - {apiGroups: [route.openshift.io, config.openshift.io], resources: ['*'], verbs: [get]}
        - {apiGroups: [security.openshift.io], resources: [securitycontextconstraints], verbs: [use]}
";
    insta::assert_snapshot!(said(&with_rules(rules)));
}

#[test]
fn incomplete_rule() {
    insta::assert_snapshot!(said(&with_rules("        - {apiGroups: [''], resources: [pods]}\n")));
    insta::assert_snapshot!(said(&with_rules("        - {apiGroups: [''], verbs: [get]}\n")));
}

#[test]
fn run_as_user_missing() {
    let context = "              securityContext: {runAsNonRoot: true}\n";
    insta::assert_snapshot!(said(&with_pod(context)));
    let context = "              securityContext: {runAsNonRoot: true, runAsUser: 1000}\n";
    assert_eq!(said(&with_pod(context)), "");
}

#[test]
fn unpinned_image() {
    let init = "              initContainers:
              - {name: a, image: registry.example.com/a}
              - {name: b, image: 'registry.example.com/b:latest'}
              - {name: c, image: 'registry.example.com:443/c:1.0'}
";
    insta::assert_snapshot!(said(&with_pod(init)));
}

fn with_manifest(text: &str) -> Case {
    let case = Case::with_lamps();
    case.write("bundle/manifests/more.yaml", text);
    case
}

#[test]
fn foreign_kind() {
    insta::assert_snapshot!(said(&with_manifest(
        "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: a}\n---\n\
         apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: b}\n---\n\
         apiVersion: console.openshift.io/v1\nkind: ConsoleLink\nmetadata: {name: c}\n"
    )));
}

#[test]
fn a_kind_that_the_chart_brings_is_not_foreign() {
    let case = with_manifest(
        "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: a}\n",
    );
    let crd = case.read(CRD_FILE).replace("light.example.com", "monitoring.coreos.com");
    let crd = crd.replace("lamps", "servicemonitors").replace("Lamp", "ServiceMonitor");
    case.write("bundle/manifests/monitors.yaml", crd);
    assert_eq!(said(&case), "");
}

#[test]
fn ignored_field() {
    let case = Case::with_lamps();
    let webhooks = "  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: check.light.example.com
    deploymentName: lamp-operator
    admissionReviewVersions: [v1]
    sideEffects: None
    namespaceSelector: {}
";
    let text = case.read(CSV_FILE);
    case.write(CSV_FILE, format!("{text}{webhooks}"));
    insta::assert_snapshot!(said(&case));
}

#[test]
fn selector_matches_nothing() {
    let service = |selector: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: a}}\nspec:\n  selector: {selector}\n"
        )
    };
    insta::assert_snapshot!(said(&with_manifest(&service("{app: lantern}"))));
    assert_eq!(said(&with_manifest(&service("{app: lamp-operator}"))), "");
    assert_eq!(said(&with_manifest(&service("{}"))), "");
}

#[test]
fn conversion_without_a_service() {
    let case = Case::with_lamps();
    case.replace(
        CRD_FILE,
        "  scope: Namespaced\n",
        "  scope: Namespaced
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig:
        service: {name: webhook-service, namespace: system, path: /convert}
",
    );
    insta::assert_snapshot!(said(&case));
}

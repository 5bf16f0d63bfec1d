use super::*;
use crate::bundle::{load, locate, sample};
use crate::config::{CertificateProvider, Issuer, Watch};
use crate::diag::{SourceText, Span};
use crate::ir::{Expr, Object, Release};
use crate::kinds::{supported_kinds, supported_scope};
use crate::source::{self, BundleFiles};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// A ClusterServiceVersion with these lines in `spec`.
fn csv(spec: &str) -> String {
    format!(
        "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {{name: widget-operator.v1.0.0}}
spec:
  version: 1.0.0
{spec}"
    )
}

/// A CustomResourceDefinition with these fields in `spec`.
fn crd(name: &str, fields: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {name}}}
spec:
  names: {{kind: Widget, plural: widgets}}
  versions: [{{name: v1, served: true, storage: true}}]
  {fields}
"
    )
}

const ALL_NAMESPACES: &str = "  installModes: [{type: AllNamespaces, supported: true}]\n";

const DEPLOYMENT: &str = "  install:
    strategy: deployment
    spec:
      deployments:
      - name: widget-operator
        spec:
          selector: {matchLabels: {app: widget-operator}}
          template:
            metadata: {labels: {app: widget-operator}}
            spec: {containers: [{name: manager, image: 'example.com/widget-operator:1.0.0'}]}
";

fn config() -> BundleConfig {
    BundleConfig::new("widget-operator", source::from_argument("widget-operator"))
}

/// The namespace of the release.
const NAMESPACE: &str = "widget-system";

/// Returns the bundle with these manifests, and its files.
fn bundle(manifests: &[&str]) -> (Bundle, BundleFiles) {
    let names: Vec<String> = (0..manifests.len()).map(|n| format!("{n}.yaml")).collect();
    let manifests = names.iter().map(String::as_str).zip(manifests.iter().copied());
    let files = sample::files(&manifests.collect::<Vec<_>>(), &[sample::ANNOTATIONS]);
    let mut diagnostics = Diagnostics::new();
    let bundle = load(&files, &mut diagnostics);
    (bundle.unwrap_or_else(|| panic!("{diagnostics:?}")), files)
}

/// Returns the objects of a release in `widget-system`, and the diagnostics as `FILE:LINE MESSAGE`.
fn lowered(manifests: &[&str], config: &BundleConfig) -> (Vec<Json>, Vec<String>) {
    let (mut bundle, files) = bundle(manifests);
    let mut diagnostics = Diagnostics::new();
    let start = diagnostics.mark();
    let objects = lower(&mut bundle, config, NAMESPACE, &mut diagnostics).objects;
    locate(diagnostics.since(start), &files);

    let given = json!({"secretName": "widget-tls", "caBundle": "the CA"});
    let values = json!({"certificates": {"widget-operator": given}});
    let release = Release { namespace: "widget-system", values: &values };
    let objects = objects.iter().filter_map(|object| release.object(object)).collect();
    let place = |place: &crate::diag::Place| {
        let file = place.file.as_deref().and_then(|file| file.strip_prefix("manifests/"));
        format!("{}:{}", file.unwrap_or_default(), place.line.unwrap_or_default())
    };
    let found = diagnostics.iter().map(|d| format!("{} {}", place(&d.place), d.message)).collect();
    (objects, found)
}

fn messages(manifests: &[&str]) -> Vec<String> {
    lowered(manifests, &config()).1
}

fn of_kind<'o>(objects: &'o [Json], kind: &str) -> Vec<&'o Json> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

/// Returns `olm.targetNamespaces` of an operator that supports these install modes, or the errors.
fn target_namespaces(modes: &[&str], watch: &Watch) -> Result<Json, Vec<String>> {
    let modes: String = modes.iter().map(|m| format!("{{type: {m}, supported: true}}, ")).collect();
    let (bundle, _) = bundle(&[&csv(&format!("  installModes: [{modes}]\n"))]);
    let mut config = config();
    config.operator.watch = Some((watch.clone(), None));
    let mut diagnostics = Diagnostics::new();
    let targets = Targets::choose(&bundle.csv, &config, NAMESPACE, &mut diagnostics);
    let release = Release { namespace: "widget-system", values: &Json::Null };
    targets
        .map(|targets| release.value(&targets.annotation()))
        .ok_or_else(|| diagnostics.iter().map(|found| found.message.clone()).collect())
}

fn namespaces(names: &[&str]) -> Watch {
    Watch::Namespaces(names.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn target_namespaces_are_joined_in_their_order() {
    let modes = ["AllNamespaces", "MultiNamespace", "OwnNamespace", "SingleNamespace"];
    for (watch, expected) in [
        (Watch::All, ""),
        (Watch::Own, "widget-system"),
        (namespaces(&["widget-system"]), "widget-system"),
        (namespaces(&["a"]), "a"),
        (namespaces(&["a", "b"]), "a,b"),
        (namespaces(&["widget-system", "a"]), "widget-system,a"),
        (namespaces(&["a", "widget-system"]), "a,widget-system"),
        (namespaces(&["a", "widget-system", "b"]), "a,widget-system,b"),
    ] {
        assert_eq!(target_namespaces(&modes, &watch), Ok(json!(expected)), "{watch:?}");
    }
    // Not a text with one part, which the template would write differently.
    let own = Targets(Some(vec![Expr::ReleaseNamespace.into()])).annotation();
    assert_eq!(own, Expr::ReleaseNamespace.into());
}

#[test]
fn install_modes_are_those_of_the_watched_namespaces() {
    let own = namespaces(&["widget-system"]);
    let one = namespaces(&["a"]);
    let several = namespaces(&["a", "b"]);
    let with_own = namespaces(&["widget-system", "a"]);
    for (watch, modes) in [
        (&own, ["OwnNamespace"].as_slice()),
        (&one, &["SingleNamespace"]),
        (&several, &["MultiNamespace"]),
        (&with_own, &["MultiNamespace", "OwnNamespace"]),
    ] {
        assert!(target_namespaces(modes, watch).is_ok(), "{watch:?}");
    }
    for (watch, modes, message) in [
        (
            &own,
            "SingleNamespace",
            "its own namespace: it supports SingleNamespace, not OwnNamespace",
        ),
        (
            &one,
            "OwnNamespace",
            "one other namespace: it supports OwnNamespace, not SingleNamespace",
        ),
        (
            &several,
            "SingleNamespace",
            "several namespaces: it supports SingleNamespace, not MultiNamespace",
        ),
        (
            &with_own,
            "OwnNamespace",
            "several namespaces: it supports OwnNamespace, not MultiNamespace",
        ),
        (
            &with_own,
            "MultiNamespace",
            "its own namespace: it supports MultiNamespace, not OwnNamespace",
        ),
    ] {
        let message = format!("the operator cannot watch {message}");
        assert_eq!(target_namespaces(&[modes], watch), Err(vec![message]), "{watch:?}");
    }
}

#[test]
fn webhooks_select_the_watched_namespaces() {
    let spec = "  installModes:
  - {type: AllNamespaces, supported: true}
  - {type: OwnNamespace, supported: true}
  - {type: MultiNamespace, supported: true}
  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: widgets.example.com
    deploymentName: widget-operator
    admissionReviewVersions: [v1]
    sideEffects: None
";
    let csv = csv(&format!("{spec}{DEPLOYMENT}"));
    for (watch, selected) in [
        (Watch::All, None),
        (Watch::Own, Some(json!(["widget-system"]))),
        (namespaces(&["a", "widget-system"]), Some(json!(["a", "widget-system"]))),
    ] {
        let mut config = config();
        config.operator.watch = Some((watch.clone(), None));
        let (objects, found) = lowered(&[&csv], &config);
        let configurations = of_kind(&objects, "ValidatingWebhookConfiguration");
        let [configuration] = configurations.as_slice() else { panic!("{found:?}") };
        let selector = configuration["webhooks"][0].get("namespaceSelector");
        let values = selector.map(|selector| {
            let expression = &selector["matchExpressions"][0];
            assert_eq!(expression["key"], "kubernetes.io/metadata.name");
            assert_eq!(expression["operator"], "In");
            expression["values"].clone()
        });
        assert_eq!(values, selected, "{watch:?}");
    }
}

#[test]
fn operators_that_read_operator_conditions_get_the_name_of_theirs() {
    let spec = "  installModes: [{type: AllNamespaces, supported: true}]
  install:
    spec:
      permissions:
      - serviceAccountName: widget-operator
        rules: [{apiGroups: [''], resources: [configmaps], verbs: [get]}]
      - serviceAccountName: widget-operator
        rules:
        - {apiGroups: [operators.coreos.com], resources: [operatorconditions, other], verbs: [get]}
      clusterPermissions:
      - serviceAccountName: widget-operator
        rules: [{apiGroups: ['*'], resources: [operatorconditions/status], verbs: [get]}]
      deployments:
      - name: widget-operator
        spec:
          selector: {}
          template:
            spec:
              containers:
              - {name: manager, env: [{name: LEVEL, value: debug}]}
              - {name: proxy}
              - {name: other, env: [{name: OPERATOR_CONDITION_NAME, value: other}]}
";
    let settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n---\n";
    let (objects, found) = lowered(&[&format!("{settings}{}", csv(spec))], &config());
    assert_eq!(
        found,
        ["0.yaml:16 the operator has RBAC for OperatorCondition/widget-operator.v1.0.0, which \
            OLM creates and the chart does not"]
    );
    let own = json!({"name": "OPERATOR_CONDITION_NAME", "value": "widget-operator.v1.0.0"});
    assert_eq!(
        of_kind(&objects, "Deployment")[0]["spec"]["template"]["spec"]["containers"],
        json!([
            {"name": "manager", "env": [{"name": "LEVEL", "value": "debug"}, own]},
            {"name": "proxy", "env": [own]},
            {"name": "other", "env": [{"name": "OPERATOR_CONDITION_NAME", "value": "other"}]},
        ])
    );
}

#[test]
fn kinds_of_one_version_are_served_by_one_port() {
    let services = |port: u16| {
        let spec = format!(
            "  apiservicedefinitions:
    owned:
    - {{group: a.example.com, version: v1, name: widgets, deploymentName: widget-operator}}
    - {{group: example.com, version: v1, name: widgets, deploymentName: widget-operator}}
    - {{group: example.com, version: v1, name: gadgets, deploymentName: widget-operator, containerPort: {port}}}
"
        );
        messages(&[&csv(&format!("{ALL_NAMESPACES}{spec}{DEPLOYMENT}"))])
    };
    assert!(services(443).is_empty());
    assert_eq!(
        services(5443),
        ["0.yaml:11 the owned APIService `v1.example.com` is served by port 443 of \
            `widget-operator` for `widgets`, but by port 5443 of `widget-operator` for `gadgets`; \
            the last one is used, as in OLM"]
    );
}

#[test]
fn webhooks_may_not_intercept_webhook_configurations() {
    let rule = |group: &str, resource: &str| {
        let spec = format!(
            "  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: widgets.example.com
    deploymentName: widget-operator
    admissionReviewVersions: [v1]
    sideEffects: None
    rules:
    - {{apiGroups: ['{group}'], resources: ['{resource}']}}
"
        );
        messages(&[&csv(&format!("{ALL_NAMESPACES}{spec}{DEPLOYMENT}"))])
    };
    let registration = "admissionregistration.k8s.io";
    for (group, resource) in [
        ("example.com", "*"),
        (registration, "validatingadmissionpolicies"),
        ("example.com", "validatingwebhookconfigurations"),
    ] {
        assert_eq!(rule(group, resource), [""; 0], "{group} {resource}");
    }
    let refused = "0.yaml:14 the webhook `widgets.example.com` contains a forbidden rule: \
                   admission webhook rules cannot reference";
    for resource in ["*", "mutatingwebhookconfigurations", "ValidatingWebhookConfiguration"] {
        assert_eq!(
            rule(registration, resource),
            [format!("{refused} the resource `{resource}` of the API group `{registration}`")]
        );
    }
    assert_eq!(rule("*", "pods"), [format!("{refused} the API group `*`")]);
}

#[test]
fn converted_crds_may_not_keep_unknown_fields() {
    let spec = "  customresourcedefinitions:
    owned:
    - {name: gadgets.example.com, kind: Widget, version: v1}
    - {name: widgets.example.com, kind: Widget, version: v1}
  webhookdefinitions:
  - type: ConversionWebhook
    generateName: cwidgets.example.com
    deploymentName: widget-operator
    admissionReviewVersions: [v1]
    conversionCRDs: [widgets.example.com]
";
    let csv = csv(&format!("{ALL_NAMESPACES}{spec}{DEPLOYMENT}"));
    let keeps = "preserveUnknownFields: true";
    let found = |gadgets: &str, widgets: &str| {
        let crds = [crd("gadgets.example.com", gadgets), crd("widgets.example.com", widgets)];
        messages(&[&csv, &crds[0], &crds[1]])
    };
    assert_eq!(found(keeps, ""), [""; 0]);
    assert_eq!(
        found("", keeps),
        ["2.yaml:7 the custom resource definition `widgets.example.com` must have \
            .spec.preserveUnknownFields set to false to let the API server call a webhook to do \
            the conversion"]
    );
}

#[test]
fn names_of_csvs_have_at_most_63_characters() {
    for (length, too_long) in [(63, false), (64, true), (65, true)] {
        let name = "w".repeat(length);
        let csv = csv(ALL_NAMESPACES).replace("widget-operator.v1.0.0", &name);
        let message =
            format!("0.yaml:3 invalid name `{name}` of the ClusterServiceVersion: it is too long");
        let expected = if too_long { vec![message] } else { Vec::new() };
        assert_eq!(messages(&[&csv]), expected, "{length}");
    }
}

#[test]
fn owned_crds_have_the_kind_and_version_of_the_csv() {
    let owned = |fields: &str| {
        let spec = format!(
            "  customresourcedefinitions:\n    owned: [{{name: a.example.com}}, \
             {{name: widgets.example.com{fields}}}]\n"
        );
        let csv = csv(&format!("{ALL_NAMESPACES}{spec}"));
        messages(&[&csv, &crd("a.example.com", ""), &crd("widgets.example.com", "")])
    };
    for fields in ["", ", kind: Widget", ", version: v1", ", kind: Widget, version: v1"] {
        assert_eq!(owned(fields), [""; 0], "{fields}");
    }
    assert_eq!(
        owned(", kind: Gadget"),
        ["0.yaml:8 the CSV owns kind Gadget of `widgets.example.com`, but the CRD has Widget"]
    );
    assert_eq!(
        owned(", kind: Widget, version: v2"),
        ["0.yaml:8 the CSV owns version v2 of `widgets.example.com`, but the CRD has v1"]
    );
}

/// A conversion webhook is that of the CRDs that it names.
#[test]
fn conversion_webhooks_have_their_crds() {
    let names = ["gadgets.example.com", "plain.example.com", "widgets.example.com"];
    let owned = names.map(|name| format!("    - {{name: {name}}}\n")).concat();
    let webhook = |kind: &str, name: &str, crds: &str| {
        format!(
            "  - {{type: {kind}, generateName: {name}.example.com, deploymentName: widget-operator, \
             admissionReviewVersions: [v1], sideEffects: None, conversionCRDs: [{crds}]}}\n"
        )
    };
    let conversion = webhook("ConversionWebhook", "c", &format!("{}, {}", names[0], names[2]));
    let spec = format!(
        "  customresourcedefinitions:\n    owned:\n{owned}  webhookdefinitions:\n{}{conversion}",
        webhook("MutatingAdmissionWebhook", "m", names[1])
    );
    let crds = names.map(|name| crd(name, ""));
    let csv = csv(&format!("{ALL_NAMESPACES}{spec}{DEPLOYMENT}"));
    let (objects, found) = lowered(&[&csv, &crds[0], &crds[1], &crds[2]], &config());
    assert_eq!(found, [""; 0]);
    let crds = of_kind(&objects, "CustomResourceDefinition").into_iter();
    let converted = crds.filter(|crd| crd["spec"].get("conversion").is_some());
    let converted: Vec<&Json> = converted.map(|crd| &crd["metadata"]["name"]).collect();
    assert_eq!(converted, [names[0], names[2]]);
}

/// An operator with what real bundles have: webhooks of two Deployments, an aggregated API server,
/// a CRD that is described twice and converted, several permissions of an account, and shipped
/// objects with the names that are made here.
const OPERATOR: &str = "
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: widget-operator.v1.0.0
  annotations: {categories: Database, example.com/team: widgets, example.com/tier: control}
spec:
  version: 1.0.0
  installModes: [{type: AllNamespaces, supported: true}]
  customresourcedefinitions:
    owned:
    - {name: widgets.example.com, kind: Widget, version: v1}
    - {name: widgets.example.com, kind: Widget, version: v1}
  apiservicedefinitions:
    owned:
    - {group: metrics.example.com, version: v1, kind: Use, name: uses, deploymentName: metrics.api, containerPort: 5443}
    - {group: tokens.example.com, version: v1, kind: Token, name: tokens, deploymentName: tokens2}
  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: vwidgets.example.com
    deploymentName: widget-operator
    containerPort: 9443
    targetPort: webhook
    admissionReviewVersions: [v1]
    sideEffects: None
    matchPolicy: Exact
    failurePolicy: Fail
    timeoutSeconds: 7
    objectSelector: {matchLabels: {app: widget}}
    webhookPath: /validate
    reinvocationPolicy: Never
    rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [widgets]}]
  - type: MutatingAdmissionWebhook
    generateName: mwidgets.example.com-
    deploymentName: widget-operator
    containerPort: 443
    failurePolicy: null
    admissionReviewVersions: [v1]
    sideEffects: None
    reinvocationPolicy: IfNeeded
  - type: ConversionWebhook
    generateName: cwidgets.example.com
    deploymentName: widget-operator
    admissionReviewVersions: [v1]
    conversionCRDs: [widgets.example.com]
  install:
    strategy: deployment
    spec:
      permissions:
      - {serviceAccountName: default, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}
      - {serviceAccountName: widget-operator, rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]}
      clusterPermissions:
      - {serviceAccountName: widget-operator, rules: [{apiGroups: [example.com], resources: [widgets], verbs: ['*']}]}
      - {serviceAccountName: widget-operator, rules: [{apiGroups: [apps], resources: [deployments], verbs: [list]}]}
      - {serviceAccountName: shipped, rules: [{apiGroups: [apps], resources: [replicasets], verbs: [list]}]}
      deployments:
      - {name: plain, spec: {}}
      - name: widget-operator
        label: {app: widget}
        spec:
          selector: {matchLabels: {app: widget}}
          template:
            metadata: {creationTimestamp: null, labels: {app: widget, tier: control}, annotations: {example.com/team: pods}}
            spec:
              serviceAccountName: widget-operator
              volumes: [{name: old, secret: {secretName: old}}, {name: kept, emptyDir: {}}]
              initContainers:
              - {name: first, image: a, volumeMounts: [{name: early, mountPath: /apiserver.local.config/certificates}]}
              - {name: both, image: a, volumeMounts: [{name: early, mountPath: /apiserver.local.config/certificates/}, {name: old, mountPath: /tmp/k8s-webhook-server/serving-certs/}]}
              - {name: neither, image: a}
              containers:
              - {name: manager, image: a, volumeMounts: [{name: old, mountPath: /tmp/k8s-webhook-server/serving-certs/}, {name: kept, mountPath: /kept}]}
      - name: metrics.api
        spec:
          selector: {matchExpressions: [{key: app, operator: Exists}]}
          template:
            metadata: {labels: {app: metrics}}
            spec: {serviceAccountName: metrics, containers: [{name: api, image: a}]}
      - {name: tokens2, spec: {}}
";

/// Returns shipped objects with the names of what is made for [`OPERATOR`].
fn shipped() -> String {
    let rbac = "rbac.authorization.k8s.io/v1";
    let objects = [
        ("v1", "ServiceAccount", "shipped"),
        (rbac, "Role", "widget-operator-clusterrole"),
        (rbac, "RoleBinding", "widget-operator-clusterrolebinding-2"),
        (rbac, "ClusterRole", "widget-operator-role"),
        (rbac, "ClusterRoleBinding", "widget-operator-rolebinding-2"),
        ("v1", "ConfigMap", "widget-operator-role-3"),
        ("v1", "ConfigMap", "widget-operator"),
        ("v1", "ConfigMap", "widget-operator-service"),
    ];
    let object = |(api, kind, name): (&str, &str, &str)| {
        format!("{{apiVersion: {api}, kind: {kind}, metadata: {{name: {name}}}}}\n---\n")
    };
    let service = "{apiVersion: v1, kind: Service, metadata: {name: widget-operator-service}, \
                   spec: {ports: [{name: metrics, port: 8080}, {port: 8081}, {port: 443}]}}\n";
    objects.map(object).concat() + service
}

/// Objects are one JSON each, in their order.
#[test]
fn objects_of_an_operator() {
    let mut config = config();
    config.operator.aggregate_roles = Some(true);
    let manifests = [OPERATOR, &crd("widgets.example.com", ""), &shipped()];
    let (objects, found) = lowered(&manifests, &config);
    let objects: Vec<String> = objects.iter().map(|object| format!("{object}\n")).collect();
    insta::assert_snapshot!(format!("{}\n{}", found.join("\n"), objects.concat()));
}

/// A CRD that the bundle does not ship, or whose name has no group, has no roles.
#[test]
fn aggregated_roles_are_those_of_shipped_crds() {
    let names = ["lost.example.com", "plain", "widgets.example.com", "gadgets.example.com"];
    let owned = names.map(|name| format!("{{name: {name}, version: v1, kind: Widget}}"));
    let spec = format!("  customresourcedefinitions: {{owned: [{}]}}\n", owned.join(", "));
    let (bundle, _) = bundle(&[&csv(&format!("{ALL_NAMESPACES}{spec}"))]);
    let crds = names[1..].iter().map(|name| crd(name, "")).collect::<Vec<_>>().join("---\n");
    let crds = crate::passes::sample::bundle(&crds).objects;
    let roles = aggregate::roles(&bundle, &crds);
    let roles: Vec<&str> = roles.iter().map(Object::name).collect();
    let expected = ["widgets", "gadgets"].map(|plural| {
        ["admin", "edit", "view", "crdview"].map(|role| format!("{plural}.example.com-v1-{role}"))
    });
    assert_eq!(roles, expected.concat());
}

#[test]
fn roles_are_named_after_the_chart_and_the_account() {
    for (account, expected) in [
        ("controller", "widgets-controller"),
        ("widgets-controller", "widgets-controller"),
        ("the-widgets-controller", "the-widgets-controller"),
    ] {
        assert_eq!(rbac::role_base("widgets", account), expected);
    }
}

/// An issuer of the configuration is in place of a self-signed one.
#[test]
fn certificates_have_the_issuer_of_the_configuration() {
    let issuers = |issuer: Option<Issuer>| {
        let mut config = config();
        config.operator.issuer = issuer;
        let (objects, _) = lowered(&[OPERATOR, &crd("widgets.example.com", "")], &config);
        let certificates = of_kind(&objects, "Certificate");
        let issuers = certificates.iter().map(|object| object["spec"]["issuerRef"].clone());
        (issuers.collect::<Vec<_>>(), of_kind(&objects, "Issuer").len())
    };
    let (own, count) = issuers(None);
    assert_eq!((own.len(), count), (3, 3));
    let [name, kind] = ["ca", "ClusterIssuer"].map(str::to_owned);
    let issuer = Issuer { name, kind, group: Some("example.com".to_owned()) };
    let configured = json!({"name": "ca", "kind": "ClusterIssuer", "group": "example.com"});
    assert_eq!(issuers(Some(issuer)), (vec![configured; 3], 0));
}

/// Objects of a bundle with errors are the shipped ones, which have faults of their own.
#[test]
fn a_bundle_with_errors_has_its_shipped_objects() {
    let csv = csv(&format!("{ALL_NAMESPACES}{DEPLOYMENT}"));
    let lost = csv.replacen("name: widget-operator\n", "name: Lost\n", 1);
    let [valid, wrong] = [&csv, &lost].map(|csv| lowered(&[csv, &shipped()], &config()));
    assert_eq!((wrong.0.len(), wrong.1.len()), (9, 1));
    assert!(valid.0.len() > 9);
}

/// Each way to get certificates: annotations and CA bundles for the clients, mounts for the servers. A
/// CA of the vendor's own cert-manager is dropped from a CRD.
#[test]
fn objects_with_certificates_of_each_provider() {
    let shipped_ca = "cert-manager.io/inject-ca-from: widgets/serving-cert, example.com/kept: ''";
    let crd = crd("widgets.example.com", "").replace(
        "{name: widgets.example.com}",
        &format!("{{name: widgets.example.com, annotations: {{{shipped_ca}}}}}"),
    );
    let mut shown = String::new();
    for provider in [
        CertificateProvider::ServiceCa,
        CertificateProvider::Helm,
        CertificateProvider::ExistingSecret,
        CertificateProvider::None,
    ] {
        let mut config = config();
        config.operator.certificates = Some(provider);
        let (objects, _) = lowered(&[OPERATOR, &crd], &config);
        shown += &format!("{provider:?}:\n");
        let (mut bundle, _) = bundle(&[OPERATOR, &crd]);
        let unit = lower(&mut bundle, &config, NAMESPACE, &mut Diagnostics::new());
        for value in unit.values {
            shown += &format!("  {}\n", value.path);
        }
        // The names in generated certificates are in expressions.
        for secret in unit.objects.iter().filter(|object| object.kind() == "Secret") {
            let key = secret.at(&["data", "tls.key"]);
            shown += &format!("  {} {key:?}\n", secret.name());
        }
        for object in objects {
            let kind = object["kind"].as_str().unwrap_or_default();
            let spec = match kind {
                "CustomResourceDefinition" => &object["spec"]["conversion"],
                "Deployment" => &object["spec"]["template"]["spec"]["volumes"],
                "APIService" => &object["spec"],
                "Secret" => &object["data"],
                "Service" => &Json::Null,
                _ if kind.ends_with("WebhookConfiguration") => {
                    &object["webhooks"][0]["clientConfig"]
                }
                _ => continue,
            };
            let metadata = &object["metadata"];
            let (name, annotations) = (&metadata["name"], &metadata["annotations"]);
            shown += &format!("  {kind} {name} {annotations} {spec}\n");
        }
    }
    insta::assert_snapshot!(shown);
}

/// An operator that does not watch all namespaces has Roles in each, and webhooks for these only. Its
/// pods have the settings of the configuration.
#[test]
fn objects_of_an_operator_in_some_namespaces() {
    let modes = "{type: OwnNamespace, supported: true}, {type: MultiNamespace, supported: true}";
    let operator = OPERATOR
        .replace("{type: AllNamespaces, supported: true}", modes)
        .replace("ConversionWebhook", "MutatingAdmissionWebhook")
        .replace("conversionCRDs: [widgets.example.com]", "sideEffects: None");
    let mut config = config();
    config.operator.watch = Some((namespaces(&["widget-jobs", "widget-system"]), None));
    config.pods.annotations = [("example.com/owner".to_owned(), "platform".to_owned())].into();
    let (objects, found) = lowered(&[&operator, &crd("widgets.example.com", "")], &config);
    let kinds = ["Role", "RoleBinding", "Deployment", "ValidatingWebhookConfiguration"];
    let objects = objects.iter().filter(|object| kinds.iter().any(|kind| object["kind"] == *kind));
    let objects: String = objects.map(|object| format!("{object}\n")).collect();
    insta::assert_snapshot!(format!("{}\n{objects}", found.join("\n")));
}

/// A bundle may ship no other kind.
#[test]
fn kinds_of_bundles_and_their_scope() {
    let kinds: Vec<String> = supported_kinds()
        .iter()
        .map(|kind| format!("{kind}: {:?}\n", supported_scope(kind).expect("a scope")))
        .collect();
    insta::assert_snapshot!(kinds.concat());
    assert_eq!(supported_scope("Widget"), None);
}

/// Returns the findings about a bundle, each with its places and remedy.
fn faults(manifests: &[String], config: &BundleConfig) -> String {
    let manifests: Vec<&str> = manifests.iter().map(String::as_str).collect();
    let (mut bundle, files) = bundle(&manifests);
    let mut diagnostics = Diagnostics::new();
    let start = diagnostics.mark();
    lower(&mut bundle, config, NAMESPACE, &mut diagnostics);
    locate(diagnostics.since(start), &files);
    let at = |place: &crate::diag::Place| {
        let (line, path) = (place.line.unwrap_or_default(), place.path.as_deref());
        let path = path.or(place.object.as_deref()).unwrap_or_default();
        match &place.span {
            Some(span) => span.source.text[span.range.clone()].to_owned(),
            None => format!("{line} {path}"),
        }
    };
    let mut shown = String::new();
    for found in diagnostics.iter() {
        let (severity, code) = (found.severity.as_str(), found.code.as_str());
        shown += &format!("  {severity}[{code}] {}: {}\n", at(&found.place), found.message);
        for (place, relation) in &found.related {
            shown += &format!("    {}: {relation}\n", at(place));
        }
        shown += &format!("    hint: {}\n", found.hint.as_deref().unwrap_or_default());
    }
    shown
}

/// Each fault of a bundle is reported with its place and remedy.
#[test]
fn faults_of_bundles() {
    let rest = |rest: &str| csv(&format!("{ALL_NAMESPACES}{rest}"));
    let served = |rest: &str| csv(&format!("{ALL_NAMESPACES}{rest}{DEPLOYMENT}"));
    let api =
        |of: &str| format!("    - {{group: example.com, version: v1, deploymentName: {of}}}\n");
    let apis = |of: &[&str]| {
        let entries: String = of.iter().map(|of| api(of)).collect();
        format!("  apiservicedefinitions:\n    owned:\n{entries}")
    };
    let webhook = |kind: &str, of: &str, rest: &str| {
        format!(
            "  - {{type: {kind}, generateName: w.example.com, deploymentName: {of}, \
             admissionReviewVersions: [v1]{rest}}}\n"
        )
    };
    let webhooks = |entries: &[String]| format!("  webhookdefinitions:\n{}", entries.concat());
    let validating = "ValidatingAdmissionWebhook";
    let owned = |fields: &str| {
        format!("  customresourcedefinitions: {{owned: [{{name: widgets.example.com{fields}}}]}}\n")
    };
    let images = |images: &[&str]| {
        let images = images.iter().map(|image| format!("{{name: a, image: '{image}'}}"));
        format!("  relatedImages: [{}]\n", images.collect::<Vec<_>>().join(", "))
    };
    let annotated = |key: &str| {
        let metadata = format!("v1.0.0, annotations: {{{key}: ''}}");
        csv(ALL_NAMESPACES).replacen("v1.0.0", &metadata, 1)
    };
    let lists = ["permissions", "clusterPermissions"];
    let [permissions, cluster_permissions] = lists.map(|list| {
        rest(&format!("  install: {{spec: {{{list}: [{{serviceAccountName: a, rules: []}}]}}}}\n"))
    });
    let deployment =
        |name: &str| DEPLOYMENT.replace("name: widget-operator", &format!("name: {name}"));
    let long = "w".repeat(64);
    let two = crd("widgets.example.com", "").replace("true}]", "true}, {name: v2}]");
    let keeps_unknown = crd("widgets.example.com", "preserveUnknownFields: true");
    let crd = crd("widgets.example.com", "");
    let no_versions = crd.replace("[{name: v1, served: true, storage: true}]", "[]");
    let entry = DEPLOYMENT.split_once("deployments:\n").expect("deployments").1;
    let two_deployments = format!("{DEPLOYMENT}{entry}");
    let rule = "{apiGroups: [operators.coreos.com], resources: [operatorconditions/status]}";
    let conditions = DEPLOYMENT.replace(
        "deployments:\n",
        &format!(
            "clusterPermissions: [{{serviceAccountName: a, rules: [{rule}]}}]\n      deployments:\n"
        ),
    );
    let converts = format!(
        "{}{}",
        owned(""),
        webhooks(&[
            webhook(
                "ConversionWebhook",
                "widget-operator",
                ", conversionCRDs: [other.example.com, widgets.example.com]"
            ),
            webhook(
                "ConversionWebhook",
                "widget-operator",
                ", conversionCRDs: [widgets.example.com]"
            )
        ])
    );

    let mut shown = String::new();
    for (what, manifests) in [
        ("no install mode", vec![csv("")]),
        (
            "several install modes",
            vec![csv(
                "  installModes: [{type: MultiNamespace, supported: true}, {type: SingleNamespace, supported: true}]\n",
            )],
        ),
        (
            "conversion in one namespace",
            vec![
                csv(&format!(
                    "  installModes: [{{type: OwnNamespace, supported: true}}, {{type: AllNamespaces, supported: true}}]\n{converts}{DEPLOYMENT}"
                )),
                crd.clone(),
            ],
        ),
        (
            "webhook of no deployment",
            vec![rest(&webhooks(&[webhook(validating, "lost", ", sideEffects: None")]))],
        ),
        (
            "second webhook of no deployment",
            vec![served(&webhooks(&[
                webhook(validating, "widget-operator", ", sideEffects: None"),
                webhook("MutatingAdmissionWebhook", "lost", ", sideEffects: None"),
            ]))],
        ),
        (
            "conversion webhook with rules",
            vec![served(&webhooks(&[webhook(
                "ConversionWebhook",
                "widget-operator",
                ", rules: [{apiGroups: ['*'], resources: ['*']}]",
            )]))],
        ),
        (
            "APIService of another deployment",
            vec![rest(&format!("{}{}", apis(&["lost"]), DEPLOYMENT))],
        ),
        (
            "two servers of a version",
            vec![served(&format!("{}{}", apis(&["widget-operator", "lost"]), ""))],
        ),
        (
            "invalid names of webhooks and groups",
            vec![served(&format!(
                "{}{}",
                webhooks(&[webhook(validating, "widget-operator", ", sideEffects: None")])
                    .replace("w.example", "W.example"),
                apis(&["widget-operator"]).replace("group: example", "group: Example")
            ))],
        ),
        (
            "duplicate webhooks",
            vec![served(&webhooks(&[
                webhook(validating, "widget-operator", ", sideEffects: None"),
                webhook(validating, "widget-operator", ""),
            ]))],
        ),
        ("invalid conversion", vec![served(&converts), crd.clone()]),
        (
            "no review versions",
            vec![served(
                &webhooks(&[webhook("ConversionWebhook", "widget-operator", "")])
                    .replace("[v1]", "[]"),
            )],
        ),
        (
            "two target ports",
            vec![served(&webhooks(&[
                webhook(validating, "widget-operator", ", sideEffects: None"),
                webhook(
                    "MutatingAdmissionWebhook",
                    "widget-operator",
                    ", sideEffects: None, targetPort: web",
                ),
            ]))],
        ),
        (
            "digit before a Service",
            vec![rest(&format!(
                "{}{}",
                webhooks(&[
                    webhook(validating, "7.widgets", ", sideEffects: None"),
                    webhook("MutatingAdmissionWebhook", "7.widgets", ", sideEffects: None"),
                ]),
                deployment("7.widgets")
            ))],
        ),
        ("long name", vec![csv(ALL_NAMESPACES).replace("widget-operator.v1.0.0", &long)]),
        ("permissions without a deployment", vec![permissions]),
        ("cluster permissions without a deployment", vec![cluster_permissions]),
        ("another kind", vec![rest(&owned(", kind: Gadget")), crd.clone()]),
        ("another version", vec![rest(&owned(", kind: Widget, version: v3")), two]),
        ("an invalid image", vec![rest(&images(&["a b"]))]),
        (
            "many invalid images",
            vec![rest(&images(&["example.com/a:1", "a b", "b c", "c d", "d e", "e f"]))],
        ),
        ("invalid name of a deployment", vec![rest(&deployment("Widgets"))]),
        ("two deployments of a name", vec![rest(&two_deployments)]),
        ("three deployments of a name", vec![rest(&format!("{two_deployments}{entry}"))]),
        ("a CRD twice", vec![rest(&owned("")), crd.clone(), crd.clone()]),
        ("a CRD three times", vec![rest(&owned("")), crd.clone(), crd.clone(), crd.clone()]),
        ("no CRD", vec![rest(&owned(""))]),
        ("CRD of v1beta1", vec![rest(""), crd.replace("k8s.io/v1", "k8s.io/v1beta1")]),
        (
            "CRD without versions after another",
            vec![
                rest(&owned(", version: v1")),
                crd.replace("name: widgets.example.com", "name: a.example.com"),
                no_versions,
            ],
        ),
        ("CRD that keeps unknown fields", vec![served(&converts), keeps_unknown]),
        (
            "forbidden rules",
            vec![served(&webhooks(&[webhook(
                validating,
                "widget-operator",
                ", sideEffects: None, rules: [{apiGroups: [example.com, '*']}, \
                 {apiGroups: [admissionregistration.k8s.io], resources: ['*']}]",
            )]))],
        ),
        (
            "webhook of neither deployment",
            vec![rest(&format!(
                "{}{}",
                webhooks(&[webhook(validating, "lost", ", sideEffects: None")]),
                two_deployments.replacen("name: widget-operator", "name: widget-proxy", 1)
            ))],
        ),
        ("operator conditions", vec![rest(&conditions)]),
        ("a shipped Service", vec![OPERATOR.to_owned(), crd.clone(), shipped()]),
        ("operatorgroup", vec![annotated("olm.operatorgroup")]),
        ("operatornamespace", vec![annotated("olm.operatornamespace")]),
        ("Properties", vec![annotated("olm.Properties")]),
        ("skiprange", vec![annotated("olm.skiprange")]),
        ("targetnamespaces", vec![annotated("olm.targetnamespaces")]),
        ("known annotation", vec![annotated("olm.skipRange")]),
    ] {
        shown += &format!("{what}:\n{}", faults(&manifests, &config()));
    }
    // What is watched comes from the bundle, the command line or the file.
    let (name, text) = ("bundles.toml".to_owned(), "watch = \"own\"".to_owned());
    let span = Span::new(&Arc::new(SourceText { name, text }), 0..13);
    let all = "AllNamespaces";
    let multi = "MultiNamespace";
    for (modes, watch, span) in [
        ([].as_slice(), Watch::All, None),
        (&[multi], Watch::All, None),
        (&[all, multi], Watch::Own, Some(span)),
        (&["OwnNamespace"], namespaces(&["a"]), None),
        (&["SingleNamespace"], Watch::Own, None),
    ] {
        let modes = modes.iter().map(|mode| format!("{{type: {mode}, supported: true}}"));
        let modes: Vec<String> = modes.collect();
        let manifests = [csv(&format!("  installModes: [{}]\n", modes.join(", ")))];
        let mut config = config();
        shown += &format!("{watch:?} of {}:\n", modes.join(", "));
        config.operator.watch = Some((watch, span));
        shown += &faults(&manifests, &config);
    }
    insta::assert_snapshot!(shown);
}

/// Without a certificate there is a warning; a Secret of the user has values.
#[test]
fn certificates_that_users_provide() {
    let webhooks = "  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: w.example.com
    deploymentName: widget-operator
    admissionReviewVersions: [v1]
    sideEffects: None
";
    let manifest = csv(&format!("{ALL_NAMESPACES}{webhooks}{DEPLOYMENT}"));
    let mut shown = String::new();
    for provider in [CertificateProvider::ExistingSecret, CertificateProvider::None] {
        let mut config = config();
        config.operator.certificates = Some(provider);
        let mut diagnostics = Diagnostics::new();
        let (mut bundle, _) = bundle(&[&manifest]);
        let values = lower(&mut bundle, &config, NAMESPACE, &mut diagnostics).values;
        shown += &format!("{provider:?}:\n");
        for value in values {
            shown += &format!(
                "{:?} {} {}: {}\n",
                value.path, value.default, value.schema, value.description
            );
        }
        shown.extend(diagnostics.iter().map(|found| format!("{found:?}\n")));
    }
    insta::assert_snapshot!(shown);
}

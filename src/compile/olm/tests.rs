use super::*;
use crate::bundle::{load, locate, sample};
use crate::config::{Toggles, Watch};
use crate::ir::Release;
use crate::source::{self, BundleFiles};
use serde_json::{Value as Json, json};

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

/// Returns the settings for a release in `widget-system`.
fn options(config: &BundleConfig) -> Options<'_> {
    Options { config, namespace: "widget-system" }
}

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
    let objects = lower(&mut bundle, &options(config), &mut diagnostics).objects;
    locate(diagnostics.since(start), &files);

    let release = Release { namespace: "widget-system", values: &Json::Null };
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
    let config = BundleConfig { watch: Some(watch.clone()), ..config() };
    let mut diagnostics = Diagnostics::new();
    let targets = Targets::choose(&bundle.csv, &options(&config), &mut diagnostics);
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
    let own = Targets::Namespaces(vec![targets::Target::Release]).annotation();
    assert_eq!(own, Targets::Own.annotation());
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
        let config = BundleConfig { watch: Some(watch.clone()), ..config() };
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
        - {apiGroups: [operators.coreos.com], resources: [operatorconditions], verbs: [get]}
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
fn roles_of_owned_crds_are_aggregated() {
    let spec = "  customresourcedefinitions:
    owned: [{name: widgets.example.com, kind: Widget, version: v1}]
";
    let csv = csv(&format!("{ALL_NAMESPACES}{spec}"));
    let toggles = Toggles { aggregate_roles: true, ..Toggles::default() };
    let config = BundleConfig { toggles, ..config() };
    let manifests = [csv.as_str(), &crd("widgets.example.com", "")];
    let (objects, found) = lowered(&manifests, &config);
    assert!(found.is_empty(), "{found:?}");
    let roles: Vec<_> = of_kind(&objects, "ClusterRole")
        .into_iter()
        .map(|role| (&role["metadata"], &role["rules"][0]["verbs"]))
        .collect();
    let expected = |suffix: &str, target: &str| {
        let label = format!("rbac.authorization.k8s.io/aggregate-to-{target}");
        json!({"name": format!("widgets.example.com-v1-{suffix}"), "labels": {label: "true"}})
    };
    assert_eq!(
        roles,
        [
            (&expected("admin", "admin"), &json!(["*"])),
            (&expected("edit", "edit"), &json!(["create", "update", "patch", "delete"])),
            (&expected("view", "view"), &json!(["get", "list", "watch"])),
            (&expected("crdview", "view"), &json!(["get"])),
        ]
    );
}

#[test]
fn kinds_of_one_version_are_served_by_one_port() {
    let services = |port: u16| {
        let spec = format!(
            "  apiservicedefinitions:
    owned:
    - {{group: example.com, version: v1, name: widgets, deploymentName: widget-operator}}
    - {{group: example.com, version: v1, name: gadgets, deploymentName: widget-operator, containerPort: {port}}}
"
        );
        messages(&[&csv(&format!("{ALL_NAMESPACES}{spec}{DEPLOYMENT}"))])
    };
    assert!(services(443).is_empty());
    assert_eq!(
        services(5443),
        ["0.yaml:10 the owned APIService `v1.example.com` is served by port 443 of \
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
fn permissions_need_a_deployment() {
    assert_eq!(messages(&[&csv(ALL_NAMESPACES)]), [""; 0]);
    for list in ["permissions", "clusterPermissions"] {
        let spec = format!("  install:\n    spec:\n      {list}: [{{rules: []}}]\n");
        assert_eq!(
            messages(&[&csv(&format!("{ALL_NAMESPACES}{spec}"))]),
            ["0.yaml:8 the ClusterServiceVersion has permissions but no Deployment"]
        );
    }
}

#[test]
fn owned_crds_have_the_kind_and_version_of_the_csv() {
    let owned = |fields: &str| {
        let spec = format!(
            "  customresourcedefinitions:\n    owned: [{{name: widgets.example.com{fields}}}]\n"
        );
        let csv = csv(&format!("{ALL_NAMESPACES}{spec}"));
        messages(&[&csv, &crd("widgets.example.com", "")])
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

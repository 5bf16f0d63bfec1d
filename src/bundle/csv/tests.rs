use super::*;
use crate::tests::{all_told, csv};
use crate::{Bundle, Endpoint, load, sample};
use serde_json::json;

/// Reads a bundle with this ClusterServiceVersion; returns the diagnostics as `LINE MESSAGE`.
fn bundle(csv: &str) -> (Option<Bundle>, Vec<String>) {
    let mut diagnostics = Diagnostics::new();
    let files = sample::files(&[("csv.yaml", csv)], &[sample::ANNOTATIONS]);
    let bundle = load(&files, &mut diagnostics);
    let line_of = |line: Option<usize>| line.unwrap_or_default();
    let found = diagnostics.iter().map(|d| format!("{} {}", line_of(d.place.line), d.message));
    (bundle, found.collect())
}

#[test]
fn upgrade_edges_are_those_of_the_csv() {
    let (bundle, found) = bundle(
        "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: widget-operator.v1.2.0
  annotations: {olm.skipRange: '>=1.0.0 <1.2.0'}
spec:
  version: 1.2.0
  replaces: widget-operator.v1.1.0
  skips: [widget-operator.v1.1.1, widget-operator.v1.1.2]
",
    );
    let edges = UpgradeEdges {
        replaces: "widget-operator.v1.1.0".to_owned(),
        skips: vec!["widget-operator.v1.1.1".to_owned(), "widget-operator.v1.1.2".to_owned()],
        skip_range: ">=1.0.0 <1.2.0".to_owned(),
    };
    assert_eq!(bundle.expect("a bundle").edges, edges, "{found:?}");
}

#[test]
fn annotations_are_strings_or_null() {
    let (bundle, found) = bundle(
        "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: widget-operator.v1.0.0
  annotations:
    capabilities: Basic Install
    support: null
    certified: true
    example.com/tested: 1.25
spec: {version: 1.0.0}
",
    );
    assert!(bundle.is_none());
    assert_eq!(
        found,
        [
            "8 `.metadata.annotations.certified` must be a string, but it is a boolean",
            "9 `.metadata.annotations[\"example.com/tested\"]` must be a string, but it is a number with a fraction",
        ]
    );
}

/// Returns the target port of a webhook on port 8443 with this field, or the errors.
fn target_port(field: &str) -> Result<Value, Vec<String>> {
    let (bundle, found) = bundle(&format!(
        "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {{name: widget-operator.v1.0.0}}
spec:
  version: 1.0.0
  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: widgets.example.com
    containerPort: 8443
    {field}
"
    ));
    bundle.map(|bundle| bundle.csv.webhooks[0].target_port.clone()).ok_or(found)
}

#[test]
fn target_ports_default_to_the_port_of_the_service() {
    for field in ["", "targetPort: null", "targetPort: 0", "targetPort: ''"] {
        assert_eq!(target_port(field), Ok(Value::from(8443)), "{field}");
    }
    for port in [1, 9443, 65_535] {
        assert_eq!(target_port(&format!("targetPort: {port}")), Ok(Value::from(port)));
    }
    assert_eq!(target_port("targetPort: webhook"), Ok(Value::text("webhook")));

    let path = ".spec.webhookdefinitions[0].targetPort";
    for (field, message) in [
        ("targetPort: -1", "is -1, but ports are from 1 to 65535"),
        ("targetPort: 65536", "is 65536, but ports are from 1 to 65535"),
        ("targetPort: []", "must be an integer or a string, but it is a list"),
    ] {
        assert_eq!(target_port(field), Err(vec![format!("10 `{path}` {message}")]), "{field}");
    }
}

/// Each fault of a ClusterServiceVersion, and all that is said about it. What follows from a wrong
/// type is not said again.
#[test]
fn faults() {
    let mut shown = String::new();
    for (what, spec) in [
        ("another strategy", "  install: {strategy: helm}"),
        ("no strategy", "  install: {strategy: 5}"),
        (
            "an install mode",
            "  installModes: [{type: AllNamespaces}, {type: Everywhere, supported: true}]",
        ),
        ("two install modes", "  installModes: [{type: Everywhere}, {type: Nowhere}]"),
        ("the type of an install mode", "  installModes: [{supported: true}, {type: 5}]"),
        ("another value than true", "  installModes: [{type: AllNamespaces, supported: 'true'}]"),
        ("no list", "  installModes: AllNamespaces\n  webhookdefinitions: {}\n  skips: a"),
        (
            "a deployment without a spec",
            "  install: {spec: {deployments: [{name: a, spec: null}, {name: b}]}}",
        ),
        ("a deployment that is none", "  install: {spec: {deployments: [5, {spec: 5}]}}"),
        ("the type of a webhook", "  webhookdefinitions: [5, {type: Validating}, {}, {type: 5}]"),
        (
            "fields whose names begin alike",
            "  install: 5\n  installModes: [{type: Everywhere, supported: true}]",
        ),
        (
            "a field of a webhook",
            "  webhookdefinitions:\n  - {type: ConversionWebhook, name: a, generatename: b}",
        ),
        (
            "ports of a webhook",
            "  webhookdefinitions:
  - {type: ConversionWebhook, containerPort: -1, targetPort: 65536}
  - {type: ConversionWebhook, containerPort: a, targetPort: true}
  - {type: ConversionWebhook, containerPort: 65536}",
        ),
        (
            "ports of an APIService",
            "  apiservicedefinitions: {owned: [{containerPort: -1}, {containerPort: 65536}]}",
        ),
        ("a boolean in quotes", "  cleanup: {enabled: 'true'}"),
        ("a boolean for a string", "  displayName: true"),
    ] {
        shown += &format!("{what}:\n{}", faults_of(&csv(spec)));
    }
    for (what, text) in [
        ("no spec", csv("").replace("spec:\n  version: 1.0.0", "")),
        ("null for a spec", csv("").replace("\n  version: 1.0.0", " null")),
        ("a text for a spec", csv("").replace("\n  version: 1.0.0", " a")),
        (
            "an item of a list",
            format!("kind: List\nitems:\n- {}", csv("  skips: a").replace('\n', "\n  ")),
        ),
    ] {
        shown += &format!("{what}:\n{}", faults_of(&text));
    }
    insta::assert_snapshot!(shown);
}

fn faults_of(csv: &str) -> String {
    let mut diagnostics = Diagnostics::new();
    let files = sample::files(&[("csv.yaml", csv)], &[sample::ANNOTATIONS]);
    let bundle = load(&files, &mut diagnostics);
    assert_eq!(bundle.is_none(), diagnostics.has_errors(), "{csv}");
    all_told(&diagnostics)
}

/// Returns the parts of a ClusterServiceVersion that decide what is installed, one on each line.
fn parts(csv: &ClusterServiceVersion) -> String {
    let mut parts = format!("{} {:?}\n", csv.version, csv.install_modes);
    for deployment in &csv.deployments {
        let StrategyDeployment { name, label, spec, origin } = deployment;
        parts += &format!("deployment {name:?} {label:?} {spec:?} {origin:?}\n");
    }
    for (field, list) in
        [("permissions", &csv.permissions), ("clusterPermissions", &csv.cluster_permissions)]
    {
        for Permission { service_account, rules, origin } in list {
            parts += &format!("{field} {service_account:?} {rules:?} {origin:?}\n");
        }
    }
    for (field, list) in [("owned", &csv.owned_crds), ("required", &csv.required_crds)] {
        for CrdReference { name, kind, version, path } in list {
            parts += &format!("{field} {name:?} {kind:?} {version:?} {path}\n");
        }
    }
    for webhook in &csv.webhooks {
        let WebhookDescription { kind, name, endpoint, target_port, path, .. } = webhook;
        let Endpoint { deployment, port, place, origin } = endpoint;
        parts += &format!("{kind:?} {name:?} {deployment:?} {port} {target_port:?} ");
        let WebhookDescription { conversion_crds, definition, .. } = webhook;
        let fields: Vec<&String> = definition.keys().collect();
        parts += &format!("{path:?} {conversion_crds:?} {fields:?} {place} {origin:?}\n");
    }
    for service in &csv.api_services {
        let ApiServiceDescription { group, version, plural, endpoint } = service;
        let Endpoint { deployment, port, place, origin } = endpoint;
        parts += &format!(
            "APIService {group:?} {version:?} {plural:?} {deployment:?} {port} {place} {origin:?}\n"
        );
    }
    parts + &format!("{:?}\n", csv.related_images)
}

#[test]
fn parts_of_a_csv_have_defaults() {
    let full = "  installModes:
  - {type: SingleNamespace, supported: true}
  - {type: OwnNamespace, supported: true}
  - {type: MultiNamespace, supported: false}
  - {type: AllNamespaces, supported: true}
  - {type: AllNamespaces, supported: true}
  install:
    strategy: deployment
    spec:
      deployments:
      - {name: widget-operator, label: {app: widget}, spec: {replicas: 2, selector: {}, template: {}}}
      - {name: another, spec: {}}
      permissions:
      - {serviceAccountName: widget-operator, rules: [{verbs: [get]}]}
      clusterPermissions:
      - {serviceAccountName: widget-reader, rules: []}
  customresourcedefinitions:
    owned: [{name: widgets.example.com, kind: Widget, version: v1}]
    required: [{name: gadgets.example.com, kind: Gadget, version: v2}]
  webhookdefinitions:
  - type: MutatingAdmissionWebhook
    generateName: widgets.example.com
    deploymentName: widget-operator
    containerPort: 8443
    targetPort: 9443
    webhookPath: /mutate
    rules: []
    failurePolicy: Fail
    matchPolicy: Exact
    objectSelector: {}
    sideEffects: None
    timeoutSeconds: 5
    admissionReviewVersions: [v1]
    reinvocationPolicy: Never
  - {type: ConversionWebhook, conversionCRDs: [widgets.example.com, gadgets.example.com]}
  apiservicedefinitions:
    owned:
    - {group: example.com, version: v1, kind: Lamp, name: lamps, deploymentName: lamp, containerPort: 1}
  relatedImages: [{name: widget, image: 'example.com/widget:1'}]
";
    let least = "  install:
    strategy: null
    spec:
      deployments: [{spec: {}, label: null}]
      permissions: [{}, {serviceAccountName: ''}]
      clusterPermissions: [{rules: null}]
  installModes: [{type: AllNamespaces}]
  customresourcedefinitions: {owned: [{}], required: null}
  webhookdefinitions: [{type: ValidatingAdmissionWebhook, containerPort: 0, webhookPath: ''}]
  apiservicedefinitions: {owned: [{}, {containerPort: 0}, {containerPort: 65535}]}
  relatedImages: [{}]
";
    let in_list = format!(
        "kind: List\nitems:\n- {}",
        csv("  install: {spec: {permissions: [{}]}}\n").replace('\n', "\n  ")
    );
    let mut shown = String::new();
    for (what, csv) in
        [("full", csv(full)), ("least", csv(least)), ("none", csv("")), ("in a list", in_list)]
    {
        let (bundle, found) = bundle(&csv);
        let bundle = bundle.unwrap_or_else(|| panic!("{found:?}"));
        shown += &format!("{what}:\n{}{}\n", parts(&bundle.csv), found.join("\n"));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn texts_of_a_csv_are_empty_without_them() {
    let read = |annotations: &str, spec: &str| {
        let text =
            csv(spec).replace("v1.0.0}", &format!("v1.0.0, annotations: {{{annotations}}}}}"));
        bundle(&text).0.expect("a bundle").csv
    };
    for (examples, expected) in [
        ("", json!([])),
        ("alm-examples: '[{\"kind\": \"Widget\"}, 5]'", json!([{"kind": "Widget"}, 5])),
        ("alm-examples: '{\"kind\": \"Widget\"}'", json!([])),
        ("alm-examples: '[{'", json!([])),
        ("alm-examples: ''", json!([])),
    ] {
        let csv = read(examples, "");
        assert_eq!(json!(csv.examples()), expected, "{examples}");
        assert_eq!(csv.json_annotation("alm-example"), None);
    }

    let csv = read("a: b", "  displayName: Widgets\n");
    assert_eq!(csv.name(), "widget-operator.v1.0.0");
    assert_eq!((csv.annotation("a"), csv.annotation("b")), (Some("b"), None));
    let texts = ["displayName", "version", "description"].map(|key| csv.spec_text(key));
    assert_eq!(texts, ["Widgets", "1.0.0", ""]);
    assert_eq!(csv.edges(), UpgradeEdges::default());
    let error = csv.error(Code::DependencyInvalid, ".spec.a", "x");
    assert_eq!(error, Diagnostic::error(Code::DependencyInvalid, "x").at(csv.place(".spec.a")));
    assert_eq!(csv.place(".spec.a").path.as_deref(), Some(".spec.a"));

    let all = read("", "  installModes: [{type: AllNamespaces, supported: true}]\n");
    for mode in InstallMode::NAMES.iter().filter_map(|name| InstallMode::named(name)) {
        assert_eq!(all.supports(mode), mode == InstallMode::AllNamespaces, "{mode:?}");
    }
}

/// A version of a group has one server: that of its last kind, at the position of its first.
#[test]
fn served_versions_have_the_server_of_their_last_kind() {
    let owned = "  apiservicedefinitions:
    owned:
    - {group: example.com, version: v1, deploymentName: a}
    - {group: example.com, version: v2, deploymentName: b}
    - {group: example.com, version: v1, deploymentName: c}
    - {group: example.org, version: v1, deploymentName: d}
";
    let csv = bundle(&csv(owned)).0.expect("a bundle").csv;
    let served = csv.served_versions();
    let served: Vec<_> =
        served.iter().map(|s| (s.name(), s.endpoint.deployment.as_str())).collect();
    let expected = [("v1.example.com", "c"), ("v2.example.com", "b"), ("v1.example.org", "d")];
    assert_eq!(served, expected.map(|(name, server)| (name.to_owned(), server)));
}

/// Each field of a ClusterServiceVersion that OLM decodes, by its type. `[]` is an item of a list.
#[test]
fn all_fields_have_their_type() {
    let types = [
        (
            "a string",
            json!(5),
            "version maturity minKubeVersion displayName description replaces keywords[] skips[]
            labels.a annotations.a selector.matchLabels.a maintainers[].name maintainers[].email
            provider.name provider.url links[].name links[].url icon[].base64data icon[].mediatype
            relatedImages[].name relatedImages[].image installModes[].type
            nativeAPIs[].group nativeAPIs[].version nativeAPIs[].kind
            customresourcedefinitions.owned[].name customresourcedefinitions.owned[].version
            customresourcedefinitions.owned[].kind customresourcedefinitions.required[].name
            customresourcedefinitions.owned[].displayName customresourcedefinitions.owned[].description
            customresourcedefinitions.owned[].resources[].name
            customresourcedefinitions.owned[].statusDescriptors[].path
            customresourcedefinitions.owned[].specDescriptors[].displayName
            customresourcedefinitions.owned[].actionDescriptors[].description
            apiservicedefinitions.owned[].group apiservicedefinitions.required[].group
            apiservicedefinitions.owned[].deploymentName
            install.strategy install.spec.deployments[].name install.spec.deployments[].label.a
            install.spec.permissions[].serviceAccountName
            install.spec.clusterPermissions[].serviceAccountName
            webhookdefinitions[].generateName webhookdefinitions[].type
            webhookdefinitions[].deploymentName webhookdefinitions[].failurePolicy
            webhookdefinitions[].matchPolicy webhookdefinitions[].sideEffects
            webhookdefinitions[].reinvocationPolicy webhookdefinitions[].webhookPath
            webhookdefinitions[].admissionReviewVersions[] webhookdefinitions[].conversionCRDs[]
            webhookdefinitions[].objectSelector.matchLabels.a webhookdefinitions[].rules[].scope",
        ),
        (
            "an integer",
            json!("a"),
            "webhookdefinitions[].containerPort webhookdefinitions[].timeoutSeconds
            apiservicedefinitions.owned[].containerPort install.spec.deployments[].spec.replicas",
        ),
        ("an integer or a string", json!([]), "webhookdefinitions[].targetPort"),
        ("a boolean", json!("a"), "installModes[].supported cleanup.enabled"),
        (
            "a list",
            json!("a"),
            "install.spec.permissions[].rules install.spec.clusterPermissions[].rules",
        ),
    ];
    for (expected, wrong, paths) in types {
        for path in paths.split_whitespace() {
            let spec = path.rsplit('.').fold(wrong.clone(), |value, step| {
                let (key, value) = match step.strip_suffix("[]") {
                    Some(key) => (key, json!([value])),
                    None => (step, value),
                };
                json!({key: value})
            });
            let (_, found) = bundle(
                &json!({
                    "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
                    "metadata": {"name": "widget-operator.v1.0.0"}, "spec": spec,
                })
                .to_string(),
            );
            let path = path.replace("[]", "[0]");
            let start = format!("1 `.spec.{path}` must be {expected}, but it is ");
            assert!(
                found.first().is_some_and(|first| first.starts_with(&start)),
                "{path} {found:?}"
            );
        }
    }
}

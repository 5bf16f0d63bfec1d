//! Peculiarities of real bundles, each with a test. How frequent they are
//! was counted over 1,491 bundles.

use crate::overlays::description_of;
use crate::support::command::Case;
use crate::support::lamp::{CONFIG, CRD, CRD_FILE, CSV, CSV_FILE};
use serde_json::{Value, json};
use std::fs;

/// The template of the lamps' CRD, in the subchart.
const LAMPS: &str = "charts/crds/templates/lamps.light.example.com.yaml";

/// The objects that the bundle of the case compiles to.
fn objects(case: &Case, more: &[&str]) -> Vec<Value> {
    let seen = case.run(&[&["inspect", "bundle", "--objects"], more].concat());
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    serde_json::from_str(&seen.stdout).unwrap_or_else(|e| panic!("{e}: {}", seen.stdout))
}

fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let mut found = objects.iter().filter(|o| o["kind"] == kind && o["metadata"]["name"] == name);
    let first = found.next().unwrap_or_else(|| panic!("no {kind}/{name}"));
    assert!(found.next().is_none(), "{kind}/{name} is there twice");
    first
}

fn with_csv(add: &str) -> Case {
    let case = Case::with_lamps();
    case.write(CSV_FILE, format!("{CSV}{add}"));
    case
}

fn pod(objects: &[Value]) -> &Value {
    &find(objects, "Deployment", "lamp-operator")["spec"]["template"]["spec"]
}

fn webhook(ports: &str) -> String {
    format!(
        "  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: check.light.example.com
    deploymentName: lamp-operator
    admissionReviewVersions: [v1]
    sideEffects: None
{ports}"
    )
}

/// 1,103 bundles.
#[test]
fn one_account_in_permissions_and_cluster_permissions() {
    let case = Case::with_lamps();
    case.replace(
        CSV_FILE,
        "      deployments:\n",
        "      permissions:
      - serviceAccountName: lamp-operator
        rules:
        - apiGroups: [coordination.k8s.io]
          resources: [leases]
          verbs: [get, update]
      deployments:
",
    );
    let objects = objects(&case, &["--watch", "own"]);
    find(&objects, "ServiceAccount", "lamp-operator");
    for kind in ["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"] {
        assert_eq!(objects.iter().filter(|o| o["kind"] == kind).count(), 1, "{kind}");
    }
}

/// 299 bundles; 26 name the target port, 7 have no containerPort.
#[test]
fn target_ports_differ_are_named_or_are_all_there_is() {
    for (ports, expected, called) in [
        ("    containerPort: 443\n    targetPort: 9443\n", json!([443, 9443]), 443),
        ("    containerPort: 9443\n", json!([9443, 9443]), 9443),
        ("    containerPort: 443\n    targetPort: webhook\n", json!([443, "webhook"]), 443),
        ("    targetPort: 9443\n", json!([443, 9443]), 443),
        ("    containerPort: 0\n    targetPort: 0\n", json!([443, 443]), 443),
        ("", json!([443, 443]), 443),
    ] {
        let objects = objects(&with_csv(&webhook(ports)), &[]);
        let service = find(&objects, "Service", "lamp-operator-service");
        let port = &service["spec"]["ports"][0];
        assert_eq!(json!([port["port"], port["targetPort"]]), expected, "{ports}");
        assert_eq!(port["name"], expected[0].to_string());
        let webhook = find(&objects, "ValidatingWebhookConfiguration", "check.light.example.com");
        let client = &webhook["webhooks"][0]["clientConfig"]["service"];
        assert_eq!(client["port"], called, "{ports}");
    }
}

/// 54 bundles.
#[test]
fn an_account_that_is_shipped_and_generated_is_there_once_as_shipped() {
    let case = Case::with_lamps();
    case.write(
        "bundle/manifests/account.yaml",
        "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: lamp-operator\n  labels: {a: b}\n",
    );
    let objects = objects(&case, &[]);
    assert_eq!(find(&objects, "ServiceAccount", "lamp-operator")["metadata"]["labels"]["a"], "b");
}

#[test]
fn a_role_that_is_shipped_under_a_name_of_ours_keeps_it() {
    let case = Case::with_lamps();
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n\
                metadata: {name: lamp-operator-clusterrole}\nrules: []\n";
    case.write("bundle/manifests/role.yaml", role);
    let objects = objects(&case, &[]);
    assert_eq!(find(&objects, "ClusterRole", "lamp-operator-clusterrole")["rules"], json!([]));
    let binding = find(&objects, "ClusterRoleBinding", "lamp-operator-clusterrolebinding-2");
    assert_eq!(binding["roleRef"]["name"], "lamp-operator-clusterrole-2");
}

/// OLM goes by the kind's name alone, and would put it into a namespace.
#[test]
fn a_kind_that_is_called_like_another_has_the_scope_of_its_crd() {
    for (scope, namespace) in [("Cluster", json!(null)), ("Namespaced", json!("night"))] {
        let case = Case::with_lamps();
        let crd = CRD.replace("Lamp", "Role").replace("Namespaced", scope);
        case.write(CRD_FILE, crd);
        let role =
            "apiVersion: light.example.com/v1\nkind: Role\nmetadata: {name: a, namespace: x}\n";
        case.write("bundle/manifests/role.yaml", role);
        let objects = objects(&case, &["--namespace", "night"]);
        assert_eq!(find(&objects, "Role", "a")["metadata"]["namespace"], namespace);
    }
}

/// OLM has no other namespace than the operator's; Roles are about what is where they are.
#[test]
fn only_roles_stay_in_kube_system() {
    let case = Case::with_lamps();
    let object = |version: &str, kind: &str| {
        format!(
            "apiVersion: {version}\nkind: {kind}\n\
             metadata: {{name: lamp-operator, namespace: kube-system}}\n---\n"
        )
    };
    let role = object("rbac.authorization.k8s.io/v1", "Role");
    case.write("bundle/manifests/more.yaml", role + &object("v1", "ServiceAccount"));
    let objects = objects(&case, &["--namespace", "night"]);
    let namespace =
        |kind: &str| find(&objects, kind, "lamp-operator")["metadata"]["namespace"].clone();
    assert_eq!([namespace("Role"), namespace("ServiceAccount")], ["kube-system", "night"]);
}

/// A Service outside of the chart cannot answer, so its namespace is not that of the release.
#[test]
fn a_crd_that_another_service_converts_stays_as_it_is() {
    for (service, template) in [("kubernetes", false), ("lamp-service", true)] {
        let case = Case::with_lamps();
        case.replace(
            CRD_FILE,
            "  scope: Namespaced\n",
            &format!(
                "  scope: Namespaced\n  conversion:\n    strategy: Webhook\n    webhook:\n      \
                 conversionReviewVersions: [v1]\n      clientConfig: {{service: {{name: {service}, namespace: default}}}}\n"
            ),
        );
        case.write(
            "bundle/manifests/service.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: lamp-service}\n\
             spec: {selector: {app: lamp-operator}, ports: [{port: 443}]}\n",
        );
        assert_eq!(case.run(&["build"]).code, Some(0));
        let chart = case.path("out/lamp-operator/1.2.3");
        let crd = fs::read_to_string(chart.join(LAMPS)).expect("a template");
        assert_eq!(crd.contains("{{ .Release.Namespace"), template, "{service}");
    }
}

/// 19 bundles.
#[test]
fn a_service_that_is_shipped_and_generated_is_there_once_as_generated() {
    let case = with_csv(&webhook("    containerPort: 443\n    targetPort: 9443\n"));
    let ports = |ports: &str| {
        case.write(
            "bundle/manifests/service.yaml",
            format!(
                "apiVersion: v1\nkind: Service\nmetadata:\n  name: lamp-operator-service\n\
                 spec:\n  selector: {{app: lamp-operator}}\n  ports: {ports}\n"
            ),
        );
        let seen = case.run(&["build", "--replace"]);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
        seen.stderr
    };
    let seen = ports("[{port: 8080, name: sdk}, {port: 443}, {port: 9090}]");
    assert!(seen.contains("warning[shipped-service]"), "{seen}");
    assert!(seen.contains("lacks its ports: 8080 (sdk), 9090 (bundle/manifests/"), "{seen}");
    let seen = ports("[{port: 443}]");
    assert!(seen.contains("note[shipped-service]") && !seen.contains("lacks"), "{seen}");

    let objects = objects(&case, &[]);
    let service = find(&objects, "Service", "lamp-operator-service");
    assert_eq!(service["spec"]["ports"][0]["port"], 443);
    assert_eq!(service["spec"]["selector"]["app"], "lamp-operator");
}

/// 9 bundles use the name of the volume, many more the path.
#[test]
fn certificate_volumes_that_are_there_make_way() {
    let case = with_csv(&webhook(""));
    case.replace(
        CSV_FILE,
        "                ports:\n                - containerPort: 8080\n",
        "                volumeMounts:
                - {name: webhook-cert, mountPath: /certs}
                - {name: own, mountPath: /tmp/k8s-webhook-server/serving-certs/}
                - {name: kept, mountPath: /kept}
              initContainers:
              - name: first
                image: registry.example.com/lamps/first@sha256:0
                volumeMounts:
                - {name: own, mountPath: /tmp/k8s-webhook-server/serving-certs}
              - name: second
                image: registry.example.com/lamps/second@sha256:0
                volumeMounts:
                - {name: own, mountPath: /elsewhere}
              volumes:
              - {name: webhook-cert, emptyDir: {}}
              - {name: own, secret: {secretName: x}}
              - {name: kept, emptyDir: {}}
",
    );
    let objects = objects(&case, &[]);
    let pod = pod(&objects);
    let names = |list: &Value| -> Vec<String> {
        let list = list.as_array().into_iter().flatten();
        list.map(|item| item["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(names(&pod["volumes"]), ["kept", "webhook-cert", "apiservice-cert"]);
    assert_eq!(pod["volumes"][1]["secret"]["secretName"], "lamp-operator-service-cert");
    let mounts = &pod["containers"][0]["volumeMounts"];
    assert_eq!(names(mounts), ["kept", "webhook-cert", "apiservice-cert"]);
    assert_eq!(names(&pod["initContainers"][0]["volumeMounts"]), ["webhook-cert"]);
    assert_eq!(names(&pod["initContainers"][1]["volumeMounts"]), [""; 0]);
}

/// 296 bundles.
#[test]
fn an_operator_that_cannot_watch_all_watches_its_own() {
    let case = Case::with_lamps();
    case.replace(
        CSV_FILE,
        "AllNamespaces\n    supported: true",
        "AllNamespaces\n    supported: false",
    );
    let objects = objects(&case, &["--namespace", "night"]);
    let template = &find(&objects, "Deployment", "lamp-operator")["spec"]["template"];
    assert_eq!(template["metadata"]["annotations"]["olm.targetNamespaces"], "night");
}

/// 444 bundles, under many names.
#[test]
fn watched_namespaces_reach_the_environment_through_the_annotation() {
    let case = Case::with_lamps();
    case.replace(
        CSV_FILE,
        "                ports:\n",
        "                env:
                - name: NAMESPACES_TO_LIGHT
                  valueFrom:
                    fieldRef:
                      fieldPath: metadata.annotations['olm.targetNamespaces']
                ports:
",
    );
    for (watch, expected) in [("all", ""), ("own", "night"), ("street", "street")] {
        let objects = objects(&case, &["--namespace", "night", "--watch", watch]);
        let template = &find(&objects, "Deployment", "lamp-operator")["spec"]["template"];
        assert_eq!(template["metadata"]["annotations"]["olm.targetNamespaces"], expected);
        let variable = &template["spec"]["containers"][0]["env"][0]["valueFrom"]["fieldRef"];
        assert_eq!(variable["fieldPath"], "metadata.annotations['olm.targetNamespaces']");
    }
}

/// 249 bundles: 198 in subjects, 25 in the environment, 14 in arguments.
#[test]
fn namespaces_that_are_written_down_become_the_release_namespace() {
    let case = Case::with_lamps();
    case.write("bundles.toml", format!("{CONFIG}namespace = \"lamp-system\"\n"));
    case.replace(
        CSV_FILE,
        "                ports:\n",
        "                args: ['--url=https://lamp-service.lamp-system.svc:443/x']
                env:
                - {name: HOST, value: lamp-service.lamp-system.svc.cluster.local}
                - {name: HOME_NAMESPACE, value: lamp-system}
                ports:
",
    );
    case.write(
        "bundle/manifests/binding.yaml",
        "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: shipped
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects:
- {kind: ServiceAccount, name: lamp-operator, namespace: system}
- {kind: ServiceAccount, name: another, namespace: lamp-system}
- {kind: ServiceAccount, name: prometheus, namespace: monitoring}
- {kind: ServiceAccount, name: lamplighter, namespace: system}
- {kind: Group, name: 'system:serviceaccounts:lamp-system', apiGroup: rbac.authorization.k8s.io}
- {kind: Group, name: 'system:serviceaccounts:monitoring', apiGroup: rbac.authorization.k8s.io}
",
    );
    // An account that the chart does not create, by the older name of the field.
    let account = "serviceAccountName: lamp-operator\n              containers";
    case.replace(CSV_FILE, account, "serviceAccount: lamplighter\n              containers");
    case.write(
        "bundle/manifests/policy.yaml",
        "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: policy}
spec:
  podSelector: {}
  ingress:
  - from:
    - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: lamp-system}}
",
    );
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(seen.stderr.contains("warning[namespace-literal]"), "{}", seen.text());
    let policy =
        "warning[namespace-literal]: hard-coded namespace in NetworkPolicy/policy: `lamp-system`";
    assert!(seen.stderr.contains(policy), "{}", seen.text());
    let read = |name: &str| {
        let file = case.path("out/lamp-operator/1.2.3/templates").join(name);
        fs::read_to_string(file).expect("a template")
    };
    let deployment = read("deployment-lamp-operator.yaml");
    let rewritten = "lamp-service.{{ .Release.Namespace }}.svc";
    assert_eq!(deployment.matches(rewritten).count(), 2, "{deployment}");
    let binding = read("clusterrolebinding-shipped.yaml");
    assert_eq!(
        binding.matches("namespace: {{ .Release.Namespace | quote }}").count(),
        3,
        "{binding}"
    );
    assert!(binding.contains("namespace: monitoring"), "{binding}");
    assert!(
        binding.contains("name: \"system:serviceaccounts:{{ .Release.Namespace }}\""),
        "{binding}"
    );
    assert!(binding.contains("name: system:serviceaccounts:monitoring"), "{binding}");
}

/// 102 bundles. OLM reads such a CRD as one without versions.
#[test]
fn old_crds_are_refused() {
    let case = Case::with_lamps();
    case.write(CRD_FILE, CRD.replace("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(seen.stderr.contains("error[crd-api-version]"), "{}", seen.text());
}

/// 59 bundles in objects, 72 in annotations of the CSV.
#[test]
fn braces_are_text() {
    let case = Case::with_lamps();
    case.replace(
        CSV_FILE,
        "  name: lamp-operator.v1.2.3\n",
        "  name: lamp-operator.v1.2.3\n  annotations:\n    example: '{{ .Values.x }}{{- end }}'\n",
    );
    case.replace(
        CRD_FILE,
        "        type: object\n",
        "        type: object\n        description: '{{ range }} }}'\n",
    );
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let template = case.path("out/lamp-operator/1.2.3/templates/deployment-lamp-operator.yaml");
    let template = fs::read_to_string(template).expect("a template");
    let escaped = r#"{{ "{{" }} .Values.x }}{{ "{{" }}- end }}"#;
    assert!(template.contains(escaped), "{template}");
    let objects = objects(&case, &[]);
    let crd = find(&objects, "CustomResourceDefinition", "lamps.light.example.com");
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    assert_eq!(schema["description"], "{{ range }} }}");
}

/// 162 bundles have a CRD that cannot be applied on the client side; 49 would not fit a release
/// with their CRDs in templates, and 9 not with them in crds/.
#[test]
fn large_crds_are_said_and_count_once() {
    let case = Case::with_lamps();
    let long = "light ".repeat(50_000);
    let text = CRD.replace(
        "        type: object\n",
        &format!("        type: object\n        description: {long}\n"),
    );
    case.write(CRD_FILE, text);
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let chart = case.path("out/lamp-operator/1.2.3");
    assert!(chart.join("charts/crds/templates/lamps.light.example.com.yaml").exists());
    let readme = fs::read_to_string(chart.join("README.md")).expect("a README");
    assert!(readme.contains("too large for client-side"), "{readme}");
}

/// 10 bundles have anchors, 4 merge keys, 9 conflicting duplicates, 24 explicit keys, 5 Windows
/// line ends, 231 timestamps without quotes. 6 have lines of nothing but tabs, which Kubernetes
/// refuses.
#[test]
fn yaml_that_few_write() {
    let case = Case::with_lamps();
    let path = "bundle/manifests/config.yaml";
    case.write(
        path,
        "apiVersion: v1\r\nkind: ConfigMap\r\nmetadata:\r\n  name: odd\r\n  labels: &shared {a: b}\r\n  annotations:\r\n    <<: *shared\r\n    since: 2020-01-02T03:04:05Z\r\ndata:\r\n  ? explicit\r\n  : value\r\n  twice: one\r\n  twice: two\r\n",
    );
    let objects = objects(&case, &[]);
    let config = find(&objects, "ConfigMap", "odd");
    assert_eq!(config["metadata"]["labels"]["a"], "b");
    let annotations = json!({"a": "b", "since": "2020-01-02T03:04:05Z"});
    assert_eq!(config["metadata"]["annotations"], annotations);
    assert_eq!(config["data"], json!({"explicit": "value", "twice": "two"}));
    let seen = case.run(&["build"]);
    assert!(seen.stderr.contains("warning[duplicate-key]"), "{}", seen.text());

    case.replace(path, "\r\ndata:", "\r\n\t\r\ndata:");
    let seen = case.run(&["build", "--replace"]);
    assert!(seen.stderr.contains("error[manifest-syntax]"), "{}", seen.text());
}

/// 24 bundles.
#[test]
fn a_csv_of_another_api_version_is_one_all_the_same() {
    let case = Case::with_lamps();
    case.replace(CSV_FILE, "operators.coreos.com/v1alpha1", "operators.example.org/v1");
    find(&objects(&case, &[]), "Deployment", "lamp-operator");
}

/// 330 bundles have webhooks, 98 of them convert CRDs.
#[test]
fn a_converted_crd_is_a_template_and_stays_when_the_release_goes() {
    let case = Case::with_lamps();
    let webhooks = "  webhookdefinitions:
  - type: ConversionWebhook
    generateName: convert.light.example.com
    deploymentName: lamp-operator
    admissionReviewVersions: [v1, v1beta1]
    sideEffects: None
    conversionCRDs: [lamps.light.example.com]
";
    let csv = CSV
        .replace("OwnNamespace\n    supported: true", "OwnNamespace\n    supported: false")
        .replace("SingleNamespace\n    supported: true", "SingleNamespace\n    supported: false");
    case.write(CSV_FILE, format!("{csv}{webhooks}"));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let chart = case.path("out/lamp-operator/1.2.3");
    let crd = fs::read_to_string(chart.join(LAMPS)).expect("a template");
    for part in [
        "helm.sh/resource-policy: keep",
        "namespace: {{ .Release.Namespace | quote }}",
        "path: /\n",
        "- v1beta1",
        "cert-manager.io/inject-ca-from: \"{{ .Release.Namespace }}/lamp-operator-service-cert\"",
    ] {
        assert!(crd.contains(part), "{part} in\n{crd}");
    }

    // As argocd-operator 0.18.0: in the subchart, its text is in the release Secret once.
    let schema = "        type: object\n";
    let text = description_of(1_100_000);
    case.replace(CRD_FILE, schema, &format!("{schema}        description: {text}\n"));
    let seen = case.run(&["build", "--replace"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());

    // Only the chart itself has the certificate that Helm generates.
    case.write("bundles.toml", format!("{CONFIG}certificates = \"helm\"\n"));
    let seen = case.run(&["build", "--replace"]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    let fitting = "crds = \"subchart\" (lamp-operator";
    assert!(seen.stderr.contains("error[release-size]"), "{}", seen.text());
    assert!(!seen.stderr.contains(fitting), "{}", seen.text());
}

/// As windows-machine-config-operator.
#[test]
fn of_equal_objects_one_is_in_the_chart() {
    let case = Case::with_lamps();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lamps}\ndata: {a: b}\n";
    case.write("bundle/manifests/a.yaml", map);
    case.write("bundle/manifests/b.yaml", format!("# again\n{map}"));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(seen.stderr.contains("note[duplicate-object]"), "{}", seen.text());
    let count = objects(&case, &[])
        .iter()
        .filter(|o| o["kind"] == "ConfigMap" && o["metadata"]["name"] == "lamps")
        .count();
    assert_eq!(count, 1);
}

/// `inspect` names what a build drops.
#[test]
fn unknown_fields_are_named_by_inspect_too() {
    let case = Case::with_lamps();
    case.write(
        "bundle/manifests/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lamps}\ncolor: red\n",
    );
    for command in [&["build"][..], &["inspect", "bundle"], &["inspect", "bundle", "--objects"]] {
        let seen = case.run(command);
        assert!(seen.stderr.contains("note[ignored-field]"), "{}", seen.text());
    }
}

/// A Subscription's `config` may mount one volume at several paths; the operator's own mount of it
/// makes way.
#[test]
fn a_volume_of_the_configuration_is_mounted_as_often_as_it_says() {
    let case = Case::with_lamps();
    case.replace(
        CSV_FILE,
        "                ports:\n",
        "                volumeMounts: [{name: ca, mountPath: /own}, {name: kept, mountPath: /kept}]
                ports:\n",
    );
    case.write(
        "bundles.toml",
        format!(
            "{CONFIG}[bundle.config]
volumes = [{{ name = \"ca\", emptyDir = {{}} }}]
volumeMounts = [{{ name = \"ca\", mountPath = \"/a\" }}, {{ name = \"ca\", mountPath = \"/b\" }}]
"
        ),
    );
    assert_eq!(case.run(&["build"]).code, Some(0));
    let chart = case.path("out/lamp-operator/1.2.3/templates/deployment-lamp-operator.yaml");
    let text = fs::read_to_string(chart).expect("a template");
    let paths: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once("mountPath: ").map(|(_, path)| path))
        .collect();
    assert_eq!(paths, ["/a", "/kept", "/b"], "{text}");
}

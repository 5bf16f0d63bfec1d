//! Lints: each problem of a bundle is reported once, at its place, and nothing without a problem.

use crate::support::command::Case;
use crate::support::lamp::{CRD_FILE, CSV_FILE};

/// Returns the diagnostics of a build, without its result.
fn warnings_of(case: &Case) -> String {
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
fn a_sound_bundle_has_no_warnings() {
    assert_eq!(warnings_of(&Case::with_lamps()), "");
}

#[test]
fn account_missing() {
    let case = Case::with_lamps();
    case.replace(
        CSV_FILE,
        "              serviceAccountName: lamp-operator\n",
        "              serviceAccountName: lamplighter\n",
    );
    insta::assert_snapshot!(warnings_of(&case));
    // The one that every namespace has.
    let case = Case::with_lamps();
    case.replace(CSV_FILE, "              serviceAccountName: lamp-operator\n", "");
    assert_eq!(warnings_of(&case), "");
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
    insta::assert_snapshot!(warnings_of(&case));
    let text = case.read("bundles.toml");
    case.write("bundles.toml", format!("{text}auth-reader = true\n"));
    case.run(&["build", "--replace"]);
    assert_eq!(warnings_of(&case), "");
    let maps = "        - {apiGroups: [''], resources: [configmaps], verbs: [get]}\n";
    assert_eq!(warnings_of(&with_rules(&format!("{REVIEWS}{maps}"))), "");
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
    let said_of = |more: &str| warnings_of(&with_manifest(&format!("{delegator}{more}")));
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
    insta::assert_snapshot!(warnings_of(&with_rules(rule)));
}

#[test]
fn openshift_only() {
    let rules = "        - {apiGroups: [route.openshift.io, config.openshift.io], resources: ['*'], verbs: [get]}
        - {apiGroups: [security.openshift.io], resources: [securitycontextconstraints], verbs: [use]}
";
    insta::assert_snapshot!(warnings_of(&with_rules(rules)));
}

#[test]
fn incomplete_rule() {
    insta::assert_snapshot!(warnings_of(&with_rules(
        "        - {apiGroups: [''], resources: [pods]}\n"
    )));
    insta::assert_snapshot!(warnings_of(&with_rules(
        "        - {apiGroups: [''], verbs: [get]}\n"
    )));
    let first = |rule: &str| messages(&warnings_of(&with_rules(&format!("        - {rule}\n"))));
    insta::assert_snapshot!(
        [
            "{resources: [pods], verbs: [get]}",
            "{nonResourceURLs: [/metrics], verbs: [get]}",
            "{nonResourceURLs: [/metrics], apiGroups: [''], resources: [pods], verbs: [get]}",
        ]
        .map(first)
        .concat()
    );
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a}\n\
                rules: [{nonResourceURLs: [/metrics], verbs: [get]}]\n";
    insta::assert_snapshot!(messages(&warnings_of(&with_manifest(role))));
}

#[test]
fn run_as_user_missing() {
    let context = "              securityContext: {runAsNonRoot: true}\n";
    insta::assert_snapshot!(warnings_of(&with_pod(context)));
    let context = "              securityContext: {runAsNonRoot: true, runAsUser: 1000}\n";
    assert_eq!(warnings_of(&with_pod(context)), "");
}

#[test]
fn resources_missing() {
    let own = "                resources:\n                  requests: {cpu: 10m, memory: 64Mi}\n";
    let with = |resources: &str| {
        let case = Case::with_lamps();
        case.replace(CSV_FILE, own, resources);
        warnings_of(&case)
    };
    for (resources, is_missing) in [
        ("{}", true),
        ("{claims: [{name: a}]}", true),
        ("{requests: {}}", true),
        ("{limits: {cpu: 1}}", false),
        ("{limits: {ephemeral-storage: 1Gi}}", true),
        ("{requests: {memory: 1Gi}}", false),
        // Another container has them: the pod is not BestEffort.
        (
            "{}\n              - {name: b, image: a, resources: {requests: {cpu: 1}}}\n              - name: c",
            false,
        ),
    ] {
        let seen = with(&format!("                resources: {resources}\n"));
        assert_eq!(seen.contains("note[resources-missing]"), is_missing, "{resources}: {seen}");
    }
    insta::assert_snapshot!(with(""));
}

#[test]
fn levels_of_codes() {
    let case = with_pod("              securityContext: {runAsNonRoot: true}\n");
    let config = case.read("bundles.toml");
    let with = |tables: &str| case.write("bundles.toml", format!("{config}{tables}"));
    with("[lints]\nrun-as-user-missing = \"allow\"\n");
    assert_eq!(warnings_of(&case), "");

    // Denied: nothing is written.
    let before = case.tree("out");
    with("namespace = \"lamps\"\n[lints]\nrun-as-user-missing = \"deny\"\n");
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(seen.stderr.starts_with("error[run-as-user-missing]: "), "{}", seen.stderr);
    assert_eq!(case.tree("out"), before);

    // The bundle's own level wins; errors have no level.
    let own = "[bundle.lints]\nrun-as-user-missing = \"allow\"\n";
    with(&format!("{own}[lints]\nrun-as-user-missing = \"deny\"\n"));
    assert_eq!(warnings_of(&case), "");
    with("exclude = ['true']\n[lints]\nfiltered-out = \"allow\"\n");
    let seen = case.run(&["build"]);
    assert!(seen.stderr.contains("error[filtered-out]"), "{}", seen.stderr);

    with("[lints]\nrun-as-user-mising = \"allow\"\nopenshift-only = \"warn\"\nzzz = \"deny\"\n");
    insta::assert_snapshot!("levels_that_do_not_exist", case.run(&["build"]).text());
}

#[test]
fn names_that_are_no_namespaces() {
    let digest = "a".repeat(64);
    let init = |args: &str, env: &str| {
        with_pod(&format!(
            "              initContainers:\n              - name: a\n                \
             image: registry.example.com/a@sha256:{digest}\n                args: {args}\n                \
             env: {env}\n"
        ))
    };
    let ids = "[--leader-elect, --leader-election-id=lamp-operator, --lease-name, lamp-operator]";
    let names =
        "[{name: OPERATOR_NAME, value: lamp-operator}, {name: LOCK_ID, value: lamp-operator}]";
    assert_eq!(warnings_of(&init(ids, names)), "");
    let found = |args: &str, env: &str| warnings_of(&init(args, env));
    let warning = "warning[namespace-literal]: hard-coded namespace in Deployment/lamp-operator";
    assert!(found("[--leader-election-namespace, lamp-operator]", "[]").contains(warning));
    assert!(found("[]", "[{name: NAMESPACE_NAME, value: lamp-operator}]").contains(warning));
    assert!(found("[--target=lamp-operator]", "[]").contains("note[namespace-literal]"));
}

#[test]
fn unpinned_image() {
    let init = "              initContainers:
              - {name: a, image: registry.example.com/a}
              - {name: b, image: 'registry.example.com/b:latest'}
              - {name: c, image: 'registry.example.com:443/c:1.0'}
";
    insta::assert_snapshot!(warnings_of(&with_pod(init)));
}

#[test]
fn an_image_that_is_no_reference() {
    let init = "              initContainers:
              - {name: a, image: '${LAMP_IMAGE}'}
              - {name: b, image: registry.example.com/Lamps/b}
              - {name: c, image: 'registry.example.com/c d'}
              - {name: d, image: 'registry.example.com/d@sha256:0123'}
              - {name: e, image: 'e:1.0'}
";
    insta::assert_snapshot!(warnings_of(&with_pod(init)));
}

const UNKNOWN_FIELDS: &str = "              volumes:
              - {name: keys, secretName: lamp-keys}
";

/// Everything that was written below `out`.
fn written(case: &Case) -> String {
    let files = walkdir::WalkDir::new(case.path("out")).into_iter().map(|e| e.expect("an entry"));
    let files = files.filter(|entry| entry.file_type().is_file());
    // These describe the bundle and its faults.
    let files =
        files.filter(|entry| !["Chart.yaml", "README.md"].iter().any(|n| entry.file_name() == *n));
    files.filter_map(|entry| std::fs::read_to_string(entry.path()).ok()).collect()
}

#[test]
fn fields_that_kubernetes_does_not_have() {
    let case = with_pod(UNKNOWN_FIELDS);
    case.replace(
        CSV_FILE,
        "          template:\n",
        "          template:\n            containers: []\n",
    );
    case.replace(CRD_FILE, "  scope:", "  version: v1\n  scope:");
    case.replace(CRD_FILE, "        type: object\n", "        type: object\n        x-light: on\n");
    case.write(
        "bundle/manifests/service.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: lamp}\nspec:\n  selector: {app: lamp-operator}\n  ports: [{port: 80, target: 8080}]\n",
    );
    insta::assert_snapshot!(warnings_of(&case));
    let written = written(&case);
    for field in ["secretName", "version: v1\n", "x-light", "target: 8080"] {
        assert!(!written.contains(field), "{field} in\n{written}");
    }
}

#[test]
fn a_field_in_the_wrong_place_can_be_moved() {
    let case = with_pod(UNKNOWN_FIELDS);
    let config = case.read("bundles.toml");
    let patch = "\n[[bundle.patch]]\nmatch = '.kind == \"Deployment\"'\n\
                 patch = '.spec.template.spec.volumes[] |= {name: .name, secret: {secretName: .secretName}}'\n";
    case.write("bundles.toml", format!("{config}{patch}"));
    assert_eq!(warnings_of(&case), "");
    assert!(written(&case).contains("secretName: lamp-keys"));
}

const OWNED_APIS: &str = "  apiservicedefinitions:
    owned:
    - {group: dim.example.com, version: v1, kind: Dimmer, name: dimmers, deploymentName: lamp-operator, containerPort: 8443}
    - {group: dim.example.com, version: v1, kind: Shade, name: shades, deploymentName: lamp-operator, containerPort: 8443}
";

#[test]
fn several_kinds_of_one_owned_api_version() {
    let case = Case::with_lamps();
    case.write(CSV_FILE, format!("{}{OWNED_APIS}", case.read(CSV_FILE)));
    let first = warnings_of(&case);
    assert!(!first.contains("dim.example.com"), "{first}");
    assert_eq!(written(&case).matches("kind: APIService\n").count(), 1);

    // The last one says who serves, as in OLM.
    case.replace(
        CSV_FILE,
        "name: dimmers, deploymentName: lamp-operator, containerPort: 8443",
        "name: dimmers, deploymentName: lamp-operator, containerPort: 9443",
    );
    case.run(&["build", "--replace"]);
    insta::assert_snapshot!(warnings_of(&case));
    let written = written(&case);
    assert!(written.contains("port: 8443") && !written.contains("9443"), "{written}");
}

fn with_manifest(text: &str) -> Case {
    let case = Case::with_lamps();
    case.write("bundle/manifests/more.yaml", text);
    case
}

#[test]
fn foreign_kind() {
    insta::assert_snapshot!(warnings_of(&with_manifest(
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
    let said = warnings_of(&case);
    assert!(!said.contains("foreign-kind") && !said.contains("warning"), "{said}");
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
    insta::assert_snapshot!(warnings_of(&case));
}

#[test]
fn selector_matches_nothing() {
    let service = |selector: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: a}}\n\
             spec:\n  ports: [{{port: 80}}]\n  selector: {selector}\n"
        )
    };
    insta::assert_snapshot!(warnings_of(&with_manifest(&service("{app: lantern}"))));
    assert_eq!(warnings_of(&with_manifest(&service("{app: lamp-operator}"))), "");
    assert_eq!(warnings_of(&with_manifest(&service("{}"))), "");
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
    insta::assert_snapshot!(warnings_of(&case));
    let seen = case.run(&["inspect", "bundle"]);
    assert!(!seen.stderr.contains("warning["), "{}", seen.text());
    assert!(seen.stdout.contains("Service/webhook-service should convert"), "{}", seen.text());
}

/// Returns the first line of each diagnostic.
fn messages(text: &str) -> String {
    let is_message =
        |line: &&str| ["warning[", "error[", "note["].iter().any(|w| line.starts_with(w));
    text.lines().filter(is_message).map(|line| format!("{line}\n")).collect()
}

/// Each of these was rejected by an API server.
#[test]
fn api_refuses_pods() {
    let case =
        with_pod("              volumes: [{name: v, emptyDir: {}}, {name: v, emptyDir: {}}]\n");
    case.replace(
        CSV_FILE,
        "                ports:\n                - containerPort: 8080\n",
        "                ports:
                - {containerPort: 8080, name: a-very-long-name}
                - {containerPort: 8081, name: '8081'}
                - {containerPort: 8081, name: metrics}
                - {containerPort: 8081, name: metrics, protocol: UDP}
                env: [{name: A, value: '1'}, {name: A, value: '2'}, {name: B, value: b, valueFrom: {}}]
                livenessProbe: {httpGet: {path: /, port: '8080'}}
                readinessProbe: {httpGet: {path: /, port: metrics}}
                volumeMounts: [{name: gone, mountPath: /a}, {name: v, mountPath: /a}]
              - {name: manager, image: ''}
              - {name: Upper, image: registry.example.com/a@sha256:0}
              - {name: \"a\\x01b\", image: registry.example.com/a@sha256:0}
",
    );
    case.replace(
        CSV_FILE,
        "              labels:\n                app: lamp-operator\n",
        "              labels: {app: lamp, team: 'a b', 'x/': z}\n",
    );
    insta::assert_snapshot!(messages(&warnings_of(&case)));
}

/// Each was tried with Helm 4.3 and Kubernetes 1.35: refused, or another text than before.
#[test]
fn control_characters_that_server_side_apply_loses() {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd}\ndata:\n";
    for (data, told) in [
        ("a: \"x\\x7fy\"", "U+007F at .data.a, which server-side apply rejects"),
        ("a: \"x\\x80y\"", "U+0080 at .data.a, which server-side apply rejects"),
        ("a: \"x\\x9fy\"", "U+009F at .data.a, which server-side apply rejects"),
        ("a: \"x\\uffffy\"", "U+FFFF at .data.a, which server-side apply rejects"),
        ("a: \"x\\x85y\"", "U+0085 at .data.a, which server-side apply turns into a space"),
    ] {
        let said = warnings_of(&with_manifest(&format!("{map}  {data}\n")));
        let expected = format!("warning[control-character]: ConfigMap/odd has {told}");
        assert!(said.contains(&expected), "{data}: {said}");
    }
    for data in ["\\0", "\\x01", "\\x1b", "\\ufeff", "\\u202e", "\\u2028", "\\U000e0001", "\\xa0"] {
        let case = with_manifest(&format!("{map}  a: \"x{data}y\"\n"));
        assert_eq!(warnings_of(&case), "", "{data}");
    }
}

#[test]
fn api_refuses_services() {
    let case = with_manifest(
        "apiVersion: v1\nkind: Service\nmetadata: {name: a, labels: {version: '1.0 (beta)'}}
spec:\n  selector: {app: lamp-operator}\n  ports:
  - {port: 80, targetPort: \"8080\", name: a}\n  - {port: 80, targetPort: nobody}\n  - {port: 81, name: a}
---\napiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {selector: {app: lamp-operator}}
---\napiVersion: v1\nkind: Service\nmetadata: {name: headless}\nspec: {clusterIP: None}
---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, annotations: {'a b': '1', UPPER.example.com/a: '1'}}\ndata: {'a b': '1', a.b_C: '2'}
---\napiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: old}\nspec: {minAvailable: 1}
",
    );
    insta::assert_snapshot!(warnings_of(&case));
}

#[test]
fn api_refuses_crds() {
    let case = Case::with_lamps();
    case.replace(
        CRD_FILE,
        "  group: light.example.com\n",
        "  group: light.k8s.io\n  preserveUnknownFields: true\n",
    );
    case.replace(CRD_FILE, "    storage: true\n", "    storage: false\n");
    let text = case.read(CRD_FILE);
    case.write(CRD_FILE, format!("{text}  - {{name: v1, served: true, storage: false}}\n"));
    insta::assert_snapshot!(messages(&warnings_of(&case)));
}

#[test]
fn csv_mismatches_that_catalogs_reject() {
    let case = Case::with_lamps();
    let name = "  name: lamp-operator.v1.2.3\n";
    let wrong = "  name: lamp_operator\n  annotations: {olm.skiprange: '<1.0.0', olm.skipRange: '<1.0.0'}\n";
    case.replace(CSV_FILE, name, wrong);
    case.replace(
        CSV_FILE,
        "      kind: Lamp\n      version: v1\n",
        "      kind: Lamp\n      version: v2\n",
    );
    let text = case.read(CSV_FILE);
    let images =
        "  relatedImages:\n  - {name: a, image: '${IMAGE}'}\n  - {name: b, image: 'busybox:1'}\n";
    case.write(CSV_FILE, format!("{text}{images}"));
    insta::assert_snapshot!(messages(&warnings_of(&case)));
    let case = Case::with_lamps();
    case.replace(CSV_FILE, "      deployments:\n", "      deployment:\n");
    insta::assert_snapshot!(messages(&warnings_of(&case)));
}

#[test]
fn a_named_target_port_that_no_container_has() {
    let service = |target: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: a}}\n\
             spec: {{selector: {{app: lamp-operator}}, ports: [{{port: 80, targetPort: {target}}}]}}\n"
        )
    };
    assert_eq!(warnings_of(&with_manifest(&service("8080"))), "");
    insta::assert_snapshot!(warnings_of(&with_manifest(&service("metrics"))));
}

/// One real bundle does: an example of its own kind, without what its CRD requires.
#[test]
fn a_shipped_custom_resource_that_its_crd_rejects() {
    let case = with_manifest(
        "apiVersion: light.example.com/v1\nkind: ServiceMonitor\nmetadata: {name: a}\nspec: {bulbs: few, unknown: 1}\n",
    );
    // Of kinds that a bundle may ship; OLM goes by the kind alone.
    let crd = case.read(CRD_FILE).replace("Lamp", "ServiceMonitor");
    let schema = "        type: object\n        properties:\n          spec:\n            type: object\n            \
                  required: [size]\n            properties: {bulbs: {type: integer}, size: {type: integer}}\n";
    case.write(CRD_FILE, crd.replace("        type: object\n", schema));
    case.replace(CSV_FILE, "      kind: Lamp\n", "      kind: ServiceMonitor\n");
    insta::assert_snapshot!(warnings_of(&case));
}

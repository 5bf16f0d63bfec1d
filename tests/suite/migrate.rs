//! `migrate`: from what is installed today to bundles.toml.

use crate::support::command::{Case, Seen};
use crate::support::helm::Helm;
use crate::support::lamp::{CRD, files};
use crate::support::shared::shared;
use bundle2chart::ir::RELEASE_LABELS;
use serde_json::{Value as Json, json};
use std::path::Path;

fn subscription(config: &Json) -> Json {
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "Subscription",
        "metadata": {"name": "lamps", "namespace": "light"},
        "spec": {
            "name": "lamp-operator", "channel": "stable", "source": "lamps",
            "sourceNamespace": "catalogs", "startingCSV": "lamp-operator.v1.2.0", "config": config,
        },
        "status": {"installedCSV": "lamp-operator.v1.2.3"},
    })
}

fn others() -> [Json; 3] {
    [
        json!({
            "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": {"name": "group", "namespace": "light"},
            "spec": {"targetNamespaces": ["light", "dark"]},
        }),
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
            "metadata": {"name": "lamps", "namespace": "catalogs"},
            "spec": {"image": "registry.example.com/catalogs/lamps:v1"},
        }),
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {"name": "lamp-operator.v1.2.3", "namespace": "light"},
            "spec": {"version": "1.2.3"},
        }),
    ]
}

fn list(items: &[Json]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

const TABLE: &str = "\
[[bundle]]
name = \"lamp-operator\"
catalog = \"registry.example.com/catalogs/lamps:v1\"
package = \"lamp-operator\"
channel = \"stable\"
version = \"1.2.3\"
namespace = \"light\"
watch = [\"light\", \"dark\"]

[bundle.config]
env = [{ name = \"LEVEL\", value = \"debug\" }]
nodeSelector = { \"kubernetes.io/os\" = \"linux\" }
";

#[test]
fn a_subscription_becomes_a_table() {
    let case = Case::new();
    case.write("bundles.toml", "# ours\n");
    let config = json!({
        "env": [{"name": "LEVEL", "value": "debug"}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "selector": {"matchLabels": {"a": "b"}},
    });
    let items = [&[subscription(&config)], &others()[..]].concat();
    case.write("cluster.yaml", list(&items));

    let seen = case.run(&["migrate", "cluster.yaml", "--dry-run"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), TABLE), "{}", seen.text());
    assert!(seen.stderr.contains("Subscription/lamps: `spec.config.selector`"), "{}", seen.stderr);
    assert_eq!(case.read("bundles.toml"), "# ours\n");

    let piped = case.shell("exec \"$0\" \"$@\" < cluster.yaml", &["migrate", "-"], &[]);
    assert_eq!(piped.code, Some(0), "{}", piped.text());
    assert_eq!(case.read("bundles.toml"), format!("# ours\n\n{TABLE}"));
}

#[test]
fn what_the_cluster_does_not_say_is_reported() {
    let case = Case::new();
    case.write("bundles.toml", "");
    case.write("alone.yaml", list(&[subscription(&json!({}))]));
    let seen = case.run(&["migrate", "alone.yaml"]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(seen.stderr.contains("the image of CatalogSource/lamps is unknown"), "{}", seen.stderr);
    assert!(seen.stderr.contains("--catalog lamps=REFERENCE"), "{}", seen.stderr);
    assert_eq!(case.read("bundles.toml"), "");

    let catalog = "lamps=registry.example.com/catalogs/lamps:v1";
    let seen = case.run(&["migrate", "alone.yaml", "--catalog", catalog]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(seen.stderr.contains("no OperatorGroup"), "{}", seen.stderr);
    // The version is that of the name of the installed CSV.
    assert!(seen.stdout.contains("version = \"1.2.3\"\n") && !seen.stdout.contains("watch"));

    for (text, message) in
        [("a: [", "not valid YAML"), ("kind: List\nitems: []\n", "no Subscription")]
    {
        case.write("other.yaml", text);
        let seen = case.run(&["migrate", "other.yaml"]);
        assert_eq!(seen.code, Some(2), "{}", seen.text());
        assert!(seen.stderr.contains(message), "{}", seen.stderr);
    }
    assert_eq!(case.run(&["migrate", "nowhere.yaml"]).code, Some(2));
}

/// Runs the program with Helm in PATH.
fn with_helm(case: &Case, arguments: &[&str]) -> Seen {
    let helm = Helm::newest();
    let folder = helm.path.parent().expect("a folder").to_str().expect("UTF-8").to_owned();
    case.shell(&format!("PATH={folder}:$PATH; exec \"$0\" \"$@\""), arguments, &[])
}

/// A hand-made chart of the lamp operator.
fn hand_made(case: &Case) {
    for (path, content) in files() {
        case.write(&format!("bundle/{path}"), content);
    }
    case.write("chart/Chart.yaml", "apiVersion: v2\nname: lamps\nversion: 0.1.0\n");
    case.write("chart/values.yaml", "namespace: light\nconfig: {}\n");
    // As `kubectl get` prints it.
    let time = "metadata:\n  creationTimestamp: \"2025-01-01T00:00:00Z\"";
    let crd = CRD.replacen("metadata:", time, 1);
    case.write("chart/crds/lamps.yaml", format!("{crd}\nstatus:\n  storedVersions: [v1]\n"));
    case.write("chart/hooks/presync.yaml", "kind: Job\n");
    case.write(
        "chart/hooks/accounts.yaml",
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: lampd, namespace: light}\n\
         imagePullSecrets: [{name: lamp-pull}]\n",
    );
    case.write(
        "chart/templates/deployment.yaml",
        "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: lamp-operator
  namespace: {{ .Values.namespace }}
spec:
  replicas: 2
  selector:
    matchLabels:
      app: lamp-operator
  template:
    metadata:
      namespace: {{ .Values.namespace }}
      labels:
        app: lamp-operator
    spec:
      serviceAccountName: lamp-operator
      containers:
      - name: manager
        image: registry.example.com/lamps/operator@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
        env:
        - name: LEVEL
          value: debug
",
    );
    case.write(
        "chart/templates/others.yaml",
        "\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: lamp-operator
  namespace: {{ .Values.namespace }}
imagePullSecrets:
- name: lamp-pull
---
apiVersion: v1
kind: Namespace
metadata:
  name: lit
  annotations:
    helm.sh/resource-policy: keep
---
apiVersion: v1
kind: Namespace
metadata:
  name: 1st
  labels:
    pod-security.kubernetes.io/enforce: restricted
{{- range $name, $namespace := dict \"lamp\" .Values.namespace \"wick\" \"lit\" \"oil\" \"lit\" \"match\" \"dark\" \"flint\" \"1st\" \"spark\" \"kube-system\" }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  namespace: {{ $namespace }}
imagePullSecrets:
- name: lamp-pull
{{- end }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: lamp-own
  namespace: {{ .Values.namespace }}
automountServiceAccountToken: false
imagePullSecrets:
- name: lamp-pull
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: lamp-colors
  namespace: {{ .Values.namespace }}
data:
  colors: \"{{ .Values.namespace }}: '''red'''\"
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: lamps-read-settings
  namespace: kube-system
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: extension-apiserver-authentication-reader
subjects:
- kind: ServiceAccount
  name: lamp-operator
  namespace: {{ .Values.namespace }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: others-read-settings
  namespace: kube-system
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: extension-apiserver-authentication-reader
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: User
  name: lamp-operator
---
apiVersion: v1
kind: Secret
metadata:
  name: lamp-key
  namespace: {{ .Values.namespace }}
stringData:
  key: swordfish
",
    );
}

#[test]
fn a_hand_made_chart_becomes_overlays_and_patches() {
    let case = Case::new();
    hand_made(&case);
    case.write("bundles.toml", "");
    let seen = with_helm(&case, &["migrate", "chart", "bundle"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    for part in [
        "name = \"lamps\"\n",
        "path = \"bundle\"\n",
        "namespace = \"light\"\n",
        "watch = \"all\"\n",
        "pull-secret = \"lamp-pull\"\n",
        "crds = \"crds\"\n",
        "auth-reader = true\n",
        "[bundle.namespaces]\nlit = \"lit\"\n",
        "[bundle.service-accounts]\nlit = [\"oil\", \"wick\"]\nrelease = [\"lamp\", \"lampd\"]\n",
        // What the tables do not create as it is.
        "# Namespace/1st of",
        "# ServiceAccount/flint in 1st of",
        "# ServiceAccount/match in dark of",
        "# ServiceAccount/spark in kube-system of",
        "# ServiceAccount/lamp-own of",
        // A user of the same name is no account.
        "# RoleBinding/others-read-settings in kube-system of the hand-made chart\n[[bundle.overlay]]\n",
        "[[bundle.overlay]]\n",
        "match = '.kind == \"Deployment\" and .metadata.name == \"lamp-operator\"'\n",
        ".[\"spec\"][\"replicas\"] = 2",
    ] {
        assert!(seen.stdout.contains(part), "{part}\n{}", seen.text());
    }
    for left_out in ["Secret/lamp-key", "ClusterRole", "ports", "hooks/presync.yaml"] {
        assert!(seen.stderr.contains(left_out), "{left_out}\n{}", seen.stderr);
    }
    assert!(!seen.text().contains("CustomResourceDefinition"), "{}", seen.text());
    for gone in ["lamps-read-settings", "# Namespace/lit", "# ServiceAccount/wick"] {
        assert!(!seen.stdout.contains(gone), "{gone}\n{}", seen.text());
    }
    let all = format!("{}{}", seen.text(), case.read("bundles.toml"));
    assert!(!all.contains("swordfish"), "{all}");

    assert_eq!(case.run(&["build"]).code, Some(0), "{}", case.run(&["build"]).text());
    listed(&case, "chart", "out/lamps/1.2.3", "light", &seen.stderr);
    let values = case.read("out/lamps/1.2.3/values.yaml");
    assert!(values.contains("replicas: 2"), "{values}");
    let overlay = case.read("out/lamps/1.2.3/templates/configmap-lamp-colors.yaml");
    assert!(overlay.contains("'''red'''"), "{overlay}");

    for (arguments, hint) in [
        (&["migrate", "chart"] as &[&str], "`bundle2chart migrate 'chart' BUNDLE`"),
        (&["migrate", "bundle", "chart"], "`bundle2chart migrate 'chart' 'bundle'`"),
    ] {
        let seen = case.run(arguments);
        assert_eq!(seen.code, Some(2), "{}", seen.text());
        assert!(seen.stderr.contains(hint), "{}", seen.stderr);
    }
}

/// True if `text` has the name, and not only one that begins with it.
fn is_named(text: &str, name: &str) -> bool {
    let mut after = text.split(name).skip(1);
    after.any(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '-'))
}

/// Every object that differs between the charts is one that `migrate` named.
fn listed(case: &Case, old: &str, new: &str, namespace: &str, named: &str) -> usize {
    let arguments = ["diff", old, new, "--namespace", namespace, "--format", "json"];
    let seen = with_helm(case, &arguments);
    assert!(matches!(seen.code, Some(0 | 1)), "{}", seen.text());
    let report: Json = serde_json::from_str(&seen.stdout).expect("JSON");
    let objects = report["objects"].as_array().expect("objects");
    let mut count = 0;
    for object in objects {
        let (kind, name) = (object["id"]["kind"].as_str(), object["id"]["name"].as_str());
        let (kind, name) = (kind.expect("a kind"), name.expect("a name"));
        // Labels of the release, in place of those of the bundle's build, are on all objects.
        let changes = object["changes"].as_array().expect("changes");
        let is_label = |change: &Json| {
            RELEASE_LABELS
                .iter()
                .any(|key| change["path"] == format!(".metadata.labels[\"{key}\"]"))
        };
        // The pseudo-object of the chart itself: values and versions.
        let is_relabelled = !changes.is_empty() && changes.iter().all(is_label);
        if kind != "Chart" && !is_relabelled {
            count += 1;
            let label = format!("{kind}/{name}");
            assert!(
                is_named(named, &label),
                "{label} differs and was not named\n{object:#}\n{named}"
            );
        }
    }
    count
}

/// The two charts that a platform team made by hand, from their bundles.
#[test]
fn golden_charts_differ_only_in_what_was_named() {
    let Some(golden) = shared("golden") else { return };
    let corpus = shared("corpus").expect("bundles next to the charts");
    let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    for (name, version) in [("cert-manager-operator", "1.15.2"), ("lws-operator", "1.0.0")] {
        let case = Case::new();
        case.write("bundles.toml", "");
        let chart = path(&golden.join(name));
        let seen = with_helm(&case, &["migrate", &chart, &path(&corpus.join(name).join(version))]);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
        let built = case.run(&["build"]);
        assert_eq!(built.code, Some(0), "{}\n{}", built.text(), case.read("bundles.toml"));

        let table: toml::Table = case.read("bundles.toml").parse().expect("TOML");
        let namespace = table["bundle"][0]["namespace"].as_str().expect("a namespace").to_owned();
        if name == "lws-operator" {
            // From a file of a helmfile hook.
            let accounts = &table["bundle"][0]["service-accounts"]["release"];
            assert_eq!(accounts.to_string(), "[\"lws-controller-manager\"]");
            // The binding that `auth-reader` creates is called as before.
            assert!(!seen.stderr.contains("has another name"), "{}", seen.stderr);
        }
        let chart_of_bundle =
            std::fs::read_dir(case.path(&format!("out/{name}"))).expect("versions");
        let folder = chart_of_bundle.map(|entry| entry.expect("an entry").path()).next();
        let folder = path(&folder.expect("a version"));
        assert!(listed(&case, &chart, &folder, &namespace, &seen.stderr) > 0);
    }
}

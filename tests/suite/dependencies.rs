//! Dependencies between bundles: reported when missing, silent when present.

use crate::support::command::Case;
use crate::support::lamp::{ANNOTATIONS, CONFIG, CRD, CSV, CSV_FILE};

const DEPENDENCIES_FILE: &str = "bundle/metadata/dependencies.yaml";
const DEPENDENCIES: &str = "\
dependencies:
- type: olm.package
  value:
    packageName: socket-operator
    version: '>=1.0.0 <2.0.0'
- type: olm.gvk
  value: {group: wire.example.com, kind: Socket, version: v1}
";

/// A case with lamps that need sockets.
fn with_dependencies() -> Case {
    let case = Case::with_lamps();
    case.write(DEPENDENCIES_FILE, DEPENDENCIES);
    case
}

/// Adds a bundle with sockets, of a version.
fn add_sockets(case: &Case, version: &str) {
    let other = |text: &str| {
        text.replace("light.example.com", "wire.example.com")
            .replace("lamps", "sockets")
            .replace("lamp", "socket")
            .replace("Lamp", "Socket")
            .replace("1.2.3", version)
    };
    case.write("socket/manifests/csv.yaml", other(CSV));
    case.write("socket/manifests/crd.yaml", other(CRD));
    case.write("socket/metadata/annotations.yaml", other(ANNOTATIONS));
}

const BOTH: &str = "\
[[bundle]]
name = \"lamp-operator\"
path = \"bundle\"
depends-on = [\"socket-operator\"]

[[bundle]]
name = \"socket-operator\"
path = \"socket\"
";

fn built(case: &Case, arguments: &[&str]) {
    let seen = case.run(&[&["build"], arguments].concat());
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(!seen.stderr.contains('['), "nothing to say: {}", seen.text());
}

#[track_caller]
fn refused(case: &Case, name: &str) {
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(!case.path("out").exists());
    insta::assert_snapshot!(name, seen.text());
}

#[test]
fn what_is_there_is_not_talked_about() {
    let case = with_dependencies();
    add_sockets(&case, "1.4.0");
    case.write("bundles.toml", BOTH);
    built(&case, &[]);
    built(&case, &["--check"]);
}

#[test]
fn what_is_missing_stops_the_build() {
    let case = with_dependencies();
    refused(&case, "missing");
    add_sockets(&case, "2.0.0");
    case.write("bundles.toml", BOTH);
    refused(&case, "other_version");
}

#[test]
fn an_order_that_is_not_said_is_noted() {
    let case = with_dependencies();
    add_sockets(&case, "1.4.0");
    case.write("bundles.toml", BOTH.replace("depends-on = [\"socket-operator\"]\n", ""));
    let seen = case.run(&["build", "--out", "charts"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    insta::assert_snapshot!("order", seen.stderr_but_sizes());
}

/// Helm 4 removes labels of a namespace that it creates a second time.
#[test]
fn the_commands_after_a_build_have_the_order_of_the_releases() {
    let case = with_dependencies();
    add_sockets(&case, "1.4.0");
    let namespace = "[[bundle.overlay]]\n[bundle.overlay.inline]\napiVersion = \"v1\"\nkind = \
        \"Namespace\"\nmetadata.name = \"lamp-operator\"\n";
    case.write("bundles.toml", format!("{BOTH}{namespace}"));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let (_, commands) = seen.stderr.split_once("install the charts:\n").expect("commands");
    assert_eq!(
        commands.trim_end(),
        "  helm install socket-operator out/socket-operator/1.4.0 --namespace socket-operator \
         --create-namespace\n  \
         helm install lamp-operator out/lamp-operator/1.2.3 --namespace lamp-operator"
    );
}

#[test]
fn a_crd_in_two_bundles_is_a_warning_until_one_leaves_it_out() {
    let case = Case::with_lamps();
    add_sockets(&case, "1.4.0");
    case.write("socket/manifests/lamps.yaml", CRD);
    let both = BOTH.replace("depends-on = [\"socket-operator\"]\n", "");
    case.write("bundles.toml", &both);
    let seen = case.run(&["build", "--out", "charts"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    insta::assert_snapshot!("shared_crd", seen.stderr_but_sizes());

    let filter = "exclude = ['.metadata.name == \"lamps.light.example.com\"']\n";
    case.write("bundles.toml", both + filter);
    let seen = case.run(&["build", "--out", "charts", "--replace"]);
    assert!(!seen.stderr.contains("shared-object"), "{}", seen.text());
}

#[test]
fn a_single_bundle_and_what_the_cluster_has_are_built() {
    let case = with_dependencies();
    built(&case, &["lamp-operator"]);
    case.write(
        "bundles.toml",
        format!("[defaults]\nprovided = [\"socket-operator\"]\n\n{CONFIG}provided = [\"wire.example.com/v1/Socket\"]\n"),
    );
    built(&case, &[]);
    let wrong = "provided = [\"wire.example.com/Socket\", \"a/b/c/d\", \"\", \"a b\"]\n";
    case.write("bundles.toml", format!("{CONFIG}{wrong}"));
    std::fs::remove_dir_all(case.path("out")).expect("charts");
    refused(&case, "provided_is_wrong");
}

#[test]
fn apis_that_the_csv_requires_count() {
    let case = Case::with_lamps();
    let required = "  customresourcedefinitions:\n    required:\n    - name: sockets.wire.example.com\n      kind: Socket\n      version: v1\n";
    case.replace(CSV_FILE, "  customresourcedefinitions:\n", required);
    refused(&case, "required_by_csv");
    add_sockets(&case, "1.0.0");
    case.write("bundles.toml", BOTH);
    built(&case, &[]);
}

#[test]
fn files_that_cannot_be_read() {
    let case = Case::with_lamps();
    case.write(
        DEPENDENCIES_FILE,
        "dependencies:\n- type: olm.package\n  value: {packageName: a, version: '1.0'}\n\
         - type: olm.package\n  value: {version: 1.0.0}\n\
         - type: olm.gvk\n  value: {group: a, kind: [b], version: v1}\n\
         - value: {}\n\
         - type: olm.constraint\n  value: {all: {constraints: []}, cel: {rule: x}}\n\
         - text\n",
    );
    case.write("bundle/metadata/properties.yaml", "properties: {type: olm.gvk}\n");
    refused(&case, "wrong_entries");
    case.write(DEPENDENCIES_FILE, "dependencies: [\n");
    case.write(
        "bundle/metadata/properties.yaml",
        "properties:\n- type: olm.maxOpenShiftVersion\n  value: 4.20\n",
    );
    refused(&case, "no_yaml");
}

#[test]
fn the_last_version_of_openshift_is_in_the_chart() {
    let case = Case::with_lamps();
    case.replace(
        CSV_FILE,
        "  name: lamp-operator.v1.2.3\n",
        "  name: lamp-operator.v1.2.3\n  annotations:\n    olm.properties: '[{\"type\": \"olm.maxOpenShiftVersion\", \"value\": \"4.18\"}]'\n",
    );
    built(&case, &[]);
    let chart = case.read("out/lamp-operator/1.2.3/Chart.yaml");
    assert!(chart.contains("bundle2chart/max-openshift-version: \"4.18\""), "{chart}");
    let readme = case.read("out/lamp-operator/1.2.3/README.md");
    assert!(readme.contains("Supports OpenShift up to 4.18"), "{readme}");
    let seen = case.run(&["inspect", "bundle"]);
    assert!(seen.stdout.contains("up to 4.18"), "{}", seen.text());
}

/// Charts whose releases cannot both be installed: in one namespace, with one ClusterRole, or with one
/// namespace of operands. Namespaces that every cluster has are not created.
#[test]
fn objects_of_two_charts_are_a_warning() {
    let case = Case::new();
    let objects = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}\n---\n\
        {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: lamps}, \
        rules: []}\n";
    case.write("own/objects.yaml", objects);
    let chart = |name: &str, rest: &str| {
        format!(
            "[[chart]]\nname = \"{name}\"\nchart-version = \"1.0.0\"\nmanifests = [\"own\"]\n{rest}\n"
        )
    };
    let [first, others, same] = [
        chart("lamp", "namespaces = { public = \"kube-public\", rooms = \"rooms\" }"),
        chart(
            "socket",
            "exclude = ['.kind == \"ClusterRole\"']\nnamespaces = { rooms = \"rooms\" }",
        ),
        chart("plug", "namespace = \"socket\""),
    ];
    case.write("bundles.toml", first + &others + &same);
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    insta::assert_snapshot!("shared_objects", seen.stderr_but_sizes());
    let template = case.read("out/lamp/1.0.0/templates/namespace-namespaces.public.yaml");
    assert!(template.contains("(ne .Values.namespaces.public \"kube-public\")"), "{template}");
    let template = case.read("out/socket/1.0.0/templates/namespace-namespaces.rooms.yaml");
    assert!(!template.contains("\"rooms\""), "{template}");
}

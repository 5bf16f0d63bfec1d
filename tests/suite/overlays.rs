//! Additions of a configuration to a bundle: in charts, and in the report of a build.

use crate::support::command::Case;
use crate::support::lamp::{CONFIG, CRD_FILE, CSV, CSV_FILE};
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A chart of these files, but for those that every chart has.
fn templates(case: &Case, folder: &str, but: &[&str]) -> String {
    let mut text = String::new();
    for path in case.listing(folder).lines() {
        let shown = path.contains("templates/") || path.contains("crds/");
        if shown && !but.iter().any(|part| path.contains(part)) {
            let _ = write!(text, "--- {path}\n{}", case.read(&format!("{folder}/{path}")));
        }
    }
    text
}

const PLATFORM: &str = r#"
pull-secret = "registry"
stub-crds = ["servicemonitors.monitoring.coreos.com"]
exclude = ['.metadata.name == "not-wanted"']
[bundle.namespaces]
house = "house"
[bundle.service-accounts]
house = ["switch"]
release = ["pilot"]
[[bundle.adopt]]
service-account = "pilot"
release = "default-pilot"
namespace = "lamps"
[[bundle.patch]]
match = '.kind == "Deployment"'
patch = '.spec.template.spec.hostAliases = [{ip: "192.0.2.1", hostnames: ["lamps.\(.metadata.namespace).svc"]}] | .spec.replicas = 3'
[[bundle.overlay]]
path = "kept"
[[bundle.overlay]]
phase = "before"
inline = '{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {template: {spec: {restartPolicy: Never}}}}'
[[bundle.overlay]]
phase = "operand"
inline = '''
apiVersion: light.example.com/v1
kind: Lamp
metadata: {name: ceiling, namespace: house}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: guest}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: guest, namespace: elsewhere}
'''
"#;

const KEPT: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: not-wanted
data:
  why: filters do not apply to overlays
  empty: ''
  template: '{{ text }}'
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: switches
  namespace: house
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects:
- {kind: ServiceAccount, name: switch, namespace: house}
- {kind: ServiceAccount, name: lamp-operator, namespace: lamp-operator}
- {kind: ServiceAccount, name: someone, namespace: elsewhere}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: far
  namespace: kube-system
";

#[test]
fn they_are_objects_like_others() {
    let case = Case::with_lamps();
    case.write("bundles.toml", format!("{CONFIG}{PLATFORM}"));
    case.write("kept/a.yaml", KEPT);
    case.write("kept/notes.txt", "not read");
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let main = templates(&case, "out/lamp-operator/1.2.3", &["clusterrole", "lamps.light"]);
    let operands = templates(&case, "out/lamp-operator-operands/1.2.3", &[]);
    insta::assert_snapshot!(
        "objects",
        format!("{}\n{main}\n===\n{operands}", seen.stderr_but_sizes())
    );
    let again = case.run(&["build", "--check"]);
    assert_eq!(again.code, Some(0), "{}", again.text());
}

#[test]
fn what_is_not_used_or_not_known_is_a_warning() {
    let case = Case::with_lamps();
    let more = r#"
[[bundle.patch]]
match = '.kind == "deployment"'
patch = '.spec.replicas = 3'
[[bundle.overlay]]
inline = '{apiVersion: a.example.com/v1, kind: Other, metadata: {name: x}}'
[[bundle.overlay]]
phase = "operand"
inline = '{apiVersion: a.example.com/v1, kind: Other, metadata: {name: z}}'
"#;
    case.write("bundles.toml", format!("{CONFIG}{more}"));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    insta::assert_snapshot!("warnings", seen.stderr_but_sizes());
}

/// Every placement after every other one; and in which chart the CRD is.
#[test]
fn crds_that_move_are_named() {
    let case = Case::with_lamps();
    let placements = ["subchart", "crds", "templates", "separate"];
    let mut seen_all = String::new();
    for before in placements {
        for now in placements {
            case.write("bundles.toml", format!("{CONFIG}crds = \"{before}\"\n"));
            let first = case.run(&["build", "--replace", "--quiet", "--out", "old"]);
            assert_eq!(first.code, Some(0), "{}", first.text());
            let next = format!("{CONFIG}crds = \"{now}\"\nchart-version = \"1.3.0\"\n");
            case.write("bundles.toml", next);
            let seen = case.run(&["build", "--out", "old"]);
            assert_eq!(seen.code, Some(0), "{}", seen.text());
            assert_eq!(seen.stderr.contains("crds-moved"), before != now, "{}", seen.stderr);
            if before == "crds" || now == "crds" {
                let _ = write!(seen_all, "=== {before} to {now}\n{}", seen.stderr_but_sizes());
            }
            if before == now {
                let crds = case.listing("old");
                let crds = crds.lines().filter(|path| path.contains("lamps.light"));
                let _ = writeln!(seen_all, "{}", crds.collect::<Vec<_>>().join("\n"));
            }
            std::fs::remove_dir_all(case.path("old")).expect("a folder");
        }
    }
    insta::assert_snapshot!("moves", seen_all);
}

/// Words that compress to about a third, in a field that makes CRDs large.
pub(crate) fn description_of(bytes: usize) -> String {
    let mut state = 7_u64;
    let mut text = String::new();
    while text.len() < bytes {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let _ = write!(text, "{:x} ", state >> 20);
    }
    text
}

/// As in splunk-operator 3.1.0: large CRDs whose conversion webhook has a Service that the bundle does
/// not have.
#[test]
fn a_release_beyond_its_secret_says_what_each_remedy_leaves() {
    let case = Case::with_lamps();
    let text = description_of(1_800_000);
    let schema = "        type: object\n";
    case.replace(CRD_FILE, schema, &format!("{schema}        description: {text}\n"));
    let conversion = "  conversion:\n    strategy: Webhook\n    webhook:\n      \
                      conversionReviewVersions: [v1]\n      clientConfig:\n        service: {name: \
                      webhook-service, namespace: lamp-operator, path: /convert}\n";
    let scope = "  scope: Namespaced\n";
    case.replace(CRD_FILE, scope, &format!("{scope}{conversion}"));

    // The Service is nowhere in the chart, so the CRD needs no template.
    case.write("bundles.toml", format!("{CONFIG}crds = \"subchart\"\n"));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let crd = "out/lamp-operator/1.2.3/charts/crds/crds/lamps.light.example.com.yaml";
    assert!(case.read(crd).contains("namespace: lamp-operator"));
    assert!(seen.stderr.contains("in namespace `lamp-operator`"), "{}", seen.text());

    for (placement, hint) in [
        (
            "templates",
            "write strip-descriptions = true or crds = \"subchart\"\
             ",
        ),
        ("separate", "write strip-descriptions = true or crds = \"subchart\""),
    ] {
        case.write("bundles.toml", format!("{CONFIG}crds = \"{placement}\"\n"));
        let seen = case.run(&["build", "--replace"]);
        assert_eq!(seen.code, Some(2), "{}", seen.text());
        assert!(seen.stderr.contains("error[release-size]"), "{}", seen.text());
        assert!(seen.stderr.contains(hint), "{}", seen.text());
    }
}

#[test]
fn a_release_that_nearly_fills_its_secret_is_a_warning() {
    let case = Case::with_lamps();
    let text = description_of(900_000);
    let schema = "        type: object\n";
    case.replace(CRD_FILE, schema, &format!("{schema}        description: {text}\n"));
    let mut seen_all = String::new();
    for more in ["crds = \"crds\"\n", "crds = \"subchart\"\n", "strip-descriptions = true\n", ""] {
        case.write("bundles.toml", format!("{CONFIG}{more}"));
        let seen = case.run(&["build", "--replace"]);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
        let _ = write!(seen_all, "=== {more}{}", seen.stderr_but_sizes());
    }
    insta::assert_snapshot!("release_size", seen_all);
}

/// Text that compression shortens by half.
fn noise(length: usize) -> String {
    let mut state = 1_u64;
    let mut text = String::new();
    while text.len() < length {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("{:016x}", state ^ (state >> 31)));
    }
    text.truncate(length);
    text
}

#[test]
fn a_large_release_goes_without_examples() {
    const CHART: &str = "out/lamp-operator/1.2.3/Chart.yaml";
    let case = Case::with_lamps();
    let mut csv: Json = serde_yaml::from_str(CSV).expect("a CSV");
    let spec = json!({ "text": noise(20_000) });
    let example = json!([{"apiVersion": "light.example.com/v1", "kind": "Lamp", "spec": spec}]);
    csv["metadata"]["annotations"]["alm-examples"] = json!(example.to_string());
    csv["spec"]["icon"] = json!([{"base64data": noise(5_000), "mediatype": "image/png"}]);
    case.write(CSV_FILE, csv.to_string());
    let build = |filling: usize| {
        let map = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: much\ndata:\n  text: {}\n",
            noise(filling)
        );
        case.write("bundle/manifests/map.yaml", map);
        let seen = case.run(&["build", "--replace"]);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
        let chart: Json = serde_yaml::from_str(&case.read(CHART)).expect("YAML");
        let has_examples = chart["annotations"]["artifacthub.io/crdsExamples"].is_string();
        assert!(chart["icon"].is_null(), "a large icon");
        (seen.stderr, has_examples)
    };

    let mut states = Vec::new();
    for filling in [1_000].into_iter().chain((400_000..520_000).step_by(8_000)) {
        let (text, examples) = build(filling);
        states.push(examples);
        let note = "Chart.yaml of `lamp-operator` is without `artifacthub.io/crdsExamples`";
        let warning = "Kubernetes allows, without `artifacthub.io/crdsExamples`";
        if examples {
            assert!(!text.contains("release-size"), "{text}");
        } else if text.contains("warning[release-size]") {
            assert!(text.contains(warning), "{text}");
            break;
        } else {
            assert!(text.contains(note), "{text}");
        }
    }
    states.dedup();
    assert_eq!(states, [true, false]);
}

#[test]
fn what_filters_and_patches_match_is_counted() {
    let case = Case::with_lamps();
    let more = "exclude = ['.kind == \"Service\"']\n[[bundle.patch]]\n\
        match = '.kind | startswith(\"ClusterRole\")'\npatch = '.metadata.labels.a = \"b\"'\n";
    case.write("bundles.toml", format!("{CONFIG}{more}"));
    // jq's own way with what is missing, which here is none.
    let seen = case.run(&["build"]);
    assert!(seen.stderr.contains("`.metadata.labels += {"), "{}", seen.text());
    case.replace("bundles.toml", ".labels.a = \"b\"", ".labels += {a: \"b\"}");
    let lines = |arguments: &[&str]| -> Vec<String> {
        let seen = case.run(arguments);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
        let lines = seen.stderr.lines().filter(|line| line.starts_with("lamp-operator: "));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(
        lines(&["build", "-v"]),
        [
            "lamp-operator: the filter `.kind == \"Service\"` matches 0 objects",
            "lamp-operator: the patch for `.kind | startswith(\"ClusterRole\")` matches 2 objects",
        ]
    );
    assert!(lines(&["build"]).is_empty());
}

/// A link in a folder of overlays that leads out of the folder of bundles.toml would put any file of
/// the machine into a chart.
#[test]
fn links_of_overlays_stay_in_the_folder_of_the_configuration() {
    let link = |target: &Path, path: PathBuf| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    };
    let outside = Case::new();
    outside.write("secret.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: outside}\n");
    let overlay = |path: &str| {
        let case = Case::with_lamps();
        let overlay = format!("[[bundle.overlay]]\npath = \"{path}\"\n");
        case.write(
            "project/bundles.toml",
            format!("{}{overlay}", CONFIG.replace("bundle\"", "../bundle\"")),
        );
        let inside = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: inside}\n";
        case.write("project/kept/inside.yaml", inside);
        case.write("elsewhere/inside.yaml", inside);
        case
    };
    let build = ["-c", "project/bundles.toml", "--quiet", "build"];

    for (name, target) in
        [("kept/link.yaml", outside.path("secret.yaml")), ("kept/deeper", outside.path(""))]
    {
        let case = overlay("kept");
        link(&target, case.path("project").join(name));
        let seen = case.run(&build);
        assert_eq!(seen.code, Some(2), "{}", seen.text());
        let wanted = format!("error[overlay-unreadable]: `{name}` is a symbolic link that leaves");
        assert!(seen.stderr.contains(&wanted), "{}", seen.text());
        assert_eq!(case.listing("project/out"), "");
    }
    // The path itself may be a link, too, or go through one.
    for path in ["linked", "linked/secret.yaml"] {
        let case = overlay(path);
        link(&outside.path(""), case.path("project/linked"));
        assert_eq!(case.run(&build).code, Some(2), "{path}");
    }
    // Links inside are followed, and the configuration may name a folder elsewhere.
    let case = overlay("kept");
    case.write("project/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n");
    link(Path::new("../more.yaml"), case.path("project/kept/link.yaml"));
    let seen = case.run(&build);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let case = overlay("../elsewhere");
    assert_eq!(case.run(&build).code, Some(0));
}

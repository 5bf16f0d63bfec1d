//! `[[chart]]`: charts from the user's own manifests; and `include`: tables in other files.

use crate::support::command::Case;
use crate::support::helm::Helm;
use crate::support::llm_platform::digest;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const DATABASE: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: postgres}
spec:
  serviceName: postgres
  selector: {matchLabels: {app: postgres}}
  template:
    metadata: {labels: {app: postgres}}
    spec:
      serviceAccountName: postgres
      containers:
      - name: postgres
        image: registry.example.com/postgres:16
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: postgres, namespace: database}
---
apiVersion: v1
kind: Service
metadata: {name: postgres, namespace: database, creationTimestamp: null}
spec: {selector: {app: postgres}, ports: [{port: 5432}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: kube-system}
data: {text: '{{ not a template }}'}
---
apiVersion: gadgets.example.com/v1
kind: Gadget
metadata: {name: first}
spec: {size: 3}
";

const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.gadgets.example.com}
spec:
  group: gadgets.example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer}}}}
";

const CONFIG: &str = r#"
[deploy]
helmfile = true
[[chart]]
name = "database"
chart-version = "1.0.0"
manifests = ["database"]
pull-secret = "registry"
depends-on = ["gadget-crds"]
exclude = ['.metadata.name == "unwanted"']
[[chart.patch]]
match = '.kind == "StatefulSet"'
patch = '.spec.replicas = 2'
[[chart]]
name = "gadget-crds"
chart-version = "2.1.0"
[[chart.vendored]]
path = "vendor/gadgets.yaml"
digest = "DIGEST"
url = "https://example.com/gadgets/v2.1.0/install.yaml"
"#;

fn case() -> Case {
    let case = Case::new();
    case.write("bundles.toml", CONFIG.replace("DIGEST", &digest(CRD)));
    case.write("database/all.yaml", DATABASE);
    case.write(
        "database/more/unwanted.json",
        r#"{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "unwanted"}}"#,
    );
    case.write("database/notes.txt", "not a manifest");
    case.write("vendor/gadgets.yaml", CRD);
    case
}

/// The charts of a folder, with all their files.
fn files(case: &Case, folder: &str) -> String {
    let mut text = String::new();
    for path in case.listing(folder).lines() {
        if !path.ends_with(".bundle2chart") && !path.ends_with(".helmignore") {
            let _ = write!(text, "--- {path}\n{}", case.read(&format!("{folder}/{path}")));
        }
    }
    text
}

#[test]
fn manifests_and_vendored_files_become_charts() {
    let case = case();
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    insta::assert_snapshot!("said", seen.stderr_but_sizes());
    insta::assert_snapshot!("database", files(&case, "out/database/1.0.0"));
    insta::assert_snapshot!("gadget_crds", files(&case, "out/gadget-crds/2.1.0"));
    let helmfile = case.read("out/helmfile.yaml");
    assert!(helmfile.contains("- gadget-crds/gadget-crds\n"), "{helmfile}");
    let check = case.run(&["build", "--check"]);
    assert_eq!(check.code, Some(0), "{}", check.text());

    // A chart needs no entry in the lock file, and `lock` knows that.
    let locked = case.run(&["lock", "--upgrade"]);
    assert_eq!(locked.code, Some(0), "{}", locked.text());
    let images = case.run(&["images"]);
    assert_eq!(
        images.stdout,
        "database\n  registry.example.com/postgres:16  not pinned  container postgres\n\n\
         gadget-crds\n  none\n"
    );
}

#[test]
fn helm_renders_them() {
    let case = case();
    case.run(&["build"]);
    for helm in Helm::oldest_too_in_ci() {
        for chart in ["database/1.0.0", "gadget-crds/2.1.0"] {
            let path = case.path(&format!("out/{chart}"));
            helm.lint(&path, &[]).expect_success();
            let rendered = helm.template("one", &path, "home", &[]).expect_success();
            if chart.starts_with("database") {
                assert!(rendered.contains("{{ not a template }}"), "{rendered}");
                assert!(rendered.contains("replicas: 2"), "{rendered}");
                // Without a namespace, and with the chart's own: the release namespace.
                assert_eq!(rendered.matches("namespace: \"home\"").count(), 3, "{rendered}");
                assert!(rendered.contains("namespace: kube-system"), "{rendered}");
            } else {
                assert!(rendered.contains("gadgets.gadgets.example.com"), "{rendered}");
            }
        }
    }
}

/// A new version is compared with the one before, like that of a bundle.
#[test]
fn versions_are_compared() {
    let case = case();
    case.run(&["build"]);
    case.replace("database/all.yaml", "postgres:16", "postgres:17");
    let same = case.run(&["build"]);
    assert_eq!(same.code, Some(2), "{}", same.text());
    case.replace("bundles.toml", "chart-version = \"1.0.0\"", "chart-version = \"1.1.0\"");
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let diff = case.run(&["diff", "database@1.0.0", "database@1.1.0"]);
    assert!(diff.stdout.contains("registry.example.com/postgres:17"), "{}", diff.text());
}

#[test]
fn an_undeclared_order_is_noted() {
    let case = case();
    case.replace("bundles.toml", "depends-on = [\"gadget-crds\"]\n", "");
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    insta::assert_snapshot!("order", seen.stderr_but_sizes());
}

#[test]
fn a_vendored_file_has_the_expected_digest() {
    let case = case();
    case.write("vendor/gadgets.yaml", CRD.replace("integer", "string"));
    let changed = case.run(&["build"]);
    assert_eq!(changed.code, Some(2));
    assert!(changed.stderr.contains("error[vendored-digest]"), "{}", changed.stderr);
    case.remove("vendor/gadgets.yaml");
    let missing = case.run(&["build"]);
    assert_eq!(missing.code, Some(2));
    insta::assert_snapshot!("digests", changed.stderr + "\n" + &missing.stderr);
}

#[test]
fn mistakes_in_manifests_have_places() {
    let case = case();
    case.write("database/kustomization.yaml", "resources: [all.yaml]\n");
    let kustomization = case.run(&["build"]).stderr;
    case.remove("database/kustomization.yaml");
    case.write("database/all.yaml", DATABASE.replace("serviceName", "serviceNames"));
    case.write("database/bad.yaml", "kind: Service\n");
    let invalid = case.run(&["build"]).stderr;
    case.remove("database/bad.yaml");
    case.replace("bundles.toml", "[\"database\"]", "[\"database\", \"database/all.yaml\"]");
    let twice = case.run(&["build"]).stderr;
    case.replace("bundles.toml", "manifests = [\"database\", \"database/all.yaml\"]\n", "");
    case.replace("bundles.toml", "sha256:", "sha1:");
    let keys = case.run(&["build"]).stderr;
    insta::assert_snapshot!("mistakes", [kustomization, invalid, twice, keys].join("\n"));
}

/// The same check for `[[bundle]]` and `[[chart]]`: a dependency may be of the other kind.
#[test]
fn bundles_and_charts_depend_on_each_other() {
    let case = Case::with_lamps();
    let config = case.read("bundles.toml");
    case.write("bundles.toml", format!("{config}depends-on = [\"gadget-crds\"]\n[[chart]]\nname = \"gadget-crds\"\nchart-version = \"1.0.0\"\nmanifests = [\"gadgets.yaml\"]\n"));
    case.write("gadgets.yaml", CRD);
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let readme = case.read("out/lamp-operator/1.2.3/README.md");
    assert!(readme.contains("Install first: `gadget-crds`."), "{readme}");
}

const MODEL: &str = r#"
[[serving]]
name = "NAME"
model = "hf://example/model"
allow-tags = true
[serving.engine]
image = "registry.example.com/vllm:1"
[serving.route]
gateway = "inference-gateway"
"#;

/// Every file below out/, except the lists of all charts.
fn charts(case: &Case) -> BTreeSet<(String, Vec<u8>)> {
    let tree = case.tree("out").into_iter();
    let files = tree.map(|(path, (content, _))| (path.to_string_lossy().into_owned(), content));
    files
        .filter(|(path, _)| path.contains("/0.") || path.contains("/1.") || path.contains("/2."))
        .collect()
}

#[test]
fn one_more_file_is_one_more_chart() {
    let case = case();
    case.write(
        "bundles.toml",
        format!("include = [\"models/*.toml\"]\n{}", case.read("bundles.toml")),
    );
    case.write("models/a.toml", MODEL.replace("NAME", "model-a"));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let before = charts(&case);
    assert!(before.iter().any(|(path, _)| path.contains("model-a")), "{before:?}");

    case.write("models/b.toml", MODEL.replace("NAME", "model-b"));
    let stale = case.run(&["build", "--check"]);
    assert_eq!(stale.code, Some(1), "{}", stale.text());
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let after = charts(&case);
    assert!(before.is_subset(&after));
    assert!(after.difference(&before).all(|(path, _)| path.contains("model-b/")));
    assert!(after.len() > before.len());
    let helmfile = case.read("out/helmfile.yaml");
    assert!(helmfile.contains("name: model-a") && helmfile.contains("name: model-b"), "{helmfile}");
    assert_eq!(case.run(&["build", "--check"]).code, Some(0));
}

#[test]
fn mistakes_in_included_files_name_the_file() {
    let case = case();
    let main = case.read("bundles.toml");
    let config = |include: &str| case.write("bundles.toml", format!("include = {include}\n{main}"));
    let mut shown = String::new();
    let mut build = || {
        let seen = case.run(&["build"]);
        assert_eq!(seen.code, Some(2), "{}", seen.text());
        shown += &format!("{}\n", seen.stderr);
    };

    config("[\"models/*.toml\"]");
    case.write("models/a.toml", "[[chart]]\nname = \"database\"\nchart-version = \"1.0.0\"\nmanifests = [\"database\"]\ndepends-on = [\"missing\"]\n");
    case.write(
        "models/b.toml",
        "include = [\"c.toml\"]\n[defaults]\nwatch = \"all\"\n[[charts]]\nname = \"x\"\n",
    );
    build();
    case.write("models/b.toml", "name =\n");
    build();
    config("[\"*.toml\", \"/models/*.toml\", \"models/**\", \"models/missing.toml\"]");
    case.remove("models/b.toml");
    build();
    insta::assert_snapshot!("included", shown);

    config("[\"none/*.toml\"]");
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    insta::assert_snapshot!("unmatched", seen.stderr_but_sizes());
}

#[test]
fn directories_of_manifests_are_inspected_and_compared() {
    let case = case();
    let seen = case.run(&["inspect", "database"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    insta::assert_snapshot!("inspected", seen.stdout);
    case.remove("database/more/unwanted.json");
    case.write("later/all.yaml", DATABASE.replace("postgres:16", "postgres:17"));
    let diff = case.run(&["diff", "database", "later"]);
    assert!(diff.stdout.contains("registry.example.com/postgres:17"), "{}", diff.text());
    assert!(
        diff.stdout.contains("1 change in 1 object (1 changed), 4 unchanged"),
        "{}",
        diff.text()
    );
}

/// `[chart.lints]` sets levels for one chart, and that of another one stays.
#[test]
fn levels_of_codes_are_set_for_one_chart() {
    let case = Case::new();
    let pods = DATABASE.replace(
        "      containers:",
        "      securityContext: {runAsNonRoot: true}\n      containers:",
    );
    let pods = pods.split("---").next().expect("a document");
    case.write("one/pods.yaml", pods);
    case.write("two/pods.yaml", pods);
    let chart = |name: &str, lints: &str| {
        format!(
            "[[chart]]\nname = \"{name}\"\nchart-version = \"1.0.0\"\nmanifests = [\"{name}\"]\n{lints}\n"
        )
    };
    let build = |lints: &str| {
        case.write("bundles.toml", chart("one", lints) + &chart("two", ""));
        case.run(&["build", "--replace", "--message-format", "json"])
    };
    let count = |text: &str| text.matches("\"code\":\"run-as-user-missing\"").count();
    let seen = build("");
    assert_eq!((seen.code, count(&seen.stdout)), (Some(0), 2), "{}", seen.text());
    let seen = build("[chart.lints]\nrun-as-user-missing = \"allow\"");
    assert_eq!((seen.code, count(&seen.stdout)), (Some(0), 1), "{}", seen.text());
    assert!(seen.stdout.contains("\"bundle\":\"two\""), "{}", seen.stdout);
    let seen = build("[chart.lints]\nrun-as-user-missing = \"deny\"");
    assert_eq!((seen.code, count(&seen.stdout)), (Some(2), 2), "{}", seen.text());
    let seen = build("[chart.lints]\nrun-as-user-missng = \"allow\"");
    assert!(seen.stdout.contains("did you mean `run-as-user-missing`?"), "{}", seen.text());
}

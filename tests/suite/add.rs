//! `add`, `remove` and `init`: from an empty folder to a chart, and back to the same text.

use super::catalog::fixture;
use crate::support::command::Case;
use crate::support::lamp::{ANNOTATIONS, CRD, CSV, files};
use serde_json::{Value, json};

/// A folder with the bundle, but without a configuration.
fn empty() -> Case {
    let case = Case::new();
    for (path, content) in files() {
        case.write(&format!("bundle/{path}"), content);
    }
    case
}

#[test]
fn a_first_chart_takes_three_commands_and_gives_no_warning() {
    let case = empty();
    assert_eq!(case.run(&["init"]).code, Some(0));
    let before = case.read("bundles.toml");
    let seen = case.run(&["add", "bundle"]);
    insta::assert_snapshot!("add", seen.text());
    let after = case.read("bundles.toml");
    assert_eq!(after, format!("{before}\n{}", seen.stdout));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(!seen.stderr.contains("warning"), "{}", seen.stderr);
    assert!(case.path("out/lamp-operator/1.2.3/Chart.yaml").is_file());

    // Nothing twice, and nothing half.
    let seen = case.run(&["add", "bundle"]);
    insta::assert_snapshot!("add_again", seen.text());
    assert_eq!(case.run(&["add", "nowhere"]).code, Some(2));
    assert_eq!(case.read("bundles.toml"), after);

    let seen = case.run(&["remove", "lamp-operators"]);
    insta::assert_snapshot!("remove_unknown", seen.text());
    let seen = case.run(&["remove", "lamp-operator"]);
    insta::assert_snapshot!("remove", seen.text());
    assert_eq!(case.read("bundles.toml"), before);
    assert_eq!(case.run(&["add", "bundle", "-q"]).code, Some(0));
    assert_eq!(case.read("bundles.toml"), after);
}

#[test]
fn settings_of_the_command_line_win_and_a_dry_run_writes_nothing() {
    let case = empty();
    let seen = case.run(&["add", "bundle"]);
    insta::assert_snapshot!("add_without_configuration", seen.text());
    case.write("team/bundles.toml", "# ours\n[defaults]\nexclude = []");
    let arguments = [
        "add",
        "bundle",
        "-c",
        "team/bundles.toml",
        "--name",
        "lamps",
        "--namespace",
        "light",
        "--watch",
        "own",
    ];
    let seen = case.run(&[&arguments[..], &["--dry-run"]].concat());
    let table = "[[bundle]]\nname = \"lamps\"\npath = \"../bundle\"\nnamespace = \"light\"\n\
        watch = \"own\" # supported: \"all\", \"own\", [\"one\"]\n";
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), table), "{}", seen.text());
    assert_eq!(case.read("team/bundles.toml"), "# ours\n[defaults]\nexclude = []");
    assert_eq!(case.run(&arguments).code, Some(0));
    let expected = format!("# ours\n[defaults]\nexclude = []\n\n{table}");
    assert_eq!(case.read("team/bundles.toml"), expected);
    assert_eq!(case.run(&["build", "-q", "-c", "team/bundles.toml"]).code, Some(0));
    for bad in [["--name", "No Name"], ["--namespace", "No"], ["--watch", "No"]] {
        let seen = case.run(&[&["add", "bundle", "-c", "team/bundles.toml"], &bad[..]].concat());
        assert_eq!(seen.code, Some(2), "{bad:?}: {}", seen.text());
        assert_eq!(case.read("team/bundles.toml"), expected);
    }
}

/// The lamp operator with everything that has to be decided outside of OpenShift.
fn needy() -> Case {
    let case = empty();
    let mut csv: Value = serde_yaml::from_str(CSV).expect("a CSV");
    csv["metadata"]["annotations"] =
        json!({ "operatorframework.io/suggested-namespace": "lamp-system" });
    csv["spec"]["relatedImages"] =
        json!([{ "name": "lamp", "image": "registry.redhat.io/lamps/lamp:1" }]);
    csv["spec"]["webhookdefinitions"] = json!([{
        "type": "ValidatingAdmissionWebhook", "generateName": "lamps.light.example.com",
        "deploymentName": "lamp-operator", "containerPort": 443, "targetPort": 9443,
        "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
        "webhookPath": "/validate",
        "rules": [{ "apiGroups": ["light.example.com"], "apiVersions": ["v1"],
                    "operations": ["CREATE"], "resources": ["lamps"] }],
    }]);
    let rules = csv
        .pointer_mut("/spec/install/spec/clusterPermissions/0/rules")
        .and_then(Value::as_array_mut)
        .expect("rules");
    for (group, resource, verb) in [
        ("config.openshift.io", "infrastructures", "get"),
        ("authentication.k8s.io", "tokenreviews", "create"),
        ("authorization.k8s.io", "subjectaccessreviews", "create"),
    ] {
        rules.push(json!({ "apiGroups": [group], "resources": [resource], "verbs": [verb] }));
    }
    case.write("bundle/manifests/lamp.clusterserviceversion.yaml", csv.to_string());
    let sample = json!({ "apiVersion": "console.openshift.io/v1", "kind": "ConsoleQuickStart",
        "metadata": { "name": "lamps" }, "spec": { "displayName": "Lamps" } });
    case.write("bundle/manifests/quick-start.yaml", sample.to_string());
    let package = |name: &str| json!({ "type": "olm.package", "value": { "packageName": name, "version": ">=1.0.0" } });
    let api = json!({ "type": "olm.gvk",
        "value": { "group": "wires.example.com", "version": "v1", "kind": "Wire" } });
    let dependencies =
        json!({ "dependencies": [package("socket-operator"), package("fuse-operator"), api] });
    case.write("bundle/metadata/dependencies.yaml", dependencies.to_string());
    case
}

#[test]
fn what_a_bundle_needs_is_proposed_with_the_reason() {
    let case = needy();
    // Two of the bundles that it needs are there, one under another name.
    case.write("socket/manifests/csv.yaml", CSV.replace("lamp", "socket"));
    case.write(
        "socket/manifests/crd.yaml",
        CRD.replace("lamp", "socket").replace("Lamp", "Socket"),
    );
    case.write("socket/metadata/annotations.yaml", ANNOTATIONS.replace("lamp", "socket"));
    case.write(
        "bundles.toml",
        "[[bundle]]\nname = \"sockets\"\npackage = \"socket-operator\"\npath = \"socket\"\n\n\
         [[bundle]]\nname = \"openshift-cert-manager-operator\"\npath = \"elsewhere\"\n",
    );
    let seen = case.run(&["add", "bundle"]);
    insta::assert_snapshot!("add_needy", seen.text());

    // Without these bundles, and with everything else from the defaults.
    let defaults = "[defaults]\npull-secret = \"pull\"\nexclude = ['.kind | startswith(\"Console\")']\n\
        provided = [\"fuse-operator\", \"cert-manager.io/v1/Certificate\"]\n";
    case.write("bundles.toml", defaults);
    let seen = case.run(&["add", "bundle"]);
    insta::assert_snapshot!("add_needy_with_defaults", seen.text());
    assert_eq!(case.run(&["remove", "lamp-operator", "-q"]).code, Some(0));
    assert_eq!(case.read("bundles.toml"), defaults);
}

#[test]
fn a_package_of_a_catalog_is_added() {
    let case = fixture::case(&[]);
    case.write("catalog/index.json", fixture::as_json(&fixture::catalog()));
    let mirror = "[[mirror]]\nfrom = \"registry.example.com\"\nto = \"oci-layout:images\"\n";
    case.write("bundles.toml", mirror);
    let arguments = ["add", "./catalog", "lamp-operator", "--version", ">=1.2, <1.2.3"];
    let seen = case.run(&arguments);
    insta::assert_snapshot!("add_from_catalog", seen.text());
    assert_eq!(fixture::built(&case), "1.2.2");
    let seen = case.run(&["add", "./catalog", "lamp-operater", "--name", "other"]);
    assert!(seen.stderr.contains("did you mean `lamp-operator`?"), "{}", seen.text());
    assert_eq!(case.run(&["add", "./catalog", "--channel", "stable"]).code, Some(2));
}

#[test]
fn a_bundle_that_others_depend_on_is_not_removed() {
    let case = empty();
    case.write(
        "bundles.toml",
        "[[bundle]]\nname = \"lamp-operator\"\npath = \"bundle\"\n\n[[bundle]]\nname = \"other\"\n\
         path = \"other\"\ndepends-on = [\"lamp-operator\"]\n",
    );
    let before = case.read("bundles.toml");
    insta::assert_snapshot!("remove_dependency", case.run(&["remove", "lamp-operator"]).text());
    assert_eq!(case.read("bundles.toml"), before);
}

/// The same for a chart, when no other bundle is left.
#[test]
fn a_bundle_that_a_chart_depends_on_is_not_removed() {
    let case = empty();
    let before = "[[bundle]]\nname = \"lamp-operator\"\npath = \"bundle\"\n\n[[chart]]\nname = \"gateway\"\n\
                  chart-version = \"1.0.0\"\nmanifests = [\"gateway\"]\nnamespace = \"gateway\"\n\
                  depends-on = [\"lamp-operator\"]\n";
    case.write("bundles.toml", before);
    let seen = case.run(&["remove", "lamp-operator"]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(seen.stderr.contains("unknown name `lamp-operator`"), "{}", seen.text());
    assert_eq!(case.read("bundles.toml"), before);
}

/// Texts of a bundle are in comments of the new table, and must not end them.
#[test]
fn texts_of_a_bundle_add_no_other_lines() {
    let case = empty();
    case.write("bundles.toml", "# ours\n");
    let package = "socket\n[[bundle]]\nname = \"evil\"\npath = \"/\"\n#\u{202e}";
    let dependency =
        json!({ "type": "olm.package", "value": { "packageName": package, "version": ">=1.0.0" } });
    let dependencies = json!({ "dependencies": [dependency] });
    case.write("bundle/metadata/dependencies.yaml", dependencies.to_string());
    let seen = case.run(&["add", "bundle"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let text = case.read("bundles.toml");
    assert!(text.contains("evil"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("[[bundle]]")).count(), 1, "{text}");
    assert!(!text.contains('\u{202e}'), "{text}");
}

/// The text that is edited is read as that of a build.
#[test]
fn a_configuration_that_cannot_be_read_is_refused_as_by_a_build() {
    let case = Case::with_lamps();
    case.write("bundles.toml", b"[output]\n# \xff\n");
    for arguments in [&["build"][..], &["add", "bundle"], &["remove", "lamp"]] {
        let seen = case.run(arguments);
        assert_eq!(seen.code, Some(2), "{}", seen.text());
        let why = "cannot read the configuration: line 2 is not UTF-8 text";
        assert!(seen.stderr.contains(why), "{}", seen.text());
    }
}

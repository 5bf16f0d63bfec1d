//! Steps about CRDs in a plan, by their placement in the chart. tests/api_server/crds.rs runs the commands.

use crate::support::command::Case;
use crate::support::lamp::{CONFIG, CRD, CRD_FILE, CSV_FILE};

/// A new version of the lamp operator, which changes one CRD and brings another.
fn with_a_new_crd(before: &str, now: &str) -> Case {
    let case = Case::with_lamps();
    case.write("bundles.toml", format!("{CONFIG}{before}"));
    assert_eq!(case.run(&["build"]).code, Some(0));
    case.write("bundles.toml", format!("{CONFIG}{now}"));
    case.replace(CSV_FILE, "version: 1.2.3", "version: 1.3.0");
    case.replace(CRD_FILE, "    plural: lamps\n", "    plural: lamps\n    shortNames: [lmp]\n");
    let other = CRD.replace("lamps", "shades").replace("Lamp", "Shade");
    case.write("bundle/manifests/shades.yaml", other);
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    case
}

/// The commands of an upgrade, in order.
fn commands(case: &Case) -> Vec<String> {
    let upgrade = case.read("out/lamp-operator/1.3.0/UPGRADE.md");
    let words = ["kubectl ", "helm "];
    let lines = upgrade.lines().map(str::trim);
    lines.filter(|line| words.iter().any(|w| line.starts_with(w))).map(str::to_owned).collect()
}

#[test]
fn crds_of_a_folder_are_created_and_replaced() {
    let case = with_a_new_crd("crds = \"crds\"\n", "crds = \"crds\"\n");
    let upgrade = commands(&case);
    assert_eq!(
        upgrade,
        [
            "kubectl create -f CHART/crds/shades.light.example.com.yaml",
            "kubectl replace -f CHART/crds/",
            // The labels of the other objects follow the version.
            "helm upgrade RELEASE CHART --namespace NAMESPACE --values VALUES",
        ]
    );
}

/// Of templates, `helm upgrade` does all; their version is no change, and nothing is hidden.
#[test]
fn crds_of_the_release_need_no_command() {
    let case = with_a_new_crd("", "");
    assert_eq!(
        commands(&case),
        ["helm upgrade RELEASE CHART --namespace NAMESPACE --values VALUES"]
    );
    let upgrade = case.read("out/lamp-operator/1.3.0/UPGRADE.md");
    assert!(upgrade.contains("1 created, 1 changed, 0 deleted"), "{upgrade}");
    assert!(!upgrade.contains("bundle2chart/version"), "{upgrade}");
}

#[test]
fn crds_that_become_templates_are_taken_over() {
    let case = with_a_new_crd("crds = \"subchart\"\n", "");
    let [replace, patch] = bundle2chart::kubectl::adopt_crds("crds CHART/charts/crds");
    assert_eq!(
        commands(&case),
        [
            &*replace,
            &*patch,
            "helm upgrade RELEASE CHART --namespace NAMESPACE --values VALUES --take-ownership",
        ]
    );
}

//! CRDs that lose a version in which objects are stored: the plan's commands, as printed, leave every
//! object where it was, and without them the API server refuses the CRD.

use super::{CRD, Charts, NAMESPACE, Site, with_every_helm};
use crate::command::Case;
use crate::custom_objects::CustomObjects;
use crate::lifecycle::{Release, plan_commands, report};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::Path;

/// The charts' versions, and the versions of their CRD; the first one is stored.
const VERSIONS: [(&str, &[&str]); 3] =
    [("1.2.3", &["v1alpha1", "v1"]), ("1.3.0", &["v1", "v1alpha1"]), ("1.4.0", &["v1"])];

/// Upgrades, from the first version to the last.
const ROUTES: [&[usize]; 2] = [&[0, 2], &[0, 1, 2]];

/// Placements of CRDs, and the chart with the CRD.
const PLACEMENTS: [(&str, &str); 4] = [
    ("templates", "lamp-operator"),
    ("separate", "lamp-operator-crds"),
    ("subchart", "lamp-operator"),
    ("crds", "lamp-operator"),
];

/// The CRD with these versions.
fn crd(versions: &[&str]) -> String {
    let version = |(index, name): (usize, &&str)| {
        let stored = index == 0;
        format!(
            "  - name: {name}\n    served: true\n    storage: {stored}\n    schema:\n      \
             openAPIV3Schema:\n        type: object\n        properties:\n          \
             spec: {{type: object, properties: {{color: {{type: string}}}}}}\n"
        )
    };
    let (head, _) = crate::lamp::CRD.split_once("  - name: v1\n").expect("a version");
    versions.iter().enumerate().map(version).fold(head.to_owned(), |text, next| text + &next)
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn plans_store_objects_in_a_version_that_stays() {
    for (placement, owner) in PLACEMENTS {
        let charts = Charts(Case::with_lamps());
        for (version, versions) in VERSIONS {
            let settings = format!("crds = \"{placement}\"\n");
            charts.build_with(&settings, version, &crd(versions));
        }
        with_every_helm(|site| {
            for route in ROUTES {
                upgrade_along(site, &charts, owner, route);
            }
        });
    }
}

fn upgrade_along(site: &Site<'_>, charts: &Charts, owner: &str, route: &[usize]) {
    let folders: Vec<String> =
        route.iter().map(|index| charts.folder(owner, VERSIONS[*index].0)).collect();
    let release =
        Release { cluster: site.cluster, helm: site.helm, name: owner, namespace: NAMESPACE };
    site.helm(&format!("install {owner} {}", folders[0])).expect_success();
    let wait = ["wait", "--for=condition=Established", "--timeout=300s", "crd", CRD];
    site.cluster.kubectl(&wait).expect_success();

    let client = site.cluster.administrator();
    let crd = site.crd(CRD);
    let crds = BTreeMap::from([(bundle2chart::diff::Identity::of(&crd), crd)]);
    let spec = json!({"color": "red"});
    let lamp = json!({"apiVersion": "light.example.com/v1alpha1", "kind": "Lamp",
        "metadata": {"name": "example"}, "spec": spec});
    let objects = CustomObjects::create(&client, NAMESPACE, &crds, &[lamp]);
    assert_eq!(objects.missing, Vec::<String>::new());
    let lamp = || site.cluster.get(&["lamps.v1.light.example.com", "example", "-n", NAMESPACE]);
    let before = lamp();

    for pair in folders.windows(2) {
        let report = report(Path::new(&pair[0]), Path::new(&pair[1]), NAMESPACE);
        let commands = format!("set -e\n{}", plan_commands(&report, &release));
        let is_last = Some(&pair[1]) == folders.last();
        if is_last {
            let skipped = commands.replace("kubectl patch crd", ": ");
            let refused = site.shell(&pair[1], &skipped);
            let why = "status.storedVersions[0]: Invalid value";
            assert!(!refused.success && refused.text.contains(why), "{}", refused.text);
        }
        site.shell(&pair[1], &commands).expect_success();
    }
    let after = lamp();
    let content = |lamp: &Json| (lamp["metadata"]["uid"].clone(), lamp["spec"].clone());
    assert_eq!(content(&after), content(&before));
    assert_eq!(after["spec"], spec);
    assert_eq!(site.crd(CRD)["status"]["storedVersions"], json!(["v1"]));

    site.helm(&format!("uninstall {owner}")).expect_success();
    site.delete(CRD);
}

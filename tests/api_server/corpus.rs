//! Every real bundle that compiles is installed, and upgraded to its next version where there is one.

use crate::charts::{compiled, crds_of, folders, label};
use crate::control_plane::ControlPlane;
use crate::helm::Helm;
use crate::install::{OTHERS, prepare, run};
use crate::shared::shared;
use std::path::Path;
use tempfile::TempDir;
use walkdir::WalkDir;

/// Real bundles that are refused for what is in them, and what the server says.
const REFUSED: &[(&str, &str)] = &[
    // It ships an example of its own resource, without what its own CRD requires.
    ("ack-secretsmanager-controller/1.4.1 install", "spec.name: Required value"),
];

const RELEASE: (&str, &str) = ("operator", "operator-system");

#[test]
fn real_bundles_are_installed_and_upgraded() {
    let Some(corpus) = shared("corpus") else { return };
    let Some(cluster) = ControlPlane::start() else { return };
    let helm = Helm::newest();
    let temporary = TempDir::new().expect("a folder");
    prepare(&cluster);
    let (mut installed, mut upgraded, mut refused) = (0, 0, Vec::new());
    for package in folders(&corpus) {
        let package_name = label(&package);
        let mut command = "install";
        for bundle in folders(&package) {
            let case = temporary.path().join(format!("{package_name}-{}", label(&bundle)));
            let Some(chart) = compiled(&bundle, "", &case) else { continue };
            if command == "install" {
                replace_others(&cluster, &chart);
            }
            if let Some(crds) = crds_of(&chart) {
                let release = ("operator-crds", RELEASE.1);
                run(&cluster, &helm, command, release, &crds).expect_success();
            }
            let run = run(&cluster, &helm, command, RELEASE, &chart);
            let shown = format!("{package_name}/{} {command}", label(&bundle));
            eprintln!("{shown}: {}", if run.success { "taken" } else { &run.stderr });
            if run.success && command == "install" {
                (installed, command) = (installed + 1, "upgrade");
            } else if run.success {
                upgraded += 1;
            } else if !REFUSED.iter().any(|(n, why)| *n == shown && run.stderr.contains(why)) {
                refused.push(format!("{shown}: {}", run.stderr));
            }
        }
        let uninstall = ["uninstall", RELEASE.0, "--namespace", RELEASE.1];
        helm.run_on(&cluster.kubeconfig(), uninstall);
    }
    assert!(refused.is_empty(), "{} refused:\n{}", refused.len(), refused.join("\n"));
    assert!(installed > 50 && upgraded >= 10, "{installed} installed, {upgraded} upgraded");
}

/// Deletes the CRDs that [`prepare`] created in place of those that this chart has.
fn replace_others(cluster: &ControlPlane, chart: &Path) {
    for (group, _, plural, _) in OTHERS {
        let file = format!("{plural}.{group}.yaml");
        if WalkDir::new(chart)
            .into_iter()
            .any(|entry| *entry.expect("an entry").file_name() == *file)
        {
            let delete = ["delete", "crd", &format!("{plural}.{group}"), "--ignore-not-found"];
            cluster.kubectl(&delete).expect_success();
        }
    }
}

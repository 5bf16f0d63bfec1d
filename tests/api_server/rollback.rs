//! `helm rollback` leads back to what was installed.

use crate::charts::compiled;
use crate::control_plane::ControlPlane;
use crate::helm::Helm;
use crate::lamp;
use crate::lifecycle::Release;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Writes the lamp operator's bundle to a folder, without this text.
fn bundle(folder: &Path, without: &str) -> PathBuf {
    for (path, text) in lamp::files() {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text.replace(without, "")).expect("a file");
    }
    folder.to_owned()
}

/// A new version that names a ServiceAccount where the old one does not is rolled back: the API
/// server's copy of the name in `serviceAccount` must not bring it back.
#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn service_account_name() {
    let cluster = ControlPlane::start();
    let temporary = TempDir::new().expect("a folder");
    let named = "              serviceAccountName: lamp-operator\n";
    let (old, new) = (temporary.path().join("old"), temporary.path().join("new"));
    let old = compiled(&bundle(&old, named), "", &old.join("case")).expect("a chart");
    let new = compiled(&bundle(&new, ""), "", &new.join("case")).expect("a chart");
    for helm in Helm::all() {
        let namespace = format!("lamps-{}", helm.version.replace('.', "-"));
        let release =
            Release { cluster: &cluster, helm: &helm, name: "lamps", namespace: &namespace };
        let account = || {
            let deployment =
                cluster.get(&["deployment", "lamp-operator", "--namespace", &namespace]);
            let pod = &deployment["spec"]["template"]["spec"];
            let name = |key: &str| pod[key].as_str().unwrap_or("default").to_owned();
            (name("serviceAccountName"), name("serviceAccount"))
        };
        let both = |name: &str| (name.to_owned(), name.to_owned());

        release.run("install", &old).expect_success();
        assert_eq!(account(), both("default"), "Helm {}", helm.version);
        release.run("upgrade", &new).expect_success();
        assert_eq!(account(), both("lamp-operator"), "Helm {}", helm.version);
        release.helm(&["rollback", "lamps", "1"]).expect_success();
        assert_eq!(account(), both("default"), "Helm {}", helm.version);
        // Upgrading to the old chart is another way back.
        release.run("upgrade", &new).expect_success();
        release.run("upgrade", &old).expect_success();
        assert_eq!(account(), both("default"), "Helm {}", helm.version);
        release.helm(&["uninstall", "lamps"]).expect_success();
        // It stays, and belongs to the release of this namespace.
        cluster.kubectl(&["delete", "crd", "lamps.light.example.com"]).expect_success();
    }
}

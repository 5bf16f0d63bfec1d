#![expect(clippy::disallowed_methods, reason = "tests write an output directory")]

use super::*;
use crate::pipeline::samples::{LAMP, config};
use std::os::unix::fs::symlink;

/// Returns Chart.yaml with these annotations, as a chart has them.
fn metadata(crds: &str, watch: &str) -> Vec<u8> {
    let annotations = format!("  bundle2chart/crds: {crds}\n  bundle2chart/watch: \"{watch}\"\n");
    format!("apiVersion: v2\nname: lamp\nannotations:\n{annotations}").into_bytes()
}

fn chart(dir: &str, version: &str, crds: &str, watch: &str) -> ChartFiles {
    let files = [("Chart.yaml".to_owned(), metadata(crds, watch))].into();
    ChartFiles { dir: dir.into(), version: version.to_owned(), files }
}

/// Writes the Chart.yaml of a chart of bundle2chart.
fn put(out: &Path, dir: &str, content: &[u8]) {
    let folder = out.join(dir);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("Chart.yaml"), content).unwrap();
    fs::write(folder.join(ownership::FILE_NAME), "").unwrap();
}

#[test]
fn a_move_of_crds_is_reported_with_what_to_do_in_the_cluster() {
    let adopt = |before: &str| {
        format!(
            "adopt the CRDs with the commands of the chart's README, because Helm does not adopt \
                CRDs that no release owns; or keep crds = \"{before}\""
        )
    };
    let replace = |before: &str| {
        format!(
            "from now on, replace the CRDs with kubectl before each upgrade: the upgrade keeps them \
                in the cluster (`helm.sh/resource-policy: keep`), but Helm no longer upgrades them; \
                or keep crds = \"{before}\""
        )
    };
    let take = "install or upgrade the release that has the CRDs now with `--take-ownership`: the \
        other release leaves them in the cluster, and Helm does not adopt them without it";
    let path = "if you replace the CRDs with kubectl, use the new path; nothing changes in a \
        cluster, because Helm installs both the same way";
    let breaking = ": a breaking change for existing releases";
    for (before, now, expected) in [
        ("templates", "templates", None),
        ("templates", "separate", Some((breaking, take.to_owned()))),
        ("separate", "templates", Some((breaking, take.to_owned()))),
        ("templates", "crds", Some((breaking, replace("templates")))),
        ("separate", "subchart", Some((breaking, replace("separate")))),
        ("crds", "templates", Some((breaking, adopt("crds")))),
        ("subchart", "separate", Some((breaking, adopt("subchart")))),
        ("crds", "subchart", Some(("", path.to_owned()))),
        ("elsewhere", "templates", None),
    ] {
        let home = tempfile::tempdir().unwrap();
        let out = home.path();
        put(out, "lamp/1.0.0", &metadata(before, "own"));
        let expected = expected.map(|(effect, hint)| {
            let message =
                format!("the CRDs of `lamp` move from `{before}` (lamp/1.0.0) to `{now}`{effect}");
            let place = out.join("lamp/1.1.0/Chart.yaml").display().to_string();
            Diagnostic::warning(Code::CrdsMoved, message).at(Place::file(place)).hint(hint)
        });
        let found = crds_moved(out, &chart("lamp/1.1.0", "1.1.0", now, "own"));
        assert_eq!(found, expected, "{before} to {now}");
    }
}

#[test]
fn other_namespaces_are_an_error_unless_the_user_wrote_them() {
    let config = config(&(LAMP.replace("lamp", "other") + LAMP));
    let roles = "its Roles become ClusterRoles for all namespaces";
    let fewer = "custom resources in other namespaces are no longer reconciled";
    for (before, now, expected) in [
        ("own", "own", None),
        (
            "own",
            "all",
            Some((roles, "write watch = \"own\" to keep it, or watch = \"all\" to accept")),
        ),
        (
            "a,b",
            "all",
            Some((roles, "write watch = [\"a\", \"b\"] to keep it, or watch = \"all\" to accept")),
        ),
        ("all", "own", Some((fewer, "write watch = \"own\" to accept"))),
    ] {
        let home = tempfile::tempdir().unwrap();
        let out = home.path();
        put(out, "lamp/1.0.0", &metadata("templates", before));
        let expected = expected.map(|(effect, hint)| {
            let message = format!(
                "`lamp` would watch {now} instead of {before} as in chart `{}`, because the bundle's \
                    install modes changed: {effect}",
                out.join("lamp/1.0.0").display()
            );
            Diagnostic::error(Code::WatchChanged, message).at(&config.bundles[1].span).hint(hint)
        });
        let new = chart("lamp/1.1.0", "1.1.0", "templates", now);
        assert_eq!(watch_changed(out, &new, &config.bundles), expected, "{before} to {now}");

        // The namespaces of another bundle, and those that are written.
        assert_eq!(watch_changed(out, &new, &config.bundles[..1]), None);
        let written = self::config(&format!("{LAMP}watch = \"all\"\n"));
        assert_eq!(watch_changed(out, &new, &written.bundles), None);
        // The chart of the same version has them already.
        put(out, "lamp/1.1.0", &metadata("templates", now));
        assert_eq!(watch_changed(out, &new, &config.bundles), None);
    }
}

#[test]
fn only_charts_of_bundle2chart_are_compared() {
    let flat = chart("lamp", "1.1.0", "crds", "own");
    let moved = |change: &dyn Fn(&Path)| {
        let home = tempfile::tempdir().unwrap();
        put(home.path(), "lamp", &metadata("templates", "own"));
        change(&home.path().join("lamp"));
        crds_moved(home.path(), &flat).is_some()
    };
    assert!(moved(&|_| {}));
    assert!(!moved(&|folder| fs::remove_file(folder.join(ownership::FILE_NAME)).unwrap()));
    assert!(!moved(&|folder| {
        fs::rename(folder.join("Chart.yaml"), folder.join("target")).unwrap();
        symlink("target", folder.join("Chart.yaml")).unwrap();
    }));
    let padded = |size: usize| {
        move |folder: &Path| {
            let mut text = metadata("templates", "own");
            text.resize(size, b'#');
            fs::write(folder.join("Chart.yaml"), text).unwrap();
        }
    };
    assert!(moved(&padded(1024 * 1024)));
    assert!(!moved(&padded(1024 * 1024 + 1)));
}

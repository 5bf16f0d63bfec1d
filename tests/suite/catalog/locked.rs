//! Entries in the lock for bundles from catalogs.

use super::fixture::*;
use crate::support::command::Case;
use crate::support::image::{Image, Layer, Layout};
use serde_json::{Value, json};

#[test]
fn a_lock_keeps_the_bundle_when_the_catalog_moves_on() {
    let case = case(&[]);
    let first = json!({ "schema": "olm.channel", "package": "lamp-operator", "name": "stable",
                        "entries": [{ "name": "lamp-operator.v1.2.2" }] });
    case.write("catalog/index.json", as_json(&[package(), first, bundle("1.2.2")]));
    assert_eq!(built(&case), "1.2.2");
    let lock = case.read("bundles.lock");
    assert!(lock.contains(&format!("image = \"{}\"", image_of("1.2.2"))), "{lock}");

    case.write("catalog/index.json", as_json(&catalog()));
    assert_eq!(built(&case), "1.2.2");
    // A locked bundle needs no catalog.
    case.remove("catalog/index.json");
    assert_eq!(case.run(&["build", "--locked"]).code, Some(0));
    assert_eq!(case.read("bundles.lock"), lock);

    case.write("catalog/index.json", as_json(&catalog()));
    let seen = case.run(&["lock", "--upgrade", "lamp-operator"]);
    assert!(seen.stdout.contains("lamp-operator: 1.2.2 → 1.2.3"), "{}", seen.text());
    assert_eq!(case.run(&["build", "--locked"]).code, Some(0));
    assert!(case.path("out/lamp-operator/1.2.3").is_dir());
    // Another channel is another question, which the lock does not answer.
    configure(&case, "channel = \"stable\"");
    let seen = case.run(&["build", "--locked"]);
    assert!(seen.stderr.contains("error[lock-stale]"), "{}", seen.text());
}

/// The upgrade path is the catalog's, and charts and lock keep it: `diff` needs no catalog.
#[test]
fn the_edges_of_a_catalog_are_in_the_lock_and_in_the_chart() {
    let case = case(&[]);
    let entry = |version: &str, more: Value| {
        let mut entry = json!({ "name": format!("lamp-operator.v{version}") });
        entry.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
        entry
    };
    let channel = |entries: &[Value]| {
        json!({ "schema": "olm.channel", "package": "lamp-operator", "name": "stable",
                "entries": entries })
    };
    // 1.2.2 is the head: it has no edges, and the bundle's own CSV states none.
    let first = channel(&[entry("1.2.2", json!({}))]);
    case.write("catalog/index.json", as_json(&[package(), first, bundle("1.2.2")]));
    assert_eq!(built(&case), "1.2.2");

    // 1.2.3 replaces a version that was never installed.
    let next = channel(&[
        entry(
            "1.2.3",
            json!({ "replaces": "lamp-operator.v1.2.2-1", "skips": ["lamp-operator.v1.2.1"],
                               "skipRange": ">=1.0.0 <1.2.1" }),
        ),
        entry("1.2.2-1", json!({ "replaces": "lamp-operator.v1.2.2" })),
        entry("1.2.2", json!({})),
    ]);
    let objects = [package(), next, bundle("1.2.2"), bundle("1.2.3")];
    case.write("catalog/index.json", as_json(&objects));
    let seen = case.run(&["lock", "--upgrade", "lamp-operator"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let lock = case.read("bundles.lock");
    for line in [
        "replaces = \"lamp-operator.v1.2.2-1\"",
        "skips = [\"lamp-operator.v1.2.1\"]",
        "skip-range = \">=1.0.0 <1.2.1\"",
    ] {
        assert!(lock.contains(line), "{line}: {lock}");
    }

    // From here on nobody needs the catalog.
    case.remove("catalog/index.json");
    let seen = case.run(&["build", "--locked", "--offline"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let chart = case.read("out/lamp-operator/1.2.3/Chart.yaml");
    assert!(chart.contains("bundle2chart/replaces: lamp-operator.v1.2.2-1\n"), "{chart}");
    assert!(chart.contains("bundle2chart/skips: lamp-operator.v1.2.1\n"), "{chart}");
    let seen =
        case.run(&["diff", "lamp-operator@1.2.2", "lamp-operator@1.2.3", "--fail-on", "risky"]);
    assert_eq!(seen.code, Some(1), "{}", seen.text());
    assert!(seen.stdout.contains("risky[upgrade-path-skipped]"), "{}", seen.stdout);
    assert_eq!(case.read("bundles.lock"), lock);

    // With the edge, nothing is skipped.
    let direct = channel(&[
        entry("1.2.3", json!({ "replaces": "lamp-operator.v1.2.2" })),
        entry("1.2.2", json!({})),
    ]);
    let objects = [package(), direct, bundle("1.2.2"), bundle("1.2.3")];
    case.write("catalog/index.json", as_json(&objects));
    let seen = case.run(&["lock", "--upgrade", "lamp-operator"]);
    assert!(seen.stdout.contains("upgrade path of the catalog recorded"), "{}", seen.text());
    assert_eq!(case.run(&["build", "--replace"]).code, Some(0));
    let seen = case.run(&["diff", "lamp-operator@1.2.2", "lamp-operator@1.2.3"]);
    assert!(!seen.stdout.contains("upgrade-path-skipped"), "{}", seen.stdout);
}

#[test]
fn a_bundle_in_the_catalog_is_locked_too() {
    let case = Case::new();
    case.write("bundles.toml", CONFIG.replace("oci-layout:images", "oci-layout:none"));
    let write = |csv: &dyn Fn(String) -> String| {
        let manifests: Vec<String> = lamp_json().into_iter().map(csv).collect();
        let objects = [package(), channel(), bundle("1.2.2"), embedded(&manifests)];
        case.write("catalog/index.json", as_json(&objects));
    };
    write(&|text| text);
    assert_eq!(built(&case), "1.2.3");
    assert_eq!(case.run(&["build", "--locked"]).code, Some(0));
    let lock = case.read("bundles.lock");
    write(&|text| text.replace("\"1.2.3\"", "\"1.2.4\""));
    let seen = case.run(&["build", "--locked"]);
    assert!(seen.stderr.contains("error[lock-stale]"), "{}", seen.text());
    assert!(seen.stderr.contains("lock --upgrade lamp-operator"), "{}", seen.text());
    assert_eq!(case.read("bundles.lock"), lock);
}

/// A catalog image that holds the lamp itself, with a CSV of this version.
fn holding(version: &str) -> Image {
    let manifests: Vec<String> = lamp_json()
        .into_iter()
        .map(|text| text.replace("\"1.2.3\"", &format!("{version:?}")))
        .collect();
    let objects = [package(), channel(), bundle("1.2.2"), embedded(&manifests)];
    let mut layer = Layer::new();
    layer.file("configs/index.json", as_json(&objects).as_bytes());
    catalog_image(Some("/configs"), vec![layer])
}

fn write(case: &Case, images: &[(&str, Image)]) {
    let mut layout = Layout::default();
    for (reference, image) in images {
        layout.image(reference, image);
    }
    for (path, content) in layout.into_files() {
        case.write(&format!("images/{path}"), content);
    }
}

#[test]
fn the_image_of_a_catalog_is_locked_with_what_it_holds() {
    let case = with_catalog_image(holding("1.2.3"));
    assert_eq!(built(&case), "1.2.3");
    let lock = case.read("bundles.lock");
    assert!(lock.contains(&format!("image = \"{CATALOG_IMAGE}\"")), "{lock}");
    let charts = case.listing("out");

    // The tag moves on, and the catalog that was is still there.
    let old = CATALOG_IMAGE.replace(":v1", ":v0");
    write(&case, &[(CATALOG_IMAGE, holding("1.2.4")), (&old, holding("1.2.3"))]);
    let seen = case.run(&["build", "--locked", "--offline"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert_eq!(case.listing("out"), charts);

    // Into an air gap, without what it came from.
    let seen = case.run(&["vendor", "vendored"]);
    assert!(seen.stderr.contains("1 image, 3 blobs copied"), "{}", seen.text());
    std::fs::remove_dir_all(case.path("images")).expect("a layout");
    let config = case.read("bundles.toml");
    case.write("bundles.toml", config.replace("oci-layout:images", "oci-layout:vendored"));
    let seen = case.run(&["build", "--locked", "--offline", "--check"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());

    let seen = case.run(&["lock", "--upgrade"]);
    assert!(seen.stderr.contains("unchanged"), "{}", seen.text());
    case.write("bundles.toml", config);
    write(&case, &[(CATALOG_IMAGE, holding("1.2.4"))]);
    let seen = case.run(&["lock", "--upgrade"]);
    assert!(seen.stdout.contains("lamp-operator: 1.2.3 → 1.2.4"), "{}", seen.text());
}

/// The catalog of then and the query of then select the bundle of then.
#[test]
fn a_bundle_in_a_catalog_is_compared_with_a_revision_as_long_as_the_query_is_the_same() {
    let case = with_catalog_image(holding("1.2.3"));
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(arguments);
        assert!(git.current_dir(case.path(".")).status().expect("git runs").success());
    };
    git(&["init", "--quiet"]);
    assert_eq!(built(&case), "1.2.3");
    git(&["add", "bundles.lock"]);
    git(&["commit", "--quiet", "--message=a"]);

    let diff = ["diff", "--rev", "HEAD", "lamp-operator"];
    let seen = case.run(&diff);
    assert!(seen.stdout.contains("lamp-operator 1.2.3 at HEAD"), "{}", seen.text());
    // All charts, which are those in the lock as the output directory is not committed.
    let seen = case.run(&["diff", "--rev", "HEAD"]);
    assert!(seen.stdout.contains("lamp-operator 1.2.3 at HEAD"), "{}", seen.text());
    let config = case.read("bundles.toml") + "version = \"1.2.3\"\n";
    case.write("bundles.toml", config);
    let seen = case.run(&diff);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(seen.stderr.contains("--> HEAD:lamp-operator\n"), "{}", seen.text());
}

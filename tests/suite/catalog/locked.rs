//! What the lock keeps of a bundle from a catalog.

use super::fixture::*;
use crate::support::command::Case;
use crate::support::image::{Image, Layer, Layout};
use serde_json::json;

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
    assert!(seen.stderr.contains("nothing changed"), "{}", seen.text());
    case.write("bundles.toml", config);
    write(&case, &[(CATALOG_IMAGE, holding("1.2.4"))]);
    let seen = case.run(&["lock", "--upgrade"]);
    assert!(seen.stdout.contains("lamp-operator: 1.2.3 → 1.2.4"), "{}", seen.text());
}

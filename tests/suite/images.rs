//! `bundle2chart images`: what the fixtures need, in every format.

use crate::support::command::Case;
use crate::support::lamp::{CONFIG, CSV_FILE};

/// A configuration in a case that reads the fixtures of the project.
fn with_fixtures() -> Case {
    let case = Case::new();
    let root = env!("CARGO_MANIFEST_DIR");
    let config = std::fs::read_to_string(format!("{root}/bundles.toml")).expect("bundles.toml");
    case.link_fixtures();
    case.write("bundles.toml", config);
    case
}

#[test]
fn the_images_of_the_fixtures() {
    let case = with_fixtures();
    for format in ["list", "json", "skopeo", "imageset"] {
        let seen = case.run(&["images", "--format", format]);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
        insta::assert_snapshot!(format, seen.text());
    }
    let idms = ["images", "--format", "idms", "--mirror", "mirror.example.com:5000/olm/"];
    insta::assert_snapshot!("idms", case.run(&idms).text());
    assert!(!case.path("out").exists());
}

#[test]
fn names_and_usage() {
    let case = with_fixtures();
    insta::assert_snapshot!("one", case.run(&["images", "pod-group-operator", "-q"]).text());
    insta::assert_snapshot!("unknown", case.run(&["images", "pod-group"]).text());
    insta::assert_snapshot!("no_mirror", case.run(&["images", "--format", "idms"]).text());
    let bad = ["images", "--format", "idms", "--mirror", "https://mirror.example.com"];
    insta::assert_snapshot!("bad_mirror", case.run(&bad).text());
    let unused = ["images", "--mirror", "mirror.example.com"];
    insta::assert_snapshot!("unused_mirror", case.run(&unused).text());
    // Diagnostics for programs take standard output.
    let json = case.run(&["images", "--message-format", "json"]);
    assert!(json.stdout.lines().all(|line| line.starts_with("{\"severity\"")), "{}", json.text());
    assert!(json.stderr.contains("registry.example.com/"), "{}", json.text());
}

#[test]
fn warnings_have_places() {
    let case = Case::with_lamps();
    case.write("bundles.toml", CONFIG);
    insta::assert_snapshot!("lamp", case.run(&["images"]).text());
    case.write(CSV_FILE, "kind: [");
    let seen = case.run(&["images"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(2), ""), "{}", seen.text());
}

//! `package --attest` for every kind of source: which inputs a provenance lists, and which images an
//! SBOM.

use super::digest;
use crate::catalog::fixture as catalog;
use crate::support::command::{Case, Seen};
use serde_json::{Value as Json, json};

/// Runs a command that succeeds.
#[track_caller]
fn run(case: &Case, arguments: &[&str]) -> Seen {
    let seen = case.run(arguments);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    seen
}

fn attestation(case: &Case, file: &str) -> Json {
    serde_json::from_str(&case.read(&format!("packages/{file}"))).expect("JSON")
}

/// Builds and packages the only chart; returns its provenance.
fn provenance(case: &Case, chart: &str) -> Json {
    run(case, &["build", "-q"]);
    run(case, &["package", "-d", "packages", "--attest"]);
    attestation(case, &format!("{chart}.provenance.json"))
}

/// Returns the inputs that a provenance lists: of files the names, whose digests are right, and of
/// images the references and digests.
fn inputs(case: &Case, provenance: &Json) -> Vec<String> {
    let definition = &provenance["predicate"]["buildDefinition"];
    let dependencies = definition["resolvedDependencies"].as_array().expect("a list");
    let input = |input: &Json| {
        let hex = input["digest"]["sha256"].as_str().expect("a digest");
        let name = input["name"].as_str();
        match name.filter(|name| case.path(name).is_file()) {
            Some(name) => {
                assert_eq!(digest(case.read(name).as_bytes()), format!("sha256:{hex}"), "{name}");
                name.to_owned()
            }
            None => format!("{} {hex}", name.or(input["uri"].as_str()).expect("a name")),
        }
    };
    dependencies.iter().map(input).collect()
}

#[test]
fn provenance_lists_the_inputs_of_every_source() {
    // A directory, with overlays in a file and in the configuration, which is listed anyway.
    let case = Case::with_lamps();
    let settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n";
    case.write("settings.yaml", settings);
    let inline = settings.replace("settings", "inline");
    let overlays = format!(
        "[[bundle.overlay]]\npath = \"settings.yaml\"\n[[bundle.overlay]]\ninline = '''\n{inline}'''\n"
    );
    case.write("bundles.toml", case.read("bundles.toml") + &overlays);
    let directory = [
        "bundles.toml",
        crate::support::lamp::CSV_FILE,
        "bundle/manifests/light.example.com_lamps.yaml",
        "bundle/metadata/annotations.yaml",
        "settings.yaml",
    ];
    let found = provenance(&case, "lamp-operator-1.2.3");
    assert_eq!(inputs(&case, &found), directory);
    let definition = &found["predicate"]["buildDefinition"];
    assert_eq!(definition["buildType"], "urn:bundle2chart:build:v1");
    assert_eq!(
        definition["externalParameters"],
        json!({ "table": "lamp-operator", "chart": "lamp-operator", "version": "1.2.3" })
    );
    assert_eq!(
        found["predicate"]["runDetails"],
        json!({ "builder": {
            "id": "urn:bundle2chart",
            "version": { "bundle2chart": env!("CARGO_PKG_VERSION") },
        } })
    );

    // A table of another file, for an image.
    let case = catalog::case(&[]);
    let image = catalog::image_of("1.2.3");
    let mirror = "include = [\"more/*.toml\"]\n[[mirror]]\nfrom = \"registry.example.com\"\n\
        to = \"oci-layout:images\"\n";
    case.write("bundles.toml", mirror);
    let table = format!("[[bundle]]\nname = \"lamps\"\nimage = \"{image}\"\n");
    case.write("more/lamps.toml", table);
    let found = provenance(&case, "lamps-1.2.3");
    let lock = case.read("bundles.lock");
    let hex =
        lock.split("\nmanifest = { digest = \"sha256:").nth(1).expect("a digest")[..64].to_owned();
    let purl = format!(
        "pkg:oci/bundle@sha256%3A{hex}?repository_url=registry.example.com/lamps/bundle&tag=1.2.3 {hex}"
    );
    assert_eq!(inputs(&case, &found), ["bundles.toml", "more/lamps.toml", "bundles.lock", &purl]);

    // Without its entry in the lock, the image may be another one than that of the chart.
    case.remove("bundles.lock");
    let seen = case.run(&["package", "-d", "packages", "--attest"]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(
        seen.stderr.contains("error[lock-stale]: bundles.lock has no entry"),
        "{}",
        seen.text()
    );

    // An image layout in a directory, which is not in the lock.
    case.write("bundles.toml", "[[bundle]]\nname = \"lamps\"\npath = \"images\"\n");
    let mut layout = crate::support::image::Layout::default();
    layout.image(&image, &catalog::bundle_image("1.2.3"));
    std::fs::remove_dir_all(case.path("images")).expect("removed");
    for (path, content) in layout.into_files() {
        case.write(&format!("images/{path}"), content);
    }
    std::fs::remove_dir_all(case.path("out")).expect("removed");
    let found = provenance(&case, "lamps-1.2.3");
    assert_eq!(inputs(&case, &found), ["bundles.toml".to_owned(), format!("images {hex}")]);

    // A catalog with the manifests in it.
    let case = Case::new();
    case.write("bundles.toml", catalog::CONFIG.replace("oci-layout:images", "oci-layout:none"));
    let objects =
        [catalog::package(), catalog::channel(), catalog::embedded(&catalog::lamp_json())];
    case.write("catalog/index.json", catalog::as_json(&objects));
    let found = provenance(&case, "lamp-operator-1.2.3");
    assert_eq!(inputs(&case, &found), ["bundles.toml", "bundles.lock"]);
}

#[test]
fn charts_of_other_inputs_get_a_warning_and_no_provenance() {
    let case = super::built();
    case.replace("bundles.toml", "path =", "namespace = \"lamps\"\npath =");
    let seen = run(&case, &["package", "-d", "packages", "--attest"]);
    let expected = "warning[not-reproduced]: chart `lamp-operator` 1.2.3 has no provenance: the \
        configuration does not compile to it\n = hint: run `bundle2chart verify lamp-operator@1.2.3` \
        to see the difference; for an older version, check out the commit that built it\n";
    assert!(seen.stderr.contains(expected), "{}", seen.text());
    assert_eq!(case.listing("packages"), "lamp-operator-1.2.3.cdx.json\nlamp-operator-1.2.3.tgz\n");

    // A chart that the configuration does not have.
    let other = "[[chart]]\nname = \"other\"\nchart-version = \"1.0.0\"\nmanifests = [\"bundle/manifests\"]\n";
    case.write("bundles.toml", other);
    let seen = run(&case, &["package", "-d", "packages", "--attest"]);
    assert!(seen.stderr.contains(expected), "{}", seen.text());
}

#[test]
fn an_sbom_lists_the_images_of_the_objects_and_of_chart_yaml() {
    let case = Case::with_lamps();
    let related =
        "  relatedImages:\n  - name: lamp\n    image: registry.example.com/lamps/lamp:1.0\n";
    case.replace(
        crate::support::lamp::CSV_FILE,
        "  installModes:",
        &format!("{related}  installModes:"),
    );
    run(&case, &["build", "-q"]);
    run(&case, &["package", "-d", "packages", "--attest"]);
    let sbom = attestation(&case, "lamp-operator-1.2.3.cdx.json");
    let names = sbom["components"].as_array().expect("a list").iter();
    let names: Vec<&str> = names.map(|image| image["bom-ref"].as_str().expect("a text")).collect();
    let operator = "image:registry.example.com/lamps/operator@sha256:0123456789abcdef0123456789abcdef\
        0123456789abcdef0123456789abcdef";
    assert_eq!(names, ["image:registry.example.com/lamps/lamp:1.0", operator]);
    let package = std::fs::read(case.path("packages/lamp-operator-1.2.3.tgz")).expect("a package");
    assert_eq!(
        sbom["metadata"],
        json!({
            "tools": { "components": [{
                "type": "application",
                "name": "bundle2chart",
                "version": env!("CARGO_PKG_VERSION"),
            }] },
            "component": {
                "type": "application",
                "bom-ref": "chart:lamp-operator@1.2.3",
                "name": "lamp-operator",
                "version": "1.2.3",
                "hashes": [{ "alg": "SHA-256", "content": digest(&package)["sha256:".len()..] }],
            },
        })
    );
    assert_eq!(
        sbom["dependencies"],
        json!([{ "ref": "chart:lamp-operator@1.2.3", "dependsOn": names }])
    );
}

//! Catalogs in which something is wrong.

use super::fixture::*;
use crate::support::command::Case;
use crate::support::image::Layer;
use bundle2chart::diag::Code;
use serde_json::{Value, json};
use std::io::Write as _;

/// Builds, and expects errors of exactly these kinds and nothing written.
#[track_caller]
fn refused(case: &Case, name: &str, expected: &[Code]) {
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(!case.path("out").exists());
    insta::assert_snapshot!(name, seen.text());
    let json = case.run(&["build", "--message-format", "json"]);
    let mut codes: Vec<String> = json
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter(|line| line["severity"] == "error")
        .inspect(|line| assert!(line["place"]["file"].is_string(), "no place: {line}"))
        .map(|line| line["code"].as_str().expect("a code").to_owned())
        .collect();
    codes.dedup();
    let expected: Vec<&str> = expected.iter().map(|code| code.as_str()).collect();
    assert_eq!(codes, expected, "{}", json.stdout);
}

/// A test for each way to break a good catalog, with the codes of its errors.
macro_rules! refused {
    ($($name:ident: [$($code:ident),*] = |$case:ident| $damage:block)*) => {$(
        #[test]
        fn $name() {
            let $case = case(&[]);
            $case.write("catalog/index.json", as_json(&catalog()));
            $damage
            refused(&$case, stringify!($name), &[$(Code::$code),*]);
        }
    )*};
}

refused! {
    truncated_json: [CatalogInvalid] = |case| {
        let text = as_json(&catalog());
        case.write("catalog/index.json", &text[..text.len() - 20]);
    }
    invalid_json_of_another_package: [CatalogInvalid] = |case| {
        case.write("catalog/other.json", "{\"schema\": \"olm.package\",\n \"name\": other}\n");
    }
    invalid_yaml: [CatalogInvalid] = |case| {
        case.write("catalog/b.yaml", "schema: olm.bundle\n---\npackage: lamp-operator\nname: [\n");
    }
    wrong_types: [CatalogInvalid] = |case| {
        let mut objects = catalog();
        objects[2]["entries"] = json!({ "name": "lamp-operator.v1.2.3" });
        objects[4]["image"] = json!(["a"]);
        objects[6]["properties"][1]["value"]["version"] = json!(1.2);
        case.write("catalog/index.json", as_json(&objects));
    }
    not_objects: [CatalogInvalid] = |case| {
        case.write("catalog/list.json", "[{\"schema\": \"olm.package\", \"name\": \"lamp-operator\"}]");
        case.write("catalog/text.txt", "lamp-operator");
        case.write("catalog/bare.json", "{\"package\": \"lamp-operator\"}{}");
    }
    everything_twice: [CatalogInvalid] = |case| {
        case.write("catalog/again/index.yaml", as_yaml(&catalog()));
    }
    huge_object: [SourceLimit] = |case| {
        let mut file = std::fs::File::create(case.path("catalog/huge.json")).expect("a file");
        file.write_all(b"{\"schema\": \"x\", \"text\": \"").expect("a file");
        for _ in 0..40 {
            file.write_all(&vec![b'a'; 1 << 20]).expect("a file");
        }
    }
    huge_document: [SourceLimit] = |case| {
        case.write("catalog/huge.yaml", format!("a: {}", "b".repeat(40 << 20)));
    }
    deep_nesting: [CatalogInvalid, SourceLimit] = |case| {
        let mut text = String::from("{\"schema\":\"olm.bundle\",\"package\":\"lamp-operator\",\"name\":");
        text += &"[".repeat(1_000_000);
        case.write("catalog/deep.json", &text);
        case.write("catalog/deep.yaml", format!("lamp-operator: {}", "[".repeat(100_000)));
    }
    link_in_the_catalog: [UnexpectedEntry] = |case| {
        std::os::unix::fs::symlink("/etc/passwd", case.path("catalog/passwd.json")).expect("a link");
    }
    empty_catalog: [NotACatalog] = |case| {
        case.remove("catalog/index.json");
    }
    no_such_catalog: [SourceNotFound] = |case| {
        case.write("bundles.toml", CONFIG.replace("./catalog", "./catalogue"));
    }
    registry_of_the_catalog_is_down: [RegistryUnreachable] = |case| {
        let config = CONFIG.replace("./catalog", "localhost:1/catalog:1");
        case.write("bundles.toml", format!("[network]\nretries = 0\n{config}"));
    }
    registry_of_the_bundle_is_down: [RegistryUnreachable] = |case| {
        case.write("bundles.toml", format!("[network]\nretries = 0\n{CONFIG}"));
        let index = case.read("catalog/index.json");
        case.write("catalog/index.json", index.replace("registry.example.com/", "localhost:1/"));
    }
    wrong_package: [PackageNotFound] = |case| {
        case.replace("bundles.toml", "package = \"lamp-operator\"", "package = \"lamp-operators\"");
    }
    wrong_channel: [ChannelNotFound] = |case| {
        configure(&case, "channel = \"stabel\"");
    }
    wrong_catalog_version: [VersionNotFound] = |case| {
        configure(&case, "version = \"1.2.4\"");
    }
    two_heads: [ChannelHead] = |case| {
        let mut objects = catalog();
        objects[2]["entries"][0] = json!({ "name": "lamp-operator.v1.2.3" });
        case.write("catalog/index.json", as_json(&objects));
    }
    no_image_and_no_manifests: [BundleIncomplete] = |case| {
        let mut objects = catalog();
        objects[6] = embedded(&[]);
        case.write("catalog/index.json", as_json(&objects));
    }
    manifests_without_csv: [CatalogInvalid] = |case| {
        let mut objects = catalog();
        objects[6] = embedded(&lamp_json()[1..]);
        case.write("catalog/index.json", as_json(&objects));
    }
    manifest_is_not_base64: [CatalogInvalid] = |case| {
        let mut objects = catalog();
        objects[6] = embedded(&lamp_json());
        objects[6]["properties"][3]["value"]["data"] = json!("no base64!");
        case.write("catalog/index.json", as_json(&objects));
    }
    keys_of_catalogs_alone: [MissingKey, InvalidValue] = |case| {
        case.write("bundles.toml", "[[bundle]]\nname = \"a\"\npath = \"x\"\nversion = \"1.0.0\"\n\n\
            [[bundle]]\nname = \"b\"\ncatalog = \"x\"\n\n\
            [[bundle]]\nname = \"c\"\ncatalog = \"x\"\npackage = \"y\"\nversion = \"v1.0.0\"\n\n\
            [[bundle]]\nname = \"d\"\ncatalog = \"x\"\npackage = \"y\"\nimage = \"a.example.com/b\"\n\
            version = \"1.0 - 2.0\"\n");
    }
}

#[test]
fn images_that_are_no_catalogs_say_what_they_are() {
    for (name, label, labels) in [
        ("image_is_a_bundle", None, Some("operators.operatorframework.io.bundle.manifests.v1")),
        ("image_is_a_database", None, Some("operators.operatorframework.io.index.database.v1")),
        ("image_is_something_else", None, None),
        ("image_without_catalog", Some("/configs"), None),
    ] {
        let mut layer = Layer::new();
        layer.file("etc/passwd", b"");
        let mut image = catalog_image(label, vec![layer]);
        image.labels.extend(labels.map(|label| (label.to_owned(), "manifests/".to_owned())));
        refused(&with_catalog_image(image), name, &[Code::NotACatalog]);
    }
    let mut layer = Layer::new();
    layer.symlink("configs", "etc").file("etc/index.json", b"{}");
    let image = catalog_image(Some("/configs"), vec![layer]);
    refused(&with_catalog_image(image), "image_with_a_link", &[Code::UnexpectedEntry]);
}

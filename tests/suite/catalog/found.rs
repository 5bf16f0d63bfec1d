//! Catalogs in which a bundle is found.

use super::fixture::*;
use crate::support::command::Case;
use crate::support::image::Layer;
use crate::support::lamp::files;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;

#[test]
fn a_catalog_is_json_or_yaml_in_files_and_folders() {
    let objects = catalog();
    let mut charts = Vec::new();
    for layout in ["json", "yaml", "folders", "file", "mixed"] {
        let case = case(&[]);
        match layout {
            "json" => case.write("catalog/index.yaml", as_json(&objects)),
            "yaml" => case.write("catalog/index.json", as_yaml(&objects)),
            "folders" => {
                for (index, object) in objects.iter().enumerate() {
                    case.write(&format!("catalog/{index}/{index}.json"), object.to_string());
                }
                case.write("catalog/README.md", "# Not {a catalog\n");
                case.write("catalog/3/.hidden", "{");
                case.write("catalog/.indexignore", "*.md\n.hidden\n");
            }
            "file" => {
                case.write("catalog.json", as_json(&objects));
                case.write("bundles.toml", CONFIG.replace("./catalog", "catalog.json"));
            }
            _ => {
                case.write("catalog/a/bundles.yaml", as_yaml(&objects[3..]));
                case.write("catalog/b/rest", as_json(&objects[..3]));
            }
        }
        assert_eq!(built(&case), "1.2.3", "{layout}");
        let mut chart = String::new();
        for path in case.listing("out").lines().filter(|path| !path.ends_with(".bundle2chart")) {
            let _ = writeln!(chart, "=== {path}\n{}", case.read(&format!("out/{path}")));
        }
        charts.push(chart);
    }
    assert!(charts.iter().all(|chart| *chart == charts[0]), "charts differ");
    // The chart says which image it was made of, not which catalog led to it.
    assert!(charts[0].contains(&format!("bundle2chart/bundle: {}", image_of("1.2.3"))));
}

#[test]
fn versions_and_channels_are_chosen() {
    let case = case(&[]);
    let mut objects = catalog();
    objects.push(json!({ "schema": "olm.channel", "package": "lamp-operator", "name": "old",
                         "entries": [{ "name": "lamp-operator.v1.2.2" }] }));
    case.write("catalog/index.json", as_json(&objects));
    for (more, version) in [
        ("version = \"1.2.2\"", "1.2.2"),
        ("version = \">=1, <1.2.3\"", "1.2.2"),
        ("channel = \"old\"", "1.2.2"),
        ("channel = \"stable\"", "1.2.3"),
    ] {
        configure(&case, more);
        let _ = std::fs::remove_dir_all(case.path("out"));
        assert_eq!(built(&case), version, "{more}");
    }
}
#[test]
fn a_catalog_is_an_image_whose_later_layers_hide_earlier_ones() {
    let objects = catalog();
    let mut base = Layer::new();
    base.folder("configs")
        .file("usr/bin/opm", b"a program")
        .file("configs/lamp/index.json", b"{ replaced, and no JSON")
        .file("configs/gone/index.json", b"{ deleted")
        .file("configs/opaque/x/index.json", b"{ hidden")
        .file("configs/folder", b"{ a file that becomes a folder")
        .file("configs/lamp/channel.yaml", as_yaml(&objects[2..3]).as_bytes());
    let mut middle = Layer::new();
    middle
        .file("configs/twice.json", b"{ written twice in this layer")
        .file("configs/notes.txt", b"left out")
        .file("configs/twice.json", as_json(&objects[..2]).as_bytes());
    let mut last = Layer::new();
    last.file("configs/lamp/index.json", as_json(&objects[3..]).as_bytes())
        .whiteout("configs/gone")
        .opaque("configs/opaque")
        .folder("configs/folder")
        .file("configs/.indexignore", b"*.txt\n");
    let case = with_catalog_image(catalog_image(Some("/configs"), vec![base, middle, last]));
    assert_eq!(built(&case), "1.2.3");

    // The layout itself is a catalog too when its path is named.
    case.write("bundles.toml", CONFIG.replace("./catalog", &format!("./images:{CATALOG_IMAGE}")));
    assert_eq!(built(&case), "1.2.3");
}

#[test]
fn the_label_names_the_folder() {
    let mut layer = Layer::new();
    layer.file("data/fbc/index.json", as_json(&catalog()).as_bytes()).file("configs/x.json", b"{");
    assert_eq!(built(&with_catalog_image(catalog_image(Some("/data/fbc/"), vec![layer]))), "1.2.3");
}

#[test]
fn deprecations_are_warnings_in_the_words_of_the_catalog() {
    let case = case(&[]);
    let mut objects = catalog();
    let entry = |schema: &str, name: &str, message: &str| json!({ "reference": { "schema": schema, "name": name }, "message": message });
    objects.push(json!({ "schema": "olm.deprecations", "package": "lamp-operator", "entries": [
        { "reference": { "schema": "olm.package" }, "message": "Lamps are dim.\nUse lanterns." },
        entry("olm.channel", "stable", "Stable is no more."),
        entry("olm.channel", "old", "Not ours."),
        entry("olm.bundle", "lamp-operator.v1.2.3", "1.2.3 burns."),
        entry("olm.bundle", "lamp-operator.v1.2.2", "Not ours either."),
    ] }));
    case.write("catalog/index.json", as_json(&objects));
    configure(&case, "channel = \"stable\"\nversion = \"1.2.3\"");
    let seen = case.run(&["build", "--check"]);
    insta::assert_snapshot!("deprecations", seen.stderr);
}

#[test]
fn a_bundle_in_the_catalog_gives_the_chart_of_its_folder() {
    let case = Case::new();
    for (path, content) in files() {
        case.write(&format!("bundle/{path}"), content);
    }
    let objects = [package(), channel(), bundle("1.2.2"), embedded(&lamp_json())];
    let build = |source: &str, out: &str| {
        case.write("bundles.toml", format!("[[bundle]]\nname = \"lamp-operator\"\n{source}\n"));
        let seen = case.run(&["build", "--out", out]);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
        let mut files = BTreeMap::new();
        for path in case.listing(out).lines().filter(|path| !path.ends_with(".bundle2chart")) {
            // Where it came from is not the same.
            let text = case.read(&format!("{out}/{path}"));
            let text = text.replace("\"./catalog\"", "bundle").replace("./catalog", "bundle");
            files.insert(path.to_owned(), text);
        }
        files
    };
    let from_folder = build("path = \"bundle\"", "from-folder");
    for text in [as_json(&objects), as_yaml(&objects)] {
        case.write("catalog/index", text);
        let mut from_catalog =
            build("catalog = \"./catalog\"\npackage = \"lamp-operator\"", "from-catalog");
        // The upgrade path is the catalog's, and this CSV states none.
        let chart = from_catalog.get_mut("lamp-operator/1.2.3/Chart.yaml").expect("a chart");
        let edge = "  bundle2chart/replaces: lamp-operator.v1.2.2\n";
        assert!(chart.contains(edge), "{chart}");
        *chart = chart.replace(edge, "");
        assert_eq!(from_catalog, from_folder);
        std::fs::remove_dir_all(case.path("from-catalog")).expect("charts");
    }
}

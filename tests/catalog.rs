//! Bundles found in file-based catalogs, by the real program: folders, files and images, JSON and
//! YAML, good and bad; and how much memory a large catalog takes.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "tests write what the program reads")]

#[cfg(test)]
mod support {
    pub(crate) mod command;
    pub(crate) mod image;
    pub(crate) mod lamp;
}

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bundle2chart::diag::Code;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::command::{Case, Seen};
use support::image::{Compression, Image, Layer, Layout};
use support::lamp::{ANNOTATIONS, CRD, CSV, files};

const CATALOG_LABEL: &str = "operators.operatorframework.io.index.configs.v1";

const CONFIG: &str = "\
[[mirror]]
from = \"registry.example.com\"
to = \"oci-layout:images\"

[[bundle]]
name = \"lamp-operator\"
catalog = \"./catalog\"
package = \"lamp-operator\"
";

fn image_of(version: &str) -> String {
    format!("registry.example.com/lamps/bundle:{version}")
}

fn package() -> Value {
    json!({ "schema": "olm.package", "name": "lamp-operator", "defaultChannel": "stable",
            "icon": { "base64data": "AAAA", "mediatype": "image/svg+xml" } })
}

fn channel() -> Value {
    json!({ "schema": "olm.channel", "package": "lamp-operator", "name": "stable", "entries": [
        { "name": "lamp-operator.v1.2.3", "replaces": "lamp-operator.v1.2.2" },
        { "name": "lamp-operator.v1.2.2" },
    ] })
}

fn bundle(version: &str) -> Value {
    json!({
        "schema": "olm.bundle", "package": "lamp-operator",
        "name": format!("lamp-operator.v{version}"), "image": image_of(version),
        "properties": [
            { "type": "olm.gvk", "value": { "group": "light.example.com", "kind": "Lamp", "version": "v1" } },
            { "type": "olm.package", "value": { "packageName": "lamp-operator", "version": version } },
            { "type": "olm.csv.metadata", "value": { "annotations": { "alm-examples": "[{\"a\": \"b\"}]" } } },
        ],
        "relatedImages": [{ "name": "", "image": image_of(version) }],
    })
}

/// The objects of the lamp's package and of another one.
fn catalog() -> Vec<Value> {
    let other = json!({ "schema": "olm.package", "name": "lantern-operator", "defaultChannel": 7 });
    let others = json!({ "schema": "olm.bundle", "package": "lantern-operator", "name": [1],
                         "properties": "none" });
    let unknown = json!({ "schema": "acme.notes", "package": "lamp-operator", "name": {} });
    vec![other, package(), channel(), unknown, bundle("1.2.2"), others, bundle("1.2.3")]
}

fn as_json(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("{object:#}\n")).collect()
}

fn as_yaml(objects: &[Value]) -> String {
    objects.iter().fold(String::new(), |text, object| {
        text + "---\n" + &serde_yaml::to_string(object).expect("YAML")
    })
}

/// An image of the lamp bundle at a version.
fn bundle_image(version: &str) -> Image {
    let mut layer = Layer::new();
    layer
        .file("manifests/csv.yaml", CSV.replace("1.2.3", version).as_bytes())
        .file("manifests/crd.yaml", CRD.as_bytes())
        .file("metadata/annotations.yaml", ANNOTATIONS.as_bytes());
    Image {
        architecture: "amd64",
        labels: BTreeMap::new(),
        layers: vec![(Compression::Gzip, layer.into_tar())],
    }
}

/// A case with bundle images in a mirror, and further images.
fn case(more: &[(&str, Image)]) -> Case {
    let case = Case::new();
    let mut layout = Layout::default();
    for version in ["1.2.2", "1.2.3"] {
        layout.image(&image_of(version), &bundle_image(version));
    }
    for (reference, image) in more {
        layout.image(reference, image);
    }
    for (path, content) in layout.into_files() {
        case.write(&format!("images/{path}"), content);
    }
    case.write("bundles.toml", CONFIG);
    case
}

fn configure(case: &Case, more: &str) {
    case.write("bundles.toml", format!("{CONFIG}{more}\n"));
}

/// Builds without any finding; the versions of the chart.
#[track_caller]
fn built(case: &Case) -> String {
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(!seen.stderr.contains("warning"), "{}", seen.text());
    let listing = case.listing("out");
    let versions: Vec<&str> = listing.lines().filter_map(|line| line.split('/').nth(1)).collect();
    versions.first().map(|version| (*version).to_owned()).unwrap_or_default()
}

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

/// A catalog image of these layers, each a list of paths and contents.
fn catalog_image(label: Option<&str>, layers: Vec<Layer>) -> Image {
    Image {
        architecture: "amd64",
        labels: label
            .map(|label| (CATALOG_LABEL.to_owned(), label.to_owned()))
            .into_iter()
            .collect(),
        layers: layers.into_iter().map(|layer| (Compression::Gzip, layer.into_tar())).collect(),
    }
}

const CATALOG_IMAGE: &str = "registry.example.com/catalogs/index:v1";

fn with_catalog_image(image: Image) -> Case {
    let case = case(&[(CATALOG_IMAGE, image)]);
    case.write("bundles.toml", CONFIG.replace("./catalog", CATALOG_IMAGE));
    case
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

/// A bundle without an image whose manifests are in the catalog.
fn embedded(objects: &[String]) -> Value {
    let mut bundle = bundle("1.2.3");
    bundle["image"] = json!("");
    let properties = bundle["properties"].as_array_mut().expect("a list");
    for object in objects {
        properties.push(
            json!({ "type": "olm.bundle.object", "value": { "data": STANDARD.encode(object) } }),
        );
    }
    bundle
}

fn lamp_json() -> Vec<String> {
    let json = |text: &str| serde_yaml::from_str::<Value>(text).expect("YAML").to_string();
    vec![json(CSV), json(CRD)]
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
        let from_catalog =
            build("catalog = \"./catalog\"\npackage = \"lamp-operator\"", "from-catalog");
        assert_eq!(from_catalog, from_folder);
        std::fs::remove_dir_all(case.path("from-catalog")).expect("charts");
    }
}

/// Builds, and expects errors of exactly these kinds and nothing written.
#[track_caller]
fn refused(case: &Case, name: &str, expected: &[Code]) -> Seen {
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
    seen
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
    deep_nesting: [CatalogInvalid] = |case| {
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

/// The most memory in bytes that a build has, and how long it takes.
#[cfg(target_os = "linux")]
fn peak_of_build(case: &Case) -> (u64, Duration) {
    let start = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_bundle2chart"))
        .arg("build")
        .current_dir(case.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let exit = loop {
        // The mark only rises, and a process that has ended has none.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = mark.and_then(|mark| mark.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or_default() * 1024);
        if let Some(exit) = child.try_wait().expect("a child") {
            break exit;
        }
        assert!(start.elapsed() < Duration::from_secs(300), "the program hangs");
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(exit.success(), "{exit}");
    (peak, start.elapsed())
}

/// Writes the bundles of many operators, with descriptions and examples as real ones have them,
/// until the file has `size` bytes.
#[cfg(target_os = "linux")]
fn write_large(file: &mut impl std::io::Write, size: usize, print: fn(&[Value]) -> String) {
    let example = json!([{ "apiVersion": "light.example.com/v1", "kind": "Lamp",
        "metadata": { "name": "example" }, "spec": { "brightness": 5, "colour": "warm \"white\"" } }]);
    let properties = |version: &str| {
        json!([
            { "type": "olm.package", "value": { "packageName": "x", "version": version } },
            { "type": "olm.csv.metadata", "value": {
                "annotations": { "alm-examples": format!("{example:#}").repeat(150) },
                "description": "# Lamps\nThey *shine*, and `glow` at \"night\".\n".repeat(400),
                "crdDescriptions": { "owned": vec![
                    json!({ "kind": "Lamp", "name": "lamps.light.example.com", "version": "v1",
                            "description": "A lamp" }); 40] },
            } },
        ])
    };
    let text = print(&[json!({ "schema": "olm.bundle", "package": "PACKAGE", "name": "NAME",
        "image": "quay.example.com/x@sha256:00", "properties": properties("1.0.0") })]);
    let mut written = 0;
    let mut number = 0;
    while written < size {
        let operator = number / 20;
        // Every twentieth operator is the wanted one: its bundles are large too.
        let package = if operator == 10 {
            "lamp-operator".to_owned()
        } else {
            format!("operator-{operator}")
        };
        let text =
            text.replace("PACKAGE", &package).replace("NAME", &format!("{package}.v0.0.{number}"));
        file.write_all(text.as_bytes()).expect("a file");
        written += text.len();
        number += 1;
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_large_catalog_image_takes_little_memory() {
    const MIB: usize = 1 << 20;
    let mut index = Vec::new();
    write_large(&mut index, 100 * MIB, |objects| {
        // Something that compresses as badly as icons do.
        let noise = (0..200_u32).map(|n| support::image::digest(&n.to_le_bytes()));
        let mut objects = objects.to_vec();
        objects[0]["icon"] = json!(noise.collect::<Vec<_>>());
        as_json(&objects)
    });
    index.extend_from_slice(as_json(&catalog()).as_bytes());
    let mut layer = Layer::new();
    layer.file("configs/index.json", &index);
    drop(index);
    let case = with_catalog_image(catalog_image(Some("/configs"), vec![layer]));
    let (peak, time) = peak_of_build(&case);
    println!("image: {} MiB of memory, {time:?}", peak / MIB as u64);
    assert!(peak > 0 && peak < 100 * MIB as u64, "{peak} bytes");
    assert!(case.path("out/lamp-operator/1.2.3/Chart.yaml").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn a_large_catalog_takes_little_memory() {
    const MIB: usize = 1 << 20;
    for (size, path, print) in [
        (300 * MIB, "catalog/index.json", as_json as fn(&[Value]) -> String),
        (100 * MIB, "catalog/index.yaml", as_yaml),
    ] {
        let case = case(&[]);
        case.write(path, "");
        let mut file = std::io::BufWriter::with_capacity(
            MIB,
            std::fs::File::create(case.path(path)).expect("a file"),
        );
        write_large(&mut file, size, print);
        file.write_all(print(&catalog()).as_bytes()).expect("a file");
        file.flush().expect("a file");
        let (peak, time) = peak_of_build(&case);
        println!("{path}: {} MiB of memory, {time:?}", peak / MIB as u64);
        assert!(peak > 0 && peak < 100 * MIB as u64, "{path}: {peak} bytes");
        assert!(case.path("out/lamp-operator/1.2.3/Chart.yaml").exists());
    }
}

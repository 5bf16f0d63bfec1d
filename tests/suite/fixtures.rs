//! `fixtures/registry` is an OCI image layout with bundles in it, made from the readable files in
//! `fixtures/bundles`. This test makes it again and compares byte for byte; after a change of the
//! sources, `UPDATE=1 cargo test --test suite fixtures::` writes the new layout.

use crate::support::image::{Compression, Image, Layer, Layout};
use crate::support::{large_schemas, operating_system};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

type Files = BTreeMap<String, Vec<u8>>;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Every regular file below a folder, by path with `/`; empty when there is no such folder.
#[cfg(test)]
fn read_tree(root: &Path) -> Files {
    walkdir::WalkDir::new(root)
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let path = entry.path().strip_prefix(root).expect("below the root");
            let name = path.to_str().expect("UTF-8").replace(std::path::MAIN_SEPARATOR, "/");
            (name, fs::read(entry.path()).expect("a readable file"))
        })
        .collect()
}

/// The files of the mesh operator's bundle, with its large CRDs.
pub(crate) fn mesh() -> Files {
    let mut files = bundle("mesh-operator", "2.3.1");
    for (name, content) in large_schemas::files() {
        let clash = files.insert(format!("manifests/{name}"), content);
        assert!(clash.is_none(), "{name} is written by hand and generated");
    }
    files
}

/// A bundle's files as they are in `fixtures/bundles`, `manifests/…` and `metadata/…`.
#[cfg(test)]
fn bundle(name: &str, version: &str) -> Files {
    let files = read_tree(&fixtures().join("bundles").join(name).join(version));
    assert!(files.contains_key("metadata/annotations.yaml"), "{name} {version} is no bundle");
    files
}

/// One layer for each of the two folders, as the tools that build bundle images make them.
#[cfg(test)]
fn bundle_layers(files: &Files, compression: Compression, prefix: &'static str) -> Vec<Packed> {
    ["manifests", "metadata"]
        .map(|folder| {
            let mut layer = Layer::with_prefix(prefix);
            layer.folder(folder);
            for (path, content) in files {
                if path.starts_with(&format!("{folder}/")) {
                    layer.file(path, content);
                }
            }
            (compression, layer.into_tar())
        })
        .to_vec()
}

type Packed = (Compression, Vec<u8>);

/// An image whose labels are the bundle's annotations.
#[cfg(test)]
fn image(architecture: &'static str, files: &Files, layers: Vec<Packed>) -> Image {
    #[derive(serde::Deserialize)]
    struct Annotations {
        annotations: BTreeMap<String, String>,
    }
    let text = &files["metadata/annotations.yaml"];
    let labels = serde_yaml::from_slice::<Annotations>(text).expect("annotations").annotations;
    Image { architecture, labels, layers }
}

#[cfg(test)]
fn build(earlier: &Files) -> Files {
    use Compression::{Gzip, None, Zstd};
    let mut layout = Layout::keeping_layers_of(earlier);

    let files = bundle("sealing-wax-operator", "1.0.0");
    layout.image(
        "registry.example.com/sealing-wax/sealing-wax-operator-bundle:1.0.0",
        &image("amd64", &files, bundle_layers(&files, Gzip, "")),
    );

    // The same content for two platforms, as build services make it.
    let files = bundle("sealing-wax-operator", "1.1.0");
    layout.index(
        "registry.example.com/sealing-wax/sealing-wax-operator-bundle:1.1.0",
        &["arm64", "amd64"]
            .map(|platform| image(platform, &files, bundle_layers(&files, Gzip, ""))),
    );

    let files = mesh();
    layout.image(
        "registry.example.com/mesh/mesh-operator-bundle:2.3.1",
        &image("amd64", &files, bundle_layers(&files, Gzip, "")),
    );

    let files = bundle("pod-group-operator", "1.0.0");
    let mut layers = vec![
        (Gzip, operating_system::system().into_tar()),
        (Gzip, operating_system::leftovers().into_tar()),
        (Gzip, operating_system::cleaning().into_tar()),
    ];
    layers.extend(bundle_layers(&files, Zstd, ""));
    layers.push((None, operating_system::build_information().into_tar()));
    layout.image(
        "registry.example.com/pod-groups/pod-group-operator-bundle:1.0.0",
        &image("amd64", &files, layers),
    );

    let files = bundle("toll-bridge-operator", "0.3.0");
    layout.image(
        "registry.example.com/toll-bridge/toll-bridge-operator-bundle:0.3.0",
        &image("amd64", &files, bundle_layers(&files, Gzip, "")),
    );

    let files = bundle("awkward-operator", "0.1.0");
    layout.image(
        "registry.example.com/awkward/awkward-operator-bundle:0.1.0",
        &image("amd64", &files, bundle_layers(&files, None, "./")),
    );
    layout.into_files()
}

#[test]
fn the_registry_is_what_its_sources_say() {
    let registry = fixtures().join("registry");
    let committed = read_tree(&registry);
    let built = build(&committed);
    if std::env::var_os("UPDATE").is_some() {
        for path in committed.keys().filter(|path| !built.contains_key(*path)) {
            fs::remove_file(registry.join(path)).expect("a blob that nothing names any more");
        }
        for (path, content) in &built {
            let path = registry.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, content).expect("a blob");
        }
        return;
    }
    let differing: Vec<&String> = built
        .keys()
        .chain(committed.keys())
        .filter(|path| built.get(*path) != committed.get(*path))
        .collect();
    assert!(
        differing.is_empty(),
        "fixtures/registry is not what its sources say; run `UPDATE=1 cargo test --test suite fixtures::` \
         and commit the result. Missing, superfluous or different: {differing:#?}"
    );
}

#[test]
fn the_registry_is_the_same_with_layers_compressed_before() {
    let once = build(&Files::new());
    assert_eq!(build(&once), once);
}

#[test]
fn the_mesh_has_large_schemas() {
    let files = large_schemas::files();
    let total: usize = files.iter().map(|(_, content)| content.len()).sum();
    assert!((2_900_000..3_300_000).contains(&total), "{total} bytes");
    let needs_server_side_apply = files.iter().filter(|(_, content)| content.len() > 262_144);
    assert_eq!(needs_server_side_apply.count(), 4);
    for (name, content) in &files {
        let tree: serde_json::Value = serde_yaml::from_slice(content).expect(name);
        let names = (&tree["spec"]["names"]["plural"], &tree["spec"]["group"]);
        let (plural, group) = (names.0.as_str().expect(name), names.1.as_str().expect(name));
        assert_eq!(tree["metadata"]["name"], format!("{plural}.{group}"));
        assert_eq!(*name, format!("{group}_{plural}.yaml"));
    }
}

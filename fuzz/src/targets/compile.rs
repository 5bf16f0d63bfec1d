//! A changed bundle is rejected with an error, or compiles to charts that render to its objects.

use super::super::memory::bounded;
use super::objects::{is_same, own_yaml};
use super::{fixtures, tree};
use arbitrary::Unstructured;
use bundle2chart::chart::{self, Description};
use bundle2chart::config::{BundleConfig, Config, Layout};
use bundle2chart::diag::{Diagnostics, SourceText};
use bundle2chart::ir::Release;
use bundle2chart::pipeline;
use bundle2chart::source::BundleFiles;
use bundle2chart::yaml::render::render;
use serde_json::Value as Json;
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// A bundle, and the documents of each of its manifests.
struct Base {
    files: BundleFiles,
    manifests: Vec<(String, Vec<Json>)>,
}

static BASES: LazyLock<Vec<Base>> = LazyLock::new(|| {
    let bundles = fixtures::bundles(60_000).into_iter().map(|files| {
        let read = |(name, text): (&String, &Vec<u8>)| (name.clone(), fixtures::documents(text));
        Base { manifests: files.manifests.iter().map(read).collect(), files }
    });
    bundles.collect()
});

const CRDS: [&str; 4] = ["", "crds = \"templates\"", "crds = \"separate\"", "crds = \"crds\""];
const SETTINGS: [&str; 11] = [
    "",
    "watch = \"all\"",
    "watch = \"own\"",
    "watch = [\"one\", \"two\"]",
    "certificates = \"helm\"",
    "certificates = \"cert-manager\"",
    "certificates = \"existing-secret\"",
    "pull-secret = \"pull\"",
    "strip-descriptions = true",
    "aggregate-roles = true",
    "namespace = \"elsewhere\"",
];

static CONFIGS: LazyLock<Vec<BundleConfig>> = LazyLock::new(|| {
    let mut configs = Vec::new();
    for crds in CRDS {
        for settings in SETTINGS {
            let text = format!("[[bundle]]\nname = \"x\"\npath = \"x\"\n{crds}\n{settings}\n");
            let source = Arc::new(SourceText { name: "bundles.toml".into(), text });
            let mut diagnostics = Diagnostics::new();
            let config = Config::parse(&source, Path::new("/nowhere"), &mut diagnostics);
            let messages = || diagnostics.iter().map(|d| d.message.clone()).collect::<Vec<_>>();
            let config = config.unwrap_or_else(|| panic!("{crds} {settings}: {:?}", messages()));
            configs.push(config.bundles[0].clone());
        }
    }
    configs
});

/// Changes of one bundle. More make it likely that all are rejected.
const MOST_CHANGES: usize = 24;

fn changed(u: &mut Unstructured<'_>, base: &Base) -> arbitrary::Result<BundleFiles> {
    let mut manifests = base.manifests.clone();
    let csv = manifests.iter().position(|(name, _)| name.contains("clusterserviceversion"));
    for _ in 0..MOST_CHANGES {
        if u.is_empty() {
            break;
        }
        // The compiler looks at the CSV, and at its spec, more than at all the rest.
        let at = match csv {
            Some(csv) if u.ratio(2_u8, 3_u8)? => csv,
            _ => u.choose_index(manifests.len())?,
        };
        let documents = &mut manifests[at].1;
        if documents.is_empty() || u.ratio(1_u8, 30_u8)? {
            documents.push(tree::any(u, 4)?);
            continue;
        }
        let document = u.choose_index(documents.len())?;
        let document = &mut documents[document];
        match document.get_mut("spec") {
            Some(spec) if u.ratio(4_u8, 5_u8)? => tree::mutate(u, spec)?,
            _ => tree::mutate(u, document)?,
        }
    }

    let text = |documents: Vec<Json>| {
        let texts: Vec<String> = documents.iter().map(Json::to_string).collect();
        texts.join("\n---\n").into_bytes()
    };
    let manifests = manifests.into_iter().map(|(name, documents)| (name, text(documents)));
    Ok(BundleFiles { manifests: manifests.collect(), ..base.files.clone() })
}

fn check(files: &BundleFiles, config: &BundleConfig) {
    let mut diagnostics = Diagnostics::new();
    let compiled = pipeline::compile(files, config, &mut diagnostics);
    let Some(compiled) = compiled else {
        assert!(diagnostics.has_errors(), "rejected without an error");
        return;
    };
    if diagnostics.has_errors() {
        return;
    }

    let values = compiled.unit.default_values();
    let releases = ["my-ns", "elsewhere"].map(|namespace| Release { namespace, values: &values });
    let meant = releases.each_ref().map(|release| {
        let objects = compiled.unit.objects.iter();
        objects.filter_map(|object| release.object(object)).collect::<Vec<Json>>()
    });
    // Messages repeat texts of the bundle, and a chart's README repeats messages.
    let warnings: Vec<String> = diagnostics.iter().map(|found| found.message.clone()).collect();
    let charts = chart::charts(
        compiled.unit,
        &Description {
            bundle: compiled.bundle.as_ref(),
            config,
            version: &semver::Version::new(1, 2, 3),
            namespace: &compiled.namespace,
            watch: compiled.watch.as_ref(),
            origin: "x",
            images: &[],
            layout: Layout::default(),
            crds: compiled.crds,
            warnings: &warnings,
            additions: &chart::Additions::default(),
        },
    );
    for (release, meant) in releases.iter().zip(meant) {
        let mut rendered = Vec::new();
        for (path, content) in charts.iter().flat_map(|chart| &chart.files) {
            rendered.extend(objects(path, content, release));
        }
        compare(meant, rendered);
    }
}

/// Returns the objects of a file of a chart; checks that each file can be read.
fn objects(path: &str, content: &[u8], release: &Release<'_>) -> Vec<Json> {
    let text = std::str::from_utf8(content).expect("UTF-8");
    if path.ends_with(".json") {
        serde_json::from_str::<Json>(text).expect("JSON");
    }
    if !path.ends_with(".yaml") {
        return Vec::new();
    }
    let is_template = path.starts_with("templates/") || path.contains("/templates/");
    if is_template {
        let mut rendered = String::new();
        let result = render(text, release, |part| rendered.push_str(part));
        result.unwrap_or_else(|error| panic!("{path}: {error:?}\n{text}"));
        return own_yaml(&rendered);
    }
    let documents = own_yaml(text);
    let is_crd = path.starts_with("crds/") || path.starts_with("charts/crds/crds/");
    if is_crd { documents } else { Vec::new() }
}

fn compare(mut meant: Vec<Json>, mut rendered: Vec<Json>) {
    let key = |object: &Json| {
        let metadata = &object["metadata"];
        let name = (&metadata["namespace"], &metadata["name"]);
        format!("{} {} {} {}", object["apiVersion"], object["kind"], name.0, name.1)
    };
    meant.sort_by_key(key);
    rendered.sort_by_key(key);
    let keys = |objects: &[Json]| objects.iter().map(key).collect::<Vec<_>>();
    assert_eq!(keys(&meant), keys(&rendered), "other objects");
    for (meant, rendered) in meant.iter().zip(&rendered) {
        assert!(is_same(meant, rendered), "meant:    {meant}\nrendered: {rendered}");
    }
}

fn check_input(data: &[u8]) -> arbitrary::Result<()> {
    let mut u = Unstructured::new(data);
    let base = &BASES[u.choose_index(BASES.len())?];
    let config = &CONFIGS[u.choose_index(CONFIGS.len())?];
    let files = changed(&mut u, base)?;
    bounded(256, || check(&files, config));
    Ok(())
}

/// Checks one input.
pub fn run(data: &[u8]) {
    // An error means that the input has too few bytes.
    let _ = check_input(data);
}

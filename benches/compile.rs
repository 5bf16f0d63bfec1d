//! Times of the stages for the 3 MB mesh bundle of fixtures/, for 100 bundles, and for an
//! upgrade of thousands of objects.
//!
//! `cargo bench`. The whole process is timed in the README.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test"
)]

use bundle2chart::config::{BundleConfig, Config};
use bundle2chart::diag::Diagnostics;
use bundle2chart::diff::{self, Options, Side};
use bundle2chart::ir::Release;
use bundle2chart::lock::Lock;
use bundle2chart::output::{self, ChartFiles, Mode};
use bundle2chart::pipeline::{self, Inputs};
use bundle2chart::source::{self, Access, BundleFiles, Limits, SourceResolver};
use divan::Bencher;
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[path = "../tests/diff_scaling/shapes.rs"]
mod shapes;

use shapes::SHAPES;

fn main() {
    divan::main();
}

const MESH: &str = "fixtures/registry:registry.example.com/mesh/mesh-operator-bundle:2.3.1";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn mesh() -> BundleFiles {
    let source = source::from_argument(root().join(MESH).to_str().expect("a UTF-8 path"));
    let limits = Limits::default();
    source::fetch(&source, Path::new(""), &[], &limits, &mut Diagnostics::new())
        .expect("the mesh bundle")
}

/// The baseline of all figures: reading the bundle's YAML and nothing more.
#[divan::bench]
fn read_yaml(bencher: Bencher) {
    let files = mesh();
    let texts: Vec<&str> =
        files.manifests.values().map(|bytes| std::str::from_utf8(bytes).expect("text")).collect();
    bencher.bench(|| {
        texts.iter().map(|text| bundle2chart::yaml::parse(text).expect("YAML").len()).sum::<usize>()
    });
}

/// Two sides of 3 MB of CRDs, all of which differ: what `diff` takes once both are read.
#[divan::bench]
fn diff_sides(bencher: Bencher) {
    let side = |changed: bool| {
        let files = mesh();
        let source = source::from_argument("mesh");
        let config = BundleConfig::new("mesh-operator", source);
        let compiled =
            pipeline::compile(&files, &config, &mut Diagnostics::new()).expect("it compiles");
        let values = compiled.unit.default_values();
        let release = Release { namespace: "ns", values: &values };
        let objects: Vec<serde_json::Value> =
            compiled.unit.objects.iter().filter_map(|object| release.object(object)).collect();
        let changed = |object: serde_json::Value| {
            // Every hundredth description says something else.
            let mut parts: Vec<String> = Vec::new();
            let text = object.to_string();
            for (number, part) in text.split("\"description\":\"").enumerate() {
                parts.push(if changed && number % 100 == 1 {
                    format!("New. {part}")
                } else {
                    part.to_owned()
                });
            }
            serde_json::from_str(&parts.join("\"description\":\"")).expect("JSON")
        };
        Side::new("mesh", objects.into_iter().map(changed), "ns", None)
    };
    let (old, new) = (side(false), side(true));
    bencher
        .with_inputs(|| (old.clone(), new.clone()))
        .bench_values(|(old, new)| diff::compare(old, new, &Options::default()).objects.len());
}

/// `count` objects of an operator: roles, bindings, accounts and Deployments in equal parts.
fn many_objects(count: usize, version: &str, tag: &str) -> Side {
    let objects = (0..count / 4).flat_map(|index| {
        let name = format!("widget-{index}-{version}");
        let rbac = "rbac.authorization.k8s.io";
        let labels = json!({"app": name, "part": format!("part-{}", index % 10)});
        let metadata = json!({"name": name, "labels": labels});
        [
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
            json!({"apiVersion": format!("{rbac}/v1"), "kind": "Role", "metadata": metadata,
                "rules": [{"apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["get"]},
                    {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]}]}),
            json!({"apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "metadata": metadata,
                "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": name}]}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
                "spec": {"selector": {"matchLabels": labels}, "template": {
                    "metadata": {"labels": labels},
                    "spec": {"serviceAccountName": name, "containers": [{"name": "manager",
                        "image": format!("registry.example.com/widget:{tag}"),
                        "args": ["--leader-elect"], "env": [{"name": "A", "value": "b"}]}]}}}}),
        ]
    });
    Side::new("many", objects, "ns", None)
}

/// An upgrade in which every object has another name, and every Deployment another image.
#[divan::bench(args = [500, 1_000, 2_000, 4_000])]
fn diff_renamed(bencher: Bencher, count: usize) {
    let (old, new) = (many_objects(count, "v1", "1.0.0"), many_objects(count, "v2", "2.0.0"));
    bencher
        .with_inputs(|| (old.clone(), new.clone()))
        .bench_values(|(old, new)| diff::compare(old, new, &Options::default()).objects.len());
}

/// The shapes of tests/diff_scaling, which are one object with thousands of one thing each.
#[divan::bench(args = SHAPES.iter().map(|(name, _)| name), consts = [500, 4_000], sample_count = 10)]
fn diff_shapes<const COUNT: usize>(bencher: Bencher, name: &str) {
    let (_, shape) = SHAPES.iter().find(|(other, _)| *other == name).expect("a shape");
    let (old, new) = (shape(COUNT, 0), shape(COUNT, 1));
    bencher
        .with_inputs(|| (old.clone(), new.clone()))
        .bench_values(|(old, new)| diff::compare(old, new, &Options::default()).objects.len());
}

#[divan::bench]
fn unpack_layers() -> BundleFiles {
    mesh()
}

#[divan::bench]
fn compile_in_memory(bencher: Bencher) {
    let files = mesh();
    let source = source::from_argument("mesh");
    bencher.bench(|| {
        let config = BundleConfig::new("mesh-operator", source.clone());
        pipeline::compile(&files, &config, &mut Diagnostics::new())
            .expect("it compiles")
            .unit
            .objects
            .len()
    });
}

/// A configuration of `count` bundles, every tenth of them the mesh operator.
fn configuration(folder: &Path, count: usize) -> Config {
    let mut text = format!(
        "[[mirror]]\nfrom = \"registry.example.com\"\nto = \"oci-layout:{}\"\n",
        root().join("fixtures/registry").display()
    );
    const SMALL: [&str; 3] = [
        "pod-groups/pod-group-operator-bundle:1.0.0",
        "sealing-wax/sealing-wax-operator-bundle:1.1.0",
        "sealing-wax/sealing-wax-operator-bundle:1.0.0",
    ];
    for index in 0..count {
        let image = match index % 10 {
            0 => "mesh/mesh-operator-bundle:2.3.1",
            _ => SMALL[index % 3],
        };
        let _ = write!(
            text,
            "[[bundle]]\nname = \"operator-{index}\"\nimage = \"registry.example.com/{image}\"\n"
        );
    }
    let path = folder.join("bundles.toml");
    std::fs::write(&path, text).expect("a writable folder");
    Config::read(&path, &mut Diagnostics::new()).expect("a valid configuration")
}

fn build(config: &Config, out: &Path) -> usize {
    let jobs = std::thread::available_parallelism().map_or(1, Into::into);
    let sources = SourceResolver::of(config, Access { offline: true, ..Access::default() });
    let mut diagnostics = Diagnostics::new();
    let inputs = Inputs { config, sources: &sources, lock: &Lock::default(), jobs };
    let built = pipeline::build(&inputs, &[], &mut diagnostics).charts.into_iter();
    let charts: Vec<ChartFiles> = built.map(|chart| chart.files).collect();
    assert!(!diagnostics.has_errors());
    output::write(out, &charts, None, Mode::Write { replace: false }, &mut diagnostics)
        .expect("written")
        .unchanged
        .len()
}

#[divan::bench(args = [1, 100], sample_count = 5, sample_size = 1)]
fn build_fresh(bencher: Bencher, count: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let config = configuration(folder.path(), count);
    bencher
        .with_inputs(|| tempfile::tempdir_in(folder.path()).expect("a folder"))
        .bench_refs(|out| build(&config, &out.path().join("out")));
}

#[divan::bench(args = [1, 100], sample_count = 5, sample_size = 1)]
fn build_unchanged(bencher: Bencher, count: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let config = configuration(folder.path(), count);
    let out = folder.path().join("out");
    build(&config, &out);
    bencher.bench(|| assert_eq!(build(&config, &out), count));
}

//! Charts as Helm sees them: every chart lints, packages and renders to exactly the objects that
//! were compiled, in every supported Helm, in any namespace, with any values.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test")]
#![allow(clippy::disallowed_methods, clippy::print_stderr, reason = "a test says what it skips")]

#[path = "support/helm.rs"]
mod helm;
#[path = "support/rendered.rs"]
mod rendered;
#[path = "support/shared.rs"]
mod shared;

use bundle2chart::config::{BundleConfig, Config, CrdPlacement};
use bundle2chart::diag::{Code, Severity};
use bundle2chart::emit::{self, ChartFiles, render};
use bundle2chart::ir::{Release, Unit};
use bundle2chart::pipeline::{self, Compiled};
use bundle2chart::source::{self, Limits};
use helm::Helm;
use rendered::{documents, object_differences};
use serde_json::{Value as Json, json};
use shared::shared;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

const ELSEWHERE: &str = "somewhere-else";

/// Keys that the schema of every chart refuses.
const UNKNOWN_KEYS: [&str; 3] = ["nope=1", "pullSecret.nmae=x", "imagePullSecrets[0].nmae=x"];

/// What a person may set besides the defaults.
fn values_of_a_person() -> Json {
    json!({
        "pullSecret": {
            "name": "my-registry",
            "dockerConfigJson": "{\"auths\":{\"registry.example.com\":{\"auth\":\"dTpwÄ{{ x }}\"}}}\n",
        },
        "imagePullSecrets": [{"name": "another"}, {"name": "yes"}],
    })
}

/// A chart of this repository's bundles.toml.
struct Chart {
    config: BundleConfig,
    compiled: Compiled,
    files: ChartFiles,
    folder: PathBuf,
}

fn charts(out: &Path) -> Vec<Chart> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("bundles.toml");
    let (config, diagnostics) = Config::read(&file);
    let config = config.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let (built, diagnostics) = pipeline::build(&config, &[], 2);
    assert!(!diagnostics.has_errors(), "{diagnostics:?}");
    emit::write(out, &built, false).expect("an empty folder takes every chart");
    assert_eq!(config.bundles.len(), built.len());
    (config.bundles.iter().zip(built))
        .map(|(bundle, files)| {
            let compiled = compile(&config, bundle);
            let folder = out.join(&files.dir);
            Chart { config: bundle.clone(), compiled, files, folder }
        })
        .collect()
}

/// What a bundle that was built without an error is compiled to.
fn compile(config: &Config, bundle: &BundleConfig) -> Compiled {
    let limits = Limits::default();
    let (files, _) = source::fetch(&bundle.source, &config.base, &config.mirrors, &limits);
    let (compiled, _) = pipeline::compile(&files.expect("what was just read"), bundle);
    compiled.expect("what was just compiled")
}

/// The objects of a release.
fn objects(unit: &Unit, namespace: &str, values: &Json) -> Vec<Json> {
    let release = Release { namespace, values };
    unit.objects.iter().filter_map(|object| release.object(object)).collect()
}

#[track_caller]
fn assert_same(expected: &[Json], text: &str, what: &str) {
    let differences = object_differences(expected, &documents(text));
    assert!(differences.is_empty(), "{what}\n{}", differences.join("\n"));
}

/// What else a person may set for a chart: a bit of each Deployment.
fn values_of(chart: &Chart) -> Json {
    let mut values = values_of_a_person();
    for deployment in chart.compiled.unit.objects.iter().filter(|o| o.kind() == "Deployment") {
        values["deployments"][deployment.name()] = json!({
            "replicas": 0,
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "affinity": {"nodeAffinity": {"{{": ["yes"]}},
            "tolerations": [{"key": "a/b", "operator": "Exists", "tolerationSeconds": 1_000_000}],
            "env": [{"name": "A_VARIABLE", "value": "{{ no }}: #"}],
            "envFrom": [{"configMapRef": {"name": "settings"}}],
            "volumes": [{"name": "a-volume", "emptyDir": {}}],
            "volumeMounts": [{"name": "a-volume", "mountPath": "/a"}],
        });
    }
    values
}

/// As Helm lays values over defaults.
fn merge(defaults: &mut Json, values: &Json) {
    match (defaults, values) {
        (Json::Object(defaults), Json::Object(values)) => {
            for (key, value) in values {
                merge(defaults.entry(key.clone()).or_insert(Json::Null), value);
            }
        }
        (default, value) => default.clone_from(value),
    }
}

/// Each namespace with each set of values: the arguments for Helm and the values themselves.
fn releases<'a>(chart: &'a Chart, file: &'a str) -> [(&'a str, Json, Vec<&'a str>); 4] {
    let defaults = chart.compiled.unit.default_values();
    let mut set = defaults.clone();
    merge(&mut set, &values_of(chart));
    let home = chart.compiled.namespace.as_str();
    [
        (home, defaults.clone(), vec![]),
        (home, set.clone(), vec!["--values", file]),
        (ELSEWHERE, defaults, vec![]),
        (ELSEWHERE, set, vec!["--values", file]),
    ]
}

#[test]
fn every_helm_renders_the_compiled_objects() {
    let temporary = TempDir::new().expect("a folder");
    let charts = charts(&temporary.path().join("out"));
    let helms = Helm::all();
    let pairs: Vec<_> = charts.iter().flat_map(|c| helms.iter().map(move |h| (c, h))).collect();
    in_parallel(&pairs, |(chart, helm)| {
        let Chart { config, compiled, folder, .. } = chart;
        let what = format!("{} with Helm {}", config.name, helm.version);
        let values = temporary.path().join(format!("{}-{}.json", config.name, helm.version));
        std::fs::write(&values, values_of(chart).to_string()).expect("values");
        let values = values.to_str().expect("UTF-8");
        let linted = helm.lint(folder, &["--values", values]).expect_success();
        assert!(!linted.contains("[WARNING]") && !linted.contains("[ERROR]"), "{what}: {linted}");
        let dependencies = helm.run(["dependency".as_ref(), "list".as_ref(), folder.as_os_str()]);
        let dependencies = dependencies.expect_success();
        let subchart = folder.join("charts").exists();
        assert_eq!(subchart, config.crds == CrdPlacement::Subchart, "{what}");
        let status = if subchart { "unpacked" } else { "no dependencies" };
        assert!(dependencies.contains(status), "{what}: {dependencies}");

        let packages = temporary.path().join(format!("{}-{}", config.name, helm.version));
        let archive = helm.package(folder, &packages);
        for (namespace, values, arguments) in releases(chart, values) {
            let expected = objects(&compiled.unit, namespace, &values);
            let text = helm.template("release", folder, namespace, &arguments).expect_success();
            assert_same(&expected, &text, &format!("{what} in {namespace} {arguments:?}"));
            let packed = helm.template("release", &archive, namespace, &arguments);
            assert!(packed.expect_success() == text, "{what}: the package renders otherwise");
        }

        for unknown in UNKNOWN_KEYS {
            let run = helm.template("release", folder, ELSEWHERE, &["--set", unknown]);
            assert!(!run.success, "{what} takes {unknown}");
            assert!(run.stderr.contains("ddition"), "{what} {unknown}: {}", run.stderr);
        }
        for (known, taken) in [("crds.x=1", subchart), ("global.x=1", true)] {
            let run = helm.template("release", folder, ELSEWHERE, &["--set", known]);
            assert_eq!(run.success, taken, "{what} {known}: {}", run.stderr);
        }
    });
}

#[test]
fn our_renderer_renders_the_compiled_objects() {
    let temporary = TempDir::new().expect("a folder");
    for chart in charts(&temporary.path().join("out")) {
        for (namespace, values, _) in releases(&chart, "") {
            let release = Release { namespace, values: &values };
            let mut text = String::new();
            for (path, content) in &chart.files.files {
                let content = std::str::from_utf8(content).expect("UTF-8");
                if !path.ends_with(".yaml") || !path.contains('/') {
                    continue;
                }
                match path.split_once('/') {
                    Some(("templates", _)) => {
                        text += &render::render(content, &release).expect("our own template");
                    }
                    _ if path.contains("crds/crds/") || path.starts_with("crds/") => {
                        text += content;
                    }
                    _ => continue,
                }
                text += "\n---\n";
            }
            let expected = objects(&chart.compiled.unit, namespace, &values);
            assert_same(&expected, &text, &chart.config.name);
        }
    }
}

/// CRDs as before Kubernetes 1.22, and no install mode.
const OLD: &[Code] = &[Code::CrdApiVersion, Code::InstallModeUnsupported];

/// Real bundles that are refused, with every code of an error.
const REFUSED: &[(&str, &[Code])] = &[
    ("etcd.0.9.2", OLD),
    ("hist-package-with-webhooks.v1.0.0", &[Code::ConversionWebhook, Code::ServerMissing]),
    ("prometheus.0.14.0", OLD),
    ("prometheus.0.15.0", OLD),
    ("prometheus.0.22.2", OLD),
];

/// What became of a real bundle.
enum Outcome {
    Same(usize),
    Refused(Vec<Code>),
    Wrong(String),
}

#[test]
fn real_bundles_render_to_the_compiled_objects() {
    let (Some(corpus), Some(goldens)) = (shared("corpus"), shared("olm-goldens/bundles")) else {
        return;
    };
    let mut bundles: Vec<(String, PathBuf)> = Vec::new();
    for package in folders(&corpus) {
        bundles.extend(folders(&package).into_iter().map(|f| (label(&f, 2), f)));
    }
    bundles.extend(folders(&goldens).into_iter().map(|f| (label(&f, 1), f)));
    assert!(bundles.len() > 80, "{} bundles", bundles.len());

    let helm = Helm::newest();
    let outcomes = in_parallel(&bundles, |(_, folder)| judge(&helm, folder));
    let expected: BTreeMap<_, _> = REFUSED.iter().map(|(name, codes)| (*name, *codes)).collect();
    assert_eq!(expected.len(), REFUSED.len());
    let mut surprises = Vec::new();
    for ((name, _), outcome) in bundles.iter().zip(outcomes) {
        let refusal = expected.get(name.as_str());
        let (line, fine) = match outcome {
            Outcome::Same(count) => (format!("{count} objects"), refusal.is_none()),
            Outcome::Refused(codes) => {
                (format!("refused: {codes:?}"), refusal == Some(&codes.as_slice()))
            }
            Outcome::Wrong(why) => (why, false),
        };
        println!("{name:<50} {line}");
        if !fine {
            surprises.push(format!("{name}: {line}"));
        }
    }
    assert!(surprises.is_empty(), "not as expected:\n{}", surprises.join("\n"));
}

/// Builds the chart of a bundle folder as a person would, and compares.
fn judge(helm: &Helm, bundle: &Path) -> Outcome {
    let temporary = TempDir::new().expect("a folder");
    let file = temporary.path().join("bundles.toml");
    let path = serde_json::to_string(bundle).expect("UTF-8"); // spelled alike in TOML
    let text = format!("[[bundle]]\nname = \"operator\"\npath = {path}\n");
    std::fs::write(&file, text).expect("bundles.toml");
    let (config, diagnostics) = Config::read(&file);
    let config = config.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let (built, diagnostics) = pipeline::build(&config, &[], 1);
    if diagnostics.has_errors() {
        let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
        let mut codes: Vec<Code> = errors.map(|d| d.code).collect();
        codes.sort_by_key(|code| code.as_str());
        codes.dedup();
        return Outcome::Refused(codes);
    }
    let out = temporary.path().join("out");
    emit::write(&out, &built, false).expect("an empty folder takes every chart");
    let folder = out.join(&built[0].dir);
    let linted = helm.lint(&folder, &[]);
    if !linted.success {
        return Outcome::Wrong(format!("lint: {}{}", linted.stdout, linted.stderr));
    }
    let run = helm.template("release", &folder, ELSEWHERE, &[]);
    if !run.success {
        return Outcome::Wrong(format!("template: {}", run.stderr));
    }

    let unit = compile(&config, &config.bundles[0]).unit;
    let expected = objects(&unit, ELSEWHERE, &unit.default_values());
    match object_differences(&expected, &documents(&run.stdout)).as_slice() {
        [] => Outcome::Same(expected.len()),
        differences => Outcome::Wrong(differences.join("\n  ")),
    }
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).expect("a readable folder");
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.expect("an entry").path()).filter(|p| p.is_dir()).collect();
    folders.sort();
    folders
}

/// The last `count` components of a path.
fn label(path: &Path, count: usize) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_str().expect("UTF-8")).collect();
    parts[parts.len() - count..].join("/")
}

/// Does `work` for every item on two threads; results in the order of the items.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let index = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(item) = items.get(index)
                {
                    let result = work(item);
                    done.lock().expect("no panic while locked").insert(index, result);
                }
            });
        }
    });
    done.into_inner().expect("no panic while locked").into_values().collect()
}

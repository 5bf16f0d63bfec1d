//! Charts as Helm sees them: every chart lints, packages and renders to exactly the objects that
//! were compiled, in every supported Helm, in any namespace, with any values.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "a test writes charts")]

#[path = "support/helm.rs"]
mod helm;
#[path = "support/offline.rs"]
mod offline;
#[path = "support/parallel.rs"]
mod parallel;
#[path = "support/rendered.rs"]
mod rendered;

use bundle2chart::config::{BundleConfig, Config, CrdPlacement};
use bundle2chart::emit::{self, ChartFiles, render};
use bundle2chart::ir::{Release, Unit, Value};
use bundle2chart::pipeline::{self, Compiled};
use bundle2chart::source::{self, Limits};
use helm::Helm;
use parallel::in_parallel;
use rendered::{documents, object_differences};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
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
    let (built, diagnostics) = offline::build(&config, &[]);
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
            "annotations": {"a/b": "{{ x }}", "yes": "no"},
        });
    }
    for account in chart.compiled.unit.objects.iter().filter(|o| o.kind() == "ServiceAccount") {
        let annotations = json!({"cloud.example.com/identity": "1234"});
        values["serviceAccounts"][account.name()] = json!({ "annotations": annotations });
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

/// The API server takes each name of a list once, and YAML each key of a map.
#[test]
fn what_an_operator_has_is_not_given_twice() {
    let temporary = TempDir::new().expect("a folder");
    let helm = Helm::newest();
    let mut refused = 0;
    for chart in charts(&temporary.path().join("out")) {
        for deployment in chart.compiled.unit.objects.iter().filter(|o| o.kind() == "Deployment") {
            let taken = deployment.containers().flat_map(|container| {
                container.get("env").and_then(Value::as_seq).unwrap_or_default()
            });
            let taken = taken.filter_map(|variable| variable.get("name")?.as_str()).next();
            let name = deployment.name();
            let with = |settings: Json| {
                let set = format!("deployments={}", json!({ (name): settings }));
                helm.template("release", &chart.folder, ELSEWHERE, &["--set-json", &set])
            };
            if let Some(taken) = taken {
                let run = with(json!({"env": [{"name": taken, "value": "x"}]}));
                assert!(!run.success && run.stderr.contains("not"), "{name}: {}", run.stderr);
                refused += 1;
            }
            let run = with(json!({"annotations": {"olm.targetNamespaces": "x"}}));
            assert!(
                !run.success && run.stderr.contains("olm.targetNamespaces"),
                "{name}: {}",
                run.stderr
            );
            with(json!({"env": [{"name": "FREE", "value": "x"}]})).expect_success();
        }
    }
    assert!(refused >= 3, "{refused}");
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

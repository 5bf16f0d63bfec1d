//! Charts as Helm sees them: every chart lints, packages and renders to exactly the objects that
//! were compiled, in every supported Helm, in any namespace, with any values.

use crate::support::helm::Helm;
use crate::support::offline;
use crate::support::parallel::in_parallel;
use crate::support::rendered::{documents, object_differences};
use crate::support::values::merge;
use bundle2chart::chart::render_generated;
use bundle2chart::config::{BundleConfig, Config, CrdPlacement};
use bundle2chart::diag::Diagnostics;
use bundle2chart::ir::{RELEASE_NAME, Release, Unit, Value, value_keys};
use bundle2chart::output::{self, ChartFiles, Mode};
use bundle2chart::pipeline::{self, Compiled};
use bundle2chart::source::{self, Access, Limits, SourceResolver};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A namespace that one chart watches, and that values name for the operands of others.
const ELSEWHERE: &str = "letters";

/// Keys that the schema of every chart refuses.
const UNKNOWN_KEYS: &str = "nope=1,pullSecret.nmae=x,imagePullSecrets[0].naem=x";

/// Values that users may set in addition to the defaults.
fn values_of_a_person() -> Json {
    json!({
        "pullSecret": {
            "name": "my-registry",
            "dockerConfigJson": "{\"auths\":{\"registry.example.com\":{\"auth\":\"dTpwÄ{{ x }}\"}}}\n",
        },
        "imagePullSecrets": [{"name": "another"}, {"name": "yes"}],
    })
}

/// The charts of a bundle of this repository's bundles.toml.
struct Chart {
    config: BundleConfig,
    compiled: Compiled,
    /// The operator's.
    folder: PathBuf,
    /// All, in the order of their installation.
    parts: Vec<(ChartFiles, PathBuf)>,
}

fn charts(out: &Path) -> Vec<Chart> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("bundles.toml");
    let mut diagnostics = Diagnostics::new();
    let config = Config::read(&file, &mut diagnostics);
    let config = config.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let (built, diagnostics) = offline::build(&config, &[]);
    assert!(!diagnostics.has_errors(), "{diagnostics:?}");
    output::write(out, &built, None, Mode::Write { replace: false }, &mut Diagnostics::new())
        .expect("an empty folder takes every chart");
    let charts: Vec<Chart> = config
        .bundles
        .iter()
        .map(|bundle| {
            let names = ["-crds", "", "-operands"].map(|end| format!("{}{end}", bundle.name));
            let own = |chart: &&ChartFiles| names.iter().any(|name| chart.dir.starts_with(name));
            let parts = built.iter().filter(own).map(|c| (c.clone(), out.join(&c.dir)));
            let parts: Vec<_> = parts.collect();
            let main = parts.iter().find(|(chart, _)| chart.dir.starts_with(&bundle.name));
            let folder = main.expect("the operator's chart").1.clone();
            Chart { config: bundle.clone(), compiled: compile(&config, bundle), folder, parts }
        })
        .collect();
    assert_eq!(charts.iter().map(|chart| chart.parts.len()).sum::<usize>(), built.len());
    assert!(built.len() >= config.bundles.len() + 3, "charts of CRDs and of operands too");
    charts
}

/// Those of `values` that this chart has.
fn known(values: &Json, files: &ChartFiles) -> Json {
    let own = documents(std::str::from_utf8(&files.files["values.yaml"]).expect("UTF-8"));
    let own = own.first().and_then(Json::as_object).cloned().unwrap_or_default();
    let values = values.as_object().expect("a map").iter();
    values.filter(|(key, _)| own.contains_key(*key)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// The charts of a bundle that was built without an error.
fn compile(config: &Config, bundle: &BundleConfig) -> Compiled {
    let limits = Limits::default();
    let mut found = Diagnostics::new();
    let (base, mirrors) = (&config.base, &config.mirrors);
    let files = source::fetch(&bundle.source, base, mirrors, &limits, &mut found);
    let mut files = files.expect("what was just read");
    let sources = SourceResolver::of(config, Access::default());
    files.overlays = sources.overlays(&bundle.overlays, &mut found);
    pipeline::compile(&files, bundle, &mut found).expect("what was just compiled")
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

/// The keys of the values of all objects of a kind, by name.
fn keys(chart: &Chart, kind: &str) -> BTreeMap<String, String> {
    let names = chart.compiled.unit.names(kind);
    let bundle = chart.compiled.bundle.as_ref().expect("a bundle");
    let keys = value_keys(names.iter().map(String::as_str), &bundle.csv.version);
    keys.into_iter().map(|(name, key)| (name.to_owned(), key)).collect()
}

/// Further values for a chart: some of each Deployment.
fn values_of(chart: &Chart) -> Json {
    let mut values = values_of_a_person();
    for deployment in keys(chart, "Deployment").into_values() {
        values["deployments"][deployment] = json!({
            "replicas": 0,
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "affinity": {"nodeAffinity": {"{{": ["yes"]}},
            "tolerations": [{"key": "a/b", "operator": "Exists", "tolerationSeconds": 1_000_000}],
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "{{ y }}"}],
            "priorityClassName": "{{ high }}: #",
            "podSecurityContext": {"fsGroup": 1_000_000, "runAsNonRoot": false},
            "extraEnv": [{"name": "A_VARIABLE", "value": "{{ no }}: #"}],
            "extraEnvFrom": [{"configMapRef": {"name": "settings"}}],
            "extraVolumes": [{"name": "a-volume", "emptyDir": {}}],
            "extraVolumeMounts": [{"name": "a-volume", "mountPath": "/a"}],
            "podAnnotations": {"a/b": "{{ x }}", "yes": "no"},
            "podLabels": {"a/c": "{{ x }}", "on": "off"},
        });
    }
    for account in keys(chart, "ServiceAccount").into_values() {
        let annotations = json!({"cloud.example.com/identity": "1234"});
        values["serviceAccounts"][account] = json!({ "annotations": annotations });
    }
    values["imageRegistries"] = json!({
        "registry.example.com": "mirror.example.com:5000/all",
        "elsewhere.example.com": "never.example.com",
    });
    let images = chart.compiled.unit.values.iter().map(|value| value.path.segments());
    let images = images.filter(|path| path[0] == "images").step_by(2);
    for path in images {
        values["images"][&path[1]] = json!(format!("mine.example.com/{}:1", path[1]));
    }
    for name in chart.config.operands.namespaces.keys() {
        values["namespaces"][name] = json!(ELSEWHERE);
        values["createNamespaces"] = json!(false);
    }
    values
}

/// Each namespace with each set of values, and whether a person has set those.
fn releases(chart: &Chart) -> [(&str, Json, bool); 4] {
    let defaults = chart.compiled.unit.default_values();
    let mut set = defaults.clone();
    merge(&mut set, &values_of(chart));
    let home = chart.compiled.namespace.as_str();
    [
        (home, defaults.clone(), false),
        (home, set.clone(), true),
        (ELSEWHERE, defaults, false),
        (ELSEWHERE, set, true),
    ]
}

#[test]
fn helm_renders_the_compiled_objects() {
    let temporary = TempDir::new().expect("a folder");
    let charts = charts(&temporary.path().join("out"));
    let helms = Helm::oldest_too_in_ci();
    let pairs: Vec<_> = charts.iter().flat_map(|c| helms.iter().map(move |h| (c, h))).collect();
    in_parallel(&pairs, |(chart, helm)| {
        let Chart { config, compiled, parts, .. } = chart;
        let mut rendered = releases(chart).map(|_| String::new());
        for (files, folder) in parts {
            let texts = rendered_part(temporary.path(), chart, helm, files, folder);
            for (all, text) in rendered.iter_mut().zip(texts) {
                *all += &format!("{text}\n---\n");
            }
        }
        for ((namespace, values, set), text) in releases(chart).into_iter().zip(rendered) {
            let expected = objects(&compiled.unit, namespace, &values);
            let what = format!("{} with Helm {}", config.name, helm.version);
            assert_same(&expected, &text, &format!("{what} in {namespace}, set: {set}"));
        }
    });
}

/// Renderings of one of a bundle's charts by each Helm; and everything else that Helm says
/// of it.
fn rendered_part(
    temporary: &Path,
    chart: &Chart,
    helm: &Helm,
    files: &ChartFiles,
    folder: &Path,
) -> [String; 4] {
    let name = files.dir.iter().next().and_then(|name| name.to_str()).expect("a name");
    let what = format!("{name} with Helm {}", helm.version);
    let values = temporary.join(format!("{name}-{}.json", helm.version));
    std::fs::write(&values, known(&values_of(chart), files).to_string()).expect("values");
    let values = values.to_str().expect("UTF-8");
    let linted = helm.lint(folder, &["--values", values]).expect_success();
    assert!(!linted.contains("[WARNING]") && !linted.contains("[ERROR]"), "{what}: {linted}");
    let dependencies = helm.run(["dependency".as_ref(), "list".as_ref(), folder.as_os_str()]);
    let dependencies = dependencies.expect_success();
    let subchart = folder.join("charts").exists();
    let own = folder == chart.folder;
    let crds_chart = name.ends_with("-crds");
    let has_subchart = match chart.compiled.crds {
        CrdPlacement::Subchart | CrdPlacement::Templates => own,
        CrdPlacement::Separate => crds_chart,
        CrdPlacement::Crds => false,
    };
    assert_eq!(subchart, has_subchart, "{what}");
    let status = if subchart { "unpacked" } else { "no dependencies" };
    assert!(dependencies.contains(status), "{what}: {dependencies}");

    let packages = temporary.join(format!("{name}-{}", helm.version));
    let archive = helm.package(folder, &packages);
    let texts = releases(chart).map(|(namespace, _, set)| {
        let arguments = if set { vec!["--values", values] } else { vec![] };
        let text = helm.template(RELEASE_NAME, folder, namespace, &arguments).expect_success();
        // With values, so that it shows that the package has them, too.
        if set && namespace == ELSEWHERE {
            let packed = helm.template(RELEASE_NAME, &archive, namespace, &arguments);
            assert!(packed.expect_success() == text, "{what}: the package renders otherwise");
        }
        text
    });

    let run = helm.template(RELEASE_NAME, folder, ELSEWHERE, &["--set", UNKNOWN_KEYS]);
    assert!(!run.success, "{what} takes {UNKNOWN_KEYS}");
    // A chart of CRDs has no values for pull secrets at all.
    for keys in [["nope"; 2], ["nmae", "pullSecret"], ["naem", "imagePullSecrets"]] {
        let is_refused =
            |line: &str| line.contains("ddition") && keys.iter().any(|key| line.contains(key));
        assert!(run.stderr.lines().any(is_refused), "{what} {keys:?}: {}", run.stderr);
    }
    // The schema knows the values of a subchart of templates, and none of one of files.
    let files_only = subchart && chart.compiled.crds == CrdPlacement::Subchart;
    let templates = files.files.contains_key("charts/crds/templates/_crds.tpl")
        || files.files.contains_key("templates/_crds.tpl");
    let (taken, refused): (Vec<_>, Vec<_>) = [
        ("crds.x=1", files_only),
        ("crds.allowDowngrade=true", files_only || templates),
        ("crds.global.x=1", subchart),
        ("global.x=1", true),
    ]
    .into_iter()
    .partition(|(_, taken)| *taken);
    let taken: Vec<&str> = taken.into_iter().map(|(value, _)| value).collect();
    helm.template(RELEASE_NAME, folder, ELSEWHERE, &["--set", &taken.join(",")]).expect_success();
    // Each alone, because the first hides others of its table; the schema is the same for each Helm.
    for (value, _) in refused.iter().filter(|_| helm.version == Helm::newest().version) {
        let run = helm.template(RELEASE_NAME, folder, ELSEWHERE, &["--set", value]);
        assert!(!run.success, "{what} {value}: {}", run.stderr);
    }
    texts
}

/// `ct lint` runs the first of these for each chart.
#[test]
fn helm_has_no_dependencies_to_write_down() {
    let temporary = TempDir::new().expect("a folder");
    let out = temporary.path().join("out");
    let charts = charts(&out);
    let parts: Vec<ChartFiles> = charts
        .iter()
        .flat_map(|chart| chart.parts.iter().map(|(files, _)| files.clone()))
        .collect();
    let helms = Helm::oldest_too_in_ci();

    in_parallel(&helms.iter().collect::<Vec<_>>(), |helm| {
        // Each Helm has charts of its own to change.
        let own = temporary.path().join(helm.version);
        output::write(&own, &parts, None, Mode::Write { replace: false }, &mut Diagnostics::new())
            .expect("an empty folder takes every chart");
        for chart in &parts {
            let folder = own.join(&chart.dir);
            for command in ["build", "update"] {
                let arguments = ["dependency".as_ref(), command.as_ref(), folder.as_os_str()];
                helm.run(arguments).expect_success();
            }
        }
        let compared = output::write(&own, &parts, None, Mode::Check, &mut Diagnostics::new());
        let comparison = compared.expect("a folder of charts").differences;
        assert!(comparison.is_current(), "Helm {}: {comparison:?}", helm.version);
        assert_eq!(
            output::write(
                &own,
                &parts,
                None,
                Mode::Write { replace: false },
                &mut Diagnostics::new()
            )
            .expect("the same")
            .unchanged
            .len(),
            parts.len()
        );
    });
    let locked = parts.iter().filter(|chart| chart.files.contains_key("Chart.lock"));
    assert!(locked.count() > 0, "a chart with a subchart has a lock");
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
            let key = &keys(&chart, "Deployment")[name];
            let with = |settings: Json| {
                let set = format!("deployments={}", json!({ (key): settings }));
                helm.template(RELEASE_NAME, &chart.folder, ELSEWHERE, &["--set-json", &set])
            };
            if let Some(taken) = taken {
                let run = with(json!({"extraEnv": [{"name": taken, "value": "x"}]}));
                assert!(!run.success && run.stderr.contains("not"), "{name}: {}", run.stderr);
                refused += 1;
            }
            let run = with(json!({"podAnnotations": {"olm.targetNamespaces": "x"}}));
            assert!(
                !run.success && run.stderr.contains("olm.targetNamespaces"),
                "{name}: {}",
                run.stderr
            );
            with(json!({"extraEnv": [{"name": "FREE", "value": "x"}]})).expect_success();
        }
    }
    assert!(refused >= 3, "{refused}");
}

#[test]
fn our_renderer_renders_the_compiled_objects() {
    let temporary = TempDir::new().expect("a folder");
    for chart in charts(&temporary.path().join("out")) {
        for (namespace, values, _) in releases(&chart) {
            let mut text = String::new();
            for (part, _) in &chart.parts {
                let defaults = part.files["values.yaml"].as_slice();
                let mut all: Json = serde_yaml::from_slice(defaults).expect("values");
                merge(&mut all, &values);
                let manifests = render_generated(&part.files, namespace, &all);
                for manifest in manifests.expect("a chart that is as this version writes it") {
                    text += &format!("{}\n---\n", manifest.text);
                }
            }
            let expected = objects(&chart.compiled.unit, namespace, &values);
            assert_same(&expected, &text, &chart.config.name);
        }
    }
}

//! Every real bundle compiles, or is refused for a known reason; every chart renders in Helm to the
//! objects that were compiled. A real API server takes them in tests/api_server.
//!
//! The data is not part of the project: it lies in `../shared` next to a checkout, or where
//! `BUNDLE2CHART_SHARED` says. Without it the test says so and passes.

use crate::lossless::{lost, objects};
use crate::support::helm::Helm;
use crate::support::offline;
use crate::support::parallel::in_parallel;
use crate::support::rendered::{documents, object_differences};
use crate::support::shared::shared;
use bundle2chart::bundle::{self, Bundle};
use bundle2chart::config::{BundleConfig, Config, Watch};
use bundle2chart::diag::{Code, Diagnostics, Severity};
use bundle2chart::ir::{RELEASE_NAME, Release, Unit};
use bundle2chart::lock::{Decisions, Lock, Locked};
use bundle2chart::olm;
use bundle2chart::output::{self, Mode};
use bundle2chart::pipeline;
use bundle2chart::source::{self, Limits};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const NAMESPACE: &str = "somewhere-else";

/// CRDs as before Kubernetes 1.22, and no install mode.
const OLD: &[Code] = &[Code::CrdApiVersion, Code::InstallModeUnsupported];

/// Bundles that are refused, with every code of an error.
const REFUSED: &[(&str, &[Code])] = &[
    ("etcd.0.9.2", OLD),
    ("hist-package-with-webhooks.v1.0.0", &[Code::ConversionWebhook, Code::ServerMissing]),
    ("prometheus.0.14.0", OLD),
    ("prometheus.0.15.0", OLD),
    ("prometheus.0.22.2", OLD),
];

/// Bundles with objects that the API server does not take; the bundle has them, and they are carried
/// through.
const INVALID: &[&str] = &[
    // An example of its own kind, without what its CRD requires.
    "ack-secretsmanager-controller/1.4.1",
    "edge-b3",
];

/// The outcome for a bundle.
pub(crate) struct Outcome {
    /// The objects of its chart, or the codes of its errors.
    objects: Result<usize, Vec<Code>>,
    /// Faults of the chart.
    pub(crate) wrong: Vec<String>,
    /// Codes of warnings and notes.
    said: Vec<Code>,
    /// Deployments and accounts whose keys of values are not their names.
    respelt: Vec<String>,
    /// Time to compile and lay out.
    time: Duration,
}

#[test]
fn every_bundle() {
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
    // The versions of a package follow each other.
    let numbered: Vec<(usize, &PathBuf)> =
        bundles.iter().map(|(_, folder)| folder).enumerate().collect();
    let outcomes = in_parallel(&numbered, |(index, folder)| {
        let next = bundles.get(index + 1).and_then(|(_, next)| next.parent());
        judge(&helm, folder, "", next != folder.parent())
    });
    let refused: BTreeMap<_, _> = REFUSED.iter().copied().collect();
    let mut said: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut surprises, mut slowest) = (Vec::new(), (Duration::ZERO, ""));
    for ((name, _), outcome) in bundles.iter().zip(&outcomes) {
        let name = name.as_str();
        let line = match &outcome.objects {
            Ok(count) => format!("{count:>4} objects"),
            Err(codes) => {
                let codes: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
                format!("refused: {}", codes.join(", "))
            }
        };
        println!("{name:<52} {:>5} ms  {line}", outcome.time.as_millis());
        let expected = refused.get(name).copied();
        if outcome.objects.as_ref().err().map(Vec::as_slice) != expected {
            surprises.push(format!("{name}: {line}"));
        }
        if outcome.said.contains(&Code::ApiRefuses) != INVALID.contains(&name) {
            surprises
                .push(format!("{name}: api-refuses of what an API server accepts, or not said"));
        }
        for code in &outcome.said {
            *said.entry(code.as_str()).or_default() += 1;
        }
        surprises.extend(outcome.wrong.iter().map(|why| format!("{name}: {why}")));
        if outcome.time > slowest.0 {
            slowest = (outcome.time, name);
        }
    }
    let compiled = outcomes.iter().filter(|outcome| outcome.objects.is_ok()).count();
    println!(
        "{compiled} of {} compile; the slowest is {}: {:?}",
        bundles.len(),
        slowest.1,
        slowest.0
    );
    println!("said of bundles: {said:?}");
    let respelt: Vec<&str> =
        outcomes.iter().flat_map(|outcome| &outcome.respelt).map(String::as_str).collect();
    println!("{} keys of values differ from names: {}", respelt.len(), respelt.join(", "));
    assert!(surprises.is_empty(), "not as expected:\n{}", surprises.join("\n"));
}

/// Builds the chart of a bundle folder as a person would, and looks at it.
pub(crate) fn judge(helm: &Helm, bundle: &Path, settings: &str, is_newest: bool) -> Outcome {
    let temporary = TempDir::new().expect("a folder");
    let file = temporary.path().join("bundles.toml");
    let path = serde_json::to_string(bundle).expect("UTF-8"); // spelled alike in TOML
    let text = format!("[[bundle]]\nname = \"operator\"\npath = {path}\n{settings}");
    std::fs::write(&file, text).expect("bundles.toml");
    let mut diagnostics = Diagnostics::new();
    let config = Config::read(&file, &mut diagnostics);
    let config = config.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let start = Instant::now();
    let (built, diagnostics) = offline::build(&config, &["operator"]);
    let time = start.elapsed();
    let mut said: Vec<Code> =
        diagnostics.iter().filter(|d| d.severity != Severity::Error).map(|d| d.code).collect();
    said.sort_by_key(|code| code.as_str());
    said.dedup();
    let (wrong, respelt) = (Vec::new(), Vec::new());
    let mut outcome = Outcome { objects: Ok(0), wrong, said, respelt, time };
    if diagnostics.has_errors() {
        let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
        let mut codes: Vec<Code> = errors.map(|d| d.code).collect();
        codes.sort_by_key(|code| code.as_str());
        codes.dedup();
        outcome.objects = Err(codes);
        return outcome;
    }
    let out = temporary.path().join("out");
    output::write(&out, &built, None, Mode::Write { replace: false }, &mut Diagnostics::new())
        .expect("an empty folder takes every chart");
    let mut found = Vec::new();
    for chart in &built {
        let folder = out.join(&chart.dir);
        // Helm's rules are about the files of charts, which are alike for the versions of a package.
        let linted = is_newest.then(|| helm.lint(&folder, &[]));
        if let Some(linted) = linted.filter(|linted| !linted.success) {
            outcome.wrong.push(format!("lint: {}{}", linted.stdout, linted.stderr));
        }
        let run = helm.template(RELEASE_NAME, &folder, NAMESPACE, &[]);
        if !run.success {
            outcome.wrong.push(format!("template: {}", run.stderr));
            return outcome;
        }
        found.extend(documents(&run.stdout));
    }
    outcome.wrong.extend(lost(&objects(bundle), &found));
    let limits = Limits::default();
    let (bundle, mut found_again) = (&config.bundles[0], Diagnostics::new());
    let files = source::fetch(&bundle.source, &config.base, &[], &limits, &mut found_again);
    let files = files.expect("what was read");
    let compiled = pipeline::compile(&files, bundle, &mut found_again);
    let unit = compiled.expect("what was compiled").unit;
    outcome.wrong.extend(unstable_keys(&unit, &mut outcome.respelt));
    let values = unit.default_values();
    let release = Release { namespace: NAMESPACE, values: &values };
    let expected: Vec<_> = unit.objects.iter().filter_map(|o| release.object(o)).collect();
    outcome.wrong.extend(object_differences(&expected, &found));
    outcome.objects = Ok(found.len());
    outcome
}

/// Keys of values that hold dots, or that two things share. `respelt` gets the names of Deployments and
/// ServiceAccounts that are not their own keys.
fn unstable_keys(unit: &Unit, respelt: &mut Vec<String>) -> Vec<String> {
    let named = ["deployments", "serviceAccounts", "certificates", "images"];
    let mut wrong = Vec::new();
    let mut paths = BTreeSet::new();
    let mut keys: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for value in &unit.values {
        let segments = value.path.segments();
        if !paths.insert(segments) {
            wrong.push(format!("two values have the key {}", value.path));
        }
        if let [map, key, ..] = segments
            && named.contains(&map.as_str())
        {
            keys.entry(map).or_default().insert(key);
            if key.contains('.') {
                wrong.push(format!("{} holds a dot", value.path));
            }
        }
    }
    for (kind, map) in [("Deployment", "deployments"), ("ServiceAccount", "serviceAccounts")] {
        let keys = keys.get(map).cloned().unwrap_or_default();
        let names = unit.names(kind);
        if keys.len() > names.len() {
            wrong.push(format!("{} {map} for {} objects", keys.len(), names.len()));
        }
        respelt.extend(names.into_iter().filter(|name| !keys.contains(name.as_str())));
    }
    wrong
}

/// keycloak-operator 26.7.1 added AllNamespaces, and may read Secrets in the namespaces that it watches.
#[test]
fn an_operator_does_not_watch_all_namespaces_in_silence() {
    let Some(corpus) = shared("corpus/keycloak-operator") else { return };
    let bundle = |version: &str| {
        let folder = corpus.join(version);
        let source = source::from_argument(folder.to_str().expect("UTF-8"));
        let mut found = Diagnostics::new();
        let files = source::fetch(&source, Path::new(""), &[], &Limits::default(), &mut found);
        let bundle = bundle::load(&files.expect("a bundle"), &mut found);
        (BundleConfig::new("keycloak", source), bundle.unwrap_or_else(|| panic!("{found:?}")))
    };
    let (mut config, before) = bundle("26.6.4");
    let decisions =
        Decisions { package: before.package.clone(), watch: olm::default_watch(&before.csv) };
    let entry = Locked {
        name: "keycloak".to_owned(),
        config_hash: String::new(),
        image: None,
        embedded: Some(String::new()),
        csv: before.csv.name().to_owned(),
        csv_version: before.csv.version.clone(),
        edges: None,
        decisions,
    };
    let lock = Lock { bundles: vec![entry] };
    let check = |config: &BundleConfig, bundle: &Bundle| {
        let mut found = Diagnostics::new();
        lock.check_decisions(config, bundle, &mut found);
        found
    };
    assert!(check(&config, &before).is_empty());

    let (_, after) = bundle("26.7.1");
    let found = check(&config, &after);
    let codes: Vec<Code> = found.iter().map(|found| found.code).collect();
    assert_eq!(codes, [Code::WatchChanged]);
    assert!(format!("{found:?}").contains("on Secrets"), "{found:?}");
    config.operator.watch = Some((Watch::Own, None));
    assert!(check(&config, &after).is_empty());
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

//! The first build of a newcomer: what it says about real bundles fits a screen and is true.

use crate::support::command::{Case, Seen};
use crate::support::shared::shared;
use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a small terminal window.
const SCREEN: usize = 25;

#[test]
fn three_real_bundles_fit_a_screen() {
    let Some(corpus) = shared("corpus") else { return };
    let bundles = [
        ("cert-manager-operator", "1.16.0"),
        ("leader-worker-set", "r5.1"),
        ("external-secrets-operator", "0.11.0"),
    ];
    let case = Case::new();
    let tables = bundles.map(|(name, version)| {
        let path = corpus.join(name).join(version);
        format!("[[bundle]]\nname = {name:?}\npath = {path:?}\n")
    });
    assert_eq!(case.run(&["init"]).code, Some(0));
    let config = format!("{}\n{}", case.read("bundles.toml"), tables.join("\n"));
    case.write("bundles.toml", &config);
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let text = &seen.stderr;
    assert!(text.lines().count() <= SCREEN, "{} lines:\n{text}", text.lines().count());

    // OPERATOR_NAME and leader election IDs are no namespaces.
    assert!(!text.contains("namespace-literal"), "{text}");
    let stub = "stub-crds = [\"infrastructures.config.openshift.io\"]";
    assert_eq!(text.matches(&format!("write `{stub}`")).count(), 1, "{text}");
    assert!(text.contains("write `auth-reader = true`"), "{text}");
    let chart = "cert-manager-operator out/cert-manager-operator/1.16.0";
    assert!(
        text.contains("next: commit bundles.toml and out, and install the charts:\n"),
        "{text}"
    );
    assert_eq!(text.matches("\n  helm install ").count(), 3, "{text}");
    assert!(text.contains(&format!("helm install {chart} --namespace")), "{text}");

    // The hint helps, and what it changed is to be installed.
    let name = "name = \"cert-manager-operator\"\n";
    case.write("bundles.toml", config.replacen(name, &format!("{name}{stub}\n"), 1));
    let seen = case.run(&["build", "--replace"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(!seen.stderr.contains("stub-crds"), "{}", seen.stderr);
    let next =
        |text: &str| text.matches("\n  helm upgrade --install cert-manager-operator").count();
    assert_eq!(next(&seen.stderr), 2, "{}", seen.stderr);
    assert!(!case.run(&["build"]).stderr.contains("next:"));

    assert_eq!(case.run(&["build", "-q"]).stderr, "");
}

/// Builds bundles for the first time, after `init` and `add` of each; nothing if one is refused.
fn first_build(bundles: &[PathBuf]) -> Option<Seen> {
    let case = Case::new();
    assert_eq!(case.run(&["init"]).code, Some(0));
    for bundle in bundles {
        case.run(&["add", bundle.to_str().expect("UTF-8")]);
    }
    let seen = case.run(&["build"]);
    (seen.code == Some(0)).then_some(seen)
}

#[test]
fn notes_without_a_hint_are_left_out_where_three_bundles_would_not_fit_a_screen() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/bundles");
    let bundles =
        ["awkward-operator/0.1.0", "sealing-wax-operator/1.1.0", "toll-bridge-operator/0.3.0"];
    let seen = first_build(&bundles.map(|bundle| fixtures.join(bundle))).expect("a build");
    let text = &seen.stderr;
    assert!(text.lines().count() <= SCREEN, "{} lines:\n{text}", text.lines().count());
    // The hint says what to do, so this note stays.
    assert!(text.contains("\n  note[foreign-kind]: the webhook"), "{text}");
    assert!(text.contains("\nnot shown without --verbose: image-not-pinned (1), "), "{text}");
}

#[test]
fn any_three_real_bundles_fit_a_screen() {
    let Some(corpus) = shared("corpus") else { return };
    let folders = |path: &Path| {
        let entries = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("one").path());
        let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
        folders.sort();
        folders
    };
    let packages = folders(&corpus);
    let newest = |package: &PathBuf| folders(package).pop().expect("a version");
    // Some that serve webhooks, share a CRD or have many notes; then a fixed sample of all.
    let named = [
        ["jaeger", "rabbitmq-cluster-operator", "cloudnative-pg"],
        ["node-healthcheck-operator", "kepler-operator", "nfd"],
        ["node-healthcheck-operator", "stolostron", "bookkeeper-operator"],
        ["dns-operator", "multicluster-operators-subscription", "ack-secretsmanager-controller"],
    ];
    let mut triples = named.map(|names| names.map(|name| newest(&corpus.join(name)))).to_vec();
    triples.extend((0..12).map(|number| {
        [number * 17, number * 29 + 5, number * 43 + 11]
            .map(|index| newest(&packages[index % packages.len()]))
    }));

    let mut built = 0;
    for bundles in triples {
        let Some(seen) = first_build(&bundles) else { continue };
        let lines = seen.stderr.lines().count();
        assert!(lines <= SCREEN, "{bundles:?}: {lines} lines:\n{}", seen.stderr);
        built += 1;
    }
    // Some require APIs of other bundles.
    assert!(built > 9, "{built}");
}

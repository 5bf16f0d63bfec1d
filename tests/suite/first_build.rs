//! The first build of a newcomer: what it says about real bundles fits a screen and is true.

use crate::support::command::Case;
use crate::support::shared::shared;

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

    // The hint helps, and the second build has no next steps.
    let name = "name = \"cert-manager-operator\"\n";
    case.write("bundles.toml", config.replacen(name, &format!("{name}{stub}\n"), 1));
    let seen = case.run(&["build", "--replace"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(!seen.stderr.contains("stub-crds"), "{}", seen.stderr);
    assert!(!seen.stderr.contains("next:"), "{}", seen.stderr);

    // Quiet: only the table.
    let seen = case.run(&["build", "-q"]);
    let lines: Vec<&str> = seen.stderr.lines().collect();
    assert_eq!(lines.len(), 5, "{}", seen.text());
    assert!(lines.iter().take(4).all(|line| line.contains("unchanged")), "{}", seen.text());
}

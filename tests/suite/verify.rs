//! `verify`: a chart is what its bundle compiles to, or the report says where it is not.

use crate::support::command::{Case, Seen};
use crate::support::lamp::CSV_FILE;
use serde_json::Value as Json;
use std::fs;
use std::io::Read as _;
use std::process::Command;

const CHART: &str = "out/lamp-operator/1.2.3";

const CONFIG: &str = r#"
[[bundle]]
name = "lamp-operator"
path = "bundle"
crds = "separate"

[[chart]]
name = "settings"
chart-version = "2.0.0"
manifests = ["settings.yaml"]

[[serving]]
name = "chat"
model = "hf://example/model"
engine = { image = "registry.example.com/vllm:1" }
allow-tags = true
"#;

const SETTINGS: &str = "\
apiVersion: v1
kind: Secret
metadata: {name: settings}
stringData: {user: lamps}
";

/// A bundle with two charts, a chart of manifests and a model, all built and packaged.
fn built() -> Case {
    let case = Case::with_lamps();
    case.write("bundles.toml", CONFIG);
    case.write("settings.yaml", SETTINGS);
    assert_clean(&case.run(&["build", "-q"]));
    assert_clean(&case.run(&["package", "-q", "-d", "packages"]));
    case
}

#[track_caller]
fn assert_clean(seen: &Seen) {
    assert_eq!(seen.code, Some(0), "{}", seen.text());
}

fn json(seen: &Seen) -> Json {
    serde_json::from_str(&seen.stdout).unwrap_or_else(|error| panic!("{error}: {}", seen.text()))
}

#[test]
fn built_charts_are_verified_in_every_form() {
    let case = built();
    let before = case.tree(".");
    for (chart, version) in [
        ("lamp-operator", "1.2.3"),
        ("lamp-operator-crds", "1.2.3"),
        ("settings", "2.0.0"),
        ("chat", "0.1.0"),
    ] {
        let record = case.read("out/charts.lock");
        let package = record.split("[[chart]]").find(|entry| {
            entry.contains(&format!("name = \"{chart}\"\nversion = \"{version}\"\n"))
        });
        let package = package.expect("a recorded chart").split('"').nth(5).expect("a digest");
        for argument in [
            format!("out/{chart}/{version}"),
            format!("{chart}@{version}"),
            chart.to_owned(),
            format!("packages/{chart}-{version}.tgz"),
        ] {
            let seen = case.run(&["verify", &argument, "--offline"]);
            assert_clean(&seen);
            assert_eq!(seen.stdout.lines().count(), 1);
            let start = format!("{argument} is byte for byte {chart} {version} as bundle2chart ");
            assert!(seen.stdout.starts_with(&start), "{}", seen.stdout);
            assert!(seen.stdout.trim_end().ends_with(package), "{}\n{record}", seen.stdout);
            assert_eq!(seen.stderr, "");
        }
    }
    let seen = case.run(&["verify", CHART, "--format", "json"]);
    assert_clean(&seen);
    let report = json(&seen);
    assert_eq!(report["verified"], true);
    assert_eq!(report["differences"], Json::Array(Vec::new()));
    assert_eq!(case.tree("."), before, "something was written");
}

#[test]
fn edited_charts_are_not() {
    let case = built();
    let values = case.read(&format!("{CHART}/values.yaml"));
    case.write(&format!("{CHART}/values.yaml"), values.replace("replicas: 1", "replicas: 2"));
    case.write(&format!("{CHART}/templates/mine.yaml"), "kind: Mine\n");
    case.remove(&format!("{CHART}/README.md"));
    let seen = case.run(&["verify", CHART]);
    assert_eq!(seen.code, Some(1));
    insta::assert_snapshot!("verify_edited", seen.text());
    let report = json(&case.run(&["verify", CHART, "--format", "json"]));
    assert_eq!(report["verified"], false);
    let changes: Vec<&str> = report["differences"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|found| found["change"].as_str().expect("a change"))
        .collect();
    assert_eq!(changes, ["missing", "extra", "changed"]);
    assert!(report["differences"][2]["found"].as_str().is_some_and(|text| text.contains('2')));

    // Nor with SHA-256 sums that fit the edit.
    let case = built();
    let script = "sed -i 's/replicas: 1/replicas: 2/' values.yaml && sum=$(sha256sum values.yaml) && \
                  sed -i \"s/.*  values.yaml\\$/$sum/\" .bundle2chart && sha256sum -c .bundle2chart";
    let mut shell = Command::new("sh");
    let done = shell.args(["-ec", script]).current_dir(case.path(CHART)).output().expect("a shell");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let seen = case.run(&["verify", CHART]);
    assert_eq!(seen.code, Some(1), "{}", seen.text());
    assert!(seen.stdout.contains("changed  values.yaml"), "{}", seen.stdout);

    // The report and the ownership file are not a part of the chart.
    let case = built();
    case.remove(&format!("{CHART}/.bundle2chart"));
    case.write(&format!("{CHART}/UPGRADE.md"), "anything\n");
    assert_clean(&case.run(&["verify", CHART]));

    // Data of Secrets is not shown.
    let secret = fs::read_dir(case.path("out/settings/2.0.0/templates")).expect("templates");
    let secret = secret
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.display().to_string().contains("secret"))
        .expect("a template of the Secret");
    let text = fs::read_to_string(&secret).expect("a template");
    fs::write(&secret, text.replace("lamps", "hunter2-canary")).expect("an edited template");
    for format in ["text", "json"] {
        let seen = case.run(&["verify", "settings", "--format", format]);
        assert_eq!(seen.code, Some(1));
        assert!(!seen.text().contains("canary"), "{}", seen.text());
        assert!(seen.stdout.contains("line"), "{}", seen.text());
    }
}

#[test]
fn edited_packages_are_not() {
    let case = built();
    let package = case.path("packages/lamp-operator-1.2.3.tgz");
    let shell = |script: &str| {
        let mut shell = Command::new("sh");
        let done = shell.args(["-ec", script]).current_dir(case.path("packages")).output();
        let done = done.expect("a shell");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let mut tar = Vec::new();
    let content = fs::read(&package).expect("a package");
    flate2::read::GzDecoder::new(content.as_slice()).read_to_end(&mut tar).expect("a tar");

    // The same files, packed by another program.
    case.write("packages/other.tar", &tar);
    shell("gzip -1 other.tar && mv other.tar.gz other.tgz");
    let seen = case.run(&["verify", "packages/other.tgz"]);
    assert_eq!(seen.code, Some(1), "{}", seen.text());
    assert!(seen.stdout.contains("\n  archive\n    built  sha256:"), "{}", seen.stdout);
    assert!(seen.stdout.contains("\nreason: the files are the same"), "{}", seen.stdout);

    shell(
        "mkdir edited && tar -xzf lamp-operator-1.2.3.tgz -C edited && \
         sed -i 's/replicas: 1/replicas: 7/' edited/lamp-operator/values.yaml && \
         tar -czf edited.tgz -C edited lamp-operator",
    );
    let seen = case.run(&["verify", "packages/edited.tgz"]);
    assert_eq!(seen.code, Some(1), "{}", seen.text());
    assert!(seen.stdout.contains("  changed  values.yaml, from line "), "{}", seen.stdout);
    assert!(seen.stdout.contains("reason: the chart was edited, or "), "{}", seen.stdout);
    assert!(!seen.stdout.contains("archive"), "{}", seen.stdout);

    case.write("packages/none.tgz", "no archive");
    case.write("packages/empty.tgz", "");
    for name in ["none", "empty"] {
        let seen = case.run(&["verify", &format!("packages/{name}.tgz")]);
        assert_eq!(seen.code, Some(2), "{}", seen.text());
        assert!(seen.stderr.contains("error[chart-unreadable]"), "{}", seen.text());
    }
}

#[test]
fn other_inputs_are_a_reason() {
    let case = built();
    case.replace(CSV_FILE, "displayName: Lamps", "displayName: Lights");
    let seen = case.run(&["verify", CHART]);
    assert_eq!(seen.code, Some(1));
    assert!(
        seen.stdout.contains("reason: bundles.toml, bundles.lock or overlays"),
        "{}",
        seen.stdout
    );
    assert!(!seen.stdout.contains("edited"), "{}", seen.stdout);
    assert!(seen.stdout.contains(env!("CARGO_PKG_VERSION")), "{}", seen.stdout);

    // The CRDs are the same; another version of the bundle is another chart.
    case.replace(CSV_FILE, "displayName: Lights", "displayName: Lamps");
    assert_clean(&case.run(&["verify", CHART]));
    case.replace(CSV_FILE, "version: 1.2.3", "version: 1.2.4");
    insta::assert_snapshot!("verify_other_version", case.run(&["verify", CHART]).text());
    case.replace("bundles.toml", "crds = \"separate\"\n", "");
    case.replace(CSV_FILE, "version: 1.2.4", "version: 1.2.3");
    insta::assert_snapshot!(
        "verify_no_such_chart",
        case.run(&["verify", "lamp-operator-crds"]).text()
    );
    case.replace("bundles.toml", "name = \"chat\"", "name = \"chats\"");
    insta::assert_snapshot!("verify_not_configured", case.run(&["verify", "chat"]).text());
}

#[test]
fn only_locked_bundles_are_verified() {
    let root = env!("CARGO_MANIFEST_DIR");
    let case = Case::new();
    case.link_fixtures();
    for file in ["bundles.toml", "bundles.lock"] {
        case.write(file, fs::read(format!("{root}/{file}")).expect("a file"));
    }
    // Charts of this repository, from an image layout without a network.
    for chart in ["sealing-wax-operator/1.1.0", "sealing-wax-operator-operands/1.1.0"] {
        let chart = format!("{root}/out/{chart}");
        assert_clean(&case.run(&["verify", &chart, "--offline"]));
    }

    case.remove("bundles.lock");
    let chart = format!("{root}/out/sealing-wax-operator/1.1.0");
    let seen = case.run(&["verify", &chart, "--offline"]);
    assert_eq!(seen.code, Some(2), "{}", seen.text());
    assert!(seen.stderr.contains("error[lock-stale]"), "{}", seen.text());
    assert_eq!(seen.stdout, "");
}

#[test]
fn what_is_no_chart_is_an_error() {
    let case = built();
    for (argument, code) in [
        ("out", "chart-not-found"),
        ("no/such.tgz", "chart-not-found"),
        ("bundles.toml", "chart-unreadable"),
        ("oci://registry.example.com/charts/lamp-operator:1.2.3", "invalid-reference"),
        ("oci://registry.example.com/charts/lamp-operator@sha256:1", "invalid-reference"),
    ] {
        let seen = case.run(&["verify", argument, "--offline"]);
        assert_eq!((seen.code, seen.stdout.as_str()), (Some(2), ""), "{}", seen.text());
        assert!(seen.stderr.contains(&format!("error[{code}]")), "{argument}: {}", seen.stderr);
    }
    let unlinked = case.path("elsewhere.yaml");
    fs::write(&unlinked, "a: 1\n").expect("a file");
    let link = case.path(&format!("{CHART}/templates/linked.yaml"));
    std::os::unix::fs::symlink(unlinked, link).expect("a link");
    let seen = case.run(&["verify", CHART]);
    assert!(seen.code == Some(2) && seen.stderr.contains("symbolic link"), "{}", seen.text());
}

//! Rules of chart reviewers: metadata, labels, a test, and the warnings of the build.

use crate::support::command::Case;
use crate::support::helm::Helm;
use crate::support::lamp::{CONFIG, CSV, CSV_FILE};
use crate::support::rendered::documents;
use serde_json::{Value as Json, json};

const CHART: &str = "out/lamp-operator/1.2.3";

/// The lamp operator with everything that catalogs show of it, and a namespace in its name.
fn described() -> Case {
    let case = Case::with_lamps();
    let mut csv: Json = serde_yaml::from_str(CSV).expect("a CSV");
    csv["metadata"]["annotations"] = json!({
        "alm-examples": r#"[{"apiVersion": "light.example.com/v1", "kind": "Lamp", "metadata": {"name": "a"}}]"#,
        "capabilities": "Full Lifecycle",
        "repository": "https://example.com/lamps",
        "support": "Lamps Ltd",
    });
    csv["spec"]["provider"] = json!({"name": "Lamps Ltd", "url": "https://example.com"});
    csv["spec"]["maintainers"] = json!([{"name": "vendor", "email": "vendor@example.com"}]);
    csv["spec"]["links"] = json!([{"name": "Manual", "url": "https://example.com/manual"}]);
    csv["spec"]["icon"] = json!([{"base64data": "aWNv\nbg==", "mediatype": "image/svg+xml"}]);
    let pod =
        csv.pointer_mut("/spec/install/spec/deployments/0/spec/template/spec").expect("a pod");
    pod["containers"][0]["image"] = json!("registry.example.com/lamps/operator:latest");
    case.write(CSV_FILE, csv.to_string());
    case
}

fn yaml(case: &Case, path: &str) -> Json {
    serde_yaml::from_str(&case.read(path)).expect("YAML")
}

fn template(case: &Case, more: &[&str]) -> Vec<Json> {
    let chart = case.path(CHART);
    let arguments = ["template", "bright", chart.to_str().expect("UTF-8"), "--namespace", "light"];
    documents(&Helm::newest().run(arguments.iter().chain(more)).expect_success())
}

#[test]
fn chart_yaml_says_who_maintains_the_chart_and_what_the_operator_is() {
    let case = described();
    case.replace(CSV_FILE, "\"displayName\"", "\"maturity\":\"deprecated\",\"displayName\"");
    let maintainers = "maintainers = [{ name = \"platform\", email = \"platform@example.com\" }]\n";
    case.write("bundles.toml", format!("[defaults]\n{maintainers}\n{CONFIG}"));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());

    let chart = yaml(&case, &format!("{CHART}/Chart.yaml"));
    assert_eq!(
        chart["maintainers"],
        json!([{"name": "platform", "email": "platform@example.com"}])
    );
    assert_eq!(chart["sources"], json!(["https://example.com/lamps"]));
    assert_eq!(chart["deprecated"], true);
    assert_eq!(chart["icon"], "data:image/svg+xml;base64,aWNvbg==");
    let annotation = |key: &str| -> Json {
        let text = chart["annotations"][key].as_str().unwrap_or_else(|| panic!("{key}: {chart:#}"));
        serde_yaml::from_str(text).expect("YAML")
    };
    assert_eq!(annotation("bundle2chart/vendor"), "Lamps Ltd");
    assert_eq!(annotation("artifacthub.io/operator"), true);
    assert_eq!(annotation("artifacthub.io/operatorCapabilities"), "Full Lifecycle");
    let links = json!([{"name": "Manual", "url": "https://example.com/manual"}]);
    assert_eq!(annotation("artifacthub.io/links"), links);
    let crds = json!([{"kind": "Lamp", "version": "v1", "name": "lamps.light.example.com"}]);
    assert_eq!(annotation("artifacthub.io/crds"), crds);
    assert_eq!(annotation("artifacthub.io/crdsExamples")[0]["kind"], "Lamp");
    let image =
        json!([{"name": "operator", "image": "registry.example.com/lamps/operator:latest"}]);
    assert_eq!(annotation("artifacthub.io/images"), image);

    // Reviewers see what the build said, unless bundles.toml allows it.
    let warning = "image-not-pinned: Deployment/lamp-operator uses an untagged or :latest image";
    assert!(case.read(&format!("{CHART}/README.md")).contains(warning));
    case.write("bundles.toml", format!("[lints]\nimage-not-pinned = \"allow\"\n\n{CONFIG}"));
    assert_eq!(case.run(&["build", "--replace"]).code, Some(0));
    assert!(!case.read(&format!("{CHART}/README.md")).contains("## Warnings"));
    assert_eq!(yaml(&case, &format!("{CHART}/Chart.yaml"))["maintainers"], Json::Null);

    let chart = case.path(CHART);
    let lint = Helm::newest().run(["lint", "--strict", chart.to_str().expect("UTF-8")]);
    let shown = lint.expect_success();
    assert!(!shown.contains("[WARNING]") && !shown.contains("[INFO]"), "{shown}");
}

#[test]
fn documents_have_the_first_custom_resource_and_the_permissions_that_inspect_prints() {
    let case = described();
    assert_eq!(case.run(&["build"]).code, Some(0));
    let example = "apiVersion: light.example.com/v1\nkind: Lamp\nmetadata:\n  name: a\n";
    let readme = case.read(&format!("{CHART}/README.md"));
    assert!(readme.contains(&format!("```yaml\n{example}```\n")), "{readme}");
    let notes = case.read(&format!("{CHART}/templates/NOTES.txt"));
    assert!(notes.contains(&format!(" -f - <<'EOF'\n{example}EOF\n")), "{notes}");
    let inspected = case.run(&["inspect", "bundle"]).stdout;
    let permissions = inspected.split("\nPermissions\n").nth(1).expect("a section");
    let permissions = permissions.split("\n\n").next().expect("lines");
    assert!(readme.contains(&format!("```text\n{permissions}\n```\n")), "{permissions}\n{readme}");

    // The proposal of `add` is a comment; without the # it is a chart of operands.
    case.write("bundles.toml", "");
    assert_eq!(case.run(&["add", "bundle"]).code, Some(0));
    let text = case.read("bundles.toml");
    let (table, operand) = text.split_once("# [[bundle.overlay]]\n").expect("a proposal");
    let operand: Vec<&str> = operand.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    let operand = operand.join("\n");
    case.write("bundles.toml", format!("{table}[[bundle.overlay]]\n{operand}\n"));
    let seen = case.run(&["build", "--replace"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(case.path("out/lamp-operator-operands/1.2.3/templates/lamp-a.yaml").is_file());
    let readme = case.read(&format!("{CHART}/README.md"));
    assert!(!readme.contains("First custom resource"), "{readme}");
}

#[test]
fn objects_have_the_recommended_labels_and_pods_only_what_they_read() {
    let case = described();
    assert_eq!(case.run(&["build"]).code, Some(0));
    let objects = template(&case, &[]);
    for object in objects.iter().filter(|object| object["kind"] != "CustomResourceDefinition") {
        let labels = &object["metadata"]["labels"];
        assert_eq!(labels["app.kubernetes.io/name"], "lamp-operator", "{object:#}");
        assert_eq!(labels["app.kubernetes.io/instance"], "bright");
        assert_eq!(labels["app.kubernetes.io/managed-by"], "Helm");
        assert_eq!(labels["app.kubernetes.io/version"], "1.2.3");
        assert_eq!(labels["helm.sh/chart"], "lamp-operator-1.2.3");
    }

    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").expect("one");
    let pod = &deployment["spec"]["template"]["metadata"];
    let annotations = pod["annotations"].as_object().expect("OLM's own");
    assert!(annotations.keys().all(|key| key.starts_with("olm.")), "{annotations:?}");
    assert_eq!(pod["labels"], json!({"app": "lamp-operator"}));
}

#[test]
fn maintainers_are_checked() {
    let case = Case::with_lamps();
    for (maintainer, message) in [
        ("{ name = \" \" }", "`name` is empty"),
        ("{ email = \"a@b\" }", "name"),
        ("{ name = \"a\", email = \"nobody\" }", "`email` of a maintainer is not an address"),
        ("{ name = \"a\", url = \"ftp://a\" }", "`url` of a maintainer is not a web address"),
        ("{ name = \"a\", phone = \"1\" }", "unknown key `phone`"),
    ] {
        case.write("bundles.toml", format!("{CONFIG}maintainers = [{maintainer}]\n"));
        let seen = case.run(&["build"]);
        assert_eq!(seen.code, Some(2), "{maintainer}: {}", seen.text());
        assert!(seen.stderr.contains(message), "{maintainer}: {}", seen.stderr);
    }
}

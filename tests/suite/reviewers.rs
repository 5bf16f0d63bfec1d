//! Rules of chart reviewers: metadata, labels, documents and values.

use crate::support::command::{Case, Seen};
use crate::support::helm::Helm;
use crate::support::lamp::{CONFIG, CSV, CSV_FILE};
use crate::support::rendered::documents;
use crate::support::shared::shared;
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
    assert_eq!(with_proposed_operand(&case, "bundle").code, Some(0));
    assert!(case.path("out/lamp-operator-operands/1.2.3/templates/lamp-a.yaml").is_file());
    let readme = case.read(&format!("{CHART}/README.md"));
    assert!(!readme.contains("First custom resource"), "{readme}");
}

/// Builds the lamp operator with an example; returns NOTES, README and what `add` proposes.
fn with_example(example: &Json) -> [String; 3] {
    let case = described();
    let mut csv: Json = serde_json::from_str(&case.read(CSV_FILE)).expect("a CSV");
    csv["metadata"]["annotations"]["alm-examples"] = json!(json!([example]).to_string());
    case.write(CSV_FILE, csv.to_string());
    assert_eq!(case.run(&["build"]).code, Some(0));
    let [notes, readme] =
        ["templates/NOTES.txt", "README.md"].map(|file| case.read(&format!("{CHART}/{file}")));
    case.write("bundles.toml", "");
    [notes, readme, case.run(&["add", "bundle"]).stdout]
}

#[test]
fn examples_that_a_build_refuses_are_shown_with_the_reasons() {
    let mut example = json!({
        "apiVersion": "light.example.com/v1", "kind": "Lamp", "metadata": {"name": "$NAME"},
        "spec": {"level": 1}, "status": {"lit": true},
    });
    let [notes, readme, proposal] = with_example(&example);
    let faults = ["invalid name `$NAME`: ", "`.spec` is not in the CRD"];
    for (text, lines) in [(&notes, "  "), (&readme, "- "), (&proposal, "# - ")] {
        for fault in faults {
            let line = format!("\n{lines}{fault}");
            assert!(text.replace("\\$", "$").contains(&line), "{line}\n{text}");
        }
        // The operator's own.
        assert!(!text.contains("lit: true"), "{text}");
        assert!(text.contains("spec:\n"), "{text}");
    }

    // A long example is in the README only.
    example["metadata"] = json!({"name": "a", "annotations": {"long": "a".repeat(6_000)}});
    example["spec"] = Json::Null;
    let [notes, readme, proposal] = with_example(&example);
    assert!(
        notes.contains("create a Lamp. `helm show readme CHART` prints the example"),
        "{notes}"
    );
    assert!(readme.contains("```yaml\napiVersion: light.example.com/v1\nkind: Lamp\n"), "{readme}");
    assert!(proposal.contains("\n# phase = \"operand\"\n# path = \"lamp.yaml\" # "), "{proposal}");
}

#[test]
fn objects_have_the_recommended_labels_and_pods_those_without_a_version() {
    let case = described();
    assert_eq!(case.run(&["build"]).code, Some(0));
    let objects = template(&case, &[]);
    for object in &objects {
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
    let labels = json!({
        "app": "lamp-operator",
        "app.kubernetes.io/name": "lamp-operator",
        "app.kubernetes.io/instance": "bright",
        "app.kubernetes.io/managed-by": "Helm",
    });
    assert_eq!(pod["labels"], labels);
}

#[test]
fn maintainers_are_checked() {
    let case = Case::with_lamps();
    for (maintainer, message) in [
        ("{ name = \" \" }", "`name` is empty"),
        ("{ email = \"a@b\" }", "name"),
        ("{ name = \"a\", email = \"nobody\" }", "`email` of a maintainer is not an address"),
        ("{ name = \"a\", email = \"a@b, c\" }", "`email` of a maintainer is not an address"),
        ("{ name = \"a\", url = \"ftp://a\" }", "`url` of a maintainer is not a web address"),
        ("{ name = \"a\", url = \"https://a b\" }", "`url` of a maintainer is not a web address"),
        ("{ name = \"a\", phone = \"1\" }", "unknown key `phone`"),
    ] {
        case.write("bundles.toml", format!("{CONFIG}maintainers = [{maintainer}]\n"));
        let seen = case.run(&["build"]);
        assert_eq!(seen.code, Some(2), "{maintainer}: {}", seen.text());
        assert!(seen.stderr.contains(message), "{maintainer}: {}", seen.stderr);
    }
}

/// Real operators that are installed without OLM: their names, the versions in the shared test data,
/// and the custom resource that a user creates first.
const OPERATORS: [(&str, &str, &str); 4] = [
    ("cert-manager-operator", "1.16.0", "CertManager"),
    ("external-secrets-operator", "0.11.0", "OperatorConfig"),
    ("keda", "2.7.1", "KedaController"),
    ("lws-operator", "1.0.0", "LeaderWorkerSetOperator"),
];

/// Builds the charts of [`OPERATORS`]; returns nothing where there is no shared test data.
pub(crate) fn operators() -> Option<Case> {
    let corpus = shared("corpus")?;
    let mut config =
        "[defaults]\nmaintainers = [{ name = \"platform\", email = \"platform@example.com\" }]\n"
            .to_owned();
    for (name, version, _) in OPERATORS {
        let path = corpus.join(name).join(version).display().to_string();
        config +=
            &format!("[[bundle]]\nname = \"{name}\"\nnamespace = \"{name}\"\npath = {path:?}\n");
    }
    let case = Case::new();
    case.write("bundles.toml", config);
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    Some(case)
}

/// Adds a bundle to an empty configuration, makes the proposed operand a part of it, and builds it.
fn with_proposed_operand(case: &Case, bundle: &str) -> Seen {
    case.write("bundles.toml", "");
    assert_eq!(case.run(&["add", bundle]).code, Some(0));
    let text = case.read("bundles.toml");
    let (table, operand) = text.split_once("# [[bundle.overlay]]\n").expect("a proposal");
    let operand: Vec<&str> = operand.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    let operand = operand.join("\n");
    case.write("bundles.toml", format!("{table}[[bundle.overlay]]\n{operand}\n"));
    case.run(&["build", "--replace"])
}

/// A chart as a reviewer has it: its files, and the objects of a release called `bright`.
struct Chart<'a> {
    case: &'a Case,
    name: &'a str,
    path: String,
    /// The configuration with the operand that `add` proposes, if the build succeeds with it.
    with_operand: Option<String>,
    /// The kind of the first custom resource.
    first: &'a str,
    metadata: Json,
    objects: Vec<Json>,
}

impl Chart<'_> {
    fn read(&self, file: &str) -> String {
        self.case.read(&format!("{}/{file}", self.path))
    }

    /// The value of an annotation that is YAML itself; null if it is missing.
    fn annotation(&self, key: &str) -> Json {
        let text = self.metadata["annotations"][key].as_str().unwrap_or_default();
        serde_yaml::from_str(text).expect("YAML")
    }
}

/// True for a list with entries that all have a text at each of `keys`.
fn has_texts(list: &Json, keys: &[&str]) -> bool {
    let entries = list.as_array().map_or(&[][..], Vec::as_slice);
    !entries.is_empty()
        && entries.iter().all(|entry| keys.iter().all(|key| entry[*key].is_string()))
}

/// A wish of chart-testing's schema, of Artifact Hub or of reviewers, and whether a chart fulfils it.
type Wanted = (&'static str, fn(&Chart) -> bool);

const WANTED: [Wanted; 23] = [
    ("name, version, type and description", |chart| {
        let keys = ["name", "version", "appVersion", "description"];
        keys.iter().all(|key| chart.metadata[*key].is_string())
            && chart.metadata["apiVersion"] == "v2"
            && chart.metadata["type"] == "application"
    }),
    ("Kubernetes versions", |chart| chart.metadata["kubeVersion"].is_string()),
    ("maintainers", |chart| has_texts(&chart.metadata["maintainers"], &["name", "email"])),
    ("sources or a home page", |chart| {
        chart.metadata["sources"].is_array() || chart.metadata["home"].is_string()
    }),
    ("an icon of at most 4 kB, if any", |chart| {
        chart.metadata["icon"].as_str().is_none_or(|icon| icon.len() <= 4096)
    }),
    ("keywords", |chart| chart.metadata["keywords"].is_array()),
    ("Artifact Hub: an operator", |chart| chart.annotation("artifacthub.io/operator") == true),
    ("Artifact Hub: a capability level", |chart| {
        let level = chart.annotation("artifacthub.io/operatorCapabilities");
        ["Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"]
            .iter()
            .any(|known| level == *known)
    }),
    ("Artifact Hub: links", |chart| {
        has_texts(&chart.annotation("artifacthub.io/links"), &["name", "url"])
    }),
    ("Artifact Hub: CRDs", |chart| {
        has_texts(&chart.annotation("artifacthub.io/crds"), &["kind", "version", "name"])
    }),
    ("Artifact Hub: examples", |chart| {
        has_texts(&chart.annotation("artifacthub.io/crdsExamples"), &["apiVersion", "kind"])
    }),
    ("Artifact Hub: images", |chart| {
        has_texts(&chart.annotation("artifacthub.io/images"), &["name", "image"])
    }),
    ("recommended labels of all objects, with the values of the release", |chart| {
        let has_crds = chart.objects.iter().any(|o| o["kind"] == "CustomResourceDefinition");
        let version = label_value(&chart.metadata["version"]);
        let values = [
            ("app.kubernetes.io/name", chart.name.to_owned()),
            ("app.kubernetes.io/instance", "bright".to_owned()),
            ("app.kubernetes.io/managed-by", "Helm".to_owned()),
            ("app.kubernetes.io/version", label_value(&chart.metadata["appVersion"])),
            ("helm.sh/chart", format!("{}-{version}", chart.name)),
        ];
        has_crds
            && chart.objects.iter().all(|object| {
                let labels = &object["metadata"]["labels"];
                values.iter().all(|(key, value)| labels[*key] == **value)
            })
    }),
    ("recommended labels of all pods, without those of the version", |chart| {
        let pods =
            chart.objects.iter().filter_map(|object| object.pointer("/spec/template/metadata"));
        pods.into_iter().all(|pod| {
            let has = |key: &str| pod["labels"].get(key).is_some();
            ["name", "instance", "managed-by"]
                .iter()
                .all(|label| has(&format!("app.kubernetes.io/{label}")))
                && !has("helm.sh/chart")
        })
    }),
    // Of these operators, keda alone has the maturity `deprecated`.
    ("deprecated as the bundle says", |chart| {
        (chart.metadata["deprecated"] == true) == (chart.name == "keda")
    }),
    ("pods without the annotations of catalogs", |chart| {
        let annotations = chart.objects.iter().filter_map(|object| {
            object.pointer("/spec/template/metadata/annotations")?.as_object()
        });
        let mut keys = annotations.flat_map(|annotations| annotations.keys());
        keys.all(|key| {
            key != "alm-examples"
                && key != "capabilities"
                && !key.starts_with("operators.operatorframework.io/")
        })
    }),
    ("no `helm test` that needs an image", |chart| {
        let hooks = chart.objects.iter().map(|o| &o["metadata"]["annotations"]["helm.sh/hook"]);
        let mut hooks = hooks.filter_map(Json::as_str);
        !hooks.any(|hook| hook.contains("test"))
    }),
    ("a README with values, permissions and the first custom resource", |chart| {
        let readme = chart.read("README.md");
        ["## Values", "## Permissions", "## First custom resource"]
            .iter()
            .all(|title| readme.contains(title))
    }),
    ("notes with the first custom resource and its example", |chart| {
        let notes = chart.read("templates/NOTES.txt");
        let article = if chart.first.starts_with('O') { "an" } else { "a" };
        let command = format!(" create {article} {}. The example of the bundle:\n", chart.first);
        notes.split_once(&command).is_some_and(|(_, example)| has_kind(example, chart.first))
    }),
    ("a README with the same example", |chart| {
        let readme = chart.read("README.md");
        readme.split_once("```yaml\n").is_some_and(|(_, example)| has_kind(example, chart.first))
    }),
    ("an operand that `add` proposes, with which the build succeeds", |chart| {
        chart.with_operand.as_ref().is_some_and(|config| has_kind(config, chart.first))
    }),
    ("a comment for each value", |chart| is_described(&chart.read("values.yaml"))),
    ("a schema that knows each value", |chart| {
        let values: Json = serde_yaml::from_str(&chart.read("values.yaml")).expect("values");
        let schema = serde_json::from_str(&chart.read("values.schema.json")).expect("a schema");
        is_known(&values, &schema)
    }),
];

/// A version as the value of a label.
fn label_value(version: &Json) -> String {
    version.as_str().unwrap_or_default().replace('+', "_")
}

/// True if a text has an object of this kind.
fn has_kind(text: &str, kind: &str) -> bool {
    text.lines().any(|line| line == format!("kind: {kind}"))
}

/// True if each key has a comment, is in a value with a comment, or is a group of such keys.
fn is_described(values: &str) -> bool {
    let (mut described, mut has_comment) = (None, false);
    let mut lines = values.lines().filter(|line| !line.is_empty());
    lines.all(|line| {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text.starts_with(['#', '-']) || described.is_some_and(|outer| indent > outer) {
            has_comment = text.starts_with('#');
            return true;
        }
        described = has_comment.then_some(indent);
        std::mem::take(&mut has_comment) || text.ends_with(':')
    })
}

/// True if a schema that lists properties has each key of the values.
fn is_known(values: &Json, schema: &Json) -> bool {
    let (Some(values), Some(properties)) = (values.as_object(), schema["properties"].as_object())
    else {
        return true;
    };
    values.iter().all(|(key, value)| {
        properties.get(key).is_some_and(|property| is_known(value, property))
            || schema["additionalProperties"].is_object()
    })
}

#[test]
fn charts_of_real_operators_have_what_is_wanted() {
    let (Some(case), Some(corpus)) = (operators(), shared("corpus")) else { return };
    let mut missing = Vec::new();
    for (name, version, first) in OPERATORS {
        let path = format!("out/{name}/{version}");
        let folder = case.path(&path);
        let folder = folder.to_str().expect("UTF-8");
        let lint = Helm::newest().run(["lint", "--strict", folder]).expect_success();
        // Icons that are too large are left out.
        let lint = lint.replace("[INFO] Chart.yaml: icon is recommended\n", "");
        assert!(!lint.contains("[WARNING]") && !lint.contains("[INFO]"), "{lint}");

        let own = Case::new();
        let bundle = corpus.join(name).join(version);
        let built = with_proposed_operand(&own, bundle.to_str().expect("UTF-8")).code == Some(0);
        let rendered = Helm::newest().run(["template", "bright", folder, "--namespace", name]);
        let chart = Chart {
            metadata: yaml(&case, &format!("{path}/Chart.yaml")),
            objects: documents(&rendered.expect_success()),
            case: &case,
            with_operand: built.then(|| own.read("bundles.toml")),
            name,
            path,
            first,
        };
        let fails = WANTED.iter().filter(|(_, holds)| !holds(&chart));
        missing.extend(fails.map(|(wanted, _)| format!("{name}: {wanted}")));
    }
    assert_eq!(missing, <[&str; 0]>::default());
}

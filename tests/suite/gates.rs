//! Gates (`ready`): deployment files wait for them, documents have the commands, and mistakes are
//! errors at their key.

use crate::support::command::{Case, Seen};
use crate::support::crd_schemas::CrdSchemas;
use crate::support::helm::Helm;
use crate::support::shared::shared;
use serde_json::Value as Json;

const BUNDLES: &str = r#"
[[bundle]]
name = "lamp-operator"
path = "bundle"
namespace = "lamp-system"
ready = [
  { rollout = "deployment/lamp-operator", timeout = "90s" },
  { crd = "bulbs.light.example.com" },
  { condition = "Ready", object = "light.example.com/v1/Lamp/first", phase = "operand" },
  { jsonpath = "{.status.bulbs[0].state}", value = "on", object = "light.example.com/v1/Lamp/first", namespace = "hall", timeout = "1h", phase = "operand" },
  { rollout = "Deployment/lamp-controller", namespace = "hall", phase = "operand" },
]
[[bundle.overlay]]
phase = "operand"
inline = '{apiVersion: light.example.com/v1, kind: Lamp, metadata: {name: first, namespace: hall}}'
[[chart]]
name = "policies"
chart-version = "1.0.0"
manifests = ["policies.yaml"]
depends-on = ["lamp-operator"]
"#;

const DEPLOY: &str = r#"
[deploy]
helmfile = true
[deploy.argocd]
repo = "https://git.example.com/lamps.git"
style = "app-of-apps"
[deploy.flux]
source-name = "lamps"
"#;

fn case() -> Case {
    let case = Case::with_lamps();
    case.write("bundles.toml", format!("{BUNDLES}{DEPLOY}"));
    case.write(
        "policies.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: policies}\ndata: {}\n",
    );
    case
}

#[track_caller]
fn build(case: &Case, code: i32) -> Seen {
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(code), "{}", seen.text());
    seen
}

fn parsed(case: &Case, path: &str) -> Json {
    serde_yaml::from_str(&case.read(path)).expect("YAML")
}

/// The hooks of a release, each as a line.
fn hooks(helmfile: &Json, release: &str) -> Vec<String> {
    let releases = helmfile["releases"].as_array().expect("releases");
    let release = releases.iter().find(|one| one["name"] == release).expect("the release");
    let hooks = release["hooks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let line = |hook: &Json| {
        let words = hook["args"].as_array().expect("arguments").iter();
        let words: Vec<&str> = words.map(|word| word.as_str().expect("a text")).collect();
        let event = hook["events"][0].as_str().expect("an event");
        format!("{event}: {} {}", hook["command"].as_str().expect("a command"), words.join(" "))
    };
    hooks.iter().map(line).collect()
}

#[test]
fn helmfile_waits_after_the_release_and_before_its_dependents() {
    let case = case();
    build(&case, 0);
    let helmfile = parsed(&case, "out/helmfile.yaml");
    let operator = "kubectl --namespace lamp-system ";
    let hall = "kubectl --namespace hall ";
    let why = "get lamp.light.example.com/first --output yaml";
    let events = "get events --sort-by=.lastTimestamp";
    let in_operator = [
        format!(
            "{operator}wait --for=create --timeout=90s deployment/lamp-operator && \
             {operator}rollout status --timeout=90s deployment/lamp-operator || \
             {{ echo 'gate closed: rollout of Deployment/lamp-operator in namespace lamp-system \
             (time limit 90s); to see why: {operator}describe deployment/lamp-operator; \
             {operator}get pods; {operator}{events}' >&2; exit 1; }}"
        ),
        "kubectl wait --for=create --timeout=600s crd/bulbs.light.example.com && \
         kubectl wait --for=condition=Established --timeout=600s crd/bulbs.light.example.com || \
         { echo 'gate closed: condition Established of \
         CustomResourceDefinition/bulbs.light.example.com (time limit 600s); to see why: \
         kubectl describe crd/bulbs.light.example.com' >&2; exit 1; }"
            .to_owned(),
    ];
    let in_operands = [
        format!(
            "{hall}wait --for=create --timeout=600s lamp.light.example.com/first && \
             {hall}wait --for=condition=Ready --timeout=600s lamp.light.example.com/first || \
             {{ echo 'gate closed: condition Ready of Lamp/first in namespace hall (time limit \
             600s); to see why: {hall}{why}; {hall}{events}' >&2; exit 1; }}"
        ),
        format!(
            "{hall}wait --for=create --timeout=3600s lamp.light.example.com/first && \
             {hall}wait '--for=jsonpath={{.status.bulbs[0].state}}=on' --timeout=3600s \
             lamp.light.example.com/first || {{ echo 'gate closed: .status.bulbs[0].state = on of \
             Lamp/first in namespace hall (time limit 3600s); to see why: {hall}{why}; \
             {hall}{events}' >&2; exit 1; }}"
        ),
        format!(
            "{hall}wait --for=create --timeout=600s deployment/lamp-controller && \
             {hall}rollout status --timeout=600s deployment/lamp-controller || \
             {{ echo 'gate closed: rollout of Deployment/lamp-controller in namespace hall (time \
             limit 600s); to see why: {hall}describe deployment/lamp-controller; {hall}get pods; \
             {hall}{events}' >&2; exit 1; }}"
        ),
    ];
    let with = |event: &str, scripts: &[String]| -> Vec<String> {
        scripts.iter().map(|script| format!("{event}: sh -c {script}")).collect()
    };
    assert_eq!(hooks(&helmfile, "lamp-operator"), with("postsync", &in_operator));
    let operands = [with("presync", &in_operator), with("postsync", &in_operands)].concat();
    assert_eq!(hooks(&helmfile, "lamp-operator-operands"), operands);
    assert_eq!(hooks(&helmfile, "policies"), with("presync", &in_operands));
    assert_eq!(case.run(&["build", "--check"]).code, Some(0));
}

#[test]
fn argo_cd_and_flux_have_health_checks() {
    let case = case();
    build(&case, 0);
    let files = [
        "argocd/argocd-cm.yaml",
        "flux/kustomization.yaml",
        "flux/steps/lamp-operator.yaml",
        "flux/steps/lamp-operator-operands.yaml",
        "flux/steps/policies.yaml",
    ];
    let shown = files.map(|file| format!("==> {file}\n{}", case.read(&format!("out/{file}"))));
    insta::assert_snapshot!("deployers", shown.concat());
    for name in ["lamp-operator", "lamp-operator-operands", "policies"] {
        let step = parsed(&case, &format!("out/flux/steps/{name}.yaml"));
        let folder = step["spec"]["path"].as_str().expect("a path");
        assert!(case.path(folder).join("helmrelease.yaml").is_file(), "{folder}");
    }
}

/// Objects of Flux 2.3, except the expressions, which are newer.
#[test]
fn flux_has_every_field_of_a_step() {
    let Some(folder) = shared("corpus/flux/2.3.0/manifests") else { return };
    let schemas = CrdSchemas::read(&folder);
    let case = case();
    build(&case, 0);
    for name in ["lamp-operator", "lamp-operator-operands", "policies"] {
        let mut step = parsed(&case, &format!("out/flux/steps/{name}.yaml"));
        let expressions = step["spec"].as_object_mut().expect("a map").remove("healthCheckExprs");
        assert_eq!(expressions.is_some(), name.ends_with("-operands"), "{name}");
        assert_eq!(schemas.problems(&step), Some(Vec::new()), "{step}");
    }
}

#[test]
fn without_gates_nothing_waits() {
    let case = case();
    build(&case, 0);
    let text = case.read("bundles.toml");
    let (start, end) = (text.find("ready = [").unwrap(), text.find("\n]\n").unwrap() + 3);
    case.write("bundles.toml", [&text[..start], &text[end..]].concat());
    let seen = case.run(&["build", "--replace"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    assert!(!case.read("out/helmfile.yaml").contains("hooks"));
    for path in ["out/flux/steps", "out/argocd/argocd-cm.yaml"] {
        assert!(!case.path(path).exists(), "{path}");
    }
    assert!(case.path("out/flux/releases/policies.yaml").is_file());
}

#[test]
fn documents_have_the_commands() {
    let case = case();
    build(&case, 0);
    let mut shown = String::new();
    for chart in ["lamp-operator", "lamp-operator-operands"] {
        let readme = case.read(&format!("out/{chart}/1.2.3/README.md"));
        let start = readme.find("## Ready").expect("a section");
        let end = start + 3 + readme[start + 3..].find("\n## ").expect("a section after it");
        shown += &format!("==> {chart}\n{}\n", &readme[start..end]);
    }
    let notes = case.read("out/lamp-operator-operands/1.2.3/templates/NOTES.txt");
    insta::assert_snapshot!("documents", format!("{shown}==> NOTES.txt\n{notes}"));
    for helm in Helm::oldest_too_in_ci() {
        let path = case.path("out/lamp-operator-operands/1.2.3");
        helm.lint(&path, &[]).expect_success();
    }
}

#[test]
fn gates_on_missing_objects_are_errors() {
    let case = case();
    case.replace("bundles.toml", "v1/Lamp/first\", phase", "v1/Lamp/frist\", phase");
    let operand = build(&case, 2).stderr;
    case.replace("bundles.toml", "v1/Lamp/frist\", phase", "v1/Lamp/first\", phase");
    let chart = "manifests = [\"policies.yaml\"]\n";
    let gate =
        "ready = [{ jsonpath = \".data.a\", value = \"b\", object = \"v1/ConfigMap/policy\" }]\n";
    case.replace("bundles.toml", chart, &format!("{chart}{gate}"));
    let chart = build(&case, 2).stderr;
    insta::assert_snapshot!("missing", format!("{operand}\n{chart}"));
}

#[test]
fn inspect_proposes_gates_of_known_operators() {
    let case = Case::with_lamps();
    let plain = case.run(&["inspect", "bundle"]).stdout;
    assert!(!plain.contains("Gates"), "{plain}");
    case.replace(
        "bundle/metadata/annotations.yaml",
        "package.v1: lamp-operator",
        "package.v1: servicemeshoperator3",
    );
    let seen = case.run(&["inspect", "bundle"]).stdout;
    let (_, rest) = seen.split_once("Gates to add to `ready`\n").expect("a section");
    let (section, _) = rest.split_once("\n\n").expect("a section after it");
    assert_eq!(
        section,
        "  { condition = \"Ready\", object = \"sailoperator.io/v1/Istio/default\", phase = \"operand\" }\n    \
         istiod serves the GatewayClass of gateways, and other operators look for it when they start"
    );
}

//! Switches: values of the chart NAME-operands that replace or add custom resources later, in order.

use crate::support::command::{Case, Seen};
use crate::support::helm::Helm;
use serde_json::{Value as Json, json};

const BUNDLES: &str = r#"
[[bundle]]
name = "lamp-operator"
path = "bundle"
namespace = "lamp-system"
[[bundle.switch]]
name = "dimming"
ready = [{ rollout = "deployment/dimmer", namespace = "hall", timeout = "5m" }]
[[bundle.switch]]
name = "colors"
[[bundle.overlay]]
phase = "operand"
inline = '{apiVersion: light.example.com/v1, kind: Lamp, metadata: {name: first, namespace: hall}, spec: {mode: plain}}'
[[bundle.overlay]]
phase = "operand"
switch = "dimming"
inline = '''
apiVersion: light.example.com/v1
kind: Lamp
metadata: {name: first, namespace: hall}
spec: {mode: dimmed}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: levels, namespace: hall}
data: {low: '1'}
'''
[[bundle.overlay]]
phase = "operand"
switch = "colors"
inline = '{apiVersion: light.example.com/v1, kind: Lamp, metadata: {name: first, namespace: hall}, spec: {mode: colored}}'
"#;

fn case() -> Case {
    let case = Case::with_lamps();
    case.write("bundles.toml", BUNDLES);
    // The Lamp has a spec.
    case.replace(
        "bundle/manifests/light.example.com_lamps.yaml",
        "        type: object\n",
        "        type: object\n        x-kubernetes-preserve-unknown-fields: true\n",
    );
    case
}

#[track_caller]
fn build(case: &Case, code: i32) -> Seen {
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(code), "{}", seen.text());
    seen
}

const CHART: &str = "out/lamp-operator-operands/1.2.3";

/// The kinds of a rendered chart with the mode of the Lamp.
fn objects(rendered: &str) -> Vec<String> {
    let documents = rendered.split("\n---").map(|text| {
        serde_yaml::from_str::<Json>(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    });
    let mut found: Vec<String> = documents
        .filter(|object| object.is_object() && !is_hook(object))
        .map(|object| match object["spec"]["mode"].as_str() {
            Some(mode) => format!("{} {mode}", object["kind"].as_str().unwrap()),
            None => object["kind"].as_str().unwrap().to_owned(),
        })
        .collect();
    found.sort();
    found
}

fn is_hook(object: &Json) -> bool {
    object["metadata"]["annotations"]["helm.sh/hook"].is_string()
}

#[test]
fn helm_renders_each_state() {
    let case = case();
    build(&case, 0);
    let path = case.path(CHART);
    for helm in Helm::oldest_too_in_ci() {
        helm.lint(&path, &[]).expect_success();
        for (on, expected) in [
            (&[][..], &["Lamp plain"][..]),
            (&["dimming"], &["ConfigMap", "Lamp dimmed"]),
            (&["dimming", "colors"], &["ConfigMap", "Lamp colored"]),
        ] {
            let values: Vec<String> =
                on.iter().map(|name| format!("switches.{name}=true")).collect();
            let flags: Vec<&str> = values.iter().flat_map(|value| ["--set", value]).collect();
            let run = helm.template("lamps", &path, "lamp-system", &flags);
            assert_eq!(objects(&run.expect_success()), expected, "{on:?}");
        }
        // A later switch requires the earlier ones.
        let early =
            helm.template("lamps", &path, "lamp-system", &["--set", "switches.colors=true"]);
        assert!(!early.success && early.stderr.contains("switches"), "{early:?}");
    }
}

/// The name of the Job that waits for the gates of a switch, and of what it needs.
const JOB: &str = "lamp-operator-operands-dimming-gates";

/// The hooks of the switch, and the others that remain.
fn hooks(rendered: &str) -> Vec<Json> {
    let documents = rendered.split("\n---").map(|text| {
        serde_yaml::from_str::<Json>(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    });
    documents.filter(is_hook).collect()
}

/// Only values decide whether a switch is on, so the chart waits for its gates itself, before its
/// objects are applied.
#[test]
fn a_job_waits_for_the_gates_of_a_switch_that_is_on() {
    let case = case();
    build(&case, 0);
    let path = case.path(CHART);
    for helm in Helm::oldest_too_in_ci() {
        let rendered = |values: &[&str]| {
            let flags: Vec<&str> = values.iter().flat_map(|value| ["--set", value]).collect();
            hooks(&helm.template("lamps", &path, "lamp-system", &flags).expect_success())
        };
        assert!(rendered(&[]).is_empty());
        assert!(rendered(&["switches.dimming=true", "gates.hook=false"]).is_empty());

        let all = rendered(&["switches.dimming=true"]);
        let annotation = |object: &Json, name: &str| {
            let annotations = &object["metadata"]["annotations"];
            annotations[format!("helm.sh/hook{name}")].as_str().expect("a text").to_owned()
        };
        for hook in &all {
            assert_eq!(hook["metadata"]["name"], JOB);
            assert_eq!(annotation(hook, ""), "pre-install,pre-upgrade");
            // Nothing is left of it.
            assert!(annotation(hook, "-delete-policy").contains("hook-succeeded"));
            let weight = if hook["kind"] == "Job" { "-1000" } else { "-1001" };
            assert_eq!(annotation(hook, "-weight"), weight);
        }
        let of = |kind: &str| {
            let mut found = all.iter().filter(|object| object["kind"] == kind);
            let first = found.next().unwrap_or_else(|| panic!("no {kind}"));
            assert!(found.next().is_none(), "two of {kind}");
            first
        };
        assert_eq!(all.len(), 4);
        assert_eq!(of("ServiceAccount")["metadata"]["namespace"], "lamp-system");
        assert_eq!(of("RoleBinding")["subjects"][0]["namespace"], "lamp-system");
        assert_eq!(of("Role")["metadata"]["namespace"], "hall");
        assert_eq!(
            of("Role")["rules"],
            json!([{
                "apiGroups": ["apps"],
                "resources": ["deployments"],
                "resourceNames": ["dimmer"],
                "verbs": ["get", "list", "watch"],
            }])
        );
        let pod = &of("Job")["spec"]["template"]["spec"];
        assert_eq!(pod["serviceAccountName"], JOB);
        assert_eq!(pod["securityContext"]["runAsUser"], 65532);
        assert_eq!(pod["containers"].as_array().map(Vec::len), Some(1));

        // OpenShift selects the user.
        let selected = rendered(&["switches.dimming=true", "kubectl.runAsUser=null"]);
        let job = selected.iter().find(|object| object["kind"] == "Job").expect("a Job");
        let security = &job["spec"]["template"]["spec"]["securityContext"];
        assert_eq!(security["runAsUser"], Json::Null);
        assert_eq!(security["runAsNonRoot"], true);
    }
    insta::assert_snapshot!("job", case.read(&format!("{CHART}/templates/job-{JOB}.yaml")));
    let images = case.run(&["images"]).stdout;
    assert!(images.contains("docker.io/alpine/kubectl:"), "{images}");
    assert_eq!(case.run(&["build", "--check"]).code, Some(0));
}

/// Releases have time for the Jobs of their switches.
#[test]
fn deployers_have_time_for_the_gates() {
    let case = case();
    let deploy = "[deploy]\nhelmfile = true\n[deploy.flux]\nsource-name = \"lamps\"\n";
    case.write("bundles.toml", format!("{BUNDLES}{deploy}"));
    build(&case, 0);
    let parsed = |path: &str| serde_yaml::from_str::<Json>(&case.read(path)).expect("YAML");
    let helmfile = parsed("out/helmfile.yaml");
    let timeouts: Vec<(&str, Option<u64>)> = helmfile["releases"]
        .as_array()
        .expect("releases")
        .iter()
        .map(|release| (release["name"].as_str().expect("a name"), release["timeout"].as_u64()))
        .collect();
    // Ten minutes as for all, five for the pod to start, and twice the gate's: for the object, and
    // for its state.
    let operands = ("lamp-operator-operands", Some(600 + 300 + 2 * 300));
    assert_eq!(timeouts, [("lamp-operator", None), operands]);
    let release = parsed("out/flux/releases/lamp-operator-operands.yaml");
    assert_eq!(release["spec"]["timeout"], "10m900s");
}

#[test]
fn documents_have_the_order() {
    let case = case();
    build(&case, 0);
    let readme = case.read(&format!("{CHART}/README.md"));
    let start = readme.find("## Switches").expect("a section");
    let end = start + 3 + readme[start + 3..].find("\n## ").expect("a section after it");
    let notes = case.read(&format!("{CHART}/templates/NOTES.txt"));
    let values = case.read(&format!("{CHART}/values.yaml"));
    insta::assert_snapshot!(
        "documents",
        format!("{}\n==> NOTES.txt\n{notes}\n==> values.yaml\n{values}", &readme[start..end])
    );
}

/// `diff` shows a switch as a change of the object, and what it adds.
#[test]
fn diff_compares_states() {
    let case = case();
    build(&case, 0);
    let copied = case.shell(
        &format!("cp -r {CHART} on && sed -i 's/dimming: false/dimming: true/' on/values.yaml"),
        &[],
        &[],
    );
    assert_eq!(copied.code, Some(0), "{}", copied.text());
    let diff = case.run(&["diff", CHART, "on"]);
    assert_eq!(diff.code, Some(0), "{}", diff.text());
    assert!(diff.stdout.contains("plain") && diff.stdout.contains("dimmed"), "{}", diff.stdout);
    assert!(diff.stdout.contains("ConfigMap"), "{}", diff.stdout);
    let same = case.run(&["diff", CHART, CHART, "--exit-code"]);
    assert_eq!(same.code, Some(0), "{}", same.text());
}

/// Mistakes that only the objects of the chart show; those of the table are in src/config/tables/tests.rs.
#[test]
fn mistakes_are_errors_at_their_key() {
    let lamp = "inline = '{apiVersion: light.example.com/v1, kind: Lamp, metadata: {name: a, namespace: b}}'";
    let faulty = [
        // A gate on a kind of unknown scope: the Job's permissions are unknown.
        format!(
            "[[bundle.switch]]\nname = \"a\"\nready = [{{ condition = \"Ready\", object = \"other.example.com/v1/Other/a\" }}]\n[[bundle.overlay]]\nphase = \"operand\"\nswitch = \"a\"\n{lamp}"
        ),
        // One object twice in one state.
        format!(
            "[[bundle.switch]]\nname = \"a\"\n[[bundle.overlay]]\nphase = \"operand\"\nswitch = \"a\"\n{lamp}\n[[bundle.overlay]]\nphase = \"operand\"\nswitch = \"a\"\n{lamp}"
        ),
    ];
    let case = Case::with_lamps();
    let config = case.read("bundles.toml");
    let mut shown = String::new();
    for switch in faulty {
        case.write("bundles.toml", format!("{config}{switch}\n"));
        let seen = build(&case, 2);
        assert!(seen.stderr.contains("--> bundles.toml:"), "{switch}: {}", seen.stderr);
        let lines = seen.stderr.lines();
        let lines = lines.filter(|line| line.starts_with("error") || line.contains("= hint"));
        shown += &format!("{switch}\n{}\n\n", lines.collect::<Vec<_>>().join("\n"));
    }
    insta::assert_snapshot!("mistakes", shown);
}

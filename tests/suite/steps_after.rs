//! Steps after the installation (`after`): a Job in the chart, hooks of helmfile, documents, and
//! mistakes at their key.

use crate::support::command::{Case, Seen};
use crate::support::helm::Helm;
use serde_json::{Value as Json, json};

const BUNDLES: &str = r#"
[[bundle]]
name = "lamp-operator"
path = "bundle"
namespace = "lamp-system"
[bundle.namespaces]
operand = "hall"
[[bundle.overlay]]
phase = "operand"
inline = '{apiVersion: light.example.com/v1, kind: Lamp, metadata: {name: first, namespace: hall}}'
[[bundle.after]]
object = "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration/bulb-injector"
annotations = { "light.example.com/ignore" = "true" }
ready = [{ condition = "Ready", object = "light.example.com/v1/Lamp/first", namespace = "hall", timeout = "5m" }]
timeout = "90s"
phase = "operand"
[[bundle.after]]
object = "apps/v1/Deployment/lamp-controller"
namespace = "hall"
labels = { tier = "lights" }
annotations = { "light.example.com/managed" = "{{ false }}" }
patch = '{spec: {paused: null, replicas: 2}}'
reset = "once"
image = "registry.example.com/tools/kubectl:1.35.0"
phase = "operand"
[[chart]]
name = "policies"
chart-version = "1.0.0"
manifests = ["policies.yaml"]
depends-on = ["lamp-operator"]
[[chart.after]]
object = "v1/ConfigMap/generated"
patch = { data = { mode = "strict" } }
"#;

const DEPLOY: &str = r#"
[deploy]
helmfile = true
values = "values"
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

/// The objects of a step, which have one name.
fn objects(rendered: &str, name: &str) -> Vec<Json> {
    let documents = rendered.split("\n---").map(|text| {
        serde_yaml::from_str::<Json>(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    });
    documents.filter(|object| object["metadata"]["name"] == name).collect()
}

const OPERANDS: &str = "lamp-operator-operands";

#[test]
fn the_chart_has_a_job_with_the_least_rights() {
    let case = case();
    build(&case, 0);
    let path = case.path("out/lamp-operator-operands/1.2.3");
    for helm in Helm::oldest_too_in_ci() {
        helm.lint(&path, &[]).expect_success();
        let rendered = helm.template(OPERANDS, &path, "lights", &[]).expect_success();
        let made = objects(&rendered, "lamp-operator-operands-after");
        let mut kinds: Vec<&str> = made.iter().map(|o| o["kind"].as_str().unwrap()).collect();
        kinds.sort_unstable();
        let all = ["ClusterRole", "ClusterRoleBinding", "Job", "Role", "RoleBinding"];
        assert_eq!(kinds, [&all[..], &["ServiceAccount"]].concat());
        let of = |kind: &str| made.iter().find(|object| object["kind"] == kind).unwrap();
        assert_eq!(
            of("ClusterRole")["rules"],
            json!([{
                "apiGroups": ["admissionregistration.k8s.io"],
                "resources": ["mutatingwebhookconfigurations"],
                "resourceNames": ["bulb-injector"],
                "verbs": ["get", "patch"],
            }])
        );
        // The plural of the Lamp is that of its CRD.
        assert_eq!(of("Role")["metadata"]["namespace"], "hall");
        assert_eq!(
            of("Role")["rules"],
            json!([
                {
                    "apiGroups": ["apps"],
                    "resources": ["deployments"],
                    "resourceNames": ["lamp-controller"],
                    "verbs": ["get", "patch"],
                },
                {
                    "apiGroups": ["light.example.com"],
                    "resources": ["lamps"],
                    "resourceNames": ["first"],
                    "verbs": ["get", "list", "watch"],
                },
            ])
        );
        for binding in ["RoleBinding", "ClusterRoleBinding"] {
            assert_eq!(of(binding)["subjects"][0]["namespace"], "lights");
        }
        // Without the hook, for deployers with their own, there is nothing of it.
        let without = ["--set", "after.hook=false"];
        let rendered = helm.template(OPERANDS, &path, "lights", &without).expect_success();
        assert!(!rendered.contains("lamp-operator-operands-after"), "{rendered}");
        // The image is a value, as all others.
        let mirror = ["--set", "images.kubectl=mirror.example.com/kubectl:1"];
        let rendered = helm.template("policies", &case.path("out/policies/1.0.0"), "p", &mirror);
        let rendered = rendered.expect_success();
        let job = objects(&rendered, "policies-after");
        let job = job.iter().find(|object| object["kind"] == "Job").unwrap();
        let container = &job["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], "mirror.example.com/kubectl:1");
    }
    let job = "out/lamp-operator-operands/1.2.3/templates/job-lamp-operator-operands-after.yaml";
    insta::assert_snapshot!("job", case.read(job));
    let images = case.run(&["images"]).stdout;
    assert!(images.contains("docker.io/alpine/kubectl:1.35.1"), "{images}");
    assert_eq!(case.run(&["build", "--check"]).code, Some(0));
}

/// Values move a namespace of operands, and the rights and the script with it.
#[test]
fn namespaces_are_those_of_the_values() {
    let case = case();
    build(&case, 0);
    let path = case.path("out/lamp-operator-operands/1.2.3");
    let moved = ["--set", "namespaces.operand=attic"];
    let rendered = Helm::newest().template(OPERANDS, &path, "lights", &moved).expect_success();
    let made = objects(&rendered, "lamp-operator-operands-after");
    for kind in ["Role", "RoleBinding"] {
        let object = made.iter().find(|object| object["kind"] == kind).unwrap();
        assert_eq!(object["metadata"]["namespace"], "attic");
    }
    let job = made.iter().find(|object| object["kind"] == "Job").unwrap();
    let pod = &job["spec"]["template"]["spec"];
    for container in [&pod["initContainers"][0], &pod["containers"][0]] {
        assert_eq!(container["env"], json!([{"name": "NAMESPACE_1", "value": "attic"}]));
        let script = container["command"][2].as_str().unwrap();
        assert!(script.contains("kubectl --namespace \"$NAMESPACE_1\" "), "{script}");
    }
}

#[test]
fn helmfile_and_flux_carry_them_out() {
    let case = case();
    build(&case, 0);
    let helmfile: Json = serde_yaml::from_str(&case.read("out/helmfile.yaml")).unwrap();
    let mut shown = String::new();
    for release in helmfile["releases"].as_array().unwrap() {
        let name = release["name"].as_str().unwrap();
        let has_steps = name != "lamp-operator";
        let no_job = release["values"][0] == json!({"after": {"hook": false}});
        assert_eq!(no_job, has_steps, "{release}");
        for hook in release["hooks"].as_array().into_iter().flatten() {
            assert_eq!([&hook["events"][0], &hook["command"]], ["postsync", "sh"]);
            // Hooks are templates of helmfile.
            let script = hook["args"][1].as_str().unwrap();
            assert!(!script.contains("{{"), "{script}");
            shown += &format!("==> {name}\n{script}\n");
        }
    }
    insta::assert_snapshot!("helmfile", shown);
    // The limit of a release is that of Flux, with the waiting of its steps.
    let release = case.read("out/flux/releases/lamp-operator-operands.yaml");
    assert!(release.contains("timeout: \"10m1290s\""), "{release}");
}

#[test]
fn documents_say_what_is_done() {
    let case = case();
    build(&case, 0);
    let readme = case.read("out/lamp-operator-operands/1.2.3/README.md");
    let start = readme.find("## Steps after").expect("a section");
    let end = start + 3 + readme[start + 3..].find("\n## ").expect("a section after it");
    let notes = case.read("out/lamp-operator-operands/1.2.3/templates/NOTES.txt");
    insta::assert_snapshot!(
        "documents",
        format!("{}\n==> NOTES.txt\n{notes}", &readme[start..end])
    );
}

/// Mistakes that only the objects of the chart show; those of the table are in src/config/tables/tests.rs.
#[test]
fn mistakes_are_errors_at_their_key() {
    let faulty = [
        "object = \"rooms.example.com/v1/Room/a\"\nlabels = { a = \"b\" }",
        "object = \"v1/Namespace/a\"\nnamespace = \"b\"\nlabels = { a = \"b\" }",
        "object = \"apps/v1/Deployment/lamp-operator\"\nlabels = { a = \"b\" }",
    ];
    let case = Case::with_lamps();
    let config = case.read("bundles.toml");
    let mut shown = String::new();
    for step in faulty {
        case.write("bundles.toml", format!("{config}[[bundle.after]]\n{step}\n"));
        let seen = build(&case, 2);
        assert!(seen.stderr.contains("--> bundles.toml:"), "{step}: {}", seen.stderr);
        let lines = seen.stderr.lines();
        let lines = lines.filter(|line| line.starts_with("error") || line.contains("= hint"));
        shown += &format!("{step}\n{}\n\n", lines.collect::<Vec<_>>().join("\n"));
    }
    insta::assert_snapshot!("mistakes", shown);
}

/// `resource` names a plural that is not the English one; `scopes` a scope.
#[test]
fn unknown_kinds_are_declared() {
    let case = Case::with_lamps();
    let config = case.read("bundles.toml");
    case.write(
        "bundles.toml",
        format!(
            "{config}scopes = {{ \"rooms.example.com/Room\" = \"Cluster\" }}\n[[bundle.after]]\n\
             object = \"rooms.example.com/v1/Room/a\"\nresource = \"spaces\"\nlabels = {{ a = \"b\" }}\n"
        ),
    );
    build(&case, 0);
    let path = "out/lamp-operator/1.2.3/templates/clusterrole-lamp-operator-after.yaml";
    let role = case.read(path);
    assert!(role.contains("- spaces\n") && !role.contains("rooms\n"), "{role}");
}

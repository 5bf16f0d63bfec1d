//! Switches on a real API server: an object is changed in place when its switch is turned on, and
//! back.

use crate::command::Case;
use crate::control_plane::ControlPlane;
use crate::helm::Helm;
use crate::install::apply_crds;
use serde_json::Value as Json;

const CONFIG: &str = r#"
[[chart]]
name = "platform"
chart-version = "1.0.0"
manifests = ["platform.yaml"]
[[chart.switch]]
name = "models"
[[chart.overlay]]
phase = "operand"
inline = '{apiVersion: platform.example.com/v1, kind: Cluster, metadata: {name: default}, spec: {models: Removed}}'
[[chart.overlay]]
phase = "operand"
switch = "models"
inline = '{apiVersion: platform.example.com/v1, kind: Cluster, metadata: {name: default}, spec: {models: Managed}}'
[chart.scopes]
"platform.example.com/Cluster" = "Namespaced"
"#;

#[test]
#[ignore = "needs Go 1.26: cargo test --test api_server -- --ignored"]
fn an_object_is_changed_in_place() {
    let cluster = ControlPlane::start();
    apply_crds(&cluster, &[("platform.example.com", "v1", "clusters", "Cluster")]);
    let case = Case::new();
    case.write("bundles.toml", CONFIG);
    case.write("platform.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: platform}\n");
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let chart = case.path("out/platform-operands/1.0.0");
    for helm in Helm::all() {
        let namespace = format!("platform-{}", helm.version.replace('.', "-"));
        let apply = |on: &str| {
            let switch = format!("switches.models={on}");
            let arguments = [
                "upgrade",
                "--install",
                "platform-operands",
                chart.to_str().expect("UTF-8"),
                "--namespace",
                &namespace,
                "--create-namespace",
                "--set",
                &switch,
            ];
            helm.run_on(&cluster.kubeconfig(), arguments).expect_success();
            let object = ["clusters.platform.example.com", "default", "--namespace", &namespace];
            let object = cluster.get(&object);
            let text = |path: &str| object.pointer(path).and_then(Json::as_str).map(str::to_owned);
            (text("/metadata/uid").expect("a UID"), text("/spec/models").expect("a state"))
        };
        let (uid, off) = apply("false");
        assert_eq!(off, "Removed", "Helm {}", helm.version);
        assert_eq!(apply("true"), (uid.clone(), "Managed".to_owned()), "Helm {}", helm.version);
        assert_eq!(apply("false"), (uid, "Removed".to_owned()), "Helm {}", helm.version);
    }
}

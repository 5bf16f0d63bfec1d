//! Models as a service: the objects of models and of the platform are valid for the CRDs of MaaS, a
//! wrong reference is an error at its key, and no chart contains a secret.

use crate::support::command::Case;
use crate::support::crd_schemas::CrdSchemas;
use crate::support::helm::Helm;
use crate::support::rendered::documents;
use crate::support::shared::shared;
use serde_json::Value as Json;
use std::path::Path;

const PLATFORM: &str = r#"
[[chart]]
name = "maas-platform"
chart-version = "1.0.0"
namespace = "ai-infra"
ready = [
  { condition = "Programmed", object = "gateway.networking.k8s.io/v1/Gateway/maas-default-gateway", namespace = "gateways" },
  { rollout = "deployment/maas-postgres" },
]
[chart.maas]
release = "3.4"
[chart.maas.gateway]
namespace = "gateways"
class = "istio"
hostname = "maas.example.com"
tls-secret = "maas-tls"
cluster-issuer = "private-ca"
namespaces = ["models"]
[chart.maas.database.embedded]
image = "registry.example.com/postgresql-16:1"

[[chart]]
name = "maas-tenant"
chart-version = "1.0.0"
namespace = "models-as-a-service"
depends-on = ["maas-platform"]
[chart.maas]
release = "3.4"
tenant = { max-key-days = 30 }
"#;

const MODEL: &str = r#"
[[serving]]
name = "granite"
model = "hf://ibm-granite/granite-3.3-8b-instruct"
form = "kserve"
namespace = "models"
engine = { image = "registry.example.com/vllm:v0.33.0@sha256:0000000000000000000000000000000000000000000000000000000000000000" }
[serving.maas]
[[serving.maas.subscriptions]]
name = "free"
groups = ["system:authenticated"]
token-limits = [{ limit = 1000, window = "1m" }, { limit = 20000, window = "24h" }]
[[serving.maas.subscriptions]]
name = "premium"
groups = ["premium-users", "staff"]
token-limits = [{ limit = 100000, window = "1m" }]
priority = 10
"#;

fn case() -> Case {
    let case = Case::new();
    case.write("bundles.toml", format!("{PLATFORM}{MODEL}"));
    case
}

/// The objects of a chart, as Helm renders them into this namespace.
fn objects(case: &Case, chart: &str, namespace: &str) -> Vec<Json> {
    let path = case.path(&format!("out/{chart}"));
    let version = path.read_dir().expect("versions").next().expect("a version").expect("an entry");
    let more = ["--kube-version", "1.35.0"];
    let text = Helm::newest().template("release", &version.path(), namespace, &more);
    documents(&text.expect_success())
}

#[track_caller]
fn of_kind<'o>(objects: &'o [Json], kind: &str) -> &'o Json {
    objects.iter().find(|object| object["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

#[test]
fn every_object_is_valid_for_its_crd() {
    let own = CrdSchemas::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/maas"));
    let gateways = shared("serving/crds").map(|folder| CrdSchemas::read(&folder));
    for release in ["3.4", "3.5"] {
        let case = case();
        let text = case.read("bundles.toml");
        case.write(
            "bundles.toml",
            text.replace("release = \"3.4\"", &format!("release = \"{release}\"")),
        );
        let seen = case.run(&["build"]);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
        let mut kinds: Vec<String> = Vec::new();
        for (chart, namespace) in [
            ("maas-platform", "ai-infra"),
            ("maas-tenant", "models-as-a-service"),
            ("granite", "models"),
        ] {
            for object in objects(&case, chart, namespace) {
                let is_maas = object["apiVersion"] == "maas.opendatahub.io/v1alpha1";
                if is_maas || object["kind"] == "Gateway" {
                    let schemas = if is_maas { Some(&own) } else { gateways.as_ref() };
                    let problems = schemas.map(|schemas| schemas.problems(&object));
                    assert!(problems.is_none_or(|found| found == Some(Vec::new())), "{object:#}");
                    kinds.push(object["kind"].as_str().expect("a kind").to_owned());
                }
            }
        }
        kinds.sort_unstable();
        let tenant: &[&str] =
            if release == "3.4" { &["Tenant"] } else { &["AITenant", "MaasTenantConfig"] };
        let mut expected = vec![
            "Gateway",
            "MaaSAuthPolicy",
            "MaaSModelRef",
            "MaaSSubscription",
            "MaaSSubscription",
        ];
        expected.extend(tenant);
        expected.sort_unstable();
        assert_eq!(kinds, expected, "{release}");
    }
}

/// The schemas refuse what the reader must not let through.
#[test]
fn the_schemas_refuse_what_is_wrong() {
    let schemas = CrdSchemas::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/maas"));
    let case = case();
    assert_eq!(case.run(&["build"]).code, Some(0));
    let subscription = of_kind(&objects(&case, "granite", "models"), "MaaSSubscription").clone();
    for (pointer, value) in [
        ("/spec/modelRefs/0/tokenRateLimits/0/limit", Json::from(0)),
        ("/spec/modelRefs/0/tokenRateLimits/0/window", Json::from("1d")),
        ("/spec/owner/groups/0", Json::from("a group")),
        ("/spec/tokens", Json::from(1)),
    ] {
        let mut broken = subscription.clone();
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        let parent = broken.pointer_mut(parent).expect("a parent");
        match key.parse::<usize>() {
            Ok(index) => parent[index] = value,
            Err(_) => parent[key] = value,
        }
        assert!(!schemas.problems(&broken).expect("a schema").is_empty(), "{pointer}");
    }
}

/// Names that MaaS' controller looks up: the namespaces of both sides, the Gateway of the service,
/// its annotations, and the group of a limit.
#[test]
fn the_names_of_a_model_and_its_platform_agree() {
    let case = case();
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let platform = objects(&case, "maas-platform", "ai-infra");
    let gateway = of_kind(&platform, "Gateway");
    assert_eq!(gateway["metadata"]["namespace"], "gateways");
    let annotations = &gateway["metadata"]["annotations"];
    assert_eq!(annotations["opendatahub.io/managed"], "false");
    assert_eq!(annotations["security.opendatahub.io/authorino-tls-bootstrap"], "true");
    assert_eq!(annotations["cert-manager.io/cluster-issuer"], "private-ca");
    let allowed = &gateway["spec"]["listeners"][0]["allowedRoutes"]["namespaces"]["selector"];
    assert_eq!(allowed["matchExpressions"][0]["values"], serde_json::json!(["ai-infra", "models"]));

    let tenant = objects(&case, "maas-tenant", "models-as-a-service");
    let tenant = of_kind(&tenant, "Tenant");
    let reference = serde_json::json!({"name": "maas-default-gateway", "namespace": "gateways"});
    assert_eq!(tenant["spec"]["gatewayRef"], reference);

    // The release namespace may differ from the suggested one; the tenant's stays.
    let model = objects(&case, "granite", "elsewhere");
    let service = of_kind(&model, "LLMInferenceService");
    assert_eq!(service["spec"]["router"]["gateway"]["refs"], serde_json::json!([reference]));
    assert_eq!(service["metadata"]["annotations"]["security.opendatahub.io/enable-auth"], "true");
    assert_eq!(of_kind(&model, "MaaSModelRef")["metadata"]["namespace"], "elsewhere");
    for object in model.iter().filter(|one| one["metadata"]["namespace"] == "models-as-a-service") {
        let reference = &object["spec"]["modelRefs"][0];
        assert_eq!(
            (&reference["name"], &reference["namespace"]),
            (&"granite".into(), &"elsewhere".into())
        );
    }
    let access = &of_kind(&model, "MaaSAuthPolicy")["spec"]["subjects"]["groups"];
    let groups: Vec<&Json> =
        access.as_array().expect("groups").iter().map(|one| &one["name"]).collect();
    assert_eq!(groups, ["system:authenticated", "premium-users", "staff"]);
}

/// The password is in a Secret of the user, which the pod and the README name.
#[test]
fn no_chart_contains_a_secret() {
    let case = case();
    assert_eq!(case.run(&["build"]).code, Some(0));
    let platform = objects(&case, "maas-platform", "ai-infra");
    assert!(platform.iter().all(|object| object["kind"] != "Secret"));
    let pod = &of_kind(&platform, "Deployment")["spec"]["template"]["spec"];
    let password = &pod["containers"][0]["env"][2];
    assert_eq!(password["name"], "POSTGRESQL_PASSWORD");
    assert_eq!(password["valueFrom"]["secretKeyRef"]["name"], "maas-db-config");
    let readme = case.read("out/maas-platform/1.0.0/README.md");
    assert!(readme.contains("create secret generic maas-db-config"), "{readme}");
}

#[test]
fn documents_have_the_commands() {
    let case = case();
    assert_eq!(case.run(&["build"]).code, Some(0));
    let files = [
        "maas-platform/1.0.0/README.md",
        "maas-platform/1.0.0/templates/NOTES.txt",
        "granite/0.1.0/README.md",
        "granite/0.1.0/templates/NOTES.txt",
    ];
    let shown = files.map(|file| format!("==> {file}\n{}", case.read(&format!("out/{file}"))));
    insta::assert_snapshot!("documents", shown.concat());
}

/// A model that names its platform by `maas` is installed after its charts.
#[test]
fn models_are_installed_after_the_platform() {
    let case = case();
    let text = case.read("bundles.toml");
    case.write("bundles.toml", format!("[deploy]\nhelmfile = true\n{text}"));
    assert_eq!(case.run(&["build"]).code, Some(0));
    let helmfile: Json = serde_yaml::from_str(&case.read("out/helmfile.yaml")).expect("YAML");
    let releases = helmfile["releases"].as_array().expect("releases");
    let model = releases.iter().find(|release| release["name"] == "granite").expect("the model");
    let needs = serde_json::json!(["ai-infra/maas-platform", "models-as-a-service/maas-tenant"]);
    assert_eq!(model["needs"], needs);
}

/// A platform in another repository: the route names its Gateway.
#[test]
fn a_model_without_its_platform_names_the_gateway_in_its_route() {
    let case = Case::new();
    let route = "route = { gateway = \"maas-default-gateway\", gateway-namespace = \"gateways\" }\n[serving.maas]";
    case.write("bundles.toml", MODEL.replace("[serving.maas]", route));
    let seen = case.run(&["build"]);
    assert_eq!(seen.code, Some(0), "{}", seen.text());
    let model = objects(&case, "granite", "models");
    let reference = serde_json::json!({"name": "maas-default-gateway", "namespace": "gateways"});
    let service = of_kind(&model, "LLMInferenceService");
    assert_eq!(service["spec"]["router"]["gateway"]["refs"], serde_json::json!([reference]));
}

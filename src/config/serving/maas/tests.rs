//! References between the platform of models as a service and its models.

use crate::tables::tests::{findings_of, values};
use crate::tests::{parsed, read};

const PLATFORM: &str = r#"
[[chart]]
name = "maas-platform"
chart-version = "1.0.0"
namespace = "ai-infra"
[chart.maas]
release = "3.4"
[chart.maas.gateway]
namespace = "gateways"
class = "istio"
hostname = "maas.example.com"
tls-secret = "maas-tls"
cluster-issuer = "private-ca"
namespaces = ["models", "a-namespace", "models"]
[chart.maas.database.embedded]
image = "registry.example.com/postgresql-16:1"

[[chart]]
name = "maas-tenant"
chart-version = "1.0.0"
namespace = "models-as-a-service"
depends-on = ["maas-platform"]
[chart.maas]
release = "3.4"
tenant = { max-key-days = 30, namespace = "tenants" }
"#;

const MODEL: &str = r#"
[[serving]]
name = "granite"
model = "hf://ibm-granite/granite-3.3-8b-instruct"
form = "kserve"
namespace = "models"
engine = { image = "registry.example.com/vllm:1" }
[serving.maas]
[[serving.maas.subscriptions]]
name = "free"
groups = ["system:authenticated"]
token-limits = [{ limit = 1000, window = "1m" }, { limit = 20000, window = "24h" }]
[[serving.maas.subscriptions]]
name = "premium"
groups = ["premium-users", "staff", "system:authenticated"]
token-limits = [{ limit = 100000, window = "1m" }]
priority = 10
"#;

#[test]
fn platforms_and_models_are_resolved() {
    let text = format!("{PLATFORM}{MODEL}");
    let mut config = parsed(&text);
    let model = &mut config.servings[0];
    let maas = model.maas.clone().unwrap();
    assert_eq!(maas.groups(), ["system:authenticated", "premium-users", "staff"]);
    // That of the tenant, and without one in the configuration, that of the controller.
    assert_eq!(maas.tenant_namespace, "tenants");
    let route = "route = { gateway = \"g\" }\n[serving.maas]\n";
    let alone = parsed(&MODEL.replace("[serving.maas]\n", route)).servings.remove(0);
    assert_eq!(alone.maas.unwrap().tenant_namespace, "models-as-a-service");
    let charts: Vec<_> = config.bundles.iter().map(|bundle| &bundle.source).collect();
    let found = (charts, &maas, &model.route, &model.depends_on);
    insta::assert_snapshot!(values(&text, &found));
}

/// Wrong names, each at its key.
#[test]
fn wrong_references_are_errors_at_their_keys() {
    let mut shown = String::new();
    for (from, to) in [
        ("[serving.maas]\n", "[serving.maas]\ngateway = \"maas-defaut-gateway\"\n"),
        ("\"models\", \"a-namespace\", \"models\"", "\"a-namespace\""),
        ("namespace = \"models\"\n", "namespace = \"ai-infra\"\n"),
        ("form = \"kserve\"\n", ""),
        ("form = \"kserve\"\n", "form = \"kserve\"\nroute = { gateway = \"other\" }\n"),
        (
            "form = \"kserve\"\n",
            "form = \"kserve\"\nroute = { gateway = \"maas-default-gateway\", gateway-namespace = \"gateways\" }\n",
        ),
        (
            "form = \"kserve\"\n",
            "form = \"kserve\"\nroute = { gateway = \"maas-default-gateway\", gateway-namespace = \"other\" }\n",
        ),
        (
            "form = \"kserve\"\n",
            "form = \"kserve\"\nroute = { gateway = \"other\", gateway-namespace = \"gateways\" }\n",
        ),
        ("tenant = {", "tenant = { gateway = \"other\","),
        ("tenant = {", "tenant = { gateway = \"maas-default-gateway\","),
        ("limit = 1000,", "limit = \"many\","),
        ("limit = 1000,", "limit = 0,"),
        ("window = \"24h\"", "window = \"1d\""),
        ("window = \"24h\"", "window = \"1m\""),
        ("name = \"premium\"", "name = \"free\""),
        ("groups = [\"system:authenticated\"]", "groups = []"),
        ("token-limits = [{ limit = 100000, window = \"1m\" }]", "token-limits = []"),
        ("priority = 10", "priority = 0"),
        ("depends-on = [\"maas-platform\"]", "depends-on = [\"maas-platform\", \"granite\"]"),
        ("name = \"maas-platform\"", "name = \"maas-platfrom\""),
    ] {
        let text = format!("{PLATFORM}{MODEL}");
        assert!(text.contains(from), "{from}");
        shown += &format!("==> {}\n{}\n", to.trim(), findings_of(text.replacen(from, to, 1)));
    }

    let twice = MODEL.replace("name = \"granite\"", "name = \"granite-two\"");
    let served = twice.replace("form =", "served-name = \"two\"\nform =");
    let (ungoverned, _) = twice.split_once("[serving.maas]").unwrap();
    let elsewhere = twice.replace("namespace = \"models\"", "namespace = \"a-namespace\"");
    let long = |length: usize| {
        let model = MODEL.replace("name = \"granite\"", &format!("name = \"{}\"", "g".repeat(40)));
        model.replace("name = \"premium\"", &format!("name = \"{}\"", "p".repeat(length)))
    };
    let second = "gateway = { name = \"second\", class = \"istio\", hostname = \"b.example.com\", tls-secret = \"b\", namespaces = [] }";
    let two_gateways =
        PLATFORM.replace("tenant = { max-key-days = 30, namespace = \"tenants\" }", second);
    let chosen = MODEL.replace("[serving.maas]\n", "[serving.maas]\ngateway = \"second\"\n");
    let with = |maas: &str| {
        format!(
            "{PLATFORM}[[chart]]\nname = \"a\"\nchart-version = \"1.0.0\"\nmaas = {{ {maas} }}\n"
        )
    };
    let route =
        "route = { gateway = \"maas-default-gateway\", gateway-namespace = \"gateways\" }\n";
    for (name, text) in [
        ("no platform", MODEL.to_owned()),
        (
            "a platform elsewhere",
            MODEL.replace("[serving.maas]\n", &format!("{route}[serving.maas]\n")),
        ),
        ("two models of one name", format!("{PLATFORM}{MODEL}{twice}")),
        (
            "two models of one written name",
            format!("{PLATFORM}{served}{}", served.replace("-two", "-three")),
        ),
        ("a model that is not governed", format!("{PLATFORM}{ungoverned}{MODEL}")),
        ("two models of two names", format!("{PLATFORM}{MODEL}{served}")),
        ("two namespaces", format!("{PLATFORM}{MODEL}{elsewhere}")),
        ("two Gateways", format!("{two_gateways}{MODEL}")),
        ("a Gateway that is not that of the tenant", format!("{}{chosen}", with(second))),
        ("one name for two Gateways", with(&second.replace("second", "maas-default-gateway"))),
        ("63 characters", format!("{PLATFORM}{}", long(22))),
        ("64 characters", format!("{PLATFORM}{}", long(23))),
        ("no part", with("")),
        ("two tenants", with("tenant = { gateway = \"maas-default-gateway\" }")),
        ("no Gateway", PLATFORM.replace("[chart.maas.gateway]", "[chart.other]")),
        ("a database of its own", with("database = {}")),
    ] {
        shown += &format!("==> {name}\n{}\n", findings_of(text));
    }
    insta::assert_snapshot!(shown);
    // As users see one of them.
    let (_, seen) = read(&format!("{PLATFORM}{}", MODEL.replace("form = \"kserve\"\n", "")));
    insta::assert_snapshot!("a_model_without_its_form", seen);
}

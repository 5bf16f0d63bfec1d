//! examples/llm-platform with those of its bundles that the shared test data has.

#![allow(dead_code, reason = "each test program uses a part")]
#![expect(clippy::disallowed_methods, reason = "tests write what the program reads")]

use super::command::Case;
use super::shared::shared;
use serde::Deserialize as _;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use toml::{Table, Value};

/// Bundles of the example, and what stands for them in the shared data: other versions, and for
/// Connectivity Link the project that it is made of.
const STAND_INS: &[(&str, &str)] = &[
    ("cert-manager-operator", "corpus/cert-manager-operator/1.16.0"),
    ("lws-operator", "corpus/lws-operator/1.0.0"),
    ("limitador-operator", "corpus/limitador-operator/0.17.1"),
    ("dns-operator", "corpus/dns-operator/0.16.1"),
    ("nfd", "corpus/nfd/4.16"),
];

/// CRDs of upstream projects that the example vendors, some in other versions.
const CRDS: &[&str] = &[
    "gateway.networking.k8s.io_gateways.yaml",
    "gateway.networking.k8s.io_httproutes.yaml",
    "inference.networking.k8s.io_inferencepools.yaml",
];

/// CRDs of models as a service, which OpenShift AI contains.
const MAAS_CRDS: &str = include_str!("../suite/maas/crds.yaml");

/// The CRD of KServe that the models of the example need, with any fields.
const KSERVE_CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: llminferenceservices.serving.kserve.io}
spec:
  group: serving.kserve.io
  scope: Namespaced
  names: {kind: LLMInferenceService, plural: llminferenceservices, singular: llminferenceservice}
  versions:
  - name: v1alpha2
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
";

/// The chart in place of OpenShift AI, which the shared data does not have: its CRDs.
const OPENSHIFT_AI: &str = "\
name = \"rhods-operator\"
chart-version = \"3.4.0\"
namespace = \"redhat-ods-operator\"
manifests = [\"openshift-ai\"]
depends-on = [\"maas-platform\"]
";

/// The example in a new folder, ready to be built, without operators that the shared data
/// lacks; nothing without the shared data.
pub(crate) fn case() -> Option<Case> {
    with_bundles(with_stand_ins)
}

/// The example with all of its operators: a chart of CRDs replaces each bundle that the shared
/// data lacks, with the bundle's settings that deployments depend on. Nothing without the shared
/// data.
pub(crate) fn whole() -> Option<Case> {
    with_bundles(with_charts_of_crds)
}

/// The example with bundles of the shared data; `stand_ins` replaces the others.
fn with_bundles(stand_ins: fn(&mut Table, &Case)) -> Option<Case> {
    let (_, crds) = (shared("corpus")?, shared("serving/crds")?);
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/llm-platform");
    let case = Case::new();
    for folder in ["operands", "issuers", "models", "values"] {
        for entry in fs::read_dir(example.join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            case.write(&format!("{folder}/{name}"), fs::read(&path).expect("a file"));
        }
    }
    case.write("openshift-ai/maas.yaml", MAAS_CRDS);
    case.write("openshift-ai/kserve.yaml", KSERVE_CRD);
    for name in CRDS {
        let content = fs::read(crds.join(name)).expect("a CRD");
        case.write(&format!("gateway-crds/{name}"), content);
    }
    let text = fs::read_to_string(example.join("bundles.toml")).expect("the example");
    let mut file: Table = text.parse().expect("TOML");
    stand_ins(&mut file, &case);
    vendored_as_found(&mut file, &case);
    case.write("bundles.toml", toml::to_string(&file).expect("TOML"));
    Some(case)
}

/// Vendored files that are there, with the digests that they have.
fn vendored_as_found(file: &mut Table, case: &Case) {
    for chart in file["chart"].as_array_mut().expect("charts") {
        let Some(vendored) = chart.get_mut("vendored").and_then(Value::as_array_mut) else {
            continue;
        };
        vendored.retain(|file| case.path(file["path"].as_str().expect("a path")).exists());
        assert_eq!(vendored.len(), CRDS.len());
        for file in vendored {
            let content = case.read(file["path"].as_str().expect("a path"));
            let table = file.as_table_mut().expect("a table");
            table.insert("digest".to_owned(), Value::String(digest(&content)));
        }
    }
}

/// The digest of a text, as bundles.toml has it.
pub(crate) fn digest(content: &str) -> String {
    Sha256::digest(content).iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The example with those bundles that there is something for.
fn with_stand_ins(file: &mut Table, _: &Case) {
    let mut charts = file["chart"].as_array().expect("charts").clone();
    charts.push(Value::Table(OPENSHIFT_AI.parse().expect("TOML")));
    let of_charts: Vec<String> =
        charts.iter().map(|chart| chart["name"].as_str().expect("a name").to_owned()).collect();
    let known = |name: &str| {
        of_charts.iter().any(|chart| chart == name)
            || STAND_INS.iter().any(|(stand_in, _)| *stand_in == name)
    };
    for chart in &mut charts {
        let needed = chart.get_mut("depends-on").and_then(Value::as_array_mut);
        let Some(needed) = needed else { continue };
        needed.retain(|name| known(name.as_str().expect("a name")));
    }
    file.insert("chart".to_owned(), Value::Array(charts));
    // Its operator is not there.
    let deploy = file["deploy"].as_table_mut().expect("[deploy]");
    deploy["argocd"].as_table_mut().expect("[deploy.argocd]").remove("application");
    let bundles = file["bundle"].as_array_mut().expect("bundles");
    bundles.retain(|bundle| {
        let name = bundle["name"].as_str().expect("a name");
        known(name) && name != "rhods-operator"
    });
    for bundle in bundles {
        let bundle = bundle.as_table_mut().expect("a table");
        if let Some(Value::Array(needed)) = bundle.get_mut("depends-on") {
            needed.retain(|name| known(name.as_str().expect("a name")));
        }
        let name = bundle["name"].as_str().expect("a name").to_owned();
        let Some((_, folder)) = STAND_INS.iter().find(|(stand_in, _)| *stand_in == name) else {
            continue;
        };
        take_from(bundle, folder);
    }
}

/// Makes the source of a bundle a folder of the shared data.
fn take_from(bundle: &mut Table, folder: &str) {
    for key in ["image", "catalog", "package", "channel", "version"] {
        bundle.remove(key);
    }
    let folder = shared(folder).unwrap_or_else(|| panic!("{folder}"));
    bundle.insert("path".to_owned(), Value::String(folder.display().to_string()));
}

/// The digest of images that are not pulled.
const DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// Settings of a bundle that a chart of CRDs keeps.
const KEPT: &[&str] = &[
    "name",
    "namespace",
    "namespaces",
    "pull-secret",
    "depends-on",
    "ready",
    "after",
    "switch",
    "overlay",
];

/// All bundles of the example: those of the shared data, and charts of CRDs for the others.
fn with_charts_of_crds(file: &mut Table, case: &Case) {
    let mut charts = file["chart"].as_array().expect("charts").clone();
    let bundles = file["bundle"].as_array_mut().expect("bundles");
    bundles.retain_mut(|bundle| {
        let bundle = bundle.as_table_mut().expect("a table");
        let name = bundle["name"].as_str().expect("a name").to_owned();
        if let Some((_, folder)) = STAND_INS.iter().find(|(stand_in, _)| *stand_in == name) {
            take_from(bundle, folder);
            return true;
        }
        let mut chart: Table =
            bundle.iter().filter(|(key, _)| KEPT.contains(&key.as_str())).map(owned).collect();
        let folder = format!("stand-ins/{name}");
        case.write(&format!("{folder}/crds.yaml"), crds_of_operands(bundle, case));
        if name == "rhods-operator" {
            // The operator creates Tenants' CRD, which is a gate.
            let own: Vec<&str> = maas_crds().filter(|crd| !is_of_tenants(crd)).collect();
            case.write(&format!("{folder}/maas.yaml"), own.join("\n---\n"));
            case.write(&format!("{folder}/kserve.yaml"), KSERVE_CRD);
        }
        chart.insert("chart-version".to_owned(), Value::String("1.0.0".to_owned()));
        chart.insert("manifests".to_owned(), Value::Array(vec![Value::String(folder)]));
        charts.push(Value::Table(chart));
        false
    });
    file.insert("chart".to_owned(), Value::Array(charts));
}

fn owned((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

fn maas_crds() -> impl Iterator<Item = &'static str> {
    MAAS_CRDS.split("\n---\n")
}

fn is_of_tenants(crd: &str) -> bool {
    crd.contains("{name: tenants.maas.opendatahub.io}")
}

/// The CRD of Tenants, which the operator of OpenShift AI creates.
pub(crate) fn tenants_crd() -> &'static str {
    maas_crds().find(|crd| is_of_tenants(crd)).expect("a CRD")
}

/// A Deployment like the operator's, and CRDs of the kinds of its overlays.
fn crds_of_operands(bundle: &Table, case: &Case) -> String {
    let name = bundle["name"].as_str().expect("a name");
    let mut text = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  \
         selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    \
         metadata: {{labels: {{app: {name}}}}}\n    spec:\n      containers:\n      \
         - {{name: manager, image: registry.example.com/{name}@{DIGEST}}}\n"
    );
    let mut kinds: Vec<(String, String)> = Vec::new();
    for overlay in bundle.get("overlay").and_then(Value::as_array).into_iter().flatten() {
        let overlay = case.read(overlay["path"].as_str().expect("a path"));
        for document in serde_yaml::Deserializer::from_str(&overlay) {
            let object = serde_json::Value::deserialize(document).expect("YAML");
            let field = |pointer: &str| object.pointer(pointer).and_then(|field| field.as_str());
            let api = field("/apiVersion").expect("an API version").to_owned();
            let kind = field("/kind").expect("a kind").to_owned();
            let is_namespaced = field("/metadata/namespace").is_some();
            if !kinds.contains(&(api.clone(), kind.clone())) {
                text += "---\n";
                text += &any_crd(&api, &kind, if is_namespaced { "Namespaced" } else { "Cluster" });
                kinds.push((api, kind));
            }
        }
    }
    text
}

/// A CRD with any fields and a status.
pub(crate) fn any_crd(api_version: &str, kind: &str, scope: &str) -> String {
    let (group, version) = api_version.split_once('/').expect("a group");
    let singular = kind.to_lowercase();
    let plural =
        singular.strip_suffix('y').map_or(format!("{singular}s"), |start| format!("{start}ies"));
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
         metadata: {{name: {plural}.{group}}}\nspec:\n  group: {group}\n  scope: {scope}\n  \
         names: {{kind: {kind}, plural: {plural}, singular: {singular}}}\n  versions:\n  - name: {version}\n    \
         served: true\n    storage: true\n    subresources: {{status: {{}}}}\n    schema:\n      \
         openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}\n"
    )
}

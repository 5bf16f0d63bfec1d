//! Every field of every object of a bundle is in the rendered chart, except where a row of
//! `LOST` says what replaces it. What OLM adds is judged by goldens.rs.

use crate::corpus::judge;
use crate::support::comparison::hollow;
use crate::support::deviations::DEVIATIONS;
use crate::support::helm::Helm;
use crate::support::rendered::documents;
use serde_json::{Value as Json, json};
use std::path::Path;

/// A field of a bundle that its chart has with another value, or not at all.
struct Lost {
    /// The deviation in docs/deviations.md, or `olm` if OLM replaces the field too.
    deviation: &'static str,
    /// The kind of the objects; empty for all.
    kind: &'static str,
    /// The path, where `*` is any text.
    path: &'static str,
    /// A condition for the field and the rendered object.
    when: fn(&Json, &Json) -> bool,
}

const ALWAYS: fn(&Json, &Json) -> bool = |_, _| true;
const EMPTY: fn(&Json, &Json) -> bool = |field, _| hollow(field);
/// Other names of Services in arguments.
const ADDRESS: fn(&Json, &Json) -> bool = |field, _| field.to_string().contains(".svc");
/// The volume of a certificate replaces those at its path.
const CERTIFICATE: fn(&Json, &Json) -> bool = |_, deployment| {
    let volumes = items(&deployment["spec"]["template"]["spec"]["volumes"]);
    volumes
        .iter()
        .any(|volume| volume["name"] == "webhook-cert" || volume["name"] == "apiservice-cert")
};

const LOST: [Lost; 22] = [
    row("no-server-fields", "", "*.metadata.creationTimestamp", EMPTY),
    row("no-server-fields", "", ".status", EMPTY),
    row("no-server-fields", "Deployment", "*.spec.affinity", EMPTY),
    row("no-server-fields", "Deployment", "*.spec.nodeSelector", EMPTY),
    row("no-server-fields", "Deployment", "*.resources", EMPTY),
    row("release-labels", "", ".metadata.labels", EMPTY),
    row("release-labels", "", ".metadata.labels.app.kubernetes.io/*", ALWAYS),
    row("release-labels", "", ".metadata.labels.helm.sh/chart", ALWAYS),
    row("aggregated-rules", "ClusterRole", ".rules", EMPTY),
    row("aggregated-rules", "Role", ".rules", EMPTY),
    row("shipped-subjects", "*Binding", ".subjects*.namespace", ALWAYS),
    row("own-names", "Deployment", "*.args*", ADDRESS),
    row("own-names", "CustomResourceDefinition", "*.webhook.clientConfig.service.*", ALWAYS),
    row("stale-injection", "", ".metadata.annotations.cert-manager.io/inject-ca-from", ALWAYS),
    row("certificate-paths", "Deployment", "*.volumeMounts*", CERTIFICATE),
    row("certificate-paths", "Deployment", "*.volumes*", CERTIFICATE),
    row("unknown-fields", "Deployment", ".spec.metadata", ALWAYS),
    row("unknown-fields", "Deployment", ".spec.template.spec.volumes[1].defaultMode", ALWAYS),
    row("unknown-fields", "Deployment", ".spec.template.spec.volumes[1].items", ALWAYS),
    row("unknown-fields", "Deployment", ".spec.template.spec.volumes[1].secretName", ALWAYS),
    row("olm", "Deployment", ".spec.revisionHistoryLimit", ALWAYS),
    row("olm", "", ".metadata.namespace", ALWAYS),
];

const fn row(
    deviation: &'static str,
    kind: &'static str,
    path: &'static str,
    when: fn(&Json, &Json) -> bool,
) -> Lost {
    Lost { deviation, kind, path, when }
}

impl Lost {
    fn is(&self, kind: &str, path: &str, field: &Json, object: &Json) -> bool {
        let is_kind = self.kind.is_empty() || matches(self.kind, kind);
        is_kind && matches(self.path, path) && (self.when)(field, object)
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    (0..=text.len()).any(|at| text.is_char_boundary(at) && matches(rest, &text[at..]))
}

/// Returns the objects that the manifests of a bundle declare, those of its CSV in the form that they
/// have in a cluster. `VERSION.json` next to a bundle has its documents as Kubernetes' decoder reads them.
pub(crate) fn objects(bundle: &Path) -> Vec<Json> {
    let decoded = bundle.to_str().map(|path| std::fs::read_to_string(format!("{path}.json")));
    let documents: Vec<Json> = match decoded {
        Some(Ok(text)) => {
            let list: Vec<Json> = serde_json::from_str(&text).expect("JSON");
            list.into_iter().map(|mut file| file["document"].take()).collect()
        }
        _ => files(&bundle.join("manifests")).iter().flat_map(|text| documents(text)).collect(),
    };
    let mut objects = Vec::new();
    for object in documents {
        match object["kind"].as_str() {
            Some("List") => objects.extend(items(&object["items"])),
            Some("ClusterServiceVersion") => objects.extend(of_csv(&object)),
            _ => objects.push(object),
        }
    }
    objects
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let text = |path| std::fs::read_to_string(path).expect("UTF-8");
    entries.map(|entry| text(entry.expect("an entry").path())).collect()
}

fn items(list: &Json) -> Vec<Json> {
    list.as_array().cloned().unwrap_or_default()
}

fn of_csv(csv: &Json) -> Vec<Json> {
    let strategy = &csv["spec"]["install"]["spec"];
    let deployments = items(&strategy["deployments"]).into_iter().map(|deployment| {
        json!({
            "kind": "Deployment",
            "metadata": {"name": deployment["name"], "labels": deployment.get("label").unwrap_or(&json!({}))},
            "spec": deployment["spec"],
        })
    });
    let roles = [("ClusterRole", "clusterPermissions"), ("Role", "permissions")];
    let roles = roles.into_iter().flat_map(|(kind, key)| {
        let role = move |permission: Json| json!({"kind": kind, "rules": permission["rules"]});
        items(&strategy[key]).into_iter().map(role)
    });
    let webhooks = items(&csv["spec"]["webhookdefinitions"]).into_iter().flat_map(of_webhook);
    deployments.chain(roles).chain(webhooks).collect()
}

/// Returns a webhook as the API has it, and the port of its Service.
fn of_webhook(webhook: Json) -> Vec<Json> {
    let mut webhook = webhook.as_object().cloned().unwrap_or_default();
    let mut take = |key: &str| webhook.remove(key).unwrap_or_default();
    let (kind, _deployment) = (take("type"), take("deploymentName"));
    let (name, path, crds) = (take("generateName"), take("webhookPath"), take("conversionCRDs"));
    let (port, target) = (take("containerPort"), take("targetPort"));
    let mut service = json!({"path": path, "port": port});
    service.as_object_mut().expect("an object").retain(|_, value| !value.is_null());
    let kind =
        kind.as_str().unwrap_or_default().replace("AdmissionWebhook", "WebhookConfiguration");
    let mut objects: Vec<Json> = match items(&crds) {
        crds if crds.is_empty() => {
            webhook.insert("name".to_owned(), name);
            webhook.insert("clientConfig".to_owned(), json!({"service": service}));
            vec![json!({"kind": kind, "webhooks": [webhook]})]
        }
        crds => {
            let conversion = json!({"webhook": {
                "clientConfig": {"service": service},
                "conversionReviewVersions": webhook.get("admissionReviewVersions"),
            }});
            let crd = |name| {
                json!({
                    "kind": "CustomResourceDefinition",
                    "metadata": {"name": name},
                    "spec": {"conversion": conversion},
                })
            };
            crds.into_iter().map(crd).collect()
        }
    };
    let mut port = json!({"port": port, "targetPort": target});
    port.as_object_mut().expect("an object").retain(|_, value| !value.is_null());
    objects.push(json!({"kind": "Service", "spec": {"ports": [port]}}));
    objects
}

/// Returns the fields of `objects` that are not in `rendered` and have no deviation.
pub(crate) fn lost(objects: &[Json], rendered: &[Json]) -> Vec<String> {
    let mut lost = Vec::new();
    for object in objects {
        let (kind, name) =
            (object["kind"].as_str().unwrap_or_default(), &object["metadata"]["name"]);
        // Roles and webhooks of a CSV have no name: all of their fields are in one object. A Role for
        // all namespaces is a ClusterRole.
        let same = rendered.iter().filter(|other| match name {
            Json::Null => other["kind"] == kind || kind == "Role" && other["kind"] == "ClusterRole",
            name => other["kind"] == kind && other["metadata"]["name"] == *name,
        });
        let missing = same.map(|other| {
            let mut missing = Vec::new();
            compare(String::new(), object, other, &mut missing);
            let is_lost = |(path, field): &(String, &Json)| {
                LOST.iter().any(|row| row.is(kind, path, field, other))
            };
            missing.retain(|found| found.0 != ".kind" && !is_lost(found));
            missing
        });
        match missing.min_by_key(Vec::len) {
            None => lost.push(format!("{kind} {name}: not in the chart")),
            Some(missing) => {
                let line = |(place, value)| format!("{kind} {name}: {place} = {value}");
                lost.extend(missing.into_iter().map(line));
            }
        }
    }
    lost
}

/// Adds the places and values of `object` that `other` does not have. Lists can have more items there,
/// in the same order.
fn compare<'o>(
    place: String,
    object: &'o Json,
    other: &Json,
    missing: &mut Vec<(String, &'o Json)>,
) {
    match (object, other) {
        (Json::Object(object), Json::Object(other)) => {
            for (key, value) in object {
                let place = format!("{place}.{key}");
                match other.get(key) {
                    Some(other) => compare(place, value, other, missing),
                    None => missing.push((place, value)),
                }
            }
        }
        (Json::Array(object), Json::Array(other)) => {
            let mut left = other.as_slice();
            for (index, item) in object.iter().enumerate() {
                let place = format!("{place}[{index}]");
                let is_same = |other: &Json| match item.get("name") {
                    Some(name) => other.get("name") == Some(name),
                    None => {
                        let mut missing = Vec::new();
                        compare(String::new(), item, other, &mut missing);
                        missing.is_empty()
                    }
                };
                match left.iter().position(is_same) {
                    Some(at) => {
                        compare(place, item, &left[at], missing);
                        left = &left[at + 1..];
                    }
                    None => missing.push((place, item)),
                }
            }
        }
        (Json::Number(one), Json::Number(two)) if one.as_f64() == two.as_f64() => {}
        // Kubernetes reads YAML 1.1, this test 1.2.
        (Json::String(octal), Json::Number(number))
            if octal.starts_with('0') && u64::from_str_radix(octal, 8).ok() == number.as_u64() => {}
        _ if object == other => {}
        _ => missing.push((place, object)),
    }
}

/// Returns the folders of the bundles in fixtures/.
fn fixtures() -> Vec<std::path::PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/bundles");
    let folders = walkdir::WalkDir::new(root).into_iter().filter_map(Result::ok);
    let folders = folders.filter(|entry| entry.path().join("manifests").is_dir());
    folders.map(|entry| entry.into_path()).collect()
}

#[test]
fn the_charts_of_fixtures_have_all_fields() {
    let helm = Helm::newest();
    let mut wrong = Vec::new();
    for bundle in fixtures() {
        let found = judge(&helm, &bundle, "", false).wrong;
        wrong.extend(found.iter().map(|what| format!("{}: {what}", bundle.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A patch takes a field away, as a fault of the program would.
#[test]
fn a_lost_field_is_found() {
    let helm = Helm::newest();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/bundles");
    for (bundle, kind, field, count) in [
        (
            "sealing-wax-operator/1.1.0",
            "Deployment",
            ".spec.template.spec.containers[0].ports[0].protocol",
            1,
        ),
        ("sealing-wax-operator/1.1.0", "Service", ".spec.ports[0].targetPort", 1),
        ("sealing-wax-operator/1.1.0", "CustomResourceDefinition", ".spec.names.listKind", 8),
        ("toll-bridge-operator/0.3.0", "ClusterRole", ".rules", 3),
        (
            "toll-bridge-operator/0.3.0",
            "ValidatingWebhookConfiguration",
            ".webhooks[0].sideEffects",
            1,
        ),
    ] {
        let settings =
            format!("[[bundle.patch]]\nmatch = '.kind == \"{kind}\"'\npatch = 'del({field})'\n");
        let wrong = judge(&helm, &fixtures.join(bundle), &settings, false).wrong;
        let is_field = |line: &String| line.contains(&format!(": {field} = "));
        assert_eq!(wrong.iter().filter(|line| is_field(line)).count(), count, "{wrong:?}");
        assert_eq!(wrong.len(), count, "{wrong:?}");
    }
}

/// Each field of each object of the fixtures, left out.
#[test]
fn each_lost_field_is_found() {
    for bundle in fixtures() {
        let objects = objects(&bundle);
        assert_eq!(lost(&objects, &objects), [""; 0]);
        for object in &objects {
            let mut pointers = Vec::new();
            leaves(object, String::new(), &mut pointers);
            for pointer in pointers {
                let (above, key) = pointer.rsplit_once('/').expect("a key");
                let mut other = object.clone();
                match other.pointer_mut(above).expect("a field") {
                    Json::Object(map) => {
                        drop(map.remove(&key.replace("~1", "/").replace("~0", "~")))
                    }
                    Json::Array(items) => drop(items.remove(key.parse().expect("an index"))),
                    _ => unreachable!("a leaf has no fields"),
                }
                let mut missing = Vec::new();
                compare(String::new(), object, &other, &mut missing);
                assert!(!missing.is_empty(), "{pointer} of {}", object["metadata"]["name"]);
            }
        }
    }
}

/// Adds the JSON pointers of values without fields.
fn leaves(value: &Json, pointer: String, found: &mut Vec<String>) {
    match value {
        Json::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                leaves(value, format!("{pointer}/{key}"), found);
            }
        }
        Json::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                leaves(value, format!("{pointer}/{index}"), found);
            }
        }
        _ => found.push(pointer),
    }
}

#[test]
fn lost_fields_are_named_deviations() {
    for Lost { deviation, .. } in LOST {
        let is_known = DEVIATIONS.iter().any(|known| known.name == deviation);
        assert!(is_known || deviation == "olm", "{deviation}");
    }
}

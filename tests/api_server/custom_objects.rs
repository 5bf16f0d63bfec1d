//! Objects of the kinds that a chart's CRDs serve, through an upgrade: each of them is there afterwards
//! and means what it meant, or the report had a finding about its CRD.

use crate::control_plane::{Answer, Client};
use crate::lifecycle::Objects;
use regex::Regex;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1";
const CONFIGURATIONS: [&str; 2] =
    ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"];

/// Texts for fields with a pattern, a format or a length.
const TEXTS: [&str; 13] = [
    "a",
    "YWJj",
    "example",
    "1",
    "10m",
    "1Gi",
    "1.2.3",
    "2024-05-01T00:00:00Z",
    "https://example.com/a",
    "oci://example.com/a",
    "example.com/a:1",
    "arn:aws:iam::123456789012:role/a",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
];

/// Deletes the configurations of webhooks, which no operator answers here; another upgrade to the same
/// version creates them again. Returns true if there were any.
pub(crate) fn delete_webhooks(client: &Client) -> bool {
    let mut any = false;
    for kind in CONFIGURATIONS {
        let list = client.get(&format!("{WEBHOOKS}/{kind}")).body;
        for item in list["items"].as_array().expect("a list") {
            let name = item["metadata"]["name"].as_str().expect("a name");
            client.send("DELETE", &format!("{WEBHOOKS}/{kind}/{name}"), None);
            any = true;
        }
    }
    any
}

/// An object, as the server stored it before an upgrade.
struct CustomObject {
    crd: String,
    /// The path of all objects of its kind and version.
    list: String,
    object: Json,
}

/// One object of each kind of these CRDs.
pub(crate) struct CustomObjects {
    objects: Vec<CustomObject>,
    /// Kinds of which the server took neither an example nor the least that its schema allows.
    pub(crate) missing: Vec<String>,
}

impl CustomObjects {
    /// Creates an object of each kind in the version that is stored: of the examples the first that the
    /// server takes, else the least that the schema allows.
    pub(crate) fn create(
        client: &Client,
        namespace: &str,
        crds: &Objects,
        examples: &[Json],
    ) -> Self {
        let mut made = CustomObjects { objects: Vec::new(), missing: Vec::new() };
        for crd in crds.values().filter(|object| object["kind"] == "CustomResourceDefinition") {
            let spec = &crd["spec"];
            let versions = spec["versions"].as_array().expect("versions");
            let Some(version) =
                versions.iter().find(|v| v["storage"] == true && v["served"] == true)
            else {
                continue;
            };
            let text = |value: &Json| value.as_str().expect("a text").to_owned();
            let api = format!("{}/{}", text(&spec["group"]), text(&version["name"]));
            let is_namespaced = spec["scope"] == "Namespaced";
            let place =
                if is_namespaced { format!("/namespaces/{namespace}") } else { String::new() };
            let list = format!("/apis/{api}{place}/{}", text(&spec["names"]["plural"]));

            let of_kind = |example: &&Json| {
                example["apiVersion"] == *api && example["kind"] == spec["names"]["kind"]
            };
            let schema = &version["schema"]["openAPIV3Schema"];
            let mut least = least(schema);
            least["metadata"] = json!({ "name": prescribed_name(schema).unwrap_or("example") });
            least["apiVersion"] = json!(api);
            least["kind"] = spec["names"]["kind"].clone();
            let candidates = examples.iter().filter(of_kind).chain([&least]);
            let mut refusals = Vec::new();
            let created = candidates.cloned().find_map(|mut object| {
                object["metadata"] = json!({ "name": object["metadata"]["name"] });
                let answer = create(client, &list, &object);
                if !answer.succeeded() {
                    refusals.push(answer.body["message"].as_str().unwrap_or_default().to_owned());
                }
                answer.succeeded().then_some(answer.body)
            });
            let crd = text(&crd["metadata"]["name"]);
            match created {
                Some(object) => made.objects.push(CustomObject { crd, list, object }),
                None => made.missing.push(format!("{crd}: {refusals:?}")),
            }
        }
        made
    }

    /// Returns the number of objects.
    pub(crate) fn count(&self) -> usize {
        self.objects.len()
    }

    /// Returns what happened to objects without a finding about their CRD in these reports, and deletes
    /// the objects.
    pub(crate) fn lost(self, client: &Client, reports: &[Json]) -> Vec<String> {
        let mut wrong = Vec::new();
        for CustomObject { crd, list, object } in self.objects {
            let name = object["metadata"]["name"].as_str().expect("a name");
            let path = format!("{list}/{name}");
            let why = fate(client, &crd, &list, &path, &object);
            let found = classes(reports, &crd);
            match why {
                Some(Fate::Lost(why)) if !found.contains("breaking") => {
                    wrong.push(format!("{crd}: {why}, and the report has {found:?}"));
                }
                Some(Fate::Differs(why)) if found.iter().all(|class| class == "info") => {
                    wrong.push(format!("{crd}: {why}, and the report has {found:?}"));
                }
                _ => {}
            }
            client.send("DELETE", &path, None);
        }
        wrong
    }
}

/// The outcome of an upgrade for an object.
enum Fate {
    /// It is gone, not served, or refused when it is sent again.
    Lost(String),
    /// Fields have other values.
    Differs(String),
}

fn fate(client: &Client, crd: &str, list: &str, path: &str, object: &Json) -> Option<Fate> {
    let answer = client.get(path);
    let message = answer.body["message"].to_string();
    if message.contains("conversion webhook") {
        // The operator's work; the object is stored.
        return None;
    } else if !answer.succeeded() {
        return Some(Fate::Lost(format!("not there: {message}")));
    } else if answer.body["metadata"]["uid"] != object["metadata"]["uid"] {
        return Some(Fate::Lost("another object".to_owned()));
    }
    // As a manifest in Git has it. What is valid is in conflict with the object that is there.
    let mut again = object.clone();
    again["metadata"] = json!({ "name": object["metadata"]["name"] });
    let answer_again = create(client, &format!("{list}?dryRun=All"), &again);
    if answer_again.status != 409 {
        return Some(Fate::Lost(format!("refused: {}", answer_again.body["message"])));
    }
    let content = |object: &Json| {
        let mut object = object.clone();
        object.as_object_mut().expect("an object").retain(|key, _| key != "metadata");
        object
    };
    let (before, after) = (content(object), content(&answer.body));
    (before != after).then(|| Fate::Differs(format!("{crd} was {before} and is {after}")))
}

/// Creates an object as soon as its kind is served, and webhooks that were deleted are no longer called:
/// the server learns of both a moment later.
fn create(client: &Client, list: &str, object: &Json) -> Answer {
    for _ in 0..300 {
        let answer = client.post(list, object);
        let message = answer.body["message"].as_str().unwrap_or_default();
        if answer.status != 404 && !message.contains("failed calling webhook") {
            return answer;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("{list} is not served, or a webhook is still called");
}

/// The classes of all findings about a CRD, and `default` if a new default is among them, which objects
/// get when they are read.
fn classes(reports: &[Json], crd: &str) -> BTreeSet<String> {
    let items = |value: &Json| value.as_array().cloned().unwrap_or_default();
    let objects = reports.iter().flat_map(|report| items(&report["objects"]));
    let of_crd = objects.filter(|object| {
        object["id"]["kind"] == "CustomResourceDefinition" && object["id"]["name"] == crd
    });
    let changes = of_crd.flat_map(|object| items(&object["changes"]));
    let findings = changes.flat_map(|change| items(&change["findings"]));
    let class = |finding: Json| {
        let is_default = finding["reason"].as_str()?.contains("default `");
        Some(if is_default { "default" } else { finding["class"].as_str()? }.to_owned())
    };
    findings.filter_map(class).collect()
}

/// The name that a rule of a schema prescribes, where a kind has one object only.
fn prescribed_name(schema: &Json) -> Option<&str> {
    let rules = schema["x-kubernetes-validations"].as_array()?.iter();
    let mut names = rules.filter_map(|rule| {
        let (_, name) = rule["rule"].as_str()?.split_once("metadata.name == '")?;
        name.split('\'').next()
    });
    names.next()
}

/// The least value that a schema allows, as far as types, required fields and texts tell.
fn least(schema: &Json) -> Json {
    if let Some(value) = schema.get("default").or_else(|| schema["enum"].as_array()?.first()) {
        return value.clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let alternatives = ["oneOf", "anyOf"].map(|key| &schema[key][0]["required"]);
            let required = [&schema["required"]].into_iter().chain(alternatives);
            let names = required.filter_map(Json::as_array).flatten().filter_map(Json::as_str);
            let field = |name: &str| (name.to_owned(), least(&schema["properties"][name]));
            Json::Object(names.map(field).collect::<Map<String, Json>>())
        }
        Some("array") => {
            let count = schema["minItems"].as_u64().unwrap_or(0);
            (0..count).map(|_| least(&schema["items"])).collect()
        }
        Some("boolean") => json!(false),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        None if schema["x-kubernetes-int-or-string"] == true => json!(1),
        None => json!({}),
        Some(_) => {
            let pattern = schema["pattern"].as_str().and_then(|pattern| Regex::new(pattern).ok());
            let length = schema["minLength"].as_u64().unwrap_or(0) as usize;
            let format = schema["format"].as_str().unwrap_or_default();
            let fits = |text: &&&str| {
                pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
                    && text.len() >= length
                    && (format != "date-time" || text.ends_with('Z'))
                    && (format != "byte" || **text == "YWJj")
            };
            json!(TEXTS.iter().find(fits).unwrap_or(&"a"))
        }
    }
}

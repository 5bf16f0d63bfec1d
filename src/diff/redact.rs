//! Secrets out of both sides, before anything is compared or printed.
//!
//! Every secret text is replaced by a numbered mark, the same one for the same text: a report shows
//! that a secret changed, and nothing about it.

use super::{CHART_KIND, Side};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Numbers secrets in the order in which they are met.
#[derive(Default)]
struct Marks(BTreeMap<String, usize>);

impl Marks {
    fn mark(&mut self, value: &mut Json) {
        let secret = match &*value {
            Json::Null => return,
            Json::String(text) if text.is_empty() => return,
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        let next = self.0.len() + 1;
        let number = *self.0.entry(secret).or_insert(next);
        *value = Json::String(format!("(redacted, secret {number})"));
    }
}

/// Replaces the data of Secrets, environment variables and arguments that look like secrets, and
/// values with such names.
pub fn redact(old: &mut Side, new: &mut Side) {
    let mut marks = Marks::default();
    for side in [old, new] {
        for (id, object) in &mut side.objects {
            if id.kind == "Secret" && id.group.is_empty() {
                for field in ["data", "stringData"] {
                    let data = object.get_mut(field).and_then(Json::as_object_mut);
                    data.into_iter().flatten().for_each(|(_, value)| marks.mark(value));
                }
            }
            let applied = "kubectl.kubernetes.io/last-applied-configuration";
            let annotations = object.pointer_mut("/metadata/annotations");
            if let Some(value) = annotations.and_then(|map| map.get_mut(applied)) {
                marks.mark(value);
            }
            if id.kind == CHART_KIND {
                if let Some(values) = object.get_mut("values") {
                    by_key(values, &mut marks);
                }
            } else if id.kind != "CustomResourceDefinition" {
                in_containers(object, &mut marks);
            }
        }
    }
}

/// Environment variables and arguments, wherever they are.
fn in_containers(value: &mut Json, marks: &mut Marks) {
    match value {
        Json::Object(map) => {
            let named = map.get("name").and_then(Json::as_str).is_some_and(looks_secret);
            if named && let Some(value) = map.get_mut("value") {
                marks.mark(value);
            }
            for (key, value) in map.iter_mut() {
                match value {
                    Json::Array(items) if key == "args" || key == "command" => {
                        items.iter_mut().for_each(|item| argument(item, marks));
                    }
                    other => in_containers(other, marks),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| in_containers(item, marks)),
        _ => {}
    }
}

/// `--password=…`
fn argument(item: &mut Json, marks: &mut Marks) {
    let Some((flag, text)) = item.as_str().and_then(|text| text.split_once('=')) else { return };
    if flag.starts_with('-') && looks_secret(flag) && !text.is_empty() && !text.starts_with("$(") {
        let mut value = Json::String(text.to_owned());
        let flag = flag.to_owned();
        marks.mark(&mut value);
        *item = Json::String(format!("{flag}={}", value.as_str().unwrap_or_default()));
    }
}

fn by_key(value: &mut Json, marks: &mut Marks) {
    match value {
        Json::Object(map) => {
            for (key, value) in map {
                if value.is_string() && looks_secret(key) {
                    marks.mark(value);
                } else {
                    by_key(value, marks);
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| by_key(item, marks)),
        _ => {}
    }
}

/// Whether a name says that its value is a secret, and not the name or place of one.
fn looks_secret(name: &str) -> bool {
    let name: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let place = ["name", "file", "path", "dir", "ref", "url", "type", "enabled", "ttl", "duration"];
    let words = [
        "password",
        "passwd",
        "passphrase",
        "token",
        "apikey",
        "secretkey",
        "accesskey",
        "privatekey",
        "clientsecret",
        "credential",
        "credentials",
        "dockerconfigjson",
    ];
    words.iter().any(|word| name.contains(word)) && !place.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::{looks_secret, redact};
    use crate::diff::Side;
    use serde_json::json;

    #[test]
    fn names_of_secrets() {
        for name in
            ["DB_PASSWORD", "apiKey", "AWS_SECRET_ACCESS_KEY", "--token", "dockerConfigJson"]
        {
            assert!(looks_secret(name), "{name}");
        }
        for name in ["TOKEN_FILE", "passwordSecretName", "SECRET_NAME", "LOG_LEVEL", "tokenURL"] {
            assert!(!looks_secret(name), "{name}");
        }
    }

    #[test]
    fn secrets_are_gone_and_their_changes_are_not() {
        let secret = |text: &str| {
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
                "data": {"same": "c2FtZQ==", "key": text},
                "stringData": {"plain": "hunter2"}})
        };
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "c", "args": ["--api-token=hunter3", "--token-file=/x"],
                "env": [{"name": "PASSWORD", "value": "hunter4"}, {"name": "MODE", "value": "on"}]}]}});
        let mut old = Side::new("old", [secret("b25l"), pod], "ns", None);
        let mut new = Side::new("new", [secret("dHdv")], "ns", None);
        redact(&mut old, &mut new);
        let text = format!("{:?} {:?}", old.objects, new.objects);
        for secret in ["b25l", "dHdv", "c2FtZQ", "hunter"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        assert!(text.contains("--token-file=/x") && text.contains("\"on\""));
        let data = |side: &Side, key: &str| {
            let secret = side.objects.values().find(|o| o["kind"] == "Secret").expect("it");
            secret["data"][key].clone()
        };
        assert_eq!(data(&old, "same"), data(&new, "same"));
        assert_ne!(data(&old, "key"), data(&new, "key"));
    }
}

//! Redacts secrets in both sides before they are compared or printed.
//!
//! Every secret is replaced by a numbered mark, the same one for the same text: a report shows that a
//! secret changed, but not its content. Secrets are recognized by their location (a Secret, also
//! embedded in another object), by their name (a key, an env var, a flag), and in text by
//! `name=secret`, `name: secret`, `--name secret`, `Bearer secret` and `scheme://user:secret@host`. Schemas of CRDs contain no secrets.

use super::names::NAMES;
use super::read::{letters, plain_text};
use super::{CHART_KIND, Side};
use crate::escape::login::logins;
use regex::{Captures, Regex};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

/// Numbers secrets in the order in which they are found.
#[derive(Default)]
struct Marks(BTreeMap<String, usize>);

/// Prefix of a mark; marked text is not marked again.
const MARK: &str = "(redacted, secret ";

impl Marks {
    fn number(&mut self, secret: &str) -> String {
        // Numbered, so that a reader sees that a secret changed, or is used twice, without seeing
        // it.
        let next = self.0.len() + 1;
        let number = *self.0.entry(secret.to_owned()).or_insert(next);
        format!("{MARK}{number})")
    }

    fn mark(&mut self, value: &mut Json) {
        let secret = match &*value {
            Json::Null => return,
            Json::String(text) if text.is_empty() || text.starts_with(MARK) => return,
            secret => plain_text(secret),
        };
        *value = Json::String(self.number(&secret));
    }
}

/// Replaces the data of Secrets and everything that looks like a secret.
pub fn redact(old: &mut Side, new: &mut Side) {
    let mut marks = Marks::default();
    // One list of numbers for both sides: the same secret has the same number.
    for side in [old, new] {
        for (id, object) in &mut side.objects {
            // Schemas have keys such as `password` everywhere and no values.
            if id.kind == "CustomResourceDefinition" {
                continue;
            }
            // A copy of the object as text, in which nothing is found by its path.
            let applied = "kubectl.kubernetes.io/last-applied-configuration";
            let annotations = object.pointer_mut("/metadata/annotations");
            if let Some(value) = annotations.and_then(|map| map.get_mut(applied)) {
                marks.mark(value);
            }
            if id.kind == CHART_KIND {
                if let Some(values) = object.get_mut("values") {
                    walk(values, &mut marks);
                }
            } else {
                walk(object, &mut marks);
            }
        }
    }
}

fn walk(value: &mut Json, marks: &mut Marks) {
    match value {
        Json::Object(map) => in_map(map, marks),
        Json::Array(items) => items.iter_mut().for_each(|item| walk(item, marks)),
        Json::String(text) => in_text(text, marks),
        _ => {}
    }
}

fn in_map(map: &mut Map<String, Json>, marks: &mut Marks) {
    let is = |map: &Map<String, Json>, key: &str, text: &str| {
        map.get(key).and_then(Json::as_str) == Some(text)
    };
    // A Secret by itself, in a list, or in the template of another object.
    if is(map, "kind", "Secret") && (is(map, "apiVersion", "v1") || !map.contains_key("apiVersion"))
    {
        for field in ["data", "stringData"] {
            match map.get_mut(field) {
                Some(Json::Object(data)) => data.iter_mut().for_each(|(_, v)| marks.mark(v)),
                Some(other) => marks.mark(other),
                None => {}
            }
        }
    }
    // Environment variables: the name is next to the value.
    let name = map.get("name").and_then(Json::as_str).map(str::to_owned);
    if let Some(value) = map.get_mut("value")
        && name.is_some_and(|name| is_secret(&name, value))
    {
        marks.mark(value);
    }
    for (key, value) in map.iter_mut() {
        match value {
            // The value of a flag is the item after it.
            Json::Array(items) if key == "args" || key == "command" => arguments(items, marks),
            Json::Array(items) => items.iter_mut().for_each(|item| named(key, item, marks)),
            value => named(key, value, marks),
        }
    }
}

/// Redacts a value with this name.
fn named(name: &str, value: &mut Json, marks: &mut Marks) {
    match value {
        // A map with `name` is a reference; other maps may contain the secret: `{user, pw}`.
        Json::Object(inner) if looks_secret(name) && !inner.contains_key("name") => {
            let holds = |key: &str, value: &Json| HOLDERS.contains(&key) && value.is_string();
            let secrets = inner.iter_mut().filter(|(key, value)| holds(key, value));
            secrets.for_each(|(_, value)| marks.mark(value));
            in_map(inner, marks);
        }
        value if is_secret(name, value) => marks.mark(value),
        value => walk(value, marks),
    }
}

/// Keys with the secret in maps with a secret-like name.
const HOLDERS: [&str; 7] = ["value", "pw", "pass", "key", "secret", "data", "plain"];

/// Redacts arguments: `--password=…`, `--password …`, and shell scripts.
fn arguments(items: &mut [Json], marks: &mut Marks) {
    let mut flag: Option<String> = None;
    for item in items {
        let text = item.as_str().unwrap_or_default().to_owned();
        let is_value =
            flag.take().is_some_and(|flag| !text.starts_with('-') && is_secret(&flag, item));
        if is_value {
            marks.mark(item);
        } else {
            walk(item, marks);
            flag = Some(text).filter(|text| text.starts_with('-') && !text.contains('='));
        }
    }
}

/// `name=`, `name: ` and `--name ` in text, before a possible secret. JSON in JSON escapes its quotes.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?m)([A-Za-z][A-Za-z0-9_.\-]*)(?:(?:\\?["'])?[ \t]*=[ \t]*|(?:\\?["'])?[ \t]*:[ \t]+|\\?["'][ \t]*:|:$)|--([A-Za-z][A-Za-z0-9_.\-]*)[ \t]+"#,
    )
    .ok()
});

/// Credentials in an HTTP header, or in text that is nothing else.
static IN_HEADER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let header = r#"authorization\\?["']?[ \t]*[:=][ \t]*\\?["']?"#;
    Regex::new(&format!(r#"(?i)((?:{header}|\A)(?:bearer|basic)[ \t]+)([^\s"'\\]+)"#)).ok()
});

/// A PEM private key.
static ARMOURED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----").ok()
});

/// Redacts secrets inside of text.
fn in_text(text: &mut String, marks: &mut Marks) {
    // First, because keys in PEM contain `=` and `:` themselves.
    if let Some(pattern) = ARMOURED.as_ref().filter(|_| text.contains("PRIVATE KEY-----")) {
        let done = pattern.replace_all(text, |found: &Captures<'_>| marks.number(&found[0]));
        *text = done.into_owned();
    }

    for Range { start, end } in logins(text).into_iter().rev() {
        let secret = text[start..end].find(':').map_or(start, |colon| start + colon + 1);
        let mark = marks.number(&text[secret..end]);
        text.replace_range(secret..end, &mark);
    }

    if let Some(pattern) = IN_HEADER.as_ref() {
        let header = |found: &Captures<'_>| {
            // Other texts begin with these words, too: `Basic Install`.
            let is_whole = found.get_match().end() == text.len()
                && (found[1].to_lowercase().starts_with("bearer") || found[2].ends_with('='));
            let is_header = found[1].len() > "bearer\t".len();
            match is_reference(&found[2]) || !(is_whole || is_header) {
                true => found[0].to_owned(),
                false => format!("{}{}", &found[1], marks.number(&found[2])),
            }
        };
        let done = pattern.replace_all(text, header).into_owned();
        *text = done;
    }

    if let Some(pattern) = NAMED.as_ref().filter(|_| text.contains(['=', ':', '-'])) {
        let mut done = String::new();
        let mut at = 0;
        while let Some(found) = pattern.captures_at(text, at) {
            let start = found.get_match().end();
            let Some(name) = found.get(1).or(found.get(2)).map(|name| name.as_str()) else { break };
            let marked = text[start..].trim_start_matches(['"', '\'', '\\']).starts_with(MARK);
            let is_flag = found.get(2).is_some() && text[start..].starts_with('-');
            if marked || is_flag || !looks_secret(name) {
                done.push_str(&text[at..start]);
                at = start;
                continue;
            }
            // A block scalar of embedded YAML has its value in the lines below.
            let secret = block_below(text, found.get_match().start(), start)
                .unwrap_or_else(|| first_value(&text[start..], start));
            let Range { start, end } = secret;
            done.push_str(&text[at..start]);
            at = start;
            if is_secret(name, &Json::from(&text[start..end])) {
                done.push_str(&marks.number(&text[start..end]));
                at = end;
            }
        }
        done.push_str(&text[at..]);
        *text = done;
    }
}

/// Returns the range of a YAML value on the lines below its key, as a block or plain scalar. `key` is
/// the start of the key, `value` the end of `key:`.
fn block_below(text: &str, key: usize, value: usize) -> Option<Range<usize>> {
    // Return early: a line may be long and contain many keys.
    let head =
        |c: char| c != '\n' && (c.is_whitespace() || c.is_ascii_digit() || "|>+-".contains(c));
    if !text[value..].trim_start_matches(head).starts_with('\n') {
        return None;
    }
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let own = indent(&text[text[..key].rfind('\n').map_or(0, |at| at + 1)..]);
    let below = value + text[value..].find('\n')? + 1;
    let head = text[value..below].trim();
    let block = head.starts_with(['|', '>']);
    let marks_only = head.chars().skip(1).all(|c| c.is_ascii_digit() || "+-".contains(c));
    if !(head.is_empty() || block && marks_only) {
        return None;
    }
    let deeper = |line: &&str| line.trim().is_empty() || indent(line) > own;
    let length: usize = text[below..].split_inclusive('\n').take_while(deeper).map(str::len).sum();
    let body = text[below..below + length].trim();
    let start = below + text[below..].find(body)?;
    // A nested map or list has its own keys.
    let plain = block || !(body.contains(": ") || body.contains(":\n") || body.starts_with("- "));
    (plain && !body.is_empty()).then_some(start..start + body.len())
}

/// Returns the range of the value at the start of `text`, up to the closing quote or the end of the
/// word. `at` is the offset of `text`.
fn first_value(text: &str, at: usize) -> Range<usize> {
    let (text, at) = text.strip_prefix('\\').map_or((text, at), |text| (text, at + 1));
    let Range { start, end } = match text.chars().next().filter(|c| ['"', '\''].contains(c)) {
        Some(quote) => 1..text[1..].find(quote).map_or(text.len(), |at| at + 1),
        None => {
            let ends = |c: char| c.is_whitespace() || "\"',;&".contains(c);
            0..text.find(ends).unwrap_or(text.len())
        }
    };
    at + start..at + end
}

/// Returns true for references to a secret: `$(VARIABLE)`, `${VARIABLE}`, `{{ … }}`.
fn is_reference(text: &str) -> bool {
    ["$(", "${", "{{"].iter().any(|start| text.starts_with(start))
}

/// Returns true if a value with this name is a secret: a string, or a number for passwords.
fn is_secret(name: &str, value: &Json) -> bool {
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let told = match value {
        Json::String(text) if text.is_empty() => false,
        // Numbers under other names are lifetimes and limits of tokens.
        Json::Number(_) => name.to_lowercase().contains("pass"),
        Json::String(text) if number(text) => name.to_lowercase().contains("pass"),
        Json::String(text) => {
            !(matches!(text.as_str(), "true" | "false")
                || is_reference(text)
                || text.starts_with(MARK))
        }
        _ => false,
    };
    told && looks_secret(name)
}

/// Returns true if a name belongs to a secret, and not to the name or location of one.
fn looks_secret(name: &str) -> bool {
    let last = name.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    // Also the last word of camelCase.
    let last = last.rfind(|c: char| c.is_ascii_uppercase()).map_or(last, |at| {
        if last.bytes().all(|b| !b.is_ascii_lowercase()) { last } else { &last[at..] }
    });
    let last = last.to_lowercase();
    // Tokenizers of models are not tokens.
    let name = letters(name).replace("tokeniz", "");
    // Where a secret is, and what is said about it, is none: `passwordFile`, `tokenTTL`.
    let place = NAMES.secrets.places.iter().any(|end| name.ends_with(end));
    let secret =
        name.ends_with("secret") && !NAMES.secrets.naming.iter().any(|word| name.contains(word));
    !place
        && (secret
            || NAMES.secrets.last_words.contains(&last.as_str())
            || NAMES.secrets.words.iter().any(|word| name.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::{looks_secret, redact};
    use crate::Side;
    use serde_json::json;

    #[test]
    fn names_of_secrets() {
        for name in [
            "DB_PASSWORD",
            "apiKey",
            "AWS_SECRET_ACCESS_KEY",
            "--token",
            "dockerConfigJson",
            "JWT_SECRET",
            "DB_PWD",
            "dbPass",
            "SIGNING_KEY",
            "pw",
        ] {
            assert!(looks_secret(name), "{name}");
        }
        for name in [
            "TOKEN_FILE",
            "passwordSecretName",
            "SECRET_NAME",
            "LOG_LEVEL",
            "tokenURL",
            "pullSecret",
            "--tokenizer",
            "BYPASS",
            "tokenExpirationSeconds",
        ] {
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

    /// Redacts a ConfigMap-like object with this content.
    fn after(content: serde_json::Value) -> String {
        let object = json!({"apiVersion": "example.com/v1", "kind": "Db", "metadata": {"name": "d"},
            "spec": content});
        let mut side = Side::new("x", [object], "ns", None);
        redact(&mut side, &mut Side::default());
        side.objects.values().map(|object| object["spec"].to_string()).collect()
    }

    #[test]
    fn secrets_hide_in_many_places() {
        for content in [
            json!({"adminPassword": "hunter"}),
            json!({"password": 1234567}),
            json!({"tokens": ["hunter"]}),
            json!({"credentials": {"user": "u", "pw": "hunter"}}),
            json!({"template": {"kind": "Secret", "stringData": {"a": "hunter"}}}),
            json!({"template": {"apiVersion": "v1", "kind": "Secret", "data": "hunter"}}),
            json!({"args": ["--password", "hunter", "--verbose"]}),
            json!({"args": ["--dsn=postgres://u:hunter@db/x"]}),
            json!({"command": ["sh", "-c", "PASSWORD=hunter run --db-password=hunter; true"]}),
            json!({"config.ini": "[db]\npassword = hunter\n"}),
            json!({"config.yaml": "db:\n  password: 'hunter'\n"}),
            json!({"values.yaml": "args: --password=hunter\n"}),
            json!({"config.yaml": "a:\n  token: |-\n    hunter\n    hunter2\n  b: c\n"}),
            json!({"config.yaml": "token:\n  hunter\nb: c\n"}),
            json!({"key.pem": "x\n-----BEGIN RSA PRIVATE KEY-----\nhunter\n-----END RSA PRIVATE KEY-----\n"}),
            json!({"config.yaml": "privateKey: -----BEGIN PRIVATE KEY-----hunter-----END PRIVATE KEY-----"}),
            json!({"config.json": "{\"password\":\"hunter\"}"}),
            json!({"env": [{"name": "DATABASE_URL", "value": "postgres://u:hunter@db/x"}]}),
            json!({"config.json": "{\"a\": \"{\\\"password\\\": \\\"hunter\\\"}\"}"}),
            json!({"command": ["sh", "-c", "mysql --password hunter --user me"]}),
            json!({"args": ["--basic-auth=admin:hunter"]}),
            json!({"args": ["--header=Authorization: Bearer hunter"]}),
            json!({"env": [{"name": "AUTH_HEADER", "value": "Bearer hunter"}]}),
            json!({"httpHeaders": [{"name": "Authorization", "value": "Basic hunter=="}]}),
            json!({"credentials": [{"user": "u", "key": "hunter"}]}),
        ] {
            let text = after(content.clone());
            assert!(!text.contains("hunter") && !text.contains("1234567"), "{content}: {text}");
            assert!(text.contains("(redacted, secret 1)"), "{content}: {text}");
            assert!(!text.contains("secret 2"), "{content}: {text}");
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for content in [
            json!({"automountServiceAccountToken": true}),
            json!({"image": "quay.io/example/token-operator:v1.2.3"}),
            json!({"args": ["--max-num-batched-tokens", "8192", "--max-tokens=64", "--tokenizer=a/b"]}),
            json!({"args": ["--token", "--verbose"]}),
            json!({"command": ["sh", "-c", "run --token --verbose --token-file a"]}),
            json!({"capabilities": "Basic Install"}),
            json!({"text": "Basic features of the operator, and bearer tokens"}),
            json!({"args": ["--header=Authorization: Bearer $(TOKEN)"]}),
            json!({"credentials": [{"name": "db", "key": "password"}]}),
            json!({"args": ["--password=$(PASSWORD)"]}),
            json!({"passwordSecret": {"name": "db", "key": "password"}}),
            json!({"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}),
            json!({"url": "https://example.com:8443/a@b"}),
            json!({"pullSecret": "registry"}),
            json!({"config.yaml": "token:\n  ttl: 5m\ntokens:\n- a\npassword:\nb: c\n"}),
            json!({"env": [{"name": "TOKEN_FILE", "value": "/var/run/token"}]}),
        ] {
            assert_eq!(after(content.clone()), content.to_string());
        }
    }
}

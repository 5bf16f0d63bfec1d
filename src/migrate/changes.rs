//! The additions of one object to another: as a jq program, and as a list of what it lacks.

use crate::add::quoted;
use crate::ir::{Step, path_of};
use serde_json::{Map, Value as Json, json};

/// The differences of a hand-made object from the bundle's.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Assignments of a jq program that gives the bundle's object what the other one has.
    pub assignments: Vec<String>,
    /// JSON paths of what only the bundle's object has.
    pub lacking: Vec<String>,
}

impl Changes {
    /// Compares the bundle's object with the hand-made one.
    pub(super) fn of(bundle: &Json, hand_made: &Json) -> Self {
        let mut changes = Changes::default();
        changes.compare(bundle, hand_made, &mut Vec::new());
        changes
    }

    fn compare(&mut self, ours: &Json, theirs: &Json, at: &mut Vec<Json>) {
        match (ours, theirs) {
            (Json::Object(ours), Json::Object(theirs)) => self.maps(ours, theirs, at),
            (Json::Array(ours), Json::Array(theirs)) if ours != theirs => {
                match by_name(ours).zip(by_name(theirs)) {
                    Some((ours, theirs)) => self.items(&ours, &theirs, at),
                    None => self.set(theirs, at),
                }
            }
            _ if same(ours, theirs) => {}
            _ => self.set(theirs, at),
        }
    }

    fn maps(&mut self, ours: &Map<String, Json>, theirs: &Map<String, Json>, at: &mut Vec<Json>) {
        for (key, value) in theirs {
            at.push(json!(key));
            match ours.get(key) {
                _ if is_ignored(at) => {}
                Some(own) => self.compare(own, value, at),
                None if is_hollow(value) => {}
                None => match value {
                    // Its fields one by one, because one of them is ignored.
                    Json::Object(fields) if leads_to_ignored(at) => {
                        self.maps(&Map::new(), fields, at);
                    }
                    _ => self.set(value, at),
                },
            }
            at.pop();
        }
        for (key, value) in ours.iter().filter(|(key, _)| !theirs.contains_key(*key)) {
            at.push(json!(key));
            if !is_hollow(value) && !is_ignored(at) {
                self.lacking.push(shown(at));
            }
            at.pop();
        }
    }

    /// Compares lists of named items. Variables have a value or a source, so they are replaced as a
    /// whole.
    fn items(&mut self, ours: &[(&str, &Json)], theirs: &[(&str, &Json)], at: &mut Vec<Json>) {
        // Setting `value` next to an old `valueFrom` is what the API server rejects.
        let is_variables = at.last() == Some(&json!("env"));
        let mut added = Vec::new();
        for (name, item) in theirs {
            let found = ours.iter().position(|(own, _)| own == name);
            let Some((index, (_, own))) = found.and_then(|at| Some((at, ours.get(at)?))) else {
                added.push(*item);
                continue;
            };
            at.push(json!(index));
            if !is_variables {
                self.compare(own, item, at);
            } else if !same(own, item) {
                self.set(item, at);
            }
            at.pop();
        }

        if !added.is_empty() {
            self.assignments.push(format!("{} += {}", program_path(at), json!(added)));
        }

        // Hand-made charts often leave items out; only a reader knows if on purpose.
        for (name, _) in
            ours.iter().filter(|(name, _)| theirs.iter().all(|(other, _)| other != name))
        {
            self.lacking.push(format!("{} {}", shown(at), quoted(name)));
        }
    }

    fn set(&mut self, value: impl serde::Serialize, at: &[Json]) {
        self.assignments.push(format!("{} = {}", program_path(at), json!(value)));
    }
}

/// The field without a meaning for the API server: the namespace of a pod template.
const IGNORED: [&str; 4] = ["spec", "template", "metadata", "namespace"];

fn is_ignored(at: &[Json]) -> bool {
    at == IGNORED
}

fn leads_to_ignored(at: &[Json]) -> bool {
    IGNORED.get(..at.len()).is_some_and(|start| at == start)
}

/// Returns true for what the API server fills with defaults, or drops.
fn is_hollow(value: &Json) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

fn same(one: &Json, other: &Json) -> bool {
    // serde_json tells `1` from `1.0`, the API server does not.
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

/// Returns the items of a list by their names; `None` if an item has no name of its own.
fn by_name(items: &[Json]) -> Option<Vec<(&str, &Json)>> {
    let mut named: Vec<(&str, &Json)> = Vec::new();
    for item in items {
        let name = item.get("name")?.as_str()?;
        if named.iter().any(|(known, _)| *known == name) {
            return None;
        }
        named.push((name, item));
    }
    Some(named)
}

/// Returns a path in jq's syntax.
fn program_path(at: &[Json]) -> String {
    let steps = at.iter().map(|step| format!("[{step}]"));
    format!(".{}", steps.collect::<String>())
}

/// Returns a path as diagnostics show it.
fn shown(at: &[Json]) -> String {
    let steps = at.iter().map(|step| match step {
        Json::String(key) => Step::Key(key.clone()),
        other => Step::Index(other.as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or(0)),
    });
    path_of(&steps.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_is_assigned_and_what_lacks_is_listed() {
        let ours = json!({
            "metadata": {"labels": {"a": "1"}, "annotations": {"gone": "x"}},
            "spec": {
                "replicas": 1,
                "strategy": {},
                "template": {"spec": {"containers": [
                    {"name": "manager", "env": [
                        {"name": "WATCH", "valueFrom": {"fieldRef": {}}}, {"name": "OLD", "value": "1"},
                    ]},
                ]}},
            },
        });
        let theirs = json!({
            "metadata": {"labels": {"a": "1", "b.c/d": "2"}, "creationTimestamp": null},
            "spec": {
                "replicas": 2.0,
                "template": {"metadata": {"namespace": "x"}, "spec": {"containers": [
                    {"name": "manager", "env": [{"name": "WATCH", "value": ""}, {"name": "NEW", "value": "n"}]},
                    {"name": "proxy"},
                ]}},
            },
        });
        let changes = Changes::of(&ours, &theirs);
        assert_eq!(
            changes.assignments,
            [
                r#".["metadata"]["labels"]["b.c/d"] = "2""#,
                r#".["spec"]["replicas"] = 2.0"#,
                r#".["spec"]["template"]["spec"]["containers"][0]["env"][0] = {"name":"WATCH","value":""}"#,
                r#".["spec"]["template"]["spec"]["containers"][0]["env"] += [{"name":"NEW","value":"n"}]"#,
                r#".["spec"]["template"]["spec"]["containers"] += [{"name":"proxy"}]"#,
            ]
        );
        assert_eq!(
            changes.lacking,
            [".metadata.annotations", ".spec.template.spec.containers[0].env \"OLD\"",]
        );
    }
}

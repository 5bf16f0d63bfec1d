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

    fn compare(&mut self, ours: &Json, theirs: &Json, at: &mut Vec<Step>) {
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

    fn maps(&mut self, ours: &Map<String, Json>, theirs: &Map<String, Json>, at: &mut Vec<Step>) {
        for (key, value) in theirs {
            at.push(Step::Key(key.clone()));
            match ours.get(key) {
                Some(own) => self.compare(own, value, at),
                None if is_hollow(value) => {}
                None => self.set(value, at),
            }
            at.pop();
        }
        for (key, value) in ours.iter().filter(|(key, _)| !theirs.contains_key(*key)) {
            at.push(Step::Key(key.clone()));
            if !is_hollow(value) {
                self.lacking.push(path_of(at));
            }
            at.pop();
        }
    }

    /// Compares lists of named items. Variables have a value or a source, so they are replaced as a
    /// whole.
    fn items(&mut self, ours: &[(&str, &Json)], theirs: &[(&str, &Json)], at: &mut Vec<Step>) {
        // Setting `value` next to an old `valueFrom` is what the API server rejects.
        let is_variables = at.last() == Some(&Step::Key("env".to_owned()));
        let mut added = Vec::new();
        for (name, item) in theirs {
            let found = ours.iter().position(|(own, _)| own == name);
            let Some((index, (_, own))) = found.and_then(|at| Some((at, ours.get(at)?))) else {
                added.push(*item);
                continue;
            };
            at.push(Step::Index(index));
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
            self.lacking.push(format!("{} {}", path_of(at), quoted(name)));
        }
    }

    fn set(&mut self, value: impl serde::Serialize, at: &[Step]) {
        self.assignments.push(format!("{} = {}", program_path(at), json!(value)));
    }
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
fn program_path(at: &[Step]) -> String {
    let steps = at.iter().map(|step| match step {
        Step::Key(key) => format!("[{}]", json!(key)),
        other => format!("[{}]", other.label()),
    });
    format!(".{}", steps.collect::<String>())
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
                "template": {"spec": {"containers": [
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

    /// Each rule alone: the bundle's object, the hand-made one, what is assigned and what lacks.
    #[test]
    fn each_difference_is_assigned_or_listed() {
        let named =
            |names: &[&str]| -> Json { names.iter().map(|name| json!({"name": name})).collect() };
        for (ours, theirs, assigned, lacking) in [
            (json!({"a": 1}), json!({"a": 1.0}), "", ""),
            (json!({"a": 1}), json!({"a": 1.5}), r#".["a"] = 1.5"#, ""),
            (json!({"a": 1}), json!({"a": "1"}), r#".["a"] = "1""#, ""),
            (json!({"a": {}}), json!({"a": {"b.c": [1]}}), r#".["a"]["b.c"] = [1]"#, ""),
            // The API server drops what is empty.
            (json!({}), json!({"a": null, "b": {}}), "", ""),
            (json!({"a": null, "b": {}}), json!({}), "", ""),
            (json!({}), json!({"a": [], "b": ""}), r#".["a"] = [] | .["b"] = """#, ""),
            (json!({"a": [], "b": {"c.d": ""}}), json!({}), "", ".a .b"),
            (
                json!({"a": {"namespace": "x"}}),
                json!({"a": {"b": 1}}),
                r#".["a"]["b"] = 1"#,
                ".a.namespace",
            ),
            // Items by their names, if each has its own.
            (json!({"a": [1]}), json!({"a": [1]}), "", ""),
            (json!({"a": [1]}), json!({"a": [1, 2]}), r#".["a"] = [1,2]"#, ""),
            (json!({"a": named(&["b", "c"])}), json!({"a": named(&["c", "b"])}), "", ""),
            (
                json!({"a": named(&["b", "c"])}),
                json!({"a": [{"name": "c", "d": 1}, {"name": "e"}]}),
                r#".["a"][1]["d"] = 1 | .["a"] += [{"name":"e"}]"#,
                r#".a "b""#,
            ),
            (
                json!({"a": named(&["b", "b"])}),
                json!({"a": named(&["b"])}),
                r#".["a"] = [{"name":"b"}]"#,
                "",
            ),
            // Variables as a whole.
            (
                json!({"env": [{"name": "B", "value": "1"}, {"name": "C", "value": "2"}]}),
                json!({"env": [{"name": "B", "valueFrom": {}}, {"name": "C", "value": "2"}]}),
                r#".["env"][0] = {"name":"B","valueFrom":{}}"#,
                "",
            ),
        ] {
            let changes = Changes::of(&ours, &theirs);
            assert_eq!(changes.assignments.join(" | "), assigned, "{ours} {theirs}");
            assert_eq!(changes.lacking.join(" "), lacking, "{ours} {theirs}");
        }
    }
}

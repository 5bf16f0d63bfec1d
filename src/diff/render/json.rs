//! JSON format, described by `schema/diff.schema.json`.

use crate::escape;
use crate::group::Group;
use crate::summary::Summary;
use crate::{Action, Change, ChangeSet, Class, Finding, Identity, ObjectChange};
use serde_json::{Value as Json, json};

/// Version of the format, raised for incompatible changes.
pub(super) const FORMAT: u32 = 2;

/// Renders a change set as JSON, with a trailing newline.
pub fn render(set: &ChangeSet) -> String {
    escape::json(&format!("{:#}\n", document(set))).into_owned()
}

/// Returns a change set as a JSON document.
pub fn document(set: &ChangeSet) -> Json {
    let summary = Summary::of(set);
    let counts: serde_json::Map<String, Json> = Class::ALL
        .iter()
        .map(|class| (class.as_str().to_owned(), json!(summary.count(*class))))
        .collect();

    json!({
        "format": FORMAT,
        "old": set.old,
        "new": set.new,
        "values": set.values,
        "verdict": summary.verdict,
        "findings": summary.groups.iter().map(group).collect::<Vec<_>>(),
        "counts": counts,
        "unchanged": set.unchanged,
        "version_only": set.version_only.iter().map(identity).collect::<Vec<_>>(),
        "objects": set.objects.iter().map(object).collect::<Vec<_>>(),
        "ignored": set.ignored.iter().map(|ignored| json!({
            "path": ignored.pattern,
            "reason": ignored.reason,
            "changes": ignored.changes,
        })).collect::<Vec<_>>(),
        "plan": set.plan.iter().map(|step| json!({
            "id": step.kind.id(),
            "title": step.kind.title(),
            "items": step.items,
            "commands": step.commands,
        })).collect::<Vec<_>>(),
    })
}

fn group(group: &Group<'_>) -> Json {
    json!({
        "code": group.rule.code,
        "class": group.class().as_str(),
        "reason": group.reason,
        "extent": group.extent(),
        "places": group.places.len(),
        "objects": group.by_object().iter().map(|(object, _)| identity(&object.id)).collect::<Vec<_>>(),
        "important": group.is_important,
    })
}

fn identity(id: &Identity) -> Json {
    json!({"group": id.group, "kind": id.kind, "namespace": id.namespace, "name": id.name})
}

fn object(object: &ObjectChange) -> Json {
    let mut json = json!({
        "id": identity(&object.id),
        "action": object.action.as_str(),
        "class": object.class().as_str(),
        "changes": object.changes.iter().map(change).collect::<Vec<_>>(),
    });
    if let Action::Renamed(from) = &object.action {
        json["from"] = identity(from);
    }
    json
}

fn change(change: &Change) -> Json {
    let mut json = json!({"path": change.path.to_string(), "class": change.class().as_str()});
    for (key, value) in [("old", &change.old), ("new", &change.new)] {
        if let Some(value) = value {
            json[key] = value.clone();
        }
    }
    json["findings"] = change.findings.iter().map(finding).collect();
    json
}

fn finding(finding: &Finding) -> Json {
    json!({
        "code": finding.rule.code,
        "class": finding.rule.class.as_str(),
        "reason": finding.reason,
        "todo": finding.rule.todo,
    })
}

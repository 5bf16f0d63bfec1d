//! For programs: everything, as one JSON document. `schema/diff.schema.json` describes it.

use crate::diff::{Action, Change, ChangeSet, Class, Finding, Identity, ObjectChange};
use crate::escape;
use serde_json::{Value as Json, json};

/// Version of the format: raised when a field changes its meaning or goes.
const FORMAT: u32 = 1;

/// The change set as JSON, with a line end.
pub fn render(set: &ChangeSet) -> String {
    escape::json(&format!("{:#}\n", document(set))).into_owned()
}

/// The change set as JSON.
pub fn document(set: &ChangeSet) -> Json {
    let counts: serde_json::Map<String, Json> = Class::ALL
        .iter()
        .map(|class| (class.as_str().to_owned(), json!(set.count(*class))))
        .collect();
    json!({
        "format": FORMAT,
        "old": set.old,
        "new": set.new,
        "counts": counts,
        "notices": set.notices.iter().map(finding).collect::<Vec<_>>(),
        "unchanged": set.unchanged,
        "objects": set.objects.iter().map(object).collect::<Vec<_>>(),
        "ignored": set.ignored.iter().map(|ignored| json!({
            "path": ignored.pattern,
            "reason": ignored.reason,
            "changes": ignored.changes,
        })).collect::<Vec<_>>(),
        "plan": set.plan.iter().map(|step| json!({
            "id": step.id,
            "title": step.title,
            "items": step.items,
            "commands": step.commands,
        })).collect::<Vec<_>>(),
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

/// The JSON schema of the document.
pub fn schema() -> Json {
    let classes: Vec<&str> = Class::ALL.iter().map(|class| class.as_str()).collect();
    let codes: Vec<&str> = crate::diff::rules::all().map(|rule| rule.code).collect();
    let text = |description: &str| json!({"type": "string", "description": description});
    let count =
        |description: &str| json!({"type": "integer", "minimum": 0, "description": description});
    let class = json!({"enum": classes, "description": "How much it matters."});
    let list = |items: Json| json!({"type": "array", "items": items});
    let closed = |required: &[&str], properties: Json| {
        json!({"type": "object", "required": required, "properties": properties,
            "additionalProperties": false})
    };
    let finding = closed(
        &["code", "class", "reason", "todo"],
        json!({
            "code": {"enum": codes, "description": "`bundle2chart explain CODE` says more."},
            "class": class,
            "reason": text("What was seen."),
            "todo": text("What to do."),
        }),
    );
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "What `bundle2chart diff --format json` writes",
        "type": "object",
        "required": [
            "format", "old", "new", "counts", "notices", "unchanged", "objects", "ignored", "plan",
        ],
        "additionalProperties": false,
        "properties": {
            "format": {"const": FORMAT},
            "old": text("What the old side is."),
            "new": text("What the new side is."),
            "counts": closed(&classes, json!({
                "breaking": count("Breaking changes."),
                "risky": count("Risky changes."),
                "info": count("Changes for information."),
            })),
            "notices": {
                "type": "array",
                "items": finding,
                "description": "What is to be known before everything else; not counted.",
            },
            "unchanged": count("Objects that are the same on both sides."),
            "objects": list(closed(&["id", "action", "class", "changes"], json!({
                "id": {"$ref": "#/definitions/identity"},
                "from": {"$ref": "#/definitions/identity"},
                "action": {"enum": ["added", "removed", "renamed", "changed"]},
                "class": class,
                "changes": list(closed(&["path", "class", "findings"], json!({
                    "path": text("Where in the object; empty for the object as a whole."),
                    "class": class,
                    "old": {"description": "What was there; missing when it is new. Secrets are replaced."},
                    "new": {"description": "What is there now; missing when it is gone."},
                    "findings": {"type": "array", "minItems": 1, "items": finding},
                }))),
            }))),
            "ignored": list(closed(&["path", "reason", "changes"], json!({
                "path": text("The pattern."),
                "reason": text("Why."),
                "changes": count("How many changes it left out."),
            }))),
            "plan": list(closed(&["id", "title", "items", "commands"], json!({
                "id": text("The kind of step."),
                "title": text("What to do."),
                "items": list(json!({"type": "string"})),
                "commands": list(json!({"type": "string"})),
            }))),
        },
        "definitions": {
            "identity": closed(&["group", "kind", "namespace", "name"], json!({
                "group": text("API group; empty for the core group."),
                "kind": text("Kind; `Chart` in group `bundle2chart` is the chart itself."),
                "namespace": text("Empty for cluster scope and for the release namespace."),
                "name": text("Name."),
            })),
        },
    })
}

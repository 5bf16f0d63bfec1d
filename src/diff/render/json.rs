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
    let findings = summary.groups.iter().enumerate();
    let important = |index: usize| summary.most_important.contains(&index);

    json!({
        "format": FORMAT,
        "old": set.old,
        "new": set.new,
        "values": set.values,
        "verdict": summary.verdict,
        "findings": findings.map(|(index, found)| group(found, important(index))).collect::<Vec<_>>(),
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
            "id": step.id(),
            "title": step.title(),
            "items": step.items,
            "commands": step.commands,
        })).collect::<Vec<_>>(),
    })
}

fn group(group: &Group<'_>, is_important: bool) -> Json {
    json!({
        "code": group.rule.code,
        "class": group.class().as_str(),
        "reason": group.reason,
        "extent": group.extent(),
        "places": group.places.len(),
        "objects": group.by_object().iter().map(|(object, _)| identity(&object.id)).collect::<Vec<_>>(),
        "important": is_important,
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

/// Returns the JSON schema of the document.
pub fn schema() -> Json {
    let classes: Vec<&str> = Class::ALL.iter().map(|class| class.as_str()).collect();
    let codes: Vec<&str> = crate::rules::all().map(|rule| rule.code).collect();
    let text = |description: &str| json!({"type": "string", "description": description});
    let count =
        |description: &str| json!({"type": "integer", "minimum": 0, "description": description});
    let class = json!({"enum": classes, "description": "Severity."});
    let list = |items: Json| json!({"type": "array", "items": items});
    let closed = |required: &[&str], properties: Json| {
        json!({"type": "object", "required": required, "properties": properties,
            "additionalProperties": false})
    };

    let finding = closed(
        &["code", "class", "reason", "todo"],
        json!({
            "code": {"enum": codes, "description": "Code of the rule; see `bundle2chart explain CODE`."},
            "class": class,
            "reason": text("The specific change."),
            "todo": {"type": ["string", "null"], "description": "Recommended action, if there is one."},
        }),
    );

    let single = json!({
        "type": "object",
        "required": [
            "format", "old", "new", "values", "verdict", "findings", "counts", "unchanged",
            "version_only", "objects", "ignored", "plan",
        ],
        "additionalProperties": false,
        "properties": {
            "format": {"const": FORMAT},
            "old": text("Label of the old side."),
            "new": text("Label of the new side."),
            "values": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Values files, in the order in which Helm layers them.",
            },
            "verdict": text("What to do about the upgrade, in one sentence."),
            "findings": list(closed(
                &["code", "class", "reason", "extent", "places", "objects", "important"],
                json!({
                    "code": {"enum": codes, "description": "Code of the rule; see `bundle2chart explain CODE`."},
                    "class": class,
                    "reason": text("The change, at the place that reports name first."),
                    "extent": text("Number of fields and objects, as the end of a sentence."),
                    "places": count("Number of changes."),
                    "objects": list(json!({"$ref": "#/definitions/identity"})),
                    "important": {"type": "boolean", "description": "True for the findings on the first screen."},
                }),
            )),
            "counts": closed(&classes, json!({
                "breaking": count("Number of breaking findings."),
                "risky": count("Number of risky findings."),
                "info": count("Number of informational findings."),
            })),
            "unchanged": count("Number of objects without differences."),
            "version_only": {
                "type": "array",
                "items": {"$ref": "#/definitions/identity"},
                "description": "Objects that the upgrade changes only in labels and annotations that follow from the \
                    name and version of the chart, also those that `--only` and ignored paths leave out.",
            },
            "objects": list(closed(&["id", "action", "class", "changes"], json!({
                "id": {"$ref": "#/definitions/identity"},
                "from": {"$ref": "#/definitions/identity"},
                "action": {"enum": ["added", "removed", "renamed", "changed", "affected"]},
                "class": class,
                "changes": list(closed(&["path", "class", "findings"], json!({
                    "path": text("Path in the object; empty for the whole object."),
                    "class": class,
                    "old": {"description": "Old value; missing if added or only affected. Secrets are redacted."},
                    "new": {"description": "New value; missing if removed or only affected. Secrets are redacted."},
                    "findings": {"type": "array", "minItems": 1, "items": finding},
                }))),
            }))),
            "ignored": list(closed(&["path", "reason", "changes"], json!({
                "path": text("Pattern."),
                "reason": text("Reason."),
                "changes": count("Number of ignored changes."),
            }))),
            "plan": list(closed(&["id", "title", "items", "commands"], json!({
                "id": text("Kind of step."),
                "title": text("Instruction."),
                "items": list(json!({"type": "string"})),
                "commands": list(json!({"type": "string"})),
            }))),
        },
    });
    let comparison = closed(
        &["name", "report"],
        json!({
            "name": text("Chart, environment, or both."),
            "report": {"$ref": "#/definitions/report"},
        }),
    );
    let several = closed(
        &["format", "comparisons", "unchanged"],
        json!({
            "format": {"const": FORMAT},
            "comparisons": list(comparison),
            "unchanged": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Names of charts without differences.",
            },
        }),
    );
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Output of `bundle2chart diff --format json`",
        "description": "A report on one comparison, or on several charts or environments.",
        "anyOf": [{"$ref": "#/definitions/report"}, several],
        "definitions": {
            "report": single,
            "identity": closed(&["group", "kind", "namespace", "name"], json!({
                "group": text("API group; empty for the core group."),
                "kind": text("Kind; `Chart` in group `bundle2chart` is the chart itself."),
                "namespace": text("Empty for cluster scope and for the release namespace."),
                "name": text("Name."),
            })),
        },
    })
}

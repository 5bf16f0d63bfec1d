//! Strategic merge of pod specs.

use super::*;

/// Lists whose items are merged by a key, as in the Kubernetes API.
const KEYED: &[(&str, &str)] = &[
    ("containers", "name"),
    ("initContainers", "name"),
    ("env", "name"),
    ("volumes", "name"),
    ("volumeMounts", "mountPath"),
    ("ports", "containerPort"),
];

/// Returns `base` with the fields of `over`: maps are merged, lists with a merge key item by item, and
/// everything else is replaced.
pub(super) fn merged(base: Json, over: &Json) -> Json {
    let (Json::Object(mut map), Json::Object(over)) = (base, over) else { return over.clone() };
    for (key, value) in over {
        let old = map.remove(key).unwrap_or(Json::Null);
        let merge_key = KEYED.iter().find(|(name, _)| name == key).map(|(_, merge_key)| *merge_key);
        let new = match (old, value, merge_key) {
            (Json::Array(items), Json::Array(over), Some(merge_key)) => {
                Json::Array(items_by_key(items, over, merge_key))
            }
            (old @ Json::Object(_), Json::Object(_), _) if !replaces(&old, value) => {
                merged(old, value)
            }
            _ => value.clone(),
        };
        map.insert(key.clone(), new);
    }
    Json::Object(map)
}

/// Returns true for probes with another handler: they have one handler only.
fn replaces(old: &Json, new: &Json) -> bool {
    const HANDLERS: [&str; 4] = ["httpGet", "tcpSocket", "exec", "grpc"];
    let handler = |json: &Json| HANDLERS.into_iter().find(|key| json.get(key).is_some());
    matches!((handler(old), handler(new)), (Some(old), Some(new)) if old != new)
}

fn items_by_key(mut items: Vec<Json>, over: &[Json], key: &str) -> Vec<Json> {
    for item in over {
        let same = items
            .iter()
            .position(|known| item.get(key).is_some() && known.get(key) == item.get(key));
        match same {
            // A variable has a value or a source, a volume one source.
            Some(index) if item.get("value").is_some() || item.get("valueFrom").is_some() => {
                items[index] = item.clone();
            }
            Some(index) => {
                let known = std::mem::take(&mut items[index]);
                items[index] = merged(known, item);
            }
            None => items.push(item.clone()),
        }
    }
    items
}

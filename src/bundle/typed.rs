//! Whether a tree has the types of a Kubernetes API type, and where not.

use crate::ir::push_key;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// Where a tree does not fit a type.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// JSON path in the tree; empty for the tree itself.
    pub path: String,
    /// What the type's reader says.
    pub why: String,
}

/// The first place where `json` does not fit `T`. What `T` makes of it is thrown away.
///
/// serde tells a line and no path, so the text is one in which each line has one path.
pub(super) fn misfit<T: DeserializeOwned>(json: &Json) -> Option<Misfit> {
    let error = serde_json::from_str::<T>(&format!("{json:#}")).err()?;
    let mut paths = Vec::new();
    lines(json, String::new(), &mut paths);
    let path = paths.into_iter().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let text = error.to_string();
    let why = text.rsplit_once(" at line ").map_or(text.as_str(), |(why, _)| why);
    Some(Misfit { path, why: why.to_owned() })
}

/// The path of each line of the indented text.
fn lines(json: &Json, path: String, paths: &mut Vec<String>) {
    paths.push(path.clone());
    match json {
        Json::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                lines(item, format!("{path}[{index}]"), paths);
            }
            paths.push(path);
        }
        Json::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                let mut path = path.clone();
                push_key(&mut path, key);
                lines(value, path, paths);
            }
            paths.push(path);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::apps::v1::DeploymentSpec;
    use serde_json::json;

    #[test]
    fn the_place_of_a_misfit() {
        let fits = json!({
            "selector": {}, "template": {"spec": {"containers": [{"name": "a", "args": []}]}}
        });
        assert_eq!(misfit::<DeploymentSpec>(&fits), None);
        for (change, value, path) in [
            (
                "/template/spec/containers",
                json!([{"name": "a"}, {"name": 5}]),
                ".template.spec.containers[1].name",
            ),
            (
                "/template/spec/containers",
                json!([{"name": "a", "ports": [{"containerPort": "x"}]}]),
                ".template.spec.containers[0].ports[0].containerPort",
            ),
            (
                "/template/spec",
                json!({"containers": [], "nodeSelector": {"a/b": true}}),
                ".template.spec.nodeSelector[\"a/b\"]",
            ),
            ("/template", json!("text"), ".template"),
            ("/selector", json!([]), ".selector"),
        ] {
            let mut spec = fits.clone();
            *spec.pointer_mut(change).expect("a place") = value;
            assert_eq!(misfit::<DeploymentSpec>(&spec).expect("a misfit").path, path);
        }
    }
}

//! The ConfigMaps, Secrets and claims that the spec of a pod references.

use super::json::{is_true, items, text};
use serde_json::Value as Json;

/// A reference from a pod to an object in its namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodReference<'j> {
    /// `ConfigMap`, `Secret` or `PersistentVolumeClaim`.
    pub kind: &'static str,
    /// Name of the object; never empty.
    pub name: &'j str,
    /// Keys of the object that the pod reads by name; empty if it reads all of them.
    pub keys: Vec<&'j str>,
    /// The environment variable with the value of the key.
    pub variable: Option<&'j str>,
    /// True if the pod also starts without the object.
    pub optional: bool,
    /// Field of the pod spec: `initContainers`, `containers` or `volumes`.
    pub field: &'static str,
    /// JSON path below the pod spec, such as `.volumes[0].secret`.
    pub path: String,
}

/// A field of an item: name, kind of the object, and its field with the object's name.
type Source = (&'static str, &'static str, &'static str);

const ENV: [Source; 2] =
    [("secretKeyRef", "Secret", "name"), ("configMapKeyRef", "ConfigMap", "name")];
const ENV_FROM: [Source; 2] =
    [("secretRef", "Secret", "name"), ("configMapRef", "ConfigMap", "name")];
const VOLUMES: [Source; 3] = [
    ("configMap", "ConfigMap", "name"),
    ("secret", "Secret", "secretName"),
    ("persistentVolumeClaim", "PersistentVolumeClaim", "claimName"),
];
const PROJECTED: [Source; 2] = [("configMap", "ConfigMap", "name"), ("secret", "Secret", "name")];

/// Returns the references of a pod spec in its environment variables and volumes.
pub fn pod_references(spec: &Json) -> Vec<PodReference<'_>> {
    let mut all = Vec::new();
    // The API server refuses ephemeral containers in the template of a workload.
    for field in ["initContainers", "containers"] {
        for (index, container) in items(spec, &[field]).iter().enumerate() {
            let path = format!(".{field}[{index}]");
            for (index, variable) in items(container, &["env"]).iter().enumerate() {
                let Some(from) = variable.get("valueFrom") else { continue };
                let path = format!("{path}.env[{index}].valueFrom");
                let first = all.len();
                add(field, from, &ENV, &path, &mut all);
                let name = variable.get("name").and_then(Json::as_str);
                // Of this variable only; those before it are in the same list.
                all[first..].iter_mut().for_each(|reference| reference.variable = name);
            }
            for (index, from) in items(container, &["envFrom"]).iter().enumerate() {
                add(field, from, &ENV_FROM, &format!("{path}.envFrom[{index}]"), &mut all);
            }
        }
    }

    for (index, volume) in items(spec, &["volumes"]).iter().enumerate() {
        let path = format!(".volumes[{index}]");
        add("volumes", volume, &VOLUMES, &path, &mut all);
        for (index, part) in items(volume, &["projected", "sources"]).iter().enumerate() {
            let path = format!("{path}.projected.sources[{index}]");
            add("volumes", part, &PROJECTED, &path, &mut all);
        }
    }

    all
}

/// Adds the references in these fields of `from`, which is at `path`.
fn add<'j>(
    field: &'static str,
    from: &'j Json,
    sources: &[Source],
    path: &str,
    all: &mut Vec<PodReference<'j>>,
) {
    for (source, kind, name) in sources {
        let Some(reference) = from.get(source) else { continue };
        let name = text(reference, &[name]);
        if name.is_empty() {
            continue;
        }
        // `items` maps keys to files of a volume, `key` is the one of an environment variable.
        let mapped =
            items(reference, &["items"]).iter().filter_map(|item| item.get("key")?.as_str());
        let keys = mapped.chain(reference.get("key").and_then(Json::as_str)).collect();
        let optional = is_true(reference, &["optional"]);
        let path = format!("{path}.{source}");
        all.push(PodReference { kind, name, keys, variable: None, optional, field, path });
    }
}

#[cfg(test)]
mod tests {
    use super::pod_references;
    use serde_json::json;

    #[test]
    fn references_have_paths_keys_and_variables() {
        let from = |source: &str| json!({source: {"name": "settings", "key": "mode"}});
        let spec = json!({
            "initContainers": [{"envFrom": [{"configMapRef": {"name": "settings"}}]}],
            "containers": [{"env": [
                {"name": "PLAIN", "value": "1"},
                {"name": "MODE", "valueFrom": from("configMapKeyRef")},
            ]}],
            "volumes": [
                {"secret": {"secretName": "tls", "optional": true, "items": [{"key": "tls.crt"}]}},
                {"persistentVolumeClaim": {"claimName": "models"}},
                {"projected": {"sources": [{"secret": {"name": "token"}}]}},
                {"configMap": {"name": ""}},
                {"emptyDir": {}},
            ],
        });
        let shown: Vec<String> = pod_references(&spec)
            .iter()
            .map(|r| {
                let (variable, optional) = (r.variable.unwrap_or("-"), r.optional);
                format!("{}/{} {:?} {variable} {optional} {}", r.kind, r.name, r.keys, r.path)
            })
            .collect();
        assert_eq!(
            shown,
            [
                "ConfigMap/settings [] - false .initContainers[0].envFrom[0].configMapRef",
                "ConfigMap/settings [\"mode\"] MODE false \
                 .containers[0].env[1].valueFrom.configMapKeyRef",
                "Secret/tls [\"tls.crt\"] - true .volumes[0].secret",
                "PersistentVolumeClaim/models [] - false .volumes[1].persistentVolumeClaim",
                "Secret/token [] - false .volumes[2].projected.sources[0].secret",
            ]
        );
    }

    #[test]
    fn specs_of_another_shape_have_no_references() {
        for spec in [json!(null), json!({"containers": {}, "volumes": [1, null, {"secret": 2}]})] {
            assert!(pod_references(&spec).is_empty(), "{spec}");
        }
    }
}

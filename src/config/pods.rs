//! `[bundle.config]`: what a person wants of an operator's pods, as in `spec.config` of an OLM
//! Subscription.

use super::keys::PODS;
use super::tree::{Fields, Located, Reader};
use crate::diag::Code;
use crate::ir::push_key;
use k8s_openapi::api::core::v1::{
    Affinity, EnvFromSource, EnvVar, ResourceRequirements, Toleration, Volume, VolumeMount,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Overrides for the Deployments of a CSV, checked against the Kubernetes API types.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodConfig {
    /// Variables of every container; one of the same name is replaced.
    pub env: Vec<Json>,
    /// Added to every container.
    pub env_from: Vec<Json>,
    /// Volumes; one of the same name is replaced.
    pub volumes: Vec<Json>,
    /// Mounts in every container; one of the same volume is replaced.
    pub volume_mounts: Vec<Json>,
    /// Added to those of the pods.
    pub tolerations: Vec<Json>,
    /// Replaces the resources of all containers.
    pub resources: Option<Json>,
    /// Replaces the node selector of the pods.
    pub node_selector: Option<Json>,
    /// Replaces the affinity of the pods, each of its three parts separately; an empty part removes
    /// it.
    pub affinity: Option<Json>,
    /// Annotations for Deployments and pods; existing keys are kept.
    pub annotations: BTreeMap<String, String>,
}

impl Reader<'_> {
    /// Returns the table `config` of a bundle.
    pub(super) fn pods(&mut self, fields: &Fields<'_>) -> PodConfig {
        let Some((table, header)) = fields.table("config") else { return PodConfig::default() };
        let fields = self.fields(&PODS, header, table);
        let mut config = PodConfig {
            env: self.list::<EnvVar>(&fields, "env"),
            env_from: self.list::<EnvFromSource>(&fields, "envFrom"),
            volumes: self.list::<Volume>(&fields, "volumes"),
            volume_mounts: self.list::<VolumeMount>(&fields, "volumeMounts"),
            tolerations: self.list::<Toleration>(&fields, "tolerations"),
            resources: self.one::<ResourceRequirements>(&fields, "resources"),
            node_selector: self.one::<BTreeMap<String, String>>(&fields, "nodeSelector"),
            affinity: self.one::<Affinity>(&fields, "affinity"),
            annotations: BTreeMap::new(),
        };

        if let Some(annotations) = self.one::<BTreeMap<String, String>>(&fields, "annotations") {
            config.annotations = serde_json::from_value(annotations).unwrap_or_default();
        }
        if let Some((table, header)) = fields.table("proxy") {
            let fields = self.fields(&super::keys::PROXY, header, table);
            for (key, name) in
                [("http", "HTTP_PROXY"), ("https", "HTTPS_PROXY"), ("no-proxy", "NO_PROXY")]
            {
                let own = config.env.iter().any(|variable| variable["name"] == name);
                if let Some((value, _)) = fields.text(key).filter(|_| !own) {
                    config.env.push(json!({"name": name, "value": value}));
                }
            }
        }

        config
    }

    fn list<T: Serialize + DeserializeOwned>(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
    ) -> Vec<Json> {
        let items = fields.json(key).and_then(|at| self.typed::<Vec<T>>(key, at));
        let items = items.and_then(|items| items.as_array().cloned()).unwrap_or_default();
        let named = matches!(key, "env" | "volumes" | "volumeMounts");
        if let Some((_, range)) = fields.json(key).filter(|_| named) {
            let nameless = |item: &&Json| item["name"].as_str().is_none_or(str::is_empty);
            for (number, item) in (1..).zip(&items).filter(|(_, item)| nameless(item)) {
                // Its values may be secrets.
                let keys: Vec<&str> =
                    item.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
                let message =
                    format!("item {number} of `{key}` has no `name`, only {}", keys.join(", "));
                self.error(Code::InvalidValue, &range, message, "add a name");
            }
            // A volume may be mounted at several paths, so a mount is known by its path.
            let identity = if key == "volumeMounts" { "mountPath" } else { "name" };
            let mut seen: Vec<&str> = Vec::new();
            for value in items.iter().filter_map(|item| item[identity].as_str()) {
                if seen.contains(&value) {
                    let message = format!("`{key}` has two items with the {identity} `{value}`");
                    self.error(Code::InvalidValue, &range, message, "remove one of them");
                }
                seen.push(value);
            }
        }
        items
    }

    fn one<T: Serialize + DeserializeOwned>(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
    ) -> Option<Json> {
        fields.json(key).and_then(|at| self.typed::<T>(key, at))
    }

    /// Returns the value if it has the type of the Kubernetes API and no unknown fields; reports
    /// other values.
    pub(super) fn typed<T: Serialize + DeserializeOwned>(
        &mut self,
        key: &str,
        (json, range): Located<Json>,
    ) -> Option<Json> {
        let hint = "see the Kubernetes API reference of pods and containers for the fields";
        let read = match serde_json::from_value::<T>(json.clone()) {
            Ok(read) => read,
            Err(why) => {
                let message = format!("`{key}` does not match the Kubernetes API: {why}");
                self.error(Code::WrongType, &range, message, hint);
                return None;
            }
        };
        let known = serde_json::to_value(read).unwrap_or_default();
        if let Some(path) = unknown(&json, &known, key.to_owned()) {
            self.error(Code::UnknownKey, &range, format!("unknown field `{path}`"), hint);
            return None;
        }
        Some(json)
    }
}

/// Returns the path of the first key that did not survive being read.
fn unknown(given: &Json, known: &Json, path: String) -> Option<String> {
    match (given, known) {
        (Json::Object(given), Json::Object(known)) => given.iter().find_map(|(key, value)| {
            let mut path = path.clone();
            push_key(&mut path, key);
            match known.get(key) {
                Some(known) => unknown(value, known, path),
                None => Some(path),
            }
        }),
        (Json::Array(given), Json::Array(known)) => {
            given.iter().zip(known).enumerate().find_map(|(index, (given, known))| {
                unknown(given, known, format!("{path}[{index}]"))
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::diag::{SourceText, human};
    use std::path::Path;
    use std::sync::Arc;

    fn read(config: &str) -> (Option<Config>, String) {
        let text = format!("[[bundle]]\nname = \"a\"\npath = \"a\"\n[bundle.config]\n{config}");
        let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text });
        let (config, found) = Config::parse(&source, Path::new("."));
        (config, human::render(&found, false))
    }

    #[test]
    fn it_is_read_as_the_api_has_it() {
        let (config, shown) = read(
            r#"
            env = [{ name = "LEVEL", value = "debug" }]
            envFrom = [{ configMapRef = { name = "settings" } }]
            volumes = [{ name = "scratch", emptyDir = {} }]
            volumeMounts = [{ name = "scratch", mountPath = "/scratch", readOnly = true }]
            tolerations = [{ key = "a", operator = "Exists", tolerationSeconds = 1_20 }]
            resources = { limits = { memory = "1Gi", cpu = "0.5" } }
            nodeSelector = { "kubernetes.io/os" = "linux" }
            affinity = { podAffinity = {} }
            annotations = { who = "me" }
            proxy = { http = "http://proxy:3128", no-proxy = ".svc" }
            "#,
        );
        let config = config.unwrap_or_else(|| panic!("{shown}"));
        insta::assert_debug_snapshot!(config.bundles[0].pods);
    }

    #[test]
    fn what_is_wrong_with_it() {
        let (_, shown) = read(
            r#"env = [{ name = "LEVEL", value = 5 }]
envFrom = [{ configMapRef = { nme = "settings" } }]
volumes = [{ emptyDir = {} }]
volumeMounts = { name = "scratch" }
tolerations = ["all"]
resource = { limits = { memory = "1Gi" } }
nodeSelector = { os = 1 }
affinity = { nodeAffinity = { requiredDuringScheduling = {} } }
annotations = { when = 2026-01-01 }
proxy = { ftp = "x" }
"#,
        );
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn no_item_stands_twice() {
        let (_, shown) = read(
            r#"env = [{ name = "A", value = "1" }, { name = "A", value = "2" }]
volumes = [{ name = "ca", emptyDir = {} }]
volumeMounts = [
  { name = "ca", mountPath = "/a" }, { name = "ca", mountPath = "/b" }, { name = "x", mountPath = "/a" },
]
"#,
        );
        insta::assert_snapshot!(shown);
    }
}

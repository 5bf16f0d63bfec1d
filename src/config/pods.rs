//! `[bundle.config]`: what a person wants of an operator's pods, as in `spec.config` of an OLM
//! Subscription.

use serde_json::Value as Json;
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

#[cfg(test)]
mod tests {
    use crate::Config;

    fn read(config: &str) -> (Option<Config>, String) {
        crate::tests::read(&format!(
            "[[bundle]]\nname = \"a\"\npath = \"a\"\n[bundle.config]\n{config}"
        ))
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

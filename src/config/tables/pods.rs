//! `[bundle.config]`: overrides for an operator's pods, as in `spec.config` of an OLM Subscription.

use super::*;
use crate::kubernetes::{Api, ApiList, Resources, Strings, TextMap};
use k8s_openapi::api::core::v1::{
    Affinity, EnvFromSource, EnvVar, Toleration, Volume, VolumeMount,
};

table! {
    /// Overrides for the operator's Deployments, as `spec.config` of an OLM Subscription: the keys
    /// are those of the Kubernetes API. Init containers are not changed.
    #[derive(Default, PartialEq)]
    pub struct PodConfig at "[bundle.config]", checked by complete {
        /// Environment variables for all containers; replaces variables with the same name.
        env: ApiList<EnvVar>;
        /// Sources of environment variables (envFrom), added to all containers.
        env_from as "envFrom": ApiList<EnvFromSource>;
        /// Volumes; replaces volumes with the same name.
        volumes: ApiList<Volume>;
        /// Volume mounts for all containers; replaces mounts of the same volume.
        volume_mounts as "volumeMounts": ApiList<VolumeMount>;
        /// Tolerations, added to those of the pods.
        tolerations: ApiList<Toleration>;
        /// Resource requests and limits; replaces those of all containers.
        resources: Option<Resources>;
        /// Node selector; replaces that of the pods.
        node_selector as "nodeSelector": Option<Strings>;
        /// Affinity: each of its three parts replaces the part of the pods, or removes it if empty;
        /// an empty table removes the whole affinity.
        affinity: Option<Api<Affinity>>;
        /// Annotations for Deployments and pods; existing annotations are kept.
        annotations: TextMap = Default::default();
        proxy: Option<Proxy>;
    }
}

table! {
    /// Proxy settings for all containers, as environment variables; `env` takes precedence.
    #[derive(Default, PartialEq)]
    pub struct Proxy at "proxy" {
        /// Value of HTTP_PROXY.
        http: Option<Any>;
        /// Value of HTTPS_PROXY.
        https: Option<Any>;
        /// Value of NO_PROXY.
        no_proxy: Option<Any>;
    }
}

/// Reports items that have no name, or that of another, and adds the variables of the proxy.
fn complete(config: &mut PodConfig, reader: &mut Reader<'_>, fields: &Fields<'_>) {
    // A volume may be mounted at several paths, so a mount is known by its path.
    for (key, items, identity) in [
        ("env", &config.env, "name"),
        ("volumes", &config.volumes, "name"),
        ("volumeMounts", &config.volume_mounts, "mountPath"),
    ] {
        let range = fields.place(key);
        let nameless = |item: &&Json| item["name"].as_str().is_none_or(str::is_empty);
        for (number, item) in (1..).zip(items).filter(|(_, item)| nameless(item)) {
            // Its values may be secrets.
            let keys: Vec<&str> =
                item.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
            let message =
                format!("item {number} of `{key}` has no `name`, only {}", keys.join(", "));
            reader.error(Code::InvalidValue, &range, message, "add a name");
        }

        let mut seen: Vec<&str> = Vec::new();
        for value in items.iter().filter_map(|item| item[identity].as_str()) {
            if seen.contains(&value) {
                let message = format!("`{key}` has two items with the {identity} `{value}`");
                reader.error(Code::InvalidValue, &range, message, "remove one of them");
            }
            seen.push(value);
        }
    }

    // The names that OLM sets (operator-lifecycle-manager, pkg/lib/proxy).
    let proxy = config.proxy.take().unwrap_or_default();
    for (name, value) in
        [("HTTP_PROXY", proxy.http), ("HTTPS_PROXY", proxy.https), ("NO_PROXY", proxy.no_proxy)]
    {
        // Kubernetes accepts duplicates, and the last one wins: the proxy's instead of the user's.
        let is_set = config.env.iter().any(|variable| variable["name"] == name);
        let variable = value.filter(|_| !is_set).map(|value| json!({"name": name, "value": value}));
        config.env.extend(variable);
    }
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

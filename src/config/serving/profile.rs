//! API profiles: compatible versions of API groups, objects, flags and images.
//!
//! Sources: the releases of gateway-api-inference-extension (whose picker and objects moved to
//! llm-d-router after 1.4), llm-d-router and lws.

use super::*;

/// A set of compatible versions.
#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    /// Name in bundles.toml.
    pub name: &'static str,
    /// Version of the picker.
    pub version: &'static str,
    /// `apiVersion` of InferencePools.
    pub pool: &'static str,
    /// `apiVersion` of InferenceObjectives and InferenceModelRewrites.
    pub objective: &'static str,
    /// `apiVersion` of the EndpointPickerConfig.
    pub picker_config: &'static str,
    /// Image of the picker.
    pub picker_image: &'static str,
    /// Image of the routing sidecar; `None` without prefill/decode routing.
    pub sidecar_image: Option<&'static str>,
    /// The sidecar's flag for the engine's port.
    pub sidecar_engine_port: &'static str,
    /// True if pools require an `endpointPickerRef`, as before GAIE 1.6.
    pub needs_picker: bool,
    /// `apiVersion` of LeaderWorkerSets.
    pub lws: &'static str,
    /// `apiVersion` of DisaggregatedSets; `None` if the profile has none.
    pub disaggregated_set: Option<&'static str>,
    /// True if the picker has the plugins of llm-d, and the flag `--tracing`.
    pub llm_d: bool,
}

/// Names of all profiles, the newest first.
pub const NAMES: &[&str] = &["llm-d-0.10", "llm-d-0.9", "gie-1.4"];

/// The newest profile. Older ones say what differs.
const NEWEST: Profile = Profile {
    name: "llm-d-0.10",
    version: "0.10.0",
    pool: "inference.networking.k8s.io/v1",
    objective: "llm-d.ai/v1alpha2",
    picker_config: "llm-d.ai/v1alpha1",
    picker_image: "ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0",
    sidecar_image: Some("ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0"),
    sidecar_engine_port: "model-server-port",
    needs_picker: false,
    lws: "leaderworkerset.x-k8s.io/v1",
    disaggregated_set: Some("disaggregatedset.x-k8s.io/v1"),
    llm_d: true,
};

/// The profiles, in the order of [`NAMES`].
static PROFILES: [Profile; 3] = [
    NEWEST,
    Profile {
        name: "llm-d-0.9",
        version: "0.9.0",
        picker_image: "ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.9.0",
        sidecar_image: Some("ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.9.0"),
        // Later sidecars still have this flag, deprecated by `--model-server-port`.
        sidecar_engine_port: "vllm-port",
        needs_picker: true,
        ..NEWEST
    },
    Profile {
        name: "gie-1.4",
        version: "1.4.0",
        objective: "inference.networking.x-k8s.io/v1alpha2",
        picker_config: "inference.networking.x-k8s.io/v1alpha1",
        picker_image: "registry.k8s.io/gateway-api-inference-extension/epp:v1.4.0",
        sidecar_image: None,
        sidecar_engine_port: "",
        needs_picker: true,
        disaggregated_set: None,
        llm_d: false,
        ..NEWEST
    },
];

/// Returns the newest profile.
pub fn newest() -> &'static Profile {
    &PROFILES[0]
}

/// Returns the profile with this name.
pub fn named(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

/// The name of a profile.
pub struct ProfileName;

impl Form for ProfileName {
    type Value = &'static Profile;
    const KIND: Kind = Kind::OneOf(NAMES);

    fn read(_: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<&'static Profile> {
        named(value.get_ref().as_str()?)
    }

    fn missing() -> Option<&'static Profile> {
        Some(newest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_profiles() {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        assert_eq!(names, NAMES);
        assert_eq!(newest().name, NAMES[0]);
        assert!(named("llm-d-0.1").is_none());
    }
}

//! Names that rules know, of no release.

use super::*;

/// A family of connectors: its name, its connectors, and the name of its protocol.
pub(crate) type Family = (&'static str, Vec<&'static str>, Option<&'static str>);

/// A reference between objects: the kind of the one with it, or `Pod` for the spec of pods, the path of the
/// map with it as in `plugins::REFERENCES`, the key of the name, the kind of the other one, and the key of
/// the name of a key in it. A name after `=` is the name itself.
pub(crate) type Link = [&'static str; 5];

/// The names of data/names.json.
#[derive(Default, Deserialize)]
#[serde(bound = "'de: 'static")]
pub(crate) struct Names {
    /// Variables that shells and the container runtime set.
    pub(crate) shells: Vec<&'static str>,
    /// Beginnings of names of variables that shells and images set.
    pub(crate) starts: Vec<&'static str>,
    /// Ends of names of variables that images, webhooks and device plugins set.
    pub(crate) ends: Vec<&'static str>,
    /// Resources that pickers, sidecars and routers read or write.
    pub(crate) resources: Vec<&'static str>,
    /// The groups of these resources. Those of other CRDs may have any resource.
    pub(crate) groups: Vec<&'static str>,
    /// Scorers that compare metrics of the engines.
    pub(crate) scorers: Vec<&'static str>,
    /// Capabilities that pods may add (Pod Security Standards, baseline); the first one also if they are
    /// restricted.
    pub(crate) capabilities: Vec<&'static str>,
    /// Fields of a model of Ray Serve (Ray, LLMConfig, which accepts no others).
    pub(crate) ray_models: Vec<&'static str>,
    /// Kinds that are part of serving a model, whose pods may be in other files.
    pub(crate) serving_parts: Vec<&'static str>,
    /// Names in commands and images of the routers of SGLang and of vLLM's production stack.
    pub(crate) routers: Vec<&'static str>,
    /// Accelerator resources.
    pub(crate) accelerators: Vec<&'static str>,
    /// Modules with a server.
    pub(crate) servers: Vec<&'static str>,
    /// vLLM flags with which data-parallel ranks have their own servers.
    pub(crate) own_servers: Vec<&'static str>,
    /// Keys of monitors and their endpoints that name what they authenticate with.
    pub(crate) credentials: Vec<&'static str>,
    /// Kinds whose pods are derived from several objects by `view::kserve`, or that only contain text and
    /// schemas.
    pub(crate) not_searched: Vec<&'static str>,
    /// Kinds that serve models, also without an engine among the manifests.
    pub(crate) serving_kinds: Vec<&'static str>,
    /// Keys of `[[serving]]` without effect with `form = "kserve"`.
    pub(crate) kserve_decides: Vec<&'static str>,
    /// Families of connectors that move KV caches between pods: the name, the connectors, and the sidecar's
    /// name of the protocol. Other connectors only store caches, or are custom.
    pub(crate) connectors: Vec<Family>,
    /// Values of annotations; of those without any, a number.
    pub(crate) annotations: Vec<(&'static str, Vec<&'static str>)>,
    /// Variables of caches, with a path that should outlive the pod.
    pub(crate) caches: Vec<&'static str>,
    /// Variables of LMCache that are numbers.
    pub(crate) numbers: Vec<&'static str>,
    /// Fields of LLMInferenceServices of which only one may be set, below another field (KServe, webhook).
    pub(crate) exclusive: Vec<[&'static str; 3]>,
    /// A flag of the production stack's router, its value, and the flag that it needs then (parser of its arguments).
    pub(crate) router_needs: Vec<[&'static str; 3]>,
    /// Objects of which controllers make another one: their kind, the JSON pointer of its name, which is their own by
    /// default, and its kind.
    pub(crate) makers: Vec<[&'static str; 3]>,
    /// Drivers of disks, whose file systems one node at a time can mount, and the classes of their clouds.
    pub(crate) disks: Vec<(&'static str, Vec<&'static str>)>,
    /// Flags, and variables of vLLM, that all pods of a group have in common.
    pub(crate) common: Vec<&'static str>,
    /// References between objects that the types of pods do not have as such.
    pub(crate) links: Vec<Link>,
}

pub(crate) static NAMES: LazyLock<Names> =
    LazyLock::new(|| embedded::json(include_str!("data/names.json")));

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_read() {
        assert!(!super::NAMES.shells.is_empty());
    }
}

//! `pod`, `cache`, `adapters`, `tracing`, labels and annotations: additions of a model to its pods.

use super::*;
use crate::ir::{is_label_key, is_label_value};
use k8s_openapi::api::core::v1::{
    Container, EnvFromSource, HostAlias, PodDNSConfig, PodSecurityContext,
    TopologySpreadConstraint, Volume, VolumeMount,
};

table! {
    /// Additional fields of the engine pods, as in the Kubernetes API.
    pub struct PodTable at "pod", checked by pod_fields as PodFields {
        /// Additional labels of the pods.
        labels: Labels = Default::default();
        /// Additional volumes.
        volumes: ApiList<Volume>;
        /// Additional volume mounts of the main container.
        volume_mounts: ApiList<VolumeMount>;
        /// Additional init containers.
        init_containers: ApiList<Container>;
        /// Additional containers.
        sidecars: ApiList<Container>;
        /// Sources of environment variables of the main container.
        env_from: ApiList<EnvFromSource>;
        /// Name of the PriorityClass. A value of the chart.
        priority_class: Option<ObjectName>;
        /// Topology spread constraints. A value of the chart.
        topology_spread: ApiList<TopologySpreadConstraint>;
        /// Name of the scheduler.
        scheduler: Option<ObjectName>;
        /// Name of the RuntimeClass.
        runtime_class: Option<ObjectName>;
        /// Security context of the pods. A value of the chart.
        security_context: Option<Api<PodSecurityContext>>;
        /// Entries for /etc/hosts.
        host_aliases: ApiList<HostAlias>;
        /// DNS parameters.
        dns_config: Option<Api<PodDNSConfig>>;
    }
}

/// `pod`: fields of the Kubernetes API by key of bundles.toml.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodFields(pub BTreeMap<&'static str, Json>);

/// Returns the keys that are set; the table has checked them.
fn pod_fields(_: PodTable, _: &mut Reader<'_>, fields: &Fields<'_>) -> Option<PodFields> {
    let set = fields.all().iter().map(|(key, value)| (key.name.as_str(), as_json(value.get_ref())));
    Some(PodFields(set.collect()))
}

table! {
    /// A volume for downloaded models, so that new pods do not download them again.
    #[derive(PartialEq, Eq)]
    pub struct Cache at "cache", one of ["claim", "size"] {
        /// Name of an existing PersistentVolumeClaim. A value of the chart.
        claim: Option<ObjectName>;
        /// Size of a PersistentVolumeClaim that the chart creates. A value of the chart.
        size: Option<VolumeSize>;
        /// StorageClass of the created claim. Default: the default of the cluster.
        storage_class: Option<ObjectName>, needs ["size"];
        /// Access mode of the created claim: `ReadWriteMany` (default) for several pods;
        /// `ReadWriteOnce` for one pod.
        access_mode: AccessMode, needs ["size"];
    }
}

choices! {
    /// The access mode of a volume.
    pub enum AccessMode {
        /// Pods of several nodes.
        ReadWriteMany = "ReadWriteMany",
        /// Pods of one node.
        ReadWriteOnce = "ReadWriteOnce",
    }
}

patterns! {
    /// The size of a volume for models.
    VolumeSize = "^[1-9][0-9]*(Gi|Ti)$";
    /// The URL of an OTLP receiver.
    Collector = "^https?://[^\\s/]+:[0-9]+$";
}

table! {
    /// OpenTelemetry traces of engine, routing sidecar and picker.
    #[derive(PartialEq, Eq)]
    pub struct Tracing at "tracing" {
        /// URL of the collector's OTLP gRPC receiver: `http://collector.observability:4317`.
        endpoint: Collector;
        /// Percentage of requests that are traced. Default: 10.
        percent: Integer<1, 100> = 10;
    }
}

/// Labels with valid keys and values.
pub struct Labels;

impl Form for Labels {
    type Value = BTreeMap<String, String>;
    const KIND: Kind = TextMap::KIND;

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<Self::Value> {
        let labels = TextMap::read(reader, key, value)?;
        let is_invalid =
            |(name, text): &(&String, &String)| !is_label_key(name) || !is_label_value(text);
        for (name, text) in labels.iter().filter(is_invalid) {
            let message = format!("invalid label `{name}: {text}`");
            let hint = "use at most 63 letters, digits, dashes, dots and underscores";
            reader.error(Code::InvalidValue, &value.span(), message, hint);
        }
        Some(labels)
    }
}

/// An item of `adapters`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// The model name in requests.
    pub name: String,
    /// Its source: Hugging Face or a PersistentVolumeClaim.
    pub source: Model,
}

impl Adapter {
    /// Returns the claim with its files, if it is on one.
    pub fn claim(&self) -> Option<&str> {
        match &self.source {
            Model::Claim(claim, _) => Some(claim),
            _ => None,
        }
    }
}

impl Form for Adapter {
    type Value = Adapter;
    const KIND: Kind = Kind::Object;

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<Adapter> {
        let item = as_json(value.get_ref());
        let text = |key: &str| item.get(key).and_then(Json::as_str).unwrap_or_default();
        // No table of `table!`, whose reader would report unknown keys: so they are refused here. Both
        // known ones must be there.
        let only = item.as_object().is_some_and(|map| map.len() == 2);
        let name = text("name");
        // It becomes a part of `NAME=SOURCE` on the engine's command line.
        let is_plain = !name.is_empty() && !name.contains(['=', '"', '\'', ',', '\\', ' ']);
        if let Some(source) = source(text("source")).filter(|_| only && is_plain) {
            return Some(Adapter { name: name.to_owned(), source });
        }
        let message = format!("invalid adapter: {item}");
        let hint = "write `{ name = \"sql\", source = \"hf://ORGANISATION/NAME\" }`, or a source \
            `pvc://CLAIM/FOLDER`";
        reader.error(Code::InvalidValue, &value.span(), message, hint);
        None
    }
}

fn source(text: &str) -> Option<Model> {
    // With a comma, vLLM reads an item of `--lora-modules` as JSON (`LoRAParserAction`).
    let is_unsafe =
        text.split('/').any(|part| part == "..") || text.contains([' ', '=', ',', '\'']);
    super::source(text).filter(|source| match source {
        _ if is_unsafe => false,
        Model::Claim(claim, _) => label_fault(claim, NAMESPACE_LIMIT).is_none(),
        source => matches!(source, Model::HuggingFace(_)),
    })
}

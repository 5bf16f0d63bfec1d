//! `epp`, `objectives` and `rewrites`: the endpoint picker.

use super::pods::PodTable;
use super::*;
use serde_json::Map as JsonMap;

table! {
    /// The endpoint picker, which selects a pod for each request.
    #[derive(PartialEq)]
    pub struct PickerConfig at "epp", checked by one_configuration {
        /// Picker configuration preset: `default`: queue, cache and prefix; `aggregated`: the same,
        /// and spreads new prompts; `payload-agnostic`: for requests that cannot be parsed;
        /// `prefill-decode`: for `prefill`, where it is the default; `precise-prefix`: by the KV
        /// cache events of the engines, which it enables, with a tokenizer in the picker pod.
        preset: Option<Preset>;
        /// A custom EndpointPickerConfig, without apiVersion and kind.
        config: Option<Api<Json>>;
        /// Image of the picker. A value of the chart. Default: from the API profile, by tag.
        image: Option<Reference>;
        /// Number of picker replicas. With more than one, one is active and the others are on
        /// standby. Default: 1.
        replicas: Integer<1, 9> = 1;
        /// Failure mode if no picker is available: `FailOpen` (default): requests go to any pod;
        /// `FailClose`: requests fail.
        failure_mode: FailureMode;
        /// Additional flags: names without leading dashes, and strings, numbers or booleans.
        flags: Flags = Default::default();
        /// Resource requests and limits of the picker. A value of the chart.
        resources: Option<Api<ResourceRequirements>>;
        /// Image of the tokenizer of preset `precise-prefix`, with vLLM for CPUs. A value of the
        /// chart. Default: `vllm/vllm-openai-cpu` at the release of `engine.image`, by tag, or at the
        /// newest known one if that is unknown or older than 0.18.
        tokenizer_image: Option<Reference>;
        /// Additional fields of the picker pods, as in `pod`.
        pod: OrEmpty<PodTable>;
    }
}

choices! {
    /// A configuration of the picker.
    pub enum Preset {
        /// Queue, cache and prefix.
        Default = "default",
        /// The same, and spreads new prompts.
        Aggregated = "aggregated",
        /// For requests that cannot be parsed.
        PayloadAgnostic = "payload-agnostic",
        /// For separate prefill.
        PrefillDecode = "prefill-decode",
        /// By the KV cache events of the engines.
        PrecisePrefix = "precise-prefix",
    }
}

choices! {
    /// The treatment of requests without a picker.
    pub enum FailureMode {
        // The default of the API is FailClose: a restart of the only picker would then be an
        // outage.
        /// They go to any pod.
        FailOpen = "FailOpen",
        /// They fail.
        FailClose = "FailClose",
    }
}

fn one_configuration(_: &mut PickerConfig, reader: &mut Reader<'_>, fields: &Fields<'_>) {
    if fields.has("preset") && fields.has("config") {
        let message = "`preset` and `config` are mutually exclusive";
        reader.error(Code::InvalidValue, &fields.place("config"), message, "remove one of them");
    }
}

/// Flags of the picker, each with one value.
pub struct Flags;

impl Form for Flags {
    type Value = JsonMap<String, Json>;
    const KIND: Kind = Kind::Object;

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<Self::Value> {
        let Json::Object(given) = as_json(value.get_ref()) else { return None };
        for (name, flag) in &given {
            let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            if !plain || name.starts_with('-') || flag.is_object() || flag.is_array() {
                let message = format!("`{name}` is not a flag with one value");
                let hint = "write `flags = { tracing = false }`, without leading dashes";
                // At the whole table: the JSON of its entries has no places.
                reader.error(Code::InvalidValue, &value.span(), message, hint);
            }
        }
        Some(given)
    }
}

/// Priorities of requests, by name.
pub struct Objectives;

impl Form for Objectives {
    type Value = BTreeMap<String, i64>;
    const KIND: Kind = Kind::Object;

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<Self::Value> {
        let Json::Object(given) = as_json(value.get_ref()) else { return None };
        // The CRD's `priority` is an int32.
        let number = |priority: &Json| priority.as_i64().filter(|n| i32::try_from(*n).is_ok());
        for (name, priority) in &given {
            if name.split('.').any(|part| label_fault(part, NAMESPACE_LIMIT).is_some()) {
                let message = format!("`{name}` is not a valid name for an InferenceObjective");
                let hint = "use lower-case letters, digits and dashes; start and end with a letter \
                    or digit";
                reader.error(Code::InvalidValue, &value.span(), message, hint);
            }
            if number(priority).is_none() {
                let message = format!("the priority of `{name}` is not an integer");
                let hint = "write `objectives = { premium = 100, batch = -10 }`";
                reader.error(Code::InvalidValue, &value.span(), message, hint);
            }
        }
        let entries = given.into_iter();
        Some(entries.filter_map(|(name, priority)| Some((name, number(&priority)?))).collect())
    }
}

/// Another name of a model: the models that requests for it go to, with their weights.
pub struct Rewrite;

impl Form for Rewrite {
    type Value = (String, Vec<(String, u32)>);
    const KIND: Kind = Kind::Object;

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<Self::Value> {
        let rewrite = as_json(value.get_ref());
        // No tables of `table!`, whose reader would report unknown keys: so they are refused here.
        let has_only = |item: &Json, keys: [&str; 2]| {
            item.as_object().is_some_and(|map| map.keys().all(|key| keys.contains(&key.as_str())))
        };
        let target = |target: &Json| {
            // Each target gets a weight: the CRD demands one of all targets or of none.
            let weight = target.get("weight").map_or(Some(1), Json::as_u64);
            let weight = weight.filter(|_| has_only(target, ["model", "weight"]))?;
            // The limits are those of the CRD of InferenceModelRewrites.
            let weight = u32::try_from(weight).ok().filter(|w| (1..=1_000_000).contains(w))?;
            Some((target.get("model")?.as_str()?.to_owned(), weight))
        };
        let targets: Option<Vec<_>> = rewrite
            .get("targets")
            .and_then(Json::as_array)
            .filter(|targets| !targets.is_empty())
            .and_then(|targets| targets.iter().map(target).collect());
        let model = rewrite.get("model").and_then(Json::as_str);
        let model = model.filter(|_| has_only(&rewrite, ["model", "targets"]));
        if let (Some(model), Some(targets)) = (model, targets) {
            return Some((model.to_owned(), targets));
        }
        let message = format!("invalid rewrite: {rewrite}");
        let hint = "write `{ model = \"other\", targets = [{ model = \"served\", weight = 1 }] }`, \
            with weights from 1 to 1000000";
        reader.error(Code::InvalidValue, &value.span(), message, hint);
        None
    }
}

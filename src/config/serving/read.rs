//! Reads `[[serving]]`.

mod pods;

use super::{
    Accelerator, Autoscaling, EngineConfig, EngineKind, Model, Monitoring, NetworkPolicy,
    PickerConfig, RouteConfig, ServingConfig, Shape, Topology, accelerators, keys, maas, profile,
};
use crate::diag::{Code, Span};
use crate::ir::label_fault;
use crate::keys::{Kind, NAMESPACE_LIMIT, Table};
use crate::read::check::Draft;
use crate::read::defaults::{self, Settings};
use crate::read::pods::typed;
use crate::read::reader::{Fields, Located, Reader};
use crate::read::{draft, overlay, values};
use k8s_openapi::api::core::v1::{EnvVar, ResourceRequirements, Toleration};
use regex::Regex;
use serde_json::{Map as JsonMap, Value as Json};
use std::collections::BTreeMap;
use toml::de::DeTable;

/// Longest name of a serving table: `NAME-prefill-0-99` and what LeaderWorkerSets add to it must
/// stay a DNS label of 63 characters.
const NAME_LIMIT: usize = 40;

/// Reads a `[[serving]]` table; there is no model after fatal errors.
pub(crate) fn read<'t>(
    reader: &mut Reader<'_>,
    (table, header): Located<&'t DeTable<'t>>,
    defaults: &Settings,
) -> (Draft, Option<ServingConfig>) {
    let fields = reader.fields(&keys::SERVING, header, table);
    (draft(reader, &fields), serving(reader, &fields, defaults))
}

fn serving<'t>(
    reader: &mut Reader<'_>,
    fields: &Fields<'t>,
    defaults: &Settings,
) -> Option<ServingConfig> {
    let mut spans = BTreeMap::new();
    note_spans(reader, fields, "", &mut spans);
    let name_at = fields.text("name")?;
    serving_name(reader, &name_at);
    let name = name_at.0.to_owned();
    let model = model(reader, fields.text("model")?);
    let engine_fields = table_in(reader, fields, "engine", &keys::ENGINE, &mut spans);
    let (engine, args, resources) = engine(reader, engine_fields.as_ref()?)?;
    let model = model?;
    let served_name = match (fields.text("served-name"), &model) {
        (Some((text, _)), _) => text.to_owned(),
        (None, Model::HuggingFace(repository)) => repository.clone(),
        (None, _) => name.clone(),
    };
    let decode = Shape { args, resources, ..shape(fields, None) };
    let mut sidecar_image = None;
    let prefill = table_in(reader, fields, "prefill", &keys::PREFILL, &mut spans).map(|table| {
        sidecar_image = table.text("sidecar-image").map(|(text, _)| text.to_owned());
        let mut shape = shape(&table, Some(decode.topology));
        shape.args = strings(&table, "args").unwrap_or_else(|| decode.args.clone());
        shape.resources = match table.json("resources") {
            Some(at) => typed::<ResourceRequirements>(reader, "resources", at),
            None => decode.resources.clone(),
        };
        shape
    });

    let pod = table_in(reader, fields, "pod", &keys::POD, &mut spans);
    let cache = table_in(reader, fields, "cache", &keys::CACHE, &mut spans);
    let tracing = table_in(reader, fields, "tracing", &keys::TRACING, &mut spans);
    let accelerator_fields =
        table_in(reader, fields, "accelerator", &keys::ACCELERATOR, &mut spans);
    let epp_fields = table_in(reader, fields, "epp", &keys::EPP, &mut spans);
    let epp_pod = epp_fields
        .as_ref()
        .and_then(|epp| inner_table(reader, epp, "epp.", "pod", &keys::POD, &mut spans));
    let route_fields = table_in(reader, fields, "route", &keys::ROUTE, &mut spans);
    let monitoring_fields = table_in(reader, fields, "monitoring", &keys::MONITORING, &mut spans);
    let policy_fields =
        table_in(reader, fields, "network-policy", &keys::NETWORK_POLICY, &mut spans);
    let scaling_fields = table_in(reader, fields, "autoscaling", &keys::AUTOSCALING, &mut spans);
    let route = route_fields.as_ref().and_then(route);
    let maas = table_in(reader, fields, "maas", &maas::keys::MODEL, &mut spans)
        .map(|table| maas::model(reader, &table, &name));
    let elsewhere = route_fields.as_ref().and_then(|table| table.text("gateway-namespace"));
    if let (Some((_, range)), true) =
        (elsewhere, route.as_ref().is_some_and(|route| route.gateway_class.is_some()))
    {
        let message = "`gateway-class` creates the Gateway in the release namespace";
        let hint = "remove `gateway-namespace`, or remove `gateway-class` if the Gateway already \
                exists";
        reader.error(Code::InvalidValue, &range, message, hint);
    }
    if let (Some(table), Some("gke")) =
        (&policy_fields, route.as_ref().map(|route| route.provider.as_str()))
    {
        let message = "a NetworkPolicy cannot allow GKE Gateways, because they have no pods";
        let hint = "remove `network-policy`, or write one by hand for the IP ranges of your \
            load balancers";
        reader.error(Code::InvalidValue, &table.header, message, hint);
    }
    if let Some(table) = &policy_fields
        && strings(table, "monitoring-namespaces").is_none_or(|names| names.is_empty())
        && (monitoring_fields.is_some() || scaling_fields.is_some())
    {
        let message = "this NetworkPolicy blocks Prometheus, which `monitoring` and \
            `autoscaling` need";
        let hint = "add its namespace: `monitoring-namespaces = [\"monitoring\"]`";
        reader.error(Code::InvalidValue, &table.header, message, hint);
    }
    let own_secret = match (fields.text("pull-secret"), fields.boolean("pull-secret")) {
        (Some(at), _) => values::secret(reader, at),
        (None, Some(_)) => None,
        (None, None) => defaults.pull_secret.clone().flatten(),
    };
    let kserve = matches!(fields.text("form"), Some(("kserve", _)));
    let namespace = fields.text("namespace").and_then(|at| values::namespace(reader, at));
    let maintainers = defaults::maintainers(reader, fields);
    let chart_version = fields.text("chart-version").and_then(|at| values::version(reader, at));

    Some(ServingConfig {
        adapters: pods::adapters(reader, fields, &served_name),
        name,
        model,
        served_name,
        profile: fields
            .text("api")
            .and_then(|(name, _)| profile::named(name))
            .unwrap_or(profile::newest()),
        kserve,
        allow_tags: fields.boolean("allow-tags").unwrap_or_default(),
        chart_version: chart_version.unwrap_or(semver::Version::new(0, 1, 0)),
        namespace: namespace.unwrap_or_else(|| "models".to_owned()),
        maintainers: maintainers.or_else(|| defaults.maintainers.clone()).unwrap_or_default(),
        pull_secret: own_secret,
        engine,
        pod: pods::pod(reader, pod.as_ref()),
        labels: pods::labels_of(reader, fields),
        service_account_annotations: pods::texts(reader, fields, "service-account-annotations"),
        queue: string(fields, "queue"),
        cache: cache.as_ref().and_then(pods::cache),
        adapter_rank: fields.integer("adapter-rank"),
        tracing: tracing.as_ref().and_then(pods::tracing),
        patches: overlay::patches(reader, fields),
        accelerator: accelerator(reader, accelerator_fields.as_ref()),
        decode,
        prefill,
        sidecar_image,
        disaggregated_set: fields.boolean("disaggregated-set").unwrap_or_default(),
        epp: epp(reader, epp_fields.as_ref(), epp_pod.as_ref()),
        maas,
        objectives: objectives(reader, fields),
        rewrites: rewrites(reader, fields),
        monitoring: monitoring_fields.map(|table| Monitoring {
            interval: string(&table, "interval").unwrap_or_else(|| "10s".to_owned()),
            labels: pods::labels_of(reader, &table),
        }),
        network_policy: policy_fields.map(|table| NetworkPolicy {
            gateways: strings(&table, "gateway-namespaces").unwrap_or_else(|| {
                let own = route.as_ref().and_then(|route| route.gateway_namespace.clone());
                own.into_iter().collect()
            }),
            monitoring: strings(&table, "monitoring-namespaces").unwrap_or_default(),
        }),
        route,
        autoscaling: scaling_fields.and_then(|table| autoscaling(reader, &table, kserve)),
        disruption_budget: fields.integer("disruption-budget"),
        depends_on: strings(fields, "depends-on").unwrap_or_default(),
        span: reader.span(fields.header.clone()),
        spans,
    })
}

/// Records the spans of keys, and checks strings against the patterns of their keys.
fn note_spans(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    prefix: &str,
    spans: &mut BTreeMap<String, Span>,
) {
    for (key, range) in fields.places() {
        spans.insert(format!("{prefix}{}", key.name), reader.span(range));
    }
    // These have checks of their own, which say more.
    check_patterns(reader, fields, &["name", "model", "namespace", "chart-version"]);
}

/// Checks strings against the patterns of their keys, except those of the keys `checked`.
pub(in crate::serving) fn check_patterns(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    checked: &[&str],
) {
    for (key, _) in fields.places() {
        let (pattern, texts) = match key.kind {
            Kind::String(Some(pattern)) => (pattern, fields.text(key.name).into_iter().collect()),
            Kind::Strings(Some(pattern)) => {
                (pattern, fields.texts(key.name).map(|(texts, _)| texts).unwrap_or_default())
            }
            _ => continue,
        };
        if checked.contains(&key.name) {
            continue;
        }
        for (text, range) in texts {
            if !Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text)) {
                let message = format!("invalid value `{}` of `{}`", text.escape_debug(), key.name);
                reader.error(Code::InvalidValue, &range, message, key.doc);
            }
        }
    }
}

/// Returns the fields of a table in `[[serving]]`.
fn table_in<'t>(
    reader: &mut Reader<'_>,
    fields: &Fields<'t>,
    key: &str,
    table: &'static Table,
    spans: &mut BTreeMap<String, Span>,
) -> Option<Fields<'t>> {
    inner_table(reader, fields, "", key, table, spans)
}

/// Returns the fields of a table in the table whose keys have this prefix.
fn inner_table<'t>(
    reader: &mut Reader<'_>,
    fields: &Fields<'t>,
    prefix: &str,
    key: &str,
    table: &'static Table,
    spans: &mut BTreeMap<String, Span>,
) -> Option<Fields<'t>> {
    let (tree, header): Located<&'t DeTable<'t>> = fields.table(key)?;
    let inner = reader.fields(table, header, tree);
    note_spans(reader, &inner, &format!("{prefix}{key}."), spans);
    Some(inner)
}

fn serving_name(reader: &mut Reader<'_>, at: &Located<&str>) {
    values::name(reader, at);
    let (name, range) = at;
    let letter = name.starts_with(|c: char| c.is_ascii_lowercase());
    if name.len() > NAME_LIMIT || (!letter && !name.is_empty()) {
        let message = format!("`{name}` is not a valid name for a model");
        let hint = format!(
            "start with a letter and use at most {NAME_LIMIT} characters: the names of \
                LeaderWorkerSets and their pods must be DNS labels"
        );
        reader.error(Code::InvalidValue, range, message, hint);
    }
}

fn model(reader: &mut Reader<'_>, (text, range): Located<&str>) -> Option<Model> {
    let hint = "write `hf://ORGANISATION/NAME`, `oci://IMAGE`, `pvc://CLAIM/FOLDER` or \
                `s3://BUCKET/FOLDER`";
    let rest = |scheme: &str| text.strip_prefix(scheme).filter(|rest| !rest.is_empty());
    let found = if text.contains(char::is_whitespace) {
        None
    } else if let Some(rest) = rest("hf://") {
        let parts: Vec<&str> = rest.split('/').collect();
        let whole = parts.len() == 2 && parts.iter().all(|part| !part.is_empty());
        whole.then(|| Model::HuggingFace(rest.to_owned()))
    } else if let Some(rest) = rest("oci://") {
        Some(Model::Image(rest.to_owned()))
    } else if let Some(rest) = rest("pvc://") {
        let (claim, folder) = rest.split_once('/').unwrap_or((rest, ""));
        let inside = !folder.split('/').any(|part| part == "..");
        (inside && !claim.is_empty()).then(|| Model::Claim(claim.to_owned(), folder.to_owned()))
    } else {
        rest("s3://").map(|_| Model::Bucket(text.to_owned()))
    };

    if found.is_none() {
        let message = format!("invalid model source `{text}`");
        reader.error(Code::InvalidValue, &range, message, hint);
    }
    found
}

fn engine(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
) -> Option<(EngineConfig, Vec<String>, Option<Json>)> {
    let env = fields.json("env").and_then(|at| typed::<Vec<EnvVar>>(reader, "env", at));
    let tolerations = fields
        .json("tolerations")
        .and_then(|at| typed::<Vec<Toleration>>(reader, "tolerations", at));
    let list = |json: Option<Json>| match json {
        Some(Json::Array(items)) => items,
        _ => Vec::new(),
    };
    let resources = fields
        .json("resources")
        .and_then(|at| typed::<ResourceRequirements>(reader, "resources", at));
    let node_selector = fields
        .json("node-selector")
        .and_then(|at| typed::<BTreeMap<String, String>>(reader, "node-selector", at));
    let (image, range) = fields.text("image")?;
    let image = values::reference(reader, "image", (image, range))?;
    let engine = EngineConfig {
        kind: match fields.text("kind") {
            Some(("sglang", _)) => EngineKind::Sglang,
            _ => EngineKind::Vllm,
        },
        image,
        env: list(env),
        shared_memory: string(fields, "shared-memory"),
        token_secret: string(fields, "token-secret"),
        capabilities: strings(fields, "capabilities").unwrap_or_default(),
        startup_minutes: fields.integer("startup-minutes").unwrap_or(60),
        node_selector,
        tolerations: list(tolerations),
        kv_offload: fields
            .text("kv-offload")
            .and_then(|(text, _)| text.strip_suffix("Gi")?.parse().ok()),
    };

    Some((engine, strings(fields, "args").unwrap_or_default(), resources))
}

fn shape(fields: &Fields<'_>, usual: Option<Topology>) -> Shape {
    let number = |key: &str| fields.integer(key).unwrap_or(1);
    let topology = match fields.text("topology") {
        Some(("lws-mp", _)) => Topology::Mp,
        Some(("lws-ray", _)) => Topology::Ray,
        Some(("lws-dp-internal", _)) => Topology::DpInternal,
        Some(("lws-dp-hybrid", _)) => Topology::DpHybrid,
        Some(("lws-dp-external", _)) => Topology::DpExternal,
        Some(_) => Topology::Single,
        None => usual.unwrap_or_default(),
    };
    Shape {
        topology,
        replicas: number("replicas"),
        nodes: number("nodes"),
        tp: number("tp"),
        pp: number("pp"),
        dp: number("dp"),
        expert_parallel: fields.boolean("expert-parallel").unwrap_or_default(),
        args: Vec::new(),
        resources: None,
    }
}

fn accelerator(reader: &mut Reader<'_>, fields: Option<&Fields<'_>>) -> Accelerator {
    let vendor = fields.and_then(|fields| fields.text("vendor"));
    for (key, range) in fields.into_iter().flat_map(Fields::places) {
        if key.name != "vendor" && matches!(vendor, Some(("none", _))) {
            let message =
                format!("`{}` requires an accelerator, but `vendor` is \"none\"", key.name);
            reader.error(Code::InvalidValue, &range, message, "remove it, or set a `vendor`");
        }
    }

    let number = |key: &str| fields.and_then(|fields| fields.integer(key));
    let text = |key: &str| fields.and_then(|fields| fields.text(key));
    let tpu = text("tpu").and_then(|(name, _)| accelerators::tpu(name));
    if let (Some((name, range)), false) = (text("tpu"), matches!(vendor, Some(("tpu", _)))) {
        let message = format!("`tpu = \"{name}\"` requires `vendor = \"tpu\"`");
        reader.error(Code::InvalidValue, &range, message, "add `vendor = \"tpu\"`, or remove it");
    }

    // A ResourceClaim allocates the devices, so pods request no extended resource.
    let claim_template = text("claim-template").map(|(name, _)| name.to_owned());
    Accelerator {
        tpu,
        rdma: text("rdma").and_then(|(name, _)| accelerators::rdma(name)),
        resource: match vendor.map_or("nvidia", |(text, _)| text) {
            _ if claim_template.is_some() => None,
            "amd" => Some("amd.com/gpu"),
            "intel" => Some("gpu.intel.com/xe"),
            "gaudi" => Some("habana.ai/gaudi"),
            "tpu" => Some("google.com/tpu"),
            "none" => None,
            _ => Some("nvidia.com/gpu"),
        },
        per_node: number("per-node"),
        devices_per_unit: number("devices-per-unit")
            .or(tpu.map(|tpu| tpu.devices_per_unit))
            .unwrap_or(1),
        claim_template,
    }
}

fn epp(
    reader: &mut Reader<'_>,
    fields: Option<&Fields<'_>>,
    pod: Option<&Fields<'_>>,
) -> PickerConfig {
    let usual = PickerConfig {
        replicas: 1,
        failure_mode: "FailOpen".to_owned(),
        ..PickerConfig::default()
    };
    let Some(fields) = fields else { return usual };
    let config = fields.json("config");
    if let (Some(_), Some((_, range))) = (fields.text("preset"), &config) {
        let message = "`preset` and `config` are mutually exclusive";
        reader.error(Code::InvalidValue, range, message, "remove one of them");
    }

    let mut flags = JsonMap::new();
    if let Some((Json::Object(given), range)) = fields.json("flags") {
        for (name, value) in given {
            let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            if plain && !name.starts_with('-') && !value.is_object() && !value.is_array() {
                flags.insert(name, value);
            } else {
                let message = format!("`{name}` is not a flag with one value");
                let hint = "write `flags = { tracing = false }`, without leading dashes";
                reader.error(Code::InvalidValue, &range, message, hint);
            }
        }
    }

    PickerConfig {
        preset: string(fields, "preset"),
        config: config.map(|(json, _)| json),
        image: string(fields, "image"),
        replicas: fields.integer("replicas").unwrap_or(usual.replicas),
        failure_mode: string(fields, "failure-mode").unwrap_or(usual.failure_mode),
        flags,
        resources: fields
            .json("resources")
            .and_then(|at| typed::<ResourceRequirements>(reader, "resources", at)),
        tokenizer_image: string(fields, "tokenizer-image"),
        pod: pods::pod(reader, pod),
    }
}

fn route(fields: &Fields<'_>) -> Option<RouteConfig> {
    let text = |key: &str| string(fields, key);
    let paths = strings(fields, "paths").filter(|paths| !paths.is_empty());
    Some(RouteConfig {
        gateway: text("gateway")?,
        gateway_namespace: text("gateway-namespace"),
        gateway_class: text("gateway-class"),
        provider: text("provider").unwrap_or_else(|| "none".to_owned()),
        hosts: strings(fields, "hosts").unwrap_or_default(),
        paths: paths.unwrap_or_else(|| vec!["/".to_owned()]),
        model_header: text("model-header"),
        request_timeout: text("request-timeout").unwrap_or_else(|| "300s".to_owned()),
        auth: matches!(fields.text("auth"), Some(("kuadrant", _))),
    })
}

fn objectives(reader: &mut Reader<'_>, fields: &Fields<'_>) -> BTreeMap<String, i64> {
    let mut objectives = BTreeMap::new();
    let Some((Json::Object(given), range)) = fields.json("objectives") else {
        return objectives;
    };
    for (name, priority) in given {
        let number = priority.as_i64().filter(|number| i32::try_from(*number).is_ok());
        if name.split('.').any(|label| label_fault(label, NAMESPACE_LIMIT).is_some()) {
            let message = format!("`{name}` is not a valid name for an InferenceObjective");
            let hint = "use lower-case letters, digits and dashes; start and end with a letter \
                or digit";
            reader.error(Code::InvalidValue, &range, message, hint);
        }
        match number {
            Some(number) => {
                objectives.insert(name, number);
            }
            None => {
                let message = format!("the priority of `{name}` is not an integer");
                let hint = "write `objectives = { premium = 100, batch = -10 }`";
                reader.error(Code::InvalidValue, &range, message, hint);
            }
        }
    }

    objectives
}

fn rewrites(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<(String, Vec<(String, u32)>)> {
    let mut rewrites = Vec::new();
    let Some((Json::Array(given), range)) = fields.json("rewrites") else { return rewrites };
    for rewrite in given {
        let target = |target: &Json| {
            let weight = target.get("weight").map_or(Some(1), Json::as_u64)?;
            let weight = u32::try_from(weight).ok().filter(|w| (1..=1_000_000).contains(w))?;
            Some((target.get("model")?.as_str()?.to_owned(), weight))
        };
        let targets: Option<Vec<_>> = rewrite
            .get("targets")
            .and_then(Json::as_array)
            .filter(|targets| !targets.is_empty())
            .and_then(|targets| targets.iter().map(target).collect());
        match (rewrite.get("model").and_then(Json::as_str), targets) {
            (Some(model), Some(targets)) => rewrites.push((model.to_owned(), targets)),
            _ => {
                let message = format!("invalid rewrite: {rewrite}");
                let hint = "write `{ model = \"other\", targets = [{ model = \"served\", \
                            weight = 1 }] }`, with weights from 1 to 1000000";
                reader.error(Code::InvalidValue, &range, message, hint);
            }
        }
    }

    rewrites
}

fn autoscaling(reader: &mut Reader<'_>, fields: &Fields<'_>, kserve: bool) -> Option<Autoscaling> {
    let keda = matches!(fields.text("kind"), Some(("keda", _)));
    let prometheus = string(fields, "prometheus");
    if keda && prometheus.is_none() && !kserve {
        let range = fields.header.clone();
        let hint = "add it: `prometheus = \"http://prometheus.monitoring:9090\"`";
        reader.error(Code::MissingKey, &range, "`keda` requires the URL of Prometheus", hint);
    }

    let (min, max) = (fields.integer("min").unwrap_or(1), fields.integer("max")?);
    if min > max {
        let range = fields.header.clone();
        let message = format!("invalid range of replicas: {min} to {max}");
        let hint = "set `min` to at most `max`";
        reader.error(Code::InvalidValue, &range, message, hint);
    }

    // KEDA computes its metric in the query.
    for key in ["metrics", "metric"] {
        let Some((_, range)) = fields.text(key).filter(|_| keda) else { continue };
        let message = format!("`{key}` has no effect with `kind = \"keda\"`");
        reader.error(Code::InvalidValue, &range, message, "remove it: KEDA queries Prometheus");
    }
    let waiting = fields.integer("waiting").unwrap_or(5);
    let gke = matches!(fields.text("metrics"), Some(("gke", _)));
    let metric = string(fields, "metric");
    Some(Autoscaling { keda, min, max, waiting, prometheus, gke, metric })
}

fn string(fields: &Fields<'_>, key: &str) -> Option<String> {
    fields.text(key).map(|(text, _)| text.to_owned())
}

fn strings(fields: &Fields<'_>, key: &str) -> Option<Vec<String>> {
    let (items, _) = fields.texts(key)?;
    Some(items.into_iter().map(|(text, _)| text.to_owned()).collect())
}

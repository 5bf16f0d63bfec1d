//! Additional fields of pods. One table maps keys of bundles.toml to fields of the Kubernetes API; the
//! volumes of `cache` and `adapters` and the claim of `accelerator` are added by it, too.

use super::build::push_new;
use super::*;
use config::serving::{Adapter, PodFields};
use std::collections::BTreeSet;

/// Directory for downloaded models on the volume of `cache`.
pub(super) const MODELS: &str = "/var/cache/models";

/// The part of a pod that has a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PodPart {
    /// The labels of the pods.
    Labels,
    /// The pod spec.
    Pod,
    /// The main container.
    Container,
}

/// A key of bundles.toml and the field that it sets: the key, the part of the pod, the path of the field, and
/// the key that identifies the items of a list.
type Row = (&'static str, PodPart, &'static [&'static str], &'static str);

/// All keys of `pod`, and at the end those that other keys add.
static ROWS: [Row; 15] = [
    ("labels", PodPart::Labels, &[], ""),
    ("volumes", PodPart::Pod, &["volumes"], "name"),
    ("volume-mounts", PodPart::Container, &["volumeMounts"], "mountPath"),
    ("init-containers", PodPart::Pod, &["initContainers"], "name"),
    ("sidecars", PodPart::Pod, &["containers"], "name"),
    ("env-from", PodPart::Container, &["envFrom"], ""),
    ("priority-class", PodPart::Pod, &["priorityClassName"], ""),
    ("topology-spread", PodPart::Pod, &["topologySpreadConstraints"], ""),
    ("scheduler", PodPart::Pod, &["schedulerName"], ""),
    ("runtime-class", PodPart::Pod, &["runtimeClassName"], ""),
    ("security-context", PodPart::Pod, &["securityContext"], ""),
    ("host-aliases", PodPart::Pod, &["hostAliases"], "ip"),
    ("dns-config", PodPart::Pod, &["dnsConfig"], ""),
    ("resource-claims", PodPart::Pod, &["resourceClaims"], "name"),
    ("claims", PodPart::Container, &["resources", "claims"], "name"),
];

/// Keys that are values of the chart, with the name and the description of the value.
const VALUES: [(&str, &str, &str); 2] = [
    ("priority-class", "priorityClass", "Name of the PriorityClass"),
    ("topology-spread", "topologySpread", "Topology spread constraints"),
];

/// A field to add.
struct Addition {
    /// The key in bundles.toml that it comes from.
    source: String,
    row: &'static Row,
    json: Json,
}

/// Returns the fields of a table `pod`.
fn of_table(fields: &PodFields, prefix: &str) -> Vec<Addition> {
    let found = fields.0.iter().filter_map(|(key, json)| {
        let row = ROWS.iter().find(|row| row.0 == *key)?;
        Some(Addition { source: format!("{prefix}{key}"), row, json: json.clone() })
    });
    found.collect()
}

/// Returns the fields that other keys add to engine pods.
fn of_other_keys(config: &ServingConfig) -> Vec<Addition> {
    let mut all: Vec<Addition> = Vec::new();
    let mut add = |source: &str, key: &str, json: Json| {
        let row = ROWS.iter().find(|row| row.0 == key);
        all.extend(row.map(|row| Addition { source: source.to_owned(), row, json }));
    };

    if let Some(claim) = cache_claim(config) {
        let volume = json!([{"name": "models", "persistentVolumeClaim": {"claimName": claim}}]);
        add("cache", "volumes", volume);
        add("cache", "volume-mounts", json!([{"name": "models", "mountPath": MODELS}]));
    }
    // Several adapters may be on one volume.
    let mut seen = BTreeSet::new();
    let claims = config.adapters.iter().filter_map(Adapter::claim);
    for claim in claims.filter(|claim| seen.insert(*claim)) {
        let name = format!("adapters-{claim}");
        let mount = json!([{"name": name, "mountPath": folder(claim), "readOnly": true}]);
        let claim = json!({"claimName": claim, "readOnly": true});
        add("adapters", "volumes", json!([{"name": name, "persistentVolumeClaim": claim}]));
        add("adapters", "volume-mounts", mount);
    }
    if let Some(template) = &config.accelerator.claim_template {
        let claim = json!([{"name": "accelerator", "resourceClaimTemplateName": template}]);
        add("accelerator.claim-template", "resource-claims", claim);
        add("accelerator.claim-template", "claims", json!([{"name": "accelerator"}]));
    }
    all
}

/// Returns the directory of a claim with adapters.
fn folder(claim: &str) -> String {
    format!("/mnt/adapters/{claim}")
}

/// Returns the path or the repository from which the engine loads an adapter.
pub(super) fn adapter_path(adapter: &Adapter) -> String {
    match &adapter.source {
        Model::Claim(claim, inner) => model_server::inside(&folder(claim), inner),
        source => model_server::model_argument(source),
    }
}

/// Returns the name of the claim for downloaded models.
pub(super) fn cache_claim(config: &ServingConfig) -> Option<String> {
    let existing = config.cache.as_ref()?.claim.clone();
    Some(existing.unwrap_or_else(|| format!("{}-cache", config.name)))
}

/// Adds the fields to all pods of the objects. Reports fields that the chart sets itself.
pub(super) fn add(
    objects: &mut [Object],
    config: &ServingConfig,
    values: &mut Values,
    diagnostics: &mut Diagnostics,
) {
    let mut engine = of_table(&config.pod, "pod.");
    engine.extend(of_other_keys(config));
    let picker = of_table(&config.epp.pod, "epp.pod.");
    each_pod(objects, config, &mut |role, holder, key| {
        let additions = if role == "epp" { &picker } else { &engine };
        let mut pods = Pods { role, values: &mut *values, config, diagnostics: &mut *diagnostics };
        // Otherwise there is no template with labels.
        if key == "spec" {
            pods.add_labels(holder.map_at("metadata").map_at("labels"), additions);
        }
        pods.add_to_spec(holder.map_at(key), additions);
    });
}

/// Returns the role of an object's pods; `None` without pods. The roles of a DisaggregatedSet are in it.
fn role(object: &Object, workloads: &[Workload<'_>]) -> Option<&'static str> {
    let of_workload = workloads.iter().find(|workload| workload.name() == object.name());
    match object.kind() {
        // The picker's Deployment is the only one that runs no model.
        "Deployment" if of_workload.is_none() => Some("epp"),
        "Deployment" | "LeaderWorkerSet" => of_workload.map(|workload| workload.role.as_str()),
        // Their prefill pods get the other role where `each_pod` finds them.
        "DisaggregatedSet" | "LLMInferenceService" => Some(Role::Decode.as_str()),
        _ => None,
    }
}

/// A change of pods: it gets their role, the map that has their spec, and its key there.
type Change<'c> = dyn FnMut(&'static str, &mut Map, &'static str) + 'c;

/// Calls `change` for each pod template below a map, as [`each_pod`] does: those at `template`,
/// `leaderTemplate` and `workerTemplate` that have a spec with containers.
fn each_template(map: &mut Map, role: &'static str, change: &mut Change<'_>) {
    // Roles of a DisaggregatedSet are the only maps above a template that have a name.
    let is_prefill = map.get("name").and_then(Value::as_str) == Some(Role::Prefill.as_str());
    let role = if is_prefill { Role::Prefill.as_str() } else { role };
    for (key, value) in map.iter_mut() {
        let is_template = matches!(key.as_str(), "template" | "leaderTemplate" | "workerTemplate");
        let has_pods = value.get("spec").is_some_and(|spec| spec.get("containers").is_some());
        if let Some(items) = value.as_seq_mut() {
            for inner in items.iter_mut().filter_map(Value::as_map_mut) {
                each_template(inner, role, change);
            }
        } else if let Some(inner) = value.as_map_mut() {
            match is_template && has_pods {
                true => change(role, inner, "spec"),
                false => each_template(inner, role, change),
            }
        }
    }
}

/// The pods of one role, to which fields are added.
struct Pods<'p> {
    role: &'static str,
    values: &'p mut Values,
    config: &'p ServingConfig,
    diagnostics: &'p mut Diagnostics,
}

impl Pods<'_> {
    fn add_labels(&mut self, own: &mut Map, additions: &[Addition]) {
        for addition in additions.iter().filter(|addition| addition.row.1 == PodPart::Labels) {
            for (key, value) in addition.json.as_object().into_iter().flatten() {
                if own.contains_key(key) {
                    self.conflict(addition, &format!("label `{key}`"));
                    continue;
                }
                own.insert(key.clone(), value.into());
            }
        }
    }

    fn add_to_spec(&mut self, spec: &mut Map, additions: &[Addition]) {
        for addition in additions {
            match addition.row.1 {
                PodPart::Labels => {}
                PodPart::Pod => self.set(spec, addition),
                PodPart::Container => {
                    // The key `sidecars` appends, so the container of the chart stays the first.
                    let containers = spec.list_at("containers");
                    if let Some(main) = containers.first_mut().and_then(Value::as_map_mut) {
                        self.set(main, addition);
                    }
                }
            }
        }
    }

    /// Sets a field, or appends to its list.
    fn set(&mut self, map: &mut Map, addition: &Addition) {
        let (key, _, path, identity) = *addition.row;
        let Some((field, path)) = path.split_last() else { return };
        let map = path.iter().fold(map, |map, key| map.map_at(key));
        let value = match VALUES.iter().find(|value| value.0 == key) {
            Some((_, name, description)) => self.value(name, description, &addition.json),
            None => (&addition.json).into(),
        };
        let Some(known) = map.get_mut(field) else {
            map.insert((*field).to_owned(), value);
            return;
        };

        let (Value::Seq(known), Json::Array(items)) = (known, &addition.json) else {
            self.conflict(addition, &format!("`{field}`"));
            return;
        };
        for item in items {
            // Without a key that identifies them, as in `envFrom`, items cannot be in each other's
            // way.
            let name = item.get(identity).and_then(Json::as_str);
            let is_same = |known: &Value| {
                name.is_some() && known.get(identity).and_then(Value::as_str) == name
            };
            if known.iter().any(is_same) {
                let what = format!("{identity} `{}` of `{field}`", name.unwrap_or_default());
                self.conflict(addition, &what);
            } else {
                known.push(item.into());
            }
        }
    }

    /// Declares a value of the chart.
    fn value(&mut self, name: &str, description: &str, default: &Json) -> Value {
        let path = [self.role, name];
        let description = format!("{description} of the {} pods.", self.role);
        match default.as_str() {
            Some(text) => self.values.text(&path, text, &description),
            None => {
                let item = json!({"type": "object"});
                self.values.whole(&path, default.clone(), item, &description)
            }
        }
    }

    fn conflict(&mut self, addition: &Addition, what: &str) {
        let message = format!("`{}` sets {what}, which the chart sets itself", addition.source);
        let hint = "use another name, or change the object with `[[serving.patch]]`";
        let error = Diagnostic::error(Code::InvalidValue, message).hint(hint);
        // One key sets the fields of several pods: of both roles, of leaders and of workers.
        push_new(error.at(self.config.place(&addition.source)), self.diagnostics);
    }
}

/// Calls `change` for all pods of the objects; the key is `spec` of a template, or another one.
pub(super) fn each_pod(objects: &mut [Object], config: &ServingConfig, change: &mut Change<'_>) {
    let workloads = Workload::all(config);
    for object in objects {
        let Some(role) = role(object, &workloads) else { continue };
        if object.kind() != "LLMInferenceService" {
            each_template(&mut object.root, role, change);
            continue;
        }

        // The pods of an LLMInferenceService have no template around their spec.
        let mut of_role = |part: &mut Map, role: Role| {
            for key in ["template", "worker"] {
                if part.get(key).and_then(Value::as_map).is_some() {
                    change(role.as_str(), part, key);
                }
            }
        };
        let spec = object.root.map_at("spec");
        of_role(spec, Role::Decode);
        if let Some(prefill) = spec.get_mut("prefill").and_then(Value::as_map_mut) {
            of_role(prefill, Role::Prefill);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ROWS;
    use crate::config::serving::PodTable;

    #[test]
    fn every_key_has_a_field() {
        let keys: Vec<&str> = PodTable::table().keys.iter().map(|key| key.name.as_str()).collect();
        let rows: Vec<&str> = ROWS.iter().map(|row| row.0).collect();
        assert_eq!(rows[..keys.len()], keys);
    }
}

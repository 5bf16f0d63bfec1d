//! Additional fields of pods. One table maps keys of bundles.toml to fields of the Kubernetes API; the
//! volumes of `cache` and `adapters` and the claim of `accelerator` are added by it, too.

use super::build::push_new;
use super::*;
use config::serving::Adapter;
use std::collections::BTreeSet;

/// Directory for downloaded models on the volume of `cache`.
pub(super) const MODELS: &str = "/var/cache/models";

/// A key of bundles.toml and the field that it sets: the key, the path of the field in the pod spec, where
/// `containers` leads to the main container, and the key that identifies the items of a list.
type Row = (&'static str, &'static [&'static str], &'static str);

/// All keys of `pod` but `labels`, and at the end those that other keys add.
static ROWS: [Row; 14] = [
    ("volumes", &["volumes"], "name"),
    ("volume-mounts", &["containers", "volumeMounts"], "mountPath"),
    ("init-containers", &["initContainers"], "name"),
    ("sidecars", &["containers"], "name"),
    ("env-from", &["containers", "envFrom"], ""),
    ("priority-class", &["priorityClassName"], ""),
    ("topology-spread", &["topologySpreadConstraints"], ""),
    ("scheduler", &["schedulerName"], ""),
    ("runtime-class", &["runtimeClassName"], ""),
    ("security-context", &["securityContext"], ""),
    ("host-aliases", &["hostAliases"], "ip"),
    ("dns-config", &["dnsConfig"], ""),
    ("resource-claims", &["resourceClaims"], "name"),
    ("claims", &["containers", "resources", "claims"], "name"),
];

/// Keys that are values of the chart, with the name and the description of the value.
const VALUES: [(&str, &str, &str); 2] = [
    ("priority-class", "priorityClass", "Name of the PriorityClass"),
    ("topology-spread", "topologySpread", "Topology spread constraints"),
];

/// A field to add: the key in bundles.toml that it comes from, the key of its row, and its value.
type Addition = (String, &'static str, Json);

/// Returns the fields that other keys add to engine pods.
fn of_other_keys(config: &ServingConfig) -> Vec<Addition> {
    let mut all: Vec<Addition> = Vec::new();
    let mut add = |source: &str, key, json| all.push((source.to_owned(), key, json));

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

/// The pods of one role, to which fields are added.
pub(super) struct Pods<'p, 'd> {
    /// The role, under which the chart has the values of the pods.
    pub(super) role: &'static str,
    /// The configuration of the model.
    pub(super) config: &'p ServingConfig,
    /// The values of the chart.
    pub(super) values: &'p mut Values<'d>,
}

impl Pods<'_, '_> {
    /// Adds labels and fields to a pod template, as [`Pods::complete_spec`] does.
    pub(super) fn complete(&mut self, template: &mut Map) {
        let own = template.map_at("metadata").map_at("labels");
        for (source, _, labels) in self.additions().iter().filter(|(_, key, _)| *key == "labels") {
            for (key, value) in labels.as_object().into_iter().flatten() {
                if own.contains_key(key) {
                    self.conflict(source, &format!("label `{key}`"));
                    continue;
                }
                own.insert(key.clone(), value.into());
            }
        }
        self.complete_spec(template.map_at("spec"));
    }

    /// Adds fields to a pod spec, and makes its security contexts values of the chart. Reports fields that
    /// the chart sets itself.
    pub(super) fn complete_spec(&mut self, spec: &mut Map) {
        for addition in self.additions() {
            self.set(spec, &addition);
        }
        self.security_contexts(spec);
    }

    /// Returns the fields to add.
    fn additions(&self) -> Vec<Addition> {
        let config = self.config;
        let (prefix, own, more) = match self.role {
            "epp" => ("epp.pod.", &config.epp.pod, Vec::new()),
            _ => ("pod.", &config.pod, of_other_keys(config)),
        };
        let own = own.0.iter().map(|(key, json)| (format!("{prefix}{key}"), *key, json.clone()));
        own.chain(more).collect()
    }

    /// Sets a field, or appends to its list.
    fn set(&mut self, spec: &mut Map, (source, key, json): &Addition) {
        let Some((_, path, identity)) = ROWS.iter().find(|row| row.0 == *key) else { return };
        let Some((field, path)) = path.split_last() else { return };
        let holder = path.iter().try_fold(spec, |map, key| match *key {
            // The key `sidecars` appends, so the container of the chart stays the first.
            "containers" => map.list_at(key).first_mut()?.as_map_mut(),
            key => Some(map.map_at(key)),
        });
        let Some(holder) = holder else { return };
        let value = match VALUES.iter().find(|value| value.0 == *key) {
            Some((_, name, description)) => self.value(name, description, json),
            None => json.into(),
        };
        let Some(known) = holder.get_mut(field) else {
            holder.insert((*field).to_owned(), value);
            return;
        };

        let (Value::Seq(known), Json::Array(items)) = (known, json) else {
            self.conflict(source, &format!("`{field}`"));
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
                self.conflict(source, &what);
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

    fn conflict(&mut self, source: &str, what: &str) {
        let message = format!("`{source}` sets {what}, which the chart sets itself");
        let hint = "use another name, or change the object with `[[serving.patch]]`";
        let error = Diagnostic::error(Code::InvalidValue, message).hint(hint);
        // One key sets the fields of several pods: of both roles, of leaders and of workers.
        push_new(error.at(self.config.place(source)), self.values.found);
    }

    /// Makes the security contexts of the pods and their containers values, with the names that charts of
    /// operators have: `ROLE.podSecurityContext` and `ROLE.securityContext.CONTAINER`. The defaults are what
    /// the chart sets. Pods of one role share their values, such as a leader and its workers.
    fn security_contexts(&mut self, spec: &mut Map) {
        let role = self.role;
        self.security_context(spec, &["podSecurityContext"], &format!("{role} pods"));
        for container in maps_mut(spec, "containers") {
            // The name is the key of the value, so it must not depend on another value.
            let Some(name) = container.get("name").and_then(Value::as_str) else { continue };
            let name = name.to_owned();
            let whose = format!("container `{name}` of the {role} pods");
            self.security_context(container, &["securityContext", &name], &whose);
        }
    }

    /// Replaces the security context of a pod or container by a value, with it as the default.
    fn security_context(&mut self, holder: &mut Map, path: &[&str], whose: &str) {
        let own = holder.get("securityContext");
        let default = own.map_or(json!({}), |own| Release::LITERAL.value(own));
        let path = [&[self.role], path].concat();
        let description = format!("Security context of the {whose}.");
        let value = self.values.whole(&path, default, Json::Bool(true), &description);
        holder.insert("securityContext".to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::ROWS;
    use crate::config::serving::PodTable;

    #[test]
    fn every_key_has_a_field() {
        let keys = PodTable::table().keys.iter().map(|key| key.name.as_str());
        let rows = ["labels"].into_iter().chain(ROWS.iter().map(|row| row.0));
        assert!(rows.take(keys.len()).eq(keys));
    }
}

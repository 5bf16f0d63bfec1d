//! Values for the operator's pods.

use super::Context;
use super::controller_fields::targets;
use crate::diag::Diagnostics;
use crate::fields::{map_mut, maps_mut, texts_of};
use crate::ir::{
    Condition, Expr, Map, Object, Origin, Release, Unit, Value, ValueSpec, ValuesPath, value,
    value_keys,
};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// Makes values of the Deployments of the CSV, under `deployments.KEY`, named as `helm create` and
/// most charts name them. The defaults are the operator's, except for lists, which are appended to
/// the operator's; values that only add something are named `extra…`.
///
/// In lists of named items, names must be unique (Helm's server-side apply enforces this), as paths of
/// mounts must, so the schema rejects those that the operator uses.
pub(super) fn deployment_values(unit: &mut Unit, context: &Context, _: &mut Diagnostics) {
    let is_deployment = |object: &Object| {
        object.kind() == "Deployment" && matches!(object.origin, Origin::Csv { .. })
    };
    let deployments = unit.objects.iter().filter(|object| is_deployment(object));
    let names: Vec<String> = deployments.map(|object| object.name().to_owned()).collect();
    let keys = value_keys(names.iter().map(String::as_str), &context.version);
    let targets = targets(unit);
    let literal = Release { namespace: "namespace", values: &Json::Null };

    for object in unit.objects.iter_mut().filter(|object| is_deployment(object)) {
        let key = keys.get(object.name()).cloned().unwrap_or_default();
        let scaled = literal.object(object).is_some_and(|object| targets.contains(&object));
        let mut settings = Settings { deployment: key, scaled, values: Vec::new() };
        if let Some(spec) = map_mut(&mut object.root, &["spec"]) {
            settings.deployment(spec);
        }
        unit.values.append(&mut settings.values);
    }
    if unit.values.iter().any(|value| value.path.to_string().starts_with("deployments")) {
        // Once for all Deployments, as OLM v0 takes them from the cluster.
        let value = |(_, key, description)| ValueSpec::text(proxy(key), "", description);
        unit.values.extend(PROXIES.map(value));
    }
}

/// The proxies of every container: the variable, and the key and description of its value.
///
/// OLM: the variables that v0 sets from the cluster's proxy settings.
const PROXIES: [(&str, &str, &str); 3] = [
    (
        "HTTP_PROXY",
        "http",
        "HTTP proxy, set as environment variable of all containers; empty for none.",
    ),
    ("HTTPS_PROXY", "https", "HTTPS proxy."),
    (
        "NO_PROXY",
        "noProxy",
        // Clients in pods connect to the API server by its address.
        "Hosts without proxy; include the cluster's own, such as \
            `$(KUBERNETES_SERVICE_HOST),.svc,.cluster.local`.",
    ),
];

fn proxy(key: &str) -> ValuesPath {
    ValuesPath::new(["proxy", key])
}

struct Settings {
    /// Key of the Deployment.
    deployment: String,
    /// True if an autoscaler of the chart sets the replicas.
    scaled: bool,
    values: Vec<ValueSpec>,
}

impl Settings {
    fn path(&self, keys: &[&str]) -> ValuesPath {
        let prefix = ["deployments", &self.deployment];
        ValuesPath::new(prefix.iter().chain(keys).copied())
    }

    fn declare(&mut self, path: &ValuesPath, default: Json, schema: Json, description: &str) {
        self.values.push(ValueSpec::new(path.clone(), default, schema, description));
    }

    fn deployment(&mut self, spec: &mut Map) {
        let path = self.path(&["replicas"]);
        let default = spec.get("replicas").map_or(json!(1), |value| Release::LITERAL.value(value));
        // Another type is an error of `check_types`; an autoscaler's number must not be reset.
        if default.is_u64() && !self.scaled {
            spec.insert("replicas".to_owned(), Expr::Integer(path.clone()).into());
            let schema = json!({"type": "integer", "minimum": 0});
            self.declare(&path, default, schema, "Number of replicas.");
        }

        let Some(template) = spec.get_mut("template").and_then(Value::as_map_mut) else { return };
        if let Some(metadata) = template.get_mut("metadata").and_then(Value::as_map_mut) {
            for (key, value, description) in [
                ("annotations", "podAnnotations", "Additional pod annotations."),
                ("labels", "podLabels", "Additional pod labels."),
            ] {
                let path = self.path(&[value]);
                let schema = add_entries(metadata, key, &path);
                self.declare(&path, json!({}), schema, description);
            }
        }

        let Some(pod) = template.get_mut("spec").and_then(Value::as_map_mut) else { return };
        self.security_context(pod, &["podSecurityContext"], "Security context of the pods.");
        self.containers(pod);
        let (key, schema) = ("priorityClassName", json!({"type": "string"}));
        self.text(pod, key, &[key], schema, "Priority class of the pods.");
        let schema = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let key = "nodeSelector";
        self.replace(pod, key, &[key], schema, "Node selector for the pods.");
        let part = json!({"type": "object"});
        let schema = json!({
            "type": "object",
            "properties": {"nodeAffinity": part, "podAffinity": part, "podAntiAffinity": part},
            "additionalProperties": false,
        });
        self.replace(pod, "affinity", &["affinity"], schema, "Affinity for the pods.");

        for (key, description) in [
            ("tolerations", "Additional tolerations for the pods."),
            ("topologySpreadConstraints", "Additional topology spread constraints for the pods."),
        ] {
            self.append([&mut *pod], key, &[key], json!({"type": "object"}), description);
        }
        let volume = named(texts(pod.get("volumes"), "name"), &json!({}), true);
        let description = "Additional volumes; the operator's own volumes keep their names.";
        self.append([&mut *pod], "volumes", &["extraVolumes"], volume, description);

        self.add_to_containers(pod);
    }

    /// Values of each container.
    fn containers(&mut self, pod: &mut Map) {
        for container in maps_mut(pod, "containers") {
            let Some(name) = container.get("name").and_then(Value::as_str) else { continue };
            let name = name.to_owned();
            let of = |what: &str| format!("{what} of the container `{name}`.");

            let group = json!({"type": "object"});
            let schema = json!({
                "type": "object",
                "properties": {"limits": group, "requests": group, "claims": {"type": "array"}},
                "additionalProperties": false,
            });
            let description = of("Resource requests and limits");
            self.replace(container, "resources", &["resources", &name], schema, &description);

            let keys = ["securityContext", &name];
            self.security_context(container, &keys, &of("Security context"));
            let policies =
                json!({"type": "string", "enum": ["Always", "IfNotPresent", "Never", ""]});
            let key = "imagePullPolicy";
            self.text(container, key, &[key, &name], policies, &of("Image pull policy"));
            let argument = json!({"type": "string"});
            let description = of("Additional arguments");
            self.append([container], "args", &["extraArgs", &name], argument, &description);
        }
    }

    /// Makes the security context of the pods or of a container a value.
    fn security_context(&mut self, holder: &mut Map, keys: &[&str], description: &str) {
        let path = self.path(keys);
        let is_empty = |own: &Value| own.as_map().is_some_and(Map::is_empty);
        let default = if holder.get("securityContext").is_some_and(is_empty) {
            // It stays as it is by default, so it is not guarded.
            holder.insert("securityContext".to_owned(), Expr::Values(path.clone()).into());
            Some(json!({}))
        } else {
            settable(holder, "securityContext", &path)
        };
        if let Some(default) = default {
            self.declare(&path, default, json!({"type": "object"}), description);
        }
    }

    /// Makes the text at `key` a value of this schema, and leaves the field out where the value is empty.
    /// A text that the schema does not list stays: it would refuse it as the default.
    fn text(
        &mut self,
        holder: &mut Map,
        key: &str,
        value: &[&str],
        schema: Json,
        description: &str,
    ) {
        let own = holder.get(key).map_or(Some(""), Value::as_str).map(|own| json!(own));
        let is_listed =
            |own: &Json| schema["enum"].as_array().is_none_or(|texts| texts.contains(own));
        let Some(own) = own.filter(is_listed) else { return };
        let path = self.path(value);
        let text = Expr::Text(path.clone()).into();
        holder.insert(key.to_owned(), Value::when(Condition::Set(path.clone()), text));
        self.declare(&path, own, schema, description);
    }

    /// Makes the map at `key` a value.
    fn replace(
        &mut self,
        holder: &mut Map,
        key: &str,
        value: &[&str],
        schema: Json,
        description: &str,
    ) {
        let path = self.path(value);
        if let Some(default) = settable(holder, key, &path) {
            self.declare(&path, default, schema, description);
        }
    }

    /// Appends the items of one value to the lists at `key`; `item` is the schema of an item.
    fn append<'m>(
        &mut self,
        holders: impl IntoIterator<Item = &'m mut Map>,
        key: &str,
        value: &[&str],
        item: Json,
        description: &str,
    ) {
        let path = self.path(value);
        for holder in holders {
            holder.list_at(key).push(Expr::Values(path.clone()).into());
        }
        self.declare(&path, json!([]), json!({"type": "array", "items": item}), description);
    }

    /// Variables and mounts, the same for all containers.
    fn add_to_containers(&mut self, pod: &mut Map) {
        let mut variables = BTreeSet::from(PROXIES.map(|(variable, ..)| variable.to_owned()));
        let mut paths = BTreeSet::new();
        for container in maps_mut(pod, "containers") {
            paths.extend(texts(container.get("volumeMounts"), "mountPath"));
            let own = texts(container.get("env"), "name");
            for (variable, key, _) in
                PROXIES.iter().filter(|(name, ..)| own.iter().all(|o| o != name))
            {
                let entry = value!({"name": *variable, "value": Expr::Text(proxy(key))});
                container.list_at("env").push(Value::when(Condition::Set(proxy(key)), entry));
            }
            variables.extend(own);
        }
        let fields = json!({"value": {"type": "string"}, "valueFrom": {"type": "object"}});
        let variable = named(variables, &fields, false);
        let description = "Additional environment variables for all containers. Variables that the \
            operator sets are changed in bundles.toml, in `[bundle.config]`; proxies are set with \
            the value `proxy`.";
        self.append(maps_mut(pod, "containers"), "env", &["extraEnv"], variable, description);
        let (key, source) = ("envFrom", json!({"type": "object"}));
        let description = "Additional envFrom sources for all containers.";
        self.append(maps_mut(pod, "containers"), key, &["extraEnvFrom"], source, description);
        let fields = json!({"mountPath": other_than(paths)});
        let (key, mount) = ("volumeMounts", named([], &fields, true));
        let description = "Additional volume mounts for all containers.";
        self.append(maps_mut(pod, "containers"), key, &["extraVolumeMounts"], mount, description);
    }
}

/// Returns the schema of a text that is none of `taken`.
fn other_than(taken: impl IntoIterator<Item = String>) -> Json {
    let mut schema = json!({"type": "string", "minLength": 1});
    let taken: Vec<String> = taken.into_iter().collect();
    if !taken.is_empty() {
        schema["not"] = json!({"enum": taken});
    }
    schema
}

/// Returns the schema of a map with these fields and a name that is none of `taken`.
fn named(taken: impl IntoIterator<Item = String>, fields: &Json, has_others: bool) -> Json {
    let mut properties = fields.clone();
    properties["name"] = other_than(taken);
    json!({
        "type": "object",
        "properties": properties,
        "required": ["name"],
        "additionalProperties": has_others,
    })
}

/// Adds the entries of the value to the annotations or labels; returns its schema, which rejects
/// existing keys.
pub(super) fn add_entries(metadata: &mut Map, key: &str, path: &ValuesPath) -> Json {
    let entries = metadata.map_at(key);
    let mut schema = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let taken: Vec<&String> = entries.keys().collect();
    if !taken.is_empty() {
        schema["propertyNames"] = json!({"not": {"enum": taken}});
    }

    entries.insert(path.to_string(), Expr::Entries(path.clone()).into());
    schema
}

fn texts(list: Option<&Value>, key: &str) -> Vec<String> {
    texts_of(list, key).map(str::to_owned).collect()
}

/// Replaces the map at `key` by the value, with the map as its default; does nothing if there
/// already is an expression.
fn settable(map: &mut Map, key: &str, path: &ValuesPath) -> Option<Json> {
    let default = match map.get(key) {
        None | Some(Value::Null) => json!({}),
        Some(own @ Value::Map(_)) if !own.has_expression() => Release::LITERAL.value(own),
        Some(_) => return None,
    };
    let value = Value::when(Condition::Set(path.clone()), Expr::Values(path.clone()).into());
    map.insert(key.to_owned(), value);
    Some(default)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::sample;

    /// A patch can put the release namespace into any part of a Deployment.
    #[test]
    fn maps_with_expressions_are_no_values() {
        let mut unit = sample::generated(
            "
apiVersion: apps/v1
kind: Deployment
metadata: {name: widget-operator}
spec:
  template:
    spec:
      nodeSelector: {disk: ssd}
      affinity: {podAffinity: {namespaces: []}}
      containers: [{name: manager}]
",
        );
        let pod = unit.objects[0].pod_spec_mut().expect("a pod");
        let affinity = pod.map_at("affinity").map_at("podAffinity");
        affinity.list_at("namespaces").push(Expr::ReleaseNamespace.into());
        deployment_values(&mut unit, &Context::default(), &mut Diagnostics::new());

        let values = unit.default_values();
        let own = &values["deployments"]["widget-operator"];
        assert_eq!(own["nodeSelector"], json!({"disk": "ssd"}));
        assert_eq!(own.get("affinity"), None);
        let release = Release { namespace: "widgets", values: &values };
        let pod = &release.object(&unit.objects[0]).expect("an object")["spec"]["template"]["spec"];
        assert_eq!(pod["nodeSelector"], json!({"disk": "ssd"}));
        assert_eq!(pod["affinity"], json!({"podAffinity": {"namespaces": ["widgets"]}}));
    }
}

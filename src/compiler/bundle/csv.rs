//! The ClusterServiceVersion: the parts that decide what is installed, checked and typed.

use super::typed;
use super::{ApiServiceDescription, WebhookDescription};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::ir::{Object, Origin, UpgradeEdges, Value, push_key};
use indexmap::IndexMap;

/// A CSV and a checked view of it. Users' objects inside (rules, deployment specs) stay the trees
/// that they are.
#[derive(Clone, Debug)]
pub struct ClusterServiceVersion {
    /// The object as shipped.
    pub object: Object,
    /// `spec.version`
    pub version: String,
    /// `spec.installModes` that are supported.
    pub install_modes: Vec<InstallMode>,
    /// `spec.install.spec.deployments`
    pub deployments: Vec<StrategyDeployment>,
    /// `spec.install.spec.permissions`
    pub permissions: Vec<Permission>,
    /// `spec.install.spec.clusterPermissions`
    pub cluster_permissions: Vec<Permission>,
    /// `spec.customresourcedefinitions.owned`
    pub owned_crds: Vec<CrdReference>,
    /// `spec.customresourcedefinitions.required`
    pub required_crds: Vec<CrdReference>,
    /// `spec.webhookdefinitions`
    pub webhooks: Vec<WebhookDescription>,
    /// `spec.apiservicedefinitions.owned`: one entry for each kind.
    pub api_services: Vec<ApiServiceDescription>,
    /// `spec.relatedImages`: name and image.
    pub related_images: Vec<(String, String)>,
}

/// The install modes: the number of namespaces that an operator can watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstallMode {
    /// All namespaces of the cluster.
    AllNamespaces,
    /// Several named namespaces.
    MultiNamespace,
    /// The namespace that it runs in.
    OwnNamespace,
    /// One other namespace.
    SingleNamespace,
}

impl InstallMode {
    /// Returns the name in a CSV.
    pub fn as_str(self) -> &'static str {
        match self {
            InstallMode::AllNamespaces => "AllNamespaces",
            InstallMode::MultiNamespace => "MultiNamespace",
            InstallMode::OwnNamespace => "OwnNamespace",
            InstallMode::SingleNamespace => "SingleNamespace",
        }
    }
}

/// An entry of the install strategy's deployments.
#[derive(Clone, Debug)]
pub struct StrategyDeployment {
    /// Name of the Deployment.
    pub name: String,
    /// Labels of the Deployment, a map, if any.
    pub label: Option<Value>,
    /// The Deployment's spec.
    pub spec: Value,
    /// The place of the entry.
    pub origin: Origin,
}

/// An entry of permissions or clusterPermissions.
#[derive(Clone, Debug)]
pub struct Permission {
    /// The ServiceAccount; `default` if the CSV has none.
    pub service_account: String,
    /// The rules, a list.
    pub rules: Value,
    /// The place of the entry.
    pub origin: Origin,
}

/// A CRD that the CSV names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrdReference {
    /// Name of the CRD, `PLURAL.GROUP`.
    pub name: String,
    /// The kind that it defines.
    pub kind: String,
    /// The version that the CSV describes.
    pub version: String,
    /// JSON path of the entry.
    pub path: String,
}

impl ClusterServiceVersion {
    /// Checks `object` and reads it. All wrong types are reported; returns `None` if there are any.
    pub(super) fn read(object: Object, diagnostics: &mut Diagnostics) -> Option<Self> {
        let mut reader = Reader { object: &object, diagnostics: Diagnostics::new() };
        let null = Value::Null;
        let spec = object.root.get("spec").unwrap_or(&null);
        reader.expect_map(spec, ".spec");

        // `deployment` is the only strategy that OLM ever had.
        let strategy = reader.text(spec, ".spec.install.strategy", &["install", "strategy"]);
        if !matches!(strategy.as_deref(), None | Some("deployment")) {
            reader.report(
                Code::UnsupportedStrategy,
                format!("install strategy `{}` is not supported", strategy.unwrap_or_default()),
                ".spec.install.strategy".to_owned(),
            );
        }
        reader.annotations();
        for keys in [
            &["install"] as &[&str],
            &["install", "spec"],
            &["customresourcedefinitions"],
            &["apiservicedefinitions"],
        ] {
            if let Some(part) = spec.at(keys).filter(|part| !part.is_null()) {
                reader.expect_map(part, &format!(".spec.{}", keys.join(".")));
            }
        }
        let version = reader.text(spec, ".spec.version", &["version"]).unwrap_or_default();
        let install_modes = reader.install_modes(spec);
        let deployments = reader.deployments(spec);
        let permissions = reader.permissions(spec, "permissions");
        let cluster_permissions = reader.permissions(spec, "clusterPermissions");
        let owned_crds = reader.crd_references(spec, "owned");
        let required_crds = reader.crd_references(spec, "required");
        let webhooks = reader.webhooks(spec);
        let api_services = reader.api_services(spec);
        let related_images = reader
            .maps(spec, ".spec.relatedImages", &["relatedImages"])
            .map(|(_, image)| (text_of(image, "name"), text_of(image, "image")))
            .collect();
        // Read completely first, so that all errors of a CSV are reported at once.
        let failed = reader.diagnostics.has_errors();
        diagnostics.append(reader.diagnostics);
        if failed {
            return None;
        }
        Some(ClusterServiceVersion {
            object,
            version,
            install_modes,
            deployments,
            permissions,
            cluster_permissions,
            owned_crds,
            required_crds,
            webhooks,
            api_services,
            related_images,
        })
    }

    /// `metadata.name`
    pub fn name(&self) -> &str {
        self.object.name()
    }

    /// Returns a text of `spec`, empty when it is missing.
    pub fn spec_text(&self, key: &str) -> &str {
        self.object.at(&["spec", key]).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns a text annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.object.at(&["metadata", "annotations", key]).and_then(Value::as_str)
    }

    /// Returns the ClusterServiceVersions that upgrades to this one skip, from `spec.skips`.
    pub fn skips(&self) -> Vec<&str> {
        let list = self.object.at(&["spec", "skips"]).and_then(Value::as_seq);
        list.unwrap_or_default().iter().filter_map(Value::as_str).collect()
    }

    /// Returns the edges that lead to this version, as it states them itself.
    pub fn edges(&self) -> UpgradeEdges {
        UpgradeEdges {
            replaces: self.spec_text("replaces").to_owned(),
            skips: self.skips().into_iter().map(str::to_owned).collect(),
            skip_range: self.annotation("olm.skipRange").unwrap_or_default().to_owned(),
        }
    }

    /// Returns true if `mode` is supported.
    pub fn supports(&self, mode: InstallMode) -> bool {
        self.install_modes.contains(&mode)
    }

    /// Returns the owned APIServices, one for each version of a group. A version can have several
    /// kinds; the last entry defines its server.
    ///
    /// OLM: operator-framework/api, `GetOwnedAPIServiceDescriptions`.
    pub fn served_versions(&self) -> Vec<&ApiServiceDescription> {
        let mut served: IndexMap<String, &ApiServiceDescription> = IndexMap::new();
        for service in &self.api_services {
            // The position is that of the first entry, the content that of the last.
            served.insert(service.name(), service);
        }
        served.into_values().collect()
    }

    /// Returns the place of this JSON path of the CSV, for diagnostics.
    pub fn place(&self, path: &str) -> Place {
        self.object.place().path(path)
    }
}

fn text_of(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

const OLM_REFUSES: &str =
    "OLM rejects this too: fix the CSV, or use another version of the operator";
const QUOTES: &str = "put the value in quotes";

pub(super) struct Reader<'a> {
    object: &'a Object,
    diagnostics: Diagnostics,
}

impl<'a> Reader<'a> {
    pub(super) fn report(&mut self, code: Code, message: String, path: String) {
        self.report_with(code, message, path, OLM_REFUSES);
    }

    fn report_with(&mut self, code: Code, message: String, path: String, hint: &str) {
        let place = self.object.place().path(path);
        self.diagnostics.push(Diagnostic::error(code, message).at(place).hint(hint));
    }

    pub(super) fn warn(&mut self, code: Code, message: String, path: String) {
        let place = self.object.place().path(path);
        let hint = "check the spelling: OLM ignores it too";
        self.diagnostics.push(Diagnostic::warning(code, message).at(place).hint(hint));
    }

    pub(super) fn wrong_type(&mut self, value: &Value, expected: &str, path: String) {
        let message = format!("`{path}` must be {expected}, but it is {}", value.type_name());
        match (expected, value) {
            ("a string", Value::Number(_) | Value::Bool(_)) => {
                self.report_with(Code::ObjectFieldType, message, path, QUOTES);
            }
            ("a boolean", Value::Text(_)) => {
                let hint = "write true or false without quotes";
                self.report_with(Code::ObjectFieldType, message, path, hint);
            }
            _ => self.report(Code::ObjectFieldType, message, path),
        }
    }

    fn expect_map(&mut self, value: &Value, path: &str) {
        if value.as_map().is_none() {
            self.wrong_type(value, "a map", path.to_owned());
        }
    }

    /// Returns an optional string; null counts as missing, as in Go.
    pub(super) fn text(&mut self, value: &Value, path: &str, keys: &[&str]) -> Option<String> {
        match value.at(keys) {
            None | Some(Value::Null) => None,
            Some(Value::Text(text)) => Some(text.clone()),
            Some(other) => {
                self.wrong_type(other, "a string", path.to_owned());
                None
            }
        }
    }

    /// Returns an optional list.
    pub(super) fn list(&mut self, value: &'a Value, path: &str, keys: &[&str]) -> &'a [Value] {
        match value.at(keys) {
            None | Some(Value::Null) => &[],
            Some(Value::Seq(items)) => items,
            Some(other) => {
                self.wrong_type(other, "a list", path.to_owned());
                &[]
            }
        }
    }

    /// Returns the items of a list of maps, which may be missing, with their paths.
    fn maps(
        &mut self,
        value: &'a Value,
        path: &str,
        keys: &[&str],
    ) -> std::vec::IntoIter<(String, &'a Value)> {
        let mut maps = Vec::new();
        for (index, item) in self.list(value, path, keys).iter().enumerate() {
            let path = format!("{path}[{index}]");
            match item {
                Value::Map(_) => maps.push((path, item)),
                other => self.wrong_type(other, "a map", path),
            }
        }
        maps.into_iter()
    }

    pub(super) fn origin(&self, path: String) -> Origin {
        match &self.object.origin {
            Origin::File { file, document, path: object, .. } => Origin::Csv {
                file: file.clone(),
                document: *document,
                path: format!("{object}{path}"),
            },
            other => other.clone(),
        }
    }

    /// Annotations, which pods get too, are texts; null is an empty one, as in Go.
    fn annotations(&mut self) {
        let annotations = self.object.at(&["metadata", "annotations"]).and_then(Value::as_map);
        for (key, value) in annotations.into_iter().flatten() {
            if !matches!(value, Value::Text(_) | Value::Null) {
                let mut path = ".metadata.annotations".to_owned();
                push_key(&mut path, key);
                self.wrong_type(value, "a string", path);
            }
        }
    }

    fn install_modes(&mut self, spec: &'a Value) -> Vec<InstallMode> {
        let mut modes = Vec::new();
        for (path, mode) in self.maps(spec, ".spec.installModes", &["installModes"]) {
            let kind = match text_of(mode, "type").as_str() {
                "AllNamespaces" => InstallMode::AllNamespaces,
                "MultiNamespace" => InstallMode::MultiNamespace,
                "OwnNamespace" => InstallMode::OwnNamespace,
                "SingleNamespace" => InstallMode::SingleNamespace,
                other => {
                    let message = format!("unknown install mode `{other}`");
                    self.report(Code::ObjectFieldType, message, format!("{path}.type"));
                    continue;
                }
            };
            match mode.get("supported") {
                Some(Value::Bool(true)) => modes.push(kind),
                None | Some(Value::Bool(false) | Value::Null) => {}
                Some(other) => self.wrong_type(other, "a boolean", format!("{path}.supported")),
            }
        }
        // By the order of the enum, so that messages and defaults do not depend on the CSV.
        modes.sort_unstable();
        modes.dedup();
        modes
    }

    fn deployments(&mut self, spec: &'a Value) -> Vec<StrategyDeployment> {
        let path = ".spec.install.spec.deployments";
        let mut deployments = Vec::new();
        for (path, entry) in self.maps(spec, path, &["install", "spec", "deployments"]) {
            let name = self.text(entry, &format!("{path}.name"), &["name"]).unwrap_or_default();
            let label = match entry.get("label") {
                None | Some(Value::Null) => None,
                Some(label @ Value::Map(_)) => Some(label.clone()),
                Some(other) => {
                    self.wrong_type(other, "a map", format!("{path}.label"));
                    None
                }
            };

            // A spec with a wrong type is reported, and left out: later stages rely on the types.
            let spec = entry.get("spec").cloned().unwrap_or(Value::Null);
            if self.deployment_spec_fits(&spec, &path) {
                deployments.push(StrategyDeployment {
                    name,
                    label,
                    spec,
                    origin: self.origin(path),
                });
            }
        }
        deployments
    }

    /// Checks the types of the spec against the Kubernetes API; k8s-openapi is only used for
    /// reading.
    fn deployment_spec_fits(&mut self, spec: &Value, path: &str) -> bool {
        use k8s_openapi::api::apps::v1::DeploymentSpec;
        if spec.as_map().is_none() {
            self.wrong_type(spec, "a map", format!("{path}.spec"));
            return false;
        }
        let release = crate::ir::Release::LITERAL;
        let mismatches = typed::mismatches::<DeploymentSpec>(release.value(spec));
        for mismatch in &mismatches {
            let at = format!("{path}.spec{}", mismatch.path);
            let message =
                format!("`{at}` does not match the type of a Deployment: {}", mismatch.why);
            let hint = if mismatch.lacks_quotes() { QUOTES } else { OLM_REFUSES };
            self.report_with(Code::ObjectFieldType, message, at, hint);
        }
        mismatches.is_empty()
    }

    fn permissions(&mut self, spec: &'a Value, key: &str) -> Vec<Permission> {
        let path = format!(".spec.install.spec.{key}");
        let mut permissions = Vec::new();
        for (path, entry) in self.maps(spec, &path, &["install", "spec", key]) {
            let name =
                self.text(entry, &format!("{path}.serviceAccountName"), &["serviceAccountName"]);
            // OLM: an empty name means the namespace's default ServiceAccount.
            let service_account =
                name.filter(|name| !name.is_empty()).unwrap_or_else(|| "default".to_owned());
            self.list(entry, &format!("{path}.rules"), &["rules"]);
            let rules = match entry.get("rules") {
                None | Some(Value::Null) => Value::Seq(Vec::new()),
                Some(rules) => rules.clone(),
            };
            permissions.push(Permission { service_account, rules, origin: self.origin(path) });
        }
        permissions
    }

    fn crd_references(&mut self, spec: &'a Value, key: &str) -> Vec<CrdReference> {
        let path = format!(".spec.customresourcedefinitions.{key}");
        self.maps(spec, &path, &["customresourcedefinitions", key])
            .map(|(path, entry)| CrdReference {
                name: text_of(entry, "name"),
                kind: text_of(entry, "kind"),
                version: text_of(entry, "version"),
                path,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;

//! The ClusterServiceVersion: the parts that decide what is installed, checked and typed.

mod types;

use super::typed;
use super::{ApiServiceDescription, WebhookDescription};
use crate::config::InstallMode;
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::fields::{is_true, list, text, texts};
use crate::ir::{Object, Origin, Release, UpgradeEdges, Value};
use indexmap::IndexMap;
use std::collections::BTreeSet;

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
        // First, so that what follows from a wrong type is not reported again.
        reader.types();
        let null = Value::Null;
        // Null instead of an early return: all parts are read, and report what they lack.
        let spec = object.root.get("spec").unwrap_or(&null);
        reader.expect_map(spec, ".spec");

        // `deployment` is the only strategy that OLM ever had.
        let strategy = spec.at(&["install", "strategy"]).and_then(Value::as_str);
        if let Some(strategy) = strategy.filter(|strategy| *strategy != "deployment") {
            reader.report(
                Code::UnsupportedStrategy,
                format!("install strategy `{strategy}` is not supported"),
                ".spec.install.strategy".to_owned(),
            );
        }
        let version = text_of(spec, "version");
        let install_modes = reader.install_modes(spec);
        let deployments = reader.deployments(spec);
        let permissions = reader.permissions(spec, "permissions");
        let cluster_permissions = reader.permissions(spec, "clusterPermissions");
        let owned_crds = crd_references(spec, "owned");
        let required_crds = crd_references(spec, "required");
        let webhooks = reader.webhooks(spec);
        let api_services = reader.api_services(spec);
        let images = list(spec.get("relatedImages")).iter();
        let images = images.map(|image| (text_of(image, "name"), text_of(image, "image")));
        let related_images = images.collect();
        // Read completely first, so that all errors of a CSV are reported at once.
        let is_valid = reader.diagnostics.no_errors();
        diagnostics.append(reader.diagnostics);
        is_valid?;
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

    /// Returns an error about the field at a path of the CSV.
    pub fn error(&self, code: Code, path: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, message).at(self.place(path))
    }

    /// Returns a text annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.object.at(&["metadata", "annotations", key]).and_then(Value::as_str)
    }

    /// Returns an annotation that is JSON; `None` if it is none.
    pub fn json_annotation(&self, key: &str) -> Option<serde_json::Value> {
        serde_json::from_str(self.annotation(key)?).ok()
    }

    /// Returns the vendor's examples of custom resources.
    pub fn examples(&self) -> Vec<serde_json::Value> {
        match self.json_annotation("alm-examples") {
            Some(serde_json::Value::Array(examples)) => examples,
            _ => Vec::new(),
        }
    }

    /// Returns the edges that lead to this version, as it states them itself.
    pub fn edges(&self) -> UpgradeEdges {
        UpgradeEdges {
            replaces: self.spec_text("replaces").to_owned(),
            skips: texts(self.object.at(&["spec", "skips"])).map(str::to_owned).collect(),
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
        // The position is that of the first entry, the content that of the last.
        let served: IndexMap<String, _> = self.api_services.iter().map(|s| (s.name(), s)).collect();
        served.into_values().collect()
    }

    /// Returns the place of this JSON path of the CSV, for diagnostics.
    pub fn place(&self, path: &str) -> Place {
        self.object.place().path(path)
    }
}

/// Returns a text, empty when it is missing.
pub(super) fn text_of(value: &Value, key: &str) -> String {
    text(value, key).unwrap_or_default().to_owned()
}

fn crd_references(spec: &Value, key: &str) -> Vec<CrdReference> {
    let entries = list(spec.at(&["customresourcedefinitions", key])).iter().enumerate();
    let reference = |(index, entry)| CrdReference {
        name: text_of(entry, "name"),
        kind: text_of(entry, "kind"),
        version: text_of(entry, "version"),
        path: format!(".spec.customresourcedefinitions.{key}[{index}]"),
    };
    entries.map(reference).collect()
}

/// Fields of a webhook definition; OLM drops every other.
pub(super) const WEBHOOK_FIELDS: &[&str] = types::Webhook::FIELDS;

/// The hint of findings that OLM reports, too.
pub const OLM_REFUSES: &str =
    "fix the CSV, or use another version of the operator: OLM rejects this too";

pub(super) struct Reader<'a> {
    pub(super) object: &'a Object,
    pub(super) diagnostics: Diagnostics,
}

impl Reader<'_> {
    /// Reports every value of the wrong type. Later, such values count as missing.
    fn types(&mut self) {
        let json = Release::LITERAL.object(self.object).unwrap_or_default();
        for mismatch in typed::mismatches::<types::Csv>(json) {
            // The path is the subject of this message.
            let why = mismatch.why.strip_prefix("it ").unwrap_or(&mismatch.why);
            let message = format!("`{}` {why}", mismatch.path);
            let hint = mismatch.spelling().unwrap_or(OLM_REFUSES);
            let place = self.object.place().path(&mismatch.path);
            let error = Diagnostic::error(Code::ObjectFieldType, message);
            self.diagnostics.push(error.at(place).hint(hint));
        }
    }

    /// Reports a map that is missing; other types have been reported.
    fn expect_map(&mut self, value: &Value, path: &str) {
        if value.is_null() {
            let message = format!("`{path}` must be a map, but it is null");
            self.report(Code::ObjectFieldType, message, path.to_owned());
        }
    }

    /// Reports an error, unless it follows from a value of the wrong type that was reported.
    pub(super) fn report(&mut self, code: Code, message: String, path: String) {
        let holds = |above: &str| {
            let rest = path.strip_prefix(above);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        if self.diagnostics.iter().any(|found| found.place.path.as_deref().is_some_and(holds)) {
            return;
        }
        let place = self.object.place().path(path);
        self.diagnostics.push(Diagnostic::error(code, message).at(place).hint(OLM_REFUSES));
    }

    pub(super) fn origin(&self, path: String) -> Origin {
        match &self.object.origin {
            Origin::File { file, document, path: object, .. } => Origin::Csv {
                file: file.clone(),
                document: *document,
                // A CSV may be an item of a List.
                path: format!("{object}{path}"),
            },
            other => other.clone(),
        }
    }

    fn install_modes(&mut self, spec: &Value) -> Vec<InstallMode> {
        // By the order of the enum, so that messages and defaults do not depend on the CSV.
        let mut modes = BTreeSet::new();
        for (index, mode) in list(spec.get("installModes")).iter().enumerate() {
            let name = text_of(mode, "type");
            let Some(kind) = InstallMode::named(&name) else {
                let message = format!("unknown install mode `{name}`");
                let path = format!(".spec.installModes[{index}].type");
                self.report(Code::ObjectFieldType, message, path);
                continue;
            };
            if is_true(mode, "supported") {
                modes.insert(kind);
            }
        }
        modes.into_iter().collect()
    }

    fn deployments(&mut self, spec: &Value) -> Vec<StrategyDeployment> {
        let entries = list(spec.at(&["install", "spec", "deployments"]));
        let mut deployments = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let path = format!(".spec.install.spec.deployments[{index}]");
            let spec = entry.get("spec").cloned().unwrap_or(Value::Null);
            self.expect_map(&spec, &format!("{path}.spec"));
            deployments.push(StrategyDeployment {
                name: text_of(entry, "name"),
                // To Go, null is an empty map.
                label: entry.get("label").filter(|label| !label.is_null()).cloned(),
                spec,
                origin: self.origin(path),
            });
        }
        deployments
    }

    fn permissions(&self, spec: &Value, key: &str) -> Vec<Permission> {
        let entries = list(spec.at(&["install", "spec", key])).iter().enumerate();
        let permission = |(index, entry)| Permission {
            // OLM: an empty name means the namespace's default ServiceAccount.
            service_account: Some(text_of(entry, "serviceAccountName"))
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| "default".to_owned()),
            rules: Value::Seq(list(entry.get("rules")).to_vec()),
            origin: self.origin(format!(".spec.install.spec.{key}[{index}]")),
        };
        entries.map(permission).collect()
    }
}

#[cfg(test)]
mod tests;

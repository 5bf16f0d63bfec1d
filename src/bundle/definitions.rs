//! Webhooks and APIServices of the operator: `spec.webhookdefinitions` and
//! `spec.apiservicedefinitions.owned` of a CSV.

use super::csv::{Reader, WEBHOOK_FIELDS, text_of};
use crate::diag::{Code, Diagnostic};
use crate::fields::{integer, list, texts};
use crate::ir::{Map, Number, Origin, Value};

/// The port of a Service for a definition that names none; the default in the CSV's CRD, which OLM
/// v1 does not apply.
const DEFAULT_PORT: i64 = 443;

/// The type of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WebhookKind {
    /// Accepts or rejects an object.
    Validating,
    /// Changes an object.
    Mutating,
    /// Converts a custom resource between versions.
    Conversion,
}

impl WebhookKind {
    const ALL: [WebhookKind; 3] =
        [WebhookKind::Validating, WebhookKind::Mutating, WebhookKind::Conversion];

    /// Returns the `type` in a CSV.
    pub fn as_str(self) -> &'static str {
        match self {
            WebhookKind::Validating => "ValidatingAdmissionWebhook",
            WebhookKind::Mutating => "MutatingAdmissionWebhook",
            WebhookKind::Conversion => "ConversionWebhook",
        }
    }
}

/// The server of an entry, which the API server calls.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// `deploymentName`: the strategy deployment that answers.
    pub deployment: String,
    /// `containerPort`: the port of the Service; default 443, also for 0.
    pub port: i64,
    /// JSON path of the entry in the CSV.
    pub place: String,
    /// The place of the entry.
    pub origin: Origin,
}

/// An entry of `spec.webhookdefinitions`.
#[derive(Clone, Debug)]
pub struct WebhookDescription {
    /// `type`
    pub kind: WebhookKind,
    /// `generateName`
    pub name: String,
    /// Its server.
    pub endpoint: Endpoint,
    /// `targetPort`: a number or the name of a container port; default `port`.
    pub target_port: Value,
    /// `webhookPath`
    pub path: Option<String>,
    /// `conversionCRDs`: names of the CRDs that it converts.
    pub conversion_crds: Vec<String>,
    /// All fields of the entry, as shipped.
    pub definition: Map,
}

/// An entry of `spec.apiservicedefinitions.owned`.
#[derive(Clone, Debug)]
pub struct ApiServiceDescription {
    /// `group`
    pub group: String,
    /// `version`
    pub version: String,
    /// `name`: the plural of the kind.
    pub plural: String,
    /// Its server.
    pub endpoint: Endpoint,
}

impl ApiServiceDescription {
    /// Returns the name of its APIService, `VERSION.GROUP`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.version, self.group)
    }
}

impl Reader<'_> {
    pub(super) fn webhooks(&mut self, spec: &Value) -> Vec<WebhookDescription> {
        let mut webhooks = Vec::new();
        for (index, entry) in list(spec.get("webhookdefinitions")).iter().enumerate() {
            let place = format!(".spec.webhookdefinitions[{index}]");
            // Other types have been reported with those of the whole CSV.
            let Some(definition) = entry.as_map() else { continue };
            self.unknown_fields(definition, &place);
            let endpoint = self.endpoint(entry, &place);
            let target_port = self.target_port(entry, &endpoint);
            let kind = text_of(entry, "type");
            let Some(kind) = WebhookKind::ALL.into_iter().find(|known| known.as_str() == kind)
            else {
                let known = WebhookKind::ALL.map(WebhookKind::as_str).join(", ");
                let message = format!("unknown webhook type `{kind}`; known types are {known}");
                self.report(Code::ObjectFieldType, message, format!("{place}.type"));
                continue;
            };

            webhooks.push(WebhookDescription {
                kind,
                name: text_of(entry, "generateName"),
                endpoint,
                target_port,
                path: Some(text_of(entry, "webhookPath")).filter(|p| !p.is_empty()),
                conversion_crds: texts(entry.get("conversionCRDs")).map(str::to_owned).collect(),
                definition: definition.clone(),
            });
        }

        webhooks
    }

    pub(super) fn api_services(&mut self, spec: &Value) -> Vec<ApiServiceDescription> {
        let mut services = Vec::new();
        let entries = list(spec.at(&["apiservicedefinitions", "owned"]));
        for (index, entry) in entries.iter().enumerate() {
            let place = format!(".spec.apiservicedefinitions.owned[{index}]");
            services.push(ApiServiceDescription {
                group: text_of(entry, "group"),
                version: text_of(entry, "version"),
                plural: text_of(entry, "name"),
                endpoint: self.endpoint(entry, &place),
            });
        }
        services
    }

    fn unknown_fields(&mut self, definition: &Map, place: &str) {
        // The field `type` is a keyword of Rust.
        let is_known = |key: &str| WEBHOOK_FIELDS.iter().any(|f| f.trim_start_matches("r#") == key);
        for key in definition.keys().filter(|key| !is_known(key)) {
            let message = format!("unknown field `{key}` of a webhook definition is ignored");
            let warning = Diagnostic::warning(Code::IgnoredField, message);
            let place = self.object.place().path(format!("{place}.{key}"));
            self.diagnostics.push(warning.at(place).hint("check the spelling: OLM ignores it too"));
        }
    }

    fn endpoint(&mut self, entry: &Value, place: &str) -> Endpoint {
        let path = format!("{place}.containerPort");
        let port = match integer(entry.get("containerPort")) {
            Some(port) if port != 0 => self.in_range(port, path),
            _ => DEFAULT_PORT,
        };
        let (deployment, place) = (text_of(entry, "deploymentName"), place.to_owned());
        Endpoint { deployment, port, origin: self.origin(place.clone()), place }
    }

    /// Reads a target port. Missing, 0 and empty values default to the Service's port, as in the
    /// API server.
    fn target_port(&mut self, entry: &Value, endpoint: &Endpoint) -> Value {
        let path = format!("{}.targetPort", endpoint.place);
        match entry.get("targetPort") {
            Some(Value::Text(name)) if !name.is_empty() => Value::text(name),
            Some(Value::Number(Number::Int(number))) if *number != 0 => {
                self.in_range(*number, path).into()
            }
            _ => endpoint.port.into(),
        }
    }

    fn in_range(&mut self, port: i64, path: String) -> i64 {
        if !(1..=65_535).contains(&port) {
            let message = format!("`{path}` is {port}, but ports are from 1 to 65535");
            self.report(Code::ObjectFieldType, message, path);
        }
        port
    }
}

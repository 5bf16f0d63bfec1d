//! Validation of the webhooks and APIServices of a bundle.
//!
//! OLM: operator-controller, registryv1 validators 6 to 12, in their order; messages follow OLM's
//! where users would search for them.

use super::webhook;
use crate::bundle::{ApiServiceDescription, Bundle, OLM_REFUSES, WebhookDescription, WebhookKind};
use crate::config::InstallMode;
use crate::diag::{Code, Diagnostic, Diagnostics, join};
use crate::fields::{list, texts};
use crate::ir::{Value, dns_subdomain};
use indexmap::IndexMap;

/// Returns a finding about a path of the CSV that OLM reports, too.
fn refused(bundle: &Bundle, code: Code, path: &str, message: String) -> Diagnostic {
    bundle.csv.error(code, path, message).hint(OLM_REFUSES)
}

/// Runs every check and reports all findings.
pub(super) fn validate(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    let webhooks = &bundle.csv.webhooks;
    install_modes(bundle, diagnostics);
    servers_exist(bundle, diagnostics);
    unique(bundle, diagnostics);
    one_server(bundle, diagnostics);
    names(bundle, diagnostics);
    converted_once(bundle, diagnostics);
    converted_crds(bundle, diagnostics);
    for webhook in webhooks.iter().filter(|webhook| webhook.kind != WebhookKind::Conversion) {
        rules(bundle, webhook, diagnostics);
    }
    required_fields(bundle, diagnostics);
}

fn conversions(bundle: &Bundle) -> impl Iterator<Item = &WebhookDescription> {
    bundle.csv.webhooks.iter().filter(|webhook| webhook.kind == WebhookKind::Conversion)
}

/// Reports conversion webhooks of bundles with install modes other than AllNamespaces: a CRD is the
/// same in all namespaces.
fn install_modes(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    let modes = &bundle.csv.install_modes;
    if modes.as_slice() == [InstallMode::AllNamespaces] {
        return;
    }
    let modes = join(modes.iter().map(|mode| mode.as_str()), ", ");
    for webhook in conversions(bundle) {
        let message = format!(
            "the bundle contains the conversion webhook `{}` and supports the install modes {modes}; conversion webhooks are only supported for bundles that only support AllNamespaces",
            webhook.name
        );
        let found = refused(bundle, Code::ConversionWebhook, &webhook.endpoint.place, message);
        let modes = bundle.csv.place(".spec.installModes");
        diagnostics.push(found.related(modes, "the install modes"));
    }
}

fn servers_exist(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    let csv = &bundle.csv;
    let webhooks = csv.webhooks.iter().map(|webhook| {
        let what =
            format!("webhook of type `{}` with name `{}`", webhook.kind.as_str(), webhook.name);
        (what, &webhook.endpoint.deployment, &webhook.endpoint.place)
    });
    let services = csv.served_versions().into_iter().map(|service| {
        let what = format!("owned APIService `{}`", service.name());
        (what, &service.endpoint.deployment, &service.endpoint.place)
    });
    // Services are created for Deployments of the CSV only; a server of any other one would have
    // none.
    let known: Vec<&str> = csv.deployments.iter().map(|d| d.name.as_str()).collect();

    for (what, deployment, entry) in webhooks.chain(services) {
        if known.contains(&deployment.as_str()) {
            continue;
        }
        let hint = match known.as_slice() {
            [] => "add the deployment to the CSV, which has none".to_owned(),
            known => format!("use a deployment of the CSV: {}", known.join(", ")),
        };
        let message = format!("the {what} references the non-existent deployment `{deployment}`");
        let path = format!("{entry}.deploymentName");
        diagnostics.push(csv.error(Code::ServerMissing, &path, message).hint(hint));
    }
}

fn unique(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    // By type as well: a mutating and a validating webhook become objects of two kinds, which may
    // have the same name.
    let mut seen: IndexMap<(&str, &str), &str> = IndexMap::new();
    for webhook in &bundle.csv.webhooks {
        let (name, kind) = (webhook::name(webhook), webhook.kind.as_str());
        let first = *seen.entry((name, kind)).or_insert(&webhook.endpoint.place);
        if first != webhook.endpoint.place {
            let message = format!("duplicate webhook `{name}` of type `{kind}`");
            let found = bundle.csv.error(Code::DuplicateObject, &webhook.endpoint.place, message);
            let found = found.related(bundle.csv.place(first), "first defined here");
            diagnostics.push(found.hint("rename one of them: only one could exist in a cluster"));
        }
    }
}

/// Reports owned APIServices of one version with different servers: they have one APIService, which
/// leads to one port of one Service.
fn one_server(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    let csv = &bundle.csv;
    // `served_versions` has the last entry of each version, whose server OLM uses.
    for last in csv.served_versions() {
        let same = |entry: &&ApiServiceDescription| {
            entry.endpoint.deployment == last.endpoint.deployment
                && entry.endpoint.port == last.endpoint.port
        };
        let entries = csv.api_services.iter().filter(|entry| entry.name() == last.name());
        let Some(other) = entries.clone().find(|entry| !same(entry)) else { continue };
        let message = format!(
            "the owned APIService `{}` is served by port {} of `{}` for `{}`, but by port {} of `{}` \
                for `{}`; the last one is used, as in OLM",
            last.name(),
            other.endpoint.port,
            other.endpoint.deployment,
            other.plural,
            last.endpoint.port,
            last.endpoint.deployment,
            last.plural
        );
        let hint = "fix the CSV: an APIService has one server for all kinds of its version";
        let [last, other] = [last, other].map(|service| csv.place(&service.endpoint.place));
        let found = Diagnostic::warning(Code::CsvMismatch, message).at(last);
        diagnostics.push(found.related(other, "the other one").hint(hint));
    }
}

/// Names become those of objects.
fn names(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    let mut check = |what: String, name: &str, path: &str| {
        if let Err(why) = dns_subdomain(name) {
            let message = format!("{what} has the invalid name `{name}`: {why}");
            let error = bundle.csv.error(Code::InvalidName, path, message);
            diagnostics.push(error.hint("rename it: the API server would reject it"));
        }
    };
    for webhook in &bundle.csv.webhooks {
        let what = format!("a webhook of type `{}`", webhook.kind.as_str());
        check(what, webhook::name(webhook), &format!("{}.generateName", webhook.endpoint.place));
    }
    for service in bundle.csv.served_versions() {
        check("an owned APIService".to_owned(), &service.name(), &service.endpoint.place);
    }
}

fn converted_once(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    // `spec.conversion` of a CRD has room for one webhook, and the last one would win silently.
    let mut by_crd: IndexMap<&str, Vec<&WebhookDescription>> = IndexMap::new();
    for webhook in conversions(bundle) {
        for crd in &webhook.conversion_crds {
            by_crd.entry(crd).or_default().push(webhook);
        }
    }
    for (crd, webhooks) in by_crd {
        let [first, .., last] = webhooks.as_slice() else { continue };
        let names = join(webhooks.iter().map(|webhook| &webhook.name), ", ");
        let message = format!(
            "the conversion webhooks {names} reference the same custom resource definition `{crd}`"
        );
        let [first, last] =
            [first, last].map(|one| format!("{}.conversionCRDs", one.endpoint.place));
        let found = refused(bundle, Code::ConversionWebhook, &last, message);
        diagnostics.push(found.related(bundle.csv.place(&first), "the other webhook"));
    }
}

fn converted_crds(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    for webhook in conversions(bundle) {
        for name in &webhook.conversion_crds {
            let path = format!("{}.conversionCRDs", webhook.endpoint.place);
            if !bundle.csv.owned_crds.iter().any(|owned| owned.name == *name) {
                let message = format!(
                    "the conversion webhook `{}` references the custom resource definition `{name}`, which the CSV does not own",
                    webhook.name
                );
                diagnostics.push(refused(bundle, Code::ConversionWebhook, &path, message));
            }

            let crd = bundle.crds.iter().find(|crd| crd.name() == name);
            // The API server requires structural schemas for conversion, which this field excludes.
            let keeps = crd.and_then(|crd| crd.at(&["spec", "preserveUnknownFields"]));
            if let (Some(crd), Some(Value::Bool(true))) = (crd, keeps) {
                let message = format!(
                    "the custom resource definition `{name}` must have .spec.preserveUnknownFields set to false to let the API server call a webhook to do the conversion"
                );
                let field = crd.place().path(".spec.preserveUnknownFields");
                let found = Diagnostic::error(Code::ConversionWebhook, message).at(field);
                let found = found.related(bundle.csv.place(&path), "the conversion webhook");
                diagnostics.push(found.hint(OLM_REFUSES));
            }
        }
    }
}

/// Reports rules for resources that webhooks may not intercept.
fn rules(bundle: &Bundle, webhook: &WebhookDescription, diagnostics: &mut Diagnostics) {
    for (index, rule) in list(webhook.definition.get("rules")).iter().enumerate() {
        let mut forbid = |what: String, key: &str| {
            let message = format!(
                "the webhook `{}` contains a forbidden rule: admission webhook rules cannot reference {what}",
                webhook.name
            );
            let path = format!("{}.rules[{index}].{key}", webhook.endpoint.place);
            diagnostics.push(refused(bundle, Code::ForbiddenRule, &path, message));
        };
        for group in texts(rule.get("apiGroups")) {
            match group {
                // A failing webhook on these could block the changes that would repair it.
                "*" | "olm.operatorframework.io" => {
                    forbid(format!("the API group `{group}`"), "apiGroups");
                }
                "admissionregistration.k8s.io" => {
                    for resource in texts(rule.get("resources")).filter(|r| configures(r)) {
                        let what = format!("the resource `{resource}` of the API group `{group}`");
                        forbid(what, "resources");
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns true if a resource of admissionregistration.k8s.io is, or can match, a webhook
/// configuration.
fn configures(resource: &str) -> bool {
    let name = resource.to_lowercase();
    let name = name.strip_suffix('s').unwrap_or(&name);
    matches!(name, "*" | "mutatingwebhookconfiguration" | "validatingwebhookconfiguration")
}

/// Reports missing fields of webhooks that the API server, and the CSV's own CRD, require.
fn required_fields(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    for webhook in &bundle.csv.webhooks {
        let has = |key: &str| match webhook.definition.get(key) {
            Some(Value::Text(text)) => !text.is_empty(),
            Some(Value::Seq(items)) => !items.is_empty(),
            // Values of other types are errors before.
            _ => false,
        };
        // `spec.conversion` of a CRD has no such field.
        let side_effects = webhook.kind != WebhookKind::Conversion;
        for (key, needed) in [("admissionReviewVersions", true), ("sideEffects", side_effects)] {
            if needed && !has(key) {
                let message =
                    format!("the webhook `{}` has no `{key}`, which is required", webhook.name);
                let path = format!("{}.{key}", webhook.endpoint.place);
                diagnostics.push(refused(bundle, Code::ObjectFieldType, &path, message));
            }
        }
    }
}

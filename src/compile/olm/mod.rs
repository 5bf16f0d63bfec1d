//! Converts a bundle to the objects that OLM would create: those of the install strategy, and
//! shipped manifests.
//!
//! The reference is OLM v1's renderer (operator-controller, `rukpak/render`); `docs/deviations.md`
//! lists intended differences with reasons.

mod aggregate;
mod apiservice;
mod certificate;
mod definitions;
mod deployment;
mod overrides;
mod pod_annotations;
mod rbac;
mod targets;
mod validate;
mod webhook;
mod webhook_server;

pub use apiservice::{AUTH_READER, auth_reader_name};
pub use pod_annotations::is_descriptive;
pub use rbac::role_base;
pub(crate) use rbac::{binding, role};
use targets::Targets;
pub use targets::default_watch;

use crate::bundle::Bundle;
use crate::config::BundleConfig;
use crate::diag::Diagnostics;
use crate::ir::Unit;

/// Returns the objects that OLM would create, and the shipped ones as they are. Every error of the
/// bundle is reported; after one only shipped objects are returned, so that the passes can check
/// them.
///
/// CRDs are most of a bundle, so they and the other shipped objects are moved out of it. `namespace` is
/// that of the release, for comparing with watched namespaces.
pub fn lower(
    bundle: &mut Bundle,
    config: &BundleConfig,
    namespace: &str,
    diagnostics: &mut Diagnostics,
) -> Unit {
    let start = diagnostics.mark();
    validate::validate(bundle, diagnostics);
    definitions::validate(bundle, diagnostics);
    let targets = Targets::choose(&bundle.csv, config, namespace, diagnostics);
    let (mut crds, mut shipped) =
        (std::mem::take(&mut bundle.crds), std::mem::take(&mut bundle.objects));
    // Before the check for errors, so that its findings are reported together with those above.
    let servers = webhook_server::servers(bundle, config, diagnostics);
    let Some(targets) = targets.filter(|_| !diagnostics.has_errors_since(start)) else {
        // Return the shipped objects, so that their problems are reported too.
        return Unit { objects: shipped, ..Unit::default() };
    };

    // Cluster-wide names derive from that of the chart.
    let chart = config.name.as_str();
    let mut unit = Unit::default();
    let objects = &mut unit.objects;
    objects.extend(rbac::service_accounts(bundle, &shipped));
    objects.extend(rbac::permissions(bundle, &shipped, chart, &targets));
    if config.operator.aggregate_roles == Some(true) {
        objects.extend(aggregate::roles(bundle, &crds));
    }

    deployment::report_operator_condition(bundle, diagnostics);
    for entry in &bundle.csv.deployments {
        let server = webhook_server::of_deployment(&servers, &entry.name);
        let mut deployment = deployment::deployment(bundle, entry, &targets, server);
        // After the certificates, as OLM: the user's volumes replace the generated ones.
        overrides::apply(&config.pods, &mut deployment);
        objects.push(deployment);
    }

    for server in &servers {
        objects.push(server.service());
        objects.extend(server.certificate_objects());
        unit.values.extend(server.certificate_values());
        server.report_certificate(diagnostics);
    }
    objects.extend(webhook::configurations(bundle, &servers, &targets));
    objects.extend(apiservice::objects(bundle, chart, &servers));
    webhook::convert(&mut crds, &bundle.csv.webhooks, &servers);
    webhook_server::replace_shipped(&servers, &mut shipped, diagnostics);

    objects.append(&mut crds);
    objects.append(&mut shipped);
    unit
}

#[cfg(test)]
mod tests;

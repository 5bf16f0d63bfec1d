//! Kinds that the cluster may not have, and CRDs without their conversion webhook.

use super::few;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Object, Unit, Value};
use crate::kinds::provider;
use crate::overlay::Definitions;
use std::collections::BTreeMap;

/// API groups of kinds that a bundle may ship and Kubernetes does not have, with the filter that
/// leaves them out.
const FOREIGN: [(&str, &str); 3] = [
    ("monitoring.coreos.com", r#".apiVersion | startswith("monitoring.coreos.com/")"#),
    ("console.openshift.io", r#".kind | startswith("Console")"#),
    ("autoscaling.k8s.io", r#".kind == "VerticalPodAutoscaler""#),
];

/// Objects of such kinds, unless the chart brings the kind: a cluster without them refuses the
/// whole release.
pub(super) fn foreign(unit: &Unit, diagnostics: &mut Diagnostics) {
    let own = Definitions::of(unit.objects.iter());
    for (group, filter) in FOREIGN {
        let is_foreign = |o: &&Object| o.group() == group && own.of_object(o).is_none();
        let objects: Vec<&Object> = unit.objects.iter().filter(is_foreign).collect();
        let Some(first) = objects.first() else { continue };

        // One warning per group: a cluster either has the provider or none of its kinds.
        let who = provider(group).unwrap_or(group);
        let labels: Vec<String> = objects.iter().map(|object| object.label()).collect();
        let require = if labels.len() == 1 { "requires" } else { "require" };
        let message = format!("the chart has {}, which {require} {who}", few(&labels));
        let hint = format!(
            "if the cluster does not have it, exclude the objects, or Helm cannot install the \
                chart: exclude = ['{filter}']"
        );
        diagnostics.push(first.warning(Code::ForeignKind, message).hint(hint));
    }
}

/// Reports CRDs with a conversion webhook whose Service the chart does not have.
pub(super) fn conversion(unit: &Unit, diagnostics: &mut Diagnostics) {
    let services = unit.names("Service");
    let mut by_service: BTreeMap<(&str, &str), Vec<&Object>> = BTreeMap::new();
    for object in unit.of_kind("CustomResourceDefinition") {
        let service = ["spec", "conversion", "webhook", "clientConfig", "service"];
        let Some(service) = object.at(&service) else { continue };
        let text = |key: &str| service.get(key).and_then(Value::as_str);
        if let Some(name) = text("name").filter(|name| !services.contains(*name)) {
            // CRDs with one missing Service are one finding.
            let namespace = text("namespace").unwrap_or_default();
            by_service.entry((name, namespace)).or_default().push(object);
        }
    }

    for ((service, namespace), crds) in by_service {
        let names = few(crds.iter().map(|crd| crd.name()));
        let message = format!("Service/{service} should convert {names}, but is not in the chart");
        let hint = format!(
            "create the Service in namespace `{namespace}` to read objects of other versions than \
                the storage version; the CSV has no conversion webhook for it, so OLM behaves the \
                same"
        );
        let place = crds[0].place().path(".spec.conversion");
        let found = Diagnostic::warning(Code::ConversionWebhook, message).at(place);
        diagnostics.push(found.hint(hint));
    }
}

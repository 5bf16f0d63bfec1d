//! Fields that controllers of the cluster set, which would conflict with every later upgrade.

use super::Context;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::field_ownership::{Targets, keys_of};
use crate::ir::{Object, Release, Unit, path_of, truth, value_at};
use serde_json::Value as Json;

/// Drops fields whose value a controller replaces anyway, with a note unless they are empty, and
/// rejects other fields that a controller sets.
pub(super) fn controller_fields(unit: &mut Unit, _: &Context, diagnostics: &mut Diagnostics) {
    let targets = targets(unit);
    let values = unit.default_values();
    let release = Release { namespace: "namespace", values: &values };
    for object in &mut unit.objects {
        // Most objects have no such field, and CRDs are large to render.
        if !keys_of(object.kind()).any(|keys| object.at(keys).is_some()) {
            continue;
        }
        let Some(rendered) = release.object(object) else { continue };
        for (controller, _, steps) in targets.controlled(&rendered) {
            let path = path_of(&steps);
            let (label, place) = (object.label(), object.place_at(&path));
            let message = format!("{label} has `{path}`, but {}", controller.what);
            if !controller.is_without_effect {
                let error = Diagnostic::error(Code::ControllerOwnedField, message).at(place);
                diagnostics.push(error.hint(
                    "delete the field with a `[[bundle.patch]]` or in the source: `helm upgrade` of \
                        Helm 4 would conflict with the controller",
                ));
                continue;
            }

            object.remove(&steps);
            if value_at(&rendered, &steps).is_some_and(truth) {
                let note =
                    Diagnostic::note(Code::IgnoredField, format!("{message}; it is dropped"));
                diagnostics.push(note.at(place));
            }
        }
    }
}

/// Returns the objects that autoscalers and Services of the unit refer to.
pub(super) fn targets(unit: &Unit) -> Targets {
    let values = unit.default_values();
    let release = Release { namespace: "namespace", values: &values };
    let kinds = ["HorizontalPodAutoscaler", "ScaledObject", "Service"];
    let refers = |object: &&Object| kinds.contains(&object.kind());
    let found: Vec<Json> =
        unit.objects.iter().filter(refers).filter_map(|object| release.object(object)).collect();
    Targets::of(&found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::sample;

    /// Fields that a controller sets, with and without the reason why it does.
    const OBJECTS: &str = "
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: empty}, rules: [],
 aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'null'}, rules: null,
 aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: both},
 rules: [{apiGroups: [''], resources: [pods], verbs: [get]}],
 aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: plain}, rules: [],
 aggregationRule: null}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration,
 metadata: {name: injected, annotations: {cert-manager.io/inject-ca-from: a/b}},
 webhooks: [{name: a.b.c, clientConfig: {caBundle: Cg==}}, {name: d.e.f, clientConfig: {}}]}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration,
 metadata: {name: own}, webhooks: [{name: a.b.c, clientConfig: {caBundle: Cg==}}]}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: scaled}, spec: {replicas: 2}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: scaled}, spec: {replicas: 2}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: keda}, spec: {replicas: 2}}
---
{apiVersion: v1, kind: Endpoints, metadata: {name: selects}, subsets: [{addresses: [{ip: 10.0.0.1}]}]}
---
{apiVersion: v1, kind: Endpoints, metadata: {name: external}, subsets: [{addresses: [{ip: 10.0.0.1}]}]}
---
{apiVersion: v1, kind: Service, metadata: {name: selects}, spec: {selector: {app: a}}}
---
{apiVersion: v1, kind: Service, metadata: {name: external}, spec: {ports: [{port: 80}]}}
---
{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: scaler},
 spec: {scaleTargetRef: {name: keda}}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: scaler},
 spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: scaled}}}
";

    #[test]
    fn fields_of_controllers_are_dropped_or_rejected() {
        let mut unit = sample::bundle(OBJECTS);
        let mut diagnostics = Diagnostics::new();
        controller_fields(&mut unit, &Context::default(), &mut diagnostics);
        assert_eq!(
            sample::messages(&diagnostics),
            [
                "note: ClusterRole/both has `.rules`, but the ClusterRole aggregation controller sets \
                 it by `.aggregationRule`; it is dropped",
                "note: ValidatingWebhookConfiguration/injected has \
                 `.webhooks[0].clientConfig.caBundle`, but the CA bundle is injected by an \
                 annotation; it is dropped",
                "error: Deployment/scaled has `.spec.replicas`, but an autoscaler of the chart scales it",
                "error: Deployment/keda has `.spec.replicas`, but an autoscaler of the chart scales it",
                "error: Endpoints/selects has `.subsets`, but the Endpoints controller sets it by the \
                 selector of the Service",
            ]
        );
        let hint = "delete the field with a `[[bundle.patch]]` or in the source: `helm upgrade` of \
                    Helm 4 would conflict with the controller";
        let hints: Vec<&str> =
            diagnostics.iter().filter_map(|found| found.hint.as_deref()).collect();
        assert_eq!(hints, [hint; 3]);
        let kept = |keys: &[&str]| {
            let with = unit.objects.iter().filter(|object| object.at(keys).is_some());
            with.map(Object::name).collect::<Vec<_>>()
        };
        assert_eq!(kept(&["rules"]), ["plain"]);
        let bundles = unit.objects.iter().filter(|object| {
            Release::LITERAL
                .object(object)
                .is_some_and(|object| object.to_string().contains("caBundle"))
        });
        assert_eq!(bundles.map(Object::name).collect::<Vec<_>>(), ["own"]);
    }
}

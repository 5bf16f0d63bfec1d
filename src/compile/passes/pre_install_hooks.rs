//! Jobs that run before the operator is installed.

use super::Context;
use crate::diag::{Code, Diagnostics};
use crate::ir::{Object, Phase, Unit};
use std::collections::BTreeSet;

const HOOK: &str = "helm.sh/hook";

/// Turns Jobs and Pods of the phase `before` into hooks, which Helm waits for. Other objects of
/// this phase are no hooks: Helm installs CRDs first, and then by kind, so that namespaces,
/// accounts, settings and permissions exist before a Deployment; and a hook would be deleted and
/// created again on every upgrade.
pub(super) fn pre_install_hooks(unit: &mut Unit, _: &Context, diagnostics: &mut Diagnostics) {
    let made_with = unit.of_kind("ServiceAccount").filter(|account| !is_hook(account));
    let made_with: BTreeSet<String> = made_with.map(|account| account.name().to_owned()).collect();

    for object in &mut unit.objects {
        if object.phase != Phase::Before || !matches!(object.kind(), "Job" | "Pod") {
            continue;
        }
        if !is_hook(object) {
            hook(object);
        }

        // Helm runs hooks before it installs the release, so nothing of the release exists yet.
        let account = object.account();
        if made_with.contains(account) {
            let message = format!(
                "{object} runs before the chart is installed, but its ServiceAccount/{account} \
                            is installed later"
            );
            let hint = "give it its own ServiceAccount in an overlay, and annotate that and its \
                        permissions with `helm.sh/hook: pre-install,pre-upgrade` and a \
                        `helm.sh/hook-weight` below that of the Job; or set phase = \"with\"";
            diagnostics.push(object.error(Code::OverlayPhase, message).hint(hint));
        }
    }
}

fn is_hook(object: &Object) -> bool {
    object.metadata("annotations").is_some_and(|annotations| annotations.get(HOOK).is_some())
}

fn hook(object: &mut Object) {
    object.annotate(HOOK, "pre-install,pre-upgrade");
    // Helm's default, written down: a failed Job stays for `kubectl logs` until the next attempt.
    let annotations = object.annotations_mut();
    annotations.get_or_insert_with("helm.sh/hook-delete-policy", || "before-hook-creation".into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::sample;

    /// Returns what is reported about a Job that runs first, with these annotations and in a chart
    /// with this other object, and the hooks of the Job.
    fn first(annotations: &str, other: &str) -> (Vec<String>, String) {
        let mut unit = sample::overlay(&format!(
            "
apiVersion: batch/v1
kind: Job
metadata: {{name: migrate, annotations: {annotations}}}
spec: {{template: {{spec: {{serviceAccountName: migrate}}}}}}
---
{other}"
        ));
        unit.objects[0].phase = Phase::Before;
        let mut diagnostics = Diagnostics::new();
        pre_install_hooks(&mut unit, &Context::default(), &mut diagnostics);
        let annotations = unit.objects[0].metadata("annotations");
        let hooks = annotations.and_then(|map| map.get(HOOK)?.as_str()).unwrap_or_default();
        (sample::messages(&diagnostics), hooks.to_owned())
    }

    #[test]
    fn a_job_cannot_run_before_its_account_is_there() {
        let object = |kind: &str, annotations: &str| {
            let metadata = format!("{{name: migrate, annotations: {annotations}}}");
            format!("{{apiVersion: v1, kind: {kind}, metadata: {metadata}}}")
        };
        let (found, _) = first("{}", &object("ServiceAccount", "{}"));
        assert_eq!(
            found,
            ["error: Job/migrate runs before the chart is installed, but its \
              ServiceAccount/migrate is installed later"]
        );
        // A ServiceAccount that is a hook itself, and one that is not in the chart.
        for other in [
            object("ServiceAccount", "{helm.sh/hook: pre-install}"),
            object("ConfigMap", "{}"),
            object("ConfigMap", "{helm.sh/hook: pre-install}"),
        ] {
            assert!(first("{}", &other).0.is_empty(), "{other}");
        }
    }

    #[test]
    fn a_job_keeps_its_own_hooks() {
        assert_eq!(first("{}", "").1, "pre-install,pre-upgrade");
        assert_eq!(first("{helm.sh/hook: pre-install}", "").1, "pre-install");
    }
}

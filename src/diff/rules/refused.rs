//! Changes that the API server refuses: of immutable fields, and next to a default that it stored.

use super::{RuleContext, found, object, rules};
use crate::Finding;
use crate::field_ownership::{immutable, stored_default};

rules! {
    /// Immutable field changed.
    ///
    /// The API server rejects the update, and the upgrade fails half-way.
    IMMUTABLE "immutable-field" Breaking(UpgradeFails Delete)
        "Delete the object before the upgrade, which recreates it; expect downtime.";
    /// Change rejected because of a default that the API server stored.
    ///
    /// The API server added a field that the old chart does not have, such as `rollingUpdate` of a
    /// Deployment's strategy, and rejects it next to the new value. Server-side apply, the default
    /// of Helm 4, keeps fields that no manifest had, so the upgrade fails, also with
    /// `--force-conflicts` and with `null` in the manifest. Helm 3 and `--server-side=false` remove
    /// the field.
    DEFAULT "stored-default-refused" Breaking(UpgradeFails Delete)
        "With Helm 4, delete the object without its pods before the upgrade, which recreates it and adopts the pods.";
    /// Rollback rejected by the API server.
    ///
    /// The upgrade makes a ConfigMap or Secret immutable, or makes the API server add a field, such
    /// as `rollingUpdate` of a Deployment's strategy, which it rejects next to the old value. Helm
    /// 4 keeps such fields, so `helm rollback` fails, also with `--force-conflicts`.
    ROLLBACK "rollback-refused" Risky(UpgradeFails BackUp)
        "Before a rollback, delete the object (a workload without its pods: `kubectl delete --cascade=orphan`).";
}

/// Returns true if an immutable field changed, such as the selector of a workload: the new object
/// may not adopt the pods of the old one.
pub(crate) fn has_immutable_field(findings: &[&Finding]) -> bool {
    findings.iter().any(|finding| finding.rule.code == IMMUTABLE.code)
}

pub(super) fn findings(context: &RuleContext<'_, '_>) -> Vec<Finding> {
    let (Some(old), Some(new)) = (context.pair.old, context.pair.new) else { return Vec::new() };
    let id = &context.pair.id;
    // Renamed objects and most hooks are recreated.
    if object::is_recreated(new) || context.pair.old_id.as_ref() != Some(id) {
        return Vec::new();
    }

    let shape = context.shape();
    let forward = immutable(&id.kind, old, new, &shape);
    // An upgrade that is refused already needs no warning about its rollback.
    // The API server keeps the address of a Service, also `None`, if a manifest no longer has it.
    let is_kept = forward.is_some() || shape == ["spec", "clusterIP"];
    let back = immutable(&id.kind, new, old, &shape).filter(|_| !is_kept);
    let stored = |old, new, of: &str| {
        let field = stored_default(&id.kind, old, new, &shape)?;
        Some(format!("{field}: stored by the API server for the {of} chart, and rejected"))
    };
    let next = stored(old, new, "old").map(|reason| format!("{reason} with the new type"));
    let last = stored(new, old, "new").map(|reason| format!("{reason} with the old type"));
    let reasons = [(&IMMUTABLE, forward), (&DEFAULT, next), (&ROLLBACK, last), (&ROLLBACK, back)];
    reasons.into_iter().filter_map(|(rule, reason)| Some(found(rule, reason?))).collect()
}

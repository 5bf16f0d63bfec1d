//! Rules on CustomResourceDefinitions: versions, storage, names, conversion. Rules on schemas are in
//! [`super::crd_schema`]. They follow sigs.k8s.io/crdify, which OLM v1 runs before an upgrade.

use super::{PairContext, RuleContext, crd_schema, display_value, found, listed, rules};
use crate::identity::Pair;
use crate::path::Step;
use crate::read::{self, at, is_true, items};
use crate::tree::Edit;
use crate::{Class, Finding, Placement};
use serde_json::{Value as Json, json};

rules! {
    /// CustomResourceDefinition removed.
    ///
    /// The new version no longer serves this API. Deleting the CRD deletes all of its objects; Helm
    /// deletes CRDs in templates/ without `helm.sh/resource-policy: keep`, and keeps CRDs in crds/. Helm 3
    /// does not roll back to CRDs that it kept (`no CustomResourceDefinition with the name`): upgrade to
    /// the old chart in its place, with `--set crds.allowDowngrade=true`.
    REMOVED "crd-removed" Breaking(DataLost BackUp Fix)
        "Look for a replacement, and migrate or delete the objects before the CRD is deleted.";
    /// CustomResourceDefinition added.
    ///
    /// The new version serves an additional API.
    ADDED "crd-added" Info
        "If it is in crds/, create it before the upgrade, because `helm upgrade` does not. If it is a template, nothing.";
    /// Scope of an API changed.
    ///
    /// The scope of a CRD is immutable. The CRD must be deleted, with all of its objects.
    SCOPE "crd-scope-changed" Breaking(DataLost BackUp Fix)
        "Export the objects, delete the CRD, upgrade, and create the objects again.";
    /// Kind or plural of an API changed.
    ///
    /// The API server rejects the update: kind and plural of an established CRD are immutable.
    /// Clients use both, RBAC rules the plural.
    NAMES "crd-names-changed" Breaking(ApiRemoved Fix)
        "Change manifests, clients and RBAC rules that use the old name.";
    /// Served version of an API removed.
    ///
    /// Manifests and clients that use the version fail. The API server also rejects the new CRD
    /// while `status.storedVersions` contains the version.
    VERSION_REMOVED "crd-version-removed" Breaking(ApiRemoved Fix Storage)
        "Migrate manifests and clients to a version that both sides serve before the upgrade.";
    /// Storage version of an API removed.
    ///
    /// Objects in etcd have this version, and `status.storedVersions` contains it: the API server
    /// rejects the new CRD until all objects are stored in another version.
    STORED_REMOVED "crd-stored-version-removed" Breaking(DataLost BackUp Storage)
        "Before the upgrade, set another storage version, rewrite all objects (for example with the storage version migrator), and remove the old version from `status.storedVersions`.";
    /// Unserved version of an API removed.
    ///
    /// No client uses the version, but objects may still be stored in it: the API server rejects
    /// the new CRD while `status.storedVersions` contains it.
    UNSERVED_REMOVED "crd-unserved-version-removed" Risky(UpgradeFails Storage)
        "Check `status.storedVersions` of the CRD in every cluster. If it contains the version, rewrite all objects and remove the version before the upgrade.";
    /// Version of an API no longer served.
    ///
    /// Manifests and clients that use the version fail; stored objects can be read in other
    /// versions.
    NOT_SERVED "crd-version-not-served" Breaking(ApiRemoved Fix)
        "Migrate manifests and clients to a served version before the upgrade.";
    /// Storage version of an API changed.
    ///
    /// New writes use the new version; existing objects keep the old version until their next
    /// write. After that, the old operator may not understand them, so a rollback is not safe.
    STORAGE_MOVED "crd-storage-moved" Risky(Unavailable BackUp)
        "Back up the objects. Rewrite them after the upgrade, so that a later release can remove the old version.";
    /// Version of an API added.
    ///
    /// The API server serves an additional version.
    VERSION_ADDED "crd-version-added" Info
        "Nothing now; plan the migration.";
    /// Version of an API deprecated.
    ///
    /// Requests with the version return a warning, and a later release will remove it.
    DEPRECATED "crd-version-deprecated" Info
        "Plan the migration of manifests and clients to another version.";
    /// Conversion between versions changed.
    ///
    /// While the conversion webhook is unavailable, objects cannot be read or written in versions
    /// other than the storage version.
    CONVERSION "crd-conversion-changed" Risky(Unavailable Watch)
        "Check that the webhook's Service and certificate exist before the CRD is applied.";
    /// Conversion webhook between versions removed.
    ///
    /// Without it, the API server changes only `apiVersion`: fields that differ between the
    /// versions are pruned or rejected when an object is read or written in another version than it
    /// is stored in.
    CONVERSION_REMOVED "crd-conversion-removed" Breaking(DataLost Fix)
        "Migrate all objects and clients to the storage version before the upgrade.";
    /// Short name or singular of an API removed.
    ///
    /// `kubectl` commands and scripts with the name fail. The API itself is the same.
    SHORT_NAME "crd-short-name-removed" Risky(ApiRemoved)
        "Change the commands to the plural.";
    /// Selectable field of an API removed.
    ///
    /// The API server rejects field selectors with the field.
    SELECTABLE "crd-selectable-field-removed" Breaking(ApiRemoved Fix)
        "Change clients that select by the field.";
    /// Scale subresource of an API changed.
    ///
    /// Autoscalers read and write other fields, or do not find the pods without a label selector.
    SCALE "crd-scale-changed" Risky(ApiRemoved)
        "Check HorizontalPodAutoscalers that scale objects of the API.";
    /// Unknown fields are pruned.
    ///
    /// The API server removes unknown fields of an object on its next write.
    PRESERVE "crd-unknown-fields-pruned" Risky(DataLost BackUp)
        "Look for fields in your objects that the schema does not have.";
    /// Subresource of an API removed.
    ///
    /// Clients that use the status or scale subresource fail.
    SUBRESOURCE "crd-subresource-removed" Breaking(ApiRemoved Fix)
        "Check which controllers and autoscalers use it.";
}

pub(super) fn add_findings(context: &RuleContext<'_, '_>, findings: &mut Vec<Finding>) {
    let edit = context.edit;
    let finding = match (context.shape().as_slice(), &edit.old, &edit.new) {
        ([], Some(old), None) => found(&REMOVED, removed(context, old)),
        ([], None, Some(new)) => found(&ADDED, format!("new CRD, serves {}", served(new))),
        (["spec", "names", "singular"], Some(_), _) => found(&SHORT_NAME, context.change()),
        // cert-manager and operators write the CA bundle into the CRD.
        (["spec", "conversion", rest @ ..], _, _) if rest.last() != Some(&"caBundle") => {
            conversion(context)
        }
        (["spec", "versions", "[]", "schema", ..], _, _)
            if matches!(context.steps().get(2), Some(Step::Item(_))) =>
        {
            return crd_schema::add_findings(context, findings);
        }
        (["spec", "versions", "[]", rest @ ..], _, _) => {
            return findings.extend(version(context, rest));
        }
        _ => return,
    };
    findings.push(finding);
}

/// Returns the names of the served versions as a list.
fn served(crd: &Json) -> String {
    let versions = items(crd, &["spec", "versions"]).iter();
    let served = versions.filter(|version| is_true(*version, &["served"]));
    let names = served.filter_map(|version| version.get("name")).map(display_value);
    listed(names, 4)
}

/// Returns the reason for a removed CRD. What happens to it depends on where the old chart has it.
fn removed(context: &RuleContext<'_, '_>, old: &Json) -> String {
    let chart = context.sides.old.chart.as_ref();
    let placement = chart.and_then(|chart| chart.crds.get(&context.pair.id.name));
    let fate = match (placement, super::object::is_kept(old)) {
        _ if chart.is_none() => "",
        (Some(Placement::Templates), false) => "; Helm deletes it, with all objects of the API",
        _ => "; Helm keeps it in the cluster without a controller",
    };
    format!("CRD removed, served {}{fate}", served(old))
}

/// Returns the finding for a change of `spec.conversion`.
fn conversion(context: &RuleContext<'_, '_>) -> Finding {
    let [old, new] = [context.pair.old, context.pair.new].map(strategy);
    let reason = if old == new {
        format!("settings of conversion strategy `{new}` changed")
    } else {
        format!("conversion strategy `{old}` → `{new}`")
    };
    // With one version there is nothing to convert.
    let converts = items(context.pair.new, &["spec", "versions"]).len() > 1;
    let is_lost = converts && old == "Webhook" && new != "Webhook";
    found(if is_lost { &CONVERSION_REMOVED } else { &CONVERSION }, reason)
}

/// Returns the strategy of conversion between the versions of a CRD.
fn strategy(crd: Option<&Json>) -> &str {
    // The default of apiextensions.k8s.io/v1.
    at(crd, &["spec", "conversion", "strategy"]).and_then(Json::as_str).unwrap_or("None")
}

/// Returns the findings for stored objects that the API server reads as objects of another storage
/// version: without a webhook that converts them, as if the old storage version had become the new one.
fn of_stored_objects(context: &RuleContext<'_, '_>, name: &str) -> Vec<Finding> {
    let stored = |crd: Option<&Json>| {
        let mut versions = items(crd, &["spec", "versions"]).iter();
        let mut version = versions.find(|version| is_true(*version, &["storage"]))?.clone();
        version["name"] = json!("stored");
        Some(json!({"spec": {"versions": [version]}}))
    };
    let sides = (stored(context.pair.old), stored(context.pair.new));
    let (Some(old), Some(new)) = &sides else { return Vec::new() };
    if strategy(context.pair.new) != "None" {
        return Vec::new();
    }

    let pair = Pair { old: Some(old), new: Some(new), ..context.pair.clone() };
    let (edits, _) = crate::effective_edits(&pair);
    let of = PairContext::new(context.sides, &pair, &edits);
    let mut findings = Vec::new();
    let in_schema = |edit: &&Edit| edit.path.keys().contains(&"openAPIV3Schema");
    for edit in edits.iter().filter(in_schema) {
        crd_schema::add_findings(&RuleContext { edit, of: &of }, &mut findings);
    }
    findings.retain(|finding| finding.rule.class != Class::Info);
    findings
        .iter_mut()
        .for_each(|finding| finding.reason += &format!(", in stored objects read as {name}"));
    findings
}

/// Returns the findings for an edit of a version.
fn version(context: &RuleContext<'_, '_>, rest: &[&str]) -> Vec<Finding> {
    let edit = context.edit;
    let Some(step @ Step::Item(_)) = context.steps().get(2) else { return Vec::new() };
    let name = display_value(&Json::String(step.label()));
    let stored = || {
        let moved = found(&STORAGE_MOVED, format!("storage version is now {name}"));
        [vec![moved], of_stored_objects(context, &name)].concat()
    };
    let it = |rule, predicate: &str| found(rule, format!("{name} {predicate}"));

    let finding = match (rest, &edit.old, &edit.new) {
        // The API server rejects a CRD without a version that is in its `status.storedVersions`.
        ([], Some(old), None) if is_true(old, &["storage"]) => {
            it(&STORED_REMOVED, "was the storage version")
        }
        ([], Some(old), None) if is_true(old, &["served"]) => it(&VERSION_REMOVED, "was served"),
        ([], Some(_), None) => {
            it(&UNSERVED_REMOVED, "was not served, but objects may be stored in it")
        }
        ([], None, Some(new)) => {
            let served = if is_true(new, &["served"]) { "" } else { ", not served" };
            let mut findings = vec![found(&VERSION_ADDED, format!("new version {name}{served}"))];
            if is_true(new, &["storage"]) {
                findings.extend(stored());
            }
            return findings;
        }
        (["served"], Some(Json::Bool(true)), _) => it(&NOT_SERVED, "is no longer served"),
        // The other version loses the flag in the same upgrade; one finding is enough.
        (["storage"], _, Some(Json::Bool(true))) => return stored(),
        (["deprecated"], _, Some(Json::Bool(true))) => it(&DEPRECATED, "is deprecated"),
        (["deprecationWarning"], ..) => found(&DEPRECATED, context.change()),
        // All subresources, or one of them.
        (["subresources", one @ ..], Some(old), None) if one.len() <= 1 => {
            let all = read::entries(old, &[]).map(|(key, _)| key.as_str());
            let names: Vec<&str> = if one.is_empty() { all.collect() } else { one.to_vec() };
            found(&SUBRESOURCE, format!("{name}: subresource {} removed", listed(&names, 3)))
        }
        (["subresources", "scale", ..], Some(_), _) => found(&SCALE, context.change()),
        (["selectableFields"] | ["selectableFields", "[]"], Some(_), None) => {
            found(&SELECTABLE, context.change())
        }
        _ => return Vec::new(),
    };
    vec![finding]
}

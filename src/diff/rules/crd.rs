//! Rules on CustomResourceDefinitions: versions, storage, names, conversion. Rules on schemas are in
//! [`super::crd_schema`]. They follow sigs.k8s.io/crdify, which OLM v1 runs before an upgrade.

use super::fields::plain;
use super::{RuleContext, at, crd_schema, display_value, found, listed, not_in, rules};
use crate::path::Step;
use crate::{Finding, Placement};
use serde_json::Value as Json;

rules! {
    /// CustomResourceDefinition removed.
    ///
    /// The new version no longer serves this API. Deleting the CRD deletes all of its objects; Helm
    /// deletes CRDs in templates/ without `helm.sh/resource-policy: keep`, and keeps CRDs in crds/.
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
    let shape = context.shape();
    match (shape.as_slice(), &edit.old, &edit.new) {
        ([], Some(_), None) => {
            let served = versions(edit.old.as_ref());

            // What happens to the CRD depends on where the old chart has it.
            let chart = context.sides.old.chart.as_ref();
            let templates = chart.and_then(|chart| chart.crds.get(&context.pair.id.name))
                == Some(&Placement::Templates);
            let kept = context.pair.old.is_some_and(super::object::is_kept);
            let fate = match (templates, kept) {
                _ if chart.is_none() => "",
                (true, false) => "; Helm deletes it, with all objects of the API",
                _ => "; Helm keeps it in the cluster without a controller",
            };
            findings
                .push(found(&REMOVED, format!("CRD removed, served {}{fate}", listed(&served, 4))));
        }
        ([], None, Some(_)) => {
            let served = versions(edit.new.as_ref());
            findings.push(found(&ADDED, format!("new CRD, serves {}", listed(&served, 4))));
            let versions = edit.new.as_ref().and_then(|crd| at(crd, &["spec", "versions"]));
            let versions = versions.and_then(Json::as_array).into_iter().flatten();
            findings.extend(versions.flat_map(crd_schema::refused_defaults));
        }
        (["spec", "scope"], Some(old), Some(new)) => {
            findings.push(found(&SCOPE, format!("spec.scope: {} → {}", plain(old), plain(new))));
        }
        (["spec", "group"] | ["spec", "names", "kind" | "plural"], Some(_), Some(_)) => {
            findings.push(found(&NAMES, context.change()));
        }
        (["spec", "names", "shortNames"], Some(old), new) => {
            let gone = not_in(old, new.as_ref().unwrap_or(&Json::Null));
            findings.extend(gone.into_iter().map(|name| {
                found(&SHORT_NAME, format!("spec.names.shortNames[{}]: removed", plain(name)))
            }));
        }
        (["spec", "names", "singular"], Some(_), _) => {
            findings.push(found(&SHORT_NAME, context.change()));
        }
        // Only CRDs that came from v1beta1 have it.
        (["spec", "preserveUnknownFields"], Some(Json::Bool(true)), _) => {
            findings.push(found(&PRESERVE, "`spec.preserveUnknownFields` is no longer true"));
        }
        // cert-manager and operators write the CA bundle into the CRD.
        (["spec", "conversion", rest @ ..], _, _) if rest.last() != Some(&"caBundle") => {
            let strategy = |side: Option<&Json>| side.and_then(Json::as_str) == Some("Webhook");
            let keys = ["spec", "conversion", "strategy"];
            let gone = strategy(context.old_at(&keys)) && !strategy(context.new_at(&keys));
            let versions = context.new_at(&["spec", "versions"]).and_then(Json::as_array);
            let rule = match versions {
                // With one version there is nothing to convert.
                Some(versions) if gone && versions.len() > 1 => &CONVERSION_REMOVED,
                _ => &CONVERSION,
            };
            findings.push(found(rule, conversion(context)));
        }
        (["spec", "versions", "[]", rest @ ..], _, _) => version(context, rest, findings),
        _ => {}
    }
}

/// Returns the names of the served versions.
fn versions(crd: Option<&Json>) -> Vec<String> {
    let list = crd.and_then(|crd| at(crd, &["spec", "versions"])).and_then(Json::as_array);
    list.into_iter()
        .flatten()
        .filter(|version| version.get("served").and_then(Json::as_bool).unwrap_or_default())
        .filter_map(|version| version.get("name"))
        .map(display_value)
        .collect()
}

/// Returns the reason for a change of `spec.conversion`.
fn conversion(context: &RuleContext<'_, '_>) -> String {
    let strategy = |found: Option<&Json>| {
        found.and_then(Json::as_str).map_or("None".to_owned(), str::to_owned)
    };
    let keys = ["spec", "conversion", "strategy"];
    let (old, new) = (strategy(context.old_at(&keys)), strategy(context.new_at(&keys)));
    if old == new {
        format!("settings of conversion strategy `{new}` changed")
    } else {
        format!("conversion strategy `{old}` → `{new}`")
    }
}

/// Adds the findings for an edit of a version.
fn version(context: &RuleContext<'_, '_>, rest: &[&str], findings: &mut Vec<Finding>) {
    let edit = context.edit;
    let Some(Step::Item(name)) = context.steps().get(2) else { return };
    let name = display_value(&Json::String(Step::Item(name.clone()).label()));
    let flag = |value: Option<&Json>, key: &str| {
        value.and_then(|v| v.get(key)).and_then(Json::as_bool).unwrap_or_default()
    };

    match (rest, &edit.old, &edit.new) {
        ([], Some(old), None) => {
            // The API server rejects a CRD without a version that is in its
            // `status.storedVersions`.
            if flag(Some(old), "storage") {
                findings.push(found(&STORED_REMOVED, format!("{name} was the storage version")));
            } else if flag(Some(old), "served") {
                findings.push(found(&VERSION_REMOVED, format!("{name} was served")));
            } else {
                let reason = format!("{name} was not served, but objects may be stored in it");
                findings.push(found(&UNSERVED_REMOVED, reason));
            }
        }
        ([], None, Some(new)) => {
            let served = if flag(Some(new), "served") { "" } else { ", not served" };
            findings.push(found(&VERSION_ADDED, format!("new version {name}{served}")));
            findings.extend(crd_schema::refused_defaults(new));
            if flag(Some(new), "storage") {
                findings.push(found(&STORAGE_MOVED, format!("storage version is now {name}")));
            }
        }
        (["served"], Some(Json::Bool(true)), _) => {
            findings.push(found(&NOT_SERVED, format!("{name} is no longer served")));
        }
        // The other version loses the flag in the same upgrade; one finding is enough.
        (["storage"], _, Some(Json::Bool(true))) => {
            findings.push(found(&STORAGE_MOVED, format!("storage version is now {name}")));
        }
        (["deprecated"], _, Some(Json::Bool(true))) => {
            findings.push(found(&DEPRECATED, format!("{name} is deprecated")));
        }
        // The message is the vendor's text, and the values show it.
        (["deprecationWarning"], old, new) => {
            let change = match (old, new) {
                (None, _) => "added",
                (_, None) => "removed",
                _ => "changed",
            };
            findings.push(found(&DEPRECATED, format!("{}: {change}", context.label())));
        }
        // All subresources, or one of them.
        (["subresources", ..], Some(old), None) if rest.len() <= 2 => {
            let names: Vec<String> = match rest {
                ["subresources"] => {
                    old.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
                }
                _ => rest.iter().skip(1).map(|key| (*key).to_owned()).collect(),
            };
            let reason = format!("{name}: subresource {} removed", listed(&names, 3));
            findings.push(found(&SUBRESOURCE, reason));
        }
        (["subresources", "scale", ..], Some(_), _) => {
            findings.push(found(&SCALE, context.change()));
        }
        (["selectableFields"] | ["selectableFields", "[]"], Some(_), None) => {
            findings.push(found(&SELECTABLE, context.change()));
        }
        (["schema", ..], _, _) => crd_schema::add_findings(context, findings),
        _ => {}
    }
}

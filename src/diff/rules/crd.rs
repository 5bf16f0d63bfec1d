//! CustomResourceDefinitions: versions, storage, names, conversion. What their schemas say is in
//! [`super::crd_schema`]. The model is sigs.k8s.io/crdify, which OLM v1 asks before an upgrade.

use super::{Scene, at, crd_schema, found, listed, rules, spoken};
use crate::diff::path::Step;
use crate::diff::{Finding, Placement};
use serde_json::Value as Json;

rules! {
    REMOVED "crd-removed" Breaking
        "A CustomResourceDefinition is gone."
        "The new version no longer knows this API. Deleting the definition deletes every object of it; Helm does so for a CRD in templates/ that has no `helm.sh/resource-policy: keep`, and leaves one that is in crds/."
        "Find out what replaces the API, and move or delete its objects before the definition goes.";
    ADDED "crd-added" Info
        "A CustomResourceDefinition is new."
        "The new version serves an API that the old one did not."
        "Where it is in crds/, create it before the upgrade, since `helm upgrade` does not. Where it is a template, nothing.";
    SCOPE "crd-scope-changed" Breaking
        "The scope of an API changed."
        "The scope of a CRD cannot be changed. The definition has to be deleted, and with it all of its objects."
        "Export the objects, delete the CRD, upgrade, and create the objects again.";
    NAMES "crd-names-changed" Breaking
        "An API has other names."
        "Clients find an API by its kind and its plural; RBAC rules name the plural."
        "Change manifests, clients and RBAC rules that use the old name.";
    VERSION_REMOVED "crd-version-removed" Breaking
        "A version of an API is gone."
        "Manifests and clients that ask for the version fail. The API server also refuses the new definition while `status.storedVersions` names the version."
        "Move manifests and clients to a version that is served by both sides, before the upgrade.";
    STORED_REMOVED "crd-stored-version-removed" Breaking
        "The version in which objects are stored is gone."
        "Objects in etcd are in this version, and `status.storedVersions` names it: the API server refuses the new definition until every object is stored in another version."
        "Before the upgrade, make another version the stored one, rewrite all objects (for example with the storage version migrator), and take the old version out of `status.storedVersions`.";
    UNSERVED_REMOVED "crd-unserved-version-removed" Risky
        "A version of an API that was not served is gone."
        "Nobody asks for the version, but it may have been kept because objects were once stored in it: the API server refuses the new definition while `status.storedVersions` names it."
        "Look at `status.storedVersions` of the CRD in every cluster. Where it names the version, rewrite all objects, and take it out, before the upgrade.";
    NOT_SERVED "crd-version-not-served" Breaking
        "A version of an API is no longer served."
        "Manifests and clients that ask for the version fail, although stored objects can still be read."
        "Move manifests and clients to a served version before the upgrade.";
    STORAGE_MOVED "crd-storage-moved" Risky
        "Objects are stored in another version."
        "New writes are stored in the new version; old objects stay in the old one until they are written again. After that the old program may not understand them, so going back is not safe."
        "Back up the objects. Afterwards rewrite them, so that a later version may drop the old one.";
    VERSION_ADDED "crd-version-added" Info
        "A version of an API is new."
        "The API is served in one version more."
        "Nothing now; plan to move to it.";
    DEPRECATED "crd-version-deprecated" Info
        "A version of an API is deprecated."
        "Requests for the version get a warning, and a later release will drop it."
        "Plan to move manifests and clients to another version.";
    CONVERSION "crd-conversion-changed" Risky
        "Objects are converted between versions in another way."
        "While the webhook that converts does not answer, objects cannot be read or written in versions other than the stored one."
        "Check that the webhook's Service and certificate are there before the CRD is applied.";
    PRESERVE "crd-unknown-fields-pruned" Risky
        "Fields that the schema does not know are no longer kept."
        "The API server drops unknown fields of an object when it is next written."
        "Look for fields in your objects that the schema does not have.";
    SUBRESOURCE "crd-subresource-removed" Breaking
        "An API lost a subresource."
        "Clients that write the status or scale through the subresource fail."
        "Check which controllers and autoscalers use it.";
}

pub(super) fn judge(scene: &Scene<'_, '_>, findings: &mut Vec<Finding>) {
    let edit = scene.edit;
    let shape = scene.shape();
    match (shape.as_slice(), &edit.old, &edit.new) {
        ([], Some(_), None) => {
            let served = versions(edit.old.as_ref());
            let chart = scene.sides.old.chart.as_ref();
            let templates = chart.and_then(|chart| chart.crds.get(&scene.pair.id.name))
                == Some(&Placement::Templates);
            let kept = scene.pair.old.is_some_and(super::object::is_kept);
            let fate = match (templates, kept) {
                _ if chart.is_none() => "",
                (true, false) => "; Helm deletes it, and with it every object of the API",
                _ => "; Helm leaves it in the cluster, where nobody looks after it",
            };
            findings.push(found(&REMOVED, format!("it served {}{fate}", listed(&served, 4))));
        }
        ([], None, Some(_)) => {
            let served = versions(edit.new.as_ref());
            findings.push(found(&ADDED, format!("it serves {}", listed(&served, 4))));
        }
        (["spec", "scope"], Some(old), Some(new)) => {
            findings.push(found(&SCOPE, format!("{} became {}", spoken(old), spoken(new))));
        }
        (["spec", "group"] | ["spec", "names", "kind" | "plural"], Some(old), Some(new)) => {
            findings.push(found(&NAMES, format!("{} became {}", spoken(old), spoken(new))));
        }
        (["spec", "preserveUnknownFields"], Some(Json::Bool(true)), _) => {
            findings.push(found(&PRESERVE, "`spec.preserveUnknownFields` is no longer true"));
        }
        (["spec", "conversion", rest @ ..], _, _) if rest.last() != Some(&"caBundle") => {
            findings.push(found(&CONVERSION, conversion(scene)));
        }
        (["spec", "versions", "[]", rest @ ..], _, _) => version(scene, rest, findings),
        _ => {}
    }
}

/// Names of the served versions.
fn versions(crd: Option<&Json>) -> Vec<String> {
    let list = crd.and_then(|crd| at(crd, &["spec", "versions"])).and_then(Json::as_array);
    list.into_iter()
        .flatten()
        .filter(|version| version.get("served").and_then(Json::as_bool).unwrap_or_default())
        .filter_map(|version| version.get("name"))
        .map(spoken)
        .collect()
}

fn conversion(scene: &Scene<'_, '_>) -> String {
    let strategy = |found: Option<&Json>| {
        found.and_then(Json::as_str).map_or("None".to_owned(), str::to_owned)
    };
    let keys = ["spec", "conversion", "strategy"];
    let (old, new) = (strategy(scene.old_at(&keys)), strategy(scene.new_at(&keys)));
    if old == new {
        format!("strategy `{new}` stays, and its settings changed")
    } else {
        format!("strategy `{old}` became `{new}`")
    }
}

fn version(scene: &Scene<'_, '_>, rest: &[&str], findings: &mut Vec<Finding>) {
    let edit = scene.edit;
    let Some(Step::Item(name)) = scene.steps().get(2) else { return };
    let name = spoken(&Json::String(Step::Item(name.clone()).label()));
    let flag = |value: Option<&Json>, key: &str| {
        value.and_then(|v| v.get(key)).and_then(Json::as_bool).unwrap_or_default()
    };
    match (rest, &edit.old, &edit.new) {
        ([], Some(old), None) => {
            if flag(Some(old), "storage") {
                findings.push(found(&STORED_REMOVED, format!("objects were stored as {name}")));
            } else if flag(Some(old), "served") {
                findings.push(found(&VERSION_REMOVED, format!("{name} was served")));
            } else {
                let reason = format!("{name} was not served, but may be a stored version");
                findings.push(found(&UNSERVED_REMOVED, reason));
            }
        }
        ([], None, Some(new)) => {
            findings.push(found(&VERSION_ADDED, format!("{name} is new")));
            if flag(Some(new), "storage") {
                findings.push(found(&STORAGE_MOVED, format!("objects are now stored as {name}")));
            }
        }
        (["served"], Some(Json::Bool(true)), _) => {
            findings.push(found(&NOT_SERVED, format!("{name} is no longer served")));
        }
        (["storage"], _, Some(Json::Bool(true))) => {
            findings.push(found(&STORAGE_MOVED, format!("objects are now stored as {name}")));
        }
        (["deprecated"], _, Some(Json::Bool(true))) => {
            findings.push(found(&DEPRECATED, format!("{name} is deprecated")));
        }
        (["subresources", ..], Some(old), None) if rest.len() <= 2 => {
            let names: Vec<String> = match rest {
                ["subresources"] => {
                    old.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
                }
                _ => rest.iter().skip(1).map(|key| (*key).to_owned()).collect(),
            };
            let reason = format!("{name} has no subresource {} any more", listed(&names, 3));
            findings.push(found(&SUBRESOURCE, reason));
        }
        (["schema", ..], _, _) => crd_schema::judge(scene, findings),
        _ => {}
    }
}

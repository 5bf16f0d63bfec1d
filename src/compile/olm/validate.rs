//! Validation of a bundle, independent of the configuration.
//!
//! OLM: operator-controller, registryv1 validators, in their order; messages follow OLM's where
//! users would search for them.

use crate::bundle::Bundle;
use crate::diag::{Code, Diagnostic, Diagnostics, Place, listed};
use crate::fields::{list, texts_of};
use crate::ir::{Map, Object, Value, dns_subdomain};
use crate::source::Reference;
use indexmap::IndexMap;

/// Runs every check and reports all findings.
pub(super) fn validate(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    deployment_names(bundle, diagnostics);
    unique_crds(bundle, diagnostics);
    owned_crds_exist(bundle, diagnostics);
    crd_versions(bundle, diagnostics);
    mismatches(bundle, diagnostics);
}

/// Annotations of a CSV and of pods that OLM writes or reads.
const ANNOTATIONS: [&str; 5] = [
    "olm.operatorGroup",
    "olm.operatorNamespace",
    "olm.properties",
    "olm.skipRange",
    "olm.targetNamespaces",
];

/// Reports problems that operator catalogs reject, but that do not affect the chart.
///
/// OLM: operator-framework/api, validators of CSVs and bundles.
fn mismatches(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    let csv = &bundle.csv;
    let mismatch =
        |message: String, place: Place| Diagnostic::warning(Code::CsvMismatch, message).at(place);
    let name = csv.name();
    // OLM also writes the name into labels, whose values have at most 63 characters.
    if let Some(why) = dns_subdomain(name).err().or((name.len() > 63).then_some("it is too long")) {
        let message = format!("invalid name `{name}` of the ClusterServiceVersion: {why}");
        let found = mismatch(message, csv.place(".metadata.name"));
        diagnostics.push(found.hint(
            "no action needed for the chart, which does not use the name; OLM could not install \
                the bundle",
        ));
    }
    // Without either, it is a bundle of CRDs.
    let accounts = csv.permissions.iter().chain(&csv.cluster_permissions).count();
    if csv.deployments.is_empty() && accounts > 0 {
        let message = "the ClusterServiceVersion has permissions but no Deployment".to_owned();
        let hint = "check the spelling and place of `.spec.install.spec.deployments`";
        diagnostics.push(mismatch(message, csv.place(".spec.install.spec")).hint(hint));
    }
    for owned in &csv.owned_crds {
        let Some(crd) = bundle.crds.iter().find(|crd| crd.name() == owned.name) else { continue };
        let kind = crd.at(&["spec", "names", "kind"]).and_then(Value::as_str).unwrap_or_default();
        let versions: Vec<&str> = texts_of(crd.at(&["spec", "versions"]), "name").collect();
        let (key, told, known) = if !owned.kind.is_empty() && owned.kind != kind {
            ("kind", &owned.kind, kind.to_owned())
        } else if !owned.version.is_empty()
            && !versions.is_empty()
            && !versions.contains(&owned.version.as_str())
        {
            ("version", &owned.version, versions.join(", "))
        } else {
            continue;
        };
        let message =
            format!("the CSV owns {key} {told} of `{}`, but the CRD has {known}", owned.name);
        let found = mismatch(message, csv.place(&format!("{}.{key}", owned.path)));
        diagnostics.push(found.hint("fix the CSV: the CRD takes precedence"));
    }
    let images = csv.related_images.iter().map(|(_, image)| image.as_str()).enumerate();
    let invalid: Vec<(usize, &str)> =
        images.filter(|(_, image)| !Reference::is_valid(image)).collect();
    if let Some((first, _)) = invalid.first() {
        let images: Vec<String> = invalid.iter().map(|(_, image)| format!("`{image}`")).collect();
        let what = match images.as_slice() {
            [image] => {
                format!("the related image {image} cannot be mirrored: not a valid image reference")
            }
            images => {
                let images = listed(images, 4);
                format!("related images cannot be mirrored: not valid references: {images}")
            }
        };
        diagnostics.push(mismatch(what, csv.place(&format!(".spec.relatedImages[{first}].image"))));
    }
    let annotations = csv.object.at(&["metadata", "annotations"]).and_then(Value::as_map);
    for key in annotations.into_iter().flat_map(Map::keys) {
        let meant = ANNOTATIONS.iter().find(|known| known.eq_ignore_ascii_case(key));
        if let Some(meant) = meant.filter(|meant| *meant != key) {
            let message = format!("unknown annotation `{key}`: OLM reads `{meant}`");
            let found = mismatch(message, csv.place(&format!(".metadata.annotations[{key:?}]")));
            diagnostics.push(found.hint("fix the CSV: annotations are case-sensitive"));
        }
    }
}

fn deployment_names(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    let mut seen: IndexMap<&str, String> = IndexMap::new();
    let csv = &bundle.csv;
    for (index, deployment) in csv.deployments.iter().enumerate() {
        let path = format!(".spec.install.spec.deployments[{index}].name");
        let name = deployment.name.as_str();
        if let Err(why) = dns_subdomain(name) {
            let message = format!("invalid strategy deployment name `{name}`: {why}");
            let hint = "rename it: the API server would reject the Deployment";
            diagnostics.push(csv.error(Code::InvalidName, &path, message).hint(hint));
        }

        let first = seen.entry(name).or_insert_with(|| path.clone());
        if *first != path {
            let message = format!("the CSV has two strategy deployments named `{name}`");
            let found = csv.error(Code::DuplicateObject, &path, message);
            let found = found.related(csv.place(first), "first defined here");
            diagnostics.push(found.hint("rename or remove one of them"));
        }
    }
}

fn unique_crds(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    let mut seen: IndexMap<&str, &Object> = IndexMap::new();
    for crd in &bundle.crds {
        let first = *seen.entry(crd.name()).or_insert(crd);
        if !std::ptr::eq(first, crd) {
            let message =
                format!("bundle contains duplicate custom resource definition `{}`", crd.name());
            let found = crd.error(Code::DuplicateObject, message);
            let found = found.related(first.place(), "first defined here");
            diagnostics.push(found.hint("remove one of the files from the bundle"));
        }
    }
}

fn owned_crds_exist(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    for owned in &bundle.csv.owned_crds {
        if !bundle.crds.iter().any(|crd| crd.name() == owned.name) {
            let message = format!(
                "the CSV owns the custom resource definition `{}`, which is not in the bundle",
                owned.name
            );
            let hint = "add the CRD to the manifests directory, or list it under `required` if \
                    another operator installs it";
            let found = bundle.csv.error(Code::OwnedCrdMissing, &owned.path, message);
            diagnostics.push(found.hint(hint));
        }
    }
}

fn crd_versions(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    for crd in &bundle.crds {
        let version = crd.api_version();
        // OLM v1 decodes v1beta1 as v1, and installs a CRD without versions.
        let (path, message, hint) = if version != "apiextensions.k8s.io/v1" {
            let message = format!(
                "CRD `{}` has unsupported apiVersion `{version}`: only apiextensions.k8s.io/v1 can \
                    be installed",
                crd.name()
            );
            let hint = "use a newer version of this operator: Kubernetes 1.22 removed v1beta1";
            (".apiVersion", message, hint)
        } else if list(crd.at(&["spec", "versions"])).is_empty() {
            let message = format!("the CRD `{}` has no versions", crd.name());
            (".spec.versions", message, "fix the CRD: the API server would reject it")
        } else {
            continue;
        };
        let found = Diagnostic::error(Code::CrdApiVersion, message);
        diagnostics.push(found.at(crd.place().path(path)).hint(hint));
    }
}

//! What makes a bundle wrong, whatever it is compiled for.
//!
//! OLM: operator-controller, registryv1 validators, in their order; messages follow theirs where
//! a person would search for them.

use crate::bundle::Bundle;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Object, Value};
use indexmap::IndexMap;

/// Runs every check and reports all findings.
pub(super) fn validate(bundle: &Bundle) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    deployment_names(bundle, &mut diagnostics);
    unique_crds(bundle, &mut diagnostics);
    owned_crds_exist(bundle, &mut diagnostics);
    crd_versions(bundle, &mut diagnostics);
    diagnostics
}

fn deployment_names(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    let mut seen: IndexMap<&str, String> = IndexMap::new();
    for (index, deployment) in bundle.csv.deployments.iter().enumerate() {
        let path = format!(".spec.install.spec.deployments[{index}].name");
        let name = deployment.name.as_str();
        if let Err(why) = dns_subdomain(name) {
            diagnostics.push(
                Diagnostic::error(
                    Code::InvalidName,
                    format!("invalid strategy deployment name `{name}`: {why}"),
                )
                .at(bundle.csv.place(&path))
                .hint("the API server would refuse the Deployment"),
            );
        }
        if let Some(first) = seen.insert(name, path.clone()) {
            diagnostics.push(
                Diagnostic::error(
                    Code::DuplicateDeployment,
                    format!("the CSV has two strategy deployments named `{name}`"),
                )
                .at(bundle.csv.place(&path))
                .related(bundle.csv.place(&first), "the first one")
                .hint("give one of them another name, or remove it"),
            );
        }
    }
}

fn unique_crds(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    let mut seen: IndexMap<&str, &Object> = IndexMap::new();
    for crd in &bundle.crds {
        if let Some(first) = seen.insert(crd.name(), crd) {
            diagnostics.push(
                Diagnostic::error(
                    Code::DuplicateCrd,
                    format!(
                        "bundle contains duplicate custom resource definition `{}`",
                        crd.name()
                    ),
                )
                .at(crd.place())
                .related(first.place(), "the first one")
                .hint("remove one of the two files from the bundle"),
            );
        }
    }
}

fn owned_crds_exist(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    for owned in &bundle.csv.owned_crds {
        if !bundle.crds.iter().any(|crd| crd.name() == owned.name) {
            diagnostics.push(
                Diagnostic::error(
                    Code::OwnedCrdMissing,
                    format!("the CSV owns the custom resource definition `{}`, which the bundle does not hold", owned.name),
                )
                .at(bundle.csv.place(&owned.path))
                .hint("add the CRD to the manifests folder, or list it under `required` if another operator brings it"),
            );
        }
    }
}

fn crd_versions(bundle: &Bundle, diagnostics: &mut Diagnostics) {
    for crd in &bundle.crds {
        let version = crd.api_version();
        if version != "apiextensions.k8s.io/v1" {
            diagnostics.push(
                Diagnostic::error(
                    Code::CrdApiVersion,
                    format!("the CRD `{}` has apiVersion `{version}`; only apiextensions.k8s.io/v1 can be installed", crd.name()),
                )
                .at(crd.place().path(".apiVersion"))
                .hint("Kubernetes removed v1beta1 in 1.22; use a newer version of this operator"),
            );
        } else if crd
            .at(&["spec", "versions"])
            .and_then(Value::as_seq)
            .is_none_or(<[Value]>::is_empty)
        {
            diagnostics.push(
                Diagnostic::error(
                    Code::CrdApiVersion,
                    format!("the CRD `{}` has no versions", crd.name()),
                )
                .at(crd.place().path(".spec.versions"))
                .hint("the API server would refuse it; correct the CRD"),
            );
        }
    }
}

/// Checks an RFC 1123 subdomain, the form of most object names.
pub(super) fn dns_subdomain(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("it is empty");
    }
    if name.len() > 253 {
        return Err("it has more than 253 characters");
    }
    let label = |label: &str| {
        label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if name.split('.').all(label) {
        Ok(())
    } else {
        Err(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' \
             or '.', and must start and end with an alphanumeric character",
        )
    }
}

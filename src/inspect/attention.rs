//! Properties of a bundle that depend on OpenShift or OLM.

use super::crds;
use crate::bundle::Bundle;
use crate::diag::Diagnostics;
use crate::images;
use crate::ir::Object;

/// Returns the findings, one sentence each, in a fixed order: lints, then properties of the bundle.
pub(super) fn attention(
    bundle: Option<&Bundle>,
    objects: &[Object],
    diagnostics: &Diagnostics,
) -> Vec<String> {
    let mut findings = Vec::new();
    // The errors that say why are printed after the report.
    if objects.is_empty() {
        findings.push("cannot be compiled, so its objects are unknown".to_owned());
    }
    let lints = diagnostics.iter().filter(|diagnostic| diagnostic.code.needs_attention());
    findings.extend(lints.map(|lint| match &lint.hint {
        Some(hint) => format!("{}; {hint}", lint.message),
        None => lint.message.clone(),
    }));
    if bundle.is_some_and(|it| !it.csv.webhooks.is_empty() || !it.csv.api_services.is_empty()) {
        findings.push(
            "has webhooks or APIServices, which get certificates from cert-manager unless \
                `certificates` is set"
                .to_owned(),
        );
    }

    let images = images::pulled(&images::collect(objects, bundle, None));
    let red_hat = images.iter().filter(|image| image.starts_with("registry.redhat.io/")).count();
    if red_hat > 0 {
        findings.push(format!(
            "{} from registry.redhat.io, which requires a pull secret on every ServiceAccount, \
                including those of operands",
            if red_hat == 1 { "1 image is".to_owned() } else { format!("{red_hat} images are") }
        ));
    }

    let crds = bundle.map_or_else(|| crds(objects), |bundle| bundle.crds.iter().collect());
    let large: Vec<&str> = crds
        .iter()
        // Client-side `kubectl apply` stores the object in an annotation, and Kubernetes limits all
        // annotations of an object to 256 KiB (apimachinery, `TotalAnnotationSizeLimitB`).
        .filter(|crd| crate::yaml::plain(&crd.root).is_ok_and(|text| text.len() > 262_144))
        .map(|crd| crd.name())
        .collect();
    if !large.is_empty() {
        findings.push(format!(
            "CRDs over 262,144 bytes need server-side apply: {}",
            crate::diag::listed(&large, 3)
        ));
    }
    findings
}

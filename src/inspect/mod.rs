//! A report about a bundle or manifests, for users who evaluate them.

use crate::bundle::fields::texts_of;
use crate::bundle::{Bundle, Requirement};
use crate::config::Watch;
use crate::diag::{Diagnostics, counted, listed};
use crate::escape::Lines;
use crate::images;
use crate::ir::{Object, Release, Value};
use crate::olm;
use crate::yaml;
use bundle2chart_compile::{layout, permissions};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The table of gates.toml: operators whose own readiness says little, because what others need is created
/// by them later.
#[derive(Default, Deserialize)]
struct Proposals {
    gate: Vec<Proposal>,
}

/// A gate that is proposed for a package, as an entry of `ready`, and why.
#[derive(Deserialize)]
struct Proposal {
    package: String,
    /// The entry, in TOML.
    entry: String,
    /// The failure without it, as a sentence without a full stop.
    reason: String,
}

// Without an error: the test reads every row.
static PROPOSALS: LazyLock<Proposals> =
    LazyLock::new(|| toml::from_str(include_str!("gates.toml")).unwrap_or_default());

/// Returns the report of a bundle, or of manifests without one. `objects` are the compiled objects,
/// empty if they are rejected, and `diagnostics` the findings. `watch` is the requested install
/// mode; `None` is the default.
pub(crate) fn report(
    bundle: Option<&Bundle>,
    objects: &[Object],
    watch: Option<&Watch>,
    diagnostics: &Diagnostics,
) -> Lines {
    let mut text = Lines::new();
    if let Some(bundle) = bundle {
        head(&mut text, bundle, watch);
    } else {
        text.push("Manifests of a [[chart]]");
    }

    section(&mut text, "Needs attention off OpenShift");
    let findings = attention(bundle, objects, diagnostics);
    if findings.is_empty() {
        text.push("  nothing");
    }
    for finding in findings {
        text.append(layout::paragraph("  - ", 4, &finding));
    }
    contents(&mut text, bundle, objects);
    if let Some(bundle) = bundle {
        section(&mut text, "Permissions");
        text.append(permissions::of_csv(&bundle.csv));
        webhooks(&mut text, bundle);
    }
    custom_resources(&mut text, bundle, objects);
    if let Some(bundle) = bundle {
        proposed_gates(&mut text, bundle);
    }
    image_list(&mut text, bundle, objects);
    text
}

fn section(text: &mut Lines, title: &str) {
    text.push("");
    text.push(title);
}

fn head(text: &mut Lines, bundle: &Bundle, watch: Option<&Watch>) {
    let csv = &bundle.csv;
    let mut row = |name: &str, value: &str| {
        // Texts of CSVs may have several lines.
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        if !value.is_empty() {
            text.push(format!("{name:<14} {value}"));
        }
    };
    row("Package", &bundle.package);
    row("Version", &csv.version);
    row("CSV", csv.name());
    row("Name", csv.spec_text("displayName"));
    row(
        "Provider",
        csv.object.at(&["spec", "provider", "name"]).and_then(Value::as_str).unwrap_or_default(),
    );
    row("Maturity", csv.spec_text("maturity"));
    row("Channels", &bundle.channels().join(", "));
    row("Replaces", csv.spec_text("replaces"));
    match csv.spec_text("minKubeVersion") {
        "" => {}
        version => row("Kubernetes", &format!("{version} or later")),
    }
    if let Some(maximum) = &bundle.requirements.max_openshift {
        row("OpenShift", &format!("up to {maximum}"));
    }
    let packages =
        bundle.requirements.dependencies.iter().filter_map(|dependency| {
            match &dependency.requirement {
                Requirement::Package { name, text, .. } => Some(format!("{name} {text}")),
                _ => None,
            }
        });
    // APIs that it requires are listed with the custom resources.
    row("Requires", &packages.collect::<Vec<_>>().join(", "));
    let modes: Vec<&str> = csv.install_modes.iter().map(|mode| mode.as_str()).collect();
    row(
        "Install modes",
        if modes.is_empty() { "none".to_owned() } else { modes.join(", ") }.as_str(),
    );
    let watched = match watch {
        Some(watch) => watch.describe(),
        None => olm::default_watch(&bundle.csv)
            .map(|watch| format!("{} (default)", watch.describe()))
            .unwrap_or_default(),
    };
    row("Watches", &watched);
    row("Namespace", bundle.suggested_namespace().unwrap_or_default());
    if let Some(image) = &bundle.image {
        let bytes: u64 = image.layers.iter().map(|(_, size)| size).sum();
        row("Digest", &image.digest);
        row("Image", &format!("{} in {}", size(bytes), counted(image.layers.len(), "layer")));
    }
    row("Manifests", &size(bundle.manifest_bytes as u64));
}

/// Returns the findings, one sentence each, in a fixed order: lints, then properties of the bundle.
fn attention(
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
        .filter(|crd| yaml::plain(&crd.root).is_ok_and(|text| text.len() > 262_144))
        .map(|crd| crd.name())
        .collect();
    if !large.is_empty() {
        findings
            .push(format!("CRDs over 262,144 bytes need server-side apply: {}", listed(&large, 3)));
    }
    findings
}

fn contents(text: &mut Lines, bundle: Option<&Bundle>, objects: &[Object]) {
    section(text, if objects.is_empty() { "Ships" } else { "Installs" });
    let shipped = bundle.into_iter().flat_map(|bundle| bundle.crds.iter().chain(&bundle.objects));
    let shipped: Vec<&Object> = shipped.collect();
    let all: Vec<&Object> = if objects.is_empty() { shipped } else { objects.iter().collect() };
    let mut kinds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    // Skip objects that only values enable: they have no name yet.
    for object in all.into_iter().filter(|object| !object.name().is_empty()) {
        kinds.entry(object.kind()).or_default().push(object.name());
    }
    let width = kinds.keys().map(|kind| kind.len()).max().unwrap_or_default();
    for (kind, mut names) in kinds {
        names.sort_unstable();
        let lead = format!("  {kind:<width$}  {:>2}  ", names.len());
        text.push(layout::cut(&lead, &names));
    }
}

fn webhooks(text: &mut Lines, bundle: &Bundle) {
    let csv = &bundle.csv;
    if csv.webhooks.is_empty() && csv.api_services.is_empty() {
        return;
    }
    section(text, "Webhooks and APIs");
    for webhook in &csv.webhooks {
        text.push(format!("  {:<26} {}", webhook.kind.as_str(), webhook.name));
    }
    for service in csv.served_versions() {
        text.push(format!("  {:<26} {}", "APIService", service.name()));
    }
}

fn custom_resources(text: &mut Lines, bundle: Option<&Bundle>, objects: &[Object]) {
    let (defined, needed) = match bundle {
        Some(bundle) => (bundle.crds.iter().collect(), bundle.csv.required_crds.as_slice()),
        None => (crds(objects), [].as_slice()),
    };
    if defined.is_empty() && needed.is_empty() {
        return;
    }
    section(text, "Custom resources");
    let names =
        defined.iter().map(|crd| crd.name()).chain(needed.iter().map(|crd| crd.name.as_str()));
    let width = names.map(str::len).max().unwrap_or_default();

    for crd in defined {
        let versions: Vec<&str> = texts_of(crd.at(&["spec", "versions"]), "name").collect();
        // As compact JSON, the format that the API server receives and stores.
        let json = Release::LITERAL.value(&Value::from(crd.root.clone())).to_string();
        let size = size(json.len() as u64);
        let scope = crd.at(&["spec", "scope"]).and_then(Value::as_str).unwrap_or("?");
        let lead = format!("  {:<width$}  {scope:<10}  {size:>8}  ", crd.name());
        text.push(layout::cut(&lead, &versions));
    }

    for crd in needed {
        text.push(format!("  {:<width$}  required from another operator", crd.name));
    }
}

/// Appends gates that are proposed for a known operator.
fn proposed_gates(text: &mut Lines, bundle: &Bundle) {
    let proposals = PROPOSALS.gate.iter().filter(|proposal| proposal.package == bundle.package);
    for (index, Proposal { entry, reason, .. }) in proposals.enumerate() {
        if index == 0 {
            section(text, "Gates to add to `ready`");
        }
        text.push(format!("  {entry}"));
        text.append(layout::paragraph("    ", 4, reason));
    }
}

/// Returns the CRDs among objects.
fn crds(objects: &[Object]) -> Vec<&Object> {
    objects.iter().filter(|object| object.kind() == "CustomResourceDefinition").collect()
}

fn image_list(text: &mut Lines, bundle: Option<&Bundle>, objects: &[Object]) {
    section(text, "Images");
    let images = images::pulled(&images::collect(objects, bundle, None));
    if images.is_empty() {
        let known = if objects.is_empty() { "not known" } else { "none found" };
        text.push(format!("  {known}"));
    }
    let mut repository = "";
    for image in &images {
        match image.split_once('@') {
            // Too long for a line: images of one repository under its name.
            Some((name, digest)) if image.len() + 2 > layout::WIDTH => {
                if name != repository {
                    text.push(format!("  {name}"));
                }
                text.push(format!("    @{digest}"));
                repository = name;
            }
            _ => {
                text.push(format!("  {image}"));
                repository = "";
            }
        }
    }
}

/// Returns a number of bytes in the unit that reads best, in powers of 1,000.
fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let number = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", number / 1e3),
        _ => format!("{:.1} MB", number / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::diag::{Diagnostics, SourceText};
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn every_proposal_is_a_valid_gate() {
        assert!(!PROPOSALS.gate.is_empty());
        for proposal in &PROPOSALS.gate {
            let text = format!(
                "[[bundle]]\nname = \"a\"\npath = \"a\"\nready = [{}]\n\
                 [[bundle.overlay]]\nphase = \"operand\"\npath = \"b\"\n",
                proposal.entry
            );
            let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text });
            let mut diagnostics = Diagnostics::new();
            let config = Config::parse(&source, Path::new("."), &mut diagnostics);
            assert!(diagnostics.is_empty(), "{}: {diagnostics:?}", proposal.entry);
            assert_eq!(config.unwrap().bundles[0].gates.len(), 1);
            assert!(!proposal.reason.ends_with('.') && proposal.reason.len() > 20);
        }
    }
}

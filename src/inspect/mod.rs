//! What a person wants to know of a bundle before using it.

mod attention;
mod layout;
mod rules;

use crate::bundle::{Bundle, Requirement};
use crate::diag::Diagnostics;
use crate::emit::yaml;
use crate::images;
use crate::ir::{Object, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A readable report. `objects` are what the bundle compiles to, empty when it is refused, and
/// `diagnostics` what was said about it.
pub fn report(bundle: &Bundle, objects: &[Object], diagnostics: &Diagnostics) -> String {
    let mut text = String::new();
    head(&mut text, bundle);
    section(&mut text, "Needs attention off OpenShift");
    let findings = attention::attention(bundle, objects, diagnostics);
    if findings.is_empty() {
        text.push_str("  nothing\n");
    }
    for finding in findings {
        text.push_str(&layout::paragraph("  - ", 4, &finding));
    }
    contents(&mut text, bundle, objects);
    permissions(&mut text, bundle);
    webhooks(&mut text, bundle);
    custom_resources(&mut text, bundle);
    image_list(&mut text, bundle, objects);
    text
}

fn section(text: &mut String, title: &str) {
    let _ = write!(text, "\n{title}\n");
}

fn head(text: &mut String, bundle: &Bundle) {
    let csv = &bundle.csv;
    let mut row = |name: &str, value: &str| {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        if !value.is_empty() {
            let _ = writeln!(text, "{name:<14} {value}");
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
    row("Kubernetes", &minimum_version(csv.spec_text("minKubeVersion")));
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
    row("Needs", &packages.collect::<Vec<_>>().join(", "));
    let modes: Vec<&str> = csv.install_modes.iter().map(|mode| mode.as_str()).collect();
    row(
        "Install modes",
        if modes.is_empty() { "none".to_owned() } else { modes.join(", ") }.as_str(),
    );
    row("Namespace", bundle.suggested_namespace().unwrap_or_default());
    if let Some(image) = &bundle.image {
        let bytes: u64 = image.layers.iter().map(|(_, size)| size).sum();
        row("Digest", &image.digest);
        row("Image", &format!("{} in {}", size(bytes), count(image.layers.len(), "layer")));
    }
    let files = size(bundle.manifest_bytes as u64);
    row("Manifests", &files);
}

fn minimum_version(version: &str) -> String {
    if version.is_empty() { String::new() } else { format!("{version} or later") }
}

fn contents(text: &mut String, bundle: &Bundle, objects: &[Object]) {
    section(text, if objects.is_empty() { "Ships" } else { "Installs" });
    let shipped: Vec<&Object> = bundle.crds.iter().chain(&bundle.objects).collect();
    let all: Vec<&Object> = if objects.is_empty() { shipped } else { objects.iter().collect() };
    let mut kinds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    // What is there only when a value says so has no name yet.
    for object in all.into_iter().filter(|object| !object.name().is_empty()) {
        kinds.entry(object.kind()).or_default().push(object.name());
    }
    let width = kinds.keys().map(|kind| kind.len()).max().unwrap_or_default();
    for (kind, mut names) in kinds {
        names.sort_unstable();
        let lead = format!("  {kind:<width$}  {:>2}  ", names.len());
        text.push_str(&layout::cut(&lead, &names));
    }
}

fn permissions(text: &mut String, bundle: &Bundle) {
    let csv = &bundle.csv;
    section(text, "May do");
    for (permissions, scope) in [
        (&csv.cluster_permissions, "in the whole cluster"),
        (&csv.permissions, "in watched namespaces"),
    ] {
        // Operators of several programs often give all of them the same.
        let mut same: Vec<(Vec<&str>, &Value)> = Vec::new();
        for permission in permissions {
            match same.iter_mut().find(|(_, rules)| **rules == permission.rules) {
                Some((accounts, _)) => accounts.push(&permission.service_account),
                None => same.push((vec![permission.service_account.as_str()], &permission.rules)),
            }
        }
        for (accounts, rules) in same {
            let _ = writeln!(text, "  {} {scope}", layout::few(&accounts));
            text.push_str(&rules::lines(rules.as_seq().unwrap_or_default(), 4));
        }
    }
    if csv.permissions.is_empty() && csv.cluster_permissions.is_empty() {
        text.push_str("  nothing: the CSV asks for no permissions\n");
    }
}

fn webhooks(text: &mut String, bundle: &Bundle) {
    let csv = &bundle.csv;
    if csv.webhooks.is_empty() && csv.api_services.is_empty() {
        return;
    }
    section(text, "Serves");
    for webhook in &csv.webhooks {
        let _ = writeln!(text, "  {:<26} {}", webhook.kind.as_str(), webhook.name);
    }
    for service in &csv.api_services {
        let _ = writeln!(text, "  {:<26} {}", "APIService", service.name());
    }
}

fn custom_resources(text: &mut String, bundle: &Bundle) {
    if bundle.crds.is_empty() && bundle.csv.required_crds.is_empty() {
        return;
    }
    section(text, "Custom resources");
    let (defined, needed) = (&bundle.crds, &bundle.csv.required_crds);
    let names = defined.iter().map(Object::name).chain(needed.iter().map(|crd| crd.name.as_str()));
    let width = names.map(str::len).max().unwrap_or_default();
    for crd in defined {
        let versions: Vec<&str> = crd
            .at(&["spec", "versions"])
            .and_then(Value::as_seq)
            .unwrap_or_default()
            .iter()
            .filter_map(|version| version.get("name").and_then(Value::as_str))
            .collect();
        let bytes = yaml::plain(&crd.root).map_or(0, |text| text.len());
        let scope = crd.at(&["spec", "scope"]).and_then(Value::as_str).unwrap_or("?");
        let size = size(bytes as u64);
        let lead = format!("  {:<width$}  {scope:<10}  {size:>8}  ", crd.name());
        text.push_str(&layout::cut(&lead, &versions));
    }
    for crd in needed {
        let _ = writeln!(text, "  {:<width$}  from another operator", crd.name);
    }
}

fn image_list(text: &mut String, bundle: &Bundle, objects: &[Object]) {
    section(text, "Images");
    let images = images::pulled(&images::collect(objects, bundle, None));
    if images.is_empty() {
        let known = if objects.is_empty() { "not known" } else { "none found" };
        let _ = writeln!(text, "  {known}");
    }
    let mut repository = "";
    for image in &images {
        match image.split_once('@') {
            // Too long for a line: images of one repository under its name.
            Some((name, digest)) if image.len() + 2 > layout::WIDTH => {
                if name != repository {
                    let _ = writeln!(text, "  {name}");
                }
                let _ = writeln!(text, "    @{digest}");
                repository = name;
            }
            _ => {
                let _ = writeln!(text, "  {image}");
                repository = "";
            }
        }
    }
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A number of bytes in the unit that reads best, in powers of 1,000.
fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let number = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", number / 1e3),
        _ => format!("{:.1} MB", number / 1e6),
    }
}

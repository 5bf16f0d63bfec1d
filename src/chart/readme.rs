//! README.md of a chart.

use super::Description;
use super::crds::Crds;
use super::notes::CLIENT_SIDE_LIMIT;
use crate::config::Watch;
use crate::ir::Unit;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What the chart is, how to install it, its values, CRDs, images and provenance.
pub(super) fn readme(unit: &Unit, description: &Description<'_>, crds: &Crds) -> String {
    let name = &description.config.name;
    let csv = &description.bundle.csv;
    let namespace = description.namespace;
    let mut text = format!("# {name}\n\n");
    let title = one_line(csv.spec_text("displayName"));
    let title = if title.is_empty() { name.clone() } else { title };
    let _ = write!(
        text,
        "{title} {}, compiled from its OLM bundle by bundle2chart. Do not edit: change bundles.toml and build again.\n\n\
         ## Install\n\n```sh\nhelm install {name} . --namespace {namespace} --create-namespace\n```\n",
        one_line(&csv.version)
    );
    if !description.config.depends_on.is_empty() {
        let _ = write!(text, "\nInstall first: {}.\n", description.config.depends_on.join(", "));
    }
    if let Some(maximum) = &description.bundle.requirements.max_openshift {
        let _ = write!(
            text,
            "\nOn OpenShift it is for versions up to {}; before an upgrade beyond that, upgrade it.\n",
            one_line(maximum)
        );
    }
    if let Some(Watch::Namespaces(namespaces)) = &description.config.watch {
        let _ = write!(
            text,
            "\nThe operator watches these namespaces, which must exist: {}.\n",
            namespaces.join(", ")
        );
    }
    contents(&mut text, unit);
    values(&mut text, unit);
    crd_section(&mut text, unit, crds);
    if !description.images.is_empty() {
        text.push_str("\n## Images\n\n");
        for image in description.images {
            let _ = writeln!(text, "- `{image}`");
        }
    }
    let _ = write!(
        text,
        "\n## Provenance\n\n| | |\n|---|---|\n| bundle | `{}` |\n",
        description.origin
    );
    if let Some(image) = &description.bundle.image {
        let _ = writeln!(text, "| digest | `{}` |", image.digest);
    }
    let _ = write!(
        text,
        "| package | `{}` |\n| ClusterServiceVersion | `{}` |\n",
        one_line(&description.bundle.package),
        csv.name()
    );
    text
}

fn contents(text: &mut String, unit: &Unit) {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for object in &unit.objects {
        *kinds.entry(object.kind()).or_default() += 1;
    }
    text.push_str("\n## Contents\n\n| Kind | Objects |\n|---|---|\n");
    for (kind, count) in kinds {
        let _ = writeln!(text, "| {kind} | {count} |");
    }
}

fn values(text: &mut String, unit: &Unit) {
    if unit.values.is_empty() {
        return;
    }
    text.push_str("\n## Values\n\n| Key | Type | Default | Description |\n|---|---|---|---|\n");
    for spec in &unit.values {
        let kind = spec.schema.get("type").and_then(|kind| kind.as_str()).unwrap_or("any");
        let default = spec.default.to_string().replace('|', "\\|");
        let description = spec.description.replace('|', "\\|");
        let _ = writeln!(text, "| `{}` | {kind} | `{default}` | {description} |", spec.path);
    }
}

fn crd_section(text: &mut String, unit: &Unit, crds: &Crds) {
    let mut all = unit.objects.iter().filter(|object| object.kind() == "CustomResourceDefinition");
    let some_are_templates = all.any(|crd| !crds.holds(crd));
    if some_are_templates || !crds.files.is_empty() {
        text.push_str("\n## CustomResourceDefinitions\n");
    }
    if some_are_templates {
        text.push_str(
            "\nThose in `templates/` are updated by `helm upgrade`; `helm uninstall` leaves them and \
             their objects in the cluster.\n",
        );
    }
    if crds.files.is_empty() {
        return;
    }
    let _ = write!(
        text,
        "\nHelm installs these with the chart, but never updates or deletes them. \
         Before `helm upgrade`:\n\n```sh\nkubectl apply --server-side --force-conflicts -f {}\n```\n\n",
        crds.folder
    );
    for (path, content) in &crds.files {
        let name = path.trim_start_matches(crds.folder).trim_end_matches(".yaml");
        let note = if content.len() > CLIENT_SIDE_LIMIT {
            " (too large for client-side `kubectl apply`)"
        } else {
            ""
        };
        let _ = writeln!(text, "- `{name}`, {} bytes{note}", content.len());
    }
}

/// Text of a bundle in one line of Markdown.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace(['`', '<', '|'], "")
}

//! README.md and NOTES.txt of the charts NAME-crds and NAME-operands.

use super::notes::INSTALLED;
use super::readme::{contents, provenance, values};
use super::{
    Description, DocumentedChart, Part, crd_docs, gates, steps, stub_names, switches, uninstall,
};
use crate::diag::join;
use crate::escape::markdown::{self, code};
use crate::ir::Object;
use crate::yaml::{escape, in_text};

/// Returns README.md and NOTES.txt of the chart NAME-crds.
pub(super) fn crds(chart: &DocumentedChart<'_>) -> (String, String) {
    let DocumentedChart { unit, description, crds, once, .. } = chart;
    let name = Part::Crds.name(description.config);
    let main = &description.config.name;
    let namespace = description.namespace;
    let mut readme = head(&name, description);
    let stubs = stub_names(&unit.objects);
    // A chart of stubs only has no version of the operator to follow.
    let order = if crds.sizes().is_empty() {
        format!("Stub CRDs that {main} expects. Install this chart first")
    } else {
        format!(
            "The CustomResourceDefinitions of {main}. Install and upgrade this chart first, in the same version as \
             {main}; uninstall it last"
        )
    };
    readme += &format!(
        "{order}.\n\n\
         ```sh\nhelm upgrade --install {name} . --namespace {namespace} --create-namespace --wait\n```\n"
    );
    readme.push_str(once);

    if !crds.sizes().is_empty() {
        readme.push_str("\n## CustomResourceDefinitions\n");
        if description.config.settings.strip_descriptions == Some(true) {
            readme.push_str(STRIPPED);
        }
        crd_docs::of_chart(&mut readme, crds, &name, namespace);
    }
    stub_section(&mut readme, &stubs);
    values(&mut readme, unit);
    provenance(&mut readme, description);

    let mut notes = INSTALLED.to_owned();
    if !crds.sizes().is_empty() {
        notes += &format!(
            "\nWait until the API server serves them:\n  \
             kubectl wait --for=condition=Established crd {}\n",
            escape(&join(crds.sizes().keys(), " "))
        );
    }
    notes += &format!("\nThen install {main} in the same version.\n");
    (readme, notes)
}

/// Appends the README section on stub CRDs: their names and their life cycle.
fn stub_section(text: &mut String, stubs: &[String]) {
    if stubs.is_empty() {
        return;
    }
    text.push_str(
        "\n## Stub CRDs\n\n\
         A pre-install and pre-upgrade hook creates each of these if the cluster has no CRD with its name. It never \
         changes an existing CRD, and stubs stay when this release is uninstalled. To replace a stub with the real \
         CRD, use `kubectl replace` or Helm's `--take-ownership`.\n\n",
    );
    for name in stubs {
        *text += &format!("- {}\n", code(name));
    }
}

/// Returns README.md and NOTES.txt of the chart NAME-operands.
pub(super) fn operands(chart: &DocumentedChart<'_>) -> (String, String) {
    let DocumentedChart { unit, description, once, .. } = chart;
    let name = Part::Operands.name(description.config);
    let main = &description.config.name;
    let namespace = description.namespace;
    let mut readme = head(&name, description);
    readme += &format!(
        "Custom resources for the operator of {main}. Install this chart after the operator is ready, and uninstall it \
         before {main}: the operator removes the objects that it created only while it runs.\n\n\
         ```sh\nhelm upgrade --install {name} . --namespace {namespace}\n```\n"
    );
    readme.push_str(once);
    switches::section(&mut readme, chart);
    steps::section(&mut readme, chart);
    gates::section(&mut readme, chart);
    let has_crds = unit.of_kind("CustomResourceDefinition").next().is_some();
    uninstall::list(&mut readme, &uninstall::leftovers(unit, description, has_crds));
    contents(&mut readme, unit);
    values(&mut readme, unit);
    provenance(&mut readme, description);

    let mut notes = format!("{INSTALLED}\nCheck the status of the custom resources:\n");
    let mut objects: Vec<&Object> = unit.objects.iter().collect();
    objects.sort_by_key(|object| object.id());
    // Switches have several objects of one name, of which one is rendered.
    objects.dedup_by_key(|object| object.id());
    // Only custom resources have a status that the operator sets.
    for object in objects.iter().filter(|object| object.group().contains('.')) {
        let namespace = match object.metadata("namespace") {
            None => String::new(),
            Some(namespace) => match in_text(namespace) {
                Some(namespace) => format!(" --namespace {namespace}"),
                None => continue,
            },
        };
        if object.name().is_empty() || object.group().ends_with(".k8s.io") {
            continue;
        }
        let resource = escape(&format!("{}.{}", object.kind().to_lowercase(), object.group()));
        let name = escape(object.name());
        notes += &format!("  kubectl{namespace} get {resource} {name} --output yaml\n");
    }
    notes +=
        &format!("\nUninstall this release before {main}: only the running operator cleans up.\n");
    switches::notes(&mut notes, chart);
    (readme, notes)
}

/// The README sentence on removed descriptions.
pub(super) const STRIPPED: &str = "\nThe schemas have no descriptions (`strip-descriptions` in bundles.toml), so \
     `kubectl explain` shows types only.\n";

fn head(name: &str, description: &Description<'_>) -> String {
    let subject = match description.bundle {
        Some(_) => "the operator".to_owned(),
        None => code(&description.config.name),
    };
    format!(
        "# {name}\n\nFor version {} of {subject}, {} by bundle2chart. Do not edit: change bundles.toml and build \
         again.\n\n",
        markdown::text(&description.app_version()),
        description.made_from()
    )
}

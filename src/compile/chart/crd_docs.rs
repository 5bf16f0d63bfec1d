//! CRD sections of README.md and NOTES.txt.

use super::companion_docs::STRIPPED;
use super::crds::Crds;
use super::notes::CLIENT_SIDE_LIMIT;
use super::{DocumentedChart, Part};
use crate::escape::markdown::code;
use crate::kubectl::adopt_crds;

/// Appends the CRD section to the README of the operator chart.
pub(super) fn section(text: &mut String, chart: &DocumentedChart<'_>) {
    let DocumentedChart { unit, description, crds, companions, .. } = chart;
    let some_are_own_templates =
        unit.of_kind("CustomResourceDefinition").any(|crd| !crds.holds(crd));
    let some_are_templates = crds.are_templates() || some_are_own_templates;
    if !(some_are_templates || companions.has_crds_chart() || crds.folder().is_some()) {
        return;
    }

    text.push_str("\n## CustomResourceDefinitions\n");
    if description.config.settings.strip_descriptions == Some(true) {
        text.push_str(STRIPPED);
    }
    let crds_chart = Part::Crds.name(description.config);
    if companions.crds {
        *text += &format!(
            "\nThe CRDs are in the chart `{crds_chart}`. Before `helm upgrade` of this chart, upgrade `{crds_chart}` to \
             the same version.\n"
        );
    }
    if some_are_templates {
        // The other CRDs are in NAME-crds or in a folder.
        let mixed = companions.crds || crds.folder().is_some();
        of_the_release(text, if mixed { "those in `templates/`" } else { "them" });
        let (release, namespace) = (&description.config.name, description.namespace);
        // They need the namespace, values and certificates of the chart.
        let own = format!("{release} . --namespace {namespace} --show-only '{OWN_TEMPLATES}'");
        let subchart = crds.are_templates().then_some(SUBCHART);
        let rendered = subchart.into_iter().chain(some_are_own_templates.then_some(&*own));
        take_over(text, release, namespace, rendered);
    }
    if let Some(folder) = crds.folder() {
        *text += &format!(
            "\n`helm upgrade` and `helm uninstall` do not change the CRDs in `{folder}`. Before `helm upgrade`:\n\n\
             ```sh\n{}```\n\n\
             `kubectl create` reports AlreadyExists for existing CRDs; `kubectl replace` then updates them and removes \
             fields that the new version removed. Install with `--skip-crds`: otherwise Helm 3 creates missing CRDs, \
             and Helm 4 applies all of them, which overwrites newer CRDs or fails with conflicts with kubectl.\n",
            commands("", folder)
        );
    }
    list(text, crds);
    if companions.stubs {
        *text += &format!(
            "\nThe stub CRDs that the operator expects are in the chart `{crds_chart}`.\n"
        );
    }
}

/// Appends the paragraph on CRDs that are templates: upgrade, uninstall, downgrade, rollback.
fn of_the_release(text: &mut String, which: &str) {
    *text += &format!(
        "\n`helm upgrade` updates {which}, and `helm uninstall` keeps them with all their objects. The chart fails \
         instead of downgrading CRDs from a newer version of the operator, unless `--set crds.allowDowngrade=true` is \
         set (Helm reuses that value in upgrades without values, until one with `--reset-values`). \
         `helm rollback` restores the CRDs of its revision without this check, and tools that render without a \
         cluster (`helm template`, Argo CD) skip it.\n"
    );
}

/// The arguments of `helm template` for the CRDs of the subchart.
const SUBCHART: &str = "crds charts/crds";
/// CRDs in the chart's own `templates/`.
const OWN_TEMPLATES: &str = "templates/customresourcedefinition-*.yaml";

/// Appends the commands that make a release adopt existing CRDs, which these arguments of `helm
/// template` render.
fn take_over<'a>(
    text: &mut String,
    release: &str,
    namespace: &str,
    rendered: impl Iterator<Item = &'a str>,
) {
    text.push_str(
        "\nHelm does not install over CRDs that it did not create for this release, such as those of OLM, from a \
         `crds/` folder or from a release in another namespace. To adopt them, once; `kubectl` reports NotFound for \
         CRDs that are new:\n\n\
         ```sh\n",
    );
    for command in rendered.flat_map(adopt_crds) {
        *text += &format!("{command}\n");
    }
    *text += &format!(
        "helm upgrade --install {release} . --namespace {namespace} --take-ownership\n\
         ```\n\n\
         The patch makes Helm the only field manager of the CRDs: with Helm 4, fields with two managers fail the next \
         upgrade that changes them.\n"
    );
}

/// Appends the CRD section to the README of the chart NAME-crds.
pub(super) fn of_chart(text: &mut String, crds: &Crds, release: &str, namespace: &str) {
    of_the_release(text, "them");
    take_over(text, release, namespace, std::iter::once(SUBCHART));
    list(text, crds);
}

/// Returns the commands that create and replace the CRDs of a folder, one per line after `margin`.
pub(super) fn commands(margin: &str, folder: &str) -> String {
    format!("{margin}kubectl create -f {folder}\n{margin}kubectl replace -f {folder}\n")
}

/// Appends the list of CRDs outside of `templates/`, with their sizes.
fn list(text: &mut String, crds: &Crds) {
    if !crds.sizes().is_empty() {
        text.push('\n');
    }
    for (name, bytes) in crds.sizes() {
        let note = if *bytes > CLIENT_SIDE_LIMIT {
            " (too large for client-side `kubectl apply`)"
        } else {
            ""
        };
        *text += &format!("- {}, {bytes} bytes{note}\n", code(name));
    }
}

//! What README and NOTES of a chart say about CRDs.

use super::beside::STRIPPED;
use super::crds::Crds;
use super::notes::CLIENT_SIDE_LIMIT;
use super::{Companions, Description, Part};
use crate::escape::markdown::code;
use crate::ir::Unit;
use std::fmt::Write as _;

/// The section of the README of the operator's chart.
pub(super) fn section(
    text: &mut String,
    unit: &Unit,
    description: &Description<'_>,
    crds: &Crds,
    companions: Companions,
) {
    let mut own = unit.objects.iter().filter(|object| object.kind() == "CustomResourceDefinition");
    let some_are_own_templates = own.any(|crd| !crds.holds(crd));
    let some_are_templates = crds.are_templates() || some_are_own_templates;
    if !(some_are_templates || companions.has_crds_chart() || crds.folder().is_some()) {
        return;
    }

    text.push_str("\n## CustomResourceDefinitions\n");
    if description.config.strip_descriptions {
        text.push_str(STRIPPED);
    }
    let chart = Part::Crds.name(description.config);
    if companions.crds {
        let _ = write!(
            text,
            "\nThey are in the chart `{chart}`. Before `helm upgrade` of this one, upgrade that one to the same \
             version.\n"
        );
    }
    if some_are_templates {
        // Others are elsewhere.
        let mixed = companions.crds || crds.folder().is_some();
        of_the_release(text, if mixed { "those in `templates/`" } else { "them" });
    }
    if crds.are_templates() {
        take_over(text, &description.config.name, description.namespace);
    }
    if let Some(folder) = crds.folder() {
        let _ = write!(
            text,
            "\n`helm upgrade` and `helm uninstall` leave those in `{folder}` alone. Before `helm upgrade`:\n\n\
             ```sh\n{}```\n\n\
             `kubectl create` says AlreadyExists of those that the cluster has, and `kubectl replace` then also \
             removes what the new version removed. `--skip-crds` keeps Helm from them: without it, Helm 3 creates \
             those that are missing, and Helm 4 applies them all, which overwrites newer ones or stops at conflicts \
             with kubectl.\n",
            commands("", folder)
        );
    }
    list(text, crds);
    if companions.stubs {
        let _ =
            write!(text, "\nThe stub CRDs that the operator expects are in the chart `{chart}`.\n");
    }
}

/// What Helm does with CRDs that are templates.
fn of_the_release(text: &mut String, which: &str) {
    let _ = write!(
        text,
        "\n`helm upgrade` updates {which}, and `helm uninstall` keeps them with all their objects. Helm refuses to \
         replace CRDs from a newer version of the operator, unless `--set crds.allowDowngrade=true` permits it \
         (Helm keeps that for upgrades without values, until one with `--reset-values`). \
         `helm rollback` restores those of its revision without asking, and what renders without a cluster (`helm \
         template`, Argo CD) cannot check.\n"
    );
}

/// How a release gets CRDs that no release owns.
fn take_over(text: &mut String, release: &str, namespace: &str) {
    let _ = write!(
        text,
        "\nHelm refuses to install over CRDs that another release owns or none, such as those of a chart with a \
         `crds/` folder, or of a release in another namespace. To have this release take them over, once:\n\n\
         ```sh\n\
         helm template crds charts/crds | kubectl replace -f -   # NotFound for CRDs that are new\n\
         helm upgrade --install {release} . --namespace {namespace} --take-ownership\n\
         ```\n\n\
         With Helm 4, add `--server-side=true --force-conflicts`.\n"
    );
}

/// The section of the README of the chart of CRDs, where it has those of the bundle.
pub(super) fn of_chart(text: &mut String, crds: &Crds, release: &str, namespace: &str) {
    of_the_release(text, "them");
    take_over(text, release, namespace);
    list(text, crds);
}

/// The commands that bring the CRDs of a folder to the cluster, one a line after `margin`.
pub(super) fn commands(margin: &str, folder: &str) -> String {
    format!("{margin}kubectl create -f {folder}\n{margin}kubectl replace -f {folder}\n")
}

/// The CRDs outside of the chart's own templates, with their sizes.
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
        let _ = writeln!(text, "- {}, {bytes} bytes{note}", code(name));
    }
}

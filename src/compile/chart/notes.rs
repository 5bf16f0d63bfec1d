//! NOTES.txt, which `helm install` prints.

use super::readme::watched;
use super::{DocumentedChart, Part, crd_docs, first_resource};
use crate::config::Layout;
use crate::ir::{Expr, LASTING_WORKLOADS, Origin, PULL_SECRET, Unit, Value};
use crate::yaml::{escape, in_text};

/// Maximum size of a CRD for client-side `kubectl apply`, which stores the whole object in an
/// annotation of at most 262,144 bytes.
pub(super) const CLIENT_SIDE_LIMIT: usize = 262_144;

/// The first line of all notes.
pub(super) const INSTALLED: &str =
    "{{ .Chart.Name }} {{ .Chart.Version }} is installed in namespace {{ .Release.Namespace }}.\n";

/// Returns NOTES.txt: commands to check the installation, the next steps, and upgrade instructions.
pub(super) fn notes(chart: &DocumentedChart<'_>) -> String {
    let DocumentedChart { unit, description, crds, companions, .. } = chart;
    let mut text = INSTALLED.to_owned();
    if let Some(watch) = description.watch {
        text += &format!("The operator watches {}.\n", escape(&watched(watch)));
    }
    let workloads = unit.objects.iter().filter(|o| LASTING_WORKLOADS.contains(&o.kind()));
    let release_namespace = Value::Expr(Expr::ReleaseNamespace);
    let mut workloads: Vec<(&str, &str, String)> = workloads
        .filter_map(|object| {
            let namespace = object.metadata("namespace").unwrap_or(&release_namespace);
            Some((object.kind(), object.name(), in_text(namespace)?))
        })
        .collect();
    // The order of a bundle's files must not show.
    workloads.sort_unstable();
    if !workloads.is_empty() {
        text.push_str("\nWait for the rollout:\n");
        for (kind, name, namespace) in workloads {
            let kind = kind.to_lowercase();
            let name = escape(name);
            text += &format!("  kubectl --namespace {namespace} rollout status {kind}/{name}\n");
        }
    }
    pull_secret(&mut text, unit);
    text.push_str(&description.additions.notes);
    certificates(&mut text, unit);

    if companions.operands {
        let operands = Part::Operands.name(description.config);
        let folder = match description.layout {
            Layout::Versioned => format!("{operands}/{{{{ .Chart.Version }}}}"),
            Layout::Flat => operands.clone(),
        };
        text += &format!(
            "\nWhen the operator is ready, install its custom resources from the folder with the charts:\n  \
             helm upgrade --install {operands} {folder} --namespace {{{{ .Release.Namespace }}}}\n"
        );
    }
    if let Some(first) = companions.first {
        first_resource::notes(&mut text, first);
    }
    if companions.crds {
        text += &format!(
            "\nThe CustomResourceDefinitions are in the chart {}. Upgrade it before `helm upgrade` of this chart, to \
             the same version.\n",
            Part::Crds.name(description.config)
        );
    }
    if let Some(folder) = crds.folder() {
        text += &format!(
            "\nHelm does not upgrade CRDs in `{folder}`. Before `helm upgrade`, in the folder of the new chart:\n\
             {}AlreadyExists is expected for existing CRDs, which `kubectl replace` then updates.\n",
            crd_docs::commands("  ", folder)
        );
    }
    text
}

/// Appends the command that waits for the certificates of cert-manager.
fn certificates(text: &mut String, unit: &Unit) {
    let certificates = unit.of_kind("Certificate").filter(|o| o.group() == "cert-manager.io");
    let mut names: Vec<String> =
        certificates.map(|object| format!("certificate/{}", escape(object.name()))).collect();
    if names.is_empty() {
        return;
    }
    names.sort_unstable();
    *text += &format!(
        "\ncert-manager issues the certificates. Until they are ready, the API server cannot call the operator:\n  \
         kubectl --namespace {{{{ .Release.Namespace }}}} wait --for=condition=Ready {}\n",
        names.join(" ")
    );
}

/// Appends the commands that check and create the pull secret.
fn pull_secret(text: &mut String, unit: &Unit) {
    let namespaces = pull_namespaces(unit);
    if namespaces.is_empty() {
        return;
    }
    text.push_str(
        "{{- if and .Values.pullSecret.name (not .Values.pullSecret.dockerConfigJson) }}\n\n\
         Images are pulled with the secret {{ .Values.pullSecret.name }}, which must exist:\n",
    );
    for namespace in namespaces.into_iter().filter_map(in_text) {
        *text += &format!(
            "  kubectl --namespace {namespace} get secret {{{{ .Values.pullSecret.name }}}}\n"
        );
    }
    text.push_str(
        "If it does not, create it from the credentials file of `podman login` or `docker login`:\n  \
         kubectl --namespace NAMESPACE create secret docker-registry {{ .Values.pullSecret.name }} \
         --from-file=.dockerconfigjson=FILE\n\
         {{- end }}\n",
    );
}

/// Returns the namespaces of the pull secret, which are those in which the chart can create it.
pub(super) fn pull_namespaces(unit: &Unit) -> Vec<&Value> {
    let secrets = unit.objects.iter().filter(|o| o.origin == Origin::Added(PULL_SECRET));
    secrets.filter_map(|secret| secret.metadata("namespace")).collect()
}

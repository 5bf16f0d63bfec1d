//! NOTES.txt: what a person sees after `helm install`.

use super::crds::Crds;
use super::readme::watched;
use super::{Companions, Description, Part, crd_docs};
use crate::config::Layout;
use crate::ir::{Origin, PULL_SECRET, Unit, Value};
use crate::yaml::{escape, in_text};
use std::fmt::Write as _;

/// CRDs larger than this cannot be applied on the client side, since kubectl keeps the whole object
/// in an annotation of at most 262,144 bytes.
pub(super) const CLIENT_SIDE_LIMIT: usize = 262_144;

/// The first line of all notes.
pub(super) const INSTALLED: &str =
    "{{ .Chart.Name }} {{ .Chart.Version }} is installed in namespace {{ .Release.Namespace }}.\n";

/// How to see that it works, what comes next, and what an upgrade needs.
pub(super) fn notes(
    unit: &Unit,
    description: &Description<'_>,
    crds: &Crds,
    companions: Companions,
) -> String {
    let mut text = INSTALLED.to_owned();
    let _ = writeln!(text, "The operator watches {}.", escape(&watched(description.watch)));
    let mut deployments: Vec<&str> =
        unit.objects.iter().filter(|o| o.kind() == "Deployment").map(|o| o.name()).collect();
    deployments.sort_unstable();
    if !deployments.is_empty() {
        text.push_str("\nWatch it come up:\n");
        for name in deployments {
            let _ = writeln!(
                text,
                "  kubectl --namespace {{{{ .Release.Namespace }}}} rollout status deployment/{}",
                escape(name)
            );
        }
    }
    pull_secret(&mut text, unit);
    certificates(&mut text, unit);
    if companions.operands {
        let operands = Part::Operands.name(description.config);
        let folder = match description.layout {
            Layout::Versioned => format!("{operands}/{{{{ .Chart.Version }}}}"),
            Layout::Flat => operands.clone(),
        };
        let _ = write!(
            text,
            "\nThen, and not before it is up, install what it is to work on. In the folder with the charts:\n  \
             helm upgrade --install {operands} {folder} --namespace {{{{ .Release.Namespace }}}}\n"
        );
    }
    if companions.crds {
        let _ = write!(
            text,
            "\nIts CustomResourceDefinitions are in the chart {}. Before `helm upgrade` to another version, \
             upgrade that one to the same version.\n",
            Part::Crds.name(description.config)
        );
    }
    if let Some(folder) = crds.folder() {
        let _ = write!(
            text,
            "\nHelm does not upgrade CRDs of a folder. Before `helm upgrade` to another version, in the folder of the \
             new chart:\n{}AlreadyExists is expected of those that are then replaced.\n",
            crd_docs::commands("  ", folder)
        );
    }
    text
}

/// Certificates that cert-manager issues, without which the API server cannot call the operator.
fn certificates(text: &mut String, unit: &Unit) {
    let certificates =
        unit.objects.iter().filter(|o| o.group() == "cert-manager.io" && o.kind() == "Certificate");
    let mut names: Vec<String> =
        certificates.map(|object| format!("certificate/{}", escape(object.name()))).collect();
    if names.is_empty() {
        return;
    }
    names.sort_unstable();
    let _ = write!(
        text,
        "\ncert-manager issues its certificates. Until they are ready, the API server cannot call the operator:\n  \
         kubectl --namespace {{{{ .Release.Namespace }}}} wait --for=condition=Ready {}\n",
        names.join(" ")
    );
}

/// The secret that people have to make.
fn pull_secret(text: &mut String, unit: &Unit) {
    let namespaces = pull_namespaces(unit);
    if namespaces.is_empty() {
        return;
    }
    text.push_str(
        "{{- if and .Values.pullSecret.name (not .Values.pullSecret.dockerConfigJson) }}\n\n\
         Its images are pulled with the secret {{ .Values.pullSecret.name }}, which must be there:\n",
    );
    for namespace in namespaces.into_iter().filter_map(in_text) {
        let _ = writeln!(
            text,
            "  kubectl --namespace {namespace} get secret {{{{ .Values.pullSecret.name }}}}"
        );
    }
    text.push_str(
        "Where it is not, make it from the file that `podman login` or `docker login` wrote:\n  \
         kubectl --namespace NAMESPACE create secret docker-registry {{ .Values.pullSecret.name }} \
         --from-file=.dockerconfigjson=FILE\n\
         {{- end }}\n",
    );
}

/// Where the pull secret must be: where the chart makes it when it has the content.
pub(super) fn pull_namespaces(unit: &Unit) -> Vec<&Value> {
    let secrets = unit.objects.iter().filter(|o| o.origin == Origin::Added(PULL_SECRET));
    secrets.filter_map(|secret| secret.metadata("namespace")).collect()
}

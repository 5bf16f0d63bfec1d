//! NOTES.txt: what a person sees after `helm install`.

use super::crds::Crds;
use super::{Companions, Description, Part};
use crate::emit::escape;
use crate::ir::Unit;
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
    if unit.values.iter().any(|spec| spec.path.segments() == ["pullSecret", "name"]) {
        text.push_str(
            "{{- if and .Values.pullSecret.name (not .Values.pullSecret.dockerConfigJson) }}\n\n\
             Its images are pulled with the secret {{ .Values.pullSecret.name }}, which must exist here:\n  \
             kubectl --namespace {{ .Release.Namespace }} get secret {{ .Values.pullSecret.name }}\n\
             {{- end }}\n",
        );
    }
    if companions.operands {
        let operands = Part::Operands.name(description.config);
        let _ = write!(
            text,
            "\nThen, and not before it is up, install what it is to work on, from the chart of the same version:\n  \
             helm upgrade --install {operands} {operands} --version {{{{ .Chart.Version }}}} \
             --namespace {{{{ .Release.Namespace }}}}\n"
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
    if crds.files.len() > crds.stubs.len() {
        let _ = write!(
            text,
            "\nHelm does not update CRDs. Before `helm upgrade` to another version, apply those of the new chart:\n  \
             kubectl apply --server-side --force-conflicts -f {}\n",
            crds.folder
        );
    }
    text
}

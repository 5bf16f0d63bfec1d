//! NOTES.txt: what a person sees after `helm install`.

use super::crds::Crds;
use crate::emit::escape;
use crate::ir::Unit;
use std::fmt::Write as _;

/// CRDs larger than this cannot be applied on the client side, since kubectl keeps the whole object
/// in an annotation of at most 262,144 bytes.
pub(super) const CLIENT_SIDE_LIMIT: usize = 262_144;

/// How to see that it works, and what an upgrade needs.
pub(super) fn notes(unit: &Unit, crds: &Crds) -> String {
    let mut text = String::from(
        "{{ .Chart.Name }} {{ .Chart.Version }} is installed in namespace {{ .Release.Namespace }}.\n",
    );
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
    if !crds.files.is_empty() {
        let _ = write!(
            text,
            "\nHelm does not update CRDs. Before `helm upgrade` to another version, apply those of the new chart:\n  \
             kubectl apply --server-side --force-conflicts -f {}\n",
            crds.folder
        );
    }
    text
}

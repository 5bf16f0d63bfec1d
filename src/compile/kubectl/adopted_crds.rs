//! Commands that prepare existing CRDs for a release that adopts them.

/// The field manager of all Helm versions, as the only owner of a CRD's `spec`.
///
/// Fields of several owners conflict when one of them changes its value, so with server-side apply
/// (Helm 4) every field that the former owner shares with Helm would fail the next upgrade that
/// changes it: adopting with `--force-conflicts` takes only the fields that differ today. An entry is
/// needed: the API server turns an empty list into an owner `before-first-apply` of everything.
const HELM_OWNS: &str = r#"[{"op": "replace", "path": "/metadata/managedFields", "value": [{"manager": "helm", "operation": "Apply", "apiVersion": "apiextensions.k8s.io/v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}]}]"#;

/// Returns the commands for the CRDs that `helm template RENDERED` prints, to run before `helm upgrade
/// --install --take-ownership`; for any former owner, with Helm 3 and Helm 4.
///
/// `kubectl replace` removes obsolete fields, which Helm 3 keeps when it adopts. The patch is the last
/// of them, because each command makes its field manager an owner of the fields that it changes.
pub fn adopt_crds(rendered: &str) -> [String; 2] {
    let crds = format!("helm template {rendered} |");
    [format!("{crds} kubectl replace -f -"), format!("{crds} {}", make_helm_owner("-f -"))]
}

/// Returns the command that makes Helm the only owner of CRDs (`-f -` or `crd NAME`) of a release, which
/// another command has changed before.
pub fn make_helm_owner(crds: &str) -> String {
    format!("kubectl patch {crds} --type=json --patch='{HELM_OWNS}'")
}

//! What a bundle takes for granted that only OpenShift or OLM gives.

use super::layout;
use crate::bundle::{Bundle, Permission};
use crate::chart::{containers, images};
use crate::ir::{Object, Value};

/// Findings, one sentence each, in a fixed order.
pub(super) fn attention(bundle: &Bundle, objects: &[Object]) -> Vec<String> {
    let mut findings = Vec::new();
    if objects.is_empty() {
        findings.push("cannot be compiled, so what it would install is not known".to_owned());
    }
    shipped_kinds(bundle, &mut findings);
    authentication(bundle, objects, &mut findings);
    openshift_apis(bundle, &mut findings);
    security_context(objects, &mut findings);
    serving(bundle, &mut findings);
    registries(bundle, objects, &mut findings);
    large_crds(bundle, &mut findings);
    findings
}

fn few(labels: &[String]) -> String {
    layout::few(&labels.iter().map(String::as_str).collect::<Vec<_>>())
}

fn shipped_kinds(bundle: &Bundle, findings: &mut Vec<String>) {
    let names = |wanted: &dyn Fn(&Object) -> bool| -> Vec<String> {
        bundle.objects.iter().filter(|o| wanted(o)).map(Object::label).collect()
    };
    let console = names(&|object| object.kind().starts_with("Console"));
    if !console.is_empty() {
        findings.push(format!(
            "ships {}, for the OpenShift console; exclude '.kind | startswith(\"Console\")'",
            few(&console)
        ));
    }
    let monitoring = names(&|object| object.group() == "monitoring.coreos.com");
    if !monitoring.is_empty() {
        findings.push(format!(
            "ships {}, for the Prometheus operator; install its CRDs first or exclude '.apiVersion | startswith(\"monitoring.coreos.com/\")'",
            few(&monitoring)
        ));
    }
}

/// A ServiceAccount that cannot read configmaps cluster-wide cannot read the one in kube-system
/// that delegated authentication starts from.
fn authentication(bundle: &Bundle, objects: &[Object], findings: &mut Vec<String>) {
    for deployment in objects.iter().filter(|object| object.kind() == "Deployment") {
        let account = deployment
            .at(&["spec", "template", "spec", "serviceAccountName"])
            .and_then(Value::as_str)
            .unwrap_or("default");
        let reads = |permission: &Permission| {
            permission.service_account == account
                && permission.rules.as_seq().unwrap_or_default().iter().any(|rule| {
                    covers(rule, "apiGroups", "")
                        && covers(rule, "resources", "configmaps")
                        && covers(rule, "verbs", "get")
                })
        };
        if !bundle.csv.cluster_permissions.iter().any(reads) {
            findings.push(format!(
                "ServiceAccount/{account} cannot read kube-system/extension-apiserver-authentication, which \
                 OpenShift lets everybody read; if the operator serves delegated authentication, it needs `auth-reader`"
            ));
        }
    }
}

fn covers(rule: &Value, key: &str, wanted: &str) -> bool {
    let list = rule.get(key).and_then(Value::as_seq).unwrap_or_default();
    list.iter().filter_map(Value::as_str).any(|item| item == wanted || item == "*")
}

fn openshift_apis(bundle: &Bundle, findings: &mut Vec<String>) {
    let csv = &bundle.csv;
    let mut groups: Vec<&str> = csv
        .permissions
        .iter()
        .chain(&csv.cluster_permissions)
        .flat_map(|permission| permission.rules.as_seq().unwrap_or_default())
        .flat_map(|rule| rule.get("apiGroups").and_then(Value::as_seq).unwrap_or_default())
        .filter_map(Value::as_str)
        .filter(|group| group.ends_with(".openshift.io"))
        .filter(|group| !bundle.crds.iter().any(|crd| crd.name().ends_with(&format!(".{group}"))))
        .collect();
    groups.sort_unstable();
    groups.dedup();
    if !groups.is_empty() {
        findings.push(format!(
            "asks for OpenShift APIs that are missing elsewhere: {}",
            layout::few(&groups)
        ));
    }
}

fn security_context(objects: &[Object], findings: &mut Vec<String>) {
    for deployment in objects.iter().filter(|object| object.kind() == "Deployment") {
        let pod = deployment.at(&["spec", "template", "spec", "securityContext"]);
        let sets = |context: Option<&Value>, key: &str| context.and_then(|c| c.get(key)).cloned();
        let missing: Vec<&str> = containers(deployment)
            .filter(|container| {
                let own = container.get("securityContext");
                let non_root = sets(own, "runAsNonRoot").or_else(|| sets(pod, "runAsNonRoot"));
                let user = sets(own, "runAsUser").or_else(|| sets(pod, "runAsUser"));
                non_root == Some(Value::Bool(true)) && user.is_none()
            })
            .filter_map(|container| container.get("name").and_then(Value::as_str))
            .collect();
        if !missing.is_empty() {
            findings.push(format!(
                "{} sets runAsNonRoot without runAsUser for {}: OpenShift picks a user, elsewhere the image must name a numeric one",
                deployment.label(),
                layout::few(&missing)
            ));
        }
    }
}

fn serving(bundle: &Bundle, findings: &mut Vec<String>) {
    if !bundle.csv.webhooks.is_empty() || !bundle.csv.api_services.is_empty() {
        findings.push(
            "serves webhooks or APIs, whose certificates cert-manager makes unless `certificates` names another way"
                .to_owned(),
        );
    }
}

fn registries(bundle: &Bundle, objects: &[Object], findings: &mut Vec<String>) {
    let images = images(objects, bundle);
    let red_hat = images.iter().filter(|image| image.starts_with("registry.redhat.io/")).count();
    if red_hat > 0 {
        findings.push(format!(
            "{} from registry.redhat.io, which needs a pull secret on every ServiceAccount, those of operands too",
            if red_hat == 1 { "1 image is".to_owned() } else { format!("{red_hat} images are") }
        ));
    }
    let unpinned: Vec<&str> =
        images.iter().map(String::as_str).filter(|image| !image.contains("@sha256:")).collect();
    if !unpinned.is_empty() {
        findings.push(format!("images not pinned by digest: {}", layout::few(&unpinned)));
    }
}

fn large_crds(bundle: &Bundle, findings: &mut Vec<String>) {
    let large: Vec<&str> = bundle
        .crds
        .iter()
        .filter(|crd| crate::emit::yaml::plain(&crd.root).is_ok_and(|text| text.len() > 262_144))
        .map(Object::name)
        .collect();
    if !large.is_empty() {
        findings.push(format!(
            "CRDs over 262,144 bytes need server-side apply: {}",
            layout::few(&large)
        ));
    }
}

//! Rules on pod security: privileges of pods and containers that are new.
//!
//! Privileges are computed from the whole pod, because containers inherit from the pod, and reported
//! at the edit that adds them.

use super::nearest::Nearest;
use super::{at, found, rules, workload};
use crate::identity::Pair;
use crate::path::Step;
use crate::tree::Edit;
use crate::{Finding, Rule};
use serde_json::Value as Json;
use std::collections::HashSet;

rules! {
    PRIVILEGED "pod-privileged" Risky(Escalation)
        "Privileges of a container widened."
        "A privileged container, or one that can become root, can take over the node. Namespaces with the restricted or baseline Pod Security Standard reject it."
        "Check why the container needs this, and whether your namespaces admit it.";
    CAPABILITY "pod-capability" Risky(Escalation)
        "Linux capability added to a container."
        "Capabilities grant parts of root's privileges."
        "Check why the container needs this, and whether your namespaces admit it.";
    HARDENING "pod-hardening-lost" Risky(Escalation)
        "Hardening of a container removed."
        "A writable root file system or a missing seccomp profile helps an attacker."
        "Check whether the policies of your cluster require the hardening.";
    HOST "pod-host-access" Risky(Escalation)
        "Access of pods to their node widened."
        "Host network, processes, files and ports bypass the isolation of pods. The baseline and restricted Pod Security Standards reject them."
        "Check why the pods need this, and whether your namespaces admit it.";
    NOT_ROOT "run-as-non-root-required" Risky(Unavailable)
        "Container must not run as root any more."
        "Without `runAsUser`, the kubelet rejects images whose USER is root or a name (CreateContainerConfigError)."
        "Check that the image has a numeric USER; if not, set `runAsUser`.";
    USER "pod-user-changed" Risky(Unavailable)
        "User or group of pods with a PersistentVolumeClaim changed."
        "Files on the volume belong to the old user or group, so the new one may not be able to read them."
        "Check the permissions of the files on the volume.";
    CLAIM "volume-claim-unused" Risky(DataLost)
        "Pods no longer mount a PersistentVolumeClaim."
        "The data stays in the claim, but the new pods do not see it."
        "Check where the data is now; migrate it if needed.";
}

/// A privilege of a pod or container.
#[derive(Debug)]
struct Fact {
    rule: &'static Rule,
    /// The container; empty for the pod.
    who: String,
    /// The privilege, as a predicate.
    what: String,
    /// True if most containers have it, so that it is not reported for new containers.
    usual: bool,
    /// Path below the `spec` of the pod.
    path: Vec<Step>,
}

/// Adds new privileges of the pods of a workload to the findings of the edits that cause them.
pub(super) fn add_findings(pair: &Pair<'_>, edits: &[Edit], judged: &mut [Vec<Finding>]) {
    let Some(template) = workload::pod_template(&pair.id.kind) else { return };
    let Some(new) = pair.new else { return };
    let spec = |object: &Json| -> Vec<Fact> {
        at(object, template)
            .and_then(|template| template.get("spec"))
            .map(facts)
            .unwrap_or_default()
    };
    let before = pair.old.map(spec).unwrap_or_default();
    let names = |object: Option<&Json>| -> HashSet<String> {
        let spec = object.and_then(|o| at(o, template)).and_then(|t| t.get("spec"));
        let lists = ["containers", "initContainers"].into_iter();
        let lists = lists.filter_map(|list| spec?.get(list)?.as_array()).flatten();
        lists.filter_map(|c| c.get("name")?.as_str().map(str::to_owned)).collect()
    };
    let (had, has) = (names(pair.old), names(Some(new)));
    // A new container may replace a removed one and keep its privileges.
    let went = |fact: &&Fact| !fact.who.is_empty() && !has.contains(&fact.who);
    let by_gone: HashSet<&str> =
        before.iter().filter(went).map(|fact| fact.what.as_str()).collect();
    let by_whom: HashSet<(&str, &str)> =
        before.iter().map(|fact| (fact.what.as_str(), fact.who.as_str())).collect();
    let known = |fact: &Fact| {
        let new_here = !fact.who.is_empty() && !had.contains(&fact.who);
        // Defaults of a new container are news only if the other containers do not have them.
        let by_default = fact.rule == &PRIVILEGED && fact.what != "is privileged";
        let of_another = || before.iter().any(|other| other.what == fact.what);
        (fact.usual && new_here)
            || (new_here && by_default && of_another())
            || by_whom.contains(&(&fact.what, &fact.who))
            || (new_here && by_gone.contains(fact.what.as_str()))
    };
    // A fact is about fields that may be missing on both sides, so it is reported at the nearest
    // edit.
    let mut base: Vec<Step> = template.iter().map(|key| Step::Key((*key).to_owned())).collect();
    base.push(Step::Key("spec".to_owned()));
    let near = Nearest::of(edits);
    if let Some(old) = pair.old {
        let spec = |object| at(object, template).and_then(|template| template.get("spec"));
        if let (Some(old), Some(new)) = (spec(old), spec(new)) {
            claims_and_users(old, new, &base, &near, judged);
        }
    }
    for fact in spec(new) {
        if known(&fact) {
            continue;
        }
        let path: Vec<Step> = base.iter().chain(&fact.path).cloned().collect();
        let near = near.to(&path);
        if let Some(findings) = near.and_then(|at| judged.get_mut(at)) {
            let text = match fact.who.as_str() {
                "" => fact.what,
                who => format!("container {who} {}", fact.what),
            };
            findings.push(found(fact.rule, text));
        }
    }
}

/// Adds the findings about PersistentVolumeClaims that are no longer mounted, and about users and
/// groups that no longer own their files.
fn claims_and_users(
    old: &Json,
    new: &Json,
    base: &[Step],
    near: &Nearest<'_>,
    judged: &mut [Vec<Finding>],
) {
    let mut add = |path: &[&str], finding: Finding| {
        let path: Vec<Step> = base.iter().cloned().chain(path.iter().map(|k| key(k))).collect();
        if let Some(findings) = near.to(&path).and_then(|at| judged.get_mut(at)) {
            findings.push(finding);
        }
    };

    let (before, after) = (claims(old), claims(new));
    for claim in before.iter().filter(|claim| !after.contains(claim)) {
        add(
            &["volumes"],
            found(&CLAIM, format!("PersistentVolumeClaim {claim} is no longer mounted")),
        );
    }

    // Without claims, no files of the old pods are left for another user.
    if after.is_empty() {
        return;
    }
    for field in ["runAsUser", "runAsGroup", "fsGroup", "supplementalGroups"] {
        let of = |spec: &Json| at(spec, &["securityContext", field]).cloned();
        let shown =
            |value: Option<Json>| value.map_or("unset".to_owned(), |value| value.to_string());
        if of(old) != of(new) {
            let (old, new) = (shown(of(old)), shown(of(new)));
            let reason = format!("securityContext.{field}: {old} → {new}");
            add(&["securityContext", field], found(&USER, reason));
        }
    }
}

/// Returns the names of the claims that a pod mounts.
fn claims(spec: &Json) -> Vec<&str> {
    let volumes = spec.get("volumes").and_then(Json::as_array).into_iter().flatten();
    let claim = |volume| at(volume, &["persistentVolumeClaim", "claimName"]).and_then(Json::as_str);
    volumes.filter_map(claim).collect()
}

fn key(key: &str) -> Step {
    Step::Key(key.to_owned())
}

fn of_pod(what: String, path: Vec<Step>) -> Fact {
    Fact { rule: &HOST, who: String::new(), what, usual: false, path }
}

/// Returns the privileges of a pod and its containers.
fn facts(spec: &Json) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (field, what) in [
        ("hostNetwork", "pods use the network of their node"),
        ("hostPID", "pods see the processes of their node"),
        ("hostIPC", "pods share memory with their node"),
        ("shareProcessNamespace", "containers see the processes of each other"),
    ] {
        if is_true(spec.get(field)) {
            facts.push(of_pod(what.to_owned(), vec![key(field)]));
        }
    }

    let items = |list: &str| spec.get(list).and_then(Json::as_array).into_iter().flatten();
    for volume in items("volumes") {
        if let Some(path) = at(volume, &["hostPath", "path"]).and_then(Json::as_str) {
            let path_in_pod = vec![key("volumes"), named(volume)];
            facts.push(of_pod(format!("pods mount `{path}` of their node"), path_in_pod));
        }
    }

    let pod = spec.get("securityContext");
    for list in ["containers", "initContainers"] {
        for container in items(list) {
            let path = [key(list), named(container)];
            let mut fact = |rule, what: String, rest: &[&str], usual| {
                let name = container.get("name").and_then(Json::as_str).unwrap_or_default();
                facts.push(Fact {
                    rule,
                    who: name.to_owned(),
                    what,
                    usual,
                    path: path.iter().cloned().chain(rest.iter().map(|k| key(k))).collect(),
                });
            };
            let own = container.get("securityContext");
            let either = |field: &str| {
                own.and_then(|own| own.get(field)).or_else(|| pod.and_then(|pod| pod.get(field)))
            };
            let sc = |field| ["securityContext", field];
            if is_true(own.and_then(|own| own.get("privileged"))) {
                fact(&PRIVILEGED, "is privileged".to_owned(), &sc("privileged"), false);
            }
            let escalates = own.and_then(|own| own.get("allowPrivilegeEscalation"));
            // The default is true.
            if escalates.and_then(Json::as_bool) != Some(false) {
                let text = "may gain privileges (allowPrivilegeEscalation)".to_owned();
                fact(&PRIVILEGED, text, &sc("allowPrivilegeEscalation"), false);
            }
            let user = either("runAsUser").and_then(Json::as_i64);
            // Without both, the image's USER decides, which is root unless it says otherwise.
            let not_root = is_true(either("runAsNonRoot")) || user.is_some_and(|user| user != 0);
            if !not_root {
                let field = if user == Some(0) { "runAsUser" } else { "runAsNonRoot" };
                fact(&PRIVILEGED, "may run as root".to_owned(), &sc(field), false);
            }
            for added in super::texts(own.and_then(|own| at(own, &["capabilities", "add"]))) {
                let text = format!("has the capability {added}");
                fact(&CAPABILITY, text, &["securityContext", "capabilities", "add"], false);
            }
            let dropped = super::texts(own.and_then(|own| at(own, &["capabilities", "drop"])));
            // The runtime's default set includes NET_RAW and others that operators do not need.
            if !dropped.iter().any(|name| name.eq_ignore_ascii_case("ALL")) {
                let text = "keeps the default capabilities".to_owned();
                fact(&CAPABILITY, text, &["securityContext", "capabilities", "drop"], true);
            }
            if !is_true(own.and_then(|own| own.get("readOnlyRootFilesystem"))) {
                let text = "may write to its root file system".to_owned();
                fact(&HARDENING, text, &sc("readOnlyRootFilesystem"), true);
            }
            let profile = either("seccompProfile").and_then(|profile| profile.get("type"));
            if profile.is_none_or(|kind| kind == "Unconfined") {
                let text = "has no seccomp profile".to_owned();
                fact(&HARDENING, text, &sc("seccompProfile"), true);
            }
            if user.is_none() && is_true(either("runAsNonRoot")) {
                let text = "must not run as root, and has no runAsUser".to_owned();
                fact(&NOT_ROOT, text, &sc("runAsNonRoot"), true);
            }
            for port in container.get("ports").and_then(Json::as_array).into_iter().flatten() {
                if let Some(number) = port.get("hostPort").and_then(Json::as_i64).filter(|n| *n > 0)
                {
                    fact(&HOST, format!("uses port {number} of the node"), &["ports"], false);
                }
            }
        }
    }
    facts
}

fn named(item: &Json) -> Step {
    let name = item.get("name").and_then(Json::as_str).unwrap_or_default();
    Step::Item(vec![("name".to_owned(), name.to_owned())])
}

fn is_true(value: Option<&Json>) -> bool {
    value.and_then(Json::as_bool).unwrap_or_default()
}

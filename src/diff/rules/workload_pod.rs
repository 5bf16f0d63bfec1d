//! Rules on pod security: privileges of pods and containers that are new.
//!
//! Privileges are computed from the whole pod, because containers inherit from the pod, and reported
//! at the edit that adds them.

use super::judgement::Judgement;
use super::object::DATA;
use super::{found, rules};
use crate::identity::Pair;
use crate::names::NAMES;
use crate::path::Step;
use crate::read::{
    CONTAINERS, at, containers, is_true, items, keys, named, pod_keys, pod_spec, text, texts,
};
use crate::{Finding, Rule};
use serde_json::Value as Json;
use std::collections::HashSet;

rules! {
    /// Privileges of a container widened.
    ///
    /// A privileged container, or one that can become root, can take over the node. Namespaces with
    /// the restricted or baseline Pod Security Standard reject it.
    PRIVILEGED "pod-privileged" Risky(Escalation)
        "Check why the container needs this, and whether your namespaces admit it.";
    /// Linux capability added to a container.
    ///
    /// Capabilities grant parts of root's privileges.
    CAPABILITY "pod-capability" Risky(Escalation)
        "Check why the container needs this, and whether your namespaces admit it.";
    /// Hardening of pods or containers removed.
    ///
    /// A writable root file system, a missing seccomp or AppArmor profile, an unmasked `/proc`, users
    /// of the node or a token of the API server help an attacker.
    HARDENING "pod-hardening-lost" Risky(Escalation)
        "Check whether the policies of your cluster require the hardening.";
    /// Access of pods to their node widened.
    ///
    /// Host network, processes, files, ports and kernel parameters bypass the isolation of pods. The
    /// baseline and restricted Pod Security Standards reject them.
    HOST "pod-host-access" Risky(Escalation)
        "Check why the pods need this, and whether your namespaces admit it.";
    /// Container must not run as root any more.
    ///
    /// Without `runAsUser`, the kubelet rejects images whose USER is root or a name
    /// (CreateContainerConfigError).
    NOT_ROOT "run-as-non-root-required" Risky(Unavailable)
        "Check that the image has a numeric USER; if not, set `runAsUser`.";
    /// User or group of pods with a PersistentVolumeClaim changed.
    ///
    /// Files on the volume belong to the old user or group, so the new one may not be able to read
    /// them.
    USER "pod-user-changed" Risky(Unavailable)
        "Check the permissions of the files on the volume.";
    /// Pods no longer mount a PersistentVolumeClaim.
    ///
    /// The data stays in the claim, but the new pods do not see it.
    CLAIM "volume-claim-unused" Risky(DataLost)
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
pub(super) fn add_findings(pair: &Pair<'_>, judgement: &mut Judgement<'_>) {
    let Some(path) = pod_keys(&pair.id.kind) else { return };
    if pair.new.is_none() {
        return;
    }
    let [old, new] = [pair.old, pair.new].map(|object| pod_spec(&pair.id.kind, object));
    let before = old.map(facts).unwrap_or_default();
    let [had, has] = [old, new].map(|spec| -> HashSet<&str> {
        containers(spec).filter_map(|container| container.get("name")?.as_str()).collect()
    });
    // A new container may replace a removed one and keep its privileges.
    let went = |fact: &&Fact| !has.contains(fact.who.as_str());
    let by_gone: HashSet<&str> =
        before.iter().filter(went).map(|fact| fact.what.as_str()).collect();
    let by_whom: HashSet<(&str, &str)> =
        before.iter().map(|fact| (fact.what.as_str(), fact.who.as_str())).collect();
    let known = |fact: &Fact| {
        let new_here =
            pair.old.is_none() || !fact.who.is_empty() && !had.contains(fact.who.as_str());
        // Defaults of a new container are news only if the other containers do not have them.
        let by_default = fact.rule == &PRIVILEGED && fact.what != "is privileged";
        let of_another = || before.iter().any(|other| other.what == fact.what);
        (fact.usual && new_here)
            || (new_here && by_default && of_another())
            || by_whom.contains(&(&fact.what, &fact.who))
            || (new_here && by_gone.contains(fact.what.as_str()))
    };

    claims_of_ordinals(pair, judgement);
    let base = keys(path);
    if let (Some(old), Some(new)) = (old, new) {
        claims_and_users(old, new, |path, finding| {
            judgement.add(&[base.as_slice(), &keys(path)].concat(), finding);
        });
    }
    let mut facts = new.map(facts).unwrap_or_default();
    facts.retain(|fact| !known(fact));
    for fact in joined_capabilities(facts) {
        let reason = match fact.who.as_str() {
            "" => fact.what,
            who => format!("container {who} {}", fact.what),
        };
        // A fact is about fields that may be missing on both sides.
        judgement.add(&[base.as_slice(), &fact.path].concat(), found(fact.rule, reason));
    }
}

/// Joins the default capabilities that a container keeps into one fact.
fn joined_capabilities(facts: Vec<Fact>) -> Vec<Fact> {
    let mut joined: Vec<Fact> = Vec::new();
    for fact in facts {
        match (fact.what.strip_prefix(KEEPS), joined.last_mut()) {
            (Some(name), Some(last)) if last.who == fact.who && last.what.starts_with(KEEPS) => {
                last.what += ", ";
                last.what += name;
            }
            _ => joined.push(fact),
        }
    }
    let all = format!("{KEEPS}{}", NAMES.kubernetes.default_capabilities.join(", "));
    for fact in joined.iter_mut().filter(|fact| fact.what == all) {
        fact.what = "keeps the default capabilities".to_owned();
    }
    joined
}

/// Adds the finding about the PersistentVolumeClaims of a StatefulSet's pods that are no longer there.
fn claims_of_ordinals(pair: &Pair<'_>, judgement: &mut Judgement<'_>) {
    let (Some(old), Some(new)) = (pair.old, pair.new) else { return };
    if items(old, &["spec", "volumeClaimTemplates"]).is_empty() {
        return;
    }

    let [(first, last), (new_first, new_last)] = [old, new].map(|set| {
        let number = |keys: &[&str]| at(set, keys).and_then(Json::as_i64);
        let first = number(&["spec", "ordinals", "start"]).unwrap_or(0);
        let replicas = number(&["spec", "replicas"]).unwrap_or(1);
        (first, first.saturating_add(replicas).saturating_sub(1))
    });
    if first > last || (new_first <= first && last <= new_last) {
        return;
    }

    let policy = at(new, &["spec", "persistentVolumeClaimRetentionPolicy", "whenScaled"]);
    let (rule, fate) = match policy.and_then(Json::as_str) {
        Some("Delete") => (&DATA, "deleted (whenScaled: Delete)"),
        _ => (&CLAIM, "no longer mounted"),
    };
    let shown = |first: i64, last: i64| match last < first {
        true => "none".to_owned(),
        false => format!("{first}–{last}"),
    };
    let (old, new) = (shown(first, last), shown(new_first, new_last));
    let reason = format!("PersistentVolumeClaims of ordinals {old} → {new}: others are {fate}");
    let field = if first == new_first { "replicas" } else { "ordinals" };
    judgement.add(&keys(&["spec", field]), found(rule, reason));
}

/// Adds the findings about PersistentVolumeClaims that are no longer mounted, and about users and
/// groups that no longer own their files.
fn claims_and_users(old: &Json, new: &Json, mut add: impl FnMut(&[&str], Finding)) {
    let (before, after) = (claims(old), claims(new));
    for claim in before.iter().filter(|claim| !after.contains(claim)) {
        let reason = format!("PersistentVolumeClaim {claim} is no longer mounted");
        add(&["volumes"], found(&CLAIM, reason));
    }

    // Without claims, no files of the old pods are left for another user.
    if after.is_empty() {
        return;
    }
    for field in ["runAsUser", "runAsGroup", "fsGroup", "supplementalGroups"] {
        let path = ["securityContext", field];
        let (old, new) = (at(old, &path), at(new, &path));
        if old != new {
            let shown = |value: Option<&Json>| value.map_or("unset".to_owned(), Json::to_string);
            let reason = format!("securityContext.{field}: {} → {}", shown(old), shown(new));
            add(&path, found(&USER, reason));
        }
    }
}

/// Returns the names of the claims that a pod mounts.
fn claims(spec: &Json) -> Vec<&str> {
    let claim = |volume| at(volume, &["persistentVolumeClaim", "claimName"]).and_then(Json::as_str);
    items(spec, &["volumes"]).iter().filter_map(claim).collect()
}

/// A privilege that a pod or container has, or lacks a field against: the field of the pod, or of the
/// container's `securityContext`, the predicate, [`Fact::usual`], and the condition.
type Privilege = (&'static Rule, &'static str, &'static str, bool, fn(&Fields<'_>, &str) -> bool);

/// Privileges of pods.
static OF_PODS: &[Privilege] = &[
    (&HOST, "hostNetwork", "pods use the network of their node", false, is_on),
    (&HOST, "hostPID", "pods see the processes of their node", false, is_on),
    (&HOST, "hostIPC", "pods share memory with their node", false, is_on),
    (&HOST, "shareProcessNamespace", "containers see the processes of each other", false, is_on),
    (&HARDENING, "hostUsers", "users of pods are users of their node", true, is_not_off),
    (&HARDENING, TOKEN, "pods get the token of their ServiceAccount", true, is_not_off),
];

const TOKEN: &str = "automountServiceAccountToken";

/// Privileges of containers. Fields that both have are those of the container, else of its pod.
static OF_CONTAINERS: &[Privilege] = &[
    (&PRIVILEGED, "privileged", "is privileged", false, is_on),
    (&PRIVILEGED, GAIN, "may gain privileges (allowPrivilegeEscalation)", false, is_not_off),
    (&PRIVILEGED, "runAsUser", "may run as root", false, |fields, _| {
        fields.user() == Some(0) && !fields.is_not_root()
    }),
    // Without both, the image's USER decides, which is root unless it says otherwise.
    (&PRIVILEGED, "runAsNonRoot", "may run as root", false, |fields, _| {
        fields.user().is_none() && !fields.is_not_root()
    }),
    (&HARDENING, READ_ONLY, "may write to its root file system", true, |fields, field| {
        !is_on(fields, field)
    }),
    (&HARDENING, "seccompProfile", "has no seccomp profile", true, |fields, _| {
        let profile = at(fields.either("seccompProfile"), &["type"]);
        profile.is_none_or(|kind| kind == "Unconfined")
    }),
    // Without the field, the runtime has a profile.
    (&HARDENING, "appArmorProfile", "has no AppArmor profile", false, |fields, _| {
        text(fields.either("appArmorProfile"), &["type"]) == "Unconfined"
    }),
    (&HARDENING, "procMount", "sees an unmasked /proc", false, |fields, _| {
        text(fields.own, &["procMount"]) == "Unmasked"
    }),
    (&HOST, "windowsOptions", "is a process of its Windows node", false, |fields, _| {
        is_true(fields.either("windowsOptions"), &["hostProcess"])
    }),
    (&NOT_ROOT, "runAsNonRoot", "must not run as root, and has no runAsUser", true, |fields, _| {
        fields.user().is_none() && fields.is_not_root()
    }),
];

const GAIN: &str = "allowPrivilegeEscalation";
const READ_ONLY: &str = "readOnlyRootFilesystem";

/// Start of facts about one of these, before its name.
const KEEPS: &str = "keeps the default capabilities ";

/// Fields of a pod, or of the `securityContext` of a container and of its pod.
struct Fields<'a> {
    own: Option<&'a Json>,
    pod: Option<&'a Json>,
}

impl<'a> Fields<'a> {
    fn either(&self, field: &str) -> Option<&'a Json> {
        let sides = [self.own, self.pod].into_iter();
        sides.filter_map(|side| side?.get(field)).find(|value| !value.is_null())
    }

    fn user(&self) -> Option<i64> {
        self.either("runAsUser").and_then(Json::as_i64)
    }

    fn is_not_root(&self) -> bool {
        self.either("runAsNonRoot") == Some(&Json::Bool(true))
    }
}

fn is_on(fields: &Fields<'_>, field: &str) -> bool {
    is_true(fields.own, &[field])
}

fn is_not_off(fields: &Fields<'_>, field: &str) -> bool {
    at(fields.own, &[field]) != Some(&Json::Bool(false))
}

/// Returns the privileges of a pod and its containers.
fn facts(spec: &Json) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut of_pod = |rule, what: String, usual, path| {
        facts.push(Fact { rule, who: String::new(), what, usual, path });
    };
    let fields = Fields { own: Some(spec), pod: None };
    for (rule, field, what, usual, has) in OF_PODS {
        if has(&fields, field) {
            of_pod(rule, (*what).to_owned(), *usual, keys(&[field]));
        }
    }
    for volume in items(spec, &["volumes"]) {
        if let Some(path) = at(volume, &["hostPath", "path"]).and_then(Json::as_str) {
            let place = [keys(&["volumes"]), vec![named(text(volume, &["name"]))]].concat();
            of_pod(&HOST, format!("pods mount `{path}` of their node"), false, place);
        }
    }
    for sysctl in items(spec, &["securityContext", "sysctls"]) {
        let name = text(sysctl, &["name"]);
        if !NAMES.kubernetes.sysctls.contains(&name) {
            let what = format!("pods set the kernel parameter `{name}`");
            of_pod(&HOST, what, false, keys(&["securityContext", "sysctls"]));
        }
    }

    for list in CONTAINERS {
        for container in items(spec, &[list]) {
            of_container(spec, list, container, &mut facts);
        }
    }
    facts
}

fn of_container(spec: &Json, list: &str, container: &Json, facts: &mut Vec<Fact>) {
    let context =
        Fields { own: container.get("securityContext"), pod: spec.get("securityContext") };
    let mut fact = |rule, what: String, usual, path: &[&str]| {
        let path = [keys(&[list]), vec![named(text(container, &["name"]))], keys(path)].concat();
        facts.push(Fact { rule, who: text(container, &["name"]).to_owned(), what, usual, path });
    };
    for (rule, field, what, usual, has) in OF_CONTAINERS {
        if has(&context, field) {
            fact(rule, (*what).to_owned(), *usual, &["securityContext", field]);
        }
    }

    for added in texts(context.own, &["capabilities", "add"]) {
        let what = format!("has the capability {added}");
        fact(&CAPABILITY, what, false, &["securityContext", "capabilities", "add"]);
    }
    let dropped = texts(context.own, &["capabilities", "drop"]);
    let drops = |name: &str| dropped.iter().any(|dropped| dropped.eq_ignore_ascii_case(name));
    for kept in
        NAMES.kubernetes.default_capabilities.iter().filter(|name| !drops("ALL") && !drops(name))
    {
        let what = format!("{KEEPS}{kept}");
        fact(&CAPABILITY, what, true, &["securityContext", "capabilities", "drop"]);
    }

    let labels = context.either("seLinuxOptions");
    for (label, usual) in
        [("user", &[""][..]), ("role", &[""]), ("type", &NAMES.kubernetes.selinux_types)]
    {
        let value = text(labels, &[label]);
        if !usual.contains(&value) {
            let what = format!("runs with the SELinux {label} {value}");
            fact(&HARDENING, what, false, &["securityContext", "seLinuxOptions"]);
        }
    }
    for port in items(container, &["ports"]) {
        if let Some(number) = port.get("hostPort").and_then(Json::as_i64).filter(|n| *n > 0) {
            fact(&HOST, format!("uses port {number} of the node"), false, &["ports"]);
        }
    }
}

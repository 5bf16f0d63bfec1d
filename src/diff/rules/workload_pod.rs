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
        let new_here = pair.old.is_none() || !fact.who.is_empty() && !had.contains(&fact.who);
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
    let mut facts = spec(new);
    facts.retain(|fact| !known(fact));
    join_capabilities(&mut facts);
    for fact in facts {
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

/// Joins the default capabilities that a container keeps into one fact.
fn join_capabilities(facts: &mut Vec<Fact>) {
    let mut joined: Vec<Fact> = Vec::new();
    for fact in facts.drain(..) {
        let name = fact.what.strip_prefix(KEEPS);
        match joined.last_mut().filter(|last| last.who == fact.who && last.what.starts_with(KEEPS))
        {
            Some(last) if let Some(name) = name => {
                last.what += ", ";
                last.what += name;
            }
            _ => joined.push(fact),
        }
    }
    let all = format!("{KEEPS}{}", DEFAULT_CAPABILITIES.join(", "));
    for fact in joined.iter_mut().filter(|fact| fact.what == all) {
        fact.what = "keeps the default capabilities".to_owned();
    }
    *facts = joined;
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

/// A privilege that a pod or container has, or lacks a field against.
struct Privilege {
    rule: &'static Rule,
    /// Field of the pod, or of the container's `securityContext`.
    field: &'static str,
    what: &'static str,
    /// See [`Fact::usual`].
    usual: bool,
    has: fn(&Fields<'_>) -> bool,
}

impl Privilege {
    const fn rare(
        rule: &'static Rule,
        field: &'static str,
        what: &'static str,
        has: fn(&Fields<'_>) -> bool,
    ) -> Self {
        Privilege { rule, field, what, usual: false, has }
    }

    const fn usual(
        rule: &'static Rule,
        field: &'static str,
        what: &'static str,
        has: fn(&Fields<'_>) -> bool,
    ) -> Self {
        Privilege { rule, field, what, usual: true, has }
    }
}

/// Privileges of pods.
static OF_PODS: &[Privilege] = &[
    Privilege::rare(&HOST, "hostNetwork", "pods use the network of their node", |pod| {
        is_true(pod.own("hostNetwork"))
    }),
    Privilege::rare(&HOST, "hostPID", "pods see the processes of their node", |pod| {
        is_true(pod.own("hostPID"))
    }),
    Privilege::rare(&HOST, "hostIPC", "pods share memory with their node", |pod| {
        is_true(pod.own("hostIPC"))
    }),
    Privilege::rare(
        &HOST,
        "shareProcessNamespace",
        "containers see the processes of each other",
        |pod| is_true(pod.own("shareProcessNamespace")),
    ),
    Privilege::usual(&HARDENING, "hostUsers", "users of pods are users of their node", |pod| {
        !is_false(pod.own("hostUsers"))
    }),
    Privilege::usual(
        &HARDENING,
        "automountServiceAccountToken",
        "pods get the token of their ServiceAccount",
        |pod| !is_false(pod.own("automountServiceAccountToken")),
    ),
];

/// Privileges of containers. Fields that both have are those of the container, else of its pod.
static OF_CONTAINERS: &[Privilege] = &[
    Privilege::rare(&PRIVILEGED, "privileged", "is privileged", |context| {
        is_true(context.own("privileged"))
    }),
    Privilege::rare(
        &PRIVILEGED,
        "allowPrivilegeEscalation",
        "may gain privileges (allowPrivilegeEscalation)",
        |context| !is_false(context.own("allowPrivilegeEscalation")),
    ),
    Privilege::rare(&PRIVILEGED, "runAsUser", "may run as root", |context| {
        context.user() == Some(0) && !context.is_not_root()
    }),
    // Without both, the image's USER decides, which is root unless it says otherwise.
    Privilege::rare(&PRIVILEGED, "runAsNonRoot", "may run as root", |context| {
        context.user().is_none() && !context.is_not_root()
    }),
    Privilege::usual(
        &HARDENING,
        "readOnlyRootFilesystem",
        "may write to its root file system",
        |context| !is_true(context.own("readOnlyRootFilesystem")),
    ),
    Privilege::usual(&HARDENING, "seccompProfile", "has no seccomp profile", |context| {
        let profile = context.either("seccompProfile").and_then(|profile| profile.get("type"));
        profile.is_none_or(|kind| kind == "Unconfined")
    }),
    // Without the field, the runtime has a profile.
    Privilege::rare(&HARDENING, "appArmorProfile", "has no AppArmor profile", |context| {
        let profile = context.either("appArmorProfile").and_then(|profile| profile.get("type"));
        profile.is_some_and(|kind| kind == "Unconfined")
    }),
    Privilege::rare(&HARDENING, "procMount", "sees an unmasked /proc", |context| {
        context.own("procMount").is_some_and(|kind| kind == "Unmasked")
    }),
    Privilege::rare(&HOST, "windowsOptions", "is a process of its Windows node", |context| {
        let options = context.either("windowsOptions");
        is_true(options.and_then(|options| options.get("hostProcess")))
    }),
    Privilege::usual(
        &NOT_ROOT,
        "runAsNonRoot",
        "must not run as root, and has no runAsUser",
        |context| context.user().is_none() && context.is_not_root(),
    ),
];

/// SELinux types that the baseline Pod Security Standard admits.
const SELINUX_TYPES: [&str; 5] =
    ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

/// Kernel parameters of a pod alone, which the baseline Pod Security Standard admits.
const SYSCTLS: [&str; 10] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_syncookies",
];

/// Capabilities of a container that drops none, in containerd.
const DEFAULT_CAPABILITIES: [&str; 14] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "NET_RAW",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// Start of facts about one of these, before its name.
const KEEPS: &str = "keeps the default capabilities ";

/// Fields of a pod, or of the `securityContext` of a container and of its pod.
struct Fields<'a> {
    own: Option<&'a Json>,
    pod: Option<&'a Json>,
}

impl<'a> Fields<'a> {
    fn own(&self, field: &str) -> Option<&'a Json> {
        self.own?.get(field).filter(|value| !value.is_null())
    }

    fn either(&self, field: &str) -> Option<&'a Json> {
        let of_pod = || self.pod?.get(field).filter(|value| !value.is_null());
        self.own(field).or_else(of_pod)
    }

    fn user(&self) -> Option<i64> {
        self.either("runAsUser").and_then(Json::as_i64)
    }

    fn is_not_root(&self) -> bool {
        is_true(self.either("runAsNonRoot"))
    }
}

/// Returns the privileges of a pod and its containers.
fn facts(spec: &Json) -> Vec<Fact> {
    let mut facts = Vec::new();
    let items = |list: &str| spec.get(list).and_then(Json::as_array).into_iter().flatten();
    let mut of_pod = |rule, what: String, usual, path| {
        facts.push(Fact { rule, who: String::new(), what, usual, path });
    };
    let fields = Fields { own: Some(spec), pod: None };
    for Privilege { rule, field, what, usual, has } in OF_PODS {
        if has(&fields) {
            of_pod(rule, (*what).to_owned(), *usual, vec![key(field)]);
        }
    }
    for volume in items("volumes") {
        if let Some(path) = at(volume, &["hostPath", "path"]).and_then(Json::as_str) {
            let what = format!("pods mount `{path}` of their node");
            of_pod(&HOST, what, false, vec![key("volumes"), named(volume)]);
        }
    }
    let pod = spec.get("securityContext");
    let sysctls = pod.and_then(|pod| pod.get("sysctls")).and_then(Json::as_array);
    for sysctl in sysctls.into_iter().flatten() {
        let name = sysctl.get("name").and_then(Json::as_str).unwrap_or_default();
        if !SYSCTLS.contains(&name) {
            let what = format!("pods set the kernel parameter `{name}`");
            of_pod(&HOST, what, false, vec![key("securityContext"), key("sysctls")]);
        }
    }

    for list in ["containers", "initContainers"] {
        for container in items(list) {
            let context = Fields { own: container.get("securityContext"), pod };
            of_container(list, container, &context, &mut facts);
        }
    }
    facts
}

fn of_container(list: &str, container: &Json, context: &Fields<'_>, facts: &mut Vec<Fact>) {
    let name = container.get("name").and_then(Json::as_str).unwrap_or_default();
    let mut fact = |rule, what: String, usual, path: &[&str]| {
        let start = [key(list), named(container)].into_iter();
        let path = start.chain(path.iter().map(|step| key(step))).collect();
        facts.push(Fact { rule, who: name.to_owned(), what, usual, path });
    };
    for Privilege { rule, field, what, usual, has } in OF_CONTAINERS {
        if has(context) {
            fact(rule, (*what).to_owned(), *usual, &["securityContext", field]);
        }
    }

    let capabilities = |list| {
        let capabilities = context.own("capabilities");
        super::texts(capabilities.and_then(|capabilities| capabilities.get(list)))
    };
    for added in capabilities("add") {
        let what = format!("has the capability {added}");
        fact(&CAPABILITY, what, false, &["securityContext", "capabilities", "add"]);
    }
    let dropped = capabilities("drop");
    let drops = |name: &str| dropped.iter().any(|dropped| dropped.eq_ignore_ascii_case(name));
    for kept in DEFAULT_CAPABILITIES.iter().filter(|name| !drops("ALL") && !drops(name)) {
        let what = format!("{KEEPS}{kept}");
        fact(&CAPABILITY, what, true, &["securityContext", "capabilities", "drop"]);
    }

    let labels = context.either("seLinuxOptions");
    for label in ["user", "role", "type"] {
        let value = labels.and_then(|labels| labels.get(label)).and_then(Json::as_str);
        let is_usual = |value: &&str| {
            if label == "type" { SELINUX_TYPES.contains(value) } else { value.is_empty() }
        };
        if let Some(value) = value.filter(|value| !is_usual(value)) {
            let what = format!("runs with the SELinux {label} {value}");
            fact(&HARDENING, what, false, &["securityContext", "seLinuxOptions"]);
        }
    }
    for port in container.get("ports").and_then(Json::as_array).into_iter().flatten() {
        if let Some(number) = port.get("hostPort").and_then(Json::as_i64).filter(|n| *n > 0) {
            fact(&HOST, format!("uses port {number} of the node"), false, &["ports"]);
        }
    }
}

fn named(item: &Json) -> Step {
    let name = item.get("name").and_then(Json::as_str).unwrap_or_default();
    Step::Item(vec![("name".to_owned(), name.to_owned())])
}

fn is_true(value: Option<&Json>) -> bool {
    value.and_then(Json::as_bool).unwrap_or_default()
}

fn is_false(value: Option<&Json>) -> bool {
    value.and_then(Json::as_bool) == Some(false)
}

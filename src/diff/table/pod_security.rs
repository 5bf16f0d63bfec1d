//! Every field of the security of pods: loosened it is risky, tightened it is not.

use super::*;
use crate::harm::Harm;

/// The place of a field.
#[derive(Clone, Copy)]
enum At {
    /// In the pod.
    Pod,
    /// In a container.
    Container,
    /// In the security context of a container.
    Context,
    /// In the security context of a container, or of the pod for all containers without it.
    Either,
}
use At::{Container, Context, Either, Pod};

/// A field with a tight and a loose value (null is a missing field), and the rule and finding about
/// the loose one, for a container after its name.
type Field = (At, &'static str, Json, Json, &'static str, &'static str);

fn fields() -> Vec<Field> {
    let (privileged, host) = ("pod-privileged", "pod-host-access");
    let (capability, hardening) = ("pod-capability", "pod-hardening-lost");
    let none = || json!(null);
    let volume = |source: &str| json!([{"name": "v", source: {"path": "/dev"}}]);
    let sysctl = |name: &str| json!([{"name": name, "value": "1"}]);
    let port = |port: i64| json!([{"containerPort": 80, "hostPort": port}]);
    let keeps = "keeps the default capabilities";
    let drops = |names: &[&str]| json!({"drop": names});
    let adds = |names: &[&str]| json!({"drop": ["ALL"], "add": names});
    let kind = |kind: &str| json!({"type": kind});
    let root = "may run as root";
    vec![
        (Pod, "hostNetwork", none(), json!(true), host, "pods use the network of their node"),
        (Pod, "hostPID", json!(false), json!(true), host, "pods see the processes of their node"),
        (Pod, "hostIPC", none(), json!(true), host, "pods share memory with their node"),
        (
            Pod,
            "shareProcessNamespace",
            none(),
            json!(true),
            host,
            "containers see the processes of each other",
        ),
        (
            Pod,
            "hostUsers",
            json!(false),
            none(),
            hardening,
            "users of pods are users of their node",
        ),
        (
            Pod,
            "automountServiceAccountToken",
            json!(false),
            json!(true),
            hardening,
            "pods get the token of their ServiceAccount",
        ),
        (
            Pod,
            "volumes",
            volume("emptyDir"),
            volume("hostPath"),
            host,
            "pods mount `/dev` of their node",
        ),
        (
            Pod,
            "securityContext",
            json!({"sysctls": sysctl("net.ipv4.tcp_syncookies")}),
            json!({"sysctls": sysctl("kernel.msgmax")}),
            host,
            "pods set the kernel parameter `kernel.msgmax`",
        ),
        (Container, "ports", port(0), port(1), host, "uses port 1 of the node"),
        (Context, "privileged", none(), json!(true), privileged, "is privileged"),
        (
            Context,
            "allowPrivilegeEscalation",
            json!(false),
            none(),
            privileged,
            "may gain privileges (allowPrivilegeEscalation)",
        ),
        (
            Context,
            "readOnlyRootFilesystem",
            json!(true),
            none(),
            hardening,
            "may write to its root file system",
        ),
        (Context, "procMount", none(), json!("Unmasked"), hardening, "sees an unmasked /proc"),
        (Context, "capabilities", drops(&["all"]), none(), capability, keeps),
        (
            Context,
            "capabilities",
            drops(&["CHOWN", "NET_RAW"]),
            drops(&["CHOWN"]),
            capability,
            "keeps the default capabilities NET_RAW",
        ),
        (
            Context,
            "capabilities",
            drops(&["KILL", "CHOWN", "MKNOD"]),
            drops(&["MKNOD"]),
            capability,
            "keeps the default capabilities CHOWN, KILL",
        ),
        (
            Context,
            "capabilities",
            adds(&["NET_ADMIN"]),
            adds(&["NET_ADMIN", "SYS_PTRACE"]),
            capability,
            "has the capability SYS_PTRACE",
        ),
        (Either, "runAsNonRoot", json!(true), json!(false), privileged, root),
        (Either, "seccompProfile", kind("Localhost"), none(), hardening, "has no seccomp profile"),
        (
            Either,
            "seccompProfile",
            kind("RuntimeDefault"),
            kind("Unconfined"),
            hardening,
            "has no seccomp profile",
        ),
        (
            Either,
            "appArmorProfile",
            none(),
            kind("Unconfined"),
            hardening,
            "has no AppArmor profile",
        ),
        (
            Either,
            "seLinuxOptions",
            kind("container_t"),
            kind("spc_t"),
            hardening,
            "runs with the SELinux type spc_t",
        ),
        (
            Either,
            "seLinuxOptions",
            json!({"user": "", "role": ""}),
            json!({"user": "", "role": "sysadm_r"}),
            hardening,
            "runs with the SELinux role sysadm_r",
        ),
        (
            Either,
            "seLinuxOptions",
            none(),
            json!({"user": "sysadm_u"}),
            hardening,
            "runs with the SELinux user sysadm_u",
        ),
        (
            Either,
            "windowsOptions",
            json!({"hostProcess": false}),
            json!({"hostProcess": true}),
            host,
            "is a process of its Windows node",
        ),
    ]
}

/// Returns pods with a value of a field in these lists of containers; in the pod for none.
fn pods(at: At, field: &str, value: &Json, lists: &[&str]) -> Of {
    let mut deployment = pod(json!({}), json!({}));
    let spec = &mut deployment["spec"]["template"]["spec"];
    let mut first = spec["containers"][0].clone();
    first["name"] = json!("i");
    spec["initContainers"] = json!([first]);
    let set = |place: &mut Json| {
        join(place, json!({field: null}));
        join(place, json!({field: value}));
    };
    match at {
        Pod => set(spec),
        Container => lists.iter().for_each(|list| set(&mut spec[*list][0])),
        Context | Either if !lists.is_empty() => {
            lists.iter().for_each(|list| set(&mut spec[*list][0]["securityContext"]));
        }
        Context | Either => {
            for list in ["containers", "initContainers"] {
                join(&mut spec[list][0]["securityContext"], json!({field: null}));
            }
            spec["securityContext"] = json!({});
            set(&mut spec["securityContext"]);
        }
    }
    one(deployment)
}

/// Adds another edit to the pod and its parts, or to the pod alone, before their fields.
pub(super) fn with_other_edits(of: Of, value: u8, only_pod: bool) -> Of {
    let Of::Objects(mut objects) = of else { panic!("objects") };
    let parts = [
        "",
        "/securityContext",
        "/containers/0",
        "/containers/0/securityContext",
        "/initContainers/0",
        "/initContainers/0/securityContext",
        "/containers/0/securityContext/capabilities",
        "/initContainers/0/securityContext/capabilities",
    ];
    for part in parts.iter().take(if only_pod { 2 } else { parts.len() }) {
        let place = format!("/spec/template/spec{part}");
        if let Some(Json::Object(map)) = objects[0].pointer_mut(&place) {
            let mut fields = serde_json::Map::from_iter([("a".to_owned(), json!(value))]);
            fields.append(map);
            *map = fields;
        }
    }
    Of::Objects(objects)
}

/// Asserts that no finding about these codes is at one of the other edits.
#[track_caller]
fn assert_own_edits(set: &ChangeSet, codes: &[&str]) {
    let mut count = 0;
    for (_, change) in set.changes() {
        let own = change.findings.iter().filter(|finding| codes.contains(&finding.rule.code));
        for finding in own {
            assert!(
                !change.path.to_string().ends_with(".a"),
                "{}: {}",
                change.path,
                finding.reason
            );
            count += 1;
        }
    }
    assert!(count > 0, "no {codes:?}");
}

/// Privileges that most pods and containers have, so that they are no news about new ones.
fn is_usual(what: &str) -> bool {
    let usual = [
        "users of pods are users of their node",
        "pods get the token",
        "may write to its root file system",
        "has no seccomp profile",
        "keeps the default capabilities",
    ];
    usual.iter().any(|start| what.starts_with(start))
}

/// Returns the risks and what breaks, as `CODE REASON`; of those about access only these.
fn risks(set: &ChangeSet, only_access: bool) -> Vec<String> {
    let findings = set.changes().flat_map(|(_, change)| &change.findings);
    let risks = findings.filter(|finding| match finding.rule.harm {
        Some(harm) => harm == Harm::Escalation || !only_access,
        None => false,
    });
    risks.map(|finding| format!("{} {}", finding.rule.code, finding.reason)).collect()
}

#[test]
fn loosened_fields_are_risky_and_tightened_ones_are_not() {
    for (at, field, tight, loose, code, what) in fields() {
        let places: &[(&[&str], &[&str])] = match at {
            Pod => &[(&[], &[""])],
            Container | Context => &[
                (&["containers"], &["container c "]),
                (&["initContainers"], &["container i "]),
                (&["containers", "initContainers"], &["container c ", "container i "]),
            ],
            Either => &[
                (&["initContainers"], &["container i "]),
                (&[], &["container c ", "container i "]),
            ],
        };
        for (lists, who) in places {
            let [tight, loose] = [&tight, &loose].map(|value| pods(at, field, value, lists));
            let found = risks(&diff(tight.clone(), loose.clone()), true);
            let expected: Vec<String> =
                who.iter().map(|who| format!("{code} {who}{what}")).collect();
            assert_eq!(found, expected, "{field} in {lists:?} loosened");

            // Less access can be too little, which other rules report.
            let found = risks(&diff(loose, tight), true);
            assert_eq!(found, [""; 0], "{field} in {lists:?} tightened");
        }

        // The finding is at the edit of the field, and only rare privileges are news about new pods.
        let lists: &[&str] = if matches!(at, Pod) { &[] } else { &["containers"] };
        let [old, new] = [(&tight, 1), (&loose, 2)]
            .map(|(value, other)| with_other_edits(pods(at, field, value, lists), other, false));
        assert_own_edits(&diff(old, new), &[code]);
        let found = risks(&diff(none(), pods(at, field, &loose, lists)), true);
        let has = found.iter().any(|found| found.ends_with(what));
        assert_eq!(has, !is_usual(what), "{field} of new pods: {found:?}");
    }
}

/// Kubernetes, Pod Security Standards, baseline: kernel parameters and SELinux types that every pod may
/// have, and the capabilities that containerd gives to a container.
#[test]
fn what_the_baseline_admits_is_no_risk() {
    let none = |at| pods(at, "securityContext", &json!({}), &[]);
    for name in [
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
    ] {
        let set = json!({"sysctls": [{"name": name, "value": "1"}]});
        let set = pods(Pod, "securityContext", &set, &[]);
        assert_eq!(risks(&diff(none(Pod), set), true), [""; 0], "{name}");
    }
    let lists = ["containers"];
    for kind in ["container_t", "container_init_t", "container_kvm_t", "container_engine_t"] {
        let [unset, set] = [json!(null), json!({"type": kind})]
            .map(|options| pods(Context, "seLinuxOptions", &options, &lists));
        assert_eq!(risks(&diff(unset, set), true), [""; 0], "{kind}");
    }

    let given = "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE NET_RAW \
                 SETFCAP SETGID SETPCAP SETUID SYS_CHROOT";
    let given: Vec<&str> = given.split(' ').collect();
    let dropped = |names: &[&str]| pods(Context, "capabilities", &json!({"drop": names}), &lists);
    for kept in &given {
        let others: Vec<&str> = given.iter().copied().filter(|name| name != kept).collect();
        let expected = format!("pod-capability container c keeps the default capabilities {kept}");
        assert_eq!(risks(&diff(dropped(&given), dropped(&others)), true), [expected]);
    }
}

/// The files of a claim belong to a user and groups.
#[test]
fn users_of_mounted_claims() {
    let side = |context: Json, claim: &str| {
        let claim = json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
        pod_spec(json!({"securityContext": context, "volumes": claim}))
    };
    for field in ["runAsUser", "runAsGroup", "fsGroup", "supplementalGroups"] {
        let set = diff(side(json!({}), "a"), side(json!({field: 1}), "a"));
        let found: Vec<&str> = set
            .changes()
            .flat_map(|(_, change)| &change.findings)
            .filter(|finding| finding.rule.code == "pod-user-changed")
            .map(|finding| finding.reason.as_str())
            .collect();
        assert_eq!(found, [format!("securityContext.{field}: unset → 1")], "{field}");
    }
    let set = diff(side(json!({}), "a"), side(json!({}), "b"));
    let expected = "PersistentVolumeClaim a is no longer mounted";
    let found = set.changes().flat_map(|(_, change)| &change.findings);
    assert!(found.into_iter().any(|finding| finding.reason == expected));
    let [old, new] = [("a", 1), ("b", 2)]
        .map(|(claim, other)| with_other_edits(side(json!({}), claim), other, true));
    assert_own_edits(&diff(old, new), &["volume-claim-unused"]);
}

/// User and `runAsNonRoot` on both sides: what is said about the second one.
#[test]
fn users_of_containers() {
    let context = |user: Option<i64>, not_root: Option<bool>| {
        confined(json!({"runAsUser": user, "runAsNonRoot": not_root}))
    };
    let root = "pod-privileged container c may run as root";
    let usual = (Some(1), Some(false));
    for (new, expected) in [
        ((None, None), vec![root]),
        ((None, Some(false)), vec![root]),
        ((Some(0), Some(false)), vec![root]),
        (
            (Some(0), Some(true)),
            vec!["root-not-allowed container c: runAsUser 0 with runAsNonRoot"],
        ),
        ((Some(2), None), vec![]),
        (
            (None, Some(true)),
            vec!["run-as-non-root-required container c must not run as root, and has no runAsUser"],
        ),
    ] {
        let set = diff(context(usual.0, usual.1), context(new.0, new.1));
        assert_eq!(risks(&set, false), expected, "{new:?}");
        let sides = [(usual, 1), (new, 2)]
            .map(|((user, root), other)| with_other_edits(context(user, root), other, false));
        // Where only runAsUser is removed, the field that would forbid root has no edit.
        if [(Some(0), Some(false)), (None, Some(true))].contains(&new) {
            let codes = ["pod-privileged", "run-as-non-root-required"];
            let [old, new] = sides;
            assert_own_edits(&diff(old, new), &codes);
        }
    }

    // A null is no value: that of the pod counts.
    let of_pod = json!({"securityContext": {"runAsNonRoot": true, "runAsUser": 1}});
    let mut pods = pod(json!({}), of_pod);
    let own = &mut pods["spec"]["template"]["spec"]["containers"][0]["securityContext"];
    own["runAsNonRoot"] = json!(null);
    assert_eq!(risks(&diff(context(Some(1), Some(true)), one(pods)), true), [""; 0]);
}

/// A setting that most containers have is no news about new ones.
#[test]
fn new_pods_and_containers_are_reported_for_rare_privileges() {
    let rare = json!({"name": "n", "securityContext": {"privileged": true}});
    let usual = pod(json!({"securityContext": null}), json!({"hostPID": true}));
    let two = |container: Json| {
        let mut pods = usual.clone();
        let containers = &mut pods["spec"]["template"]["spec"]["containers"];
        containers.as_array_mut().expect("a list").push(container);
        one(pods)
    };
    assert_eq!(
        risks(&diff(none(), one(usual.clone())), true),
        [
            "pod-host-access pods see the processes of their node",
            "pod-privileged container c may gain privileges (allowPrivilegeEscalation)",
            "pod-privileged container c may run as root",
        ]
    );
    let set = diff(one(usual.clone()), two(rare));
    assert_eq!(risks(&set, true), ["pod-privileged container n is privileged"]);
    // Also one that another container has.
    let adds = json!({"add": ["NET_ADMIN"], "drop": ["ALL"]});
    let other = json!({"name": "n", "securityContext": {"capabilities": adds}});
    let first = pod(json!({"securityContext": {"capabilities": adds}}), json!({}));
    let mut both = first.clone();
    let containers = &mut both["spec"]["template"]["spec"]["containers"];
    containers.as_array_mut().expect("a list").push(other);
    let found = risks(&diff(one(first.clone()), one(both)), true);
    assert!(
        found.contains(&"pod-capability container n has the capability NET_ADMIN".to_owned()),
        "{found:?}"
    );
    // A container that was there does not get what a removed one had.
    let removed = json!({"name": "r", "securityContext": {"privileged": true}});
    let mut before = pod(json!({}), json!({}));
    let containers = &mut before["spec"]["template"]["spec"]["containers"];
    containers.as_array_mut().expect("a list").push(removed);
    let after = confined(json!({"privileged": true}));
    let expected = ["pod-privileged container c is privileged"];
    assert_eq!(risks(&diff(one(before), after), true), expected);
    // A container with another name has what the removed one had.
    let renamed =
        |name: &str| container(json!({"name": name, "securityContext": {"privileged": true}}));
    assert_eq!(risks(&diff(renamed("a"), renamed("b")), true), [""; 0]);
}

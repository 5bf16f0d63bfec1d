//! For every rule a pair of sides that it is about, and a near miss that it is not about.

#![allow(clippy::expect_used, clippy::panic, reason = "a test")]

mod apis;
mod faults;
mod fields;
mod mutations;
mod pod_security;
mod principles;
mod references;
mod runs;
mod samples;
mod schema_keywords;
mod settings;
mod workloads;

use super::plan::StepKind;
use super::summary::Summary;
use super::{ChangeSet, ChartFacts, Class, Options, Placement, Side, compare, render, rules};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

use apis::{crds, rbac, schemas};
use runs::{charts, objects, services, webhooks, workloads};

/// Objects of a side, or the facts of a chart.
#[derive(Clone)]
enum Of {
    Objects(Vec<Json>),
    Chart(ChartFacts),
    Both(Vec<Json>, ChartFacts),
}

fn side(of: Of) -> Side {
    match of {
        Of::Objects(objects) => Side::new("x", objects, "ns", None),
        Of::Chart(facts) => Side::new("x", [], "ns", Some(facts)),
        Of::Both(objects, facts) => Side::new("x", objects, "ns", Some(facts)),
    }
}

fn diff(old: Of, new: Of) -> ChangeSet {
    compare(side(old), side(new), &Options::default())
}

fn found(set: &ChangeSet) -> BTreeSet<&'static str> {
    let of_changes = set.changes().flat_map(|(_, change)| &change.findings);
    of_changes.map(|f| f.rule.code).collect()
}

/// Returns the codes of the findings, each once and sorted.
fn codes(old: Of, new: Of) -> Vec<&'static str> {
    found(&diff(old, new)).into_iter().collect()
}

/// Returns the findings as `CODE REASON`.
fn judged(old: Of, new: Of) -> Vec<String> {
    let set = diff(old, new);
    let findings = set.changes().flat_map(|(_, change)| &change.findings);
    findings.map(|finding| format!("{} {}", finding.rule.code, finding.reason)).collect()
}

fn one(object: Json) -> Of {
    Of::Objects(vec![object])
}

fn none() -> Of {
    Of::Objects(Vec::new())
}

fn object(api: &str, kind: &str, name: &str, rest: Json) -> Json {
    let mut object = json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}});
    let (Json::Object(object_map), Json::Object(rest)) = (&mut object, rest) else {
        panic!("maps")
    };
    object_map.extend(rest);
    object
}

/// A CRD with this `spec` over a usual one.
fn crd(spec: Json) -> Json {
    let mut usual = json!({"group": "g", "scope": "Namespaced",
        "names": {"kind": "K", "plural": "ks"},
        "versions": [version("v1", json!({"type": "object"}))]});
    let (Json::Object(usual_map), Json::Object(spec)) = (&mut usual, spec) else { panic!("maps") };
    usual_map.extend(spec);
    object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "ks.g", json!({"spec": usual}))
}

fn version(name: &str, schema: Json) -> Json {
    json!({"name": name, "served": true, "storage": name == "v1",
        "schema": {"openAPIV3Schema": schema}})
}

fn versions(list: &[Json]) -> Of {
    one(crd(json!({"versions": list})))
}

/// A CRD with this schema for its spec.
fn schema(spec: Json) -> Of {
    versions(&[version("v1", json!({"type": "object", "properties": {"spec": spec}}))])
}

/// The same with the field `a`.
fn field(a: Json) -> Of {
    schema(json!({"type": "object", "properties": {"a": a}}))
}

fn text(rest: Json) -> Of {
    let mut a = json!({"type": "string"});
    let (Json::Object(map), Json::Object(rest)) = (&mut a, rest) else { panic!("maps") };
    map.extend(rest);
    field(a)
}

fn status(status: Json) -> Of {
    versions(&[version("v1", json!({"type": "object", "properties": {"status": status}}))])
}

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Json {
    json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
}

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

fn role(kind: &str, name: &str, rules: &[Json]) -> Json {
    object(RBAC, kind, name, json!({"rules": rules}))
}

fn binding(kind: &str, name: &str, role: &str, subjects: &[&str]) -> Json {
    let role_kind = if kind == "RoleBinding" { "Role" } else { "ClusterRole" };
    let subjects: Vec<Json> = subjects
        .iter()
        .map(|name| json!({"kind": "ServiceAccount", "name": name, "namespace": "ns"}))
        .collect();
    object(
        RBAC,
        kind,
        name,
        json!({"subjects": subjects, "roleRef": {
        "apiGroup": RBAC_GROUP, "kind": role_kind, "name": role}}),
    )
}

/// A Role with these rules, bound to `sa`.
fn bound(rules: &[Json]) -> Of {
    Of::Objects(vec![role("Role", "r", rules), binding("RoleBinding", "b", "r", &["sa"])])
}

/// A ClusterRole with these rules, bound to `sa`.
fn everywhere(rules: &[Json]) -> Of {
    Of::Objects(vec![
        role("ClusterRole", "r", rules),
        binding("ClusterRoleBinding", "b", "r", &["sa"]),
    ])
}

/// A confined Deployment with this container over a usual one, and this pod spec.
fn pod(container: Json, spec: Json) -> Json {
    let mut usual = json!({"name": "c", "image": "r.io/a:1",
        "securityContext": {"allowPrivilegeEscalation": false, "runAsNonRoot": true,
            "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"}}});
    join(&mut usual, container);
    let mut pod = json!({"containers": [usual]});
    join(&mut pod, spec);
    object(
        "apps/v1",
        "Deployment",
        "d",
        json!({"spec": {"replicas": 2,
        "selector": {"matchLabels": {"app": "d"}},
        "template": {"metadata": {"labels": {"app": "d"}}, "spec": pod}}}),
    )
}

/// Map over map; null removes.
fn join(under: &mut Json, over: Json) {
    match (under, over) {
        (Json::Object(under), Json::Object(over)) => {
            for (key, value) in over {
                if value.is_null() {
                    under.shift_remove(&key);
                } else {
                    join(under.entry(key).or_insert(Json::Null), value);
                }
            }
        }
        (under, over) => *under = over,
    }
}

fn container(rest: Json) -> Of {
    one(pod(rest, json!({})))
}

fn pod_spec(rest: Json) -> Of {
    one(pod(json!({}), rest))
}

fn confined(context: Json) -> Of {
    container(json!({"securityContext": context}))
}

fn deployment(rest: Json) -> Of {
    let mut deployment = pod(json!({}), json!({}));
    join(&mut deployment, json!({"spec": rest}));
    one(deployment)
}

fn hook(rest: Json) -> Json {
    let mut usual = json!({"name": "w.e.g", "failurePolicy": "Ignore", "sideEffects": "None",
        "rules": [{"apiGroups": ["g"], "apiVersions": ["v1"], "resources": ["ks"],
            "operations": ["CREATE"]}],
        "clientConfig": {}});
    join(&mut usual, rest);
    usual
}

fn hooks(list: &[Json]) -> Of {
    one(object(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        "w",
        json!({"webhooks": list}),
    ))
}

fn webhook(rest: Json) -> Of {
    hooks(&[hook(rest)])
}

fn service(rest: Json) -> Of {
    let mut service = object(
        "v1",
        "Service",
        "s",
        json!({"spec": {"selector": {"app": "d"},
        "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}}),
    );
    join(&mut service, json!({"spec": rest}));
    one(service)
}

fn policy(spec: Json) -> Of {
    one(object("networking.k8s.io/v1", "NetworkPolicy", "n", json!({"spec": spec})))
}

fn values(values: Json) -> Of {
    Of::Chart(ChartFacts { values, ..ChartFacts::default() })
}

fn placed(at: Placement) -> Of {
    Of::Chart(ChartFacts { crds: [("ks.g".to_owned(), at)].into(), ..ChartFacts::default() })
}

fn kube(version: &str) -> Of {
    Of::Chart(ChartFacts { kube_version: version.to_owned(), ..ChartFacts::default() })
}

fn config_map(name: &str, data: Json) -> Json {
    object("v1", "ConfigMap", name, json!({"data": data}))
}

/// A rule, a pair that it is about, and a pair that looks like it and is not.
type Case = (&'static str, [Of; 2], [Of; 2]);

/// The cases by subject.
fn subjects() -> [(&'static str, Vec<Case>); 8] {
    [
        ("crds", crds()),
        ("schemas", schemas()),
        ("rbac", rbac()),
        ("workloads", workloads()),
        ("webhooks", webhooks()),
        ("services", services()),
        ("charts", charts()),
        ("objects", objects()),
    ]
}

fn cases() -> Vec<Case> {
    subjects().into_iter().flat_map(|(_, cases)| cases).collect()
}

#[test]
fn every_rule_hits_and_misses() {
    let mut wrong = Vec::new();
    for (index, (code, [old, new], [near_old, near_new])) in cases().into_iter().enumerate() {
        let codes = found(&diff(old, new));
        if !codes.contains(code) {
            wrong.push(format!("{index}: {code} not in {codes:?}"));
        }
        let codes = found(&diff(near_old, near_new));
        if codes.contains(code) {
            wrong.push(format!("{index}: {code} in the near miss {codes:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut tested: BTreeSet<&str> = cases().iter().map(|(code, ..)| *code).collect();
    tested.extend(mutations::codes());
    let all: BTreeSet<&str> = rules::all().map(|rule| rule.code).collect();
    assert_eq!(tested, all);
    assert!(cases().len() * 2 >= 160, "{} pairs", cases().len() * 2);
}

/// Returns the findings of a comparison as text: each change with its findings, then notices.
fn findings(title: &str, set: &ChangeSet) -> String {
    let finding = |f: &super::Finding| {
        format!("    {}[{}] {}\n", f.rule.class.as_str(), f.rule.code, f.reason)
    };
    let mut text = format!("{title}\n");
    for (object, change) in set.changes() {
        text += &format!("  {}: {}\n", object.id, change.path);
        text.extend(change.findings.iter().map(finding));
    }
    text
}

/// Returns the findings of both directions as text.
fn both_directions(title: &str, [old, new]: [Side; 2]) -> String {
    let options = Options::default();
    findings(&format!("{title}:"), &compare(old.clone(), new.clone(), &options))
        + &findings("  reversed:", &compare(new, old, &options))
}

/// Compares findings with a snapshot for each subject, so that each one shows one thing.
fn assert_findings<T>(
    kind: &str,
    subjects: impl IntoIterator<Item = (&'static str, Vec<T>)>,
    shown: impl Fn(T) -> String,
) {
    for (subject, cases) in subjects {
        let text: String = cases.into_iter().map(&shown).collect();
        insta::assert_snapshot!(format!("{kind}_of_{subject}"), text);
    }
}

/// Codes say that a rule applies; this says what else does, and in which words.
#[test]
fn findings_of_all_pairs() {
    assert_findings("pairs", subjects(), |(code, [old, new], [near_old, near_new])| {
        both_directions(code, [side(old), side(new)])
            + &findings("  near miss:", &diff(near_old, near_new))
    });
}

/// All pairs of sides of these tests, in both directions.
fn all_sets() -> Vec<(String, ChangeSet)> {
    let compare = |[old, new]: [Side; 2]| compare(old, new, &Options::default());
    let mut pairs: Vec<(String, [Side; 2])> = Vec::new();
    for (code, [old, new], [near_old, near_new]) in cases() {
        pairs.push((code.to_owned(), [side(old), side(new)]));
        pairs.push((format!("near miss of {code}"), [side(near_old), side(near_new)]));
    }
    pairs.extend(samples::all().into_iter().map(|(title, sides)| (title.to_owned(), sides)));
    pairs.extend(mutations::all().into_iter().map(|(what, sides)| (what.to_owned(), sides)));
    let reversed = |(title, [old, new]): &(String, [Side; 2])| {
        (format!("{title}, reversed"), [new.clone(), old.clone()])
    };
    let reversed: Vec<_> = pairs.iter().map(reversed).collect();
    pairs.into_iter().chain(reversed).map(|(title, sides)| (title, compare(sides))).collect()
}

/// Verdict, counts, exit code and plan say the same in all formats, because all of them come from
/// the findings.
#[test]
fn a_report_does_not_contradict_itself() {
    let sets = all_sets();
    assert!(sets.len() > 1_000, "{} pairs", sets.len());
    let mut rendered: BTreeSet<(Vec<&str>, BTreeSet<StepKind>)> = BTreeSet::new();
    for (title, set) in sets {
        let found: Vec<&super::Finding> =
            set.changes().flat_map(|(_, change)| &change.findings).collect();
        let worst = found.iter().map(|finding| finding.rule.class).min();
        let summary = Summary::of(&set);
        assert_eq!((set.class(), summary.class), (worst, worst), "{title}");

        let verdict = worst.map_or("no differences", Class::as_str);
        assert!(summary.verdict.starts_with(verdict), "{title}: {}", summary.verdict);
        let document = render::json::document(&set);
        assert_eq!(document["verdict"], summary.verdict, "{title}");
        for class in Class::ALL {
            let has = found.iter().any(|finding| finding.rule.class == class);
            assert_eq!(summary.count(class) > 0, has, "{title}: {}", class.as_str());
            assert_eq!(document["counts"][class.as_str()], summary.count(class), "{title}");
        }

        // What is breaking is in a step, and what is in a step is a finding.
        let steps: BTreeSet<StepKind> = set.plan.iter().map(|step| step.kind).collect();
        assert!(set.plan.is_sorted_by_key(|step| step.kind), "{title}");
        assert_eq!(steps.len(), set.plan.len(), "{title}");
        for (index, group) in summary.groups.iter().enumerate() {
            for kind in group.rule.steps {
                let step = set.plan.iter().find(|step| step.kind == *kind);
                let step = step.unwrap_or_else(|| panic!("{title}: {kind:?} of {group:?}"));
                assert!(!step.items.is_empty(), "{title}: {kind:?}");
                assert!(step.findings.is_empty() || step.findings.contains(&index), "{title}");
            }
        }

        // All formats take seconds for all sets, and what is compared here is about rules and steps.
        let codes = found.iter().map(|finding| finding.rule.code).collect();
        if !rendered.insert((codes, steps)) {
            continue;
        }
        let style = |full| render::text::Style { colour: false, width: 100_000, full };
        let report = render::report::Report::new(vec![render::report::Comparison {
            name: String::new(),
            set: set.clone(),
        }]);
        assert_eq!(report.class(), worst, "{title}");
        let formats = [
            report.text(style(false)),
            report.text(style(true)),
            report.markdown(usize::MAX),
            report.html(),
            report.json(),
        ];
        for said in formats {
            assert!(said.contains(verdict), "{title}: {said}");
            for finding in &found {
                assert!(said.contains(finding.rule.code), "{title}: {}: {said}", finding.rule.code);
            }
            let plain = said.replace("<code>", "`").replace("</code>", "`").replace('\\', "");
            for step in &set.plan {
                assert!(
                    plain.contains(step.kind.title()),
                    "{title}: {}: {plain}",
                    step.kind.title()
                );
            }
        }
    }
}

fn step<'s>(set: &'s ChangeSet, id: &str) -> Option<&'s super::plan::Step> {
    set.plan.iter().find(|step| step.kind.id() == id)
}

#[test]
fn a_plan_says_what_happens_also_where_nobody_wants_to_read_of_it() {
    let stamped = |at: &str| {
        let mut object = pod(json!({}), json!({}));
        object["spec"]["template"]["metadata"]["annotations"] = json!({"createdAt": at});
        object["metadata"]["labels"] = json!({"at": at});
        Side::new("x", [object, crd(json!({"names": {"kind": at, "plural": "ks"}}))], "ns", None)
    };
    let ignore = |pattern: &str| super::Ignore {
        pattern: super::Pattern::parse(pattern).expect(pattern),
        reason: "noise".to_owned(),
    };
    let ignore =
        vec![ignore("Deployment:.spec.template.metadata"), ignore("CustomResourceDefinition")];
    let options = Options { ignore, ..Options::default() };
    let set = compare(stamped("a"), stamped("b"), &options);
    assert_eq!(set.changes().count(), 1);
    assert_eq!(step(&set, "restart").expect("a restart").items, ["Deployment/d"]);
    assert_eq!(step(&set, "crds").expect("CRDs").items.len(), 1);
    assert_eq!(step(&set, "check"), None);
    // What was not asked for is counted, and no part of the plan.
    let only = vec![super::Pattern::parse("Deployment:.metadata").expect("a pattern")];
    let set = compare(stamped("a"), stamped("b"), &Options { only, ..Options::default() });
    assert_eq!((step(&set, "restart"), step(&set, "crds")), (None, None));
    assert_eq!(set.ignored.len(), 1);
    assert_eq!(
        (set.ignored[0].pattern.as_str(), set.ignored[0].changes),
        ("--only Deployment:.metadata", 2)
    );
}

#[test]
fn no_command_of_a_plan_deletes_data() {
    let side = |class: &str| {
        let claim = object(
            "v1",
            "PersistentVolumeClaim",
            "data",
            json!({"spec": {"storageClassName": class}}),
        );
        let set = object("apps/v1", "StatefulSet", "db", json!({"spec": {"serviceName": class}}));
        Side::new("x", [claim, set], "ns", None)
    };
    let set = compare(side("a"), side("b"), &Options::default());
    let step = step(&set, "delete").expect("something to delete");
    assert_eq!(step.items.len(), 2);
    assert!(step.items.iter().any(|item| item.contains("copy it")), "{:?}", step.items);
    assert_eq!(
        step.commands,
        ["kubectl --namespace NAMESPACE delete --cascade=orphan statefulset db"]
    );
}

#[test]
fn the_fate_of_a_crd_that_goes_is_told() {
    let with = |at: Placement| {
        let facts = ChartFacts { crds: [("ks.g".to_owned(), at)].into(), ..ChartFacts::default() };
        Of::Both(vec![crd(json!({}))], facts)
    };
    for (at, fate) in
        [(Placement::Templates, "Helm deletes it"), (Placement::Crds, "Helm keeps it")]
    {
        let set = diff(with(at), Of::Chart(ChartFacts::default()));
        let told = set.changes().flat_map(|(_, change)| &change.findings);
        assert!(told.into_iter().any(|f| f.rule.code == "crd-removed" && f.reason.contains(fate)));
    }
}

#[test]
fn a_container_in_the_place_of_another_gains_nothing() {
    let with = |name: &str, context: Json| {
        one(pod(json!({"name": name, "securityContext": context}), json!({})))
    };
    let bare = || {
        json!({"readOnlyRootFilesystem": null, "runAsNonRoot": null,
        "capabilities": null, "allowPrivilegeEscalation": null, "seccompProfile": null})
    };
    let gained = |old: Of, new: Of| -> Vec<&str> {
        found(&diff(old, new)).into_iter().filter(|code| code.starts_with("pod-")).collect()
    };
    assert_eq!(gained(with("c", bare()), with("d", bare())), [""; 0]);
    // What is new lost nothing, and may be more than a namespace admits.
    assert_eq!(gained(none(), with("c", bare())), ["pod-privileged"]);
    assert_eq!(gained(none(), with("c", json!({}))), [""; 0]);
    assert_eq!(gained(none(), with("c", json!({"privileged": true}))), ["pod-privileged"]);
    let root = json!({"runAsUser": 0, "runAsNonRoot": null});
    assert_eq!(gained(none(), with("c", root)), ["pod-privileged"]);
    assert_eq!(
        gained(with("c", json!({})), with("c", bare())),
        ["pod-capability", "pod-hardening-lost", "pod-privileged"]
    );
}

#[test]
fn words_of_others_do_nothing_to_a_shell() {
    let side = |app: &str| {
        let mut object = pod(json!({}), json!({}));
        object["metadata"]["name"] = json!("a; $(reboot)");
        object["spec"]["selector"] = json!({"matchLabels": {"app": app}});
        Side::new("x", [object], "ns", None)
    };
    let set = compare(side("a"), side("b"), &Options::default());
    let commands = &step(&set, "delete").expect("something to delete").commands;
    let expected = "kubectl --namespace NAMESPACE delete deployment 'a; $(reboot)'";
    assert_eq!(commands.as_slice(), [expected]);
}

/// Whatever names an image, a program may start it.
#[test]
fn new_images_are_mirrored_wherever_they_are() {
    let solver = |version: usize| format!("r.io/solver:{version}");
    let config =
        |version| one(config_map("m", json!({"a.yaml": format!("x: \"{}\"", solver(version))})));
    let places: [&dyn Fn(usize) -> Of; 6] = [
        &|version| container(json!({"image": solver(version)})),
        &|version| container(json!({"args": [format!("--solver-image={}", solver(version))]})),
        &|version| container(json!({"args": ["--solver", solver(version)]})),
        &|version| container(json!({"command": ["run", solver(version)]})),
        &|version| container(json!({"env": [{"name": "X", "value": solver(version)}]})),
        &config,
    ];
    for (place, side) in places.iter().enumerate() {
        let set = diff(side(1), side(2));
        let images = step(&set, "images").map(|step| step.items.clone());
        assert_eq!(images, Some(vec![solver(2)]), "{place}");
    }
}

#[test]
fn hooks_do_not_restart() {
    let side = |image: &str| {
        let mut object = pod(json!({"image": image}), json!({}));
        object["metadata"]["annotations"] = json!({"helm.sh/hook": "test"});
        Side::new("x", [object], "ns", None)
    };
    let set = compare(side("r.io/a:1"), side("r.io/a:2"), &Options::default());
    assert_eq!(step(&set, "restart"), None);
    assert!(step(&set, "images").is_some());
}

#[test]
fn an_image_is_told_by_what_differs() {
    let image = |digest: &str| container(json!({"image": format!("r.io/a:1@sha256:{digest}")}));
    let set = diff(image("aaaa"), image("bbbb"));
    let told: Vec<&str> = set.changes().map(|(_, c)| c.findings[0].reason.as_str()).collect();
    assert_eq!(told, ["container c: image: sha256:aaaa → sha256:bbbb"]);
}

#[test]
fn another_role_is_a_gain() {
    let side = |role: &str| one(binding("ClusterRoleBinding", "b", role, &["sa"]));
    let codes = found(&diff(side("view"), side("cluster-admin")));
    assert!(codes.contains("rbac-escalation") && codes.contains("immutable-field"), "{codes:?}");
}

#[test]
fn equal_sides_do_not_differ_and_swapped_sides_swap() {
    for (code, [old, new], _) in cases() {
        assert!(diff(old.clone(), old.clone()).is_empty(), "{code}");
        let (there, back) = (diff(old.clone(), new.clone()), diff(new, old));
        for (one, other) in [("added", "removed"), ("renamed", "renamed"), ("changed", "changed")] {
            assert_eq!(there.acted(one), back.acted(other), "{code}");
            assert_eq!(there.acted(other), back.acted(one), "{code}");
        }
        let places = |set: &ChangeSet| {
            let mut places: Vec<String> = set
                .changes()
                .filter(|(object, _)| !["renamed", "affected"].contains(&object.action.as_str()))
                .map(|(object, change)| format!("{}{}", object.id, change.path))
                .collect();
            places.sort();
            places
        };
        assert_eq!(places(&there), places(&back), "{code}");
    }
}

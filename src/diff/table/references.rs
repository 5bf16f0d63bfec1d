//! Objects that go or get another name while others refer to them.

use super::*;

/// Returns the findings as `CODE REASON`, sorted.
fn said(old: Vec<Json>, new: Vec<Json>) -> Vec<String> {
    let mut said = judged(Of::Objects(old), Of::Objects(new));
    said.sort();
    said
}

fn within(namespace: &str, mut object: Json) -> Json {
    object["metadata"]["namespace"] = json!(namespace);
    object
}

/// Every field that names an object, in an object of any kind.
#[test]
fn fields_that_name_objects() {
    let thing = |spec: Json| object("example.com/v1", "Thing", "t", json!({"spec": spec}));
    let named = || json!({"name": "x"});
    let subject = |kind: &str| json!([{"kind": kind, "name": "x", "namespace": "ns"}]);
    for (kind, refers) in [
        ("ServiceAccount", json!({"serviceAccountName": "x"})),
        ("ServiceAccount", json!({"subjects": subject("ServiceAccount")})),
        ("ConfigMap", json!({"configMapRef": named()})),
        ("ConfigMap", json!({"configMapKeyRef": named()})),
        ("ConfigMap", json!({"configMap": named()})),
        ("Secret", json!({"secretRef": named()})),
        ("Secret", json!({"secretKeyRef": named()})),
        ("Secret", json!({"secret": named()})),
        ("Secret", json!({"secret": {"secretName": "x"}})),
        ("Secret", json!({"imagePullSecrets": [named()]})),
        ("PersistentVolumeClaim", json!({"persistentVolumeClaim": {"claimName": "x"}})),
        ("PriorityClass", json!({"priorityClassName": "x"})),
        ("Service", json!({"service": named()})),
        ("Service", json!({"backend": named()})),
        ("Role", json!({"roleRef": {"kind": "Role", "name": "x"}})),
        ("ClusterRole", json!({"roleRef": {"kind": "ClusterRole", "name": "x"}})),
    ] {
        let expected = "object-removed-referenced Thing/t still references it";
        let other = thing(json!({}));
        for kinds in [
            "ServiceAccount",
            "ConfigMap",
            "Secret",
            "PersistentVolumeClaim",
            "PriorityClass",
            "Service",
            "Role",
            "ClusterRole",
        ] {
            let gone = || object("v1", kinds, "x", json!({}));
            let deep = || thing(json!({"a": [{"b": refers}]}));
            let found = said(vec![gone(), deep()], vec![deep()]);
            let has = found.iter().any(|found| found == expected);
            assert_eq!(has, kinds == kind, "{kinds} {refers}: {found:?}");
        }
        // Nothing names an object of another name.
        let gone = || object("v1", kind, "x", json!({}));
        let found = said(vec![gone(), other.clone()], vec![other]);
        assert!(!found.iter().any(|found| found == expected), "{refers}: {found:?}");
    }
    for refers in [
        json!({"subjects": subject("User")}),
        json!({"name": "x"}),
        json!({"configMapRef": {"name": "x", "optional": true}}),
    ] {
        let gone = |kind: &str| object("v1", kind, "x", json!({}));
        for kind in ["ServiceAccount", "ConfigMap"] {
            let found = said(vec![gone(kind), thing(refers.clone())], vec![thing(refers.clone())]);
            assert!(!found.iter().any(|found| found.contains("still")), "{refers}: {found:?}");
        }
    }
}

/// Names are those of the namespace of the referring object, unless they have one or need none.
#[test]
fn references_between_namespaces() {
    let refers = |namespace: &str, spec: Json| {
        within(namespace, object("example.com/v1", "Thing", "t", json!({"spec": spec})))
    };
    let service = |namespace: Option<&str>| {
        let mut service = json!({"service": {"name": "x"}});
        if let Some(namespace) = namespace {
            service["service"]["namespace"] = json!(namespace);
        }
        service
    };
    let map = || json!({"configMapRef": {"name": "x"}});
    for (kind, of_object, from, spec, still) in [
        ("ConfigMap", "ns", "ns", map(), true),
        ("ConfigMap", "other", "other", map(), true),
        ("ConfigMap", "ns", "other", map(), false),
        ("Service", "other", "other", service(None), true),
        ("Service", "ns", "other", service(None), false),
        ("Service", "ns", "other", service(Some("ns")), true),
        ("Service", "other", "ns", service(Some("other")), true),
        ("Service", "other", "other", service(Some("ns")), false),
        // A class has no namespace.
        ("PriorityClass", "ns", "other", json!({"priorityClassName": "x"}), true),
    ] {
        let gone = within(of_object, object("v1", kind, "x", json!({})));
        let by = refers(from, spec);
        let codes = found(&diff(Of::Objects(vec![gone, by.clone()]), one(by.clone())));
        assert_eq!(codes.contains("object-removed-referenced"), still, "{kind} {of_object} {by}");
    }
}

/// An object that moved to another namespace.
#[test]
fn moved_objects() {
    let data: serde_json::Map<String, Json> =
        (0..9).map(|key| (format!("k{key}"), json!("text"))).collect();
    let map = |namespace: &str| within(namespace, config_map("m", Json::from(data.clone())));
    let refers = |namespace: &str| {
        let spec = json!({"configMapRef": {"name": "m"}});
        within(namespace, object("example.com/v1", "Thing", "t", json!({"spec": spec})))
    };
    let moved = "config-removed renamed from `ConfigMap/a/m`: the upgrade deletes the ConfigMap";
    let still = "object-removed-referenced Thing/a/t still references `ConfigMap/a/m`, renamed to `ConfigMap/b/m`";
    assert_eq!(said(vec![map("a")], vec![map("b")]), [moved]);
    assert_eq!(said(vec![map("a"), refers("a")], vec![map("b"), refers("a")]), [moved, still]);
}

/// A sentence about an object that many refer to.
#[test]
fn many_references() {
    let map = |name: &str| config_map(name, json!({"a": "1", "b": "2", "c": "3", "d": "4"}));
    let things = || -> Vec<Json> {
        let refers = json!({"spec": {"configMapRef": {"name": "m"}}});
        let thing = |n: u8| object("example.com/v1", "Thing", &format!("t{n}"), refers.clone());
        (0..4).map(thing).collect()
    };
    let many = "Thing/t0, Thing/t1, Thing/t2 and 1 more";
    assert_eq!(
        said([things(), vec![map("m")]].concat(), things()),
        [
            "config-removed the upgrade deletes the ConfigMap".to_owned(),
            format!("object-removed-referenced {many} still references it"),
        ]
    );
    assert_eq!(
        said([things(), vec![map("m")]].concat(), [things(), vec![map("n")]].concat()),
        [
            "config-removed renamed from `ConfigMap/m`: the upgrade deletes the ConfigMap"
                .to_owned(),
            format!(
                "object-removed-referenced {many} still references `ConfigMap/m`, renamed to `ConfigMap/n`"
            ),
        ]
    );
}

/// A renamed object is a removed one, unless all that refers to it moved, or Helm keeps it.
#[test]
fn renames() {
    let content = json!({"data": {"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}});
    let refers = |field: &str, name: &str| {
        object("example.com/v1", "Thing", "t", json!({"spec": {field: {"name": name}}}))
    };
    let (referenced, renamed) = ("object-removed-referenced", "object-renamed");
    for (kind, field, kept, before, after, expected) in [
        ("ConfigMap", "configMapRef", false, "a", "b", vec![renamed]),
        ("ConfigMap", "configMapRef", false, "a", "a", vec!["config-removed", referenced]),
        ("ConfigMap", "configMapRef", false, "x", "x", vec!["config-removed"]),
        ("ConfigMap", "configMapRef", true, "a", "a", vec![renamed]),
        ("ConfigMap", "configMapRef", true, "x", "x", vec![renamed]),
        // Clients outside of the chart use its name, too.
        ("Service", "service", false, "a", "b", vec!["service-removed"]),
        ("Service", "service", true, "a", "b", vec![renamed]),
    ] {
        let named = |name: &str| {
            let mut object = object("v1", kind, name, content.clone());
            if kept {
                object["metadata"]["annotations"] = json!({"helm.sh/resource-policy": "keep"});
            }
            object
        };
        let codes = found(&diff(
            Of::Objects(vec![named("a"), refers(field, before)]),
            Of::Objects(vec![named("b"), refers(field, after)]),
        ));
        let own = codes.into_iter().filter(|code| code.contains("remove") || *code == renamed);
        assert_eq!(Vec::from_iter(own), expected, "{kind} {kept} {before} {after}");
    }
}

/// CRDs have rules of their own, also those that Helm keeps.
#[test]
fn kept_objects() {
    for (mut object, kept) in [(config_map("m", json!({})), true), (crd(json!({})), false)] {
        object["metadata"]["annotations"] = json!({"helm.sh/resource-policy": "keep"});
        let codes = found(&diff(one(object.clone()), none()));
        assert_eq!(codes.contains("object-kept"), kept, "{object}: {codes:?}");
    }
}

/// Renamed objects and hooks that Helm recreates have no immutable fields.
#[test]
fn immutable_fields_of_recreated_objects() {
    let job = |image: &str, policy: Option<&str>| {
        let template = json!({"spec": {"containers": [{"name": "c", "image": image}]}});
        let mut job = object("batch/v1", "Job", "j", json!({"spec": {"template": template}}));
        job["metadata"]["annotations"] = json!({"helm.sh/hook": "pre-upgrade"});
        if let Some(policy) = policy {
            job["metadata"]["annotations"]["helm.sh/hook-delete-policy"] = json!(policy);
        }
        one(job)
    };
    for (policy, refused) in [
        (None, false),
        (Some("before-hook-creation"), false),
        (Some("hook-succeeded,before-hook-creation"), false),
        (Some("hook-succeeded"), true),
    ] {
        let codes = found(&diff(job("r.io/a:1", policy), job("r.io/a:2", policy)));
        assert_eq!(codes.contains("immutable-field"), refused, "{policy:?}: {codes:?}");
    }
    let named = |name: &str, app: &str| {
        let mut pods = pod(json!({}), json!({}));
        pods["metadata"]["name"] = json!(name);
        pods["spec"]["selector"]["matchLabels"]["app"] = json!(app);
        pods["spec"]["template"]["metadata"]["labels"]["app"] = json!(app);
        one(pods)
    };
    for (name, refused) in [("d-v1", true), ("d-v2", false)] {
        let set = diff(named("d-v1", "a"), named(name, "b"));
        assert_eq!(set.objects.len(), 1, "{name}");
        assert_eq!(found(&set).contains("immutable-field"), refused, "{name}");
    }
}

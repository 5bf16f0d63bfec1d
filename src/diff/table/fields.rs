//! Fields that are judged by what they are, and those that only look like them.

use super::*;

fn thing(rest: Json) -> Of {
    one(object("example.com/v1", "Thing", "t", rest))
}

/// Fields that no rule is about.
#[test]
fn fields_by_their_place() {
    let (changed, metadata) = ("field-changed", "metadata-changed");
    let in_metadata = |key: &str, value: Json| {
        let mut object = object("example.com/v1", "Thing", "t", json!({}));
        object["metadata"][key] = value;
        one(object)
    };
    for key in ["labels", "annotations"] {
        let [old, new] = ["1", "2"].map(|value| in_metadata(key, json!({"a": value})));
        assert_eq!(codes(old, new), [metadata], "{key}");
        let [old, new] = ["1", "2"].map(|value| thing(json!({key: {"a": value}})));
        assert_eq!(codes(old, new), [changed], "{key} that are no metadata");
    }
    let [old, new] = ["1", "2"].map(|value| in_metadata("finalizers", json!([value])));
    assert_eq!(codes(old, new), [changed]);
    for key in ["description", "title", "example"] {
        let [old, new] = ["1", "2"].map(|value| field(json!({"type": "string", key: value})));
        assert_eq!(codes(old, new), ["description-changed"], "{key}");
        let [old, new] = ["1", "2"].map(|value| thing(json!({"spec": {key: value}})));
        assert_eq!(codes(old, new), [changed], "{key} that is no documentation");
    }
    // An object of others may be called like the description of a chart.
    let [old, new] = ["1", "2"]
        .map(|version| one(object("example.com/v1", "Chart", "t", json!({"version": version}))));
    assert_eq!(codes(old, new), [changed]);
    // A field of a workload is none of its pods.
    let [old, new] = [2, 1].map(|count| pod_spec(json!({"spec": {"replicas": count}})));
    assert_eq!(codes(old, new), [changed]);
}

/// The same value in another form is no change to it, whatever the API server says about its type.
#[test]
fn values_as_texts() {
    let skips = |value: Json| {
        let spec = json!({"spec": {"insecureSkipTLSVerify": value}});
        one(object("apiregistration.k8s.io/v1", "APIService", "a", spec))
    };
    let host = |value: Json| pod_spec(json!({"hostNetwork": value}));
    let (unverified, network) = ("tls-verification-off", "pod-network-changed");
    for (old, new, code, has) in [
        (skips(json!(false)), skips(json!(true)), unverified, true),
        (skips(json!("true")), skips(json!(true)), unverified, false),
        (host(json!(true)), host(json!(false)), network, true),
        (host(json!(true)), host(json!("true")), network, false),
    ] {
        let codes = codes(old, new);
        assert_eq!(codes.contains(&code), has, "{codes:?}");
    }
}

#[test]
fn long_lists_are_cut() {
    let with = |count: usize| {
        let labels: serde_json::Map<String, Json> =
            (0..count).map(|n| (format!("k{n}"), json!("v"))).collect();
        pod_spec(json!({"nodeSelector": labels}))
    };
    let set = diff(with(1), with(6));
    let reasons: Vec<&str> =
        set.changes().flat_map(|(_, change)| &change.findings).map(|f| f.reason.as_str()).collect();
    let expected = "nodeSelector: added k1=v, k2=v, k3=v, k4=v and 1 more";
    assert!(reasons.contains(&expected), "{reasons:?}");
}

/// A port is its number and protocol; what else changes of it is no port that comes or goes.
#[test]
fn ports_of_services() {
    let (removed, added) = ("service-port-changed port", "service-port-added new port");
    let http = |rest: Json| {
        let mut port = json!({"name": "http", "port": 80, "targetPort": 80});
        join(&mut port, rest);
        json!([port])
    };
    let many = || -> Json {
        (1..=6).map(|port| json!({"name": format!("p{port}"), "port": port})).collect()
    };
    let all = "1/TCP, 2/TCP, 3/TCP, 4/TCP, 5/TCP and 1 more";
    for (old, new, expected) in [
        (
            http(json!({})),
            http(json!({"port": 81, "targetPort": 81})),
            vec![
                format!("{removed} 80/TCP removed"),
                "field-changed spec.ports[http].targetPort: 80 → 81".to_owned(),
            ],
        ),
        (
            http(json!({})),
            http(json!({"targetPort": 81})),
            vec!["field-changed spec.ports[http].targetPort: 80 → 81".to_owned()],
        ),
        (
            http(json!({"protocol": "TCP"})),
            http(json!({"protocol": "UDP"})),
            vec![format!("{removed} 80/TCP removed")],
        ),
        (
            http(json!({})),
            http(json!({"protocol": "UDP"})),
            vec![format!("{removed} 80/TCP removed")],
        ),
        (
            many(),
            json!(null),
            vec![format!("{removed} {all} removed"), "object-refused has no ports".to_owned()],
        ),
        (json!(null), many(), vec![format!("{added} {all}")]),
    ] {
        let with = |ports: &Json| {
            let mut service = object("v1", "Service", "s", json!({"spec": {}}));
            join(&mut service["spec"], json!({"ports": ports}));
            one(service)
        };
        let set = diff(with(&old), with(&new));
        let said: Vec<String> = set
            .changes()
            .flat_map(|(_, change)| &change.findings)
            .map(|f| format!("{} {}", f.rule.code, f.reason))
            .collect();
        assert_eq!(said, expected, "{old} → {new}");
    }
}

/// Ranges of versions, with a `v`, which OLM refuses, or without.
#[test]
fn upgrade_paths() {
    use crate::BundleFacts;
    use crate::ir::UpgradeEdges;
    let side = |csv: &str, replaces: &str, range: &str| Side {
        bundle: BundleFacts {
            csv: csv.to_owned(),
            edges: UpgradeEdges {
                replaces: replaces.to_owned(),
                skip_range: range.to_owned(),
                ..UpgradeEdges::default()
            },
            ..BundleFacts::default()
        },
        operator_version: "1.0.0".to_owned(),
        ..Side::new("x", [config_map("m", json!({}))], "ns", None)
    };
    for (csv, replaces, range, skipped) in [
        ("w.v2", "w.v1", "", false),
        ("w.v2", "w.v0", "", true),
        ("w.v2", "", ">=1.0.0 <2.0.0", false),
        ("w.v2", "", ">=v1.0.0 <v2.0.0", false),
        ("w.v2", "", ">v0.9.0 <v2.0.0", false),
        ("w.v2", "", "0.9.0 || v1.0.0", false),
        ("w.v2", "", "v1.0.0 || v0.9.0", false),
        ("w.v2", "", ">v1.0.0 <v2.0.0", true),
        ("w.v2", "", "", false),
        // The same version in another build of its bundle.
        ("w.v1", "w.v0", "", false),
    ] {
        let set = compare(side("w.v1", "", ""), side(csv, replaces, range), &Options::default());
        let codes = found(&set);
        let has = codes.contains("upgrade-path-skipped");
        assert_eq!(has, skipped, "{csv} {replaces} {range}: {codes:?}");
    }
}

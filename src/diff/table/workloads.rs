//! Changes of workloads: what is said about each part of a pod, and where the report says it.

use super::pod_security::with_other_edits;
use super::*;

/// Returns the codes with the paths of their edits.
fn placed(old: Of, new: Of) -> Vec<String> {
    let set = diff(old, new);
    let codes = set.changes().flat_map(|(_, change)| {
        let place = |finding: &crate::Finding| format!("{} {}", finding.rule.code, change.path);
        change.findings.iter().map(place)
    });
    codes.collect()
}

/// Lists are cut, and what is missing has its default.
#[test]
fn what_is_said_about_pods() {
    let inits = |count: usize| {
        let init = |n: usize| json!({"name": format!("i{n}"), "image": format!("r.io/i:{n}")});
        let list: Vec<Json> = (0..count).map(init).collect();
        pod_spec(if list.is_empty() { json!({}) } else { json!({"initContainers": list}) })
    };
    let command =
        |words: &str| container(json!({"command": words.split_whitespace().collect::<Vec<_>>()}));
    let account = |name: Option<&str>| {
        let mut pods = pod(json!({}), json!({"serviceAccountName": name}));
        join(&mut pods["spec"]["template"]["spec"], json!({"serviceAccountName": name}));
        let account = object("v1", "ServiceAccount", "sa", json!({}));
        Of::Objects(vec![pods, account])
    };
    for (old, new, expected) in [
        (
            inits(0),
            inits(4),
            "container-added initContainers: new images r.io/i:0, r.io/i:1, r.io/i:2 and 1 more",
        ),
        (
            inits(3),
            inits(0),
            "container-removed initContainers: removed images r.io/i:0, r.io/i:1 and r.io/i:2",
        ),
        (
            account(None),
            account(Some("sa")),
            "service-account-changed serviceAccountName: default → sa",
        ),
        (
            account(Some("sa")),
            account(None),
            "service-account-changed serviceAccountName: sa → default",
        ),
        (
            command("x"),
            command("x a b c d e f"),
            "command-changed container c: command: added a, b, c, d, e and 1 more",
        ),
        (
            command("x a b c d e f"),
            command("x"),
            "command-changed container c: command: removed a, b, c, d, e and 1 more",
        ),
        (
            command("x a b c d e f"),
            command("x g h i j k l"),
            "command-changed container c: command: added g, h, i, j, k and 1 more; removed a, b, c, d, e and 1 more",
        ),
        (
            command("x a"),
            command("a x"),
            "command-changed container c: command: same items in another order",
        ),
        (
            command("x a"),
            command("x a a"),
            "command-changed container c: command: same items, 3 instead of 2",
        ),
    ] {
        let found = judged(old, new);
        assert!(found.iter().any(|found| found == expected), "{expected}: {found:#?}");
    }
}

/// A container with the same image looks for its files at the same paths.
#[test]
fn mounts() {
    let mount = |path: &str, rest: Json| {
        let mut mount = json!({"name": "v", "mountPath": path});
        join(&mut mount, rest);
        mount
    };
    let sub = || mount("/a", json!({"subPath": "x"}));
    let (a, b) = (|| mount("/a", json!({})), || mount("/b", json!({})));
    let (volume, moved) = ("volume-changed", "mount-moved");
    for (old, new, expected) in [
        (json!([a()]), json!([a(), b()]), volume),
        (json!([a(), b()]), json!([b(), a()]), volume),
        (json!([a(), b()]), json!([a()]), moved),
        (json!([a()]), json!([sub()]), moved),
        (json!([sub()]), json!([a()]), moved),
    ] {
        let with = |mounts: &Json, image: &str| {
            one(pod(
                json!({"volumeMounts": mounts, "image": image}),
                json!({"volumes": [{"name": "v", "emptyDir": {}}]}),
            ))
        };
        let codes = found(&diff(with(&old, "r.io/a:1"), with(&new, "r.io/a:1")));
        assert_eq!(Vec::from_iter(codes), [expected], "{old} → {new}");
        // A new image knows where its files are.
        let codes = found(&diff(with(&old, "r.io/a:1"), with(&new, "r.io/a:2")));
        assert_eq!(Vec::from_iter(codes), ["image-changed", volume], "{old} → {new}");
    }
}

#[test]
fn sources_of_volumes() {
    let (volume, source, limit) = ("volume-changed", "volume-source-changed", "limit-lowered");
    let map = |rest: Json| {
        let mut map = json!({"name": "m"});
        join(&mut map, rest);
        json!({"configMap": map})
    };
    let empty = |rest: Json| json!({"emptyDir": rest});
    let item = |key: &str| json!({"items": [{"key": key, "path": "p"}]});
    for (old, new, expected) in [
        // The form of the same content.
        (map(json!({"defaultMode": 420})), map(json!({"defaultMode": 256})), volume),
        (map(json!({})), map(json!({"optional": true})), volume),
        (map(item("a")), map(item("b")), volume),
        (map(json!({})), map(json!({"name": "n"})), source),
        (empty(json!({})), empty(json!({"medium": "Memory"})), source),
        (empty(json!({})), map(json!({})), source),
        // A limit that programs may reach.
        (empty(json!({"sizeLimit": "1Gi"})), empty(json!({"sizeLimit": "2Gi"})), volume),
        (empty(json!({"sizeLimit": "2Gi"})), empty(json!({"sizeLimit": "1Gi"})), limit),
        (empty(json!({})), empty(json!({"sizeLimit": "1Gi"})), limit),
    ] {
        let with = |source: &Json| {
            let mut volume = json!({"name": "v"});
            join(&mut volume, source.clone());
            let data = || json!({"a": "1", "b": "2"});
            Of::Objects(vec![
                pod(json!({}), json!({"volumes": [volume]})),
                config_map("m", data()),
                config_map("n", data()),
            ])
        };
        let codes = found(&diff(with(&old), with(&new)));
        assert!(codes.contains(expected), "{old} → {new}: {codes:?}");
        let others = [volume, source, limit].into_iter().filter(|code| codes.contains(code));
        assert_eq!(others.count(), 1, "{old} → {new}: {codes:?}");
    }
}

/// Pods that replaced each other overlap, unless only one of them acts.
#[test]
fn rollouts() {
    let recreate = || json!({"type": "Recreate"});
    let with = |strategy: &Json| deployment(json!({"strategy": strategy}));
    for (old, new, overlaps) in [
        (recreate(), json!({"type": "RollingUpdate"}), true),
        (recreate(), json!({}), true),
        (recreate(), json!({"type": "Recreate", "a": 1}), false),
        (json!({"type": "RollingUpdate"}), json!({}), false),
        (json!({}), recreate(), false),
    ] {
        let codes = found(&diff(with(&old), with(&new)));
        assert_eq!(codes.contains("rollout-overlaps"), overlaps, "{old} → {new}: {codes:?}");
    }
}

/// Operators call the variable or flag differently; none and `*` are all namespaces.
#[test]
fn watched_namespaces() {
    let (narrowed, widened) = ("watch-narrowed", "watch-widened");
    let variable =
        |name: &str, value: &str| container(json!({"env": [{"name": name, "value": value}]}));
    for name in [
        "WATCH_NAMESPACE",
        "OPERATOR_WATCH_NAMESPACES",
        "WATCHED_NAMESPACES",
        "STRIMZI_NAMESPACE",
        "--watch-namespace",
        "--watched-namespaces",
    ] {
        let with = |value: &str| match name.starts_with('-') {
            true => container(json!({"args": [format!("{name}={value}")]})),
            false => variable(name, value),
        };
        for (old, new, code) in [
            ("a,b", "a", Some(narrowed)),
            ("", "a", Some(narrowed)),
            ("*", "a", Some(narrowed)),
            ("a", "a, b", Some(widened)),
            ("a", "*", Some(widened)),
            ("*", "", None),
        ] {
            let codes = found(&diff(with(old), with(new)));
            let found = [narrowed, widened].into_iter().find(|code| codes.contains(code));
            assert_eq!(found, code, "{name}: {old:?} → {new:?}");
        }
    }
    let other = |value: &str| variable("POD_NAMESPACE", value);
    let codes = found(&diff(other("a,b"), other("a")));
    assert!(!codes.contains(narrowed), "{codes:?}");

    let said = |old: &str, new: &str| {
        let with = |value: &str| variable("WATCH_NAMESPACE", value);
        let found = judged(with(old), with(new));
        found.into_iter().find(|found| found.starts_with("watch-")).expect("a finding")
    };
    assert_eq!(
        said("a,b,c,d,e,f", "f"),
        "watch-narrowed watches f instead of a, b, c, d and 2 more: \
         custom resources in a, b, c, d and 1 more are no longer reconciled"
    );
    assert_eq!(
        said("", "ns"),
        "watch-narrowed watches the release namespace instead of all namespaces: \
         custom resources elsewhere are no longer reconciled"
    );
}

/// At the annotation if it changed, otherwise at the containers, and not at another edit.
#[test]
fn watched_namespaces_are_at_their_edits() {
    let path = "metadata.annotations['olm.targetNamespaces']";
    let from = json!({"name": "WATCH_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": path}}});
    let by_annotation = |namespaces: &str, number: u8| {
        let mut pods = pod(json!({"env": [from]}), json!({}));
        let metadata = json!({"annotations": {"a": number.to_string(),
            "olm.targetNamespaces": namespaces}});
        join(&mut pods["spec"]["template"]["metadata"], metadata);
        let image = format!("r.io/a:{number}");
        pods["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        with_other_edits(one(pods), number, true)
    };
    let by_value = |namespaces: &str, number: u8| {
        let env = json!([{"name": "WATCH_NAMESPACE", "value": namespaces}]);
        with_other_edits(container(json!({"env": env})), number, true)
    };
    for (found, place) in [
        (
            placed(by_annotation("a,b", 1), by_annotation("a", 2)),
            ".spec.template.metadata.annotations",
        ),
        (placed(by_value("a,b", 1), by_value("a", 2)), ".spec.template.spec.containers"),
    ] {
        let own: Vec<&str> =
            found.iter().filter_map(|found| found.strip_prefix("watch-narrowed ")).collect();
        assert_eq!(own.len(), 1, "{found:#?}");
        assert!(own[0].starts_with(place) && !own[0].ends_with(".a"), "{found:#?}");
    }
}

/// An operator adds digests to images of operands itself, and decides when to update them.
#[test]
fn operands_are_not_pinned() {
    let (unpinned, changed) = ("image-unpinned", "operand-image-changed");
    let digest = "r.io/a@sha256:0123456789abcdef";
    for (old, new) in [(digest, "r.io/a:1"), ("r.io/a:1", "r.io/a:latest")] {
        let runs = |image: &str| container(json!({"image": image}));
        assert!(found(&diff(runs(old), runs(new))).contains(unpinned), "{old} → {new}");
        let operand =
            |image: &str| container(json!({"env": [{"name": "RELATED_IMAGE_A", "value": image}]}));
        let codes = found(&diff(operand(old), operand(new)));
        assert_eq!(Vec::from_iter(codes), [changed], "{old} → {new}");
    }
}

#[test]
fn lists_of_images_by_version() {
    let with = |value: &str| container(json!({"env": [{"name": "WIDGETS", "value": value}]}));
    let image = |n: usize| format!("4.{n}=r.io/w:{n}");
    let list = |from: usize| (from..7).map(image).collect::<Vec<_>>().join(",");
    let found = judged(with(&list(0)), with(&list(6)));
    let said = "no image for 4.0, 4.1, 4.2, 4.3, 4.4 and 1 more any more";
    let expected = format!("operand-version-removed container c: env[WIDGETS].value: {said}");
    assert_eq!(found, [expected]);
    // Words with a colon and without a registry are no images.
    let codes = super::found(&diff(with("a=b:1"), with("a=b:2")));
    assert_eq!(Vec::from_iter(codes), ["env-changed"]);
}

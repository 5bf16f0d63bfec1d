//! Settings of programs in arguments, variables and ConfigMaps: which changes are only tuning, and what
//! is said about them.

use super::*;

#[test]
fn arguments() {
    let (changed, tuned, order) = ("args-changed", "args-tuned", "order-changed");
    let image = "operand-image-changed";
    for (old, new, expected) in [
        // Flags have no order, other arguments do, also if they look like flags.
        ("--a=1 --b", "--b --a=1", &[order][..]),
        ("--a 1 --b", "--b --a=1", &[order]),
        ("--a=1 --a=2", "--a=2 --a=1", &[changed]),
        ("x=1 y=2", "y=2 x=1", &[changed]),
        // A version is no setting of a flag, and what is no value of a flag may be anything.
        ("--a v1.0.0", "--a v1.1.0", &[tuned]),
        ("-- v1.0.0", "-- v1.1.0", &[changed]),
        ("--a=1 v1.0.0", "--a=1 v1.1.0", &[changed]),
        // Images in flags are those of operands; what else changes is said, too.
        ("--image=r.io/a:1", "--image=r.io/a:2", &[image]),
        ("--image=r.io/a:1 --b", "--image=r.io/a:2 --c", &[changed, image]),
        ("run --image=r.io/a:1", "serve --image=r.io/a:2", &[changed, image]),
        ("--image=off", "--image=r.io/a:2", &[changed]),
        ("--image=r.io/a:1", "--image=off", &[changed]),
    ] {
        let with = |text: &str| container(json!({"args": text.split(' ').collect::<Vec<_>>()}));
        assert_eq!(codes(with(old), with(new)), expected, "{old} → {new}");
    }
}

/// A new variable that tells the container about its own pod, or may be unset, is no setting.
#[test]
fn sources_of_new_variables() {
    for (source, code, shown) in [
        (
            json!({"fieldRef": {"fieldPath": "metadata.name"}}),
            "env-tuned",
            "fieldRef metadata.name",
        ),
        (
            json!({"resourceFieldRef": {"resource": "limits.cpu"}}),
            "env-tuned",
            "resourceFieldRef limits.cpu",
        ),
        (json!({"secretKeyRef": {"name": "s", "key": "k"}}), "env-changed", "secretKeyRef s/k"),
        (
            json!({"secretKeyRef": {"name": "s", "key": "k", "optional": true}}),
            "env-tuned",
            "secretKeyRef s/k",
        ),
        // No source that the API server accepts: what is said has an end.
        (
            json!({"a": {"name": "x"}, "b": {"name": "y"}, "c": {"name": "z"}}),
            "env-changed",
            "a x, b y and 1 more",
        ),
    ] {
        let with = |env: Json| {
            let secret = object("v1", "Secret", "s", json!({}));
            Of::Objects(vec![pod(json!({"env": env}), json!({})), secret])
        };
        let other = json!({"name": "OTHER", "value": "x"});
        let new = json!([other, {"name": "NEW", "valueFrom": source}]);
        let expected = format!("{code} container c: env[NEW]: added from {shown}");
        let judged = judged(with(json!([other])), with(new));
        assert!(judged.contains(&expected), "{judged:?}");
    }
}

/// Texts of a ConfigMap on both sides, the rule, and what is said.
#[test]
fn texts_of_config_maps() {
    let (changed, tuned) = ("config-changed", "config-tuned");
    for (old, new, code, said) in [
        // One line.
        ("off", "off\n", tuned, "off → off "),
        ("off", "on", changed, "off → on"),
        ("1.0.0", "1.1.0", tuned, "1.0.0 → 1.1.0"),
        // Documents: by their places.
        ("a: 1\nb: 2", "b: 2\na: 1", tuned, "the same in another form"),
        ("a: {b: 1}", "a: {b: 2}", changed, "a.b: 1 → 2"),
        ("a: {c: 1}", "a: {b: x, c: 1}", changed, "a.b: added x"),
        ("a: {b: x, c: 1}", "a: {c: 1}", changed, "a.b: removed x"),
        ("logLevel: info\nb: 1", "logLevel: debug\nb: 1", tuned, "logLevel: info → debug"),
        // Lines: without their order, blanks and comments.
        ("[x]\na=1\nb=2", "[x]\n  a=1\n\nb=2", tuned, "the same in another form"),
        ("[x]\na=1", "# x\n[x]\na=1", tuned, "the same in another form"),
        ("[x]\na=1", "// x\n[x]\na=1", tuned, "the same in another form"),
        ("[x]\na=1", "; x\n[x]\na=1", tuned, "the same in another form"),
        ("[x]\na=1", "- x\n[x]\na=1", changed, "added - x"),
        ("[x]\na=1\nb=2", "[x]\nb=2\na=1", changed, "the same lines in another order"),
        ("[x]\na=1\nb=2", "[x]\na=1\nb=3", changed, "b=2 → b=3"),
        ("[x]\nlog_level=a\nb=2", "[x]\nlog_level=b\nb=2", tuned, "log_level=a → log_level=b"),
        ("[x]\na=1\nb=2\nc=3", "[x]\na=1", changed, "removed b=2 and c=3"),
        ("[x]\na=1", "[x]\na=1\nb=2\nc=3", changed, "added b=2 and c=3"),
        (
            "[x]\na=1\nb=2",
            "[x]\nc=3\nd=4\ne=5",
            changed,
            "removed a=1 and b=2; added c=3, d=4 and 1 more",
        ),
        // A line without a value says something, one with an empty value as well.
        ("[x]\na=1", "[x]\na=1\nfeature", changed, "added feature"),
        ("[x]\na=1", "[x]\na=1\nfeature=", changed, "added feature="),
    ] {
        let with = |text: &str| one(config_map("m", json!({"k": text})));
        let expected = format!("{code} data[k]: {said}");
        assert_eq!(judged(with(old), with(new)), [expected], "{old:?} → {new:?}");
    }
}

/// A new file is read by nothing yet, a new setting may be.
#[test]
fn keys_of_config_maps() {
    let data = |with: Option<&str>| {
        let mut data = json!({"other": "x"});
        data["k"] = json!(with);
        join(&mut data, json!({"k": with}));
        one(config_map("m", data))
    };
    for (text, came, gone) in [
        ("on", "config-changed", "config-changed"),
        ("on\n", "config-changed", "config-changed"),
        ("a=1\nb=2\n", "config-tuned", "config-changed"),
        ("", "config-tuned", "config-tuned"),
        ("r.io/a:1", "config-tuned", "config-tuned"),
    ] {
        let added = judged(data(None), data(Some(text)));
        assert_eq!(added, [format!("{came} data[k]: added")], "{text:?}");
        let removed = judged(data(Some(text)), data(None));
        assert_eq!(removed, [format!("{gone} data[k]: removed")], "{text:?}");
        // And with the whole map.
        let empty = || one(object("v1", "ConfigMap", "m", json!({})));
        let whole = || one(config_map("m", json!({"k": text})));
        assert_eq!(judged(empty(), whole()), added, "{text:?}");
        assert_eq!(judged(whole(), empty()), removed, "{text:?}");
    }
}

/// Texts that Grafana or the OpenShift console shows are no settings, in whatever map they are.
#[test]
fn dashboards() {
    let labels = |label: &str| json!({"labels": {label: "1"}});
    for (metadata, code) in [
        (json!({}), "config-changed"),
        (labels("grafana_dashboard"), "config-tuned"),
        (labels("console.openshift.io/dashboard"), "config-tuned"),
        (labels("other"), "config-changed"),
        (json!({"annotations": {"grafana_dashboard": "1"}}), "config-changed"),
    ] {
        for map in ["data", "binaryData"] {
            let with = |text: &str| {
                let mut object = object("v1", "ConfigMap", "m", json!({map: {"k": text}}));
                join(&mut object["metadata"], metadata.clone());
                one(object)
            };
            assert_eq!(codes(with("YQ=="), with("Yg==")), [code], "{map} {metadata}");
        }
    }
}

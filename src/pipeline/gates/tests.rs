use super::*;
use crate::bundle::manifests;
use crate::pipeline::samples::{LAMP, config};

/// Returns the messages and hints about one gate in a chart with these objects, as `KIND/NAME`.
fn found(object: &str, objects: &[&str]) -> Vec<(String, String)> {
    let text = format!(
        "{LAMP}ready = [{{ jsonpath = \".status.state\", value = \"a\", object = \"{object}\" }}]\n"
    );
    let config = config(&text);
    let mut found = Diagnostics::new();
    let yaml: String = objects
        .iter()
        .map(|object| {
            let (api, name) = object.rsplit_once('/').unwrap();
            let (version, kind) = api.rsplit_once('/').unwrap();
            format!("---\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}}}\n")
        })
        .collect();
    let objects = manifests("a.yaml", yaml.as_bytes(), &mut found);
    let unit = Unit { objects, ..Unit::default() };
    check(&config.bundles[0], &unit, &mut found);
    found
        .iter()
        .map(|found| {
            assert_eq!(
                (found.code, &found.place),
                (Code::GateObject, &(&config.bundles[0].gates[0].span).into())
            );
            (found.message.clone(), found.hint.clone().unwrap_or_default())
        })
        .collect()
}

#[test]
fn only_objects_that_nobody_else_creates_are_missing() {
    let (lamp, other) = ("light.example.com/v1/Lamp/a", "light.example.com/v1/Lamp/b");
    let (map, deployment) = ("v1/ConfigMap/b", "apps/v1/Deployment/b");
    for (object, objects, is_missing) in [
        (lamp, &[] as &[&str], false),
        (lamp, &[lamp], false),
        (lamp, &[other, lamp], false),
        (lamp, &[other], true),
        // A workload creates objects of built-in kinds, but not those that are the user's.
        (lamp, &[other, deployment], true),
        ("v1/ConfigMap/a", &[map], true),
        ("v1/ConfigMap/a", &[map, deployment], false),
        ("v1/ConfigMap/a", &[other], false),
    ] {
        assert_eq!(found(object, objects).len(), usize::from(is_missing), "{object} {objects:?}");
    }
}

#[test]
fn a_few_objects_of_the_kind_are_named() {
    let objects = ["g", "f", "e", "d", "c", "b"].map(|name| format!("v1/ConfigMap/{name}"));
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    let message = "the chart has no ConfigMap/a, so this gate never opens".to_owned();
    let hint = "use one that it has: `b`, `c`, `d`, `e`, `f` and 1 more".to_owned();
    assert_eq!(found("v1/ConfigMap/a", &objects), [(message, hint)]);
}

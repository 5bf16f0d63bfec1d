use super::*;
use serde_json::json;

const CATALOG: &str = "registry.example.com/catalogs/widgets:v1";

/// Migrates objects of a cluster; returns the new tables, and each diagnostic in a line.
#[expect(clippy::disallowed_methods, reason = "tests write files")]
fn migrated(files: &[&str]) -> (Option<String>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bundles.toml");
    std::fs::write(&path, "# ours\n").expect("a file");
    let name =
        |(at, text): (usize, &&str)| (format!("cluster-{at}.yaml"), text.as_bytes().to_vec());
    let files: Vec<(String, Vec<u8>)> = files.iter().enumerate().map(name).collect();
    let catalogs = [("known".to_owned(), CATALOG.to_owned())];
    let installed = Installed { file: "cluster", files: &files, catalogs: &catalogs };
    let mut diagnostics = Diagnostics::new();
    let added = subscriptions(&installed, &path, &mut diagnostics);
    let tables = added.map(|added| {
        assert_eq!(added.text, format!("# ours\n\n{}", added.tables));
        format!("{} {}", added.names.join(" "), added.tables)
    });
    let shown = diagnostics.iter().map(|found| {
        let file = found.place.file.as_deref().unwrap_or("-");
        let object = found.place.object.as_deref().unwrap_or("-");
        let hint = found.hint.as_deref().unwrap_or("-");
        format!("{} {file} {object}: {} | {hint}\n", found.code.as_str(), found.message)
    });
    (tables, shown.collect())
}

/// Returns an object with this spec.
fn object(kind: &str, namespace: &str, name: &str, spec: Json) -> Json {
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": kind,
        "metadata": {"name": name, "namespace": namespace}, "spec": spec,
    })
}

fn subscription(spec: Json) -> Json {
    let mut object =
        object("Subscription", "system", "widgets", json!({"name": "widget-operator"}));
    let map = spec.as_object().into_iter().flatten();
    map.for_each(|(key, value)| object["spec"][key] = value.clone());
    object
}

fn group(spec: Json) -> Json {
    object("OperatorGroup", "system", "group", spec)
}

/// Each key of the table, from a List and from documents.
#[test]
fn a_subscription_becomes_a_table() {
    let mut subscription = subscription(json!({
        "channel": "stable", "source": "widgets", "sourceNamespace": "catalogs",
        "startingCSV": "widget-operator.v1.0.0",
        "config": {
            "env": [{"name": "LEVEL", "value": "debug"}],
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "proxy": {"http": "x"}, "selector": {"matchLabels": {}},
        },
    }));
    subscription["status"] = json!({"installedCSV": "widget-operator.v1.2.3"});
    let csv = |namespace: &str, version: &str| {
        object(
            "ClusterServiceVersion",
            namespace,
            "widget-operator.v1.2.3",
            json!({"version": version}),
        )
    };
    let catalog = |namespace: &str, name: &str, image: &str| {
        object("CatalogSource", namespace, name, json!({"image": image}))
    };
    let items = [
        subscription,
        // Objects of the same kinds that it does not mean.
        catalog("others", "widgets", "wrong"),
        catalog("catalogs", "others", "wrong"),
        catalog("catalogs", "widgets", CATALOG),
        csv("others", "9.9.9"),
        csv("system", "1.2.4"),
        group(json!({"targetNamespaces": ["system", "", "dark"]})),
        json!({"apiVersion": "messaging.knative.dev/v1", "kind": "Subscription"}),
    ];
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let documents: String = items.iter().map(|item| format!("---\n{item}\n")).collect();
    let hint = "change the operator's pods with a `[[bundle.patch]]`";
    let left_out = ["proxy", "selector"].map(|key| {
        format!(
            "not-migrated cluster Subscription/widgets: Subscription/widgets: `spec.config.{key}` is \
             not carried over | {hint}\n"
        )
    });
    let table = format!(
        "widget-operator [[bundle]]
name = \"widget-operator\"
catalog = \"{CATALOG}\"
package = \"widget-operator\"
channel = \"stable\"
version = \"1.2.4\"
namespace = \"system\"
watch = [\"system\", \"dark\"]

[bundle.config]
env = [{{ name = \"LEVEL\", value = \"debug\" }}]
nodeSelector = {{ \"kubernetes.io/os\" = \"linux\" }}
"
    );
    let (first, others) = items.split_at(1);
    let parts = [first, others].map(|items| json!({"items": items}).to_string());
    for files in [&[&*list][..], &[&*documents], &[&*parts[0], &*parts[1]]] {
        assert_eq!(migrated(files), (Some(table.clone()), left_out.concat()));
    }
}

/// Returns what one Subscription of a known catalog becomes after `namespace`, and its diagnostics.
fn keys(subscription: &Json, others: &[Json]) -> (String, String) {
    let mut subscription = subscription.clone();
    subscription["spec"]["source"] = json!("known");
    let items = [std::slice::from_ref(&subscription), others].concat();
    let (tables, found) = migrated(&[&json!({"items": items}).to_string()]);
    let tables = tables.expect("a table");
    let head = format!(
        "widget-operator [[bundle]]\nname = \"widget-operator\"\ncatalog = \"{CATALOG}\"\n\
         package = \"widget-operator\"\n"
    );
    let keys = tables.strip_prefix(&head).unwrap_or_else(|| panic!("{tables}"));
    let prefix = "not-migrated cluster Subscription/widgets: Subscription/widgets: ";
    (keys.replace("namespace = \"system\"\n", ""), found.replace(prefix, ""))
}

/// The installed version wins; without CSVs in the output, its name has the version.
#[test]
fn versions_are_those_of_the_csv() {
    let all = group(json!({}));
    let csv = |name: &str, version: &str| {
        object("ClusterServiceVersion", "system", name, json!({"version": version}))
    };
    let unknown = |name: &str| {
        format!(
            "the version of `{name}` is unknown, so the newest is used | set `version` to stay at one\n"
        )
    };
    for (installed, starting, csvs, version, found) in [
        ("", "", vec![], "", String::new()),
        ("a.v1.2.3", "a.v1.0.0", vec![], "1.2.3", String::new()),
        ("", "a.v1.0.0", vec![], "1.0.0", String::new()),
        ("a.1.2.3-rc.1", "", vec![], "1.2.3-rc.1", String::new()),
        ("a.v1.2.3", "", vec![csv("b", "9.9.9"), csv("a.v1.2.3", "1.2.4")], "1.2.4", String::new()),
        ("a.v1.2.3", "", vec![csv("a.v1.2.3", "none")], "1.2.3", String::new()),
        ("a", "", vec![csv("a", "none")], "", unknown("a")),
        ("a.v1", "a.v1.0.0", vec![], "", unknown("a.v1")),
    ] {
        let mut subscription = subscription(json!({"startingCSV": starting}));
        subscription["status"] = json!({"installedCSV": installed});
        let version = match version {
            "" => String::new(),
            version => format!("version = \"{version}\"\n"),
        };
        let expected = (version + "watch = \"all\"\n", found);
        assert_eq!(
            keys(&subscription, &[csvs, vec![all.clone()]].concat()),
            expected,
            "{installed}"
        );
    }
}

#[test]
fn watched_namespaces_are_those_of_the_operator_group() {
    let subscription = subscription(json!({}));
    let labels =
        "the OperatorGroup selects namespaces by labels | list the namespaces in `watch`\n";
    let none = "there is no OperatorGroup in its namespace, so the namespaces to watch are those of \
                the bundle's default install mode | check `watch`\n";
    for (groups, watch, found) in [
        (vec![group(json!({}))], "watch = \"all\"\n", ""),
        (vec![group(json!({"targetNamespaces": []}))], "watch = \"all\"\n", ""),
        (vec![group(json!({"targetNamespaces": [""]}))], "watch = \"all\"\n", ""),
        (vec![group(json!({"targetNamespaces": ["system"]}))], "watch = \"own\"\n", ""),
        (vec![group(json!({"targetNamespaces": ["dark"]}))], "watch = [\"dark\"]\n", ""),
        (vec![group(json!({"selector": null}))], "watch = \"all\"\n", ""),
        (vec![group(json!({"selector": {"matchLabels": {}}}))], "", labels),
        (vec![], "", none),
        (vec![object("OperatorGroup", "others", "group", json!({}))], "", none),
    ] {
        let expected = (watch.to_owned(), found.to_owned());
        assert_eq!(keys(&subscription, &groups), expected, "{groups:?}");
    }
}

/// Two namespaces may have the same package: the second bundle is named after its namespace, too.
#[test]
fn bundles_of_one_package_have_different_names() {
    let mut other = subscription(json!({"source": "known"}));
    other["metadata"]["namespace"] = json!("others");
    let items = [subscription(json!({"source": "known"})), other];
    let (tables, found) = migrated(&[&json!({"items": items}).to_string()]);
    let tables = tables.expect("tables");
    assert!(tables.starts_with("widget-operator widget-operator-others [[bundle]]\n"), "{tables}");
    assert!(tables.contains("\n\n[[bundle]]\nname = \"widget-operator-others\"\n"), "{tables}");
    assert_eq!(found.lines().count(), 2, "{found}");
}

#[test]
fn what_cannot_be_migrated_is_an_error() {
    let of_kubectl = "run `kubectl get subscriptions,csvs,operatorgroups,catalogsources \
                      --all-namespaces -o yaml`";
    let none = format!("not-migrated cluster -: there is no Subscription | {of_kubectl}\n");
    let catalog = "not-migrated cluster Subscription/widgets: Subscription/widgets: the image of \
                   CatalogSource/widgets is unknown | pass `--catalog widgets=REFERENCE`, or the output \
                   of `kubectl get` with catalogsources\n";
    let as_it_is = "pass the output of `kubectl get … -o yaml` as it is";
    let subscription = subscription(json!({"source": "widgets"}));
    let empty = object("CatalogSource", "", "widgets", json!({"image": ""}));
    let many = json!({"items": [subscription, empty, group(json!({}))]});
    for (text, expected) in [
        ("", none.clone()),
        ("kind: List\nitems: []\n", none.clone()),
        ("apiVersion: messaging.knative.dev/v1\nkind: Subscription\n", none),
        (
            "a: [",
            format!(
                "not-migrated cluster-0.yaml -: not valid YAML: line 1, column 4: unclosed list or map \
                 | {as_it_is}\n"
            ),
        ),
        (&many.to_string(), catalog.to_owned()),
    ] {
        assert_eq!(migrated(&[text]), (None, expected), "{text}");
    }
}

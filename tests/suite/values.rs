//! Values of charts: each one changes what is rendered, and templates read no others. Of every
//! chart that this repository holds.

use crate::support::command::Case;
use crate::support::helm::Helm;
use crate::support::json_schema::JsonSchema;
use crate::support::lamp::CSV_FILE;
use crate::support::parallel::in_parallel;
use crate::support::serving_examples;
use crate::support::values::merge;
use bundle2chart::chart::render_generated;
use bundle2chart::source::chart::{ChartTree, read_folder};
use regex::Regex;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;
use walkdir::WalkDir;

/// Names on the way to a value.
type Keys = Vec<String>;

/// The committed charts of bundles, and the charts of models.
fn charts() -> Vec<PathBuf> {
    let below = |folder: &Path| {
        WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(|entry| {
            let path = entry.expect("an entry").into_path();
            let chart = path.parent().expect("a folder").to_owned();
            let own = !chart.components().any(|part| part.as_os_str() == "charts");
            (path.ends_with("Chart.yaml") && own).then_some(chart)
        })
    };
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("out");
    let charts: Vec<PathBuf> = below(&committed).chain(below(serving_examples::charts())).collect();
    assert!(charts.len() >= 22, "{charts:?}");
    charts
}

/// The values that the schema describes, each with its schema: those with a default.
fn described(schema: &Json, keys: &mut Keys, found: &mut Vec<(Keys, Json)>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        keys.push(name.clone());
        if property.get("default").is_some() {
            found.push((keys.clone(), property.clone()));
        } else {
            described(property, keys, found);
        }
        keys.pop();
    }
}

fn json(chart: &Path, file: &str) -> Json {
    serde_yaml::from_str(&fs::read_to_string(chart.join(file)).expect(file)).expect(file)
}

fn leaves(chart: &Path) -> Vec<(Keys, Json)> {
    let mut found = Vec::new();
    described(&json(chart, "values.schema.json"), &mut Vec::new(), &mut found);
    found
}

fn at<'j>(values: &'j Json, keys: &[String]) -> Option<&'j Json> {
    keys.iter().try_fold(values, |value, key| value.get(key))
}

/// Something that the schema takes.
fn sample(schema: &Json) -> Json {
    for key in ["enum", "examples"] {
        if let Some(first) = schema[key].as_array().and_then(|values| values.first()) {
            return first.clone();
        }
    }
    let kind = &schema["type"];
    match kind.as_str().or_else(|| kind[0].as_str()) {
        Some("boolean") => json!(true),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(7)),
        Some("array") => json!([sample(&schema["items"])]),
        Some("string") => json!("flipped"),
        _ => {
            let properties = schema["properties"].as_object();
            let required = schema["required"].as_array().into_iter().flatten();
            let mut names: Vec<&str> = required.filter_map(Json::as_str).collect();
            if names.is_empty() {
                names.extend(properties.into_iter().flat_map(Map::keys).next().map(String::as_str));
            }
            let known = names.iter().map(|name| {
                let inner = properties.and_then(|all| all.get(*name)).cloned();
                ((*name).to_owned(), sample(&inner.unwrap_or(json!({"type": "string"}))))
            });
            let map: Map<String, Json> = known.collect();
            let any = Some(&schema["additionalProperties"]).filter(|any| any.is_object());
            let any = any.map_or(json!("yes"), sample);
            if map.is_empty() { json!({ "flipped": any }) } else { map.into() }
        }
    }
}

/// Another value than the default.
fn flipped(schema: &Json) -> Json {
    let default = &schema["default"];
    let other = match default {
        Json::Bool(value) => json!(!value),
        Json::Number(_) if schema["type"] == "integer" => {
            json!(default.as_i64().expect("an integer") + 1)
        }
        Json::Array(items) => {
            let new = sample(schema);
            json!(items.iter().chain(new.as_array().expect("a list")).collect::<Vec<_>>())
        }
        Json::String(_) if schema["enum"].is_array() => {
            let values = schema["enum"].as_array().expect("a list");
            values.iter().find(|value| *value != default).expect("two values").clone()
        }
        _ => sample(schema),
    };
    assert_ne!(&other, default, "{schema}");
    other
}

fn nested(keys: &[String], value: Json) -> Json {
    keys.iter().rev().fold(value, |value, key| json!({ (key): value }))
}

#[test]
fn values_and_schema_have_the_same_keys() {
    for chart in charts() {
        let values = json(&chart, "values.yaml");
        let leaves = leaves(&chart);
        for (keys, schema) in &leaves {
            let found =
                at(&values, keys).unwrap_or_else(|| panic!("{}: {keys:?}", chart.display()));
            assert_eq!(found, &schema["default"], "{}: {keys:?}", chart.display());
        }
        // Cutting them out leaves nothing but the maps on the way.
        let mut rest = values;
        for (keys, _) in &leaves {
            let (last, way) = keys.split_last().expect("a name");
            let parent = way.iter().fold(&mut rest, |value, key| &mut value[key]);
            parent.as_object_mut().expect("a map").remove(last);
        }
        fn empty(value: &Json) -> bool {
            value.as_object().is_some_and(|map| map.values().all(empty))
        }
        assert!(empty(&rest), "{}: {rest}", chart.display());
    }
}

/// A value that changes what Helm refuses, and only with a cluster: see tests/api_server/crds.rs.
const WITH_A_CLUSTER: &str = "crds.allowDowngrade";

/// Returns what a chart renders to: that Helm renders the same is the test of tests/suite/charts.rs.
fn rendered(chart: &Path, files: &ChartTree, given: &[Json]) -> String {
    let mut values = json(chart, "values.yaml");
    given.iter().for_each(|given| merge(&mut values, given));
    let manifests = render_generated(files, "somewhere", &values);
    let manifests = manifests.unwrap_or_else(|| panic!("{} with {given:?}", chart.display()));
    manifests.iter().map(|manifest| format!("{}\n---\n", manifest.text)).collect()
}

#[test]
fn each_value_changes_what_is_rendered() {
    let folder = TempDir::new().expect("a folder");
    let helm = Helm::newest();
    let charts = charts();
    let found = in_parallel(&charts, |chart| {
        let files = read_folder(chart).expect("a chart");
        let defaults = rendered(chart, &files, &[]);
        let mut all = leaves(chart);
        all.retain(|(keys, _)| keys.join(".") != WITH_A_CLUSTER);
        let other = |(keys, schema): &(Keys, Json)| nested(keys, flipped(schema));

        let idle = all.iter().filter(|leaf| {
            let own = [other(leaf)];
            if rendered(chart, &files, &own) != defaults {
                return false;
            }
            // Some have an effect only together with their siblings: a test has an image and a URL.
            let parent = |keys: &Keys| keys.split_last().map(|(_, parent)| parent.to_vec());
            let siblings = all.iter().filter(|(keys, _)| keys != &leaf.0);
            let siblings = siblings.filter(|(keys, _)| parent(keys) == parent(&leaf.0));
            let without: Vec<Json> = siblings.map(other).collect();
            let together = [without.clone(), own.to_vec()].concat();
            rendered(chart, &files, &together) == rendered(chart, &files, &without)
        });
        let idle = idle.map(|(keys, _)| format!("{}: {}", chart.display(), keys.join(".")));
        let idle: Vec<String> = idle.collect();

        // Helm takes all of these values by the schema.
        let name = chart.to_string_lossy().replace('/', "-");
        let mut arguments = Vec::new();
        for (position, leaf) in all.iter().enumerate() {
            let file = folder.path().join(format!("{name}-{position}.json"));
            fs::write(&file, other(leaf).to_string()).expect("values");
            arguments.extend(["--values".to_owned(), file.to_str().expect("UTF-8").to_owned()]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        helm.template("release", chart, "somewhere", &arguments).expect_success();
        (all.len(), idle)
    });
    let count: usize = found.iter().map(|(count, _)| count).sum();
    assert!(count > 150, "{count}");
    let idle: Vec<&String> = found.iter().flat_map(|(_, idle)| idle).collect();
    assert!(idle.is_empty(), "values that change nothing:\n{idle:#?}");
}

/// Patterns, each compiled once: without optimization that takes milliseconds.
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\{\{- \$values := index \.Values((?: "(?:[^"\\]|\\.)*")+) -\}\}\n"#)
        .expect("a pattern")
});
static DOTTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\$values((?:\.\w+)+)").expect("a pattern"));
static ACTION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?s)\{\{-?(.*?)-?\}\}").expect("a pattern"));
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\.Values((?:\.\w+)+|(?:\s+"(?:[^"\\]|\\.)*")+)"#).expect("a pattern")
});
static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""(?:[^"\\]|\\.)*""#).expect("a pattern"));

/// The values that a template reads: `.Values.a.b`, `index .Values "a" "b"`, and the same of the
/// variable that stands for a map of them.
fn read(template: &str) -> BTreeSet<Keys> {
    let assigned = ASSIGNED.captures(template);
    let variable = assigned.as_ref().map(|found| found[1].to_owned());
    let template = &match (&assigned, &variable) {
        (Some(found), Some(keys)) => {
            let rest = template.replacen(&found[0], "", 1);
            // `$values.a.b` as `.Values "map" "a" "b"`, and `index $values "a"` as `.Values "map" "a"`.
            let rest = DOTTED.replace_all(&rest, |path: &regex::Captures<'_>| {
                let names = path[1].split('.').skip(1).map(|name| format!(" {name:?}"));
                format!(".Values{keys}{}", names.collect::<String>())
            });
            rest.replace("$values", &format!(".Values{keys}"))
        }
        _ => template.to_owned(),
    };
    let mut found = BTreeSet::new();
    for action in ACTION.captures_iter(template) {
        assert!(
            VALUE.find_iter(&action[1]).count() == action[1].matches(".Values").count(),
            "{}",
            &action[1]
        );
        for path in VALUE.captures_iter(&action[1]) {
            let path = &path[1];
            found.insert(match path.strip_prefix('.') {
                Some(path) => path.split('.').map(str::to_owned).collect(),
                None => QUOTED
                    .find_iter(path)
                    .map(|text| serde_json::from_str(text.as_str()).expect("a string"))
                    .collect(),
            });
        }
    }
    found
}

#[test]
fn templates_read_values_that_there_are() {
    let mut readings = 0;
    for chart in charts() {
        let values = json(&chart, "values.yaml");
        let leaves: Vec<Keys> = leaves(&chart).into_iter().map(|(keys, _)| keys).collect();
        for entry in WalkDir::new(chart.join("templates")) {
            let path = entry.expect("an entry").into_path();
            if !path.is_file() {
                continue;
            }
            for keys in read(&fs::read_to_string(&path).expect("a template")) {
                readings += 1;
                // A map with a schema of its own may have any keys, others only those of the file.
                let open = leaves.iter().any(|leaf| keys.starts_with(leaf));
                assert!(
                    open || at(&values, &keys).is_some(),
                    "{} reads {}",
                    path.display(),
                    keys.join(".")
                );
            }
        }
    }
    assert!(readings > 250, "{readings}");
}

#[test]
fn what_templates_read_is_found() {
    let text = r#"{{ "{{" }} .Values.x }}{{- if and .Values.a.b (index .Values "c" "d \"e\"") }}"#;
    let keys = |list: &[&str]| list.iter().map(|key| (*key).to_owned()).collect::<Keys>();
    assert_eq!(read(text), BTreeSet::from([keys(&["a", "b"]), keys(&["c", "d \"e\""])]));
    let text = "{{- $values := index .Values \"m\" \"x-y\" -}}\n{{ with $values.a.b }}{{ . }}{{ end }}\
        {{ index $values \"a\" \"c-d\" }}{{ $values.e | quote }}";
    let below = |rest: &[&str]| keys(&[&["m", "x-y"], rest].concat());
    let expected = [below(&["a", "b"]), below(&["a", "c-d"]), below(&["e"])];
    assert_eq!(read(text), BTreeSet::from(expected));
}

/// Whatever a bundle has in the place of a value, Helm accepts the defaults of its chart.
#[test]
fn defaults_of_hostile_bundles_fit_their_schema() {
    let image = "                image: registry";
    let account = "              serviceAccountName: lamp-operator\n";
    let edits = |place: &'static str, fields: &[&'static str]| -> Vec<(&'static str, String)> {
        let indentation = " ".repeat(place.len() - place.trim_start().len());
        fields.iter().map(|field| (place, format!("{indentation}{field}\n{place}"))).collect()
    };
    let hostile = [
        edits(image, &["imagePullPolicy: Sometimes", "imagePullPolicy: 7", "resources: []"]),
        edits(image, &["imagePullPolicy: \"\"", "securityContext: x", "resources: {limits: x}"]),
        edits(account, &["priorityClassName: 7", "nodeSelector: []", "tolerations: {}"]),
        edits(account, &["affinity: x", "terminationGracePeriodSeconds: x", "volumes: {}"]),
        vec![("replicas: 1", "replicas: x".to_owned()), ("replicas: 1", "replicas: -1".to_owned())],
    ];
    let mut built = 0;
    for (from, to) in hostile.concat() {
        let case = Case::with_lamps();
        case.replace(CSV_FILE, from, &to);
        if case.run(&["build", "-q"]).code != Some(0) {
            continue;
        }
        built += 1;
        let chart = case.path("out/lamp-operator/1.2.3");
        let schema = JsonSchema::new(&json(&chart, "values.schema.json"));
        let refused = schema.problems(&json(&chart, "values.yaml"));
        assert_eq!(refused, Vec::<String>::new(), "{to}");
    }
    assert!(built >= 1, "{built}");
}

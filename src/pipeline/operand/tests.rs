#![expect(clippy::disallowed_methods, reason = "tests write an output directory")]

use super::*;
use crate::config::Config;
use crate::lock::Lock;
use crate::output::{ChartFiles, Mode, write};
use crate::pipeline::samples::{LAMP, config, write_bundle};
use crate::pipeline::{Inputs, build};
use crate::source::Access;
use std::fs;

/// Returns the message and the hint of the error about an operand, with these directories in `out`.
fn refused(text: &str, directories: &[&str]) -> (String, String) {
    let home = tempfile::tempdir().unwrap();
    for directory in directories {
        fs::create_dir_all(home.path().join(directory)).unwrap();
    }
    let sources = SourceResolver::of(&config(LAMP), Access::default());
    let mut found = Diagnostics::new();
    assert!(Operands::new(&sources, home.path()).load(text, None, &mut found).is_none());
    let found = found.iter().next().unwrap();
    (found.message.clone(), found.hint.clone().unwrap_or_default())
}

#[test]
fn an_operand_that_is_nothing_is_reported_with_similar_charts() {
    let general = "write the path of a chart or bundle, NAME@VERSION for a chart in the output \
        directory, or the full reference of an image";
    for (text, directories, hint) in [
        ("Lamp operator", &[] as &[&str], general),
        ("lamp_operator:", &["sealing-wax"], general),
        ("Lamp-operator", &["lamp-operator", "other"], "did you mean `lamp-operator`?"),
        // No charts, because of their names.
        ("Lamp-operator", &["LAMP-operator"], general),
        ("Lamp", &["lamp-a", "lamp-b"], "did you mean `lamp-a` or `lamp-b`?"),
    ] {
        let message = format!("no chart, directory, archive or image `{text}`");
        assert_eq!(refused(text, directories), (message, hint.to_owned()));
    }
    let (message, _) = refused("a\u{1b}b", &[]);
    assert_eq!(message, "no chart, directory, archive or image `a\\u{1b}b`");
}

#[test]
fn only_names_of_charts_are_looked_up_in_the_output_directory() {
    for (text, is_chart) in [("lamp", true), ("lamp-2", true), ("2", true), ("-", true)] {
        assert_eq!(is_name(text), is_chart, "{text}");
    }
    for text in ["", ".", "..", "Lamp", "lamp_2", "lamp/1"] {
        assert!(!is_name(text), "{text}");
    }
    assert_eq!(refused("lamp", &["lamp"]).0, "chart `lamp` not found");
    assert_eq!(refused("lamp@1", &["lamp"]).0, "version 1 of chart `lamp` not found");
    // A directory comes before a chart: these tests run in one with sources.
    assert!(refused("src", &["src"]).0.starts_with("`src` "), "{}", refused("src", &["src"]).0);
}

/// Builds the only bundle of a configuration into an output directory.
fn build_into(out: &Path, config: &Config) {
    let sources = SourceResolver::of(config, Access::default());
    let lock = Lock::default();
    let inputs = Inputs { config, sources: &sources, lock: &lock, jobs: 1 };
    let mut found = Diagnostics::new();
    let built = build(&inputs, &[], &mut found);
    let charts: Vec<ChartFiles> = built.charts.into_iter().map(|chart| chart.files).collect();
    write(out, &charts, None, Mode::Write { replace: true }, &mut found).unwrap();
}

#[test]
fn crds_of_a_separate_chart_are_not_removed() {
    let home = tempfile::tempdir().unwrap();
    let (bundle, out) = (home.path().join("bundle"), home.path().join("out"));
    write_bundle(&bundle);
    let table = |version: &str, crds: &str| {
        config(&format!(
            "[[bundle]]\nname = \"lamp\"\npath = \"{}\"\nchart-version = \"{version}\"\n\
             crds = \"{crds}\"\n",
            bundle.display()
        ))
    };
    // A version of either kind, and one with CRDs in both charts.
    build_into(&out, &table("1.0.0", "templates"));
    build_into(&out, &table("1.1.0", "separate"));
    build_into(&out, &table("1.2.0", "separate"));
    fs::remove_dir_all(out.join("lamp/1.2.0")).unwrap();
    build_into(&out, &table("1.2.0", "templates"));

    let configuration = config(LAMP);
    let sources = SourceResolver::of(&configuration, Access::default());
    let operands = Operands::new(&sources, &out);
    let load = |text: &str| operands.load(text, None, &mut Diagnostics::new()).unwrap();
    let of_crd = |side: &Side, name: &str| {
        let mut ids = side.objects.keys();
        ids.find(|id| id.kind == "CustomResourceDefinition" && id.name == name).cloned()
    };
    let lamps = "lamps.light.example.com";
    let old = load("lamp@1.0.0");
    let crd = of_crd(&old, lamps).unwrap();
    let added = |old: &Side, new: &str| {
        let mut side = load(new);
        let before: Vec<Identity> = side.objects.keys().cloned().collect();
        operands.add_separate_crds(old, &mut side).unwrap();
        let chart = side.chart.as_ref().unwrap();
        let placed = chart.crds.get(lamps).copied();
        let separate: Vec<String> = chart.separate_crds.iter().cloned().collect();
        side.objects.retain(|id, _| !before.contains(id));
        (side.objects.into_keys().collect::<Vec<_>>(), placed, separate)
    };
    let found = (vec![crd.clone()], Some(Placement::Crds), vec![lamps.to_owned()]);
    assert_eq!(added(&old, "lamp@1.1.0"), found);
    // A CRD that only the separate chart has.
    let mut without = old.clone();
    without.objects.remove(&crd);
    without.objects.insert(Identity { name: "other".to_owned(), ..crd.clone() }, Json::Null);
    assert_eq!(added(&without, "lamp@1.1.0"), (Vec::new(), None, Vec::new()));
    // No CRD is missing, only another object.
    let none = (Vec::new(), Some(Placement::Templates), Vec::new());
    let mut with_other = old.clone();
    let other = Identity { name: "other".to_owned(), kind: "ConfigMap".to_owned(), ..crd.clone() };
    with_other.objects.insert(other, Json::Null);
    assert_eq!(added(&with_other, "lamp@1.2.0"), none);
    // No chart has CRDs.
    fs::remove_dir_all(out.join("lamp-crds")).unwrap();
    assert_eq!(added(&old, "lamp@1.1.0"), (Vec::new(), None, Vec::new()));
}

#[test]
fn bundles_are_compiled_as_they_are_configured_and_their_findings_are_left_out() {
    let home = tempfile::tempdir().unwrap();
    let bundle = home.path().join("bundle");
    write_bundle(&bundle);
    let csv = bundle.join("manifests/csv.yaml");
    let spec = "spec:\n  minKubeVersion: 1.30.0\n  relatedImages:\n  - name: lamp\n    image: registry.example.com/lamp:1\n";
    let plain = fs::read_to_string(&csv).unwrap();
    let config = config(&format!(
        "[[bundle]]\nname = \"lamp\"\npath = \"{}\"\n[[bundle.overlay]]\ninline = \"\"\"\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: overlay}}\n\"\"\"\n",
        bundle.display()
    ));
    let sources = SourceResolver::of(&config, Access::default());
    let values = serde_json::json!({ "deployments": { "lamp-operator": { "replicas": 5 } } });
    let out = Path::new("out");
    let operands = Operands { config: Some(&config), values, ..Operands::new(&sources, out) };
    let load = |path: &Path| {
        let mut found = Diagnostics::new();
        let side = operands.load(path.to_str().unwrap(), None, &mut found).unwrap();
        assert!(found.is_empty(), "{found:?}");
        side
    };
    let side = load(&bundle);
    assert_eq!(side.label, "lamp-operator 1.2.3");
    let mut names: Vec<&str> = side.objects.keys().map(|id| id.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["lamp-operator", "lamp-settings", "lamps.light.example.com", "overlay"]);
    let deployment = side.objects.iter().find(|(id, _)| id.kind == "Deployment").unwrap().1;
    assert_eq!(deployment["spec"]["replicas"], 5);
    let annotations = &deployment["spec"]["template"]["metadata"]["annotations"];
    assert_eq!(annotations["olm.targetNamespaces"], "release-namespace");
    let facts = side.bundle;
    assert_eq!(facts.min_kube_version.as_deref(), Some("any"));
    assert_eq!(facts.related_images, Some(Json::Array(Vec::new())));
    fs::write(&csv, plain.replacen("spec:\n", "spec:\n  relatedImages: null\n", 1)).unwrap();
    assert_eq!(load(&bundle).bundle.related_images, Some(Json::Array(Vec::new())));

    // The same one, as a shell completes it.
    fs::write(&csv, plain.replacen("spec:\n", spec, 1)).unwrap();
    let side = load(&bundle.join(""));
    assert!(side.objects.keys().any(|id| id.name == "overlay"));
    assert_eq!(side.bundle.min_kube_version.as_deref(), Some("1.30.0"));
    let image = serde_json::json!([{ "name": "lamp", "image": "registry.example.com/lamp:1" }]);
    assert_eq!(side.bundle.related_images, Some(image));

    // Manifests of the user, here also with a note about CRDs and their objects.
    let manifests = home.path().join("manifests");
    fs::create_dir(&manifests).unwrap();
    fs::copy(bundle.join("manifests/crd.yaml"), manifests.join("crd.yaml")).unwrap();
    let lamp = "apiVersion: light.example.com/v1\nkind: Lamp\nmetadata: {name: lamp}\n";
    fs::write(manifests.join("lamp.yaml"), lamp).unwrap();
    // A fault that a build refuses may be what changes.
    let scaled = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: lamp}\nspec: {replicas: 2}\n\
        ---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: lamp}\n\
        spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: lamp}}\n";
    fs::write(manifests.join("scaled.yaml"), scaled).unwrap();
    let side = load(&manifests);
    let lamp = side.objects.iter().find(|(id, _)| id.kind == "Lamp").unwrap().1;
    assert_eq!(side.objects.len(), 4);
    assert_eq!(lamp["metadata"], serde_json::json!({"name": "lamp"}));
}

#[test]
fn charts_have_the_facts_of_their_files() {
    let home = tempfile::tempdir().unwrap();
    let (bundle, out) = (home.path().join("bundle"), home.path().join("out"));
    write_bundle(&bundle);
    let csv = bundle.join("manifests/csv.yaml");
    let text = fs::read_to_string(&csv).unwrap();
    fs::write(&csv, text.replacen("spec:\n", "spec:\n  minKubeVersion: 1.30.0\n", 1)).unwrap();
    let crds = ["templates", "subchart", "crds"];
    for (patch, crds) in crds.iter().enumerate() {
        let text = format!(
            "[[bundle]]\nname = \"lamp\"\npath = \"{}\"\nchart-version = \"1.0.{patch}\"\n\
             crds = \"{crds}\"\n",
            bundle.display()
        );
        build_into(&out, &config(&text));
    }
    let configuration = config(LAMP);
    let sources = SourceResolver::of(&configuration, Access::default());
    let given = serde_json::json!({ "deployments": { "lamp-operator": { "replicas": 5 } } });
    let operands = Operands { values: given.clone(), ..Operands::new(&sources, &out) };
    let lamps = "lamps.light.example.com";
    for (patch, placement, folder) in [
        (0, Placement::Templates, ""),
        (1, Placement::Crds, "charts/crds/crds/"),
        (2, Placement::Crds, "crds/"),
    ] {
        let name = format!("lamp@1.0.{patch}");
        let side = operands.load(&name, None, &mut Diagnostics::new()).unwrap();
        assert_eq!(side.label, format!("lamp 1.0.{patch}"));
        assert_eq!(
            (side.package.as_str(), side.operator_version.as_str()),
            ("lamp-operator", "1.2.3")
        );
        assert!(side.follows_namespace);
        assert_eq!(side.bundle.csv, "lamp-operator.v1.2.3");
        let deployment = side.objects.iter().find(|(id, _)| id.kind == "Deployment").unwrap().1;
        assert_eq!(deployment["spec"]["replicas"], 5);

        let chart = side.chart.unwrap();
        assert_eq!((chart.name.as_str(), chart.version), ("lamp", format!("1.0.{patch}")));
        assert_eq!(chart.app_version, "1.2.3");
        assert_eq!(chart.kube_version, ">=1.30.0-0");
        assert_eq!(chart.values["deployments"]["lamp-operator"]["replicas"], 1);
        assert!(chart.schema.is_object());
        assert_eq!(chart.given, given);
        assert_eq!(chart.crds.into_iter().collect::<Vec<_>>(), [(lamps.to_owned(), placement)]);
        assert_eq!(chart.crds_folder, folder);
        let files: Vec<(String, String)> = chart.crd_files.into_iter().collect();
        let file = (lamps.to_owned(), format!("{folder}{lamps}.yaml"));
        assert_eq!(files, if folder.is_empty() { Vec::new() } else { vec![file] });
    }
}

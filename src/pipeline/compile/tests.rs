#![expect(clippy::disallowed_methods, reason = "tests write the files of a bundle")]

use super::*;
use crate::pipeline::samples::{config, write_bundle};
use crate::source::{Access, SourceResolver};
use std::fs;
use std::path::Path;

/// Compiles the first table of a configuration.
fn compiled(text: &str, diagnostics: &mut Diagnostics) -> Option<Compiled> {
    let config = config(text);
    let sources = SourceResolver::of(&config, Access::default());
    let bundle = &config.bundles[0];
    let mut files = sources.fetch(&bundle.source, None, diagnostics).unwrap();
    files.overlays = sources.overlays(&bundle.overlays, diagnostics);
    compile(&files, bundle, diagnostics)
}

fn table(folder: &Path, more: &str) -> String {
    format!("[[bundle]]\nname = \"lamp\"\npath = \"{}\"\n{more}", folder.display())
}

fn labels(compiled: &Compiled) -> Vec<String> {
    let mut labels: Vec<String> = compiled.unit.objects.iter().map(Object::label).collect();
    labels.sort();
    labels
}

/// Writes the bundle with this suggested namespace, and another text in the Deployment.
fn write_suggesting(folder: &Path, namespace: &str) {
    write_bundle(folder);
    let file = folder.join("manifests/csv.yaml");
    let annotation = format!(
        "metadata:\n  annotations:\n    operatorframework.io/suggested-namespace: {namespace}\n"
    );
    let text = fs::read_to_string(&file).unwrap().replacen("metadata:\n", &annotation, 1);
    let text = text.replace(
        "                image:",
        "                args: [--url=http://lamp.lamps.svc]\n                image:",
    );
    fs::write(file, text).unwrap();
}

#[test]
fn a_suggested_namespace_must_be_the_name_of_one() {
    let long = "a".repeat(63);
    for (suggested, fault) in [
        ("lamps", None),
        (long.as_str(), None),
        (&(long.clone() + "a"), Some("has 64 characters")),
        ("Lamps", Some("contains 'L'")),
    ] {
        let home = tempfile::tempdir().unwrap();
        write_suggesting(home.path(), suggested);
        let mut found = Diagnostics::new();
        let compiled = compiled(&table(home.path(), ""), &mut found);
        let namespace = compiled.as_ref().map(|compiled| compiled.namespace.as_str());
        let errors: Vec<&Diagnostic> =
            found.iter().filter(|found| found.severity == Severity::Error).collect();
        let Some(fault) = fault else {
            assert_eq!((namespace, errors), (Some(suggested), Vec::new()));
            continue;
        };
        let [error] = errors.as_slice() else { panic!("{errors:?}") };
        assert_eq!(
            error.message,
            format!("invalid suggested namespace `{suggested}`: the name {fault}")
        );
        assert_eq!(error.hint.as_deref(), Some("set namespace = \"…\" for this bundle"));
        let path = ".metadata.annotations[\"operatorframework.io/suggested-namespace\"]";
        assert_eq!(error.place.path.as_deref(), Some(path));
        // Its line in the file.
        assert_eq!(error.place.line, Some(5));
        // It is not used.
        let text = table(home.path(), "namespace = \"rooms\"\n");
        assert!(self::compiled(&text, &mut Diagnostics::new()).is_some());
    }
}

#[test]
fn the_suggested_namespace_is_also_rewritten_with_another_one() {
    let home = tempfile::tempdir().unwrap();
    write_suggesting(home.path(), "lamps");
    for more in ["", "namespace = \"rooms\"\n", "namespace = \"lamps\"\n"] {
        let compiled = compiled(&table(home.path(), more), &mut Diagnostics::new()).unwrap();
        let deployment = compiled.unit.of_kind("Deployment").next().unwrap();
        let shown = format!("{:?}", deployment.root);
        assert!(!shown.contains("lamp.lamps.svc"), "{more}: {shown}");
    }
}

#[cfg(feature = "serving")]
#[test]
fn a_chart_has_the_objects_of_its_platform_and_those_of_its_files() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("settings.yaml");
    fs::write(&file, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n").unwrap();
    let text = |manifests: &str| {
        format!(
            "[[chart]]
name = \"gateway\"
chart-version = \"1.0.0\"
{manifests}
[chart.maas.gateway]
class = \"istio\"
hostname = \"maas.example.com\"
tls-secret = \"maas-gateway-tls\"
namespaces = [\"models\"]
"
        )
    };
    let platform = compiled(&text(""), &mut Diagnostics::new()).unwrap();
    let with = text(&format!("manifests = [\"{}\"]", file.display()));
    let both = labels(&compiled(&with, &mut Diagnostics::new()).unwrap());
    let mut expected = labels(&platform);
    assert!(expected.iter().any(|label| label.starts_with("Gateway/")), "{expected:?}");
    expected.push("ConfigMap/settings".to_owned());
    expected.sort();
    assert_eq!(both, expected);
}

#[test]
fn the_configuration_adds_stubs_overlays_and_objects_of_operands() {
    let home = tempfile::tempdir().unwrap();
    write_bundle(home.path());
    let more = "exclude = ['.kind == \"ConfigMap\"']
stub-crds = [\"infrastructures.config.openshift.io\"]
[bundle.namespaces]
rooms = \"rooms\"
[[bundle.overlay]]
inline = \"\"\"
apiVersion: v1
kind: ConfigMap
metadata: {name: overlay}
\"\"\"
[[bundle.patch]]
match = '.kind == \"Deployment\"'
patch = '.spec.replicas = 3'
";
    let compiled = compiled(&table(home.path(), more), &mut Diagnostics::new()).unwrap();
    assert_eq!(
        labels(&compiled),
        [
            "ConfigMap/overlay",
            "CustomResourceDefinition/infrastructures.config.openshift.io",
            "CustomResourceDefinition/lamps.light.example.com",
            "Deployment/lamp-operator",
            "Namespace/namespaces.rooms",
            "Secret/pullSecret.name",
            "Secret/pullSecret.name",
        ]
    );
    let counts = |hits: &Hits| hits.iter().map(|(_, count)| *count).collect::<Vec<_>>();
    assert_eq!((counts(&compiled.hits), counts(&compiled.patched)), (vec![1], vec![1]));
}

#[test]
fn values_and_gates_are_those_of_the_objects() {
    let home = tempfile::tempdir().unwrap();
    write_bundle(home.path());
    let gated = "ready = [{ condition = \"On\", object = \"light.example.com/v1/Lamp/other\" }]
exclude = ['.kind == \"Deployment\"']
[[bundle.overlay]]
inline = \"\"\"
apiVersion: light.example.com/v1
kind: Lamp
metadata: {name: lamp}
\"\"\"
";
    let mut found = Diagnostics::new();
    assert!(compiled(&table(home.path(), gated), &mut found).is_none());
    let errors = found.iter().filter(|found| found.severity == Severity::Error);
    assert_eq!(errors.map(|found| found.code).collect::<Vec<_>>(), [Code::GateObject]);

    let gated = gated.replace("Lamp/other", "Lamp/lamp");
    let compiled = compiled(&table(home.path(), &gated), &mut Diagnostics::new()).unwrap();
    assert_eq!(
        compiled.unit.values.iter().map(|value| value.path.to_string()).collect::<Vec<_>>(),
        [""; 0]
    );
}

#[test]
fn a_later_version_that_is_replaced_is_found_in_the_names_of_bundles() {
    let home = tempfile::tempdir().unwrap();
    write_bundle(home.path());
    let config = config(&table(home.path(), ""));
    let sources = SourceResolver::of(&config, Access::default());
    let mut found = Diagnostics::new();
    let files = sources.fetch(&config.bundles[0].source, None, &mut found).unwrap();
    let mut bundle = bundle::load(&files, &mut found).unwrap();
    for (replaces, skips, expected) in [
        ("", &[] as &[&str], None),
        ("lamp-operator.v1.2.2", &[], None),
        ("lamp-operator.v1.2.3", &["lamp-operator.v1.2.3+4"], None),
        ("lamp-operator.v1.2.4", &[], Some("1.2.4")),
        ("lamp-operator.1.2.4", &[], Some("1.2.4")),
        (
            "lamp.operator.v1.2.4",
            &["lamp-operator.v1.2.5-1", "lamp-operator.v1.2.2"],
            Some("1.2.5-1"),
        ),
        ("lamp-operator", &["lamp-operator.v2"], None),
    ] {
        bundle.edges.replaces = replaces.to_owned();
        bundle.edges.skips = skips.iter().map(|skip| (*skip).to_owned()).collect();
        assert_eq!(replaces_later(&bundle).as_deref(), expected, "{replaces} {skips:?}");
    }
}

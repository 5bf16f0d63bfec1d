//! The Helm that other tests judge charts with is there, is the pinned one, and works without a
//! cluster.

use crate::support::helm::Helm;
use std::fs;
use std::path::Path;

fn write_chart(folder: &Path, template: &str) -> std::io::Result<()> {
    fs::create_dir_all(folder.join("templates"))?;
    fs::create_dir_all(folder.join("crds"))?;
    fs::write(
        folder.join("Chart.yaml"),
        "apiVersion: v2\nname: tiny\nversion: 0.1.0\nicon: https://example.com/icon.svg\n",
    )?;
    fs::write(folder.join("values.yaml"), "colour: blue\n")?;
    fs::write(folder.join("templates/configmap.yaml"), template)?;
    fs::write(
        folder.join("crds/things.yaml"),
        concat!(
            "apiVersion: apiextensions.k8s.io/v1\n",
            "kind: CustomResourceDefinition\n",
            "metadata:\n  name: things.example.com\n",
        ),
    )
}

const CONFIG_MAP: &str = concat!(
    "apiVersion: v1\n",
    "kind: ConfigMap\n",
    "metadata:\n  name: tiny\n  namespace: {{ .Release.Namespace }}\n",
    "data:\n  colour: {{ .Values.colour | quote }}\n",
);

#[test]
fn every_helm_is_the_pinned_version() {
    for helm in Helm::all_in_ci() {
        let found = helm.run(["version", "--template={{ .Version }}"]).expect_success();
        assert_eq!(found.trim(), format!("v{}", helm.version));
    }
}

#[test]
fn every_helm_lints_renders_packages_and_installs_dry() {
    let folder = tempfile::tempdir().expect("a folder");
    let chart = folder.path().join("tiny");
    write_chart(&chart, CONFIG_MAP).expect("the chart");
    for helm in Helm::all_in_ci() {
        helm.lint(&chart, &[]).expect_success();

        let rendered = helm.template("one", &chart, "home", &["--set", "colour=red"]);
        let rendered = rendered.expect_success();
        assert!(rendered.contains("namespace: home\ndata:\n  colour: \"red\""), "{rendered}");
        assert!(rendered.contains("name: things.example.com"), "{rendered}");

        if let Some(installed) = helm.install_dry_run("one", &chart, "home", &[]) {
            let installed = installed.expect_success();
            assert!(installed.contains("colour: \"blue\""), "{installed}");
        }

        let destination = folder.path().join(format!("packages-{}", helm.version));
        let archive = helm.package(&chart, &destination);
        assert!(archive.ends_with("tiny-0.1.0.tgz"), "{}", archive.display());
        helm.template("one", &archive, "home", &[]).expect_success();
    }
}

#[test]
fn a_broken_chart_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let chart = folder.path().join("tiny");
    write_chart(&chart, "colour: {{ .Values.colour | nothing }}\n").expect("the chart");
    for helm in Helm::all_in_ci() {
        let linted = helm.lint(&chart, &[]);
        assert!(!linted.success, "{} accepts it: {}", helm.version, linted.stdout);
        assert!(helm.template("one", &chart, "home", &[]).stderr.contains("nothing"));
    }
}

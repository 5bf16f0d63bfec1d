//! Compares our objects of real bundles with those of OLM's own renderer.
//!
//! The data is not part of the project: it lies in `../shared/olm-goldens` next to a checkout, or
//! where `BUNDLE2CHART_SHARED` says. Without it the tests say so and pass.

use crate::support::deviations::DEVIATIONS;
use crate::support::olm::{Case, compile};
use crate::support::shared::shared;
use bundle2chart::config::{CertificateProvider, PodConfig, Watch};
use bundle2chart::diag::Code;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn watch(bundle: &Path, mode: &str) -> Watch {
    let edge = bundle.ends_with("edge-b1");
    match mode {
        "all" => Watch::All,
        "own" => Watch::Own,
        "single" => Watch::Namespaces(vec!["watch-a".to_owned()]),
        // The one that was run with other namespaces.
        "multi" if edge => Watch::Namespaces(vec!["a".to_owned(), "b".to_owned()]),
        "multi" => Watch::Namespaces(vec!["watch-a".to_owned(), "watch-b".to_owned()]),
        other => panic!("unknown mode {other}"),
    }
}

fn yaml_files(folder: &Path) -> Vec<Json> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .map(|path| {
            let text = std::fs::read_to_string(path).expect("a readable golden");
            serde_yaml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        })
        .collect()
}

/// A bundle in a mode with a provider of certificates, as OLM's renderer was run.
struct Golden {
    bundle: String,
    mode: String,
    provider: String,
    /// The objects, or why there are none.
    expected: Result<Vec<Json>, String>,
}

/// The configuration of pods that some cases were rendered with.
fn pod_config(root: &Path) -> PodConfig {
    let text = std::fs::read_to_string(root.join("expected/deploymentconfig-options.json"));
    let json: Json = serde_json::from_str(&text.expect("the options")).expect("JSON");
    let list = |key: &str| json[key].as_array().cloned().unwrap_or_default();
    PodConfig {
        env: list("env"),
        env_from: list("envFrom"),
        volumes: list("volumes"),
        volume_mounts: list("volumeMounts"),
        tolerations: list("tolerations"),
        resources: Some(json["resources"].clone()),
        node_selector: Some(json["nodeSelector"].clone()),
        affinity: Some(json["affinity"].clone()),
        annotations: serde_json::from_value(json["annotations"].clone()).expect("annotations"),
        proxy: None,
    }
}

/// Everything in `expected/`.
fn goldens(root: &Path) -> Vec<Golden> {
    let mut goldens = Vec::new();
    let names = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("a readable folder");
        let name = |path: PathBuf| path.file_name().and_then(|n| n.to_str()).map(str::to_owned);
        let mut names: Vec<String> =
            entries.map(|e| name(e.expect("an entry").path()).expect("UTF-8")).collect();
        names.sort();
        names
    };
    let bundles = names(&root.join("bundles"));
    for folder in names(&root.join("expected")) {
        let path = root.join("expected").join(&folder);
        if !path.is_dir() {
            continue;
        }
        if let Some(bundle) = bundles.iter().find(|bundle| **bundle == folder) {
            for case in names(&path).iter().filter(|case| *case != "crds") {
                goldens.push(golden(bundle, case, &path.join(case), &path.join("crds")));
            }
        } else {
            // A single case: the name of the bundle, and then that of the case.
            let bundle = bundles.iter().find(|b| folder.starts_with(&format!("{b}-")));
            let bundle = bundle.unwrap_or_else(|| panic!("{folder} belongs to no bundle"));
            goldens.push(golden(bundle, &folder[bundle.len() + 1..], &path, &path.join("crds")));
        }
    }
    goldens
}

fn golden(bundle: &str, case: &str, path: &Path, crds: &Path) -> Golden {
    let (case, refused) = match case.strip_suffix(".error.txt") {
        Some(case) => (case, true),
        None => (case, false),
    };
    let (mode, provider) = case.split_once('-').expect("a mode and a provider");
    let expected = if refused {
        Err(std::fs::read_to_string(path).expect("a readable golden"))
    } else {
        let mut objects = yaml_files(path);
        objects.extend(yaml_files(crds));
        Ok(objects)
    };
    Golden {
        bundle: bundle.to_owned(),
        mode: mode.to_owned(),
        provider: provider.to_owned(),
        expected,
    }
}

/// Every bundle in every mode with every provider.
#[test]
fn every_bundle_in_every_mode() {
    let Some(root) = shared("olm-goldens") else { return };
    let mut table = String::new();
    let mut wrong = 0;
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    let goldens = goldens(&root);
    assert!(goldens.len() > 100, "the goldens hold more cases");
    for Golden { bundle, mode, provider, expected } in goldens {
        let label = format!("{bundle:<36} {mode:<6} {provider:<13}");
        let configured = provider.strip_suffix("-dc");
        let pods = configured.map_or_else(PodConfig::default, |_| pod_config(&root));
        let certificates = CertificateProvider::named(configured.unwrap_or(&provider));

        let folder = root.join("bundles").join(bundle);
        let watch = Some(watch(&folder, &mode));
        let mut actual = compile(&folder, watch, certificates.expect("a provider"), pods);
        if configured.is_some() {
            // These were kept without CRDs, which are those of the case without configuration.
            let crd = |object: &Json| object["kind"] == "CustomResourceDefinition";
            actual = actual.map(|objects| objects.into_iter().filter(|o| !crd(o)).collect());
        }
        let case = Case { mode: &mode, expected, actual, refused: None };
        let outcome = case.judge(&mut used).unwrap_or_else(|why| {
            wrong += 1;
            why
        });
        table.push_str(&format!("{label} {outcome}\n"));
    }
    println!("{table}");
    for deviation in &DEVIATIONS {
        let count = used.get(deviation.name).unwrap_or(&0);
        println!("{} ({count} cases): {} {}", deviation.name, deviation.what, deviation.why);
    }
    assert_eq!(wrong, 0, "{table}");
}

/// Each class of broken bundle, with the code that it must be refused with; `None`: compiles.
#[test]
fn broken_bundles_are_refused() {
    let Some(root) = shared("olm-goldens") else { return };
    let table: [(&str, &[Code]); 22] = [
        ("bad-deployment-name", &[Code::InvalidName]),
        ("conv-default-path", &[]),
        ("conv-dup-crd", &[Code::ConversionWebhook]),
        ("conv-not-allns", &[Code::ConversionWebhook]),
        ("conv-not-owned", &[Code::ConversionWebhook]),
        ("conv-preserveunknown", &[Code::ConversionWebhook]),
        ("crd-v1beta1", &[Code::CrdApiVersion]),
        ("dup-crd", &[Code::DuplicateObject]),
        ("dup-deployment", &[Code::DuplicateObject]),
        ("empty-package", &[Code::AnnotationsMissing]),
        ("ok", &[]),
        ("owned-missing", &[Code::OwnedCrdMissing]),
        ("two-csv", &[Code::SeveralCsvs]),
        ("unknown-csv-field", &[]),
        ("unsupported-kind", &[Code::UnsupportedKind]),
        ("wh-bad-name", &[Code::InvalidName]),
        ("wh-dup-name", &[Code::DuplicateObject]),
        ("wh-missing-deployment", &[Code::ServerMissing]),
        ("wh-rule-adm", &[Code::ForbiddenRule]),
        ("wh-rule-olm", &[Code::ForbiddenRule]),
        ("wh-rule-star", &[Code::ForbiddenRule]),
        ("wh-rule-v0group", &[]),
    ];
    for (name, expected) in table {
        let folder = root.join("negative").join(name);
        assert!(folder.exists(), "{name}");
        let olm = std::fs::read_to_string(folder.join("expected-error.txt"));
        for provider in ["cert-manager", "service-ca", "helm", "existing-secret", "none"] {
            let provider = CertificateProvider::named(provider).expect("a provider");
            match compile(&folder, None, provider, PodConfig::default()) {
                Ok(objects) => {
                    assert!(expected.is_empty(), "{name} compiled");
                    assert!(olm.is_err(), "{name} compiled, but OLM refuses it");
                    assert!(!objects.is_empty(), "{name}");
                }
                Err(errors) => {
                    // One thing is wrong with each, and nothing else is said.
                    let codes: Vec<Code> = errors.iter().map(|(code, _)| *code).collect();
                    assert_eq!(codes, expected, "{name}: {errors:?}");
                }
            }
        }
    }
    let count = std::fs::read_dir(root.join("negative")).expect("negative/").count();
    assert_eq!(count, table.len(), "every class is in the table");
}

//! What OLM's own renderer makes of real bundles, against what we make of them.
//!
//! The data is not part of the project: it lies in `../shared/olm-goldens` beside a checkout, or
//! where `BUNDLE2CHART_SHARED` says. Without it the tests say so and pass.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test"
)]

#[path = "support/deviations.rs"]
mod deviations;
#[path = "support/shared.rs"]
mod shared;

use bundle2chart::config::{BundleConfig, Watch};
use bundle2chart::diag::{Code, Severity};
use bundle2chart::ir::Release;
use bundle2chart::pipeline;
use bundle2chart::source::{self, Limits};
use deviations::{Comparison, DEVIATIONS};
use serde_json::{Value as Json, json};
use shared::shared;
use std::collections::BTreeMap;
use std::path::Path;

const NAMESPACE: &str = "op-ns";

fn watch(mode: &str) -> Watch {
    match mode {
        "all" => Watch::All,
        "own" => Watch::Own,
        "single" => Watch::Namespaces(vec!["watch-a".to_owned()]),
        "multi" => Watch::Namespaces(vec!["watch-a".to_owned(), "watch-b".to_owned()]),
        other => panic!("unknown mode {other}"),
    }
}

/// The compiled objects, or the codes of the errors.
fn compile(folder: &Path, mode: Option<&str>) -> Result<Vec<Json>, Vec<(Code, String)>> {
    let argument = folder.to_str().expect("a UTF-8 path");
    let source = source::from_argument(argument);
    let (files, mut diagnostics) = source::fetch(&source, Path::new(""), &[], &Limits::default());
    let compiled = files.and_then(|files| {
        let mut config = BundleConfig::new("operator", source);
        config.namespace = Some(NAMESPACE.to_owned());
        config.watch = mode.map(watch);
        let (compiled, found) = pipeline::compile(&files, &config);
        diagnostics.append(found);
        compiled
    });
    let Some(compiled) = compiled else {
        let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
        return Err(errors.map(|d| (d.code, d.message.clone())).collect());
    };
    let values = compiled.unit.default_values();
    let release = Release { namespace: NAMESPACE, values: &values };
    Ok(compiled.unit.objects.iter().filter_map(|object| release.object(object)).collect())
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

/// Every bundle in every mode: equal but for named deviations, or refused for the expected reason.
#[test]
fn every_bundle_in_every_mode() {
    let Some(root) = shared("olm-goldens") else { return };
    let mut table = String::new();
    let mut wrong = 0;
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    let mut bundles: Vec<_> = std::fs::read_dir(root.join("bundles"))
        .expect("bundles/")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    bundles.sort();
    assert!(bundles.len() > 20, "the goldens hold more bundles");
    for bundle in &bundles {
        let name = bundle.file_name().and_then(|n| n.to_str()).expect("a UTF-8 name");
        let expected = root.join("expected").join(name);
        for mode in ["all", "own", "single", "multi"] {
            let case = expected.join(format!("{mode}-none"));
            let refusal = std::fs::read_to_string(expected.join(format!("{mode}-none.error.txt")));
            if !case.exists() && refusal.is_err() {
                continue;
            }
            let outcome = match (compile(bundle, Some(mode)), refusal) {
                (Ok(objects), Err(_)) => {
                    let mut goldens = yaml_files(&case);
                    goldens.extend(yaml_files(&expected.join("crds")));
                    let comparison = Comparison::new(goldens, objects, mode, NAMESPACE);
                    for name in &comparison.used {
                        *used.entry(name).or_default() += 1;
                    }
                    if comparison.differences.is_empty() {
                        format!("equal ({} objects)", comparison.objects)
                    } else {
                        wrong += 1;
                        format!("WRONG\n{}", comparison.differences.join("\n"))
                    }
                }
                (Ok(objects), Ok(why)) => {
                    wrong += 1;
                    format!("WRONG: {} objects, but OLM says: {why}", objects.len())
                }
                (Err(errors), expected) => {
                    let codes: Vec<&str> = errors.iter().map(|(code, _)| code.as_str()).collect();
                    let webhooks =
                        errors.iter().all(|(code, _)| *code == Code::WebhooksUnsupported);
                    if expected.is_ok() || webhooks {
                        format!("refused: {}", summary(&codes))
                    } else {
                        wrong += 1;
                        format!("WRONG: refused, but OLM renders it: {errors:?}")
                    }
                }
            };
            table.push_str(&format!("{name:<40} {mode:<7} {outcome}\n"));
        }
    }
    println!("{table}");
    for deviation in &DEVIATIONS {
        let count = used.get(deviation.name).unwrap_or(&0);
        println!("{} ({count} cases): {} {}", deviation.name, deviation.what, deviation.why);
    }
    assert_eq!(wrong, 0, "{table}");
}

fn summary(codes: &[&str]) -> String {
    let mut unique = codes.to_vec();
    unique.sort_unstable();
    unique.dedup();
    unique.join(", ")
}

/// Each class of broken bundle, with the code that it must be refused with; `None`: compiles.
#[test]
fn broken_bundles_are_refused() {
    let Some(root) = shared("olm-goldens") else { return };
    let table: [(&str, &[Code]); 22] = [
        ("bad-deployment-name", &[Code::InvalidName]),
        ("conv-default-path", &[Code::WebhooksUnsupported]),
        ("conv-dup-crd", &[Code::WebhooksUnsupported]),
        ("conv-not-allns", &[Code::WebhooksUnsupported]),
        ("conv-not-owned", &[Code::WebhooksUnsupported]),
        ("conv-preserveunknown", &[Code::WebhooksUnsupported]),
        ("crd-v1beta1", &[Code::CrdApiVersion]),
        ("dup-crd", &[Code::DuplicateCrd]),
        ("dup-deployment", &[Code::DuplicateDeployment]),
        ("empty-package", &[Code::PackageNameEmpty]),
        ("ok", &[Code::WebhooksUnsupported]),
        ("owned-missing", &[Code::OwnedCrdMissing]),
        ("two-csv", &[Code::SeveralCsvs]),
        ("unknown-csv-field", &[Code::WebhooksUnsupported]),
        ("unsupported-kind", &[Code::UnsupportedKind]),
        ("wh-bad-name", &[Code::WebhooksUnsupported]),
        ("wh-dup-name", &[Code::WebhooksUnsupported]),
        ("wh-missing-deployment", &[Code::WebhooksUnsupported]),
        ("wh-rule-adm", &[Code::WebhooksUnsupported]),
        ("wh-rule-olm", &[Code::WebhooksUnsupported]),
        ("wh-rule-star", &[Code::WebhooksUnsupported]),
        ("wh-rule-v0group", &[Code::WebhooksUnsupported]),
    ];
    for (name, expected) in table {
        let folder = root.join("negative").join(name);
        assert!(folder.exists(), "{name}");
        match compile(&folder, None) {
            Ok(objects) => {
                assert!(expected.is_empty(), "{name} compiled");
                assert!(!objects.is_empty(), "{name}");
                assert_ne!(json!(objects), json!([]));
            }
            Err(errors) => {
                for code in expected {
                    assert!(errors.iter().any(|(c, _)| c == code), "{name}: {errors:?}");
                }
                assert!(!expected.is_empty(), "{name} was refused: {errors:?}");
            }
        }
    }
    let count = std::fs::read_dir(root.join("negative")).expect("negative/").count();
    assert_eq!(count, table.len(), "every class is in the table");
}

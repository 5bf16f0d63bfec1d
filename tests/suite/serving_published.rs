//! `check-serving` of published manifests, which are not part of this repository.

use crate::support::shared;
use bundle2chart::config::serving::profile;
use bundle2chart::diag::{Diagnostic, Diagnostics, Severity, human};
use bundle2chart::serving;
use std::fs;
use std::path::PathBuf;

fn check(name: &str, text: &str) -> Diagnostics {
    let mut found = Diagnostics::new();
    let manifests = serving::manifests_of(&format!("{name}.yaml"), text.as_bytes(), &mut found);
    assert!(!found.has_errors(), "{}\n{text}", human::render(&found, false));
    let mut found = Diagnostics::new();
    serving::check_manifests(manifests, profile::newest(), &mut found);
    found
}

/// The published manifests have no error but these.
#[test]
fn published_stacks_have_no_false_error() {
    let Some(folder) = shared::shared("serving/stacks/published") else { return };
    let mut errors = Vec::new();
    let mut count = 0;
    for file in fs::read_dir(&folder).expect("a folder") {
        let path = file.expect("a file").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let text = fs::read_to_string(&path).expect("a text");
        let found = check(&name, &text);
        count += 1;
        let is_error = |found: &&Diagnostic| found.severity == Severity::Error;
        errors.extend(found.iter().filter(is_error).map(|d| format!("{name}: {}", d.message)));
    }
    assert_eq!(count, 169);
    // True: another number of devices than in the resources, a comment that is part of a number, and a port that
    // the Service does not have.
    let right =
        ["ranks use 4", "`30000 # reduced it due to the error", "`r-router-service:9001` is"];
    errors.retain(|error| !right.iter().any(|one| error.contains(one)));
    assert!(errors.is_empty(), "{errors:#?}");
}

/// Changes of published manifests: the stack, a text, its replacement and the code that reports it.
#[rustfmt::skip]
const DEFECTS: &[(&str, &str, &str, &str)] = &[
    ("baseline-vllm", "path: /v1/models\n            port: modelserver\n          periodSeconds: 5", "path: /v1/ready\n            port: modelserver\n          periodSeconds: 5", "serving-probe"),
    ("baseline-vllm", "        - --tensor-parallel-size=2\n", "        - --tensor-parallel-size=2\n        - --host=127.0.0.1\n", "serving-address"),
    ("baseline-vllm", "        - --tensor-parallel-size=2\n", "        - --tensor-parallel-size=2\n        - --api-key=x\n", "serving-probe"),
    ("baseline-vllm", "failureThreshold: 120", "failureThreshold: 1", "serving-probe"),
    ("baseline-vllm", "mountPath: /.cache\n          name: torch-compile-cache", "mountPath: /.cache\n          name: torch-cache", "serving-pod"),
    ("baseline-vllm", "nvidia.com/gpu: 2\n          requests", "nvidia.com/gpu: 4\n          requests", "serving-pod"),
    ("baseline-vllm", "      llm-d.ai/role: decode\n  template", "      llm-d.ai/role: decoder\n  template", "serving-pod"),
    ("precise-prefix-cpu", "--block-size=64", "--block-size=128", "serving-prefix-cache"),
    ("precise-prefix-cpu", "\"enable_kv_cache_events\":true", "\"enable_kv_cache_events\":false", "serving-prefix-cache"),
    ("precise-prefix-cpu", "value: tcp://*:5556", "value: tcp://*:5557", "serving-prefix-cache"),
    ("precise-prefix-cpu", "\"topic\":\"kv@", "\"topic\":\"cache@", "serving-prefix-cache"),
    ("wide-ep-hybrid", "\"kv_connector\":\"NixlConnector\"", "\"kv_connector\":\"MooncakeConnector\"", "serving-transfer"),
    ("wide-ep-hybrid", "          - name: VLLM_NIXL_SIDE_CHANNEL_HOST\n            valueFrom:\n              fieldRef:\n                fieldPath: status.podIP\n", "          - name: VLLM_NIXL_SIDE_CHANNEL_HOST\n            value: 0.0.0.0\n", "serving-transfer"),
];

#[test]
fn defects_in_published_manifests_are_found() {
    let Some(folder) = shared::shared("serving/manifests") else { return };
    let read = |name: &str| -> String {
        let mut files: Vec<PathBuf> = fs::read_dir(folder.join(name))
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        files.sort();
        let texts: Vec<String> =
            files.iter().map(|file| fs::read_to_string(file).expect("a file")).collect();
        texts.join("\n---\n")
    };
    let mut missed = String::new();
    for (stack, from, to, code) in DEFECTS {
        let text = read(stack);
        assert!(text.contains(from), "{stack} has no {from:?}");
        let of = |text: &str| -> usize {
            let found = check(stack, text);
            let is_it = |d: &&Diagnostic| d.code.as_str() == *code && d.severity != Severity::Note;
            found.iter().filter(is_it).count()
        };
        if of(&text.replacen(from, to, 1)) <= of(&text) {
            missed.push_str(&format!("{stack}: {from:?} -> {to:?}\n"));
        }
    }
    assert!(missed.is_empty(), "{missed}");
}

//! Texts are read as Kubernetes reads them: what `bundle2chart::yaml::parse` makes of a text is held against
//! `NewYAMLOrJSONDecoder` of k8s.io/apimachinery, which is built from its Go module.
//!
//! Both read the same tree, or both refuse the text. What differs on purpose is a list with reasons
//! in `against_go/kubernetes_yaml/oracle.rs`.

mod awkward;
mod generated;
mod oracle;

use crate::go;
use crate::shared::shared;
use bundle2chart::ir::Release;
use oracle::{Reading, Verdict};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Number of generated texts. They depend on their numbers alone, so that every run reads the
/// same ones; `BUNDLE2CHART_YAML_TEXTS=FIRST-LAST` reads others.
const GENERATED: std::ops::Range<u64> = 0..40_000;

/// Number of readings by Go where it may read a map of two equal keys in either order.
const ASKED_AGAIN: usize = 30;

fn ours(text: &str) -> Reading {
    let release = Release { namespace: "", values: &Json::Null };
    bundle2chart::yaml::parse(text)
        .map(|documents| documents.iter().map(|v| release.value(v)).collect())
}

/// Results of many comparisons.
#[derive(Default)]
struct Tally {
    same: usize,
    refused: usize,
    intended: BTreeMap<&'static str, usize>,
}

/// Holds the readings of all texts against each other.
///
/// # Panics
/// When any of them differs otherwise than intended.
fn compare(program: &Path, texts: &[(String, &str)]) -> Tally {
    let only_texts: Vec<&str> = texts.iter().map(|(_, text)| *text).collect();
    let mut tally = Tally::default();
    let mut wrong = Vec::new();
    for ((name, text), theirs) in texts.iter().zip(oracle::read_all(program, &only_texts)) {
        let ours = ours(text);
        match oracle::compare(&ours, &theirs) {
            Verdict::Same => tally.same += 1,
            Verdict::Refused => tally.refused += 1,
            Verdict::Intended(deviation) => {
                *tally.intended.entry(deviation.reason).or_default() += 1;
            }
            // Keys such as `1` and `'1'` are equal only in JSON, and there Go takes any of them.
            Verdict::Different if varies(program, text) => {
                *tally.intended.entry("Go reads it in several ways").or_default() += 1;
            }
            Verdict::Different if is_by_mark(program, text) => {
                *tally.intended.entry("a byte order mark inside").or_default() += 1;
            }
            Verdict::Different => {
                let shown: String = format!("{text:?}").chars().take(500).collect();
                let said = |reading: &Reading| match reading {
                    Ok(documents) => Json::from(documents.clone()).to_string(),
                    Err(error) => format!("error: {error}"),
                };
                let [ours, theirs] = [said(&ours), said(&theirs)]
                    .map(|said| said.chars().take(500).collect::<String>());
                wrong.push(format!("{name}: {shown}\n  ours   {ours}\n  theirs {theirs}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} texts are read otherwise than by Kubernetes:\n{}",
        wrong.len(),
        texts.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
    tally
}

fn varies(program: &Path, text: &str) -> bool {
    let readings = oracle::read_all(program, &[text; ASKED_AGAIN]);
    readings.iter().any(|reading| *reading != readings[0])
}

/// Returns true if the text is read as by Kubernetes with other characters in place of its byte order
/// marks.
fn is_by_mark(program: &Path, text: &str) -> bool {
    oracle::without_marks(text).is_some_and(|text| {
        let theirs = oracle::read_all(program, &[&text]);
        !matches!(oracle::compare(&ours(&text), &theirs[0]), Verdict::Different)
    })
}

/// Found by fuzzing: the bytes in a comment decide what Go reads after it.
#[test]
#[ignore = "needs Go 1.26: cargo test --test against_go -- --ignored"]
fn byte_order_marks_at_the_beginning_of_a_buffer() {
    let program = go::program("kubernetes_yaml");
    let text = |bytes: usize| format!("#{}\na: '\u{feff}'\nb: 1\nc: 2\n", "x".repeat(bytes));
    // 506 bytes before the mark, and 512, which is a buffer of go-yaml.
    for (bytes, is_read) in [(495, true), (501, false)] {
        let text = text(bytes);
        let theirs = &oracle::read_all(&program, &[&text])[0];
        let verdict = oracle::compare(&ours(&text), theirs);
        assert_eq!(matches!(verdict, Verdict::Same), is_read, "{bytes}: {theirs:?}");
        assert!(is_read || is_by_mark(&program, &text), "{bytes}");
    }
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test against_go -- --ignored"]
fn awkward_texts() {
    let program = go::program("kubernetes_yaml");
    let texts: Vec<(String, &str)> =
        awkward::AWKWARD.iter().map(|text| ("awkward".to_owned(), *text)).collect();
    let tally = compare(&program, &texts);
    assert!(tally.same > 100 && tally.refused > 50, "{} {}", tally.same, tally.refused);
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test against_go -- --ignored"]
fn generated_texts() {
    let program = go::program("kubernetes_yaml");
    let numbers = std::env::var("BUNDLE2CHART_YAML_TEXTS").ok().map_or(GENERATED, |wanted| {
        let (first, last) = wanted.split_once('-').expect("FIRST-LAST");
        first.parse().expect("a number")..last.parse().expect("a number")
    });
    let texts: Vec<(String, String)> =
        numbers.map(|number| (format!("text {number}"), generated::text(number))).collect();
    let texts: Vec<(String, &str)> =
        texts.iter().map(|(name, text)| (name.clone(), text.as_str())).collect();
    let tally = compare(&program, &texts);

    // Texts that neither can read would prove nothing, nor would a deviation that covers everything.
    let share = |count: usize| count * 100 / texts.len();
    assert!(share(tally.same) >= 30, "{} of {} are read", tally.same, texts.len());
    let intended: usize = tally.intended.values().sum();
    assert!(share(intended) <= 10, "{:?}", tally.intended);
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test against_go -- --ignored"]
fn files_of_bundles() {
    let program = go::program("kubernetes_yaml");
    let mut folders = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures")];
    folders.extend(["corpus", "olm-goldens", "serving"].into_iter().filter_map(shared));
    for folder in folders {
        let files = files(&folder);
        let texts: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (name.clone(), text.as_str())).collect();
        let tally = compare(&program, &texts);
        assert!(tally.same > 10, "{}: {} files", folder.display(), tally.same);
        assert!(tally.intended.is_empty(), "{}: {:?}", folder.display(), tally.intended);
    }
}

/// The YAML and JSON files of a folder.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.expect("a readable folder");
        let path = entry.path();
        let known =
            path.extension().is_some_and(|e| ["yaml", "yml", "json"].iter().any(|k| e == *k));
        // What is not UTF-8 is refused before it is parsed.
        if known && let Ok(text) = fs::read_to_string(path) {
            found.push((path.display().to_string(), text));
        }
    }
    found
}

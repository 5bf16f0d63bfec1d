//! Changes of CRDs are judged at least as strictly as by crdify, which OLM v1 runs before an upgrade:
//! what it calls incompatible is breaking or risky, or a row of [`ALLOWED`] says why not.

use crate::go;
use crate::schema_pairs::{crd, pair};
use crate::shared::shared;
use bundle2chart::diff::path::Step;
use bundle2chart::diff::{Change, ChangeSet, Class, Options, Side, compare};
use bundle2chart::ir::Release;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use walkdir::WalkDir;

/// Incompatible changes of crdify that are none of ours: our code, which is empty where we have no difference,
/// the validations of crdify that it is about, or all, and the reason.
const ALLOWED: &[(&str, &[&str], &str)] = &[
    (
        "crd-loosened",
        &[],
        "all values stay valid: crdify reports every change of keywords that it does not know, types \
         that allow more, new values of an enum, and bounds inside of `anyOf` as bounds of the field; \
         tests/api_server/schema_changes.rs holds the code against the API server",
    ),
    (
        "crd-default-added",
        &[],
        "a new default, also of a field that becomes required, refuses nothing; docs/upgrades.md",
    ),
    ("crd-property-added", &["description", "unhandled"], "new fields are optional"),
    ("crd-status-checked", &[], "the new operator writes the status; docs/codes.md"),
    (
        "description-changed",
        &["description", "unhandled"],
        "descriptions and examples validate nothing",
    ),
    (
        "",
        &["minItems", "minLength", "minProperties", "unhandled"],
        "a default written out: `minLength: 0`, `nullable: false`",
    ),
];

/// Generated pairs of schemas.
const GENERATED: std::ops::Range<u64> = 0..3_000;

/// An error of crdify.
#[derive(Deserialize)]
struct Incompatibility {
    /// A version, `OLD -> NEW` for two served versions, or nothing for the CRD.
    versions: String,
    /// `^.spec.list[*].name`
    field: String,
    validation: String,
    error: String,
}

/// Returns what crdify says about pairs of CRDs.
fn incompatibilities(pairs: &[[Json; 2]]) -> Vec<Vec<Incompatibility>> {
    let input: String =
        pairs.iter().map(|[old, new]| format!("{}\n", json!({"old": old, "new": new}))).collect();
    let mut child = Command::new(go::program("crdify"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("the program runs");
    writer.join().expect("a thread").expect("all is read");
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    let answers: Vec<_> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), pairs.len());
    answers
}

/// Returns the version and the field of a change in a schema, spelled as by crdify.
fn place(change: &Change) -> Option<(String, String)> {
    let steps: Vec<String> = change.path.steps().iter().map(Step::label).collect();
    let [_, versions, version, schema, _, rest @ ..] = steps.as_slice() else { return None };
    if versions != "versions" || schema != "schema" {
        return None;
    }
    let mut field = "^".to_owned();
    let mut rest = rest.iter();
    while let Some(keyword) = rest.next() {
        match keyword.as_str() {
            "properties" => match rest.next() {
                Some(name) => field = format!("{field}.{name}"),
                None => break,
            },
            "items" | "additionalProperties" => field.push_str("[*]"),
            _ => break,
        }
    }
    Some((version.clone(), field))
}

/// Changes of a set by version and field.
struct Places<'s>(Vec<(String, String, &'s Change)>);

impl<'s> Places<'s> {
    fn of(set: &'s ChangeSet) -> Self {
        let placed = |change: &'s Change| {
            let (version, field) = place(change)?;
            Some((version, field, change))
        };
        Places(set.changes().filter_map(|(_, change)| placed(change)).collect())
    }

    /// Returns the changes of a field: its own, those of fields that contain it, and those of fields in
    /// it.
    fn around(&self, version: &str, field: &str) -> Vec<&'s Change> {
        let is_in = |outer: &str, inner: &str| {
            inner
                .strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let placed = self
            .0
            .iter()
            .filter(|(of, at, _)| of == version && (is_in(at, field) || is_in(field, at)));
        placed.map(|(_, _, change)| *change).collect()
    }
}

#[derive(Default)]
struct Tally {
    judged: usize,
    /// The number of incompatibilities by our code.
    allowed: BTreeMap<&'static str, usize>,
    /// Incompatibilities without a row: the number, and the first, by what a row would have.
    wrong: BTreeMap<(String, Vec<&'static str>), (usize, String)>,
}

impl Tally {
    /// Holds our findings on a pair against what crdify says.
    fn judge(&mut self, name: &str, [old, new]: &[Json; 2], theirs: &[Incompatibility]) {
        let side = |crd: &Json| Side::new("side", [crd.clone()], "default", None);
        let set = compare(side(old), side(new), &Options::default());
        let places = Places::of(&set);
        for found in theirs {
            // Each version is compared with itself; what differs between versions is for conversion.
            if found.versions.contains(" -> ") {
                continue;
            }
            self.judged += 1;
            let removed = found.error.strip_prefix("removed field : ");
            let (version, field) = match removed.and_then(|rest| rest.split_once(".^")) {
                Some((version, rest)) => (version, format!("^{rest}")),
                None => (found.versions.as_str(), found.field.clone()),
            };
            let changes = match version {
                "" => set.changes().map(|(_, change)| change).collect(),
                version => places.around(version, &field),
            };
            if changes.iter().any(|change| change.class() != Class::Info) {
                continue;
            }
            let mut codes: BTreeSet<&'static str> =
                changes.iter().map(|change| change.findings[0].rule.code).collect();
            // Descriptions of a field change together with something else.
            if codes.len() > 1 {
                codes.remove("description-changed");
            }
            let all: Vec<&'static str> =
                if codes.is_empty() { vec![""] } else { codes.into_iter().collect() };
            let row = |code: &&str| {
                ALLOWED.iter().any(|(ours, of, _)| {
                    ours == code && (of.is_empty() || of.contains(&found.validation.as_str()))
                })
            };
            if all.iter().all(row) {
                all.iter().for_each(|code| *self.allowed.entry(code).or_default() += 1);
                continue;
            }
            let first = || format!("{name}: {version} {field}: {}", found.error);
            let known = self.wrong.entry((found.validation.clone(), all));
            known.or_insert_with(|| (0, first())).0 += 1;
        }
    }
}

#[test]
#[ignore = "needs Go 1.26: cargo test --test against_go -- --ignored"]
fn what_crdify_calls_incompatible_is_breaking_or_risky() {
    let mut named: Vec<(String, [Json; 2])> = GENERATED
        .map(|number| {
            let pair = pair(number);
            let [old, new] =
                [&pair.old, &pair.new].map(|schema| crd("Pair", [("field".to_owned(), schema)]));
            (format!("pair {number}: {} {}", pair.old, pair.new), [old, new])
        })
        .collect();
    let generated = named.len();
    if let Some(corpus) = shared("corpus") {
        named.extend(real_pairs(&corpus));
        assert!(named.len() > generated + 20, "{} real pairs", named.len() - generated);
    }
    let (names, pairs): (Vec<String>, Vec<[Json; 2]>) = named.into_iter().unzip();
    let mut tally = Tally::default();
    for ((name, pair), theirs) in names.iter().zip(&pairs).zip(incompatibilities(&pairs)) {
        tally.judge(name, pair, &theirs);
    }
    println!(
        "{} pairs, {} incompatibilities, allowed: {:?}",
        pairs.len(),
        tally.judged,
        tally.allowed
    );
    assert!(tally.wrong.is_empty(), "neither breaking nor risky: {:#?}", tally.wrong);
    let mut unused = ALLOWED.iter().filter(|(code, ..)| !tally.allowed.contains_key(code));
    assert!(pairs.len() == generated || unused.next().is_none(), "a row without a case");
    assert!(tally.judged > pairs.len() / 2, "{}", tally.judged);
}

/// Pairs of CRDs of a name in subsequent versions of each package.
fn real_pairs(corpus: &Path) -> Vec<(String, [Json; 2])> {
    let mut pairs = Vec::new();
    for package in folders(corpus) {
        let mut versions = folders(&package);
        versions.sort_by_cached_key(|version| {
            semver::Version::parse(label(version).trim_start_matches('v')).ok()
        });
        let crds: Vec<BTreeMap<String, Json>> =
            versions.iter().map(|version| crds(version)).collect();
        for (index, pair) in crds.windows(2).enumerate() {
            for (name, old) in &pair[0] {
                if let Some(new) = pair[1].get(name) {
                    let title =
                        format!("{} {} {name}", label(&package), label(&versions[index + 1]));
                    pairs.push((title, [old.clone(), new.clone()]));
                }
            }
        }
    }
    pairs
}

fn label(folder: &Path) -> String {
    folder.file_name().expect("a name").to_string_lossy().into_owned()
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// The CRDs of a bundle by name, as apiextensions.k8s.io/v1 has them.
fn crds(bundle: &Path) -> BTreeMap<String, Json> {
    let release = Release { namespace: "", values: &Json::Null };
    let files = WalkDir::new(bundle).into_iter().map(|entry| entry.expect("an entry").into_path());
    let texts =
        files.filter(|path| path.is_file()).filter_map(|path| fs::read_to_string(path).ok());
    let documents = texts.filter_map(|text| bundle2chart::yaml::parse(&text).ok()).flatten();
    documents
        .map(|document| release.value(&document))
        .filter(|object| {
            object["kind"] == "CustomResourceDefinition"
                && object["apiVersion"] == "apiextensions.k8s.io/v1"
        })
        .map(|crd| (crd["metadata"]["name"].as_str().expect("a name").to_owned(), crd))
        .collect()
}

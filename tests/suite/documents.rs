//! Documents that say what the program already knows are made from it, and never differ from it.
//! `UPDATE=1 cargo test --test suite documents::` writes them.

mod attacks;
mod bundles_toml;
mod commands;
mod crates;
mod examples;
mod values;

use crate::support::command::Case;
use crate::support::deviations;
use bundle2chart::config::schema::json_schema;
use bundle2chart::diag::{Code, Explanation};
use bundle2chart::diff::Class;
use serde_json::Value as Json;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

fn up_to_date(path: &str, expected: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(&file, expected).expect("a file");
    }
    let found = fs::read_to_string(&file).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        found == expected,
        "{path} is out of date; write it with UPDATE=1 cargo test --test suite documents::"
    );
}

#[test]
fn codes() {
    let mut text = "\
# Codes of diagnostics

Every problem that bundle2chart reports has one of these codes, as in `error[unknown-key]`.
`bundle2chart explain CODE` prints the same text; the examples are from the tests. Codes are stable and never reused. The
level is the highest one without `[lints]`; the text in parentheses is what the code is about.

Generated from `src/model/diag/code.rs`.
"
    .to_owned();
    let examples = examples::by_code();
    let mut with_example = 0;
    for code in Code::ALL {
        let Explanation { code, level, area, title, explanation, .. } = code.explanation();
        let _ = write!(text, "\n## {code}\n\n**{level}** ({area}): {title}\n\n{explanation}\n");
        if let Some(example) = examples.get(code) {
            with_example += 1;
            let _ = write!(text, "\n```text\n{example}\n```\n");
            let severe =
                |level: &str| ["note", "warning", "error"].iter().position(|l| *l == level);
            let shown = example.split('[').next().unwrap_or_default();
            assert!(severe(shown) <= severe(level), "{code} is declared as {level}: {example}");
        }
    }
    assert!(with_example > 100, "only {with_example} codes have an example");
    text.push_str(
        "\n# Codes of changes\n\nRules of `bundle2chart diff`, generated from `src/diff/rules/`. Their classes mean:\n
- **breaking**: action required, or something stops. The API server or Helm rejects the upgrade, objects or manifests that
  were valid are rejected, data is lost, or something that was served no longer is.
- **risky**: look before the upgrade. Whether it harms depends on the cluster, on values or on how the operator is used, which
  the charts do not say.
- **info**: no action required. The change is the upgrade itself, or allows more than before.\n",
    );
    for rule in bundle2chart::diff::rules::all() {
        let _ = write!(
            text,
            "\n## {} ({})\n\n{}\n\n{}\n",
            rule.code,
            rule.class.as_str(),
            rule.title,
            rule.explanation,
        );
        let _ = rule.todo.map(|todo| writeln!(text, "\nWhat to do: {todo}"));
    }
    up_to_date("docs/codes.md", &text);
}

/// Written by hand, but for the rules and their classes.
#[test]
fn schema_of_diff() {
    let mut schema = crate::diff::report_schema();
    let codes = bundle2chart::diff::rules::all().map(|rule| rule.code);
    let classes = Class::ALL.iter().map(|class| class.as_str());
    schema["definitions"]["code"]["enum"] = codes.collect();
    schema["definitions"]["class"]["enum"] = classes.collect();
    up_to_date("schema/diff.schema.json", &format!("{schema:#}\n"));
}

#[test]
fn schema() {
    up_to_date("schema/bundles.schema.json", &format!("{:#}\n", json_schema()));
}

/// Known failures of model serving that `check-serving` does not check, each with the reason.
const NOT_CHECKED: &[(&str, &str)] = &[
    (
        "vLLM rejects external load balancing of ranks for models without experts",
        "manifests do not contain the model architecture; the docs of `topology` mention it",
    ),
    (
        "Istio ignores pools without ENABLE_GATEWAY_API_INFERENCE_EXTENSION, and some of its \
         releases all ports of a pool except the first (istio#57638)",
        "it depends on istiod; the README of a chart lists it as a requirement",
    ),
    (
        "with the CRDs of both groups, pickers watch objectives and rewrites of llm-d.ai only \
         (llm-d-router#1449)",
        "it depends on the cluster; objects of a group that the profile's picker does not watch are \
         reported (`serving-pool-missing`)",
    ),
    (
        "an upgrade of the LeaderWorkerSet chart from 0.7 to 0.8 deletes its CRD and all groups \
         (lws#880)",
        "it depends on the installation of LeaderWorkerSet",
    ),
    (
        "host names differ in clusters with another domain than cluster.local",
        "manifests do not contain the domain; upstream's DestinationRule has the same limitation",
    ),
    ("Gateways ignore the port of a route's reference to a pool", "it has no effect"),
    ("drivers, NCCL and RDMA of nodes do not match the engine", "manifests do not describe nodes"),
];

#[test]
fn invariants() {
    let mut text = "\
# Invariants of model-serving manifests

`build` checks them in the charts of `[[serving]]` tables, `bundle2chart check-serving` in any manifests. `bundle2chart
explain CODE` explains a code. The field is the key of `[[serving]]` that determines the invariant, the source an issue, an
API or a program.

Generated from `src/serving/invariants.rs`.

| code | severity | field | otherwise | source |
|---|---|---|---|---|
"
    .to_owned();
    for invariant in bundle2chart::serving::invariants::INVARIANTS {
        let _ = writeln!(
            text,
            "| [{0}](codes.md#{0}) | {1} | `{2}` | {3} | {4} |",
            invariant.code.as_str(),
            invariant.severity.as_str(),
            invariant.field,
            invariant.reason,
            invariant.source
        );
    }
    text.push_str("\n## Known failures that are not checked\n\n| failure | reason |\n|---|---|\n");
    for (what, why) in NOT_CHECKED {
        let _ = writeln!(text, "| {what} | {why} |");
    }
    text.push_str(
        "\n## Known releases\n\nGenerated from `src/serving/releases/data/`.\n\n\
         | program | first | newest | read on |\n|---|---|---|---|\n",
    );
    for (program, table) in known_releases() {
        let versions = table["versions"].as_array().expect("versions");
        let [first, newest] =
            [versions.first(), versions.last()].map(|one| one.expect("a version"));
        let cells = [first, newest, &table["read"]].map(|cell| cell.as_str().expect("text"));
        let _ = writeln!(text, "| {program} | {} |", cells.join(" | "));
    }
    up_to_date("docs/invariants.md", &text);
}

/// Returns the tables of facts about releases, with the names of their programs.
fn known_releases() -> [(&'static str, Json); 11] {
    let data = |name: &str| -> Json {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/serving/releases/data");
        let text = fs::read_to_string(folder.join(name)).expect("a table");
        serde_json::from_str(&text).expect("JSON")
    };
    let kinds = data("kinds.json");
    [
        ("vLLM", data("vllm.json")),
        ("SGLang", data("sglang.json")),
        ("endpoint picker of llm-d-router", data("picker-llm-d.json")),
        ("endpoint picker of gateway-api-inference-extension", data("picker-gie.json")),
        ("routing sidecar of llm-d-router", data("sidecar.json")),
        ("CRDs of llm-d-router", kinds["llm-d-router"].clone()),
        ("CRDs of gateway-api-inference-extension", kinds["gie"].clone()),
        ("CRDs of LeaderWorkerSet", kinds["lws"].clone()),
        ("CRDs of KServe", kinds["kserve"].clone()),
        ("CRDs of Open Data Hub's KServe", kinds["odh-kserve"].clone()),
        ("versions of Kubernetes' APIs", kinds["kubernetes"].clone()),
    ]
}

#[test]
fn samples_have_the_newest_releases() {
    let [(_, vllm), (_, sglang), ..] = known_releases();
    for (file, quote) in [
        ("docs/serving.md", '"'),
        ("examples/llm-platform/models/granite.toml", '"'),
        ("examples/serving/bundles.toml", '"'),
        ("schema/bundles.schema.json", '`'),
    ] {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
        let text = text.expect("a file");
        for (image, table) in [("vllm/vllm-openai", &vllm), ("lmsysorg/sglang", &sglang)] {
            let newest = table["versions"].as_array().and_then(|all| all.last()?.as_str());
            for rest in text.split(&format!("{quote}{image}:v")).skip(1) {
                assert_eq!(rest.split([quote, '@']).next(), newest, "{file}: {image}");
            }
        }
    }
}

#[test]
fn deviations() {
    let mut text = "\
# Deviations from OLM

bundle2chart creates the same objects from a bundle as Operator Lifecycle Manager (OLM), except for the
deviations listed here. `tests/suite/goldens.rs` compares the two object by object on real bundles, and allows these
differences and no others. Where nothing else is said, OLM is OLM v1.

Generated from `tests/support/deviations.rs`.
"
    .to_owned();
    for deviation in &deviations::DEVIATIONS {
        let _ = write!(
            text,
            "\n## {}\n\n{}\n\nWhy: {}\n",
            deviation.name, deviation.what, deviation.why
        );
    }
    up_to_date("docs/deviations.md", &text);
}

/// The picture of a terminal in docs/first-chart.md.
#[test]
fn picture_of_inspect() {
    let case = Case::new();
    case.link_fixtures();
    let bundle = "fixtures/bundles/pod-group-operator/1.0.0";
    let seen = case.run(&["inspect", bundle, "--color", "always"]);
    let command = format!("$ bundle2chart inspect {bundle}\n");
    let screen = [&command, &seen.stdout, "\n", &seen.stderr].concat();
    up_to_date("docs/inspect.svg", &anstyle_svg::Term::new().render_svg(&screen));
}

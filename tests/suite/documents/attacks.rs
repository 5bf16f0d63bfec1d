//! The table of attacks in docs/security.md: each code and each test that it names exists.

use bundle2chart::diag::Code;
use std::fs;
use std::path::Path;

const PAGE: &str = "docs/security.md";
const HEADING: &str = "\n## Attacks between registry and chart\n";

fn read(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the texts between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Returns true if the source has a test of this name, which is not left out of `cargo test`.
fn has_test(source: &str, name: &str) -> bool {
    let Some((before, _)) = source.split_once(&format!("fn {name}(")) else { return false };
    let attributes = before.rsplit("\n\n").next().unwrap_or_default();
    attributes.contains("#[test]") && !attributes.contains("#[ignore")
}

#[test]
fn tests_are_recognized() {
    let source = "#[test]\nfn a() {\n}\n\n#[test]\n#[ignore = \"x\"]\nfn b() {\n}\n\nfn c() {\n}\n";
    assert_eq!(
        ["a", "b", "c", "d"].map(|name| has_test(source, name)),
        [true, false, false, false]
    );
}

#[test]
fn codes_and_tests_of_attacks_exist() {
    let page = read(PAGE);
    let section = page.split_once(HEADING).expect("the section").1;
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    let mut wrong = Vec::new();
    let mut count = 0;

    for row in rows {
        count += 1;
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [attack, _, codes, tests] = cells[..] else { panic!("not four cells: {row}") };
        let tests = quoted(tests);
        if tests.is_empty() {
            wrong.push(format!("{attack}: no test"));
        }
        let mut sources = String::new();
        for test in tests {
            let (path, name) = test.split_once("::").expect("FILE::TEST");
            let source = read(path);
            if !has_test(&source, name) {
                wrong.push(format!("{attack}: {path} has no test `{name}`"));
            }
            sources.push_str(&source);
        }

        for name in quoted(codes) {
            let Some(code) = Code::ALL.iter().find(|code| code.as_str() == name) else {
                wrong.push(format!("{attack}: no code `{name}`"));
                continue;
            };
            if !sources.contains(name) && !sources.contains(&format!("Code::{code:?}")) {
                wrong.push(format!("{attack}: `{name}` is in none of its tests"));
            }
        }
    }
    assert!(count > 30, "only {count} attacks");
    assert!(wrong.is_empty(), "{PAGE}:\n{}", wrong.join("\n"));
}

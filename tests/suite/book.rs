//! README.md and the book in docs/: the console blocks are what the program prints, links lead
//! somewhere, and the README is short.

use crate::support::command::Case;
use regex::Regex;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Most lines of README.md.
const LONGEST: usize = 200;

/// Starts of the commands in console blocks that are not run: they need a registry whose state
/// changes, charts that are not in fixtures/, or another program.
const NOT_RUN: [&str; 5] = [
    "bundle2chart outdated",
    "bundle2chart lock --upgrade",
    "bundle2chart push",
    "helm ",
    "bundle2chart build\nerror",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the README and the pages of the book, each with its text.
fn pages() -> Vec<(PathBuf, String)> {
    let mut paths = vec![PathBuf::from("README.md")];
    for entry in fs::read_dir(root().join("docs")).expect("docs") {
        let name = entry.expect("an entry").file_name();
        paths.push(Path::new("docs").join(name));
    }
    paths.sort();
    let text = |path: &PathBuf| fs::read_to_string(root().join(path)).expect("a page");
    paths.into_iter().map(|path| (path.clone(), text(&path))).collect()
}

/// Returns the anchors of the headings of a page, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = BTreeSet::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            let heading = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            found.insert(kept.collect::<String>().replace(' ', "-"));
        }
        let named = line.split("<a name=\"").skip(1).filter_map(|rest| rest.split('"').next());
        found.extend(named.map(str::to_owned));
    }
    found
}

#[test]
fn links_lead_to_files_and_headings() {
    let link = Regex::new(r"\]\(([^)\s]+)\)").expect("a link");
    let mut broken = Vec::new();
    let mut count = 0;
    for (page, text) in pages() {
        for found in link.captures_iter(&text) {
            let target = &found[1];
            if target.starts_with("http") {
                continue;
            }
            count += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = page.parent().expect("a folder");
            let file = if path.is_empty() { page.clone() } else { folder.join(path) };
            let exists = root().join(&file).exists();
            let has_anchor = anchor.is_empty() || {
                let text = fs::read_to_string(root().join(&file)).unwrap_or_default();
                anchors(&text).contains(anchor)
            };
            if !exists || !has_anchor {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(count > 40, "only {count} links");
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_page_is_in_the_book() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).expect("a summary");
    for (page, _) in pages() {
        let name = page.file_name().and_then(|name| name.to_str()).expect("a name");
        if page.starts_with("docs") && name != "SUMMARY.md" {
            assert!(summary.contains(&format!("]({name})")), "{name} is not in docs/SUMMARY.md");
        }
    }
}

#[test]
fn the_readme_is_short() {
    let text = fs::read_to_string(root().join("README.md")).expect("README.md");
    assert!(text.lines().count() <= LONGEST, "{} lines", text.lines().count());
}

/// Returns the commands of a console block, each with what it prints.
fn commands(block: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            found.push((command.to_owned(), String::new()));
        } else if let Some((_, output)) = found.last_mut() {
            output.push_str(line);
            output.push('\n');
        }
    }
    found
}

/// Returns true if `expected` describes `printed`: `…` in a line is any text, and a line with only
/// `…` any lines.
fn matches(expected: &str, printed: &str) -> bool {
    let mut pattern = String::from("^");
    for line in expected.lines() {
        if line.trim() == "…" {
            pattern.push_str("(?s:.*)");
            continue;
        }
        let parts: Vec<String> = line.split('…').map(regex::escape).collect();
        pattern.push_str(&parts.join("[^\n]*"));
        pattern.push('\n');
    }
    pattern.push('$');
    Regex::new(&pattern).expect("a pattern").is_match(printed)
}

/// Returns a folder like a clone of this repository; the quick start begins without a bundles.toml.
fn clone(first: &str) -> Case {
    let case = Case::new();
    case.link_fixtures();
    if first != "bundle2chart init" {
        let read = |path: &str| fs::read_to_string(root().join(path)).expect("a file");
        case.write("bundles.toml", read("bundles.toml"));
        // Both versions of one bundle, to compare.
        let case_with = |version: &str| {
            let config =
                read("bundles.toml").replace("-bundle:1.1.0", &format!("-bundle:{version}"));
            case.write("bundles.toml", config);
            let seen = case.run(&["build", "sealing-wax-operator", "-q", "--out", "both"]);
            assert_eq!(seen.code, Some(0), "{}", seen.text());
        };
        if first.starts_with("bundle2chart diff") {
            case_with("1.0.0");
            case_with("1.1.0");
            fs::rename(case.path("both"), case.path("out")).expect("the charts");
        }
    }
    case
}

#[test]
fn console_blocks_are_what_the_program_prints() {
    let mut run = 0;
    for (page, text) in pages() {
        for block in text.split("```console\n").skip(1) {
            let block = block.split("```").next().expect("a block");
            let commands = commands(block);
            let Some((first, _)) = commands.first() else { continue };
            let case = clone(first);
            for (command, expected) in &commands {
                let whole = format!("{command}\n{expected}");
                if NOT_RUN.iter().any(|start| whole.starts_with(start)) || command.contains('|') {
                    continue;
                }
                let arguments: Vec<&str> = command.split_whitespace().skip(1).collect();
                let seen = case.run(&arguments);
                let printed = format!("{}{}", seen.stdout, seen.stderr);
                let page = page.display();
                assert!(matches(expected, &printed), "{page}: $ {command}\n{printed}");
                run += 1;
            }
        }
    }
    assert!(run >= 7, "only {run} commands");
}

#[test]
fn ellipses_match_any_text_and_nothing_else_does() {
    assert!(matches("a … c\n…\nd\n", "a b c\nx\ny\nd\n"));
    assert!(!matches("a … c\nd\n", "a b c\nx\nd\n"));
    assert!(!matches("a.c\n", "abc\n"));
}

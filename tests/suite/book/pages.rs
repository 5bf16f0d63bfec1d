//! Rules for the text of pages, checked without running anything.

use super::page::{Page, Part, root};
use regex::Regex;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Most lines of README.md.
const LONGEST: usize = 120;

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

/// Returns a relative path without `..`.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut normal, part| {
        if part == Component::ParentDir {
            normal.pop();
        } else {
            normal.push(part);
        }
        normal
    })
}

/// Returns the local links of a page: the file, relative to the repository, and the anchor.
fn links(page: &Page) -> Vec<(PathBuf, String)> {
    let link = Regex::new(r"\]\(([^)\s]+)\)").expect("a pattern");
    let mut prose = page.text.clone();
    // Code is no link.
    for part in page.parts().into_iter().rev() {
        if let Part::Block(_, range) = part {
            prose.replace_range(range, "");
        }
    }
    // Files outside of the book are links to the repository.
    let repository = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");
    let targets = link.captures_iter(&prose).map(|found| found[1].to_owned());
    targets
        .filter(|target| !target.starts_with("http") || target.starts_with(repository))
        .map(|target| {
            let (target, directory) = match target.strip_prefix(repository) {
                Some(target) => (target, Path::new("")),
                None => (target.as_str(), page.path.parent().expect("a directory")),
            };
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { page.path.clone() } else { directory.join(path) };
            (normal(&file), anchor.to_owned())
        })
        .collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut broken = Vec::new();
    let mut count = 0;
    for page in Page::all() {
        for (file, anchor) in links(&page) {
            count += 1;
            let has_anchor = anchor.is_empty() || {
                let text = fs::read_to_string(root().join(&file)).unwrap_or_default();
                anchors(&text).contains(&anchor)
            };
            if !root().join(&file).exists() || !has_anchor {
                broken.push(format!("{}: {}#{anchor}", page.path.display(), file.display()));
            }
        }
    }
    assert!(count > 60, "only {count} links");
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_page_is_in_the_book_once() {
    let pages = Page::all();
    let summary = Path::new("docs/SUMMARY.md");
    let page = pages.iter().find(|page| page.path == summary).expect("docs/SUMMARY.md");
    let mut listed: Vec<PathBuf> = links(page).into_iter().map(|(file, _)| file).collect();
    listed.sort();
    let book = |page: &Page| page.path.starts_with("docs") && page.path != summary;
    let mut expected: Vec<PathBuf> =
        pages.iter().filter(|page| book(page)).map(|page| page.path.clone()).collect();
    expected.sort();
    assert_eq!(listed, expected);
}

/// A reader carries out each job of the introduction with the commands of its pages, which
/// `console_blocks_of_the_book_are_what_the_program_prints` runs; they do not end in an error.
#[test]
fn each_job_has_a_page_with_commands() {
    let pages = Page::all();
    let page = |path: &Path| pages.iter().find(|page| page.path == path).expect("a page");
    let introduction = page(Path::new("docs/introduction.md"));
    let jobs: Vec<&str> = introduction
        .text
        .lines()
        .skip_while(|line| *line != "| job | page |")
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .collect();
    assert_eq!(jobs.len(), 12, "{jobs:#?}");

    for job in jobs {
        let links = job.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links {
            let page = page(&Path::new("docs").join(link));
            let parts = page.parts();
            let of_session = parts.iter().skip_while(|part| !matches!(part, Part::Session(_)));
            let blocks = of_session.filter_map(|part| match part {
                Part::Block(language, range) if language == "console" => {
                    page.text.get(range.clone())
                }
                _ => None,
            });
            let last = blocks.flat_map(super::transcript::steps).last();
            let last = last.unwrap_or_else(|| panic!("{link}: no commands: {job}"));
            let fails = last.output.lines().any(|line| line.starts_with("error"));
            assert!(!fails, "{link}: $ {}", last.command);
        }
    }
}

#[test]
fn the_readme_is_short() {
    let text = fs::read_to_string(root().join("README.md")).expect("README.md");
    assert!(text.lines().count() <= LONGEST, "{} lines", text.lines().count());
}

/// The picture of the report is not drawn again by itself: its description has the numbers that it shows.
#[test]
fn the_picture_of_the_report_shows_the_upgrade_of_its_page() {
    let text = fs::read_to_string(root().join("docs/upgrades.md")).expect("docs/upgrades.md");
    let (_, rest) = text.split_once("![The report as a page: ").expect("the picture");
    let (counts, _) = rest.split_once("](report.png)").expect("its file");
    assert!(text.contains(&format!("\n{counts}\n")), "draw it again: {counts}");
}

/// A directory is set up by two commands, `init` and `add`; the third one builds.
#[test]
fn two_commands_set_up_a_directory() {
    let pages = Page::all();
    let readme = pages.iter().find(|page| page.path.ends_with("README.md")).expect("README.md");
    let blocks: Vec<&str> = readme
        .parts()
        .into_iter()
        .filter_map(|part| match part {
            Part::Block(language, range) if language == "console" => readme.text.get(range),
            _ => None,
        })
        .collect();
    let commands: Vec<String> = blocks
        .iter()
        .flat_map(|block| super::transcript::steps(block))
        .map(|step| step.command)
        .collect();
    let set_up = commands.iter().filter_map(|command| command.strip_prefix("bundle2chart "));
    let first: Vec<&str> = set_up.take(3).filter_map(|rest| rest.split(' ').next()).collect();
    assert_eq!(first, ["init", "add", "build"], "{commands:?}");
    assert_eq!(commands[0], "cargo run --release -- build");
}

/// CI runs commands that CONTRIBUTING.md explains, and no others.
#[test]
fn ci_runs_what_contributing_explains() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("a file");
    let page = read("CONTRIBUTING.md");
    let script = read(".ci/run");
    let cargo: Vec<String> = script
        .lines()
        .filter(|line| line.starts_with("cargo "))
        .map(|line| line.replace(" --locked", ""))
        .collect();
    assert!(cargo.iter().any(|line| line == "cargo test"), "{cargo:?}");
    let explained = |line: &&String| !page.replace(" --locked", "").contains(&format!("`{line}`"));
    let missing: Vec<&String> = cargo.iter().filter(explained).collect();
    assert!(missing.is_empty(), "CONTRIBUTING.md does not explain {missing:?}");
}

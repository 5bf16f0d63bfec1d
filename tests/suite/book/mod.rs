//! README.md and the book in docs/: every console block is run and compared, links lead to pages and
//! headings, and every page is in the book.
//!
//! `UPDATE=1 cargo test --test suite book::` replaces the blocks that differ; read the changes, and
//! leave out again with `…` what a reader does not need.

mod built;
mod debian;
mod loopback;
mod page;
mod pages;
mod session;
mod transcript;

use crate::support::control_plane::ControlPlane;
use page::{Page, Part, root};
use serde_json::Value as Json;
use session::Session;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// A block that a page shows otherwise than it is printed.
struct Difference {
    /// The place, the command and both outputs.
    report: String,
    /// The lines of the block in the page.
    range: Range<usize>,
    /// The block as it is printed.
    printed: String,
}

/// Runs the console blocks of a page; returns the number of commands, and the differences.
fn run(page: &Page, kubeconfig: Option<&Path>) -> (usize, Vec<Difference>) {
    let mut differences = Vec::new();
    let mut session: Option<Session> = None;
    let mut is_skipped = false;
    let mut file: Option<String> = None;
    let mut count = 0;
    let place = page.path.display().to_string();

    for part in page.parts() {
        let current = || format!("{place}: no `<!-- session: NAME -->` before this part");
        match part {
            Part::Session(name) => {
                session = Session::start(&name, kubeconfig);
                is_skipped = session.is_none();
            }
            _ if is_skipped => {}
            Part::Step(name) => {
                session.as_mut().unwrap_or_else(|| panic!("{}", current())).step(&name)
            }
            Part::File(path) => file = Some(path),
            Part::Block(language, range) => {
                let block = page.text.get(range.clone()).expect("a block");
                if let Some(path) = file.take() {
                    session.as_ref().unwrap_or_else(|| panic!("{}", current())).write(&path, block);
                } else if language == "console" {
                    let session = session.as_ref().unwrap_or_else(|| panic!("{}", current()));
                    let (steps, difference) = run_block(&place, session, block);
                    count += steps;
                    differences.extend(difference.map(|(report, printed)| Difference {
                        report,
                        range,
                        printed,
                    }));
                }
            }
        }
    }
    (count, differences)
}

/// Runs the commands of one block; returns their number, and if the output differs a report and the
/// block as it should be.
fn run_block(place: &str, session: &Session, block: &str) -> (usize, Option<(String, String)>) {
    let mut report = String::new();
    let mut whole = String::new();
    let steps = transcript::steps(block);
    for step in &steps {
        let printed = session.run(&step.command);
        whole.push_str(&format!("$ {}\n", step.command));
        if transcript::matches(&step.output, &printed) {
            whole.push_str(&step.output);
        } else {
            let command = &step.command;
            report.push_str(&format!(
                "{place}: $ {command}\n--- shown\n{}--- printed\n{printed}\n",
                step.output
            ));
            whole.push_str(&transcript::updated(&step.output, &printed));
        }
    }
    (steps.len(), (!report.is_empty()).then_some((report, whole)))
}

/// Runs the pages that `selected` names, and updates or reports what differs.
fn check(selected: impl Fn(&Page) -> bool, least: usize, kubeconfig: Option<&Path>) {
    let mut reports = String::new();
    let mut count = 0;
    for mut page in Page::all().into_iter().filter(selected) {
        let (steps, differences) = run(&page, kubeconfig);
        count += steps;
        if std::env::var_os("UPDATE").is_some() && !differences.is_empty() {
            for difference in differences.iter().rev() {
                page.text.replace_range(difference.range.clone(), &difference.printed);
            }
            fs::write(root().join(&page.path), &page.text).expect("a page");
            continue;
        }
        reports.extend(differences.into_iter().map(|difference| difference.report));
    }
    assert!(count >= least, "only {count} commands");
    assert!(
        reports.is_empty(),
        "{reports}\nhint: `UPDATE=1 cargo test --test suite book::` writes the blocks as printed"
    );
}

/// The newcomer: from a clone, and from an empty directory to a chart in a commit and an upgrade with
/// its report.
#[test]
fn the_readme_is_what_a_newcomer_sees() {
    check(|page| page.path.ends_with("README.md"), 2, None);
}

/// `helm install` of docs/first-chart.md on a Kubernetes 1.35 control plane.
#[test]
#[ignore = "needs Go 1.26: cargo test --test suite -- --ignored book::"]
fn the_first_chart_installs_on_a_real_cluster() {
    let cluster = ControlPlane::start();
    check(|page| page.path.ends_with("first-chart.md"), 5, Some(&cluster.kubeconfig()));
    let namespace = ["--namespace", "sealing-wax-operator"];
    let deployments = cluster.get(&[&["deployments"], &namespace[..]].concat());
    let names: Vec<&Json> = deployments["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| &it["metadata"]["name"])
        .collect();
    assert_eq!(names, ["sealing-wax-operator-controller-manager"]);
}

#[test]
fn console_blocks_of_the_book_are_what_the_program_prints() {
    check(|page| !page.path.ends_with("README.md"), 14, None);
}

//! Faults at every place of an object of each kind that bundles ship: those that a build does not
//! report are listed. The API server judges the list (`cargo test --test api_server -- --ignored
//! refusals::`).

use crate::support::object_faults::{faults, reported, samples};
use std::collections::BTreeSet;
use std::fmt::Write as _;

#[test]
fn faults_that_are_not_reported_are_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut silent = String::new();
    let mut count = 0;
    for sample in samples() {
        let kind = sample["kind"].as_str().expect("a kind");
        assert_eq!(reported(folder.path(), &sample), BTreeSet::new(), "{kind}");
        for fault in faults(&sample) {
            count += 1;
            if reported(folder.path(), &fault.in_object(&sample)).is_empty() {
                let _ = writeln!(silent, "{kind} {}", fault.shown());
            }
        }
    }
    assert!(count > 2_000, "{count}");
    insta::assert_snapshot!(silent);
}

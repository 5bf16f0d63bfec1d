//! Units for the tests of the passes.

use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::{Object, Origin, Unit, Value};
use crate::yaml;

fn unit(manifests: &str, origin: fn(usize, usize) -> Origin) -> Unit {
    let documents = yaml::read::read(manifests).expect("YAML").documents;
    let objects = documents.into_iter().map(|document| {
        let Value::Map(root) = document.value else { panic!("no object: {manifests}") };
        Object::new(*root, origin(document.number, document.line))
    });
    Unit { objects: objects.collect(), ..Unit::default() }
}

/// Returns a unit with the objects of a file of a bundle.
pub(crate) fn bundle(manifests: &str) -> Unit {
    unit(manifests, |document, line| {
        let (file, path) = ("manifests/all.yaml".to_owned(), String::new());
        Origin::File { file, document, line, path }
    })
}

/// Returns a unit with the objects of an overlay.
pub(crate) fn overlay(manifests: &str) -> Unit {
    unit(manifests, |document, line| {
        let (file, path) = ("overlay.yaml".to_owned(), String::new());
        Origin::Overlay { file, document, line, path }
    })
}

/// Returns a unit with objects that are generated from a CSV.
pub(super) fn generated(manifests: &str) -> Unit {
    unit(manifests, |document, _| {
        let (file, path) = ("manifests/csv.yaml".to_owned(), ".spec".to_owned());
        Origin::Csv { file, document, path }
    })
}

/// Returns each diagnostic with its severity.
pub(super) fn messages(diagnostics: &Diagnostics) -> Vec<String> {
    let message = |found: &Diagnostic| format!("{}: {}", found.severity.as_str(), found.message);
    diagnostics.iter().map(message).collect()
}

/// Returns what a lint reports about a unit, each with its severity.
pub(super) fn reported(lint: fn(&Unit, &mut Diagnostics), unit: &Unit) -> Vec<String> {
    let mut diagnostics = Diagnostics::new();
    lint(unit, &mut diagnostics);
    messages(&diagnostics)
}

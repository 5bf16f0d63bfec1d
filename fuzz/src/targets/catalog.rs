//! Catalogs: limits change where reading stops and nothing else, and neither does the order of files
//! change the selected bundle.

use super::super::memory::bounded;
use bundle2chart::config::{CatalogSource, Text, VersionRequest, WantedVersion};
use bundle2chart::diag::{SourceText, Span};
use bundle2chart::source::{Limits, fuzzing};
use std::sync::Arc;

const PACKAGE: &str = "lamp";

fn sources() -> Vec<CatalogSource> {
    let source = Arc::new(SourceText { name: "bundles.toml".into(), text: "x".into() });
    let span = || Span::new(&source, 0..1);
    let text = |text: &str| Text { text: text.into(), span: span() };
    let versions = [
        None,
        Some(VersionRequest::Exact(semver::Version::new(1, 1, 0))),
        Some(VersionRequest::Range(">=1.0, <3".parse().expect("a range"))),
    ];
    let mut sources = Vec::new();
    for version in versions {
        for channel in [None, Some("stable")] {
            sources.push(CatalogSource {
                catalog: text("catalog"),
                package: text(PACKAGE),
                channel: channel.map(text),
                version: version.clone().map(|request| WantedVersion { request, span: span() }),
            });
        }
    }
    sources
}

/// Checks one input.
pub fn run(data: &[u8]) {
    let (all, fault) = bounded(64, || fuzzing::catalog_objects(data, PACKAGE, &Limits::default()));
    for catalog_object_bytes in [16, 64, 300, 1000] {
        let limits = Limits { catalog_object_bytes, ..Limits::default() };
        let (some, other) = fuzzing::catalog_objects(data, PACKAGE, &limits);
        if other.as_ref().is_some_and(|fault| fault.limit) {
            assert!(all.starts_with(&some), "{catalog_object_bytes}: {some:?}, not {all:?}");
        } else {
            assert_eq!((some, other), (all.clone(), fault.clone()), "{catalog_object_bytes}");
        }
    }

    // A form feed ends a file.
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for (number, text) in data.split(|byte| *byte == b'\x0c').enumerate() {
        let ignores = text.starts_with(b"#");
        let name = if ignores { ".indexignore".to_owned() } else { format!("{number}.json") };
        files.push((format!("{number}/{name}"), text.to_vec()));
    }
    for source in sources() {
        let select = |files: &[(String, Vec<u8>)]| {
            bounded(64, || fuzzing::select(files, &source, &Limits::default()))
        };
        let forwards = select(&files);
        files.reverse();
        assert_eq!(forwards.ok(), select(&files).ok(), "the order of files matters");
        files.reverse();
    }
}

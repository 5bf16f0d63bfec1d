//! Diagnostics of every shape, for the tests of the renderers.

use super::{Code, Diagnostic, Diagnostics, Place, SourceText, Span};
use std::sync::Arc;

pub(super) fn diagnostics() -> Diagnostics {
    let text =
        "[[bundle]]\nname = \"über\"\n\n[[bundle]]\nname = \"über\"\nexclude = [\n  '.a',\n]\n";
    let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text: text.to_owned() });
    let at = |part: &str, nth: usize| {
        let (start, _) = text.match_indices(part).nth(nth).unwrap();
        Place::span(Span::new(&source, start..start + part.len()))
    };
    let in_bundle = Place {
        bundle: Some("lws".to_owned()),
        document: Some(2),
        ..Place::file("manifests/role: a.yaml").at(14, 3)
    };
    [
        Diagnostic::error(Code::DuplicateName, "two bundles have the name `über`")
            .at(at("\"über\"", 1))
            .related(at("\"über\"", 0), "the first one")
            .hint("give each its own"),
        Diagnostic::error(Code::WrongType, "this range has several lines")
            .at(at("[\n  '.a',\n]", 0)),
        Diagnostic::warning(Code::FilterFailed, "100% of it fails,\nin two lines")
            .at(in_bundle.object("Role/a").path(".rules[0].verbs"))
            .related(Place::file("manifests/b.yaml").object("Role/b"), "here \u{1b}[31mtoo")
            .related(Place::default(), "and an unknown place"),
        Diagnostic::note(Code::UnusedSetting, "the place is unknown"),
        Diagnostic::note(Code::ConfigUnreadable, "only the file is known")
            .at(Place::file("bundles.toml"))
            .hint("look into it\nwith two lines"),
    ]
    .into_iter()
    .collect()
}

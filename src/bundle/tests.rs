use crate::diag::{Diagnostic, Diagnostics, Place, SourceText, Span};
use crate::ir::Phase;
use crate::source::OverlayFile;
use crate::{load, sample};
use std::sync::Arc;

/// Returns a place as `FILE#DOCUMENT:LINE:COLUMN PATH`, as far as it is known.
pub(crate) fn told_place(place: &Place) -> String {
    if let Some(span) = &place.span {
        let (line, column) = span.line_column();
        let text = &span.source.text[span.range.clone()];
        return format!("{}:{line}:{column} {text:?}", span.source.name);
    }
    let number = |mark: char, number: Option<usize>| {
        number.map(|number| format!("{mark}{number}")).unwrap_or_default()
    };
    let place = [
        place.file.clone().unwrap_or_default(),
        number('#', place.document),
        number(':', place.line),
        number(':', place.column),
        place.path.as_ref().map(|path| format!(" {path}")).unwrap_or_default(),
    ];
    place.concat()
}

/// Returns a diagnostic in full: severity and code, place, message, hint and related places.
fn told(found: &Diagnostic) -> String {
    let mut told = format!(
        "{} {} {}\n  {}\n  ({})\n",
        found.severity.as_str(),
        found.code.as_str(),
        told_place(&found.place),
        found.message,
        found.hint.as_deref().unwrap_or_default(),
    );
    for (place, why) in &found.related {
        told += &format!("  {}: {why}\n", told_place(place));
    }
    told
}

/// Returns all diagnostics in full.
pub(crate) fn all_told(found: &Diagnostics) -> String {
    found.iter().map(told).collect()
}

/// Returns a file of an overlay.
pub(crate) fn overlay(name: &str, content: &str) -> OverlayFile {
    let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text: String::new() });
    OverlayFile {
        name: name.to_owned(),
        content: content.into(),
        phase: Phase::With,
        switch: None,
        inline: None,
        span: Span::new(&source, 0..0),
    }
}

/// A ClusterServiceVersion of the sample bundle with these lines in its `spec`.
pub(crate) fn csv(spec: &str) -> String {
    format!(
        "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {{name: widget-operator.v1.0.0}}
spec:
  version: 1.0.0
{spec}"
    )
}

#[test]
fn channels_and_the_namespace_are_those_of_annotations() {
    let read = |csv_annotation: &str, annotation: &str| {
        let csv = csv("").replace("}", &format!(", annotations: {{{csv_annotation}}}}}"));
        let annotations = format!("{}  {annotation}\n", sample::ANNOTATIONS.1);
        let files = sample::files(&[("csv.yaml", &csv)], &[("annotations.yaml", &annotations)]);
        load(&files, &mut Diagnostics::new()).expect("a bundle")
    };
    let key = "operators.operatorframework.io.bundle.channels.v1";
    for (list, channels) in [
        ("stable", &["stable"][..]),
        ("'stable, fast'", &["stable", "fast"]),
        ("', stable,,'", &["stable"]),
        ("''", &[]),
        ("null", &[]),
    ] {
        assert_eq!(read("", &format!("{key}: {list}")).channels(), channels, "{list}");
    }
    let key = "operatorframework.io/suggested-namespace";
    for (namespace, suggested) in
        [("widget-system", Some("widget-system")), ("''", None), ("null", None)]
    {
        let bundle = read(&format!("{key}: {namespace}"), "");
        assert_eq!(bundle.suggested_namespace(), suggested, "{namespace}");
    }
}

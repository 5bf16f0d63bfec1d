//! Diagnostics for people: the excerpt, what is wrong, and what to do.

use super::{Diagnostic, Diagnostics, Place, Severity, Span};
use annotate_snippets::{
    Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet,
    normalize_untrusted_str,
};
use std::ops::Range;

/// Width at which excerpts are cut, in columns: fixed, so that output does not depend on the
/// terminal.
const WIDTH: usize = 120;

/// All of `diagnostics` in order, each with an empty line after it, and a last line that counts
/// them; empty when there is none. With `colour`, ANSI escapes make it nicer and say nothing new.
pub fn render(diagnostics: &Diagnostics, colour: bool) -> String {
    if diagnostics.is_empty() {
        return String::new();
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() }.term_width(WIDTH);
    let mut text = String::new();
    for diagnostic in diagnostics.iter() {
        text.push_str(&renderer.render(&groups(diagnostic)));
        text.push_str("\n\n");
    }
    text.push_str(&count(diagnostics));
    text.push('\n');
    text
}

/// "2 errors, 1 warning"
fn count(diagnostics: &Diagnostics) -> String {
    let parts = [Severity::Error, Severity::Warning, Severity::Note].map(|severity| {
        let plural = |n| if n == 1 { "" } else { "s" };
        match diagnostics.count(severity) {
            0 => String::new(),
            n => format!("{n} {}{}", severity.as_str(), plural(n)),
        }
    });
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn groups(diagnostic: &Diagnostic) -> Vec<Group<'_>> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.as_str());
    let place = &diagnostic.place;

    // Related places of the same file are shown in the same excerpt.
    let shared = |related: &Place| match (&place.span, &related.span) {
        (Some(main), Some(other)) if main.source == other.source => Some(range(other)),
        _ => None,
    };
    let context = diagnostic.related.iter().filter_map(|(place, why)| {
        Some(AnnotationKind::Context.span(shared(place)?).label(why.as_str()))
    });
    let mut elements = where_is(place, context.collect());
    if let Some(hint) = &diagnostic.hint {
        elements.push(note("hint", hint, Level::HELP));
    }
    let mut groups = vec![Group::with_title(title).elements(elements)];
    for (related, why) in &diagnostic.related {
        if shared(related).is_none() {
            let title = Level::NOTE.secondary_title(normalize_untrusted_str(why));
            groups.push(Group::with_title(title).elements(where_is(related, Vec::new())));
        }
    }
    groups
}

/// The lines that say where: an excerpt or `--> file:line:column`, then what else is known.
fn where_is<'a>(place: &'a Place, context: Vec<Annotation<'a>>) -> Vec<Element<'a>> {
    let mut elements: Vec<Element<'a>> = Vec::new();
    if let Some(span) = &place.span {
        let primary = AnnotationKind::Primary.span(range(span));
        elements.push(
            Snippet::source(span.source.text.as_str())
                .path(span.source.name.as_str())
                .annotation(primary)
                .annotations(context)
                .into(),
        );
    } else if let Some(file) = &place.file {
        let mut origin = Origin::path(normalize_untrusted_str(file));
        if let Some(line) = place.line {
            origin = origin.line(line);
            if let Some(column) = place.column {
                origin = origin.char_column(column);
            }
        }
        elements.push(origin.into());
    }
    let document = place.document.filter(|number| *number > 1).map(|number| number.to_string());
    let facts = [
        ("bundle", place.bundle.clone()),
        ("document", document),
        ("object", place.object.clone()),
        ("path", place.path.clone()),
    ];
    for (name, fact) in facts {
        if let Some(fact) = fact {
            elements.push(note(name, &fact, Level::NOTE));
        }
    }
    elements
}

fn note<'a>(name: &'static str, text: &str, level: Level<'a>) -> Element<'a> {
    level.with_name(name).message(normalize_untrusted_str(text)).into()
}

/// The range of `span`, moved onto what can be underlined in its text.
fn range(span: &Span) -> Range<usize> {
    let text = &span.source.text;
    let boundary = |offset: usize| (0..=offset).rev().find(|at| text.is_char_boundary(*at));
    let start = boundary(span.range.start.min(text.len())).unwrap_or_default();
    let end = boundary(span.range.end.clamp(start, text.len())).unwrap_or_default();
    start..end.max(start)
}

//! Diagnostics for people: excerpt, message and hint.

use super::{Diagnostic, Diagnostics, Place, Severity, SourceText, Span, counted, listed};
use crate::escape;
use annotate_snippets::{
    Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Width at which excerpts are cut, in columns: fixed, so that output does not depend on the
/// terminal.
const WIDTH: usize = 120;

/// Returns `diagnostics` in order, each with an empty line after it, then the warnings and notes of each
/// bundle together, and a last line that counts them; empty when there is none. With `colour`, ANSI
/// escapes are added and nothing else.
pub fn render(diagnostics: &Diagnostics, colour: bool) -> String {
    if diagnostics.is_empty() {
        return String::new();
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() }.term_width(WIDTH);
    // Commands are escaped last: only the renderer knows what begins a line.
    let paint = |groups: &[Group<'_>]| {
        escape::painted(&without_empty_excerpt(&renderer.render(groups))).to_string()
    };
    let shown: Vec<Diagnostic> = diagnostics.iter().map(visible).collect();
    // All others come first and in full, errors among them.
    let (brief, others): (Vec<&Diagnostic>, Vec<&Diagnostic>) =
        shown.iter().partition(|found| is_brief(found));

    let mut text = String::new();
    for diagnostic in others {
        text.push_str(&paint(&groups(diagnostic)));
        text.push_str("\n\n");
    }
    let sections = sections(&brief);
    for (bundles, found) in &sections {
        text.push_str(&format!("{}:\n", listed(bundles, usize::MAX)));
        for found in by_code(found) {
            for line in paint(&groups(&found)).lines() {
                text.push_str(&format!("  {line}\n"));
            }
        }
    }
    if !sections.is_empty() {
        text.push('\n');
    }
    text.push_str(&count(diagnostics));
    text.push('\n');
    text
}

/// Returns the same in at most `most` lines, as far as it is enough to leave out the notes about bundles
/// that have no hint of their own, and after errors all notes about bundles. A last line counts them.
pub fn render_within(diagnostics: &Diagnostics, colour: bool, most: usize) -> String {
    let text = render(diagnostics, colour);
    if text.lines().count() <= most {
        return text;
    }
    let mut hints = BTreeSet::new();
    let (left_out, kept): (Vec<&Diagnostic>, Vec<&Diagnostic>) =
        diagnostics.iter().partition(|found| {
            let hint = found.hint.as_ref().map(|hint| (&found.place.bundle, found.code, hint));
            let is_new = hint.is_some_and(|hint| hints.insert(hint));
            found.severity == Severity::Note
                && is_brief(found)
                && (!is_new || diagnostics.has_errors())
        });
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for found in left_out {
        *counts.entry(found.code.as_str()).or_default() += 1;
    }
    if counts.is_empty() {
        return text;
    }

    let kept = kept.into_iter().cloned().collect();
    let counts: Vec<String> =
        counts.iter().map(|(code, count)| format!("{code} ({count})")).collect();
    format!("{}not shown without --verbose: {}\n", render(&kept, colour), counts.join(", "))
}

/// Returns true for warnings and notes about bundles, which take a line and one for the hint: a build
/// has many.
fn is_brief(found: &Diagnostic) -> bool {
    found.severity != Severity::Error && found.place.bundle.is_some() && found.place.span.is_none()
}

/// Returns the brief findings by bundle, in the order of bundles.toml. A finding that several bundles
/// have comes once, in a section with all of them.
fn sections<'d>(brief: &[&'d Diagnostic]) -> Vec<(Vec<&'d str>, Vec<&'d Diagnostic>)> {
    let key = |found: &'d Diagnostic| {
        (found.code, found.severity, &found.message, &found.hint, object_and_place(found))
    };
    let bundle = |found: &'d Diagnostic| found.place.bundle.as_deref().unwrap_or_default();
    let mut having: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for found in brief {
        let bundles = having.entry(key(found)).or_default();
        // In the order of bundles.toml, which a sorted set would lose.
        if !bundles.contains(&bundle(found)) {
            bundles.push(bundle(found));
        }
    }

    let mut sections: Vec<(Vec<&str>, Vec<&Diagnostic>)> = Vec::new();
    for found in brief {
        let Some(bundles) = having.get(&key(found)) else { continue };
        // The others of these bundles have the same finding.
        if bundles.first() != Some(&bundle(found)) {
            continue;
        }
        match sections.iter_mut().find(|(names, _)| names == bundles) {
            Some((_, list)) => list.push(found),
            None => sections.push((bundles.clone(), vec![found])),
        }
    }
    sections
}

/// Returns the findings of a section, the worst first, with those of the same code together, places in
/// the messages, and each hint once, after the last finding with it.
fn by_code(found: &[&Diagnostic]) -> Vec<Diagnostic> {
    let mut rest: Vec<&Diagnostic> = found.to_vec();
    // Stable, so that findings of a severity stay in the order of the bundle's files.
    rest.sort_by_key(|found| found.severity);
    let mut sorted: Vec<Diagnostic> = Vec::new();
    while let Some(first) = rest.first() {
        let code = first.code;
        for found in rest.extract_if(.., |found| found.code == code) {
            let previous = sorted.last_mut().filter(|previous| previous.code == code);
            if let Some(previous) = previous.filter(|previous| previous.hint == found.hint) {
                previous.hint = None;
            }
            let message = format!("{}{}", found.message, object_and_place(found));
            let related = found.related.iter().map(|(place, why)| {
                let related = Diagnostic::note(found.code, why).at(place.clone());
                (Place::default(), format!("{why}{}", object_and_place(&related)))
            });
            let related = related.collect();
            sorted.push(Diagnostic { place: Place::default(), message, related, ..found.clone() });
        }
    }
    sorted
}

/// Returns the object, unless the message names it, and the place, in brackets.
fn object_and_place(found: &Diagnostic) -> String {
    let Place { file, line, column, object, path, .. } = &found.place;
    let is_unnamed = |object: &&String| {
        let name = object.split_once('/').map_or(object.as_str(), |(_, name)| name);
        !found.message.contains(name)
    };
    let numbers = [line, column].into_iter().flatten().map(|number| format!(":{number}"));
    let place = match file {
        Some(file) => Some(numbers.fold(file.clone(), |place, number| place + &number)),
        None => path.clone(),
    };
    let known: Vec<String> = object.iter().filter(is_unnamed).cloned().chain(place).collect();
    if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) }
}

/// Removes the line ` |` that the renderer writes below the message of a finding without a place.
fn without_empty_excerpt(report: &str) -> String {
    let plain = |line: &str| {
        let parts = line.split("\u{1b}[").enumerate();
        let texts = parts.map(|(index, part)| match part.split_once('m') {
            Some((_, text)) if index > 0 => text,
            _ => part,
        });
        texts.collect::<String>()
    };
    let is_empty = |(number, line): (usize, &str)| number == 1 && plain(line).trim() == "|";
    // Only the second line: with a place it is `-->`, and the empty lines of an excerpt come later.
    let lines = report.split('\n').enumerate().filter(|line| !is_empty(*line));
    lines.map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}

/// Counts the findings by severity: `2 errors, 1 warning`.
fn count(diagnostics: &Diagnostics) -> String {
    let parts = [Severity::Error, Severity::Warning, Severity::Note].map(|severity| {
        let count = diagnostics.count(severity);
        (count > 0).then(|| counted(count, severity.as_str()))
    });
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the same finding without hidden characters, before colours are added. Hints may have
/// several lines; everything else is one.
fn visible(diagnostic: &Diagnostic) -> Diagnostic {
    let line = |text: &String| escape::visible(text).into_owned();
    let place = |place: &Place| Place {
        bundle: place.bundle.as_ref().map(line),
        file: place.file.as_ref().map(line),
        object: place.object.as_ref().map(line),
        path: place.path.as_ref().map(line),
        span: place.span.as_ref().map(visible_span),
        ..*place
    };
    let hint = |hint: &String| hint.split('\n').map(escape::visible).collect::<Vec<_>>().join("\n");
    Diagnostic {
        message: line(&diagnostic.message),
        place: place(&diagnostic.place),
        related: diagnostic.related.iter().map(|(at, why)| (place(at), line(why))).collect(),
        hint: diagnostic.hint.as_ref().map(hint),
        ..*diagnostic
    }
}

/// Returns the same part of a text whose hidden characters are shown, but for its tabs and line
/// endings.
fn visible_span(span: &Span) -> Span {
    let shown = |text: &str| {
        let keeps = |c: char| matches!(c, '\n' | '\r' | '\t');
        text.split_inclusive(keeps).fold(String::new(), |out, part| {
            let end =
                part.len() - part.chars().last().filter(|c| keeps(*c)).map_or(0, char::len_utf8);
            out + &escape::visible(&part[..end]) + &part[end..]
        })
    };
    let SourceText { name, text } = span.source.as_ref();
    let safe = shown(text);
    if safe == *text && escape::visible(name) == *name {
        return span.clone();
    }
    let range = range(span);
    // Shown characters are longer than hidden ones, so the offsets behind them move.
    let offset = |at: usize| shown(&text[..at]).len();
    let source = SourceText { name: escape::visible(name).into_owned(), text: safe };
    Span::new(&Arc::new(source), offset(range.start)..offset(range.end))
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
        elements.push(Level::HELP.with_name("hint").message(hint.as_str()).into());
    }
    let mut groups = vec![Group::with_title(title).elements(elements)];
    for (related, why) in &diagnostic.related {
        if shared(related).is_none() {
            let title = Level::NOTE.secondary_title(why.as_str());
            groups.push(Group::with_title(title).elements(where_is(related, Vec::new())));
        }
    }
    groups
}

/// Returns the lines about a place: an excerpt or `--> file:line:column`, then the other known
/// facts.
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
        let mut origin = Origin::path(file.as_str());
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
            elements.push(Level::NOTE.with_name(name).message(fact).into());
        }
    }

    elements
}

/// Returns the range of `span`, moved to characters that can be underlined.
fn range(span: &Span) -> Range<usize> {
    let text = &span.source.text;
    let boundary = |offset: usize| (0..=offset).rev().find(|at| text.is_char_boundary(*at));
    let start = boundary(span.range.start.min(text.len())).unwrap_or_default();
    let end = boundary(span.range.end.clamp(start, text.len())).unwrap_or_default();
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::super::{Code, Place, SourceText, sample};
    use super::*;
    use std::sync::Arc;

    #[test]
    fn what_has_no_place_shows_none() {
        let found = Diagnostic::error(Code::ChartUnreadable, "it is | broken").hint("mend it");
        for colour in [false, true] {
            let shown = render(&found.clone().into(), colour);
            let lines: Vec<&str> = shown.lines().collect();
            assert_eq!(lines.len(), 4, "{shown}");
            assert!(lines[1].contains("mend it"), "{shown}");
        }
        assert!(
            render(&found.into(), false)
                .starts_with("error[chart-unreadable]: it is | broken\n = hint: mend it\n")
        );
    }

    #[test]
    fn all_shapes_without_colour() {
        insta::assert_snapshot!(render(&sample::diagnostics(), false), @r#"
        error[duplicate-name]: two bundles have the name `über`
         --> bundles.toml:5:8
          |
        2 | name = "über"
          |        ------ the first one
        ...
        5 | name = "über"
          |        ^^^^^^
          |
          = hint: give each its own

        error[wrong-type]: this range has several lines
         --> bundles.toml:6:11
          |
        6 |   exclude = [
          |  ___________^
        7 | |   '.a',
        8 | | ]
          | |_^

        note[unused-setting]: the place is unknown

        note[config-unreadable]: only the file is known
        --> bundles.toml
         = hint: look into it
                 with two lines

        lws:
          warning[filter-failed]: 100% of it fails,\nin two lines (manifests/role: a.yaml:14:3)
          note: here \u{1b}[31mtoo (manifests/b.yaml)
          note: and an unknown place

        2 errors, 1 warning, 2 notes
        "#);
    }

    #[test]
    fn warnings_and_notes_are_together_by_bundle_and_code() {
        let note = |bundle: &str, code, line, hint: &str| {
            let place = Place { bundle: Some(bundle.to_owned()), ..Place::file("csv.yaml") };
            let place = place.at(line, 1).object("Deployment/a").path(".spec");
            Diagnostic::note(code, format!("line {line}")).at(place).hint(hint)
        };
        let mut warning = note("lws", Code::OpenshiftOnly, 5, "e");
        warning.severity = Severity::Warning;
        let found = [
            note("lws", Code::OpenshiftOnly, 1, "a"),
            note("lws", Code::AuthReaderMissing, 2, "b"),
            note("eso", Code::OpenshiftOnly, 3, "c"),
            note("lws", Code::OpenshiftOnly, 4, "a"),
            warning,
            note("lws", Code::OpenshiftOnly, 6, "f"),
            note("eso", Code::OpenshiftOnly, 6, "f"),
        ];
        let found = Diagnostics::from_iter(found);
        insta::assert_snapshot!(render(&found, false), @r#"
        lws:
          warning[openshift-only]: line 5 (Deployment/a, csv.yaml:5:1)
           = hint: e
          note[openshift-only]: line 1 (Deployment/a, csv.yaml:1:1)
          note[openshift-only]: line 4 (Deployment/a, csv.yaml:4:1)
           = hint: a
          note[auth-reader-missing]: line 2 (Deployment/a, csv.yaml:2:1)
           = hint: b
        eso:
          note[openshift-only]: line 3 (Deployment/a, csv.yaml:3:1)
           = hint: c
        lws and eso:
          note[openshift-only]: line 6 (Deployment/a, csv.yaml:6:1)
           = hint: f

        1 warning, 6 notes
        "#);
    }

    #[test]
    fn notes_without_a_hint_of_their_own_are_counted_where_there_is_no_room() {
        let of_bundle = |found: Diagnostic| {
            let place = Place { bundle: Some("lws".to_owned()), ..Place::default() };
            found.at(place)
        };
        let found = Diagnostics::from_iter([
            of_bundle(Diagnostic::note(Code::OpenshiftOnly, "a")),
            of_bundle(Diagnostic::note(Code::OpenshiftOnly, "b")),
            of_bundle(Diagnostic::note(Code::ForeignKind, "c")).hint("d"),
            of_bundle(Diagnostic::note(Code::ForeignKind, "c again")).hint("d"),
            of_bundle(Diagnostic::warning(Code::OpenshiftOnly, "e")),
            Diagnostic::note(Code::UnusedSetting, "f"),
        ]);
        let all = render(&found, false);
        assert_eq!(render_within(&found, false, all.lines().count()), all);
        insta::assert_snapshot!(render_within(&found, false, 0), @r#"
        note[unused-setting]: f

        lws:
          warning[openshift-only]: e
          note[foreign-kind]: c
           = hint: d

        1 warning, 2 notes
        not shown without --verbose: foreign-kind (1), openshift-only (2)
        "#);

        // After an error all of them are.
        let failed = found.into_iter().chain([Diagnostic::error(Code::UnknownKey, "g")]).collect();
        insta::assert_snapshot!(render_within(&failed, false, 0), @r#"
        note[unused-setting]: f

        error[unknown-key]: g

        lws:
          warning[openshift-only]: e

        1 error, 1 warning, 1 note
        not shown without --verbose: foreign-kind (2), openshift-only (2)
        "#);
    }

    #[test]
    fn colour_says_nothing_new() {
        let coloured = render(&sample::diagnostics(), true);
        assert!(coloured.contains("\u{1b}["));
        let plain = anstream::adapter::strip_str(&coloured).to_string();
        assert_eq!(plain, render(&sample::diagnostics(), false));
    }

    #[test]
    fn nothing_is_said_about_nothing() {
        assert_eq!(render(&Diagnostics::new(), true), "");
    }

    #[test]
    fn ranges_that_do_not_fit_their_text_are_moved() {
        let source = Arc::new(SourceText { name: "a".to_owned(), text: "é".to_owned() });
        let shown = |range: Range<usize>| super::range(&Span::new(&source, range));
        assert_eq!(shown(1..2), 0..2);
        assert_eq!(shown(9..12), 2..2);
        #[expect(clippy::reversed_empty_ranges, reason = "that is the point")]
        let reversed = 2..0;
        assert_eq!(shown(reversed), 2..2);
        let place = Place::span(Span::new(&source, 7..9));
        assert!(
            render(&Diagnostic::error(Code::WrongType, "x").at(place).into(), false)
                .contains("a:1")
        );
    }

    #[test]
    fn what_a_bundle_says_cannot_steer_the_terminal() {
        let diagnostic = Diagnostic::error(Code::FilterFailed, "a\u{1b}]0;b\u{7}")
            .at(Place::file("c\u{1b}[2J").object("Role/\u{1b}[8m"))
            .related(Place::file("d\u{1b}[2J"), "e\u{1b}[2J")
            .hint("f\u{1b}[2J");
        assert!(!render(&diagnostic.into(), false).contains(['\u{1b}', '\u{7}']));
    }

    #[test]
    fn excerpts_are_visible_and_underlined_where_they_were() {
        let text = "a = \"\u{9b}x\"\r\n\tb = \"\u{202e}c\" # ##[error]d\r\n";
        let source = SourceText { name: "bundles\n.toml".to_owned(), text: text.to_owned() };
        let start = text.find("\"\u{202e}").unwrap();
        let span = Span::new(&Arc::new(source), start..start + "\"\u{202e}c\"".len());
        let shown =
            render(&Diagnostic::error(Code::WrongType, "x").at(Place::span(span)).into(), false);
        insta::assert_snapshot!(shown);
    }
}

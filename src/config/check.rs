//! Rules that concern several bundles at once: names, dependencies and output folders.

use super::keys::NAME_LIMIT;
use super::read::Draft;
use super::tree::{At, Reader};
use super::values::plain;
use super::{BundleConfig, Mirror, MirrorTarget, Output, OverlaySource, Source};
use crate::diag::suggest;
use crate::diag::{Code, Diagnostic, Place, Span};
use std::collections::BTreeMap;
use std::path::Path;

/// No two bundles have the same name.
///
/// Names are lower-case, so they cannot meet on a file system that ignores case either.
pub(super) fn names(reader: &mut Reader<'_>, drafts: &[Draft<'_>]) {
    let mut first: BTreeMap<&str, &At<&str>> = BTreeMap::new();
    for at in drafts.iter().filter_map(|draft| draft.name.as_ref()) {
        let (name, range) = at;
        match first.get(name) {
            None => {
                first.insert(name, at);
            }
            Some((_, earlier)) => {
                let message = format!("two bundles have the name `{name}`");
                let diagnostic = Diagnostic::error(Code::DuplicateName, message)
                    .at(reader.place(range.clone()))
                    .related(reader.place(earlier.clone()), "the first one")
                    .hint("the name is that of the chart and of its folder: give each its own");
                reader.found.push(diagnostic);
            }
        }
    }
}

/// The charts beside a bundle's own have names that fit, and that no other bundle has.
pub(super) fn companions(
    reader: &mut Reader<'_>,
    bundles: &[BundleConfig],
    charts: &[(&str, &Span)],
) {
    for bundle in bundles {
        for (suffix, why) in bundle.companions() {
            let name = format!("{}{suffix}", bundle.name);
            let place = Place::span(bundle.span.clone());
            if name.len() > NAME_LIMIT {
                let message = format!(
                    "{why} makes a chart `{name}`, whose name has {} characters",
                    name.len()
                );
                let hint = format!("Helm's releases have at most {NAME_LIMIT}: use a shorter name");
                let diagnostic = Diagnostic::error(Code::InvalidValue, message);
                reader.found.push(diagnostic.at(place).hint(hint));
            } else if let Some((_, other)) = charts.iter().find(|(other, _)| *other == name) {
                let message = format!("{why} makes a chart `{name}`, and a bundle has that name");
                let diagnostic = Diagnostic::error(Code::DuplicateName, message)
                    .at(place)
                    .related(Place::span((*other).clone()), "the other one")
                    .hint("give one of the bundles another name");
                reader.found.push(diagnostic);
            }
        }
    }
}

/// `depends-on` names bundles, not the bundle itself, and never leads back to where it started.
pub(super) fn dependencies(reader: &mut Reader<'_>, drafts: &[Draft<'_>]) {
    let known: Vec<&str> = drafts.iter().filter_map(|draft| Some(draft.name.as_ref()?.0)).collect();
    let mut edges: BTreeMap<&str, Vec<&At<&str>>> = BTreeMap::new();
    for draft in drafts {
        let own = draft.name.as_ref().map(|(name, _)| *name);
        for at in &draft.depends_on {
            let (name, range) = at;
            if own == Some(*name) {
                let message = format!("`{name}` depends on itself");
                reader.error(Code::InvalidValue, range, message, "remove it from `depends-on`");
            } else if !known.contains(name) {
                if drafts.iter().any(|draft| draft.name.is_none()) {
                    // It may be the bundle whose name is missing, which is reported.
                    continue;
                }
                let others: Vec<&str> =
                    known.iter().copied().filter(|name| Some(*name) != own).collect();
                let hint = if others.is_empty() {
                    "`depends-on` names other bundles of this file, and there is none".to_owned()
                } else {
                    suggest::hint(name, &others, "bundles")
                };
                let message = format!("`depends-on` names `{name}`, but there is no such bundle");
                reader.error(Code::InvalidValue, range, message, hint);
            } else if let Some(own) = own {
                edges.entry(own).or_default().push(at);
            }
        }
    }
    let mut done = Vec::new();
    for draft in drafts {
        if let Some((name, _)) = &draft.name {
            follow(reader, &edges, name, &mut Vec::new(), &mut done);
        }
    }
}

/// Follows dependencies from `name`, depth first; reports each circle where it closes.
fn follow<'t>(
    reader: &mut Reader<'_>,
    edges: &BTreeMap<&'t str, Vec<&At<&'t str>>>,
    name: &'t str,
    path: &mut Vec<&'t str>,
    done: &mut Vec<&'t str>,
) {
    if done.contains(&name) {
        return;
    }
    path.push(name);
    for (next, range) in edges.get(name).into_iter().flatten() {
        match path.iter().position(|earlier| earlier == next) {
            None => follow(reader, edges, next, path, done),
            Some(start) => {
                let circle: Vec<&str> = path.iter().skip(start).chain([next]).copied().collect();
                reader.error(
                    Code::InvalidValue,
                    range,
                    format!("bundles depend on each other in a circle: {}", circle.join(" → ")),
                    "none of them could be installed first: remove one of these `depends-on`",
                );
            }
        }
    }
    path.pop();
    done.push(name);
}

/// No chart is written over what a bundle or mirror is read from, or into a bundle.
pub(super) fn outputs(
    reader: &mut Reader<'_>,
    output: &Output,
    bundles: &[BundleConfig],
    charts: &[(&str, &Span)],
    mirrors: &[Mirror],
) {
    let bundle_sources = bundles.iter().filter_map(|bundle| match &bundle.source {
        Source::Path { path, span } => Some((Path::new(path), span)),
        // Perhaps a reference; then no folder of charts is its.
        Source::Catalog(source) => Some((Path::new(&source.catalog.text), &source.catalog.span)),
        Source::Image { .. } => None,
    });
    let mirror_sources = mirrors.iter().filter_map(|mirror| match &mirror.to {
        MirrorTarget::Layout(folder) => Some((folder.as_path(), &mirror.span)),
        MirrorTarget::Registry(_) => None,
    });
    let overlay_sources =
        bundles.iter().flat_map(|bundle| &bundle.overlays).filter_map(|overlay| {
            let OverlaySource::Path(path) = &overlay.source else { return None };
            Some((Path::new(path), &overlay.span))
        });
    let mut found = Vec::new();
    for (path, span) in bundle_sources.chain(mirror_sources).chain(overlay_sources) {
        for (chart, chart_span) in charts {
            let folder = output.dir.join(chart);
            let holds = plain(path).starts_with(plain(&folder));
            let inside = ["manifests", "metadata"]
                .iter()
                .any(|part| plain(&folder).starts_with(plain(&path.join(part))));
            if holds || inside {
                let message = format!(
                    "the chart of `{}` would be written to {}, which {} what this reads",
                    chart,
                    folder.display(),
                    if holds { "holds" } else { "is part of" }
                );
                found.push(
                    Diagnostic::error(Code::OverlappingOutput, message)
                        .at(Place::span(span.clone()))
                        .related(Place::span((*chart_span).clone()), "the chart's bundle")
                        .hint("move one of them, or change `dir` in `[output]`"),
                );
            }
        }
    }
    reader.found.extend(found);
}

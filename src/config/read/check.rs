//! Rules for several bundles together: names, dependencies and output directories.

use super::*;
use crate::forms::{NAME_LIMIT, plain};

/// Checks that the names of bundles, charts and models are unique.
///
/// Names are lower-case, so they do not collide on case-insensitive file systems either.
pub(super) fn names(reader: &mut Reader<'_>, drafts: &[Draft]) {
    let names: Vec<&Text> = drafts.iter().filter_map(|draft| draft.name.as_ref()).collect();
    let describe = |named: &&Text| {
        let hint = "rename one of them: the name is used for the chart and its directory";
        (format!("two charts have the name `{}`", named.text), hint)
    };
    reader.unique(Code::DuplicateName, names, |one| one.text.clone(), |one| &one.span, describe);
}

/// Checks that the names of companion charts are valid and not used by another bundle.
pub(super) fn companions(
    reader: &mut Reader<'_>,
    bundles: &[BundleConfig],
    charts: &[(&str, &Span)],
) {
    // In reverse: of charts with the same name, the first one is kept.
    let charts: BTreeMap<&str, &Span> = charts.iter().copied().rev().collect();
    for bundle in bundles {
        for (suffix, why) in bundle.companions() {
            let name = format!("{}{suffix}", bundle.name);
            let place = &bundle.span;

            // Helm: release names have at most 53 characters, and releases are named as their charts.
            if name.len() > NAME_LIMIT {
                let count = name.len();
                let message =
                    format!("{why} creates a chart `{name}`, whose name has {count} characters");
                let hint = format!(
                    "use a shorter name: Helm release names have at most {NAME_LIMIT} characters"
                );
                reader.found.error(Code::InvalidValue, place, message, hint);
            } else if let Some(other) = charts.get(name.as_str()) {
                let message = format!(
                    "{why} creates a chart `{name}`, which is also the name of another chart"
                );
                let (related, hint) = ("the other chart", "rename one of them");
                reader.twice(Code::DuplicateName, (place, *other), message, related, hint);
            }
        }
    }
}

/// Checks that `depends-on` names existing bundles, not the bundle itself, and has no cycles.
pub(super) fn dependencies(reader: &mut Reader<'_>, drafts: &[Draft]) {
    fn named(draft: &Draft) -> Option<&str> {
        draft.name.as_ref().map(|name| name.text.as_str())
    }
    let names: Vec<&str> = drafts.iter().filter_map(named).collect();
    let known: BTreeSet<&str> = names.iter().copied().collect();
    let mut edges: BTreeMap<&str, Vec<(&str, &Span)>> = BTreeMap::new();
    for draft in drafts {
        let own = named(draft);
        for Text { text, span } in &draft.depends_on {
            let name = text.as_str();
            if own == Some(name) {
                let message = format!("`{name}` depends on itself");
                reader.found.error(
                    Code::InvalidValue,
                    span,
                    message,
                    "remove it from `depends-on`",
                );
            } else if !known.contains(name) {
                if drafts.iter().any(|draft| draft.name.is_none()) {
                    // It may be the bundle whose name is missing, which is reported.
                    continue;
                }
                let others: Vec<&str> =
                    names.iter().copied().filter(|name| Some(*name) != own).collect();
                let hint = if others.is_empty() {
                    "remove it, or add the bundle: the configuration has no other bundle or chart"
                        .to_owned()
                } else {
                    suggest::hint(name, &others, "bundles and charts")
                };
                let message = format!("`depends-on` has an unknown name `{name}`");
                reader.found.error(Code::InvalidValue, span, message, hint);
            } else if let Some(own) = own {
                edges.entry(own).or_default().push((name, span));
            }
        }
    }

    // Recursive, but never deeper than there are tables, whose number is limited.
    let mut done = BTreeSet::new();
    for name in names {
        follow(reader, &edges, name, &mut Vec::new(), &mut done);
    }
}

/// Follows dependencies from `name`, depth first; reports each cycle once.
fn follow<'t>(
    reader: &mut Reader<'_>,
    edges: &BTreeMap<&'t str, Vec<(&'t str, &'t Span)>>,
    name: &'t str,
    path: &mut Vec<&'t str>,
    done: &mut BTreeSet<&'t str>,
) {
    // All circles through it have been reported.
    if done.contains(name) {
        return;
    }

    path.push(name);
    for (next, span) in edges.get(name).into_iter().flatten() {
        match path.iter().position(|earlier| earlier == next) {
            None => follow(reader, edges, next, path, done),
            Some(start) => {
                let circle: Vec<&str> = path.iter().skip(start).chain([next]).copied().collect();
                reader.found.error(
                    Code::InvalidValue,
                    *span,
                    format!("circular dependency: {}", circle.join(" → ")),
                    "remove one of these `depends-on`",
                );
            }
        }
    }

    path.pop();
    done.insert(name);
}

/// Checks that no chart is written over the source of a bundle or mirror, or into a bundle.
pub(super) fn outputs(
    reader: &mut Reader<'_>,
    output: &Output,
    bundles: &[BundleConfig],
    charts: &[(&str, &Span)],
    mirrors: &[Mirror],
) {
    let bundle_sources = bundles.iter().flat_map(|bundle| match &bundle.source {
        Source::Path { path, span } => vec![(Path::new(path), span)],
        // Perhaps a reference; then no directory of charts is its.
        Source::Catalog(source) => vec![(Path::new(&source.catalog.text), &source.catalog.span)],
        Source::Manifests(manifests) => {
            let paths = manifests.paths.iter().map(|path| (Path::new(&path.text), &path.span));
            let vendored = manifests.vendored.iter();
            paths
                .chain(vendored.map(|file| (Path::new(&file.path.text), &file.path.span)))
                .collect()
        }
        Source::Image { .. } => Vec::new(),
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
    let out = plain(&output.dir);
    let chart_paths: Vec<PathBuf> = charts.iter().map(|(chart, _)| out.join(chart)).collect();
    for (path, span) in bundle_sources.chain(mirror_sources).chain(overlay_sources) {
        let input = plain(path);
        // Only these directories of a bundle are read.
        let parts = ["manifests", "metadata"].map(|part| input.join(part));
        // Nearly all inputs are elsewhere, and need not be compared with each chart.
        let is_near = input.starts_with(&out) || out.starts_with(&input);
        for (folder, (chart, chart_span)) in chart_paths.iter().zip(charts).filter(|_| is_near) {
            let relation = if input.starts_with(folder) {
                "contains"
            } else if parts.iter().any(|part| folder.starts_with(part)) {
                "is part of"
            } else {
                continue;
            };
            let message = format!(
                "the chart of `{chart}` would be written to {}, which {relation} an input of this \
                    configuration",
                output.dir.join(chart).display(),
            );
            let (related, hint) =
                ("the table of the chart", "move one of them, or change `dir` in `[output]`");
            reader.twice(Code::OverlappingOutput, (span, chart_span), message, related, hint);
        }
    }
}

//! Changes of a bundle's objects by jq programs.

use crate::bundle::{TypeMismatch, check_object, served_version};
use crate::config::PatchConfig;
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, suggest};
use crate::ir::{Map, Object, Release, path_of};
use crate::jq::{Input, Session, Stopped};
use crate::passes::{Filtered, check_programs};
use std::collections::BTreeSet;

/// Applies every patch to the objects that it matches, one patch after the other. Filters of
/// patches see objects as they are in `release`; patches see what only Helm knows as placeholders.
/// From `first` on, the programs of `session` are the filter and the program of each patch. Patches
/// that fail, or match nothing, are reported.
pub fn patch(
    objects: Vec<Object>,
    patches: &[PatchConfig],
    release: &Release<'_>,
    session: &mut Session,
    first: usize,
    diagnostics: &mut Diagnostics,
) -> Filtered {
    let start = diagnostics.mark();
    let mut patched = Filtered { objects, hits: Vec::with_capacity(patches.len()) };
    let programs = patches.iter().flat_map(|config| [&config.matches, &config.patch]);
    let errors = session.errors().get(first..).unwrap_or_default();
    if check_programs(programs, errors, diagnostics).is_none() {
        return patched;
    }

    for (index, config) in patches.iter().enumerate() {
        let matches = first + 2 * index;
        match apply(&mut patched.objects, config, release, session, matches, diagnostics) {
            Ok(hits) => patched.hits.push(hits),
            // It ended the session, so that later patches cannot run.
            Err(over_budget) => {
                diagnostics.push(*over_budget);
                break;
            }
        }
    }
    // A patch that matches nothing because another one failed is no second problem.
    if !diagnostics.has_errors_since(start) {
        let unused = patches.iter().zip(&patched.hits).filter(|(_, hits)| **hits == 0);
        diagnostics.extend(unused.map(|(patch, _)| matched_nothing(patch, &patched.objects)));
    }

    patched
}

/// Applies one patch, of which the filter is the program `matches` and the patch the next one.
/// Returns the number of objects that it matches; an error when one of them went over its budget.
fn apply(
    objects: &mut [Object],
    config: &PatchConfig,
    release: &Release<'_>,
    session: &mut Session,
    matches: usize,
    diagnostics: &mut Diagnostics,
) -> Result<usize, Fatal> {
    let mut hits = 0;
    for object in objects {
        let stopped = |stopped: Stopped| {
            let program = if stopped.program == matches { &config.matches } else { &config.patch };
            Box::new(program.stopped(object, &stopped.excess))
        };
        let answers =
            session.conditions(&[matches], &Input::new(object, release)).map_err(stopped)?;
        match answers.into_iter().next() {
            Some(Ok(true)) => hits += 1,
            Some(Ok(false)) | None => continue,
            Some(Err(failure)) => {
                let diagnostic = config.matches.failed(&object.label(), &failure);
                diagnostics.push(diagnostic.related(object.place(), failure.to_string()));
                continue;
            }
        }

        let changed = session.patch(matches + 1, &config.patch.text, &object.root);
        let changed = changed.map_err(stopped)?;
        let changed = changed.map_err(failed).and_then(|root| replaced(object, root));
        match changed.and_then(|changed| well_typed(object, changed, release)) {
            Ok(changed) => *object = changed,
            Err((reason, hint)) => diagnostics.push(
                Diagnostic::error(
                    Code::PatchFailed,
                    format!("patch `{}` fails on {object}: {reason}", config.patch.text),
                )
                .at(config.patch.place())
                .related(object.place(), "the object")
                .hint(hint),
            ),
        }
    }
    Ok(hits)
}

/// Returns the reason why a patch failed, and a hint.
fn failed(reason: String) -> (String, &'static str) {
    let hint = if reason.starts_with("null has no ") {
        "`+=` creates a missing map, `=` does not: `.metadata.labels += {name: \"value\"}`, or \
            `….resources += {limits: {memory: \"64Mi\"}}`"
    } else if reason.ends_with(" out of bounds") {
        "select the item by a field: `(.spec.template.spec.containers[] | select(.name == \
            \"manager\")).image = \"…\"`"
    } else {
        "return the whole changed object: `.spec.replicas = 2`, not `2`"
    };
    (reason, hint)
}

/// Returns `object` with another root; an error if its identity would change.
fn replaced(object: &Object, root: Map) -> Result<Object, (String, &'static str)> {
    let patched = Object { root, ..object.clone() };
    let same = patched.id() == object.id()
        && patched.api_version() == object.api_version()
        && ["name", "namespace"].iter().all(|key| patched.metadata(key) == object.metadata(key));
    if same {
        return Ok(patched);
    }
    Err((
        "it changes or drops kind, apiVersion, name or namespace".to_owned(),
        "change other fields, as `.spec.replicas = 2` does; to replace an object, exclude it and add \
            another one with `[[bundle.overlay]]`",
    ))
}

/// Returns `changed`; an error if it has a field that its type does not have, or a value of the wrong
/// type, that the object had not.
fn well_typed(
    object: &Object,
    changed: Object,
    release: &Release<'_>,
) -> Result<Object, (String, &'static str)> {
    let version = served_version(changed.api_version(), changed.kind());
    // The schemas of CRDs are most of a bundle: `passes::check_types` checks them once.
    if version != Some(changed.api_version()) || changed.kind() == "CustomResourceDefinition" {
        return Ok(changed);
    }
    let faults = |object: &Object| {
        let found = release.object(object).map(check_object).unwrap_or_default();
        let mismatches = found.mismatches.into_iter().map(|TypeMismatch { path, why }| {
            format!("it sets `{path}` to a value of the wrong type: {why}")
        });
        let unknown = found.unknown_fields.iter();
        let unknown = unknown.map(|path| format!("it sets the unknown field `{}`", path_of(path)));
        mismatches.chain(unknown).collect::<Vec<_>>()
    };
    let before = faults(object);
    match faults(&changed).into_iter().find(|fault| !before.contains(fault)) {
        None => Ok(changed),
        Some(fault) => Err((fault, "set a field of this type, and a value that it can have")),
    }
}

/// Returns the warning about a patch that matches none of the objects.
fn matched_nothing(patch: &PatchConfig, objects: &[Object]) -> Diagnostic {
    let text = patch.matches.text.as_str();
    let message = format!("patch for `{text}` matched no objects");
    let removed = "check its spelling (kinds start with an upper-case letter), or remove it if the \
        bundle no longer ships the object";
    let kinds = objects.iter().map(Object::kind);
    // Of the kind that the filter asks for, if it asks for one.
    let is_meant = |object: &&Object| text.contains(&format!("\"{}\"", object.kind()));
    let has_kind = objects.iter().any(|object| is_meant(&object));
    let named = objects.iter().filter(|object| !has_kind || is_meant(object));
    let known: BTreeSet<&str> = kinds.chain(named.map(Object::name)).collect();
    let misspelt = suggest::misspelt_text(&known, [text]);
    Diagnostic::warning(Code::UnusedSetting, message)
        .at(patch.matches.place())
        .hint(misspelt.unwrap_or_else(|| removed.to_owned()))
}

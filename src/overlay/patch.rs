//! Changes of a bundle's objects by jq programs.

use crate::config::PatchConfig;
use crate::config::filter::{FilterError, Input, Patch, Program};
use crate::diag::{Code, Diagnostic, Diagnostics, Place, Span};
use crate::ir::{Object, Release};

/// What [`patch`] leaves.
#[derive(Clone, Debug, Default)]
pub struct Patched {
    /// The objects, in their order.
    pub objects: Vec<Object>,
    /// How many objects each patch changed or left as they are.
    pub hits: Vec<usize>,
    /// Patches that failed.
    pub diagnostics: Diagnostics,
}

/// Applies every patch to the objects that it matches, one patch after the other. Filters of
/// patches see objects as they are in `release`; patches see what only Helm knows as sealed texts.
///
/// Like filters, patches may run for long: call this through
/// [`crate::config::watchdog::run_watched`].
pub fn patch(mut objects: Vec<Object>, patches: &[PatchConfig], release: &Release<'_>) -> Patched {
    let mut diagnostics = Diagnostics::new();
    let mut hits = Vec::with_capacity(patches.len());
    for config in patches {
        hits.push(match apply(&mut objects, config, release, &mut diagnostics) {
            Ok(hits) => hits,
            Err((error, place)) => {
                let code = if error.refused { Code::RefusedFilter } else { Code::InvalidFilter };
                diagnostics
                    .push(Diagnostic::error(code, error.message).at(*place).hint(error.hint));
                0
            }
        });
    }
    Patched { objects, hits, diagnostics }
}

fn apply(
    objects: &mut [Object],
    config: &PatchConfig,
    release: &Release<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<usize, (FilterError, Box<Place>)> {
    let place = |span: &Span| Place::span(span.clone());
    let matches = Program::compile(&config.matches.text)
        .map_err(|error| (error, Box::new(place(&config.matches.span))))?;
    let patch = Patch::compile(&config.patch.text)
        .map_err(|error| (error, Box::new(place(&config.patch.span))))?;
    let mut hits = 0;
    for object in objects {
        match matches.matches(&Input::new(object, release)) {
            Ok(false) => continue,
            Ok(true) => hits += 1,
            Err(reason) => {
                let message =
                    format!("the filter `{}` fails on {}", config.matches.text, object.label());
                diagnostics.push(
                    Diagnostic::error(Code::FilterFailed, message)
                        .at(place(&config.matches.span))
                        .related(object.place(), format!("here {reason}"))
                        .hint(
                            "a filter must be true or false for every object: where a field may be missing or of \
                             another type, write `.field?` or `(.field // \"\")`",
                        ),
                );
                continue;
            }
        }
        let fault = match patch.apply(&object.root) {
            Err(reason) => {
                let hint = if reason.starts_with("null has no ") {
                    "what is missing has no fields to set: `.metadata.labels += {name: \"value\"}` adds to a map, \
                     or makes it"
                } else {
                    "a patch gives the whole object, changed: `.spec.replicas = 2`, not `2`"
                };
                Some((reason, hint))
            }
            Ok(root) => {
                let patched = Object { root, ..object.clone() };
                let same = patched.id() == object.id()
                    && patched.api_version() == object.api_version()
                    && ["name", "namespace"]
                        .iter()
                        .all(|key| patched.metadata(key) == object.metadata(key));
                if same {
                    *object = patched;
                    None
                } else {
                    let shown =
                        format!("it makes it {} of {}", patched.label(), patched.api_version());
                    Some((
                        shown,
                        "kind, version, name and namespace stay; to replace an object, exclude it and \
                                  declare another one with `[[bundle.overlay]]`",
                    ))
                }
            }
        };
        if let Some((reason, hint)) = fault {
            diagnostics.push(
                Diagnostic::error(
                    Code::PatchFailed,
                    format!(
                        "the patch `{}` fails on {}: {reason}",
                        config.patch.text,
                        object.label()
                    ),
                )
                .at(place(&config.patch.span))
                .related(object.place(), "the object")
                .hint(hint),
            );
        }
    }
    Ok(hits)
}

/// A warning for each patch that matched nothing.
pub fn unused_patches(patches: &[PatchConfig], hits: &[usize]) -> Diagnostics {
    let unused = patches.iter().zip(hits).filter(|(_, hits)| **hits == 0);
    unused
        .map(|(patch, _)| {
            let message = format!("the patch for `{}` matches no object", patch.matches.text);
            Diagnostic::warning(Code::UnusedPatch, message)
                .at(Place::span(patch.matches.span.clone()))
                .hint(
                    "check its spelling (kinds begin with a capital letter); if the bundle no longer ships what it \
                     was for, remove it",
                )
        })
        .collect()
}

//! Keeps and drops objects by the jq filters of the configuration.

use crate::config::Filter;
use crate::config::filter::{FilterError, Input, Program};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::ir::{Object, Release};
use std::collections::BTreeMap;

/// How many failing objects a diagnostic names.
const NAMED: usize = 3;

/// What [`filter`] leaves.
#[derive(Clone, Debug, Default)]
pub struct Filtered {
    /// The objects that are kept, in their order.
    pub objects: Vec<Object>,
    /// For each `include` filter, how many objects it is true for.
    pub include_hits: Vec<usize>,
    /// For each `exclude` filter, how many objects it is true for.
    pub exclude_hits: Vec<usize>,
    /// Filters that failed.
    pub diagnostics: Diagnostics,
}

/// Keeps the objects for which any of `include` is true (all, when there is none), and of these
/// drops those for which any of `exclude` is true. Filters see objects as they are in `release`.
///
/// Every filter is asked about every object, so that hits can be counted. A filter that fails on
/// an object is an error. Filters recurse with their length and may run for long: call this
/// through [`crate::config::watchdog::run_watched`].
pub fn filter(
    objects: Vec<Object>,
    include: &[Filter],
    exclude: &[Filter],
    release: &Release<'_>,
) -> Filtered {
    let mut included: Vec<Question> = include.iter().map(Question::new).collect();
    let mut excluded: Vec<Question> = exclude.iter().map(Question::new).collect();
    let mut kept = vec![true; objects.len()];
    if !included.is_empty() || !excluded.is_empty() {
        for (object, kept) in objects.iter().zip(&mut kept) {
            // In this form an object takes several times its memory, so there is one at a time.
            let input = Input::new(object, release);
            let any = |questions: &mut [Question]| {
                questions.iter_mut().fold(false, |any, question| question.ask(&input, object) | any)
            };
            *kept = (any(&mut included) || include.is_empty()) & !any(&mut excluded);
        }
    }
    let hits = |questions: &[Question]| questions.iter().map(|question| question.hits).collect();
    let (include_hits, exclude_hits) = (hits(&included), hits(&excluded));
    let diagnostics = included.into_iter().chain(excluded).filter_map(Question::failure).collect();
    let mut kept = kept.into_iter();
    let objects = objects.into_iter().filter(|_| kept.next().unwrap_or_default()).collect();
    Filtered { objects, include_hits, exclude_hits, diagnostics }
}

/// A warning for each filter that is true for no object of any bundle.
///
/// `hits` holds every filter that ran with its hits, for all bundles. Filters of `[defaults]`
/// come once for every bundle; one hit in any of them is enough.
pub fn unused_filters<'a>(hits: impl IntoIterator<Item = (&'a Filter, usize)>) -> Diagnostics {
    let mut sums: BTreeMap<(&str, usize), (&Filter, usize)> = BTreeMap::new();
    for (filter, count) in hits {
        let place = (filter.span.source.name.as_str(), filter.span.range.start);
        sums.entry(place).or_insert((filter, 0)).1 += count;
    }
    sums.into_values()
        .filter(|(_, count)| *count == 0)
        .map(|(filter, _)| {
            let message = format!("the filter `{}` is true for no object", filter.text);
            Diagnostic::warning(Code::UnusedFilter, message)
                .at(Place::span(filter.span.clone()))
                .hint(
                    "check its spelling (kinds begin with a capital letter); if the bundles no \
                     longer ship what it was for, remove it",
                )
        })
        .collect()
}

/// A filter that is asked about one object after the other.
struct Question<'f> {
    filter: &'f Filter,
    program: Result<Program, FilterError>,
    hits: usize,
    /// The first objects that it fails on, as the diagnostic has them: label, place and reason.
    failures: Vec<(String, Place, String)>,
    /// How many it fails on.
    failed: usize,
}

impl<'f> Question<'f> {
    fn new(filter: &'f Filter) -> Self {
        let program = Program::compile(&filter.text);
        Question { filter, program, hits: 0, failures: Vec::new(), failed: 0 }
    }

    /// Whether the filter is true for this object; a failure counts as false.
    fn ask(&mut self, input: &Input, object: &Object) -> bool {
        let Ok(program) = &self.program else { return false };
        match program.matches(input) {
            Ok(answer) => {
                self.hits += usize::from(answer);
                answer
            }
            Err(reason) => {
                self.failed += 1;
                if self.failed <= NAMED {
                    self.failures.push((object.label(), object.place(), reason));
                }
                false
            }
        }
    }

    /// What went wrong, if anything did.
    fn failure(self) -> Option<Diagnostic> {
        let place = Place::span(self.filter.span.clone());
        if let Err(error) = self.program {
            let code = if error.refused { Code::RefusedFilter } else { Code::InvalidFilter };
            return Some(Diagnostic::error(code, error.message).at(place).hint(error.hint));
        }
        let mut names: Vec<String> =
            self.failures.iter().map(|(label, ..)| label.clone()).collect();
        if self.failed > NAMED {
            names.push(format!("{} more", self.failed - NAMED));
        }
        let last = names.pop()?;
        let list = if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) };
        let message = format!("the filter `{}` fails on {list}", self.filter.text);
        let failure = Diagnostic::error(Code::FilterFailed, message).at(place).hint(
            "a filter must be true or false for every object: where a field may be missing or of \
             another type, write `.field?` or `(.field // \"\")`",
        );
        Some(self.failures.into_iter().fold(failure, |failure, (_, place, reason)| {
            failure.related(place, format!("here {reason}"))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{SourceText, Span, human};
    use crate::ir::{Condition, Expr, Origin, Value, ValuesPath};
    use serde_json::json;
    use std::sync::Arc;

    fn object(kind: &str, name: &str, line: usize) -> Object {
        let origin = Origin::File {
            file: "manifests/all.yaml".to_owned(),
            document: 1,
            line,
            path: String::new(),
        };
        let metadata = Value::map([
            ("name", Value::text(name)),
            ("namespace", Value::from(Expr::ReleaseNamespace)),
        ]);
        let Value::Map(root) = Value::map([("kind", Value::text(kind)), ("metadata", metadata)])
        else {
            unreachable!()
        };
        Object::new(*root, origin)
    }

    fn filters(texts: &[&str]) -> Vec<Filter> {
        let text = texts.iter().map(|text| format!("'{text}'\n")).collect::<String>();
        let source = Arc::new(SourceText { name: "bundles.toml".to_owned(), text });
        let mut start = 0;
        texts
            .iter()
            .map(|text| {
                let range = start..start + text.len() + 2;
                start = range.end + 1;
                Filter { text: (*text).to_owned(), span: Span::new(&source, range) }
            })
            .collect()
    }

    fn run(objects: Vec<Object>, include: &[&str], exclude: &[&str]) -> Filtered {
        let values = json!({});
        let release = Release { namespace: "ns", values: &values };
        filter(objects, &filters(include), &filters(exclude), &release)
    }

    fn labels(filtered: &Filtered) -> Vec<String> {
        filtered.objects.iter().map(Object::label).collect()
    }

    #[test]
    fn exclude_wins_over_include_and_hits_are_counted() {
        let objects =
            || vec![object("Route", "a", 1), object("Role", "b", 5), object("Route", "c", 9)];
        let all = run(objects(), &[], &[]);
        assert_eq!(labels(&all), ["Route/a", "Role/b", "Route/c"]);

        let some = run(
            objects(),
            &[".kind == \"Route\"", ".kind == \"Job\""],
            &[".metadata.name == \"c\"", ".metadata.namespace == \"ns\" and .kind == \"Role\""],
        );
        assert_eq!(labels(&some), ["Route/a"]);
        assert_eq!((some.include_hits, some.exclude_hits), (vec![2, 0], vec![1, 1]));
        assert!(some.diagnostics.is_empty());
    }

    #[test]
    fn an_object_that_is_not_always_present_is_filtered_too() {
        let mut secret = object("Secret", "pull", 1);
        secret.when = Some(Condition::Set(ValuesPath::new(["create"])));
        let filtered = run(vec![secret], &[], &[".kind == \"Secret\""]);
        assert!(filtered.objects.is_empty());
    }

    #[test]
    fn a_failing_filter_names_objects_and_reasons() {
        let objects = ["a", "b", "c", "d", "e"]
            .iter()
            .enumerate()
            .map(|(index, name)| object("Role", name, 10 * index + 1))
            .collect();
        let filtered = run(objects, &[], &["any(.rules[]; .verbs)", ".kind | keys", "def"]);
        insta::assert_snapshot!(human::render(&filtered.diagnostics, false), @r#"
        error[filter-failed]: the filter `any(.rules[]; .verbs)` fails on Role/a, Role/b, Role/c and 2 more
         --> bundles.toml:1:1
          |
        1 | 'any(.rules[]; .verbs)'
          | ^^^^^^^^^^^^^^^^^^^^^^^
          |
          = hint: a filter must be true or false for every object: where a field may be missing or of another type, write `.field?` or `(.field // "")`
        note: here null has no entries
         --> manifests/all.yaml:1
          = object: Role/a
        note: here null has no entries
         --> manifests/all.yaml:11
          = object: Role/b
        note: here null has no entries
         --> manifests/all.yaml:21
          = object: Role/c

        error[filter-failed]: the filter `.kind | keys` fails on Role/a, Role/b, Role/c and 2 more
         --> bundles.toml:2:1
          |
        2 | '.kind | keys'
          | ^^^^^^^^^^^^^^
          |
          = hint: a filter must be true or false for every object: where a field may be missing or of another type, write `.field?` or `(.field // "")`
        note: here a string has no entries
         --> manifests/all.yaml:1
          = object: Role/a
        note: here a string has no entries
         --> manifests/all.yaml:11
          = object: Role/b
        note: here a string has no entries
         --> manifests/all.yaml:21
          = object: Role/c

        error[invalid-filter]: this filter is not valid jq: expected an identifier, found the end
         --> bundles.toml:3:1
          |
        3 | 'def'
          | ^^^^^
          |
          = hint: see the jq manual for how filters are written

        3 errors
        "#);
    }

    #[test]
    fn a_filter_is_unused_only_when_no_bundle_uses_it() {
        let filters = filters(&[".kind == \"Route\"", ".kind == \"route\"", ".kind == \"Job\""]);
        let [route, typo, job] = filters.as_slice() else { unreachable!() };
        let found = unused_filters([(job, 0), (route, 0), (typo, 0), (route, 2), (job, 1)]);
        insta::assert_snapshot!(human::render(&found, false), @r#"
        warning[unused-filter]: the filter `.kind == "route"` is true for no object
         --> bundles.toml:2:1
          |
        2 | '.kind == "route"'
          | ^^^^^^^^^^^^^^^^^^
          |
          = hint: check its spelling (kinds begin with a capital letter); if the bundles no longer ship what it was for, remove it

        1 warning
        "#);
    }
}

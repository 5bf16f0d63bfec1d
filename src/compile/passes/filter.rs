//! Keeps and drops objects by the jq filters of the configuration.

use crate::config::Filter;
use crate::diag::{Code, Diagnostic, Diagnostics, join, listed, suggest};
use crate::ir::{Object, Release};
use crate::jq::{Failure, Input, ProgramError, Session};
use std::collections::BTreeMap;

/// Maximum number of objects that a diagnostic names.
const NAMED: usize = 3;

/// The result of filters or patches.
#[derive(Clone, Debug, Default)]
pub struct Filtered {
    /// The objects that are kept, in their order.
    pub objects: Vec<Object>,
    /// Number of matched objects for each `include` filter, and then each `exclude` filter, or for each
    /// patch; shorter than the list of patches after an error.
    pub hits: Vec<usize>,
}

/// Keeps the objects that match any of `include` (all, if there are none), and drops those that
/// match any of `exclude`. Filters see objects as rendered in `release`. The first programs of
/// `session` are these filters, in this order.
///
/// Every filter runs on every object, so that matches can be counted. A filter that fails on an
/// object is an error, but the result is complete enough to find more: it counts as false. `None`
/// after filters that do not compile, exceed their budget or remove all objects. Removing all
/// Deployments or all CRDs is a warning.
pub fn filter(
    objects: Vec<Object>,
    include: &[Filter],
    exclude: &[Filter],
    release: &Release<'_>,
    session: &mut Session,
    diagnostics: &mut Diagnostics,
) -> Option<Filtered> {
    let filters: Vec<&Filter> = include.iter().chain(exclude).collect();
    if filters.is_empty() {
        return Some(Filtered { objects, ..Filtered::default() });
    }
    let start = diagnostics.mark();
    check_programs(filters.iter().copied(), session.errors(), diagnostics)?;
    let programs: Vec<usize> = (0..filters.len()).collect();
    // Counted over all bundles later: a filter of `[defaults]` may match in one of them only.
    let mut hits = vec![0; filters.len()];
    let mut failures = vec![Vec::new(); filters.len()];
    let mut fates = Vec::with_capacity(objects.len());
    for object in &objects {
        let answers = match session.conditions(&programs, &Input::new(object, release)) {
            Ok(answers) => answers,
            Err(stopped) => {
                let filter = filters.get(stopped.program);
                diagnostics.extend(filter.map(|filter| filter.stopped(object, &stopped.excess)));
                return None;
            }
        };
        let answers = answers.into_iter().zip(hits.iter_mut().zip(&mut failures));
        let answers = answers.map(|(answer, (hits, failures))| {
            let matches = answer.unwrap_or_else(|failure| {
                failures.push((object, failure));
                false
            });
            *hits += usize::from(matches);
            matches
        });
        fates.push(Fate::of(&answers.collect::<Vec<_>>(), include.len()));
    }

    let failed = filters.iter().zip(&failures);
    diagnostics.extend(failed.filter_map(|(filter, failures)| failure(filter, failures)));
    // A filter that fails has removed nothing for a reason.
    if !diagnostics.has_errors_since(start) {
        report_losses(&objects, &fates, &filters, diagnostics);
        diagnostics.no_errors_since(start)?;
    }
    // One fate for each object, in their order.
    let mut kept = fates.iter().map(|fate| *fate == Fate::Kept);
    let objects = objects.into_iter().filter(|_| kept.next().unwrap_or_default()).collect();
    Some(Filtered { objects, hits })
}

/// Reports programs that do not compile: they are compiled once per bundle, and each has its own error,
/// with its place in bundles.toml. Returns `None` if there are any.
pub(crate) fn check_programs<'p>(
    programs: impl IntoIterator<Item = &'p Filter>,
    errors: &[Option<ProgramError>],
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    let start = diagnostics.mark();
    let unusable = programs.into_iter().zip(errors);
    diagnostics
        .extend(unusable.filter_map(|(program, error)| Some(program.unusable(error.clone()?))));
    diagnostics.no_errors_since(start)
}

/// The outcome of the filters for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Kept,
    /// Matched by no `include` filter.
    NotIncluded,
    /// This filter excludes it.
    Excluded(usize),
}

impl Fate {
    /// Determines the outcome from the results of all filters, of which the first `includes` are
    /// `include` filters.
    fn of(answers: &[bool], includes: usize) -> Self {
        let (include, exclude) = answers.split_at(includes);
        // `exclude` wins over `include`, so that a default can be narrowed and never be widened by
        // accident.
        if let Some(first) = exclude.iter().position(|answer| *answer) {
            Fate::Excluded(includes + first)
        } else if include.is_empty() || include.contains(&true) {
            Fate::Kept
        } else {
            Fate::NotIncluded
        }
    }
}

/// The hint for filters that leave no object of a kind.
const TO_KEEP_ONE: &str = "if one is to stay, narrow `exclude`, for example with `and .metadata.name \
    != \"NAME\"`, or add a filter for it to `include`";

/// Reports filters that removed everything, all Deployments, or all CRDs.
fn report_losses(
    objects: &[Object],
    fates: &[Fate],
    filters: &[&Filter],
    diagnostics: &mut Diagnostics,
) {
    let lost =
        |single: &str, severity: fn(Code, String) -> Diagnostic, meant: &dyn Fn(&str) -> bool| {
            let of_kind = objects.iter().zip(fates).filter(|(object, _)| meant(object.kind()));
            let mut counts: BTreeMap<Fate, usize> = BTreeMap::new();
            of_kind.for_each(|(_, fate)| *counts.entry(*fate).or_default() += 1);
            let total: usize = counts.values().sum();
            if total == 0 || counts.contains_key(&Fate::Kept) {
                return None;
            }

            // The filter that removes the most comes first.
            let mut by_count: Vec<(Fate, usize)> = counts.into_iter().collect();
            by_count.sort_by_key(|(fate, count)| (std::cmp::Reverse(*count), *fate));
            let cause = |(fate, count): &(Fate, usize)| match fate {
                Fate::Excluded(index) => {
                    format!("`exclude` filter `{}` removes {count}", filters[*index].text)
                }
                _ if *count == 1 => "1 matches no `include` filter".to_owned(),
                _ => format!("{count} match no `include` filter"),
            };
            let causes = join(by_count.iter().map(cause), ", ");
            let first = match by_count.first() {
                Some((Fate::Excluded(index), _)) => filters[*index],
                _ => filters[0],
            };

            let what = match total {
                1 => format!("the only {single}"),
                _ => format!("all {total} {single}s"),
            };
            let message = format!("filters remove {what}: {causes}");
            let kinds = objects.iter().map(Object::kind).filter(|kind| meant(kind)).collect();
            let programs = filters.iter().map(|filter| filter.text.as_str());
            let hint = suggest::misspelt_text(&kinds, programs);
            let hint = hint.unwrap_or_else(|| TO_KEEP_ONE.to_owned());
            Some(severity(Code::FilteredOut, message).at(first.place()).hint(hint))
        };

    if let Some(nothing) = lost("object", Diagnostic::error, &|_| true) {
        diagnostics.push(nothing);
        return;
    }
    let deployments = lost("Deployment", Diagnostic::warning, &|kind| kind == "Deployment");
    let crds = lost("CRD", Diagnostic::warning, &|kind| kind == "CustomResourceDefinition");
    diagnostics.extend(deployments.into_iter().chain(crds));
}

/// Reports each filter that matches no object of any bundle.
///
/// `hits` contains every filter that ran with its matches, for all bundles. Filters of `[defaults]`
/// occur once per bundle; a match in any of them is enough.
pub fn unused_filters<'a>(
    hits: impl IntoIterator<Item = (&'a Filter, usize)>,
    diagnostics: &mut Diagnostics,
) {
    let mut sums: BTreeMap<(&str, usize), (&Filter, usize)> = BTreeMap::new();
    for (filter, count) in hits {
        // A filter is its place in the file: two filters may have the same text.
        let place = (filter.span.source.name.as_str(), filter.span.range.start);
        sums.entry(place).or_insert((filter, 0)).1 += count;
    }
    let unused = sums.into_values().filter(|(_, count)| *count == 0);
    diagnostics.extend(unused.map(|(filter, _)| {
        let message = format!("filter `{}` matched no objects", filter.text);
        Diagnostic::warning(Code::UnusedSetting, message).at(filter.place()).hint(
            "check its spelling (kinds start with an upper-case letter), or remove it if the \
                bundles no longer ship the objects",
        )
    }));
}

/// Returns a diagnostic if a filter failed on objects.
fn failure(filter: &Filter, failures: &[(&Object, Failure)]) -> Option<Diagnostic> {
    let names = listed(failures.iter().map(|(object, _)| object.label()), NAMED);
    let (_, first) = failures.first()?;
    let related = failures.iter().take(NAMED);
    Some(related.fold(filter.failed(&names, first), |failure, (object, reason)| {
        failure.related(object.place(), reason.to_string())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{SourceText, Span, human};
    use crate::ir::{Condition, Expr, Origin, Value, ValuesPath};
    use crate::jq::Purpose;
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

    fn run(objects: Vec<Object>, include: &[&str], exclude: &[&str]) -> (Filtered, Diagnostics) {
        let (filtered, found) = try_run(objects, include, exclude);
        (filtered.unwrap(), found)
    }

    fn try_run(
        objects: Vec<Object>,
        include: &[&str],
        exclude: &[&str],
    ) -> (Option<Filtered>, Diagnostics) {
        let values = json!({});
        let release = Release { namespace: "ns", values: &values };
        let programs = include.iter().chain(exclude);
        let programs = programs.map(|text| (Purpose::Filter, (*text).to_owned())).collect();
        let mut session = Session::start(programs).unwrap();
        let mut found = Diagnostics::new();
        let (include, exclude) = (filters(include), filters(exclude));
        let filtered = filter(objects, &include, &exclude, &release, &mut session, &mut found);
        (filtered, found)
    }

    fn labels(filtered: &Filtered) -> Vec<String> {
        filtered.objects.iter().map(Object::label).collect()
    }

    #[test]
    fn exclude_wins_over_include_and_hits_are_counted() {
        let objects =
            || vec![object("Route", "a", 1), object("Role", "b", 5), object("Route", "c", 9)];
        let (all, _) = run(objects(), &[], &[]);
        assert_eq!(labels(&all), ["Route/a", "Role/b", "Route/c"]);

        let (some, found) = run(
            objects(),
            &[".kind == \"Route\"", ".kind == \"Job\""],
            &[".metadata.name == \"c\"", ".metadata.namespace == \"ns\" and .kind == \"Role\""],
        );
        assert_eq!(labels(&some), ["Route/a"]);
        assert_eq!(some.hits, [2, 0, 1, 1]);
        assert!(found.is_empty());
    }

    #[test]
    fn an_object_that_is_not_always_present_is_filtered_too() {
        let mut secret = object("Secret", "pull", 1);
        secret.when = Some(Condition::Set(ValuesPath::new(["create"])));
        let secrets = vec![secret, object("Role", "kept", 9)];
        let (filtered, _) = run(secrets, &[], &[".kind == \"Secret\""]);
        assert_eq!(labels(&filtered), ["Role/kept"]);
    }

    #[test]
    fn a_failing_filter_names_objects_and_reasons() {
        let objects = ["a", "b", "c", "d", "e"]
            .iter()
            .enumerate()
            .map(|(index, name)| object("Role", name, 10 * index + 1))
            .collect();
        let (_, found) = run(objects, &[], &["any(.rules[]; .verbs)", ".kind | keys"]);
        insta::assert_snapshot!(human::render(&found, false), @r#"
        error[filter-failed]: filter `any(.rules[]; .verbs)` fails on Role/a, Role/b, Role/c and 2 more
         --> bundles.toml:1:1
          |
        1 | 'any(.rules[]; .verbs)'
          | ^^^^^^^^^^^^^^^^^^^^^^^
          |
          = hint: a filter must be true or false for every object: if a field may be missing or of another type, write `.field?` or `(.field // "")`
        note: here null has no entries
         --> manifests/all.yaml:1
          = object: Role/a
        note: here null has no entries
         --> manifests/all.yaml:11
          = object: Role/b
        note: here null has no entries
         --> manifests/all.yaml:21
          = object: Role/c

        error[filter-failed]: filter `.kind | keys` fails on Role/a, Role/b, Role/c and 2 more
         --> bundles.toml:2:1
          |
        2 | '.kind | keys'
          | ^^^^^^^^^^^^^^
          |
          = hint: a filter must be true or false for every object: if a field may be missing or of another type, write `.field?` or `(.field // "")`
        note: here a string has no entries
         --> manifests/all.yaml:1
          = object: Role/a
        note: here a string has no entries
         --> manifests/all.yaml:11
          = object: Role/b
        note: here a string has no entries
         --> manifests/all.yaml:21
          = object: Role/c

        2 errors
        "#);
    }

    #[test]
    fn a_filter_is_unused_only_when_no_bundle_uses_it() {
        let filters = filters(&[".kind == \"Route\"", ".kind == \"route\"", ".kind == \"Job\""]);
        let [route, typo, job] = filters.as_slice() else { unreachable!() };
        let hits = [(job, 0), (route, 0), (typo, 0), (route, 2), (job, 1)];
        let mut found = Diagnostics::new();
        unused_filters(hits, &mut found);
        insta::assert_snapshot!(human::render(&found, false), @r#"
        warning[unused-setting]: filter `.kind == "route"` matched no objects
         --> bundles.toml:2:1
          |
        2 | '.kind == "route"'
          | ^^^^^^^^^^^^^^^^^^
          |
          = hint: check its spelling (kinds start with an upper-case letter), or remove it if the bundles no longer ship the objects

        1 warning
        "#);
    }

    #[test]
    fn a_failing_filter_names_up_to_three_objects() {
        let objects = ["a", "b", "c"].map(|name| object("Role", name, 1)).to_vec();
        let (filtered, found) = run(objects, &[], &[".kind | keys"]);
        assert_eq!(labels(&filtered), ["Role/a", "Role/b", "Role/c"]);
        let messages: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
        assert_eq!(messages, ["filter `.kind | keys` fails on Role/a, Role/b and Role/c"]);
    }

    #[test]
    fn filters_that_do_not_compile_or_remove_everything_are_errors() {
        let crd = "CustomResourceDefinition";
        let objects = [("Role", "a"), ("Route", "b"), ("Route", "c"), (crd, "d")];
        let objects = objects.map(|(kind, name)| object(kind, name, 1)).to_vec();
        let is = |kind: &str| format!(".kind == \"{kind}\"");
        let (role, route, crds) = (is("Role"), is("Route"), is(crd));
        let mut shown = String::new();
        for (include, exclude) in [
            (vec![], vec![role.as_str(), &route, &crds]),
            (vec![".metadata.name == \"e\""], vec![]),
            (vec![], vec![&crds]),
            (vec![], vec![".kind =="]),
        ] {
            let (filtered, found) = try_run(objects.clone(), &include, &exclude);
            let kept = filtered.map(|filtered| labels(&filtered));
            shown += &format!("{include:?} {exclude:?} {kept:?}\n{}", human::render(&found, false));
        }
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn a_kind_that_is_nearly_spelt_is_suggested() {
        let objects = [object("Deployment", "a", 1), object("Role", "b", 2)].to_vec();
        for misspelt in ["deployment", "Deploymnt"] {
            let include = format!(".kind == \"Role\" or .kind == \"{misspelt}\"");
            let (_, found) = run(objects.clone(), &[&include], &[]);
            let hints: Vec<&str> = found.iter().filter_map(|found| found.hint.as_deref()).collect();
            assert_eq!(hints, ["did you mean `Deployment`?"], "{include}");
        }
    }

    #[test]
    fn the_filters_that_remove_all_deployments_are_named() {
        let objects =
            [("Deployment", "a"), ("Deployment", "b"), ("Deployment", "c"), ("Role", "d")];
        let objects = objects.map(|(kind, name)| object(kind, name, 1)).to_vec();
        let (_, found) = run(
            objects,
            &[".metadata.name != \"c\"", ".kind == \"Role\""],
            &[".metadata.name == \"a\"", ".metadata.name == \"b\""],
        );
        let messages: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
        assert_eq!(
            messages,
            ["filters remove all 3 Deployments: 1 matches no `include` filter, \
              `exclude` filter `.metadata.name == \"a\"` removes 1, \
              `exclude` filter `.metadata.name == \"b\"` removes 1"]
        );
    }
}

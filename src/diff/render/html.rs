//! HTML format: one self-contained page.
//!
//! All content is in the page itself; the script only filters. The content security policy allows
//! only the page's own style and script, by digest. The templates are in html/, and escape all that
//! they insert.

use super::report::{Comparison, Report};
use super::{Rendered, Sign, code_in_html, fields, is_short, lines, title};
use crate::diag::join;
use crate::escape;
use crate::group::{Group, Place};
use crate::plan::Step;
use crate::summary::Summary;
use crate::{Action, Change, ChangeSet, Class, ObjectChange};
use askama::Template;
use askama::filters::Escaper;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

const STYLE: &str = include_str!("html/report.css");
const SCRIPT: &str = include_str!("html/report.js");

/// Maximum number of lines of a value.
const LINES: usize = 200;

/// Maximum number of changes of one finding that are shown with their values.
const VALUES: usize = 60;

/// Number of items of a step of the plan that are not folded.
const ITEMS: usize = 5;

/// Escapes text for a page or an attribute of it.
#[derive(Clone, Copy)]
struct Html;

impl Escaper for Html {
    fn write_escaped_str<W: fmt::Write>(&self, mut page: W, text: &str) -> fmt::Result {
        page.write_str(&escape::html(text))
    }
}

#[expect(unreachable_pub, reason = "`filter_fn` generates it")]
mod filters {
    use super::{code_in_html, escape};
    use askama::filters::Safe;
    use askama::{Result, Values, filter_fn};

    /// Returns a sentence, with text in backticks as `<code>`.
    #[filter_fn]
    pub(super) fn with_code(sentence: impl AsRef<str>, _: &dyn Values) -> Result<Safe<String>> {
        Ok(Safe(code_in_html(&escape::html(sentence.as_ref()))))
    }
}

/// Renders a change set as an HTML page.
pub fn render(set: &ChangeSet) -> String {
    let summary = Summary::of(set);
    let filters = filters_of(std::slice::from_ref(&summary));
    let has_findings = !filters.is_empty();
    let (prefix, rendered) = (String::new(), RefCell::default());
    let chart = Chart { set, summary: &summary, prefix, filters, rendered };
    page(title(set), chart, has_findings)
}

/// Renders several comparisons as one page, with an overview and with filters for all.
pub(super) fn overview(report: &Report) -> String {
    let sets = report.comparisons.iter().map(|comparison| &comparison.set);
    let summaries: Vec<Summary<'_>> = sets.map(Summary::of).collect();
    let filters = filters_of(&summaries);
    let has_findings = !filters.is_empty();
    let compared = report.comparisons.iter().zip(&summaries).collect();
    let (title, unchanged) = (report.title(), report.unchanged());
    page(title.clone(), Overview { title, unchanged, filters, compared }, has_findings)
}

fn page(title: String, body: impl Template, has_findings: bool) -> String {
    format!("{}\n", Page { title, body: body.to_string(), has_findings })
}

#[derive(Template)]
#[template(path = "render/html/page.html")]
struct Page {
    title: String,
    body: String,
    has_findings: bool,
}

impl Page {
    /// Returns the source expression of a content security policy for inline content.
    fn digest(&self, content: &str) -> String {
        format!("sha256-{}", STANDARD.encode(Sha256::digest(content.as_bytes())))
    }
}

/// Returns the form that filters findings; empty without any.
fn filters_of(summaries: &[Summary<'_>]) -> String {
    if summaries.iter().all(|summary| summary.groups.is_empty()) {
        return String::new();
    }
    let count = |class| summaries.iter().map(|summary| summary.count(class)).sum();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for kind in summaries.iter().flat_map(|summary| &summary.groups).flat_map(kinds_of) {
        *kinds.entry(kind).or_default() += 1;
    }
    Filters { classes: Class::ALL.map(|class| (class.as_str(), count(class))), kinds }.to_string()
}

#[derive(Template)]
#[template(path = "render/html/filters.html")]
struct Filters<'s> {
    classes: [(&'static str, usize); 3],
    kinds: BTreeMap<&'s str, usize>,
}

fn kinds_of<'s>(group: &Group<'s>) -> BTreeSet<&'s str> {
    group.places.iter().map(|place| place.object.id.kind.as_str()).collect()
}

#[derive(Template)]
#[template(path = "render/html/overview.html")]
struct Overview<'s> {
    title: String,
    unchanged: String,
    filters: String,
    compared: Vec<(&'s Comparison, &'s Summary<'s>)>,
}

impl<'s> Overview<'s> {
    fn chart(
        &self,
        comparison: &'s Comparison,
        summary: &'s Summary<'s>,
        number: &usize,
    ) -> Chart<'s> {
        let prefix = format!("chart-{number}-");
        let (set, filters, rendered) = (&comparison.set, String::new(), RefCell::default());
        Chart { set, summary, prefix, filters, rendered }
    }
}

/// The report on one comparison: the first screen, the plan, the filters and all findings.
#[derive(Template)]
#[template(path = "render/html/chart.html")]
struct Chart<'s> {
    set: &'s ChangeSet,
    summary: &'s Summary<'s>,
    /// Makes link targets unique among several comparisons.
    prefix: String,
    filters: String,
    rendered: RefCell<Rendered>,
}

/// The places of a finding in an object.
struct Places<'s> {
    object: &'s ObjectChange,
    /// Fields of a schema.
    fields: String,
    /// The path and the values of each change, as far as they are shown.
    changes: Vec<(Option<String>, Option<String>)>,
}

impl<'s> Chart<'s> {
    /// Returns the items of a step of the plan, with the numbers of the findings that they are.
    fn items(&self, step: &'s Step) -> Vec<(&'s str, Option<usize>)> {
        let finding = |position: usize| step.findings.get(position).map(|index| index + 1);
        let items = step.items.iter().enumerate();
        items.map(|(position, item)| (item.as_str(), finding(position))).collect()
    }

    fn kinds(&self, group: &Group<'_>) -> String {
        join(kinds_of(group), " ")
    }

    /// Returns the places of a finding by object, and the number of changes whose values are omitted.
    fn places(&self, group: &Group<'s>) -> (Vec<Places<'s>>, usize) {
        let mut left = VALUES;
        let places = |(object, places): (&'s ObjectChange, Vec<&Place<'s>>)| Places {
            object,
            fields: fields(&places).join(", "),
            changes: places.iter().map(|place| self.change(place, &mut left)).collect(),
        };
        let objects = group.by_object().into_iter().map(places).collect();
        let omitted = if left == 0 { group.places.len() - VALUES } else { 0 };
        (objects, omitted)
    }

    /// Returns the path of a change and its values, as long as values are `left`. Reasons of findings in
    /// schemas name the values, unless they are informational.
    fn change(&self, place: &Place<'s>, left: &mut usize) -> (Option<String>, Option<String>) {
        let change = place.change;
        let has_path = place.schema.is_none() && !change.path.steps().is_empty();
        let path = has_path.then(|| change.path.to_string());
        if place.schema.is_some() && is_short(change) || *left == 0 {
            return (path, None);
        }
        *left -= 1;
        let mut rendered = self.rendered.borrow_mut();
        let values = rendered.entry(change).or_insert_with(|| Sides::of(change).to_string());
        (path, Some(values.clone()))
    }
}

/// The values of a change, side by side.
#[derive(Template)]
#[template(path = "render/html/sides.html")]
struct Sides {
    lines: Vec<(Sign, String)>,
    more: usize,
    /// Caption, lines and their element.
    columns: Vec<(&'static str, Sign, &'static str)>,
}

impl Sides {
    fn of(change: &Change) -> Self {
        let (lines, more) = lines(change, LINES);
        let mut columns = Vec::new();
        if change.old.is_some() {
            columns.push(("old", Sign::Old, "del"));
        }
        if change.new.is_some() || change.old.is_none() {
            columns.push(("new", Sign::New, "ins"));
        }
        Sides { lines, more, columns }
    }
}

//! Markdown format for pull requests: the first screen, one fold per finding; limited to the size of a
//! comment.

use super::{
    Rendered, code_in_html, counts, headline, lines, more_like, names, title, totals, values,
};
use crate::diag::join;
use crate::escape::markdown::{code, sentence};
use crate::escape::{self, markdown};
use crate::group::{Group, Place, label};
use crate::plan::Step;
use crate::summary::{self, Summary};
use crate::{Action, Change, ChangeSet, Class};
use indexmap::IndexMap;
use std::fmt::Write as _;

/// Maximum size of a report in bytes. GitHub limits comments to 65,536 characters; the rest is for the
/// tool that posts the report.
pub const LIMIT: usize = 60_000;

/// Maximum number of lines of a value.
const LINES: usize = 30;
/// Maximum number of characters of a line of a value.
const WIDTH: usize = 300;
/// Maximum number of characters of an item of the plan.
const ITEM: usize = 1_200;

/// Lines of the paragraph on what is omitted, and after it.
const OMITTED_LINES: usize = 4;

/// Level of detail of a finding: the number of objects that are named, of fields or paths per object,
/// and of changes that are shown with their values. Without objects it is one line.
#[derive(Clone, Copy)]
struct Detail {
    objects: usize,
    places: usize,
    values: usize,
}

/// Levels in ascending order.
const DETAILS: [Detail; 4] = [
    Detail { objects: 0, places: 0, values: 0 },
    Detail { objects: 3, places: 3, values: 1 },
    Detail { objects: 20, places: 20, values: 5 },
    Detail { objects: usize::MAX, places: usize::MAX, values: 25 },
];

/// The size of a report.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Maximum number of bytes.
    pub bytes: usize,
    /// Number of lines after which only breaking findings follow.
    pub lines: usize,
}

impl From<usize> for Limit {
    fn from(bytes: usize) -> Self {
        Limit { bytes, lines: usize::MAX }
    }
}

impl Limit {
    /// Returns the limit for the rest of a report after a text.
    fn after(self, text: &str) -> Self {
        Limit {
            bytes: self.bytes.saturating_sub(text.len()),
            lines: self.lines.saturating_sub(text.lines().count()),
        }
    }
}

/// Renders a change set as Markdown.
pub fn render(set: &ChangeSet, limit: impl Into<Limit>) -> String {
    let limit = limit.into();
    let head = format!("# {}\n\n", markdown::text(&title(set)));
    let summary = Summary::of(set);
    let screen = first_screen(set, &summary);
    if set.is_empty() {
        return format!("{head}{screen}");
    }
    let details = details(set, &summary, limit.after(&head).after(&screen));
    format!("{head}{screen}{details}")
}

/// Returns the plan and the findings.
pub(super) fn details(set: &ChangeSet, summary: &Summary<'_>, limit: Limit) -> String {
    let is_long =
        |plan: &str| plan.len() > limit.bytes / 3 || plan.lines().count() > limit.lines / 2;
    let plan = [30, 10, 5, 3]
        .map(|items| plan(&set.plan, items))
        .into_iter()
        // The plan must not take the room of the findings.
        .reduce(|longer, shorter| if is_long(&longer) { shorter } else { longer })
        .unwrap_or_default();
    let title = "## Changes\n\n";
    // For the paragraph on what is omitted.
    let reserve = 1_500;
    let limit = limit.after(&plan).after(title);
    let room = Limit {
        bytes: limit.bytes.saturating_sub(reserve),
        lines: limit.lines.saturating_sub(OMITTED_LINES),
    };
    let (texts, left) = fitting(&summary.groups, room);
    format!("{plan}{title}{texts}{}", omitted(&left))
}

/// Returns the verdict, the counts and the findings that matter most.
pub fn first_screen(set: &ChangeSet, summary: &Summary<'_>) -> String {
    let mut text = String::new();
    if !set.values.is_empty() {
        let _ = writeln!(text, "{}\n", markdown::text(&values(set)));
    }
    let (class, advice) = summary.advice();
    if set.is_empty() {
        let _ = writeln!(text, "{}.\n", sentence(&summary.verdict));
        text.push_str(&ignored(set));
        return text;
    }

    let _ = writeln!(text, "**{class}**: {}.\n", sentence(advice));
    let _ = writeln!(text, "{}.\n", totals(set, summary));
    text.push_str(&ignored(set));
    let top = summary.top();
    for (_, group) in &top {
        let finding = format!("{}{}", headline(group), more_like(summary, group));
        let (number, class, code) = (group.number, group.class().as_str(), group.rule.code);
        let _ = writeln!(text, "{number}. **{class}** `{code}`: {}", cut_sentence(&finding));
    }
    if !top.is_empty() {
        text.push('\n');
    }
    text
}

/// Returns the texts that fit into `room`, in the order of the findings, and the omitted
/// findings.
///
/// The first finding of each rule comes first, with some details, so that many findings of one rule
/// do not hide another rule. Then as many findings as possible get a line, and the first ones, which
/// are the worst, get more details.
fn fitting<'g, 's>(groups: &'g [Group<'s>], room: Limit) -> (String, Vec<&'g Group<'s>>) {
    // A finding of each rule before the second one of any.
    let order = summary::rounds(groups);
    let (first, more): (Vec<_>, Vec<_>) = order.iter().partition(|(round, _)| *round == 0);
    let mut turns: Vec<(usize, Detail)> = Vec::new();
    for detail in &DETAILS[..2] {
        turns.extend(first.iter().map(|(_, index)| (*index, *detail)));
    }
    turns.extend(more.iter().map(|(_, index)| (*index, DETAILS[0])));
    for detail in &DETAILS[1..] {
        turns.extend((0..groups.len()).map(|index| (index, *detail)));
    }

    let mut texts: Vec<String> = vec![String::new(); groups.len()];
    let (mut used, mut lines) = (0, 0);
    let mut shown = Rendered::new();
    for (index, detail) in turns {
        let (group, text) = (&groups[index], &mut texts[index]);
        // Skip folds that cannot fit.
        // Breaking findings may exceed the limit of lines, but not that of bytes, which GitHub
        // sets.
        let needed = group.class() == Class::Breaking && detail.objects <= DETAILS[1].objects;
        if used >= room.bytes
            || detail.places.min(group.places.len()) > room.bytes
            || (lines >= room.lines && !needed)
        {
            continue;
        }
        let longer = fold(group, detail, &mut shown);
        let bytes = used - text.len() + longer.len();
        let after = lines - text.lines().count() + longer.lines().count();
        let fits = bytes <= room.bytes && (needed || after <= room.lines);
        if longer.len() > text.len() && fits {
            (used, lines) = (bytes, after);
            *text = longer;
        }
    }

    let omitted = groups.iter().zip(&texts).filter(|(_, text)| text.is_empty());
    (texts.concat(), omitted.map(|(group, _)| group).collect())
}

/// Returns the paragraph on findings that did not fit.
fn omitted(groups: &[&Group<'_>]) -> String {
    if groups.is_empty() {
        return String::new();
    }
    let mut codes: IndexMap<&str, usize> = IndexMap::new();
    for group in groups {
        *codes.entry(group.rule.code).or_default() += 1;
    }
    let codes = codes.into_iter().take(12).map(|(name, count)| format!("{count} {}", code(name)));
    format!(
        "**Omitted for length:** {} findings ({}): {}. \
         `bundle2chart diff --format html` shows all.\n\n",
        groups.len(),
        counts(&summary::counts(groups.iter().copied())),
        join(codes, ", "),
    )
}

fn ignored(set: &ChangeSet) -> String {
    let mut text = String::new();
    for (start, ignored) in super::ignored(set) {
        let (pattern, reason) = (code(&ignored.pattern), markdown::text(&ignored.reason));
        let _ = writeln!(text, "{start} {pattern}: {reason}\n");
    }
    text
}

/// Returns a finding with its places folded.
fn fold(group: &Group<'_>, detail: Detail, shown: &mut Rendered) -> String {
    let (class, rule) = (group.class().as_str(), group.rule);
    if detail.objects == 0 {
        let text = cut_sentence(&headline(group));
        return format!("- **{class}** `{}`: {text}\n\n", rule.code);
    }
    let summary = markdown::inline_html(&shortened(&headline(group), WIDTH));
    let class =
        if group.class() == Class::Info { class.to_owned() } else { format!("<b>{class}</b>") };
    let mut text = format!(
        "<details><summary>{class} <code>{}</code>: {}</summary>\n\n",
        rule.code,
        code_in_html(&summary),
    );
    // The summary is truncated, so the fold has the whole sentence.
    let whole = headline(group);
    if whole.chars().count() > WIDTH {
        let _ = writeln!(text, "{}\n", sentence(&whole));
    }
    if let Some(todo) = rule.action() {
        let _ = writeln!(text, "→ {}\n", sentence(todo));
    }

    let objects = group.by_object();
    let mut values = detail.values;
    for (object, places) in objects.iter().take(detail.objects) {
        let from = match &object.action {
            Action::Renamed(from) => format!(" (renamed from {})", code(&from.to_string())),
            _ => String::new(),
        };
        let names = named(places, detail.places);
        let _ = writeln!(text, "- {}{from}{names}", code(&label(&object.id)));
        for place in places {
            // Reasons of findings in schemas name the values.
            if values > 0 && (place.schema.is_none() || place.finding.rule.class == Class::Info) {
                values -= 1;
                let change: *const Change = place.change;
                text.push_str(shown.entry(change).or_insert_with(|| shown_values(place.change)));
            }
        }
    }
    if objects.len() > detail.objects {
        let _ = writeln!(text, "- and {} more objects", objects.len() - detail.objects);
    }
    let count = detail.values - values;
    if count > 0 && count < group.places.len() {
        let _ = writeln!(text, "- values of {} more changes omitted", group.places.len() - count);
    }
    text.push_str("\n</details>\n\n");
    text
}

/// Returns the first `most` fields or paths of the places in an object.
fn named(places: &[&Place<'_>], most: usize) -> String {
    let names: Vec<String> = names(places).iter().map(|name| code(name)).collect();
    let shown = names.get(..most).unwrap_or(&names).join(", ");
    match names.len().saturating_sub(most) {
        _ if names.is_empty() => String::new(),
        0 => format!(": {shown}"),
        more => format!(": {shown} and {more} more"),
    }
}

/// Returns the values of a change, as an item of a list.
fn shown_values(change: &Change) -> String {
    let mut text = String::new();
    // Added and removed objects are not printed: they are in the chart.
    if change.path.steps().is_empty() {
        return text;
    }
    let (lines, more) = lines(change, LINES);
    if lines.is_empty() {
        return text;
    }
    let fence = markdown::fence(lines.iter().map(|(_, line)| line.as_str()));
    let _ = writeln!(text, "  {fence}diff");
    for (sign, line) in lines {
        let line = format!("  {}{}", sign.as_str(), shortened(&line, WIDTH));
        let _ = writeln!(text, "{}", escape::line(&line));
    }
    if more > 0 {
        let _ = writeln!(text, "   … {more} more lines");
    }
    let _ = writeln!(text, "  {fence}");
    text
}

fn plan(steps: &[Step], most: usize) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let mut text = "## Plan\n\n".to_owned();
    for (number, step) in steps.iter().enumerate() {
        let _ = writeln!(text, "{}. **{}**", number + 1, step.kind.title());
        for item in step.items.iter().take(most) {
            let _ = writeln!(text, "   - {}", sentence(&shortened(item, ITEM)));
        }
        if step.items.len() > most {
            let _ = writeln!(text, "   - and {} more", step.items.len() - most);
        }
        for command in step.commands.iter().take(most) {
            let (fence, command) = (markdown::fence([command.as_str()]), escape::line(command));
            let _ = writeln!(text, "\n   {fence}sh\n   {command}\n   {fence}");
        }
    }
    text.push('\n');
    text
}

/// Returns a sentence, truncated.
fn cut_sentence(text: &str) -> String {
    sentence(&shortened(text, WIDTH))
}

/// Returns the text, truncated to `most` characters, with the number of omitted ones.
fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let shown: String = text.chars().take(most).collect();
    format!("{shown}… {} more characters", count - most)
}

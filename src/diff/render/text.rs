//! Text format for terminals: verdict, findings that matter most, plan, all other findings.
//!
//! Each finding is written once and has a number, which the plan refers to.

use super::joined::joined;
use super::{Sign, fields, headline, lines, more_like, names, title as heading_of, totals, values};
use crate::diag::{counted, join, listed};
use crate::escape::{self, visible};
use crate::group::{Group, label};
use crate::plan::Step;
use crate::summary::Summary;
use crate::{Action, Change, ChangeSet, Class, ObjectChange};
use indexmap::IndexMap;
use std::collections::HashMap;
use std::fmt::Write as _;

/// Options of the text format.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Use ANSI colours.
    pub colour: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Show all informational changes and all lines of values.
    pub full: bool,
}

/// Maximum number of lines for findings of one rule in schemas, and elsewhere.
const ALIKE: usize = 3;
const ALIKE_ELSEWHERE: usize = 20;
/// Maximum number of fields of schemas in a line that several findings share.
const FIELDS: usize = 12;
/// Maximum number of objects and of fields per object that are named for a finding.
const NAMED: usize = 3;
/// Maximum number of objects that are named for an informational finding.
const OBJECTS: usize = 20;
/// Maximum number of items of a step of the plan.
const ITEMS: usize = 3;
/// Maximum number of characters of a step of the plan that is a paragraph, and of each of its items:
/// longer ones, such as images with digests, are on a line of their own.
const STEP: usize = 260;
const SHORT_ITEM: usize = 80;

struct Writer {
    out: String,
    style: Style,
    /// The numbers of the findings with which the values of changes are shown.
    shown: HashMap<*const Change, usize>,
}

const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

/// Renders a change set as text.
pub fn render(set: &ChangeSet, style: Style) -> String {
    let summary = Summary::of(set);
    let mut writer = Writer { out: String::new(), style, shown: HashMap::new() };
    writer.words(0, "", &heading_of(set), BOLD);
    let colour = summary.class.map_or("", colour_of);
    writer.words(0, "", &summary.verdict, colour);
    if !set.values.is_empty() {
        writer.words(0, "", &values(set), "");
    }
    if set.is_empty() {
        writer.ignored(set);
        return writer.out;
    }

    writer.words(0, "", &totals(set, &summary), "");
    writer.ignored(set);
    writer.most_important(&summary);
    writer.plan(set, &summary);
    for class in [Class::Breaking, Class::Risky] {
        writer.class(&summary, class);
    }
    writer.info(&summary);
    if style.full {
        writer.objects(set);
    }
    writer.out
}

fn colour_of(class: Class) -> &'static str {
    match class {
        Class::Breaking => RED,
        Class::Risky => YELLOW,
        Class::Info => "",
    }
}

impl Writer {
    fn paint(&self, text: &str, colour: &str) -> String {
        if self.style.colour && !colour.is_empty() {
            format!("\u{1b}[{colour}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// Writes a line that is not wrapped: names, values and commands can be searched and copied.
    fn push(&mut self, indent: usize, text: &str, colour: &str) {
        let painted = self.paint(&escape::line(text), colour);
        let _ = writeln!(self.out, "{}{painted}", " ".repeat(indent));
    }

    /// Writes text, wrapped at the width.
    fn words(&mut self, indent: usize, first: &str, text: &str, colour: &str) {
        let room = self.style.width.saturating_sub(indent).max(20);
        let mut line = first.to_owned();
        let mut width = first.chars().count();
        let margin = " ".repeat(first.chars().count().clamp(2, 4));
        for word in visible(text).split_whitespace() {
            let length = word.chars().count();
            if width + 1 + length > room && width > margin.len() {
                self.push(indent, &line, colour);
                line = margin.clone();
                width = margin.len();
            }
            if !(line.is_empty() || line.ends_with(' ')) {
                line.push(' ');
                width += 1;
            }
            line.push_str(word);
            width += length;
        }
        self.push(indent, &line, colour);
    }

    fn ignored(&mut self, set: &ChangeSet) {
        for (start, ignored) in super::ignored(set) {
            let text = format!("{start} `{}`: {}", ignored.pattern, ignored.reason);
            self.words(0, "", &text, DIM);
        }
    }

    fn heading(&mut self, text: &str, colour: &str) {
        let _ = writeln!(self.out);
        self.push(0, text, colour);
    }

    /// Writes the findings that matter most. They are complete, unless the details follow.
    fn most_important(&mut self, summary: &Summary<'_>) {
        let top = summary.top();
        if top.is_empty() {
            return;
        }
        self.heading("what matters most", BOLD);
        for (position, (_, group)) in top.iter().enumerate() {
            let (class, rule) = (group.class(), group.rule);
            let first = format!("{}. {}[{}]:", group.number, class.as_str(), rule.code);
            let finding = format!("{}{}", headline(group), more_like(summary, group));
            self.words(2, &first, &finding, colour_of(class));
            if self.style.full {
                continue;
            }

            self.places(group);
            // What to do is the same for all findings of a rule, so it is written after the last one.
            let next = top.get(position + 1).map(|(_, next)| next.rule.code);
            if next != Some(rule.code) {
                self.todo(group);
            }
        }
    }

    /// Writes the recommended action for findings of a rule.
    fn todo(&mut self, group: &Group<'_>) {
        if let Some(todo) = group.rule.action() {
            self.words(4, "→", todo, "");
        }
    }

    /// Writes the findings of a class by rule: all, or the ones that are not written above.
    fn class(&mut self, summary: &Summary<'_>, class: Class) {
        let is_above = |group: &&Group<'_>| !self.style.full && group.is_important;
        let (above, groups): (Vec<_>, Vec<_>) = summary.of_class(class).partition(is_above);
        if groups.is_empty() {
            return;
        }
        let heading = class_heading(class, summary.count(class), above.len());
        self.heading(&heading, &format!("{BOLD};{}", colour_of(class)));

        for alike in groups.chunk_by(|one, other| one.rule.code == other.rule.code) {
            if self.style.full {
                for group in alike {
                    let first = format!("{}. {}:", group.number, group.rule.code);
                    self.words(2, &first, &headline(group), colour_of(class));
                    self.all_places(group);
                }
            } else {
                self.alike(alike, colour_of(class));
            }

            // Written above if a finding of the rule is there.
            let is_above = |code| summary.top().iter().any(|(_, top)| top.rule.code == code);
            if let Some(group) = alike.first()
                && (self.style.full || !is_above(group.rule.code))
            {
                self.todo(group);
            }
        }
    }

    /// Writes findings of one rule, several in a line where they differ in a field only.
    fn alike(&mut self, alike: &[&Group<'_>], colour: &str) {
        let is_schema = alike.iter().all(|group| group.is_schema());
        let lines = joined(alike, if is_schema { FIELDS } else { OBJECTS });
        let most = if is_schema { ALIKE } else { ALIKE_ELSEWHERE };
        let most = if lines.len() > most + 1 { most } else { lines.len() };
        let (shown, omitted) = lines.split_at(most);
        for line in shown {
            let first = format!("{}. {}:", ranges(line.numbers.clone()), line.group.rule.code);
            let extent = line.group.extent();
            self.words(2, &first, &format!("{} ({extent})", line.reason), colour);
            // A line of several findings names their fields.
            if line.numbers.len() == 1 {
                self.places(&line.group);
            }
        }

        let omitted: Vec<usize> =
            omitted.iter().flat_map(|line| line.numbers.iter().copied()).collect();
        if let Some(group) = alike.first().filter(|_| !omitted.is_empty()) {
            let (count, code) = (omitted.len(), group.rule.code);
            let text = format!("… and {count} more {code} ({}; -v shows all)", ranges(omitted));
            self.push(4, &text, DIM);
        }
    }

    /// Writes all places of a finding. Values are written once, with the first finding of a change: a
    /// list of arguments is one change, and may have a finding for each argument.
    fn all_places(&mut self, group: &Group<'_>) {
        for (object, places) in group.by_object() {
            self.words(4, "", &title(object), BOLD);
            for place in places {
                let path = place.change.path.to_string();
                self.push(4, &visible(&path), DIM);
                match *self.shown.entry(place.change).or_insert(group.number) {
                    first if first == group.number => self.values(place.change),
                    first => self.push(4, &format!("values: with {first}"), DIM),
                }
            }
        }
    }

    /// Writes the first places of a finding.
    fn places(&mut self, group: &Group<'_>) {
        if group.places.len() == 1 {
            return;
        }

        let objects = group.by_object();
        let named = match objects.as_slice() {
            [(_, places)] => listed(names(places), NAMED),
            objects => {
                let objects = objects.iter().map(|(object, places)| {
                    let places = match fields(places).len() {
                        0 => places.len(),
                        fields => fields,
                    };
                    match places {
                        1 => label(&object.id),
                        more => format!("{} ({more})", label(&object.id)),
                    }
                });
                listed(objects, NAMED)
            }
        };
        if !named.is_empty() {
            self.words(4, "", &named, DIM);
        }
    }

    /// Writes the values of a change.
    fn values(&mut self, change: &Change) {
        for (sign, line) in lines(change, usize::MAX).0 {
            let colour = match sign {
                Sign::Old => RED,
                Sign::New => GREEN,
                Sign::Both => DIM,
            };
            self.push(4, &format!("{} {line}", sign.as_str()), colour);
        }
    }

    /// Writes informational findings: each one outside of metadata and schemas, the others by rule.
    fn info(&mut self, summary: &Summary<'_>) {
        if self.style.full {
            self.class(summary, Class::Info);
            return;
        }
        let groups: Vec<&Group<'_>> = summary.of_class(Class::Info).collect();
        if groups.is_empty() {
            return;
        }
        self.heading(&class_heading(Class::Info, summary.count(Class::Info), 0), BOLD);
        let (named, by_rule): (Vec<&Group<'_>>, Vec<&Group<'_>>) =
            groups.into_iter().partition(|group| !group.rule.counted && !group.is_schema());
        for alike in named.chunk_by(|one, other| one.rule.code == other.rule.code) {
            self.named_info(alike);
        }

        for alike in by_rule.chunk_by(|one, other| one.rule.code == other.rule.code) {
            let Some(group) = alike.first() else { continue };
            let changes: usize = alike.iter().map(|group| group.places.len()).sum();
            let reasons = || joined(alike, NAMED).into_iter().map(|line| line.reason);
            let named = match group.rule.counted {
                true => String::new(),
                false => format!(": {}", listed(reasons(), NAMED)),
            };
            let code = group.rule.code;
            let changes = counted(changes, "change");
            self.words(2, &format!("{code}:"), &format!("{changes}{named}"), "");
        }
    }

    /// Writes informational findings of one rule: a paragraph for each set of objects.
    fn named_info(&mut self, alike: &[&Group<'_>]) {
        let mut paragraphs: IndexMap<String, IndexMap<String, Vec<String>>> = IndexMap::new();
        for line in joined(alike, OBJECTS) {
            let objects = line.group.by_object();
            let labels = objects.iter().map(|(object, _)| label(&object.id));
            // The container is written once.
            let (part, rest) = match line.reason.split_once(": ") {
                Some((part, rest)) if part.starts_with("container ") => {
                    (format!("{part}: "), rest.to_owned())
                }
                _ => (String::new(), line.reason),
            };
            let parts = paragraphs.entry(listed(labels, OBJECTS)).or_default();
            parts.entry(part).or_default().push(rest);
        }

        let Some(code) = alike.first().map(|group| group.rule.code) else { return };
        let count = paragraphs.len();
        let most = if count > OBJECTS + 1 { OBJECTS } else { count };
        for (labels, parts) in paragraphs.into_iter().take(most) {
            let part = |(part, reasons): (_, Vec<_>)| format!("{part}{}", reasons.join("; "));
            let text = format!("{} (in {labels})", join(parts.into_iter().map(part), "; "));
            self.words(2, &format!("{code}:"), &text, "");
        }
        if count > most {
            let text = format!("… and {} more {code} (-v shows all)", count - most);
            self.push(4, &text, DIM);
        }
    }

    /// Writes the objects with their kind of change.
    fn objects(&mut self, set: &ChangeSet) {
        self.heading("objects", BOLD);
        for object in &set.objects {
            let classes = Class::ALL.into_iter().filter(|class| object.count(*class) > 0);
            let parts = classes.map(|class| format!("{} {}", object.count(class), class.as_str()));
            self.words(2, "", &format!("{}: {}", title(object), join(parts, ", ")), "");
        }
    }

    fn plan(&mut self, set: &ChangeSet, summary: &Summary<'_>) {
        if set.plan.is_empty() {
            return;
        }
        self.heading("plan", BOLD);
        for (number, step) in set.plan.iter().enumerate() {
            let first = format!("{}.", number + 1);
            match self.paragraph(step, summary) {
                Some(text) => self.words(2, &first, &format!("{}: {text}", step.kind.title()), ""),
                None => {
                    self.words(2, &first, step.kind.title(), "");
                    self.items(step);
                }
            }
            for command in &step.commands {
                // Not wrapped, so that it can be copied.
                self.push(5, &format!("$ {command}"), "");
            }
        }
    }

    /// Returns the items of a step as the end of a sentence, if it is short: findings by their
    /// numbers, other items by name.
    fn paragraph(&self, step: &Step, summary: &Summary<'_>) -> Option<String> {
        if self.style.full {
            return None;
        }
        if !step.findings.is_empty() {
            let group = |index: &usize| summary.groups.get(*index);
            let groups = step.findings.iter().filter_map(group);
            let numbers: Vec<usize> = groups.map(|group| group.number).collect();
            let noun = if numbers.len() == 1 { "finding" } else { "findings" };
            return Some(format!("{noun} {}", ranges(numbers)));
        }
        let shown: Vec<&str> = step.items.iter().take(ITEMS).map(String::as_str).collect();
        if shown.iter().any(|item| item.chars().count() > SHORT_ITEM) {
            return None;
        }
        let more = match step.items.len() - shown.len() {
            0 => String::new(),
            more => format!("; {more} more (-v shows all)"),
        };
        let text = format!("{}{more}", shown.join("; "));
        (step.kind.title().chars().count() + text.chars().count() <= STEP).then_some(text)
    }

    /// Writes the items of a step as a list.
    fn items(&mut self, step: &Step) {
        let most = if self.style.full { usize::MAX } else { ITEMS };
        for item in step.items.iter().take(most) {
            self.words(5, "-", item, "");
        }
        if step.items.len() > most {
            let more = step.items.len() - most;
            self.push(5, &format!("… {more} more (-v shows all)"), DIM);
        }
    }
}

/// Returns the heading of a class: its name and the number of findings.
fn class_heading(class: Class, count: usize, above: usize) -> String {
    let above = match above {
        0 => String::new(),
        above => format!(", {above} of them above"),
    };
    format!("{} ({count}{above})", class.as_str())
}

/// Returns numbers with ranges: `1, 2 and 6–14`.
fn ranges(mut numbers: Vec<usize>) -> String {
    numbers.sort_unstable();
    let mut texts: Vec<String> = Vec::new();
    for run in numbers.chunk_by(|one, next| one + 1 == *next) {
        match run {
            [first, .., last] if first + 1 < *last => texts.push(format!("{first}–{last}")),
            run => texts.extend(run.iter().map(usize::to_string)),
        }
    }
    listed(&texts, usize::MAX)
}

fn title(object: &ObjectChange) -> String {
    let mark = match &object.action {
        Action::Added => "+ ".to_owned(),
        Action::Removed => "- ".to_owned(),
        Action::Renamed(from) => format!("> {from} → "),
        Action::Changed => "~ ".to_owned(),
        Action::Affected => "! ".to_owned(),
    };
    format!("{mark}{}", object.id)
}

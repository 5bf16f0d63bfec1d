//! Text format for terminals: verdict, findings that matter most, plan, all findings.

use super::{Sign, fields, headline, lines, more_like, totals, values};
use crate::diff::group::{Group, Place, label};
use crate::diff::path::Path;
use crate::diff::summary::Summary;
use crate::diff::{Action, Change, ChangeSet, Class, Finding, ObjectChange, Rule};
use crate::escape::{self, visible};
use indexmap::IndexMap;
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
    /// Truncate values and paths at the width; sentences and names are never truncated.
    pub cut: bool,
}

/// Maximum number of findings of one rule that are shown.
const ALIKE: usize = 3;
/// Maximum number of objects and of fields per object that are named for a finding.
const NAMED: usize = 3;
/// Maximum number of objects that are named for an informational finding.
const OBJECTS: usize = 20;
/// Maximum number of items of a step of the plan.
const ITEMS: usize = 3;
/// Maximum number of characters of a finding outside of the details.
const HEADLINE: usize = 200;

struct Writer {
    out: String,
    style: Style,
}

const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

/// Renders a change set as text.
pub fn render(set: &ChangeSet, style: Style) -> String {
    let summary = Summary::of(set);
    let mut writer = Writer { out: String::new(), style };
    writer.words(0, "", &format!("{} → {}", set.old, set.new), BOLD);
    writer.notices(set);
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
    writer.plan(set);
    for class in [Class::Breaking, Class::Risky] {
        writer.class(set, &summary, class);
    }
    writer.info(set, &summary);
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

    /// Returns the columns available for a value or a path.
    fn room(&self, indent: usize) -> usize {
        if self.style.cut { self.style.width.saturating_sub(indent).max(20) } else { usize::MAX }
    }

    /// Writes a line of a value, truncated to the width.
    fn line(&mut self, indent: usize, text: &str, colour: &str) {
        let text = cut(&visible(text), self.room(indent));
        self.push(indent, &text, colour);
    }

    /// Writes a line without truncation.
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

    fn notices(&mut self, set: &ChangeSet) {
        for Finding { rule, reason } in &set.notices {
            let class = rule.class.as_str();
            let text = format!("{class}: {}: {reason}. {}", rule.code, rule.todo);
            self.words(0, "", &text, colour_of(rule.class));
        }
    }

    fn ignored(&mut self, set: &ChangeSet) {
        for ignored in set.ignored.iter().filter(|ignored| ignored.changes > 0) {
            let text = format!(
                "{} changes ignored by `{}`: {}",
                ignored.changes, ignored.pattern, ignored.reason
            );
            self.words(0, "", &text, DIM);
        }
    }

    fn heading(&mut self, text: &str, colour: &str) {
        let _ = writeln!(self.out);
        self.line(0, text, colour);
    }

    /// Returns a finding for the first screen.
    fn brief(&self, text: &str) -> String {
        if self.style.full { text.to_owned() } else { cut(text, HEADLINE) }
    }

    fn most_important(&mut self, summary: &Summary<'_>) {
        if summary.most_important.is_empty() {
            return;
        }
        self.heading("what matters most", BOLD);
        for (number, (index, group)) in summary.top().enumerate() {
            let class = group.class().as_str();
            let more = more_like(summary, index, group);
            let extent = group.extent();
            let room = HEADLINE.saturating_sub(extent.chars().count());
            let reason = if self.style.full { group.reason } else { &cut(group.reason, room) };
            let text = format!("{class}: {reason} ({extent}){more}");
            self.words(2, &format!("{}.", number + 1), &text, colour_of(group.class()));
        }
    }

    /// Writes the findings of a class by rule.
    fn class(&mut self, set: &ChangeSet, summary: &Summary<'_>, class: Class) {
        let groups: Vec<&Group<'_>> = summary.of_class(class).map(|(_, group)| group).collect();
        if groups.is_empty() {
            return;
        }
        self.heading(&counted(set, summary, class), &format!("{BOLD};{}", colour_of(class)));
        for alike in groups.chunk_by(|one, other| one.rule.code == other.rule.code) {
            let most =
                if self.style.full || alike.len() <= ALIKE + 1 { alike.len() } else { ALIKE };
            let (shown, omitted) = alike.split_at(most);
            for group in shown {
                let first = format!("{}:", group.rule.code);
                self.words(2, &first, &headline(group), colour_of(class));
                self.places(group);
            }

            let Some(rule) = alike.first().map(|group| group.rule) else { continue };
            if !omitted.is_empty() {
                let text = format!("… and {} more {} (-v shows all)", omitted.len(), rule.code);
                self.line(4, &text, DIM);
            }
            if class != Class::Info && rule.todo != "Nothing." {
                self.words(4, "→", rule.todo, "");
            }
        }
    }

    /// Writes the places of a finding: all with their values, or the first ones.
    fn places(&mut self, group: &Group<'_>) {
        if self.style.full {
            for (object, places) in group.by_object() {
                self.words(4, "", &title(object), BOLD);
                places.iter().for_each(|place| self.change(place.change));
            }
            return;
        }
        if let [place] = group.places.as_slice() {
            if let Some(path) = unnamed_path(place) {
                self.path(path);
            }
            return;
        }

        let objects = group.by_object();
        let named = match objects.as_slice() {
            [(_, places)] => self.named(places).trim_start_matches(": ").to_owned(),
            objects => {
                let counted = objects.iter().map(|(object, places)| {
                    format!("{} ({})", label(&object.id), fields(places).len().max(places.len()))
                });
                crate::diag::listed(&counted.collect::<Vec<_>>(), NAMED)
            }
        };
        self.words(4, "", &named, DIM);
    }

    /// Returns the first fields or paths of the places in one object.
    fn named(&self, places: &[&Place<'_>]) -> String {
        let path = |place: &&Place<'_>| place.change.path.to_string();
        let names: Vec<String> = match fields(places) {
            fields if fields.is_empty() => places.iter().map(path).collect(),
            fields => fields,
        };
        let names: Vec<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
        match names.len() {
            0 => String::new(),
            _ => format!(": {}", crate::diag::listed(&names, NAMED)),
        }
    }

    fn path(&mut self, path: &Path) {
        self.line(4, &middle(&path.to_string(), self.room(4)), DIM);
    }

    /// Writes the path and the values of a change.
    fn change(&mut self, change: &Change) {
        self.path(&change.path);
        for (sign, line) in lines(change, usize::MAX).0 {
            let colour = match sign {
                Sign::Old => RED,
                Sign::New => GREEN,
                Sign::Both => DIM,
            };
            self.line(4, &format!("{} {line}", sign.as_str()), colour);
        }
    }

    /// Writes informational findings: each one outside of metadata and schemas, the others by rule.
    fn info(&mut self, set: &ChangeSet, summary: &Summary<'_>) {
        if self.style.full {
            self.class(set, summary, Class::Info);
            return;
        }
        let groups: Vec<&Group<'_>> =
            summary.of_class(Class::Info).map(|(_, group)| group).collect();
        if groups.is_empty() {
            return;
        }
        self.heading(&counted(set, summary, Class::Info), BOLD);
        let (named, by_rule): (Vec<&Group<'_>>, Vec<&Group<'_>>) =
            groups.into_iter().partition(|group| group.is_named() && !group.is_schema());
        for alike in named.chunk_by(|one, other| one.rule.code == other.rule.code) {
            self.named_info(alike);
        }

        for alike in by_rule.chunk_by(|one, other| one.rule.code == other.rule.code) {
            let Some(group) = alike.first() else { continue };
            let changes: usize = alike.iter().map(|group| group.places.len()).sum();
            let reasons: Vec<String> = match group.is_named() {
                true => alike.iter().map(|group| group.reason.to_owned()).collect(),
                false => Vec::new(),
            };
            let named = match reasons.is_empty() {
                true => String::new(),
                false => format!(": {}", crate::diag::listed(&reasons, NAMED)),
            };
            let code = group.rule.code;
            let noun = if changes == 1 { "change" } else { "changes" };
            self.words(2, &format!("{code}:"), &format!("{changes} {noun}{named}"), "");
        }
    }

    /// Writes informational findings of one rule: a line for each, or for each kind of object where
    /// there are many.
    fn named_info(&mut self, alike: &[&Group<'_>]) {
        let first = |rule: &Rule| format!("{}:", rule.code);
        let mut kinds: IndexMap<&str, Vec<(&str, String)>> = IndexMap::new();
        for group in alike {
            let objects = group.by_object();
            let labels: Vec<String> = objects.iter().map(|(object, _)| label(&object.id)).collect();
            let labels = crate::diag::listed(&labels, OBJECTS);
            if alike.len() <= ALIKE {
                self.words(2, &first(group.rule), &format!("{} (in {labels})", group.reason), "");
                if let Some(path) = group.places.first().and_then(unnamed_path) {
                    self.path(path);
                }
                continue;
            }
            let kind = objects.first().map_or("", |(object, _)| object.id.kind.as_str());
            kinds.entry(kind).or_default().push((group.reason, labels));
        }

        // Many findings of one rule are listed per kind of object. Objects are named once if all
        // reasons are about the same ones.
        for (kind, reasons) in kinds {
            let Some(group) = alike.first() else { return };
            let same = reasons
                .iter()
                .all(|(_, labels)| Some(labels) == reasons.first().map(|(_, first)| first));
            let all: Vec<String> = match same {
                true => reasons.iter().map(|(reason, _)| (*reason).to_owned()).collect(),
                false => reasons
                    .iter()
                    .map(|(reason, labels)| format!("{reason} (in {labels})"))
                    .collect(),
            };

            let text = match reasons.first() {
                Some((_, labels)) if same => {
                    format!("{} in {labels}: {}", all.len(), all.join("; "))
                }
                _ => format!("{} in {kind}: {}", all.len(), all.join("; ")),
            };
            self.words(2, &first(group.rule), &text, "");
        }
    }

    /// Writes the objects with their kind of change.
    fn objects(&mut self, set: &ChangeSet) {
        self.heading("objects", BOLD);
        for object in &set.objects {
            let parts: Vec<String> = Class::ALL
                .into_iter()
                .filter(|class| object.count(*class) > 0)
                .map(|class| format!("{} {}", object.count(class), class.as_str()))
                .collect();
            self.words(2, "", &format!("{}: {}", title(object), parts.join(", ")), "");
        }
    }

    fn plan(&mut self, set: &ChangeSet) {
        if set.plan.is_empty() {
            return;
        }
        let _ = writeln!(self.out);
        self.line(0, "plan", BOLD);
        for (number, step) in set.plan.iter().enumerate() {
            self.words(2, &format!("{}.", number + 1), step.title, BOLD);
            let most = if self.style.full { usize::MAX } else { ITEMS };
            for item in step.items.iter().take(most) {
                self.words(5, "-", &self.brief(item), "");
            }
            if step.items.len() > most {
                let more = step.items.len() - most;
                self.line(5, &format!("… {more} more (-v shows all)"), DIM);
            }
            for command in &step.commands {
                // Not wrapped, so that it can be copied.
                self.push(5, &format!("$ {command}"), "");
            }
        }
    }
}

/// Returns the heading of a class: its name and the number of findings.
fn counted(set: &ChangeSet, summary: &Summary<'_>, class: Class) -> String {
    let above = set.notices.iter().filter(|notice| notice.rule.class == class).count();
    let above = if above == 0 { String::new() } else { format!(", {above} of them above") };
    format!("{} ({}{above})", class.as_str(), summary.count(class))
}

/// Returns the path of a change if its reason does not name the field.
fn unnamed_path<'p>(place: &'p Place<'_>) -> Option<&'p Path> {
    let path = &place.change.path;
    let last = path.steps().last()?.label();
    (place.schema.is_none() && !place.finding.reason.contains(&last)).then_some(path)
}

fn title(object: &ObjectChange) -> String {
    let mark = match &object.action {
        Action::Added => "+ ".to_owned(),
        Action::Removed => "- ".to_owned(),
        Action::Renamed(from) => format!("> {from} → "),
        Action::Changed => "~ ".to_owned(),
    };
    format!("{mark}{}", object.id)
}

/// Returns the text, truncated at the end to `room` characters.
fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(room.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Returns the text, truncated in the middle to `room` characters.
fn middle(text: &str, room: usize) -> String {
    let count = text.chars().count();
    if count <= room {
        return text.to_owned();
    }
    let tail = room * 2 / 3;
    let head: String = text.chars().take(room.saturating_sub(tail + 1)).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{head}…{end}")
}

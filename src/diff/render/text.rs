//! Text format for terminals: counts, breaking, risky and informational changes, plan.

use super::{Sign, counts, lines, objects, tallied};
use crate::diff::{Action, Change, ChangeSet, Class, Finding, ObjectChange};
use crate::escape::{self, visible};
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

/// Maximum number of lines of a value without `full`.
const LINES: usize = 8;
/// Maximum number of changes of one object and code that are shown with their values.
const ALIKE: usize = 3;
/// Maximum number of further changes that are shown without values.
const NAMED: usize = 5;
/// Number of changes from which a summary by code is shown.
const MANY: usize = 10;

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
    let mut writer = Writer { out: String::new(), style };
    writer.words(0, "", &format!("{} → {}", set.old, set.new), BOLD);
    writer.notices(set);
    if set.is_empty() {
        let text = format!("no differences in {} objects", set.unchanged);
        writer.words(0, "", &text, "");
        writer.ignored(set);
        return writer.out;
    }
    writer.words(0, "", &format!("{} in {}", counts(set), objects(set)), "");
    writer.ignored(set);
    if set.count(Class::Breaking) + set.count(Class::Risky) > MANY {
        writer.codes(set);
    }
    for class in [Class::Breaking, Class::Risky] {
        writer.class(set, class);
    }
    writer.info(set);
    writer.plan(set);
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

    fn class(&mut self, set: &ChangeSet, class: Class) {
        if set.count(class) == 0 {
            return;
        }
        let heading = format!("{} ({})", class.as_str(), set.count(class));
        let _ = writeln!(self.out);
        self.line(0, &heading, &format!("{BOLD};{}", colour_of(class)));
        for object in set.objects.iter().filter(|object| object.count(class) > 0) {
            self.words(2, "", &title(object), BOLD);
            let mut told: Vec<&str> = Vec::new();
            let changes: Vec<&Change> =
                object.changes.iter().filter(|change| change.class() == class).collect();
            let mut codes: Vec<&str> = Vec::new();
            for change in &changes {
                if !codes.contains(&change.code()) {
                    codes.push(change.code());
                }
            }

            for code in codes {
                let alike: Vec<&&Change> = changes.iter().filter(|c| c.code() == code).collect();
                let most =
                    if self.style.full || alike.len() <= ALIKE + 1 { usize::MAX } else { ALIKE };
                for change in alike.iter().take(most) {
                    self.change(change, &mut told);
                }

                self.alike(code, alike.get(most..).unwrap_or_default());
            }
        }
    }

    /// Writes the reasons of further changes of one code, without values.
    fn alike(&mut self, code: &str, more: &[&&Change]) {
        if more.is_empty() {
            return;
        }
        self.line(4, &format!("{} more {code}:", more.len()), "");
        for change in more.iter().take(NAMED) {
            let reason = change.findings.first().map_or("", |finding| finding.reason.as_str());
            self.words(6, "", reason, "");
        }
        if more.len() > NAMED {
            let text = format!("… and {} more (-v shows all)", more.len() - NAMED);
            self.line(6, &text, DIM);
        }
    }

    /// Writes the summary of breaking and risky changes by code.
    fn codes(&mut self, set: &ChangeSet) {
        let codes = crate::diff::codes(set);
        for ((class, code), count) in codes.iter().filter(|((class, _), _)| *class != Class::Info) {
            let objects = set.objects.iter().filter(|object| {
                object.changes.iter().any(|c| c.class() == *class && c.code() == *code)
            });
            let title = crate::diff::rules::all().find(|rule| rule.code == *code);
            let title = title.map_or("", |rule| rule.title);
            let objects = objects.count();
            let text = format!(
                "{} {count} × {code} ({objects} object{}): {title}",
                class.as_str(),
                if objects == 1 { "" } else { "s" },
            );
            self.words(2, "", &text, colour_of(*class));
        }
    }

    fn change(&mut self, change: &Change, told: &mut Vec<&'static str>) {
        for finding in &change.findings {
            let first = format!("{}:", finding.rule.code);
            self.words(4, &first, &finding.reason, colour_of(finding.rule.class));
        }

        if !change.path.steps().is_empty() {
            self.line(6, &middle(&change.path.to_string(), self.room(6)), DIM);
            let (lines, more) = lines(change, if self.style.full { usize::MAX } else { LINES });
            for (sign, line) in lines {
                let colour = match sign {
                    Sign::Old => RED,
                    Sign::New => GREEN,
                    Sign::Both => DIM,
                };
                self.line(6, &format!("{} {line}", sign.as_str()), colour);
            }
            if more > 0 {
                self.line(6, &format!("… {more} more lines (-v shows all)"), DIM);
            }
        }

        for finding in &change.findings {
            let rule = finding.rule;
            if rule.class != Class::Info && rule.todo != "Nothing." && !told.contains(&rule.code) {
                told.push(rule.code);
                self.words(6, "→", rule.todo, "");
            }
        }
    }

    fn info(&mut self, set: &ChangeSet) {
        if set.count(Class::Info) == 0 {
            return;
        }
        let _ = writeln!(self.out);
        self.line(0, &format!("info ({})", set.count(Class::Info)), BOLD);
        for object in set.objects.iter().filter(|object| object.count(Class::Info) > 0) {
            let changes = object.changes.iter().filter(|change| change.class() == Class::Info);
            if self.style.full {
                self.words(2, "", &title(object), BOLD);
                let mut told = Vec::new();
                for change in changes {
                    self.change(change, &mut told);
                }
            } else {
                self.words(2, "", &format!("{}: {}", title(object), tallied(changes)), "");
            }
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
            let most = if self.style.full { usize::MAX } else { LINES };
            for item in step.items.iter().take(most) {
                self.words(5, "-", item, "");
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

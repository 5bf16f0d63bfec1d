//! Markdown format for pull requests: counts, one fold per object, plan; limited to the size of a
//! comment.

use super::{counts, lines, objects, tallied};
use crate::diff::plan::Step;
use crate::diff::{Action, Change, ChangeSet, Class, Finding, ObjectChange};
use crate::escape::markdown::{code, sentence};
use crate::escape::{self, markdown};
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

/// Level of detail of an object: the number of breaking and risky changes with values (`shown`) and
/// without (`named`), and the number of informational changes.
#[derive(Clone, Copy)]
struct Detail {
    shown: usize,
    named: usize,
    info: usize,
}

/// Levels in ascending order. Informational changes come last, after all breaking and risky changes
/// of all objects.
const DETAILS: [Detail; 5] = [
    Detail { shown: 0, named: 0, info: 0 },
    Detail { shown: 1, named: 5, info: 0 },
    Detail { shown: 3, named: 20, info: 0 },
    Detail { shown: usize::MAX, named: 0, info: 0 },
    Detail { shown: usize::MAX, named: 0, info: 25 },
];

/// Renders a change set as Markdown of at most `limit` bytes.
pub fn render(set: &ChangeSet, limit: usize) -> String {
    let mut head = format!("# {} → {}\n\n", markdown::text(&set.old), markdown::text(&set.new));
    for Finding { rule, reason } in &set.notices {
        let class = rule.class.as_str();
        let (reason, todo) = (sentence(reason), sentence(rule.todo));
        let _ = writeln!(head, "> **{class}** `{}`: {reason}. {todo}\n", rule.code);
    }
    if set.is_empty() {
        let _ = writeln!(head, "No differences in {} objects.", set.unchanged);
        head.push_str(&ignored(set));
        return head;
    }
    let _ = writeln!(head, "**{}** in {}.\n", counts(set), objects(set));
    head.push_str(&ignored(set));
    head.push_str(&worst(set));
    let plan = [30, 10, 5, 3]
        .map(|items| plan(&set.plan, items))
        .into_iter()
        .reduce(|longer, shorter| if longer.len() > limit / 3 { shorter } else { longer })
        .unwrap_or_default();
    let title = "## Changes\n\n";
    // For the paragraph on omitted objects and their names.
    let reserve = 1_500;
    let room = limit.saturating_sub(head.len() + plan.len() + title.len() + reserve);
    let (texts, left) = fitting(&set.objects, room);
    let left: Vec<&ObjectChange> = set.objects.iter().skip(left).collect();
    format!("{head}{title}{}{}{plan}", texts.concat(), left_out(&left))
}

/// Returns the folds that fit into `room` bytes and the number of their objects. As many objects as
/// possible get a short fold, then the first ones, which are the worst, get more details.
fn fitting(objects: &[ObjectChange], room: usize) -> (Vec<String>, usize) {
    let mut texts: Vec<String> = Vec::new();
    let mut used = 0;
    for object in objects {
        let text = fold(object, DETAILS[0]);
        if used + text.len() > room {
            break;
        }
        used += text.len();
        texts.push(text);
    }
    for detail in &DETAILS[1..] {
        for (object, text) in objects.iter().zip(&mut texts) {
            // Skip folds that cannot fit.
            if used >= room || detail.shown.min(object.changes.len()) > room {
                continue;
            }
            let longer = fold(object, *detail);
            let total = used - text.len() + longer.len();
            if longer.len() > text.len() && total <= room {
                used = total;
                *text = longer;
            }
        }
    }
    let count = texts.len();
    (texts, count)
}

fn left_out(left: &[&ObjectChange]) -> String {
    if left.is_empty() {
        return String::new();
    }
    let count = |class| left.iter().map(|object| object.count(class)).sum::<usize>();
    let names: Vec<String> = left.iter().take(12).map(|o| code(&o.id.to_string())).collect();
    let more = match left.len().saturating_sub(names.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "**Omitted for length:** {} object{} with {} breaking, {} risky and {} info changes: {}{more}. \
         `bundle2chart diff --format html` shows all.\n\n",
        left.len(),
        if left.len() == 1 { "" } else { "s" },
        count(Class::Breaking),
        count(Class::Risky),
        count(Class::Info),
        names.join(", "),
    )
}

/// Returns the table of breaking and risky codes with their counts.
fn worst(set: &ChangeSet) -> String {
    let mut text = String::new();
    for class in [Class::Breaking, Class::Risky] {
        for ((found, name), count) in crate::diff::codes(set) {
            if found == class
                && let Some(rule) = crate::diff::rules::all().find(|rule| rule.code == name)
            {
                let _ =
                    writeln!(text, "| {} | {count} | `{name}` | {} |", class.as_str(), rule.title);
            }
        }
    }
    if text.is_empty() {
        return text;
    }
    format!("| class | changes | code | description |\n|---|---|---|---|\n{text}\n")
}

fn ignored(set: &ChangeSet) -> String {
    let mut text = String::new();
    for ignored in set.ignored.iter().filter(|ignored| ignored.changes > 0) {
        let _ = writeln!(
            text,
            "{} changes ignored by {}: {}\n",
            ignored.changes,
            code(&ignored.pattern),
            markdown::text(&ignored.reason)
        );
    }
    text
}

fn fold(object: &ObjectChange, detail: Detail) -> String {
    let parts: Vec<String> = Class::ALL
        .into_iter()
        .filter(|class| object.count(*class) > 0)
        .map(|class| format!("{} {}", object.count(class), class.as_str()))
        .collect();
    let parts = parts.join(", ");
    let parts = if object.class() == Class::Info { parts } else { format!("<b>{parts}</b>") };
    let from = match &object.action {
        Action::Renamed(from) => format!(" from {}", markdown::inline_html(&from.to_string())),
        _ => String::new(),
    };
    let mut text = format!(
        "<details><summary>{} {}{from}: {parts}</summary>\n\n",
        object.action.as_str(),
        markdown::inline_html(&object.id.to_string()),
    );

    let (serious, rest): (Vec<&Change>, Vec<&Change>) =
        object.changes.iter().partition(|change| change.class() != Class::Info);
    let mut told = Vec::new();
    let mut codes: Vec<&str> = Vec::new();
    for code in serious.iter().map(|change| change.code()) {
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    for code in codes {
        let alike: Vec<&Change> = serious.iter().filter(|c| c.code() == code).copied().collect();
        let (shown, more) = alike.split_at(detail.shown.min(alike.len()));
        shown.iter().for_each(|change| item(change, &mut told, &mut text));
        let word = if shown.is_empty() { "" } else { " more" };
        more_alike(&format!("`{code}`: {}{word}", more.len()), more, detail.named, &mut text);
    }

    let (shown, more) = rest.split_at(detail.info.min(rest.len()));
    shown.iter().for_each(|change| item(change, &mut told, &mut text));
    if !more.is_empty() {
        let count = more.len();
        let what = tallied(more.iter().copied());
        let more = if shown.is_empty() { "" } else { " more" };
        let _ = writeln!(text, "- {count}{more} informational: {what}");
    }
    text.push_str("\n</details>\n\n");
    text
}

/// Appends the first reasons of changes that are shown without values.
fn more_alike(title: &str, more: &[&Change], named: usize, text: &mut String) {
    let Some(first) = more.first() else { return };
    let class = first.class().as_str();
    let _ = writeln!(text, "- **{class}** {title}, values omitted");
    for change in more.iter().take(named) {
        let reason = change.findings.first().map_or("", |finding| finding.reason.as_str());
        let _ = writeln!(text, "  - {}", cut(&sentence(reason)));
    }
    if named > 0 && more.len() > named {
        let _ = writeln!(text, "  - and {} more", more.len() - named);
    }
}

fn item(change: &Change, told: &mut Vec<&'static str>, text: &mut String) {
    for (index, finding) in change.findings.iter().enumerate() {
        let mark = if index == 0 { "-" } else { "  and" };
        let class = finding.rule.class.as_str();
        let class = if finding.rule.class == Class::Info {
            class.to_owned()
        } else {
            format!("**{class}**")
        };
        let _ =
            writeln!(text, "{mark} {class} `{}`: {}", finding.rule.code, sentence(&finding.reason));
    }
    if !change.path.steps().is_empty() {
        let _ = writeln!(text, "  at {}", code(&change.path.to_string()));
    }
    for finding in &change.findings {
        let rule = finding.rule;
        if rule.class != Class::Info && rule.todo != "Nothing." && !told.contains(&rule.code) {
            told.push(rule.code);
            let _ = writeln!(text, "  → {}", sentence(rule.todo));
        }
    }
    // Added and removed objects are not printed: they are in the chart.
    let whole = change.path.steps().is_empty();
    let (lines, more) = if whole { (Vec::new(), 0) } else { lines(change, LINES) };
    if !lines.is_empty() {
        let fence = markdown::fence(lines.iter().map(|(_, line)| line.as_str()));
        let _ = writeln!(text, "  {fence}diff");
        for (sign, line) in lines {
            let line = format!("  {}{}", sign.as_str(), cut(&line));
            let _ = writeln!(text, "{}", escape::line(&line));
        }
        if more > 0 {
            let _ = writeln!(text, "   … {more} more lines");
        }
        let _ = writeln!(text, "  {fence}");
    }
}

fn plan(steps: &[Step], most: usize) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let mut text = "## Plan\n\n".to_owned();
    for (number, step) in steps.iter().enumerate() {
        let _ = writeln!(text, "{}. **{}**", number + 1, step.title);
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
    text
}

fn cut(line: &str) -> String {
    shortened(line, WIDTH)
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

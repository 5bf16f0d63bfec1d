//! For a pull request: counts first, a fold for each object, a plan; within what a comment may hold.

use super::{counts, lines, objects, tallied, visible};
use crate::diff::plan::Step;
use crate::diff::{Action, Change, ChangeSet, Class, ObjectChange};
use std::fmt::Write as _;

/// Bytes that a report may have: comments of GitHub end at 65,536 characters, of which the tool that
/// posts it needs a few.
pub const LIMIT: usize = 60_000;

/// Lines of a value.
const LINES: usize = 30;
/// Bytes of a line of a value.
const WIDTH: usize = 300;
/// Items of a step of the plan.
const ITEMS: usize = 30;
/// Changes for information that are shown of one object.
const INFO: usize = 25;

/// The change set as Markdown of at most `limit` bytes (somewhat more when the plan alone is longer).
pub fn render(set: &ChangeSet, limit: usize) -> String {
    let mut head = format!("# {} → {}\n\n", plain(&set.old), plain(&set.new));
    if set.is_empty() {
        let _ = writeln!(head, "No difference in {} objects.", set.unchanged);
        head.push_str(&ignored(set));
        return head;
    }
    let _ = writeln!(head, "**{}** in {}.\n", counts(set), objects(set));
    head.push_str(&ignored(set));
    head.push_str(&worst(set));
    let plan = plan(&set.plan);
    let mut body = "## Changes\n\n".to_owned();
    // Room for the sentence about what is left out, and the names in it.
    let reserve = 1_500;
    let room = limit.saturating_sub(head.len() + plan.len() + reserve);
    let mut left: Vec<&ObjectChange> = Vec::new();
    for object in &set.objects {
        let mut text = fold(object, INFO);
        if body.len() + text.len() > room {
            text = fold(object, 0);
        }
        if body.len() + text.len() > room {
            left.push(object);
        } else {
            body.push_str(&text);
        }
    }
    body.push_str(&left_out(&left));
    format!("{head}{body}{plan}")
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
        "**Left out for length:** {} objects with {} breaking, {} risky and {} info changes: {}{more}. \
         `bundle2chart diff --format html` shows all.\n\n",
        left.len(),
        count(Class::Breaking),
        count(Class::Risky),
        count(Class::Info),
        names.join(", "),
    )
}

/// The codes that break or are risky, with how often.
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
    format!("| class | changes | code | what |\n|---|---|---|---|\n{text}\n")
}

fn ignored(set: &ChangeSet) -> String {
    let mut text = String::new();
    for ignored in set.ignored.iter().filter(|ignored| ignored.changes > 0) {
        let _ = writeln!(
            text,
            "{} changes left out by {}: {}\n",
            ignored.changes,
            code(&ignored.pattern),
            plain(&ignored.reason)
        );
    }
    text
}

fn fold(object: &ObjectChange, info: usize) -> String {
    let parts: Vec<String> = Class::ALL
        .into_iter()
        .filter(|class| object.count(*class) > 0)
        .map(|class| format!("{} {}", object.count(class), class.as_str()))
        .collect();
    let parts = parts.join(", ");
    let parts = if object.class() == Class::Info { parts } else { format!("<b>{parts}</b>") };
    let from = match &object.action {
        Action::Renamed(from) => format!(" from {}", html(&from.to_string())),
        _ => String::new(),
    };
    let mut text = format!(
        "<details><summary>{} {}{from}: {parts}</summary>\n\n",
        object.action.as_str(),
        html(&object.id.to_string()),
    );
    let (serious, rest): (Vec<&Change>, Vec<&Change>) =
        object.changes.iter().partition(|change| change.class() != Class::Info);
    let mut told = Vec::new();
    for change in serious {
        item(change, &mut told, &mut text);
    }
    for change in rest.iter().take(info) {
        item(change, &mut told, &mut text);
    }
    if rest.len() > info {
        let _ = writeln!(
            text,
            "- {} more for information: {}",
            rest.len() - info,
            tallied(rest.iter().skip(info).copied())
        );
    }
    text.push_str("\n</details>\n\n");
    text
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
            writeln!(text, "{mark} {class} `{}`: {}", finding.rule.code, plain(&finding.reason));
    }
    if !change.path.steps().is_empty() {
        let _ = writeln!(text, "  at {}", code(&change.path.to_string()));
    }
    for finding in &change.findings {
        let rule = finding.rule;
        if rule.class != Class::Info && rule.todo != "Nothing." && !told.contains(&rule.code) {
            told.push(rule.code);
            let _ = writeln!(text, "  → {}", plain(rule.todo));
        }
    }
    // What came or went as a whole is named, not printed: it is in the chart.
    let whole = change.path.steps().is_empty();
    let (lines, more) = if whole { (Vec::new(), 0) } else { lines(change, LINES) };
    if !lines.is_empty() {
        let longest =
            lines.iter().flat_map(|(_, line)| line.split(|c| c != '`')).map(str::len).max();
        let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
        let _ = writeln!(text, "  {fence}diff");
        for (sign, line) in lines {
            let _ = writeln!(text, "  {}{}", sign.as_str(), cut(&line));
        }
        if more > 0 {
            let _ = writeln!(text, "   … {more} more lines");
        }
        let _ = writeln!(text, "  {fence}");
    }
}

fn plan(steps: &[Step]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let mut text = "## Plan\n\n".to_owned();
    for (number, step) in steps.iter().enumerate() {
        let _ = writeln!(text, "{}. **{}**", number + 1, step.title);
        for item in step.items.iter().take(ITEMS) {
            let _ = writeln!(text, "   - {}", plain(item));
        }
        if step.items.len() > ITEMS {
            let _ = writeln!(text, "   - and {} more", step.items.len() - ITEMS);
        }
        for command in &step.commands {
            let _ = writeln!(text, "\n   ```sh\n   {command}\n   ```");
        }
    }
    text
}

/// Text that means nothing to Markdown, but for code spans of ours.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut in_code = false;
    for c in visible(text).chars() {
        match c {
            '`' => in_code = !in_code,
            '<' | '>' | '&' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '\\' | '@' if !in_code => {
                plain.push('\\')
            }
            _ => {}
        }
        plain.push(c);
    }
    // A code span without an end would take what follows.
    if in_code { plain.replace('`', "\\`") } else { plain }
}

/// A code span.
fn code(text: &str) -> String {
    let text = visible(text).replace('`', "'");
    format!("`{text}`")
}

fn html(text: &str) -> String {
    visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn cut(line: &str) -> String {
    if line.len() <= WIDTH {
        return line.to_owned();
    }
    let shown: String = line.chars().take(WIDTH).collect();
    let more = line.chars().count().saturating_sub(WIDTH);
    if more == 0 { shown } else { format!("{shown}… {more} more characters") }
}

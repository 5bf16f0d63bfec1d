//! HTML format: one self-contained page.
//!
//! All content is in the page itself; the script only filters. The content security policy allows
//! only the page's own style and script, by digest.

use super::{
    Rendered, Sign, code_in_html, fields, is_short, lines, more_like, title, totals,
    values as values_of,
};
use crate::diag::join;
use crate::escape::html as text;
use crate::group::{Group, Place, label};
use crate::summary::Summary;
use crate::{Action, Change, ChangeSet, Class};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// Maximum number of lines of a value.
const LINES: usize = 200;

/// Maximum number of changes of one finding that are shown with their values.
const VALUES: usize = 60;

/// Number of items of a step of the plan that are not folded.
const ITEMS: usize = 5;

/// Renders a change set as an HTML page.
pub fn render(set: &ChangeSet) -> String {
    let summary = Summary::of(set);
    let filters = filters(&summary.groups, summary.counts);
    let body = chart(set, &summary, "", &filters);
    page(&title(set), &body, !summary.groups.is_empty())
}

/// Returns a page with this title and body. With findings, it has the script that filters them.
///
/// Style and script are inline, so that the report is one file; the policy allows them by digest, and
/// nothing that a manifest could smuggle in.
pub(super) fn page(title: &str, body: &str, has_findings: bool) -> String {
    let script = format!("<script>{SCRIPT}</script>\n");
    format!(
        include_str!("report.html"),
        style_digest = digest(STYLE),
        script_digest = digest(SCRIPT),
        title = text(title),
        style = STYLE,
        body = body,
        script = if has_findings { &script } else { "" },
    )
}

fn kinds_of<'s>(group: &Group<'s>) -> BTreeSet<&'s str> {
    group.places.iter().map(|place| place.object.id.kind.as_str()).collect()
}

/// Returns the report on one comparison: the first screen, the plan, the filters and all findings.
/// `prefix` makes link targets unique among several comparisons.
pub(super) fn chart(set: &ChangeSet, summary: &Summary<'_>, prefix: &str, filters: &str) -> String {
    let mut page = format!("<header>\n<h1>{}</h1>\n", text(&title(set)));
    if !set.values.is_empty() {
        let _ = writeln!(page, "<p class=\"dim\">{}</p>", text(&values_of(set)));
    }
    let (class, rest) = summary.verdict.split_once(": ").unwrap_or(("", &summary.verdict));
    if set.is_empty() {
        let _ = writeln!(page, "<p>{}.</p>", text(&summary.verdict));
    } else {
        let rest = with_code(rest);
        let _ = writeln!(page, "<p class=\"verdict {class}\"><b>{class}</b>: {rest}.</p>");
        let _ = writeln!(page, "<p class=\"dim\">{}.</p>", totals(set, summary));
    }
    for (start, ignored) in super::ignored(set) {
        let (pattern, reason) = (text(&ignored.pattern), text(&ignored.reason));
        let _ = writeln!(page, "<p class=\"dim\">{start} <code>{pattern}</code>: {reason}</p>");
    }
    page.push_str("</header>\n");
    if set.is_empty() {
        return page;
    }

    most_important(summary, prefix, &mut page);
    plan(set, prefix, &mut page);
    page.push_str("<section>\n<h2>Changes</h2>\n");
    page.push_str(filters);
    let mut rendered = Rendered::new();
    for (index, group) in summary.groups.iter().enumerate() {
        finding(group, &format!("{prefix}finding-{}", index + 1), &mut rendered, &mut page);
    }
    page.push_str("</section>\n");
    page
}

fn most_important(summary: &Summary<'_>, prefix: &str, page: &mut String) {
    let top = summary.top();
    if top.is_empty() {
        return;
    }
    page.push_str("<section class=\"top\">\n<h2>What matters most</h2>\n<ol>\n");
    for (index, group) in top {
        let class = group.class().as_str();
        let _ = writeln!(
            page,
            "<li><b class=\"{class}\">{class}</b> <code>{}</code> {} <span class=\"dim\">({}){}</span> \
             <a href=\"#{prefix}finding-{}\">details</a></li>",
            group.rule.code,
            with_code(group.reason),
            with_code(&group.extent()),
            text(&more_like(summary, group)),
            index + 1,
        );
    }
    page.push_str("</ol>\n</section>\n");
}

/// Returns the source expression of a content security policy for inline content.
fn digest(content: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(content.as_bytes())))
}

/// Returns the form that filters findings; empty without any.
pub(super) fn filters(groups: &[Group<'_>], classes: [usize; 3]) -> String {
    if groups.is_empty() {
        return String::new();
    }
    let class = |(class, count): (Class, usize)| {
        let name = class.as_str();
        format!(
            "<label class=\"{name}\"><input type=\"checkbox\" value=\"{name}\" checked><b>{count} {name}</b></label>\n"
        )
    };
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for kind in groups.iter().flat_map(kinds_of) {
        *kinds.entry(kind).or_default() += 1;
    }
    let kind = |(kind, count): (&str, usize)| {
        let kind = text(kind);
        format!("<option value=\"{kind}\">{kind} ({count})</option>\n")
    };

    // The script shows the form: without scripts, which some viewers do not run, it filters
    // nothing.
    format!(
        include_str!("filters.html"),
        classes = Class::ALL.into_iter().zip(classes).map(class).collect::<String>(),
        kinds = kinds.into_iter().map(kind).collect::<String>(),
    )
}

/// Appends a finding, closed, with its places.
fn finding(group: &Group<'_>, id: &str, rendered: &mut Rendered, page: &mut String) {
    let (class, rule) = (group.class().as_str(), group.rule);
    let _ = writeln!(
        page,
        "<details class=\"finding {class}\" id=\"{id}\" data-class=\"{class}\" data-kinds=\"{}\" data-places=\"{}\">\n\
         <summary><b>{class}</b> {} <span class=\"dim\">({})</span></summary>\n\
         <p><code>{}</code> {}</p>",
        join(kinds_of(group).into_iter().map(text), " "),
        group.places.len(),
        with_code(group.reason),
        with_code(&group.extent()),
        rule.code,
        with_code(rule.explanation),
    );
    if let Some(todo) = rule.action() {
        let _ = writeln!(page, "<p>→ {}</p>", with_code(todo));
    }

    let mut values = VALUES;
    for (object, places) in group.by_object() {
        let action = object.action.as_str();
        let from = match &object.action {
            Action::Renamed(from) => format!(" from <code>{}</code>", text(&from.to_string())),
            _ => String::new(),
        };
        let name = text(&label(&object.id));
        let _ = write!(page, "<p>{action} <code>{name}</code>{from}");
        let fields = fields(&places);
        if !fields.is_empty() {
            let _ = write!(page, ": <code class=\"dim\">{}</code>", text(&fields.join(", ")));
        }
        page.push_str("</p>\n");
        for place in places {
            show_place(place, &mut values, rendered, page);
        }
    }
    let shown = VALUES - values;
    if values == 0 && group.places.len() > shown {
        let more = group.places.len() - shown;
        let _ = writeln!(
            page,
            "<p class=\"dim\">Values of {more} more changes omitted; <code>--format json</code> has them.</p>"
        );
    }
    page.push_str("</details>\n");
}

/// Appends the path of a change and its values, as long as `values` are left. Reasons of findings in
/// schemas name the values, unless they are informational.
fn show_place(place: &Place<'_>, values: &mut usize, rendered: &mut Rendered, page: &mut String) {
    let change = place.change;
    let named = place.schema.is_some() && is_short(change);
    if place.schema.is_none() && !change.path.steps().is_empty() {
        let _ =
            writeln!(page, "<p class=\"dim\"><code>{}</code></p>", text(&change.path.to_string()));
    }
    if named || *values == 0 {
        return;
    }
    *values -= 1;
    page.push_str(rendered.entry(change).or_insert_with(|| sides(change)));
}

fn sides(change: &Change) -> String {
    let (lines, more) = lines(change, LINES);
    let both = change.old.is_some() && change.new.is_some();
    let mut page =
        String::from(if both { "<div class=\"sides\">\n" } else { "<div class=\"sides one\">\n" });
    let mut column = |caption: &str, mine: Sign, tag: &str| {
        let _ = write!(page, "<figure><figcaption>{caption}</figcaption><pre>");
        for (sign, line) in &lines {
            if *sign == mine {
                let _ = write!(page, "<{tag}>{}</{tag}>", text(line));
            } else if *sign == Sign::Both {
                let _ = writeln!(page, "{}", text(line));
            }
        }
        if more > 0 {
            let _ = write!(page, "… {more} more lines");
        }
        page.push_str("</pre></figure>\n");
    };

    if change.old.is_some() {
        column("old", Sign::Old, "del");
    }
    if change.new.is_some() || change.old.is_none() {
        column("new", Sign::New, "ins");
    }

    page.push_str("</div>\n");
    page
}

/// Appends the plan. Items that are findings link to them.
fn plan(set: &ChangeSet, prefix: &str, page: &mut String) {
    if set.plan.is_empty() {
        return;
    }

    page.push_str("<section class=\"plan\">\n<h2>Plan</h2>\n<ol>\n");
    for step in &set.plan {
        let _ = writeln!(page, "<li><b>{}</b>\n<ul>", with_code(step.kind.title()));
        let item = |(position, item): (usize, &String)| {
            let item = with_code(item);
            let link = |index| format!("<a href=\"#{prefix}finding-{}\">{item}</a>", index + 1);
            let linked = step.findings.get(position).map(link);
            format!("<li>{}</li>\n", linked.as_ref().unwrap_or(&item))
        };
        let items: Vec<String> = step.items.iter().enumerate().map(item).collect();
        let (shown, folded) = items.split_at(items.len().min(ITEMS));
        page.push_str(&shown.concat());

        // Folded, not dropped: a page has no size limit.
        if !folded.is_empty() {
            let more = folded.len();
            let _ = writeln!(page, "<li><details><summary>{more} more</summary>\n<ul>");
            page.push_str(&folded.concat());
            page.push_str("</ul>\n</details></li>\n");
        }
        page.push_str("</ul>\n");

        for command in &step.commands {
            let _ = writeln!(page, "<pre>{}</pre>", text(command));
        }
        page.push_str("</li>\n");
    }

    page.push_str("</ol>\n</section>\n");
}

/// Returns a sentence as HTML, with text in backticks as `<code>`.
fn with_code(sentence: &str) -> String {
    code_in_html(&text(sentence))
}

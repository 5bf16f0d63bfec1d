//! HTML format: one self-contained page.
//!
//! All content is in the page itself; the script only filters. The content security policy allows
//! only the page's own style and script, by digest.

use super::{Sign, lines, objects};
use crate::diff::{Action, Change, ChangeSet, Class, Finding, ObjectChange};
use crate::escape::html as text;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// Maximum number of lines of a value.
const LINES: usize = 1_000;

/// Renders a change set as an HTML page.
pub fn render(set: &ChangeSet) -> String {
    let title = format!("{} → {}", set.old, set.new);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{}'; \
         script-src '{}'; base-uri 'none'; form-action 'none'\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        digest(STYLE),
        digest(SCRIPT),
        text(&title),
    );

    let _ = write!(page, "<header>\n<h1>{}</h1>\n", text(&title));
    for Finding { rule, reason } in &set.notices {
        let _ = writeln!(
            page,
            "<p class=\"{0}\"><b class=\"{0}\">{0}</b> <code>{1}</code> {2}. {3}</p>",
            rule.class.as_str(),
            rule.code,
            with_code(reason),
            text(rule.todo),
        );
    }
    if set.is_empty() {
        let _ = writeln!(page, "<p>No differences in {} objects.</p>", set.unchanged);
    } else {
        let _ = writeln!(page, "<p id=\"counts\">{} in {}.</p>", strong_counts(set), objects(set));
    }
    for ignored in set.ignored.iter().filter(|ignored| ignored.changes > 0) {
        let _ = writeln!(
            page,
            "<p class=\"dim\">{} changes ignored by <code>{}</code>: {}</p>",
            ignored.changes,
            text(&ignored.pattern),
            text(&ignored.reason)
        );
    }
    if !set.plan.is_empty() {
        let _ = writeln!(
            page,
            "<nav><a href=\"#plan\">Plan: {} steps</a> <a href=\"#changes\">Changes</a></nav>",
            set.plan.len()
        );
    }
    page.push_str("</header>\n");

    if !set.is_empty() {
        let ids = ids(set);
        summary(set, &ids, &mut page);
        filters(set, &mut page);
        changes(set, &ids, &mut page);
        plan(set, &mut page);
        let _ = writeln!(page, "<script>{SCRIPT}</script>");
    }
    page.push_str("</body>\n</html>\n");
    page
}

/// Returns the source expression of a content security policy for inline content.
fn digest(content: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(content.as_bytes())))
}

fn strong_counts(set: &ChangeSet) -> String {
    Class::ALL
        .map(|class| {
            let name = class.as_str();
            format!("<b class=\"{name}\" id=\"count-{name}\">{} {name}</b>", set.count(class))
        })
        .join(", ")
}

/// Maximum number of linked objects per row of the summary.
const LINKS: usize = 3;

/// Appends the table of breaking and risky changes by code, with links.
fn summary(set: &ChangeSet, ids: &[String], page: &mut String) {
    let mut rows = String::new();
    for ((class, code), count) in crate::diff::codes(set) {
        let rule = crate::diff::rules::all().find(|rule| rule.code == code);
        if let Some(rule) = rule.filter(|_| class != Class::Info) {
            let _ = writeln!(
                rows,
                "<tr class=\"{0}\"><td><b>{0}</b></td><td>{count}</td><td><code>{code}</code></td><td>{1}{2}</td></tr>",
                class.as_str(),
                text(rule.title),
                ways(set, ids, code),
            );
        }
    }
    if !rows.is_empty() {
        let _ = write!(page, "<section>\n<h2>Summary</h2>\n<table>\n{rows}</table>\n</section>\n");
    }
}

/// Returns links to the first change with this code of each object.
fn ways(set: &ChangeSet, ids: &[String], code: &str) -> String {
    let first = |object: &ObjectChange| object.changes.iter().position(|c| c.code() == code);
    let found: Vec<(&ObjectChange, String)> = set
        .objects
        .iter()
        .zip(ids)
        .filter_map(|(object, id)| Some((object, format!("{id}--{}", first(object)? + 1))))
        .collect();
    let mut links = String::new();
    for (object, id) in found.iter().take(LINKS) {
        let name = text(&object.id.to_string());
        let _ = write!(links, " <a href=\"#{id}\"><code>{name}</code></a>");
    }
    if found.len() > LINKS {
        let _ = write!(links, " and {} more objects", found.len() - LINKS);
    }
    links
}

fn filters(set: &ChangeSet, page: &mut String) {
    let kinds: BTreeMap<&str, usize> =
        set.objects.iter().fold(BTreeMap::new(), |mut all, object| {
            *all.entry(object.id.kind.as_str()).or_default() += 1;
            all
        });
    page.push_str("<h2 id=\"changes\">Changes</h2>\n<form id=\"filters\" hidden>\n");
    for class in Class::ALL {
        let name = class.as_str();
        let _ = writeln!(
            page,
            "<label class=\"{name}\"><input type=\"checkbox\" value=\"{name}\" checked><b>{} {name}</b></label>",
            set.count(class)
        );
    }

    page.push_str("<label>Kind <select name=\"kind\"><option value=\"\">all</option>\n");
    for (kind, count) in kinds {
        let kind = text(kind);
        let _ = writeln!(page, "<option value=\"{kind}\">{kind} ({count})</option>");
    }

    page.push_str(
        "</select></label>\n\
         <input type=\"search\" name=\"q\" placeholder=\"Search (/)\" aria-label=\"Search in changes\">\n\
         <button type=\"button\" id=\"open\">Open all</button>\n\
         <button type=\"button\" id=\"close\">Close all</button>\n\
         <output id=\"shown\" class=\"dim\"></output>\n</form>\n\
         <p class=\"dim\">Keys: j next change, k previous change, / search, 1 2 3 toggle classes, o open all, c close all.</p>\n",
    );
}

/// Returns unique link targets, one per object; duplicate slugs are numbered.
fn ids(set: &ChangeSet) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let id = |object: &ObjectChange| {
        let slug = slug(&object.id.to_string());
        let number = numbers.entry(slug.clone()).or_default();
        loop {
            *number += 1;
            let id = if *number == 1 { slug.clone() } else { format!("{slug}-{number}") };
            if taken.insert(id.clone()) {
                return id;
            }
        }
    };
    set.objects.iter().map(id).collect()
}

fn changes(set: &ChangeSet, ids: &[String], page: &mut String) {
    page.push_str("<main>\n");
    for (object, id) in set.objects.iter().zip(ids) {
        one(object, id, page);
    }
    page.push_str("</main>\n");
}

/// Returns a name as a link target.
fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    format!("o-{}", name.chars().map(plain).collect::<String>())
}

fn one(object: &ObjectChange, id: &str, page: &mut String) {
    let class = object.class().as_str();
    let open = if object.class() == Class::Info { "" } else { " open" };
    let from = match &object.action {
        Action::Renamed(from) => format!(" from {}", text(&from.to_string())),
        _ => String::new(),
    };

    let tally: Vec<String> = Class::ALL
        .into_iter()
        .filter(|class| object.count(*class) > 0)
        .map(|class| format!("<b class=\"{0}\">{1} {0}</b>", class.as_str(), object.count(class)))
        .collect();
    let name = text(&object.id.to_string());
    let _ = write!(
        page,
        "<section class=\"object {class}\" id=\"{id}\" data-kind=\"{}\" data-name=\"{name}\">\n\
         <details{open}><summary>{} <code>{name}</code>{from} <span class=\"tally\">{}</span></summary>\n",
        text(&object.id.kind),
        object.action.as_str(),
        tally.join(", "),
    );

    let mut told = Vec::new();
    for (number, change) in object.changes.iter().enumerate() {
        write_change(change, &format!("{id}--{}", number + 1), &mut told, page);
    }

    let _ = write!(page, "</details>\n</section>\n");
}

fn write_change(change: &Change, id: &str, told: &mut Vec<&'static str>, page: &mut String) {
    let class = change.class().as_str();
    let _ = writeln!(
        page,
        "<article class=\"change {class}\" id=\"{id}\" data-class=\"{class}\"><a class=\"link\" href=\"#{id}\" aria-label=\"Link to this change\">#</a>",
    );

    for finding in &change.findings {
        let rule = finding.rule;
        let _ = writeln!(
            page,
            "<p class=\"finding {0}\"><b>{0}</b> <code title=\"{1}\">{2}</code> {3}</p>",
            rule.class.as_str(),
            text(rule.explanation),
            rule.code,
            with_code(&finding.reason)
        );
        if rule.class != Class::Info && rule.todo != "Nothing." && !told.contains(&rule.code) {
            told.push(rule.code);
            let _ = writeln!(page, "<p class=\"todo\">→ {}</p>", with_code(rule.todo));
        }
    }

    if !change.path.steps().is_empty() {
        let _ =
            writeln!(page, "<p class=\"dim\"><code>{}</code></p>", text(&change.path.to_string()));
    }

    sides(change, page);
    page.push_str("</article>\n");
}

fn sides(change: &Change, page: &mut String) {
    let (lines, more) = lines(change, LINES);
    let both = change.old.is_some() && change.new.is_some();
    page.push_str(if both { "<div class=\"sides\">\n" } else { "<div class=\"sides one\">\n" });
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

    match (&change.old, &change.new) {
        (Some(_), Some(_)) => {
            column("old", Sign::Old, "del");
            column("new", Sign::New, "ins");
        }
        (Some(_), None) => column("old", Sign::Old, "del"),
        _ => column("new", Sign::New, "ins"),
    }

    page.push_str("</div>\n");
}

fn plan(set: &ChangeSet, page: &mut String) {
    if set.plan.is_empty() {
        return;
    }
    page.push_str("<section id=\"plan\">\n<h2>Plan</h2>\n<ol>\n");
    for step in &set.plan {
        let _ = writeln!(page, "<li><b>{}</b>\n<ul>", text(step.title));
        for item in &step.items {
            let _ = writeln!(page, "<li>{}</li>", with_code(item));
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
    let safe = text(sentence);
    let pieces: Vec<&str> = safe.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return safe;
    }
    let mut out = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        if index % 2 == 1 {
            let _ = write!(out, "<code>{piece}</code>");
        } else {
            out.push_str(piece);
        }
    }
    out
}

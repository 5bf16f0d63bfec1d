//! Reports on several comparisons: all charts since a Git revision, or one chart with the values of
//! several environments. With one comparison they are the reports of the other modules.

use super::{html, json, markdown, text, title};
use crate::diag::{counted, listed};
use crate::escape::{self, markdown as escaped};
use crate::summary::Summary;
use crate::{ChangeSet, Class};
use serde_json::json as value;
use std::fmt::Write as _;

/// A comparison with its name.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The chart, the environment, or both.
    pub name: String,
    /// The differences.
    pub set: ChangeSet,
}

/// Several comparisons.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Comparisons with differences, the worst first; also one without differences if it is the only
    /// one.
    pub comparisons: Vec<Comparison>,
    /// Names of charts without differences.
    pub unchanged: Vec<String>,
}

/// Maximum number of rows of the overview in Markdown.
const ROWS: usize = 100;

/// Minimum number of bytes for the details of a comparison in Markdown.
const DETAILS: usize = 2_000;

impl Report {
    /// Creates a report: comparisons without differences are only named, unless there is only one.
    pub fn new(comparisons: Vec<Comparison>) -> Self {
        if comparisons.len() == 1 {
            return Report { comparisons, unchanged: Vec::new() };
        }
        let (unchanged, mut comparisons): (Vec<_>, Vec<_>) =
            comparisons.into_iter().partition(|comparison| comparison.set.is_empty());
        comparisons.sort_by_cached_key(|comparison| {
            let summary = Summary::of(&comparison.set);
            let rank = summary.groups.first().map(|group| group.rule.rank());
            (summary.class, rank, comparison.name.clone())
        });
        let unchanged = unchanged.into_iter().map(|comparison| comparison.name).collect();
        Report { comparisons, unchanged }
    }

    /// Returns the worst class of all comparisons; `None` without findings.
    pub fn class(&self) -> Option<Class> {
        self.comparisons.iter().filter_map(|comparison| comparison.set.class()).min()
    }

    /// Returns true without differences.
    pub fn is_empty(&self) -> bool {
        self.comparisons.iter().all(|comparison| comparison.set.is_empty())
    }

    /// Returns the only comparison, if nothing else is reported.
    fn single(&self) -> Option<&ChangeSet> {
        match self.comparisons.as_slice() {
            [only] if self.unchanged.is_empty() => Some(&only.set),
            _ => None,
        }
    }

    pub(super) fn title(&self) -> String {
        match self.comparisons.len() {
            0 => "no differences".to_owned(),
            more => format!("{} with differences", counted(more, "upgrade")),
        }
    }

    pub(super) fn unchanged(&self) -> String {
        match self.unchanged.len() {
            0 => String::new(),
            _ => format!("no differences: {}", listed(&self.unchanged, ROWS)),
        }
    }

    /// Renders the report as text.
    pub fn text(&self, style: text::Style) -> String {
        if let Some(set) = self.single() {
            return text::render(set, style);
        }
        let mut lines = vec![self.title()];
        for Comparison { name, set } in &self.comparisons {
            lines.push(format!("  {name}: {}", Summary::of(set).verdict));
        }
        lines.push(self.unchanged());
        lines.retain(|line| !line.is_empty());
        let mut out: String = lines
            .iter()
            .map(|line| format!("{}\n", escape::line(&escape::visible(line))))
            .collect();
        for Comparison { name, set } in &self.comparisons {
            let name = escape::visible(name);
            let _ = write!(out, "\n== {name} ==\n{}", text::render(set, style));
        }
        out
    }

    /// Renders the report as Markdown of at most `limit` bytes, the worst comparisons first and with
    /// the most details.
    pub fn markdown(&self, limit: usize) -> String {
        if let Some(set) = self.single() {
            return markdown::render(set, limit);
        }
        let mut out = self.overview();
        let mut omitted = Vec::new();
        let mut sections: Vec<(String, &ChangeSet, Summary<'_>)> = Vec::new();
        // For the list of what is omitted.
        let room = limit.saturating_sub(1_500);
        let mut used = out.len();
        for Comparison { name, set } in &self.comparisons {
            let summary = Summary::of(set);
            let screen = markdown::first_screen(set, &summary);
            let title = escaped::text(&title(set));
            let text = format!("## {}\n\n{title}\n\n{screen}", escaped::text(name));
            if used + text.len() > room {
                omitted.push(name.clone());
                continue;
            }
            used += text.len();
            sections.push((text, set, summary));
        }

        let mut left = room.saturating_sub(used);
        for (text, set, summary) in sections {
            out.push_str(&text);
            // The next ones get details, too.
            let share = left * 2 / 3;
            if share < DETAILS || set.is_empty() {
                let more =
                    "Details omitted for length: `bundle2chart diff --format html` shows all.";
                if !set.is_empty() {
                    let _ = writeln!(out, "{more}\n");
                    left = left.saturating_sub(more.len() + 2);
                }
                continue;
            }
            let folded = |details: &str| {
                format!(
                    "<details><summary>Plan and all changes</summary>\n\n{details}\n</details>\n\n"
                )
            };
            let most = share - folded("").len();
            let details = folded(&markdown::details(set, &summary, most.into()));
            left = left.saturating_sub(details.len());
            out.push_str(&details);
        }
        if !omitted.is_empty() {
            let names = listed(&omitted, 10);
            let _ = writeln!(out, "**Omitted for length:** {}.", escaped::text(&names));
        }
        out
    }

    /// Returns the table of all comparisons.
    fn overview(&self) -> String {
        let mut out = format!("# {}\n\n", self.title());
        if !self.comparisons.is_empty() {
            out.push_str("| chart | upgrade | class | breaking | risky | info |\n|---|---|---|---|---|---|\n");
        }

        for Comparison { name, set } in self.comparisons.iter().take(ROWS) {
            let summary = Summary::of(set);
            let class = summary.class.map_or("", Class::as_str);
            let [breaking, risky, info] = summary.counts;
            let [name, title] = [name, &title(set)].map(|text| escaped::text(text));
            let _ = writeln!(out, "| {name} | {title} | {class} | {breaking} | {risky} | {info} |");
        }

        if self.comparisons.len() > ROWS {
            let _ = writeln!(out, "\nand {} more", self.comparisons.len() - ROWS);
        }
        if !self.unchanged.is_empty() {
            let _ = writeln!(out, "\n{}", escaped::text(&self.unchanged()));
        }
        out.push('\n');
        out
    }

    /// Renders the report as JSON, described by `schema/diff.schema.json`.
    pub fn json(&self) -> String {
        if let Some(set) = self.single() {
            return json::render(set);
        }
        let comparisons: Vec<_> = self
            .comparisons
            .iter()
            .map(|comparison| {
                value!({"name": comparison.name, "report": json::document(&comparison.set)})
            })
            .collect();
        let document = value!({
            "format": json::FORMAT,
            "comparisons": comparisons,
            "unchanged": self.unchanged,
        });
        escape::json(&format!("{document:#}\n")).into_owned()
    }

    /// Renders the report as an HTML page.
    pub fn html(&self) -> String {
        match self.single() {
            Some(set) => html::render(set),
            None => html::overview(self),
        }
    }
}

//! The summary of a build, and the verdict of a check.

use super::{BUILD_REPORT, Outcome, next_steps};
use crate::chart;
use crate::escape::Lines;
use crate::output::Comparison;
use crate::pipeline::upgrade::BuiltChart;
use std::collections::BTreeMap;
use std::path::Path;

impl Outcome<'_> {
    /// Returns the summary of a build that wrote, and the next steps if it changed something.
    pub(crate) fn written(&self) -> Lines {
        let mut lines = self.summary();
        if let Some(lock) = &self.lock.written {
            lines.push(lock.clone());
        }
        lines.append(next_steps::lines(self));
        lines
    }

    /// Returns each file that a check found to differ, and the difference in a word.
    pub(crate) fn differences(&self) -> Vec<(&'static str, String)> {
        let Comparison { missing, stale, extra, foreign, .. } = &self.changes.differences;
        let lists =
            [("missing", missing), ("stale", stale), ("extra", extra), ("foreign", foreign)];
        let in_out = lists.into_iter().flat_map(|(word, paths)| {
            paths.iter().map(move |path| (word, self.request.out.join(path).display().to_string()))
        });
        let lock = self.lock.is_stale.then(|| ("stale", self.lock_path.display().to_string()));
        in_out.chain(lock).collect()
    }

    /// Returns true if a check found nothing that differs.
    pub(crate) fn is_current(&self) -> bool {
        self.changes.differences.is_current() && !self.lock.is_stale
    }

    /// Returns the verdict of a check.
    pub(crate) fn verdict(&self) -> String {
        let out = self.request.out.display();
        if self.is_current() {
            return format!("{out} is up to date");
        }
        if let Some(why) = &self.changes.differences.refusal {
            return format!("{out} is out of date, and `bundle2chart build` fails: {why}");
        }
        let replace = match self.changes.differences.needs_replace {
            true => " --replace`, or declare the edits and raise `chart-version",
            false => "",
        };
        format!("{out} is out of date: run `bundle2chart build{replace}`")
    }

    /// Returns a line per chart, and a total.
    fn summary(&self) -> Lines {
        let Outcome { charts, changes, is_first, .. } = self;
        let mut text = Lines::new();
        let width = charts.iter().map(|chart| chart.dir.as_os_str().len()).max().unwrap_or(0);
        for chart in charts {
            let what = if changes.created.contains(&chart.dir) {
                "created"
            } else if changes.updated.contains(&chart.dir) {
                "updated"
            } else {
                "unchanged"
            };
            let BuiltChart { templates, crds, bytes, release_bytes, .. } = chart;
            let share = chart::release_share(*release_bytes);
            text.push(format!(
                "{:<width$}  {what:<9}  {templates:>3} template{}  {crds:>3} CRD{}  release Secret \
                    {share:>7} of 1 MiB  {:>5} KiB",
                chart.dir.display(),
                if *templates == 1 { " " } else { "s" },
                if *crds == 1 { " " } else { "s" },
                bytes.div_ceil(1024),
            ));
        }
        for dir in &changes.removed {
            text.push(format!("{:<width$}  removed", dir.display()));
        }
        let mut deployment_files: BTreeMap<_, usize> = BTreeMap::new();
        // REPORT.md is about all charts, and installs none.
        let reported = changes
            .deployment_files
            .iter()
            .filter(|file| file.as_path() != Path::new(BUILD_REPORT));
        for first in reported.filter_map(|file| file.iter().next()) {
            *deployment_files.entry(first).or_default() += 1;
        }
        for (name, count) in deployment_files {
            let files = if count == 1 { "file" } else { "files" };
            let what = if *is_first { "created" } else { "updated" };
            text.push(format!("{:<width$}  {what:<9}  {count:>3} {files}", name.display()));
        }
        text.push(format!(
            "{}: {} created, {} updated, {} unchanged",
            self.request.out.display(),
            changes.created.len(),
            changes.updated.len(),
            changes.unchanged.len()
        ));
        text
    }
}

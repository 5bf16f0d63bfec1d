//! The reports of a build: the upgrade of each chart, and the summary of the build.

use super::operand::Operands;
use crate::config::{Config, Layout};
use crate::diag::{Diagnostic, Diagnostics, Fatal, Severity};
use crate::diff::render::{self, markdown::Limit};
use crate::diff::summary::Summary;
use crate::diff::{self, Options};
use crate::escape::markdown;
use crate::output::ChartFiles;
use crate::output::chart_versions::older;
use crate::output::ownership::{FILE_NAME, Ownership, UPGRADE_REPORT};
use crate::source::chart::{self as charts, ChartTree, Form, Identity};
use crate::source::{SourceResolver, sha256};
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

/// A chart that was built, as far as reports depend on it.
#[derive(Debug)]
pub struct BuiltChart {
    /// Directory of the chart relative to the output directory.
    pub dir: PathBuf,
    /// Version of the chart.
    pub version: String,
    /// Number of templates.
    pub templates: usize,
    /// Number of CRDs.
    pub crds: usize,
    /// Bytes of all files but UPGRADE.md.
    pub bytes: usize,
    /// Upper bound of the release Secret's size.
    pub release_bytes: usize,
    /// The upgrade from the version before it.
    pub upgrade: Option<Upgrade>,
}

/// An upgrade from the version of a chart in the output directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    from: String,
    /// Number of breaking, risky and informational findings.
    counts: [usize; 3],
    /// The first screen of UPGRADE.md.
    screen: String,
}

/// Maximum number of lines of UPGRADE.md, which is for people, unless breaking findings need more;
/// `diff --format json` has all.
const MOST_LINES: usize = 120;

/// Start of the last line of UPGRADE.md, from which a later build reads the upgrade.
const MARK: &str = "<!-- bundle2chart upgrade from ";

impl Upgrade {
    /// Returns the last line of UPGRADE.md.
    fn mark(&self) -> String {
        let [breaking, risky, info] = self.counts;
        format!("\n{MARK}{}: {breaking} {risky} {info} -->\n", self.from)
    }

    /// Reads the upgrade from UPGRADE.md; `None` if another version of bundle2chart wrote it.
    fn parse(report: &str) -> Option<Self> {
        // From the end: the text before it quotes charts, which may contain such a mark.
        let (body, mark) = report.rsplit_once(MARK)?;
        let (from, counts) = mark.trim_end().strip_suffix(" -->")?.rsplit_once(": ")?;
        let counts: Vec<usize> =
            counts.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        let (_, rest) = body.split_once("\n\n")?;
        let end = ["## Plan\n", "## Changes\n"].iter().filter_map(|title| rest.find(title)).min();
        Some(Upgrade {
            from: from.to_owned(),
            counts: counts.try_into().ok()?,
            screen: rest.get(..end.unwrap_or(rest.len()))?.to_owned(),
        })
    }
}

impl fmt::Display for Upgrade {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [breaking, risky, info] = self.counts;
        write!(to, "upgrade from {}: {breaking} breaking, {risky} risky, {info} info", self.from)
    }
}

impl BuiltChart {
    /// Returns the facts of a chart for reports.
    pub fn new(chart: &ChartFiles, release_bytes: usize, upgrade: Option<Upgrade>) -> Self {
        let (templates, crds) = chart.counts();
        let files = chart.files.iter().filter(|(path, _)| *path != UPGRADE_REPORT);
        BuiltChart {
            dir: chart.dir.clone(),
            version: chart.version.clone(),
            templates,
            crds,
            bytes: files.map(|(_, content)| content.len()).sum(),
            release_bytes,
            upgrade,
        }
    }
}

/// Compares charts with their previous versions. Only charts that were generated and can be rendered
/// by bundle2chart are compared.
pub struct Upgrades<'a> {
    operands: Operands<'a>,
    options: Options,
    /// True if the output directory has one version of each chart.
    is_single: bool,
}

/// An upgrade and the content of UPGRADE.md.
type Reported = (Upgrade, Vec<u8>);

impl<'a> Upgrades<'a> {
    /// Prepares the upgrades from the charts in the output directory `out`.
    pub fn new(out: &'a Path, config: &'a Config, sources: &'a SourceResolver) -> Self {
        let operands = Operands { config: Some(config), ..Operands::new(sources, out) };
        let options = Options { ignore: config.ignore.clone(), ..Options::default() };
        let output = &config.output;
        let is_single = output.layout == Layout::Flat || output.keep == Some(1);
        Upgrades { operands, options, is_single }
    }

    /// Adds UPGRADE.md to a chart with a previous version, and returns the upgrade: the highest
    /// earlier version in the output directory.
    ///
    /// If the output directory has one version of each chart, the previous version is the chart at
    /// Git's HEAD, else the one that the build replaces. The build deletes the replaced chart, so the
    /// report is kept as long as the chart does not change; hence `build --check` agrees with it.
    ///
    /// A previous version that cannot be compared is a warning.
    pub fn report(&self, chart: &mut ChartFiles, diagnostics: &mut Diagnostics) -> Option<Upgrade> {
        let found = self.find(chart).map_err(|problem| {
            let mut warning = Diagnostic {
                severity: Severity::Warning,
                message: format!("{UPGRADE_REPORT} is not written: {}", problem.message),
                ..*problem
            };
            warning.place.bundle.get_or_insert_with(|| chart.dir.display().to_string());
            diagnostics.push(warning);
        });

        let (upgrade, report) = found.ok()??;
        chart.files.insert(UPGRADE_REPORT.to_owned(), report);
        Some(upgrade)
    }

    fn find(&self, chart: &ChartFiles) -> Result<Option<Reported>, Fatal> {
        let out = self.operands.out;
        match older(out, &chart.dir, &chart.version)?.into_iter().next() {
            Some((folder, version)) => {
                self.compared(version, &charts::read_built(out, &folder)?, chart).map(Some)
            }
            None if self.is_single => self.replaced(chart),
            None => Ok(None),
        }
    }

    /// Returns the upgrade from the chart that the build replaces.
    fn replaced(&self, chart: &ChartFiles) -> Result<Option<Reported>, Fatal> {
        let folder = self.operands.out.join(&chart.dir);
        if !folder.join(FILE_NAME).is_file() {
            return Ok(None);
        }
        let mut old = charts::read_folder(&folder)?;
        // Compared with HEAD first, a second build before the commit would rewrite the report.
        if let Some(kept) = kept(&old, chart) {
            return Ok(kept);
        }

        let dir = chart.dir.to_str().unwrap_or_default();
        let committed = charts::read_revision(self.operands.out, "HEAD", dir).ok();
        let committed = committed.map(|tree| charts::below(tree, dir));
        if let Some(committed) = committed.filter(|tree| tree.contains_key(FILE_NAME)) {
            if let Some(kept) = kept(&committed, chart) {
                return Ok(kept);
            }
            old = committed;
        }
        // A Chart.yaml without name and version is no chart of ours.
        let Ok(identity) = Identity::of(&old) else { return Ok(None) };
        self.compared(identity.version, &old, chart).map(Some)
    }

    fn compared(
        &self,
        from: String,
        old: &ChartTree,
        chart: &ChartFiles,
    ) -> Result<Reported, Fatal> {
        let old = self.operands.chart(old, Form::Directory)?;
        let new = self.operands.chart(&chart.files, Form::Directory)?;
        let set = diff::compare(old, new, &self.options);

        let summary = Summary::of(&set);
        let screen = render::markdown::first_screen(&set, &summary);
        let upgrade = Upgrade { from, counts: summary.counts, screen };
        let mark = upgrade.mark();
        // The mark must be complete, or the next build could not read it.
        let limit = Limit {
            bytes: render::markdown::LIMIT - mark.len(),
            lines: MOST_LINES - mark.lines().count(),
        };
        let text = format!("{}{mark}", render::markdown::render(&set, limit));
        Ok((upgrade, text.into_bytes()))
    }
}

/// Returns the report in a directory that has the same chart already, if it has one; `None` if it is
/// another chart.
fn kept(tree: &ChartTree, chart: &ChartFiles) -> Option<Option<Reported>> {
    let marker = std::str::from_utf8(tree.get(FILE_NAME)?).ok()?;
    let recorded = Ownership::parse(marker).ok()?;
    if !recorded.is_same_chart(&chart.ownership()) {
        return None;
    }
    let report = tree.get(UPGRADE_REPORT).filter(|report| {
        // An edited report is not taken over: the build reports the edit.
        recorded.sums.get(UPGRADE_REPORT) == Some(&sha256(report))
    });
    let upgrade = report.and_then(|report| Upgrade::parse(std::str::from_utf8(report).ok()?));
    Some(upgrade.zip(report.cloned()))
}

/// Returns REPORT.md: the charts of the build, and a summary of each upgrade.
pub fn summary<'a>(charts: impl IntoIterator<Item = &'a BuiltChart>) -> String {
    let mut text = String::from(
        "<!-- Generated by `bundle2chart build`. -->\n# Charts\n\n| chart | version | templates | CRDs | size | upgrade from | breaking | risky | info |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    // The order of the configuration is no content.
    let mut rows: Vec<&BuiltChart> = charts.into_iter().collect();
    rows.sort_by(|one, other| one.dir.cmp(&other.dir));
    for chart in &rows {
        let name = chart.dir.iter().next().unwrap_or_default().display();
        let BuiltChart { version, templates, crds, .. } = chart;
        let _ = write!(
            text,
            "| [{name}]({}/README.md) | {version} | {templates} | {crds} | {} KiB |",
            chart.dir.display(),
            chart.bytes.div_ceil(1024),
        );
        match &chart.upgrade {
            None => text.push_str(" | | | |\n"),
            Some(upgrade) => {
                let [breaking, risky, info] = upgrade.counts;
                let _ = writeln!(
                    text,
                    " [{}]({}/{UPGRADE_REPORT}) | {breaking} | {risky} | {info} |",
                    markdown::text(&upgrade.from),
                    chart.dir.display(),
                );
            }
        }
    }

    // The worst upgrades first.
    rows.sort_by_key(|chart| {
        std::cmp::Reverse(chart.upgrade.as_ref().map(|upgrade| upgrade.counts))
    });
    for chart in &rows {
        let Some(upgrade) = &chart.upgrade else { continue };
        let name = chart.dir.iter().next().unwrap_or_default().display();
        let from = markdown::text(&upgrade.from);
        let _ = write!(text, "\n## {name} {from} → {}\n\n{}", chart.version, upgrade.screen);
    }
    let end = text.trim_end().len();
    text.truncate(end);
    text.push('\n');
    text
}

#[cfg(test)]
mod tests;

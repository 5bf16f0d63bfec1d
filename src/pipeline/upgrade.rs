//! The reports of a build: the upgrade of each chart, and the summary of the build.

use super::chart_versions::{precedence, versions_on_disk};
use super::operand::{NAMESPACE, Operands};
use crate::config::{Config, Layout};
use crate::diag::{Diagnostic, Diagnostics, Fatal, Severity};
use crate::diff::render;
use crate::diff::{self, ChangeSet, Class, Options};
use crate::escape::markdown;
use crate::output::ChartFiles;
use crate::output::ownership::{FILE_NAME, UPGRADE_REPORT};
use crate::source::SourceResolver;
use crate::source::chart as charts;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
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
    /// The upgrade from the version before it.
    pub upgrade: Option<Upgrade>,
}

/// An upgrade from the version of a chart in the output directory.
#[derive(Debug)]
pub struct Upgrade {
    from: String,
    /// Number of changes by class.
    classes: BTreeMap<Class, usize>,
    /// Number of changes by class and code.
    codes: BTreeMap<(Class, &'static str), usize>,
}

impl BuiltChart {
    /// Returns what reports say about a chart.
    pub fn new(chart: &ChartFiles, upgrade: Option<Upgrade>) -> Self {
        let (templates, crds) = chart.counts();
        let files = chart.files.iter().filter(|(path, _)| *path != UPGRADE_REPORT);
        BuiltChart {
            dir: chart.dir.clone(),
            version: chart.version.clone(),
            templates,
            crds,
            bytes: files.map(|(_, content)| content.len()).sum(),
            upgrade,
        }
    }
}

/// Compares charts with their previous versions in the output directory. Only charts that were
/// generated and can be rendered by bundle2chart are compared, so that the report does not depend
/// on the environment of the build.
pub struct Upgrades<'a> {
    operands: Operands<'a>,
    options: Options,
    layout: Layout,
}

impl<'a> Upgrades<'a> {
    /// Prepares the upgrades from the charts in the output directory `out`.
    pub fn new(out: &'a Path, config: &'a Config, sources: &'a SourceResolver) -> Self {
        let operands = Operands {
            sources,
            config: Some(config),
            lock: None,
            out,
            namespace: NAMESPACE,
            values: Json::Object(Map::new()),
            helm: false,
        };
        let options = Options { only: Vec::new(), ignore: config.ignore.clone() };
        Upgrades { operands, options, layout: config.output.layout }
    }

    /// Adds UPGRADE.md to a chart with a previous version in the output directory, and returns the
    /// upgrade. With the flat layout, the new version replaces the old one, and there is no report.
    ///
    /// The diagnostics are warnings about previous versions that cannot be compared.
    pub fn report(&self, chart: &mut ChartFiles) -> (Option<Upgrade>, Diagnostics) {
        if self.layout == Layout::Flat {
            return (None, Diagnostics::new());
        }
        match self.compare(chart) {
            Ok(None) => (None, Diagnostics::new()),
            Ok(Some((from, set))) => {
                let text = render::markdown::render(&set, render::markdown::LIMIT);
                chart.files.insert(UPGRADE_REPORT.to_owned(), text.into_bytes());
                let classes = Class::ALL.iter().map(|class| (*class, set.count(*class)));
                let upgrade =
                    Upgrade { from, classes: classes.collect(), codes: diff::codes(&set) };
                (Some(upgrade), Diagnostics::new())
            }
            Err(problem) => {
                let warning = Diagnostic {
                    severity: Severity::Warning,
                    message: format!("{UPGRADE_REPORT} is not written: {}", problem.message),
                    ..*problem
                };
                let name = chart.dir.display().to_string();
                (None, Diagnostics::from(warning).for_bundle(&name))
            }
        }
    }

    fn compare(&self, chart: &ChartFiles) -> Result<Option<(String, ChangeSet)>, Fatal> {
        let Some(name) = chart.dir.iter().next().and_then(|name| name.to_str()) else {
            return Ok(None);
        };
        let out = self.operands.out;
        let new = precedence(&chart.version);
        let earlier = versions_on_disk(out, name)
            .into_iter()
            .filter(|(folder, version)| {
                precedence(version) < new && out.join(folder).join(FILE_NAME).is_file()
            })
            .max_by_key(|(_, version)| precedence(version));
        let Some((folder, version)) = earlier else { return Ok(None) };
        let old = self.operands.chart("", &charts::read_folder(&out.join(folder))?)?;
        let new = self.operands.chart("", &chart.files)?;
        Ok(Some((version, diff::compare(old, new, &self.options))))
    }
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
                let count = |class| upgrade.classes.get(&class).copied().unwrap_or_default();
                let _ = writeln!(
                    text,
                    " [{}]({}/{UPGRADE_REPORT}) | {} | {} | {} |",
                    markdown::text(&upgrade.from),
                    chart.dir.display(),
                    count(Class::Breaking),
                    count(Class::Risky),
                    count(Class::Info),
                );
            }
        }
    }
    for chart in &rows {
        let Some(upgrade) = &chart.upgrade else { continue };
        let serious = || upgrade.codes.iter().filter(|((class, _), _)| *class != Class::Info);
        if serious().next().is_none() {
            continue;
        }
        let name = chart.dir.iter().next().unwrap_or_default().display();
        let from = markdown::text(&upgrade.from);
        let _ = write!(text, "\n## {name} {from} → {}\n\n", chart.version);
        for ((class, code), count) in serious() {
            let rule = diff::rules::all().find(|rule| rule.code == *code);
            let title = rule.map_or("", |rule| rule.title);
            let _ = writeln!(text, "- {} `{code}` × {count}: {title}", class.as_str());
        }
    }
    text
}

//! The reports that a build writes: what an upgrade to each chart does, and what the build made.

use super::in_parallel;
use super::operand::{NAMESPACE, Operands, precedence, versions_on_disk};
use crate::config::{Config, Layout};
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::diff::render::markdown;
use crate::diff::{self, ChangeSet, Class, Options};
use crate::emit::ChartFiles;
use crate::emit::ownership::{FILE_NAME, UPGRADE_REPORT};
use crate::source::Supply;
use crate::source::chart as charts;
use serde_json::{Map, Value as Json};
use std::fmt::Write as _;
use std::path::Path;

/// The reports of a build.
#[derive(Default)]
pub struct Reports {
    /// For each chart, the earlier version in the output folder and what an upgrade from it does.
    pub upgrades: Vec<Option<(String, ChangeSet)>>,
    /// Warnings about earlier versions that cannot be compared.
    pub diagnostics: Diagnostics,
}

/// Adds UPGRADE.md to each chart that has an earlier version in the output folder. Only charts that
/// bundle2chart wrote and can render itself are compared, so that the report is the same wherever
/// the build runs.
///
/// With the flat layout the new version takes the place of the old one, and there is no report.
pub fn reports(
    built: &mut [ChartFiles],
    out: &Path,
    config: &Config,
    supply: &Supply,
    jobs: usize,
) -> Reports {
    let mut reports = Reports::default();
    if config.output.layout == Layout::Flat {
        reports.upgrades = built.iter().map(|_| None).collect();
        return reports;
    }
    let operands = Operands {
        supply,
        config: Some(config),
        lock: None,
        out,
        namespace: NAMESPACE,
        values: Json::Object(Map::new()),
        helm: false,
    };
    let options = Options { only: Vec::new(), ignore: config.ignore.clone() };
    let work = |chart: &&ChartFiles| upgrade(chart, &operands, &options);
    let list: Vec<&ChartFiles> = built.iter().collect();
    let done = in_parallel(&list, jobs, work);
    for (chart, done) in built.iter_mut().zip(done) {
        match done {
            Ok(found) => {
                if let Some((_, set)) = &found {
                    let text = markdown::render(set, markdown::LIMIT);
                    chart.files.insert(UPGRADE_REPORT.to_owned(), text.into_bytes());
                }
                reports.upgrades.push(found);
            }
            Err(problems) => {
                let as_warning = |problem: Diagnostic| Diagnostic {
                    severity: Severity::Warning,
                    message: format!("{UPGRADE_REPORT} is not written: {}", problem.message),
                    ..problem
                };
                let name = chart.dir.display().to_string();
                let problems: Diagnostics = problems.into_iter().map(as_warning).collect();
                reports.diagnostics.append(problems.for_bundle(&name));
                reports.upgrades.push(None);
            }
        }
    }
    reports
}

fn upgrade(
    chart: &ChartFiles,
    operands: &Operands<'_>,
    options: &Options,
) -> Result<Option<(String, ChangeSet)>, Diagnostics> {
    let Some(name) = chart.dir.iter().next().and_then(|name| name.to_str()) else {
        return Ok(None);
    };
    let new = precedence(&chart.version);
    let earlier = versions_on_disk(operands.out, name)
        .into_iter()
        .filter(|(folder, version)| {
            precedence(version) < new && operands.out.join(folder).join(FILE_NAME).is_file()
        })
        .max_by_key(|(_, version)| precedence(version));
    let Some((folder, version)) = earlier else { return Ok(None) };
    let old = operands.chart("", &charts::read_folder(&operands.out.join(folder))?)?;
    let new = operands.chart("", &chart.files)?;
    Ok(Some((version, diff::compare(old, new, options))))
}

/// REPORT.md: what the build made, and what each upgrade does, in short.
pub fn summary(charts: &[ChartFiles], upgrades: &[Option<(String, ChangeSet)>]) -> String {
    let mut text = String::from(
        "<!-- Written by `bundle2chart build`. -->\n# Charts\n\n\
         | chart | version | templates | CRDs | size | upgrade from | breaking | risky | info |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    // The order of the configuration is no content.
    let mut rows: Vec<_> = charts.iter().zip(upgrades).collect();
    rows.sort_by(|(one, _), (other, _)| one.dir.cmp(&other.dir));
    for (chart, upgrade) in &rows {
        let name = chart.dir.iter().next().unwrap_or_default().display();
        let (templates, crds) = chart.counts();
        let bytes: usize = chart
            .files
            .iter()
            .filter(|(path, _)| *path != UPGRADE_REPORT)
            .map(|(_, content)| content.len())
            .sum();
        let _ = write!(
            text,
            "| [{name}]({}/README.md) | {} | {templates} | {crds} | {} KiB |",
            chart.dir.display(),
            chart.version,
            bytes.div_ceil(1024),
        );
        match upgrade {
            None => text.push_str(" | | | |\n"),
            Some((version, set)) => {
                let _ = writeln!(
                    text,
                    " [{version}]({}/{UPGRADE_REPORT}) | {} | {} | {} |",
                    chart.dir.display(),
                    set.count(Class::Breaking),
                    set.count(Class::Risky),
                    set.count(Class::Info),
                );
            }
        }
    }
    for (chart, upgrade) in &rows {
        let Some((version, set)) = upgrade else { continue };
        let serious: Vec<_> =
            diff::codes(set).into_iter().filter(|((class, _), _)| *class != Class::Info).collect();
        if serious.is_empty() {
            continue;
        }
        let name = chart.dir.iter().next().unwrap_or_default().display();
        let _ = write!(text, "\n## {name} {version} → {}\n\n", chart.version);
        for ((class, code), count) in serious {
            let rule = diff::rules::all().find(|rule| rule.code == code);
            let title = rule.map_or("", |rule| rule.title);
            let _ = writeln!(text, "- {} `{code}` × {count}: {title}", class.as_str());
        }
    }
    text
}

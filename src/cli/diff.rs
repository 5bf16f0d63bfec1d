//! `bundle2chart diff [OLD] NEW`

use super::{Exit, Invocation, environments};
use crate::config::Config;
use crate::diag::{Code, Diagnostic, Diagnostics, Severity};
use crate::diff::render::report::{Comparison, Report};
use crate::diff::render::{json, markdown, text};
use crate::diff::{self, ChangeSet, Class, Ignore, Ignored, Options, Pattern, Side, values};
use crate::lock;
use crate::pipeline::operand::{self, Operands};
use crate::pipeline::revision::{self, ChartPair};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::{Path, PathBuf};

/// Show the changes of an upgrade.
#[derive(Debug, clap::Args)]
pub(super) struct Diff {
    /// The installed chart and the new one: a chart directory or package; `NAME@VERSION`, or `NAME`
    /// for the highest version, in the output directory; a bundle directory, layout or tar; or a
    /// bundle image reference. OLD is optional with `--rev`; with neither, all charts are compared.
    #[arg(value_names = ["OLD", "NEW"], num_args = 0..=2, required_unless_present = "rev")]
    operands: Vec<String>,
    /// Read OLD from the output directory at this Git revision, or, if the output directory is not
    /// committed, from bundles.lock at this revision.
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
    /// Values file for rendering the charts, or `ENVIRONMENT=FILE` for one environment; can be
    /// repeated. Later files override earlier ones. Environments with the same report share it.
    #[arg(short = 'f', long, value_name = "FILE")]
    values: Vec<String>,
    /// Release namespace. Default: for charts that bundle2chart did not write, the one of their bundle
    /// in the configuration; the objects of others do not depend on it.
    #[arg(long, value_name = "NS")]
    namespace: Option<String>,
    /// Report format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the report to a file.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Exit with 1 if there is a change of this class or a more severe one.
    #[arg(long, value_name = "CLASS", value_parser = failing_class())]
    fail_on: Option<Class>,
    /// Exit with 1 if there is any difference.
    #[arg(long)]
    exit_code: bool,
    /// Only show changes that match this pattern, for example `Deployment` or
    /// `Role/reader:.rules`; can be repeated.
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// Ignore changes that match this pattern; can be repeated. Use `[[ignore]]` in the
    /// configuration to ignore them permanently, with a reason.
    #[arg(long, value_name = "PATTERN")]
    ignore: Vec<String>,
    /// Output directory, overrides `dir` in the configuration.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Markdown,
    Json,
    Html,
}

/// Returns the parser of `--fail-on`. Informational changes are no reason to fail.
fn failing_class() -> impl TypedValueParser<Value = Class> {
    let classes = [Class::Breaking, Class::Risky];
    PossibleValuesParser::new(classes.map(Class::as_str))
        .map(move |name| if name == classes[0].as_str() { classes[0] } else { classes[1] })
}

impl Diff {
    pub(super) fn run(&self, invocation: &mut Invocation<'_>) -> Option<Exit> {
        if self.output.is_none() {
            // Before anything is reported, also by the configuration.
            invocation.output.keep_stdout_for_result();
        }
        let report = self.compare(invocation)?;
        let Invocation { global, output, diagnostics } = invocation;
        diagnostics.no_errors()?;
        output.diagnostics(diagnostics);
        let to_terminal = self.output.is_none();
        let text = match self.format {
            Format::Text => {
                let (colour, width, terminal) = output.report_style(to_terminal);
                let full = global.verbose > 0;
                // Do not wrap lines in files, so that they can be searched.
                report.text(text::Style { colour, width, full, cut: terminal && !full })
            }
            Format::Markdown => report.markdown(markdown::LIMIT),
            Format::Json => report.json(),
            Format::Html => report.html(),
        };
        match &self.output {
            None => output.document(&text),
            Some(file) => {
                if let Err(error) = write(file, &text) {
                    return Some(output.error([
                        &*format!("error: cannot write `{}`: {error}", file.display()),
                        "hint: use a path in an existing directory",
                    ]));
                }
            }
        }
        // The worst class is the lowest.
        let worst = report.class();
        let failed = self.fail_on.zip(worst).is_some_and(|(limit, worst)| worst <= limit);
        let found = failed || (self.exit_code && !report.is_empty());
        Some(if found { Exit::Findings } else { Exit::Clean })
    }

    /// Returns the report.
    fn compare(&self, invocation: &mut Invocation<'_>) -> Option<Report> {
        let (config, sources) = invocation.configuration_if_any()?;
        let Invocation { global, diagnostics, .. } = invocation;
        let configured = config.as_ref().map(Config::out);
        let out = self.out.clone().or(configured).unwrap_or_else(|| PathBuf::from("out"));
        let lock_path = lock::path_of(&global.config);
        let pairs = self.pairs(config.as_ref(), &global.config, &out, diagnostics)?;
        let options = self.options(config.as_ref(), diagnostics);
        let environments = diagnostics.report(environments::read(&self.values))?;

        let mut comparisons: Vec<Comparison> = Vec::new();
        for pair in &pairs {
            let mut of_pair: Vec<(Vec<&str>, ChangeSet)> = Vec::new();
            for environment in &environments {
                let operands = Operands {
                    config: config.as_ref(),
                    lock: Some(&lock_path),
                    namespace: self.namespace.as_deref().unwrap_or(operand::NAMESPACE),
                    values: environment.values.clone(),
                    helm: true,
                    ..Operands::new(&sources, &out)
                };
                let mut found = Diagnostics::new();
                let sides = self.sides(&operands, pair, &mut found);
                // The same problem in every environment is reported once.
                let known: Vec<String> = diagnostics.iter().map(|d| d.message.clone()).collect();
                diagnostics.extend(found.into_iter().filter(|d| !known.contains(&d.message)));
                let (mut old, mut new) = sides?;
                // Only the loaded charts say which bundle they are of, and with it the namespace.
                let namespace = self.known_namespace(&operands, [&old, &new]);
                if let Some(namespace) = &namespace {
                    let operands = Operands { namespace, ..operands.clone() };
                    // What this reports is known from the first time.
                    (old, new) = self.sides(&operands, pair, &mut Diagnostics::new())?;
                    new.label.push_str(&format!(" in namespace {namespace}"));
                }
                // In both directions: CRDs may move into the chart NAME-crds, or out of it.
                diagnostics.report(operands.add_separate_crds(&old, &mut new))?;
                diagnostics.report(operands.add_separate_crds(&new, &mut old))?;
                let options = Options { values: environment.files.clone(), ..options.clone() };
                let set = diff::compare(old, new, &options);
                // Else a reviewer would read the same changes once for each environment.
                let same = of_pair.iter_mut().find(|(_, other)| is_same_report(other, &set));
                match same {
                    Some((names, _)) => names.push(&environment.name),
                    None => of_pair.push((vec![&environment.name], set)),
                }
            }
            for (names, set) in of_pair {
                let names = names.join(", ");
                let name = match (pair.name.as_str(), names.as_str()) {
                    (name, "") => name.to_owned(),
                    ("", names) => names.to_owned(),
                    (name, names) => format!("{name} ({names})"),
                };
                comparisons.push(Comparison { name, set });
            }
        }
        self.unknown_only(&comparisons, diagnostics);
        unused_ignores(&comparisons, diagnostics);
        Some(Report::new(comparisons))
    }

    /// Returns the namespace of the configuration for sides whose objects may name it themselves.
    fn known_namespace(&self, operands: &Operands<'_>, sides: [&Side; 2]) -> Option<String> {
        // Charts of bundle2chart have expressions in place of the namespace.
        if self.namespace.is_some() || sides.iter().all(|side| side.follows_namespace) {
            return None;
        }
        let charts = sides.iter().filter_map(|side| side.chart.as_ref());
        let names = charts.map(|chart| chart.name.as_str());
        let packages = sides.iter().map(|side| side.package.as_str());
        let mut names = names.chain(packages).filter(|name| !name.is_empty());
        names.find_map(|name| operands.release_namespace(name))
    }

    /// Reports patterns of `--only` that match no object of any side: a report without differences would
    /// hide a misspelled name.
    fn unknown_only(&self, comparisons: &[Comparison], diagnostics: &mut Diagnostics) {
        for text in &self.only {
            let unknown = |comparison: &Comparison| comparison.set.unknown.contains(text);
            if comparisons.iter().all(unknown) {
                let message = format!("`--only {text}` matches no object of the two sides");
                let hint = "write KIND, KIND/NAME, KIND/NAMESPACE/NAME or a path, as in the report \
                    without `--only`";
                diagnostics.push(Diagnostic::error(Code::InvalidPattern, message).hint(hint));
            }
        }
    }

    /// Returns what is compared: two operands, or with `--rev` alone all charts.
    fn pairs(
        &self,
        config: Option<&Config>,
        config_path: &Path,
        out: &Path,
        diagnostics: &mut Diagnostics,
    ) -> Option<Vec<ChartPair>> {
        let pair = |old: &str, new: &str| ChartPair {
            name: String::new(),
            old: Some(old.to_owned()),
            new: Some(new.to_owned()),
        };
        match (self.operands.as_slice(), &self.rev) {
            ([old, new], _) => Some(vec![pair(old, new)]),
            // Use the chart name without its version: the old revision may have another version.
            ([new], Some(_)) => Some(vec![pair(new.split('@').next().unwrap_or(new), new)]),
            ([], Some(rev)) => {
                let pairs = revision::chart_pairs(config, config_path, out, rev);
                let pairs = diagnostics.report(pairs)?;
                // Otherwise a missing output directory would read as charts that were removed.
                if pairs.iter().all(|pair| pair.new.is_none()) {
                    let message = format!("no charts in `{}`", out.display());
                    let hint =
                        "run `bundle2chart build`, or pass the output directory with `--out`";
                    return diagnostics
                        .fail(Diagnostic::error(Code::ChartNotFound, message).hint(hint));
                }
                Some(pairs)
            }
            _ => {
                let message = "`diff` needs two charts, but only one is given";
                let hint = "pass OLD and NEW, or use `--rev` to read OLD from Git";
                diagnostics.fail(Diagnostic::error(Code::ChartNotFound, message).hint(hint))
            }
        }
    }

    /// Loads both sides of a pair; a chart that is missing on one side has no objects there.
    fn sides(
        &self,
        operands: &Operands<'_>,
        pair: &ChartPair,
        diagnostics: &mut Diagnostics,
    ) -> Option<(Side, Side)> {
        let mut load = |operand: &Option<String>, revision: Option<&str>| match operand {
            None => Some(Side { label: "(none)".to_owned(), ..Side::default() }),
            Some(operand) => operands.load(operand, revision, diagnostics),
        };
        let (old, new) = (load(&pair.old, self.rev.as_deref()), load(&pair.new, None));
        let (old, new) = (old?, new?);

        // Those of the new chart are findings.
        for why in values::refused(&old) {
            let message = format!("Helm rejects the values for {}: {why}", old.label);
            let hint = "use the values of the installed release";
            diagnostics.push(Diagnostic::warning(Code::ValuesRefused, message).hint(hint));
        }
        for side in [&old, &new] {
            for (id, is_other) in &side.duplicates {
                let (severity, how) = match is_other {
                    true => (Severity::Error, "with different contents"),
                    false => (Severity::Warning, "more than once"),
                };
                let message = format!("{} has {id} {how}", side.label);
                let found = Diagnostic::warning(Code::DuplicateObject, message)
                    .hint("remove all but one: only one of them can exist in a cluster");
                diagnostics.push(Diagnostic { severity, ..found });
            }
        }
        Some((old, new))
    }

    fn options(&self, config: Option<&Config>, diagnostics: &mut Diagnostics) -> Options {
        let mut options = Options {
            ignore: config.map(|config| config.ignore.clone()).unwrap_or_default(),
            ..Options::default()
        };
        let mut parse = |text: &String, flag: &str| {
            diagnostics.report(Pattern::parse(text).map_err(|why| {
                let message = format!("invalid pattern `{flag} {text}`: {why}");
                let hint = "run `bundle2chart explain invalid-pattern` for the syntax";
                Diagnostic::error(Code::InvalidPattern, message).hint(hint).into()
            }))
        };
        options.only.extend(self.only.iter().filter_map(|text| parse(text, "--only")));
        options.ignore.extend(self.ignore.iter().filter_map(|text| {
            let pattern = parse(text, "--ignore")?;
            Some(Ignore { pattern, reason: "requested with --ignore".to_owned() })
        }));
        options
    }
}

/// Returns true if two reports differ in the names of their values files only.
fn is_same_report(one: &ChangeSet, other: &ChangeSet) -> bool {
    let document =
        |set: &ChangeSet| json::document(&ChangeSet { values: Vec::new(), ..set.clone() });
    document(one) == document(other)
}

/// Reports patterns that matched no change of any comparison.
fn unused_ignores(comparisons: &[Comparison], diagnostics: &mut Diagnostics) {
    let ignored = |comparison: &Comparison| comparison.set.ignored.clone();
    let all: Vec<Ignored> = comparisons.iter().flat_map(ignored).collect();
    let mut reported: Vec<&str> = Vec::new();
    for Ignored { pattern, .. } in &all {
        // A pattern of bundles.toml is for all charts, so one that it matches is enough.
        let used = all.iter().any(|other| other.pattern == *pattern && other.changes > 0);
        if !used && !reported.contains(&pattern.as_str()) {
            reported.push(pattern);
            let message = format!("`{pattern}` matched no change");
            diagnostics.push(
                Diagnostic::note(Code::UnusedSetting, message)
                    .hint("remove it, unless another comparison needs it"),
            );
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the user chose the path of the report")]
fn write(file: &Path, report: &str) -> std::io::Result<()> {
    std::fs::write(file, report)
}

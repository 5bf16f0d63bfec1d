//! `bundle2chart diff [OLD] NEW`

use super::access::access;
use super::output::Output;
use super::{Exit, Global};
use crate::config::{Config, Network};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::diff::render::{html, json, markdown, text};
use crate::diff::{self, ChangeSet, Class, Ignore, Options, Pattern, values};
use crate::escape::Lines;
use crate::lock;
use crate::pipeline::operand::{self, Operands};
use crate::source::{Limits, SourceResolver};
use clap::ValueEnum;
use std::path::{Path, PathBuf};

/// Show the changes of an upgrade.
#[derive(Debug, clap::Args)]
pub(super) struct Diff {
    /// The installed chart and the new one: a chart directory or package; `NAME@VERSION`, or `NAME`
    /// for the highest version, in the output directory; a bundle directory, layout or tar; or a
    /// bundle image reference. OLD is optional with `--rev`.
    #[arg(value_names = ["OLD", "NEW"], num_args = 1..=2, required = true)]
    operands: Vec<String>,
    /// Read OLD from the output directory at this Git revision, or, if the output directory is not
    /// committed, from bundles.lock at this revision.
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
    /// Values file for rendering the charts; can be repeated.
    #[arg(short = 'f', long, value_name = "FILE")]
    values: Vec<PathBuf>,
    /// Release namespace.
    #[arg(long, value_name = "NS", default_value = operand::NAMESPACE)]
    namespace: String,
    /// Report format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the report to a file.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Exit with 1 if there is a change of this class or a more severe one.
    #[arg(long, value_name = "CLASS", value_enum)]
    fail_on: Option<FailOn>,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Breaking,
    Risky,
}

impl Diff {
    pub(super) fn run(&self, global: &Global, output: &mut Output) -> Exit {
        if self.output.is_none() {
            output.keep_stdout_for_result();
        }
        let mut diagnostics = Diagnostics::new();
        let set = self.compare(global, output, &mut diagnostics);
        output.diagnostics(&diagnostics);
        let Some((set, refused)) = set.filter(|_| !diagnostics.has_errors()) else {
            return Exit::Error;
        };
        let to_terminal = self.output.is_none();
        let report = match self.format {
            Format::Text => {
                let (colour, width, terminal) = output.report_style(to_terminal);
                let full = global.verbose > 0;
                // Do not wrap lines in files, so that they can be searched.
                text::render(&set, text::Style { colour, width, full, cut: terminal && !full })
            }
            Format::Markdown => markdown::render(&set, markdown::LIMIT),
            Format::Json => json::render(&set),
            Format::Html => html::render(&set),
        };
        match &self.output {
            None => output.document(&report),
            Some(file) => {
                if let Err(error) = write(file, &report) {
                    output.error(&Lines::from_iter([
                        format!("error: cannot write `{}`: {error}", file.display()),
                        "hint: use a path in an existing directory".to_owned(),
                    ]));
                    return Exit::Error;
                }
            }
        }
        let failed = match self.fail_on {
            None => false,
            // Rejected values fail the upgrade, so they count as breaking.
            Some(_) if refused => true,
            Some(FailOn::Breaking) => set.has(Class::Breaking),
            Some(FailOn::Risky) => set.has(Class::Breaking) || set.has(Class::Risky),
        };
        if failed || (self.exit_code && !set.is_empty()) { Exit::Findings } else { Exit::Clean }
    }

    /// Returns the change set, and true if Helm rejects the values for the new chart.
    fn compare(
        &self,
        global: &Global,
        output: &mut Output,
        diagnostics: &mut Diagnostics,
    ) -> Option<(ChangeSet, bool)> {
        let config = if global.config.exists() {
            let (config, found) = Config::read(&global.config);
            diagnostics.append(found);
            Some(config?)
        } else {
            None
        };
        if let Some(config) = &config {
            output.configured(config);
        }
        let sources = match &config {
            Some(config) => SourceResolver::of(config, access(global)),
            None => {
                let (network, limits) = (Network::default(), Limits::default());
                SourceResolver::new(Path::new(""), &[], &[], &network, &limits, access(global))
            }
        };
        let configured = config.as_ref().map(Config::out);
        let out = self.out.clone().or(configured).unwrap_or_else(|| PathBuf::from("out"));
        let (old, new) = match (self.operands.as_slice(), &self.rev) {
            ([old, new], _) => (old.as_str(), new.as_str()),
            // Use the chart name without its version: the old revision may have another version.
            ([new], Some(_)) => (new.split('@').next().unwrap_or(new), new.as_str()),
            _ => {
                let message = "`diff` needs two charts, but only one is given";
                let hint = "pass OLD and NEW, or use `--rev` to read OLD from Git";
                diagnostics.push(Diagnostic::error(Code::ChartNotFound, message).hint(hint));
                return None;
            }
        };
        let options = self.options(config.as_ref(), diagnostics);
        let values = diagnostics.report(operand::read_values(&self.values));
        let lock_path = lock::path_of(&global.config);
        let operands = Operands {
            sources: &sources,
            config: config.as_ref(),
            lock: Some(&lock_path),
            out: &out,
            namespace: &self.namespace,
            values: values?,
            helm: true,
        };
        let (old, found) = operands.load(old, self.rev.as_deref());
        diagnostics.append(found);
        let (new, found) = operands.load(new, None);
        diagnostics.append(found);
        let (old, new) = (old?, new?);
        for side in [&old, &new] {
            for why in values::refused(side) {
                let message = format!("Helm rejects the values for {}: {why}", side.label);
                let hint = "fix the values: `helm upgrade` fails with them";
                diagnostics.push(Diagnostic::warning(Code::ValuesRefused, message).hint(hint));
            }
            for id in &side.duplicates {
                let message = format!("{} has {id} more than once", side.label);
                let hint = "only the last one is compared, and only one of them can exist in a \
                    cluster";
                diagnostics.push(Diagnostic::warning(Code::DuplicateObject, message).hint(hint));
            }
        }
        let refused = !values::refused(&new).is_empty();
        let set = diff::compare(old, new, &options);
        for unused in set.ignored.iter().filter(|ignored| ignored.changes == 0) {
            let message = format!("`{}` matched no change", unused.pattern);
            diagnostics.push(
                Diagnostic::note(Code::UnusedSetting, message)
                    .hint("remove it, unless another comparison needs it"),
            );
        }
        Some((set, refused))
    }

    fn options(&self, config: Option<&Config>, diagnostics: &mut Diagnostics) -> Options {
        let mut options = Options {
            only: Vec::new(),
            ignore: config.map(|config| config.ignore.clone()).unwrap_or_default(),
        };
        let mut parse = |text: &String, flag: &str| {
            Pattern::parse(text)
                .map_err(|why| {
                    let message = format!("invalid pattern `{flag} {text}`: {why}");
                    let hint = "run `bundle2chart explain invalid-pattern` for the syntax";
                    diagnostics.push(Diagnostic::error(Code::InvalidPattern, message).hint(hint));
                })
                .ok()
        };
        options.only.extend(self.only.iter().filter_map(|text| parse(text, "--only")));
        options.ignore.extend(self.ignore.iter().filter_map(|text| {
            let pattern = parse(text, "--ignore")?;
            Some(Ignore { pattern, reason: "requested with --ignore".to_owned() })
        }));
        options
    }
}

#[expect(clippy::disallowed_methods, reason = "the user chose the path of the report")]
fn write(file: &Path, report: &str) -> std::io::Result<()> {
    std::fs::write(file, report)
}

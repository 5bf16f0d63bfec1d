//! `bundle2chart diff [OLD] NEW`

use super::{Exit, Invocation};
use crate::compare::Request;
use crate::config::Config;
use crate::diff::Class;
use crate::diff::render::{markdown, text};
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
        let (config, sources) = invocation.configuration_if_any()?;
        let Invocation { global, output, diagnostics } = invocation;
        let configured = config.as_ref().map(Config::out);
        let out = self.out.clone().or(configured).unwrap_or_else(|| PathBuf::from("out"));
        let request = Request {
            operands: &self.operands,
            rev: self.rev.as_deref(),
            values: &self.values,
            namespace: self.namespace.as_deref(),
            only: &self.only,
            ignore: &self.ignore,
            config: config.as_ref(),
            config_path: &global.config,
            sources: &sources,
            out: &out,
        };
        let report = request.report(diagnostics)?;
        diagnostics.no_errors()?;
        output.diagnostics(diagnostics);
        let to_terminal = self.output.is_none();
        let text = match self.format {
            Format::Text => {
                let (colour, width) = output.report_style(to_terminal);
                report.text(text::Style { colour, width, full: global.verbose > 0 })
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
}

#[expect(clippy::disallowed_methods, reason = "the user chose the path of the report")]
fn write(file: &Path, report: &str) -> std::io::Result<()> {
    std::fs::write(file, report)
}

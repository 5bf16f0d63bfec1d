//! Compares charts: in, two operands or a revision of Git; out, the report of all changes.

use crate::config::Config;
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, Severity};
use crate::diff::render::json;
use crate::diff::render::report::{Comparison, Report};
use crate::diff::{self, ChangeSet, Ignore, Ignored, Options, Pattern, Side, values};
use crate::lock;
use crate::pipeline::operand::{self, Operands};
use crate::pipeline::revision::{self, ChartPair};
use crate::source::SourceResolver;
use indexmap::IndexSet;
use serde_json::Value as Json;
use std::path::Path;

/// The charts to compare, and the options.
pub(crate) struct Request<'r> {
    /// The old chart and the new one; with a revision the new one, or none for all charts.
    pub operands: &'r [String],
    /// The revision of Git with the old charts.
    pub rev: Option<&'r str>,
    /// Files of values, with their environments.
    pub values: &'r [String],
    pub namespace: Option<&'r str>,
    /// Patterns of the changes to show; none means all.
    pub only: &'r [String],
    /// Patterns of the changes to ignore, besides those of the configuration.
    pub ignore: &'r [String],
    pub config: Option<&'r Config>,
    /// The file of the configuration.
    pub config_path: &'r Path,
    pub sources: &'r SourceResolver,
    /// The output directory.
    pub out: &'r Path,
}

impl Request<'_> {
    /// Returns the report; `None` after an error.
    pub(crate) fn report(&self, diagnostics: &mut Diagnostics) -> Option<Report> {
        let lock_path = lock::path_of(self.config_path);
        let pairs = self.pairs(diagnostics)?;
        let options = self.options(diagnostics);
        let environments = diagnostics.report(environments(self.values))?;

        let mut comparisons: Vec<Comparison> = Vec::new();
        for pair in &pairs {
            let mut of_pair: Vec<(Vec<&str>, ChangeSet)> = Vec::new();
            for environment in &environments {
                let operands = Operands {
                    config: self.config,
                    lock: Some(&lock_path),
                    namespace: self.namespace.unwrap_or(operand::NAMESPACE),
                    values: environment.values.clone(),
                    helm: true,
                    ..Operands::new(self.sources, self.out)
                };
                let mut found = Diagnostics::new();
                let sides = self.sides(&operands, pair, &mut found);
                // The same problem in every environment is reported once.
                let known: Vec<String> = diagnostics.iter().map(|d| d.message.clone()).collect();
                diagnostics.extend(found.into_iter().filter(|d| !known.contains(&d.message)));
                let (mut old, mut new) = sides?;
                // Only the loaded charts say which bundle they are of, and with it the namespace.
                let namespace = self.known_namespace([&old, &new]);
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
    fn known_namespace(&self, sides: [&Side; 2]) -> Option<String> {
        // Charts of bundle2chart have expressions in place of the namespace.
        if self.namespace.is_some() || sides.iter().all(|side| side.follows_namespace) {
            return None;
        }
        let charts = sides.iter().filter_map(|side| side.chart.as_ref());
        let names = charts.map(|chart| chart.name.as_str());
        let packages = sides.iter().map(|side| side.package.as_str());
        let mut names = names.chain(packages).filter(|name| !name.is_empty());
        let config = self.config?;
        names.find_map(|name| {
            let table = config.table_of_chart(name)?;
            let bundle = config.bundles.iter().find(|bundle| bundle.name == table)?;
            Some(bundle.namespace.clone().unwrap_or_else(|| bundle.name.clone()))
        })
    }

    /// Reports patterns of `--only` that match no object of any side: a report without differences would
    /// hide a misspelled name.
    fn unknown_only(&self, comparisons: &[Comparison], diagnostics: &mut Diagnostics) {
        for text in self.only {
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
    fn pairs(&self, diagnostics: &mut Diagnostics) -> Option<Vec<ChartPair>> {
        let out = self.out;
        let pair = |old: &str, new: &str| ChartPair {
            name: String::new(),
            old: Some(old.to_owned()),
            new: Some(new.to_owned()),
        };
        match (self.operands, self.rev) {
            ([old, new], _) => Some(vec![pair(old, new)]),
            // Use the chart name without its version: the old revision may have another version.
            ([new], Some(_)) => Some(vec![pair(new.split('@').next().unwrap_or(new), new)]),
            ([], Some(rev)) => {
                let pairs = revision::chart_pairs(self.config, self.config_path, out, rev);
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
        let (old, new) = (load(&pair.old, self.rev), load(&pair.new, None));
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

    fn options(&self, diagnostics: &mut Diagnostics) -> Options {
        let mut options = Options {
            ignore: self.config.map(|config| config.ignore.clone()).unwrap_or_default(),
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
            let hint = "remove it, unless another comparison needs it";
            diagnostics.push(Diagnostic::note(Code::UnusedSetting, message).hint(hint));
        }
    }
}

/// The values of an environment.
#[derive(Clone, Debug)]
struct Environment {
    /// The name; empty if no file names an environment.
    name: String,
    /// The files as written on the command line, in the order in which Helm layers them.
    files: Vec<String>,
    /// The layered values.
    values: Json,
}

/// Reads the files of `--values`: `FILE` is for all environments, `ENVIRONMENT=FILE` for one. Later
/// files override earlier ones, as with `helm upgrade --values`.
///
/// # Errors
/// Fails if a file cannot be read or is no mapping.
fn environments(arguments: &[String]) -> Result<Vec<Environment>, Fatal> {
    let parsed: Vec<(Option<&str>, &str)> = arguments.iter().map(|text| parse(text)).collect();
    // In the order of the command line, which is that of the reports.
    let mut names: IndexSet<&str> = parsed.iter().filter_map(|(name, _)| *name).collect();
    if names.is_empty() {
        names.insert("");
    }

    let environment = |name: &str| {
        let mine = parsed.iter().filter(|(of, _)| of.is_none_or(|of| of == name));
        let files: Vec<String> = mine.map(|(_, file)| (*file).to_owned()).collect();
        let values = operand::read_values(&files)?;
        Ok(Environment { name: name.to_owned(), files, values })
    };
    names.into_iter().map(environment).collect()
}

/// Splits `ENVIRONMENT=FILE`. Paths such as `./a=b.yaml` have no environment.
fn parse(text: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    match text.split_once('=') {
        Some((name, file)) if is_name(name) && !file.is_empty() => (Some(name), file),
        _ => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn environments_are_names_before_an_equals_sign() {
        for (text, expected) in [
            ("prod=values/prod.yaml", (Some("prod"), "values/prod.yaml")),
            ("eu-1.prod=a=b.yaml", (Some("eu-1.prod"), "a=b.yaml")),
            ("prod.yaml", (None, "prod.yaml")),
            ("./a=b.yaml", (None, "./a=b.yaml")),
            ("prod=", (None, "prod=")),
            ("=prod.yaml", (None, "=prod.yaml")),
        ] {
            assert_eq!(parse(text), expected);
        }
    }
}

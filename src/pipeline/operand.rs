//! Loads the operands of `diff`: converts a chart or a bundle to its objects in the cluster.
//!
//! [`Operands::load`] finds out what the text of the user names: `bundle` compiles bundles, `chart`
//! renders charts, and `values` joins their values.

mod bundle;
mod chart;
mod values;

pub use values::{merge, read_values};

use crate::config::{CRDS_SUFFIX, Config, Source};
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, quoted, suggest};
use crate::diff::{Placement, Side};
use crate::ir::Identity;
use crate::output::chart_versions::{ChartName, pick, versions_in, versions_on_disk};
use crate::source::chart::{self as charts, Form};
use crate::source::{self, Reference, SourceResolver};
use serde_json::{Map, Value as Json};
use std::path::Path;

/// Placeholder for the release namespace in reports; identities omit it.
pub const NAMESPACE: &str = "release-namespace";

/// Loads and renders operands.
#[derive(Clone)]
pub struct Operands<'a> {
    /// Reads bundles.
    pub sources: &'a SourceResolver,
    /// The configuration, which defines how bundles are compiled, if any.
    pub config: Option<&'a Config>,
    /// The lock of the configuration, for what a bundle was in a Git revision.
    pub lock: Option<&'a Path>,
    /// The output directory, for `NAME@VERSION`.
    pub out: &'a Path,
    /// Name of the release namespace.
    pub namespace: &'a str,
    /// Values over the defaults of charts.
    pub values: Json,
    /// True if the `helm` program can be used to render charts that bundle2chart cannot.
    pub helm: bool,
}

impl<'a> Operands<'a> {
    /// Returns operands without a configuration; charts have their default values, and are rendered
    /// without the `helm` program.
    pub fn new(sources: &'a SourceResolver, out: &'a Path) -> Self {
        Operands {
            sources,
            config: None,
            lock: None,
            out,
            namespace: NAMESPACE,
            values: Json::Object(Map::new()),
            helm: false,
        }
    }

    /// Loads `text`: a chart directory or package, `NAME@VERSION` or `NAME` in the output
    /// directory, a bundle directory, layout, tar or image. With a Git revision: a chart in the
    /// output directory at this revision, or, if the output directory is not committed, the bundle
    /// locked at this revision, compiled with the current configuration.
    ///
    /// `None` after an error.
    pub fn load(
        &self,
        text: &str,
        revision: Option<&str>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Side> {
        let start = diagnostics.mark();
        let loaded = match revision {
            Some(revision) => self.at_revision(text, revision, diagnostics),
            None => self.now(text, diagnostics),
        };
        let side = diagnostics.report(loaded).flatten();
        side.filter(|_| !diagnostics.has_errors_since(start))
    }

    /// Adds the CRDs that `other` has and `side` has not from the chart `NAME-crds` of the same version
    /// in the output directory: they are not removed.
    ///
    /// # Errors
    /// If that chart cannot be read.
    pub fn add_separate_crds(&self, other: &Side, side: &mut Side) -> Result<(), Fatal> {
        let Some(chart) = &mut side.chart else { return Ok(()) };
        let is_lost = |(id, _): &(&Identity, &Json)| {
            id.kind == "CustomResourceDefinition" && !side.objects.contains_key(*id)
        };
        let name = format!("{}{CRDS_SUFFIX}", chart.name);
        if !other.objects.iter().any(|object| is_lost(&object)) {
            return Ok(());
        }
        let versions = versions_on_disk(self.out, &name)?;
        let Ok((dir, _)) = pick(&name, Some(&chart.version), &versions) else { return Ok(()) };
        let tree = charts::read_built(self.out, &dir)?;
        let separate = self.chart(&tree, Form::Directory)?;
        for (id, crd) in separate.objects {
            if other.objects.contains_key(&id) {
                // As for those in crds/: not a part of this release.
                chart.crds.entry(id.name.clone()).or_insert(Placement::Crds);
                chart.separate_crds.insert(id.name.clone());
                side.objects.entry(id).or_insert(crd);
            }
        }
        Ok(())
    }

    fn now(&self, text: &str, diagnostics: &mut Diagnostics) -> Result<Option<Side>, Fatal> {
        // A file or directory comes before a chart of the same name in the output directory.
        let path = Path::new(text);
        let located = |found| charts::located(text, found);
        if let Some((tree, form)) = chart::chart_at(path).map_err(located)? {
            return self.chart(&tree, form).map(Some).map_err(located);
        }
        let chart = ChartName::parse(text, self.out);
        // The name is joined to a path: `..` and `/` would lead out of the output directory.
        let is_built = || is_name(chart.name) && self.out.join(chart.name).is_dir();
        if !path.exists() && is_built() {
            return self.built(chart).map(Some);
        }

        // Text that is not even the name of an image is most often a misspelled path or chart.
        let source = source::from_argument(text);
        if matches!(&source, Source::Image { reference, .. } if Reference::parse(reference).is_err())
        {
            return Err(self.not_found(text, chart.name));
        }
        Ok(self.bundle(&source, None, None, diagnostics))
    }

    /// Returns the error for an operand that is nothing, with the charts that have a similar name.
    fn not_found(&self, text: &str, name: &str) -> Fatal {
        // A directory that cannot be read only makes the hint poorer.
        let mut charts = charts::folders(self.out).unwrap_or_default();
        charts.retain(|chart| is_name(chart));
        let charts: Vec<&str> = charts.iter().map(String::as_str).collect();

        let message = format!("no chart, directory, archive or image `{}`", text.escape_debug());
        let hint = match suggest::alike(name, &charts).as_slice() {
            [] => "write the path of a chart or bundle, NAME@VERSION for a chart in the output \
                directory, or the full reference of an image"
                .to_owned(),
            near => format!("did you mean {}?", quoted(near).join(" or ")),
        };
        Box::new(Diagnostic::error(Code::ChartNotFound, message).hint(hint))
    }

    fn built(&self, chart: ChartName<'_>) -> Result<Side, Fatal> {
        let versions = versions_on_disk(self.out, chart.name)?;
        let (dir, _) = pick(chart.name, chart.version, &versions)?;
        let side =
            charts::read_built(self.out, &dir).and_then(|tree| self.chart(&tree, Form::Directory));
        side.map_err(|found| charts::located(&self.out.join(dir).display().to_string(), found))
    }

    fn at_revision(
        &self,
        text: &str,
        revision: &str,
        diagnostics: &mut Diagnostics,
    ) -> Result<Option<Side>, Fatal> {
        let ChartName { name, version } = ChartName::parse(text, self.out);
        let tree = match charts::read_revision(self.out, revision, name) {
            Ok(tree) => tree,
            // Without a committed output directory, bundles.lock says which bundle it was.
            Err(problem) => {
                let Some((known, entry)) = self.locked_at(name, revision)? else {
                    return Err(charts::located(&format!("{revision}:{name}"), problem));
                };
                let side = self.bundle(&known.source, entry.pin(), Some(&known), diagnostics);
                let label = |side: &Side| format!("{} at {revision}", side.label);
                return Ok(side.map(|side| Side { label: label(&side), ..side }));
            }
        };

        let (path, version) = pick(name, version, &versions_in(&tree, name))?;
        let label = format!("{name} {version} at {revision}");
        let side = self.chart(&charts::below(tree, &path), Form::Directory);
        side.map(|side| Some(Side { label, ..side }))
            .map_err(|found| charts::located(&format!("{revision}:{path}"), found))
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

#[cfg(test)]
mod tests;

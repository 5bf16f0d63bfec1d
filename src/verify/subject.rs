//! The chart to verify, from wherever it is.

use super::comparison::{Change, Difference};
use crate::attest;
use crate::config::Config;
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, Place, suggest};
use crate::output::ownership::{FILE_NAME, Ownership, Recorded, UPGRADE_REPORT};
use crate::package::{self, LAYER_TYPE, Package};
use crate::regular_file;
use crate::source::chart::{self as charts, CHART_BYTES, ChartTree, Identity};
use crate::source::{SourceResolver, digest_of, sha256};
use std::path::Path;

/// The scheme of charts in a registry.
const SCHEME: &str = "oci://";

/// Bytes of a provenance that are read.
const PROVENANCE_BYTES: u64 = 16 << 20;

/// A chart that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    /// The chart as the user wrote it.
    pub(super) shown: String,
    /// Name in Chart.yaml.
    pub(super) name: String,
    /// Version in Chart.yaml.
    pub(super) version: String,
    /// Files that a package has.
    pub(super) files: ChartTree,
    form: Form,
    /// The version of bundle2chart that built it, by its provenance.
    built_by: Option<String>,
}

/// The form in which the chart was read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// A directory, with its ownership file if it has one.
    Directory(Option<Ownership>),
    /// A `.tgz`, and the digest of the manifest if it is an artifact in a registry.
    Archive { archive: Vec<u8>, manifest: Option<String> },
}

impl Subject {
    /// Reads `argument`: a chart directory, a `.tgz`, `oci://…@DIGEST`, or the name of a chart in the
    /// output directory `out`.
    ///
    /// `None` if it cannot be read, or has no Chart.yaml.
    pub(crate) fn read(
        argument: &str,
        out: &Path,
        sources: &SourceResolver,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        // A directory that is no chart may have the name of one in the output directory.
        let path = Path::new(argument);
        let (files, form) = if argument.starts_with(SCHEME) {
            in_registry(argument, sources, diagnostics)?
        } else if charts::is_chart(path) {
            diagnostics.report(in_directory(path, out))?
        } else if path.is_file() {
            diagnostics.report(in_archive(path, argument))?
        } else {
            let folder = package::chart_in(out, argument, diagnostics)?;
            diagnostics.report(in_directory(&folder, out))?
        };

        let identity = Identity::of(&files).map_err(|why| {
            let message = format!("cannot use Chart.yaml of `{}`: {why}", argument.escape_debug());
            Diagnostic::error(Code::ChartUnreadable, message)
                .at(Place::file(argument))
                .hint("pass a chart that bundle2chart built")
                .into()
        });
        let Identity { name, version } = diagnostics.report(identity)?;
        let built_by = form.built_by(argument, sources);
        Some(Subject { shown: argument.to_owned(), name, version, files, form, built_by })
    }

    /// Returns the name of the bundle, chart or model in the configuration that builds this chart;
    /// `None`, with an error, if there is none.
    pub(crate) fn table<'c>(
        &self,
        config: &'c Config,
        diagnostics: &mut Diagnostics,
    ) -> Option<&'c str> {
        let found = config.table_of_chart(&self.name);
        if found.is_none() {
            let names: Vec<&str> = config.tables().map(|(name, _)| name).collect();
            let name = self.name.escape_debug();
            let message = format!("the configuration builds no chart `{name}`");
            let hint = suggest::hint(&self.name, &names, "charts");
            diagnostics.push(Diagnostic::error(Code::ChartNotFound, message).hint(hint));
        }
        found
    }

    /// Returns the difference of the archive, or else of the manifest, as a whole.
    pub(super) fn other_bytes(&self, package: &Package) -> Option<Difference> {
        let Form::Archive { archive, manifest } = &self.form else { return None };
        let artifact = &package.artifact;
        if *archive != package.archive {
            let found = digest_of(archive);
            return Some(Difference::whole(Change::Archive, artifact.layer_digest(), &found));
        }
        let manifest = manifest.as_ref().filter(|digest| **digest != artifact.digest)?;
        Some(Difference::whole(Change::Manifest, &artifact.digest, manifest))
    }

    /// Returns likely reasons of the differences, as far as the chart shows them.
    pub(super) fn reasons(&self, differences: &[Difference]) -> Vec<String> {
        let has = |change: Change| differences.iter().any(|found| found.change == change);
        if differences.is_empty() {
            return Vec::new();
        }
        if has(Change::Archive) {
            return vec![
                "the files are the same, but another program packed them, for example `helm \
                 package`: its archives have times"
                    .to_owned(),
            ];
        }
        if has(Change::Manifest) {
            return vec![
                "the package is the same, but another program pushed it, for example `helm push`: \
                 its manifests have times"
                    .to_owned(),
            ];
        }

        let own = env!("CARGO_PKG_VERSION");
        let tool = match &self.built_by {
            // Another version explains all differences, so nothing else is guessed.
            Some(version) if version != own => {
                return vec![format!(
                    "bundle2chart {version} built the chart, by its provenance; this is {own}"
                )];
            }
            Some(_) => String::new(),
            None => format!(", or another version of bundle2chart built the chart (this is {own})"),
        };
        let other_inputs =
            format!("bundles.toml, bundles.lock or overlays are not those of the build{tool}");
        let Form::Directory(Some(ownership)) = &self.form else {
            return vec![format!("the chart was edited, or {other_inputs}")];
        };
        let is_as_written = |path: &String| {
            let sum = self.files.get(path).map(|content| sha256(content));
            sum.as_ref() == ownership.sums.get(path)
        };
        let edited = differences.iter().filter(|found| !is_as_written(&found.path)).count();
        let mut reasons = Vec::new();
        if edited > 0 {
            let files = if edited == 1 { "file was" } else { "files were" };
            reasons.push(format!("{edited} {files} edited after the build (see {FILE_NAME})"));
        }
        if edited < differences.len() {
            reasons.push(other_inputs);
        }
        reasons
    }
}

impl Form {
    /// Returns the version of bundle2chart in the provenance of a chart: the file next to an archive,
    /// or the document that is attached to an artifact. It only explains differences, so it may be
    /// missing.
    fn built_by(&self, argument: &str, sources: &SourceResolver) -> Option<String> {
        match self {
            Form::Directory(_) => None,
            Form::Archive { archive, manifest: None } => {
                let stem = argument.strip_suffix(".tgz")?;
                let file = format!("{stem}.{}", attest::PROVENANCE_FILE);
                let statement = regular_file::read(Path::new(&file), PROVENANCE_BYTES).ok()?;
                attest::built_by(&statement, &sha256(archive))
            }
            Form::Archive { manifest: Some(manifest), .. } => {
                let reference = argument.strip_prefix(SCHEME)?;
                // A registry without attachments is no reason to fail.
                let mut ignored = Diagnostics::new();
                let found = sources.attachments(reference, &attest::PROVENANCE_TYPES, &mut ignored);
                found?.iter().find_map(|statement| attest::built_by(statement, manifest))
            }
        }
    }
}

/// Returns the files of a package of a chart directory, and its ownership file. A directory in the output
/// directory has the chart of its path.
fn in_directory(folder: &Path, out: &Path) -> Result<(ChartTree, Form), Fatal> {
    // Canonical, because both may be written with `..` or lead through links.
    let inside = folder.canonicalize().ok().zip(out.canonicalize().ok());
    let dir = inside.as_ref().and_then(|(folder, out)| folder.strip_prefix(out).ok()?.to_str());
    let mut files = match dir {
        Some(dir) => charts::read_built(out, dir)?,
        None => charts::read_folder(folder)?,
    };
    files.remove(FILE_NAME);
    files.remove(UPGRADE_REPORT);
    let ownership = match Ownership::read(folder)? {
        Recorded::Files(ownership) => Some(ownership),
        // The file only explains differences.
        Recorded::Missing | Recorded::Damaged(_) => None,
    };
    Ok((files, Form::Directory(ownership)))
}

fn in_archive(file: &Path, argument: &str) -> Result<(ChartTree, Form), Fatal> {
    let archive = regular_file::read(file, CHART_BYTES).map_err(|error| {
        let message = format!("cannot read `{}`: {error}", argument.escape_debug());
        let found = Diagnostic::error(Code::ChartUnreadable, message);
        found.hint("pass a readable package of a chart")
    })?;
    let files = files_in(&archive, argument)?;
    Ok((files, Form::Archive { archive, manifest: None }))
}

fn in_registry(
    argument: &str,
    sources: &SourceResolver,
    diagnostics: &mut Diagnostics,
) -> Option<(ChartTree, Form)> {
    let reference = argument.strip_prefix(SCHEME).unwrap_or(argument);
    if !reference.contains('@') {
        let message = format!("`{}` has no digest", argument.escape_debug());
        return diagnostics.fail(Diagnostic::error(Code::InvalidReference, message).hint(
            "write oci://HOST/PATH/NAME@sha256:…, as `push` prints it: a tag can move after it \
             was verified",
        ));
    }
    let pulled = sources.pull_artifact(reference, LAYER_TYPE, CHART_BYTES, diagnostics)?;
    let files = diagnostics.report(files_in(&pulled.layer, argument))?;
    Some((files, Form::Archive { archive: pulled.layer, manifest: Some(pulled.digest) }))
}

fn files_in(archive: &[u8], argument: &str) -> Result<ChartTree, Fatal> {
    charts::read_archive(archive, argument)?.ok_or_else(|| {
        let message = format!("`{}` is not a packaged chart", argument.escape_debug());
        let found = Diagnostic::error(Code::ChartUnreadable, message);
        found.hint("pass a .tgz with one directory that has a Chart.yaml").into()
    })
}

#[cfg(test)]
mod tests;

//! Verifies a chart: in, a chart from a directory, a package or a registry; out, its differences to
//! the chart that bundles.toml and bundles.lock compile to.
//!
//! The result is a proof, not a comparison with recorded digests: the chart is compiled again.

mod comparison;
mod report;
mod subject;

pub(crate) use comparison::Difference;
pub(crate) use report::{json, text};
pub(crate) use subject::Subject;

use crate::diag::{Code, Diagnostic, Diagnostics, quoted};
use crate::output::ChartFiles;
use crate::package;
use crate::pipeline::{self, Inputs};

/// The result of comparing a chart with the one that was compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verification {
    /// The chart.
    pub subject: Subject,
    /// Digest of the package of the compiled chart.
    pub package: String,
    /// The differences: files by path, then the archive and the manifest as a whole.
    pub differences: Vec<Difference>,
    /// Likely reasons of the differences, as far as the chart shows them.
    pub reasons: Vec<String>,
}

impl Verification {
    /// Returns true if the chart has the bytes of the compiled one.
    pub(crate) fn is_same(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Compiles the chart again from the table `table` of the configuration, and compares it.
///
/// `None` if the bundle does not compile, or compiles to other charts or another version.
pub(crate) fn verify(
    subject: Subject,
    inputs: &Inputs<'_>,
    table: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Verification> {
    let charts = pipeline::rebuild(inputs, &[table.to_owned()], |chart| chart.files, diagnostics)?;
    let (name, version) = (&subject.name, &subject.version);
    let compiled = charts.iter().find(|chart| chart.name() == name);
    let Some(compiled) = compiled.filter(|chart| chart.version == *version) else {
        return diagnostics.fail(not_built(&subject, table, compiled, &charts));
    };

    // Packaged as `package` does it, so that the digests are those of charts.lock.
    let package = package::package(compiled, &compiled.dir, diagnostics)?;
    let mut differences = comparison::files(&compiled.files, &subject.files);
    // Otherwise other bytes have a reason already.
    if differences.is_empty() {
        differences.extend(subject.other_bytes(&package));
    }
    let reasons = subject.reasons(&differences);
    Some(Verification {
        package: package.artifact.layer_digest().to_owned(),
        subject,
        differences,
        reasons,
    })
}

/// Returns the error that the table builds other charts, or another version of this one.
fn not_built(
    subject: &Subject,
    table: &str,
    compiled: Option<&ChartFiles>,
    charts: &[ChartFiles],
) -> Diagnostic {
    let Subject { name, version, .. } = subject;
    if let Some(compiled) = compiled {
        let message = format!(
            "`{table}` in the configuration builds version {} of chart `{name}`, not {version}",
            compiled.version
        );
        return Diagnostic::error(Code::ChartNotFound, message).hint(format!(
            "run it with bundles.toml and bundles.lock of the commit that built version {version}"
        ));
    }
    let names: Vec<&str> = charts.iter().map(ChartFiles::name).collect();
    let message = format!("`{table}` in the configuration builds no chart `{name}`");
    Diagnostic::error(Code::ChartNotFound, message)
        .hint(format!("its charts are {}", quoted(&names).join(", ")))
}

//! `bundle2chart inspect PATH|REFERENCE`

use super::{Exit, Invocation};
use crate::config::{BundleConfig, CertificateProvider, Source, Watch};
use crate::diag::Diagnostics;
use crate::escape;
use crate::ir::Release;
use crate::source;
use crate::{bundle, inspect, pipeline};
use clap::builder::PossibleValuesParser;
use serde_json::Value as Json;

/// Show the contents of a bundle.
#[derive(Debug, clap::Args)]
pub(super) struct Inspect {
    /// A bundle directory, an OCI layout (with `:TAG` or `@DIGEST`), a tar of either, an image
    /// reference, which is looked up in the configured mirrors first, or a directory of manifests.
    #[arg(value_name = "PATH|REFERENCE")]
    bundle: String,
    /// Print only the compiled objects to stdout, as a JSON array sorted by kind, namespace and
    /// name.
    #[arg(long)]
    objects: bool,
    /// Namespace of the operator [default: the bundle's suggested namespace].
    #[arg(long, value_name = "NS")]
    namespace: Option<String>,
    /// Namespaces to watch: `all`, `own`, or a comma-separated list.
    #[arg(long, value_name = "WATCH")]
    watch: Option<Watch>,
    /// Source of the certificates for webhooks and APIServices.
    #[arg(long, value_name = "PROVIDER", default_value = CertificateProvider::NAMES[0], value_parser = PossibleValuesParser::new(CertificateProvider::NAMES))]
    certificates: String,
}

impl Inspect {
    pub(super) fn run(&self, invocation: &mut Invocation<'_>) -> Option<Exit> {
        if self.objects {
            invocation.output.keep_stdout_for_result();
        }
        invocation.output.repository.add_argument(&self.bundle);
        // Warnings about the configuration are not about the bundle.
        let (_, sources) = invocation.configuration_if_any()?;
        let Invocation { output, diagnostics, .. } = invocation;
        *diagnostics = Diagnostics::new();
        let source = source::from_argument(&self.bundle);
        let start = diagnostics.mark();
        let files = sources.fetch(&source, None, diagnostics)?;
        let is_bundle = !matches!(source, Source::Manifests(_));
        let loaded = is_bundle.then(|| bundle::load(&files, diagnostics)).flatten();
        if is_bundle && loaded.is_none() {
            return None;
        }
        let name = loaded.as_ref().map_or("manifests", |bundle| bundle.package.as_str());
        let mut settings = BundleConfig::new(name, source);
        settings.namespace.clone_from(&self.namespace);
        settings.operator.watch = self.watch.clone().map(|watch| (watch, None));
        settings.operator.certificates = CertificateProvider::named(&self.certificates);
        // A copy, because the report shows the bundle as it was loaded.
        let compiled = pipeline::compile_loaded(loaded.clone(), &files, &settings, diagnostics);
        if self.objects {
            let compiled = compiled?;
            let values = compiled.unit.default_values();
            let release = Release { namespace: &compiled.namespace, values: &values };
            output.document(&objects(&compiled.unit, &release));
            return Some(Exit::Clean);
        }
        let objects = compiled.as_ref().map(|compiled| compiled.unit.objects.as_slice());
        let watch = settings.watch();
        output.list(&inspect::report(
            loaded.as_ref(),
            objects.unwrap_or_default(),
            watch,
            diagnostics,
        ));
        // Bundles that cannot be compiled are still shown.
        let exit = if diagnostics.has_errors() { Exit::Findings } else { Exit::Clean };
        // The report includes the lints.
        diagnostics.retain_since(start, |d| !d.code.needs_attention());
        Some(exit)
    }
}

/// Returns the objects as a JSON array, as the API server would receive them.
fn objects(unit: &crate::ir::Unit, release: &Release<'_>) -> String {
    let mut objects: Vec<Json> =
        unit.objects.iter().filter_map(|object| release.object(object)).collect();
    objects.sort_by_cached_key(|object| {
        let text = |pointer| object.pointer(pointer).and_then(Json::as_str).map(str::to_owned);
        ["/kind", "/metadata/namespace", "/metadata/name"].map(text)
    });
    escape::json(&format!("{:#}\n", Json::Array(objects))).into_owned()
}

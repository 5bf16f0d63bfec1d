//! Bundles as operands: compiled with their configuration, now or as locked at a Git revision.

use super::{Operands, merge};
use crate::bundle;
use crate::config::{BundleConfig, Source};
use crate::diag::{Diagnostics, Fatal};
use crate::diff::{BundleFacts, Side};
use crate::ir::{Phase, Release};
use crate::lock::Locked;
use crate::pipeline::{Compiled, compile_loaded, revision};
use crate::source::Pin;
use serde_json::{Value as Json, json};

impl Operands<'_> {
    /// Returns a bundle of the configuration as it was locked in a Git revision: how it is compiled
    /// now, and which image it was then. Nothing when the lock was not committed then, or does not
    /// have it.
    pub(super) fn locked_at(
        &self,
        name: &str,
        revision: &str,
    ) -> Result<Option<(BundleConfig, Locked)>, Fatal> {
        let known = self.config.and_then(|config| config.bundles.iter().find(|b| b.name == name));
        let (Some(known), Some(lock)) = (known, self.lock) else { return Ok(None) };
        let Some(lock) = revision::lock_at(lock, revision)? else { return Ok(None) };
        let entry = lock.bundles.iter().find(|entry| entry.name == name);
        let Some((entry, pin)) = entry.and_then(|entry| Some((entry, entry.pin()?))) else {
            return Ok(None);
        };
        let source = match &known.source {
            // The pin of a catalog is not that of the bundle, and the query selects it there: both
            // must be as then.
            source if lock.entry(known) == Some(entry) => source.clone(),
            _ if pin.is_catalog => return Ok(None),
            source => {
                Source::Image { reference: pin.reference.to_owned(), span: source.span().clone() }
            }
        };
        Ok(Some((BundleConfig { source, ..known.clone() }, entry.clone())))
    }

    /// Compiles a bundle, with its configuration if it is configured.
    pub(super) fn bundle(
        &self,
        source: &Source,
        pin: Option<Pin<'_>>,
        known: Option<&BundleConfig>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Side> {
        let text = source.text();
        let mut files = self.sources.fetch(source, pin, diagnostics)?;
        let start = diagnostics.mark();
        if matches!(source, Source::Manifests(_)) {
            // As they are, like the objects of charts: a fault of one side may be what changes.
            let objects = bundle::own_manifests(&files, diagnostics)?;
            let objects = objects.iter().filter_map(|object| Release::LITERAL.object(object));
            return Some(Side::new(text.to_owned(), objects, self.namespace, None));
        }

        let loaded = bundle::load(&files, diagnostics)?;

        // The bundle may be configured: by its repository with another tag or digest, or its package.
        let repository = |text: &str| {
            // A shell completes directories with a slash.
            let text = text.trim_end_matches('/');
            let (folder, name) = match text.rsplit_once('/') {
                Some((folder, name)) => (Some(folder.to_owned()), name),
                None => (None, text),
            };
            // Only after the last slash is a colon that of a tag; before it, a port follows one.
            (folder, name.split([':', '@']).next().map(str::to_owned))
        };
        let bundles = self.config.map(|config| config.bundles.as_slice()).unwrap_or_default();
        let known = known
            .or_else(|| bundles.iter().find(|b| repository(b.source.text()) == repository(text)))
            .or_else(|| bundles.iter().find(|bundle| bundle.name == loaded.package));
        let settings = match known {
            Some(known) => BundleConfig { source: source.clone(), ..known.clone() },
            None => BundleConfig::new(&loaded.package, source.clone()),
        };

        files.overlays = self.sources.overlays(&settings.overlays, diagnostics);
        // A copy, because compiling moves the objects out of the bundle, and the facts below are
        // read from it.
        let compiled = compile_loaded(Some(loaded.clone()), &files, &settings, diagnostics);
        // Lints of either side are not what `diff` is asked for.
        diagnostics.only_errors_since(start);
        let compiled = compiled?;

        let objects = self.objects(&compiled);
        let label = format!("{} {}", loaded.package, loaded.csv.version);
        let csv = &loaded.csv;
        let image = |(name, image): &(String, String)| json!({"name": name, "image": image});
        let bundle = BundleFacts {
            csv: csv.name().to_owned(),
            edges: loaded.edges.clone(),
            install_modes: Some(csv.install_modes.iter().map(|m| m.as_str().to_owned()).collect()),
            watch: None,
            requires: Some(loaded.requirements.texts()),
            min_kube_version: Some(match csv.spec_text("minKubeVersion") {
                "" => "any".to_owned(),
                version => version.to_owned(),
            }),
            related_images: Some(csv.related_images.iter().map(image).collect()),
        };

        Some(Side {
            bundle,
            package: loaded.package,
            operator_version: loaded.csv.version,
            follows_namespace: true,
            ..Side::new(label, objects, self.namespace, None)
        })
    }

    /// Returns the objects of the operator's release.
    fn objects(&self, compiled: &Compiled) -> Vec<Json> {
        let mut values = compiled.unit.default_values();
        merge(&mut values, &self.values);
        let release = Release { namespace: self.namespace, values: &values };
        // Objects of later phases are in a separate chart.
        let objects = compiled.unit.objects.iter().filter(|object| object.phase != Phase::Operand);
        objects.filter_map(|object| release.object(object)).collect()
    }
}

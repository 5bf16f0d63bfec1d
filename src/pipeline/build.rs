//! `bundle2chart build`: the charts of bundles and models.

use super::Inputs;
use super::compile::{Compiled, Hits, compile};
use super::fetch::{Fetched, fetch_and_compile};
use super::layout::{self, BuiltFiles, chart_version};
use super::models::{self, MODELS};
use super::release_size;
use super::selection::{Selected, for_each_selected};
use crate::bundle::{self, Api, Positions};
use crate::config::{BundleConfig, Config, Filter, Layout, ServingConfig};
use crate::dependencies::{self, Member};
use crate::diag::{Diagnostic, Diagnostics, LintLevel, Place, counted};
use crate::ir::{Identity, Object, Origin, Release as Resolver, Unit, Value, map};
use crate::kinds::is_built_in;
use crate::lock::Locked;
use crate::passes;
use crate::source::BundleFiles;

/// The result of a build: for each chart a `C`, which [`build_with`] makes of its files.
pub struct Build<C = BuiltFiles> {
    /// The charts, in the order of the configuration; none when any bundle has an error.
    pub charts: Vec<C>,
    /// Entries for bundles that the lock does not have, or has with other decisions or signatures.
    pub locked: Vec<Locked>,
    /// Reports of the filters and patches of each bundle.
    pub counts: Vec<String>,
}

/// A bundle or model that was built.
struct Built<'c, C> {
    /// Its charts, in the order of their installation, and what else a build has of them.
    build: Build<C>,
    /// Number of matches of each filter.
    hits: Hits,
    /// The dependencies of a bundle and what it provides.
    member: Option<Member<'c>>,
    /// The objects of a model, to find conflicts with other models.
    model: Option<(&'c ServingConfig, Unit)>,
}

/// Compiles the named bundles of a configuration (all when none is named).
pub fn build(inputs: &Inputs<'_>, names: &[String], diagnostics: &mut Diagnostics) -> Build {
    build_with(inputs, names, |chart| chart, diagnostics)
}

/// Returns the charts of a [`build_with`] that repeats an earlier one, whose warnings and notes were
/// seen; `None` after an error.
pub fn rebuild<C: Send>(
    inputs: &Inputs<'_>,
    names: &[String],
    finish: impl Fn(BuiltFiles) -> C + Sync,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<C>> {
    let start = diagnostics.mark();
    let built = build_with(inputs, names, finish, diagnostics);
    diagnostics.only_errors_since(start);
    diagnostics.no_errors_since(start)?;
    Some(built.charts)
}

/// [`build`], which passes each chart to `finish` on the thread that compiled it, so that only as
/// many bundles and charts are in memory as there are threads.
pub fn build_with<C: Send>(
    inputs: &Inputs<'_>,
    names: &[String],
    finish: impl Fn(BuiltFiles) -> C + Sync,
    diagnostics: &mut Diagnostics,
) -> Build<C> {
    let before = diagnostics.mark();
    let layout = inputs.config.output.layout;
    let all =
        for_each_selected(inputs, names, diagnostics, |selected, diagnostics| match selected {
            Selected::Bundle(bundle) => build_bundle(inputs, bundle, &finish, diagnostics),
            Selected::Model(model) => build_model(model, layout, &finish, diagnostics),
        });

    let mut build = Build { charts: Vec::new(), locked: Vec::new(), counts: Vec::new() };
    let (mut hits, mut members, mut models) = (Hits::new(), Vec::new(), Vec::new());
    for built in all {
        build.charts.extend(built.build.charts);
        build.locked.extend(built.build.locked);
        build.counts.extend(built.build.counts);
        hits.extend(built.hits);
        members.extend(built.member);
        models.extend(built.model);
    }

    if let Some(compiler) = MODELS {
        (compiler.collisions)(&models, diagnostics);
    }
    // A filter of [defaults] is used if it matches in any bundle, and any bundle may provide a
    // dependency, so all must have been built.
    if names.is_empty() && !diagnostics.has_errors_since(before) {
        dependencies::check(&members, diagnostics);
        let counts = hits.iter().map(|(filter, count)| (filter, *count));
        passes::unused_filters(counts, diagnostics);
    }
    if diagnostics.has_errors_since(before) {
        // A failed build changes nothing, neither out/ nor bundles.lock.
        return Build { charts: Vec::new(), locked: Vec::new(), counts: build.counts };
    }
    build
}

fn build_bundle<'c, C>(
    inputs: &Inputs<'_>,
    bundle: &'c BundleConfig,
    finish: impl Fn(BuiltFiles) -> C,
    diagnostics: &mut Diagnostics,
) -> Option<Built<'c, C>> {
    let Inputs { config, lock, .. } = *inputs;
    let Fetched { files, mut compiled, warnings } = fetch_and_compile(inputs, bundle, diagnostics)?;
    let layout = config.output.layout;
    let locked = match (&compiled.bundle, lock.entry(bundle)) {
        (None, _) => None,
        (Some(loaded), None) => Locked::new(bundle, &files, loaded),
        (Some(loaded), Some(entry)) => {
            entry.check(bundle, &files, loaded, diagnostics);
            // Only what the lock lacks is returned: a build does not write a lock that is complete.
            entry.with_decisions(bundle, &files, loaded)
        }
    };
    let start = diagnostics.mark();
    let version = chart_version(compiled.bundle.as_ref(), bundle, diagnostics);
    bundle::locate(diagnostics.since(start), &files);
    let version = version?;

    // A bundle of a catalog has no reference in bundles.toml; the catalog named its image.
    let origin = files.reference.clone().unwrap_or_else(|| bundle.source.text().to_owned());
    let member = member(bundle, &compiled, &files);
    let warnings = texts(&warnings, config, bundle);
    let lay_out = |compiled: &mut Compiled, bundle: &BundleConfig| {
        layout::charts(compiled, bundle, &version, &origin, layout, &warnings)
    };
    let charts = lay_out(&mut compiled, bundle);
    let compile_again = |changed: &BundleConfig| {
        // The same findings as before: only the sizes matter.
        let compiled = compile(&files, changed, &mut Diagnostics::new());
        compiled.map(|mut compiled| lay_out(&mut compiled, changed)).unwrap_or_default()
    };
    release_size::check(&charts, bundle, compile_again, diagnostics);
    // The bundle is the largest part of memory, and no longer needed.
    drop(files);
    let Compiled { bundle: compiled_bundle, namespace, hits, patched, .. } = compiled;
    drop(compiled_bundle);

    let lay_out =
        |chart| layout::lay_out(chart, &bundle.name, &namespace, &bundle.depends_on, layout);
    let build = Build {
        charts: charts.into_iter().map(lay_out).map(finish).collect(),
        locked: locked.into_iter().collect(),
        counts: counts(&bundle.name, &hits, &patched),
    };
    Some(Built { build, hits, member: Some(member), model: None })
}

/// Returns the warnings about a bundle as texts, except those that its lint levels allow.
fn texts(warnings: &[Diagnostic], config: &Config, bundle: &BundleConfig) -> Vec<String> {
    let is_shown =
        |found: &&Diagnostic| config.level(found.code, Some(bundle)) != Some(LintLevel::Allow);
    let shown = warnings.iter().filter(is_shown);
    shown.map(|found| format!("{}: {}", found.code.as_str(), found.message)).collect()
}

fn build_model<'c, C>(
    config: &'c ServingConfig,
    layout: Layout,
    finish: impl Fn(BuiltFiles) -> C,
    diagnostics: &mut Diagnostics,
) -> Option<Built<'c, C>> {
    let compiler = models::compiler("[[serving]]", &config.span, diagnostics)?;
    let (unit, chart) = (compiler.chart)(config, diagnostics)?;
    let chart = layout::lay_out(chart, &config.name, &config.namespace, &config.depends_on, layout);
    let build = Build { charts: vec![finish(chart)], locked: Vec::new(), counts: Vec::new() };
    Some(Built { build, hits: Hits::new(), member: None, model: Some((config, unit)) })
}

/// Returns a line for each filter and each patch of a bundle, with the number of its matches.
fn counts(name: &str, hits: &[(Filter, usize)], patched: &[(Filter, usize)]) -> Vec<String> {
    let line = |what: &str, (filter, count): &(Filter, usize)| {
        let objects = counted(*count, "object");
        format!("{name}: the {what} `{}` matches {objects}", filter.text)
    };
    let filters = hits.iter().map(|hit| line("filter", hit));
    filters.chain(patched.iter().map(|hit| line("patch for", hit))).collect()
}

/// Returns a bundle or `[[chart]]` as far as others depend on it.
fn member<'c>(config: &'c BundleConfig, compiled: &Compiled, files: &BundleFiles) -> Member<'c> {
    let objects = owned(&compiled.unit, &compiled.namespace);
    let mut member = match &compiled.bundle {
        Some(bundle) => Member::new(config, bundle, objects),
        None => {
            let own = compiled.unit.of_kind("CustomResourceDefinition");
            Member::of_chart(config, bundle::served_apis(own), objects)
        }
    };

    member.uses = apis_used(&compiled.unit);
    let mut positions = Positions::new(files);
    member.uses.iter_mut().for_each(|(_, place)| positions.complete(place));
    member
}

/// Returns the APIs of the user's own objects that Kubernetes does not have, each with the place of
/// its first object.
fn apis_used(unit: &Unit) -> Vec<(Api, Place)> {
    let mut used: Vec<(Api, Place)> = Vec::new();
    for object in &unit.objects {
        if !matches!(object.origin, Origin::Overlay { .. }) || is_built_in(object) {
            continue;
        }
        let version = object.api_version().rsplit('/').next().unwrap_or_default();
        let api = Api {
            group: object.group().to_owned(),
            version: version.to_owned(),
            kind: object.kind().to_owned(),
        };
        if used.iter().all(|(known, _)| *known != api) {
            used.push((api, object.place()));
        }
    }
    used
}

/// Returns the objects that a release owns, with the default values; hooks such as stubs belong to none.
fn owned(unit: &Unit, namespace: &str) -> Vec<Identity> {
    let values = unit.default_values();
    let release = Resolver { namespace, values: &values };
    let is_hook = |object: &&Object| {
        let annotations = object.metadata("annotations").and_then(Value::as_map);
        annotations.is_some_and(|annotations| annotations.contains_key("helm.sh/hook"))
    };
    let objects = unit.objects.iter().filter(|object| !is_hook(object));
    let metadata = objects.filter_map(|object| {
        // Names are enough: CRDs are most of a bundle.
        let names = ["name", "namespace"].into_iter();
        let names = names.filter_map(|key| Some((key, object.metadata(key)?.clone())));
        let root = map! {
            "apiVersion": object.api_version(), "kind": object.kind(), "metadata": Value::map(names),
        };
        release.object(&Object { when: object.when.clone(), ..Object::new(root, Origin::Stub) })
    });
    metadata.map(|object| Identity::of(&object)).collect()
}

#[cfg(test)]
mod tests;

//! The pipeline: the only module that knows every stage.

mod chart_versions;
mod compile;
pub mod operand;
mod release_size;
mod settings_changed;
pub mod upgrade;

pub use compile::{Compiled, Hits, compile, compile_loaded};
pub use settings_changed::{crds_moved, watch_changed};

use compile::check_package;

use crate::bundle::{self, Bundle, Positions};
use crate::chart::{self, Chart, Description};
use crate::config::{BundleConfig, Config, Filter, Layout, ServingConfig, Source};
use crate::config::{CRDS_SUFFIX, OPERANDS_SUFFIX};
use crate::dependencies::{self, Member};
use crate::deploy::{Part, Release as ChartRelease};
use crate::diag::suggest;
use crate::diag::{Code, Diagnostic, Diagnostics, Place, Severity, Span};
use crate::images::{self, BundleImages, Image};
use crate::ir::{Origin, Unit};
use crate::lock::{Lock, Locked};
use crate::output::ChartFiles;
use crate::passes;
use crate::serving;
use crate::source::{BundleFiles, Reference, SourceResolver};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The result of a build: for each chart a `C`, which [`build_with`] makes of its files.
pub struct Build<C = ChartFiles> {
    /// The charts, in the order of the configuration; none when any bundle has an error.
    pub charts: Vec<C>,
    /// The releases of these charts, in the same order.
    pub releases: Vec<ChartRelease>,
    /// Entries for bundles that the lock does not have.
    pub locked: Vec<Locked>,
    /// Updated lock entries for entries without recorded decisions.
    pub decided: Vec<Locked>,
    /// Upper bound of the release Secret's size for each chart, by the chart's directory.
    pub release_bytes: BTreeMap<PathBuf, usize>,
    /// Reports of the filters and patches of each bundle.
    pub counts: Vec<String>,
    /// The findings.
    pub diagnostics: Diagnostics,
}

/// Compiles the named bundles of a configuration (all when none is named) on up to `jobs` threads.
/// Images are read by the digest that `lock` has for them.
pub fn build(
    config: &Config,
    sources: &SourceResolver,
    lock: &Lock,
    names: &[String],
    jobs: usize,
) -> Build {
    build_with(config, sources, lock, names, jobs, |chart| chart)
}

/// [`build`], which passes each chart to `finish` on the thread that compiled it, so that only as
/// many bundles and charts are in memory as there are threads.
pub fn build_with<'c, C: Send>(
    config: &'c Config,
    sources: &SourceResolver,
    lock: &Lock,
    names: &[String],
    jobs: usize,
    finish: impl Fn(ChartFiles) -> C + Sync,
) -> Build<C> {
    let (selected, models, diagnostics) = select(config, names);
    let mut build = Build {
        charts: Vec::new(),
        releases: Vec::new(),
        locked: Vec::new(),
        decided: Vec::new(),
        release_bytes: BTreeMap::new(),
        counts: Vec::new(),
        diagnostics,
    };
    let mut hits: Hits = Vec::new();
    let mut members = Vec::new();
    let work = |bundle: &&'c BundleConfig| build_one(config, sources, lock, bundle, &finish);
    for (bundle, (built, found)) in selected.iter().zip(in_parallel(&selected, jobs, work)) {
        build.diagnostics.append(found.for_bundle(&bundle.name));
        if let Some(built) = built {
            build.counts.extend(counts(bundle, &built));
            hits.extend(built.hits);
            members.push(built.member);
            build.releases.extend(built.releases);
            build.release_bytes.extend(built.release_bytes);
            build.charts.extend(built.charts);
            build.locked.extend(built.locked);
            build.decided.extend(built.decided);
        }
    }

    let mut units = Vec::new();
    for model in models {
        let (unit, mut found) = serving::compile(model);
        if let Some(unit) = unit {
            found.append(serving::check(&unit, model));
            let chart = chart::serving_chart(&unit, model);
            let release_bytes = chart.release_bytes;
            let chart = chart_files(chart, config.output.layout);
            build.releases.push(model_release(model, &chart));
            build.release_bytes.insert(chart.dir.clone(), release_bytes);
            build.charts.push(finish(chart));
            units.push((model, unit));
        }
        build.diagnostics.append(found.for_bundle(&model.name));
    }
    build.diagnostics.append(serving::collisions(&units));
    // A filter of [defaults] is used if it matches in any bundle, and any bundle may provide a
    // dependency, so all must have been built.
    if names.is_empty() && !build.diagnostics.has_errors() {
        dependencies::check(&members, &mut build.diagnostics);
        let counts = hits.iter().map(|(filter, count)| (filter, *count));
        passes::unused_filters(counts, &mut build.diagnostics);
    }
    if build.diagnostics.has_errors() {
        build.charts.clear();
        build.releases.clear();
        build.locked.clear();
        build.decided.clear();
    }
    build
}

/// Locks bundles to what their sources lead to now, on up to `jobs` threads. What `old` records of
/// a bundle is not decided otherwise.
pub fn lock(
    sources: &SourceResolver,
    old: &Lock,
    bundles: &[&BundleConfig],
    jobs: usize,
) -> (Vec<Locked>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let mut entries = Vec::new();
    let work = |config: &&BundleConfig| {
        let mut found = Diagnostics::new();
        let Some(files) = sources.fetch(&config.source, None, &mut found) else {
            return (None, found);
        };
        let start = found.mark();
        let bundle = bundle::load(&files, &mut found);
        if let Some(bundle) = &bundle {
            check_package(config, bundle, &mut found);
            old.check_decisions(config, bundle, &mut found);
        }
        bundle::locate(found.since(start), &files);
        (bundle.and_then(|bundle| Locked::new(config, &files, &bundle)), found)
    };
    for (bundle, (entry, found)) in bundles.iter().zip(in_parallel(bundles, jobs, work)) {
        diagnostics.append(found.for_bundle(&bundle.name));
        entries.extend(entry);
    }
    (entries, diagnostics)
}

/// Returns an error for each name that no bundle has.
pub fn unknown_names(config: &Config, names: &[String]) -> Diagnostics {
    let bundles = config.bundles.iter().map(|bundle| (bundle.name.as_str(), &bundle.span));
    unknown(names, &bundles.collect::<Vec<_>>())
}

fn unknown(names: &[String], known: &[(&str, &Span)]) -> Diagnostics {
    let place = known
        .first()
        .map_or_else(Place::default, |(_, span)| Place::file(span.source.name.clone()));
    let known: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    names
        .iter()
        .filter(|name| !known.contains(&name.as_str()))
        .map(|name| {
            Diagnostic::error(Code::UnknownBundle, format!("unknown bundle `{name}`"))
                .at(place.clone())
                .hint(suggest::hint(name, &known, "bundles"))
        })
        .collect()
}

/// Returns the images of the named bundles (all when none is named), in the order of the
/// configuration, and what keeps them from being copied. Of compiling itself only errors are
/// reported.
pub fn images(
    config: &Config,
    sources: &SourceResolver,
    lock: &Lock,
    names: &[String],
    jobs: usize,
) -> (Vec<BundleImages>, Diagnostics) {
    let (selected, models, mut diagnostics) = select(config, names);
    let mut all = Vec::new();
    for (bundle, (listed, found)) in
        selected.iter().zip(in_parallel(&selected, jobs, |bundle| images_of(sources, lock, bundle)))
    {
        diagnostics.append(found.for_bundle(&bundle.name));
        all.extend(listed.map(|images| BundleImages { bundle: bundle.name.clone(), images }));
    }
    for model in models {
        let (unit, found) = serving::compile(model);
        diagnostics.append(found.for_bundle(&model.name));
        let images = unit.map(|unit| serving::images(&unit, model));
        all.extend(images.map(|images| BundleImages { bundle: model.name.clone(), images }));
    }
    if diagnostics.has_errors() {
        all.clear();
    }
    (all, diagnostics)
}

fn images_of(
    sources: &SourceResolver,
    lock: &Lock,
    bundle: &BundleConfig,
) -> (Option<Vec<Image>>, Diagnostics) {
    let (fetched, diagnostics) = compile_fetched(sources, lock, bundle);
    let mut errors: Diagnostics =
        diagnostics.into_iter().filter(|found| found.severity == Severity::Error).collect();
    let Some((files, compiled)) = fetched else { return (None, errors) };
    let own = own_image(&files, &bundle.source);
    let mut images = images::collect(&compiled.unit.objects, &compiled.bundle, own.as_deref());
    let uses = images.iter_mut().flat_map(|image| &mut image.uses);
    let mut positions = Positions::new(&files);
    uses.for_each(|used| positions.complete(&mut used.place));
    let start = errors.mark();
    images::check(&images, &compiled.bundle, &mut errors);
    positions.locate(errors.since(start));
    (Some(images), errors)
}

/// Returns the reference of the bundle's image, by digest; `None` if it is not in a registry.
fn own_image(files: &BundleFiles, source: &Source) -> Option<String> {
    let reference = match (&files.reference, source) {
        (Some(reference), _) | (None, Source::Image { reference, .. }) => reference,
        _ => return None,
    };
    let name = Reference::parse(reference).ok()?.name;
    Some(format!("{name}@{}", files.image.as_ref()?.digest))
}

/// Returns the named bundles and models; all when nothing is named, and none when any name is
/// unknown.
fn select<'c>(
    config: &'c Config,
    names: &[String],
) -> (Vec<&'c BundleConfig>, Vec<&'c ServingConfig>, Diagnostics) {
    let bundles = config.bundles.iter().map(|bundle| (bundle.name.as_str(), &bundle.span));
    let models = config.servings.iter().map(|model| (model.name.as_str(), &model.span));
    let diagnostics = unknown(names, &bundles.chain(models).collect::<Vec<_>>());
    if diagnostics.has_errors() {
        return (Vec::new(), Vec::new(), diagnostics);
    }
    let wanted = |name: &String| names.is_empty() || names.contains(name);
    let bundles = config.bundles.iter().filter(|bundle| wanted(&bundle.name)).collect();
    let models = config.servings.iter().filter(|model| wanted(&model.name)).collect();
    (bundles, models, diagnostics)
}

/// A bundle that was built.
struct Built<'c, C> {
    /// The charts in the order of their installation.
    charts: Vec<C>,
    /// The releases.
    releases: Vec<ChartRelease>,
    /// Upper bound of the release Secret's size for each chart, by directory.
    release_bytes: Vec<(PathBuf, usize)>,
    /// Number of matches of each filter.
    hits: Hits,
    /// Number of matches of each patch.
    patched: Hits,
    /// The dependencies of the bundle and what it provides.
    member: Member<'c>,
    /// The new lock entry, if it was not locked.
    locked: Option<Locked>,
    /// The updated lock entry, if the recorded one lacks the decisions.
    decided: Option<Locked>,
}

/// Fetches a bundle, by its lock entry if there is one, and compiles it.
fn compile_fetched(
    sources: &SourceResolver,
    lock: &Lock,
    bundle: &BundleConfig,
) -> (Option<(BundleFiles, Compiled)>, Diagnostics) {
    let entry = lock.entry(bundle);
    let mut diagnostics = Diagnostics::new();
    let pin = entry.and_then(Locked::pin);
    let Some(mut files) = sources.fetch(&bundle.source, pin, &mut diagnostics) else {
        return (None, diagnostics);
    };
    files.overlays = sources.overlays(&bundle.overlays, &mut diagnostics);
    let compiled = compile(&files, bundle, &mut diagnostics);
    if let Some(compiled) = &compiled {
        let start = diagnostics.mark();
        lock.check_decisions(bundle, &compiled.bundle, &mut diagnostics);
        bundle::locate(diagnostics.since(start), &files);
    }
    let compiled = compiled.filter(|_| !diagnostics.has_errors());
    (compiled.map(|compiled| (files, compiled)), diagnostics)
}

fn build_one<'c, C>(
    config: &Config,
    sources: &SourceResolver,
    lock: &Lock,
    bundle: &'c BundleConfig,
    finish: impl Fn(ChartFiles) -> C,
) -> (Option<Built<'c, C>>, Diagnostics) {
    let (fetched, mut diagnostics) = compile_fetched(sources, lock, bundle);
    let Some((files, mut compiled)) = fetched else { return (None, diagnostics) };
    let start = diagnostics.mark();
    let (locked, decided) = match lock.entry(bundle) {
        None => (Locked::new(bundle, &files, &compiled.bundle), None),
        Some(entry) => {
            entry.check(bundle, &files, &mut diagnostics);
            (None, entry.with_decisions(bundle, &compiled.bundle))
        }
    };
    let Some(version) = chart_version(&compiled.bundle, bundle, &mut diagnostics) else {
        bundle::locate(diagnostics.since(start), &files);
        return (None, diagnostics);
    };
    let origin = files.reference.clone().unwrap_or_else(|| bundle.source.text().to_owned());
    let layout = config.output.layout;
    let crds = crds_of(&compiled.unit);
    let charts = lay_out(&mut compiled, bundle, &version, &origin, layout);
    diagnostics.append(release_size::check(&charts, bundle, |changed| {
        let compiled = compile(&files, changed, &mut Diagnostics::new());
        let charts = |mut compiled| lay_out(&mut compiled, changed, &version, &origin, layout);
        compiled.map(charts).unwrap_or_default()
    }));
    drop(files);
    let Compiled { bundle: compiled_bundle, namespace, hits, patched, .. } = compiled;
    let member = Member::new(bundle, &compiled_bundle, crds);
    drop(compiled_bundle);

    let mut built = Built {
        charts: Vec::new(),
        releases: Vec::new(),
        release_bytes: Vec::new(),
        hits,
        patched,
        member,
        locked,
        decided,
    };
    for chart in charts {
        let release_bytes = chart.release_bytes;
        built.releases.push(release(bundle, &namespace, &chart, config.output.layout));
        let chart = chart_files(chart, config.output.layout);
        built.release_bytes.push((chart.dir.clone(), release_bytes));
        built.charts.push(finish(chart));
    }
    (Some(built), diagnostics)
}

/// Returns the names of the CRDs that a release owns; stubs are hooks and belong to none.
fn crds_of(unit: &Unit) -> Vec<String> {
    let owned = unit.objects.iter().filter(|object| {
        object.kind() == "CustomResourceDefinition" && !matches!(object.origin, Origin::Added(_))
    });
    owned.map(|crd| crd.name().to_owned()).collect()
}

/// Moves the objects of a compiled bundle into charts.
fn lay_out(
    compiled: &mut Compiled,
    config: &BundleConfig,
    version: &semver::Version,
    origin: &str,
    layout: Layout,
) -> Vec<Chart> {
    let unit = std::mem::take(&mut compiled.unit);
    let images = images::pulled(&images::collect(&unit.objects, &compiled.bundle, None));
    chart::charts(
        unit,
        &Description {
            bundle: &compiled.bundle,
            config,
            version,
            namespace: &compiled.namespace,
            watch: &compiled.watch,
            origin,
            images: &images,
            layout,
            crds: compiled.crds,
        },
    )
}

/// Returns a line for each filter and each patch of a bundle.
fn counts<C>(bundle: &BundleConfig, built: &Built<'_, C>) -> Vec<String> {
    let line = |what: &str, verb: &str, (filter, count): &(Filter, usize)| {
        let objects = if *count == 1 { "object" } else { "objects" };
        format!("{}: the {what} `{}` {verb} {count} {objects}", bundle.name, filter.text)
    };
    let filters = built.hits.iter().map(|hit| line("filter", "matches", hit));
    let patches = built.patched.iter().map(|hit| line("patch for", "matches", hit));
    filters.chain(patches).collect()
}

/// Returns the release of a model's chart.
fn model_release(model: &ServingConfig, chart: &ChartFiles) -> ChartRelease {
    let parts: Vec<String> =
        chart.dir.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    ChartRelease {
        name: model.name.clone(),
        bundle: model.name.clone(),
        part: Part::Operator,
        namespace: model.namespace.clone(),
        dir: parts.join("/"),
        crds: None,
        stubs: Vec::new(),
        depends_on: model.depends_on.clone(),
    }
}

/// Returns the release of a bundle's chart.
fn release(bundle: &BundleConfig, namespace: &str, chart: &Chart, layout: Layout) -> ChartRelease {
    let part = match chart.name.strip_prefix(bundle.name.as_str()) {
        Some(CRDS_SUFFIX) => Part::Crds,
        Some(OPERANDS_SUFFIX) => Part::Operands,
        _ => Part::Operator,
    };
    let parts: Vec<String> =
        chart_dir(chart, layout).iter().map(|part| part.to_string_lossy().into_owned()).collect();
    ChartRelease {
        name: chart.name.clone(),
        bundle: bundle.name.clone(),
        part,
        namespace: namespace.to_owned(),
        dir: parts.join("/"),
        crds: chart.crds_folder,
        stubs: chart.stubs.clone(),
        depends_on: bundle.depends_on.clone(),
    }
}

/// Returns the configured version, or the CSV's.
fn chart_version(
    bundle: &Bundle,
    config: &BundleConfig,
    diagnostics: &mut Diagnostics,
) -> Option<semver::Version> {
    if let Some(version) = &config.chart_version {
        return Some(version.clone());
    }
    match semver::Version::parse(&bundle.csv.version) {
        Ok(version) => Some(version),
        Err(why) => {
            diagnostics.push(
                Diagnostic::error(
                    Code::InvalidVersion,
                    format!(
                        "the CSV version `{}` is not a valid chart version: {why}",
                        bundle.csv.version
                    ),
                )
                .at(bundle.csv.place(".spec.version"))
                .hint("set a version for the chart, for example chart-version = \"1.0.0\""),
            );
            None
        }
    }
}

fn chart_files(chart: Chart, layout: Layout) -> ChartFiles {
    let dir = chart_dir(&chart, layout);
    ChartFiles { dir, version: chart.version.to_string(), files: chart.files }
}

/// Returns the directory of a chart in the output directory.
fn chart_dir(chart: &Chart, layout: Layout) -> PathBuf {
    match layout {
        Layout::Versioned => PathBuf::from(&chart.name).join(chart.version.to_string()),
        Layout::Flat => PathBuf::from(&chart.name),
    }
}

/// Stack size in bytes of threads that compile or compare. Trees are processed recursively, nested
/// as deep as the YAML reader allows ([`crate::yaml::MAX_DEPTH`]), and such a bundle must not
/// overflow the stack. Unoptimized code needs about 20 KiB per level.
pub(crate) const COMPILER_STACK: usize = 32 << 20;

/// Applies `work` to every item on up to `jobs` threads; results in the order of the items.
#[expect(
    clippy::disallowed_methods,
    reason = "bundles are compiled side by side; order is restored"
)]
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let worker = || {
        while let Some((index, item)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            items.get(index).map(|item| (index, item))
        } {
            let result = work(item);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };

    std::thread::scope(|scope| {
        let started = (0..jobs.clamp(1, items.len().max(1)))
            .map_while(|_| {
                let thread = std::thread::Builder::new().stack_size(COMPILER_STACK);
                thread.spawn_scoped(scope, worker).ok()
            })
            .count();
        // Without any thread the work is done here, more slowly.
        if started == 0 {
            worker();
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

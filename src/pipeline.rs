//! The pipeline: the only module that knows every stage.

mod compile;
pub mod operand;
pub mod upgrade;

pub use compile::{Compiled, Hits, compile};

use crate::bundle::{self, Bundle};
use crate::chart::{self, Chart, Description, InstalledFirst};
use crate::config::suggest;
use crate::config::{BundleConfig, Config, CrdPlacement, Filter, Layout, ServingConfig, Source};
use crate::config::{CRDS_SUFFIX, OPERANDS_SUFFIX};
use crate::dependencies::{self, Member};
use crate::deploy::{self, Part, Release as ChartRelease};
use crate::diag::{Code, Diagnostic, Diagnostics, Place, Severity, Span};
use crate::emit::ChartFiles;
use crate::images::{self, BundleImages, Image};
use crate::lock::{Lock, Locked};
use crate::passes;
use crate::serving;
use crate::source::{BundleFiles, Reference, Supply};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a build gives.
#[derive(Default)]
pub struct Build {
    /// The charts, in the order of the configuration; none when any bundle has an error.
    pub charts: Vec<ChartFiles>,
    /// How these charts are installed, in the same order.
    pub releases: Vec<ChartRelease>,
    /// Entries for bundles that the lock does not have.
    pub locked: Vec<Locked>,
    /// Bytes that a release of each chart takes of the Secret that keeps it, by the chart's folder.
    pub release_bytes: BTreeMap<PathBuf, usize>,
    /// What the filters and patches of each bundle did, in words.
    pub counts: Vec<String>,
    /// What was found.
    pub diagnostics: Diagnostics,
}

/// Compiles the named bundles of a configuration (all when none is named) on up to `jobs` threads.
/// Images are read by the digest that `lock` has for them.
pub fn build<'c>(
    config: &'c Config,
    supply: &Supply,
    lock: &Lock,
    names: &[String],
    jobs: usize,
) -> Build {
    let (selected, models, diagnostics) = select(config, names);
    let mut build = Build { diagnostics, ..Build::default() };
    let mut hits: Hits = Vec::new();
    let mut members = Vec::new();
    let work = |bundle: &&'c BundleConfig| build_one(config, supply, lock, bundle);
    for (bundle, (built, found)) in selected.iter().zip(in_parallel(&selected, jobs, work)) {
        build.diagnostics.append(found.for_bundle(&bundle.name));
        if let Some(built) = built {
            build.releases.extend(releases(bundle, &built));
            build.counts.extend(counts(bundle, &built));
            hits.extend(built.hits);
            members.push(built.member);
            for (chart, release_bytes) in built.charts {
                build.release_bytes.insert(chart.dir.clone(), release_bytes);
                build.charts.push(chart);
            }
            build.locked.extend(built.locked);
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
            build.charts.push(chart);
            units.push((model, unit));
        }
        build.diagnostics.append(found.for_bundle(&model.name));
    }
    build.diagnostics.append(deploy::check(&build.releases, &config.deploy, |name| {
        let bundle = config.bundles.iter().find(|bundle| bundle.name == name);
        let place = bundle.map_or_else(Place::default, |b| Place::span(b.span.clone()));
        Place { bundle: Some(name.to_owned()), ..place }
    }));
    build.diagnostics.append(serving::collisions(&units));
    // A filter of [defaults] is used when it matches in any bundle, and what one bundle needs may
    // be in any other, so all must have been built.
    if names.is_empty() && !build.diagnostics.has_errors() {
        build.diagnostics.append(dependencies::check(&members));
        let counts = hits.iter().map(|(filter, count)| (filter, *count));
        build.diagnostics.append(passes::unused_filters(counts));
    }
    if build.diagnostics.has_errors() {
        build.charts.clear();
        build.releases.clear();
        build.locked.clear();
    }
    build
}

/// Locks bundles to what their sources lead to now, on up to `jobs` threads.
pub fn lock(supply: &Supply, bundles: &[&BundleConfig], jobs: usize) -> (Vec<Locked>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let mut entries = Vec::new();
    let work = |config: &&BundleConfig| {
        let (files, mut found) = supply.fetch(&config.source, None);
        let Some(files) = files else { return (None, found) };
        let (bundle, problems) = bundle::load(&files);
        found.append(bundle::locate(problems, &files));
        (bundle.and_then(|bundle| Locked::new(config, &files, &bundle)), found)
    };
    for (bundle, (entry, found)) in bundles.iter().zip(in_parallel(bundles, jobs, work)) {
        diagnostics.append(found.for_bundle(&bundle.name));
        entries.extend(entry);
    }
    (entries, diagnostics)
}

/// An error for each name that no bundle has.
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
            Diagnostic::error(Code::UnknownBundle, format!("there is no bundle named `{name}`"))
                .at(place.clone())
                .hint(suggest::hint(name, &known, "bundles"))
        })
        .collect()
}

/// The images of the named bundles (all when none is named), in the order of the configuration,
/// and what keeps them from being copied. Of compiling itself only errors are reported.
pub fn images(
    config: &Config,
    supply: &Supply,
    lock: &Lock,
    names: &[String],
    jobs: usize,
) -> (Vec<BundleImages>, Diagnostics) {
    let (selected, models, mut diagnostics) = select(config, names);
    let mut all = Vec::new();
    for (bundle, (listed, found)) in
        selected.iter().zip(in_parallel(&selected, jobs, |bundle| images_of(supply, lock, bundle)))
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
    supply: &Supply,
    lock: &Lock,
    bundle: &BundleConfig,
) -> (Option<Vec<Image>>, Diagnostics) {
    let (fetched, diagnostics) = compile_fetched(supply, lock, bundle);
    let mut errors: Diagnostics =
        diagnostics.into_iter().filter(|found| found.severity == Severity::Error).collect();
    let Some((files, compiled)) = fetched else { return (None, errors) };
    let own = own_image(&files, &bundle.source);
    let mut images = images::collect(&compiled.unit.objects, &compiled.bundle, own.as_deref());
    let uses = images.iter_mut().flat_map(|image| &mut image.uses);
    bundle::complete_all(uses.map(|used| &mut used.place), &files);
    errors.append(bundle::locate_inline(images::check(&images, &compiled.bundle), &files));
    (Some(images), errors)
}

/// The reference of the bundle's image, by digest; nothing when no registry has it.
fn own_image(files: &BundleFiles, source: &Source) -> Option<String> {
    let reference = match (&files.reference, source) {
        (Some(reference), _) | (None, Source::Image { reference, .. }) => reference,
        _ => return None,
    };
    let name = Reference::parse(reference).ok()?.name;
    Some(format!("{name}@{}", files.image.as_ref()?.digest))
}

/// The named bundles and models; all when nothing is named, and none when any name is unknown.
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
struct Built<'c> {
    /// Its charts in the order of their installation, with the bytes of a release.
    charts: Vec<(ChartFiles, usize)>,
    /// The namespace that it is meant for.
    namespace: String,
    /// How often each of its filters was true.
    hits: Hits,
    /// How often each of its patches was used.
    patched: Hits,
    /// What it needs of others, and has for them.
    member: Member<'c>,
    /// What it is locked to, when it was not.
    locked: Option<Locked>,
}

/// Fetches a bundle, as it is locked if it is, and compiles it.
fn compile_fetched(
    supply: &Supply,
    lock: &Lock,
    bundle: &BundleConfig,
) -> (Option<(BundleFiles, Compiled)>, Diagnostics) {
    let entry = lock.entry(bundle);
    let (files, mut diagnostics) = supply.fetch(&bundle.source, entry.and_then(Locked::pin));
    let Some(mut files) = files else { return (None, diagnostics) };
    let (overlays, found) = supply.overlays(&bundle.overlays);
    diagnostics.append(found);
    files.overlays = overlays;
    let (compiled, found) = compile(&files, bundle);
    diagnostics.append(found);
    let compiled = compiled.filter(|_| !diagnostics.has_errors());
    (compiled.map(|compiled| (files, compiled)), diagnostics)
}

fn build_one<'c>(
    config: &Config,
    supply: &Supply,
    lock: &Lock,
    bundle: &'c BundleConfig,
) -> (Option<Built<'c>>, Diagnostics) {
    let (fetched, mut diagnostics) = compile_fetched(supply, lock, bundle);
    let Some((files, compiled)) = fetched else { return (None, diagnostics) };
    let locked = match lock.entry(bundle) {
        None => Locked::new(bundle, &files, &compiled.bundle),
        Some(entry) => {
            diagnostics.append(entry.check(bundle, &files));
            None
        }
    };
    let Some(version) = chart_version(&compiled.bundle, bundle, &mut diagnostics) else {
        return (None, bundle::locate(diagnostics, &files));
    };
    let origin = files.reference.clone().unwrap_or_else(|| bundle.source.text().to_owned());
    drop(files);
    let images = images::pulled(&images::collect(&compiled.unit.objects, &compiled.bundle, None));
    let charts = chart::charts(
        compiled.unit,
        &Description {
            bundle: &compiled.bundle,
            config: bundle,
            version: &version,
            namespace: &compiled.namespace,
            origin: &origin,
            images: &images,
            layout: config.output.layout,
        },
    );
    for chart in &charts {
        diagnostics.extend(release_size(chart, bundle));
    }
    let charts = charts.into_iter().map(|chart| {
        let release_bytes = chart.release_bytes;
        (chart_files(chart, config.output.layout), release_bytes)
    });
    let built = Built {
        charts: charts.collect(),
        namespace: compiled.namespace,
        hits: compiled.hits,
        patched: compiled.patched,
        member: Member::new(bundle, &compiled.bundle),
        locked,
    };
    (Some(built), diagnostics)
}

/// A line for each filter and each patch of a bundle.
fn counts(bundle: &BundleConfig, built: &Built<'_>) -> Vec<String> {
    let line = |what: &str, verb: &str, (filter, count): &(Filter, usize)| {
        let objects = if *count == 1 { "object" } else { "objects" };
        format!("{}: the {what} `{}` {verb} {count} {objects}", bundle.name, filter.text)
    };
    let filters = built.hits.iter().map(|hit| line("filter", "is true for", hit));
    let patches = built.patched.iter().map(|hit| line("patch for", "matches", hit));
    filters.chain(patches).collect()
}

/// How the chart of a model is installed.
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

/// How a chart is installed.
fn releases(bundle: &BundleConfig, built: &Built<'_>) -> Vec<ChartRelease> {
    let of_chart = |(chart, _): &(ChartFiles, usize)| {
        let parts: Vec<String> =
            chart.dir.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let name = parts.first().cloned().unwrap_or_default();
        let part = match name.strip_prefix(bundle.name.as_str()) {
            Some(CRDS_SUFFIX) => Part::Crds,
            Some(OPERANDS_SUFFIX) => Part::Operands,
            _ => Part::Operator,
        };
        let first = InstalledFirst::of(chart.files.keys().map(String::as_str));
        ChartRelease {
            name,
            bundle: bundle.name.clone(),
            part,
            namespace: built.namespace.clone(),
            dir: parts.join("/"),
            crds: first.folder,
            stubs: first.stubs,
            depends_on: bundle.depends_on.clone(),
        }
    };
    built.charts.iter().map(of_chart).collect()
}

/// What is wrong with the size of a chart's release, if anything.
fn release_size(chart: &Chart, config: &BundleConfig) -> Option<Diagnostic> {
    let (bytes, limit) = (chart.release_bytes, chart::RELEASE_LIMIT);
    if bytes < chart::RELEASE_WARN {
        return None;
    }
    let share = chart::release_percent(bytes);
    let hint = match config.crds {
        CrdPlacement::Subchart => {
            "leave objects out with filters, or move what overlays add into charts of their own"
        }
        CrdPlacement::Templates | CrdPlacement::Separate if config.strip_descriptions => {
            "set crds = \"subchart\": those do not count"
        }
        CrdPlacement::Templates | CrdPlacement::Separate => {
            "set strip-descriptions = true, or crds = \"subchart\": those do not count"
        }
        CrdPlacement::Crds => {
            "set crds = \"subchart\": those do not count, and Helm treats them the same otherwise"
        }
    };
    let name = &chart.name;
    let diagnostic = if bytes > limit {
        Diagnostic::error(
            Code::ReleaseSize,
            format!(
                "a release of `{name}` takes {bytes} bytes ({share} %) of the {limit} that Kubernetes \
                 allows Helm for it, so that it cannot be installed"
            ),
        )
    } else {
        Diagnostic::warning(
            Code::ReleaseSize,
            format!(
                "a release of `{name}` takes {bytes} bytes ({share} %) of the {limit} that Kubernetes \
                 allows Helm for it"
            ),
        )
    };
    Some(diagnostic.at(Place::span(config.span.clone())).hint(hint))
}

/// The configured version, or the CSV's.
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
                        "the CSV's version `{}` cannot be a chart's: {why}",
                        bundle.csv.version
                    ),
                )
                .at(bundle.csv.place(".spec.version"))
                .hint("set chart-version for this bundle, for example chart-version = \"1.0.0\""),
            );
            None
        }
    }
}

fn chart_files(chart: Chart, layout: Layout) -> ChartFiles {
    let version = chart.version.to_string();
    let dir = match layout {
        Layout::Versioned => PathBuf::from(&chart.name).join(&version),
        Layout::Flat => PathBuf::from(&chart.name),
    };
    ChartFiles { dir, version, files: chart.files }
}

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
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                while let Some((index, item)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    items.get(index).map(|item| (index, item))
                } {
                    let result = work(item);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

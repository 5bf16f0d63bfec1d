//! The pipeline: the only module that knows every stage.

use crate::bundle::{self, Bundle};
use crate::chart::{self, Chart, Description};
use crate::config::suggest;
use crate::config::watchdog::{FILTER_DEADLINE, run_watched};
use crate::config::{BundleConfig, Config, CrdPlacement, Filter, Layout};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::emit::ChartFiles;
use crate::ir::{Release, Unit};
use crate::olm::{self, Lowered};
use crate::passes::{self, Context, Filtered};
use crate::source::{self, BundleFiles, Limits};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A bundle compiled to the objects and values of a chart.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The bundle, without the objects that are now in `unit`.
    pub bundle: Bundle,
    /// What became of it.
    pub unit: Unit,
    /// The namespace that it is meant for.
    pub namespace: String,
    /// How many objects each filter matched.
    pub hits: Vec<(Filter, usize)>,
}

/// Compiles the named bundles of a configuration (all when none is named) on up to `jobs` threads.
/// The charts come in the order of the configuration; there are none when any bundle has an error.
pub fn build(config: &Config, names: &[String], jobs: usize) -> (Vec<ChartFiles>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    for name in names {
        if !config.bundles.iter().any(|bundle| bundle.name == *name) {
            let known: Vec<&str> = config.bundles.iter().map(|b| b.name.as_str()).collect();
            diagnostics.push(
                Diagnostic::error(
                    Code::UnknownBundle,
                    format!("there is no bundle named `{name}`"),
                )
                .at(config.bundles.first().map_or_else(Place::default, |bundle| {
                    Place::file(bundle.span.source.name.clone())
                }))
                .hint(suggest::hint(name, &known, "bundles")),
            );
        }
    }
    if diagnostics.has_errors() {
        return (Vec::new(), diagnostics);
    }
    let selected: Vec<&BundleConfig> = config
        .bundles
        .iter()
        .filter(|bundle| names.is_empty() || names.contains(&bundle.name))
        .collect();

    let mut charts = Vec::new();
    let mut hits: Vec<(Filter, usize)> = Vec::new();
    for (bundle, (built, found)) in
        selected.iter().zip(in_parallel(&selected, jobs, |bundle| build_one(config, bundle)))
    {
        diagnostics.append(found.for_bundle(&bundle.name));
        if let Some((chart, chart_hits)) = built {
            hits.extend(chart_hits);
            charts.push(chart);
        }
    }
    // A filter of [defaults] is used when it matches in any bundle, so all must have been built.
    if names.is_empty() && !diagnostics.has_errors() {
        diagnostics
            .append(passes::unused_filters(hits.iter().map(|(filter, count)| (filter, *count))));
    }
    if diagnostics.has_errors() {
        charts.clear();
    }
    (charts, diagnostics)
}

/// A chart and how often each of its filters was true.
type Built = (ChartFiles, Vec<(Filter, usize)>);

fn build_one(config: &Config, bundle: &BundleConfig) -> (Option<Built>, Diagnostics) {
    let (files, mut diagnostics) =
        source::fetch(&bundle.source, &config.base, &config.mirrors, &Limits::default());
    let Some(files) = files else { return (None, diagnostics) };
    let (compiled, found) = compile(&files, bundle);
    diagnostics.append(found);
    let Some(compiled) = compiled else { return (None, diagnostics) };
    let Some(version) = chart_version(&compiled.bundle, bundle, &mut diagnostics) else {
        return (None, bundle::locate(diagnostics, &files));
    };
    drop(files);
    let images = chart::images(&compiled.unit.objects, &compiled.bundle);
    let chart = chart::chart(
        &compiled.unit,
        &Description {
            bundle: &compiled.bundle,
            config: bundle,
            version: &version,
            namespace: &compiled.namespace,
            origin: bundle.source.text(),
            images: &images,
        },
    );
    (Some((chart_files(chart, config.output.layout), compiled.hits)), diagnostics)
}

/// Compiles the files of one bundle. There is no result when there is an error.
pub fn compile(files: &BundleFiles, config: &BundleConfig) -> (Option<Compiled>, Diagnostics) {
    let (compiled, diagnostics) = run_stages(files, config);
    (compiled, bundle::locate(diagnostics, files))
}

fn run_stages(files: &BundleFiles, config: &BundleConfig) -> (Option<Compiled>, Diagnostics) {
    let (bundle, mut diagnostics) = bundle::load(files);
    let Some(mut bundle) = bundle else { return (None, diagnostics) };
    let suggested = bundle.suggested_namespace().map(str::to_owned);
    let namespace = config
        .namespace
        .clone()
        .or_else(|| suggested.clone())
        .unwrap_or_else(|| config.name.clone());

    let options = olm::Options {
        chart: &config.name,
        namespace: &namespace,
        watch: config.watch.as_ref(),
        certificates: config.certificates,
        issuer: config.issuer.as_ref(),
        aggregate_roles: config.aggregate_roles,
        pods: &config.pods,
    };
    let (Lowered { objects, mut values }, found) = olm::lower(&mut bundle, &options);
    diagnostics.append(found);

    let (include, exclude) = (config.include.clone(), config.exclude.clone());
    let filter_namespace = namespace.clone();
    let filtered = run_watched(FILTER_DEADLINE, move || {
        let values = serde_json::Value::Null;
        let release = Release { namespace: &filter_namespace, values: &values };
        passes::filter(objects, &include, &exclude, &release)
    });
    let Ok(filtered) = filtered else {
        diagnostics.push(filter_timeout(&config.include, &config.exclude));
        return (None, diagnostics);
    };
    let Filtered { objects, include_hits, exclude_hits, diagnostics: found } = filtered;
    diagnostics.append(found);
    let filters = config.include.iter().chain(&config.exclude).cloned();
    let hits = filters.zip(include_hits.into_iter().chain(exclude_hits)).collect();

    let mut namespaces = vec![namespace.clone()];
    namespaces.extend(suggested.filter(|suggested| *suggested != namespace));
    // A filter may have dropped what reads a value.
    values.retain(|value| objects.iter().any(|object| object.reads(&value.path)));
    let mut unit = Unit { objects, values, ..Unit::default() };
    diagnostics.append(passes::run(
        &mut unit,
        &Context {
            chart: config.name.clone(),
            namespaces,
            pull_secret: config.pull_secret.clone(),
            auth_reader: config.auth_reader,
            crds_in_templates: config.crds == CrdPlacement::Templates,
        },
    ));
    let compiled =
        (!diagnostics.has_errors()).then_some(Compiled { bundle, unit, namespace, hits });
    (compiled, diagnostics)
}

fn filter_timeout(include: &[Filter], exclude: &[Filter]) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(
        Code::FilterTimeout,
        format!("the filters did not come to an end within {} seconds", FILTER_DEADLINE.as_secs()),
    )
    .hint("make them simpler: a filter looks at one object at a time");
    if let Some(filter) = include.iter().chain(exclude).next() {
        diagnostic.place = Place::span(filter.span.clone());
    }
    diagnostic
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

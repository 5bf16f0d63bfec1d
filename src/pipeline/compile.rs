//! Compiling one bundle: from its files to the objects and values of a chart.

use crate::bundle::{self, Bundle};
use crate::config::watchdog::{FILTER_DEADLINE, run_watched};
use crate::config::{BundleConfig, Filter};
use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::ir::{Object, Release, Unit, ValueSpec};
use crate::olm::{self, Lowered};
use crate::overlay;
use crate::passes::{self, Context, Filtered};
use crate::source::BundleFiles;

/// How many objects each filter matched.
pub type Hits = Vec<(Filter, usize)>;

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
    pub hits: Hits,
    /// How many objects each patch matched, by its own filter.
    pub patched: Hits,
}

/// Compiles the files of one bundle. There is no result when there is an error.
pub fn compile(files: &BundleFiles, config: &BundleConfig) -> (Option<Compiled>, Diagnostics) {
    let (compiled, diagnostics) = run_stages(files, config);
    let located = bundle::locate(diagnostics, files);
    (compiled, bundle::locate_inline(located, files))
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

    let Some((objects, patched)) = run_patches(objects, config, &namespace, &mut diagnostics)
    else {
        return (None, diagnostics);
    };
    let objects = add(objects, &mut values, files, config, &mut diagnostics);

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
            operand_namespaces: config.operands.namespaces.clone(),
            scopes: config.scopes.clone(),
            pull_secret: config.pull_secret.clone(),
            auth_reader: config.auth_reader,
            crds: config.crds,
            strip_descriptions: config.strip_descriptions,
        },
    ));
    let compiled =
        (!diagnostics.has_errors()).then_some(Compiled { bundle, unit, namespace, hits, patched });
    (compiled, diagnostics)
}

/// The objects as the patches of the configuration make them, and how many each of these matched;
/// nothing when they do not end.
fn run_patches(
    objects: Vec<Object>,
    config: &BundleConfig,
    namespace: &str,
    diagnostics: &mut Diagnostics,
) -> Option<(Vec<Object>, Hits)> {
    if config.patches.is_empty() {
        return Some((objects, Vec::new()));
    }
    let (patches, namespace) = (config.patches.clone(), namespace.to_owned());
    let patched = run_watched(FILTER_DEADLINE, move || {
        let values = serde_json::Value::Null;
        overlay::patch(objects, &patches, &Release { namespace: &namespace, values: &values })
    });
    let Ok(patched) = patched else {
        let all = config.patches.iter().map(|patch| patch.patch.clone());
        diagnostics.push(filter_timeout(&all.collect::<Vec<_>>(), &[]));
        return None;
    };
    if !patched.diagnostics.has_errors() {
        diagnostics.append(overlay::unused_patches(&config.patches, &patched.hits));
    }
    diagnostics.append(patched.diagnostics);
    let filters = config.patches.iter().map(|patch| patch.matches.clone());
    Some((patched.objects, filters.zip(patched.hits).collect()))
}

/// Adds what the configuration has beside the bundle to the objects.
fn add(
    mut objects: Vec<Object>,
    values: &mut Vec<ValueSpec>,
    files: &BundleFiles,
    config: &BundleConfig,
    diagnostics: &mut Diagnostics,
) -> Vec<Object> {
    let (overlays, found) = bundle::overlays(files);
    diagnostics.append(found);
    objects.extend(overlay::stubs(&config.stub_crds));
    objects.extend(overlays);
    diagnostics.append(overlay::check(&objects, config.crds, &config.scopes));
    let (operands, operand_values) = overlay::operands(&config.operands);
    objects.extend(operands);
    values.extend(operand_values);
    objects
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

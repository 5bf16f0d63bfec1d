//! Model serving: compiles a `[[serving]]` table to a chart, and checks the invariants of generated and
//! third-party manifests.
//!
//! [`MODELS`] is what the program knows of it, with the feature `serving` only. The keys of models are
//! in `config::serving`.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod build;
mod chart;

mod engine;
mod environment;
#[doc(hidden)]
pub mod fuzzing;
pub mod invariants;
mod kserve;
pub mod maas;
mod manifest_files;
mod model_server;
mod monitoring_and_scaling;
mod picker;
mod placeholders;
mod plugins;
mod pod_fields;
mod pool;
mod presets;
mod releases;
mod route;
mod rules;
mod topology;
mod view;
mod wide_ep;
mod workload;

// What most of the modules speak of.
use crate::diag::{Code, Diagnostic, Diagnostics, Place, Severity, Span};
use crate::images::{Image, Use, UseKind};
use crate::ir::{Identity, Map, Object, Release, Unit, Value, map, value};
use build::{Values, of_model};
use bundle::fields::maps_mut;
use bundle2chart_bundle as bundle;
use bundle2chart_compile::chart::Chart;
use bundle2chart_compile::models::ModelCompiler;
use bundle2chart_compile::{images, overlay, passes};
use bundle2chart_config as config;
use bundle2chart_jq as jq;
use bundle2chart_model::{diag, embedded, ir};
use bundle2chart_source as source;
use bundle2chart_yaml as yaml;
use config::serving::profile::{self, Profile};
use config::serving::{Model, RouteConfig, ServingConfig, Topology};
use jq::{Purpose, Session};
use releases::image;
use releases::names::NAMES;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use topology::{Role, Workload};
use view::flags::Flags;
use view::kserve::Derived;
use view::pods::Program;
use view::{View, pods};

pub use manifest_files::{Checked, check_files, manifests_of};
pub use view::Manifest;

/// The compiler of models.
pub static MODELS: ModelCompiler = ModelCompiler {
    chart,
    images,
    collisions,
    platform: maas::platform,
    additions: maas::additions,
};

/// Returns the objects and the chart of a model; `None` if its parallelism is invalid, or after errors of
/// patches. Reports violated invariants, also of patched objects.
pub fn chart(config: &ServingConfig, diagnostics: &mut Diagnostics) -> Option<(Unit, Chart)> {
    let unit = compile_and_patch(config, diagnostics)?;
    check(&unit, config, diagnostics);
    let chart = chart::chart(&unit, config);
    Some((unit, chart))
}

/// Returns the images of a model's pods with their uses, sorted by reference; `None` as for [`chart`].
pub fn images(config: &ServingConfig, diagnostics: &mut Diagnostics) -> Option<Vec<Image>> {
    Some(images_of(&compile_and_patch(config, diagnostics)?, config))
}

/// Compiles a model, and applies its `[[serving.patch]]` to the objects as they are with the default values.
fn compile_and_patch(config: &ServingConfig, diagnostics: &mut Diagnostics) -> Option<Unit> {
    let mut unit = compile(config, diagnostics)?;
    if config.patches.is_empty() {
        return Some(unit);
    }
    let start = diagnostics.mark();
    let programs = config
        .patches
        .iter()
        .flat_map(|patch| [(Purpose::Filter, &patch.matches), (Purpose::Patch, &patch.patch)])
        .map(|(purpose, filter)| (purpose, filter.text.clone()))
        .collect();
    let mut session = match Session::start(programs) {
        Ok(session) => session,
        Err(error) => {
            let message = format!("cannot start a process for jq: {error}");
            return diagnostics.fail(Diagnostic::error(Code::FilterFailed, message));
        }
    };

    let values = unit.default_values();
    let release = Release { namespace: &config.namespace, values: &values };
    let objects = std::mem::take(&mut unit.objects);
    let patched = overlay::patch(objects, &config.patches, &release, &mut session, 0, diagnostics);
    unit.objects = patched.objects;
    diagnostics.no_errors_since(start)?;
    Some(unit)
}

/// Compiles a `[[serving]]` table to objects and values, without its patches; `None` if its parallelism
/// is invalid.
pub fn compile(config: &ServingConfig, diagnostics: &mut Diagnostics) -> Option<Unit> {
    let start = diagnostics.mark();
    topology::check(config, diagnostics);
    if config.kserve {
        kserve::check(config, diagnostics);
    }
    diagnostics.no_errors_since(start)?;

    let mut values = Values { all: Vec::new(), found: diagnostics };
    let mut objects = if config.kserve {
        let mut objects = kserve::objects(config, &mut values);
        objects.extend(config.maas.iter().flat_map(|maas| maas::objects(config, maas)));
        objects
    } else {
        let mut objects = workload::objects(config, &mut values);
        objects.extend(picker::objects(config, &mut values));
        objects.extend(pool::objects(config));
        objects.extend(config.route.iter().flat_map(|route| route::objects(config, route)));
        objects.extend(monitoring_and_scaling::objects(config));
        objects
    };
    // From here on every object of every module is there: this key is for all of them.
    for object in objects.iter_mut().filter(|_| !config.labels.is_empty()) {
        let own = object.metadata_mut().map_at("labels");
        for (key, value) in &config.labels {
            own.get_or_insert_with(key, || value.into());
        }
    }
    Some(Unit { objects, values: values.sorted(), ..Unit::default() })
}

/// Checks the invariants of a generated chart. Diagnostics point to the keys of bundles.toml.
pub fn check(unit: &Unit, config: &ServingConfig, diagnostics: &mut Diagnostics) {
    let manifests = manifests(unit, config);
    let derived = Derived::new(&manifests);
    let view = View {
        is_generated: true,
        devices_per_unit: Some(config.accelerator.devices_per_unit),
        ..View::new(&manifests, &derived, config.profile)
    };
    let placing = |_: usize, field: &'static str| {
        // Without arguments of their own, prefill pods have those of `engine`.
        let is_shared = field == "prefill.args" && config.written(field).is_none();
        Some(config.place(if is_shared { "engine.args" } else { field }).clone())
    };
    let start = diagnostics.mark();
    invariants::check(&view, |_| true, &placing, diagnostics);

    // Images that are not set in bundles.toml come from the profile, which is versioned.
    let written: Vec<&Span> = IMAGES.iter().filter_map(|key| config.written(key)).collect();
    for diagnostic in diagnostics.since(start) {
        let is_written = diagnostic.place.span.as_ref().is_some_and(|span| written.contains(&span));
        if diagnostic.code == Code::ImageNotPinned && is_written && !config.allow_tags {
            diagnostic.severity = Severity::Error;
            diagnostic.hint = Some(
                "add its digest: `NAME:TAG@sha256:…`; or, to allow mutable tags: allow-tags = true"
                    .to_owned(),
            );
        }
    }
}

/// Keys with image references.
const IMAGES: [&str; 5] =
    ["engine.image", "prefill.sidecar-image", "epp.image", "epp.tokenizer-image", "model"];

/// Reports conflicts between the charts of several models: the same object in one namespace, where
/// installing the second release fails, and routes that match the same requests.
pub fn collisions(models: &[(&ServingConfig, Unit)], diagnostics: &mut Diagnostics) {
    let (owners, all): (Vec<&ServingConfig>, Vec<Manifest>) = models
        .iter()
        .flat_map(|(config, unit)| manifests(unit, config).into_iter().map(|m| (*config, m)))
        .unzip();
    let mut seen: BTreeMap<Identity, &ServingConfig> = BTreeMap::new();
    for (config, manifest) in owners.iter().zip(&all) {
        let (field, hint) = match manifest.kind() {
            "InferenceObjective" => ("objectives", "rename one of them"),
            "Gateway" => ("route.gateway-class", "remove `gateway-class` from one of them"),
            _ => ("name", "rename one of the models"),
        };
        let Some(first) = seen.insert(Identity::of(&manifest.json), config) else { continue };
        let message = format!("chart of `{}` also has {manifest}", first.name);
        let error = Diagnostic::error(Code::ServingTwice, message).at(config.place(field));
        let hint = format!("give each model its own `namespace`, or {hint}");
        diagnostics.push(error.related(first.place(field), "first defined here").hint(hint));
    }

    let derived = Derived::new(&all);
    // Models may have different profiles, but the one rule that runs here reads none.
    let view = View::new(&all, &derived, profile::newest());
    let placing = |owner: usize, field: &'static str| Some(owners[owner].place(field).clone());
    let routes = |invariant: &invariants::Invariant| invariant.code == Code::ServingRoute;
    invariants::check(&view, routes, &placing, diagnostics);
}

/// Returns the images of a model's pods with their uses, sorted by reference.
fn images_of(unit: &Unit, config: &ServingConfig) -> Vec<Image> {
    let manifests = manifests(unit, config);
    let derived = Derived::new(&manifests);
    let view = View::new(&manifests, &derived, config.profile);
    let mut found: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    let mut add = |reference: &str, owner: usize, container: &str, path: String| {
        let object = manifests[owner].to_string();
        let place = Place::default().object(object.clone()).path(path);
        let (container, name) = (container.to_owned(), String::new());
        let used = Use { kind: UseKind::Model, object, container, name, place };
        found.entry(reference.to_owned()).or_default().push(used);
    };

    for pods in view.templates.iter().chain(view.pickers.iter().map(|picker| &picker.pods)) {
        for (container, path) in pods.all_containers() {
            let (image, name) = (pods::text(container, "image"), pods::text(container, "name"));
            // KServe's presets have images of their own.
            if !image.is_empty() || !pods.completed {
                add(image, pods.owner, name, format!("{path}.image"));
            }
        }
    }
    for template in &view.templates {
        for (image, path) in template.model_images().filter(|(image, _)| !image.is_empty()) {
            add(image, template.owner, "", path);
        }
    }

    found.into_iter().map(|(reference, uses)| Image { reference, uses }).collect()
}

/// Returns the objects rendered with the default values, as an API server would receive them.
fn manifests(unit: &Unit, config: &ServingConfig) -> Vec<Manifest> {
    let values = unit.default_values();
    // Rules see what `helm install` with the default values applies, as with manifests of others.
    let release = Release { namespace: &config.namespace, values: &values };
    unit.objects
        .iter()
        .filter_map(|object| release.object(object))
        .map(|json| Manifest { json, place: Place::default() })
        .collect()
}

/// Checks the invariants of third-party manifests.
pub fn check_manifests(
    manifests: Vec<Manifest>,
    profile: &'static Profile,
    diagnostics: &mut Diagnostics,
) {
    check_placed(manifests, profile, &|_, _| None, diagnostics);
}

fn check_placed(
    mut manifests: Vec<Manifest>,
    profile: &'static Profile,
    placing: &invariants::Placing<'_>,
    diagnostics: &mut Diagnostics,
) {
    environment::resolve(&mut manifests);
    let manifests = &manifests;
    let derived = Derived::new(manifests);
    let mut view = View::new(manifests, &derived, profile);
    // A chart of ours says which program is in its image; of others, only known images do.
    let engines = view.templates.iter_mut().filter_map(|template| template.engine.as_mut());
    for engine in engines.filter(|engine| engine.unjudged.is_some()) {
        engine.program = Program::Other;
    }
    invariants::check(&view, |_| true, placing, diagnostics);
}

/// Returns true if any of these manifests is a pool or a picker, or has pods with an engine.
pub fn is_about_serving(manifests: &[Manifest]) -> bool {
    let derived = Derived::new(manifests);
    let view = View::new(manifests, &derived, profile::newest());
    let engines = view.templates.iter().any(|template| template.engine.is_some());
    engines
        || !view.pickers.is_empty()
        || NAMES.serving_kinds.iter().any(|kind| view.of_kind(kind).next().is_some())
}

#[cfg(test)]
mod tests;

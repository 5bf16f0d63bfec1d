//! Flags, variables, configurations and kinds, judged by the release that the image names.

use super::*;
use crate::releases::spans::Release;
use crate::releases::verdict::{Kind, Verdict};
use crate::releases::{self, ProgramTable, SIDECAR, argparse, go_flags, relations, variables};
use crate::view::pods::is_omni;

/// Reports the verdicts that an invariant has by its code. Of what a release refuses or ignores, each code has
/// one invariant.
pub(crate) fn verdicts(view: &View<'_>, found: &mut Found) {
    let code = Some(found.code);
    // Several rules report verdicts, so they are judged once.
    let all = view.judged.get_or_init(|| judged(view)).iter();
    found.all.extend(all.filter(|one| one.code == code).cloned());
}

/// Returns the finding of a verdict, with the code of the invariant that reports it: that of settings that a later
/// release removes, that of what depends on a release that the image does not name and of abbreviations, or else
/// `code`.
fn finding_of(code: Code, field: &'static str, verdict: Verdict) -> Finding {
    let is_field = code == Code::ServingApi;
    let source = if is_field { "CRDs of the release" } else { "sources of the release" };
    let effect = match is_field {
        true => "the API server may reject the object, or ignore the setting",
        false => "the program may fail to start, or ignore the setting",
    };
    let none = "the setting has no effect";
    let (code, lower) = match (verdict.kind, verdict.is_certain) {
        (Kind::Deprecated, _) => (Code::ServingDeprecated, None),
        (Kind::Depends | Kind::Fragile, _) => (Code::ServingRelease, None),
        (Kind::Refused, true) => (code, None),
        (Kind::Refused, false) => (code, Some((Severity::Warning, effect))),
        (Kind::Ignored, true) => (code, Some((Severity::Warning, none))),
        (Kind::Ignored, false) => (code, Some((Severity::Note, none))),
    };

    let (message, hint) = (verdict.message, verdict.hint);
    let (code, field, severity) = (Some(code), Some(field), lower.map(|(severity, _)| severity));
    let why = lower.map(|(_, reason)| (reason, source));
    Finding { code, field, severity, why, message, hint, ..Finding::default() }
}

fn judged(view: &View<'_>) -> Vec<Finding> {
    let mut judged = Vec::new();
    // The paths of verdicts are below the place.
    let mut add = |code, owner, place: &str, field, verdicts: Vec<Verdict>| {
        judged.extend(verdicts.into_iter().map(|verdict| {
            let path = format!("{place}{}", verdict.path);
            Finding { owner, path, ..finding_of(code, field, verdict) }
        }));
    };
    for (template, engine) in view.engines() {
        let (of_flags, of_variables) = engine_of(engine).unwrap_or_default();
        let (code, owner, path) = (Code::ServingEngineFlags, template.owner, &engine.path);
        add(code, owner, path, template.args_field(), of_flags);
        add(code, owner, path, "engine.env", of_variables);
    }
    for (template, sidecar) in view.sidecars() {
        // A chart of ours knows the release also of an image without a tag: the profile names it.
        let release = release_of(view, &SIDECAR, text(sidecar.container, "image"));
        let found = judge(&SIDECAR, release, &sidecar.flags, sidecar.container);
        let (code, field) = (Code::ServingSidecarFlag, "prefill.sidecar-image");
        add(code, template.owner, &sidecar.path, field, found);
    }
    for picker in view.all_pickers() {
        let path = format!("{}.args", picker.path);
        let found = flags_of(view, picker);
        add(Code::ServingPickerFlags, picker.owner, &path, "epp.flags", found);
        let Some((owner, path, config)) = picker.known_config() else { continue };
        let allows = picker.flags.is_on("allow-experimental-plugins");
        let found = of_either(view, picker, |table, release| {
            releases::picker::judge(table, release, config, allows)
        });
        add(Code::ServingPickerConfig, owner, path, "epp.config", found);
    }
    for (owner, manifest) in view.manifests.iter().enumerate() {
        let found = kinds::judge(&manifest.json, &|project| told_release(view, project));
        add(Code::ServingApi, owner, "", "api", found);
    }
    judged
}

/// Reports images that name no release of the tables, and the release that judges them instead.
pub(super) fn other_releases(view: &View<'_>, found: &mut Found) {
    let mut check =
        |place: (usize, &str, &'static str), image: &str, of: &ProgramTable, release| {
            let (program, newest) = (of.name, of.releases.newest());
            let judge = match release {
                _ if !image.contains([':', '@']) || is_placeholder(image) => return,
                Release::Listed(_) => return,
                Release::Later => format!("{program} {newest}, the newest known release"),
                Release::Latest | Release::Unknown => {
                    format!("no release: it names no release of {program}")
                }
            };
            let message = format!("settings of `{image}` are judged by {judge}");
            let hint = "set a tag with a known release, or read the notes of the release";
            found.push(place.0, place.1, message, hint).field(place.2);
        };

    for template in &view.templates {
        let engine = template.engine.as_ref().filter(|engine| engine.flags.are_read());
        if let Some((engine, table)) = engine.and_then(|one| Some((one, one.program.table()?))) {
            let image = text(engine.container, "image");
            let place = (template.owner, &*engine.path, "engine.image");
            check(place, image, table, table.release(image));
        }
        let Some(sidecar) = &template.sidecar else { continue };
        let image = text(sidecar.container, "image");
        let place = (template.owner, &*sidecar.path, "prefill.sidecar-image");
        check(place, image, &SIDECAR, release_of(view, &SIDECAR, image));
    }
    for picker in &view.pickers {
        let image = text(picker.container, "image");
        let (table, release) = picker_table(view, picker);
        if image::is_of(image, table.program.key) {
            check((picker.owner, &picker.path, "epp.image"), image, &table.program, release);
        }
    }
}

/// Returns the verdicts on the flags and on the variables of an engine; `None` if nothing is known of them.
fn engine_of(engine: &Engine<'_>) -> Option<(Vec<Verdict>, Vec<Verdict>)> {
    let (table, flags) = (engine.program.table()?, &engine.flags);
    let image = text(engine.container, "image");
    // vLLM-Omni adds flags to the same command.
    if !flags.are_read() || is_omni(image) || flags.has("omni") {
        return None;
    }

    let release = table.release(image);
    // Plugins come as packages, which the script installs or the image has (vLLM docs, plugin system).
    let installs = words(engine.container).iter().any(|word| word.contains("pip install"));
    let env = list(engine.container, "env").iter();
    let has_plugins = installs || env.clone().any(|one| text(one, "name") == "VLLM_PLUGINS");
    let mut of_flags = argparse::judge(table, release, &flags.raw, has_plugins);
    // Platform plugins of vLLM add flags when it starts.
    if ["tpu", "ascend", "gaudi", "hpu", "neuron"].iter().any(|name| image.contains(name)) {
        let unknown = of_flags.iter_mut().filter(|verdict| verdict.hint == "remove it");
        unknown.for_each(|verdict| verdict.is_certain = false);
    }

    if let Some(flags) = engine.known_flags().filter(|flags| !flags.is_on("grpc")) {
        of_flags.extend(relations::judge(table, release, flags, engine.container));
    }

    let script = flags.raw.join(" ");
    let variables = env.map(|one| (text(one, "name"), text(one, "value")));
    // A launch script may use variables of this prefix for itself.
    let own: Vec<(&str, &str)> =
        variables.clone().filter(|(name, _)| !script.contains(name)).collect();
    let mut of_variables = variables::judge(table, release, &own);
    for verdict in &mut of_variables {
        let index = variables.clone().position(|(name, _)| name == verdict.path);
        verdict.path = format!(".env[{}]", index.unwrap_or_default());
    }
    Some((of_flags, of_variables))
}

/// Returns the picker's program, and its release.
fn picker_table(view: &View<'_>, picker: &Picker<'_>) -> (&'static releases::Picker, Release) {
    let image = text(picker.container, "image");
    let is_gie = image::is_of(image, GIE.program.key);
    // The image of a chart may be a copy in another registry under another name.
    let is_gie = if view.is_generated { !view.profile.llm_d } else { is_gie };
    let table = if is_gie { &*GIE } else { &*LLM_D };
    (table, release_of(view, &table.program, image))
}

/// Returns verdicts on a picker, for an unknown image without those on names that a picker of the other
/// project has.
fn of_either(
    view: &View<'_>,
    picker: &Picker<'_>,
    judge: impl Fn(&'static releases::Picker, Release) -> Vec<Verdict>,
) -> Vec<Verdict> {
    let (own, release) = picker_table(view, picker);
    let mut verdicts = judge(own, release);
    if release.is_unknown() && !image::is_of(text(picker.container, "image"), own.program.key) {
        let other = if own.program.key == GIE.program.key { &*LLM_D } else { &*GIE };
        let others = judge(other, release);
        verdicts.retain(|one| {
            let is_same = |other: &Verdict| other.kind == one.kind && other.path == one.path;
            one.kind != Kind::Refused || others.iter().any(is_same)
        });
    }
    verdicts
}

fn flags_of(view: &View<'_>, picker: &Picker<'_>) -> Vec<Verdict> {
    // A picker that is known by its flags only may be another program.
    let image = text(picker.container, "image");
    let own = picker_table(view, picker).0.program.key;
    let is_known = image::is_of(image, own) || view.is_generated;
    if !is_known && !["epp", "picker", "scheduler"].iter().any(|part| image.contains(part)) {
        return Vec::new();
    }
    of_either(view, picker, |table, release| {
        judge(&table.program, release, &picker.flags, picker.container)
    })
}

/// Judges the flags of a Go program, each by itself and by its relations to others.
fn judge(of: &ProgramTable, release: Release, flags: &Flags, container: &Json) -> Vec<Verdict> {
    let mut verdicts = go_flags::judge(of, release, &flags.raw);
    verdicts.extend(relations::judge(of, release, flags, container));
    verdicts
}

/// Returns the release of a project that the manifests tell: by the annotation of its CRDs, or for the
/// inference extension by the picker.
fn told_release(view: &View<'_>, project: &str) -> Option<String> {
    if project != "the Gateway API inference extension" {
        return None;
    }
    let annotation = "/metadata/annotations/inference.networking.k8s.io~1bundle-version";
    let mut crds = view.of_kind("CustomResourceDefinition");
    if let Some(version) = crds.find_map(|(_, crd)| crd.text(annotation)) {
        return Some(version.trim_start_matches('v').to_owned());
    }

    // With several pickers in the manifests, none of them tells what the cluster has.
    let [picker] = view.pickers.as_slice() else { return None };
    let (table, release) = picker_table(view, picker);
    let releases = &table.program.releases;
    let version = releases.name(releases.index(release)?);
    let is_gie = table.program.key == GIE.program.key;
    if is_gie { Some(version.to_owned()) } else { table.built_on.get(version).cloned() }
}

/// Returns the release of a program that an image names; for a generated chart, that of its profile if
/// the image names none.
fn release_of(view: &View<'_>, program: &ProgramTable, image: &str) -> Release {
    match program.release(image) {
        release if release.is_unknown() && view.is_generated => {
            program.releases.find(view.profile.version)
        }
        known => known,
    }
}

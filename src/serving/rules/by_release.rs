//! Flags, variables, configurations and kinds, judged by the release that the image names.

use super::*;
use crate::releases::spans::Release;
use crate::releases::verdict::{Kind, Verdict};
use crate::releases::{self, ProgramTable, SIDECAR, argparse, go_flags, relations, variables};
use crate::view::pods::is_omni;

/// A verdict with its place.
#[derive(Debug)]
pub(crate) struct Judged {
    /// Code of the invariant that reports it if it is certain that it matters.
    code: Code,
    owner: usize,
    path: String,
    field: &'static str,
    verdict: Verdict,
}

/// Reports what the release refuses or ignores. Each code has one invariant, which reports its verdicts.
pub(crate) fn refused_or_ignored(view: &View<'_>, found: &mut Found) {
    let code = found.code;
    report(view, |one| one.code == code, &[Kind::Refused, Kind::Ignored], found);
}

/// Reports settings that a later release removes.
pub(crate) fn deprecated(view: &View<'_>, found: &mut Found) {
    report(view, |_| true, &[Kind::Deprecated], found);
}

/// Reports settings that depend on a release that the image does not name, and abbreviations.
pub(crate) fn depends(view: &View<'_>, found: &mut Found) {
    report(view, |_| true, &[Kind::Depends, Kind::Fragile], found);
}

fn report(view: &View<'_>, is_of: impl Fn(&Judged) -> bool, wanted: &[Kind], found: &mut Found) {
    // Several rules report verdicts, so they are judged once.
    let judged = view.judged.get_or_init(|| judged(view)).iter();
    for one in judged.filter(|one| wanted.contains(&one.verdict.kind) && is_of(one)) {
        let Judged { owner, path, field, verdict, .. } = one;
        let finding = found.push(*owner, path, &verdict.message, &verdict.hint).field(field);
        let is_field = one.code == Code::ServingApi;
        let source = if is_field { "CRDs of the release" } else { "sources of the release" };
        match (verdict.kind, verdict.is_certain) {
            (Kind::Refused, false) => {
                let effect = match is_field {
                    true => "the API server may reject the object, or ignore the setting",
                    false => "the program may fail to start, or ignore the setting",
                };
                finding.warning().why(effect, source);
            }
            (Kind::Ignored, certain) => {
                let finding = if certain { finding.warning() } else { finding.note() };
                finding.why("the setting has no effect", source);
            }
            (Kind::Refused, true) | (Kind::Deprecated | Kind::Depends | Kind::Fragile, _) => {}
        }
    }
}

/// Returns verdicts at one place, below which their paths are.
fn placed(
    code: Code,
    owner: usize,
    base: &str,
    field: &'static str,
    verdicts: Vec<Verdict>,
) -> impl Iterator<Item = Judged> {
    verdicts.into_iter().map(move |verdict| {
        let path = format!("{base}{}", verdict.path);
        Judged { code, owner, path, field, verdict }
    })
}

fn judged(view: &View<'_>) -> Vec<Judged> {
    let mut judged: Vec<Judged> =
        view.engines().flat_map(|(template, engine)| engine_of(template, engine)).collect();
    for (template, sidecar) in view.sidecars() {
        // A chart of ours knows the release also of an image without a tag: the profile names it.
        let release = release_of(view, &SIDECAR, text(sidecar.container, "image"));
        let found = of_program(&SIDECAR, release, &sidecar.flags, sidecar.container);
        let (code, field) = (Code::ServingSidecarFlag, "prefill.sidecar-image");
        judged.extend(placed(code, template.owner, &sidecar.path, field, found));
    }
    for picker in view.all_pickers() {
        let (path, found) = (format!("{}.args", picker.path), flags_of(view, picker));
        judged.extend(placed(Code::ServingPickerFlags, picker.owner, &path, "epp.flags", found));
    }
    for picker in view.all_pickers() {
        let Some((owner, path, config)) = picker.known_config() else { continue };
        let (table, release) = picker_table(view, picker);
        let allows = picker.flags.is_on("allow-experimental-plugins");
        let found = of_either(text(picker.container, "image"), release, table, |table| {
            releases::picker::judge(table, release, config, allows)
        });
        judged.extend(placed(Code::ServingPickerConfig, owner, path, "epp.config", found));
    }
    for (owner, manifest) in view.manifests.iter().enumerate() {
        let found = kinds::judge(&manifest.json, &|project| told_release(view, project));
        judged.extend(placed(Code::ServingApi, owner, "", "api", found));
    }
    judged
}

/// Reports images that name no release of the tables, and the release that judges them instead.
pub(super) fn other_releases(view: &View<'_>, found: &mut Found) {
    let check = |mut found: Reporter<'_>, image: &str, of: &ProgramTable, release| {
        let (program, newest) = (of.name, of.releases.newest());
        let message = match release {
            _ if !image.contains([':', '@']) || is_placeholder(image) => return,
            Release::Listed(_) => return,
            Release::Later => format!(
                "settings of `{image}` are judged by {program} {newest}, the newest known release"
            ),
            Release::Latest | Release::Unknown => format!(
                "settings of `{image}` are judged by no release: it names no release of {program}"
            ),
        };
        found.push(message, "set a tag with a known release, or read the notes of the release");
    };

    for template in &view.templates {
        let engine = template.engine.as_ref().filter(|engine| engine.flags.are_read());
        if let Some((engine, table)) = engine.and_then(|one| Some((one, one.program.table()?))) {
            let image = text(engine.container, "image");
            let found = found.at(template.owner, &engine.path).field("engine.image");
            check(found, image, table, table.release(image));
        }
        if let Some(sidecar) = &template.sidecar {
            let image = text(sidecar.container, "image");
            let found = found.at(template.owner, &sidecar.path).field("prefill.sidecar-image");
            check(found, image, &SIDECAR, release_of(view, &SIDECAR, image));
        }
    }
    for picker in &view.pickers {
        let image = text(picker.container, "image");
        let (table, release) = picker_table(view, picker);
        if image::is_of(image, table.program.key) {
            let found = found.at(picker.owner, &picker.path).field("epp.image");
            check(found, image, &table.program, release);
        }
    }
}

fn engine_of(template: &Template<'_>, engine: &Engine<'_>) -> Vec<Judged> {
    let Some(table) = engine.program.table() else { return Vec::new() };
    let (flags, image) = (&engine.flags, text(engine.container, "image"));
    // vLLM-Omni adds flags to the same command.
    if !flags.are_read() || is_omni(image) || flags.has("omni") {
        return Vec::new();
    }

    let release = table.release(image);
    let code = Code::ServingEngineFlags;
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
    placed(code, template.owner, &engine.path, template.args_field(), of_flags)
        .chain(placed(code, template.owner, &engine.path, "engine.env", of_variables))
        .collect()
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

/// Removes verdicts on names that a picker of the other project has, for an unknown image.
fn of_either(
    image: &str,
    release: Release,
    own: &'static releases::Picker,
    judge: impl Fn(&'static releases::Picker) -> Vec<Verdict>,
) -> Vec<Verdict> {
    let mut verdicts = judge(own);
    if release.is_unknown() && !image::is_of(image, own.program.key) {
        let other = if own.program.key == GIE.program.key { &*LLM_D } else { &*GIE };
        let others = judge(other);
        verdicts.retain(|one| {
            let is_same = |other: &Verdict| other.kind == one.kind && other.path == one.path;
            one.kind != Kind::Refused || others.iter().any(is_same)
        });
    }
    verdicts
}

fn flags_of(view: &View<'_>, picker: &Picker<'_>) -> Vec<Verdict> {
    let (table, release) = picker_table(view, picker);
    // A picker that is known by its flags only may be another program.
    let image = text(picker.container, "image");
    let is_known = image::is_of(image, table.program.key) || view.is_generated;
    if !is_known && !["epp", "picker", "scheduler"].iter().any(|part| image.contains(part)) {
        return Vec::new();
    }
    of_either(image, release, table, |table| {
        of_program(&table.program, release, &picker.flags, picker.container)
    })
}

/// Judges the flags of a Go program, each by itself and by its relations to others.
fn of_program(
    program: &ProgramTable,
    release: Release,
    flags: &Flags,
    container: &Json,
) -> Vec<Verdict> {
    let mut verdicts = go_flags::judge(program, release, &flags.raw);
    verdicts.extend(relations::judge(program, release, flags, container));
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

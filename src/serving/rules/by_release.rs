//! Flags, variables, configurations and kinds, judged by the release that the image names.

use super::super::invariants::Found;
use super::super::releases::go_flags::Program as GoProgram;
use super::super::releases::spans::{Named, Release, Releases};
use super::super::releases::verdict::{Kind, Verdict};
use super::super::releases::{
    self, GIE, LLM_D, SGLANG, SIDECAR, VLLM, argparse, go_flags, image, kinds, variables,
};
use super::super::view::pods::{Program, Template, is_placeholder, list, text};
use super::super::view::{Picker, View};
use crate::diag::Severity;
use serde_json::Value as Json;

/// The subject of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// Arguments and variables of an engine.
    Engine,
    /// Arguments of a routing sidecar.
    Sidecar,
    /// Arguments of a picker.
    PickerFlags,
    /// Configuration of a picker.
    PickerConfig,
    /// `apiVersion` and kind of an object.
    Api,
}

const ALL: [Subject; 5] =
    [Subject::Engine, Subject::Sidecar, Subject::PickerFlags, Subject::PickerConfig, Subject::Api];

/// Name of the routing sidecar in messages.
const SIDECAR_NAME: &str = "llm-d's routing sidecar";

/// Path of the picker's container.
const PICKER_PATH: &str = ".spec.template.spec.containers[0]";

/// A verdict with its place.
#[derive(Debug)]
pub(crate) struct Judged {
    subject: Subject,
    owner: usize,
    path: String,
    field: &'static str,
    verdict: Verdict,
}

/// Checks flags and variables of engines.
pub(crate) fn engine(view: &View<'_>, found: &mut Found) {
    report(view, &[Subject::Engine], &[Kind::Refused, Kind::Ignored], found);
}

/// Checks flags of routing sidecars.
pub(crate) fn sidecar(view: &View<'_>, found: &mut Found) {
    report(view, &[Subject::Sidecar], &[Kind::Refused, Kind::Ignored], found);
}

/// Checks flags of pickers.
pub(crate) fn picker_flags(view: &View<'_>, found: &mut Found) {
    report(view, &[Subject::PickerFlags], &[Kind::Refused, Kind::Ignored], found);
}

/// Checks configurations of pickers.
pub(crate) fn picker_config(view: &View<'_>, found: &mut Found) {
    report(view, &[Subject::PickerConfig], &[Kind::Refused, Kind::Ignored], found);
}

/// Checks `apiVersion`, kind and the first level of objects.
pub(crate) fn api(view: &View<'_>, found: &mut Found) {
    report(view, &[Subject::Api], &[Kind::Refused, Kind::Ignored], found);
}

/// Reports settings that a later release removes.
pub(crate) fn deprecated(view: &View<'_>, found: &mut Found) {
    report(view, &ALL, &[Kind::Deprecated], found);
}

/// Reports settings that depend on a release that the image does not name, and abbreviations.
pub(crate) fn depends(view: &View<'_>, found: &mut Found) {
    report(view, &ALL, &[Kind::Depends, Kind::Fragile], found);
}

fn report(view: &View<'_>, subjects: &[Subject], wanted: &[Kind], found: &mut Found) {
    // Several rules report verdicts, so they are judged once.
    let judged = view.judged.get_or_init(|| judged(view));
    for Judged { subject, owner, path, field, verdict } in judged {
        if !wanted.contains(&verdict.kind) || !subjects.contains(subject) {
            continue;
        }
        let finding = found.push(*owner, path, &verdict.message, &verdict.hint);
        finding.field = Some(field);
        match (verdict.kind, verdict.is_certain) {
            (Kind::Refused, false) => finding.severity = Some(Severity::Warning),
            (Kind::Ignored, certain) => {
                let severity = if certain { Severity::Warning } else { Severity::Note };
                finding.severity = Some(severity);
                finding.why = Some(("the setting has no effect", "sources of the release"));
            }
            (Kind::Refused, true) | (Kind::Deprecated | Kind::Depends | Kind::Fragile, _) => {}
        }
    }
}

fn judged(view: &View<'_>) -> Vec<Judged> {
    let mut judged: Vec<Judged> = view.templates.iter().flat_map(engine_of).collect();
    judged.extend(view.templates.iter().flat_map(|template| sidecar_of(view, template)));
    judged.extend(view.pickers.iter().flat_map(|picker| flags_of(view, picker)));
    judged.extend(view.all_pickers().flat_map(|picker| config_of(view, picker)));
    judged.extend(apis(view));
    judged
}

/// Returns the facts about a program's releases.
fn table_of(program: Program) -> Option<&'static releases::Engine> {
    match program {
        Program::Vllm => Some(&VLLM),
        Program::Sglang => Some(&SGLANG),
        Program::HuggingFace | Program::Other => None,
    }
}

/// Reports images that name no release of the tables, and the release that judges them instead.
pub(super) fn other_releases(view: &View<'_>, found: &mut Found) {
    let mut report = |owner: usize,
                      path: String,
                      field,
                      image: &str,
                      (program, newest),
                      release| {
        if !image.contains([':', '@']) || is_placeholder(image) {
            return;
        }
        let message = match release {
            Release::Listed(_) => return,
            Release::Later => format!(
                "settings of `{image}` are judged by {program} {newest}, the newest known release"
            ),
            Release::Unknown => format!(
                "settings of `{image}` are judged by no release: it names no release of {program}"
            ),
        };
        let hint = "set a tag with a known release, or read the notes of the release";
        found.push(owner, path, message, hint).field = Some(field);
    };

    for template in &view.templates {
        let engine = template.engine.as_ref().filter(|engine| engine.flags.is_some());
        if let Some((engine, table)) = engine.and_then(|one| Some((one, table_of(one.program)?))) {
            let image = text(engine.container, "image");
            let release = image::release(image, table.key, &table.releases);
            let names = (table.program, table.releases.newest());
            let path = template.path_of(engine.container);
            report(template.owner, path, "engine.image", image, names, release);
        }
        if let Some(sidecar) = &template.sidecar {
            let image = text(sidecar.container, "image");
            let names = (SIDECAR_NAME, SIDECAR.releases.newest());
            let path = template.path_of(sidecar.container);
            let release = sidecar_release(view, image);
            report(template.owner, path, "prefill.sidecar-image", image, names, release);
        }
    }
    for picker in &view.pickers {
        let image = text(picker.container, "image");
        let (table, release) = picker_table(view, picker);
        if image::is_of(image, table.key) {
            let names = (table.program, table.releases.newest());
            report(picker.owner, PICKER_PATH.to_owned(), "epp.image", image, names, release);
        }
    }
}

fn engine_of(template: &Template<'_>) -> Vec<Judged> {
    let Some(engine) = &template.engine else { return Vec::new() };
    let Some(table) = table_of(engine.program) else { return Vec::new() };
    let Some(flags) = &engine.flags else { return Vec::new() };
    let image = text(engine.container, "image");
    // vLLM-Omni has flags and versions of its own.
    if image.contains("omni") || flags.has("omni") {
        return Vec::new();
    }

    let release = image::release(image, table.key, &table.releases);
    let path = template.path_of(engine.container);
    let is_prefill = template.role() == Some("prefill");
    let mut judged = Vec::new();
    for mut verdict in argparse::judge(table, release, &flags.raw) {
        // Platform plugins of vLLM add flags when it starts.
        let platforms = ["tpu", "ascend", "gaudi", "hpu", "neuron"];
        let is_unknown = verdict.hint == "remove it";
        if is_unknown && platforms.iter().any(|name| image.contains(name)) {
            verdict.is_certain = false;
        }
        let field = if is_prefill { "prefill.args" } else { "engine.args" };
        judged.push(Judged {
            subject: Subject::Engine,
            owner: template.owner,
            path: path.clone(),
            field,
            verdict,
        });
    }

    let script = flags.raw.join(" ");
    let names: Vec<&str> = list(engine.container, "env")
        .iter()
        .map(|variable| text(variable, "name"))
        .filter(|name| !script.contains(name))
        .collect();
    for verdict in variables::judge(table, release, &names) {
        let index = list(engine.container, "env")
            .iter()
            .position(|variable| text(variable, "name") == verdict.path);
        let path = format!("{path}.env[{}]", index.unwrap_or_default());
        judged.push(Judged {
            subject: Subject::Engine,
            owner: template.owner,
            path,
            field: "engine.env",
            verdict,
        });
    }
    judged
}

fn sidecar_of(view: &View<'_>, template: &Template<'_>) -> Vec<Judged> {
    let Some(sidecar) = &template.sidecar else { return Vec::new() };
    let table = &*SIDECAR;
    let release = sidecar_release(view, text(sidecar.container, "image"));

    let values: [(&str, &Named<()>); 5] = [
        ("connector", &table.kv_connectors),
        ("kv-connector", &table.kv_connectors),
        ("ec-connector", &table.ec_connectors),
        ("enable-tls", &table.tls_stages),
        ("tls-insecure-skip-verify", &table.tls_stages),
    ];
    let program = GoProgram {
        program: SIDECAR_NAME,
        key: "sidecar",
        releases: &table.releases,
        flags: &table.flags,
        behaviors: &table.behaviors,
        values: &values,
    };

    let path = template.path_of(sidecar.container);
    let judged = |verdict| Judged {
        subject: Subject::Sidecar,
        owner: template.owner,
        path: path.clone(),
        field: "prefill.sidecar-image",
        verdict,
    };
    go_flags::judge(program, release, &sidecar.flags.raw).into_iter().map(judged).collect()
}

fn sidecar_release(view: &View<'_>, image: &str) -> Release {
    let releases = &SIDECAR.releases;
    or_profile(view, image::release(image, "sidecar", releases), releases)
}

/// Returns the release of a generated chart's profile if the image names none.
fn or_profile(view: &View<'_>, release: Release, releases: &Releases) -> Release {
    match release {
        Release::Unknown if view.is_generated => releases.find(view.profile.version),
        known => known,
    }
}

/// Returns the picker's program, and its release.
fn picker_table(view: &View<'_>, picker: &Picker<'_>) -> (&'static releases::Picker, Release) {
    let image = text(picker.container, "image");
    let is_gie = if view.is_generated { !view.profile.llm_d } else { image::is_of(image, GIE.key) };
    let table = if is_gie { &*GIE } else { &*LLM_D };
    let release = image::release(image, table.key, &table.releases);
    (table, or_profile(view, release, &table.releases))
}

/// Removes verdicts on names that a picker of the other project has, for an unknown image.
fn of_either(
    image: &str,
    release: Release,
    table: &releases::Picker,
    judge: impl Fn(&'static releases::Picker) -> Vec<Verdict>,
) -> Vec<Verdict> {
    let own: &'static releases::Picker = if table.key == GIE.key { &GIE } else { &LLM_D };
    let other: &'static releases::Picker = if table.key == GIE.key { &LLM_D } else { &GIE };
    let mut verdicts = judge(own);
    if release == Release::Unknown && !image::is_of(image, own.key) {
        let others = judge(other);
        let same = |verdict: &Verdict| {
            let texts = |verdict: &Verdict| (verdict.kind, verdict.path.clone());
            others.iter().any(|other| texts(other) == texts(verdict))
        };
        verdicts.retain(|verdict| verdict.kind != Kind::Refused || same(verdict));
    }
    verdicts
}

fn flags_of(view: &View<'_>, picker: &Picker<'_>) -> Vec<Judged> {
    let (table, release) = picker_table(view, picker);
    let words = &picker.flags.raw;
    // A picker that is known by its flags only may be another program.
    let image = text(picker.container, "image");
    let is_known = image::is_of(image, table.key) || view.is_generated;
    if !is_known
        && !image.contains("epp")
        && !image.contains("picker")
        && !image.contains("scheduler")
    {
        return Vec::new();
    }
    let judge = |table: &'static releases::Picker| {
        let program = GoProgram {
            program: table.program,
            key: table.key,
            releases: &table.releases,
            flags: &table.flags,
            behaviors: &table.behaviors,
            values: &[],
        };
        go_flags::judge(program, release, words)
    };
    of_either(image, release, table, judge)
        .into_iter()
        .map(|verdict| Judged {
            subject: Subject::PickerFlags,
            owner: picker.owner,
            path: format!("{PICKER_PATH}.args"),
            field: "epp.flags",
            verdict,
        })
        .collect()
}

fn config_of(view: &View<'_>, picker: &Picker<'_>) -> Vec<Judged> {
    let Some((owner, path, Ok(config))) = &picker.config else { return Vec::new() };
    let (table, release) = picker_table(view, picker);
    let allows = picker.flags.is_on("allow-experimental-plugins");
    let judge =
        |table: &'static releases::Picker| releases::picker::judge(table, release, config, allows);
    of_either(text(picker.container, "image"), release, table, judge)
        .into_iter()
        .map(|verdict| Judged {
            subject: Subject::PickerConfig,
            owner: *owner,
            path: format!("{path}{}", verdict.path),
            field: "epp.config",
            verdict,
        })
        .collect()
}

/// Returns the release of a project that the manifests tell: by the annotation of its CRDs, or for the
/// inference extension by the picker.
fn told_release(view: &View<'_>, project: &str) -> Option<String> {
    if project != "the Gateway API inference extension" {
        return None;
    }
    let annotation = "/metadata/annotations/inference.networking.k8s.io~1bundle-version";
    let of_crd = view
        .of_kind("CustomResourceDefinition")
        .find_map(|(_, crd)| crd.json.pointer(annotation)?.as_str())
        .map(|version| version.trim_start_matches('v').to_owned());
    let of_picker = || {
        let [picker] = view.pickers.as_slice() else { return None };
        let (table, release) = picker_table(view, picker);
        let index = table.releases.index(release)?;
        let version = table.releases.name(index);
        if table.key == GIE.key {
            return Some(version.to_owned());
        }
        releases::built_on(version).map(str::to_owned)
    };
    of_crd.or_else(of_picker)
}

fn apis(view: &View<'_>) -> Vec<Judged> {
    let version = |project: &str| told_release(view, project);
    let judged = |owner: usize, json: &Json| -> Vec<Judged> {
        kinds::judge(json, &version)
            .into_iter()
            .map(|verdict| Judged {
                subject: Subject::Api,
                owner,
                path: verdict.path.clone(),
                field: "api",
                verdict,
            })
            .collect()
    };
    let all = view.manifests.iter().enumerate();
    all.flat_map(|(owner, manifest)| judged(owner, &manifest.json)).collect()
}

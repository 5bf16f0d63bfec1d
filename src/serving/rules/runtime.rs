//! Invariants of pods that start and stop: variables, hooks, files, devices and storage drivers.

use super::super::environment::EXECUTABLE;
use super::super::invariants::{Context, Found, Reporter};
use super::super::releases::image;
use super::super::view::View;
use super::super::view::config_map::key_of;
use super::super::view::pods::{
    Engine, Template, Variable, accelerators, expanded_names, is_placeholder, is_shell, is_true,
    list, mount_of, text, variable, words,
};
use super::super::view::shell::is_in_name;
use super::engine::ranks;
use super::probe::downloads;
use super::program::is_set;
use serde_json::Value as Json;

/// Checks that the arguments of containers name variables that they have, in the form of Kubernetes, which
/// leaves `$(NAME)` as it is where there is no such variable.
pub(crate) fn expanded(view: &View<'_>, found: &mut Found) {
    for template in view.templates.iter().filter(|template| !template.completed) {
        for (container, path) in template.all_containers() {
            let engine = template.engine.as_ref().filter(|engine| engine.path == path);
            let words = words(container);
            let mut found = found.at(template.owner, path);
            if let Some(engine) = engine.filter(|_| !is_shell(&words)) {
                other_forms(engine, &words, &mut found);
            }
            // Other programs may read the form themselves, but a shell starts a command of this name.
            if engine.is_some() || is_shell(&words) {
                unexpanded(template, container, &words, &mut found);
            }
        }
    }
}

/// Reports variables of an engine in the forms of shells.
fn other_forms(engine: &Engine<'_>, words: &[String], found: &mut Reporter<'_>) {
    // In place of a shell, only other tools replace `${NAME}`, which know no variables of containers.
    let is_known = engine.flags.are_read() && engine.unjudged.is_none();
    let is_whole = list(engine.container, "envFrom").is_empty();
    for env in list(engine.container, "env").iter().filter(|_| is_known && is_whole) {
        let name = text(env, "name");
        let (plain, braced) = (format!("${name}"), format!("${{{name}}}"));
        // `$$` is a `$` to Kubernetes.
        let has = |form: &String| {
            words.iter().any(|word| {
                let is_whole = |at: usize| form == &braced || at + form.len() == word.len();
                let mut all = word.match_indices(form);
                all.any(|(at, _)| is_whole(at) && !word[..at].ends_with('$'))
            })
        };
        let used = [&braced, &plain].into_iter().find(|form| has(form));
        let used = used.filter(|_| !name.is_empty() && !is_placeholder(text(env, "value")));
        if let Some(used) = used {
            let message = format!("`{used}` stays as it is: Kubernetes expands `$({name})`");
            found.push(message, format!("write `$({name})`"));
        }
    }
}

/// Reports variables in the form of Kubernetes that a container does not have.
fn unexpanded(
    template: &Template<'_>,
    container: &Json,
    words: &[String],
    found: &mut Reporter<'_>,
) {
    let is_name = |name: &String| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| is_in_name(c) && !c.is_ascii_lowercase())
    };
    let lines = words.iter().flat_map(|word| word.lines());
    for line in lines.filter(|line| !line.trim_start().starts_with('#')) {
        for name in expanded_names(line).iter().filter(|name| is_name(name)) {
            if is_set(template, container, name) {
                continue;
            }
            let message = if is_shell(words) {
                format!(
                    "the container has no variable `{name}`, so the shell runs a command `{name}`"
                )
            } else {
                format!("`{line}` stays as it is: the container has no variable `{name}`")
            };
            found.push(message, "add it to `env`, or fix its name");
        }
    }
}

/// Checks that the hook before the end of a container leaves time for the requests that it serves.
pub(crate) fn grace_period((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let period = template.spec.get("terminationGracePeriodSeconds");
    let period = period.map_or(Some(30), Json::as_u64);
    let Some(hook) = engine.container.pointer("/lifecycle/preStop") else { return };
    if let (Some(sleep), Some(period)) = (seconds(hook), period)
        && sleep >= period
    {
        let message = format!(
            "the hook sleeps {sleep} s of a grace period of {period} s, so that requests are cut off"
        );
        let hint = "raise `terminationGracePeriodSeconds` by the time that requests take";
        found.below(".lifecycle.preStop", message, hint);
    }
}

/// Returns how long a hook sleeps.
fn seconds(hook: &Json) -> Option<u64> {
    if let Some(seconds) = hook.pointer("/sleep/seconds") {
        return seconds.as_u64();
    }
    let command = list(hook.get("exec")?, "command").iter().filter_map(Json::as_str);
    let words: Vec<&str> = command.flat_map(str::split_whitespace).collect();
    let at = words.iter().position(|word| *word == "sleep")?;
    words.get(at + 1)?.trim_end_matches([';', 's']).parse().ok()
}

/// Checks that a container that serves files has the volume that an init container wrote them to.
pub(crate) fn files((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    // Other images may have the model, and other containers or a script may bring it.
    let is_plain = image::is_in(text(engine.container, "image"), "vllm/vllm-openai")
        && template.all_containers().len() == 1
        && !is_shell(&words(engine.container));
    let offline = variable(engine.container, "HF_HUB_OFFLINE");
    if offline == Some(Variable::Text("1")) && is_plain && downloads(template, engine) {
        let model = engine.model.as_deref().unwrap_or_default();
        let message = format!("`HF_HUB_OFFLINE` is set, but no volume has `{model}`");
        found.push(message, "remove it, or mount a volume with it");
    }
    let words = words(engine.container);
    let program = words.first().map_or("", String::as_str);
    let mode = key_of(list(template.spec, "volumes"), engine.container, program)
        .map_or(EXECUTABLE, |(.., mode)| mode);
    if mode & EXECUTABLE == 0 && !template.completed {
        let message = format!("`{program}` cannot be started: its mode is {mode:o}");
        found.push(message, "write `defaultMode: 0755` at the volume, or start it with `bash`");
    }
    // Python, tempfile: the engine does not start without a folder.
    let mut mounts = list(engine.container, "volumeMounts").iter();
    if is_true(engine.container, "/securityContext/readOnlyRootFilesystem")
        && !template.completed
        && variable(engine.container, "TMPDIR").is_none()
        && !mounts.any(|mount| ["/tmp", "/var/tmp"].contains(&text(mount, "mountPath")))
    {
        let message = "the root file system is read-only, and no volume is at /tmp";
        found.push(message, "mount an `emptyDir` at /tmp");
    }
    let Some(flags) = engine.known_flags() else { return };
    let adapters = flags.all("lora-modules").into_iter().chain(flags.all("lora-paths"));
    let adapters = adapters.map(|item| item.split_once('=').map_or(item, |(_, path)| path));
    for path in adapters.chain(engine.model.as_deref()).filter(|path| path.starts_with('/')) {
        let mounts = |container: &Json| mount_of(container, path).is_some();
        let mut inits = list(template.spec, "initContainers").iter();
        if let Some(init) = inits.find(|init| mounts(init)).filter(|_| !mounts(engine.container)) {
            let name = text(init, "name");
            let message = format!("`{path}` is on a volume of init container `{name}` only");
            found.push(message, "mount the volume at this path");
        }
    }
}

/// Checks that the engine sees the devices of its container, which are numbered from 0.
pub(crate) fn visible_devices((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let Some(("nvidia.com/gpu", count)) = accelerators(engine.container) else { return };
    let visible = variable(engine.container, "CUDA_VISIBLE_DEVICES");
    let Some(Variable::Text(visible)) = visible else { return };
    let numbers: Vec<u32> =
        visible.split(',').map_while(|number| number.trim().parse().ok()).collect();
    // CUDA hides the devices from the first on that does not exist.
    let seen = numbers.iter().take_while(|number| **number < count).count();
    let are_enough =
        seen > 0 && ranks(engine, template).is_none_or(|ranks| seen as u64 >= u64::from(ranks));
    if let Some(number) = numbers.get(seen).filter(|_| count > 0 && !are_enough) {
        let message = format!(
            "`CUDA_VISIBLE_DEVICES` names device {number}, but the container has {count}, numbered from 0"
        );
        found.below(".env", message, "remove the variable");
    }
}

/// Checks that GKE adds the container that mounts buckets (GKE docs, Cloud Storage FUSE).
pub(crate) fn buckets(view: &View<'_>, found: &mut Found) {
    const KEY: &str = "gke-gcsfuse/volumes";
    for template in view.templates.iter().filter(|template| !template.completed) {
        let volumes = list(template.spec, "volumes").iter();
        let mut drivers = volumes.filter_map(|volume| volume.pointer("/csi/driver"));
        if drivers.any(|driver| driver == "gcsfuse.csi.storage.gke.io")
            && text(template.annotations, KEY) != "true"
        {
            let message =
                format!("{template} mounts a bucket without the annotation `{KEY}: \"true\"`");
            found.push(template.owner, &template.path, message, "add it to the pods");
        }
    }
}

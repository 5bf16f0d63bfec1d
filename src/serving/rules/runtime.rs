//! Invariants of pods that start and stop: variables, hooks, files, devices and storage drivers.

use super::group::VARIABLES;
use super::probe::is_of_hub;
use super::program::is_set;
use super::*;
use crate::environment::EXECUTABLE;
use crate::view::config_map::{key_of, place_of};
use crate::view::pods::{is_inside, script_at};

/// Checks that the arguments of containers name variables that they have, in the form of Kubernetes, which
/// leaves `$(NAME)` as it is where there is no such variable.
pub(crate) fn expanded(view: &View<'_>, found: &mut Found) {
    let whole = view.templates.iter().filter(|template| !template.completed);
    for (template, container, path) in containers(whole) {
        let engine = template.engine.as_ref().filter(|engine| engine.path == path);
        let (words, mut found) = (words(container), found.at(template.owner, path));
        lost(&words, &mut found);
        // Other programs and those of scripts may read the form themselves.
        let judged = match (script_at(&words), engine) {
            (Some(at), _) => words.get(at..=at),
            (None, Some(engine)) if !is_shell(&words) => {
                other_forms((view, template, engine), &words, &mut found);
                Some(words.as_slice())
            }
            _ => None,
        };
        let all = judged.into_iter().flatten();
        for (word, name) in all.flat_map(|word| references(word).map(move |n| (word, n))) {
            let hint = "add it to `env`, or fix its name";
            // A heredoc is for another program, and a function is a command.
            let is_other = word.contains("<<") || word.contains(&format!("{name}()"));
            if is_other || is_set(template, container, &name) {
                continue;
            }
            let what = format!("the container has no variable `{name}`");
            if is_shell(&words) {
                let message = format!("{what}, so that the shell runs a command for `$({name})`");
                let source = "POSIX shell, command substitution";
                found.push(message, hint).why("the command is not found", source);
            } else {
                found.push(format!("`{word}` stays as it is: {what}"), hint);
            }
        }
    }
}

/// Returns the references to variables in a word, without those in comments of a script.
fn references(word: &str) -> impl Iterator<Item = String> {
    // In single quotes it is text.
    let lines = word.lines().filter_map(|line| line.split('#').next());
    lines.flat_map(|line| line.split('\'').step_by(2)).flat_map(expanded_names).filter(|name| {
        let is_upper = |c| is_in_name(c) && !c.is_ascii_lowercase();
        name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(is_upper)
    })
}

/// Reports arguments of a shell behind its script, which are parameters that the script does not use.
fn lost(words: &[String], found: &mut Reporter<'_>) {
    let Some(at) = script_at(words) else { return };
    let (Some(script), Some([name, rest @ ..])) = (words.get(at), words.get(at + 1..)) else {
        return;
    };
    let mut parameters = script.split('$').skip(1).map(|part| part.trim_start_matches('{'));
    let is_used =
        parameters.any(|part| part.starts_with(|c: char| c.is_ascii_digit() || "@*#".contains(c)));
    let is_command = name.contains(' ') || name.len() > 2 && name.starts_with('-');
    if !is_used && (is_command || !rest.is_empty()) {
        let message =
            format!("the shell runs `{}` without the arguments behind it", first_line(script));
        let finding = found.push(message, "write the whole command in one argument");
        finding
            .why("they are parameters of the script, which does not use them", "POSIX shell, -c");
    }
}

/// Returns the first line of a text, with a mark if there are more.
fn first_line(text: &str) -> String {
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default();
    let shown: String = first.chars().take(60).collect();
    if lines.next().is_some() || shown.len() < first.len() { shown + " …" } else { shown }
}

/// Reports variables of an engine in the forms of shells.
fn other_forms((_, template, engine): Context<'_>, words: &[String], found: &mut Reporter<'_>) {
    // In place of a shell, only other tools replace `${NAME}`, which know no variables of containers.
    let is_known = engine.flags.are_read() && engine.unjudged.is_none();
    let is_whole = list(engine.container, "envFrom").is_empty();
    let own = list(engine.container, "env").iter().filter(|_| is_whole);
    let own = own.filter(|env| !is_placeholder(text(env, "value"))).map(|env| text(env, "name"));
    let of_group = VARIABLES.iter().copied().filter(|_| template.part != Part::Single);
    for name in own.chain(of_group).filter(|_| is_known) {
        let (plain, braced) = (format!("${name}"), format!("${{{name}}}"));
        // `$$` is a `$` to Kubernetes.
        let has = |form: &String| {
            words.iter().any(|word| {
                let is_whole = |at: usize| form == &braced || at + form.len() == word.len();
                word.match_indices(form).any(|(at, _)| is_whole(at) && !word[..at].ends_with('$'))
            })
        };
        let used = [&braced, &plain].into_iter().find(|form| has(form));
        let Some(used) = used.filter(|_| !name.is_empty()) else { continue };
        let message = format!("`{used}` stays as it is: Kubernetes expands `$({name})`");
        found.push(message, format!("write `$({name})`"));
    }
}

/// Checks that the hook before the end of a container leaves time for the requests that it serves.
pub(crate) fn grace_period((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let period = template.spec.get("terminationGracePeriodSeconds");
    let period = period.map_or(Some(30), Json::as_u64);
    let Some(hook) = engine.container.pointer("/lifecycle/preStop") else { return };
    let both = seconds(hook).zip(period);
    let Some((sleep, period)) = both.filter(|(sleep, period)| sleep >= period) else { return };
    let message = format!(
        "the hook sleeps {sleep} s of a grace period of {period} s, so that requests are cut off"
    );
    let hint = "raise `terminationGracePeriodSeconds` by the time that requests take";
    found.below(".lifecycle.preStop", message, hint);
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
    let name = text(engine.container, "image");
    let is_upstream = image::is_in(name, "vllm/vllm-openai")
        && image::is_judged(name, "vllm")
        && name.contains(":v")
        && engine.container.pointer("/lifecycle/postStart").is_none()
        && !is_shell(&words(engine.container));
    let is_plain = is_upstream && template.all_containers().len() == 1;
    if is_offline(engine.container) && is_plain && downloads(template, engine) {
        let model = engine.model.as_deref().unwrap_or_default();
        let message = format!("`HF_HUB_OFFLINE` is set, but no volume has `{model}`");
        found.push(message, "remove it, or mount a volume with it");
    }
    const TOKENS: [&str; 2] = ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"];
    let all = || texts(engine.container, "env", "name");
    let is_token = |name: &&str| {
        (name.starts_with("HF_") || name.starts_with("HUGGING")) && name.ends_with("TOKEN")
            || TOKENS.iter().any(|token| is_typo(name, token))
    };
    let token = all().find(is_token).filter(|_| !all().any(|name| TOKENS.contains(&name)));
    let is_fetched = is_upstream && is_of_hub(engine) && !template.completed;
    if let Some(token) = token.filter(|_| is_fetched) {
        let message = format!("`{token}` is read by nothing");
        let finding = found.below(".env", message, "write `HF_TOKEN`").warning();
        finding.why("gated models are not downloaded", "huggingface_hub, environment variables");
    }
    let cache = hub_cache(engine.container).and_then(|path| mount_of(engine.container, &path));
    let is_filled = |mount: &Json| {
        let has_it =
            |one| texts(one, "volumeMounts", "name").any(|name| name == text(mount, "name"));
        let mut others = template.all_containers().into_iter();
        others.any(|(one, _)| !std::ptr::eq(one, engine.container) && has_it(one))
    };
    let cache = cache.filter(|mount| is_true(mount, "/readOnly") && !is_filled(mount));
    if let Some(mount) = cache.filter(|_| downloads(template, engine)) {
        let path = text(mount, "mountPath");
        let message =
            format!("`{path}`, where the engine stores its model, is empty and read-only");
        found.push(message, "remove `readOnly` from the mount");
    }
    let config = engine.flags.json("kv-transfer-config").unwrap_or_default();
    let tiers = config::at(&config, "kv_connector_extra_config.secondary_tiers.[]");
    let is_closed = |folder: &&str| {
        mount_of(engine.container, folder).is_some_and(|mount| is_true(mount, "/readOnly"))
    };
    if let Some(folder) = tiers.iter().map(|(tier, _)| text(tier, "root_dir")).find(is_closed) {
        let message = format!("`{folder}`, where the engine stores KV caches, is read-only");
        found.push(message, "remove `readOnly` from the mount");
    }
    for init in list(template.spec, "initContainers") {
        elsewhere(init, engine.container, found);
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
    let mut mounts = texts(engine.container, "volumeMounts", "mountPath");
    if is_true(engine.container, "/securityContext/readOnlyRootFilesystem")
        && !template.completed
        && variable(engine.container, "TMPDIR").is_none()
        && !mounts.any(|path| ["/tmp", "/var/tmp"].contains(&path))
    {
        let message = "the root file system is read-only, and no volume is at /tmp";
        found.push(message, "mount an `emptyDir` at /tmp");
    }
    let Some(flags) = engine.known_flags() else { return };
    let adapters = flags.all("lora-modules").into_iter().chain(flags.all("lora-paths"));
    let adapters = adapters.map(|item| item.split_once('=').map_or(item, |(_, path)| path));
    let all = adapters.chain(engine.model.as_deref());
    let is_lost = |path: &&str| path.starts_with('/') && mount_of(engine.container, path).is_none();
    for path in all.filter(is_lost) {
        let mut inits = list(template.spec, "initContainers").iter();
        if let Some(init) = inits.find(|init| mount_of(init, path).is_some()) {
            let name = text(init, "name");
            let message = format!("`{path}` is on a volume of init container `{name}` only");
            found.push(message, "mount the volume at this path");
        } else if engine.model.as_deref() == Some(path) && is_beside_models(template, path) {
            let message = format!("`{path}` is on no volume: KServe mounts models at {MODELS}");
            found.push(message, format!("write `{MODELS}`"));
        } else if is_upstream && !template.completed {
            let message = format!("`{path}` is on no volume, and the image has no models");
            found.push(message, format!("mount the volume with the model at `{path}`"));
        }
    }
}

/// Reports a volume of an init container at a path that it does not name, if it names that of the engine's mount.
fn elsewhere(init: &Json, engine: &Json, found: &mut Reporter<'_>) {
    // Other paths may be relative to a folder, or come from elsewhere; Secrets have tokens.
    let is_open = ["workingDir", "envFrom"].iter().any(|key| init.get(key).is_some())
        || list(init, "env").iter().any(|one| one.pointer("/valueFrom/configMapKeyRef").is_some());
    if is_open {
        return;
    }
    let named = words(init).into_iter().chain(texts(init, "env", "value").map(str::to_owned));
    let named = named.collect::<Vec<String>>().join(" ");
    let is_named = |path: &str| {
        let mut parts = named.split(|c: char| c.is_whitespace() || "\"'=,;".contains(c));
        parts.any(|part| is_inside(part, path))
    };
    for mount in list(init, "volumeMounts") {
        let is_same = |other: &&Json| text(other, "name") == text(mount, "name");
        let Some(other) = list(engine, "volumeMounts").iter().find(is_same) else { continue };
        let [here, there] = [mount, other].map(|one| text(one, "mountPath"));
        if is_named(there) && !is_named(here) && mount_of(init, there).is_none() {
            let name = text(init, "name");
            let what = format!("init container `{name}` uses `{there}`");
            let message = format!("{what}, but has its volume at `{here}`");
            found.push(message, format!("write `mountPath: {there}`")).warning();
        }
    }
}

/// Returns true if the container may not ask the Hugging Face Hub (huggingface_hub, constants).
fn is_offline(container: &Json) -> bool {
    let is_true = |value: &str| ["1", "ON", "YES", "TRUE"].contains(&value.to_uppercase().as_str());
    matches!(variable(container, "HF_HUB_OFFLINE"), Some(Variable::Text(value)) if is_true(value))
}

/// The folder at which KServe mounts models (KServe, constants.DefaultModelLocalMountPath).
pub(super) const MODELS: &str = "/mnt/models";

/// Returns true for a path next to the one at which KServe mounts the model of a service.
fn is_beside_models(template: &Template<'_>, path: &str) -> bool {
    let is_mounted = template.manifest.kind() == "InferenceService"
        && template.manifest.text("/spec/predictor/model/storageUri").is_some();
    is_mounted && is_inside(path, "/mnt") && !is_inside(path, MODELS)
}

/// Returns the folder of a container's cache of models (huggingface_hub, constants); `None` if unknown.
pub(super) fn hub_cache(container: &Json) -> Option<String> {
    let is_set = |name: &&str| variable(container, name).is_some();
    let is_of_home = !is_set(&"HF_HOME") && ["XDG_CACHE_HOME", "HOME"].iter().any(is_set);
    if is_of_home || ["HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE"].iter().any(is_set) {
        return None;
    }
    let home = variable_or(container, "HF_HOME", "/root/.cache/huggingface")?;
    let usual = format!("{}/hub", home.trim_end_matches('/'));
    variable_or(container, "HF_HUB_CACHE", &usual).map(str::to_owned)
}

/// Checks that an engine that downloads nothing reads the folder to which an init container downloads its
/// model.
pub(crate) fn downloaded((view, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let flags = engine.known_flags().filter(|_| is_offline(engine.container));
    let (Some(flags), Some(model)) = (flags, engine.model.as_deref()) else { return };
    let cache =
        flags.text("download-dir").map(str::to_owned).or_else(|| hub_cache(engine.container));
    let Some(read) = cache.filter(|_| !model.starts_with('/')) else { return };
    let Some(place) = place_of(engine.container, &read) else { return };

    let mut others = Vec::new();
    for init in list(template.spec, "initContainers") {
        let commands = template.commands(init, &view.budget).unwrap_or_default();
        let is_download = |words: &&Vec<String>| {
            let mut pairs = words.windows(2);
            pairs.any(|two| ["hf", "huggingface-cli"].contains(&&*two[0]) && two[1] == "download")
                && words.iter().any(|word| word == model)
        };
        let moves = |words: &Vec<String>| {
            words.first().is_some_and(|word| ["cp", "ln", "mv", "rsync"].contains(&word.as_str()))
        };
        if commands.iter().any(moves) {
            return;
        }
        for words in commands.iter().filter(is_download) {
            let flags = Flags::parse(words);
            let folder = ["local-dir", "cache-dir"].into_iter().find(|flag| flags.has(flag));
            let folder = match folder {
                Some(flag) => flags.text(flag).map(str::to_owned),
                None => hub_cache(init),
            };
            let Some(folder) = folder else { return };
            let filled = place_of(init, &folder);
            if filled.as_ref() == Some(&place) {
                return;
            }
            let is_same = filled.is_some_and(|filled| filled.0 == place.0);
            others.extend(is_same.then(|| (text(init, "name"), folder)));
        }
    }
    let Some((init, folder)) = others.first() else { return };
    let message = format!(
        "`HF_HUB_OFFLINE` is set, and the engine reads {read}, but init container `{init}` \
         downloads `{model}` to {folder}"
    );
    found.push(message, "use the same `HF_HOME` in both");
}

/// Checks that the engine sees the devices of its container, which are numbered from 0.
pub(crate) fn visible_devices((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let Some(("nvidia.com/gpu", count)) = accelerators(engine.container) else { return };
    let visible = variable(engine.container, "CUDA_VISIBLE_DEVICES");
    let Some(Variable::Text(visible)) = visible else { return };
    let numbers: Vec<u32> = visible.split(',').map_while(|one| one.trim().parse().ok()).collect();
    // CUDA hides the devices from the first on that does not exist.
    let seen = numbers.iter().take_while(|number| **number < count).count();
    let are_enough =
        seen > 0 && ranks(engine, template).is_none_or(|ranks| seen as u64 >= u64::from(ranks));
    if count == 0 || are_enough || numbers.is_empty() {
        return;
    }
    let why = match numbers.get(seen) {
        Some(number) => {
            format!("names device {number}, but the container has {count}, numbered from 0")
        }
        None => format!("names {seen} of {count} devices, but the ranks use more"),
    };
    found.below(".env", format!("`CUDA_VISIBLE_DEVICES` {why}"), "remove the variable");
}

/// Checks that pods have the network interfaces that variables name (GKE docs, Multus).
pub(crate) fn interfaces((_, template, container): ContainerContext<'_>, found: &mut Reporter<'_>) {
    let of_object = template.manifest.json.pointer("/metadata/annotations").unwrap_or(&Json::Null);
    let of_all = [template.annotations, of_object];
    let said = |key: &str| of_all.iter().find_map(|all| all.get(key)?.as_str());
    let listed = said("networking.gke.io/interfaces");
    let listed = listed.and_then(|text| serde_json::from_str::<Json>(text).ok());
    let keys = of_all.iter().filter_map(|all| all.as_object()).flat_map(serde_json::Map::keys);
    let has_networks = keys.into_iter().any(|key| key.contains("cni"));
    let is_there = |name: &str| match &listed {
        Some(Json::Array(all)) => {
            all.iter().any(|one| text(one, "interfaceName").starts_with(name))
        }
        // Multus numbers the interfaces that it adds.
        _ => has_networks || name.strip_prefix("net").is_none_or(|n| n.parse::<u32>().is_err()),
    };
    for variable in list(container, "env").iter().filter(|_| !template.is_on_host()) {
        let (name, value) = (text(variable, "name"), text(variable, "value"));
        let mut all = value.split(',').map(|one| one.trim().trim_start_matches('='));
        let is_missing = |one: &&str| {
            let is_open =
                one.is_empty() || *one == "lo" || is_placeholder(one) || one.starts_with('^');
            !is_open && !is_there(one)
        };
        if let Some(missing) = all.find(is_missing).filter(|_| name.ends_with("_IFNAME")) {
            let message = format!("`{name}` is `{missing}`, which no annotation adds to the pod");
            let hint = "write an interface of the pod, or annotate its networks";
            // Multus may add networks to all pods.
            let finding = found.below(".env", message, hint);
            finding.lower_if(listed.is_none(), Severity::Warning);
        }
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

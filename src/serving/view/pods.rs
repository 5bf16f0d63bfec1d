//! Pod templates with their engines and sidecars.

use super::shell::{self, Script, Variables};
use super::*;
use crate::releases::argparse::Names;
use crate::releases::{ProgramTable, SGLANG, SIDECAR, VLLM, engines, image};

/// The pods of a group that a template is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// No groups.
    Single,
    /// The leader.
    Leader,
    /// The workers.
    Worker,
}

/// A pod template.
#[derive(Debug)]
pub(crate) struct Template<'a> {
    /// Index of its manifest.
    pub(crate) owner: usize,
    /// Its manifest.
    pub(crate) manifest: &'a Manifest,
    /// JSON path in the manifest.
    pub(crate) path: String,
    /// JSON path of `spec` in the manifest.
    pub(crate) spec_path: String,
    /// `spec` of the pods.
    pub(crate) spec: &'a Json,
    /// Annotations of the pods; null without any.
    pub(crate) annotations: &'a Json,
    /// Labels of the pods, with those that controllers add.
    pub(crate) labels: BTreeMap<&'a str, &'a str>,
    /// The pods of a group that it is for.
    pub(crate) part: Part,
    /// Number of pods per group.
    pub(crate) size: u32,
    /// `replicas`, if set.
    pub(crate) replicas: Option<u64>,
    /// The model server.
    pub(crate) engine: Option<Engine<'a>>,
    /// The routing sidecar.
    pub(crate) sidecar: Option<Sidecar<'a>>,
    /// Names and JSON paths of containers whose scripts are over the budget.
    pub(crate) unread: Vec<(&'a str, String)>,
    /// True if a controller adds volumes, probes or arguments to the pods.
    pub(crate) completed: bool,
}

/// Program of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// KServe's Hugging Face server.
    HuggingFace,
    /// Another or an unknown one.
    Other,
}

impl Program {
    /// Returns the facts about its releases.
    pub(crate) fn table(self) -> Option<&'static ProgramTable> {
        match self {
            Program::Vllm => Some(&VLLM),
            Program::Sglang => Some(&SGLANG),
            Program::HuggingFace | Program::Other => None,
        }
    }
}

/// A model server.
#[derive(Debug)]
pub(crate) struct Engine<'a> {
    /// The container.
    pub(crate) container: &'a Json,
    /// JSON path of the container in the manifest.
    pub(crate) path: String,
    /// The program.
    pub(crate) program: Program,
    /// Its flags; open if its command is unknown.
    pub(crate) flags: Flags,
    /// The model argument.
    pub(crate) model: Option<String>,
    /// The reason why facts about the releases of its program may not hold.
    pub(crate) unjudged: Option<String>,
}

/// A routing sidecar.
#[derive(Debug)]
pub(crate) struct Sidecar<'a> {
    /// The container.
    pub(crate) container: &'a Json,
    /// JSON path of the container in the manifest.
    pub(crate) path: String,
    /// Its flags.
    pub(crate) flags: Flags,
}

/// Returns the list at a key; empty without one.
pub(crate) fn list<'a>(json: &'a Json, key: &str) -> &'a [Json] {
    json.get(key).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the string at a key; `usual` if it is empty or missing.
pub(crate) fn text_or<'a>(json: &'a Json, key: &str, usual: &'a str) -> &'a str {
    Some(text(json, key)).filter(|text| !text.is_empty()).unwrap_or(usual)
}

/// A value with its JSON path.
pub(crate) type Located<'v> = (&'v Json, String);

/// Returns the items of the list at a key with their JSON paths, given that of the value.
pub(crate) fn items<'v>(
    json: &'v Json,
    key: &str,
    path: &str,
) -> impl Iterator<Item = Located<'v>> + use<'v> {
    let path = format!("{path}.{key}");
    let all = list(json, key).iter().enumerate();
    all.map(move |(index, item)| (item, format!("{path}[{index}]")))
}

/// Returns the strings at a key of the items of a list; empty ones for items without it.
pub(crate) fn texts<'v>(
    json: &'v Json,
    list_key: &str,
    key: &'static str,
) -> impl Iterator<Item = &'v str> + Clone + use<'v> {
    list(json, list_key).iter().map(move |item| text(item, key))
}

/// Returns the strings of the list at a key.
pub(crate) fn strings<'v>(json: &'v Json, key: &str) -> impl Iterator<Item = &'v str> + use<'v> {
    list(json, key).iter().filter_map(Json::as_str)
}

/// Returns the string at a JSON pointer.
pub(crate) fn text_at<'v>(json: &'v Json, pointer: &str) -> Option<&'v str> {
    json.pointer(pointer)?.as_str()
}

/// Returns all containers of a pod with their JSON paths.
pub(crate) fn all_containers<'v>(spec: &'v Json, path: &str) -> Vec<Located<'v>> {
    ["initContainers", "containers"].iter().flat_map(|key| items(spec, key, path)).collect()
}

/// Returns the string at a key; empty without one.
pub(crate) fn text<'a>(json: &'a Json, key: &str) -> &'a str {
    json.get(key).and_then(Json::as_str).unwrap_or_default()
}

/// Returns true if the value at a JSON pointer is `true`.
pub(crate) fn is_true(json: &Json, pointer: &str) -> bool {
    json.pointer(pointer) == Some(&Json::Bool(true))
}

/// Returns the mount of a container that has a file or folder: the longest path wins.
pub(crate) fn mount_of<'a>(container: &'a Json, path: &str) -> Option<&'a Json> {
    let mounts = list(container, "volumeMounts").iter();
    let mounts = mounts.filter(|mount| is_inside(path, text(mount, "mountPath")));
    mounts.max_by_key(|mount| text(mount, "mountPath").len())
}

/// Returns true if a path is a folder, or in it.
pub(crate) fn is_inside(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the volume of a container's mount.
pub(crate) fn volume_of<'a>(spec: &'a Json, mount: &Json) -> Option<&'a Json> {
    list(spec, "volumes").iter().find(|volume| text(volume, "name") == text(mount, "name"))
}

/// Returns a text as it is, and other values as JSON.
pub(crate) fn as_text(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

/// Returns the words of a container's command and arguments.
pub(crate) fn words(container: &Json) -> Vec<String> {
    ["command", "args"].iter().flat_map(|key| list(container, key)).map(as_text).collect()
}

/// Replaces `$(NAME)` and `$$` as Kubernetes does, within the budget (third_party/forked/golang/expansion);
/// an unknown variable becomes `unknown` of its name.
fn substituted(
    word: &str,
    variables: &Variables,
    budget: &Budget,
    mut unknown: impl FnMut(&str) -> String,
) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        rest = after.strip_prefix('$').unwrap_or(after);
        let Some(inner) = after.strip_prefix('(') else {
            out.push('$');
            continue;
        };
        let Some((name, tail)) = inner.split_once(')') else {
            out.push('$');
            break;
        };

        match variables.get(name) {
            Some(value) if budget.pay(value) => out.push_str(value),
            Some(_) => break,
            None => out.push_str(&unknown(name)),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// Returns the names of the variables that Kubernetes looks up to expand a word.
pub(crate) fn expanded_names(word: &str) -> Vec<String> {
    let mut names = Vec::new();
    substituted(word, &Variables::new(), &Budget::new(), |name| {
        names.push(name.to_owned());
        String::new()
    });
    names
}

fn as_unknown(_: &str) -> String {
    shell::UNKNOWN.to_string()
}

/// Returns the commands of a container; `None` if its script exceeds the budget.
pub(crate) fn script(container: &Json, part: Part, size: u32, budget: &Budget) -> Option<Script> {
    budget.next_container();
    let variables = variables(container, part, size, budget);
    let all = words(container);
    let replaced = |word: &String| substituted(word, &variables, budget, as_unknown);

    let script = match script_at(&all) {
        Some(at) => {
            // Kubernetes leaves unknown names to the shell, to which they are commands.
            let script = all.get(at).map_or("", String::as_str);
            let script = substituted(script, &variables, budget, |name| format!("$({name})"));
            // The first word after the script is its `$0`.
            let rest: Vec<String> = all.iter().skip(at + 2).map(replaced).collect();
            // `bash -euc`, `bash -o nounset -c`.
            let mut options = all[1..at].iter().filter(|word| !word.starts_with("--"));
            let is_strict = options
                .any(|word| word.starts_with('-') && word.contains('u') || word == "nounset");
            shell::parse(&script, &rest, &variables, is_strict, budget)?
        }
        _ => {
            let words = all.iter().map(replaced).map(without_placeholders).collect();
            Script { commands: vec![words], ..Script::default() }
        }
    };
    (!budget.is_over()).then_some(script)
}

/// Returns the index of the script among the words of a command; `None` if it starts no shell with one.
pub(crate) fn script_at(words: &[String]) -> Option<usize> {
    // `-c`, also behind other letters: `-ec`, `-lc`.
    let option = words.iter().position(|word| word.starts_with('-') && word.ends_with('c'));
    let at = option.filter(|_| is_shell(words))? + 1;
    // It ends the options.
    Some(at + usize::from(words.get(at).is_some_and(|word| word == "--")))
}

/// Returns true if a command starts a shell.
pub(crate) fn is_shell(words: &[String]) -> bool {
    let program = words.first().map(|word| word.rsplit('/').next().unwrap_or(word));
    program.is_some_and(|name| matches!(name, "sh" | "bash" | "ash" | "dash"))
}

/// Replaces `${NAME}`, which Kubernetes does not expand and another tool was to replace, by unknown
/// text.
fn without_placeholders(mut word: String) -> String {
    while let Some(start) = word.find("${") {
        let Some(end) = word[start..].find('}') else { break };
        word.replace_range(start..=start + end, &shell::UNKNOWN.to_string());
    }
    word
}

/// Returns the index of the last worker in a group of pods; 1 if its size is not known.
pub(crate) fn last_index(size: u32) -> u32 {
    size.saturating_sub(1).max(1)
}

/// Returns the variables of a container in a group of pods.
fn variables(container: &Json, part: Part, size: u32, budget: &Budget) -> Variables {
    let mut variables = Variables::new();
    if part != Part::Single {
        // All workers have one template, which is judged as that of the last one.
        let index = if part == Part::Worker { last_index(size) } else { 0 };
        variables.insert("LWS_GROUP_SIZE".to_owned(), size.to_string());
        variables.insert("LWS_WORKER_INDEX".to_owned(), index.to_string());
        // Any host name will do: rules only ask whether it is the own pod's.
        variables.insert("LWS_LEADER_ADDRESS".to_owned(), "leader".to_owned());
    }
    for variable in list(container, "env") {
        if let Some(value) = variable.get("value").and_then(Json::as_str) {
            let value = substituted(value, &variables, budget, as_unknown);
            variables.insert(text(variable, "name").to_owned(), value);
        }
    }
    variables
}

/// Returns why facts about the releases of a program may not hold for a server with this image and
/// these flags; `None` if they do.
fn unjudged(program: Program, image: &str, flags: &Flags) -> Option<String> {
    let table = program.table()?;
    // Its own program, `sglang.multimodal_gen`, under the same command.
    let is_diffusion = ["num-gpus", "backend"].iter().any(|flag| flags.has(flag));
    if program == Program::Sglang && is_diffusion {
        return Some("it is SGLang's diffusion server, whose flags differ".to_owned());
    }
    // An image of the other program is a mistake, not a fork.
    let holds = engines().iter().any(|one| image::is_judged(image, one.key));
    (!holds).then(|| format!("its image `{image}` is not one of {}'s", table.name))
}

impl<'a> Engine<'a> {
    /// Returns the engine of a container; `None` if it is not one. Without known commands, image and
    /// name decide.
    pub(crate) fn of(container: &'a Json, commands: Option<&[Vec<String>]>) -> Option<Engine<'a>> {
        let image = text(container, "image");
        let named = |program, flags: Flags, model_flag: &str, first: Option<&String>| {
            let model = flags.text(model_flag).or(first.map(String::as_str)).map(str::to_owned);
            Engine {
                container,
                path: String::new(),
                program,
                unjudged: unjudged(program, image, &flags),
                model: model.filter(|model| !model.contains(shell::UNKNOWN)),
                flags,
            }
        };
        let of_vllm = |words: &[String], may_begin_with_model: bool| {
            let flags = Flags::of_engine(words, (!is_omni(image)).then(|| Names::of(&VLLM, image)));
            let first = words.first().filter(|word| may_begin_with_model && !word.starts_with('-'));
            named(Program::Vllm, flags, "model", first)
        };

        let prints = |command: &&Vec<String>| {
            command.first().is_some_and(|program| matches!(program.as_str(), "echo" | "printf"))
        };
        let all: Vec<_> = commands.unwrap_or_default().iter().filter(|one| !prints(one)).collect();
        // The arguments of each server of vLLM.
        let serves = |command: &&Vec<String>| {
            let at = command.windows(2).position(|pair| {
                let program = pair[0].rsplit('/').next();
                matches!(program, Some("vllm" | "vllm-omni")) && pair[1] == "serve"
            });
            at.and_then(|at| Some(command.get(at + 2..)?.to_vec()))
        };
        for command in &all {
            let after = |at: usize| command.get(at..).unwrap_or_default();
            if let Some(words) = serves(command) {
                let mut engine = of_vllm(&words, true);
                // Of several servers in one container, nothing is said. Those of one port are branches of
                // a script.
                for other in all.iter().filter_map(serves) {
                    let other = of_vllm(&other, true).flags;
                    if other.text("port") != engine.flags.text("port") {
                        return Some(named(Program::Vllm, Flags::unknown(), "", None));
                    }
                    engine.flags.keep_common(other);
                }
                return Some(engine);
            }
            let module = |name: &str| command.iter().position(|word| word == name);
            if let Some(at) = module("vllm.entrypoints.openai.api_server") {
                return Some(of_vllm(after(at), false));
            }
            if let Some(at) = module("huggingfaceserver") {
                let flags = Flags::parse(after(at + 1));
                return Some(named(Program::HuggingFace, flags, "model-id", None));
            }
            // Workers of Dynamo have SGLang's flags, and no server.
            let is_dynamo = command.iter().any(|word| word.starts_with("dynamo."));
            let sglang = module("sglang.launch_server")
                .or_else(|| command.iter().position(|word| word.starts_with("--model-path")))
                .filter(|_| !is_dynamo);
            if let Some(at) = sglang {
                let flags = Flags::of_engine(after(at), Some(Names::of(&SGLANG, image)));
                return Some(named(Program::Sglang, flags, "model-path", None));
            }
        }

        let contains = |parts: &[&str]| parts.iter().any(|part| image.contains(part));
        let words_of_all: Vec<String> = all.iter().copied().flatten().cloned().collect();
        // Without arguments it is a patch, or its author takes the variables for the engine's.
        let is_upstream = || image::is_in(image, "vllm/vllm-openai");
        let has_words =
            !words_of_all.is_empty() || is_upstream() && named_models(container).next().is_some();
        let bare = list(container, "command").is_empty() && commands.is_some() && has_words;
        if bare && contains(&["vllm-openai", "vllm-omni"]) {
            // The entrypoint of the image is the server.
            return Some(of_vllm(&words_of_all, true));
        }
        if bare && contains(&["huggingfaceserver"]) {
            return Some(named(
                Program::HuggingFace,
                Flags::parse(&words_of_all),
                "model-id",
                None,
            ));
        }
        let server =
            matches!(text(container, "name"), "modelserver" | "vllm" | "sglang" | "engine");
        let is_server = server || contains(&["vllm", "sglang", "trtllm", "tensorrt"]);
        // Ray workers have the engine's image but no server.
        let is_engine = is_server && !joins_ray(container);
        is_engine.then(|| named(Program::Other, Flags::unknown(), "", None))
    }

    /// Returns its flags; `None` if they are not all known.
    pub(crate) fn known_flags(&self) -> Option<&Flags> {
        Some(&self.flags).filter(|flags| !flags.are_open())
    }

    /// Returns its flags if it is this program and they are all known.
    pub(crate) fn flags_of(&self, program: Program) -> Option<&Flags> {
        self.known_flags().filter(|_| self.program == program)
    }

    /// Returns true if it has no server.
    pub(crate) fn is_headless(&self) -> bool {
        match self.program {
            // Only the first node of SGLang has a server.
            Program::Sglang => self.number("node-rank", 0).is_some_and(|rank| rank > 0),
            _ => self.flags.is_on("headless"),
        }
    }

    /// Returns true if each rank has its own port.
    pub(crate) fn has_port_for_each_rank(&self) -> bool {
        self.flags.is_on("data-parallel-multi-port-external-lb")
    }

    /// Returns true if Ray distributes it over the pods of its group.
    pub(crate) fn uses_ray(&self) -> bool {
        let backends = ["distributed-executor-backend", "data-parallel-backend"];
        backends.iter().any(|flag| self.flags.text(flag) == Some("ray"))
            || starts_ray(self.container)
    }

    /// Returns its request ports; `None` if unknown.
    pub(crate) fn ports(&self) -> Option<Vec<u32>> {
        if self.is_headless() {
            return Some(Vec::new());
        }
        let (flag, usual) = match self.program {
            Program::Sglang => ("port", 30_000),
            Program::HuggingFace => ("http-port", 8_080),
            Program::Vllm | Program::Other => ("port", 8_000),
        };
        let ranks = self.number("data-parallel-size-local", 1);
        let count = if self.has_port_for_each_rank() { ranks } else { Some(1) };
        Some(consecutive(self.number(flag, usual)?, count?))
    }

    /// Returns the number of a flag; `usual` if it is missing, `None` if unknown.
    pub(crate) fn number(&self, flag: &str, usual: u32) -> Option<u32> {
        self.flags.number(flag, usual)
    }

    /// Returns the model names that requests may use.
    pub(crate) fn names(&self) -> Vec<&str> {
        let flag =
            if self.program == Program::HuggingFace { "model-name" } else { "served-model-name" };
        let mut names = self.flags.all(flag);
        if names.is_empty() {
            names.extend(self.model.as_deref());
        }
        names
    }
}

/// Returns the resources in the limits and in the requests of a container: group, name and amount.
pub(crate) fn resources(container: &Json) -> impl Iterator<Item = (&'static str, &str, &Json)> {
    let group = |group| Some((group, container.get("resources")?.get(group)?.as_object()?));
    ["limits", "requests"].into_iter().filter_map(group).flat_map(|(group, all)| {
        all.iter().map(move |(name, amount)| (group, name.as_str(), amount))
    })
}

/// Returns the accelerator resource and units that a container requests.
pub(crate) fn accelerators(container: &Json) -> Option<(&str, u32)> {
    let (_, name, amount) = resources(container).find(|one| NAMES.accelerators.contains(&one.1))?;
    Some((name, as_text(amount).trim().parse().ok()?))
}

/// The value of an environment variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable<'a> {
    /// Text.
    Text(&'a str),
    /// A field of the pod.
    Field(&'a str),
    /// Set, but only known at runtime.
    Unknown,
}

/// Returns the names of variables that say a model, which no engine reads.
pub(crate) fn named_models(container: &Json) -> impl Iterator<Item = &str> {
    const NAMES: [&str; 4] = ["MODEL", "MODEL_ID", "MODEL_NAME", "MODEL_PATH"];
    texts(container, "env", "name").filter(|name| NAMES.contains(name))
}

/// Returns the value of an environment variable; `None` if it is not set.
pub(crate) fn variable<'a>(container: &'a Json, name: &str) -> Option<Variable<'a>> {
    let set = list(container, "env").iter().rev().find(|variable| text(variable, "name") == name);
    if let Some(set) = set {
        let field = text_at(set, "/valueFrom/fieldRef/fieldPath");
        let plain = set.get("value").and_then(Json::as_str);
        let plain = plain.filter(|value| !value.contains("$(") && !value.contains("${"));
        return Some(match (plain, field) {
            (Some(value), _) => Variable::Text(value),
            (None, Some(field)) => Variable::Field(field),
            (None, None) => Variable::Unknown,
        });
    }
    // A script or a ConfigMap may set it.
    let in_script = words(container).iter().any(|word| word.contains(name));
    let elsewhere = in_script || !list(container, "envFrom").is_empty();
    elsewhere.then_some(Variable::Unknown)
}

/// Returns the text of an environment variable; `usual` if it is not set, `None` if unknown.
pub(crate) fn variable_or<'a>(container: &'a Json, name: &str, usual: &'a str) -> Option<&'a str> {
    match variable(container, name) {
        None => Some(usual),
        Some(Variable::Text(text)) => Some(text),
        Some(_) => None,
    }
}

/// Returns true if a controller or another tool replaces the text.
pub(crate) fn is_placeholder(text: &str) -> bool {
    ["${", "{{", "$("].iter().any(|start| text.contains(start)) || text.contains(shell::UNKNOWN)
}

/// Returns true if a container starts Ray.
pub(crate) fn starts_ray(container: &Json) -> bool {
    let text = command_line(container);
    ["ray start", "--ray_cluster_size", "--ray_address"].iter().any(|sign| text.contains(sign))
}

/// Returns true if a container joins the Ray cluster of another one.
pub(crate) fn joins_ray(container: &Json) -> bool {
    let text = command_line(container);
    // Its flags come in any order, and end where the next command of a script begins.
    let flags = |rest: &str| rest.split(['\n', ';', '&', '|']).next().map(str::to_owned);
    let mut starts = text.split("ray start").skip(1).filter_map(flags);
    text.contains("--ray_address") || starts.any(|flags| flags.contains("--address"))
}

/// Returns the words of a container as one text, with the continued lines of a script as one.
fn command_line(container: &Json) -> String {
    words(container).join(" ").replace("\\\n", " ")
}

impl<'a> Sidecar<'a> {
    /// Returns the sidecar of a container with these commands; `None` if it is not one.
    pub(crate) fn of(container: &'a Json, commands: &[Vec<String>]) -> Option<Sidecar<'a>> {
        let image = text(container, "image");
        let words: Vec<String> = commands.iter().flatten().cloned().collect();
        let flags = Flags::parse(&words);
        let looks = text(container, "name") == "routing-proxy"
            || image.contains("disagg-sidecar")
            || image.contains("routing-sidecar")
            || flags.has("model-server-port")
            || flags.has("vllm-port");
        looks.then_some(Sidecar { container, path: String::new(), flags })
    }

    /// Returns its request ports; `None` if unknown.
    pub(crate) fn ports(&self) -> Option<Vec<u32>> {
        let count = self.flags.number("data-parallel-size", 1)?;
        Some(consecutive(self.flags.number("port", 8_000)?, count))
    }

    /// Returns the engine's first port; `None` if unknown.
    pub(crate) fn engine_port(&self) -> Option<u32> {
        let names = ["model-server-port", "vllm-port", "configuration", "configuration-file"];
        let flag = names.iter().find(|flag| self.flags.has(flag));
        // Sidecars of others may have another default than all releases of llm-d's.
        let is_known = flag.is_some() || image::is_of(text(self.container, "image"), SIDECAR.key);
        self.flags.number(flag.unwrap_or(&names[0]), 8_001).filter(|_| is_known)
    }
}

/// Returns as many ports from the first on.
fn consecutive(first: u32, count: u32) -> Vec<u32> {
    // A number in a manifest of others must not become a list of millions of ports.
    (first..first.saturating_add(count.min(1_024))).collect()
}

/// Returns the number at a key.
pub(crate) fn number(json: &Json, key: &str) -> Option<u32> {
    json.get(key)?.as_u64()?.try_into().ok()
}

/// Returns the number of a port that is a number, or the name of a port of the container.
pub(crate) fn port_number(container: &Json, port: &Json) -> Option<u32> {
    let Some(name) = port.as_str() else { return port.as_u64()?.try_into().ok() };
    let named = list(container, "ports").iter().find(|port| text(port, "name") == name);
    number(named?, "containerPort")
}

/// Returns the number of the container's port that a port of a Service targets.
pub(crate) fn target_port(container: &Json, port: &Json) -> Option<u32> {
    let target = port.get("targetPort").or(port.get("port"))?;
    port_number(container, target)
}

/// Returns true for a port of a Service that leads to another port of its pods.
pub(crate) fn is_moved(port: &Json) -> bool {
    port.get("targetPort").is_some_and(|target| Some(target) != port.get("port"))
}

/// Returns the declared ports of a container.
pub(crate) fn declared(container: &Json) -> Vec<u32> {
    let ports = list(container, "ports").iter();
    ports.filter_map(|port| number(port, "containerPort")).collect()
}

impl<'a> Template<'a> {
    /// Returns the long-running containers, including native sidecars, with their JSON paths.
    pub(crate) fn containers(&self) -> impl Iterator<Item = Located<'a>> + use<'a> {
        let inits = list(self.spec, "initContainers").len();
        self.all_containers().into_iter().enumerate().filter_map(move |(index, found)| {
            let stays = index >= inits || text(found.0, "restartPolicy") == "Always";
            stays.then_some(found)
        })
    }

    /// Returns the ports of the other containers of the pods: those of the routing sidecar, and those that
    /// the others declare.
    pub(crate) fn ports_beside(&self, container: &Json) -> Vec<u32> {
        let sidecar = self.sidecar.as_ref().and_then(Sidecar::ports).unwrap_or_default();
        let others = self.containers().filter(|(other, _)| !std::ptr::eq(*other, container));
        others.flat_map(|(other, _)| declared(other)).chain(sidecar).collect()
    }

    /// Returns all containers with their JSON paths.
    pub(crate) fn all_containers(&self) -> Vec<Located<'a>> {
        all_containers(self.spec, &self.spec_path)
    }

    /// Returns the script of a container of the pods; `None` if it exceeds the budget.
    pub(crate) fn script(&self, container: &Json, budget: &Budget) -> Option<Script> {
        script(container, self.part, self.size, budget)
    }

    /// Returns the commands of a container of the pods as words; `None` as for its script.
    pub(crate) fn commands(&self, container: &Json, budget: &Budget) -> Option<Vec<Vec<String>>> {
        Some(self.script(container, budget)?.commands)
    }

    /// Returns the label that nodes of the pods must have.
    pub(crate) fn node_label(&self, label: &str) -> Option<&'a str> {
        self.spec.get("nodeSelector")?.get(label)?.as_str()
    }

    /// Returns the request ports: those of the sidecar, otherwise of the engine, otherwise the declared
    /// ports; `None` if unknown.
    pub(crate) fn ports(&self) -> Option<Vec<u32>> {
        if self.is_headless() {
            return Some(Vec::new());
        }
        if !self.unread.is_empty() {
            return None;
        }
        let mut ports = self.request_ports().unwrap_or_default();
        // An engine may not open the ports that it declares.
        let own = self.engine.as_ref().filter(|_| !ports.is_empty()).map(|engine| engine.container);
        let is_other = |container: &&Json| own.is_none_or(|own| !std::ptr::eq(own, *container));
        let containers = self.containers().map(|(container, _)| container);
        ports.extend(containers.filter(is_other).flat_map(declared));
        (!ports.is_empty()).then_some(ports)
    }

    /// Returns the key of `[[serving]]` with the arguments of its engine.
    pub(crate) fn args_field(&self) -> &'static str {
        if self.role() == Some("prefill") { "prefill.args" } else { "engine.args" }
    }

    /// Returns true for pods in the network of their node.
    pub(crate) fn is_on_host(&self) -> bool {
        is_true(self.spec, "/hostNetwork")
    }

    /// Returns true if its engine has no server.
    pub(crate) fn is_headless(&self) -> bool {
        self.engine.as_ref().is_some_and(Engine::is_headless)
    }

    /// Returns the request ports of the sidecar if there is one, otherwise of the engine; `None` if
    /// unknown.
    pub(crate) fn request_ports(&self) -> Option<Vec<u32>> {
        match &self.sidecar {
            Some(sidecar) => sidecar.ports(),
            None => self.engine.as_ref()?.ports(),
        }
    }

    /// Returns the references of image volumes, which hold models, with their JSON paths.
    pub(crate) fn model_images(&self) -> impl Iterator<Item = (&'a str, String)> {
        items(self.spec, "volumes", &self.spec_path).filter_map(|(volume, path)| {
            Some((text(volume.get("image")?, "reference"), format!("{path}.image.reference")))
        })
    }

    /// Returns the role label: prefill, decode or both.
    pub(crate) fn role(&self) -> Option<&'a str> {
        let labels = ["llm-d.ai/role", "role-name"];
        let labelled = labels.iter().find_map(|label| self.labels.get(label).copied());
        // SGLang has its role in a flag.
        let said = self.engine.as_ref().and_then(|one| one.flags.text("disaggregation-mode"));
        let roles = ["prefill", "decode"];
        labelled.or_else(|| roles.into_iter().find(|role| said == Some(role)))
    }

    /// Returns true if the pods have all of these labels.
    pub(crate) fn has_labels<'w>(
        &self,
        wanted: impl IntoIterator<Item = (&'w str, &'w str)>,
    ) -> bool {
        wanted.into_iter().all(|(key, value)| self.labels.get(key) == Some(&value))
    }

    /// Returns the pods of a spec, before their commands are parsed. `template` has the spec and the
    /// labels, if there is one.
    pub(crate) fn of(
        owner: usize,
        manifest: &'a Manifest,
        spec_path: &str,
        spec: &'a Json,
        template: Option<&'a Json>,
    ) -> Self {
        let path = spec_path.strip_suffix(".spec").filter(|_| template.is_some());
        let labels = template.into_iter().flat_map(|one| labels_at(one, "/metadata/labels"));
        let annotations = template.and_then(|one| one.pointer("/metadata/annotations"));

        Template {
            owner,
            manifest,
            path: path.unwrap_or(spec_path).to_owned(),
            spec_path: spec_path.to_owned(),
            spec,
            annotations: annotations.unwrap_or(&Json::Null),
            labels: labels.collect(),
            part: Part::Single,
            size: 1,
            replicas: None,
            engine: None,
            sidecar: None,
            unread: Vec::new(),
            completed: false,
        }
    }

    /// Parses the commands of the pods.
    pub(crate) fn parse(mut self, budget: &Budget) -> Self {
        if self.part != Part::Single {
            let index = if self.part == Part::Leader { "0" } else { "1" };
            self.labels.insert("leaderworkerset.sigs.k8s.io/worker-index", index);
        }

        for (container, path) in self.containers() {
            let commands = self.commands(container, budget);
            if commands.is_none() {
                self.unread.push((text(container, "name"), path.clone()));
            }
            let sidecar = commands.as_deref().and_then(|all| Sidecar::of(container, all));
            if let Some(sidecar) = sidecar {
                self.sidecar = Some(Sidecar { path, ..sidecar });
            } else if self.engine.is_none() {
                let engine = Engine::of(container, commands.as_deref());
                self.engine = engine.map(|engine| Engine { path, ..engine });
            }
        }
        self
    }
}

/// Returns true for images of vLLM-Omni, whose flags and versions are not those of vLLM.
pub(crate) fn is_omni(image: &str) -> bool {
    image.contains("omni")
}

/// Shows the object with its pods, as `Kind/name`.
impl std::fmt::Display for Template<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.manifest.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_kubernetes() {
        let variables = Variables::from([("A".to_owned(), "4".to_owned())]);
        for (word, expanded) in [
            ("--a=$(A)/$(B)", "--a=4/?"),
            ("$$(A) $$$(A) $A ${A}", "$(A) $4 $A ${A}"),
            ("$(A $", "$(A $"),
            ("$(( $(A) * 2 ))", "? * 2 ))"),
        ] {
            let found = substituted(word, &variables, &Budget::new(), as_unknown);
            assert_eq!(found.replace(shell::UNKNOWN, "?"), expanded, "{word}");
        }

        let script = "exec vllm serve a --x $(A) --y $(hostname) --z=$$(A) --n $((A * 2))";
        let container = serde_json::json!({"command": ["bash", "-c", script], "env": [{"name": "A", "value": "4"}]});
        let script = super::script(&container, Part::Single, 1, &Budget::new()).unwrap();
        let words = script.commands[0].join("|").replace(shell::UNKNOWN, "?");
        assert_eq!(words, "exec|vllm|serve|a|--x|4|--y|?|--z=?|--n|8");
    }
}

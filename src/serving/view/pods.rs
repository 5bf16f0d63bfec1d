//! Templates of pods, and the engines and sidecars in them.

use super::flags::Flags;
use super::shell::{self, Budget, Variables};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Which pods of a group a template is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// There are no groups.
    Single,
    /// The first of a group.
    Leader,
    /// The others.
    Worker,
}

/// A template of pods.
#[derive(Debug)]
pub(crate) struct Template<'a> {
    /// Which manifest it is in.
    pub(crate) owner: usize,
    /// JSON path of the template in it.
    pub(crate) path: String,
    /// `spec` of the pods.
    pub(crate) spec: &'a Json,
    /// Labels of the pods, with those that LeaderWorkerSets add.
    pub(crate) labels: BTreeMap<&'a str, &'a str>,
    /// Which pods.
    pub(crate) part: Part,
    /// Pods of a group.
    pub(crate) size: u32,
    /// `replicas`, where it is said.
    pub(crate) replicas: Option<u64>,
    /// The model server.
    pub(crate) engine: Option<Engine<'a>>,
    /// The routing sidecar.
    pub(crate) sidecar: Option<Sidecar<'a>>,
    /// Names and JSON paths of containers whose scripts are over the budget.
    pub(crate) unread: Vec<(&'a str, String)>,
}

/// Which program an engine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// Another, or not known.
    Other,
}

/// A model server.
#[derive(Debug)]
pub(crate) struct Engine<'a> {
    /// The container.
    pub(crate) container: &'a Json,
    /// Which program.
    pub(crate) program: Program,
    /// Its flags; nothing when its command is not known.
    pub(crate) flags: Option<Flags>,
    /// The model, as it is told.
    pub(crate) model: Option<String>,
}

/// A routing sidecar.
#[derive(Debug)]
pub(crate) struct Sidecar<'a> {
    /// The container.
    pub(crate) container: &'a Json,
    /// Its flags.
    pub(crate) flags: Flags,
}

/// The list at this key; empty when there is none.
pub(crate) fn list<'a>(json: &'a Json, key: &str) -> &'a [Json] {
    json.get(key).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

/// The text at this key; empty when there is none.
pub(crate) fn text<'a>(json: &'a Json, key: &str) -> &'a str {
    json.get(key).and_then(Json::as_str).unwrap_or_default()
}

fn words(container: &Json) -> Vec<String> {
    ["command", "args"]
        .iter()
        .flat_map(|key| list(container, key))
        .map(|word| word.as_str().map_or_else(|| word.to_string(), str::to_owned))
        .collect()
}

/// Replaces `$(NAME)`, as Kubernetes does, as far as the budget goes.
fn substituted(word: &str, variables: &Variables, budget: &Budget) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some(start) = rest.find("$(") {
        let (before, after) = rest.split_at(start);
        out.push_str(before);
        let Some(end) = after.find(')') else {
            rest = after;
            break;
        };
        let (name, tail) = (&after[2..end], &after[end + 1..]);
        match variables.get(name) {
            Some(value) if budget.pay(value) => out.push_str(value),
            Some(_) => break,
            // Of a variable that is not known here, or no variable at all.
            None => out.push(shell::UNKNOWN),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// The commands that a container runs, as words; nothing when its script is over the budget.
pub(crate) fn commands(
    container: &Json,
    part: Part,
    size: u32,
    budget: &Budget,
) -> Option<Vec<Vec<String>>> {
    budget.next_container();
    let variables = variables(container, part, size, budget);
    let all = words(container);
    let replaced = |word: &String| substituted(word, &variables, budget);
    let program = all.first().map(|word| word.rsplit('/').next().unwrap_or(word));
    let is_shell = program.is_some_and(|name| matches!(name, "sh" | "bash" | "ash" | "dash"));
    let script = all.iter().position(|word| word.starts_with('-') && word.ends_with('c'));

    let commands = match (is_shell, script) {
        (true, Some(at)) => {
            let script = all.get(at + 1).map_or("", String::as_str);
            // The first word behind the script is its `$0`.
            let rest: Vec<String> = all.iter().skip(at + 3).map(replaced).collect();
            shell::commands(script, &rest, &variables, budget)?
        }
        _ => vec![all.iter().map(replaced).collect()],
    };
    (!budget.is_over()).then_some(commands)
}

fn variables(container: &Json, part: Part, size: u32, budget: &Budget) -> Variables {
    let mut variables = Variables::new();
    if part != Part::Single {
        let index = if part == Part::Worker { "1" } else { "0" };
        variables.insert("LWS_GROUP_SIZE".to_owned(), size.to_string());
        variables.insert("LWS_WORKER_INDEX".to_owned(), index.to_owned());
        variables.insert("LWS_LEADER_ADDRESS".to_owned(), "leader".to_owned());
    }
    for variable in list(container, "env") {
        if let Some(value) = variable.get("value").and_then(Json::as_str) {
            let value = substituted(value, &variables, budget);
            variables.insert(text(variable, "name").to_owned(), value);
        }
    }
    variables
}

impl<'a> Engine<'a> {
    /// The engine that this container is; nothing when it is none. Without its commands, it is one
    /// by its image and its name.
    pub(crate) fn of(container: &'a Json, commands: Option<&[Vec<String>]>) -> Option<Engine<'a>> {
        let image = text(container, "image");
        let text_of_all = words(container).join("\n");
        let named = |program, flags: Option<Flags>, model| {
            let model: Option<String> = model;
            let model = model.filter(|model| !model.contains(shell::UNKNOWN));
            Some(Engine { container, program, flags, model })
        };
        let all = commands.unwrap_or_default();
        for command in all {
            let after = |first: &str, second: &str| {
                let at = command.windows(2).position(|pair| {
                    pair[0].rsplit('/').next() == Some(first) && pair[1] == second
                })?;
                command.get(at + 2..)
            };
            if let Some(rest) = after("vllm", "serve") {
                let flags = Flags::parse(rest);
                let model = flags.text("model").map(str::to_owned);
                let model = model.or_else(|| rest.first().filter(|w| !w.starts_with('-')).cloned());
                return named(Program::Vllm, Some(flags), model);
            }
            let module = |name: &str| command.iter().position(|word| word == name);
            if let Some(at) = module("vllm.entrypoints.openai.api_server") {
                let flags = Flags::parse(command.get(at + 1..).unwrap_or_default());
                let model = flags.text("model").map(str::to_owned);
                return named(Program::Vllm, Some(flags), model);
            }
            let sglang = module("sglang.launch_server")
                .or_else(|| command.iter().position(|word| word.starts_with("--model-path")));
            if let Some(at) = sglang {
                let flags = Flags::parse(command.get(at..).unwrap_or_default());
                let model = flags.text("model-path").map(str::to_owned);
                return named(Program::Sglang, Some(flags), model);
            }
        }
        let bare = list(container, "command").is_empty();
        let words: Vec<String> = all.iter().flatten().cloned().collect();
        if bare && !words.is_empty() && image.contains("vllm-openai") {
            // The image's own command is the server.
            let flags = Flags::parse(&words);
            let model = flags.text("model").map(str::to_owned);
            let model = model.or_else(|| words.first().filter(|w| !w.starts_with('-')).cloned());
            return named(Program::Vllm, Some(flags), model);
        }
        let name = text(container, "name");
        let known =
            ["vllm", "sglang", "trtllm", "tensorrt"].iter().any(|part| image.contains(part));
        let server = matches!(name, "modelserver" | "vllm" | "sglang" | "engine");
        // A worker of Ray has the engine's image and no server.
        let joins = text_of_all.contains("ray start --address")
            || text_of_all.contains("worker --ray_address");
        if joins || !(known || server) {
            return None;
        }
        named(Program::Other, None, None)
    }

    /// Whether it has no server.
    pub(crate) fn is_headless(&self) -> bool {
        self.flags.as_ref().is_some_and(|flags| flags.is_on("headless"))
    }

    /// Whether each rank has a port.
    pub(crate) fn has_port_for_each_rank(&self) -> bool {
        let flag = "data-parallel-multi-port-external-lb";
        self.flags.as_ref().is_some_and(|flags| flags.is_on(flag))
    }

    /// Whether Ray spreads it over the pods of its group.
    pub(crate) fn uses_ray(&self) -> bool {
        let is_ray = |flag| self.flags.as_ref().and_then(|f| f.text(flag)) == Some("ray");
        is_ray("distributed-executor-backend")
            || is_ray("data-parallel-backend")
            || starts_ray(self.container)
    }

    /// The ports that it answers requests on; nothing when they are not known.
    pub(crate) fn ports(&self) -> Option<Vec<u32>> {
        let flags = self.flags.as_ref()?;
        if self.is_headless() {
            return Some(Vec::new());
        }
        let usual = if self.program == Program::Sglang { 30_000 } else { 8_000 };
        let first = flags.number("port", usual)?;
        let count = if self.has_port_for_each_rank() {
            flags.number("data-parallel-size-local", 1)?
        } else {
            1
        };
        Some((first..first.saturating_add(count.min(1_024))).collect())
    }

    /// A number of its flags; `usual` when it is missing, nothing when it is not known.
    pub(crate) fn number(&self, flag: &str, usual: u32) -> Option<u32> {
        self.flags.as_ref()?.number(flag, usual)
    }

    /// What requests may call the model.
    pub(crate) fn names(&self) -> Vec<&str> {
        let served = self.flags.as_ref().and_then(|flags| flags.text("served-model-name"));
        match (served, &self.model) {
            (Some(served), _) => served.split_whitespace().collect(),
            (None, Some(model)) => vec![model.as_str()],
            (None, None) => Vec::new(),
        }
    }
}

/// Units of an accelerator that a container asks for: the resource and how many.
pub(crate) fn accelerators(container: &Json) -> Option<(&str, u32)> {
    let resources = container.get("resources")?;
    let of = |group: &str| {
        let group = resources.get(group)?.as_object()?;
        group.iter().find(|(name, _)| ACCELERATORS.contains(&name.as_str()))
    };
    let (name, amount) = of("limits").or_else(|| of("requests"))?;
    let amount = match amount {
        Json::String(text) => text.trim().parse().ok()?,
        other => u32::try_from(other.as_u64()?).ok()?,
    };
    Some((name, amount))
}

/// Whether a container starts Ray before it does anything else.
pub(crate) fn starts_ray(container: &Json) -> bool {
    let signs = ["ray start", "--ray_cluster_size", "--ray_address"];
    words(container).iter().any(|word| signs.iter().any(|sign| word.contains(sign)))
}

/// Resources that are accelerators.
const ACCELERATORS: [&str; 6] = [
    "nvidia.com/gpu",
    "amd.com/gpu",
    "google.com/tpu",
    "habana.ai/gaudi",
    "gpu.intel.com/xe",
    "gpu.intel.com/i915",
];

impl<'a> Sidecar<'a> {
    /// The sidecar that this container with these commands is; nothing when it is none.
    pub(crate) fn of(container: &'a Json, commands: &[Vec<String>]) -> Option<Sidecar<'a>> {
        let image = text(container, "image");
        let words: Vec<String> = commands.iter().flatten().cloned().collect();
        let flags = Flags::parse(&words);
        let looks = text(container, "name") == "routing-proxy"
            || image.contains("disagg-sidecar")
            || image.contains("routing-sidecar")
            || flags.has("model-server-port")
            || flags.has("vllm-port");
        looks.then_some(Sidecar { container, flags })
    }

    /// The ports that it answers on.
    pub(crate) fn ports(&self) -> Option<Vec<u32>> {
        let first = self.flags.number("port", 8_000)?;
        let count = self.flags.number("data-parallel-size", 1)?;
        Some((first..first.saturating_add(count.min(1_024))).collect())
    }

    /// The engine's first port, where it is said.
    pub(crate) fn engine_port(&self) -> Option<u32> {
        let said = |flag: &str| self.flags.text(flag).and_then(|text| text.parse().ok());
        said("model-server-port").or_else(|| said("vllm-port"))
    }
}

/// Ports that a container declares.
pub(crate) fn declared(container: &Json) -> Vec<u32> {
    let number = |port: &Json| port.get("containerPort")?.as_u64()?.try_into().ok();
    list(container, "ports").iter().filter_map(number).collect()
}

impl<'a> Template<'a> {
    /// The containers that stay: init containers that restart, and the others.
    pub(crate) fn containers(&self) -> impl Iterator<Item = (&'a Json, String)> + use<'a> {
        let spec = self.spec;
        let path = self.path.clone();
        ["initContainers", "containers"].into_iter().flat_map(move |key| {
            let path = path.clone();
            list(spec, key)
                .iter()
                .enumerate()
                .filter(move |(_, container)| {
                    key == "containers" || text(container, "restartPolicy") == "Always"
                })
                .map(move |(index, container)| (container, format!("{path}.spec.{key}[{index}]")))
        })
    }

    /// JSON path of one of its containers.
    pub(crate) fn path_of(&self, container: &Json) -> String {
        let found = self.containers().find(|(known, _)| std::ptr::eq(*known, container));
        found.map_or_else(|| self.path.clone(), |(_, path)| path)
    }

    /// Ports that requests are answered on: those of the sidecar, or else those of the engine. As
    /// a last resort, what containers declare. Nothing when none of it is known.
    pub(crate) fn ports(&self) -> Option<Vec<u32>> {
        let engine = self.engine.as_ref();
        if engine.is_some_and(Engine::is_headless) {
            return Some(Vec::new());
        }
        if !self.unread.is_empty() {
            return None;
        }
        let known = match (&self.sidecar, engine) {
            (Some(sidecar), _) => sidecar.ports(),
            (None, Some(engine)) => engine.ports(),
            (None, None) => None,
        };
        let own = engine.map(|engine| engine.container);
        let mut ports = known.unwrap_or_default();
        let sure = !ports.is_empty();
        for (container, _) in self.containers() {
            // What an engine declares is not what it opens.
            let is_own = own.is_some_and(|own| std::ptr::eq(own, container));
            if !sure || !is_own {
                ports.extend(declared(container));
            }
        }
        (!ports.is_empty()).then_some(ports)
    }

    /// The role in prefill and decode.
    pub(crate) fn role(&self) -> Option<&'a str> {
        self.labels.get("llm-d.ai/role").copied()
    }

    /// Whether the pods have all of these labels.
    pub(crate) fn has_labels(&self, wanted: &serde_json::Map<String, Json>) -> bool {
        wanted.iter().all(|(key, value)| self.labels.get(key.as_str()).copied() == value.as_str())
    }

    /// Reads a template of pods.
    pub(crate) fn new(
        owner: usize,
        path: String,
        template: &'a Json,
        part: Part,
        size: u32,
        replicas: Option<u64>,
        budget: &Budget,
    ) -> Option<Template<'a>> {
        let spec = template.get("spec")?;
        let labels = template.pointer("/metadata/labels").and_then(Json::as_object);
        let mut labels: BTreeMap<&str, &str> = labels
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
            .collect();
        if part != Part::Single {
            let index = if part == Part::Leader { "0" } else { "1" };
            labels.insert("leaderworkerset.sigs.k8s.io/worker-index", index);
        }
        let mut template = Template {
            owner,
            path,
            spec,
            labels,
            part,
            size,
            replicas,
            engine: None,
            sidecar: None,
            unread: Vec::new(),
        };
        for (container, path) in template.containers() {
            let commands = commands(container, part, size, budget);
            if commands.is_none() {
                template.unread.push((text(container, "name"), path));
            }
            let sidecar = commands.as_deref().and_then(|all| Sidecar::of(container, all));
            if sidecar.is_some() {
                template.sidecar = sidecar;
            } else if template.engine.is_none() {
                template.engine = Engine::of(container, commands.as_deref());
            }
        }
        Some(template)
    }
}

//! Invariants of the programs that containers start: their names, and the metrics that pickers read.

use super::*;
use crate::view::shell::Script;

/// Commands of vLLM.
const VLLM_COMMANDS: &[&str] =
    &["serve", "chat", "complete", "bench", "collect-env", "launch", "render", "run-batch"];

/// Plugins of vLLM.
const RESOLVERS: [&str; 2] = ["lora_filesystem_resolver", "lora_hf_hub_resolver"];

/// The script of vLLM that starts Ray in a group.
const LAUNCH_SCRIPT: &str = "multi-node-serving.sh";

/// Checks the names of commands and modules for typing errors, and that scripts do not end at a variable
/// that nothing sets.
pub(crate) fn names((view, template, container): ContainerContext<'_>, found: &mut Reporter<'_>) {
    let Some(script) = template.script(container, &view.budget) else { return };
    for (what, meant) in script.commands.iter().filter_map(|words| mistyped(words)) {
        found.push(format!("{what} does not exist"), format!("did you mean `{meant}`?"));
    }

    let mut pairs = script.commands.iter().flat_map(|words| words.windows(2));
    let is_launch = |two: &&[String]| two[0].ends_with(LAUNCH_SCRIPT);
    let known = ["leader", "worker"];
    if let Some(two) = pairs.find(is_launch).filter(|two| !known.contains(&two[1].as_str())) {
        let message = format!("`{LAUNCH_SCRIPT}` has no command `{}`", two[1]);
        found.push(message, suggest::hint(&two[1], &known, "commands"));
    }
    let is_server = |word: &&String| NAMES.servers.contains(&word.as_str());
    let launches = |words: &&Vec<String>| words.iter().any(|word| word.ends_with(LAUNCH_SCRIPT));
    let mut behind = script.commands.iter().filter(launches).flatten();
    if let Some(server) = behind.find(is_server) {
        let message =
            format!("`{server}` is an argument of `{LAUNCH_SCRIPT}`, so it does not start");
        found.push(message, "write `;` between the commands");
    }
    if let Some(flag) = &script.stray {
        let message = format!("the shell runs `{flag}` as a command: the one before it has ended");
        let hint = "end each line but the last with a backslash, without blanks or comments";
        let source = "POSIX shell, line joining";
        found.push(message, hint).why("the program does not get the flags that follow", source);
    }
    for name in unbound(template, container, &script) {
        let is_needed = script.needed.contains(&name);
        let (message, why) = if is_needed {
            (format!("under `set -u` the script ends at `${name}`"), "the program does not start")
        } else {
            (format!("`${name}` is empty"), "the engine does not get the value")
        };
        let default = if is_needed { ":-" } else { ":-VALUE" };
        let hint = format!("add `{name}` to `env`, or write `${{{name}{default}}}`");
        let message = format!("{message}: nothing sets it");
        found.push(message, hint).why(why, "POSIX shell, variables");
    }
}

/// Returns the variables that the script of a container needs, or the command of its engine has, and that
/// nothing sets.
fn unbound(template: &Template<'_>, container: &Json, script: &Script) -> BTreeSet<String> {
    // Other images have variables of their own, and other files may set some.
    let is_known = engines().iter().any(|one| image::is_judged(text(container, "image"), one.key));
    let mut commands = script.commands.iter().filter_map(|words| words.first());
    let lines = lines(container);
    // Within brackets, options and ends are those of a shell of its own.
    let has_others = commands.any(|word| ["source", ".", "eval"].contains(&word.as_str()))
        || lines.iter().any(|line| line.contains("export $") || line.contains("export \"$"))
        || lines.iter().any(|line| line.trim_start().starts_with('('));
    let engine = template.engine.as_ref().filter(|one| std::ptr::eq(one.container, container));
    let own = engine.map(|engine| engine.flags.raw.as_slice()).filter(|words| !words.is_empty());
    let is_launch = |words: &Vec<String>| own.is_some_and(|own| words.ends_with(own));
    let launch = script.commands.iter().position(is_launch);
    let of_launch = launch.and_then(|at| script.unset.get(&at)).into_iter().flatten();
    let needed: BTreeSet<&String> = script.needed.iter().chain(of_launch).collect();
    if needed.is_empty() || !is_known || has_others || template.completed {
        return BTreeSet::new();
    }
    let mentioned: BTreeSet<&str> = lines.iter().flat_map(|line| mentioned(line)).collect();
    let is_unset = |name: &&String| {
        let is_of_others = NAMES.shells.contains(&name.as_str()) || is_of_image(name);
        let is_set = is_set(template, container, name) || mentioned.contains(name.as_str());
        name.starts_with(|c: char| c.is_ascii_uppercase()) && !is_of_others && !is_set
    };
    needed.into_iter().filter(is_unset).cloned().collect()
}

/// Returns true for a variable that images, webhooks or device plugins may set.
fn is_of_image(name: &str) -> bool {
    NAMES.starts.iter().any(|start| name.starts_with(start))
        || NAMES.ends.iter().any(|end| name.ends_with(end))
}

/// Returns true if Kubernetes may know a variable of a container: from its `env`, by a Service or by the
/// controller of its group.
pub(super) fn is_set(template: &Template<'_>, container: &Json, name: &str) -> bool {
    let of_services = ["_SERVICE_HOST", "_PORT"];
    // Kthena runs LeaderWorkerSets, too, with its own names.
    let of_groups = ["ENTRY_ADDRESS", "GROUP_SIZE", "WORKER_INDEX"];
    !list(container, "envFrom").is_empty()
        || texts(container, "env", "name").any(|known| known == name)
        || of_services.iter().any(|end| name.ends_with(end))
        || ["_SERVICE_PORT", "_TCP_", "_UDP_"].iter().any(|part| name.contains(part))
        || name == "JOB_COMPLETION_INDEX"
        || template.part != Part::Single && (name.starts_with("LWS_") || of_groups.contains(&name))
}

/// Returns the names that a script has in other forms than `$NAME` and `${NAME}`: it may set these.
fn mentioned(script: &str) -> impl Iterator<Item = &str> {
    script.split('$').enumerate().flat_map(|(index, part)| {
        let inner = part.trim_start_matches('{');
        let rest = &inner[name_at(inner).len()..];
        let is_plain = index > 0 && (rest.starts_with('}') || !part.starts_with('{'));
        let rest = if is_plain { rest } else { part };
        rest.split(|c| !is_in_name(c))
    })
}

/// Checks that the image of an engine has its program, and that scripts use variables that are set.
pub(crate) fn in_image(view: &View<'_>, found: &mut Found) {
    for (template, engine) in view.engines() {
        let image = text(engine.container, "image");
        let other = engines().into_iter().find(|one| image::is_of(image, one.key));
        let own = engine.program.table().filter(|own| !image::is_of(image, own.key));
        if let Some((own, other)) = own.zip(other) {
            let (own, other) = (own.name, other.name);
            let message = format!("the command starts {own}, but `{image}` is an image of {other}");
            found.push(template.owner, &engine.path, message, "use the image of the program");
        }
        // llm-d-router, core metrics.
        let said = template.labels.get("llm-d.ai/engine-type").copied();
        let own = engine.program.table().map(|own| own.key);
        let is_known = |(said, _): &(&str, &str)| engines().iter().any(|one| one.key == *said);
        if let Some((said, own)) = differing(said, own).filter(is_known) {
            let message = format!("{template} runs {own}, but has the engine type `{said}`");
            let path = format!("{}.metadata.labels", template.path);
            let hint = format!("write `llm-d.ai/engine-type: {own}`");
            let finding = found.push(template.owner, path, message, hint);
            finding.why("the picker reads metrics that the engine does not have", "llm-d-router");
        }
    }
    for (template, container, path) in view.containers() {
        let set = set_variables(container);
        // Files and images may set others, so only typing errors count.
        let is_known =
            |name: &str| NAMES.shells.contains(&name) || is_set(template, container, name);
        let unset = unset(container).into_iter().filter(|(_, has_default)| !has_default);
        for (name, _) in unset.filter(|(name, _)| !is_known(name)) {
            let Some(one) = set.iter().find(|set| is_typo(&name, set)) else { continue };
            let message = format!("nothing sets the variable `{name}`");
            found.push(template.owner, &path, message, format!("did you mean `{one}`?")).warning();
        }
    }
}

/// Checks that texts are JSON where programs read it, and numbers of LMCache numbers.
pub(crate) fn values(view: &View<'_>, found: &mut Found) {
    // Templates are parts of texts in it.
    let is_json = |text: &str| {
        let mut parts = text.split("{{");
        let first = parts.next().unwrap_or_default().to_owned();
        let others = parts.filter_map(|part| Some(part.split_once("}}")?.1));
        serde_json::from_str::<Json>(&(first + &others.collect::<String>())).is_ok()
    };
    let is_meant = |text: &str| {
        let text = text.trim_start();
        text.starts_with('{') && !text.starts_with("{{")
    };
    for (owner, object) in view.of_kind("ConfigMap").chain(view.of_kind("Secret")) {
        let maps = ["/data", "/stringData"].iter().filter_map(|at| object.map(at));
        for (key, value) in maps.flatten() {
            let text = value.as_str().unwrap_or_default();
            let is_file = key.ends_with(".json") || text.starts_with("{\"");
            if is_file && is_meant(text) && !is_json(text) && !is_placeholder(text) {
                let message = format!("`{key}` of {object} is not JSON");
                let finding = found.push(owner, format!(".data[{key:?}]"), message, "fix the JSON");
                finding.warning();
            }
        }
    }
    let of_presets = view.of_kind("LLMInferenceServiceConfig").flat_map(|(owner, preset)| {
        kinds::pods(&preset.json).into_iter().map(move |(path, spec)| (owner, path, spec))
    });
    let templates = view.templates.iter();
    let templates = templates.map(|pods| (pods.owner, pods.spec_path.clone(), pods.spec));
    for (owner, path, spec) in templates.chain(of_presets) {
        for (container, path) in all_containers(spec, &path) {
            for (variable, path) in items(container, "env", &path) {
                let (name, value) = (text(variable, "name"), text(variable, "value"));
                let is_quoted = value.trim_start_matches(['{', ' ', '\n']).starts_with(['"', '\'']);
                let is_number = NAMES.numbers.contains(&name);
                let mut plugins = value.split(',').filter(|_| name == "VLLM_PLUGINS");
                let is_near = |one: &str| {
                    !RESOLVERS.contains(&one) && RESOLVERS.iter().any(|known| is_typo(one, known))
                };
                if let Some(plugin) = plugins.find(|one| is_near(one)) {
                    let message = format!("vLLM has no plugin `{plugin}`");
                    let hint = suggest::hint(plugin, &RESOLVERS, "plugins");
                    let finding = found.push(owner, &path, message, hint).warning();
                    finding.why("it is not loaded", "vLLM, load_plugins_by_group");
                }
                let what = match value {
                    _ if is_placeholder(value) && !is_quoted => continue,
                    _ if is_number && value.parse::<f64>().is_err() => "a number",
                    _ if is_meant(value) && is_quoted && !is_json(value) => "JSON",
                    _ => continue,
                };
                let message = format!("`{name}` is not {what}");
                found.push(owner, path, message, format!("write {what}"));
            }
        }
    }
}

/// Returns the lines of a container in which variables are set or used, without comments.
fn lines(container: &Json) -> Vec<String> {
    let values = texts(container, "env", "value").map(str::to_owned);
    let all: Vec<String> = words(container).into_iter().chain(values).collect();
    let lines = all.iter().flat_map(|text| text.lines());
    lines.filter(|line| !line.trim_start().starts_with('#')).map(str::to_owned).collect()
}

/// Returns the name of a variable at the beginning of a text.
fn name_at(text: &str) -> &str {
    text.split(|c| !is_in_name(c)).next().unwrap_or_default()
}

/// Returns the variables that a container or its scripts set.
fn set_variables(container: &Json) -> BTreeSet<String> {
    let lines = lines(container);
    // Whatever is before a `=` may be an assignment; a name too many only hides a finding.
    let before = lines.iter().flat_map(|line| line.split('=').rev().skip(1));
    // Flags have dashes in their names.
    let is_flag = |name: &&str| name.starts_with('-');
    let names = before.filter_map(|text| text.rsplit(|c| !is_in_name(c) && c != '-').next());
    let assigned = names.filter(|name| !is_flag(name));
    let all = texts(container, "env", "name").chain(assigned);
    all.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns the variables in upper case that a container uses, and that nothing sets or tests; with true if
/// they have a default wherever they are used.
pub(super) fn unset(container: &Json) -> BTreeMap<String, bool> {
    let set = set_variables(container);
    let lines = lines(container);
    // `[ -z "$NAME" ]` asks whether it is set.
    let tests = lines.iter().flat_map(|line| [" -n ", " -z "].map(|test| line.split(test).skip(1)));
    let tested: BTreeSet<&str> =
        tests.flatten().map(|rest| name_at(rest.trim_start_matches(['"', '$', '{']))).collect();
    let mut found = BTreeMap::new();
    for part in lines.iter().flat_map(|line| line.split('$').skip(1)) {
        let start = part.trim_start_matches(['{', '(']);
        let name = name_at(start);
        let has_default = part.starts_with('{') && !start[name.len()..].starts_with('}');
        let is_upper = name.chars().any(char::is_alphabetic) && !name.contains(char::is_lowercase);
        if is_upper && !tested.contains(name) && !set.contains(name) {
            *found.entry(name.to_owned()).or_insert(true) &= has_default;
        }
    }
    found
}

/// Returns the subcommand or module of a command that is like one with a server but has another name,
/// and that one.
fn mistyped(words: &[String]) -> Option<(String, &'static str)> {
    let near = |name: &str, known: &[&'static str]| {
        let is_known = known.contains(&name) || is_placeholder(name);
        suggest::nearest(name, known).filter(|_| !is_known)
    };
    let program = words.first()?.rsplit('/').next()?;
    if program == "vllm" {
        let is_launch = words.get(1).is_some_and(|name| name == "launch");
        let (at, known) = if is_launch { (2, &["render"][..]) } else { (1, VLLM_COMMANDS) };
        let name = words.get(at).filter(|name| !name.starts_with('-'))?;
        let command = words[1..=at].join(" ");
        return Some((format!("the command `vllm {command}`"), near(name, known)?));
    }
    if !program.starts_with("python") {
        return None;
    }
    // The view does not recognize a misspelt module, so that no rule of flags would report it.
    let name = words.get(words.iter().position(|word| word == "-m")? + 1)?;
    // Other modules of an engine have names that are as near.
    let meant = near(name, &NAMES.servers)?;
    let differs = name.len().abs_diff(meant.len()) <= 1;
    differs.then(|| (format!("the module `{name}`"), meant))
}

/// Ports for metrics of proxies that other controllers add: KServe's queue proxy, and Istio's.
const OF_PROXIES: [u32; 3] = [9088, 15020, 15090];

/// Reports annotations with a port for Prometheus that is not one of the pods.
fn annotated(view: &View<'_>, found: &mut Found) {
    for (template, engine) in view.engines() {
        let Some(mut open) = engine.ports() else { continue };
        open.extend(template.ports_beside(engine.container));
        open.extend(declared(engine.container));
        // Ray serves metrics at a port of its own.
        let is_ray = template.manifest.group() == "ray.io"
            || words(engine.container).iter().any(|word| word.contains("metrics-export-port"));
        if is_ray || open.is_empty() {
            continue;
        }
        for key in ["prometheus.io/port", "prometheus.kserve.io/port"] {
            let port = text(template.annotations, key).parse::<u32>().ok();
            let is_other = |port: &u32| !open.contains(port) && !OF_PROXIES.contains(port);
            let Some(port) = port.filter(is_other) else { continue };
            let open = ranges(&open);
            let message = format!("`{key}` of {template} is {port}, but the pods listen on {open}");
            let finding = found.push(template.owner, &template.path, message, "write their port");
            finding.why("Prometheus reads no metrics", "KServe docs, metrics");
        }
    }
}

/// Returns true if the pods of a picker need a label with the name of their engine: by default it reads the
/// metrics of vLLM (llm-d-router, core-metrics-extractor).
fn reads_labels(picker: &Picker<'_>, config: &Json) -> bool {
    const EXTRACTOR: &str = "core-metrics-extractor";
    let index = LLM_D.program.index(text(picker.container, "image"));
    let is_own = |one: &Json| text(one, "type") == EXTRACTOR && one.get("parameters").is_some();
    // With the gate, the names of metrics are flags.
    let is_legacy = list(config, "featureGates").iter().any(|gate| gate == "enableLegacyMetrics");
    index.is_some()
        && !is_legacy
        && LLM_D.plugins.has(EXTRACTOR, index)
        && !list(config, "plugins").iter().any(is_own)
}

/// Checks that engines serve the metrics that their picker compares, and that Prometheus reads.
pub(crate) fn metrics(view: &View<'_>, found: &mut Found) {
    annotated(view, found);
    let mut readers = scraped(view);
    for picker in view.all_pickers() {
        let Some((_, _, config)) = picker.known_config() else { continue };
        let is_compared = |kind| NAMES.scorers.contains(&kind);
        let Some((pool, pods)) = view.pods_of(picker) else { continue };
        let pods = pods.into_iter().filter(|_| texts(config, "plugins", "type").any(is_compared));
        let labels = ["llm-d.ai/engine-type", "inference.networking.k8s.io/engine-type"];
        let is_unlabelled = |pods: &&Template<'_>| {
            let engine = pods.engine.as_ref();
            engine.is_some_and(|engine| engine.program == Program::Sglang)
                && !labels.iter().any(|label| pods.labels.contains_key(label))
        };
        for pods in pods.clone().filter(is_unlabelled).filter(|_| reads_labels(picker, config)) {
            let message = format!("the picker reads metrics of vLLM from {pods}, which has SGLang");
            let hint = "label the pods `llm-d.ai/engine-type: sglang`";
            found.push(pods.owner, &pods.path, message, hint);
        }
        let why = format!("the picker of {pool} compares them");
        readers.extend(pods.map(|template| (template, why.clone(), true)));
    }
    for (template, why, is_picker) in readers.into_iter().filter(|one| !one.0.is_headless()) {
        let Some(engine) = &template.engine else { continue };
        let Some(flags) = engine.known_flags() else { continue };
        let hint = match engine.program {
            Program::Sglang if !flags.is_on("enable-metrics") => "add `--enable-metrics`",
            // The gauges are written by a logger of these statistics; other metrics stay.
            Program::Vllm if flags.is_on("disable-log-stats") && is_picker => {
                "remove `--disable-log-stats`"
            }
            _ => continue,
        };
        let message = format!("{template} serves no metrics, but {why}");
        let finding = found.push(template.owner, &engine.path, message, hint);
        if !is_picker {
            finding.why("requests for metrics get 404", "SGLang, --enable-metrics");
        }
    }
}

/// Returns engines with what has Prometheus read `/metrics` at one of their ports; false, because none is a
/// picker.
fn scraped<'v>(view: &'v View<'_>) -> Vec<(&'v Template<'v>, String, bool)> {
    let mut all = Vec::new();
    // A controller that completes pods may add the flag.
    for (template, engine) in view.engines().filter(|(template, _)| !template.completed) {
        let said = |name: &str| template.annotations.get(format!("prometheus.io/{name}"))?.as_str();
        let ports = engine.ports().unwrap_or_default();
        let is_own = |said: &str| ports.iter().any(|port| port.to_string() == said);
        if said("scrape") == Some("true")
            && said("path").is_none_or(|path| path == "/metrics")
            && said("port").is_none_or(is_own)
        {
            let why = "its annotation `prometheus.io/scrape` asks for them";
            all.push((template, why.to_owned(), false));
        }
    }
    for (monitor, one) in monitored(view) {
        let endpoints = ["podMetricsEndpoints", "endpoints"].into_iter();
        let endpoints = endpoints.flat_map(|key| list(monitor.spec(), key));
        for endpoint in endpoints.filter(|one| text_or(one, "path", "/metrics") == "/metrics") {
            let service = Some(one.owner).filter(|_| one.template.is_none());
            let behind = service.map(|service| view.behind(service)).into_iter().flatten();
            let is_read = |engine: &Engine<'_>| {
                let port = read_port(service, endpoint, engine.container);
                port.is_some_and(|port| engine.ports().is_some_and(|own| own.contains(&port)))
            };
            let pods = one.template.into_iter().chain(behind);
            let pods =
                pods.filter(|pods| !pods.completed && pods.engine.as_ref().is_some_and(is_read));
            all.extend(pods.map(|pods| (pods, format!("{monitor} reads them"), false)));
        }
    }
    all
}

//! Invariants of the programs that containers start: their names, and the metrics that pickers read.

use super::super::invariants::Found;
use super::super::view::View;
use super::super::view::pods::{Program, commands, is_placeholder, list, text};
use crate::diag::suggest;
use serde_json::Value as Json;

/// Commands of vLLM.
const VLLM_COMMANDS: &[&str] =
    &["serve", "chat", "complete", "bench", "collect-env", "launch", "render", "run-batch"];

/// Modules with a server.
const MODULES: &[&str] = &[
    "sglang.launch_server",
    "vllm.entrypoints.openai.api_server",
    "vllm.entrypoints.openai.run_batch",
    "huggingfaceserver",
];

/// Scorers that compare metrics of the engines.
const METRIC_SCORERS: &[&str] = &[
    "kv-cache-scorer",
    "kv-cache-utilization-scorer",
    "load-aware-scorer",
    "lora-affinity-scorer",
    "queue-scorer",
    "running-requests-size-scorer",
];

/// Checks the names of commands and modules for typing errors.
pub(crate) fn names(view: &View<'_>, found: &mut Found) {
    for template in &view.templates {
        for (container, path) in template.containers() {
            let all = commands(container, template.part, template.size, &view.budget);
            for command in all.into_iter().flatten() {
                let words: Vec<&str> = command.iter().map(String::as_str).collect();
                if let Some((what, meant)) = mistyped(&words) {
                    let message = format!("{what} does not exist");
                    let hint = format!("did you mean `{meant}`?");
                    found.push(template.owner, &path, message, hint);
                }
            }
        }
    }
}

/// Returns the subcommand or module of a command that is like one with a server but has another name,
/// and that one.
fn mistyped(words: &[&str]) -> Option<(String, &'static str)> {
    let near = |name: &str, known: &[&'static str]| {
        let is_known = known.contains(&name) || is_placeholder(name);
        suggest::nearest(name, known).filter(|_| !is_known)
    };
    let program = words.first()?.rsplit('/').next()?;
    if program == "vllm" {
        let name = words.get(1).filter(|name| !name.starts_with('-'))?;
        return Some((format!("the command `vllm {name}`"), near(name, VLLM_COMMANDS)?));
    }
    if !program.starts_with("python") {
        return None;
    }
    let at = words.iter().position(|word| *word == "-m")?;
    let name = words.get(at + 1)?;
    // Other modules of an engine have names that are as near.
    let meant = near(name, MODULES)?;
    let differs = name.len().abs_diff(meant.len()) <= 1;
    differs.then(|| (format!("the module `{name}`"), meant))
}

/// Checks that engines serve the metrics that their picker compares.
pub(crate) fn metrics(view: &View<'_>, found: &mut Found) {
    for picker in view.all_pickers() {
        let Some((_, _, config)) = picker.known_config() else { continue };
        let is_compared = |plugin: &Json| METRIC_SCORERS.contains(&text(plugin, "type"));
        let Some((pool, pods)) = view.pods_of(picker) else { continue };
        let pods = pods.into_iter().filter(|_| list(config, "plugins").iter().any(is_compared));
        for template in pods.filter(|template| !template.is_headless()) {
            let Some(engine) = &template.engine else { continue };
            let Some(flags) = engine.known_flags() else { continue };
            let hint = match engine.program {
                Program::Sglang if !flags.is_on("enable-metrics") => "add `--enable-metrics`",
                Program::Vllm if flags.is_on("disable-log-stats") => "remove `--disable-log-stats`",
                _ => continue,
            };
            let message =
                format!("{template} serves no metrics, but the picker of {pool} compares them");
            found.push(template.owner, &engine.path, message, hint);
        }
    }
}

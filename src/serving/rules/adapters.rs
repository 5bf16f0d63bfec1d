//! Invariants of LoRA adapters and model rewrites.

use super::super::invariants::Found;
use super::super::view::View;
use super::super::view::flags::Flags;
use super::super::view::pods::{
    Engine, Program, Template, Variable, is_placeholder, list, text, variable,
};
use serde_json::Value as Json;

/// Variable with which adapters are loaded by requests.
const RUNTIME_UPDATES: &str = "VLLM_ALLOW_RUNTIME_LORA_UPDATING";

/// Checks that LoRA is enabled where adapters are configured, and that limits fit.
pub(crate) fn adapters(view: &View<'_>, found: &mut Found) {
    for template in &view.templates {
        let Some(engine) = template.engine.as_ref().filter(|e| e.program == Program::Vllm) else {
            continue;
        };
        let Some(flags) = engine.flags.as_ref().filter(|flags| !flags.go_on_in_a_file()) else {
            continue;
        };
        let path = template.path_of(engine.container);
        let mut report = |message: String, hint: &str| {
            found.push(template.owner, &path, message, hint).field = Some("engine.args");
        };

        let enabled = flags.is_on("enable-lora");
        let updates = variable(engine.container, RUNTIME_UPDATES);
        let needs = if flags.has("lora-modules") {
            Some("`--lora-modules`")
        } else if matches!(updates, Some(Variable::Text("true" | "True" | "1"))) {
            Some(RUNTIME_UPDATES)
        } else {
            None
        };
        if let (Some(what), false) = (needs, enabled) {
            report(format!("{what} is set, but LoRA is not enabled"), "add `--enable-lora`");
        }

        let (on_device, in_memory) = (flags.number("max-loras", 1), flags.text("max-cpu-loras"));
        let in_memory = in_memory.and_then(|text| text.trim().parse::<u32>().ok());
        if let (Some(on_device), Some(in_memory)) = (on_device, in_memory)
            && in_memory < on_device
        {
            report(
                format!("`--max-cpu-loras` is {in_memory}, less than `--max-loras` {on_device}"),
                "use at least the value of `--max-loras`",
            );
        }
    }
}

/// Returns the models and adapters that an engine serves; `None` if requests or plugins may add more.
fn served(engine: &Engine<'_>) -> Option<Vec<String>> {
    let flags: &Flags = engine.flags.as_ref()?;
    let by_plugin = ["VLLM_PLUGINS", "VLLM_LORA_RESOLVER_CACHE_DIR", RUNTIME_UPDATES];
    let loads = by_plugin.iter().any(|name| variable(engine.container, name).is_some());
    let known = matches!(engine.program, Program::Vllm | Program::Sglang);
    if !known || loads || flags.go_on_in_a_file() {
        return None;
    }

    let mut names: Vec<String> =
        flags.all("served-model-name").into_iter().map(str::to_owned).collect();
    if names.is_empty() {
        names.extend(engine.model.clone());
    }
    let model = names.first().cloned().unwrap_or_default();
    for modules in ["lora-modules", "lora-paths"] {
        for module in flags.all(modules) {
            // `NAME=PATH`, or a JSON map.
            let name = module.split_once('=').map_or(module, |(name, _)| name);
            if name.starts_with('{') {
                return None;
            }
            names.push(match engine.program {
                // By the name alone SGLang serves its base model.
                Program::Sglang => format!("{model}:{name}"),
                _ => name.to_owned(),
            });
        }
    }
    let unknown = names.is_empty() || names.iter().any(|name| is_placeholder(name));
    (!unknown).then_some(names)
}

/// Checks that pods serve the targets of model rewrites.
pub(crate) fn rewrites(view: &View<'_>, found: &mut Found) {
    for (owner, rewrite) in view.of_kind("InferenceModelRewrite") {
        let name = rewrite.json.pointer("/spec/poolRef/name").and_then(Json::as_str);
        let pool = name.and_then(|name| view.named("InferencePool", name, rewrite));
        let Some((_, pool)) = pool else { continue };
        let is_server = |template: &&&Template<'_>| {
            template.engine.as_ref().is_some_and(|engine| !engine.is_headless())
        };
        let pods = view.selected(pool);
        let names: Option<Vec<Vec<String>>> =
            pods.iter().filter(is_server).map(|t| served(t.engine.as_ref()?)).collect();
        let Some(names) = names.filter(|names| !names.is_empty()) else { continue };

        let rules = rewrite.json.get("spec").map_or(&[][..], |spec| list(spec, "rules"));
        for (index, rule) in rules.iter().enumerate() {
            for target in list(rule, "targets") {
                let model = text(target, "modelRewrite");
                let missing = names.iter().any(|served| !served.iter().any(|name| name == model));
                if model.is_empty() || is_placeholder(model) || !missing {
                    continue;
                }
                let message = format!(
                    "{} rewrites to `{model}`, which pods of {} do not serve",
                    rewrite.label(),
                    pool.label()
                );
                let known: Vec<&str> = names[0].iter().map(String::as_str).collect();
                let hint = crate::diag::suggest::hint(model, &known, "models");
                let path = format!(".spec.rules[{index}].targets");
                found.push(owner, path, message, hint).field = Some("rewrites");
            }
        }
    }
}

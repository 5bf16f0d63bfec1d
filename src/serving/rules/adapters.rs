//! Invariants of model rewrites.

use super::*;

/// Returns the models and adapters that an engine serves; `None` if requests or plugins may add more.
fn served(engine: &Engine<'_>) -> Option<Vec<String>> {
    // Plugins, resolvers and requests add adapters.
    let additions =
        ["VLLM_PLUGINS", "VLLM_LORA_RESOLVER_CACHE_DIR", "VLLM_ALLOW_RUNTIME_LORA_UPDATING"];
    let loads = additions.iter().any(|name| variable(engine.container, name).is_some());
    let is_known = engine.program.table().is_some() && !loads;
    let flags = engine.known_flags().filter(|_| is_known)?;

    let mut names: Vec<String> = engine.names().into_iter().map(str::to_owned).collect();
    let model = names.first().cloned().unwrap_or_default();
    for module in ["lora-modules", "lora-paths"].iter().flat_map(|flag| flags.all(flag)) {
        // `NAME=PATH`, or a JSON map, whose name is not read.
        let name = module.split_once('=').map_or(module, |(name, _)| name);
        names.push(match engine.program {
            // By the name alone SGLang serves its base model.
            Program::Sglang => format!("{model}:{name}"),
            _ => name.to_owned(),
        });
    }
    let is_open = |name: &String| is_placeholder(name) || name.contains('{');
    (!names.is_empty() && !names.iter().any(is_open)).then_some(names)
}

/// Checks that vLLM can read its adapters: each is `NAME=PATH`, or a JSON map.
pub(crate) fn forms((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let flags = engine.flags_of(Program::Vllm).filter(|_| !template.completed);
    let has_no_path = |item: &&str| !item.contains(['=', '{']) && !is_placeholder(item);
    for item in flags.into_iter().flat_map(|flags| flags.all("lora-modules")).filter(has_no_path) {
        found.push(format!("`{item}` of `--lora-modules` has no path"), "write NAME=PATH");
    }
}

/// Checks that vLLM loads the adapters of a sidecar that asks for it (GAIE, lora-syncer).
pub(crate) fn loading((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    const NAME: &str = "VLLM_ALLOW_RUNTIME_LORA_UPDATING";
    let mut images = template.containers().map(|(container, _)| text(container, "image"));
    let is_asked = engine.program == Program::Vllm && images.any(|one| one.contains("lora-syncer"));
    let value = variable(engine.container, NAME);
    if is_asked && matches!(value, None | Some(Variable::Text("" | "0" | "false" | "False"))) {
        let message = format!("the sidecar cannot load adapters: `{NAME}` is not set");
        let finding = found.below(".env", message, "set it to \"True\"");
        finding.why("requests for adapters get 404", "vLLM docs, LoRA adapters");
    }
}

/// Checks that pods serve the targets of model rewrites.
pub(crate) fn rewrites(view: &View<'_>, rewrite: &Manifest, found: &mut Reporter<'_>) {
    let name = rewrite.text("/spec/poolRef/name");
    let pool = name.and_then(|name| view.named("InferencePool", name, rewrite));
    let Some((_, pool)) = pool else { return };
    let pods = view.selected(pool);
    let engines = pods.iter().filter_map(|template| template.engine.as_ref());
    let names: Option<Vec<Vec<String>>> =
        engines.filter(|engine| !engine.is_headless()).map(served).collect();
    let Some(names) = names.filter(|names| !names.is_empty()) else { return };

    for (rule, path) in items(rewrite.spec(), "rules", ".spec") {
        let mut found = found.inside(&format!("{path}.targets"));
        // The picker may send a rewritten request to any pod of the pool, so every one has to serve it.
        let is_served = |model: &str| names.iter().all(|all| all.iter().any(|name| name == model));
        let is_open = |model: &str| model.is_empty() || is_placeholder(model);
        let models = texts(rule, "targets", "modelRewrite");
        for model in models.filter(|model| !is_open(model) && !is_served(model)) {
            let known: Vec<&str> = names[0].iter().map(String::as_str).collect();
            let message =
                format!("{rewrite} rewrites to `{model}`, which pods of {pool} do not serve");
            found.push(message, suggest::hint(model, &known, "models"));
        }
    }
}

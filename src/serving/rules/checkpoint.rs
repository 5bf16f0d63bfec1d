//! Invariants of engines and the checkpoints of their models.

use super::*;
use crate::releases::checkpoint;
use crate::view::pods::named_models;

/// Marks of quantized weights in names of models and in values of `--quantization`.
const FAMILIES: [&str; 3] = ["awq", "gptq", "fp8"];

/// Checks the arguments that vLLM compares with the configuration of the model (its ModelConfig).
pub(crate) fn arguments((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let Some(flags) = engine.flags_of(Program::Vllm) else { return };
    if flags.has("tool-call-parser") && !flags.is_on("enable-auto-tool-choice") {
        let message = "`--tool-call-parser` has no effect without `--enable-auto-tool-choice`";
        let finding = found.push(message, "add `--enable-auto-tool-choice`").warning();
        finding.why("requests with `tool_choice: auto` get 400", "vLLM docs, tool calling");
    }
    // DefaultModelLoader, which refuses other keys. Models of object stores and other formats have loaders of
    // their own.
    let known = ["enable_multithread_load", "num_threads", "enable_weights_track"];
    let format = flags.text_or("load-format", "auto").unwrap_or_default();
    let model = engine.model.as_deref().unwrap_or_default().to_lowercase();
    let is_special = ["://", "gguf", "bnb", "4bit"].iter().any(|part| model.contains(part))
        || flags.has("quantization");
    let is_usual = ["auto", "hf", "pt", "safetensors"].contains(&format) && !is_special;
    let loader = flags.json("model-loader-extra-config").filter(|_| is_usual);
    let mut keys = loader.as_ref().and_then(Json::as_object).into_iter().flatten();
    if let Some((key, _)) = keys.find(|(key, _)| !known.contains(&key.as_str())) {
        let message = format!("the loader has no `{key}` of `--model-loader-extra-config`");
        let hint = suggest::hint(key, &known, "keys");
        found.push(message, format!("{hint}, or set its `--load-format`"));
    }
    if let Some(word) = flags.surplus().filter(|word| !is_placeholder(word)) {
        let message = format!("`{word}` is the value of no flag");
        let finding = found.push(message, "remove it, or write its flag before it");
        finding.why("the engine fails to start", "vLLM, arguments of `serve`");
    }
    // A flag of several values takes the model after it as one of them.
    let names = flags.all("served-model-name");
    let taken = names.iter().skip(1).find(|name| name.contains('/'));
    let wanted = named_models(engine.container).next();
    let is_given = template.completed || flags.has("model");
    // Without arguments it is a patch; a value after another one, or after a switch, is the model.
    let is_plain = !flags.may_have_value() && !is_shell(&words(engine.container));
    let is_whole = wanted.is_some() || taken.is_some() || is_plain;
    if !is_given && is_whole && !flags.begin_with_value() {
        let finding = match (taken, wanted) {
            (Some(taken), _) => {
                let message = format!(
                    "`--served-model-name` takes `{taken}` as a name, so that no model is given"
                );
                found.push(message, "write the model before the flag")
            }
            (None, Some(name)) => {
                let message = format!("no model is given: vLLM does not read `{name}`");
                found.push(message, format!("add `--model=$({name})` to `args`"))
            }
            (None, None) => found.push("no model is given", "write the model after `vllm serve`"),
        };
        finding.why("the engine serves its default model", "vLLM, arguments of `serve`");
    }
    let Some(model) = engine.model.as_deref() else { return };
    fits(engine, flags, model, found);
    let name = model.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let family = |text: &str| {
        let mut families = FAMILIES.into_iter().filter(|family| text.contains(family));
        families.next().filter(|_| families.next().is_none())
    };
    let said = flags.text("quantization").unwrap_or_default();
    if let Some((weights, _)) = differing(family(&name), family(said)) {
        let message =
            format!("`--quantization={said}` is not for the {weights} weights of `{model}`");
        found.push(message, "remove it: the engine reads it from the model");
    }
}

/// Checks the arguments that SGLang compares with the configuration of the model (its ModelConfig).
pub(crate) fn sglang((_, _, engine): Context<'_>, found: &mut Reporter<'_>) {
    if let Some((flags, model)) = engine.flags_of(Program::Sglang).zip(engine.model.as_deref()) {
        fits(engine, flags, model, found);
    }
}

/// Checks the ranks and the length of texts against the configuration of a model.
fn fits(engine: &Engine<'_>, flags: &Flags, model: &str, found: &mut Reporter<'_>) {
    // Arguments that change the configuration.
    const CHANGES: [&str; 6] = [
        "hf-overrides",
        "rope-scaling",
        "hf-config-path",
        "revision",
        "config-format",
        "json-model-override-args",
    ];
    let is_changed = CHANGES.iter().any(|flag| flags.has(flag) || flags.has_part_of(flag));
    let checkpoint = checkpoint::of(model).filter(|_| !is_changed);
    let Some(checkpoint) = checkpoint else { return };
    let tensor = engine.number("tensor-parallel-size", 1).filter(|tensor| *tensor > 0);
    if let Some(tensor) = tensor.filter(|tensor| !checkpoint.heads.is_multiple_of(*tensor)) {
        let heads = checkpoint.heads;
        let message = format!(
            "`--tensor-parallel-size` {tensor} does not divide the {heads} attention heads of `{model}`"
        );
        found.push(message, format!("use a number that divides {heads}"));
    }
    let (flag, allows, other) = match engine.program {
        Program::Sglang => (
            "context-length",
            "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN",
            "json-model-override-args",
        ),
        _ => ("max-model-len", "VLLM_ALLOW_LONG_MAX_MODEL_LEN", "hf-overrides"),
    };
    let is_allowed = variable(engine.container, allows).is_some();
    let length = engine.number(flag, 0).filter(|_| !is_allowed);
    let Some(length) = length.filter(|length| *length > checkpoint.positions) else { return };
    let most = checkpoint.positions;
    let message = format!("`--{flag}` {length} is more than the {most} positions of `{model}`");
    found.push(message, format!("write {most} or less, or extend it with `--{other}`"));
}

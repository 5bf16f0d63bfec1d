//! Invariants of devices: the images and data types that run on them, and the containers that get them.

use super::super::invariants::{Context, Reporter};
use super::super::releases::image::parts;
use super::super::view::config_map::is_inside;
use super::super::view::pods::{Program, Variable, accelerators, list, text, variable, volume_of};
use super::engine::ranks;
use super::probe::{billions, bits, downloads};
use crate::ir::quantity;
use serde_json::Value as Json;

/// Ends of the repositories of upstream's images, and the vendor whose drivers they are built for.
const BUILDS: [(&str, &str); 4] = [
    ("vllm/vllm-openai", "nvidia.com"),
    ("vllm/vllm-openai-rocm", "amd.com"),
    ("vllm/vllm-tpu", "google.com"),
    ("lmsysorg/sglang", "nvidia.com"),
];

/// Words in tags of builds for other devices.
const OTHER_BUILDS: [&str; 6] = ["rocm", "tpu", "cpu", "xpu", "xeon", "npu"];

/// Labels of nodes whose GPUs have a compute capability below 8.0, which bfloat16 needs.
const WITHOUT_BFLOAT16: [&str; 5] = ["tesla-t4", "tesla-v100", "tesla-p", "g4dn.", "_t4_v3"];

/// Gigabytes of memory of devices, by words in labels of their nodes. Others have it in the label.
const MEMORY: [(&str, u32); 9] = [
    ("t4", 16),
    ("l4", 24),
    ("a10", 24),
    ("a10g", 24),
    ("l40s", 48),
    ("a100", 40),
    ("h100", 80),
    ("h200", 141),
    ("b200", 192),
];

/// Returns the gigabytes of memory of the device that the label of a node names.
fn memory(label: &str) -> Option<u32> {
    let label = label.to_ascii_lowercase();
    let words = || label.split('-');
    let said = words().find_map(|word| word.strip_suffix("gb")?.parse().ok());
    let by_name = || MEMORY.iter().find(|(name, _)| words().any(|word| word == *name));
    said.or_else(|| by_name().map(|(_, gigabytes)| *gigabytes))
}

/// Checks that the weights of the model fit into the memory of its devices.
pub(crate) fn weights((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let Some(flags) = engine.known_flags().filter(|flags| !flags.has("cpu-offload-gb")) else {
        return;
    };
    let nodes = template.spec.get("nodeSelector").and_then(Json::as_object);
    let labels = nodes
        .into_iter()
        .flatten()
        .filter(|(key, _)| key.ends_with("/gke-accelerator") || key.ends_with("/gpu.product"));
    let memory = labels.filter_map(|(_, label)| memory(label.as_str()?)).next();
    let model = engine.model.as_deref().unwrap_or_default();
    let (Some(memory), Some(billions)) = (memory, billions(model)) else { return };
    // A rank has a device; replicas have the weights again.
    let number = |flag| engine.number(flag, 1);
    let devices = number("tensor-parallel-size").zip(number("pipeline-parallel-size"));
    let Some((tensor, pipeline)) = devices else { return };

    let bits = bits(&[model, flags.text("quantization").unwrap_or_default()]);
    // Names round the number up: `8x7B` are 47 billions.
    let needed = billions * bits / 8.0 * 0.8;
    let has = f64::from(memory) * f64::from(tensor) * f64::from(pipeline);
    let is_plain = flags.text("quantization").is_some() || !model.to_lowercase().contains("gguf");
    if needed > has && is_plain && matches!(engine.program, Program::Vllm | Program::Sglang) {
        let message = format!("the weights of `{model}` do not fit into {has} GB of its devices");
        found.push(message, "use more or larger devices, or a quantized model");
    }
}

/// Checks that the weights of a model that is downloaded fit into the volume of its cache.
pub(crate) fn cache((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let model = engine.model.as_deref().unwrap_or_default();
    let Some(billions) = billions(model).filter(|_| downloads(template, engine)) else { return };
    let home = variable(engine.container, "HF_HOME");
    let home = match home {
        Some(Variable::Text(home)) => home,
        Some(_) => return,
        None => "/root/.cache/huggingface",
    };
    let mounts = list(engine.container, "volumeMounts").iter();
    let mount = mounts
        .filter(|mount| is_inside(home, text(mount, "mountPath")))
        .max_by_key(|mount| text(mount, "mountPath").len());
    let volume = mount.and_then(|mount| volume_of(template.spec, mount));
    let limit = volume.and_then(|volume| volume.pointer("/emptyDir/sizeLimit")).and_then(quantity);
    let quantization = engine.flags.as_ref().and_then(|flags| flags.text("quantization"));
    let gigabytes = billions * bits(&[model, quantization.unwrap_or_default()]) / 8.0 * 0.8;
    if limit.is_some_and(|limit| limit < gigabytes * 1e9) {
        let message = format!("`{model}` does not fit into the volume of its cache at {home}");
        let finding = found.below(".volumeMounts", message, "raise `sizeLimit`");
        finding.why("the pod is evicted during the download", "Kubernetes docs, emptyDir");
    }
}

/// Checks that the engine's image and data type fit its devices, and that its container gets them.
pub(crate) fn fits((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let image = text(engine.container, "image");
    let (repository, tag) = parts(image);
    let vendor_of = |resource: &str| resource.split('/').next().unwrap_or_default().to_owned();
    let build = BUILDS.iter().find(|(end, _)| repository.ends_with(end));
    let build = build.filter(|_| !OTHER_BUILDS.iter().any(|word| tag.contains(word)));
    if let (Some((_, vendor)), Some((resource, _))) = (build, accelerators(engine.container))
        && vendor_of(resource) != *vendor
    {
        let message = format!("`{image}` is built for devices of {vendor}, not for {resource}");
        found.below(".image", message, "use the image for these devices");
    }

    // A runtime may add all devices of the node by the image's own variable.
    let amounts = ["limits", "requests"].map(|group| {
        let resources =
            engine.container.get("resources").and_then(|all| all.get(group)?.as_object());
        resources.into_iter().flatten().any(|(name, _)| name.contains('/'))
    });
    let is_given = amounts.contains(&true)
        || template.completed
        || template.spec.get("runtimeClassName").is_some()
        || !list(template.spec, "resourceClaims").is_empty()
        || variable(engine.container, "NVIDIA_VISIBLE_DEVICES").is_some()
        || engine.flags.as_ref().is_some_and(|flags| flags.text("device") == Some("cpu"));
    if build.is_some() && engine.program == Program::Vllm && !is_given {
        let message = format!("the container of `{image}` requests no device");
        found.below(".resources", message, "add `nvidia.com/gpu: 1` to its limits").warning();
    }

    let nodes = template.spec.get("nodeSelector").and_then(Json::as_object);
    let mut labels = nodes.into_iter().flatten().filter_map(|(_, value)| value.as_str());
    let is_old =
        |label: &str| WITHOUT_BFLOAT16.iter().any(|mark| label.to_ascii_lowercase().contains(mark));
    let wants = engine.flags.as_ref().is_some_and(|flags| flags.text("dtype") == Some("bfloat16"));
    if let Some(node) = labels.find(|label| is_old(label)).filter(|_| wants) {
        let finding = found.push(format!("`{node}` has no bfloat16"), "write `--dtype=half`");
        finding.why("the engine fails to start", "vLLM, check of the data type");
    }

    let limits = engine.container.pointer("/resources/limits").and_then(Json::as_object);
    let slice = limits.and_then(|all| all.keys().find(|name| name.starts_with("nvidia.com/mig-")));
    if let (Some(slice), Some(ranks)) = (slice, ranks(engine, template).filter(|ranks| *ranks > 1))
    {
        let message = format!("{ranks} ranks need {ranks} devices, but a process sees one {slice}");
        let finding = found.below(".resources", message, "use one rank, or whole devices");
        finding.why("the engine fails to start", "NVIDIA, MIG user guide");
    }

    // A container gets the devices of the claims that it names (Kubernetes docs, dynamic resources).
    for claim in list(template.spec, "resourceClaims").iter().map(|claim| text(claim, "name")) {
        let mut containers = template.containers();
        let uses = |container: &Json| {
            let claims = container.pointer("/resources/claims").and_then(Json::as_array);
            claims.into_iter().flatten().any(|one| text(one, "name") == claim)
        };
        if template.completed || containers.any(|(container, _)| uses(container)) {
            continue;
        }
        let message = format!("no container of the pod uses its resource claim `{claim}`");
        let hint = format!("write `claims: [{{name: {claim}}}]` in the container's resources");
        found.below(".resources", message, hint);
    }

    // The model has the architecture of a generating one, which SGLang takes it for.
    const EMBEDDERS: [&str; 3] = ["qwen3-embedding", "e5-mistral", "gte-qwen2"];
    let model = engine.model.as_deref().unwrap_or_default().to_ascii_lowercase();
    let flags = engine.known_flags().filter(|_| engine.program == Program::Sglang);
    if flags.is_some_and(|flags| !flags.has("is-embedding"))
        && EMBEDDERS.iter().any(|name| model.contains(name))
    {
        let message = format!("`{model}` is served as a model that generates text");
        let finding = found.push(message, "add `--is-embedding`");
        finding.why("requests for embeddings fail", "SGLang docs, embedding models");
    }
}

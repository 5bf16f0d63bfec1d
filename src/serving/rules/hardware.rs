//! Invariants of devices: the images and data types that run on them, and the containers that get them.

use super::probe::{billions, bits, is_of_hub};
use super::runtime::hub_cache;
use super::*;
use crate::view::pods::resources;

/// Returns the resource of the devices that an image of upstream is built for.
fn built_for(image: &str) -> Option<&'static str> {
    let usual = HARDWARE.builds.iter().find(|(name, _)| is_in(image, name))?;
    let mut others = HARDWARE.other_builds.iter();
    let (_, resource) = others.find(|(word, _)| parts(image).1.contains(word)).unwrap_or(usual);
    Some(resource.as_str()).filter(|resource| !resource.is_empty())
}

/// Returns the labels that pods require of their nodes and that name devices, in lower case.
fn devices(template: &Template<'_>) -> impl Iterator<Item = String> {
    let keys = ["/gke-accelerator", "/gpu.product", "/instance-type"];
    let labels = labels_at(template.spec, "/nodeSelector");
    let labels = labels.filter(move |(key, _)| keys.iter().any(|end| key.ends_with(end)));
    labels.map(|(_, label)| label.to_ascii_lowercase())
}

/// Returns the gigabytes of memory of the device that the label of a node names.
fn memory(label: &str) -> Option<u32> {
    let words = || label.split('-');
    let said = words().find_map(|word| word.strip_suffix("gb")?.parse().ok());
    let by_name = || HARDWARE.memory.iter().find(|(name, _)| words().any(|word| word == name));
    said.or_else(|| by_name().map(|(_, gigabytes)| *gigabytes))
}

/// Returns about the gigabytes of a model's weights; `None` if their number or their form is not known.
fn weight(engine: &Engine<'_>) -> Option<f64> {
    let (flags, model) = (engine.known_flags()?, engine.model.as_deref()?);
    let said = flags.text("quantization").unwrap_or_default();
    let is_open = ["load-format", "torchao-config", "lora-modules"].iter().any(|f| flags.has(f))
        || flags.raw.iter().any(|word| word.contains("offload"))
        || model.to_ascii_lowercase().contains("gguf")
        || flags.has("quantization") && bits(&[said]) > 8.0;
    // Names round the number up: `8x7B` are 47 billions.
    Some(billions(model)? * bits(&[model, said]) / 8.0 * 0.8).filter(|_| !is_open)
}

/// Checks that the weights of the model fit into the memory of its devices.
pub(crate) fn weights((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let number = |flag| engine.number(flag, 1);
    // Experts are spread over replicas, too.
    let is_known = engine.program.table().is_some() && number("data-parallel-size") == Some(1);
    let memory = devices(template).find_map(|label| memory(&label)).filter(|_| is_known);
    let ranks = number("tensor-parallel-size").zip(number("pipeline-parallel-size"));
    let has = memory.zip(ranks).map(|(memory, (tensor, pipeline))| {
        f64::from(memory) * f64::from(tensor) * f64::from(pipeline)
    });
    if let Some((needs, has)) = weight(engine).zip(has).filter(|(needs, has)| needs > has) {
        let model = engine.model.as_deref().unwrap_or_default();
        let message = format!(
            "the weights of `{model}` are about {needs:.0} GB, but its devices have {has:.0} GB"
        );
        found.push(message, "use more or larger devices, or a quantized model");
    }
}

/// Checks that the weights of a model that is downloaded fit into the volume of its cache.
pub(crate) fn cache((view, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let Some(gigabytes) = weight(engine).filter(|_| is_of_hub(engine)) else { return };
    let Some(folder) = hub_cache(engine.container) else { return };
    let mount = mount_of(engine.container, &folder);
    let volume = mount.and_then(|mount| volume_of(template.spec, mount));
    let claim = volume.and_then(|volume| text_at(volume, "/persistentVolumeClaim/claimName"));
    let claim = claim.and_then(|name| view.named("PersistentVolumeClaim", name, template.manifest));
    let of_claim = claim.and_then(|(_, one)| one.json.pointer("/spec/resources/requests/storage"));
    let of_volume = volume.and_then(|volume| volume.pointer("/emptyDir/sizeLimit")).or(of_claim);
    if of_claim.is_none() && !downloads(template, engine) {
        return;
    }
    // Without a volume the files are in the container.
    let of_container = || engine.container.pointer("/resources/limits/ephemeral-storage");
    let limit = if mount.is_none() { of_container() } else { of_volume };
    let limit = limit.and_then(quantity);
    let model = engine.model.as_deref().unwrap_or_default();
    if limit.is_some_and(|limit| limit < gigabytes * 1e9) {
        let (what, key) = match mount.is_none() {
            true => ("its container, which has", "ephemeral-storage"),
            false if of_claim.is_some() => ("the claim of", "storage"),
            false => ("the volume of", "sizeLimit"),
        };
        let message = format!("`{model}` does not fit into {what} its cache at {folder}");
        let finding = found.below(".volumeMounts", message, format!("raise `{key}`"));
        let effect = "the download fails, or the pod is evicted during it";
        finding.why(effect, "Kubernetes docs, volumes");
        // Some drivers do not enforce the size of a claim.
        finding.lower_if(of_claim.is_some(), Severity::Warning);
    }
}

/// Checks that KV caches in the memory of the node fit into the limit of the container.
pub(crate) fn host((view, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let limit = engine.container.pointer("/resources/limits/memory").and_then(quantity);
    let config = engine.flags.json("kv-transfer-config").unwrap_or_default();
    let extra = "kv_connector_extra_config";
    let nested = config::at(&config, &format!("{extra}.connectors.[].{extra}"));
    let extras = config::at(&config, extra).into_iter().chain(nested);
    let bytes: Vec<&Json> = extras.filter_map(|(extra, _)| extra.get("cpu_bytes_to_use")).collect();
    let mut texts = bytes.iter().filter_map(|bytes| bytes.as_str());
    let is_number = |text: &&str| text.parse::<f64>().is_ok() || is_placeholder(text);
    if let Some(text) = texts.find(|text| !is_number(text)) {
        let message = format!("`cpu_bytes_to_use` is `{text}`");
        let finding = found.push(message, "write a number of bytes, without a unit");
        finding.why("the engine fails to start", "vLLM, CPUOffloadingSpec");
    }
    let of_connectors = bytes.iter().filter_map(|bytes| bytes.as_f64());
    // LMCache and Mooncake count in gigabytes.
    let gigabytes = |text: &str| Some(text.trim_end_matches(['G', 'B']).parse::<f64>().ok()? * 1e9);
    let value = |name| variable_or(engine.container, name, "");
    let path = value("MOONCAKE_CONFIG_PATH").unwrap_or_default();
    let file = match view.file(template, engine.container, path) {
        File::Text(_, _, content) => serde_json::from_str(content).unwrap_or_default(),
        _ => Json::Null,
    };
    let own = template.manifest.spec().pointer("/kvCacheOffloading/cpu").and_then(quantity);
    let others = [value("LMCACHE_MAX_LOCAL_CPU_SIZE"), text_at(&file, "/global_segment_size")];
    let others = others.into_iter().flatten().filter_map(gigabytes).chain(own);
    let most = of_connectors.chain(others).reduce(f64::max);
    if let Some((needs, has)) = most.zip(limit).filter(|(needs, has)| needs >= has) {
        let [needs, has] = [needs, has].map(|bytes| bytes / 1e9);
        let message =
            format!("{needs:.0} GB of KV caches do not fit into the memory limit of {has:.0} GB");
        found.below(".resources", message, "raise the limit, or make the cache smaller");
    }
}

/// Checks that the engine's image and data type fit its devices, and that its container gets them.
pub(crate) fn fits((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let image = text(engine.container, "image");
    let build = built_for(image);
    let resource = accelerators(engine.container).map(|(resource, _)| resource);
    if let Some((built, resource)) = differing(build, resource) {
        let message = format!("`{image}` is built for {built}, but the container has {resource}");
        found.below(".image", message, "use the image for these devices");
    }

    // A runtime may add all devices of the node by the image's own variable, and others by annotations.
    let has_devices = resources(engine.container).any(|(_, name, _)| name.contains('/'));
    let annotations = template.annotations.as_object();
    let is_given = has_devices
        || template.completed
        || template.spec.get("runtimeClassName").is_some()
        || !list(template.spec, "resourceClaims").is_empty()
        || annotations.is_some_and(|all| all.keys().any(|key| key.contains("gpu")))
        || is_true(engine.container, "/securityContext/privileged")
        || variable(engine.container, "NVIDIA_VISIBLE_DEVICES").is_some()
        || engine.flags.text("device") == Some("cpu")
        || engine.number("data-parallel-size-local", 1) == Some(0);
    if let Some(built) = build.filter(|_| engine.program == Program::Vllm && !is_given) {
        let message = format!("the container of `{image}` requests no device");
        found.below(".resources", message, format!("add `{built}: 1` to its limits")).warning();
    }

    let node = template.node_label("cloud.google.com/gke-accelerator").unwrap_or_default();
    let near = HARDWARE.gke.iter().find(|known| is_typo(node, known));
    if let Some(near) = near.filter(|_| !HARDWARE.gke.iter().any(|known| known == node)) {
        let finding =
            found.push(format!("GKE has no accelerator `{node}`"), format!("write `{near}`"));
        finding.why("the pod stays Pending", "GKE docs, about GPUs");
    }

    let marks = &HARDWARE.without_bfloat16;
    let is_old = |label: &String| marks.iter().any(|mark| label.contains(mark));
    let node = devices(template).find(is_old);
    if let Some(node) = node.filter(|_| engine.flags.text("dtype") == Some("bfloat16")) {
        let finding = found.push(format!("`{node}` has no bfloat16"), "write `--dtype=half`");
        finding.why("the engine fails to start", "vLLM, check of the data type");
    }

    let is_slice =
        |one: &(&str, &str, &Json)| one.0 == "limits" && one.1.starts_with("nvidia.com/mig-");
    let slice = resources(engine.container).find(is_slice);
    let ranks = ranks(engine, template).filter(|ranks| *ranks > 1);
    if let Some(((_, slice, _), ranks)) = slice.zip(ranks) {
        let message = format!("{ranks} ranks need {ranks} devices, but a process sees one {slice}");
        let finding = found.below(".resources", message, "use one rank, or whole devices");
        finding.why("the engine fails to start", "NVIDIA, MIG user guide");
    }

    // A container gets the devices of the claims that it names (Kubernetes docs, dynamic resources). Those of
    // networks are for the whole pod.
    let uses = |(container, _): &Located<'_>| container.pointer("/resources/claims/0").is_some();
    let claim = texts(template.spec, "resourceClaims", "name").next();
    let claim = claim.filter(|_| !template.completed && !has_devices);
    if let Some(claim) = claim.filter(|_| !template.all_containers().iter().any(uses)) {
        let message = format!("no container of the pod uses its resource claim `{claim}`");
        let hint = format!("write `claims: [{{name: {claim}}}]` in the container's resources");
        found.below(".resources", message, hint);
    }

    // The model has the architecture of a generating one, which SGLang takes it for.
    const EMBEDDERS: [&str; 2] = ["qwen3-embedding", "gte-qwen2"];
    let model = engine.model.as_deref().unwrap_or_default();
    if engine.flags_of(Program::Sglang).is_some_and(|flags| !flags.has("is-embedding"))
        && EMBEDDERS.iter().any(|name| model.to_ascii_lowercase().contains(name))
    {
        let message = format!("`{model}` is served as a model that generates text");
        let finding = found.push(message, "add `--is-embedding`");
        finding.why("requests for embeddings fail", "SGLang docs, embedding models");
    }
}

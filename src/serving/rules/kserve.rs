//! Invariants of LLMInferenceServices.

use super::references::lacks_word;
use super::runtime::MODELS;
use super::*;
use crate::view::kserve::{PRESETS, RUNTIME_KINDS};

/// Checks that KServe supports the parallelism.
pub(crate) fn parallelism(_: &View<'_>, service: &Manifest, found: &mut Reporter<'_>) {
    for (part, path, field) in [("", ".spec", "dp"), ("/prefill", ".spec.prefill", "prefill.dp")] {
        let Some(part) = service.spec().pointer(part) else { continue };
        let Some(shape) = part.get("parallelism") else { continue };
        let mut found = found.inside(&format!("{path}.parallelism")).field(field);

        let number = |key: &str| shape.get(key).and_then(Json::as_u64);
        let (data, local) = (number("data"), number("dataLocal"));
        match (data, local) {
            (Some(_), None) | (None, Some(_)) => {
                let message = "only one of `data` and `dataLocal` is set";
                found.push(message, "set both: all ranks, and ranks per pod");
            }
            // GetSize divides integers: 9 ranks with 4 in a pod are two pods (kserve#4946).
            (Some(data), Some(local)) if local > 0 && !data.is_multiple_of(local) => {
                let message = format!("{data} ranks are not divisible by {local} ranks per pod");
                found.push(message, "use a multiple: KServe drops the remainder");
            }
            _ => {}
        }
        let has_worker = part.get("worker").is_some_and(|worker| !worker.is_null());
        // Presets of one's own may set the parallelism.
        let is_whole = own_presets(service).next().is_none();
        let is_open = [data, local, number("pipeline")].iter().all(Option::is_none);
        if has_worker && is_whole && is_open {
            let message = "`worker` is set, but neither `pipeline` nor `data` and `dataLocal`";
            found.push(message, "set the parallelism over the pods, or remove `worker`");
        }
    }
}

/// Returns the names of the presets of a service that are not those of KServe.
fn own_presets(service: &Manifest) -> impl Iterator<Item = &str> {
    texts(service.spec(), "baseRefs", "name").filter(|name| !name.starts_with(PRESETS))
}

/// Fields of which only one may be set, below another field (KServe, validation of its webhook).
const EXCLUSIVE: &[[&str; 3]] = &[
    ["", "replicas", "scaling"],
    ["/prefill", "replicas", "scaling"],
    ["/parallelism", "pipeline", "data"],
    ["/prefill/parallelism", "pipeline", "data"],
    ["/router/scheduler/config", "inline", "ref"],
];

/// Checks that no field is set twice in different forms.
pub(crate) fn exclusive(_: &View<'_>, service: &Manifest, found: &mut Reporter<'_>) {
    for [place, one, other] in EXCLUSIVE {
        let Some(holder) = service.json.pointer(&format!("/spec{place}")) else { continue };
        if [one, other].iter().all(|key| holder.get(key).is_some_and(|value| !value.is_null())) {
            let message = format!("`{one}` and `{other}` are both set");
            let path = format!(".spec{}", place.replace('/', "."));
            found.below(&path, message, format!("remove one of `{one}` and `{other}`"));
        }
    }
}

/// Checks that runtimes have the container that KServe completes, and know the model's format.
pub(crate) fn runtime(view: &View<'_>, found: &mut Found) {
    const NAME: &str = "kserve-container";
    const GROUP: &str = "serving.kserve.io";
    let is_own = |container: &Json| text(container, "name") == NAME;
    let runtimes = RUNTIME_KINDS.iter().flat_map(|kind| view.of_kind(kind));
    for (owner, runtime) in runtimes.filter(|(_, one)| one.group() == GROUP) {
        let containers = list(runtime.spec(), "containers");
        // ModelMesh has other containers.
        let is_shared = is_true(runtime.spec(), "/multiModel");
        if !containers.is_empty() && !is_shared && !containers.iter().any(is_own) {
            let message = format!("{runtime} has no container `{NAME}`");
            found.push(owner, ".spec.containers", message, format!("write `name: {NAME}`"));
        }
    }
    for (owner, service) in view.of_kind("InferenceService").filter(|(_, s)| s.group() == GROUP) {
        let mode = service.text("/metadata/annotations/serving.kserve.io~1deploymentMode");
        for part in ["predictor", "transformer", "explainer"] {
            let Some(spec) = service.spec().get(part) else { continue };
            let containers = list(spec, "containers").iter().chain(spec.get("model"));
            let count: usize = containers.map(|container| list(container, "ports").len()).sum();
            // `Knative` is the name of `Serverless` since KServe 0.16.
            if count > 1 && matches!(mode, Some("Serverless" | "Knative")) {
                let message = format!("containers of the {part} of {service} have {count} ports");
                let hint = "keep the port of requests; others need not be declared";
                let finding = found.push(owner, format!(".spec.{part}"), message, hint);
                finding.why("Knative rejects several ports", "Knative Serving, validateContainers");
            }
        }
        let Some(predictor) = service.spec().get("predictor") else { continue };
        let Some(model) = predictor.get("model") else { continue };
        let mut found = found.at(owner, ".spec.predictor");
        if list(predictor, "containers").iter().any(is_own) {
            let message = format!("`model` and a container `{NAME}` are both set");
            let finding = found.push(message, "move the container's fields to `model`");
            finding.why("the webhook rejects the service", "KServe, webhook");
        }
        // KServe, validateMultiNodeVariables.
        let uri = text(model, "storageUri");
        let is_shared = ["pvc://", "oci://"].iter().any(|scheme| uri.starts_with(scheme));
        if predictor.get("workerSpec").is_some() && !uri.is_empty() && !is_shared {
            let message =
                format!("`workerSpec` needs a model of `pvc://` or `oci://`, not `{uri}`");
            let finding = found.below(".model.storageUri", message, "copy the model to a claim");
            finding.why("the webhook rejects the service", "KServe, webhook");
        }
        if let Some(why) = uri_fault(uri) {
            found.below(".model.storageUri", format!("KServe does not fetch `{uri}`"), why);
        }
        let format = text_at(model, "/modelFormat/name");
        let name = text(model, "runtime");
        let runtime = RUNTIME_KINDS.iter().find_map(|kind| view.named(kind, name, service));
        let runtime = runtime.map_or(&Json::Null, |(_, one)| one.spec());
        let formats: Vec<&str> = texts(runtime, "supportedModelFormats", "name").collect();
        if let Some(format) = format.filter(|one| !formats.is_empty() && !formats.contains(one)) {
            let message = format!("the runtime does not support the model format `{format}`");
            found.below(".model.modelFormat", message, suggest::hint(format, &formats, "formats"));
        }
    }
}

/// Checks that engines of predictors load the model from where KServe puts it.
pub(crate) fn place((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let is_fetched = variable(engine.container, "STORAGE_URI").is_some();
    let is_elsewhere = |model: &&str| model.starts_with("/mnt/") && !model.starts_with(MODELS);
    let is_ours = template.manifest.kind() == "InferenceService" && is_fetched;
    let model = engine.model.as_deref().filter(is_elsewhere).filter(|_| is_ours);
    if let Some(model) = model.filter(|model| mount_of(engine.container, model).is_none()) {
        let message = format!("the engine loads `{model}`, but KServe fetches models to {MODELS}");
        found.push(message, format!("write `{MODELS}`"));
    }
}

/// Returns what to write instead of a URI without a scheme, or of a model of Hugging Face without its owner
/// (KServe, kserve_storage).
fn uri_fault(uri: &str) -> Option<&'static str> {
    let Some((scheme, name)) = uri.split_once("://") else {
        let is_typed = uri.contains(":/") && !is_placeholder(uri);
        return is_typed.then_some("write two slashes after the scheme: `pvc://CLAIM/PATH`");
    };
    let is_open = is_placeholder(name) || name.contains('$');
    let is_wrong = scheme == "hf" && name.split('/').count() != 2 && !is_open;
    is_wrong.then_some("write `hf://OWNER/MODEL`")
}

/// Schemes of models and of adapters (KServe, pkg/controller/v1alpha2/llmisvc).
const MODEL_SCHEMES: &[&str] = &["hf://", "s3://", "pvc://", "oci://", "oci+native://"];
const ADAPTER_SCHEMES: &[&str] = &["hf://", "s3://", "pvc://"];

/// Checks that KServe can fetch the model and its adapters.
pub(crate) fn model(_: &View<'_>, service: &Manifest, found: &mut Reporter<'_>) {
    let spec = service.spec();
    // Without the initializer the pods bring the model themselves.
    let initializer = spec.pointer("/storageInitializer/enabled");
    let model = spec.get("model").filter(|_| initializer != Some(&Json::Bool(false)));
    let Some(model) = model else { return };
    let lora = model.get("lora").unwrap_or(&Json::Null);
    let adapters = list(lora, "adapters");
    let number = |key: &str| lora.get(key).and_then(Json::as_u64);
    // KServe takes the number of adapters by default, and vLLM refuses the result.
    let most = number("maxAdapters").unwrap_or(adapters.len() as u64);
    if let Some(cached) = number("maxCpuAdapters").filter(|cached| *cached < most) {
        let message = format!("`maxCpuAdapters` is {cached}, less than {most} adapters on devices");
        let finding = found.below(".spec.model.lora", message, "raise it");
        finding.why("the engine fails to start", "vLLM, LoRAConfig");
    }
    let of_adapters = items(lora, "adapters", ".spec.model.lora");
    let of_adapters = of_adapters.map(|(adapter, path)| (adapter, path, ADAPTER_SCHEMES));
    let all = of_adapters.chain([(model, ".spec.model".to_owned(), MODEL_SCHEMES)]);
    for (holder, path, schemes) in all {
        let uri = text(holder, "uri");
        let fault = match schemes.iter().any(|scheme| uri.starts_with(scheme)) {
            true => uri_fault(uri).map(str::to_owned),
            false => Some(format!("write a URI with {}", suggest::list(schemes))),
        };
        if let Some(hint) = fault.filter(|_| !uri.is_empty() && !is_placeholder(uri)) {
            found.below(&format!("{path}.uri"), format!("KServe does not fetch `{uri}`"), hint);
        }
    }
}

/// Reports presets that are not in the manifests, if one with nearly the same name is.
pub(crate) fn presets(view: &View<'_>, service: &Manifest, found: &mut Reporter<'_>) {
    const KIND: &str = "LLMInferenceServiceConfig";
    for (preset, path) in items(service.spec(), "baseRefs", ".spec") {
        let name = text(preset, "name");
        let mut near = view.of_kind(KIND).map(|(_, one)| one.name());
        if view.all_named(KIND, name, "").next().is_none()
            && let Some(near) = near.find(|near| is_typo(name, near) || lacks_word(name, near))
        {
            let message = format!(
                "{service} references {KIND}/{name}, which is not in the manifests, but {near} is"
            );
            found.below(&path, message, format!("write `{near}`"));
        }
    }
}

/// Checks that the container of an engine has the name of the one that KServe completes.
pub(crate) fn container(view: &View<'_>, service: &Manifest, found: &mut Reporter<'_>) {
    // A preset of one's own may have other names.
    let known = |name| view.all_named("LLMInferenceServiceConfig", name, "").next();
    let Some(known) = own_presets(service).map(known).collect::<Option<Vec<_>>>() else { return };
    for part in ["/template", "/worker", "/prefill/template", "/prefill/worker"] {
        let Some(pod) = service.spec().pointer(part) else { continue };
        let of_presets = known.iter().filter_map(|(_, preset)| preset.spec().pointer(part));
        let names = of_presets.flat_map(|pod| texts(pod, "containers", "name")).chain(["main"]);
        let names: Vec<&str> = names.collect();
        let is_there = texts(pod, "containers", "name").any(|name| names.contains(&name));
        let runs = |(container, _): &Located<'_>| {
            accelerators(container).is_some() || Engine::of(container, None).is_some()
        };
        let path = format!(".spec{}", part.replace('/', "."));
        let own = items(pod, "containers", &path).find(runs).filter(|_| !is_there);
        let Some((container, path)) = own else { continue };
        let name = text(container, "name");
        let message = format!(
            "container `{name}` is not named `main`, so KServe starts its own server next to it"
        );
        found.below(&format!("{path}.name"), message, "write `name: main`");
    }
}

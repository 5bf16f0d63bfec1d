//! Invariants of LLMInferenceServices.

use super::references::is_cut;
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
        // Presets of one's own may set the parallelism and the workers.
        let is_whole = own_presets(service).next().is_none();
        let over = data.zip(local).filter(|(data, local)| *local > 0 && data > local);
        if let Some((data, local)) = over.filter(|_| is_whole && !has_worker) {
            let message =
                format!("{data} ranks with {local} in a pod need `worker`, which is not set");
            found.push(message, "add `worker: {}`").warning();
        }
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

/// Checks that no field is set twice in different forms.
pub(crate) fn exclusive(_: &View<'_>, service: &Manifest, found: &mut Reporter<'_>) {
    for [place, one, other] in &NAMES.exclusive {
        let Some(holder) = service.json.pointer(&format!("/spec{place}")) else { continue };
        if [one, other].iter().all(|key| holder.get(**key).is_some_and(|value| !value.is_null())) {
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
        let mut words = containers.iter().flat_map(words);
        let open = |word: String| {
            let (_, end) = word.rsplit_once("{{")?;
            (!end.contains("}}")).then(|| end.lines().next().unwrap_or_default().to_owned())
        };
        if let Some(rest) = words.find_map(open) {
            let message = format!("template `{{{{{rest}` of {runtime} does not end");
            found.push(owner, ".spec.containers", message, "close it with `}}`");
        }
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
        // Clusters have more runtimes than the manifests, so without a name only a typing error is certain.
        let all = || RUNTIME_KINDS.iter().flat_map(|kind| view.of_kind(kind));
        let near = all().map(|(_, one)| one.name());
        let near = near.filter(|_| runtime.is_null() && !name.is_empty());
        let near = near.into_iter().find(|near| is_typo(name, near) || is_cut(name, near));
        if let Some(near) = near.filter(|near| *near != name) {
            let message =
                format!("{service} names runtime `{name}`, but the manifests have `{near}`");
            found.below(".model.runtime", message, format!("write `{near}`")).warning();
        }
        let mut formats: Vec<&str> = texts(runtime, "supportedModelFormats", "name").collect();
        if name.is_empty() {
            formats.extend(
                all().flat_map(|(_, one)| texts(one.spec(), "supportedModelFormats", "name")),
            );
            formats.retain(|known| format.is_some_and(|format| is_typo(format, known)));
        }
        if is_true(runtime, "/disabled") {
            let message = format!("runtime `{name}` is disabled");
            found.below(".model.runtime", message, "use another one");
        }
        // KServe, ScaleMetric and validateHPAMetrics.
        let class = service.text("/metadata/annotations/serving.kserve.io~1autoscalerClass");
        let metrics = ["cpu", "memory", "concurrency", "rps"];
        let metrics = if class == Some("hpa") { &metrics[..2] } else { &metrics };
        let metric = text_or(predictor, "scaleMetric", metrics[0]);
        if !metrics.contains(&metric) && !is_placeholder(metric) {
            let message =
                format!("`scaleMetric` is `{metric}`, which is no metric of its autoscaler");
            let hint = suggest::hint(metric, metrics, "metrics");
            let finding = found.below(".scaleMetric", message, hint);
            finding.why("the API server or the webhook rejects the service", "KServe, webhook");
        }
        if let Some(format) = format.filter(|one| !formats.is_empty() && !formats.contains(one)) {
            let message = format!("the runtime does not support the model format `{format}`");
            found.below(".model.modelFormat", message, suggest::hint(format, &formats, "formats"));
        }
    }
}

/// Checks that engines of predictors listen on the port to which KServe sends requests, and load the model from
/// where it puts it.
pub(crate) fn place((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let declared = declared(engine.container).first().copied();
    let open = engine.ports().filter(|_| template.manifest.kind() == "InferenceService");
    if let Some((port, open)) = declared.zip(open).filter(|(port, open)| !open.contains(port)) {
        let open = ranges(&open);
        let message =
            format!("KServe sends requests to port {port}, but the engine listens on {open}");
        let finding = found.below(".ports", message, "declare the engine's port first");
        finding.why("requests do not reach the engine", "KServe, ports of predictors");
    }
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
        let is_typed = [":/", "//"].iter().any(|part| uri.contains(part)) && !is_placeholder(uri);
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

/// Checks templates of presets: fields of a service begin with a capital letter in Go.
pub(crate) fn template(_: &View<'_>, preset: &Manifest, found: &mut Reporter<'_>) {
    let text = preset.json.to_string();
    let templates = text.split("{{").skip(1).filter_map(|rest| rest.split("}}").next());
    let fields =
        templates.flat_map(str::split_whitespace).filter(|word| word.starts_with(".Spec."));
    let is_wrong = |field: &str| {
        field.split('.').skip(2).any(|step| step.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    for field in fields.filter(|field| is_wrong(field)).collect::<BTreeSet<&str>>() {
        let message = format!("template `{field}` is no field of a service");
        found.below(".spec", message, "write each part with a capital letter: `.Spec.Model.Name`");
    }
}

/// Checks values of annotations that KServe knows, and the container that one of them names.
pub(crate) fn annotations(view: &View<'_>, found: &mut Found) {
    for (owner, service) in view.manifests.iter().enumerate() {
        let mut found = found.at(owner, ".metadata.annotations");
        for (key, values) in &NAMES.annotations {
            let said = labels_at(&service.json, "/metadata/annotations").find(|one| one.0 == *key);
            let Some((_, said)) = said.filter(|(_, said)| !is_placeholder(said)) else { continue };
            let hint = match values.as_slice() {
                [] if said.parse::<u32>().is_ok() => continue,
                [] => "write a number".to_owned(),
                values if values.contains(&said) => continue,
                values => suggest::hint(said, values, "values"),
            };
            found.push(format!("`{key}` is `{said}`"), hint).warning();
        }

        let named = service.text("/metadata/annotations/serving.kserve.io~1exp-dra-container-name");
        let pod = service.spec().get("template").unwrap_or(&Json::Null);
        let mut names: Vec<&str> = texts(pod, "containers", "name").collect();
        if !names.contains(&"main") {
            names.push("main");
        }
        if let Some(name) = named.filter(|name| !names.contains(name) && !is_placeholder(name)) {
            let message = format!("{service} has no container `{name}` for its devices");
            found.push(message, suggest::hint(name, &names, "containers"));
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
        let finding = found.below(&format!("{path}.name"), message, "write `name: main`");
        // It may be for a server of another program.
        finding.lower_if(service.kind() != "LLMInferenceService", Severity::Warning);
    }
}

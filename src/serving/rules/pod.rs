//! Invariants of pod specs that do not depend on the engine: what the API server and the kubelet
//! reject.

use super::addresses::has_address;
use super::*;
use crate::bundle::{self, MissingField, TypeCheck};
use crate::invariants::SERVICES;
use crate::ir::{dns_subdomain, path_of, steps, value_at};
use crate::passes;
use crate::view::pods;

/// Repositories of images that name no user, so that their containers run as root.
const ROOT_IMAGES: [&str; 2] = ["vllm/vllm-openai", "lmsysorg/sglang"];

/// Returns the pods of pickers, those with an engine or a sidecar, and those that are whole, or of Ray. Other
/// controllers may have containers with fields of their own.
pub(super) fn pods<'v>(view: &'v View<'_>) -> impl Iterator<Item = &'v Template<'v>> {
    let is_known = |one: &&Template<'_>| {
        one.engine.is_some() || one.sidecar.is_some() || !one.completed || is_of_ray(one)
    };
    let pickers = view.pickers.iter().map(|picker| &picker.pods);
    view.templates.iter().filter(is_known).chain(pickers)
}

fn is_of_ray(pods: &Template<'_>) -> bool {
    pods.manifest.group() == "ray.io"
}

/// Returns all containers of pods with their JSON paths.
pub(super) fn containers<'v>(
    pods: impl Iterator<Item = &'v Template<'v>>,
) -> impl Iterator<Item = (&'v Template<'v>, &'v Json, String)> {
    let all = |pods: &'v Template<'v>| pods.all_containers().into_iter().map(move |c| (pods, c));
    pods.flat_map(all).map(|(pods, (container, path))| (pods, container, path))
}

/// Groups and kinds whose names are names in DNS (Kubernetes API, ValidateServiceName; KServe,
/// validateInferenceServiceName).
const IN_DNS: [(&str, &str); 2] = [("", "Service"), ("serving.kserve.io", "InferenceService")];

/// Checks an object against its type, and its name.
fn object(owner: usize, manifest: &Manifest, found: &mut Found) {
    if is_patch(manifest) {
        let message = format!("{manifest} has no selector");
        let hint = "add it, or render the overlay that it is a patch of";
        let finding = found.push(owner, ".spec", message, hint).warning();
        finding.why("the API server rejects it, unless it is a patch", "Kubernetes API, types");
        return;
    }
    let (version, kind) = (manifest.api_version(), manifest.kind());
    let other = kinds::other_group(manifest.group(), kind);
    let other = other.map(|group| format!("it is one of `{group}`"));
    let near = || Some(format!("write {}", kinds::misspelt(version, kind)?));
    if let Some(hint) = other.or_else(|| near().filter(|_| !is_placeholder(version))) {
        let message = format!("apiVersion `{version}` has no kind {kind}");
        found.push(owner, ".apiVersion", message, hint);
    }
    let checked = bundle::check_object(manifest.json.clone());
    refused(manifest, &manifest.json, &checked, ("", ""), found.at(owner, ""));
    // Names of RBAC objects are path segments (`system:…`), those of kustomize's transformers any text.
    let has_free_name = manifest.group() == "rbac.authorization.k8s.io" || version == "builtin";
    let name = manifest.name();
    let is_open = is_placeholder(name)
        || name.starts_with(['<', '_', '$', '@', '#', '[', '%'])
        || name == name.to_uppercase();
    let is_in_dns = IN_DNS.contains(&(manifest.group(), manifest.kind()));
    if is_in_dns && name.contains('.') && !is_open {
        let message = format!("`{name}` is not a valid name of {manifest}: it has a dot");
        found.push(owner, ".metadata.name", message, "write a dash instead");
    }
    if let Some(why) = dns_subdomain(name).err().filter(|_| !has_free_name && !is_open) {
        let message = format!("`{name}` is not a valid name of an object: {why}");
        found.push(owner, ".metadata.name", message, "rename it").field("name");
    }
}

/// Checks objects and pods against their types in the Kubernetes API, and the thresholds of probes.
pub(crate) fn types(view: &View<'_>, found: &mut Found) {
    let all = view.manifests.iter().enumerate();
    for (owner, manifest) in all.filter(|(_, one)| one.kind() != "CustomResourceDefinition") {
        object(owner, manifest, found);
    }
    // KServe merges pods with those of presets, so they are checked as they are written.
    let is_of_kserve = |owner: usize| SERVICES.contains(&view.manifests[owner].kind());
    let services = SERVICES.iter().flat_map(|kind| view.of_kind(kind));
    let written = services.flat_map(|(owner, service)| {
        kinds::pods(&service.json).into_iter().map(move |(path, spec)| (owner, path, spec))
    });
    let others = pods(view).filter(|pods| !is_of_kserve(pods.owner));
    let others = others.map(|pods| (pods.owner, pods.spec_path.clone(), pods.spec));
    for (owner, path, spec) in others.chain(written).filter(|(.., spec)| spec.is_object()) {
        let mut template = json!({"spec": {"template": {"spec": spec}}, "apiVersion": "apps/v1", "kind": "Deployment"});
        // Pods of Jobs have other policies; a Deployment is checked above.
        template["spec"]["template"]["spec"]["restartPolicy"] = Json::Null;
        let mut checked = bundle::check_object(template.clone());
        // Controllers merge what they add, such as the handler of a probe, and have fields of their own.
        let is_in_pod = |missing: &MissingField| missing.path.starts_with(".spec.template.spec.");
        let is_whole = !view.templates_of(owner).any(|template| template.completed);
        checked.missing.retain(|missing| is_whole && !is_of_kserve(owner) && is_in_pod(missing));
        checked.unknown_fields.retain(|_| is_whole || is_of_kserve(owner));
        let place = (".spec.template.spec", path.as_str());
        refused(&view.manifests[owner], &template, &checked, place, found.at(owner, ""));

        for (volume, path) in items(spec, "volumes", &path) {
            // Besides the name, the source is the only field.
            if is_whole && volume.as_object().is_some_and(|volume| volume.len() < 2) {
                let message = format!("volume `{}` has no source", text(volume, "name"));
                let finding = found.push(owner, path, message, "write `emptyDir: {}`").warning();
                finding.why("it is an empty directory", "Kubernetes API, defaults");
            }
        }
        for (container, path) in all_containers(spec, &path) {
            for (variable, path) in items(container, "env", &path) {
                let is_set = |key| variable.get(key).is_some_and(|value| !value.is_null());
                let name = text(variable, "name");
                if is_whole && !name.is_empty() && !is_set("value") && !is_set("valueFrom") {
                    let message = format!("variable `{name}` has no value");
                    let hint = "set `value` or `valueFrom`, or remove it";
                    let finding = found.push(owner, path, message, hint).warning();
                    finding.why("it is empty", "Kubernetes API, types");
                }
            }
            let adds = container.pointer("/securityContext/capabilities");
            let adds = adds.into_iter().flat_map(|capabilities| strings(capabilities, "add"));
            for name in adds.filter_map(|name| name.strip_prefix("CAP_")) {
                let message = format!("there is no capability `CAP_{name}`");
                let path = format!("{path}.securityContext.capabilities");
                let finding = found.push(owner, path, message, format!("write `{name}`"));
                finding.why("the container is not created", "Kubernetes docs, security contexts");
            }
            let user = |key: &str| security(spec, container, key);
            // The kubelet verifies the user before it starts the container.
            let image = text(container, "image");
            let is_of_root = ROOT_IMAGES.iter().any(|name| is_in(image, name));
            let (is_root, why) = match user("runAsUser") {
                Some(user) => (*user == 0, "runAsUser is 0".to_owned()),
                None => (is_of_root, format!("`{image}` runs as root")),
            };
            if user("runAsNonRoot") == Some(&json!(true)) && is_root {
                let message = format!("runAsNonRoot is true, but {why}");
                let hint = "set another `runAsUser`, or remove `runAsNonRoot`";
                let finding = found.push(owner, format!("{path}.securityContext"), message, hint);
                finding.why("the kubelet does not start it", "CreateContainerConfigError");
                // OpenShift sets a user.
                finding.lower_if(user("runAsUser").is_none(), Severity::Warning);
            }
        }
    }
}

/// Returns a setting of the security context of a container, or else of its pod.
fn security<'a>(spec: &'a Json, container: &'a Json, key: &str) -> Option<&'a Json> {
    let pointer = format!("/securityContext/{key}");
    container.pointer(&pointer).or_else(|| spec.pointer(&pointer))
}

/// Reports what differs from a type, and what the API server refuses, except for what other rules report
/// with better hints, and for texts that other tools fill in. `place` has the start of the paths, and of
/// those in the manifest.
fn refused(
    label: &Manifest,
    json: &Json,
    checked: &TypeCheck,
    place: (&str, &str),
    mut found: Reporter<'_>,
) {
    let at = |path: &str| path.replacen(place.0, place.1, 1);
    let is_open = |path: &str| {
        value_at(json, &steps(path)).and_then(Json::as_str).is_some_and(is_placeholder)
    };
    for mismatch in checked.mismatches.iter().filter(|mismatch| !is_open(&mismatch.path)) {
        let path = at(&mismatch.path);
        let message = format!("`{path}` of {label} has the wrong type: {}", mismatch.why);
        let hint = mismatch.spelling().unwrap_or("write a value of this type");
        found.below(&path, message, hint);
    }

    for missing in &checked.missing {
        let missing = MissingField { path: at(&missing.path), fields: missing.fields.clone() };
        found.below(&missing.path, format!("{label} {}", missing.describe()), "add it");
    }
    for steps in &checked.unknown_fields {
        let path = at(&path_of(steps));
        let message = format!("{label} has no field `{path}`");
        let finding = found.below(&path, message, "remove it, or fix its name or place");
        finding.warning().why("the API server ignores it", "Kubernetes API");
    }

    const OTHERS: [&str; 3] = ["mounts undefined", "without an image", "removed apiVersion"];
    let values = passes::refused_values(json).into_iter().map(|it| (it.path, it.what));
    for (path, what) in values.chain(checked.unsupported.clone()) {
        if !is_placeholder(&what) && !OTHERS.iter().any(|one| what.contains(one)) {
            let path = at(&path);
            let message = format!("{label} {what}");
            let finding = found.below(&path, message, "change it in the manifest");
            if path.ends_with(".resources") {
                finding.field("engine.resources");
            }
            // llm-d's guides have such pods.
            let is_port = what.starts_with("has duplicate port name");
            finding.lower_if(is_port && path.contains(".containers["), Severity::Warning);
        }
    }
}

/// Checks that mounts have volumes, and resources their claims. Controllers add volumes to the pods of their kinds,
/// KubeRay adds them with their mounts.
pub(crate) fn mounts(view: &View<'_>, found: &mut Found) {
    for pods in pods(view).filter(|pods| !pods.completed || is_of_ray(pods)) {
        let mut volumes: Vec<&str> = texts(pods.spec, "volumes", "name").collect();
        // A workload claims these for each pod.
        let maps = maps(&pods.manifest.json).into_iter();
        let templates = maps.flat_map(|map| map.get("volumeClaimTemplates"));
        let claims = templates.filter_map(Json::as_array).flatten();
        volumes.extend(claims.filter_map(|claim| claim.pointer("/metadata/name")?.as_str()));

        let claims: Vec<&str> = texts(pods.spec, "resourceClaims", "name").collect();
        for (container, path) in pods.all_containers() {
            let name = text(container, "name");
            let resources = container.get("resources").unwrap_or(&Json::Null);
            let of_resources = format!("{path}.resources");
            for (json, key, path, what, plural, known) in [
                (container, "volumeMounts", &path, "mounts volume", "volumes", &volumes),
                (resources, "claims", &of_resources, "uses claim", "claims", &claims),
            ] {
                for (one, path) in items(json, key, path) {
                    let wanted = text(one, "name");
                    if !known.contains(&wanted) && !is_placeholder(wanted) {
                        let message = format!(
                            "container `{name}` {what} `{wanted}`, which the pod does not have"
                        );
                        found.push(pods.owner, path, message, suggest::hint(wanted, known, plural));
                    }
                }
            }
        }
    }
}

/// Returns true if a resource is another one except for a typing error in its vendor. Device plugins may
/// have names of their own after it: `nvidia.com/pgpu`, `nvidia.com/mig-1g.5gb`.
fn is_of_other_vendor(name: &str, other: &str) -> bool {
    let (vendor, resource) = name.split_once('/').unwrap_or_default();
    let (known, usual) = other.split_once('/').unwrap_or_default();
    resource == usual && vendor != known && is_typo(vendor, known)
        || name.strip_suffix('s') == Some(other)
}

/// Checks that resources of devices have the names that device plugins give them.
pub(crate) fn resources(view: &View<'_>, found: &mut Found) {
    for (template, engine) in view.engines().filter(|_| view.is_generated) {
        unrequested(template, engine, found);
    }
    for (pods, container, path) in containers(pods(view)) {
        let mut found = found.at(pods.owner, format!("{path}.resources"));
        let names: BTreeSet<&str> = pods::resources(container).map(|(_, name, _)| name).collect();
        for name in names {
            let is_meant = |near: &&&str| is_of_other_vendor(name, near);
            if let Some(near) = NAMES.accelerators.iter().find(is_meant) {
                let message = format!("no node has the resource `{name}`");
                let finding = found.push(message, format!("did you mean `{near}`?"));
                finding.why("the pod stays Pending", "Kubernetes docs, device plugins");
            }
        }
    }
}

/// Returns true if a container requests a resource; limits are requests, too.
pub(super) fn requests(container: &Json, name: &str) -> bool {
    pods::resources(container).any(|(_, one, _)| one == name)
}

/// Checks that containers have what quotas of their namespace count (Kubernetes, ResourceQuota admission).
pub(crate) fn quotas(view: &View<'_>, found: &mut Found) {
    // A LimitRange sets what containers leave out; it is often in other manifests.
    let ranges: BTreeSet<&str> =
        view.of_kind("LimitRange").map(|(_, one)| one.namespace()).collect();
    let mut counted: BTreeMap<&str, BTreeMap<(&str, &str), &Manifest>> = BTreeMap::new();
    let quotas = view.of_kind("ResourceQuota");
    for (_, quota) in quotas.filter(|(_, quota)| !ranges.contains(quota.namespace())) {
        let is_for_some =
            ["scopes", "scopeSelector"].iter().any(|k| quota.spec().get(*k).is_some());
        let hard = quota.map("/spec/hard").filter(|_| !is_for_some).into_iter().flatten();
        for (group, name) in hard.map(|(key, _)| key.split_once('.').unwrap_or(("requests", key))) {
            if ["requests", "limits"].contains(&group) && ["cpu", "memory"].contains(&name) {
                counted.entry(quota.namespace()).or_default().insert((group, name), quota);
            }
        }
    }
    let pods = pods(view).filter(|pods| !pods.completed && pods.spec.get("resources").is_none());
    for (pods, container, path) in containers(pods) {
        // A limit is a request, too.
        let is_missing = |((group, name), _): &(&(&str, &str), &&Manifest)| {
            let has = |of: &str| of == *group || of == "limits";
            !pods::resources(container).any(|(of, one, _)| one == *name && has(of))
        };
        let counted = counted.get(pods.manifest.namespace()).into_iter().flatten();
        let Some(((group, name), quota)) = counted.into_iter().find(is_missing) else { continue };
        let name_of = text(container, "name");
        let message = format!("{quota} counts {group}.{name}, which `{name_of}` does not set");
        let finding = found.push(pods.owner, path, message, format!("set {group}.{name}"));
        let reason = "the API server rejects the pod, unless a LimitRange sets it";
        finding.warning().why(reason, "Kubernetes docs, quotas");
    }
}

/// Checks that pods have what the Pod Security Standard of their namespace requires (Kubernetes docs).
pub(crate) fn standards(view: &View<'_>, found: &mut Found) {
    let label = "/metadata/labels/pod-security.kubernetes.io~1enforce";
    let levels = view.of_kind("Namespace").filter_map(|(_, one)| Some((one, one.text(label)?)));
    let levels = levels.filter(|(_, level)| ["baseline", "restricted"].contains(level));
    let levels: BTreeMap<&str, (&Manifest, &str)> =
        levels.map(|(namespace, level)| (namespace.name(), (namespace, level))).collect();
    for pods in pods(view).filter(|pods| !pods.completed) {
        let Template { owner, spec_path, spec, .. } = pods;
        let Some((namespace, level)) = levels.get(pods.manifest.namespace()) else { continue };
        let mut keys = ["hostNetwork", "hostPID", "hostIPC"].into_iter();
        let shared = keys.find(|key| is_true(spec, &format!("/{key}")));
        let of_host = list(spec, "volumes").iter().any(|one| one.get("hostPath").is_some());
        let mut report = |path: &str, what: String| {
            let hint = "change the pod, or the level of the namespace";
            found.push(*owner, path, format!("{namespace} is {level}: {what}"), hint);
        };
        if let Some(key) = shared.or(of_host.then_some("hostPath")) {
            report(spec_path, format!("it allows no {key}"));
        }
        for (container, path) in pods.all_containers() {
            if is_true(container, "/securityContext/privileged") {
                report(&path, "it allows no privileged containers".to_owned());
                continue;
            }
            let mut ports = list(container, "ports").iter();
            if ports.any(|port| number(port, "hostPort").is_some_and(|port| port != 0)) {
                report(&path, "it allows no hostPort".to_owned());
            }
            let own = |key: &str| container.pointer(&format!("/securityContext/{key}"));
            let any = |key: &str| security(spec, container, key);
            let escalates = own("allowPrivilegeEscalation") != Some(&json!(false));
            let capabilities = own("capabilities").unwrap_or(&Json::Null);
            let drops = strings(capabilities, "drop").any(|dropped| dropped == "ALL");
            let profile = any("seccompProfile/type").filter(|kind| **kind != "Unconfined");
            let is_restricted = *level == "restricted";
            if !is_restricted && any("seccompProfile/type") == Some(&json!("Unconfined")) {
                report(&path, "it allows no unconfined seccompProfile".to_owned());
            }
            let allowed =
                if is_restricted { &NAMES.capabilities[..1] } else { &NAMES.capabilities };
            let added = strings(capabilities, "add").find(|added| !allowed.contains(added));
            if let Some(added) = added {
                report(&path, format!("it allows no capability {added}"));
            }
            let lacks = [
                (escalates, "allowPrivilegeEscalation: false"),
                (!drops, "capabilities: {drop: [ALL]}"),
                (any("runAsNonRoot") != Some(&json!(true)), "runAsNonRoot: true"),
                (profile.is_none(), "seccompProfile: {type: RuntimeDefault}"),
            ];
            let missing = lacks.into_iter().filter(|(lacks, _)| is_restricted && *lacks);
            let missing: Vec<&str> = missing.map(|(_, setting)| setting).collect();
            if !missing.is_empty() {
                report(&path, format!("it requires {}", suggest::list(&missing)));
            }
        }
    }
}

/// Reports an engine without requests of CPU or memory. The right numbers depend on model and nodes, so
/// that there is no default. Accelerators are not counted.
fn unrequested(template: &Template<'_>, engine: &Engine<'_>, found: &mut Found) {
    let mut missing = vec!["cpu", "memory"];
    missing.retain(|name| !requests(engine.container, name));
    if missing.is_empty() || template.completed {
        return;
    }
    let message = format!("the engine requests no {}", missing.join(" and no "));
    let hint = "set what it uses: `resources = { requests = { cpu = \"8\", memory = \"96Gi\" } }`";
    let finding = found.push(template.owner, &engine.path, message, hint);
    let reason = "nodes that run out of memory evict it first, and it gets the least CPU time";
    let source = "Kubernetes docs, QoS classes and node-pressure eviction";
    finding.note().code(Code::ServingRequests).why(reason, source);
}

/// Checks that variables with ports are ports, and that no Service has the name of one: those of a Service
/// `vllm` are VLLM_PORT, VLLM_SERVICE_HOST and others, with its address.
pub(crate) fn service_links((view, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let Some(table) = engine.program.table() else { return };
    let index = table.index(text(engine.container, "image"));
    let mut ports = match engine.program {
        Program::Vllm => table.env.names(None),
        // Few releases of SGLang have one.
        _ => index.map(|_| table.env.names(index)).unwrap_or_default(),
    };
    ports.retain(|name| name.ends_with("_PORT"));
    for name in &ports {
        let Some(Variable::Text(value)) = variable(engine.container, name) else { continue };
        let is_port = value.trim().parse::<u32>().is_ok_and(|n| (1..=65_535).contains(&n));
        if !is_port && !value.is_empty() && !is_placeholder(value) {
            let message = format!("`{name}` is `{value}`, which is no port");
            let finding = found.below(".env", message, "use a number from 1 to 65535");
            finding.field("engine.env").code(Code::ServingEngineFlags);
        }
    }

    // The kubelet adds no link for a variable that the container sets itself.
    let is_off = template.spec.get("enableServiceLinks") == Some(&json!(false));
    let is_set = |name: &str| texts(engine.container, "env", "name").any(|own| own == name);
    for variable in ports.iter().filter(|variable| !is_off && !is_set(variable)) {
        let name = variable.trim_end_matches("_PORT").to_lowercase().replace('_', "-");
        let services = view.all_named("Service", &name, template.manifest.namespace());
        // Services without an address have no links.
        for (_, service) in services.filter(|(_, service)| has_address(service)) {
            let message = format!(
                "{service} sets `{variable}` of {template} to its address, which the engine reads \
                 as a port"
            );
            let hint = "add `enableServiceLinks: false` to the pods, or rename the Service";
            found.push(message, hint).path.clone_from(&template.spec_path);
        }
    }
}

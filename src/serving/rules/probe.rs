//! Invariants of probes: paths that the engine serves, its TLS and API key, its address, and the time
//! that a model takes to load.

use super::join::is_loopback;
use super::*;

/// The probes of a container.
pub(super) const PROBES: [&str; 3] = ["startupProbe", "livenessProbe", "readinessProbe"];

/// The field of a probe or the name of another request, and its `httpGet`.
pub(super) type Probe<'e> = (&'e str, &'e Json);

/// The kinds of probes that connect to a port; the first one is of HTTP.
pub(super) const KINDS: [&str; 3] = ["httpGet", "tcpSocket", "grpc"];

/// Returns the probes of a container of some kinds.
pub(super) fn probes_of<'e>(
    container: &'e Json,
    kinds: &[&str],
) -> impl Iterator<Item = Probe<'e>> {
    PROBES.into_iter().filter_map(|name| {
        let probe = container.get(name)?;
        Some((name, kinds.iter().find_map(|kind| probe.get(*kind))?))
    })
}

/// Checks that probes of all containers use ports that they declare, by their names.
pub(crate) fn named((_, template, container): ContainerContext<'_>, found: &mut Reporter<'_>) {
    for (probe, get) in probes_of(container, &KINDS).filter(|_| !template.completed) {
        let named = text(get, "port");
        let names: Vec<&str> = texts(container, "ports", "name").collect();
        // Another tool replaces variables in ports.
        let is_open = named.is_empty() || is_placeholder(named) || named.parse::<u32>().is_ok();
        if !is_open && !names.contains(&named) {
            let message =
                format!("{probe} uses port `{named}`, which the container does not declare");
            let path = format!(".{probe}");
            found.below(&path, message, suggest::hint(named, &names, "ports"));
        }
    }
}

/// Returns the flags of an engine with a server, if all are known.
pub(super) fn known<'e>(engine: &'e Engine<'_>) -> Option<&'e Flags> {
    engine.known_flags().filter(|_| engine.program.table().is_some() && !engine.is_headless())
}

/// Returns true if a probe goes to another container of the pods, which answers for the engine.
fn is_proxied(template: &Template<'_>, engine: &Engine<'_>, get: &Json) -> bool {
    number(get, "port").is_some_and(|port| template.ports_beside(engine.container).contains(&port))
}

/// Checks that the sidecar uses TLS to its engine if the engine has TLS.
pub(crate) fn proxied_tls(view: &View<'_>, found: &mut Found) {
    for (template, engine) in view.engines().filter(|(template, _)| !template.completed) {
        let (Some(sidecar), Some(flags)) = (&template.sidecar, known(engine)) else { continue };
        let by_flag = sidecar.flags.all("enable-tls");
        let by_flag = by_flag.iter().any(|value| value.split(',').any(|role| role == "decoder"));
        let uses = by_flag || sidecar.flags.is_on("decoder-use-tls");
        let unknown = sidecar.flags.has("enable-tls") && sidecar.flags.text("enable-tls").is_none();
        let serves = flags.has("ssl-certfile");
        if unknown || uses == serves {
            continue;
        }
        let (message, hint) = if serves {
            ("sidecar uses HTTP, but the engine serves HTTPS", "add `--enable-tls=decoder`")
        } else {
            ("sidecar uses HTTPS, but the engine serves HTTP", "remove `--enable-tls=decoder`")
        };
        found.push(template.owner, &sidecar.path, message, hint);
    }
}

/// Checks that the engine listens on an address that the kubelet and gateways can connect to.
pub(crate) fn address((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    // Of SGLang's nodes only the first has a server.
    let flags = known(engine).filter(|flags| !flags.is_unknown("node-rank"));
    let Some(flags) = flags else { return };
    // SGLang listens on localhost by default, vLLM on all addresses.
    let usual = if engine.program == Program::Sglang { "127.0.0.1" } else { "0.0.0.0" };
    let host = flags.text_or("host", usual);
    let (host, hint) = match host.filter(|host| is_loopback(host)) {
        _ if flags.has("uds") => ("a Unix socket", "remove `--uds`"),
        Some(host) => (host, "write `--host=0.0.0.0`"),
        None => return,
    };
    // Another container is in the same pod, but the kubelet is not.
    let mut probes = probes_of(engine.container, &KINDS[..1]);
    let is_probed = probes.any(|(_, get)| !is_proxied(template, engine, get));
    let has_others = template.containers().count() > 1;
    if is_probed || !has_others {
        let message =
            format!("the engine listens on {host}, which is not reachable from outside its pod");
        found.push(message, hint);
    }
}

/// Returns the billions of parameters in a model name: 32 for `Qwen3-32B`, 56 for `8x7B`.
pub(super) fn billions(model: &str) -> Option<f64> {
    let model = model.trim_end_matches('/').rsplit('/').next()?;
    let words = model.split(['-', '_', ':']);
    let size = |word: &str| -> Option<f64> {
        let digits = word.strip_suffix(['B', 'b'])?;
        match digits.split_once('x') {
            Some((count, each)) => Some(count.parse::<f64>().ok()? * each.parse::<f64>().ok()?),
            None => digits.parse().ok(),
        }
    };
    let name = model.to_ascii_lowercase();
    let name = Some(name).filter(|name| !name.contains("distill")).unwrap_or_default();
    let by_name = || HARDWARE.sizes.iter().find(|(known, _)| name.contains(known));
    words.filter_map(size).reduce(f64::max).or_else(|| by_name().map(|(_, size)| *size))
}

/// Returns the bits of a parameter: 16 unless a text marks quantized weights.
pub(super) fn bits(texts: &[&str]) -> f64 {
    let lower: Vec<String> = texts.iter().map(|text| text.to_ascii_lowercase()).collect();
    let has = |marks: &[String]| lower.iter().any(|text| marks.iter().any(|m| text.contains(m)));
    HARDWARE.bits.iter().find(|(marks, _)| has(marks)).map_or(16.0, |(_, bits)| *bits)
}

/// Gigabytes per second that a disk of the node delivers at most: an array of NVMe drives.
const VOLUME_GB_PER_SECOND: f64 = 5.0;
/// Gigabytes per second of a download by every new pod: a connection of 16 Gbit/s to the model hub.
const DOWNLOAD_GB_PER_SECOND: f64 = 2.0;

/// Returns true for a mount of a volume that outlives its pod.
pub(super) fn lasts(spec: &Json, mount: &Json) -> bool {
    let lost = ["emptyDir", "configMap", "secret", "downwardAPI", "projected"];
    // Claims of a workload's own templates are not among the pod's volumes.
    let volume = volume_of(spec, mount);
    volume.is_none_or(|volume| !lost.iter().any(|kind| volume.get(kind).is_some()))
}

/// Returns true if the model of an engine is one of the Hugging Face Hub, by its name.
pub(super) fn is_of_hub(engine: &Engine<'_>) -> bool {
    let is_name = |model: &str| model.split('/').count() == 2 && !model.starts_with(['/', '.']);
    engine.model.as_deref().is_some_and(is_name)
}

/// Returns true for an engine whose pods download its model: it has a name, and no volume outlives them.
pub(super) fn downloads(template: &Template<'_>, engine: &Engine<'_>) -> bool {
    let mut mounts = list(engine.container, "volumeMounts").iter();
    let has_lasting = mounts.any(|mount| lasts(template.spec, mount));
    is_of_hub(engine) && !has_lasting && !template.completed
}

/// Returns the seconds that an engine needs at least until it answers: starting Python and compiling
/// kernels, and reading its weights.
fn least_seconds(model: Option<&str>, bits: f64, speed: f64) -> u64 {
    let size = model.and_then(billions).filter(|size| size.is_finite()).unwrap_or(0.0);
    let gigabytes = size.clamp(0.0, 5_000.0) * bits / 8.0;
    // A float that is too large saturates.
    let seconds = (gigabytes / speed) as u64;
    seconds.saturating_add(60)
}

/// Checks that probes leave the engine time to load the model before it is restarted.
pub(crate) fn budget((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let loads = engine.program.table().is_some() && accelerators(engine.container).is_some();
    let budget = restarted_after(engine.container).filter(|_| loads && !engine.is_headless());
    let Some((budget, name)) = budget else { return };
    // Models on volumes have their name in what is served.
    let names = engine.names();
    let model = engine.model.as_deref().filter(|model| billions(model).is_some());
    let model = model.or_else(|| names.iter().copied().find(|name| billions(name).is_some()));
    let quantization = engine.flags.text("quantization");
    let is_slow = downloads(template, engine);
    let speed = if is_slow { DOWNLOAD_GB_PER_SECOND } else { VOLUME_GB_PER_SECOND };
    let bits = bits(&[model.unwrap_or_default(), quantization.unwrap_or_default()]);
    if budget >= least_seconds(model, bits, speed) {
        return;
    }

    let what = model.map_or("the model".to_owned(), |model| format!("`{model}`"));
    let message = format!("{name} restarts the engine after {budget} s, before {what} is loaded");
    let hint = "use a startupProbe with a larger `failureThreshold`, for example 60 × 10 s";
    found.below(&format!(".{name}"), message, hint).warning();
}

/// Checks that a Deployment waits for new pods as long as their probes do.
pub(crate) fn deadline((_, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    let said = template.manifest.spec().get("progressDeadlineSeconds").and_then(Json::as_u64);
    let budget = restarted_after(engine.container).filter(|(_, name)| *name == "startupProbe");
    if let Some((said, (budget, _))) = said.zip(budget).filter(|(said, (budget, _))| said < budget)
    {
        let message = format!("a rollout fails after {said} s, but pods may start for {budget} s");
        let finding =
            found.push(message, format!("write `progressDeadlineSeconds: {}`", budget + 60));
        finding.path = ".spec.progressDeadlineSeconds".to_owned();
    }
}

/// Checks that the engine answers probes: path, TLS and API key.
pub(crate) fn answered((view, template, engine): Context<'_>, found: &mut Reporter<'_>) {
    for probe in probes_of(engine.container, &KINDS[..1]).filter(|_| known(engine).is_some()) {
        answers((view, template, engine), probe, found.inside(&format!(".{}", probe.0)));
    }
}

/// Checks that an engine answers a request with this name.
pub(super) fn answers(
    (_, template, engine): Context<'_>,
    (name, get): Probe<'_>,
    mut found: Reporter<'_>,
) {
    let flags = &engine.flags;
    let path = text(get, "path").split('?').next().unwrap_or_default();
    let path = Some(path.trim_end_matches('/')).filter(|path| !path.is_empty()).unwrap_or("/");
    let is_sglang = engine.program == Program::Sglang;
    let table = if is_sglang { &*SGLANG } else { &*VLLM };
    let adds_paths = ["middleware", "root-path", "tool-server", "grpc"];
    // The supervisor of ranks serves other paths.
    let is_supervised = engine.has_port_for_each_rank() && path == "/readyz";
    let has_others = is_supervised || adds_paths.iter().any(|flag| flags.has(flag));
    if !has_others && !is_placeholder(path) && !table.paths.has(path, None) {
        let right = if name == "readinessProbe" { "/v1/models" } else { "/health" };
        let message = format!("{name} uses path `{path}`, which {} does not serve", table.name);
        found.push(message, format!("write `path: {right}`"));
        return;
    }

    // vLLM's middleware guards paths below /v1, SGLang's all but health and metrics.
    let is_below = |start: &str| path.starts_with(start);
    let needs_key =
        is_sglang && !is_below("/health") && !is_below("/metrics") || !is_sglang && is_below("/v1");
    let is_authorization = |one: &Json| text(one, "name").eq_ignore_ascii_case("authorization");
    let has_header = list(get, "httpHeaders").iter().any(is_authorization);
    // An empty key is none, and one of an optional Secret may be missing.
    let is_key = |one: &Json| {
        let is_optional = is_true(one, "/valueFrom/secretKeyRef/optional");
        let is_empty = one.get("valueFrom").is_none() && text(one, "value").is_empty();
        text(one, "name") == "VLLM_API_KEY" && !is_optional && !is_empty
    };
    let by_variable = !is_sglang && list(engine.container, "env").iter().any(is_key);
    let by_flag = flags.has("api-key").then_some("`--api-key`");
    let key = by_flag.or(by_variable.then_some("VLLM_API_KEY"));
    if let Some(key) = key.filter(|_| needs_key && !has_header) {
        let message = format!("{name} gets 401 from `{path}`, because {key} is set");
        found.push(message, "use `/health`, which needs no key");
    }

    let scheme = text(get, "scheme");
    // Presets of KServe add TLS by a global setting.
    if template.completed || is_placeholder(scheme) || is_proxied(template, engine, get) {
        return;
    }
    let without = "remove `scheme`, or add `--ssl-certfile` and `--ssl-keyfile`";
    let (asked, served, hint) =
        match (flags.has("ssl-certfile"), scheme.eq_ignore_ascii_case("https")) {
            (true, false) => ("HTTP", "HTTPS", "write `scheme: HTTPS`"),
            (false, true) => ("HTTPS", "HTTP", without),
            _ => return,
        };
    found.push(format!("{name} uses {asked}, but the engine serves {served}"), hint);
}

/// Returns the seconds that probes leave an engine until they restart it, and the probe that does.
fn restarted_after(container: &Json) -> Option<(u64, &'static str)> {
    // Only the liveness probe restarts a container without a startup probe.
    let of_name = |name| Some((name, container.get(name).filter(|probe| probe.is_object())?));
    let (name, probe) = ["startupProbe", "livenessProbe"].into_iter().find_map(of_name)?;
    let number = |key: &str, usual: u64| probe.get(key).map_or(Some(usual), Json::as_u64);
    let delay = number("initialDelaySeconds", 0)?;
    let period = number("periodSeconds", 10)?.max(1);
    let failures = number("failureThreshold", 3)?.max(1);
    Some((delay.saturating_add(period.saturating_mul(failures)), name))
}

#[cfg(test)]
mod tests {
    use super::{DOWNLOAD_GB_PER_SECOND, VOLUME_GB_PER_SECOND, billions, bits, least_seconds};

    #[test]
    fn sizes_in_model_names() {
        assert_eq!(billions("Qwen/Qwen3-32B"), Some(32.0));
        assert_eq!(billions("mistralai/Mixtral-8x7B-Instruct"), Some(56.0));
        assert_eq!(billions("Qwen/Qwen3-235B-A22B"), Some(235.0));
        assert_eq!(billions("meta-llama/Llama-3.2-3B-Instruct"), Some(3.0));
        assert_eq!(billions("deepseek-ai/DeepSeek-V4-Pro"), None);
        assert_eq!(bits(&["Qwen/Qwen3-32B", ""]), 16.0);
        assert_eq!(bits(&["Qwen/Qwen3-32B-FP8", ""]), 8.0);
        assert_eq!(bits(&["Qwen/Qwen3-32B", "awq_marlin"]), 4.0);
        assert_eq!(least_seconds(None, 16.0, VOLUME_GB_PER_SECOND), 60);
        assert_eq!(least_seconds(Some("a/b-100B"), 16.0, VOLUME_GB_PER_SECOND), 100);
        assert_eq!(least_seconds(Some("a/b-100B"), 16.0, DOWNLOAD_GB_PER_SECOND), 160);
        assert_eq!(least_seconds(Some("a/b-100B"), 4.0, VOLUME_GB_PER_SECOND), 70);
        assert_eq!(least_seconds(Some("a/b-1e300B"), 16.0, VOLUME_GB_PER_SECOND), 2_060);
    }
}

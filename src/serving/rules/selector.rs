//! Invariants of selectors and named ports: workloads, Services, monitors, budgets and policies.

use super::set::is_of_unknown_kind;
use super::transfer::bootstrap_port;
use super::*;
use crate::view::discovery::is_completed;

/// The labels of pods, or of other objects.
pub(super) type Known<'v> = BTreeMap<&'v str, &'v str>;

/// Objects that select pods, or Services: their kind, the JSON pointer of the selector, the key of
/// `[[serving]]`, and the code if they select nothing.
const SELECTORS: &[(&str, &str, &str, Code)] = &[
    ("InferencePool", "/spec/selector", "name", Code::ServingPoolEmpty),
    ("NetworkPolicy", "/spec/podSelector", "network-policy", Code::ServingSelector),
    ("PodDisruptionBudget", "/spec/selector", "disruption-budget", Code::ServingSelector),
    ("PodMonitor", "/spec/selector", "monitoring", Code::ServingSelector),
    ("PodMonitoring", "/spec/selector", "monitoring", Code::ServingSelector),
    ("Service", "/spec/selector", "name", Code::ServingSelector),
    ("ServiceMonitor", "/spec/selector", "monitoring", Code::ServingSelector),
];

/// Labels that several components of an application share.
const SHARED_LABELS: [&str; 4] = ["instance", "managed-by", "part-of", "version"];

/// A requirement of a selector for a label.
pub(super) struct Requirement<'v> {
    key: &'v str,
    /// The values, one of which the label must have; any without one.
    values: Vec<&'v str>,
    /// True if the label must not have them.
    excludes: bool,
}

impl Requirement<'_> {
    pub(super) fn fits(&self, labels: &Known<'_>) -> bool {
        let has = |value: &&str| self.values.is_empty() || self.values.contains(value);
        labels.get(self.key).is_some_and(has) != self.excludes
    }

    /// Returns true if it may fit labels of which only some are known.
    pub(super) fn may_fit(&self, known: &Known<'_>) -> bool {
        !known.contains_key(self.key) || self.fits(known)
    }

    /// Returns true for a label that several components of an application share.
    fn is_shared(&self) -> bool {
        SHARED_LABELS.contains(&self.key.rsplit('/').next().unwrap_or_default())
    }
}

/// Returns the requirements of a label selector, or of a map of labels; empty if it selects all, or is
/// not filled in yet.
pub(super) fn requirements(selector: Option<&Json>) -> Vec<Requirement<'_>> {
    let Some(selector) = selector else { return Vec::new() };
    let expressions = list(selector, "matchExpressions");
    let is_map = expressions.is_empty() && selector.get("matchLabels").is_none();
    let labels = selector.pointer(if is_map { "" } else { "/matchLabels" });
    let labels = labels.and_then(Json::as_object).into_iter().flatten();
    // The API server refuses values that are no strings.
    // A `matchLabels` of a LabelSelector and the plain map of a Service mean the same.
    let labels = labels.map(|(key, value)| Requirement {
        key,
        values: vec![value.as_str().unwrap_or_default()],
        excludes: false,
    });
    let expressions = expressions.iter().map(|expression| Requirement {
        key: text(expression, "key"),
        values: strings(expression, "values").collect(),
        excludes: matches!(text(expression, "operator"), "NotIn" | "DoesNotExist"),
    });
    let all: Vec<Requirement<'_>> = labels.chain(expressions).collect();
    let is_open = |one: &Requirement<'_>| one.values.iter().any(|value| is_placeholder(value));
    if all.iter().any(is_open) { Vec::new() } else { all }
}

/// Returns the labels that a selector requires with one value.
fn pairs<'v>(wanted: &[Requirement<'v>]) -> Vec<(&'v str, &'v str)> {
    let one = |requirement: &Requirement<'v>| match requirement.values[..] {
        [value] if !requirement.excludes => Some((requirement.key, value)),
        _ => None,
    };
    wanted.iter().filter_map(one).collect()
}

/// Pods, or a Service: what a selector selects.
pub(super) struct Candidate<'v> {
    labels: Known<'v>,
    /// The object with the labels.
    pub(super) owner: &'v Manifest,
    /// The template, unless it is a picker's.
    pub(super) template: Option<&'v Template<'v>>,
    /// `spec` of the pods, or of the Service.
    spec: &'v Json,
}

impl Candidate<'_> {
    /// Returns true if it runs an engine or a picker, or is a Service.
    fn is_ours(&self) -> bool {
        self.template.is_none_or(|template| template.engine.is_some())
    }

    fn port_names(&self) -> Vec<&str> {
        let of_containers = ["containers", "initContainers"];
        let holders = of_containers.iter().flat_map(|key| list(self.spec, key)).chain([self.spec]);
        let ports = holders.flat_map(|holder| list(holder, "ports"));
        ports.map(|port| text(port, "name")).filter(|name| !name.is_empty()).collect()
    }

    /// Returns true if a Service or monitor uses one of its ports; `None` for other objects.
    fn has_port_of(&self, object: &Json) -> Option<bool> {
        const KEYS: [&str; 3] = ["ports", "podMetricsEndpoints", "endpoints"];
        let used: Vec<&Json> = KEYS.iter().flat_map(|key| list(object, key)).collect();
        let mut open: Vec<u32> = list(self.spec, "containers").iter().flat_map(declared).collect();
        open.extend(self.template.and_then(Template::ports).unwrap_or_default());
        let names = self.port_names();
        let ports = ["targetPort", "portNumber", "port"];
        let is_open = |one: &&Json| match ports.iter().find_map(|key| one.get(key)) {
            Some(Json::String(name)) => names.contains(&name.as_str()),
            Some(number) => open.iter().any(|port| *number == *port),
            None => false,
        };
        (!used.is_empty()).then(|| used.iter().any(is_open))
    }

    /// Returns the label that a selector has to change to match: all others match, and its key or value
    /// has a typing error. With `is_meant`, a value with another ending is wrong as well.
    fn mistyped(&self, wanted: &[Requirement<'_>], is_meant: bool) -> Option<String> {
        let mut wrong = wanted.iter().filter(|requirement| !requirement.fits(&self.labels));
        let (Some(wrong), None) = (wrong.next(), wrong.next()) else { return None };
        let [(key, value)] = pairs(std::slice::from_ref(wrong))[..] else { return None };
        match self.labels.get(key) {
            Some(known) => {
                let extended = value.starts_with(known) || known.starts_with(value);
                let similar = is_typo(value, known) || (is_meant && extended);
                (similar && !is_placeholder(known)).then(|| format!("{key}: {known}"))
            }
            None => {
                // Labels of the same name have other domains than API groups.
                let same_name = |other: &str| {
                    let both = key.split_once('/').zip(other.split_once('/'));
                    both.is_some_and(|((_, one), (_, other))| one == other)
                };
                let is_near = |(other, known): &(&&str, &&str)| {
                    **known == value && (is_typo(key, other) || same_name(other))
                };
                self.labels.iter().find(is_near).map(|(key, known)| format!("{key}: {known}"))
            }
        }
    }

    /// Returns true if an object that selects nothing is for this: it has its name or a label of it, and
    /// uses its ports.
    fn is_meant(&self, object: &Manifest, wanted: &[Requirement<'_>]) -> bool {
        let uses = self.has_port_of(object.spec());
        // Controllers of other kinds add labels.
        if uses == Some(false) || is_completed(self.owner) {
            return false;
        }
        let (name, own) = (self.owner.name(), object.name());
        // A budget or policy of the same application may be for a component that is not here.
        let is_named = own == name
            || own.strip_prefix(name).is_some_and(|rest| {
                let ends =
                    ["svc", "service", "pdb", "budget", "monitor", "metrics", "policy", "netpol"];
                rest.starts_with('-') && ends.iter().any(|end| rest.ends_with(end))
            });
        let is_value = pairs(wanted).iter().any(|(_, value)| *value == name);
        let shares = |requirement: &Requirement<'_>| {
            requirement.fits(&self.labels) && !requirement.excludes && !requirement.is_shared()
        };
        let lacks = |requirement: &Requirement<'_>| {
            !requirement.fits(&self.labels) && !self.labels.contains_key(requirement.key)
        };
        let lacks_one = wanted.iter().filter(|one| !one.fits(&self.labels)).count() == 1
            && wanted.iter().any(shares)
            && wanted.iter().any(lacks);
        is_named || (uses == Some(true) && (is_value || lacks_one || self.is_labelled_as(object)))
    }

    /// Returns true if an object has all labels of these pods, one of them not shared. Those of engines may
    /// be labels of a whole release.
    fn is_labelled_as(&self, object: &Manifest) -> bool {
        let own: Known<'_> = labels_at(&object.json, "/metadata/labels").collect();
        let is_shared = |key: &&str| SHARED_LABELS.iter().any(|shared| key.ends_with(shared));
        self.template.is_some_and(|template| template.engine.is_none())
            && self.labels.iter().all(|(key, value)| own.get(key) == Some(value))
            && !self.labels.keys().all(is_shared)
    }
}

/// Returns what a selector of an object of a kind selects: pods or Services in a namespace, or in all if it is
/// empty.
pub(super) fn selected<'v>(
    view: &'v View<'_>,
    kind: &str,
    wanted: &[Requirement<'v>],
    namespace: &str,
) -> Vec<Candidate<'v>> {
    let labels = || pairs(wanted);
    let of_service = |owner: &'v Manifest| {
        let labels = labels_at(&owner.json, "/metadata/labels").collect();
        Candidate { labels, owner, template: None, spec: owner.spec() }
    };
    let of_pods = |pods: &'v Template<'v>, template| {
        let Template { manifest: owner, spec, .. } = pods;
        Candidate { labels: pods.labels.clone(), owner, template, spec }
    };

    let mut all: Vec<Candidate<'_>> = if kind == "ServiceMonitor" {
        let services = view.index.services.find(labels(), namespace).into_iter();
        services.map(|number| of_service(&view.manifests[number])).collect()
    } else {
        let pickers = view.index.pickers.find(labels(), namespace).into_iter();
        let pickers = pickers.map(|number| of_pods(&view.pickers[number].pods, None));
        let templates = view.labelled(labels(), namespace).into_iter();
        templates.map(|template| of_pods(template, Some(template))).chain(pickers).collect()
    };
    all.retain(|candidate| wanted.iter().all(|one| one.fits(&candidate.labels)));
    all
}

/// Returns what an object selects; nothing if its selector is not filled in.
fn selected_by<'v>(view: &'v View<'_>, object: &'v Manifest) -> Vec<Candidate<'v>> {
    let wanted = requirements(object.spec().get("selector"));
    let all = selected(view, object.kind(), &wanted, near(object));
    if wanted.is_empty() { Vec::new() } else { all }
}

/// Returns true if a selector is for pods in the manifests, near an object.
pub(super) fn is_for_pods(view: &View<'_>, wanted: &[Requirement<'_>], near: &Manifest) -> bool {
    !wanted.iter().all(Requirement::is_shared)
        && !selected(view, near.kind(), wanted, near.namespace()).is_empty()
}

/// Label of a namespace with its name, which Kubernetes sets.
const NAMESPACE: &str = "kubernetes.io/metadata.name";

/// Returns true if a selector may select a namespace. One in the manifests has its labels there; of others
/// only the name is known, if it is not empty.
pub(super) fn may_select(view: &View<'_>, selector: Option<&Json>, namespace: &str) -> bool {
    if namespace.is_empty() || is_placeholder(namespace) {
        return true;
    }
    let here = view.all_named("Namespace", namespace, "").next();
    let labels = here.into_iter().flat_map(|(_, one)| labels_at(&one.json, "/metadata/labels"));
    let labels: Known<'_> = labels.chain([(NAMESPACE, namespace)]).collect();
    // Controllers add labels with a domain of their own.
    requirements(selector).iter().all(|one| match here {
        Some(_) if !one.key.contains('/') || one.key == NAMESPACE => one.fits(&labels),
        _ => one.may_fit(&labels),
    })
}

/// Returns the monitors with the pods or Services that they select.
pub(super) fn monitored<'v>(
    view: &'v View<'_>,
) -> impl Iterator<Item = (&'v Manifest, Candidate<'v>)> {
    let kinds = ["PodMonitor", "PodMonitoring", "ServiceMonitor"];
    kinds.into_iter().flat_map(|kind| view.of_kind(kind)).flat_map(|(_, monitor)| {
        selected_by(view, monitor).into_iter().map(move |one| (monitor, one))
    })
}

/// Returns the port of a container that the endpoint of a monitor reads, which selects its pods or a Service.
pub(super) fn read_port(
    service: Option<&Manifest>,
    endpoint: &Json,
    container: &Json,
) -> Option<u32> {
    let port = ["port", "portNumber", "targetPort"].iter().find_map(|key| endpoint.get(key));
    let Some(service) = service else { return port_number(container, port?) };
    // ServiceMonitors name the port of the Service.
    let mut ports = list(service.spec(), "ports").iter();
    target_port(container, ports.find(|own| own.get("name") == port)?)
}

/// Returns the namespace that an object selects from; empty for several.
fn near(object: &Manifest) -> &str {
    let Some(selector) = object.spec().get("namespaceSelector") else { return object.namespace() };
    match list(selector, "matchNames") {
        [one] => one.as_str().filter(|one| !is_placeholder(one)).unwrap_or_default(),
        _ => "",
    }
}

/// Reports a Service that has the name of a workload, but no selector, where nothing sets its endpoints.
fn without_selector(view: &View<'_>, owner: usize, service: &Manifest, found: &mut Found) {
    let is_named = |one: &Candidate<'_>| one.owner.name() == service.name();
    let of_workload = || selected(view, "Service", &[], service.namespace()).iter().any(is_named);
    let has_endpoints = text(service.spec(), "type") == "ExternalName"
        || ["Endpoints", "EndpointSlice"].iter().any(|kind| view.of_kind(kind).next().is_some());
    if service.kind() == "Service" && !has_endpoints && of_workload() {
        let message = format!("{service} has no selector");
        found.push(owner, ".spec", message, "select the pods by their labels");
    }
}

/// Checks that selectors select something. Pods of other applications are not in the manifests, so there
/// must be pods that an object is meant for: they have nearly its labels, or its name and ports.
pub(crate) fn nothing(view: &View<'_>, found: &mut Found) {
    let in_pools: BTreeSet<*const ()> =
        view.pool_pods().map(|(.., template)| std::ptr::from_ref(template).cast()).collect();
    for (kind, pointer, field, code) in SELECTORS {
        for (owner, object) in view.of_kind(kind) {
            let wanted = requirements(object.json.pointer(pointer));
            let near = near(object);
            if wanted.is_empty() {
                without_selector(view, owner, object, found);
                continue;
            }
            if !selected(view, kind, &wanted, near).is_empty() {
                continue;
            }
            let mut all = selected(view, kind, &[], near);
            all.retain(|candidate| candidate.is_ours() || candidate.is_labelled_as(object));
            let spec = object.spec();
            let of_services = *kind == "ServiceMonitor";
            let (what, plural) =
                if of_services { ("Service", "Services") } else { ("pods", "pods") };

            let label = all.iter().find_map(|candidate| {
                candidate.mistyped(&wanted, candidate.has_port_of(spec) == Some(true))
            });
            // Controllers add labels with their own domain.
            let domain = |key: &str| key.split_once('/').map(|(domain, _)| domain.to_owned());
            let is_known = |one: &Requirement<'_>| {
                let own = domain(one.key).filter(|domain| domain != "app.kubernetes.io");
                let mut keys = all.iter().flat_map(|candidate| candidate.labels.keys());
                own.is_none() || keys.any(|key| domain(key) == own)
            };
            let meant = all.iter().filter(|_| wanted.iter().all(is_known));
            let mut meant = meant.filter(|candidate| match candidate.template {
                Some(template) if *kind == "InferencePool" => {
                    !in_pools.contains(&std::ptr::from_ref(template).cast())
                }
                _ => candidate.is_meant(object, &wanted),
            });
            // Another object of the kind may select the pods of its namespace.
            let is_free = |candidate: &Candidate<'_>| {
                let mut others = view.of_kind(kind).filter(|(other, _)| *other != owner);
                candidate.is_ours()
                    && !others.any(|(_, other)| other.may_share_namespace(candidate.owner))
            };
            let elsewhere = selected(view, kind, &wanted, "").into_iter().find(is_free);
            let pods = of_services.then(|| selected(view, "Service", &wanted, near));
            let pods = pods.unwrap_or_default();
            // KServe gives the Services that it creates the labels of the pods.
            if pods.iter().any(|candidate| is_completed(candidate.owner)) {
                continue;
            }
            let (hint, is_certain) = match (label, elsewhere, meant.next()) {
                _ if !pods.is_empty() => {
                    let hint = "select by labels of the Service: these are labels of its pods";
                    (hint.to_owned(), true)
                }
                (Some(label), ..) => (format!("select by `{label}`, which the {what} have"), true),
                (None, Some(other), _) => {
                    let namespace = other.owner.namespace();
                    (format!("the {what} with these labels are in namespace `{namespace}`"), true)
                }
                (None, None, Some(candidate)) => {
                    let labels = candidate.labels.iter();
                    let labels: Vec<String> =
                        labels.map(|(key, value)| format!("`{key}: {value}`")).collect();
                    let whose = candidate.owner;
                    let hint = match labels.is_empty() {
                        true => format!("add these labels to {whose}"),
                        false => format!("select by labels of {whose}: {}", labels.join(", ")),
                    };
                    let reads_all = !view.manifests.iter().any(|other| {
                        is_of_unknown_kind(other) && other.may_share_namespace(object)
                    });
                    (hint, reads_all)
                }
                (None, None, None) => continue,
            };
            let mut found = found.at(owner, pointer.replace('/', ".")).field(field);
            let finding = found.push(format!("{object} selects no {plural}"), hint).code(*code);
            // A kind that is not read may create the pods.
            finding.severity = (!is_certain).then_some(Severity::Note);
        }
    }
}

/// Checks that pods which must be near others with labels that they have, too, have a pod with these values.
pub(crate) fn affinity(view: &View<'_>, found: &mut Found) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    for pods in view.templates.iter().filter(|pods| !pods.completed) {
        let near = pods.spec.pointer("/affinity/podAffinity").unwrap_or(&Json::Null);
        let path = format!("{}.affinity.podAffinity", pods.spec_path);
        let own_namespace = |(term, _): &Located<'_>| {
            ["namespaces", "namespaceSelector"].iter().all(|key| term.get(key).is_none())
        };
        for (term, path) in items(near, REQUIRED, &path).filter(own_namespace) {
            let wanted = requirements(term.get("labelSelector"));
            let is_own = wanted.iter().all(|one| pods.labels.contains_key(one.key));
            let fits = wanted.iter().all(|one| one.fits(&pods.labels))
                || !selected(view, "Service", &wanted, pods.manifest.namespace()).is_empty();
            if is_own && !fits {
                let message = format!("{pods} must be near pods of which there are none");
                found.push(pods.owner, path, message, "select labels of the pods themselves");
            }
        }
    }
}

/// Checks that Services and monitors use ports of what they select.
pub(crate) fn ports(view: &View<'_>, found: &mut Found) {
    let of_pods = &["portNumber", "targetPort", "port"][..];
    for (kind, key, keys, field, has) in [
        ("Service", "ports", &of_pods[1..], "name", "pod declares"),
        ("PodMonitor", "podMetricsEndpoints", of_pods, "monitoring", "pod declares"),
        ("PodMonitoring", "endpoints", of_pods, "autoscaling.metrics", "pod declares"),
        ("ServiceMonitor", "endpoints", &of_pods[2..], "monitoring", "Service has"),
    ] {
        for (owner, object) in view.of_kind(kind) {
            let selected = selected_by(view, object);
            // Controllers add containers and ports to completed pods.
            let is_completed = |one: &Candidate<'_>| one.template.is_some_and(|t| t.completed);
            if selected.is_empty() || selected.iter().any(is_completed) {
                continue;
            }
            for (port, path) in items(object.spec(), key, ".spec") {
                let inner = keys.iter().find(|key| port.get(**key).is_some()).unwrap_or(&keys[0]);
                let mut found = found.at(owner, format!("{path}.{inner}")).field(field);
                if let Some(Json::String(name)) = port.get(*inner)
                    && name.parse::<u32>().is_err()
                {
                    let names: Vec<&str> =
                        selected.iter().flat_map(Candidate::port_names).collect();
                    if !names.contains(&name.as_str()) && !is_placeholder(name) {
                        let message =
                            format!("{object} uses port `{name}`, which no selected {has}");
                        found.push(message, suggest::hint(name, &names, "ports"));
                    }
                } else if kind != "ServiceMonitor" {
                    let open = open_ports(&selected);
                    let (Some(number), Some(open)) = (number(port, inner), open) else { continue };
                    if !open.contains(&number) {
                        let message = format!(
                            "{object} targets port {number}, but the pods listen on {}",
                            ranges(&open)
                        );
                        let hint = format!("set `{}` to a port of the engine", keys[0]);
                        // Containers may open ports that nothing names.
                        found.push(message, hint).lower_if(kind != "Service", Severity::Warning);
                    }
                }
            }
        }
    }
}

/// Ports of Ray's head: its store, its dashboard and its clients.
const RAY_PORTS: [u32; 3] = [6_379, 8_265, 10_001];

/// Returns the ports of pods, if all are engines with known ports.
fn open_ports(selected: &[Candidate<'_>]) -> Option<Vec<u32>> {
    let mut open = Vec::new();
    for Candidate { template, spec, .. } in selected {
        // A picker or a foreign pod may listen on anything.
        let template = (*template)?;
        let engine = template.engine.as_ref()?;
        if engine.is_headless() {
            continue;
        }
        open.extend(template.ports().filter(|_| engine.flags.are_read())?);
        // A process may open ports that only its declaration names, such as metrics or KV events.
        open.extend(list(spec, "containers").iter().flat_map(declared));
        if starts_ray(engine.container) {
            open.extend(RAY_PORTS);
        }
        open.extend(bootstrap_port(engine).filter(|_| engine.program == Program::Sglang));
        open.extend(super::engine::supervisor(engine));
    }
    (!open.is_empty()).then_some(open)
}

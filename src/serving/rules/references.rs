//! Invariants of references to objects in the manifests, from pods and from other objects.

use super::addresses::is_closed;
use super::*;
use crate::ir::{DEFAULT_ACCOUNT, PodReference, pod_references, steps, value_at};
use crate::view::config_map::place_of;

/// A reference of an object, or of its pods, to another one.
struct Use<'v> {
    owner: usize,
    manifest: &'v Manifest,
    /// The pods with it; `None` if it is the object's own.
    pods: Option<&'v Template<'v>>,
    reference: PodReference<'v>,
}

impl<'v> Use<'v> {
    /// Returns `spec` of the pods.
    fn spec(&self) -> &'v Json {
        self.pods.map_or(&Json::Null, |pods| pods.spec)
    }
}

/// Returns the references of objects of a kind, or of the spec of `Pod`s, in the table of links.
fn linked<'v>(kind: &str, json: &'v Json) -> Vec<PodReference<'v>> {
    let of_kind = NAMES.links.iter().filter(|link| link[0] == kind);
    let all = of_kind.flat_map(|[_, path, name, to, key]| {
        config::at(json, path).into_iter().filter_map(move |(holder, path)| {
            // What is in another namespace, or of another kind, is not looked up.
            let path = if path.is_empty() { format!(".{name}") } else { path };
            let is_own = ["", *to].contains(&text(holder, "kind"));
            let value = |key: &'static str| key.strip_prefix('=').unwrap_or(text(holder, key));
            let name = match *to {
                "PersistentVolumeClaim" => value(name).strip_prefix("pvc://")?.split('/').next()?,
                _ => value(name),
            };
            let is_named = !matches!(name, "" | DEFAULT_ACCOUNT) && is_own;
            let keys = Some(value(key)).filter(|key| !key.is_empty()).into_iter().collect();
            let reference = PodReference { kind: to, name, keys, path, ..PodReference::default() };
            Some(reference).filter(|_| is_named && text(holder, "namespace").is_empty())
        })
    });
    all.collect()
}

/// Returns all references of pods, and of other objects.
fn uses<'v>(view: &'v View<'_>) -> Vec<Use<'v>> {
    let of_pods = pods(view).flat_map(|pods| {
        let all = pod_references(pods.spec).into_iter().chain(linked("Pod", pods.spec));
        let (owner, manifest) = (pods.owner, pods.manifest);
        all.map(move |reference| Use { owner, manifest, pods: Some(pods), reference })
    });
    let objects = view.manifests.iter().enumerate();
    let of_objects = objects.flat_map(|(owner, manifest)| {
        let all = linked(manifest.kind(), &manifest.json).into_iter();
        all.map(move |reference| Use { owner, manifest, pods: None, reference })
    });
    of_pods.chain(of_objects).collect()
}

/// Returns the keys of a ConfigMap or Secret, or of the one that a controller makes; none if they are not
/// known.
fn keys(object: &Manifest) -> Vec<&str> {
    let json = &object.json;
    if ["/spec/dataFrom", "/spec/target/template"].iter().any(|at| json.pointer(at).is_some()) {
        return Vec::new();
    }
    let maps =
        ["/data", "/stringData", "/binaryData", "/spec/encryptedData", "/spec/template/data"];
    let maps = maps.iter().filter_map(|at| json.pointer(at)?.as_object());
    let of_external = texts(object.spec(), "data", "secretKey");
    maps.flat_map(|map| map.keys().map(String::as_str)).chain(of_external).collect()
}

/// Returns the keys that a reference needs: those that it names, or for a volume the files that
/// arguments of its containers name.
fn needed_keys(spec: &Json, reference: &PodReference<'_>) -> Vec<String> {
    let of_volume = reference.path.strip_prefix(".volumes[").and_then(|rest| rest.split_once(']'));
    // Without `items` a volume has all keys, and only the arguments tell which one is needed.
    let volume = of_volume
        .filter(|_| reference.keys.is_empty())
        .and_then(|(index, _)| list(spec, "volumes").get(index.parse::<usize>().ok()?));
    let Some(volume) = volume else { return reference.keys.iter().map(|k| (*k).into()).collect() };

    let mut keys = Vec::new();
    for (container, _) in all_containers(spec, "") {
        keys.extend(words(container).iter().filter_map(|word| {
            let value = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
            let (name, file) = place_of(container, value)?;
            let is_file = !file.is_empty() && !file.contains(['/', ' ']);
            (is_file && name == text(volume, "name")).then_some(file)
        }));
    }
    keys
}

/// Returns true if one of two names is the other one without one of its words.
pub(super) fn lacks_word(one: &str, other: &str) -> bool {
    let [mut one, mut other] = [one, other].map(|name| name.split('-').collect::<Vec<&str>>());
    if one.len() > other.len() {
        std::mem::swap(&mut one, &mut other);
    }
    let start = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    one.len() > 1 && one.len() + 1 == other.len() && one[start..] == other[start + 1..]
}

/// Returns true if two names are the same except for a word that begins the other one: `render` and `renderer`.
/// With digits they are other things on purpose.
pub(super) fn is_cut(one: &str, other: &str) -> bool {
    let begins = |short: &str, long: &str| {
        let rest = long.strip_prefix(short).filter(|_| short.len() > 3);
        rest.is_some_and(|rest| rest.chars().all(char::is_alphabetic))
    };
    let words = || one.split('-').zip(other.split('-')).filter(|(one, other)| one != other);
    one.split('-').count() == other.split('-').count()
        && words().count() == 1
        && words().all(|(one, other)| begins(one, other) || begins(other, one))
}

/// Flags of engines with the path of a file.
const FILE_FLAGS: [&str; 2] = ["chat-template", "config"];

/// Returns true for the name of an object that kustomize generated: its end is a hash of the content, in
/// an alphabet without vowels and the digits 0, 1 and 3. kustomize writes such names into all references
/// of a whole kustomization.
fn is_generated(name: &str) -> bool {
    const LENGTH: usize = 10;
    name.rsplit_once('-').is_some_and(|(_, hash)| {
        hash.len() == LENGTH && hash.chars().all(|c| "2456789bcdfghkmt".contains(c))
    })
}

/// Reports an object that is not in the manifests, if one that nothing uses, or an account of other pods, has
/// nearly its name or what the pod needs of it; and a ConfigMap with the configuration of a picker whose
/// other objects are in the manifests. Returns the finding if it did.
fn missing<'f>(
    view: &View<'_>,
    one: &Use<'_>,
    (unused, made): (&[&Manifest], &[&str]),
    found: &'f mut Reporter<'_>,
) -> Option<&'f mut Finding> {
    let Use { owner, manifest, reference, .. } = one;
    let PodReference { kind, name, .. } = reference;
    let missing = format!("{manifest} references {kind}/{name}, which is not in the manifests");
    // Files are for one pod; other objects may be shared.
    let has_files = ["ConfigMap", "Secret"].contains(kind);
    let shared = view.of_kind(kind).map(|(_, one)| one).filter(|one| {
        !has_files && *kind != "PersistentVolumeClaim" && one.may_share_namespace(manifest)
    });
    let known = unused.iter().copied().chain(shared).map(Manifest::name);
    let typo = known.chain(made.iter().copied()).find(|near| is_typo(name, near));
    let mut all = view.of_kind(kind).map(|(_, one)| one.name());
    let is_near = |near: &&str| lacks_word(name, near) || is_cut(name, near);
    let near = typo.or_else(|| all.find(|near| !has_files && is_near(near)));
    if let Some(near) = near {
        let message = format!("{missing}, but {kind}/{near} is");
        let finding = found.push(message, format!("write `{near}`"));
        return Some(finding.lower_if(typo.is_none(), Severity::Warning));
    }
    // Routes and policies have Services by default.
    let both = ["InferencePool", "Service"];
    let mut others = both.iter().filter(|other| both.contains(kind) && *other != kind);
    if let Some((_, other)) = others.find_map(|other| view.named(other, name, manifest)) {
        let hint = format!("write `group: {}` and `kind: {}`", other.group(), other.kind());
        return Some(found.push(format!("{missing}, but {other} is"), hint));
    }
    // Without keys, the only one that nothing uses is meant. Most accounts are for another program, such
    // as a Gateway, and some are made by Terraform.
    if let ([other], false) = (unused, has_files || both.contains(kind)) {
        let message = format!("{missing}, and nothing uses {other}");
        let finding = found.push(message, format!("write `{}`", other.name()));
        finding.lower_if(*kind != "PersistentVolumeClaim", Severity::Warning);
        return Some(finding.lower_if(*kind == "ServiceAccount", Severity::Note));
    }

    let needed = needed_keys(one.spec(), reference);
    let key = needed.first()?;

    let has_all = |object: &&&Manifest| {
        let known = keys(object);
        needed.iter().all(|key| known.contains(&key.as_str()))
    };
    let other = unused.iter().find(has_all).map(|object| object.name());
    if let Some(other) = other.filter(|name| is_generated(name)) {
        let message = format!(
            "incomplete: {missing}, and nothing uses {kind}/{other}, which kustomize generated; \
             errors of the file are left out"
        );
        let finding = found.push(message, "render an overlay with `kubectl kustomize`").note();
        finding.code(Code::ServingUnread).is_incomplete = true;
        return Some(finding);
    }
    if let Some(other) = other {
        let message =
            format!("{missing}, but {kind}/{other} has its key `{key}`, and nothing uses it");
        return Some(found.push(message, format!("write `{other}`")));
    }

    // A picker whose account and rights are in the manifests is there with all of its objects.
    let account = text(one.spec(), "serviceAccountName");
    let is_named = |kind: &str| view.named(kind, account, manifest).is_some();
    let is_near = |one: &Manifest| one.kind() == "RoleBinding" && one.may_share_namespace(manifest);
    let is_bound = is_named("RoleBinding") || view.bindings_of(account, manifest).any(is_near);
    let file = view.picker_of(*owner).and_then(|picker| picker.flags.text("config-file"));
    let reads = file.and_then(|path| path.rsplit('/').next()) == Some(key);
    if *kind != "ConfigMap" || !reads || !is_named("ServiceAccount") || !is_bound {
        return None;
    }
    let message = format!(
        "{manifest} reads `{key}` of {kind}/{name}, which is not in the manifests, although its \
         other objects are"
    );
    let hint = "add the ConfigMap, or write the name of the one that has the file";
    Some(found.push(message, hint).warning())
}

/// Checks references of pods to keys and objects in the manifests. Objects that are not in the
/// manifests may exist in the cluster, unless one in them has nearly the same name.
pub(crate) fn references_exist(view: &View<'_>, found: &mut Found) {
    let files = view.engines().flat_map(|one| FILE_FLAGS.map(|flag| (one, flag)));
    for ((template, engine), flag) in files {
        let path = engine.flags.text(flag).unwrap_or_default();
        let is_plain = !path.contains(['*', '$', ',']);
        if let Some(map) = without_file(view, template, engine.container, path).filter(|_| is_plain)
        {
            let message = format!("{map} does not have the file `{path}` of `--{flag}`");
            let finding = found.push(template.owner, &engine.path, message, "use one of its keys");
            finding.why("the engine fails to start", "Kubernetes API, ConfigMaps");
        }
    }

    for (pods, container, path) in containers(pods(view)) {
        paths(view, (pods, container), found.at(pods.owner, path));
    }

    exist(view, &[], found);
}

/// Checks the references of objects of these kinds, as those of pods; of pods without any.
pub(crate) fn exist(view: &View<'_>, kinds: &[&str], found: &mut Found) {
    let mut all = uses(view);
    let used: BTreeSet<(&str, &str)> =
        all.iter().map(|one| (one.reference.kind, one.reference.name)).collect();
    all.retain(|Use { reference, pods, manifest, .. }| {
        let is_asked =
            if pods.is_some() { kinds.is_empty() } else { kinds.contains(&manifest.kind()) };
        is_asked && !reference.optional && !is_placeholder(reference.name)
    });
    // References are judged by what is left over: an object that is used somewhere is meant for that.
    let is_unused = |object: &&Manifest| !used.contains(&(object.kind(), object.name()));
    let unused = grouped(view.manifests.iter().filter(is_unused).map(|one| (one.kind(), one)));
    let made = grouped(NAMES.makers.iter().flat_map(|[maker, pointer, kind]| {
        view.of_kind(maker).map(|(_, one)| (*kind, (one.text(pointer).unwrap_or(one.name()), one)))
    }));

    let mut first_keys: BTreeMap<(&str, &str, &str), &str> = BTreeMap::new();
    for one in &all {
        let Use { owner, manifest, pods, reference } = one;
        let PodReference { kind, name, .. } = reference;
        let start = pods.map_or("", |pods| pods.spec_path.as_str());
        let path = format!("{start}{}", reference.path);
        let holder = value_at(&manifest.json, &steps(&path));
        let mut found = found.at(*owner, path.as_str());
        let object = view.named(kind, name, manifest).map(|(_, object)| object);
        let mut makers: Vec<_> = made.get(kind).cloned().unwrap_or_default();
        makers.retain(|(_, maker)| maker.may_share_namespace(manifest));
        let maker = makers.iter().find(|(made, _)| made == name).map(|(_, maker)| *maker);
        if let Some(object) = object.or(maker) {
            if let Some(pods) = pods {
                on_one_node(view, pods, object, &mut found);
            }
            on_disk(view, object, &mut found);
            let port = holder.and_then(|holder| number(holder.get("port")?, "number"));
            if let Some(port) = port.filter(|port| is_closed(object, *port)) {
                let message = format!("{manifest} references port {port} of {object}");
                found.push(message, "write a port that it has");
            }
            let known = keys(object);
            let missing = |key: &&&str| !known.contains(*key) && !is_placeholder(key);
            // Controllers fill empty objects, and files of pickers are checked as their configurations.
            let is_open = known.is_empty() || view.picker_of(*owner).is_some();
            for key in reference.keys.iter().filter(|_| !is_open).filter(missing) {
                let message = format!("{object} has no key `{key}`");
                found.push(message, suggest::hint(key, &known, "keys"));
            }
            continue;
        }

        let mut unused = unused.get(kind).cloned().unwrap_or_default();
        unused.retain(|object| object.may_share_namespace(manifest));
        let made: Vec<&str> = makers.iter().map(|(made, _)| *made).collect();
        let is_reported = missing(view, one, (&unused, &made), &mut found).is_some();
        // The object is not in the manifests, but its pods agree on its keys, except for one.
        let of_variable = reference.keys.first().zip(reference.variable);
        let Some((key, variable)) = of_variable.filter(|_| !is_reported) else { continue };
        let first = *first_keys.entry((*kind, *name, variable)).or_insert(*key);
        if first != *key && !is_placeholder(first) && !is_placeholder(key) {
            let message = format!(
                "`{variable}` is key `{key}` of {kind}/{name}, but key `{first}` in other pods"
            );
            found.push(message, "use the key that the object has").warning();
        }
    }
}

/// Returns the mounted ConfigMap or Secret that should have a file and does not, if its keys are known.
fn without_file<'v>(
    view: &'v View<'_>,
    pods: &Template<'_>,
    container: &Json,
    path: &str,
) -> Option<&'v Manifest> {
    let File::Missing(map) = view.file(pods, container, path) else { return None };
    Some(&view.manifests[map]).filter(|map| !keys(map).is_empty() && !is_placeholder(path))
}

/// Checks the paths in variables of a container, and its arguments, against its volumes.
fn paths(view: &View<'_>, (pods, container): (&Template<'_>, &Json), mut found: Reporter<'_>) {
    let is_path = |path: &&str| path.starts_with('/') && !path.contains([':', ' ', '*', '$']);
    for variable in list(container, "env") {
        let (name, path) = (text(variable, "name"), text(variable, "value"));
        let has_file = path.rsplit('/').next().is_some_and(|file| file.contains('.'));
        let file = Some(path).filter(is_path).filter(|_| has_file);
        if let Some(map) = file.and_then(|path| without_file(view, pods, container, path)) {
            let message = format!("{map} does not have the file `{path}` of `{name}`");
            let finding = found.below(".env", message, "use one of its keys");
            finding.why("the program does not find its file", "Kubernetes API, ConfigMaps");
        }
    }
    let named: Vec<&str> = texts(container, "env", "value")
        .chain(["command", "args"].iter().flat_map(|key| strings(container, key)))
        .collect();
    // What images and runtimes use without being told.
    let usual = [
        "/.", "/dev", "/etc", "/home", "/lib", "/opt", "/root", "/run", "/tmp", "/usr", "/var/run",
    ];
    let is_idle = |mount: &&Json| {
        let path = text(mount, "mountPath").trim_end_matches('/');
        lasts(pods.spec, mount)
            && !usual.iter().any(|usual| path.starts_with(usual))
            && !named.iter().any(|named| named.contains(path))
    };
    let idle = list(container, "volumeMounts").iter().find(is_idle);
    let idle = idle.map(|mount| text(mount, "mountPath")).filter(|_| !pods.completed);
    for name in NAMES.caches.iter().filter(|_| idle.is_some()) {
        let Some(Variable::Text(value)) = variable(container, name) else { continue };
        let path = value.trim_start_matches("file://");
        if let Some(idle) = idle.filter(|_| is_path(&path) && mount_of(container, path).is_none()) {
            let message = format!("`{name}` is `{value}`, but the volume is at `{idle}`");
            let finding = found.below(".env", message, format!("write a path in `{idle}`"));
            finding.warning().why("the files are lost with the pod", "Kubernetes docs, volumes");
        }
    }
    let ends = |c: char| c.is_whitespace() || "\"'=,".contains(c);
    let words: Vec<&str> = named.iter().flat_map(|text| text.split(ends)).collect();
    // What follows the flag is a path of URLs.
    let before = [""].iter().chain(&words);
    let words: BTreeSet<&str> = before
        .zip(&words)
        .filter_map(|(flag, word)| (*flag != "--root-path").then_some(*word))
        .collect();
    let words = words.into_iter();
    for word in words.filter(is_path).filter(|path| mount_of(container, path).is_none()) {
        let mut mounts = texts(container, "volumeMounts", "mountPath");
        let near = mounts.find(|near| is_typo(near, word) && near.len() > 4);
        if let Some(near) = near {
            let message = format!("`{word}` is on no volume, but `{near}` is");
            let finding = found.push(message, format!("write `{near}`")).warning();
            finding.why("the files are lost with the pod", "Kubernetes docs, volumes");
        }
    }
}

/// Reports a claim for several nodes whose class makes disks.
fn on_disk(view: &View<'_>, claim: &Manifest, found: &mut Reporter<'_>) {
    let class = claim.text("/spec/storageClassName").unwrap_or_default();
    let known = view.all_named("StorageClass", class, "").next();
    let driver = known.and_then(|(_, class)| class.text("/provisioner"));
    let is_used = |(disk, classes): &&(&str, Vec<&str>)| match driver {
        Some(driver) => driver == *disk,
        None => classes.contains(&class),
    };
    let is_shared = list(claim.spec(), "accessModes").iter().any(|mode| mode == "ReadWriteMany");
    let is_block = claim.text("/spec/volumeMode") == Some("Block");
    if let Some((disk, _)) = NAMES.disks.iter().find(is_used).filter(|_| is_shared && !is_block) {
        let message = format!("{claim} is for pods of several nodes, but {disk} mounts it on one");
        found.push(message, "use `ReadWriteOnce`, or a class of a shared file system");
    }
}

/// Reports a claim that pods of one node can mount, of a workload with several pods.
fn on_one_node(view: &View<'_>, pods: &Template<'_>, claim: &Manifest, found: &mut Reporter<'_>) {
    let modes = list(claim.spec(), "accessModes");
    let is_single = modes.iter().all(|mode| mode == "ReadWriteOnce" || mode == "ReadWriteOncePod");
    if claim.kind() != "PersistentVolumeClaim" || modes.is_empty() || !is_single {
        return;
    }
    let near = "/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    let is_pinned =
        pods.node_label("kubernetes.io/hostname").is_some() || pods.spec.pointer(near).is_some();
    let replicas = pods.replicas.max(super::extras::most_replicas(view, pods.owner));
    if !is_pinned && (pods.size > 1 || replicas.is_some_and(|replicas| replicas > 1)) {
        let message = format!("{claim} is for pods of one node, but {pods} has several");
        let hint = "use the access mode `ReadOnlyMany` or `ReadWriteMany`, or a claim for each pod";
        found.push(message, hint).warning();
    }
}

//! A helmfile: releases with `needs`, and hooks for what Helm does not do itself.

use super::{Planned, Release, document, filled, value_files};
use crate::config::Deploy;
use crate::ir::{Value, value};
use crate::kubectl::Namespaces;

/// Seconds that a release may take to become ready.
const TIMEOUT: u64 = 600;

pub(super) fn file(plan: &[Planned<'_>], deploy: &Deploy, name: &str) -> String {
    let some_have = |has: fn(&Release) -> bool| plan.iter().any(|one| has(one.release));
    let by_kubectl = some_have(|release| release.install.crds_folder.is_some());
    let mut head = format!("helmfile --file {name} apply\n");
    if by_kubectl {
        head += "Helm does not upgrade CRDs in crds/ directories, so kubectl creates and replaces them before each\n\
                 release, in the current context. AlreadyExists errors are expected for CRDs that it then replaces.\n";
    }
    if deploy.server_side {
        head += "serverSide and forceConflicts require Helm 4.\n";
    }
    if some_have(|release| !release.install.gates.is_empty()) {
        head += "kubectl 1.31 or later waits for gates in the current context: after their own release, and again\n\
                 before releases that need it, because helmfile runs no hooks of unchanged releases.\n";
    }
    if some_have(|release| !release.install.steps.is_empty()) {
        head += "Steps after a release are carried out by kubectl as well, in place of the Job of its chart. After a\n\
                 step that failed, run `helmfile sync`.\n";
    }
    let server_side = deploy.server_side;
    let defaults = value!({
        "createNamespace": true,
        "wait": true,
        "timeout": TIMEOUT,
        // All that a chart depends on is in its directory. `helm dependency build`, which helmfile
        // runs otherwise, would leave a Chart.lock there, with the time in it.
        "skipDeps": true,
        // `helmfile apply` asks for the differences of all releases before it installs any, when
        // kinds that they use may not be there yet. Helm still asks the cluster about each.
        "disableValidation": true,
        // Helm 4 would apply the CRDs of crds/ directories once more, and stop at conflicts with
        // kubectl.
        "skipCRDs": ?by_kubectl.then_some(true),
        "serverSide": ?server_side.then_some("true"),
        "forceConflicts": ?server_side.then_some(true),
    });
    let releases: Vec<Value> = plan.iter().map(|planned| release(planned, deploy)).collect();
    document(&head, &value!({"helmDefaults": defaults, "releases": releases}))
}

fn release(planned: &Planned<'_>, deploy: &Deploy) -> Value {
    let release = planned.release;
    let chart = format!("./{}", release.dir);
    let files = value_files(deploy, &release.name, |values| &values.from_output);
    let files = files.unwrap_or_default();
    // Charts without values in the configuration have no file of values.
    let missing = (!files.is_empty()).then_some("Info");
    // Hooks of helmfile carry out the steps.
    let no_job = (!release.install.steps.is_empty()).then(|| value!({"after": {"hook": false}}));
    let values = no_job.into_iter().chain(files.into_iter().map(Value::Text)).collect();
    // A name alone would be looked for in the namespace of the release that needs it.
    let needs = planned.needs.iter();
    let needs = needs.map(|need| Value::from(format!("{}/{}", need.namespace, need.name)));
    let mut hooks: Vec<Value> =
        planned.needs.iter().flat_map(|need| waits(need, "presync")).collect();
    hooks.extend(release.install.crds_folder.into_iter().flat_map(|folder| {
        let folder = format!("{chart}/{folder}");
        // In contrast to `kubectl apply`, `replace` removes the fields that the new version
        // removed, also those of other field managers.
        let create =
            format!("kubectl create --filename {folder}; kubectl replace --filename {folder}");
        let wait = ["wait", "--for=condition=Established", "--timeout=60s", "--filename", &folder];
        [hook("presync", "sh", ["-c", &create]), hook("presync", "kubectl", wait)]
    }));
    let namespaces = Namespaces::Named(&release.namespace);
    let steps = release.install.steps.iter();
    hooks.extend(steps.map(|step| hook("postsync", "sh", ["-c", &step.script(namespaces)])));
    hooks.extend(waits(release, "postsync"));
    // Helm waits for the Jobs of switches. Hooks of helmfile cannot replace them, because only values
    // say whether a switch is on.
    let timeout =
        (release.install.gate_seconds > 0).then_some(TIMEOUT + release.install.gate_seconds);
    value!({
        "name": &release.name,
        "namespace": &release.namespace,
        "chart": &chart,
        "createNamespace": ?(!planned.creates_namespace).then_some(false),
        "timeout": ?timeout,
        "missingFileHandler": ?missing,
        "values": ?filled(values),
        "needs": ?filled(needs.collect()),
        "hooks": ?filled(hooks),
    })
}

/// Returns hooks that wait for the gates of a release.
fn waits(release: &Release, event: &str) -> Vec<Value> {
    let namespaces = Namespaces::Named(&release.namespace);
    let gates = release.install.gates.iter();
    gates.map(|gate| hook(event, "sh", ["-c", &gate.script(namespaces)])).collect()
}

fn hook(
    event: &str,
    command: &str,
    arguments: impl IntoIterator<Item = impl Into<String>>,
) -> Value {
    let arguments = Value::texts(arguments);
    value!({"events": [event], "showlogs": true, "command": command, "args": arguments})
}

//! A helmfile: releases with `needs`, and hooks for what Helm does not do itself.

use super::{Plan, Planned, document, present};
use crate::config::Deploy;
use crate::ir::Value;

/// Seconds that a release may take to become ready.
const TIMEOUT: i64 = 600;

pub(super) fn file(plan: &Plan<'_>, deploy: &Deploy, name: &str) -> String {
    let command = format!("helmfile --file {name} apply");
    let mut head = vec![command.as_str()];
    let by_kubectl = plan.releases.iter().any(|planned| planned.release.crds.is_some());
    if by_kubectl {
        head.extend([
            "Helm does not upgrade CRDs in crds/ directories, so kubectl creates and replaces them \
                before each",
            "release, in the current context. AlreadyExists errors are expected for CRDs that it \
                then replaces.",
        ]);
    }
    if deploy.server_side {
        head.push("serverSide and forceConflicts require Helm 4.");
    }
    let server_side = deploy.server_side;
    let defaults = present([
        ("createNamespace", Some(true.into())),
        ("wait", Some(true.into())),
        ("timeout", Some(TIMEOUT.into())),
        // All that a chart depends on is in its directory. `helm dependency build`, which helmfile
        // runs otherwise, would leave a Chart.lock there, with the time in it.
        ("skipDeps", Some(true.into())),
        // `helmfile apply` asks for the differences of all releases before it installs any, when
        // kinds that they use may not be there yet. Helm still asks the cluster about each.
        ("disableValidation", Some(true.into())),
        // Helm 4 would apply the CRDs of crds/ directories once more, and stop at conflicts with
        // kubectl.
        ("skipCRDs", by_kubectl.then(|| true.into())),
        ("serverSide", server_side.then(|| "true".into())),
        ("forceConflicts", server_side.then(|| true.into())),
    ]);
    let releases = plan.releases.iter().map(|planned| release(planned, deploy)).collect();
    document(&head, vec![("helmDefaults", defaults), ("releases", Value::Seq(releases))])
}

fn release(planned: &Planned<'_>, deploy: &Deploy) -> Value {
    let release = planned.release;
    let chart = format!("./{}", release.dir);
    let values = deploy
        .values
        .as_ref()
        .map(|values| Value::texts([format!("{}/{}.yaml", values.from_output, release.name)]));
    // A name alone would be looked for in the namespace of the release that needs it.
    let needs = planned.needs.iter().map(|need| format!("{}/{}", need.namespace, need.name));
    let hooks = release.crds.map(|folder| {
        let folder = format!("{chart}/{folder}");
        // In contrast to `kubectl apply`, `replace` removes the fields that the new version
        // removed, whoever applied them.
        let create =
            format!("kubectl create --filename {folder}; kubectl replace --filename {folder}");
        let wait = ["wait", "--for=condition=Established", "--timeout=60s", "--filename", &folder];
        Value::Seq(vec![hook("sh", &["-c", &create]), hook("kubectl", &wait)])
    });
    present([
        ("name", Some(Value::text(&release.name))),
        ("namespace", Some(Value::text(&release.namespace))),
        ("chart", Some(Value::text(&chart))),
        ("missingFileHandler", values.as_ref().map(|_| "Info".into())),
        ("values", values),
        ("needs", (!planned.needs.is_empty()).then(|| Value::texts(needs))),
        ("hooks", hooks),
    ])
}

fn hook(command: &str, arguments: &[&str]) -> Value {
    Value::map([
        ("events", Value::texts(["presync"])),
        ("showlogs", true.into()),
        ("command", command.into()),
        ("args", Value::texts(arguments.iter().copied())),
    ])
}

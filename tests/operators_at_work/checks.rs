//! Checks of an operator that is installed from its chart.

use crate::installation::Installation;
use crate::operators::Resource;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::time::Duration;

pub(crate) const READY: &str = "its pods are ready";
pub(crate) const LEADER: &str = "one pod is the leader";
pub(crate) const WEBHOOKS: &str = "its webhooks answer";
pub(crate) const WORK: &str = "its objects appear";
pub(crate) const STATUS: &str = "it writes the status";
pub(crate) const ALLOWED: &str = "no request is denied";
pub(crate) const WATCHED: &str = "it works in watched namespaces only";
pub(crate) const DELETED: &str = "custom resources are deleted";
pub(crate) const TAKEN_OVER: &str = "objects of another version are taken over";
pub(crate) const VALUES: &str = "values arrive";

/// All of them, in the order in which they are checked.
pub(crate) const ALL: [&str; 10] =
    [READY, LEADER, WEBHOOKS, WORK, STATUS, ALLOWED, WATCHED, DELETED, TAKEN_OVER, VALUES];

/// A check that failed.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) check: &'static str,
    pub(crate) detail: String,
}

/// Creates custom resources with this name, in namespaces that the operator watches and in one that it
/// does not, and returns the checks that fail. [`DELETED`] is checked by [`deletes`].
pub(crate) fn check(
    installation: &mut Installation<'_>,
    name: &str,
    patience: Duration,
) -> Vec<Broken> {
    let mut broken = Vec::new();
    let mut fail = |check, detail: String| broken.push(Broken { check, detail });
    let cluster = installation.cluster;

    let is_ready = || installation.is_ready().then_some(());
    if cluster.within(patience, is_ready).is_none() {
        fail(READY, installation.logs());
        // Nothing runs that could break the others.
        return broken;
    }
    if installation.operator.has_leader {
        let is_led = || (installation.leaders().len() == 1).then_some(());
        if cluster.within(patience, is_led).is_none() {
            fail(LEADER, format!("{:?}\n{}", installation.leaders(), installation.logs()));
        }
    }

    let failures = create(installation, name, patience);
    if failures.is_empty() {
        if let Some((check, detail)) = undone(installation, name, patience) {
            fail(check, detail);
        }
        if let Some(detail) = done_outside(installation, name) {
            fail(WATCHED, detail);
        }
    }
    for failure in failures {
        fail(WEBHOOKS, failure);
    }
    for (check, detail) in judge_requests(installation) {
        fail(check, detail);
    }
    installation.mark = cluster.control_plane.audit_mark();
    broken
}

/// Deletes all custom resources, which the operator may have to agree to.
pub(crate) fn deletes(installation: &Installation<'_>, patience: Duration) -> Vec<Broken> {
    let left = installation.delete_resources(patience);
    let detail = || format!("{left:?}\n{}", installation.logs());
    if left.is_empty() {
        return Vec::new();
    }
    vec![Broken { check: DELETED, detail: detail() }]
}

/// The first thing that the operator does not do for a custom resource.
fn undone(
    installation: &Installation<'_>,
    name: &str,
    patience: Duration,
) -> Option<(&'static str, String)> {
    for resource in installation.operator.resources {
        for namespace in installation.watch.namespaces() {
            if let Some(missing) = missing_work(installation, resource, namespace, name, patience) {
                return Some((WORK, format!("{missing:?}\n{}", installation.logs())));
            }
            let status = || {
                let object = installation.resource(resource, namespace, name)?;
                object.pointer(resource.status).cloned()
            };
            if installation.cluster.within(patience, status).is_none() {
                let object = installation.resource(resource, namespace, name);
                let detail = format!("{} {object:?}\n{}", resource.status, installation.logs());
                return Some((STATUS, detail));
            }
        }
    }
    None
}

/// Work of the operator in a namespace that it does not watch.
fn done_outside(installation: &Installation<'_>, name: &str) -> Option<String> {
    let outside = installation.outside()?;
    for resource in installation.operator.resources {
        let is_done = |(_, uid): &(String, Option<String>)| uid.is_some();
        let work = installation.work(resource, outside, name);
        let object = installation.resource(resource, outside, name).unwrap_or_default();
        if work.iter().any(is_done) || object.pointer(resource.status).is_some() {
            return Some(format!("{work:?} {object}"));
        }
    }
    None
}

/// Creates the custom resources, and one that webhooks refuse; what went wrong.
fn create(installation: &Installation<'_>, name: &str, patience: Duration) -> Vec<String> {
    let mut failures = Vec::new();
    let namespaces = installation.watch.namespaces().iter().copied();
    for namespace in namespaces.chain(installation.watch.outside()) {
        for resource in installation.operator.resources {
            let mut answer = String::new();
            // The API server learns of endpoints by watching.
            let create = || {
                installation
                    .create(resource, namespace, name, None)
                    .map_err(|error| answer = error)
                    .ok()
            };
            if installation.cluster.within(patience, create).is_none() {
                failures.push(format!("{} in {namespace}: {answer}", resource.kind));
                return failures;
            }
        }
    }
    if let (Some(refusal), true) = (&installation.operator.refusal, failures.is_empty()) {
        let change: Json = serde_json::from_str(refusal.patch).expect("JSON");
        let resource = &installation.operator.resources[0];
        let namespace = installation.watch.namespaces()[0];
        match installation.create(resource, namespace, "refused", Some(&change)) {
            Err(answer) if answer.contains(refusal.words) => {}
            answer => failures.push(format!("{change} is not refused: {answer:?}")),
        }
    }
    failures
}

/// Objects of the work that do not appear.
fn missing_work(
    installation: &Installation<'_>,
    resource: &Resource,
    namespace: &str,
    name: &str,
    patience: Duration,
) -> Option<Vec<String>> {
    let missing = || -> Vec<String> {
        let work = installation.work(resource, namespace, name).into_iter();
        work.filter(|(_, uid)| uid.is_none()).map(|(object, _)| object).collect()
    };
    let is_done = || missing().is_empty().then_some(());
    installation.cluster.within(patience, is_done).is_none().then(missing)
}

/// Requests that were denied, and those outside of the namespaces that the operator watches.
fn judge_requests(installation: &Installation<'_>) -> Vec<(&'static str, String)> {
    let requests = installation.requests();
    let exceptions = installation.operator.denied;
    let (mut denied, mut outside) = (BTreeSet::new(), BTreeSet::new());
    let own = [crate::installation::NAMESPACE];
    let is_inside = |namespace: &str| {
        own.iter().chain(installation.watch.namespaces()).any(|inside| *inside == namespace)
    };
    let namespaced = match installation.outside() {
        Some(_) => namespaced_resources(installation),
        None => BTreeSet::new(),
    };

    for request in &requests {
        let what = format!(
            "{} {}{} in {:?} {}",
            request.verb, request.resource, request.subresource, request.namespace, request.name
        );
        let is_excepted = exceptions.iter().any(|exception| {
            exception.resource == request.resource && exception.verb == request.verb
        });
        if request.forbidden && !is_excepted {
            denied.insert(what);
        } else if namespaced.contains(&request.resource)
            && !is_inside(&request.namespace)
            && request.succeeded()
        {
            outside.insert(what);
        }
    }
    let mut found = Vec::new();
    if requests.is_empty() {
        found.push((ALLOWED, "no request at all".to_owned()));
    }
    if !denied.is_empty() {
        found.push((ALLOWED, format!("{denied:#?}")));
    }
    if !outside.is_empty() {
        found.push((WATCHED, format!("{outside:#?}")));
    }
    found
}

/// Resources with namespaces, with their groups.
fn namespaced_resources(installation: &Installation<'_>) -> BTreeSet<String> {
    let list = ["api-resources", "--namespaced=true", "--output=name"];
    let names = installation.cluster.control_plane.kubectl(&list).expect_success();
    names.lines().map(str::to_owned).collect()
}

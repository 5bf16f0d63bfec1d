//! docs/operators-at-work.md: which operators ran, and what was seen.

use crate::checks;
use crate::control_plane::ControlPlane;
use crate::operators::{self, Operator};
use crate::sections;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const FILE: &str = "docs/operators-at-work.md";

/// All operators, in the order of their sections.
const ALL: [&Operator; 4] =
    [&operators::RABBITMQ, &operators::CLOUDNATIVE_PG, &operators::GRAFANA, &operators::PROMETHEUS];

/// A step in the life of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The version of the bundle, or both of an upgrade.
    pub(crate) version: String,
    /// The install mode.
    pub(crate) mode: &'static str,
    /// The version of Helm.
    pub(crate) helm: &'static str,
    pub(crate) step: String,
    /// The checks that failed.
    pub(crate) missing: BTreeSet<&'static str>,
}

/// Compares the rows of an operator with its section, which `UPDATE=1` writes instead.
///
/// # Panics
/// When they differ.
pub(crate) fn check(operator: &Operator, rows: &[Row]) {
    let names = ALL.map(|operator| operator.package);
    sections::check(FILE, &introduction(), &names, operator.package, &lines(operator, rows));
}

fn introduction() -> String {
    format!(
        "# Operators at work\n\n\
         The programs of these operators, built from their Go modules in the versions of the bundles, ran from the charts of\n\
         these bundles on Kubernetes {} without OLM. The control plane is real; pods ran as processes on one machine, from the\n\
         Deployment alone: command, environment, mounts, ServiceAccount, probes, and webhooks that the API server calls.\n\n\
         A step passes if the pods are ready, one of them is the leader, webhooks answer, the objects of each custom resource\n\
         appear with a status, and the audit log has no denied request of the operator's ServiceAccounts. With a limited install\n\
         mode, nothing outside of the watched namespaces is read or worked on. An upgrade runs the commands of the plan, as\n\
         `diff` prints them; the custom resources and the objects that belong to them stay. `values` sets environment, arguments,\n\
         proxy, resources, replicas, credentials and registries. `other certificates` replaces them while the operator runs.\n\
         After each step but an upgrade the release is uninstalled, and what is left is what its README.md names.\n\n\
         Certificates of cert-manager are not part of this, because it does not run here.\n\n\
         This file is made by `tests/operators_at_work`.\n",
        ControlPlane::version()
    )
}

fn lines(operator: &Operator, rows: &[Row]) -> String {
    let mut text = String::from("Custom resources: ");
    let resources: Vec<String> = operator
        .resources
        .iter()
        .map(|resource| match resource.work.len() {
            0 => format!("`{}`", resource.kind),
            count => format!("`{}` with {count} objects", resource.kind),
        })
        .collect();
    let _ = write!(text, "{}.\n\n", resources.join(", "));
    if !operator.is_limited {
        text += "It works in all namespaces in each install mode, under OLM as well: the bundle does not tell \
                 it which ones.\n\n";
    }
    for denied in operator.denied {
        let _ = writeln!(
            text,
            "Denied under OLM as well: `{}` of `{}`: {}.\n",
            denied.verb, denied.resource, denied.reason
        );
    }
    text += "| version | install mode | Helm | step | works |\n|---|---|---|---|---|\n";
    for Row { version, mode, helm, step, missing } in rows {
        let missing: Vec<&str> =
            checks::ALL.into_iter().filter(|check| missing.contains(check)).collect();
        let works = match missing[..] {
            [] => "yes".to_owned(),
            _ => format!("not: {}", missing.join(", ")),
        };
        let _ = writeln!(text, "| {version} | {mode} | {helm} | {step} | {works} |");
    }
    text
}

//! README.md and NOTES.txt of models.

use super::*;
use crate::topology;
use askama::Template;
use askama::filters::Safe;
use bundle2chart_compile::chart::readme;
use bundle2chart_compile::documents::{self, RELEASE, filters};
use config::serving::maas::MaasSubscription;
use config::serving::{Adapter, GatewayProvider};
use std::collections::BTreeSet;

/// Returns README.md.
pub(super) fn readme(unit: &Unit, config: &ServingConfig) -> String {
    let (name, namespace) = (Safe(&*config.name), Safe(&*config.namespace));
    documents::file(Readme { unit, config, name, namespace, workloads: Workload::all(config) })
}

#[derive(Template)]
#[template(path = "chart/documents/readme.md")]
struct Readme<'a> {
    unit: &'a Unit,
    config: &'a ServingConfig,
    name: Safe<&'a str>,
    namespace: Safe<&'a str>,
    workloads: Vec<Workload<'a>>,
}

impl Readme<'_> {
    /// Returns the ports of a workload, in a diagram.
    fn ports(&self, workload: &Workload<'_>) -> String {
        match workload.ports().as_slice() {
            [first, .., last] => format!("ports {first}–{last}"),
            [port] => format!("port {port}"),
            [] => String::new(),
        }
    }

    fn has_ranks(&self) -> bool {
        self.workloads.iter().any(|workload| workload.port_count() > 1)
    }

    /// Returns the prefill workload, if an upgrade interrupts it.
    fn single_prefill(&self) -> Option<&Workload<'_>> {
        let mut workloads = self.workloads.iter();
        workloads.find(|one| one.role == Role::Prefill && one.shape.replicas == 1)
    }

    fn adapter_claims(&self) -> BTreeSet<&str> {
        self.config.adapters.iter().filter_map(Adapter::claim).collect()
    }

    /// Returns the name of the object of a subscription.
    fn subscription(&self, subscription: &MaasSubscription) -> String {
        format!("{}-{}", self.config.name, subscription.name)
    }
}

/// Returns NOTES.txt.
pub(super) fn notes(config: &ServingConfig) -> String {
    documents::file(Notes { config })
}

#[derive(Template)]
#[template(path = "chart/documents/notes.txt", syntax = "notes")]
struct Notes<'a> {
    config: &'a ServingConfig,
}

/// Returns the commands that show the rollout.
fn rollout(config: &ServingConfig, namespace: &str) -> Vec<String> {
    lines(Rollout { config, namespace, workloads: Workload::all(config) })
}

#[derive(Template)]
#[template(path = "chart/documents/rollout.sh")]
struct Rollout<'a> {
    config: &'a ServingConfig,
    namespace: &'a str,
    workloads: Vec<Workload<'a>>,
}

/// Returns the commands that send a request to the model.
fn request(config: &ServingConfig, namespace: &str) -> Vec<String> {
    lines(Request { config, namespace })
}

#[derive(Template)]
#[template(path = "chart/documents/request.sh")]
struct Request<'a> {
    config: &'a ServingConfig,
    namespace: &'a str,
}

impl Request<'_> {
    /// Returns the path before that of the API. The route removes prefixes that are not the engine's.
    fn path<'r>(&self, route: &'r RouteConfig) -> &'r str {
        let server = model_server::of(self.config).table;
        let own = route.paths.iter().find(|path| !server.serves(path));
        own.map_or("", |path| path.trim_end_matches('/'))
    }
}

fn lines(commands: impl Template) -> Vec<String> {
    commands.to_string().trim().lines().map(str::to_owned).collect()
}

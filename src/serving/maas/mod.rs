//! Models as a service: objects that register a model, and those of the platform.
//!
//! In come a model's `maas` and a chart's `[chart.maas]`; out go their objects, and [`additions`] to the
//! documents of the chart. The names that
//! MaaS' controller looks up are in `config/serving/maas`.

mod additions;
mod database;
mod gateway;
mod model;
mod tenant;

use super::build::with_spec;
use crate::config::serving::maas::MaasPlatform;
use crate::ir::{Object, Origin, Value};
use bundle2chart_compile::models::Namespaces;
use serde_json::{Value as Json, json};

pub use additions::additions;
pub(super) use model::objects;

/// `apiVersion` of MaaS' own kinds.
const API: &str = "maas.opendatahub.io/v1alpha1";

/// Returns the objects of `[chart.maas]`. `namespace` returns the expression for a namespace that is
/// the release's, or a value of the chart.
pub fn platform(platform: &MaasPlatform, namespace: &Namespaces<'_>) -> Vec<Object> {
    let gateway = platform.gateway.iter().map(gateway::object);
    let database = platform.database.iter().flat_map(database::objects);
    let tenant = platform.tenant.iter().flat_map(|one| tenant::objects(one, platform.release));
    let mut objects: Vec<Object> = gateway.chain(database).chain(tenant).collect();
    for object in &mut objects {
        let written = object.metadata("namespace").and_then(Value::as_str);
        if let Some(expression) = written.and_then(namespace) {
            object.metadata_mut().insert("namespace".to_owned(), expression.into());
        }
    }
    objects
}

/// Creates an object of the platform, in this namespace.
fn object(kind: (&str, &str), name: &str, namespace: &str, spec: Json) -> Object {
    let mut object = with_spec(kind, name, &json!({"app.kubernetes.io/part-of": "maas"}), spec);
    object.metadata_mut().insert("namespace".to_owned(), namespace.into());
    Object { origin: Origin::Added("maas"), ..object }
}

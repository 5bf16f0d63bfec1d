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

use crate::config::serving::maas::MaasPlatform;
use crate::ir::{Expr, Object, Origin, Value, map};
use bundle2chart_compile::models::Namespaces;
use serde_json::{Value as Json, json};

pub use additions::additions;
pub(super) use model::{annotate, objects};

/// `apiVersion` of MaaS' own kinds.
const API: &str = "maas.opendatahub.io/v1alpha1";

/// Returns the objects of `[chart.maas]`. `namespace` returns the expression for a namespace that is
/// the release's, or a value of the chart.
pub fn platform(platform: &MaasPlatform, namespace: &Namespaces<'_>) -> Vec<Object> {
    let gateway = platform.gateway.iter().map(gateway::object);
    let database = platform.database.iter().flat_map(database::objects);
    let tenant = platform.tenant.iter().flat_map(|one| tenant::objects(one, platform.release));
    gateway
        .chain(database)
        .chain(tenant)
        .map(|part| {
            let namespace = namespace(&part.namespace);
            part.object(namespace, &json!({"app.kubernetes.io/part-of": "maas"}))
        })
        .collect()
}

/// An object of the platform, before it is placed in a chart.
struct PlatformObject {
    api_version: &'static str,
    kind: &'static str,
    name: String,
    namespace: String,
    annotations: Json,
    spec: Json,
}

impl PlatformObject {
    /// Creates an object without annotations.
    fn new(
        (api_version, kind): (&'static str, &'static str),
        name: &str,
        namespace: &str,
        spec: Json,
    ) -> Self {
        let (name, namespace) = (name.to_owned(), namespace.to_owned());
        PlatformObject { api_version, kind, name, namespace, annotations: Json::Null, spec }
    }

    /// Returns the object, with an expression for its namespace if there is one.
    fn object(self, namespace: Option<Expr>, labels: &Json) -> Object {
        let namespace = namespace.map_or_else(|| Value::from(self.namespace), Value::from);
        let annotations = Some(self.annotations).filter(|annotations| !annotations.is_null());
        let root = map! {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "metadata": {
                "name": self.name,
                "namespace": namespace,
                "labels": labels,
                "annotations": ?annotations,
            },
            "spec": self.spec,
        };
        Object::new(root, Origin::Added("maas"))
    }
}

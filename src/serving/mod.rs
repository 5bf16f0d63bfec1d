//! Serving models: from one `[[serving]]` table to the objects of a chart, and the invariants that
//! such objects must keep, whoever wrote them.

mod build;
mod engine;
mod extras;
mod kserve;
pub mod picker;
mod pool;
mod presets;
pub mod profile;
mod route;
pub mod topology;
mod workload;

use crate::config::ServingConfig;
use crate::diag::Diagnostics;
use crate::ir::Unit;
use build::Values;
use topology::Workload;

/// The objects and values of a model's chart; none when the parallelism cannot be worked out.
pub fn compile(config: &ServingConfig) -> (Option<Unit>, Diagnostics) {
    let (workloads, diagnostics) = Workload::all(config);
    if diagnostics.has_errors() {
        return (None, diagnostics);
    }
    let mut values = Values::default();
    let objects = if config.kserve {
        vec![kserve::service(config, &workloads, &mut values)]
    } else {
        let mut objects = workload::objects(&workloads, &mut values);
        objects.extend(picker::objects(config, &mut values));
        objects.extend(pool::objects(config, &workloads));
        objects.extend(config.route.iter().flat_map(|route| route::objects(config, route)));
        objects.extend(extras::objects(config, &workloads));
        objects
    };
    (Some(Unit { objects, values: values.sorted(), ..Unit::default() }), diagnostics)
}

/// What is wrong with the objects of a model's chart.
pub fn check(_unit: &Unit, _config: &ServingConfig) -> Diagnostics {
    Diagnostics::new()
}

//! Passes adapt the objects of a unit for installation without OLM, one after the other.
//!
//! The order is defined by the list below. A pass reads and changes the whole unit, so it can work
//! across objects, and reports problems as diagnostics.

mod assign_namespaces;
mod auth_reader;
mod check_names;
mod check_types;
mod controller_fields;
mod deployment_values;
mod filter;
mod images;
mod keep_crds;
mod lint;
mod namespace;
mod pre_install_hooks;
mod pull_secret;
mod release_labels;
mod render_once;
#[cfg(test)]
pub(crate) mod sample;
mod service_account_name;
mod service_account_values;
mod strip_descriptions;

pub(crate) use filter::check_programs;
pub use filter::{Filtered, filter, unused_filters};
pub(crate) use keep_crds::crds_enabled;
pub use lint::{Refusal, refused, refused_values};

use crate::config::{BundleConfig, CrdPlacement, OperatorSettings, Settings};
use crate::diag::Diagnostics;
use crate::ir::{Expr, Scopes, Unit};
use crate::overlay::operand_namespace;
use std::collections::BTreeMap;

/// Settings of the passes.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Name of the chart.
    pub chart: String,
    /// Version of the operator, which keys of values leave out.
    pub version: String,
    /// Version that CRDs are from, a semantic one.
    pub crd_version: String,
    /// A later version that this one replaces in the vendor's upgrade graph.
    pub replaces_later: Option<String>,
    /// Version of the chart.
    pub chart_version: String,
    /// Namespaces that the bundle means when it names its own: the configured one first.
    pub namespaces: Vec<String>,
    /// Namespaces of operands, by the name of their value.
    pub operand_namespaces: BTreeMap<String, String>,
    /// Scopes of kinds that neither Kubernetes nor a CRD of the unit says.
    pub scopes: Scopes,
    /// Placement of CRDs.
    pub crds: CrdPlacement,
    /// Settings of all charts.
    pub settings: Settings,
    /// Settings of operators.
    pub operator: OperatorSettings,
}

impl Context {
    /// Returns the settings of a configuration, for an operator of this version.
    pub fn of(config: &BundleConfig, version: String, namespaces: Vec<String>) -> Self {
        let chart_version = config.chart_version.as_ref();
        Context {
            chart: config.name.clone(),
            chart_version: chart_version.map_or_else(|| version.clone(), ToString::to_string),
            version,
            namespaces,
            operand_namespaces: config.operands.namespaces.clone(),
            scopes: config.scopes.clone(),
            settings: config.settings.clone(),
            operator: config.operator.clone(),
            ..Context::default()
        }
    }

    /// Returns the expression for a namespace of the bundle or an overlay: the release namespace,
    /// or a value.
    fn namespace(&self, name: &str) -> Option<Expr> {
        let is_own = self.namespaces.iter().any(|own| own == name);
        operand_namespace(&self.operand_namespaces, name)
            .or(is_own.then_some(Expr::ReleaseNamespace))
    }
}

type Pass = fn(&mut Unit, &Context, &mut Diagnostics);

/// Every pass, in order.
const PASSES: [Pass; 18] = [
    // First, on objects as they were written.
    check_types::check_types,
    // Before `namespace`, which reports the bundle's namespace where it is still text.
    assign_namespaces::assign_namespaces,
    namespace::namespace,
    controller_fields::controller_fields,
    pull_secret::pull_secret,
    images::images,
    // Before `deployment_values`, whose values add no label twice.
    release_labels::pod_labels,
    deployment_values::deployment_values,
    service_account_values::service_account_values,
    service_account_name::service_account_name,
    auth_reader::auth_reader,
    pre_install_hooks::pre_install_hooks,
    // After `namespace`, whose expressions make a CRD a template.
    keep_crds::keep_crds,
    strip_descriptions::strip_descriptions,
    // After all passes that add objects, and before labels that tell charts apart.
    render_once::render_once,
    release_labels::release_labels,
    check_names::check_names,
    // Last: lints judge what is installed.
    lint::lint,
];

/// Runs all passes.
pub fn run(unit: &mut Unit, context: &Context, diagnostics: &mut Diagnostics) {
    for pass in PASSES {
        pass(unit, context, diagnostics);
    }
}

#[cfg(test)]
mod tests;

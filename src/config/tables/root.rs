//! The file itself, and those that it includes.

use super::chart::ChartTable;
use super::deploy::DeployTable;
use super::ignore::IgnoreTable;
use super::lints::Levels;
use super::settings::Defaults;
use super::verify::VerifyTable;
use super::*;
use crate::declare::Later;

table! {
    /// Configuration of bundle2chart.
    pub struct Root at "" {
        /// Required version of bundle2chart, for example `">=0.1, <0.3"`.
        required_version: Option<Placed<Any>>;
        /// Files with more `[[bundle]]`, `[[chart]]` and `[[serving]]` tables, relative to this file:
        /// paths, in which `*` and `?` match parts of a name, such as `"models/*.toml"`. They are
        /// read in alphabetical order. Paths in them are relative to bundles.toml, too, and they
        /// cannot include others.
        include: Vec<Any>;
        defaults: Defaults = Defaults::default();
        output: Output = Output::default();
        mirror: Vec<Mirror>;
        registry: Vec<Registry>;
        network: Network = Network::default();
        verify: Vec<VerifyTable>;
        /// Levels of diagnostics by code, for `build` and `lock`, for example
        /// `run-as-user-missing = "allow"`. `allow`: do not report warnings and notes with this
        /// code. `deny`: report them as errors, so that nothing is written. Errors stay errors.
        lints: Levels = Default::default();
        ignore: Vec<IgnoreTable>;
        // Read after all charts, which it names.
        deploy: Later<Option<DeployTable>>;
        // Read with those of included files, and after `[defaults]`.
        bundle: Later<Vec<BundleConfig>>;
        chart: Later<Vec<ChartTable>>;
        /// A model to serve: one chart with the engine, the endpoint picker, the InferencePool and
        /// the route.
        serving: Later<Vec<ServingConfig>>;
    }
}

table! {
    /// A file that `include` of bundles.toml names.
    pub struct Included at "" {
        bundle: Later<Vec<BundleConfig>>;
        chart: Later<Vec<ChartTable>>;
        serving: Later<Vec<ServingConfig>>;
    }
}

table! {
    /// The names of a table that becomes a chart, which are checked against those of the others.
    pub struct Draft at "" {
        /// Its name.
        name: Option<Placed<Any>>;
        /// Names of the tables that must be installed before it.
        depends_on: Vec<Placed<Any>>;
    }
}

//! The interface of a compiler of models. `bundle2chart-serving` is the only one, and nothing else
//! names that crate.

use crate::chart::{Additions, Chart};
use crate::config::serving::ServingConfig;
use crate::config::serving::maas::MaasPlatform;
use crate::diag::Diagnostics;
use crate::images::Image;
use crate::ir::{Expr, Object, Unit};

/// The expressions for namespaces, by name.
pub type Namespaces<'a> = dyn Fn(&str) -> Option<Expr> + 'a;

/// The functions that turn tables of models into charts.
#[derive(Debug)]
pub struct ModelCompiler {
    /// Returns the objects and the chart of a `[[serving]]` table; `None` after an error.
    pub chart: fn(&ServingConfig, &mut Diagnostics) -> Option<(Unit, Chart)>,
    /// Returns the images of a model's pods; `None` after an error.
    pub images: fn(&ServingConfig, &mut Diagnostics) -> Option<Vec<Image>>,
    /// Reports conflicts between the charts of several models.
    pub collisions: fn(&[(&ServingConfig, Unit)], &mut Diagnostics),
    /// Returns the objects of `[chart.maas]`.
    pub platform: fn(&MaasPlatform, &Namespaces<'_>) -> Vec<Object>,
    /// Returns the texts about `[chart.maas]` in the documents of its chart.
    pub additions: fn(&MaasPlatform) -> Additions,
}

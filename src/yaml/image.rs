//! The template of image references.

use super::expression::quoted;
use crate::ir::ImageReference;

/// Name of the named template.
pub(super) const NAME: &str = "bundle2chart.image";

/// A file of a chart that defines the template of [`crate::ir::Part::Image`]. Its argument is a
/// list: the root context, the key in the value `images`, and the default reference.
///
/// [`ImageReference::split`] has the rule for references without a registry.
pub const IMAGE_TEMPLATE: &str = include_str!("templates/image.tpl");

/// Returns a call of the template.
pub(super) fn include(image: &ImageReference) -> String {
    let [name, key, reference] = [NAME, image.key(), &image.reference].map(quoted);
    format!("include {name} (list $ {key} {reference})")
}

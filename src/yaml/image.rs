//! The template of image references.

use super::expression::quoted;
use crate::ir::ImageReference;

/// Name of the named template.
pub(super) const NAME: &str = "bundle2chart.image";

/// A file of a chart that defines the template of [`crate::ir::Part::Image`]. Its argument is a
/// list: the root context, the key in the value `images`, and the default reference.
///
/// [`ImageReference::split`] has the rule for references without a registry.
pub const IMAGE_TEMPLATE: &str = r#"{{- /* An image: its override in `images`, else the default, whose registry `imageRegistries` replaces. */ -}}
{{- define "bundle2chart.image" -}}
{{- $root := index . 0 -}}
{{- $override := index $root.Values.images (index . 1) -}}
{{- $reference := index . 2 -}}
{{- $host := splitList "/" $reference | first -}}
{{- $path := trimPrefix (printf "%s/" $host) $reference -}}
{{- if not (contains "/" $reference) -}}
{{- $host = "docker.io" -}}
{{- $path = printf "library/%s" $reference -}}
{{- else if not (or (contains "." $host) (contains ":" $host) (eq $host "localhost")) -}}
{{- $host = "docker.io" -}}
{{- $path = $reference -}}
{{- end -}}
{{- $registry := index $root.Values.imageRegistries $host -}}
{{- if $override -}}
{{- $override -}}
{{- else if $registry -}}
{{- printf "%s/%s" $registry $path -}}
{{- else -}}
{{- $reference -}}
{{- end -}}
{{- end -}}
"#;

/// Returns a call of the template.
pub(super) fn include(image: &ImageReference) -> String {
    let [name, key, reference] = [NAME, image.key(), &image.reference].map(quoted);
    format!("include {name} (list $ {key} {reference})")
}

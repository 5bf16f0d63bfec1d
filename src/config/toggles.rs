//! Boolean settings of charts. Each is declared once: its field, its key in bundles.toml, and its
//! documentation. What acts on it reads the field.

use super::keys::{Key, Kind, Table, optional};
use super::read::reader::Fields;

/// Declares groups of settings: `field = "key": "documentation"`. A group is a part of the tables that
/// have its keys.
macro_rules! toggles {
    ($($(#[doc = $about:literal])+ $group:ident { $($field:ident = $key:literal: $doc:literal,)+ })+) => {
        /// The boolean settings of a chart.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Toggles {
            $($(#[doc = $doc] pub $field: bool,)+)+
        }

        $($(#[doc = $about])+
        pub(super) const $group: &[Key] = &[$(optional($key, Kind::Boolean, $doc),)+];)+

        impl Toggles {
            /// Returns the settings in a table; those that it does not set are as in `defaults`, and
            /// those that it does not have are false.
            pub(super) fn read(fields: &Fields<'_>, table: &Table, defaults: Toggles) -> Self {
                let read = |key: &str, default: bool| {
                    table.key(key).is_some() && fields.boolean(key).unwrap_or(default)
                };
                Toggles { $($($field: read($key, defaults.$field),)+)+ }
            }
        }
    };
}

toggles! {
    /// Settings of all charts.
    OF_CHARTS {
        strip_descriptions = "strip-descriptions":
            "Remove descriptions from CRD schemas, which makes CRDs several times smaller; `kubectl \
             explain` then shows types only. Default: false.",
        release_labels = "release-labels":
            "Add the labels that Helm recommends (`helm.sh/chart`, `app.kubernetes.io/instance`, \
             `managed-by` and `version`) to all objects but CRDs. Labels of the bundle stay. Default: \
             false.",
    }
    /// Settings of operators.
    OF_OPERATORS {
        auth_reader = "auth-reader":
            "Allow the operator to read the API server's authentication configuration: adds a \
             RoleBinding in kube-system. Default: false.",
        strip_annotations = "strip-annotations":
            "Remove annotations from pods that only catalogs and consoles read, such as \
             `alm-examples`, which OLM copies there. Annotations that the pod itself reads with the \
             downward API stay. Default: false.",
        aggregate_roles = "aggregate-roles":
            "Aggregate the operator's APIs to the cluster roles admin, edit and view: adds \
             ClusterRoles with the aggregation labels. Default: false.",
    }
}

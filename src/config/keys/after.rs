//! `[[bundle.after]]`: keys of steps after the installation.

use super::ready::{GATE_PHASES, READY_DOC_OF_STEP, STEP_READY, TIMEOUT_PATTERN};
use super::{Key, Kind, NAMESPACE, Table, optional, required};
use crate::after::RESETS;

/// `[[bundle.after]]`
pub static AFTER: Table =
    Table { header: "[[bundle.after]]", doc: AFTER_DOC, exactly_one_of: &[], keys: AFTER_KEYS };

/// `[[chart.after]]`
pub(super) static CHART_AFTER: Table =
    Table { header: "[[chart.after]]", doc: AFTER_DOC, exactly_one_of: &[], keys: AFTER_KEYS };

const AFTER_DOC: &str = "Steps after the installation: changes to objects that an operator creates. \
    helmfile carries them out by hooks; Helm, Argo CD and Flux by a Job in the chart.";

const AFTER_KEYS: &[Key] = &[
    required(
        "object",
        Kind::String(Some("^[^/\\s]+(/[^/\\s]+){2,3}$")),
        "The object, as `GROUP/VERSION/KIND/NAME`, or `VERSION/KIND/NAME` for Kubernetes' core.",
    ),
    optional(
        "namespace",
        Kind::String(Some(NAMESPACE)),
        "Namespace of the object, which must exist before the chart is installed. Default: the \
            release namespace.",
    ),
    optional("annotations", Kind::StringMap("^"), "Annotations to set."),
    optional("labels", Kind::StringMap("^"), "Labels to set."),
    optional(
        "patch",
        Kind::TextOrObject,
        "A JSON merge patch: a table, or a string of YAML or JSON, in which `null` removes a \
            field.",
    ),
    optional(
        "reset",
        Kind::OneOf(RESETS),
        "Remove the annotations and labels before they are set, for controllers that wait for the \
            change. `once`: once for each object. `always`: after each installation and upgrade. \
            Default: they are only set.",
    ),
    optional("ready", Kind::Tables(&STEP_READY), READY_DOC_OF_STEP),
    optional(
        "timeout",
        Kind::String(Some(TIMEOUT_PATTERN)),
        "Time limit for the creation of the object, for example `90s`, `15m` or `1h`. Default: \
            `10m`.",
    ),
    optional(
        "resource",
        Kind::String(Some("^[a-z0-9]+$")),
        "Plural of the kind, for the permissions of the Job. Default: that of the bundle's CRD, \
            else the English plural.",
    ),
    optional(
        "image",
        Kind::String(Some("^[^\\s:/][^\\s]*$")),
        "Image of the Job, with kubectl 1.31 or later and `sh`. Default: \
            `docker.io/alpine/kubectl:1.35.1`.",
    ),
    optional(
        "phase",
        Kind::OneOf(GATE_PHASES),
        "The chart after which the step is carried out. `with` (default): the chart itself. \
            `operand`: the chart NAME-operands.",
    ),
];

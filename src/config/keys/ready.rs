//! `ready`: keys of gates.

use super::{Key, Kind, NAMESPACE, Table, optional};
use crate::gate::GATE_TIMEOUT;

/// `ready` of `[[bundle]]`
pub static READY: Table =
    Table { header: "[[bundle.ready]]", doc: READY_DOC, exactly_one_of: ONE_OF, keys: READY_KEYS };

/// `ready` of `[[chart]]`
pub(super) static CHART_READY: Table =
    Table { header: "[[chart.ready]]", doc: READY_DOC, exactly_one_of: ONE_OF, keys: READY_KEYS };

/// `ready` of `[[bundle.after]]` and `[[chart.after]]`
pub(super) static STEP_READY: Table = Table {
    header: "[[bundle.after.ready]]",
    doc: READY_DOC_OF_STEP,
    exactly_one_of: ONE_OF,
    keys: STEP_READY_KEYS,
};

pub(super) const READY_DOC_OF_STEP: &str = "Gates: conditions that must hold before the change.";

/// Pattern of a time limit.
pub(super) const TIMEOUT_PATTERN: &str = GATE_TIMEOUT;

/// Values of `phase`, the default first.
pub(super) const GATE_PHASES: &[&str] = &["with", "operand"];

/// Keys of what a gate awaits.
const ONE_OF: &[&str] = &["condition", "rollout", "crd", "jsonpath"];

const READY_DOC: &str = "Gates: conditions that must hold before dependent charts are installed. \
    Deployment files wait for them, and NOTES and README have the kubectl commands.";

const CONDITION: Key = optional(
    "condition",
    Kind::String(Some("^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$")),
    "Type of a status condition of `object` that must be `True`, for example `Ready`.",
)
.with(&["object"]);

const ROLLOUT: Key = optional(
    "rollout",
    Kind::String(Some("^(?:[Dd]eployment|[Ss]tateful[Ss]et|[Dd]aemon[Ss]et)/[a-z0-9.-]+$")),
    "A workload that must be rolled out, as `deployment/NAME`, `statefulset/NAME` or \
        `daemonset/NAME`.",
);

const CRD: Key = optional(
    "crd",
    Kind::String(Some("^[a-z0-9-]+(\\.[a-z0-9-]+)+$")),
    "Name of a CustomResourceDefinition that must be established, as `PLURAL.GROUP`.",
);

const JSONPATH: Key = optional(
    "jsonpath",
    Kind::String(Some(
        "^\\{?\\.(status|spec|data|metadata)(\\.[A-Za-z_][A-Za-z0-9_]*|\\[[0-9]+\\])*\\}?$",
    )),
    "Path of a field of `object` that must have the value `value`, for example \
        `.status.state`: names and list indices, starting with `.status`, `.spec`, `.data` or \
        `.metadata`.",
)
.with(&["object", "value"]);

const VALUE: Key = optional(
    "value",
    Kind::String(Some("^[A-Za-z0-9]([A-Za-z0-9 ._:/-]*[A-Za-z0-9])?$")),
    "Expected value of the field at `jsonpath`, as text.",
)
.with(&["jsonpath"]);

const OBJECT: Key = optional(
    "object",
    Kind::String(Some("^[^/\\s]+(/[^/\\s]+){2,3}$")),
    "The object, as `GROUP/VERSION/KIND/NAME`, or `VERSION/KIND/NAME` for Kubernetes' core.",
);

const GATE_NAMESPACE: Key = optional(
    "namespace",
    Kind::String(Some(NAMESPACE)),
    "Namespace of the object. Default: that of the object in the chart, or else the release \
        namespace; ignored for cluster-scoped objects.",
);

const TIMEOUT: Key = optional(
    "timeout",
    Kind::String(Some(GATE_TIMEOUT)),
    "Time limit, for example `90s`, `15m` or `1h`. Default: `10m`.",
);

const PHASE: Key = optional(
    "phase",
    Kind::OneOf(GATE_PHASES),
    "The chart after which the gate is awaited. `with` (default): the chart itself. \
        `operand`: the chart NAME-operands.",
);

const READY_KEYS: &[Key] =
    &[CONDITION, ROLLOUT, CRD, JSONPATH, VALUE, OBJECT, GATE_NAMESPACE, TIMEOUT, PHASE];

/// A step is in a phase, and its gates with it.
const STEP_READY_KEYS: &[Key] =
    &[CONDITION, ROLLOUT, CRD, JSONPATH, VALUE, OBJECT, GATE_NAMESPACE, TIMEOUT];

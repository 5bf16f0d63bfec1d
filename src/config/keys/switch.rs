//! `[[bundle.switch]]`: keys of switches.

use super::ready::STEP_READY;
use super::{Key, Kind, NAME, Table, optional, required};

/// `[[bundle.switch]]`
pub static SWITCH: Table =
    Table { header: "[[bundle.switch]]", doc: SWITCH_DOC, exactly_one_of: &[], keys: SWITCH_KEYS };

/// `[[chart.switch]]`
pub(super) static CHART_SWITCH: Table =
    Table { header: "[[chart.switch]]", doc: SWITCH_DOC, exactly_one_of: &[], keys: SWITCH_KEYS };

const SWITCH_DOC: &str = "Switches of the chart NAME-operands, in order: values that replace or add \
    custom resources later. Overlays with the phase `operand` name theirs.";

const SWITCH_KEYS: &[Key] = &[
    required(
        "name",
        Kind::String(Some(NAME)),
        "Name of the switch and of its value, `switches.NAME`: false by default, and true only if \
            the switches before it are.",
    ),
    optional(
        "ready",
        Kind::Tables(&STEP_READY),
        "Gates: conditions that must hold before the custom resources of the switch are applied. \
            When the switch is on, a hook Job of the chart waits for them.",
    ),
];

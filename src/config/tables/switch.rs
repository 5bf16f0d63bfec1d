//! `[[bundle.switch]]` and `[[chart.switch]]`: custom resources that change later.

use super::super::forms::NAMESPACE;
use super::ready::StepGate;
use super::*;
use crate::ir::{ValuesPath, label_fault};

table! {
    /// Switches of the chart NAME-operands, in order: values that replace or add custom resources
    /// later. Overlays with the phase `operand` name theirs.
    #[derive(PartialEq, Eq)]
    pub struct Switch at "[[bundle.switch]]" or "[[chart.switch]]" {
        /// Name of the switch and of its value, `switches.NAME`: false by default, and true only if
        /// the switches before it are.
        name: Placed<OwnName>;
        /// Gates: conditions that must hold before the custom resources of the switch are applied.
        /// When the switch is on, a hook Job of the chart waits for them.
        gates as "ready": Vec<StepGate>;
    }
}

impl Switch {
    /// Returns the value that turns the switch of this name on.
    pub fn value(name: &str) -> ValuesPath {
        ValuesPath::new(["switches", name])
    }
}

/// The name of a switch.
pub struct OwnName;

impl Rule for OwnName {
    const PATTERN: Option<&'static str> = Some(NAMESPACE);

    fn fault(_: &Key, text: &str) -> Option<(String, String)> {
        /// Longest name of a switch: that of a DNS-1123 label.
        const LIMIT: usize = 63;
        let hint = "use lower-case letters, digits and dashes";
        let fault = label_fault(text, LIMIT)?;
        Some((format!("the name of the switch {fault}"), hint.to_owned()))
    }
}

/// Removes switches of the same name, and checks that overlays and switches belong together.
pub(crate) fn check(reader: &mut Reader<'_>, switches: &mut Vec<Switch>, overlays: &[Overlay]) {
    let describe = |switch: &Switch| {
        (format!("duplicate switch `{}`", switch.name.text), "rename one of them")
    };
    let (all, name) = (std::mem::take(switches), |one: &Switch| one.name.text.clone());
    *switches = reader.unique(Code::DuplicateName, all, name, |one| &one.name.span, describe);

    // Both ways: a switch that no overlay has would be a value without effect.
    let names: Vec<&str> = switches.iter().map(|switch| switch.name.text.as_str()).collect();
    for (overlay, name) in
        overlays.iter().filter_map(|overlay| Some((overlay, overlay.switch.as_ref()?)))
    {
        if !names.contains(&name.text.as_str()) {
            let message = format!("`switch` of an overlay has an unknown name `{}`", name.text);
            let hint = match names.as_slice() {
                [] => "add a `[[bundle.switch]]` or `[[chart.switch]]` with this name".to_owned(),
                names => suggest::hint(&name.text, names, "switches"),
            };
            reader.found.error(Code::InvalidValue, &name.span, message, hint);
        } else if overlay.phase != Phase::Operand {
            let message = "`switch` of an overlay requires `phase = \"operand\"`";
            let hint = "add `phase = \"operand\"`: switches change the chart NAME-operands";
            reader.found.error(Code::InvalidValue, &name.span, message, hint);
        }
    }

    for switch in switches {
        let uses = |overlay: &Overlay| {
            overlay.switch.as_ref().is_some_and(|name| name.text == switch.name.text)
        };
        if !overlays.iter().any(uses) {
            let message = format!("no overlay has the switch `{}`", switch.name.text);
            let hint = format!(
                "add an overlay with `phase = \"operand\"` and `switch = {:?}`, or remove the switch",
                switch.name.text
            );
            reader.found.error(Code::InvalidValue, &switch.name.span, message, hint);
        }
    }
}

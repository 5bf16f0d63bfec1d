//! Reads `[[bundle.switch]]` and `[[chart.switch]]`, and the switches of overlays.

use super::reader::{Fields, Reader};
use super::ready;
use crate::diag::{Code, Diagnostic, Place, suggest};
use crate::ir::{Phase, label_fault};
use crate::{Overlay, Switch};

/// Longest name of a switch: that of a DNS-1123 label.
const NAME_LIMIT: usize = 63;

/// Returns the switches of a bundle or chart with these overlays, in the order of the file.
pub(super) fn switches(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    overlays: &[Overlay],
) -> Vec<Switch> {
    let mut switches: Vec<Switch> = Vec::new();
    for fields in reader.inner_tables(fields, "switch") {
        let gates = ready::gates(reader, &fields, &[]);
        let Some((name, range)) = fields.text("name") else { continue };
        let span = reader.span(range.clone());

        if let Some(fault) = label_fault(name, NAME_LIMIT) {
            let message = format!("the name of the switch {fault}");
            let hint = "use lower-case letters, digits and dashes";
            reader.error(Code::InvalidValue, &range, message, hint);
        } else if let Some(first) = switches.iter().find(|switch| switch.name == name) {
            let diagnostic =
                Diagnostic::error(Code::DuplicateName, format!("duplicate switch `{name}`"))
                    .at(Place::span(span))
                    .related(Place::span(first.span.clone()), "first defined here")
                    .hint("rename one of them");
            reader.found.push(diagnostic);
        } else {
            switches.push(Switch { name: name.to_owned(), gates, span });
        }
    }

    check(reader, &switches, overlays);
    switches
}

/// Checks that overlays and switches belong together.
fn check(reader: &mut Reader<'_>, switches: &[Switch], overlays: &[Overlay]) {
    let names: Vec<&str> = switches.iter().map(|switch| switch.name.as_str()).collect();
    for (overlay, name) in
        overlays.iter().filter_map(|overlay| Some((overlay, overlay.switch.as_ref()?)))
    {
        if !names.contains(&name.text.as_str()) {
            let message = format!("`switch` of an overlay has an unknown name `{}`", name.text);
            let hint = match names.as_slice() {
                [] => "add a `[[bundle.switch]]` or `[[chart.switch]]` with this name".to_owned(),
                names => suggest::hint(&name.text, names, "switches"),
            };
            reader.error_at(Code::InvalidValue, &name.span, message, hint);
        } else if overlay.phase != Phase::Operand {
            let message = "`switch` of an overlay requires `phase = \"operand\"`";
            let hint = "add `phase = \"operand\"`: switches change the chart NAME-operands";
            reader.error_at(Code::InvalidValue, &name.span, message, hint);
        }
    }

    for switch in switches {
        let uses = |overlay: &Overlay| {
            overlay.switch.as_ref().is_some_and(|name| name.text == switch.name)
        };
        if !overlays.iter().any(uses) {
            let message = format!("no overlay has the switch `{}`", switch.name);
            let hint = format!(
                "add an overlay with `phase = \"operand\"` and `switch = {:?}`, or remove the switch",
                switch.name
            );
            reader.error_at(Code::InvalidValue, &switch.span, message, hint);
        }
    }
}

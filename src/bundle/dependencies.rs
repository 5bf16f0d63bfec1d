//! `metadata/dependencies.yaml`: what must be in the cluster for a bundle to work.

use crate::diag::{Code, Diagnostic, Diagnostics, Place};
use crate::ir::Value;

/// Says what the file asks for. OLM v0 installs it, OLM v1 refuses the bundle; a chart leaves it to
/// a person.
///
/// OLM: operator-registry, dependency types.
pub(super) fn report(file: &Value, place: &Place, diagnostics: &mut Diagnostics) {
    let listed = match file.get("dependencies") {
        None | Some(Value::Null) => return,
        Some(Value::Seq(items)) => items,
        Some(other) => {
            let message = format!("`dependencies` must be a list, but it is {}", other.type_name());
            diagnostics.push(
                Diagnostic::error(Code::PropertiesInvalid, message)
                    .at(place.clone().path(".dependencies"))
                    .hint("dependencies are a list of entries with `type` and `value`"),
            );
            return;
        }
    };
    for (index, item) in listed.iter().enumerate() {
        let path = format!(".dependencies[{index}]");
        diagnostics.push(
            Diagnostic::note(Code::DependencyNeeded, format!("needs {}", words(item)))
                .at(place.clone().path(path))
                .hint("install it first; `depends-on` tells the readers of the chart"),
        );
    }
}

fn words(item: &Value) -> String {
    let value = |key: &str| {
        let value = item.get("value").and_then(|value| value.get(key));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    match item.get("type").and_then(Value::as_str).unwrap_or_default() {
        "olm.package" => {
            format!("the package `{}` in a version `{}`", value("packageName"), value("version"))
        }
        "olm.gvk" => format!(
            "the kind `{}` of {}/{}, from another operator",
            value("kind"),
            value("group"),
            value("version")
        ),
        "olm.label" => format!("an operator with the label `{}`", value("label")),
        "olm.constraint" if !value("failureMessage").is_empty() => {
            format!("something else: {}", value("failureMessage"))
        }
        kind => format!("something else, of type `{kind}`"),
    }
}

//! Invariants of LLMInferenceServices.

use super::super::invariants::Found;
use super::super::view::View;
use serde_json::Value as Json;

/// Checks that KServe supports the parallelism.
pub(crate) fn parallelism(view: &View<'_>, found: &mut Found) {
    for (owner, service) in view.of_kind("LLMInferenceService") {
        for (part, path, field) in
            [("/spec", ".spec", "dp"), ("/spec/prefill", ".spec.prefill", "prefill.dp")]
        {
            let Some(spec) = service.json.pointer(part) else { continue };
            let Some(shape) = spec.get("parallelism") else { continue };
            let place = format!("{path}.parallelism");
            let mut report = |message: String, hint: &str| {
                found.push(owner, &place, message, hint).field = Some(field);
            };

            let number = |key: &str| shape.get(key).and_then(Json::as_u64);
            for key in ["tensor", "pipeline", "data", "dataLocal"] {
                if shape.get(key).is_some_and(|value| value.as_u64().unwrap_or(0) == 0) {
                    report(format!("`{key}` is not a positive integer"), "use a positive integer");
                }
            }

            let (data, local) = (number("data"), number("dataLocal"));
            if number("pipeline").is_some() && (data.is_some() || local.is_some()) {
                let message = "`pipeline` and `data` are both set";
                report(message.to_owned(), "set one of `pipeline` and `data`");
            }

            match (data, local) {
                (Some(_), None) | (None, Some(_)) => report(
                    "only one of `data` and `dataLocal` is set".to_owned(),
                    "set both: all ranks, and ranks per pod",
                ),
                (Some(data), Some(local)) if local > 0 && !data.is_multiple_of(local) => report(
                    format!("{data} ranks are not divisible by {local} ranks per pod"),
                    "use a multiple: KServe drops the remainder",
                ),
                _ => {}
            }
        }
    }
}

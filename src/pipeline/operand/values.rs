//! Merges values of charts as Helm does.

use crate::diag::{Code, Diagnostic, Fatal, Place};
use crate::ir::Release;
use crate::source::chart as charts;
use serde_json::{Map, Value as Json};
use std::path::Path;

/// Merges `over` into `under` as Helm does: maps key by key, and null removes a key.
pub fn merge(under: &mut Json, over: &Json) {
    match (under, over) {
        (Json::Object(under), Json::Object(over)) => {
            for (key, value) in over {
                if value.is_null() {
                    // `remove` of serde_json swaps in the last key, and the order of keys is
                    // that of messages.
                    under.shift_remove(key);
                } else {
                    merge(under.entry(key.clone()).or_insert(Json::Null), value);
                }
            }
        }
        (_, Json::Null) => {}
        (under, over) => *under = over.clone(),
    }
}

/// Reads files of values, the later over the earlier.
///
/// # Errors
/// When a file cannot be read or is no map.
pub fn read_values(files: &[impl AsRef<Path>]) -> Result<Json, Fatal> {
    let mut values = Json::Object(Map::new());
    for file in files {
        let shown = file.as_ref().display().to_string();
        let text = charts::read_values(file.as_ref())?;
        let wrong = |why: String| -> Fatal {
            Diagnostic::error(Code::SourceUnreadable, format!("`{shown}`: {why}"))
                .at(Place::file(&shown))
                .hint("write one YAML mapping, as for `helm install --values`")
                .into()
        };
        let mut documents = crate::yaml::parse(&text).map_err(wrong)?;
        let release = Release::LITERAL;
        match documents.pop().map(|document| release.value(&document)) {
            None => {}
            Some(over @ Json::Object(_)) if documents.is_empty() => merge(&mut values, &over),
            Some(_) => return Err(wrong("values must be one mapping".to_owned())),
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests;

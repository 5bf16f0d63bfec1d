//! Renamed properties: an added property with the schema of a removed one next to it.

use crate::path::Step;
use crate::tree::Edit;
use serde_json::Value as Json;
use std::collections::HashMap;

/// Maximum number of edits of an object for which renamed properties are detected.
const MOST_EDITS: usize = 2_000;

/// Added parts of a CRD by the path of their parent and their schema without descriptions, for
/// finding renamed properties.
#[derive(Default)]
pub(in crate::rules) struct NewProperties<'e>(HashMap<(&'e [Step], Json), &'e Edit>);

impl<'e> NewProperties<'e> {
    /// Collects the additions among the edits of a CRD; the first of equal ones wins.
    ///
    /// With more than [`MOST_EDITS`] edits, nothing is treated as renamed.
    pub(in crate::rules) fn of(edits: &'e [Edit]) -> Self {
        let mut properties = NewProperties::default();
        if edits.len() > MOST_EDITS {
            return properties;
        }
        for edit in edits {
            if let (None, Some(new), Some((_, parents))) =
                (&edit.old, &edit.new, edit.path.steps().split_last())
            {
                properties.0.entry((parents, without_description(new))).or_insert(edit);
            }
        }
        properties
    }

    /// Returns the added sibling of a removed property with the same schema.
    pub(super) fn twin(&self, edit: &'e Edit) -> Option<&'e str> {
        let (_, parents) = edit.path.steps().split_last()?;
        let key = (parents, without_description(edit.old.as_ref()?));
        self.0.get(&key)?.path.last_key()
    }
}

fn without_description(schema: &Json) -> Json {
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        map.shift_remove("description");
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Path;
    use serde_json::json;

    #[test]
    fn few_edits_have_renamed_properties() {
        let path =
            |name: &str| Path(vec![Step::Key("properties".to_owned()), Step::Key(name.to_owned())]);
        let schema = Some(json!({"type": "string"}));
        let described = Some(json!({"type": "string", "description": "the same"}));
        let new = Edit { path: path("new"), old: None, new: described };
        let old = Edit { path: path("old"), old: schema, new: None };
        let twin = |number: usize| {
            let others = std::iter::repeat_n(&old, number - 1);
            let edits: Vec<Edit> = std::iter::once(&new).chain(others).cloned().collect();
            NewProperties::of(&edits).twin(&old).map(str::to_owned)
        };
        assert_eq!(twin(2), Some("new".to_owned()));
        assert_eq!(twin(MOST_EDITS), Some("new".to_owned()));
        assert_eq!(twin(MOST_EDITS + 1), None);
        assert_eq!(twin(MOST_EDITS + 2), None);
    }
}

//! Changes of allOf, anyOf, oneOf and not.

use super::keyword::{KeywordChange, Verdict, stays_valid};
use super::{COMBINATION, LOOSENED};
use serde_json::Value as Json;

impl KeywordChange<'_> {
    /// Returns the verdict on a combination whose old and new value these are.
    pub(super) fn of_combination(&self) -> Verdict {
        let keyword = self.keyword;
        let is_looser = match (self.old, self.new) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(old), Some(new)) => self.is_looser(parts(old), parts(new)),
        };
        if is_looser {
            (&LOOSENED, format!("`{keyword}` allows more"))
        } else {
            (&COMBINATION, format!("`{keyword}` changed"))
        }
    }

    fn is_looser(&self, old: &[Json], new: &[Json]) -> bool {
        let has_all = |all: &[Json], of: &[Json]| of.iter().all(|part| all.contains(part));
        match self.keyword {
            "allOf" if has_all(old, new) => return true,
            "anyOf" if has_all(new, old) => return true,
            "allOf" | "anyOf" if old.len() == new.len() => {}
            _ => return false,
        }

        // Parts have no names, so those at the same position are compared.
        old.iter().zip(new).all(|(old, new)| stays_valid(old, new, true))
    }
}

/// Returns the schemas of a combination; `not` has one.
pub(super) fn parts(value: &Json) -> &[Json] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

//! Changes of allOf, anyOf, oneOf and not.

use super::keyword::{KeywordChange, Verdict};
use super::{COMBINATION, LOOSENED};
use crate::Class;
use serde_json::Value as Json;
use std::collections::BTreeSet;

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
        let part_is_looser = |(old, new): (&Json, &Json)| {
            let maps = [old, new].into_iter().filter_map(Json::as_object);
            let keys: BTreeSet<&String> = maps.flat_map(|map| map.keys()).collect();
            let mut changed = keys.into_iter().filter(|key| old.get(*key) != new.get(*key));
            changed.all(|keyword| {
                let change = KeywordChange {
                    keyword,
                    old: old.get(keyword),
                    new: new.get(keyword),
                    before: old,
                    after: new,
                };
                change.verdict().is_none_or(|(rule, _)| rule.class == Class::Info)
            })
        };
        old.iter().zip(new).all(part_is_looser)
    }
}

/// Returns the schemas of a combination; `not` has one.
fn parts(value: &Json) -> &[Json] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

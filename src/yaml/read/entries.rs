//! The entries of maps that are being read.

use crate::ir::{Map, Value};

/// The entries of a map under construction.
pub(super) enum Entries {
    /// All in [`SmallMaps::entries`] from this place on. Only the innermost open map is added to.
    Small(usize),
    /// So many that they need an index, with the line of each.
    Large(Map, Vec<usize>),
}

/// The entries of all open maps that are small, one map after the other. Each map is allocated once,
/// when it is closed and its size is known.
#[derive(Default)]
pub(super) struct SmallMaps {
    entries: Vec<(String, Value)>,
    /// The line of each key; 0 for merged keys.
    lines: Vec<usize>,
}

impl SmallMaps {
    /// Opens a map inside of the innermost one.
    pub(super) fn open(&self) -> Entries {
        Entries::Small(self.entries.len())
    }

    /// Sets a key of the innermost map. A merged key has line 0, or the line of the key that it
    /// replaces. Returns the key and its line if it was set already.
    pub(super) fn set(
        &mut self,
        into: &mut Entries,
        name: String,
        value: Value,
        line: Option<usize>,
    ) -> Option<(String, usize)> {
        if let Entries::Small(start) = into {
            let known = self.entries[*start..].iter().position(|(key, _)| *key == name);
            if let Some(place) = known.map(|place| *start + place) {
                self.entries[place].1 = value;
                let first = self.lines[place];
                self.lines[place] = line.unwrap_or(first);
                return Some((name, first));
            }
            if self.entries.len() - *start < Map::LINEAR {
                self.entries.push((name, value));
                self.lines.push(line.unwrap_or(0));
                return None;
            }
            // Beyond this size, a linear search for each key would be quadratic: a map can have
            // thousands.
            let lines = self.lines.split_off(*start);
            *into = Entries::Large(self.take(*start), lines);
        }

        let Entries::Large(map, lines) = into else { return None };
        let (place, previous) = map.insert_full(name, value);
        if previous.is_none() {
            lines.push(line.unwrap_or(0));
            return None;
        }

        let first = lines[place];
        lines[place] = line.unwrap_or(first);
        map.get_index(place).map(|(name, _)| (name.clone(), first))
    }

    /// Creates a map of the entries from `start` on.
    fn take(&mut self, start: usize) -> Map {
        Map::of_distinct(self.entries.drain(start..).collect())
    }

    /// Closes the innermost map.
    pub(super) fn close(&mut self, entries: Entries) -> Map {
        let mut map = match entries {
            Entries::Large(map, _) => map,
            Entries::Small(start) => {
                self.lines.truncate(start);
                self.take(start)
            }
        };
        map.mark_literal();
        map
    }
}

//! Merge keys: `<<` takes over the entries of another map, or of several.

use super::{Builder, Frame, Name, Problem};
use crate::ir::Value;
use crate::yaml::{Mark, Style};

impl Builder<'_> {
    /// Whether the value of a `<<` comes next.
    pub(super) fn expects_merged(&self) -> bool {
        let Some(Frame::Map { key: Some(key), .. }) = self.stack.last() else { return false };
        matches!(key.name, Name::Merge)
    }

    pub(super) fn merges_no_map(&self, mark: Mark) -> Box<Problem> {
        self.problem(mark, "`<<` merges maps, and this is none".to_owned(), false)
    }
}

/// Whether a key merges maps: a plain `<<`, or one that a tag says to be so.
pub(super) fn is_merge(text: &str, style: Style, tag: Option<&str>) -> bool {
    text == "<<"
        && match tag {
            None => style == Style::Plain,
            Some(tag) => matches!(tag, "!" | "tag:yaml.org,2002:merge"),
        }
}

/// Merges one map or a list of maps; in a list the earlier ones win.
pub(super) fn merge(into: &mut impl FnMut(String, Value), value: Value) -> Option<()> {
    match value {
        Value::Map(map) => {
            for (key, value) in *map {
                into(key, value);
            }
            Some(())
        }
        Value::Seq(items) => items.into_iter().rev().try_for_each(|item| match item {
            Value::Map(_) => merge(into, item),
            _ => None,
        }),
        _ => None,
    }
}

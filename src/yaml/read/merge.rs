//! Merge keys: `<<` inserts the entries of another map, or of several.

use super::{Builder, Frame, Problem};
use crate::ir::Value;
use crate::{Cause, Mark, Style};

impl Builder<'_> {
    /// Returns true if the value of a `<<` is expected next.
    pub(super) fn expects_merged(&self) -> bool {
        matches!(self.stack.last(), Some(Frame::Map { key: Some((None, _)), .. }))
    }

    pub(super) fn merges_no_map(&self, mark: Mark) -> Box<Problem> {
        self.problem(mark, "`<<` must refer to a map".to_owned(), Cause::Syntax)
    }
}

/// Returns true for merge keys: a plain `<<`, or one with a merge tag.
pub(super) fn is_merge(text: &str, style: Style, tag: Option<&str>) -> bool {
    text == "<<"
        && match tag {
            None => style == Style::Plain,
            // libyaml counts `!` as plain, also before quotes (`plain_implicit` in
            // yaml_parser_parse_node).
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
            // A list inside of the list is an error in go-yaml as well (`failWantMap`).
            Value::Map(_) => merge(into, item),
            _ => None,
        }),
        _ => None,
    }
}

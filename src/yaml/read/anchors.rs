//! Anchors and aliases, with a limit for the repeated values.

use super::{Builder, Problem};
use crate::ir::{Number, Value};
use crate::scalar;
use crate::{Cause, Error, MAX_DEPTH, Mark};

/// Limit for the memory that anchors and aliases can copy, approximately and in bytes.
// go-yaml limits the share of nodes that come from aliases instead (`allowedAliasRatio`); a limit
// in bytes does not depend on the rest of the file.
const MAX_COPIED: usize = 32 << 20;

/// A value that aliases can repeat, and the cost of it.
pub(super) type Anchored = (Value, Size);

/// The cost of copying a value.
#[derive(Clone, Copy)]
pub(super) struct Size {
    /// Memory, roughly.
    bytes: usize,
    /// Lists and maps inside each other.
    depth: usize,
}

/// Memory of a value or a key without its text, roughly.
const EACH: usize = 64;

impl Size {
    fn of(value: &Value) -> Size {
        let scalar = |text: &str| Size { bytes: text.len() + EACH, depth: 0 };
        let around = |size: Size, child: Size| Size {
            bytes: size.bytes + child.bytes,
            depth: size.depth.max(child.depth + 1),
        };
        match value {
            Value::Text(text) => scalar(text),
            Value::Seq(items) => {
                items.iter().map(Size::of).fold(Size { bytes: EACH, depth: 1 }, around)
            }
            Value::Map(map) => {
                let keys: usize = map.keys().map(|key| key.len() + EACH).sum();
                map.values().map(Size::of).fold(Size { bytes: keys + EACH, depth: 1 }, around)
            }
            _ => scalar(""),
        }
    }
}

impl Builder<'_> {
    /// Keeps a value for aliases.
    pub(super) fn anchor(
        &mut self,
        anchor: usize,
        value: Value,
        mark: Mark,
    ) -> Result<(), Box<Problem>> {
        let size = Size::of(&value);
        // The anchor keeps a copy: anchors inside of each other would grow quadratically without an
        // alias.
        self.copy(size, mark)?;
        self.anchors.insert(anchor, (value, size));
        Ok(())
    }

    /// Adds the value of an alias to the innermost collection.
    pub(super) fn alias(&mut self, anchor: usize, mark: Mark) -> Result<(), Box<Problem>> {
        let Some((value, size)) = self.anchors.get(&anchor).cloned() else {
            let message = "an alias is inside the value that it refers to";
            return Err(self.problem(mark, message.to_owned(), Cause::Syntax));
        };
        // go-yaml merges a list of maps, but not an alias of one (`decoder.merge`).
        if matches!(value, Value::Seq(_)) && self.expects_merged() {
            return Err(self.merges_no_map(mark));
        }
        // Aliases of aliases grow exponentially ("billion laughs"): what they copy is counted.
        self.copy(size, mark)?;
        if self.stack.len() + size.depth > MAX_DEPTH {
            let Error { message, cause, .. } = Error::too_deep(mark);
            return Err(self.problem(mark, message.into(), cause));
        }
        let written = match &value {
            Value::Number(Number::Float(float)) => scalar::float_key(*float),
            _ => String::new(),
        };
        self.place_scalar(value, &written, mark)
    }

    /// Accounts for a copy that anchors and aliases make.
    fn copy(&mut self, size: Size, mark: Mark) -> Result<(), Box<Problem>> {
        self.copied += size.bytes;
        if self.copied > MAX_COPIED {
            let message = format!("anchors and aliases repeat more than {MAX_COPIED} bytes");
            return Err(self.problem(mark, message, Cause::Limit));
        }
        Ok(())
    }
}

//! YAML and JSON text to [`Value`] trees, in the dialect that Kubernetes reads.
//!
//! The syntax is granit-parser's; what scalars, keys, merges and duplicates mean follows
//! sigs.k8s.io/yaml (see [`super::scalar`]): the last of two equal keys wins, `<<` merges in place,
//! keys become strings.

use super::scalar::{self, Scalar};
use crate::ir::{Map, Number, Value, push_key};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use granit_parser::{Event, Marker, Options, Parser, ScalarStyle, Span, StrInput, Tag};
use std::collections::HashMap;

/// How large a file may become. Real bundles stay far below: the largest CRD known has 2.4 MB.
const MAX_NODES: usize = 2_000_000;
/// How much memory, roughly and in bytes, anchors and aliases may copy.
const MAX_COPIED: usize = 32 << 20;
/// How deep lists and maps may nest, aliases included.
const MAX_DEPTH: usize = 250;
/// How many duplicate keys are reported; a file with more than a few was not written by a person.
const MAX_DUPLICATES: usize = 100;

/// A document of a file.
#[derive(Debug)]
pub(super) struct Document {
    /// 1-based number in the file, counting empty documents too.
    pub number: usize,
    /// 1-based line on which its content begins.
    pub line: usize,
    /// 1-based line of each item of a top-level `items` list.
    pub item_lines: Vec<usize>,
    /// Its content.
    pub value: Value,
}

/// A key that a map has twice.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DuplicateKey {
    /// 1-based number of the document.
    pub document: usize,
    /// JSON path of the key.
    pub path: String,
    /// 1-based line of the first place.
    pub first: usize,
    /// 1-based line and column of the place that wins.
    pub last: (usize, usize),
}

/// Why a file cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// What is wrong.
    pub message: String,
    /// 1-based number of the document.
    pub document: usize,
    /// 1-based line.
    pub line: usize,
    /// 1-based column.
    pub column: usize,
    /// Whether a limit was reached (otherwise: a mistake in the text).
    pub limit: bool,
}

/// What was read of a file.
#[derive(Debug, Default)]
pub(super) struct Documents {
    /// The documents that are not empty.
    pub documents: Vec<Document>,
    /// Keys that stand twice.
    pub duplicates: Vec<DuplicateKey>,
}

/// Reads all documents of `text`.
pub(super) fn read(text: &str) -> Result<Documents, Box<Problem>> {
    let mut builder = Builder::default();
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.flow_nesting_limit = MAX_DEPTH;
    options.block_nesting_limit = MAX_DEPTH;
    // A key may be as long as a name or annotation; the parser's default is the standard's 1,024.
    options.simple_key_max_lookahead = 64 * 1024;
    let parser: Parser<'_, StrInput<'_>> = Parser::new_from_str_with_options(text, options);
    for next in parser {
        let (event, span) = next.map_err(|error| {
            let limit = error.to_string().contains("limit");
            builder.problem(*error.marker(), error.info().to_string(), limit)
        })?;
        builder.event(event, span)?;
    }
    Ok(builder.done)
}

/// A list or map under construction.
enum Frame {
    Seq { items: Vec<Value>, anchor: usize, start: Marker },
    Map { map: Map, lines: Vec<usize>, key: Option<PendingKey>, anchor: usize, start: Marker },
}

impl Frame {
    /// Whether this is a map whose next value is that of the key `items`.
    fn is_at_items(&self) -> bool {
        let Frame::Map { key: Some(PendingKey { name: Name::Key(name), .. }), .. } = self else {
            return false;
        };
        name == "items"
    }
}

struct PendingKey {
    name: Name,
    marker: Marker,
}

enum Name {
    Key(String),
    Merge,
}

/// A value that aliases may repeat.
struct Anchored {
    value: Value,
    size: Size,
}

/// What a copy of a value costs.
#[derive(Clone, Copy)]
struct Size {
    /// Memory, roughly.
    bytes: usize,
    /// Lists and maps inside each other.
    depth: usize,
}

impl Size {
    fn of(value: &Value) -> Size {
        let scalar = |bytes| Size { bytes: bytes + 64, depth: 0 };
        let around = |size: Size, (bytes, child): (usize, Size)| Size {
            bytes: size.bytes + bytes + child.bytes,
            depth: size.depth.max(child.depth + 1),
        };
        match value {
            Value::Text(text) => scalar(text.len()),
            Value::Seq(items) => {
                let children = items.iter().map(|item| (0, Size::of(item)));
                children.fold(Size { bytes: 64, depth: 1 }, around)
            }
            Value::Map(map) => {
                let children = map.iter().map(|(key, value)| (key.len() + 64, Size::of(value)));
                children.fold(Size { bytes: 128, depth: 1 }, around)
            }
            _ => scalar(0),
        }
    }
}

#[derive(Default)]
struct Builder {
    done: Documents,
    stack: Vec<Frame>,
    anchors: HashMap<usize, Anchored>,
    document: usize,
    line: usize,
    item_lines: Vec<usize>,
    nodes: usize,
    copied: usize,
}

impl Builder {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Box<Problem>> {
        let marker = span.start;
        match event {
            Event::DocumentStart(..) => {
                self.document += 1;
                self.line = 0;
                self.item_lines = Vec::new();
                self.anchors.clear();
            }
            Event::SequenceStart(_, anchor, _) => {
                self.open(marker)?;
                if let [top] = self.stack.as_slice()
                    && top.is_at_items()
                {
                    self.item_lines.clear();
                }
                self.stack.push(Frame::Seq { items: Vec::new(), anchor, start: marker });
            }
            Event::MappingStart(_, anchor, _) => {
                self.open(marker)?;
                let (map, lines) = (Map::new(), Vec::new());
                self.stack.push(Frame::Map { map, lines, key: None, anchor, start: marker });
            }
            Event::SequenceEnd => {
                if let Some(Frame::Seq { items, anchor, start }) = self.stack.pop() {
                    self.close(Value::Seq(items), anchor, start)?;
                }
            }
            Event::MappingEnd => {
                if let Some(Frame::Map { map, anchor, start, .. }) = self.stack.pop() {
                    self.close(Value::from(map), anchor, start)?;
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.open(marker)?;
                let scalar = self.scalar(&text, style, tag.as_deref(), marker)?;
                let is_key = self.expects_key();
                match scalar {
                    Scalar::Merge if is_key => self.set_key(Name::Merge, marker),
                    Scalar::Merge => self.close(Value::text("<<"), anchor, marker)?,
                    Scalar::NotJson(key) if is_key => {
                        self.close(Value::text(key), anchor, marker)?;
                    }
                    Scalar::Value(value) => {
                        let value = if is_key { value } else { scalar::through_json(value) };
                        self.close(value, anchor, marker)?;
                    }
                    Scalar::NotJson(_) => {
                        let message = format!(
                            "`{text}` is a YAML number that JSON and Kubernetes cannot hold"
                        );
                        return Err(self.problem(marker, message, false));
                    }
                }
            }
            Event::Alias(id) => {
                let Some(anchored) = self.anchors.get(&id) else {
                    let message = "an alias stands inside the value that it refers to".to_owned();
                    return Err(self.problem(marker, message, false));
                };
                self.copied += anchored.size.bytes;
                self.check_copied(marker)?;
                if self.stack.len() + anchored.size.depth > MAX_DEPTH {
                    let message = format!("lists and maps nest more than {MAX_DEPTH} deep");
                    return Err(self.problem(marker, message, true));
                }
                let value = anchored.value.clone();
                self.open(marker)?;
                self.close(value, 0, marker)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn scalar(
        &self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        marker: Marker,
    ) -> Result<Scalar, Box<Problem>> {
        let Some(tag) = tag else {
            return Ok(match style {
                ScalarStyle::Plain => scalar::resolve(text),
                _ => Scalar::Value(Value::text(text)),
            });
        };
        // A tag of YAML's own types must agree with the text; any other makes it a string.
        let resolved = scalar::resolve(text);
        let agrees = match tag.suffix_in_namespace("tag:yaml.org,2002:").as_deref() {
            Some("int") => {
                matches!(resolved, Scalar::Value(Value::Number(Number::Int(_) | Number::Uint(_))))
            }
            Some("float") => {
                matches!(resolved, Scalar::Value(Value::Number(_)) | Scalar::NotJson(_))
            }
            Some("bool") => matches!(resolved, Scalar::Value(Value::Bool(_))),
            Some("null") => matches!(resolved, Scalar::Value(Value::Null)),
            Some("timestamp") => matches!(resolved, Scalar::Value(Value::Text(_))),
            Some("binary") => {
                // As in Go, this is the content and not the base64 text that a Secret has.
                let bytes = STANDARD.decode(text.replace(['\n', '\r'], "")).ok();
                match bytes.map(String::from_utf8) {
                    Some(Ok(decoded)) => return Ok(Scalar::Value(Value::Text(decoded))),
                    _ => false,
                }
            }
            _ => return Ok(Scalar::Value(Value::text(text))),
        };
        if agrees {
            Ok(resolved)
        } else {
            // The text itself may be a secret.
            let message = format!("the value does not fit its tag `{}`", tag.original());
            Err(self.problem(marker, message, false))
        }
    }

    /// Accounts for a node that begins at `marker`.
    fn open(&mut self, marker: Marker) -> Result<(), Box<Problem>> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            let message = format!("the file has more than {MAX_NODES} values");
            return Err(self.problem(marker, message, true));
        }
        if self.stack.is_empty() {
            self.line = marker.line();
        }
        if let [top, Frame::Seq { .. }] = self.stack.as_slice()
            && top.is_at_items()
        {
            self.item_lines.push(marker.line());
        }
        Ok(())
    }

    fn check_copied(&self, marker: Marker) -> Result<(), Box<Problem>> {
        if self.copied > MAX_COPIED {
            let message = format!("anchors and aliases repeat more than {MAX_COPIED} bytes");
            return Err(self.problem(marker, message, true));
        }
        Ok(())
    }

    fn expects_key(&self) -> bool {
        matches!(self.stack.last(), Some(Frame::Map { key: None, .. }))
    }

    fn set_key(&mut self, name: Name, marker: Marker) {
        if let Some(Frame::Map { key, .. }) = self.stack.last_mut() {
            *key = Some(PendingKey { name, marker });
        }
    }

    /// Puts a finished value, which begins at `marker`, where it belongs.
    fn close(&mut self, value: Value, anchor: usize, marker: Marker) -> Result<(), Box<Problem>> {
        if anchor != 0 {
            let size = Size::of(&value);
            self.copied += size.bytes;
            self.check_copied(marker)?;
            self.anchors.insert(anchor, Anchored { value: value.clone(), size });
        }
        match self.stack.last_mut() {
            None => {
                if !value.is_null() {
                    self.done.documents.push(Document {
                        number: self.document,
                        line: self.line,
                        item_lines: std::mem::take(&mut self.item_lines),
                        value,
                    });
                }
            }
            Some(Frame::Seq { items, .. }) => items.push(value),
            Some(Frame::Map { map, lines, key, .. }) => match key.take() {
                None => match scalar::key(value) {
                    Some(name) => *key = Some(PendingKey { name: Name::Key(name), marker }),
                    None => {
                        let message = "a map key must be a string, number or boolean".to_owned();
                        return Err(self.problem(marker, message, false));
                    }
                },
                Some(PendingKey { name: Name::Merge, marker }) => {
                    if merge(map, value).is_none() {
                        let message = "`<<` merges maps, and this is none".to_owned();
                        return Err(self.problem(marker, message, false));
                    }
                    lines.resize(map.len(), 0);
                }
                Some(PendingKey { name: Name::Key(name), marker }) => {
                    let (index, previous) = map.insert_full(name, value);
                    lines.resize(map.len(), 0);
                    let first = std::mem::replace(&mut lines[index], marker.line());
                    // Line 0: the earlier value was merged in, and overriding it is the purpose.
                    if previous.is_some() && first != 0 {
                        let name = map.get_index(index).map(|(name, _)| name.clone());
                        self.duplicate(name.unwrap_or_default(), first, marker);
                    }
                }
            },
        }
        Ok(())
    }

    fn duplicate(&mut self, name: String, first: usize, last: Marker) {
        if self.done.duplicates.len() == MAX_DUPLICATES {
            return;
        }
        let mut path = String::new();
        for frame in &self.stack[..self.stack.len() - 1] {
            match frame {
                Frame::Seq { items, .. } => path.push_str(&format!("[{}]", items.len())),
                Frame::Map { key, .. } => {
                    if let Some(PendingKey { name: Name::Key(key), .. }) = key {
                        push_key(&mut path, key);
                    }
                }
            }
        }
        push_key(&mut path, &name);
        self.done.duplicates.push(DuplicateKey {
            document: self.document,
            path,
            first,
            last: (last.line(), last.col() + 1),
        });
    }

    fn problem(&self, marker: Marker, message: String, limit: bool) -> Box<Problem> {
        Box::new(Problem {
            message,
            document: self.document.max(1),
            line: marker.line().max(1),
            column: marker.col() + 1,
            limit,
        })
    }
}

/// Merges one map or a list of maps; in a list the earlier ones win.
fn merge(into: &mut Map, value: Value) -> Option<()> {
    match value {
        Value::Map(map) => {
            for (key, value) in *map {
                into.insert(key, value);
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

#[cfg(test)]
mod tests;

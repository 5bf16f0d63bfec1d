//! Reads YAML and JSON text into [`Value`] trees, in the dialect of Kubernetes.
//!
//! [`Events`] has the syntax. The meaning of scalars, keys, merges and duplicates is that of
//! go.yaml.in/yaml/v2 and sigs.k8s.io/yaml (see [`super::scalar`]): the last of two equal keys
//! wins, `<<` merges in place, keys become strings.

mod anchors;
mod entries;
mod merge;

use super::scalar;
use super::{Cause, Event, Events, Mark, Style};
use crate::ir::{Number, Value, push_key};
use anchors::Anchored;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use entries::{Entries, SmallMaps};
use merge::{is_merge, merge};
use std::borrow::Cow;
use std::collections::HashMap;

/// Maximum number of values in a file. Real bundles stay far below: the largest known CRD has 2.4
/// MB.
const MAX_NODES: usize = 2_000_000;
/// Maximum number of reported duplicate keys; files with more are not written by hand.
const MAX_DUPLICATES: usize = 100;

/// A document of a file.
#[derive(Debug)]
pub struct Document {
    /// 1-based number in the file, counting empty documents too.
    pub number: usize,
    /// 1-based line on which its content begins.
    pub line: usize,
    /// 1-based line of each item of a top-level `items` list.
    pub item_lines: Vec<usize>,
    /// The content of the document.
    pub value: Value,
}

/// A key that a map has twice.
#[derive(Debug, PartialEq, Eq)]
pub struct DuplicateKey {
    /// 1-based number of the document.
    pub document: usize,
    /// JSON path of the key.
    pub path: String,
    /// 1-based line of the first place.
    pub first: usize,
    /// 1-based line and column of the place that wins.
    pub last: (usize, usize),
}

/// The reason why a file cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    /// The problem.
    pub message: String,
    /// 1-based number of the document.
    pub document: usize,
    /// 1-based line.
    pub line: usize,
    /// 1-based column.
    pub column: usize,
    /// The kind of error.
    pub cause: Cause,
}

/// The contents of a file.
#[derive(Debug, Default)]
pub struct Documents {
    /// The documents that are not empty.
    pub documents: Vec<Document>,
    /// Duplicate keys.
    pub duplicates: Vec<DuplicateKey>,
}

/// Reads all documents of `text`.
pub fn read(text: &str) -> Result<Documents, Box<Problem>> {
    let mut builder = Builder { text, ..Builder::default() };
    let mut events = Events::new(text);
    while let Some(next) = events.next() {
        if builder.document != events.document() {
            builder.document = events.document();
            // An anchor is valid in its document only: Go reads each with a new parser.
            builder.anchors.clear();
        }
        let (event, mark) =
            next.map_err(|error| builder.problem(error.mark, error.message.into(), error.cause))?;
        builder.event(event, mark)?;
    }
    Ok(builder.done)
}

/// A list or map under construction.
enum Frame {
    Seq { items: Vec<Value>, anchor: usize, start: Mark },
    Map { entries: Entries, key: Option<PendingKey>, anchor: usize, start: Mark },
}

impl Frame {
    /// Returns true in a map whose next value is that of the key `items`.
    fn is_at_items(&self) -> bool {
        matches!(self, Frame::Map { key: Some((Some(name), _)), .. } if name == "items")
    }
}

/// The key of the next value of a map, with its place; a merge key has no name.
type PendingKey = (Option<String>, Mark);

#[derive(Default)]
struct Builder<'t> {
    text: &'t str,
    done: Documents,
    stack: Vec<Frame>,
    small: SmallMaps,
    anchors: HashMap<usize, Anchored>,
    document: usize,
    line: usize,
    item_lines: Vec<usize>,
    nodes: usize,
    copied: usize,
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, mark: Mark) -> Result<(), Box<Problem>> {
        match event {
            Event::SequenceStart { anchor } => {
                self.open(mark)?;
                // Lines of items are for messages about the objects of a List.
                if let [top] = self.stack.as_slice()
                    && top.is_at_items()
                {
                    self.item_lines.clear();
                }
                self.stack.push(Frame::Seq { items: Vec::new(), anchor, start: mark });
            }
            Event::MappingStart { anchor } => {
                self.open(mark)?;
                let entries = self.small.open();
                self.stack.push(Frame::Map { entries, key: None, anchor, start: mark });
            }
            Event::SequenceEnd => {
                if let Some(Frame::Seq { items, anchor, start }) = self.stack.pop() {
                    self.close(Value::Seq(items), anchor, start)?;
                }
            }
            Event::MappingEnd => {
                if let Some(Frame::Map { entries, anchor, start, .. }) = self.stack.pop() {
                    let map = self.small.close(entries);
                    self.close(Value::from(map), anchor, start)?;
                }
            }
            Event::Scalar { mut text, style, anchor, tag } => {
                self.open(mark)?;
                // `<<` is no key of the map.
                if self.expects_key() && is_merge(&text, style, tag.as_deref()) {
                    if let Some(Frame::Map { key, .. }) = self.stack.last_mut() {
                        *key = Some((None, mark));
                    }
                    return Ok(());
                }
                let scalar = self.scalar(&mut text, style, tag.as_deref(), mark)?;
                if anchor != 0 {
                    self.anchor(anchor, scalar.clone(), mark)?;
                }
                self.place_scalar(scalar, &text, mark)?;
            }
            Event::Alias(id) => {
                self.open(mark)?;
                self.alias(id, mark)?;
            }
        }
        Ok(())
    }

    /// Resolves a scalar; moves its text into the result if it is a string.
    fn scalar(
        &self,
        text: &mut Cow<'_, str>,
        style: Style,
        tag: Option<&str>,
        mark: Mark,
    ) -> Result<Value, Box<Problem>> {
        let Some(tag) = tag else {
            return match style {
                Style::Quoted => Ok(string(text)),
                // The JSON parser passes numbers only, so a text is one that is too large.
                // JSON has no leading zeros, underscores or hexadecimal numbers, so the rules of
                // YAML read the rest the same.
                Style::Json => scalar::resolve(text).ok_or_else(|| self.not_json(text, mark)),
                Style::Plain => Ok(scalar::resolve(text).unwrap_or_else(|| string(text))),
            };
        };
        // A tag of YAML's own types must agree with the text; any other makes it a string.
        let resolved = scalar::resolve(text);
        let agrees = match tag.strip_prefix("tag:yaml.org,2002:") {
            Some("int") => {
                matches!(resolved, Some(Value::Number(Number::Int(_) | Number::Uint(_))))
            }
            // resolve.go converts an int64, and only that, for `!!float`.
            Some("float") => {
                matches!(resolved, Some(Value::Number(Number::Int(_) | Number::Float(_))))
            }
            Some("bool") => matches!(resolved, Some(Value::Bool(_))),
            Some("null") => matches!(resolved, Some(Value::Null)),
            // go-yaml decodes a timestamp into its text, but for that of a merge key; here the text
            // is not checked further.
            Some("timestamp") => resolved.is_none() && text != "<<",
            Some("binary") => {
                // As in Go, this is the content and not the base64 text that a Secret has.
                let bytes = BASE64.decode(text.replace(['\n', '\r'], "")).ok();
                match bytes.map(String::from_utf8) {
                    Some(Ok(decoded)) => return Ok(Value::Text(decoded)),
                    _ => false,
                }
            }
            _ => return Ok(string(text)),
        };
        if agrees {
            Ok(resolved.unwrap_or_else(|| string(text)))
        } else {
            // The text itself may be a secret.
            let message = format!("the value does not match its tag `{}`", short_tag(tag));
            Err(self.problem(mark, message, Cause::Syntax))
        }
    }

    fn not_json(&self, text: &str, mark: Mark) -> Box<Problem> {
        let message = format!("`{text}` is a YAML number that JSON and Kubernetes do not support");
        self.problem(mark, message, Cause::Syntax)
    }

    /// Adds a scalar to the innermost collection, as a key or a value.
    fn place_scalar(
        &mut self,
        value: Value,
        written: &str,
        mark: Mark,
    ) -> Result<(), Box<Problem>> {
        let value = match value {
            _ if self.expects_key() => value,
            Value::Number(Number::Float(float)) if !float.is_finite() => {
                return Err(self.not_json(written, mark));
            }
            // Kubernetes converts YAML to JSON before it decodes it, which changes numbers.
            _ => scalar::through_json(value),
        };
        self.place(value, mark)
    }

    /// Accounts for a node that begins at `mark`.
    fn open(&mut self, mark: Mark) -> Result<(), Box<Problem>> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            let message = format!("the file has more than {MAX_NODES} values");
            return Err(self.problem(mark, message, Cause::Limit));
        }
        // A document begins at its first value, after comments and `---`.
        if self.stack.is_empty() {
            self.line = mark.line;
        }
        if let [top, Frame::Seq { .. }] = self.stack.as_slice()
            && top.is_at_items()
        {
            self.item_lines.push(mark.line);
        }
        Ok(())
    }

    fn expects_key(&self) -> bool {
        matches!(self.stack.last(), Some(Frame::Map { key: None, .. }))
    }

    /// Ends a list or map that began at `mark`.
    fn close(&mut self, value: Value, anchor: usize, mark: Mark) -> Result<(), Box<Problem>> {
        if anchor != 0 {
            self.anchor(anchor, value.clone(), mark)?;
        }
        self.place(value, mark)
    }

    /// Adds a complete value, which starts at `mark`, to the innermost collection.
    fn place(&mut self, value: Value, mark: Mark) -> Result<(), Box<Problem>> {
        match self.stack.last_mut() {
            None => {
                // kubectl skips empty and null documents as well (`StreamVisitor` in cli-runtime).
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
            Some(Frame::Map { entries, key, .. }) => match key.take() {
                None => match scalar::key(value) {
                    Some(name) => *key = Some((Some(name), mark)),
                    None => {
                        let message = "a map key must be a string, number or boolean".to_owned();
                        return Err(self.problem(mark, message, Cause::Syntax));
                    }
                },
                Some((None, mark)) => {
                    // In place: `<<` replaces keys before it, against the YAML specification, as
                    // go-yaml does.
                    let mut set = |key, value| drop(self.small.set(entries, key, value, None));
                    if merge(&mut set, value).is_none() {
                        return Err(self.merges_no_map(mark));
                    }
                }
                Some((Some(name), mark)) => {
                    let again = self.small.set(entries, name, value, Some(mark.line));
                    // Line 0: the earlier value was merged in, and overriding it is the purpose.
                    if let Some((name, first)) = again.filter(|(_, first)| *first != 0) {
                        self.duplicate(name, first, mark);
                    }
                }
            },
        }
        Ok(())
    }

    fn duplicate(&mut self, name: String, first: usize, last: Mark) {
        // A file that was concatenated twice has thousands.
        if self.done.duplicates.len() == MAX_DUPLICATES {
            return;
        }
        let mut path = String::new();
        // The last frame is the map with the duplicate, whose key is added below.
        for frame in &self.stack[..self.stack.len() - 1] {
            match frame {
                Frame::Seq { items, .. } => path.push_str(&format!("[{}]", items.len())),
                Frame::Map { key: Some((Some(key), _)), .. } => push_key(&mut path, key),
                Frame::Map { .. } => {}
            }
        }
        push_key(&mut path, &name);
        self.done.duplicates.push(DuplicateKey {
            document: self.document,
            path,
            first,
            last: (last.line, last.column(self.text)),
        });
    }

    fn problem(&self, mark: Mark, message: String, cause: Cause) -> Box<Problem> {
        Box::new(Problem {
            message,
            document: self.document,
            line: mark.line,
            column: mark.column(self.text),
            cause,
        })
    }
}

/// Moves the text of a scalar into a string.
fn string(text: &mut Cow<'_, str>) -> Value {
    Value::Text(std::mem::take(text).into_owned())
}

/// Go decodes base64 without regard to the bits that are left over.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Returns the usual short form of a tag.
fn short_tag(tag: &str) -> String {
    match tag.strip_prefix("tag:yaml.org,2002:") {
        Some(name) => format!("!!{name}"),
        None => tag.to_owned(),
    }
}

/// Parses the documents of a YAML or JSON text as Kubernetes does, without empty ones.
///
/// # Errors
/// If the text is not valid YAML or exceeds a limit of manifests, with line and reason.
pub fn parse(text: &str) -> Result<Vec<Value>, String> {
    match read(text) {
        Ok(read) => Ok(read.documents.into_iter().map(|document| document.value).collect()),
        Err(problem) => {
            Err(format!("line {}, column {}: {}", problem.line, problem.column, problem.message))
        }
    }
}

#[cfg(test)]
mod tests;

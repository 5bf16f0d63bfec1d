//! Scans the text of a document into tokens, with the algorithm of libyaml's scanner as in
//! go.yaml.in/yaml/v2: indentation is a stack, and a key without `?` is recognised when its `:` is
//! found, within one line and 1,024 characters.

mod block;
mod plain;
mod properties;
mod quoted;

use super::{Cause, Error, Mark};
use std::borrow::Cow;
use std::collections::VecDeque;

/// A token.
#[derive(Debug)]
pub(super) struct Token<'t> {
    pub kind: TokenKind<'t>,
    pub mark: Mark,
}

/// The tokens of YAML, without directives, which no document can have: the line `---` that must
/// follow them begins the next document.
#[derive(Debug)]
pub(super) enum TokenKind<'t> {
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'t str),
    Anchor(&'t str),
    Tag(Box<str>),
    Plain(Cow<'t, str>),
    Quoted(Cow<'t, str>),
}

/// A position where a key without `?` may have started, if a `:` follows.
#[derive(Clone, Copy)]
struct SimpleKey {
    /// True while it can still be a key.
    possible: bool,
    /// True if anything but a key is an error: it is in the column of the block map's keys.
    required: bool,
    /// True if the key is a list or map, which JSON does not support.
    collection: bool,
    /// True if its tokens wait for the `:`. go-yaml does not wait after a flow list or map in which
    /// no key was possible.
    awaited: bool,
    /// Number of its first token, counted from the beginning of the document.
    token: usize,
    mark: Mark,
}

impl SimpleKey {
    /// Returns the state of a nesting level in which no key has started.
    fn none(token: usize, mark: Mark) -> Self {
        let (possible, required, collection, awaited) = (false, false, false, false);
        SimpleKey { possible, required, collection, awaited, token, mark }
    }
}

/// Maximum distance between a `:` and the start of its key, in characters.
const MAX_KEY: usize = 1024;

pub(super) struct Scanner<'t> {
    /// The text up to the end of the document.
    text: &'t str,
    pos: usize,
    line: usize,
    line_start: usize,
    /// Queued tokens.
    queue: VecDeque<Token<'t>>,
    /// Number of consumed tokens.
    taken: usize,
    /// True if no token can be inserted before the first token of the queue.
    ready: bool,
    ended: bool,
    /// Columns of the block lists and maps around the innermost one; -1 outside of all.
    indents: Vec<isize>,
    indent: isize,
    /// Number of open flow lists and maps.
    flow: usize,
    simple_key_allowed: bool,
    /// A possible key for the block context and for each open flow collection.
    simple_keys: Vec<SimpleKey>,
}

impl<'t> Scanner<'t> {
    /// Starts at `start`; `text` ends at the end of the document.
    pub(super) fn new(text: &'t str, start: Mark) -> Self {
        Scanner {
            text,
            pos: start.offset,
            line: start.line,
            line_start: start.line_start,
            queue: VecDeque::new(),
            taken: 0,
            ready: false,
            ended: false,
            indents: Vec::new(),
            indent: -1,
            flow: 0,
            simple_key_allowed: true,
            simple_keys: vec![SimpleKey::none(0, start)],
        }
    }

    /// Returns the next token without taking it.
    pub(super) fn peek(&mut self) -> Result<&Token<'t>, Error> {
        if !self.ready {
            // A key is known to be one only at its `:`, so tokens wait until none of them can be a
            // key.
            while self.queue.is_empty() || self.head_may_be_key()? {
                self.fetch()?;
            }
            self.ready = true;
        }
        // The parser does not peek after the end of the stream.
        Ok(&self.queue[0])
    }

    /// Takes the token that [`Scanner::peek`] returned.
    pub(super) fn take(&mut self) -> Result<Token<'t>, Error> {
        self.peek()?;
        self.ready = false;
        self.taken += 1;
        let at = self.mark();
        Ok(self.queue.pop_front().unwrap_or(Token { kind: TokenKind::StreamEnd, mark: at }))
    }

    fn head_may_be_key(&mut self) -> Result<bool, Error> {
        if self.ended {
            return Ok(false);
        }
        let taken = self.taken;
        let head = self
            .simple_keys
            .iter()
            .position(|key| key.possible && key.awaited && key.token == taken);
        head.map_or(Ok(false), |index| self.is_key_possible(index))
    }

    /// Returns true if the key of a nesting level is still possible at the current position.
    fn is_key_possible(&mut self, index: usize) -> Result<bool, Error> {
        let key = self.simple_keys[index];
        if !key.possible {
            return Ok(false);
        }
        if key.mark.line == self.line && !self.is_too_far(key.mark.offset) {
            return Ok(true);
        }
        // At the indentation of its map, nothing but a key may begin a line.
        if key.required {
            return Err(no_colon(key.mark));
        }
        self.simple_keys[index].possible = false;
        Ok(false)
    }

    fn is_too_far(&self, start: usize) -> bool {
        let bytes = self.pos - start;
        // Characters are counted only if there are enough bytes for it to matter.
        bytes > MAX_KEY
            && self.text.get(start..self.pos).is_none_or(|key| key.chars().count() > MAX_KEY)
    }

    /// Notes that a key may begin here.
    fn save_simple_key(&mut self, collection: bool) -> Result<(), Error> {
        if self.simple_key_allowed {
            self.remove_simple_key()?;
            let mark = self.mark();
            // In a flow collection a text without `:` is an item, so nothing is required.
            let required = self.flow == 0 && self.indent == column(mark);
            let token = self.taken + self.queue.len();
            let key =
                SimpleKey { possible: true, required, collection, awaited: true, token, mark };
            if let Some(last) = self.simple_keys.last_mut() {
                *last = key;
            }
        }
        Ok(())
    }

    /// Begins a scalar, an alias or the property of a value, which may all be a key.
    fn begin_scalar(&mut self) -> Result<Mark, Error> {
        self.save_simple_key(false)?;
        self.simple_key_allowed = false;
        Ok(self.mark())
    }

    /// Discards the possible key of the current nesting level.
    fn remove_simple_key(&mut self) -> Result<(), Error> {
        match self.simple_keys.last_mut() {
            Some(key) if key.possible && key.required => Err(no_colon(key.mark)),
            Some(key) => {
                key.possible = false;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Opens a block list or map if `column` is further in than the current one. Its token is
    /// inserted before the token `number`, or appended.
    fn roll_indent(&mut self, mark: Mark, number: Option<usize>, kind: TokenKind<'t>) {
        if self.flow == 0 && self.indent < column(mark) {
            self.indents.push(self.indent);
            self.indent = column(mark);
            self.insert(number, Token { kind, mark });
        }
    }

    /// Closes the block lists and maps that are further in than `column`.
    fn unroll_indent(&mut self, column: isize) {
        // Indentation has no meaning inside of brackets.
        while self.flow == 0 && self.indent > column {
            self.push(TokenKind::BlockEnd, self.mark());
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn insert(&mut self, number: Option<usize>, token: Token<'t>) {
        match number.and_then(|number| number.checked_sub(self.taken)) {
            // In front of the tokens of the key, which were queued before its `:` was found.
            Some(index) if index < self.queue.len() => self.queue.insert(index, token),
            _ => self.queue.push_back(token),
        }
    }

    fn push(&mut self, kind: TokenKind<'t>, mark: Mark) {
        self.queue.push_back(Token { kind, mark });
    }

    /// Scans one more token.
    fn fetch(&mut self) -> Result<(), Error> {
        self.skip_to_token()?;
        let mark = self.mark();
        self.unroll_indent(column(mark));
        let next_is_blank = || self.is_blank_break_or_end(self.pos + 1);
        match self.byte(self.pos) {
            0 => self.fetch_end(),
            // The order of these arms is libyaml's (yaml_parser_fetch_next_token): the first that
            // fits wins.
            b'%' if mark.indentation() == 0 => Err(Error::new(
                "directives such as `%YAML` cannot be read by Kubernetes, which divides documents \
                 at the `---` that follows them",
                mark,
            )),
            b'-' | b'.' if self.is_document_indicator() => self.fetch_document_indicator(),
            b'[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if next_is_blank() => self.fetch_block_entry(),
            // In flow context both are indicators without a blank after them, which is YAML 1.1.
            b'?' if self.flow > 0 || next_is_blank() => self.fetch_key(),
            b':' if self.flow > 0 || next_is_blank() => self.fetch_value(),
            b'*' | b'&' => self.fetch_anchor(),
            b'!' => self.fetch_tag(),
            b'|' | b'>' if self.flow == 0 => self.fetch_block_scalar(),
            b'\'' | b'"' => self.fetch_quoted(),
            b'\t' => {
                Err(Error::new("found a tab where indentation is expected", mark)
                    .caused_by(Cause::Tab))
            }
            found @ (b'%' | b'@' | b'`' | b'|' | b'>') => Err(Error::new(
                format!("a value cannot start with `{}` unless it is quoted", char::from(found)),
                mark,
            )),
            // Go skips it, and then one character of each line.
            0xEF if mark.indentation() == 0 && self.text[self.pos..].starts_with('\u{feff}') => {
                Err(Error::new("found a byte order mark inside the file", mark))
            }
            _ => self.fetch_plain(),
        }
    }

    fn fetch_end(&mut self) -> Result<(), Error> {
        self.unroll_indent(-1);
        // A required key at the end of the stream is an error.
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.ended = true;
        self.push(TokenKind::StreamEnd, self.mark());
        Ok(())
    }

    fn fetch_document_indicator(&mut self) -> Result<(), Error> {
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        let start = self.byte(self.pos) == b'-';
        let kind = if start { TokenKind::DocumentStart } else { TokenKind::DocumentEnd };
        self.pass(kind, 3, false)
    }

    /// Passes an indicator of some bytes, after which a simple key may follow or not.
    fn pass(&mut self, kind: TokenKind<'t>, bytes: usize, key_follows: bool) -> Result<(), Error> {
        self.simple_key_allowed = key_follows;
        self.push(kind, self.mark());
        self.pos += bytes;
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind<'t>) -> Result<(), Error> {
        self.save_simple_key(true)?;
        let token = self.taken + self.queue.len();
        self.simple_keys.push(SimpleKey::none(token, self.mark()));
        self.flow += 1;
        self.pass(kind, 1, true)
    }

    fn fetch_flow_end(&mut self, kind: TokenKind<'t>) -> Result<(), Error> {
        self.remove_simple_key()?;
        if self.flow > 0 {
            self.flow -= 1;
            let closed = self.simple_keys.pop().map(|key| key.token);
            // The collection itself may be a key, which is then reported at its `:`.
            for key in &mut self.simple_keys {
                // yaml_parser_decrease_flow_level deletes this token's entry of
                // `simple_keys_by_tok`, also if it is that of an outer key.
                key.awaited &= Some(key.token) != closed;
            }
        }
        self.pass(kind, 1, false)
    }

    fn fetch_flow_entry(&mut self) -> Result<(), Error> {
        self.remove_simple_key()?;
        self.pass(TokenKind::FlowEntry, 1, true)
    }

    fn fetch_block_entry(&mut self) -> Result<(), Error> {
        // In flow lists `- ` is the parser's to refuse. An item at the indentation of its map opens
        // no list here: the parser knows such lists from `-` alone.
        self.begin_block(TokenKind::BlockSequenceStart, "block sequence entries")?;
        self.remove_simple_key()?;
        self.pass(TokenKind::BlockEntry, 1, true)
    }

    fn fetch_key(&mut self) -> Result<(), Error> {
        self.begin_block(TokenKind::BlockMappingStart, "mapping keys")?;
        self.remove_simple_key()?;
        self.pass(TokenKind::Key, 1, self.flow == 0)
    }

    /// Opens a collection, unless it is open or in brackets.
    fn begin_block(&mut self, kind: TokenKind<'t>, what: &str) -> Result<(), Error> {
        let mark = self.mark();
        if self.flow == 0 && !self.simple_key_allowed {
            return Err(Error::new(format!("{what} are not allowed in this context"), mark));
        }
        self.roll_indent(mark, None, kind);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), Error> {
        let level = self.simple_keys.len() - 1;
        let is_simple_key = self.is_key_possible(level)?;
        if is_simple_key {
            let key = self.simple_keys[level];
            if key.collection {
                // Go refuses it later, and misreads `[]: x`.
                let message = "a map key must be a string, number or boolean";
                return Err(Error::new(message, key.mark));
            }
            self.insert(Some(key.token), Token { kind: TokenKind::Key, mark: key.mark });
            self.roll_indent(key.mark, Some(key.token), TokenKind::BlockMappingStart);
            self.simple_keys[level].possible = false;
        } else {
            self.begin_block(TokenKind::BlockMappingStart, "mapping values")
                .map_err(|error| error.caused_by(Cause::Indentation))?;
        }
        self.pass(TokenKind::Value, 1, !is_simple_key && self.flow == 0)
    }

    /// Skips blanks, comments and line breaks.
    fn skip_to_token(&mut self) -> Result<(), Error> {
        loop {
            // Where a key may begin, blanks are indentation, and tabs are not allowed in it.
            let tabs = self.flow > 0 || !self.simple_key_allowed;
            loop {
                self.pos += blanks(self.text.as_bytes().get(self.pos..).unwrap_or_default());
                if !(tabs && self.byte(self.pos) == b'\t') {
                    break;
                }
                self.pos += 1;
            }
            if self.byte(self.pos) == b'#' {
                self.skip_line_content();
            }
            if self.skip_break().is_none() {
                return Ok(());
            }
            if self.flow == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    /// Moves to the end of the line.
    fn skip_line_content(&mut self) {
        let text = self.text.as_bytes();
        while !self.is_break_or_end(self.pos) {
            // The first byte of a character may be that of a line break, and is none.
            let rest = &text[self.pos + 1..];
            let rest = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
            self.pos += 1 + memchr::memchr3(b'\r', 0xC2, 0xE2, rest).unwrap_or(rest.len());
        }
    }

    /// Moves over a line break and returns the text that it is in a scalar.
    fn skip_break(&mut self) -> Option<&'static str> {
        let (bytes, text) = match self.byte(self.pos) {
            b'\n' => (1, "\n"),
            // Lines lose `\r\n` before they are parsed, and again while they are.
            b'\r' => match (self.byte(self.pos + 1), self.byte(self.pos + 2)) {
                (b'\r', b'\n') => (3, "\n"),
                (b'\n', _) => (2, "\n"),
                _ => (1, "\n"),
            },
            // U+0085, U+2028 and U+2029 are line breaks in YAML 1.1 and not in 1.2.
            0xC2 if self.byte(self.pos + 1) == 0x85 => (2, "\n"),
            0xE2 if self.byte(self.pos + 1) == 0x80 => match self.byte(self.pos + 2) {
                0xA8 => (3, "\u{2028}"),
                0xA9 => (3, "\u{2029}"),
                _ => return None,
            },
            _ => return None,
        };
        self.pos += bytes;
        self.line += 1;
        self.line_start = self.pos;
        Some(text)
    }

    fn mark(&self) -> Mark {
        Mark { offset: self.pos, line: self.line, line_start: self.line_start }
    }

    /// Returns the byte at an offset; 0 at the end, because no document has one. Every line endings
    /// in a line break, also where the last one of the file does not.
    fn byte(&self, offset: usize) -> u8 {
        match self.text.as_bytes().get(offset) {
            Some(byte) => *byte,
            None if offset == self.text.len() && !self.text.ends_with('\n') => b'\n',
            None => 0,
        }
    }

    fn is_blank(&self, offset: usize) -> bool {
        matches!(self.byte(offset), b' ' | b'\t')
    }

    fn is_break(&self, offset: usize) -> bool {
        match self.byte(offset) {
            b'\n' | b'\r' => true,
            0xC2 => self.byte(offset + 1) == 0x85,
            0xE2 => self.byte(offset + 1) == 0x80 && matches!(self.byte(offset + 2), 0xA8 | 0xA9),
            _ => false,
        }
    }

    fn is_break_or_end(&self, offset: usize) -> bool {
        self.byte(offset) == 0 || self.is_break(offset)
    }

    fn is_blank_break_or_end(&self, offset: usize) -> bool {
        self.is_blank(offset) || self.is_break_or_end(offset)
    }

    /// Returns true if the line starts with `---` or `...` here.
    fn is_document_indicator(&self) -> bool {
        self.pos == self.line_start
            && matches!(self.text.as_bytes().get(self.pos..self.pos + 3), Some(b"---" | b"..."))
            && self.is_blank_break_or_end(self.pos + 3)
    }
}

fn no_colon(mark: Mark) -> Error {
    Error::new("could not find expected ':' of the key that starts here", mark)
}

/// Returns the number of blanks that a text begins with. Half of a manifest is indentation.
fn blanks(text: &[u8]) -> usize {
    const EIGHT: [u8; 8] = [b' '; 8];
    // Indentation is a third of the bytes of a CRD.
    let many = text.chunks_exact(8).take_while(|chunk| *chunk == EIGHT).count() * 8;
    many + text[many..].iter().take_while(|byte| **byte == b' ').count()
}

/// Returns the column of a position, as compared with indentation.
fn column(mark: Mark) -> isize {
    isize::try_from(mark.indentation()).unwrap_or(isize::MAX)
}

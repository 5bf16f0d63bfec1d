//! Parses one JSON value into events, by the rules of Go's encoding/json.

use super::scalar::hexadecimal;
use super::{Error, Event, MAX_DEPTH, Mark, Style};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The next expected token in an open list or map.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Item,
    Key,
    /// The value of a key.
    Value,
}

/// A parser of one list or map.
pub(super) struct Parser<'t> {
    text: &'t str,
    pos: usize,
    line: usize,
    line_start: usize,
    open: Vec<Open>,
    /// True at the beginning of a list or map, which has no comma.
    first: bool,
    begun: bool,
}

type Next<'t> = Result<(Event<'t>, Mark), Error>;

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, start: Mark) -> Self {
        Parser {
            text,
            pos: start.offset,
            line: start.line,
            line_start: start.line_start,
            open: Vec::new(),
            first: false,
            begun: false,
        }
    }

    /// Returns the current position; after the last event, the end of the value.
    pub(super) fn mark(&self) -> Mark {
        Mark { offset: self.pos, line: self.line, line_start: self.line_start }
    }

    /// Returns the next event; nothing at the end.
    pub(super) fn next(&mut self) -> Option<Next<'t>> {
        let is_done = std::mem::replace(&mut self.begun, true) && self.open.is_empty();
        (!is_done).then(|| self.step())
    }

    fn step(&mut self) -> Next<'t> {
        self.skip_space();

        match self.open.last().copied() {
            None => self.value(),
            Some(Open::Value) => {
                self.expect(b':', "`:`")?;
                self.skip_space();
                self.replace(Open::Key);
                self.value()
            }
            Some(Open::Item) if self.next_in(b']', "`,` or `]`")? => self.value(),
            Some(Open::Item) => self.close(Event::SequenceEnd),
            Some(Open::Key) if self.next_in(b'}', "`,` or `}`")? => {
                self.replace(Open::Value);
                self.string()
            }
            Some(Open::Key) => self.close(Event::MappingEnd),
        }
    }

    /// Returns true if a list or map that ends with `end` goes on, after the comma.
    fn next_in(&mut self, end: u8, expected: &str) -> Result<bool, Error> {
        let is_first = std::mem::take(&mut self.first);
        if self.byte() == Some(end) {
            return Ok(false);
        }
        if !is_first {
            self.expect(b',', expected)?;
            self.skip_space();
        }
        Ok(true)
    }

    fn value(&mut self) -> Next<'t> {
        let mark = self.mark();
        match self.byte() {
            Some(b'[') => {
                self.enter(Open::Item)?;
                Ok((Event::SequenceStart { anchor: 0 }, mark))
            }
            Some(b'{') => {
                self.enter(Open::Key)?;
                Ok((Event::MappingStart { anchor: 0 }, mark))
            }
            Some(b'"') => self.string(),
            _ => Ok((scalar(Cow::Borrowed(self.bare()?), Style::Json), mark)),
        }
    }

    fn enter(&mut self, open: Open) -> Result<(), Error> {
        if self.open.len() == MAX_DEPTH {
            return Err(Error::too_deep(self.mark()));
        }
        self.pos += 1;
        self.open.push(open);
        self.first = true;
        Ok(())
    }

    fn close(&mut self, event: Event<'t>) -> Next<'t> {
        let mark = self.mark();
        self.pos += 1;
        self.open.pop();
        Ok((event, mark))
    }

    fn replace(&mut self, open: Open) {
        if let Some(last) = self.open.last_mut() {
            *last = open;
        }
    }

    /// Scans a number, `true`, `false` or `null`.
    fn bare(&mut self) -> Result<&'t str, Error> {
        let mark = self.mark();
        let rest = &self.text.as_bytes()[self.pos..];
        let length = rest
            .iter()
            .position(|byte| !(byte.is_ascii_alphanumeric() || b"+-.".contains(byte)))
            .unwrap_or(rest.len());
        let text = &self.text[self.pos..self.pos + length];
        // The whole word is taken first, so that `01` and `1x` are errors at their beginning, not
        // at the rest.
        if serde_json::from_str::<&RawValue>(text).is_err() {
            return Err(Error::new("expected a JSON value", mark));
        }
        self.pos += length;
        Ok(text)
    }

    fn string(&mut self) -> Next<'t> {
        let mark = self.mark();
        self.expect(b'"', "a string in double quotes")?;
        let mut owned: Option<String> = None;
        let mut run = self.pos;
        loop {
            match self.byte() {
                Some(b'"') => break,
                Some(b'\\') => {
                    let text = owned.get_or_insert_default();
                    text.push_str(&self.text[run..self.pos]);
                    let escaped = self.escape()?;
                    owned.get_or_insert_default().push(escaped);
                    run = self.pos;
                }
                Some(0..0x20) => {
                    return Err(Error::new("found a control character in a string", self.mark()));
                }
                Some(_) => self.pos += 1,
                None => return Err(Error::new("unclosed string", mark)),
            }
        }

        let last = &self.text[run..self.pos];
        self.pos += 1;
        let text = match owned {
            None => Cow::Borrowed(last),
            Some(text) => Cow::Owned(text + last),
        };

        Ok((scalar(text, Style::Quoted), mark))
    }

    fn escape(&mut self) -> Result<char, Error> {
        let mark = self.mark();
        let wrong = || Error::new("found an escape that JSON does not have", mark);
        let letter = self.text.as_bytes().get(self.pos + 1).copied().ok_or_else(wrong)?;
        self.pos += 2;
        Ok(match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.code_unit(self.pos).ok_or_else(wrong)?;
                self.pos += 4;
                // Half of a pair before another escape must not swallow it, so it is only looked at
                // here.
                let second = self
                    .text
                    .get(self.pos..self.pos + 2)
                    .filter(|next| *next == "\\u")
                    .and_then(|_| self.code_unit(self.pos + 2));
                let decoded = char::decode_utf16([first].into_iter().chain(second)).next();
                match decoded {
                    Some(Ok(character)) => {
                        self.pos += if character.len_utf16() == 2 { 6 } else { 0 };
                        character
                    }
                    // As Go reads half of a pair.
                    _ => char::REPLACEMENT_CHARACTER,
                }
            }
            _ => return Err(wrong()),
        })
    }

    fn code_unit(&self, start: usize) -> Option<u16> {
        u16::try_from(hexadecimal(self.text, start, 4)?).ok()
    }

    fn expect(&mut self, byte: u8, expected: &str) -> Result<(), Error> {
        if self.byte() != Some(byte) {
            return Err(Error::new(format!("expected {expected}"), self.mark()));
        }
        self.pos += 1;
        Ok(())
    }

    fn skip_space(&mut self) {
        while let Some(byte @ (b' ' | b'\t' | b'\r' | b'\n')) = self.byte() {
            self.pos += 1;
            if byte == b'\n' {
                self.line += 1;
                self.line_start = self.pos;
            }
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }
}

fn scalar(text: Cow<'_, str>, style: Style) -> Event<'_> {
    Event::Scalar { text, style, anchor: 0, tag: None }
}

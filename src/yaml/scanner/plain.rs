//! Scalars without quotes.

use super::{Scanner, TokenKind, column};
use crate::yaml::Error;
use std::borrow::Cow;

impl<'t> Scanner<'t> {
    pub(super) fn fetch_plain(&mut self) -> Result<(), Error> {
        self.save_simple_key(false)?;
        self.simple_key_allowed = false;
        let mark = self.mark();
        let text = self.scan_plain()?;
        self.push(TokenKind::Plain(text), mark);
        Ok(())
    }

    /// Scans a plain scalar: lines are joined by a blank, and the blanks around them go.
    fn scan_plain(&mut self) -> Result<Cow<'t, str>, Error> {
        let start = self.mark();
        let indent = self.indent + 1;
        // Lines that were joined, then the part of the current line.
        let mut joined: Option<String> = None;
        let mut part = self.pos..self.pos;
        let mut breaks = Breaks::default();
        loop {
            if self.is_document_indicator() || self.byte(self.pos) == b'#' {
                break;
            }
            let word = self.pos;
            self.skip_word();
            if self.pos > word {
                if breaks.is_empty() {
                    part.end = self.pos;
                } else {
                    let text = joined.get_or_insert_default();
                    text.push_str(&self.text[part]);
                    breaks.fold_into(text);
                    part = word..self.pos;
                }
            }
            if !self.is_blank(self.pos) && !self.is_break(self.pos) {
                break;
            }

            loop {
                if self.is_blank(self.pos) {
                    let tab = self.byte(self.pos) == b'\t';
                    if tab && !breaks.is_empty() && column(self.mark()) < indent {
                        let message = "found a tab character that violates indentation";
                        return Err(Error::new(message, start));
                    }
                    self.pos += 1;
                } else if let Some(text) = self.skip_break() {
                    breaks.push(text);
                } else {
                    break;
                }
            }
            if self.flow == 0 && column(self.mark()) < indent {
                break;
            }
        }
        // After a line break there may be a key.
        if !breaks.is_empty() {
            self.simple_key_allowed = true;
        }

        let last = &self.text[part];
        Ok(match joined {
            None => Cow::Borrowed(last),
            Some(mut text) => {
                text.push_str(last);
                Cow::Owned(text)
            }
        })
    }

    /// Moves to the end of what belongs to the scalar and has no blanks.
    fn skip_word(&mut self) {
        let text = self.text.as_bytes();
        loop {
            let rest = text.get(self.pos..).unwrap_or_default();
            let stop = rest.iter().position(|byte| MAY_END[usize::from(*byte)]);
            self.pos += stop.unwrap_or(rest.len());
            match self.byte(self.pos) {
                b':' if !self.is_blank_break_or_end(self.pos + 1) => {}
                b',' | b'?' | b'[' | b']' | b'{' | b'}' if self.flow == 0 => {}
                0xC2 | 0xE2 if !self.is_break(self.pos) => {}
                _ => return,
            }
            self.pos += 1;
        }
    }
}

/// The bytes at which a word may end: blanks, indicators and the first bytes of line breaks.
const MAY_END: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b" \t\n\r:,?[]{}\xC2\xE2";
    let mut index = 0;
    while index < bytes.len() {
        table[bytes[index] as usize] = true;
        index += 1;
    }
    table
};

/// Line breaks between two parts of a scalar.
#[derive(Default)]
pub(super) struct Breaks {
    first: Option<&'static str>,
    others: String,
}

impl Breaks {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn push(&mut self, text: &'static str) {
        match self.first {
            None => self.first = Some(text),
            Some(_) => self.others.push_str(text),
        }
    }

    /// Writes what they are in the scalar: one line break is a blank, of more the first goes.
    pub(super) fn fold_into(&mut self, text: &mut String) {
        match self.first.take() {
            Some("\n") if self.others.is_empty() => text.push(' '),
            Some("\n") | None => {}
            Some(separator) => text.push_str(separator),
        }
        text.push_str(&self.others);
        self.others.clear();
    }
}

//! Scalars without quotes.

use super::{MAX_KEY, Scanner, TokenKind, blanks, column};
use crate::{Cause, Error, Mark};
use std::borrow::Cow;

impl<'t> Scanner<'t> {
    pub(super) fn fetch_plain(&mut self) -> Result<(), Error> {
        // Nearly all lines of a manifest are `key: value` or `- value`. This short cut makes the
        // same tokens as the general way below.
        if self.flow == 0
            && let Some((end, colon)) = self.find_end_in_line()
        {
            if let Some(colon) = colon {
                // Bytes are no fewer than characters; a longer key goes the general way, which
                // counts.
                if self.simple_key_allowed && colon - self.pos <= MAX_KEY {
                    return self.fetch_plain_key(end, colon);
                }
            } else if let Some(next) = self.line_after(end) {
                return self.fetch_plain_line(end, next);
            }
        }
        let mark = self.begin_scalar()?;
        let text = self.scan_plain()?;
        self.push(TokenKind::Plain(text), mark);
        Ok(())
    }

    /// Finds the end of a scalar in its line, without trailing blanks, and the `:` if it is a key.
    /// Returns `None` for lines that need the general method: with a comment, with a line break
    /// other than `\n`, or at the end of the text.
    fn find_end_in_line(&self) -> Option<(usize, Option<usize>)> {
        if self.is_document_indicator() {
            return None;
        }
        let rest = &self.text.as_bytes()[self.pos..];
        let line = &rest[..memchr::memchr(b'\n', rest)?];
        // A line break that is not `\n`, or the first byte of one.
        if memchr::memchr3(b'\r', 0xC2, 0xE2, line).is_some() {
            return None;
        }
        let is_blank = |at: usize| line.get(at).is_none_or(|byte| matches!(byte, b' ' | b'\t'));
        let mut stops = memchr::memchr2_iter(b':', b'#', line);
        let stop = stops.find(|stop| match line[*stop] {
            b':' => is_blank(*stop + 1),
            _ => *stop == 0 || is_blank(*stop - 1),
        });
        // A comment.
        if stop.is_some_and(|stop| line[stop] == b'#') {
            return None;
        }
        let content = &line[..stop.unwrap_or(line.len())];
        let end = content.iter().rposition(|byte| !matches!(byte, b' ' | b'\t'))? + 1;
        Some((self.pos + end, stop.map(|stop| self.pos + stop)))
    }

    /// Returns the first token's position in the next line, if that line cannot continue the scalar
    /// that ends at `end`. Returns `None` for lines that need the general method.
    fn line_after(&self, end: usize) -> Option<Mark> {
        let text = self.text.as_bytes();
        let start = end + memchr::memchr(b'\n', &text[end..])? + 1;
        let offset = start + blanks(&text[start..]);
        if matches!(text.get(offset)?, b'\t' | b'\n' | b'\r' | 0xC2 | 0xE2) {
            return None;
        }
        let mark = Mark { offset, line: self.line + 1, line_start: start };
        // A line further in continues the scalar, unless it is a comment.
        (column(mark) <= self.indent).then_some(mark)
    }

    /// Scans a key without quotes, and its `:`.
    fn fetch_plain_key(&mut self, end: usize, colon: usize) -> Result<(), Error> {
        let mark = self.mark();
        let text = &self.text[mark.offset..end];
        self.remove_simple_key()?;
        self.roll_indent(mark, None, TokenKind::BlockMappingStart);
        // After an anchor or tag no key is allowed here, so no token waits, and these are in order.
        self.push(TokenKind::Key, mark);
        self.push(TokenKind::Plain(Cow::Borrowed(text)), mark);

        self.pos = colon;
        self.push(TokenKind::Value, self.mark());
        self.pos += 1;
        self.simple_key_allowed = false;
        Ok(())
    }

    /// Scans a scalar that is all of the rest of a line; the next token is at `next`.
    fn fetch_plain_line(&mut self, end: usize, next: Mark) -> Result<(), Error> {
        self.save_simple_key(false)?;
        let mark = self.mark();
        let text = &self.text[mark.offset..end];
        self.push(TokenKind::Plain(Cow::Borrowed(text)), mark);
        (self.pos, self.line, self.line_start) = (next.offset, next.line, next.line_start);
        // After a line break there may be a key.
        self.simple_key_allowed = true;
        Ok(())
    }

    /// Scans a plain scalar: lines are joined by a blank, and the blanks around them go.
    fn scan_plain(&mut self) -> Result<Cow<'t, str>, Error> {
        let start = self.mark();
        let indent = self.indent + 1;
        // Lines that were joined, then the part of the current line.
        let mut joined: Option<String> = None;
        let mut part = self.pos..self.pos;
        let mut breaks = String::new();
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
                    fold_into(text, &breaks);
                    breaks.clear();
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
                        return Err(Error::new(message, start).caused_by(Cause::Tab));
                    }
                    self.pos += 1;
                } else if let Some(text) = self.skip_break() {
                    breaks.push_str(text);
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

    /// Moves to the end of the current word of the scalar.
    fn skip_word(&mut self) {
        let text = self.text.as_bytes();
        loop {
            let rest = text.get(self.pos..).unwrap_or_default();
            let stop = rest.iter().position(|byte| MAY_END[usize::from(*byte)]);
            self.pos += stop.unwrap_or(rest.len());
            match self.byte(self.pos) {
                b':' if !self.is_blank_break_or_end(self.pos + 1) => {}
                // Go ends a word at `?` in flow context, too, unlike YAML 1.2.
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

/// Folds the line breaks between two parts of a scalar: a single one becomes a space; of several, the
/// first is removed.
pub(super) fn fold_into(text: &mut String, breaks: &str) {
    match breaks {
        "\n" => text.push(' '),
        _ => text.push_str(breaks.strip_prefix('\n').unwrap_or(breaks)),
    }
}

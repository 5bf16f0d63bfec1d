//! Scalars in quotes.

use super::plain::fold_into;
use super::{Scanner, TokenKind};
use crate::scalar::hexadecimal;
use crate::{Error, Mark};
use std::borrow::Cow;

impl<'t> Scanner<'t> {
    pub(super) fn fetch_quoted(&mut self) -> Result<(), Error> {
        let mark = self.begin_scalar()?;
        let text = match self.scan_unbroken() {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(self.scan_quoted()?),
        };
        self.push(TokenKind::Quoted(text), mark);
        Ok(())
    }

    /// Scans a scalar of one line in which nothing is escaped; otherwise does nothing.
    fn scan_unbroken(&mut self) -> Option<&'t str> {
        let quote = self.byte(self.pos);
        let rest = &self.text.as_bytes()[self.pos + 1..];
        let end = rest.iter().position(|byte| match byte {
            // 0xC2 and 0xE2 begin U+0085, U+2028 and U+2029, which are line breaks in YAML 1.1.
            b'\n' | b'\r' | 0xC2 | 0xE2 => true,
            b'\\' => quote == b'"',
            byte => *byte == quote,
        })?;
        let escaped = quote == b'\'' && rest.get(end + 1) == Some(&quote);
        if rest[end] != quote || escaped {
            return None;
        }
        let start = self.pos + 1;
        self.pos = start + end + 1;
        Some(&self.text[start..start + end])
    }

    fn scan_quoted(&mut self) -> Result<String, Error> {
        let start = self.mark();
        let quote = self.byte(self.pos);
        self.pos += 1;
        let mut text = String::new();
        loop {
            if self.is_document_indicator() {
                let message = "found a document indicator inside a quoted scalar";
                return Err(Error::new(message, self.mark()));
            }
            if self.byte(self.pos) == 0 {
                return Err(Error::new("unclosed quoted string", start));
            }

            let continues = self.scan_word(quote, start, &mut text)?;
            if self.byte(self.pos) == quote {
                self.pos += 1;
                return Ok(text);
            }

            let blanks = self.pos;
            while self.is_blank(self.pos) {
                self.pos += 1;
            }
            if !continues && !self.is_break(self.pos) {
                text.push_str(&self.text[blanks..self.pos]);
                continue;
            }
            let mut breaks = String::new();
            loop {
                if self.is_blank(self.pos) {
                    self.pos += 1;
                } else if let Some(found) = self.skip_break() {
                    breaks.push_str(found);
                } else {
                    break;
                }
            }
            // The escaped line break is gone, so those after it are not folded.
            if continues {
                text.push_str(&breaks);
            } else {
                fold_into(&mut text, &breaks);
            }
        }
    }

    /// Scans up to a blank, a line break or the closing quote. Returns true if it ended in an
    /// escaped line break.
    fn scan_word(&mut self, quote: u8, start: Mark, text: &mut String) -> Result<bool, Error> {
        loop {
            let run = self.pos;
            while !self.is_blank_break_or_end(self.pos)
                && self.byte(self.pos) != quote
                && (quote == b'\'' || self.byte(self.pos) != b'\\')
            {
                self.pos += 1;
            }
            text.push_str(&self.text[run..self.pos]);

            match self.byte(self.pos) {
                b'\'' if quote == b'\'' && self.byte(self.pos + 1) == b'\'' => {
                    text.push('\'');
                    self.pos += 2;
                }
                b'\\' if quote == b'"' && self.is_break(self.pos + 1) => {
                    self.pos += 1;
                    self.skip_break();
                    return Ok(true);
                }
                b'\\' if quote == b'"' => text.push(self.scan_escape(start)?),
                _ => return Ok(false),
            }
        }
    }

    fn scan_escape(&mut self, start: Mark) -> Result<char, Error> {
        let mark = self.mark();
        let digits = match self.byte(self.pos + 1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            other => {
                let Some(character) = simple_escape(other) else {
                    let escape = self.text[self.pos + 1..].chars().next().unwrap_or('\n');
                    let message = format!(
                        "`\\{}` is no escape of YAML 1.1 in double quotes",
                        escape.escape_default()
                    );
                    return Err(Error::new(message, mark));
                };
                self.pos += 2;
                return Ok(character);
            }
        };

        self.pos += 2;
        let Some(code) = hexadecimal(self.text, self.pos, digits) else {
            let message = "did not find the expected hexadecimal digits of an escape";
            return Err(Error::new(message, if self.line == start.line { mark } else { start }));
        };
        let Some(character) = char::from_u32(code) else {
            let message = "the escape is no Unicode character; YAML has no surrogates";
            return Err(Error::new(message, mark));
        };
        self.pos += digits;

        Ok(character)
    }
}

fn simple_escape(letter: u8) -> Option<char> {
    Some(match letter {
        b'0' => '\0',
        b'a' => '\u{7}',
        b'b' => '\u{8}',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\u{b}',
        b'f' => '\u{c}',
        b'r' => '\r',
        b'e' => '\u{1b}',
        b' ' | b'"' | b'\'' | b'\\' => char::from(letter),
        // `\/` is not among them: it came with YAML 1.2, and go-yaml refuses it.
        b'N' => '\u{85}',
        b'_' => '\u{a0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        _ => return None,
    })
}

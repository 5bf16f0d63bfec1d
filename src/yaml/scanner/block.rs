//! Literal (`|`) and folded (`>`) scalars.

use super::{Scanner, TokenKind};
use crate::{Cause, Error, Mark};
use std::borrow::Cow;

/// The handling of trailing line breaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

impl Scanner<'_> {
    pub(super) fn fetch_block_scalar(&mut self) -> Result<(), Error> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        let mark = self.mark();
        let text = self.scan_block(mark)?;
        self.push(TokenKind::Quoted(Cow::Owned(text)), mark);
        Ok(())
    }

    fn scan_block(&mut self, start: Mark) -> Result<String, Error> {
        let literal = self.byte(self.pos) == b'|';
        self.pos += 1;
        let (chomping, increment) = self.scan_block_header(start)?;
        // 0 until the first line with text shows it.
        let parent = usize::try_from(self.indent).unwrap_or(0);
        let mut indent = if increment > 0 { parent + increment } else { 0 };

        let mut text = String::new();
        let mut trailing = String::new();
        self.scan_block_breaks(&mut indent, &mut trailing, start)?;
        let mut line_break = "";
        // Lines that begin with a blank are not folded.
        let mut after_blank = false;
        while self.mark().indentation() == indent && self.byte(self.pos) != 0 {
            let blank = self.is_blank(self.pos);
            if !literal && !after_blank && !blank && line_break == "\n" {
                if trailing.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(line_break);
            }
            text.push_str(&trailing);
            trailing.clear();
            after_blank = blank;
            let line = self.pos;
            self.skip_line_content();
            text.push_str(&self.text[line..self.pos]);
            line_break = self.skip_break().unwrap_or_default();
            self.scan_block_breaks(&mut indent, &mut trailing, start)?;
        }

        if chomping != Chomping::Strip {
            text.push_str(line_break);
        }
        if chomping == Chomping::Keep {
            text.push_str(&trailing);
        }
        Ok(text)
    }

    /// Scans the rest of the indicator's line: chomping and indentation, in any order.
    fn scan_block_header(&mut self, start: Mark) -> Result<(Chomping, usize), Error> {
        let (mut chomping, mut increment) = (None, None);
        loop {
            match self.byte(self.pos) {
                b'+' if chomping.is_none() => chomping = Some(Chomping::Keep),
                b'-' if chomping.is_none() => chomping = Some(Chomping::Strip),
                b'0' if increment.is_none() => {
                    let message = "found an indentation indicator equal to 0";
                    return Err(Error::new(message, start));
                }
                digit @ b'1'..=b'9' if increment.is_none() => {
                    increment = Some(usize::from(digit - b'0'));
                }
                _ => break,
            }
            self.pos += 1;
        }

        while self.is_blank(self.pos) {
            self.pos += 1;
        }
        if self.byte(self.pos) == b'#' {
            self.skip_line_content();
        }
        if !self.is_break_or_end(self.pos) {
            let message = "did not find a comment or line break after `|` or `>`";
            return Err(Error::new(message, self.mark()));
        }

        self.skip_break();
        Ok((chomping.unwrap_or(Chomping::Clip), increment.unwrap_or(0)))
    }

    /// Scans indentation and empty lines, and finds out the indentation if it is not known.
    fn scan_block_breaks(
        &mut self,
        indent: &mut usize,
        breaks: &mut String,
        start: Mark,
    ) -> Result<(), Error> {
        let mut deepest = 0;

        // Without an indentation indicator, libyaml takes the deepest of the leading lines,
        // including empty ones.
        loop {
            let inside = |scanner: &Self| *indent == 0 || scanner.mark().indentation() < *indent;
            while inside(self) && self.byte(self.pos) == b' ' {
                self.pos += 1;
            }
            deepest = deepest.max(self.mark().indentation());
            if inside(self) && self.byte(self.pos) == b'\t' {
                let message = "found a tab character where an indentation space is expected";
                return Err(Error::new(message, start).caused_by(Cause::Tab));
            }
            match self.skip_break() {
                Some(text) => breaks.push_str(text),
                None => break,
            }
        }
        if *indent == 0 {
            // At least one more than the parent's.
            *indent = deepest.max(usize::try_from(self.indent + 1).unwrap_or(0)).max(1);
        }
        Ok(())
    }
}

//! Anchors, aliases and tags.

use super::{Scanner, TokenKind};
use crate::scalar::hexadecimal;
use crate::{Error, Mark};

/// The prefix of `!!`.
const STANDARD: &str = "tag:yaml.org,2002:";

impl<'t> Scanner<'t> {
    pub(super) fn fetch_anchor(&mut self) -> Result<(), Error> {
        let mark = self.begin_scalar()?;
        let alias = self.byte(self.pos) == b'*';
        self.pos += 1;
        let name = self.scan_word_characters();
        let ends = match self.byte(self.pos) {
            b',' | b']' | b'}' => true,
            // Kubernetes reads `&x:y a: 1` as the key `:y a`, which is never intended.
            b'?' | b':' | b'%' | b'@' | b'`' => alias,
            _ => self.is_blank_break_or_end(self.pos),
        };
        if name.is_empty() || !ends {
            let what = if alias { "an alias" } else { "an anchor" };
            let message =
                format!("the name of {what} consists of ASCII letters, digits, `-` and `_`");
            return Err(Error::new(message, mark));
        }
        self.push(if alias { TokenKind::Alias(name) } else { TokenKind::Anchor(name) }, mark);
        Ok(())
    }

    fn scan_word_characters(&mut self) -> &'t str {
        let start = self.pos;
        while is_word_character(self.byte(self.pos)) {
            self.pos += 1;
        }
        &self.text[start..self.pos]
    }

    pub(super) fn fetch_tag(&mut self) -> Result<(), Error> {
        let mark = self.begin_scalar()?;
        let tag = self.scan_tag(mark)?;
        if !self.is_blank_break_or_end(self.pos) {
            let message = "did not find the expected blank or line break after a tag";
            return Err(Error::new(message, self.mark()));
        }
        self.push(TokenKind::Tag(tag.into()), mark);
        Ok(())
    }

    /// Scans `!<tag>`, `!!name`, `!name` or `!`.
    fn scan_tag(&mut self, mark: Mark) -> Result<String, Error> {
        let nothing = || Error::new("the tag has no name", mark);
        if self.byte(self.pos + 1) == b'<' {
            self.pos += 2;
            let tag = self.scan_uri(mark)?;
            if tag.is_empty() {
                return Err(nothing());
            }
            if self.byte(self.pos) != b'>' {
                return Err(Error::new("did not find the expected `>` of a tag", self.mark()));
            }
            self.pos += 1;
            return Ok(tag);
        }

        self.pos += 1;
        let handle = self.scan_word_characters();
        if self.byte(self.pos) != b'!' {
            return Ok(format!("!{handle}{}", self.scan_uri(mark)?));
        }
        self.pos += 1;
        let name = self.scan_uri(mark)?;

        if name.is_empty() {
            Err(nothing())
        } else if handle.is_empty() {
            Ok(format!("{STANDARD}{name}"))
        } else {
            // Only `%TAG` defines handles, and a document cannot have directives.
            Err(Error::new(format!("the tag handle `!{handle}!` is not defined"), mark))
        }
    }

    fn scan_uri(&mut self, mark: Mark) -> Result<String, Error> {
        let mut uri = Vec::new();
        loop {
            match self.byte(self.pos) {
                b'%' => {
                    let octet = hexadecimal(self.text, self.pos + 1, 2);
                    let octet = octet.and_then(|octet| u8::try_from(octet).ok());
                    uri.push(octet.ok_or_else(|| {
                        let message = "did not find two hexadecimal digits after `%` in a tag";
                        Error::new(message, self.mark())
                    })?);
                    self.pos += 3;
                }
                byte if is_word_character(byte) || b";/?:@&=+$,.!~*'()[]".contains(&byte) => {
                    uri.push(byte);
                    self.pos += 1;
                }
                _ => break,
            }
        }

        String::from_utf8(uri).map_err(|_| Error::new("the tag is not UTF-8", mark))
    }
}

fn is_word_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

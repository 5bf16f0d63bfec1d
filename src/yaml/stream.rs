//! Divides a text into documents as `YAMLOrJSONDecoder` and `YAMLReader` of
//! k8s.io/apimachinery/pkg/util/yaml do.

use super::scanner::Scanner;
use super::{Error, Event, Mark, json, parser};
use memchr::memmem::Finder;

/// Maximum offset of the `{` that makes Go detect JSON.
const GUESSED: usize = 4096;

/// The events of all documents of a text, up to the first mistake.
pub struct Events<'t> {
    text: &'t str,
    /// Start of the next document.
    next: Mark,
    /// Number of JSON values read; `None` once YAML is detected.
    json: Option<usize>,
    document: Option<Document<'t>>,
    /// Number of the current document.
    current: usize,
    /// Number of started documents. A separator starts one, and so does a value without a
    /// separator.
    begun: usize,
    /// True once a separator has started a document: each later one has a separator, too.
    separated: bool,
    /// True if the separator before the next document has been read.
    passed: bool,
    separator: Finder<'static>,
    failed: bool,
}

enum Document<'t> {
    Json(json::Parser<'t>),
    Yaml(Box<parser::Parser<'t>>),
}

impl<'t> Iterator for Events<'t> {
    type Item = Result<(Event<'t>, Mark), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        loop {
            let event = match &mut self.document {
                Some(Document::Json(json)) => json.next(),
                Some(Document::Yaml(yaml)) => yaml.next(),
                None => None,
            };

            if let Some(event) = event {
                // Only here: a part of comments alone is no document.
                self.begun = self.current;
                // After an error the scanner is somewhere inside of a token; further events would be
                // invented.
                self.failed = event.is_err();
                return Some(event);
            }

            // The document is read to its end, and the next one begins.
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            }
        }
    }
}

impl<'t> Events<'t> {
    /// Reads `text`. A byte order mark at its beginning is skipped.
    pub fn new(text: &'t str) -> Self {
        // A byte order mark is no space, to Go neither: JSON after it is read as YAML.
        let content = text.trim_start();
        // Go looks at one buffer only (utilyaml.GuessJSONStream).
        let guessed = text.len() - content.len() < GUESSED && content.starts_with('{');
        let json = guessed.then_some(0);
        Events {
            text,
            next: Mark { offset: 0, line: 1, line_start: 0 },
            json,
            document: None,
            current: 1,
            begun: 0,
            separated: false,
            passed: false,
            separator: Finder::new("\n---"),
            failed: false,
        }
    }

    /// Returns the 1-based number of the document that is being read.
    pub(crate) fn document(&self) -> usize {
        self.current
    }

    /// Finds the next document; `false` at the end of the text.
    fn advance(&mut self) -> Result<bool, Error> {
        if let Some(read) = self.json {
            if let Some(found) = self.next_json(read)? {
                return Ok(found);
            }
            self.json = None;
            self.skip_line_space()?;
        }
        self.next_yaml()
    }

    /// Finds the next JSON value; `None` if YAML follows. Go only commits to JSON after two values.
    /// After one value, it accepts YAML without a separator, which is never intended.
    fn next_json(&mut self, read: usize) -> Result<Option<bool>, Error> {
        let rest = self.text[self.next.offset..].trim_start_matches([' ', '\t', '\r', '\n']);
        if rest.is_empty() {
            return Ok(Some(false));
        }
        self.number();
        let start = self.mark_of(self.text.len() - rest.len());
        // Go decides again after the first object: what follows may be YAML.
        if read == 1 && (rest.starts_with("---") || rest.starts_with('#')) {
            return Ok(None);
        }
        let not_json = |why: &str, mark| {
            let message = format!(
                "found no JSON object after a JSON object ({why}); `---` in a line of its own \
                 separates JSON from YAML"
            );
            Error::new(message, mark)
        };
        if read > 0 && !rest.starts_with(['{', '[']) {
            return Err(not_json("expected `{`", start));
        }
        // Read twice: Go reads a text as YAML if its first object is invalid JSON, so no event may
        // be passed on before.
        let mut checked = json::Parser::new(self.text, start);
        while let Some(event) = checked.next() {
            match event {
                Ok(_) => {}
                Err(error) if read > 0 => return Err(not_json(&error.message, error.mark)),
                Err(_) => return Ok(None),
            }
        }

        self.next = checked.mark();
        self.json = Some(read + 1);
        self.document = Some(Document::Json(json::Parser::new(self.text, start)));
        Ok(Some(true))
    }

    /// Skips the space before YAML that looked like JSON, up to the end of the line.
    fn skip_line_space(&mut self) -> Result<(), Error> {
        // Go stops if fewer bytes are left, because it decodes characters four bytes at a time.
        const READ: usize = 4;
        let rest = &self.text[self.next.offset..];
        let end = rest.find(|c: char| !c.is_whitespace() || c == '\n').unwrap_or(rest.len());
        if rest.len() - end < READ {
            return Err(Error::new("expected a JSON value", self.mark_of(self.next.offset + end)));
        }
        let end = end + usize::from(rest[end..].starts_with('\n'));
        self.next = self.mark_of(self.next.offset + end);
        // Go begins a line here.
        if self.text[self.next.offset..].starts_with("---") {
            self.next.line_start = self.next.offset;
        }
        Ok(())
    }

    /// Finds the next document of YAML. It ends before the next line that begins with `---`,
    /// whatever that line is part of; only a first line of this kind belongs to the document.
    fn next_yaml(&mut self) -> Result<bool, Error> {
        if std::mem::take(&mut self.passed) {
            self.begun += 1;
            self.separated = true;
        }
        let start = self.next;
        let rest = &self.text[start.offset..];
        if rest.is_empty() {
            return Ok(false);
        }

        let mut first_line = 0;
        if rest.starts_with("---") {
            first_line = self.separator_length(start.offset)?;
            self.begun += 1;
            self.separated = true;
        }
        self.number();
        // Of two separators in a row, only the first belongs to the document: the second ends it.
        let end = if rest[first_line..].starts_with("---") {
            Some(first_line)
        } else {
            self.separator.find(&rest.as_bytes()[first_line..]).map(|at| first_line + at + 1)
        };
        let end = end.map_or(self.text.len(), |end| start.offset + end);

        self.check_characters(start, end)?;
        // Up to the end only: offsets are those of the whole file, for messages.
        let text = &self.text[..end];
        self.next = self.mark_of(end);
        if end < self.text.len() {
            let length = self.separator_length(end)?;
            self.next = self.mark_of(end + length);
            self.passed = true;
        }
        let mut start = start;
        if text[start.offset..].starts_with('\u{feff}') {
            start.offset += '\u{feff}'.len_utf8();
            start.line_start = start.offset;
        }
        let parser = parser::Parser::new(Scanner::new(text, start));
        self.document = Some(Document::Yaml(Box::new(parser)));
        Ok(true)
    }

    /// Numbers the next document.
    fn number(&mut self) {
        self.current = self.begun + usize::from(!self.separated);
    }

    /// Returns the length of the line at `offset`, which begins with `---`.
    fn separator_length(&self, offset: usize) -> Result<usize, Error> {
        let rest = &self.text[offset..];
        let length = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |end| end + 1);
        // Go divides at every line that begins with `---`, also in a block scalar.
        let after = rest[3..length].trim();
        if after.is_empty() || after.starts_with('#') {
            return Ok(length);
        }
        let message = "found something after `---` in the same line; Kubernetes allows only a \
                       comment there, in every line that begins with `---`";
        Err(Error::new(message, self.mark_of(offset)))
    }

    /// Checks that YAML allows all characters between two places.
    fn check_characters(&self, start: Mark, end: usize) -> Result<(), Error> {
        const BLOCK: usize = 256;
        let text = &self.text[start.offset..end];
        let plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r');
        // Whole blocks, without a way out of each, are looked at many bytes at a time.
        let all = |block: &[u8]| block.iter().fold(true, |all, byte| all & plain(byte));
        let blocks = text.as_bytes().chunks(BLOCK).enumerate();
        for (number, _) in blocks.filter(|(_, block)| !all(block)) {
            // The characters that begin in the block.
            let boundary = |at: usize| (at..text.len()).find(|at| text.is_char_boundary(*at));
            let [first, last] =
                [number, number + 1].map(|number| boundary(number * BLOCK).unwrap_or(text.len()));
            let mut characters = text[first..last].char_indices();
            if let Some((at, character)) = characters.find(|(_, one)| !is_allowed(*one)) {
                let code = u32::from(character);
                let message =
                    format!("found the control character U+{code:04X}, which YAML does not allow");
                return Err(Error::new(message, self.mark_of(start.offset + first + at)));
            }
        }
        Ok(())
    }

    /// Returns the mark of an offset that is not before the next document.
    fn mark_of(&self, offset: usize) -> Mark {
        let passed = &self.text.as_bytes()[self.next.offset..offset];
        let line_start = memchr::memrchr(b'\n', passed)
            .map_or(self.next.line_start, |newline| self.next.offset + newline + 1);
        let line = self.next.line + memchr::memchr_iter(b'\n', passed).count();
        Mark { offset, line, line_start }
    }
}

/// Returns true for the characters that YAML 1.1 allows.
fn is_allowed(character: char) -> bool {
    matches!(
        character,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..
    )
}

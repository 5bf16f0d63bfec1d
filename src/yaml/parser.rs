//! Parses the tokens of one document into events, by the grammar of libyaml's parser.

use super::scanner::{Scanner, Token, TokenKind};
use super::{Error, Event, MAX_DEPTH, Mark, Style};
use std::borrow::Cow;
use std::collections::HashMap;

/// The state of the parser: the next expected token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    DocumentStart,
    DocumentEnd,
    BlockEntry,
    /// An entry of a list that is as far in as the key whose value it is.
    IndentlessEntry,
    BlockKey,
    BlockValue,
    FlowEntry {
        first: bool,
    },
    /// In `[a: b]`, a map with one entry.
    PairKey,
    PairValue,
    PairEnd,
    FlowKey {
        first: bool,
    },
    FlowValue,
    /// A key of a flow map without `:`.
    MissingFlowValue,
    End,
}

type Next<'t> = Result<(Event<'t>, Mark), Error>;

pub(super) struct Parser<'t> {
    scanner: Scanner<'t>,
    state: State,
    /// States after the current node.
    states: Vec<State>,
    /// Start positions of the open lists and maps.
    open: Vec<Mark>,
    /// The last definition of each anchor.
    anchors: HashMap<&'t str, usize>,
    defined: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn new(scanner: Scanner<'t>) -> Self {
        Parser {
            scanner,
            state: State::DocumentStart,
            states: Vec::new(),
            open: Vec::new(),
            anchors: HashMap::new(),
            defined: 0,
        }
    }

    /// Returns the next event; nothing at the end.
    pub(super) fn next(&mut self) -> Option<Next<'t>> {
        Some(match self.state {
            State::End => return None,
            State::DocumentStart => return self.document().transpose(),
            State::DocumentEnd => return self.document_end().err().map(Err),
            State::BlockEntry => self.block_entry(),
            State::IndentlessEntry => self.indentless_entry(),
            State::BlockKey => self.block_key(),
            State::BlockValue => self.block_value(),
            State::FlowEntry { first } => self.flow_entry(first, false),
            State::PairKey => self.key_in_flow(&TokenKind::FlowSequenceEnd, State::PairValue),
            State::PairValue => self.value_in_flow(&TokenKind::FlowSequenceEnd, State::PairEnd),
            State::PairEnd => self.pair_end(),
            State::FlowKey { first } => self.flow_entry(first, true),
            State::FlowValue => {
                let next_key = State::FlowKey { first: false };
                self.value_in_flow(&TokenKind::FlowMappingEnd, next_key)
            }
            State::MissingFlowValue => {
                self.state = State::FlowKey { first: false };
                self.empty_here()
            }
        })
    }

    /// Parses the node of the document; only after a `---` it may be missing.
    fn document(&mut self) -> Result<Option<(Event<'t>, Mark)>, Error> {
        match self.scanner.peek()?.kind {
            TokenKind::StreamEnd => return Ok(None),
            TokenKind::DocumentStart => {
                self.scanner.take()?;
                if self.scanner.peek()?.kind.ends_document() {
                    self.state = State::DocumentEnd;
                    return self.empty_here().map(Some);
                }
            }
            _ => {}
        }
        self.nested(State::DocumentEnd, true, false).map(Some)
    }

    /// Checks the end of the document. Go stops reading here and drops what follows silently.
    fn document_end(&mut self) -> Result<(), Error> {
        let dropped = |found: &str, mark| {
            let message = format!(
                "found more after the end of the document, which Kubernetes would drop without a \
                 word: {found}"
            );
            Error::new(message, mark)
        };
        // Go reads one document of each part and ignores the rest, even if it is invalid.
        let rest = |error: Error| dropped(&error.message, error.mark);
        let mut token = self.scanner.peek()?;
        while let TokenKind::DocumentEnd = token.kind {
            self.scanner.take()?;
            token = self.scanner.peek().map_err(rest)?;
        }
        if !matches!(token.kind, TokenKind::StreamEnd) {
            return Err(dropped(token.kind.spelled(), token.mark));
        }
        self.state = State::End;
        Ok(())
    }

    /// Parses a node: properties, then a scalar, list or map.
    fn node(&mut self, block: bool, indentless: bool) -> Next<'t> {
        let token = self.scanner.peek()?;
        let start = token.mark;
        if let TokenKind::Alias(name) = token.kind {
            self.scanner.take()?;
            self.leave();
            let Some(id) = self.anchors.get(name) else {
                return Err(Error::new(
                    format!("no anchor `{name}` comes before this alias"),
                    start,
                ));
            };
            return Ok((Event::Alias(*id), start));
        }
        // In either order, each at most once.
        let (anchor, tag) = self.properties()?;

        let (list, map) = (Event::SequenceStart { anchor }, Event::MappingStart { anchor });
        let token = self.scanner.peek()?;
        let (event, state) = match token.kind {
            // A list at the indentation of its key, which is how kubectl and Helm write lists.
            TokenKind::BlockEntry if indentless => (list, State::IndentlessEntry),
            TokenKind::Plain(_) | TokenKind::Quoted(_) => {
                let Token { kind, .. } = self.scanner.take()?;
                self.leave();
                let (text, style) = match kind {
                    TokenKind::Plain(text) => (text, Style::Plain),
                    TokenKind::Quoted(text) => (text, Style::Quoted),
                    _ => (Cow::default(), Style::Plain),
                };
                return Ok((Event::Scalar { text, style, anchor, tag }, start));
            }
            TokenKind::FlowSequenceStart => (list, State::FlowEntry { first: true }),
            TokenKind::FlowMappingStart => (map, State::FlowKey { first: true }),
            TokenKind::BlockSequenceStart if block => (list, State::BlockEntry),
            TokenKind::BlockMappingStart if block => (map, State::BlockKey),
            // An anchor or a tag alone has an empty value.
            _ if anchor != 0 || tag.is_some() => {
                self.leave();
                let text = Cow::Borrowed("");
                return Ok((Event::Scalar { text, style: Style::Plain, anchor, tag }, start));
            }
            _ => {
                // The bracket is what a person has to find, not the end of the document.
                let Token { ref kind, mark } = *token;
                let message = format!("expected a value, found {}", kind.spelled());
                let unclosed = !block && kind.ends_document();
                return Err(if unclosed { self.unclosed(mark) } else { Error::new(message, mark) });
            }
        };
        // The `-` belongs to the first item.
        if state != State::IndentlessEntry {
            self.scanner.take()?;
        }
        self.enter(start)?;
        self.state = state;
        Ok((event, start))
    }

    /// Parses an anchor and a tag in any order.
    fn properties(&mut self) -> Result<(usize, Option<Box<str>>), Error> {
        let (mut anchor, mut tag) = (0, None);
        loop {
            match self.scanner.peek()?.kind {
                TokenKind::Anchor(name) if anchor == 0 => {
                    self.scanner.take()?;
                    self.defined += 1;
                    anchor = self.defined;
                    self.anchors.insert(name, anchor);
                }
                TokenKind::Tag(_) if tag.is_none() => {
                    if let TokenKind::Tag(name) = self.scanner.take()?.kind {
                        tag = Some(name);
                    }
                }
                _ => return Ok((anchor, tag)),
            }
        }
    }

    /// Notes that a list or map begins.
    fn enter(&mut self, start: Mark) -> Result<(), Error> {
        if self.open.len() == MAX_DEPTH {
            return Err(Error::too_deep(start));
        }
        self.open.push(start);
        Ok(())
    }

    /// Continues with the state after the current node.
    fn leave(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    fn close(&mut self, event: Event<'t>, mark: Mark) -> Next<'t> {
        self.open.pop();
        self.leave();
        Ok((event, mark))
    }

    /// Parses a node, after which `then` follows.
    fn nested(&mut self, then: State, block: bool, indentless: bool) -> Next<'t> {
        self.states.push(then);
        self.node(block, indentless)
    }

    fn empty(&mut self, then: State, mark: Mark) -> Next<'t> {
        self.state = then;
        let text = Cow::Borrowed("");
        Ok((Event::Scalar { text, style: Style::Plain, anchor: 0, tag: None }, mark))
    }

    fn empty_here(&mut self) -> Next<'t> {
        let mark = self.scanner.peek()?.mark;
        self.empty(self.state, mark)
    }

    fn block_entry(&mut self) -> Next<'t> {
        let Token { kind, mark } = self.scanner.take()?;
        match kind {
            TokenKind::BlockEntry => self.item(State::BlockEntry, mark),
            TokenKind::BlockEnd => self.close(Event::SequenceEnd, mark),
            other => Err(self.unexpected("`-`, for the next item of the list", &other, mark)),
        }
    }

    fn indentless_entry(&mut self) -> Next<'t> {
        let token = self.scanner.peek()?;
        let mark = token.mark;
        if !matches!(token.kind, TokenKind::BlockEntry) {
            return self.close(Event::SequenceEnd, mark);
        }
        self.scanner.take()?;
        self.item(State::IndentlessEntry, mark)
    }

    /// Parses an item after its `-`, which is at `mark`.
    fn item(&mut self, then: State, mark: Mark) -> Next<'t> {
        match self.scanner.peek()?.kind {
            // The scanner opens no list at the indentation of its map, so the next key or the end of
            // the map ends an empty item, too.
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                self.empty(then, mark.after(1))
            }
            _ => self.nested(then, true, false),
        }
    }

    fn block_key(&mut self) -> Next<'t> {
        let Token { kind, mark } = self.scanner.take()?;
        match kind {
            TokenKind::Key => self.entry(State::BlockValue, mark),
            TokenKind::BlockEnd => self.close(Event::MappingEnd, mark),
            other => Err(self.unexpected("the next key of the map", &other, mark)),
        }
    }

    fn block_value(&mut self) -> Next<'t> {
        let token = self.scanner.peek()?;
        let mark = token.mark;
        if !matches!(token.kind, TokenKind::Value) {
            return self.empty(State::BlockKey, mark);
        }
        self.scanner.take()?;
        self.entry(State::BlockKey, mark.after(1))
    }

    /// Parses a key or value of a block map; an empty one is at `mark`.
    fn entry(&mut self, then: State, mark: Mark) -> Next<'t> {
        match self.scanner.peek()?.kind {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => self.empty(then, mark),
            _ => self.nested(then, true, true),
        }
    }

    /// Parses an entry of a flow list or map, after the comma before it; a leading comma is an error.
    fn flow_entry(&mut self, first: bool, is_map: bool) -> Next<'t> {
        let (end, closed) = match is_map {
            true => (TokenKind::FlowMappingEnd, Event::MappingEnd),
            false => (TokenKind::FlowSequenceEnd, Event::SequenceEnd),
        };
        if !first && !self.scanner.peek()?.kind.is(&end) {
            let Token { kind, mark } = self.scanner.take()?;
            if !matches!(kind, TokenKind::FlowEntry) {
                let expected = format!("`,` or {}", end.spelled());
                return Err(self.unexpected(&expected, &kind, mark));
            }
        }

        let token = self.scanner.peek()?;
        let mark = token.mark;
        if token.kind.is(&end) {
            self.scanner.take()?;
            return self.close(closed, mark);
        }
        if !matches!(token.kind, TokenKind::Key) {
            let next = State::FlowEntry { first: false };
            return self.nested(if is_map { State::MissingFlowValue } else { next }, false, false);
        }
        self.scanner.take()?;
        if is_map {
            return self.key_in_flow(&end, State::FlowValue);
        }
        self.enter(mark)?;
        self.state = State::PairKey;
        Ok((Event::MappingStart { anchor: 0 }, mark))
    }

    /// Parses a key in a flow collection that ends with `end`; the value follows as `then`.
    fn key_in_flow(&mut self, end: &TokenKind<'_>, then: State) -> Next<'t> {
        let token = self.scanner.peek()?;
        if matches!(token.kind, TokenKind::Value) || token.kind.ends_entry(end) {
            let mark = token.mark;
            return self.empty(then, mark);
        }
        self.nested(then, false, false)
    }

    /// Parses a value in a flow collection that ends with `end`, with its `:` if there is one.
    fn value_in_flow(&mut self, end: &TokenKind<'_>, then: State) -> Next<'t> {
        if matches!(self.scanner.peek()?.kind, TokenKind::Value) {
            self.scanner.take()?;
            if !self.scanner.peek()?.kind.ends_entry(end) {
                return self.nested(then, false, false);
            }
        }
        let mark = self.scanner.peek()?.mark;
        self.empty(then, mark)
    }

    fn pair_end(&mut self) -> Next<'t> {
        let mark = self.scanner.peek()?.mark;
        self.open.pop();
        self.state = State::FlowEntry { first: false };
        Ok((Event::MappingEnd, mark))
    }

    /// `end` is the end of the document.
    fn unclosed(&self, end: Mark) -> Error {
        Error::new("unclosed list or map", self.open.last().copied().unwrap_or(end))
    }

    fn unexpected(&self, expected: &str, found: &TokenKind<'_>, mark: Mark) -> Error {
        // Lists and maps without brackets have an end before that of the document.
        if found.ends_document() {
            return self.unclosed(mark);
        }
        let begun = self.open.last().unwrap_or(&mark).line;
        let what = match self.state {
            // Of the innermost collection; the outer ones may be fine.
            State::BlockEntry | State::FlowEntry { .. } => "list",
            _ => "map",
        };
        let found = found.spelled();
        let message =
            format!("expected {expected}, found {found} ({what} that begins in line {begun})");
        Error::new(message, mark)
    }
}

impl TokenKind<'_> {
    /// Returns true if both are the same token, whatever their texts.
    fn is(&self, other: &TokenKind<'_>) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// Returns true at the end of an entry of a flow collection that ends with `end`.
    fn ends_entry(&self, end: &TokenKind<'_>) -> bool {
        matches!(self, TokenKind::FlowEntry) || self.is(end)
    }

    fn ends_document(&self) -> bool {
        matches!(self, TokenKind::StreamEnd | TokenKind::DocumentStart | TokenKind::DocumentEnd)
    }

    /// Returns the name of a token in errors.
    fn spelled(&self) -> &'static str {
        match self {
            TokenKind::StreamEnd => "the end of the document",
            TokenKind::DocumentStart => "`---`",
            TokenKind::DocumentEnd => "`...`",
            TokenKind::BlockSequenceStart | TokenKind::BlockEntry => "`-`",
            TokenKind::BlockMappingStart | TokenKind::Key => "a key",
            TokenKind::BlockEnd => "less indentation",
            TokenKind::FlowSequenceStart => "`[`",
            TokenKind::FlowSequenceEnd => "`]`",
            TokenKind::FlowMappingStart => "`{`",
            TokenKind::FlowMappingEnd => "`}`",
            TokenKind::FlowEntry => "`,`",
            TokenKind::Value => "`:`",
            TokenKind::Alias(_) => "an alias",
            TokenKind::Anchor(_) => "an anchor",
            TokenKind::Tag(_) => "a tag",
            TokenKind::Plain(_) | TokenKind::Quoted(_) => "a scalar",
        }
    }
}
